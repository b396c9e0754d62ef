/* dtypes.c - loads data/dtypes.def: the dtypes, found by number or by name. */
#include "dtypes.h"

#include <string.h>

enum {
#define DTYPE(id, name, bytes, ...) BYTES_##id = (bytes),
#include "../data/dtypes.def"
#undef DTYPE
};

const dtype_row dtype_rows[DTYPES_END] = {
#define DTYPE(id, name, bytes, class, result, gpu_name, fraction, bias, names, unit_roundoff, smallest, exact_bits)    \
    [TW_##id] = {{TW_##id, #name, bytes, unit_roundoff, smallest, exact_bits, DTYPE_##class == DTYPE_COMPLEX ? 2 : 1}, \
                 #id,                                                                                                  \
                 DTYPE_##class,                                                                                        \
                 TW_##result,                                                                                          \
                 BYTES_##result,                                                                                       \
                 gpu_name,                                                                                             \
                 fraction,                                                                                             \
                 bias},
#include "../data/dtypes.def"
#undef DTYPE
};

static bool is_of(tw_dtype dtype, dtype_class class)
{
    const dtype_row *row = dtype_find(dtype);
    return row != NULL && row->class == class;
}

bool dtypes_mix(tw_dtype a, tw_dtype b)
{
    return a == b || (is_of(a, DTYPE_FP8) && is_of(b, DTYPE_FP8)) || (is_of(a, DTYPE_BYTE) && is_of(b, DTYPE_BYTE));
}

bool dtype_gives(tw_dtype operands, tw_dtype dtype_c)
{
    const dtype_row *row = dtype_find(operands);
    const bool narrow = is_of(dtype_c, DTYPE_HALF), scaled = dtype_c == TW_F32 || is_of(dtype_c, DTYPE_BYTE);
    return row != NULL && (dtype_c == row->result || (narrow && (dtype_c == operands || row->class == DTYPE_FP8)) ||
                           (scaled && row->class == DTYPE_BYTE));
}

const tw_lab_dtype *tw_lab_dtype_of(tw_dtype dtype)
{
    const dtype_row *row = dtype_find(dtype);
    return row ? &row->lab : NULL;
}

const tw_lab_dtype *tw_lab_dtype_named(const char *name)
{
    for (int i = 1; i < DTYPES_END; i++)
        if (name != NULL && strcmp(dtype_rows[i].lab.name, name) == 0) return &dtype_rows[i].lab;
    return NULL;
}
