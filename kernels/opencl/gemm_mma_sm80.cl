/* gemm_mma_sm80 - the production kernel for bf16, f16, i8 and u8 where OpenCL C may hold PTX: the matrix units of one
 * warp.
 *
 * IDEA      CUDA's r13m_mma in OpenCL C: tiles come into local memory by cp.async, from there into registers by
 *           ldmatrix, and mma.sync multiplies 16 rows by 8 columns and 32 bytes of k: 16 elements of 2 bytes, or 32 of
 *           one. ldmatrix turns squares of 2-byte elements on its way, so that these are read as they lie, along k or
 *           along the edge. Bytes must lie along k: where they don't, a work-item loads squares of 4 x 4, turns them in
 *           registers, and stores them along k.
 *
 *               a line of a tile     chunks of 16 bytes, in an order of the line's own, so that the 8 chunks that
 *                                    ldmatrix takes at a time, one of each of 8 lines, lie in 8 different groups of 4
 *                                    banks: kernels/cuda/ladder/r13m_mma.cu has the picture
 *
 *           While a warp multiplies one step of k the next comes into its registers, also across the end of a tile.
 *
 * NUMBERS   128 x 128: 64 flop per byte of bf16; 3 stages of 16 KiB, 128 work-items.
 * LIMITS    any m, n >= 1, k, ld, address and transposes. Fewer than 2^31 groups. An operand whose address or rows are
 *           not multiples of 16 bytes is copied element by element. WIDE = 1: neighbours in C are stored together.
 * CHANGED   from CUDA's r13m_mma: bytes too; k divided among groups, as in gemm_simt.
 * SOURCE    PTX ISA (mma.sync, ldmatrix, cp.async); Kerr et al.: CUTLASS, 2017 */
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
    BYTES = SUMS_S32 ? 1 : 2, /* of an element */
    CHUNK = 16 / BYTES,
    LINE = BK * BYTES, /* bytes of a line along k */
    STEPS = LINE / 32,
    WARPS_N = BN / WARP_N,
    A_BYTES = BM * LINE,
    STAGE_BYTES = (BM + BN) * LINE,
    GROUP_M = 8
};
ASSUME(BM / WARP_M * WARPS_N * 32 == THREADS && STEPS % 2 == 0 && WARP_M % 16 == 0 && WARP_N % 16 == 0)

#if SUMS_S32
typedef uchar element;
#else
typedef ushort element; /* only carried */
#endif

/* Where a chunk lies in a tile whose lines are `across` chunks long. */
ALWAYS_INLINE int chunk_at(const int across, int line, int chunk)
{
    const int order = across >= 8 ? line % 8 : (line / 2 + (SUMS_S32 ? line / 8 : 0)) % 4;
    return (line * across + (chunk ^ order)) * 16;
}

/* Neighbours one by one, of which `count` are there; the others are 0. */
ALWAYS_INLINE void copy_singly(__local uchar *to, __global const element *from, int count)
{
    uint x[4] = {0, 0, 0, 0};
    UNROLLED
    for (int q = 0; q < CHUNK; q++)
        if (q < count) x[q * BYTES / 4] |= (uint)from[q] << q * BYTES % 4 * 8;
    *(__local uint4 *)to = (uint4)(x[0], x[1], x[2], x[3]);
}

/* The work-item's chunks of a tile of `edge` lines, `across` chunks each, that lie in memory ld apart. */
ALWAYS_INLINE void fetch_lines(const int edge, const int across, __local uchar *tile, __global const element *x,
                               long ld, int line0, int lines, int at0, int length, bool wide)
{
    const int line = get_local_id(0) / across, chunk = get_local_id(0) % across, at = at0 + chunk * CHUNK,
              there = clamp(length - at, 0, (int)CHUNK);
    __global const element *from = x + (long)(line0 + line) * ld + at;
    UNROLLED
    for (int e = 0; e < edge; e += THREADS / across) {
        __local uchar *to = tile + chunk_at(across, line + e, chunk);
        const int count = line0 + line + e < lines ? there : 0;
        if (wide && count % CHUNK == 0)
            copy_16(to, from + e * ld, count * BYTES);
        else
            copy_singly(to, from + e * ld, count);
    }
}

/* ---- bytes that lie along the edge: squares of 4 x 4, four lanes along k, so that their words make a chunk ---- */

#define SQUARES(edge) ((edge)*BK / 16 / THREADS)

ALWAYS_INLINE int square_k(int at) { return at % 4 * 4 + at / 4 % (BK / 16) * 16; }
ALWAYS_INLINE int square_edge(int at) { return at / (BK / 4) * 4; }

ALWAYS_INLINE uint load_word(__global const element *from, int count, bool words)
{
    uint x = 0;
    if (words && count >= 4) return *(__global const uint *)from;
    UNROLLED
    for (int q = 0; q < 4; q++)
        if (q < count) x |= (uint)from[q] << q * 8;
    return x;
}

ALWAYS_INLINE void load_squares(const int edge, uint *next, __global const element *x, long ld, int edge0, int edges,
                                int p0, int end, bool words)
{
    UNROLLED
    for (int e = 0; e < SQUARES(edge); e++) {
        const int at = get_local_id(0) + e * THREADS, p = p0 + square_k(at), i = edge0 + square_edge(at);
        UNROLLED
        for (int q = 0; q < 4; q++)
            next[4 * e + q] = load_word(x + (long)(p + q) * ld + i, p + q < end ? edges - i : 0, words);
    }
}

ALWAYS_INLINE void store_squares(const int edge, __local uchar *tile, const uint *next)
{
    UNROLLED
    for (int e = 0; e < SQUARES(edge); e++) {
        const int at = get_local_id(0) + e * THREADS, p = square_k(at), i = square_edge(at);
        UNROLLED
        for (int q = 0; q < 4; q++) {
            uint word = 0;
            UNROLLED
            for (int r = 0; r < 4; r++) word |= (next[4 * e + r] >> q * 8 & 255) << r * 8;
            *(__local uint *)(tile + chunk_at(LINE / 16, i + q, p / 16) + p % 16) = word;
        }
    }
}

/* ---- an operand, whose element (edge, p) lies at x[edge * ld + p] (along k) or x[p * ld + edge] ---- */

ALWAYS_INLINE void fetch(const bool along, const int edge, __local uchar *tile, __global const element *x, long ld,
                         int edge0, int edges, int p0, int end, bool wide)
{
    if (along)
        fetch_lines(edge, LINE / 16, tile, x, ld, edge0, edges, p0, end, wide);
    else
        fetch_lines(BK, edge / CHUNK, tile, x, ld, p0, end, edge0, edges, wide);
}

/* Four matrices for a step of k: of A 16 lines of the edge, by 32 bytes of k; of B the same in another order. */
#define LOAD_A(four, tile, edge, step)                                                                                 \
    MATRIX_LOAD(four, ring,                                                                                            \
                (tile) + (a_along ? chunk_at(LINE / 16, (edge) + lane % 16, (step)*2 + lane / 16)                      \
                                  : chunk_at(BM / CHUNK, (step)*16 + lane % 8 + lane / 16 * 8,                         \
                                             (edge) / CHUNK + lane / 8 % 2)),                                          \
                !a_along)
#define LOAD_B(four, tile, edge, step)                                                                                 \
    MATRIX_LOAD(four, ring,                                                                                            \
                (tile) + (b_along ? chunk_at(LINE / 16, (edge) + lane % 8 + lane / 16 * 8, (step)*2 + lane / 8 % 2)    \
                                  : chunk_at(BN / CHUNK, (step)*16 + lane % 16, (edge) / CHUNK + lane / 16)),          \
                !b_along)
#define LOAD_STEP(to, stage, step)                                                                                     \
    do {                                                                                                               \
        UNROLLED                                                                                                       \
        for (int i = 0; i < WARP_M / 16; i++) LOAD_A(a_p[to][i], ring[stage], i_warp + i * 16, step);                  \
        UNROLLED                                                                                                       \
        for (int j = 0; j < WARP_N / 16; j++) LOAD_B(b_p[to][j], ring[stage] + A_BYTES, j_warp + j * 16, step);        \
    } while (0)

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gemm_mma_sm80(TYPED_PARAMETERS, int parts,
                                                                                 __global number *restrict sums)
{
    __local __attribute__((aligned(128))) uchar ring[STAGES][STAGE_BYTES];
    SM80_LOCAL(THREADS)
    const bool a_transposes = BYTES == 1 && OP_A, b_transposes = BYTES == 1 && !OP_B; /* on the way into local memory */
    const bool a_along = !OP_A || a_transposes, b_along = OP_B || b_transposes;       /* in local memory */
    __global const element *a_in = (__global const element *)a, *b_in = (__global const element *)b;
    const bool a_wide = ((ulong)a | (ulong)lda * BYTES) % (a_transposes ? 4 : 16) == 0,
               b_wide = ((ulong)b | (ulong)ldb * BYTES) % (b_transposes ? 4 : 16) == 0;
    const int lane = get_local_id(0) % 32, warp = get_local_id(0) / 32, i_warp = warp / WARPS_N * WARP_M,
              j_warp = warp % WARPS_N * WARP_N;
    int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN), tiles = tiles_m * tiles_n, part = get_group_id(0) / tiles,
        tile = get_group_id(0) % tiles;
    /* rasterisation: down GROUP_M rows of tiles before the next column, as in r11 */
    int group = tile / (GROUP_M * tiles_n), rows = min((int)GROUP_M, tiles_m - group * GROUP_M),
        in_group = tile % (GROUP_M * tiles_n);
    int i0 = (group * GROUP_M + in_group % rows) * BM, j0 = in_group / rows * BN;
    int steps = ceil_div(ceil_div(k, BK), parts), begin = min(part * steps * BK, k),
        end = begin + min(steps * BK, k - begin), blocks = ceil_div(end - begin, BK), now = 0, to = STAGES - 1;
    number sum[WARP_M / 16][WARP_N / 8][4];
    uint a_p[2][WARP_M / 16][4], b_p[2][WARP_N / 16][4], a_next[4 * SQUARES(BM)], b_next[4 * SQUARES(BN)];
    UNROLLED
    for (int e = 0; e < WARP_M / 16 * (WARP_N / 8) * 4; e++) sum[e / 4 / (WARP_N / 8)][e / 4 % (WARP_N / 8)][e % 4] = 0;

#define FETCH(stage, p0)                                                                                               \
    do {                                                                                                               \
        if (a_transposes)                                                                                              \
            load_squares(BM, a_next, a_in, lda, i0, m, p0, end, a_wide);                                               \
        else                                                                                                           \
            fetch(a_along, BM, ring[stage], a_in, lda, i0, m, p0, end, a_wide);                                        \
        if (b_transposes)                                                                                              \
            load_squares(BN, b_next, b_in, ldb, j0, n, p0, end, b_wide);                                               \
        else                                                                                                           \
            fetch(b_along, BN, ring[stage] + A_BYTES, b_in, ldb, j0, n, p0, end, b_wide);                              \
    } while (0)
#define KEEP(stage)                                                                                                    \
    do {                                                                                                               \
        if (a_transposes) store_squares(BM, ring[stage], a_next);                                                      \
        if (b_transposes) store_squares(BN, ring[stage] + A_BYTES, b_next);                                            \
    } while (0)

    for (int q = 0; q < STAGES - 1; q++) {
        if (q < blocks) {
            FETCH(q, begin + q * BK);
            KEEP(q);
        }
        copies_commit();
    }
    COPIES_WAIT(STAGES - 2);
    barrier(CLK_LOCAL_MEM_FENCE); /* the first stage has come for all */
    LOAD_STEP(0, 0, 0);
    ROLLED /* mainloop */
        for (int block = 0; block < blocks; block++)
    {
        const bool more = block + STAGES - 1 < blocks;
        const int last = to;
        if (more) FETCH(to, begin + (block + STAGES - 1) * BK);
        copies_commit();
        to = now;
        UNROLLED
        for (int step = 0; step < STEPS; step++) {
            if (step == STEPS - 1) {
                if (more) KEEP(last);
                if (++now == STAGES) now = 0;
                COPIES_WAIT(STAGES - 2);
                barrier(CLK_LOCAL_MEM_FENCE); /* the next stage has come for all, and all have read this one */
            }
            LOAD_STEP((step + 1) % 2, now, (step + 1) % STEPS); /* behind the last: what is not used */
            UNROLLED
            for (int i = 0; i < WARP_M / 16; i++) {
                UNROLLED
                for (int j = 0; j < WARP_N / 8; j++)
                    WARP_MULTIPLY(sum[i][j], a_p[step % 2][i], &b_p[step % 2][j / 2][j % 2 * 2]);
            }
        }
    }
    const output out = OUTPUT;
    UNROLLED /* epilogue */
        for (int i = 0; i < WARP_M / 16; i++)
    {
        UNROLLED
        for (int j = 0; j < WARP_N / 8; j++) {
            UNROLLED
            for (int e = 0; e < 4; e += 2) {
                const int row = i0 + i_warp + i * 16 + lane / 4 + e / 2 * 8,
                          column = j0 + j_warp + j * 8 + lane % 4 * 2;
                put_pair_or_part(out, parts, part, sums, row, column, sum[i][j][e], sum[i][j][e + 1]);
            }
        }
    }
}
