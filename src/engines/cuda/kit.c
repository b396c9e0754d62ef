/* kit.c - what a list of steps needs of a device, kept for the next: streams, events and, if it is little and
 * the list says so, memory. */
#include <stdlib.h>

#include "cuda_engine.h"

enum { KEPT_SHARE = 8 }; /* of the device's memory: more is given back */

void cuda_destroy_kit(engine *e, spread_kit *kit)
{
    for (int i = 0; i < SPREAD_LANES; i++)
        if (kit->stream[i] != NULL) e->cu->cuStreamDestroy_v2(kit->stream[i]), kit->stream[i] = NULL;
    while (kit->event_count > 0) e->cu->cuEventDestroy_v2(kit->event[--kit->event_count]);
    if (kit->memory != 0) e->cu->cuMemFree_v2(kit->memory);
    kit->memory = 0, kit->bytes = 0;
}

void cuda_take_kit(engine *e, spread_kit *kit)
{
    pthread_mutex_lock(&e->keeping);
    *kit = e->kit, e->kit = (spread_kit){.event = NULL};
    pthread_mutex_unlock(&e->keeping);
}

void cuda_give_kit(engine *e, spread_kit *kit, bool keeps, bool keeps_memory)
{
    size_t all = 0;
    e->cu->cuDeviceTotalMem_v2(&all, e->device);
    if (kit->memory != 0 && (!keeps_memory || kit->bytes > (int64_t)(all / KEPT_SHARE)))
        e->cu->cuMemFree_v2(kit->memory), kit->memory = 0, kit->bytes = 0;
    pthread_mutex_lock(&e->keeping);
    const bool kept = keeps && e->kit.event == NULL;
    if (kept) e->kit = *kit;
    pthread_mutex_unlock(&e->keeping);
    if (kept) return;
    cuda_destroy_kit(e, kit);
    free(kit->event);
}

static tw_status find_memory(engine *e, spread_kit *kit, int64_t bytes)
{
    if (kit->bytes >= bytes) return TW_OK;
    if (kit->memory != 0) e->cu->cuMemFree_v2(kit->memory);
    kit->memory = 0, kit->bytes = 0;
    cu_result error = e->cu->cuMemAlloc_v2(&kit->memory, (size_t)bytes);
    if (error == CU_SUCCESS) return kit->bytes = bytes, TW_OK;
    kit->memory = 0;
    if (error == CU_OUT_OF_MEMORY)
        return fail(TW_NO_MEMORY, "no device memory for %lld bytes of panels: %s", (long long)bytes,
                    cu_error_name(e->cu, error));
    return cu_fail(e->cu, "cuMemAlloc", error);
}

tw_status cuda_fill_kit(engine *e, spread_kit *kit, int64_t bytes, int64_t events)
{
    for (int i = 0; i < SPREAD_LANES; i++) {
        const bool urgent = i == LANE_PACK; /* else it waits behind all blocks of the tiles before it */
        if (kit->stream[i] == NULL)
            CU_TRY(cuStreamCreateWithPriority, (&kit->stream[i], STREAM_NON_BLOCKING, urgent ? HIGHEST_PRIORITY : 0));
    }
    cu_event *more = realloc(kit->event, (size_t)max_i64(max_i64(events, kit->event_count), 1) * sizeof *more);
    if (more == NULL) return fail(TW_NO_MEMORY, "no memory for %lld events", (long long)events);
    kit->event = more;
    for (; kit->event_count < events; kit->event_count++)
        CU_TRY(cuEventCreate, (&kit->event[kit->event_count], EVENT_NO_TIMING));
    return find_memory(e, kit, bytes);
}
