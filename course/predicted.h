/* predicted.h - the ladder as the access model predicts it for a published device; nothing is run. */
#ifndef TILEWRIGHT_PREDICTED_H
#define TILEWRIGHT_PREDICTED_H

#include <stdio.h>
#include "../program/exit.h"
#include "access/predict.h"
#include "report/chart.h"

enum { PREDICTED_MOST = 4096, PREDICTED_LABEL = 64, PREDICTED_WHY = 600 };

/* One rung, or one tile edge of it. Speeds in GFLOP/s; NAN: not predicted. */
typedef struct predicted_step {
    const tw_lab_kernel *kernel;
    int tile; /* of a sweep; 0: the rung's own */
    char label[PREDICTED_LABEL];
    char why[PREDICTED_WHY]; /* why nothing is predicted; "": something is */
    double flop_per_byte, moved_bytes;
    predict_degrees degrees;
    double limits[CHART_LIMITS]; /* what each allows alone; NAN: no limit here */
    double low, high; /* without overlap, with full overlap; low NAN: caches serve traffic, high bounds alone */
    int limit;        /* the least of limits, and the reason behind it; -1: none */
} predicted_step;

typedef struct predicted {
    const published_device *gpu;
    const char *engine;
    tw_problem problem;
    int count;
    predicted_step steps[PREDICTED_MOST];
} predicted;

/* predicted_add - the next step; tile 0: the rung's own. Nothing where there is no room. */
void predicted_add(predicted *x, const tw_lab_kernel *kernel, int tile);

void predicted_print(const predicted *x, FILE *text);  /* table, bars and notes */
void predicted_record(const predicted *x, FILE *json); /* an object a step; NULL: nothing */
exit_code predicted_page(FILE *out, const void *of);   /* of a predicted: a page */

#endif
