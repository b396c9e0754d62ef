/* pack.c - copies strips of A and B into panels that the micro-kernel reads front to back. */
#include "cpu_engine.h"

#include <string.h>

typedef float four __attribute__((vector_size(16)));
typedef double two __attribute__((vector_size(16)));

/* A square of 16-byte vectors turned: rows of the source, `stride` apart, become columns of the panel, whose rows are `width` apart. */
enum { EDGE_4 = 4, EDGE_8 = 2 };

static inline void turn_4(float *packed, int64_t width, const float *source, int64_t stride)
{
    four r[4], lo[2], hi[2];
    for (int i = 0; i < 4; i++) memcpy(&r[i], source + i * stride, sizeof r[i]);
    for (int i = 0; i < 2; i++) {
        lo[i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 4, 1, 5);
        hi[i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 2, 6, 3, 7);
    }
    four out[4] = {__builtin_shufflevector(lo[0], lo[1], 0, 1, 4, 5), __builtin_shufflevector(lo[0], lo[1], 2, 3, 6, 7),
                   __builtin_shufflevector(hi[0], hi[1], 0, 1, 4, 5), __builtin_shufflevector(hi[0], hi[1], 2, 3, 6, 7)};
    for (int p = 0; p < 4; p++) memcpy(packed + p * width, &out[p], sizeof out[p]);
}

static inline void turn_8(double *packed, int64_t width, const double *source, int64_t stride)
{
    two r[2];
    for (int i = 0; i < 2; i++) memcpy(&r[i], source + i * stride, sizeof r[i]);
    two out[2] = {__builtin_shufflevector(r[0], r[1], 0, 2), __builtin_shufflevector(r[0], r[1], 1, 3)};
    for (int p = 0; p < 2; p++) memcpy(packed + p * width, &out[p], sizeof out[p]);
}

/* One panel, elements of type T of `size` bytes. Two source orders matter: lanes side by side (copy rows of them), and k side by side (turn squares,
 * whose lines stay near until their other elements are asked for). */
#define PACK_PANEL(T, size)                                                                                            \
    static void pack_panel_##size(T *packed, const T *source, int64_t stride, int64_t k_stride, int64_t lanes, int64_t k, int64_t width) \
    {                                                                                                                  \
        enum { EDGE = EDGE_##size };                                                                                   \
        int64_t turned_lanes = k_stride == 1 && stride != 1 ? lanes / EDGE * EDGE : 0, turned_k = k / EDGE * EDGE;     \
        for (int64_t p = 0; p < turned_k; p += EDGE)                                                                   \
            for (int64_t i = 0; i < turned_lanes; i += EDGE)                                                           \
                turn_##size(packed + p * width + i, width, source + i * stride + p, stride);                           \
        for (int64_t p = 0; p < k; p++, packed += width) {                                                             \
            const T *step = source + p * k_stride;                                                                     \
            int64_t done = p < turned_k ? turned_lanes : 0;                                                            \
            if (stride == 1 && lanes == 8) /* a sliver of A: the call would take longer than the copy */              \
                memcpy(packed, step, 8 * sizeof(T));                                                                   \
            else if (stride == 1)                                                                                      \
                memcpy(packed, step, (size_t)lanes * sizeof(T));                                                       \
            else                                                                                                       \
                for (int64_t i = done; i < lanes; i++) packed[i] = step[i * stride];                                   \
            for (int64_t i = lanes; i < width; i++) packed[i] = 0;                                                     \
        }                                                                                                              \
    }

PACK_PANEL(float, 4)
PACK_PANEL(double, 8)

void pack_panels(size_t element_bytes, void *packed, const void *source, int64_t stride, int64_t k_stride, int64_t length,
                 int64_t k, int64_t width, pack_part part)
{
    for (int64_t panel = part.first; panel < part.last; panel++) {
        int64_t from = panel * width, lanes = min_i64(length - from, width), to = from * k + part.k_first * width;
        int64_t at = from * stride + part.k_first * k_stride, steps = part.k_last - part.k_first;
        if (element_bytes == 4)
            pack_panel_4((float *)packed + to, (const float *)source + at, stride, k_stride, lanes, steps, width);
        else
            pack_panel_8((double *)packed + to, (const double *)source + at, stride, k_stride, lanes, steps, width);
    }
}
