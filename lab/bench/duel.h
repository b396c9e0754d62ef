/* duel.h - compares Tilewright and cuBLASLt on one stream of one process, interleaved launch by launch. Call duel_begin
 * first; for each case duel_plan, duel_run, duel_release. duel_begin and duel_run report a failure at once through the
 * hook `tell`; the status says its kind. */
#ifndef TILEWRIGHT_DUEL_H
#define TILEWRIGHT_DUEL_H

#include "../clocks.h"
#include "../cublas.h"
#include "../cuda.h"
#include "against.h"

enum { OURS, HEURISTIC, BEST, DUEL_SIDES };

typedef struct duel {
    bench_setup setup;
    bool warm; /* operands in place, not rotated beyond the L2 */
    int samples;
    cuda cuda;
    cublas library;
    side sides[DUEL_SIDES];
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
} duel;

/* duel_begin - the caller zeroes g and sets setup, warm, batched and items. Call duel_end in any case. */
tw_status duel_begin(duel *g, const char *folder);
void duel_end(duel *g);

void duel_peak(duel *g, tw_dtype dtype); /* measure peak_flops now; NAN where that fails */

/* duel_plan - pick and build our kernel for a problem. Where no kernel fits, our side says why and the others go on.
 * Any other failure is a status, with its sentence in tw_error_text(). */
tw_status duel_plan(duel *g, const tw_problem *host);

/* duel_run - judge and time all sides on that problem. */
tw_status duel_run(duel *g, const tw_problem *host, const trial *t);
void duel_release(duel *g); /* after each case, also one that failed */

typedef char duel_candidate[64];
/* duel_record - side i of the present case. The record points into g and text. */
record duel_record(const duel *g, int i, duel_candidate text);

#endif
