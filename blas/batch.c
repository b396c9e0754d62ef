/* batch.c - many products in one call: gemm_batch_strided, whose matrices lie at strides, and gemm_batch, groups of
 * products whose matrices have addresses; the names and arguments of MKL and OpenBLAS. */
#include "arguments.h"
#include "blocks.h"
#include "passing.h"
#include "product.h"
#include "route.h"
#include "spellings.h"

#include <stddef.h>
#include <stdio.h>

/* One group in Fortran's terms; at strides, or by address. */
typedef struct group {
    const blas_caller *caller;
    tw_dtype dtype;
    int op_a, op_b;
    integer m, n, k, lda, ldb, ldc, count;
    int64_t stride_a, stride_b, stride_c;
    bool by_address;
    scalar alpha, beta;
    const void *a, *b; /* the first matrices, or arrays of addresses */
    const void *c;
} group;

/* The number of the first wrong argument of the Fortran call; 0: none. A stride stands behind each leading
 * dimension. */
static int first_wrong(const group *x)
{
    const int of_gemm = gemm_first_wrong(x->op_a, x->op_b, x->m, x->n, x->k, x->lda, x->ldb, x->ldc);
    if (x->by_address) return of_gemm > 0 ? of_gemm : x->count < 0 ? 15 : 0;
    if (of_gemm > 0) return of_gemm < 10 ? of_gemm : of_gemm == 10 ? 11 : 15;
    return x->stride_a < 0 ? 9 : x->stride_b < 0 ? 12 : x->stride_c < 0 ? 16 : x->count < 0 ? 17 : 0;
}

static bool reads(const group *x) { return x->k > 0 && scalar_is_set(x->alpha); }

/* A column-major C = A B is the row-major C^T = B^T A^T. */
static tw_problem item_of(const group *x)
{
    tw_problem p = tw_problem_make(x->dtype, (tw_op)x->op_b, (tw_op)x->op_a, x->n, x->m, x->k);
    p.lda = x->ldb, p.ldb = x->lda, p.ldc = x->ldc;
    p.alpha = x->alpha.re, p.alpha_imaginary = x->alpha.im, p.beta = x->beta.re, p.beta_imaginary = x->beta.im;
    return p;
}

static const void *at(const group *x, const void *first, int64_t stride, integer i)
{
    if (x->by_address) return ((const void *const *)first)[i];
    return first != NULL ? (const char *)first + (size_t)stride * (size_t)i * (size_t)blas_bytes(x->dtype) : NULL;
}

/* One after the other, each as gemm would: what the batch did not take, such as addresses that are not aligned. */
static const char *multiply_each(const group *x, const tw_problem *p)
{
    for (integer i = 0; i < x->count; i++)
        if (!blas_multiply(p, at(x, x->b, x->stride_b, i), at(x, x->a, x->stride_a, i),
                           (void *)(uintptr_t)at(x, x->c, x->stride_c, i)))
            return tw_error_text();
    return NULL;
}

/* NULL: computed. */
static const char *multiply(const group *x)
{
    const tw_problem p = item_of(x);
    const tw_batch batch = {.size = sizeof batch,
                            .pointers = x->by_address,
                            .count = x->count,
                            .stride_a = x->stride_b,
                            .stride_b = x->stride_a,
                            .stride_c = x->stride_c};
    if (x->by_address && (x->c == NULL || (reads(x) && (x->a == NULL || x->b == NULL))))
        return x->c == NULL ? "c_array is NULL" : x->a == NULL ? "a_array is NULL" : "b_array is NULL";
    tw_context *context = route_gpu(&p) == NULL ? blas_context() : NULL; /* what is a GPU's goes there one by one */
    if (context != NULL && tw_gemm_batched(context, &p, &batch, x->b, x->a, (void *)(uintptr_t)x->c) == TW_OK)
        return NULL;
    return multiply_each(x, &p);
}

static void describe(const group *x, char *text, size_t bytes)
{
    const char op_a = "NTC"[x->op_a], op_b = "NTC"[x->op_b];
    char alpha[SCALAR_BYTES], beta[SCALAR_BYTES];
    snprintf(text, bytes, "%c%c m %lld n %lld k %lld batch %lld lda %lld ldb %lld ldc %lld alpha %s beta %s", op_a,
             op_b, (long long)x->m, (long long)x->n, (long long)x->k, (long long)x->count, (long long)x->lda,
             (long long)x->ldb, (long long)x->ldc, blas_scalar_text(alpha, x->alpha.re, x->alpha.im),
             blas_scalar_text(beta, x->beta.re, x->beta.im));
}

/* Reports what is wrong: false. */
static bool is_right(group *x)
{
    if (!blas_is_complex(x->dtype)) x->op_a = real_op(x->op_a), x->op_b = real_op(x->op_b);
    const int wrong = first_wrong(x);
    if (wrong > 0) blas_report(x->caller, wrong, NULL);
    return wrong == 0;
}

/* made: as the caller made it. */
static void run(const group *x, const group *made)
{
    char said[300] = "";
    if (x->m == 0 || x->n == 0 || x->count == 0 || (!reads(x) && scalar_is_one(x->beta))) return;
    const double start_s = blas_start();
    const char *failed = multiply(x);
    if (start_s > 0) describe(made, said, sizeof said);
    blas_finish(x->caller, failed, start_s,
                (blas_is_complex(x->dtype) ? 8 : 2) * (double)x->m * (double)x->n * (double)x->k * (double)x->count,
                said, NULL);
}

/* run_fortran, run_c - false: an argument is wrong. */
static bool run_fortran(group *x)
{
    if (!is_right(x)) return false;
    run(x, x);
    return true;
}

/* The column-major group on the same memory, which holds the transposes. */
static group of_columns(group x)
{
    EXCHANGE(int, x.op_a, x.op_b);
    EXCHANGE(integer, x.m, x.n);
    EXCHANGE(integer, x.lda, x.ldb);
    EXCHANGE(int64_t, x.stride_a, x.stride_b);
    EXCHANGE(const void *, x.a, x.b);
    return x;
}

/* False: a setting does not exist, and was reported. */
static bool take_settings(const blas_caller *caller, CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b,
                          group *x)
{
    x->caller = caller;
    x->op_a = op_from((int)op_a), x->op_b = op_from((int)op_b);
    if (layout != CblasRowMajor && layout != CblasColMajor)
        blas_report_setting(caller, 1, "layout", (int)layout);
    else if (x->op_a == NONE)
        blas_report_setting(caller, 2, "TransA", (int)op_a);
    else if (x->op_b == NONE)
        blas_report_setting(caller, 3, "TransB", (int)op_b);
    else
        return true;
    return false;
}

static bool run_c(const blas_caller *caller, CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, group *x)
{
    if (!take_settings(caller, layout, op_a, op_b, x)) return false;
    group mapped = layout == CblasRowMajor ? of_columns(*x) : *x;
    if (!is_right(&mapped)) return false;
    run(&mapped, x);
    return true;
}

/* ---- groups ---- */

/* The groups of a call, each with settings and sizes of its own; their addresses follow each other in the arrays. */
typedef struct groups {
    const integer *m, *n, *k, *lda, *ldb, *ldc, *size;
    const void *const *a, *const *b, *const *c;
    integer count;
} groups;

static group group_at(const groups *all, tw_dtype dtype, integer i, integer first)
{
    return (group){.dtype = dtype,
                   .m = all->m[i],
                   .n = all->n[i],
                   .k = all->k[i],
                   .lda = all->lda[i],
                   .ldb = all->ldb[i],
                   .ldc = all->ldc[i],
                   .count = all->size[i],
                   .by_address = true,
                   .a = all->a != NULL ? all->a + first : NULL,
                   .b = all->b != NULL ? all->b + first : NULL,
                   .c = all->c != NULL ? all->c + first : NULL};
}

/* ---- names ---- */

/* clang-format off */
#define STRIDED(type, id, upper, lower)                                                                                \
    void FORTRAN_NAME(lower)(const char *op_a, const char *op_b, const integer *m, const integer *n, const integer *k, \
                             const NUMBER_##type *alpha, const NUMBER_##type *a, const integer *lda,                   \
                             const integer *stride_a, const NUMBER_##type *b, const integer *ldb,                      \
                             const integer *stride_b, const NUMBER_##type *beta, NUMBER_##type *c, const integer *ldc, \
                             const integer *stride_c, const integer *count)                                            \
    {                                                                                                                  \
        static const blas_caller caller = {upper, STRING(FORTRAN_NAME(lower)), false, false, BLAS_WIDE};               \
        run_fortran(&(group){.caller = &caller, .dtype = id, .op_a = op_of(op_a), .op_b = op_of(op_b), .m = *m,        \
                             .n = *n, .k = *k, .lda = *lda, .ldb = *ldb, .ldc = *ldc, .count = *count,                 \
                             .stride_a = *stride_a, .stride_b = *stride_b, .stride_c = *stride_c,                      \
                             .alpha = AT_##type(alpha), .beta = AT_##type(beta), .a = a, .b = b, .c = c});             \
    }                                                                                                                  \
    void C_NAME(lower)(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, integer m, integer n,          \
                       integer k, BY_VALUE_##type alpha, const NUMBER_##type *a, integer lda, integer stride_a,        \
                       const NUMBER_##type *b, integer ldb, integer stride_b, BY_VALUE_##type beta, NUMBER_##type *c,  \
                       integer ldc, integer stride_c, integer count)                                                   \
    {                                                                                                                  \
        static const blas_caller callers[] = {                                                                         \
            {upper, STRING(C_NAME(lower)), true, false, BLAS_WIDE},                                                    \
            {upper, STRING(C_NAME(lower)), true, true, BLAS_WIDE, {4, 5, 9, 12, 10, 13}}};                             \
        run_c(&callers[layout == CblasRowMajor], layout, op_a, op_b,                                                   \
              &(group){.dtype = id, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .count = count,        \
                       .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c, .alpha = VALUE_##type(alpha), \
                       .beta = VALUE_##type(beta), .a = a, .b = b, .c = c});                                           \
    }

#define GROUPED(type, id, upper, lower)                                                                                \
    void FORTRAN_NAME(lower)(const char *op_a, const char *op_b, const integer *m, const integer *n, const integer *k, \
                             const NUMBER_##type *alpha, const NUMBER_##type **a, const integer *lda,                  \
                             const NUMBER_##type **b, const integer *ldb, const NUMBER_##type *beta,                   \
                             NUMBER_##type **c, const integer *ldc, const integer *group_count,                        \
                             const integer *group_size)                                                                \
    {                                                                                                                  \
        static const blas_caller caller = {upper, STRING(FORTRAN_NAME(lower)), false, false, BLAS_WIDE};               \
        const groups all = {m, n, k, lda, ldb, ldc, group_size, (const void *const *)a, (const void *const *)b,        \
                            (const void *const *)c, *group_count};                                                     \
        if (all.count < 0) blas_report(&caller, 14, NULL);                                                             \
        for (integer i = 0, first = 0; i < all.count; first += group_size[i++]) {                                      \
            group x = group_at(&all, id, i, first);                                                                    \
            x.caller = &caller, x.op_a = op_of(&op_a[i]), x.op_b = op_of(&op_b[i]);                                    \
            x.alpha = ELEMENT_##type(alpha, i), x.beta = ELEMENT_##type(beta, i);                                      \
            if (!run_fortran(&x)) return;                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    void C_NAME(lower)(CBLAS_LAYOUT layout, const CBLAS_TRANSPOSE *op_a, const CBLAS_TRANSPOSE *op_b,                  \
                       const integer *m, const integer *n, const integer *k, const NUMBER_##type *alpha,               \
                       const NUMBER_##type **a, const integer *lda, const NUMBER_##type **b, const integer *ldb,       \
                       const NUMBER_##type *beta, NUMBER_##type **c, const integer *ldc, integer group_count,          \
                       const integer *group_size)                                                                      \
    {                                                                                                                  \
        static const blas_caller callers[] = {                                                                         \
            {upper, STRING(C_NAME(lower)), true, false, BLAS_WIDE},                                                    \
            {upper, STRING(C_NAME(lower)), true, true, BLAS_WIDE, {4, 5, 9, 11}}};                                     \
        const blas_caller *caller = &callers[layout == CblasRowMajor];                                                 \
        const groups all = {m, n, k, lda, ldb, ldc, group_size, (const void *const *)a, (const void *const *)b,        \
                            (const void *const *)c, group_count};                                                      \
        if (all.count < 0) blas_report(caller, 14, NULL);                                                              \
        for (integer i = 0, first = 0; i < all.count; first += group_size[i++]) {                                      \
            group x = group_at(&all, id, i, first);                                                                    \
            x.alpha = ELEMENT_##type(alpha, i), x.beta = ELEMENT_##type(beta, i);                                      \
            if (!run_c(caller, layout, op_a[i], op_b[i], &x)) return;                                                  \
        }                                                                                                              \
    }
/* clang-format on */

STRIDED(f32, TW_F32, "SGEMM_BATCH_STRIDED", sgemm_batch_strided)
STRIDED(f64, TW_F64, "DGEMM_BATCH_STRIDED", dgemm_batch_strided)
STRIDED(cf32, TW_CF32, "CGEMM_BATCH_STRIDED", cgemm_batch_strided)
STRIDED(cf64, TW_CF64, "ZGEMM_BATCH_STRIDED", zgemm_batch_strided)
GROUPED(f32, TW_F32, "SGEMM_BATCH", sgemm_batch)
GROUPED(f64, TW_F64, "DGEMM_BATCH", dgemm_batch)
GROUPED(cf32, TW_CF32, "CGEMM_BATCH", cgemm_batch)
GROUPED(cf64, TW_CF64, "ZGEMM_BATCH", zgemm_batch)

SPELL(sgemm_batch_strided);
SPELL(dgemm_batch_strided);
SPELL(cgemm_batch_strided);
SPELL(zgemm_batch_strided);
SPELL(sgemm_batch);
SPELL(dgemm_batch);
SPELL(cgemm_batch);
SPELL(zgemm_batch);
