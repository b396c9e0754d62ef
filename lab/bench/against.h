/* against.h - compares Tilewright with other libraries on the same operands, each in a process of its own, interleaved.
 * Call against_need for each case, then against_begin; for each type against_peak; for each case against_judge, then
 * against_time. A failure is reported at once through the hook `tell`; the status says its kind. */
#ifndef TILEWRIGHT_AGAINST_H
#define TILEWRIGHT_AGAINST_H

#include "../measure.h"
#include "../record.h"
#include "cases.h"
#include "library_worker.h"
#include "setup.h"
#include "trial.h"
#include "workers.h"

/* PEAK_SIDE: side of the square at which libraries are held against the peak, by AGAINST_LEAST_SAMPLES; other cases get
 * at least as many samples, and no more once they have taken 30 s. */
enum { MOST_SIDES = 16, PEAK_SIDE = 2048, AGAINST_LEAST_SAMPLES = 3 };

/* The outcome of a side in the present case. */
typedef enum side_outcome {
    SIDE_GONE,    /* its process has ended; why says how */
    SIDE_REFUSED, /* it does not take this problem; why says why not */
    SIDE_WRONG,   /* its product is wrong, as the verdict says: not timed */
    SIDE_TIMED
} side_outcome;

/* Side 0 is Tilewright itself. */
typedef struct side {
    const peer_row *row; /* NULL: Tilewright */
    const char *name;
    bool opened; /* its library was opened */
    worker_job job;
    char version[PEER_TEXT], choice[PEER_TEXT];
    double share[PEER_TYPES]; /* share of the peak, by its best sample at 2048, in each type; NAN: not measured */
    int ran[PEER_TYPES];      /* threads that computed there; 0: unknown */
    char doubt[200];          /* why its numbers are doubtful in the present type; "": they are not */
    side_outcome outcome;
    char why[PEER_TEXT + 64];
    trial_verdict verdict;
    int repeats, threads; /* threads that computed in the present case; 0: unknown */
    double run_s, *times_s;
    measure_result result;
} side;

typedef struct against {
    bench_setup setup;
    double deadline_s;  /* of an answer; 0: the usual */
    double pause_s;     /* of other computing before each call that is timed */
    const char *folder; /* of the peers */
    int count, threads, samples;
    side sides[MOST_SIDES];
    worker_process processes[MOST_SIDES]; /* of the sides */
    char *memory;                         /* shared by all */
    size_t bytes;
    tw_problem problem; /* the present case */
    double others;      /* the share of the processors that other processes used in it; NAN: unknown */
    operand_sets sets;
    double peak_flops[PEER_TYPES];            /* with that many threads; 0: not measured, as why_no_peak says */
    char why_no_peak[PEER_TEXT], method[200]; /* of measuring, for records */
} against;

/* against_need - makes the shared memory large enough for this case; before against_begin. */
void against_need(against *g, const tw_problem *problem);

/* against_begin - start a process for Tilewright and one for each peer. The caller zeroes g and sets setup, deadline_s,
 * pause_s and folder, and flushes its streams: a library may end its process with exit(), which writes what they hold.
 * TW_NO_DEVICE: none of the libraries is here. Call against_end in any case. */
tw_status against_begin(against *g, const peer_row *const peers[], int count);
void against_end(against *g);

/* against_judge - judge each side's product by the trial's oracles. */
tw_status against_judge(against *g, const tw_problem *problem, const trial *t);

/* against_time - time the sides that passed, interleaved. */
tw_status against_time(against *g, int samples);

/* against_peak - measure the multiply-add peak of this type. against_shares - the same again, and what each side
 * reaches of it in the present case, a square of PEAK_SIDE that was timed; on how many threads. A low share leaves no
 * library out: its speed is no reason for doubt. */
void against_peak(against *g, tw_dtype dtype);
void against_shares(against *g, tw_dtype dtype);

/* against_record - one side of the present case. The record points into g and x. */
record against_record(const against *g, const side *x);

#endif
