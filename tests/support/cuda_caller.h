/* cuda_caller.h - a program that uses CUDA itself: contexts, streams, graphs and memory of its own, through the
 * driver's library as it is found at run time. */
#ifndef TILEWRIGHT_CUDA_CALLER_H
#define TILEWRIGHT_CUDA_CALLER_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "engines/cuda/cu_api.h"

enum { CALLER_NON_BLOCKING = 1, CALLER_CAPTURE_GLOBAL = 0 };

/* What the engine itself has no use for: a call of it cannot be meant for, or by, the library. */
#define CALLER_FUNCTIONS(F)                                                                                            \
    F(cuCtxCreate_v2, (cu_context *, unsigned, cu_device))                                                             \
    F(cuCtxDestroy_v2, (cu_context))                                                                                   \
    F(cuCtxGetCurrent, (cu_context *))                                                                                 \
    F(cuStreamBeginCapture_v2, (cu_stream, int))                                                                       \
    F(cuStreamEndCapture, (cu_stream, void **))                                                                        \
    F(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))                                              \
    F(cuGraphLaunch, (void *, cu_stream))                                                                              \
    F(cuGraphExecDestroy, (void *))                                                                                    \
    F(cuGraphDestroy, (void *))                                                                                        \
    F(cuLaunchHostFunc, (cu_stream, void (*)(void *), void *))

typedef struct caller {
    const cu_api *cu; /* what the engine uses too */
#define F(name, parameters) cu_result(*name) parameters;
    CALLER_FUNCTIONS(F)
#undef F
} caller;

/* False, and the name of what is missing, where there is no driver or it is too old. */
static bool caller_load(caller *out, const char **missing)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found;
    *missing = "libcuda.so.1";
    if (library == NULL || (out->cu = cu_api_load()) == NULL) return false;
#define F(name, parameters)                                                                                            \
    *missing = #name;                                                                                                  \
    found = dlsym(library, #name);                                                                                     \
    memcpy(&out->name, &found, sizeof found);                                                                          \
    if (found == NULL) return false;
    CALLER_FUNCTIONS(F)
#undef F
    return true;
}

/* And the primary context of device 0, which the library uses too. False, and why. */
static inline bool caller_open(caller *out, cu_context *primary, char *why, size_t bytes)
{
    const char *missing;
    cu_device device;
    if (!caller_load(out, &missing)) {
        snprintf(why, bytes, "this driver has no %s", missing);
        return false;
    }
    if (out->cu->cuDeviceGet(&device, 0) == CU_SUCCESS &&
        out->cu->cuDevicePrimaryCtxRetain(primary, device) == CU_SUCCESS)
        return true;
    snprintf(why, bytes, "device 0 gives no primary context");
    return false;
}

/* And makes it this thread's current one. */
static inline bool caller_enter(caller *out, cu_context *primary, char *why, size_t bytes)
{
    if (!caller_open(out, primary, why, bytes)) return false;
    if (out->cu->cuCtxPushCurrent_v2(*primary) == CU_SUCCESS) return true;
    snprintf(why, bytes, "the primary context of device 0 cannot be made current");
    return false;
}

#endif
