/* routines.h - a call of any routine under any of its names, what must come out by plain loops on dense matrices, and the
 * verdict. Include no_memory.h before it. */
#ifndef TILEWRIGHT_TESTS_BLAS_ROUTINES_H
#define TILEWRIGHT_TESTS_BLAS_ROUTINES_H

#include "heard.h"
#include "matrix.h"

#include <math.h>

/* ---- one call ---- */

typedef enum routine { SYMM, SYRK, SYR2K, GEMMTR, TRMM, TRSM, ROUTINES } routine;
static const char *const names[] = {"symm", "syrk", "syr2k", "gemmtr", "trmm", "trsm"};

typedef struct call {
    routine routine;
    way way;
    char side, uplo, op_a, op_b, diag; /* Fortran's letters */
    int m, n, k;
    double alpha, beta;
} call;

static int numbered(char letter, const char *letters, int first) { return first + (letter != letters[0]); }

/* C: what is written; of trmm and trsm the B of BLAS. */
static void make(const call *x, const matrix *a, const matrix *b, matrix *c)
{
    const CBLAS_LAYOUT layout = x->way == C_ROWS ? CblasRowMajor : CblasColMajor;
    const CBLAS_SIDE side = (CBLAS_SIDE)numbered(x->side, "LR", CblasLeft);
    const CBLAS_UPLO uplo = (CBLAS_UPLO)numbered(x->uplo, "UL", CblasUpper);
    const CBLAS_DIAG diag = (CBLAS_DIAG)numbered(x->diag, "NU", CblasNonUnit);
    const CBLAS_TRANSPOSE op_a = number_of(x->op_a), op_b = number_of(x->op_b);
#define SYMMETRIC(real, s)                                                                                             \
    if (x->routine == SYMM && x->way == FORTRAN)                                                                       \
        s##symm_(&x->side, &x->uplo, &x->m, &x->n, &alpha, a->data, &a->ld, b->data, &b->ld, &beta, c->data, &c->ld);  \
    else if (x->routine == SYMM)                                                                                       \
        cblas_##s##symm(layout, side, uplo, x->m, x->n, alpha, a->data, a->ld, b->data, b->ld, beta, c->data, c->ld);  \
    else if (x->routine == SYRK && x->way == FORTRAN)                                                                  \
        s##syrk_(&x->uplo, &x->op_a, &x->n, &x->k, &alpha, a->data, &a->ld, &beta, c->data, &c->ld);                   \
    else if (x->routine == SYRK)                                                                                       \
        cblas_##s##syrk(layout, uplo, op_a, x->n, x->k, alpha, a->data, a->ld, beta, c->data, c->ld);                  \
    else if (x->routine == SYR2K && x->way == FORTRAN)                                                                 \
        s##syr2k_(&x->uplo, &x->op_a, &x->n, &x->k, &alpha, a->data, &a->ld, b->data, &b->ld, &beta, c->data, &c->ld); \
    else if (x->routine == SYR2K)                                                                                      \
        cblas_##s##syr2k(layout, uplo, op_a, x->n, x->k, alpha, a->data, a->ld, b->data, b->ld, beta, c->data, c->ld);
#define OTHERS(real, s)                                                                                                \
    else if (x->routine == GEMMTR && x->way == FORTRAN) s##gemmtr_(                                                    \
        &x->uplo, &x->op_a, &x->op_b, &x->n, &x->k, &alpha, a->data, &a->ld, b->data, &b->ld, &beta, c->data, &c->ld); \
    else if (x->routine == GEMMTR) cblas_##s##gemmtr(layout, uplo, op_a, op_b, x->n, x->k, alpha, a->data, a->ld,      \
                                                     b->data, b->ld, beta, c->data, c->ld);                            \
    else if (x->routine == TRMM && x->way == FORTRAN)                                                                  \
        s##trmm_(&x->side, &x->uplo, &x->op_a, &x->diag, &x->m, &x->n, &alpha, a->data, &a->ld, c->data, &c->ld);      \
    else if (x->routine == TRMM)                                                                                       \
        cblas_##s##trmm(layout, side, uplo, op_a, diag, x->m, x->n, alpha, a->data, a->ld, c->data, c->ld);            \
    else if (x->way == FORTRAN)                                                                                        \
        s##trsm_(&x->side, &x->uplo, &x->op_a, &x->diag, &x->m, &x->n, &alpha, a->data, &a->ld, c->data, &c->ld);      \
    else cblas_##s##trsm(layout, side, uplo, op_a, diag, x->m, x->n, alpha, a->data, a->ld, c->data, c->ld);
    if (c->is_f32) {
        const float alpha = (float)x->alpha, beta = (float)x->beta;
        SYMMETRIC(float, s)
        OTHERS(float, s)
    } else {
        const double alpha = x->alpha, beta = x->beta;
        SYMMETRIC(double, d)
        OTHERS(double, d)
    }
}

/* ---- what must come out, by plain loops on dense matrices ---- */

static bool triangular(const call *x) { return x->routine == TRMM || x->routine == TRSM; }
static bool symmetric(const call *x) { return x->routine == SYMM; }
static bool rank(const call *x) { return !triangular(x) && !symmetric(x); }
static bool inside(char uplo, int i, int j) { return uplo == 'L' ? j <= i : j >= i; }

typedef struct dense {
    int rows, cols;
    double *at;
} dense;

static dense dense_new(int rows, int cols)
{
    dense x = {rows, cols, calloc((size_t)rows * (size_t)cols + 1, sizeof *x.at)};
    if (x.at == NULL) exit(5);
    return x;
}

static double *of(const dense *x, int i, int j) { return &x->at[(size_t)i * (size_t)x->cols + (size_t)j]; }

/* op(X) of a whole operand, as a part of `to` that begins at row i0, column j0. */
static void open_into(const dense *to, int i0, int j0, const matrix *x, bool transposes)
{
    for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->cols; j++) *of(to, i0 + (transposes ? j : i), j0 + (transposes ? i : j)) = get(x, i, j);
}

static dense opened(const matrix *x)
{
    const dense all = dense_new(x->rows, x->cols);
    open_into(&all, 0, 0, x, false);
    return all;
}

/* All of a symmetric matrix, or op of a triangular one with its zeros and ones. */
static dense whole(const call *x, const matrix *a)
{
    dense all = dense_new(a->rows, a->rows);
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < a->rows; j++) {
            const bool flips = triangular(x) && x->op_a != 'N', there = inside(x->uplo, i, j);
            double *to = of(&all, flips ? j : i, flips ? i : j);
            if (triangular(x))
                *to = !there ? 0 : i == j && x->diag == 'U' ? 1 : get(a, i, j);
            else
                *to = there ? get(a, i, j) : get(a, j, i);
        }
    return all;
}

/* The product that the call is: left times right. other: what a symmetric or triangular matrix is multiplied with. */
static void factors(const call *x, const matrix *a, const matrix *b, const matrix *other, dense *left, dense *right)
{
    if (!rank(x)) {
        const dense square = whole(x, a), rest = opened(other);
        *left = x->side == 'L' ? square : rest, *right = x->side == 'L' ? rest : square;
        return;
    }
    const bool two = x->routine == SYR2K, transposes = x->op_a != 'N';
    *left = dense_new(x->n, two ? 2 * x->k : x->k), *right = dense_new(two ? 2 * x->k : x->k, x->n);
    open_into(left, 0, 0, a, transposes);
    open_into(right, 0, 0, x->routine == SYRK ? a : b, x->routine == GEMMTR ? x->op_b != 'N' : !transposes);
    if (!two) return;
    open_into(left, 0, x->k, b, transposes);
    open_into(right, x->k, 0, a, !transposes);
}

static dense product(double alpha, const dense *left, const dense *right)
{
    const dense sum = dense_new(left->rows, right->cols);
    for (int i = 0; i < sum.rows; i++)
        for (int p = 0; p < left->cols; p++) {
            const double factor = alpha * *of(left, i, p), *restrict row = of(right, p, 0);
            double *restrict to = of(&sum, i, 0);
            for (int j = 0; j < sum.cols; j++) to[j] += factor * row[j];
        }
    return sum;
}

/* How far row i, column j of left times right may be from what came out: the bounds of tilewright_blas.h. `made` is
 * alpha times the product plus beta times `old`, of a solve the product that is `old` times alpha. */
static bool is_near(const call *x, bool is_f32, const dense *left, const dense *right, int i, int j, double made,
                    double old)
{
    const long double u = is_f32 ? 0x1p-24L : 0x1p-53L, alpha = (long double)x->alpha, beta = (long double)x->beta;
    const int order = x->side == 'L' ? x->m : x->n, steps = left->cols;
    int blocks = 1;
    for (int q = order; q > 32; q = (q + 1) / 2) blocks++;
    const int roundings = triangular(x)  ? 2 * order + 1
                          : symmetric(x) ? order + 2 + blocks
                                         : x->k + (x->routine == SYR2K ? 3 : 2),
              of_old = triangular(x)         ? roundings
                       : symmetric(x)        ? 1 + blocks
                       : x->routine == SYR2K ? 3
                                             : 2;
    long double sum = 0, size = 0;
    for (int p = 0; p < steps; p++) {
        const long double term = (long double)*of(left, i, p) * (long double)*of(right, p, j);
        sum += term, size += fabsl(term);
    }
    const long double
        g = roundings * u / (1 - roundings * u),
        g_old = of_old * u / (1 - of_old * u),
        slack = 1 + 0x1p-10L; /* the sums here round as often, by 2^-11 of u at most (long double has 64 bits) */
    if (x->routine == TRSM)
        return fabsl(sum - alpha * (long double)old) <= slack * g * (size + fabsl(alpha * (long double)old));
    const long double from_old = triangular(x) || x->beta == 0 ? 0 : beta * (long double)old;
    return fabsl((long double)made - (alpha * sum + from_old)) <=
           slack * (g * fabsl(alpha) * size + g_old * fabsl(from_old));
}

/* Integers from -4 to 4 where the routine reads; the diagonal of a solve 1, -1, 2 or -2. random: anything from -1 to 1,
 * and small beside the diagonal of a solve. */
static void fill_triangle(const call *x, matrix *a, bool random)
{
    matrix all = matrix_new(a->is_f32, a->by_rows, a->rows, a->cols, 0);
    (random ? fill_random : fill)(&all, 1);
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < a->cols; j++) {
            double value = get(&all, i, j);
            if (x->routine == TRSM && i == j)
                value = (i % 2 ? -1 : 1) * (1 + i / 2 % 2);
            else if (x->routine == TRSM)
                value = random ? value / 8 : value > 2 ? 1 : value < -2 ? -1 : 0;
            if (inside(x->uplo, i, j) && !(i == j && triangular(x) && x->diag == 'U')) put(a, i, j, value);
        }
    free(all.data);
}

/* How a call is judged. */
typedef struct way_of_judging {
    bool is_f32, random, without_memory;
    int padding;
    size_t off; /* bytes that operands lie beside their alignment */
} judging;

static void call_moved(const call *x, const judging *how, matrix *a, matrix *b, matrix *c)
{
    matrix *const moved[] = {a, b, c};
    for (int i = 0; i < 3; i++)
        memmove((char *)moved[i]->data + how->off, moved[i]->data, moved[i]->bytes),
            moved[i]->data = (char *)moved[i]->data + how->off;
    heard.calls = 0;
    no_memory = how->without_memory;
    make(x, a, b, c);
    no_memory = false;
    for (int i = 0; i < 3; i++)
        moved[i]->data = (char *)moved[i]->data - how->off,
        memmove(moved[i]->data, (char *)moved[i]->data + how->off, moved[i]->bytes);
}

/* The call judged. */
static bool right(const call *x, const judging *how, char why[160])
{
    const bool rows = x->way == C_ROWS, reads = x->alpha != 0 && (!rank(x) || x->k > 0), transposes = x->op_a != 'N',
               is_f32 = how->is_f32;
    const int order = x->side == 'L' ? x->m : x->n, height = rank(x) ? x->n : x->m;
    const size_t bytes = is_f32 ? 4 : 8;
    matrix a = rank(x) ? matrix_new(is_f32, rows, transposes ? x->k : x->n, transposes ? x->n : x->k, how->padding)
                       : matrix_new(is_f32, rows, order, order, how->padding);
    const bool b_flips = x->routine == GEMMTR ? x->op_b == 'N' : transposes;
    matrix b = rank(x) ? matrix_new(is_f32, rows, b_flips ? x->k : x->n, b_flips ? x->n : x->k, 2 * how->padding)
                       : matrix_new(is_f32, rows, x->m, x->n, 2 * how->padding);
    matrix c = matrix_new(is_f32, rows, height, x->n, 3 * how->padding), kept = c;
    if (reads && rank(x)) (how->random ? fill_random : fill)(&a, 1);
    if (reads && !rank(x)) fill_triangle(x, &a, how->random);
    if (reads) (how->random ? fill_random : fill)(&b, 2);
    if (triangular(x) ? x->alpha != 0 : x->beta != 0) {
        matrix all = matrix_new(is_f32, rows, height, x->n, 0);
        (how->random ? fill_random : fill)(&all, 3);
        for (int i = 0; i < height; i++)
            for (int j = 0; j < x->n; j++)
                if (!rank(x) || inside(x->uplo, i, j)) put(&c, i, j, get(&all, i, j));
        free(all.data);
    }
    dense old = opened(&c), left = dense_new(height, 0), right = dense_new(0, x->n);
    if (reads) free(left.at), free(right.at), factors(x, &a, &b, triangular(x) ? &c : &b, &left, &right);
    dense expected = product(x->routine == TRSM ? 1 / x->alpha : x->alpha, &left, &right);
    for (int i = 0; i < height; i++)
        for (int j = 0; j < x->n; j++) {
            double *at = of(&expected, i, j);
            if (x->routine == TRSM && reads && !how->random)
                put(&c, i, j, *at), *at = *of(&old, i, j); /* the product is given, and its old factor comes out */
            else if (!triangular(x) && x->beta != 0)
                *at += x->beta * *of(&old, i, j);
        }
    kept.data = malloc(c.bytes + 8);
    if (kept.data == NULL) exit(5);
    memcpy(kept.data, c.data, c.bytes);
    call_moved(x, how, &a, &b, &c);
    bool good = heard.calls == 0;
    if (!good) snprintf(why, 160, "the handler was told: %s, %d", heard.routine, heard.number);
    if (good && x->routine == TRSM && how->random)
        free(left.at), free(right.at), factors(x, &a, &b, &c, &left, &right); /* with what came out */
    for (int i = 0; good && i < height; i++)
        for (int j = 0; good && j < x->n; j++) {
            if (rank(x) && !inside(x->uplo, i, j)) continue;
            const double made = get(&c, i, j), wanted = *of(&expected, i, j);
            good = how->random ? is_near(x, is_f32, &left, &right, i, j, made, *of(&old, i, j)) : made == wanted;
            if (!good) snprintf(why, 160, "element %d, %d is %g, expected %g", i, j, made, wanted);
            memcpy((char *)c.data + place(&c, i, j) * bytes, (char *)kept.data + place(&c, i, j) * bytes, bytes);
        }
    if (good && memcmp(c.data, kept.data, c.bytes) != 0)
        good = false, snprintf(why, 160, "what is not to be written was written");
    if (!good)
        snprintf(why + strlen(why), 160 - strlen(why), " (%c%c%c%c%c, alpha %g, beta %g, padding %d, %zu bytes off)",
                 x->side, x->uplo, x->op_a, x->op_b, x->diag, x->alpha, x->beta, how->padding, how->off);
    free(a.data), free(b.data), free(c.data), free(kept.data);
    free(expected.at), free(old.at), free(left.at), free(right.at);
    return good;
}

#endif
