/* library_worker.h - a worker process of a comparison: computes Tilewright's product or a library's, once to be judged,
 * then timed. */
#ifndef TILEWRIGHT_LIBRARY_WORKER_H
#define TILEWRIGHT_LIBRARY_WORKER_H

#include "../peers.h"
#include "sets.h"

typedef enum work_kind {
    WORK_OPEN,    /* open the library; answer: its version, and the code that it chose where it says so already */
    WORK_PRODUCT, /* one product of the first set, to be judged; answer: the code that it chose */
    /* touch all sets, run, find out how many runs a sample needs; answer: repeats, seconds of a run, and threads */
    WORK_READY,
    /* answer: seconds of a run: with one thread CPU time of the process, so that what else runs here costs less, else
     * wall time */
    WORK_SAMPLE,
    WORK_PEAK /* Tilewright alone: answer: flop/s of multiply-adds, measured now, as seconds */
} work_kind;

typedef struct work_order {
    work_kind what;
    tw_problem problem;
    operand_sets sets;
    int count; /* of sets that lie in the memory */
} work_order;

typedef struct work_answer {
    bool done;
    int repeats;
    int threads; /* of the process that computed in those runs; 0: unknown */
    double seconds;
    char text[PEER_TEXT]; /* the version; not done: why */
    char choice[PEER_TEXT];
} work_answer;

typedef struct worker_job {
    const peer_row *row; /* NULL: Tilewright itself */
    const char *folder;  /* of the peers */
    int threads;
    double pause_s; /* of other computing before each call that is timed */
    char *memory;   /* the sets, shared by all processes */
} worker_job;

void library_worker_run(void *job, int orders, int answers); /* a worker_body of a worker_job */

#endif
