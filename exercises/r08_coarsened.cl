/* r08_coarsened.cl - exercise with 8 gaps. Four columns of C for each work-item.
 *
 *     tilewright ladder --rung exercises/r08_coarsened.cl --size 256
 *
 *       work-item    0 1 ... 63   0 1 ... 63   0 1 ... 63   0 1 ... 63       a group's tile of C, 16 x 256
 *       column       q = 0        q = 1        q = 2        q = 3
 *
 *       step p       b[0] b[1] b[2] b[3]    four words of B, in registers
 *             a[0]   . . .                  a word of A's tile is read once for four multiply-adds
 *             ...
 *
 * How many words of local memory does a multiply-add read, in r05 and here? And how many registers do the sums take?
 *
 * docs/COURSE.md, page 5, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/r08_coarsened.cl: edit those. */
#include "rung.clh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, COLS = 4, ROW = BM + 4, LOADS = BM * BK / THREADS };
ASSUME(BN == COLS * THREADS && THREADS % BK == 0)

/* A column of A's tile times COLS elements of B; then to B's next row. */
static inline void outer(float sum[COLS][BM], __local const float *a_p, __global const float *b_p[COLS], long b_step)
{
    float b[COLS];
    /* which word of B's column is next, and where is the one after it? */
    UNROLLED
    for (int q = 0; q < COLS; q++) b[q] = GAP_1, GAP_2;
    UNROLLED
    for (int i = 0; i < BM; i++) {
        /* one factor belongs to the row i, the other to the column q */
        UNROLLED
        for (int q = 0; q < COLS; q++) sum[q][i] = fma(GAP_3, GAP_4, sum[q][i]);
    }
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void r08_coarsened(PARAMETERS)
{
    __local __attribute__((aligned(16))) float a_tile[2][BK][ROW];
    int tid = get_local_id(0), i0 = get_group_id(1) * BM, j = get_group_id(0) * BN + tid, row = tid / BK,
        col = tid % BK, now = 0;
    __global const float *b_p[COLS];
    /* where are a work-item's columns, so that neighbours still read neighbours? */
    UNROLLED
    for (int q = 0; q < COLS; q++) b_p[q] = &B(0, min(j + GAP_5, n - 1));
    long b_step = OP_B ? 1 : ldb;
    float sum[COLS][BM] = {0}, next[LOADS];
    UNROLLED
    for (int e = 0; e < LOADS; e++)
        if (col < k) a_tile[0][col][row + e * THREADS / BK] = A(min(i0 + row + e * THREADS / BK, m - 1), col);
    barrier(CLK_LOCAL_MEM_FENCE);
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        int p_next = p0 + BK < k ? p0 + BK : p0;
        UNROLLED
        for (int e = 0; e < LOADS; e++) next[e] = A(min(i0 + row + e * THREADS / BK, m - 1), min(p_next + col, k - 1));
        if (p0 + BK <= k) {
            UNROLLED
            for (int p = 0; p < BK; p++) outer(sum, a_tile[now][p], b_p, b_step);
        } else {
            ROLLED
            for (int p = 0; p < k - p0; p++) outer(sum, a_tile[now][p], b_p, b_step);
        }
        now ^= 1;
        UNROLLED
        for (int e = 0; e < LOADS; e++) a_tile[now][col][row + e * THREADS / BK] = next[e];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLLED
    for (int i = 0; i < BM; i++) {
        /* which elements of C are these sums? */
        UNROLLED
        for (int q = 0; q < COLS; q++)
            if (i0 + i < m && j + GAP_6 < n) blend(&C(i0 + i, j + GAP_7), alpha, GAP_8, beta);
    }
}
