/* cuda.c - a fake libcuda.so.1: one device (FAKE_CUDA "gpus=0" none, "sm=70" another) whose memory is the host's, 16
 * GiB of it ("mib=8": 8 MiB).
 * Contexts are a stack of each thread; a stream belongs to the context it was made in, and FAKE_LOG gets "on" and its
 * address after each launch. While one is being captured, nothing is allocated, loaded, copied or waited for:
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED. OLD: without its newest function. Events read a clock that each launch puts
 * forward by 1 ms (FAKE_CUDA "us=250": by 0.25). No kernel is run, but with "product=1" on the host
 * sgemm_simt, sgemm_cpasync_sm80, dgemm_simt, f32's gemm_batched_simt and, in tiles of "tile=32",
 * sgemm_batched_cpasync_sm80. */
#include <stdint.h>

#include "engines/cuda/cu_api.h"
#include "fake.h"

#define CALL(name, parameters, ...)                                                                                    \
    cu_result name parameters                                                                                          \
    {                                                                                                                  \
        FAULT(name, fault);                                                                                            \
        if (fault != 0) return fault;                                                                                  \
        __VA_ARGS__;                                                                                                   \
        return CU_SUCCESS;                                                                                             \
    }
/* What gives something back does so whatever it returns: leak checkers look at the engine. */
#define GIVE(name, parameters, ...)                                                                                    \
    cu_result name parameters                                                                                          \
    {                                                                                                                  \
        FAULT(name, fault);                                                                                            \
        __VA_ARGS__;                                                                                                   \
        return fault;                                                                                                  \
    }

static int choice(const char *name, int otherwise)
{
    int unused;
    return fake_number("FAKE_CUDA", name, otherwise, &unused);
}

static int attribute(int what)
{
    int sm = choice("sm", 90);
    return what == CU_ATTRIBUTE_MAJOR          ? sm / 10
           : what == CU_ATTRIBUTE_MINOR        ? sm % 10
           : what == CU_ATTRIBUTE_SHARED_OPTIN ? 232448
           : what == CU_ATTRIBUTE_L2_BYTES     ? 50 << 20
           : what == CU_ATTRIBUTE_MAX_PITCH    ? choice("pitch", INT32_MAX)
                                               : choice("multiprocessors", 132);
}

static const char *name_of(cu_result error)
{
    return error == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
           : error == 100 ? "CUDA_ERROR_NO_DEVICE"
           : error == 200 ? "CUDA_ERROR_INVALID_IMAGE"
           : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
           : error == 906 ? "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"
           : error == 400 ? "CUDA_ERROR_INVALID_HANDLE"
           : error == 999 ? "CUDA_ERROR_UNKNOWN"
                          : NULL;
}

static void copy_rows(const cu_copy_2d *c)
{
    char *to = c->dst_type == CU_MEMORY_HOST ? c->dst_host : (char *)(uintptr_t)c->dst_device;
    const char *from = c->src_type == CU_MEMORY_HOST ? c->src_host : (const char *)(uintptr_t)c->src_device;
    for (size_t i = 0; i < c->height; i++) memcpy(to + i * c->dst_pitch, from + i * c->src_pitch, c->width_bytes);
}

struct cu_stream_ {
    cu_context context;
    int capturing;
};

enum { PRIMARY = 64, DEEPEST = 64, NO_CONTEXT = 201, NO_SUCH_HANDLE = 400, NOT_CAPTURED = 900 };
static _Thread_local cu_context contexts[DEEPEST];
static _Thread_local int depth; /* of contexts[] */
static int captures;

static void push(cu_context context)
{
    if (depth < DEEPEST) depth++;
    contexts[depth - 1] = context;
}

static cu_context current(void) { return depth > 0 ? contexts[depth - 1] : NULL; }

static cu_stream make_stream(void)
{
    cu_stream stream = malloc(sizeof *stream);
    *stream = (struct cu_stream_){.context = current()};
    return stream;
}

static void log_stream(cu_stream stream)
{
    char line[32];
    snprintf(line, sizeof line, "on %p", (void *)stream);
    fake_log(line);
}

static void log_cluster(unsigned blocks)
{
    char line[32];
    snprintf(line, sizeof line, "clusters of %u", blocks);
    fake_log(line);
}

static void *handle(void) { return calloc(1, 16); }

/* Device memory: "mib=8" is all there is; each block begins behind its size. */
static _Atomic size_t given_bytes;

static size_t device_bytes(void) { return (size_t)choice("mib", 16384) << 20; }

static cu_result allocate(cu_pointer *memory, size_t bytes)
{
    if (given_bytes + bytes > device_bytes()) return 2;
    char *block = aligned_alloc(256, 256 + (bytes + 256) / 256 * 256);
    memcpy(block, &bytes, sizeof bytes);
    given_bytes += bytes;
    *memory = (cu_pointer)(uintptr_t)(block + 256);
    return CU_SUCCESS;
}

static void give_back(cu_pointer memory)
{
    size_t bytes;
    if (memory == 0) return;
    memcpy(&bytes, (char *)(uintptr_t)memory - 256, sizeof bytes);
    given_bytes -= bytes;
    free((char *)(uintptr_t)memory - 256);
}

static _Atomic int64_t now_us;

void fake_pass(int us) /* for the fakes of libraries that launch kernels of their own */ { now_us += us; }

/* A module, and its only kernel. */
typedef struct kernel {
    void (*run)(const struct kernel *, void **arguments); /* NULL: it computes nothing */
    bool transposes_a, transposes_b;
} kernel;

/* clang-format off */
#define MULTIPLY(name, real)                                                                                           \
    static void name(const kernel *f, void **x)                                                                        \
    {                                                                                                                  \
        const int m = *(int *)x[0], n = *(int *)x[1], k = *(int *)x[2];                                                \
        const real alpha = *(real *)x[3], *a = *(real **)x[4], *b = *(real **)x[6], beta = *(real *)x[8];              \
        const int64_t lda = *(int64_t *)x[5], ldb = *(int64_t *)x[7], ldc = *(int64_t *)x[10];                         \
        real *c = *(real **)x[9];                                                                                      \
        for (int i = 0; i < m; i++)                                                                                    \
            for (int j = 0; j < n; j++) {                                                                              \
                real sum = 0, *to = &c[i * ldc + j];                                                                   \
                for (int p = 0; p < k; p++)                                                                            \
                    sum += a[f->transposes_a ? p * lda + i : i * lda + p] *                                            \
                           b[f->transposes_b ? j * ldb + p : p * ldb + j];                                             \
                *to = beta == 0 ? alpha * sum : alpha * sum + beta * *to;                                              \
            }                                                                                                          \
    }
/* clang-format on */
MULTIPLY(multiply_f32, float)
MULTIPLY(multiply_f64, double)

/* The kernels of f32 batches: items at strides or by address, a block for each tile or one for several. */
static void multiply_batch_in(int64_t tile, const kernel *f, void **x)
{
    int64_t tiles = (*(int *)x[0] + tile - 1) / tile * ((*(int *)x[1] + tile - 1) / tile),
            items = *(int *)x[11] / tiles;
    for (int64_t i = 0; i < items; i++) {
        float *at[3];
        for (int q = 0; q < 3; q++) {
            float *first = *(float **)x[(const int[]){4, 6, 9}[q]];
            /* shared=0: A, 1: B by mistake */
            at[q] = *(int *)x[12] ? ((float **)first)[i]
                                  : first + (q == choice("shared", 3) ? 0 : i) * *(int64_t *)x[13 + q];
        }
        multiply_f32(f, (void *[]){x[0], x[1], x[2], x[3], &at[0], x[5], &at[1], x[7], x[8], &at[2], x[10]});
    }
}
static void multiply_batch(const kernel *f, void **x) { multiply_batch_in(choice("tile", 32), f, x); }
static void multiply_batch_simt(const kernel *f, void **x) { multiply_batch_in(64, f, x); }

/* The pass that packs: which of its two operands it is told of. */
static void pack(const kernel *f, void **x)
{
    (void)f;
    for (int i = 0; i < 2; i++) {
        int rows;
        memcpy(&rows, (const char *)x[i] + 32, sizeof rows);
        if (rows > 0) fake_log(i == 0 ? "packs b" : "packs a");
    }
}

static void name_kernel(kernel *f, const char *name)
{
    f->run = strcmp(name, "pack") == 0                                                    ? pack
             : !choice("product", 0)                                                      ? NULL
             : strcmp(name, "sgemm_simt") == 0 || strcmp(name, "sgemm_cpasync_sm80") == 0 ? multiply_f32
             : strcmp(name, "sgemm_batched_cpasync_sm80") == 0                            ? multiply_batch
             : strcmp(name, "gemm_batched_simt") == 0                                     ? multiply_batch_simt
             : strcmp(name, "dgemm_simt") == 0                                            ? multiply_f64
                                                                                          : NULL;
}

/* What the fake NVRTC made, "FAKE NT", or another file that begins so. */
static kernel *load(const char *data)
{
    kernel *made = calloc(1, sizeof *made);
    const bool compiled = memcmp(data, "FAKE ", 5) == 0;
    made->transposes_a = compiled && data[5] == 'T', made->transposes_b = compiled && data[6] == 'T';
    return made;
}

static void run(const kernel *f, void **arguments)
{
    if (f->run != NULL) f->run(f, arguments);
}

CALL(cuInit, (unsigned flags), (void)flags)
CALL(cuDriverGetVersion, (int *version), *version = choice("driver", 13000))
CALL(cuGetErrorName, (cu_result error, const char **name), *name = name_of(error))
CALL(cuGetErrorString, (cu_result error, const char **text), *text = name_of(error))
CALL(cuDeviceGetCount, (int *count), *count = choice("gpus", 1))
CALL(cuDeviceGet, (cu_device * device, int index), *device = index)
CALL(cuDeviceGetName, (char *name, int bytes, cu_device device), snprintf(name, (size_t)bytes, "Fake %d", device))
CALL(cuDeviceGetAttribute, (int *value, int what, cu_device device), (void)device; *value = attribute(what))
CALL(cuDeviceGetPCIBusId, (char *place, int bytes, cu_device device), (void)device;
     snprintf(place, (size_t)bytes, "0000:3b:00.0"))
CALL(cuDeviceTotalMem_v2, (size_t * bytes, cu_device device), (void)device; *bytes = device_bytes())
CALL(cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device), (void)device;
     *context = (cu_context)(uintptr_t)PRIMARY)
CALL(cuDevicePrimaryCtxRelease_v2, (cu_device device), (void)device)
CALL(cuCtxPushCurrent_v2, (cu_context context), push(context))
CALL(cuCtxPopCurrent_v2, (cu_context * context), *context = current(); if (depth == 0) return NO_CONTEXT; depth--)
CALL(cuCtxGetDevice, (cu_device * device), if (depth == 0) return NO_CONTEXT; *device = 0)
CALL(cuStreamCreate, (cu_stream * stream, unsigned flags), (void)flags; *stream = make_stream())
GIVE(cuStreamDestroy_v2, (cu_stream stream), free(stream))
CALL(cuStreamGetCtx, (cu_stream stream, cu_context *context), *context = stream != NULL ? stream->context : current())
CALL(cuStreamIsCapturing, (cu_stream stream, int *capturing), *capturing = stream != NULL && stream->capturing)
CALL(cuStreamWaitEvent, (cu_stream stream, cu_event event, unsigned flags), (void)stream; (void)event; (void)flags)
CALL(cuStreamSynchronize, (cu_stream stream), (void)stream; if (captures > 0) return NOT_CAPTURED)
CALL(cuEventCreate, (cu_event * event, unsigned flags), (void)flags; *event = handle())
GIVE(cuEventDestroy_v2, (cu_event event), free(event))
CALL(cuEventRecord, (cu_event event, cu_stream stream), (void)stream; if (captures > 0) return NOT_CAPTURED;
     *(int64_t *)event = now_us)
CALL(cuEventSynchronize, (cu_event event), (void)event; if (captures > 0) return NOT_CAPTURED)
CALL(cuEventElapsedTime, (float *ms, cu_event begin, cu_event end),
     *ms = 1e-3f * (float)(*(int64_t *)end - *(int64_t *)begin))
CALL(cuMemAlloc_v2, (cu_pointer * memory, size_t bytes), if (captures > 0) return NOT_CAPTURED;
     return allocate(memory, bytes))
CALL(cuMemGetInfo_v2, (size_t * room, size_t *total), *total = device_bytes(); *room = *total - given_bytes)
GIVE(cuMemFree_v2, (cu_pointer memory), give_back(memory))
CALL(cuMemcpyHtoD_v2, (cu_pointer to, const void *from, size_t bytes), if (captures > 0) return NOT_CAPTURED;
     memcpy((void *)(uintptr_t)to, from, bytes))
CALL(cuMemcpyDtoH_v2, (void *to, cu_pointer from, size_t bytes), if (captures > 0) return NOT_CAPTURED;
     memcpy(to, (const void *)(uintptr_t)from, bytes))
CALL(cuMemcpy2DUnaligned_v2, (const cu_copy_2d *copy), copy_rows(copy))
CALL(cuMemcpyHtoDAsync_v2, (cu_pointer to, const void *from, size_t bytes, cu_stream stream), (void)stream;
     memcpy((void *)(uintptr_t)to, from, bytes))
CALL(cuMemcpyDtoHAsync_v2, (void *to, cu_pointer from, size_t bytes, cu_stream stream), (void)stream;
     memcpy(to, (const void *)(uintptr_t)from, bytes))
CALL(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags), (void)flags; *memory = malloc(bytes))
GIVE(cuMemFreeHost, (void *memory), free(memory))
CALL(cuMemsetD8_v2, (cu_pointer to, unsigned char byte, size_t bytes), memset((void *)(uintptr_t)to, byte, bytes))
CALL(cuModuleLoadData, (cu_module * module, const void *data), if (captures > 0) return NOT_CAPTURED;
     if (memcmp(data, "FAKE", 4) != 0) return 200; *module = (cu_module)load(data))
GIVE(cuModuleUnload, (cu_module module), free(module))
CALL(cuModuleGetFunction, (cu_function * function, cu_module module, const char *name),
     *function = (cu_function)(void *)module;
     name_kernel((void *)module, name))
CALL(cuFuncSetAttribute, (cu_function function, int what, int value), (void)function; (void)what; (void)value)
CALL(cuFuncGetAttribute, (int *value, int what, cu_function function), (void)function; (void)what; *value = 32)
CALL(cuLaunchKernel,
     (cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z, unsigned bytes,
      cu_stream s, void **a, void **extra),
     (void)gx;
     (void)gy; (void)gz; (void)x; (void)y; (void)z; (void)bytes; (void)extra;
     if (s != NULL && s->context != current()) return NO_SUCH_HANDLE; log_stream(s); fake_pass(choice("us", 1000));
     run((void *)f, a))
CALL(cuLaunchKernelEx, (const cu_launch_config *c, cu_function f, void **a, void **extra), (void)extra;
     if (c->stream != NULL && c->stream->context != current()) return NO_SUCH_HANDLE;
     if (c->attribute_count < 1 || c->attribute_count > 2 || c->attributes->id != CU_LAUNCH_PDL) return 1;
     if (c->attribute_count == 2 &&
         (c->attributes[1].id != CU_LAUNCH_CLUSTER || c->attributes[1].value.cluster[0] < 2 ||
          c->grid_x % c->attributes[1].value.cluster[0] != 0)) return 1;
     log_stream(c->stream); if (c->attribute_count == 2) log_cluster(c->attributes[1].value.cluster[0]);
     fake_pass(choice("us", 1000)); run((void *)f, a))
CALL(cuTensorMapEncodeTiled,
     (cu_tensor_map * map, int type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides,
      const uint32_t *box, const uint32_t *element_strides, int interleave, int swizzle, int l2_promotion,
      int out_of_bounds),
     (void)map;
     (void)type; (void)rank; (void)address; (void)dims; (void)box; (void)element_strides; (void)interleave;
     (void)swizzle; (void)l2_promotion; (void)out_of_bounds; if (strides[0] % 16 != 0) return 1)
/* What only callers of the library use: never told to fail. */
cu_result cuCtxCreate_v2(cu_context *context, unsigned flags, cu_device device)
{
    (void)flags, (void)device;
    push(*context = handle());
    return CU_SUCCESS;
}

cu_result cuCtxDestroy_v2(cu_context context)
{
    if (context == current()) depth--;
    free(context);
    return CU_SUCCESS;
}

cu_result cuCtxGetCurrent(cu_context *context)
{
    *context = current();
    return CU_SUCCESS;
}

cu_result cuStreamCreateWithPriority(cu_stream *stream, unsigned flags, int priority)
{
    (void)flags, (void)priority;
    *stream = make_stream();
    return CU_SUCCESS;
}

cu_result cuStreamBeginCapture_v2(cu_stream stream, int mode)
{
    (void)mode;
    stream->capturing = 1, captures++;
    return CU_SUCCESS;
}

cu_result cuStreamEndCapture(cu_stream stream, void **graph)
{
    stream->capturing = 0, captures--;
    *graph = NULL;
    return CU_SUCCESS;
}

cu_result cuGraphInstantiateWithFlags(void **made, void *graph, unsigned long long flags)
{
    return (void)made, (void)graph, (void)flags, CU_SUCCESS;
}
cu_result cuGraphLaunch(void *graph, cu_stream stream) { return (void)graph, (void)stream, CU_SUCCESS; }
cu_result cuGraphExecDestroy(void *graph) { return (void)graph, CU_SUCCESS; }
cu_result cuGraphDestroy(void *graph) { return (void)graph, CU_SUCCESS; }

cu_result cuLaunchHostFunc(cu_stream stream, void (*function)(void *), void *data)
{
    (void)stream;
    function(data);
    return CU_SUCCESS;
}

#ifndef OLD
CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, cu_function function, int threads, size_t bytes),
     (void)function;
     (void)threads; (void)bytes; *blocks = 2)
#endif
