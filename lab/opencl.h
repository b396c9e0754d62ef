/* opencl.h - this program as a caller of OpenCL, beside the library: a queue and device memory, through the loader as
 * it is found at run time. In a context of its own, on a device that the opencl engine works on too. */
#ifndef TILEWRIGHT_OPENCL_H
#define TILEWRIGHT_OPENCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tilewright.h"

#define OPENCL_CALLS(F)                                                                                                \
    F(int, clGetPlatformIDs, (unsigned, void **, unsigned *))                                                          \
    F(int, clGetDeviceIDs, (void *, uint64_t, unsigned, void **, unsigned *))                                          \
    F(int, clGetDeviceInfo, (void *, unsigned, size_t, void *, size_t *))                                              \
    F(void *, clCreateContext, (const intptr_t *, unsigned, void *const *, void *, void *, int *))                     \
    F(int, clReleaseContext, (void *))                                                                                 \
    F(void *, clCreateCommandQueue, (void *, void *, uint64_t, int *))                                                 \
    F(int, clReleaseCommandQueue, (void *))                                                                            \
    F(void *, clCreateBuffer, (void *, uint64_t, size_t, void *, int *))                                               \
    F(int, clReleaseMemObject, (void *))                                                                               \
    F(int, clEnqueueWriteBuffer,                                                                                       \
      (void *, void *, unsigned, size_t, size_t, const void *, unsigned, void *const *, void **))                      \
    F(int, clEnqueueReadBuffer, (void *, void *, unsigned, size_t, size_t, void *, unsigned, void *const *, void **))  \
    F(int, clFinish, (void *))

typedef struct opencl {
#define F(result, name, parameters) result(*name) parameters;
    OPENCL_CALLS(F)
#undef F
    void *device, *context;
    void *queue;   /* in order */
    char why[300]; /* what failed last, where a function below returned false */
} opencl;

/* opencl_open - that device of the opencl engine. On failure too opencl_close() must follow. */
bool opencl_open(opencl *x, const tw_device *device);
void opencl_close(opencl *x); /* of zeroed values nothing */

bool opencl_allocate(opencl *x, size_t bytes, void **memory); /* false where there is not so much */
void opencl_release(opencl *x, void **memory);                /* *memory NULL: nothing happens */
/* Copies that are done on return. */
bool opencl_up(opencl *x, void *memory, const void *host, size_t bytes);
bool opencl_down(opencl *x, void *host, void *memory, size_t bytes);
bool opencl_wait(opencl *x); /* until the queue is empty */

#endif
