/* r14c_column - variant: r14k_slices in tiles of 32 x 4, for a matrix times a column.
 *
 * IDEA      Nothing of A is used twice: all that counts is how it is asked for. Steps of 64 bring lines of 256 bytes,
 *           and 2 of the 3 stages of 8 warps, 147 KB for each multiprocessor, are on their way at any time.
 * NUMBERS   H200: 16384 x 1 x 16384 244 microseconds, 4.4 TB/s (cuBLASLt's best of eight 245; with lines of 128 bytes
 *           265).
 * LIMITS    as r14k_slices.
 * HOST      grid ceil(m / 32) * ceil(n / 4), block 256, dynamic shared memory 8 * sizeof(union slice) = 221184 bytes.
 * CHANGED   from r14k: the tile, and how lanes stand in it.
 * SOURCE    as r14k_slices */
#define KERNEL       r14c_column
#define BLOCK_M      32
#define BLOCK_N      4
#define BLOCK_K      64
#define LANES_M      32
#define BLOCK_WARPS  8
#define BLOCK_STAGES 3
#define BLOCK_QUADS  16
#define BLOCKS       1
#include "r14k_slices.cu"
