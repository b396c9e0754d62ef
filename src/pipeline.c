/* pipeline.c - the lab's calls for blocks that come one by one: what an engine copies beside what tw_enqueue() puts on
 * its stream. */
#include "context.h"

#include <stdlib.h>

struct tw_lab_pipeline {
    tw_context *context;
    pipeline *own;       /* the engine's */
    int64_t taken_bytes; /* of device memory, */
    int64_t workspace_bytes;
    bool joined; /* ranks, and has not left them */
};

static tw_status check_room(const tw_lab_pipeline *p, int64_t more_bytes)
{
    const int64_t limit = p->context->memory_bytes, taken = p->taken_bytes + p->workspace_bytes;
    if (limit == 0 || more_bytes <= limit - taken) return TW_OK;
    return fail(TW_NO_MEMORY, "options.memory_bytes is %lld, and blocks of %lld bytes and %lld more do not fit",
                (long long)limit, (long long)taken, (long long)more_bytes);
}

tw_status tw_lab_pipeline_open(tw_context *context, tw_lab_pipeline **out)
{
    HOLD_CANCELLATION;
    if (out == NULL) return fail(TW_BAD_ARGUMENT, "pipeline is NULL");
    *out = NULL;
    TRY(context_find(&context));
    if (context->ops->pipeline == NULL)
        return fail(TW_NO_KERNEL, "the %s engine copies no blocks: expected a context of cuda", context->ops->name);
    tw_lab_pipeline *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for a pipeline of %zu bytes", sizeof *made);
    made->context = context;
    const tw_status status = context->ops->pipeline->open(context->engine, &made->own);
    if (status == TW_OK)
        *out = made;
    else
        free(made);
    return status;
}

void tw_lab_pipeline_close(tw_lab_pipeline *p)
{
    HOLD_CANCELLATION;
    if (p == NULL) return;
    p->context->ops->pipeline->close(p->own);
    free(p);
}

tw_status tw_lab_pipeline_memory(tw_lab_pipeline *p, int on_device, int64_t bytes, void **memory)
{
    HOLD_CANCELLATION;
    if (on_device) TRY(check_room(p, bytes));
    TRY(p->context->ops->pipeline->memory(p->own, on_device != 0, (size_t)bytes, memory));
    if (on_device) p->taken_bytes += bytes;
    return TW_OK;
}

tw_status tw_lab_pipeline_copy(tw_lab_pipeline *p, const tw_lab_copy *copy)
{
    HOLD_CANCELLATION;
    return p->context->ops->pipeline->copy(p->own, copy);
}

/* The problem of operands that lie there, and the workspace for it. */
static tw_status find_workspace(tw_lab_pipeline *p, tw_problem *seen, const void *a, const void *b, const void *c)
{
    int64_t bytes;
    seen->align_a = problem_alignment(a), seen->align_b = problem_alignment(b), seen->align_c = problem_alignment(c);
    TRY(tw_workspace_bytes(p->context, seen, &bytes));
    if (bytes <= p->workspace_bytes) return TW_OK;
    TRY(check_room(p, bytes - p->workspace_bytes));
    const tw_status status = p->context->ops->pipeline->reserve(p->own, (size_t)bytes);
    p->workspace_bytes = status == TW_OK ? bytes : 0; /* the old one has gone */
    return status;
}

tw_status tw_lab_pipeline_prepare(tw_lab_pipeline *p, const tw_problem *problem, const void *a, const void *b,
                                  const void *c)
{
    HOLD_CANCELLATION;
    tw_problem seen = *problem;
    TRY(find_workspace(p, &seen, a, b, c));
    return tw_prepare(p->context, &seen);
}

tw_status tw_lab_pipeline_multiply(tw_lab_pipeline *p, const tw_problem *problem, const void *a, const void *b, void *c)
{
    HOLD_CANCELLATION;
    tw_launch launch;
    tw_problem seen = *problem;
    TRY(find_workspace(p, &seen, a, b, c));
    TRY(p->context->ops->pipeline->begin(p->own, &launch));
    return tw_enqueue(p->context, problem, a, b, c, &launch);
}

tw_status tw_lab_pipeline_turn(tw_lab_pipeline *p)
{
    HOLD_CANCELLATION;
    return p->context->ops->pipeline->turn(p->own);
}

tw_status tw_lab_pipeline_poll(tw_lab_pipeline *p, int all, int *done)
{
    HOLD_CANCELLATION;
    bool is_done = false;
    const tw_status status = p->context->ops->pipeline->poll(p->own, all != 0, &is_done);
    *done = is_done;
    return status;
}

/* ---- between processes ---- */

tw_status tw_lab_pipeline_nccl(tw_lab_pipeline *p, int *version)
{
    HOLD_CANCELLATION;
    return p->context->ops->pipeline->nccl(p->own, version);
}

tw_status tw_lab_pipeline_comm_id(tw_lab_pipeline *p, char id[TW_LAB_COMM_ID])
{
    HOLD_CANCELLATION;
    return p->context->ops->pipeline->comm_id(p->own, id);
}

tw_status tw_lab_pipeline_join(tw_lab_pipeline *p, const char id[TW_LAB_COMM_ID], int rank, int ranks)
{
    HOLD_CANCELLATION;
    if (p->joined) return fail(TW_BAD_ARGUMENT, "pipeline: it has joined ranks already");
    TRY(p->context->ops->pipeline->join(p->own, id, rank, ranks));
    p->joined = true;
    return TW_OK;
}

static tw_status check_joined(const tw_lab_pipeline *p)
{
    return p->joined ? TW_OK : fail(TW_BAD_ARGUMENT, "pipeline: it has not joined other ranks, or has left them");
}

tw_status tw_lab_pipeline_exchange(tw_lab_pipeline *p, const tw_lab_exchange *what)
{
    HOLD_CANCELLATION;
    TRY(check_joined(p));
    return p->context->ops->pipeline->exchange(p->own, what);
}

tw_status tw_lab_pipeline_exchanged(tw_lab_pipeline *p, int64_t *count)
{
    HOLD_CANCELLATION;
    TRY(check_joined(p));
    return p->context->ops->pipeline->exchanged(p->own, count);
}

tw_status tw_lab_pipeline_leave(tw_lab_pipeline *p)
{
    HOLD_CANCELLATION;
    const bool joined = p->joined;
    p->joined = false;
    return joined ? p->context->ops->pipeline->leave(p->own) : TW_OK;
}
