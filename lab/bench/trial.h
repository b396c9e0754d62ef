/* trial.h - one problem with all that is needed to judge and time kernels on it: operands, two oracles, and sets of
 * operands that together exceed the caches. */
#ifndef TILEWRIGHT_TRIAL_H
#define TILEWRIGHT_TRIAL_H

#include "../measure.h"
#include "../mistake.h"
#include "../oracle.h"
#include "sets.h"
#include "setup.h"

typedef struct trial {
    tw_context *context;
    tw_problem problem;
    bool host;                /* run tw_gemm itself, with host pointers; no row can be forced then */
    int64_t batch;            /* host: tw_gemm_batched of so many; 0: single products */
    const bench_hooks *hooks; /* NULL, or told when a user's kernel runs */
    bool has_exact;           /* false: k is too large for small integers to stay exact */
    oracle exact, bound;
    int sets; /* of operands to rotate through when timing */
    operand_sets layout;
    int host_sets; /* the CPU computes in the sets themselves; the other engines copy one set as often as it takes */
    char *memory;  /* the sets, one after the other: a, b, c */
} trial;

typedef struct trial_verdict {
    bool passed;
    const char *verified; /* as in a record: "exact+bound", "exact+bound sampled", "bound", ..., "WRONG" */
    double error_ratio;
    double seconds; /* that the run on random operands took */
    char text[300]; /* what was wrong; else "" */
} trial_verdict;

/* trial_open - operands and references. The references together cost at most about 2 max_work multiply-adds; beyond
 * that they are sampled (0: no limit). On failure nothing is left to close. */
tw_status trial_open(trial *t, tw_context *context, const tw_problem *problem, uint64_t seed, double max_work);
void trial_close(trial *t);

/* trial_bytes - what a trial of p takes: two oracles and one set to time, three operands each, and the C that is
 * judged. */
double trial_bytes(const tw_problem *p);

/* trial_judge - run once on each oracle's operands and judge. */
tw_status trial_judge(const trial *t, const tw_lab_choice *choice, trial_verdict *verdict);

/* trial_mistake - run once more on the exact oracle's operands and name what is wrong with C (mistake.h). False: there
 * is no such oracle, the run failed, or nothing can be named. */
bool trial_mistake(const trial *t, const tw_lab_choice *choice, char text[MISTAKE_BYTES]);

/* trial_judge_other - judge what multiply() makes of each oracle's operands in c, which is poisoned. seconds stays
 * 0. */
typedef tw_status trial_multiply(void *job, const oracle *o, void *c);
tw_status trial_judge_other(const trial *t, trial_multiply *multiply, void *job, trial_verdict *verdict);

/* One of several kernels that are timed interleaved. */
typedef struct trial_timing {
    const tw_lab_choice *choice;
    measure_work work;          /* its context is ours */
    tw_lab_resources resources; /* of the launch */
    double prepare_s;           /* that the host spent before it */
} trial_timing;

/* trial_time - median and the other statistics over rotated operand sets, which are made at the first call: twice the
 * last-level cache and one more, fewer where memory is short. Several kernels are interleaved. */
tw_status trial_time(trial *t, trial_timing *timings, int count, const tw_device *device, const measure_options *how);

#endif
