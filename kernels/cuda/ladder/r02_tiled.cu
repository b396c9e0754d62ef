/* r02_tiled - rung 2: tiles of A and B in shared memory; B is read across its rows, uncoalesced.
 *
 * IDEA      A block of T x T threads computes a T x T tile of C. For every T steps of k it loads one tile of A and one
 *           of B, then each element loaded is used T times:
 *
 *             A  t->                     B  .---.      a_tile[ty][tx] = A(by*T + ty, t*T + tx)
 *         .---.---.---.---.                 | t |      b_tile[tx][ty] = B(t*T + tx, bx*T + ty)     <- one row each lane
 *         |   | t |   |   |      x          |---|
 *         '---'---'---'---'                 |   |      sum += a_tile[ty][p] * b_tile[p][tx]
 *                                           '---'
 *
 *           Lanes next to each other in x read elements of B that lie ldb apart: each its own 32-byte sector for 4
 *           bytes.
 * NUMBERS   T/4 flop per byte asked; per thread and tile 2 loads, 2 shared stores, 2 T shared loads, T FMAs, 2
 *           barriers. B's load: 16 sectors per warp at T = 16, 32 at T = 32, where 4 would do. The store of b_tile
 *           conflicts (degree 8; 32), the loop does not. Caches serve most of the excess on today's devices: the cost
 *           is requests, not DRAM traffic.
 * LIMITS    any m, n, k, ld and transposes (OP_B turns the load around: then it is coalesced); T = 8, 16, 32.
 * CHANGED   from r01: the tile loop, two tiles, two barriers.
 * SOURCE    5kk73, its tiled kernel, with B's column taken from blockIdx.x. */
#include "../rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) r02_tiled(PARAMETERS)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx, b_j = blockIdx.x * TILE + ty;
    float sum = 0;
    ROLLED
    for (int t = 0; t < ceil_div(k, TILE); t++) {
        int a_p = t * TILE + tx, b_p = t * TILE + tx;
        a_tile[ty][tx] = i < m && a_p < k ? A(i, a_p) : 0;
        b_tile[tx][ty] = b_p < k && b_j < n ? B(b_p, b_j) : 0;
        __syncthreads();
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fmaf(a_tile[ty][p], b_tile[p][tx], sum);
        __syncthreads();
    }
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
