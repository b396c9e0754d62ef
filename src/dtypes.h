/* dtypes.h - the dtypes as rows of a table. */
#ifndef TILEWRIGHT_DTYPES_H
#define TILEWRIGHT_DTYPES_H

#include "tilewright_lab.h"

typedef struct dtype_row {
    tw_lab_dtype lab;
    tw_dtype result;
} dtype_row;

const dtype_row *dtype_find(tw_dtype dtype); /* NULL: no such dtype */

#endif
