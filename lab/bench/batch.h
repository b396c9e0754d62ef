/* batch.h - operands for each item of a batch made from those of one oracle: the same elements in other places, so that
 * one product judges all items. */
#ifndef TILEWRIGHT_BATCH_H
#define TILEWRIGHT_BATCH_H

#include "../oracle.h"

typedef struct batch_operands {
    tw_batch batch;
    size_t a_bytes, b_bytes, c_bytes, item_bytes; /* bytes of all items; of the C of one item */
    char *a, *b, *c, *back;                       /* an item of C with its elements back in the order of the oracle */
} batch_operands;

/* batch_spread - operands for `count` items that lie one after the other, from the oracle's A and B and this C: item i
 * has the rows of A and the columns of B, and so C, in another order. false: no memory. */
bool batch_spread(const oracle *o, int64_t count, const void *c, batch_operands *out);
void batch_free(batch_operands *x); /* a zeroed one is fine */

/* batch_to_judge - the first item of C, put back in order, that differs from item 0; else item 0. */
const void *batch_to_judge(const tw_problem *p, batch_operands *x);

#endif
