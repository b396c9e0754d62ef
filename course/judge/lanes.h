/* lanes.h - what a GPU kernel's own text asks of memory, lane by lane, seen by running it on this machine
 * (host_kernel.h): the degrees of one inner group of a small product, whatever the text says, and how they differ from
 * those of the rung that a user kernel is launched like. No GPU is needed, and no driver.
 *
 * The i-th accesses of 32 neighbouring work-items make one request of a warp, which access.h prices. A word
 * of a tile is A's or B's by what is read there.
 *
 * This is the judge of user kernels, for `ladder --rung` and `explain`: the product is checked, also on edge tiles,
 * with alpha and beta, and with each transpose; accesses are watched for races and for out-of-bounds words
 * (witness.h), and mistakes are named (mistake.h). */
#ifndef TILEWRIGHT_LANES_H
#define TILEWRIGHT_LANES_H

#include "../../lab/bench/setup.h"
#include "../access/access.h"
#include "host_kernel.h"

/* global: sectors, lines and bytes used of a warp's request; shared: wavefronts */
typedef struct lanes_degree {
    int sectors, lines, used, wavefronts;
} lanes_degree;

int lanes_cost(const lanes_degree *degree); /* sectors or wavefronts */

typedef struct lanes_kind {
    int per_thread, requests; /* of one work-item; of all warps of the group. 0: there are none */
    lanes_degree at;          /* of the costliest request */
    /* of its first half-warp, global: transactions on compute capability 1.0 and 1.2; shared: conflicts in 16 banks,
     * 0 */
    int old[2];
    int words; /* of a lane, in the costliest request */
    int alike; /* requests of this degree */
    int total; /* sectors or wavefronts of all requests */
} lanes_kind;

typedef enum lanes_outcome {
    LANES_NONE, /* nothing is known */
    LANES_SEEN,
    LANES_UNABLE,   /* no C compiler is here */
    LANES_NOT_C,    /* it does not take the text */
    LANES_CRASHED,  /* ended by a signal or the time limit */
    LANES_WRONG,    /* the product is wrong, work-items race, or an access is to what is not the kernel's */
    LANES_UNJUDGED, /* it does what no degree is known of: lanes of one warp part ways, or move 1, 2 or 8 bytes */
    LANES_FAILED    /* no memory, or no temporary file */
} lanes_outcome;

typedef struct lanes {
    lanes_outcome outcome;
    char why[HOST_WHY]; /* in words, unless it was seen */
    int tile, k;        /* T, and the depth of the product: three tiles, of skinny rungs one */
    int barriers[2];    /* that a work-item meets: of the group, of a warp */
    int rolled;         /* loops marked ROLLED that it begins */
    int asked;          /* how often it asks for the end of a loop marked UNROLLED that is not constant */
    lanes_kind of[ACCESS_KINDS];
} lanes;

typedef struct lanes_question {
    const tw_lab_kernel *kernel;
    const tw_lab_source *source; /* not NULL: this text, launched like kernel */
    int tile;                    /* where it may be chosen; 0: the row's own */
    bool transposes;             /* it must take the transposes that the row takes */
    const char *options;         /* more of them for the compiler; NULL: none */
    double limit_s;              /* 0: 10 */
    const char *confined_in;     /* not NULL: the text is a stranger's, and gets no more than this folder (confine.h) */
    const bench_hooks *hooks;
} lanes_question;

/* lanes_see - in a process of its own, that ends by its time limit. Must come before this process has a second
 * thread. */
void lanes_see(const lanes_question *question, lanes *out);

/* What lanes_compare compares behind the kinds of access. */
enum { LANES_BARRIERS = ACCESS_KINDS, LANES_ROLLED, LANES_ASKED, LANES_COMPARED };

/* lanes_compare - one kind of access, or one of these. 0: no difference; else 1 where `own` costs more, -1 where less
 * or as much, and the sentence: "load of B asks 16 sectors a request where r04_banks asks 4". lanes_compare.c. */
int lanes_compare(const lanes *own, const lanes *like, const char *rung, int kind, char text[HOST_WHY]);

#endif
