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
 *           memory). splits as in dgemm_mma_sm80. Two tensor maps, rank 2, FLOAT64, element strides 1, no interleave,
 *           swizzled by 128 bytes, zeros outside; A and B as stored:
 *               K-major    box {16, BM (B: BN)}
 *               MN-major   box {16, 16}
 * CHANGED   from dgemm_mma_sm80: TMA copies, barriers in shared memory, the order of steps, rows and columns.
 * SOURCE    PTX ISA (mma.sync for f64, cp.async.bulk.tensor and its swizzles, mbarrier) */
#define SUMS_F64 1
#include "rung.cuh"
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
    WARPS = THREADS / 32,
    GROUP_M = 8,
    EACH = BM * BN / 2 / THREADS /* pairs of sums of a thread */
};
ASSUME(32 * WARPS_M * WARPS_N == THREADS && TM % 16 == 0 && TN % 16 == 0 && BK == 16 && STAGES >= 2)
ASSUME_BOXES(BK, EDGE, BK, EDGE)

#include "raster.cuh"
#include "splitk.cuh"

struct stage {
    double a[BM * BK], b[BN * BK];
};

struct memory {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct memory) == ROW_BYTES)

/* ---- from memory to shared memory ---- */

/* One thread: all boxes of a stage, from step p0 on. */
static __device__ __forceinline__ void fetch(struct stage *to, const tensor_map *a_map, const tensor_map *b_map, int i0,
                                             int j0, int p0, barrier *full)
{
    barrier_expect(full, sizeof *to);
    UNROLLED
    for (int box = 0; box < BOXES_A; box++)
        tma_load(to->a + box * EDGE * BK, a_map, A_ALONG ? p0 : i0 + box * EDGE, A_ALONG ? i0 : p0, full);
    UNROLLED
    for (int box = 0; box < BOXES_B; box++)
        tma_load(to->b + box * EDGE * BK, b_map, B_ALONG ? p0 : j0 + box * EDGE, B_ALONG ? j0 : p0, full);
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

/* ---- a warp's part of C ---- */

static __device__ __forceinline__ void store_warp(double *c, long ldc, int i_warp, int j_warp, int m, int n,
                                                  double alpha, const struct piece_sums (*sum)[PIECES_N], double beta)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    UNROLLED
    for (int i = 0; i < 2 * PIECES_M; i++) {
        int r = i_warp + i / 2 * 16 + (A_ALONG ? i % 2 * 8 + row_of(g) : g * 2 + i % 2);
        if (r >= m) continue;
        UNROLLED
        for (int j = 0; j < PIECES_N; j++) {
            int column = j_warp + 8 * j + (B_ALONG ? row_of(2 * t) : 2 * t);
            store(&C(r, column), n - column, alpha, i % 2 ? sum[i / 2][j].lower : sum[i / 2][j].upper, beta);
        }
    }
}

/* ---- the product ---- */

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

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    dgemm_tma_sm90(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n,
                   int k, double alpha, double beta, double *__restrict__ c, long ldc, int splits, double2 *memory,
                   unsigned long long *flags, unsigned long long epoch)
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
    raster(tile, ceil_div(m, BM), ceil_div(n, BN), &i0, &j0);
    /* Blocks of the next launch that came now beside these would be spread unevenly over the multiprocessors. */
    const bool late = BLOCKS > 1 && gridDim.x > multiprocessors();
    if (!late) pdl_trigger();
    if (threadIdx.x == 0 && begin < end) {
        prefetch_map(&a_map), prefetch_map(&b_map);
        for (int q = 0; q < STAGES; q++) barrier_init(&full[q], 1), barrier_init(&empty[q], WARPS);
        barrier_init_done();
    }
    UNROLLED
    for (int i = 0; i < EACH; i++) sum.pairs[i] = make_double2(0, 0);
    pdl_wait();
    __syncthreads(); /* the barriers are ready for all */
    if (warp == 0 && elected())
        for (int q = 0; q < STAGES && begin + q < end; q++)
            fetch(&ring[q], &a_map, &b_map, i0, j0, (begin + q) * BK, &full[q]);
    if (begin < end) {
        barrier_wait(&full[0], 0);
        UNROLLED
        for (int i = 0; i < PIECES_M; i++) load_part(&x, ring, &at, i, 0);
    }
    ROLLED /* mainloop */
        for (int block = begin, now = 0, phase = 0; block < end; block++)
    {
        const struct stage *from = &ring[now];
        int next = now + 1 == STAGES ? 0 : now + 1, before = now == 0 ? STAGES - 1 : now - 1,
            next_phase = phase ^ (next == 0);
        UNROLLED
        for (int turn = 0; turn < TURNS; turn++) {
            const int i = turn % PIECES_M, eight = turn / PIECES_M;
            if (turn == PIECES_M) {
                if (block + 1 < end) barrier_wait(&full[next], next_phase);
                from = &ring[next];
            }
            UNROLLED
            for (int j = 0; j < PIECES_N; j++) {
                multiply_8(&sum.of[i][j], x.a[eight][i], x.b[eight][j]);
                if (j == 0) load_part(&x, from, &at, i, 1 - eight);
            }
            if (turn == TURNS - 1 && lane == 0) barrier_arrive(&empty[now]); /* the warp has read it */
            if (turn == PIECES_M / 2 && warp == block % WARPS && block > begin && block - 1 + STAGES < end) {
                barrier_wait(&empty[before], now == 0 ? phase ^ 1 : phase);
                if (elected()) fetch(&ring[before], &a_map, &b_map, i0, j0, (block - 1 + STAGES) * BK, &full[before]);
            }
        }
        now = next, phase = next_phase;
    }
    if (late) pdl_trigger();
    if (!fix_up(sum.pairs, NULL, tile, split, splits, memory, flags, epoch)) return;
    store_warp(c, ldc, i0 + i_warp, j0 + j_warp, m, n, alpha, sum.of, beta);
}
