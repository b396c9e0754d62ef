/* packed_b.c - whether a B that was packed before (tw_b_pack() in api.c) is the one of a problem, and of a plan. */
#include "packed_b.h"

#include <stdlib.h>

tw_status packed_b_check(const void *b, const tw_problem *p)
{
    const tw_packed_b *packed = b;
    if (p->k == 0) return TW_OK; /* B is not read */
    if (packed->magic != PACKED_B_MAGIC)
        return fail(TW_BAD_ARGUMENT, "b is none that tw_b_pack() made, and flags has TW_PACKED_B");
    if (packed->dtype != p->dtype || packed->dtype_b != p->dtype_b || packed->op_b != p->op_b || packed->n != p->n ||
        packed->k != p->k)
        return fail(TW_BAD_ARGUMENT,
                    "b was packed for dtype %d, dtype_b %d, op_b %d, n %lld and k %lld, the problem has %d, %d, %d, "
                    "%lld and %lld",
                    (int)packed->dtype, (int)packed->dtype_b, (int)packed->op_b, (long long)packed->n,
                    (long long)packed->k, (int)p->dtype, (int)p->dtype_b, (int)p->op_b, (long long)p->n,
                    (long long)p->k);
    return TW_OK;
}

tw_status packed_b_find(const void *b, const plan *p, void **memory)
{
    const tw_packed_b *packed = b;
    *memory = NULL;
    if (p->problem.k == 0) return TW_OK;
    if (packed->row != p->row)
        return fail(TW_BAD_ARGUMENT, "b was packed for %s, and the product runs %s: pack it in a context like this one",
                    packed->row->lab.name, p->row->lab.name);
    *memory = packed->memory;
    return TW_OK;
}

void tw_b_free(tw_packed_b *packed)
{
    if (packed == NULL) return;
    free(packed->memory);
    free(packed);
}
