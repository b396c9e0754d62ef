/* verify.c - judges somebody's C without computing the product: by vectors of signs; then element by element, in exact
 * arithmetic, what those cannot see, suspicious rows and samples, as far as work allows. The report says what was
 * left. Of a C that an epilogue made vectors see nothing: each element by itself, or samples. */
#include "verify.h"
#include "parallel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VECTORS = 1 << 16 };
static const double single_work = 0x1p27; /* multiply-adds spent on elements that vectors cannot see, at least */
/* The same on a C that an epilogue made, up to which all its elements are judged, and what one costs beside its k. */
static const double made_work = 0x1p32, made_overhead = 1024;

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
    verify_rows(v, rows, count);
}

enum { SAMPLES = 1024, CORNERS = 4 }; /* SAMPLES: that threads look at before their verdicts are taken, in order */

typedef struct samples_job {
    const check *v;
    int64_t first;
    exact_verdict verdicts[SAMPLES];
} samples_job;

static bool is_made(const check *v) { return v->x.problem.epilogue != NULL; }

/* Of each row, or as many as there are samples, the largest element, or, where nobody looked for it, a random one; the
 * corners; random elements. */
static int64_t rows_of_largest(const check *v) { return (v->m + v->largest_step - 1) / v->largest_step; }

static void sample_at(const check *v, int64_t index, int64_t *row, int64_t *col)
{
    const int64_t rows = rows_of_largest(v), corner = index - rows;
    if (index < rows) {
        const uint64_t drawn = element_mix(v->options->seed, (uint64_t)index);
        *row = index * v->largest_step;
        *col = is_made(v) ? (int64_t)(drawn % (uint64_t)v->n) : v->largest_cols[index];
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
    verify_load_for(v, row, col, a_row, b_col);
    job->verdicts[index] = verify_look_at(v, row, col, a_row, b_col);
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
            verify_take(v, row, col, job.verdicts[i]);
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

static void progress(const check *v, double fraction)
{
    if (v->options->progress != NULL) v->options->progress(v->options->progress_context, fraction);
}

/* Are there few elements, or is it little work to look at each? */
static bool affords_all(const check *v)
{
    if (product_or_huge(v->m, v->n) <= v->samples) return true;
    return is_made(v) && (double)v->m * (double)v->n * ((double)v->k + made_overhead) <= made_work;
}

static void judge_all(check *v)
{
    if (is_made(v))
        v->report->vectors = 0;
    else
        verify_by_vectors(v);
    if (affords_all(v)) {
        int64_t rows[WORST_ROWS];
        for (int64_t i0 = 0; i0 < v->m; i0 += WORST_ROWS) {
            const int64_t count = v->m - i0 < WORST_ROWS ? v->m - i0 : WORST_ROWS;
            for (int64_t i = 0; i < count; i++) rows[i] = i0 + i;
            verify_rows(v, rows, count);
            if (is_made(v)) progress(v, (double)i0 / (double)v->m);
        }
    } else {
        if (!is_made(v)) verify_by_classes(v), judge_suspicious_rows(v);
        judge_samples(v);
    }
    write_sentence(v);
    if (v->report->col > 0) v->report->col /= v->x.parts;
    progress(v, 1);
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
