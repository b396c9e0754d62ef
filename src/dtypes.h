/* dtypes.h - the dtypes as rows of a table. */
#ifndef TILEWRIGHT_DTYPES_H
#define TILEWRIGHT_DTYPES_H

#include <stdbool.h>
#include "tilewright_lab.h"

/* Every dtype is below: their codes count up from 1. */
enum {
    DTYPE_NONE,
#define DTYPE(id, ...) DTYPE_ROW_##id,
#include "../data/dtypes.def"
#undef DTYPE
    DTYPES_END
};

typedef enum dtype_class {
    DTYPE_REAL,
    DTYPE_COMPLEX,
    DTYPE_HALF,
    DTYPE_ROUNDED,
    DTYPE_FP8,
    DTYPE_BYTE,
    DTYPE_WHOLE
} dtype_class;

typedef struct dtype_row {
    tw_lab_dtype lab;
    const char *id; /* "F32" */
    dtype_class class;
    tw_dtype result;
    int sum_bytes;        /* of the result's type */
    const char *gpu_name; /* NULL: no GPU multiplies it */
    int fraction, bias;   /* bits of the fraction, and the exponent's bias */
} dtype_row;

extern const dtype_row dtype_rows[DTYPES_END];

/* dtype_find - NULL: no such dtype */
static inline const dtype_row *dtype_find(tw_dtype dtype)
{
    return (unsigned)dtype - 1 < DTYPES_END - 1 ? &dtype_rows[dtype] : NULL;
}

/* Sums of integers are exact modulo 2^n, in any order. */
static inline bool dtype_is_integer(tw_dtype dtype) { return dtype_find(dtype)->lab.unit_roundoff == 0; }

bool dtypes_mix(tw_dtype a, tw_dtype b);               /* may A and B be of these? */
bool dtype_gives(tw_dtype operands, tw_dtype dtype_c); /* may C be of that type? */

#endif
