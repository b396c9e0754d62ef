/* gemm_simt - every type that has matrix units, on any CUDA GPU without them: bf16, f16, tf32, e4m3, e5m2, i8 and u8 by
 * plain multiply-adds.
 *
 * IDEA      dgemm_simt in f32, or in 32-bit integers: a thread owns 4 x 4 elements of C, 16 rows and columns apart. An
 *           element becomes a number when it is copied into shared memory, once for the 64 products that it is part of.
 *
 * NUMBERS   64 x 64 x 16: 16 sums, 8448 bytes of shared memory.
 * LIMITS    any m, n >= 1, k, ld, address and transposes. Fewer than 2^31 tiles.
 * CHANGED   from dgemm_simt: the types.
 * SOURCE    Kerr et al.: CUTLASS, 2017; OCP 8-bit floating point specification 1.0 */
#include "rung.cuh"
#include "arguments.h"
#include "simt_tile.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm_simt(PLAIN_ARGUMENTS(PARAMETER, number, TYPE_A, TYPE_B, element_c))
{
    const struct tiling tiles = tiling_of(m, n);
    int i0, j0;
    tile_at(blockIdx.x, tiles, &i0, &j0);
    multiply_tile(k, a, lda, b, ldb, OUT, i0, j0);
}
