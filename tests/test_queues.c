/* test_queues.c - products on OpenCL queues of the caller's, of buffers of the caller's: queues that keep their order
 * and queues that don't, offsets, sub-buffers, events, workspaces, batches, threads, and what is refused. Bytes that
 * nobody may touch lie around each operand and each workspace. Values are small integers, whose products and sums are
 * exact. On the first OpenCL device; skipped, and counted, where there is none. */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "element.h"
#include "placed.h"
#include "support/opencl_caller.h"
#include "support/tap.h"
#include "tilewright_lab.h"

enum { BAND = 512, OPERANDS = 3, DEADLINE_S = 300 };

/* How the caller makes its queue. */
typedef enum order { IN_ORDER = 0, OUT_OF_ORDER = CL_QUEUE_OUT_OF_ORDER } order;

static caller me;
static cl_device device;
static cl_context ours;     /* the caller's, which the library works in */
static tw_context *context; /* of it; NULL: there is no device. In the covering set PoCL does not optimise */
static size_t base_align;   /* of sub-buffers, in bytes */
static char refusal[300];   /* why there is none */

static _Thread_local char why[1024]; /* the last thing that was wrong */

static bool broken(const char *call, cl_int error)
{
    snprintf(why, sizeof why, "%s failed with %s (%d)", call, cl_error_name(error), (int)error);
    return false;
}

static bool refused(const char *call)
{
    snprintf(why, sizeof why, "%s: %s", call, tw_error_text());
    return false;
}

#define CL(call)                                                                                                       \
    do {                                                                                                               \
        cl_int error_ = (call);                                                                                        \
        if (error_ != CL_SUCCESS) return broken(#call, error_);                                                        \
    } while (0)

static bool queue_case(const char *name)
{
    if (!tap_case("%s", name)) return false;
    snprintf(why, sizeof why, "no reason was given");
    if (context == NULL) tap_skip(refusal);
    alarm(DEADLINE_S); /* a call that waits for what never comes is a failure */
    return context != NULL;
}

static void verdict(bool passed) { tap_result(passed, "%s", why); }

static cl_queue new_queue(cl_bitfield properties)
{
    cl_int error;
    cl_queue queue = me.cl->clCreateCommandQueue(ours, device, properties, &error);
    if (queue == NULL) broken("clCreateCommandQueue", error);
    return queue;
}

static bool wait_for(cl_queue queue)
{
    CL(me.cl->clFinish(queue));
    return true;
}

/* ---- memory between bands that nobody may touch ---- */

/* A buffer of which the caller shows the library all, or a part of it. */
typedef struct banded {
    cl_memory whole, shown;
    size_t bytes, first; /* of the whole; of what may be used within it */
    unsigned char *image;
} banded;

static void banded_free(banded *b)
{
    if (b->shown != NULL && b->shown != b->whole) me.cl->clReleaseMemObject(b->shown);
    if (b->whole != NULL) me.cl->clReleaseMemObject(b->whole);
    free(b->image);
    *b = (banded){0};
}

/* Room for `used` bytes from byte `first` on, all bytes set. part: shown is a sub-buffer, which begins at `first`. */
static bool banded_make(banded *b, size_t first, size_t used, bool part)
{
    *b = (banded){.bytes = first + used + BAND, .first = first};
    b->image = malloc(b->bytes);
    if (b->image == NULL) return false;
    memset(b->image, 0xff, b->bytes);
    cl_int error;
    b->whole = b->shown = me.cl->clCreateBuffer(ours, CL_MEM_READ_WRITE, b->bytes, NULL, &error);
    if (b->whole == NULL) return broken("clCreateBuffer", error);
    if (!part) return true;
    const caller_region region = {first, used};
    b->shown = me.clCreateSubBuffer(b->whole, 0, CALLER_BUFFER_CREATE_TYPE_REGION, &region, &error);
    return b->shown != NULL || broken("clCreateSubBuffer", error);
}

static bool banded_write(const banded *b, cl_queue queue)
{
    CL(me.cl->clEnqueueWriteBuffer(queue, b->whole, 1, 0, b->bytes, b->image, 0, NULL, NULL));
    return true;
}

/* Are all bytes as the image says, but for `used` of a workspace (0: of none)? */
static bool as_expected(const banded *b, cl_queue queue, size_t used, const char *name)
{
    unsigned char *found = malloc(b->bytes);
    bool same = found != NULL;
    cl_int error = same ? me.cl->clEnqueueReadBuffer(queue, b->whole, 1, 0, b->bytes, found, 0, NULL, NULL) : 0;
    if (error != CL_SUCCESS) same = broken("clEnqueueReadBuffer", error);
    for (size_t i = 0; same && i < b->bytes; i++) {
        if (found[i] == b->image[i] || (i >= b->first && i < b->first + used)) continue;
        snprintf(why, sizeof why, "byte %zu of %s, which begins at %zu of %zu, is %02x, expected %02x", i, name,
                 b->first, b->bytes, found[i], b->image[i]);
        same = false;
    }
    free(found);
    return same;
}

/* ---- what an epilogue reads ---- */

enum { BOUND_EDGE = 64 }; /* of products that have one */

static double bias_at(int64_t j) { return (double)(j % 5); }
static double grid_at(int64_t i, int64_t j) { return (double)((3 * i + j) % 4); }

/* The epilogue "acc + 2 * bias[j] - grid[i, j] * s" of two buffers and a number. */
typedef struct bound {
    cl_memory bias, grid;
    tw_epilogue *made;
} bound;

static void bound_free(bound *b)
{
    if (b->bias != NULL) me.cl->clReleaseMemObject(b->bias);
    if (b->grid != NULL) me.cl->clReleaseMemObject(b->grid);
    tw_epilogue_free(b->made);
}

static bool bound_make(bound *b, int64_t bias_count, int64_t bias_stride)
{
    float bias[2 * BOUND_EDGE], grid[BOUND_EDGE * BOUND_EDGE];
    cl_int error;
    for (int64_t q = 0; q < 2 * BOUND_EDGE; q++) bias[q] = (float)bias_at(q / 2);
    for (int64_t q = 0; q < (int64_t)(sizeof grid / sizeof *grid); q++)
        grid[q] = (float)grid_at(q / BOUND_EDGE, q % BOUND_EDGE);
    const cl_bitfield how = CL_MEM_READ_WRITE | CALLER_MEM_COPY_HOST_PTR;
    *b = (bound){.bias = me.cl->clCreateBuffer(ours, how, (size_t)bias_count * sizeof *bias, bias, &error),
                 .grid = me.cl->clCreateBuffer(ours, how, sizeof grid, grid, &error)};
    if (b->bias == NULL || b->grid == NULL) return broken("clCreateBuffer", error);
    const tw_binding list[] = {
        {.size = sizeof *list, .dtype = TW_F32, .name = "bias", .at = b->bias, .stride = bias_stride},
        {.size = sizeof *list, .dtype = TW_F32, .name = "grid", .at = b->grid, .ld = BOUND_EDGE},
        {.size = sizeof *list, .name = "s", .value = 2}};
    return tw_epilogue_make("acc + 2 * bias[j] - grid[i, j] * s", list, 3, &b->made) == TW_OK ||
           refused("tw_epilogue_make");
}

static double made_at(const tw_problem *p, int64_t i, int64_t j, double acc)
{
    return p->epilogue == NULL ? acc : acc + 2 * bias_at(j) - 2 * grid_at(i, j);
}

/* ---- operands ---- */

/* A problem, how many items it has, and where its operands begin. */
typedef struct task {
    tw_problem problem;
    int64_t items;     /* 0: no batch */
    bool shares_b;     /* one B for all items */
    bool parts;        /* operands are shown as sub-buffers */
    int64_t offset[3]; /* elements from the start of what is shown */
    bool has_workspace;
    const char *kernel; /* forced past the planner; NULL: none is */
    bool together;      /* its items in one launch */
} task;

typedef struct operands {
    task t;
    tw_batch batch;
    banded x[OPERANDS], work;
    tw_launch launch;
} operands;

static void operands_free(operands *o)
{
    for (int i = 0; i < OPERANDS; i++) banded_free(&o->x[i]);
    banded_free(&o->work);
}

static int64_t stored_rows(const tw_problem *p, int i)
{
    return i == 0 ? (p->op_a == TW_N ? p->m : p->k) : i == 1 ? (p->op_b == TW_N ? p->k : p->n) : p->m;
}

static int64_t stored_cols(const tw_problem *p, int i)
{
    return i == 0 ? (p->op_a == TW_N ? p->k : p->m) : i == 1 ? (p->op_b == TW_N ? p->n : p->k) : p->n;
}

static int64_t ld_of(const tw_problem *p, int i) { return i == 0 ? p->lda : i == 1 ? p->ldb : p->ldc; }

static int64_t stride_of(const operands *o, int i)
{
    return i == 0 ? o->batch.stride_a : i == 1 ? o->batch.stride_b : o->batch.stride_c;
}

static tw_dtype dtype_of(const tw_problem *p, int i)
{
    return i == 2 ? (p->dtype_c != 0 ? p->dtype_c : element_of(p->dtype)->result) : p->dtype;
}

/* An element of the operand's image. */
static unsigned char *image_of(const operands *o, int i)
{
    return o->x[i].image + o->x[i].first +
           (size_t)(o->t.offset[i] * tw_lab_dtype_of(dtype_of(&o->t.problem, i))->bytes);
}

static double load(const operands *o, int i, int64_t at)
{
    double value;
    element_of(dtype_of(&o->t.problem, i))->load(image_of(o, i), at, 1, 1, &value, 1);
    return value;
}

static void store(operands *o, int i, int64_t at, double value)
{
    element_of(dtype_of(&o->t.problem, i))->store(image_of(o, i), at, 1, &value);
}

/* Small integers; of C not 0, whose sign a scaling may change, and none where it is not read. */
static void fill(operands *o, int i)
{
    const tw_problem *p = &o->t.problem;
    const int64_t items = stride_of(o, i) > 0 ? o->batch.count : 1;
    if (i == 2 && p->beta == 0) return;
    for (int64_t item = 0; item < items; item++)
        for (int64_t row = 0; row < stored_rows(p, i); row++)
            for (int64_t col = 0; col < stored_cols(p, i); col++)
                store(o, i, item * stride_of(o, i) + row * ld_of(p, i) + col,
                      (double)((row * 5 + col * 3 + row * col + i + item) % 7 - (i < 2 ? 3 : -1)));
}

/* The forced kernel's plan, as tw_enqueue() would make it. */
static tw_status plan_forced(const operands *o, plan *made, buffer at[OPERANDS])
{
    const tw_lab_choice choice = {.kernel = o->t.kernel};
    tw_context *by = context;
    tw_problem host, p;
    TRY(api_settle_unseen(&by, &choice, &o->t.problem, &host, &p));
    TRY(placed_find(context, &p, &o->batch, o->t.offset, o->x[0].shown, o->x[1].shown, o->x[2].shown, at));
    device_facts facts = context->facts;
    facts.items = o->t.together ? o->t.items : 0;
    return plan_find(&p, &facts, &choice, made);
}

static tw_status forced_bytes(const operands *o, int64_t *bytes)
{
    plan made;
    buffer at[OPERANDS];
    TRY(plan_forced(o, &made, at));
    *bytes = (int64_t)made.workspace_bytes;
    return TW_OK;
}

static tw_status enqueue_forced(const operands *o)
{
    plan made;
    buffer at[OPERANDS];
    TRY(plan_forced(o, &made, at));
    return context->ops->enqueue(context->engine, &made, &o->batch, &o->launch, &at[0], &at[1], &at[2]);
}

static bool workspace_make(operands *o)
{
    const task *t = &o->t;
    tw_status status = t->kernel != NULL ? forced_bytes(o, &o->launch.workspace_bytes)
                       : t->items > 0
                           ? tw_workspace_bytes_batched(context, &t->problem, &o->batch, &o->launch.workspace_bytes)
                           : tw_workspace_bytes(context, &t->problem, &o->launch.workspace_bytes);
    if (status != TW_OK) return refused("tw_workspace_bytes");
    if (o->launch.workspace_bytes == 0) {
        snprintf(why, sizeof why, "the plan of %s divides nothing", t->kernel != NULL ? t->kernel : "this device");
        return t->kernel == NULL;
    }
    const size_t first = (BAND + base_align - 1) / base_align * base_align;
    if (!banded_make(&o->work, first, (size_t)o->launch.workspace_bytes, true)) return false;
    o->launch.workspace = o->work.shown;
    return true;
}

static bool operands_make(operands *o, const task *t, cl_queue queue)
{
    *o = (operands){.t = *t, .launch = {.size = sizeof o->launch, .queue = queue}};
    tw_problem *p = &o->t.problem;
    p->place_a = p->place_b = p->place_c = TW_DEVICE;
    o->batch = tw_batch_make(p, t->items > 0 ? t->items : 1);
    if (t->shares_b) o->batch.stride_b = 0;
    o->launch.offset_a = t->offset[0], o->launch.offset_b = t->offset[1], o->launch.offset_c = t->offset[2];
    for (int i = 0; i < OPERANDS; i++) {
        const size_t bytes = (size_t)tw_lab_dtype_of(dtype_of(p, i))->bytes,
                     elements = (size_t)(o->batch.count * stored_rows(p, i) * ld_of(p, i) + t->offset[i]),
                     first = t->parts ? (BAND + base_align - 1) / base_align * base_align : 0;
        if (!banded_make(&o->x[i], first, elements * bytes, t->parts)) return false;
        fill(o, i);
        if (!banded_write(&o->x[i], queue)) return false;
    }
    return (!t->has_workspace || workspace_make(o)) && (o->work.whole == NULL || banded_write(&o->work, queue));
}

static tw_status enqueue(operands *o)
{
    const tw_problem *p = &o->t.problem;
    void *a = o->x[0].shown, *b = o->x[1].shown, *c = o->x[2].shown;
    if (o->t.kernel != NULL) return enqueue_forced(o);
    return o->t.items > 0 ? tw_enqueue_batched(context, p, &o->batch, a, b, c, &o->launch)
                          : tw_enqueue(context, p, a, b, c, &o->launch);
}

static bool put(operands *o) { return enqueue(o) == TW_OK || refused("tw_enqueue"); }

/* The operand's elements from the first on, those between rows too. To be freed. */
static double *all_of(const operands *o, int i)
{
    const tw_problem *p = &o->t.problem;
    const int64_t rows = stored_rows(p, i), last = o->batch.count > 0 ? (o->batch.count - 1) * stride_of(o, i) : 0,
                  count = rows > 0 ? last + (rows - 1) * ld_of(p, i) + stored_cols(p, i) : 0;
    double *all = malloc((size_t)count * sizeof *all + 1);
    if (all == NULL) abort();
    element_of(dtype_of(p, i))->load(image_of(o, i), 0, 1, count, all, 1);
    return all;
}

/* Bring C's image to what it must be after the product. */
static void expect_product(operands *o)
{
    const tw_problem *p = &o->t.problem;
    double *a = all_of(o, 0), *b = all_of(o, 1);
    for (int64_t item = 0; item < o->batch.count; item++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                const int64_t a0 = item * stride_of(o, 0), b0 = item * stride_of(o, 1),
                              c = item * stride_of(o, 2) + i * p->ldc + j;
                double sum = 0;
                for (int64_t l = 0; l < p->k && p->alpha != 0; l++)
                    sum += a[a0 + (p->op_a == TW_N ? i * p->lda + l : l * p->lda + i)] *
                           b[b0 + (p->op_b == TW_N ? l * p->ldb + j : j * p->ldb + l)];
                store(o, 2, c,
                      made_at(p, i, j, p->beta != 0 ? p->alpha * sum + p->beta * load(o, 2, c) : p->alpha * sum));
            }
    free(a), free(b);
}

static bool all_as_expected(const operands *o, cl_queue queue)
{
    return as_expected(&o->x[0], queue, 0, "A") && as_expected(&o->x[1], queue, 0, "B") &&
           as_expected(&o->x[2], queue, 0, "C") &&
           (o->work.whole == NULL || as_expected(&o->work, queue, (size_t)o->launch.workspace_bytes, "the workspace"));
}

/* Wait by the event alone, as a caller without clFinish() would. */
static bool wait_event(void *event)
{
    cl_event one = event;
    if (one == NULL) {
        snprintf(why, sizeof why, "there is no event");
        return false;
    }
    cl_int error = me.cl->clWaitForEvents(1, &one);
    me.cl->clReleaseEvent(one);
    return error == CL_SUCCESS || broken("clWaitForEvents", error);
}

/* Twice, so that beta and what the workspace holds afterwards count. */
static bool run(const task *t, cl_queue queue)
{
    operands o;
    void *event = NULL;
    bool right = operands_make(&o, t, queue);
    o.launch.event = &event;
    for (int i = 0; right && i < 2; i++) {
        right = put(&o) && wait_event(event);
        if (right) expect_product(&o);
        right = right && all_as_expected(&o, queue);
    }
    wait_for(queue);
    operands_free(&o);
    return right;
}

static task task_of(tw_dtype dtype, tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k, int64_t pad)
{
    task t = {.problem = tw_problem_make(dtype, op_a, op_b, m, n, k)};
    t.problem.lda += pad, t.problem.ldb += pad, t.problem.ldc += pad;
    return t;
}

/* ---- products ---- */

static const char *order_text(cl_bitfield properties)
{
    return properties & CL_QUEUE_OUT_OF_ORDER ? "out of order" : "in order";
}

/* The covering set has all problems in the first type, and a quarter of them, another one for each, in the others. */
static void product_cases(size_t type, tw_dtype dtype, tw_dtype dtype_c)
{
    static const struct {
        tw_op op_a, op_b;
        int64_t m, n, k, pad, offset[3];
        bool parts, has_workspace;
        double alpha, beta;
    } cases[] = {
        {TW_N, TW_N, 64, 48, 80, 0, {0, 0, 0}, false, true, 1, 0},
        {TW_N, TW_T, 65, 49, 33, 3, {7, 5, 3}, false, true, 2, 1},
        {TW_T, TW_N, 33, 70, 130, 1, {64, 32, 16}, true, true, -1, 0},
        {TW_T, TW_T, 17, 5, 700, 0, {1, 0, 9}, true, true, 1, -2},
        {TW_N, TW_T, 40, 36, 90, 2, {3, 2, 1}, true, false, 3, 1},
        {TW_T, TW_N, 1, 100, 64, 0, {0, 1, 0}, false, false, 1, 0},
        {TW_N, TW_N, 20, 30, 0, 1, {4, 4, 4}, false, true, 1, 2},
        {TW_N, TW_N, 20, 30, 10, 1, {4, 4, 4}, true, true, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int out = 0; out < 2; out++) {
            if (!tap.full && type > 0 && (i + type) % 4 != 0) continue;
            char name[200];
            const cl_bitfield properties = (out ? CL_QUEUE_OUT_OF_ORDER : 0) |
                                           (i % 2 ? (cl_bitfield)CL_QUEUE_PROFILING_ENABLE : 0);
            snprintf(name, sizeof name, "%s, C in %s, %c%c %" PRId64 "x%" PRId64 "x%" PRId64 ", %s, %s%s%s",
                     tw_lab_dtype_of(dtype)->name, tw_lab_dtype_of(dtype_c)->name, "nt"[cases[i].op_a == TW_T],
                     "nt"[cases[i].op_b == TW_T], cases[i].m, cases[i].n, cases[i].k, order_text(properties),
                     cases[i].parts ? "sub-buffers" : "buffers",
                     properties & CL_QUEUE_PROFILING_ENABLE ? ", profiling" : "",
                     cases[i].has_workspace ? "" : ", no workspace");
            if (!queue_case(name)) continue;
            task t = task_of(dtype, cases[i].op_a, cases[i].op_b, cases[i].m, cases[i].n, cases[i].k, cases[i].pad);
            memcpy(t.offset, cases[i].offset, sizeof t.offset);
            t.parts = cases[i].parts, t.has_workspace = cases[i].has_workspace;
            t.problem.dtype_c = dtype_c, t.problem.alpha = cases[i].alpha, t.problem.beta = cases[i].beta;
            cl_queue queue = new_queue(properties);
            verdict(queue != NULL && run(&t, queue));
            if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
        }
}

static void batch_case(int64_t items, bool shares_b, bool has_workspace, order kind)
{
    char name[160];
    snprintf(name, sizeof name, "a batch of %" PRId64 "%s, %s, %s", items, shares_b ? " with one B" : "",
             order_text(kind), has_workspace ? "a workspace" : "no workspace");
    if (!queue_case(name)) return;
    task t = task_of(TW_F32, TW_N, TW_T, 21, 19, 40, 1);
    t.items = items, t.shares_b = shares_b, t.has_workspace = has_workspace, t.parts = true;
    t.offset[0] = 5, t.offset[1] = 6, t.offset[2] = 7, t.problem.beta = 1;
    cl_queue queue = new_queue(kind);
    verdict(queue != NULL && run(&t, queue));
    if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
}

/* The GPUs' kernels, which may divide k: then a second kernel adds what the first has left in the workspace. */
static void split_case(const char *kernel, int64_t items, order kind)
{
    char name[160];
    snprintf(name, sizeof name, "k divided among groups, %s, %" PRId64 " items, %s", kernel, items, order_text(kind));
    if (!queue_case(name)) return;
    task t = task_of(TW_F32, TW_N, TW_T, 50, 30, 6000, 1);
    t.kernel = kernel, t.items = items, t.has_workspace = true, t.problem.beta = 1;
    t.offset[0] = 5, t.offset[1] = 2, t.offset[2] = 3;
    cl_queue queue = new_queue(kind);
    verdict(queue != NULL && run(&t, queue));
    if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
}

/* Items of a batch in one launch; 66000 are more than a grid is deep. */
static void together_case(const char *kernel, tw_problem p, int64_t items, order kind)
{
    char name[160];
    snprintf(name, sizeof name, "one launch, %s, %" PRId64 " items of %" PRId64 "x%" PRId64 "x%" PRId64 ", %s", kernel,
             items, p.m, p.n, p.k, order_text(kind));
    if (!queue_case(name)) return;
    task t = {.problem = p, .kernel = kernel, .items = items, .together = true};
    t.has_workspace = strstr(kernel, "panels") != NULL, t.problem.beta = 1;
    cl_bitfield type = 0;
    me.cl->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (t.has_workspace && !(type & CL_DEVICE_TYPE_CPU_BIT)) {
        tap_skip("the kernel is for devices that are processors");
        return;
    }
    t.offset[0] = 5, t.offset[1] = 2, t.offset[2] = 3;
    cl_queue queue = new_queue(kind);
    verdict(queue != NULL && run(&t, queue));
    if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
}

static void together_cases(order kind)
{
    together_case("opencl_f32_gemm_simt_32x32", tw_problem_make(TW_F32, TW_T, TW_N, 33, 40, 70), 17, kind);
    together_case("opencl_f32_gemm_slicedk_simt_32x32", tw_problem_make(TW_F32, TW_N, TW_N, 35, 31, 150), 9, kind);
    together_case("opencl_f32_sgemm_simt_128x128", tw_problem_make(TW_F32, TW_N, TW_N, 128, 256, 16), 3, kind);
    together_case("opencl_bf16_gemm_panels_6x16", tw_problem_make(TW_BF16, TW_N, TW_T, 37, 50, 600), 7, kind);
    together_case("opencl_i8_gemm_panels_6x16", tw_problem_make(TW_I8, TW_T, TW_N, 2, 3, 4), 2000, kind);
}

/* Each product reads what the one before it has written, X <- X P, where P moves each column to the next; the workspace
 * is one for all. On a queue out of order only events say so. */
static void chain_case(int64_t edge, order kind)
{
    enum { LINKS = 24 };
    char name[100];
    snprintf(name, sizeof name, "a chain of %d products of edge %" PRId64 ", %s", (int)LINKS, edge, order_text(kind));
    if (!queue_case(name)) return;
    const size_t bytes = (size_t)(edge * edge) * 4;
    task t = task_of(TW_F32, TW_N, TW_N, edge, edge, edge, 0);
    t.has_workspace = true;
    cl_queue queue = new_queue(kind);
    operands o = {0};
    bool right = queue != NULL && operands_make(&o, &t, queue);
    float *x = (float *)(void *)o.x[0].image, *move = (float *)(void *)o.x[1].image;
    for (int64_t e = 0; right && e < edge * edge; e++) x[e] = (float)(e % 1021), move[e] = 0;
    for (int64_t row = 0; right && row < edge; row++) move[row * edge + (row + 1) % edge] = 1;
    right = right && banded_write(&o.x[0], queue) && banded_write(&o.x[1], queue);
    void *before = NULL;
    for (int link = 0; right && link < LINKS; link++) {
        void *event = NULL;
        tw_launch launch = o.launch;
        launch.event = kind == OUT_OF_ORDER || link + 1 == LINKS ? &event : NULL;
        launch.wait_count = before != NULL, launch.wait_list = before != NULL ? &before : NULL;
        right = tw_enqueue(context, &o.t.problem, o.x[link % 2 ? 2 : 0].shown, o.x[1].shown,
                           o.x[link % 2 ? 0 : 2].shown, &launch) == TW_OK ||
                refused("tw_enqueue");
        if (before != NULL) me.cl->clReleaseEvent(before);
        before = event;
    }
    right = right && wait_event(before);
    right = right && me.cl->clEnqueueReadBuffer(queue, o.x[0].whole, 1, 0, bytes, x, 0, NULL, NULL) == CL_SUCCESS;
    int64_t wrong = 0;
    for (int64_t e = 0; right && e < edge * edge; e++)
        wrong += x[e] != (float)((e / edge * edge + (e % edge + LINKS * edge - LINKS) % edge) % 1021);
    if (right && wrong > 0) {
        snprintf(why, sizeof why, "%" PRId64 " of %" PRId64 " elements are not those of the last link", wrong,
                 edge * edge);
        right = false;
    }
    if (queue != NULL) wait_for(queue);
    operands_free(&o);
    if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
    verdict(right);
}

/* ---- events ---- */

static cl_int status_of(void *event)
{
    cl_int status = CL_SUCCESS - 1;
    me.cl->clGetEventInfo(event, CALLER_EVENT_STATUS, sizeof status, &status, NULL);
    return status;
}

/* A product behind two events of the caller's: tw_enqueue() returns before they are set, C is as it was, then comes the
 * product. m 0: the empty product's event waits too. close: the context is closed before. */
static void gate_case(const char *what, int64_t m, int64_t items, order kind, bool closes)
{
    char name[160];
    snprintf(name, sizeof name, "%s waits for events, tw_enqueue() for none, %s", what, order_text(kind));
    if (!queue_case(name)) return;
    void *gates[2], *event = NULL;
    task t = task_of(TW_F32, TW_N, TW_T, m, 20, 50, 1);
    t.items = items, t.problem.beta = 1, t.has_workspace = true;
    cl_queue queue = new_queue(kind), other = new_queue(IN_ORDER);
    operands o = {0};
    tw_context *before = context;
    tw_options options = {.size = sizeof options, .engine = "opencl", .device_context = ours};
    bool right = queue != NULL && other != NULL && (!closes || tw_open(&options, &context) == TW_OK) &&
                 operands_make(&o, &t, queue);
    for (int i = 0; i < 2; i++) gates[i] = me.clCreateUserEvent(ours, NULL);
    o.launch.wait_list = gates, o.launch.wait_count = 2, o.launch.event = &event;
    right = right && put(&o);
    if (closes) tw_close(context);
    context = before;
    me.clFlush(queue);
    me.clSetUserEventStatus(gates[1], CALLER_COMPLETE);
    if (right && status_of(event) <= CALLER_COMPLETE) {
        snprintf(why, sizeof why, "the product is done before its event: status %d", (int)status_of(event));
        right = false;
    }
    right = right && as_expected(&o.x[2], other, 0, "C, which waits");
    me.clSetUserEventStatus(gates[0], CALLER_COMPLETE);
    if (event != NULL) right = wait_event(event) && right;
    if (right) expect_product(&o);
    right = right && all_as_expected(&o, other);
    for (int i = 0; i < 2; i++) me.cl->clReleaseEvent(gates[i]);
    if (queue != NULL) wait_for(queue), me.cl->clReleaseCommandQueue(queue);
    operands_free(&o);
    if (other != NULL) me.cl->clReleaseCommandQueue(other);
    verdict(right);
}

/* ---- nothing but commands ---- */

static int counted; /* calls that allocate, wait or copy */

static cl_memory counting_create(cl_context c, cl_bitfield flags, size_t bytes, void *host, cl_int *error)
{
    (void)c, (void)flags, (void)bytes, (void)host;
    counted++, *error = CL_OUT_OF_RESOURCES;
    return NULL;
}
static cl_kernel counting_kernel(cl_program p, const char *name, cl_int *error)
{
    (void)p, (void)name;
    counted++, *error = CL_OUT_OF_RESOURCES;
    return NULL;
}
static cl_program counting_program(cl_context c, cl_uint count, const char **text, const size_t *lengths, cl_int *error)
{
    (void)c, (void)count, (void)text, (void)lengths;
    counted++, *error = CL_OUT_OF_RESOURCES;
    return NULL;
}
static cl_int counting_wait(cl_uint count, const cl_event *list)
{
    (void)count, (void)list;
    return counted++, CL_OUT_OF_RESOURCES;
}
static cl_int counting_finish(cl_queue queue)
{
    (void)queue;
    return counted++, CL_OUT_OF_RESOURCES;
}
static cl_int counting_write(cl_queue q, cl_memory m, cl_bool blocking, size_t offset, size_t bytes, const void *from,
                             cl_uint count, const cl_event *list, cl_event *event)
{
    (void)q, (void)m, (void)blocking, (void)offset, (void)bytes, (void)from, (void)count, (void)list, (void)event;
    return counted++, CL_OUT_OF_RESOURCES;
}

static void commands_case(order kind, int64_t items)
{
    char name[120];
    snprintf(name, sizeof name, "a product that was made before allocates nothing and waits for nothing, %s%s",
             order_text(kind), items > 0 ? ", a batch" : "");
    if (!queue_case(name)) return;
    cl_api *table = (cl_api *)(uintptr_t)me.cl, kept = *table;
    task t = task_of(TW_F32, TW_N, TW_T, 50, 60, 70, 1);
    t.has_workspace = true, t.items = items;
    cl_queue queue = new_queue(kind);
    operands o = {0};
    bool right = queue != NULL && operands_make(&o, &t, queue) && put(&o) && wait_for(queue);
    counted = 0;
    table->clCreateBuffer = counting_create, table->clCreateKernel = counting_kernel;
    table->clWaitForEvents = counting_wait, table->clFinish = counting_finish;
    table->clEnqueueWriteBuffer = counting_write;
    right = right && put(&o);
    *table = kept;
    if (right && counted > 0) snprintf(why, sizeof why, "%d calls that do", counted);
    right = right && counted == 0 && wait_for(queue);
    if (right) expect_product(&o);
    right = right && all_as_expected(&o, queue);
    operands_free(&o);
    if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
    verdict(right);
}

/* What tw_prepare() has built is not built again. */
static void prepared_case(void)
{
    if (!queue_case("after tw_prepare() nothing is compiled, with a workspace and without")) return;
    cl_api *table = (cl_api *)(uintptr_t)me.cl, kept = *table;
    tw_context *before = context;
    const tw_options options = {.size = sizeof options, .engine = "opencl", .device_context = ours};
    task t = task_of(TW_F32, TW_T, TW_T, 40, 44, 48, 0);
    cl_queue queue = new_queue(IN_ORDER);
    bool right = queue != NULL && (tw_open(&options, &context) == TW_OK || refused("tw_open"));
    tw_problem p = t.problem;
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    right = right && (tw_prepare(context, &p) == TW_OK || refused("tw_prepare"));
    table->clCreateProgramWithSource = counting_program;
    for (int bare = 0; right && bare < 2; bare++) t.has_workspace = !bare, right = run(&t, queue);
    *table = kept;
    tw_close(context);
    context = before;
    if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
    verdict(right);
}

/* A build that ends when it is told to. */
static atomic_int building; /* 1: has begun; 2: may end */
static cl_int (*real_build)(cl_program, cl_uint, const cl_device *, const char *, void (*)(cl_program, void *), void *);

static cl_int slow_build(cl_program p, cl_uint count, const cl_device *devices, const char *options,
                         void (*notify)(cl_program, void *), void *user)
{
    int begun = 0;
    atomic_compare_exchange_strong(&building, &begun, 1); /* later builds may end at once */
    while (atomic_load(&building) != 2) sched_yield();
    return real_build(p, count, devices, options, notify, user);
}

static void *prepare_slowly(void *status)
{
    tw_problem p = tw_problem_make(TW_F64, TW_T, TW_T, 20, 20, 20);
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    *(tw_status *)status = tw_prepare(context, &p);
    return NULL;
}

static void builds_case(void)
{
    if (!queue_case("a product that was made before does not wait for a kernel that another thread builds")) return;
    cl_api *table = (cl_api *)(uintptr_t)me.cl;
    tw_context *before = context;
    const tw_options options = {.size = sizeof options, .engine = "opencl", .device_context = ours};
    task t = task_of(TW_F32, TW_N, TW_N, 40, 44, 48, 0);
    t.has_workspace = true;
    cl_queue queue = new_queue(IN_ORDER);
    pthread_t other;
    tw_status prepared = TW_BUILD_FAILED;
    bool right = queue != NULL && (tw_open(&options, &context) == TW_OK || refused("tw_open")) && run(&t, queue);
    if (right) {
        real_build = table->clBuildProgram, table->clBuildProgram = slow_build;
        atomic_store(&building, 0);
        pthread_create(&other, NULL, prepare_slowly, &prepared);
        while (atomic_load(&building) == 0) sched_yield();
        right = run(&t, queue);
        atomic_store(&building, 2);
        pthread_join(other, NULL);
        table->clBuildProgram = real_build;
        right = right && prepared == TW_OK;
    }
    tw_close(context);
    context = before;
    if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
    verdict(right);
}

/* ---- each call of the driver fails ---- */

#define FAILING(name, parameters)                                                                                      \
    static cl_int failing_##name parameters { return CL_OUT_OF_RESOURCES; }
#define UNUSED __attribute__((unused))
FAILING(clGetMemObjectInfo, (UNUSED cl_memory a, UNUSED cl_uint b, UNUSED size_t c, UNUSED void *d, UNUSED size_t *f))
FAILING(clGetCommandQueueInfo, (UNUSED cl_queue a, UNUSED cl_uint b, UNUSED size_t c, UNUSED void *d, UNUSED size_t *f))
FAILING(clGetEventInfo, (UNUSED cl_event a, UNUSED cl_uint b, UNUSED size_t c, UNUSED void *d, UNUSED size_t *f))
FAILING(clSetKernelArg, (UNUSED cl_kernel a, UNUSED cl_uint b, UNUSED size_t c, UNUSED const void *d))
FAILING(clEnqueueNDRangeKernel,
        (UNUSED cl_queue a, UNUSED cl_kernel b, UNUSED cl_uint c, UNUSED const size_t *d, UNUSED const size_t *f,
         UNUSED const size_t *g, UNUSED cl_uint h, UNUSED const cl_event *i, UNUSED cl_event *j))
FAILING(clEnqueueFillBuffer,
        (UNUSED cl_queue a, UNUSED cl_memory b, UNUSED const void *c, UNUSED size_t d, UNUSED size_t f, UNUSED size_t g,
         UNUSED cl_uint h, UNUSED const cl_event *i, UNUSED cl_event *j))
FAILING(clEnqueueMarkerWithWaitList,
        (UNUSED cl_queue a, UNUSED cl_uint b, UNUSED const cl_event *c, UNUSED cl_event *d))

/* The status is an error, the sentence names the call, *event is left alone, and the next product comes out. */
static void failing_case(const char *call, void set(cl_api *), int64_t m)
{
    char name[100];
    snprintf(name, sizeof name, "error: %s fails", call);
    if (!queue_case(name)) return;
    cl_api *table = (cl_api *)(uintptr_t)me.cl, kept = *table;
    task t = task_of(TW_F32, TW_N, TW_T, m, 60, 70, 1);
    t.has_workspace = true;
    cl_queue queue = new_queue(OUT_OF_ORDER);
    operands o = {0};
    void *event = &o, *gate = me.clCreateUserEvent(ours, NULL);
    me.clSetUserEventStatus(gate, CALLER_COMPLETE);
    bool right = queue != NULL && operands_make(&o, &t, queue), taken = false;
    o.launch.event = &event, o.launch.wait_list = &gate, o.launch.wait_count = 1;
    set(table);
    if (right) taken = put(&o);
    *table = kept;
    const bool clears = strcmp(call, "clEnqueueFillBuffer") != 0; /* some kernels want nothing cleared */
    if (right && (taken ? clears : event != &o || strstr(why, call) == NULL)) right = false;
    if (taken) right = wait_event(event) && right;
    right = right && wait_for(queue) && put(&o) && wait_event(event);
    if (right) expect_product(&o);
    right = right && all_as_expected(&o, queue);
    me.cl->clReleaseEvent(gate);
    operands_free(&o);
    if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
    verdict(right);
}

#define SET(name)                                                                                                      \
    static void set_##name(cl_api *table) { table->name = failing_##name; }
SET(clGetMemObjectInfo)
SET(clGetCommandQueueInfo)
SET(clGetEventInfo)
SET(clSetKernelArg)
SET(clEnqueueNDRangeKernel)
SET(clEnqueueFillBuffer)
SET(clEnqueueMarkerWithWaitList)

static void failing_cases(void)
{
    failing_case("clGetMemObjectInfo", set_clGetMemObjectInfo, 50);
    failing_case("clGetCommandQueueInfo", set_clGetCommandQueueInfo, 50);
    failing_case("clGetEventInfo", set_clGetEventInfo, 50);
    failing_case("clSetKernelArg", set_clSetKernelArg, 50);
    failing_case("clEnqueueNDRangeKernel", set_clEnqueueNDRangeKernel, 50);
    failing_case("clEnqueueFillBuffer", set_clEnqueueFillBuffer, 50);
    failing_case("clEnqueueMarkerWithWaitList", set_clEnqueueMarkerWithWaitList, 0);
}

/* ---- threads ---- */

typedef struct worker {
    int number;
    cl_queue queue;
    bool right;
    char why[sizeof why];
} worker;

static void *work(void *argument)
{
    enum { ROUNDS = 15 };
    worker *w = argument;
    task t = task_of(TW_F32, TW_N, w->number == 0 ? TW_N : TW_T, 70 + w->number, 33, 65 + w->number, w->number);
    t.has_workspace = w->number % 2 == 0, t.offset[1] = w->number;
    w->right = true;
    for (int i = 0; w->right && i < ROUNDS; i++) w->right = run(&t, w->queue);
    snprintf(w->why, sizeof w->why, "%s", why);
    return NULL;
}

static void threads_case(bool one_queue, order kind)
{
    enum { THREADS = 3 };
    char name[100];
    snprintf(name, sizeof name, "three threads, one context, %s, %s", one_queue ? "one queue" : "a queue each",
             order_text(kind));
    if (!queue_case(name)) return;
    pthread_t threads[THREADS];
    worker workers[THREADS];
    cl_queue queues[THREADS];
    bool right = true;
    for (int i = 0; i < THREADS; i++) queues[i] = new_queue(kind), right = right && queues[i] != NULL;
    for (int i = 0; right && i < THREADS; i++) workers[i] = (worker){.number = i, .queue = queues[one_queue ? 0 : i]};
    for (int i = 0; right && i < THREADS; i++) pthread_create(&threads[i], NULL, work, &workers[i]);
    const bool begun = right;
    for (int i = 0; begun && i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        if (!workers[i].right) right = false, snprintf(why, sizeof why, "thread %d: %.900s", i, workers[i].why);
    }
    for (int i = 0; i < THREADS; i++)
        if (queues[i] != NULL) me.cl->clReleaseCommandQueue(queues[i]);
    verdict(right);
}

/* ---- calls that wait, of buffers ---- */

static void gemm_case(int64_t items)
{
    char name[100];
    snprintf(name, sizeof name, "tw_gemm%s takes buffers", items > 0 ? "_batched" : "");
    if (!queue_case(name)) return;
    task t = task_of(TW_F32, TW_T, TW_N, 45, 37, 50, 1);
    t.items = items, t.problem.beta = 1, t.parts = true;
    cl_queue queue = new_queue(IN_ORDER);
    operands o = {0};
    bool right = queue != NULL && operands_make(&o, &t, queue);
    const tw_problem *p = &o.t.problem;
    right = right && ((items > 0 ? tw_gemm_batched(context, p, &o.batch, o.x[0].shown, o.x[1].shown, o.x[2].shown)
                                 : tw_gemm(context, p, o.x[0].shown, o.x[1].shown, o.x[2].shown)) == TW_OK ||
                      refused("tw_gemm"));
    if (right) expect_product(&o);
    right = right && all_as_expected(&o, queue);
    operands_free(&o);
    if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
    verdict(right);
}

/* The same with an epilogue, put on a queue or waited for, and of a k that is divided. */
static void epilogue_case(const char *what, int64_t items, const char *kernel)
{
    char name[100];
    snprintf(name, sizeof name, "an epilogue of buffers, %s", what);
    if (!queue_case(name)) return;
    task t = task_of(TW_F32, TW_T, TW_N, 45, 37, kernel != NULL ? 6000 : 50, 1);
    t.items = items, t.problem.beta = 1, t.has_workspace = true, t.offset[2] = 3, t.kernel = kernel;
    bound b;
    cl_queue queue = new_queue(OUT_OF_ORDER);
    bool right = bound_make(&b, 2 * BOUND_EDGE, 2);
    t.problem.epilogue = b.made;
    verdict(right && queue != NULL && run(&t, queue));
    if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
    bound_free(&b);
}

static void epilogue_refusals_case(void)
{
    if (!queue_case("an epilogue of buffers that are too small, or begin behind what is read")) return;
    static const struct {
        int64_t count, stride;
        const char *sentence;
    } wrong[] = {{73, 2, ""},
                 {72, 2, "bias is a buffer of 288 bytes, expected at least 73 elements"},
                 {128, -1, "reads bias from element -36 on, expected 0"}};
    bool right = true;
    cl_queue queue = new_queue(IN_ORDER);
    for (size_t q = 0; right && queue != NULL && q < sizeof wrong / sizeof *wrong; q++) {
        task t = task_of(TW_F32, TW_N, TW_N, 45, 37, 50, 1);
        bound b;
        operands o = {0};
        right = bound_make(&b, wrong[q].count, wrong[q].stride);
        t.problem.epilogue = b.made;
        right = right && operands_make(&o, &t, queue);
        const tw_status status = enqueue(&o);
        if (right) snprintf(why, sizeof why, "buffer %zu: %s", q, tw_error_text());
        right = right && (q == 0 ? status == TW_OK
                                 : status == TW_BAD_ARGUMENT && strstr(tw_error_text(), wrong[q].sentence) != NULL);
        wait_for(queue);
        operands_free(&o), bound_free(&b);
    }
    if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
    verdict(right && queue != NULL);
}

/* Buffers of the caller's own memory, which begins at any element: kernels must not take it for aligned. */
static void host_memory_case(void)
{
    if (!queue_case("buffers of the caller's own memory at any element, no workspace")) return;
    enum { EDGE = 32, AREA = EDGE * EDGE };
    static float memory[OPERANDS][AREA + 1] __attribute__((aligned(64)));
    cl_memory buffers[OPERANDS] = {0};
    cl_queue queue = new_queue(IN_ORDER);
    bool right = queue != NULL;
    for (int i = 0; right && i < OPERANDS; i++) {
        cl_int error;
        for (int x = 0; x < AREA; x++) memory[i][x + 1] = (float)((x * 5 + i) % 7 - 3);
        buffers[i] = me.cl->clCreateBuffer(ours, CL_MEM_READ_WRITE | CALLER_MEM_USE_HOST_PTR, AREA * sizeof(float),
                                           memory[i] + 1, &error);
        right = buffers[i] != NULL || broken("clCreateBuffer", error);
    }
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, EDGE, EDGE, EDGE);
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    const tw_launch launch = {.size = sizeof launch, .queue = queue};
    static float c[AREA];
    right = right &&
            (tw_enqueue(context, &p, buffers[0], buffers[1], buffers[2], &launch) == TW_OK || refused("tw_enqueue"));
    right = right && me.cl->clEnqueueReadBuffer(queue, buffers[2], 1, 0, sizeof c, c, 0, NULL, NULL) == CL_SUCCESS;
    for (int i = 0; right && i < AREA; i++) {
        float sum = 0;
        for (int k = 0; k < EDGE; k++) sum += memory[0][1 + i / EDGE * EDGE + k] * memory[1][1 + k * EDGE + i % EDGE];
        if (c[i] == sum) continue;
        snprintf(why, sizeof why, "element %d of C is %g, expected %g", i, (double)c[i], (double)sum);
        right = false;
    }
    for (int i = 0; i < OPERANDS; i++)
        if (buffers[i] != NULL) me.cl->clReleaseMemObject(buffers[i]);
    if (queue != NULL) me.cl->clReleaseCommandQueue(queue);
    verdict(right);
}

/* ---- what is refused ---- */

static struct {
    operands o;
    cl_queue queue;
    cl_context other;
    cl_queue other_queue;
    cl_memory other_buffer, read_only, write_only, small, image, odd;
    cl_event other_event;
    void *event;
    char unaligned[4096];
} e;

/* The call with these operands and this launch gives the status and the words, and leaves C and *event alone. */
static void refuse(const char *name, tw_status status, const char *words, const tw_problem *p, void *a, void *b,
                   void *c, tw_launch launch)
{
    if (!queue_case(name)) return;
    void *event = &e;
    if (launch.event != NULL) launch.event = &event;
    tw_status found = tw_enqueue(context, p, a, b, c, launch.size != 0 ? &launch : NULL);
    bool right = found == status && strstr(tw_error_text(), words) != NULL && event == &e;
    if (!right)
        snprintf(why, sizeof why, "%s: %s; expected %s: %s", tw_status_name(found), tw_error_text(),
                 tw_status_name(status), words);
    right = right && wait_for(e.queue) && as_expected(&e.o.x[2], e.queue, 0, "C");
    verdict(right);
}

static bool errors_open(void)
{
    cl_int error;
    task t = task_of(TW_F32, TW_N, TW_N, 8, 8, 8, 0);
    t.has_workspace = true;
    e.queue = new_queue(IN_ORDER);
    if (e.queue == NULL || !operands_make(&e.o, &t, e.queue)) return false;
    e.other = me.cl->clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    CL(error);
    e.other_queue = me.cl->clCreateCommandQueue(e.other, device, 0, &error);
    CL(error);
    e.other_buffer = me.cl->clCreateBuffer(e.other, CL_MEM_READ_WRITE, 4096, NULL, &error);
    CL(error);
    e.other_event = me.clCreateUserEvent(e.other, &error);
    CL(error);
    e.read_only = me.cl->clCreateBuffer(ours, CL_MEM_READ_ONLY, 4096, NULL, &error);
    CL(error);
    e.write_only = me.cl->clCreateBuffer(ours, CL_MEM_WRITE_ONLY, 4096, NULL, &error);
    CL(error);
    e.small = me.cl->clCreateBuffer(ours, CL_MEM_READ_WRITE, 8 * 8 * 4 - 1, NULL, &error);
    CL(error);
    e.odd = me.cl->clCreateBuffer(ours, CL_MEM_READ_WRITE | CALLER_MEM_USE_HOST_PTR, 2048, e.unaligned + 2, &error);
    CL(error);
    const caller_image_format format = {CALLER_IMAGE_R, CALLER_IMAGE_FLOAT};
    const caller_image_shape shape = {.type = CALLER_MEM_OBJECT_IMAGE2D, .width = 8, .height = 8};
    e.image = me.clCreateImage(ours, CL_MEM_READ_WRITE, &format, &shape, NULL, &error);
    return true; /* a device may have no images */
}

static void errors_close(void)
{
    const cl_memory all[] = {e.other_buffer, e.read_only, e.write_only, e.small, e.image, e.odd};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != NULL) me.cl->clReleaseMemObject(all[i]);
    if (e.other_event != NULL) { /* NVIDIA's driver keeps a context open for an event that never comes */
        me.clSetUserEventStatus(e.other_event, CALLER_COMPLETE);
        me.cl->clReleaseEvent(e.other_event);
    }
    if (e.other_queue != NULL) me.cl->clReleaseCommandQueue(e.other_queue);
    if (e.other != NULL) me.cl->clReleaseContext(e.other);
    operands_free(&e.o);
    if (e.queue != NULL) me.cl->clReleaseCommandQueue(e.queue);
}

static void operand_errors(void)
{
    const tw_problem *p = &e.o.t.problem;
    void *a = e.o.x[0].shown, *b = e.o.x[1].shown, *c = e.o.x[2].shown;
    const tw_launch good = e.o.launch;
    tw_launch l = good;
    tw_problem reads_c;
    if (p->size != 0) reads_c = *p, reads_c.beta = 1;
    refuse("error: A of another context", TW_BAD_ARGUMENT, "a is of another OpenCL context", p, e.other_buffer, b, c,
           l);
    refuse("error: C of another context", TW_BAD_ARGUMENT, "c is of another OpenCL context", p, a, b, e.other_buffer,
           l);
    refuse("error: C that is only read", TW_BAD_ARGUMENT, "c is CL_MEM_READ_ONLY, expected", p, a, b, e.read_only, l);
    refuse("error: B that is only written", TW_BAD_ARGUMENT, "b is CL_MEM_WRITE_ONLY, expected", p, a, e.write_only, c,
           l);
    refuse("error: C that is only written, and beta", TW_BAD_ARGUMENT, "c is CL_MEM_WRITE_ONLY, expected", &reads_c, a,
           b, e.write_only, l);
    refuse("error: B that is a byte too short", TW_BAD_ARGUMENT,
           "b is a buffer of 255 bytes, expected at least 64 elements of 4 bytes, from element 0 on", p, a, e.small, c,
           l);
    l.offset_a = 1 << 20;
    refuse("error: an offset beyond A", TW_BAD_ARGUMENT, "from element 1048576 on", p, a, b, c, l);
    l.offset_a = INT64_MAX;
    refuse("error: an offset far beyond A", TW_BAD_ARGUMENT, "from element 9223372036854775807 on", p, a, b, c, l);
    l.offset_a = -1;
    refuse("error: an offset before A", TW_BAD_ARGUMENT, "launch.offset_a is -1, expected 0 or more", p, a, b, c, l);
    l = good;
    if (context == NULL || e.image != NULL)
        refuse("error: an image", TW_BAD_ARGUMENT, "a is an image or a pipe (CL_MEM_TYPE 0x10f1), expected a buffer", p,
               e.image, b, c, l);
    refuse("error: memory of the caller's at an odd address", TW_BAD_ARGUMENT,
           "a is a buffer of memory that is aligned to 2 bytes, expected one element of 4", p, e.odd, b, c, l);
    refuse("error: A is NULL", TW_BAD_ARGUMENT, "a is NULL, expected 8 x 8", p, NULL, b, c, l);
}

static void launch_errors(void)
{
    const tw_problem *p = &e.o.t.problem;
    void *a = e.o.x[0].shown, *b = e.o.x[1].shown, *c = e.o.x[2].shown, *list[2] = {e.other_event, NULL};
    const tw_launch good = e.o.launch;
    tw_launch l = good;
    l.event = &e.event;
    refuse("error: no launch", TW_BAD_ARGUMENT, "launch.queue is NULL, expected a cl_command_queue", p, a, b, c,
           (tw_launch){0});
    l.queue = NULL;
    refuse("error: no queue", TW_BAD_ARGUMENT, "launch.queue is NULL, expected a cl_command_queue", p, a, b, c, l);
    l.queue = e.other_queue;
    refuse("error: a queue of another context", TW_BAD_ARGUMENT, "launch.queue is of another OpenCL context", p, a, b,
           c, l);
    l.queue = good.queue, l.stream = good.queue;
    refuse("error: a stream", TW_BAD_ARGUMENT, "launch.stream is set, expected 0: the opencl engine", p, a, b, c, l);
    l.stream = NULL, l.wait_count = 1, l.wait_list = list;
    refuse("error: an event of another context", TW_BAD_ARGUMENT, "launch.wait_list[0] is of another OpenCL context", p,
           a, b, c, l);
    l.wait_list = list + 1;
    refuse("error: an event that is NULL", TW_BAD_ARGUMENT, "launch.wait_list[0] is NULL, expected a cl_event", p, a, b,
           c, l);
    l.wait_list = NULL;
    refuse("error: events that are counted and not given", TW_BAD_ARGUMENT,
           "launch.wait_count is 1 and launch.wait_list is NULL", p, a, b, c, l);
    l = good, l.workspace = e.other_buffer, l.workspace_bytes = 4096;
    if (good.workspace_bytes > 4096) l.workspace_bytes = good.workspace_bytes;
    refuse("error: a workspace of another context", TW_BAD_ARGUMENT, "launch.workspace is of another OpenCL context", p,
           a, b, c, l);
    l.workspace = e.small, l.workspace_bytes = good.workspace_bytes > 256 ? good.workspace_bytes : 256;
    refuse("error: a workspace that is smaller than it says", TW_BAD_ARGUMENT,
           "launch.workspace is a buffer of 255 bytes", p, a, b, c, l);
    l = good, l.workspace_bytes = 1;
    if (context == NULL || good.workspace_bytes > 1)
        refuse("error: a workspace that is too small", TW_BAD_ARGUMENT,
               "launch.workspace_bytes is 1, expected at least", p, a, b, c, l);
}

static void batch_errors(void)
{
    if (!queue_case("error: a batch by address")) return;
    const tw_batch batch = {.size = sizeof batch, .pointers = 1, .count = 1};
    void *items[1] = {e.o.x[0].shown};
    int64_t bytes;
    const char *words = "batch.pointers is 1, expected 0: the opencl engine takes items in device memory at strides";
    bool right = tw_enqueue_batched(context, &e.o.t.problem, &batch, items, items, items, &e.o.launch) ==
                     TW_BAD_ARGUMENT &&
                 strstr(tw_error_text(), words) != NULL;
    right = right && tw_gemm_batched(context, &e.o.t.problem, &batch, items, items, items) == TW_BAD_ARGUMENT &&
            strstr(tw_error_text(), words) != NULL;
    right = right && tw_workspace_bytes_batched(context, &e.o.t.problem, &batch, &bytes) == TW_BAD_ARGUMENT &&
            strstr(tw_error_text(), words) != NULL;
    snprintf(why, sizeof why, "%s", tw_error_text());
    verdict(right);
    if (!queue_case("error: a buffer too short for the last item of a batch")) return;
    const tw_batch two = tw_batch_make(&e.o.t.problem, 1000);
    right = tw_enqueue_batched(context, &e.o.t.problem, &two, e.o.x[0].shown, e.o.x[1].shown, e.o.x[2].shown,
                               &e.o.launch) == TW_BAD_ARGUMENT &&
            strstr(tw_error_text(), "expected at least 64000 elements of 4 bytes") != NULL;
    snprintf(why, sizeof why, "%s", tw_error_text());
    verdict(right);
}

static void open_refused(const char *name, tw_options options, const char *words)
{
    if (!queue_case(name)) return;
    tw_context *opened = NULL;
    options.size = sizeof options;
    if (options.engine == NULL) options.engine = "opencl";
    tw_status status = tw_open(&options, &opened);
    snprintf(why, sizeof why, "%s: %s", tw_status_name(status), tw_error_text());
    bool right = status == TW_BAD_ARGUMENT && opened == NULL && strstr(tw_error_text(), words) != NULL;
    tw_close(opened);
    verdict(right);
}

static void open_errors(void)
{
    open_refused("error: a device without its context", (tw_options){.device_id = device},
                 "options.device_id is given and options.device_context is NULL");
    open_refused("error: a device that is not of the context", (tw_options){.device_context = ours, .device_id = &e},
                 "options.device_id is no device of options.device_context, expected one of its 1");
    open_refused("error: another index than the context's device", (tw_options){.device_context = ours, .device = 17},
                 "options.device is 17, but options.device_context is of device");
    open_refused("error: a device of OpenCL's for the cpu engine", (tw_options){.engine = "cpu", .device_id = device},
                 "options.device_id is set, expected 0: the cpu");
}

/* In a process of its own, where PoCL shows two devices: a context of both, whose caller has to say which one is
 * meant. Exit status 77: there are no two devices. */
static int use_two_devices(void)
{
    const char *missing;
    cl_platform platform;
    cl_device devices[2];
    cl_uint count = 0, bits = 0;
    cl_int error;
    alarm(DEADLINE_S);
    if (!caller_load(&me, &missing) || me.cl->clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS) return 77;
    if (me.cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &count) != CL_SUCCESS || count < 2) return 77;
    ours = me.cl->clCreateContext(NULL, 2, devices, NULL, NULL, &error);
    if (ours == NULL) return 1;
    tw_options options = {.size = sizeof options, .engine = "opencl", .device_context = ours};
    if (tw_open(&options, &context) != TW_BAD_ARGUMENT ||
        strstr(tw_error_text(), "options.device_id is NULL, but options.device_context has 2 devices") == NULL)
        return 2;
    device = options.device_id = devices[1];
    options.device = 1;
    tw_device described = {.size = sizeof described};
    if (tw_open(&options, &context) != TW_OK || tw_describe(context, &described) != TW_OK) return 3;
    if (described.index != 1) return 4;
    me.cl->clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    base_align = bits / 8;
    task t = task_of(TW_F32, TW_N, TW_N, 30, 20, 10, 0);
    t.has_workspace = true;
    cl_queue queue = new_queue(IN_ORDER), other;
    if (queue == NULL || !run(&t, queue)) return 5;
    device = devices[0];
    other = new_queue(IN_ORDER);
    if (other == NULL || run(&t, other) || strstr(why, "launch.queue is of another device") == NULL) return 6;
    tw_close(context);
    me.cl->clReleaseCommandQueue(queue), me.cl->clReleaseCommandQueue(other), me.cl->clReleaseContext(ours);
    return 0;
}

static void two_devices_case(void)
{
    int status = 0;
    if (!queue_case("a context of two devices: one has to be named, and its queue is taken, the other's not")) return;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("POCL_DEVICES", "pthread pthread", 1);
        execl("/proc/self/exe", "test_queues", "--two-devices", (char *)NULL);
        _exit(127);
    }
    bool ended = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status);
    if (ended && WEXITSTATUS(status) == 77) {
        tap_skip("the first platform has one device");
        return;
    }
    snprintf(why, sizeof why, "the child %s %d, expected 0 (use_two_devices() has the numbers)",
             ended ? "returned" : "was ended by signal", ended ? WEXITSTATUS(status) : WTERMSIG(status));
    verdict(ended && WEXITSTATUS(status) == 0);
}

/* Where the driver makes such a sub-buffer at all. */
static void origin_case(void)
{
    if (!queue_case("error: a sub-buffer that begins where this device takes none")) return;
    cl_int error;
    cl_memory whole = me.cl->clCreateBuffer(ours, CL_MEM_READ_WRITE, 4096, NULL, &error);
    const caller_region region = {4, 1024};
    cl_memory part = me.clCreateSubBuffer(whole, 0, CALLER_BUFFER_CREATE_TYPE_REGION, &region, &error);
    const tw_launch *l = &e.o.launch;
    if (part == NULL) {
        tap_skip("the driver makes none");
    } else {
        bool right = tw_enqueue(context, &e.o.t.problem, part, e.o.x[1].shown, e.o.x[2].shown, l) == TW_BAD_ARGUMENT &&
                     strstr(tw_error_text(), "a is a sub-buffer that begins at byte 4 of its buffer, expected") != NULL;
        snprintf(why, sizeof why, "%s", tw_error_text());
        me.cl->clReleaseMemObject(part);
        verdict(right);
    }
    me.cl->clReleaseMemObject(whole);
}

static void fork_case(void)
{
    if (!queue_case("error: a child of the process that opened the context")) return;
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(tw_enqueue(context, &e.o.t.problem, e.o.x[0].shown, e.o.x[1].shown, e.o.x[2].shown, &e.o.launch) !=
                  TW_NO_DEVICE ||
              strstr(tw_error_text(), "opened before fork()") == NULL);
    bool right = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
    snprintf(why, sizeof why, "the child's wait status is %d, expected 0", status);
    verdict(right);
}

/* A context that the library made: no caller has buffers or queues of it. */
static void own_case(void)
{
    if (!queue_case("error: a queue, where the library works in a context of its own")) return;
    tw_context *opened = NULL;
    const tw_options options = {.size = sizeof options, .engine = "opencl"};
    bool right = tw_open(&options, &opened) == TW_OK || refused("tw_open");
    if (right) {
        tw_status status = tw_enqueue(opened, &e.o.t.problem, e.o.x[0].shown, e.o.x[1].shown, e.o.x[2].shown,
                                      &e.o.launch);
        snprintf(why, sizeof why, "%s: %s", tw_status_name(status), tw_error_text());
        right = status == TW_BAD_ARGUMENT &&
                strstr(tw_error_text(), "a is of another OpenCL context than the one that this context works in, which "
                                        "is tw_options.device_context or one of its own") != NULL;
    }
    tw_close(opened);
    verdict(right);
}

/* The planner knows of a device what it knows of it in a context that the library makes. */
static void facts_case(void)
{
    if (!queue_case("an adopted context has the facts of one of the library's own")) return;
    tw_context *opened = NULL;
    const tw_options options = {.size = sizeof options, .engine = "opencl"};
    bool right = tw_open(&options, &opened) == TW_OK || refused("tw_open");
    if (right) {
        const device_facts *own = &opened->facts, *adopted = &context->facts;
        snprintf(why, sizeof why, "vectors of %d and %d bytes, %d and %d units, %lld and %lld bytes of local memory",
                 own->vector_bytes, adopted->vector_bytes, own->multiprocessors, adopted->multiprocessors,
                 (long long)own->local_bytes, (long long)adopted->local_bytes);
        right = own->vector_bytes == adopted->vector_bytes && own->multiprocessors == adopted->multiprocessors &&
                own->local_bytes == adopted->local_bytes && own->most_threads == adopted->most_threads &&
                own->warp == adopted->warp && own->no_doubles == adopted->no_doubles;
    }
    tw_close(opened);
    verdict(right);
}

/* ---- main ---- */

static bool open_here(tw_context **out)
{
    const tw_options options = {.size = sizeof options, .engine = "opencl", .device_context = ours};
    return tw_open(&options, out) == TW_OK || refused("tw_open");
}

static bool open_context(void)
{
    cl_device devices[64];
    cl_uint count = 0;
    cl_int error;
    tw_context *first = NULL;
    const tw_options any = {.size = sizeof any, .engine = "opencl"};
    const char *missing;
    /* the library's device 0: GPUs come first, of any platform */
    if (tw_open(&any, &first) != TW_OK) return refused("tw_open");
    tw_close(first);
    if (!caller_load(&me, &missing)) {
        snprintf(why, sizeof why, "the OpenCL loader has no %s", missing);
        return false;
    }
    cl_platform platforms[16];
    cl_uint platform_count = 0;
    CL(me.cl->clGetPlatformIDs(16, platforms, &platform_count));
    for (int gpus = 1; gpus >= 0 && device == NULL; gpus--)
        for (cl_uint i = 0; i < platform_count && i < 16 && device == NULL; i++)
            if (me.cl->clGetDeviceIDs(platforms[i], gpus ? CL_DEVICE_TYPE_GPU_BIT : CL_DEVICE_TYPE_ALL, 64, devices,
                                      &count) == CL_SUCCESS &&
                count > 0)
                device = devices[0];
    if (device == NULL) return broken("clGetDeviceIDs", CL_DEVICE_NOT_FOUND);
    cl_uint bits = 0;
    CL(me.cl->clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL));
    base_align = bits / 8 > 0 ? bits / 8 : 1;
    ours = me.cl->clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (ours == NULL) return broken("clCreateContext", error);
    const bool optimises = tap.full || tap.gpu;
    if (!optimises) setenv("TILEWRIGHT_OPENCL_OPTIONS", "-cl-opt-disable", 1); /* it compiles longer than it computes */
    const bool opened = open_here(&context);
    if (!optimises) unsetenv("TILEWRIGHT_OPENCL_OPTIONS");
    return opened;
}

/* 66000 groups compute longer than PoCL optimises. */
static void deep_case(order kind)
{
    tw_context *const usual = context, *optimised = NULL;
    if (usual != NULL && !open_here(&optimised)) {
        if (queue_case("a context that optimises")) verdict(false);
        return;
    }
    context = optimised;
    together_case("opencl_f32_gemm_simt_16x128", tw_problem_make(TW_F32, TW_T, TW_N, 1, 2, 1), 66000, kind);
    context = usual;
    tw_close(optimised);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--two-devices") == 0) return use_two_devices();
    tap_start(argc, argv);
    if (!tap.list && !open_context()) snprintf(refusal, sizeof refusal, "no OpenCL device: %.250s", why);
    const tw_dtype types[][2] = {{TW_F32, TW_F32},   {TW_F64, TW_F64}, {TW_F16, TW_F32}, {TW_F16, TW_F16},
                                 {TW_BF16, TW_BF16}, {TW_I8, TW_I32},  {TW_U8, TW_I32}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) product_cases(i, types[i][0], types[i][1]);
    for (int out = 0; out < 2; out++) {
        const order kind = out ? OUT_OF_ORDER : IN_ORDER;
        batch_case(1, false, true, kind);
        batch_case(17, false, true, kind);
        batch_case(17, true, true, kind);
        batch_case(9, false, false, kind);
        split_case("opencl_f32_gemm_simt_32x32", 1, kind);
        split_case("opencl_f32_gemm_simt_64x64", 3, kind);
        together_cases(kind);
        deep_case(kind);
        chain_case(20, kind);
        chain_case(150, kind);
        gate_case("a product", 30, 0, kind, false);
        gate_case("a batch", 30, 5, kind, false);
        gate_case("an empty product", 0, 0, kind, false);
        gate_case("a product of a context that is closed", 30, 0, kind, true);
        commands_case(kind, 0);
        commands_case(kind, 6);
        threads_case(false, kind);
        threads_case(true, kind);
    }
    facts_case();
    prepared_case();
    builds_case();
    failing_cases();
    gemm_case(0);
    gemm_case(5);
    epilogue_case("one product", 0, NULL);
    epilogue_case("a batch", 3, NULL);
    epilogue_case("k divided", 0, "opencl_f32_gemm_simt_32x32");
    epilogue_refusals_case();
    host_memory_case();
    if (context == NULL || errors_open()) {
        operand_errors();
        launch_errors();
        batch_errors();
        open_errors();
        own_case();
        origin_case();
        fork_case();
    } else if (queue_case("error: what is refused")) {
        verdict(false);
    }
    two_devices_case();
    if (context != NULL) {
        errors_close();
        tw_close(context);
        me.cl->clReleaseContext(ours);
    }
    return tap_finish();
}
