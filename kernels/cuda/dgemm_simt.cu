/* dgemm_simt - the production kernel for f64 on GPUs without matrix units for it.
 *
 * IDEA      r05's outer product in two dimensions: a thread owns 4 x 4 elements of C, 16 rows and columns apart, so
 *           that the lanes of a warp read neighbouring words. Both tiles lie in shared memory as [p][edge].
 *
 *                          b: words tx, tx + 16, + 32, + 48
 *                        .--.--.--.--.
 *            a: words    |  |  |  |  |      8 shared loads of 8 bytes
 *            ty, ty + 16 |--|--|--|--|      16 FMAs
 *            ...         '--'--'--'--'
 *
 * NUMBERS   64 x 64 x 16: 8 flop/byte asked; 16 sums, 16,896 bytes of shared memory.
 * LIMITS    any m, n >= 1, k, ld, address and transposes. Fewer than 2^31 tiles.
 * CHANGED   from r10s_scalar: f64, a quarter of its tile, one buffer.
 * SOURCE    Kerr et al.: CUTLASS, 2017 */
#define SUMS_F64 1
#define TYPE_A   f64
#define TYPE_B   f64
#include "rung.cuh"
#include "arguments.h"
#include "simt_tile.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) dgemm_simt(PLAIN_ARGUMENTS(PARAMETER, double, f64, f64, double))
{
    int i0, j0;
    tile_at(blockIdx.x, tiling_of(m, n), &i0, &j0);
    multiply_tile(k, a, lda, b, ldb, OUT, i0, j0);
}
