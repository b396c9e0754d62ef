/* complex.c - level 3 of c and z of libtilewright_blas.so, by every name, side, triangle and op: exact on small
 * integers, within the bounds of tilewright_blas.h on random numbers. What no routine may read is NaN: the other
 * triangle, a unit diagonal, the imaginary parts of a Hermitian matrix's diagonal. What it may not write stays. */
#include "no_memory.h" /* first */

#include "../support/tap.h"
#include "brings.h"
#include "child.h"
#include "heard.h"

#include <complex.h>
#include <math.h>

#ifndef CMPLX /* glibc defines it for gcc alone */
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

typedef double complex number;
typedef long double complex exact;

typedef enum routine { GEMM, GEMMTR, SYRK, HERK, SYR2K, HER2K, SYMM, HEMM, TRMM, TRSM, ROUTINES } routine;
static const char *const names[] = {"gemm", "gemmtr", "syrk", "herk", "syr2k", "her2k", "symm", "hemm", "trmm", "trsm"};
typedef enum way { FORTRAN, C_COLUMNS, C_ROWS, WAYS } way;
static const char *const way_names[] = {"fortran", "cblas_columns", "cblas_rows"};

typedef struct call {
    routine routine;
    way way;
    bool is_f32;
    int m, n, k;
    number alpha, beta;
    char side, uplo, op_a, op_b, diag; /* Fortran's letters */
} call;

static bool is_rank(const call *x) { return x->routine >= GEMMTR && x->routine <= HER2K; }
static bool is_two(const call *x) { return x->routine == SYR2K || x->routine == HER2K; }
static bool is_square(const call *x) { return x->routine >= SYMM; } /* one operand is: A */
static bool is_triangular(const call *x) { return x->routine >= TRMM; }
static bool is_hermitian(const call *x) { return x->routine == HERK || x->routine == HER2K || x->routine == HEMM; }
static bool has_ops(const call *x) { return x->routine == GEMM || x->routine == GEMMTR; }
static bool inside(char uplo, int i, int j) { return uplo == 'L' ? j <= i : j >= i; }

/* ---- matrices as BLAS sees them ---- */

typedef struct matrix {
    bool is_f32, by_rows;
    int rows, cols, ld;
    size_t bytes;
    void *data;
} matrix;

static matrix matrix_new(const call *x, int rows, int cols, int padding)
{
    matrix made = {x->is_f32, x->way == C_ROWS, rows, cols, 0, 0, NULL};
    const int across = made.by_rows ? cols : rows, lines = made.by_rows ? rows : cols;
    made.ld = (across > 1 ? across : 1) + padding;
    made.bytes = (size_t)made.ld * (size_t)lines * (x->is_f32 ? 8 : 16);
    made.data = malloc(made.bytes + 16);
    if (made.data == NULL) exit(5);
    memset(made.data, 0xff, made.bytes); /* all bits 1: a NaN in both types */
    return made;
}

static size_t place(const matrix *x, int i, int j)
{
    return x->by_rows ? (size_t)i * (size_t)x->ld + (size_t)j : (size_t)j * (size_t)x->ld + (size_t)i;
}

static number get(const matrix *x, int i, int j)
{
    const size_t at = 2 * place(x, i, j);
    const float *f = x->data;
    const double *d = x->data;
    return x->is_f32 ? CMPLX((double)f[at], (double)f[at + 1]) : CMPLX(d[at], d[at + 1]);
}

static void put(matrix *x, int i, int j, number value)
{
    const size_t at = 2 * place(x, i, j);
    float *f = x->data;
    double *d = x->data;
    if (x->is_f32)
        f[at] = (float)creal(value), f[at + 1] = (float)cimag(value);
    else
        d[at] = creal(value), d[at + 1] = cimag(value);
}

static unsigned seed;

static double draw(bool random)
{
    seed = seed * 1664525u + 1013904223u;
    return random ? (double)(float)((double)(seed >> 8) / 0x1p23 - 1)
                  : (double)(seed >> 16) - 7 * (double)((seed >> 16) / 7) - 3;
}

static number draw_number(bool random)
{
    const double re = draw(random);
    return CMPLX(re, draw(random));
}

/* ---- dense matrices of what must come out ---- */

typedef struct dense {
    int rows, cols;
    number *at;
} dense;

static dense dense_new(int rows, int cols)
{
    dense x = {rows, cols, calloc((size_t)rows * (size_t)cols + 1, sizeof *x.at)};
    if (x.at == NULL) exit(5);
    return x;
}

static number *of(const dense *x, int i, int j) { return &x->at[(size_t)i * (size_t)x->cols + (size_t)j]; }

/* op(X) into `to`, whose column j0 it begins at, or row i0. */
static void open_into(const dense *to, int i0, int j0, const matrix *x, char op)
{
    for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->cols; j++) {
            const number value = op == 'C' || op == 'R' ? conj(get(x, i, j)) : get(x, i, j);
            const bool stays = op == 'N' || op == 'R';
            *of(to, i0 + (stays ? i : j), j0 + (stays ? j : i)) = value;
        }
}

/* All of a symmetric or Hermitian matrix, or op of a triangular one with its zeros and ones. */
static dense whole(const call *x, const matrix *a)
{
    const dense all = dense_new(a->rows, a->rows);
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < a->rows; j++) {
            const bool there = inside(x->uplo, i, j);
            number value = there ? get(a, i, j) : is_triangular(x) ? 0 : get(a, j, i);
            if (is_hermitian(x)) value = i == j ? CMPLX(creal(value), 0) : there ? value : conj(value);
            if (is_triangular(x) && i == j && x->diag == 'U') value = 1;
            const bool flips = is_triangular(x) && x->op_a != 'N';
            *of(&all, flips ? j : i, flips ? i : j) = is_triangular(x) && x->op_a == 'C' ? conj(value) : value;
        }
    return all;
}

static char other_op(const call *x, char op) /* of the second factor of A op(A)^T */
{
    const char turned = is_hermitian(x) ? 'C' : 'T';
    return op == 'N' ? turned : 'N';
}

/* The product that the call is, but for alpha and beta. other: what a square A is multiplied with. her2k's alpha is
 * conjugated in its second half, so it stands in the factors. */
static void factors(const call *x, const matrix *a, const matrix *b, const matrix *other, dense *left, dense *right)
{
    if (is_square(x)) {
        const dense square = whole(x, a), rest = dense_new(other->rows, other->cols);
        open_into(&rest, 0, 0, other, 'N');
        *left = x->side == 'L' ? square : rest, *right = x->side == 'L' ? rest : square;
        return;
    }
    const int rows = is_rank(x) ? x->n : x->m, depth = is_two(x) ? 2 * x->k : x->k;
    *left = dense_new(rows, depth), *right = dense_new(depth, x->n);
    open_into(left, 0, 0, a, x->op_a);
    open_into(right, 0, 0, is_two(x) || has_ops(x) ? b : a, has_ops(x) ? x->op_b : other_op(x, x->op_a));
    if (!is_two(x)) return;
    open_into(left, 0, x->k, b, x->op_a);
    open_into(right, x->k, 0, a, other_op(x, x->op_a));
}

static number alpha_at(const call *x, int p) { return x->routine == HER2K && p >= x->k ? conj(x->alpha) : x->alpha; }

/* alpha times element i, j of left times right. */
static exact product_at(const call *x, const dense *left, const dense *right, int i, int j)
{
    exact sum = 0;
    for (int p = 0; p < left->cols; p++)
        sum += (exact)alpha_at(x, p) * ((exact)*of(left, i, p) * (exact)*of(right, p, j));
    return sum;
}

static number product_of_integers(const call *x, const dense *left, const dense *right, int i, int j)
{
    number sum[2] = {0, 0};
    for (int p = 0; p < left->cols; p++) sum[is_two(x) && p >= x->k] += *of(left, i, p) * *of(right, p, j);
    return x->alpha * sum[0] + alpha_at(x, x->k) * sum[1];
}

/* The bounds of tilewright_blas.h, for c and z. */
static bool is_near(const call *x, const dense *left, const dense *right, int i, int j, number made, number old)
{
    const int order = x->side == 'L' ? x->m : x->n;
    int blocks = 1;
    for (int q = order; q > 32; q = (q + 1) / 2) blocks++;
    const int roundings = x->routine == TRSM   ? 4 * order + 16
                          : x->routine == TRMM ? 4 * order + 4
                          : is_square(x)       ? 2 * order + 4 + 2 * blocks
                          : is_two(x)          ? 2 * x->k + 6
                                               : 2 * x->k + 4,
              of_old = is_square(x) ? 2 + 2 * blocks
                       : is_two(x)  ? 6
                                    : 4;
    const long double u = x->is_f32 ? 0x1p-24L : 0x1p-53L, g = roundings * u / (1 - roundings * u),
                      g_old = of_old * u / (1 - of_old * u), slack = 1 + 0x1p-9L;
    long double same = 0, cross = 0, size = 0; /* sums of magnitudes for one part, and for the other */
    exact sum = 0;
    for (int p = 0; p < left->cols; p++) {
        const number l = *of(left, i, p), r = *of(right, p, j);
        same += fabsl((long double)creal(l) * (long double)creal(r)) +
                fabsl((long double)cimag(l) * (long double)cimag(r));
        cross += fabsl((long double)creal(l) * (long double)cimag(r)) +
                 fabsl((long double)cimag(l) * (long double)creal(r));
        sum += (exact)l * (exact)r;
        if (x->routine == TRSM) size += cabsl((exact)l * (exact)r);
    }
    if (x->routine == TRSM) {
        const exact wanted = (exact)x->alpha * (exact)old;
        return cabsl(sum - wanted) <= slack * 2 * g * (size + cabsl(wanted));
    }
    const exact from_old = is_triangular(x) || x->beta == 0 ? 0 : (exact)x->beta * (exact)old,
                wrong = (exact)made - (product_at(x, left, right, i, j) + from_old);
    const long double re = fabsl((long double)creal(x->alpha)), im = fabsl((long double)cimag(x->alpha)),
                      old_re = fabsl((long double)(creal(x->beta) * creal(old))) +
                               fabsl((long double)(cimag(x->beta) * cimag(old))),
                      old_im = fabsl((long double)(creal(x->beta) * cimag(old))) +
                               fabsl((long double)(cimag(x->beta) * creal(old)));
    const bool adds = from_old != 0;
    return fabsl(creall(wrong)) <= slack * (g * (re * same + im * cross) + (adds ? g_old * old_re : 0)) &&
           fabsl(cimagl(wrong)) <= slack * (g * (re * cross + im * same) + (adds ? g_old * old_im : 0));
}

/* ---- one call ---- */

#define LAYOUT (x->way == C_ROWS ? CblasRowMajor : CblasColMajor)
#define SIDE   (x->side == 'L' ? CblasLeft : CblasRight)
#define UPLO   (x->uplo == 'L' ? CblasLower : CblasUpper)
#define DIAG   (x->diag == 'N' ? CblasNonUnit : CblasUnit)
#define OP(op) ((op) == 'N' ? CblasNoTrans : (op) == 'T' ? CblasTrans : CblasConjTrans)

/* One of the three ways to call a routine: its arguments from Fortran, and from C. */
#define BY_NAME(s, routine_, from_fortran, from_c)                                                                     \
    if (x->way == FORTRAN)                                                                                             \
        s##routine_##_ from_fortran;                                                                                   \
    else                                                                                                               \
        cblas_##s##routine_ from_c;                                                                                    \
    break

/* C: what is written; of trmm and trsm the B of BLAS. */
#define MAKE(real, s)                                                                                                  \
    static void make_##s(const call *x, const matrix *a, const matrix *b, matrix *c)                                   \
    {                                                                                                                  \
        const real alpha[2] = {(real)creal(x->alpha), (real)cimag(x->alpha)},                                          \
                   beta[2] = {(real)creal(x->beta), (real)cimag(x->beta)};                                             \
        const void *at_a = a->data, *at_b = b->data;                                                                   \
        const char side = x->side, uplo = x->uplo, op_a = x->op_a, op_b = x->op_b, diag = x->diag;                     \
        const int m = x->m, n = x->n, k = x->k, lda = a->ld, ldb = b->ld, ldc = c->ld;                                 \
        void *at_c = c->data;                                                                                          \
        switch (x->routine) {                                                                                          \
        case GEMM:                                                                                                     \
            BY_NAME(s, gemm, (&op_a, &op_b, &m, &n, &k, alpha, at_a, &lda, at_b, &ldb, beta, at_c, &ldc),              \
                    (LAYOUT, OP(op_a), OP(op_b), m, n, k, alpha, at_a, lda, at_b, ldb, beta, at_c, ldc));              \
        case GEMMTR:                                                                                                   \
            BY_NAME(s, gemmtr, (&uplo, &op_a, &op_b, &n, &k, alpha, at_a, &lda, at_b, &ldb, beta, at_c, &ldc),         \
                    (LAYOUT, UPLO, OP(op_a), OP(op_b), n, k, alpha, at_a, lda, at_b, ldb, beta, at_c, ldc));           \
        case SYRK:                                                                                                     \
            BY_NAME(s, syrk, (&uplo, &op_a, &n, &k, alpha, at_a, &lda, beta, at_c, &ldc),                              \
                    (LAYOUT, UPLO, OP(op_a), n, k, alpha, at_a, lda, beta, at_c, ldc));                                \
        case HERK:                                                                                                     \
            BY_NAME(s, herk, (&uplo, &op_a, &n, &k, alpha, at_a, &lda, beta, at_c, &ldc),                              \
                    (LAYOUT, UPLO, OP(op_a), n, k, alpha[0], at_a, lda, beta[0], at_c, ldc));                          \
        case SYR2K:                                                                                                    \
            BY_NAME(s, syr2k, (&uplo, &op_a, &n, &k, alpha, at_a, &lda, at_b, &ldb, beta, at_c, &ldc),                 \
                    (LAYOUT, UPLO, OP(op_a), n, k, alpha, at_a, lda, at_b, ldb, beta, at_c, ldc));                     \
        case HER2K:                                                                                                    \
            BY_NAME(s, her2k, (&uplo, &op_a, &n, &k, alpha, at_a, &lda, at_b, &ldb, beta, at_c, &ldc),                 \
                    (LAYOUT, UPLO, OP(op_a), n, k, alpha, at_a, lda, at_b, ldb, beta[0], at_c, ldc));                  \
        case SYMM:                                                                                                     \
            BY_NAME(s, symm, (&side, &uplo, &m, &n, alpha, at_a, &lda, at_b, &ldb, beta, at_c, &ldc),                  \
                    (LAYOUT, SIDE, UPLO, m, n, alpha, at_a, lda, at_b, ldb, beta, at_c, ldc));                         \
        case HEMM:                                                                                                     \
            BY_NAME(s, hemm, (&side, &uplo, &m, &n, alpha, at_a, &lda, at_b, &ldb, beta, at_c, &ldc),                  \
                    (LAYOUT, SIDE, UPLO, m, n, alpha, at_a, lda, at_b, ldb, beta, at_c, ldc));                         \
        case TRMM:                                                                                                     \
            BY_NAME(s, trmm, (&side, &uplo, &op_a, &diag, &m, &n, alpha, at_a, &lda, at_c, &ldc),                      \
                    (LAYOUT, SIDE, UPLO, OP(op_a), DIAG, m, n, alpha, at_a, lda, at_c, ldc));                          \
        default:                                                                                                       \
            BY_NAME(s, trsm, (&side, &uplo, &op_a, &diag, &m, &n, alpha, at_a, &lda, at_c, &ldc),                      \
                    (LAYOUT, SIDE, UPLO, OP(op_a), DIAG, m, n, alpha, at_a, lda, at_c, ldc));                          \
        }                                                                                                              \
    }

MAKE(float, c)
MAKE(double, z)

/* How a call is judged. */
typedef struct judging {
    bool random, without_memory;
    int padding;
    size_t off; /* bytes that operands lie beside their alignment */
} judging;

static void make(const call *x, const judging *how, matrix *a, matrix *b, matrix *c)
{
    matrix *const moved[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        char *to = (char *)moved[i]->data + how->off;
        memmove(to, moved[i]->data, moved[i]->bytes), moved[i]->data = to;
    }
    heard.calls = 0;
    no_memory = how->without_memory;
    (x->is_f32 ? make_c : make_z)(x, a, b, c);
    no_memory = false;
    for (int i = 0; i < 3; i++) {
        char *back = (char *)moved[i]->data - how->off;
        memmove(back, moved[i]->data, moved[i]->bytes), moved[i]->data = back;
    }
}

/* Numbers where the routine reads. The diagonal of a solve has quotients that are exact. */
static void fill(const call *x, matrix *a, bool random)
{
    static const number diagonal[] = {1, CMPLX(0, -1), CMPLX(1, 1), CMPLX(-2, 1), CMPLX(0, 2), CMPLX(1, -2)};
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < a->cols; j++) {
            number value = draw_number(random);
            if (is_square(x)) {
                if (!inside(x->uplo, i, j) || (i == j && is_triangular(x) && x->diag == 'U')) continue;
                if (x->routine == TRSM && i == j)
                    value = diagonal[i % 6];
                else if (x->routine == TRSM) /* sparse, or small beside the diagonal, so that nothing grows */
                    value = random ? value / 8 : (i * 7 + j) % 11 == 0 ? value : 0;
                if (x->routine == HEMM && i == j) value = CMPLX(creal(value), (double)NAN);
            }
            put(a, i, j, value);
        }
}

/* C before the call: NaN where it is not read, and where only the imaginary part is not. */
static void fill_c(const call *x, matrix *c, bool random)
{
    if (is_triangular(x) ? x->alpha == 0 : x->beta == 0) return;
    for (int i = 0; i < c->rows; i++)
        for (int j = 0; j < c->cols; j++) {
            number value = draw_number(random);
            if (is_rank(x) && !inside(x->uplo, i, j)) continue;
            if (is_rank(x) && is_hermitian(x) && i == j) value = CMPLX(creal(value), (double)NAN);
            put(c, i, j, value);
        }
}

static matrix operand(const call *x, char op, int rows, int cols, int padding)
{
    return op == 'N' ? matrix_new(x, rows, cols, padding) : matrix_new(x, cols, rows, padding);
}

static bool same_number(number x, number y) { return creal(x) == creal(y) && cimag(x) == cimag(y); }

static bool reads(const call *x) { return x->alpha != 0 && (is_square(x) || x->k > 0); }

/* C as the call must leave it, or, of a solve of integers, as it must find it. */
static number expected_at(const call *x, const dense *left, const dense *right, int i, int j, number old)
{
    const bool diagonal = is_rank(x) && is_hermitian(x) && i == j;
    number value = reads(x) ? product_of_integers(x, left, right, i, j) : 0;
    if (diagonal) old = CMPLX(creal(old), 0);
    if (!is_triangular(x) && x->beta != 0) value += x->beta * old;
    return diagonal ? CMPLX(creal(value), 0) : value;
}

static bool judge(const call *x, const judging *how, const matrix *c, const matrix *kept, const dense *left,
                  const dense *right, const dense *old, const dense *expected, char why[160])
{
    const size_t bytes = x->is_f32 ? 8 : 16;
    const bool stays = !is_triangular(x) && !reads(x) && x->beta == 1; /* the imaginary parts of a diagonal too */
    for (int i = 0; !stays && i < c->rows; i++)
        for (int j = 0; j < c->cols; j++) {
            if (is_rank(x) && !inside(x->uplo, i, j)) continue;
            const number made = get(c, i, j), wanted = *of(expected, i, j);
            const bool diagonal = is_rank(x) && is_hermitian(x) && i == j;
            number before = *of(old, i, j);
            if (diagonal) before = CMPLX(creal(before), 0);
            const bool good = how->random
                                  ? is_near(x, left, right, i, j, made, before) && !(diagonal && cimag(made) != 0)
                                  : same_number(made, wanted);
            if (!good) {
                snprintf(why, 160, "element %d, %d is %g%+gi, expected %g%+gi", i, j, creal(made), cimag(made),
                         creal(wanted), cimag(wanted));
                return false;
            }
            memcpy((char *)kept->data + place(c, i, j) * bytes, (char *)c->data + place(c, i, j) * bytes, bytes);
        }
    if (memcmp(c->data, kept->data, c->bytes) == 0) return true;
    snprintf(why, 160, "what is not to be written was written");
    return false;
}

static bool right(const call *x, const judging *how, char why[160])
{
    const int order = x->side == 'L' ? x->m : x->n, height = is_rank(x) ? x->n : x->m;
    matrix a = is_square(x) ? matrix_new(x, order, order, how->padding)
                            : operand(x, x->op_a, height, x->k, how->padding);
    matrix b = is_square(x) ? matrix_new(x, x->m, x->n, 2 * how->padding)
               : has_ops(x) ? operand(x, x->op_b, x->k, x->n, 2 * how->padding)
                            : operand(x, x->op_a, x->n, x->k, 2 * how->padding);
    matrix c = matrix_new(x, height, x->n, 3 * how->padding), kept = c;
    seed = 1;
    if (reads(x)) fill(x, &a, how->random);
    if (reads(x) && is_square(x)) {
        call plain = *x;
        plain.routine = GEMM, fill(&plain, &b, how->random);
    } else if (reads(x)) {
        fill(x, &b, how->random);
    }
    fill_c(x, &c, how->random);
    dense old = dense_new(height, x->n), left = dense_new(height, 0), product = dense_new(0, x->n),
          expected = dense_new(height, x->n);
    open_into(&old, 0, 0, &c, 'N');
    if (reads(x)) free(left.at), free(product.at), factors(x, &a, &b, is_triangular(x) ? &c : &b, &left, &product);
    for (int i = 0; i < height; i++)
        for (int j = 0; j < x->n; j++) {
            if (!how->random && !(is_rank(x) && !inside(x->uplo, i, j)))
                *of(&expected, i, j) = expected_at(x, &left, &product, i, j, *of(&old, i, j));
        }
    for (int i = 0; x->routine == TRSM && reads(x) && !how->random && i < height; i++)
        for (int j = 0; j < x->n; j++) { /* op(A) X is given, and alpha X comes out */
            put(&c, i, j, *of(&expected, i, j) / x->alpha);
            *of(&expected, i, j) = x->alpha * *of(&old, i, j);
        }
    kept.data = malloc(c.bytes + 1);
    if (kept.data == NULL) exit(5);
    memcpy(kept.data, c.data, c.bytes);
    make(x, how, &a, &b, &c);
    bool good = heard.calls == 0;
    if (!good) snprintf(why, 160, "the handler was told: %.40s, %d", heard.routine, heard.number);
    if (good && x->routine == TRSM && how->random && reads(x))
        free(left.at), free(product.at), factors(x, &a, &b, &c, &left, &product); /* with what came out */
    good = good && judge(x, how, &c, &kept, &left, &product, &old, &expected, why);
    if (!good) {
        const size_t used = strlen(why);
        snprintf(why + used, 160 - used, " (%s %c%c%c%c%c m %d n %d k %d alpha %g%+gi beta %g%+gi)", way_names[x->way],
                 x->side, x->uplo, x->op_a, x->op_b, x->diag, x->m, x->n, x->k, creal(x->alpha), cimag(x->alpha),
                 creal(x->beta), cimag(x->beta));
    }
    free(a.data), free(b.data), free(c.data), free(kept.data);
    free(old.at), free(left.at), free(product.at), free(expected.at);
    return good;
}

/* Is the call worth a sanitizer's time? */
static bool brings(const call *x, const judging *how, int setting)
{
    const int size[3] = {x->m, x->n, x->k}, place[3] = {how->padding > 0, (int)how->off, how->without_memory};
    return brings_call(x->routine, x->way, x->is_f32, size, place, setting) |
           tap_brings("scalars %d %g %g %g %g", x->routine, creal(x->alpha), cimag(x->alpha), creal(x->beta),
                      cimag(x->beta));
}

/* Every setting that the routine has. */
static bool right_in_all(call x, const judging how, char why[160])
{
    const bool one_op = is_rank(&x) && !has_ops(&x);
    if (x.routine == HERK) x.alpha = creal(x.alpha);
    if (x.routine == HERK || x.routine == HER2K) x.beta = creal(x.beta);
    for (int bits = 0; bits < 8; bits++)
        for (int ops = 0; ops < 9; ops++) {
            const bool fixed = (bits & 1 && !is_square(&x)) || (bits & 2 && x.routine == GEMM) ||
                               (bits & 4 && !is_triangular(&x)) || (ops > 2 && !has_ops(&x)) ||
                               (ops > 0 && is_square(&x) && !is_triangular(&x)) || (one_op && ops > 1);
            x.side = "LR"[bits & 1], x.uplo = "UL"[bits >> 1 & 1], x.diag = "NU"[bits >> 2];
            x.op_a = one_op && is_hermitian(&x) ? "NC"[ops % 2] : "NTC"[ops % 3], x.op_b = "NTC"[ops / 3];
            if (!fixed && brings(&x, &how, 9 * bits + ops) && !right(&x, &how, why)) return false;
        }
    return true;
}

/* ---- cases ---- */

static void products(routine r)
{
    static const int sizes[][3] = {{1, 1, 1},    {5, 3, 7}, {16, 17, 33}, {13, 25, 300}, {97, 130, 40},
                                   {70, 13, 24}, {0, 4, 3}, {4, 0, 3},    {4, 5, 0},     {3, 7, 1023}};
    static const number scalars[][2] = {
        {1, 0}, {CMPLX(-2, 1), 1}, {CMPLX(0, 1), CMPLX(1, -2)}, {0, 0}, {0, 1}, {0, CMPLX(0, 2)}, {2, CMPLX(0, 1)}};
    for (int is_f32 = 0; is_f32 < 2; is_f32++)
        for (way way = FORTRAN; way < WAYS; way++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                char why[160] = "";
                bool good = true;
                if (!tap.full && sizes[s][1] > 20 && (size_t)way != s % WAYS) continue; /* each in one way */
                if (!tap_case("%s_%s_%s_%dx%dx%d", names[r], is_f32 ? "cf32" : "cf64", way_names[way], sizes[s][0],
                              sizes[s][1], sizes[s][2]))
                    continue;
                for (size_t v = 0; good && v < sizeof scalars / sizeof *scalars; v++) {
                    if (sizes[s][0] > 90 && v > 2) continue;
                    const call x = {
                        r, way, is_f32, sizes[s][0], sizes[s][1], sizes[s][2], scalars[v][0], scalars[v][1], 0, 0,
                        0, 0,   0};
                    good = right_in_all(x, (judging){.padding = v % 2 ? 3 : 0}, why);
                }
                tap_result(good, "%s", why);
            }
}

static void other_ways(routine r)
{
    char why[160] = "";
    const call many = {.routine = r, .way = C_ROWS, .m = 50, .n = 33, .k = 20, .alpha = 2, .beta = CMPLX(-1, 1)};
    if (tap_case("%s_at_odd_addresses", names[r])) {
        call x = many;
        bool good = right_in_all(x, (judging){.padding = 1, .off = 1}, why) &&
                    right_in_all(x, (judging){.padding = 1, .off = 8}, why); /* aligned to one part */
        x.way = C_COLUMNS, x.is_f32 = true, x.beta = 0;
        good = good && right_in_all(x, (judging){.padding = 1, .off = 3}, why) &&
               right_in_all(x, (judging){.padding = 1, .off = 4}, why);
        tap_result(good, "%s", why);
    }
    for (int is_f32 = 0; is_f32 < 2; is_f32++) {
        if (!tap_case("%s_%s_of_random_numbers", names[r], is_f32 ? "cf32" : "cf64")) continue;
        call x = {.routine = r, .way = C_ROWS, .is_f32 = is_f32, .m = 70, .n = 45, .k = 300};
        x.alpha = CMPLX(0.625, -1.375), x.beta = CMPLX(-1.25, 0.3125);
        if (!is_f32) x.alpha = CMPLX(1 + 0x1p-30, -0x1p-31 - 1), x.beta = CMPLX(-1 - 0x1p-40, 0.3);
        bool good = right_in_all(x, (judging){.random = true}, why);
        x.way = FORTRAN, x.m = 7, x.n = 90, x.k = 3;
        good = good && right_in_all(x, (judging){.random = true, .padding = 2}, why);
        x.m = 3, x.n = 4, x.k = 2, x.alpha = 1 - 0x1p-23, x.beta = is_f32 ? 0.75 : -1 - 0x1p-40; /* real, and tiny */
        if (!is_f32) x.alpha = 1 + 0x1p-30;
        good = good && right_in_all(x, (judging){.random = true}, why);
        tap_result(good, "%s", why);
    }
}

/* Matrices of several blocks, by every name and layout, side, triangle and op. The other side of the product is short,
 * so that what must come out is soon computed. */
static void several_blocks(routine r)
{
    enum { SHORT = 3 };
    const int order = r == SYMM || r == HEMM ? 530 : 300; /* up to 512 a symmetric matrix is copied whole */
    for (int is_f32 = 0; is_f32 < 2; is_f32++)
        for (way way = FORTRAN; way < WAYS; way++) {
            char why[160] = "";
            if (!tap_case("%s_%s_%s_of_several_blocks", names[r], is_f32 ? "cf32" : "cf64", way_names[way])) continue;
            call x = {.routine = r, .way = way, .is_f32 = is_f32, .m = SHORT, .n = order, .k = SHORT};
            x.alpha = CMPLX(2, -1), x.beta = CMPLX(1, -2);
            bool good = right_in_all(x, (judging){0}, why);
            x.m = order, x.n = SHORT;
            if (!is_rank(&x)) good = good && right_in_all(x, (judging){.padding = 3}, why);
            tap_result(good, "%s", why);
        }
}

static void special_values(void)
{
    if (tap_case("a_real_alpha_and_beta_keep_infinities")) {
        const double a[2] = {(double)INFINITY, 1}, one[2] = {1, 0}, two[2] = {2, 0};
        double c[2] = {1, -(double)INFINITY};
        cblas_zgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, two, a, 1, one, 1, one, c, 1);
        /* re: inf 1 - 1 0, im: inf 0 + 1 1 is NaN */
        tap_result(isinf(c[0]) && c[0] > 0 && isnan(c[1]), "%g%+gi", c[0], c[1]);
    }
    if (tap_case("an_imaginary_beta_after_no_beta_keeps_old_c")) {
        enum { N = 50, K = 600 }; /* several panels, whose sums must not stand in C then */
        static double a[N * K][2], b[K * N][2], c[N * N][2];
        const double one[2] = {1, 0}, zero[2] = {0, 0}, imaginary[2] = {0, 1};
        int wrong = 0;
        for (int i = 0; i < N * K; i++) a[i][0] = b[i][0] = 1;
        cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, K, one, a, K, b, N, zero, c, N);
        for (int i = 0; i < N * N; i++) c[i][0] = 2, c[i][1] = 3;
        cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, K, one, a, K, b, N, imaginary, c, N);
        for (int i = 0; i < N * N; i++) wrong += c[i][0] != K - 3 || c[i][1] != 2;
        tap_result(wrong == 0, "%d elements", wrong);
    }
    if (tap_case("nan_stays_in_its_row")) {
        static double a[40][2], b[40][2], c[40][2];
        const double one[2] = {1, 0}, zero[2] = {0, 0};
        int wrong = 0;
        for (int i = 0; i < 40; i++) a[i][0] = b[i][0] = 1;
        a[8][1] = (double)NAN; /* row 2 of 10 x 4 by rows */
        cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 10, 4, 4, one, a, 4, b, 4, zero, c, 4);
        for (int i = 0; i < 40; i++) wrong += (isnan(c[i][0]) || isnan(c[i][1])) != (i / 4 == 2);
        tap_result(wrong == 0, "%d elements", wrong);
    }
    if (tap_case("null_operands_are_told_and_not_read_where_alpha_is_0")) {
        double c[2] = {3, 5}, kept[2] = {3, 5};
        const double one[2] = {1, 0}, zero[2] = {0, 0}, imaginary[2] = {0, 1};
        memset(&heard, 0, sizeof heard);
        cblas_zgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, imaginary, NULL, 1, one, 1, one, c, 1);
        const bool told = heard.calls == 1 && memcmp(c, kept, sizeof c) == 0 &&
                          strcmp(heard.text, "cblas_zgemm did nothing: a is NULL\n") == 0;
        cblas_zherk(CblasColMajor, CblasLower, CblasNoTrans, 1, 1, 0, NULL, 1, 2, c, 1);
        cblas_zgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, zero, NULL, 1, NULL, 1, imaginary, c, 1);
        cblas_zgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, zero, NULL, 1, NULL, 1, one, NULL, 1);
        tap_result(told && heard.calls == 1 && c[0] == 0 && c[1] == 6, "%d calls, %s%g%+gi", heard.calls, heard.text,
                   c[0], c[1]);
    }
    if (tap_case("a_diagonal_whose_square_overflows_is_divided_by")) {
        const double one[2] = {1, 0}, a[2] = {0x1p1000, 0x1p1001};
        double x[2] = {0x1p1000 * 5, 0};
        float y[2] = {0x1p100f * 5, 0};
        const float one_f32[2] = {1, 0}, b[2] = {0x1p100f, 0x1p101f};
        cblas_ztrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, 1, one, a, 1, x, 1);
        cblas_ctrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, 1, one_f32, b, 1, y, 1);
        tap_result(x[0] == 1 && x[1] == -2 && y[0] == 1 && y[1] == -2, "%g%+gi and %g%+gi, expected 1-2i", x[0], x[1],
                   (double)y[0], (double)y[1]);
    }
}

/* What the reference refuses: number 2 of the Fortran call. */
static void ops_of_updates(void)
{
    static const struct {
        const char *name;
        CBLAS_LAYOUT layout;
        CBLAS_TRANSPOSE op;
        bool hermitian;
    } cases[] = {{"zsyrk_has_no_conjugate_transpose", CblasColMajor, CblasConjTrans, false},
                 {"zherk_has_no_transpose", CblasColMajor, CblasTrans, true},
                 {"zsyrk_by_rows_has_no_conjugate_transpose", CblasRowMajor, CblasConjTrans, false},
                 {"zherk_by_rows_has_no_transpose", CblasRowMajor, CblasTrans, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double a[2] = {1, 2}, c[2] = {0, 0};
        const double one[2] = {1, 0};
        if (!tap_case("%s", cases[i].name)) continue;
        memset(&heard, 0, sizeof heard);
        if (cases[i].hermitian)
            cblas_zherk(cases[i].layout, CblasLower, cases[i].op, 1, 1, 1, a, 1, 0, c, 1);
        else
            cblas_zsyrk(cases[i].layout, CblasLower, cases[i].op, 1, 1, one, a, 1, one, c, 1);
        const bool told = cases[i].layout == CblasColMajor || strstr(heard.text, "Illegal Trans setting") == heard.text;
        tap_result(told && c[0] == 0 && c[1] == 0 && heard.calls == 1 && heard.number == 3,
                   "%d calls, number %d, %g%+gi", heard.calls, heard.number, c[0], c[1]);
    }
}

/* ---- a process of its own ---- */

static const call *starved; /* what the child below computes */

/* Exit status 0: right, though memory was asked for and refused. */
static int compute_without_memory(void)
{
    char why[160] = "";
    const double one[2] = {1, 0};
    double product[2];
    cblas_zgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, one, one, 1, one, 1, one, product, 1);
    refused = 0;
    const bool good = right_in_all(*starved, (judging){.without_memory = true, .padding = 1}, why) &&
                      right_in_all(*starved, (judging){.without_memory = true, .off = 1}, why);
    fputs(why, stderr);
    return !(good && refused > 0);
}

static void without_memory(routine r)
{
    for (int is_f32 = 0; is_f32 < 2; is_f32++) {
        char said[SAID];
        if (!tap_case("%s_%s_without_memory", names[r], is_f32 ? "cf32" : "cf64")) continue;
        call x = {.routine = r, .way = C_COLUMNS, .is_f32 = is_f32, .m = 90, .n = 50, .k = 300};
        x.alpha = CMPLX(-2, 1), x.beta = CMPLX(0, 1);
        starved = &x;
        const int status = run_with("TILEWRIGHT_THREADS", "1", compute_without_memory, said);
        tap_result(status == 0, "status %d: %s", status, said);
    }
}

static int one_call_each(void)
{
    static double x[128], y[128];
    const double alpha[2] = {2, -1}, beta[2] = {0, 1};
    cblas_zgemm(CblasRowMajor, CblasConjTrans, CblasNoTrans, 2, 3, 1, alpha, x, 4, x, 5, beta, y, 6);
    cblas_zhemm(CblasRowMajor, CblasLeft, CblasUpper, 2, 3, alpha, x, 4, x, 5, beta, y, 6);
    cblas_zherk(CblasRowMajor, CblasLower, CblasConjTrans, 3, 1, 2, x, 4, 0.5, y, 5);
    cblas_zher2k(CblasColMajor, CblasUpper, CblasNoTrans, 3, 1, alpha, x, 4, x, 5, 2, y, 6);
    return 0;
}

static void verbosity(void)
{
    static const char *const lines[] = {
        "tilewright: cblas_zgemm row-major CN m 2 n 3 k 1 lda 4 ldb 5 ldc 6 alpha 2-1i beta 0+1i: ",
        "tilewright: cblas_zhemm row-major LU m 2 n 3 lda 4 ldb 5 ldc 6 alpha 2-1i beta 0+1i: ",
        "tilewright: cblas_zherk row-major LC n 3 k 1 lda 4 ldc 5 alpha 2 beta 0.5: ",
        "tilewright: cblas_zher2k column-major UN n 3 k 1 lda 4 ldb 5 ldc 6 alpha 2-1i beta 2: "};
    char said[SAID];
    if (!tap_case("verbose_prints_a_line_per_call")) return;
    const int status = run_with("TILEWRIGHT_VERBOSE", "1", one_call_each, said);
    bool good = status == 0 && lines_of(said) == 4;
    const char *at = said;
    for (int i = 0; good && i < 4; i++, at = strchr(at, '\n') + 1) good = strncmp(at, lines[i], strlen(lines[i])) == 0;
    tap_result(good, "status %d, said: %s", status, said);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    verbosity(); /* before any other call, as each that a process of its own makes */
    for (routine r = GEMM; r < ROUTINES; r++) without_memory(r);
    for (routine r = GEMM; r < ROUTINES; r++) products(r), other_ways(r), several_blocks(r);
    ops_of_updates();
    special_values();
    return tap_finish();
}
