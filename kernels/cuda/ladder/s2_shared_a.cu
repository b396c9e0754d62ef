/* s2_shared_a - skinny rung 2: A's tile goes through shared memory, coalesced; one warp waits for itself.
 *
 * IDEA      Each word of A's tile is read from global memory once, by threads that are neighbours in x, and broadcast
 *           from shared memory:
 *
 *             a_tile[ty][tx] = A(by*T + ty, tx)           row ty of the tile: written by row ty of the block ...
 *             __syncwarp()
 *             sum += a_tile[ty][p] * B(p, j)              ... and read by row ty alone
 *
 *           A row of T = 16 or 32 threads lies in one warp, so no other warp has to be waited for.
 * NUMBERS   T = 16 (32): 17 (33) global loads, 1 shared store, T shared loads per thread: 72 (136) bytes asked per
 *           element of C. A warp's load of A: 4 sectors, all used; of B as s1; shared memory: no conflicts. Published:
 *           GTX 280 14.3 GB/s, 8800 GTX 8.2 (there the load of A fell from 16 transactions to 1). Rolled, H200: 1232
 *           (612) GB/s, 1.05 (1.04) times s1: caches have left nothing to coalesce.
 * LIMITS    k = T, and only then; T = 16 or 32. Any m, n, ld and transposes. No thread leaves before the barrier: those
 *           beyond an edge take zeros of A, and a column of B that is there. Block x is the fast index and T wide.
 * CHANGED   from s1: a_tile, the barrier, no early return.
 * SOURCE    NVIDIA Best Practices, shared memory for A. It has no barrier and relies on half-warps in lock step: not
 *           promised since compute capability 7.0. */
#include "../rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) s2_shared_a(PARAMETERS)
{
    __shared__ float a_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx;
    int j_load = j < n ? j : n - 1;
    float sum = 0;
    a_tile[ty][tx] = i < m ? A(i, tx) : 0;
    __syncwarp();
    ROLLED
    for (int p = 0; p < TILE; p++) sum = fmaf(a_tile[ty][p], B(p, j_load), sum);
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
