/* r11_warp.cu - exercise with 9 gaps. A tile for each warp, and blocks in bands.
 *
 *     tilewright ladder --rung exercises/r11_warp.cu --shape 1300x300x64
 *
 *       C   .----.----.----.
 *           |  0 |  8 | 16 |      order of the blocks, a tile for each: down the GROUP_M = 8 tiles of a band, one to
 *           |----|----|----|      the right, down again; then the next band
 *           |  1 |  9 | 17 |
 *           |----|----|----|      8 blocks in a row share a tile of B. The same 8 tiles of A serve all columns of the
 *           |  : |  : |  : |      band. What blocks share that run at one time comes from the L2
 *           '----'----'----'
 *
 * A block's tile is divided among its 8 warps, 64 x 32 for each. The lanes of a warp stand in a patch of 8 x 4, so
 * that they want few different words of A and of B. How many different words of A's column and B's row together does
 * a warp read in a step of r10, and how many here?
 *
 * docs/COURSE.md, page 5, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r11_warp.cu: edit those. */
#include "rung.cuh"
#include "wide.cuh"

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

extern "C" __global__ void __launch_bounds__(THREADS, 2) r11_warp(PARAMETERS)
{
    __shared__ __align__(16) float a_tile[2][BK][A_ROW], b_tile[2][BK][BN];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, now = 0;
    /* how many blocks are in a band? */
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), group = blockIdx.x / (GAP_1);
    int rows = min(GROUP_M, tiles_m - group * GROUP_M), in_group = blockIdx.x % (GAP_2);
    /* down the band first, then to the right: which tile of the band is this block's? */
    int i0 = (group * GROUP_M + GAP_3) * BM, j0 = GAP_4 * BN;
    /* where in the block's tile does this warp's begin? */
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
                __align__(16) float a_p[8], b_p[8];
                *(float4 *)&a_p[0] = *(float4 *)&a_tile[now][p][a_at];
                /* where are the last four of a thread's rows? */
                *(float4 *)&a_p[4] = *(float4 *)&a_tile[now][p][GAP_7];
                *(float4 *)&b_p[0] = *(float4 *)&b_tile[now][p][b_at];
                /* and the last four of its columns? */
                *(float4 *)&b_p[4] = *(float4 *)&b_tile[now][p][GAP_8];
                UNROLLED
                for (int i = 0; i < 8; i++) {
                    UNROLLED
                    for (int j = 0; j < 8; j++) sum[i][j] = fmaf(a_p[i], b_p[j], sum[i][j]);
                }
            }
            now ^= 1;
        }
        UNROLLED
        for (int e = 0; e < LOADS; e++) {
            int at = tid + e * THREADS, row = at / (BK / 4), col = at % (BK / 4) * 4;
            a_tile[now][col][row] = a_next[e].x, a_tile[now][col + 1][row] = a_next[e].y;
            a_tile[now][col + 2][row] = a_next[e].z, a_tile[now][col + 3][row] = a_next[e].w;
            *(float4 *)&b_tile[now][at / (BN / 4)][at % (BN / 4) * 4] = b_next[e];
        }
        __syncthreads();
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
