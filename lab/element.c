/* element.c - one table row per element type. A new type is one ELEMENT_FUNCTIONS (or three functions) and one row. */
#include "element.h"

#include <float.h>
#include <string.h>

#define ELEMENT_FUNCTIONS(name, type, bits_type, poison_bits)                                                          \
    static void load_##name(const void *base, int64_t first, int64_t stride, int64_t count, double *out,               \
                            int64_t out_stride)                                                                        \
    {                                                                                                                  \
        const type *from = (const type *)base + first;                                                                 \
        for (int64_t i = 0; i < count; i++) out[i * out_stride] = (double)from[i * stride];                            \
    }                                                                                                                  \
    static void store_##name(void *base, int64_t first, int64_t count, const double *values)                           \
    {                                                                                                                  \
        type *to = (type *)base + first;                                                                               \
        for (int64_t i = 0; i < count; i++) to[i] = (type)values[i];                                                   \
    }                                                                                                                  \
    static void poison_##name(void *base, int64_t first, int64_t count, element_owner owner)                           \
    {                                                                                                                  \
        const bits_type bits = (bits_type)(poison_bits + (bits_type)owner);                                            \
        type *to = (type *)base + first;                                                                               \
        for (int64_t i = 0; i < count; i++) memcpy(to + i, &bits, sizeof bits);                                        \
    }

ELEMENT_FUNCTIONS(f64, double, uint64_t, UINT64_C(0x7ff8dead0c0ffee0))
ELEMENT_FUNCTIONS(f32, float, uint32_t, UINT32_C(0x7fdeadc0))

static const element elements[] = {
    /* dtype  result  accumulator bytes digits pair  smallest    largest */
    {TW_F64, TW_F64, TW_F64, 8, 53, true, 0x1p-1074, DBL_MAX, load_f64, store_f64, poison_f64},
    {TW_F32, TW_F32, TW_F32, 4, 24, false, 0x1p-149, FLT_MAX, load_f32, store_f32, poison_f32},
};

const element *element_of(tw_dtype dtype)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (elements[i].dtype == dtype) return &elements[i];
    return NULL;
}

bool element_is_poison(const element *e, const void *base, int64_t index, element_owner owner)
{
    uint64_t memory;
    e->poison(&memory, 0, 1, owner);
    return memcmp(&memory, (const char *)base + index * e->bytes, (size_t)e->bytes) == 0;
}

double element_round(const element *e, double value)
{
    uint64_t memory; /* large enough and aligned for one element of any type */
    double rounded;
    e->store(&memory, 0, 1, &value);
    e->load(&memory, 0, 1, 1, &rounded, 1);
    return rounded;
}

double element_uniform(const element *e, uint64_t seed, uint64_t index)
{
    int64_t half = INT64_C(1) << (e->digits - 1), numerator = (int64_t)(element_mix(seed, index) >> (64 - e->digits));
    return (double)(2 * (numerator - half) + 1) / (double)(INT64_C(1) << e->digits);
}

double element_integer(int64_t limit, uint64_t seed, uint64_t index)
{
    uint64_t choices = 2 * (uint64_t)limit + 1; /* limit <= 2^53: the bias of the remainder is below 2^-10 */
    return (double)((int64_t)(element_mix(seed, index) % choices) - limit);
}

int64_t element_span(const element *e, int64_t rows, int64_t cols, int64_t ld)
{
    int64_t most = PTRDIFF_MAX / e->bytes;
    if (rows == 0 || cols == 0) return 0;
    if (cols > most || rows - 1 > (most - cols) / ld) return -1;
    return (rows - 1) * ld + cols;
}
