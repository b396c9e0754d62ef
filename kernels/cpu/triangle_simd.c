/* triangle_simd - the production kernel of the CPU for the diagonal blocks of a triangular matrix: trmm and trsm.
 *
 * IDEA      B <- T B and B <- T^-1 B differ from a product in that rows of B depend on each other. In blocks of HIGH
 *           rows most of the work does not: rows outside of the block are multiplied and added in registers, two vectors
 *           of columns at a time, and only a HIGH x HIGH triangle is left that goes row by row.
 *
 *                 T (lower)          B
 *             .-----.--.--.      .---------.
 *             | done   |  |      |  x x x  |     sum = - (rows of T) (rows of B that are done),   as in gemm_simd
 *             |--------.--|      |---------|     then, row by row in the HIGH x HIGH triangle:
 *             | -sum   |\ |      |  b b b  |     x = (b + sum) / t
 *             '--------'--'      '---------'
 *
 *           T and a strip of B are copied first: rows of the strip are whole vectors whichever way B lies, and T has
 *           whole blocks, with the unit matrix behind its last row.
 *
 * NUMBERS   m flops for each element of B that is copied there and back; m is 48 at most.
 * LIMITS    The zeros of the other triangle are never multiplied, so that a NaN of B stays in the rows that depend on
 *           it. A diagonal element whose reciprocal is not a normal number divides; any other multiplies by it.
 * SOURCE    Goto, van de Geijn: High-performance implementation of the level-3 BLAS, 2008 (the packed trsm kernel). */
#include "rung.h"
#include "vec.h"

#include <math.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

enum { EDGE = CPU_TRIANGLE_EDGE, COLUMNS = 32, HIGH = 6, WIDE = 2 };
_Static_assert(EDGE % HIGH == 0 && COLUMNS % (WIDE * LANES) == 0, "whole blocks");

/* T as whole blocks, for a solve with the other sign off the diagonal, and a strip of B. */
typedef struct block {
    real t[EDGE][EDGE], inverse[EDGE]; /* of the diagonal; 0: divide */
    real x[EDGE][COLUMNS] __attribute__((aligned(64)));
} block;

/* Element (i, j) of a matrix at any address. */
static inline real element(const void *at, int64_t i, int64_t rs, int64_t j, int64_t cs)
{
    real value;
    memcpy(&value, (const char *)at + (i * rs + j * cs) * (int64_t)sizeof value, sizeof value);
    return value;
}

static void copy_triangle(const cpu_triangle *p, block *to)
{
    const int64_t m = p->m, padded = (m + HIGH - 1) / HIGH * HIGH;
    for (int64_t i = 0; i < padded; i++) {
        const int64_t first = p->lower ? 0 : i + 1, last = p->lower ? i : m;
        memset(to->t[i], 0, sizeof to->t[i]);
        for (int64_t q = first; i < m && q < last; q++) {
            const real value = element(p->t, i, p->t_rs, q, p->t_cs);
            to->t[i][q] = p->solves ? -value : value;
        }
        const real diagonal = i >= m || p->unit ? 1 : element(p->t, i, p->t_rs, i, p->t_cs);
        to->t[i][i] = diagonal;
        to->inverse[i] = isnormal(1 / diagonal) ? 1 / diagonal : 0;
    }
}

/* Columns j to j + cols - 1 of B to the strip; behind them and behind the last row it holds zeros. */
static void copy_strip(const cpu_triangle *p, int64_t j, int64_t cols, block *to)
{
    const int64_t m = p->m;
    for (int64_t i = 0; i < m; i++) {
        if (cols < COLUMNS) memset(to->x[i], 0, sizeof to->x[i]);
        if (p->b_cs == 1)
            memcpy(to->x[i], (char *)p->b + (i * p->b_rs + j) * (int64_t)sizeof(real), (size_t)cols * sizeof(real));
    }
    for (int64_t q = 0; p->b_cs != 1 && q < cols; q++)
        for (int64_t i = 0; i < m; i++) to->x[i][q] = element(p->b, i, p->b_rs, j + q, p->b_cs);
    for (int64_t i = m; i % HIGH != 0; i++) memset(to->x[i], 0, sizeof to->x[i]);
}

static void copy_back(const cpu_triangle *p, int64_t j, int64_t cols, const block *from)
{
    char *b = p->b;
    for (int64_t i = 0; p->b_cs == 1 && i < p->m; i++)
        memcpy(b + (i * p->b_rs + j) * (int64_t)sizeof(real), from->x[i], (size_t)cols * sizeof(real));
    for (int64_t q = 0; p->b_cs != 1 && q < cols; q++)
        for (int64_t i = 0; i < p->m; i++)
            memcpy(b + (i * p->b_rs + (j + q) * p->b_cs) * (int64_t)sizeof(real), &from->x[i][q], sizeof(real));
}

/* Rows i0 to i0 + HIGH - 1 of the strip, of which rows first to last - 1 are multiplied as they are. */
ALWAYS void rows_at(block *s, int64_t i0, int64_t first, int64_t last, const bool solves, const bool lower, real scale)
{
    for (int64_t j = 0; j < COLUMNS; j += WIDE * LANES) {
        vec x[HIGH][WIDE], sum[HIGH][WIDE];
        UNROLLED(6)
        for (int i = 0; i < HIGH; i++) {
            UNROLLED(2)
            for (int w = 0; w < WIDE; w++) sum[i][w] = vec_all(0);
        }
        for (int64_t p = first; p < last; p++) {
            const vec left = vec_load(&s->x[p][j]), right = vec_load(&s->x[p][j + LANES]);
            UNROLLED(6)
            for (int i = 0; i < HIGH; i++) {
                const vec factor = vec_all(s->t[i0 + i][p]);
                sum[i][0] = vec_fma(factor, left, sum[i][0]), sum[i][1] = vec_fma(factor, right, sum[i][1]);
            }
        }
        UNROLLED(6)
        for (int i = 0; i < HIGH; i++) {
            UNROLLED(2)
            for (int w = 0; w < WIDE; w++) x[i][w] = vec_load(&s->x[i0 + i][j + w * LANES]);
        }
        /* A solve begins with the row that depends on no other, a product with the one on which no other depends. */
        UNROLLED(6)
        for (int step = 0; step < HIGH; step++) {
            const int i = lower == solves ? step : HIGH - 1 - step;
            const real diagonal = s->t[i0 + i][i0 + i], inverse = s->inverse[i0 + i];
            UNROLLED(2)
            for (int w = 0; w < WIDE; w++) {
                vec value = sum[i][w];
                UNROLLED(6)
                for (int q = 0; q < HIGH; q++)
                    if (lower ? q < i : q > i) value = vec_fma(vec_all(s->t[i0 + i][i0 + q]), x[q][w], value);
                if (!solves)
                    x[i][w] = vec_mul(vec_all(scale), vec_fma(vec_all(diagonal), x[i][w], value));
                else if (inverse != 0)
                    x[i][w] = vec_mul(vec_all(inverse), vec_add(x[i][w], value));
                else
                    x[i][w] = vec_add(x[i][w], value) / vec_all(diagonal);
                vec_store(&s->x[i0 + i][j + w * LANES], x[i][w]);
            }
        }
    }
}

/* The strip, block of rows after block of rows. */
ALWAYS void strip(block *s, int64_t m, const bool solves, const bool lower, real alpha)
{
    const int64_t blocks = (m + HIGH - 1) / HIGH;
    for (int64_t step = 0; step < blocks; step++) {
        const int64_t i0 = (lower == solves ? step : blocks - 1 - step) * HIGH;
        rows_at(s, i0, lower ? 0 : i0 + HIGH, lower ? i0 : m, solves, lower, alpha);
    }
}

static void scale(block *s, int64_t m, real alpha)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < COLUMNS; j += LANES)
            vec_store(&s->x[i][j], vec_mul(vec_all(alpha), vec_load(&s->x[i][j])));
}

void KERNEL(const cpu_triangle *p)
{
    const real alpha = (real)p->alpha;
    block s;
    copy_triangle(p, &s);
    for (int64_t j = 0; j < p->n; j += COLUMNS) {
        const int64_t cols = smaller(COLUMNS, p->n - j);
        copy_strip(p, j, cols, &s);
        if (p->solves && alpha != 1) scale(&s, p->m, alpha);
        if (p->solves && p->lower)
            strip(&s, p->m, true, true, alpha);
        else if (p->solves)
            strip(&s, p->m, true, false, alpha);
        else if (p->lower)
            strip(&s, p->m, false, true, alpha);
        else
            strip(&s, p->m, false, false, alpha);
        copy_back(p, j, cols, &s);
    }
}
