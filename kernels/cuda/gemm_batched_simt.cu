/* gemm_batched_simt - batches of every type on any CUDA GPU in one launch, by plain multiply-adds: where no matrix unit
 * and no cp.async is.
 *
 * IDEA      gemm_simt's tiles, of all items: block number b computes tile b % tiles of item b / tiles.
 *
 *               blocks    0 1 2 3 | 4 5 6 7 | 8 ...      of items of 128 x 128
 *               items        0    |    1    | 2
 *
 * NUMBERS   as gemm_simt; f64 has 16,896 bytes of shared memory.
 * LIMITS    any m, n, k, ld, strides, addresses of whole elements, and transposes.
 * HOST      a block for each tile, ROW_THREADS threads. -DTYPE_A, -DTYPE_B, -DELEMENT_BYTES, of f64 -DSUMS_F64=1.
 * CHANGED   from gemm_simt: the items; f32 and f64 too.
 * SOURCE    Kerr et al.: CUTLASS, 2017 */
#include "rung.cuh"
#include "arguments.h"
#include "batch.cuh"
#include "simt_tile.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) gemm_batched_simt(BATCH_ARGUMENTS(PARAMETER, number))
{
    const struct tiling tiles = tiling_of(m, n);
    int item = blockIdx.x / tiles.count, tile = blockIdx.x % tiles.count, i0, j0;
    const TYPE_A *a = 0;
    const TYPE_B *b = 0;
    if (k > 0) a = item_of<const TYPE_A>(a_items, pointers, stride_a, item);
    if (k > 0) b = item_of<const TYPE_B>(b_items, pointers, stride_b, item);
    element_c *c = item_of<element_c>(c_items, pointers, stride_c, item);
    tile_at(tile, tiles, &i0, &j0);
    multiply_tile(k, a, lda, b, ldb, OUT, i0, j0);
}
