/* dgemm_mma_sm80 - the production kernel for f64 from sm_80 on: the matrix units' mma.sync, fed by cp.async.
 *
 * IDEA      Every warp owns TM x TN of the block's tile, in pieces of 16 x 8 that one mma.sync adds 8 steps of k to (on
 *           sm_80 four of 8 x 8 and 4 steps). Operands lie in shared memory as they are stored, and are copied by 16
 *           bytes where they are aligned to them, else by 8. MN-major: [p][edge]; rows are 4 words longer than the
 *           tile, so that 4 lines and 4 steps, the lanes of half a warp, lie in different banks. K-major: [edge][p];
 *           the fours of each line are exchanged (swizzle). Beyond an edge a copy writes zeros.
 *
 *           The next 8 steps are loaded into registers while these are multiplied, a few words behind each mma.sync,
 *           also those behind the barrier between two stages. A warp that loaded all at once would wait until the unit
 *           has read the registers that it loads into, and the other warp of its quarter at the same time.
 *
 *           Where C has too few tiles for the device, split-K: `splits` blocks divide k, and their partial sums are
 *           added in a fixed order (splitk.cuh). A thread of one block holds what the same thread of another holds, so
 *           registers are stored as they are.
 *
 * NUMBERS   128 x 128 x 16: 16 flop/byte of the L2, 64 sums per thread, 8 warps of 64 x 32; 4 stages of 33 KiB. For 8
 *           steps a lane loads 24 words of 8 bytes for 16 mma.sync of 1024 FMAs each; a quarter of a multiprocessor
 *           does 32 a cycle. H200, alone on the device: 57.2 TFLOP/s at 4096 (docs/perf/dgemm-mma.md).
 * LIMITS    sm_80 and above. Any m, n >= 1, k, ld, address and transposes. Fewer than 2^31 tiles.
 * HOST      grid ceil(m / BM) * ceil(n / BN) * splits, block 32 WARPS_M WARPS_N, dynamic shared memory STAGES *
 *           sizeof(struct stage). splits > 1: as sgemm_slicedk_sm80, with doubles for its floats.
 * CHANGED   from r13m_mma: f64, its own layouts, operands loaded ahead, split-K.
 * SOURCE    PTX ISA (mma.sync for f64, cp.async); Kerr et al.: CUTLASS, 2017 */
#include "rung.cuh"
#include "ampere.cuh"

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
    TURNS = BK / 8 * PIECES_M,    /* of a stage: 8 steps of a row of pieces */
    EACH = BM * BN / 2 / THREADS, /* pairs of sums of a thread */
    GROUP_M = 8
};
ASSUME(32 * WARPS_M * WARPS_N == THREADS && TM % 16 == 0 && TN % 8 == 0 && BK % 16 == 0)

struct stage {
    double a[BK * (BM + PAD)], b[BK * (BN + PAD)];
};
ASSUME(STAGES * sizeof(struct stage) == ROW_BYTES)

#define SUMS_F64
#include "splitk.cuh"

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

/* ---- the matrix units ---- */

/* The sums of a piece (16 x 8): of rows l / 4 and l / 4 + 8, columns l % 4 * 2 and the next. */
struct piece_sums {
    double upper[2], lower[2];
};

/* Volatile: the loads stay between the multiplications. */
static __device__ __forceinline__ void multiply_8(struct piece_sums *x, const double *a, const double *b)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+d"(x->upper[0]), "+d"(x->upper[1]), "+d"(x->lower[0]), "+d"(x->lower[1])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    UNROLLED
    for (int q = 0; q < 2; q++) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(x->upper[0]), "+d"(x->upper[1])
                     : "d"(a[2 * q]), "d"(b[q]));
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(x->lower[0]), "+d"(x->lower[1])
                     : "d"(a[2 * q + 1]), "d"(b[q]));
    }
#endif
}

static __device__ __forceinline__ bool in_16(const double *x, long ld)
{
    return ((unsigned long long)x % 16 | ld % 2) == 0;
}

/* c <- alpha * sum + beta * c for 2 neighbours, of which `count` are there. */
static __device__ __forceinline__ void store(double *c, int count, double alpha, const double *sum, double beta)
{
    if (WIDE && count >= 2) {
        double2 y = beta != 0 ? *(const double2 *)c : make_double2(0, 0);
        y.x = beta == 0 ? alpha * sum[0] : fma(alpha, sum[0], beta * y.x);
        y.y = beta == 0 ? alpha * sum[1] : fma(alpha, sum[1], beta * y.y);
        *(double2 *)c = y;
        return;
    }
    UNROLLED
    for (int q = 0; q < 2; q++)
        if (q < count) c[q] = beta == 0 ? alpha * sum[q] : fma(alpha, sum[q], beta * c[q]);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    dgemm_mma_sm80(int m, int n, int k, double alpha, const double *__restrict__ a, long lda,
                   const double *__restrict__ b, long ldb, double beta, double *__restrict__ c, long ldc, int splits,
                   double2 *memory, unsigned long long *flags, unsigned long long epoch)
{
    extern __shared__ __align__(16) struct stage ring[];
    const bool a_along = !OP_A, b_along = OP_B;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, tile = blockIdx.x / splits, split = blockIdx.x % splits;
    /* rasterisation: down GROUP_M rows of tiles before the next column, as in r11 */
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), group = tile / (GROUP_M * tiles_n),
        rows = min(GROUP_M, tiles_m - group * GROUP_M), in_group = tile % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    unsigned long long steps = ceil_div(k, BK);
    int begin = (int)(steps * (unsigned)split / splits), end = (int)(steps * (unsigned)(split + 1) / splits);
    int i_warp = warp / WARPS_N * TM, j_warp = warp % WARPS_N * TN, row = lane / 4, step = lane % 4;
    bool a_by_16 = WIDE || in_16(a, lda), b_by_16 = WIDE || in_16(b, ldb);
    union {
        struct piece_sums of[PIECES_M][PIECES_N];
        double2 pairs[EACH];
    } sum;
    UNROLLED
    for (int i = 0; i < EACH; i++) sum.pairs[i] = make_double2(0, 0);
    for (int q = 0; q < STAGES - 1; q++) { /* prologue */
        if (begin + q < end) {
            fetch<BM, a_along>(ring[q].a, a, lda, a_by_16, i0, m, (begin + q) * BK, k);
            fetch<BN, b_along>(ring[q].b, b, ldb, b_by_16, j0, n, (begin + q) * BK, k);
        }
        copies_commit();
    }
    int i_lane = i_warp + row, j_lane = j_warp + row;
    double x[2][4], y[2][PIECES_N][2]; /* of A and of B: what is multiplied, and what comes then */
    COPIES_WAIT(STAGES - 2);
    __syncthreads();
    load_a<a_along>(x[0], &ring[0], i_lane, step);
    UNROLLED
    for (int j = 0; j < PIECES_N; j++) load_b<b_along>(y[0][j], &ring[0], j_lane + 8 * j, step);
    ROLLED /* mainloop */
        for (int block = begin, now = 0; block < end; block++)
    {
        if (block + STAGES - 1 < end) {
            int to = now == 0 ? STAGES - 1 : now - 1;
            fetch<BM, a_along>(ring[to].a, a, lda, a_by_16, i0, m, (block + STAGES - 1) * BK, k);
            fetch<BN, b_along>(ring[to].b, b, ldb, b_by_16, j0, n, (block + STAGES - 1) * BK, k);
        }
        copies_commit();
        UNROLLED
        for (int turn = 0; turn < TURNS; turn++) {
            int i = turn % PIECES_M, eight = turn / PIECES_M, p = eight * 8;
            bool next_8 = i == PIECES_M - 1;
            if (turn == TURNS - 1) {
                if (++now == STAGES) now = 0;
                COPIES_WAIT(STAGES - 2);
                __syncthreads(); /* the next stage has come for all, and all have read this one */
            }
            UNROLLED
            for (int j = 0; j < PIECES_N; j++) {
                multiply_8(&sum.of[i][j], x[turn % 2], y[eight % 2][j]);
                if (j == 0)
                    load_a<a_along>(x[(turn + 1) % 2], &ring[now], i_lane + (turn + 1) % PIECES_M * 16,
                                    (next_8 ? p + 8 : p) % BK + step);
                if (next_8) load_b<b_along>(y[(eight + 1) % 2][j], &ring[now], j_lane + 8 * j, (p + 8) % BK + step);
            }
        }
    }
    if (!fix_up(sum.pairs, NULL, tile, split, splits, memory, flags, epoch)) return;
    UNROLLED /* epilogue */
        for (int i = 0; i < PIECES_M; i++)
    {
        UNROLLED
        for (int lower = 0; lower < 2; lower++) {
            int r = i0 + i_warp + 16 * i + row + 8 * lower;
            if (r >= m) continue;
            UNROLLED
            for (int j = 0; j < PIECES_N; j++) {
                const struct piece_sums *x = &sum.of[i][j];
                int column = j0 + j_warp + 8 * j + 2 * step;
                store(&C(r, column), n - column, alpha, lower ? x->lower : x->upper, beta);
            }
        }
    }
}
