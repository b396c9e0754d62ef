/* cl_api.h - the part of OpenCL 1.2 that the engine uses, declared here so that no SDK is needed to build.
 * Names and numbers: the Khronos OpenCL specification, versions 1.2 and 2.1. */
#ifndef TILEWRIGHT_CL_API_H
#define TILEWRIGHT_CL_API_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint, cl_bool;
typedef uint64_t cl_ulong, cl_bitfield;
typedef intptr_t cl_properties;
typedef struct cl_platform_ *cl_platform;
typedef struct cl_device_ *cl_device;
typedef struct cl_context_ *cl_context;
typedef struct cl_queue_ *cl_queue;
typedef struct cl_memory_ *cl_memory;
typedef struct cl_program_ *cl_program;
typedef struct cl_kernel_ *cl_kernel;
typedef struct cl_event_ *cl_event;

enum {
    CL_SUCCESS = 0,
    CL_DEVICE_NOT_FOUND = -1,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_BUILD_PROGRAM_FAILURE = -11,
    CL_INVALID_BUFFER_SIZE = -61,
    CL_PLATFORM_NOT_FOUND_KHR = -1001,

    CL_PLATFORM_VERSION = 0x0901,
    CL_PLATFORM_NAME = 0x0902,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019, /* in bits */
    CL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101E,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_NAME = 0x102B,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_PLATFORM = 0x1031,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101b,
    CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 128,
    CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT = 0x103A,
    CL_DEVICE_BUILT_IN_KERNELS = 0x103F,
    CL_DEVICE_PARENT_DEVICE = 0x1042,
    CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV = 0x4000, /* cl_nv_device_attribute_query */
    CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV = 0x4001,
    CL_DEVICE_WARP_SIZE_NV = 0x4003,

    CL_CONTEXT_DEVICES = 0x1081,
    CL_QUEUE_CONTEXT = 0x1090,
    CL_QUEUE_DEVICE = 0x1091,
    CL_QUEUE_PROPERTIES = 0x1093,
    CL_QUEUE_OUT_OF_ORDER = 1,
    CL_QUEUE_PROFILING_ENABLE = 2,
    CL_QUEUE_ON_DEVICE = 4, /* OpenCL 2.0: filled by kernels alone */
    CL_MEM_READ_WRITE = 1,
    CL_MEM_USE_HOST_PTR = 8,
    CL_MAP_READ = 1,
    CL_MEM_WRITE_ONLY = 2,
    CL_MEM_READ_ONLY = 4,
    CL_MEM_OBJECT_BUFFER = 0x10F0,
    CL_MEM_TYPE = 0x1100,
    CL_MEM_FLAGS = 0x1101,
    CL_MEM_SIZE = 0x1102,
    CL_MEM_HOST_PTR = 0x1103,
    CL_MEM_CONTEXT = 0x1106,
    CL_MEM_ASSOCIATED_MEMOBJECT = 0x1107,
    CL_MEM_OFFSET = 0x1108,
    CL_EVENT_CONTEXT = 0x11D4,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_PROFILING_COMMAND_START = 0x1282,
    CL_PROFILING_COMMAND_END = 0x1283
};
#define CL_DEVICE_TYPE_CPU_BIT ((cl_bitfield)2)
#define CL_DEVICE_TYPE_GPU_BIT ((cl_bitfield)4)
#define CL_DEVICE_TYPE_ALL     ((cl_bitfield)0xFFFFFFFF)

/* Every function that is looked up in the loader: result, name, parameters. */
#define CL_FUNCTIONS(F)                                                                                                \
    F(cl_int, clGetPlatformIDs, (cl_uint, cl_platform *, cl_uint *))                                                   \
    F(cl_int, clGetPlatformInfo, (cl_platform, cl_uint, size_t, void *, size_t *))                                     \
    F(cl_int, clGetDeviceIDs, (cl_platform, cl_bitfield, cl_uint, cl_device *, cl_uint *))                             \
    F(cl_int, clGetDeviceInfo, (cl_device, cl_uint, size_t, void *, size_t *))                                         \
    F(cl_context, clCreateContext,                                                                                     \
      (const cl_properties *, cl_uint, const cl_device *, void (*)(const char *, const void *, size_t, void *),        \
       void *, cl_int *))                                                                                              \
    F(cl_int, clRetainContext, (cl_context))                                                                           \
    F(cl_int, clReleaseContext, (cl_context))                                                                          \
    F(cl_int, clGetContextInfo, (cl_context, cl_uint, size_t, void *, size_t *))                                       \
    F(cl_queue, clCreateCommandQueue, (cl_context, cl_device, cl_bitfield, cl_int *))                                  \
    F(cl_int, clReleaseCommandQueue, (cl_queue))                                                                       \
    F(cl_int, clGetCommandQueueInfo, (cl_queue, cl_uint, size_t, void *, size_t *))                                    \
    F(cl_memory, clCreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *))                                  \
    F(cl_int, clReleaseMemObject, (cl_memory))                                                                         \
    F(cl_int, clGetMemObjectInfo, (cl_memory, cl_uint, size_t, void *, size_t *))                                      \
    F(cl_program, clCreateProgramWithSource, (cl_context, cl_uint, const char **, const size_t *, cl_int *))           \
    F(cl_program, clCreateProgramWithBinary,                                                                           \
      (cl_context, cl_uint, const cl_device *, const size_t *, const unsigned char **, cl_int *, cl_int *))            \
    F(cl_int, clBuildProgram,                                                                                          \
      (cl_program, cl_uint, const cl_device *, const char *, void (*)(cl_program, void *), void *))                    \
    F(cl_int, clGetProgramInfo, (cl_program, cl_uint, size_t, void *, size_t *))                                       \
    F(cl_int, clGetProgramBuildInfo, (cl_program, cl_device, cl_uint, size_t, void *, size_t *))                       \
    F(cl_int, clReleaseProgram, (cl_program))                                                                          \
    F(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *))                                                 \
    F(cl_int, clReleaseKernel, (cl_kernel))                                                                            \
    F(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                                              \
    F(cl_int, clEnqueueNDRangeKernel,                                                                                  \
      (cl_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, const cl_event *,        \
       cl_event *))                                                                                                    \
    F(cl_int, clEnqueueFillBuffer,                                                                                     \
      (cl_queue, cl_memory, const void *, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))              \
    F(cl_int, clEnqueueMarkerWithWaitList, (cl_queue, cl_uint, const cl_event *, cl_event *))                          \
    F(cl_int, clEnqueueWriteBuffer,                                                                                    \
      (cl_queue, cl_memory, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *))             \
    F(cl_int, clEnqueueReadBuffer,                                                                                     \
      (cl_queue, cl_memory, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *))                   \
    F(cl_int, clEnqueueWriteBufferRect,                                                                                \
      (cl_queue, cl_memory, cl_bool, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t,   \
       const void *, cl_uint, const cl_event *, cl_event *))                                                           \
    F(cl_int, clEnqueueReadBufferRect,                                                                                 \
      (cl_queue, cl_memory, cl_bool, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t,   \
       void *, cl_uint, const cl_event *, cl_event *))                                                                 \
    F(void *, clEnqueueMapBuffer,                                                                                      \
      (cl_queue, cl_memory, cl_bool, cl_bitfield, size_t, size_t, cl_uint, const cl_event *, cl_event *, cl_int *))    \
    F(cl_int, clEnqueueUnmapMemObject, (cl_queue, cl_memory, void *, cl_uint, const cl_event *, cl_event *))           \
    F(cl_int, clWaitForEvents, (cl_uint, const cl_event *))                                                            \
    F(cl_int, clGetEventInfo, (cl_event, cl_uint, size_t, void *, size_t *))                                           \
    F(cl_int, clGetEventProfilingInfo, (cl_event, cl_uint, size_t, void *, size_t *))                                  \
    F(cl_int, clReleaseEvent, (cl_event))                                                                              \
    F(cl_int, clFinish, (cl_queue))

typedef struct cl_api {
#define F(result, name, parameters) result(*name) parameters;
    CL_FUNCTIONS(F)
#undef F
} cl_api;

/* cl_api_load - open the OpenCL loader; NULL, and fail()'s sentence, where there is none. Loaded once per process. */
const cl_api *cl_api_load(void);

const char *cl_error_name(cl_int error); /* "CL_OUT_OF_RESOURCES" */

#endif
