/* add - the second kernel where blocks divide k: adds the runs of each element of C, always in the same order.
 *
 * IDEA      The sums of a run lie in the workspace as a matrix. A warp has a row of 128 columns, a lane every 32nd, so
 *           that loads and stores are of 32 neighbours, however C is aligned. Of many runs the warps of a block have a
 *           share each, which the first one adds.
 *
 *               runs      0   1   2  |  3   4   5  |  6   7        3 warps
 *               warp      0          |  1          |  2            then 0: 0-2, 3-5, 6-7, and C
 *
 * NUMBERS   Runs are read once, mostly from the L2, and C is written once: 4 m n (splits + 1) bytes.
 * LIMITS    m, n, splits >= 1; any C. C_HALF, IN_F16, SUMS_S32 as in epilogue.cuh.
 * HOST      threads 32 x the number of shares, at most 8; a block for 128 columns of a row; grid m * ceil(n / 128).
 *           memory as arguments.h says. May be launched with PDL (programmatic stream serialization).
 * SOURCE    NVIDIA: CUTLASS, 2017 (split-K with a reduction) */
#define WIDE 0
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#include "pdl.cuh"

enum { LANES = 32, EACH = 4, COLUMNS = LANES * EACH, MOST_SHARES = 8 };

static __device__ __forceinline__ number plus(number x, number y)
{
#if SUMS_S32
    return (int)((unsigned)x + (unsigned)y);
#else
    return x + y;
#endif
}

extern "C" __global__ void __launch_bounds__(LANES *MOST_SHARES)
    add(PLAIN_ARGUMENTS(PARAMETER, number, char, char, element_c), SPLIT_ARGUMENTS(PARAMETER, const number *))
{
    __shared__ number shares[MOST_SHARES][COLUMNS];
    const int lane = threadIdx.x, share = threadIdx.y, strips = ceil_div(n, COLUMNS), row = blockIdx.x / strips,
              column = blockIdx.x % strips * COLUMNS + lane, each = ceil_div(splits, blockDim.y), from = share * each,
              to = min(from + each, splits);
    const long run = (long)RUN_ROWS(m) * RUN_COLUMNS(n);
    const number *sums = memory + (long)row * RUN_COLUMNS(n) + column;
    number sum[EACH] = {0};
    pdl_trigger();
    pdl_wait();
    _Pragma("unroll 4") for (int split = from; split < to; split++)
    {
        UNROLLED
        for (int q = 0; q < EACH; q++)
            if (column + q * LANES < n) sum[q] = plus(sum[q], __ldcg(&sums[split * run + q * LANES]));
    }
    if (share > 0) {
        UNROLLED
        for (int q = 0; q < EACH; q++) shares[share][lane + q * LANES] = sum[q];
    }
    __syncthreads();
    if (share > 0) return;
    UNROLLED
    for (int q = 0; q < EACH; q++) {
        for (int other = 1; other < blockDim.y; other++) sum[q] = plus(sum[q], shares[other][lane + q * LANES]);
        put_one(OUT, row, column + q * LANES, sum[q]);
    }
}
