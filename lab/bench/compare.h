/* compare.h - compares Tilewright and cuBLASLt on one stream of one process, interleaved launch by launch. Call
 * compare_begin first; for each case compare_plan, compare_run, compare_release. compare_begin and compare_run report a
 * failure at once through the hook `tell`; the status says its kind. */
#ifndef TILEWRIGHT_COMPARE_H
#define TILEWRIGHT_COMPARE_H

#include "../clocks.h"
#include "../cublas.h"
#include "../cuda.h"
#include "against.h"

enum { OURS, HEURISTIC, BEST, COMPARE_SIDES };

typedef struct comparison {
    bench_setup setup;
    bool warm; /* operands in place, not rotated beyond the L2 */
    int samples;
    cuda cuda;
    cublas library;
    side sides[COMPARE_SIDES];
    bool best_is_heuristic; /* then it is timed once, as the heuristic's */
    int best, candidates;   /* the number of the candidate, of how many */
    /* what each took when it was tried; INFINITY: it failed, or its product is wrong */
    double trial_s[CUBLAS_CANDIDATES];
    tw_lab_plan plan;   /* ours */
    tw_problem problem; /* the present case, in device memory */
    bool batched;       /* items products at a time, of which one is told */
    int64_t items;      /* 1, or of a batch */
    operand_sets sets;  /* and behind them one more, to judge in */
    int set_count;
    int64_t launches, workspace_bytes;
    char *memory, *workspace, *peer_workspace; /* on the device */
    double peak_flops;
    clocks_reading before, after;
} comparison;

/* compare_begin - the caller zeroes g and sets setup, warm, batched and items. Call compare_end in any case. */
tw_status compare_begin(comparison *g, const char *folder);
void compare_end(comparison *g);

void compare_peak(comparison *g, tw_dtype dtype); /* measure peak_flops now; NAN where that fails */

/* compare_plan - pick and build our kernel for a problem. Where no kernel fits, our side says why and the others go on.
 * Any other failure is a status, with its sentence in tw_error_text(). */
tw_status compare_plan(comparison *g, const tw_problem *host);

/* compare_run - judge and time all sides on that problem. */
tw_status compare_run(comparison *g, const tw_problem *host, const trial *t);
void compare_release(comparison *g); /* after each case, also one that failed */

typedef char compare_candidate[64];
/* compare_record - side i of the present case. The record points into g and text. */
record compare_record(const comparison *g, int i, compare_candidate text);

#endif
