/* r01u_uncached - variant of rung 1: A and B are loaded past the L1, by instructions that only this device has.
 *
 * IDEA      r01 keeps nothing, and still is no slower than its bytes: the L1 keeps for it. Load past the L1, and every
 *           word that neighbours share is fetched from the L2 each time:
 *
 *             r01    warp --> L1 (hits: 9 in 10) --> L2 --> memory
 *             r01u   warp ------------------------> L2 --> memory
 *
 * NUMBERS   those of r01: 2 sectors per load with T = 16, 1/4 flop per byte asked. At 4096 the warps ask the L2 for
 *           all 275 GB, where r01's L1 leaves 26; requests of several multiprocessors for one sector are merged on the
 *           way, and 171 arrive. H200: 1.69 TFLOP/s, r01 1.71, since rolled the loop's instructions are the limit; in
 *           the default build 3.80 where r01 has 5.20. Other loads of the device's own: read-only (__ldg,
 *           ld.global.nc) 0.98 to 1.03 of plain ones, as are those that ask the L1 to keep a line; asked not to keep
 *           it, as here. r04 loads each word once for a block: 0.99 to 1.01 with any.
 * LIMITS    as r01.
 * CHANGED   from r01: A and B through __ldcg.
 * SOURCE    Hotbingsoo 2021 (device-specific loads); NVIDIA, PTX ISA, cache operators. */
#include "../rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) r01u_uncached(PARAMETERS)
{
    int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0;
    ROLLED
    for (int p = 0; p < k; p++) sum = fmaf(__ldcg(&A(i, p)), __ldcg(&B(p, j)), sum);
    blend(&C(i, j), alpha, sum, beta);
}
