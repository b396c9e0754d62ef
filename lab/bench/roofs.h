/* roofs.h - the ceilings of this machine, multiply-add peaks and bandwidths, measured again and again during a run. The
 * best counts. */
#ifndef TILEWRIGHT_ROOFS_H
#define TILEWRIGHT_ROOFS_H

#include "tilewright_lab.h"

typedef struct roof {
    int64_t what; /* a dtype, or the bytes of a working set */
    int threads;
    double best;
} roof;

enum { ROOFS_MOST = 256 };

typedef struct roofs {
    tw_context *context;
    int64_t memory_set; /* bytes of a working set that exceeds every cache */
    roof peaks[16], bandwidths[ROOFS_MOST];
} roofs;

void roofs_begin(roofs *r, tw_context *context, const tw_device *device);

/* Each measures now, `tries` times, and returns the best since roofs_begin; 0 tries: only what was measured before, at
 * least a first measurement. NAN where the measurement failed. */
double roofs_peak(roofs *r, tw_dtype dtype, int threads, int tries);     /* flop/s */
double roofs_bandwidth(roofs *r, int64_t bytes, int threads, int tries); /* byte/s of a working set */
double roofs_memory_bandwidth(roofs *r, int threads, int tries);         /* byte/s of main memory */

#endif
