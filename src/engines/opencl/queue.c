/* queue.c - products on a queue of the caller's, of buffers of the caller's. */
#include <stdint.h>
#include <stdio.h>

#include "opencl_engine.h"

/* ---- what the caller's objects are ---- */

/* One number or handle of a buffer; 0 where the driver does not tell. */
static uint64_t memory_number(const engine *e, cl_memory memory, cl_uint what, size_t bytes)
{
    uint64_t number = 0;
    e->cl->clGetMemObjectInfo(memory, what, bytes, &number, NULL);
    return number;
}

static cl_memory whole_of(const engine *e, cl_memory memory)
{
    return (cl_memory)(uintptr_t)memory_number(e, memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof memory);
}

/* A sub-buffer that says nothing of access has its buffer's. */
static cl_bitfield access_of(const engine *e, cl_memory memory)
{
    enum { ANY = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY };
    const cl_bitfield flags = memory_number(e, memory, CL_MEM_FLAGS, sizeof flags) & ANY;
    const cl_memory whole = whole_of(e, memory);
    return flags == 0 && whole != NULL ? access_of(e, whole) : flags;
}

static uint64_t lowest_bit(uint64_t bits) { return bits & (~bits + 1); }

/* Bytes that memory of the driver's own is aligned to, and origins of sub-buffers must be. */
static uint64_t base_align(const engine *e)
{
    return cl_device_number(e->cl, e->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4) / 8;
}

/* The alignment of a buffer's first byte: its buffer's and its origin, if it is a part of one; that of memory of the
 * caller's, if the buffer is made of some; else what the device gives. */
static uint64_t align_of(const engine *e, cl_memory memory)
{
    const cl_memory whole = whole_of(e, memory);
    if (whole != NULL) return lowest_bit(align_of(e, whole) | memory_number(e, memory, CL_MEM_OFFSET, sizeof(size_t)));
    const uint64_t host = memory_number(e, memory, CL_MEM_HOST_PTR, sizeof(void *));
    return lowest_bit(host | base_align(e));
}

static tw_status fail_context(const char *name)
{
    return fail(TW_BAD_ARGUMENT,
                "%s is of another OpenCL context than the one that this context works in, which is "
                "tw_options.device_context or one of its own",
                name);
}

static tw_status check_kind(const engine *e, const placed *x)
{
    cl_uint type = 0;
    cl_int error = e->cl->clGetMemObjectInfo(x->handle, CL_MEM_TYPE, sizeof type, &type, NULL);
    if (error != CL_SUCCESS)
        return fail(TW_BAD_ARGUMENT,
                    "%s is no memory object: clGetMemObjectInfo failed with %s (%d), expected a cl_mem", x->name,
                    cl_error_name(error), (int)error);
    if (type != CL_MEM_OBJECT_BUFFER)
        return fail(TW_BAD_ARGUMENT, "%s is an image or a pipe (CL_MEM_TYPE 0x%x), expected a buffer", x->name, type);
    if ((cl_context)(uintptr_t)memory_number(e, x->handle, CL_MEM_CONTEXT, sizeof(cl_context)) != e->context)
        return fail_context(x->name);
    const cl_bitfield access = access_of(e, x->handle);
    if (x->written && access == CL_MEM_READ_ONLY)
        return fail(TW_BAD_ARGUMENT, "%s is CL_MEM_READ_ONLY, expected a buffer that kernels may write to", x->name);
    if (x->read && access == CL_MEM_WRITE_ONLY)
        return fail(TW_BAD_ARGUMENT, "%s is CL_MEM_WRITE_ONLY, expected a buffer that kernels may read", x->name);
    return TW_OK;
}

static tw_status check_extent(const engine *e, const placed *x)
{
    const uint64_t bytes = memory_number(e, x->handle, CL_MEM_SIZE, sizeof(size_t)),
                   there = bytes / (uint64_t)x->element_bytes;
    if ((uint64_t)x->offset <= there && (uint64_t)x->span <= there - (uint64_t)x->offset) return TW_OK;
    return fail(TW_BAD_ARGUMENT,
                "%s is a buffer of %llu bytes, expected at least %lld elements of %d bytes, from element %lld on",
                x->name, (unsigned long long)bytes, (long long)x->span, x->element_bytes, (long long)x->offset);
}

tw_status cl_find_operand(engine *e, const placed *x, buffer *out, uint32_t *align)
{
    enum { MOST_ALIGN = 256 };
    TRY(cl_check_process(e));
    if (x->offset < 0)
        return fail(TW_BAD_ARGUMENT, "launch.offset_%s is %lld, expected 0 or more", x->name, (long long)x->offset);
    TRY(check_kind(e, x));
    TRY(check_extent(e, x));
    const uint64_t base = base_align(e), origin = memory_number(e, x->handle, CL_MEM_OFFSET, sizeof(size_t));
    if (base > 0 && origin % base != 0)
        return fail(
            TW_BAD_ARGUMENT,
            "%s is a sub-buffer that begins at byte %llu of its buffer, expected a multiple of this device's %llu",
            x->name, (unsigned long long)origin, (unsigned long long)base);
    const uint64_t first = (uint64_t)x->offset * (uint64_t)x->element_bytes,
                   found = lowest_bit(align_of(e, x->handle) | first | MOST_ALIGN);
    if (found % (uint64_t)x->element_bytes != 0)
        return fail(TW_BAD_ARGUMENT,
                    "%s is a buffer of memory that is aligned to %llu bytes, expected one element of %d", x->name,
                    (unsigned long long)found, x->element_bytes);
    *out = (buffer){.memory = x->handle, .offset = x->offset};
    *align = (uint32_t)found;
    return TW_OK;
}

static tw_status check_queue(engine *e, cl_queue queue, commands *out)
{
    cl_context context = NULL;
    cl_device device = NULL;
    cl_bitfield properties = 0;
    if (queue == NULL) return fail(TW_BAD_ARGUMENT, "launch.queue is NULL, expected a cl_command_queue");
    cl_int error = e->cl->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (error == CL_SUCCESS) error = e->cl->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (error == CL_SUCCESS)
        error = e->cl->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    if (error != CL_SUCCESS)
        return fail(TW_BAD_ARGUMENT,
                    "launch.queue is no queue: clGetCommandQueueInfo failed with %s (%d), expected a cl_command_queue",
                    cl_error_name(error), (int)error);
    if (context != e->context) return fail_context("launch.queue");
    if (device != e->device)
        return fail(TW_BAD_ARGUMENT, "launch.queue is of another device of the OpenCL context than this context's");
    if (properties & CL_QUEUE_ON_DEVICE)
        return fail(TW_BAD_ARGUMENT, "launch.queue is one on the device, expected one that the host fills");
    *out = (commands){.queue = queue, .in_order = !(properties & CL_QUEUE_OUT_OF_ORDER)};
    return TW_OK;
}

static tw_status check_waits(engine *e, const tw_launch *to, commands *out)
{
    for (uint32_t i = 0; i < to->wait_count; i++) {
        char name[40];
        cl_context context = NULL;
        snprintf(name, sizeof name, "launch.wait_list[%u]", i);
        if (to->wait_list[i] == NULL) return fail(TW_BAD_ARGUMENT, "%s is NULL, expected a cl_event", name);
        cl_int error = e->cl->clGetEventInfo(to->wait_list[i], CL_EVENT_CONTEXT, sizeof context, &context, NULL);
        if (error != CL_SUCCESS)
            return fail(TW_BAD_ARGUMENT, "%s is no event: clGetEventInfo failed with %s (%d), expected a cl_event",
                        name, cl_error_name(error), (int)error);
        if (context != e->context) return fail_context(name);
    }
    out->wait_count = to->wait_count;
    out->wait_list = to->wait_count > 0 ? (const cl_event *)to->wait_list : NULL;
    return TW_OK;
}

static tw_status begin(engine *e, const tw_launch *to, commands *out)
{
    TRY(cl_check_process(e));
    TRY(check_queue(e, to->queue, out));
    TRY(check_waits(e, to, out));
    out->tells_last = to->event != NULL;
    return TW_OK;
}

/* ---- enqueue, mark ---- */

static tw_status check_workspace(engine *e, const tw_launch *to)
{
    enum { WORKSPACE_ALIGN = 16 };
    buffer found;
    uint32_t align;
    const placed workspace = {.name = "launch.workspace",
                              .handle = to->workspace,
                              .span = to->workspace_bytes,
                              .element_bytes = 1,
                              .read = true,
                              .written = true};
    if (to->workspace == NULL) return TW_OK;
    TRY(cl_find_operand(e, &workspace, &found, &align));
    if (align >= WORKSPACE_ALIGN) return TW_OK;
    return fail(TW_BAD_ARGUMENT, "launch.workspace is a buffer of memory that is aligned to %u bytes, expected %d",
                align, (int)WORKSPACE_ALIGN);
}

static tw_status put(engine *e, runnable *r, commands *q, const buffer at[3])
{
    TRY(cl_clear_counters(e, r, q));
    return cl_launch_items(e, r, q, at);
}

/* The event of an empty product. */
static tw_status mark(engine *e, const tw_launch *to)
{
    commands q;
    cl_event event = NULL;
    if (to->event == NULL) return TW_OK;
    TRY(begin(e, to, &q));
    CL_TRY("clEnqueueMarkerWithWaitList",
           e->cl->clEnqueueMarkerWithWaitList(q.queue, q.wait_count, q.wait_list, &event));
    *to->event = event;
    return TW_OK;
}

tw_status cl_enqueue(engine *e, const plan *p, const tw_batch *batch, const tw_launch *to, const buffer *a,
                     const buffer *b, const buffer *c)
{
    if (p == NULL) return mark(e, to);
    const buffer at[3] = {*a, *b, *c};
    runnable r = {
        .plan = p, .batch = batch, .workspace = (uint64_t)(uintptr_t)to->workspace, .counters = to->workspace};
    commands q;
    gpu_launch launches[LAUNCH_KINDS];
    idle_kernel taken[LAUNCH_KINDS] = {{0}};
    const int count = plan_launches(p, launches);
    tw_status status = TW_OK;
    TRY(begin(e, to, &q));
    TRY(check_workspace(e, to));
    for (int i = 0; status == TW_OK && i < count; i++) {
        status = cl_take_kernel(e, &launches[i].kernel, &taken[i]);
        r.kernels[launches[i].kind] = taken[i].kernel;
    }
    if (status == TW_OK) status = put(e, &r, &q, at);
    for (int i = 0; i < count; i++) cl_give_kernel(e, &taken[i]);
    if (status == TW_OK && to->event != NULL) *to->event = q.last, q.last = NULL;
    cl_drop_commands(e, &q);
    return status;
}
