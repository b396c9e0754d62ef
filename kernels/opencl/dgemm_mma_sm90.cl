/* dgemm_mma_sm90 - the production kernel for f64 where OpenCL C may hold PTX for Hopper: the matrix units of one warp.
 *
 * IDEA      CUDA's dgemm_mma_sm80 in OpenCL C, in the 48 KiB of local memory that OpenCL gives a group: a stage holds 8
 *           steps of k, what one mma.sync of a piece of 16 x 8 adds. While a stage is multiplied, the operands of the
 *           next come into registers: of A half of the warp's rows ahead, of B all columns. Two groups share a
 *           multiprocessor. While a warp of one waits, a warp of the other multiplies.
 *
 *               MN-major   [p][edge]; rows are 4 words longer than the tile, so that 4 lines and 4 steps, the lanes of
 *                          half a warp, lie in different banks
 *               K-major    [edge][p]; the two fours of a line are exchanged in every other pair of lines (swizzle)
 *
 *           Each lane's place goes through a shuffle. Else the compiler, which is short of registers, computes it anew
 *           at each stage.
 *
 * NUMBERS   128 x 64: 3 stages of 12.5 KiB, 128 work-items with 64 sums each. For 8 steps a lane loads 24 words of 8
 *           bytes for 16 mma.sync of 1024 FMAs each; a quarter of a multiprocessor does 32 a cycle. H200: 44.4 TFLOP/s
 *           at 4096 (docs/perf/opencl-gpu.md#dmma).
 * LIMITS    sm_90 and above. Any m, n >= 1, k, ld, address and transposes. Fewer than 2^31 groups. Operands whose
 *           address or rows are not multiples of 16 bytes are copied by 8. WIDE = 1: neighbours in C are stored
 *           together.
 * CHANGED   from CUDA's dgemm_mma_sm80: shorter stages, k divided among groups as in gemm_simt.
 * SOURCE    PTX ISA (mma.sync for f64, cp.async); Kerr et al.: CUTLASS, 2017 */
#include "rung.clh"
#include "types.clh"
#include "epilogue.clh"
#include "parts.clh"
#include "sm80.clh"

enum {
    BM = ROW_M,
    BN = ROW_N,
    BK = ROW_K,
    THREADS = ROW_THREADS,
    STAGES = ROW_STAGES,
    PAD = 4,
    WARPS_N = BN / WARP_N,
    PIECES_M = WARP_M / 16,
    PIECES_N = WARP_N / 8,
    AHEAD = PIECES_M / 2, /* rows of pieces of A that are loaded ahead */
    A_ALONG = !OP_A,
    B_ALONG = OP_B,
    A_WORDS = BK * (A_ALONG ? BM : BM + PAD),
    STAGE_WORDS = A_WORDS + BK * (B_ALONG ? BN : BN + PAD),
    GROUP_M = 8
};
ASSUME(BM / WARP_M * WARPS_N * 32 == THREADS && PIECES_M % 2 == 0 && BK == 8 && STAGES >= 2)

/* ---- from global to local memory ---- */

/* Two neighbours, of which `count` are there; zeros for the others. */
ALWAYS_INLINE void copy_pair(__local double *to, __global const double *from, bool by_16, int count)
{
    if (by_16 && count != 1)
        copy_16(to, from, 8 * count);
    else {
        copy_8(to, from, count > 0 ? 8 : 0);
        copy_8(to + 1, from + 1, count > 1 ? 8 : 0);
    }
}

/* The work-item's copies of 8 steps from p0 on, of `edge` lines from edge0 on, of an operand whose element (edge, p)
 * lies at x[edge * ld + p] (along) or x[p * ld + edge]. Zeros beyond `edges` and `end`. */
ALWAYS_INLINE void fetch(const bool along, const int edge, __local double *tile, __global const double *x, long ld,
                         bool by_16, int edge0, int edges, int p0, int end)
{
    const int pairs = (along ? BK : edge) / 2, lines = along ? edge : BK, rows = THREADS / pairs,
              pitch = along ? BK : edge + PAD, pair = get_local_id(0) % pairs, line = get_local_id(0) / pairs,
              left = clamp((along ? end - p0 : edges - edge0) - 2 * pair, 0, 2),
              there = along ? edges - edge0 : end - p0;
    __global const double *from = x + (long)((along ? edge0 : p0) + line) * ld + (along ? p0 : edge0) + 2 * pair;
    UNROLLED
    for (int e = 0; e < lines; e += rows) {
        const int at = along ? (pair / 2 ^ (line + e) / 2 % 2) * 4 + pair % 2 * 2 : 2 * pair;
        copy_pair(tile + (line + e) * pitch + at, from + e * ld, by_16, line + e < there ? left : 0);
    }
}

/* ---- from local memory to registers ---- */

/* Where a lane finds step `step` < 4 of line `edge`, in words. */
ALWAYS_INLINE int place_of(const bool along, const int pitch, int edge, int step)
{
    return KEPT_NUMBER(along ? edge * BK + edge / 2 % 2 * 4 + step : step * pitch + edge);
}

/* The word `edges` lines, a multiple of 8, and `fours` times 4 steps from a place. */
ALWAYS_INLINE double load(const bool along, const int pitch, __local const double *tile, int place, const int edges,
                          const int fours)
{
    return along ? tile[(place ^ fours * 4) + edges * BK] : tile[place + fours * 4 * pitch + edges];
}

/* What a lane holds of a piece of A: steps l % 4 and 4 behind it, of rows l / 4 and l / 4 + 8; of B, of column
 * l / 4. */
ALWAYS_INLINE void load_row(double *x, __local const double *stage, int place, const int i)
{
    UNROLLED
    for (int q = 0; q < 4; q++) x[q] = load(A_ALONG, BM + PAD, stage, place, i * 16 + q % 2 * 8, q / 2);
}

ALWAYS_INLINE void load_column(double *x, __local const double *stage, int place, const int j)
{
    UNROLLED
    for (int q = 0; q < 2; q++) x[q] = load(B_ALONG, BN + PAD, stage + A_WORDS, place, j * 8, q);
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void dgemm_mma_sm90(TYPED_PARAMETERS, int parts,
                                                                                  __global number *restrict sums)
{
    __local __attribute__((aligned(128))) double ring[STAGES][STAGE_WORDS];
    SM80_LOCAL(THREADS)
    const bool a_by_16 = ((ulong)a | (ulong)lda * 8) % 16 == 0, b_by_16 = ((ulong)b | (ulong)ldb * 8) % 16 == 0;
    const int lane = get_local_id(0) % 32, warp = get_local_id(0) / 32, i_warp = warp / WARPS_N * WARP_M,
              j_warp = warp % WARPS_N * WARP_N;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), tiles = tiles_m * tiles_n, part = get_group_id(0) / tiles,
        tile = get_group_id(0) % tiles;
    /* rasterisation: down GROUP_M rows of tiles before the next column, as in r11 */
    int group = tile / (GROUP_M * tiles_n), rows = min((int)GROUP_M, tiles_m - group * GROUP_M),
        in_group = tile % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int steps = ceil_div(ceil_div(k, BK), parts), begin = (int)min((long)part * steps * BK, (long)k),
        end = (int)min((long)begin + steps * BK, (long)k), blocks = ceil_div(end - begin, BK), now = 0;
    double sum[PIECES_M][PIECES_N][4], a_p[2 * AHEAD][4], b_p[2][PIECES_N][2];
    UNROLLED
    for (int e = 0; e < PIECES_M * PIECES_N * 4; e++) sum[e / 4 / PIECES_N][e / 4 % PIECES_N][e % 4] = 0;

#define FETCH(stage, p0)                                                                                               \
    do {                                                                                                               \
        fetch(A_ALONG, BM, ring[stage], a, lda, a_by_16, i0, m, p0, end);                                              \
        fetch(B_ALONG, BN, ring[stage] + A_WORDS, b, ldb, b_by_16, j0, n, p0, end);                                    \
    } while (0)

    for (int q = 0; q < STAGES - 1; q++) {
        if (q < blocks) FETCH(q, begin + q * BK);
        copies_commit();
    }
    const int a_place = place_of(A_ALONG, BM + PAD, i_warp + lane / 4, lane % 4),
              b_place = place_of(B_ALONG, BN + PAD, j_warp + lane / 4, lane % 4);
    COPIES_WAIT(STAGES - 2);
    barrier(CLK_LOCAL_MEM_FENCE); /* the first stage has come for all */
    UNROLLED
    for (int i = 0; i < AHEAD; i++) load_row(a_p[i], ring[0], a_place, i);
    UNROLLED
    for (int j = 0; j < PIECES_N; j++) load_column(b_p[0][j], ring[0], b_place, j);
    ROLLED /* mainloop: two stages a turn, so that b_p is indexed by constants */
        for (int block = 0; block < blocks; block += 2)
    {
        UNROLLED
        for (int odd = 0; odd < 2; odd++) {
            if (block + odd >= blocks) break;
            const int to = now == 0 ? STAGES - 1 : now - 1, next = block + odd + STAGES - 1;
            if (next < blocks) FETCH(to, begin + next * BK);
            copies_commit();
            UNROLLED
            for (int i = 0; i < PIECES_M; i++) {
                if (i == PIECES_M - AHEAD) {
                    if (++now == STAGES) now = 0;
                    COPIES_WAIT(STAGES - 2);
                    barrier(CLK_LOCAL_MEM_FENCE); /* the next stage has come for all, and all have loaded this one */
                }
                UNROLLED
                for (int j = 0; j < PIECES_N; j++) {
                    WARP_MULTIPLY(sum[i][j], a_p[i % (2 * AHEAD)], b_p[odd][j]);
                    if (j > 0) continue;
                    load_row(a_p[(i + AHEAD) % (2 * AHEAD)], ring[now], a_place, (i + AHEAD) % PIECES_M);
                    UNROLLED /* after the last stage these are not used */
                        for (int q = 0; q < PIECES_N; q++) if (q * AHEAD / PIECES_N == i - (PIECES_M - AHEAD))
                            load_column(b_p[1 - odd][q], ring[now], b_place, q);
                }
            }
        }
    }
    const output out = OUTPUT;
    UNROLLED /* epilogue */
        for (int i = 0; i < PIECES_M; i++)
    {
        UNROLLED
        for (int j = 0; j < PIECES_N; j++) {
            UNROLLED
            for (int e = 0; e < 4; e += 2) {
                const int row = i0 + i_warp + i * 16 + lane / 4 + e / 2 * 8,
                          column = j0 + j_warp + j * 8 + lane % 4 * 2;
                put_pair_or_part(out, parts, part, sums, row, column, sum[i][j][e], sum[i][j][e + 1]);
            }
        }
    }
}
