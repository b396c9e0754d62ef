/* gemm_batched_mma_sm80 - batches of bf16 or f16 products, summed in f32, C in f32 or in their type, in one launch.
 *
 * IDEA      sgemm_batched_cpasync_sm80's persistent blocks with the tensor cores of sm_80 and above: a warp multiplies
 *           16 x 16 by 16 x 8. The operands of mma are 8 x 8 blocks, which ldmatrix loads row by row as they lie, or
 *           transposed. So each operand is copied as it is stored, and the choice between two instructions makes all
 *           four transposes.
 *
 *               K-major     16 bytes of a row = 8 steps of k                ldmatrix
 *               MN-major    16 bytes of a row = 8 rows (columns) of C       ldmatrix.trans
 *
 * NUMBERS   TILE = 32: 64 threads, 16 x 32 per warp. TILE = 64: 128 threads, 32 x 32. TILE = 128: 256 threads, 64 x 32,
 *           and a block for each tile; the smaller tiles have a few persistent blocks per multiprocessor. Rows in
 *           shared memory are padded by 16 bytes, so that the 8 rows of a block lie in different banks. H200, batches
 *           of 1000 beside cuBLAS 13: docs/perf/batches.md.
 * LIMITS    as sgemm_batched_cpasync_sm80. The tensor cores truncate sums where f32 rounds.
 * HOST      as sgemm_batched_cpasync_sm80. -DIN_F16=1: f16.
 * CHANGED   from sgemm_batched_cpasync_sm80: mma for FMAs, and the loads of its operands.
 * SOURCE    PTX ISA: ldmatrix, mma.sync m16n8k16 */
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#include "batch.cuh"

typedef unsigned short element; /* its bits */

#if ROW_BLOCKS
enum { BLOCKS = ROW_BLOCKS };
#else
enum { BLOCKS = WIDE ? 2 : 1 }; /* element by element wants registers */
#endif
enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    WARP_M = BM / 2,
    WARP_N = 32,
    WARPS_N = BN / WARP_N,
    THREADS = 32 * (BM / WARP_M) * WARPS_N,
    STAGES = ROW_STAGES,
    PAD = 8,
    A_LD = (OP_A ? BM : BK) + PAD,
    B_LD = (OP_B ? BK : BN) + PAD
};
ASSUME(BM == BN && THREADS == ROW_THREADS)

#include "schedule.cuh"

struct stage {
    element a[(OP_A ? BK : BM) * A_LD], b[(OP_B ? BN : BK) * B_LD];
};
ASSUME(STAGES * sizeof(struct stage) <= ROW_BYTES)

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) gemm_batched_mma_sm80(BATCH_ARGUMENTS(PARAMETER, float))
{
    extern __shared__ __align__(16) struct stage ring[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, low = lane % 8, q = lane / 8;
    const struct tiling tiles = tiling_of(m, n);
    int pieces = max(ceil_div(k, BK), 1), a_warp = warp / WARPS_N * WARP_M, b_warp = warp % WARPS_N * WARP_N;
    /* the row that this lane says of 16 x 16 */
    int a_edge = a_warp + q % 2 * 8 + (OP_A ? 0 : low), a_k = q / 2 * 8 + (OP_A ? low : 0);
    int b_edge = b_warp + q / 2 * 8 + (OP_B ? low : 0), b_k = q % 2 * 8 + (OP_B ? 0 : low);
    const element *a = 0, *b = 0; /* of the piece that is fetched next */
    struct walk next = {0, first_work()};
    int i0 = 0, j0 = 0, s = 0, c_i0, c_j0;
    auto fetch_next = [&](struct stage *to) {
        if (next.work < works) {
            if (next.piece == 0) {
                work_at(next.work, tiles, &i0, &j0);
                if (k > 0) {
                    int item = item_at(next.work, tiles);
                    a = item_of<const element>(a_items, pointers, stride_a, item) + (OP_A ? i0 : i0 * lda);
                    b = item_of<const element>(b_items, pointers, stride_b, item) + (OP_B ? j0 * ldb : j0);
                }
            }
            int p = next.piece * BK;
            fetch<!OP_A, BM, BK, A_LD, THREADS>(to->a, a, lda, m - i0, k - p);
            fetch<OP_B, BN, BK, B_LD, THREADS>(to->b, b, ldb, n - j0, k - p);
            a += OP_A ? BK * lda : BK, b += OP_B ? BK : BK * ldb;
            walk_on(&next, pieces);
        }
        copies_commit();
    };
    pdl_trigger();
    pdl_wait();
    for (int e = 0; e < STAGES - 1; e++) fetch_next(&ring[e]);
    ROLLED
    for (int work = first_work(); work < works; work = next_work(work)) {
        float sum[WARP_M / 16][WARP_N / 8][4] = {0};
        ROLLED /* mainloop */
            for (int now = 0; now < pieces; now++, s = s + 1 == STAGES ? 0 : s + 1)
        {
            COPIES_WAIT(STAGES - 2);
            __syncthreads(); /* this piece is there for all, and all have read the one before */
            fetch_next(&ring[s == 0 ? STAGES - 1 : s - 1]);
            UNROLLED
            for (int p = 0; p < BK; p += 16) {
                unsigned a_p[WARP_M / 16][4], b_p[WARP_N / 16][4];
                UNROLLED
                for (int i = 0; i < WARP_M / 16; i++)
                    matrix_load(
                        a_p[i],
                        shared_address(
                            &ring[s].a[OP_A ? (p + a_k) * A_LD + a_edge + 16 * i : (a_edge + 16 * i) * A_LD + p + a_k]),
                        OP_A);
                UNROLLED
                for (int j = 0; j < WARP_N / 16; j++)
                    matrix_load(
                        b_p[j],
                        shared_address(
                            &ring[s].b[OP_B ? (b_edge + 16 * j) * B_LD + p + b_k : (p + b_k) * B_LD + b_edge + 16 * j]),
                        !OP_B);
                UNROLLED
                for (int i = 0; i < WARP_M / 16; i++) {
                    UNROLLED
                    for (int j = 0; j < WARP_N / 8; j++) warp_multiply(sum[i][j], a_p[i], &b_p[j / 2][j % 2 * 2]);
                }
            }
        }
        /* epilogue */
        element_c *c = item_of<element_c>(c_items, pointers, stride_c, item_at(work, tiles));
        work_at(work, tiles, &c_i0, &c_j0);
        int c_i = c_i0 + a_warp + lane / 4, c_j = c_j0 + b_warp + lane % 4 * 2;
        UNROLLED
        for (int i = 0; i < WARP_M / 8; i++) {
            int row = c_i + 8 * i;
            if (row >= m) continue;
            UNROLLED
            for (int j = 0; j < WARP_N / 8; j++) put<2>(OUT, row, c_j + 8 * j, &sum[i / 2][j][i % 2 * 2]);
        }
    }
}
