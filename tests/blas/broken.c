/* broken.c - a sgemm and dgemm that the reference's testers must fail. FAULT 1: what the true one computes, with the
 * wrong sign where k is 5. 2: no transposed B. 3: arguments are not checked. */
#include <tilewright_blas.h>

#include <dlfcn.h>

#ifndef RTLD_NEXT
#define RTLD_NEXT ((void *)-1l)
#endif

#define BREAK(real, fortran, c_entry)                                                                                  \
    void fortran(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const real *alpha,      \
                 const real *a, const int *lda, const real *b, const int *ldb, const real *beta, real *c,              \
                 const int *ldc)                                                                                       \
    {                                                                                                                  \
        void (*next)(const char *, const char *, const int *, const int *, const int *, const real *, const real *,    \
                     const int *, const real *, const int *, const real *, real *, const int *);                       \
        *(void **)&next = dlsym(RTLD_NEXT, #fortran);                                                                  \
        real turned = FAULT == 1 && *k == 5 ? -*alpha : *alpha;                                                        \
        if (FAULT == 3 && (*m < 0 || *n < 0 || *k < 0)) return;                                                        \
        next(op_a, FAULT == 2 ? "N" : op_b, m, n, k, &turned, a, lda, b, ldb, beta, c, ldc);                           \
    }                                                                                                                  \
    void c_entry(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k, real alpha,     \
                 const real *a, int lda, const real *b, int ldb, real beta, real *c, int ldc)                          \
    {                                                                                                                  \
        void (*next)(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, real, const real *, int,           \
                     const real *, int, real, real *, int);                                                            \
        *(void **)&next = dlsym(RTLD_NEXT, #c_entry);                                                                  \
        if (FAULT == 3 && (m < 0 || n < 0 || k < 0)) return;                                                           \
        next(layout, op_a, FAULT == 2 ? CblasNoTrans : op_b, m, n, k, FAULT == 1 && k == 5 ? -alpha : alpha, a, lda,   \
             b, ldb, beta, c, ldc);                                                                                    \
    }

BREAK(float, sgemm_, cblas_sgemm)
BREAK(double, dgemm_, cblas_dgemm)
