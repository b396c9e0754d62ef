/* product.c - carries out a product on one device: finds its kernels, copies operands, launches, waits. */
#include <pthread.h>

#include "../gpu.h"
#include "cuda_engine.h"

enum { STAGED_LEAST_BYTES = 16 << 20 };

/* ---- prepare ---- */

/* The kernels of a plan's launches, by `find`: a function that builds what is missing, or one that refuses. */
static tw_status find_kernels(engine *e, runnable *r,
                              tw_status find(engine *, const kernel_text *, cu_stream, cu_function *))
{
    gpu_launch launches[LAUNCH_KINDS];
    const int count = plan_launches(r->plan, launches);
    for (int i = 0; i < count; i++) {
        cu_function kernel;
        TRY(find(e, &launches[i].kernel, r->stream, &kernel));
        r->kernels[launches[i].kind] = kernel;
    }
    return TW_OK;
}

static tw_status find_any(engine *e, const kernel_text *w, cu_stream stream, cu_function *out)
{
    (void)stream;
    return kernels_build(&e->kernels, w, out);
}

tw_status cuda_prepare(engine *e, const plan *p, runnable *out)
{
    *out = (runnable){.plan = p};
    TRY(cuda_enter(e));
    tw_status status = find_kernels(e, out, find_any);
    if (status == TW_OK) status = cuda_take_lane(e, out);
    return cuda_leave(e, status);
}

/* ---- upload, launch, wait, download, release, drop ---- */

/* Copies rows of an operand between host and device, each with its own padding, which is left alone. */
static tw_status copy_rows(engine *e, const operand *o, cu_pointer device, bool up)
{
    /* beyond it a 2D copy is refused */
    size_t most_pitch = (size_t)cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_MAX_PITCH);
    size_t host_pitch = (size_t)o->ld * o->element_bytes, pitch = (size_t)o->device_ld * o->element_bytes,
           width = (size_t)o->cols * o->element_bytes;
    cu_copy_2d copy = {.src_type = up ? CU_MEMORY_HOST : CU_MEMORY_DEVICE,
                       .src_host = up ? o->host : NULL,
                       .src_device = up ? 0 : device,
                       .src_pitch = up ? host_pitch : pitch,
                       .dst_type = up ? CU_MEMORY_DEVICE : CU_MEMORY_HOST,
                       .dst_host = up ? NULL : o->host,
                       .dst_device = up ? device : 0,
                       .dst_pitch = up ? pitch : host_pitch,
                       .width_bytes = width,
                       .height = (size_t)o->rows};
    if (host_pitch <= most_pitch && pitch <= most_pitch) {
        CU_TRY(cuMemcpy2DUnaligned_v2, (&copy));
        return TW_OK;
    }
    for (size_t i = 0; i < (size_t)o->rows; i++) {
        char *row = (char *)o->host + i * host_pitch;
        if (up)
            CU_TRY(cuMemcpyHtoD_v2, (device + i * pitch, row, width));
        else
            CU_TRY(cuMemcpyDtoH_v2, (row, device + i * pitch, width));
    }
    return TW_OK;
}

static tw_status copy_staged(engine *e, const operand *o, cu_pointer device, bool up)
{
    staged what = {.host = o->host,
                   .device = device,
                   .host_pitch = (size_t)o->ld * o->element_bytes,
                   .device_pitch = (size_t)o->device_ld * o->element_bytes,
                   .width = (size_t)o->cols * o->element_bytes,
                   .rows = o->rows,
                   .up = up};
    if (gpu_moves_at_once(o)) what.width = what.host_pitch = what.device_pitch = gpu_span(o), what.rows = 1;
    return staging_run(&e->staging, e->context, &what, o->stop);
}

/* Copies an operand between host and device: a large one by several threads through pinned memory, which does not pay
 * for a small one. */
static tw_status copy(engine *e, const operand *o, cu_pointer device, bool up)
{
    if (gpu_span(o) >= STAGED_LEAST_BYTES) return copy_staged(e, o, device, up);
    if (!gpu_moves_at_once(o)) return copy_rows(e, o, device, up);
    if (up)
        CU_TRY(cuMemcpyHtoD_v2, (device, o->host, gpu_span(o)));
    else
        CU_TRY(cuMemcpyDtoH_v2, (o->host, device, gpu_span(o)));
    return TW_OK;
}

static tw_status upload(engine *e, const operand *from, bool copies, buffer *out)
{
    size_t bytes = gpu_span(from);
    cu_pointer memory;
    cu_result error = e->cu->cuMemAlloc_v2(&memory, bytes);
    if (error == CU_OUT_OF_MEMORY)
        return fail(TW_NO_MEMORY, "no device memory for %zu bytes: %s", bytes, cu_error_name(e->cu, error));
    if (error != CU_SUCCESS) return cu_fail(e->cu, "cuMemAlloc", error);
    tw_status status = copies ? copy(e, from, memory, true) : TW_OK;
    if (status == TW_OK)
        out->device = memory;
    else
        e->cu->cuMemFree_v2(memory);
    return status;
}

tw_status cuda_upload(engine *e, const operand *from, bool copies, buffer *out)
{
    *out = (buffer){0};
    if (gpu_span(from) == 0) return TW_OK;
    TRY(cuda_enter(e));
    return cuda_leave(e, upload(e, from, copies, out));
}

static tw_status launch(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c)
{
    if (r->timed) CU_TRY(cuEventRecord, (r->begin, r->stream));
    TRY(cuda_launch_items(e, r, a, b, c));
    if (r->timed) CU_TRY(cuEventRecord, (r->event, r->stream));
    return TW_OK;
}

/* Takes a workspace of the engine's own at the first launch that needs one. */
static tw_status find_workspace(engine *e, runnable *r, size_t bytes)
{
    cu_pointer memory;
    if (bytes == 0 || r->workspace != 0) return TW_OK;
    cu_result error = e->cu->cuMemAlloc_v2(&memory, bytes);
    if (error == CU_OUT_OF_MEMORY)
        return fail(TW_NO_MEMORY, "no device memory for %zu bytes of workspace: %s", bytes,
                    cu_error_name(e->cu, error));
    if (error != CU_SUCCESS) return cu_fail(e->cu, "cuMemAlloc", error);
    r->workspace = memory;
    return TW_OK;
}

tw_status cuda_launch(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c)
{
    if (r->plan->problem.m == 0 || r->plan->problem.n == 0) return TW_OK;
    TRY(cuda_enter(e));
    tw_status status = find_workspace(e, r, r->plan->workspace_bytes);
    r->launched = status == TW_OK;
    return cuda_leave(e, status == TW_OK ? launch(e, r, a, b, c) : status);
}

/* A stream that is being captured records work and runs none; compiling cannot be recorded. */
static tw_status find_or_build_for(engine *e, const kernel_text *w, cu_stream stream, cu_function *out)
{
    int capturing = CU_CAPTURE_NONE;
    if ((*out = kernels_find(&e->kernels, w)) != NULL) return TW_OK;
    CU_TRY(cuStreamIsCapturing, (stream, &capturing));
    if (capturing != CU_CAPTURE_NONE)
        return fail(
            TW_BUILD_FAILED,
            "launch.stream is being captured and %s%s%s is not built yet: tw_prepare() builds it before the capture",
            w->source.file, w->options[0] != '\0' ? " " : "", w->options);
    return kernels_build(&e->kernels, w, out);
}

static tw_status enqueue(engine *e, const plan *p, const tw_batch *batch, const tw_launch *to, const buffer *a,
                         const buffer *b, const buffer *c)
{
    runnable r = {.plan = p, .batch = batch, .stream = to->stream, .workspace = (cu_pointer)(uintptr_t)to->workspace};
    TRY(find_kernels(e, &r, find_or_build_for));
    return launch(e, &r, a, b, c);
}

/* The error text for a stream of another CUDA context, of which the driver only says that a handle is not valid. */
static tw_status check_owner(engine *e, cu_stream stream, tw_status status)
{
    cu_context owner = e->context;
    if (status != TW_DEVICE_FAILED || e->cu->cuStreamGetCtx(stream, &owner) != CU_SUCCESS || owner == e->context)
        return status;
    return fail(TW_BAD_ARGUMENT, "launch.stream is of another CUDA context than the one that this context works in");
}

tw_status cuda_enqueue(engine *e, const plan *p, const tw_batch *batch, const tw_launch *to, const buffer *a,
                       const buffer *b, const buffer *c)
{
    if (p == NULL) return TW_OK;
    TRY(cuda_enter(e));
    return cuda_leave(e, check_owner(e, to->stream, enqueue(e, p, batch, to, a, b, c)));
}

static tw_status wait(engine *e, runnable *r)
{
    float milliseconds = 0;
    CU_TRY(cuStreamSynchronize, (r->stream));
    if (!r->timed || r->plan->problem.m == 0 || r->plan->problem.n == 0) return TW_OK;
    CU_TRY(cuEventElapsedTime, (&milliseconds, r->begin, r->event));
    r->seconds = 1e-3 * (double)milliseconds;
    return TW_OK;
}

tw_status cuda_wait(engine *e, runnable *r)
{
    TRY(cuda_enter(e));
    return cuda_leave(e, wait(e, r));
}

tw_status cuda_download(engine *e, const buffer *from, const operand *to)
{
    if (gpu_span(to) == 0) return TW_OK;
    TRY(cuda_enter(e));
    tw_status status = copy(e, to, from->device, false);
    /* no memory, the status, promises that C is as it was, which nobody knows after a plain copy */
    if (status == TW_NO_MEMORY && gpu_span(to) < STAGED_LEAST_BYTES) status = TW_DEVICE_FAILED;
    return cuda_leave(e, status);
}

void cuda_release_buffer(engine *e, buffer *b)
{
    if (b->device == 0 || cuda_enter(e) != TW_OK) return;
    e->cu->cuMemFree_v2(b->device);
    b->device = 0;
    cuda_leave(e, TW_OK);
}

void cuda_drop(engine *e, runnable *r)
{
    buffer workspace = {.device = r->workspace};
    cuda_give_lane(e, r);
    cuda_release_buffer(e, &workspace);
}
