/* level3_64.c - level3.c with sizes of 64 bits. */
#define BLAS_WIDE 1
#include "level3.c"
