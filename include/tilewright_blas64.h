/* tilewright_blas64.h - the names of libtilewright_blas.so with sizes of 64 bits (ILP64), as OpenBLAS and Julia spell
 * them: the names of tilewright_blas.h, which says what they do, with 64_ at the end.
 *
 * Handlers   xerbla_64_ (const char *, const int64_t *, size_t) and cblas_xerbla64_ (int64_t, const char *,
 *            const char *, ...), the program's or another BLAS's, in place of xerbla_ and cblas_xerbla.
 * Spellings  of the same functions, not declared here: cblas_dgemm_64, dgemm_64 (MKL, the reference CBLAS) and
 *            scipy_cblas_dgemm64_, scipy_dgemm_64_ (the OpenBLAS in NumPy's packages). With sizes of 32 bits there are
 *            scipy_cblas_dgemm and scipy_dgemm_ (in SciPy's). */
#ifndef TILEWRIGHT_BLAS64_H
#define TILEWRIGHT_BLAS64_H

#include <tilewright_blas.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void cblas_sgemm64_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                    int64_t ldc);
void cblas_dgemm64_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t m, int64_t n, int64_t k,
                    double alpha, const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
                    int64_t ldc);
void cblas_ssymm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, int64_t m, int64_t n, float alpha,
                    const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
void cblas_ssyrk64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int64_t n, int64_t k, float alpha,
                    const float *a, int64_t lda, float beta, float *c, int64_t ldc);
void cblas_ssyr2k64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int64_t n, int64_t k, float alpha,
                     const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
void cblas_strmm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag,
                    int64_t m, int64_t n, float alpha, const float *a, int64_t lda, float *b, int64_t ldb);
void cblas_strsm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag,
                    int64_t m, int64_t n, float alpha, const float *a, int64_t lda, float *b, int64_t ldb);
void cblas_dsymm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, int64_t m, int64_t n, double alpha,
                    const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
void cblas_dsyrk64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int64_t n, int64_t k, double alpha,
                    const double *a, int64_t lda, double beta, double *c, int64_t ldc);
void cblas_dsyr2k64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int64_t n, int64_t k, double alpha,
                     const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
void cblas_dtrmm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag,
                    int64_t m, int64_t n, double alpha, const double *a, int64_t lda, double *b, int64_t ldb);
void cblas_dtrsm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag,
                    int64_t m, int64_t n, double alpha, const double *a, int64_t lda, double *b, int64_t ldb);
void cblas_sgemmtr64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t n,
                      int64_t k, float alpha, const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                      float *c, int64_t ldc);
void cblas_dgemmtr64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t n,
                      int64_t k, double alpha, const double *a, int64_t lda, const double *b, int64_t ldb, double beta,
                      double *c, int64_t ldc);
void cblas_cgemm64_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t m, int64_t n, int64_t k,
                    const void *alpha, const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta,
                    void *c, int64_t ldc);
void cblas_csymm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, int64_t m, int64_t n, const void *alpha,
                    const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc);
void cblas_csyrk64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int64_t n, int64_t k, const void *alpha,
                    const void *a, int64_t lda, const void *beta, void *c, int64_t ldc);
void cblas_csyr2k64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int64_t n, int64_t k, const void *alpha,
                     const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc);
void cblas_cgemmtr64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t n,
                      int64_t k, const void *alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
                      const void *beta, void *c, int64_t ldc);
void cblas_ctrmm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag,
                    int64_t m, int64_t n, const void *alpha, const void *a, int64_t lda, void *b, int64_t ldb);
void cblas_ctrsm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag,
                    int64_t m, int64_t n, const void *alpha, const void *a, int64_t lda, void *b, int64_t ldb);
void cblas_chemm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, int64_t m, int64_t n, const void *alpha,
                    const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc);
void cblas_cherk64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int64_t n, int64_t k, float alpha,
                    const void *a, int64_t lda, float beta, void *c, int64_t ldc);
void cblas_cher2k64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int64_t n, int64_t k, const void *alpha,
                     const void *a, int64_t lda, const void *b, int64_t ldb, float beta, void *c, int64_t ldc);
void cblas_zgemm64_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t m, int64_t n, int64_t k,
                    const void *alpha, const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta,
                    void *c, int64_t ldc);
void cblas_zsymm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, int64_t m, int64_t n, const void *alpha,
                    const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc);
void cblas_zsyrk64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int64_t n, int64_t k, const void *alpha,
                    const void *a, int64_t lda, const void *beta, void *c, int64_t ldc);
void cblas_zsyr2k64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int64_t n, int64_t k, const void *alpha,
                     const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc);
void cblas_zgemmtr64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t n,
                      int64_t k, const void *alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
                      const void *beta, void *c, int64_t ldc);
void cblas_ztrmm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag,
                    int64_t m, int64_t n, const void *alpha, const void *a, int64_t lda, void *b, int64_t ldb);
void cblas_ztrsm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_DIAG diag,
                    int64_t m, int64_t n, const void *alpha, const void *a, int64_t lda, void *b, int64_t ldb);
void cblas_zhemm64_(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, int64_t m, int64_t n, const void *alpha,
                    const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc);
void cblas_zherk64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int64_t n, int64_t k, double alpha,
                    const void *a, int64_t lda, double beta, void *c, int64_t ldc);
void cblas_zher2k64_(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, int64_t n, int64_t k, const void *alpha,
                     const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc);
void cblas_sgemm_batch_strided64_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t m, int64_t n,
                                  int64_t k, float alpha, const float *a, int64_t lda, int64_t stride_a, const float *b,
                                  int64_t ldb, int64_t stride_b, float beta, float *c, int64_t ldc, int64_t stride_c,
                                  int64_t count);
void cblas_sgemm_batch64_(CBLAS_LAYOUT layout, const CBLAS_TRANSPOSE *op_a, const CBLAS_TRANSPOSE *op_b,
                          const int64_t *m, const int64_t *n, const int64_t *k, const float *alpha, const float **a,
                          const int64_t *lda, const float **b, const int64_t *ldb, const float *beta, float **c,
                          const int64_t *ldc, int64_t group_count, const int64_t *group_size);
void cblas_dgemm_batch_strided64_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t m, int64_t n,
                                  int64_t k, double alpha, const double *a, int64_t lda, int64_t stride_a,
                                  const double *b, int64_t ldb, int64_t stride_b, double beta, double *c, int64_t ldc,
                                  int64_t stride_c, int64_t count);
void cblas_dgemm_batch64_(CBLAS_LAYOUT layout, const CBLAS_TRANSPOSE *op_a, const CBLAS_TRANSPOSE *op_b,
                          const int64_t *m, const int64_t *n, const int64_t *k, const double *alpha, const double **a,
                          const int64_t *lda, const double **b, const int64_t *ldb, const double *beta, double **c,
                          const int64_t *ldc, int64_t group_count, const int64_t *group_size);
void cblas_cgemm_batch_strided64_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t m, int64_t n,
                                  int64_t k, const void *alpha, const void *a, int64_t lda, int64_t stride_a,
                                  const void *b, int64_t ldb, int64_t stride_b, const void *beta, void *c, int64_t ldc,
                                  int64_t stride_c, int64_t count);
void cblas_cgemm_batch64_(CBLAS_LAYOUT layout, const CBLAS_TRANSPOSE *op_a, const CBLAS_TRANSPOSE *op_b,
                          const int64_t *m, const int64_t *n, const int64_t *k, const void *alpha, const void **a,
                          const int64_t *lda, const void **b, const int64_t *ldb, const void *beta, void **c,
                          const int64_t *ldc, int64_t group_count, const int64_t *group_size);
void cblas_zgemm_batch_strided64_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t m, int64_t n,
                                  int64_t k, const void *alpha, const void *a, int64_t lda, int64_t stride_a,
                                  const void *b, int64_t ldb, int64_t stride_b, const void *beta, void *c, int64_t ldc,
                                  int64_t stride_c, int64_t count);
void cblas_zgemm_batch64_(CBLAS_LAYOUT layout, const CBLAS_TRANSPOSE *op_a, const CBLAS_TRANSPOSE *op_b,
                          const int64_t *m, const int64_t *n, const int64_t *k, const void *alpha, const void **a,
                          const int64_t *lda, const void **b, const int64_t *ldb, const void *beta, void **c,
                          const int64_t *ldc, int64_t group_count, const int64_t *group_size);
void cblas_sbgemm64_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t m, int64_t n, int64_t k,
                     float alpha, const uint16_t *a, int64_t lda, const uint16_t *b, int64_t ldb, float beta, float *c,
                     int64_t ldc);
void cblas_shgemm64_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int64_t m, int64_t n, int64_t k,
                     float alpha, const uint16_t *a, int64_t lda, const uint16_t *b, int64_t ldb, float beta, float *c,
                     int64_t ldc);
void cblas_gemm_s8u8s3264_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, CBLAS_OFFSET offset_c,
                           int64_t m, int64_t n, int64_t k, float alpha, const void *a, int64_t lda, int8_t ao,
                           const void *b, int64_t ldb, int8_t bo, float beta, int32_t *c, int64_t ldc,
                           const int32_t *co);
void sgemm_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
               const float *alpha, const float *a, const int64_t *lda, const float *b, const int64_t *ldb,
               const float *beta, float *c, const int64_t *ldc);
void dgemm_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
               const double *alpha, const double *a, const int64_t *lda, const double *b, const int64_t *ldb,
               const double *beta, double *c, const int64_t *ldc);
void ssymm_64_(const char *side, const char *uplo, const int64_t *m, const int64_t *n, const float *alpha,
               const float *a, const int64_t *lda, const float *b, const int64_t *ldb, const float *beta, float *c,
               const int64_t *ldc);
void ssyrk_64_(const char *uplo, const char *op, const int64_t *n, const int64_t *k, const float *alpha, const float *a,
               const int64_t *lda, const float *beta, float *c, const int64_t *ldc);
void ssyr2k_64_(const char *uplo, const char *op, const int64_t *n, const int64_t *k, const float *alpha,
                const float *a, const int64_t *lda, const float *b, const int64_t *ldb, const float *beta, float *c,
                const int64_t *ldc);
void sgemmtr_64_(const char *uplo, const char *op_a, const char *op_b, const int64_t *n, const int64_t *k,
                 const float *alpha, const float *a, const int64_t *lda, const float *b, const int64_t *ldb,
                 const float *beta, float *c, const int64_t *ldc);
void strmm_64_(const char *side, const char *uplo, const char *op_a, const char *diag, const int64_t *m,
               const int64_t *n, const float *alpha, const float *a, const int64_t *lda, float *b, const int64_t *ldb);
void strsm_64_(const char *side, const char *uplo, const char *op_a, const char *diag, const int64_t *m,
               const int64_t *n, const float *alpha, const float *a, const int64_t *lda, float *b, const int64_t *ldb);
void dsymm_64_(const char *side, const char *uplo, const int64_t *m, const int64_t *n, const double *alpha,
               const double *a, const int64_t *lda, const double *b, const int64_t *ldb, const double *beta, double *c,
               const int64_t *ldc);
void dsyrk_64_(const char *uplo, const char *op, const int64_t *n, const int64_t *k, const double *alpha,
               const double *a, const int64_t *lda, const double *beta, double *c, const int64_t *ldc);
void dsyr2k_64_(const char *uplo, const char *op, const int64_t *n, const int64_t *k, const double *alpha,
                const double *a, const int64_t *lda, const double *b, const int64_t *ldb, const double *beta, double *c,
                const int64_t *ldc);
void dgemmtr_64_(const char *uplo, const char *op_a, const char *op_b, const int64_t *n, const int64_t *k,
                 const double *alpha, const double *a, const int64_t *lda, const double *b, const int64_t *ldb,
                 const double *beta, double *c, const int64_t *ldc);
void dtrmm_64_(const char *side, const char *uplo, const char *op_a, const char *diag, const int64_t *m,
               const int64_t *n, const double *alpha, const double *a, const int64_t *lda, double *b,
               const int64_t *ldb);
void dtrsm_64_(const char *side, const char *uplo, const char *op_a, const char *diag, const int64_t *m,
               const int64_t *n, const double *alpha, const double *a, const int64_t *lda, double *b,
               const int64_t *ldb);
void cgemm_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
               const void *alpha, const void *a, const int64_t *lda, const void *b, const int64_t *ldb,
               const void *beta, void *c, const int64_t *ldc);
void csymm_64_(const char *side, const char *uplo, const int64_t *m, const int64_t *n, const void *alpha, const void *a,
               const int64_t *lda, const void *b, const int64_t *ldb, const void *beta, void *c, const int64_t *ldc);
void csyrk_64_(const char *uplo, const char *op, const int64_t *n, const int64_t *k, const void *alpha, const void *a,
               const int64_t *lda, const void *beta, void *c, const int64_t *ldc);
void csyr2k_64_(const char *uplo, const char *op, const int64_t *n, const int64_t *k, const void *alpha, const void *a,
                const int64_t *lda, const void *b, const int64_t *ldb, const void *beta, void *c, const int64_t *ldc);
void cgemmtr_64_(const char *uplo, const char *op_a, const char *op_b, const int64_t *n, const int64_t *k,
                 const void *alpha, const void *a, const int64_t *lda, const void *b, const int64_t *ldb,
                 const void *beta, void *c, const int64_t *ldc);
void ctrmm_64_(const char *side, const char *uplo, const char *op_a, const char *diag, const int64_t *m,
               const int64_t *n, const void *alpha, const void *a, const int64_t *lda, void *b, const int64_t *ldb);
void ctrsm_64_(const char *side, const char *uplo, const char *op_a, const char *diag, const int64_t *m,
               const int64_t *n, const void *alpha, const void *a, const int64_t *lda, void *b, const int64_t *ldb);
void chemm_64_(const char *side, const char *uplo, const int64_t *m, const int64_t *n, const void *alpha, const void *a,
               const int64_t *lda, const void *b, const int64_t *ldb, const void *beta, void *c, const int64_t *ldc);
void cherk_64_(const char *uplo, const char *op, const int64_t *n, const int64_t *k, const float *alpha, const void *a,
               const int64_t *lda, const float *beta, void *c, const int64_t *ldc);
void cher2k_64_(const char *uplo, const char *op, const int64_t *n, const int64_t *k, const void *alpha, const void *a,
                const int64_t *lda, const void *b, const int64_t *ldb, const float *beta, void *c, const int64_t *ldc);
void zgemm_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
               const void *alpha, const void *a, const int64_t *lda, const void *b, const int64_t *ldb,
               const void *beta, void *c, const int64_t *ldc);
void zsymm_64_(const char *side, const char *uplo, const int64_t *m, const int64_t *n, const void *alpha, const void *a,
               const int64_t *lda, const void *b, const int64_t *ldb, const void *beta, void *c, const int64_t *ldc);
void zsyrk_64_(const char *uplo, const char *op, const int64_t *n, const int64_t *k, const void *alpha, const void *a,
               const int64_t *lda, const void *beta, void *c, const int64_t *ldc);
void zsyr2k_64_(const char *uplo, const char *op, const int64_t *n, const int64_t *k, const void *alpha, const void *a,
                const int64_t *lda, const void *b, const int64_t *ldb, const void *beta, void *c, const int64_t *ldc);
void zgemmtr_64_(const char *uplo, const char *op_a, const char *op_b, const int64_t *n, const int64_t *k,
                 const void *alpha, const void *a, const int64_t *lda, const void *b, const int64_t *ldb,
                 const void *beta, void *c, const int64_t *ldc);
void ztrmm_64_(const char *side, const char *uplo, const char *op_a, const char *diag, const int64_t *m,
               const int64_t *n, const void *alpha, const void *a, const int64_t *lda, void *b, const int64_t *ldb);
void ztrsm_64_(const char *side, const char *uplo, const char *op_a, const char *diag, const int64_t *m,
               const int64_t *n, const void *alpha, const void *a, const int64_t *lda, void *b, const int64_t *ldb);
void zhemm_64_(const char *side, const char *uplo, const int64_t *m, const int64_t *n, const void *alpha, const void *a,
               const int64_t *lda, const void *b, const int64_t *ldb, const void *beta, void *c, const int64_t *ldc);
void zherk_64_(const char *uplo, const char *op, const int64_t *n, const int64_t *k, const double *alpha, const void *a,
               const int64_t *lda, const double *beta, void *c, const int64_t *ldc);
void zher2k_64_(const char *uplo, const char *op, const int64_t *n, const int64_t *k, const void *alpha, const void *a,
                const int64_t *lda, const void *b, const int64_t *ldb, const double *beta, void *c, const int64_t *ldc);
void sgemm_batch_strided_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                             const float *alpha, const float *a, const int64_t *lda, const int64_t *stride_a,
                             const float *b, const int64_t *ldb, const int64_t *stride_b, const float *beta, float *c,
                             const int64_t *ldc, const int64_t *stride_c, const int64_t *count);
void sgemm_batch_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                     const float *alpha, const float **a, const int64_t *lda, const float **b, const int64_t *ldb,
                     const float *beta, float **c, const int64_t *ldc, const int64_t *group_count,
                     const int64_t *group_size);
void dgemm_batch_strided_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                             const double *alpha, const double *a, const int64_t *lda, const int64_t *stride_a,
                             const double *b, const int64_t *ldb, const int64_t *stride_b, const double *beta,
                             double *c, const int64_t *ldc, const int64_t *stride_c, const int64_t *count);
void dgemm_batch_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                     const double *alpha, const double **a, const int64_t *lda, const double **b, const int64_t *ldb,
                     const double *beta, double **c, const int64_t *ldc, const int64_t *group_count,
                     const int64_t *group_size);
void cgemm_batch_strided_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                             const void *alpha, const void *a, const int64_t *lda, const int64_t *stride_a,
                             const void *b, const int64_t *ldb, const int64_t *stride_b, const void *beta, void *c,
                             const int64_t *ldc, const int64_t *stride_c, const int64_t *count);
void cgemm_batch_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                     const void *alpha, const void **a, const int64_t *lda, const void **b, const int64_t *ldb,
                     const void *beta, void **c, const int64_t *ldc, const int64_t *group_count,
                     const int64_t *group_size);
void zgemm_batch_strided_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                             const void *alpha, const void *a, const int64_t *lda, const int64_t *stride_a,
                             const void *b, const int64_t *ldb, const int64_t *stride_b, const void *beta, void *c,
                             const int64_t *ldc, const int64_t *stride_c, const int64_t *count);
void zgemm_batch_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                     const void *alpha, const void **a, const int64_t *lda, const void **b, const int64_t *ldb,
                     const void *beta, void **c, const int64_t *ldc, const int64_t *group_count,
                     const int64_t *group_size);
void sbgemm_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                const float *alpha, const uint16_t *a, const int64_t *lda, const uint16_t *b, const int64_t *ldb,
                const float *beta, float *c, const int64_t *ldc);
void shgemm_64_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                const float *alpha, const uint16_t *a, const int64_t *lda, const uint16_t *b, const int64_t *ldb,
                const float *beta, float *c, const int64_t *ldc);
void gemm_s8u8s32_64_(const char *op_a, const char *op_b, const char *offset_c, const int64_t *m, const int64_t *n,
                      const int64_t *k, const float *alpha, const int8_t *a, const int64_t *lda, const int8_t *ao,
                      const uint8_t *b, const int64_t *ldb, const int8_t *bo, const float *beta, int32_t *c,
                      const int64_t *ldc, const int32_t *co);

#ifdef __cplusplus
}
#endif

#endif
