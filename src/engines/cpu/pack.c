/* pack.c - copies parts of A and B into panels that the micro-kernel reads front to back. */
#include "cpu_engine.h"

#include <string.h>

typedef float four __attribute__((vector_size(16)));
typedef double two __attribute__((vector_size(16)));
typedef uint16_t eight __attribute__((vector_size(16)));
/* elements of 8 and 16 bytes, which may be complex and aligned to one part alone */
typedef double element_8 __attribute__((aligned(4), may_alias));
typedef double element_16 __attribute__((vector_size(16), aligned(8), may_alias));

/* Transposes a square of 16-byte vectors: rows of the source, `stride` apart, become columns of the panel, whose rows
 * are `width` apart. */
enum { EDGE_2 = 8, EDGE_4 = 4, EDGE_8 = 2 };

/* Of 8 rows the first and the last 4 are interleaved, three times over. */
static inline void transpose_2(uint16_t *packed, int64_t width, const uint16_t *source, int64_t stride)
{
    eight r[2][8];
    for (int i = 0; i < 8; i++) memcpy(&r[0][i], source + i * stride, sizeof r[0][i]);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 4; i++) {
            const eight *from = r[round % 2];
            eight *to = r[(round + 1) % 2] + 2 * i;
            to[0] = __builtin_shufflevector(from[i], from[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            to[1] = __builtin_shufflevector(from[i], from[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
    for (int p = 0; p < 8; p++) memcpy(packed + p * width, &r[1][p], sizeof r[1][p]);
}

static inline void transpose_4(float *packed, int64_t width, const float *source, int64_t stride)
{
    four r[4], lo[2], hi[2];
    for (int i = 0; i < 4; i++) memcpy(&r[i], source + i * stride, sizeof r[i]);
    for (int i = 0; i < 2; i++) {
        lo[i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 4, 1, 5);
        hi[i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 2, 6, 3, 7);
    }
    four out[4] = {__builtin_shufflevector(lo[0], lo[1], 0, 1, 4, 5), __builtin_shufflevector(lo[0], lo[1], 2, 3, 6, 7),
                   __builtin_shufflevector(hi[0], hi[1], 0, 1, 4, 5),
                   __builtin_shufflevector(hi[0], hi[1], 2, 3, 6, 7)};
    for (int p = 0; p < 4; p++) memcpy(packed + p * width, &out[p], sizeof out[p]);
}

/* Two rows of four floats: a panel of 6 lanes has a pair beside its square. */
static inline void transpose_pair(void *packed, int64_t width, const void *source, int64_t stride)
{
    four r[2];
    for (int i = 0; i < 2; i++) memcpy(&r[i], (const float *)source + i * stride, sizeof r[i]);
    const four out[2] = {__builtin_shufflevector(r[0], r[1], 0, 4, 1, 5),
                         __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7)};
    for (int p = 0; p < 4; p++)
        memcpy((float *)packed + p * width, (const float *)&out[p / 2] + p % 2 * 2, 2 * sizeof(float));
}

static inline void transpose_8(element_8 *packed, int64_t width, const element_8 *source, int64_t stride)
{
    two r[2];
    for (int i = 0; i < 2; i++) memcpy(&r[i], source + i * stride, sizeof r[i]);
    two out[2] = {__builtin_shufflevector(r[0], r[1], 0, 2), __builtin_shufflevector(r[0], r[1], 1, 3)};
    for (int p = 0; p < 2; p++) memcpy(packed + p * width, &out[p], sizeof out[p]);
}

/* Packs one panel of elements of type T of `size` bytes. A K-major operand is transposed by squares, whose cache lines
 * stay in the cache until their other elements are read. */
#define PACK_PANEL(T, size)                                                                                            \
    static void pack_panel_##size(T *packed, const T *source, int64_t stride, int64_t k_stride, int64_t lanes,         \
                                  int64_t k, int64_t width)                                                            \
    {                                                                                                                  \
        enum { EDGE = EDGE_##size };                                                                                   \
        int64_t square_lanes = k_stride == 1 ? lanes / EDGE * EDGE : 0, square_k = k / EDGE * EDGE;                    \
        const bool pair = size == 4 && k_stride == 1 && lanes - square_lanes >= 2;                                     \
        for (int64_t p = 0; p < square_k; p += EDGE) {                                                                 \
            for (int64_t i = 0; i < square_lanes; i += EDGE)                                                           \
                transpose_##size(packed + p * width + i, width, source + i * stride + p, stride);                      \
            if (pair)                                                                                                  \
                transpose_pair(packed + p * width + square_lanes, width, source + square_lanes * stride + p, stride);  \
        }                                                                                                              \
        if (pair) square_lanes += 2;                                                                                   \
        for (int64_t p = 0; p < k; p++, packed += width) {                                                             \
            for (int64_t i = p < square_k ? square_lanes : 0; i < lanes; i++)                                          \
                packed[i] = source[i * stride + p * k_stride];                                                         \
            for (int64_t i = lanes; i < width; i++) packed[i] = (T){0};                                                \
        }                                                                                                              \
    }

PACK_PANEL(uint16_t, 2)
PACK_PANEL(float, 4)
PACK_PANEL(element_8, 8)

/* Complex elements: the panels of A are 2 to 4 of them wide, which is known here. */
#define PACK_COMPLEX_PANEL(T, size)                                                                                    \
    static inline __attribute__((always_inline)) void copy_lanes_##size(                                               \
        T *packed, const T *source, int64_t stride, int64_t k_stride, const int64_t lanes, int64_t k, int64_t width)   \
    {                                                                                                                  \
        for (int64_t p = 0; p < k; p++, packed += width, source += k_stride) {                                         \
            for (int64_t i = 0; i < lanes; i++) packed[i] = source[i * stride];                                        \
            for (int64_t i = lanes; i < width; i++) packed[i] = (T){0};                                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void pack_complex_panel_##size(T *packed, const T *source, int64_t stride, int64_t k_stride, int64_t lanes, \
                                          int64_t k, int64_t width)                                                    \
    {                                                                                                                  \
        switch (lanes == width ? lanes : 0) {                                                                          \
        case 2: copy_lanes_##size(packed, source, stride, k_stride, 2, k, 2); break;                                   \
        case 3: copy_lanes_##size(packed, source, stride, k_stride, 3, k, 3); break;                                   \
        case 4: copy_lanes_##size(packed, source, stride, k_stride, 4, k, 4); break;                                   \
        default: copy_lanes_##size(packed, source, stride, k_stride, lanes, k, width);                                 \
        }                                                                                                              \
    }

PACK_COMPLEX_PANEL(element_8, 8)
PACK_COMPLEX_PANEL(element_16, 16)

void pack_panels(size_t element_bytes, void *packed, const void *source, int64_t stride, int64_t k_stride,
                 int64_t length, int64_t k, int64_t width, int64_t first, int64_t last)
{
    for (int64_t panel = first; panel < last; panel++) {
        int64_t from = panel * width, lanes = min_i64(length - from, width), to = from * k, at = from * stride;
        if (element_bytes == 4)
            pack_panel_4((float *)packed + to, (const float *)source + at, stride, k_stride, lanes, k, width);
        else if (element_bytes == 2)
            pack_panel_2((uint16_t *)packed + to, (const uint16_t *)source + at, stride, k_stride, lanes, k, width);
        else if (element_bytes == 8 && width > 3) /* narrower ones are of cf32: nothing to transpose by squares */
            pack_panel_8((element_8 *)packed + to, (const element_8 *)source + at, stride, k_stride, lanes, k, width);
        else if (element_bytes == 8)
            pack_complex_panel_8((element_8 *)packed + to, (const element_8 *)source + at, stride, k_stride, lanes, k,
                                 width);
        else
            pack_complex_panel_16((element_16 *)packed + to, (const element_16 *)source + at, stride, k_stride, lanes,
                                  k, width);
    }
}

/* memcpy() of the width of a panel: a call would take longer than the copy. */
static inline void copy_row(char *to, const char *from, int64_t bytes)
{
    switch (bytes) {
    case 192: memcpy(to, from, 192); break;
    case 128: memcpy(to, from, 128); break;
    case 64: memcpy(to, from, 64); break;
    case 48: memcpy(to, from, 48); break;
    case 32: memcpy(to, from, 32); break;
    case 24: memcpy(to, from, 24); break;
    case 16: memcpy(to, from, 16); break;
    default: memcpy(to, from, (size_t)bytes);
    }
}

/* a processor does not follow more streams of writes; docs/perf/cpu-packing.md#row-by-row */
enum { PANELS_AT_ONCE = 32 };
enum { AHEAD_BYTES = 1024, MOST_AHEAD = 4 }; /* prefetched, and rows at most; docs/perf/cpu-skinny.md#own-copies */

void pack_steps(size_t element_bytes, void *packed, const void *source, int64_t k_stride, int64_t length, int64_t k,
                int64_t width, int64_t first, int64_t last)
{
    const int64_t row = length * (int64_t)element_bytes, panel_bytes = width * (int64_t)element_bytes,
                  most = PANELS_AT_ONCE * panel_bytes;
    /* the stride of a single row has no meaning; of short rows several are prefetched ahead */
    const uintptr_t to_next = (uintptr_t)k_stride * element_bytes,
                    ahead = to_next * (uintptr_t)min_i64(ceil_div(AHEAD_BYTES, row), MOST_AHEAD);
    for (int64_t part = 0; part < row; part += most) {
        const int64_t end = min_i64(part + most, row);
        for (int64_t p = first; p < last; p++) {
            const char *from = (const char *)source + (uintptr_t)p * to_next;
            char *to = (char *)packed + p * panel_bytes;
            for (int64_t at = part; at < end; at += panel_bytes) {
                const int64_t bytes = min_i64(panel_bytes, end - at);
                for (int64_t line = at; line < at + bytes; line += CPU_LINE_BYTES)
                    __builtin_prefetch((const void *)((uintptr_t)from + ahead + (uintptr_t)line), 0, 2);
                copy_row(to + at * k, from + at, bytes);
                if (bytes < panel_bytes) memset(to + at * k + bytes, 0, (size_t)(panel_bytes - bytes));
            }
        }
    }
}

enum { HALF_DEPTH = 64, MOST_HALF_WIDTH = 64 };

/* HALF_DEPTH steps at a time, the rows are widened, then packed as f32's are. */
void pack_half_panels(cpu_widen *widen, void *packed, const void *source, int64_t stride, int64_t length, int64_t k,
                      int64_t width, int64_t first, int64_t last)
{
    float rows[MOST_HALF_WIDTH * HALF_DEPTH];
    for (int64_t panel = first; panel < last; panel++) {
        const int64_t from = panel * width, lanes = min_i64(length - from, width);
        for (int64_t p = 0; p < k; p += HALF_DEPTH) {
            const int64_t depth = min_i64(HALF_DEPTH, k - p);
            for (int64_t i = 0; i < lanes; i++)
                widen((const uint16_t *)source + (from + i) * stride + p, rows + i * HALF_DEPTH, depth);
            pack_panel_4((float *)packed + from * k + p * width, rows, HALF_DEPTH, 1, lanes, depth, width);
        }
    }
}

void pack_half_steps(cpu_widen *widen, void *packed, const void *source, int64_t k_stride, int64_t length, int64_t k,
                     int64_t width, int64_t first, int64_t last)
{
    const int64_t most = PANELS_AT_ONCE * width;
    const uintptr_t to_next = (uintptr_t)k_stride * sizeof(uint16_t);
    for (int64_t part = 0; part < length; part += most) {
        const int64_t end = min_i64(part + most, length);
        for (int64_t p = first; p < last; p++) {
            const uint16_t *from = (const uint16_t *)((uintptr_t)source + (uintptr_t)p * to_next);
            for (int64_t at = part; at < end; at += width) {
                const int64_t lanes = min_i64(width, end - at);
                float *to = (float *)packed + at * k + p * width;
                for (int64_t line = at; line < at + lanes; line += CPU_LINE_BYTES / 2)
                    __builtin_prefetch((const void *)((uintptr_t)(from + line) + to_next), 0, 2);
                widen(from + at, to, lanes);
                if (lanes < width) memset(to + lanes, 0, (size_t)(width - lanes) * sizeof *to);
            }
        }
    }
}
