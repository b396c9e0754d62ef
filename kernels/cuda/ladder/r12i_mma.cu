/* r12i_mma - rung 12i: the matrix units of a warp (mma.sync). bf16 or f16 in, sums and C in f32.
 *
 * IDEA      In r12a an FMA of a warp does 32 multiply-adds. An mma.sync, one instruction of a warp, does 2048: it
 *           multiplies 16 x 16 of A by 16 x 8 of B and adds to 16 x 8 sums. All three are in registers, and each lane
 *           holds a share of them. ldmatrix brings the shares of A and B from shared memory: four squares of 8 x 8
 *           elements at a time, each of 8 lines of 16 bytes.
 *
 *         128 x 128 of C, 4 warps      a warp, at each 16 steps of k
 *         .---------.---------.
 *         | warp 0  | warp 1  |        4 ldmatrix: 64 x 16 of A           32 mma.sync, each 16 x 8 of
 *         |---------|---------|        4 ldmatrix: 16 x 64 of B,          the warp's 64 x 64
 *         | warp 2  | warp 3  |          each square transposed
 *         '---------'---------'
 *
 *           mma.sync wants neighbours along k in one register. A lies so. B lies along n: its ldmatrix transposes.
 *           A tile's line is 128 bytes, all 32 banks. The 8 lines of a square lie one below the other and would meet in
 *           the same 4 banks, but TMA's 128-byte swizzle puts chunk c (16 bytes) of line l at place c ^ (l % 8). The 8
 *           lanes that name the lines of a square read from 8 different places, all 32 banks once:
 *
 *               line 0 | 0 1 2[3]4 5 6 7        a square of chunk 3:    A: line = row of C,  chunk = 8 steps of k
 *               line 1 | 1 0[3]2 5 4 7 6          line 0 place 3        B: line = step of k, chunk = 8 columns
 *               line 2 | 2[3]0 1 6 7 4 5          line 1 place 2
 *               line 3 |[3]2 1 0 7 6 5 4          line 2 place 1        a lane's lines are multiples of 8 apart: one
 *               line 4 | 4 5 6 7 0 1 2[3]         ...                   XOR serves all, in A and in B
 *
 * NUMBERS   64 flop per byte asked of the L2: the tile is r12a's, the elements are half as wide. Per block of 64 steps
 *           a warp issues 32 ldmatrix and 128 mma.sync. ptxas puts the loads of the next 16 steps between the
 *           multiplies; only the first 16 of a stage are waited for.
 *           The block's 32 KiB of A and B are read twice, by two warps each: 64 KiB for 2 Mi flop, 32 flop per byte of
 *           shared memory. That takes 512 cycles at 128 bytes a cycle, and at their full 4096 flop a cycle the matrix
 *           units of sm_90 would multiply it in as many: shared memory is as tight as they are. 3 stages of 32 KiB. 256
 *           threads begin with 128 registers, then have 24 and 232: two blocks per multiprocessor.
 *           H200: ncu counts 4.1 wavefronts for an ldmatrix, whose 512 bytes need 4. bf16 at 4096: 495 TFLOP/s, 9.4
 *           times r12h in f32. At 8192 x 8192 x 64 75, where storing C is the work.
 * LIMITS    sm_90a alone (setmaxnreg). m, n >= 1, no transposes. a and b aligned to 16 bytes, lda and ldb multiples of
 *           8 (rules of TMA). WIDE = 1 promises c aligned to 16 bytes and ldc a multiple of 4; WIDE = 0 takes any.
 *           Fewer than 2^31 tiles. IN_F16 = 1: f16 for bf16.
 * HOST      as r12a, but for the type and the boxes: BFLOAT16 or FLOAT16, both with swizzle 128 B,
 *               a_map: address a, dims {k, m}, stride {2 lda} bytes, box {64, 128}
 *               b_map: address b, dims {n, k}, stride {2 ldb} bytes, box {64, 64}
 * CHANGED   from r12a: the type, who multiplies, and how B's tile lies: two boxes of 64 columns, swizzled as A's; 64
 *           steps in a stage for 32; lanes trade sums before they store.
 * SOURCE    PTX ISA (mma.sync, ldmatrix). */
#include "../rung.cuh"
#include "../wide.cuh"
#include "../ampere.cuh"
#include "../hopper.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    LINE = 64,
    THREADS = ROW_THREADS,
    STAGES = ROW_STAGES,
    GROUP_M = 8,
    CONSUMERS = 128
};
ASSUME(BM == 128 && BN == 128 && BK == LINE && THREADS == CONSUMERS + 128)

struct stage {
    unsigned short a[BM][LINE], b[BN / LINE][BK][LINE];
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
    for (int q = 0; q < BN / LINE; q++) tma_load(ring->stage[s].b[q], b_map, j0 + q * LINE, block * BK, &ring->full[s]);
}

/* A thread holds, of every 8 columns, 2 in row r and the same 2 in row r + 8. Two neighbouring lanes trade, so that the
 * even one has 4 of row r and the odd one 4 of row r + 8. */
static __device__ __forceinline__ void trade(float *four, const float *sum, int odd)
{
    float u = __shfl_xor_sync(~0u, odd ? sum[0] : sum[2], 1), v = __shfl_xor_sync(~0u, odd ? sum[1] : sum[3], 1);
    four[0] = odd ? u : sum[0], four[1] = odd ? v : sum[1], four[2] = odd ? sum[2] : u, four[3] = odd ? sum[3] : v;
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    r12i_mma(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n, int k,
             float alpha, float beta, float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, blocks = ceil_div(k, BK);
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN);
    int group = blockIdx.x / (GROUP_M * tiles_n), rows = min(GROUP_M, tiles_m - group * GROUP_M),
        in_group = blockIdx.x % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int x = lane / 16 ^ lane % 8, a_at = warp / 2 * 64, b_at = warp % 2 * 64;
    float sum[4][8][4] = {0};
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, CONSUMERS / 32);
    __syncthreads();
    if (tid >= CONSUMERS) {
        REGISTERS_KEEP(24);
        ROLLED
        for (int block = 0; tid == CONSUMERS && block < blocks; block++) fetch(ring, &a_map, &b_map, i0, j0, block);
        return;
    }
    REGISTERS_TAKE(232);
    ROLLED
    for (int block = 0; block < blocks; block++) {
        const unsigned short *a_tile = ring->stage[s].a[a_at + lane % 16],
                             *b_tile = ring->stage[s].b[b_at / LINE][lane % 16];
        barrier_wait(&ring->full[s], phase);
        UNROLLED
        for (int p = 0; p < BK; p += 16) {
            unsigned a_p[4][4], b_p[4][4];
            UNROLLED
            for (int i = 0; i < 4; i++)
                matrix_load(a_p[i], shared_address(&a_tile[16 * i * LINE + (p / 8 ^ x) * 8]), false);
            UNROLLED
            for (int j = 0; j < 4; j++) matrix_load(b_p[j], shared_address(&b_tile[p * LINE + (2 * j ^ x) * 8]), true);
            UNROLLED
            for (int i = 0; i < 4; i++) {
                UNROLLED
                for (int j = 0; j < 8; j++) warp_multiply(sum[i][j], a_p[i], &b_p[j / 2][j % 2 * 2]);
            }
        }
        __syncwarp();
        if (lane == 0) barrier_arrive(&ring->empty[s]);
        if (++s == STAGES) s = 0, phase ^= 1;
    }
    UNROLLED
    for (int i = 0; i < 4; i++) {
        int row = i0 + a_at + 16 * i + lane % 2 * 8 + lane / 4, col = j0 + b_at + lane / 2 % 2 * 4;
        UNROLLED
        for (int j = 0; j < 8; j++) {
            float four[4];
            trade(four, sum[i][j], lane % 2);
            if (row < m) store4(&C(row, col + 8 * j), n - col - 8 * j, alpha, four, beta);
        }
    }
}
