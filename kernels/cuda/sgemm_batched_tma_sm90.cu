/* sgemm_batched_tma_sm90 - batches of f32 products at strides in tiles of 128 x 128, loaded by TMA.
 *
 * IDEA      sgemm_batched_cpasync_sm80's batches with the mainloop of sgemm_tma_sm90, a block for each tile. A batch
 *           at strides is one tensor of three dimensions, so one thread asks for a tile, as r12 does. A K-major operand
 *           comes as it lies, and the threads transpose it: thread i reads row i, 16 words, and writes it as column i
 *           of the tile that is multiplied, while the next tiles are in flight:
 *
 *               box, 128 rows of 16 along k        each thread a row            tile, 16 steps of 128
 *               . . . .                                                         . . . . . . . .
 *               # # # #    4 loads of 16 bytes    ->    16 stores, side by side  . # . . . . . .
 *               . . . .                                                         . # . . . . . .
 *
 *           The rows' 16-byte words are swizzled by 64 bytes, so that 8 neighbours read from different banks.
 *
 *           Blocks that begin together load, multiply and store together: memory idles while they multiply, and they
 *           wait while they store. So the blocks of the first `cut` tiles compute only 96 rows, end while others still
 *           multiply, and the multiprocessor stays out of step from then on (1 to 2 % of 1000 products of 128 cubed).
 *           The 32 rows that are left of each come last, when the last whole tiles leave multiprocessors free:
 *
 *         blocks  0 ... cut: 96 rows | cut ... works: whole tiles | works ... works + cut: 32 rows left of tile 0, ...
 *
 * NUMBERS   16 x 8 sums per thread, 168 registers, 128 threads, 3 stages of 16 KiB (2 where both operands are
 *           transposed) and two transposed tiles of each: three blocks per multiprocessor. Transposing is 4 loads and
 *           16 stores for 2048 FMAs. H200: docs/perf/batches.md#f32-128.
 * LIMITS    sm_90 and above. Addresses, ld and strides multiples of 16 bytes, n of 4, k > 0. No arrays of addresses. An
 *           element is one sum over k in ascending order, whatever its item's index.
 * HOST      one dimension of works + cut blocks, works = count * ceil(m / 128) * ceil(n / 128), 0 <= cut <= works;
 *           dynamic shared memory sizeof(struct ring). Maps of rank 3, the third dimension the item, or 1 of a shared
 *           operand: boxes {16 along k, 128 rows} swizzled by 64 bytes, or {128, 16 along k} not swizzled.
 * CHANGED   from sgemm_tma_sm90: items as the third dimension, transposing in the kernel instead of a pass before it.
 * SOURCE    as sgemm_tma_sm90; PTX ISA: swizzles of cp.async.bulk.tensor */
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#include "hopper.cuh"
#include "boxes.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    THREADS = ROW_THREADS,
    TRANSPOSED = !OP_A + OP_B,
    STAGES = TRANSPOSED == 2 ? 2 : 3,
    BLOCKS = 3,
    CUT_AT = 96
};
ASSUME(BM == 128 && BN == 128 && BK == 16 && THREADS == 128)

struct ring {
    float a[STAGES][BM * BK], b[STAGES][BK * BN];
#if !OP_A
    float a_transposed[2][BK * BM];
#endif
#if OP_B
    float b_transposed[2][BK * BN];
#endif
    barrier full[STAGES];
};
ASSUME(sizeof(struct ring) <= ROW_BYTES)
ASSUME_BOXES(0, BM, 0, BN)

/* Rows of 16 along k, swizzled by 64 bytes, become columns: thread i has row i of ROWS. */
template <int ROWS> static __device__ __forceinline__ void turn(float *to, const float *from)
{
    int row = threadIdx.x;
    if (row >= ROWS) return;
    float4 x[4];
    UNROLLED
    for (int q = 0; q < 4; q++) x[q] = *(const float4 *)&from[row * BK + (q ^ (row / 2 % 4)) * 4];
    UNROLLED
    for (int q = 0; q < 4; q++) {
        to[(4 * q) * ROWS + row] = x[q].x, to[(4 * q + 1) * ROWS + row] = x[q].y;
        to[(4 * q + 2) * ROWS + row] = x[q].z, to[(4 * q + 3) * ROWS + row] = x[q].w;
    }
}

/* BANDS times 32 rows of an item's C, from row i0, in the 128 columns from j0. */
template <int BANDS>
static __device__ __forceinline__ void multiply(struct ring *ring, const tensor_map *a_map, const tensor_map *b_map,
                                                int m, int n, int k, float alpha, float beta, float *c, long ldc,
                                                int i0, int j0, int a_item, int b_item)
{
    enum { A_LD = OP_A ? BM : 32 * BANDS };
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, t = 0, fetched = 0,
        pieces = max(ceil_div(k, BK), 1);
    int a_at = (lane / 8 * 2 + lane % 2) * 4, b_at = warp * 32 + lane / 2 % 4 * 4;
    auto fetch_next = [&](int to) {
        int p = fetched * BK;
        if (fetched++ >= pieces || tid != 0) return;
        barrier_expect(&ring->full[to], 4 * (BM + BN) * BK);
        fetch_box(ring->a[to], a_map, OP_A ? i0 : p, OP_A ? p : i0, a_item, &ring->full[to]);
        fetch_box(ring->b[to], b_map, OP_B ? p : j0, OP_B ? j0 : p, b_item, &ring->full[to]);
    };
    for (int q = 0; q < STAGES - 1; q++) fetch_next(q);
    float sum[4 * BANDS][8] = {0};
    ROLLED
    for (int piece = 0; piece < pieces; piece++) {
        const float *a_tile = ring->a[s], *b_tile = ring->b[s];
        barrier_wait(&ring->full[s], phase);
#if !OP_A
        turn<32 * BANDS>(ring->a_transposed[t], a_tile), a_tile = ring->a_transposed[t];
#endif
#if OP_B
        turn<BN>(ring->b_transposed[t], b_tile), b_tile = ring->b_transposed[t];
#endif
        a_tile += a_at, b_tile += b_at;
        __syncthreads(); /* the tile is transposed, and all have read the one before */
        fetch_next(s == 0 ? STAGES - 1 : s - 1);
        ROLLED
        for (int half = 0; half < 2; half++, a_tile += BK / 2 * A_LD, b_tile += BK / 2 * BN) {
            UNROLLED
            for (int p = 0; p < BK / 2; p++) {
                float a_p[4 * BANDS], b_p[8];
                UNROLLED
                for (int i = 0; i < BANDS; i++) *(float4 *)&a_p[4 * i] = *(const float4 *)&a_tile[p * A_LD + 32 * i];
                UNROLLED
                for (int j = 0; j < 2; j++) *(float4 *)&b_p[4 * j] = *(const float4 *)&b_tile[p * BN + 16 * j];
                UNROLLED
                for (int i = 0; i < 4 * BANDS; i++) {
                    UNROLLED
                    for (int q = 0; q < 8; q++) {
                        int j = i % 2 ? q : 7 - q;
                        sum[i][j] = fmaf(a_p[i], b_p[j], sum[i][j]);
                    }
                }
            }
        }
        t ^= 1;
        if (++s == STAGES) s = 0, phase ^= 1;
    }
    int c_i = i0 + a_at, c_j = j0 + b_at;
    if (!reads_c(beta) && m - i0 >= 32 * BANDS && n - j0 >= BN) { /* without a branch in it */
        UNROLLED
        for (int i = 0; i < 4 * BANDS; i++) {
            const float *x = sum[i];
            float *to = &C(c_i + i / 4 * 32 + i % 4, c_j);
            *(float4 *)to = make_float4(alpha * x[0], alpha * x[1], alpha * x[2], alpha * x[3]);
            *(float4 *)(to + 16) = make_float4(alpha * x[4], alpha * x[5], alpha * x[6], alpha * x[7]);
        }
    } else {
        UNROLLED
        for (int i = 0; i < 4 * BANDS; i++) {
            int row = c_i + i / 4 * 32 + i % 4;
            if (row >= m) continue;
            put<4>(OUT, row, c_j, &sum[i][0]);
            put<4>(OUT, row, c_j + 16, &sum[i][4]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    sgemm_batched_tma_sm90(BOXES_ARGUMENTS(PARAMETER, float, float))
{
    extern __shared__ __align__(1024) struct ring ring[];
    int cut = gridDim.x - works, work = blockIdx.x, rest = work >= works, tile = rest ? work - works : work;
    int tiles_n = ceil_div(n, BN), tiles = ceil_div(m, BM) * tiles_n, item = tile / tiles;
    int i0 = tile % tiles / tiles_n * BM + (rest ? CUT_AT : 0), j0 = tile % tiles % tiles_n * BN;
    if (threadIdx.x == 0) ring_init(STAGES, ring->full);
    pdl_trigger();
    pdl_wait();
    __syncthreads();
#define TAKE(BANDS)                                                                                                    \
    multiply<BANDS>(ring, &a_map, &b_map, m, n, k, alpha, beta, c_items + stride_c * item, ldc, i0, j0,                \
                    a_shared ? 0 : item, b_shared ? 0 : item)
    int rows = min(rest ? BM - CUT_AT : work < cut ? (int)CUT_AT : (int)BM, m - i0);
    if (rows > CUT_AT)
        TAKE(BM / 32);
    else if (rows > BM - CUT_AT)
        TAKE(CUT_AT / 32);
    else if (rows > 0)
        TAKE((BM - CUT_AT) / 32);
}
