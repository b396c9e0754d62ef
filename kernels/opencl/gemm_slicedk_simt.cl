/* gemm_slicedk_simt - the production kernel of NVIDIA's GPUs for small, deep and thin f32 products: sliced-K, k divided
 * among slices of a group, each of one or two warps.
 *
 * IDEA      gemm_simt divides k of small products among groups, and a second kernel adds. That launch takes longer than
 *           the product. With the k of a tile undivided, a small tile has too few work-items, each with too few sums:
 *           4 x 4 sums load a word for two multiply-adds. Here SLICES slices of a group each compute the whole tile,
 *           over their own steps of k, so that each work-item has more sums:
 *
 *         steps of k     0 ... 7     8 ... 15             56 ... 63     64 ... 71
 *         slice             0           1       ...           7             0       ...
 *                        \________________ one stage ___________/     \___ the next
 *
 *           All work-items load a stage, BK steps, as gemm_simt does: lines of up to 256 bytes along k. In the epilogue
 *           slices leave their sums in local memory, and all work-items add them, slice 0 first. While one stage is
 *           multiplied the next STAGES come into registers.
 *           Swizzle: quads of words lie at edge ^ 4 (p / 8 % 4), so that 8 lanes that transpose 32 steps of a line
 *           store into 8 different groups of four banks. The 8 steps of a slice share one swizzle.
 *           Deep products still have too few tiles: their k is divided among groups too (`parts`), as in gemm_simt.
 *
 * NUMBERS   256 work-items. 64 x 64: 4 slices of 8 x 8 sums, 4 loads of 16 bytes for 64 multiply-adds. 32 x 32: 8
 *           slices of 4 x 8. 32 x 16 and 16 x 32: 8 slices of 4 x 4, for thin products, whose time is that of reading
 *           the other operand: two stages ahead. 28 to 36 KiB of local memory. H200, f32: 9.0 us at 256, 70 at 1024
 *           (docs/perf/opencl-gpu.md#slicedk).
 * LIMITS    any m, n >= 1, k, ld, address and transposes. Fewer than 2^31 groups. Sums of 4 bytes. WIDE = 1 as in r09.
 * CHANGED   from gemm_simt: slices, STAGES, the swizzle.
 * SOURCE    sliced-K: NVIDIA: CUTLASS, 2017 */
#include "rung.clh"
#include "types.clh"
#include "epilogue.clh"
#include "parts.clh"
#include "simt_tile.clh"

enum {
    ITEMS = ACROSS * DOWN, /* work-items of a slice */
    SLICES = ROW_SLICES,
    STAGES = ROW_STAGES, /* on their way, in registers */
    DEPTH = BK / SLICES,
    A_PITCH = BM + PAD,
    B_PITCH = BN + PAD,
    STAGE_WORDS = BK * (A_PITCH + B_PITCH),
    /* of each slice, a vector of rows of each work-item at a time */
    PIECE_M = BM / (ITEM_M / VECTOR),
    PIECE = PIECE_M * B_PITCH,
    WORDS = 2 * STAGE_WORDS > SLICES *PIECE ? 2 * STAGE_WORDS : SLICES *PIECE
};
ASSUME(THREADS == ITEMS * SLICES && ITEMS % 32 == 0 && BK % 32 == 0 && 8 % DEPTH == 0 && DEPTH % 4 == 0 &&
       VECTOR == 4 && PIECE_M % 16 == 0 && BN / (ITEM_N / VECTOR) % 16 == 0 && PIECE_M * BN % THREADS == 0 &&
       A_QUADS % THREADS == 0 && B_QUADS % THREADS == 0)

/* Swizzle: a tile has element (edge, p) in column edge ^ exchange(p) of line p. */
static inline int exchange(int p) { return p / 8 % 4 * 4; }

/* Where quad number `at` of a tile of `edges` x BK lies: 8 lanes along k, or neighbours along the edge. */
static inline int edge_at(const bool along, const int edges, int at)
{
    return along ? at / 8 % edges : at % (edges / 4) * 4;
}
static inline int k_at(const bool along, const int edges, int at)
{
    return along ? at / (8 * edges) * 32 + at % 8 * 4 : at / (edges / 4);
}

/* The quads of a work-item, of the stage that begins at p0: without guards where all of it is there. */
#define FETCH_ALL(next, loads, type, along, x, ld, edge0, edges, p0, bm)                                               \
    if ((edge0) + bm <= (edges) && (p0) + BK <= end) {                                                                 \
        UNROLLED                                                                                                       \
        for (int e = 0; e < loads; e++) {                                                                              \
            const long edge = (edge0) + edge_at(along, bm, tid + e * THREADS),                                         \
                       p = (p0) + k_at(along, bm, tid + e * THREADS);                                                  \
            (next)[e] = LOAD4(type)(x + ((along) ? edge * ld + p : p * ld + edge), 4);                                 \
        }                                                                                                              \
    } else {                                                                                                           \
        UNROLLED                                                                                                       \
        for (int e = 0; e < loads; e++) {                                                                              \
            const int edge = (edge0) + edge_at(along, bm, tid + e * THREADS),                                          \
                      p = (p0) + k_at(along, bm, tid + e * THREADS);                                                   \
            (next)[e] = FETCH(type, along, x, ld, edge, p, edges, end);                                                \
        }                                                                                                              \
    }
#define KEEP_ALL(next, loads, along, tile, pitch, bm)                                                                  \
    UNROLLED                                                                                                           \
    for (int e = 0; e < loads; e++) {                                                                                  \
        const int at = tid + e * THREADS, p = k_at(along, bm, at);                                                     \
        keep(along, tile, pitch, edge_at(along, bm, at) ^ exchange(p), p, (next)[e]);                                  \
    }

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gemm_slicedk_simt(TYPED_PARAMETERS, int parts,
                                                                                     __global number *restrict sums)
{
    __local __attribute__((aligned(32))) number words[WORDS];
    const bool a_along = !OP_A, b_along = OP_B;
    const int tid = get_local_id(0), slice = tid / ITEMS, item = tid % ITEMS, lane = item % 32, warp = item / 32,
              tx = warp % (ACROSS / LANES_N) * LANES_N + lane % LANES_N,
              ty = warp / (ACROSS / LANES_N) * LANES_M + lane / LANES_N, tiles_m = ceil_div(m, BM),
              tiles_n = ceil_div(n, BN), tiles = tiles_m * tiles_n, part = get_group_id(0) / tiles,
              tile = get_group_id(0) % tiles;
    /* rasterisation: down GROUP_M rows of tiles before the next column, as in r11 */
    const int group = tile / (GROUP_M * tiles_n), rows = min((int)GROUP_M, tiles_m - group * GROUP_M),
              in_group = tile % (GROUP_M * tiles_n), i0 = (group * GROUP_M + in_group % rows) * BM,
              j0 = in_group / rows * BN;
    const int steps = ceil_div(ceil_div(k, BK), parts), begin = min(part * steps * BK, k),
              end = begin + min(steps * BK, k - begin), first = slice * DEPTH, swap = exchange(first);
    int now = 0;
    number sum[ITEM_M][ITEM_N];
    number4 a_next[STAGES][A_LOADS], b_next[STAGES][B_LOADS];
    UNROLLED
    for (int e = 0; e < ITEM_M * ITEM_N; e++) sum[e / ITEM_N][e % ITEM_N] = 0;
    UNROLLED /* prologue */
        for (int h = 0; h < STAGES;
             h++){FETCH_ALL(a_next[h], A_LOADS, TYPE_A, a_along, a, lda, i0, m, begin + h * BK, BM) FETCH_ALL(
            b_next[h], B_LOADS, TYPE_B, b_along, b, ldb, j0, n, begin + h * BK,
            BN)} ROLLED /* mainloop: STAGES stages, of which the last may lie beyond the end and be zeros */
        for (int p0 = begin; p0 < end; p0 += STAGES * BK)
    {
        UNROLLED
        for (int h = 0; h < STAGES; h++) {
            __local number *a_tile = words + now * STAGE_WORDS, *b_tile = a_tile + BK * A_PITCH;
            __local const number *a_mine = a_tile + first * A_PITCH + (ty * VECTOR ^ swap),
                                 *b_mine = b_tile + first * B_PITCH + (tx * VECTOR ^ swap);
            KEEP_ALL(a_next[h], A_LOADS, a_along, a_tile, A_PITCH, BM)
            KEEP_ALL(b_next[h], B_LOADS, b_along, b_tile, B_PITCH, BN)
            FETCH_ALL(a_next[h], A_LOADS, TYPE_A, a_along, a, lda, i0, m, p0 + (h + STAGES) * BK, BM)
            FETCH_ALL(b_next[h], B_LOADS, TYPE_B, b_along, b, ldb, j0, n, p0 + (h + STAGES) * BK, BN)
            barrier(CLK_LOCAL_MEM_FENCE); /* this stage is there, and all have read the one before */
            UNROLLED
            for (int p = 0; p < DEPTH; p++) {
                __attribute__((aligned(16))) number a_p[ITEM_M], b_p[ITEM_N];
                UNROLLED
                for (int q = 0; q < ITEM_M; q += VECTOR)
                    *(number_vector *)&a_p[q] = *(__local const number_vector *)&a_mine[p * A_PITCH + row_at(q, 0)];
                UNROLLED
                for (int q = 0; q < ITEM_N; q += VECTOR)
                    *(number_vector *)&b_p[q] = *(__local const number_vector *)&b_mine[p * B_PITCH + column_at(q, 0)];
                UNROLLED
                for (int i = 0; i < ITEM_M; i++) {
                    UNROLLED
                    for (int j = 0; j < ITEM_N; j++) sum[i][j] = multiply_add(a_p[i], b_p[j], sum[i][j]);
                }
            }
            now ^= 1;
        }
    }
    const output out = OUTPUT;
    UNROLLED /* epilogue */
        for (int i = 0; i < ITEM_M; i += VECTOR)
    {
        barrier(CLK_LOCAL_MEM_FENCE); /* all have read the last stage, or the piece before */
        UNROLLED
        for (int r = 0; r < VECTOR; r++) {
            UNROLLED
            for (int j = 0; j < ITEM_N; j += VECTOR)
                *(__local number_vector *)&words[slice * PIECE + row_at(r, ty) * B_PITCH + column_at(j, tx)] =
                    (number_vector)(sum[i + r][j], sum[i + r][j + 1], sum[i + r][j + 2], sum[i + r][j + 3]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        UNROLLED
        for (int e = 0; e < PIECE_M * BN; e += THREADS) {
            const int r = (tid + e) / BN, at = (tid + e) % BN, row = i0 + row_at(i, 0) + r, column = j0 + at;
            number all = words[r * B_PITCH + at];
            UNROLLED
            for (int s = 1; s < SLICES; s++) all += words[s * PIECE + r * B_PITCH + at];
            put_one_or_part(out, parts, part, sums, row, column, all);
        }
    }
}
