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
