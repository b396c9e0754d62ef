/* r07_prefetch.cl - exercise with 6 gaps. The next tile of A is loaded while this one is multiplied.
 *
 *     tilewright ladder --rung exercises/r07_prefetch.cl --size 256
 *
 *       r06    load, store | wait | multiply t          | wait | load, store | wait | ...
 *       r07    load t+1    |        multiply t          | store t+1 | wait | load t+2 | ...
 *                   '---- memory answers meanwhile ---------^
 *
 * There are two tiles, a_tile[0] and a_tile[1]; `now` is the one that is multiplied. Why is one barrier for each
 * tile enough, where r06 has two?
 *
 * docs/COURSE.md, page 4, leads through it; the solution is in exercises/SOLUTIONS.md.
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
        /* where does the next tile begin, and what is loaded if there is none? */
        int p_next = GAP_1;
        /* the loads begin here; where do their words go, so that nobody waits for them yet? */
        UNROLLED
        for (int e = 0; e < LOADS; e++) GAP_2 = A(min(i0 + row + e * BN / BK, m - 1), min(p_next + col, k - 1));
        if (p0 + BK <= k) {
            UNROLLED
            for (int p = 0; p < BK; p++, b_p += b_step) outer(sum, a_tile[now][p], *b_p);
        } else {
            ROLLED
            for (int p = 0; p < k - p0; p++, b_p += b_step) outer(sum, a_tile[now][p], *b_p);
        }
        /* which of the two tiles is free? */
        GAP_3;
        /* what is stored, and into which tile? */
        UNROLLED
        for (int e = 0; e < LOADS; e++) a_tile[GAP_4][col][row + e * BN / BK] = GAP_5;
        /* what must have happened before the next round? */
        GAP_6;
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
