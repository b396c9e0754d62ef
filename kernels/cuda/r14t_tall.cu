/* r14t_tall - variant: r14k_slices in tiles of 32 x 16, for C of few columns, and for tiny products.
 *
 * IDEA      A with 4096 rows and columns times 16 columns must bring 67 MB for 0.5 GFLOP: memory takes as long as half
 *           of all multiply-adds would. 128 tiles keep 132 multiprocessors busy with the whole of k in each, so that
 *           nothing is left to add between blocks; steps of 32 bring lines of 128 bytes.
 * NUMBERS   10.7 flop per byte asked of the L2. 4 x 4 sums per thread: 8 loads of 16 bytes per 64 FMAs, which shared
 *           memory serves at half of the FMAs' peak. H200, microseconds beside the best of cuBLASLt's eight: 4096 x 16
 *           x 4096 21.5 (41.6), 256 cubed 4.5 (8.4), 128 cubed 3.7 (7.7).
 * LIMITS    as r14k_slices.
 * HOST      grid ceil(m / 32) * ceil(n / 16), block 256, dynamic shared memory 8 * sizeof(union slice) = 147456 bytes.
 * CHANGED   from r14k: the tile, and how lanes stand in it.
 * SOURCE    as r14k_slices */
#define KERNEL       r14t_tall
#define BLOCK_M      32
#define BLOCK_N      16
#define BLOCK_K      32
#define LANES_M      8
#define BLOCK_WARPS  8
#define BLOCK_STAGES 3
#define BLOCK_QUADS  8
#define BLOCKS       1
#include "r14k_slices.cu"
