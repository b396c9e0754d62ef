/* workers.h - worker processes whose work is interleaved: each is forked from this one, gets orders through a pipe,
 * answers through another, and may crash or hang without harm to the others. */
#ifndef TILEWRIGHT_WORKERS_H
#define TILEWRIGHT_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>
#include "setup.h"

typedef struct worker_process {
    pid_t pid;      /* 0: there is none, or no more */
    int to, from;   /* pipes */
    clockid_t cpu;  /* its CPU time, all threads of it */
    bool has_clock; /* cpu is one */
    double used_s;  /* of that when it was last looked at */
    bool late;      /* it was ended because it did not answer in time */
    int ended_by;   /* a signal by which it ended before it answered; 0: none */
} worker_process;

/* The body of a worker process: takes orders with worker_take from `orders` until there are no more, and answers each
 * with worker_give. */
typedef void worker_body(void *job, int orders, int answers);

/* worker_start - fork process number i, which does body(job) and has no end of the pipes of those before it. Must come
 * before this process has a second thread. Of the hooks it calls hold, release and forked. false: errno says why. */
bool worker_start(const bench_hooks *hooks, worker_process *processes, int i, worker_body *body, void *job);

bool worker_take(int orders, void *order, size_t bytes);
bool worker_give(int answers, const void *answer, size_t bytes);

/* worker_ask - sends an order and gets its answer. false: the process crashed, or was ended because it did not answer
 * in time; why says which. */
bool worker_ask(worker_process *p, const void *order, size_t order_bytes, void *answer, size_t answer_bytes,
                double deadline_s, char *why, size_t size);

enum { WORKERS_QUIET_MS = 20 };

/* workers_quiet - waits until none of the processes has used CPU time for so long, nor is runnable. -1; or after 5 s
 * the number of one that still works. */
int workers_quiet(worker_process *processes, int count);

/* workers_cpu_s - processor seconds that those of the processes have used that still are. */
double workers_cpu_s(const worker_process *processes, int count);

void worker_end(worker_process *p); /* nothing happens where there is none */

#endif
