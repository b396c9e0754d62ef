/* level3.c - symm, syrk, syr2k, gemmtr, trmm and trsm, and of complex types hemm, herk and her2k, under the names of
 * CBLAS and Fortran: arguments checked as the reference BLAS does, and brought to the forms of blocks.h. */
#include "arguments.h"
#include "blocks.h"
#include "passing.h"
#include "plain.h"
#include "product.h"
#include "spellings.h"

#include <stdio.h>
#include <string.h>

enum { LEFT, RIGHT };
enum { UPPER, LOWER };
enum { NON_UNIT, UNIT };

/* One call. Which settings and operands a routine has stands in its row of `routines`. */
typedef struct call {
    const blas_caller *caller;
    tw_dtype dtype;
    int side, uplo, op_a, op_b, diag; /* LEFT ..., TW_N, TW_T or TW_C, or NONE */
    integer m, n, k;                  /* those that the routine has */
    integer lda, ldb, ldc;
    scalar alpha, beta;
    const void *a, *b;
    void *c; /* of trmm and trsm: what the BLAS calls B */
} call;

typedef struct routine {
    bool side, uplo, op_a, op_b, diag, m, k, b, c;
    bool hermitian;
    bool (*compute)(const call *);
    double (*flops)(const call *);
} routine;

/* ---- what is computed ---- */

static const scalar one = {1, 0};

static matrix columns(const void *at, int64_t rows, int64_t cols, integer ld)
{
    return (matrix){(char *)(uintptr_t)at, rows, cols, ld, true, false};
}

static matrix flip_if(bool flips, matrix x) { return flips ? blas_flip(x) : x; }

/* op(X), which is rows x cols. */
static matrix operand(const void *at, int op, int64_t rows, int64_t cols, integer ld)
{
    const matrix stored = op == TW_N ? columns(at, rows, cols, ld) : blas_flip(columns(at, cols, rows, ld));
    return blas_conjugate_if(op == TW_C, stored);
}

/* On the right, the transposes: C^T = A^T B^T. The transpose of a Hermitian matrix is its conjugate. */
static bool multiply_symmetric(const call *x, bool hermitian)
{
    const integer order = x->side == LEFT ? x->m : x->n;
    const bool flips = x->uplo == UPPER, right = x->side == RIGHT;
    const matrix a = columns(x->a, order, order, x->lda), b = columns(x->b, x->m, x->n, x->ldb),
                 c = columns(x->c, x->m, x->n, x->ldc);
    return blas_symmetric(x->dtype, hermitian, x->alpha,
                          blas_conjugate_if(hermitian && flips != right, flip_if(flips, a)), flip_if(right, b), x->beta,
                          flip_if(right, c));
}

static bool compute_symm(const call *x) { return multiply_symmetric(x, false); }
static bool compute_hemm(const call *x) { return multiply_symmetric(x, true); }

static matrix tall(const call *x, const void *at, integer ld) { return operand(at, x->op_a, x->n, x->k, ld); }

/* The upper triangle as the lower one of C^T. */
static matrix lower_c(const call *x) { return flip_if(x->uplo == UPPER, columns(x->c, x->n, x->n, x->ldc)); }

static bool compute_syrk(const call *x)
{
    const matrix a = tall(x, x->a, x->lda);
    return blas_rank(x->dtype, x->alpha, a, blas_flip(a), x->beta, lower_c(x));
}

static bool compute_syr2k(const call *x)
{
    const matrix a = tall(x, x->a, x->lda), b = tall(x, x->b, x->ldb);
    return blas_rank(x->dtype, x->alpha, a, blas_flip(b), x->beta, lower_c(x)) &&
           (!scalar_is_set(x->alpha) || x->k == 0 || blas_rank(x->dtype, x->alpha, b, blas_flip(a), one, lower_c(x)));
}

/* A Hermitian C^T is conj(C): both operands are conjugated, and alpha. The diagonal is real whatever it was. */
static bool compute_herk(const call *x)
{
    const bool upper = x->uplo == UPPER;
    const matrix a = blas_conjugate_if(upper, tall(x, x->a, x->lda)), c = lower_c(x);
    if (!blas_rank(x->dtype, x->alpha, a, blas_conjugate_if(true, blas_flip(a)), x->beta, c)) return false;
    plain_make_real(x->dtype, &c);
    return true;
}

static bool compute_her2k(const call *x)
{
    const bool upper = x->uplo == UPPER;
    const scalar alpha = upper ? scalar_conjugate(x->alpha) : x->alpha;
    const matrix a = blas_conjugate_if(upper, tall(x, x->a, x->lda)),
                 b = blas_conjugate_if(upper, tall(x, x->b, x->ldb)), c = lower_c(x);
    if (!blas_rank(x->dtype, alpha, a, blas_conjugate_if(true, blas_flip(b)), x->beta, c)) return false;
    if (scalar_is_set(alpha) && x->k > 0 &&
        !blas_rank(x->dtype, scalar_conjugate(alpha), b, blas_conjugate_if(true, blas_flip(a)), one, c))
        return false;
    plain_make_real(x->dtype, &c);
    return true;
}

/* The upper triangle as the lower one of C^T = B^T A^T. */
static bool compute_gemmtr(const call *x)
{
    const matrix a = tall(x, x->a, x->lda), b = operand(x->b, x->op_b, x->k, x->n, x->ldb);
    return x->uplo == LOWER ? blas_rank(x->dtype, x->alpha, a, b, x->beta, lower_c(x))
                            : blas_rank(x->dtype, x->alpha, blas_flip(b), blas_flip(a), x->beta, lower_c(x));
}

/* On the right, the transposes: B^T = op(A)^T B^T. */
static bool compute_triangular(const call *x, bool solves)
{
    const integer order = x->side == LEFT ? x->m : x->n;
    const bool flips = (x->op_a != TW_N) != (x->side == RIGHT);
    const matrix a = blas_conjugate_if(x->op_a == TW_C, columns(x->a, order, order, x->lda));
    const triangle t = {flip_if(flips, a), (x->uplo == LOWER) != flips, x->diag == UNIT};
    return blas_triangular(x->dtype, x->alpha, t, solves, flip_if(x->side == RIGHT, columns(x->c, x->m, x->n, x->ldc)));
}

static bool compute_trmm(const call *x) { return compute_triangular(x, false); }
static bool compute_trsm(const call *x) { return compute_triangular(x, true); }

/* The usual counts, LAPACK working note 41; of complex numbers four times as many. */
static double flops_symm(const call *x)
{
    return 2 * (double)x->m * (double)x->n * (double)(x->side == LEFT ? x->m : x->n);
}
static double flops_rank(const call *x) { return (double)x->n * ((double)x->n + 1) * (double)x->k; }
static double flops_rank2(const call *x) { return 2 * flops_rank(x); }
static double flops_triangular(const call *x) { return flops_symm(x) / 2; }

/* clang-format off */
static const routine
    symm   = {.side = true, .uplo = true, .m = true, .b = true, .c = true,
              .compute = compute_symm, .flops = flops_symm},
    hemm   = {.side = true, .uplo = true, .m = true, .b = true, .c = true, .hermitian = true,
              .compute = compute_hemm, .flops = flops_symm},
    syrk   = {.uplo = true, .op_a = true, .k = true, .c = true,
              .compute = compute_syrk, .flops = flops_rank},
    syr2k  = {.uplo = true, .op_a = true, .k = true, .b = true, .c = true,
              .compute = compute_syr2k, .flops = flops_rank2},
    herk   = {.uplo = true, .op_a = true, .k = true, .c = true, .hermitian = true,
              .compute = compute_herk, .flops = flops_rank},
    her2k  = {.uplo = true, .op_a = true, .k = true, .b = true, .c = true, .hermitian = true,
              .compute = compute_her2k, .flops = flops_rank2},
    gemmtr = {.uplo = true, .op_a = true, .op_b = true, .k = true, .b = true, .c = true,
              .compute = compute_gemmtr, .flops = flops_rank},
    trmm   = {.side = true, .uplo = true, .op_a = true, .diag = true, .m = true,
              .compute = compute_trmm, .flops = flops_triangular},
    trsm   = {.side = true, .uplo = true, .op_a = true, .diag = true, .m = true,
              .compute = compute_trsm, .flops = flops_triangular};
/* clang-format on */

/* ---- checks ---- */

/* Stored rows, column-major. */
static integer rows_of_a(const routine *r, const call *x)
{
    return r->side ? (x->side == LEFT ? x->m : x->n) : x->op_a == TW_N ? x->n : x->k;
}
static integer rows_of_b(const routine *r, const call *x)
{
    return r->m ? x->m : (r->op_b ? x->op_b != TW_N : x->op_a == TW_N) ? x->n : x->k;
}
static integer rows_of_c(const routine *r, const call *x) { return r->m ? x->m : x->n; }

/* The number of the first wrong argument of the Fortran call; 0: none. All routines have theirs in one order: settings,
 * sizes, alpha, A, lda, B, ldb, beta, C, ldc; those with one operand beside A call it B. */
static int first_wrong(const routine *r, const call *x)
{
    int at = 0;
    if (r->side && ++at && x->side == NONE) return at;
    if (r->uplo && ++at && x->uplo == NONE) return at;
    if (r->op_a && ++at && x->op_a == NONE) return at;
    if (r->op_b && ++at && x->op_b == NONE) return at;
    if (r->diag && ++at && x->diag == NONE) return at;
    if (r->m && ++at && x->m < 0) return at;
    if (++at && x->n < 0) return at;
    if (r->k && ++at && x->k < 0) return at;
    at += 3;
    if (x->lda < at_least_1(rows_of_a(r, x))) return at;
    if (r->b && (at += 2) && x->ldb < at_least_1(rows_of_b(r, x))) return at;
    at += r->c ? 3 : 2;
    return x->ldc < at_least_1(rows_of_c(r, x)) ? at : 0;
}

static bool reads(const routine *r, const call *x) { return scalar_is_set(x->alpha) && (!r->k || x->k > 0); }

static bool changes_nothing(const routine *r, const call *x)
{
    return (r->m && x->m == 0) || x->n == 0 || (r->c && !reads(r, x) && scalar_is_one(x->beta));
}

/* The call as it was made. */
static void describe(const routine *r, const call *x, char *text, size_t bytes)
{
    size_t used = 0;
    char alpha[SCALAR_BYTES], beta[SCALAR_BYTES];
    text[0] = '\0';
#define ADD(there, ...)                                                                                                \
    if ((there) && used < bytes) used += (size_t)snprintf(text + used, bytes - used, __VA_ARGS__)
    ADD(r->side, "%c", "LR"[x->side]);
    ADD(r->uplo, "%c", "UL"[x->uplo]);
    ADD(r->op_a, "%c", "NTC"[x->op_a]);
    ADD(r->op_b, "%c", "NTC"[x->op_b]);
    ADD(r->diag, "%c", "NU"[x->diag]);
    ADD(r->m, " m %lld", (long long)x->m);
    ADD(true, " n %lld", (long long)x->n);
    ADD(r->k, " k %lld", (long long)x->k);
    ADD(true, " lda %lld", (long long)x->lda);
    ADD(r->b, " ldb %lld", (long long)x->ldb);
    ADD(true, " ld%c %lld alpha %s", r->c ? 'c' : 'b', (long long)x->ldc,
        blas_scalar_text(alpha, x->alpha.re, x->alpha.im));
    ADD(r->c, " beta %s", blas_scalar_text(beta, x->beta.re, x->beta.im));
#undef ADD
}

/* An op as this routine takes it: of real matrices TW_C is TW_T; a complex symmetric update has no TW_C, a Hermitian
 * one no TW_T. */
static int op_taken(const routine *r, tw_dtype dtype, int op)
{
    if (!blas_is_complex(dtype)) return real_op(op);
    const bool is_rank = r->k && !r->op_b;
    return is_rank && op == (r->hermitian ? TW_T : TW_C) ? NONE : op;
}

/* Which operand is needed and NULL, or longer than memory; NULL: none. given: the call as it was made. */
static const char *unusable(const routine *r, const call *x, const call *given)
{
    const int64_t bytes = blas_bytes(x->dtype),
                  cols = r->side           ? rows_of_a(r, x)
                         : x->op_a == TW_N ? x->k
                                           : x->n,
                  cols_of_b = r->m || rows_of_b(r, x) == x->k ? x->n : x->k;
    if (given->c == NULL) return r->c ? "c is NULL" : "b is NULL";
    if (reads(r, x) && given->a == NULL) return "a is NULL";
    if (reads(r, x) && r->b && given->b == NULL) return "b is NULL";
    return blas_fits(x->n, rows_of_c(r, x), x->ldc, bytes) &&
                   (!reads(r, x) || (blas_fits(cols, rows_of_a(r, x), x->lda, bytes) &&
                                     (!r->b || blas_fits(cols_of_b, rows_of_b(r, x), x->ldb, bytes))))
               ? NULL
               : "an operand spans more bytes than this machine can address";
}

/* x in Fortran's terms; made: as it was made, NULL: the same. */
static void run(const routine *r, call *x, const call *made)
{
    x->op_a = op_taken(r, x->dtype, x->op_a), x->op_b = op_taken(r, x->dtype, x->op_b);
    const int wrong = first_wrong(r, x);
    if (wrong > 0) {
        blas_report(x->caller, wrong);
        return;
    }
    if (changes_nothing(r, x)) return;
    const call *given = made != NULL ? made : x;
    char said[SAID_BYTES] = "";
    const double start_s = blas_start(x->dtype);
    const char *failed = unusable(r, x, given);
    if (failed == NULL && !r->compute(x)) failed = tw_error_text();
    if (start_s > 0) describe(r, given, said, sizeof said);
    blas_finish(x->caller, failed, start_s, (blas_is_complex(x->dtype) ? 4 : 1) * r->flops(x), said, NULL);
}

/* ---- Fortran's settings ---- */

/* 0 or 1: the letter is the first or the second of `letters`, or its small one. */
static int setting(const char *letter, const char *letters)
{
    const int upper = *letter >= 'a' && *letter <= 'z' ? *letter - 'a' + 'A' : *letter;
    return upper == letters[0] ? 0 : upper == letters[1] ? 1 : NONE;
}

/* ---- CBLAS's settings ---- */

static int from(int found, int first, int second) { return found == first ? 0 : found == second ? 1 : NONE; }

static int other(int setting) { return 1 - setting; }
static int other_op(const routine *r, int op) { return op != TW_N ? TW_N : r->hermitian ? TW_C : TW_T; }

/* The column-major call on the same memory, which holds the transposes. */
static call of_columns(const routine *r, call x)
{
    if (r->side) x.side = other(x.side);
    x.uplo = other(x.uplo);
    if (r->m) EXCHANGE(integer, x.m, x.n);
    if (r->op_b) {
        EXCHANGE(int, x.op_a, x.op_b);
        EXCHANGE(integer, x.lda, x.ldb);
        EXCHANGE(const void *, x.a, x.b);
    } else if (r->k) {
        x.op_a = other_op(r, x.op_a);
        if (r->hermitian) x.alpha = scalar_conjugate(x.alpha);
    }
    return x;
}

typedef struct settings {
    int layout, side, uplo, op_a, op_b, diag; /* as the caller gave them */
} settings;

static void run_from_c(const routine *r, const blas_caller callers[2], const settings *s, call *x)
{
    const bool rows = s->layout == CblasRowMajor;
    int at = 1;
    x->caller = &callers[rows];
    x->side = from(s->side, CblasLeft, CblasRight), x->uplo = from(s->uplo, CblasUpper, CblasLower);
    x->op_a = op_from(s->op_a), x->op_b = op_from(s->op_b), x->diag = from(s->diag, CblasNonUnit, CblasUnit);
    if (!rows && s->layout != CblasColMajor) {
        blas_report_setting(x->caller, 1, "layout", s->layout);
        return;
    }
    if (rows && op_taken(r, x->dtype, x->op_a) == NONE) x->op_a = NONE; /* by columns Fortran's check finds it */
    const struct {
        bool there;
        int found, setting;
        const char *name;
    } given[] = {{r->side, x->side, s->side, "Side"},
                 {r->uplo, x->uplo, s->uplo, "Uplo"},
                 {r->op_a, x->op_a, s->op_a, r->diag || r->op_b ? "TransA" : "Trans"},
                 {r->op_b, x->op_b, s->op_b, "TransB"},
                 {r->diag, x->diag, s->diag, "Diag"}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].there && ++at && given[i].found == NONE) {
            blas_report_setting(x->caller, at, given[i].name, given[i].setting);
            return;
        }
    call mapped = rows ? of_columns(r, *x) : *x;
    run(r, &mapped, x);
}

/* ---- names ---- */

/* clang-format off */
#define CALLERS_OF(upper, c_name, ...)                                                                                 \
    static const blas_caller callers[] = {{upper, c_name, true, false, BLAS_WIDE},                                     \
                                          {upper, c_name, true, true, BLAS_WIDE, {__VA_ARGS__}}}

/* type: of the elements; of_alpha, of_beta: of the scalars. */
#define SYMM(routine, type, of_alpha, of_beta, id, upper, lower)                                                       \
    void FORTRAN_NAME(lower)(const char *side, const char *uplo, const integer *m, const integer *n,                   \
                             const NUMBER_##of_alpha *alpha, const NUMBER_##type *a, const integer *lda,               \
                             const NUMBER_##type *b, const integer *ldb, const NUMBER_##of_beta *beta,                 \
                             NUMBER_##type *c, const integer *ldc)                                                     \
    {                                                                                                                  \
        static const blas_caller caller = {upper, STRING(FORTRAN_NAME(lower)), false, false, BLAS_WIDE};               \
        run(&routine, &(call){.caller = &caller, .dtype = id, .side = setting(side, "LR"),                             \
                              .uplo = setting(uplo, "UL"), .m = *m, .n = *n, .lda = *lda, .ldb = *ldb, .ldc = *ldc,    \
                              .alpha = AT_##of_alpha(alpha), .beta = AT_##of_beta(beta), .a = a, .b = b, .c = c},      \
            NULL);                                                                                                     \
    }                                                                                                                  \
    void C_NAME(lower)(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, integer m, integer n,                    \
                       BY_VALUE_##of_alpha alpha, const NUMBER_##type *a, integer lda, const NUMBER_##type *b,         \
                       integer ldb, BY_VALUE_##of_beta beta, NUMBER_##type *c, integer ldc)                            \
    {                                                                                                                  \
        CALLERS_OF(upper, STRING(C_NAME(lower)), 4, 5);                                                                \
        run_from_c(&routine, callers, &(settings){.layout = (int)layout, .side = (int)side, .uplo = (int)uplo},        \
                   &(call){.dtype = id, .m = m, .n = n, .lda = lda, .ldb = ldb, .ldc = ldc,                            \
                           .alpha = VALUE_##of_alpha(alpha), .beta = VALUE_##of_beta(beta), .a = a, .b = b, .c = c});  \
    }

#define SYRK(routine, type, of_alpha, of_beta, id, upper, lower)                                                       \
    void FORTRAN_NAME(lower)(const char *uplo, const char *op, const integer *n, const integer *k,                     \
                             const NUMBER_##of_alpha *alpha, const NUMBER_##type *a, const integer *lda,               \
                             const NUMBER_##of_beta *beta, NUMBER_##type *c, const integer *ldc)                       \
    {                                                                                                                  \
        static const blas_caller caller = {upper, STRING(FORTRAN_NAME(lower)), false, false, BLAS_WIDE};               \
        run(&routine, &(call){.caller = &caller, .dtype = id, .uplo = setting(uplo, "UL"), .op_a = op_of(op), .n = *n, \
                              .k = *k, .lda = *lda, .ldc = *ldc, .alpha = AT_##of_alpha(alpha),                        \
                              .beta = AT_##of_beta(beta), .a = a, .c = c},                                             \
            NULL);                                                                                                     \
    }                                                                                                                  \
    void C_NAME(lower)(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, integer n, integer k,                 \
                       BY_VALUE_##of_alpha alpha, const NUMBER_##type *a, integer lda, BY_VALUE_##of_beta beta,        \
                       NUMBER_##type *c, integer ldc)                                                                  \
    {                                                                                                                  \
        CALLERS_OF(upper, STRING(C_NAME(lower)), 0);                                                                   \
        run_from_c(&routine, callers, &(settings){.layout = (int)layout, .uplo = (int)uplo, .op_a = (int)op},          \
                   &(call){.dtype = id, .n = n, .k = k, .lda = lda, .ldc = ldc, .alpha = VALUE_##of_alpha(alpha),      \
                           .beta = VALUE_##of_beta(beta), .a = a, .c = c});                                            \
    }

#define SYR2K(routine, type, of_alpha, of_beta, id, upper, lower)                                                      \
    void FORTRAN_NAME(lower)(const char *uplo, const char *op, const integer *n, const integer *k,                     \
                             const NUMBER_##of_alpha *alpha, const NUMBER_##type *a, const integer *lda,               \
                             const NUMBER_##type *b, const integer *ldb, const NUMBER_##of_beta *beta,                 \
                             NUMBER_##type *c, const integer *ldc)                                                     \
    {                                                                                                                  \
        static const blas_caller caller = {upper, STRING(FORTRAN_NAME(lower)), false, false, BLAS_WIDE};               \
        run(&routine, &(call){.caller = &caller, .dtype = id, .uplo = setting(uplo, "UL"), .op_a = op_of(op), .n = *n, \
                              .k = *k, .lda = *lda, .ldb = *ldb, .ldc = *ldc, .alpha = AT_##of_alpha(alpha),           \
                              .beta = AT_##of_beta(beta), .a = a, .b = b, .c = c},                                     \
            NULL);                                                                                                     \
    }                                                                                                                  \
    void C_NAME(lower)(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, integer n, integer k,                 \
                       BY_VALUE_##of_alpha alpha, const NUMBER_##type *a, integer lda, const NUMBER_##type *b,         \
                       integer ldb, BY_VALUE_##of_beta beta, NUMBER_##type *c, integer ldc)                            \
    {                                                                                                                  \
        CALLERS_OF(upper, STRING(C_NAME(lower)), 0);                                                                   \
        run_from_c(&routine, callers, &(settings){.layout = (int)layout, .uplo = (int)uplo, .op_a = (int)op},          \
                   &(call){.dtype = id, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc,                            \
                           .alpha = VALUE_##of_alpha(alpha), .beta = VALUE_##of_beta(beta), .a = a, .b = b, .c = c});  \
    }

#define GEMMTR(type, id, upper, lower)                                                                                 \
    void FORTRAN_NAME(lower)(const char *uplo, const char *op_a, const char *op_b, const integer *n,                   \
                             const integer *k, const NUMBER_##type *alpha, const NUMBER_##type *a,                     \
                             const integer *lda, const NUMBER_##type *b, const integer *ldb,                           \
                             const NUMBER_##type *beta, NUMBER_##type *c, const integer *ldc)                          \
    {                                                                                                                  \
        static const blas_caller caller = {upper, STRING(FORTRAN_NAME(lower)), false, false, BLAS_WIDE};               \
        run(&gemmtr, &(call){.caller = &caller, .dtype = id, .uplo = setting(uplo, "UL"), .op_a = op_of(op_a),         \
                             .op_b = op_of(op_b), .n = *n, .k = *k, .lda = *lda, .ldb = *ldb, .ldc = *ldc,             \
                             .alpha = AT_##type(alpha), .beta = AT_##type(beta), .a = a, .b = b, .c = c}, NULL);       \
    }                                                                                                                  \
    void C_NAME(lower)(CBLAS_LAYOUT layout, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, integer n,    \
                       integer k, BY_VALUE_##type alpha, const NUMBER_##type *a, integer lda, const NUMBER_##type *b,  \
                       integer ldb, BY_VALUE_##type beta, NUMBER_##type *c, integer ldc)                               \
    {                                                                                                                  \
        CALLERS_OF(upper, STRING(C_NAME(lower)), 9, 11);                                                               \
        run_from_c(&gemmtr, callers,                                                                                   \
                   &(settings){.layout = (int)layout, .uplo = (int)uplo, .op_a = (int)op_a, .op_b = (int)op_b},        \
                   &(call){.dtype = id, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc,                            \
                           .alpha = VALUE_##type(alpha), .beta = VALUE_##type(beta), .a = a, .b = b, .c = c});         \
    }

#define TRIANGULAR(routine, type, id, upper, lower)                                                                    \
    void FORTRAN_NAME(lower)(const char *side, const char *uplo, const char *op, const char *diag, const integer *m,   \
                             const integer *n, const NUMBER_##type *alpha, const NUMBER_##type *a,                     \
                             const integer *lda, NUMBER_##type *b, const integer *ldb)                                 \
    {                                                                                                                  \
        static const blas_caller caller = {upper, STRING(FORTRAN_NAME(lower)), false, false, BLAS_WIDE};               \
        run(&routine, &(call){.caller = &caller, .dtype = id, .side = setting(side, "LR"),                             \
                              .uplo = setting(uplo, "UL"), .op_a = op_of(op), .diag = setting(diag, "NU"), .m = *m,    \
                              .n = *n, .lda = *lda, .ldc = *ldb, .alpha = AT_##type(alpha), .a = a, .c = b}, NULL);    \
    }                                                                                                                  \
    void C_NAME(lower)(CBLAS_LAYOUT layout, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, CBLAS_DIAG diag,     \
                       integer m, integer n, BY_VALUE_##type alpha, const NUMBER_##type *a, integer lda,               \
                       NUMBER_##type *b, integer ldb)                                                                  \
    {                                                                                                                  \
        CALLERS_OF(upper, STRING(C_NAME(lower)), 6, 7);                                                                \
        run_from_c(&routine, callers,                                                                                  \
                   &(settings){.layout = (int)layout, .side = (int)side, .uplo = (int)uplo, .op_a = (int)op,           \
                               .diag = (int)diag},                                                                     \
                   &(call){.dtype = id, .m = m, .n = n, .lda = lda, .ldc = ldb, .alpha = VALUE_##type(alpha), .a = a,  \
                           .c = b});                                                                                   \
    }

#define ENTRIES(type, id, S, s)                                                                                        \
    SYMM(symm, type, type, type, id, #S "SYMM ", s##symm)                                                              \
    SYRK(syrk, type, type, type, id, #S "SYRK ", s##syrk)                                                              \
    SYR2K(syr2k, type, type, type, id, #S "SYR2K", s##syr2k)                                                           \
    GEMMTR(type, id, #S "GEMMTR", s##gemmtr)                                                                           \
    TRIANGULAR(trmm, type, id, #S "TRMM ", s##trmm)                                                                    \
    TRIANGULAR(trsm, type, id, #S "TRSM ", s##trsm)
#define HERMITIAN_ENTRIES(type, part, id, S, s)                                                                        \
    SYMM(hemm, type, type, type, id, #S "HEMM ", s##hemm)                                                              \
    SYRK(herk, type, part, part, id, #S "HERK ", s##herk)                                                              \
    SYR2K(her2k, type, type, part, id, #S "HER2K", s##her2k)
/* clang-format on */

#define SPELL_ALL(s)                                                                                                   \
    SPELL(s##symm);                                                                                                    \
    SPELL(s##syrk);                                                                                                    \
    SPELL(s##syr2k);                                                                                                   \
    SPELL(s##gemmtr);                                                                                                  \
    SPELL(s##trmm);                                                                                                    \
    SPELL(s##trsm)
#define SPELL_HERMITIAN(s)                                                                                             \
    SPELL(s##hemm);                                                                                                    \
    SPELL(s##herk);                                                                                                    \
    SPELL(s##her2k)

ENTRIES(f32, TW_F32, S, s)
ENTRIES(f64, TW_F64, D, d)
ENTRIES(cf32, TW_CF32, C, c)
ENTRIES(cf64, TW_CF64, Z, z)
HERMITIAN_ENTRIES(cf32, f32, TW_CF32, C, c)
HERMITIAN_ENTRIES(cf64, f64, TW_CF64, Z, z)
SPELL_ALL(s);
SPELL_ALL(d);
SPELL_ALL(c);
SPELL_ALL(z);
SPELL_HERMITIAN(c);
SPELL_HERMITIAN(z);
