/* gemm_64.c - gemm.c with integers of 64 bits. */
#define PBLAS_WIDE 1
#include "gemm.c"
