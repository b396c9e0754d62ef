/* r11_warp.cl - exercise with 9 gaps. A tile for each warp, and groups in bands.
 *
 *     tilewright ladder --rung exercises/r11_warp.cl --shape 1300x300x64
 *
 *       C   .----.----.----.
 *           |  0 |  8 | 16 |      order of the groups, a tile for each: down the GROUP_M = 8 tiles of a band, one to
 *           |----|----|----|      the right, down again; then the next band
 *           |  1 |  9 | 17 |
 *           |----|----|----|      8 groups in a row share a tile of B. The same 8 tiles of A serve all columns of the
 *           |  : |  : |  : |      band. What groups share that run at one time comes from the L2
 *           '----'----'----'
 *
 * A group's tile is divided among its 8 warps, 64 x 32 for each. The lanes of a warp stand in a patch of 8 x 4, so
 * that they want few different words of A and of B. How many different words of A's column and B's row together does
 * a warp read in a step of r10, and how many here?
 *
 * docs/COURSE.md, page 5, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/r11_warp.cl: edit those. */
#include "rung.clh"
#include "wide.clh"

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
    /* how many groups are in a band? */
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), group = get_group_id(0) / (GAP_1);
    int rows = min((int)GROUP_M, tiles_m - group * GROUP_M), in_group = get_group_id(0) % (GAP_2);
    /* down the band first, then to the right: which tile of the band is this group's? */
    int i0 = (group * GROUP_M + GAP_3) * BM, j0 = GAP_4 * BN;
    /* where in the group's tile does this warp's begin? */
    int a_at = GAP_5 + (lane / 8 * 2 + lane % 2) * 4, b_at = GAP_6 + lane / 2 % 4 * 4;
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
                /* where are the last four of a work-item's rows? */
                *(float4 *)&a_p[4] = *(__local float4 *)&a_tile[now][p][GAP_7];
                *(float4 *)&b_p[0] = *(__local float4 *)&b_tile[now][p][b_at];
                /* and the last four of its columns? */
                *(float4 *)&b_p[4] = *(__local float4 *)&b_tile[now][p][GAP_8];
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
        /* which row of C does sum[i] belong to? */
        int row = i0 + GAP_9;
        if (row >= m) continue;
        store4(&C(row, j0 + b_at), n - j0 - b_at, alpha, &sum[i][0], beta);
        store4(&C(row, j0 + b_at + 16), n - j0 - b_at - 16, alpha, &sum[i][4], beta);
    }
}
