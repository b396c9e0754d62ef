/* life.h - signs of life between ranks of which some compute and others wait for them, so that no deadline has to guess
 * how long a product takes.
 *
 * From life_begin() on, all ranks go through rounds: each says whether it computes, waits for others, or has ended. A
 * rank begins its next round a fortieth of the deadline after the last one, one that has ended at once. A round that
 * does not end within the deadline lacks a rank. Rounds are collective calls of MPI, and no rank makes another one on
 * this communicator until life_end(). Without a deadline there are no rounds. */
#ifndef TILEWRIGHT_MPI_LIFE_H
#define TILEWRIGHT_MPI_LIFE_H

#include "failure.h"

enum { LIFE_ROUNDS = 40 }; /* within a deadline */

typedef struct life {
    MPI_Comm comm;
    double timeout_s; /* alike on all ranks; 0: no deadline */
    MPI_Request request;
    int64_t mine, most; /* of a round: what this rank does, and the most that any does */
    bool under_way;
    bool computed;   /* since this rank began the last round */
    int code;        /* of the call of MPI that failed */
    double next_s;   /* when the next round is due */
    double looked_s; /* when this rank last asked whether the round has ended */
    double silent_s; /* for how long it has asked in vain; 0: no round is under way */
    double sign_s;   /* when a rank was last seen to compute */
} life;

void life_begin(life *l, MPI_Comm comm, double timeout_s);

/* life_computes, life_waits - what this rank does now; to be called often. The first also of a device that it waits for
 * with a deadline of its own. Do not wait. */
void life_computes(life *l);
void life_waits(life *l);

/* life_end - collective: wait for all ranks, as long as each takes part. TW_DEVICE_FAILED: one does not, and MPI may
 * still use *l. */
tw_status life_end(life *l);

#endif
