/* r06_unrolled - rung 6: the k loop of the tile is unrolled.
 *
 * IDEA      Sixteen steps, written out: no counter, no compare, no branch, offsets that are constants, and the compiler
 *           may set loads of b on their way as early as it likes:
 *
 *             r05:  b  fma x 16  count branch | b  fma x 16  count branch | ...
 *             r06:  b b b ... fma x 16  b  fma x 16  b  fma x 16 ...
 *
 * NUMBERS   as r05; loads overlap and the instructions around the FMAs go. 5kk73 says that unrolling does not
 *           use more registers; the record holds both counts of each device.
 * LIMITS    those of r05.
 * CHANGED   from r05: the loop over p of a whole tile is unrolled; a last, shallower tile keeps r05's.
 * SOURCE    5kk73, loop unrolling. */
#include "../rung.clh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, ROW = BM + 4 };
ASSUME(BN == ROW_THREADS && BN % BK == 0)

/* A column of A's tile times an element of B. */
static inline void outer(float *sum, __local const float *a_p, float b_pj)
{
    UNROLLED
    for (int i = 0; i < BM; i++) sum[i] = fma(a_p[i], b_pj, sum[i]);
}

__kernel __attribute__((reqd_work_group_size(BN, 1, 1))) void r06_unrolled(PARAMETERS)
{
    __local __attribute__((aligned(16))) float a_tile[BK][ROW];
    int tid = get_local_id(0), i0 = get_group_id(1) * BM, j = get_group_id(0) * BN + tid, row = tid / BK,
        col = tid % BK;
    __global const float *b_p = &B(0, min(j, n - 1));
    long b_step = OP_B ? 1 : ldb;
    float sum[BM] = {0};
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        UNROLLED
        for (int e = 0; e < BM; e += BN / BK) a_tile[col][row + e] = A(min(i0 + row + e, m - 1), min(p0 + col, k - 1));
        barrier(CLK_LOCAL_MEM_FENCE);
        if (p0 + BK <= k) {
            UNROLLED
            for (int p = 0; p < BK; p++, b_p += b_step) outer(sum, a_tile[p], *b_p);
        } else {
            ROLLED
            for (int p = 0; p < k - p0; p++, b_p += b_step) outer(sum, a_tile[p], *b_p);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
