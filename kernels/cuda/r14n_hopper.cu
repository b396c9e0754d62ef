/* r14n_hopper - r14h in tiles of half the width, where less of them lies outside C.
 *
 * IDEA      Tiles that C cuts to more than 32 rows and columns are computed whole. 3000 columns are 24 tiles of 128, of
 *           which the last is filled by half; in tiles of 64 they are 47, 2 % less. A block has two warps for four, and
 *           twice as many blocks are resident, so that the loop is nearly the same; only A's tile serves half as many
 *           columns.
 * NUMBERS   21 flop per byte asked. 168 registers, 64 threads, 3 stages of 12 KiB, six blocks per multiprocessor. H200,
 *           A transposed, TFLOP/s, r14h and this: at 4096 55.4 and 55.0, at 3000 51.9 and 52.6, at 2048 52.3 and 51.1.
 *           The planner counts the padded area, and what storing C costs.
 * LIMITS    as r14h.
 * HOST      grid ceil(m / 128) * ceil(n / 64), block 64, dynamic shared memory sizeof(struct ring) = 36888 bytes,
 *           b_map's box {64, 16}; else as r14h.
 * CHANGED   from r14h: the width of the tile; no tile is narrow, and C is stored by words where its rows do not begin
 *           at 16 bytes.
 * SOURCE    as r14h */
#define KERNEL  r14n_hopper
#define BLOCK_N 64
#include "r14h_hopper.cu"
