/* d1_splitk - deep rung 1, split-K: k is divided among blocks, so that a C of few tiles keeps the whole device busy.
 *
 * IDEA      r04 has a block for each tile of C. Where C is small and k long that is a handful of blocks, each with a
 *           very long loop, and most multiprocessors have nothing to do. Here `parts` blocks share a tile: each sums
 *           its own part of k and leaves that in memory. A second kernel, d1_splitk_add, adds what the blocks have
 *           left, part 0 first:
 *
 *                     k                              sums                          C
 *             .---------------.
 *           A |   |   |   |   |  m       .---.  .---.  .---.  .---.             .---.
 *             '---------------'    ->    | 0 |  | 1 |  | 2 |  | 3 |     ->      | C | <- alpha (0 + 1 + 2 + 3) + beta C
 *             parts 0   1   2   3        '---'  '---'  '---'  '---'             '---'
 *
 *           The parts are added in one order, whichever block ended first: the same bits every time. Added to C as they
 *           come (atomics) they would differ from run to run, since (a + b) + c is not a + (b + c) in floating point.
 * NUMBERS   the loads, stores and flops of r04, and 4 bytes written and read again for each element of C and part.
 *           64 x 64 x 65536 has 16 tiles of 16 x 16, and an H200 132 multiprocessors with room for 8 such blocks each:
 *           16 blocks of 4096 tiles of k each in r04, 1024 of 64 here. Two launches instead of one. CUDA there: 3.95 ms
 *           in r04, 136 us here.
 * LIMITS    any m, n, k, ld and transposes; T = 8, 16, 32. As many parts as make some 1024 blocks, by the shape alone,
 *           so that no device changes a bit; no more than k has tiles. One part, and nothing to add, where C has more
 *           than 512 tiles by itself, or no memory for sums is given.
 * CHANGED   from r04: the block's number says which tile and which part; the sum goes to `sums`; the second kernel.
 * SOURCE    Kerr et al.: CUTLASS, 2017, parallelised reductions */
#include "../rung.clh"

/* The element of C that this thread has, in tile number `tile`. */
#define PLACE_OF(tile)                                                                                                 \
    int tx = get_local_id(0), ty = get_local_id(1), tiles_n = ceil_div(n, TILE), i = (tile) / tiles_n * TILE + ty,     \
        j = (tile) % tiles_n * TILE + tx

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void d1_splitk(PARAMETERS, int parts,
                                                                             __global float *restrict sums)
{
    __local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tiles = get_num_groups(0) / parts, part = get_group_id(0) / tiles, steps = ceil_div(ceil_div(k, TILE), parts);
    PLACE_OF(get_group_id(0) % tiles);
    float sum = 0;
    ROLLED
    for (int t = part * steps; t < min((part + 1) * steps, ceil_div(k, TILE)); t++) {
        int a_p = t * TILE + tx, b_p = t * TILE + ty;
        a_tile[ty][tx] = i < m && a_p < k ? A(i, a_p) : 0;
        b_tile[ty][tx] = b_p < k && j < n ? B(b_p, j) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fma(a_tile[ty][p], b_tile[p][tx], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i >= m || j >= n) return;
    if (parts == 1)
        blend(&C(i, j), alpha, sum, beta);
    else
        sums[((long)part * m + i) * n + j] = sum;
}

/* A block for each tile of C. */
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void d1_splitk_add(PARAMETERS, int parts,
                                                                                 __global float *restrict sums)
{
    PLACE_OF(get_group_id(0));
    float sum = 0;
    if (i >= m || j >= n) return;
    for (int part = 0; part < parts; part++) sum += sums[((long)part * m + i) * n + j];
    blend(&C(i, j), alpha, sum, beta);
}
