/* r14e_each - variant: r14b_boxes in tiles of 64 x 32, for products whose ends lie within r14k's tiles.
 *
 * IDEA      500 x 300 x 700 is 80 tiles of 64 x 32. 12 warps for each: what begins at once ends at once, and no second
 *           tile follows on the multiprocessor.
 * NUMBERS   8 x 8 sums per thread: 4 loads of 16 bytes per 64 FMAs. H200, microseconds beside the best of cuBLASLt's
 *           eight: 500 x 300 x 700 13.1 (15.1), r14k 17.4; 512 cubed 9.8 (15.0), r14k 9.9.
 * LIMITS    as r14b_boxes.
 * HOST      as r14b_boxes; dynamic shared memory 147648 bytes.
 * CHANGED   from r14b: the tile, and how lanes stand in it.
 * SOURCE    as r14b_boxes */
#define KERNEL  r14e_each
#define WARP_N  32
#define WARPS_N 1
#define SLICES  12
#include "r14b_boxes.cu"
