/* gemm_simt - the production kernel of GPUs for every type but large f32: f32, f64, bf16, f16, i8 and u8.
 *
 * IDEA      sgemm_simt in tiles of any edges, for any type. A work-item owns ITEM_M x ITEM_N elements of C. As many
 *           rows or columns as fill 16 bytes lie side by side, and are one load from local memory, where both tiles lie
 *           as [p][edge]; the lanes of a warp are 8 across and 4 down, so that 8 of them load 128 bytes side by side.
 *           An element becomes a number, of the type of the sums, when it is copied there, once for all
 *           products that it is part of. The next tiles come into registers while these are multiplied.
 *
 *           Small, deep and thin products have too few tiles for a device. `parts` groups share each tile: every one
 *           sums its own part of k and leaves that in memory, and gemm_add adds them, part 0 first, as d1 does.
 *
 * NUMBERS   f32, 64 x 64 x 16: 16 sums a work-item, 2 loads of 16 bytes for 16 multiply-adds, 17 KiB of local memory.
 *           Tiles of 16 rows or columns are for thin products, whose time is that of reading the other operand.
 * LIMITS    any m, n >= 1, k, ld, address and transposes. Fewer than 2^31 groups. f64 where the device has it. WIDE = 1
 *           as in r09, for the operands' own types.
 * CHANGED   from sgemm_simt: the tiles, the types, the parts.
 * SOURCE    Kerr et al.: CUTLASS, 2017 */
#include "rung.clh"
#include "types.clh"
#include "epilogue.clh"
#include "parts.clh"
#include "simt_tile.clh"

ASSUME(ACROSS *DOWN == THREADS && ITEM_M % VECTOR == 0 && ITEM_N % VECTOR == 0 && BK % 4 == 0 &&
       ACROSS % LANES_N == 0 && DOWN % LANES_M == 0)

/* Where quad number `at` of a tile of `edges` x BK lies: along k, or along the edge. */
static inline int edge_at(const bool along, const int edges, int at)
{
    return along ? at / (BK / 4) : at % (edges / 4) * 4;
}
static inline int k_at(const bool along, const int edges, int at)
{
    return along ? at % (BK / 4) * 4 : at / (edges / 4);
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gemm_simt(TYPED_PARAMETERS, int parts,
                                                                             __global number *restrict sums)
{
    __local __attribute__((aligned(32))) number a_tile[2][BK][BM + PAD], b_tile[2][BK][BN + PAD];
    const bool a_along = !OP_A, b_along = OP_B;
    int tid = get_local_id(0), lane = tid % 32, warp = tid / 32,
        tx = warp % (ACROSS / LANES_N) * LANES_N + lane % LANES_N,
        ty = warp / (ACROSS / LANES_N) * LANES_M + lane / LANES_N, now = 0;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), tiles = tiles_m * tiles_n, part = get_group_id(0) / tiles,
        tile = get_group_id(0) % tiles;
    /* rasterisation: down GROUP_M rows of tiles before the next column, as in r11 */
    int group = tile / (GROUP_M * tiles_n), rows = min((int)GROUP_M, tiles_m - group * GROUP_M),
        in_group = tile % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int steps = ceil_div(ceil_div(k, BK), parts), begin = min(part * steps * BK, k),
        end = begin + min(steps * BK, k - begin);
    number sum[ITEM_M][ITEM_N];
    number4 a_next[A_LOADS], b_next[B_LOADS];
    UNROLLED
    for (int e = 0; e < ITEM_M * ITEM_N; e++) sum[e / ITEM_N][e % ITEM_N] = 0;
    ROLLED /* mainloop */
        for (int p0 = begin - BK; p0 < end; p0 += BK)
    {
        UNROLLED
        for (int e = 0; e < A_LOADS; e++) {
            int at = tid + e * THREADS, edge = i0 + edge_at(a_along, BM, at), p = p0 + BK + k_at(a_along, BM, at);
            a_next[e] = (number4)(0);
            if (A_QUADS % THREADS == 0 || at < A_QUADS) a_next[e] = FETCH(TYPE_A, a_along, a, lda, edge, p, m, end);
        }
        UNROLLED
        for (int e = 0; e < B_LOADS; e++) {
            int at = tid + e * THREADS, edge = j0 + edge_at(b_along, BN, at), p = p0 + BK + k_at(b_along, BN, at);
            b_next[e] = (number4)(0);
            if (B_QUADS % THREADS == 0 || at < B_QUADS) b_next[e] = FETCH(TYPE_B, b_along, b, ldb, edge, p, n, end);
        }
        if (p0 >= begin) {
            UNROLLED
            for (int p = 0; p < BK; p++) {
                __attribute__((aligned(16))) number a_p[ITEM_M], b_p[ITEM_N];
                UNROLLED
                for (int q = 0; q < ITEM_M; q += VECTOR)
                    *(number_vector *)&a_p[q] = *(__local number_vector *)&a_tile[now][p][row_at(q, ty)];
                UNROLLED
                for (int q = 0; q < ITEM_N; q += VECTOR)
                    *(number_vector *)&b_p[q] = *(__local number_vector *)&b_tile[now][p][column_at(q, tx)];
                UNROLLED
                for (int i = 0; i < ITEM_M; i++) {
                    UNROLLED
                    for (int j = 0; j < ITEM_N; j++) sum[i][j] = multiply_add(a_p[i], b_p[j], sum[i][j]);
                }
            }
            now ^= 1;
        }
        UNROLLED
        for (int e = 0; e < A_LOADS; e++) {
            int at = tid + e * THREADS;
            if (A_QUADS % THREADS == 0 || at < A_QUADS)
                keep(a_along, &a_tile[now][0][0], BM + PAD, edge_at(a_along, BM, at), k_at(a_along, BM, at), a_next[e]);
        }
        UNROLLED
        for (int e = 0; e < B_LOADS; e++) {
            int at = tid + e * THREADS;
            if (B_QUADS % THREADS == 0 || at < B_QUADS)
                keep(b_along, &b_tile[now][0][0], BN + PAD, edge_at(b_along, BN, at), k_at(b_along, BN, at), b_next[e]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const output out = OUTPUT;
    UNROLLED /* epilogue */
        for (int i = 0; i < ITEM_M; i++)
    {
        UNROLLED
        for (int j = 0; j < ITEM_N; j++) {
            const int row = i0 + row_at(i, ty), column = j0 + column_at(j, tx);
            put_one_or_part(out, parts, part, sums, row, column, sum[i][j]);
        }
    }
}
