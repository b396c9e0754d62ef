/* tuning.h - one run of tune: the process that tries candidates, the files that keep what was found, and what was tried
 * before. */
#ifndef TILEWRIGHT_TUNING_H
#define TILEWRIGHT_TUNING_H

#include "tune_worker.h"
#include <stdio.h>
#include "../program/exit.h"
#include "tuned_store.h"

/* What a run is to do. flush: out with what was printed; written: the same, and lines of json are complete. */
typedef struct tuning_wish {
    tune_device device;
    double patience_s, budget_s; /* of a candidate without an answer; of all */
    FILE *text, *json;           /* json NULL: nothing is written */
    exit_code (*flush)(void *job), (*written)(void *job);
    void *job;
} tuning_wish;

typedef struct tuning {
    tuning_wish wish;
    tune_worker worker;
    double start_s, until_s; /* of the budget */
    char path[TUNED_PATH], tried_path[TUNED_PATH + 8];
    tw_lab_tuned here;               /* signed with this device */
    tuned_lines known;               /* rows that were tried, here or in an earlier run */
    tuned_lines plans;               /* theirs, each behind its class and shape */
    int earlier_rows, earlier_plans; /* of these, those of earlier runs, which come first */
    /* the class in hand */
    tune_space space;
    char shape[48], title[80];
    char plan[TUNE_PLAN_TEXT];   /* of the candidate in hand */
    char engine[16], device[96]; /* that computes */
    tuned_lines begun;           /* its lines of the user's file when it was begun */
    int earlier;                 /* its candidates that earlier runs had tried */
    double before_s;             /* the present rows' time of it when the class was begun */
    exit_code code;              /* the first failure of a file */
} tuning;

/* tuning_begin - the paths, writable files and the process. EXIT_OK, or another after a sentence. */
exit_code tuning_begin(tuning *t, const tuning_wish *wish);

/* tuning_problem - the next class. EXIT_OK; another, and why. */
exit_code tuning_problem(tuning *t, const tw_problem *problem, char why[TUNE_WHY]);

/* tuning_keep - the rows of the space in the place of those of its class in the user's file. */
exit_code tuning_keep(tuning *t, const tune_result *result);

/* tuning_restore - the lines that the class began with, as they stood. */
exit_code tuning_restore(tuning *t);

/* tuning_write - one JSON object: a candidate (row), or a class with its tally. */
void tuning_write(const tuning *t, const char *event, const char *row, const tune_result *result,
                  const tune_tally *tally);

extern const tune_bench tuning_bench; /* of a tuning as its job, which the caller fills in */

void tuning_end(tuning *t);

/* tuned_user_path - the user's file; EXIT_OUTPUT after a sentence where there is none. */
exit_code tuned_user_path(char path[TUNED_PATH]);

#endif
