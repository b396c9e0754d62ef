/* triangle_simd - the production kernel of the CPU for the diagonal blocks of a triangular matrix: trmm and trsm.
 *
 * IDEA      B <- T B and B <- T^-1 B differ from a product: rows of B depend on each other. HIGH of them are computed
 *           together. Rows outside of these are multiplied and added in registers, two vectors of columns at a time.
 *           Only a HIGH x HIGH triangle is left, which goes row by row.
 *
 *             T (lower), solved        B
 *             .-----.--.--.      .---------.
 *             | done   |  |      |  x x x  |     sum = - (rows of T) (rows of B that are done),   as in gemm_simd
 *             |--------.--|      |---------|     then, row by row in the HIGH x HIGH triangle:
 *             | -sum   |\ |      |  b b b  |     x = (b + sum) / t
 *             '--------'--'      '---------'
 *
 *           T is packed in slivers of HIGH rows. A sliver holds the columns that its rows have. B is computed in
 *           strips, which are copied there and back: rows of a strip are whole vectors whichever way B lies.
 *
 * NUMBERS   m flops for each element of B that is copied there and back; m is 264 at most.
 * LIMITS    33 KiB on the stack, a strip. The zeros of the other triangle are never multiplied, so that a NaN of B
 *           stays in the rows that depend on it. A diagonal element whose reciprocal is not a normal number divides;
 *           any other multiplies by it.
 * SOURCE    Goto, van de Geijn: High-performance implementation of the level-3 BLAS, 2008 (the packed trsm kernel). */
#include "rung.h"
#include "vec.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

enum { EDGE = CPU_TRIANGLE_EDGE, HIGH = CPU_TRIANGLE_HIGH, WIDE = 2 };
enum { COLUMNS = CPU_TRIANGLE_ROW_BYTES / (int)sizeof(real) };
_Static_assert(EDGE % HIGH == 0 && COLUMNS % (WIDE * LANES) == 0, "whole blocks");

typedef real strip[EDGE][COLUMNS] __attribute__((aligned(64)));

/* The sliver of rows i0 to i0 + HIGH - 1: columns 0 to i0 + HIGH - 1 of a lower T, i0 to the last of an upper one, of
 * each the HIGH elements side by side; of a solve with the other sign off the diagonal. */
static real *sliver(const cpu_triangle *p, int64_t i0)
{
    return (real *)p->packed + (p->lower ? i0 * (i0 + HIGH) / 2 : i0 * cpu_triangle_rows(p->m) - i0 * (i0 - HIGH) / 2);
}

/* Reciprocals of the diagonal, for a solve; 0: divide. */
static real *inverses(const cpu_triangle *p) { return (real *)p->packed + cpu_triangle_slivers(p->m); }

/* Element (i, j) of a matrix at any address. */
static inline real element(const void *at, int64_t i, int64_t rs, int64_t j, int64_t cs)
{
    real value;
    memcpy(&value, (const char *)at + (i * rs + j * cs) * (int64_t)sizeof value, sizeof value);
    return value;
}

/* Whether 1 / x is a normal number; found without dividing, which might raise a floating-point exception. */
static bool is_inverted(real x)
{
    const real least = REAL_IS_DOUBLE ? (real)DBL_MIN : (real)FLT_MIN;
    return isnormal(x) && fabs((double)x) <= 1 / (double)least;
}

/* Element (i, q) of a sliver. */
static real packed_element(const cpu_triangle *p, int64_t i, int64_t q)
{
    if (i == q) return i >= p->m || p->unit ? 1 : element(p->t, i, p->t_rs, i, p->t_cs);
    if (i >= p->m || q >= p->m || p->lower != (q < i)) return 0;
    const real value = element(p->t, i, p->t_rs, q, p->t_cs);
    return p->solves ? -value : value;
}

static void pack(const cpu_triangle *p)
{
    const int64_t rows = cpu_triangle_rows(p->m);
    const real sign = p->solves ? -1 : 1;
    for (int64_t i0 = 0; i0 < rows; i0 += HIGH) {
        const int64_t first = p->lower ? 0 : i0, last = p->lower ? i0 + HIGH : rows;
        real *to = sliver(p, i0);
        for (int64_t q = first; q < last; q++, to += HIGH) {
            const bool plain = i0 + HIGH <= p->m && q < p->m && (q < i0 || q >= i0 + HIGH);
            UNROLLED(6)
            for (int64_t i = 0; i < HIGH; i++)
                to[i] = plain ? sign * element(p->t, i0 + i, p->t_rs, q, p->t_cs) : packed_element(p, i0 + i, q);
        }
        for (int64_t i = i0; i < i0 + HIGH; i++) {
            const real diagonal = packed_element(p, i, i);
            inverses(p)[i] = p->solves && is_inverted(diagonal) ? 1 / diagonal : 0;
        }
    }
}

/* Columns j to j + cols - 1 of a B that lies by columns, to the strip or back, by squares of vectors. */
ALWAYS void transpose_strip(const cpu_triangle *p, int64_t j, int64_t cols, strip x, const bool back)
{
    const int64_t size = sizeof(real), whole_cols = cols / LANES * LANES, whole_rows = p->m / LANES * LANES;
    char *const b = (char *)p->b + j * p->b_cs * size;
    vec in[LANES], out[LANES];
    for (int64_t q = 0; q < whole_cols; q += LANES)
        for (int64_t i = 0; i < whole_rows; i += LANES) {
            UNROLLED(16)
            for (int v = 0; v < (int)LANES; v++)
                memcpy(&in[v], back ? (char *)&x[i + v][q] : b + (i + (q + v) * p->b_cs) * size, sizeof *in);
            vec_transpose(in, out);
            UNROLLED(16)
            for (int v = 0; v < (int)LANES; v++)
                memcpy(back ? b + (i + (q + v) * p->b_cs) * size : (char *)&x[i + v][q], &out[v], sizeof *in);
        }
    for (int64_t q = 0; q < cols; q++)
        for (int64_t i = q < whole_cols ? whole_rows : 0; i < p->m; i++) {
            char *const at = b + (i + q * p->b_cs) * size;
            memcpy(back ? at : (char *)&x[i][q], back ? (char *)&x[i][q] : at, sizeof(real));
        }
}

/* Columns j to j + cols - 1 of B to the strip, and more to a multiple of WIDE vectors, which repeat the last: lanes of
 * zeros might raise exceptions that B does not. */
static void copy_strip(const cpu_triangle *p, int64_t j, int64_t cols, strip to)
{
    const int64_t m = p->m;
    if (p->b_cs != 1) transpose_strip(p, j, cols, to, false);
    for (int64_t i = 0; p->b_cs == 1 && i < m; i++)
        memcpy(to[i], (char *)p->b + (i * p->b_rs + j) * (int64_t)sizeof(real), (size_t)cols * sizeof(real));
    for (int64_t i = 0; i < m; i++)
        for (int64_t q = cols; q % (WIDE * LANES) != 0; q++) to[i][q] = to[i][cols - 1];
}

static void copy_back(const cpu_triangle *p, int64_t j, int64_t cols, strip from)
{
    char *b = p->b;
    if (p->b_cs != 1) transpose_strip(p, j, cols, from, true);
    for (int64_t i = 0; p->b_cs == 1 && i < p->m; i++)
        memcpy(b + (i * p->b_rs + j) * (int64_t)sizeof(real), from[i], (size_t)cols * sizeof(real));
}

/* Rows i0 to i0 + HIGH - 1 of the strip, or, unless `whole`, those up to the last. */
ALWAYS void rows_at(const cpu_triangle *p, strip x, int64_t cols, int64_t i0, const bool whole, const bool solves,
                    const bool lower)
{
    const int high = whole ? HIGH : (int)(p->m - i0);
    const vec alpha = vec_all((real)p->alpha);
    const real *const inverse = inverses(p) + i0, *const triangle = sliver(p, i0) + (lower ? i0 * HIGH : 0);
    const int64_t first = lower ? 0 : i0 + HIGH, last = lower ? i0 : p->m; /* rows that are multiplied as they are */
    for (int64_t j = 0; j < cols; j += WIDE * LANES) {
        const real *factors = lower ? sliver(p, i0) : triangle + HIGH * HIGH;
        vec own[HIGH][WIDE], sum[HIGH][WIDE];
        UNROLLED(6)
        for (int i = 0; i < HIGH; i++) {
            UNROLLED(2)
            for (int w = 0; w < WIDE; w++) sum[i][w] = vec_all((real)-0.0); /* x + -0 is x */
        }
        for (int64_t q = first; q < last; q++, factors += HIGH) {
            const vec left = vec_load(&x[q][j]), right = vec_load(&x[q][j + LANES]);
            UNROLLED(6)
            for (int i = 0; i < HIGH; i++) {
                if (!whole && i >= high) continue;
                const vec factor = vec_all(factors[i]);
                sum[i][0] = vec_fma(factor, left, sum[i][0]), sum[i][1] = vec_fma(factor, right, sum[i][1]);
            }
        }
        UNROLLED(6)
        for (int i = 0; i < HIGH; i++) {
            UNROLLED(2)
            for (int w = 0; w < WIDE; w++) own[i][w] = vec_load(&x[whole || i < high ? i0 + i : i0][j + w * LANES]);
        }
        /* A solve begins with the row that depends on no other, a product with the one on which no other depends. */
        UNROLLED(6)
        for (int step = 0; step < HIGH; step++) {
            const int i = lower == solves ? step : HIGH - 1 - step;
            if (!whole && i >= high) continue;
            UNROLLED(2)
            for (int w = 0; w < WIDE; w++) {
                const vec diagonal = vec_all(triangle[i * HIGH + i]);
                vec value = sum[i][w];
                UNROLLED(6)
                for (int q = 0; q < HIGH; q++)
                    if ((lower ? q < i : q > i) && (whole || q < high))
                        value = vec_fma(vec_all(triangle[q * HIGH + i]), own[q][w], value);
                if (!solves)
                    own[i][w] = vec_mul(alpha, vec_fma(diagonal, own[i][w], value));
                else if (inverse[i] != 0)
                    own[i][w] = vec_mul(vec_all(inverse[i]), vec_add(own[i][w], value));
                else
                    own[i][w] = vec_add(own[i][w], value) / diagonal;
                vec_store(&x[i0 + i][j + w * LANES], own[i][w]);
            }
        }
    }
}

/* The strip, HIGH rows after HIGH rows. */
ALWAYS void rows_of(const cpu_triangle *p, strip x, int64_t cols, const bool solves, const bool lower)
{
    const int64_t last = cpu_triangle_rows(p->m) - HIGH;
    for (int64_t at = 0; at <= last; at += HIGH) {
        const int64_t i0 = lower == solves ? at : last - at;
        if (i0 + HIGH <= p->m)
            rows_at(p, x, cols, i0, true, solves, lower);
        else
            rows_at(p, x, cols, i0, false, solves, lower);
    }
}

static void scale(const cpu_triangle *p, strip x, int64_t cols)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < cols; j += LANES)
            vec_store(&x[i][j], vec_mul(vec_all((real)p->alpha), vec_load(&x[i][j])));
}

#define JOIN(x, y)  JOIN_(x, y)
#define JOIN_(x, y) x##y
void JOIN(KERNEL, _pack)(const cpu_triangle *p) { pack(p); }

void KERNEL(const cpu_triangle *p)
{
    strip x;
    for (int64_t j = 0; j < p->n; j += COLUMNS) {
        const int64_t cols = smaller(COLUMNS, p->n - j);
        copy_strip(p, j, cols, x);
        if (p->solves && p->alpha != 1) scale(p, x, cols);
        if (p->solves && p->lower)
            rows_of(p, x, cols, true, true);
        else if (p->solves)
            rows_of(p, x, cols, true, false);
        else if (p->lower)
            rows_of(p, x, cols, false, true);
        else
            rows_of(p, x, cols, false, false);
        copy_back(p, j, cols, x);
    }
}
