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
#include "../gpu.h"
#include "cuda_engine.h"

enum { COPYING_THREADS = 8, STAGED_LEAST_BYTES = 16 << 20 };

tw_status cuda_enter(engine *e)
{
    if (e->pid != getpid())
        return fail(
            TW_NO_DEVICE,
            "this cuda context was opened before fork(): the child must open its own, if CUDA was not used before");
    CU_TRY(cuCtxPushCurrent_v2, (e->context));
    return TW_OK;
}

tw_status cuda_leave(engine *e, tw_status status)
{
    cu_context popped;
    e->cu->cuCtxPopCurrent_v2(&popped);
    return status;
}

/* ---- devices, open, describe, facts ---- */

int cuda_attribute(const cu_api *cu, cu_device device, int what)
{
    int value = 0;
    cu->cuDeviceGetAttribute(&value, what, device);
    return value;
}

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

static void destroy_lane(engine *e, lane *l)
{
    if (l->begin != NULL) e->cu->cuEventDestroy_v2(l->begin);
    if (l->end != NULL) e->cu->cuEventDestroy_v2(l->end);
    if (l->stream != NULL) e->cu->cuStreamDestroy_v2(l->stream);
}

static void cuda_close(engine *e)
{
    bool current = e->context != NULL && cuda_enter(e) == TW_OK;
    kernels_close(&e->kernels, current);
    while (current && e->idle_count > 0) destroy_lane(e, &e->idle[--e->idle_count]);
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

bool cuda_takes_attributes(const engine *e)
{
    return e->pdl && e->cu->cuLaunchKernelEx != NULL && e->kernels.driver_version >= 12030;
}

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

/* ---- prepare ---- */

static tw_status cuda_code(engine *e, const plan *p, int sm, bool ptx, tw_lab_code *out)
{
    return kernels_code(p, sm == 0 && e != NULL ? e->kernels.sm : sm, ptx, out);
}

static bool cuda_kept(engine *e, const plan *p)
{
    const wanted w = {p->gpu.source, p->gpu.options, p->gpu.dynamic_bytes};
    return kernels_kept(&e->kernels, &w);
}

static tw_status make_lane(engine *e, lane *l)
{
    CU_TRY(cuStreamCreate, (&l->stream, 0));
    CU_TRY(cuEventCreate, (&l->begin, 0));
    CU_TRY(cuEventCreate, (&l->end, 0));
    return TW_OK;
}

tw_status cuda_take_lane(engine *e, runnable *r)
{
    lane l = {0};
    pthread_mutex_lock(&e->idling);
    if (e->idle_count > 0) l = e->idle[--e->idle_count];
    pthread_mutex_unlock(&e->idling);
    tw_status status = l.stream == NULL ? make_lane(e, &l) : TW_OK;
    if (status == TW_OK)
        r->stream = l.stream, r->begin = l.begin, r->event = l.end;
    else
        destroy_lane(e, &l);
    return status;
}

void cuda_give_lane(engine *e, runnable *r)
{
    lane l = {r->stream, r->begin, r->event};
    r->stream = r->begin = r->event = NULL;
    if (l.stream == NULL) return;
    pthread_mutex_lock(&e->idling);
    bool kept = e->idle_count < MOST_IDLE;
    if (kept) e->idle[e->idle_count++] = l;
    pthread_mutex_unlock(&e->idling);
    if (kept || cuda_enter(e) != TW_OK) return;
    destroy_lane(e, &l);
    cuda_leave(e, TW_OK);
}

static wanted wanted_pack(const plan *p)
{
    const int bytes = dtype_find(p->problem.dtype)->lab.bytes;
    const char *options = bytes == 1   ? "-DELEMENT_BYTES=1"
                          : bytes == 2 ? "-DELEMENT_BYTES=2"
                          : bytes == 8 ? "-DELEMENT_BYTES=8"
                                       : "-DELEMENT_BYTES=4";
    return (wanted){{"cuda/pack.cu", "pack", NULL}, options, 0};
}

/* The kernels of a plan, by `find`: a function that builds what is missing, or one that refuses. */
static tw_status find_kernels(engine *e, runnable *r,
                              tw_status find(engine *, const wanted *, cu_stream, cu_function *))
{
    const plan *p = r->plan;
    const gpu_plan *gpu = &p->gpu;
    const wanted whole = {gpu->source, gpu->options, gpu->dynamic_bytes}, packs = wanted_pack(p);
    cu_function kernel = NULL, pack = NULL, add = NULL;
    const wanted adds = {{gpu->source.file, p->row->gpu.adds, gpu->source.text}, gpu->options, 0};
    TRY(find(e, &whole, r->stream, &kernel));
    if (p->row->gpu.adds != NULL && gpu->k_split.count > 0) TRY(find(e, &adds, r->stream, &add));
    if (gpu->pack_a.needed || gpu->pack_b.needed) TRY(find(e, &packs, r->stream, &pack));
    r->kernel = kernel, r->pack = pack, r->add = add;
    return TW_OK;
}

static tw_status find_any(engine *e, const wanted *w, cu_stream stream, cu_function *out)
{
    (void)stream;
    return kernels_build(&e->kernels, w, out);
}

tw_status cuda_prepare(engine *e, const plan *p, runnable *out)
{
    *out = (runnable){.plan = p};
    TRY(cuda_enter(e));
    tw_status status = find_kernels(e, out, find_any);
    if (status == TW_OK) status = cuda_take_lane(e, out);
    return cuda_leave(e, status);
}

/* ---- room, upload, launch, wait, download, release, drop ---- */

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

/* Copies rows of an operand between host and device, each with its own padding, which is left alone. */
static tw_status copy_rows(engine *e, const operand *o, cu_pointer device, bool up)
{
    /* beyond it a 2D copy is refused */
    size_t most_pitch = (size_t)cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_MAX_PITCH);
    size_t host_pitch = (size_t)o->ld * o->element_bytes, pitch = (size_t)o->device_ld * o->element_bytes,
           width = (size_t)o->cols * o->element_bytes;
    cu_copy_2d copy = {.src_type = up ? CU_MEMORY_HOST : CU_MEMORY_DEVICE,
                       .src_host = up ? o->host : NULL,
                       .src_device = up ? 0 : device,
                       .src_pitch = up ? host_pitch : pitch,
                       .dst_type = up ? CU_MEMORY_DEVICE : CU_MEMORY_HOST,
                       .dst_host = up ? NULL : o->host,
                       .dst_device = up ? device : 0,
                       .dst_pitch = up ? pitch : host_pitch,
                       .width_bytes = width,
                       .height = (size_t)o->rows};
    if (host_pitch <= most_pitch && pitch <= most_pitch) {
        CU_TRY(cuMemcpy2DUnaligned_v2, (&copy));
        return TW_OK;
    }
    for (size_t i = 0; i < (size_t)o->rows; i++) {
        char *row = (char *)o->host + i * host_pitch;
        if (up)
            CU_TRY(cuMemcpyHtoD_v2, (device + i * pitch, row, width));
        else
            CU_TRY(cuMemcpyDtoH_v2, (row, device + i * pitch, width));
    }
    return TW_OK;
}

/* Rows of an operand from `first` on, as a copy for a panel. */
static staged rows_staged(const operand *o, cu_pointer device, int64_t first, int64_t rows, bool up, int panel)
{
    size_t host_pitch = (size_t)o->ld * o->element_bytes, pitch = (size_t)o->device_ld * o->element_bytes;
    return (staged){.host = (char *)o->host + (size_t)first * host_pitch,
                    .device = device + (size_t)first * pitch,
                    .host_pitch = host_pitch,
                    .device_pitch = pitch,
                    .width = (size_t)o->cols * o->element_bytes,
                    .rows = rows,
                    .up = up,
                    .panel = panel};
}

static tw_status copy_staged(engine *e, const operand *o, cu_pointer device, bool up)
{
    staged what = rows_staged(o, device, 0, o->rows, up, 0);
    if (gpu_moves_at_once(o)) what.width = what.host_pitch = what.device_pitch = gpu_span(o), what.rows = 1;
    return staging_run(&e->staging, e->context, &(staging_work){.copies = &what, .count = 1, .stop = o->stop});
}

/* Copies an operand between host and device: a large one by several threads through pinned memory, which does not pay
 * for a small one. */
static tw_status copy(engine *e, const operand *o, cu_pointer device, bool up)
{
    if (gpu_span(o) >= STAGED_LEAST_BYTES) return copy_staged(e, o, device, up);
    if (!gpu_moves_at_once(o)) return copy_rows(e, o, device, up);
    if (up)
        CU_TRY(cuMemcpyHtoD_v2, (device, o->host, gpu_span(o)));
    else
        CU_TRY(cuMemcpyDtoH_v2, (o->host, device, gpu_span(o)));
    return TW_OK;
}

static tw_status upload(engine *e, const operand *from, bool copies, buffer *out)
{
    size_t bytes = gpu_span(from);
    cu_pointer memory;
    cu_result error = e->cu->cuMemAlloc_v2(&memory, bytes);
    if (error == CU_OUT_OF_MEMORY)
        return fail(TW_NO_MEMORY, "no device memory for %zu bytes: %s", bytes, cu_error_name(e->cu, error));
    if (error != CU_SUCCESS) return cu_fail(e->cu, "cuMemAlloc", error);
    tw_status status = copies ? copy(e, from, memory, true) : TW_OK;
    if (status == TW_OK)
        out->device = memory;
    else
        e->cu->cuMemFree_v2(memory);
    return status;
}

static tw_status cuda_upload(engine *e, const operand *from, bool copies, buffer *out)
{
    *out = (buffer){0};
    if (gpu_span(from) == 0) return TW_OK;
    TRY(cuda_enter(e));
    return cuda_leave(e, upload(e, from, copies, out));
}

static tw_status launch(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c)
{
    if (r->timed) CU_TRY(cuEventRecord, (r->begin, r->stream));
    TRY(cuda_launch_items(e, r, a, b, c));
    if (r->timed) CU_TRY(cuEventRecord, (r->event, r->stream));
    return TW_OK;
}

/* Takes a workspace of the engine's own at the first launch that needs one. */
static tw_status find_workspace(engine *e, runnable *r, size_t bytes)
{
    cu_pointer memory;
    if (bytes == 0 || r->workspace != 0) return TW_OK;
    cu_result error = e->cu->cuMemAlloc_v2(&memory, bytes);
    if (error == CU_OUT_OF_MEMORY)
        return fail(TW_NO_MEMORY, "no device memory for %zu bytes of workspace: %s", bytes,
                    cu_error_name(e->cu, error));
    if (error != CU_SUCCESS) return cu_fail(e->cu, "cuMemAlloc", error);
    r->workspace = memory;
    return TW_OK;
}

static tw_status cuda_launch(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c)
{
    if (r->plan->problem.m == 0 || r->plan->problem.n == 0) return TW_OK;
    TRY(cuda_enter(e));
    tw_status status = find_workspace(e, r, r->plan->workspace_bytes);
    r->launched = status == TW_OK;
    return cuda_leave(e, status == TW_OK ? launch(e, r, a, b, c) : status);
}

/* For the launches of panels. */
typedef struct panel_launch {
    engine *e;
    const runnable *r;
    const panels *of;
} panel_launch;

static tw_status launch_panel(void *context, int panel)
{
    const panel_launch *l = context;
    const panels *w = l->of;
    runnable r = *l->r;
    plan mine = panel + 1 < w->count ? *w->part : *w->last;
    r.plan = &mine;
    cu_pointer first = (cu_pointer)(panel * w->rows);
    buffer a = w->buffers[0], b = w->buffers[1], c = w->buffers[2];
    a.device += first * (cu_pointer)w->operands[0].device_ld * w->operands[0].element_bytes;
    c.device += first * (cu_pointer)w->operands[2].device_ld * w->operands[2].element_bytes;
    /* where the first panel has packed it */
    if (panel > 0 && mine.gpu.pack_b.needed)
        mine.problem.ldb = mine.gpu.pack_b.ld, mine.gpu.pack_b.needed = false, b.device = r.workspace;
    return launch(l->e, &r, &a, &b, &c);
}

/* Uploads in the order of need: B and the first rows of A, then the next; rows of C are downloaded one panel behind, so
 * that both directions are busy. */
static tw_status cuda_overlap(engine *e, runnable *r, const panels *w)
{
    staged copies[1 + 3 * MOST_PANELS];
    panel_launch context = {e, r, w};
    int count = 0;
    copies[count++] = rows_staged(&w->operands[1], w->buffers[1].device, 0, w->operands[1].rows, true, 0);
    for (int i = 0; i <= w->count; i++) {
        int64_t first = i * w->rows, rows = min_i64(w->rows, w->operands[2].rows - first);
        if (i < w->count) copies[count++] = rows_staged(&w->operands[0], w->buffers[0].device, first, rows, true, i);
        if (i < w->count && w->brings_c)
            copies[count++] = rows_staged(&w->operands[2], w->buffers[2].device, first, rows, true, i);
        if (i == 0) continue;
        rows = min_i64(w->rows, w->operands[2].rows - (first - w->rows));
        copies[count++] = rows_staged(&w->operands[2], w->buffers[2].device, first - w->rows, rows, false, i - 1);
    }
    const staging_work work = {.copies = copies,
                               .count = count,
                               .panels = w->count,
                               .stream = r->stream,
                               .launch = launch_panel,
                               .context = &context,
                               .stop = r->stop};
    TRY(cuda_enter(e));
    tw_status status = find_workspace(e, r,
                                      w->part->workspace_bytes > w->last->workspace_bytes ? w->part->workspace_bytes
                                                                                          : w->last->workspace_bytes);
    r->launched = status == TW_OK;
    return cuda_leave(e, status == TW_OK ? staging_run(&e->staging, e->context, &work) : status);
}

/* A stream that is being captured records work and runs none; compiling cannot be recorded. */
static tw_status find_or_build_for(engine *e, const wanted *w, cu_stream stream, cu_function *out)
{
    int capturing = CU_CAPTURE_NONE;
    if ((*out = kernels_find(&e->kernels, w)) != NULL) return TW_OK;
    CU_TRY(cuStreamIsCapturing, (stream, &capturing));
    if (capturing != CU_CAPTURE_NONE)
        return fail(
            TW_BUILD_FAILED,
            "launch.stream is being captured and %s%s%s is not built yet: tw_prepare() builds it before the capture",
            w->source.file, w->options[0] != '\0' ? " " : "", w->options);
    return kernels_build(&e->kernels, w, out);
}

static tw_status enqueue(engine *e, const plan *p, const tw_batch *batch, const tw_launch *to, const buffer *a,
                         const buffer *b, const buffer *c)
{
    runnable r = {.plan = p, .batch = batch, .stream = to->stream, .workspace = (cu_pointer)(uintptr_t)to->workspace};
    TRY(find_kernels(e, &r, find_or_build_for));
    return launch(e, &r, a, b, c);
}

/* The error text for a stream of another CUDA context, of which the driver only says that a handle is not valid. */
static tw_status check_owner(engine *e, cu_stream stream, tw_status status)
{
    cu_context owner = e->context;
    if (status != TW_DEVICE_FAILED || e->cu->cuStreamGetCtx(stream, &owner) != CU_SUCCESS || owner == e->context)
        return status;
    return fail(TW_BAD_ARGUMENT, "launch.stream is of another CUDA context than the one that this context works in");
}

static tw_status cuda_enqueue(engine *e, const plan *p, const tw_batch *batch, const tw_launch *to, const buffer *a,
                              const buffer *b, const buffer *c)
{
    TRY(cuda_enter(e));
    return cuda_leave(e, check_owner(e, to->stream, enqueue(e, p, batch, to, a, b, c)));
}

static tw_status wait(engine *e, runnable *r)
{
    float milliseconds = 0;
    CU_TRY(cuStreamSynchronize, (r->stream));
    if (!r->timed || r->plan->problem.m == 0 || r->plan->problem.n == 0) return TW_OK;
    CU_TRY(cuEventElapsedTime, (&milliseconds, r->begin, r->event));
    r->seconds = 1e-3 * (double)milliseconds;
    return TW_OK;
}

static tw_status cuda_wait(engine *e, runnable *r)
{
    TRY(cuda_enter(e));
    return cuda_leave(e, wait(e, r));
}

static tw_status cuda_download(engine *e, const buffer *from, const operand *to)
{
    if (gpu_span(to) == 0) return TW_OK;
    TRY(cuda_enter(e));
    tw_status status = copy(e, to, from->device, false);
    /* no memory, the status, promises that C is as it was, which nobody knows after a plain copy */
    if (status == TW_NO_MEMORY && gpu_span(to) < STAGED_LEAST_BYTES) status = TW_DEVICE_FAILED;
    return cuda_leave(e, status);
}

static void cuda_release(engine *e, buffer *b)
{
    if (b->device == 0 || cuda_enter(e) != TW_OK) return;
    e->cu->cuMemFree_v2(b->device);
    b->device = 0;
    cuda_leave(e, TW_OK);
}

void cuda_drop(engine *e, runnable *r)
{
    buffer workspace = {.device = r->workspace};
    cuda_give_lane(e, r);
    cuda_release(e, &workspace);
}

static void cuda_resources(engine *e, const runnable *r, tw_lab_resources *out)
{
    int threads_each = cuda_attribute(e->cu, e->device, CU_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR);
    const plan *p = r->plan;
    const gpu_plan *gpu = &p->gpu;
    int blocks = 0, threads = gpu->threads_x * gpu->threads_y;
    if (cuda_enter(e) != TW_OK) return;
    e->cu->cuFuncGetAttribute(&out->registers, CU_FUNCTION_REGISTERS, r->kernel);
    e->cu->cuFuncGetAttribute(&out->spill_bytes, CU_FUNCTION_LOCAL_BYTES, r->kernel);
    if (e->cu->cuFuncGetAttribute(&out->local_bytes, CU_FUNCTION_SHARED_BYTES, r->kernel) == CU_SUCCESS)
        out->local_bytes += gpu->dynamic_bytes;
    if (e->cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, r->kernel, threads, (size_t)gpu->dynamic_bytes) ==
        CU_SUCCESS)
        out->occupancy = threads_each > 0 ? (double)(blocks * threads) / threads_each : -1;
    cuda_leave(e, TW_OK);
}

const engine_ops cuda_engine = {
    .name = "cuda",
    .devices = cuda_devices,
    .state = cuda_state,
    .compiler = cuda_compiler,
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
    .release = cuda_release,
    .drop = cuda_drop,
    .overlap = cuda_overlap,
    .join = cuda_join,
    .spread = cuda_spread,
    .enqueue = cuda_enqueue,
    .pipeline = &cuda_pipeline,
    .resources = cuda_resources,
    .code = cuda_code,
    .kept = cuda_kept,
    .peak_flops = cuda_peak_flops,
    .bandwidth = cuda_bandwidth,
    .shared_bandwidth = cuda_shared_bandwidth,
    .shared_pattern = cuda_shared_pattern,
    .close = cuda_close,
};
