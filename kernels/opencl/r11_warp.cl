/* r11_warp - rung 11: warps own tiles of their own, and groups are taken in an order that keeps the L2 warm.
 *
 * IDEA      Three levels: a group's 128 x 128 tile is four warps' 64 x 64 tiles, a warp's tile 32 lanes' 8 x 16 blocks. OpenCL C 1.2 has
 *           no warps: here the word means 32 work-items with neighbouring local ids, as a GPU runs them. No function that needs one is
 *           called, so the product does not depend on it. The lanes stand 8 x 4, so that they want few different words of local memory:
 *
 *              group 128 x 128          warp 64 x 64: lanes 8 x 4, each twice 4 rows and four times 4 columns
 *             .-------.-------.          .--.--.--.--. x 4
 *             | w0    | w1    |          |l0|l1|l2|l3|          a: 8 lanes x 16 bytes = 128 bytes side by side
 *             |-------|-------|          |l4|l5|  |  |          b: 4 lanes x 16 bytes
 *             | w2    | w3    |          |..|  |  |  |          6 local loads for 128 FMAs
 *             '-------'-------' x 2      '--'--'--'--'
 *
 *           And groups that run at the same time should share operands: they are numbered down GROUP rows of tiles before the next
 *           column, so that a wave of groups covers a compact patch of C instead of a few whole rows. (OpenCL promises no order of
 *           groups either; GPUs start them by number.)
 * NUMBERS   32 flop per byte asked of the L2; 6 local loads per 128 FMAs: 95.5 % of the instructions can be FMAs. 128 work-items, 128
 *           sums each; 33,280 bytes of local memory.
 * LIMITS    those of r10; work-groups of 128 in one row, ceil(m/128) * ceil(n/128) of them.
 * CHANGED   from r10: the work-item's place and shape, the group's place. Tile, loads and prefetch are r10's.
 * SOURCE    Kerr et al.: CUTLASS, 2017 (warp tiles); maxas (lanes in a compact patch). */
#include "rung.clh"
#include "wide.clh"

enum { BM = 128, BN = 128, BK = 16, THREADS = 128, A_ROW = BM + 4, LOADS = BM * BK / 4 / THREADS, GROUP = 8 };

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void r11_warp(PARAMETERS)
{
    __local __attribute__((aligned(16))) float a_tile[2][BK][A_ROW], b_tile[2][BK][BN];
    int tid = get_local_id(0), lane = tid % 32, warp = tid / 32, now = 0;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN);
    int id = get_group_id(0), group = id / (GROUP * tiles_n), in_group = id % (GROUP * tiles_n);
    int rows = min((int)GROUP, tiles_m - group * GROUP);
    int i0 = (group * GROUP + in_group % rows) * BM, j0 = in_group / rows * BN;
    int a_at = warp / 2 * 64 + lane / 4 * 4, b_at = warp % 2 * 64 + lane % 4 * 4;
    float sum[8][16] = {0};
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
                __attribute__((aligned(16))) float a_p[8], b_p[16];
                UNROLLED
                for (int i = 0; i < 2; i++) *(float4 *)&a_p[4 * i] = *(__local float4 *)&a_tile[now][p][a_at + 32 * i];
                UNROLLED
                for (int j = 0; j < 4; j++) *(float4 *)&b_p[4 * j] = *(__local float4 *)&b_tile[now][p][b_at + 16 * j];
                UNROLLED
                for (int i = 0; i < 8; i++)
                    UNROLLED
                    for (int j = 0; j < 16; j++) sum[i][j] = fma(a_p[i], b_p[j], sum[i][j]);
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
        UNROLLED
        for (int j = 0; j < 4; j++)
            if (row < m) store4(&C(row, j0 + b_at + 16 * j), n - j0 - b_at - 16 * j, alpha, &sum[i][4 * j], beta);
    }
}
