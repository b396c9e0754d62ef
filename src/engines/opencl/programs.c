/* programs.c - programs compiled for the device at first use and kept, verdicts on them, and kernel objects of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gpu.h"
#include "opencl_engine.h"

/* One compiled program: a kernel's text with a plan's options. */
struct built {
    struct built *next;
    tw_lab_source source;
    char options[PLAN_OPTIONS_BYTES];
    char *epilogue; /* what stands in front of the text; NULL: nothing */
    bool offsets;
    cl_program program;
};

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

/* The plan's options, those of every program, and the user's. OpenCL C has no word for registers. -w: PoCL prints
 * "N warnings generated" on the caller's stderr, for vectors wider than the processor's. */
enum { WHOLE_OPTIONS_BYTES = PLAN_OPTIONS_BYTES + 360 };
static void whole_options(const engine *e, const char *own, bool epilogue, char text[WHOLE_OPTIONS_BYTES])
{
    static const char registers[] = "-DREGISTERS=", rounded[] = " -cl-fp32-correctly-rounded-divide-sqrt";
    const char *wanted = e->sm > 0 && !e->emulated ? strstr(own, registers) : NULL;
    int used = snprintf(text, WHOLE_OPTIONS_BYTES, "-w -cl-std=CL1.2%s %s %s", epilogue ? rounded : "", own, e->extra);
    if (wanted != NULL && used < WHOLE_OPTIONS_BYTES)
        snprintf(text + used, (size_t)(WHOLE_OPTIONS_BYTES - used), " -cl-nv-maxrregcount=%d",
                 atoi(wanted + sizeof registers - 1));
}

/* From a kept binary; NULL where there is none or the driver will not have it. */
static cl_program program_from_cache(engine *e, const jit_key *key, const char *options)
{
    size_t bytes;
    cl_int error, status;
    void *binary = e->keeps_binaries ? jit_cache_get(e->cache, key, &bytes) : NULL;
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

/* Where none is kept a driver is not asked for one: PoCL compiles all of a program's kernels once more for its binary,
 * for groups of any size. */
static void program_to_cache(engine *e, const jit_key *key, cl_program program)
{
    size_t bytes = 0;
    if (!e->keeps_binaries ||
        e->cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS ||
        bytes == 0)
        return;
    unsigned char *binary = malloc(bytes);
    if (binary != NULL &&
        e->cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        jit_cache_put(e->cache, key, binary, bytes);
    free(binary);
}

static tw_status build(engine *e, const built *b, const char *text, cl_program *out)
{
    char options[WHOLE_OPTIONS_BYTES];
    cl_int error;
    const bool bare = b->epilogue == NULL;
    const char *parts[] = {bare ? text : b->epilogue, "#line 1\n", text};
    whole_options(e, b->options, !bare, options);
    jit_key key = jit_key_of(5 + !bare,
                             (const char *const[]){"opencl", e->identity, e->compiler, options, text, b->epilogue});
    *out = program_from_cache(e, &key, options);
    if (*out != NULL) return TW_OK;
    cl_program program = e->cl->clCreateProgramWithSource(e->context, bare ? 1 : 3, parts, NULL, &error);
    CL_TRY("clCreateProgramWithSource", error);
    error = e->cl->clBuildProgram(program, 1, &e->device, options, NULL, NULL);
    if (error != CL_SUCCESS) return build_failed(e, program, b->source.file, error);
    program_to_cache(e, &key, program);
    *out = program;
    return TW_OK;
}

static tw_status build_text(engine *e, const built *b, cl_program *out)
{
    const char *text = gpu_text(&b->source);
    if (!b->offsets) return build(e, b, text, out);
    char *copy = cl_offsets_text(text);
    if (copy == NULL) return fail(TW_NO_MEMORY, "no memory for the text of %s", b->source.file);
    tw_status status = build(e, b, copy, out);
    free(copy);
    return status;
}

/* Programs are only added, in front, until the engine is closed: no lock is needed to look for one. */
static const built *find(engine *e, const kernel_text *text, bool offsets)
{
    const built *b = atomic_load_explicit(&e->built, memory_order_acquire);
    while (b != NULL && !(gpu_same_text(&b->source, &text->source) && b->offsets == offsets &&
                          strcmp(b->options, text->options) == 0 && gpu_same_epilogue(b->epilogue, text->epilogue)))
        b = b->next;
    return b;
}

static void free_built(built *b)
{
    if (b != NULL) free(b->epilogue);
    free(b);
}

/* e->building is held. */
static tw_status add(engine *e, const kernel_text *text, bool offsets, const built **out)
{
    built *b = calloc(1, sizeof *b);
    if (b != NULL && text->epilogue != NULL) b->epilogue = strdup(text->epilogue);
    if (b == NULL || (b->epilogue == NULL && text->epilogue != NULL)) {
        free_built(b);
        return fail(TW_NO_MEMORY, "no memory for a compiled kernel");
    }
    b->source = text->source, b->offsets = offsets;
    snprintf(b->options, sizeof b->options, "%s", text->options);
    tw_status status = build_text(e, b, &b->program);
    if (status != TW_OK) {
        free_built(b);
        return status;
    }
    b->next = atomic_load_explicit(&e->built, memory_order_relaxed);
    atomic_store_explicit(&e->built, b, memory_order_release);
    *out = b;
    return TW_OK;
}

static tw_status find_or_build(engine *e, const kernel_text *text, bool offsets, const built **out)
{
    tw_status status = TW_OK;
    if ((*out = find(e, text, offsets)) != NULL) return TW_OK;
    pthread_mutex_lock(&e->building);
    if ((*out = find(e, text, offsets)) == NULL) status = add(e, text, offsets, out);
    pthread_mutex_unlock(&e->building);
    return status;
}

static tw_status make_kernel(engine *e, const built *of, const char *entry, cl_kernel *out)
{
    cl_int error;
    *out = e->cl->clCreateKernel(of->program, entry, &error);
    CL_TRY("clCreateKernel", error);
    return TW_OK;
}

tw_status cl_find_or_build(engine *e, const kernel_text *text, bool offsets, cl_kernel *out)
{
    const built *b;
    TRY(find_or_build(e, text, offsets, &b));
    return make_kernel(e, b, text->source.entry, out);
}

/* ---- kernel objects that wait for their next call ---- */

tw_status cl_take_kernel(engine *e, const kernel_text *text, idle_kernel *out)
{
    *out = (idle_kernel){.entry = text->source.entry};
    TRY(find_or_build(e, text, true, &out->of));
    pthread_mutex_lock(&e->idling);
    for (int i = e->idle_count - 1; i >= 0 && out->kernel == NULL; i--) {
        if (e->idle[i].of != out->of || strcmp(e->idle[i].entry, out->entry) != 0) continue;
        *out = e->idle[i];
        e->idle[i] = e->idle[--e->idle_count];
    }
    pthread_mutex_unlock(&e->idling);
    return out->kernel != NULL ? TW_OK : make_kernel(e, out->of, out->entry, &out->kernel);
}

void cl_give_kernel(engine *e, idle_kernel *k)
{
    if (k->kernel == NULL) return;
    pthread_mutex_lock(&e->idling);
    if (e->idle_count == MOST_IDLE) { /* others are not wanted any more */
        e->cl->clReleaseKernel(e->idle[0].kernel);
        e->idle[0] = e->idle[--e->idle_count];
    }
    e->idle[e->idle_count++] = *k;
    pthread_mutex_unlock(&e->idling);
    k->kernel = NULL;
}

void cl_close_programs(engine *e, bool releases)
{
    while (releases && e->idle_count > 0) e->cl->clReleaseKernel(e->idle[--e->idle_count].kernel);
    for (built *b = atomic_load(&e->built), *next; b != NULL; b = next) {
        next = b->next;
        if (releases) e->cl->clReleaseProgram(b->program);
        free_built(b);
    }
}

/* ---- verdicts on kernels ---- */

static jit_key verdict_key(const engine *e, const plan *p)
{
    char options[WHOLE_OPTIONS_BYTES], form[16];
    whole_options(e, p->gpu.options, false, options);
    snprintf(form, sizeof form, "%u", kernel_form(p->row, &p->problem, p->gpu.items));
    return jit_key_of(6, (const char *const[]){"opencl self-test", e->identity, e->compiler, options, form,
                                               gpu_text(&p->gpu.source)});
}

tw_status cl_kept_verdict(engine *e, const plan *p, char *text, size_t bytes)
{
    size_t length = 0;
    TRY(cl_check_process(e));
    const jit_key key = verdict_key(e, p);
    char *kept = jit_cache_get(e->cache, &key, &length);
    snprintf(text, bytes, "%.*s", (int)(length < bytes ? length : bytes), kept != NULL ? kept : "");
    free(kept);
    return TW_OK;
}

void cl_keep_verdict(engine *e, const plan *p, const char *text)
{
    const jit_key key = verdict_key(e, p);
    pthread_mutex_lock(&e->building);
    jit_cache_put(e->cache, &key, text, strlen(text));
    pthread_mutex_unlock(&e->building);
}

/* ---- code ---- */

/* The driver's own binary of a program: PTX on NVIDIA's. */
tw_status cl_code(engine *e, const plan *p, int sm, bool ptx, tw_lab_code *out)
{
    const gpu_plan *gpu = &p->gpu;
    const built *b;
    size_t bytes = 0;
    (void)sm, (void)ptx;
    const tw_epilogue *epilogue = p->problem.epilogue;
    const kernel_text whole = {gpu->source, gpu->options, 0, epilogue != NULL ? epilogue->gpu_text : NULL};
    TRY(find_or_build(e, &whole, false, &b));
    cl_program program = b->program;
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
