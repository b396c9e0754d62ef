/* r14f_flat - variant: r14k_slices in tiles of 16 x 32, for C of few rows.
 *
 * IDEA      r14t_tall on its side.
 * NUMBERS   those of r14t_tall. H200: 16 x 4096 x 4096 21.3 microseconds (43.3).
 * LIMITS    as r14k_slices.
 * HOST      grid ceil(m / 16) * ceil(n / 32), block 256, dynamic shared memory 8 * sizeof(union slice) = 147456 bytes.
 * CHANGED   from r14k: the tile, and how lanes stand in it.
 * SOURCE    as r14k_slices */
#define KERNEL       r14f_flat
#define BLOCK_M      16
#define BLOCK_N      32
#define BLOCK_K      32
#define LANES_M      4
#define BLOCK_WARPS  8
#define BLOCK_STAGES 3
#define BLOCK_QUADS  8
#define BLOCKS       1
#include "r14k_slices.cu"
