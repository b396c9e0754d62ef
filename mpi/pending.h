/* pending.h - blocks on their way between ranks, moved on by polling: in messages of MPI of at most 1 GiB, or from
 * device to device by exchanges of NCCL. */
#ifndef TILEWRIGHT_MPI_PENDING_H
#define TILEWRIGHT_MPI_PENDING_H

#include "engine.h"
#include "life.h"

/* rows x cols elements, ld elements from one row to the next. */
typedef struct block {
    char *data;
    int64_t rows, cols, ld, bytes; /* bytes: of an element */
} block;

/* Of a request: what counts the messages of its block, and the other rank. */
typedef struct pending_note {
    int *left, rank;
} pending_note;

/* Of an exchange: what it counts down, and the rank from which something comes. */
typedef struct pending_turn {
    int *left, rank;
} pending_turn;

typedef struct pending {
    MPI_Comm comm;
    double timeout_s;
    MPI_Request *requests;
    pending_note *notes;
    int *indices;
    int count, room;
    int64_t received;          /* elements, since pending_begin() */
    tw_status status;          /* of the first failure of messages, which has a sentence: nobody can be told */
    const rank_engine *engine; /* of exchanges */
    tw_lab_pipeline *pipeline;
    pending_turn *turns; /* exchanges under way, from `first` to `end` */
    int first, end, turn_room;
    int64_t exchanged;         /* since the ranks have joined */
    tw_status exchange_status; /* of the first exchange that failed, which has a sentence: ranks can be told by MPI */
    bool heard;                /* while exchanges were under way, of another rank's failure */
    double device_s;           /* within which the device finishes its products */
    bool stuck;                /* it has not: nothing that it has is waited for, or freed */
    life *life;                /* of ranks that may compute meanwhile; NULL: none does */
} pending;

void pending_begin(pending *p, MPI_Comm comm, double timeout_s);
void pending_free(pending *p);

/* pending_send, pending_receive - *left grows by the messages of the block, and shrinks as they are done. The same
 * block sizes on both sides give the same messages. After a failure nothing more is sent or received. */
void pending_send(pending *p, const block *b, int rank, int tag, int *left);
void pending_receive(pending *p, const block *b, int rank, int tag, int *left);

/* pending_exchange - a block to rank `to` and one from rank `from`, in device memory and with their padding; received:
 * elements. *left grows by 1, and shrinks as both are done. On all ranks in one order. After a failure nothing more is
 * exchanged. */
void pending_exchange(pending *p, const tw_lab_exchange *what, int64_t received, int *left);
/* pending_drop_exchanges - nobody waits for them any more. */
void pending_drop_exchanges(pending *p);

/* pending_poll - of a rank that computes: let MPI, and NCCL, move blocks on. */
void pending_poll(pending *p);

/* pending_wait - poll until a message or an exchange is done; TW_DEVICE_FAILED where for timeout_s none is and no rank
 * computes, or where another rank has failed while exchanges are under way. At once where none is on its way. */
tw_status pending_wait(pending *p);
tw_status pending_wait_all(pending *p);

/* pending_stuck - the device is given up, after device_s: TW_DEVICE_FAILED. */
tw_status pending_stuck(pending *p);

#endif
