/* kernels.c - see kernels.h. */
#include "kernels.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ahead.h"

struct built {
    struct built *next;
    tw_lab_source source;
    char options[PLAN_OPTIONS_BYTES];
    char *epilogue; /* NULL: none */
    cu_module module;
    cu_function function;
};

#define CU_TRY(name, arguments)                                                                                        \
    do {                                                                                                               \
        cu_result cu_error_ = k->cu->name arguments;                                                                   \
        if (cu_error_ != CU_SUCCESS) return cu_fail(k->cu, #name, cu_error_);                                          \
    } while (0)

void kernels_open(kernels *k, const cu_api *cu)
{
    k->cu = cu;
    pthread_mutex_init(&k->building, NULL);
    k->cache = jit_cache_open();
    k->ahead = jit_cache_open_ahead();
}

void kernels_close(kernels *k, bool current)
{
    for (built *b = k->built, *next; b != NULL; b = next) {
        next = b->next;
        if (current) k->cu->cuModuleUnload(b->module);
        free(b->epilogue);
        free(b);
    }
    jit_cache_close(k->cache);
    jit_cache_close(k->ahead);
    pthread_mutex_destroy(&k->building);
}

bool kernels_ahead(const jit_cache *ahead, int sm)
{
    for (int i = 0; i < AHEAD_ARCHS; i++) {
        const struct ahead_arch *arch = &ahead_archs[i];
        if (sm < arch->from_sm || sm > arch->to_sm) continue;
        size_t bytes;
        char options[PLAN_OPTIONS_BYTES];
        const kernel_row *row = kernel_named(arch->row);
        const tw_lab_source first = {row->lab.file, row->gpu.entry, NULL};
        const int own = snprintf(options, sizeof options, "%s", arch->options);
        kernel_options(row, options + own, sizeof options - (size_t)own);
        jit_key key = ahead_key(arch->name, options, &first);
        void *binary = jit_cache_get(ahead, &key, &bytes);
        bool there = binary != NULL;
        free(binary);
        return there;
    }
    return false;
}

/* TMA came with CUDA 12 and sm_90: an older NVRTC lacks the instructions, or the architecture. */
bool kernels_tensor_maps(int sm)
{
    char arch[24];
    const nvrtc_api *nvrtc = nvrtc_api_load();
    return nvrtc != NULL && nvrtc->major >= 12 && nvrtc_arch(nvrtc, sm, arch) == TW_OK &&
           atoi(strchr(arch, '_') + 1) >= 90;
}

bool kernels_clusters(void)
{
    const nvrtc_api *nvrtc = nvrtc_api_load();
    return nvrtc == NULL || nvrtc->major * 100 + nvrtc->minor >= 1201;
}

int kernels_planned_sm(int sm)
{
    for (int i = 0; nvrtc_api_load() == NULL && i < AHEAD_ARCHS; i++)
        if (sm >= ahead_archs[i].from_sm && sm <= ahead_archs[i].to_sm) return ahead_archs[i].from_sm;
    return sm;
}

/* What the compiler said, for free(); NULL where there is none, or no memory. */
static char *program_log(const nvrtc_api *nvrtc, nvrtc_program program)
{
    size_t bytes;
    if (nvrtc->nvrtcGetProgramLogSize(program, &bytes) != 0) return NULL;
    char *log = calloc(bytes + 1, 1);
    if (log == NULL || nvrtc->nvrtcGetProgramLog(program, log) == 0) return log;
    free(log);
    return NULL;
}

static tw_status compile_failed(const nvrtc_api *nvrtc, nvrtc_program program, const char *file)
{
    char log[BUILD_LOG_BYTES] = "";
    char *whole = program_log(nvrtc, program);
    if (whole != NULL) snprintf(log, sizeof log, "%.*s", BUILD_LOG_BYTES - 1, whole);
    free(whole);
    nvrtc->nvrtcDestroyProgram(&program);
    return fail(TW_BUILD_FAILED, "%s could not be compiled by NVRTC %d.%d%s%s", file, nvrtc->major, nvrtc->minor,
                log[0] != '\0' ? "\n" : "", log);
}

/* The number before these words of a log, -1 without any. */
static int number_before(const char *log, const char *words)
{
    const char *at = strstr(log, words);
    while (at != NULL && at > log && isdigit((unsigned char)at[-1])) at--;
    return at != NULL && isdigit((unsigned char)*at) ? atoi(at) : -1;
}

/* What ptxas -v says of a program with one kernel; it names no shared memory where there is none. Before that the log
 * has warnings, which quote the source. */
static void read_resources(const nvrtc_api *nvrtc, nvrtc_program program, tw_lab_resources *out)
{
    static const char begin[] = "Compiling entry function";
    char *log = program_log(nvrtc, program);
    const char *said = NULL;
    for (const char *at = log; at != NULL && (at = strstr(at, begin)) != NULL; at++) said = at;
    if (said != NULL && (out->registers = number_before(said, " registers")) >= 0) {
        out->spill_bytes = number_before(said, " bytes spill stores");
        out->local_bytes = number_before(said, " bytes smem");
        if (out->local_bytes < 0) out->local_bytes = 0;
    }
    free(log);
}

/* Compiles to a cubin, or to PTX where NVRTC knows only an older architecture. *binary is for free(); *told, of a
 * cubin and if it is not NULL, what ptxas says of it. */
static tw_status compile(const nvrtc_api *nvrtc, const char *arch, const kernel_text *w, void **binary, size_t *bytes,
                         tw_lab_resources *told)
{
    char options[PLAN_OPTIONS_BYTES], target[48];
    enum { MOST_OPTIONS = 40 };
    const char *list[MOST_OPTIONS + 1] = {target, "--std=c++17"}; /* and the epilogue's */
    int count = 2, cubin = strncmp(arch, "sm_", 3) == 0;
    if (cubin && told != NULL) list[count++] = "--ptxas-options=-v";
    /* From 12.9 on NVRTC keeps binaries among the driver's, and ptxas says nothing of a kept one. */
    if (cubin && told != NULL && 100 * nvrtc->major + nvrtc->minor >= 1209) list[count++] = "--no-cache";
    snprintf(target, sizeof target, "--gpu-architecture=%s", arch);
    snprintf(options, sizeof options, "%s", w->options);
    for (char *rest = options, *word; (word = strtok_r(rest, " ", &rest)) != NULL && count < MOST_OPTIONS;)
        list[count++] = word;
    nvrtc_program program;
    const char *header = "epilogue";
    if (w->epilogue != NULL) list[count++] = "--pre-include=epilogue";
    if (nvrtc->nvrtcCreateProgram(&program, gpu_text(&w->source), w->source.file, w->epilogue != NULL, &w->epilogue,
                                  &header) != 0)
        return fail(TW_BUILD_FAILED, "nvrtcCreateProgram failed for %s", w->source.file);
    if (nvrtc->nvrtcCompileProgram(program, count, list) != 0) return compile_failed(nvrtc, program, w->source.file);
    if (cubin && told != NULL) read_resources(nvrtc, program, told);
    nvrtc_result error = cubin ? nvrtc->nvrtcGetCUBINSize(program, bytes) : nvrtc->nvrtcGetPTXSize(program, bytes);
    *binary = error == 0 ? malloc(*bytes) : NULL;
    bool no_memory = error == 0 && *binary == NULL;
    if (*binary != NULL) error = cubin ? nvrtc->nvrtcGetCUBIN(program, *binary) : nvrtc->nvrtcGetPTX(program, *binary);
    nvrtc->nvrtcDestroyProgram(&program);
    if (*binary != NULL && error == 0) return TW_OK;
    free(*binary);
    if (no_memory) return fail(TW_NO_MEMORY, "no memory for the binary of %s, %zu bytes", w->source.file, *bytes);
    return fail(TW_BUILD_FAILED, "NVRTC gave no binary of %s", w->source.file);
}

tw_status kernels_code(const plan *p, int sm, bool ptx, tw_lab_code *out)
{
    char arch[24];
    size_t bytes = 0;
    const tw_epilogue *e = p->problem.epilogue;
    const kernel_text w = {p->gpu.source, p->gpu.options, 0, e != NULL ? e->gpu_text : NULL};
    const nvrtc_api *nvrtc = nvrtc_api_load();
    if (nvrtc == NULL) return TW_BUILD_FAILED;
    TRY(nvrtc_arch(nvrtc, sm, arch));
    bool cubin = strncmp(arch, "sm_", 3) == 0 && !ptx;
    if (cubin)
        snprintf(out->target, sizeof out->target, "%s", arch);
    else
        snprintf(out->target, sizeof out->target, "compute_%.12s", strchr(arch, '_') + 1);
    snprintf(out->form, sizeof out->form, "%s", cubin ? "cubin" : "ptx");
    tw_status status = compile(nvrtc, out->target, &w, &out->bytes, &bytes, &out->resources);
    if (status != TW_OK) out->bytes = NULL; /* freed */
    out->size = status == TW_OK ? (int64_t)bytes : 0;
    if (out->resources.local_bytes >= 0) out->resources.local_bytes += p->gpu.dynamic_bytes;
    return status;
}

static tw_status find_function(kernels *k, built *made, int dynamic_bytes)
{
    CU_TRY(cuModuleGetFunction, (&made->function, made->module, made->source.entry));
    if (dynamic_bytes > 0) CU_TRY(cuFuncSetAttribute, (made->function, CU_FUNCTION_MAX_DYNAMIC_SHARED, dynamic_bytes));
    return TW_OK;
}

static tw_status load_function(kernels *k, built *made, int dynamic_bytes, const void *binary)
{
    CU_TRY(cuModuleLoadData, (&made->module, binary));
    tw_status status = find_function(k, made, dynamic_bytes);
    if (status != TW_OK) k->cu->cuModuleUnload(made->module);
    return status;
}

/* The binary that was built ahead, for free(); NULL: there is none. None has an epilogue. */
static void *get_ahead(const kernels *k, const kernel_text *w)
{
    for (int i = 0; w->epilogue == NULL && i < AHEAD_ARCHS; i++) {
        size_t bytes;
        if (k->sm < ahead_archs[i].from_sm || k->sm > ahead_archs[i].to_sm) continue;
        jit_key key = ahead_key(ahead_archs[i].name, w->options, &w->source);
        return jit_cache_get(k->ahead, &key, &bytes);
    }
    return NULL;
}

/* Takes a kernel that was built ahead; TW_NO_KERNEL: there is none. */
static tw_status load_ahead(kernels *k, built *made, const kernel_text *w)
{
    void *binary = get_ahead(k, w);
    if (binary == NULL) return TW_NO_KERNEL;
    tw_status status = load_function(k, made, w->dynamic_bytes, binary);
    free(binary);
    return status;
}

/* Under which name this NVRTC's binary is in the cache. */
static jit_key cache_key(const kernels *k, const kernel_text *w, const nvrtc_api *nvrtc, const char *arch)
{
    char versions[96];
    snprintf(versions, sizeof versions, "driver %d nvrtc %d.%d %s", k->driver_version, nvrtc->major, nvrtc->minor,
             arch);
    return jit_key_of(4 + (w->epilogue != NULL),
                      (const char *const[]){"cuda", versions, w->options, gpu_text(&w->source), w->epilogue});
}

/* Takes a kernel that was built ahead, or from the cache, if it loads; otherwise compiles and keeps it. */
static tw_status build(kernels *k, built *made, const kernel_text *w)
{
    char arch[24], why[300];
    size_t bytes;
    tw_status ahead = load_ahead(k, made, w);
    if (ahead == TW_OK || ahead == TW_NO_MEMORY) return ahead;
    snprintf(why, sizeof why, "%s", tw_error_text());
    const nvrtc_api *nvrtc = nvrtc_api_load();
    /* the driver refuses what was cached */
    if (nvrtc == NULL) return ahead == TW_NO_KERNEL ? TW_BUILD_FAILED : fail(ahead, "%s", why);
    TRY(nvrtc_arch(nvrtc, k->sm, arch));
    jit_key key = cache_key(k, w, nvrtc, arch);
    void *binary = jit_cache_get(k->cache, &key, &bytes);
    if (binary != NULL) {
        tw_status status = load_function(k, made, w->dynamic_bytes, binary);
        free(binary);
        if (status == TW_OK) return TW_OK;
    }
    TRY(compile(nvrtc, arch, w, &binary, &bytes, NULL));
    tw_status status = load_function(k, made, w->dynamic_bytes, binary);
    if (status == TW_OK) jit_cache_put(k->cache, &key, binary, bytes);
    free(binary);
    return status;
}

cu_function kernels_find(kernels *k, const kernel_text *w)
{
    for (built *b = atomic_load_explicit(&k->built, memory_order_acquire); b != NULL; b = b->next)
        if (gpu_same_text(&b->source, &w->source) && strcmp(b->source.entry, w->source.entry) == 0 &&
            strcmp(b->options, w->options) == 0 && gpu_same_epilogue(b->epilogue, w->epilogue))
            return b->function;
    return NULL;
}

/* Builds the kernel and adds it to the list. The lock is held. */
static tw_status add_built(kernels *k, const kernel_text *w)
{
    built *b = calloc(1, sizeof *b);
    if (b == NULL) return fail(TW_NO_MEMORY, "no memory for a compiled kernel");
    b->source = w->source;
    snprintf(b->options, sizeof b->options, "%s", w->options);
    if (w->epilogue != NULL && (b->epilogue = strdup(w->epilogue)) == NULL) {
        free(b);
        return fail(TW_NO_MEMORY, "no memory for the text of an epilogue");
    }
    tw_status status = build(k, b, w);
    if (status == TW_OK) {
        b->next = k->built;
        atomic_store_explicit(&k->built, b, memory_order_release);
    } else {
        free(b->epilogue);
        free(b);
    }
    return status;
}

tw_status kernels_build(kernels *k, const kernel_text *w, cu_function *out)
{
    tw_status status = TW_OK;
    if ((*out = kernels_find(k, w)) != NULL) return TW_OK;
    pthread_mutex_lock(&k->building);
    if (kernels_find(k, w) == NULL) status = add_built(k, w);
    pthread_mutex_unlock(&k->building);
    *out = status == TW_OK ? kernels_find(k, w) : NULL;
    return status;
}

bool kernels_kept(kernels *k, const kernel_text *w)
{
    char arch[24];
    size_t bytes;
    if (kernels_find(k, w) != NULL) return true;
    pthread_mutex_lock(&k->building);
    void *binary = get_ahead(k, w);
    const nvrtc_api *nvrtc = binary == NULL ? nvrtc_api_load() : NULL;
    if (nvrtc != NULL && nvrtc_arch(nvrtc, k->sm, arch) == TW_OK) {
        jit_key key = cache_key(k, w, nvrtc, arch);
        binary = jit_cache_get(k->cache, &key, &bytes);
    }
    pthread_mutex_unlock(&k->building);
    const bool kept = binary != NULL;
    free(binary);
    return kept;
}
