/* blocks.h - the operations of level 3 beside gemm, each in one form: the symmetric or triangular matrix on the left,
 * of a symmetric one the lower triangle. A view turned over (blas_flip) is the transpose, so every side, triangle and
 * order of storage comes to these. */
#ifndef TILEWRIGHT_BLAS_BLOCKS_H
#define TILEWRIGHT_BLAS_BLOCKS_H

#include <tilewright.h>

#include <stdbool.h>
#include <stdint.h>

/* A view: element (i, j) at at[i * ld + j], or at[j * ld + i] by columns. */
typedef struct matrix {
    char *at;
    int64_t rows, cols, ld;
    bool by_columns;
} matrix;

typedef struct triangle {
    matrix part;
    bool lower, unit; /* unit: the diagonal is 1 and not read */
} triangle;

static inline matrix blas_flip(matrix x) { return (matrix){x.at, x.cols, x.rows, x.ld, !x.by_columns}; }

/* All return false where a product could not be computed: tw_error_text() says why. What is not read or written:
 * the other triangle; c where beta is 0; with alpha 0 all but c. */

/* blas_symmetric - c <- alpha A b + beta c, with A symmetric. */
bool blas_symmetric(tw_dtype dtype, double alpha, matrix lower, matrix b, double beta, matrix c);

/* blas_rank - the lower triangle of c <- alpha a b + beta c, with a n x k and b k x n. */
bool blas_rank(tw_dtype dtype, double alpha, matrix a, matrix b, double beta, matrix c);

/* blas_triangular - b <- alpha T b; solves: b <- alpha T^-1 b. */
bool blas_triangular(tw_dtype dtype, double alpha, triangle t, bool solves, matrix b);

#endif
