/* r02_tiled.cu - exercise with 6 gaps. Tiles of A and B in shared memory; each word loaded is used T times.
 *
 *     tilewright ladder --rung exercises/r02_tiled.cu --size 256
 *
 *          A   k ->                  B
 *        .---.---.---.             .---.       the T x T threads of a block load tile t of A and of B,
 *        |   | t |   |             |   |       wait for each other, add T products each,
 *        '---'---'---'             | t |       wait for each other, and load the next two tiles
 *                                  |   |
 *                                  '---'
 *
 * a_tile[y][x] is word (y, x) of A's tile, b_tile[y][x] of B's. What goes wrong without the first wait? Without the
 * second? Neighbours in x still read words of B that lie a row apart: that is for r03.
 *
 * docs/COURSE.md, page 2, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r02_tiled.cu: edit those. */
#include "rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) r02_tiled(PARAMETERS)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx, b_j = blockIdx.x * TILE + ty;
    float sum = 0;
    /* how many tiles, also where TILE does not divide k? */
    ROLLED
    for (int t = 0; t < GAP_1; t++) {
        int a_p = t * TILE + tx, b_p = t * TILE + tx;
        a_tile[ty][tx] = i < m && a_p < k ? A(i, a_p) : 0;
        b_tile[tx][ty] = b_p < k && b_j < n ? B(b_p, b_j) : 0;
        /* what must have happened before anyone reads the tiles? */
        GAP_2;
        /* which words of the tiles are multiplied in step p? */
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fmaf(GAP_3, GAP_4, sum);
        /* what must have happened before anyone stores the next tiles? */
        GAP_5;
    }
    /* blocks are whole, C need not be: who stores? */
    if (GAP_6) blend(&C(i, j), alpha, sum, beta);
}
