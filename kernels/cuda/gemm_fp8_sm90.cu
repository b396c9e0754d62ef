/* gemm_fp8_sm90 - the production kernel for fp8 on sm_90: e4m3 and e5m2 in all pairs, C in f32, bf16 or f16.
 *
 * IDEA      The matrix unit keeps about 14 bits of a sum of fp8 products (docs/ACCURACY.md). So it sums only 128 steps
 *           of k, and the threads add that part to sums in f32 (promotion). While a warpgroup adds, the unit would be
 *           idle: two share each tile, the upper and the lower rows, and one multiplies while the other adds.
 *
 *               warpgroup 0   | multiply | add | multiply | add | ...
 *               warpgroup 1        | multiply | add | multiply | add | ...
 *
 *           A part is of 64 rows and is held beside the sums: of 256 x 128 a thread has 128 sums and 64 of a part.
 *           Tiles are larger than those of gemm_wgmma_sm90: at this rate the L2 and the power for moving bytes decide.
 *           fp8 lies along k only in shared memory: other layouts are transposed first (pack.cu).
 * NUMBERS   256 x 128: 171 flop/byte, 4 stages of 48 KiB and 32 KiB for C, 384 threads, 24 and 240 registers: one block
 *           per multiprocessor. H100, e4m3, C in f32, TFLOP/s at 8192: 1365, of 128 x 192 1388; of 128 x 128 with a
 *           tile for each warpgroup 1171 (docs/perf/gpu-types.md).
 * LIMITS    sm_90a only. m, n >= 1; A is m x k and B n x k, both aligned to 16 bytes, lda and ldb multiples of 16. WIDE
 *           and C_HALF as in wgmma_c.cuh. Tiles + grid < 2^31. ROW_M 128 or 256, ROW_N 64, 128 or 192, at most 64 x 192
 *           or 128 x 128 for a warpgroup.
 * HOST      as gemm_wgmma_sm90, elements of 1 byte in boxes of 128 along k.
 * CHANGED   from gemm_wgmma_sm90: the promotion; both warpgroups share a tile.
 * SOURCE    PTX ISA; promotion: DeepGEMM and CUTLASS, 2025 */
#ifndef GROUP_M
#define GROUP_M 8
#endif
#include "rung.cuh"
#include "arguments.h"
#define MATRIX_N          ROW_N
#define MATRIX_MN_MAJOR_A 0
#define MATRIX_MN_MAJOR_B 0
#include "hopper.cuh"
#include "wgmma_c.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    GROUPS = 2,
    ROWS = BM / GROUPS, /* of a warpgroup */
    SUBTILES = ROWS / 64,
    STAGES = ROW_STAGES,
    THREADS = ROW_THREADS,
    CONSUMERS = GROUPS * 128,
    WITHIN = 1 /* named barriers: of the threads of warpgroup 0 or 1 */
};
ASSUME(ELEMENT_BYTES == 1 && BK == 128 && THREADS == CONSUMERS + 128)
ASSUME(ROWS % 64 == 0 && (SUBTILES + 1) * BN / 2 <= 192) /* sums and a part that registers hold */

struct stage {
    char a[BM][BK], b[BN][BK];
};

struct ring {
    struct stage stage[STAGES];
    element_c out[GROUPS][2][64][OUT_COLS];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) <= ROW_BYTES)
ASSUME_BOXES(64, BK, 64, BK)

#include "schedule.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm_fp8_sm90(MAYBE_SPLIT_ARGUMENTS(PARAMETER, float, element_c))
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, phase = 0, s = 0, blocks = ceil_div(k, BK), i0, j0;
    const struct tiling tiles = tiling_of<GROUP_M>(m, n);
#if !SPLIT_K
    const int splits = 1, length = blocks;
#endif
    const int works = splits * tiles.count;
    pdl_trigger();
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, CONSUMERS / 32);
    if (tid == CONSUMERS && blocks > 0) prefetch_map(&a_map), prefetch_map(&b_map);
    pdl_wait();
    __syncthreads(); /* all wait for the barriers */
    if (tid >= CONSUMERS) {
        REGISTERS_KEEP(24);
        for (int work = first_work(); tid == CONSUMERS && work < works; work = next_work(work)) {
            const struct run run = run_at(work, tiles, length, blocks);
            work_at<GROUP_M>(work, tiles, &i0, &j0);
            ROLLED
            for (int block = run.from; block < run.to; block++) {
                struct stage *to = &ring->stage[s];
                barrier_wait(&ring->empty[s], phase ^ 1); /* for the readers of this stage */
                barrier_expect(&ring->full[s], sizeof(struct stage));
                tma_load(to->a, &a_map, block * BK, i0, &ring->full[s]);
                tma_load(to->b, &b_map, block * BK, j0, &ring->full[s]);
                if (++s == STAGES) s = 0, phase ^= 1;
            }
        }
        return;
    }
    REGISTERS_TAKE(240);
    int group = tid / 128, next = 0;
    for (int work = first_work(); work < works; work = next_work(work)) {
        const struct run run = run_at(work, tiles, length, blocks);
        float sum[SUBTILES][BN / 2];
        UNROLLED
        for (int e = 0; e < SUBTILES * BN / 2; e++) sum[e / (BN / 2)][e % (BN / 2)] = 0;
        ROLLED
        for (int block = run.from; block < run.to; block++) {
            barrier_wait(&ring->full[s], phase); /* for the copies of this stage */
            unsigned long long a = matrix_descriptor(ring->stage[s].a[group * ROWS], 8 * 128, 0);
            unsigned long long b = matrix_descriptor(ring->stage[s].b, 8 * 128, 0);
            UNROLLED
            for (int q = 0; q < SUBTILES; q++) {
                float part[BN / 2]; /* set by wgmma alone */
                matrix_begin();
                UNROLLED
                for (int p = 0; p < BK; p += 32) matrix_multiply(part, a + (q * 64 * 128 + p) / 16, b + p / 16, p);
                matrix_commit();
                MATRIX_WAIT(0);
                matrix_end(part);
                if (q == SUBTILES - 1 && lane == 0) barrier_arrive(&ring->empty[s]); /* this warp has read it */
                UNROLLED
                for (int e = 0; e < BN / 2; e++) sum[q][e] += part[e];
            }
            if (++s == STAGES) s = 0, phase ^= 1;
        }
        work_at<GROUP_M>(work, tiles, &i0, &j0);
        if (SPLIT_K) i0 += item_at(work, tiles) * SPLIT_ROWS(m);
        i0 += group * ROWS;
        UNROLLED
        for (int q = 0; q < SUBTILES; q++)
            store_sums(ring->out[group], WITHIN + group, &next, &c_map, OUT, i0 + q * 64, j0, BN, sum[q]);
    }
    if (WIDE && tid % 128 == 0) TMA_STORES_DONE(); /* TMA still reads this block's memory */
}
