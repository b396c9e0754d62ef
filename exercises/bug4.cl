/* bug4.cl - a kernel with a mistake. Two tiles, of which one is never filled.
 *
 *     tilewright ladder --rung exercises/bug4.cl --size 256
 *
 * Say for each line which of the two tiles it touches, in two rounds. `now` turns once a round.
 *
 * docs/COURSE.md, "Break it", leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/r07_prefetch.cl: edit those. */
#include "rung.clh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, ROW = BM + 4, LOADS = BM * BK / BN };
ASSUME(BN == ROW_THREADS && BN % BK == 0)

/* A column of A's tile times an element of B. */
static inline void outer(float *sum, __local const float *a_p, float b_pj)
{
    UNROLLED
    for (int i = 0; i < BM; i++) sum[i] = fma(a_p[i], b_pj, sum[i]);
}

__kernel __attribute__((reqd_work_group_size(BN, 1, 1))) void r07_prefetch(PARAMETERS)
{
    __local __attribute__((aligned(16))) float a_tile[2][BK][ROW];
    int tid = get_local_id(0), i0 = get_group_id(1) * BM, j = get_group_id(0) * BN + tid, row = tid / BK,
        col = tid % BK, now = 0;
    __global const float *b_p = &B(0, min(j, n - 1));
    long b_step = OP_B ? 1 : ldb;
    float sum[BM] = {0}, next[LOADS];
    UNROLLED
    for (int e = 0; e < LOADS; e++)
        if (col < k) a_tile[0][col][row + e * BN / BK] = A(min(i0 + row + e * BN / BK, m - 1), col);
    barrier(CLK_LOCAL_MEM_FENCE);
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        int p_next = p0 + BK < k ? p0 + BK : p0;
        UNROLLED
        for (int e = 0; e < LOADS; e++) next[e] = A(min(i0 + row + e * BN / BK, m - 1), min(p_next + col, k - 1));
        if (p0 + BK <= k) {
            UNROLLED
            for (int p = 0; p < BK; p++, b_p += b_step) outer(sum, a_tile[now][p], *b_p);
        } else {
            ROLLED
            for (int p = 0; p < k - p0; p++, b_p += b_step) outer(sum, a_tile[now][p], *b_p);
        }
        now ^= 1;
        UNROLLED
        for (int e = 0; e < LOADS; e++) a_tile[now ^ 1][col][row + e * BN / BK] = next[e];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
