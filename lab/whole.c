/* whole.c - see whole.h. */
#include "whole.h"
#include "parallel.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void whole_load(view v, int64_t i0, int64_t rows, int64_t j0, int64_t cols, uint64_t *out, int64_t ld)
{
    const bool by_rows = v.col <= v.row || rows == 1;
    const int64_t lines = by_rows ? rows : cols, first = i0 * v.row + j0 * v.col;
    for (int64_t i = 0; i < lines; i++)
        v.type->load_whole(v.base, first + i * (by_rows ? v.row : v.col), by_rows ? v.col : v.row,
                           by_rows ? cols : rows, out + i * (by_rows ? ld : 1), by_rows ? 1 : ld);
}

int64_t whole_of(const element *type, uint64_t bits)
{
    const uint64_t sign = UINT64_C(1) << type->digits, lower = bits & (sign | (sign - 1));
    return (int64_t)((lower ^ sign) - sign);
}

/* ---- the product ---- */

/* Rows, steps of k and columns that are held at a time. */
enum { ROWS = 64, DEPTH = 128, COLUMNS = 128, HELD = ROWS * DEPTH + DEPTH * COLUMNS + ROWS * COLUMNS };

typedef struct rows_job {
    const product *x;
    const int64_t *rows;
    int64_t row_count, parts_of_row; /* parts: ROWS x COLUMNS of C */
    int64_t *c;
    uint64_t *held; /* HELD for each thread */
} rows_job;

/* sums += factor * row */
WIDEST static void add_row(uint64_t *sums, uint64_t factor, const uint64_t *row, int64_t count)
{
    for (int64_t j = 0; j < count; j++) sums[j] += factor * row[j];
}

static void add_part(void *of, int thread, int64_t index)
{
    const rows_job *job = of;
    const product *x = job->x;
    const int64_t k = x->reads_ab ? x->problem.k : 0, n = x->problem.n, r0 = index / job->parts_of_row * ROWS,
                  j0 = index % job->parts_of_row * COLUMNS;
    const int64_t r_count = job->row_count - r0 < ROWS ? job->row_count - r0 : ROWS,
                  cols = n - j0 < COLUMNS ? n - j0 : COLUMNS;
    const uint64_t alpha = x->scaled ? 1 : (uint64_t)(int64_t)x->alpha,
                   beta = x->scaled ? 0 : (uint64_t)(int64_t)x->beta;
    uint64_t *a = job->held + (int64_t)thread * HELD, *b = a + ROWS * DEPTH, *sums = b + DEPTH * COLUMNS;
    memset(sums, 0, sizeof *sums * ROWS * COLUMNS);
    for (int64_t p0 = 0; p0 < k; p0 += DEPTH) {
        const int64_t depth = k - p0 < DEPTH ? k - p0 : DEPTH;
        whole_load(x->b, p0, depth, j0, cols, b, COLUMNS);
        for (int64_t r = 0; r < r_count; r++) {
            whole_load(x->a, job->rows != NULL ? job->rows[r0 + r] : r0 + r, 1, p0, depth, a + r * DEPTH, DEPTH);
            for (int64_t p = 0; p < depth; p++) add_row(sums + r * COLUMNS, a[r * DEPTH + p], b + p * COLUMNS, cols);
        }
    }
    for (int64_t r = 0; r < r_count; r++) {
        const int64_t row = job->rows != NULL ? job->rows[r0 + r] : r0 + r;
        uint64_t old[COLUMNS] = {0};
        if (x->reads_c0 && !x->scaled) whole_load(x->c0, row, 1, j0, cols, old, COLUMNS);
        for (int64_t j = 0; j < cols; j++)
            job->c[(r0 + r) * n + j0 + j] = x->scaled
                                                ? whole_of(element_of(x->type->result), sums[r * COLUMNS + j])
                                                : whole_of(x->type_c, alpha * sums[r * COLUMNS + j] + beta * old[j]);
    }
}

tw_status whole_rows(const product *x, const int64_t *rows, int64_t row_count, int threads, int64_t *c)
{
    const int64_t n = x->problem.n;
    threads = parallel_threads((double)row_count * (double)n * (double)x->problem.k, threads);
    rows_job job = {x, rows, row_count, (n + COLUMNS - 1) / COLUMNS, c, NULL};
    job.held = malloc(sizeof *job.held * HELD * (size_t)threads);
    if (job.held == NULL) return TW_NO_MEMORY;
    parallel_run((row_count + ROWS - 1) / ROWS * job.parts_of_row, threads, add_part, &job);
    free(job.held);
    return TW_OK;
}

exact_verdict whole_scaled(const product *x, int64_t sum, int64_t row, int64_t col, double found)
{
    const double alpha = x->reads_ab ? x->alpha : 0, beta = x->reads_c0 ? x->beta : 0,
                 old = x->reads_c0 ? view_at(x->c0, row, col) : 0, scaled = alpha * (double)sum, addend = beta * old;
    exact_verdict e = {.expected = element_converted(x->type_c, scaled + addend)};
    if (x->problem.epilogue != NULL) {
        const double sum_size = fabs(scaled) + fabs(addend);
        return exact_made(x, row, col, exact_around(scaled + addend, 0, isfinite(sum_size) ? 0x1p-51 * sum_size : 0),
                          found);
    }
    if (!isfinite(scaled + addend)) { /* infinite or NaN, whatever the rounding */
        e.passed = found == e.expected || (isnan(found) && isnan(e.expected));
    } else {
        const pair product = pair_times(alpha, (pair){(double)sum, 0}), other = pair_times(beta, (pair){old, 0}),
                   value = pair_add(product, other);
        const bool exact = product.low == 0 && other.low == 0 && value.low == 0;
        const double error = gamma_of(2, 0x1p-53) * (fabs(scaled) + fabs(addend)) * (1 + 0x1p-40) + 0x1p-1072;
        const double low = exact ? value.high : nextafter(value.high - error, -INFINITY),
                     high = exact ? value.high : nextafter(value.high + error, INFINITY);
        const double least = element_converted(x->type_c, low), most = element_converted(x->type_c, high);
        e.expected = element_converted(x->type_c, value.high);
        e.bound = fmax(most - e.expected, e.expected - least);
        e.passed = found >= least && found <= most;
    }
    e.ratio = e.passed ? 0 : (double)INFINITY;
    return e;
}

void whole_sentence(char *text, size_t bytes, const element *type_c, int64_t row, int64_t col, int64_t found,
                    int64_t expected, bool is_unsigned)
{
    const uint64_t bits = UINT64_MAX >> (63 - type_c->digits);
    if (is_unsigned)
        snprintf(text, bytes, "C[%" PRId64 ", %" PRId64 "] is %" PRIu64 ", expected %" PRIu64 " exactly", row, col,
                 (uint64_t)found & bits, (uint64_t)expected & bits);
    else
        snprintf(text, bytes, "C[%" PRId64 ", %" PRId64 "] is %" PRId64 ", expected %" PRId64 " exactly", row, col,
                 found, expected);
}

/* ---- the check of somebody's C ---- */

enum { PANEL = 16, CHUNK = 1024 }; /* rows and columns of a matrix that a thread holds at a time */
enum { WORST_ROWS = 16, CORNERS = 4 };

typedef struct check {
    const product *x;
    view c;
    const verify_options *options;
    verify_report *report;
    int threads, lanes_used;
    uint64_t *weights, *y;          /* LANES for each column of C; for each step of k, op(B) times the weights */
    uint64_t *held;                 /* PANEL x CHUNK, of each thread */
    unsigned char *failed;          /* rows that a vector found wrong */
    uint64_t *row, *column;         /* k of each thread, for single elements */
    int64_t *expected;              /* WORST_ROWS x n */
    double panels_done, panels_all; /* of all groups; what thread 0 did stands for all */
} check;

/* sums[l] += the products of `count` numbers with weight l of each. */
WIDEST static void add_weighted(const uint64_t *v, const uint64_t *weights, int64_t count, uint64_t sums[LANES])
{
    for (int64_t j = 0; j < count; j++)
        for (int l = 0; l < LANES; l++) sums[l] += v[j] * weights[j * LANES + l];
}

/* The same of `rows` rows of a matrix, times a scalar. */
static void weigh(const check *v, int thread, view of, uint64_t scalar, int64_t i0, int64_t rows, int64_t count,
                  const uint64_t *weights, uint64_t sums[PANEL][LANES])
{
    uint64_t *held = v->held + (int64_t)thread * PANEL * CHUNK;
    for (int64_t j0 = 0; j0 < count; j0 += CHUNK) {
        const int64_t cols = count - j0 < CHUNK ? count - j0 : CHUNK;
        whole_load(of, i0, rows, j0, cols, held, CHUNK);
        for (int64_t i = 0; i < rows; i++) {
            uint64_t part[LANES] = {0};
            add_weighted(held + i * CHUNK, weights + j0 * LANES, cols, part);
            for (int l = 0; l < LANES; l++) sums[i][l] += scalar * part[l];
        }
    }
}

static void tick(check *v, int thread)
{
    if (v->options->progress == NULL || thread != 0) return;
    v->panels_done += v->threads;
    v->options->progress(v->options->progress_context, fmin(v->panels_done / v->panels_all, 1));
}

static void weigh_b(void *of, int thread, int64_t index)
{
    check *v = of;
    const int64_t k = v->x->problem.k, p0 = index * PANEL, rows = k - p0 < PANEL ? k - p0 : PANEL;
    uint64_t sums[PANEL][LANES] = {{0}};
    weigh(v, thread, v->x->b, 1, p0, rows, v->x->problem.n, v->weights, sums);
    memcpy(v->y + p0 * LANES, sums, (size_t)rows * sizeof *sums);
    tick(v, thread);
}

/* C times the weights, less what it must be. */
static void weigh_rows(void *of, int thread, int64_t index)
{
    check *v = of;
    const product *x = v->x;
    const tw_problem *p = &x->problem;
    const int64_t i0 = index * PANEL, rows = p->m - i0 < PANEL ? p->m - i0 : PANEL;
    uint64_t sums[PANEL][LANES] = {{0}};
    weigh(v, thread, v->c, 1, i0, rows, p->n, v->weights, sums);
    if (x->reads_ab) weigh(v, thread, x->a, -(uint64_t)(int64_t)x->alpha, i0, rows, p->k, v->y, sums);
    if (x->reads_c0) weigh(v, thread, x->c0, -(uint64_t)(int64_t)x->beta, i0, rows, p->n, v->weights, sums);
    for (int64_t i = 0; i < rows; i++)
        for (int l = 0; l < v->lanes_used; l++)
            if (whole_of(x->type_c, sums[i][l]) != 0) v->failed[i0 + i] = 1;
    tick(v, thread);
}

/* Odd weights show one wrong element of a row always, and never two that are wrong by half of the range: every other
 * vector has even ones too. */
static void make_weights(const check *v, int group)
{
    const uint64_t seed = element_mix(v->options->seed, (uint64_t)group);
    for (int64_t i = 0; i < v->x->problem.n * LANES; i++) v->weights[i] = element_mix(seed, (uint64_t)i) | (i % 2 == 0);
}

/* What is wrong by more than all before becomes the report's. */
static void judge_element(check *v, int64_t row, int64_t col, int64_t found, int64_t expected)
{
    verify_report *r = v->report;
    const double numbers[] = {(double)found, (double)expected}, range = ldexp(1, v->x->type_c->digits + 1);
    const bool is_unsigned = v->options->is_unsigned;
    r->elements++;
    if (found == expected) return;
    v->failed[row] = 1, r->element_ratio = (double)INFINITY;
    if (r->row >= 0 && !(fabs(numbers[0] - numbers[1]) > fabs(r->found - r->expected))) return;
    r->row = row, r->col = col;
    r->found = numbers[0] + (is_unsigned && found < 0 ? range : 0);
    r->expected = numbers[1] + (is_unsigned && expected < 0 ? range : 0);
    r->whole[0] = found, r->whole[1] = expected;
    whole_sentence(r->text, sizeof r->text, v->x->type_c, row, col, found, expected, is_unsigned);
}

/* The same of a C that is scaled, from its sum. */
static void judge_scaled(check *v, int64_t row, int64_t col, int64_t sum)
{
    verify_report *r = v->report;
    const double found = view_at(v->c, row, col);
    const exact_verdict e = whole_scaled(v->x, sum, row, col, found);
    r->elements++;
    if (e.passed) return;
    v->failed[row] = 1, r->element_ratio = e.ratio;
    if (r->row >= 0 && !(fabs(found - e.expected) > fabs(r->found - r->expected))) return;
    r->row = row, r->col = col, r->found = found, r->expected = e.expected, r->bound = e.bound;
    if (v->x->type_c->integer) r->whole[0] = (int64_t)found, r->whole[1] = (int64_t)e.expected;
    exact_sentence(r->text, sizeof r->text, v->x, row, col, found, e.expected, e.bound, e.ratio);
}

static tw_status judge_rows(check *v, const int64_t *rows, int64_t count)
{
    const int64_t n = v->x->problem.n;
    const tw_status status = whole_rows(v->x, rows, count, v->options->threads, v->expected);
    for (int64_t e = 0; status == TW_OK && e < count * n; e++) {
        uint64_t found;
        if (v->x->scaled) {
            judge_scaled(v, rows[e / n], e % n, v->expected[e]);
            continue;
        }
        whole_load(v->c, rows[e / n], 1, e % n, 1, &found, 1);
        judge_element(v, rows[e / n], e % n, (int64_t)found, v->expected[e]);
    }
    return status;
}

/* Single elements: the corners, then random ones. */
enum { SAMPLES = 1024 };

typedef struct samples_job {
    const check *v;
    int64_t first;
    int64_t row[SAMPLES], col[SAMPLES], expected[SAMPLES];
} samples_job;

static void look_at_sample(void *of, int thread, int64_t index)
{
    samples_job *job = of;
    const check *v = job->v;
    const product *x = v->x;
    const int64_t m = x->problem.m, n = x->problem.n, k = x->reads_ab ? x->problem.k : 0, at = job->first + index;
    const uint64_t seed = element_mix(v->options->seed, UINT64_MAX / 2);
    const int64_t row = at < CORNERS ? (at & 1 ? m - 1 : 0)
                                     : (int64_t)(element_mix(seed, 2 * (uint64_t)at) % (uint64_t)m),
                  col = at < CORNERS ? (at & 2 ? n - 1 : 0)
                                     : (int64_t)(element_mix(seed, 2 * (uint64_t)at + 1) % (uint64_t)n);
    uint64_t *a = v->row + thread * k, *b = v->column + thread * k, sum = 0, old = 0;
    if (k > 0) whole_load(x->a, row, 1, 0, k, a, k), whole_load(x->b, 0, k, col, 1, b, 1);
    for (int64_t p = 0; p < k; p++) sum += a[p] * b[p];
    if (x->reads_c0) whole_load(x->c0, row, 1, col, 1, &old, 1);
    job->row[index] = row, job->col[index] = col;
    job->expected[index] = whole_of(x->type_c, (uint64_t)(int64_t)x->alpha * sum + (uint64_t)(int64_t)x->beta * old);
}

static void judge_samples(check *v, int64_t all)
{
    samples_job job = {.v = v};
    for (; job.first < all; job.first += SAMPLES) {
        const int64_t count = all - job.first < SAMPLES ? all - job.first : SAMPLES;
        parallel_run(count, v->threads, look_at_sample, &job);
        for (int64_t i = 0; i < count; i++) {
            uint64_t found;
            whole_load(v->c, job.row[i], 1, job.col[i], 1, &found, 1);
            judge_element(v, job.row[i], job.col[i], (int64_t)found, job.expected[i]);
        }
    }
}

/* All elements where they are few, or no vector sees them; else the first of the rows that failed, and samples. */
static tw_status judge_elements(check *v, int64_t samples)
{
    const int64_t m = v->x->problem.m, n = v->x->problem.n;
    const bool all = v->x->scaled || n <= samples / m;
    int64_t rows[WORST_ROWS], count = 0;
    tw_status status = TW_OK;
    for (int64_t i = 0; status == TW_OK && i < m; i++) {
        if (all || v->failed[i]) rows[count++] = i;
        if (count < WORST_ROWS && i < m - 1) continue;
        if (count > 0) status = judge_rows(v, rows, count);
        if (!all) break;
        count = 0;
        if (v->x->scaled && v->options->progress != NULL)
            v->options->progress(v->options->progress_context, (double)(i + 1) / (double)m);
    }
    if (!all && status == TW_OK) judge_samples(v, CORNERS + samples);
    return status;
}

static tw_status run(check *v, int64_t samples)
{
    const tw_problem *p = &v->x->problem;
    verify_report *r = v->report;
    const int64_t panels_k = v->x->reads_ab ? (p->k + PANEL - 1) / PANEL : 0, panels_m = (p->m + PANEL - 1) / PANEL;
    if (v->x->scaled) r->vectors = 0; /* what they see of a sum is lost by rounding */
    v->panels_all = (double)((r->vectors + LANES - 1) / LANES) * (double)(panels_k + panels_m);
    for (int first = 0; first < r->vectors; first += LANES) {
        v->lanes_used = r->vectors - first < LANES ? r->vectors - first : LANES;
        make_weights(v, first / LANES);
        parallel_run(panels_k, v->threads, weigh_b, v);
        parallel_run(panels_m, v->threads, weigh_rows, v);
    }
    for (int64_t i = 0; i < p->m; i++)
        if (v->failed[i]) r->row_ratio = (double)INFINITY;
    const tw_status status = judge_elements(v, samples);
    for (int64_t i = 0; i < p->m; i++) r->failed_rows += v->failed[i];
    r->passed = r->failed_rows == 0;
    const size_t used = strlen(r->text);
    if (r->failed_rows > 1)
        snprintf(r->text + used, sizeof r->text - used, "; %" PRId64 " of %" PRId64 " rows are wrong", r->failed_rows,
                 p->m);
    if (v->options->progress != NULL) v->options->progress(v->options->progress_context, 1);
    return status;
}

tw_status whole_verify(const product *x, const void *c, const verify_options *options, verify_report *report)
{
    const tw_problem *p = &x->problem;
    const double m = (double)p->m, n = (double)p->n, k = x->reads_ab ? (double)p->k : 0;
    const int64_t steps = x->reads_ab ? p->k : 0;
    check v = {.x = x, .c = {x->type_c, c, p->ldc, 1}, .options = options, .report = report};
    v.threads = parallel_threads(LANES * (m * k + k * n + m * n), options->threads);
    const size_t threads = (size_t)v.threads, number = sizeof(uint64_t);
    v.weights = calloc((size_t)p->n, LANES * number);
    v.y = calloc((size_t)steps + 1, LANES * number);
    v.held = calloc(threads * PANEL * CHUNK, number);
    v.failed = calloc((size_t)p->m, 1);
    v.row = calloc((size_t)steps + 1, threads * number), v.column = calloc((size_t)steps + 1, threads * number);
    v.expected = calloc((size_t)p->n, WORST_ROWS * number);
    tw_status status = TW_NO_MEMORY;
    if (v.weights && v.y && v.held && v.failed && v.row && v.column && v.expected)
        status = run(&v, options->samples > 0 ? options->samples : 4096);
    free(v.weights), free(v.y), free(v.held), free(v.failed), free(v.row), free(v.column), free(v.expected);
    return status;
}
