/* cuda.h - this program as a caller of CUDA, beside the library: a stream, events, device memory, through the driver's
 * library as it is found at run time. All on the device's primary context, in which the cuda engine works too, made
 * current on the calling thread. */
#ifndef TILEWRIGHT_CUDA_H
#define TILEWRIGHT_CUDA_H

#include <stdbool.h>
#include <stddef.h>

#define CUDA_CALLS(F)                                                                                                  \
    F(cuInit, (unsigned))                                                                                              \
    F(cuGetErrorName, (int, const char **))                                                                            \
    F(cuDeviceGet, (int *, int))                                                                                       \
    F(cuDeviceGetPCIBusId, (char *, int, int))                                                                         \
    F(cuDevicePrimaryCtxRetain, (void **, int))                                                                        \
    F(cuDevicePrimaryCtxRelease_v2, (int))                                                                             \
    F(cuCtxPushCurrent_v2, (void *))                                                                                   \
    F(cuCtxPopCurrent_v2, (void **))                                                                                   \
    F(cuStreamCreate, (void **, unsigned))                                                                             \
    F(cuStreamDestroy_v2, (void *))                                                                                    \
    F(cuEventCreate, (void **, unsigned))                                                                              \
    F(cuEventDestroy_v2, (void *))                                                                                     \
    F(cuEventRecord, (void *, void *))                                                                                 \
    F(cuEventSynchronize, (void *))                                                                                    \
    F(cuEventElapsedTime, (float *, void *, void *))                                                                   \
    F(cuMemAlloc_v2, (unsigned long long *, size_t))                                                                   \
    F(cuMemFree_v2, (unsigned long long))                                                                              \
    F(cuMemcpyHtoD_v2, (unsigned long long, const void *, size_t))                                                     \
    F(cuMemcpyDtoH_v2, (void *, unsigned long long, size_t))

typedef struct cuda {
#define F(name, parameters) int(*name) parameters;
    CUDA_CALLS(F)
#undef F
    int device;
    void *context, *stream, *begin, *end;
    char bus[32];  /* the device's place, which NVML knows it by */
    char why[300]; /* what failed last, where a function below returned false */
} cuda;

/* cuda_open - the device with that index. On failure too cuda_close() must follow. */
bool cuda_open(cuda *x, int index);
void cuda_close(cuda *x); /* of zeroed values nothing */

bool cuda_allocate(cuda *x, size_t bytes, char **memory); /* device memory; false where there is not so much */
void cuda_release(cuda *x, char **memory);                /* *memory NULL: nothing happens */
/* Each copy waits for what is on the stream, and what comes on the stream waits for it. */
bool cuda_up(cuda *x, void *memory, const void *host, size_t bytes);
bool cuda_down(cuda *x, void *host, const void *memory, size_t bytes);

/* cuda_begin, cuda_end - what lies on the stream between them: cuda_end waits for it and says how long it took. */
bool cuda_begin(cuda *x);
bool cuda_end(cuda *x, double *seconds);

#endif
