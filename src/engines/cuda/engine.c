/* engine.c - CUDA as an engine: the driver API. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "../../processors.h"
#include "cuda_engine.h"

enum { COPYING_THREADS = 8 };

/* ---- devices, open, describe, facts ---- */

static int sm_of(const cu_api *cu, cu_device device)
{
    return 10 * cuda_attribute(cu, device, CU_ATTRIBUTE_MAJOR) + cuda_attribute(cu, device, CU_ATTRIBUTE_MINOR);
}

static void describe(const cu_api *cu, cu_device device, int index, tw_device *out)
{
    size_t bytes = 0;
    *out = (tw_device){.size = sizeof *out, .index = index, .engine = "cuda"};
    cu->cuDeviceGetName(out->name, sizeof out->name, device);
    cu->cuDeviceTotalMem_v2(&bytes, device);
    snprintf(out->instruction_set, sizeof out->instruction_set, "sm_%d", sm_of(cu, device));
    snprintf(out->threads_from, sizeof out->threads_from, "multiprocessors");
    out->threads = cuda_attribute(cu, device, CU_ATTRIBUTE_MULTIPROCESSORS);
    out->memory_bytes = (int64_t)bytes;
    out->l2_bytes = cuda_attribute(cu, device, CU_ATTRIBUTE_L2_BYTES);
}

static tw_status device_count(const cu_api *cu, int *count)
{
    cu_result error = cu->cuDeviceGetCount(count);
    if (error != CU_SUCCESS || *count == 0)
        return fail(TW_NO_DEVICE,
                    "the CUDA driver sees no device (%s): nvidia-smi must list one, CUDA_VISIBLE_DEVICES not hide it, "
                    "and a container be given the GPU",
                    cu_error_name(cu, error == CU_SUCCESS ? CU_NO_DEVICE : error));
    return TW_OK;
}

static tw_status cuda_devices(tw_device *devices, int32_t capacity, int32_t *count)
{
    int found = 0;
    *count = 0;
    const cu_api *cu = cu_api_load();
    if (cu == NULL) return TW_NO_DEVICE;
    TRY(device_count(cu, &found));
    for (int i = 0; i < found && i < capacity; i++) {
        cu_device device;
        cu_result error = cu->cuDeviceGet(&device, i);
        if (error != CU_SUCCESS)
            return fail(TW_NO_DEVICE, "cuDeviceGet(%d) failed with %s", i, cu_error_name(cu, error));
        describe(cu, device, i, &devices[i]);
    }
    *count = found;
    return TW_OK;
}

static void cuda_state(char *text, size_t bytes)
{
    char name[96] = "", arch[24];
    int count = 0, version = 0, sm;
    cu_device device;
    const cu_api *cu = cu_api_load();
    if (cu == NULL || cu->cuDeviceGetCount(&count) != CU_SUCCESS || count == 0 ||
        cu->cuDeviceGet(&device, 0) != CU_SUCCESS)
        return;
    cu->cuDeviceGetName(name, sizeof name, device);
    cu->cuDriverGetVersion(&version);
    sm = sm_of(cu, device);
    const nvrtc_api *nvrtc = nvrtc_api_load();
    bool compiles = nvrtc != NULL && nvrtc_arch(nvrtc, sm, arch) == TW_OK;
    jit_cache *cache = jit_cache_open(), *ahead = jit_cache_open_ahead();
    bool ready = compiles || kernels_ahead(ahead, sm);
    int used = snprintf(text, bytes, "%s%d device%s, the first %s (sm_%d), driver for CUDA %d.%d, ",
                        ready ? "ready: " : "", count, count == 1 ? "" : "s", name, sm, version / 1000,
                        version % 1000 / 10);
    if (used < 0 || (size_t)used >= bytes)
        ;
    else if (compiles)
        used += snprintf(text + used, bytes - (size_t)used, "NVRTC %d.%d compiles for %s; %s%s", nvrtc->major,
                         nvrtc->minor, arch, jit_cache_usable(cache) ? "kernels kept: " : "", jit_cache_state(cache));
    else
        used += snprintf(text + used, bytes - (size_t)used, "but no %skernel can be compiled: %s",
                         ready ? "other " : "", tw_error_text());
    if (used > 0 && (size_t)used < bytes && ahead != NULL && jit_cache_state(ahead)[0] != '\0')
        snprintf(text + used, bytes - (size_t)used, "; kernels built ahead: %s", jit_cache_state(ahead));
    jit_cache_close(cache);
    jit_cache_close(ahead);
}

/* The compiler that was found, and its newest architecture, whether or not there is a device. */
static tw_status cuda_compiler(char *text, size_t bytes)
{
    int least, most;
    const nvrtc_api *nvrtc = nvrtc_api_load();
    if (nvrtc == NULL) return TW_BUILD_FAILED;
    TRY(nvrtc_known(nvrtc, INT_MAX, &least, &most));
    snprintf(text, bytes, "NVRTC %d.%d for sm_%d to sm_%d, %s", nvrtc->major, nvrtc->minor, least, most, nvrtc->file);
    return TW_OK;
}

static void cuda_close(engine *e)
{
    bool current = e->context != NULL && cuda_enter(e) == TW_OK;
    kernels_close(&e->kernels, current);
    if (current) cuda_close_lanes(e);
    staging_close(&e->staging, current);
    if (current) cuda_destroy_kit(e, &e->kit);
    free(e->kit.event);
    if (current) cuda_leave(e, TW_OK);
    if (e->context != NULL && !e->adopted && e->pid == getpid()) e->cu->cuDevicePrimaryCtxRelease_v2(e->device);
    pthread_mutex_destroy(&e->idling);
    pthread_mutex_destroy(&e->keeping);
    free(e);
}

static tw_status find_device(engine *e)
{
    CU_TRY(cuCtxGetDevice, (&e->device));
    return TW_OK;
}

/* Adopts the context of the caller, and takes its device. */
static tw_status adopt(engine *e, const tw_options *options, int count)
{
    cu_device device;
    e->context = options->device_context, e->adopted = true;
    TRY(cuda_enter(e));
    TRY(cuda_leave(e, find_device(e)));
    for (e->index = 0; e->index < count; e->index++) {
        CU_TRY(cuDeviceGet, (&device, e->index));
        if (device == e->device) break;
    }
    if (options->device == 0 || options->device == e->index) return TW_OK;
    return fail(TW_BAD_ARGUMENT,
                "options.device is %d, but options.device_context is of device %d: expected that, or 0",
                options->device, e->index);
}

static tw_status retain(engine *e, int index, int count)
{
    if (index < 0 || index >= count)
        return fail(TW_NO_DEVICE, "device %d was asked for, CUDA has %d (0 to %d)", index, count, count - 1);
    e->index = index;
    CU_TRY(cuDeviceGet, (&e->device, index));
    CU_TRY(cuDevicePrimaryCtxRetain, (&e->context, e->device));
    return TW_OK;
}

static tw_status open_device(engine *e, const tw_options *options)
{
    int count = 0;
    TRY(device_count(e->cu, &count));
    CU_TRY(cuDriverGetVersion, (&e->kernels.driver_version));
    TRY(options->device_context != NULL ? adopt(e, options, count) : retain(e, options->device, count));
    e->kernels.sm = sm_of(e->cu, e->device);
    return TW_OK;
}

/* The first epoch of an engine: far from those of others, and from anything else that memory may hold. */
static uint64_t first_epoch(const engine *e)
{
    uint64_t epoch;
    if (getrandom(&epoch, sizeof epoch, 0) == (ssize_t)sizeof epoch) return epoch;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)t.tv_nsec << 32 ^ (uint64_t)t.tv_sec ^ (uint64_t)(uintptr_t)e) * 0x9e3779b97f4a7c15u;
}

static tw_status cuda_open(const tw_options *options, bool despite, engine **out)
{
    (void)despite; /* no variable is refused */
    const cu_api *cu = cu_api_load();
    if (cu == NULL) return TW_NO_DEVICE;
    engine *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for the cuda engine of %zu bytes", sizeof *made);
    made->cu = cu;
    made->pid = getpid();
    pthread_mutex_init(&made->idling, NULL);
    pthread_mutex_init(&made->keeping, NULL);
    made->epoch = first_epoch(made);
    kernels_open(&made->kernels, cu);
    char from[64];
    staging_open(&made->staging, cu,
                 options->threads > 0 ? options->threads
                                      : (int)min_i64(processors_usable(true, from, sizeof from), COPYING_THREADS));
    tw_status status = open_device(made, options);
    if (status != TW_OK) {
        cuda_close(made);
        return status;
    }
    /* else its kernels do not wait for those ahead of them */
    made->pdl = made->kernels.sm >= 90 && (nvrtc_api_load() == NULL || kernels_tensor_maps(made->kernels.sm));
    *out = made;
    return TW_OK;
}

static void cuda_describe(const engine *e, tw_device *out) { describe(e->cu, e->device, e->index, out); }

static void cuda_facts(const engine *e, device_facts *out)
{
    size_t bytes = 0;
    e->cu->cuDeviceTotalMem_v2(&bytes, e->device);
    *out = (device_facts){
        .engine = "cuda",
        .threads = 1,
        .copies = true,
        .addresses = true,
        .sm = kernels_planned_sm(e->kernels.sm),
        .most_threads = 1024,
        .multiprocessors = cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_MULTIPROCESSORS),
        .clusters = cuda_takes_attributes(e) && kernels_clusters(),
        .tensor_maps = e->kernels.sm >= 90 && e->cu->cuTensorMapEncodeTiled != NULL &&
                       (kernels_tensor_maps(e->kernels.sm) || kernels_ahead(e->kernels.ahead, e->kernels.sm)),
        .local_bytes = cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_SHARED_OPTIN),
        .l2_bytes = cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_L2_BYTES),
        .largest_bytes = (int64_t)bytes};
}

static void cuda_identity(const engine *e, char *text, size_t bytes)
{
    snprintf(text, bytes, "sm_%d, driver %d", e->kernels.sm, e->kernels.driver_version);
}

static void cuda_id(const engine *e, char *text, size_t bytes)
{
    unsigned char uuid[16];
    if (e->cu->cuDeviceGetUuid_v2 == NULL || e->cu->cuDeviceGetUuid_v2(uuid, e->device) != CU_SUCCESS) return;
    int used = snprintf(text, bytes, "GPU-");
    for (size_t i = 0; i < sizeof uuid && used >= 0 && (size_t)used < bytes; i++)
        used += snprintf(text + used, bytes - (size_t)used, "%02x", uuid[i]);
}

/* ---- what is asked of an open engine ---- */

static tw_status cuda_code(engine *e, const plan *p, int sm, bool ptx, tw_lab_code *out)
{
    return kernels_code(p, sm == 0 && e != NULL ? e->kernels.sm : sm, ptx, out);
}

static bool cuda_kept(engine *e, const plan *p)
{
    gpu_launch launches[LAUNCH_KINDS];
    const int count = plan_launches(p, launches);
    bool kept = true;
    for (int i = 0; i < count; i++) kept = kept && kernels_kept(&e->kernels, &launches[i].kernel);
    return kept;
}

static tw_status room(engine *e, int64_t *bytes)
{
    size_t free_bytes, total;
    CU_TRY(cuMemGetInfo_v2, (&free_bytes, &total));
    pthread_mutex_lock(&e->keeping);
    *bytes = (int64_t)free_bytes + e->kit.bytes;
    pthread_mutex_unlock(&e->keeping);
    return TW_OK;
}

static tw_status cuda_room(engine *e, int64_t *bytes)
{
    TRY(cuda_enter(e));
    return cuda_leave(e, room(e, bytes));
}

static void cuda_resources(engine *e, const runnable *r, tw_lab_resources *out)
{
    int threads_each = cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR);
    const plan *p = r->plan;
    const gpu_plan *gpu = &p->gpu;
    cu_function kernel = r->kernels[LAUNCH_TILES];
    int blocks = 0, threads = gpu->threads_x * gpu->threads_y;
    if (cuda_enter(e) != TW_OK) return;
    e->cu->cuFuncGetAttribute(&out->registers, CU_FUNCTION_REGISTERS, kernel);
    e->cu->cuFuncGetAttribute(&out->spill_bytes, CU_FUNCTION_LOCAL_BYTES, kernel);
    if (e->cu->cuFuncGetAttribute(&out->local_bytes, CU_FUNCTION_SHARED_BYTES, kernel) == CU_SUCCESS)
        out->local_bytes += gpu->dynamic_bytes;
    if (e->cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, (size_t)gpu->dynamic_bytes) ==
        CU_SUCCESS)
        out->occupancy = threads_each > 0 ? (double)(blocks * threads) / threads_each : -1;
    cuda_leave(e, TW_OK);
}

static const lab_ops lab = {
    .state = cuda_state,
    .compiler = cuda_compiler,
    .resources = cuda_resources,
    .code = cuda_code,
    .kept = cuda_kept,
    .peak_flops = cuda_peak_flops,
    .bandwidth = cuda_bandwidth,
    .shared_bandwidth = cuda_shared_bandwidth,
    .shared_pattern = cuda_shared_pattern,
};

const engine_ops cuda_engine = {
    .name = "cuda",
    .devices = cuda_devices,
    .open = cuda_open,
    .describe = cuda_describe,
    .facts = cuda_facts,
    .identity = cuda_identity,
    .id = cuda_id,
    .prepare = cuda_prepare,
    .room = cuda_room,
    .upload = cuda_upload,
    .launch = cuda_launch,
    .wait = cuda_wait,
    .download = cuda_download,
    .release = cuda_release_buffer,
    .drop = cuda_drop,
    .join = cuda_join,
    .spread = cuda_spread,
    .enqueue = cuda_enqueue,
    .pipeline = &cuda_pipeline,
    .lab = &lab,
    .close = cuda_close,
};
