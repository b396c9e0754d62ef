/* opencl.c - a fake libOpenCL.so.1: one platform (FAKE_OPENCL "platforms=2": more) with one device, whose memory is the
 * host's ("warp=32": made by NVIDIA; "broken=1": the first platform fails; "pocl=1": PoCL's name; "driver=2": the
 * driver's version; more in opencl_gemm.h). OLD: without a function of OpenCL 1.1. */
#include "engines/opencl/cl_api.h"
#include "opencl_gemm.h"

#define CALL(name, parameters, ...)                                                                                    \
    cl_int name parameters                                                                                             \
    {                                                                                                                  \
        FAULT(name, fault);                                                                                            \
        if (fault != 0) return fault;                                                                                  \
        __VA_ARGS__;                                                                                                   \
        return CL_SUCCESS;                                                                                             \
    }
/* What gives something back does so whatever it returns: leak checkers look at the engine. */
#define GIVE(name, parameters, ...)                                                                                    \
    cl_int name parameters                                                                                             \
    {                                                                                                                  \
        FAULT(name, fault);                                                                                            \
        __VA_ARGS__;                                                                                                   \
        return fault;                                                                                                  \
    }
#define MAKE(type, name, bytes, ...)                                                                                   \
    type name(__VA_ARGS__, cl_int *error)                                                                              \
    {                                                                                                                  \
        FAULT(name, fault);                                                                                            \
        if (error != NULL) *error = fault;                                                                             \
        return fault != 0 ? NULL : calloc(1, bytes);                                                                   \
    }
#define UNUSED __attribute__((unused))

static const char message[] = "fake.cl:3: error: the fake compiler was told to refuse", binary[] = "FAKE binary";

static cl_int tell(const void *value, size_t bytes, size_t room, void *out, size_t *needed)
{
    if (needed != NULL) *needed = bytes;
    if (out != NULL) memcpy(out, value, bytes < room ? bytes : room);
    return CL_SUCCESS;
}

static cl_int tell_device(cl_uint what, size_t room, void *out, size_t *needed)
{
    const bool processor = fake_choice("processor", 0) != 0;
    uint64_t number = what == CL_DEVICE_TYPE ? processor ? CL_DEVICE_TYPE_CPU_BIT : CL_DEVICE_TYPE_GPU_BIT
                      : what == CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT ? 8
                      : what == CL_DEVICE_MAX_COMPUTE_UNITS         ? 2
                      : what == CL_DEVICE_MAX_WORK_GROUP_SIZE       ? 1024
                      : what == CL_DEVICE_LOCAL_MEM_SIZE            ? 49152
                      : what == CL_DEVICE_GLOBAL_MEM_CACHE_SIZE     ? 65536
                      : what == CL_DEVICE_EXTENSIONS                ? 0
                                                                    : (uint64_t)1 << 32;
    if (what == CL_DEVICE_WARP_SIZE_NV) number = (uint64_t)fake_choice("warp", 0);
    if (what == CL_DEVICE_EXTENSIONS && fake_choice("warp", 0) > 0)
        return tell("cl_fake cl_nv_device_attribute_query", sizeof "cl_fake cl_nv_device_attribute_query", room, out,
                    needed);
    if (what == CL_DRIVER_VERSION) {
        char version[40];
        snprintf(version, sizeof version, "OpenCL fake %d", fake_choice("driver", 1));
        return tell(version, strlen(version) + 1, room, out, needed);
    }
    if (what == CL_DEVICE_NAME || what == CL_DEVICE_VERSION || what == CL_DEVICE_EXTENSIONS)
        return tell("OpenCL fake", sizeof "OpenCL fake", room, out, needed);
    return tell(&number, room < 8 ? room : 8, room, out, needed);
}

static void copy_rows(char *to, size_t to_pitch, const char *from, size_t from_pitch, const size_t *region)
{
    for (size_t i = 0; i < region[1]; i++) memcpy(to + i * to_pitch, from + i * from_pitch, region[0]);
}

/* What a command says it took: of a rung it grows with its name, so that the ratio of most rungs is not 1. */
enum { COMMAND_NS = 10000000 };
static uint64_t ns_of(const fake_kernel *k) { return is_rung(k) ? COMMAND_NS + 100000 * strlen(k->name) : COMMAND_NS; }

typedef struct fake_event {
    uint64_t ns;
} fake_event;

static void event_of(cl_event *out, uint64_t ns)
{
    fake_event *made = out != NULL ? calloc(1, sizeof *made) : NULL;
    if (made != NULL) made->ns = ns;
    if (out != NULL) *out = (cl_event)made;
}

static void event(cl_event *out) { event_of(out, COMMAND_NS); }

CALL(clGetPlatformIDs, (cl_uint room, cl_platform *out, cl_uint *count), int platforms = fake_choice("platforms", 1);
     for (int i = 0; i < platforms && i < (int)room; i++) out[i] = (cl_platform)(uintptr_t)(64 * (i + 1));
     if (count != NULL) *count = (cl_uint)platforms)
CALL(clGetPlatformInfo, (UNUSED cl_platform p, cl_uint what, size_t room, void *out, size_t *needed), char version[40];
     snprintf(version, sizeof version, "OpenCL fake, LLVM %d", fake_choice("llvm", 15));
     if (what == CL_PLATFORM_VERSION) tell(version, strlen(version) + 1, room, out, needed);
     else if (fake_choice("pocl", 0)) tell("Portable Computing Language", 28, room, out, needed);
     else tell("Fake", 5, room, out, needed))
CALL(clGetDeviceIDs, (cl_platform p, UNUSED cl_bitfield type, cl_uint room, cl_device *out, cl_uint *count),
     if (fake_choice("broken", 0) == (int)((uintptr_t)p / 64)) return -2;
     if (room > 0 && out != NULL) out[0] = (cl_device)(uintptr_t)64; if (count != NULL) *count = 1)
CALL(clGetDeviceInfo, (UNUSED cl_device d, cl_uint what, size_t room, void *out, size_t *needed),
     tell_device(what, room, out, needed))
static cl_context latest; /* all buffers and queues are of it */
cl_context clCreateContext(UNUSED const cl_properties *p, UNUSED cl_uint count, UNUSED const cl_device *d,
                           UNUSED void (*notify)(const char *, const void *, size_t, void *), UNUSED void *user,
                           cl_int *error)
{
    FAULT(clCreateContext, fault);
    *error = fault;
    return fault != 0 ? NULL : (latest = calloc(1, 16));
}
/* a context begins with how often it is held beside by its maker */
CALL(clRetainContext, (cl_context x), ++*(int *)(void *)x)
GIVE(clReleaseContext, (cl_context x), if ((*(int *)(void *)x)-- == 0) free(x))
CALL(clGetContextInfo, (UNUSED cl_context c, UNUSED cl_uint what, size_t room, void *out, size_t *needed),
     cl_device device = (cl_device)(uintptr_t)64;
     tell(&device, sizeof device, room, out, needed))
MAKE(cl_queue, clCreateCommandQueue, 16, UNUSED cl_context c, UNUSED cl_device d, UNUSED cl_bitfield properties)
GIVE(clReleaseCommandQueue, (cl_queue x), free(x))
CALL(clGetCommandQueueInfo, (UNUSED cl_queue q, cl_uint what, size_t room, void *out, size_t *needed),
     uint64_t number = what == CL_QUEUE_CONTEXT  ? (uintptr_t)latest
                       : what == CL_QUEUE_DEVICE ? 64
                                                 : 0;
     tell(&number, room < 8 ? room : 8, room, out, needed))
MAKE(cl_memory, clCreateBuffer, bytes + 1, UNUSED cl_context c, UNUSED cl_bitfield flags, size_t bytes,
     UNUSED void *host)
GIVE(clReleaseMemObject, (cl_memory x), free(x))
CALL(clGetMemObjectInfo, (UNUSED cl_memory m, cl_uint what, size_t room, void *out, size_t *needed),
     uint64_t number = what == CL_MEM_TYPE      ? CL_MEM_OBJECT_BUFFER
                       : what == CL_MEM_SIZE    ? 1 << 30
                       : what == CL_MEM_CONTEXT ? (uintptr_t)latest
                                                : 0;
     tell(&number, room < 8 ? room : 8, room, out, needed))
MAKE(cl_program, clCreateProgramWithSource, sizeof(fake_program), UNUSED cl_context c, UNUSED cl_uint count,
     UNUSED const char **text, UNUSED const size_t *lengths)
cl_program clCreateProgramWithBinary(UNUSED cl_context c, UNUSED cl_uint count, UNUSED const cl_device *d,
                                     const size_t *bytes, const unsigned char **data, cl_int *status, cl_int *error)
{
    FAULT(clCreateProgramWithBinary, fault);
    if (fault == 0 && (bytes[0] != sizeof binary || memcmp(data[0], binary, sizeof binary) != 0)) fault = -42;
    if (status != NULL) *status = fault;
    *error = fault;
    return fault != 0 ? NULL : calloc(1, sizeof(fake_program));
}
CALL(clBuildProgram,
     (cl_program p, UNUSED cl_uint count, UNUSED const cl_device *d, const char *options,
      UNUSED void (*notify)(cl_program, void *), UNUSED void *user),
     if (options != NULL && strstr(options, "OF_THE_ENVIRONMENT") != NULL) fake_log("options of the environment");
     if (options == NULL || strncmp(options, "-w ", 3) != 0) fake_log("a program with warnings");
     snprintf(((fake_program *)p)->options, FAKE_OPTIONS, "%s ", options != NULL ? options : "");
     if (build_error(((fake_program *)p)->options) != 0) return build_error(((fake_program *)p)->options))
CALL(clGetProgramInfo, (UNUSED cl_program p, cl_uint what, size_t room, void *out, size_t *needed),
     size_t bytes = sizeof binary;
     if (what == CL_PROGRAM_BINARIES) memcpy(*(unsigned char **)out, binary, bytes);
     else tell(&bytes, sizeof bytes, room, out, needed))
CALL(clGetProgramBuildInfo,
     (UNUSED cl_program p, UNUSED cl_device d, UNUSED cl_uint what, size_t room, void *out, size_t *needed),
     tell(message, sizeof message, room, out, needed))
GIVE(clReleaseProgram, (cl_program x), free(x))
cl_kernel clCreateKernel(cl_program p, const char *name, cl_int *error)
{
    FAULT(clCreateKernel, fault);
    fake_kernel *made = fault != 0 ? NULL : calloc(1, sizeof *made);
    if (error != NULL) *error = fault;
    if (made == NULL) return NULL;
    snprintf(made->name, sizeof made->name, "%s", name);
    memcpy(made->options, ((fake_program *)p)->options, FAKE_OPTIONS);
    return (cl_kernel)made;
}
GIVE(clReleaseKernel, (cl_kernel x), free(x))
CALL(clSetKernelArg, (cl_kernel k, cl_uint i, size_t bytes, const void *value), fake_kernel *kernel = (fake_kernel *)k;
     if (i >= FAKE_ARGUMENTS || bytes > sizeof *kernel->arguments) return -49;
     memcpy(&kernel->arguments[i], value, bytes); if (i >= kernel->count) kernel->count = i + 1)
CALL(clEnqueueNDRangeKernel,
     (UNUSED cl_queue q, cl_kernel k, UNUSED cl_uint d, UNUSED const size_t *offset, const size_t *global,
      UNUSED const size_t *local, UNUSED cl_uint count, UNUSED const cl_event *list, cl_event *out),
     const int error = launch_error((fake_kernel *)k);
     if (error != 0) return error;
     if (fake_choice("gemm", 0)) compute_items((fake_kernel *)k, d > 2 ? (int)global[2] : 1);
     event_of(out, ns_of((fake_kernel *)k)))
CALL(clEnqueueFillBuffer,
     (UNUSED cl_queue q, cl_memory m, const void *pattern, size_t pattern_bytes, size_t offset, size_t bytes,
      UNUSED cl_uint count, UNUSED const cl_event *list, cl_event *out),
     for (size_t i = 0; i < bytes; i += pattern_bytes) memcpy((char *)m + offset + i, pattern, pattern_bytes);
     event(out))
CALL(clEnqueueMarkerWithWaitList, (UNUSED cl_queue q, UNUSED cl_uint count, UNUSED const cl_event *list, cl_event *out),
     event(out))
CALL(clEnqueueWriteBuffer,
     (UNUSED cl_queue q, cl_memory m, UNUSED cl_bool blocking, size_t offset, size_t bytes, const void *from,
      UNUSED cl_uint count, UNUSED const cl_event *list, cl_event *out),
     memcpy((char *)m + offset, from, bytes);
     event(out))
CALL(clEnqueueWriteBufferRect,
     (UNUSED cl_queue q, cl_memory m, UNUSED cl_bool blocking, UNUSED const size_t *at, UNUSED const size_t *from,
      const size_t *region, size_t pitch, UNUSED size_t slice, size_t host_pitch, UNUSED size_t host_slice,
      const void *host, UNUSED cl_uint count, UNUSED const cl_event *list, cl_event *out),
     copy_rows((char *)m, pitch, host, host_pitch, region);
     event(out))
CALL(clEnqueueReadBuffer,
     (UNUSED cl_queue q, cl_memory m, UNUSED cl_bool blocking, size_t offset, size_t bytes, void *to,
      UNUSED cl_uint count, UNUSED const cl_event *list, cl_event *out),
     memcpy(to, (char *)m + offset, bytes);
     event(out))
#ifndef OLD
CALL(clEnqueueReadBufferRect,
     (UNUSED cl_queue q, cl_memory m, UNUSED cl_bool blocking, UNUSED const size_t *from, UNUSED const size_t *at,
      const size_t *region, size_t pitch, UNUSED size_t slice, size_t host_pitch, UNUSED size_t host_slice, void *to,
      UNUSED cl_uint count, UNUSED const cl_event *list, cl_event *out),
     copy_rows(to, host_pitch, (const char *)m, pitch, region);
     event(out))
#endif
void *clEnqueueMapBuffer(UNUSED cl_queue q, cl_memory m, UNUSED cl_bool blocking, UNUSED cl_bitfield flags,
                         UNUSED size_t offset, UNUSED size_t bytes, UNUSED cl_uint count, UNUSED const cl_event *list,
                         UNUSED cl_event *out, cl_int *error)
{
    FAULT(clEnqueueMapBuffer, fault);
    *error = fault;
    return fault != 0 ? NULL : m;
}
CALL(clEnqueueUnmapMemObject,
     (UNUSED cl_queue q, UNUSED cl_memory m, UNUSED void *at, UNUSED cl_uint count, UNUSED const cl_event *list,
      UNUSED cl_event *out),
     (void)0)
CALL(clWaitForEvents, (UNUSED cl_uint count, UNUSED const cl_event *list), (void)0)
CALL(clGetEventInfo, (UNUSED cl_event e, UNUSED cl_uint what, size_t room, void *out, size_t *needed),
     uint64_t number = 0;
     tell(&number, room < 8 ? room : 8, room, out, needed))
CALL(clGetEventProfilingInfo, (cl_event e, cl_uint what, size_t room, void *out, size_t *needed),
     cl_ulong ns = what == CL_PROFILING_COMMAND_END ? ((fake_event *)e)->ns : 0;
     tell(&ns, sizeof ns, room, out, needed))
GIVE(clReleaseEvent, (cl_event x), free(x))
CALL(clFinish, (UNUSED cl_queue q), (void)0)
