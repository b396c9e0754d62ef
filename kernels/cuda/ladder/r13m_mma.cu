/* r13m_mma - r13's product from sm_80 on, and where nothing is packed: the matrix units of one warp.
 *
 * IDEA      mma.sync multiplies 16 x 16 of A by 16 x 8 of B out of registers, for one warp. So operands go from memory
 *           to shared memory, by cp.async as in sgemm_cpasync_sm80, and from there to registers by ldmatrix, which
 *           gives each lane the elements that mma wants of it. ldmatrix turns squares of 8 x 8 on its way: a tile of A
 *           or B may lie in shared memory as it does in memory, along k or along the edge, and all transposes are read
 *           in place.
 *
 *               128 x 128 of C       four warps, 64 x 64 each: 4 x 8 mma for 4 + 4 ldmatrix, at each 16 steps of k
 *               a line of a tile     chunks of 8 elements, in an order of the line's own, so that the 8 chunks that
 *                                    ldmatrix takes at a time, one of each of 8 lines, lie in 8 different groups of 4
 *                                    banks:
 *
 *               along the edge (16 chunks):  line 0   0 1 2 3 4 5 6 7 ...     along k (4 chunks):  lines 0, 1   0 1 2 3
 *                                            line 1   1 0 3 2 5 4 7 6 ...                          lines 2, 3   1 0 3 2
 *                                            line 2   2 3 0 1 6 7 4 5 ...                          lines 4, 5   2 3 0 1
 *
 *           While a warp multiplies 16 steps the next 16 come into its registers, also across the end of a tile.
 *
 * NUMBERS   64 flop per byte asked. 230 to 253 registers, 128 threads, 3 stages of 16 KiB: two blocks per
 *           multiprocessor, on sm_86 and sm_89 too. H200, bf16 at 4096, TFLOP/s: NN 325, TN 326, NT 340, TT 329 (cuBLAS
 *           13, by wgmma: 768, 762, 762, 768). Small integers are exact.
 * LIMITS    sm_80 and above. Any m, n >= 1, k, ld and transposes. An operand whose address or rows are not multiples of
 *           16 bytes is copied element by element through registers (54 to 60 TFLOP/s at 4097; cuBLAS 116 to 133).
 *           WIDE = 1 promises c aligned to 16 bytes and its rows whole 16 bytes apart; WIDE = 0 takes any. Fewer than
 *           2^31 tiles. IN_F16 = 1: f16 for bf16. C_HALF = 1: C of that type too, else f32.
 * HOST      grid ceil(m / 128) * ceil(n / 128), block 128, dynamic shared memory STAGES * sizeof(struct stage) = 49152
 *           bytes.
 * CHANGED   from r13: which matrix units, who fetches, and how: what sgemm_cpasync_sm80 is to sgemm_tma_sm90.
 * SOURCE    PTX ISA (mma.sync, ldmatrix, cp.async); Kerr et al.: CUTLASS, 2017 */
#include "../rung.cuh"
#include "../epilogue.cuh"
#define COPY_FROM(x) __cvta_generic_to_global(x)
#include "../ampere.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    STEP = 16,
    CHUNK = 8,
    WM = 64,
    WN = 64,
    WARPS_N = BN / WN,
    THREADS = BM / WM * WARPS_N * 32,
    STAGES = ROW_STAGES,
    GROUP_M = 8
};
ASSUME(THREADS == ROW_THREADS)

typedef unsigned short element; /* bf16 or f16: only carried */

struct stage {
    element a[BM * BK], b[BN * BK];
};
ASSUME(STAGES * sizeof(struct stage) == ROW_BYTES)

/* Where a chunk of 8 elements lies in a tile whose lines are ACROSS chunks long. */
template <int ACROSS> static __device__ __forceinline__ int chunk_at(int line, int chunk)
{
    return (line * ACROSS + (chunk ^ (ACROSS >= 8 ? line % 8 : line / (8 / ACROSS) % ACROSS))) * CHUNK;
}

/* Eight neighbours one by one, of which `count` are there; the others are 0. */
static __device__ __forceinline__ void copy_singly(element *to, const element *from, int count)
{
    unsigned x[CHUNK / 2];
    UNROLLED
    for (int q = 0; q < CHUNK; q += 2) {
        unsigned low = q < count ? from[q] : 0, high = q + 1 < count ? from[q + 1] : 0;
        x[q / 2] = low | high << 16;
    }
    *(uint4 *)to = make_uint4(x[0], x[1], x[2], x[3]);
}

/* The thread's chunks of a tile whose lines lie in memory one after the other, ld apart, from line0 and at0 on. */
template <int LINES, int ACROSS>
static __device__ __forceinline__ void fetch(element *tile, const element *x, long ld, int line0, int lines, int at0,
                                             int length, bool wide)
{
    const int down = THREADS / ACROSS;
    int line = threadIdx.x / ACROSS, chunk = threadIdx.x % ACROSS, at = at0 + chunk * CHUNK,
        there = min(max(length - at, 0), CHUNK);
    const element *from = x + (long)(line0 + line) * ld + at;
    UNROLLED
    for (int e = 0; e < LINES; e += down) {
        element *to = &tile[chunk_at<ACROSS>(line + e, chunk)];
        int count = line0 + line + e < lines ? there : 0;
        if (wide && count % CHUNK == 0)
            copy_16(to, from + e * ld, count * 2);
        else
            copy_singly(to, from + e * ld, count);
    }
}

/* A tile of an operand whose element (edge, p) lies at x[edge * ld + p] (along k) or x[p * ld + edge]. */
template <bool along_k, int EDGE>
static __device__ __forceinline__ void fetch_tile(element *tile, const element *x, long ld, int edge0, int edges,
                                                  int p0, int k, bool wide)
{
    if (along_k)
        fetch<EDGE, BK / CHUNK>(tile, x, ld, edge0, edges, p0, k, wide);
    else
        fetch<BK, EDGE / CHUNK>(tile, x, ld, p0, k, edge0, edges, wide);
}

/* What a warp needs of a stage for 16 steps of k from p on. */
template <bool a_along_k, bool b_along_k>
static __device__ __forceinline__ void load_step(unsigned (*a_p)[4], unsigned (*b_p)[4], const struct stage *x,
                                                 int i_warp, int j_warp, int p)
{
    int lane = threadIdx.x % 32;
    UNROLLED
    for (int i = 0; i < WM / 16; i++) {
        int i_tile = i_warp + i * 16;
        if (a_along_k)
            matrix_load(a_p[i], shared_address(&x->a[chunk_at<BK / CHUNK>(i_tile + lane % 16, p / CHUNK + lane / 16)]),
                        false);
        else
            matrix_load(a_p[i],
                        shared_address(
                            &x->a[chunk_at<BM / CHUNK>(p + lane % 8 + lane / 16 * 8, i_tile / CHUNK + lane / 8 % 2)]),
                        true);
    }
    UNROLLED
    for (int j = 0; j < WN / 16; j++) {
        int j_tile = j_warp + j * 16;
        if (b_along_k)
            matrix_load(b_p[j],
                        shared_address(
                            &x->b[chunk_at<BK / CHUNK>(j_tile + lane % 8 + lane / 16 * 8, p / CHUNK + lane / 8 % 2)]),
                        false);
        else
            matrix_load(b_p[j], shared_address(&x->b[chunk_at<BN / CHUNK>(p + lane % 16, j_tile / CHUNK + lane / 16)]),
                        true);
    }
}

/* Does an operand begin, and have its rows, at multiples of 16 bytes? */
static __device__ __forceinline__ bool in_16(const element *x, long ld)
{
    return ((unsigned long long)x % 16 | ld % 8) == 0;
}

/* A thread holds, of every 8 columns, 2 in row r and the same 2 in row r + 8. Two neighbouring lanes trade, so that the
 * even one has 4 of row r and the odd one 4 of row r + 8. */
static __device__ __forceinline__ void trade(float *four, const float *sum, int odd)
{
    float u = __shfl_xor_sync(~0u, odd ? sum[0] : sum[2], 1), v = __shfl_xor_sync(~0u, odd ? sum[1] : sum[3], 1);
    four[0] = odd ? u : sum[0], four[1] = odd ? v : sum[1], four[2] = odd ? sum[2] : u, four[3] = odd ? sum[3] : v;
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    r13m_mma(int m, int n, int k, float alpha, const element *__restrict__ a, long lda, const element *__restrict__ b,
             long ldb, float beta, element_c *__restrict__ c, long ldc)
{
    extern __shared__ __align__(128) struct stage ring[];
    const bool a_along_k = !OP_A, b_along_k = OP_B;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, blocks = ceil_div(k, BK), now = 0, to = STAGES - 1;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), group = blockIdx.x / (GROUP_M * tiles_n);
    int rows = min(GROUP_M, tiles_m - group * GROUP_M), in_group = blockIdx.x % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN, i_warp = warp / WARPS_N * WM,
        j_warp = warp % WARPS_N * WN;
    bool a_wide = in_16(a, lda), b_wide = in_16(b, ldb);
    float sum[WM / 16][WN / 8][4] = {0};
    unsigned a_p[2][WM / 16][4], b_p[2][WN / 16][4];
    for (int q = 0; q < STAGES - 1; q++) {
        if (q < blocks) {
            fetch_tile<a_along_k, BM>(ring[q].a, a, lda, i0, m, q * BK, k, a_wide);
            fetch_tile<b_along_k, BN>(ring[q].b, b, ldb, j0, n, q * BK, k, b_wide);
        }
        copies_commit();
    }
    COPIES_WAIT(STAGES - 2);
    __syncthreads(); /* the first stage has come for all */
    if (blocks > 0) load_step<a_along_k, b_along_k>(a_p[0], b_p[0], &ring[0], i_warp, j_warp, 0);
    ROLLED
    for (int block = 0; block < blocks; block++) {
        UNROLLED
        for (int p = 0; p < BK; p += STEP) {
            int step = p / STEP % 2;
            if (p == 0) {
                if (block + STAGES - 1 < blocks) {
                    fetch_tile<a_along_k, BM>(ring[to].a, a, lda, i0, m, (block + STAGES - 1) * BK, k, a_wide);
                    fetch_tile<b_along_k, BN>(ring[to].b, b, ldb, j0, n, (block + STAGES - 1) * BK, k, b_wide);
                }
                copies_commit();
                to = now;
            }
            if (p + STEP == BK) {
                if (++now == STAGES) now = 0;
                COPIES_WAIT(STAGES - 2);
                __syncthreads(); /* the next stage has come for all, and all have read this one */
            }
            /* behind the last: what is not used */
            load_step<a_along_k, b_along_k>(a_p[step ^ 1], b_p[step ^ 1], &ring[now], i_warp, j_warp, (p + STEP) % BK);
            UNROLLED
            for (int i = 0; i < WM / 16; i++) {
                UNROLLED
                for (int j = 0; j < WN / 8; j++) warp_multiply(sum[i][j], a_p[step][i], &b_p[step][j / 2][j % 2 * 2]);
            }
        }
    }
    UNROLLED
    for (int i = 0; i < WM / 16; i++) {
        UNROLLED
        for (int j = 0; j < WN / 8; j++) {
            float four[4];
            int row = i0 + i_warp + i * 16 + lane / 4 + lane % 2 * 8, col = j0 + j_warp + j * 8 + lane % 4 / 2 * 4;
            trade(four, sum[i][j], lane % 2);
            if (row >= m) continue;
            put<4>(OUT, row, col, four);
        }
    }
}
