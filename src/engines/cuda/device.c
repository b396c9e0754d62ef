/* device.c - what all parts of the CUDA engine ask of its device: the context of a call, attributes, streams. */
#include "cuda_engine.h"

#include <unistd.h>

tw_status cuda_enter(engine *e)
{
    if (e->pid != getpid())
        return fail(
            TW_NO_DEVICE,
            "this cuda context was opened before fork(): the child must open its own, if CUDA was not used before");
    CU_TRY(cuCtxPushCurrent_v2, (e->context));
    return TW_OK;
}

tw_status cuda_leave(engine *e, tw_status status)
{
    cu_context popped;
    e->cu->cuCtxPopCurrent_v2(&popped);
    return status;
}

int cuda_attribute(const cu_api *cu, cu_device device, int what)
{
    int value = 0;
    cu->cuDeviceGetAttribute(&value, what, device);
    return value;
}

static void destroy_lane(engine *e, lane *l)
{
    if (l->begin != NULL) e->cu->cuEventDestroy_v2(l->begin);
    if (l->end != NULL) e->cu->cuEventDestroy_v2(l->end);
    if (l->stream != NULL) e->cu->cuStreamDestroy_v2(l->stream);
}

/* A stream without flags synchronises with the legacy default stream, and with no other of the caller's. */
static tw_status make_lane(engine *e, lane *l)
{
    CU_TRY(cuStreamCreate, (&l->stream, 0));
    CU_TRY(cuEventCreate, (&l->begin, 0));
    CU_TRY(cuEventCreate, (&l->end, 0));
    return TW_OK;
}

tw_status cuda_take_lane(engine *e, runnable *r)
{
    lane l = {0};
    pthread_mutex_lock(&e->idling);
    if (e->idle_count > 0) l = e->idle[--e->idle_count];
    pthread_mutex_unlock(&e->idling);
    tw_status status = l.stream == NULL ? make_lane(e, &l) : TW_OK;
    if (status == TW_OK)
        r->stream = l.stream, r->begin = l.begin, r->event = l.end;
    else
        destroy_lane(e, &l);
    return status;
}

void cuda_give_lane(engine *e, runnable *r)
{
    lane l = {r->stream, r->begin, r->event};
    r->stream = r->begin = r->event = NULL;
    if (l.stream == NULL) return;
    pthread_mutex_lock(&e->idling);
    bool kept = e->idle_count < MOST_IDLE;
    if (kept) e->idle[e->idle_count++] = l;
    pthread_mutex_unlock(&e->idling);
    if (kept || cuda_enter(e) != TW_OK) return;
    destroy_lane(e, &l);
    cuda_leave(e, TW_OK);
}

void cuda_close_lanes(engine *e)
{
    while (e->idle_count > 0) destroy_lane(e, &e->idle[--e->idle_count]);
}
