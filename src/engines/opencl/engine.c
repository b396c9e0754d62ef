/* engine.c - OpenCL as an engine: the device's own memory, kernels compiled for it at first use and kept. */
#define _GNU_SOURCE /* secure_getenv: a privileged program must not compile as its user says */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../gpu.h"
#include "opencl_engine.h"

enum { MOST_DEVICES = 32 };

/* One compiled program: a kernel's text with a plan's options. */
struct built {
    struct built *next;
    tw_lab_source source;
    char options[PLAN_OPTIONS_BYTES];
    cl_program program;
};

static tw_status cl_status(cl_int error)
{
    return error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY ||
                   error == CL_INVALID_BUFFER_SIZE
               ? TW_NO_MEMORY
               : TW_DEVICE_FAILED;
}

tw_status cl_fail(const char *call, cl_int error)
{
    return fail(cl_status(error), "%s failed with %s (%d)", call, cl_error_name(error), (int)error);
}

/* ---- devices, open, describe, facts ---- */

static void device_text(const cl_api *cl, cl_device device, cl_uint what, char *text, size_t bytes)
{
    char whole[512] = ""; /* a driver gives nothing where there is not room for all */
    cl->clGetDeviceInfo(device, what, sizeof whole - 1, whole, NULL);
    snprintf(text, bytes, "%.*s", (int)bytes - 1, whole);
}

uint64_t cl_device_number(const cl_api *cl, cl_device device, cl_uint what, size_t bytes)
{
    uint64_t number = 0; /* little endian: the bytes that are not written stay 0 */
    cl->clGetDeviceInfo(device, what, bytes, &number, NULL);
    return number;
}

bool cl_is_kind(const cl_api *cl, cl_device device, cl_bitfield kind)
{
    return (cl_device_number(cl, device, CL_DEVICE_TYPE, 8) & kind) != 0;
}

int cl_vector_bytes(const cl_api *cl, cl_device device)
{
    if (!cl_is_kind(cl, device, CL_DEVICE_TYPE_CPU_BIT)) return 0;
    return (int)sizeof(float) * (int)cl_device_number(cl, device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 4);
}

enum { SKIPPED_BYTES = 160 };

/* The devices of every platform, GPUs first: index 0 is the default. skipped: what is wrong with the last platform that
 * could not say what it has; "" where all could. */
static tw_status list_devices(const cl_api *cl, cl_device *devices, int *count, char skipped[SKIPPED_BYTES])
{
    cl_platform platforms[MOST_DEVICES];
    cl_device all[MOST_DEVICES];
    cl_uint platform_count = 0, found = 0;
    *count = 0;
    skipped[0] = '\0';
    cl_int error = cl->clGetPlatformIDs(MOST_DEVICES, platforms, &platform_count);
    if (error == CL_PLATFORM_NOT_FOUND_KHR || (error == CL_SUCCESS && platform_count == 0))
        return fail(TW_NO_DEVICE,
                    "the OpenCL loader found no driver (%d): no usable .icd file in /etc/OpenCL/vendors. Debian's "
                    "package pocl-opencl-icd makes the CPU a device; a GPU's driver brings its own",
                    (int)error);
    CL_TRY("clGetPlatformIDs", error);
    for (cl_uint i = 0; i < platform_count && i < MOST_DEVICES && found < MOST_DEVICES; i++) {
        cl_uint here = 0;
        error = cl->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MOST_DEVICES - found, all + found, &here);
        if (error == CL_SUCCESS) {
            found += here < MOST_DEVICES - found ? here : MOST_DEVICES - found;
        } else if (error != CL_DEVICE_NOT_FOUND) {
            char name[64] = "";
            cl->clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
            snprintf(skipped, SKIPPED_BYTES, "; platform %u (%s) is left out: clGetDeviceIDs failed with %s (%d)", i,
                     name, cl_error_name(error), (int)error);
        }
    }
    for (int gpus = 1; gpus >= 0; gpus--)
        for (cl_uint i = 0; i < found; i++)
            if (cl_is_kind(cl, all[i], CL_DEVICE_TYPE_GPU_BIT) == gpus) devices[(*count)++] = all[i];
    if (*count == 0)
        return fail(TW_NO_DEVICE,
                    "OpenCL has %u platform%s and no device. Debian's package pocl-opencl-icd makes the CPU one%s",
                    platform_count, platform_count == 1 ? "" : "s", skipped);
    return TW_OK;
}

static void describe(const cl_api *cl, cl_device device, int index, tw_device *out)
{
    *out = (tw_device){.size = sizeof *out, .index = index, .engine = "opencl"};
    device_text(cl, device, CL_DEVICE_NAME, out->name, sizeof out->name);
    device_text(cl, device, CL_DEVICE_VERSION, out->instruction_set, sizeof out->instruction_set);
    snprintf(out->threads_from, sizeof out->threads_from, "compute units");
    out->threads = (int32_t)cl_device_number(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS, 4);
    out->memory_bytes = (int64_t)cl_device_number(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE, 8);
    /* On GPUs drivers take this for one L1 or for the sum of all: not known. */
    if (cl_is_kind(cl, device, CL_DEVICE_TYPE_CPU_BIT))
        out->l2_bytes = (int64_t)cl_device_number(cl, device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 8);
}

static tw_status cl_devices(tw_device *devices, int32_t capacity, int32_t *count)
{
    cl_device found[MOST_DEVICES];
    char skipped[SKIPPED_BYTES];
    int number = 0;
    *count = 0;
    const cl_api *cl = cl_api_load();
    if (cl == NULL) return TW_NO_DEVICE;
    TRY(list_devices(cl, found, &number, skipped));
    if (skipped[0] != '\0') fail(TW_OK, "%s", skipped + 2); /* for tw_devices() */
    for (int i = 0; i < number && i < capacity; i++) describe(cl, found[i], i, &devices[i]);
    *count = number;
    return TW_OK;
}

/* "" where it does not say. */
static void platform_name(const cl_api *cl, cl_device device, char name[96])
{
    cl_platform platform = NULL;
    name[0] = name[95] = '\0';
    cl->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    if (platform != NULL) cl->clGetPlatformInfo(platform, CL_PLATFORM_NAME, 95, name, NULL);
}

/* PoCL crashes on a program binary that is not whole, and keeps what it has compiled in a folder of its own: it is
 * handed texts alone [docs/decisions/0009]. */
static bool keeps_its_own(const cl_api *cl, cl_device device)
{
    char name[96];
    platform_name(cl, device, name);
    return strcmp(name, "Portable Computing Language") == 0;
}

static void cl_state(char *text, size_t bytes)
{
    cl_device found[MOST_DEVICES];
    char name[96], version[96], driver[96], skipped[SKIPPED_BYTES];
    int count;
    const cl_api *cl = cl_api_load();
    if (cl == NULL || list_devices(cl, found, &count, skipped) != TW_OK) return;
    device_text(cl, found[0], CL_DEVICE_NAME, name, sizeof name);
    device_text(cl, found[0], CL_DEVICE_VERSION, version, sizeof version);
    device_text(cl, found[0], CL_DRIVER_VERSION, driver, sizeof driver);
    bool own = keeps_its_own(cl, found[0]);
    jit_cache *cache = own ? NULL : jit_cache_open();
    snprintf(text, bytes, "ready: %d device%s, the first %s, %s, driver %s%s; %s%s", count, count == 1 ? "" : "s", name,
             version, driver, skipped, jit_cache_usable(cache) ? "kernels kept: " : "",
             own ? "PoCL keeps its kernels itself" : jit_cache_state(cache));
    jit_cache_close(cache);
}

static void cl_close(engine *e)
{
    for (built *b = e->built, *next; b != NULL; b = next) {
        next = b->next;
        e->cl->clReleaseProgram(b->program);
        free(b);
    }
    if (e->queue != NULL) e->cl->clReleaseCommandQueue(e->queue);
    if (e->timed_queue != NULL) e->cl->clReleaseCommandQueue(e->timed_queue);
    if (e->context != NULL) e->cl->clReleaseContext(e->context);
    jit_cache_close(e->cache);
    pthread_mutex_destroy(&e->building);
    free(e);
}

/* What a kept kernel depends on: platform, device and driver with their versions. */
static void identify(engine *e)
{
    char name[256], version[128], driver[128], platform[96];
    platform_name(e->cl, e->device, platform);
    device_text(e->cl, e->device, CL_DEVICE_NAME, name, sizeof name);
    device_text(e->cl, e->device, CL_DEVICE_VERSION, version, sizeof version);
    device_text(e->cl, e->device, CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(e->identity, sizeof e->identity, "%s|%s|%s|%s", platform, name, version, driver);
}

static tw_status open_device(engine *e, int index)
{
    cl_device found[MOST_DEVICES];
    char skipped[SKIPPED_BYTES];
    int count;
    cl_int error;
    TRY(list_devices(e->cl, found, &count, skipped));
    if (index < 0 || index >= count)
        return fail(TW_NO_DEVICE, "device %d was asked for, OpenCL has %d (0 to %d)%s", index, count, count - 1,
                    skipped);
    e->device = found[index], e->index = index;
    e->vector_bytes = cl_vector_bytes(e->cl, e->device);
    e->context = e->cl->clCreateContext(NULL, 1, &e->device, NULL, NULL, &error);
    CL_TRY("clCreateContext", error);
    e->queue = e->cl->clCreateCommandQueue(e->context, e->device, 0, &error);
    CL_TRY("clCreateCommandQueue", error);
    identify(e);
    if (!keeps_its_own(e->cl, e->device)) e->cache = jit_cache_open();
    return TW_OK;
}

static void cl_describe(const engine *e, tw_device *out) { describe(e->cl, e->device, e->index, out); }

static void cl_facts(const engine *e, device_facts *out)
{
    *out = (device_facts){
        .engine = "opencl",
        .threads = 1,
        .copies = true,
        .warp = e->warp,
        .multiprocessors = (int)cl_device_number(e->cl, e->device, CL_DEVICE_MAX_COMPUTE_UNITS, 4),
        .vector_bytes = e->vector_bytes,
        .no_doubles = cl_device_number(e->cl, e->device, CL_DEVICE_DOUBLE_FP_CONFIG, 8) == 0,
        .local_bytes = (int64_t)cl_device_number(e->cl, e->device, CL_DEVICE_LOCAL_MEM_SIZE, 8),
        .most_threads = (int)cl_device_number(e->cl, e->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t)),
        .largest_bytes = (int64_t)cl_device_number(e->cl, e->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8)};
}

/* ---- prepare ---- */

/* Clang names a place twice where a macro stands: "4:1 <Spelling=mine.cl:4:14>". The first is enough. */
static void drop_spellings(char *log)
{
    static const char begin[] = " <Spelling=";
    for (char *at = log; (at = strstr(at, begin)) != NULL;) {
        const char *end = strchr(at, '>');
        if (end == NULL) return;
        memmove(at, end + 1, strlen(end + 1) + 1);
    }
}

static tw_status build_failed(engine *e, cl_program program, const char *file, cl_int error)
{
    char log[BUILD_LOG_BYTES] = "";
    size_t bytes = 0;
    e->cl->clGetProgramBuildInfo(program, e->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    char *whole = malloc(bytes + 1);
    if (whole != NULL &&
        e->cl->clGetProgramBuildInfo(program, e->device, CL_PROGRAM_BUILD_LOG, bytes, whole, NULL) == CL_SUCCESS) {
        whole[bytes] = '\0';
        drop_spellings(whole);
        snprintf(log, sizeof log, "%.*s", BUILD_LOG_BYTES - 1, whole);
    }
    free(whole);
    e->cl->clReleaseProgram(program);
    return fail(TW_BUILD_FAILED, "%s could not be compiled for this device: %s (%d)%s%s", file, cl_error_name(error),
                (int)error, log[0] != '\0' ? "\n" : "", log);
}

/* From a kept binary; NULL where there is none or the driver will not have it. */
static cl_program program_from_cache(engine *e, const jit_key *key, const char *options)
{
    size_t bytes;
    cl_int error, status;
    void *binary = jit_cache_get(e->cache, key, &bytes);
    if (binary == NULL) return NULL;
    const unsigned char *binaries = binary;
    cl_program program = e->cl->clCreateProgramWithBinary(e->context, 1, &e->device, &bytes, &binaries, &status,
                                                          &error);
    free(binary);
    if (error != CL_SUCCESS) return NULL;
    if (e->cl->clBuildProgram(program, 1, &e->device, options, NULL, NULL) == CL_SUCCESS) return program;
    e->cl->clReleaseProgram(program);
    return NULL;
}

static void program_to_cache(engine *e, const jit_key *key, cl_program program)
{
    size_t bytes = 0;
    if (e->cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS ||
        bytes == 0)
        return;
    unsigned char *binary = malloc(bytes);
    if (binary != NULL &&
        e->cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        jit_cache_put(e->cache, key, binary, bytes);
    free(binary);
}

static tw_status build(engine *e, const tw_lab_source *source, const char *plan_options, cl_program *out)
{
    char options[PLAN_OPTIONS_BYTES + 300];
    const char *text = gpu_text(source);
    cl_int error;
    snprintf(options, sizeof options, "-cl-std=CL1.2 %s %s", plan_options, e->extra);
    jit_key key = jit_key_of(4, (const char *const[]){"opencl", e->identity, options, text});
    *out = program_from_cache(e, &key, options);
    if (*out != NULL) return TW_OK;
    cl_program program = e->cl->clCreateProgramWithSource(e->context, 1, &text, NULL, &error);
    CL_TRY("clCreateProgramWithSource", error);
    error = e->cl->clBuildProgram(program, 1, &e->device, options, NULL, NULL);
    if (error != CL_SUCCESS) return build_failed(e, program, source->file, error);
    program_to_cache(e, &key, program);
    *out = program;
    return TW_OK;
}

tw_status cl_find_or_build(engine *e, const tw_lab_source *source, const char *options, cl_kernel *out)
{
    built *b;
    cl_int error;
    tw_status status = TW_OK;
    pthread_mutex_lock(&e->building);
    for (b = e->built; b != NULL; b = b->next)
        if (gpu_same_text(&b->source, source) && strcmp(b->options, options) == 0) break;
    if (b == NULL && (b = calloc(1, sizeof *b)) == NULL) status = fail(TW_NO_MEMORY, "no memory for a compiled kernel");
    if (b != NULL && b->program == NULL) {
        b->source = *source;
        snprintf(b->options, sizeof b->options, "%s", options);
        status = build(e, source, options, &b->program);
        if (status == TW_OK) {
            b->next = e->built;
            e->built = b;
        } else {
            free(b);
            b = NULL;
        }
    }
    pthread_mutex_unlock(&e->building);
    if (status != TW_OK) return status;
    *out = e->cl->clCreateKernel(b->program, source->entry, &error);
    CL_TRY("clCreateKernel", error);
    return TW_OK;
}

/* The driver's own binary of a program: PTX on NVIDIA's. */
static tw_status cl_code(engine *e, const plan *p, int sm, bool ptx, tw_lab_code *out)
{
    const gpu_plan *gpu = &p->gpu;
    size_t bytes = 0;
    cl_kernel kernel;
    cl_program program = NULL;
    (void)sm, (void)ptx;
    TRY(cl_find_or_build(e, &gpu->source, gpu->options, &kernel));
    e->cl->clReleaseKernel(kernel);
    pthread_mutex_lock(&e->building);
    for (const built *b = e->built; b != NULL && program == NULL; b = b->next)
        if (gpu_same_text(&b->source, &gpu->source) && strcmp(b->options, gpu->options) == 0) program = b->program;
    pthread_mutex_unlock(&e->building);
    cl_int error = e->cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL);
    unsigned char *binary = error == CL_SUCCESS && bytes > 0 ? calloc(1, bytes + 1) : NULL;
    if (binary != NULL) error = e->cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    if (binary == NULL || error != CL_SUCCESS) {
        free(binary);
        return fail(TW_BUILD_FAILED, "the OpenCL driver gives no binary of %s: %s (%d)", gpu->source.file,
                    cl_error_name(error), (int)error);
    }
    snprintf(out->form, sizeof out->form, "%s", strstr((const char *)binary, ".entry") != NULL ? "ptx" : "binary");
    snprintf(out->target, sizeof out->target, "the device");
    out->bytes = binary, out->size = (int64_t)bytes;
    return TW_OK;
}

/* How many neighbours wait for each other with the barrier of one warp: NVIDIA's 32, where its compiler takes that
 * barrier, which is probed with the one kernel that has it. Others' sub-groups have widths that are known only when a
 * kernel is compiled: there whole groups wait. */
static int warp_of(engine *e)
{
    char extensions[8192] = "";
    cl_kernel kernel;
    e->cl->clGetDeviceInfo(e->device, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    if (strstr(extensions, "cl_nv_device_attribute_query") == NULL) return 0;
    if (cl_find_or_build(e, &(tw_lab_source){"opencl/ladder/s2_shared_a.cl", "s2_shared_a", NULL},
                         "-DTILE=32 -DOP_A=0 -DOP_B=0 -DWIDE=0 -DSUBGROUP_BARRIER=1", &kernel) != TW_OK)
        return 0;
    e->cl->clReleaseKernel(kernel);
    return (int)cl_device_number(e->cl, e->device, CL_DEVICE_WARP_SIZE_NV, 4);
}

static tw_status cl_open(const tw_options *options, bool despite, engine **out)
{
    (void)despite; /* no word is refused */
    const cl_api *cl = cl_api_load();
    if (cl == NULL) return TW_NO_DEVICE;
    engine *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for the opencl engine of %zu bytes", sizeof *made);
    const char *extra = secure_getenv("TILEWRIGHT_OPENCL_OPTIONS");
    snprintf(made->extra, sizeof made->extra, "%s", extra ? extra : "");
    made->cl = cl;
    made->pid = getpid();
    pthread_mutex_init(&made->building, NULL);
    tw_status status = open_device(made, options->device);
    if (status != TW_OK) {
        cl_close(made);
        return status;
    }
    made->warp = warp_of(made);
    *out = made;
    return TW_OK;
}

static tw_status cl_prepare(engine *e, const plan *p, runnable *out)
{
    const gpu_plan *gpu = &p->gpu;
    const tw_lab_source adds = {gpu->source.file, p->row->gpu.adds, gpu->source.text};
    cl_kernel kernel, add = NULL;
    if (e->pid != getpid())
        return fail(TW_NO_DEVICE, "this opencl context was opened before fork(): the child must open its own");
    TRY(cl_find_or_build(e, &gpu->source, gpu->options, &kernel));
    tw_status status = adds.entry != NULL && gpu->k_split.count > 0 ? cl_find_or_build(e, &adds, gpu->options, &add)
                                                                    : TW_OK;
    if (status == TW_OK)
        *out = (runnable){.plan = p, .kernel = kernel, .add = add};
    else
        e->cl->clReleaseKernel(kernel);
    return status;
}

/* ---- upload, launch, wait, download, release, drop ---- */

/* Pitches and extent of an operand whose rows are moved, each with padding of its own that is left alone. */
typedef struct rows_of {
    size_t region[3], device_pitch, host_pitch;
} rows_of;

static const size_t no_offset[3] = {0, 0, 0};

static rows_of rows_of_operand(const operand *o)
{
    return (rows_of){{(size_t)o->cols * o->element_bytes, (size_t)o->rows, 1},
                     (size_t)o->device_ld * o->element_bytes,
                     (size_t)o->ld * o->element_bytes};
}

enum { MOST_PITCH = 0x7fffffff }; /* NVIDIA's driver refuses to copy rectangles whose rows lie 4 GiB apart */

/* An operand and its copy, one way or the other: at once where its elements lie side by side, else as a rectangle, else
 * row by row. */
static tw_status copy(engine *e, const operand *o, cl_memory memory, bool up)
{
    rows_of r = rows_of_operand(o);
    bool at_once = gpu_moves_at_once(o), rectangle = r.host_pitch <= MOST_PITCH;
    if (!at_once && rectangle && up)
        CL_TRY("clEnqueueWriteBufferRect",
               e->cl->clEnqueueWriteBufferRect(e->queue, memory, 1, no_offset, no_offset, r.region, r.device_pitch, 0,
                                               r.host_pitch, 0, o->host, 0, NULL, NULL));
    if (!at_once && rectangle && !up)
        CL_TRY("clEnqueueReadBufferRect",
               e->cl->clEnqueueReadBufferRect(e->queue, memory, 1, no_offset, no_offset, r.region, r.device_pitch, 0,
                                              r.host_pitch, 0, o->host, 0, NULL, NULL));
    if (!at_once && rectangle) return TW_OK;
    size_t runs = at_once ? 1 : r.region[1], bytes = at_once ? gpu_span(o) : r.region[0];
    for (size_t i = 0; i < runs; i++) {
        char *host = (char *)o->host + i * r.host_pitch;
        if (up)
            CL_TRY("clEnqueueWriteBuffer",
                   e->cl->clEnqueueWriteBuffer(e->queue, memory, 1, i * r.device_pitch, bytes, host, 0, NULL, NULL));
        else
            CL_TRY("clEnqueueReadBuffer",
                   e->cl->clEnqueueReadBuffer(e->queue, memory, 1, i * r.device_pitch, bytes, host, 0, NULL, NULL));
    }
    return TW_OK;
}

/* A processor computes in the caller's memory where that has the layout of a copy, without padding: by the API all of a
 * buffer may be written back. Small operands are copied, in less time than the calls take that show C. */
static bool computes_in_place(const engine *e, const operand *o)
{
    const size_t least_bytes = (size_t)2 << 20;
    return e->vector_bytes > 0 && gpu_span(o) >= least_bytes && o->lent && gpu_moves_at_once(o) &&
           (o->rows == 1 || o->ld == o->device_ld);
}

tw_status cl_upload(engine *e, const operand *from, bool copies, buffer *out)
{
    cl_int error;
    size_t bytes = gpu_span(from);
    *out = (buffer){0};
    if (bytes == 0) return TW_OK;
    if (computes_in_place(e, from)) {
        out->memory = e->cl->clCreateBuffer(e->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, from->host,
                                            &error);
        CL_TRY("clCreateBuffer", error);
        out->host = from->host;
        return TW_OK;
    }
    /* NVIDIA's driver wants a rectangle's last row whole too */
    if (!gpu_moves_at_once(from)) bytes += (size_t)(from->device_ld - from->cols) * from->element_bytes;
    cl_memory memory = e->cl->clCreateBuffer(e->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (error != CL_SUCCESS)
        return fail(cl_status(error), "no device memory for %zu bytes: %s (%d)", bytes, cl_error_name(error),
                    (int)error);
    tw_status status = copies ? copy(e, from, memory, true) : TW_OK;
    if (status == TW_OK)
        out->memory = memory;
    else
        e->cl->clReleaseMemObject(memory);
    return status;
}

/* alpha or beta, as the kernels of a type take it. */
typedef struct scalar {
    size_t bytes;
    union {
        float of_float;
        double of_double;
        int32_t of_int;
    };
} scalar;

static scalar scalar_of(tw_dtype dtype, double value)
{
    if (dtype == TW_F64) return (scalar){sizeof(double), {.of_double = value}};
    if (dtype_find(dtype)->result == TW_I32) return (scalar){sizeof(int32_t), {.of_int = (int32_t)value}};
    return (scalar){sizeof(float), {.of_float = (float)value}};
}

/* What kernels are launched with: all but the last in the order of their parameters (rung.clh, types.clh). */
typedef struct arguments {
    int32_t m, n, k;
    scalar alpha;
    cl_memory a;
    int64_t lda;
    cl_memory b;
    int64_t ldb;
    scalar beta;
    cl_memory c;
    int64_t ldc;
    int32_t splits;
    cl_memory sums;
    int32_t op_a, op_b, block_m, block_n;
    cl_memory counters;
} arguments;

typedef struct argument {
    size_t bytes;
    const void *value;
} argument;

static tw_status set_some(engine *e, cl_kernel kernel, cl_uint first, const argument *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CL_TRY("clSetKernelArg", e->cl->clSetKernelArg(kernel, first + (cl_uint)i, list[i].bytes, list[i].value));
    return TW_OK;
}

static tw_status set_arguments(engine *e, const runnable *r, cl_kernel kernel, const buffer *a, const buffer *b,
                               const buffer *c)
{
    const plan *plan = r->plan;
    const tw_problem *p = &plan->problem;
    const arguments x = {.m = (int32_t)p->m,
                         .n = (int32_t)p->n,
                         .k = (int32_t)p->k,
                         .alpha = scalar_of(p->dtype, p->alpha),
                         .a = a->memory,
                         .lda = p->lda,
                         .b = b->memory,
                         .ldb = plan->gpu.transposes_b ? max_i64(p->k, 1) : p->ldb,
                         .beta = scalar_of(p->dtype, p->beta),
                         .c = c->memory,
                         .ldc = p->ldc,
                         .splits = (int32_t)plan->gpu.k_split.splits,
                         .sums = (cl_memory)(uintptr_t)r->workspace,
                         .op_a = p->op_a,
                         .op_b = p->op_b,
                         .block_m = (int32_t)plan->gpu.block_m,
                         .block_n = (int32_t)plan->gpu.block_n,
                         .counters = r->counters};
    /* clang-format off */
#define ARGUMENT(name) {sizeof x.name, &x.name}
#define SCALAR(name)   {x.name.bytes, &x.name.of_double}
    const argument all[] = {ARGUMENT(m), ARGUMENT(n), ARGUMENT(k), SCALAR(alpha), ARGUMENT(a), ARGUMENT(lda),
                            ARGUMENT(b), ARGUMENT(ldb), SCALAR(beta), ARGUMENT(c), ARGUMENT(ldc)},
                   splits[] = {ARGUMENT(splits), ARGUMENT(sums)},
                   panels[] = {ARGUMENT(op_a), ARGUMENT(op_b), ARGUMENT(block_m), ARGUMENT(block_n), ARGUMENT(counters),
                             ARGUMENT(sums)};
#undef SCALAR
#undef ARGUMENT
    /* clang-format on */
    const cl_uint count = sizeof all / sizeof *all;
    TRY(set_some(e, kernel, 0, all, count));
    if (plan->row->gpu.traits & GPU_SPLIT_K) return set_some(e, kernel, count, splits, sizeof splits / sizeof *splits);
    if (plan->row->gpu.traits & GPU_PANELS) return set_some(e, kernel, count, panels, sizeof panels / sizeof *panels);
    return TW_OK;
}

tw_status cl_queue_for(engine *e, bool timed, cl_queue *out)
{
    cl_int error = CL_SUCCESS;
    *out = e->queue;
    if (!timed) return TW_OK;
    pthread_mutex_lock(&e->building);
    if (e->timed_queue == NULL)
        e->timed_queue = e->cl->clCreateCommandQueue(e->context, e->device, CL_QUEUE_PROFILING_ENABLE, &error);
    *out = e->timed_queue;
    pthread_mutex_unlock(&e->building);
    CL_TRY("clCreateCommandQueue", error);
    return TW_OK;
}

/* What a GPU_PANELS row counts blocks in: its kernel leaves the zeros that it wants to find. */
static tw_status find_counters(engine *e, runnable *r)
{
    const int32_t zeros[2] = {0};
    cl_int error;
    if (!(r->plan->row->gpu.traits & GPU_PANELS) || r->counters != NULL) return TW_OK;
    r->counters = e->cl->clCreateBuffer(e->context, CL_MEM_READ_WRITE, sizeof zeros, NULL, &error);
    if (error != CL_SUCCESS) return fail(cl_status(error), "no device memory for counters: %s", cl_error_name(error));
    CL_TRY("clEnqueueWriteBuffer",
           e->cl->clEnqueueWriteBuffer(e->queue, r->counters, 1, 0, sizeof zeros, zeros, 0, NULL, NULL));
    return TW_OK;
}

/* A workspace of the engine's own, at the first launch that needs one. */
static tw_status find_workspace(engine *e, runnable *r)
{
    cl_int error;
    TRY(find_counters(e, r));
    if (r->plan->workspace_bytes == 0 || r->workspace != 0) return TW_OK;
    cl_memory memory = e->cl->clCreateBuffer(e->context, CL_MEM_READ_WRITE, r->plan->workspace_bytes, NULL, &error);
    if (error != CL_SUCCESS)
        return fail(cl_status(error), "no device memory for %zu bytes of workspace: %s (%d)", r->plan->workspace_bytes,
                    cl_error_name(error), (int)error);
    r->workspace = (uint64_t)(uintptr_t)memory;
    return TW_OK;
}

/* The queue works in order: a kernel that follows another sees what it has left. */
static tw_status enqueue(engine *e, const runnable *r, cl_queue queue, cl_kernel kernel, int64_t width, int64_t height,
                         cl_event *event)
{
    const plan *p = r->plan;
    size_t local[2] = {(size_t)p->gpu.threads_x, (size_t)p->gpu.threads_y},
           global[2] = {(size_t)width * local[0], (size_t)height * local[1]};
    CL_TRY("clEnqueueNDRangeKernel",
           e->cl->clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, event));
    return TW_OK;
}

static tw_status cl_launch(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c)
{
    const plan *p = r->plan;
    const gpu_plan *gpu = &p->gpu;
    cl_event event = NULL;
    cl_queue queue;
    if (r->begin != NULL) e->cl->clReleaseEvent(r->begin); /* of a launch of which only the first half was made */
    r->begin = NULL;
    if (p->problem.m == 0 || p->problem.n == 0) return TW_OK;
    TRY(cl_queue_for(e, r->timed, &queue));
    TRY(find_workspace(e, r));
    TRY(set_arguments(e, r, r->kernel, a, b, c));
    if (r->add != NULL) TRY(set_arguments(e, r, r->add, a, b, c));
    TRY(enqueue(e, r, queue, r->kernel, gpu->grid_x, gpu->grid_y, &event));
    r->launched = true;
    r->event = event;
    if (r->add == NULL) return TW_OK;
    r->begin = event;
    r->event = NULL;
    /* of several types a work-item for each element, else a group for each tile */
    const int64_t groups = p->row->gpu.traits & GPU_TYPES ? ceil_div(p->problem.m * p->problem.n, gpu->threads_x)
                                                          : gpu->grid_x / gpu->k_split.splits;
    TRY(enqueue(e, r, queue, r->add, groups, 1, &event));
    r->event = event;
    return TW_OK;
}

tw_status cl_end_event(engine *e, cl_event first, cl_event event, double *seconds)
{
    cl_ulong begin = 0, end = 0;
    cl_int error = e->cl->clWaitForEvents(1, &event);
    if (error == CL_SUCCESS && seconds != NULL)
        error = e->cl->clGetEventProfilingInfo(first != NULL ? first : event, CL_PROFILING_COMMAND_START, sizeof begin,
                                               &begin, NULL);
    if (error == CL_SUCCESS && seconds != NULL)
        error = e->cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    e->cl->clReleaseEvent(event);
    CL_TRY("the kernel", error);
    if (seconds != NULL) *seconds = 1e-9 * (double)(end - begin);
    return TW_OK;
}

static tw_status cl_wait(engine *e, runnable *r)
{
    cl_event event = r->event, first = r->begin;
    if (event == NULL) return TW_OK;
    r->event = r->begin = NULL;
    tw_status status = cl_end_event(e, first, event, r->timed ? &r->seconds : NULL);
    if (first != NULL) e->cl->clReleaseEvent(first);
    return status;
}

/* C was computed in the caller's memory: mapping it says that it is to be seen there. */
static tw_status show(engine *e, const buffer *b, size_t bytes)
{
    cl_int error;
    void *at = e->cl->clEnqueueMapBuffer(e->queue, b->memory, 1, CL_MAP_READ, 0, bytes, 0, NULL, NULL, &error);
    CL_TRY("clEnqueueMapBuffer", error);
    CL_TRY("clEnqueueUnmapMemObject", e->cl->clEnqueueUnmapMemObject(e->queue, b->memory, at, 0, NULL, NULL));
    CL_TRY("clFinish", e->cl->clFinish(e->queue));
    return TW_OK;
}

static tw_status cl_download(engine *e, const buffer *from, const operand *to)
{
    if (from->host != NULL) return show(e, from, gpu_span(to));
    const tw_status status = gpu_span(to) == 0 ? TW_OK : copy(e, to, from->memory, false);
    return status == TW_NO_MEMORY ? TW_DEVICE_FAILED : status; /* the former promises that C is as it was */
}

void cl_release(engine *e, buffer *b)
{
    if (b->memory != NULL) e->cl->clReleaseMemObject(b->memory);
    b->memory = NULL;
}

static void cl_drop(engine *e, runnable *r)
{
    if (r->event != NULL) e->cl->clReleaseEvent(r->event);
    if (r->begin != NULL) e->cl->clReleaseEvent(r->begin);
    if (r->kernel != NULL) e->cl->clReleaseKernel(r->kernel);
    if (r->add != NULL) e->cl->clReleaseKernel(r->add);
    if (r->workspace != 0) e->cl->clReleaseMemObject((cl_memory)(uintptr_t)r->workspace);
    if (r->counters != NULL) e->cl->clReleaseMemObject(r->counters);
    r->event = r->begin = r->kernel = r->add = r->counters = NULL;
    r->workspace = 0;
}

const engine_ops opencl_engine = {
    .name = "opencl",
    .devices = cl_devices,
    .state = cl_state,
    .open = cl_open,
    .describe = cl_describe,
    .facts = cl_facts,
    .prepare = cl_prepare,
    .upload = cl_upload,
    .launch = cl_launch,
    .wait = cl_wait,
    .download = cl_download,
    .release = cl_release,
    .drop = cl_drop,
    .code = cl_code,
    .peak_flops = cl_peak_flops,
    .bandwidth = cl_bandwidth,
    .shared_bandwidth = cl_shared_bandwidth,
    .shared_pattern = cl_shared_pattern,
    .close = cl_close,
};
