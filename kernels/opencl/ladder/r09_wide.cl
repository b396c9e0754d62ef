/* r09_wide - rung 9: 16-byte loads and stores.
 *
 * IDEA      The four columns of a work-item lie side by side, so that one instruction loads four elements of B, one
 *           loads four of A, and one stores four of C. The bytes are the same; the instructions and requests are a
 *           quarter:
 *
 *             r08:   lane l:  j + l,  j + 64 + l,  j + 128 + l,  j + 192 + l      4 loads of 4 bytes
 *             r09:   lane l:  j + 4 l ... j + 4 l + 3                              1 load of 16 bytes
 *
 * NUMBERS   bytes, flops and tile of r08; 4x fewer global load and store instructions. A warp's load is 512 bytes, 16
 *           sectors in 4 lines. On an H200 at 4096 1.24 times r08.
 * LIMITS    any m, n, k and ld, no transposes (the four would not lie side by side). WIDE = 1 needs a, b and c aligned
 *           to 16 bytes and lda, ldb, ldc multiples of 4; otherwise, and at the edges, the same four elements are taken
 *           one by one (wide.clh): each group decides once a tile.
 * CHANGED   from r08: load4, store4 in place of the loops over q; the next tile is stored at the head of the loop.
 * SOURCE    Hotbingsoo 2021 (wider loads). */
#include "../rung.clh"
#include "../wide.clh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, ROW = BM + 4 };
ASSUME(BN == 4 * THREADS && BM * BK == 4 * THREADS)

/* A column of A's tile times four elements of B. */
static inline void outer(float sum[BM][4], __local const float *a_p, float4 b)
{
    UNROLLED
    for (int i = 0; i < BM; i++) {
        sum[i][0] = fma(a_p[i], b.x, sum[i][0]), sum[i][1] = fma(a_p[i], b.y, sum[i][1]);
        sum[i][2] = fma(a_p[i], b.z, sum[i][2]), sum[i][3] = fma(a_p[i], b.w, sum[i][3]);
    }
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void r09_wide(PARAMETERS)
{
    __local __attribute__((aligned(16))) float a_tile[2][BK][ROW];
    int tid = get_local_id(0), i0 = get_group_id(1) * BM, j0 = get_group_id(0) * BN, j = j0 + 4 * tid, now = 0;
    int row = tid / (BK / 4), col = tid % (BK / 4) * 4, i_load = min(i0 + row, m - 1);
    float sum[BM][4] = {0};
    float4 next = load4(&A(i_load, col), k - col);
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        a_tile[now][col][row] = next.x, a_tile[now][col + 1][row] = next.y;
        a_tile[now][col + 2][row] = next.z, a_tile[now][col + 3][row] = next.w;
        barrier(CLK_LOCAL_MEM_FENCE);
        int p_next = p0 + BK < k ? p0 + BK : p0;
        next = load4(&A(i_load, p_next + col), k - p_next - col);
        if (WIDE && j0 + BN <= n && p0 + BK <= k) {
            UNROLLED
            for (int p = 0; p < BK; p++) outer(sum, a_tile[now][p], *(__global const float4 *)&B(p0 + p, j));
        } else {
            ROLLED
            for (int p = 0; p < min(BK, k - p0); p++) outer(sum, a_tile[now][p], load4(&B(p0 + p, j), n - j));
        }
        now ^= 1;
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m) store4(&C(i0 + i, j), n - j, alpha, sum[i], beta);
}
