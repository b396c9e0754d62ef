/* bound.c - see bound.h. A vector is copied without what lies between its elements, a matrix that the text reads by
 * rows without their padding; other matrices from the first element that is read to the last. */
#include "bound.h"

#include <string.h>

/* The operand as it is copied, and where the text then finds it: its offset in the copy, and the copy's distances. */
static operand operand_of(const value_binding *b, const bound_span *s, const tw_problem *p, gpu_bound *to, int q)
{
    const int64_t bytes = value_bytes(b->type), apart = b->stride < 0 ? -b->stride : b->stride;
    const bool vector = s->vector && apart > 1, by_rows = s->by_rows && !s->vector && b->ld >= p->n;
    const int64_t first = by_rows ? 0 : s->first,
                  rows = vector    ? (s->last - s->first) / apart + 1
                         : by_rows ? p->m
                                   : 1,
                  cols = vector    ? 1
                         : by_rows ? p->n
                                   : s->last - s->first + 1;
    if (vector) to->stride[q] = b->stride < 0 ? -1 : 1;
    if (by_rows) to->ld[q] = cols;
    to->at[q].offset = vector ? -first / apart : -first;
    return (operand){.host = (char *)(uintptr_t)b->at + first * bytes,
                     .rows = rows,
                     .cols = cols,
                     .ld = vector    ? apart
                           : by_rows ? b->ld
                                     : cols,
                     .device_ld = cols,
                     .element_bytes = (size_t)bytes};
}

tw_status bound_begin(tw_lab_run *run)
{
    const engine_ops *ops = run->context->ops;
    const tw_problem *p = &run->plan.problem;
    const value_list *list = &p->epilogue->values;
    gpu_bound *to = &run->bound;
    run->uploaded_bound = 0;
    if (p->place_c == TW_DEVICE || !run->context->facts.copies) return TW_OK;
    run->runnable.bound = to;
    for (int q = 0; q < list->bindings; q++) {
        const value_binding *b = &list->bound[q];
        const bound_span s = epilogue_span(p, q);
        buffer *buffer = &run->bound_buffer[run->uploaded_bound];
        to->at[q] = (struct buffer){0}, to->ld[q] = b->ld, to->stride[q] = b->stride;
        if (!s.read || b->type == TYPE_NUMBER) continue;
        const operand o = operand_of(b, &s, p, to, q);
        const tw_status status = ops->upload(run->context->engine, &o, true, buffer);
        if (status != TW_OK) {
            bound_end(run);
            return status;
        }
        run->uploaded_bound++;
        to->at[q].memory = buffer->memory, to->at[q].device = buffer->device;
    }
    return TW_OK;
}

void bound_end(tw_lab_run *run)
{
    while (run->uploaded_bound > 0)
        run->context->ops->release(run->context->engine, &run->bound_buffer[--run->uploaded_bound]);
}
