/* dgemm_simt - the production kernel for f64 on GPUs without matrix units for it.
 *
 * IDEA      r05's outer product in two dimensions: a thread owns 4 x 4 elements of C, 16 rows and columns apart, so
 *           that the lanes of a warp read neighbouring words. Both tiles lie in shared memory as [p][edge].
 *
 *                          b: words tx, tx + 16, + 32, + 48
 *                        .--.--.--.--.
 *            a: words    |  |  |  |  |      8 shared loads of 8 bytes
 *            ty, ty + 16 |--|--|--|--|      16 FMAs
 *            ...         '--'--'--'--'
 *
 * NUMBERS   64 x 64 x 16: 8 flop/byte asked; 16 sums, 16,896 bytes of shared memory.
 * LIMITS    any m, n >= 1, k, ld, address and transposes. Fewer than 2^31 tiles.
 * CHANGED   from r10s_scalar: f64, a quarter of its tile, one buffer.
 * SOURCE    Kerr et al.: CUTLASS, 2017 */
#define SUMS_F64 1
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, PAD = 2 };
ASSUME(BM == 64 && BN == 64 && BK == 16 && THREADS == 256)

#include "schedule.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    dgemm_simt(PLAIN_ARGUMENTS(PARAMETER, double, double, double, double))
{
    __shared__ double a_tile[BK][BM + PAD], b_tile[BK][BN + PAD];
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16, i0, j0;
    tile_at(blockIdx.x, tiling_of(m, n), &i0, &j0);
    double sum[4][4] = {0};
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        UNROLLED
        for (int e = tid; e < BM * BK; e += THREADS) {
            /* neighbours in memory by neighbouring lanes */
            int i = OP_A ? e % BM : e / BK, a_p = OP_A ? e / BM : e % BK, j = OP_B ? e / BK : e % BN,
                b_p = OP_B ? e % BK : e / BN;
            a_tile[a_p][i] = i0 + i < m && p0 + a_p < k ? A(i0 + i, p0 + a_p) : 0;
            b_tile[b_p][j] = j0 + j < n && p0 + b_p < k ? B(p0 + b_p, j0 + j) : 0;
        }
        __syncthreads();
        UNROLLED
        for (int p = 0; p < BK; p++) {
            double a_p[4], b_p[4];
            UNROLLED
            for (int q = 0; q < 4; q++) a_p[q] = a_tile[p][ty + 16 * q], b_p[q] = b_tile[p][tx + 16 * q];
            UNROLLED
            for (int i = 0; i < 4; i++) {
                UNROLLED
                for (int j = 0; j < 4; j++) sum[i][j] = fma(a_p[i], b_p[j], sum[i][j]);
            }
        }
        __syncthreads();
    }
    UNROLLED
    for (int i = 0; i < 4; i++) {
        UNROLLED
        for (int j = 0; j < 4; j++) {
            int row = i0 + ty + 16 * i, column = j0 + tx + 16 * j;
            if (row >= m || column >= n) continue;
            put_one(&C(row, column), alpha, sum[i][j], beta);
        }
    }
}
