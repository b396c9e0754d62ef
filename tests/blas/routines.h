/* routines.h - a call of any routine under any of its names, what must come out by plain loops on dense matrices, and
 * the verdict. Include no_memory.h before it. */
#ifndef TILEWRIGHT_TESTS_BLAS_ROUTINES_H
#define TILEWRIGHT_TESTS_BLAS_ROUTINES_H

#include "heard.h"
#include "matrix.h"

#include <math.h>

/* ---- one call ---- */

typedef enum routine { SYMM, SYRK, SYR2K, GEMMTR, TRMM, TRSM, GEMM, ROUTINES } routine;
static const char *const names[] = {"symm", "syrk", "syr2k", "gemmtr", "trmm", "trsm", "gemm"};

typedef struct call {
    routine routine;
    way way;
    char side, uplo, op_a, op_b, diag; /* Fortran's letters */
    int m, n, k;
    double alpha, beta;
} call;

static inline int numbered(char letter, const char *letters, int first) { return first + (letter != letters[0]); }

/* C: what is written; of trmm and trsm the B of BLAS. */
static inline void make(const call *x, const matrix *a, const matrix *b, matrix *c)
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
    else if (x->routine == TRSM && x->way == FORTRAN)                                                                  \
        s##trsm_(&x->side, &x->uplo, &x->op_a, &x->diag, &x->m, &x->n, &alpha, a->data, &a->ld, c->data, &c->ld);      \
    else if (x->routine == TRSM)                                                                                       \
        cblas_##s##trsm(layout, side, uplo, op_a, diag, x->m, x->n, alpha, a->data, a->ld, c->data, c->ld);            \
    else if (x->way == FORTRAN) s##gemm_(&x->op_a, &x->op_b, &x->m, &x->n, &x->k, &alpha, a->data, &a->ld, b->data,    \
                                         &b->ld, &beta, c->data, &c->ld);                                              \
    else cblas_##s##gemm(layout, op_a, op_b, x->m, x->n, x->k, alpha, a->data, a->ld, b->data, b->ld, beta, c->data,   \
                         c->ld);
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

static inline bool triangular(const call *x) { return x->routine == TRMM || x->routine == TRSM; }
static inline bool symmetric(const call *x) { return x->routine == SYMM; }
static inline bool rank(const call *x) { return !triangular(x) && !symmetric(x); } /* op(A) times op(B), or A times A */
static inline bool square(const call *x) { return rank(x) && x->routine != GEMM; } /* and of C one triangle */
static inline int height_of(const call *x) { return square(x) ? x->n : x->m; }
static inline bool own_op_b(const call *x) { return x->routine == GEMMTR || x->routine == GEMM; }
static inline bool inside(char uplo, int i, int j) { return uplo == 'L' ? j <= i : j >= i; }

typedef struct dense {
    int rows, cols;
    double *at;
} dense;

static inline dense dense_new(int rows, int cols)
{
    dense x = {rows, cols, calloc((size_t)rows * (size_t)cols + 1, sizeof *x.at)};
    if (x.at == NULL) exit(5);
    return x;
}

static inline double *of(const dense *x, int i, int j) { return &x->at[(size_t)i * (size_t)x->cols + (size_t)j]; }

/* op(X) of a whole operand, as a part of `to` that begins at row i0, column j0. */
static inline void open_into(const dense *to, int i0, int j0, const matrix *x, bool transposes)
{
    for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->cols; j++) *of(to, i0 + (transposes ? j : i), j0 + (transposes ? i : j)) = get(x, i, j);
}

static inline dense opened(const matrix *x)
{
    const dense all = dense_new(x->rows, x->cols);
    open_into(&all, 0, 0, x, false);
    return all;
}

/* All of a symmetric matrix, or op of a triangular one with its zeros and ones. */
static inline dense whole(const call *x, const matrix *a)
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
static inline void factors(const call *x, const matrix *a, const matrix *b, const matrix *other, dense *left,
                           dense *right)
{
    if (!rank(x)) {
        const dense all = whole(x, a), rest = opened(other);
        *left = x->side == 'L' ? all : rest, *right = x->side == 'L' ? rest : all;
        return;
    }
    const bool two = x->routine == SYR2K, transposes = x->op_a != 'N';
    *left = dense_new(height_of(x), two ? 2 * x->k : x->k), *right = dense_new(two ? 2 * x->k : x->k, x->n);
    open_into(left, 0, 0, a, transposes);
    open_into(right, 0, 0, x->routine == SYRK ? a : b, own_op_b(x) ? x->op_b != 'N' : !transposes);
    if (!two) return;
    open_into(left, 0, x->k, b, transposes);
    open_into(right, x->k, 0, a, !transposes);
}

static inline dense product(double alpha, const dense *left, const dense *right)
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
static inline bool is_near(const call *x, bool is_f32, const dense *left, const dense *right, int i, int j, double made,
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
    const long double asked = x->alpha == 0 ? 0 : alpha * (long double)old; /* of a solve */
    if (x->routine == TRSM) return fabsl(sum - asked) <= slack * g * (size + fabsl(asked));
    const long double from_old = triangular(x) || x->beta == 0 ? 0 : beta * (long double)old;
    return fabsl((long double)made - (alpha * sum + from_old)) <=
           slack * (g * fabsl(alpha) * size + g_old * fabsl(from_old));
}

/* Integers from -4 to 4 where the routine reads; the diagonal of a solve 1, -1, 2 or -2. random: anything from -1 to 1,
 * and small beside the diagonal of a solve. */
static inline void fill_triangle(const call *x, matrix *a, unsigned seed, bool random)
{
    matrix all = matrix_new(a->is_f32, a->by_rows, a->rows, a->cols, 0);
    (random ? fill_random : fill)(&all, seed);
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

/* A call with its operands and what they were before, between making and judging it. */
typedef struct trial {
    call x;
    judging how;
    matrix a, b, c;
    matrix old_a, old_b, old_c;
    dense expected, left, right; /* of a solve of random numbers left and right are made when it is judged */
} trial;

static inline bool reads_operands(const call *x) { return x->alpha != 0 && (!rank(x) || x->k > 0); }
static inline bool is_wanted(const call *x, int i, int j) { return !square(x) || inside(x->uplo, i, j); }

static inline matrix copied(const matrix *x)
{
    matrix copy = *x;
    copy.data = malloc(x->bytes + 8);
    if (copy.data == NULL) exit(5);
    memcpy(copy.data, x->data, x->bytes);
    return copy;
}

static inline void trial_free(trial *t)
{
    free(t->a.data), free(t->b.data), free(t->c.data);
    free(t->old_a.data), free(t->old_b.data), free(t->old_c.data);
    free(t->expected.at), free(t->left.at), free(t->right.at);
}

/* A, B and C as the call is to find them, with numbers where it reads: the same for the same seed. */
static inline void make_operands(trial *t, unsigned seed)
{
    const call *x = &t->x;
    const bool rows = x->way == C_ROWS, transposes = x->op_a != 'N', is_f32 = t->how.is_f32,
               b_flips = own_op_b(x) ? x->op_b == 'N' : transposes;
    const int order = x->side == 'L' ? x->m : x->n, padding = t->how.padding, height = height_of(x);
    void (*const put_numbers)(matrix *, unsigned) = t->how.random ? fill_random : fill;
    t->a = rank(x) ? matrix_new(is_f32, rows, transposes ? x->k : height, transposes ? height : x->k, padding)
                   : matrix_new(is_f32, rows, order, order, padding);
    t->b = rank(x) ? matrix_new(is_f32, rows, b_flips ? x->k : x->n, b_flips ? x->n : x->k, 2 * padding)
                   : matrix_new(is_f32, rows, x->m, x->n, 2 * padding);
    t->c = matrix_new(is_f32, rows, height, x->n, 3 * padding);
    if (reads_operands(x) && rank(x)) put_numbers(&t->a, seed);
    if (reads_operands(x) && !rank(x)) fill_triangle(x, &t->a, seed, t->how.random);
    if (reads_operands(x)) put_numbers(&t->b, seed + 1);
    if (triangular(x) ? x->alpha == 0 : x->beta == 0) return;
    matrix all = matrix_new(is_f32, rows, height, x->n, 0);
    put_numbers(&all, seed + 2);
    for (int i = 0; i < height; i++)
        for (int j = 0; j < x->n; j++)
            if (is_wanted(x, i, j)) put(&t->c, i, j, get(&all, i, j));
    free(all.data);
}

/* What must come out. Of a solve of integers that is what C was; its product with A becomes C. */
static inline void make_expected(trial *t)
{
    const call *x = &t->x;
    const int height = height_of(x);
    const dense old = opened(&t->c);
    t->left = dense_new(height, 0), t->right = dense_new(0, x->n);
    if (reads_operands(x)) {
        free(t->left.at), free(t->right.at);
        factors(x, &t->a, &t->b, triangular(x) ? &t->c : &t->b, &t->left, &t->right);
    }
    t->expected = product(x->routine == TRSM ? 1 / x->alpha : x->alpha, &t->left, &t->right);
    for (int i = 0; i < height; i++)
        for (int j = 0; j < x->n; j++) {
            double *at = of(&t->expected, i, j);
            if (x->routine == TRSM && reads_operands(x) && !t->how.random)
                put(&t->c, i, j, *at), *at = *of(&old, i, j);
            else if (!triangular(x) && x->beta != 0)
                *at += x->beta * *of(&old, i, j);
        }
    free(old.at);
}

static inline void trial_make(trial *t, const call *x, const judging *how, unsigned seed)
{
    *t = (trial){.x = *x, .how = *how};
    make_operands(t, seed);
    make_expected(t);
    t->old_a = copied(&t->a), t->old_b = copied(&t->b), t->old_c = copied(&t->c);
}

/* The call, on operands moved to where they are to lie. */
static inline void trial_call(trial *t)
{
    matrix *const moved[] = {&t->a, &t->b, &t->c};
    const size_t off = t->how.off;
    for (int i = 0; i < 3; i++)
        memmove((char *)moved[i]->data + off, moved[i]->data, moved[i]->bytes),
            moved[i]->data = (char *)moved[i]->data + off;
    no_memory = t->how.without_memory;
    make(&t->x, &t->a, &t->b, &t->c);
    no_memory = false;
    for (int i = 0; i < 3; i++)
        moved[i]->data = (char *)moved[i]->data - off,
        memmove(moved[i]->data, (char *)moved[i]->data + off, moved[i]->bytes);
}

/* Are the elements right that are to be written? */
static inline bool elements_right(trial *t, char *why, size_t why_bytes)
{
    const call *x = &t->x;
    if (x->routine == TRSM && t->how.random && reads_operands(x)) { /* with what came out */
        free(t->left.at), free(t->right.at);
        factors(x, &t->a, &t->b, &t->c, &t->left, &t->right);
    }
    for (int i = 0; i < height_of(x); i++)
        for (int j = 0; j < x->n; j++) {
            if (!is_wanted(x, i, j)) continue;
            const double made = get(&t->c, i, j), wanted = *of(&t->expected, i, j), old = get(&t->old_c, i, j);
            if (t->how.random ? is_near(x, t->how.is_f32, &t->left, &t->right, i, j, made, old) : made == wanted)
                continue;
            snprintf(why, why_bytes, "element %d, %d is %g, expected %g", i, j, made, wanted);
            return false;
        }
    return true;
}

/* Is all else what it was? */
static inline bool rest_untouched(trial *t, char *why, size_t why_bytes)
{
    const size_t bytes = t->how.is_f32 ? 4 : 8;
    bool good = memcmp(t->a.data, t->old_a.data, t->a.bytes) == 0 && memcmp(t->b.data, t->old_b.data, t->b.bytes) == 0;
    if (!good) snprintf(why, why_bytes, "an operand was written");
    for (int i = 0; i < height_of(&t->x); i++)
        for (int j = 0; j < t->x.n; j++)
            if (is_wanted(&t->x, i, j))
                memcpy((char *)t->old_c.data + place(&t->c, i, j) * bytes,
                       (char *)t->c.data + place(&t->c, i, j) * bytes, bytes);
    if (good && memcmp(t->c.data, t->old_c.data, t->c.bytes) != 0)
        good = false, snprintf(why, why_bytes, "what is not to be written was written");
    return good;
}

static inline void trial_describe(const trial *t, char *text, size_t bytes)
{
    const call *x = &t->x;
    snprintf(text, bytes, "%c%s %s %c%c%c%c%c %dx%dx%d, alpha %g, beta %g, padding %d, %zu bytes off, %s",
             "ds"[t->how.is_f32], names[x->routine], way_names[x->way], x -> side, x -> uplo, x -> op_a, x -> op_b,
             x -> diag, x -> m, x -> n, x -> k, x -> alpha, x -> beta, t -> how.padding, t->how.off,
             t->how.random ? "random" : "integers");
}

#endif
