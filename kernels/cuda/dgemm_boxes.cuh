/* dgemm_boxes.cuh - a block's tile of f64 on the matrix units whose operands come by TMA: the boxes of a stage, what a
 * lane holds of them, its products and its part of C. For dgemm_tma_sm90, whose IDEA explains it, and
 * dgemm_batched_tma_sm90. After rung.cuh and hopper.cuh.
 *
 * SOURCE    PTX ISA (mma.sync for f64, cp.async.bulk.tensor and its swizzles, mbarrier) */
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

/* One thread, before the block meets. */
static __device__ __forceinline__ void ring_init(struct memory *memory)
{
    for (int q = 0; q < STAGES; q++) barrier_init(&memory->full[q], 1), barrier_init(&memory->empty[q], WARPS);
    barrier_init_done();
}

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

static __device__ __forceinline__ void store_warp(double *c, long ldc, int i_warp, int j_warp, int m, int n,
                                                  double alpha, const struct piece_sums (*sum)[PIECES_N], double beta)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    UNROLLED
    for (int i = 0; i < 2 * PIECES_M; i++) {
        int r = i_warp + row_in_warp(g, i);
        if (r >= m) continue;
        UNROLLED
        for (int j = 0; j < PIECES_N; j++) {
            int column = j_warp + column_in_warp(t, j);
            store(&C(r, column), n - column, alpha, i % 2 ? sum[i / 2][j].lower : sum[i / 2][j].upper, beta);
        }
    }
}
