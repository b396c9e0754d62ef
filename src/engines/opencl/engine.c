/* engine.c - OpenCL as an engine: the device's own memory, kernels compiled for it at first use and kept. */
#define _GNU_SOURCE /* secure_getenv: a privileged program must not compile as its user says */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opencl_engine.h"

enum { MOST_DEVICES = 32 };

/* ---- devices, open, describe, facts ---- */

/* Cuts the text after the last word that fits. */
static void device_text(const cl_api *cl, cl_device device, cl_uint what, char *text, size_t bytes)
{
    char whole[512] = ""; /* a driver gives nothing where there is not room for all */
    cl->clGetDeviceInfo(device, what, sizeof whole - 1, whole, NULL);
    size_t length = strlen(whole);
    if (length >= bytes) {
        for (length = bytes - 1; length > 0 && whole[length] != ' ';) length--;
        if (length == 0) length = bytes - 1; /* one long word */
        while (length > 1 && strchr(" :,", whole[length - 1]) != NULL) length--;
    }
    snprintf(text, bytes, "%.*s", (int)length, whole);
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
static void platform_text(const cl_api *cl, cl_device device, cl_uint what, char *text, size_t bytes)
{
    cl_platform platform = NULL;
    text[0] = text[bytes - 1] = '\0';
    cl->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    if (platform != NULL) cl->clGetPlatformInfo(platform, what, bytes - 1, text, NULL);
}

/* PoCL crashes on a program binary that is not whole, and keeps what it has compiled in a folder of its own: it is
 * handed texts alone [docs/decisions/0009]. */
static bool keeps_its_own(const cl_api *cl, cl_device device)
{
    char name[96];
    platform_text(cl, device, CL_PLATFORM_NAME, name, sizeof name);
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
    const bool ours = e->pid == getpid(); /* a driver's state does not survive a fork */
    cl_close_programs(e, ours);
    if (ours && e->queue != NULL) e->cl->clReleaseCommandQueue(e->queue);
    if (ours && e->timed_queue != NULL) e->cl->clReleaseCommandQueue(e->timed_queue);
    if (ours && e->context != NULL) e->cl->clReleaseContext(e->context);
    jit_cache_close(e->cache);
    pthread_mutex_destroy(&e->building);
    pthread_mutex_destroy(&e->idling);
    free(e);
}

/* What a kept kernel depends on: platform, device and driver with their versions. PoCL's driver keeps its version when
 * it is built with another LLVM, which its platform names. */
static void identify(engine *e)
{
    char name[256], version[128], driver[128], platform[96];
    platform_text(e->cl, e->device, CL_PLATFORM_NAME, platform, sizeof platform);
    platform_text(e->cl, e->device, CL_PLATFORM_VERSION, e->compiler, sizeof e->compiler);
    device_text(e->cl, e->device, CL_DEVICE_NAME, name, sizeof name);
    device_text(e->cl, e->device, CL_DEVICE_VERSION, version, sizeof version);
    device_text(e->cl, e->device, CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(e->identity, sizeof e->identity, "%s|%s|%s|%s", platform, name, version, driver);
}

/* Which of the devices of the caller's context is meant. */
static tw_status find_device(const cl_api *cl, const tw_options *options, cl_device *out)
{
    cl_device devices[MOST_DEVICES];
    size_t bytes = 0;
    cl_int error = cl->clGetContextInfo(options->device_context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes);
    if (error != CL_SUCCESS)
        return fail(TW_BAD_ARGUMENT,
                    "options.device_context is not used: clGetContextInfo failed with %s (%d), expected a cl_context "
                    "of at most %d devices",
                    cl_error_name(error), (int)error, (int)MOST_DEVICES);
    const size_t count = bytes / sizeof *devices;
    *out = options->device_id;
    if (*out == NULL && count == 1) *out = devices[0];
    if (*out == NULL)
        return fail(TW_BAD_ARGUMENT,
                    "options.device_id is NULL, but options.device_context has %zu devices: expected one of them",
                    count);
    for (size_t i = 0; i < count; i++)
        if (devices[i] == *out) return TW_OK;
    return fail(TW_BAD_ARGUMENT, "options.device_id is no device of options.device_context, expected one of its %zu",
                count);
}

/* Where the device stands in the list, or the one that it is a part of; -1: nowhere. */
static int index_of(const cl_api *cl, cl_device device, const cl_device *found, int count)
{
    cl_device whole = NULL;
    for (int i = 0; i < count; i++)
        if (found[i] == device) return i;
    cl->clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof whole, &whole, NULL);
    return whole != NULL ? index_of(cl, whole, found, count) : -1;
}

/* Adopts the context of the caller, and takes its device. */
static tw_status adopt(engine *e, const tw_options *options, const cl_device *found, int count)
{
    TRY(find_device(e->cl, options, &e->device));
    e->index = index_of(e->cl, e->device, found, count);
    if (options->device != 0 && options->device != e->index)
        return fail(TW_BAD_ARGUMENT,
                    "options.device is %d, but options.device_context is of device %d: expected that, or 0",
                    options->device, e->index);
    CL_TRY("clRetainContext", e->cl->clRetainContext(options->device_context));
    e->context = options->device_context;
    return TW_OK;
}

static tw_status make_context(engine *e, int index, const cl_device *found, int count, const char *skipped)
{
    cl_int error;
    if (index < 0 || index >= count)
        return fail(TW_NO_DEVICE, "device %d was asked for, OpenCL has %d (0 to %d)%s", index, count, count - 1,
                    skipped);
    e->device = found[index], e->index = index;
    e->context = e->cl->clCreateContext(NULL, 1, &e->device, NULL, NULL, &error);
    CL_TRY("clCreateContext", error);
    return TW_OK;
}

static tw_status open_device(engine *e, const tw_options *options)
{
    cl_device found[MOST_DEVICES];
    char skipped[SKIPPED_BYTES];
    int count;
    cl_int error;
    TRY(list_devices(e->cl, found, &count, skipped));
    if (options->device_context == NULL && options->device_id != NULL)
        return fail(TW_BAD_ARGUMENT,
                    "options.device_id is given and options.device_context is NULL, expected a cl_context of it");
    TRY(options->device_context != NULL ? adopt(e, options, found, count)
                                        : make_context(e, options->device, found, count, skipped));
    e->vector_bytes = cl_vector_bytes(e->cl, e->device);
    e->queue = e->cl->clCreateCommandQueue(e->context, e->device, 0, &error);
    CL_TRY("clCreateCommandQueue", error);
    identify(e);
    e->cache = jit_cache_open();
    e->keeps_binaries = !keeps_its_own(e->cl, e->device);
    return TW_OK;
}

static void cl_describe(const engine *e, tw_device *out) { describe(e->cl, e->device, e->index, out); }

static void cl_facts(const engine *e, device_facts *out)
{
    *out = (device_facts){
        .engine = "opencl",
        .threads = 1,
        .copies = true,
        .addresses = true,
        .warp = e->warp,
        .sm = e->sm,
        .multiprocessors = (int)cl_device_number(e->cl, e->device, CL_DEVICE_MAX_COMPUTE_UNITS, 4),
        .vector_bytes = e->vector_bytes,
        .rounds_loosely = (cl_device_number(e->cl, e->device, CL_DEVICE_SINGLE_FP_CONFIG, 8) &
                           CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) == 0,
        .no_doubles = cl_device_number(e->cl, e->device, CL_DEVICE_DOUBLE_FP_CONFIG, 8) == 0,
        .local_bytes = (int64_t)cl_device_number(e->cl, e->device, CL_DEVICE_LOCAL_MEM_SIZE, 8),
        .most_threads = (int)cl_device_number(e->cl, e->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t)),
        .largest_bytes = (int64_t)cl_device_number(e->cl, e->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8)};
}

static void cl_identity(const engine *e, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s, %d units%s%s", e->identity,
             (int)cl_device_number(e->cl, e->device, CL_DEVICE_MAX_COMPUTE_UNITS, 4),
             e->extra[0] != '\0' ? ", options " : "", e->extra);
}

/* ---- prepare ---- */

/* How many neighbours wait for each other with the barrier of one warp: NVIDIA's 32, where its compiler takes that
 * barrier, which is probed with the one kernel that has it. Others' sub-groups have widths that are known only when a
 * kernel is compiled: there whole groups wait. */
static int warp_of(engine *e)
{
    char extensions[8192] = "";
    cl_kernel kernel;
    e->cl->clGetDeviceInfo(e->device, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    if (strstr(extensions, "cl_nv_device_attribute_query") == NULL) return 0;
    const kernel_text waits = {{"opencl/ladder/s2_shared_a.cl", "s2_shared_a", NULL},
                               "-DTILE=32 -DOP_A=0 -DOP_B=0 -DWIDE=0 -DSUBGROUP_BARRIER=1",
                               0};
    if (cl_find_or_build(e, &waits, false, &kernel) != TW_OK) return 0;
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
    if (extra != NULL && strlen(extra) >= sizeof made->extra) {
        free(made);
        return fail(TW_BAD_ARGUMENT, "TILEWRIGHT_OPENCL_OPTIONS has %zu characters, expected at most %zu",
                    strlen(extra), sizeof made->extra - 1);
    }
    snprintf(made->extra, sizeof made->extra, "%s", extra ? extra : "");
    made->cl = cl;
    made->pid = getpid();
    pthread_mutex_init(&made->building, NULL);
    pthread_mutex_init(&made->idling, NULL);
    tw_status status = open_device(made, options);
    if (status != TW_OK) {
        cl_close(made);
        return status;
    }
    made->warp = warp_of(made);
    made->sm = cl_find_sm(made);
    *out = made;
    return TW_OK;
}

static void drop_kernels(engine *e, runnable *r)
{
    for (int i = 0; i < LAUNCH_KINDS; i++) {
        if (r->kernels[i] != NULL) e->cl->clReleaseKernel(r->kernels[i]);
        r->kernels[i] = NULL;
    }
}

static tw_status cl_prepare(engine *e, const plan *p, runnable *out)
{
    gpu_launch launches[LAUNCH_KINDS];
    const int count = plan_launches(p, launches);
    runnable made = {.plan = p};
    tw_status status = TW_OK;
    TRY(cl_check_process(e));
    for (int i = 0; status == TW_OK && i < count; i++) {
        cl_kernel kernel = NULL;
        status = cl_find_or_build(e, &launches[i].kernel, p->problem.place_c == TW_DEVICE, &kernel);
        made.kernels[launches[i].kind] = kernel;
    }
    if (status == TW_OK)
        *out = made;
    else
        drop_kernels(e, &made);
    return status;
}

static void cl_drop(engine *e, runnable *r)
{
    drop_kernels(e, r);
    if (r->event != NULL) e->cl->clReleaseEvent(r->event);
    if (r->begin != NULL) e->cl->clReleaseEvent(r->begin);
    if (r->workspace != 0) e->cl->clReleaseMemObject((cl_memory)(uintptr_t)r->workspace);
    if (r->counters != NULL) e->cl->clReleaseMemObject(r->counters);
    r->event = r->begin = r->counters = NULL;
    r->workspace = 0;
}

static const lab_ops lab = {
    .state = cl_state,
    .code = cl_code,
    .peak_flops = cl_peak_flops,
    .bandwidth = cl_bandwidth,
    .shared_bandwidth = cl_shared_bandwidth,
    .shared_pattern = cl_shared_pattern,
};

const engine_ops opencl_engine = {
    .name = "opencl",
    .devices = cl_devices,
    .open = cl_open,
    .describe = cl_describe,
    .facts = cl_facts,
    .kept_verdict = cl_kept_verdict,
    .keep_verdict = cl_keep_verdict,
    .identity = cl_identity,
    .prepare = cl_prepare,
    .upload = cl_upload,
    .launch = cl_launch,
    .wait = cl_wait,
    .download = cl_download,
    .release = cl_release,
    .drop = cl_drop,
    .find = cl_find_operand,
    .enqueue = cl_enqueue,
    .lab = &lab,
    .close = cl_close,
};
