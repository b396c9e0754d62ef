/* cuda.c - see cuda.h. */
#include "cuda.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TRY(x, name, arguments)                                                                                        \
    do {                                                                                                               \
        int error_ = (x)->name arguments;                                                                              \
        if (error_ != 0) return broken(x, #name, error_);                                                              \
    } while (0)

static bool broken(cuda *x, const char *call, int error)
{
    const char *name = NULL;
    if (x->cuGetErrorName(error, &name) != 0 || name == NULL) name = "an error";
    snprintf(x->why, sizeof x->why, "%s failed with %s (%d)", call, name, error);
    return false;
}

static bool load(cuda *x)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found;
    if (library == NULL) {
        snprintf(x->why, sizeof x->why, "the CUDA driver's libcuda.so.1 cannot be opened: %s", dlerror());
        return false;
    }
#define F(name, parameters)                                                                                            \
    found = dlsym(library, #name);                                                                                     \
    memcpy(&x->name, &found, sizeof found);                                                                            \
    if (found == NULL) {                                                                                               \
        snprintf(x->why, sizeof x->why, "the CUDA driver's libcuda.so.1 has no %s: too old", #name);                   \
        return false;                                                                                                  \
    }
    CUDA_CALLS(F)
#undef F
    return true;
}

bool cuda_open(cuda *x, int index)
{
    memset(x, 0, sizeof *x);
    if (!load(x)) return false;
    TRY(x, cuInit, (0));
    TRY(x, cuDeviceGet, (&x->device, index));
    TRY(x, cuDeviceGetPCIBusId, (x->bus, (int)sizeof x->bus, x->device));
    TRY(x, cuDevicePrimaryCtxRetain, (&x->context, x->device));
    TRY(x, cuCtxPushCurrent_v2, (x->context));
    TRY(x, cuStreamCreate, (&x->stream, 0)); /* 0: in order with the copies, which are of the default stream */
    TRY(x, cuEventCreate, (&x->begin, 0));
    TRY(x, cuEventCreate, (&x->end, 0));
    return true;
}

void cuda_close(cuda *x)
{
    void *popped;
    if (x->end != NULL) x->cuEventDestroy_v2(x->end);
    if (x->begin != NULL) x->cuEventDestroy_v2(x->begin);
    if (x->stream != NULL) x->cuStreamDestroy_v2(x->stream);
    if (x->context != NULL) x->cuCtxPopCurrent_v2(&popped), x->cuDevicePrimaryCtxRelease_v2(x->device);
    memset(x, 0, sizeof *x);
}

bool cuda_allocate(cuda *x, size_t bytes, char **memory)
{
    unsigned long long address = 0;
    *memory = NULL;
    TRY(x, cuMemAlloc_v2, (&address, bytes));
    *memory = (char *)(uintptr_t)address;
    return true;
}

void cuda_release(cuda *x, char **memory)
{
    if (*memory != NULL) x->cuMemFree_v2((uintptr_t)*memory);
    *memory = NULL;
}

bool cuda_up(cuda *x, void *memory, const void *host, size_t bytes)
{
    if (bytes > 0) TRY(x, cuMemcpyHtoD_v2, ((uintptr_t)memory, host, bytes));
    return true;
}

bool cuda_down(cuda *x, void *host, const void *memory, size_t bytes)
{
    if (bytes > 0) TRY(x, cuMemcpyDtoH_v2, (host, (uintptr_t)memory, bytes));
    return true;
}

bool cuda_begin(cuda *x)
{
    TRY(x, cuEventRecord, (x->begin, x->stream));
    return true;
}

bool cuda_end(cuda *x, double *seconds)
{
    float milliseconds = 0;
    TRY(x, cuEventRecord, (x->end, x->stream));
    TRY(x, cuEventSynchronize, (x->end));
    TRY(x, cuEventElapsedTime, (&milliseconds, x->begin, x->end));
    *seconds = 1e-3 * (double)milliseconds;
    return true;
}
