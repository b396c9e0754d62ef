/* level3.c - symm, syrk, syr2k, gemmtr, trmm and trsm of libtilewright_blas.so, by every name, side, triangle and op:
 * exact on small integers. Of a triangle that is not named, and of a unit diagonal, all is NaN, and stays as it was. */
#include "../support/tap.h"
#include "matrix.h"

#include <math.h>
#include <stdint.h>

/* ---- the program's own handler ---- */

static struct {
    int calls, number;
    char routine[40];
} heard;

void cblas_xerbla(int number, const char *routine, const char *format, ...)
{
    (void)format;
    heard.calls++, heard.number = number;
    snprintf(heard.routine, sizeof heard.routine, "%s", routine);
}

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

/* op(X) of a whole operand. */
static dense opened(const matrix *x, bool transposes)
{
    dense all = transposes ? dense_new(x->cols, x->rows) : dense_new(x->rows, x->cols);
    for (int i = 0; i < all.rows; i++)
        for (int j = 0; j < all.cols; j++) *of(&all, i, j) = transposes ? get(x, j, i) : get(x, i, j);
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

static void add_product(dense *sum, double alpha, const dense *a, const dense *b, bool transposes_b)
{
    for (int i = 0; i < sum->rows; i++)
        for (int p = 0; p < a->cols; p++)
            for (int j = 0; j < sum->cols; j++)
                *of(sum, i, j) += alpha * *of(a, i, p) * (transposes_b ? *of(b, j, p) : *of(b, p, j));
}

/* Integers from -4 to 4 where the routine reads; the diagonal of a solve 1, -1, 2 or -2. */
static void fill_triangle(const call *x, matrix *a)
{
    matrix all = matrix_new(a->is_f32, a->by_rows, a->rows, a->cols, 0);
    fill(&all, 1);
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < a->cols; j++) {
            double value = get(&all, i, j);
            if (x->routine == TRSM)
                value = i == j ? (i % 2 ? -1 : 1) * (1 + i / 2 % 2) : value > 2 ? 1 : value < -2 ? -1 : 0;
            if (inside(x->uplo, i, j) && !(i == j && triangular(x) && x->diag == 'U')) put(a, i, j, value);
        }
    free(all.data);
}

/* The call judged. */
static bool right(const call *x, bool is_f32, int padding, size_t off, char why[160])
{
    const bool rows = x->way == C_ROWS, reads = x->alpha != 0 && (!rank(x) || x->k > 0), transposes = x->op_a != 'N';
    const int order = x->side == 'L' ? x->m : x->n, height = rank(x) ? x->n : x->m;
    matrix a = rank(x) ? matrix_new(is_f32, rows, transposes ? x->k : x->n, transposes ? x->n : x->k, padding)
                       : matrix_new(is_f32, rows, order, order, padding);
    const bool b_flips = x->routine == GEMMTR ? x->op_b == 'N' : transposes;
    matrix b = rank(x) ? matrix_new(is_f32, rows, b_flips ? x->k : x->n, b_flips ? x->n : x->k, 2 * padding)
                       : matrix_new(is_f32, rows, x->m, x->n, 2 * padding);
    matrix c = matrix_new(is_f32, rows, height, x->n, 3 * padding), kept;
    dense expected = dense_new(height, x->n), old;
    if (reads) {
        if (rank(x))
            fill(&a, 1);
        else
            fill_triangle(x, &a);
        fill(&b, 2);
    }
    if (triangular(x) ? x->alpha != 0 : x->beta != 0)
        for (int i = 0; i < height; i++)
            for (int j = 0; j < x->n; j++)
                if (!rank(x) || inside(x->uplo, i, j)) put(&c, i, j, (i * 5 + j * 3) % 7 - 3);
    old = opened(&c, false);
    if (reads && rank(x)) {
        const dense first = opened(&a, transposes),
                    second = opened(&b, x->routine == GEMMTR ? x->op_b != 'N' : transposes);
        if (x->routine == GEMMTR)
            add_product(&expected, x->alpha, &first, &second, false);
        else
            add_product(&expected, x->alpha, &first, x->routine == SYRK ? &first : &second, true);
        if (x->routine == SYR2K) add_product(&expected, x->alpha, &second, &first, true);
        free(first.at), free(second.at);
    } else if (reads) {
        const dense left = whole(x, &a), right = triangular(x) ? old : opened(&b, false);
        if (x->side == 'L')
            add_product(&expected, x->routine == TRSM ? 1 / x->alpha : x->alpha, &left, &right, false);
        else
            add_product(&expected, x->routine == TRSM ? 1 / x->alpha : x->alpha, &right, &left, false);
        if (x->routine == TRSM) { /* the product is what is given, and what comes out the old one */
            for (int i = 0; i < height; i++)
                for (int j = 0; j < x->n; j++)
                    put(&c, i, j, *of(&expected, i, j)), *of(&expected, i, j) = *of(&old, i, j);
        }
        free(left.at);
        if (!triangular(x)) free(right.at);
    }
    for (int i = 0; !triangular(x) && x->beta != 0 && i < height; i++)
        for (int j = 0; j < x->n; j++) *of(&expected, i, j) += x->beta * *of(&old, i, j);
    kept = c, kept.data = malloc(c.bytes + 8);
    if (kept.data == NULL) exit(5);
    memcpy(kept.data, c.data, c.bytes);
    matrix *const moved[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++)
        memmove((char *)moved[i]->data + off, moved[i]->data, moved[i]->bytes),
            moved[i]->data = (char *)moved[i]->data + off;
    heard.calls = 0;
    make(x, &a, &b, &c);
    for (int i = 0; i < 3; i++)
        moved[i]->data = (char *)moved[i]->data - off,
        memmove(moved[i]->data, (char *)moved[i]->data + off, moved[i]->bytes);
    bool good = heard.calls == 0;
    if (!good) snprintf(why, 160, "the handler was told: %s, %d", heard.routine, heard.number);
    for (int i = 0; good && i < height; i++)
        for (int j = 0; good && j < x->n; j++) {
            if (rank(x) && !inside(x->uplo, i, j)) continue;
            good = get(&c, i, j) == *of(&expected, i, j);
            if (!good)
                snprintf(why, 160, "element %d, %d is %g, expected %g", i, j, get(&c, i, j), *of(&expected, i, j));
            memcpy((char *)c.data + place(&c, i, j) * (is_f32 ? 4 : 8),
                   (char *)kept.data + place(&c, i, j) * (is_f32 ? 4 : 8), is_f32 ? 4 : 8);
        }
    if (good && memcmp(c.data, kept.data, c.bytes) != 0)
        good = false, snprintf(why, 160, "what is not to be written was written");
    if (!good)
        snprintf(why + strlen(why), 160 - strlen(why), " (%c%c%c%c%c, alpha %g, beta %g, padding %d, %zu bytes off)",
                 x->side, x->uplo, x->op_a, x->op_b, x->diag, x->alpha, x->beta, padding, off);
    free(a.data), free(b.data), free(c.data), free(kept.data), free(expected.at), free(old.at);
    return good;
}

/* Every setting that the routine has. */
static bool right_in_all(call x, bool is_f32, int padding, size_t off, char why[160])
{
    for (int bits = 0; bits < 32; bits++) {
        const bool fixed = (bits & 1 && rank(&x)) || (bits & 4 && symmetric(&x)) || (bits & 8 && x.routine != GEMMTR) ||
                           (bits & 16 && !triangular(&x));
        x.side = "LR"[bits & 1], x.uplo = "UL"[bits >> 1 & 1], x.op_a = "NT"[bits >> 2 & 1],
        x.op_b = "NT"[bits >> 3 & 1], x.diag = "NU"[bits >> 4];
        if (!fixed && !right(&x, is_f32, padding, off, why)) return false;
    }
    return true;
}

static void products(void)
{
    static const int sizes[][3] = {{1, 1, 1},     {5, 3, 7},    {16, 17, 33}, {47, 50, 5}, {49, 33, 40}, {97, 130, 300},
                                   {130, 65, 12}, {7, 260, 70}, {0, 4, 3},    {4, 0, 3},   {4, 5, 0}};
    static const double scalars[][2] = {{1, 0}, {-2, 1}, {0.5, -2}, {0, 0}, {0, 1}, {0, 2}};
    for (int r = 0; r < ROUTINES; r++)
        for (int is_f32 = 0; is_f32 < 2; is_f32++)
            for (way way = FORTRAN; way < WAYS; way++)
                for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                    char why[160] = "";
                    bool good = true;
                    if (!tap_case("%s_%s_%s_%dx%dx%d", names[r], is_f32 ? "f32" : "f64", way_names[way], sizes[s][0],
                                  sizes[s][1], sizes[s][2]))
                        continue;
                    for (size_t v = 0; good && v < sizeof scalars / sizeof *scalars; v++)
                        good = right_in_all((call){.routine = (routine)r,
                                                   .way = way,
                                                   .m = sizes[s][0],
                                                   .n = sizes[s][1],
                                                   .k = sizes[s][2],
                                                   .alpha = scalars[v][0],
                                                   .beta = scalars[v][1]},
                                            is_f32, v % 2 ? 3 : 0, 0, why);
                    tap_result(good, "%s", why);
                }
    for (int r = 0; r < ROUTINES; r++) {
        char why[160] = "";
        if (!tap_case("%s_at_odd_addresses", names[r])) continue;
        tap_result(
            right_in_all(
                (call){.routine = (routine)r, .way = C_COLUMNS, .m = 50, .n = 33, .k = 20, .alpha = 2, .beta = -1},
                true, 1, 1, why) &&
                right_in_all(
                    (call){.routine = (routine)r, .way = C_ROWS, .m = 50, .n = 33, .k = 20, .alpha = 2, .beta = 0},
                    false, 1, 3, why),
            "%s", why);
    }
}

/* ---- what arithmetic with NaN and infinity must show ---- */

static void special_values(void)
{
    enum { N = 100 };
    static double t[N * N], b[N * N];
    for (int solves = 0; solves < 2; solves++) {
        if (!tap_case("nan_stays_in_rows_that_depend_on_it_%s", solves ? "trsm" : "trmm")) continue;
        for (int i = 0; i < N * N; i++) t[i] = i % N <= i / N ? 1 : NAN, b[i] = 1;
        b[60 * N + 7] = NAN; /* of column 7 rows 60 and below depend on it */
        (solves ? cblas_dtrsm : cblas_dtrmm)(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, N, N, 1,
                                             t, N, b, N);
        int wrong = 0;
        for (int i = 0; i < N * N; i++) wrong += isnan(b[i]) != (i % N == 7 && i / N >= 60);
        tap_result(wrong == 0, "%d elements", wrong);
    }
    if (tap_case("infinite_alpha_reaches_all_columns_alike")) {
        static double ones[25], many[5 * 64];
        int wrong = 0;
        for (int i = 0; i < 25; i++) ones[i] = 1;
        for (int i = 0; i < 5 * 64; i++) many[i] = 1;
        cblas_dtrmm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, 5, 64, (double)INFINITY, ones, 5,
                    many, 5);
        for (int i = 0; i < 5 * 64; i++) wrong += !isinf(many[i]);
        tap_result(wrong == 0, "%d elements", wrong);
    }
    if (tap_case("without_k_alpha_is_not_used")) {
        double c[4] = {1, 2, 3, 4};
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, 2, 0, (double)NAN, NULL, 2, 2, c, 2);
        tap_result(c[0] == 2 && c[1] == 4 && c[2] == 3 && c[3] == 8, "%g %g %g %g", c[0], c[1], c[2], c[3]);
    }
    for (int n = 1; n <= 40; n += 39) { /* one element, and blocks of vectors */
        static double diagonal[64], x[8 * 40];
        int wrong = 0;
        if (!tap_case("a_diagonal_whose_inverse_overflows_is_divided_by_%d", n)) continue;
        for (int i = 0; i < 64; i++) diagonal[i] = i % 9 == 0 ? 0x1p-1070 : 0;
        for (int i = 0; i < 8 * 40; i++) x[i] = 0x1p-1069;
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 8, n, 1, diagonal, 8, x, 8);
        for (int i = 0; i < 8 * n; i++) wrong += x[i] != 2;
        tap_result(wrong == 0, "%d elements", wrong);
    }
    if (tap_case("a_diagonal_whose_inverse_overflows_is_divided_by")) {
        double tiny = 0x1p-1070, x = 0x1p-1069;
        float tiny_f32 = 0x1p-140f, x_f32 = 0x1p-139f;
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, 1, 1, &tiny, 1, &x, 1);
        cblas_strsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, 1, 1, &tiny_f32, 1, &x_f32, 1);
        tap_result(x == 2 && x_f32 == 2, "%g and %g, expected 2", x, (double)x_f32);
    }
    if (tap_case("a_zero_on_the_diagonal_gives_infinity")) {
        double zero = 0, x = 3;
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, 1, 1, &zero, 1, &x, 1);
        tap_result(isinf(x), "%g", x);
    }
    if (tap_case("null_operands_are_told")) {
        double x[4] = {1, 2, 3, 4};
        heard.calls = 0;
        cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 2, 2, 1, NULL, 2, x, 2);
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, 2, 2, 1, x, 2, 0, NULL, 2);
        cblas_dsymm(CblasColMajor, CblasLeft, CblasLower, 2, 2, 1, x, 2, NULL, 2, 0, x, 2);
        tap_result(heard.calls == 3 && heard.number == 0 && x[3] == 4, "%d calls, the last for argument %d",
                   heard.calls, heard.number);
    }
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    products();
    special_values();
    return tap_finish();
}
