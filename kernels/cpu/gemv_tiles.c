/* gemv_tiles - the matrix unit's kernel where C is one row or one column: a matrix X times a vector y.
 *
 * IDEA      Each element of X is used once, so it is read once, in place. gemm's kernel would copy it into panels first
 *           and multiply 31 rows or columns of zeros with it.
 *
 *           k side by side                           Outputs side by side
 *             64 bytes of 16 rows of X are             the steps of a word are woven into words of each column,
 *             a tile as they lie:                      16 words make a tile, and y is a tile of one row:
 *
 *               .- X --------.   .y.   .sums.            .- y --------.   .- X --------.   .- sums -----.
 *               | 16 rows    | x | | = |    |            '------------' x | 16 words   | = '------------'
 *               '------------'   '-'   '----'                             '------------'
 *
 *             Two such tiles at a time.                  256 columns at a time; sums stay in the L1.
 *
 *           Every sum has the instructions, the blocks of 64 bytes along k and the order of r13_matrix: the same bits.
 * NUMBERS   An instruction multiplies 1 KiB of X in 16 cycles: 64 bytes a cycle, where memory gives a core some 4.
 *           Weaving takes 2 shuffles for 128 bytes of bf16, 8 for 256 bytes of int8.
 * LIMITS    37 KiB on the stack. Configures the tiles by itself, and gives them back.
 * SOURCE    as r13_matrix. */
#include "epilogue.h"
#include "rung.h"
#include "tiles.h"

#include <string.h>

#define ALWAYS         static inline __attribute__((always_inline))
#define real_mul(x, y) ((x) * (y))
#define real_fma       times_plus

/* GROUP: elements of a word. DEPTH: steps of k in 64 bytes, and outputs of a strip. WIDE: outputs that are woven at a
 * time. PIECE: of y. AHEAD: bytes prefetched of a row. */
enum { GROUP = IS_INT8 ? 4 : 2, SIZE = 4 / GROUP, DEPTH = TILE_BYTES / SIZE, PARTS = DEPTH / TILE_EDGE };
enum { STRIP_BYTES = DEPTH * TILE_BYTES, WIDE = 256, SWEPT = 8 };
enum { BLOCK = 2048, PIECE_BYTES = 8192, PIECE = PIECE_BYTES / SIZE, AHEAD = 1024 };

static void copy_y(const cpu_gemv *t, int64_t first, int64_t count, char y[PIECE_BYTES])
{
    const int64_t end = (count + DEPTH - 1) / DEPTH * TILE_BYTES;
    const char *from = (const char *)t->y + first * t->y_stride * SIZE;
    if (t->y_stride == 1)
        memcpy(y, from, (size_t)(count * SIZE));
    else
        for (int64_t p = 0; p < count; p++) memcpy(y + p * SIZE, from + p * t->y_stride * SIZE, SIZE);
    memset(y + count * SIZE, 0, (size_t)(end - count * SIZE));
}

/* `rows` rows of `bytes` bytes as 64 bytes of `all` rows, zeros beyond them. */
static void copy_edge(char *to, int64_t all, const char *from, int64_t stride, int64_t rows, int64_t bytes)
{
    memset(to, 0, (size_t)(all * TILE_BYTES));
    for (int64_t i = 0; i < rows; i++) memcpy(to + i * TILE_BYTES, from + i * stride, (size_t)bytes);
}

/* Tile `a` of 16 rows of X, of which some may lack. */
#define LOAD_ROWS(a, at, rows, bytes)                                                                                  \
    do {                                                                                                               \
        const char *at_ = (at);                                                                                        \
        if ((rows) < TILE_EDGE || (bytes) < TILE_BYTES) {                                                              \
            copy_edge(edge, TILE_EDGE, at_, stride, rows, bytes);                                                      \
            tiles_ordered();                                                                                           \
            tile_load(a, edge, TILE_BYTES);                                                                            \
            tiles_ordered();                                                                                           \
        } else {                                                                                                       \
            for (int i_ = 0; i_ < TILE_EDGE; i_++)                                                                     \
                __builtin_prefetch((const void *)((uintptr_t)at_ + (uintptr_t)(i_ * stride) + AHEAD), 0, 2);           \
            tile_load(a, at_, stride);                                                                                 \
        }                                                                                                              \
    } while (0)

/* k side by side: sums of `count` outputs, more by `depth` steps of k. */
ALWAYS void add_rows(const char *x, const int64_t stride, const char *y, int64_t count, int64_t depth, real *sums,
                     const int kind)
{
    _Alignas(64) char edge[TILE_EDGE * TILE_BYTES];
    for (int64_t i = 0; i < count; i += 2 * TILE_EDGE) {
        const int64_t upper = smaller(TILE_EDGE, count - i), lower = smaller(TILE_EDGE, count - i - upper);
        const char *row = x + i * stride;
        tile_load(0, sums + i, 4);
        if (lower > 0) tile_load(1, sums + i + TILE_EDGE, 4);
        for (int64_t p = 0; p < depth; p += DEPTH) {
            const int64_t bytes = smaller(TILE_BYTES, (depth - p) * SIZE);
            tile_load(6, y + p * SIZE, 4);
            LOAD_ROWS(4, row + p * SIZE, upper, bytes);
            tile_step(kind, 0, 4, 6);
            if (lower <= 0) continue;
            LOAD_ROWS(5, row + TILE_EDGE * stride + p * SIZE, lower, bytes);
            tile_step(kind, 1, 5, 6);
        }
        tile_store(0, sums + i, 4);
        if (lower > 0) tile_store(1, sums + i + TILE_EDGE, 4);
    }
}

typedef uint8_t bytes64 __attribute__((vector_size(64)));
typedef uint16_t pairs32 __attribute__((vector_size(64)));

/* Of each 16 bytes of two rows the low or the high elements, in turns. */
#define LOW_8(b)                                                                                                       \
    b, b + 64, b + 1, b + 65, b + 2, b + 66, b + 3, b + 67, b + 4, b + 68, b + 5, b + 69, b + 6, b + 70, b + 7, b + 71
#define LOW_16(b)     b, b + 32, b + 1, b + 33, b + 2, b + 34, b + 3, b + 35
#define low_8(x, y)   __builtin_shufflevector(x, y, LOW_8(0), LOW_8(16), LOW_8(32), LOW_8(48))
#define high_8(x, y)  __builtin_shufflevector(x, y, LOW_8(8), LOW_8(24), LOW_8(40), LOW_8(56))
#define low_16(x, y)  __builtin_shufflevector(x, y, LOW_16(0), LOW_16(8), LOW_16(16), LOW_16(24))
#define high_16(x, y) __builtin_shufflevector(x, y, LOW_16(4), LOW_16(12), LOW_16(20), LOW_16(28))

/* 64 bytes of GROUP rows as a word for each column, in PARTS vectors, columns in the order of place_of(). */
ALWAYS void weave(const char *x, int64_t stride, char *to)
{
#if IS_INT8
    bytes64 r[4];
    for (int i = 0; i < 4; i++) memcpy(&r[i], x + i * stride, sizeof r[i]);
    const pairs32 low[2] = {(pairs32)low_8(r[0], r[1]), (pairs32)low_8(r[2], r[3])},
                  high[2] = {(pairs32)high_8(r[0], r[1]), (pairs32)high_8(r[2], r[3])};
    const pairs32 made[4] = {low_16(low[0], low[1]), high_16(low[0], low[1]), low_16(high[0], high[1]),
                             high_16(high[0], high[1])};
#else
    pairs32 r[2];
    for (int i = 0; i < 2; i++) memcpy(&r[i], x + i * stride, sizeof r[i]);
    const pairs32 made[2] = {low_16(r[0], r[1]), high_16(r[0], r[1])};
#endif
    for (int part = 0; part < PARTS; part++) memcpy(to + part * TILE_EDGE * TILE_BYTES, &made[part], sizeof made[part]);
}

/* Where the sum of a column stands among those of its strip of DEPTH: the weaving exchanges groups of four. */
ALWAYS int64_t place_of(int64_t column)
{
    return column / 4 % PARTS * TILE_EDGE + column / (4 * PARTS) * 4 + column % 4;
}

#define ADD_PART(part, b)                                                                                              \
    do {                                                                                                               \
        tile_load(part, sums + (part)*TILE_EDGE, TILE_BYTES);                                                          \
        tile_load(b, from + (part)*TILE_EDGE * TILE_BYTES, TILE_BYTES);                                                \
        tile_step(kind, part, 4, b);                                                                                   \
        tile_store(part, sums + (part)*TILE_EDGE, TILE_BYTES);                                                         \
    } while (0)

/* Outputs side by side: the same of DEPTH steps of k at most, of WIDE outputs at most. All of them are woven before any
 * is multiplied: rows are read along, SWEPT at a time, and what tiles read has left the store buffer. parts: the next
 * DEPTH rows are prefetched. */
ALWAYS void add_columns(const char *x, const int64_t stride, int64_t count, int64_t depth, real *sums, const int kind,
                        bool parts)
{
    _Alignas(64) char edge[STRIP_BYTES], woven[WIDE / DEPTH * STRIP_BYTES];
    const int64_t whole = depth < DEPTH ? 0 : count / DEPTH * DEPTH;
    for (int q = 0; q < DEPTH; q += SWEPT)
        for (int64_t j = 0; j < whole; j += DEPTH)
            for (int i = q; i < q + SWEPT; i += GROUP) {
                const char *at = x + i * stride + j * SIZE;
                for (int row = 0; parts && row < GROUP; row++)
                    __builtin_prefetch((const void *)((uintptr_t)at + (uintptr_t)((DEPTH + row) * stride)), 0, 2);
                weave(at, stride, woven + j / DEPTH * STRIP_BYTES + i / GROUP * TILE_BYTES);
            }
    for (int64_t j = whole; j < count; j += DEPTH) {
        copy_edge(edge, DEPTH, x + j * SIZE, stride, depth, smaller(DEPTH, count - j) * SIZE);
        for (int i = 0; i < DEPTH; i += GROUP)
            weave(edge + i * TILE_BYTES, TILE_BYTES, woven + j / DEPTH * STRIP_BYTES + i / GROUP * TILE_BYTES);
    }
    tiles_ordered();
    const char *from = woven;
    for (int64_t j = 0; j < count; j += DEPTH, sums += DEPTH, from += STRIP_BYTES) {
        ADD_PART(0, 6);
        ADD_PART(1, 7);
#if IS_INT8
        ADD_PART(2, 6);
        ADD_PART(3, 7);
#endif
    }
}

ALWAYS real sum_of(const real *sums, int64_t i, bool woven)
{
    return sums[woven ? i / DEPTH * DEPTH + place_of(i % DEPTH) : i];
}

/* The same where C is of another type. */
static void finish_outputs(const cpu_gemv *t, int64_t from, int64_t count, const real *sums, bool woven)
{
    real plain[WIDE];
    for (int64_t i = 0; i < count; i += WIDE) {
        const int64_t some = smaller(WIDE, count - i);
        for (int64_t q = 0; q < some; q++) plain[q] = sum_of(sums, i + q, woven);
        cpu_gemv_finish(t, from + i, plain, some);
    }
}

/* c <- alpha * sum + beta * c for outputs `from` and on. */
static void blend_outputs(const cpu_gemv *t, int64_t from, int64_t count, const real *sums, bool woven)
{
    const real alpha = real_of(t->alpha), beta = real_of(t->beta);
    const bool reads_c = epilogue_reads(t->beta);
    real *c = (real *)t->c + from * t->c_stride;
    if (t->epilogue != NULL) {
        finish_outputs(t, from, count, sums, woven);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const real sum = sum_of(sums, i, woven);
        real *to = c + i * t->c_stride;
        *to = EPILOGUE(real, alpha, sum, beta, reads_c, *to);
    }
}

/* All outputs, which side by side or k is, and which bytes are unsigned, as constants. */
ALWAYS void add_all(const cpu_gemv *t, const bool columns, const int kind)
{
    _Alignas(64) real sums[BLOCK];
    _Alignas(64) char y[PIECE_BYTES];
    for (int64_t from = 0; from < t->count; from += BLOCK) {
        const int64_t count = smaller(BLOCK, t->count - from);
        const char *x = (const char *)t->x + from * t->x_stride * SIZE;
        memset(sums, 0, sizeof sums);
        for (int64_t first = 0; first < t->k; first += PIECE) {
            const int64_t depth = smaller(PIECE, t->k - first);
            copy_y(t, first, depth, y);
            tiles_ordered();
            if (!columns) add_rows(x + first * SIZE, t->x_stride * SIZE, y, count, depth, sums, kind);
            for (int64_t p = 0; columns && p < depth; p += DEPTH) {
                tile_load(4, y + p * SIZE, TILE_BYTES);
                for (int64_t j = 0; j < count; j += WIDE)
                    add_columns(x + (first + p) * t->x_k * SIZE + j * SIZE, t->x_k * SIZE, smaller(WIDE, count - j),
                                smaller(DEPTH, depth - p), sums + j, kind, cpu_gemv_parts(t, SIZE));
            }
        }
        blend_outputs(t, from, count, sums, columns);
    }
}

#define EACH_KIND(t, columns, a_unsigned, b_unsigned)                                                                  \
    do {                                                                                                               \
        if (!IS_INT8 || (!(a_unsigned) && !(b_unsigned)))                                                              \
            add_all(t, columns, 0);                                                                                    \
        else if (!(a_unsigned))                                                                                        \
            add_all(t, columns, 1);                                                                                    \
        else if (!(b_unsigned))                                                                                        \
            add_all(t, columns, 2);                                                                                    \
        else                                                                                                           \
            add_all(t, columns, 3);                                                                                    \
    } while (0)

void KERNEL(const cpu_gemv *t)
{
    /* tiles of sums, of A and of B */
    static const uint8_t rows[2][8] = {{16, 16, 0, 0, 16, 16, 16, 0}, {1, 1, 1, 1, 1, 0, 16, 16}},
                         bytes[2][8] = {{4, 4, 0, 0, 64, 64, 4, 0}, {64, 64, 64, 64, 64, 0, 64, 64}};
    const bool columns = t->x_stride == 1;
    tiles_shape(rows[columns], bytes[columns]);
    if (columns)
        EACH_KIND(t, true, t->y_unsigned, t->x_unsigned);
    else
        EACH_KIND(t, false, t->x_unsigned, t->y_unsigned);
    tiles_release();
}
