/* staging.h - large copies between pageable host memory and the device: threads carry pieces through pinned memory. */
#ifndef TILEWRIGHT_STAGING_H
#define TILEWRIGHT_STAGING_H

#include <pthread.h>
#include <stdbool.h>

#include "cu_api.h"

enum { MOST_COPIERS = 16 };

/* One matrix between host and device: rows of `width` bytes, each side with rows of its own distance. */
typedef struct staged {
    char *host;
    cu_pointer device;
    size_t host_pitch, device_pitch, width;
    int64_t rows;
    bool up;
} staged;

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

/* staging_copy - copy and wait. The padding on the host is neither read nor written; on the device the padding between rows may be. The context
 * is the current one. Returns CU_SUCCESS; else the driver's error, and in *call the call that gave it. */
cu_result staging_copy(staging *s, cu_context context, const staged *what, const char **call);

#endif
