/* r06_unrolled - rung 6: the k loop of the tile is unrolled.
 *
 * IDEA      Sixteen steps, written out: no counter, no compare, no branch, offsets that are constants, and the next
 *           loads of b can be under way while the FMAs of earlier ones run:
 *
 *             r05:  b  fma x 16  count branch | b  fma x 16  count branch | ...
 *             r06:  b b b b b fma b fma fma b fma ... fma
 *
 * NUMBERS   as r05; loads overlap and the instructions around the FMAs go: 256 FMAs of about 450 instructions a tile on
 *           sm_90, 40 registers as in r05: 5kk73's claim that unrolling does not use more of them holds there.
 * LIMITS    those of r05.
 * CHANGED   from r05: the loop over p of a whole tile is unrolled; a last, shallower tile keeps r05's.
 * SOURCE    5kk73, loop unrolling. */
#include "../rung.cuh"

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
        if (p0 + BK <= k) {
            UNROLLED
            for (int p = 0; p < BK; p++, b_p += b_step) outer(sum, a_tile[p], *b_p);
        } else {
            ROLLED
            for (int p = 0; p < k - p0; p++, b_p += b_step) outer(sum, a_tile[p], *b_p);
        }
        __syncthreads();
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
