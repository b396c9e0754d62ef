/* r13b_swapped - rung 13b: swapped operands, for few rows: C^T = B^T A^T puts them on the short side of a wgmma.
 *
 * IDEA      A wgmma is always 64 high. In r13 its rows are rows of C, so with 16 rows most multiply-adds are of zeros.
 *           Its width may be 16. Here the operands change places: the 64 rows are columns of C, of which there are
 *           many, and the 16 columns are rows of C.
 *
 *         r13    C = A B                                   r13b   C^T = B^T A^T
 *
 *                      256 columns of C                                  16 rows of C
 *                     +----------------+                                +---+
 *                   k |       B        |                              k |A^T|
 *                     +----------------+                                +---+
 *            k                                               k
 *          +---+      +----------------+                   +---+        +---+
 *       64 | A |      | 16 rows of C   |                64 |B^T|        |   |
 *          | 0 |      | 48 of zeros    |                   |   |        |C^T|  64 columns of C, no zeros
 *          | 0 |      |                |                   |   |        |   |
 *          +---+      +----------------+                   +---+        +---+
 *
 *           Nothing is transposed for it. wgmma reads either operand K-major or MN-major: B comes as in r13, in boxes
 *           of 64 steps of k of 64 columns, but is the first operand; A is the second. Each warpgroup has a box of B,
 *           both have the same A:
 *
 *               A 16 x 64   one box: line i = row i                  K-major    16 steps on:   32 bytes
 *               B 64 x 128  2 boxes: line p = step p of 64 columns   MN-major   16 steps on: 2048 bytes
 *
 *           The sums of a thread are transposed too: two neighbours are rows of C, one below the other, and lanes 4
 *           apart hold neighbouring columns. A warp that stores one sum a thread writes 4 rows of 8 columns, 32 bytes
 *           each, which are whole sectors. So a plain store will do, without r13's trade:
 *
 *               column      0        1        2     ...    7
 *               row 0     lane 0   lane 4   lane 8  ...  lane 28       row 1: the same lanes, their next sum
 *               row 2     lane 1   lane 5   lane 9  ...  lane 29       row 3: the same lanes, their next sum
 * NUMBERS   m = 16: 112 of the 128 rows that r13 multiplies are zeros, 7/8 of its multiply-adds; here none are. At n =
 *           8192 r13 has 32 tiles, here there are 64.
 *           B is read once, and 2 bytes of it serve 32 flop: at 4.8 TB/s at most 77 TFLOP/s. Memory is the limit, so
 *           enough copies must be under way. If one takes 1 us, that is 4.8 MB, 36 KB for each of 132 multiprocessors.
 *           A stage is 2 KiB of A and 16 KiB of B. 2 blocks of 6 stages have 216 KiB under way. At n = 8192 the 64
 *           blocks have 64 * 108 KiB = 7.1 MB; r13's 32 have 3 stages each, of whose 48 KiB 34 lie in A and B: 3.3 MB.
 *           The 8 wgmma of a stage read 20 KiB of shared memory, 160 cycles at 128 bytes a cycle. Memory takes some 880
 *           for the stage, at 21 bytes a cycle for each multiprocessor. 288 threads, 8 sums each of 256: no registers
 *           need to move, so one warp is enough to fetch. 110,688 bytes: two blocks per multiprocessor.
 *           H200, bf16: 2.06 of r13 at 16 x 8192 x 8192; 0.32 at 4096, where each element of B is asked for 256 times.
 * LIMITS    those of r13, but c and ldc are any. Each 16 rows more read B again, at best out of the L2. With up to 16
 *           rows and n below 16,896 some of 132 multiprocessors have no tile: gemm_swapab_sm90 divides k.
 * HOST      grid: two blocks for each multiprocessor, or as many as there are tiles of 16 x 128; block 288, dynamic
 *           shared memory sizeof(struct ring) = 110688 bytes, a_map: box {64, 16}; else as r13.
 * CHANGED   from r13: which operand is which, the tile, how sums reach C; stages, blocks per multiprocessor; one warp
 *           in place of a warpgroup fetches, and no registers move. The production kernel gemm_swapab_sm90 is made so.
 * SOURCE    PTX ISA (wgmma.mma_async, its matrix descriptor and sums). */
#include "../rung.cuh"
#define MATRIX_N          16 /* rows of C */
#define MATRIX_MN_MAJOR_A 1  /* B, as stored */
#define MATRIX_MN_MAJOR_B 0  /* A, as stored */
#include "../hopper.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    LINE = 64,
    STAGES = ROW_STAGES,
    THREADS = ROW_THREADS,
    CONSUMERS = THREADS - 32,
    GROUP_M = 16
};
ASSUME(BM == MATRIX_N && BN == 128 && BK == LINE && CONSUMERS == 256)

struct stage {
    unsigned short a[BM][LINE], b[BN / LINE][BK][LINE];
};

struct ring {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BM, BK, BK, LINE)

/* Tile number `tile`, taken down GROUP_M rows of tiles before the next column, as in r11. */
static __device__ __forceinline__ void place(int tile, int tiles_m, int tiles_n, int *i0, int *j0)
{
    int group = tile / (GROUP_M * tiles_n), rows = min(GROUP_M, tiles_m - group * GROUP_M),
        in_group = tile % (GROUP_M * tiles_n);
    *i0 = (group * GROUP_M + in_group % rows) * BM, *j0 = in_group / rows * BN;
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    r13b_swapped(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n,
                 int k, float alpha, float beta, float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, blocks = ceil_div(k, BK), i0, j0;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), tiles = tiles_m * tiles_n;
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, CONSUMERS / 32);
    __syncthreads();
    if (tid >= CONSUMERS) {
        for (int tile = blockIdx.x; tid == CONSUMERS && tile < tiles; tile += gridDim.x) {
            place(tile, tiles_m, tiles_n, &i0, &j0);
            ROLLED
            for (int block = 0; block < blocks; block++) {
                barrier_wait(&ring->empty[s], phase ^ 1);
                barrier_expect(&ring->full[s], sizeof(struct stage));
                tma_load(ring->stage[s].a, &a_map, block * BK, i0, &ring->full[s]);
                for (int q = 0; q < BN / LINE; q++)
                    tma_load(ring->stage[s].b[q], &b_map, j0 + q * LINE, block * BK, &ring->full[s]);
                if (++s == STAGES) s = 0, phase ^= 1;
            }
        }
    } else {
        /* set by wgmma alone, as in r13 */
        float sum[MATRIX_N / 2];
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            int before = 0;
            ROLLED
            for (int block = 0; block < blocks; block++) {
                barrier_wait(&ring->full[s], phase);
                unsigned long long a = matrix_descriptor(ring->stage[s].a, 8 * 128, 0);
                unsigned long long b = matrix_descriptor(ring->stage[s].b[warp / 4], 8 * 128, 0);
                matrix_begin();
                UNROLLED
                for (int p = 0; p < BK; p += 16) matrix_multiply(sum, b + p * 128 / 16, a + p * 2 / 16, block | p);
                matrix_commit();
                MATRIX_WAIT(1);
                if (block > 0 && lane == 0) barrier_arrive(&ring->empty[before]);
                before = s;
                if (++s == STAGES) s = 0, phase ^= 1;
            }
            MATRIX_WAIT(0);
            matrix_end(sum);
            if (lane == 0) barrier_arrive(&ring->empty[before]);
            place(tile, tiles_m, tiles_n, &i0, &j0);
            UNROLLED
            for (int e = 0; e < MATRIX_N / 2; e++) {
                int row = i0 + e / 4 * 8 + lane % 4 * 2 + e % 2, col = j0 + warp * 16 + e / 2 % 2 * 8 + lane / 4;
                if (row < m && col < n) blend(&C(row, col), alpha, blocks == 0 ? 0 : sum[e], beta);
            }
        }
    }
}
