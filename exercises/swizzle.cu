/* swizzle.cu - exercise with 2 gaps. A puzzle: B's tile transposed, and no bank conflict.
 *
 *     tilewright ladder --rung exercises/swizzle.cu --size 256
 *
 *       row 0    0  1  2  3  4 ...     word w of a row, at place w: as it is
 *       row 1    0  1  2  3  4 ...
 *       row 2    0  1  2  3  4 ...     begins in the bank where row 0 does, as rows have 16 words
 *
 * B's tile lies transposed as in r03: B(b_p, j) goes into row tx, and is read from there. A warp stores words ty and
 * ty + 1 of 16 rows, and reads word p of 16 rows. Choose where in its row a word lies, as a function of its number and
 * the row's, so that each store and each read takes one wavefront; the tile grows by no word. The kernel bears r04's
 * name, so that it may cost no more than r04; `tilewright explain FILE` counts its wavefronts.
 *
 * docs/COURSE.md, "Break it", leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r03_coalesced.cu: edit those. */
#include "rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) r04_banks(PARAMETERS)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx;
    float sum = 0;
    ROLLED
    for (int t = 0; t < ceil_div(k, TILE); t++) {
        int a_p = t * TILE + tx, b_p = t * TILE + ty;
        a_tile[ty][tx] = i < m && a_p < k ? A(i, a_p) : 0;
        /* word ty of row tx: at which place? */
        b_tile[tx][GAP_1] = b_p < k && j < n ? B(b_p, j) : 0;
        __syncthreads();
        /* word p of row tx: at which place? */
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fmaf(a_tile[ty][p], b_tile[tx][GAP_2], sum);
        __syncthreads();
    }
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
