/* plain.h - what needs no memory and is quick where it is tiny, for the type `real` and the names NAMED(...): blocks.c
 * includes it once for each type. */

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

/* b <- alpha T b, or alpha T^-1 b, one element after the other. */
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

/* The lower triangle of c <- alpha a b + beta c, one element after the other; beta == 0: c is not read. */
static void NAMED(rank_plainly)(double alpha, const matrix *a, const matrix *b, double beta, const matrix *c)
{
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j <= i; j++) {
            real sum = 0;
            for (int64_t p = 0; p < a->cols; p++) sum += NAMED(get)(a, i, p) * NAMED(get)(b, p, j);
            const real old = beta != 0 ? (real)beta * NAMED(get)(c, i, j) : 0;
            NAMED(put)(c, i, j, (real)alpha * sum + old);
        }
}

/* full, whose rows are ld apart, <- all of a symmetric matrix of which the lower triangle is there. */
static void NAMED(expand)(const matrix *lower, real *full, int64_t ld)
{
    enum { SQUARE = 16 }; /* both ways of it stay in the L1 */
    const int64_t n = lower->rows;
    for (int64_t i0 = 0; i0 < n; i0 += SQUARE)
        for (int64_t j0 = 0; j0 <= i0; j0 += SQUARE)
            for (int64_t j = j0; j < j0 + SQUARE && j < n; j++)
                for (int64_t i = j > i0 ? j : i0; i < i0 + SQUARE && i < n; i++)
                    full[i * ld + j] = full[j * ld + i] = NAMED(get)(lower, i, j);
}
