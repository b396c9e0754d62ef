/* ahead.c - build tool: CUDA's production kernels, compiled by NVRTC for the architectures of src/engines/cuda/ahead.h,
 * as files that the library finds by name on machines without NVRTC.
 *
 *     tilewright_ahead FOLDER      FOLDER is new or of this user alone (mode 700), as jit_cache.h has it; no GPU is
 *                                  needed */
#define _GNU_SOURCE /* setenv */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../src/engines/cuda/ahead.h"

enum { MOST_OPTIONS = 64 };

/* What is made, and how far that is; with no folder kernels are only counted. */
typedef struct work {
    jit_cache *into;
    int done, all;
    int64_t bytes;
    const char *shown; /* the entry that was named last */
} work;

/* What ends the line of progress on a terminal. */
static const char *clear(void) { return isatty(STDERR_FILENO) ? "\r\033[K" : ""; }

static int give_up(const char *what)
{
    fprintf(stderr, "%stilewright_ahead: %s%s%s\n", clear(), what, what[0] != '\0' ? ": " : "", tw_error_text());
    return 1;
}

/* On a terminal one line that is written over, elsewhere a line for the first of a kernel's variants. */
static void show(work *w, const char *entry, const char *arch)
{
    bool same = w->shown != NULL && strcmp(w->shown, entry) == 0, over = isatty(STDERR_FILENO);
    w->shown = entry;
    if (over || !same)
        fprintf(stderr, "%skernel %d of %d: %s for %s%s", clear(), w->done, w->all, entry, arch, over ? "" : "\n");
}

static tw_status keep(work *w, const struct ahead_arch *arch, const plan *p)
{
    tw_lab_code code = {.bytes = NULL};
    w->done++;
    if (w->into == NULL) return TW_OK;
    show(w, p->gpu.source.entry, arch->name);
    TRY(cuda_engine.lab->code(NULL, p, arch->from_sm, false, &code));
    if (strcmp(code.target, arch->name) != 0) {
        free(code.bytes);
        return fail(TW_BUILD_FAILED, "%s: this NVRTC compiles for %s, expected %s", p->gpu.source.entry, code.target,
                    arch->name);
    }
    jit_key key = ahead_key(arch->name, p->gpu.options, &p->gpu.source);
    jit_cache_put(w->into, &key, code.bytes, (size_t)code.size);
    w->bytes += code.size;
    free(code.bytes);
    return TW_OK;
}

/* The options of one row's kernels that are kept. */
typedef struct kept {
    char options[MOST_OPTIONS][PLAN_OPTIONS_BYTES];
    int count;
} kept;

/* Keeps what this plan of a row compiles, unless it is kept already. */
static tw_status keep_once(work *w, const struct ahead_arch *arch, kept *done, const kernel_row *row, const plan *p)
{
    for (int i = 0; i < done->count; i++)
        if (strcmp(done->options[i], p->gpu.options) == 0) return TW_OK;
    if (done->count == MOST_OPTIONS)
        return fail(TW_BAD_ARGUMENT, "%s has more than %d variants", row->lab.name, done->count);
    strcpy(done->options[done->count++], p->gpu.options);
    return keep(w, arch, p);
}

/* What computes the tiles that this plan's kernel leaves, if it leaves some. */
static tw_status keep_rest(work *w, const struct ahead_arch *arch, kept *done, const plan *made)
{
    const kernel_row *row = made->gpu.rest;
    if (row == NULL) return TW_OK;
    plan rest = {.gpu.source = {.file = row->lab.file, .entry = row->gpu.entry}};
    strcpy(rest.gpu.options, made->gpu.rest_options);
    return keep_once(w, arch, done, row, &rest);
}

/* A production row with all options that a plan can give it. */
static tw_status keep_row(work *w, const struct ahead_arch *arch, const kernel_row *row)
{
    device_facts facts = {.engine = "cuda",
                          .threads = 1,
                          .sm = arch->from_sm,
                          .most_threads = 1024,
                          .multiprocessors = 132,
                          .tensor_maps = arch->from_sm >= 90,
                          .local_bytes = (arch->from_sm >= 90 ? 227 : 163) << 10,
                          .l2_bytes = 40 << 20,
                          .largest_bytes = (int64_t)1 << 40};
    const tw_lab_choice choice = {.kernel = row->lab.name};
    kept done = {.count = 0}, rests = {.count = 0};
    for (int variant = 0; variant < 32 * DTYPES_END * DTYPES_END; variant++) {
        /* 4: k is divided among the blocks of a cluster, or of a deep k by split-K, where the row does that */
        const int64_t edge = variant / 8 % 2 ? 4 : 640,
                      height = variant / 16 % 2 ? 2 * edge : edge; /* C wide, or tall */
        const tw_dtype b = (tw_dtype)(variant / 32 % DTYPES_END), c = (tw_dtype)(variant / 32 / DTYPES_END);
        if (!dtypes_mix(row->lab.dtype, b) || !dtype_gives(row->lab.dtype, c)) continue;
        facts.clusters = edge == 4 && arch->from_sm >= 90;
        tw_problem p = tw_problem_make(row->lab.dtype, (tw_op)(variant / 2 % 2), (tw_op)(variant % 2), height, edge,
                                       edge == 640                       ? 640
                                       : row->gpu.family == FAMILY_WGMMA ? 65536
                                                                         : 1280);
        plan made;
        p.dtype_b = b, p.dtype_c = c;
        p.align_a = p.align_b = p.align_c = variant / 4 % 2 ? 4 : 256;
        if (plan_find(&p, &facts, &choice, &made) != TW_OK) continue; /* not on this architecture */
        TRY(keep_once(w, arch, &done, row, &made));
        TRY(keep_rest(w, arch, &rests, &made));
    }
    return TW_OK;
}

/* A row of whole batches, with all options. */
static tw_status keep_batch(work *w, const struct ahead_arch *arch, const kernel_row *row)
{
    const device_facts facts = {.engine = "cuda", .sm = arch->from_sm, .multiprocessors = 1};
    const tw_dtype result = dtype_find(row->lab.dtype)->result;
    kept done = {.count = 0};
    for (int variant = 0; row->gpu.sm <= arch->from_sm && variant < 8 * DTYPES_END * DTYPES_END; variant++) {
        const tw_dtype b = (tw_dtype)(variant / 8 % DTYPES_END), c = (tw_dtype)(variant / 8 / DTYPES_END);
        if (!dtypes_mix(row->lab.dtype, b) || !dtype_gives(row->lab.dtype, c)) continue;
        if (c != result && row->gpu.stores != STORES_ANY) continue;
        tw_problem p = tw_problem_make(row->lab.dtype, (tw_op)(variant / 2 % 2), (tw_op)(variant % 2), 32, 32, 32);
        plan made;
        p.dtype_b = b, p.dtype_c = c;
        p.align_a = p.align_b = p.align_c = variant / 4 % 2 ? 4 : 256;
        if (!kernel_takes_ops(row, &p)) continue;
        plan_one_launch(&p, &facts, row, &made);
        TRY(keep_once(w, arch, &done, row, &made));
    }
    return TW_OK;
}

/* What runs beside the rows: the passes that pack, the probes of `devices`. */
static tw_status keep_helpers(work *w, const struct ahead_arch *arch)
{
    static const struct {
        const char *file, *entry, *options;
    } helpers[] = {{"cuda/split.cu", "scan", ""},
                   {"cuda/split.cu", "split", ""},
                   {"cuda/pack.cu", "pack", "-DELEMENT_BYTES=1"},
                   {"cuda/pack.cu", "pack", "-DELEMENT_BYTES=2"},
                   {"cuda/pack.cu", "pack", "-DELEMENT_BYTES=4"},
                   {"cuda/pack.cu", "pack", "-DELEMENT_BYTES=8"},
                   {"cuda/pack.cu", "pack", "-DELEMENT_BYTES=4 -DREST=1"},
                   {"cuda/complex.cu", "expand", ""},
                   {"cuda/complex.cu", "expand", "-DREAL_BYTES=8"},
                   {"cuda/complex.cu", "combine", ""},
                   {"cuda/complex.cu", "combine", "-DREAL_BYTES=8"},
                   {"cuda/add.cu", "add", ""},
                   {"cuda/add.cu", "add", "-DC_HALF=1"},
                   {"cuda/add.cu", "add", "-DC_HALF=1 -DIN_F16=1"},
                   {"cuda/add.cu", "add", "-DSUMS_S32=1"},
                   {"cuda/probe.cu", "probe_fma", ""},
                   {"cuda/probe.cu", "probe_read", ""},
                   {"cuda/probe.cu", "probe_shared", ""},
                   {"cuda/probe.cu", "probe_pattern", ""}};
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
        plan p = {.gpu.source = {.file = helpers[i].file, .entry = helpers[i].entry}};
        strcpy(p.gpu.options, helpers[i].options);
        TRY(keep(w, arch, &p));
    }
    return TW_OK;
}

/* Count all kernels, or make them. */
static tw_status keep_all(work *w)
{
    w->done = 0;
    for (int a = 0; a < AHEAD_ARCHS; a++) {
        for (int i = 0; i < kernel_count(); i++) {
            const kernel_row *row = kernel_at(i);
            if (strcmp(row->lab.engine, "cuda") == 0 && row->lab.production) TRY(keep_row(w, &ahead_archs[a], row));
        }
        for (int i = 0; kernel_batch_at(i) != NULL; i++) TRY(keep_batch(w, &ahead_archs[a], kernel_batch_at(i)));
        TRY(keep_helpers(w, &ahead_archs[a]));
    }
    return TW_OK;
}

/* All kernels into a folder, whose cache is open. */
static int keep_in(const char *folder, jit_cache *into)
{
    work w = {.into = NULL};
    if (!jit_cache_usable(into)) return give_up(jit_cache_state(into));
    if (keep_all(&w) != TW_OK) return give_up("the kernels could not be counted");
    w.all = w.done, w.into = into;
    if (keep_all(&w) != TW_OK) return give_up("");
    bool kept = strcmp(jit_cache_state(into), folder) == 0; /* it says so where a file could not be written */
    if (!kept) return give_up(jit_cache_state(into));
    fputs(clear(), stderr);
    printf("%s: %d kernels, %.1f MB, for", folder, w.done, 1e-6 * (double)w.bytes);
    for (int a = 0; a < AHEAD_ARCHS; a++) printf("%s %s", a > 0 ? " and" : "", ahead_archs[a].name);
    printf("\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2 || argv[1][0] != '/') return give_up("expected the absolute path of a folder");
    setenv("TILEWRIGHT_CACHE", argv[1], 1);
    jit_cache *into = jit_cache_open();
    int status = keep_in(argv[1], into);
    jit_cache_close(into);
    return status;
}
