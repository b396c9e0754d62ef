/* r09_wide.cu - exercise with 8 gaps. Loads and stores of 16 bytes.
 *
 *     tilewright ladder --rung exercises/r09_wide.cu --size 256
 *
 *       r08    lane  0 1 2 ... 31                     a load: 32 words, 4 sectors; four loads for four columns
 *       r09    lane  0 0 0 0 1 1 1 1 2 2 2 2 ...      a load: 128 words, 16 sectors; one load for four columns
 *
 * load4(at, left) and store4 (wide.cuh) move up to four words, of which `left` exist. WIDE promises that all rows of
 * A, B and C begin at multiples of 16 bytes; no operand is transposed. A warp's load still brings 32 bytes for each
 * sector: what then is gained?
 *
 * docs/COURSE.md, page 5, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r09_wide.cu: edit those. */
#include "rung.cuh"
#include "wide.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, ROW = BM + 4 };
ASSUME(BN == 4 * THREADS && BM * BK == 4 * THREADS)

/* A column of A's tile times four elements of B. */
static __device__ __forceinline__ void outer(float sum[BM][4], const float *a_p, float4 b)
{
    UNROLLED
    for (int i = 0; i < BM; i++) {
        sum[i][0] = fmaf(a_p[i], b.x, sum[i][0]), sum[i][1] = fmaf(a_p[i], b.y, sum[i][1]);
        sum[i][2] = fmaf(a_p[i], b.z, sum[i][2]), sum[i][3] = fmaf(a_p[i], b.w, sum[i][3]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) r09_wide(PARAMETERS)
{
    __shared__ __align__(16) float a_tile[2][BK][ROW];
    /* a load brings four words of a row: with which column do this thread's begin? */
    int tid = threadIdx.x, i0 = blockIdx.y * BM, j0 = blockIdx.x * BN, j = GAP_1, now = 0;
    /* A's tile comes four words along k at a time: which row, and which first column, is this thread's? */
    int row = GAP_2, col = GAP_3, i_load = min(i0 + row, m - 1);
    float sum[BM][4] = {0};
    /* how many words are left of A's row? */
    float4 next = load4(&A(i_load, col), GAP_4);
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        /* the tile lies transposed: where does the second of the four words go? */
        a_tile[now][col][row] = next.x, a_tile[now][GAP_5][row] = GAP_6;
        a_tile[now][col + 2][row] = next.z, a_tile[now][col + 3][row] = next.w;
        __syncthreads();
        int p_next = p0 + BK < k ? p0 + BK : p0;
        next = load4(&A(i_load, p_next + col), k - p_next - col);
        /* three conditions: when do all words of B exist that are read here, 16 bytes at a time? */
        if (GAP_7) {
            UNROLLED
            for (int p = 0; p < BK; p++) outer(sum, a_tile[now][p], *(const float4 *)&B(p0 + p, j));
        } else {
            /* how many words are left of B's row? */
            ROLLED
            for (int p = 0; p < min(BK, k - p0); p++) outer(sum, a_tile[now][p], load4(&B(p0 + p, j), GAP_8));
        }
        now ^= 1;
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m) store4(&C(i0 + i, j), n - j, alpha, sum[i], beta);
}
