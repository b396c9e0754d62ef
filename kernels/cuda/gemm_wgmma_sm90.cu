/* gemm_wgmma_sm90 - the production kernel for bf16, f16, i8, u8 and tf32 on sm_90: r13 for all transposes,
 * warp-specialised and ping-pong, with C in f32 or in the operands' type, of integers in i32, in several tiles.
 *
 * IDEA      wgmma reads either operand K-major or MN-major from shared memory, so nothing is transposed. An MN-major
 *           operand comes in boxes of the same lines of 64 elements, and one bit of the instruction differs.
 *
 *               A m x k   box: the tile's rows of 64 k   A k x m (transposed)   boxes: 64 steps of k of 64 rows
 *               B k x n   boxes: 64 steps of 64 columns  B n x k (transposed)   box: the tile's columns of 64 k
 *
 *           Lines are of 128 bytes: 64 elements of 2 bytes, 128 of 1, 32 of 4. wgmma takes elements of 1 and 4 bytes
 *           K-major only, so those operands come transposed where they lie otherwise (pack.cu). TMA rounds tf32.
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
 *           it would write), threads store their sums as they hold them, two neighbours at a time, or where C is not of
 *           whole 16 bytes from those lines, 32 neighbours at a time.
 * NUMBERS   128 x 128: 64 flop/byte, 6 stages of 32 KiB and 32 KiB for C, 384 threads, 24 and 240 registers: one block
 *           per multiprocessor. H200, bf16, C in f32, speed relative to two warpgroups that share tiles of 128 x 256,
 *           in one run: 2048 1.07, 4096 1.05, 8192 1.03; in tiles of 128 x 192, 3072 1.03. The tensor cores round f32
 *           sums toward zero (docs/ACCURACY.md).
 * LIMITS    sm_90a only. m, n >= 1; a and b aligned to 16 bytes, lda and ldb multiples of 8 (pack.cu copies others
 *           first). WIDE = 1 promises c aligned to 16 bytes and rows of C a multiple of 16 bytes apart, less than 2^40;
 *           WIDE = 0 takes any. Tiles, or with SPLIT_K tiles * splits, + 2 grids < 2^31. ROW_M 64 or 128, ROW_N 64, 128
 *           or 192. C_HALF = 1: C of the operands' type, else f32. IN_F16 = 1: f16 instead of bf16. Others by TYPE_A
 *           and TYPE_B (rung.cuh), A as m x k and B as n x k, whose rows are multiples of 16 bytes apart.
 * HOST      Any grid is correct. Best is the smallest that needs as few waves as one block per multiprocessor, as in
 *           r13. block 384, dynamic shared memory sizeof(struct ring). Three tensor maps, rank 2, element strides 1, no
 *           interleave, zeros outside, swizzle 128 B, L2 promotion 256 B: A, B and C as they are stored, in boxes of 64
 *           rows and 128 bytes; where A or B is K-major, of ROW_M or ROW_N rows. C's map is read only where WIDE = 1
 *           and beta = 0. May be launched with PDL (programmatic stream serialization). SPLIT_K = 1: the partial
 *           sums of parts of k are stored for add.cu (arguments.h); C's map is of that workspace; m, n, k >= 1.
 * CHANGED   from r13a, which has 0.97 of its speed at 4096 in bf16. It adds, one by one:
 *             all transposes       wgmma's descriptors by OP_A and OP_B; of one byte along k alone
 *             tiles                of ROW_M x ROW_N, with as many stages as each leaves room for
 *             C by TMA             r12c's way, through shared memory, in C's type
 *             k divided            split-K where C has few tiles; a second kernel adds
 *             epilogue             alpha, beta, conversion, a caller's text, stores at any address
 *             PDL                  r12g's wait; the trigger with a block's last loads
 * SOURCE    PTX ISA (matrix descriptors, stmatrix, cp.async.bulk.tensor); ping-pong: Thakkar et al.: CUTLASS 3, 2023 */
#ifndef GROUP_M
#define GROUP_M 8
#endif
#include "rung.cuh"
#include "arguments.h"
#define MATRIX_N          ROW_N
#define MATRIX_MN_MAJOR_A OP_A
#if OP_B
#define MATRIX_MN_MAJOR_B 0
#else
#define MATRIX_MN_MAJOR_B 1
#endif
#include "hopper.cuh"
#include "wgmma_c.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    LINE = 128 / ELEMENT_BYTES,
    SUBTILES = BM / 64,
    STAGES = ROW_STAGES,
    THREADS = ROW_THREADS,
    CONSUMERS = 2 * 128
};
ASSUME(BK == LINE && THREADS == CONSUMERS + 128)
ASSUME(BM % 64 == 0 && SUBTILES * BN / 2 <= 192) /* sums that registers hold */
/* at first each thread has a third of the registers, too few for these sums */
enum { MOVES_REGISTERS = SUBTILES * BN / 2 >= 128 };
enum {
    WITHIN = 1,
    MAINLOOP = 3
}; /* named barriers: of the threads of warpgroup 0 or 1; for the turn of warpgroup 0 or 1 */

struct stage {
    char a[SUBTILES][64][128], b[BN / 64][64][128];
};

struct ring {
    struct stage stage[STAGES];
    element_c out[2][2][64][OUT_COLS]; /* of each warpgroup */
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) <= ROW_BYTES)
ASSUME_BOXES(64, LINE, 64, LINE)

#include "schedule.cuh"

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
    gemm_wgmma_sm90(MAYBE_SPLIT_ARGUMENTS(PARAMETER, number, element_c))
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, group = tid / 128, phase = 0, s = 0, blocks = ceil_div(k, BK), i0, j0;
    const struct tiling tiles = tiling_of<GROUP_M>(m, n);
#if !SPLIT_K
    const int splits = 1, length = blocks;
#endif
    const int works = splits * tiles.count;
    if (blocks == 0) { /* no sums */
        pdl_wait();
        for (int work = first_work(); work < works; work = next_work(work)) {
            work_at<GROUP_M>(work, tiles, &i0, &j0);
            for (int e = tid; e < BM * BN; e += THREADS) put_one(OUT, i0 + e / BN, j0 + e % BN, 0);
        }
        return;
    }
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, 4);
    if (tid == CONSUMERS) prefetch_map(&a_map), prefetch_map(&b_map);
    pdl_wait();
    __syncthreads(); /* all wait for the barriers */
    if (tid >= CONSUMERS) {
        if (MOVES_REGISTERS) REGISTERS_KEEP(24);
        for (int work = first_work(); tid == CONSUMERS && work < works; work = next_work(work)) {
            const struct run run = run_at(work, tiles, length, blocks);
            work_at<GROUP_M>(work, tiles, &i0, &j0);
            ROLLED
            for (int block = run.from; block < run.to; block++) {
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
            if (next_work(work) >= works) pdl_trigger();
        }
    } else {
        if (MOVES_REGISTERS) REGISTERS_TAKE(240);
        number sum[SUBTILES][BN / 2]; /* set by wgmma alone, as in r13 */
        int next = 0;
        /* the stages of a work of the other warpgroup */
        auto pass_by = [&](int work) {
            const struct run run = run_at(work, tiles, length, blocks);
            go_round(&s, &phase, run.to - run.from);
        };
        if (group == 1) pass_by(first_work()), named_barrier_arrive(MAINLOOP, CONSUMERS); /* warpgroup 0 begins */
        for (int work = first_work(group); work < works; work = next_work(work, 2)) {
            const struct run run = run_at(work, tiles, length, blocks);
            int before = 0;
#ifdef EPILOGUE_MATRICES
            work_at<GROUP_M>(work, tiles, &i0, &j0);
            prefetch_matrices(OUT, i0, j0, BM, BN, tid % 128, 128);
#endif
            /* wait for the turn: the other warpgroup has gone through its stages, so neither is more than one round
             * behind */
            named_barrier_sync(MAINLOOP + group, CONSUMERS);
            ROLLED
            for (int block = run.from; block < run.to; block++) {
                barrier_wait(&ring->full[s], phase); /* for the copies of this stage */
                unsigned long long a = matrix_descriptor(ring->stage[s].a, 8 * 128, 0);
                unsigned long long b = matrix_descriptor(ring->stage[s].b, 8 * 128, 64 * 128);
                matrix_begin();
                UNROLLED
                for (int p = 0; p < 128; p += 32) { /* bytes along k; of lines along m and n 16 steps */
                    UNROLLED
                    for (int q = 0; q < SUBTILES; q++)
                        matrix_multiply(sum[q], a + (q * 64 * 128 + p * (OP_A ? 64 : 1)) / 16,
                                        b + p * (OP_B ? 1 : 64) / 16, block - run.from | p);
                }
                matrix_commit();
                MATRIX_WAIT(1);
                if (block > run.from && lane == 0) barrier_arrive(&ring->empty[before]); /* this warp has read it */
                before = s;
                if (++s == STAGES) s = 0, phase ^= 1;
            }
            named_barrier_arrive(MAINLOOP + (group ^ 1), CONSUMERS);
            MATRIX_WAIT(0);
            UNROLLED
            for (int q = 0; q < SUBTILES; q++) matrix_end(sum[q]);
            if (lane == 0) barrier_arrive(&ring->empty[before]);
            pass_by(next_work(work));
            work_at<GROUP_M>(work, tiles, &i0, &j0);
            if (SPLIT_K) i0 += item_at(work, tiles) * SPLIT_ROWS(m);
            UNROLLED
            for (int q = 0; q < SUBTILES; q++)
                store_sums(ring->out[group], WITHIN + group, &next, &c_map, OUT, i0 + q * 64, j0, BN, sum[q]);
        }
        if (WIDE && tid % 128 == 0) TMA_STORES_DONE(); /* TMA still reads this block's memory */
    }
}
