/* packed_b.c - B packed once for many products (TW_PACKED_B): made by the engine, kept with what it is of. */
#include "packed_b.h"

#include "api.h"

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

/* Plans some product with this B, of rows enough that threads share the packing, and packs it as that one reads it. */
static tw_status pack(tw_context *context, const tw_problem *user, const void *b, tw_packed_b *made)
{
    enum { SOME_ROWS = 64 };
    tw_problem any, host, p;
    plan plan;
    TRY(problem_take(user, &any));
    any.m = SOME_ROWS, any.op_a = TW_N, any.lda = any.k > 0 ? any.k : 1, any.ldc = any.n > 0 ? any.n : 1;
    any.alpha = 1, any.beta = 0, any.alpha_imaginary = any.beta_imaginary = 0;
    any.flags = 0, any.epilogue = NULL, any.dtype_c = (tw_dtype)0;
    TRY(api_settle(&context, NULL, &any, api_stand_in(0), b, api_stand_in(0), &host, &p));
    if (context->ops->pack_b == NULL || p.place_b != TW_HOST)
        return fail(TW_NO_KERNEL, "the %s engine packs no B ahead%s", context->ops->name,
                    p.place_b != TW_HOST ? " in device memory" : "");
    p.flags = TW_PACKED_B;
    TRY(plan_find(&p, &context->facts, &(tw_lab_choice){0}, &plan));
    *made = (tw_packed_b){.magic = PACKED_B_MAGIC,
                          .dtype = p.dtype,
                          .dtype_b = p.dtype_b,
                          .op_b = p.op_b,
                          .n = p.n,
                          .k = p.k,
                          .row = plan.row};
    return p.n > 0 && p.k > 0 ? context->ops->pack_b(context->engine, &plan, b, &made->memory) : TW_OK;
}

tw_status tw_b_pack(tw_context *context, const tw_problem *problem, const void *b, tw_packed_b **out)
{
    HOLD_CANCELLATION;
    if (out == NULL) return fail(TW_BAD_ARGUMENT, "out is NULL");
    *out = NULL;
    tw_packed_b *made = malloc(sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for a packed B of %zu bytes", sizeof *made);
    const tw_status status = pack(context, problem, b, made);
    if (status == TW_OK)
        *out = made;
    else
        free(made);
    return status;
}

void tw_b_free(tw_packed_b *packed)
{
    if (packed == NULL) return;
    free(packed->memory);
    free(packed);
}
