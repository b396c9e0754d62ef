/* gemm_batched_wgmma_sm90 - batches at strides of K-major operands of 1 and 4 bytes: tf32, i8, u8, e4m3 and e5m2 by
 * wgmma. TMA loads the tiles and stores C.
 *
 * IDEA      gemm_batched_tma_sm90's persistent blocks and boxes, but wgmma reads both tiles from shared memory. So no
 *           thread holds operands, TMA rounds tf32 on its way, and threads touch nothing but C. By mma.sync threads
 *           would have to round tf32, and to widen fp8 to f16.
 *
 *               TMA           in 4 | in 5 | in 6 | out 3 | in 7 | in 8 | out 4 ...
 *               warpgroups        mul 3  |      mul 4       |     mul 5
 *
 *           A warpgroup has 64 rows of the tile. As in gemm_fp8_sm90, a part of fp8 is 128 steps of k, a stage, and is
 *           added to sums in f32.
 * NUMBERS   64 x 64: 128 threads, 3 stages of 16 KiB and 16 KiB of C, three blocks per multiprocessor. 128 x 128, tf32
 *           alone: 256 threads, 4 stages of 32 KiB and 64 KiB of C, one block; it reads A and B half as often. H200,
 *           1000 items of 128 cubed: tf32 79.7 TFLOP/s, int8 150 TOPS (docs/perf/batches.md#wgmma).
 * LIMITS    sm_90a only. A is m x k and B n x k; addresses, ld, strides and the n of C multiples of 16 bytes, k > 0. No
 *           arrays of addresses.
 * HOST      at most ROW_BLOCKS blocks per multiprocessor and works; dynamic shared memory sizeof(struct ring). Maps of
 *           rank 3 as in sgemm_batched_tma_sm90, swizzled by 128 bytes: boxes of 128 bytes along k and ROW_M or ROW_N
 *           rows; of C 128 bytes and ROW_M rows. TYPE_A, TYPE_B, ELEMENT_BYTES and SUMS_S32 as in rung.cuh, C_HALF and
 *           IN_F16 as in epilogue.cuh.
 * CHANGED   from gemm_batched_tma_sm90: wgmma in place of ldmatrix and mma.sync.
 * SOURCE    PTX ISA: wgmma, cp.async.bulk.tensor; promotion: DeepGEMM and CUTLASS, 2025 */
#include "rung.cuh"
#include "arguments.h"
#define MATRIX_N          ROW_N
#define MATRIX_MN_MAJOR_A 0
#define MATRIX_MN_MAJOR_B 0
#include "hopper.cuh"
#include "boxes.cuh"
#include "wgmma_c.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    THREADS = ROW_THREADS,
    STAGES = ROW_STAGES,
    BLOCKS = ROW_BLOCKS,
    PROMOTES = ELEMENT_BYTES == 1 && !SUMS_S32
};
ASSUME(ELEMENT_BYTES != 2 && BK * ELEMENT_BYTES == 128 && THREADS == BM / 64 * 128)
ASSUME(!OP_A && OP_B)

struct ring {
    char a[STAGES][BM][128], b[STAGES][BN][128];
    element_c c[BN / OUT_COLS][BM][OUT_COLS];
    barrier full[STAGES];
};
ASSUME(sizeof(struct ring) <= ROW_BYTES)
ASSUME_BOXES(0, BM, 0, BN)

#include "schedule.cuh"

/* sum <- alpha * sum + beta * c of this thread's sums from row `row`, column `col` on. */
static __device__ __forceinline__ void blend_all(number *sum, const element_c *c, long ldc, int row, int col, int m,
                                                 int n, number alpha, number beta)
{
    UNROLLED
    for (int e = 0; e < BN / 2; e++) {
        int i = row + e / 2 % 2 * 8, j = col + e / 4 * 8 + e % 2;
        sum[e] = result(alpha, sum[e], beta, i < m && j < n ? value_of(C(i, j)) : 0);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm_batched_wgmma_sm90(BOXES_ARGUMENTS(PARAMETER, number, element_c))
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp_row = tid / 32 * 16, s = 0, phase = 0,
        pieces = max(ceil_div(k, BK), 1);
    const struct tiling tiles = tiling_of(m, n);
    struct walk next = {0, first_work()};
    auto fetch_next = [&](int to) {
        if (tid == 0 && next.work < works) {
            int item = item_at(next.work, tiles), p = next.piece * BK, i0, j0;
            barrier_expect(&ring->full[to], (BM + BN) * 128);
            work_at(next.work, tiles, &i0, &j0);
            fetch_box(ring->a[to], &a_map, p, i0, a_shared ? 0 : item, &ring->full[to]);
            fetch_box(ring->b[to], &b_map, p, j0, b_shared ? 0 : item, &ring->full[to]);
            walk_on(&next, pieces);
        }
    };
    if (tid == 0) {
        ring_init(STAGES, ring->full);
        prefetch_map(&a_map), prefetch_map(&b_map), prefetch_map(&c_map);
    }
    pdl_wait();
    __syncthreads();
    for (int e = 0; e < STAGES - 1; e++) fetch_next(e);
    ROLLED
    for (int work = first_work(); work < works; work = next_work(work)) {
        if (next_work(work) >= works) pdl_trigger();
        number sum[BN / 2]; /* set by wgmma alone, or of fp8 the sums of its parts */
        if (PROMOTES) {
            UNROLLED
            for (int e = 0; e < BN / 2; e++) sum[e] = 0;
        }
        ROLLED /* mainloop */
            for (int piece = 0; piece < pieces; piece++)
        {
            number part[BN / 2], *to = PROMOTES ? part : sum;
            barrier_wait(&ring->full[s], phase);
            __syncthreads(); /* all have read the stage before */
            fetch_next(s == 0 ? STAGES - 1 : s - 1);
            unsigned long long a = matrix_descriptor(ring->a[s][warp_row / 64 * 64], 8 * 128, 0),
                               b = matrix_descriptor(ring->b[s], 8 * 128, 0);
            matrix_begin();
            UNROLLED
            for (int p = 0; p < 128; p += 32) matrix_multiply(to, a + p / 16, b + p / 16, PROMOTES ? p : piece | p);
            matrix_commit();
            MATRIX_WAIT(0);
            matrix_end(to);
            if (PROMOTES) {
                UNROLLED
                for (int e = 0; e < BN / 2; e++) sum[e] += part[e];
            }
            if (++s == STAGES) s = 0, phase ^= 1;
        }
        /* epilogue: through shared memory, by TMA */
        int item = item_at(work, tiles), c_i, c_j;
        work_at(work, tiles, &c_i, &c_j);
        if (reads_c(beta))
            blend_all(sum, c_items + stride_c * item, ldc, c_i + warp_row + lane / 4, c_j + lane % 4 * 2, m, n, alpha,
                      beta);
        if (tid == 0) TMA_STORES_READ(0);
        __syncthreads(); /* the tile before has left */
        UNROLLED
        for (int e = 0; e < BN / OUT_COLS; e++)
            stage_rows(shared_address(ring->c[e]), warp_row, lane, reads_c(beta) ? 1 : alpha, &sum[e * OUT_COLS / 2]);
        tma_fence();
        __syncthreads();
        if (tid == 0)
            for (int e = 0; e < BN / OUT_COLS; e++) store_box(&c_map, c_j + OUT_COLS * e, c_i, item, ring->c[e]);
    }
    if (tid == 0) TMA_STORES_READ(0);
}
