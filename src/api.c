/* api.c - the public calls: check the problem, find a plan, let an engine run it. Nothing else. */
#include "api.h"
#include "first_use.h"
#include "packed_b.h"
#include "parts.h"
#include "room.h"
#include "run.h"
#include "sized.h"
#include "spread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_FIRST_BYTES = offsetof(tw_batch, stride_c) + sizeof(int64_t) }; /* of the first layout */

/* ---- check ---- */

/* The leading dimension of a copy without the host's padding: whole rows of 16 bytes, for 128-bit loads and TMA. */
static int64_t packed_ld(int64_t rows, int64_t cols, int64_t ld, tw_dtype dtype)
{
    return rows > 0 && cols > 0 ? round_up(cols, 16 / dtype_find(dtype)->lab.bytes) : ld;
}

static tw_status settle(tw_context **context, const tw_lab_choice *choice, const tw_problem *user, const void *a,
                        const void *b, const void *c, tw_problem *host, tw_problem *device)
{
    bool is_default = *context == NULL;
    TRY(problem_load(user, a, b, c, host));
    TRY(context_find(context));
    if (problem_b_is_packed(host) && ((*context)->ops->pack_b == NULL || host->place_c != TW_HOST))
        return fail(TW_NO_KERNEL, "flags has TW_PACKED_B: the %s engine takes no packed B%s", (*context)->ops->name,
                    host->place_c != TW_HOST ? " in device memory" : "");
    if (is_default && host->place_c == TW_DEVICE && host->m > 0 && host->n > 0) return context_refuse_default(*context);
    *device = *host;
    if (!(*context)->facts.copies || host->place_c == TW_DEVICE) return TW_OK;
    device->align_a = device->align_b = device->align_c = 256;
    if (choice != NULL && (choice->kernel != NULL || choice->keeps_ld)) return TW_OK;
    device->lda = packed_ld(problem_a_rows(host), problem_a_cols(host), host->lda, host->dtype);
    device->ldb = packed_ld(problem_b_rows(host), problem_b_cols(host), host->ldb, host->dtype);
    device->ldc = packed_ld(host->m, host->n, host->ldc, host->dtype_c);
    return TW_OK;
}

tw_status api_settle(tw_context **context, const tw_lab_choice *choice, const tw_problem *user, const void *a,
                     const void *b, const void *c, tw_problem *host, tw_problem *device)
{
    TRY(settle(context, choice, user, a, b, c, host, device));
    return problem_b_is_packed(host) ? packed_b_check(b, host) : TW_OK;
}

void *api_stand_in(uint32_t align) { return (void *)(uintptr_t)(align != 0 ? align : 256); }

tw_status api_settle_unseen(tw_context **context, const tw_lab_choice *choice, const tw_problem *user, tw_problem *host,
                            tw_problem *device)
{
    tw_problem p;
    TRY(problem_take(user, &p));
    return settle(context, choice, &p, api_stand_in(p.align_a), api_stand_in(p.align_b), api_stand_in(p.align_c), host,
                  device);
}

/* Where operands in device memory are handles, addresses of items would have to be read on the host. */
static tw_status check_by_address(const tw_context *context, const tw_batch *batch, const tw_problem *p)
{
    if (!batch->pointers || p->place_c != TW_DEVICE || context->ops->find == NULL) return TW_OK;
    return fail(TW_BAD_ARGUMENT,
                "batch.pointers is 1, expected 0: the %s engine takes items in device memory at strides only",
                context->ops->name);
}

tw_status api_settle_batch(tw_context **context, const tw_problem *user, const tw_batch *user_batch, bool seen,
                           const void *a, const void *b, const void *c, tw_problem *p, tw_batch *batch)
{
    tw_problem host;
    if (user_batch == NULL) return fail(TW_BAD_ARGUMENT, "batch is NULL");
    TRY(sized_load("batch", user_batch, BATCH_FIRST_BYTES, batch, sizeof *batch));
    bool first = seen && !batch->pointers && batch->count > 0; /* a, b and c are the first item's */
    if (first) {
        TRY(api_settle(context, NULL, user, a, b, c, &host, p));
    } else {
        tw_problem unseen;
        TRY(problem_take(user, &unseen));
        if (seen && unseen.place_c == TW_HOST)
            unseen.align_a = unseen.align_b = unseen.align_c = 0; /* not read there */
        TRY(api_settle_unseen(context, NULL, &unseen, &host, p));
    }
    TRY(batch_check(batch, &host));
    TRY(check_by_address(*context, batch, &host));
    if (batch->pointers && seen) TRY(batch_check_addresses(batch, &host, a, b, c));
    p->align_a = placed_align(p->align_a, batch->stride_a, p->dtype);
    p->align_b = placed_align(p->align_b, batch->stride_b, p->dtype);
    p->align_c = placed_align(p->align_c, batch->stride_c, p->dtype_c);
    return TW_OK;
}

/* Do operands lie where streams can use them, on an engine that has some? */
static tw_status check_streams(const tw_context *context, const tw_problem *p)
{
    if (context->ops->enqueue == NULL)
        return fail(TW_BAD_ARGUMENT,
                    "the context is of the %s engine, which has no streams: expected one of the cuda or opencl engine",
                    context->ops->name);
    if (p->place_c != TW_DEVICE)
        return fail(TW_BAD_ARGUMENT, "place_a, place_b and place_c are TW_HOST, expected TW_DEVICE: only operands in "
                                     "device memory wait for a stream");
    return TW_OK;
}

/* A copy of the user's launch, whatever its size, in which reserved fields are 0. NULL: the default stream. */
static tw_status take_launch(const tw_launch *user, tw_launch *launch)
{
    *launch = (tw_launch){.size = sizeof *launch};
    if (user == NULL) return TW_OK;
    TRY(sized_load("launch", user, offsetof(tw_launch, flags), launch, sizeof *launch));
    TRY(sized_refuse("launch", 1, &(reserved_field){"flags", launch->flags != 0}));
    if (launch->workspace_bytes < 0 || (launch->workspace == NULL) != (launch->workspace_bytes == 0))
        return fail(TW_BAD_ARGUMENT, "launch.workspace_bytes is %lld and launch.workspace is %s",
                    (long long)launch->workspace_bytes, launch->workspace ? "given" : "NULL");
    if ((launch->wait_list == NULL) != (launch->wait_count == 0))
        return fail(TW_BAD_ARGUMENT, "launch.wait_count is %u and launch.wait_list is %s", launch->wait_count,
                    launch->wait_list ? "given" : "NULL");
    return TW_OK;
}

/* Fields that only an engine with streams of addresses knows, or only one with queues of buffers. */
static tw_status check_launch(const tw_context *context, const tw_launch *launch)
{
    const bool handles = context->ops->find != NULL;
    const reserved_field fields[] = {
        {"stream", handles && launch->stream != NULL},   {"wait_count", !handles && launch->wait_count != 0},
        {"queue", !handles && launch->queue != NULL},    {"event", !handles && launch->event != NULL},
        {"offset_a", !handles && launch->offset_a != 0}, {"offset_b", !handles && launch->offset_b != 0},
        {"offset_c", !handles && launch->offset_c != 0}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].set)
            return fail(TW_BAD_ARGUMENT, "launch.%s is set, expected 0: the %s engine does nothing with it",
                        fields[i].name, context->ops->name);
    if (!handles && (uintptr_t)launch->workspace % 256 != 0)
        return fail(TW_BAD_ARGUMENT, "launch.workspace is not aligned to 256 bytes");
    return TW_OK;
}

/* ---- one product ---- */

/* How a product is planned where a workspace may be had, and where none is to be had. */
static const first_use_wish usual = {0}, without = {.no_workspace = true};

static tw_status fail_without(size_t workspace_bytes)
{
    return fail(TW_NO_MEMORY, "no device memory for %zu bytes of workspace, and no kernel that does without",
                workspace_bytes);
}

/* There was no device memory for a workspace beside the operands: is there a kernel that does without? */
static tw_status run_without(tw_lab_run *run, const tw_problem *h, const void *a, const void *b, void *c)
{
    tw_problem p = run->plan.problem;
    size_t wanted = run->plan.workspace_bytes;
    tw_status status = first_use_plan(run->context, &p, &without, &run->plan);
    if (status != TW_OK) return status == TW_NO_KERNEL ? fail_without(wanted) : status;
    TRY(room_check(run->context, &run->plan));
    return run_whole(run, h, a, b, c);
}

/* On a device that operands are copied to: as a whole, without a workspace, in parts, as there is memory for. Not
 * inlined, so that no product of the host pays for it. */
__attribute__((noinline)) static tw_status run_in_room(tw_lab_run *run, const tw_problem *h, const void *a,
                                                       const void *b, void *c)
{
    tw_status status = room_check(run->context, &run->plan);
    if (status == TW_OK) status = run_whole(run, h, a, b, c);
    if (status != TW_NO_MEMORY || run->runnable.launched) return status;
    if (run->plan.workspace_bytes > 0) status = run_without(run, h, a, b, c);
    if (status != TW_NO_MEMORY || run->runnable.launched || h->place_c != TW_HOST) return status;
    return parts_run(run->context, run->stop, h, a, b, c, api_gemm);
}

tw_status api_gemm(tw_context *context, const stop *stop, const tw_problem *problem, const void *a, const void *b,
                   void *c)
{
    tw_problem host, p;
    tw_lab_run run; /* plan_find() and run_begin() fill in the rest: clearing it is a fifteenth of a tiny product */
    TRY(api_settle(&context, NULL, problem, a, b, c, &host, &p));
    if (p.m == 0 || p.n == 0) return TW_OK;
    TRY(placed_check(context, &p, NULL, a, b, c));
    run.context = context, run.stop = stop, run.whole = run.brings_c = run.runnable.launched = false;
    if (spread_pays(context, &p)) {
        const tw_status status = spread_run(context, stop, &host, a, b, c);
        if (status != TW_NO_MEMORY && status != TW_NO_KERNEL) return status;
    }
    if (context->facts.copies && room_check_each(context, &p) != TW_OK)
        return parts_run(context, stop, &host, a, b, c, api_gemm);
    TRY(first_use_plan(context, &p, &usual, &run.plan));
    return context->facts.copies ? run_in_room(&run, &host, a, b, c) : run_whole(&run, &host, a, b, c);
}

/* Not inlined, so that a product of one thread does not pay for its locals. */
__attribute__((noinline)) static void compute_shared(tw_context *context, const plan *plan, double alpha, double beta,
                                                     const void *a, const void *b, void *c)
{
    HOLD_CANCELLATION;
    context->ops->compute(context->engine, plan, alpha, beta, a, b, c);
}

/* A product in place of the shape that this thread computed last, with operands that are read and can be: its checks
 * and its plan are made. False: not so. */
static bool computed_again(tw_context *context, const tw_problem *problem, const void *a, const void *b, void *c)
{
    if (context == NULL) context = atomic_load_explicit(&context_default, memory_order_acquire);
    const plan *plan = context != NULL ? plan_recall(problem, context->facts.context) : NULL;
    if (plan == NULL || a == NULL || b == NULL || c == NULL) return false;
    bool wide = problem->dtype == TW_F64;
    double alpha = wide ? problem->alpha : (double)(float)problem->alpha,
           beta = wide ? problem->beta : (double)(float)problem->beta;
    if (alpha == 0 || (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) & (wide ? 7 : 3)) != 0) return false;
    if (plan->at_once)
        context->ops->compute(context->engine, plan, alpha, beta, a, b, c); /* without a cancellation point */
    else
        compute_shared(context, plan, alpha, beta, a, b, c);
    return true;
}

/* Not inlined, so that a product that is computed again does not pay for its locals. */
__attribute__((noinline)) static tw_status gemm_anew(tw_context *context, const tw_problem *problem, const void *a,
                                                     const void *b, void *c)
{
    HOLD_CANCELLATION;
    const stop stop = context_stop(context);
    return api_gemm(context, &stop, problem, a, b, c);
}

tw_status tw_gemm(tw_context *context, const tw_problem *problem, const void *a, const void *b, void *c)
{
    if (computed_again(context, problem, a, b, c)) return TW_OK;
    return gemm_anew(context, problem, a, b, c);
}

/* ---- a B that is packed once ---- */

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

/* ---- on a caller's stream ---- */

static tw_status find_operands(const tw_context *context, tw_problem *p, const tw_batch *batch, const tw_launch *launch,
                               const void *a, const void *b, const void *c, buffer out[3])
{
    const int64_t offsets[3] = {launch->offset_a, launch->offset_b, launch->offset_c};
    return placed_find(context, p, batch, offsets, a, b, c, out);
}

static tw_status enqueue_nothing(const tw_context *context, const tw_launch *launch)
{
    return context->ops->enqueue(context->engine, NULL, NULL, launch, NULL, NULL, NULL);
}

static tw_status enqueue(tw_context *context, const plan *made, const tw_batch *batch, const tw_launch *launch,
                         const buffer operands[3])
{
    if ((uint64_t)launch->workspace_bytes < made->workspace_bytes)
        return fail(TW_BAD_ARGUMENT, "launch.workspace_bytes is %lld, expected at least %zu",
                    (long long)launch->workspace_bytes, made->workspace_bytes);
    return context->ops->enqueue(context->engine, made, batch, launch, &operands[0], &operands[1], &operands[2]);
}

tw_status tw_enqueue(tw_context *context, const tw_problem *problem, const void *a, const void *b, void *c,
                     const tw_launch *launch)
{
    HOLD_CANCELLATION;
    tw_problem host, p;
    tw_launch to;
    plan made;
    buffer operands[3];
    TRY(api_settle(&context, NULL, problem, a, b, c, &host, &p));
    TRY(take_launch(launch, &to));
    TRY(check_streams(context, &p));
    TRY(check_launch(context, &to));
    if (p.m == 0 || p.n == 0) return enqueue_nothing(context, &to);
    TRY(find_operands(context, &p, NULL, &to, a, b, c, operands));
    TRY(first_use_plan(context, &p, to.workspace == NULL ? &without : &usual, &made));
    return enqueue(context, &made, NULL, &to, operands);
}

/* ---- batches ---- */

/* One item after the other: where operands are copied to where they are computed, or memory is short. */
static tw_status gemm_each(tw_context *context, const stop *stop, const tw_problem *problem, const tw_problem *p,
                           const tw_batch *batch, const void *a, const void *b, void *c)
{
    size_t bytes = (size_t)dtype_find(p->dtype)->lab.bytes, c_bytes = (size_t)dtype_find(p->dtype_c)->lab.bytes;
    for (int64_t i = 0; i < batch->count; i++) {
        const tw_status status = api_gemm(context, stop, problem, batch_item(batch, a, batch->stride_a, bytes, i),
                                          batch_item(batch, b, batch->stride_b, bytes, i),
                                          batch_item(batch, c, batch->stride_c, c_bytes, i));
        if (status != TW_OK && status != TW_NO_MEMORY && status != TW_CANCELLED && i > 0)
            return TW_DEVICE_FAILED; /* C is written */
        TRY(status);
    }
    return TW_OK;
}

static buffer operand_at(const tw_problem *p, const void *address)
{
    return p->place_c == TW_DEVICE ? buffer_on_device(address) : (buffer){.host = (void *)(uintptr_t)address};
}

/* *wanted: bytes of memory for a workspace that there are none of; nothing was launched. */
static tw_status gemm_planned(tw_context *context, const stop *stop, const plan *made, const tw_batch *batch,
                              const void *a, const void *b, void *c, size_t *wanted)
{
    const engine_ops *ops = context->ops;
    const tw_problem *p = &made->problem;
    runnable r;
    TRY(ops->prepare(context->engine, made, &r));
    r.batch = batch, r.stop = stop;
    const buffer operands[3] = {operand_at(p, a), operand_at(p, b), operand_at(p, c)};
    tw_status status = ops->launch(context->engine, &r, &operands[0], &operands[1], &operands[2]);
    if (status == TW_OK) status = ops->wait(context->engine, &r);
    if (status == TW_OK) status = stop_check(stop);
    if (status == TW_NO_MEMORY && !r.launched) *wanted = made->workspace_bytes;
    ops->drop(context->engine, &r);
    return status;
}

/* Operands are computed where they lie; without memory for a workspace one after the other on the host, on a device by
 * kernels that do without, if there are. */
static tw_status gemm_all(tw_context *context, const stop *stop, const tw_problem *problem, const tw_problem *p,
                          const tw_batch *batch, const void *a, const void *b, void *c)
{
    first_use_wish wish = {.batch = batch};
    plan made;
    size_t wanted = 0;
    TRY(first_use_plan(context, p, &wish, &made));
    tw_status status = gemm_planned(context, stop, &made, batch, a, b, c, &wanted);
    if (wanted == 0) return status;
    if (!context->facts.copies) return gemm_each(context, stop, problem, p, batch, a, b, c);
    wish.no_workspace = true;
    if (first_use_plan(context, p, &wish, &made) != TW_OK) return fail_without(wanted);
    return gemm_planned(context, stop, &made, batch, a, b, c, &wanted);
}

tw_status api_gemm_batched(tw_context *context, const stop *stop, const tw_problem *problem, const tw_batch *batch,
                           const void *a, const void *b, void *c)
{
    tw_problem p;
    tw_batch items;
    TRY(api_settle_batch(&context, problem, batch, true, a, b, c, &p, &items));
    if (items.count == 0 || p.m == 0 || p.n == 0) return TW_OK;
    if (items.pointers && p.k == 0) a = b = NULL; /* arrays that are not read */
    TRY(placed_check(context, &p, &items, a, b, c));
    return context->facts.copies && p.place_c == TW_HOST ? gemm_each(context, stop, problem, &p, &items, a, b, c)
                                                         : gemm_all(context, stop, problem, &p, &items, a, b, c);
}

tw_status tw_gemm_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch, const void *a,
                          const void *b, void *c)
{
    HOLD_CANCELLATION;
    const stop stop = context_stop(context);
    return api_gemm_batched(context, &stop, problem, batch, a, b, c);
}

tw_status tw_enqueue_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch, const void *a,
                             const void *b, void *c, const tw_launch *launch)
{
    HOLD_CANCELLATION;
    tw_problem p;
    tw_batch items;
    tw_launch to;
    plan made;
    buffer operands[3];
    TRY(api_settle_batch(&context, problem, batch, true, a, b, c, &p, &items));
    TRY(take_launch(launch, &to));
    TRY(check_streams(context, &p));
    TRY(check_launch(context, &to));
    if (items.count == 0 || p.m == 0 || p.n == 0) return enqueue_nothing(context, &to);
    TRY(find_operands(context, &p, &items, &to, a, b, c, operands));
    first_use_wish wish = {.batch = &items, .no_workspace = to.workspace == NULL};
    TRY(first_use_plan(context, &p, &wish, &made));
    wish.no_workspace = true;
    if ((uint64_t)to.workspace_bytes < made.workspace_bytes) TRY(first_use_plan(context, &p, &wish, &made));
    return enqueue(context, &made, &items, &to, operands);
}

/* ---- kernels built before they are needed ---- */

tw_status tw_workspace_bytes(tw_context *context, const tw_problem *problem, int64_t *bytes)
{
    HOLD_CANCELLATION;
    tw_problem host, p;
    plan made = {.workspace_bytes = 0};
    if (bytes == NULL) return fail(TW_BAD_ARGUMENT, "bytes is NULL");
    TRY(api_settle_unseen(&context, NULL, problem, &host, &p));
    TRY(check_streams(context, &p));
    if (p.m > 0 && p.n > 0) TRY(first_use_plan(context, &p, &usual, &made));
    *bytes = (int64_t)made.workspace_bytes;
    return TW_OK;
}

tw_status tw_workspace_bytes_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch,
                                     int64_t *bytes)
{
    HOLD_CANCELLATION;
    tw_problem p;
    tw_batch items;
    plan made = {.workspace_bytes = 0};
    if (bytes == NULL) return fail(TW_BAD_ARGUMENT, "bytes is NULL");
    TRY(api_settle_batch(&context, problem, batch, false, NULL, NULL, NULL, &p, &items));
    TRY(check_streams(context, &p));
    if (items.count > 0 && p.m > 0 && p.n > 0)
        TRY(first_use_plan(context, &p, &(first_use_wish){.batch = &items}, &made));
    *bytes = (int64_t)made.workspace_bytes;
    return TW_OK;
}

static tw_status prepare_as(tw_context *context, const tw_problem *p, const tw_batch *batch, bool no_workspace)
{
    plan made;
    runnable ready;
    TRY(first_use_plan(context, p, &(first_use_wish){.batch = batch, .no_workspace = no_workspace}, &made));
    TRY(context->ops->prepare(context->engine, &made, &ready));
    context->ops->drop(context->engine, &ready);
    return TW_OK;
}

static tw_status prepare(tw_context *context, const tw_problem *p, const tw_batch *batch)
{
    if (p->m == 0 || p->n == 0) return TW_OK;
    if (room_check_each(context, p) != TW_OK) return TW_OK; /* tw_gemm() computes it in parts, of other kernels */
    TRY(prepare_as(context, p, batch, false));
    tw_status bare = p->place_c == TW_DEVICE ? prepare_as(context, p, batch, true) : TW_OK;
    return bare == TW_NO_KERNEL ? TW_OK : bare; /* then tw_enqueue() wants a workspace for it, and says so */
}

tw_status tw_prepare(tw_context *context, const tw_problem *problem)
{
    HOLD_CANCELLATION;
    tw_problem host, p;
    TRY(api_settle_unseen(&context, NULL, problem, &host, &p));
    return prepare(context, &p, NULL);
}

tw_status tw_prepare_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch)
{
    HOLD_CANCELLATION;
    tw_problem p;
    tw_batch items;
    TRY(api_settle_batch(&context, problem, batch, false, NULL, NULL, NULL, &p, &items));
    if (items.count == 0) return TW_OK;
    bool each = context->facts.copies && p.place_c == TW_HOST; /* one item after the other */
    return prepare(context, &p, each ? NULL : &items);
}

static tw_status gemm_simple(tw_context *context, tw_dtype dtype, tw_op op_a, tw_op op_b, int64_t m, int64_t n,
                             int64_t k, double alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
                             double beta, void *c, int64_t ldc)
{
    tw_problem p; /* of the first layout: what lies beyond is neither cleared here nor looked at for a tiny product */
    p.size = PROBLEM_FIRST_BYTES;
    p.dtype = dtype, p.dtype_c = (tw_dtype)0;
    p.op_a = op_a, p.op_b = op_b;
    p.place_a = p.place_b = p.place_c = TW_HOST;
    p.m = m, p.n = n, p.k = k;
    p.lda = lda, p.ldb = ldb, p.ldc = ldc;
    p.alpha = alpha, p.beta = beta;
    p.align_a = p.align_b = p.align_c = p.reserved = 0;
    return tw_gemm(context, &p, a, b, c);
}

tw_status tw_sgemm(tw_context *context, tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k, float alpha,
                   const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
    return gemm_simple(context, TW_F32, op_a, op_b, m, n, k, (double)alpha, a, lda, b, ldb, (double)beta, c, ldc);
}

tw_status tw_dgemm(tw_context *context, tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k, double alpha,
                   const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc)
{
    return gemm_simple(context, TW_F64, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
