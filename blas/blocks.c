/* blocks.c - level 3 by halves: a symmetric or triangular matrix is cut into two diagonal blocks and the block between
 * them, which is a product for the five loops; small diagonal blocks have kernels of their own (kernels/cpu/
 * triangle_simd.c). The larger the matrix, the more of the flops are gemm's.
 *
 *         lower T          b <- T b           b <- T^-1 b           c <- A b, A symmetric
 *     .-----.-----.
 *     | T11 |     |        b2 <- T22 b2       b1 <- T11^-1 b1       c1 <- A11 b1 + A21' b2
 *     |-----+-----|        b2 += T21 b1       b2 -= T21 b1          c2 <- A21 b1 + A22 b2
 *     | T21 | T22 |        b1 <- T11 b1       b2 <- T22^-1 b2
 *     '-----'-----'
 *
 * A triangle of C is one product: its tiles beyond the diagonal are left out (TW_LOWER).
 *
 * Sources: Kagstrom, Ling, Van Loan: GEMM-based level 3 BLAS, 1998. Elmroth, Gustavson, Jonsson, Kagstrom: Recursive
 * blocked algorithms, 2004. */
#include "blocks.h"

#include "plain.h"
#include "product.h"

#include <tilewright_lab.h>

#include <stdlib.h>
#include <string.h>

enum {
    PLAIN = 64,       /* elements of B, or multiply-adds of a rank update's triangle, not worth more than plain loops */
    FULL_EDGE = 512,  /* of a symmetric matrix's smallest diagonal block, which is copied whole */
    LITTLE_EDGE = 32, /* the same where there is no memory */
    EDGE = TW_LAB_TRIANGLE_EDGE, /* of a triangle's smallest block */
    COMPLEX_EDGE = 12,           /* the same of complex types, whose blocks have plain loops */
    CUT = 24                     /* multiples of which a triangle is cut at */
};

/* What all blocks of one operation have in common. */
typedef struct work {
    tw_dtype dtype;
    scalar alpha;
    char *full; /* room for full_edge rows, full_ld(full_edge) elements apart */
    int64_t full_edge;
    uint32_t flags; /* which triangle of c: TW_LOWER, or 0: all */
    bool hermitian, failed;
} work;

static const scalar zero = {0, 0}, one = {1, 0}, minus_one = {-1, 0};

static matrix part(const work *w, const matrix *x, int64_t i, int64_t j, int64_t rows, int64_t cols)
{
    const int64_t at = x->by_columns ? j * x->ld + i : i * x->ld + j;
    return (matrix){x->at + at * blas_bytes(w->dtype), rows, cols, x->ld, x->by_columns, x->conjugated};
}

/* How far apart rows of a copy lie: an odd multiple of 16 elements, so that they do not share sets of a cache. */
static int64_t full_ld(int64_t n) { return (n + 31) / 32 * 32 + 16; }

/* Where n is cut: about the middle, at a multiple of step. */
static int64_t half_of(int64_t n, int64_t step) { return (n + 2 * step - 1) / (2 * step) * step; }

static tw_op op_of_view(const matrix *x)
{
    return x->conjugated ? (x->by_columns ? TW_C : TW_R) : x->by_columns ? TW_T : TW_N;
}

/* c <- alpha a b + beta c */
static void multiply(work *w, scalar alpha, matrix a, matrix b, scalar beta, matrix c)
{
    uint32_t flags = w->flags;
    if (w->failed || c.rows == 0 || c.cols == 0) return;
    if (c.by_columns) {
        if (flags != 0) flags = TW_UPPER;
        const matrix of_rows = blas_flip(b);
        b = blas_flip(a), a = of_rows, c = blas_flip(c);
    }
    tw_problem p = tw_problem_make(w->dtype, op_of_view(&a), op_of_view(&b), c.rows, c.cols, a.cols);
    p.lda = a.ld, p.ldb = b.ld, p.ldc = c.ld, p.flags = flags;
    p.alpha = alpha.re, p.alpha_imaginary = alpha.im, p.beta = beta.re, p.beta_imaginary = beta.im;
    w->failed = !blas_multiply(&p, a.at, b.at, c.at);
}

/* ---- symmetric ---- */

static void symmetric(work *w, matrix lower, matrix b, scalar beta, matrix c)
{
    const int64_t m = lower.rows;
    if (m <= w->full_edge) {
        plain_expand(w->dtype, &lower, w->hermitian, w->full, full_ld(m));
        /* it lies by columns as it does by rows, a Hermitian one conjugated */
        multiply(w, w->alpha, (matrix){w->full, m, m, full_ld(m), c.by_columns, c.by_columns && w->hermitian}, b, beta,
                 c);
        return;
    }
    const int64_t h = half_of(m, LITTLE_EDGE), rest = m - h;
    const matrix between = part(w, &lower, h, 0, rest, h), b1 = part(w, &b, 0, 0, h, b.cols),
                 b2 = part(w, &b, h, 0, rest, b.cols), c1 = part(w, &c, 0, 0, h, b.cols),
                 c2 = part(w, &c, h, 0, rest, b.cols);
    symmetric(w, part(w, &lower, 0, 0, h, h), b1, beta, c1);
    multiply(w, w->alpha, blas_conjugate_if(w->hermitian, blas_flip(between)), b2, one, c1);
    multiply(w, w->alpha, between, b1, beta, c2);
    symmetric(w, part(w, &lower, h, h, rest, rest), b2, one, c2);
}

bool blas_symmetric(tw_dtype dtype, bool hermitian, scalar alpha, matrix lower, matrix b, scalar beta, matrix c)
{
    char little[LITTLE_EDGE * (LITTLE_EDGE + 16) * 2 * sizeof(double)] __attribute__((aligned(64)));
    work w = {.dtype = dtype, .hermitian = hermitian, .alpha = alpha, .full = little, .full_edge = LITTLE_EDGE};
    const int64_t edge = lower.rows < FULL_EDGE ? lower.rows : FULL_EDGE;
    char *room = NULL;
    if (!scalar_is_set(alpha)) {
        multiply(&w, zero, lower, b, beta, c);
        return !w.failed;
    }
    if (edge > LITTLE_EDGE)
        room = aligned_alloc(64, (size_t)((edge * full_ld(edge) * blas_bytes(dtype) + 63) / 64 * 64));
    if (room != NULL) w.full = room, w.full_edge = edge;
    symmetric(&w, lower, b, beta, c);
    free(room);
    return !w.failed;
}

/* ---- rank updates ---- */

bool blas_rank(tw_dtype dtype, scalar alpha, matrix a, matrix b, scalar beta, matrix c)
{
    work w = {.dtype = dtype, .flags = TW_LOWER};
    if (a.cols == 0) alpha = zero;
    if (!scalar_is_set(alpha)) a.cols = b.rows = 0;
    if (c.rows <= PLAIN && c.rows * c.rows * a.cols <= 2 * PLAIN) {
        plain_multiply(dtype, alpha, &a, &b, beta, &c, TW_LOWER);
        return true;
    }
    multiply(&w, alpha, a, b, beta, c);
    return !w.failed;
}

/* ---- triangular ---- */

static triangle corner(const work *w, const triangle *t, int64_t at, int64_t n)
{
    return (triangle){part(w, &t->part, at, at, n, n), t->lower, t->unit};
}

static int64_t row_stride(const matrix *x) { return x->by_columns ? 1 : x->ld; }
static int64_t column_stride(const matrix *x) { return x->by_columns ? x->ld : 1; }

static void diagonal_block(const work *w, const triangle *t, bool solves, scalar alpha, const matrix *b)
{
    const bool worth = !blas_is_complex(w->dtype) && b->rows * b->cols > PLAIN;
    tw_context *context = worth ? blas_context() : NULL;
    const tw_lab_triangle block = {.dtype = w->dtype,
                                   .lower = t->lower,
                                   .unit = t->unit,
                                   .solves = solves,
                                   .m = b->rows,
                                   .n = b->cols,
                                   .t = t->part.at,
                                   .b = b->at,
                                   .t_rs = row_stride(&t->part),
                                   .t_cs = column_stride(&t->part),
                                   .b_rs = row_stride(b),
                                   .b_cs = column_stride(b),
                                   .alpha = alpha.re};
    if (context == NULL || tw_lab_triangle_compute(context, &block) != TW_OK)
        plain_triangle(w->dtype, t, solves, alpha, b);
    blas_computed();
}

/* b <- alpha T b, or alpha T^-1 b. `early` is the half of b that is right first, `late` the other: of a solve that from
 * which `late` follows, of a product that which needs `late` as it was. */
static void triangular(work *w, const triangle *t, bool solves, scalar alpha, matrix b)
{
    const int64_t m = b.rows, edge = blas_is_complex(w->dtype) ? COMPLEX_EDGE : EDGE;
    if (w->failed) return;
    if (m <= edge) {
        diagonal_block(w, t, solves, alpha, &b);
        return;
    }
    const int64_t h = half_of(m, m <= CUT ? COMPLEX_EDGE : CUT), rest = m - h;
    const bool first_is_early = t->lower == solves;
    const triangle t1 = corner(w, t, 0, h), t2 = corner(w, t, h, rest);
    const matrix b1 = part(w, &b, 0, 0, h, b.cols), b2 = part(w, &b, h, 0, rest, b.cols),
                 between = t->lower ? part(w, &t->part, h, 0, rest, h) : part(w, &t->part, 0, h, h, rest),
                 early = first_is_early ? b1 : b2, late = first_is_early ? b2 : b1;
    triangular(w, first_is_early ? &t1 : &t2, solves, alpha, early);
    if (solves)
        multiply(w, minus_one, between, early, alpha, late);
    else
        multiply(w, alpha, between, late, one, early);
    triangular(w, first_is_early ? &t2 : &t1, solves, solves ? one : alpha, late);
}

bool blas_triangular(tw_dtype dtype, scalar alpha, triangle t, bool solves, matrix b)
{
    work w = {.dtype = dtype};
    if (!scalar_is_set(alpha))
        multiply(&w, zero, t.part, b, zero, b);
    else
        triangular(&w, &t, solves, alpha, b);
    return !w.failed;
}
