/* probe.c - what an OpenCL device can do at most: multiply-adds, bytes from its memory and from what a group shares. */
#include "opencl_engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROBE_THREADS = 256 };

/* A probe of opencl/probe.cl whose arguments are set: the shortest of `tries` runs. */
static tw_status least_seconds(engine *e, cl_kernel kernel, size_t groups, int tries, double *seconds)
{
    size_t local = PROBE_THREADS, global = groups * PROBE_THREADS;
    double now = 0;
    cl_queue queue;
    TRY(cl_queue_for(e, true, &queue));
    *seconds = 0;
    for (int i = 0; i <= tries; i++) { /* the first warms up */
        cl_event event;
        CL_TRY("clEnqueueNDRangeKernel",
               e->cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, &event));
        TRY(cl_end_event(e, NULL, event, &now));
        if (i > 0 && (*seconds <= 0 || now < *seconds)) *seconds = now;
    }
    return TW_OK;
}

static size_t probe_groups(engine *e)
{
    uint64_t units = cl_device_number(e->cl, e->device, CL_DEVICE_MAX_COMPUTE_UNITS, 4);
    return 8 * (size_t)(units > 0 ? units : 1);
}

/* Rounds of a probe that takes (sink, rounds) and then `count` numbers of 4 bytes: grown until a run takes 5 ms, since
 * devices differ by a factor of a thousand; then the shortest of `tries` runs. */
static tw_status rounds_per_second(engine *e, cl_kernel kernel, cl_memory sink, const void *numbers, cl_uint count,
                                   int tries, double *rounds_per_s)
{
    double seconds = 0;
    int rounds = 16;
    CL_TRY("clSetKernelArg", e->cl->clSetKernelArg(kernel, 0, sizeof sink, &sink));
    for (cl_uint i = 0; i < count; i++)
        CL_TRY("clSetKernelArg", e->cl->clSetKernelArg(kernel, 2 + i, 4, (const char *)numbers + 4 * i));
    while (seconds < 5e-3 && rounds < 1 << 24) {
        rounds *= 4;
        CL_TRY("clSetKernelArg", e->cl->clSetKernelArg(kernel, 1, 4, &rounds));
        TRY(least_seconds(e, kernel, probe_groups(e), 1, &seconds));
    }
    TRY(least_seconds(e, kernel, probe_groups(e), tries, &seconds));
    *rounds_per_s = (double)rounds * PROBE_THREADS * (double)probe_groups(e) / seconds;
    return TW_OK;
}

/* An entry of opencl/probe.cl built with these options, given a word to write into and its numbers: per second what a
 * work-item does `each` times in a round. */
static tw_status probe(engine *e, const char *entry, const char *options, const void *numbers, cl_uint count,
                       double each, int tries, double *per_s)
{
    cl_kernel kernel;
    buffer sink;
    double rounds_per_s = 0;
    TRY(cl_find_or_build(e, &(kernel_text){{"opencl/probe.cl", entry, NULL}, options, 0}, false, &kernel));
    tw_status status = cl_upload(e, &(operand){.rows = 1, .cols = 1, .ld = 1, .element_bytes = 4}, false, &sink);
    if (status == TW_OK) {
        status = rounds_per_second(e, kernel, sink.memory, numbers, count, tries, &rounds_per_s);
        cl_release(e, &sink);
    }
    e->cl->clReleaseKernel(kernel);
    if (status == TW_OK) *per_s = each * rounds_per_s;
    return status;
}

/* Sums of bf16 and f16 are in f32; integers are multiplied in several ways, whose peak is not known. Nor is that of
 * matrix units, which multiply-adds are no bound for. */
tw_status cl_peak_flops(engine *e, tw_dtype dtype, int threads, int tries, double *flops_per_s)
{
    enum { HALVES_SM = 80, DOUBLES_SM = 90 }; /* of the rows of kernels.def */
    const float factor_and_addend[2] = {0.999f, 0.001f};
    const bool doubles = dtype == TW_F64, cpu = cl_vector_bytes(e->cl, e->device) > 0,
               wide = cl_vector_bytes(e->cl, e->device) >= 64;
    /* registers: of 64 bytes there are 32, of 32 bytes 16 */
    const int lanes = wide && !doubles ? 16 : 8, chains = !cpu || wide ? 16 : doubles ? 6 : 12;
    char options[64];
    (void)threads; /* the whole device */
    if (dtype_find(dtype)->result != (doubles ? TW_F64 : TW_F32))
        return fail(TW_NO_KERNEL, "the opencl engine has no probe for %s", dtype_find(dtype)->lab.name);
    if (dtype != TW_F32 && e->sm >= (doubles ? DOUBLES_SM : HALVES_SM))
        return fail(TW_NO_KERNEL, "the opencl engine has no probe for %s on matrix units", dtype_find(dtype)->lab.name);
    snprintf(options, sizeof options, "-DREAL=%s -DLANES=%d -DCHAINS=%d", doubles ? "double" : "float", lanes, chains);
    return probe(e, "probe_fma", options, factor_and_addend, 2, 2.0 * chains * lanes, tries, flops_per_s);
}

tw_status cl_shared_bandwidth(engine *e, int tries, double *bytes_per_s)
{
    enum { BYTES_EACH = 8 * 16 };
    return probe(e, "probe_shared", "", NULL, 0, BYTES_EACH, tries, bytes_per_s);
}

tw_status cl_shared_pattern(engine *e, int step, int wrap, int shift, int tries, double *words_per_s)
{
    enum { WORDS_EACH = 8 };
    return probe(e, "probe_pattern", "", (int[3]){step, wrap, shift}, 3, WORDS_EACH, tries, words_per_s);
}

/* least: bytes that a try reads, so that its launch does not count. */
static tw_status run_read(engine *e, cl_kernel kernel, cl_memory data, int64_t count, int64_t least, int tries,
                          double *bytes_per_s)
{
    double seconds;
    int rounds = (int)ceil_div(least, count * 16);
    CL_TRY("clSetKernelArg", e->cl->clSetKernelArg(kernel, 0, sizeof data, &data));
    CL_TRY("clSetKernelArg", e->cl->clSetKernelArg(kernel, 1, 4, &rounds));
    CL_TRY("clSetKernelArg", e->cl->clSetKernelArg(kernel, 2, sizeof data, &data));
    CL_TRY("clSetKernelArg", e->cl->clSetKernelArg(kernel, 3, 8, &count));
    TRY(least_seconds(e, kernel, probe_groups(e), tries, &seconds));
    *bytes_per_s = (double)count * 16 * rounds / seconds;
    return TW_OK;
}

tw_status cl_bandwidth(engine *e, int64_t bytes, int threads, int tries, double *bytes_per_s)
{
    cl_kernel kernel;
    buffer data;
    int64_t count = bytes / 16;
    (void)threads;
    bool cpu = cl_is_kind(e->cl, e->device, CL_DEVICE_TYPE_CPU_BIT);
    count = round_up(count, (int64_t)probe_groups(e) * PROBE_THREADS); /* every work-item as many */
    const kernel_text reads = {{"opencl/probe.cl", "probe_read", NULL}, cpu ? "-DRUNS=1" : "-DRUNS=0", 0};
    TRY(cl_find_or_build(e, &reads, false, &kernel));
    void *zeros = calloc((size_t)count, 16);
    tw_status status = zeros != NULL ? TW_OK
                                     : fail(TW_NO_MEMORY, "no memory for a working set of %" PRId64 " bytes", bytes);
    if (status == TW_OK)
        status = cl_upload(e, &(operand){.host = zeros, .rows = 1, .cols = count, .ld = count, .element_bytes = 16},
                           true, &data);
    free(zeros);
    if (status == TW_OK) {
        status = run_read(e, kernel, data.memory, count, (int64_t)(cpu ? 256 : 1024) << 20, tries, bytes_per_s);
        cl_release(e, &data);
    }
    e->cl->clReleaseKernel(kernel);
    return status;
}
