/* staging.h - large copies between pageable host memory and the device: threads carry pieces through pinned memory,
 * beside the work on what is there already. */
#ifndef TILEWRIGHT_STAGING_H
#define TILEWRIGHT_STAGING_H

#include <pthread.h>
#include <stdbool.h>

#include "../engine.h"
#include "cu_api.h"

enum { MOST_COPIERS = 16 };

/* One matrix between host and device: rows of `width` bytes, each side with rows of its own distance. What goes up is
 * needed by a panel of work, what comes down is made by one. */
typedef struct staged {
    char *host;
    cu_pointer device;
    size_t host_pitch, device_pitch, width;
    int64_t rows;
    bool up;
    int panel;
} staged;

/* Copies in the order in which they begin, and `panels` launches on a stream between them; a launch comes when all that
 * its panel and those before need is on its way. */
typedef struct staging_work {
    const staged *copies;
    int count, panels;
    cu_stream stream;
    tw_status (*launch)(void *context, int panel); /* by any thread, one at a time, in order */
    void *context;
} staging_work;

/* What one thread copies with: two pieces of pinned memory in turns, and when the device is done with each. */
typedef struct copier {
    cu_stream stream;
    cu_event done[2];
    char *pinned[2];
} copier;

typedef struct staging {
    const cu_api *cu;
    int threads;
    pthread_mutex_t idling; /* guards the copiers that no call is using, kept for the next ones */
    copier idle[MOST_COPIERS];
    int idle_count;
} staging;

/* staging_open - threads: as many as may copy, at most MOST_COPIERS; nothing is made before it is used. */
void staging_open(staging *s, const cu_api *cu, int threads);
/* staging_close - the context is current, or `current` is false and only what is the host's is given up. */
void staging_close(staging *s, bool current);

/* staging_run - copy, launch, and wait for what comes down. The padding on the host is neither read nor written; on the
 * device the padding between rows may be. The context is the current one. */
tw_status staging_run(staging *s, cu_context context, const staging_work *work);

#endif
