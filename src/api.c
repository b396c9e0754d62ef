/* api.c - the public calls: check the problem, find a plan, let an engine run it. Nothing else. */
#include "engines/engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const engine_ops *const engines[] = {&cpu_engine, &opencl_engine, &cuda_engine};

enum { ENGINE_COUNT = sizeof engines / sizeof *engines };

struct tw_context {
    const engine_ops *ops;
    engine *engine;
    device_facts facts;
};

#define TEXT_OF(x)  TEXT_OF_(x)
#define TEXT_OF_(x) #x

const char *tw_version(void)
{
    return TEXT_OF(TW_VERSION_MAJOR) "." TEXT_OF(TW_VERSION_MINOR) "." TEXT_OF(TW_VERSION_PATCH);
}

/* A thread that is cancelled inside a call would leave locks held and other threads at work on its stack. So
 * cancellation waits until the call returns. First line of every call that may wait, lock, open or compute. */
#define HOLD_CANCELLATION                                                                                              \
    __attribute__((unused, cleanup(restore_cancellation))) int cancel_state_ = disable_cancellation()

static int disable_cancellation(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static void restore_cancellation(const int *before)
{
    int disabled;
    pthread_setcancelstate(*before, &disabled);
}

/* ---- devices and contexts ---- */

static tw_status check_room(const tw_device *devices, int32_t capacity, const int32_t *count)
{
    if (count == NULL) return fail(TW_BAD_ARGUMENT, "count is NULL");
    if (capacity < 0 || (capacity > 0 && devices == NULL))
        return fail(TW_BAD_ARGUMENT, "capacity is %d and devices is %s", (int)capacity, devices ? "given" : "NULL");
    if (capacity > 0 && devices[0].size != sizeof *devices)
        return fail(TW_BAD_ARGUMENT, "devices[0].size is %u, expected %zu", devices[0].size, sizeof *devices);
    return TW_OK;
}

tw_status tw_devices(tw_device *devices, int32_t capacity, int32_t *count)
{
    HOLD_CANCELLATION;
    TRY(check_room(devices, capacity, count));
    char skipped[400] = "";
    *count = 0;
    for (int i = 0; i < ENGINE_COUNT; i++) {
        int32_t found = 0, room = capacity > *count ? capacity - *count : 0;
        fail(TW_OK, "%s", "");
        tw_status status = engines[i]->devices(room > 0 ? devices + *count : NULL, room, &found);
        /* an environment variable is wrong: tw_open() would say so too */
        if (status == TW_BAD_ARGUMENT) return status;
        if (status == TW_OK) *count += found;
        size_t used = strlen(skipped);
        if (tw_error_text()[0] != '\0')
            snprintf(skipped + used, sizeof skipped - used, "%s%s: %s", used > 0 ? "; " : "", engines[i]->name,
                     tw_error_text());
    }
    fail(TW_OK, "%s", skipped);
    return TW_OK;
}

static const engine_ops *engine_named(const char *name)
{
    /* the one that multiplies any shape of f64 and f32 without moving it */
    if (name == NULL || strcmp(name, "auto") == 0) return &cpu_engine;
    for (int i = 0; i < ENGINE_COUNT; i++)
        if (strcmp(engines[i]->name, name) == 0) return engines[i];
    return NULL;
}

static tw_status open_context(const tw_options *options, bool despite, tw_context **context)
{
    static const tw_options defaults = {.size = sizeof defaults};
    *context = NULL;
    if (options == NULL) options = &defaults;
    if (options->size != sizeof *options)
        return fail(TW_BAD_ARGUMENT, "options.size is %u, expected %zu", options->size, sizeof *options);
    if (options->threads < 0 || options->threads > MOST_THREADS)
        return fail(TW_BAD_ARGUMENT, "options.threads is %d, expected 0 to %d", (int)options->threads, MOST_THREADS);
    const engine_ops *ops = engine_named(options->engine);
    if (ops == NULL)
        return fail(TW_NO_DEVICE, "there is no engine named %s: there are cpu, opencl and cuda", options->engine);
    if (options->device_context != NULL && ops->enqueue == NULL)
        return fail(TW_BAD_ARGUMENT,
                    "options.device_context is given, expected NULL: the %s engine works in none of its caller's",
                    ops->name);
    tw_context *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for a context of %zu bytes", sizeof *made);
    made->ops = ops;
    tw_status status = ops->open(options, despite, &made->engine);
    if (status != TW_OK) {
        free(made);
        return status;
    }
    ops->facts(made->engine, &made->facts);
    static atomic_ullong opened;
    made->facts.context = atomic_fetch_add_explicit(&opened, 1, memory_order_relaxed) + 1;
    *context = made;
    return TW_OK;
}

static _Thread_local char not_opened[512]; /* why this thread's last tw_open() failed; "" where it did not */

tw_status tw_open(const tw_options *options, tw_context **context)
{
    HOLD_CANCELLATION;
    if (context == NULL) return fail(TW_BAD_ARGUMENT, "context is NULL");
    tw_status status = open_context(options, false, context);
    snprintf(not_opened, sizeof not_opened, "%s", status == TW_OK ? "" : tw_error_text());
    return status;
}

void tw_close(tw_context *context)
{
    HOLD_CANCELLATION;
    if (context == NULL) return;
    context->ops->close(context->engine);
    free(context);
}

static _Atomic(tw_context *) process_default;

/* *context NULL becomes the process-wide default. Two threads may open it at once; the second's is closed again. */
static tw_status resolve(tw_context **context)
{
    if (*context != NULL) return TW_OK;
    *context = atomic_load_explicit(&process_default, memory_order_acquire);
    if (*context != NULL) return TW_OK;
    tw_context *made, *expected = NULL;
    TRY(open_context(NULL, false, &made));
    if (atomic_compare_exchange_strong(&process_default, &expected, made)) {
        *context = made;
    } else {
        tw_close(made);
        *context = expected;
    }
    return TW_OK;
}

tw_status tw_describe(tw_context *context, tw_device *device)
{
    HOLD_CANCELLATION;
    if (device == NULL || device->size != sizeof *device)
        return fail(TW_BAD_ARGUMENT, "device is NULL or its size is not %zu", sizeof *device);
    TRY(resolve(&context));
    context->ops->describe(context->engine, device);
    return TW_OK;
}

/* ---- multiplication ---- */

/* The leading dimension of a copy without the host's padding: whole rows of 16 bytes, as wide loads and the copy engine
 * want them. */
static int64_t packed_ld(int64_t rows, int64_t cols, int64_t ld, tw_dtype dtype)
{
    return rows > 0 && cols > 0 ? round_up(cols, 16 / dtype_find(dtype)->lab.bytes) : ld;
}

/* NULL is also what a failed tw_open() leaves: whoever goes on with it has operands that the default context does not
 * take. */
static tw_status refuse_default(const tw_context *context)
{
    return fail(TW_NO_KERNEL,
                "the operands are in device memory, the %s engine takes them from the host's only: the context is "
                "NULL, the default one%s%s",
                context->ops->name, not_opened[0] != '\0' ? "; this thread's last tw_open() failed: " : "", not_opened);
}

/* Check the problem as the caller has it, take the context, and say how operands lie where this device computes, which
 * is what is planned. Copies are packed, but a kernel that the lab forces is tried on the caller's own leading
 * dimensions. */
static tw_status settle(tw_context **context, const tw_lab_choice *choice, const tw_problem *user, const void *a,
                        const void *b, const void *c, tw_problem *host, tw_problem *device)
{
    bool is_default = *context == NULL;
    TRY(problem_load(user, a, b, c, host));
    TRY(resolve(context));
    if (is_default && host->place_c == TW_DEVICE && host->m > 0 && host->n > 0) return refuse_default(*context);
    *device = *host;
    if (!(*context)->facts.copies || host->place_c == TW_DEVICE) return TW_OK;
    device->align_a = device->align_b = device->align_c = 256;
    if (choice != NULL && choice->kernel != NULL) return TW_OK;
    device->lda = packed_ld(problem_a_rows(host), problem_a_cols(host), host->lda, host->dtype);
    device->ldb = packed_ld(problem_b_rows(host), problem_b_cols(host), host->ldb, host->dtype);
    device->ldc = packed_ld(host->m, host->n, host->ldc, host->dtype_c);
    return TW_OK;
}

/* Where no operand is at hand, an address that passes for one: aligned as the problem says. */
static void *stand_in(uint32_t align) { return (void *)(uintptr_t)(align != 0 ? align : 256); }

static tw_status settle_unseen(tw_context **context, const tw_lab_choice *choice, const tw_problem *user,
                               tw_problem *host, tw_problem *device)
{
    if (user == NULL) return settle(context, choice, NULL, NULL, NULL, NULL, host, device);
    return settle(context, choice, user, stand_in(user->align_a), stand_in(user->align_b), stand_in(user->align_c),
                  host, device);
}

static operand operand_of(const void *host, int64_t rows, int64_t cols, int64_t ld, int64_t device_ld, tw_dtype dtype,
                          bool whole)
{
    return (operand){.host = (void *)(uintptr_t)host,
                     .rows = rows,
                     .cols = cols,
                     .ld = ld,
                     .device_ld = device_ld,
                     .element_bytes = (size_t)dtype_find(dtype)->lab.bytes,
                     .whole = whole};
}

/* A prepared multiplication: what tw_gemm makes, uses once and drops, and the lab keeps. */
struct tw_lab_run {
    tw_context *context;
    plan plan;
    runnable runnable;
    operand operand[3]; /* a, b, c */
    buffer buffer[3];
    int uploaded;     /* how many of the buffers exist */
    bool whole;       /* operands go up and C comes down with their padding */
    bool brings_c;    /* C goes up even where beta is 0 */
    bool overlaps;    /* nothing goes up yet: copies are made beside the work */
    double prepare_s; /* spent on transposing B */
};

static void run_end(tw_lab_run *run)
{
    const engine_ops *ops = run->context->ops;
    ops->drop(run->context->engine, &run->runnable);
    for (int i = 0; i < run->uploaded; i++) ops->release(run->context->engine, &run->buffer[i]);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A copy of an operand with rows and columns exchanged and no padding. NULL without memory. */
static void *turned(const operand *o)
{
    size_t bytes = o->element_bytes;
    char *copy = malloc((size_t)(o->rows * o->cols) * bytes + 1);
    for (int64_t j = 0; copy != NULL && j < o->cols; j++)
        for (int64_t i = 0; i < o->rows; i++)
            memcpy(copy + (size_t)(j * o->rows + i) * bytes, (const char *)o->host + (size_t)(i * o->ld + j) * bytes,
                   bytes);
    return copy;
}

/* Upload B transposed, for kernels that read it as n x k; the host's time is noted. */
static tw_status upload_turned(tw_lab_run *run, const operand *b, buffer *out)
{
    double begin = now_s();
    operand copy = {.host = turned(b),
                    .rows = b->cols,
                    .cols = b->rows,
                    .ld = b->rows,
                    .device_ld = b->rows,
                    .element_bytes = b->element_bytes};
    run->prepare_s = now_s() - begin;
    if (copy.host == NULL) return fail(TW_NO_MEMORY, "no memory for a transposed copy of B");
    tw_status status = run->context->ops->upload(run->context->engine, &copy, true, out);
    free(copy.host);
    return status;
}

static buffer on_device(const void *address) { return (buffer){.device = (uintptr_t)address}; }

/* run->plan is made; bring kernel and operands, which lie on the host as `h` says, into place. On failure nothing is
 * left to end. */
static tw_status run_begin(tw_lab_run *run, const tw_problem *h, const void *a, const void *b, void *c)
{
    const engine_ops *ops = run->context->ops;
    const tw_problem *p = &run->plan.problem;
    run->operand[0] = operand_of(a, problem_a_rows(p), problem_a_cols(p), h->lda, p->lda, p->dtype, run->whole);
    run->operand[1] = operand_of(b, problem_b_rows(p), problem_b_cols(p), h->ldb, p->ldb, p->dtype, run->whole);
    run->operand[2] = operand_of(c, p->m, p->n, h->ldc, p->ldc, p->dtype_c, run->whole);
    run->uploaded = 0;
    TRY(ops->prepare(run->context->engine, &run->plan, &run->runnable));
    if (p->place_c == TW_DEVICE) {
        run->buffer[0] = on_device(a), run->buffer[1] = on_device(b), run->buffer[2] = on_device(c);
        return TW_OK;
    }
    for (; run->uploaded < 3; run->uploaded++) {
        int i = run->uploaded;
        bool copies = !run->overlaps && (i < 2 ? p->k > 0 : p->beta != 0 || run->brings_c);
        tw_status status = i == 1 && run->plan.turns_b && copies
                               ? upload_turned(run, &run->operand[1], &run->buffer[1])
                               : ops->upload(run->context->engine, &run->operand[i], copies, &run->buffer[i]);
        if (status != TW_OK) {
            run_end(run);
            return status;
        }
    }
    return TW_OK;
}

static tw_status run_once(tw_lab_run *run)
{
    const engine_ops *ops = run->context->ops;
    TRY(ops->launch(run->context->engine, &run->runnable, &run->buffer[0], &run->buffer[1], &run->buffer[2]));
    return ops->wait(run->context->engine, &run->runnable);
}

/* Rows of C in a panel, so that copying A and C costs little beside the work; 0: too little is copied to divide it.
 * Panels are of whole tiles. */
static int64_t panel_rows(const tw_problem *p)
{
    const int64_t least_bytes = (int64_t)64 << 20, tiles = 256;
    if (p->op_a != TW_N || p->k == 0) return 0;
    int64_t bytes = p->m * (p->lda * dtype_find(p->dtype)->lab.bytes + p->ldc * dtype_find(p->dtype_c)->lab.bytes);
    int64_t rows = round_up(ceil_div(p->m, MOST_PANELS), tiles);
    return bytes >= least_bytes && rows < p->m ? rows : 0;
}

/* Plans of a panel and of the last one, by the kernel of the whole. False: they would be built otherwise. */
static bool plan_panels(const tw_lab_run *run, int64_t rows, plan part[2])
{
    const plan *whole = &run->plan;
    const tw_lab_choice same = {.kernel = whole->row->lab.name};
    device_facts facts = run->context->facts;
    facts.clusters = whole->shares.meets;
    for (int i = 0; i < 2; i++) {
        tw_problem p = whole->problem;
        p.m = i == 0 ? rows : p.m - (ceil_div(p.m, rows) - 1) * rows;
        if (plan_find(&p, &facts, &same, &part[i]) != TW_OK || strcmp(part[i].options, whole->options) != 0)
            return false;
    }
    return true;
}

/* run->plan is made, and not all of what it needs is on the device before it begins. */
static tw_status run_in_panels(tw_lab_run *run, int64_t rows, const plan part[2], const tw_problem *h, const void *a,
                               const void *b, void *c)
{
    const engine_ops *ops = run->context->ops;
    run->overlaps = true;
    TRY(run_begin(run, h, a, b, c));
    const panels work = {.part = &part[0],
                         .last = &part[1],
                         .count = (int)ceil_div(h->m, rows),
                         .rows = rows,
                         .operands = run->operand,
                         .buffers = run->buffer,
                         .brings_c = run->plan.problem.beta != 0};
    tw_status status = ops->overlap(run->context->engine, &run->runnable, &work);
    run_end(run);
    return status;
}

/* Run what run->plan says of operands that lie on the host as `h` says. */
static tw_status run_whole(tw_lab_run *run, const tw_problem *h, const void *a, const void *b, void *c)
{
    const tw_problem *p = &run->plan.problem;
    const engine_ops *ops = run->context->ops;
    int64_t rows = ops->overlap != NULL && p->place_c == TW_HOST ? panel_rows(p) : 0;
    if (rows > 0) {
        plan part[2];
        if (plan_panels(run, rows, part)) return run_in_panels(run, rows, part, h, a, b, c);
    }
    TRY(run_begin(run, h, a, b, c));
    tw_status status = run_once(run);
    if (status == TW_OK && p->place_c == TW_HOST)
        status = ops->download(run->context->engine, &run->buffer[2], &run->operand[2]);
    run_end(run);
    return status;
}

static tw_status fail_without(size_t workspace_bytes)
{
    return fail(TW_NO_MEMORY, "no device memory for %zu bytes of workspace, and no kernel that does without",
                workspace_bytes);
}

/* There was no device memory for a workspace beside the operands: is there a kernel that does without? */
static tw_status run_without(tw_lab_run *run, const tw_problem *h, const void *a, const void *b, void *c)
{
    device_facts facts = run->context->facts;
    tw_problem p = run->plan.problem;
    size_t wanted = run->plan.workspace_bytes;
    facts.no_workspace = true;
    if (plan_find(&p, &facts, NULL, &run->plan) != TW_OK) return fail_without(wanted);
    run->overlaps = false;
    return run_whole(run, h, a, b, c);
}

static tw_status gemm_checked(tw_context *context, const tw_problem *problem, const void *a, const void *b, void *c)
{
    tw_problem host, p;
    tw_lab_run run; /* plan_find() and run_begin() fill in the rest: clearing it is a fifteenth of a tiny product */
    TRY(settle(&context, NULL, problem, a, b, c, &host, &p));
    if (p.m == 0 || p.n == 0) return TW_OK;
    run.context = context, run.whole = run.brings_c = run.overlaps = false;
    TRY(plan_find(&p, &context->facts, NULL, &run.plan));
    tw_status status = run_whole(&run, &host, a, b, c);
    return status == TW_NO_MEMORY && run.plan.workspace_bytes > 0 && context->facts.copies && !run.runnable.launched
               ? run_without(&run, &host, a, b, c)
               : status;
}

/* A small product of the shape that this thread computed last, with operands that are read and can be: its checks and
 * its plan are made. False: not so. */
static bool computed_again(tw_context *context, const tw_problem *problem, const void *a, const void *b, void *c)
{
    if (context == NULL) context = atomic_load_explicit(&process_default, memory_order_acquire);
    const plan *plan = context != NULL ? plan_recall(problem, context->facts.context) : NULL;
    if (plan == NULL || a == NULL || b == NULL || c == NULL) return false;
    bool wide = problem->dtype == TW_F64;
    double alpha = wide ? problem->alpha : (double)(float)problem->alpha,
           beta = wide ? problem->beta : (double)(float)problem->beta;
    if (alpha == 0 || (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) & (wide ? 7 : 3)) != 0) return false;
    context->ops->compute(plan, alpha, beta, a, b, c);
    return true;
}

/* Not inlined, so that a product that is computed again does not pay for its locals. */
__attribute__((noinline)) static tw_status gemm_anew(tw_context *context, const tw_problem *problem, const void *a,
                                                     const void *b, void *c)
{
    HOLD_CANCELLATION;
    return gemm_checked(context, problem, a, b, c);
}

tw_status tw_gemm(tw_context *context, const tw_problem *problem, const void *a, const void *b, void *c)
{
    if (computed_again(context, problem, a, b, c)) return TW_OK; /* nothing there is a cancellation point */
    return gemm_anew(context, problem, a, b, c);
}

/* Do operands lie where streams can use them, on an engine that has some? */
static tw_status check_streams(const tw_context *context, const tw_problem *p)
{
    if (context->ops->enqueue == NULL)
        return fail(TW_BAD_ARGUMENT,
                    "the context is of the %s engine, which has no streams: expected one of the cuda engine",
                    context->ops->name);
    if (p->place_c != TW_DEVICE)
        return fail(TW_BAD_ARGUMENT, "place_a, place_b and place_c are TW_HOST, expected TW_DEVICE: only operands in "
                                     "device memory wait for a stream");
    return TW_OK;
}

static tw_status check_launch(const tw_launch *launch)
{
    if (launch->size != sizeof *launch)
        return fail(TW_BAD_ARGUMENT, "launch.size is %u, expected %zu", launch->size, sizeof *launch);
    if (launch->workspace_bytes < 0 || (launch->workspace == NULL) != (launch->workspace_bytes == 0))
        return fail(TW_BAD_ARGUMENT, "launch.workspace_bytes is %lld and launch.workspace is %s",
                    (long long)launch->workspace_bytes, launch->workspace ? "given" : "NULL");
    if ((uintptr_t)launch->workspace % 256 != 0)
        return fail(TW_BAD_ARGUMENT, "launch.workspace is not aligned to 256 bytes");
    return TW_OK;
}

static tw_status enqueue(tw_context *context, const plan *made, const tw_batch *batch, const tw_launch *launch,
                         const void *a, const void *b, void *c)
{
    if ((uint64_t)launch->workspace_bytes < made->workspace_bytes)
        return fail(TW_BAD_ARGUMENT, "launch.workspace_bytes is %lld, expected at least %zu",
                    (long long)launch->workspace_bytes, made->workspace_bytes);
    const buffer operands[3] = {on_device(a), on_device(b), on_device(c)};
    return context->ops->enqueue(context->engine, made, batch, launch, &operands[0], &operands[1], &operands[2]);
}

tw_status tw_enqueue(tw_context *context, const tw_problem *problem, const void *a, const void *b, void *c,
                     const tw_launch *launch)
{
    HOLD_CANCELLATION;
    static const tw_launch plain = {.size = sizeof plain};
    tw_problem host, p;
    plan made;
    if (launch == NULL) launch = &plain;
    TRY(settle(&context, NULL, problem, a, b, c, &host, &p));
    TRY(check_streams(context, &p));
    TRY(check_launch(launch));
    if (p.m == 0 || p.n == 0) return TW_OK;
    device_facts facts = context->facts;
    facts.no_workspace = launch->workspace == NULL;
    TRY(plan_find(&p, &facts, NULL, &made));
    return enqueue(context, &made, NULL, launch, a, b, c);
}

/* ---- batches ---- */

static uint32_t common_align(uint32_t align, int64_t stride, tw_dtype dtype)
{
    uint64_t bits = (uint64_t)stride * (uint64_t)dtype_find(dtype)->lab.bytes | align;
    return (uint32_t)(bits & (~bits + 1));
}

/* settle() for a batch: what is planned is an item, aligned as all of them are. seen: a, b and c are the caller's. */
static tw_status settle_batch(tw_context **context, const tw_problem *user, const tw_batch *batch, bool seen,
                              const void *a, const void *b, const void *c, tw_problem *p)
{
    tw_problem host;
    if (batch == NULL) return fail(TW_BAD_ARGUMENT, "batch is NULL");
    if (batch->size != sizeof *batch)
        return fail(TW_BAD_ARGUMENT, "batch.size is %u, expected %zu", batch->size, sizeof *batch);
    bool first = seen && !batch->pointers && batch->count > 0; /* a, b and c are the first item's */
    TRY(first ? settle(context, NULL, user, a, b, c, &host, p) : settle_unseen(context, NULL, user, &host, p));
    TRY(batch_check(batch, &host));
    if (batch->pointers && seen) TRY(batch_check_addresses(batch, &host, a, b, c));
    p->align_a = common_align(p->align_a, batch->stride_a, p->dtype);
    p->align_b = common_align(p->align_b, batch->stride_b, p->dtype);
    p->align_c = common_align(p->align_c, batch->stride_c, p->dtype_c);
    return TW_OK;
}

/* Operands are copied to where they are computed: one item after the other. */
static tw_status gemm_each(tw_context *context, const tw_problem *problem, const tw_problem *p, const tw_batch *batch,
                           const void *a, const void *b, void *c)
{
    size_t bytes = (size_t)dtype_find(p->dtype)->lab.bytes, c_bytes = (size_t)dtype_find(p->dtype_c)->lab.bytes;
    for (int64_t i = 0; i < batch->count; i++)
        TRY(gemm_checked(context, problem, batch_item(batch, a, batch->stride_a, bytes, i),
                         batch_item(batch, b, batch->stride_b, bytes, i),
                         batch_item(batch, c, batch->stride_c, c_bytes, i)));
    return TW_OK;
}

static buffer operand_at(const tw_problem *p, const void *address)
{
    return p->place_c == TW_DEVICE ? on_device(address) : (buffer){.host = (void *)(uintptr_t)address};
}

/* *wanted: bytes of device memory for a workspace that there are none of; nothing was launched. */
static tw_status gemm_planned(tw_context *context, const plan *made, const tw_batch *batch, const void *a,
                              const void *b, void *c, size_t *wanted)
{
    const engine_ops *ops = context->ops;
    const tw_problem *p = &made->problem;
    runnable r;
    TRY(ops->prepare(context->engine, made, &r));
    r.batch = batch;
    const buffer operands[3] = {operand_at(p, a), operand_at(p, b), operand_at(p, c)};
    tw_status status = ops->launch(context->engine, &r, &operands[0], &operands[1], &operands[2]);
    if (status == TW_OK) status = ops->wait(context->engine, &r);
    if (status == TW_NO_MEMORY && context->facts.copies && !r.launched) *wanted = made->workspace_bytes;
    ops->drop(context->engine, &r);
    return status;
}

/* Operands are computed where they lie; without device memory for a workspace by kernels that do without, if there
 * are. */
static tw_status gemm_all(tw_context *context, const tw_problem *p, const tw_batch *batch, const void *a, const void *b,
                          void *c)
{
    device_facts facts = context->facts;
    plan made;
    size_t wanted = 0;
    TRY(plan_find_batch(p, batch, &facts, &made));
    tw_status status = gemm_planned(context, &made, batch, a, b, c, &wanted);
    if (wanted == 0) return status;
    facts.no_workspace = true;
    if (plan_find_batch(p, batch, &facts, &made) != TW_OK) return fail_without(wanted);
    return gemm_planned(context, &made, batch, a, b, c, &wanted);
}

tw_status tw_gemm_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch, const void *a,
                          const void *b, void *c)
{
    HOLD_CANCELLATION;
    tw_problem p;
    TRY(settle_batch(&context, problem, batch, true, a, b, c, &p));
    if (batch->count == 0 || p.m == 0 || p.n == 0) return TW_OK;
    return context->facts.copies && p.place_c == TW_HOST ? gemm_each(context, problem, &p, batch, a, b, c)
                                                         : gemm_all(context, &p, batch, a, b, c);
}

tw_status tw_enqueue_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch, const void *a,
                             const void *b, void *c, const tw_launch *launch)
{
    HOLD_CANCELLATION;
    static const tw_launch plain = {.size = sizeof plain};
    tw_problem p;
    plan made;
    if (launch == NULL) launch = &plain;
    TRY(settle_batch(&context, problem, batch, true, a, b, c, &p));
    TRY(check_streams(context, &p));
    TRY(check_launch(launch));
    if (batch->count == 0 || p.m == 0 || p.n == 0) return TW_OK;
    device_facts facts = context->facts;
    facts.no_workspace = launch->workspace == NULL;
    TRY(plan_find_batch(&p, batch, &facts, &made));
    facts.no_workspace = true;
    if ((uint64_t)launch->workspace_bytes < made.workspace_bytes) TRY(plan_find_batch(&p, batch, &facts, &made));
    return enqueue(context, &made, batch, launch, a, b, c);
}

/* ---- kernels built before they are needed ---- */

tw_status tw_workspace_bytes(tw_context *context, const tw_problem *problem, int64_t *bytes)
{
    HOLD_CANCELLATION;
    tw_problem host, p;
    plan made = {.workspace_bytes = 0};
    if (bytes == NULL) return fail(TW_BAD_ARGUMENT, "bytes is NULL");
    TRY(settle_unseen(&context, NULL, problem, &host, &p));
    TRY(check_streams(context, &p));
    if (p.m > 0 && p.n > 0) TRY(plan_find(&p, &context->facts, NULL, &made));
    *bytes = (int64_t)made.workspace_bytes;
    return TW_OK;
}

tw_status tw_workspace_bytes_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch,
                                     int64_t *bytes)
{
    HOLD_CANCELLATION;
    tw_problem p;
    plan made = {.workspace_bytes = 0};
    if (bytes == NULL) return fail(TW_BAD_ARGUMENT, "bytes is NULL");
    TRY(settle_batch(&context, problem, batch, false, NULL, NULL, NULL, &p));
    TRY(check_streams(context, &p));
    if (batch->count > 0 && p.m > 0 && p.n > 0) TRY(plan_find_batch(&p, batch, &context->facts, &made));
    *bytes = (int64_t)made.workspace_bytes;
    return TW_OK;
}

static tw_status prepare_as(tw_context *context, const tw_problem *p, const tw_batch *batch, bool no_workspace)
{
    device_facts facts = context->facts;
    plan made;
    runnable ready;
    facts.no_workspace = no_workspace;
    TRY(batch != NULL ? plan_find_batch(p, batch, &facts, &made) : plan_find(p, &facts, NULL, &made));
    TRY(context->ops->prepare(context->engine, &made, &ready));
    context->ops->drop(context->engine, &ready);
    return TW_OK;
}

static tw_status prepare(tw_context *context, const tw_problem *p, const tw_batch *batch)
{
    if (p->m == 0 || p->n == 0) return TW_OK;
    TRY(prepare_as(context, p, batch, false));
    tw_status bare = p->place_c == TW_DEVICE ? prepare_as(context, p, batch, true) : TW_OK;
    return bare == TW_NO_KERNEL ? TW_OK : bare; /* then tw_enqueue() wants a workspace for it, and says so */
}

tw_status tw_prepare(tw_context *context, const tw_problem *problem)
{
    HOLD_CANCELLATION;
    tw_problem host, p;
    TRY(settle_unseen(&context, NULL, problem, &host, &p));
    return prepare(context, &p, NULL);
}

tw_status tw_prepare_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch)
{
    HOLD_CANCELLATION;
    tw_problem p;
    TRY(settle_batch(&context, problem, batch, false, NULL, NULL, NULL, &p));
    if (batch->count == 0) return TW_OK;
    bool each = context->facts.copies && p.place_c == TW_HOST; /* one item after the other */
    return prepare(context, &p, each ? NULL : batch);
}

static tw_status gemm_simple(tw_context *context, tw_dtype dtype, tw_op op_a, tw_op op_b, int64_t m, int64_t n,
                             int64_t k, double alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
                             double beta, void *c, int64_t ldc)
{
    const tw_problem p = {.size = sizeof p,
                          .dtype = dtype,
                          .op_a = op_a,
                          .op_b = op_b,
                          .m = m,
                          .n = n,
                          .k = k,
                          .lda = lda,
                          .ldb = ldb,
                          .ldc = ldc,
                          .alpha = alpha,
                          .beta = beta};
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

/* ---- the lab's calls: the same three steps, each by itself ---- */

int tw_lab_fits(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem, char *reason,
                int reason_bytes)
{
    HOLD_CANCELLATION;
    const kernel_row *row = choice && choice->kernel ? kernel_named(choice->kernel) : NULL;
    if (row == NULL) {
        fail(TW_BAD_ARGUMENT, "no kernel is named %s", choice && choice->kernel ? choice->kernel : "NULL");
        return -1;
    }
    if (problem == NULL || dtype_find(problem->dtype) == NULL) {
        fail(TW_BAD_ARGUMENT, "the problem is NULL or of no known dtype");
        return -1;
    }
    if (resolve(&context) != TW_OK) return -1;
    tw_problem p = *problem;
    if (p.dtype_c == 0) p.dtype_c = dtype_find(p.dtype)->result;
    if (p.align_a == 0) p.align_a = 256; /* not known yet: suppose the best */
    if (p.align_b == 0) p.align_b = 256;
    if (p.align_c == 0) p.align_c = 256;
    return kernel_fits(row, &p, &context->facts, choice->tile, reason, reason_bytes > 0 ? (size_t)reason_bytes : 0);
}

tw_status tw_lab_plan_of(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem, tw_lab_plan *out)
{
    HOLD_CANCELLATION;
    tw_problem host, p;
    plan made;
    if (out == NULL) return fail(TW_BAD_ARGUMENT, "plan is NULL");
    bool batched = choice != NULL && choice->batch != NULL;
    TRY(batched ? settle_batch(&context, problem, choice->batch, false, NULL, NULL, NULL, &p)
                : settle_unseen(&context, choice, problem, &host, &p));
    TRY(batched ? plan_find_batch(&p, choice->batch, &context->facts, &made)
                : plan_find(&p, &context->facts, choice, &made));
    *out = (tw_lab_plan){.kernel = &made.row->lab,
                         .tile = made.tile,
                         .threads = made.threads,
                         .workspace_bytes = (int64_t)made.workspace_bytes};
    out->block_threads = made.threads_x * made.threads_y;
    bool loops = made.row->micro != NULL, gpu = made.row->gpu.entry != NULL;
    int64_t edge = max_i64(made.tile, 1);
    out->block_m = loops ? made.strip_m : gpu && made.row->lab.tile_m ? made.row->lab.tile_m : edge;
    out->block_n = loops ? made.strip_n : gpu && made.row->lab.tile_n ? made.row->lab.tile_n : edge;
    out->block_k = loops ? made.kc : gpu && made.row->lab.tile_k ? made.row->lab.tile_k : edge;
    plan_text(&made, out->text, sizeof out->text);
    if (!batched) plan_reason(&p, &context->facts, out->reason, sizeof out->reason);
    return TW_OK;
}

tw_status tw_lab_run_open(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem, const void *a,
                          const void *b, void *c, tw_lab_run **run)
{
    HOLD_CANCELLATION;
    if (run == NULL) return fail(TW_BAD_ARGUMENT, "run is NULL");
    *run = NULL;
    tw_problem host, p;
    TRY(settle(&context, choice, problem, a, b, c, &host, &p));
    tw_lab_run *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for a run of %zu bytes", sizeof *made);
    made->context = context;
    made->whole = choice != NULL && choice->kernel != NULL;
    made->brings_c = true;
    tw_status status = plan_find(&p, &context->facts, choice, &made->plan);
    if (status == TW_OK) status = run_begin(made, &host, a, b, c);
    if (status != TW_OK) {
        free(made);
        return status;
    }
    made->runnable.timed = true;
    *run = made;
    return TW_OK;
}

tw_status tw_lab_run_once(tw_lab_run *run, double *seconds)
{
    HOLD_CANCELLATION;
    if (run == NULL) return fail(TW_BAD_ARGUMENT, "run is NULL");
    TRY(run_once(run));
    if (seconds != NULL) *seconds = run->runnable.seconds;
    return TW_OK;
}

tw_status tw_lab_run_fetch(tw_lab_run *run, void *c)
{
    HOLD_CANCELLATION;
    if (run == NULL || c == NULL) return fail(TW_BAD_ARGUMENT, "run or c is NULL");
    operand to = run->operand[2];
    to.host = c;
    return run->context->ops->download(run->context->engine, &run->buffer[2], &to);
}

void tw_lab_run_close(tw_lab_run *run)
{
    HOLD_CANCELLATION;
    if (run == NULL) return;
    run_end(run);
    free(run);
}

double tw_lab_run_prepare_s(const tw_lab_run *run) { return run != NULL ? run->prepare_s : 0; }

void tw_lab_run_resources(const tw_lab_run *run, tw_lab_resources *out)
{
    HOLD_CANCELLATION;
    *out = (tw_lab_resources){-1, -1, -1, -1};
    if (run != NULL && run->context->ops->resources != NULL)
        run->context->ops->resources(run->context->engine, &run->runnable, out);
}

/* A device that takes every CUDA row of its compute capability: for compiling without one. */
static device_facts any_cuda(int sm)
{
    return (device_facts){.engine = "cuda",
                          .threads = 1,
                          .copies = true,
                          .addresses = true,
                          .sm = sm,
                          .most_threads = 1024,
                          .multiprocessors = 1,
                          .tensor_maps = sm >= 90,
                          .local_bytes = 227 << 10,
                          .largest_bytes = INT64_MAX};
}

tw_status tw_lab_code_make(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem, int sm, int ptx,
                           tw_lab_code *out)
{
    HOLD_CANCELLATION;
    tw_problem host, p;
    plan made;
    if (out == NULL) return fail(TW_BAD_ARGUMENT, "code is NULL");
    *out = (tw_lab_code){.size = 0};
    if (context != NULL) {
        TRY(settle_unseen(&context, choice, problem, &host, &p));
        TRY(plan_find(&p, &context->facts, choice, &made));
        if (context->ops->code == NULL)
            return fail(TW_NO_KERNEL, "%s is not compiled at run time: its code is the library's own",
                        made.row->lab.name);
        return context->ops->code(context->engine, &made, sm, ptx != 0, out);
    }
    device_facts facts = any_cuda(sm);
    if (choice == NULL || choice->kernel == NULL || problem == NULL)
        return fail(TW_BAD_ARGUMENT, "without a device, a kernel and a problem must be named");
    TRY(problem_load(problem, stand_in(problem->align_a), stand_in(problem->align_b), stand_in(problem->align_c), &p));
    TRY(plan_find(&p, &facts, choice, &made));
    return cuda_engine.code(NULL, &made, sm, ptx != 0, out);
}

void tw_lab_code_free(tw_lab_code *code)
{
    if (code != NULL) free(code->bytes);
    if (code != NULL) *code = (tw_lab_code){.size = 0};
}

tw_status tw_lab_open_despite(tw_context **context)
{
    HOLD_CANCELLATION;
    if (context == NULL) return fail(TW_BAD_ARGUMENT, "context is NULL");
    return open_context(NULL, true, context);
}

const char *tw_lab_engine_at(int index) { return index >= 0 && index < ENGINE_COUNT ? engines[index]->name : NULL; }

int tw_lab_engine_state(const char *engine, char *text, int text_bytes)
{
    HOLD_CANCELLATION;
    const engine_ops *ops = engine != NULL ? engine_named(engine) : NULL;
    int32_t count = 0;
    if (ops == NULL) return -1;
    tw_status status = ops->devices(NULL, 0, &count);
    if (text == NULL || text_bytes < 1) return status == TW_OK;
    if (status != TW_OK)
        snprintf(text, (size_t)text_bytes, "%s", tw_error_text());
    else
        ops->state(text, (size_t)text_bytes);
    return status == TW_OK;
}

tw_status tw_lab_engine_devices(const char *engine, tw_device *devices, int32_t capacity, int32_t *count)
{
    HOLD_CANCELLATION;
    const engine_ops *ops = engine != NULL ? engine_named(engine) : NULL;
    if (ops == NULL) return fail(TW_NO_DEVICE, "there is no engine named %s", engine != NULL ? engine : "(NULL)");
    TRY(check_room(devices, capacity, count));
    return ops->devices(devices, capacity, count);
}

int tw_lab_compiler_state(const char *engine, char *text, int text_bytes)
{
    HOLD_CANCELLATION;
    const engine_ops *ops = engine != NULL ? engine_named(engine) : NULL;
    if (ops == NULL || ops->compiler == NULL || text == NULL || text_bytes < 1) return -1;
    tw_status status = ops->compiler(text, (size_t)text_bytes);
    if (status != TW_OK) snprintf(text, (size_t)text_bytes, "%s", tw_error_text());
    return status == TW_OK;
}

tw_status tw_lab_peak_flops(tw_context *context, tw_dtype dtype, int threads, int tries, double *flops_per_s)
{
    HOLD_CANCELLATION;
    if (flops_per_s == NULL || threads < 1 || threads > MOST_THREADS || tries < 1 || dtype_find(dtype) == NULL)
        return fail(TW_BAD_ARGUMENT,
                    "dtype %d, threads %d, tries %d: expected a dtype, 1 to %d threads and at least 1 try", (int)dtype,
                    threads, tries, MOST_THREADS);
    TRY(resolve(&context));
    return context->ops->peak_flops(context->engine, dtype, threads, tries, flops_per_s);
}

tw_status tw_lab_bandwidth(tw_context *context, int64_t bytes, int threads, int tries, double *bytes_per_s)
{
    HOLD_CANCELLATION;
    if (bytes_per_s == NULL || threads < 1 || threads > MOST_THREADS || tries < 1 || bytes < 4096)
        return fail(
            TW_BAD_ARGUMENT,
            "bytes %lld, threads %d, tries %d: expected at least 4096 bytes, 1 to %d threads and at least 1 try",
            (long long)bytes, threads, tries, MOST_THREADS);
    TRY(resolve(&context));
    return context->ops->bandwidth(context->engine, bytes, threads, tries, bytes_per_s);
}

tw_status tw_lab_shared_bandwidth(tw_context *context, int tries, double *bytes_per_s)
{
    HOLD_CANCELLATION;
    if (bytes_per_s == NULL || tries < 1)
        return fail(TW_BAD_ARGUMENT, "tries %d: expected at least 1, and where to put the result", tries);
    TRY(resolve(&context));
    if (context->ops->shared_bandwidth == NULL)
        return fail(TW_NO_KERNEL, "the %s engine has no memory that blocks share", context->ops->name);
    return context->ops->shared_bandwidth(context->engine, tries, bytes_per_s);
}
