/* bound.c - see bound.h. A vector, or a matrix that the text does not read by rows alone, is copied from its first
 * element that is read to its last, with its strides; a matrix that is read by rows, without their padding. */
#include "bound.h"

#include <string.h>

/* Of one operand: the elements that are read, from `first` to `last`, and whether all of its uses read rows of C. */
typedef struct span {
    int64_t first, last;
    bool read, by_rows;
} span;

static span span_of(const value_list *list, int number, const tw_problem *p)
{
    span s = {.by_rows = true};
    for (const value *v = list->of; v < list->of + list->count; v++) {
        if (v->op != VALUE_BOUND || v->of[0] != number) continue;
        const int64_t down = value_step(list, v, INDEX_I) * (p->m - 1),
                      across = value_step(list, v, INDEX_J) * (p->n - 1), first = min_i64(down, 0) + min_i64(across, 0),
                      last = max_i64(down, 0) + max_i64(across, 0);
        s.first = s.read ? min_i64(s.first, first) : first, s.last = s.read ? max_i64(s.last, last) : last;
        s.by_rows = s.by_rows && v->of[1] == INDEX_I && v->of[2] == INDEX_J && list->bound[number].stride == 1;
        s.read = true;
    }
    return s;
}

static operand operand_of(const value_binding *b, const span *s, const tw_problem *p)
{
    const size_t bytes = (size_t)value_bytes(b->type);
    const bool by_rows = s->by_rows && b->ld >= p->n;
    const int64_t cols = by_rows ? p->n : s->last - s->first + 1;
    return (operand){.host = (char *)(uintptr_t)b->at + (by_rows ? 0 : s->first) * (int64_t)bytes,
                     .rows = by_rows ? p->m : 1,
                     .cols = cols,
                     .ld = by_rows ? b->ld : cols,
                     .device_ld = cols,
                     .element_bytes = bytes};
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
        to->at[q] = (uint64_t)(uintptr_t)b->at, to->ld[q] = b->ld;
        if (!s.read || b->type == TYPE_NUMBER || p->place_c == TW_DEVICE || !run->context->facts.copies) continue;
        const operand o = operand_of(b, &s, p);
        const tw_status status = ops->upload(run->context->engine, &o, true, buffer);
        if (status != TW_OK) {
            bound_end(run);
            return status;
        }
        run->uploaded_bound++;
        const bool by_rows = o.host == b->at && o.rows > 1;
        to->at[q] = buffer->device - (by_rows ? 0 : (uint64_t)(s.first * (int64_t)o.element_bytes));
        if (by_rows) to->ld[q] = o.device_ld;
    }
    return TW_OK;
}

void bound_end(tw_lab_run *run)
{
    while (run->uploaded_bound > 0)
        run->context->ops->release(run->context->engine, &run->bound_buffer[--run->uploaded_bound]);
}
