/* binary.c - what the compiler made of it: registers and memory, and a look into the binary, as 5kk73 takes one: the
 * inner loop as the machine has it, its multiply-adds marked, and the mix of its instructions. SASS where a
 * disassembler of CUDA is, else PTX; of the CPU's rungs and PoCL's kernels this machine's own code. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../program/diag.h"
#include "../../program/term.h"
#include "../../program/watch.h"
#include "explain.h"
#include "listing.h"
#include "tool.h"

enum { SHOWN = 700, LONGEST = 110, ANY_SM = 90 };

/* ---- what it takes ---- */

static void print_resources(FILE *text, const tw_lab_resources *r)
{
    const int numbers[] = {r->registers, r->local_bytes, r->spill_bytes};
    const char *const units[] = {"registers per thread", "bytes of shared memory per block",
                                 "bytes spilled per thread"};
    for (int i = 0; i < 3; i++)
        if (numbers[i] >= 0)
            fprintf(text, " %d %s;", numbers[i], units[i]);
        else
            fprintf(text, " %s: unknown;", units[i]);
    fprintf(text, r->occupancy >= 0 ? " occupancy %.0f %%\n" : " occupancy: unknown\n", 100 * r->occupancy);
}

void explain_compiled(const explain *x, const char *state)
{
    tw_lab_run *run = NULL;
    const tw_lab_kernel *k = x->kernel;
    FILE *text = x->text;
    explain_heading(x, "After compilation");
    if (strcmp(k->engine, "cpu") == 0) {
        fprintf(text, "machine code for %s; --binary shows which registers the loop uses\n", k->needs);
        return;
    }
    if (x->context == NULL) {
        fprintf(text, "no device of the %s engine is here: %s\n", k->engine, state);
        if (strcmp(k->engine, "cuda") == 0 && !x->binary_wanted)
            fprintf(text, "--binary shows registers and shared memory without a device; it needs NVRTC\n");
        return;
    }
    tw_problem p = tw_problem_make(k->dtype, TW_N, TW_N, 256, 256, k->skinny ? x->tile : 256);
    tw_lab_choice choice = {.kernel = k->name, .tile = k->default_tile > 0 && !k->skinny ? x->tile : 0};
    void *zeros = calloc(3 * 256, 256 * sizeof(double));
    tw_status status = zeros != NULL
                           ? tw_lab_run_open(x->context, &choice, &p, zeros, (char *)zeros + 256 * 256 * sizeof(double),
                                             (char *)zeros + 2 * 256 * 256 * sizeof(double), &run)
                           : TW_NO_MEMORY;
    if (status != TW_OK) {
        fprintf(text, "on %s: %s\n", x->device->name, tw_error_text());
    } else {
        tw_lab_resources r;
        tw_lab_run_resources(run, &r);
        fprintf(text, "on %s:", x->device->name);
        print_resources(text, &r);
    }
    tw_lab_run_close(run);
    free(zeros);
}

/* ---- code, as text ---- */

/* The listing: its text for free(), its form, the function to look in and its source; or why there is none. What the
 * compiler said of the kernel, for target. */
typedef struct source {
    char *text;
    listing_form form;
    char function[96], from[TOOL_PATH + 200], target[24];
    tw_lab_resources resources;
} source;

static bool lacks(source *out, const char *sentence)
{
    snprintf(out->from, sizeof out->from, "%s", sentence);
    return false;
}

/* CUDA's machine code through nvdisasm. cuobjdump, where that alone is, needs it too. */
static char *disassemble(const tw_lab_code *code)
{
    char tool[TOOL_PATH], file[TOOL_PATH];
    if (!tool_find("nvdisasm", tool) || !tool_file(code->bytes, (size_t)code->size, file)) return NULL;
    char *text = tool_run((const char *const[]){tool, "-c", file, NULL});
    tool_file_end(file);
    return text;
}

static tw_status make_code(const explain *x, bool default_build, bool ptx, tw_lab_code *code)
{
    const tw_lab_kernel *k = x->kernel;
    const bool cuda = strcmp(k->engine, "cuda") == 0, here = x->context != NULL;
    tw_problem p = tw_problem_make(k->dtype, TW_N, TW_N, 1024, 1024, k->skinny ? x->tile : 1024);
    tw_lab_choice choice = {.kernel = k->name,
                            .tile = k->default_tile > 0 && !k->skinny ? x->tile : 0,
                            .default_build = default_build,
                            .source = x->user};
    watch_file(x->user != NULL ? x->user->file : NULL, "compile");
    tw_status status = tw_lab_code_make(x->context, &choice, &p, cuda && !here ? ANY_SM : 0, ptx, code);
    watch_file(NULL, NULL);
    return status;
}

static bool gpu_source_of(const explain *x, bool default_build, source *out)
{
    tw_lab_code code;
    bool cuda = strcmp(x->kernel->engine, "cuda") == 0;
    if (!cuda && x->context == NULL)
        return lacks(out, "an OpenCL kernel is compiled by the driver of a device, and none is here");
    if (make_code(x, default_build, false, &code) != TW_OK) return lacks(out, tw_error_text());
    out->form = LISTING_SASS;
    out->resources = code.resources;
    memcpy(out->target, code.target, sizeof out->target);
    if (strcmp(code.form, "cubin") == 0) {
        out->text = disassemble(&code);
        snprintf(out->from, sizeof out->from, "SASS of %s, by nvdisasm", code.target);
        tw_lab_code_free(&code);
        if (out->text != NULL) return true;
        if (make_code(x, default_build, true, &code) != TW_OK) return lacks(out, tw_error_text());
    }
    bool is_ptx = strcmp(code.form, "ptx") == 0;
    if (is_ptx && (out->text = calloc(1, (size_t)code.size + 1)) != NULL) {
        memcpy(out->text, code.bytes, (size_t)code.size);
        out->form = LISTING_PTX;
        snprintf(out->from, sizeof out->from, "PTX for %s%s", code.target,
                 cuda ? "; nvdisasm (CUDA's toolkit, or PyPI's nvidia-cuda-nvdisasm) on PATH would give SASS" : "");
    }
    tw_lab_code_free(&code);
    return out->text != NULL || lacks(out, "");
}

/* PoCL's binary holds shared objects of the host's own code, one for each size of group: the first that has the
 * kernel. */
static const unsigned char *find_object(const tw_lab_code *code, const char *symbol, size_t *bytes)
{
    const unsigned char *at = code->bytes, *end = at + code->size, *object = NULL;
    size_t length = strlen(symbol);
    for (; at + length <= end; at++) {
        if (memcmp(at, "\177ELF", 4) == 0) object = at;
        if (object == NULL || memcmp(at, symbol, length) != 0) continue;
        *bytes = (size_t)(end - object);
        return object;
    }
    return NULL;
}

static bool pocl_source_of(const explain *x, bool default_build, source *out)
{
    tw_lab_code code;
    char symbol[128], tool[TOOL_PATH], file[TOOL_PATH];
    size_t bytes = 0;
    if (make_code(x, default_build, false, &code) != TW_OK) return lacks(out, tw_error_text());
    /* a rung's entry is called as its file */
    const char *name = x->user != NULL ? x->user->entry : strrchr(x->kernel->file, '/') + 1;
    snprintf(symbol, sizeof symbol, "_pocl_kernel_%.*s_workgroup", (int)strcspn(name, "."), name);
    const unsigned char *object = find_object(&code, symbol, &bytes);
    bool found = tool_find("objdump", tool);
    if (object != NULL && found && tool_file(object, bytes, file)) {
        out->text = tool_run((const char *const[]){tool, "-d", "--no-show-raw-insn", file, NULL});
        tool_file_end(file);
    }
    tw_lab_code_free(&code);
    out->form = LISTING_HOST;
    snprintf(out->from, sizeof out->from, "PoCL's code for this processor, by objdump");
    if (out->text != NULL) return true;
    return lacks(out, object == NULL ? "this OpenCL driver's binary is neither PTX nor code of this processor"
                      : found        ? "objdump could not read PoCL's code"
                                     : "objdump is not on PATH: install binutils");
}

/* The CPU's rungs are part of this program. */
static bool host_source_of(const explain *x, source *out)
{
    char tool[TOOL_PATH], self[TOOL_PATH];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (!tool_find("objdump", tool)) return lacks(out, "objdump is not on PATH: install binutils");
    if (length < 0) return lacks(out, "/proc/self/exe does not say where this program lies");
    self[length] = '\0';
    out->text = tool_run((const char *const[]){tool, "-d", "--no-show-raw-insn", self, NULL});
    out->form = LISTING_HOST;
    snprintf(out->function, sizeof out->function, "%s", x->kernel->name);
    snprintf(out->from, sizeof out->from, "machine code of %s, by objdump", x->kernel->name);
    return out->text != NULL || lacks(out, "objdump could not read this program");
}

static bool find_source(const explain *x, bool default_build, source *out)
{
    *out = (source){.resources = {-1, -1, -1, -1}};
    if (strcmp(x->kernel->engine, "cpu") == 0) return host_source_of(x, out);
    if (gpu_source_of(x, default_build, out)) return true;
    return out->from[0] == '\0' && pocl_source_of(x, default_build, out);
}

/* ---- telling ---- */

static void print_loop(FILE *text, const listing *l, const code_loop *loop)
{
    term_paint paint = term_paint_for(text);
    int shown = 0;
    bool inner = false;
    for (int i = loop->first; i <= loop->last; i++) {
        const instruction *x = &l->code[i];
        if (listing_in_inner(l, loop, i)) {
            if (!inner) fprintf(text, "    ... a loop within\n");
            inner = true;
            continue;
        }
        inner = false;
        if (shown++ == SHOWN) break;
        bool fma = x->class == CODE_FMA;
        fprintf(text, "%s  %s %.*s%s%s\n", fma ? paint.good : "", fma ? "*" : " ",
                x->length < LONGEST ? x->length : LONGEST, x->text, x->length > LONGEST ? " ..." : "",
                fma ? paint.plain : "");
    }
    if (shown > SHOWN) fprintf(text, "    ... and more: the first %d were shown\n", SHOWN);
}

static void print_mix(FILE *text, const code_loop *loop)
{
    for (int c = 0; c < CODE_CLASSES; c++)
        if (loop->of[c] > 0)
            fprintf(text, "  %4d  %5.1f %%  %s\n", loop->of[c], 100.0 * loop->of[c] / loop->total,
                    listing_class_text((listing_class)c));
}

const char *explain_published_share(const explain *x)
{
    bool outer = x->kernel->family || (strncmp(x->kernel->rung, "r05", 3) >= 0 && !x->kernel->skinny);
    return outer ? "1 of 1 (outer product: the multiply-add takes one operand from shared memory)"
                 : "1 of 2 (inner product: mov, then mad with one operand from shared memory)";
}

/* What 5kk73 found in its binary, and why today's is another. */
static void print_document(const explain *x, const code_loop *loop)
{
    FILE *text = x->text;
    bool host = strcmp(x->kernel->engine, "cpu") == 0;
    fprintf(text, "useful     %d of %d instructions = %.1f %%; 5kk73: %s\n", loop->of[CODE_FMA], loop->total,
            100.0 * loop->of[CODE_FMA] / loop->total, explain_published_share(x));
    if (host)
        fprintf(text, "           a CPU multiplies several elements in one instruction; where it lacks a multiply-add, "
                      "the multiplications are marked\n");
    else
        fprintf(text,
                "           No GPU since compute capability 2.0 takes an operand of a multiply-add from shared memory: "
                "loads are instructions of their own, which several multiply-adds share in the outer "
                "product; r01 to r05 hold their loop rolled, and count, compare and branch each time\n");
}

static bool read_loop(const explain *x, bool default_build, source *from, listing *l, code_loop *loop)
{
    bool found = find_source(x, default_build, from);
    *l = (listing){.count = 0};
    if (!found) return false;
    if (listing_read(l, from->form, from->text) &&
        listing_loop(l, from->function[0] != '\0' ? from->function : NULL, loop))
        return true;
    snprintf(from->from + strlen(from->from), sizeof from->from - strlen(from->from),
             ": no loop that multiplies was found%s",
             from->function[0] != '\0' ? " (a stripped program has no names)" : "");
    return false;
}

exit_code explain_binary(explain *x)
{
    FILE *text = x->text;
    source from;
    listing l;
    code_loop loop;
    const double deadline_s = x->deadline_s > 0 ? x->deadline_s : WATCH_FILE_S;
    if (x->user != NULL && !watch_file_begin(deadline_s)) return diag_no_memory("the thread that keeps --deadline");
    explain_heading(x, "In the binary");
    bool found = read_loop(x, false, &from, &l, &loop);
    fprintf(text, "%s\n", from.from);
    if (from.resources.registers >= 0) {
        fprintf(text, "ptxas for %s:", from.target);
        print_resources(text, &from.resources);
    }
    snprintf(x->binary_from, sizeof x->binary_from, "%s", from.from);
    if (found) {
        snprintf(x->binary, sizeof x->binary, "%s",
                 from.form == LISTING_SASS  ? "sass"
                 : from.form == LISTING_PTX ? "ptx"
                                            : "host");
        x->loop = loop;
        fprintf(text, "the innermost loop that multiplies, %d instructions:\n\n", loop.total);
        print_loop(text, &l, &loop);
        fputc('\n', text);
        print_mix(text, &loop);
        print_document(x, &loop);
    }
    free(from.text);
    listing_free(&l);
    if (!found || !x->rolled) return EXIT_OK;
    if (read_loop(x, true, &from, &l, &loop))
        fprintf(text, "default    the compiler, left to itself: %d of %d = %.1f %%\n", loop.of[CODE_FMA], loop.total,
                100.0 * loop.of[CODE_FMA] / loop.total);
    free(from.text);
    listing_free(&l);
    return EXIT_OK;
}
