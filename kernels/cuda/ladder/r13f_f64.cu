/* r13f_f64 - rung 13f: double precision on the matrix units (mma.sync).
 *
 * IDEA      An FMA of a warp does 32 multiply-adds, an mma.sync of f64 does 1024: it multiplies 16 x 8 by 8 x 8 and
 *           adds to 16 x 8 sums, all in registers, in f64 throughout. Ring, producer and consumers are r12a's. New is
 *           how lane l, g = l / 4 and t = l % 4, gets its share of the operands:
 *
 *               16 x 8   place t of k of rows g and g + 8, then place t + 4 of both      in registers side by side
 *               8 x 8    of column g places t and t + 4 of k                             side by side
 *               sums     of rows g and g + 8 columns 2t and 2t + 1
 *
 *           A load of 16 bytes brings two neighbours, side by side: of A two steps of k, of B two columns. So B must be
 *           the 16 x 8, and a warp computes C^T = B^T A^T: no operand has to be moved. The unit does not know which
 *           row, column or step a place stands for, so the kernel chooses:
 *
 *               places of k    t is step 2t, t + 4 is step 2t + 1, in both operands: a chunk of 16 bytes of A
 *               16 columns     row g of the unit is column 2g of C, row g + 8 column 2g + 1: a chunk of B
 *               8 rows         columns 0 1 2 3 4 5 6 7 of the unit are rows 0 4 1 5 2 6 3 7 of C
 *
 *           Such loads are served for 8 lanes at a time. Lines are 128 bytes, all 32 banks, and TMA puts chunk c of
 *           line l at place c ^ (l % 8). The first 8 lanes want the chunks in brackets, one from each place:
 *
 *             A: a line is a row, a chunk 2 steps          B: a line is a step, a chunk 2 columns
 *               row 0 |[0][1][2][3] 4  5  6  7 |             step 0 |[0][1] 2  3  4  5  6  7 |
 *               row 4 | 4  5  6  7 [0][1][2][3]|             step 2 | 2  3 [0][1] 6  7  4  5 |
 *                                                            step 4 | 4  5  6  7 [0][1] 2  3 |
 *             rows 0 and 1 would meet in places 0 to 3       step 6 | 6  7  4  5  2  3 [0][1]|
 *
 *           A lane's other loads lie multiples of 8 lines away, or where the offset has one bit (A: steps 8 and on) or
 *           two (B: the odd step) flipped. One offset serves all of A, one all of B. Of a row of C 8 lanes hold 16
 *           neighbours, and store 128 bytes at once.
 * NUMBERS   10.7 flop per byte asked: 16 steps of 128 x 64 for 24 KiB. An H200's matrix units do 67 TFLOP/s in f64,
 *           twice the 33.5 of plain FMAs. At that the L2 is asked for 6.3 TB/s.
 *           A warp has 64 x 32 of C. For 8 steps a lane loads 12 times 16 bytes for 16 mma.sync: 5.3 flop per byte of
 *           shared memory. At the units' 256 flop a cycle that is 48 bytes a cycle, of 128.
 *           64 sums of a lane take 128 registers, operands of 8 steps 48: there is room for the next 8 steps too. ptxas
 *           loads them between the multiplies, and the stage is given back with half of it still to multiply.
 *           4 stages of 24 KiB. 256 threads begin with 128 registers, then have 24 and 232: two blocks per
 *           multiprocessor.
 *           H200: 60.2 TFLOP/s at 4096, 0.97 of tw_gemm's kernel (dgemm_tma_sm90, which divides k, takes any layout and
 *           loads a step ahead); 0.87 of it at 1000, whose 128 tiles are few. ncu counts 4.0 wavefronts for a load of
 *           512 bytes.
 * LIMITS    sm_90a alone (setmaxnreg). m, n >= 1, no transposes. a and b aligned to 16 bytes, lda and ldb multiples of
 *           2 (rules of TMA). WIDE = 1 promises c aligned to 16 bytes and ldc a multiple of 2; WIDE = 0 takes any.
 *           Fewer than 2^31 tiles.
 * HOST      grid ceil(m / 128) * ceil(n / 64), dynamic shared memory sizeof(struct ring) = 98368 bytes; else as r12a,
 *           but for the type and the boxes: FLOAT64, both with swizzle 128 B,
 *               a_map: address a, dims {k, m}, stride {8 lda} bytes, box {16, 128}
 *               b_map: address b, dims {n, k}, stride {8 ldb} bytes, box {16, 16}
 * CHANGED   from r12a: the type, who multiplies, the tile, 4 stages for 3, and how B's lies: four boxes of 16 columns,
 *           swizzled as A's.
 * SOURCE    PTX ISA (mma.sync for f64). */
#define SUMS_F64 1
#include "../rung.cuh"
#include "../wide.cuh"
#include "../hopper.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    LINE = 16,
    THREADS = ROW_THREADS,
    STAGES = ROW_STAGES,
    GROUP_M = 8,
    CONSUMERS = 128
};
ASSUME(BM == 128 && BN == 64 && BK == LINE && THREADS == CONSUMERS + 128)

struct stage {
    double a[BM][BK], b[BN / LINE][BK][LINE];
};

struct ring {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BM, BK, BK, LINE)

/* The producer: block number `block` of A and B into its stage, once all warps have read what was there. */
static __device__ __forceinline__ void fetch(struct ring *ring, const tensor_map *a_map, const tensor_map *b_map,
                                             int i0, int j0, int block)
{
    int s = block % STAGES;
    barrier_wait(&ring->empty[s], block / STAGES % 2 ^ 1);
    barrier_expect(&ring->full[s], sizeof(struct stage));
    tma_load(ring->stage[s].a, a_map, block * BK, i0, &ring->full[s]);
    UNROLLED
    for (int j = 0; j < BN / LINE; j++) tma_load(ring->stage[s].b[j], b_map, j0 + j * LINE, block * BK, &ring->full[s]);
}

/* sum (8 x 16) <- a (8 x 8) b (8 x 16) + sum, by one warp: as 16 x 8 = b^T a^T. */
static __device__ __forceinline__ void multiply(double *sum, double2 a, const double2 *b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+d"(sum[0]), "+d"(sum[2]), "+d"(sum[1]), "+d"(sum[3])
                 : "d"(b[0].x), "d"(b[0].y), "d"(b[1].x), "d"(b[1].y), "d"(a.x), "d"(a.y));
}

static __device__ __forceinline__ void blend(double *c, double alpha, double sum, double beta)
{
    *c = beta == 0 ? alpha * sum : fma(alpha, sum, beta * *c);
}

/* c[0..1] <- alpha * x + beta * c, of which `count` are there: store4 of wide.cuh for two doubles. */
static __device__ __forceinline__ void store2(double *c, int count, double alpha, const double *x, double beta)
{
    if (WIDE && count >= 2) {
        double2 y = {0, 0};
        if (beta != 0) y = *(const double2 *)c;
        blend(&y.x, alpha, x[0], beta);
        blend(&y.y, alpha, x[1], beta);
        *(double2 *)c = y;
        return;
    }
    if (count > 0) blend(&c[0], alpha, x[0], beta);
    if (count > 1) blend(&c[1], alpha, x[1], beta);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    r13f_f64(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n, int k,
             number alpha, number beta, number *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, blocks = ceil_div(k, BK);
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN);
    int group = blockIdx.x / (GROUP_M * tiles_n), rows = min(GROUP_M, tiles_m - group * GROUP_M),
        in_group = blockIdx.x % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    double sum[8][2][4] = {0};
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, CONSUMERS / 32);
    __syncthreads();
    if (tid >= CONSUMERS) {
        REGISTERS_KEEP(24);
        ROLLED
        for (int block = 0; tid == CONSUMERS && block < blocks; block++) fetch(ring, &a_map, &b_map, i0, j0, block);
        return;
    }
    REGISTERS_TAKE(232);
    int g = lane / 4, t = lane % 4, x = g % 2 * 4 + g / 2, i_warp = warp / 2 * 64, j_warp = warp % 2 * 32;
    int a_at = (i_warp + x) * LINE + (t ^ x) * 2, b_at = j_warp * BK + 2 * t * LINE + (g ^ 2 * t) * 2;
    ROLLED
    for (int block = 0; block < blocks; block++) {
        const double *a_tile = ring->stage[s].a[0], *b_tile = ring->stage[s].b[0][0];
        barrier_wait(&ring->full[s], phase);
        UNROLLED
        for (int q = 0; q < BK / 8; q++) {
            double2 a_q[8], b_q[2][2];
            UNROLLED
            for (int i = 0; i < 8; i++) a_q[i] = *(const double2 *)&a_tile[(a_at ^ 8 * q) + 8 * i * LINE];
            UNROLLED
            for (int j = 0; j < 2; j++) {
                UNROLLED
                for (int p = 0; p < 2; p++)
                    b_q[j][p] = *(const double2 *)&b_tile[(b_at ^ p * (LINE + 2)) + (j * BK + 8 * q) * LINE];
            }
            UNROLLED
            for (int i = 0; i < 8; i++) {
                UNROLLED
                for (int j = 0; j < 2; j++) multiply(sum[i][j], a_q[i], b_q[j]);
            }
        }
        __syncwarp();
        if (lane == 0) barrier_arrive(&ring->empty[s]);
        if (++s == STAGES) s = 0, phase ^= 1;
    }
    UNROLLED
    for (int i = 0; i < 16; i++) {
        int row = i0 + i_warp + 4 * i + t, col = j0 + j_warp + 2 * g;
        if (row >= m) continue;
        UNROLLED
        for (int j = 0; j < 2; j++)
            store2(&C(row, col + j * LINE), n - col - j * LINE, alpha, &sum[i / 2][j][i % 2 * 2], beta);
    }
}
