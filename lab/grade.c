/* grade.c - see grade.h. The reference adds each element's terms as pairs of doubles. */
#include "grade.h"
#include "element.h"

#include <math.h>
#include <stdlib.h>

const char *const grade_names[GRADE_TESTS] = {"zeros", "fixed point", "scaled", "underflow", "growth"};

/* Matrices of a test, as doubles that the type holds exactly, and as the product takes them. */
typedef struct work {
    const element *type;
    int64_t n;
    double unit, smallest;
    uint64_t seed, drawn;
    int products;
    int range; /* of the exponents that the tests spread magnitudes over: -range to range */
    double *exact[2], *row;
    void *stored[3];
} work;

/* From 1 up to 2. */
static double draw(work *w) { return 1 + (double)(element_mix(w->seed, w->drawn++) >> 12) * 0x1p-52; }

static void work_free(work *w)
{
    for (int i = 0; i < 2; i++) free(w->exact[i]);
    for (int i = 0; i < 3; i++) free(w->stored[i]);
    free(w->row);
}

static bool work_make(work *w)
{
    const size_t count = (size_t)(w->n * w->n);
    for (int i = 0; i < 2; i++) w->exact[i] = malloc(count * sizeof(double));
    for (int i = 0; i < 3; i++) w->stored[i] = malloc(count * (size_t)w->type->bytes);
    w->row = malloc((size_t)w->n * sizeof(double));
    return w->exact[0] && w->exact[1] && w->stored[0] && w->stored[1] && w->stored[2] && w->row;
}

/* What the type makes of the first `count` elements of both matrices. */
static void keep(work *w, int64_t count)
{
    for (int i = 0; i < 2; i++) {
        w->type->store(w->stored[i], 0, count, w->exact[i]);
        w->type->load(w->stored[i], 0, 1, count, w->exact[i], 1);
    }
}

/* The sum of a row's and a column's terms, to twice double's precision, and of their sizes. */
static double exact_sum(const double *a, const double *b, int64_t n, double *sizes)
{
    double high = 0, low = 0;
    *sizes = 0;
    for (int64_t p = 0; p < n; p++) {
        const double x = a[p] * b[p * n], rest = fma(a[p], b[p * n], -x), sum = high + x, part = sum - high;
        low += (high - (sum - part)) + (x - part) + rest;
        high = sum;
        *sizes += fabs(x);
    }
    return high + low;
}

/* Multiplies n rows and judges at most 32 of them, the last among these: the largest error over what is allowed. */
static tw_status judge(work *w, grade_product *product, void *with, int64_t n, double *worst, double *largest)
{
    enum { MOST_ROWS = 32 };
    keep(w, n * n);
    for (int64_t i = 0; i < n; i++) w->row[i] = NAN;
    for (int64_t i = 0; i < n; i++) w->type->store(w->stored[2], i * n, n, w->row);
    tw_status status = product(with, w->type->dtype, n, w->stored[0], w->stored[1], w->stored[2]);
    w->products++;
    const int64_t step = n > MOST_ROWS ? n / MOST_ROWS : 1;
    for (int64_t i = n - 1; status == TW_OK && i >= 0; i -= step) {
        w->type->load(w->stored[2], i * n, 1, n, w->row, 1);
        for (int64_t j = 0; j < n; j++) {
            double sizes;
            const double error = fabs(w->row[j] - exact_sum(w->exact[0] + i * n, w->exact[1] + j, n, &sizes)),
                         allowed = sizes == 0 ? 0 : (double)(n + 2) * w->unit * sizes + (double)(n + 1) * w->smallest;
            *worst = fmax(*worst, error == 0 ? 0 : isnan(error) ? INFINITY : error / allowed);
            if (sizes > 0) *largest = fmax(*largest, error / (w->unit * sizes));
        }
    }
    return status;
}

/* ---- the matrices ---- */

/* In one half of the rows every other element is 0, in one half of the columns the others are. */
static void make_zeros(work *w)
{
    const int64_t n = w->n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            w->exact[0][i * n + j] = i >= n / 2 && j % 2 == 0 ? 0 : draw(w) - 1.5;
            w->exact[1][i * n + j] = j >= n / 2 && i % 2 == 1 ? 0 : draw(w) - 1.5;
        }
}

/* An exponent for each step of k, from -range to range, in random order. */
static void draw_exponents(work *w, double *powers)
{
    const int64_t n = w->n;
    for (int64_t p = 0; p < n; p++) powers[p] = ldexp(1, (int)(2 * w->range * p / (n > 1 ? n - 1 : 1)) - w->range);
    for (int64_t p = n - 1; p > 0; p--) {
        const int64_t q = (int64_t)(element_mix(w->seed, w->drawn++) % (uint64_t)(p + 1));
        const double kept = powers[p];
        powers[p] = powers[q], powers[q] = kept;
    }
}

/* A(i, j) = y[(i + j) mod n], B(i, j) = z[(i + j) mod n], y = x d, z = x / d: the diagonal is the sum of x x. */
static void make_fixed(work *w)
{
    const int64_t n = w->n;
    draw_exponents(w, w->row);
    for (int64_t p = 0; p < n; p++) {
        const double x = draw(w);
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = i * n + (p - i + n) % n;
            w->exact[0][at] = x * w->row[p], w->exact[1][at] = x / w->row[p];
        }
    }
}

static void make_scaled(work *w)
{
    const int64_t n = w->n;
    const double largest = ldexp(1, w->range);
    draw_exponents(w, w->row);
    for (int64_t i = 0; i < n; i++)
        for (int64_t p = 0; p < n; p++) {
            w->exact[0][i * n + p] = draw(w) * (i == n - 1 ? largest : w->row[p]);
            w->exact[1][p * n + i] = draw(w) * (i == n - 1 ? largest : 1 / w->row[p]);
        }
}

static void make_even(work *w, int64_t n, int of_a, int of_b)
{
    for (int64_t i = 0; i < n * n; i++)
        w->exact[0][i] = ldexp(draw(w) - 1, of_a), w->exact[1][i] = ldexp(draw(w) - 1, of_b);
}

/* ---- the tests ---- */

static tw_status take_underflow(work *w, grade_product *product, void *with, double *worst)
{
    const int least = ilogb(w->smallest); /* -149, -1074 */
    double unused = 0;
    make_even(w, w->n, least / 2, least - least / 2 + 5);
    const tw_status status = judge(w, product, with, w->n, worst, &unused);
    if (status != TW_OK) return status;
    make_even(w, w->n, least + 8, w->range);
    return judge(w, product, with, w->n, worst, &unused);
}

/* The slope by least squares; errors below half a unit are that. */
static tw_status take_growth(work *w, grade_product *product, void *with, double *worst, double *slope)
{
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int64_t n = 16; n <= w->n; n *= 2) {
        double largest = 0.5;
        make_even(w, n, 0, 0);
        const tw_status status = judge(w, product, with, n, worst, &largest);
        if (status != TW_OK) return status;
        const double u = log2((double)n), v = log2(largest);
        count++, x += u, y += v, xx += u * u, xy += u * v;
    }
    *slope = count > 1 ? (count * xy - x * y) / (count * xx - x * x) : 0;
    return TW_OK;
}

tw_status grade_take(grade_product *product, void *with, tw_dtype dtype, int64_t n, uint64_t seed, grade *out)
{
    static void (*const makers[])(work *) = {make_zeros, make_fixed, make_scaled};
    const tw_lab_dtype *lab = tw_lab_dtype_of(dtype);
    work w = {.type = element_of(dtype),
              .n = n,
              .unit = lab->unit_roundoff,
              .smallest = lab->smallest,
              .seed = seed,
              .range = dtype == TW_F32 ? 55 : 500};
    tw_status status = work_make(&w) ? TW_OK : TW_NO_MEMORY;
    double unused = 0;
    *out = (grade){.letter = 'A'};
    for (int t = GRADE_ZEROS; status == TW_OK && t <= GRADE_SCALED; t++) {
        makers[t](&w);
        status = judge(&w, product, with, n, &out->worst[t], &unused);
    }
    if (status == TW_OK) status = take_underflow(&w, product, with, &out->worst[GRADE_UNDERFLOW]);
    if (status == TW_OK) status = take_growth(&w, product, with, &out->worst[GRADE_GROWTH], &out->slope);
    for (int t = 0; t < GRADE_TESTS; t++)
        if (!(out->worst[t] <= 1)) out->letter = 'B';
    if (!(out->worst[GRADE_ZEROS] <= 1) || !(out->worst[GRADE_GROWTH] <= 1) || !(out->slope <= 1)) out->letter = 'C';
    out->products = w.products;
    work_free(&w);
    return status;
}
