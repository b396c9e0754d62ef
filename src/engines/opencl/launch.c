/* launch.c - launches kernels: their arguments, the commands of a product one behind the other, batches. */
#include "../gpu.h"
#include "opencl_engine.h"

/* What kernels are launched with: all but the last in the order of their parameters (rung.clh, types.clh). */
typedef struct arguments {
    int32_t m, n, k;
    scalar alpha;
    cl_memory a;
    int64_t lda;
    cl_memory b;
    int64_t ldb;
    scalar beta;
    cl_memory c;
    int64_t ldc;
    int32_t splits;
    cl_memory sums;
    int32_t op_a, op_b, block_m, block_n;
    cl_memory counters;
    int32_t items;
    int64_t stride_a, stride_b, stride_c;
} arguments;

typedef struct argument {
    size_t bytes;
    const void *value;
} argument;

enum { COMMON_PARAMETERS = 11, SPLIT_K_PARAMETERS = 2, PANELS_PARAMETERS = 10, PANELS_ITEMS = 6 /* which is items */ };
enum { OPERAND_PARAMETERS = 4, SCALAR_PARAMETERS = 1 }; /* of what an epilogue reads (kernels/opencl/epilogue.clh) */

static cl_uint bound_parameters(const value_list *list, int number)
{
    if (!value_reads(list, number)) return 0;
    return list->bound[number].type == TYPE_NUMBER ? SCALAR_PARAMETERS : OPERAND_PARAMETERS;
}

/* The number of the first parameter behind those that all kernels have: of a kernel that makes C by an epilogue, behind
 * what that reads. */
static cl_uint own_parameters(const gpu_launch *how, const plan *p)
{
    const tw_epilogue *e = how->kernel.epilogue != NULL ? p->problem.epilogue : NULL;
    cl_uint first = COMMON_PARAMETERS;
    for (int q = 0; e != NULL && q < e->values.bindings; q++) first += bound_parameters(&e->values, q);
    return first;
}

static cl_uint more_parameters(const plan *p)
{
    return p->row->gpu.adds != NULL ? SPLIT_K_PARAMETERS : p->row->gpu.family == FAMILY_PANELS ? PANELS_PARAMETERS : 0;
}

static tw_status set_some(engine *e, cl_kernel kernel, cl_uint first, const argument *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CL_TRY("clSetKernelArg", e->cl->clSetKernelArg(kernel, first + (cl_uint)i, list[i].bytes, list[i].value));
    return TW_OK;
}

/* What the epilogue reads, of the kernel that makes C. */
static tw_status set_bound(engine *e, const runnable *r, cl_kernel kernel)
{
    const value_list *list = &r->plan->problem.epilogue->values;
    cl_uint next = COMMON_PARAMETERS;
    for (int q = 0; q < list->bindings; q++) {
        const value_binding *b = &list->bound[q];
        const cl_uint count = bound_parameters(list, q);
        const gpu_bound *to = r->bound;
        const cl_memory memory = to != NULL ? to->at[q].memory : (void *)(uintptr_t)b->at;
        const int64_t first = to != NULL ? to->at[q].offset : 0, ld = to != NULL ? to->ld[q] : b->ld,
                      stride = to != NULL ? to->stride[q] : b->stride;
        const scalar number = gpu_scalar(r->plan->problem.dtype, b->number);
        const argument as_scalar = {(size_t)kernel_sum_bytes(r->plan->row), &number},
                       as_operand[OPERAND_PARAMETERS] = {{sizeof memory, &memory},
                                                         {sizeof first, &first},
                                                         {sizeof ld, &ld},
                                                         {sizeof stride, &stride}};
        TRY(set_some(e, kernel, next, b->type == TYPE_NUMBER ? &as_scalar : as_operand, count));
        next += count;
    }
    return TW_OK;
}

static tw_status set_arguments(engine *e, const runnable *r, const gpu_launch *how, const buffer at[3])
{
    cl_kernel kernel = r->kernels[how->kind];
    const plan *plan = r->plan;
    const tw_problem *p = &plan->problem;
    const tw_batch none = {.count = 1}, *batch = r->batch != NULL ? r->batch : &none;
    const arguments x = {.m = (int32_t)p->m,
                         .n = (int32_t)p->n,
                         .k = (int32_t)p->k,
                         .alpha = gpu_scalar(p->dtype, p->alpha),
                         .a = at[0].memory,
                         .lda = p->lda,
                         .b = at[1].memory,
                         .ldb = plan->gpu.transposes_b ? max_i64(p->k, 1) : p->ldb,
                         .beta = gpu_scalar(p->dtype, p->beta),
                         .c = at[2].memory,
                         .ldc = p->ldc,
                         .splits = (int32_t)plan->gpu.k_split.splits,
                         .sums = (cl_memory)(uintptr_t)r->workspace,
                         .op_a = p->op_a,
                         .op_b = p->op_b,
                         .block_m = (int32_t)plan->gpu.block_m,
                         .block_n = (int32_t)plan->gpu.block_n,
                         .counters = r->counters,
                         .items = 1,
                         .stride_a = batch->stride_a,
                         .stride_b = batch->stride_b,
                         .stride_c = batch->stride_c};
    /* clang-format off */
#define ARGUMENT(name) {sizeof x.name, &x.name}
#define SCALAR(name)   {(size_t)kernel_sum_bytes(plan->row), &x.name}
    const argument all[] = {ARGUMENT(m), ARGUMENT(n), ARGUMENT(k), SCALAR(alpha), ARGUMENT(a), ARGUMENT(lda),
                            ARGUMENT(b), ARGUMENT(ldb), SCALAR(beta), ARGUMENT(c), ARGUMENT(ldc)},
                   splits[] = {ARGUMENT(splits), ARGUMENT(sums)},
                   panels[] = {ARGUMENT(op_a), ARGUMENT(op_b), ARGUMENT(block_m), ARGUMENT(block_n), ARGUMENT(counters),
                             ARGUMENT(sums), ARGUMENT(items), ARGUMENT(stride_a), ARGUMENT(stride_b),
                             ARGUMENT(stride_c)};
#undef SCALAR
#undef ARGUMENT
    /* clang-format on */
    _Static_assert(sizeof all / sizeof *all == COMMON_PARAMETERS, "");
    _Static_assert(sizeof splits / sizeof *splits == SPLIT_K_PARAMETERS, "");
    _Static_assert(sizeof panels / sizeof *panels == PANELS_PARAMETERS, "");
    const bool divides = plan->row->gpu.adds != NULL;
    TRY(set_some(e, kernel, 0, all, COMMON_PARAMETERS));
    if (how->kernel.epilogue != NULL) TRY(set_bound(e, r, kernel));
    return set_some(e, kernel, own_parameters(how, plan), divides ? splits : panels, more_parameters(plan));
}

/* Items of a batch for one launch, or the product: where their operands begin, in elements of their buffers. */
typedef struct items {
    int64_t first[3], stride[3];
    int32_t count;
    bool are_last;
} items;

/* Where items begin and how far apart they lie: the parameters of offsets.c; and how many they are. */
static tw_status set_items(engine *e, const runnable *r, const gpu_launch *how, const items *x)
{
    cl_kernel kernel = r->kernels[how->kind];
    const cl_uint own = own_parameters(how, r->plan);
    const argument count = {sizeof x->count, &x->count};
    argument list[6];
    for (int i = 0; i < 3; i++)
        list[i] = (argument){sizeof *x->first, &x->first[i]},
        list[3 + i] = (argument){sizeof *x->stride, &x->stride[i]};
    if (r->plan->row->gpu.family == FAMILY_PANELS) TRY(set_some(e, kernel, own + PANELS_ITEMS, &count, 1));
    if (r->plan->problem.place_c != TW_DEVICE) return TW_OK;
    return set_some(e, kernel, own + more_parameters(r->plan), list, 6);
}

/* ---- commands ---- */

/* Where the next command puts its event; NULL: nobody waits for it. */
static cl_event *event_for(const commands *q, bool is_last, cl_event *event)
{
    const bool wanted = is_last ? q->tells_last : !q->in_order;
    return wanted || (!q->begun && q->tells_first) ? event : NULL;
}

/* A command with this event is on the queue: the next one follows it. */
static void follow(engine *e, commands *q, cl_event event)
{
    if (q->last != NULL && q->last != q->first) e->cl->clReleaseEvent(q->last);
    if (!q->begun && q->tells_first) q->first = event;
    q->begun = true, q->last = event;
    q->wait_count = q->in_order ? 0 : 1, q->wait_list = q->in_order ? NULL : &q->last;
}

void cl_drop_commands(engine *e, commands *q)
{
    if (q->first != NULL && q->first != q->last) e->cl->clReleaseEvent(q->first);
    if (q->last != NULL) e->cl->clReleaseEvent(q->last);
    q->first = q->last = NULL;
}

/* The launch's grid of groups, or one for each of `deep` items. */
static tw_status put_kernel(engine *e, commands *q, cl_kernel kernel, const gpu_launch *how, int64_t deep, bool is_last)
{
    const size_t local[3] = {(size_t)how->threads_x, (size_t)how->threads_y, 1},
                 global[3] = {(size_t)how->grid_x * local[0], (size_t)how->grid_y * local[1], (size_t)deep};
    cl_event event = NULL;
    CL_TRY("clEnqueueNDRangeKernel",
           e->cl->clEnqueueNDRangeKernel(q->queue, kernel, deep > 1 ? 3 : 2, NULL, global, local, q->wait_count,
                                         q->wait_list, event_for(q, is_last, &event)));
    follow(e, q, event);
    return TW_OK;
}

tw_status cl_clear_counters(engine *e, const runnable *r, commands *q)
{
    enum { PANELS_COUNTERS = 2 };
    const int32_t zero = 0;
    cl_event event = NULL;
    if (r->plan->row->gpu.family != FAMILY_PANELS) return TW_OK;
    CL_TRY("clEnqueueFillBuffer", e->cl->clEnqueueFillBuffer(q->queue, (cl_memory)(uintptr_t)r->workspace, &zero,
                                                             sizeof zero, 0, PANELS_COUNTERS * sizeof zero,
                                                             q->wait_count, q->wait_list, event_for(q, false, &event)));
    follow(e, q, event);
    return TW_OK;
}

/* ---- launch, wait ---- */

static tw_status launch_some(engine *e, runnable *r, commands *q, const items *x)
{
    gpu_launch launches[LAUNCH_KINDS];
    const int count = plan_launches(r->plan, launches);
    const bool panels = r->plan->row->gpu.family == FAMILY_PANELS;
    for (int i = 0; i < count; i++) {
        const int64_t deep = launches[i].kind == LAUNCH_TILES && !panels ? x->count : 1;
        TRY(set_items(e, r, &launches[i], x));
        TRY(put_kernel(e, q, r->kernels[launches[i].kind], &launches[i], deep, x->are_last && i + 1 == count));
        r->launched = true;
    }
    return TW_OK;
}

/* Items of a launch: a grid's third dimension is 65535 at most on NVIDIA; FAMILY_PANELS counts blocks in 32 bits. */
static int64_t most_items(const plan *p)
{
    enum { MOST_DEEP = 65535, MOST_BLOCKS = 1 << 30 };
    const gpu_plan *gpu = &p->gpu;
    if (gpu->items == 0) return 1;
    if (p->row->gpu.family != FAMILY_PANELS) return MOST_DEEP;
    return max_i64(MOST_BLOCKS / (ceil_div(p->problem.m, gpu->block_m) * ceil_div(p->problem.n, gpu->block_n)), 1);
}

tw_status cl_launch_items(engine *e, runnable *r, commands *q, const buffer at[3])
{
    const tw_batch one = {.count = 1}, *batch = r->batch != NULL ? r->batch : &one;
    const int64_t strides[3] = {batch->stride_a, batch->stride_b, batch->stride_c}, most = most_items(r->plan);
    gpu_launch launches[LAUNCH_KINDS];
    const int count = plan_launches(r->plan, launches);
    for (int i = 0; i < count; i++) TRY(set_arguments(e, r, &launches[i], at));
    for (int64_t i = 0; i < batch->count; i += most) {
        /* one more launch where the call is cancelled: the last one's event is waited for */
        const bool ends = stop_asked(r->stop);
        items x = {.count = (int32_t)min_i64(most, batch->count - i), .are_last = ends || batch->count - i <= most};
        for (int j = 0; j < 3; j++) x.first[j] = at[j].offset + i * strides[j], x.stride[j] = strides[j];
        TRY(launch_some(e, r, q, &x));
        if (ends) break;
    }
    return TW_OK;
}

tw_status cl_queue_for(engine *e, bool timed, cl_queue *out)
{
    cl_int error = CL_SUCCESS;
    *out = e->queue;
    if (!timed) return TW_OK;
    pthread_mutex_lock(&e->idling);
    if (e->timed_queue == NULL)
        e->timed_queue = e->cl->clCreateCommandQueue(e->context, e->device, CL_QUEUE_PROFILING_ENABLE, &error);
    *out = e->timed_queue;
    pthread_mutex_unlock(&e->idling);
    CL_TRY("clCreateCommandQueue", error);
    return TW_OK;
}

/* What a FAMILY_PANELS row counts blocks in: its kernel leaves the zeros that it wants to find. A buffer of
 * their own: the host has written all of it, which oclgrind wants. On a caller's queue they begin the workspace. */
static tw_status find_counters(engine *e, runnable *r)
{
    const int32_t zeros[2] = {0};
    cl_int error;
    if (r->plan->row->gpu.family != FAMILY_PANELS || r->counters != NULL) return TW_OK;
    cl_memory made = e->cl->clCreateBuffer(e->context, CL_MEM_READ_WRITE, sizeof zeros, NULL, &error);
    if (error != CL_SUCCESS) return fail(cl_status(error), "no device memory for counters: %s", cl_error_name(error));
    error = e->cl->clEnqueueWriteBuffer(e->queue, made, 1, 0, sizeof zeros, zeros, 0, NULL, NULL);
    if (error != CL_SUCCESS) e->cl->clReleaseMemObject(made);
    CL_TRY("clEnqueueWriteBuffer", error);
    r->counters = made;
    return TW_OK;
}

/* A workspace of the engine's own, at the first launch that needs one. */
static tw_status find_workspace(engine *e, runnable *r)
{
    cl_int error;
    TRY(find_counters(e, r));
    if (r->plan->workspace_bytes == 0 || r->workspace != 0) return TW_OK;
    cl_memory memory = e->cl->clCreateBuffer(e->context, CL_MEM_READ_WRITE, r->plan->workspace_bytes, NULL, &error);
    if (error != CL_SUCCESS)
        return fail(cl_status(error), "no device memory for %zu bytes of workspace: %s (%d)", r->plan->workspace_bytes,
                    cl_error_name(error), (int)error);
    r->workspace = (uint64_t)(uintptr_t)memory;
    return TW_OK;
}

tw_status cl_launch(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c)
{
    const plan *p = r->plan;
    const buffer at[3] = {*a, *b, *c};
    commands q = {.in_order = true, .tells_first = r->timed, .tells_last = true};
    if (p->problem.m == 0 || p->problem.n == 0) return TW_OK;
    TRY(cl_queue_for(e, r->timed, &q.queue));
    tw_status status = find_workspace(e, r);
    if (status == TW_OK) status = cl_launch_items(e, r, &q, at);
    if (status != TW_OK) {
        cl_drop_commands(e, &q);
        return status;
    }
    r->begin = q.first != q.last ? q.first : NULL, r->event = q.last;
    return TW_OK;
}

tw_status cl_end_event(engine *e, cl_event first, cl_event event, double *seconds)
{
    cl_ulong begin = 0, end = 0;
    cl_int error = e->cl->clWaitForEvents(1, &event);
    if (error == CL_SUCCESS && seconds != NULL)
        error = e->cl->clGetEventProfilingInfo(first != NULL ? first : event, CL_PROFILING_COMMAND_START, sizeof begin,
                                               &begin, NULL);
    if (error == CL_SUCCESS && seconds != NULL)
        error = e->cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    e->cl->clReleaseEvent(event);
    CL_TRY("the kernel", error);
    if (seconds != NULL) *seconds = 1e-9 * (double)(end - begin);
    return TW_OK;
}

tw_status cl_wait(engine *e, runnable *r)
{
    cl_event event = r->event, first = r->begin;
    if (event == NULL) return TW_OK;
    r->event = r->begin = NULL;
    tw_status status = cl_end_event(e, first, event, r->timed ? &r->seconds : NULL);
    if (first != NULL) e->cl->clReleaseEvent(first);
    return status;
}
