/* cuda_runtime_api.h - a stand-in for CUDA's: what examples/stream.c calls of it, for the fake driver, whose device
 * memory is the host's. */
#ifndef TILEWRIGHT_CUDA_RUNTIME_API_H
#define TILEWRIGHT_CUDA_RUNTIME_API_H

#include <stdlib.h>
#include <string.h>

typedef enum cudaError { cudaSuccess = 0, cudaErrorMemoryAllocation = 2 } cudaError_t;
typedef enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 } cudaMemcpyKind;
typedef struct CUstream_st *cudaStream_t;

static inline cudaError_t cudaMalloc(void **address, size_t bytes)
{
    return posix_memalign(address, 256, bytes) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaFree(void *address)
{
    free(address);
    return cudaSuccess;
}

static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                                          cudaStream_t stream)
{
    (void)kind, (void)stream;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

static inline cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    *stream = NULL; /* the default one */
    return cudaSuccess;
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

#endif
