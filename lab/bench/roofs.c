/* roofs.c - keeps the best peak of each (dtype, threads) and the best bandwidth of each (working set, threads). */
#include "roofs.h"

#include <math.h>
#include "../devices.h"

enum { FIRST_TRIES = 3 };

void roofs_begin(roofs *r, tw_context *context, const tw_device *device)
{
    const int64_t least = (int64_t)(device_is_host(device) ? 64 : 256) << 20;
    *r = (roofs){.context = context, .memory_set = 4 * device_last_cache(device)};
    if (r->memory_set < least) r->memory_set = least;
    if (device->memory_bytes > 0 && r->memory_set > device->memory_bytes / 8) r->memory_set = device->memory_bytes / 8;
}

/* The place of a pair in the list: where it stands, else a free one, else the last (its old value is forgotten). */
static roof *place_of(roof *list, int count, int64_t what, int threads)
{
    int i = 0;
    while (i < count - 1 && list[i].threads != 0 && (list[i].what != what || list[i].threads != threads)) i++;
    if (list[i].what != what || list[i].threads != threads) list[i] = (roof){what, threads, NAN};
    return &list[i];
}

static double keep_best(roof *place, tw_status status, double measured)
{
    if (status == TW_OK && !(measured <= place->best)) place->best = measured;
    return place->best;
}

double roofs_peak(roofs *r, tw_dtype dtype, int threads, int tries)
{
    roof *place = place_of(r->peaks, sizeof r->peaks / sizeof *r->peaks, dtype, threads);
    double measured = NAN;
    if (tries == 0 && !isnan(place->best)) return place->best;
    tw_status status = tw_lab_peak_flops(r->context, dtype, threads, tries > 0 ? tries : FIRST_TRIES, &measured);
    return keep_best(place, status, measured);
}

double roofs_bandwidth(roofs *r, int64_t bytes, int threads, int tries)
{
    int64_t least = (int64_t)threads << 14; /* 16 KiB for each thread: a smaller set times the loop, not the cache */
    if (bytes < least) bytes = least;
    if (bytes > r->memory_set) bytes = r->memory_set;
    roof *place = place_of(r->bandwidths, ROOFS_MOST, bytes, threads);
    double measured = NAN;
    if (tries == 0 && !isnan(place->best)) return place->best;
    tw_status status = tw_lab_bandwidth(r->context, bytes, threads, tries > 0 ? tries : FIRST_TRIES, &measured);
    return keep_best(place, status, measured);
}

double roofs_memory_bandwidth(roofs *r, int threads, int tries)
{
    return roofs_bandwidth(r, r->memory_set, threads, tries);
}
