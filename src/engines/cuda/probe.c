/* probe.c - what a CUDA device can do at most: multiply-adds, bytes from its memory and from what a block shares. */
#include "cuda_engine.h"

#include <inttypes.h>

/* A probe's launch: the entry of cuda/probe.cu with its arguments, timed by events; the shortest of `tries`. */
static tw_status least_seconds(engine *e, const char *entry, unsigned blocks, void **arguments, int tries,
                               double *seconds)
{
    enum { PROBE_THREADS = 256 };
    const kernel_text w = {{"cuda/probe.cu", entry, NULL}, "", 0};
    cu_function function;
    runnable r = {0};
    float milliseconds;
    TRY(kernels_build(&e->kernels, &w, &function));
    tw_status status = cuda_take_lane(e, &r);
    *seconds = 0;
    for (int i = 0; status == TW_OK && i <= tries; i++) { /* the first warms up */
        cu_result error = e->cu->cuEventRecord(r.begin, r.stream);
        if (error == CU_SUCCESS)
            error = e->cu->cuLaunchKernel(function, blocks, 1, 1, PROBE_THREADS, 1, 1, 0, r.stream, arguments, NULL);
        if (error == CU_SUCCESS) error = e->cu->cuEventRecord(r.event, r.stream);
        if (error == CU_SUCCESS) error = e->cu->cuEventSynchronize(r.event);
        if (error == CU_SUCCESS) error = e->cu->cuEventElapsedTime(&milliseconds, r.begin, r.event);
        if (error != CU_SUCCESS)
            status = cu_fail(e->cu, entry, error);
        else if (i > 0 && (*seconds <= 0 || milliseconds < 1e3 * *seconds))
            *seconds = 1e-3 * (double)milliseconds;
    }
    cuda_give_lane(e, &r);
    return status;
}

static tw_status peak_flops(engine *e, tw_dtype dtype, int tries, double *flops_per_s)
{
    enum { CHAINS = 16, ROUNDS = 8192, BLOCKS_EACH = 8, PROBE_THREADS = 256 };
    unsigned blocks = (unsigned)cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_MULTIPROCESSORS) * BLOCKS_EACH;
    cu_pointer sink;
    int rounds = ROUNDS;
    float factor = 0.999f, addend = 0.001f;
    double seconds;
    if (dtype != TW_F32 && dtype != TW_CF32)
        return fail(TW_NO_KERNEL, "the cuda engine has no probe for %s", dtype_find(dtype)->lab.name);
    CU_TRY(cuMemAlloc_v2, (&sink, 4));
    tw_status status = least_seconds(e, "probe_fma", blocks, (void *[]){&sink, &rounds, &factor, &addend}, tries,
                                     &seconds);
    e->cu->cuMemFree_v2(sink);
    if (status == TW_OK) *flops_per_s = 2.0 * CHAINS * ROUNDS * PROBE_THREADS * blocks / seconds;
    return status;
}

tw_status cuda_peak_flops(engine *e, tw_dtype dtype, int threads, int tries, double *flops_per_s)
{
    (void)threads; /* the whole device */
    TRY(cuda_enter(e));
    return cuda_leave(e, peak_flops(e, dtype, tries, flops_per_s));
}

static tw_status bandwidth(engine *e, int64_t bytes, int tries, double *bytes_per_s)
{
    enum { BLOCKS_EACH = 8 };
    const int64_t least_per_try = (int64_t)1 << 30;
    unsigned blocks = (unsigned)cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_MULTIPROCESSORS) * BLOCKS_EACH;
    cu_pointer data;
    int64_t count = bytes / 16;
    int rounds = (int)ceil_div(least_per_try, count * 16);
    double seconds;
    cu_result error = e->cu->cuMemAlloc_v2(&data, (size_t)count * 16);
    if (error != CU_SUCCESS)
        return fail(TW_NO_MEMORY, "no device memory for a working set of %" PRId64 " bytes", bytes);
    error = e->cu->cuMemsetD8_v2(data, 0, (size_t)count * 16);
    tw_status status = error == CU_SUCCESS ? least_seconds(e, "probe_read", blocks,
                                                           (void *[]){&data, &rounds, &data, &count}, tries, &seconds)
                                           : cu_fail(e->cu, "cuMemsetD8", error);
    e->cu->cuMemFree_v2(data);
    if (status == TW_OK) *bytes_per_s = (double)count * 16 * rounds / seconds;
    return status;
}

tw_status cuda_bandwidth(engine *e, int64_t bytes, int threads, int tries, double *bytes_per_s)
{
    (void)threads;
    TRY(cuda_enter(e));
    return cuda_leave(e, bandwidth(e, bytes, tries, bytes_per_s));
}

/* An entry of cuda/probe.cu that reads shared memory, with these numbers behind (sink, rounds): rounds of all threads
 * per second. */
static tw_status shared_rate(engine *e, const char *entry, int numbers[3], int tries, double *rounds_per_s)
{
    enum { ROUNDS = 4096, BLOCKS_EACH = 8, PROBE_THREADS = 256 };
    unsigned blocks = (unsigned)cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_MULTIPROCESSORS) * BLOCKS_EACH;
    cu_pointer sink;
    int rounds = ROUNDS;
    double seconds;
    CU_TRY(cuMemAlloc_v2, (&sink, 4));
    tw_status status = least_seconds(
        e, entry, blocks, (void *[]){&sink, &rounds, &numbers[0], &numbers[1], &numbers[2]}, tries, &seconds);
    e->cu->cuMemFree_v2(sink);
    if (status == TW_OK) *rounds_per_s = (double)ROUNDS * PROBE_THREADS * blocks / seconds;
    return status;
}

tw_status cuda_shared_bandwidth(engine *e, int tries, double *bytes_per_s)
{
    enum { BYTES_EACH = 8 * 16 };
    double rounds_per_s;
    TRY(cuda_enter(e));
    TRY(cuda_leave(e, shared_rate(e, "probe_shared", (int[3]){0}, tries, &rounds_per_s)));
    *bytes_per_s = BYTES_EACH * rounds_per_s;
    return TW_OK;
}

tw_status cuda_shared_pattern(engine *e, int step, int wrap, int shift, int tries, double *words_per_s)
{
    enum { WORDS_EACH = 8 };
    double rounds_per_s;
    TRY(cuda_enter(e));
    TRY(cuda_leave(e, shared_rate(e, "probe_pattern", (int[3]){step, wrap, shift}, tries, &rounds_per_s)));
    *words_per_s = WORDS_EACH * rounds_per_s;
    return TW_OK;
}
