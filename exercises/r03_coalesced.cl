/* r03_coalesced.cl - exercise with 6 gaps. Neighbours in x read neighbours in a row of B.
 *
 *     tilewright ladder --rung exercises/r03_coalesced.cl --size 256
 *
 *       B    x x x x x x x x  <- tx = 0 1 2 3 ...       b_tile   x . .
 *            . . . . . . . .                                     x . .
 *            . . . . . . . .                                     x . .
 *                                                                : : :
 *
 * In r02 lanes next to each other read words of B that lie a row apart. Turn that around; the tile now holds B
 * transposed: its rows are columns of B. How many sectors does a warp's load of B touch now, and how many wavefronts
 * take its store and its read of b_tile? Will it be faster than r02?
 *
 * docs/COURSE.md, page 3, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/r03_coalesced.cl: edit those. */
#include "rung.clh"

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void r03_coalesced(PARAMETERS)
{
    __local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int i = get_group_id(1) * TILE + ty, j = get_group_id(0) * TILE + tx;
    float sum = 0;
    ROLLED
    for (int t = 0; t < ceil_div(k, TILE); t++) {
        /* tx counts the columns of B here: what counts its rows? */
        int a_p = t * TILE + tx, b_p = t * TILE + GAP_1;
        a_tile[ty][tx] = i < m && a_p < k ? A(i, a_p) : 0;
        /* which word of B, and where does it go in a tile that is transposed? */
        b_tile[GAP_2][GAP_3] = b_p < k && j < n ? GAP_4 : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        /* where is the word of row p and column tx of B? */
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fma(a_tile[ty][p], b_tile[GAP_5][GAP_6], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
