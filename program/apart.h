/* apart.h - each engine's driver in a process of its own, which it may take along when it crashes, as some do without
 * memory: this process never asks one. The cpu engine, which has no driver, answers here. */
#ifndef TILEWRIGHT_APART_H
#define TILEWRIGHT_APART_H

#include <stdbool.h>
#include <stddef.h>
#include "../lab/bench/workers.h"

/* Answer an order to an engine into `answer`, which is zeroed before. */
typedef void apart_work(void *job, const char *engine, int order, void *answer);

enum { APART_ENGINES = 8, APART_WHY = 300 };

typedef struct apart {
    apart_work *work;
    void *job;
    size_t bytes; /* of an answer */
    double patience_s;
    int count, begun;
    worker_process processes[APART_ENGINES];
    char why[APART_ENGINES][APART_WHY]; /* of tw_lab_engine_at(i): "", or in a sentence how its process ended */
} apart;

/* apart_begin - start the processes, none of which is waited for longer than patience_s for an answer. Must come before
 * this process has a second thread or unwritten output. */
void apart_begin(apart *x, apart_work *work, void *job, size_t answer_bytes, double patience_s);

/* apart_ask - an order to engine i. false: it has no process any longer, why[i] says why not. */
bool apart_ask(apart *x, int i, int order, void *answer);

void apart_end(apart *x);

#endif
