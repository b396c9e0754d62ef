/* pipeline.c - copies beside products for blocks that come one by one: a stream of each, and events between them. */
#include <stdlib.h>

#include "cuda_engine.h"

/* Memory of the caller's, in a list. */
typedef struct held {
    struct held *next;
    void *pinned; /* or */
    cu_pointer device;
} held;

struct pipeline {
    engine *e;
    cu_stream copies, products;
    cu_event copied;  /* all copies before the next product */
    cu_event made[2]; /* the products before the last turn, and before the one before it */
    int half;         /* of made[]: the next turn's */
    cu_pointer workspace;
    size_t workspace_bytes;
    held *memory;
    exchanges *exchanges; /* NULL: none are asked for */
    bool stuck;           /* NCCL could not be left: nobody waits for its kernels, or frees what they use */
};

/* ---- beginning and end ---- */

static tw_status make(engine *e, pipeline *p)
{
    CU_TRY(cuStreamCreate, (&p->copies, STREAM_NON_BLOCKING));
    CU_TRY(cuStreamCreate, (&p->products, STREAM_NON_BLOCKING));
    CU_TRY(cuEventCreate, (&p->copied, EVENT_NO_TIMING));
    for (int i = 0; i < 2; i++) CU_TRY(cuEventCreate, (&p->made[i], EVENT_NO_TIMING));
    return TW_OK;
}

static void destroy(engine *e, pipeline *p)
{
    const cu_stream streams[] = {p->copies, p->products};
    const cu_event events[] = {p->copied, p->made[0], p->made[1]};
    if (p->stuck || cuda_exchanges_close(p->exchanges) != TW_OK) return;
    for (int i = 0; i < 2; i++)
        if (streams[i] != NULL) e->cu->cuStreamSynchronize(streams[i]), e->cu->cuStreamDestroy_v2(streams[i]);
    for (int i = 0; i < 3; i++)
        if (events[i] != NULL) e->cu->cuEventDestroy_v2(events[i]);
    for (const held *h = p->memory; h != NULL; h = h->next)
        if (h->pinned != NULL)
            e->cu->cuMemFreeHost(h->pinned);
        else
            e->cu->cuMemFree_v2(h->device);
    if (p->workspace != 0) e->cu->cuMemFree_v2(p->workspace);
}

static void cuda_pipeline_close(pipeline *p)
{
    if (cuda_enter(p->e) == TW_OK) {
        destroy(p->e, p);
        cuda_leave(p->e, TW_OK);
    }
    for (held *h = p->memory, *next; h != NULL; h = next) next = h->next, free(h);
    free(p);
}

static tw_status cuda_pipeline_open(engine *e, pipeline **out)
{
    pipeline *p = calloc(1, sizeof *p);
    if (p == NULL) return fail(TW_NO_MEMORY, "no memory for a pipeline of %zu bytes", sizeof *p);
    p->e = e;
    tw_status status = cuda_enter(e);
    if (status == TW_OK) status = cuda_leave(e, make(e, p));
    if (status == TW_OK)
        *out = p;
    else
        cuda_pipeline_close(p);
    return status;
}

/* ---- memory ---- */

static tw_status allocate(engine *e, size_t bytes, const char *of, cu_pointer *memory)
{
    const cu_result error = e->cu->cuMemAlloc_v2(memory, bytes);
    if (error == CU_SUCCESS) return TW_OK;
    *memory = 0;
    if (error != CU_OUT_OF_MEMORY) return cu_fail(e->cu, "cuMemAlloc", error);
    return fail(TW_NO_MEMORY, "no memory on device %d for %zu bytes of %s: %s", e->index, bytes, of,
                cu_error_name(e->cu, error));
}

static tw_status pin(engine *e, size_t bytes, void **memory)
{
    const cu_result error = e->cu->cuMemHostAlloc(memory, bytes, 0);
    if (error == CU_SUCCESS) return TW_OK;
    *memory = NULL;
    if (error != CU_OUT_OF_MEMORY) return cu_fail(e->cu, "cuMemHostAlloc", error);
    return fail(TW_NO_MEMORY, "no pinned host memory for %zu bytes: %s", bytes, cu_error_name(e->cu, error));
}

static tw_status cuda_pipeline_memory(pipeline *p, bool on_device, size_t bytes, void **out)
{
    engine *e = p->e;
    held *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for a list of memory");
    if (bytes == 0) bytes = 1;
    tw_status status = cuda_enter(e);
    if (status == TW_OK)
        status = cuda_leave(e, on_device ? allocate(e, bytes, "blocks", &made->device) : pin(e, bytes, &made->pinned));
    if (status != TW_OK) {
        free(made);
        return status;
    }
    made->next = p->memory, p->memory = made;
    *out = on_device ? (void *)(uintptr_t)made->device : made->pinned;
    return TW_OK;
}

/* ---- copies ---- */

/* One copy takes such rows. */
static bool rows_fit(engine *e, const tw_lab_copy *c)
{
    const int64_t most_pitch = cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_MAX_PITCH);
    return c->rows == 1 || (c->from_pitch <= most_pitch && c->to_pitch <= most_pitch);
}

/* Host memory that the device copies itself. */
static bool copies_itself(engine *e, const tw_lab_copy *c)
{
    const uint64_t host = (uint64_t)(uintptr_t)(c->way == TW_LAB_UP ? c->from : c->to);
    const int64_t pitch = c->way == TW_LAB_UP ? c->from_pitch : c->to_pitch;
    const uint64_t last = host + (uint64_t)((c->rows - 1) * pitch + c->width - 1);
    return rows_fit(e, c) && cuda_is_pinned(e, host) && cuda_is_pinned(e, last);
}

static tw_status copy_by_threads(engine *e, const tw_lab_copy *c)
{
    const bool up = c->way == TW_LAB_UP;
    const staged what = {.host = (char *)(uintptr_t)(up ? c->from : c->to),
                         .device = (cu_pointer)(uintptr_t)(up ? c->to : c->from),
                         .host_pitch = (size_t)(up ? c->from_pitch : c->to_pitch),
                         .device_pitch = (size_t)(up ? c->to_pitch : c->from_pitch),
                         .width = (size_t)c->width,
                         .rows = c->rows,
                         .up = up,
                         .alone = c->alone != 0};
    return staging_run(&e->staging, e->context, &what, NULL);
}

static tw_status copy_by_device(engine *e, cu_stream stream, const tw_lab_copy *c)
{
    const bool from_host = c->way == TW_LAB_UP, to_host = c->way == TW_LAB_DOWN;
    const cu_copy_2d copy = {.src_type = from_host ? CU_MEMORY_HOST : CU_MEMORY_DEVICE,
                             .src_host = from_host ? c->from : NULL,
                             .src_device = from_host ? 0 : (cu_pointer)(uintptr_t)c->from,
                             .src_pitch = (size_t)c->from_pitch,
                             .dst_type = to_host ? CU_MEMORY_HOST : CU_MEMORY_DEVICE,
                             .dst_host = to_host ? c->to : NULL,
                             .dst_device = to_host ? 0 : (cu_pointer)(uintptr_t)c->to,
                             .dst_pitch = (size_t)c->to_pitch,
                             .width_bytes = (size_t)c->width,
                             .height = (size_t)c->rows};
    if (c->rows == 1 && from_host)
        CU_TRY(cuMemcpyHtoDAsync_v2, (copy.dst_device, c->from, (size_t)c->width, stream));
    else if (c->rows == 1 && to_host)
        CU_TRY(cuMemcpyDtoHAsync_v2, (c->to, copy.src_device, (size_t)c->width, stream));
    else if (c->rows == 1)
        CU_TRY(cuMemcpyDtoDAsync_v2, (copy.dst_device, copy.src_device, (size_t)c->width, stream));
    else
        CU_TRY(cuMemcpy2DAsync_v2, (&copy, stream));
    return TW_OK;
}

/* Rows that no copy takes together go one by one. */
static tw_status copy_across(engine *e, cu_stream stream, const tw_lab_copy *c)
{
    if (rows_fit(e, c)) return copy_by_device(e, stream, c);
    for (int64_t i = 0; i < c->rows; i++) {
        tw_lab_copy row = *c;
        row.to = (char *)c->to + i * c->to_pitch, row.from = (const char *)c->from + i * c->from_pitch, row.rows = 1;
        TRY(copy_by_device(e, stream, &row));
    }
    return TW_OK;
}

static tw_status cuda_pipeline_copy(pipeline *p, const tw_lab_copy *copy)
{
    engine *e = p->e;
    tw_lab_copy c = *copy;
    if (c.rows <= 0 || c.width <= 0) return TW_OK;
    if (c.from_pitch == c.width && c.to_pitch == c.width) c.width *= c.rows, c.rows = 1;
    if (c.rows == 1) c.from_pitch = c.to_pitch = c.width;
    TRY(cuda_enter(e));
    return cuda_leave(e, c.way == TW_LAB_ACROSS ? copy_across(e, p->copies, &c)
                         : copies_itself(e, &c) ? copy_by_device(e, p->copies, &c)
                                                : copy_by_threads(e, &c));
}

/* ---- products ---- */

/* A larger workspace once nobody uses the old one. */
static tw_status find_workspace(engine *e, pipeline *p, size_t bytes)
{
    if (bytes <= p->workspace_bytes) return TW_OK;
    CU_TRY(cuStreamSynchronize, (p->products));
    if (p->workspace != 0) e->cu->cuMemFree_v2(p->workspace);
    p->workspace_bytes = 0;
    TRY(allocate(e, bytes, "workspace", &p->workspace));
    p->workspace_bytes = bytes;
    return TW_OK;
}

static tw_status cuda_pipeline_reserve(pipeline *p, size_t workspace_bytes)
{
    TRY(cuda_enter(p->e));
    return cuda_leave(p->e, find_workspace(p->e, p, workspace_bytes));
}

static tw_status begin(engine *e, pipeline *p)
{
    CU_TRY(cuEventRecord, (p->copied, p->copies));
    CU_TRY(cuStreamWaitEvent, (p->products, p->copied, 0));
    return TW_OK;
}

static tw_status cuda_pipeline_begin(pipeline *p, tw_launch *out)
{
    TRY(cuda_enter(p->e));
    TRY(cuda_leave(p->e, begin(p->e, p)));
    *out = (tw_launch){.size = sizeof *out,
                       .stream = p->products,
                       .workspace = (void *)(uintptr_t)p->workspace,
                       .workspace_bytes = (int64_t)p->workspace_bytes};
    return TW_OK;
}

static tw_status turn(engine *e, pipeline *p)
{
    CU_TRY(cuEventRecord, (p->made[p->half], p->products));
    if (p->exchanges != NULL) TRY(cuda_exchanges_after(p->exchanges, p->products));
    p->half = 1 - p->half;
    CU_TRY(cuStreamWaitEvent, (p->copies, p->made[p->half], 0)); /* at the first turn of nothing */
    return TW_OK;
}

static tw_status cuda_pipeline_turn(pipeline *p)
{
    TRY(cuda_enter(p->e));
    return cuda_leave(p->e, turn(p->e, p));
}

static tw_status poll_stream(engine *e, cu_stream stream, bool *done)
{
    const cu_result error = e->cu->cuStreamQuery(stream);
    *done = error == CU_SUCCESS;
    return error == CU_SUCCESS || error == CU_NOT_READY ? TW_OK : cu_fail(e->cu, "cuStreamQuery", error);
}

static tw_status cuda_pipeline_poll(pipeline *p, bool all, bool *done)
{
    TRY(cuda_enter(p->e));
    tw_status status = poll_stream(p->e, p->copies, done);
    if (status == TW_OK && *done && all) status = poll_stream(p->e, p->products, done);
    return cuda_leave(p->e, status);
}

/* ---- between processes ---- */

static tw_status cuda_pipeline_nccl(pipeline *p, int *version) { return cuda_nccl(p->e, version); }

static tw_status cuda_pipeline_comm_id(pipeline *p, char id[TW_LAB_COMM_ID])
{
    (void)p;
    return cuda_nccl_id(id);
}

static tw_status cuda_pipeline_join(pipeline *p, const char id[TW_LAB_COMM_ID], int rank, int ranks)
{
    TRY(cuda_enter(p->e));
    tw_status status = staging_reserve(&p->e->staging); /* not while NCCL's kernels wait for other ranks */
    if (status == TW_OK) status = cuda_exchanges_open(p->e, id, rank, ranks, &p->exchanges);
    return cuda_leave(p->e, status);
}

static tw_status cuda_pipeline_exchange(pipeline *p, const tw_lab_exchange *what)
{
    TRY(cuda_enter(p->e));
    return cuda_leave(p->e, cuda_exchanges_add(p->exchanges, p->copies, what));
}

static tw_status cuda_pipeline_exchanged(pipeline *p, int64_t *count)
{
    TRY(cuda_enter(p->e));
    return cuda_leave(p->e, cuda_exchanges_poll(p->exchanges, count));
}

static tw_status cuda_pipeline_leave(pipeline *p)
{
    TRY(cuda_enter(p->e));
    const tw_status status = p->stuck ? TW_OK : cuda_exchanges_close(p->exchanges);
    p->stuck = p->stuck || status != TW_OK;
    p->exchanges = NULL;
    return cuda_leave(p->e, status);
}

const pipeline_ops cuda_pipeline = {
    .open = cuda_pipeline_open,
    .memory = cuda_pipeline_memory,
    .copy = cuda_pipeline_copy,
    .reserve = cuda_pipeline_reserve,
    .begin = cuda_pipeline_begin,
    .turn = cuda_pipeline_turn,
    .poll = cuda_pipeline_poll,
    .nccl = cuda_pipeline_nccl,
    .comm_id = cuda_pipeline_comm_id,
    .join = cuda_pipeline_join,
    .exchange = cuda_pipeline_exchange,
    .exchanged = cuda_pipeline_exchanged,
    .leave = cuda_pipeline_leave,
    .close = cuda_pipeline_close,
};
