/* tune_worker.h - the process that verifies and times candidates of a search. It opens the device; the process that
 * searches never does, so that it can end this one where a candidate hangs, and start another. */
#ifndef TILEWRIGHT_TUNE_WORKER_H
#define TILEWRIGHT_TUNE_WORKER_H

#include "tune.h"
#include "../lab/bench/workers.h"

enum { TUNE_PLAN_TEXT = sizeof((tw_lab_plan *)NULL)->text };

typedef enum tune_work {
    TUNE_BEGIN, /* this problem from now on; answer: the device, the plan and the parameters */
    TUNE_PLAN,  /* candidate beside present, of which nothing is run; answer: plan, and whether it is the SAME */
    TUNE_TRY,   /* the same, run; answer: result */
    TUNE_SIGN   /* answer: line, of `row` */
} tune_work;

typedef struct tune_order {
    tune_work what;
    tw_problem problem;
    char present[TUNE_ROWS], candidate[TUNE_ROWS];
    double limit_s;
    tw_lab_tuned row;
} tune_order;

typedef struct tune_answer {
    bool done;
    tw_status status;   /* not done: why[] says why */
    tune_result result; /* TUNE_TRY */
    char line[TW_LAB_TUNED_LINE];
    char plan[TUNE_PLAN_TEXT];
    /* TUNE_BEGIN: of all kernels, then of each that fits, those that the planner finds cheaper first */
    char engine[16], device[96];
    int tile_k, kernel_count;
    char kernels[TUNE_KERNELS + 1][48];
    double committed[TUNE_KERNELS + 1][TUNE_PARAMETERS], users[TUNE_KERNELS + 1][TUNE_PARAMETERS];
} tune_answer;

/* What the process opens; the job of tune_worker_run, a worker_body. */
typedef struct tune_device {
    const char *engine; /* NULL: auto */
    int device, threads;
    uint64_t seed;
    double others; /* taken as the share that other processes used; NAN: measured where candidates run on processors */
} tune_device;

void tune_worker_run(void *device, int orders, int answers);

/* The process as the search sees it. */
typedef struct tune_worker {
    const bench_hooks *hooks;
    worker_body *body;
    void *job;
    double patience_s; /* for an answer; beyond it a candidate counts as hung */
    worker_process process;
    bool begun; /* problem is that of the last TUNE_BEGIN */
    tw_problem problem;
} tune_worker;

/* tune_worker_begin - a problem for the process, which is started where there is none. false: answer->result.why. */
bool tune_worker_begin(tune_worker *w, const tw_problem *problem, double limit_s, tune_answer *answer);

/* tune_space_of - the parameters of a problem that was begun, as the user has them. */
void tune_space_of(const tune_answer *begun, const tw_problem *problem, tune_space *out);

/* tune_worker_plan - the candidate's plan in a line, and whether it is that of the present rows. false: it has none. */
bool tune_worker_plan(tune_worker *w, const char *present, const char *candidate, double limit_s,
                      char plan[TUNE_PLAN_TEXT], bool *same);

/* tune_worker_try - a verdict on a candidate, whatever becomes of the process. */
void tune_worker_try(tune_worker *w, const char *present, const char *candidate, double limit_s, tune_result *out);

/* tune_worker_sign - the signed line of a row. false: why. */
bool tune_worker_sign(tune_worker *w, const tw_lab_tuned *row, char line[TW_LAB_TUNED_LINE], char why[TUNE_WHY]);

void tune_worker_end(tune_worker *w);

#endif
