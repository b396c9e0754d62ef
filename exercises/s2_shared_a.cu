/* s2_shared_a.cu - exercise with 5 gaps. A skinny product, k = T: the tile of A in shared memory.
 *
 *     tilewright ladder --rung exercises/s2_shared_a.cu --shape 256x256x16
 *
 *       A    .-------.                    row ty of the block stores row ty of the tile ...
 *       ty   |xxxxxxx|  tx = 0 .. T-1
 *            |       |                    ... and reads it, a word in each step, which all its threads want
 *            '-------'
 *
 * In s1 a warp's load of A gets one word for a transaction. Load the tile once, neighbours by neighbours. Whose stores
 * does a thread read? Then who has to wait for whom?
 *
 * docs/COURSE.md, page 5, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/s2_shared_a.cu: edit those. */
#include "rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) s2_shared_a(PARAMETERS)
{
    __shared__ float a_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx;
    int j_load = j < n ? j : n - 1;
    float sum = 0;
    /* which word of A's row does this thread load, and where does it go? */
    a_tile[GAP_1][GAP_2] = i < m ? A(i, GAP_3) : 0;
    /* whose stores are read below: the whole block's, or fewer? */
    GAP_4;
    /* which word of A is multiplied in step p? */
    ROLLED
    for (int p = 0; p < TILE; p++) sum = fmaf(GAP_5, B(p, j_load), sum);
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
