/* r11a_ring - rung 11a: a ring of tiles in shared memory, filled by copies that pass no register (cp.async).
 *
 * IDEA      In r11 a thread's loads wait in its registers while the warp multiplies, and one tile is under way. Here a
 *           thread asks for a copy from global to shared memory, and goes on: cp.async. No register holds the words, so
 *           there is room for a ring of STAGES tiles. While one is multiplied, STAGES - 1 are under way:
 *
 *              copies   0 1 |  2   |  3   |  4   |  5         tile t overwrites tile t - STAGES, which all have read
 *              multiply     |  0   |  1   |  2   |  3         when they begin tile t - STAGES + 1
 *
 *           The copies that a thread asks for at one time are a group, and groups come in their order: waiting until
 *           STAGES - 2 are left means that the oldest tile of this thread is there. A __syncthreads() behind it says so
 *           of all threads, and that all have read the stage that is filled next: one barrier a tile, as in r07.
 *
 *           A copy cannot transpose, but one of 4 bytes can go anywhere. So A is copied word by word, each to its place
 *           in the tile, which lies as in r11, and B in 16 bytes. What lies beyond an edge is copied as zeros.
 * NUMBERS   r11's bytes and FMAs. Of A a thread has 4 copies a tile for r11's load of 16 bytes, and no stores: the
 *           copies' 32 lanes take 4 rows of 8 words, 4 whole sectors, into 32 banks.
 *           H200: slower than r11, 0.89 of it at 4096 and 0.89 where one block has a multiprocessor (512 x 512 x 8192).
 *           In r11 a warp's loads were under way too, and five copies with their addresses cost more instructions
 *           than two loads and five stores. What it buys: loads are hidden with few warps, so that a thread may have
 *           more sums (r12, sgemm_cpasync_sm80).
 * LIMITS    sm_80 and above; else those of r11.
 * CHANGED   from r11: how a tile comes to shared memory, and how many are under way.
 * SOURCE    PTX ISA (cp.async); NVIDIA: CUTLASS, 2020 (multistage). */
#include "../rung.cuh"
#include "../ampere.cuh"
#include "../wide.cuh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    THREADS = ROW_THREADS,
    STAGES = ROW_STAGES,
    A_ROW = BM + 4,
    LOADS = BM * BK / THREADS,
    GROUP_M = 8
};
ASSUME(BM == 128 && BN == 128 && BM * BN == 64 * THREADS && BK * BN == 4 * THREADS)

struct stage {
    float a[BK][A_ROW], b[BK][BN];
};

/* One thread's copies of the tile at p0: zeros beyond m, n and k. */
static __device__ __forceinline__ void fetch(struct stage *stage, const float *a, long lda, const float *b, long ldb,
                                             int i0, int m, int j0, int n, int p0, int k)
{
    int tid = threadIdx.x, row = tid / BK, col = tid % BK, p = p0 + tid / (BN / 4), j = tid % (BN / 4) * 4;
    UNROLLED
    for (int e = 0; e < LOADS; e++) {
        int i = i0 + row + e * THREADS / BK, there = i < m && p0 + col < k;
        copy_4(&stage->a[col][row + e * THREADS / BK], there ? &A(i, p0 + col) : a, there ? 4 : 0);
    }
    float *to = &stage->b[tid / (BN / 4)][j];
    int left = p < k ? n - j0 - j : 0;
    if (WIDE && left >= 4)
        copy_16(to, &B(p, j0 + j), 16);
    else
        for (int q = 0; q < 4; q++) copy_4(&to[q], q < left ? &B(p, j0 + j + q) : b, q < left ? 4 : 0);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) r11a_ring(PARAMETERS)
{
    __shared__ __align__(16) struct stage ring[STAGES];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, now = 0, to = STAGES - 1;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), group = blockIdx.x / (GROUP_M * tiles_n);
    int rows = min(GROUP_M, tiles_m - group * GROUP_M), in_group = blockIdx.x % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int a_at = warp / 4 * 64 + (lane / 8 * 2 + lane % 2) * 4, b_at = warp % 4 * 32 + lane / 2 % 4 * 4;
    float sum[8][8] = {0};
    for (int q = 0; q < STAGES - 1; q++) {
        fetch(&ring[q], a, lda, b, ldb, i0, m, j0, n, q * BK, k);
        copies_commit();
    }
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        COPIES_WAIT(STAGES - 2);
        __syncthreads();
        fetch(&ring[to], a, lda, b, ldb, i0, m, j0, n, p0 + (STAGES - 1) * BK, k);
        copies_commit();
        UNROLLED
        for (int p = 0; p < BK; p++) {
            __align__(16) float a_p[8], b_p[8];
            *(float4 *)&a_p[0] = *(float4 *)&ring[now].a[p][a_at];
            *(float4 *)&a_p[4] = *(float4 *)&ring[now].a[p][a_at + 32];
            *(float4 *)&b_p[0] = *(float4 *)&ring[now].b[p][b_at];
            *(float4 *)&b_p[4] = *(float4 *)&ring[now].b[p][b_at + 16];
            UNROLLED
            for (int i = 0; i < 8; i++) {
                UNROLLED
                for (int j = 0; j < 8; j++) sum[i][j] = fmaf(a_p[i], b_p[j], sum[i][j]);
            }
        }
        to = now;
        if (++now == STAGES) now = 0;
    }
    UNROLLED
    for (int i = 0; i < 8; i++) {
        int row = i0 + a_at + i / 4 * 32 + i % 4;
        if (row >= m) continue;
        store4(&C(row, j0 + b_at), n - j0 - b_at, alpha, &sum[i][0], beta);
        store4(&C(row, j0 + b_at + 16), n - j0 - b_at - 16, alpha, &sum[i][4], beta);
    }
}
