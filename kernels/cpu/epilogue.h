/* epilogue.h - what becomes of a finished sum in the CPU's production kernels: alpha * sum + beta * c. Where beta is 0,
 * C is not read. Complex sums (gemm_simd.c) and integers that are scaled in double (finish.c) have a form of their own.
 */
#ifndef TILEWRIGHT_CPU_EPILOGUE_H
#define TILEWRIGHT_CPU_EPILOGUE_H

#include <stdbool.h>

static inline bool epilogue_reads(double beta) { return beta != 0; /* a NaN reads C too, and gives NaN */ }

/* The element of C of a sum, rounded alike in vectors, in halves of vectors and alone. kind: vec, half or real, which
 * has kind_fma and kind_mul; c: an expression that is evaluated only where C is read. */
#define EPILOGUE(kind, alpha, sum, beta, reads_c, c)                                                                   \
    ((reads_c) ? kind##_fma(alpha, sum, kind##_mul(beta, c)) : kind##_mul(alpha, sum))

#endif
