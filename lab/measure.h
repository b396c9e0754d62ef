/* measure.h - takes times that can be trusted: warm-up, operands rotated beyond the cache, several samples, medians.
 * Knows nothing of matrices. */
#ifndef TILEWRIGHT_MEASURE_H
#define TILEWRIGHT_MEASURE_H

#include <stdbool.h>
#include "tilewright_lab.h"

/* Run the work once on operand set `set` (0 .. sets - 1) and say how long it took. */
typedef tw_status measure_once(void *context, int set, double *seconds);

typedef struct measure_options {
    int samples; /* wanted; 0: 11 */
    int warmups; /* 0: 1 */
    int sets;    /* operand sets to rotate through; 0: 1 */
    /* stop taking samples after this long, but never before 3; a warm-up that lasts as long is a sample; 0: 10 s */
    double limit_s;
    double least_s; /* work shorter than this is repeated within one sample and divided; 0: 1e-4 s */
} measure_options;

typedef struct measure_result {
    int samples, repeats; /* repeats of the work within one sample */
    double min_s, median_s, p95_s, max_s;
} measure_result;

/* measure_run - Returns TW_OK, or the first failure of the work (result zeroed). */
tw_status measure_run(measure_once *once, void *context, const measure_options *options, measure_result *result);

/* One of several kinds of work that are compared. */
typedef struct measure_work {
    void *context;
    measure_result result;
    int rounds; /* in which each was sampled once, right after the other */
    /* Over the first work's: the rounds' median, and the spread without the sixth of them at each end. */
    double speed, low_speed, high_speed;
} measure_work;

/* measure_interleaved - samples of each in turns, another one beginning each round, so that what slows the machine
 * slows all alike: at least 5 rounds (or options->samples, if fewer). limit_s is each one's. Of one kind alone it is
 * measure_run. */
tw_status measure_interleaved(measure_once *once, measure_work *works, int count, const measure_options *options);

/* measure_differs - is this work's speed another than the first one's? Not where the spread holds 1, where the median
 * is within 2 %, as clocks wobble, nor where there were fewer than 5 rounds. */
bool measure_differs(const measure_work *w);

/* measure_tells - were there rounds enough, 5, to tell? */
bool measure_tells(const measure_work *w);

/* measure_summary - the same statistics from times already taken; times are sorted in place. */
measure_result measure_summary(double *times_s, int count, int repeats);

double measure_now_s(void); /* monotonic wall clock */

#endif
