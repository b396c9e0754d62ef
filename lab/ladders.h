/* ladders.h - records sorted into ladders: one for each machine, shape and width of elements, of each the steps in the order of the rungs. */
#ifndef TILEWRIGHT_LADDERS_H
#define TILEWRIGHT_LADDERS_H

#include "records.h"

/* An engine on a device; the order is that of the records. */
typedef struct machine {
    const char *engine, *device;
    int ladder; /* the place of its main ladder: the one with most steps timed, of these the largest; -1: only skinny ones */
} machine;

enum { STEP_LABEL = 64 };

/* One rung in one type with one tile; r01 to r05 of a GPU also in their default build. */
typedef struct ladder_step {
    const records_row *row;        /* loops held rolled, where the rung holds them */
    const records_row *by_default; /* NULL: there is no such build */
    char label[STEP_LABEL];        /* "r02_tiled", "r02_tiled 32" in a sweep of tiles, "r13_matrix bf16" */
} ladder_step;

typedef struct ladder {
    int machine;
    int64_t m, n, k;
    char op_a, op_b;
    bool skinny; /* s1 to s3 */
    bool wide;   /* f64 */
    int count, timed;
    ladder_step *steps;
} ladder;

typedef struct ladders {
    int machine_count, count, superseded; /* superseded: records that a later one of the same kind took the place of */
    machine *machines;
    ladder *items;
    ladder_step *steps; /* of all */
} ladders;

/* ladders_sort - records point on: they must stay. Counter records are left out. TW_OK, TW_NO_MEMORY. */
tw_status ladders_sort(const records *all, ladders *out);
void ladders_free(ladders *l);

const char *row_rung(const records_row *row);                   /* its rung, else its library or kernel */
const tw_lab_kernel *row_kernel(const records_row *row);        /* the row of the table; NULL: this program has no such rung */
bool row_timed(const records_row *row);                         /* it was verified and timed */
const ladder_step *ladder_before(const ladder *l, const ladder_step *step); /* the step that its own file names as the one before; NULL */
const ladder *ladder_main(const ladders *l, int machine);       /* NULL: it has none */

#endif
