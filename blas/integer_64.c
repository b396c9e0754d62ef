/* integer_64.c - integer.c with sizes of 64 bits. */
#define BLAS_WIDE 1
#include "integer.c"
