/* r13q_fp8 - rung 13, variant: floating point in one byte. e4m3 or e5m2 in, sums and C in f32.
 *
 * IDEA      r13i_int8's copies, and its rate if the sums were as good. But the matrix unit keeps only about 14 bits of
 *           a sum of fp8 products (docs/ACCURACY.md). So it sums 128 steps of k, which is a part, and the threads add
 *           the parts in f32. This is called promotion. It takes registers and time:
 *
 *               registers   each thread keeps 128 f32 sums, its share of 64 x 256, and 64 more for the part being made,
 *                           64 x 128: the left half of the columns first, then the right
 *               time        a warpgroup that adds does not multiply, but the other one does
 *
 *               warpgroup 0   | part 0 | add | part 1 | add | ...
 *               warpgroup 1         | part 0 | add | part 1 | add | ...
 * NUMBERS   tile 128 x 256: 170 flop per byte asked. Threads, stages and shared memory as r13. One addition for every
 *           128 multiply-adds: 128 for each thread and stage. H200, e4m3, B stored n x k: 1171 TFLOP/s at 4096, 1.62
 *           times r13_matrix in bf16 in the same run (723), and 1349 at 8192, 1.72 times (786).
 * LIMITS    as r13i_int8. TYPE_A and TYPE_B: e4m3 or e5m2 each.
 * HOST      as r13i_int8.
 * CHANGED   from r13i_int8: the promotion; wgmma of 128 columns.
 * SOURCE    PTX ISA (wgmma.mma_async of .e4m3 and .e5m2); promotion: DeepGEMM and CUTLASS, 2025 */
#include "../rung.cuh"
#define MATRIX_N 128
#include "../hopper.cuh"
#include "../wgmma_c.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, STAGES = ROW_STAGES, THREADS = ROW_THREADS, GROUP_M = 16 };
enum { CONSUMERS = THREADS - 128, HALF = BN / 2 };
ASSUME(ELEMENT_BYTES == 1 && !SUMS_S32 && BM == 128 && HALF == MATRIX_N && BK == 128 && CONSUMERS == 256)

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
    r13q_fp8(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, int m, int n, int k,
             float alpha, float beta, float *__restrict__ c, long ldc)
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
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            float sum[2][HALF / 2] = {{0}};
            ROLLED
            for (int block = 0; block < blocks; block++) {
                barrier_wait(&ring->full[s], phase);
                UNROLLED
                for (int q = 0; q < 2; q++) {
                    unsigned long long a = matrix_descriptor(ring->stage[s].a[group * 64], 8 * 128, 0);
                    unsigned long long b = matrix_descriptor(ring->stage[s].b[q * HALF], 8 * 128, 0);
                    float part[HALF / 2]; /* set by wgmma alone, as r13's sums */
                    matrix_begin();
                    UNROLLED
                    for (int p = 0; p < BK; p += 32) matrix_multiply(part, a + p / 16, b + p / 16, p);
                    matrix_commit();
                    MATRIX_WAIT(0);
                    matrix_end(part);
                    if (q == 1 && lane == 0) barrier_arrive(&ring->empty[s]);
                    UNROLLED
                    for (int e = 0; e < HALF / 2; e++) sum[q][e] += part[e];
                }
                if (++s == STAGES) s = 0, phase ^= 1;
            }
            tile_at<GROUP_M>(tile, {tiles_n, tiles_m}, &i0, &j0);
            UNROLLED
            for (int q = 0; q < 2; q++) epilogue_by_threads(OUT, i0 + group * 64, j0 + q * HALF, HALF, sum[q]);
        }
    }
}
