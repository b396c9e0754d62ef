/* dgemm_mma_sm80 - the production kernel for f64 from sm_80 on: the matrix units' mma.sync, fed by cp.async.
 *
 * IDEA      Every warp owns TM x TN of the block's tile, in pieces of 16 x 8 that one mma.sync adds 8 steps of k to (on
 *           sm_80 four of 8 x 8 and 4 steps). Operands lie in shared memory as they are stored, and are copied by 16
 *           bytes where they are aligned to them, else by 8. MN-major: [p][edge]; rows are 4 words longer than the
 *           tile, so that 4 lines and 4 steps, the lanes of half a warp, lie in different banks. K-major: [edge][p];
 *           the fours of each line are exchanged (swizzle). Beyond an edge a copy writes zeros.
 *
 *           The next 8 steps are loaded into registers while these are multiplied, a part behind the first mma.sync of
 *           each row of pieces, also those behind the barrier between two stages. A warp that loaded all at once would
 *           wait until the unit has read the registers that it loads into, and the other warp of its quarter at the
 *           same time. Where 64 sums leave no more registers, A is half as far ahead.
 *
 *           Where C has too few tiles for the device, split-K: `splits` blocks divide k, and their partial sums are
 *           added in a fixed order (splitk.cuh). A thread of one block holds what the same thread of another holds, so
 *           registers are stored as they are.
 *
 * NUMBERS   128 x 128 x 16: 16 flop/byte of the L2, 64 sums per thread, 8 warps of 64 x 32; 4 stages of 33 KiB. For 8
 *           steps a lane loads 24 words of 8 bytes for 16 mma.sync of 1024 FMAs each; a quarter of a multiprocessor
 *           does 32 a cycle. H200, alone on the device: 58.1 TFLOP/s at 4096 (docs/perf/dgemm-mma.md).
 * LIMITS    sm_80 and above. Any m, n >= 1, k, ld, address and transposes. Fewer than 2^31 tiles.
 * HOST      grid ceil(m / BM) * ceil(n / BN) * splits, block 32 WARPS_M WARPS_N, dynamic shared memory STAGES *
 *           sizeof(struct stage). splits > 1: as sgemm_slicedk_sm80, with doubles for its floats.
 * CHANGED   from r13m_mma: f64, its own layouts, operands loaded ahead, split-K.
 * SOURCE    PTX ISA (mma.sync for f64, cp.async); Kerr et al.: CUTLASS, 2017 */
#define SUMS_F64 1
#include "rung.cuh"
#include "arguments.h"
#include "ampere.cuh"
#include "dgemm_tile.cuh"

enum { EACH = BM * BN / 2 / THREADS /* pairs of sums of a thread */, GROUP_M = 8 };

#include "schedule.cuh"
#include "splitk.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    dgemm_mma_sm80(PLAIN_ARGUMENTS(PARAMETER, double, double, double, double), SPLIT_ARGUMENTS(PARAMETER, double2 *))
{
    extern __shared__ __align__(16) struct stage ring[];
    const bool a_along = !OP_A, b_along = OP_B;
    int warp = threadIdx.x / 32, tile = blockIdx.x / splits, split = blockIdx.x % splits, i0, j0;
    tile_at<GROUP_M>(tile, tiling_of<GROUP_M>(m, n), &i0, &j0);
    unsigned long long steps = ceil_div(k, BK);
    int begin = (int)(steps * (unsigned)split / splits), end = (int)(steps * (unsigned)(split + 1) / splits);
    int i_warp = warp / WARPS_N * TM, j_warp = warp % WARPS_N * TN;
    bool a_by_16 = WIDE || in_16(a, lda), b_by_16 = WIDE || in_16(b, ldb);
    union {
        struct piece_sums of[PIECES_M][PIECES_N];
        double2 pairs[EACH];
    } sum;
    UNROLLED
    for (int i = 0; i < EACH; i++) sum.pairs[i] = make_double2(0, 0);
    for (int q = 0; q < STAGES - 1; q++) { /* prologue */
        if (begin + q < end) {
            fetch<BM, a_along>(ring[q].a, a, lda, a_by_16, i0, m, (begin + q) * BK, k);
            fetch<BN, b_along>(ring[q].b, b, ldb, b_by_16, j0, n, (begin + q) * BK, k);
        }
        copies_commit();
    }
    struct fragments ahead;
    COPIES_WAIT(STAGES - 2);
    __syncthreads();
    load_first<a_along, b_along>(&ahead, ring, i_warp, j_warp);
    ROLLED /* mainloop */
        for (int block = begin, now = 0; block < end; block++)
    {
        if (block + STAGES - 1 < end) {
            int to = now == 0 ? STAGES - 1 : now - 1;
            fetch<BM, a_along>(ring[to].a, a, lda, a_by_16, i0, m, (block + STAGES - 1) * BK, k);
            fetch<BN, b_along>(ring[to].b, b, ldb, b_by_16, j0, n, (block + STAGES - 1) * BK, k);
        }
        copies_commit();
        multiply_stage<a_along, b_along>(sum.of, &ahead, ring, &now);
    }
    if (!fix_up(sum.pairs, NULL, tile, split, splits, memory, flags, epoch)) return;
    store_warp(OUT, i0 + i_warp, j0 + j_warp, sum.of);
}
