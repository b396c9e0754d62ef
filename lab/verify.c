/* verify.c - judges somebody's C without computing the product: with x a vector of random signs, C x must be
 * alpha A (B x) + beta C0 x, row by row, within the sum of the row's bounds (Freivalds 1979). What vectors cannot see
 * is judged element by element, in exact arithmetic, as far as work allows; the report says what was left. */
#include "oracle.h"
#include "exact.h"
#include "whole.h"
#include "parallel.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL = 16, CHUNK = 1024 }; /* rows and columns of a matrix held as doubles at a time */
enum { MOST_VECTORS = 1 << 16 };
enum { WORST_ROWS = 16 }; /* rows searched for wrong elements */
/* of a row or column; DARK: the vectors cannot see it */
enum { HAS_NAN = 1, HAS_INFINITY = 2, DARK = 4, FAILED = 8 };
static const double single_work = 0x1p27;   /* multiply-adds spent on elements that vectors cannot see, at least */
static const double element_overhead = 128; /* multiply-adds that judging one element costs beside its k */

typedef struct check {
    product x;
    view c;
    int64_t m, n, k;
    int64_t samples;
    const verify_options *options;
    verify_report *report;
    double work; /* left for elements that vectors cannot see */
    unsigned char *row_flags, *col_flags;
    bool masked;           /* some column has flags */
    int threads;           /* for vectors and samples */
    double *buffer;        /* PANEL x CHUNK, of each thread */
    double *signs;         /* n x LANES: +1 and -1 */
    lanes_panel y;         /* k x LANES: B x; all in the head where one double is enough */
    double *z;             /* k: sums of |b| over the columns that are not flagged */
    double *row_bound;     /* m: sum of the bounds of a row's elements and of the residual's own error */
    double *row_share;     /* m: largest |residual| over that bound */
    double *a_row, *b_col; /* k: for single elements, of each thread */
    double *class_sums;    /* the larger of m and n */
    double *values;        /* for rows recomputed as a whole: batch x n three times, and n twice */
    int64_t batch;         /* rows at a time: all that are searched, fewer where they are long */
    int64_t *largest_cols; /* of every largest_step-th row */
    int64_t largest_step;
    pthread_mutex_t *report_lock; /* held where threads write to the report, the flags of rows and panels_done */
    double *panels_done, panels_all;
} check;

/* Another panel is done. Only the caller's own thread calls its function. */
static void tick(check *v, int thread)
{
    *v->panels_done += 1;
    if (v->options->progress != NULL && thread == 0)
        v->options->progress(v->options->progress_context, fmin(*v->panels_done / v->panels_all, 1));
}

/* The check as one of its threads sees it: the same, with a buffer of its own. */
static check of_thread(const check *v, int thread)
{
    check own = *v;
    own.buffer += (int64_t)thread * PANEL * CHUNK;
    return own;
}

/* ---- single elements ---- */

static void mark_failed(check *v, int64_t row)
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

static exact_verdict look_at(const check *v, int64_t row, int64_t col, const double *a, const double *b)
{
    return exact_judge_at(&v->x, a, b, row, col, view_at(v->c, row, col));
}

/* The row of op(A) and the column of op(B) that an element needs. */
static void load_for(const check *v, int64_t row, int64_t col, double *a_row, double *b_col)
{
    if (!v->x.reads_ab) return;
    view_load(v->x.a, row, 1, 0, v->k, a_row, v->k);
    view_load(view_transposed(v->x.b), col, 1, 0, v->k, b_col, v->k);
}

/* The verdict in the report; did the element pass? */
static bool take(check *v, int64_t row, int64_t col, exact_verdict e)
{
    double found = view_at(v->c, row, col);
    verify_report *r = v->report;
    r->elements++;
    if (e.bound > r->worst_element_bound) r->worst_element_bound = e.bound;
    /* where nothing but one value is right, all that is wrong is infinitely far beyond its bound */
    const bool further = e.ratio == r->element_ratio && fabs(found - e.expected) > fabs(r->found - r->expected);
    if (r->row < 0 || e.ratio > r->element_ratio || further) note(v, row, col, found, e.expected, e.bound, e.ratio);
    if (!e.passed) mark_failed(v, row);
    return e.passed;
}

static bool judge_element(check *v, int64_t row, int64_t col)
{
    load_for(v, row, col, v->a_row, v->b_col);
    return take(v, row, col, look_at(v, row, col, v->a_row, v->b_col));
}

/* Recompute rows as a whole, in higher precision; where that does not settle an element, in exact arithmetic. */
static void judge_rows(check *v, const int64_t *rows, int64_t count)
{
    const product *x = &v->x;
    verify_report *report = v->report;
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
            if (known) product_finish(x, high + at, pairs ? low + at : NULL, mass + at, own, c0, v->n);
            for (int64_t j = 0; j < v->n; j++) {
                double found = view_at(v->c, row, j), bound = mass[at + j];
                double error = fabs((found - high[at + j]) - (pairs ? low[at + j] : 0));
                if (known && isfinite(bound) && (error + own[j]) * (1 + 0x1p-40) <= bound) {
                    report->elements++;
                    if (bound > report->worst_element_bound) report->worst_element_bound = bound;
                    if (report->row < 0 || error > report->element_ratio * bound)
                        note(v, row, j, found, high[at + j], bound, error == 0 ? 0 : error / bound);
                    continue;
                }
                if (x->reads_ab && !loaded) view_load(x->a, row, 1, 0, v->k, v->a_row, v->k);
                loaded = true;
                if (x->reads_ab) view_load(view_transposed(x->b), j, 1, 0, v->k, v->b_col, v->k);
                take(v, row, j, look_at(v, row, j, v->a_row, v->b_col));
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

/* ---- vectors ---- */

/* Load rows x cols of a matrix into the buffer, CHUNK apart; columns of C and B that have flags become 0. */
static void load_chunk(check *v, view from, int64_t row0, int64_t rows, int64_t col0, int64_t cols, bool masked)
{
    view_load(from, row0, rows, col0, cols, v->buffer, CHUNK);
    if (!masked || !v->masked) return;
    for (int64_t j = 0; j < cols; j++)
        if (v->col_flags[col0 + j])
            for (int64_t i = 0; i < rows; i++) v->buffer[i * CHUNK + j] = 0;
}

static void make_signs(check *v, int group)
{
    uint64_t seed = element_mix(v->options->seed, (uint64_t)group);
    for (int64_t j = 0; j < v->n; j++) {
        uint64_t bits = element_mix(seed, (uint64_t)j);
        for (int l = 0; l < LANES; l++) v->signs[j * LANES + l] = (bits >> (8 * l)) & 1 ? 1 : -1;
    }
}

/* sum of |v|, or of |v| w; eight sums at once. */
static double sum_of_sizes(const double *v, const double *w, int64_t count)
{
    double sums[LANES] = {0}, all = 0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++) sums[l] += w != NULL ? fabs(v[i + l]) * w[i + l] : fabs(v[i + l]);
    for (; i < count; i++) all += w != NULL ? fabs(v[i]) * w[i] : fabs(v[i]);
    for (int l = 0; l < LANES; l++) all += sums[l];
    return all;
}

static void add_signed(const check *v, const double *values, int64_t col0, int64_t count, lanes *sums)
{
    if (v->x.type->pair)
        lanes_sum_pair(values, v->signs + col0 * LANES, count, sums);
    else
        lanes_dot(values, v->signs + col0 * LANES, count, sums);
}

/* What threads share of one group of vectors. */
typedef struct group_job {
    check *v;
    int group, lanes_used;
    bool finite; /* all of y */
} group_job;

/* The panel's rows of y = B x and z = |B| 1. */
static void make_y_panel(void *of, int thread, int64_t index)
{
    group_job *job = of;
    check own = of_thread(job->v, thread), *v = &own;
    const int64_t p0 = index * PANEL, rows = v->k - p0 < PANEL ? v->k - p0 : PANEL;
    bool finite = true;
    lanes sums[PANEL];
    memset(sums, 0, sizeof sums);
    for (int64_t p = 0; p < rows; p++) v->z[p0 + p] = 0;
    for (int64_t j0 = 0; j0 < v->n; j0 += CHUNK) {
        int64_t cols = v->n - j0 < CHUNK ? v->n - j0 : CHUNK;
        load_chunk(v, v->x.b, p0, rows, j0, cols, true);
        for (int64_t p = 0; p < rows; p++) {
            add_signed(v, v->buffer + p * CHUNK, j0, cols, &sums[p]);
            v->z[p0 + p] += sum_of_sizes(v->buffer + p * CHUNK, NULL, cols);
        }
    }
    for (int64_t p = 0; p < rows; p++) {
        int64_t at = (p0 + p) * LANES;
        for (int l = 0; l < LANES; l++) {
            pair value = pair_sum(sums[p].high[l], sums[p].low[l]);
            v->y.head[at + l] = value.high;
            if (v->x.type->pair) v->y.low[at + l] = value.low;
            finite = finite && isfinite(value.high) && isfinite(value.low);
        }
        if (v->x.type->pair) split_to(v->y.head + at, LANES, v->y.head + at, v->y.tail + at);
    }
    pthread_mutex_lock(v->report_lock);
    job->finite = job->finite && finite;
    tick(v, thread);
    pthread_mutex_unlock(v->report_lock);
}

/* y = B x and z = |B| 1. False: some y is not finite. */
static bool make_y(check *v)
{
    group_job job = {.v = v, .finite = true};
    parallel_run((v->k + PANEL - 1) / PANEL, v->threads, make_y_panel, &job);
    return job.finite;
}

static void flag_columns_of_b(check *v)
{
    for (int64_t p0 = 0; p0 < v->k; p0 += PANEL) {
        int64_t rows = v->k - p0 < PANEL ? v->k - p0 : PANEL;
        for (int64_t j0 = 0; j0 < v->n; j0 += CHUNK) {
            int64_t cols = v->n - j0 < CHUNK ? v->n - j0 : CHUNK;
            load_chunk(v, v->x.b, p0, rows, j0, cols, false);
            for (int64_t p = 0; p < rows; p++)
                for (int64_t j = 0; j < cols; j++) {
                    double b = v->buffer[p * CHUNK + j];
                    if (isfinite(b)) continue;
                    v->col_flags[j0 + j] |= isnan(b) ? HAS_NAN : HAS_INFINITY;
                    v->masked = true;
                }
        }
    }
}

static void flag_row(check *v, int64_t row)
{
    unsigned char flags = 0;
    for (int64_t p0 = 0; v->x.reads_ab && p0 < v->k; p0 += CHUNK) {
        int64_t cols = v->k - p0 < CHUNK ? v->k - p0 : CHUNK;
        view_load(v->x.a, row, 1, p0, cols, v->buffer, CHUNK);
        for (int64_t p = 0; p < cols; p++)
            if (!isfinite(v->buffer[p])) flags |= isnan(v->buffer[p]) ? HAS_NAN : HAS_INFINITY;
    }
    v->row_flags[row] |= flags != 0 ? flags : DARK;
}

/* Signed sums of one row, and the sums of sizes that its bound needs. [1]: of what an imaginary part multiplies. */
typedef struct row_sums {
    lanes ab[2], c, c0[2];
    double ab_mass[2], c_mass, c0_mass[2], largest;
    int64_t largest_col;
} row_sums;

/* |scalar| sizes[0] + |imaginary| sizes[1]; what is multiplied by 0 is not there. */
static double mass_of(double scalar, double imaginary, const double sizes[2])
{
    return (scalar != 0 ? fabs(scalar) * sizes[0] : 0) + (imaginary != 0 ? fabs(imaginary) * sizes[1] : 0);
}

static double bound_of_row(const check *v, const row_sums *s)
{
    const product *x = &v->x;
    double alpha = x->reads_ab ? x->alpha_size : 0, n = (double)v->n;
    double ab = x->reads_ab ? mass_of(x->alpha, x->alpha_imaginary, s->ab_mass) : 0;
    double c0 = x->reads_c0 ? mass_of(x->beta, x->beta_imaginary, s->c0_mass) : 0;
    double k = x->reads_ab ? (double)v->k : 0;
    double g = gamma_of(n + k + 8, 0x1p-53), noise = 0; /* of the residual's own arithmetic */
    if (x->type->pair) {
        g = 4 * g * g;
        noise = (8 * k + 16) * (alpha > 1 ? alpha : 1) * 0x1p-1074;
    }
    noise += g * (ab + c0 + s->c_mass);
    return (product_bound(x, ab, c0, s->c_mass, n) + noise) * (1 + 0x1p-40);
}

static double residual_of_lane(const check *v, const row_sums *s, int l)
{
    const product *x = &v->x;
    const double scalars[] = {x->alpha, x->alpha_imaginary, x->beta, x->beta_imaginary};
    const lanes *const sums[] = {&s->ab[0], &s->ab[1], &s->c0[0], &s->c0[1]};
    const bool is_there[] = {x->reads_ab, x->reads_ab && x->alpha_imaginary != 0, x->reads_c0,
                             x->reads_c0 && x->beta_imaginary != 0};
    if (!x->type->pair) {
        double r = s->c.high[l];
        for (int t = 0; t < 4; t++)
            if (is_there[t]) r -= scalars[t] * sums[t]->high[l];
        return r;
    }
    pair r = pair_sum(s->c.high[l], s->c.low[l]);
    for (int t = 0; t < 4; t++)
        if (is_there[t]) r = pair_add(r, pair_times(-scalars[t], pair_sum(sums[t]->high[l], sums[t]->low[l])));
    return r.high + r.low;
}

static void judge_row_sums(check *v, int64_t row, const row_sums *s, int group, int lanes_used)
{
    verify_report *r = v->report;
    if (group == 0) v->row_bound[row] = bound_of_row(v, s);
    double bound = v->row_bound[row], worst = 0;
    bool finite = isfinite(bound);
    for (int l = 0; l < lanes_used; l++) {
        double residual = fabs(residual_of_lane(v, s, l));
        finite = finite && isfinite(residual);
        if (residual > worst) worst = residual;
    }
    if (!finite) {
        flag_row(v, row);
        return;
    }
    if (bound > r->worst_row_bound) r->worst_row_bound = bound;
    if (worst == 0) return;
    double share = worst / bound;
    if (share > r->row_ratio) r->row_ratio = share;
    v->row_share[row] = fmax(v->row_share[row], share);
    if (!(worst <= bound)) mark_failed(v, row); /* for certain */
}

enum { OF_C = 2 }; /* add_chunks: 0 and 1 are c0's */

static void add_chunks(check *v, view from, int64_t i0, int64_t rows, row_sums *s, int of)
{
    const bool is_c = of == OF_C;
    for (int64_t j0 = 0; j0 < v->n; j0 += CHUNK) {
        int64_t cols = v->n - j0 < CHUNK ? v->n - j0 : CHUNK;
        load_chunk(v, from, i0, rows, j0, cols, true);
        for (int64_t i = 0; i < rows; i++) {
            const double *values = v->buffer + i * CHUNK;
            add_signed(v, values, j0, cols, is_c ? &s[i].c : &s[i].c0[of]);
            *(is_c ? &s[i].c_mass : &s[i].c0_mass[of]) += sum_of_sizes(values, NULL, cols);
            for (int64_t j = 0; is_c && j < cols; j++)
                if (fabs(values[j]) > s[i].largest) s[i].largest = fabs(values[j]), s[i].largest_col = j0 + j;
        }
    }
}

/* The rows of op(A), or of i op(A), by y: the turn-th sums of s. */
static void add_products(check *v, int turn, int64_t i0, int64_t rows, bool with_mass, row_sums *s)
{
    for (int64_t p0 = 0; p0 < v->k; p0 += CHUNK) {
        int64_t cols = v->k - p0 < CHUNK ? v->k - p0 : CHUNK;
        load_chunk(v, turn == 0 ? v->x.a : v->x.a_by_i, i0, rows, p0, cols, false);
        lanes_panel part = {v->y.head + p0 * LANES, NULL, NULL};
        bool in_pairs = v->x.type->pair;
        if (in_pairs) part.tail = v->y.tail + p0 * LANES, part.low = v->y.low + p0 * LANES;
        for (int64_t i = 0; i < rows; i++) {
            const double *values = v->buffer + i * CHUNK;
            if (in_pairs)
                lanes_dot_pair(values, &part, cols, &s[i].ab[turn]);
            else
                lanes_dot(values, part.head, cols, &s[i].ab[turn]);
            if (with_mass) s[i].ab_mass[turn] += sum_of_sizes(values, v->z + p0, cols);
        }
    }
}

static void run_panel(void *of, int thread, int64_t index)
{
    const group_job *job = of;
    check own = of_thread(job->v, thread), *v = &own;
    const product *x = &v->x;
    const int64_t i0 = index * PANEL, rows = v->m - i0 < PANEL ? v->m - i0 : PANEL;
    row_sums s[PANEL];
    memset(s, 0, sizeof s);
    if (x->reads_ab) add_products(v, 0, i0, rows, job->group == 0, s);
    if (x->reads_ab && x->alpha_imaginary != 0) add_products(v, 1, i0, rows, job->group == 0, s);
    add_chunks(v, v->c, i0, rows, s, OF_C);
    if (x->reads_c0) add_chunks(v, x->c0, i0, rows, s, 0);
    if (x->reads_c0 && x->beta_imaginary != 0) add_chunks(v, x->c0_by_i, i0, rows, s, 1);
    pthread_mutex_lock(v->report_lock);
    for (int64_t i = 0; i < rows; i++) {
        int64_t row = i0 + i;
        if (job->group == 0 && row % v->largest_step == 0) v->largest_cols[row / v->largest_step] = s[i].largest_col;
        if (!(v->row_flags[row] & (HAS_NAN | HAS_INFINITY | DARK)))
            judge_row_sums(v, row, &s[i], job->group, job->lanes_used);
    }
    tick(v, thread);
    pthread_mutex_unlock(v->report_lock);
}

static void run_group(check *v, int group, int lanes_used)
{
    group_job job = {.v = v, .group = group, .lanes_used = lanes_used};
    parallel_run((v->m + PANEL - 1) / PANEL, v->threads, run_panel, &job);
}

/* ---- what vectors cannot see ---- */

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
        load_chunk(v, v->c, row, 1, j0, cols, true);
        while (j < cols && isfinite(v->buffer[j])) j++;
        if (j == cols) continue;
        if (afford(v, (double)v->k + element_overhead) && !judge_element(v, row, j0 + j)) return;
        break;
    }
    if (afford(v, (double)v->n * ((double)v->k + element_overhead)))
        judge_rows(v, &row, 1);
    else
        v->report->unchecked += v->n;
}

static void judge_by_classes(check *v)
{
    for (int64_t i = 0; i < v->m; i++)
        if (v->row_flags[i] & (HAS_NAN | HAS_INFINITY)) judge_row_classes(v, i);
    for (int64_t j = 0; j < v->n && v->masked; j++)
        if (v->col_flags[j]) judge_column_classes(v, j);
    for (int64_t i = 0; i < v->m; i++)
        if ((v->row_flags[i] & DARK) && !(v->row_flags[i] & FAILED)) judge_dark_row(v, i);
}

/* The row, not yet taken, whose residual is the largest share of its bound; -1: none left. */
static int64_t most_suspicious_row(const check *v, const int64_t *taken, int count)
{
    int64_t best = -1;
    for (int64_t i = 0; i < v->m; i++) {
        if (!(v->row_share[i] > (best < 0 ? 0 : v->row_share[best]))) continue;
        bool again = false;
        for (int t = 0; t < count; t++) again = again || taken[t] == i;
        if (!again) best = i;
    }
    return best;
}

/* The rows with the largest residuals, wrong or not: rounding errors are far smaller than their bounds, so that an
 * element beyond its own bound stands out long before its row fails. */
static void judge_suspicious_rows(check *v)
{
    int64_t rows[WORST_ROWS];
    int count = 0;
    while (count < WORST_ROWS) {
        int64_t row = most_suspicious_row(v, rows, count);
        if (row < 0) break;
        rows[count++] = row;
    }
    judge_rows(v, rows, count);
}

enum { SAMPLES = 1024, CORNERS = 4 }; /* SAMPLES: that threads look at before their verdicts are taken, in order */

typedef struct samples_job {
    const check *v;
    int64_t first;
    exact_verdict verdicts[SAMPLES];
} samples_job;

/* Of each row, or as many as there are samples, the largest element; the corners; random elements. */
static int64_t rows_of_largest(const check *v) { return (v->m + v->largest_step - 1) / v->largest_step; }

static void sample_at(const check *v, int64_t index, int64_t *row, int64_t *col)
{
    const int64_t rows = rows_of_largest(v), corner = index - rows;
    if (index < rows) {
        *row = index * v->largest_step, *col = v->largest_cols[index];
    } else if (corner < CORNERS) {
        *row = corner & 1 ? v->m - 1 : 0, *col = corner & 2 ? v->n - 1 : 0;
    } else {
        const uint64_t seed = element_mix(v->options->seed, UINT64_MAX / 2), s = (uint64_t)(corner - CORNERS);
        *row = (int64_t)(element_mix(seed, 2 * s) % (uint64_t)v->m);
        *col = (int64_t)(element_mix(seed, 2 * s + 1) % (uint64_t)v->n);
    }
}

static void look_at_sample(void *of, int thread, int64_t index)
{
    samples_job *job = of;
    const check *v = job->v;
    double *a_row = v->a_row + thread * v->k, *b_col = v->b_col + thread * v->k;
    int64_t row, col;
    sample_at(v, job->first + index, &row, &col);
    load_for(v, row, col, a_row, b_col);
    job->verdicts[index] = look_at(v, row, col, a_row, b_col);
}

static void judge_samples(check *v)
{
    const int64_t all = rows_of_largest(v) + CORNERS + v->samples;
    samples_job job = {.v = v};
    for (; job.first < all; job.first += SAMPLES) {
        const int64_t count = all - job.first < SAMPLES ? all - job.first : SAMPLES;
        parallel_run(count, v->threads, look_at_sample, &job);
        for (int64_t i = 0; i < count; i++) {
            int64_t row, col;
            sample_at(v, job.first + i, &row, &col);
            take(v, row, col, job.verdicts[i]);
        }
    }
}

/* ---- the whole ---- */

static void *array(bool *failed, int64_t count, size_t bytes)
{
    void *memory = (uint64_t)count < PTRDIFF_MAX / bytes ? calloc((size_t)(count > 0 ? count : 1), bytes) : NULL;
    if (memory == NULL) *failed = true;
    return memory;
}

static int64_t product_or_huge(int64_t x, int64_t y) { return x > 0 && y > INT64_MAX / x ? INT64_MAX : x * y; }

static void write_sentence(const check *v)
{
    verify_report *r = v->report;
    if (r->passed && r->unchecked > 0) {
        snprintf(r->text, sizeof r->text,
                 "no fault was found, but %lld of %lld elements meet infinities or overflow and were too many to be "
                 "judged one by one",
                 (long long)r->unchecked, (long long)product_or_huge(v->m, v->n));
    } else if (!r->passed) {
        if (r->element_ratio > 1) {
            exact_sentence(r->text, sizeof r->text, &v->x, r->row, r->col, r->found, r->expected, r->bound,
                           r->element_ratio);
        } else {
            r->row = most_suspicious_row(v, NULL, 0), r->col = -1;
            r->found = r->expected = r->bound = (double)NAN;
            snprintf(r->text, sizeof r->text,
                     "row %lld of C is wrong: a signed sum of its elements is off by %.3g times "
                     "the sum of their bounds",
                     (long long)r->row, r->row_ratio);
        }
        size_t used = strlen(r->text);
        if (r->failed_rows > 1)
            snprintf(r->text + used, sizeof r->text - used, "; %lld of %lld rows are wrong", (long long)r->failed_rows,
                     (long long)v->m);
    }
}

static void judge_all(check *v)
{
    int vectors = v->report->vectors;
    for (int group = 0; group * LANES < vectors; group++) {
        make_signs(v, group);
        if (v->x.reads_ab && !make_y(v) && group == 0) {
            flag_columns_of_b(v);
            make_y(v);
        }
        run_group(v, group, vectors - group * LANES < LANES ? vectors - group * LANES : LANES);
    }
    if (product_or_huge(v->m, v->n) <= v->samples) {
        int64_t rows[WORST_ROWS];
        for (int64_t i0 = 0; i0 < v->m; i0 += WORST_ROWS) {
            const int64_t count = v->m - i0 < WORST_ROWS ? v->m - i0 : WORST_ROWS;
            for (int64_t i = 0; i < count; i++) rows[i] = i0 + i;
            judge_rows(v, rows, count);
        }
    } else {
        judge_by_classes(v);
        judge_suspicious_rows(v);
        judge_samples(v);
    }
    write_sentence(v);
    if (v->report->col > 0) v->report->col /= v->x.parts;
    if (v->options->progress != NULL) v->options->progress(v->options->progress_context, 1);
}

static int threads_of(double m, double n, double k, int most)
{
    return parallel_threads(LANES * (m * k + k * n + m * n), most);
}

/* What verify_product() allocates, and 1 MiB for what reference_rows() does and for pages that are not full. */
double verify_bytes(const tw_problem *problem, const verify_options *options)
{
    const double parts = tw_lab_dtype_of(problem->dtype)->parts, number = sizeof(double);
    const double m = parts * (double)problem->m, n = parts * (double)problem->n, k = parts * (double)problem->k;
    const int threads = threads_of(m, n, k, options->threads);
    if (problem->m == 0 || problem->n == 0) return 0x1p20;
    return m * (1 + 4 * number) + n * (1 + (LANES + 3 * WORST_ROWS + 3) * number) +
           k * (3 * LANES + 1 + 2 * threads) * number + threads * PANEL * CHUNK * number + 0x1p20;
}

tw_status verify_product(const tw_problem *problem, const void *a, const void *b, const void *c0, const void *c,
                         const verify_options *options, verify_report *report)
{
    static const verify_options defaults;
    check whole, *v = &whole;
    memset(v, 0, sizeof *v);
    memset(report, 0, sizeof *report);
    report->row = report->col = -1;
    v->options = options != NULL ? options : &defaults;
    v->report = report;
    if (product_make(problem, a, b, c0, &v->x) != TW_OK || v->options->vectors < 0 ||
        v->options->vectors > MOST_VECTORS || v->options->samples < 0)
        return TW_BAD_ARGUMENT;
    product_allow_flushing(&v->x);
    const tw_problem *p = &v->x.problem;
    v->m = p->m, v->n = p->n, v->k = v->x.reads_ab ? p->k : 0;
    report->vectors = v->options->vectors > 0 ? v->options->vectors : 32;
    v->samples = v->options->samples > 0 ? v->options->samples : 4096;
    if (v->m > 0 && v->n > 0 && c == NULL) return TW_BAD_ARGUMENT;
    report->passed = true;
    if (v->m == 0 || v->n == 0) return TW_OK;
    if (v->x.type->integer) return whole_verify(&v->x, c, v->options, report);
    v->c = (view){v->x.type_c, c, p->ldc, 1};
    int groups = (report->vectors + LANES - 1) / LANES;
    v->panels_all = (double)groups * ((double)((v->m + PANEL - 1) / PANEL) + (double)((v->k + PANEL - 1) / PANEL));
    double m = (double)v->m, n = (double)v->n, k = (double)v->k;
    v->work = fmax(report->vectors * (m * k + k * n + m * n), single_work);
    v->largest_step = (v->m + v->samples - 1) / v->samples;
    v->threads = threads_of(m, n, k, v->options->threads);
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    double panels_done = 0;
    v->report_lock = &lock, v->panels_done = &panels_done;

    bool failed = false;
    v->row_flags = array(&failed, v->m, 1);
    v->col_flags = array(&failed, v->n, 1);
    v->buffer = array(&failed, (int64_t)v->threads * PANEL * CHUNK, sizeof(double));
    v->signs = array(&failed, v->n, LANES * sizeof(double));
    v->y.head = array(&failed, v->k, LANES * sizeof(double));
    if (v->x.type->pair) v->y.tail = array(&failed, v->k, LANES * sizeof(double));
    if (v->x.type->pair) v->y.low = array(&failed, v->k, LANES * sizeof(double));
    v->z = array(&failed, v->k, sizeof(double));
    v->row_bound = array(&failed, v->m, sizeof(double));
    v->row_share = array(&failed, v->m, sizeof(double));
    v->batch = v->n <= 65536 ? WORST_ROWS : 4;
    v->values = array(&failed, v->n, (3 * (size_t)v->batch + 2) * sizeof(double));
    v->a_row = array(&failed, v->k, (size_t)v->threads * sizeof(double));
    v->b_col = array(&failed, v->k, (size_t)v->threads * sizeof(double));
    v->class_sums = array(&failed, v->m > v->n ? v->m : v->n, sizeof(double));
    v->largest_cols = array(&failed, v->m / v->largest_step + 1, sizeof(int64_t));
    if (failed)
        report->passed = false;
    else
        judge_all(v);
    free(v->row_flags), free(v->col_flags), free(v->buffer), free(v->signs), free(v->z);
    free(v->y.head), free(v->y.tail), free(v->y.low), free(v->row_bound), free(v->row_share);
    free(v->values), free(v->a_row), free(v->b_col), free(v->class_sums), free(v->largest_cols);
    return failed ? TW_NO_MEMORY : TW_OK;
}
