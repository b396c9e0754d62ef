/* r08_coarsened - rung 8: each work-item owns four columns instead of one.
 *
 * IDEA      A word of A's tile, read once, is multiplied with COLS elements of B instead of one. The tile of C grows to 16 x 256 in one
 *           dimension; the columns of a work-item lie 64 apart, so that every load of b stays coalesced:
 *
 *             r07:   a(0..3, p) ---> 4 FMAs per 16-byte local load
 *             r08:   a(0..3, p) ---> 16 FMAs: the same a for columns j, j + 64, j + 128, j + 192
 *
 * NUMBERS   16*256 / (2 (16 + 256)) = 7.5 flop per byte asked; local loads, barriers and index arithmetic per FMA fall to a quarter. 64
 *           sums in registers. The price: fewer groups, fewer warps: on an H200 it is a fifth slower than r07 at 4096 (17.9 against
 *           21.9 TFLOP/s; through OpenCL 12.6 against 22.0), where too few warps wait for the L2.
 * LIMITS    those of r07.
 * CHANGED   from r07: the loops over q.
 * SOURCE    document 001 (more work per thread), document 003 (thread coarsening). */
#include "rung.clh"

enum { BM = 16, COLS = 4, THREADS = 64, BN = COLS * THREADS, BK = 16, ROW = 20, LOADS = BM * BK / THREADS };

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void r08_coarsened(PARAMETERS)
{
    __local __attribute__((aligned(16))) float a_tile[2][BK][ROW];
    int tid = get_local_id(0), i0 = get_group_id(1) * BM, j = get_group_id(0) * BN + tid, now = 0;
    int j_load = j < n ? j : n - 1;
    long b_step = OP_B ? 1 : ldb, q_at[COLS]; /* columns beyond the edge: one that is there is loaded, and nothing stored */
    UNROLLED
    for (int q = 0; q < COLS; q++) q_at[q] = (j + q * THREADS < n ? q * THREADS : 0) * (OP_B ? ldb : 1);
    float sum[COLS][BM] = {0}, next[LOADS];
    UNROLLED
    for (int e = 0; e < LOADS; e++) {
        int row = (tid + e * THREADS) / BK, col = (tid + e * THREADS) % BK;
        a_tile[0][col][row] = i0 + row < m && col < k ? A(i0 + row, col) : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        int p_next = p0 + BK < k ? p0 + BK : p0;
        UNROLLED
        for (int e = 0; e < LOADS; e++) {
            int row = (tid + e * THREADS) / BK, col = (tid + e * THREADS) % BK;
            next[e] = i0 + row < m && p_next + col < k ? A(i0 + row, p_next + col) : 0;
        }
        __global const float *b_row = &B(p0, j_load);
        UNROLLED
        for (int p = 0; p < BK; p++) {
            float b_p[COLS];
            UNROLLED
            for (int q = 0; q < COLS; q++) b_p[q] = p0 + p < k ? b_row[q_at[q]] : 0;
            b_row += b_step;
            UNROLLED
            for (int i = 0; i < BM; i++)
                UNROLLED
                for (int q = 0; q < COLS; q++) sum[q][i] = fma(a_tile[now][p][i], b_p[q], sum[q][i]);
        }
        UNROLLED
        for (int e = 0; e < LOADS; e++) a_tile[now ^ 1][(tid + e * THREADS) % BK][(tid + e * THREADS) / BK] = next[e];
        barrier(CLK_LOCAL_MEM_FENCE);
        now ^= 1;
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        UNROLLED
        for (int q = 0; q < COLS; q++)
            if (i0 + i < m && j + q * THREADS < n) blend(&C(i0 + i, j + q * THREADS), alpha, sum[q][i], beta);
}
