/* dgemm_tile.cuh - a block's tile of f64 on the matrix units: how its operands lie in shared memory and get there, what
 * a lane holds of them, its products and its part of C. For dgemm_mma_sm80, whose IDEA explains it, and
 * dgemm_batched_mma_sm80. After rung.cuh and ampere.cuh.
 *
 * SOURCE    PTX ISA (cp.async) */
#include "dgemm_pieces.cuh"

/* The warps of a block are arranged WARPS_M x WARPS_N. */
enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    THREADS = ROW_THREADS,
    STAGES = ROW_STAGES,
    PAD = 4,
    TM = BM / WARPS_M,
    TN = BN / WARPS_N,
    PIECES_M = TM / 16,
    PIECES_N = TN / 8,
    TURNS = BK / 8 * PIECES_M, /* of a stage: 8 steps of a row of pieces */
};
ASSUME(32 * WARPS_M * WARPS_N == THREADS && TM % 16 == 0 && TN % 8 == 0 && BK % 16 == 0)

struct stage {
    double a[BK * (BM + PAD)], b[BK * (BN + PAD)];
};
ASSUME(STAGES * sizeof(struct stage) == ROW_BYTES)

/* ---- from memory to shared memory ---- */

static __device__ __forceinline__ void copy_8(void *to, const void *from, int there)
{
    COPY_8(shared_address(to), COPY_FROM(from), there);
}

/* Two neighbours, of which `count` are there; zeros for the others. */
static __device__ __forceinline__ void copy_pair(double *to, const double *from, bool by_16, int count)
{
    if (by_16 && count != 1)
        copy_16(to, from, 8 * count);
    else {
        copy_8(to, from, count > 0 ? 8 : 0);
        copy_8(to + 1, from + 1, count > 1 ? 8 : 0);
    }
}

/* The thread's copies of BK steps from p0 on, of EDGE lines from edge0 on, of an operand whose element (edge, p) lies
 * at x[edge * ld + p] (ALONG) or x[p * ld + edge]. Zeros beyond `edges` and k. Swizzle: a K-major line has its four
 * steps number q at q ^ (line % 4), so that the lanes of half a warp, in four lines, read from 16 different pairs of
 * banks. */
template <int EDGE, bool ALONG>
static __device__ __forceinline__ void fetch(double *tile, const double *x, long ld, bool by_16, int edge0, int edges,
                                             int p0, int k)
{
    constexpr int PAIRS = (ALONG ? BK : EDGE) / 2, LINES = ALONG ? EDGE : BK, ROWS = THREADS / PAIRS,
                  PITCH = ALONG ? BK : EDGE + PAD;
    int pair = threadIdx.x % PAIRS, line = threadIdx.x / PAIRS;
    int left = ALONG ? k - p0 - 2 * pair : edges - edge0 - 2 * pair, lines = ALONG ? edges - edge0 : k - p0;
    const double *from = x + ((ALONG ? edge0 : p0) + line) * ld + ((ALONG ? p0 : edge0) + 2 * pair);
    double *to = tile + line * PITCH + (ALONG ? (pair / 2 ^ line % 4) * 4 + pair % 2 * 2 : 2 * pair);
    ASSUME(THREADS % PAIRS == 0 && LINES % ROWS == 0 && (!ALONG || ROWS % 4 == 0))
    if (WIDE && p0 + BK <= k && (ALONG || edges % 2 == 0)) { /* no copy of 8: few instructions for each */
        UNROLLED
        for (int e = 0; e < LINES; e += ROWS, from += ROWS * ld)
            copy_16(to + e * PITCH, from, (ALONG ? line + e < lines : left > 0) ? 16 : 0);
        return;
    }
    UNROLLED
    for (int e = 0; e < LINES; e += ROWS)
        copy_pair(to + e * PITCH, from + e * ld, by_16, line + e < lines ? min(max(left, 0), 2) : 0);
}

/* ---- from shared memory to registers ---- */

/* Where a lane finds the first step of the first row or column of its warp: edge `edge`, step `step` < 4 of the tile.
 * The shuffle changes nothing. It keeps the compiler, which is short of registers, from computing the place anew. */
template <int EDGE, bool ALONG> static __device__ __forceinline__ int place_of(int edge, int step)
{
    return __shfl_sync(~0u, ALONG ? edge * BK + edge % 4 * 4 + step : step * (EDGE + PAD) + edge, threadIdx.x % 32);
}

/* The element `edges` lines, a multiple of 8, and `steps` steps, a multiple of 4, from a place. */
template <int EDGE, bool ALONG>
static __device__ __forceinline__ double load(const double *tile, int place, int edges, int steps)
{
    return ALONG ? tile[(place ^ steps) + edges * BK] : tile[place + steps * (EDGE + PAD) + edges];
}

/* What a lane holds of 8 steps, from step p on, of piece number i: steps l % 4 and 4 behind it, of rows l / 4 and l / 4
 * + 8; of B, of column l / 4. */
template <bool ALONG>
static __device__ __forceinline__ void load_a(double *x, const struct stage *from, int place, int i, int p)
{
    UNROLLED
    for (int q = 0; q < 4; q++) x[q] = load<BM, ALONG>(from->a, place, i * 16 + q % 2 * 8, p + q / 2 * 4);
}

template <bool ALONG>
static __device__ __forceinline__ void load_b(double *x, const struct stage *from, int place, int j, int p)
{
    UNROLLED
    for (int q = 0; q < 2; q++) x[q] = load<BN, ALONG>(from->b, place, j * 8, p + q * 4);
}

/* ---- a warp's mainloop and epilogue ---- */

/* Rows of pieces of A that are loaded ahead: all of 8 steps, or half where 64 sums leave too few registers. */
enum { AHEAD = PIECES_M * PIECES_N < 16 ? PIECES_M : PIECES_M / 2 };
ASSUME(TURNS % (2 * AHEAD) == 0)

/* A lane's operands: those that are multiplied, and those that are loaded meanwhile; and where it finds them in a
 * stage. Of A rows of pieces, of B all columns for 8 steps. */
struct fragments {
    double a[2 * AHEAD][4], b[2][PIECES_N][2];
    int a_place, b_place;
};

/* Loads row of pieces number `turn` of a stage. */
template <bool ALONG>
static __device__ __forceinline__ void load_row(struct fragments *x, const struct stage *from, int turn)
{
    load_a<ALONG>(x->a[turn % (2 * AHEAD)], from, x->a_place, turn % PIECES_M, turn / PIECES_M * 8);
}

/* Loads part number `part` of AHEAD of B's columns, for 8 steps from step p of a stage on. */
template <bool ALONG>
static __device__ __forceinline__ void load_columns(struct fragments *x, const struct stage *from, int part, int p)
{
    UNROLLED
    for (int j = 0; j < PIECES_N; j++)
        if (j * AHEAD / PIECES_N == part) load_b<ALONG>(x->b[p / 8 % 2][j], from, x->b_place, j, p);
}

/* The first operands of a stage, which has come for all threads, for the warp whose part of C begins there. */
template <bool A_ALONG, bool B_ALONG>
static __device__ __forceinline__ void load_first(struct fragments *x, const struct stage *from, int i_warp, int j_warp)
{
    int lane = threadIdx.x % 32;
    x->a_place = place_of<BM, A_ALONG>(i_warp + lane / 4, lane % 4);
    x->b_place = place_of<BN, B_ALONG>(j_warp + lane / 4, lane % 4);
    UNROLLED
    for (int turn = 0; turn < AHEAD; turn++) {
        load_row<A_ALONG>(x, from, turn);
        load_columns<B_ALONG>(x, from, turn, 0);
    }
}

/* Multiplies stage *now of the ring, whose first operands are loaded. Each turn, after its first product, loads the
 * operands of AHEAD turns later. The last AHEAD turns load those of the next stage, which *now then names. */
template <bool A_ALONG, bool B_ALONG>
static __device__ __forceinline__ void multiply_stage(struct piece_sums (*sum)[PIECES_N], struct fragments *x,
                                                      const struct stage *ring, int *now)
{
    UNROLLED
    for (int turn = 0; turn < TURNS; turn++) {
        const int i = turn % PIECES_M, eight = turn / PIECES_M, part = i + AHEAD - PIECES_M;
        if (turn == TURNS - AHEAD) {
            if (++*now == STAGES) *now = 0;
            COPIES_WAIT(STAGES - 2);
            __syncthreads(); /* the next stage has come for all, and all have loaded this one */
        }
        UNROLLED
        for (int j = 0; j < PIECES_N; j++) {
            multiply_8(&sum[i][j], x->a[turn % (2 * AHEAD)], x->b[eight % 2][j]);
            if (j > 0) continue;
            load_row<A_ALONG>(x, &ring[*now], (turn + AHEAD) % TURNS);
            if (part >= 0) load_columns<B_ALONG>(x, &ring[*now], part, (eight + 1) * 8 % BK);
        }
    }
}

/* The warp's part of C, from row i_warp and column j_warp on. */
static __device__ __forceinline__ void store_warp(const struct out &to, int i_warp, int j_warp,
                                                  const struct piece_sums (*sum)[PIECES_N])
{
    int row = threadIdx.x % 32 / 4, step = threadIdx.x % 4;
    UNROLLED
    for (int i = 0; i < PIECES_M; i++) {
        UNROLLED
        for (int lower = 0; lower < 2; lower++) {
            int r = i_warp + 16 * i + row + 8 * lower;
            if (r >= to.m) continue;
            UNROLLED
            for (int j = 0; j < PIECES_N; j++)
                put<2>(to, r, j_warp + 8 * j + 2 * step, lower ? sum[i][j].lower : sum[i][j].upper);
        }
    }
}
