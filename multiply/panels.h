/* panels.h - the panels of A and B of a product out of core: a thread reads the next ones while those that are there
 * are multiplied. */
#ifndef TILEWRIGHT_PANELS_H
#define TILEWRIGHT_PANELS_H

#include <pthread.h>
#include "blocks.h"
#include "operands.h"

enum { PANELS_SLOTS = 2 };

/* Panels of one operand: number x, from 1 on, lies in slot (x - 1) % slots. */
typedef struct panel_ring {
    char *slot[PANELS_SLOTS];
    int slots;
    int64_t read, freed; /* how many so far; of the lock */
} panel_ring;

typedef struct panels {
    const operands *in;
    const product_wish *wish;
    blocks_problem problem;
    blocks blocks;
    panel_ring a, b;
    pthread_t reader;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stops;       /* nobody wants more */
    io_status status; /* of what was read */
    io_error error;
    double bytes_read, read_s; /* by the reader, which is done when panels_end returns */
    double waited_s;
} panels;

/* panels_begin - memory for the panels, which panels_end gives back, and the thread. EXIT_OK, or a sentence. */
exit_code panels_begin(panels *p, const operands *in, const product_wish *wish, const blocks_problem *problem,
                       const blocks *blocks);

/* panels_await - wait for the panels at this place; what they are, dense, goes to *a and *b. EXIT_OK, or a sentence of
 * what could not be read. */
exit_code panels_await(panels *p, const blocks_at *at, const void **a, const void **b);

/* panels_free - the panels before this place are multiplied. */
void panels_free(panels *p, const blocks_at *next);

void panels_end(panels *p);

#endif
