/* r14r_row - variant: r14k_slices in tiles of 4 x 128, for a row times a matrix.
 *
 * IDEA      r14c_column on its side, with lines of 512 bytes where B lies as stored.
 * NUMBERS   those of r14c_column.
 * LIMITS    as r14k_slices.
 * HOST      grid ceil(m / 4) * ceil(n / 128), block 128, dynamic shared memory 4 * sizeof(union slice) = 202752 bytes.
 * CHANGED   from r14c: its sides, and the depth of a step.
 * SOURCE    as r14k_slices */
#define KERNEL       r14r_row
#define BLOCK_M      4
#define BLOCK_N      128
#define BLOCK_K      32
#define LANES_M      1
#define BLOCK_WARPS  4
#define BLOCK_STAGES 3
#define BLOCK_QUADS  8
#define BLOCKS       1
#include "r14k_slices.cu"
