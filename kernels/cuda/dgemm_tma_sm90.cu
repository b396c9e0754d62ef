/* dgemm_tma_sm90 - the production kernel for f64 on Hopper: dgemm_mma_sm80 with TMA copies.
 *
 * IDEA      A multiprocessor has room for two warps of 64 sums a lane on each of its quarters. While one waits, the
 *           other alone keeps the matrix unit busy; so the warps must do little else than multiply:
 *
 *               copies       TMA copies whole boxes. The warps take turns to ask for a stage, through a lane that
 *                            they elect: the compiler then holds addresses in uniform registers, without a loop over
 *                            lanes
 *               barriers     in shared memory they count bytes and readers: only the warp that asks waits for the
 *                            others
 *               registers    hold the operands of 8 steps twice. While 8 steps are multiplied, the next 8 are loaded
 *               addresses    of a lane's operands come from a shuffle. Else the compiler computes them anew from
 *                            threadIdx at each stage, to save registers
 *
 *           A pass copies operands whose rows are not of whole 16 bytes into rows that are. It took 5 % of the
 *           time at 5001 cubed (docs/perf/dgemm-mma.md#tma).
 *
 *           Operands lie in lines of 128 bytes, whose eight pieces of 16 TMA exchanges by the line's number (swizzle).
 *           Half a warp finds its 16 words in all 32 banks, and two lanes of A's rows their 16 bytes in one load:
 *
 *               K-major    lines of 16 steps. Lane l takes steps 2 (l % 4) and the next, odd l the second first, of row
 *                          0, 1, 4, 5, 2, 3, 6, 7 for l / 4 = 0, 1 ...
 *               MN-major   lines of 16 rows or columns. Lane l takes the same steps; of A rows 2 (l / 4) and the next,
 *                          of B column l / 4
 *
 *           In deep products, of few tiles and a long k, clusters of 8 blocks divide k (-DCLUSTER_REDUCE=1). A cluster
 *           adds its sums through shared memory, so that one tile for each cluster goes by memory, not one for each
 *           block (splitk.cuh).
 *
 *           The unit takes any order of the 8 steps that A and B share, and any order of rows and columns that the
 *           stores know of.
 *
 * NUMBERS   128 x 128 x 16: 64 sums per thread, 8 warps of 64 x 32; 6 stages of 32 KiB. For 8 steps a lane loads 24
 *           words of 8 bytes for 16 mma.sync of 1024 FMAs each; a quarter of a multiprocessor does 32 a cycle. Sums and
 *           operands take 224 of 255 registers. H200, 4096 cubed: 0.93 of the unit's peak at its clock; cuBLAS 0.94
 *           (docs/perf/dgemm-mma.md#addresses).
 * LIMITS    sm_90 and above. m, n >= 1. A and B in rows of whole 16 bytes; any c and ldc, WIDE = 1 promises whole 16
 *           bytes of these too. Fewer than 2^31 tiles.
 * HOST      grid ceil(m / BM) * ceil(n / BN) * splits, block 32 WARPS_M WARPS_N, dynamic shared memory sizeof(struct
 *           memory). splits as in dgemm_mma_sm80. With -DCLUSTER_REDUCE=1 a multiple of 8, in clusters of 8, and
 *           sizeof(struct cluster_sums) more of shared memory. Two tensor maps, rank 2, FLOAT64, element strides 1, no
 *           interleave, swizzled by 128 bytes, zeros outside; A and B as stored:
 *               K-major    box {16, BM (B: BN)}
 *               MN-major   box {16, 16}
 * CHANGED   from r13f, which has 0.97 of its speed at 4096, and from dgemm_mma_sm80. It adds, one by one:
 *             all transposes       an order of steps and rows for lines along k and for lines along the edge
 *             loads ahead          the next steps of k come into registers across the border of stages
 *             tiles                of ROW_M x ROW_N
 *             k divided            where C has few tiles, in clusters as r12f, or through memory
 *             epilogue             alpha, beta, a caller's text
 *             PDL                  r12g's wait and trigger
 * SOURCE    PTX ISA (mma.sync for f64, cp.async.bulk.tensor and its swizzles, mbarrier) */
#define SUMS_F64 1
#include "rung.cuh"
#include "arguments.h"
#include "hopper.cuh"
#include "dgemm_pieces.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    THREADS = ROW_THREADS,
    STAGES = ROW_STAGES,
    A_ALONG = !OP_A,
    B_ALONG = OP_B,
    TM = BM / WARPS_M,
    TN = BN / WARPS_N,
    PIECES_M = TM / 16,
    PIECES_N = TN / 8,
    TURNS = BK / 8 * PIECES_M, /* of a stage: 8 steps of a row of pieces */
    EDGE = 16,                 /* rows or columns of an MN-major box */
    BOXES_A = A_ALONG ? 1 : BM / EDGE,
    BOXES_B = B_ALONG ? 1 : BN / EDGE,
    WARPS = THREADS / 32
};
ASSUME(32 * WARPS_M * WARPS_N == THREADS && TM % 16 == 0 && TN % 16 == 0 && BK == 16 && STAGES >= 2)

struct stage {
    double a[BM * BK], b[BN * BK];
};

struct memory {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct memory) == ROW_BYTES)

/* ---- from memory to shared memory ---- */

/* One thread: all boxes of a stage, from step p0 on. load(box, operand, x, y) asks for one of A (operand 0) or B. */
template <typename Load>
static __device__ __forceinline__ void fetch(struct stage *to, int i0, int j0, int p0, barrier *full, Load load)
{
    barrier_expect(full, sizeof *to);
    UNROLLED
    for (int box = 0; box < BOXES_A; box++)
        load(to->a + box * EDGE * BK, 0, A_ALONG ? p0 : i0 + box * EDGE, A_ALONG ? i0 : p0);
    UNROLLED
    for (int box = 0; box < BOXES_B; box++)
        load(to->b + box * EDGE * BK, 1, B_ALONG ? p0 : j0 + box * EDGE, B_ALONG ? j0 : p0);
}

/* ---- from shared memory to registers ---- */

/* Where a lane finds its operands: words from the begin of the stage's A or B. Those of piece number 0 and the first 8
 * steps; `other` says which of its two steps, and for the second 8 steps of a K-major line, or the right half of an
 * MN-major box of B, the piece of 16 is exchanged by 4 more (that is 8 words). */
struct places {
    int a[2], b[2];
};

/* The row of a K-major piece of 8 that lane / 4 stands for. */
static __device__ __forceinline__ int row_of(int g) { return g % 2 + g / 2 % 2 * 4 + g / 4 * 2; }

static __device__ __forceinline__ struct places places_of(int lane, int i_warp, int j_warp)
{
    int g = lane / 4, t = lane % 4, row = row_of(g);
    struct places at;
    UNROLLED
    for (int q = 0; q < 2; q++) {
        int half = q ^ t % 2, step = 2 * t + half; /* of the 8 */
        at.a[q] = A_ALONG ? (i_warp + row) * 16 + (t ^ row) * 2 + half : (i_warp + step) * 16 + (g ^ step) * 2;
        at.b[q] = B_ALONG ? (j_warp + row) * 16 + (t ^ row) * 2 + half
                          : (j_warp + step) * 16 + (g / 2 ^ step) * 2 + g % 2;
        /* as numbers that the compiler cannot compute again */
        at.a[q] = __shfl_sync(~0u, at.a[q], lane), at.b[q] = __shfl_sync(~0u, at.b[q], lane);
    }
    return at;
}

/* What a lane holds of 8 steps, the first or the second of the stage, of piece number i of the warp's A, 16 rows: of
 * its first step both rows, then of its second. */
static __device__ __forceinline__ void load_a(double *x, const struct stage *from, const struct places *at, int i,
                                              int eight)
{
    UNROLLED
    for (int q = 0; q < 2; q++) {
        if (A_ALONG) {
            const double *line = from->a + ((at->a[q] ^ eight * 8) + i * 256);
            x[2 * q] = line[0], x[2 * q + 1] = line[8 * 16];
        } else
            *(double2 *)&x[2 * q] = *(const double2 *)&from->a[at->a[q] + i * 256 + eight * 128];
    }
}

/* The same of piece number j of B, 8 columns. */
static __device__ __forceinline__ void load_b(double *x, const struct stage *from, const struct places *at, int j,
                                              int eight)
{
    UNROLLED
    for (int q = 0; q < 2; q++)
        x[q] = B_ALONG ? from->b[(at->b[q] ^ eight * 8) + j * 128]
                       : from->b[(at->b[q] ^ j % 2 * 8) + j / 2 * 256 + eight * 128];
}

/* ---- a warp's products and its part of C ---- */

/* A lane's operands for 8 steps, twice: those that are multiplied, and those that are loaded meanwhile. */
struct fragments {
    double a[2][PIECES_M][4], b[2][PIECES_N][2];
};

/* Loads a part of the 8 steps number `eight` of a stage: of A piece number i, and of B as large a part. */
static __device__ __forceinline__ void load_part(struct fragments *x, const struct stage *from, const struct places *at,
                                                 int i, int eight)
{
    load_a(x->a[eight][i], from, at, i, eight);
    UNROLLED
    for (int j = 0; j < PIECES_N; j++)
        if (j * PIECES_M / PIECES_N == i) load_b(x->b[eight][j], from, at, j, eight);
}

/* Where a warp is in the ring of stages. */
struct position {
    int now, phase;
};

/* Multiplies the stage at x, whose first 8 steps are loaded, and goes on to the next. Loads the first 8 steps of that
 * one where there is `more`. refill(before) is called where the stage before this one may be asked for again. */
template <typename Refill>
static __device__ __forceinline__ void multiply_stage(struct piece_sums (*sum)[PIECES_N], struct fragments *x,
                                                      struct memory *memory, const struct places *at,
                                                      struct position *is, bool more, Refill refill)
{
    const struct stage *from = &memory->stage[is->now];
    const int lane = threadIdx.x % 32, now = is->now;
    int next = now + 1 == STAGES ? 0 : now + 1, before = now == 0 ? STAGES - 1 : now - 1,
        next_phase = is->phase ^ (next == 0);
    UNROLLED
    for (int turn = 0; turn < TURNS; turn++) {
        const int i = turn % PIECES_M, eight = turn / PIECES_M;
        if (turn == PIECES_M) {
            if (more) barrier_wait(&memory->full[next], next_phase);
            from = &memory->stage[next];
        }
        UNROLLED
        for (int j = 0; j < PIECES_N; j++) {
            multiply_8(&sum[i][j], x->a[eight][i], x->b[eight][j]);
            if (j == 0) load_part(x, from, at, i, 1 - eight);
        }
        if (turn == TURNS - 1 && lane == 0) barrier_arrive(&memory->empty[now]); /* the warp has read it */
        if (turn == PIECES_M / 2) refill(before, now == 0 ? is->phase ^ 1 : is->phase);
    }
    is->now = next, is->phase = next_phase;
}

/* Where in the warp's part of C a lane's sums lie, g = lane / 4 and t = lane % 4: row number i of 2 PIECES_M, and the
 * first of two columns of piece number j. */
static __device__ __forceinline__ int row_in_warp(int g, int i)
{
    return i / 2 * 16 + (A_ALONG ? i % 2 * 8 + row_of(g) : g * 2 + i % 2);
}

static __device__ __forceinline__ int column_in_warp(int t, int j) { return 8 * j + (B_ALONG ? row_of(2 * t) : 2 * t); }

static __device__ __forceinline__ void store_warp(const struct out &to, int i_warp, int j_warp,
                                                  const struct piece_sums (*sum)[PIECES_N])
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    UNROLLED
    for (int i = 0; i < 2 * PIECES_M; i++) {
        int r = i_warp + row_in_warp(g, i);
        if (r >= to.m) continue;
        UNROLLED
        for (int j = 0; j < PIECES_N; j++)
            put<2>(to, r, j_warp + column_in_warp(t, j), i % 2 ? sum[i / 2][j].lower : sum[i / 2][j].upper);
    }
}

enum { GROUP_M = 8, EACH = BM * BN / 2 / THREADS /* pairs of sums of a thread */ };
ASSUME_BOXES(BK, EDGE, BK, EDGE)

#include "schedule.cuh"
#include "splitk.cuh"

#if CLUSTER_REDUCE
/* The part of the tile that this block has added. Piece number e of the tile is pair e / THREADS of thread
 * e % THREADS. */
static __device__ __forceinline__ void store_part(const struct out &to, int i0, int j0, const double2 *x, int split,
                                                  int splits)
{
    UNROLLED
    for (int i = 0; i < EACH_PART; i++) {
        int own = threadIdx.x + i * THREADS, e = own + first_quad(split, splits), thread = e % THREADS,
            warp = thread / 32, piece = e / THREADS / 2, lower = e / THREADS % 2;
        int r = i0 + warp / WARPS_N * TM + row_in_warp(thread % 32 / 4, piece / PIECES_N * 2 + lower),
            column = j0 + warp % WARPS_N * TN + column_in_warp(thread % 4, piece % PIECES_N);
        const double sum[2] = {x[i].x, x[i].y};
        if (own < PART) put<2>(to, r, column, sum);
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    dgemm_tma_sm90(MAPPED_ARGUMENTS(PARAMETER, double, double), SPLIT_ARGUMENTS(PARAMETER, double2 *))
{
    extern __shared__ __align__(1024) struct memory shared[];
    struct stage *ring = shared->stage;
    barrier *full = shared->full, *empty = shared->empty;
    const int lane = threadIdx.x % 32, warp = __shfl_sync(~0u, threadIdx.x / 32, 0); /* uniform, as the compiler sees */
    int tile = blockIdx.x / splits, split = blockIdx.x % splits;
    int i_warp = warp / WARPS_N * TM, j_warp = warp % WARPS_N * TN, i0, j0;
    unsigned long long steps = ceil_div(k, BK);
    int begin = (int)(steps * (unsigned)split / splits), end = (int)(steps * (unsigned)(split + 1) / splits);
    union {
        struct piece_sums of[PIECES_M][PIECES_N];
        double2 pairs[EACH];
    } sum;
    struct fragments x;
    const struct places at = places_of(lane, i_warp, j_warp);
    struct cluster_sums *cluster_sums = (struct cluster_sums *)&shared[1];
    cluster_begin(cluster_sums);
    tile_at<GROUP_M>(tile, tiling_of<GROUP_M>(m, n), &i0, &j0);
    auto fetch_block = [&](int block, int to) {
        fetch(&ring[to], i0, j0, block * BK, &full[to], [&](double *box, int operand, int col, int row) {
            tma_load(box, operand ? &b_map : &a_map, col, row, &full[to]);
        });
    };
    /* Blocks of the next launch that came now beside these would be spread unevenly over the multiprocessors. */
    const bool late = BLOCKS > 1 && gridDim.x > multiprocessors();
    if (threadIdx.x == 0 && begin < end) {
        prefetch_map(&a_map), prefetch_map(&b_map);
        ring_init(STAGES, full, empty, WARPS);
    }
    UNROLLED
    for (int i = 0; i < EACH; i++) sum.pairs[i] = make_double2(0, 0);
    pdl_wait();
    if (!late) pdl_trigger();
    __syncthreads(); /* the barriers are ready for all */
    if (warp == 0 && elected())
        for (int q = 0; q < STAGES && begin + q < end; q++) fetch_block(begin + q, q);
    if (begin < end) {
        barrier_wait(&full[0], 0);
        UNROLLED
        for (int i = 0; i < PIECES_M; i++) load_part(&x, ring, &at, i, 0);
    }
    struct position is = {0, 0};
    ROLLED /* mainloop */
        for (int block = begin; block < end; block++)
            multiply_stage(sum.of, &x, shared, &at, &is, block + 1 < end, [&](int before, int phase) {
                if (warp != block % WARPS || block == begin || block - 1 + STAGES >= end) return;
                barrier_wait(&empty[before], phase);
                if (elected()) fetch_block(block - 1 + STAGES, before);
            });
    if (late) pdl_trigger();
    if (!fix_up(sum.pairs, cluster_sums, tile, split, splits, memory, flags, epoch)) return;
#if CLUSTER_REDUCE
    store_part(OUT, i0, j0, sum.pairs, split, splits);
#else
    store_warp(OUT, i0 + i_warp, j0 + j_warp, sum.of);
#endif
}
