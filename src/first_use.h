/* first_use.h - plans by kernels that pass a self-test on this device, where the engine's kernels are compiled by a
 * driver that nobody has tested them with. */
#ifndef TILEWRIGHT_FIRST_USE_H
#define TILEWRIGHT_FIRST_USE_H

#include "context.h"

/* What is planned, beside the problem. */
typedef struct first_use_wish {
    const tw_batch *batch; /* NULL: one product */
    const tw_lab_choice *choice;
    bool no_workspace;
} first_use_wish;

/* first_use_facts - what the planner may know of the context's device now. */
device_facts first_use_facts(const tw_context *context);

/* first_use_plan - plan_find(), or plan_find_batch(), until the kernel is one that passes its self-test, which is run
 * at its first use: then it is compiled, small operands are allocated, and the engine's own queue is waited for. Rungs
 * and a reader's own texts are not tested. TW_NO_KERNEL where only kernels that failed would fit: the sentence is the
 * verdict on one. Returns also what the test failed with, if that says nothing of the kernel. */
tw_status first_use_plan(tw_context *context, const tw_problem *problem, const first_use_wish *wish, plan *out);

/* first_use_failed - the verdict number `index`, newest first, on the kernels that failed, and that the planner might
 * have taken for this problem (NULL: for any); NULL: there are no more. */
const kernel_verdict *first_use_failed(const tw_context *context, const tw_problem *problem, int index);

void first_use_close(tw_context *context);

#endif
