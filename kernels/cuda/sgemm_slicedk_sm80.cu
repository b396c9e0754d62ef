/* sgemm_slicedk_sm80 - the production kernel for small, thin and deep f32 products: sliced-K, k divided among the warps
 * of a block.
 *
 * IDEA      Tiles of 128 x 128 leave most of a GPU idle where C is small. Smaller tiles load too much for their FMAs,
 *           and barriers hold all warps together. Here each warp computes the block's whole tile, 64 x 32 or thinner,
 *           over its own slice of k. It copies its operands asynchronously into a ring of its own and waits for no
 *           other warp. In the epilogue the block adds its warps' sums, always in the same order:
 *
 *         warp 0  | k 0 ... 511     |  sums of warp 0  +  sums of warp 1  +  ...  +  sums of warp 7  =  tile of C
 *         warp 1  | k 512 ... 1023  |
 *         ...                          8 warps are busy on a tile of 2048 elements, and ask for no more words than one
 *         warp 7  | k 3584 ... 4095 |  warp would
 *
 *           Where C has too few tiles for the device, split-K divides k among `splits` blocks too. Every block but a
 *           tile's last stores its partial sums in the workspace and signals a flag. The last of each group of 8 adds
 *           the group's sums, and the last block of all adds those of the groups, always in the same order. As in
 *           sgemm_tma_sm90 a flag is signalled with a number that no other launch uses and reset by the block that
 *           waited for it, and a block waits only for blocks that begin before it. On sm_90 the blocks of a tile that
 *           fit into a cluster add through distributed shared memory instead (CLUSTER_REDUCE = 1, splitk.cuh).
 *
 *           Operands are copied in place, 16 bytes at a time where alignment allows: no transpose, stride or address
 *           needs a packing pass. From a K-major operand a thread reads 4 steps of a line at once. Swizzle: quad q of
 *           line r is stored at q ^ r within groups of 8 lines, so that 8 lanes in 8 lines read from 8 different groups
 *           of banks. From an MN-major operand it reads 4 lines of a step.
 *
 * NUMBERS   64 x 32: 21 flop/byte of the L2, 8 x 8 sums per thread: 16 loads of 16 bytes per 256 FMAs. 8 warps, 3
 *           stages of 6 KiB for each: one block per multiprocessor. H200, microseconds (in brackets the best of
 *           cuBLASLt's eight): 512 cubed 10.6 (14.4), TN 10.4 (14.3). Cluster reduction (in brackets: through memory):
 *           474 x 170 x 288, 2 splits, 7.6 (8.4); 100 x 100 x 1000, 8 splits, 5.6 (7.8).
 * LIMITS    sm_80 and above. m, n >= 1; any ld, address and transpose. Fewer than 2^31 tiles. Operands whose address
 *           and ld are multiples of 16 or 8 bytes are copied by as many, others word by word.
 * HOST      grid ceil(m / BM) * ceil(n / BN) * splits, block 32 WARPS, dynamic shared memory
 *           WARPS * sizeof(union slice) = 147456 bytes. splits > 1: a tile's blocks are neighbours in the grid; memory
 *           has BM * BN floats for each block, aligned to 16 bytes, and flags 8 bytes for each, of any content but
 *           `epoch`; splits is at most ceil(k / BK).
 *           CLUSTER_REDUCE = 1: splits is 2, 4 or 8, the size of a cluster along x; memory and flags are not used;
 *           dynamic shared memory is sizeof(struct cluster_sums) = 4 BM * BN + 16 bytes larger.
 * TILES     sgemm_slicedk_sm80, 64 x 32, is described above. The others differ in how the lanes divide the tile.
 *           64 x 64: 1024 cubed is 256 tiles, two for each of 128 multiprocessors, in blocks of 4 warps, two of which
 *           are resident. 32 flop/byte of the L2. 16 x 8 sums per thread: 24 loads of 16 bytes per 512 FMAs where A is
 *           MN-major. H200, microseconds (cuBLASLt's best of eight): 1024 cubed 54.7 (55.6), A transposed 48.7 (54.2).
 *           32 x 16: A with 4096 rows and columns times 16 columns must load 67 MB for 0.5 GFLOP: memory takes half as
 *           long as all multiply-adds would. 128 tiles keep 132 multiprocessors busy, each with the whole of k, so that
 *           no sums are added between blocks; steps of 32 load lines of 128 bytes. 10.7 flop/byte of the L2. 4 x 4 sums
 *           per thread: 8 loads of 16 bytes per 64 FMAs; shared memory delivers them at half of the FMA peak. H200,
 *           microseconds (cuBLASLt's best of eight): 4096 x 16 x 4096 21.5 (41.6), 256 cubed 4.5 (8.4), 128 cubed 3.7
 *           (7.7).
 *           16 x 32: 32 x 16 transposed, with its numbers. H200: 16 x 4096 x 4096 21.3 microseconds (43.3).
 *           32 x 4: nothing of A is used twice, so only the pattern of the loads counts. Steps of 64 load lines of 256
 *           bytes, and 2 of the 3 stages of 8 warps, 147 KB for each multiprocessor, are in flight at any time. H200:
 *           16384 x 1 x 16384 244 microseconds, 4.4 TB/s (cuBLASLt's best of eight 245; with lines of 128 bytes 265).
 *           4 x 128: 32 x 4 transposed, with its numbers, and lines of 512 bytes where B is not transposed.
 * CHANGED   from sgemm_simt: sliced-K and split-K, asynchronous copies.
 * SOURCE    PTX ISA (cp.async); sliced-K: NVIDIA: CUTLASS, 2017; lanes: maxas */
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#include "ampere.cuh"
#include "pdl.cuh"

/* The lanes of a warp are arranged LM x LN, each with TM x TN sums. */
enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    LM = LANES_M,
    LN = 32 / LM,
    TM = BM / LM,
    TN = BN / LN,
    THREADS = ROW_THREADS,
    WARPS = THREADS / 32,
    STAGES = ROW_STAGES
};
enum { QUADS = BK / 4, UNROLL = UNROLL_QUADS, PAD = 4, EACH = (BM * BN / 4 + THREADS - 1) / THREADS };
ASSUME(32 == LM * LN && LM * TM == BM && LN * TN == BN)
ASSUME((TM < 4 || TM % 4 == 0) && (TN < 4 || TN % 4 == 0) && BK % 4 == 0)

/* The ring of a warp, and in the epilogue its sums. */
union slice {
    struct {
        float a[BM * BK], b[BN * BK];
    } stage[STAGES];
    float sums[BM][BN + PAD];
};
ASSUME(WARPS * sizeof(union slice) == ROW_BYTES)

#include "schedule.cuh"
#include "splitk.cuh"

/* ---- from memory to shared memory ---- */

/* Copies WITH neighbours, or as many zeros (count = 0). */
template <int WITH> static __device__ __forceinline__ void copy(float *to, const float *from, int count)
{
    unsigned address = shared_address(to);
    int bytes = 4 * count;
    if (WITH == 4)
        COPY_16_OF_128(address, from, bytes);
    else if (WITH == 2)
        COPY_8(address, from, bytes);
    else
        COPY_4(address, from, bytes);
}

/* Waits until at most PENDING groups of copies of this thread, and of its warp, are in flight. */
template <int PENDING> static __device__ __forceinline__ void copies_wait(void)
{
    COPIES_WAIT(PENDING);
    __syncwarp();
}

/* Swizzle: where a K-major line has its quads. exchange(x + y) is exchange(x) ^ exchange(y) while no bit is in both. */
static __device__ __forceinline__ constexpr int exchange(int line)
{
    return QUADS < 8 ? line / (8 / QUADS) % QUADS : line % 8;
}

static __device__ __forceinline__ int word_at(int line, int p)
{
    return line * BK + (p / 4 ^ exchange(line)) * 4 + p % 4;
}

/* from += by, step by step: computed ahead of the loop, the addresses of all rounds would take more registers than
 * there are. */
static __device__ __forceinline__ void advance(const float **from, long by)
{
    asm volatile("add.s64 %0, %0, %1;" : "+l"(*from) : "l"(4 * by));
}

/* Copies EDGE lines and BK steps of k, WITH neighbours at a time; x is the first. CUT: lines beyond `lines` are left as
 * they are, for sums that are never stored. */
template <int EDGE, bool ALONG, int WITH, bool EDGE_TILE>
static __device__ __forceinline__ void fetch_steps(float *to, const float *x, long ld, int lines, int lane)
{
    /* pieces of WITH */
    constexpr int WIDTH = (ALONG ? BK : EDGE) / WITH, HEIGHT = ALONG ? EDGE : BK, SPAN = WIDTH < 32 ? WIDTH : 32,
                  ROWS = 32 / SPAN;
    int row = lane / SPAN, part = lane % SPAN, first = ALONG ? word_at(row, WITH * part) : (row * WIDTH + part) * WITH;
    const float *from = x + row * ld + WITH * part;
    if (ROWS > HEIGHT && row >= HEIGHT) return;
    UNROLLED
    for (int i = 0; i < HEIGHT; i += ROWS) {
        if (i > 0) advance(&from, ROWS * ld);
        UNROLLED
        for (int j = 0; j < WIDTH; j += SPAN)
            if (!EDGE_TILE || (ALONG ? row + i : WITH * (part + j)) < lines)
                copy<WITH>(
                    to + (ALONG ? (first ^ (exchange(i) ^ j * WITH / 4) * 4) + i * BK : first + (i * WIDTH + j) * WITH),
                    from + WITH * j, WITH);
    }
}

/* The same where an operand may end within it: zeros beyond `lines` and `steps`. */
template <int EDGE, bool ALONG, int WITH>
static __device__ __forceinline__ void fetch_edge(float *to, const float *x, long ld, int lines, int steps, int lane)
{
    constexpr int WIDTH = ALONG ? BK : EDGE;
    _Pragma("unroll 4") for (int e = lane * WITH; e < EDGE * BK; e += 32 * WITH)
    {
        int line = ALONG ? e / WIDTH : e % WIDTH, p = ALONG ? e % WIDTH : e / WIDTH;
        int left = line < lines && p < steps ? min(WITH, ALONG ? steps - p : lines - line) : 0;
        float *at = to + (ALONG ? word_at(line, p) : e);
        const float *from = left > 0 ? x + (ALONG ? line * ld + p : p * ld + line) : x;
        if (left % WITH == 0)
            copy<WITH>(at, from, left);
        else /* a copy of 16 bytes reads all of them, also beyond the operand (compute-sanitizer) */
            ROLLED for (int q = 0; q < WITH; q++) copy<1>(at + q, q < left ? from + q : from, q < left);
    }
}

/* Copies `with` neighbours at a time; WIDE: four, of both operands. */
template <int EDGE, bool ALONG>
static __device__ __forceinline__ void fetch(float *to, const float *x, long ld, int with, int line, int lines, int p,
                                             int k, int lane)
{
    const float *from = x + (ALONG ? line * ld + p : p * ld + line);
    /* MN-major lines that end within */
    int left = lines - line, even = ALONG || left >= EDGE || left % 4 == 0 ? 4 : left % 4;
    if (WIDE && left >= EDGE && p + BK <= k)
        fetch_steps<EDGE, ALONG, 4, false>(to, from, ld, left, lane);
    else if (p + BK > k || (WIDE && even != 4))
        fetch_edge<EDGE, ALONG, WIDE ? 4 : 1>(to, from, ld, left, k - p, lane);
    else if (WIDE || (with == 4 && even == 4))
        fetch_steps<EDGE, ALONG, 4, true>(to, from, ld, left, lane);
    else if (with >= 2 && even % 2 == 0)
        fetch_steps<EDGE, ALONG, 2, true>(to, from, ld, left, lane);
    else
        fetch_steps<EDGE, ALONG, 1, true>(to, from, ld, left, lane);
}

/* ---- from shared memory to registers ---- */

/* Where line i of a lane's T lies in the tile: of an MN-major operand up to four are neighbours. */
template <bool ALONG, int LANES, int T> static __device__ __forceinline__ int edge(int lane, int i)
{
    constexpr int WITH = T < 4 ? T : 4;
    return ALONG ? lane + LANES * i : i / WITH * WITH * LANES + WITH * lane + i % WITH;
}

/* Loads four steps of k of the T lines of a lane from a K-major operand; `first` is the place of the first one. */
template <int LANES, int T>
static __device__ __forceinline__ void load_quad(float (*x)[T], const float *tile, int first, int q)
{
    UNROLLED
    for (int i = 0; i < T; i++) {
        float4 y = *(const float4 *)&tile[(first ^ (exchange(LANES * i) ^ q) * 4) + LANES * i * BK];
        x[0][i] = y.x, x[1][i] = y.y, x[2][i] = y.z, x[3][i] = y.w;
    }
}

/* Loads one step of an MN-major operand. */
template <int EDGE, int LANES, int T>
static __device__ __forceinline__ void load_step(float *x, const float *tile, int lane, int p)
{
    UNROLLED
    for (int i = 0; T >= 4 && i < T; i += 4)
        *(float4 *)&x[i] = *(const float4 *)&tile[p * EDGE + edge<false, LANES, T>(lane, i)];
    UNROLLED
    for (int i = 0; T < 4 && i < T; i++) x[i] = tile[p * EDGE + edge<false, LANES, T>(lane, i)];
}

/* How many neighbours a copy takes, so that its addresses are aligned in every row. */
static __device__ __forceinline__ int with_of(const float *x, long ld)
{
    return ((size_t)x | 4 * ld) % 16 == 0 ? 4 : ((size_t)x | 4 * ld) % 8 == 0 ? 2 : 1;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    sgemm_slicedk_sm80(PLAIN_ARGUMENTS(PARAMETER, float, float, float, float), SPLIT_ARGUMENTS(PARAMETER, float4 *))
{
    extern __shared__ __align__(16) union slice slices[];
    const bool a_along = !OP_A, b_along = OP_B;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const struct tiling tiles = tiling_of(m, n);
    int tile = blockIdx.x / splits, split = blockIdx.x % splits, i0, j0;
    tile_at(tile, tiles, &i0, &j0);
    /* neighbours share what they load */
    int m_lane = LM == 8 ? lane / 8 * 2 + lane % 2 : LM == 4 ? lane / 2 % 4 : lane % LM;
    int n_lane = LM == 8 ? lane / 2 % 4 : LM == 4 ? lane / 8 * 2 + lane % 2 : lane / LM;
    int steps = ceil_div(k, BK), slice = split * WARPS + warp;
    int begin = (int)((long)steps * slice / (splits * WARPS)),
        end = (int)((long)steps * (slice + 1) / (splits * WARPS));
    int a_with = WIDE ? 4 : with_of(a, lda), b_with = WIDE ? 4 : with_of(b, ldb);
    union slice *mine = &slices[warp];
    struct cluster_sums *cluster_sums = (struct cluster_sums *)&slices[WARPS];
    float sum[TM][TN] = {0};
    cluster_begin(cluster_sums);
    pdl_trigger();
    pdl_wait();
    ROLLED
    for (int ahead = begin, step = begin - STAGES + 1, s = 0, next = 0; step < end; step++, ahead++) {
        copies_wait<STAGES - 2>();
        if (ahead < end) {
            fetch<BM, a_along>(mine->stage[next].a, a, lda, a_with, i0, m, ahead * BK, k, lane);
            fetch<BN, b_along>(mine->stage[next].b, b, ldb, b_with, j0, n, ahead * BK, k, lane);
        }
        copies_commit();
        if (++next == STAGES) next = 0;
        if (step < begin) continue;
        const float *a_tile = mine->stage[s].a, *b_tile = mine->stage[s].b;
        _Pragma("unroll UNROLL") for (int q = 0; q < QUADS; q++)
        {
            __align__(16) float a_q[4][TM], b_q[4][TN];
            if (a_along) load_quad<LM, TM>(a_q, a_tile, word_at(m_lane, 0), q);
            if (b_along) load_quad<LN, TN>(b_q, b_tile, word_at(n_lane, 0), q);
            UNROLLED
            for (int p = 0; p < 4; p++) {
                if (!a_along) load_step<BM, LM, TM>(a_q[p], a_tile, m_lane, 4 * q + p);
                if (!b_along) load_step<BN, LN, TN>(b_q[p], b_tile, n_lane, 4 * q + p);
                UNROLLED
                for (int i = 0; i < TM; i++) {
                    UNROLLED
                    for (int e = 0; e < TN; e++) {
                        int j = i % 2 ? e : TN - 1 - e; /* back and forth, as in sgemm_tma_sm90 */
                        sum[i][j] = fmaf(a_q[p][i], b_q[p][j], sum[i][j]);
                    }
                }
            }
        }
        if (++s == STAGES) s = 0;
    }
    constexpr int WITH = !b_along && TN % 4 == 0 ? 4 : 1; /* columns of sums that are neighbours */
    copies_wait<0>();                                     /* and all have read the ring */
    UNROLLED
    for (int i = 0; i < TM; i++) {
        UNROLLED
        for (int j = 0; j < TN; j += WITH) {
            float *there = &mine->sums[edge<a_along, LM, TM>(m_lane, i)][edge<b_along, LN, TN>(n_lane, j)];
            if (WITH == 4)
                *(float4 *)there = make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
            else
                *there = sum[i][j];
        }
    }
    __syncthreads();
    float4 x[EACH] = {};
    UNROLLED
    for (int i = 0; i < EACH; i++) {
        int e = threadIdx.x + i * THREADS, row = e / (BN / 4), col = e % (BN / 4) * 4;
        if (e >= BM * BN / 4) break;
        x[i] = *(float4 *)&slices[0].sums[row][col];
        UNROLLED
        for (int w = 1; w < WARPS; w++) {
            float4 y = *(float4 *)&slices[w].sums[row][col];
            x[i].x += y.x, x[i].y += y.y, x[i].z += y.z, x[i].w += y.w;
        }
    }
    if (!fix_up(x, cluster_sums, tile, split, splits, memory, flags, epoch)) return;
    UNROLLED
    for (int i = 0; i < EACH; i++) {
        int own = threadIdx.x + i * THREADS, e = own + first_quad(split, splits), row = e / (BN / 4),
            col = e % (BN / 4) * 4;
        if (own < quads_of_split(splits)) put<4>(OUT, i0 + row, j0 + col, &x[i].x);
    }
}
