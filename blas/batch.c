/* batch.c - many products in one call: gemm_batch_strided, whose matrices lie at strides, and gemm_batch, groups of
 * products whose matrices have addresses; the names and arguments of MKL and OpenBLAS. */
#include "arguments.h"
#include "blocks.h"
#include "passing.h"
#include "product.h"
#include "route.h"
#include "spellings.h"

#include <stdio.h>

/* One group, at strides or by address. */
typedef struct group {
    const blas_caller *caller;
    tw_dtype dtype;
    int layout;     /* of a C call */
    int op_a, op_b; /* as they were given, Fortran's letters or CBLAS's settings; then TW_N, TW_T, TW_C or NONE */
    integer m, n, k, lda, ldb, ldc, count;
    int64_t stride_a, stride_b, stride_c;
    bool by_address;
    int64_t first; /* by address: the index of the first matrix in the arrays */
    scalar alpha, beta;
    const void *a, *b, *c; /* the first matrices, or the arrays of addresses */
} group;

/* ---- what is wrong ---- */

/* The number of the first wrong argument of the Fortran call; 0: none. A stride stands behind each leading
 * dimension. */
static int first_wrong(const group *x)
{
    enum { LDA = 8, LDB = 10, LDC = 13 }; /* gemm's numbers */
    const int of_gemm = gemm_first_wrong(x->op_a, x->op_b, x->m, x->n, x->k, x->lda, x->ldb, x->ldc);
    if (x->by_address) return of_gemm > 0 ? of_gemm : x->count < 0 ? 15 : 0;
    if (of_gemm > 0 && of_gemm <= LDA) return of_gemm;
    if (x->stride_a < 0) return 9;
    if (of_gemm == LDB) return 11;
    if (x->stride_b < 0) return 12;
    if (of_gemm == LDC) return 15;
    return x->stride_c < 0 ? 16 : x->count < 0 ? 17 : 0;
}

static bool reads(const group *x) { return x->k > 0 && scalar_is_set(x->alpha); }

static bool changes_nothing(const group *x)
{
    return x->m == 0 || x->n == 0 || x->count == 0 || (!reads(x) && scalar_is_one(x->beta));
}

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
    if (x->by_address) return first != NULL ? ((const void *const *)first)[x->first + i] : NULL;
    return first != NULL ? (const char *)first + (size_t)stride * (size_t)i * (size_t)blas_bytes(x->dtype) : NULL;
}

/* Of an array of addresses; false: it, or one of the group's, is NULL, and text says so. */
static bool has_addresses(const group *x, const void *array, const char *name, char text[60])
{
    if (array == NULL) {
        snprintf(text, 60, "%s is NULL", name);
        return false;
    }
    for (integer i = 0; i < x->count; i++)
        if (at(x, array, 0, i) == NULL) {
            snprintf(text, 60, "%s[%lld] is NULL", name, (long long)(x->first + i));
            return false;
        }
    return true;
}

/* Of an operand at strides; the last item begins where memory ends, at most. */
static bool has_strides(const group *x, int64_t stride, const char *name, char text[60])
{
    snprintf(text, 60, "%s spans more bytes than this machine can address", name);
    return blas_fits(x->count, 0, stride, blas_bytes(x->dtype));
}

/* Which operand is needed and NULL, or longer than memory, as the caller calls it; NULL: none. */
static const char *unusable(const group *x, char text[60])
{
    if (changes_nothing(x)) return NULL;
    const tw_problem p = item_of(x);
    const bool rows = x->caller->row_major;
    const void *const a = rows ? x->b : x->a, *const b = rows ? x->a : x->b;
    const char *const of_item = x->by_address ? blas_unusable(x->caller, &p, &p, &p, &p) /* its sizes alone */
                                              : blas_unusable(x->caller, &p, x->b, x->a, x->c);
    if (of_item != NULL) return of_item;
    if (x->by_address)
        return has_addresses(x, x->c, "c_array", text) &&
                       (!reads(x) || (has_addresses(x, a, "a_array", text) && has_addresses(x, b, "b_array", text)))
                   ? NULL
                   : text;
    return has_strides(x, x->stride_c, "c", text) &&
                   (!reads(x) || (has_strides(x, rows ? x->stride_b : x->stride_a, "a", text) &&
                                  has_strides(x, rows ? x->stride_a : x->stride_b, "b", text)))
               ? NULL
               : text;
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

/* Brings a group to Fortran's terms. False: a setting does not exist, and was reported. */
static bool map(group *x)
{
    const char letter_a = (char)x->op_a, letter_b = (char)x->op_b;
    if (x->caller->from_c && !gemm_settings_exist(x->caller, x->layout, x->op_a, x->op_b)) return false;
    x->op_a = x->caller->from_c ? op_from(x->op_a) : op_of(&letter_a);
    x->op_b = x->caller->from_c ? op_from(x->op_b) : op_of(&letter_b);
    if (!blas_is_complex(x->dtype)) x->op_a = real_op(x->op_a), x->op_b = real_op(x->op_b);
    if (x->caller->row_major) *x = of_columns(*x);
    return true;
}

/* Reports what is wrong with a group: false. */
static bool is_right(const group *x)
{
    char text[60];
    const int wrong = first_wrong(x);
    const char *const why = wrong > 0 ? NULL : unusable(x, text);
    if (wrong > 0) blas_report(x->caller, wrong);
    if (why != NULL) blas_report_failure(x->caller, false, why);
    return wrong == 0 && why == NULL;
}

/* ---- the products ---- */

/* One after the other, each as gemm would: what the batch did not take. */
static const char *multiply_each(const group *x, const tw_problem *p)
{
    for (integer i = 0; i < x->count; i++)
        if (!blas_multiply(p, at(x, x->b, x->stride_b, i), at(x, x->a, x->stride_a, i),
                           (void *)(uintptr_t)at(x, x->c, x->stride_c, i)))
            return tw_error_text();
    return NULL;
}

static const void *array_of(const group *x, const void *first)
{
    return x->by_address && first != NULL ? (const void *const *)first + x->first : first;
}

/* NULL: computed. A GPU gets its products one by one. So does the cpu where addresses are not aligned, C lies at
 * strides that overlap, or there is no memory, which it asks for before it computes: the batch has written nothing
 * then. */
static const char *multiply(const group *x, const tw_problem *p)
{
    const tw_batch batch = {.size = sizeof batch,
                            .pointers = x->by_address,
                            .count = x->count,
                            .stride_a = x->stride_b,
                            .stride_b = x->stride_a,
                            .stride_c = x->stride_c};
    tw_context *context = route_gpu(p) == NULL ? blas_context() : NULL;
    if (context == NULL) return multiply_each(x, p);
    const tw_status status = tw_gemm_batched(context, p, &batch, array_of(x, x->b), array_of(x, x->a),
                                             (void *)(uintptr_t)array_of(x, x->c));
    if (status == TW_BAD_ARGUMENT || status == TW_NO_MEMORY) return multiply_each(x, p);
    return status == TW_OK ? NULL : tw_error_text();
}

/* A group that is right. False: it failed, and was reported. */
static bool run(const group *x)
{
    char said[SAID_BYTES] = "";
    if (changes_nothing(x)) return true;
    const tw_problem p = item_of(x);
    const double start_s = blas_start(x->dtype);
    const char *failed = multiply(x, &p);
    if (start_s > 0) blas_describe(x->caller, &p, x->count, said);
    blas_finish(x->caller, failed, start_s,
                (blas_is_complex(x->dtype) ? 8 : 2) * (double)x->m * (double)x->n * (double)x->k * (double)x->count,
                said, NULL);
    return failed == NULL;
}

/* ---- groups ---- */

/* The groups of a call, each with settings and sizes of its own; their addresses follow each other in the arrays. */
typedef struct groups {
    const blas_caller *caller;
    tw_dtype dtype;
    int layout;                         /* of a C call */
    const char *letter_a, *letter_b;    /* of a Fortran call */
    const CBLAS_TRANSPOSE *op_a, *op_b; /* of a C call */
    const integer *m, *n, *k, *lda, *ldb, *ldc, *size;
    const void *alpha, *beta, *a, *b, *c; /* arrays of scalars; of addresses */
    integer count;
} groups;

static group group_at(const groups *all, integer i, int64_t first)
{
    const bool from_c = all->caller->from_c;
    return (group){.caller = all->caller,
                   .dtype = all->dtype,
                   .layout = all->layout,
                   .op_a = from_c ? (int)all->op_a[i] : all->letter_a[i],
                   .op_b = from_c ? (int)all->op_b[i] : all->letter_b[i],
                   .m = all->m[i],
                   .n = all->n[i],
                   .k = all->k[i],
                   .lda = all->lda[i],
                   .ldb = all->ldb[i],
                   .ldc = all->ldc[i],
                   .count = all->size[i],
                   .by_address = true,
                   .first = first,
                   .alpha = scalar_at(all->dtype, all->alpha, i),
                   .beta = scalar_at(all->dtype, all->beta, i),
                   .a = all->a,
                   .b = all->b,
                   .c = all->c};
}

/* No group is computed before all are known to be right. */
static void run_groups(const groups *all)
{
    int64_t first = 0;
    bool good = true;
    if (all->caller->from_c && !gemm_settings_exist(all->caller, all->layout, CblasNoTrans, CblasNoTrans)) return;
    if (all->count < 0) {
        blas_report(all->caller, 14);
        return;
    }
    for (integer i = 0; i < all->count; i++) {
        group x = group_at(all, i, first);
        if (!map(&x) || !is_right(&x)) return;
        first += x.count;
    }
    first = 0;
    for (integer i = 0; good && i < all->count; i++) {
        group x = group_at(all, i, first);
        good = map(&x) && run(&x);
        first += x.count;
    }
}

static void run_one(group *x)
{
    if (map(x) && is_right(x)) run(x);
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
        run_one(&(group){.caller = &caller, .dtype = id, .op_a = *op_a, .op_b = *op_b, .m = *m, .n = *n, .k = *k,      \
                         .lda = *lda, .ldb = *ldb, .ldc = *ldc, .count = *count, .stride_a = *stride_a,                \
                         .stride_b = *stride_b, .stride_c = *stride_c, .alpha = AT_##type(alpha),                      \
                         .beta = AT_##type(beta), .a = a, .b = b, .c = c});                                            \
    }                                                                                                                  \
    void C_NAME(lower)(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, integer m, integer n,          \
                       integer k, BY_VALUE_##type alpha, const NUMBER_##type *a, integer lda, integer stride_a,        \
                       const NUMBER_##type *b, integer ldb, integer stride_b, BY_VALUE_##type beta, NUMBER_##type *c,  \
                       integer ldc, integer stride_c, integer count)                                                   \
    {                                                                                                                  \
        static const blas_caller callers[] = {                                                                         \
            {upper, STRING(C_NAME(lower)), true, false, BLAS_WIDE, {0}, true},                                         \
            {upper, STRING(C_NAME(lower)), true, true, BLAS_WIDE, {4, 5, 9, 12, 10, 13}, true}};                       \
        run_one(&(group){.caller = &callers[layout == CblasRowMajor], .dtype = id, .layout = (int)layout,              \
                         .op_a = (int)op_a, .op_b = (int)op_b, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb,         \
                         .ldc = ldc, .count = count, .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c, \
                         .alpha = VALUE_##type(alpha), .beta = VALUE_##type(beta), .a = a, .b = b, .c = c});           \
    }

#define GROUPED(type, id, upper, lower)                                                                                \
    void FORTRAN_NAME(lower)(const char *op_a, const char *op_b, const integer *m, const integer *n, const integer *k, \
                             const NUMBER_##type *alpha, const NUMBER_##type **a, const integer *lda,                  \
                             const NUMBER_##type **b, const integer *ldb, const NUMBER_##type *beta,                   \
                             NUMBER_##type **c, const integer *ldc, const integer *group_count,                        \
                             const integer *group_size)                                                                \
    {                                                                                                                  \
        static const blas_caller caller = {upper, STRING(FORTRAN_NAME(lower)), false, false, BLAS_WIDE};               \
        run_groups(&(groups){.caller = &caller, .dtype = id, .letter_a = op_a, .letter_b = op_b, .m = m, .n = n,       \
                             .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .size = group_size, .alpha = alpha,           \
                             .beta = beta, .a = a, .b = b, .c = c, .count = *group_count});                            \
    }                                                                                                                  \
    void C_NAME(lower)(CBLAS_LAYOUT layout, const CBLAS_TRANSPOSE *op_a, const CBLAS_TRANSPOSE *op_b,                  \
                       const integer *m, const integer *n, const integer *k, const NUMBER_##type *alpha,               \
                       const NUMBER_##type **a, const integer *lda, const NUMBER_##type **b, const integer *ldb,       \
                       const NUMBER_##type *beta, NUMBER_##type **c, const integer *ldc, integer group_count,          \
                       const integer *group_size)                                                                      \
    {                                                                                                                  \
        static const blas_caller callers[] = {                                                                         \
            {upper, STRING(C_NAME(lower)), true, false, BLAS_WIDE, {0}, true},                                         \
            {upper, STRING(C_NAME(lower)), true, true, BLAS_WIDE, {4, 5, 9, 11}, true}};                               \
        run_groups(&(groups){.caller = &callers[layout == CblasRowMajor], .dtype = id, .layout = (int)layout,          \
                             .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc,   \
                             .size = group_size, .alpha = alpha, .beta = beta, .a = a, .b = b, .c = c,                 \
                             .count = group_count});                                                                   \
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
