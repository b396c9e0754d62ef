/* row.h - one row of bench or ladder: whether the kernel fits, whether it is right, how fast it is, and how fast it
 * could be. */
#ifndef TILEWRIGHT_ROW_H
#define TILEWRIGHT_ROW_H

#include "../record.h"
#include "roofs.h"
#include "setup.h"
#include "trial.h"

typedef struct row_wish {
    const tw_lab_kernel *kernel; /* NULL: the planner's */
    const char *rung;            /* not NULL: the name in the record, instead of the kernel's */
    const tw_lab_source *source; /* not NULL: a reader's text, launched like kernel and called as rung says */
    const char *wrong;           /* not NULL: what is wrong with it, as was found before: it is not run */
    int tile;                    /* 0: the row's own */
    bool default_build;          /* let the compiler unroll the loops that the rung holds rolled */
    double limit_s;              /* for the samples */
} row_wish;

typedef enum row_outcome {
    ROW_REFUSED,    /* it does not fit: text says why; no failure */
    ROW_WRONG,      /* it failed an oracle: not timed */
    ROW_IMPOSSIBLE, /* faster than the machine can be: an error of measurement */
    ROW_TIMED
} row_outcome;

typedef struct row {
    row_outcome outcome;
    record record;
    tw_lab_plan plan;
    char text[512];     /* why it was refused, is wrong or impossible; else "" */
    measure_work turns; /* of a row that was timed: beside the first of row_run; rounds 0: that was not timed */
} row;

enum { ROW_MOST = 65 }; /* kernels that are timed interleaved */

/* Where a call below fails: its row, and what memory was for. tw_error_text() has the library's sentence. */
typedef struct row_fault {
    const row_wish *wish;
    const char *what; /* that there may have been no memory for */
} row_fault;

/* row_trial - trial_open for rows: references that cost little. */
tw_status row_trial(const bench_setup *s, const tw_problem *problem, trial *t);

/* row_refused - does the kernel refuse this problem, of which t needs no operands yet? Then the row is complete. */
bool row_refused(const bench_setup *s, const trial *t, const row_wish *wish, row *out);

/* row_run - runs several kernels on one problem: judges all, then times those that passed, interleaved. TW_OK and the
 * rows, whatever their outcome. They must stay where they are: their records point into them, and to the device and
 * driver of the setup. */
tw_status row_run(const bench_setup *s, trial *t, roofs *limits, const row_wish *wishes, int count, row *out,
                  row_fault *fault);

/* row_builds - whether a user kernel can be compiled and opened for this device. TW_OK also where its rung refuses. */
tw_status row_builds(const bench_setup *s, const row_wish *wish);

/* row_compare - give a row that has its times its bounds, which are measured so many times; 0: as before. Its outcome
 * is ROW_TIMED or ROW_IMPOSSIBLE then. */
void row_compare(const trial *t, roofs *limits, int tries, row *out);

bool row_failed(const row *r);       /* wrong or impossible */
int row_threads(const row *r);       /* of the CPU, or of one block */
double row_c_bytes(const record *r); /* of C itself, without padding */

/* row_is_rolled - r01 to r05 of the engines that compile at run time hold their loops rolled, and have a default build
 * beside. */
bool row_is_rolled(const tw_lab_kernel *kernel);

#endif
