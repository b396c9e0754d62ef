/* spread.h - divides a product among devices: which computes what of C, and the steps that bring each what it needs. */
#ifndef TILEWRIGHT_SPREAD_SRC_H
#define TILEWRIGHT_SPREAD_SRC_H

#include "context.h"
#include "engines/spread.h"

/* A rectangle of a matrix as stored, where it lies: on a device, or HOST_MEMORY. */
typedef struct spread_block {
    int device;
    int64_t row, col, rows, cols, ld;
    uint64_t address;
} spread_block;

/* Blocks that cover a matrix, and do not overlap. Of a C that lies on devices each has one at most. */
typedef struct spread_matrix {
    const spread_block *blocks;
    int64_t count;
} spread_matrix;

/* What the steps may count on. */
typedef struct spread_machine {
    const device_facts *facts; /* of each device */
    int devices;               /* 1 to MOST_JOINED */
    int64_t room[MOST_JOINED]; /* bytes */
    bool peers;                /* each device reaches the memory of each other */
} spread_machine;

/* spread_make - the steps of a problem whose operands lie in these matrices: C in regions, one on each device; regions
 * in tiles, each a product with the whole of k by the kernel that the planner takes for the whole problem; panels of A
 * and B that several devices read come from host memory once, to one of them. Pure. TW_NO_MEMORY where some device has
 * no room for the smallest panels; what plan_find() returns. */
tw_status spread_make(const spread_machine *machine, const tw_problem *p, const spread_matrix matrices[3],
                      spread_work *out);
void spread_free(spread_work *work);

/* spread_pays - should host operands be divided among the context's devices? */
bool spread_pays(const tw_context *context, const tw_problem *p);

/* spread_blocks - compute a problem whose operands lie in these matrices, on all devices of the context. k > 0. */
tw_status spread_blocks(tw_context *context, const stop *stop, const tw_problem *p, const spread_matrix matrices[3]);

/* spread_run - compute a problem of host operands on all devices of the context, of which one may be. TW_NO_MEMORY,
 * with C untouched, where they have no room for it. */
tw_status spread_run(tw_context *context, const stop *stop, const tw_problem *host, const void *a, const void *b,
                     void *c);

#endif
