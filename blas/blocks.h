/* blocks.h - the operations of level 3 beside gemm, each in one form: the symmetric, Hermitian or triangular matrix on
 * the left, of a symmetric or Hermitian one the lower triangle. A view turned over (blas_flip) is the transpose, so
 * every side, triangle and order of storage comes to these. */
#ifndef TILEWRIGHT_BLAS_BLOCKS_H
#define TILEWRIGHT_BLAS_BLOCKS_H

#include <tilewright.h>

#include <stdbool.h>
#include <stdint.h>

/* alpha or beta; im of real types is 0. */
typedef struct scalar {
    double re, im;
} scalar;

static inline bool scalar_is_set(scalar x) { return x.re != 0 || x.im != 0; }
static inline bool scalar_is_one(scalar x) { return x.re == 1 && x.im == 0; }
static inline scalar scalar_conjugate(scalar x) { return (scalar){x.re, -x.im}; }

/* A view: element (i, j) at at[i * ld + j], or at[j * ld + i] by columns; conjugated: its conjugate. */
typedef struct matrix {
    char *at;
    int64_t rows, cols, ld;
    bool by_columns, conjugated;
} matrix;

typedef struct triangle {
    matrix part;
    bool lower, unit; /* unit: the diagonal is 1 and not read */
} triangle;

static inline matrix blas_flip(matrix x) { return (matrix){x.at, x.cols, x.rows, x.ld, !x.by_columns, x.conjugated}; }

static inline matrix blas_conjugate_if(bool conjugates, matrix x)
{
    x.conjugated ^= conjugates;
    return x;
}

static inline bool blas_is_complex(tw_dtype dtype) { return dtype == TW_CF32 || dtype == TW_CF64; }

static inline int64_t blas_bytes(tw_dtype dtype)
{
    return dtype == TW_CF64 ? 16 : dtype == TW_F64 || dtype == TW_CF32 ? 8 : 4;
}

/* Can a machine address so many lines of `length` elements, ld apart? */
static inline bool blas_fits(int64_t lines, int64_t length, int64_t ld, int64_t bytes)
{
    int64_t last = 0;
    return !__builtin_mul_overflow(lines > 0 ? lines - 1 : 0, ld, &last) &&
           !__builtin_add_overflow(last, length, &last) && last <= PTRDIFF_MAX / bytes;
}

/* All return false where a product could not be computed: tw_error_text() says why. What is not read or written:
 * the other triangle; c where beta is 0; with alpha 0 all but c. */

/* blas_symmetric - c <- alpha A b + beta c, with A symmetric, or Hermitian: then the imaginary parts of its diagonal
 * are not read. */
bool blas_symmetric(tw_dtype dtype, bool hermitian, scalar alpha, matrix lower, matrix b, scalar beta, matrix c);

/* blas_rank - the lower triangle of c <- alpha a b + beta c, with a n x k and b k x n. */
bool blas_rank(tw_dtype dtype, scalar alpha, matrix a, matrix b, scalar beta, matrix c);

/* blas_triangular - b <- alpha T b; solves: b <- alpha T^-1 b. */
bool blas_triangular(tw_dtype dtype, scalar alpha, triangle t, bool solves, matrix b);

#endif
