/* gemm_swapab_sm90 - the production kernel for all types of the matrix units on sm_90 but f64, where C has few rows, or
 * few columns: operands swapped (swap-AB), the long operand streamed once through all multiprocessors.
 *
 * IDEA      With few rows of C, B is read once and hardly reused: memory decides. So the tile lies along n, as high as
 *           C has rows, and wgmma computes it transposed: its 64 rows are 64 columns of C, and its 16, 64 or 128
 *           columns are the rows of C. With few columns A takes the place of B.
 *
 *           tiles of C | 0 | 1 | 2 | ...       fewer tiles than multiprocessors: split-K, `splits` blocks for a tile
 *           splits = 2 | 0 | 2 | 4 |  k = 0    more: stream-K. All tiles' k, end to end, is cut into equal runs, one
 *                      | 1 | 3 | 5 |  k = K-1  for each multiprocessor; a run ends with the beginning of a tile and
 *                                              does that first, as in sgemm_tma_sm90
 *
 *           A block that does not reach the end of a tile's k stores its partial sums in the workspace and signals a
 *           flag. The one that reaches it adds them in the order of k.
 *
 *           wgmma reads types of 1 and 4 bytes along k only. A long operand of these that lies across k (B as stored)
 *           is not transposed by a pass, which would move three times the bytes. Threads take it from shared memory
 *           into registers, of 1-byte types two columns of four lines at a time, and exchange the bytes there: wgmma
 *           takes its first operand from registers. Neighbours in C are rows of wgmma that are 8 apart.
 *
 *                k    n ->        a lane: 4 lines x 2 columns     its two words for wgmma
 *                |    a b c d     a b                             a a a a   row l / 4
 *                v    a b c d     a b                             b b b b   row l / 4 + 8
 *
 *           The TMA traffic matters more than the multiplication. Lines of a box that lie outside the matrix cost TMA
 *           more than lines within, so the short operand's box is only as high as the operand. Both tensor maps are
 *           prefetched before the kernel waits for the one ahead of it (PDL). The long operand is read once: the L2 may
 *           evict it first, and fetches 128 bytes of it at a time.
 * NUMBERS   16 x 64: 22 stages of 10 KiB in flight for each multiprocessor. H200, bf16, B k x n, microseconds (the time
 *           of the memory alone is 31.5 and 53.5): m = 1, 16, 64, 128 of n = k = 8192 32.6, 32.9, 34.0, 38.5; n =
 *           28672, k = 4096 55.3, 55.6, 60.1, 68.3 (docs/perf/gemm-swapab.md).
 * LIMITS    sm_90a only. m, n >= 1; a and b aligned to 16 bytes, lda and ldb multiples of 8 (pack.cu copies others
 *           first); c and ldc are any. Tiles and runs < 2^31. FEW_ROWS = 1: TILE_M is 16, 64 or 128, TILE_N 64 or 128;
 *           FEW_ROWS = 0: the other way round. C_HALF = 1: C of the operands' type, else f32. IN_F16 = 1: f16 instead
 *           of bf16. Other types as in gemm_wgmma_sm90, but the long operand lies along k or across; of 1 byte across
 *           only in tiles of 128. The sums of fp8 are promoted as in gemm_fp8_sm90.
 * HOST      block TILE_N or TILE_M, the longer, / 64 * 128 + 32; dynamic shared memory sizeof(struct ring).
 *           splits > 0 (split-K): grid tiles * splits; each block has `length` of the tile's steps of 64 of k, the last
 *           block what is left, at least 1. splits = 0 (stream-K): grid ceil(tiles * steps / length), k > 0. Where
 *           splits is not 1, memory has TILE_M * TILE_N floats for each block, aligned to 16 bytes, and flags 8 bytes
 *           for each, of any content but `epoch`. Two tensor maps as gemm_wgmma_sm90's, with L2 promotion 128 B; where
 *           the short operand is K-major, boxes of min(its edge of the tile, its lines) lines; where a
 *           long one of 1 or 4 bytes lies across k, of ROW_K lines. May be launched with PDL (programmatic stream
 *           serialization).
 * CHANGED   from r13b, and from gemm_wgmma_sm90. It adds to r13b, one by one:
 *             few columns          rows and columns of C exchanged (FEW_ROWS = 0)
 *             all transposes       as gemm_wgmma_sm90; of 1 and 4 bytes across k through registers
 *             tiles                of 16, 64 and 128 on the short side
 *             k divided            split-K and stream-K with a fix-up as r12d's, in the order of k
 *             loads                boxes as high as the short operand, the long one leaves the L2 first
 *             epilogue             alpha, beta, conversion, a caller's text
 *             PDL                  r12g's wait and trigger
 * SOURCE    PTX ISA; stream-K: as sgemm_tma_sm90 */
#include "rung.cuh"
#include "arguments.h"
/* the sums of fp8 are promoted: added in f32 once in 128 steps of k (docs/ACCURACY.md) */
#define PROMOTES (ELEMENT_BYTES == 1 && !SUMS_S32)
#if FEW_ROWS
#define MATRIX_N          TILE_M
#define LONG              TILE_N
#define MATRIX_MN_MAJOR_A (1 - OP_B)
#define MATRIX_MN_MAJOR_B OP_A
#define MATRIX_A          TYPE_B
#define MATRIX_B          TYPE_A
#else
#define MATRIX_N          TILE_N
#define LONG              TILE_M
#define MATRIX_MN_MAJOR_A OP_A
#define MATRIX_MN_MAJOR_B (1 - OP_B)
#define MATRIX_A          TYPE_A
#define MATRIX_B          TYPE_B
#endif
#include "hopper.cuh"
#include "flags.cuh"
#include "epilogue.cuh"

/* x is the operand along the long edge of the tile, y along the other. */
enum {
    FEW = MATRIX_N,
    LINE = 128 / ELEMENT_BYTES,
    BK = LINE,
    GROUPS = LONG / 64,
    CONSUMERS = GROUPS * 128,
    THREADS = CONSUMERS + 32,
    SUMS = FEW / 2
};
ASSUME(BK == ROW_K && THREADS == ROW_THREADS && FEW + LONG == ROW_M + ROW_N)
enum {
    X_MN_MAJOR = MATRIX_MN_MAJOR_A,
    Y_MN_MAJOR = MATRIX_MN_MAJOR_B,
    X_OWN = X_MN_MAJOR && ELEMENT_BYTES != 2, /* x through registers */
    X_BOXES = X_OWN ? LONG / LINE : GROUPS,
    Y_LINES = Y_MN_MAJOR ? (FEW + 63) / 64 * 64 : FEW,
    /* columns of C between rows of wgmma next to each other and 8 apart (load_own) */
    NEIGHBOUR = X_OWN ? 2 : 1,
    EIGHTH = X_OWN ? 1 : 8
};
ASSUME(!X_OWN || LONG % LINE == 0)

struct stage {
    char x[X_BOXES][LONG * 128 / X_BOXES], y[Y_LINES][128];
};

enum { BM = LONG, BN = FEW };
#include "schedule.cuh"

enum { STAGES = (232448 - 512) / (int)sizeof(struct stage) };

struct ring {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) <= ROW_BYTES)
ASSUME_BOXES(64, LINE, 64, LINE)

#if ELEMENT_BYTES != 2
/* ---- x that lies across k, in types that wgmma reads along k only ---- */

enum { K_STEPS = 4 }; /* of a stage: 32 bytes of k each */

/* Transposes a stage's x on its way into registers. The box has the lines of a stage's k, each 128 bytes of columns; 16
 * bytes number q of line p lie at q ^ p % 8. A lane's rows l / 4 and l / 4 + 8 of wgmma are the columns 2 (l / 4) and 2
 * (l / 4) + 1 of the warp's 16, which lie side by side. */
static __device__ __forceinline__ void load_own(unsigned (*own)[4], const char (*x)[LONG * 128 / X_BOXES])
{
    int lane = threadIdx.x % 32, column = threadIdx.x / 32 * 16 + lane / 4 * 2, t = lane % 4;
#if ELEMENT_BYTES == 1
    /* four lines of two columns, 8 bytes; lanes of t >= 2 begin with the third line, so that no two lanes meet in a
     * bank */
    int first = t & 2;
    unsigned even = first ? 0x1054 : 0x5410, odd = first ? 0x3276 : 0x7632;
    const char *from[4];
    UNROLLED
    for (int q = 0; q < 4; q++) {
        int line = t * 4 + (q ^ first);
        from[q] = &x[0][line * 128 + (column / 16 ^ line % 8) * 16 + column % 16];
    }
    UNROLLED
    for (int p = 0; p < 2 * K_STEPS; p++) {
        unsigned two[4];
        UNROLLED
        for (int q = 0; q < 4; q++) two[q] = *(const unsigned short *)(from[q] + p * 16 * 128);
        unsigned above = __byte_perm(two[0], two[1], 0x5140), below = __byte_perm(two[2], two[3], 0x5140);
        own[p / 2][p % 2 * 2] = __byte_perm(above, below, even);
        own[p / 2][p % 2 * 2 + 1] = __byte_perm(above, below, odd);
    }
#else
    /* lanes of odd t begin with the later of two lines, for the same reason */
    int later = t % 2;
    const char *from[2];
    UNROLLED
    for (int q = 0; q < 2; q++) {
        int line = t + (q ^ later) * 4, chunk = column % LINE / 4;
        from[q] = &x[column / LINE][line * 128 + (chunk ^ line) * 16 + column % 4 * 4];
    }
    UNROLLED
    for (int p = 0; p < K_STEPS; p++) {
        uint2 one = *(const uint2 *)(from[0] + p * 8 * 128), other = *(const uint2 *)(from[1] + p * 8 * 128);
        own[p][0] = later ? other.x : one.x, own[p][1] = later ? other.y : one.y;
        own[p][2] = later ? one.x : other.x, own[p][3] = later ? one.y : other.y;
    }
#endif
}
#endif

/* ---- partial sums, by all consumers ---- */

#if SUMS_S32
typedef int4 four_sums;
#else
typedef float4 four_sums;
#endif

static __device__ __forceinline__ void store_partials(const number *sum, four_sums *partials, unsigned long long *flag,
                                                      unsigned long long epoch)
{
    UNROLLED
    for (int e = 0; e < SUMS; e += 4)
        __stcg(&partials[e / 4 * CONSUMERS + threadIdx.x], four_sums{sum[e], sum[e + 1], sum[e + 2], sum[e + 3]});
    named_barrier_sync(1, CONSUMERS);
    if (threadIdx.x == 0) flag_signal(flag, epoch);
}

/* Fix-up: waits for the flags of blocks first ... here - 1, then adds their sums, in order. */
static __device__ __forceinline__ void fix_up(number *sum, const four_sums *memory, unsigned long long *flags,
                                              unsigned long long epoch, int first, int here)
{
    enum { AT_ONCE = SUMS < 32 ? SUMS : 32 }; /* registers for the sums of another block */
    for (int other = first + (int)threadIdx.x; other < here; other += CONSUMERS)
        flag_wait_and_reset(flags, other, epoch);
    named_barrier_sync(1, CONSUMERS);
    UNROLLED
    for (int begin = 0; begin < SUMS; begin += AT_ONCE) {
        ROLLED
        for (int other = first; other < here; other++) {
            UNROLLED
            for (int e = begin; e < begin + AT_ONCE; e += 4) {
                four_sums y = __ldcg(&memory[(long)other * (LONG * FEW / 4) + e / 4 * CONSUMERS + threadIdx.x]);
                sum[e] += y.x, sum[e + 1] += y.y, sum[e + 2] += y.z, sum[e + 3] += y.w;
            }
        }
    }
}

/* The epilogue: from row `many0` along C's longer edge and `few0` along the shorter on. */
static __device__ __forceinline__ void store_tile(const struct out &to, int many0, int few0, const number *sum)
{
    const int tid = threadIdx.x, lane = tid % 32;
    int i = many0 + tid / 32 * 16 + lane / 4 * NEIGHBOUR, j = few0 + lane % 4 * 2;
    UNROLLED
    for (int e = 0; e < SUMS; e++) {
        int along = i + e / 2 % 2 * EIGHTH, across = j + e / 4 * 8 + e % 2;
        put_one(to, FEW_ROWS ? across : along, FEW_ROWS ? along : across, sum[e]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm_swapab_sm90(MAPPED_ARGUMENTS(PARAMETER, number, element_c), SPLIT_RUNS_ARGUMENTS(PARAMETER, four_sums *))
{
    extern __shared__ __align__(1024) struct ring ring[];
    const tensor_map *x_map = FEW_ROWS ? &b_map : &a_map, *y_map = FEW_ROWS ? &a_map : &b_map;
    int tid = threadIdx.x, lane = tid % 32, group = tid / 128, s = 0, phase = 0, steps = ceil_div(k, BK);
    int few = FEW_ROWS ? m : n, many = FEW_ROWS ? n : m, i0, j0;
    const struct tiling tiles = tiling_of(many, few);
    if (tid == 32 && k > 0) prefetch_map(x_map);
    if (tid == 64 && k > 0) prefetch_map(y_map);
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, CONSUMERS / 32);
    struct k_range k_range = first_k_range(tiles.count, steps, splits, length);
    if (k_range.to - k_range.from + k_range.left <= STAGES) pdl_trigger(); /* brief: else before the last store */
    pdl_wait();
    __syncthreads(); /* all wait for the barriers */
    if (tid >= CONSUMERS) {
        int y_bytes = 128 * (Y_MN_MAJOR ? (int)Y_LINES : min(few, (int)FEW));
        if (tid > CONSUMERS) return;
        do {
            tile_at(k_range.tile, tiles, &i0, &j0);
            ROLLED
            for (int k0 = k_range.from * BK; k0 < k_range.to * BK; k0 += BK) {
                struct stage *to = &ring->stage[s];
                barrier_wait(&ring->empty[s], phase ^ 1); /* for the readers of this stage */
                barrier_expect(&ring->full[s], (int)sizeof to->x + y_bytes);
                UNROLLED
                for (int q = 0; q < X_BOXES; q++) {
                    int edge = i0 + q * (LONG / X_BOXES);
                    tma_load_once(to->x[q], x_map, X_MN_MAJOR ? edge : k0, X_MN_MAJOR ? k0 : edge, &ring->full[s]);
                }
                UNROLLED
                for (int q = 0; q < (Y_MN_MAJOR ? (int)Y_LINES : 1); q += 64)
                    tma_load(to->y[q], y_map, Y_MN_MAJOR ? j0 + q : k0, Y_MN_MAJOR ? k0 : j0, &ring->full[s]);
                if (++s == STAGES) s = 0, phase ^= 1;
            }
        } while (next_k_range(&k_range, steps));
        return;
    }
    do {
        number sum[SUMS];
        int before = -1, here = blockIdx.x;
        UNROLLED
        for (int e = 0; e < SUMS; e++) sum[e] = 0;
        ROLLED /* mainloop */
            for (int step = k_range.from; step < k_range.to; step++)
        {
            barrier_wait(&ring->full[s], phase); /* for the copies of this stage */
#if ELEMENT_BYTES != 2
            unsigned own[K_STEPS][4];
            if (X_OWN) load_own(own, ring->stage[s].x);
#endif
            unsigned long long x = matrix_descriptor(ring->stage[s].x[X_OWN ? 0 : group], 8 * 128, 0);
            unsigned long long y = matrix_descriptor(ring->stage[s].y, 8 * 128, 64 * 128);
#if PROMOTES
            number part[SUMS];
#else
            number *part = sum;
#endif
            matrix_begin();
            UNROLLED
            for (int p = 0; p < 128; p += 32) { /* bytes along k; of lines along m and n 16 steps */
#if ELEMENT_BYTES != 2
                if (X_OWN) {
                    matrix_multiply_own(part, own[p / 32], y + p / 16, !PROMOTES || p > 0);
                    continue;
                }
#endif
                matrix_multiply(part, x + p * (X_MN_MAJOR ? 64 : 1) / 16, y + p * (Y_MN_MAJOR ? 64 : 1) / 16,
                                !PROMOTES || p > 0);
            }
            matrix_commit();
            MATRIX_WAIT(PROMOTES || X_OWN ? 0 : 1);
#if PROMOTES
            matrix_end(part);
            UNROLLED
            for (int e = 0; e < SUMS; e++) sum[e] += part[e];
#endif
            if (before >= 0 && lane == 0) barrier_arrive(&ring->empty[before]); /* this warp has read it */
            before = s;
            if (++s == STAGES) s = 0, phase ^= 1;
        }
        MATRIX_WAIT(0);
        matrix_end(sum);
        if (before >= 0 && lane == 0) barrier_arrive(&ring->empty[before]);
        if (k_range.left == 0) pdl_trigger();
        if (k_range.to < steps) {
            store_partials(sum, memory + (long)here * (LONG * FEW / 4), &flags[here], epoch);
            continue;
        }
        if (k_range.from > 0)
            fix_up(sum, memory, flags, epoch,
                   splits > 0 ? here - splits + 1 : (int)((long)k_range.tile * steps / length), here);
        tile_at(k_range.tile, tiles, &i0, &j0);
        store_tile(OUT, i0, j0, sum);
    } while (next_k_range(&k_range, steps));
}
