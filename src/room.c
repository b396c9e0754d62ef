/* room.c - whether a product of host memory has room on the device. */
#include "room.h"

static const int64_t asked_least_bytes = (int64_t)64 << 20; /* of a product, for the driver to be asked what is free */

/* What is uploaded of each operand: nothing of A and B where neither is read. */
static int64_t bytes_of_a(const tw_problem *p)
{
    return p->k == 0 ? 0 : problem_a_rows(p) * p->lda * dtype_find(p->dtype)->lab.bytes;
}
static int64_t bytes_of_b(const tw_problem *p)
{
    return p->k == 0 ? 0 : problem_b_rows(p) * p->ldb * dtype_find(p->dtype)->lab.bytes;
}
static int64_t bytes_of_c(const tw_problem *p) { return p->m * p->ldc * dtype_find(p->dtype_c)->lab.bytes; }

/* A sixteenth of what is free is left: memory is given in pieces, and the engine's own needs some. */
tw_status room_find(const tw_context *context, engine *device, int64_t bytes, int64_t *room)
{
    int64_t free_bytes;
    *room = context->memory_bytes > 0 ? context->memory_bytes : INT64_MAX;
    if (bytes < asked_least_bytes || context->ops->room == NULL) return TW_OK;
    TRY(context->ops->room(device, &free_bytes));
    *room = min_i64(*room, free_bytes - free_bytes / 16);
    return TW_OK;
}

tw_status room_check_each(const tw_context *context, const tw_problem *p)
{
    if (!context->facts.copies || p->place_c != TW_HOST) return TW_OK;
    const int64_t largest = max_i64(max_i64(bytes_of_a(p), bytes_of_b(p)), bytes_of_c(p));
    if (largest <= context->facts.largest_bytes) return TW_OK;
    return fail(TW_NO_MEMORY, "no device memory for an operand of %lld bytes, this device takes %lld",
                (long long)largest, (long long)context->facts.largest_bytes);
}

tw_status room_check(const tw_context *context, const plan *whole)
{
    const tw_problem *p = &whole->problem;
    if (!context->facts.copies || p->place_c != TW_HOST) return TW_OK;
    const int64_t bytes = bytes_of_a(p) + bytes_of_b(p) + bytes_of_c(p) + (int64_t)whole->workspace_bytes;
    int64_t room;
    TRY(room_find(context, context->engine, bytes, &room));
    if (bytes <= room) return TW_OK;
    return fail(TW_NO_MEMORY, "no device memory for %lld bytes of operands and workspace, %lld may be used",
                (long long)bytes, (long long)room);
}
