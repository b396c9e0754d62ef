/* verify_vectors.c - a check's vectors of random signs x: C x must be alpha A (B x) + beta C0 x, row by row, within the
 * sum of the row's bounds (Freivalds 1979). */
#include "verify.h"
#include "parallel.h"

#include <math.h>
#include <string.h>

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
        verify_load_chunk(v, v->x.b, p0, rows, j0, cols, true);
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
            verify_load_chunk(v, v->x.b, p0, rows, j0, cols, false);
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
    if (!(worst <= bound)) verify_mark_failed(v, row); /* for certain */
}

enum { OF_C = 2 }; /* add_chunks: 0 and 1 are c0's */

static void add_chunks(check *v, view from, int64_t i0, int64_t rows, row_sums *s, int of)
{
    const bool is_c = of == OF_C;
    for (int64_t j0 = 0; j0 < v->n; j0 += CHUNK) {
        int64_t cols = v->n - j0 < CHUNK ? v->n - j0 : CHUNK;
        verify_load_chunk(v, from, i0, rows, j0, cols, true);
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
        verify_load_chunk(v, turn == 0 ? v->x.a : v->x.a_by_i, i0, rows, p0, cols, false);
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

void verify_by_vectors(check *v)
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
}
