/* bfloat16_64.c - bfloat16.c with sizes of 64 bits. */
#define BLAS_WIDE 1
#include "bfloat16.c"
