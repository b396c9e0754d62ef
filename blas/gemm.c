/* gemm.c - sgemm, dgemm, cgemm and zgemm under the names of CBLAS and Fortran: arguments checked as the reference BLAS
 * does, the product by tw_gemm(). */
#include "arguments.h"
#include "blocks.h"
#include "product.h"
#include "spellings.h"

#include <stddef.h>

/* One call in Fortran's terms: matrices are column-major, ops are TW_N, TW_T, of complex matrices TW_C, or NONE. The
 * functions that pass it on are inlined into the entries and nobody else sees it, so that it lives in registers: stored
 * and loaded again it took a sixth of an 8 x 8 x 8 product. */
typedef struct call {
    const blas_caller *caller;
    tw_dtype dtype;
    int op_a, op_b;
    integer m, n, k, lda, ldb, ldc;
    double alpha, beta;
    const void *a, *b;
    void *c;
    double alpha_i, beta_i; /* of complex types */
} call;

static inline int first_wrong(const call *x)
{
    return gemm_first_wrong(x->op_a, x->op_b, x->m, x->n, x->k, x->lda, x->ldb, x->ldc);
}

/* A column-major C = A B is the row-major C^T = B^T A^T: the operands change places, each keeps its op and its leading
 * dimension. */
static inline void multiply_real(call *x)
{
    x->op_a = real_op(x->op_a), x->op_b = real_op(x->op_b);
    const int wrong = first_wrong(x);
    if (wrong > 0) {
        blas_report(x->caller, wrong, NULL);
        return;
    }
    if (x->m == 0 || x->n == 0 || ((x->alpha == 0 || x->k == 0) && x->beta == 1)) return;
    /* Only the fields up to dtype_b, as a program of an older version passes them: clearing the others takes a
     * fifteenth of a tiny product. */
    tw_problem p;
    p.size = offsetof(tw_problem, dtype_b);
    p.dtype = x->dtype, p.dtype_c = (tw_dtype)0;
    p.op_a = (tw_op)x->op_b, p.op_b = (tw_op)x->op_a;
    p.place_a = p.place_b = p.place_c = TW_HOST;
    p.m = x->n, p.n = x->m, p.k = x->k;
    p.lda = x->ldb, p.ldb = x->lda, p.ldc = x->ldc;
    p.alpha = x->alpha, p.beta = x->beta;
    p.align_a = p.align_b = p.align_c = p.reserved = 0;
    tw_context *context = atomic_load_explicit(&blas_quiet_context, memory_order_acquire);
    if (context == NULL || tw_gemm(context, &p, x->b, x->a, x->c) != TW_OK)
        blas_product(x->caller, &p, x->b, x->a, x->c);
}

static inline void multiply_complex(call *x)
{
    const int wrong = first_wrong(x);
    const bool reads = x->k > 0 && (x->alpha != 0 || x->alpha_i != 0);
    if (wrong > 0) {
        blas_report(x->caller, wrong, NULL);
        return;
    }
    if (x->m == 0 || x->n == 0 || (!reads && x->beta == 1 && x->beta_i == 0)) return;
    tw_problem p = tw_problem_make(x->dtype, (tw_op)x->op_b, (tw_op)x->op_a, x->n, x->m, x->k);
    p.lda = x->ldb, p.ldb = x->lda, p.ldc = x->ldc;
    p.alpha = x->alpha, p.alpha_imaginary = x->alpha_i, p.beta = x->beta, p.beta_imaginary = x->beta_i;
    tw_context *context = atomic_load_explicit(&blas_quiet_context, memory_order_acquire);
    if (context == NULL || tw_gemm(context, &p, x->b, x->a, x->c) != TW_OK)
        blas_product(x->caller, &p, x->b, x->a, x->c);
}

static inline void multiply(call *x)
{
    if (blas_is_complex(x->dtype))
        multiply_complex(x);
    else
        multiply_real(x);
}

/* x holds the C call's sizes and operands as they were given; a row-major C = A B is the column-major C^T = B^T A^T. */
static inline void multiply_from_c(const blas_caller *caller, CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a,
                                   CBLAS_TRANSPOSE op_b, call *x)
{
    bool rows = layout == CblasRowMajor;
    x->caller = caller;
    x->op_a = op_from((int)op_a), x->op_b = op_from((int)op_b);
    if (!rows && layout != CblasColMajor) {
        blas_report_setting(caller, 1, "layout", (int)layout);
        return;
    }
    if (x->op_a == NONE) {
        blas_report_setting(caller, 2, "TransA", (int)op_a);
        return;
    }
    if (x->op_b == NONE) {
        blas_report_setting(caller, rows ? 2 : 3, "TransB", (int)op_b); /* the reference's numbers */
        return;
    }
    if (rows) {
        EXCHANGE(int, x->op_a, x->op_b);
        EXCHANGE(integer, x->m, x->n);
        EXCHANGE(integer, x->lda, x->ldb);
        EXCHANGE(const void *, x->a, x->b);
    }
    multiply(x);
}

/* number: the type that pointers to elements have; part: of a scalar's parts, which C passes as c_scalar. */
#define ENTRIES(number, part, c_scalar, of_c, of_fortran, of_c_i, of_fortran_i, dtype_, fortran_name, name)            \
    void FORTRAN_NAME(name)(const char *op_a, const char *op_b, const integer *m, const integer *n, const integer *k,  \
                            const number *alpha, const number *a, const integer *lda, const number *b,                 \
                            const integer *ldb, const number *beta, number *c, const integer *ldc)                     \
    {                                                                                                                  \
        static const blas_caller caller = {fortran_name, STRING(FORTRAN_NAME(name)), false, false, BLAS_WIDE};         \
        call x = {&caller,                                                                                             \
                  dtype_,                                                                                              \
                  op_of(op_a),                                                                                         \
                  op_of(op_b),                                                                                         \
                  *m,                                                                                                  \
                  *n,                                                                                                  \
                  *k,                                                                                                  \
                  *lda,                                                                                                \
                  *ldb,                                                                                                \
                  *ldc,                                                                                                \
                  of_fortran(part, alpha),                                                                             \
                  of_fortran(part, beta),                                                                              \
                  a,                                                                                                   \
                  b,                                                                                                   \
                  c,                                                                                                   \
                  of_fortran_i(part, alpha),                                                                           \
                  of_fortran_i(part, beta)};                                                                           \
        multiply(&x);                                                                                                  \
    }                                                                                                                  \
    void C_NAME(name)(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, integer m, integer n,           \
                      integer k, c_scalar alpha, const number *a, integer lda, const number *b, integer ldb,           \
                      c_scalar beta, number *c, integer ldc)                                                           \
    {                                                                                                                  \
        static const blas_caller callers[] = {                                                                         \
            {fortran_name, STRING(C_NAME(name)), true, false, BLAS_WIDE},                                              \
            {fortran_name, STRING(C_NAME(name)), true, true, BLAS_WIDE, {4, 5, 9, 11}}};                               \
        call x = {NULL,                                                                                                \
                  dtype_,                                                                                              \
                  NONE,                                                                                                \
                  NONE,                                                                                                \
                  m,                                                                                                   \
                  n,                                                                                                   \
                  k,                                                                                                   \
                  lda,                                                                                                 \
                  ldb,                                                                                                 \
                  ldc,                                                                                                 \
                  of_c(part, alpha),                                                                                   \
                  of_c(part, beta),                                                                                    \
                  a,                                                                                                   \
                  b,                                                                                                   \
                  c,                                                                                                   \
                  of_c_i(part, alpha),                                                                                 \
                  of_c_i(part, beta)};                                                                                 \
        multiply_from_c(&callers[layout == CblasRowMajor], layout, op_a, op_b, &x);                                    \
    }

ENTRIES(float, float, float, SCALAR, SCALAR_AT, NO_PART, NO_PART, TW_F32, "SGEMM ", sgemm)
ENTRIES(double, double, double, SCALAR, SCALAR_AT, NO_PART, NO_PART, TW_F64, "DGEMM ", dgemm)
ENTRIES(void, float, const void *, SCALAR_AT, SCALAR_AT, PART_AT, PART_AT, TW_CF32, "CGEMM ", cgemm)
ENTRIES(void, double, const void *, SCALAR_AT, SCALAR_AT, PART_AT, PART_AT, TW_CF64, "ZGEMM ", zgemm)

SPELL(sgemm);
SPELL(dgemm);
SPELL(cgemm);
SPELL(zgemm);
