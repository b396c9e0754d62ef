/* selftest_exact.h - many products of small integers (lab/integers.h) through kernels and calls of the CPU engine. They
 * show faults that only some lengths, scalars, paddings, plans or items of a batch have. */
#ifndef TILEWRIGHT_SELFTEST_EXACT_H
#define TILEWRIGHT_SELFTEST_EXACT_H

#include <stdbool.h>
#include "tilewright_lab.h"

typedef struct exact_tally {
    tw_context *context;
    int threads; /* that a forced kernel takes; 0: as many as the context has */
    uint64_t seed;
    bool quick; /* a quarter of the products, of a batch's a third: each type and op still has some */
    int products;
    bool failed;
    char text[400]; /* the first fault */
} exact_tally;

/* Each returns TW_OK, also where a product is wrong; or what a call returned. */

/* exact_kernel - a production kernel: every remainder of its tile, every transpose, k around powers of two and
 * panels. */
tw_status exact_kernel(exact_tally *t, const tw_lab_kernel *kernel);

/* exact_rung - a rung of the CPU in tiles of 16, every transpose. */
tw_status exact_rung(exact_tally *t, const tw_lab_kernel *kernel);

/* exact_plans - tw_gemm on shapes that the planner treats differently, on the context's threads. */
tw_status exact_plans(exact_tally *t);

/* exact_recalled - tw_gemm of one problem twice, then with one field changed, then of the first again. */
tw_status exact_recalled(exact_tally *t);

/* exact_contexts - one shape on this context and on one of the baseline's instructions in turns: each keeps its own
 * plan. */
tw_status exact_contexts(exact_tally *t);

/* exact_batches - more than 1,024 and 65,536 items, at strides, of one A or one B, and by address. */
tw_status exact_batches(exact_tally *t);

/* exact_far - rows, or a batch's items, 2^31 elements apart (lab/far.h); none where so many addresses are not to be
 * had. */
tw_status exact_far(exact_tally *t);

#endif
