/* r03t_transposed - variant of rung 3: B was transposed on the host, and its tile is stored straight.
 *
 * IDEA      With Bt (n x k) both operands are read along k, the same way:
 *
 *             a_tile[ty][tx] = A (by*T + ty, t*T + tx)         coalesced
 *             b_tile[ty][tx] = Bt(bx*T + ty, t*T + tx)         coalesced, stored without a conflict
 *             sum += a_tile[ty][p] * b_tile[tx][p]             lanes T words apart: the conflict of r03
 *
 * NUMBERS   as r03, but the store is clean. The transpose on the host is timed and shown apart.
 * LIMITS    B as stored must be n x k (op_b = T); for another B the engine transposes on the host first. T = 8, 16, 32.
 * CHANGED   from r03: B's subscripts and the store of the tile.
 * SOURCE    5kk73 ("transpose matrix B by CPU before offloading it"), Hotbingsoo 2021 ("transposing matrix B"). */
#undef OP_B
#define OP_B 1
#include "../rung.clh"

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void r03t_transposed(PARAMETERS)
{
    __local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int i = get_group_id(1) * TILE + ty, j = get_group_id(0) * TILE + tx, b_j = get_group_id(0) * TILE + ty;
    float sum = 0;
    ROLLED
    for (int t = 0; t < ceil_div(k, TILE); t++) {
        int p_load = t * TILE + tx;
        a_tile[ty][tx] = i < m && p_load < k ? A(i, p_load) : 0;
        b_tile[ty][tx] = p_load < k && b_j < n ? B(p_load, b_j) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fma(a_tile[ty][p], b_tile[tx][p], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
