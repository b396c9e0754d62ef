/* leaf.h - the products and solves at the diagonal of a triangular matrix, EDGE x EDGE at most, for the type `real` and
 * the names NAMED(...): blocks.c includes it once for each type.
 *
 * T's triangle and a strip of B, COLUMNS wide, are copied: rows of the strip are whole vectors, whichever way B lies,
 * and operands need no alignment. A row of B loses (or gains) multiples of other rows, the sums in registers, each
 * product rounded before it is added: the bits are the same with any instructions. What is zero in T is not multiplied,
 * so that no NaN of one row of B comes into another that does not depend on it. */

typedef real NAMED(wide) __attribute__((vector_size(64)));

typedef struct NAMED(leaf) {
    real t[EDGE][EDGE];
    NAMED(wide) x[EDGE][COLUMNS * sizeof(real) / 64];
} NAMED(leaf);

enum { NAMED(LANES) = 64 / sizeof(real), NAMED(VECTORS) = COLUMNS / NAMED(LANES), NAMED(AT_ONCE) = 4 };
_Static_assert((int)NAMED(VECTORS) % (int)NAMED(AT_ONCE) == 0, "a strip is whole groups of vectors");

/* x <- T^-1 x (solves), or alpha T x. */
ALWAYS void NAMED(leaf_of)(NAMED(leaf) * leaf, const triangle *t, int m, bool solves, real alpha)
{
    for (int step = 0; step < m; step++) {
        /* a solve begins with the row that depends on no other, a product with that on which no other depends */
        const int i = t->lower == solves ? step : m - 1 - step, first = t->lower ? 0 : i + 1, last = t->lower ? i : m;
        const real diagonal = t->unit ? 1 : leaf->t[i][i], inverse = 1 / diagonal;
        const bool divides = solves && !isnormal(inverse);
        for (int v = 0; v < (int)NAMED(VECTORS); v += NAMED(AT_ONCE)) {
            NAMED(wide) sum[NAMED(AT_ONCE)];
            for (int w = 0; w < (int)NAMED(AT_ONCE); w++) sum[w] = leaf->x[i][v + w];
            if (!solves && !t->unit)
                for (int w = 0; w < (int)NAMED(AT_ONCE); w++) sum[w] *= diagonal;
            for (int p = first; p < last; p++) {
                const real factor = solves ? -leaf->t[i][p] : leaf->t[i][p];
                for (int w = 0; w < (int)NAMED(AT_ONCE); w++) sum[w] += factor * leaf->x[p][v + w];
            }
            for (int w = 0; w < (int)NAMED(AT_ONCE); w++)
                leaf->x[i][v + w] = !solves   ? alpha * sum[w]
                                    : divides ? sum[w] / diagonal
                                    : t->unit ? sum[w]
                                              : sum[w] * inverse;
        }
    }
}

/* The same text for the vectors that there are. */
static void NAMED(leaf_base)(NAMED(leaf) * leaf, const triangle *t, int m, bool solves, real alpha)
{
    NAMED(leaf_of)(leaf, t, m, solves, alpha);
}
#ifdef __x86_64__
__attribute__((target("avx2"))) static void NAMED(leaf_avx2)(NAMED(leaf) * leaf, const triangle *t, int m, bool solves,
                                                             real alpha)
{
    NAMED(leaf_of)(leaf, t, m, solves, alpha);
}
__attribute__((target("avx512f"))) static void NAMED(leaf_avx512)(NAMED(leaf) * leaf, const triangle *t, int m,
                                                                  bool solves, real alpha)
{
    NAMED(leaf_of)(leaf, t, m, solves, alpha);
}
#endif

/* Element (i, j) of a matrix, which may lie at any address. */
static inline real NAMED(get)(const matrix *x, int64_t i, int64_t j)
{
    real value;
    memcpy(&value, x->at + (x->by_columns ? j * x->ld + i : i * x->ld + j) * (int64_t)sizeof value, sizeof value);
    return value;
}

static inline void NAMED(put)(const matrix *x, int64_t i, int64_t j, real value)
{
    memcpy(x->at + (x->by_columns ? j * x->ld + i : i * x->ld + j) * (int64_t)sizeof value, &value, sizeof value);
}

static void NAMED(triangle_leaf)(const triangle *t, bool solves, double scale, const matrix *b)
{
    const int m = (int)b->rows;
    const real alpha = (real)scale;
    NAMED(leaf) leaf;
    for (int i = 0; i < m; i++)
        for (int p = t->lower ? 0 : i + t->unit; p < (t->lower ? i + !t->unit : m); p++)
            leaf.t[i][p] = NAMED(get)(&t->part, i, p);
    for (int64_t j0 = 0; j0 < b->cols; j0 += COLUMNS) {
        const int cols = b->cols - j0 < COLUMNS ? (int)(b->cols - j0) : COLUMNS;
        real *const strip = (real *)leaf.x;
        if (cols < COLUMNS) memset(leaf.x, 0, sizeof leaf.x);
        if (b->by_columns)
            for (int j = 0; j < cols; j++)
                for (int i = 0; i < m; i++) strip[i * COLUMNS + j] = NAMED(get)(b, i, j0 + j);
        else
            for (int i = 0; i < m; i++)
                memcpy(strip + i * COLUMNS, b->at + (i * b->ld + j0) * (int64_t)sizeof(real),
                       (size_t)cols * sizeof(real));
        if (solves && alpha != 1)
            for (int i = 0; i < m; i++)
                for (int v = 0; v < (int)NAMED(VECTORS); v++) leaf.x[i][v] *= alpha;
#ifdef __x86_64__
        if (__builtin_cpu_supports("avx512f"))
            NAMED(leaf_avx512)(&leaf, t, m, solves, alpha);
        else if (__builtin_cpu_supports("avx2"))
            NAMED(leaf_avx2)(&leaf, t, m, solves, alpha);
        else
#endif
            NAMED(leaf_base)(&leaf, t, m, solves, alpha);
        if (b->by_columns)
            for (int j = 0; j < cols; j++)
                for (int i = 0; i < m; i++) NAMED(put)(b, i, j0 + j, strip[i * COLUMNS + j]);
        else
            for (int i = 0; i < m; i++)
                memcpy(b->at + (i * b->ld + j0) * (int64_t)sizeof(real), strip + i * COLUMNS,
                       (size_t)cols * sizeof(real));
    }
}

/* full <- all of a symmetric matrix of which the lower triangle is there. */
static void NAMED(expand)(const matrix *lower, real *full)
{
    const int64_t n = lower->rows;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) full[i * n + j] = full[j * n + i] = NAMED(get)(lower, i, j);
}

/* The lower triangle of c <- sums + beta c; beta == 0: c is not read. */
static void NAMED(blend_lower)(const real *sums, double scale, const matrix *c)
{
    const real beta = (real)scale;
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j <= i; j++)
            NAMED(put)(c, i, j, sums[i * c->rows + j] + (beta != 0 ? beta * NAMED(get)(c, i, j) : 0));
}
