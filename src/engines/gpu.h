/* gpu.h - what the two GPU engines share: kernel sources embedded at build, spans of operands,
 * scalars. */
#ifndef TILEWRIGHT_GPU_H
#define TILEWRIGHT_GPU_H

#include <string.h>

#include "engine.h"

/* The kernel files as tools/embed.c made them at build: each with its own headers in place. Ends with a row of NULL. */
typedef struct embedded_source {
    const char *file, *text;
} embedded_source;
extern const embedded_source embedded_sources[];

/* gpu_source - the text of a kernel file, "cuda/ladder/r01_naive.cu". The table of kernels and the build read the same
 * list, so that it is there. */
static inline const char *gpu_source(const char *file)
{
    const embedded_source *s = embedded_sources;
    while (s->file != NULL && strcmp(s->file, file) != 0) s++;
    return s->text;
}

/* gpu_scalar - alpha or beta, as the kernels of a type take it: as large as kernel_sum_bytes() says. */
typedef union scalar {
    float of_float;
    double of_double;
    int32_t of_int;
} scalar;

static inline scalar gpu_scalar(tw_dtype dtype, double value)
{
    if (dtype == TW_F64) return (scalar){.of_double = value};
    if (dtype_find(dtype)->result == TW_I32) return (scalar){.of_int = (int32_t)value};
    return (scalar){.of_float = (float)value};
}

/* Bytes of a compiler's log that are kept; the rest of the thread's sentence needs room too. */
enum { BUILD_LOG_BYTES = 3600 };

/* gpu_text - the text for the compiler. */
static inline const char *gpu_text(const tw_lab_source *source)
{
    return source->text != NULL ? source->text : gpu_source(source->file);
}

/* gpu_same_text - strings of the caller's stay as they are, so that the same address is the same text. */
static inline bool gpu_same_text(const tw_lab_source *x, const tw_lab_source *y)
{
    return x->text == y->text && strcmp(x->file, y->file) == 0;
}

/* gpu_same_epilogue - of kernels' texts; NULL: it has none. */
static inline bool gpu_same_epilogue(const char *x, const char *y)
{
    return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

/* gpu_span - bytes from an operand's first element to its last on the device; 0 when it has none. */
static inline size_t gpu_span(const operand *o)
{
    return o->rows > 0 && o->cols > 0 ? (size_t)((o->rows - 1) * o->device_ld + o->cols) * o->element_bytes : 0;
}

/* gpu_moves_at_once - is one copy of gpu_span() bytes all there is to move? Otherwise row by row: a host's padding is
 * its own. */
static inline bool gpu_moves_at_once(const operand *o)
{
    return o->whole || o->rows == 1 || (o->ld == o->cols && o->device_ld == o->cols);
}

#endif
