/* swizzle.cl - exercise with 2 gaps. A puzzle: B's tile transposed, and no bank conflict.
 *
 *     tilewright ladder --rung exercises/swizzle.cl --size 256
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
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/r03_coalesced.cl: edit those. */
#include "rung.clh"

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void r04_banks(PARAMETERS)
{
    __local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int i = get_group_id(1) * TILE + ty, j = get_group_id(0) * TILE + tx;
    float sum = 0;
    ROLLED
    for (int t = 0; t < ceil_div(k, TILE); t++) {
        int a_p = t * TILE + tx, b_p = t * TILE + ty;
        a_tile[ty][tx] = i < m && a_p < k ? A(i, a_p) : 0;
        /* word ty of row tx: at which place? */
        b_tile[tx][GAP_1] = b_p < k && j < n ? B(b_p, j) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        /* word p of row tx: at which place? */
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fma(a_tile[ty][p], b_tile[tx][GAP_2], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
