/* pack.c - copies strips of A and B into panels that the micro-kernel reads front to back. */
#include "cpu_engine.h"

#include <string.h>

/* One panel, elements of type T. Two source orders matter: lanes side by side (copy rows of them), and k side by side (read
 * `width` streams at once and interleave). Both write front to back. */
#define PACK_PANEL(name, T)                                                                                            \
    static void name(T *packed, const T *source, int64_t stride, int64_t k_stride, int64_t lanes, int64_t k,           \
                     int64_t width)                                                                                    \
    {                                                                                                                  \
        for (int64_t p = 0; p < k; p++, packed += width) {                                                             \
            const T *step = source + p * k_stride;                                                                     \
            if (stride == 1)                                                                                           \
                memcpy(packed, step, (size_t)lanes * sizeof(T));                                                       \
            else                                                                                                       \
                for (int64_t i = 0; i < lanes; i++) packed[i] = step[i * stride];                                      \
            for (int64_t i = lanes; i < width; i++) packed[i] = 0;                                                     \
        }                                                                                                              \
    }

PACK_PANEL(pack_panel_4, float)
PACK_PANEL(pack_panel_8, double)

void pack_panels(size_t element_bytes, void *packed, const void *source, int64_t stride, int64_t k_stride, int64_t length,
                 int64_t k, int64_t width, int64_t first, int64_t last)
{
    for (int64_t panel = first; panel < last; panel++) {
        int64_t from = panel * width, lanes = min_i64(length - from, width);
        if (element_bytes == 4)
            pack_panel_4((float *)packed + from * k, (const float *)source + from * stride, stride, k_stride, lanes, k, width);
        else
            pack_panel_8((double *)packed + from * k, (const double *)source + from * stride, stride, k_stride, lanes, k, width);
    }
}
