/* sgemm_batched_cpasync_sm80 - batches of small f32 products in one launch of persistent blocks.
 *
 * IDEA      A small product takes less time than its launch, and a block's first loads have nothing to overlap with. So
 *           one launch computes all items. Many blocks share a multiprocessor, and while a block multiplies one step of
 *           k the next ones are in flight, those of the next item too:
 *
 *               item    3 3 3 3 | 7 7 7 7 | 11 ...         copies of 16 bytes, STAGES - 1 steps ahead
 *               item      3 3 3 3 | 7 7 7 7 | 11 ...       FMAs
 *
 *           Threads hold TM x TN sums. A K-major operand is read along k, 16 bytes being 4 steps. The rows of
 *           neighbouring threads are then neighbours; they are a multiple of 16 words plus 4 apart, so that 8 of them
 *           lie in different banks.
 *
 * NUMBERS   TILE = 32: 64 threads, 4 x 4 sums, k in steps of 32. TILE = 64: 128 threads, 8 x 4 sums, steps of 16 in 3
 *           stages, 4 blocks per multiprocessor. H200, batches of 1000 beside cuBLAS 13: docs/perf/batches.md.
 * LIMITS    sm_80 and above. Any m, n, k, ld, strides and transposes; WIDE = 1 promises that addresses, ld and strides
 *           are multiples of 16 bytes. An element is one sum over k in ascending order, whatever its item's index.
 * HOST      one dimension of blocks, at most works = count * ceil(m / TILE) * ceil(n / TILE); dynamic shared memory
 *           STAGES * sizeof(struct stage).
 * SOURCE    PTX ISA: cp.async; Volkov, Demmel 2008 */
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#include "batch.cuh"

#if ROW_M == 32
enum { TM = 4, TN = 4 };
#else
enum { TM = 8, TN = 4 };
#endif
enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    STAGES = ROW_STAGES,
    BLOCKS = ROW_BLOCKS,
    WARP_M = 8 * TM,
    WARP_N = 4 * TN,
    WARPS_N = BN / WARP_N,
    THREADS = 32 * (BM / WARP_M) * WARPS_N,
    STEP = 4, /* of k at a time */
    A_LD = OP_A ? BM : BK + 4,
    B_LD = OP_B ? BK + 4 : BN
};
ASSUME(BM == BN && THREADS == ROW_THREADS)

#include "schedule.cuh"

struct stage {
    float a[(OP_A ? BK : BM) * A_LD], b[(OP_B ? BN : BK) * B_LD];
};
ASSUME(STAGES * sizeof(struct stage) <= ROW_BYTES)

/* Which row (column) of its warp's tile is number e of a thread's; `along` threads share the edge. */
static __device__ __forceinline__ int edge_of(bool along_k, int along, int thread, int e)
{
    return along_k ? thread + along * e : 4 * (thread + e / 4 * along) + e % 4;
}

/* A thread's COUNT elements of STEP steps of k; `at` is its first. */
template <bool ALONG_K, int ALONG, int COUNT, int LD>
static __device__ __forceinline__ void read_steps(float (*x)[STEP], const float *at, int p)
{
    UNROLLED
    for (int e = 0; e < COUNT && ALONG_K; e++) *(float4 *)x[e] = *(const float4 *)&at[e * ALONG * LD + p];
    UNROLLED
    for (int q = 0; q < STEP && !ALONG_K; q++) {
        UNROLLED
        for (int e = 0; e < COUNT; e += 4) {
            float4 y = *(const float4 *)&at[(p + q) * LD + e * ALONG];
            x[e][q] = y.x, x[e + 1][q] = y.y, x[e + 2][q] = y.z, x[e + 3][q] = y.w;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    sgemm_batched_cpasync_sm80(BATCH_ARGUMENTS(PARAMETER, float))
{
    extern __shared__ __align__(16) struct stage ring[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 8 * 2 + lane % 2, h = lane / 2 % 4;
    const struct tiling tiles = tiling_of(m, n);
    int pieces = max(ceil_div(k, BK), 1), a_warp = warp / WARPS_N * WARP_M, b_warp = warp % WARPS_N * WARP_N;
    const float *a = 0, *b = 0; /* of the piece that is fetched next */
    struct walk next = {0, first_work()};
    int i0 = 0, j0 = 0, s = 0, c_i0, c_j0;
    auto fetch_next = [&](struct stage *to) {
        if (next.work < works) {
            if (next.piece == 0) {
                work_at(next.work, tiles, &i0, &j0);
                if (k > 0) {
                    int item = item_at(next.work, tiles);
                    a = item_of<const float>(a_items, pointers, stride_a, item) + (OP_A ? i0 : i0 * lda);
                    b = item_of<const float>(b_items, pointers, stride_b, item) + (OP_B ? j0 * ldb : j0);
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
    for (int q = 0; q < STAGES - 1; q++) fetch_next(&ring[q]);
    ROLLED
    for (int work = first_work(); work < works; work = next_work(work)) {
        float sum[TM][TN] = {0};
        ROLLED /* mainloop */
            for (int now = 0; now < pieces; now++, s = s + 1 == STAGES ? 0 : s + 1)
        {
            COPIES_WAIT(STAGES - 2);
            __syncthreads(); /* this piece is there for all, and all have read the one before */
            fetch_next(&ring[s == 0 ? STAGES - 1 : s - 1]);
            const float *a_at = &ring[s].a[OP_A ? a_warp + 4 * g : (a_warp + g) * A_LD],
                        *b_at = &ring[s].b[OP_B ? (b_warp + h) * B_LD : b_warp + 4 * h];
            UNROLLED
            for (int p = 0; p < BK; p += STEP) {
                __align__(16) float a_p[TM][STEP], b_p[TN][STEP];
                read_steps<!OP_A, 8, TM, A_LD>(a_p, a_at, p);
                read_steps<OP_B, 4, TN, B_LD>(b_p, b_at, p);
                UNROLLED
                for (int q = 0; q < STEP; q++) {
                    UNROLLED
                    for (int i = 0; i < TM; i++) {
                        UNROLLED
                        for (int e = 0; e < TN; e++) {
                            int j = i % 2 ? e : TN - 1 - e;
                            sum[i][j] = fmaf(a_p[i][q], b_p[j][q], sum[i][j]);
                        }
                    }
                }
            }
        }
        /* epilogue */
        float *c = item_of<float>(c_items, pointers, stride_c, item_at(work, tiles));
        work_at(work, tiles, &c_i0, &c_j0);
        int c_i = c_i0 + a_warp, c_j = c_j0 + b_warp;
        UNROLLED
        for (int i = 0; i < TM; i++) {
            int row = c_i + edge_of(!OP_A, 8, g, i);
            if (row >= m) continue;
            UNROLLED
            for (int j = 0; j < TN; j += OP_B ? 1 : 4) {
                int col = c_j + edge_of(OP_B, 4, h, j);
                if (!OP_B)
                    put<4>(OUT, row, col, &sum[i][j]);
                else
                    put_one(OUT, row, col, sum[i][j]);
            }
        }
    }
}
