/* run.h - a plan with the kernel and the operands that it is carried out on. */
#ifndef TILEWRIGHT_RUN_H
#define TILEWRIGHT_RUN_H

#include "placed.h"

/* A planned product with its buffers: tw_gemm makes, uses and drops it; the lab keeps it. */
struct tw_lab_run {
    tw_context *context;
    const stop *stop; /* NULL: the lab's */
    plan plan;
    runnable runnable;
    operand operand[3]; /* a, b, c */
    buffer buffer[3];
    int uploaded;    /* how many of the buffers exist */
    gpu_bound bound; /* of an epilogue, likewise */
    buffer bound_buffer[MOST_BINDINGS];
    int uploaded_bound;
    bool whole;       /* operands go up and C comes down with their padding */
    bool brings_c;    /* C goes up even where beta is 0 */
    double prepare_s; /* spent on transposing B */
};

/* run_begin - run->plan is made; bring kernel and operands, which lie on the host as `h` says, into place. On failure
 * nothing is left to end. */
tw_status run_begin(tw_lab_run *run, const tw_problem *h, const void *a, const void *b, void *c);

/* run_once - compute the product and wait for it. */
tw_status run_once(tw_lab_run *run);

void run_end(tw_lab_run *run);

/* run_whole - all of that, and C brought back; in panels (panels.h) where that is faster. */
tw_status run_whole(tw_lab_run *run, const tw_problem *h, const void *a, const void *b, void *c);

#endif
