/* gemm_batched_tma_sm90 - batches of bf16 or f16 products at strides, summed in f32: TMA loads the tiles and stores C.
 *
 * IDEA      gemm_batched_mma_sm80's products are so quick that only memory counts, and half of its traffic is C. Here
 *           no thread waits for loads or stores. One thread asks for boxes STAGES - 1 steps ahead, across the borders
 *           of items. C goes to shared memory, from where TMA stores it while the next item is multiplied:
 *
 *               TMA       in 4 | in 5 | in 6 | out 3 | in 7 | in 8 | out 4 ...
 *               threads          mul 3  |      mul 4       |     mul 5
 *
 *           Lines of 128 bytes are swizzled over 8 lines, so that the 8 rows that ldmatrix reads at a time lie in
 *           different banks, and those of C too.
 *
 * NUMBERS   64 x 64 tiles, 128 threads of 32 x 32 per warp, 3 stages of 16 KiB and 16 KiB of C: three blocks per
 *           multiprocessor. H200: docs/perf/batches.md.
 * LIMITS    sm_90 and above. Addresses, ld and strides multiples of 16 bytes, n of 4 (TMA stores whole 16 bytes), k >
 *           0. No arrays of addresses.
 * HOST      at most 3 blocks per multiprocessor and works; dynamic shared memory sizeof(struct ring). Maps of rank 3 as
 *           in sgemm_batched_tma_sm90, swizzled by 128 bytes: boxes {64 along k, 64 rows} or {64, 64 along k}; of C
 *           {32, 64 rows}. -DIN_F16=1: f16.
 * CHANGED   from gemm_batched_mma_sm80: TMA copies.
 * SOURCE    PTX ISA: cp.async.bulk.tensor and its swizzles, ldmatrix, mma.sync */
#include "rung.cuh"
#include "arguments.h"
#include "hopper.cuh"
#include "boxes.cuh"
#include "ampere.cuh"
#include "epilogue.cuh"

typedef unsigned short element; /* its bits */

enum {
    BM = ROW_M,
    BN = ROW_N,
    WARP_M = 32,
    WARP_N = 32,
    WARPS_N = BN / WARP_N,
    THREADS = ROW_THREADS,
    BK = ROW_K,
    STAGES = ROW_STAGES,
    BLOCKS = ROW_BLOCKS
};
ASSUME(BM == 64 && BN == 64 && BK == 64 && THREADS == 32 * (BM / WARP_M) * WARPS_N)

struct ring {
    element a[STAGES][BM * BK], b[STAGES][BK * BN];
    float c[BN / 32][BM][32];
    barrier full[STAGES];
};
ASSUME(sizeof(struct ring) <= ROW_BYTES)
ASSUME_BOXES(0, BM, 0, BN)

#include "schedule.cuh"

/* Bytes into a tile of 8 elements whose line number is `line` and whose place in it is 8 * eighth; low: line % 8. */
static __device__ __forceinline__ int place(int line, int eighth, int low)
{
    return line * 128 + ((eighth ^ low) << 4);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm_batched_tma_sm90(BOXES_ARGUMENTS(PARAMETER, float, float))
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, low = lane % 8, q = lane / 8, phase = 0, s = 0;
    const struct tiling tiles = tiling_of(m, n);
    int pieces = max(ceil_div(k, BK), 1), a_warp = warp / WARPS_N * WARP_M, b_warp = warp % WARPS_N * WARP_N;
    /* of the block that this lane's row is in */
    int a_edge = a_warp + q % 2 * 8, a_k = q / 2 * 8, b_edge = b_warp + q / 2 * 8, b_k = q % 2 * 8;
    struct walk next = {0, first_work()};
    auto fetch_next = [&](int to) {
        if (tid != 0 || next.work >= works) return;
        int item = item_at(next.work, tiles), p = next.piece * BK, i0, j0;
        work_at(next.work, tiles, &i0, &j0);
        barrier_expect(&ring->full[to], 2 * (BM + BN) * BK);
        fetch_box(ring->a[to], &a_map, OP_A ? i0 : p, OP_A ? p : i0, a_shared ? 0 : item, &ring->full[to]);
        fetch_box(ring->b[to], &b_map, OP_B ? p : j0, OP_B ? j0 : p, b_shared ? 0 : item, &ring->full[to]);
        walk_on(&next, pieces);
    };
    if (tid == 0) ring_init(STAGES, ring->full);
    pdl_wait();
    __syncthreads();
    for (int e = 0; e < STAGES - 1; e++) fetch_next(e);
    ROLLED
    for (int work = first_work(); work < works; work = next_work(work)) {
        if (next_work(work) >= works) pdl_trigger();
        float sum[WARP_M / 16][WARP_N / 8][4] = {0};
        ROLLED /* mainloop */
            for (int piece = 0; piece < pieces; piece++)
        {
            barrier_wait(&ring->full[s], phase);
            __syncthreads(); /* all have read the stage before */
            fetch_next(s == 0 ? STAGES - 1 : s - 1);
            unsigned a_tile = shared_address(ring->a[s]), b_tile = shared_address(ring->b[s]);
            UNROLLED
            for (int p = 0; p < BK; p += 16) {
                unsigned a_p[WARP_M / 16][4], b_p[WARP_N / 16][4];
                UNROLLED
                for (int i = 0; i < WARP_M / 16; i++)
                    matrix_load(a_p[i],
                                a_tile + (OP_A ? place(p + a_k + low, (a_edge + 16 * i) / 8, low)
                                               : place(a_edge + low + 16 * i, (p + a_k) / 8, low)),
                                OP_A);
                UNROLLED
                for (int j = 0; j < WARP_N / 16; j++)
                    matrix_load(b_p[j],
                                b_tile + (OP_B ? place(b_edge + low + 16 * j, (p + b_k) / 8, low)
                                               : place(p + b_k + low, (b_edge + 16 * j) / 8, low)),
                                !OP_B);
                UNROLLED
                for (int i = 0; i < WARP_M / 16; i++) {
                    UNROLLED
                    for (int j = 0; j < WARP_N / 8; j++) warp_multiply(sum[i][j], a_p[i], &b_p[j / 2][j % 2 * 2]);
                }
            }
            if (++s == STAGES) s = 0, phase ^= 1;
        }
        /* epilogue: through shared memory, by TMA */
        int item = item_at(work, tiles), c_i, c_j;
        float *c = c_items + stride_c * item;
        work_at(work, tiles, &c_i, &c_j);
        if (tid == 0) TMA_STORES_READ(0);
        __syncthreads(); /* the tile before has left */
        UNROLLED
        for (int i = 0; i < WARP_M / 8; i++) {
            int row = a_warp + 8 * i + lane / 4;
            UNROLLED
            for (int j = 0; j < WARP_N / 8; j++) {
                int col = 8 * j + lane % 4 * 2;
                const float *x = &sum[i / 2][j][i % 2 * 2];
                float2 y = {0, 0};
                if (reads_c(beta) && c_i + row < m && c_j + b_warp + col < n)
                    y = *(const float2 *)&C(c_i + row, c_j + b_warp + col);
                y.x = result(alpha, x[0], beta, y.x), y.y = result(alpha, x[1], beta, y.y);
                *(float2 *)&ring->c[b_warp / 32][row][(col / 4 ^ row % 8) * 4 + col % 4] = y;
            }
        }
        tma_fence();
        __syncthreads();
        if (tid == 0)
            for (int e = 0; e < BN / 32; e++) store_box(&c_map, c_j + 32 * e, c_i, item, ring->c[e]);
    }
    if (tid == 0) TMA_STORES_READ(0);
}
