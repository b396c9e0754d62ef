/* bound.c - see bound.h. A vector is copied without what lies between its elements, a matrix that the text reads by
 * rows without their padding; other matrices from the first element that is read to the last. */
#include "bound.h"

#include <string.h>

/* Of one operand: the elements that are read, from `first` to `last`, and whether all of its uses read a vector, or
 * rows of C. */
typedef struct span {
    int64_t first, last;
    bool read, vector, by_rows;
} span;

static span span_of(const value_list *list, int number, const tw_problem *p)
{
    span s = {.vector = true, .by_rows = true};
    for (const value *v = list->of; v < list->of + list->count; v++) {
        if (v->op != VALUE_BOUND || v->of[0] != number) continue;
        const int64_t down = value_step(list, v, INDEX_I) * (p->m - 1),
                      across = value_step(list, v, INDEX_J) * (p->n - 1), first = min_i64(down, 0) + min_i64(across, 0),
                      last = max_i64(down, 0) + max_i64(across, 0);
        s.first = s.read ? min_i64(s.first, first) : first, s.last = s.read ? max_i64(s.last, last) : last;
        s.by_rows = s.by_rows && v->of[1] == INDEX_I && v->of[2] == INDEX_J && list->bound[number].stride == 1;
        s.vector = s.vector && v->of[2] == INDEX_NONE;
        s.read = true;
    }
    return s;
}

/* The operand as it is copied, and where the text then finds it: the address of the first element that is copied is
 * added to `at`. */
static operand operand_of(const value_binding *b, const span *s, const tw_problem *p, gpu_bound *to, int q)
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
    to->at[q] = (uint64_t)(vector ? -first / apart * bytes : -first * bytes); /* of the element of index 0 */
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
    run->runnable.bound = to;
    for (int q = 0; q < list->bindings; q++) {
        const value_binding *b = &list->bound[q];
        const span s = span_of(list, q, p);
        buffer *buffer = &run->bound_buffer[run->uploaded_bound];
        to->at[q] = (uint64_t)(uintptr_t)b->at, to->ld[q] = b->ld, to->stride[q] = b->stride;
        if (!s.read || b->type == TYPE_NUMBER || p->place_c == TW_DEVICE || !run->context->facts.copies) continue;
        const operand o = operand_of(b, &s, p, to, q);
        const tw_status status = ops->upload(run->context->engine, &o, true, buffer);
        if (status != TW_OK) {
            bound_end(run);
            return status;
        }
        run->uploaded_bound++;
        to->at[q] += buffer->device;
    }
    return TW_OK;
}

void bound_end(tw_lab_run *run)
{
    while (run->uploaded_bound > 0)
        run->context->ops->release(run->context->engine, &run->bound_buffer[--run->uploaded_bound]);
}
