/* r02_tiled - rung 2: tiles of A and B in local memory; B is read across its rows, uncoalesced.
 *
 * IDEA      A work-group of T x T computes a T x T tile of C. For every T steps of k it loads one tile of A and one of
 *           B, then each element loaded is used T times:
 *
 *             A  t->                     B  .---.      a_tile[ty][tx] = A(by*T + ty, t*T + tx)
 *         .---.---.---.---.                 | t |      b_tile[tx][ty] = B(t*T + tx, bx*T + ty)     <- one row each lane
 *         |   | t |   |   |      x          |---|
 *         '---'---'---'---'                 |   |      sum += a_tile[ty][p] * b_tile[p][tx]
 *                                           '---'
 *
 *           Work-items next to each other in x read elements of B that lie ldb apart: each its own 32-byte sector for 4
 *           bytes.
 * NUMBERS   T/4 flop per byte asked; per work-item and tile 2 loads, 2 local stores, 2 T local loads, T FMAs, 2
 *           barriers. B's load: 16 sectors per warp at T = 16, 32 at T = 32, where 4 would do. The store of b_tile
 *           conflicts (degree 8; 32), the loop does not. Caches serve most of the excess on today's devices: the cost
 *           is requests, not DRAM traffic.
 * LIMITS    any m, n, k, ld and transposes (OP_B turns the load around: then it is coalesced); T = 8, 16, 32.
 * CHANGED   from r01: the tile loop, two tiles, two barriers.
 * SOURCE    5kk73, its tiled kernel, with B's column taken from the group's x. */
#include "../rung.clh"

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void r02_tiled(PARAMETERS)
{
    __local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int i = get_group_id(1) * TILE + ty, j = get_group_id(0) * TILE + tx, b_j = get_group_id(0) * TILE + ty;
    float sum = 0;
    ROLLED
    for (int t = 0; t < ceil_div(k, TILE); t++) {
        int a_p = t * TILE + tx, b_p = t * TILE + tx;
        a_tile[ty][tx] = i < m && a_p < k ? A(i, a_p) : 0;
        b_tile[tx][ty] = b_p < k && b_j < n ? B(b_p, b_j) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fma(a_tile[ty][p], b_tile[p][tx], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
