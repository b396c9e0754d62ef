/* r13i_int8 - rung 13, variant: integers of one byte. i8 or u8 in, sums and C in i32.
 *
 * IDEA      wgmma reads 32 bytes of k of each row in one instruction, whatever their type: 32 steps of i8 take as long
 *           as 16 of bf16. A stage stays as in r13, lines of 128 bytes and 48 KiB, and holds twice the steps. That is
 *           half the bytes for each multiply-add, and twice the rate.
 *
 *               bf16   A 128 x  64   B  64 x 256   4 wgmma of 16 steps      a line: 64 elements
 *               i8     A 128 x 128   B 256 x 128   4 wgmma of 32 steps      a line: 128 elements, all along k
 *
 *           One thing is lost: wgmma reads elements of one byte along k only. So B is n x k, one box of 256 lines, as
 *           A's is of 128. A pass of its own first transposes a B that is stored as k x n.
 * NUMBERS   tile 128 x 256: 170 operations per byte asked. Threads, registers and shared memory as r13. Sums are exact
 *           modulo 2^32; of i8 none overflows up to k = 131071, of u8 up to 33025. H200, i8, B stored n x k: 1282 TOPS
 *           at 4096, 1.77 times r13_matrix in bf16 in the same run (723 TFLOP/s), and 1538 at 8192, 1.96 times (786).
 *           At 4096 a tile takes half the time to multiply, but the same time to store (docs/perf/gpu-types.md).
 * LIMITS    sm_90a only. m, n >= 1. A is m x k and B n x k, both aligned to 16 bytes, lda and ldb multiples of 16:
 *           pack.cu transposes or copies others first. WIDE = 1 promises c aligned to 16 bytes and ldc a multiple of 4;
 *           WIDE = 0 takes any. Tiles + grid < 2^31. TYPE_A and TYPE_B: s8 or u8 each.
 * HOST      grid, block and dynamic shared memory as r13. Two tensor maps, rank 2, UINT8, element strides 1, no
 *           interleave, zeros outside, swizzle 128 B, L2 promotion 256 B:
 *               a_map: address a, dims {k, m}, stride {lda} bytes, box {128, 128}
 *               b_map: address b, dims {k, n}, stride {ldb} bytes, box {128, 256}
 * CHANGED   from r13: the type; B along k, in one box; each thread stores the two neighbours that it holds.
 * SOURCE    PTX ISA (wgmma.mma_async of integers: .s32 sums, 32 steps of k, no transposes). */
#include "../rung.cuh"
#include "../hopper.cuh"
#include "../wgmma_c.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, STAGES = ROW_STAGES, THREADS = ROW_THREADS, GROUP_M = 16 };
enum { CONSUMERS = THREADS - 128 };
ASSUME(ELEMENT_BYTES == 1 && SUMS_S32 && BM == 128 && BN == 256 && BK == 128 && CONSUMERS == 256)

struct stage {
    char a[BM][BK], b[BN][BK];
};

struct ring {
    struct stage stage[STAGES];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) == ROW_BYTES)
ASSUME_BOXES(BM, BK, BN, BK)

#include "../schedule.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    r13i_int8(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n, int k,
              int alpha, int beta, int *__restrict__ c, long ldc)
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, group = tid / 128, s = 0, phase = 0, blocks = ceil_div(k, BK), i0, j0;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), tiles = tiles_m * tiles_n;
    if (tid == 0) {
        for (int q = 0; q < STAGES; q++) barrier_init(&ring->full[q], 1), barrier_init(&ring->empty[q], CONSUMERS / 32);
        barrier_init_done();
    }
    __syncthreads();
    if (tid >= CONSUMERS) {
        REGISTERS_KEEP(24);
        for (int tile = blockIdx.x; tid == CONSUMERS && tile < tiles; tile += gridDim.x) {
            tile_at<GROUP_M>(tile, {tiles_n, tiles_m}, &i0, &j0);
            ROLLED
            for (int block = 0; block < blocks; block++) {
                barrier_wait(&ring->empty[s], phase ^ 1);
                barrier_expect(&ring->full[s], sizeof(struct stage));
                tma_load(ring->stage[s].a, &a_map, block * BK, i0, &ring->full[s]);
                tma_load(ring->stage[s].b, &b_map, block * BK, j0, &ring->full[s]);
                if (++s == STAGES) s = 0, phase ^= 1;
            }
        }
    } else {
        REGISTERS_TAKE(240);
        int sum[BN / 2]; /* set by wgmma alone, as in r13 */
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            int before = 0;
            ROLLED
            for (int block = 0; block < blocks; block++) {
                barrier_wait(&ring->full[s], phase);
                unsigned long long a = matrix_descriptor(ring->stage[s].a[group * 64], 8 * 128, 0);
                unsigned long long b = matrix_descriptor(ring->stage[s].b, 8 * 128, 0);
                matrix_begin();
                UNROLLED
                for (int p = 0; p < BK; p += 32) matrix_multiply(sum, a + p / 16, b + p / 16, block | p);
                matrix_commit();
                MATRIX_WAIT(1);
                if (block > 0 && lane == 0) barrier_arrive(&ring->empty[before]);
                before = s;
                if (++s == STAGES) s = 0, phase ^= 1;
            }
            MATRIX_WAIT(0);
            matrix_end(sum);
            if (lane == 0) barrier_arrive(&ring->empty[before]);
            tile_at<GROUP_M>(tile, {tiles_n, tiles_m}, &i0, &j0);
            UNROLLED
            for (int e = 0; e < BN / 2; e++) sum[e] = blocks == 0 ? 0 : sum[e];
            epilogue_by_threads(OUT, i0 + group * 64, j0, BN, sum);
        }
    }
}
