/* batch.h - of an oracle's operands others for each item of a batch, with the same elements in other places, so that
 * one product judges them all. */
#ifndef TILEWRIGHT_BATCH_H
#define TILEWRIGHT_BATCH_H

#include "../oracle.h"

typedef struct batch_operands {
    tw_batch batch;
    size_t a_bytes, b_bytes, c_bytes, item_bytes; /* of all items; of one item's C as far as it may be looked at */
    char *a, *b, *c, *back;                       /* back: an item of C with its elements where the oracle has them */
} batch_operands;

/* batch_spread - operands for `count` items that lie one after the other, from the oracle's A and B and this C: item i
 * has the rows of A and the columns of B in another order, and so of C. false: no memory. */
bool batch_spread(const oracle *o, int64_t count, const void *c, batch_operands *out);
void batch_free(batch_operands *x); /* of zeroed values nothing */

/* batch_to_judge - the first item of C, put back in order, that is not as item 0; else item 0: all are the same
 * then. */
const void *batch_to_judge(const tw_problem *p, batch_operands *x);

#endif
