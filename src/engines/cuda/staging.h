/* staging.h - large copies between pageable host memory and the device: threads carry pieces through pinned memory. */
#ifndef TILEWRIGHT_STAGING_H
#define TILEWRIGHT_STAGING_H

#include <pthread.h>
#include <stdbool.h>

#include "../engine.h"
#include "cu_api.h"

enum { MOST_COPIERS = 16, STREAM_NON_BLOCKING = 1, EVENT_NO_TIMING = 2 };

/* One matrix between host and device: rows of `width` bytes; each side has its own distance between rows. */
typedef struct staged {
    char *host;
    cu_pointer device;
    size_t host_pitch, device_pitch, width;
    int64_t rows;
    bool up;
    bool alone; /* row by row: what is between them on the device is another copy's */
} staged;

/* What one thread copies with: two alternating pieces of pinned memory, and events that tell when the device is done
 * with each. */
typedef struct copier {
    cu_stream stream;
    cu_event done[2];
    char *pinned[2];
} copier;

typedef struct staging {
    const cu_api *cu;
    int threads;
    pthread_mutex_t idling; /* guards the idle copiers, kept for the next calls */
    copier idle[MOST_COPIERS];
    int idle_count;
} staging;

/* Part of a copy: some whole rows, or a part of a row that is longer than a piece. */
typedef struct piece {
    const staged *of;
    char *host;
    cu_pointer device;
    size_t width;
    int64_t rows; /* 0: none */
} piece;

/* staging_piece_count, staging_piece_at - the pieces of a copy, each of which pinned memory of a copier holds. */
int64_t staging_piece_count(const staged *w);
piece staging_piece_at(const staged *w, int64_t i);
/* staging_piece_bytes - in pinned memory a piece lies as on the device, so that one copy without rows moves it. */
size_t staging_piece_bytes(const piece *p);
/* staging_copy_piece - copies a piece between the caller's memory and pinned memory. */
void staging_copy_piece(const piece *p, char *pinned);

/* staging_open - threads: the most that may copy, up to MOST_COPIERS; nothing is made before it is used. */
void staging_open(staging *s, const cu_api *cu, int threads);
/* staging_close - the context is current; or `current` is false, and only host memory is freed. */
void staging_close(staging *s, bool current);

/* staging_take_copier - an idle copier, else a new one; where that fails *call names the call that did. The context is
 * current, as for staging_give_copier(). */
cu_result staging_take_copier(staging *s, copier *c, const char **call);
void staging_give_copier(staging *s, copier *c);

/* staging_reserve - copiers for all threads, so that no copy to come allocates pinned memory. The context is
 * current. */
tw_status staging_reserve(staging *s);

/* staging_run - copies, and waits for that. The padding on the host is neither read nor written; on the device the
 * padding between rows may be. A call that is cancelled (stop; NULL: none can) ends early, without an error. The
 * context is current. */
tw_status staging_run(staging *s, cu_context context, const staged *what, const stop *stop);

#endif
