/* measure.c - see measure.h. */
#include "measure.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_SAMPLES = 3, MOST_REPEATS = 1 << 20 };

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

static tw_status take_samples(measure_once *once, void *context, const measure_options *o, double *times_s,
                              measure_result *result)
{
    int64_t runs = 0;
    int repeats = 1, count = 0;
    double total_s;
    double start_s = measure_now_s();
    tw_status status = run(once, context, o->sets, o->warmups, &runs, &total_s);
    bool slow = total_s / o->warmups >= o->limit_s; /* what a warm-up cures is nothing beside such a run: it is a sample */
    if (status == TW_OK && slow) times_s[count++] = total_s / o->warmups;
    while (status == TW_OK && !slow) { /* how many repeats last least_s? The run that does is the first sample */
        status = run(once, context, o->sets, repeats, &runs, &total_s);
        if (status == TW_OK && total_s >= o->least_s) times_s[count++] = total_s / repeats;
        if (status != TW_OK || total_s >= o->least_s || repeats >= MOST_REPEATS) break;
        double wanted = total_s > 0 ? ceil(1.25 * repeats * o->least_s / total_s) : MOST_REPEATS;
        repeats = (int)fmin(fmin(fmax(wanted, repeats + 1), 10.0 * repeats), MOST_REPEATS);
    }
    while (status == TW_OK && count < o->samples) {
        if (count >= LEAST_SAMPLES && measure_now_s() - start_s >= o->limit_s) break;
        status = run(once, context, o->sets, repeats, &runs, &total_s);
        if (status == TW_OK) times_s[count++] = total_s / repeats;
    }
    if (status == TW_OK) *result = measure_summary(times_s, count, repeats);
    return status;
}

tw_status measure_run(measure_once *once, void *context, const measure_options *options, measure_result *result)
{
    measure_options o = {0};
    memset(result, 0, sizeof *result);
    if (options != NULL) o = *options;
    if (once == NULL || o.samples < 0 || o.warmups < 0 || o.sets < 0 || !(o.limit_s >= 0) || !(o.least_s >= 0))
        return TW_BAD_ARGUMENT;
    if (o.samples == 0) o.samples = 11;
    if (o.warmups == 0) o.warmups = 1;
    if (o.sets == 0) o.sets = 1;
    if (o.limit_s == 0) o.limit_s = 10;
    if (o.least_s == 0) o.least_s = 1e-4;
    double *times_s = calloc((size_t)o.samples, sizeof *times_s);
    if (times_s == NULL) return TW_NO_MEMORY;
    tw_status status = take_samples(once, context, &o, times_s, result);
    free(times_s);
    return status;
}
