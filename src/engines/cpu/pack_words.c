/* pack_words.c - packs operands of one and two bytes into panels of 4-byte words, each the next elements along k of one
 * row of A or column of B.
 *
 * A panel is made in blocks of BLOCK steps: first each step is a row of `width` words side by side, by one of two ways,
 *
 *     lanes side by side in memory   `group` rows of them are woven into one
 *     k side by side                 what lies there are words already; squares are transposed
 *
 * then what the layout adds to them. Written for the compiler's own vectors: the baseline of any machine. */
#include "cpu_engine.h"

#include <string.h>

enum { BLOCK = 64, TILE = CPU_STEP_UNIT, MOST_WIDTH = 64, EDGE = 4 };

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint16_t pairs8 __attribute__((vector_size(16)));
typedef uint32_t words4 __attribute__((vector_size(16)));

/* What a panel is made from: lane i, element p at source + i * stride + p * k_stride; strides are in bytes. */
typedef struct source_panel {
    const char *source;
    int64_t stride, k_stride, lanes, k;
    int64_t bytes, group, width;
    cpu_layout layout;
    bool of_b, is_unsigned, shifts_b; /* shifts_b: bytes of B change their sign by 128 */
} source_panel;

static inline uint32_t word_of(cpu_layout layout, bool is_unsigned, const uint32_t element[4])
{
    switch (layout) {
    case CPU_WIDENED: return element[0] << 16;
    case CPU_PAIRS:
    case CPU_TILE_PAIRS: return element[0] | element[1] << 16;
    case CPU_I16:
        return is_unsigned ? element[0] | element[1] << 16
                           : (uint16_t)(int16_t)(int8_t)element[0] | (uint32_t)(int8_t)element[1] << 16;
    default: return element[0] | element[1] << 8 | element[2] << 16 | element[3] << 24;
    }
}

/* `group` rows of elements of type T, of which those beyond k are zeros, woven into a row of words. */
#define WEAVE(T, layout, is_unsigned)                                                                                  \
    do {                                                                                                               \
        static const T zeros[MOST_WIDTH];                                                                              \
        const T *row[4] = {zeros, zeros, zeros, zeros};                                                                \
        for (int64_t q = 0; q < s->group && p + q < s->k; q++)                                                         \
            row[q] = (const T *)(const void *)(s->source + (p + q) * s->k_stride);                                     \
        for (int64_t i = 0; i < s->lanes; i++)                                                                         \
            to[i] = word_of(layout, is_unsigned, (const uint32_t[4]){row[0][i], row[1][i], row[2][i], row[3][i]});     \
    } while (0)

static inline pairs8 load_pairs(const char *at)
{
    pairs8 made;
    memcpy(&made, at, sizeof made);
    return made;
}

static inline bytes16 load_bytes(const char *at)
{
    bytes16 made;
    memcpy(&made, at, sizeof made);
    return made;
}

#define WEAVE_PAIRS(x, y, at)                                                                                          \
    __builtin_shufflevector(x, y, at, at + 8, at + 1, at + 9, at + 2, at + 10, at + 3, at + 11)
#define WEAVE_BYTES(x, y, at)                                                                                          \
    __builtin_shufflevector(x, y, at, at + 16, at + 1, at + 17, at + 2, at + 18, at + 3, at + 19, at + 4, at + 20,     \
                            at + 5, at + 21, at + 6, at + 22, at + 7, at + 23)

/* Words that are two or four rows of elements as they are: 16 lanes of all of them. */
static inline void weave_16(const source_panel *s, const char *from, uint32_t *restrict to)
{
    const int64_t next = s->k_stride;
    for (int half = 0; half < 2; half++, to += 8) {
        pairs8 x, y;
        if (s->bytes == 2) {
            x = load_pairs(from + 16 * half), y = load_pairs(from + 16 * half + next);
        } else {
            const bytes16 row[4] = {load_bytes(from), load_bytes(from + next), load_bytes(from + 2 * next),
                                    load_bytes(from + 3 * next)};
            x = (pairs8)(half ? WEAVE_BYTES(row[0], row[1], 8) : WEAVE_BYTES(row[0], row[1], 0));
            y = (pairs8)(half ? WEAVE_BYTES(row[2], row[3], 8) : WEAVE_BYTES(row[2], row[3], 0));
        }
        const pairs8 low = WEAVE_PAIRS(x, y, 0), high = WEAVE_PAIRS(x, y, 4);
        memcpy(to, &low, sizeof low), memcpy(to + 4, &high, sizeof high);
    }
}

static void weave(const source_panel *s, int64_t step, uint32_t *restrict to)
{
    const int64_t p = step * s->group;
    const bool as_they_are = s->layout != CPU_WIDENED && s->layout != CPU_I16;
    if (as_they_are && s->lanes % 16 == 0 && p + s->group <= s->k) {
        for (int64_t i = 0; i < s->lanes; i += 16) weave_16(s, s->source + p * s->k_stride + i * s->bytes, to + i);
        return;
    }
    switch (s->layout) {
    case CPU_WIDENED: WEAVE(uint16_t, CPU_WIDENED, true); break;
    case CPU_PAIRS:
    case CPU_TILE_PAIRS: WEAVE(uint16_t, CPU_PAIRS, true); break;
    case CPU_I16:
        if (s->is_unsigned)
            WEAVE(uint8_t, CPU_I16, true);
        else
            WEAVE(uint8_t, CPU_I16, false);
        break;
    default: WEAVE(uint8_t, CPU_U8, true);
    }
}

/* One word, element by element: at edges, and where elements are widened. */
static uint32_t word_at(const source_panel *s, int64_t lane, int64_t step)
{
    uint32_t element[4] = {0};
    for (int64_t q = 0, p = step * s->group; q < s->group && p < s->k; q++, p++) {
        const char *at = s->source + lane * s->stride + p * s->k_stride;
        element[q] = s->bytes == 2 ? *(const uint16_t *)(const void *)at : *(const uint8_t *)at;
    }
    return word_of(s->layout, s->is_unsigned, element);
}

/* Four words of each of four lanes, transposed. */
static inline void transpose(const char *from, int64_t stride, uint32_t *to, int64_t width)
{
    words4 r[4], lo[2], hi[2];
    for (int i = 0; i < 4; i++) memcpy(&r[i], from + i * stride, sizeof r[i]);
    for (int i = 0; i < 2; i++) {
        lo[i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 4, 1, 5);
        hi[i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 2, 6, 3, 7);
    }
    words4 out[4] = {
        __builtin_shufflevector(lo[0], lo[1], 0, 1, 4, 5), __builtin_shufflevector(lo[0], lo[1], 2, 3, 6, 7),
        __builtin_shufflevector(hi[0], hi[1], 0, 1, 4, 5), __builtin_shufflevector(hi[0], hi[1], 2, 3, 6, 7)};
    for (int p = 0; p < 4; p++) memcpy(to + p * width, &out[p], sizeof out[p]);
}

/* Steps first .. first + count - 1 of lanes whose elements along k lie side by side. */
static void transpose_block(const source_panel *s, int64_t first, int64_t count, uint32_t *to)
{
    bool words = s->layout != CPU_WIDENED && s->layout != CPU_I16;
    int64_t whole = words ? min_i64(count, s->k / s->group - first) / EDGE * EDGE : 0, lanes = s->lanes / EDGE * EDGE;
    for (int64_t i = 0; i < lanes; i += EDGE)
        for (int64_t q = 0; q < whole; q += EDGE)
            transpose(s->source + i * s->stride + (first + q) * s->group * s->k_stride, s->stride,
                      to + q * s->width + i, s->width);
    for (int64_t q = 0; q < count; q++)
        for (int64_t i = q < whole ? lanes : 0; i < s->lanes; i++) to[q * s->width + i] = word_at(s, i, first + q);
}

/* CPU_U8 adds 128 to the elements of a signed B, CPU_S8 takes 128 off those of an unsigned one. To make up for it, 128
 * times each row's elements of A are taken off its sum, or added. */
static void subtract_bytes(uint32_t *sums, const uint32_t *words, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        sums[i] -= ((uint32_t)(int8_t)words[i] + (uint32_t)(int8_t)(words[i] >> 8) +
                    (uint32_t)(int8_t)(words[i] >> 16) + (uint32_t)(int8_t)(words[i] >> 24))
                   << 7;
}

static void add_bytes(uint32_t *sums, const uint32_t *words, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        sums[i] += ((words[i] & 0xff) + (words[i] >> 8 & 0xff) + (words[i] >> 16 & 0xff) + (words[i] >> 24)) << 7;
}

/* Prefetches the rows of a step. Where all panels have but a few lines of a row, hardware prefetchers do not follow
 * from row to row (docs/perf/cpu-bf16-int8.md#prefetched). */
static void prefetch_step(const source_panel *s, int64_t step)
{
    const int64_t last = min_i64((step + 1) * s->group, s->k);
    for (int64_t p = step * s->group; p < last; p++)
        for (int64_t at = 0; at < s->lanes * s->bytes; at += CPU_LINE_BYTES)
            __builtin_prefetch(s->source + p * s->k_stride + at);
}

/* Steps first .. first + count - 1 as rows of words, lanes beyond the last of them 0. */
static void make_rows(const source_panel *s, int64_t first, int64_t count, uint32_t *rows)
{
    if (s->lanes < s->width) memset(rows, 0, (size_t)(count * s->width) * sizeof *rows);
    if (s->k_stride == s->bytes && s->stride != s->bytes)
        transpose_block(s, first, count, rows);
    else
        for (int64_t q = 0; q < count; q++) {
            prefetch_step(s, first + q + count);
            weave(s, first + q, rows + q * s->width);
        }
}

/* A's blocks of tiles: TILE words of each lane side by side. Words that lie so are copied; else rows are made and
 * transposed. */
static void pack_tiles(const source_panel *s, int64_t first, int64_t count, uint32_t *panel)
{
    for (int64_t q = first; q < first + count; q += TILE) {
        uint32_t *tile = panel + q * s->width, rows[TILE * MOST_WIDTH];
        if (s->k_stride == s->bytes && (q + TILE) * s->group <= s->k) {
            for (int64_t i = 0; i < s->lanes; i++) {
                const char *from = s->source + i * s->stride + q * s->group * s->k_stride;
                __builtin_prefetch(from + TILE * sizeof *tile); /* as prefetch_step() */
                memcpy(tile + i * TILE, from, TILE * sizeof *tile);
            }
            memset(tile + s->lanes * TILE, 0, (size_t)(s->width - s->lanes) * TILE * sizeof *tile);
            continue;
        }
        make_rows(s, q, TILE, rows);
        for (int64_t i = 0; i < s->width; i += EDGE)
            for (int64_t p = 0; p < TILE; p += EDGE)
                transpose((const char *)(rows + p * s->width + i), s->width * (int64_t)sizeof *rows,
                          tile + i * TILE + p, TILE);
    }
}

/* Steps first .. first + count - 1 of a panel, whose own steps begin at `panel`, after its sums if it has any. */
static void pack_block(const source_panel *s, int64_t first, int64_t count, uint32_t *panel)
{
    bool sums = cpu_layout_sums(s->layout) && !s->of_b;
    uint32_t *block = panel + (first + sums) * s->width;
    if (cpu_layout_tiles(s->layout) && !s->of_b) {
        pack_tiles(s, first, count, panel);
        return;
    }
    make_rows(s, first, count, block);
    if (sums && first == 0) memset(panel, 0, (size_t)s->width * sizeof *panel);
    if (!s->shifts_b) return;
    for (int64_t q = 0; sums && q < count; q++)
        if (s->layout == CPU_U8)
            subtract_bytes(panel, block + q * s->width, s->width);
        else
            add_bytes(panel, block + q * s->width, s->width);
    if (s->of_b)
        for (int64_t i = 0; i < count * s->width; i++) block[i] ^= UINT32_C(0x80808080);
}

static source_panel source_of(cpu_layout layout, bool of_b, bool a_unsigned, bool b_unsigned, int64_t stride,
                              int64_t k_stride, int64_t k, int64_t width)
{
    const int64_t bytes = layout == CPU_WIDENED || layout == CPU_PAIRS || layout == CPU_TILE_PAIRS ? 2 : 1;
    return (source_panel){.stride = stride * bytes,
                          .k_stride = k_stride * bytes,
                          .k = k,
                          .group = cpu_layout_group(layout),
                          .width = width,
                          .layout = layout,
                          .of_b = of_b,
                          .is_unsigned = of_b ? b_unsigned : a_unsigned,
                          .shifts_b = (layout == CPU_U8 && !b_unsigned) || (layout == CPU_S8 && b_unsigned),
                          .bytes = bytes};
}

/* Steps `step` to `end` - 1 of one of the panels. */
static void pack_part(source_panel *s, void *packed, const void *source, int64_t length, int64_t panel, int64_t step,
                      int64_t end)
{
    const int64_t steps = s->of_b ? cpu_layout_steps(s->layout, s->k) : cpu_layout_a_steps(s->layout, s->k);
    s->source = (const char *)source + panel * s->width * s->stride;
    s->lanes = min_i64(length - panel * s->width, s->width);
    pack_block(s, step, end - step, (uint32_t *)packed + panel * steps * s->width);
}

/* Block by block, and in each block panel by panel: rows of the source are read along. */
void pack_words(cpu_layout layout, bool of_b, bool a_unsigned, bool b_unsigned, void *packed, const void *source,
                int64_t stride, int64_t k_stride, int64_t length, int64_t k, int64_t width, int64_t first, int64_t last)
{
    source_panel s = source_of(layout, of_b, a_unsigned, b_unsigned, stride, k_stride, k, width);
    const int64_t steps = cpu_layout_steps(layout, k);
    for (int64_t step = 0; step < steps; step += BLOCK)
        for (int64_t panel = first; panel < last; panel++)
            pack_part(&s, packed, source, length, panel, step, min_i64(step + BLOCK, steps));
}

/* Some rows of the source at a time, as many as prefetchers follow, along many panels. */
void pack_word_steps(cpu_layout layout, bool of_b, bool a_unsigned, bool b_unsigned, void *packed, const void *source,
                     int64_t k_stride, int64_t length, int64_t k, int64_t width, int64_t first, int64_t last)
{
    enum { PANELS_AT_ONCE = 64, STEPS_OF_B = 8 };
    source_panel s = source_of(layout, of_b, a_unsigned, b_unsigned, 1, k_stride, k, width);
    const int64_t panels = ceil_div(length, width), each = of_b ? STEPS_OF_B : TILE;
    for (int64_t part = 0; part < panels; part += PANELS_AT_ONCE)
        for (int64_t step = first; step < last; step += each)
            for (int64_t panel = part; panel < min_i64(part + PANELS_AT_ONCE, panels); panel++)
                pack_part(&s, packed, source, length, panel, step, min_i64(step + each, last));
}
