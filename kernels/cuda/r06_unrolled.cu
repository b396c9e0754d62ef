/* r06_unrolled - rung 6: the k loop of the tile is unrolled.
 *
 * IDEA      Sixteen steps, written out: no counter, no compare, no branch, offsets that are constants, and the next loads of b can be under
 *           way while the FMAs of earlier ones run:
 *
 *             r05:  b  fma x 16  count branch | b  fma x 16  count branch | ...
 *             r06:  b b b b b fma b fma fma b fma ... fma
 *
 * NUMBERS   as r05; some loads overlap and the instructions around the FMAs go. With guards for any k registers grow from 39 to 68 on sm_90:
 *           document 000's claim that unrolling does not use more of them holds for kernels without guards (48 and 48 there).
 * LIMITS    those of r05.
 * CHANGED   from r05: one line, the pragma of the loop over p.
 * SOURCE    document 000, loop unrolling. */
#include "rung.cuh"

enum { BM = 16, BN = 64, BK = 16, ROW = 20 };

extern "C" __global__ void __launch_bounds__(BN) r06_unrolled(PARAMETERS)
{
    __shared__ __align__(16) float a_tile[BK][ROW];
    int tid = threadIdx.x, i0 = blockIdx.y * BM, j = blockIdx.x * BN + tid;
    int j_load = j < n ? j : n - 1; /* threads beyond the edge load a column that is there, and store nothing */
    long b_step = OP_B ? 1 : ldb;
    float sum[BM] = {0};
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        UNROLLED
        for (int e = 0; e < BM * BK / BN; e++) {
            int row = (tid + e * BN) / BK, col = (tid + e * BN) % BK;
            a_tile[col][row] = i0 + row < m && p0 + col < k ? A(i0 + row, p0 + col) : 0;
        }
        __syncthreads();
        const float *b_p = &B(p0, j_load);
        UNROLLED
        for (int p = 0; p < BK; p++) {
            float b_pj = p0 + p < k ? *b_p : 0;
            b_p += b_step;
            UNROLLED
            for (int i = 0; i < BM; i++) sum[i] = fmaf(a_tile[p][i], b_pj, sum[i]);
        }
        __syncthreads();
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
