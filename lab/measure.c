/* measure.c - see measure.h. */
#include "measure.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_SAMPLES = 3, LEAST_ROUNDS = 5, MOST_REPEATS = 1 << 20 };

double measure_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

measure_result measure_summary(double *times_s, int count, int repeats)
{
    measure_result r = {.samples = count > 0 ? count : 0, .repeats = repeats};
    if (count < 1) return r;
    qsort(times_s, (size_t)count, sizeof *times_s, ascending);
    size_t middle = (size_t)count / 2, rank = (95 * (size_t)count + 99) / 100; /* nearest rank, from 1 */
    r.min_s = times_s[0];
    r.median_s = count % 2 ? times_s[middle] : (times_s[middle - 1] + times_s[middle]) / 2;
    r.p95_s = times_s[rank - 1];
    r.max_s = times_s[count - 1];
    return r;
}

/* Run the work `repeats` times, each on the next operand set, and add up what it says. */
static tw_status run(measure_once *once, void *context, int sets, int repeats, int64_t *runs, double *total_s)
{
    *total_s = 0;
    for (int i = 0; i < repeats; i++) {
        double seconds = 0;
        tw_status status = once(context, (int)((*runs)++ % sets), &seconds);
        if (status != TW_OK) return status;
        if (!(seconds >= 0) || isinf(seconds)) return TW_DEVICE_FAILED; /* no clock says so */
        *total_s += seconds;
    }
    return TW_OK;
}

/* One kind of work while it is sampled. */
typedef struct sampled {
    double *times_s;
    int64_t runs;
    int repeats, count;
    bool slow; /* one run lasts as long as all samples may */
} sampled;

/* Warm up, and find how many repeats last least_s. The run that does is the first sample, as is a warm-up that lasts
 * long: what a warm-up cures is nothing beside it. */
static tw_status begin(measure_once *once, void *context, const measure_options *o, sampled *x)
{
    double total_s;
    tw_status status = run(once, context, o->sets, o->warmups, &x->runs, &total_s);
    x->repeats = 1;
    x->slow = total_s / o->warmups >= o->limit_s;
    if (status == TW_OK && x->slow) x->times_s[x->count++] = total_s / o->warmups;
    while (status == TW_OK && !x->slow) {
        status = run(once, context, o->sets, x->repeats, &x->runs, &total_s);
        if (status == TW_OK && total_s >= o->least_s) x->times_s[x->count++] = total_s / x->repeats;
        if (status != TW_OK || total_s >= o->least_s || x->repeats >= MOST_REPEATS) break;
        double wanted = total_s > 0 ? ceil(1.25 * x->repeats * o->least_s / total_s) : MOST_REPEATS;
        x->repeats = (int)fmin(fmin(fmax(wanted, x->repeats + 1), 10.0 * x->repeats), MOST_REPEATS);
    }
    return status;
}

static tw_status sample(measure_once *once, void *context, const measure_options *o, sampled *x)
{
    double total_s;
    tw_status status = run(once, context, o->sets, x->repeats, &x->runs, &total_s);
    if (status == TW_OK) x->times_s[x->count++] = total_s / x->repeats;
    return status;
}

static tw_status take_samples(measure_once *once, const measure_work *works, int count, const measure_options *o,
                              sampled *x)
{
    const int least = count > 1 ? LEAST_ROUNDS : LEAST_SAMPLES;
    double start_s = measure_now_s();
    tw_status status = TW_OK;
    for (int i = 0; status == TW_OK && i < count; i++) {
        status = begin(once, works[i].context, o, &x[i]);
        if (count > 1) x[i].count = 0; /* not in turns */
    }
    while (status == TW_OK && x[0].count < o->samples) {
        int round = x[0].count;
        if (round >= least && measure_now_s() - start_s >= count * o->limit_s) break;
        for (int turn = 0; status == TW_OK && turn < count; turn++) {
            int i = (turn + round) % count;
            status = sample(once, works[i].context, o, &x[i]);
        }
    }
    return status;
}

/* Before the summary sorts the times. */
static void compare(measure_work *w, const sampled *first, const sampled *x, double *speeds)
{
    /* a clock too coarse */
    for (int i = 0; i < x->count; i++) speeds[i] = x->times_s[i] > 0 ? first->times_s[i] / x->times_s[i] : 1;
    w->rounds = x->count;
    w->speed = measure_summary(speeds, x->count, 1).median_s;
    w->low_speed = speeds[x->count / 6], w->high_speed = speeds[x->count - 1 - x->count / 6]; /* sorted now */
}

tw_status measure_interleaved(measure_once *once, measure_work *works, int count, const measure_options *options)
{
    measure_options o = {0};
    for (int i = 0; i < count; i++) works[i] = (measure_work){.context = works[i].context};
    if (options != NULL) o = *options;
    if (once == NULL || count < 1 || o.samples < 0 || o.warmups < 0 || o.sets < 0 || !(o.limit_s >= 0) ||
        !(o.least_s >= 0))
        return TW_BAD_ARGUMENT;
    if (o.samples == 0) o.samples = 11;
    if (o.warmups == 0) o.warmups = 1;
    if (o.sets == 0) o.sets = 1;
    if (o.limit_s == 0) o.limit_s = 10;
    if (o.least_s == 0) o.least_s = 1e-4;
    double *times_s = calloc(((size_t)count + 1) * (size_t)o.samples, sizeof *times_s);
    sampled *x = calloc((size_t)count, sizeof *x);
    tw_status status = times_s != NULL && x != NULL ? TW_OK : TW_NO_MEMORY;
    for (int i = 0; status == TW_OK && i < count; i++) x[i].times_s = times_s + (size_t)i * (size_t)o.samples;
    if (status == TW_OK) status = take_samples(once, works, count, &o, x);
    for (int i = 0; status == TW_OK && i < count; i++)
        compare(&works[i], &x[0], &x[i], times_s + (size_t)count * (size_t)o.samples);
    for (int i = 0; status == TW_OK && i < count; i++)
        works[i].result = measure_summary(x[i].times_s, x[i].count, x[i].repeats);
    free(x);
    free(times_s);
    return status;
}

tw_status measure_run(measure_once *once, void *context, const measure_options *options, measure_result *result)
{
    measure_work work = {.context = context};
    tw_status status = measure_interleaved(once, &work, 1, options);
    *result = work.result;
    return status;
}

bool measure_tells(const measure_work *w) { return w->rounds >= LEAST_ROUNDS; }

bool measure_differs(const measure_work *w)
{
    const double wobble = 1.02;
    bool outside = w->low_speed > 1 || w->high_speed < 1;
    return measure_tells(w) && outside && (w->speed > wobble || w->speed * wobble < 1);
}
