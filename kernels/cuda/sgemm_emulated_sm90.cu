/* sgemm_emulated_sm90 - the production kernel for f32 on sm_90 where the caller allows emulation: three products of f16
 * halves on the matrix units make one of f32, within f32's bound.
 *
 * IDEA      split.cu splits each element into high + 2^-11 low, two numbers of f16. Their products are exact in the
 *           matrix unit, which adds them and cuts off what does not fit:
 *
 *               a b = high high'  +  2^-11 (high low' + low high')  +  2^-22 low low', which is left out
 *
 *           The unit sums the large products of 32 steps of k alone, and the threads add that part to sums in f32
 *           (promotion), so that what is cut off does not grow with k. The small products add up in registers of their
 *           own through all of k: they are 2^-11 of the large ones, and so is what is cut off of them. While the
 *           threads add the large ones, the unit is at the small ones:
 *
 *               unit      | large | small, small | large | small, small | ...
 *               threads           | add |                | add |
 *
 *           Two warpgroups share a tile, the upper and the lower rows. At the end sums are scaled back by the powers of
 *           two of their row and column. Tiles whose lines vary too much, or hold NaN or infinity, are left to the
 *           kernel that follows (emulated.cuh).
 * NUMBERS   128 x 128 on the f16 units, three times: 96 flop/byte. 6 stages of 32 KiB and 32 KiB for C, 384 threads, 24
 *           and 240 registers, 192 of them sums: one block per multiprocessor. H200, TFLOP/s at 2048, 4096, 8192: 236,
 *           248, 250, and with all launches 139, 202, 225 (cuBLAS in f32: 50, 51, 51; docs/perf/emulated-f32.md).
 * LIMITS    sm_90a only. m, n >= 1, k 0, or from 128 to 2^30. WIDE as in wgmma_c.cuh. Tiles + grid < 2^31.
 * HOST      as gemm_fp8_sm90. The tensor maps of A and B are of split.cu's halves, f16, in boxes of the lines of a tile
 *           and 64 halves, swizzle 128 B. k = 0: nothing is read of A, B and their counts.
 * CHANGED   from gemm_fp8_sm90: two halves in a line, three products, sums of the small ones apart, exponents.
 * SOURCE    PTX ISA; Ootomo, Yokota: Recovering single precision accuracy from Tensor Cores, 2022 */
#define IN_F16 1
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
#include "emulated.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    GROUPS = 2,
    HALVES = 2 * BK,
    STAGES = ROW_STAGES,
    THREADS = ROW_THREADS,
    CONSUMERS = GROUPS * 128,
    WITHIN = 1 /* named barriers: of the threads of warpgroup 0 or 1 */
};
ASSUME(BM == EMULATED_EDGE && BN == EMULATED_EDGE && BK == HALVES_STEP && THREADS == CONSUMERS + 128)

struct stage {
    unsigned short a[BM][HALVES], b[BN][HALVES];
};

struct ring {
    struct stage stage[STAGES];
    element_c out[GROUPS][2][64][OUT_COLS];
    barrier full[STAGES], empty[STAGES];
};
ASSUME(sizeof(struct ring) <= ROW_BYTES)
ASSUME_BOXES(64, HALVES, 64, HALVES)

#include "schedule.cuh"

/* x 2^e, |e| below 2^9, of a sum that is 0 or at least 2^-84: rounded once, since what is then subnormal after the
 * first factor is 0 after the second. */
static __device__ __forceinline__ float scaled_back(float x, int e)
{
    e = max(min(e, 252), -252);
    return x * __int_as_float((e / 2 + 127) << 23) * __int_as_float((e - e / 2 + 127) << 23);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    sgemm_emulated_sm90(MAPPED_C_ARGUMENTS(PARAMETER, float, element_c), COUNTS_ARGUMENTS(PARAMETER))
{
    extern __shared__ __align__(1024) struct ring ring[];
    int tid = threadIdx.x, lane = tid % 32, phase = 0, s = 0, blocks = ceil_div(k, BK), i0, j0;
    const struct tiling tiles = tiling_of<GROUP_M>(m, n);
    pdl_trigger();
    if (blocks == 0) { /* no sums, and nothing is counted */
        pdl_wait();
        for (int work = first_work(); work < tiles.count; work = next_work(work)) {
            work_at<GROUP_M>(work, tiles, &i0, &j0);
            for (int e = tid; e < BM * BN; e += THREADS) put_one(OUT, i0 + e / BN, j0 + e % BN, 0);
        }
        return;
    }
    if (tid == 0) ring_init(STAGES, ring->full, ring->empty, CONSUMERS / 32);
    if (tid == CONSUMERS) prefetch_map(&a_map), prefetch_map(&b_map);
    pdl_wait();
    __syncthreads(); /* all wait for the barriers */
    if (tid >= CONSUMERS) {
        REGISTERS_KEEP(24);
        if (tid >= CONSUMERS + 32) return;
        for (int work = first_work(); work < tiles.count; work = next_work(work)) {
            work_at<GROUP_M>(work, tiles, &i0, &j0);
            if (!may_emulate(a_counts, b_counts, i0, j0)) {
                if (lane == 0) *tiles_left = 1;
                continue;
            }
            ROLLED
            for (int block = 0; lane == 0 && block < blocks; block++) {
                struct stage *to = &ring->stage[s];
                barrier_wait(&ring->empty[s], phase ^ 1); /* for the readers of this stage */
                barrier_expect(&ring->full[s], sizeof(struct stage));
                tma_load(to->a, &a_map, block * HALVES, i0, &ring->full[s]);
                tma_load(to->b, &b_map, block * HALVES, j0, &ring->full[s]);
                if (++s == STAGES) s = 0, phase ^= 1;
            }
        }
        return;
    }
    REGISTERS_TAKE(240);
    int group = tid / 128, next = 0;
    for (int work = first_work(); work < tiles.count; work = next_work(work)) {
        work_at<GROUP_M>(work, tiles, &i0, &j0);
        if (!may_emulate(a_counts, b_counts, i0, j0)) continue;
        float sum[BN / 2], large[BN / 2], small[BN / 2]; /* large and small: set by wgmma alone */
        UNROLLED
        for (int e = 0; e < BN / 2; e++) sum[e] = 0;
        ROLLED
        for (int block = 0; block < blocks; block++) {
            barrier_wait(&ring->full[s], phase); /* for the copies of this stage */
            const unsigned long long a = matrix_descriptor(ring->stage[s].a[group * 64], 8 * 128, 0),
                                     b = matrix_descriptor(ring->stage[s].b, 8 * 128, 0);
            enum { TO_LOW = BK * 2 / 16, STEP = 32 / 16 }; /* in units of 16 bytes: from high to low halves; 16 of k */
            matrix_begin();
            matrix_multiply(large, a, b, 0);
            matrix_multiply(large, a + STEP, b + STEP, 1);
            matrix_commit();
            matrix_multiply(small, a, b + TO_LOW, block);
            matrix_multiply(small, a + TO_LOW, b, 1);
            matrix_multiply(small, a + STEP, b + TO_LOW + STEP, 1);
            matrix_multiply(small, a + TO_LOW + STEP, b + STEP, 1);
            matrix_commit();
            MATRIX_WAIT(1);
            matrix_end(large);
            UNROLLED
            for (int e = 0; e < BN / 2; e++) sum[e] += large[e];
            MATRIX_WAIT(0);
            matrix_end(small);
            if (lane == 0) barrier_arrive(&ring->empty[s]); /* this warp has read it */
            if (++s == STAGES) s = 0, phase ^= 1;
        }
        const int row = i0 + group * 64 + tid % 128 / 32 * 16 + lane / 4, column = j0 + lane % 4 * 2,
                  e0 = a_exponents[row], e1 = a_exponents[row + 8];
        UNROLLED
        for (int q = 0; q < BN / 2; q += 4) {
            UNROLLED
            for (int e = 0; e < 4; e++)
                sum[q + e] = scaled_back(fmaf(small[q + e], 1.f / (1 << LOW), sum[q + e]),
                                         -(e < 2 ? e0 : e1) - b_exponents[column + q * 2 + e % 2]);
        }
        store_sums(ring->out[group], WITHIN + group, &next, &c_map, OUT, i0 + group * 64, j0, BN, sum);
    }
    if (WIDE && tid % 128 == 0) TMA_STORES_DONE(); /* TMA still reads this block's memory */
}
