/* s3_shared_ab - skinny rung 3: both tiles go through shared memory.
 *
 * IDEA      In s2 every row of the block reads the whole tile of B again. Now it is read from global memory once:
 *
 *             a_tile[ty][tx] = A(by*T + ty, tx)           read by row ty
 *             b_tile[ty][tx] = B(ty, bx*T + tx)           read by every row: all warps have to wait for all
 *             __syncthreads()
 *             sum += a_tile[ty][p] * b_tile[p][tx]
 *
 * NUMBERS   T = 16 (32): 2 global loads, 2 shared stores, 2 T shared loads, 1 barrier per thread: 12 bytes asked per
 *           element of C, as many as the effective bandwidth counts; a sixth (an eleventh) of s2's. Loads: 4 sectors
 *           per warp, all used, as before: the gain is not coalescing, it is what is not read again. Shared memory: no
 *           conflicts. Published: GTX 280 29.7 GB/s, 8800 GTX 15.7. Rolled, H200: 1761 (1022) GB/s, 1.43 (1.67) times
 *           s2.
 * LIMITS    k = T, and only then; T = 16 or 32. Any m, n, ld and transposes.
 * CHANGED   from s2: b_tile; the barrier is the block's.
 * SOURCE    NVIDIA Best Practices, shared memory for A and B. */
#include "../rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) s3_shared_ab(PARAMETERS)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx;
    float sum = 0;
    a_tile[ty][tx] = i < m ? A(i, tx) : 0;
    b_tile[ty][tx] = j < n ? B(ty, j) : 0;
    __syncthreads();
    ROLLED
    for (int p = 0; p < TILE; p++) sum = fmaf(a_tile[ty][p], b_tile[p][tx], sum);
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
