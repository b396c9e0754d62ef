/* blocks.c - level 3 by halves: a symmetric or triangular matrix is cut into two diagonal blocks and the block between
 * them, which is a product for the five loops; small diagonal blocks are computed here. Almost all flops are gemm's.
 *
 *         lower T        b <- T b           b <- T^-1 b             c <- A b, A symmetric      c <- a b, lower triangle
 *     .-----.-----.
 *     | T11 |     |      b2 <- T22 b2       b1 <- T11^-1 b1         c1 <- A11 b1 + A21' b2     c11 <- a1 b1
 *     |-----+-----|      b2 += T21 b1       b2 -= T21 b1            c2 <- A21 b1 + A22 b2      c21 <- a2 b1
 *     | T21 | T22 |      b1 <- T11 b1       b2 <- T22^-1 b2                                    c22 <- a2 b2
 *     '-----'-----'
 *
 * Sources: Kagstrom, Ling, Van Loan: GEMM-based level 3 BLAS, 1998. Elmroth, Gustavson, Jonsson, Kagstrom: Recursive
 * blocked algorithms, 2004. */
#include "blocks.h"

#include "product.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EDGE = 16,       /* of a triangle's smallest block: its flops are slow, and EDGE / n of all */
    COLUMNS = 64,    /* of B at a time there */
    RANK_EDGE = 32,  /* of C's smallest diagonal block, of which half is computed for nothing */
    FULL_EDGE = 384, /* of a symmetric matrix's smallest diagonal block, which is copied whole */
    LITTLE_EDGE = 32 /* the same where there is no memory */
};

#define ALWAYS static inline __attribute__((always_inline))

#define JOIN_(x, y) x##y
#define JOIN(x, y)  JOIN_(x, y)

#define NAMED(name) JOIN(name, _f32)
#define real        float
#include "leaf.h"
#undef NAMED
#undef real
#define NAMED(name) JOIN(name, _f64)
#define real        double
#include "leaf.h"
#undef NAMED
#undef real

/* What all blocks of one operation have in common. */
typedef struct work {
    tw_dtype dtype;
    double alpha;
    char *full; /* room for full_edge x full_edge elements */
    int64_t full_edge;
    bool failed;
} work;

static int64_t bytes_of(tw_dtype dtype) { return dtype == TW_F64 ? 8 : 4; }

static matrix part(const work *w, const matrix *x, int64_t i, int64_t j, int64_t rows, int64_t cols)
{
    const int64_t at = x->by_columns ? j * x->ld + i : i * x->ld + j;
    return (matrix){x->at + at * bytes_of(w->dtype), rows, cols, x->ld, x->by_columns};
}

/* Where n > edge is cut: a multiple of the edge. */
static int64_t half_of(int64_t n, int64_t edge) { return (n + 2 * edge - 1) / (2 * edge) * edge; }

/* c <- alpha a b + beta c */
static void multiply(work *w, double alpha, matrix a, matrix b, double beta, matrix c)
{
    if (w->failed || c.rows == 0 || c.cols == 0) return;
    if (c.by_columns) {
        const matrix of_rows = blas_flip(b);
        b = blas_flip(a), a = of_rows, c = blas_flip(c);
    }
    tw_problem p = tw_problem_make(w->dtype, TW_N, TW_N, c.rows, c.cols, 0);
    if (alpha != 0)
        p.op_a = a.by_columns ? TW_T : TW_N, p.op_b = b.by_columns ? TW_T : TW_N, p.k = a.cols, p.lda = a.ld,
        p.ldb = b.ld;
    p.ldc = c.ld, p.alpha = alpha, p.beta = beta;
    w->failed = !blas_multiply(&p, a.at, b.at, c.at);
}

/* ---- symmetric ---- */

static void symmetric(work *w, matrix lower, matrix b, double beta, matrix c)
{
    const int64_t m = lower.rows;
    if (m <= w->full_edge) {
        if (w->dtype == TW_F64)
            expand_f64(&lower, (double *)(void *)w->full);
        else
            expand_f32(&lower, (float *)(void *)w->full);
        multiply(w, w->alpha, (matrix){w->full, m, m, m, c.by_columns}, b, beta, c);
        return;
    }
    const int64_t h = half_of(m, LITTLE_EDGE), rest = m - h;
    const matrix between = part(w, &lower, h, 0, rest, h), b1 = part(w, &b, 0, 0, h, b.cols),
                 b2 = part(w, &b, h, 0, rest, b.cols), c1 = part(w, &c, 0, 0, h, b.cols),
                 c2 = part(w, &c, h, 0, rest, b.cols);
    symmetric(w, part(w, &lower, 0, 0, h, h), b1, beta, c1);
    multiply(w, w->alpha, blas_flip(between), b2, 1, c1);
    multiply(w, w->alpha, between, b1, beta, c2);
    symmetric(w, part(w, &lower, h, h, rest, rest), b2, 1, c2);
}

bool blas_symmetric(tw_dtype dtype, double alpha, matrix lower, matrix b, double beta, matrix c)
{
    double little[LITTLE_EDGE * LITTLE_EDGE] __attribute__((aligned(64)));
    work w = {dtype, alpha, (char *)little, LITTLE_EDGE, false};
    const int64_t edge = lower.rows < FULL_EDGE ? lower.rows : FULL_EDGE;
    char *room = NULL;
    if (alpha == 0) {
        multiply(&w, 0, lower, b, beta, c);
        return !w.failed;
    }
    if (edge > LITTLE_EDGE) room = aligned_alloc(64, (size_t)((edge * edge * bytes_of(dtype) + 63) / 64 * 64));
    if (room != NULL) w.full = room, w.full_edge = edge;
    symmetric(&w, lower, b, beta, c);
    free(room);
    return !w.failed;
}

/* ---- rank updates ---- */

typedef struct pair {
    matrix a, b, a2, b2;
    bool two;
} pair;

/* Rows i .. i + rows - 1 of a, columns j .. j + cols - 1 of b. */
static void multiply_pair(work *w, const pair *x, int64_t i, int64_t rows, int64_t j, int64_t cols, double alpha,
                          double beta, matrix c)
{
    multiply(w, alpha, part(w, &x->a, i, 0, rows, x->a.cols), part(w, &x->b, 0, j, x->b.rows, cols), beta, c);
    if (x->two)
        multiply(w, alpha, part(w, &x->a2, i, 0, rows, x->a2.cols), part(w, &x->b2, 0, j, x->b2.rows, cols), 1, c);
}

/* first: where c, a diagonal block, begins in the whole. */
static void rank_lower(work *w, const pair *x, int64_t first, double beta, matrix c)
{
    const int64_t n = c.rows;
    if (n <= RANK_EDGE) {
        double sums[RANK_EDGE * RANK_EDGE] __attribute__((aligned(64)));
        multiply_pair(w, x, first, n, first, n, w->alpha, 0, (matrix){(char *)sums, n, n, n, false});
        if (w->failed) return;
        if (w->dtype == TW_F64)
            blend_lower_f64(sums, beta, &c);
        else
            blend_lower_f32((float *)(void *)sums, beta, &c);
        return;
    }
    const int64_t h = half_of(n, RANK_EDGE);
    rank_lower(w, x, first, beta, part(w, &c, 0, 0, h, h));
    multiply_pair(w, x, first + h, n - h, first, h, w->alpha, beta, part(w, &c, h, 0, n - h, h));
    rank_lower(w, x, first + h, beta, part(w, &c, h, h, n - h, n - h));
}

bool blas_rank(tw_dtype dtype, double alpha, matrix a, matrix b, const matrix *a2, const matrix *b2, double beta,
               matrix c)
{
    work w = {.dtype = dtype, .alpha = alpha};
    pair x = {.a = a, .b = b, .two = a2 != NULL};
    if (x.two) x.a2 = *a2, x.b2 = *b2;
    rank_lower(&w, &x, 0, beta, c);
    return !w.failed;
}

/* ---- triangular ---- */

static triangle corner(const work *w, const triangle *t, int64_t at, int64_t n)
{
    return (triangle){part(w, &t->part, at, at, n, n), t->lower, t->unit};
}

/* b <- alpha T b, or alpha T^-1 b. `early` is the half of b that is right first, `late` the other: of a solve that from
 * which `late` follows, of a product that which needs `late` as it was. */
static void triangular(work *w, const triangle *t, bool solves, double alpha, matrix b)
{
    const int64_t m = b.rows;
    if (w->failed) return;
    if (m <= EDGE) {
        if (w->dtype == TW_F64)
            triangle_leaf_f64(t, solves, alpha, &b);
        else
            triangle_leaf_f32(t, solves, alpha, &b);
        return;
    }
    const int64_t h = half_of(m, EDGE), rest = m - h;
    const bool first_is_early = t->lower == solves;
    const triangle t1 = corner(w, t, 0, h), t2 = corner(w, t, h, rest);
    const matrix b1 = part(w, &b, 0, 0, h, b.cols), b2 = part(w, &b, h, 0, rest, b.cols),
                 between = t->lower ? part(w, &t->part, h, 0, rest, h) : part(w, &t->part, 0, h, h, rest),
                 early = first_is_early ? b1 : b2, late = first_is_early ? b2 : b1;
    triangular(w, first_is_early ? &t1 : &t2, solves, alpha, early);
    if (solves)
        multiply(w, -1, between, early, alpha, late);
    else
        multiply(w, alpha, between, late, 1, early);
    triangular(w, first_is_early ? &t2 : &t1, solves, solves ? 1 : alpha, late);
}

bool blas_triangular(tw_dtype dtype, double alpha, triangle t, bool solves, matrix b)
{
    work w = {.dtype = dtype};
    if (alpha == 0)
        multiply(&w, 0, t.part, b, 0, b);
    else
        triangular(&w, &t, solves, alpha, b);
    return !w.failed;
}
