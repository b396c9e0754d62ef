/* s1_unoptimised - skinny rung 1: A is m x T, B is T x n; every word comes from global memory each time.
 *
 * IDEA      C is the outer product of one column of tiles and one row of tiles. A group of T x T work-items computes
 *           one tile of C, and each work-item walks along a row of A's tile and a column of B's:
 *
 *                            B .---.---.---.
 *                              |   | | |   |  T
 *            A .---.           '---'-|-'---'
 *              |   |         C .---.-|-.---.
 *              |---|           |   | | |   |        row i of the tile: T neighbours in x read the same word of A,
 *              |===| - - - - - |- - -x |   |        T neighbouring words of B; each word of either tile is read T times
 *              |---|           |---|---|---|
 *                T
 *
 * NUMBERS   T = 16 (32): 2 T flops, 32 (64) loads and 1 store per work-item: 132 (260) bytes asked per element of C. A
 *           warp's load of A: 2 sectors in 2 lines, 8 of 64 bytes used (1 sector, 4 of 32); of B: 2 sectors (4), all
 *           used. On compute capability 1.1 and below the load of A took 16 transactions per half-warp, later 1.
 *           Published effective bandwidth, taken as 12 bytes per element of C: GTX 280 8.7 GB/s, 8800 GTX 0.7. Rolled,
 *           H200 at 4096 x T x 4096: 1169 (584) GB/s, since caches serve the rereading.
 * LIMITS    k = T, and only then: T = 16 or 32 is a constant. Any m, n, ld and transposes (the degrees are those of
 *           none).
 * CHANGED   from r01: k is a constant.
 * SOURCE    NVIDIA Best Practices, unoptimised matrix multiplication, with m, strides and guarded edges. */
#include "../rung.clh"

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void s1_unoptimised(PARAMETERS)
{
    int i = get_group_id(1) * TILE + get_local_id(1), j = get_group_id(0) * TILE + get_local_id(0);
    if (i >= m || j >= n) return;
    float sum = 0;
    ROLLED
    for (int p = 0; p < TILE; p++) sum = fma(A(i, p), B(p, j), sum);
    blend(&C(i, j), alpha, sum, beta);
}
