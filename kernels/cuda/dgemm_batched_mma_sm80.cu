/* dgemm_batched_mma_sm80 - batches of f64 products on the matrix units, in one launch of persistent blocks.
 *
 * IDEA      dgemm_mma_sm80's tile with the blocks of sgemm_batched_cpasync_sm80: a block goes from tile to tile of all
 *           items, and its copies run STAGES - 1 steps ahead, across the borders of items. So do its operands in
 *           registers: the first steps of an item are loaded while the last of the item before are multiplied.
 *
 *               copies         4 4 | 5 5 | 6 6 ...       16 bytes each where an item is aligned to them, else 8
 *               registers        3 | 4 4 | 5 5 ...
 *               units          3 3   | 4 4 C| 5 5 C ...  C: stores, while the copies go on
 *
 * NUMBERS   An item of 128 x 128 x 128 moves 393 KB for 4.2 Mflop: on an H200 memory is the bound for it (94 us for
 *           1000, FMAs 63) and for all smaller ones. So what counts are bytes in flight: 8 blocks of 64 threads in
 *           tiles of 32, 3 of 128 in tiles of 64, one of 256 in tiles of 128, each with at least 48 KiB ahead on a
 *           multiprocessor. Tiles of 128 read A and B once, those of 64 twice, through the L2.
 * LIMITS    sm_80 and above. Any m, n, k, ld, strides, addresses of whole elements, and transposes; items need not be
 *           aligned alike. WIDE = 1 promises that addresses, ld and strides are multiples of 16 bytes. An element is
 *           one sum over k, whatever its item's index.
 * HOST      as sgemm_batched_cpasync_sm80, alpha and beta as double.
 * CHANGED   from dgemm_mma_sm80: the walk over items for split-K and rasterisation.
 * SOURCE    PTX ISA (mma.sync for f64, cp.async); Kerr et al.: CUTLASS, 2017 */
#define SUMS_F64 1
#include "rung.cuh"
#include "arguments.h"
#include "batch.cuh"
#include "dgemm_tile.cuh"

ASSUME(BM == BN)

#include "schedule.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, ROW_BLOCKS)
    dgemm_batched_mma_sm80(BATCH_ARGUMENTS(PARAMETER, double))
{
    extern __shared__ __align__(16) struct stage ring[];
    const bool a_along = !OP_A, b_along = OP_B;
    int warp = threadIdx.x / 32;
    const struct tiling tiles = tiling_of(m, n);
    int pieces = max(ceil_div(k, BK), 1), i_warp = warp / WARPS_N * TM, j_warp = warp % WARPS_N * TN;
    const double *a = 0, *b = 0; /* of the item that is fetched next */
    bool a_by_16 = WIDE, b_by_16 = WIDE;
    struct walk next = {0, first_work()};
    int i0 = 0, j0 = 0, now = 0, c_i0, c_j0;
    auto fetch_next = [&](struct stage *at) {
        if (next.work < works) {
            if (next.piece == 0) {
                work_at(next.work, tiles, &i0, &j0);
                if (k > 0) a = item_of<const double>(a_items, pointers, stride_a, item_at(next.work, tiles));
                if (k > 0) b = item_of<const double>(b_items, pointers, stride_b, item_at(next.work, tiles));
                if (!WIDE) a_by_16 = in_16(a, lda), b_by_16 = in_16(b, ldb);
            }
            fetch<BM, a_along>(at->a, a, lda, a_by_16, i0, m, next.piece * BK, k);
            fetch<BN, b_along>(at->b, b, ldb, b_by_16, j0, n, next.piece * BK, k);
            walk_on(&next, pieces);
        }
        copies_commit();
    };
    pdl_trigger();
    pdl_wait();
    for (int q = 0; q < STAGES - 1; q++) fetch_next(&ring[q]);
    struct fragments ahead;
    COPIES_WAIT(STAGES - 2);
    __syncthreads();
    load_first<a_along, b_along>(&ahead, ring, i_warp, j_warp);
    ROLLED
    for (int work = first_work(); work < works; work = next_work(work)) {
        struct piece_sums sum[PIECES_M][PIECES_N] = {};
        ROLLED /* mainloop; what is loaded behind the last item is not used */
            for (int done = 0; done < pieces; done++)
        {
            fetch_next(&ring[now == 0 ? STAGES - 1 : now - 1]);
            multiply_stage<a_along, b_along>(sum, &ahead, ring, &now);
        }
        double *c = item_of<double>(c_items, pointers, stride_c, item_at(work, tiles));
        work_at(work, tiles, &c_i0, &c_j0);
        store_warp(OUT, c_i0 + i_warp, c_j0 + j_warp, sum);
    }
}
