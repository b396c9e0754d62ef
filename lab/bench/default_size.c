/* default_size.c - times a small product and scales it up. */
#include "default_size.h"

#include <math.h>
#include "trial.h"

enum { PROBE_SIDE = 512, LEAST_SIDE = 128 };

/* Seconds that one run takes at PROBE_SIDE; 0 where the kernel does not fit: its row will say why. */
static tw_status probe(const bench_setup *s, const tw_lab_kernel *kernel, int64_t k, double *seconds)
{
    trial t;
    tw_problem small = tw_problem_make(kernel->dtype, TW_N, TW_N, PROBE_SIDE, PROBE_SIDE, k > 0 ? k : PROBE_SIDE);
    tw_lab_choice choice = {.kernel = kernel->name};
    measure_options how = {.samples = 3, .limit_s = 1};
    trial_timing timing = {.choice = &choice};
    *seconds = 0;
    if (tw_lab_fits(s->context, &choice, &small, NULL, 0) != 1) return TW_OK;
    tw_status status = trial_open(&t, s->context, &small, 1, 1e6);
    if (status == TW_OK) {
        status = trial_time(&t, &timing, 1, s->device, &how);
        trial_close(&t);
    }
    *seconds = timing.work.result.median_s;
    return status;
}

tw_status default_size(const bench_setup *s, const tw_lab_kernel *kernel, int64_t k, int64_t most, double longest_s,
                       int64_t *n, double *most_s)
{
    double probe_s, power = k > 0 ? 2 : 3;
    tw_status status = probe(s, kernel, k, &probe_s);
    *n = most;
    while (*n > LEAST_SIDE && probe_s * pow((double)*n / PROBE_SIDE, power) > longest_s) *n /= 2;
    *most_s = probe_s * pow((double)most / PROBE_SIDE, power);
    return status;
}
