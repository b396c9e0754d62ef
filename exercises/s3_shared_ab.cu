/* s3_shared_ab.cu - exercise with 5 gaps. A skinny product, k = T: the tile of B in shared memory, too.
 *
 *     tilewright ladder --rung exercises/s3_shared_ab.cu --shape 256x256x16
 *
 *       B    .-------.                    row ty of the block stores row ty of B's tile ...
 *       ty   |xxxxxxx|
 *            |       |                    ... and reads all rows of it, a row in each step
 *            '-------'
 *
 * In s2 each row of the block read the whole tile of B from global memory. How many bytes of A and B are asked for
 * each element of C, in s2 and here, with T = 16? And who waits now that did not wait in s2?
 *
 * docs/COURSE.md, page 5, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/s3_shared_ab.cu: edit those. */
#include "rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) s3_shared_ab(PARAMETERS)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx;
    float sum = 0;
    /* which word of A does this thread load? */
    a_tile[ty][tx] = i < m ? GAP_1 : 0;
    /* and which of B? */
    b_tile[ty][tx] = j < n ? GAP_2 : 0;
    /* whose stores are read below? */
    GAP_3;
    /* which words of the tiles are multiplied in step p? */
    ROLLED
    for (int p = 0; p < TILE; p++) sum = fmaf(GAP_4, GAP_5, sum);
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
