/* half.c - sbgemm and shgemm: A and B in bf16 or f16, C in f32, under the names and with the arguments of OpenBLAS. */
#include "arguments.h"
#include "blocks.h"
#include "passing.h"
#include "product.h"
#include "spellings.h"

#include <string.h>

/* One call in Fortran's terms. */
typedef struct call {
    const blas_caller *caller;
    tw_dtype dtype;
    int op_a, op_b;
    integer m, n, k, lda, ldb, ldc;
    float alpha, beta;
    const void *a, *b;
    void *c;
} call;

/* Element i, at any address. */
static float widened(tw_dtype dtype, const void *x, int64_t i)
{
    uint16_t half;
    memcpy(&half, (const char *)x + 2 * i, sizeof half);
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
    uint32_t bits = (uint32_t)half << 16;
    if (dtype == TW_F16 && rest < 0x400) { /* a subnormal number */
        const float size = (float)rest * 0x1p-24F;
        return sign != 0 ? -size : size;
    }
    if (dtype == TW_F16) bits = sign | ((rest << 13) + ((rest < 0x7c00 ? 112U : 224U) << 23));
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Row-major, where operands are not aligned to an element or there is no memory. */
static void multiply_plainly(const tw_problem *p, const void *a, const void *b, void *c)
{
    const bool reads = p->k > 0 && p->alpha != 0;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            char *at = (char *)c + (i * p->ldc + j) * 4;
            float sum = 0, old = 0;
            for (int64_t l = 0; reads && l < p->k; l++)
                sum += widened(p->dtype, a, p->op_a == TW_N ? i * p->lda + l : l * p->lda + i) *
                       widened(p->dtype, b, p->op_b == TW_N ? l * p->ldb + j : j * p->ldb + l);
            if (p->beta != 0) memcpy(&old, at, sizeof old);
            sum = (reads ? (float)p->alpha * sum : 0) + (p->beta != 0 ? (float)p->beta * old : 0);
            memcpy(at, &sum, sizeof sum);
        }
}

/* NULL: computed. */
static const char *multiply(const tw_problem *p, const void *a, const void *b, void *c)
{
    const bool misaligned = (uintptr_t)c % 4 != 0 || ((uintptr_t)a | (uintptr_t)b) % 2 != 0;
    tw_context *context = blas_context();
    const tw_status status = misaligned || context == NULL ? TW_NO_MEMORY : tw_gemm(context, p, a, b, c);
    if (status == TW_NO_MEMORY) multiply_plainly(p, a, b, c);
    return status == TW_OK || status == TW_NO_MEMORY ? NULL : tw_error_text();
}

static void run(const call *x)
{
    char said[SAID_BYTES] = "";
    const int wrong = gemm_first_wrong(x->op_a, x->op_b, x->m, x->n, x->k, x->lda, x->ldb, x->ldc);
    if (wrong > 0) {
        blas_report(x->caller, wrong);
        return;
    }
    if (x->m == 0 || x->n == 0 || ((x->k == 0 || x->alpha == 0) && x->beta == 1)) return;
    tw_problem p = tw_problem_make(x->dtype, (tw_op)x->op_b, (tw_op)x->op_a, x->n, x->m, x->k);
    p.lda = x->ldb, p.ldb = x->lda, p.ldc = x->ldc, p.alpha = (double)x->alpha, p.beta = (double)x->beta;
    const double start_s = blas_start(p.dtype);
    const char *failed = blas_unusable(x->caller, &p, x->b, x->a, x->c);
    if (failed == NULL) failed = multiply(&p, x->b, x->a, x->c);
    if (start_s > 0) blas_describe(x->caller, &p, 0, said);
    blas_finish(x->caller, failed, start_s, 2 * (double)x->m * (double)x->n * (double)x->k, said, NULL);
}

static void run_from_c(call *x, bool rows)
{
    if (rows) {
        EXCHANGE(int, x->op_a, x->op_b);
        EXCHANGE(integer, x->m, x->n);
        EXCHANGE(integer, x->lda, x->ldb);
        EXCHANGE(const void *, x->a, x->b);
    }
    run(x);
}

#define ENTRIES(name, id, fortran_name)                                                                                \
    void FORTRAN_NAME(name)(const char *op_a, const char *op_b, const integer *m, const integer *n, const integer *k,  \
                            const float *alpha, const uint16_t *a, const integer *lda, const uint16_t *b,              \
                            const integer *ldb, const float *beta, float *c, const integer *ldc)                       \
    {                                                                                                                  \
        static const blas_caller caller = {fortran_name, STRING(FORTRAN_NAME(name)), false, false, BLAS_WIDE};         \
        call x = {                                                                                                     \
            &caller, id, real_op(op_of(op_a)), real_op(op_of(op_b)), *m, *n, *k, *lda, *ldb, *ldc, *alpha, *beta, a,   \
            b,       c};                                                                                               \
        run(&x);                                                                                                       \
    }                                                                                                                  \
    void C_NAME(name)(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, integer m, integer n,           \
                      integer k, float alpha, const uint16_t *a, integer lda, const uint16_t *b, integer ldb,          \
                      float beta, float *c, integer ldc)                                                               \
    {                                                                                                                  \
        static const blas_caller callers[] = {                                                                         \
            {fortran_name, STRING(C_NAME(name)), true, false, BLAS_WIDE, {0}, true},                                   \
            {fortran_name, STRING(C_NAME(name)), true, true, BLAS_WIDE, {4, 5, 9, 11}, true}};                         \
        const bool rows = layout == CblasRowMajor;                                                                     \
        const blas_caller *caller = &callers[rows];                                                                    \
        call x = {caller,                                                                                              \
                  id,                                                                                                  \
                  real_op(op_from((int)op_a)),                                                                         \
                  real_op(op_from((int)op_b)),                                                                         \
                  m,                                                                                                   \
                  n,                                                                                                   \
                  k,                                                                                                   \
                  lda,                                                                                                 \
                  ldb,                                                                                                 \
                  ldc,                                                                                                 \
                  alpha,                                                                                               \
                  beta,                                                                                                \
                  a,                                                                                                   \
                  b,                                                                                                   \
                  c};                                                                                                  \
        if (gemm_settings_exist(caller, (int)layout, (int)op_a, (int)op_b)) run_from_c(&x, rows);                      \
    }

ENTRIES(sbgemm, TW_BF16, "SBGEMM")
ENTRIES(shgemm, TW_F16, "SHGEMM")

SPELL(sbgemm);
SPELL(shgemm);
