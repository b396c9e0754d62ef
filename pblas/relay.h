/* relay.h - moves a matrix between a block-cyclic array and the blocks of a plan, all ranks to all ranks.
 *
 * A block of the plan is stored by rows; its rows are columns of the array, which is stored by columns. What one rank
 * has of another one's block is one message. Nothing is copied where a block already lies in the array as it is to be.
 */
#ifndef TILEWRIGHT_PBLAS_RELAY_H
#define TILEWRIGHT_PBLAS_RELAY_H

#include "layout.h"
#include "../mpi/pending.h"

/* A message's two ends on this rank, packed; NULL: it goes from or to the memory itself. */
typedef struct relay_buffers {
    char *of_block, *of_array;
} relay_buffers;

typedef struct relay {
    int ranks, me, process_rows; /* rank r is process r % process_rows, r / process_rows of the caller's grid */
    int64_t bytes;               /* of an element */
    const tw_mpi_block *blocks;  /* of each rank, in the plan's order */
    stretches rows, cols;        /* of the plan: columns and rows of the array */
    char *array, *block;         /* this rank's; block: in the array where in_place */
    int64_t lld, ld;             /* elements from one column of the array to the next, from one row of the block */
    int tag;
    /* set by relay_open() */
    bool in_place;
    relay_buffers *buffers;
    struct relay_part *scratch;
    int left; /* messages on their way */
} relay;

/* relay_open - takes all memory that is needed. False: there is none. relay_close() either way. */
bool relay_open(relay *r);
void relay_close(relay *r);

/* relay_begin, relay_end - send from the arrays to the blocks (back: the other way), and, when all messages have come,
 * put them in their places. */
void relay_begin(relay *r, pending *p, bool back);
void relay_end(relay *r, bool back);

#endif
