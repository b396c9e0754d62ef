/* row.h - one line of a bench or ladder: does the kernel fit, is it right, how fast is it, and how fast could it be? */
#ifndef TILEWRIGHT_ROW_H
#define TILEWRIGHT_ROW_H

#include "../lab/bench/roofs.h"
#include "../lab/bench/trial.h"
#include "../lab/busy.h"
#include "../lab/own.h"
#include "../lab/record.h"
#include "session.h"

typedef struct row_wish {
    const tw_lab_kernel *kernel; /* NULL: the planner's */
    const own_kernel *own;       /* not NULL: this text, launched like kernel */
    int tile;                    /* 0: the row's own */
    bool default_build;          /* let the compiler unroll the loops that the rung holds rolled */
    double limit_s;              /* for the samples */
} row_wish;

typedef enum row_outcome {
    ROW_REFUSED,    /* it does not fit: text says why; no failure */
    ROW_WRONG,      /* it did not pass the oracles: no time was taken */
    ROW_IMPOSSIBLE, /* the time beats what the machine can do: an error of measurement */
    ROW_TIMED
} row_outcome;

typedef struct row {
    row_outcome outcome;
    record record;
    tw_lab_plan plan;
    char text[512];     /* why it was refused, is wrong or impossible; else "" */
    measure_work turns; /* of a row that was timed: beside the first of row_run_turns; rounds 0: that was not timed */
} row;

/* row_trial - trial_open for rows: references that cost little, and a sentence where they fail. */
exit_code row_trial(const session *s, const tw_problem *problem, trial *t);

/* row_refused - does the kernel refuse this problem, of which t needs no operands yet? Then the row is complete. */
bool row_refused(const session *s, const trial *t, const row_wish *wish, row *out);

/* row_run - EXIT_OK and the row, whatever its outcome; or, after a sentence, the exit code of what broke down. row must
 * stay where it is: its record points into it. */
exit_code row_run(const session *s, trial *t, roofs *limits, const row_wish *wish, row *out);

/* row_run_turns - the same of several kernels on one problem: all are judged, then those that passed are sampled in
 * turns. */
exit_code row_run_turns(const session *s, trial *t, roofs *limits, const row_wish *wishes, int count, row *out);

/* row_builds - can a reader's kernel be built and opened for this device? EXIT_OK, also where its rung refuses; or,
 * after a sentence, what broke. */
exit_code row_builds(const session *s, const row_wish *wish);

bool row_failed(const row *r); /* wrong or impossible: the command must end with EXIT_CHECK */

/* row_has_numbers - false: the row was refused or is wrong, and the rest of its line now says why. */
bool row_has_numbers(FILE *text, const row *r);

int row_threads(const row *r);       /* of the CPU, or of one block */
double row_c_bytes(const record *r); /* of C itself, without padding */

/* row_tell_busy - a line where other processes used more of the processors since `from` than times can bear. */
void row_tell_busy(FILE *text, const busy_reading *from);

/* row_finish - its line is complete: a sentence on stderr where it failed, the record where JSON was asked for. */
exit_code row_finish(session *s, const row *r);

#endif
