/* r14n_hopper - r14h in tiles of half the width, where they fill the last wave better.
 *
 * IDEA      A product takes as long as the multiprocessor that has most to do. 5000 x 5000 in tiles of 128 x 128 are 1600 for 132 multiprocessors: 13 for
 *           some, 12.1 on average, 7 % lost; in tiles of 128 x 64 3160, 24 for some and 23.9 on average. A block has two warps for four, and twice as many
 *           blocks are resident, so that the loop is the same, instruction by instruction; only A's tile serves half as many columns.
 * NUMBERS   21 flop per byte asked. 168 registers, 64 threads, 3 stages of 12 KiB, six blocks per multiprocessor. H200, A transposed, TFLOP/s, r14h
 *           and this: at 5000 49.4 and 53.3, at 4096 53.6 and 53.3, at 3000 45.5 and 45.2, at 2048 50.7 and 50.3. The planner counts the waves.
 * LIMITS    as r14h.
 * HOST      grid ceil(m / 128) * ceil(n / 64), block 64, dynamic shared memory sizeof(struct ring) = 36888 bytes, b_map's box {64, 16}; else as r14h.
 * CHANGED   from r14h: the width of the tile.
 * SOURCE    as r14h */
#define KERNEL r14n_hopper
#define BLOCK_N 64
#include "r14h_hopper.cu"
