/* r01u_uncached - variant of rung 1: A and B are loaded past the L1, by instructions that only this device has.
 *
 * IDEA      r01 keeps nothing, and still is no slower than its bytes: the L1 keeps for it. Load past the L1, and every
 *           word that neighbours share is fetched from the L2 each time:
 *
 *             r01    warp --> L1 (hits: 9 in 10) --> L2 --> memory
 *             r01u   warp ------------------------> L2 --> memory
 *
 *           OpenCL C has no word for it. NVIDIA's compiler takes an instruction of its own, ld.global.cg, inside asm().
 * NUMBERS   those of r01: 2 sectors per load with T = 16, 1/4 flop per byte asked. At 4096 the warps ask the L2 for
 *           all 275 GB, where r01's L1 leaves 26; requests of several multiprocessors for one sector are merged on
 *           the way, and 171 arrive. H200: 1.68 TFLOP/s, r01 1.70, since rolled the loop's instructions are the
 *           limit; in the default build 3.82 where r01 has 5.18. Other loads of the device's own: read-only
 *           (ld.global.nc) 0.98 to 1.02 of plain ones, as are those that ask the L1 to keep a line; asked not to keep
 *           it, as here. r04 loads each word once for a group: 0.99 to 1.01 with any.
 * LIMITS    as r01. Compilers other than NVIDIA's get r01's plain loads: there it is r01 again.
 * CHANGED   from r01: A and B through past_l1.
 * SOURCE    Hotbingsoo 2021 (device-specific loads); NVIDIA, PTX ISA, cache operators. */
#include "../rung.clh"

static inline float past_l1(__global const float *p)
{
#if defined __NV_CL_C_VERSION || defined cl_nv_pragma_unroll
    float x;
    asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(x) : "l"(p));
    return x;
#else
    return *p;
#endif
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void r01u_uncached(PARAMETERS)
{
    int i = get_group_id(1) * TILE + get_local_id(1), j = get_group_id(0) * TILE + get_local_id(0);
    if (i >= m || j >= n) return;
    float sum = 0;
    ROLLED
    for (int p = 0; p < k; p++) sum = fma(past_l1(&A(i, p)), past_l1(&B(p, j)), sum);
    blend(&C(i, j), alpha, sum, beta);
}
