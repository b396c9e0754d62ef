/* ahead.c - build tool: CUDA's production kernels, compiled by NVRTC for the architectures of src/engines/cuda/ahead.h, as files that the
 * library finds by name on machines without NVRTC.
 *
 *     tilewright_ahead FOLDER      FOLDER is new or of this user alone (mode 700), as jit_cache.h has it; no GPU is needed */
#define _GNU_SOURCE /* setenv */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/engines/cuda/ahead.h"

enum { MOST_OPTIONS = 32 };

static int stop(const char *what)
{
    fprintf(stderr, "tilewright_ahead: %s%s%s\n", what, what[0] != '\0' ? ": " : "", tw_error_text());
    return 1;
}

static tw_status keep(jit_cache *into, const struct ahead_arch *arch, const plan *p)
{
    tw_lab_code code = {.bytes = NULL};
    TRY(cuda_engine.code(NULL, p, arch->from_sm, false, &code));
    if (strcmp(code.target, arch->name) != 0) {
        free(code.bytes);
        return fail(TW_BUILD_FAILED, "this NVRTC compiles for %s, expected %s", code.target, arch->name);
    }
    jit_key key = ahead_key(arch->name, p->options, &p->source);
    jit_cache_put(into, &key, code.bytes, (size_t)code.size);
    free(code.bytes);
    return TW_OK;
}

/* A production row with all options that a plan can give it. */
static tw_status keep_row(jit_cache *into, const struct ahead_arch *arch, const kernel_row *row, int *count)
{
    const device_facts facts = {.engine = "cuda", .threads = 1, .sm = arch->from_sm, .most_threads = 1024, .multiprocessors = 1, .tensor_maps = arch->from_sm >= 90,
                                .local_bytes = (arch->from_sm >= 90 ? 227 : 163) << 10, .l2_bytes = 40 << 20, .largest_bytes = (int64_t)1 << 40};
    const tw_lab_choice choice = {.kernel = row->lab.name};
    char done[MOST_OPTIONS][PLAN_OPTIONS_BYTES];
    int known = 0;
    for (int variant = 0; variant < 16; variant++) {
        tw_problem p = tw_problem_make(row->lab.dtype, (tw_op)(variant / 2 % 2), (tw_op)(variant % 2), 640, 640, 640);
        plan made;
        bool seen = false;
        p.dtype_c = variant / 8 ? p.dtype : dtype_find(p.dtype)->result;
        p.align_a = p.align_b = p.align_c = variant / 4 % 2 ? 4 : 256;
        if (plan_find(&p, &facts, &choice, &made) != TW_OK) continue; /* not on this architecture */
        for (int i = 0; i < known; i++) seen = seen || strcmp(done[i], made.options) == 0;
        if (seen) continue;
        strcpy(done[known++], made.options);
        TRY(keep(into, arch, &made));
        ++*count;
    }
    return TW_OK;
}

/* A row of whole batches, with all options. */
static tw_status keep_batch(jit_cache *into, const struct ahead_arch *arch, const kernel_row *row, int *count)
{
    const device_facts facts = {.engine = "cuda", .sm = arch->from_sm, .multiprocessors = 1};
    for (int variant = 0; row->gpu.sm <= arch->from_sm && variant < 8; variant++, ++*count) {
        tw_problem p = tw_problem_make(row->lab.dtype, (tw_op)(variant / 2 % 2), (tw_op)(variant % 2), 32, 32, 32);
        plan made;
        p.dtype_c = dtype_find(p.dtype)->result;
        p.dtype_c = dtype_find(p.dtype)->result;
        p.align_a = p.align_b = p.align_c = variant / 4 ? 4 : 256;
        plan_one_launch(&p, &facts, row, &made);
        TRY(keep(into, arch, &made));
    }
    return TW_OK;
}

/* What runs beside the rows: the passes that pack, the probes of `devices`. */
static tw_status keep_helpers(jit_cache *into, const struct ahead_arch *arch, int *count)
{
    static const struct {
        const char *file, *entry, *options;
    } helpers[] = {{"cuda/pack.cu", "pack", "-DTURNS=0"}, {"cuda/pack.cu", "pack", "-DTURNS=1"}, {"cuda/pack.cu", "pack", "-DTURNS=0 -DHALF=1"},
                   {"cuda/pack.cu", "pack", "-DTURNS=1 -DHALF=1"}, {"cuda/probe.cu", "probe_fma", ""}, {"cuda/probe.cu", "probe_read", ""},
                   {"cuda/probe.cu", "probe_shared", ""}};
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++, ++*count) {
        plan p = {.source = {.file = helpers[i].file, .entry = helpers[i].entry}};
        strcpy(p.options, helpers[i].options);
        TRY(keep(into, arch, &p));
    }
    return TW_OK;
}

int main(int argc, char **argv)
{
    int count = 0;
    if (argc != 2 || argv[1][0] != '/') return stop("expected the absolute path of a folder");
    setenv("TILEWRIGHT_CACHE", argv[1], 1);
    jit_cache *into = jit_cache_open();
    if (!jit_cache_usable(into)) return stop(jit_cache_state(into));
    for (int a = 0; a < AHEAD_ARCHS; a++) {
        for (int i = 0; i < kernel_count(); i++) {
            const kernel_row *row = kernel_at(i);
            if (strcmp(row->lab.engine, "cuda") != 0 || !row->lab.production) continue;
            if (keep_row(into, &ahead_archs[a], row, &count) != TW_OK) return stop(row->lab.name);
        }
        for (int i = 0; kernel_batch_at(i) != NULL; i++)
            if (keep_batch(into, &ahead_archs[a], kernel_batch_at(i), &count) != TW_OK) return stop(kernel_batch_at(i)->lab.name);
        if (keep_helpers(into, &ahead_archs[a], &count) != TW_OK) return stop("pack.cu and probe.cu");
    }
    bool kept = strcmp(jit_cache_state(into), argv[1]) == 0; /* it says so where a file could not be written */
    if (!kept) return stop(jit_cache_state(into));
    printf("%s: %d kernels\n", argv[1], count);
    jit_cache_close(into);
    return 0;
}
