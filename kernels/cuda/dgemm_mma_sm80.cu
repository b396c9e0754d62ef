/* dgemm_mma_sm80 - the production kernel for f64 from sm_80 on: the matrix units' mma.sync, fed by cp.async.
 *
 * IDEA      Every warp owns TM x TN of the block's tile, in pieces of 16 x 8 that one mma.sync adds 4 steps of k to (on
 *           sm_80 two of 8 x 8). Which row of the tile is which row of a piece is free, and so is the order of columns:
 *           each lane takes neighbours, so that it stores 4 of them side by side:
 *
 *               piece      rows 0 1 ... 7 | 8 9 ... 15       columns 0 1 ... 7, and 0 1 ... 7 of the piece beside it
 *               tile       rows 0 2 ... 14 | 1 3 ... 15      columns 0 2 ... 14, and 1 3 ... 15
 *
 *           Operands lie in shared memory as they are stored, and are copied by 16 bytes where they are aligned to
 *           them, else by 8. MN-major: [p][edge], a lane reads 2 neighbours of a step; rows are 4 words longer than
 *           the tile, so that the 4 steps and 2 pairs of a quarter of a warp lie in different banks. K-major:
 *           [edge][p], a lane reads a step of 2 lines; the fours of each line are exchanged (swizzle). Beyond an edge
 *           a copy writes zeros.
 *
 *           The next 4 steps are loaded into registers while these are multiplied, also those behind the barrier
 *           between two stages. So no warp waits for shared memory.
 *
 *           Where C has too few tiles for the device, split-K: `splits` blocks divide k, and their partial sums are
 *           added in a fixed order (splitk.cuh). A thread of one block holds what the same thread of another holds, so
 *           registers are stored as they are.
 *
 * NUMBERS   128 x 128 x 16: 16 flop/byte of the L2, 64 sums per thread, 8 warps of 64 x 32; 4 stages of 33 KiB. For 4
 *           steps a lane loads 12 words of 8 bytes for 16 mma.sync of 512 FMAs each; a quarter of a multiprocessor does
 *           32 a cycle. H200, TFLOP/s at 4096: NN 53.5, TN 54.7, NT 50.8, TT 54.2 alone on the device; in turns with
 *           cuBLAS 13, which has 54.7 then, 46.4: both draw all the power there is.
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
    PAIRS_N = TN / 16,
    EACH = BM * BN / 2 / THREADS, /* pairs of sums of a thread */
    GROUP_M = 8
};
ASSUME(32 * WARPS_M * WARPS_N == THREADS && TM % 16 == 0 && TN % 16 == 0 && BK == 16)

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

/* Swizzle: a K-major line has its four steps number q at q ^ exchange(line), so that the lanes of half a warp, in lines
 * 0, 2, 4 and 6, read from 16 different pairs of banks. */
static __device__ __forceinline__ constexpr int exchange(int line) { return line / 2 % 4; }

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
 * at x[edge * ld + p] (ALONG) or x[p * ld + edge]. Zeros beyond `edges` and k. */
template <int EDGE, bool ALONG>
static __device__ __forceinline__ void fetch(double *tile, const double *x, long ld, bool by_16, int edge0, int edges,
                                             int p0, int k)
{
    constexpr int PAIRS = (ALONG ? BK : EDGE) / 2, LINES = ALONG ? EDGE : BK, ROWS = THREADS / PAIRS;
    int pair = threadIdx.x % PAIRS, line = threadIdx.x / PAIRS;
    int left = ALONG ? k - p0 - 2 * pair : edges - edge0 - 2 * pair, lines = ALONG ? edges - edge0 : k - p0;
    const double *from = x + ((ALONG ? edge0 : p0) + line) * ld + ((ALONG ? p0 : edge0) + 2 * pair);
    double *to = tile +
                 (ALONG ? line * BK + (pair / 2 ^ exchange(line)) * 4 + pair % 2 * 2 : line * (EDGE + PAD) + 2 * pair);
    ASSUME(THREADS % PAIRS == 0 && LINES % ROWS == 0 && (!ALONG || ROWS % 8 == 0))
    UNROLLED
    for (int e = 0; e < LINES; e += ROWS)
        copy_pair(to + e * (ALONG ? BK : EDGE + PAD), from + e * ld, by_16,
                  line + e < lines ? min(max(left, 0), 2) : 0);
}

/* ---- from shared memory to registers ---- */

/* Step p of lines `edge` and the next. */
template <int EDGE, bool ALONG> static __device__ __forceinline__ double2 load(const double *tile, int edge, int p)
{
    if (!ALONG) return *(const double2 *)&tile[p * (EDGE + PAD) + edge];
    const double *at = &tile[edge * BK + (p / 4 ^ exchange(edge)) * 4 + p % 4];
    return make_double2(at[0], at[BK]);
}

/* ---- the matrix units ---- */

/* The sums of a piece (16 x 8): of rows l / 4 and l / 4 + 8, columns l % 4 * 2 and the next. */
struct piece_sums {
    double upper[2], lower[2];
};

/* Adds 4 steps: a lane's a is of rows l / 4 and l / 4 + 8, and b of column l / 4, step l % 4. */
static __device__ __forceinline__ void multiply_4(struct piece_sums *x, double a_upper, double a_lower, double b)
{
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(x->upper[0]), "+d"(x->upper[1]), "+d"(x->lower[0]), "+d"(x->lower[1])
        : "d"(a_upper), "d"(a_lower), "d"(b));
#else
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(x->upper[0]), "+d"(x->upper[1])
        : "d"(a_upper), "d"(b));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(x->lower[0]), "+d"(x->lower[1])
        : "d"(a_lower), "d"(b));
#endif
}

/* What a lane holds of 4 steps: one of them, of 2 lines each. */
struct fragments {
    double2 a[PIECES_M], b[PAIRS_N];
};

template <bool A_ALONG, bool B_ALONG>
static __device__ __forceinline__ void load_all(struct fragments *x, const struct stage *from, int i, int j, int p)
{
    UNROLLED
    for (int e = 0; e < PIECES_M; e++) x->a[e] = load<BM, A_ALONG>(from->a, i + 16 * e, p);
    UNROLLED
    for (int e = 0; e < PAIRS_N; e++) x->b[e] = load<BN, B_ALONG>(from->b, j + 16 * e, p);
}

static __device__ __forceinline__ void multiply(struct piece_sums (*sum)[PAIRS_N][2], const struct fragments *x)
{
    UNROLLED
    for (int i = 0; i < PIECES_M; i++) {
        UNROLLED
        for (int j = 0; j < PAIRS_N; j++) {
            multiply_4(&sum[i][j][0], x->a[i].x, x->a[i].y, x->b[j].x);
            multiply_4(&sum[i][j][1], x->a[i].x, x->a[i].y, x->b[j].y);
        }
    }
}

static __device__ __forceinline__ bool in_16(const double *x, long ld)
{
    return ((unsigned long long)x % 16 | ld % 2) == 0;
}

/* c <- alpha * sum + beta * c for 4 neighbours, of which `count` are there. */
static __device__ __forceinline__ void store(double *c, int count, double alpha, const double *sum, double beta)
{
    if (WIDE && count >= 4) {
        UNROLLED
        for (int q = 0; q < 4; q += 2) {
            double2 y = beta != 0 ? *(const double2 *)&c[q] : make_double2(0, 0);
            y.x = beta == 0 ? alpha * sum[q] : fma(alpha, sum[q], beta * y.x);
            y.y = beta == 0 ? alpha * sum[q + 1] : fma(alpha, sum[q + 1], beta * y.y);
            *(double2 *)&c[q] = y;
        }
        return;
    }
    UNROLLED
    for (int q = 0; q < 4; q++)
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
    int steps = ceil_div(k, BK), begin = (int)((long)steps * split / splits),
        end = (int)((long)steps * (split + 1) / splits);
    int i_warp = warp / WARPS_N * TM, j_warp = warp % WARPS_N * TN, row = lane / 4, step = lane % 4;
    bool a_by_16 = WIDE || in_16(a, lda), b_by_16 = WIDE || in_16(b, ldb);
    union {
        struct piece_sums of[PIECES_M][PAIRS_N][2];
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
    int i_lane = i_warp + 2 * row, j_lane = j_warp + 2 * row;
    struct fragments ahead[2];
    COPIES_WAIT(STAGES - 2);
    __syncthreads();
    load_all<a_along, b_along>(&ahead[0], &ring[0], i_lane, j_lane, step);
    ROLLED /* mainloop */
        for (int block = begin, now = 0, to = STAGES - 1; block < end; block++)
    {
        if (block + STAGES - 1 < end) {
            fetch<BM, a_along>(ring[to].a, a, lda, a_by_16, i0, m, (block + STAGES - 1) * BK, k);
            fetch<BN, b_along>(ring[to].b, b, ldb, b_by_16, j0, n, (block + STAGES - 1) * BK, k);
        }
        copies_commit();
        UNROLLED
        for (int p = 4; p < BK; p += 4) {
            load_all<a_along, b_along>(&ahead[p / 4 % 2], &ring[now], i_lane, j_lane, p + step);
            multiply(sum.of, &ahead[(p / 4 + 1) % 2]);
        }
        to = now;
        if (++now == STAGES) now = 0;
        COPIES_WAIT(STAGES - 2);
        __syncthreads(); /* the next stage has come for all, and all have read this one */
        load_all<a_along, b_along>(&ahead[0], &ring[now], i_lane, j_lane, step);
        multiply(sum.of, &ahead[1]);
    }
    if (!fix_up(sum.pairs, NULL, tile, split, splits, memory, flags, epoch)) return;
    UNROLLED /* epilogue */
        for (int i = 0; i < PIECES_M; i++)
    {
        UNROLLED
        for (int lower = 0; lower < 2; lower++) {
            int r = i0 + i_warp + 16 * i + 2 * row + lower;
            if (r >= m) continue;
            UNROLLED
            for (int j = 0; j < PAIRS_N; j++) {
                const struct piece_sums *x = sum.of[i][j];
                int column = j0 + j_warp + 16 * j + 4 * step;
                const double four[4] = {lower ? x[0].lower[0] : x[0].upper[0], lower ? x[1].lower[0] : x[1].upper[0],
                                        lower ? x[0].lower[1] : x[0].upper[1], lower ? x[1].lower[1] : x[1].upper[1]};
                store(&C(r, column), n - column, alpha, four, beta);
            }
        }
    }
}
