/* sgemm_cpasync_sm80 - the production kernel for large f32 where OpenCL C may hold PTX: sgemm_simt fed by cp.async.
 *
 * IDEA      CUDA's kernel of this name in OpenCL C. A work-item owns 16 x 8 sums, so that it loads 24 words from local
 *           memory for 128 multiply-adds. Tiles come by cp.async, without a register between; a copy of 4 bytes can go
 *           anywhere, so that what lies along k is transposed while it is copied, word by word; what lies along the
 *           edge comes by 16 bytes where its rows are whole 16 bytes.
 *
 *         A as stored, B transposed  x[edge][p]  a warp copies 8 steps of 4 rows: 4 whole sectors, into 32 banks: the
 *                                                tile's rows are 132 words apart:  bank = 4 p + edge
 *         A transposed, B as stored  x[p][edge]  a warp copies 128 neighbours, 16 bytes each; or 32 of 4 bytes
 *
 *           Beyond an edge a copy writes zeros. The steps of k that do not fill a tile come first, so that no copy of
 *           the mainloop checks for the end of k.
 *
 *           128 sums, 24 operands and the loop's variables fill the 168 registers that three groups leave. So no
 *           address is kept between tiles: each is computed from the work-item's number, which is read again.
 *
 * NUMBERS   32 flop/byte. 128 work-items, 3 stages of 8.25 KiB; REGISTERS let three groups share a multiprocessor. Of
 *           the mainloop's 1183 instructions 1024 are FMAs (A and B as stored, sm_90).
 * LIMITS    any m, n >= 1, k, ld and transposes. WIDE = 1 as in r09. Fewer than 2^31 tiles.
 * CHANGED   from sgemm_simt: cp.async, stages, and 16 x 8 sums for 8 x 8.
 * SOURCE    PTX ISA (cp.async); as sgemm_simt */
#include "rung.clh"
#include "types.clh"
#include "epilogue.clh"
#include "sm80.clh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, STAGES = ROW_STAGES, PAD = 4, GROUP_M = 8 };
ASSUME(BM == 128 && BN == 128 && BK == 8 && THREADS == 128)

typedef float tile_row[BM + PAD];

/* The work-item's copies of a tile of an operand whose element (edge, p) lies at x[edge * ld + p] (transposed) or x[p *
 * ld + edge]: 128 x BK elements from edge0 and p0 on, of which edges - edge0 and `depth` are there. */
ALWAYS_INLINE void fetch(const bool transposed, __local tile_row *tile, __global const float *x, long ld, int edge0,
                         int edges, int p0, int depth)
{
    const uint tid = WORK_ITEM();
    if (transposed) {
        const int edge = tid / BK, p = tid % BK, left = depth == BK || p < depth ? edges - edge0 - edge : 0;
        __global const float *from = x + (long)(edge0 + edge) * ld + (p0 + p);
        UNROLLED
        for (int e = 0; e < BM; e += THREADS / BK) copy_4(&tile[p][edge + e], from + e * ld, e < left ? 4 : 0);
    } else if (WIDE || ((ulong)x % 16 | ld % 4) == 0) {
        const int edge = tid % 32 * 4, p = tid / 32, count = clamp(edges - edge0 - edge, 0, 4);
        __global const float *from = x + (long)(p0 + p) * ld + (edge0 + edge);
        UNROLLED
        for (int q = 0; q < BK; q += THREADS / 32)
            copy_16(&tile[p + q][edge], from + q * ld, depth == BK || p + q < depth ? count * 4 : 0);
    } else {
        const bool there = edges - edge0 - (int)tid > 0;
        __global const float *from = x + (long)p0 * ld + (edge0 + tid);
        UNROLLED
        for (int q = 0; q < BK; q++) copy_4(&tile[q][tid], from + q * ld, there && (depth == BK || q < depth) ? 4 : 0);
    }
}

/* No reqd_work_group_size: beside it NVIDIA's compiler ignores REGISTERS. */
__kernel void sgemm_cpasync_sm80(PARAMETERS)
{
    __local __attribute__((aligned(16))) tile_row ring[STAGES][2][BK]; /* of A, of B */
    const int lane = get_local_id(0) % 32, warp = get_local_id(0) / 32, blocks = ceil_div(k, BK),
              first = k - (blocks - 1) * BK;
    int now = 0, to = STAGES - 1;
    /* rasterisation: down GROUP_M rows of tiles before the next column, as in r11 */
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), group = get_group_id(0) / (GROUP_M * tiles_n);
    int rows = min((int)GROUP_M, tiles_m - group * GROUP_M), in_group = get_group_id(0) % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int a_at = (lane / 8 * 2 + lane % 2) * 4, b_at = warp * 32 + lane / 2 % 4 * 4;
    const bool a_transposed = !OP_A, b_transposed = OP_B;
    float sum[16][8] = {{0}};
    for (int q = 0; q < STAGES - 1; q++) { /* prologue: the copies of the first stages */
        if (q < blocks) {
            const int p0 = q > 0 ? first + (q - 1) * BK : 0, depth = q > 0 ? BK : first;
            fetch(a_transposed, ring[q][0], a, lda, i0, m, p0, depth);
            fetch(b_transposed, ring[q][1], b, ldb, j0, n, p0, depth);
        }
        copies_commit();
    }
    ROLLED /* mainloop */
        for (int block = 0; block < blocks; block++)
    {
        COPIES_WAIT(STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE); /* this stage has come for all, and all have read the one before */
        if (block + STAGES - 1 < blocks) {
            const int p0 = first + (block + STAGES - 2) * BK;
            fetch(a_transposed, ring[to][0], a, lda, i0, m, p0, BK);
            fetch(b_transposed, ring[to][1], b, ldb, j0, n, p0, BK);
        }
        copies_commit();
        UNROLLED
        for (int p = 0; p < BK; p++) {
            __attribute__((aligned(16))) float a_p[16], b_p[8];
            UNROLLED
            for (int i = 0; i < 4; i++)
                *(float4 *)&a_p[4 * i] = *(__local const float4 *)&ring[now][0][p][a_at + 32 * i];
            UNROLLED
            for (int j = 0; j < 2; j++)
                *(float4 *)&b_p[4 * j] = *(__local const float4 *)&ring[now][1][p][b_at + 16 * j];
            UNROLLED
            for (int i = 0; i < 16; i++) {
                UNROLLED
                for (int q = 0; q < 8; q++) {
                    const int j = i % 2 ? q : 7 - q;
                    sum[i][j] = fma(a_p[i], b_p[j], sum[i][j]);
                }
            }
        }
        to = now;
        if (++now == STAGES) now = 0;
    }
    const output out = OUTPUT;
    UNROLLED /* epilogue */
        for (int i = 0; i < 16; i++)
    {
        const int row = i0 + a_at + i / 4 * 32 + i % 4;
        UNROLLED
        for (int j = 0; j < 8; j += 4)
            put_four(out, row, j0 + b_at + j * 4, (float4)(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
    }
}
