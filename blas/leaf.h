/* leaf.h - the products and solves at the diagonal of a triangular matrix, EDGE x EDGE at most, for the type `real` and
 * the names NAMED(...): blocks.c includes it once for each type.
 *
 * T's triangle and a strip of B, COLUMNS wide, are copied: rows of the strip are whole vectors, whichever way B lies,
 * and operands need no alignment. A row of B loses (or gains) multiples of other rows, the sums in registers, each
 * product rounded before it is added: the bits are the same with any instructions. What is zero in T is not multiplied,
 * so that no NaN of one row of B comes into another that does not depend on it. */

typedef real NAMED(wide) __attribute__((vector_size(32)));

typedef struct NAMED(leaf) {
    real t[EDGE][EDGE];
    NAMED(wide) x[EDGE][COLUMNS * sizeof(real) / 32];
} NAMED(leaf);

enum { NAMED(LANES) = 32 / sizeof(real), NAMED(VECTORS) = COLUMNS / NAMED(LANES) };

/* x <- T^-1 x (solves), or alpha T x, HIGH rows and one vector of columns at a time: the sums in registers over all
 * rows outside of the HIGH x HIGH triangle at the diagonal, then that triangle. Rows from m on hold no numbers that
 * matter. */
ALWAYS void NAMED(leaf_of)(NAMED(leaf) * leaf, int m, const bool solves, const bool lower, real alpha)
{
    const int blocks = (m + HIGH - 1) / HIGH;
    for (int step = 0; step < blocks; step++) {
        /* a solve begins with the row that depends on no other, a product with that on which no other depends */
        const int i0 = (lower == solves ? step : blocks - 1 - step) * HIGH, first = lower ? 0 : i0 + HIGH,
                  last = lower ? i0 : m;
        real inverse[HIGH];
        for (int i = 0; i < HIGH; i++) inverse[i] = 1 / leaf->t[i0 + i][i0 + i];
        for (int v = 0; v < (int)NAMED(VECTORS); v += 2) {
            NAMED(wide) sum[HIGH][2];
            UNROLLED
            for (int i = 0; i < HIGH; i++) sum[i][0] = sum[i][1] = (NAMED(wide)){0};
            for (int p = first; p < last; p++) {
                const NAMED(wide) left = leaf->x[p][v], right = leaf->x[p][v + 1];
                UNROLLED
                for (int i = 0; i < HIGH; i++) {
                    const real factor = leaf->t[i0 + i][p];
                    sum[i][0] += factor * left, sum[i][1] += factor * right;
                }
            }
            NAMED(wide) x[HIGH][2];
            UNROLLED
            for (int i = 0; i < HIGH; i++) x[i][0] = leaf->x[i0 + i][v], x[i][1] = leaf->x[i0 + i][v + 1];
            UNROLLED
            for (int order = 0; order < HIGH; order++) {
                const int i = lower == solves ? order : HIGH - 1 - order;
                const real diagonal = leaf->t[i0 + i][i0 + i];
                UNROLLED
                for (int w = 0; w < 2; w++) {
                    for (int q = lower ? 0 : i + 1; q < (lower ? i : HIGH); q++)
                        sum[i][w] += leaf->t[i0 + i][i0 + q] * x[q][w];
                    if (!solves)
                        x[i][w] = alpha * (diagonal * x[i][w] + sum[i][w]);
                    else if (isnormal(inverse[i]))
                        x[i][w] = (x[i][w] - sum[i][w]) * inverse[i];
                    else
                        x[i][w] = (x[i][w] - sum[i][w]) / diagonal;
                }
            }
            UNROLLED
            for (int i = 0; i < HIGH; i++) leaf->x[i0 + i][v] = x[i][0], leaf->x[i0 + i][v + 1] = x[i][1];
        }
    }
}

/* The same text for the vectors that there are. */
static void NAMED(leaf_base)(NAMED(leaf) * leaf, const triangle *t, int m, bool solves, real alpha)
{
    FOUR_WAYS(NAMED(leaf_of));
}
#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static void NAMED(leaf_avx2)(NAMED(leaf) * leaf, const triangle *t, int m,
                                                                 bool solves, real alpha)
{
    FOUR_WAYS(NAMED(leaf_of));
}
__attribute__((target("avx512f"))) static void NAMED(leaf_avx512)(NAMED(leaf) * leaf, const triangle *t, int m,
                                                                  bool solves, real alpha)
{
    FOUR_WAYS(NAMED(leaf_of));
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

/* The same without copies, one element after the other. */
static void NAMED(triangle_plainly)(const triangle *t, bool solves, real alpha, const matrix *b)
{
    const int64_t m = b->rows;
    for (int64_t j = 0; j < b->cols; j++)
        for (int64_t step = 0; step < m; step++) {
            const int64_t i = t->lower == solves ? step : m - 1 - step;
            const real diagonal = t->unit ? 1 : NAMED(get)(&t->part, i, i), x = NAMED(get)(b, i, j);
            real sum = 0;
            for (int64_t p = t->lower ? 0 : i + 1; p < (t->lower ? i : m); p++)
                sum += NAMED(get)(&t->part, i, p) * NAMED(get)(b, p, j);
            NAMED(put)(b, i, j, solves ? (alpha * x - sum) / diagonal : alpha * (diagonal * x + sum));
        }
}

/* A strip of b, columns j0 to j0 + cols - 1, to x or back; beyond its last column and row x holds zeros. */
static void NAMED(copy_strip)(const matrix *b, int64_t j0, int cols, NAMED(leaf) * leaf, bool back)
{
    const int m = (int)b->rows;
    const size_t bytes = (size_t)cols * sizeof(real);
    for (int j = 0; b->by_columns && j < cols; j++)
        for (int i = 0; i < m; i++) {
            real *const at = (real *)leaf->x[i] + j;
            if (back)
                NAMED(put)(b, i, j0 + j, *at);
            else
                *at = NAMED(get)(b, i, j0 + j);
        }
    for (int i = 0; !b->by_columns && i < m; i++) {
        char *const at = b->at + (i * b->ld + j0) * (int64_t)sizeof(real);
        memcpy(back ? at : (char *)leaf->x[i], back ? (char *)leaf->x[i] : at, bytes);
    }
    for (int i = m; !back && i % HIGH != 0; i++) memset(leaf->x[i], 0, sizeof leaf->x[i]);
    for (int i = 0; !back && cols < COLUMNS && i < m; i++)
        memset((real *)leaf->x[i] + cols, 0, sizeof leaf->x[i] - bytes);
}

static void NAMED(triangle_leaf)(const triangle *t, bool solves, double scale, const matrix *b)
{
    const int m = (int)b->rows, padded = (m + HIGH - 1) / HIGH * HIGH;
    const real alpha = (real)scale;
    NAMED(leaf) leaf;
    if (m * b->cols <= PLAIN) {
        NAMED(triangle_plainly)(t, solves, alpha, b);
        return;
    }
    for (int i = 0; i < m; i++)
        for (int p = t->lower ? 0 : i + 1; p < (t->lower ? i : m); p++) leaf.t[i][p] = NAMED(get)(&t->part, i, p);
    /* rows and columns up to whole blocks: of the unit matrix, and of zeros */
    for (int i = 0; i < padded; i++) {
        leaf.t[i][i] = i >= m || t->unit ? 1 : NAMED(get)(&t->part, i, i);
        for (int p = i < m ? m : 0; p < padded; p++)
            if (p != i) leaf.t[i][p] = 0;
    }
    for (int64_t j0 = 0; j0 < b->cols; j0 += COLUMNS) {
        const int cols = b->cols - j0 < COLUMNS ? (int)(b->cols - j0) : COLUMNS;
        NAMED(copy_strip)(b, j0, cols, &leaf, false);
        for (int i = 0; solves && alpha != 1 && i < m; i++)
            for (int v = 0; v < (int)NAMED(VECTORS); v++) leaf.x[i][v] *= alpha;
#ifdef __x86_64__
        if (__builtin_cpu_supports("avx512f"))
            NAMED(leaf_avx512)(&leaf, t, m, solves, alpha);
        else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            NAMED(leaf_avx2)(&leaf, t, m, solves, alpha);
        else
#endif
            NAMED(leaf_base)(&leaf, t, m, solves, alpha);
        NAMED(copy_strip)(b, j0, cols, &leaf, true);
    }
}

/* The lower triangle of c <- alpha a b + beta c, one element after the other; beta == 0: c is not read. */
static void NAMED(rank_plainly)(double alpha, const matrix *a, const matrix *b, double beta, const matrix *c)
{
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j <= i; j++) {
            real sum = 0;
            for (int64_t p = 0; alpha != 0 && p < a->cols; p++) sum += NAMED(get)(a, i, p) * NAMED(get)(b, p, j);
            NAMED(put)
            (c, i, j, (alpha != 0 ? (real)alpha * sum : 0) + (beta != 0 ? (real)beta * NAMED(get)(c, i, j) : 0));
        }
}

/* full <- all of a symmetric matrix of which the lower triangle is there. */
static void NAMED(expand)(const matrix *lower, real *full)
{
    enum { SQUARE = 32 }; /* both ways of it stay in the L1 */
    const int64_t n = lower->rows;
    for (int64_t i0 = 0; i0 < n; i0 += SQUARE)
        for (int64_t j0 = 0; j0 <= i0; j0 += SQUARE)
            for (int64_t j = j0; j < j0 + SQUARE && j < n; j++)
                for (int64_t i = j > i0 ? j : i0; i < i0 + SQUARE && i < n; i++)
                    full[i * n + j] = full[j * n + i] = NAMED(get)(lower, i, j);
}
