/* gemm_wgmma_sm90 - the production kernel for bf16 and f16 on sm_90: r13 for all transposes, warp-specialised and
 * ping-pong, with C in f32 or in the operands' type, in tiles of several sizes.
 *
 * IDEA      wgmma reads either operand K-major or MN-major from shared memory, so nothing is transposed. An MN-major
 *           operand comes in boxes of the same lines of 64 elements, and one bit of the instruction differs.
 *
 *               A m x k   box: the tile's rows of 64 k   A k x m (transposed)   boxes: 64 steps of k of 64 rows
 *               B k x n   boxes: 64 steps of 64 columns  B n x k (transposed)   box: the tile's columns of 64 k
 *
 *           One warp issues the TMA copies. Two consumer warpgroups compute whole tiles in ping-pong: while one is in
 *           its epilogue, the other has the tensor cores to itself, and its first stages have already arrived. r13's
 *           two warpgroups share each tile, and store at the same time.
 *
 *               warpgroup 0   | multiply 0 | store 0 |  wait   | multiply 2 | store 2 | ...
 *               warpgroup 1   |    wait    | multiply 1        | store 1    | multiply 3
 *               copies        | 0   | 1           | 2          | 3 ...
 *
 *           Epilogue: C leaves by TMA as A and B came. A warpgroup writes 64 lines of 128 bytes of its sums into shared
 *           memory, swizzled, so that no two lanes meet in a bank; one thread starts the store, and the next 64 lines
 *           go into the other of two buffers meanwhile. TMA drops what lies outside of C. Where TMA cannot store C
 *           (beta not 0, rows or addresses not in multiples of 16 bytes, or a last column within 16 bytes, all of which
 *           it would write), threads store their sums themselves, two neighbours at a time.
 * NUMBERS   128 x 128: 64 flop/byte, 6 stages of 32 KiB and 32 KiB for C, 384 threads, 24 and 240 registers: one block
 *           per multiprocessor. H200, bf16, C in f32, speed relative to two warpgroups that share tiles of 128 x 256,
 *           in one run: 2048 1.07, 4096 1.05, 8192 1.03; in tiles of 128 x 192, 3072 1.03. The tensor cores round f32
 *           sums toward zero (docs/ACCURACY.md).
 * LIMITS    sm_90a only. m, n >= 1; a and b aligned to 16 bytes, lda and ldb multiples of 8 (pack.cu copies others
 *           first). WIDE = 1 promises c aligned to 16 bytes and rows of C a multiple of 16 bytes apart, less than 2^40;
 *           WIDE = 0 takes any. Tiles + 2 grids < 2^31. ROW_M 64 or 128, ROW_N 64, 128 or 192. C_HALF = 1: C of the
 *           operands' type, else f32. IN_F16 = 1: f16 instead of bf16.
 * HOST      Any grid is correct. Best is the smallest that needs as few waves as one block per multiprocessor, as in
 *           r13. block 384, dynamic shared memory sizeof(struct ring). Three tensor maps, rank 2, element strides 1, no
 *           interleave, zeros outside, swizzle 128 B, L2 promotion 256 B: A, B and C as they are stored, in boxes of 64
 *           rows and 128 bytes; where A or B is K-major, of ROW_M or ROW_N rows. C's map is read only where WIDE = 1
 *           and beta = 0. May be launched with PDL (programmatic stream serialization).
 * CHANGED   from r13: transposes, ping-pong, the epilogue by TMA, the tiles and their stages.
 * SOURCE    PTX ISA (matrix descriptors, stmatrix, cp.async.bulk.tensor); ping-pong: Thakkar et al.: CUTLASS 3, 2023 */
#ifndef C_HALF
#define C_HALF 0
#endif
#ifndef WIDE
#define WIDE 1
#endif
#ifndef GROUP_M
#define GROUP_M 8
#endif
#include "rung.cuh"
#define MATRIX_N          ROW_N
#define MATRIX_MN_MAJOR_A OP_A
#if OP_B
#define MATRIX_MN_MAJOR_B 0
#else
#define MATRIX_MN_MAJOR_B 1
#endif
#include "hopper.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    LINE = 64,
    SUBTILES = BM / 64,
    STAGES = ROW_STAGES,
    THREADS = ROW_THREADS,
    CONSUMERS = 2 * 128
};
ASSUME(BK == LINE && THREADS == CONSUMERS + 128)
/* at first each thread has a third of the registers, too few for these sums */
enum { MOVES_REGISTERS = SUBTILES * BN / 2 >= 128 };
enum {
    WITHIN = 1,
    MAINLOOP = 3
}; /* named barriers: of the threads of warpgroup 0 or 1; for the turn of warpgroup 0 or 1 */
#if C_HALF
typedef unsigned short element_c;
#else
typedef float element_c;
#endif
enum { OUT_COLS = 128 / sizeof(element_c) };

struct stage {
    unsigned short a[SUBTILES][64][LINE], b[BN / 64][64][LINE];
};

struct ring {
    struct stage stage[STAGES];
    element_c out[2][2][64][OUT_COLS]; /* of each warpgroup */
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) <= ROW_BYTES)
ASSUME_BOXES(LINE, LINE, LINE, LINE)

#include "raster.cuh"

/* ---- C ---- */

/* Both rounded, x in the low half. */
static __device__ __forceinline__ unsigned pair_of(float x, float y)
{
    unsigned pair;
    asm("cvt.rn." MATRIX_TYPE "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
}

#if C_HALF
static __device__ __forceinline__ float float_of(unsigned short x)
{
#if IN_F16
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
#else
    return __uint_as_float((unsigned)x << 16);
#endif
}
#endif

/* c[0], c[1] <- alpha * (x, y) + beta * c, of which `count` lie in C. */
static __device__ __forceinline__ void put(element_c *c, int count, float alpha, float x, float y, float beta)
{
#if C_HALF
    unsigned old = 0;
    float new_x = 0, new_y = 0;
    if (beta != 0) {
        if (WIDE && count >= 2)
            old = *(const unsigned *)c;
        else
            old = (count > 0 ? c[0] : 0) | (unsigned)(count > 1 ? c[1] : 0) << 16;
        new_x = float_of((unsigned short)old), new_y = float_of((unsigned short)(old >> 16));
    }
    blend(&new_x, alpha, x, beta);
    blend(&new_y, alpha, y, beta);
    old = pair_of(new_x, new_y);
    if (WIDE && count >= 2)
        *(unsigned *)c = old;
    else {
        if (count > 0) c[0] = (unsigned short)old;
        if (count > 1) c[1] = (unsigned short)(old >> 16);
    }
#else
    if (WIDE && count >= 2) {
        float2 both = {0, 0};
        if (beta != 0) both = *(const float2 *)c;
        blend(&both.x, alpha, x, beta);
        blend(&both.y, alpha, y, beta);
        *(float2 *)c = both;
        return;
    }
    if (count > 0) blend(&c[0], alpha, x, beta);
    if (count > 1) blend(&c[1], alpha, y, beta);
#endif
}

/* Writes 16 lines of OUT_COLS sums of a warp, from row `row` of the buffer on, swizzled as TMA reads them: 16 bytes
 * number q of a line lie at number q ^ (line % 8). */
static __device__ __forceinline__ void stage_rows(unsigned out, int row, int lane, float alpha, const float *sum)
{
#if C_HALF
    UNROLLED
    for (int q = 0; q < 8; q += 2) {
        const float *x = &sum[4 * q];
        unsigned pairs[4];
        UNROLLED
        for (int e = 0; e < 4; e++) pairs[e] = pair_of(alpha * x[2 * e], alpha * x[2 * e + 1]);
        store_four(out + (row + lane % 16) * 128 + ((q + lane / 16) ^ lane % 8) * 16, pairs);
    }
#else
    /* alternate lines take other columns, so that the 16 lanes that store at once meet in no bank */
    int line = lane / 4, odd = line % 2;
    UNROLLED
    for (int q = 0; q < 4; q++) {
        UNROLLED
        for (int half = 0; half < 4; half += 2) {
            float x = odd ? sum[4 * (q ^ 2) + half] : sum[4 * q + half],
                  y = odd ? sum[4 * (q ^ 2) + half + 1] : sum[4 * q + half + 1];
            store_two(out + (row + half * 4 + line) * 128 + (((q ^ odd * 2) * 2 + lane % 4 / 2) ^ line) * 16 +
                          lane % 2 * 8,
                      alpha * x, alpha * y);
        }
    }
#endif
}

/* Epilogue by TMA: the 64 x BN sums of a warpgroup to C from row i0, column j0 on, through its two buffers; `*next` is
 * the next. */
static __device__ __forceinline__ void epilogue_by_tma(struct ring *ring, int group, int *next, const tensor_map *c_map,
                                                       int i0, int j0, float alpha, const float *sum)
{
    int tid = threadIdx.x % 128;
    UNROLLED
    for (int j = 0; j < BN; j += OUT_COLS, *next ^= 1) {
        element_c(*out)[OUT_COLS] = ring->out[group][*next];
        /* TMA has read the buffer; only the thread that started the store can wait for that */
        if (tid == 0) TMA_STORES_READ(1);
        named_barrier_sync(WITHIN + group, 128); /* all wait for that thread */
        stage_rows(shared_address(out), tid / 32 * 16, tid % 32, alpha, &sum[j / 2]);
        tma_fence();
        named_barrier_sync(WITHIN + group, 128); /* that thread waits for all: the lines are written */
        if (tid == 0) tma_store(c_map, j0 + j, i0, out);
    }
}

/* Epilogue by the threads themselves. */
static __device__ __forceinline__ void epilogue_by_threads(element_c *c, long ldc, int i0, int j0, int m, int n,
                                                           float alpha, const float *sum, float beta)
{
    int lane = threadIdx.x % 32, row = i0 + threadIdx.x % 128 / 32 * 16 + lane / 4, col = j0 + lane % 4 * 2;
    UNROLLED
    for (int j = 0; j < BN / 8; j++, col += 8) {
        if (row < m) put(&C(row, col), n - col, alpha, sum[4 * j], sum[4 * j + 1], beta);
        if (row + 8 < m) put(&C(row + 8, col), n - col, alpha, sum[4 * j + 2], sum[4 * j + 3], beta);
    }
}

/* ---- A and B ---- */

/* Starts the copy of a box of a stage, at `edge` along m or n and at `k`. */
static __device__ __forceinline__ void fetch(void *to, const tensor_map *map, int k_major, int edge, int k,
                                             barrier *full)
{
    tma_load(to, map, k_major ? k : edge, k_major ? edge : k, full);
}

/* Advances `blocks` stages in the ring; a phase is odd or even. */
static __device__ __forceinline__ void go_round(int *s, int *phase, int blocks)
{
    int at = *s + blocks % (2 * STAGES);
    *phase ^= at / STAGES & 1;
    *s = at % STAGES;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm_wgmma_sm90(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map,
                    const __grid_constant__ tensor_map c_map, int m, int n, int k, float alpha, float beta,
                    element_c *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, group = tid / 128, s = 0, phase = 0, blocks = ceil_div(k, BK), i0, j0;
    int tall = ceil_div(m, BM), wide = ceil_div(n, BN), tiles = tall * wide;
    pdl_trigger();
    if (blocks == 0) { /* no sums */
        pdl_wait();
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            raster(tile, tall, wide, &i0, &j0);
            for (int e = tid; e < BM * BN; e += THREADS)
                if (i0 + e / BN < m) put(&C(i0 + e / BN, j0 + e % BN), min(n - j0 - e % BN, 1), alpha, 0, 0, beta);
        }
        return;
    }
    if (tid == 0) {
        for (int q = 0; q < STAGES; q++) barrier_init(&ring->full[q], 1), barrier_init(&ring->empty[q], 4);
        barrier_init_done();
    }
    if (tid == CONSUMERS) prefetch_map(&a_map), prefetch_map(&b_map);
    pdl_wait();
    __syncthreads(); /* all wait for the barriers */
    if (tid >= CONSUMERS) {
        if (MOVES_REGISTERS) REGISTERS_KEEP(24);
        for (int tile = blockIdx.x; tid == CONSUMERS && tile < tiles; tile += gridDim.x) {
            raster(tile, tall, wide, &i0, &j0);
            ROLLED
            for (int block = 0; block < blocks; block++) {
                struct stage *to = &ring->stage[s];
                barrier_wait(&ring->empty[s], phase ^ 1); /* for the readers of this stage */
                barrier_expect(&ring->full[s], sizeof(struct stage));
                UNROLLED
                for (int q = 0; q < (OP_A ? SUBTILES : 1); q++)
                    fetch(to->a[q], &a_map, !OP_A, i0 + q * 64, block * BK, &ring->full[s]);
                UNROLLED
                for (int q = 0; q < (OP_B ? 1 : BN / 64); q++)
                    fetch(to->b[q], &b_map, OP_B, j0 + q * 64, block * BK, &ring->full[s]);
                if (++s == STAGES) s = 0, phase ^= 1;
            }
        }
    } else {
        if (MOVES_REGISTERS) REGISTERS_TAKE(240);
        float sum[SUBTILES][BN / 2]; /* set by wgmma alone, as in r13 */
        int next = 0;
        if (group == 1)
            go_round(&s, &phase, blocks), named_barrier_arrive(MAINLOOP, CONSUMERS); /* warpgroup 0 begins */
        for (int tile = blockIdx.x + group * (int)gridDim.x; tile < tiles; tile += 2 * gridDim.x) {
            int before = 0;
            /* wait for the turn: the other warpgroup has gone through its stages, so neither is more than one round
             * behind */
            named_barrier_sync(MAINLOOP + group, CONSUMERS);
            ROLLED
            for (int block = 0; block < blocks; block++) {
                barrier_wait(&ring->full[s], phase); /* for the copies of this stage */
                unsigned long long a = matrix_descriptor(ring->stage[s].a, 8 * 128, 0);
                unsigned long long b = matrix_descriptor(ring->stage[s].b, 8 * 128, 64 * 128);
                matrix_begin();
                UNROLLED
                for (int p = 0; p < BK; p += 16) {
                    UNROLLED
                    for (int q = 0; q < SUBTILES; q++)
                        matrix_multiply(sum[q], a + (q * 64 * 128 + p * (OP_A ? 128 : 2)) / 16,
                                        b + p * (OP_B ? 2 : 128) / 16, block | p);
                }
                matrix_commit();
                MATRIX_WAIT(1);
                if (block > 0 && lane == 0) barrier_arrive(&ring->empty[before]); /* this warp has read it */
                before = s;
                if (++s == STAGES) s = 0, phase ^= 1;
            }
            named_barrier_arrive(MAINLOOP + (group ^ 1), CONSUMERS);
            MATRIX_WAIT(0);
            UNROLLED
            for (int q = 0; q < SUBTILES; q++) matrix_end(sum[q]);
            if (lane == 0) barrier_arrive(&ring->empty[before]);
            go_round(&s, &phase, blocks);
            raster(tile, tall, wide, &i0, &j0);
            /* TMA writes whole 16 bytes: threads store a last column tile that ends within them. */
            int by_tma = WIDE && beta == 0 && (j0 + BN <= n || n % (16 / (int)sizeof(element_c)) == 0);
            UNROLLED
            for (int q = 0; q < SUBTILES; q++)
                if (by_tma)
                    epilogue_by_tma(ring, group, &next, &c_map, i0 + q * 64, j0, alpha, sum[q]);
                else
                    epilogue_by_threads(c, ldc, i0 + q * 64, j0, m, n, alpha, sum[q], beta);
        }
        if (WIDE && tid % 128 == 0) TMA_STORES_DONE(); /* TMA still reads this block's memory */
    }
}
