/* s2_shared_a.cl - exercise with 5 gaps. A skinny product, k = T: the tile of A in local memory.
 *
 *     tilewright ladder --rung exercises/s2_shared_a.cl --shape 256x256x16
 *
 *       A    .-------.                    row ty of the group stores row ty of the tile ...
 *       ty   |xxxxxxx|  tx = 0 .. T-1
 *            |       |                    ... and reads it, a word in each step, which all its work-items want
 *            '-------'
 *
 * In s1 a warp's load of A gets one word for a transaction. Load the tile once, neighbours by neighbours. Whose stores
 * does a work-item read? Then who has to wait for whom?
 *
 * docs/COURSE.md, page 5, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/s2_shared_a.cl: edit those. */
#include "rung.clh"

#ifndef SUBGROUP_BARRIER
#define SUBGROUP_BARRIER 0
#endif
#if !SUBGROUP_BARRIER
#define ROW_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#elif defined(cl_khr_subgroups)
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#define ROW_BARRIER() sub_group_barrier(CLK_LOCAL_MEM_FENCE)
#else
#define ROW_BARRIER() __asm__ volatile("bar.warp.sync 0xffffffff;" : : : "memory")
#endif

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void s2_shared_a(PARAMETERS)
{
    __local float a_tile[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int i = get_group_id(1) * TILE + ty, j = get_group_id(0) * TILE + tx;
    int j_load = j < n ? j : n - 1;
    float sum = 0;
    /* which word of A's row does this work-item load, and where does it go? */
    a_tile[GAP_1][GAP_2] = i < m ? A(i, GAP_3) : 0;
    /* whose stores are read below: the whole group's, or fewer? */
    GAP_4;
    /* which word of A is multiplied in step p? */
    ROLLED
    for (int p = 0; p < TILE; p++) sum = fma(GAP_5, B(p, j_load), sum);
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
