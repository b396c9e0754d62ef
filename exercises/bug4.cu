/* bug4.cu - a kernel with a mistake. Two tiles, of which one is never filled.
 *
 *     tilewright ladder --rung exercises/bug4.cu --size 256
 *
 * Say for each line which of the two tiles it touches, in two rounds. `now` turns once a round.
 *
 * docs/COURSE.md, "Break it", leads through it; the solution is in exercises/SOLUTIONS.md.
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
        __syncthreads();
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
