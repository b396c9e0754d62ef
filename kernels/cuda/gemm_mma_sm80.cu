/* gemm_mma_sm80 - the production kernel for types of 1 and 4 bytes on the matrix units of one warp: i8, u8 and tf32
 * from sm_80 on, e4m3 and e5m2 from sm_89 on.
 *
 * IDEA      r13m_mma, whose instructions see 16 bytes along k of each row whatever lies in them: ldmatrix brings 32
 *           bytes of k, which mma.sync multiplies as 32 elements of 1 byte or 8 of 4. Only 2-byte elements can be
 *           turned on the way, so both operands lie along k: others are transposed first (pack.cu).
 *
 *           fp8: the unit keeps few bits of a sum, so that parts of 64 of k are added in f32 (docs/ACCURACY.md). Their
 *           tiles are of half the edge, since sums and parts are both held in registers.
 * NUMBERS   128 x 128: 64 flop per byte of a 4-byte element; 3 stages of 16 KiB, 128 threads.
 * LIMITS    Any m, n >= 1 and k; A is m x k and B n x k, both aligned to 16 bytes, rows multiples of 16 bytes apart; c
 *           and ldc are any. Fewer than 2^31 tiles.
 * HOST      grid ceil(m / ROW_M) * ceil(n / ROW_N), block ROW_THREADS, dynamic shared memory ROW_BYTES.
 * CHANGED   from r13m_mma: the types; operands along k only; C of several types.
 * SOURCE    PTX ISA (mma.sync, ldmatrix, cp.async); Kerr et al.: CUTLASS, 2017 */
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#include "ampere.cuh"
#include "kmajor_tile.cuh"

enum { GROUP_M = 8 };

#include "schedule.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm_mma_sm80(PLAIN_ARGUMENTS(PARAMETER, number, char, char, element_c))
{
    extern __shared__ __align__(128) struct stage ring[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, blocks = ceil_div(k, BK), now = 0, to = STAGES - 1, i0, j0;
    const long a_ld = lda * ELEMENT_BYTES, b_ld = ldb * ELEMENT_BYTES;
    const long length = (long)k * ELEMENT_BYTES;
    tile_at<GROUP_M>((int)blockIdx.x, tiling_of<GROUP_M>(m, n), &i0, &j0);
    int i_warp = warp / WARPS_N * WM, j_warp = warp % WARPS_N * WN;
    number sum[WM / 16][WN / 8][4] = {0};
    for (int q = 0; q < STAGES - 1; q++) {
        if (q < blocks) {
            fetch<BM>(ring[q].a, a, a_ld, i0, m, q * LINE, length);
            fetch<BN>(ring[q].b, b, b_ld, j0, n, q * LINE, length);
        }
        copies_commit();
    }
    ROLLED
    for (int block = 0; block < blocks; block++) {
        COPIES_WAIT(STAGES - 2);
        __syncthreads(); /* this stage has come for all, and all have read the one before */
        if (block + STAGES - 1 < blocks) {
            fetch<BM>(ring[to].a, a, a_ld, i0, m, (block + STAGES - 1l) * LINE, length);
            fetch<BN>(ring[to].b, b, b_ld, j0, n, (block + STAGES - 1l) * LINE, length);
        }
        copies_commit();
        to = now;
        multiply(sum, ring[now].a, ring[now].b, i_warp, j_warp);
        if (++now == STAGES) now = 0;
    }
    UNROLLED
    for (int i = 0; i < WM / 16; i++) {
        UNROLLED
        for (int j = 0; j < WN / 8; j++) {
            UNROLLED
            for (int e = 0; e < 4; e++) {
                int row = i0 + i_warp + i * 16 + lane / 4 + e / 2 * 8, col = j0 + j_warp + j * 8 + lane % 4 * 2 + e % 2;
                put_one(OUT, row, col, sum[i][j][e]);
            }
        }
    }
}
