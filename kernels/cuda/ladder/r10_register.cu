/* r10_register - rung 10: an 8 x 8 block of C in every thread's registers; both tiles in shared memory.
 *
 * IDEA      A sum in a register costs a word of A and a word of B for every step of k, unless its neighbours share
 *           them. A thread that owns 8 x 8 elements of C needs 8 + 8 words for 64 FMAs:
 *
 *                         b: 4 words at tx*4, 4 at 64 + tx*4
 *                       .--------------.--------------.
 *          a: 4 words   |    4 x 4     |    4 x 4     |       4 shared loads of 16 bytes
 *          at ty*4      |--------------|--------------|       64 FMAs
 *          4 words at   |    4 x 4     |    4 x 4     |
 *          64 + ty*4    '--------------'--------------'       (two halves, so that 8 lanes read 128 bytes side by side)
 *
 * NUMBERS   tile 128 x 128 x 16: 128*128 / (2 (128 + 128)) = 32 flop per byte asked. 4 shared loads per 64 FMAs: at
 *           best 94 % of the instructions are FMAs. 256 threads, 64 sums each, 33,280 bytes of shared memory.
 * LIMITS    any m, n, k and ld, no transposes. WIDE = 1 as in r09. Tiles that C cuts off are filled with zeros.
 * CHANGED   from r09: B's tile in shared memory too, the thread's block 8 x 8 instead of 16 x 4.
 * SOURCE    Hotbingsoo 2021 (2D register blocking, incomplete tiles); Volkov, Demmel 2008. */
#include "../rung.cuh"
#include "../wide.cuh"

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
            int at = tid + e * THREADS, i = i0 + at / (BK / 4), p = p_next + at % (BK / 4) * 4;
            a_next[e] = load4(&A(i, p), i < m ? k - p : 0);
            int p_b = p_next + at / (BN / 4), j = j0 + at % (BN / 4) * 4;
            b_next[e] = load4(&B(p_b, j), p_b < k ? n - j : 0);
        }
        if (p0 >= 0) {
            UNROLLED
            for (int p = 0; p < BK; p++) {
                __align__(16) float a_p[8], b_p[8];
                *(float4 *)&a_p[0] = *(float4 *)&a_tile[now][p][ty * 4];
                *(float4 *)&a_p[4] = *(float4 *)&a_tile[now][p][64 + ty * 4];
                *(float4 *)&b_p[0] = *(float4 *)&b_tile[now][p][tx * 4];
                *(float4 *)&b_p[4] = *(float4 *)&b_tile[now][p][64 + tx * 4];
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
        int row = i0 + i / 4 * 64 + ty * 4 + i % 4;
        if (row >= m) continue;
        store4(&C(row, j0 + tx * 4), n - j0 - tx * 4, alpha, &sum[i][0], beta);
        store4(&C(row, j0 + 64 + tx * 4), n - j0 - 64 - tx * 4, alpha, &sum[i][4], beta);
    }
}
