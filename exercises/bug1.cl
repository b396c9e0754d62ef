/* bug1.cl - a kernel with a mistake. Right where work-items happen to go in step.
 *
 *     tilewright ladder --rung exercises/bug1.cl --size 256
 *
 * Read it as r02, and name what two work-items may do at once. Then let the judge say it.
 *
 * docs/COURSE.md, "Break it", leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/r02_tiled.cl: edit those. */
#include "rung.clh"

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void r02_tiled(PARAMETERS)
{
    __local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int i = get_group_id(1) * TILE + ty, j = get_group_id(0) * TILE + tx, b_j = get_group_id(0) * TILE + ty;
    float sum = 0;
    ROLLED
    for (int t = 0; t < ceil_div(k, TILE); t++) {
        int a_p = t * TILE + tx, b_p = t * TILE + tx;
        a_tile[ty][tx] = i < m && a_p < k ? A(i, a_p) : 0;
        b_tile[tx][ty] = b_p < k && b_j < n ? B(b_p, b_j) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fma(a_tile[ty][p], b_tile[p][tx], sum);
    }
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
