/* tilewright_blas.h - the BLAS names of libtilewright_blas.so: the products of matrices (level 3) of real numbers (s
 * and d) and of complex ones (c and z), in single and in double precision, for C and for Fortran.
 *
 *     gemm    C  <-  alpha * op(A) * op(B)  +  beta * C        op(A) m x k, op(B) k x n, C m x n
 *     gemmtr  the same of a triangle of C, n x n
 *     symm    C  <-  alpha * A * B  +  beta * C, or B * A      A symmetric, one triangle of it read
 *     syrk    C  <-  alpha * op(A) * op(A)^T  +  beta * C      a triangle of C
 *     syr2k   C  <-  alpha * (op(A) * op(B)^T  +  op(B) * op(A)^T)  +  beta * C
 *     hemm, herk, her2k  of c and z: A Hermitian; A^H in place of A^T; in her2k conj(alpha) before the second product
 *     gemm_batch_strided, gemm_batch
 *             many gemms, in MKL's and OpenBLAS's form: item i at stride * i elements; or groups, each with its own
 *             settings, sizes and scalars and group_size[i] addresses of matrices, all in one array
 *     sbgemm, shgemm  A and B in bf16 or f16, as uint16_t, C and scalars in f32, in OpenBLAS's form
 *     gemm_s8u8s32    C <- alpha * (op(A) + ao) * (op(B) + bo) + beta * C + co, in MKL's form: C in int32; by columns
 *             A in int8 and B in uint8, by rows A in uint8 and B in int8; co one number (fix), m (column) or n (row)
 *     trmm    B  <-  alpha * op(A) * B, or B * op(A)           A triangular, with a diagonal of ones if it is unit
 *     trsm    B  <-  alpha * op(A)^-1 * B, or B * op(A)^-1     the same; a zero on the diagonal is divided by
 *
 * Any cblas.h will do instead for what it declares: the names and types are the same. The reference's lacks the
 * batches, sbgemm and shgemm, before LAPACK 3.12.1 gemmtr too; OpenBLAS's has those of its version. To include both,
 * include that one first; it has to define CBLAS_H. What it lacks is then declared nowhere, but cblas_gemm_s8u8s32.
 * Sizes are int (LP64). The library is self-contained. The number of threads is TILEWRIGHT_THREADS, else
 * OMP_NUM_THREADS; openblas_set_num_threads() sets a limit.
 *
 * Arguments  are checked in the order of the reference BLAS. The first wrong one is reported to a handler by its number
 *            there, and C stays as it was.
 * Special    m == 0 or n == 0, or (alpha == 0 or k == 0) and beta == 1: nothing is read or written, but
 *            that gemm_s8u8s32 then adds co.
 *            beta == 0: C is not read. alpha == 0 or k == 0: A and B are not read; trmm and trsm then set B to 0.
 *            Items of C in one call must not overlap.
 *            What is not named of A and C, the other triangle and a unit diagonal, is neither read nor written.
 *            The imaginary parts of the diagonal of hemm's A and of herk's and her2k's C are not read; those of C
 *            become 0. c and z: an alpha or beta without an imaginary part multiplies as a real number.
 *            Operands that are not aligned to one real number are copied; sbgemm and shgemm read them slowly in
 *            place, and gemm_s8u8s32 reports such a C as number 0. Where memory is short a product is computed
 *            without it, slower.
 * Failures   BLAS has no status. C stays as it was after a wrong argument and after a NULL a, b or c, for which BLAS
 *            has no number: that is reported as number 0. (A NULL alpha or beta is not looked for.) A call that a GPU
 *            failed to compute is reported as number 0 too; if some of the result may be written then, the report says
 *            that it is undefined. Of gemm_batch all groups are checked before the first is computed. An invalid
 *            TILEWRIGHT_THREADS, _CPU, _WAIT, _VERBOSE, _PROFILE, _BLAS_ENGINE and, where a GPU is used,
 *            _BLAS_BREAK_EVEN are reported once on stderr and ignored.
 * Handlers   The library defines neither xerbla_ nor cblas_xerbla. It calls the program's, or those of another BLAS
 *            that was loaded with the program, which may end it: Debian's cblas_xerbla exits with status 255. Calls
 *            from Fortran go to xerbla_. Of calls from C a wrong layout, side, uplo, op or diag and a NULL operand go
 *            to cblas_xerbla; a wrong size or leading dimension, and column-major a transpose that csyrk, csyr2k, cherk
 *            or cher2k refuses, goes to xerbla_ if there is one, else to cblas_xerbla.
 *            Where that handler is missing, a line is printed on stderr and the call returns.
 * Numbers    are those of the reference's sources of August 2026. xerbla_ gets that of the Fortran call, from 1;
 *            cblas_xerbla one more. A row-major call is checked as the column-major call on the transposes, so it comes
 *            with the numbers of that: m and n exchanged (gemm, symm, trmm, trsm; n is checked first), lda and ldb
 *            exchanged (gemm, gemmtr). The line on stderr has the caller's own numbers. csyrk and csyr2k refuse the
 *            conjugate transpose, cherk and cher2k the transpose. References until July 2026 differ in row-major calls:
 *            2 for a wrong op of gemm's B, 3 for a wrong uplo of syrk, syr2k and herk, and they take those transposes.
 *            gemm_batch, gemm_batch_strided, sbgemm, shgemm and gemm_s8u8s32, which the reference lacks: calls from C
 *            go to cblas_xerbla alone, with the caller's own numbers.
 * Error      u, g() and S as in tilewright.h, where no sum is subnormal or overflows, even before alpha; q: the order
 *            of A; d: 1 where q <= 32, and 1 more for each doubling of 32 until it reaches q. Why: docs/ACCURACY.md.
 *              sbgemm               as bf16 in tilewright.h
 *              shgemm               as f16 there, u = 2^-24
 *              gemm_s8u8s32         none modulo 2^32 where alpha is 1 and beta 0 or 1. Else the product modulo 2^32 is
 *                                   scaled in f64 and the result rounded to nearest, or to the end of int32
 *              gemm, gemmtr, syrk   |alpha| g(k+2) S + g(2) |beta c0|
 *              syr2k                |alpha| g(k+3) S + g(3) |beta c0|, S of both products
 *              symm                 |alpha| g(q+2+d) S + g(1+d) |beta c0|
 *              trmm                 |alpha| g(2q+1) S
 *              trsm                 each column x: |op(A) x - alpha b| <= g(2q+1) (|op(A)| |x| + |alpha b|); on the
 *                                   right the same of rows
 *            c and z: of each part of an element, with S and S' of real terms as in tilewright.h, and M for
 *            |alpha_r| S + |alpha_i| S', N for |beta_r c_r| + |beta_i c_i| or |beta_r c_i| + |beta_i c_r|:
 *              gemm, gemmtr, syrk, herk   g(2k+4) M + g(4) N
 *              syr2k, her2k               g(2k+6) M + g(6) N, S of both products
 *              symm, hemm                 g(2q+4+2d) M + g(2+2d) N
 *              trmm                       g(4q+4) M
 *              trsm                       of moduli: 2 g(4q+16) (|op(A)| |x| + |alpha b|)
 * Threads    The library has its own context and thread pool; a program that also uses libtilewright.so has two.
 * Verbose    With TILEWRIGHT_VERBOSE=1, read at the first call, each call prints a line on stderr: the routine, its
 *            letters in Fortran's order (side, uplo, op, diag), sizes, time and speed, and of gemm a command that times
 *            a product of that shape (row-major, dense, alpha 1, beta 0). TILEWRIGHT_PROFILE=1: a table of calls by
 *            routine and shape as the process exits; not if it ends by _exit() or by a signal.
 * GPU        With TILEWRIGHT_BLAS_ENGINE=cuda, products in single and double precision go to a GPU if the harmonic
 *            mean of m, n and k is at least the break-even of their type: those of gemm and its batches, and those that
 *            symm, hemm, trmm and trsm are computed by. All others stay on the cpu: bf16, and the triangles of syrk,
 *            syr2k, herk, her2k and gemmtr. TILEWRIGHT_BLAS_BREAK_EVEN sets the break-even, 512 for all types, 512,256
 *            for s and c and for d and z. Without it the first call of a type measures:
 *            four products of 64 x 64 x 64 on each of the two, then of 128 and so on up to 2048, until the GPU takes
 *            less than nine tenths of the time. The bounds above hold. A product for which the GPU has no memory is
 *            computed by the cpu. After any other failure the cpu computes all: a copy of C back to the host that
 *            fails for lack of memory counts as one.
 * Sources    Dongarra, Du Croz, Hammarling, Duff: A set of level 3 BLAS, 1990. Blackford et al.: An updated set of
 *            BLAS, 2002. */
#ifndef TILEWRIGHT_BLAS_H
#define TILEWRIGHT_BLAS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CBLAS_H
typedef enum CBLAS_LAYOUT { CblasRowMajor = 101, CblasColMajor = 102 } CBLAS_LAYOUT;
typedef enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113 } CBLAS_TRANSPOSE;
typedef enum CBLAS_UPLO { CblasUpper = 121, CblasLower = 122 } CBLAS_UPLO;
typedef enum CBLAS_DIAG { CblasNonUnit = 131, CblasUnit = 132 } CBLAS_DIAG;
typedef enum CBLAS_SIDE { CblasLeft = 141, CblasRight = 142 } CBLAS_SIDE;

void cblas_sgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_dgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);
void cblas_ssymm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, int m, int n, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_ssyrk(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int n, int k, float alpha, const float *a,
                 int lda, float beta, float *c, int ldc);
void cblas_ssyr2k(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int n, int k, float alpha, const float *a,
                  int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_strmm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag, int m,
                 int n, float alpha, const float *a, int lda, float *b, int ldb);
void cblas_strsm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag, int m,
                 int n, float alpha, const float *a, int lda, float *b, int ldb);
void cblas_dsymm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, int m, int n, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc);
void cblas_dsyrk(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int n, int k, double alpha, const double *a,
                 int lda, double beta, double *c, int ldc);
void cblas_dsyr2k(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int n, int k, double alpha, const double *a,
                  int lda, const double *b, int ldb, double beta, double *c, int ldc);
void cblas_dtrmm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag, int m,
                 int n, double alpha, const double *a, int lda, double *b, int ldb);
void cblas_dtrsm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag, int m,
                 int n, double alpha, const double *a, int lda, double *b, int ldb);
void cblas_sgemmtr(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int n, int k,
                   float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_dgemmtr(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int n, int k,
                   double alpha, const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);
void cblas_cgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k,
                 const void *alpha, const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc);
void cblas_csymm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, int m, int n, const void *alpha, const void *a,
                 int lda, const void *b, int ldb, const void *beta, void *c, int ldc);
void cblas_csyrk(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int n, int k, const void *alpha,
                 const void *a, int lda, const void *beta, void *c, int ldc);
void cblas_csyr2k(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int n, int k, const void *alpha,
                  const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc);
void cblas_cgemmtr(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int n, int k,
                   const void *alpha, const void *a, int lda, const void *b, int ldb, const void *beta, void *c,
                   int ldc);
void cblas_ctrmm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag, int m,
                 int n, const void *alpha, const void *a, int lda, void *b, int ldb);
void cblas_ctrsm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag, int m,
                 int n, const void *alpha, const void *a, int lda, void *b, int ldb);
void cblas_chemm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, int m, int n, const void *alpha, const void *a,
                 int lda, const void *b, int ldb, const void *beta, void *c, int ldc);
void cblas_cherk(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int n, int k, float alpha, const void *a,
                 int lda, float beta, void *c, int ldc);
void cblas_cher2k(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int n, int k, const void *alpha,
                  const void *a, int lda, const void *b, int ldb, float beta, void *c, int ldc);
void cblas_zgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k,
                 const void *alpha, const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc);
void cblas_zsymm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, int m, int n, const void *alpha, const void *a,
                 int lda, const void *b, int ldb, const void *beta, void *c, int ldc);
void cblas_zsyrk(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int n, int k, const void *alpha,
                 const void *a, int lda, const void *beta, void *c, int ldc);
void cblas_zsyr2k(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int n, int k, const void *alpha,
                  const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc);
void cblas_zgemmtr(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int n, int k,
                   const void *alpha, const void *a, int lda, const void *b, int ldb, const void *beta, void *c,
                   int ldc);
void cblas_ztrmm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag, int m,
                 int n, const void *alpha, const void *a, int lda, void *b, int ldb);
void cblas_ztrsm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag, int m,
                 int n, const void *alpha, const void *a, int lda, void *b, int ldb);
void cblas_zhemm(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, int m, int n, const void *alpha, const void *a,
                 int lda, const void *b, int ldb, const void *beta, void *c, int ldc);
void cblas_zherk(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int n, int k, double alpha, const void *a,
                 int lda, double beta, void *c, int ldc);
void cblas_zher2k(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int n, int k, const void *alpha,
                  const void *a, int lda, const void *b, int ldb, double beta, void *c, int ldc);
extern void cblas_xerbla(int number, const char *routine, const char *format, ...); /* the program's, if it has one */
void cblas_sgemm_batch_strided(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k,
                               float alpha, const float *a, int lda, int stride_a, const float *b, int ldb,
                               int stride_b, float beta, float *c, int ldc, int stride_c, int count);
void cblas_sgemm_batch(CBLAS_LAYOUT layout, const CBLAS_TRANSPOSE *op_a, const CBLAS_TRANSPOSE *op_b, const int *m,
                       const int *n, const int *k, const float *alpha, const float **a, const int *lda, const float **b,
                       const int *ldb, const float *beta, float **c, const int *ldc, int group_count,
                       const int *group_size);
void cblas_dgemm_batch_strided(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k,
                               double alpha, const double *a, int lda, int stride_a, const double *b, int ldb,
                               int stride_b, double beta, double *c, int ldc, int stride_c, int count);
void cblas_dgemm_batch(CBLAS_LAYOUT layout, const CBLAS_TRANSPOSE *op_a, const CBLAS_TRANSPOSE *op_b, const int *m,
                       const int *n, const int *k, const double *alpha, const double **a, const int *lda,
                       const double **b, const int *ldb, const double *beta, double **c, const int *ldc,
                       int group_count, const int *group_size);
void cblas_cgemm_batch_strided(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k,
                               const void *alpha, const void *a, int lda, int stride_a, const void *b, int ldb,
                               int stride_b, const void *beta, void *c, int ldc, int stride_c, int count);
void cblas_cgemm_batch(CBLAS_LAYOUT layout, const CBLAS_TRANSPOSE *op_a, const CBLAS_TRANSPOSE *op_b, const int *m,
                       const int *n, const int *k, const void *alpha, const void **a, const int *lda, const void **b,
                       const int *ldb, const void *beta, void **c, const int *ldc, int group_count,
                       const int *group_size);
void cblas_zgemm_batch_strided(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k,
                               const void *alpha, const void *a, int lda, int stride_a, const void *b, int ldb,
                               int stride_b, const void *beta, void *c, int ldc, int stride_c, int count);
void cblas_zgemm_batch(CBLAS_LAYOUT layout, const CBLAS_TRANSPOSE *op_a, const CBLAS_TRANSPOSE *op_b, const int *m,
                       const int *n, const int *k, const void *alpha, const void **a, const int *lda, const void **b,
                       const int *ldb, const void *beta, void **c, const int *ldc, int group_count,
                       const int *group_size);
void cblas_sbgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k, float alpha,
                  const uint16_t *a, int lda, const uint16_t *b, int ldb, float beta, float *c, int ldc);
void cblas_shgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k, float alpha,
                  const uint16_t *a, int lda, const uint16_t *b, int ldb, float beta, float *c, int ldc);
#endif
/* MKL's, which no cblas.h declares. */
typedef enum CBLAS_OFFSET { CblasRowOffset = 171, CblasColOffset = 172, CblasFixOffset = 173 } CBLAS_OFFSET;
void cblas_gemm_s8u8s32(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, CBLAS_OFFSET offset_c, int m,
                        int n, int k, float alpha, const void *a, int lda, int8_t ao, const void *b, int ldb, int8_t bo,
                        float beta, int32_t *c, int ldc, const int32_t *co);
/* Names of OpenBLAS. Set: from the next call on no call of this process uses more threads; 0, a negative number or one
 * above 4096: no limit. It is handed on to an OpenBLAS that is loaded behind this library. Get: the threads that a call
 * may use. */
void openblas_set_num_threads(int threads);
int openblas_get_num_threads(void);
/* For Fortran, column-major: op is one of N n T t C c. Complex numbers are pairs, real part first, here and above.
 * Compilers append the lengths of character arguments; they are not read. The handler's name has no NUL at its end, so
 * its length is passed. */
void sgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc);
void dgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc);
void ssymm_(const char *side, const char *uplo, const int *m, const int *n, const float *alpha, const float *a,
            const int *lda, const float *b, const int *ldb, const float *beta, float *c, const int *ldc);
void ssyrk_(const char *uplo, const char *op, const int *n, const int *k, const float *alpha, const float *a,
            const int *lda, const float *beta, float *c, const int *ldc);
void ssyr2k_(const char *uplo, const char *op, const int *n, const int *k, const float *alpha, const float *a,
             const int *lda, const float *b, const int *ldb, const float *beta, float *c, const int *ldc);
void sgemmtr_(const char *uplo, const char *op_a, const char *op_b, const int *n, const int *k, const float *alpha,
              const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
              const int *ldc);
void strmm_(const char *side, const char *uplo, const char *op_a, const char *diag, const int *m, const int *n,
            const float *alpha, const float *a, const int *lda, float *b, const int *ldb);
void strsm_(const char *side, const char *uplo, const char *op_a, const char *diag, const int *m, const int *n,
            const float *alpha, const float *a, const int *lda, float *b, const int *ldb);
void dsymm_(const char *side, const char *uplo, const int *m, const int *n, const double *alpha, const double *a,
            const int *lda, const double *b, const int *ldb, const double *beta, double *c, const int *ldc);
void dsyrk_(const char *uplo, const char *op, const int *n, const int *k, const double *alpha, const double *a,
            const int *lda, const double *beta, double *c, const int *ldc);
void dsyr2k_(const char *uplo, const char *op, const int *n, const int *k, const double *alpha, const double *a,
             const int *lda, const double *b, const int *ldb, const double *beta, double *c, const int *ldc);
void dgemmtr_(const char *uplo, const char *op_a, const char *op_b, const int *n, const int *k, const double *alpha,
              const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
              const int *ldc);
void dtrmm_(const char *side, const char *uplo, const char *op_a, const char *diag, const int *m, const int *n,
            const double *alpha, const double *a, const int *lda, double *b, const int *ldb);
void dtrsm_(const char *side, const char *uplo, const char *op_a, const char *diag, const int *m, const int *n,
            const double *alpha, const double *a, const int *lda, double *b, const int *ldb);
void cgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const void *alpha,
            const void *a, const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc);
void csymm_(const char *side, const char *uplo, const int *m, const int *n, const void *alpha, const void *a,
            const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc);
void csyrk_(const char *uplo, const char *op, const int *n, const int *k, const void *alpha, const void *a,
            const int *lda, const void *beta, void *c, const int *ldc);
void csyr2k_(const char *uplo, const char *op, const int *n, const int *k, const void *alpha, const void *a,
             const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc);
void cgemmtr_(const char *uplo, const char *op_a, const char *op_b, const int *n, const int *k, const void *alpha,
              const void *a, const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc);
void ctrmm_(const char *side, const char *uplo, const char *op_a, const char *diag, const int *m, const int *n,
            const void *alpha, const void *a, const int *lda, void *b, const int *ldb);
void ctrsm_(const char *side, const char *uplo, const char *op_a, const char *diag, const int *m, const int *n,
            const void *alpha, const void *a, const int *lda, void *b, const int *ldb);
void chemm_(const char *side, const char *uplo, const int *m, const int *n, const void *alpha, const void *a,
            const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc);
void cherk_(const char *uplo, const char *op, const int *n, const int *k, const float *alpha, const void *a,
            const int *lda, const float *beta, void *c, const int *ldc);
void cher2k_(const char *uplo, const char *op, const int *n, const int *k, const void *alpha, const void *a,
             const int *lda, const void *b, const int *ldb, const float *beta, void *c, const int *ldc);
void zgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const void *alpha,
            const void *a, const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc);
void zsymm_(const char *side, const char *uplo, const int *m, const int *n, const void *alpha, const void *a,
            const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc);
void zsyrk_(const char *uplo, const char *op, const int *n, const int *k, const void *alpha, const void *a,
            const int *lda, const void *beta, void *c, const int *ldc);
void zsyr2k_(const char *uplo, const char *op, const int *n, const int *k, const void *alpha, const void *a,
             const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc);
void zgemmtr_(const char *uplo, const char *op_a, const char *op_b, const int *n, const int *k, const void *alpha,
              const void *a, const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc);
void ztrmm_(const char *side, const char *uplo, const char *op_a, const char *diag, const int *m, const int *n,
            const void *alpha, const void *a, const int *lda, void *b, const int *ldb);
void ztrsm_(const char *side, const char *uplo, const char *op_a, const char *diag, const int *m, const int *n,
            const void *alpha, const void *a, const int *lda, void *b, const int *ldb);
void zhemm_(const char *side, const char *uplo, const int *m, const int *n, const void *alpha, const void *a,
            const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc);
void zherk_(const char *uplo, const char *op, const int *n, const int *k, const double *alpha, const void *a,
            const int *lda, const double *beta, void *c, const int *ldc);
void zher2k_(const char *uplo, const char *op, const int *n, const int *k, const void *alpha, const void *a,
             const int *lda, const void *b, const int *ldb, const double *beta, void *c, const int *ldc);
void sgemm_batch_strided_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k,
                          const float *alpha, const float *a, const int *lda, const int *stride_a, const float *b,
                          const int *ldb, const int *stride_b, const float *beta, float *c, const int *ldc,
                          const int *stride_c, const int *count);
void sgemm_batch_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const float *alpha,
                  const float **a, const int *lda, const float **b, const int *ldb, const float *beta, float **c,
                  const int *ldc, const int *group_count, const int *group_size);
void dgemm_batch_strided_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k,
                          const double *alpha, const double *a, const int *lda, const int *stride_a, const double *b,
                          const int *ldb, const int *stride_b, const double *beta, double *c, const int *ldc,
                          const int *stride_c, const int *count);
void dgemm_batch_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const double *alpha,
                  const double **a, const int *lda, const double **b, const int *ldb, const double *beta, double **c,
                  const int *ldc, const int *group_count, const int *group_size);
void cgemm_batch_strided_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k,
                          const void *alpha, const void *a, const int *lda, const int *stride_a, const void *b,
                          const int *ldb, const int *stride_b, const void *beta, void *c, const int *ldc,
                          const int *stride_c, const int *count);
void cgemm_batch_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const void *alpha,
                  const void **a, const int *lda, const void **b, const int *ldb, const void *beta, void **c,
                  const int *ldc, const int *group_count, const int *group_size);
void zgemm_batch_strided_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k,
                          const void *alpha, const void *a, const int *lda, const int *stride_a, const void *b,
                          const int *ldb, const int *stride_b, const void *beta, void *c, const int *ldc,
                          const int *stride_c, const int *count);
void zgemm_batch_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const void *alpha,
                  const void **a, const int *lda, const void **b, const int *ldb, const void *beta, void **c,
                  const int *ldc, const int *group_count, const int *group_size);
void sbgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const float *alpha,
             const uint16_t *a, const int *lda, const uint16_t *b, const int *ldb, const float *beta, float *c,
             const int *ldc);
void shgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const float *alpha,
             const uint16_t *a, const int *lda, const uint16_t *b, const int *ldb, const float *beta, float *c,
             const int *ldc);
void gemm_s8u8s32_(const char *op_a, const char *op_b, const char *offset_c, const int *m, const int *n, const int *k,
                   const float *alpha, const int8_t *a, const int *lda, const int8_t *ao, const uint8_t *b,
                   const int *ldb, const int8_t *bo, const float *beta, int32_t *c, const int *ldc, const int32_t *co);
extern void xerbla_(const char *routine, const int *number, size_t routine_length); /* the program's, if it has one */

#ifdef __cplusplus
}
#endif
#endif
