/* gemm_64.c - gemm.c with sizes of 64 bits. */
#define BLAS_WIDE 1
#include "gemm.c"
