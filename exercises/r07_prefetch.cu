/* r07_prefetch.cu - exercise with 6 gaps. The next tile of A is loaded while this one is multiplied.
 *
 *     tilewright ladder --rung exercises/r07_prefetch.cu --size 256
 *
 *       r06    load, store | wait | multiply t          | wait | load, store | wait | ...
 *       r07    load t+1    |        multiply t          | store t+1 | wait | load t+2 | ...
 *                   '---- memory answers meanwhile ---------^
 *
 * There are two tiles, a_tile[0] and a_tile[1]; `now` is the one that is multiplied. Why is one barrier for each
 * tile enough, where r06 has two?
 *
 * docs/COURSE.md, page 4, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r07_prefetch.cu: edit those. */
#include "rung.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, ROW = BM + 4, LOADS = BM * BK / BN };
ASSUME(BN == ROW_THREADS && BN % BK == 0)

/* A column of A's tile times an element of B. */
static __device__ __forceinline__ void outer(float *sum, const float *a_p, float b_pj)
{
    UNROLLED
    for (int i = 0; i < BM; i++) sum[i] = fmaf(a_p[i], b_pj, sum[i]);
}

extern "C" __global__ void __launch_bounds__(BN) r07_prefetch(PARAMETERS)
{
    __shared__ __align__(16) float a_tile[2][BK][ROW];
    int tid = threadIdx.x, i0 = blockIdx.y * BM, j = blockIdx.x * BN + tid, row = tid / BK, col = tid % BK, now = 0;
    const float *b_p = &B(0, min(j, n - 1));
    long b_step = OP_B ? 1 : ldb;
    float sum[BM] = {0}, next[LOADS];
    UNROLLED
    for (int e = 0; e < LOADS; e++)
        if (col < k) a_tile[0][col][row + e * BN / BK] = A(min(i0 + row + e * BN / BK, m - 1), col);
    __syncthreads();
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
