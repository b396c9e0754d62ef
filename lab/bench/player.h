/* player.h - a worker process of a comparison: computes Tilewright's product or a library's, once to be judged, then
 * timed. */
#ifndef TILEWRIGHT_PLAYER_H
#define TILEWRIGHT_PLAYER_H

#include "../peers.h"
#include "sets.h"

typedef enum player_what {
    PLAYER_MEET,    /* open the library; answer: its version, and the code that it chose where it says so already */
    PLAYER_PRODUCT, /* one product of the first set, to be judged; answer: the code that it chose */
    /* touch all sets, run, find out how many runs a sample needs; answer: repeats, and seconds of a run */
    PLAYER_READY,
    /* answer: seconds of a run: with one thread CPU time of the process, so that what else runs here costs less, else
     * wall time */
    PLAYER_SAMPLE,
    PLAYER_PEAK /* Tilewright alone: answer: flop/s of multiply-adds, measured now, as seconds */
} player_what;

typedef struct player_order {
    player_what what;
    tw_problem problem;
    operand_sets sets;
    int count; /* of sets that lie in the memory */
} player_order;

typedef struct player_answer {
    bool done;
    int repeats;
    double seconds;
    char text[PEER_TEXT]; /* the version; not done: why */
    char choice[PEER_TEXT];
} player_answer;

typedef struct player_job {
    const peer_row *row; /* NULL: Tilewright itself */
    const char *folder;  /* of the peers */
    int threads;
    char *memory; /* the sets, shared by all processes */
} player_job;

void player_play(void *job, int orders, int answers); /* a turn_body of a player_job */

#endif
