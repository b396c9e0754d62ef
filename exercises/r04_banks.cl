/* r04_banks.cl - exercise with 4 gaps. The tile of B lies as it is read.
 *
 *     tilewright ladder --rung exercises/r04_banks.cl --size 256
 *
 *       bank    0 1 2 3 4 5 6 ... 31 0 1 2 ...         word w of local memory lies in bank w % 32, and a bank
 *       word    0 1 2 3 4 5 6 ... 31 32 33 34 ...      gives a warp one word in a wavefront
 *
 * B is read as in r03, tile by tile. Choose the subscripts of the store and of the read so that lanes next to each
 * other want words next to each other. What is multiplied if you change only one of them?
 *
 * docs/COURSE.md, page 3, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/r04_banks.cl: edit those. */
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
        /* the word is of row ty and column tx of B's tile: where does it go? */
        b_tile[GAP_1][GAP_2] = b_p < k && j < n ? B(b_p, j) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        /* where is the word of row p and column tx? */
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fma(a_tile[ty][p], b_tile[GAP_3][GAP_4], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
