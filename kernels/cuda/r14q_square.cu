/* r14q_square - variant: r14k_slices in tiles of 64 x 64, for products between small and large.
 *
 * IDEA      1024 cubed is 256 tiles, two for each of 128 multiprocessors, in blocks of 4 warps, of which two fit at a
 *           time.
 * NUMBERS   32 flop per byte asked of the L2. 16 x 8 sums per thread: 24 loads of 16 bytes per 512 FMAs where A lies
 *           across k. H200, microseconds beside the best of cuBLASLt's eight: 1024 cubed 54.7 (55.6), A transposed 48.7
 *           (54.2).
 * LIMITS    as r14k_slices.
 * HOST      grid ceil(m / 64) * ceil(n / 64) * parts, block 128, dynamic shared memory 4 * sizeof(union slice) = 98304
 *           bytes; else as r14k_slices.
 * CHANGED   from r14k: the tile, how lanes stand in it, and half of the loop over a step is written out.
 * SOURCE    as r14k_slices */
#define KERNEL       r14q_square
#define BLOCK_M      64
#define BLOCK_N      64
#define BLOCK_K      16
#define LANES_M      4
#define BLOCK_WARPS  4
#define BLOCK_STAGES 3
#define BLOCK_QUADS  2
#define BLOCKS       2
#include "r14k_slices.cu"
