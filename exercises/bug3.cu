/* bug3.cu - a kernel with a mistake. Right, unless an operand is stored transposed.
 *
 *     tilewright ladder --rung exercises/bug3.cu --size 256
 *
 * Follow b_p through a tile: where does a column of B go on, if B's rows are stored as columns?
 *
 * docs/COURSE.md, "Break it", leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r05_outer.cu: edit those. */
#include "rung.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, ROW = BM + 4 };
ASSUME(BN == ROW_THREADS && BN % BK == 0)

/* A column of A's tile times an element of B. */
static __device__ __forceinline__ void outer(float *sum, const float *a_p, float b_pj)
{
    UNROLLED
    for (int i = 0; i < BM; i++) sum[i] = fmaf(a_p[i], b_pj, sum[i]);
}

extern "C" __global__ void __launch_bounds__(BN) r05_outer(PARAMETERS)
{
    __shared__ __align__(16) float a_tile[BK][ROW];
    int tid = threadIdx.x, i0 = blockIdx.y * BM, j = blockIdx.x * BN + tid, row = tid / BK, col = tid % BK;
    const float *b_p = &B(0, min(j, n - 1));
    long b_step = ldb;
    float sum[BM] = {0};
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        UNROLLED
        for (int e = 0; e < BM; e += BN / BK) a_tile[col][row + e] = A(min(i0 + row + e, m - 1), min(p0 + col, k - 1));
        __syncthreads();
        ROLLED
        for (int p = 0; p < min(BK, k - p0); p++, b_p += b_step) outer(sum, a_tile[p], *b_p);
        __syncthreads();
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
