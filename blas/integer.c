/* integer.c - gemm_s8u8s32: C <- alpha (op(A) + ao) (op(B) + bo) + beta C + co, A in int8, B in uint8, C in int32,
 * under the names and with the arguments of MKL.
 *
 *     (A + ao) (B + bo)  =  A B  +  bo * sums of A's rows  +  ao * sums of B's columns  +  k ao bo
 *
 * The product is exact modulo 2^32, and where alpha is 1 and beta 0 or 1 all of it is. Other scalars multiply the
 * product, as an int32, in f64; the result is rounded once, to nearest, and what int32 does not hold becomes the
 * nearest number that it does. */
#include "arguments.h"
#include "blocks.h"
#include "product.h"
#include "spellings.h"

#include <stdlib.h>
#include <string.h>

typedef enum form { FIXED, BY_COLUMN, BY_ROW, NO_FORM } form; /* of co: one number, one for each row, for each column */

/* One call in Fortran's terms. */
typedef struct call {
    const blas_caller *caller;
    int op_a, op_b;
    form offset;
    integer m, n, k, lda, ldb, ldc;
    float alpha, beta;
    int ao, bo;
    const void *a, *b;
    int32_t *c;
    const int32_t *co;
} call;

static form form_of(char letter)
{
    return letter == 'F' || letter == 'f'   ? FIXED
           : letter == 'C' || letter == 'c' ? BY_COLUMN
           : letter == 'R' || letter == 'r' ? BY_ROW
                                            : NO_FORM;
}

static form form_from(int offset)
{
    return offset == CblasFixOffset   ? FIXED
           : offset == CblasColOffset ? BY_COLUMN
           : offset == CblasRowOffset ? BY_ROW
                                      : NO_FORM;
}

static int first_wrong(const call *x)
{
    if (x->op_a == NONE) return 1;
    if (x->op_b == NONE) return 2;
    if (x->offset == NO_FORM) return 3;
    if (x->m < 0) return 4;
    if (x->n < 0) return 5;
    if (x->k < 0) return 6;
    if (x->lda < at_least_1(x->op_a == TW_N ? x->m : x->k)) return 9;
    if (x->ldb < at_least_1(x->op_b == TW_N ? x->k : x->n)) return 12;
    return x->ldc < at_least_1(x->m) ? 16 : 0;
}

static int64_t a_at(const call *x, int64_t i, int64_t p)
{
    return ((const int8_t *)x->a)[x->op_a == TW_N ? p * x->lda + i : i * x->lda + p];
}

static int64_t b_at(const call *x, int64_t p, int64_t j)
{
    return ((const uint8_t *)x->b)[x->op_b == TW_N ? j * x->ldb + p : p * x->ldb + j];
}

static bool reads(const call *x) { return x->alpha != 0 && x->k > 0; }
static bool is_exact(const call *x) { return x->alpha == 1 && (x->beta == 0 || x->beta == 1); }

static int64_t offset_at(const call *x, int64_t i, int64_t j)
{
    return x->co[x->offset == FIXED ? 0 : x->offset == BY_COLUMN ? i : j];
}

/* Element (i, j) of C, whose product is this modulo 2^32. */
static int32_t blended(const call *x, int64_t i, int64_t j, uint32_t product, int32_t old)
{
    const int64_t offset = offset_at(x, i, j);
    if (is_exact(x)) return (int32_t)(product + (x->beta != 0 ? (uint32_t)old : 0) + (uint32_t)offset);
    const double value = (double)x->alpha * (double)(int32_t)product +
                         (x->beta != 0 ? (double)x->beta * (double)old : 0) + (double)offset;
    const double near = 0x1.8p52; /* to which a number below 2^51 is added as a whole one, to nearest */
    return !(value > INT32_MIN) ? INT32_MIN : value >= INT32_MAX ? INT32_MAX : (int32_t)(value + near - near);
}

/* C where the product does not lie in it, its rows m apart; NULL: there is no memory for one, and elements are summed
 * one by one. */
static void blend(const call *x, const uint32_t *product, const uint32_t *row_sums, const uint32_t *column_sums)
{
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = 0; i < x->m; i++) {
            int32_t *at = x->c + j * x->ldc + i;
            uint32_t sum = 0;
            if (product != NULL)
                sum = product[j * x->m + i] + row_sums[i] + column_sums[j];
            else
                for (int64_t p = 0; reads(x) && p < x->k; p++)
                    sum += (uint32_t)((a_at(x, i, p) + x->ao) * (b_at(x, p, j) + x->bo));
            *at = blended(x, i, j, sum, x->beta != 0 ? *at : 0);
        }
}

/* What the offsets of A and B add to each row and each column. */
static void make_sums(const call *x, uint32_t *row_sums, uint32_t *column_sums)
{
    memset(row_sums, 0, (size_t)x->m * sizeof *row_sums);
    for (int64_t j = 0; j < x->n; j++)
        column_sums[j] = reads(x) ? (uint32_t)x->k * (uint32_t)x->ao * (uint32_t)x->bo : 0;
    if (!reads(x)) return;
    const bool a_outer = x->op_a == TW_N, b_outer = x->op_b != TW_N; /* walk along memory */
    const int64_t a_lines = a_outer ? x->k : x->m, a_length = a_outer ? x->m : x->k;
    for (int64_t line = 0; x->bo != 0 && line < a_lines; line++)
        for (int64_t q = 0; q < a_length; q++)
            row_sums[a_outer ? q : line] += (uint32_t)(x->bo * ((const int8_t *)x->a)[line * x->lda + q]);
    const int64_t b_lines = b_outer ? x->k : x->n, b_length = b_outer ? x->n : x->k;
    for (int64_t line = 0; x->ao != 0 && line < b_lines; line++)
        for (int64_t q = 0; q < b_length; q++)
            column_sums[b_outer ? q : line] += (uint32_t)(x->ao * ((const uint8_t *)x->b)[line * x->ldb + q]);
}

/* TW_NO_MEMORY: C is as it was. */
static tw_status multiply(const call *x, tw_problem *p)
{
    tw_context *context = blas_context();
    const size_t m = (size_t)x->m, n = (size_t)x->n;
    if (context == NULL || n > (SIZE_MAX / 2 / sizeof(uint32_t) - m) / (m + 1)) return TW_NO_MEMORY;
    uint32_t *product = aligned_alloc(64, ((m * n + m + n) * sizeof *product + 63) / 64 * 64);
    tw_status status = product == NULL ? TW_NO_MEMORY : TW_OK;
    p->ldc = x->m;
    if (status == TW_OK && reads(x)) status = tw_gemm(context, p, x->b, x->a, product);
    if (status == TW_OK) {
        if (!reads(x)) memset(product, 0, m * n * sizeof *product);
        make_sums(x, product + m * n, product + m * n + m);
        blend(x, product, product + m * n, product + m * n + m);
    }
    free(product);
    return status;
}

static void run(const call *x)
{
    char said[SAID_BYTES] = "";
    const int wrong = first_wrong(x);
    if (wrong > 0) {
        blas_report(x->caller, wrong);
        return;
    }
    if (x->m == 0 || x->n == 0) return;
    tw_problem p = tw_problem_make(TW_U8, (tw_op)x->op_b, (tw_op)x->op_a, x->n, x->m, reads(x) ? x->k : 0);
    p.dtype_b = TW_I8, p.lda = x->ldb, p.ldb = x->lda, p.ldc = x->ldc;
    const double start_s = blas_start(p.dtype);
    const char *failed = blas_unusable(x->caller, &p, x->b, x->a, x->c);
    if (failed == NULL && x->co == NULL) failed = "co is NULL";
    if (failed == NULL && (uintptr_t)x->c % sizeof *x->c != 0) failed = "c is not aligned to an element of 4 bytes";
    if (failed == NULL) {
        const tw_status status = multiply(x, &p);
        if (status == TW_NO_MEMORY) blend(x, NULL, NULL, NULL);
        if (status == TW_OK || status == TW_NO_MEMORY)
            blas_computed();
        else
            failed = tw_error_text();
    }
    p.alpha = (double)x->alpha, p.beta = (double)x->beta, p.ldc = x->ldc;
    if (start_s > 0) blas_describe(x->caller, &p, 0, said);
    blas_finish(x->caller, failed, start_s, 2 * (double)x->m * (double)x->n * (double)x->k, said, NULL);
}

void FORTRAN_NAME(gemm_s8u8s32)(const char *op_a, const char *op_b, const char *offset, const integer *m,
                                const integer *n, const integer *k, const float *alpha, const int8_t *a,
                                const integer *lda, const int8_t *ao, const uint8_t *b, const integer *ldb,
                                const int8_t *bo, const float *beta, int32_t *c, const integer *ldc, const int32_t *co)
{
    static const blas_caller caller = {"GEMM_S8U8S32", STRING(FORTRAN_NAME(gemm_s8u8s32)), false, false, BLAS_WIDE};
    const call x = {&caller,
                    real_op(op_of(op_a)),
                    real_op(op_of(op_b)),
                    form_of(*offset),
                    *m,
                    *n,
                    *k,
                    *lda,
                    *ldb,
                    *ldc,
                    *alpha,
                    *beta,
                    *ao,
                    *bo,
                    a,
                    b,
                    c,
                    co};
    run(&x);
}

/* A row-major C = A B is the column-major C^T = B^T A^T, so there A is of uint8 and B of int8, as in MKL. */
void C_NAME(gemm_s8u8s32)(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, CBLAS_OFFSET offset,
                          integer m, integer n, integer k, float alpha, const void *a, integer lda, int8_t ao,
                          const void *b, integer ldb, int8_t bo, float beta, int32_t *c, integer ldc, const int32_t *co)
{
    static const blas_caller callers[] = {
        {"GEMM_S8U8S32", STRING(C_NAME(gemm_s8u8s32)), true, false, BLAS_WIDE, {0}, true},
        {"GEMM_S8U8S32", STRING(C_NAME(gemm_s8u8s32)), true, true, BLAS_WIDE, {5, 6, 10, 13}, true}};
    const bool rows = layout == CblasRowMajor;
    const blas_caller *caller = &callers[rows];
    call x = {caller,
              real_op(op_from((int)op_a)),
              real_op(op_from((int)op_b)),
              form_from((int)offset),
              m,
              n,
              k,
              lda,
              ldb,
              ldc,
              alpha,
              beta,
              ao,
              bo,
              a,
              b,
              c,
              co};
    if (!gemm_settings_exist(caller, (int)layout, (int)op_a, (int)op_b)) return;
    if (x.offset == NO_FORM) {
        blas_report_setting(caller, 4, "OffsetC", (int)offset);
        return;
    }
    if (rows) {
        EXCHANGE(int, x.op_a, x.op_b);
        EXCHANGE(integer, x.m, x.n);
        EXCHANGE(integer, x.lda, x.ldb);
        EXCHANGE(int, x.ao, x.bo);
        EXCHANGE(const void *, x.a, x.b);
        if (x.offset != FIXED) x.offset = x.offset == BY_ROW ? BY_COLUMN : BY_ROW;
    }
    run(&x);
}

SPELL(gemm_s8u8s32);
