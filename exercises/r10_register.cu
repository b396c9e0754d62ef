/* r10_register.cu - exercise with 9 gaps. 8 x 8 sums for each thread, both tiles in shared memory.
 *
 *     tilewright ladder --rung exercises/r10_register.cu --size 256
 *
 *                 tx * 4      64 + tx * 4
 *                  ....          ....
 *       ty * 4   : sum           sum           a thread's 64 sums: four rows in each half of the 128 x 128 tile,
 *                                              four columns in each half
 *       64 +     : sum           sum           a step: 8 words of A's column, 8 of B's row, 64 multiply-adds
 *       ty * 4
 *
 * In r09 each thread read all of a column of A's tile, and B came from global memory. How many words of local
 * memory does a multiply-add read now? How many bytes of A and B does a block ask of global memory for each flop?
 *
 * docs/COURSE.md, page 5, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r10_register.cu: edit those. */
#include "rung.cuh"
#include "wide.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, A_ROW = BM + 4, LOADS = BM * BK / 4 / THREADS };
ASSUME(BM == 128 && BN == 128 && BM * BN == 64 * THREADS)

extern "C" __global__ void __launch_bounds__(THREADS, 2) r10_register(PARAMETERS)
{
    __shared__ __align__(16) float a_tile[2][BK][A_ROW], b_tile[2][BK][BN];
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16, i0 = blockIdx.y * BM, j0 = blockIdx.x * BN, now = 0;
    float sum[8][8] = {0};
    float4 a_next[LOADS], b_next[LOADS];
    ROLLED
    for (int p0 = -BK; p0 < k; p0 += BK) {
        int p_next = p0 + BK;
        UNROLLED
        for (int e = 0; e < LOADS; e++) {
            /* A's tile comes four words along k at a time: with which row and step does load number `at` begin? */
            int at = tid + e * THREADS, i = i0 + GAP_1, p = p_next + GAP_2;
            a_next[e] = load4(&A(i, p), i < m ? k - p : 0);
            /* and B's tile, four words along n? */
            int p_b = p_next + GAP_3, j = j0 + GAP_4;
            b_next[e] = load4(&B(p_b, j), p_b < k ? n - j : 0);
        }
        if (p0 >= 0) {
            UNROLLED
            for (int p = 0; p < BK; p++) {
                __align__(16) float a_p[8], b_p[8];
                /* where are the first four of a thread's rows, in column p of A's tile? */
                *(float4 *)&a_p[0] = *(float4 *)&a_tile[now][p][GAP_5];
                *(float4 *)&a_p[4] = *(float4 *)&a_tile[now][p][64 + ty * 4];
                *(float4 *)&b_p[0] = *(float4 *)&b_tile[now][p][tx * 4];
                /* and the last four of its columns, in row p of B's? */
                *(float4 *)&b_p[4] = *(float4 *)&b_tile[now][p][GAP_6];
                UNROLLED
                for (int i = 0; i < 8; i++) {
                    /* one factor belongs to the row i, the other to the column j */
                    UNROLLED
                    for (int j = 0; j < 8; j++) sum[i][j] = fmaf(GAP_7, GAP_8, sum[i][j]);
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
        store4(&C(row, j0 + tx * 4), n - j0 - tx * 4, alpha, &sum[i][0], beta);
        store4(&C(row, j0 + 64 + tx * 4), n - j0 - 64 - tx * 4, alpha, &sum[i][4], beta);
    }
}
