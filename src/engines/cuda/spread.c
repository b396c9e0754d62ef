/* spread.c - carries out the steps of a product on one device or several (engines/spread.h).
 *
 * The calling thread begins the steps in their order, each on its lane's stream, behind the events of what it needs: no
 * step is waited for on the host. Copies of host memory that is not pinned are the exception: threads of each device
 * carry them in pieces through pinned memory, up and down. No deadlock: a step needs only earlier ones, and pieces are
 * taken in the order of the steps, so the earliest that is not begun waits for nothing on the host. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../thread.h"
#include "../gpu.h"
#include "cuda_engine.h"

/* A part of a step that threads carry. */
typedef struct carried {
    staged what;
    int64_t step, first_index;
} carried;

struct run;

/* A device's threads, and the copies that they carry. */
typedef struct carriers {
    struct run *run;
    int device;
    carried *items;
    int64_t count, pieces;
    atomic_llong next; /* piece, all items counted through */
    copier copiers[MOST_COPIERS];
    pthread_t threads[MOST_COPIERS];
    int copier_count;
    atomic_int begun; /* copiers that a thread has taken */
} carriers;

typedef struct part {
    engine *e;
    spread_kit kit;
    runnable *ready; /* for each plan, as it packs */
    int ready_count;
    carriers carriers;
} part;

/* What is known of a step. */
typedef struct progress {
    atomic_bool begun;    /* its event is recorded */
    atomic_llong missing; /* pieces that are not on their way; 0: the calling thread begins it */
    cu_event event;
} progress;

typedef struct run {
    const spread_work *work;
    part parts[MOST_JOINED];
    progress *steps;
    bool pinned[3];       /* the host memory of A, B and C */
    pthread_mutex_t lock; /* for waiting, and for what comes last in a step that threads carry */
    pthread_cond_t changed;
    atomic_bool failed, wrote;
    tw_status status; /* the first failure's */
    char text[600];
} run;

/* ---- failures ---- */

/* Keeps the first failure, whose sentence is in this thread; everybody stops. */
static bool keep(run *x, int device, tw_status status)
{
    if (status == TW_OK) return true;
    if (!atomic_exchange(&x->failed, true)) {
        x->status = status;
        if (x->work->devices > 1)
            snprintf(x->text, sizeof x->text, "device %d: %.580s", x->parts[device].e->index, tw_error_text());
        else
            snprintf(x->text, sizeof x->text, "%s", tw_error_text());
    }
    pthread_mutex_lock(&x->lock);
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
    return false;
}

static tw_status try(engine *e, const char *call, cu_result error)
{
    return error == CU_SUCCESS ? TW_OK : cu_fail(e->cu, call, error);
}

#define WORKED(device, name, arguments)                                                                                \
    keep(x, device, try(x->parts[device].e, #name, x->parts[device].e->cu->name arguments))

/* ---- devices of one host ---- */

tw_status cuda_join(engine *const *devices, int count, bool *peers, char *text, size_t bytes)
{
    *peers = true;
    snprintf(text, bytes, "%d, which copy from each other's memory", count);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            engine *e = devices[i];
            int reaches = 0;
            if (i == j) continue;
            CU_TRY(cuDeviceCanAccessPeer, (&reaches, e->device, devices[j]->device));
            cu_result error = CU_SUCCESS;
            if (reaches) {
                TRY(cuda_enter(e));
                error = e->cu->cuCtxEnablePeerAccess(devices[j]->context, 0);
                cuda_leave(e, TW_OK);
            }
            if (reaches && (error == CU_SUCCESS || error == CU_PEER_ACCESS_ALREADY_ENABLED)) continue;
            if (*peers)
                snprintf(text, bytes,
                         "%d; device %d does not reach the memory of device %d (%s): copies go through the host", count,
                         e->index, devices[j]->index, reaches ? cu_error_name(e->cu, error) : "no peer access");
            *peers = false;
        }
    return TW_OK;
}

/* ---- what a device needs, before anything is begun ---- */

bool cuda_is_pinned(engine *e, uint64_t address)
{
    unsigned type = 0;
    return e->cu->cuPointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, address) == CU_SUCCESS && type == CU_MEMORY_HOST;
}

static bool copies_host(const spread_copy *c) { return c->caller_device == HOST_MEMORY; }

/* Host memory that the device copies itself: pinned from the first byte to the last of each copy, in rows that a copy
 * takes and that are not short: of 16 to 64 bytes an H200 copies 9 to 30 GB/s, where threads carry some 40. */
static void find_pinned(run *x)
{
    enum { LEAST_ROW_BYTES = 128 };
    engine *e = x->parts[0].e;
    const size_t most_pitch = (size_t)cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_MAX_PITCH);
    for (int i = 0; i < 3; i++) x->pinned[i] = true;
    for (int64_t i = 0; i < x->work->copy_count; i++) {
        const spread_copy *c = &x->work->copies[i];
        if (!copies_host(c) || !x->pinned[c->operand]) continue;
        const uint64_t last = c->caller + (uint64_t)(c->rows - 1) * c->caller_pitch + c->width - 1;
        const bool dense = c->width == c->caller_pitch && c->width == c->pitch;
        x->pinned[c->operand] = (dense || c->width >= LEAST_ROW_BYTES) && c->caller_pitch <= most_pitch &&
                                c->pitch <= most_pitch && cuda_is_pinned(e, c->caller) && cuda_is_pinned(e, last);
    }
}

static bool is_carried(const run *x, const spread_step *s)
{
    const spread_copy *c = &x->work->copies[s->first_copy];
    return s->copies > 0 && copies_host(c) && !x->pinned[c->operand];
}

static cu_pointer address_of(const part *p, const spread_at *at)
{
    return at->address != 0 ? at->address : p->kit.memory + (cu_pointer)at->offset;
}

/* Lists what threads carry. */
static tw_status list_carried(run *x)
{
    const spread_work *w = x->work;
    for (int on = 0; on < w->devices; on++) x->parts[on].carriers.run = x, x->parts[on].carriers.device = on;
    for (int64_t i = 0; i < w->step_count; i++) {
        const spread_step *s = &w->steps[i];
        if (!is_carried(x, s)) continue;
        carriers *y = &x->parts[s->device].carriers;
        for (int c = 0; c < s->copies; c++) {
            const spread_copy *copy = &w->copies[s->first_copy + c];
            if ((y->count & (y->count - 1)) == 0) {
                carried *more = realloc(y->items, (size_t)max_i64(2 * y->count, 1) * sizeof *more);
                if (more == NULL) return fail(TW_NO_MEMORY, "no memory for a list of copies");
                y->items = more;
            }
            carried *item = &y->items[y->count++];
            *item = (carried){.step = i, .first_index = y->pieces};
            item->what = (staged){.host = (char *)(uintptr_t)copy->caller,
                                  .device = address_of(&x->parts[s->device], &copy->at),
                                  .host_pitch = copy->caller_pitch,
                                  .device_pitch = copy->pitch,
                                  .width = copy->width,
                                  .rows = copy->rows,
                                  .up = s->kind == SPREAD_UPLOAD,
                                  .alone = s->copies > 1};
            const int64_t pieces = staging_piece_count(&item->what);
            y->pieces += pieces;
            atomic_fetch_add(&x->steps[i].missing, pieces);
        }
    }
    return TW_OK;
}

/* As many copiers as there are threads that may copy, one at least. */
static tw_status find_copiers(run *x, int on)
{
    part *p = &x->parts[on];
    carriers *y = &p->carriers;
    const char *call = "";
    cu_result error = CU_SUCCESS;
    while (y->copier_count < min_i64(p->e->staging.threads, y->pieces) && error == CU_SUCCESS) {
        error = staging_take_copier(&p->e->staging, &y->copiers[y->copier_count], &call);
        y->copier_count += error == CU_SUCCESS;
    }
    return y->copier_count > 0 || y->pieces == 0 ? TW_OK : try(p->e, call, error);
}

static tw_status prepare_plans(run *x, part *p)
{
    for (; p->ready_count < x->work->plan_count; p->ready_count++)
        TRY(cuda_prepare(p->e, &x->work->plans[p->ready_count].packs, &p->ready[p->ready_count]));
    return TW_OK;
}

static bool begin_device(run *x, int on, int64_t events)
{
    part *p = &x->parts[on];
    p->ready = calloc((size_t)x->work->plan_count + 1, sizeof *p->ready);
    if (p->ready == NULL) return keep(x, on, fail(TW_NO_MEMORY, "no memory for a list of plans"));
    cuda_take_kit(p->e, &p->kit);
    return keep(x, on, prepare_plans(x, p)) && keep(x, on, cuda_enter(p->e)) &&
           keep(x, on, cuda_leave(p->e, cuda_fill_kit(p->e, &p->kit, x->work->bytes[on], events)));
}

static bool begin_copiers(run *x, int on)
{
    engine *e = x->parts[on].e;
    if (!keep(x, on, cuda_enter(e))) return false;
    const bool right = keep(x, on, find_copiers(x, on));
    cuda_leave(e, TW_OK);
    return right;
}

/* ---- steps ---- */

/* Waits until the steps that this one needs are begun, and makes the stream wait for them. */
static bool await_needs(run *x, const spread_step *s, cu_stream stream)
{
    for (int i = 0; i < s->needs; i++) {
        progress *needed = &x->steps[x->work->needs[s->first_need + i]];
        if (!atomic_load_explicit(&needed->begun, memory_order_acquire)) {
            pthread_mutex_lock(&x->lock);
            while (!atomic_load(&needed->begun) && !atomic_load(&x->failed)) pthread_cond_wait(&x->changed, &x->lock);
            pthread_mutex_unlock(&x->lock);
        }
        if (atomic_load(&x->failed) || !WORKED(s->device, cuStreamWaitEvent, (stream, needed->event, 0))) return false;
    }
    return keep(x, s->device, stop_check(x->work->stop)); /* which may have been asked for meanwhile */
}

/* What was put on the step's lane is all of it. */
static bool end_step(run *x, int64_t step)
{
    const spread_step *s = &x->work->steps[step];
    if (!WORKED(s->device, cuEventRecord, (x->steps[step].event, x->parts[s->device].kit.stream[s->lane])))
        return false;
    pthread_mutex_lock(&x->lock);
    atomic_store_explicit(&x->steps[step].begun, true, memory_order_release);
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
    return true;
}

/* ---- threads that carry pieces ---- */

static bool take_piece(carriers *y, piece *p, int64_t *step)
{
    const int64_t i = atomic_fetch_add_explicit(&y->next, 1, memory_order_relaxed);
    if (i >= y->pieces || atomic_load(&y->run->failed) || !keep(y->run, y->device, stop_check(y->run->work->stop)))
        return false;
    int64_t low = 0, high = y->count - 1; /* the last item that begins at i or before */
    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;
        if (y->items[middle].first_index <= i)
            low = middle;
        else
            high = middle - 1;
    }
    *p = staging_piece_at(&y->items[low].what, i - y->items[low].first_index);
    *step = y->items[low].step;
    return true;
}

/* A piece is on its way: the step's lane waits for it; with its last one the step is begun. */
static bool depart(run *x, int64_t step, cu_event there)
{
    const spread_step *s = &x->work->steps[step];
    pthread_mutex_lock(&x->lock);
    const cu_result error = x->parts[s->device].e->cu->cuStreamWaitEvent(x->parts[s->device].kit.stream[s->lane], there,
                                                                         0);
    const bool last = atomic_fetch_sub(&x->steps[step].missing, 1) == 1;
    pthread_mutex_unlock(&x->lock);
    if (!keep(x, s->device, try(x->parts[s->device].e, "cuStreamWaitEvent", error))) return false;
    return !last || end_step(x, step);
}

static bool begin_piece(run *x, const copier *c, int half, const piece *p, int64_t step)
{
    const spread_step *s = &x->work->steps[step];
    if (p->of->up) staging_copy_piece(p, c->pinned[half]);
    if (!await_needs(x, s, c->stream)) return false;
    if (!(p->of->up
              ? WORKED(s->device, cuMemcpyHtoDAsync_v2, (p->device, c->pinned[half], staging_piece_bytes(p), c->stream))
              : WORKED(s->device, cuMemcpyDtoHAsync_v2,
                       (c->pinned[half], p->device, staging_piece_bytes(p), c->stream))))
        return false;
    return WORKED(s->device, cuEventRecord, (c->done[half], c->stream)) && depart(x, step, c->done[half]);
}

/* Waits until the device is done with this half of the pinned memory; copies out what came down. */
static bool end_piece(run *x, int device, const copier *c, int half, piece *p)
{
    if (p->rows == 0) return true;
    if (!WORKED(device, cuEventSynchronize, (c->done[half]))) return false;
    if (!p->of->up) {
        atomic_store(&x->wrote, true);
        staging_copy_piece(p, c->pinned[half]);
    }
    p->rows = 0;
    return true;
}

static void carry(carriers *y, const copier *c)
{
    run *x = y->run;
    piece under_way[2] = {{.rows = 0}, {.rows = 0}}, next;
    int half = 0;
    int64_t step;
    for (; take_piece(y, &next, &step); half = 1 - half) {
        if (!end_piece(x, y->device, c, half, &under_way[half]) || !begin_piece(x, c, half, &next, step)) return;
        under_way[half] = next;
    }
    if (end_piece(x, y->device, c, half, &under_way[half])) end_piece(x, y->device, c, 1 - half, &under_way[1 - half]);
}

static void *carry_in_thread(void *argument)
{
    carriers *y = argument;
    engine *e = y->run->parts[y->device].e;
    if (!keep(y->run, y->device, cuda_enter(e))) return NULL;
    carry(y, &y->copiers[atomic_fetch_add(&y->begun, 1)]);
    cuda_leave(e, TW_OK);
    return NULL;
}

/* A thread for each copier, at least one; how many. */
static int start_threads(run *x, carriers *y)
{
    int started = 0;
    while (started < y->copier_count && thread_start(&y->threads[started], NULL, carry_in_thread, y) == 0) started++;
    if (started == 0 && y->copier_count > 0)
        keep(x, y->device, fail(TW_NO_MEMORY, "no thread that copies between the host and a device"));
    return started;
}

/* ---- what the calling thread begins ---- */

static tw_status copy_rows(engine *e, const engine *other, const spread_copy *c, cu_pointer device, bool up,
                           cu_stream stream)
{
    const bool host = copies_host(c);
    if (other != NULL && other != e) {
        const cu_copy_peer copy = {.src_type = CU_MEMORY_DEVICE,
                                   .src_device = c->caller,
                                   .src_context = other->context,
                                   .src_pitch = c->caller_pitch,
                                   .src_height = (size_t)c->rows,
                                   .dst_type = CU_MEMORY_DEVICE,
                                   .dst_device = device,
                                   .dst_context = e->context,
                                   .dst_pitch = c->pitch,
                                   .dst_height = (size_t)c->rows,
                                   .width_bytes = c->width,
                                   .height = (size_t)c->rows,
                                   .depth = 1};
        CU_TRY(cuMemcpy3DPeerAsync, (&copy, stream));
        return TW_OK;
    }
    const int caller_type = host ? CU_MEMORY_HOST : CU_MEMORY_DEVICE;
    void *const host_at = host ? (void *)(uintptr_t)c->caller : NULL;
    const cu_pointer caller = host ? 0 : c->caller;
    const cu_copy_2d copy = {.src_type = up ? caller_type : CU_MEMORY_DEVICE,
                             .src_host = up ? host_at : NULL,
                             .src_device = up ? caller : device,
                             .src_pitch = up ? c->caller_pitch : c->pitch,
                             .dst_type = up ? CU_MEMORY_DEVICE : caller_type,
                             .dst_host = up ? NULL : host_at,
                             .dst_device = up ? device : caller,
                             .dst_pitch = up ? c->pitch : c->caller_pitch,
                             .width_bytes = c->width,
                             .height = (size_t)c->rows};
    CU_TRY(cuMemcpy2DAsync_v2, (&copy, stream));
    return TW_OK;
}

/* Rows of a block on a device, between it and the caller's, that lie too far apart for one copy are copied one by one.
 * (Those of a host are carried by threads then.) */
static tw_status copy_block(engine *e, const engine *other, const spread_copy *c, cu_pointer device, bool up,
                            cu_stream stream)
{
    const size_t most_pitch = (size_t)cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_MAX_PITCH);
    cu_pointer caller = c->caller;
    if (other == NULL || (c->caller_pitch <= most_pitch && c->pitch <= most_pitch))
        return copy_rows(e, other, c, device, up, stream);
    for (int64_t i = 0; i < c->rows; i++, caller += c->caller_pitch, device += c->pitch)
        if (up)
            CU_TRY(cuMemcpyPeerAsync, (device, e->context, caller, other->context, c->width, stream));
        else
            CU_TRY(cuMemcpyPeerAsync, (caller, other->context, device, e->context, c->width, stream));
    return TW_OK;
}

static tw_status begin_copies(run *x, const spread_step *s, cu_stream stream)
{
    const part *p = &x->parts[s->device];
    for (int i = 0; i < s->copies; i++) {
        const spread_copy *c = &x->work->copies[s->first_copy + i];
        const engine *other = copies_host(c) ? NULL : x->parts[c->caller_device].e;
        TRY(copy_block(p->e, other, c, address_of(p, &c->at), s->kind == SPREAD_UPLOAD, stream));
    }
    return TW_OK;
}

static tw_status fetch(run *x, const spread_step *s, cu_stream stream)
{
    const part *to = &x->parts[s->device], *from = &x->parts[s->other_device];
    engine *e = to->e;
    CU_TRY(cuMemcpyPeerAsync,
           (address_of(to, &s->c), e->context, address_of(from, &s->a), from->e->context, (size_t)s->bytes, stream));
    return TW_OK;
}

static tw_status launch(run *x, const spread_step *s, cu_stream stream)
{
    const part *p = &x->parts[s->device];
    const cu_pointer a = address_of(p, &s->a), b = address_of(p, &s->b), c = address_of(p, &s->c);
    runnable r = p->ready[s->plan];
    r.stream = stream;
    if (s->kind == SPREAD_PACK) return cuda_pack(p->e, &r, s->operand, a, c);
    r.plan = &x->work->plans[s->plan].tile;
    r.workspace = p->kit.memory + (cu_pointer)x->work->workspace[s->device][s->lane - LANE_TILE];
    return cuda_launch_items(p->e, &r, &(buffer){.device = a}, &(buffer){.device = b}, &(buffer){.device = c});
}

static tw_status begin_work(run *x, const spread_step *s, cu_stream stream)
{
    if (s->kind == SPREAD_FETCH) return fetch(x, s, stream);
    if (s->kind == SPREAD_PACK || s->kind == SPREAD_TILE) return launch(x, s, stream);
    return begin_copies(x, s, stream);
}

static bool begin_step(run *x, int64_t step)
{
    const spread_step *s = &x->work->steps[step];
    const part *p = &x->parts[s->device];
    cu_stream stream = p->kit.stream[s->lane];
    if (!keep(x, s->device, cuda_enter(p->e))) return false;
    /* from here on C may be written */
    if (s->kind == SPREAD_DOWNLOAD || (s->kind == SPREAD_TILE && s->c.address != 0)) atomic_store(&x->wrote, true);
    const bool right = await_needs(x, s, stream) && keep(x, s->device, begin_work(x, s, stream)) && end_step(x, step);
    cuda_leave(p->e, TW_OK);
    return right;
}

/* ---- ---- */

static void begin_steps(run *x)
{
    int started[MOST_JOINED] = {0};
    for (int on = 0; on < x->work->devices; on++) started[on] = start_threads(x, &x->parts[on].carriers);
    for (int64_t i = 0; i < x->work->step_count && !atomic_load(&x->failed); i++)
        if (!keep(x, 0, stop_check(x->work->stop)) || (!is_carried(x, &x->work->steps[i]) && !begin_step(x, i))) break;
    for (int on = 0; on < x->work->devices; on++)
        for (int i = 0; i < started[on]; i++) pthread_join(x->parts[on].carriers.threads[i], NULL);
}

/* Waits for all that was begun, also after a failure: what it reads and writes is about to be given back. */
static void end_device(run *x, int on)
{
    part *p = &x->parts[on];
    for (int i = 0; i < p->ready_count; i++) cuda_drop(p->e, &p->ready[i]);
    free(p->ready);
    if (cuda_enter(p->e) == TW_OK) {
        for (int i = 0; i < p->carriers.copier_count; i++) staging_give_copier(&p->e->staging, &p->carriers.copiers[i]);
        cuda_give_kit(p->e, &p->kit, !atomic_load(&x->failed), x->work->keeps_memory);
        cuda_leave(p->e, TW_OK);
    }
    free(p->carriers.items);
}

static void await_device(run *x, int on)
{
    part *p = &x->parts[on];
    if (!keep(x, on, cuda_enter(p->e))) return;
    for (int i = 0; i < SPREAD_LANES; i++)
        if (p->kit.stream[i] != NULL) (void)WORKED(on, cuStreamSynchronize, (p->kit.stream[i]));
    for (int i = 0; i < p->carriers.copier_count; i++)
        (void)WORKED(on, cuStreamSynchronize, (p->carriers.copiers[i].stream));
    cuda_leave(p->e, TW_OK);
}

/* An event of its device for each step. */
static void deal_events(run *x)
{
    int64_t used[MOST_JOINED] = {0};
    for (int64_t i = 0; i < x->work->step_count; i++) {
        const int on = x->work->steps[i].device;
        x->steps[i].event = x->parts[on].kit.event[used[on]++];
    }
}

static bool begin_devices(run *x)
{
    int64_t events[MOST_JOINED] = {0};
    for (int64_t i = 0; i < x->work->step_count; i++) events[x->work->steps[i].device]++;
    for (int on = 0; on < x->work->devices; on++)
        if (!begin_device(x, on, events[on])) return false;
    deal_events(x);
    if (!keep(x, 0, cuda_enter(x->parts[0].e))) return false;
    find_pinned(x);
    cuda_leave(x->parts[0].e, TW_OK);
    if (!keep(x, 0, list_carried(x))) return false;
    for (int on = 0; on < x->work->devices; on++)
        if (!begin_copiers(x, on)) return false;
    return true;
}

tw_status cuda_spread(engine *const *devices, const spread_work *work)
{
    run *x = calloc(1, sizeof *x);
    if (x != NULL) x->steps = calloc((size_t)work->step_count + 1, sizeof *x->steps);
    if (x == NULL || x->steps == NULL) {
        free(x);
        return fail(TW_NO_MEMORY, "no memory for %lld steps", (long long)work->step_count);
    }
    x->work = work;
    for (int on = 0; on < work->devices; on++) x->parts[on].e = devices[on];
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->changed, NULL);
    if (begin_devices(x)) begin_steps(x);
    for (int on = 0; on < work->devices; on++) await_device(x, on);
    for (int on = 0; on < work->devices; on++) end_device(x, on);
    pthread_cond_destroy(&x->changed);
    pthread_mutex_destroy(&x->lock);
    /* no memory, the status, promises that C is as it was */
    tw_status status = x->status;
    if (status == TW_NO_MEMORY && atomic_load(&x->wrote)) status = TW_DEVICE_FAILED;
    if (status != TW_OK) fail(status, "%s", x->text);
    free(x->steps);
    free(x);
    return status;
}
