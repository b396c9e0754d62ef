/* sgemm_simt - the production kernel for f32: r11 for all transposes.
 *
 * IDEA      Whichever way an operand is stored, its tile ends as [k][m] or [k][n] in local memory. Where neighbours in
 *           memory are neighbours in m or n, four of them are copied as they are; where they are neighbours in k, they
 *           are transposed on the way:
 *
 *             A as stored (m x k), B transposed (n x k)       4 along k     ->  4 stores of one word each
 *             A transposed (k x m), B as stored (k x n)       4 along m, n  ->  1 store of 16 bytes
 *
 * NUMBERS   those of r11.
 * LIMITS    any m, n, k, ld and transposes. WIDE = 1 as in r09.
 * CHANGED   from r11: fetch and keep, one for both operands; the epilogue of production kernels.
 * SOURCE    as r11. */
#include "rung.clh"
#include "wide.clh"
#include "types.clh"
#include "epilogue.clh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, PAD = 4, LOADS = BM * BK / 4 / THREADS, GROUP_M = 8 };
ASSUME(BM == 128 && BN == 128 && BM * BN == 64 * THREADS)

/* Where the four elements of load number e of a thread lie in a tile of 128 x BK: along k (transposed) or along the
 * edge. */
static inline int edge_at(const bool transposed, int e)
{
    int at = get_local_id(0) + e * THREADS;
    return transposed ? at / (BK / 4) : at % (BM / 4) * 4;
}

static inline int k_at(const bool transposed, int e)
{
    int at = get_local_id(0) + e * THREADS;
    return transposed ? at % (BK / 4) * 4 : at / (BM / 4);
}

/* Four elements of an operand whose element (edge, p) lies at x[edge * ld + p] (transposed) or x[p * ld + edge]. */
static inline float4 fetch(const bool transposed, __global const float *x, long ld, int edge, int p, int edges, int k)
{
    if (transposed) return load4(x + (long)edge * ld + p, edge < edges ? k - p : 0);
    return load4(x + (long)p * ld + edge, p < k ? edges - edge : 0);
}

typedef float tile_row[BM + PAD];

/* always_inline: PoCL 3.1 makes local arrays common to all groups where a function that takes them is not inlined. */
__attribute__((always_inline)) static inline void keep(const bool transposed, __local tile_row *tile, int edge, int p,
                                                       float4 x)
{
    if (transposed)
        tile[p][edge] = x.x, tile[p + 1][edge] = x.y, tile[p + 2][edge] = x.z, tile[p + 3][edge] = x.w;
    else
        *(__local float4 *)&tile[p][edge] = x;
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void sgemm_simt(PARAMETERS)
{
    __local __attribute__((aligned(16))) tile_row a_tile[2][BK], b_tile[2][BK];
    int tid = get_local_id(0), lane = tid % 32, warp = tid / 32, now = 0;
    /* rasterisation: down GROUP_M rows of tiles before the next column, as in r11 */
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), group = get_group_id(0) / (GROUP_M * tiles_n);
    int rows = min((int)GROUP_M, tiles_m - group * GROUP_M), in_group = get_group_id(0) % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int a_at = warp / 4 * 64 + (lane / 8 * 2 + lane % 2) * 4, b_at = warp % 4 * 32 + lane / 2 % 4 * 4;
    const bool a_transposed = !OP_A, b_transposed = OP_B;
    float sum[8][8] = {0};
    float4 a_next[LOADS], b_next[LOADS];
    ROLLED /* mainloop */
        for (int p0 = -BK; p0 < k; p0 += BK)
    {
        UNROLLED
        for (int e = 0; e < LOADS; e++) {
            a_next[e] = fetch(a_transposed, a, lda, i0 + edge_at(a_transposed, e), p0 + BK + k_at(a_transposed, e), m,
                              k);
            b_next[e] = fetch(b_transposed, b, ldb, j0 + edge_at(b_transposed, e), p0 + BK + k_at(b_transposed, e), n,
                              k);
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
            keep(a_transposed, a_tile[now], edge_at(a_transposed, e), k_at(a_transposed, e), a_next[e]);
            keep(b_transposed, b_tile[now], edge_at(b_transposed, e), k_at(b_transposed, e), b_next[e]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const output out = OUTPUT;
    UNROLLED /* epilogue */
        for (int i = 0; i < 8; i++)
    {
        const int row = i0 + a_at + i / 4 * 32 + i % 4;
        UNROLLED
        for (int j = 0; j < 8; j += 4)
            put_four(out, row, j0 + b_at + j * 4, (float4)(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
    }
}
