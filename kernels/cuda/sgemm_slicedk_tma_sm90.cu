/* sgemm_slicedk_tma_sm90 - the production kernel for f32 products that are too small for sgemm_tma_sm90:
 * sgemm_slicedk_sm80 with TMA copies.
 *
 * IDEA      1024 cubed is 128 tiles of 64 x 128, one for each multiprocessor, with 12 warps on it: two halves of a
 *           tile, and six slices of k. Each warp issues its own TMA copies: one lane asks for a box of A and one of B,
 *           the warp waits, and the next boxes come while it multiplies:
 *
 *         warp 0  | k   0 ... 170 |  columns 0 ... 63    two instructions copy what takes hundreds of cp.async, and
 *         warp 1  | k 171 ... 341 |                      TMA fills with zeros beyond an edge: no case for it
 *         ...
 *         warp 6  | k   0 ... 170 |  columns 64 ... 127
 *
 *           TMA cannot transpose. The warp transposes the box of a K-major operand on the way to the FMAs, 2 x 4 words
 *           in a lane's registers: 8 loads of 16 bytes and 16 stores of 8 for 96 loads of the FMAs. The mainloop and
 *           the order of the FMAs are sgemm_tma_sm90's.
 *
 * NUMBERS   16 x 8 sums per thread, 168 registers. The mainloop leaves so few that transposing 4 x 4 words at a time
 *           would spill: hence 2 x 4. 43 flop/byte of the L2, for a block's two warps of the same k. H200, speed
 *           relative to the better of cuBLASLt's two: 1024 cubed 1.13, TN 1.16, NT 1.05, TT 1.11; 1000 cubed 1.12.
 * LIMITS    sm_90 and above. m, n >= 1. WIDE = 1 promises c aligned to 16 bytes and ldc a multiple of 4; WIDE = 0 takes
 *           any. Fewer than 2^31 tiles.
 * HOST      grid ceil(m / BM) * ceil(n / BN) * splits, block THREADS, dynamic shared memory
 *           sizeof(struct memory) = 196800 bytes. splits and CLUSTER_REDUCE as in sgemm_slicedk_sm80, at most ceil(k /
 *           8). Two tensor maps, rank 2, FLOAT32, element strides 1, no interleave, zeros outside; addresses and
 *           strides multiples of 16 bytes; A and B as stored:
 *               K-major    box {16, 64 (B: WARP_N)} swizzled by 64 bytes
 *               MN-major   box {64 (B: WARP_N), 16}, not swizzled
 * TILES     sgemm_slicedk_tma_sm90, 64 x 128, is described above.
 *           64 x 32: 500 x 300 x 700 is 80 tiles of 64 x 32, 12 warps for each. They begin and end together, and no
 *           second tile follows on the multiprocessor. 8 x 8 sums per thread: 4 loads of 16 bytes per 64 FMAs. H200,
 *           microseconds (cuBLASLt's best of eight): 500 x 300 x 700 13.1 (15.1), sgemm_slicedk_sm80 17.4; 512 cubed
 *           9.8 (15.0), sgemm_slicedk_sm80 9.9.
 * CHANGED   from sgemm_slicedk_sm80: TMA copies; the tile; K-major operands are transposed.
 * SOURCE    PTX ISA: cp.async.bulk.tensor and its swizzles; sliced-K: NVIDIA: CUTLASS, 2017 */
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#include "hopper.cuh"

/* Warps: WARPS_N side by side, SLICES along k. The lanes of a warp are arranged LM x LN, each with TM x TN sums. */
enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = 16,
    THREADS = ROW_THREADS,
    WARPS = THREADS / 32,
    WARPS_N = BN > 64 ? 2 : 1,
    SLICES = WARPS / WARPS_N,
    WM = BM,
    WN = BN / WARPS_N,
    LM = WN == 64 ? 4 : 8,
    LN = 32 / LM,
    TM = WM / LM,
    TN = WN / LN,
    HALF = ROW_K
};
ASSUME(BM == 64 && HALF == 8 && (WN == 64 || WN == 32))
ASSUME_BOXES(BK, WM, BK, WN)
enum { EACH = (BM * BN / 4 + THREADS - 1) / THREADS };
/* FULL: the mainloop leaves few registers */
enum { A_ALONG = !OP_A, B_ALONG = OP_B, FULL = WN == 64, UNROLL_TRANSPOSE = FULL ? 1 : 2 };
#include "splitk.cuh"

/* The boxes of a warp, two of each operand: alternating, or one as it comes and one transposed. In the epilogue its
 * sums. */
union slice {
    struct {
        float a[2][BK * WM], b[2][BK * WN];
    };
    float sums[WM * WN];
};

struct memory {
    union slice slice[WARPS];
    barrier full[WARPS][2];
};
ASSUME(sizeof(struct memory) == ROW_BYTES)

/* Transposes a box of EDGE K-major lines of BK steps, its quads swizzled by TMA, into BK lines along the edge, in which
 * line l of the box lies at l % (EDGE / 4) * 4 + l / (EDGE / 4). A lane holds ONCE x 4 words at a time; lanes that load
 * or store together meet in no bank. */
template <int EDGE> static __device__ __forceinline__ void transpose(float *to, const float *from, int lane)
{
    constexpr int LINES = EDGE / 4, ONCE = FULL ? 2 : 4;
    struct __align__(4 * ONCE) words { float v[ONCE]; };
    int r = lane % LINES, swap = FULL ? lane / 8 % 2 * 2 : 0;
    _Pragma("unroll UNROLL_TRANSPOSE") for (int q = lane / LINES; q < BK / 4; q += 32 / LINES)
    {
        UNROLLED
        for (int e = 0; e < 4; e += ONCE) {
            float x[ONCE][4];
            UNROLLED
            for (int i = 0; i < ONCE; i++)
                *(float4 *)x[i] = *(const float4 *)&from[(r + LINES * ((e ^ swap) + i)) * BK + (q ^ r / 2 % 4) * 4];
            UNROLLED
            for (int p = 0; p < 4; p++) {
                struct words y;
                UNROLLED
                for (int i = 0; i < ONCE; i++) y.v[i] = x[i][p];
                *(struct words *)&to[(4 * q + p) * EDGE + 4 * r + (e ^ swap)] = y;
            }
        }
    }
}

static __device__ __forceinline__ int m_lane_of(int lane)
{
    return LM == 8 ? lane / 8 * 2 + lane % 2 : lane / 2 % 4; /* neighbours share what they load */
}

static __device__ __forceinline__ int n_lane_of(int lane) { return LM == 8 ? lane / 2 % 4 : lane / 8 * 2 + lane % 2; }

/* Swizzle of a line of sums, so that lanes that store together meet in no bank: by quads where their columns are apart,
 * else within a quad (and by halves of 32 words). */
static __device__ __forceinline__ int swap_of(int m_lane)
{
    if (B_ALONG) return LM == 4 ? m_lane * 8 : m_lane % 2 * 16 + m_lane / 2 * 4;
    return LM == 4 ? m_lane : m_lane % 4 + m_lane / 4 * 16;
}

/* The mainloop: the 64 x WN sums of this warp over its slice of k. */
static __device__ __forceinline__ void mainloop(float (*sum)[TN], struct memory *memory, const tensor_map *a_map,
                                                const tensor_map *b_map, int n, int k, int splits)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, tiles_n = ceil_div(n, BN), tile = blockIdx.x / splits, s = 0,
        phase = 0;
    int i0 = tile / tiles_n * BM, j0 = tile % tiles_n * BN + warp / SLICES * WN, m_lane = m_lane_of(lane),
        n_lane = n_lane_of(lane);
    int halves = ceil_div(k, HALF), number = blockIdx.x % splits * SLICES + warp % SLICES;
    int first = (int)((long)halves * number / (splits * SLICES)),
        left = (int)((long)halves * (number + 1) / (splits * SLICES)) - first, p = first * HALF;
    union slice *mine = &memory->slice[warp];
    barrier *full = memory->full[warp];
    auto fetch = [&](int from, int to) {
        barrier_expect(&full[to], sizeof mine->a[0] + sizeof mine->b[0]);
        tma_load(mine->a[A_ALONG ? 0 : to], a_map, A_ALONG ? from : i0, A_ALONG ? i0 : from, &full[to]);
        tma_load(mine->b[B_ALONG ? 0 : to], b_map, B_ALONG ? from : j0, B_ALONG ? j0 : from, &full[to]);
    };
    pdl_trigger();
    if (lane == 0 && left > 0) {
        prefetch_map(a_map), prefetch_map(b_map);
        barrier_init(&full[0], 1), barrier_init(&full[1], 1);
        barrier_init_done();
    }
    pdl_wait();
    if (lane == 0 && left > 0) fetch(p, 0);
    __syncwarp(); /* the barriers are ready for all */
    ROLLED
    for (; left > 0; left -= 2, p += BK) {
        const float *a_tile = mine->a[A_ALONG ? 1 : s] + 4 * m_lane, *b_tile = mine->b[B_ALONG ? 1 : s] + 4 * n_lane;
        barrier_wait(&full[s], phase);
        if (A_ALONG || B_ALONG) __syncwarp(); /* all have read what was transposed before */
        if (A_ALONG) transpose<WM>(mine->a[1], mine->a[0], lane);
        if (B_ALONG) transpose<WN>(mine->b[1], mine->b[0], lane);
        __syncwarp(); /* all have read the step before, or transposed this one */
        if (lane == 0 && left > 2) fetch(p + BK, s ^ 1);
        ROLLED
        for (int half = 0; half < min(left, 2); half++, a_tile += HALF * WM, b_tile += HALF * WN) {
            UNROLLED
            for (int q = 0; q < HALF; q++) {
                float a_q[TM], b_q[TN];
                UNROLLED
                for (int i = 0; i < TM; i += 4) *(float4 *)&a_q[i] = *(const float4 *)&a_tile[q * WM + i * LM];
                UNROLLED
                for (int j = 0; j < TN; j += 4) *(float4 *)&b_q[j] = *(const float4 *)&b_tile[q * WN + j * LN];
                UNROLLED
                for (int i = 0; i < TM; i++) {
                    UNROLLED
                    for (int e = 0; e < TN; e++) {
                        int j = i % 2 ? e : TN - 1 - e; /* back and forth, as in sgemm_tma_sm90 */
                        sum[i][j] = fmaf(a_q[i], b_q[j], sum[i][j]);
                    }
                }
            }
        }
        phase ^= s, s ^= 1;
    }
    __syncwarp(); /* all have read the last step */
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    sgemm_slicedk_tma_sm90(MAPPED_ARGUMENTS(PARAMETER, float, float), SPLIT_ARGUMENTS(PARAMETER, float4 *))
{
    extern __shared__ __align__(1024) struct memory shared[];
    float sum[TM][TN] = {0};
    struct cluster_sums *cluster_sums = (struct cluster_sums *)&shared[1];
    cluster_begin(cluster_sums);
    mainloop(sum, shared, &a_map, &b_map, n, k, splits);
    int tid; /* read again, so that nothing derived from it occupies registers in the mainloop */
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(tid));
    int m_lane = m_lane_of(tid % 32), n_lane = n_lane_of(tid % 32), tiles_n = ceil_div(n, BN),
        tile = blockIdx.x / splits, split = blockIdx.x % splits;
    UNROLLED /* word by word: vectors would tie the sums to the worst registers */
        for (int i = 0; i < TM; i++)
    {
        float *line = &shared->slice[tid / 32].sums[(4 * (m_lane + i / 4 * LM) + i % 4) * WN];
        UNROLLED
        for (int j = 0; j < TN; j++)
            line[(B_ALONG ? n_lane + j / 4 * LN + j % 4 * (WN / 4) : 4 * (n_lane + j / 4 * LN) + j % 4) ^
                 swap_of(m_lane)] = sum[i][j];
    }
    __syncthreads();
    float4 x[EACH] = {};
    UNROLLED
    for (int i = 0; i < EACH; i++) {
        int e = tid + i * THREADS, row = e / (BN / 4), quad = e % (BN / 4), swap = swap_of(row / 4 % LM),
            at = row * WN + (quad % (WN / 4) * 4 ^ (swap & ~3));
        if (e >= BM * BN / 4) break;
        UNROLLED
        for (int w = 0; w < SLICES; w++) {
            float4 y = *(const float4 *)&shared->slice[quad / (WN / 4) * SLICES + w].sums[at];
            x[i].x += y.x, x[i].y += y.y, x[i].z += y.z, x[i].w += y.w;
        }
        if (swap & 1) x[i] = make_float4(x[i].y, x[i].x, x[i].w, x[i].z);
        if (swap & 2) x[i] = make_float4(x[i].z, x[i].w, x[i].x, x[i].y);
    }
    if (!fix_up(x, cluster_sums, tile, split, splits, memory, flags, epoch)) return;
    UNROLLED
    for (int i = 0; i < EACH; i++) {
        int own = tid + i * THREADS, e = own + first_quad(split, splits), line = e / (BN / 4),
            col = tile % tiles_n * BN + e % (BN / 4) * 4;
        int row = tile / tiles_n * BM + (A_ALONG ? line / 4 + line % 4 * (WM / 4) : line);
        if (own < quads_of_split(splits)) put<4>(OUT, row, col, &x[i].x);
    }
}
