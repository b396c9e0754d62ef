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

template <int EDGE, bool ALONG> static __device__ __forceinline__ double load(const double *tile, int edge, int p)
{
    return ALONG ? tile[edge * BK + (p / 4 ^ edge % 4) * 4 + p % 4] : tile[p * (EDGE + PAD) + edge];
}

/* What a lane holds of 8 steps of a piece: steps l % 4 and 4 behind it, of rows l / 4 and l / 4 + 8, and of column l /
 * 4. i, j and p are the lane's. */
template <bool ALONG> static __device__ __forceinline__ void load_a(double *x, const struct stage *from, int i, int p)
{
    UNROLLED
    for (int q = 0; q < 4; q++) x[q] = load<BM, ALONG>(from->a, i + q % 2 * 8, p + q / 2 * 4);
}

template <bool ALONG> static __device__ __forceinline__ void load_b(double *x, const struct stage *from, int j, int p)
{
    UNROLLED
    for (int q = 0; q < 2; q++) x[q] = load<BN, ALONG>(from->b, j, p + q * 4);
}

static __device__ __forceinline__ bool in_16(const double *x, long ld)
{
    return ((unsigned long long)x % 16 | ld % 2) == 0;
}

/* ---- a warp's mainloop and epilogue ---- */

/* A lane's operands for 8 steps, twice: those that are multiplied, and those that are loaded meanwhile for the next
 * product. Of A one row of pieces, of B all columns of the warp. */
struct fragments {
    double a[2][4], b[2][PIECES_N][2];
};

/* The first 8 steps of a stage, which has come for all threads. i, j and step are the lane's. */
template <bool A_ALONG, bool B_ALONG>
static __device__ __forceinline__ void load_first(struct fragments *ahead, const struct stage *from, int i_lane,
                                                  int j_lane, int step)
{
    load_a<A_ALONG>(ahead->a[0], from, i_lane, step);
    UNROLLED
    for (int j = 0; j < PIECES_N; j++) load_b<B_ALONG>(ahead->b[0][j], from, j_lane + 8 * j, step);
}

/* Multiplies stage *now of the ring, of which the first 8 steps are loaded; behind each product a few words of what
 * comes then are, at the end those of the next stage, which *now is then. */
template <bool A_ALONG, bool B_ALONG>
static __device__ __forceinline__ void multiply_stage(struct piece_sums (*sum)[PIECES_N], struct fragments *ahead,
                                                      const struct stage *ring, int *now, int i_lane, int j_lane,
                                                      int step)
{
    UNROLLED
    for (int turn = 0; turn < TURNS; turn++) {
        int i = turn % PIECES_M, eight = turn / PIECES_M, p = eight * 8;
        bool next_8 = i == PIECES_M - 1;
        if (turn == TURNS - 1) {
            if (++*now == STAGES) *now = 0;
            COPIES_WAIT(STAGES - 2);
            __syncthreads(); /* the next stage has come for all, and all have read this one */
        }
        UNROLLED
        for (int j = 0; j < PIECES_N; j++) {
            multiply_8(&sum[i][j], ahead->a[turn % 2], ahead->b[eight % 2][j]);
            if (j == 0)
                load_a<A_ALONG>(ahead->a[(turn + 1) % 2], &ring[*now], i_lane + (turn + 1) % PIECES_M * 16,
                                (next_8 ? p + 8 : p) % BK + step);
            if (next_8) load_b<B_ALONG>(ahead->b[(eight + 1) % 2][j], &ring[*now], j_lane + 8 * j, (p + 8) % BK + step);
        }
    }
}

/* The warp's part of C, from row i_warp and column j_warp on. */
static __device__ __forceinline__ void store_warp(double *c, long ldc, int i_warp, int j_warp, int m, int n,
                                                  double alpha, const struct piece_sums (*sum)[PIECES_N], double beta)
{
    int row = threadIdx.x % 32 / 4, step = threadIdx.x % 4;
    UNROLLED
    for (int i = 0; i < PIECES_M; i++) {
        UNROLLED
        for (int lower = 0; lower < 2; lower++) {
            int r = i_warp + 16 * i + row + 8 * lower;
            if (r >= m) continue;
            UNROLLED
            for (int j = 0; j < PIECES_N; j++) {
                const struct piece_sums *x = &sum[i][j];
                int column = j_warp + 8 * j + 2 * step;
                store(&C(r, column), n - column, alpha, lower ? x->lower : x->upper, beta);
            }
        }
    }
}
