/* dtypes.h - the dtypes as rows of a table. */
#ifndef TILEWRIGHT_DTYPES_H
#define TILEWRIGHT_DTYPES_H

#include <stdbool.h>
#include "tilewright_lab.h"

typedef struct dtype_row {
    tw_lab_dtype lab;
    tw_dtype result;
} dtype_row;

enum { DTYPES_END = TW_I64 + 1 }; /* every dtype is below */

const dtype_row *dtype_find(tw_dtype dtype); /* NULL: no such dtype */

/* Sums of integers are exact modulo 2^n, in any order. */
static inline bool dtype_is_integer(tw_dtype dtype) { return dtype_find(dtype)->lab.unit_roundoff == 0; }

bool dtypes_mix(tw_dtype a, tw_dtype b);               /* may A and B be of these? */
bool dtype_gives(tw_dtype operands, tw_dtype dtype_c); /* may C be of that type? */

#endif
