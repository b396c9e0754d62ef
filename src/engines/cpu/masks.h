/* masks.h - which processors the workers of a pool may use. */
#ifndef TILEWRIGHT_CPU_MASKS_H
#define TILEWRIGHT_CPU_MASKS_H

#include <pthread.h>

#include "../../processors.h"

typedef struct masks {
    bool stays;                       /* TW_STAY */
    processor_set of_caller, workers; /* where the last caller may run, and workers */
    bool widened;                     /* the one is bound, the other has more processors */
    bool alone;                       /* it is bound, and the process has no other processors yet */
    unsigned changes;                 /* of the workers' mask; 0: they run where they began */
} masks;

/* masks_renew - before a call: notes where workers may run, if its caller may run elsewhere than the last one. */
void masks_renew(masks *m);

/* masks_start - starts a worker where it may run; returns an error number. seen: the changes that it knows, for
 * masks_follow(). */
int masks_start(const masks *m, pthread_t *thread, void *run(void *), void *argument, unsigned *seen);

/* masks_follow - a worker goes where it may run. */
void masks_follow(const masks *m, unsigned *seen);

/* masks_leave - a worker that runs on this processor leaves it for another that it may use. */
void masks_leave(int cpu);

int masks_processor(void); /* that the calling thread runs on; -1: not known */

#endif
