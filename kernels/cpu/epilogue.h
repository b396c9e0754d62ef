/* epilogue.h - what becomes of a finished sum in the CPU's production kernels: alpha * sum + beta * c. Where beta is 0,
 * C is not read. A micro-kernel that stores C by itself does that by EPILOGUE, but for complex sums (gemm_simd.c). Any
 * other C is made by a cpu_finish, to which every way of computing a product comes by cpu_finish_block: what else is to
 * become of sums, by their row and column too, is one more function in finish.c. */
#ifndef TILEWRIGHT_CPU_EPILOGUE_H
#define TILEWRIGHT_CPU_EPILOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../values.h"

static inline bool epilogue_reads(double beta) { return beta != 0; /* a NaN reads C too, and gives NaN */ }

/* The element of C of a sum, rounded alike in vectors, in halves of vectors and alone. kind: vec, half or real, which
 * has kind_fma and kind_mul; c: an expression that is evaluated only where C is read. */
#define EPILOGUE(kind, alpha, sum, beta, reads_c, c)                                                                   \
    ((reads_c) ? kind##_fma(alpha, sum, kind##_mul(beta, c)) : kind##_mul(alpha, sum))

/* Finished sums and the elements of C that they become: rows x cols of both, from row i and column j of C on. If down,
 * these lie beside C, and their one row becomes a column. */
typedef struct cpu_outputs {
    const void *sums;
    void *c;
    int64_t i, j, rows, cols, sums_ld, ldc;
    bool down;
    value_type c_type;
    double alpha, beta;
    const value_list *values; /* of a caller's epilogue; NULL: none */
} cpu_outputs;

/* cpu_finish - each element once, where a product ends:
 *
 *     c[r * ldc + q]  <-  alpha * sums[r * sums_ld + q] + beta * c[r * ldc + q],   r < rows, q < cols,
 *
 * rounded once to C's type. beta == 0 means that c is not read. Sums in f32 are scaled in f32, as by the micro-kernel,
 * those in i32 in double. evaluate.c makes of this number what `values` say. */
typedef void cpu_finish(const cpu_outputs *x);

/* Who finishes a product, and its C: the part of the whole C that begins in row i0 and column j0. Bytes: of an
 * element. */
typedef struct cpu_epilogue {
    cpu_finish *finish;
    char *c;
    int64_t ldc, c_bytes, sum_bytes, i0, j0;
    value_type c_type;
    double alpha, beta;
    const value_list *values;
} cpu_epilogue;

/* A column whose sums lie side by side, in pieces that do too. */
static inline void cpu_finish_column(const cpu_epilogue *e, cpu_outputs x)
{
    enum { PIECE = 64, MOST_BYTES = 16 };
    char piece[PIECE * MOST_BYTES], *c = x.c;
    const int64_t stride = e->ldc * e->c_bytes, last = x.i + x.rows;
    const size_t bytes = (size_t)e->c_bytes;
    x.down = true, x.rows = 1, x.c = piece;
    for (; x.i < last; x.i += x.cols, c += x.cols * stride) {
        x.cols = last - x.i < PIECE ? last - x.i : PIECE;
        for (int64_t q = 0; epilogue_reads(e->beta) && q < x.cols; q++)
            memcpy(piece + (size_t)q * bytes, c + q * stride, bytes);
        e->finish(&x);
        for (int64_t q = 0; q < x.cols; q++) memcpy(c + q * stride, piece + (size_t)q * bytes, bytes);
        x.sums = (const char *)x.sums + x.cols * e->sum_bytes;
    }
}

/* cpu_finish_block - rows x cols of C from (i, j) on, of their sums, whose rows are sums_ld apart. */
static inline void cpu_finish_block(const cpu_epilogue *e, int64_t i, int64_t j, int64_t rows, int64_t cols,
                                    const void *sums, int64_t sums_ld)
{
    cpu_outputs x = {.sums = sums,
                     .c = e->c + (i * e->ldc + j) * e->c_bytes,
                     .i = e->i0 + i,
                     .j = e->j0 + j,
                     .rows = rows,
                     .cols = cols,
                     .sums_ld = sums_ld,
                     .ldc = e->ldc,
                     .c_type = e->c_type,
                     .alpha = e->alpha,
                     .beta = e->beta,
                     .values = e->values};
    if (cols > 1 || sums_ld > 1)
        e->finish(&x);
    else if (e->ldc == 1)
        x.down = true, x.cols = rows, x.rows = 1, e->finish(&x);
    else
        cpu_finish_column(e, x);
}

#endif
