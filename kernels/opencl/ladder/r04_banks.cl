/* r04_banks - rung 4: the tile of B lies as it is read: no two lanes want one bank.
 *
 * IDEA      Store the tile straight and read it along its rows:
 *
 *             b_tile[ty][tx] = B(t*T + ty, bx*T + tx)     global: coalesced, as r03
 *             sum += a_tile[ty][p] * b_tile[p][tx]        local: lanes next to each other, banks next to each other
 *
 *             banks  0 1 2 3 4 5 6 7 ...        one wavefront for the warp
 *                    * * * * * * * * ...
 *
 * NUMBERS   the flops, bytes, loads and barriers of r02 and r03; every access now 4 sectors or one wavefront.
 * LIMITS    any m, n, k, ld and transposes; T = 8, 16, 32.
 * CHANGED   from r03: two pairs of subscripts of b_tile swapped. (Rows of T + 1 words are the other cure, for a B that
 *           comes transposed.)
 * SOURCE    5kk73, no bank conflicts; Hotbingsoo 2021 and Ruiz 2024 start here. */
#include "../rung.clh"

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void r04_banks(PARAMETERS)
{
    __local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int i = get_group_id(1) * TILE + ty, j = get_group_id(0) * TILE + tx;
    float sum = 0;
    ROLLED
    for (int t = 0; t < ceil_div(k, TILE); t++) {
        int a_p = t * TILE + tx, b_p = t * TILE + ty;
        a_tile[ty][tx] = i < m && a_p < k ? A(i, a_p) : 0;
        b_tile[ty][tx] = b_p < k && j < n ? B(b_p, j) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fma(a_tile[ty][p], b_tile[p][tx], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
