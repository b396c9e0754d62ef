/* r08_coarsened - rung 8: each work-item owns four columns instead of one.
 *
 * IDEA      A word of A's tile, read once, is multiplied with COLS elements of B instead of one. The tile of C grows to
 *           16 x 256 in one dimension; the columns of a work-item lie 64 apart, so that every load of b stays
 *           coalesced:
 *
 *             r07:   a(0..3, p) ---> 4 FMAs per 16-byte local load
 *             r08:   a(0..3, p) ---> 16 FMAs: the same a for columns j, j + 64, j + 128, j + 192
 *
 * NUMBERS   16*256 / (2 (16 + 256)) = 7.5 flop per byte asked; local loads, barriers and index arithmetic per FMA fall
 *           to a quarter. 64 sums in registers. The price: fewer groups, fewer warps. On an H200 at 4096 1.27 times r07
 *           in CUDA, 1.19 in OpenCL.
 * LIMITS    those of r07.
 * CHANGED   from r07: the loops over q, a pointer into B for each.
 * SOURCE    Hotbingsoo 2021 (more work per thread), Ruiz 2024 (thread coarsening). */
#include "../rung.clh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, COLS = 4, ROW = BM + 4, LOADS = BM * BK / THREADS };
ASSUME(BN == COLS * THREADS && THREADS % BK == 0)

/* A column of A's tile times COLS elements of B; then to B's next row. */
static inline void outer(float sum[COLS][BM], __local const float *a_p, __global const float *b_p[COLS], long b_step)
{
    float b[COLS];
    UNROLLED
    for (int q = 0; q < COLS; q++) b[q] = *b_p[q], b_p[q] += b_step;
    UNROLLED
    for (int i = 0; i < BM; i++) {
        UNROLLED
        for (int q = 0; q < COLS; q++) sum[q][i] = fma(a_p[i], b[q], sum[q][i]);
    }
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void r08_coarsened(PARAMETERS)
{
    __local __attribute__((aligned(16))) float a_tile[2][BK][ROW];
    int tid = get_local_id(0), i0 = get_group_id(1) * BM, j = get_group_id(0) * BN + tid, row = tid / BK,
        col = tid % BK, now = 0;
    __global const float *b_p[COLS];
    UNROLLED
    for (int q = 0; q < COLS; q++) b_p[q] = &B(0, min(j + q * THREADS, n - 1));
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
        UNROLLED
        for (int q = 0; q < COLS; q++)
            if (i0 + i < m && j + q * THREADS < n) blend(&C(i0 + i, j + q * THREADS), alpha, sum[q][i], beta);
    }
}
