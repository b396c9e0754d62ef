/* r06_unrolled.cu - exercise with 5 gaps. The steps of a whole tile are written out.
 *
 *     tilewright ladder --rung exercises/r06_unrolled.cu --size 256
 *
 *       rolled      b  fma x 16  count branch | b  fma x 16  count branch | ...
 *       unrolled    b b b ... fma x 16  b  fma x 16  b  fma x 16 ...
 *
 * ROLLED and UNROLLED (kernels/cuda/rung.cuh) go before a loop. A loop can be written out if the compiler knows how
 * many steps it has. In r05 that was min(BK, k - p0). How do you make it a constant, for all tiles but one?
 *
 * docs/COURSE.md, page 4, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r06_unrolled.cu: edit those. */
#include "rung.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, ROW = BM + 4 };
ASSUME(BN == ROW_THREADS && BN % BK == 0)

/* A column of A's tile times an element of B. */
static __device__ __forceinline__ void outer(float *sum, const float *a_p, float b_pj)
{
    UNROLLED
    for (int i = 0; i < BM; i++) sum[i] = fmaf(a_p[i], b_pj, sum[i]);
}

extern "C" __global__ void __launch_bounds__(BN) r06_unrolled(PARAMETERS)
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
        /* which tiles are whole? */
        if (GAP_1) {
            /* how is a whole tile's loop built, and how many steps has it? */
            GAP_2
            for (int p = 0; p < GAP_3; p++, b_p += b_step) outer(sum, a_tile[p], *b_p);
        } else {
            /* and that of an incomplete one? */
            GAP_4
            for (int p = 0; p < GAP_5; p++, b_p += b_step) outer(sum, a_tile[p], *b_p);
        }
        __syncthreads();
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
