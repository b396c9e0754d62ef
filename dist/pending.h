/* pending.h - blocks on their way between ranks, in messages of at most 1 GiB, moved on by polling. */
#ifndef TILEWRIGHT_DIST_PENDING_H
#define TILEWRIGHT_DIST_PENDING_H

#include "failure.h"

/* rows x cols elements, ld elements from one row to the next. */
typedef struct block {
    char *data;
    int64_t rows, cols, ld, bytes; /* bytes: of an element */
} block;

/* Of a request: what counts the messages of its block, and the other rank. */
typedef struct pending_note {
    int *left, rank;
} pending_note;

typedef struct pending {
    MPI_Comm comm;
    double timeout_s;
    MPI_Request *requests;
    pending_note *notes;
    int *indices;
    int count, room;
    int64_t received; /* elements, since pending_begin() */
    tw_status status; /* of the first failure, which has a sentence */
} pending;

void pending_begin(pending *p, MPI_Comm comm, double timeout_s);
void pending_free(pending *p);

/* pending_send, pending_receive - *left grows by the messages of the block, and shrinks as they are done. The same
 * block sizes on both sides give the same messages. After a failure nothing more is sent or received. */
void pending_send(pending *p, const block *b, int rank, int tag, int *left);
void pending_receive(pending *p, const block *b, int rank, int tag, int *left);

/* pending_poll - let MPI move messages on. */
void pending_poll(pending *p);

/* pending_wait - poll until a message is done; TW_DEVICE_FAILED where none is for timeout_s. At once where none is on
 * its way. */
tw_status pending_wait(pending *p);
tw_status pending_wait_all(pending *p);

#endif
