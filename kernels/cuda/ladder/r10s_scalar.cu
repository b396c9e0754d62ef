/* r10s_scalar - rung 10, variant: 8 x 8 sums per thread, and no wide loads.
 *
 * IDEA      r10 does two things at once: 64 sums in registers, and accesses of 16 bytes. Here are the sums alone. A
 *           thread's rows and columns lie 16 apart, so that the lanes of a warp read neighbouring words:
 *
 *                         b: words tx, tx + 16, ... tx + 112
 *                       .--.--.--.--.--.--.--.--.
 *            a: words   |  |  |  |  |  |  |  |  |            16 shared loads of 4 bytes
 *            ty,        |--|--|--|--|--|--|--|--|            64 FMAs
 *            ty + 16,   |  |  |  |  |  |  |  |  |
 *            ...        '--'--'--'--'--'--'--'--'
 *
 * NUMBERS   tile 128 x 128 x 16: 32 flop per byte asked, as r10. 16 shared loads per 64 FMAs: at best 80 % of the
 *           instructions are FMAs, where r10's 4 loads allow 94 %. Rows of A's tile are 130 words apart: 16 columns and
 *           2 rows of A are stored at once, into 32 different banks. 33,024 bytes of shared memory.
 *           H200 at 4096: 29.8 TFLOP/s where r10 has 43.3, so that is what wide loads are worth.
 * LIMITS    any m, n, k and ld, all transposes: no address has to be a multiple of 16 bytes. Tiles that C cuts off are
 *           filled with zeros.
 * CHANGED   from r10: words where it has vectors, and which rows and columns a thread owns.
 * SOURCE    Hotbingsoo 2021 (2D register blocking with and without wide loads). */
#include "../rung.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, A_ROW = BM + 2, LOADS = BM * BK / THREADS };
ASSUME(BM == 128 && BN == 128 && BM * BN == 64 * THREADS)

extern "C" __global__ void __launch_bounds__(THREADS, 2) r10s_scalar(PARAMETERS)
{
    __shared__ float a_tile[2][BK][A_ROW], b_tile[2][BK][BN];
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16, i0 = blockIdx.y * BM, j0 = blockIdx.x * BN, now = 0;
    float sum[8][8] = {0}, a_next[LOADS], b_next[LOADS];
    ROLLED
    for (int p0 = -BK; p0 < k; p0 += BK) {
        int p_next = p0 + BK;
        UNROLLED
        for (int e = 0; e < LOADS; e++) {
            int at = tid + e * THREADS, i = i0 + at / BK, p = p_next + at % BK;
            a_next[e] = i < m && p < k ? A(i, p) : 0;
            int p_b = p_next + at / BN, j = j0 + at % BN;
            b_next[e] = p_b < k && j < n ? B(p_b, j) : 0;
        }
        if (p0 >= 0) {
            UNROLLED
            for (int p = 0; p < BK; p++) {
                float a_p[8], b_p[8];
                UNROLLED
                for (int q = 0; q < 8; q++) a_p[q] = a_tile[now][p][ty + q * 16], b_p[q] = b_tile[now][p][tx + q * 16];
                UNROLLED
                for (int i = 0; i < 8; i++) {
                    UNROLLED
                    for (int j = 0; j < 8; j++) sum[i][j] = fmaf(a_p[i], b_p[j], sum[i][j]);
                }
            }
            now ^= 1;
        }
        UNROLLED
        for (int e = 0; e < LOADS; e++) {
            int at = tid + e * THREADS;
            a_tile[now][at % BK][at / BK] = a_next[e];
            b_tile[now][at / BN][at % BN] = b_next[e];
        }
        __syncthreads();
    }
    UNROLLED
    for (int i = 0; i < 8; i++) {
        UNROLLED
        for (int j = 0; j < 8; j++) {
            int row = i0 + ty + i * 16, col = j0 + tx + j * 16;
            if (row < m && col < n) blend(&C(row, col), alpha, sum[i][j], beta);
        }
    }
}
