/* batch.c - see batch.h. */
#include "batch.h"

#include <stdlib.h>
#include <string.h>
#include "../lab/element.h"

/* `count` copies, `stride` bytes apart. */
static char *copies_of(const void *item, size_t bytes, size_t stride, int64_t count)
{
    char *made = stride <= (SIZE_MAX - 1) / (size_t)count ? calloc((size_t)count * stride + 1, 1) : NULL;
    for (int64_t i = 0; made != NULL && i < count; i++) memcpy(made + (size_t)i * stride, item, bytes);
    return made;
}

bool batch_spread(const oracle *o, int64_t count, const void *c, batch_operands *out)
{
    const tw_problem *p = &o->problem;
    const tw_batch batch = tw_batch_make(p, count);
    size_t bytes = (size_t)element_of(p->dtype)->bytes, result = (size_t)element_of(element_of(p->dtype)->result)->bytes;
    size_t a = (size_t)batch.stride_a * bytes, b = (size_t)batch.stride_b * bytes, to = (size_t)batch.stride_c * result;
    *out = (batch_operands){.batch = batch, .a_bytes = a * (size_t)count, .b_bytes = b * (size_t)count, .c_bytes = to * (size_t)count, .item_bytes = oracle_c_bytes(o)};
    out->a = copies_of(o->a, oracle_a_bytes(o), a, count);
    out->b = copies_of(o->b, oracle_b_bytes(o), b, count);
    out->c = copies_of(c, oracle_c_bytes(o), to, count);
    if (out->a != NULL && out->b != NULL && out->c != NULL) return true;
    batch_free(out);
    return false;
}

void batch_free(batch_operands *x)
{
    free(x->a), free(x->b), free(x->c);
    *x = (batch_operands){0};
}

const void *batch_to_judge(const batch_operands *x)
{
    size_t stride = x->c_bytes / (size_t)x->batch.count;
    for (int64_t i = 1; i < x->batch.count; i++)
        if (memcmp(x->c, x->c + (size_t)i * stride, x->item_bytes) != 0) return x->c + (size_t)i * stride;
    return x->c;
}
