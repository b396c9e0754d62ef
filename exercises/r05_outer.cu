/* r05_outer.cu - exercise with 6 gaps. An outer product: a column of C lives in registers.
 *
 *     tilewright ladder --rung exercises/r05_outer.cu --size 256
 *
 *                          b           step p of one thread: one word of B, from global memory, and a column
 *                          |           of A's tile, which is in shared memory and which all threads read together
 *            a[0]  ---> sum[0]
 *            a[1]  ---> sum[1]         64 threads, 16 sums each: a 16 x 64 tile of C
 *             ...         ...
 *            a[15] ---> sum[15]
 *
 * A's tile is stored transposed: a_tile[p] is its column p. b_p points to the word of B that comes next. How many
 * words of shared memory does a multiply-add read, in r04 and here?
 *
 * docs/COURSE.md, page 4, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r05_outer.cu: edit those. */
#include "rung.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, ROW = BM + 4 };
ASSUME(BN == ROW_THREADS && BN % BK == 0)

/* A column of A's tile times an element of B. */
static __device__ __forceinline__ void outer(float *sum, const float *a_p, float b_pj)
{
    /* one factor belongs to the row i, the other to all rows */
    UNROLLED
    for (int i = 0; i < BM; i++) sum[i] = fmaf(GAP_1, GAP_2, sum[i]);
}

extern "C" __global__ void __launch_bounds__(BN) r05_outer(PARAMETERS)
{
    __shared__ __align__(16) float a_tile[BK][ROW];
    int tid = threadIdx.x, i0 = blockIdx.y * BM, j = blockIdx.x * BN + tid, row = tid / BK, col = tid % BK;
    const float *b_p = &B(0, min(j, n - 1));
    long b_step = OP_B ? 1 : ldb;
    float sum[BM] = {0};
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        UNROLLED
        for (int e = 0; e < BM; e += BN / BK) a_tile[col][row + e] = A(min(i0 + row + e, m - 1), min(p0 + col, k - 1));
        __syncthreads();
        /* how many steps has this tile, how far is the next word of a column of B, and what is multiplied? */
        ROLLED
        for (int p = 0; p < GAP_3; p++, b_p += GAP_4) outer(sum, GAP_5, GAP_6);
        __syncthreads();
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
