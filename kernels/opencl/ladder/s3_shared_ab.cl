/* s3_shared_ab - skinny rung 3: both tiles go through local memory.
 *
 * IDEA      In s2 every row of the group reads the whole tile of B again. Now it is read from global memory once:
 *
 *             a_tile[ty][tx] = A(by*T + ty, tx)           read by row ty
 *             b_tile[ty][tx] = B(ty, bx*T + tx)           read by every row: all warps have to wait for all
 *             barrier(CLK_LOCAL_MEM_FENCE)
 *             sum += a_tile[ty][p] * b_tile[p][tx]
 *
 * NUMBERS   T = 16 (32): 2 global loads, 2 local stores, 2 T local loads, 1 barrier per work-item: 12 bytes asked per
 *           element of C, as many as the effective bandwidth counts; a sixth (an eleventh) of s2's. Loads: 4 sectors
 *           per warp, all used, as before: the gain is not coalescing, it is what is not read again. Local memory: no
 *           conflicts. Published: GTX 280 29.7 GB/s, 8800 GTX 15.7. Rolled, H200: 1683 (983) GB/s, 1.41 (1.70) times
 *           s2.
 * LIMITS    k = T, and only then; T = 16 or 32. Any m, n, ld and transposes.
 * CHANGED   from s2: b_tile; the barrier is the group's.
 * SOURCE    NVIDIA Best Practices, shared memory for A and B. */
#include "../rung.clh"

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void s3_shared_ab(PARAMETERS)
{
    __local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int i = get_group_id(1) * TILE + ty, j = get_group_id(0) * TILE + tx;
    float sum = 0;
    a_tile[ty][tx] = i < m ? A(i, tx) : 0;
    b_tile[ty][tx] = j < n ? B(ty, j) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ROLLED
    for (int p = 0; p < TILE; p++) sum = fma(a_tile[ty][p], b_tile[p][tx], sum);
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
