/* batch_64.c - batch.c with sizes of 64 bits. */
#define BLAS_WIDE 1
#include "batch.c"
