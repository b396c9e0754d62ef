/* gemm.c - sgemm, dgemm, cgemm and zgemm under the names of CBLAS and Fortran: arguments checked as the reference BLAS
 * does, the product by tw_gemm(). */
#include "arguments.h"
#include "blocks.h"
#include "passing.h"
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
    scalar alpha, beta;
    const void *a, *b;
    void *c;
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
        blas_report(x->caller, wrong);
        return;
    }
    if (x->m == 0 || x->n == 0 || ((x->alpha.re == 0 || x->k == 0) && x->beta.re == 1)) return;
    /* Only the fields up to dtype_b, as a program of an older version passes them: clearing the others takes a
     * fifteenth of a tiny product. */
    tw_problem p;
    p.size = offsetof(tw_problem, dtype_b);
    p.dtype = x->dtype, p.dtype_c = (tw_dtype)0;
    p.op_a = (tw_op)x->op_b, p.op_b = (tw_op)x->op_a;
    p.place_a = p.place_b = p.place_c = TW_HOST;
    p.m = x->n, p.n = x->m, p.k = x->k;
    p.lda = x->ldb, p.ldb = x->lda, p.ldc = x->ldc;
    p.alpha = x->alpha.re, p.beta = x->beta.re;
    p.align_a = p.align_b = p.align_c = p.reserved = 0;
    tw_context *context = atomic_load_explicit(&blas_quiet_context, memory_order_acquire);
    if (context == NULL || tw_gemm(context, &p, x->b, x->a, x->c) != TW_OK)
        blas_product(x->caller, &p, x->b, x->a, x->c);
}

static inline void multiply_complex(call *x)
{
    const int wrong = first_wrong(x);
    const bool reads = x->k > 0 && scalar_is_set(x->alpha);
    if (wrong > 0) {
        blas_report(x->caller, wrong);
        return;
    }
    if (x->m == 0 || x->n == 0 || (!reads && scalar_is_one(x->beta))) return;
    tw_problem p = tw_problem_make(x->dtype, (tw_op)x->op_b, (tw_op)x->op_a, x->n, x->m, x->k);
    p.lda = x->ldb, p.ldb = x->lda, p.ldc = x->ldc;
    p.alpha = x->alpha.re, p.alpha_imaginary = x->alpha.im, p.beta = x->beta.re, p.beta_imaginary = x->beta.im;
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

/* A row-major C = A B is the column-major C^T = B^T A^T. */
static inline void multiply_from_c(call *x, bool rows)
{
    if (rows) {
        EXCHANGE(int, x->op_a, x->op_b);
        EXCHANGE(integer, x->m, x->n);
        EXCHANGE(integer, x->lda, x->ldb);
        EXCHANGE(const void *, x->a, x->b);
    }
    multiply(x);
}

#define ENTRIES(type, id, fortran_name, name)                                                                          \
    void FORTRAN_NAME(name)(const char *op_a, const char *op_b, const integer *m, const integer *n, const integer *k,  \
                            const NUMBER_##type *alpha, const NUMBER_##type *a, const integer *lda,                    \
                            const NUMBER_##type *b, const integer *ldb, const NUMBER_##type *beta, NUMBER_##type *c,   \
                            const integer *ldc)                                                                        \
    {                                                                                                                  \
        static const blas_caller caller = {fortran_name, STRING(FORTRAN_NAME(name)), false, false, BLAS_WIDE};         \
        call x = {&caller, id,   op_of(op_a),      op_of(op_b),     *m, *n, *k, *lda,                                  \
                  *ldb,    *ldc, AT_##type(alpha), AT_##type(beta), a,  b,  c};                                        \
        multiply(&x);                                                                                                  \
    }                                                                                                                  \
    void C_NAME(name)(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, integer m, integer n,           \
                      integer k, BY_VALUE_##type alpha, const NUMBER_##type *a, integer lda, const NUMBER_##type *b,   \
                      integer ldb, BY_VALUE_##type beta, NUMBER_##type *c, integer ldc)                                \
    {                                                                                                                  \
        static const blas_caller callers[] = {                                                                         \
            {fortran_name, STRING(C_NAME(name)), true, false, BLAS_WIDE},                                              \
            {fortran_name, STRING(C_NAME(name)), true, true, BLAS_WIDE, {4, 5, 9, 11}}};                               \
        const bool rows = layout == CblasRowMajor;                                                                     \
        const blas_caller *caller = &callers[rows];                                                                    \
        call x = {caller, id,  op_from((int)op_a),  op_from((int)op_b), m, n, k, lda,                                  \
                  ldb,    ldc, VALUE_##type(alpha), VALUE_##type(beta), a, b, c};                                      \
        if (gemm_settings_exist(caller, (int)layout, (int)op_a, (int)op_b)) multiply_from_c(&x, rows);                 \
    }

ENTRIES(f32, TW_F32, "SGEMM ", sgemm)
ENTRIES(f64, TW_F64, "DGEMM ", dgemm)
ENTRIES(cf32, TW_CF32, "CGEMM ", cgemm)
ENTRIES(cf64, TW_CF64, "ZGEMM ", zgemm)

SPELL(sgemm);
SPELL(dgemm);
SPELL(cgemm);
SPELL(zgemm);
