/* placed.c - operands in device memory: where they lie for the engine, and how they are aligned. */
#include "placed.h"

uint32_t placed_align(uint32_t align, int64_t stride, tw_dtype dtype)
{
    uint64_t bits = (uint64_t)stride * (uint64_t)dtype_find(dtype)->lab.bytes | align;
    return (uint32_t)(bits & (~bits + 1));
}

/* Elements from the first to the last, of all items. */
static int64_t span_of(int64_t rows, int64_t cols, int64_t ld, int64_t count, int64_t stride)
{
    return rows > 0 && cols > 0 && count > 0 ? (count - 1) * stride + (rows - 1) * ld + cols : 0;
}

/* What the problem's epilogue reads, where it is behind handles. */
static tw_status check_bound(const tw_context *context, const tw_problem *p)
{
    const tw_epilogue *e = p->epilogue;
    for (int q = 0; e != NULL && context->ops->find != NULL && q < e->values.bindings; q++) {
        const value_binding *b = &e->values.bound[q];
        const bound_span s = epilogue_span(p, q);
        const placed x = {.name = e->names[q],
                          .handle = (void *)(uintptr_t)b->at,
                          .span = s.last + 1,
                          .element_bytes = value_bytes(b->type),
                          .read = true};
        buffer found;
        uint32_t align;
        if (!s.read || b->type == TYPE_NUMBER) continue;
        if (s.first < 0)
            return fail(TW_BAD_ARGUMENT,
                        "the epilogue reads %s from element %lld on, expected 0: bind a buffer that begins at the "
                        "first element that is read, and a stride of at least 0",
                        x.name, (long long)s.first);
        TRY(context->ops->find(context->engine, &x, &found, &align));
    }
    return TW_OK;
}

tw_status placed_find(const tw_context *context, tw_problem *p, const tw_batch *batch, const int64_t *offsets,
                      const void *a, const void *b, const void *c, buffer out[3])
{
    const void *const given[3] = {a, b, c};
    const tw_dtype dtypes[3] = {p->dtype, p->dtype_b, p->dtype_c};
    const int64_t rows[3] = {problem_a_rows(p), problem_b_rows(p), p->m},
                  cols[3] = {problem_a_cols(p), problem_b_cols(p), p->n}, lds[3] = {p->lda, p->ldb, p->ldc},
                  count = batch != NULL ? batch->count : 1,
                  strides[3] = {batch != NULL ? batch->stride_a : 0, batch != NULL ? batch->stride_b : 0,
                                batch != NULL ? batch->stride_c : 0};
    uint32_t *const aligns[3] = {&p->align_a, &p->align_b, &p->align_c};
    for (int i = 0; i < 3; i++) {
        const placed x = {.name = (const char *const[]){"a", "b", "c"}[i],
                          .handle = (void *)(uintptr_t)given[i],
                          .offset = offsets != NULL ? offsets[i] : 0,
                          .span = span_of(rows[i], cols[i], lds[i], count, strides[i]),
                          .element_bytes = dtype_find(dtypes[i])->lab.bytes,
                          .read = i < 2 || problem_reads_c(p),
                          .written = i == 2};
        out[i] = buffer_on_device(given[i]);
        if (context->ops->find == NULL || x.span == 0) continue; /* of no elements: not touched, and may be NULL */
        TRY(context->ops->find(context->engine, &x, &out[i], aligns[i]));
        *aligns[i] = placed_align(*aligns[i], strides[i], dtypes[i]);
    }
    return check_bound(context, p);
}

tw_status placed_check(const tw_context *context, tw_problem *p, const tw_batch *batch, const void *a, const void *b,
                       const void *c)
{
    buffer found[3];
    return p->place_c == TW_DEVICE && p->m > 0 && p->n > 0 ? placed_find(context, p, batch, NULL, a, b, c, found)
                                                           : TW_OK;
}
