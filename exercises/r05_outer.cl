/* r05_outer.cl - exercise with 6 gaps. An outer product: a column of C lives in registers.
 *
 *     tilewright ladder --rung exercises/r05_outer.cl --size 256
 *
 *                          b           step p of one work-item: one word of B, from global memory, and a column
 *                          |           of A's tile, which is in local memory and which all work-items read together
 *            a[0]  ---> sum[0]
 *            a[1]  ---> sum[1]         64 work-items, 16 sums each: a 16 x 64 tile of C
 *             ...         ...
 *            a[15] ---> sum[15]
 *
 * A's tile is stored transposed: a_tile[p] is its column p. b_p points to the word of B that comes next. How many
 * words of local memory does a multiply-add read, in r04 and here?
 *
 * docs/COURSE.md, page 4, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/r05_outer.cl: edit those. */
#include "rung.clh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, ROW = BM + 4 };
ASSUME(BN == ROW_THREADS && BN % BK == 0)

/* A column of A's tile times an element of B. */
static inline void outer(float *sum, __local const float *a_p, float b_pj)
{
    /* one factor belongs to the row i, the other to all rows */
    UNROLLED
    for (int i = 0; i < BM; i++) sum[i] = fma(GAP_1, GAP_2, sum[i]);
}

__kernel __attribute__((reqd_work_group_size(BN, 1, 1))) void r05_outer(PARAMETERS)
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
        /* how many steps has this tile, how far is the next word of a column of B, and what is multiplied? */
        ROLLED
        for (int p = 0; p < GAP_3; p++, b_p += GAP_4) outer(sum, GAP_5, GAP_6);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
