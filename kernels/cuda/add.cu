/* add - the second kernel of split-K: adds the partial sums of each element of C, always in the same order.
 *
 * IDEA      The partial sums of a part of k lie in the workspace as a matrix. A warp has 128 elements of C, which
 *           follow each other row by row, a lane every 32nd, so that 32 neighbours are loaded and stored at once,
 *           however C is aligned and however narrow it is. Several warps of a block divide the parts among them; warp 0
 *           adds what they have.
 *
 *               parts     0   1   2  |  3   4   5  |  6   7        3 warps
 *               warp      0          |  1          |  2            then 0: 0-2, 3-5, 6-7, and C
 *
 * NUMBERS   Partial sums are read once, mostly from the L2, and C is written once: 4 m n (splits + 1) bytes.
 * LIMITS    m, n, splits >= 1, m n < 2^31; any C. C_HALF, IN_F16, SUMS_S32 as in epilogue.cuh.
 * HOST      threads 32 x the number of shares, at most 8; a block for 128 elements; grid ceil(m n / 128). memory as
 *           arguments.h says. May be launched with PDL (programmatic stream serialization).
 * SOURCE    NVIDIA: CUTLASS, 2017 (split-K with a reduction) */
#define WIDE 0
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#include "pdl.cuh"

enum { LANES = ADD_LANES, ELEMENTS = ADD_ELEMENTS, EACH = ELEMENTS / LANES };

static __device__ __forceinline__ number plus(number x, number y)
{
#if SUMS_S32
    return (int)((unsigned)x + (unsigned)y);
#else
    return x + y;
#endif
}

extern "C" __global__ void __launch_bounds__(LANES *ADD_SHARES)
    add(PLAIN_ARGUMENTS(PARAMETER, number, char, char, element_c), ADDED_ARGUMENTS(PARAMETER, const number *))
{
    __shared__ number shares[ADD_SHARES][ELEMENTS];
    const int lane = threadIdx.x, share = threadIdx.y, each = ceil_div(splits, blockDim.y), from = share * each,
              to = min(from + each, splits);
    const long part = (long)part_rows * SPLIT_COLUMNS(n);
    int row[EACH], column[EACH];
    const number *sums[EACH];
    number sum[EACH] = {0};
    UNROLLED
    for (int q = 0; q < EACH; q++) {
        const int element = blockIdx.x * ELEMENTS + q * LANES + lane;
        row[q] = element / n, column[q] = element % n;
        sums[q] = memory + (long)row[q] * SPLIT_COLUMNS(n) + column[q];
    }
    pdl_trigger();
    pdl_wait();
    _Pragma("unroll 4") for (int split = from; split < to; split++)
    {
        UNROLLED
        for (int q = 0; q < EACH; q++)
            if (row[q] < m) sum[q] = plus(sum[q], __ldcg(&sums[q][split * part]));
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
        put_one(OUT, row[q], column[q], sum[q]);
    }
}
