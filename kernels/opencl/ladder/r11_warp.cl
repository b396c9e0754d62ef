/* r11_warp - rung 11: warps own tiles of their own, and blocks are taken in an order that keeps the L2 warm.
 *
 * IDEA      A block's 128 x 128 tile is eight warps' 64 x 32 tiles; the lanes of a warp stand 8 x 4, so that together
 *           they want few different words of local memory:
 *
 *        block 128 x 128           warp 64 x 32: lanes 8 x 4, each twice 4 rows and twice 4 columns
 *       .----.----.----.----.      .---.---.---.---. x 2
 *       | w0 | w1 | w2 | w3 |      | 0 | 2 | 4 | 6 |      a: 8 x 16 bytes, lanes l and l ^ 2 the same
 *       |----|----|----|----|      | 1 | 3 | 5 | 7 |      b: 4 x 16 bytes, lanes l and l ^ 1 the same
 *       | w4 | w5 | w6 | w7 |      | 8 | 10| 12| 14|      A 16-byte load is served in 2 wavefronts where such lanes
 *       '----'----'----'----'  x 2 '---'---'---'---'      share it, and in 4 where they do not
 *
 *           And blocks that run at the same time should share operands (rasterisation): they are numbered down
 *           GROUP_M rows of tiles before the next column, so that a wave of blocks covers a compact patch of C instead
 *           of a few whole rows.
 * NUMBERS   32 flop per byte asked of the L2; 4 local loads per 64 FMAs as in r10. Tiles are 8 deep: with 16 the
 *           compiler spills 56 bytes. On an H200 at 4096 0.95 times r10: there neither the banks nor the L2 are the
 *           limit, and tiles 8 deep cost more (r10 with them: 0.91) than the order gives back.
 * LIMITS    those of r10.
 * CHANGED   from r10: the work-item's place in the block, the block's place in C, the depth of a tile.
 * SOURCE    Kerr et al.: CUTLASS, 2017 (warp tiles); maxas (lanes in a compact patch). */
#include "../rung.clh"
#include "../wide.clh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    THREADS = ROW_THREADS,
    A_ROW = BM + 4,
    LOADS = BM * BK / 4 / THREADS,
    GROUP_M = 8
};
ASSUME(BM == 128 && BN == 128 && BM * BN == 64 * THREADS)

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void r11_warp(PARAMETERS)
{
    __local __attribute__((aligned(16))) float a_tile[2][BK][A_ROW], b_tile[2][BK][BN];
    int tid = get_local_id(0), lane = tid % 32, warp = tid / 32, now = 0;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), group = get_group_id(0) / (GROUP_M * tiles_n);
    int rows = min((int)GROUP_M, tiles_m - group * GROUP_M), in_group = get_group_id(0) % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int a_at = warp / 4 * 64 + (lane / 8 * 2 + lane % 2) * 4, b_at = warp % 4 * 32 + lane / 2 % 4 * 4;
    float sum[8][8] = {0};
    float4 a_next[LOADS], b_next[LOADS];
    ROLLED
    for (int p0 = -BK; p0 < k; p0 += BK) {
        int p_next = p0 + BK;
        UNROLLED
        for (int e = 0; e < LOADS; e++) {
            int at = tid + e * THREADS, i = i0 + at / (BK / 4), p = p_next + at % (BK / 4) * 4;
            a_next[e] = load4(&A(i, p), i < m ? k - p : 0);
            int p_b = p_next + at / (BN / 4), j = j0 + at % (BN / 4) * 4;
            b_next[e] = load4(&B(p_b, j), p_b < k ? n - j : 0);
        }
        if (p0 >= 0) {
            UNROLLED
            for (int p = 0; p < BK; p++) {
                __attribute__((aligned(16))) float a_p[8], b_p[8];
                *(float4 *)&a_p[0] = *(__local float4 *)&a_tile[now][p][a_at];
                *(float4 *)&a_p[4] = *(__local float4 *)&a_tile[now][p][a_at + 32];
                *(float4 *)&b_p[0] = *(__local float4 *)&b_tile[now][p][b_at];
                *(float4 *)&b_p[4] = *(__local float4 *)&b_tile[now][p][b_at + 16];
                UNROLLED
                for (int i = 0; i < 8; i++) {
                    UNROLLED
                    for (int j = 0; j < 8; j++) sum[i][j] = fma(a_p[i], b_p[j], sum[i][j]);
                }
            }
            now ^= 1;
        }
        UNROLLED
        for (int e = 0; e < LOADS; e++) {
            int at = tid + e * THREADS, row = at / (BK / 4), col = at % (BK / 4) * 4;
            a_tile[now][col][row] = a_next[e].x, a_tile[now][col + 1][row] = a_next[e].y;
            a_tile[now][col + 2][row] = a_next[e].z, a_tile[now][col + 3][row] = a_next[e].w;
            *(__local float4 *)&b_tile[now][at / (BN / 4)][at % (BN / 4) * 4] = b_next[e];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLLED
    for (int i = 0; i < 8; i++) {
        int row = i0 + a_at + i / 4 * 32 + i % 4;
        if (row >= m) continue;
        store4(&C(row, j0 + b_at), n - j0 - b_at, alpha, &sum[i][0], beta);
        store4(&C(row, j0 + b_at + 16), n - j0 - b_at - 16, alpha, &sum[i][4], beta);
    }
}
