/* tilewright_blas.h - what libtilewright_blas.so offers under the names of BLAS: sgemm and dgemm, for C and for
 * Fortran.
 *
 *     C  <-  alpha * op(A) * op(B)  +  beta * C        op(A) m x k, op(B) k x n, C m x n
 *
 * A program that has another cblas.h needs no other header: the names and types are the same. Include that one before
 * this, or one of them alone. Sizes are int (LP64). The library holds all it needs; threads come from
 * TILEWRIGHT_THREADS, else OMP_NUM_THREADS.
 *
 * Arguments  are checked in the order of the reference BLAS; the first that is wrong goes to a handler, by its number
 *            there, and C stays as it was.
 * Special    m == 0 or n == 0, or (alpha == 0 or k == 0) and beta == 1: nothing is read or written.
 *            beta == 0: C is not read. alpha == 0 or k == 0: A and B are not read.
 *            Operands that are not aligned to one element are copied. Without memory a product is slower, and comes
 *            out.
 * Failures   BLAS has no status. What it cannot refuse by number, a pointer that is NULL, goes to the same handlers
 *            with the number 0; C stays as it was. A wrong word in TILEWRIGHT_THREADS, TILEWRIGHT_CPU or
 *            TILEWRIGHT_VERBOSE is told once on stderr and ignored.
 * Handlers   xerbla_ and cblas_xerbla are not here: the program's own are called, or those of another BLAS that was
 *            loaded with the program. Where there are none a line on stderr is printed and the call returns.
 *            Numbers reach them as the reference passes them: xerbla_ those of the column-major call in Fortran, 1 to
 *            13; cblas_xerbla, for calls from C where there is no xerbla_, one more. A row-major product is computed as
 *            the column-major one of the transposes, so there m and n (4, 5) and lda and ldb (9, 11) come exchanged;
 *            the line on stderr turns them back. An op that is none is number 2 for A, and for B 3, or 2 in row-major.
 * Threads    The library has a context and a pool of its own: a program that calls libtilewright.so too has two.
 * Lines      TILEWRIGHT_VERBOSE=1, read at the first product, prints a line on stderr for each: routine, ops, sizes,
 *            time and speed.
 * Sources    Dongarra, Du Croz, Hammarling, Duff: A set of level 3 BLAS, 1990. Blackford et al.: An updated set of
 *            BLAS, 2002. */
#ifndef TILEWRIGHT_BLAS_H
#define TILEWRIGHT_BLAS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CBLAS_H
typedef enum CBLAS_LAYOUT { CblasRowMajor = 101, CblasColMajor = 102 } CBLAS_LAYOUT;
typedef enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113 } CBLAS_TRANSPOSE;

void cblas_sgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_dgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);
extern void cblas_xerbla(int number, const char *routine, const char *format, ...); /* the program's, if it has one */
#endif

/* Fortran's, column-major: op is one of N n T t C c. The lengths of character arguments, which compilers add at the
 * end, are not read, but for that of the handler's name, which ends in no NUL. */
void sgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc);
void dgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc);
extern void xerbla_(const char *routine, const int *number, size_t routine_length); /* the program's, if it has one */

#ifdef __cplusplus
}
#endif
#endif
