/* r14r_row - variant: r14k_slices in tiles of 4 x 64, for a row times a matrix.
 *
 * IDEA      r14c_column on its side.
 * NUMBERS   those of r14c_column.
 * LIMITS    as r14k_slices.
 * HOST      grid ceil(m / 4) * ceil(n / 64), block 128, dynamic shared memory 4 * sizeof(union slice) = 208896 bytes.
 * CHANGED   from r14c: its sides.
 * SOURCE    as r14k_slices */
#define KERNEL r14r_row
#define BLOCK_M 4
#define BLOCK_N 64
#define BLOCK_K 64
#define LANES_M 1
#define BLOCK_WARPS 4
#define BLOCK_STAGES 3
#include "r14k_slices.cu"
