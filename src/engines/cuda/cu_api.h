/* cu_api.h - the part of the CUDA driver API and of NVRTC that the engine uses, declared here so that no toolkit is
 * needed to build. Names and numbers: CUDA driver API reference 12 and 13; NVRTC reference. */
#ifndef TILEWRIGHT_CU_API_H
#define TILEWRIGHT_CU_API_H

#include <stddef.h>
#include <stdint.h>

#include "../../error.h"

typedef int cu_result, cu_device, nvrtc_result;
typedef unsigned long long cu_pointer;
typedef struct cu_context_ *cu_context;
typedef struct cu_module_ *cu_module;
typedef struct cu_function_ *cu_function;
typedef struct cu_stream_ *cu_stream;
typedef struct cu_event_ *cu_event;
typedef struct nvrtc_program_ *nvrtc_program;

typedef struct cu_tensor_map {
    _Alignas(64) uint64_t opaque[16];
} cu_tensor_map;

/* CUDA_MEMCPY2D: what a strided copy is. */
typedef struct cu_copy_2d {
    size_t src_x_bytes, src_y;
    int src_type;
    const void *src_host;
    cu_pointer src_device;
    void *src_array;
    size_t src_pitch;
    size_t dst_x_bytes, dst_y;
    int dst_type;
    void *dst_host;
    cu_pointer dst_device;
    void *dst_array;
    size_t dst_pitch;
    size_t width_bytes, height;
} cu_copy_2d;

/* CUDA_MEMCPY3D_PEER: the same between two contexts. */
typedef struct cu_copy_peer {
    size_t src_x_bytes, src_y, src_z, src_lod;
    int src_type;
    const void *src_host;
    cu_pointer src_device;
    void *src_array;
    cu_context src_context;
    size_t src_pitch, src_height;
    size_t dst_x_bytes, dst_y, dst_z, dst_lod;
    int dst_type;
    void *dst_host;
    cu_pointer dst_device;
    void *dst_array;
    cu_context dst_context;
    size_t dst_pitch, dst_height;
    size_t width_bytes, height, depth;
} cu_copy_peer;

enum {
    CU_SUCCESS = 0,
    CU_OUT_OF_MEMORY = 2,
    CU_NO_DEVICE = 100,
    CU_ECC_UNCORRECTABLE = 214,
    CU_NOT_READY = 600,
    CU_ILLEGAL_ADDRESS = 700,
    CU_LAUNCH_TIMEOUT = 702,
    CU_PEER_ACCESS_ALREADY_ENABLED = 704,
    CU_CONTEXT_IS_DESTROYED = 709,
    CU_ASSERT = 710,
    CU_HARDWARE_STACK_ERROR = 714,
    CU_LAUNCH_FAILED = 719,
    CU_MEMORY_HOST = 1,
    CU_MEMORY_DEVICE = 2,
    CU_POINTER_MEMORY_TYPE = 2,
    CU_ATTRIBUTE_MAX_PITCH = 11,
    CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    CU_ATTRIBUTE_L2_BYTES = 38,
    CU_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR = 39,
    CU_ATTRIBUTE_MAJOR = 75,
    CU_ATTRIBUTE_MINOR = 76,
    CU_ATTRIBUTE_SHARED_OPTIN = 97,
    CU_FUNCTION_SHARED_BYTES = 1,
    CU_FUNCTION_LOCAL_BYTES = 3,
    CU_FUNCTION_REGISTERS = 4,
    CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    CU_TENSOR_U8 = 0,
    CU_TENSOR_U16 = 1,
    CU_TENSOR_I32 = 3,
    CU_TENSOR_F16 = 6,
    CU_TENSOR_F32 = 7,
    CU_TENSOR_F64 = 8,
    CU_TENSOR_BF16 = 9,
    CU_TENSOR_TF32 = 11,
    CU_TENSOR_SWIZZLE_64B = 2,
    CU_TENSOR_SWIZZLE_128B = 3,
    CU_TENSOR_L2_128B = 2,
    CU_TENSOR_L2_256B = 3,
    CU_CAPTURE_NONE = 0,
    CU_LAUNCH_CLUSTER = 4, /* ..._CLUSTER_DIMENSION */
    CU_LAUNCH_PDL = 6      /* ..._PROGRAMMATIC_STREAM_SERIALIZATION */
};

#define CU_FUNCTIONS(F)                                                                                                \
    F(cuInit, (unsigned))                                                                                              \
    F(cuDriverGetVersion, (int *))                                                                                     \
    F(cuGetErrorName, (cu_result, const char **))                                                                      \
    F(cuGetErrorString, (cu_result, const char **))                                                                    \
    F(cuDeviceGetCount, (int *))                                                                                       \
    F(cuDeviceGet, (cu_device *, int))                                                                                 \
    F(cuDeviceGetName, (char *, int, cu_device))                                                                       \
    F(cuDeviceGetAttribute, (int *, int, cu_device))                                                                   \
    F(cuDeviceTotalMem_v2, (size_t *, cu_device))                                                                      \
    F(cuDevicePrimaryCtxRetain, (cu_context *, cu_device))                                                             \
    F(cuDevicePrimaryCtxRelease_v2, (cu_device))                                                                       \
    F(cuDeviceCanAccessPeer, (int *, cu_device, cu_device))                                                            \
    F(cuCtxEnablePeerAccess, (cu_context, unsigned))                                                                   \
    F(cuCtxPushCurrent_v2, (cu_context))                                                                               \
    F(cuCtxPopCurrent_v2, (cu_context *))                                                                              \
    F(cuCtxGetDevice, (cu_device *))                                                                                   \
    F(cuStreamCreate, (cu_stream *, unsigned))                                                                         \
    F(cuStreamCreateWithPriority, (cu_stream *, unsigned, int))                                                        \
    F(cuStreamGetCtx, (cu_stream, cu_context *))                                                                       \
    F(cuStreamIsCapturing, (cu_stream, int *))                                                                         \
    F(cuStreamDestroy_v2, (cu_stream))                                                                                 \
    F(cuStreamQuery, (cu_stream))                                                                                      \
    F(cuStreamSynchronize, (cu_stream))                                                                                \
    F(cuStreamWaitEvent, (cu_stream, cu_event, unsigned))                                                              \
    F(cuEventCreate, (cu_event *, unsigned))                                                                           \
    F(cuEventDestroy_v2, (cu_event))                                                                                   \
    F(cuEventQuery, (cu_event))                                                                                        \
    F(cuEventRecord, (cu_event, cu_stream))                                                                            \
    F(cuEventSynchronize, (cu_event))                                                                                  \
    F(cuEventElapsedTime, (float *, cu_event, cu_event))                                                               \
    F(cuMemAlloc_v2, (cu_pointer *, size_t))                                                                           \
    F(cuMemGetInfo_v2, (size_t *, size_t *))                                                                           \
    F(cuMemFree_v2, (cu_pointer))                                                                                      \
    F(cuMemcpyHtoD_v2, (cu_pointer, const void *, size_t))                                                             \
    F(cuMemcpyDtoH_v2, (void *, cu_pointer, size_t))                                                                   \
    F(cuMemcpy2DUnaligned_v2, (const cu_copy_2d *))                                                                    \
    F(cuMemcpyHtoDAsync_v2, (cu_pointer, const void *, size_t, cu_stream))                                             \
    F(cuMemcpyDtoHAsync_v2, (void *, cu_pointer, size_t, cu_stream))                                                   \
    F(cuMemcpyDtoDAsync_v2, (cu_pointer, cu_pointer, size_t, cu_stream))                                               \
    F(cuMemcpy2DAsync_v2, (const cu_copy_2d *, cu_stream))                                                             \
    F(cuMemcpyPeerAsync, (cu_pointer, cu_context, cu_pointer, cu_context, size_t, cu_stream))                          \
    F(cuMemcpy3DPeerAsync, (const cu_copy_peer *, cu_stream))                                                          \
    F(cuPointerGetAttribute, (void *, int, cu_pointer))                                                                \
    F(cuMemHostAlloc, (void **, size_t, unsigned))                                                                     \
    F(cuMemFreeHost, (void *))                                                                                         \
    F(cuMemsetD8_v2, (cu_pointer, unsigned char, size_t))                                                              \
    F(cuModuleLoadData, (cu_module *, const void *))                                                                   \
    F(cuModuleUnload, (cu_module))                                                                                     \
    F(cuModuleGetFunction, (cu_function *, cu_module, const char *))                                                   \
    F(cuFuncSetAttribute, (cu_function, int, int))                                                                     \
    F(cuFuncGetAttribute, (int *, int, cu_function))                                                                   \
    F(cuLaunchKernel, (cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cu_stream,   \
                       void **, void **))                                                                              \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, cu_function, int, size_t))

/* CUlaunchConfig and CUlaunchAttribute. */
typedef struct cu_launch_attribute {
    int id;
    char unused[4];
    union {
        char bytes[64];
        int allowed;         /* CU_LAUNCH_PDL */
        unsigned cluster[3]; /* CU_LAUNCH_CLUSTER: blocks along x, y, z */
    } value;
} cu_launch_attribute;

typedef struct cu_launch_config {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_bytes;
    cu_stream stream;
    cu_launch_attribute *attributes;
    unsigned attribute_count;
} cu_launch_config;

/* Only some drivers have these (CUDA 12 on, the UUID 11.4): looked up apart, NULL where they are missing. */
typedef cu_result cu_device_uuid(unsigned char uuid[16], cu_device);
typedef cu_result cu_launch_kernel_ex(const cu_launch_config *, cu_function, void **, void **);
typedef cu_result cu_tensor_map_encode(cu_tensor_map *, int type, uint32_t rank, void *address, const uint64_t *dims,
                                       const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
                                       int interleave, int swizzle, int l2_promotion, int out_of_bounds);

typedef struct cu_api {
#define F(name, parameters) cu_result(*name) parameters;
    CU_FUNCTIONS(F)
#undef F
    cu_tensor_map_encode *cuTensorMapEncodeTiled;
    cu_launch_kernel_ex *cuLaunchKernelEx;
    cu_device_uuid *cuDeviceGetUuid_v2;
} cu_api;

#define NVRTC_FUNCTIONS(F)                                                                                             \
    F(nvrtcVersion, (int *, int *))                                                                                    \
    F(nvrtcGetNumSupportedArchs, (int *))                                                                              \
    F(nvrtcGetSupportedArchs, (int *))                                                                                 \
    F(nvrtcCreateProgram,                                                                                              \
      (nvrtc_program *, const char *, const char *, int, const char *const *, const char *const *))                    \
    F(nvrtcDestroyProgram, (nvrtc_program *))                                                                          \
    F(nvrtcCompileProgram, (nvrtc_program, int, const char *const *))                                                  \
    F(nvrtcGetProgramLogSize, (nvrtc_program, size_t *))                                                               \
    F(nvrtcGetProgramLog, (nvrtc_program, char *))                                                                     \
    F(nvrtcGetCUBINSize, (nvrtc_program, size_t *))                                                                    \
    F(nvrtcGetCUBIN, (nvrtc_program, char *))                                                                          \
    F(nvrtcGetPTXSize, (nvrtc_program, size_t *))                                                                      \
    F(nvrtcGetPTX, (nvrtc_program, char *))

typedef struct nvrtc_api {
#define F(name, parameters) nvrtc_result(*name) parameters;
    NVRTC_FUNCTIONS(F)
#undef F
    int major, minor;
    char file[1024]; /* that was opened */
} nvrtc_api;

/* cu_api_load, nvrtc_api_load - open the driver and the compiler; NULL, and fail()'s sentence, where there is none.
 * Loaded once per process. */
const cu_api *cu_api_load(void);
const nvrtc_api *nvrtc_api_load(void);

/* nvrtc_known - the least architecture that the compiler knows, and the highest up to sm, 0 where there is none. TW_OK;
 * TW_BUILD_FAILED. */
tw_status nvrtc_known(const nvrtc_api *nvrtc, int sm, int *least, int *best);

/* nvrtc_arch - the architecture to compile for, as --gpu-architecture takes it: "sm_90a" where the compiler knows the
 * very device (sm is 10 major + minor), else "compute_NN" for the highest it knows below, whose PTX the driver
 * finishes. Returns TW_OK; TW_BUILD_FAILED with a sentence that names both versions. */
tw_status nvrtc_arch(const nvrtc_api *nvrtc, int sm, char arch[24]);

const char *cu_error_name(const cu_api *cu, cu_result error);
/* cu_fail - fail() with the call, the error, and whether the CUDA context is lost by it. */
tw_status cu_fail(const cu_api *cu, const char *call, cu_result error);

#endif
