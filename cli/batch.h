/* batch.h - an oracle's operands once for each item of a batch, so that one product judges them all. */
#ifndef TILEWRIGHT_BATCH_H
#define TILEWRIGHT_BATCH_H

#include "../lab/oracle.h"

typedef struct batch_operands {
    tw_batch batch;
    size_t a_bytes, b_bytes, c_bytes, item_bytes; /* of all items; of one item's C as far as it may be looked at */
    char *a, *b, *c;
} batch_operands;

/* batch_spread - copies of the oracle's A and B and of this C for `count` items that lie one after the other. false: no memory. */
bool batch_spread(const oracle *o, int64_t count, const void *c, batch_operands *out);
void batch_free(batch_operands *x); /* of zeroed values nothing */

/* batch_to_judge - the first item of C that is not as the one before; else the first: all are the same then. */
const void *batch_to_judge(const batch_operands *x);

#endif
