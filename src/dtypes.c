/* dtypes.c - loads dtypes.def: the dtypes, found by number or by name. */
#include "dtypes.h"

#include <string.h>

static const dtype_row dtypes[] = {
#define DTYPE(dtype, name, bytes, parts, result, unit_roundoff, smallest, exact_bits)                                  \
    {{dtype, name, bytes, unit_roundoff, smallest, exact_bits, parts}, result},
#include "dtypes.def"
#undef DTYPE
};

enum { DTYPE_COUNT = sizeof dtypes / sizeof *dtypes };

const dtype_row *dtype_find(tw_dtype dtype)
{
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (dtypes[i].lab.dtype == dtype) return &dtypes[i];
    return NULL;
}

static bool is_fp8(tw_dtype dtype) { return dtype == TW_E4M3 || dtype == TW_E5M2; }
static bool is_byte(tw_dtype dtype) { return dtype == TW_I8 || dtype == TW_U8; }

bool dtypes_mix(tw_dtype a, tw_dtype b) { return a == b || (is_fp8(a) && is_fp8(b)) || (is_byte(a) && is_byte(b)); }

bool dtype_gives(tw_dtype operands, tw_dtype dtype_c)
{
    const dtype_row *row = dtype_find(operands);
    const bool narrow = dtype_c == TW_F16 || dtype_c == TW_BF16, scaled = dtype_c == TW_F32 || is_byte(dtype_c);
    return row != NULL && (dtype_c == row->result || (narrow && (dtype_c == operands || is_fp8(operands))) ||
                           (scaled && is_byte(operands)));
}

const tw_lab_dtype *tw_lab_dtype_of(tw_dtype dtype)
{
    const dtype_row *row = dtype_find(dtype);
    return row ? &row->lab : NULL;
}

const tw_lab_dtype *tw_lab_dtype_named(const char *name)
{
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (name != NULL && strcmp(dtypes[i].lab.name, name) == 0) return &dtypes[i].lab;
    return NULL;
}
