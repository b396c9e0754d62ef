/* half_64.c - half.c with sizes of 64 bits. */
#define BLAS_WIDE 1
#include "half.c"
