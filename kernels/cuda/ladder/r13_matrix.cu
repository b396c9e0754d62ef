/* r13_matrix - rung 13: the matrix units. bf16 or f16 in, sums and C in f32.
 *
 * IDEA      A wgmma is one instruction of 128 threads (a warpgroup) that multiplies 64 x 16 of A by 16 x 256 of B
 *           straight out of shared memory and adds to 64 x 256 sums in their registers, while the threads do something
 *           else. The threads only have to keep it fed, so the kernel is warp-specialised:
 *
 *         warpgroup 2  one thread: wait empty[s], fetch the next block of A and B into stage s         (24 registers)
 *         warpgroup 0  wait full[s], 4 wgmma on rows  0 ... 63 of the tile, the stage before is empty  (240 registers)
 *         warpgroup 1  wait full[s], 4 wgmma on rows 64 ... 127                                        (240 registers)
 *
 *           wgmma reads what TMA writes: lines of 128 bytes, 8 lines swizzled together. A is K-major, as stored; B is
 *           MN-major, as stored too: wgmma reads either. B's tile is four boxes of 64 columns, one after the other.
 *
 *           A 128 x 64  one box: line i = row i                 from 8 rows to the next 8: 1024 bytes
 *           B 64 x 256  4 boxes: line p = step p of 64 columns  from 8 steps to the next 8: 1024; from box to box: 8192
 *
 *           Blocks are persistent: each takes tile after tile, so that the next tile's operands arrive while this one's
 *           sums are stored.
 * NUMBERS   tile 128 x 256: 85 flop per byte asked. 384 threads, 168 registers on entry, then 24 and 240; 3 stages of
 *           48 KiB: one block per multiprocessor. H200, bf16: 731 to 746 TFLOP/s at 4096, 786 to 807 at 8192, more
 *           after a pause (cuBLAS, C in bf16: 751 and 790); 660 and 680 when run on end, where the power limit holds
 *           the clock down (cuBLAS 723 at 8192). f16: 718 and 770.
 *           Small integers are exact; worst error seen at k = 4099: 9.8 (bf16) and 11.7 (f16) times 2^-24 sum|a||b|.
 * LIMITS    sm_90a only. m, n >= 1. a and b aligned to 16 bytes, lda and ldb multiples of 8 (rules of TMA): pack.cu
 *           first packs operands that lie otherwise, or are transposed. WIDE = 1
 *           promises c aligned to 16 bytes and ldc a multiple of 4; WIDE = 0 takes any. Tiles + grid < 2^31.
 *           IN_F16 = 1: f16 for bf16.
 * HOST      any grid is correct; best is the smallest with as few waves as one block per multiprocessor:
 *           tiles = ceil(m / 128) ceil(n / 256), rounds = ceil(tiles / multiprocessors), grid = ceil(tiles / rounds)
 *           (1 % at 8192, where power limits). block 384, dynamic shared memory sizeof(struct ring) = 147504 bytes. Two
 *           tensor maps, rank 2, BFLOAT16 or FLOAT16, element strides 1, no interleave, zeros outside, swizzle 128 B,
 *           L2 promotion 256 B:
 *               a_map: address a, dims {k, m}, stride {2 lda} bytes, box {64, 128}
 *               b_map: address b, dims {n, k}, stride {2 ldb} bytes, box {64, 64}
 * CHANGED   from r12j: two warpgroups share a tile of 128 x 256, so that each wgmma of a warpgroup is twice as wide;
 *           one block per multiprocessor; blocks that stay for tile after tile, as in r12b; GROUP_M of 16 for 8. r12a,
 *           r12i and r12j have its other ideas one by one: the warps that fetch, the type, the matrix units.
 * SOURCE    PTX ISA (wgmma.mma_async, setmaxnreg); NVIDIA: CUTLASS, 2023 (producer and consumer warpgroups). */
#include "../rung.cuh"
#include "../wide.cuh"
#include "../hopper.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    LINE = 64,
    STAGES = ROW_STAGES,
    THREADS = ROW_THREADS,
    CONSUMERS = THREADS - 128,
    GROUP_M = 16
};
ASSUME(BM == 128 && BN == 256 && BK == LINE && CONSUMERS == 256)

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

/* A thread holds, of every 8 columns, 2 in row r and the same 2 in row r + 8. Two neighbouring lanes trade, so that the
 * even one has 4 of row r and the odd one 4 of row r + 8. */
static __device__ __forceinline__ void trade(float *four, const float *sum, int odd)
{
    float u = __shfl_xor_sync(~0u, odd ? sum[0] : sum[2], 1), v = __shfl_xor_sync(~0u, odd ? sum[1] : sum[3], 1);
    four[0] = odd ? u : sum[0], four[1] = odd ? v : sum[1], four[2] = odd ? sum[2] : u, four[3] = odd ? sum[3] : v;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    r13_matrix(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n, int k,
               float alpha, float beta, float *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, s = 0, phase = 0, blocks = ceil_div(k, BK), i0, j0;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), tiles = tiles_m * tiles_n;
    if (tid == 0) {
        for (int q = 0; q < STAGES; q++) barrier_init(&ring->full[q], 1), barrier_init(&ring->empty[q], CONSUMERS / 32);
        barrier_init_done();
    }
    __syncthreads();
    if (tid >= CONSUMERS) {
        REGISTERS_KEEP(24);
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
        REGISTERS_TAKE(240);
        /* set by wgmma alone: a mere "= {0}" makes ptxas wait after every block (C7517, C7519; 655 TFLOP/s, not 800) */
        float sum[128];
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            int before = 0;
            ROLLED
            for (int block = 0; block < blocks; block++) {
                barrier_wait(&ring->full[s], phase);
                unsigned long long a = matrix_descriptor(ring->stage[s].a[warp / 4 * 64], 8 * 128, 0);
                unsigned long long b = matrix_descriptor(ring->stage[s].b, 8 * 128, BK * 128);
                matrix_begin();
                UNROLLED
                for (int p = 0; p < BK; p += 16) matrix_multiply(sum, a + p * 2 / 16, b + p * 128 / 16, block | p);
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
            int row = i0 + warp * 16 + lane % 2 * 8 + lane / 4, col = j0 + lane / 2 % 2 * 4;
            UNROLLED
            for (int j = 0; j < BN / 8; j++) {
                float four[4];
                trade(four, &sum[4 * j], lane % 2);
                if (blocks == 0) four[0] = four[1] = four[2] = four[3] = 0;
                if (row < m) store4(&C(row, col + 8 * j), n - col - 8 * j, alpha, four, beta);
            }
        }
    }
}
