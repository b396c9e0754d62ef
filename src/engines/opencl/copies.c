/* copies.c - operands in the device's memory: copied there and back, or shown to a device that computes in the host's.
 * */
#include "../gpu.h"
#include "opencl_engine.h"

/* Pitches and extent of an operand whose rows are moved, each with padding of its own that is left alone. */
typedef struct rows_of {
    size_t region[3], device_pitch, host_pitch;
} rows_of;

static const size_t no_offset[3] = {0, 0, 0};

static rows_of rows_of_operand(const operand *o)
{
    return (rows_of){{(size_t)o->cols * o->element_bytes, (size_t)o->rows, 1},
                     (size_t)o->device_ld * o->element_bytes,
                     (size_t)o->ld * o->element_bytes};
}

enum { MOST_PITCH = 0x7fffffff }; /* NVIDIA's driver refuses to copy rectangles whose rows lie 4 GiB apart */

/* An operand and its copy, one way or the other: at once where its elements lie side by side, else as a rectangle, else
 * row by row. */
static tw_status copy(engine *e, const operand *o, cl_memory memory, bool up)
{
    rows_of r = rows_of_operand(o);
    bool at_once = gpu_moves_at_once(o), rectangle = r.host_pitch <= MOST_PITCH;
    if (!at_once && rectangle && up)
        CL_TRY("clEnqueueWriteBufferRect",
               e->cl->clEnqueueWriteBufferRect(e->queue, memory, 1, no_offset, no_offset, r.region, r.device_pitch, 0,
                                               r.host_pitch, 0, o->host, 0, NULL, NULL));
    if (!at_once && rectangle && !up)
        CL_TRY("clEnqueueReadBufferRect",
               e->cl->clEnqueueReadBufferRect(e->queue, memory, 1, no_offset, no_offset, r.region, r.device_pitch, 0,
                                              r.host_pitch, 0, o->host, 0, NULL, NULL));
    if (!at_once && rectangle) return TW_OK;
    size_t runs = at_once ? 1 : r.region[1], bytes = at_once ? gpu_span(o) : r.region[0];
    for (size_t i = 0; i < runs; i++) {
        char *host = (char *)o->host + i * r.host_pitch;
        if (up)
            CL_TRY("clEnqueueWriteBuffer",
                   e->cl->clEnqueueWriteBuffer(e->queue, memory, 1, i * r.device_pitch, bytes, host, 0, NULL, NULL));
        else
            CL_TRY("clEnqueueReadBuffer",
                   e->cl->clEnqueueReadBuffer(e->queue, memory, 1, i * r.device_pitch, bytes, host, 0, NULL, NULL));
    }
    return TW_OK;
}

/* A processor computes in the caller's memory where that has the layout of a copy, aligned and without padding: by the
 * API all of a buffer may be written back. Small operands are copied, in less time than the calls take that show C. */
static bool computes_in_place(const engine *e, const operand *o)
{
    const size_t least_bytes = (size_t)2 << 20;
    return e->vector_bytes > 0 && gpu_span(o) >= least_bytes && (uintptr_t)o->host % 16 == 0 && o->lent &&
           gpu_moves_at_once(o) && (o->rows == 1 || o->ld == o->device_ld);
}

tw_status cl_upload(engine *e, const operand *from, bool copies, buffer *out)
{
    cl_int error;
    size_t bytes = gpu_span(from);
    *out = (buffer){0};
    if (bytes == 0) return TW_OK;
    if (computes_in_place(e, from)) {
        out->memory = e->cl->clCreateBuffer(e->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, from->host,
                                            &error);
        CL_TRY("clCreateBuffer", error);
        out->host = from->host;
        return TW_OK;
    }
    /* NVIDIA's driver wants a rectangle's last row whole too */
    if (!gpu_moves_at_once(from)) bytes += (size_t)(from->device_ld - from->cols) * from->element_bytes;
    cl_memory memory = e->cl->clCreateBuffer(e->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (error != CL_SUCCESS)
        return fail(cl_status(error), "no device memory for %zu bytes: %s (%d)", bytes, cl_error_name(error),
                    (int)error);
    tw_status status = copies ? copy(e, from, memory, true) : TW_OK;
    if (status == TW_OK)
        out->memory = memory;
    else
        e->cl->clReleaseMemObject(memory);
    return status;
}

/* C was computed in the caller's memory: mapping it says that it is to be seen there. */
static tw_status show(engine *e, const buffer *b, size_t bytes)
{
    cl_int error;
    void *at = e->cl->clEnqueueMapBuffer(e->queue, b->memory, 1, CL_MAP_READ, 0, bytes, 0, NULL, NULL, &error);
    CL_TRY("clEnqueueMapBuffer", error);
    CL_TRY("clEnqueueUnmapMemObject", e->cl->clEnqueueUnmapMemObject(e->queue, b->memory, at, 0, NULL, NULL));
    CL_TRY("clFinish", e->cl->clFinish(e->queue));
    return TW_OK;
}

tw_status cl_download(engine *e, const buffer *from, const operand *to)
{
    const tw_status status = from->host != NULL  ? show(e, from, gpu_span(to))
                             : gpu_span(to) == 0 ? TW_OK
                                                 : copy(e, to, from->memory, false);
    return status == TW_NO_MEMORY ? TW_DEVICE_FAILED : status; /* C may not be as it was */
}

void cl_release(engine *e, buffer *b)
{
    if (b->memory != NULL) e->cl->clReleaseMemObject(b->memory);
    b->memory = NULL;
}
