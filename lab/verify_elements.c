/* verify_elements.c - what a check judges element by element: rows as a whole, and rows and columns whose NaN,
 * infinities or overflow vectors cannot see. */
#include "verify.h"

#include <math.h>
#include <string.h>

static const double element_overhead = 128; /* multiply-adds that judging one element costs beside its k */

void verify_load_chunk(check *v, view from, int64_t row0, int64_t rows, int64_t col0, int64_t cols, bool masked)
{
    view_load(from, row0, rows, col0, cols, v->buffer, CHUNK);
    if (!masked || !v->masked) return;
    for (int64_t j = 0; j < cols; j++)
        if (v->col_flags[col0 + j])
            for (int64_t i = 0; i < rows; i++) v->buffer[i * CHUNK + j] = 0;
}

void verify_mark_failed(check *v, int64_t row)
{
    if (!(v->row_flags[row] & FAILED)) v->report->failed_rows++;
    v->row_flags[row] |= FAILED;
    v->report->passed = false;
}

static void note(check *v, int64_t row, int64_t col, double found, double expected, double bound, double ratio)
{
    verify_report *r = v->report;
    r->element_ratio = ratio;
    r->row = row, r->col = col;
    r->found = found, r->expected = expected, r->bound = bound;
}

exact_verdict verify_look_at(const check *v, int64_t row, int64_t col, const double *a, const double *b)
{
    return exact_judge_at(&v->x, a, b, row, col, view_at(v->c, row, col));
}

void verify_load_for(const check *v, int64_t row, int64_t col, double *a_row, double *b_col)
{
    if (!v->x.reads_ab) return;
    view_load(v->x.a, row, 1, 0, v->k, a_row, v->k);
    view_load(view_transposed(v->x.b), col, 1, 0, v->k, b_col, v->k);
}

bool verify_take(check *v, int64_t row, int64_t col, exact_verdict e)
{
    double found = view_at(v->c, row, col);
    verify_report *r = v->report;
    r->elements++;
    if (e.bound > r->worst_element_bound) r->worst_element_bound = e.bound;
    /* where nothing but one value is right, all that is wrong is infinitely far beyond its bound */
    const bool further = e.ratio == r->element_ratio && fabs(found - e.expected) > fabs(r->found - r->expected);
    if (r->row < 0 || e.ratio > r->element_ratio || further) note(v, row, col, found, e.expected, e.bound, e.ratio);
    if (!e.passed) verify_mark_failed(v, row);
    return e.passed;
}

static bool judge_element(check *v, int64_t row, int64_t col)
{
    verify_load_for(v, row, col, v->a_row, v->b_col);
    return verify_take(v, row, col, verify_look_at(v, row, col, v->a_row, v->b_col));
}

/* Is no sum of the products of one row, in any order, near the largest number? mass: theirs, as of reference_rows();
 * c0: as product_finish() reads it. */
static bool is_far_from_overflow(const product *x, const double *mass, const double *c0, int64_t count)
{
    const double most = x->accumulator->largest / 2 / (1 + x->g_sum + x->g_add), alpha = fmax(x->alpha_size, 1);
    for (int64_t j = 0; j < count; j++)
        if (!(alpha * mass[j] + (x->reads_c0 ? x->beta_size * fabs(c0[j]) : 0) < most)) return false;
    return true;
}

void verify_rows(check *v, const int64_t *rows, int64_t count)
{
    const product *x = &v->x;
    verify_report *report = v->report;
    const bool made = x->problem.epilogue != NULL;
    product sums = *x;
    if (!x->reads_ab) sums.problem.k = 0;
    double *high = v->values, *low = high + v->batch * v->n, *mass = low + v->batch * v->n;
    double *own = mass + v->batch * v->n, *c0 = own + v->n;
    for (int64_t r0 = 0; r0 < count; r0 += v->batch) {
        int64_t batch = count - r0 < v->batch ? count - r0 : v->batch;
        bool pairs = x->type->pair;
        const int most = v->options->threads;
        bool known = reference_rows(&sums, rows + r0, batch, most, high, pairs ? low : NULL, mass) == TW_OK;
        for (int64_t r = 0; r < batch; r++) {
            int64_t row = rows[r0 + r], at = r * v->n;
            bool loaded = false;
            if (x->reads_c0) view_load(x->c0, row, 1, 0, v->n, c0, v->n);
            const bool ordinary = known && made && is_far_from_overflow(x, mass + at, c0, v->n);
            if (known) product_finish(x, high + at, pairs ? low + at : NULL, mass + at, own, c0, v->n);
            for (int64_t j = 0; j < v->n; j++) {
                double found = view_at(v->c, row, j), bound = mass[at + j];
                double error = fabs((found - high[at + j]) - (pairs ? low[at + j] : 0));
                if (ordinary) {
                    const double limit = (bound + own[j]) * (1 + 0x1p-40);
                    const exact_range acc = exact_around(high[at + j], pairs ? low[at + j] : 0, limit);
                    verify_take(v, row, j, exact_made(x, row, j, acc, found));
                    continue;
                }
                if (known && !made && isfinite(bound) && (error + own[j]) * (1 + 0x1p-40) <= bound) {
                    report->elements++;
                    if (bound > report->worst_element_bound) report->worst_element_bound = bound;
                    if (report->row < 0 || error > report->element_ratio * bound)
                        note(v, row, j, found, high[at + j], bound, error == 0 ? 0 : error / bound);
                    continue;
                }
                if (x->reads_ab && !loaded) view_load(x->a, row, 1, 0, v->k, v->a_row, v->k);
                loaded = true;
                if (x->reads_ab) view_load(view_transposed(x->b), j, 1, 0, v->k, v->b_col, v->k);
                verify_take(v, row, j, verify_look_at(v, row, j, v->a_row, v->b_col));
            }
        }
    }
}

static bool afford(check *v, double work)
{
    if (work > v->work) return false;
    v->work -= work;
    return true;
}

static bool same_class(double x, double y)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    return isinf(x) ? isinf(y) && (x > 0) == (y > 0) : !isinf(y);
}

/* An element that must be NaN or infinite, by its class. Where the classes differ the exact judge decides, since a sum
 * of finite products may overflow, and where an imaginary alpha takes the other part's sum. False: it is wrong. */
static bool judge_class(check *v, int64_t row, int64_t col, double sum)
{
    double expected = v->x.alpha * sum;
    if (v->x.reads_c0) expected += v->x.beta * view_at(v->x.c0, row, col);
    if (v->x.reads_c0 && v->x.beta_imaginary != 0) expected += v->x.beta_imaginary * view_at(v->x.c0_by_i, row, col);
    v->report->elements++;
    if ((v->x.alpha_imaginary == 0 || isnan(sum)) && same_class(view_at(v->c, row, col), expected)) return true;
    if (afford(v, (double)v->k + element_overhead)) {
        v->report->elements--;
        return judge_element(v, row, col);
    }
    v->report->unchecked++;
    return true;
}

/* A row of op(A) that holds NaN or infinities: no element of C's row can be finite. */
static void judge_row_classes(check *v, int64_t row)
{
    double *sums = v->class_sums;
    view_load(v->x.a, row, 1, 0, v->k, v->a_row, v->k);
    if (v->row_flags[row] & HAS_NAN) {
        for (int64_t j = 0; j < v->n; j++) sums[j] = (double)NAN;
    } else {
        int64_t terms = 0; /* those of the row's infinities; all, where B has infinities too */
        for (int64_t p = 0; p < v->k; p++) terms += v->masked || isinf(v->a_row[p]);
        if (!afford(v, (double)terms * (double)v->n)) {
            v->report->unchecked += v->n;
            return;
        }
        memset(sums, 0, (size_t)v->n * sizeof *sums);
        for (int64_t p = 0; p < v->k; p++) {
            if (!v->masked && !isinf(v->a_row[p])) continue;
            for (int64_t j0 = 0; j0 < v->n; j0 += CHUNK) {
                int64_t cols = v->n - j0 < CHUNK ? v->n - j0 : CHUNK;
                view_load(v->x.b, p, 1, j0, cols, v->buffer, CHUNK);
                for (int64_t j = 0; j < cols; j++) sums[j0 + j] += v->a_row[p] * v->buffer[j];
            }
        }
    }
    for (int64_t j = 0; j < v->n; j++)
        if (!judge_class(v, row, j, sums[j])) return;
}

/* A column of op(B) that does, at the rows of op(A) that do not. */
static void judge_column_classes(check *v, int64_t col)
{
    double *sums = v->class_sums;
    view at = view_transposed(v->x.a);
    bool nan = v->col_flags[col] & HAS_NAN;
    for (int64_t i = 0; i < v->m; i++) sums[i] = nan ? (double)NAN : 0;
    for (int64_t p = 0; p < v->k && !nan; p++) {
        double b = view_at(v->x.b, p, col);
        if (!isinf(b)) continue;
        if (!afford(v, (double)v->m)) {
            v->report->unchecked += v->m;
            return;
        }
        for (int64_t i0 = 0; i0 < v->m; i0 += CHUNK) {
            int64_t rows = v->m - i0 < CHUNK ? v->m - i0 : CHUNK;
            view_load(at, p, 1, i0, rows, v->buffer, CHUNK);
            for (int64_t i = 0; i < rows; i++) sums[i0 + i] += v->buffer[i] * b;
        }
    }
    for (int64_t i = 0; i < v->m; i++)
        if (!(v->row_flags[i] & (HAS_NAN | HAS_INFINITY)) && !judge_class(v, i, col, sums[i])) return;
}

/* A row in which something is not finite although A's is, or in which the lab's own sums overflow. */
static void judge_dark_row(check *v, int64_t row)
{
    for (int64_t j0 = 0; j0 < v->n; j0 += CHUNK) { /* what is not finite there is most likely the fault */
        int64_t cols = v->n - j0 < CHUNK ? v->n - j0 : CHUNK, j = 0;
        verify_load_chunk(v, v->c, row, 1, j0, cols, true);
        while (j < cols && isfinite(v->buffer[j])) j++;
        if (j == cols) continue;
        if (afford(v, (double)v->k + element_overhead) && !judge_element(v, row, j0 + j)) return;
        break;
    }
    if (afford(v, (double)v->n * ((double)v->k + element_overhead)))
        verify_rows(v, &row, 1);
    else
        v->report->unchecked += v->n;
}

void verify_by_classes(check *v)
{
    for (int64_t i = 0; i < v->m; i++)
        if (v->row_flags[i] & (HAS_NAN | HAS_INFINITY)) judge_row_classes(v, i);
    for (int64_t j = 0; j < v->n && v->masked; j++)
        if (v->col_flags[j]) judge_column_classes(v, j);
    for (int64_t i = 0; i < v->m; i++)
        if ((v->row_flags[i] & DARK) && !(v->row_flags[i] & FAILED)) judge_dark_row(v, i);
}
