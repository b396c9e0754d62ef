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
 * CHANGED   from dgemm_mma_sm80: TMA copies, barriers in shared memory, the order of steps, rows and columns.
 * SOURCE    PTX ISA (mma.sync for f64, cp.async.bulk.tensor and its swizzles, mbarrier) */
#define SUMS_F64 1
#include "rung.cuh"
#include "hopper.cuh"
#include "dgemm_boxes.cuh"

enum { GROUP_M = 8, EACH = BM * BN / 2 / THREADS /* pairs of sums of a thread */ };
ASSUME_BOXES(BK, EDGE, BK, EDGE)

#include "raster.cuh"
#include "splitk.cuh"

#if CLUSTER_REDUCE
/* The part of the tile that this block has added. Piece number e of the tile is pair e / THREADS of thread
 * e % THREADS. */
static __device__ __forceinline__ void store_part(double *c, long ldc, int i0, int j0, int m, int n, double alpha,
                                                  const double2 *x, double beta, int split, int splits)
{
    UNROLLED
    for (int i = 0; i < EACH_PART; i++) {
        int own = threadIdx.x + i * THREADS, e = own + first_quad(split, splits), thread = e % THREADS,
            warp = thread / 32, piece = e / THREADS / 2, lower = e / THREADS % 2;
        int r = i0 + warp / WARPS_N * TM + row_in_warp(thread % 32 / 4, piece / PIECES_N * 2 + lower),
            column = j0 + warp % WARPS_N * TN + column_in_warp(thread % 4, piece % PIECES_N);
        const double sum[2] = {x[i].x, x[i].y};
        if (own < PART && r < m) store(&C(r, column), n - column, alpha, sum, beta);
    }
}
#endif

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
    struct cluster_sums *cluster_sums = (struct cluster_sums *)&shared[1];
    cluster_begin(cluster_sums);
    raster(tile, ceil_div(m, BM), ceil_div(n, BN), &i0, &j0);
    auto fetch_block = [&](int block, int to) {
        fetch(&ring[to], i0, j0, block * BK, &full[to], [&](double *box, int operand, int col, int row) {
            tma_load(box, operand ? &b_map : &a_map, col, row, &full[to]);
        });
    };
    /* Blocks of the next launch that came now beside these would be spread unevenly over the multiprocessors. */
    const bool late = BLOCKS > 1 && gridDim.x > multiprocessors();
    if (!late) pdl_trigger();
    if (threadIdx.x == 0 && begin < end) {
        prefetch_map(&a_map), prefetch_map(&b_map);
        ring_init(shared);
    }
    UNROLLED
    for (int i = 0; i < EACH; i++) sum.pairs[i] = make_double2(0, 0);
    pdl_wait();
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
    store_part(c, ldc, i0, j0, m, n, alpha, sum.pairs, beta, split, splits);
#else
    store_warp(c, ldc, i0 + i_warp, j0 + j_warp, m, n, alpha, sum.of, beta);
#endif
}
