/* bug3.cl - a kernel with a mistake. Right, unless an operand is stored transposed.
 *
 *     tilewright ladder --rung exercises/bug3.cl --size 256
 *
 * Follow b_p through a tile: where does a column of B go on, if B's rows are stored as columns?
 *
 * docs/COURSE.md, "Break it", leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/r05_outer.cl: edit those. */
#include "rung.clh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, ROW = BM + 4 };
ASSUME(BN == ROW_THREADS && BN % BK == 0)

/* A column of A's tile times an element of B. */
static inline void outer(float *sum, __local const float *a_p, float b_pj)
{
    UNROLLED
    for (int i = 0; i < BM; i++) sum[i] = fma(a_p[i], b_pj, sum[i]);
}

__kernel __attribute__((reqd_work_group_size(BN, 1, 1))) void r05_outer(PARAMETERS)
{
    __local __attribute__((aligned(16))) float a_tile[BK][ROW];
    int tid = get_local_id(0), i0 = get_group_id(1) * BM, j = get_group_id(0) * BN + tid, row = tid / BK,
        col = tid % BK;
    __global const float *b_p = &B(0, min(j, n - 1));
    long b_step = ldb;
    float sum[BM] = {0};
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        UNROLLED
        for (int e = 0; e < BM; e += BN / BK) a_tile[col][row + e] = A(min(i0 + row + e, m - 1), min(p0 + col, k - 1));
        barrier(CLK_LOCAL_MEM_FENCE);
        ROLLED
        for (int p = 0; p < min(BK, k - p0); p++, b_p += b_step) outer(sum, a_tile[p], *b_p);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
