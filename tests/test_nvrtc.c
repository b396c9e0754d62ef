/* test_nvrtc.c - the CUDA kernels compiled by NVRTC, without a GPU, for the oldest architecture that NVRTC knows, for
 * sm_80 and for sm_90a, with the options that the planner makes; then ptxas's words, the PTX and the binary are read.
 * Of each file so many forms that they have every architecture, type and value of a macro between them; --full: all.
 *
 *   the log      no spills and no local memory in a production kernel (of others they are told); none of the warnings
 *                that say that wgmma waits for itself; the sums of r05 to r07 stay in registers
 *   the PTX      wgmma has the shape, the types and the transposes by which the plan has the operands lie: of each way
 *   the binary   r07: the loads of the next tile stand before the multiply-adds, its stores behind them; r05 and r06:
 *                the share of multiply-adds in the innermost loop
 *
 * What the version of tools/pins does worse fails; what another does worse is told with its version, and skipped. What
 * does not compile fails with each.
 *
 *   test_nvrtc --digests [ARCH]    a line for each of --full's kernels, by which two trees can be compared;
 *                                  ARCH: one of the three, "oldest" the first
 *
 * NVRTC is found as the library finds it: TILEWRIGHT_NVRTC (tests/get_nvrtc.sh fetches one), a toolkit's, else all is
 * skipped. */
#include "engines/cuda/cu_api.h"
#include "engines/gpu.h"
#include "former.h"
#include "judge/user_kernel.h"
#include "plan.h"
#include "sha256.h"
#include "support/changed.h"
#include "support/tap.h"

static const nvrtc_api *nvrtc;

/* ---- the version that was tried ---- */

/* Of the line nvidia-cuda-nvrtc==13.0.88 of tools/pins the 13 and the 0. */
static bool read_pin(const char *path, int *major, int *minor)
{
    bool found = false;
    char line[256];
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    while (!found && fgets(line, (int)sizeof line, file) != NULL)
        found = sscanf(line, "nvidia-cuda-nvrtc==%d.%d.", major, minor) == 2;
    fclose(file);
    return found;
}

static int pinned_major, pinned_minor;

/* How another version than the pinned one calls itself in a reason; "" for the pinned one. */
static const char *another_version(int major, int minor)
{
    static char text[64];
    text[0] = '\0';
    if (major != pinned_major || minor != pinned_minor)
        snprintf(text, sizeof text, "NVRTC %d.%d, not %d.%d of tools/pins: ", major, minor, pinned_major, pinned_minor);
    return text;
}

/* The verdict on what the compiler made of a text. */
__attribute__((format(printf, 2, 3))) static void judge_compiler(bool good, const char *format, ...)
{
    char told[768];
    va_list arguments;
    const char *another = another_version(nvrtc->major, nvrtc->minor);
    const int used = snprintf(told, sizeof told, "%s", another);
    va_start(arguments, format);
    vsnprintf(told + used, sizeof told - (size_t)used, format, arguments);
    va_end(arguments);
    told[strcspn(told, "\n")] = '\0';
    if (!good && another[0] != '\0')
        tap_skip(told);
    else
        tap_result(good, "%s", told);
}

/* ---- compiling ---- */

typedef struct compiled {
    int error;
    char *log, *ptx;
    unsigned char *cubin;
    size_t cubin_bytes;
} compiled;

static compiled compile(const char *text, const char *name, const char *arch, const char *options)
{
    compiled out = {0};
    char words[PLAN_OPTIONS_BYTES], target[48];
    const char *list[40] = {target, "--std=c++17", "--ptxas-options=-v"};
    int count = 3;
    if (100 * nvrtc->major + nvrtc->minor >= 1209) list[count++] = "--no-cache"; /* ptxas says nothing of a kept one */
    nvrtc_program program;
    size_t bytes = 0;
    snprintf(target, sizeof target, "--gpu-architecture=%s", arch);
    snprintf(words, sizeof words, "%s", options);
    for (char *rest = words, *word; (word = strtok_r(rest, " ", &rest)) != NULL && count < 40;) list[count++] = word;
    out.error = nvrtc->nvrtcCreateProgram(&program, text, name, 0, NULL, NULL);
    if (out.error != 0) return out;
    out.error = nvrtc->nvrtcCompileProgram(program, count, list);
    nvrtc->nvrtcGetProgramLogSize(program, &bytes);
    if ((out.log = calloc(1, bytes + 1)) != NULL) nvrtc->nvrtcGetProgramLog(program, out.log);
    if (out.error == 0 && nvrtc->nvrtcGetCUBINSize(program, &out.cubin_bytes) == 0 &&
        (out.cubin = malloc(out.cubin_bytes)) != NULL)
        nvrtc->nvrtcGetCUBIN(program, (char *)out.cubin);
    if (out.error == 0 && nvrtc->nvrtcGetPTXSize(program, &bytes) == 0 && (out.ptx = calloc(1, bytes + 1)) != NULL)
        nvrtc->nvrtcGetPTX(program, out.ptx);
    nvrtc->nvrtcDestroyProgram(&program);
    return out;
}

static void compiled_free(compiled *c)
{
    free(c->log);
    free(c->ptx);
    free(c->cubin);
}

/* ---- reading ptxas's log ---- */

typedef struct findings {
    int registers, spilled_bytes, stack_bytes; /* the most of any kernel in it; registers -1: it speaks of none */
    char warning[8];                           /* "C7510" */
} findings;

/* The number before (after) each place where `words` stand: the largest. */
static int number_at(const char *log, const char *words, bool before)
{
    int most = -1;
    for (const char *at = log; (at = strstr(at, words)) != NULL; at++) {
        const char *from = before ? at : at + strlen(words);
        if (before)
            while (from > log && from[-1] >= '0' && from[-1] <= '9') from--;
        if (atoi(from) > most) most = atoi(from);
    }
    return most;
}

static findings read_log(const char *log)
{
    /* "wgmma is serialized", each for a reason of its own; ptxas says "Potential Performance Loss". */
    static const char *const warnings[] = {"C7508", "C7510", "C7511", "C7512", "C7513",
                                           "C7514", "C7515", "C7517", "C7519"};
    int stores = number_at(log, " bytes spill stores", true), loads = number_at(log, " bytes spill loads", true);
    findings found = {.registers = number_at(log, "Used ", false),
                      .spilled_bytes = stores > loads ? stores : loads,
                      .stack_bytes = number_at(log, " bytes stack frame", true)};
    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++)
        if (found.warning[0] == '\0' && strstr(log, warnings[i]) != NULL) strcpy(found.warning, warnings[i]);
    return found;
}

static void planted_cases(void)
{
    static const char quiet[] = "ptxas info    : Compiling entry function 'x' for 'sm_90a'\n"
                                "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                                "ptxas info    : Used 168 registers, used 1 barriers\n";
    static const char loud[] =
        "ptxas info    : Compiling entry function 'x' for 'sm_90a'\n"
        "ptxas         .     96 bytes stack frame, 120 bytes spill stores, 144 bytes spill loads\nptxas info    : Used "
        "255 registers, used 1 barriers\nptxas info    : Function properties for y\nptxas         .     0 bytes stack "
        "frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : (C7510) Potential Performance Loss: "
        "wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline "
        "crossing function boundary in function 'x'\n";
    if (tap_case("a planted log without a fault is read")) {
        findings f = read_log(quiet);
        tap_result(f.registers == 168 && f.spilled_bytes == 0 && f.stack_bytes == 0 && f.warning[0] == '\0',
                   "registers %d, spilled %d, stack %d, %s", f.registers, f.spilled_bytes, f.stack_bytes, f.warning);
    }
    if (tap_case("a planted log with spills and a warning is read")) {
        findings f = read_log(loud);
        tap_result(f.registers == 255 && f.spilled_bytes == 144 && f.stack_bytes == 96 &&
                       strcmp(f.warning, "C7510") == 0,
                   "registers %d, spilled %d, stack %d, %s", f.registers, f.spilled_bytes, f.stack_bytes, f.warning);
    }
    if (tap_case("a log that says nothing is not taken for praise")) {
        findings f = read_log("");
        tap_result(f.registers == -1 && f.spilled_bytes == -1, "registers %d, spilled %d", f.registers,
                   f.spilled_bytes);
    }
}

static void pin_cases(void)
{
    if (tap_case("tools/pins has a version of nvidia-cuda-nvrtc"))
        tap_result(pinned_major > 0, "%s", "there is no line nvidia-cuda-nvrtc==X.Y.Z");
    if (tap_case("the pinned version is judged, another is told"))
        tap_result(strcmp(another_version(pinned_major, pinned_minor), "") == 0 &&
                       strncmp(another_version(pinned_major, pinned_minor + 5), "NVRTC ", 6) == 0 &&
                       strncmp(another_version(pinned_major + 1, pinned_minor), "NVRTC ", 6) == 0,
                   "%d.%d", pinned_major, pinned_minor);
}

/* ---- reading the binary ----
 * An instruction of sm_70 and newer is 16 bytes. Of its first word, bits 0 to 8 are the operation, bits 16 to 23 the
 * register that is written, bits 32 to 39 that of a store's data. Not documented; the counts below would not come out
 * right if it were otherwise. */
enum { FFMA = 0x023, LDG = 0x181, STS = 0x188, BRANCH = 0x147 };

typedef struct code {
    const unsigned char *at;
    int count, sm;
} code;

static uint64_t bytes_at(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | from[i];
    return value;
}

/* A section of a cubin, which is an ELF file of 64 bits. bytes 0: it takes room in memory alone. */
typedef struct section {
    const char *name;
    const unsigned char *at;
    size_t bytes, room;
} section;

static int section_count(const compiled *c)
{
    return c->cubin != NULL && c->cubin_bytes >= 64 ? (int)bytes_at(c->cubin + 60, 2) : 0;
}

static section section_at(const compiled *c, int i)
{
    enum { NOBITS = 8 };
    const unsigned char *elf = c->cubin, *table = elf + bytes_at(elf + 40, 8);
    uint64_t size = bytes_at(elf + 58, 2), names = bytes_at(elf + 62, 2);
    const unsigned char *header = table + (uint64_t)i * size, *strings = elf + bytes_at(table + names * size + 24, 8);
    section found = {.name = (const char *)strings + bytes_at(header, 4), .room = bytes_at(header + 32, 8)};
    if (bytes_at(header + 4, 4) != NOBITS) found.at = elf + bytes_at(header + 24, 8), found.bytes = found.room;
    return found;
}

/* The section .text.<entry>; count 0: not there. */
static code code_of(const compiled *c, const char *entry, int sm)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, ".text.%s", entry);
    for (int i = 0; i < section_count(c); i++) {
        section found = section_at(c, i);
        if (strcmp(found.name, wanted) == 0) return (code){found.at, (int)(found.bytes / 16), sm};
    }
    return (code){0};
}

static int operation(const code *c, int i) { return (int)(bytes_at(c->at + 16 * i, 8) & 0x1ff); }

/* The instruction that a branch leads to. */
static int branch_target(const code *c, int i)
{
    int64_t word = (int64_t)bytes_at(c->at + 16 * i, 8);
    int64_t bytes = c->sm >= 90 ? (word >> 34) * 1024 + (word >> 16 & 0xff) * 4 : word >> 32;
    return i + 1 + (int)(bytes / 16);
}

/* own: instructions of a round that stand in no loop within it. */
typedef struct loop {
    int first, last, own, ffma;
} loop;

static bool in_inner_loop(const code *c, const loop *l, int at)
{
    for (int i = at; i < l->last; i++) {
        int first = operation(c, i) == BRANCH ? branch_target(c, i) : i;
        if (first < i && first > l->first && first <= at) return true;
    }
    return false;
}

/* The loop's own FFMAs among instructions first to last. */
static int own_ffma(const code *c, const loop *l, int first, int last)
{
    int count = 0;
    for (int i = first; i <= last; i++) count += operation(c, i) == FFMA && !in_inner_loop(c, l, i);
    return count;
}

/* The loop with the most FFMAs of its own; of those the shortest. */
static loop main_loop(const code *c)
{
    loop best = {0};
    for (int i = 0; i < c->count; i++) {
        int first = operation(c, i) == BRANCH ? branch_target(c, i) : i;
        if (first < 0 || first >= i) continue;
        loop l = {.first = first, .last = i};
        l.ffma = own_ffma(c, &l, first, i);
        if (l.ffma > best.ffma || (l.ffma == best.ffma && i - first < best.last - best.first)) best = l;
    }
    for (int i = best.first; i <= best.last; i++) best.own += !in_inner_loop(c, &best, i);
    return best;
}

/* Every store into the next tile must follow nearly all FFMAs of the round, and the load that brought its word precede
 * them all. */
static bool order_holds(const code *c, const loop *l, char why[256])
{
    /* one step of k of 16: the scheduler lets the last FFMAs wait for their words of A */
    enum { STORES = 4, MOST_BEHIND = 16 };
    int stores = 0;
    snprintf(why, 256, "the loop has %d FFMAs, expected 256", l->ffma);
    if (l->ffma != 256) return false;
    for (int i = l->first; i <= l->last; i++) {
        if (operation(c, i) != STS) continue;
        uint64_t data = bytes_at(c->at + 16 * i + 4, 1);
        int load = i - 1;
        while (load >= l->first && (operation(c, load) != LDG || c->at[16 * load + 2] != data)) load--;
        int before = load >= l->first ? own_ffma(c, l, l->first, load) : -1, behind = own_ffma(c, l, i, l->last);
        if (before != 0 || behind > MOST_BEHIND) {
            snprintf(why, 256, "a store of R%d: %d FFMAs stand before its load (-1: none found), %d behind it",
                     (int)data, before, behind);
            return false;
        }
        stores++;
    }
    snprintf(why, 256, "%d stores into shared memory in the loop, expected %d", stores, (int)STORES);
    return stores == STORES;
}

/* ---- all kernels ---- */

enum { MOST_OPTIONS = 64 };

/* What the compiler is told for one of a row's plans, and a name for it, however options are spelled; and of wgmma's
 * instructions, as the plan has the operands lie, how each ends. */
typedef struct variant {
    const kernel_row *row; /* of rest_options() */
    char name[80], options[PLAN_OPTIONS_BYTES], wgmma[96];
    int wgmma_n; /* divides this length of the tile */
    bool few_rows;
} variant;

/* A product by which a plan is asked for. */
typedef struct asked {
    int tile, depth, op; /* of tiles[], of depths[]; transposes */
    bool narrow, as_is, own_c, meets, tall, mixed;
} asked;

enum { ASKED = 3 * 3 * 4 * 2 * 2 * 2 * 2 * 2 * 2 };
static const int tiles[] = {16, 8, 32}, none[3], depths[] = {160, 16, 32};

static asked asked_at(int i)
{
    return (asked){i % 3,       i / 3 % 3,   i / 9 % 4,   i / 36 % 2, i / 72 % 2,
                   i / 144 % 2, i / 288 % 2, i / 576 % 2, i / 1152};
}

/* The other type that B may have beside it, if there is one; else the type. */
static tw_dtype partner_of(tw_dtype dtype)
{
    return dtype == TW_I8     ? TW_U8
           : dtype == TW_U8   ? TW_I8
           : dtype == TW_E4M3 ? TW_E5M2
           : dtype == TW_E5M2 ? TW_E4M3
                              : dtype;
}

/* Does this product bring options that no other brings, for a kernel that somebody but a test asks for? */
static bool asks_more(const kernel_row *row, const asked *a)
{
    const int traits = row->gpu.traits;
    if ((a->tile > 0 && !(traits & GPU_SQUARE)) || (a->depth > 0 && !(traits & GPU_SKINNY))) return false;
    if (a->as_is && row->lab.production) return false;
    if (a->mixed && (a->narrow || a->as_is || a->own_c || a->meets || partner_of(row->lab.dtype) == row->lab.dtype))
        return false;
    if (a->tall && row->gpu.family != FAMILY_SWAP_AB && row->gpu.family != FAMILY_THIN) return false;
    if (a->own_c && row->gpu.stores != STORES_ANY) return false;
    return !a->meets || row->gpu.family == FAMILY_SLICED_K || row->gpu.family == FAMILY_WGMMA || row->gpu.clusters;
}

static void name_variant(const kernel_row *row, const asked *a, char name[80])
{
    char tile[16] = "", depth[16] = "";
    if (row->gpu.traits & GPU_SQUARE) snprintf(tile, sizeof tile, "-tile%d", tiles[a->tile]);
    if (row->gpu.traits & GPU_SKINNY) snprintf(depth, sizeof depth, "-k%d", depths[a->depth]);
    snprintf(name, 80, "%c%c-%s%s%s%s%s%s%s%s", "nt"[a->op / 2], "nt"[a->op % 2], a -> narrow ? "narrow" : "wide", tile,
             depth, a->as_is ? "-as-is" : "", a->own_c ? "-own-c" : "", a->meets ? "-meets" : "",
             a->tall ? "-tall" : "", a->mixed ? "-mixed" : "");
}

/* A type of 2 bytes that C may have, if there is one; else the result. */
static tw_dtype narrow_c(tw_dtype dtype)
{
    return dtype == TW_E4M3 || dtype == TW_E5M2  ? TW_BF16
           : dtype == TW_F16 || dtype == TW_BF16 ? dtype
                                                 : dtype_find(dtype)->result;
}

/* How PTX ends the name of wgmma where the operands have the types and lie as this plan has them read: k of a step,
 * types, signs, and of 2 bytes the transposes, which are 1 where lines lie across k. Others are read along k alone. */
static void name_wgmma(const plan *made, variant *v)
{
    const tw_problem *p = &made->problem;
    const bool halves = made->gpu.rest != NULL;
    const dtype_row *types[] = {dtype_find(halves ? TW_F16 : p->dtype), dtype_find(halves            ? TW_F16
                                                                                   : p->dtype_b != 0 ? p->dtype_b
                                                                                                     : p->dtype)};
    const bool across[] = {!halves && (p->op_a == TW_T) != made->gpu.pack_a.transposes,
                           !halves && (p->op_b == TW_N) != made->gpu.pack_b.transposes},
               first = made->gpu.few_rows || strcmp(made->row->lab.rung, "r13b_swapped") == 0,
               integer = types[0]->result == TW_I32;
    const char *names[2];
    char transposes[16] = "";
    for (int i = 0; i < 2; i++) names[i] = types[i]->lab.dtype == TW_I8 ? "s8" : types[i]->lab.name;
    if (types[0]->lab.bytes == 2) snprintf(transposes, sizeof transposes, ", %d, %d", across[first], across[!first]);
    snprintf(v->wgmma, sizeof v->wgmma, "k%d.%s.%s.%s%s%s", 32 / (int)types[0]->lab.bytes, integer ? "s32" : "f32",
             names[first], names[!first], integer ? "" : ", 1, 1", transposes);
    v->few_rows = made->gpu.few_rows;
    v->wgmma_n = (int)(made->row->gpu.family == FAMILY_SWAP_AB || first ? made->row->lab.tile_m
                                                                        : made->row->lab.tile_n);
}

/* Keeps a plan's options, once. */
static void keep(variant found[MOST_OPTIONS], int *count, const kernel_row *row, const asked *a, const plan *made)
{
    for (int j = 0; j < *count; j++)
        if (strcmp(found[j].options, made->gpu.options) == 0) return;
    if (*count == MOST_OPTIONS) abort(); /* one would be forgotten */
    name_variant(row, a, found[*count].name);
    name_wgmma(made, &found[*count]);
    strcpy(found[(*count)++].options, made->gpu.options);
}

static const device_facts hopper = {.engine = "cuda",
                                    .threads = 1,
                                    .sm = 90,
                                    .most_threads = 1024,
                                    .multiprocessors = 132,
                                    .tensor_maps = true,
                                    .local_bytes = 227 << 10,
                                    .l2_bytes = 50 << 20,
                                    .largest_bytes = (int64_t)1 << 36};

/* The options of every plan that this row can have on such a device. */
static int options_of(const kernel_row *row, int sm, variant found[MOST_OPTIONS])
{
    device_facts facts = hopper;
    const int *const choices = row->lab.default_tile > 0 ? tiles : none;
    int count = 0;
    facts.sm = sm, facts.tensor_maps = sm >= 90;
    for (int i = 0; i < ASKED; i++) {
        const asked a = asked_at(i);
        const int64_t n = a.meets ? 4 : 640, m = a.tall ? 2 * n : n,
                      k = !a.meets                          ? depths[a.depth]
                          : row->gpu.family == FAMILY_WGMMA ? 65536
                                                            : 1280;
        tw_problem p = tw_problem_make(row->lab.dtype, (tw_op)(a.op / 2), (tw_op)(a.op % 2), m, n, k);
        tw_lab_choice choice = {.kernel = row->lab.name, .tile = choices[a.tile], .default_build = a.as_is};
        plan made;
        if (!asks_more(row, &a)) continue;
        facts.clusters = a.meets && sm >= 90;
        p.dtype_c = a.own_c ? narrow_c(p.dtype) : dtype_find(p.dtype)->result;
        if (a.mixed) p.dtype_b = partner_of(p.dtype);
        p.align_a = p.align_b = p.align_c = a.narrow ? 4 : 256;
        if (plan_find(&p, &facts, &choice, &made) != TW_OK) continue;
        keep(found, &count, row, &a, &made);
    }
    return count;
}

/* What computes the tiles that emulation leaves, with wide stores and without. */
static int rest_options(variant found[MOST_OPTIONS])
{
    const tw_lab_choice choice = {.kernel = "cuda_f32_sgemm_emulated_sm90_128x128"};
    int count = 0;
    for (int i = 0; i < 2; i++) {
        const asked a = {.op = 2, .narrow = i};
        tw_problem p = tw_problem_make(TW_F32, TW_T, TW_N, 640, 640, 640);
        plan made;
        p.dtype_c = TW_F32, p.align_a = p.align_b = p.align_c = a.narrow ? 4 : 256;
        if (plan_find(&p, &hopper, &choice, &made) != TW_OK) abort();
        variant *v = &found[count++];
        *v = (variant){.row = made.gpu.rest};
        name_variant(made.gpu.rest, &a, v->name);
        strcat(v->name, "-rest");
        strcpy(v->options, made.gpu.rest_options);
    }
    return count;
}

/* Every transpose of a batch's kernel, with wide loads and without, and with each type of C. The rows that take one
 * pair of ops have that, aligned. */
static int batch_options_of(const kernel_row *row, int sm, variant found[MOST_OPTIONS])
{
    int count = 0;
    const device_facts facts = {.engine = "cuda", .sm = sm, .multiprocessors = 1};
    for (int i = 0; i < 32; i++) {
        const asked a = {.op = i % 4, .narrow = i / 4 % 2, .own_c = i / 8 % 2, .mixed = i / 16};
        tw_problem p = tw_problem_make(row->lab.dtype, (tw_op)(a.op / 2), (tw_op)(a.op % 2), 64, 64, 64);
        plan made;
        if (!asks_more(row, &a) || (kernel_reads_along_k(row) && (a.narrow || !kernel_takes_ops(row, &p)))) continue;
        p.align_a = p.align_b = p.align_c = a.narrow ? 4 : 256;
        p.dtype_c = a.own_c ? narrow_c(p.dtype) : dtype_find(p.dtype)->result;
        if (a.mixed) p.dtype_b = partner_of(p.dtype);
        plan_one_launch(&p, &facts, row, &made);
        keep(found, &count, row, &a, &made);
    }
    return count;
}

static bool starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static bool sums_in_registers(const kernel_row *row)
{
    return starts(row->lab.rung, "r05") || starts(row->lab.rung, "r06") || starts(row->lab.rung, "r07");
}

/* A file that no row of the table names. */
static void file_case(const char *file, const char *arch, const char *options)
{
    if (!tap_case("%s %s %s", file, arch, options)) return;
    compiled c = compile(gpu_source(file), file, arch, options);
    tap_result(c.error == 0, "NVRTC's error %d: %.600s", c.error, c.log != NULL ? c.log : "");
    compiled_free(&c);
}

/* Of the options what the plan chose: without what the text has of its row. */
static int own_length(const char *options)
{
    const char *end = strstr(options, " -DROW_");
    return end != NULL ? (int)(end - options) : (int)strlen(options);
}

static void compile_case(const kernel_row *row, const char *file, const char *arch, const variant *v)
{
    const char *options = v->options;
    if (row == NULL) {
        file_case(file, arch, options);
        return;
    }
    if (!tap_case("%s %s %.*s", row->lab.name, arch, own_length(options), options)) return;
    compiled c = compile(gpu_source(row->lab.file), row->lab.file, arch, options);
    const char *log = c.log != NULL ? c.log : "";
    findings f = read_log(log);
    if (c.error != 0)
        tap_result(false, "NVRTC's error %d: %.600s", c.error, log);
    else if (f.registers <= 0 || f.spilled_bytes < 0)
        judge_compiler(false, "the log says nothing of the kernel: %.300s", log);
    else if (f.warning[0] != '\0')
        judge_compiler(false, "%s: wgmma is serialized: %.600s", f.warning, strstr(log, f.warning));
    else {
        judge_compiler(!(row->lab.production && f.spilled_bytes > 0) &&
                           !((row->lab.production || sums_in_registers(row)) && f.stack_bytes > 0),
                       "%d bytes spilled, %d of stack, %d registers", f.spilled_bytes, f.stack_bytes, f.registers);
        printf("# %s: %d registers, %d bytes spilled\n", tap.name, f.registers, f.spilled_bytes);
    }
    compiled_free(&c);
}

/* A rung without transposes, in tiles of 16 where it has a choice, for operands that are not aligned. */
static compiled compile_rung(const char *rung, const char *arch)
{
    static const char plain[] = "-DTILE=16 -DOP_A=0 -DOP_B=0 -DWIDE=0";
    char name[64];
    variant found[MOST_OPTIONS];
    snprintf(name, sizeof name, "cuda_f32_%s", rung);
    const kernel_row *row = kernel_named(name);
    const int count = options_of(row, atoi(arch + 3), found);
    for (int i = 0; i < count; i++)
        if (strncmp(found[i].options, plain, sizeof plain - 1) == 0 && strstr(found[i].options, "DEFAULT") == NULL)
            return compile(gpu_source(row->lab.file), row->lab.file, arch, found[i].options);
    return (compiled){.error = -1};
}

static void binary_cases(const char *arch)
{
    static const char *const rungs[] = {"r04_banks", "r05_outer", "r06_unrolled", "r07_prefetch"};
    static const int ffma[] = {1, 16, 256, 256};
    for (int i = 0; i < 4; i++) {
        char why[256] = "";
        const bool ordered = i == 3; /* r06 loads its tile and stores it at once: the same reading must refuse it */
        if (!tap_case("cuda %s %s binary: %d multiply-adds in its loop%s", rungs[i], arch, ffma[i],
                      ordered  ? ", loads before them and stores behind"
                      : i == 2 ? ", not in that order"
                               : ""))
            continue;
        compiled c = compile_rung(rungs[i], arch);
        code text = code_of(&c, rungs[i], atoi(arch + 3));
        loop l = main_loop(&text);
        if (l.ffma > 0) printf("# %s %s: %d of %d instructions are FFMAs\n", rungs[i], arch, l.ffma, l.own);
        judge_compiler(l.ffma == ffma[i] && (i < 2 || order_holds(&text, &l, why) == ordered), "%d FFMAs; %s", l.ffma,
                       why);
        compiled_free(&c);
    }
}

/* A row that says something else than what its text is for, behind this macro: the text must refuse. */
static void wrong_row_case(const kernel_row *row, const char *arch, const char *options, const char *what,
                           const char *macro, const char *instead)
{
    char wrong[PLAN_OPTIONS_BYTES + 32];
    const char *begin = strstr(options, macro);
    if (begin == NULL || !tap_case("%s %s: a row of %s does not compile", row->lab.name, arch, what)) return;
    const char *rest = begin + strcspn(begin, " ");
    snprintf(wrong, sizeof wrong, "%.*s%s%s%s", (int)(begin - options), options, macro, instead, rest);
    compiled c = compile(gpu_source(row->lab.file), row->lab.file, arch, wrong);
    tap_result(c.error != 0 && c.log != NULL && strstr(c.log, "row in kernels.def") != NULL, "error %d: %.400s",
               c.error, c.log != NULL ? c.log : "");
    compiled_free(&c);
}

/* One row of each file. */
static void wrong_row_cases(const char *arch)
{
    variant found[MOST_OPTIONS];
    const int sm = atoi(arch + 3), rows = kernel_count();
    const char *last = "";
    for (int r = 0; r < rows || kernel_batch_at(r - rows) != NULL; r++) {
        const kernel_row *row = r < rows ? kernel_at(r) : kernel_batch_at(r - rows);
        if (strcmp(row->lab.engine, "cuda") != 0 || row->gpu.sm > sm || strcmp(row->lab.file, last) == 0) continue;
        last = row->lab.file;
        int count = r < rows ? options_of(row, sm, found) : batch_options_of(row, sm, found);
        if (count == 0) continue;
        char half[16], boxes[64];
        snprintf(half, sizeof half, "%d", row->gpu.threads_x / 2);
        snprintf(boxes, sizeof boxes, "%d,%d,%d,%d", row->gpu.a_box_rows, row->gpu.a_box_cols, row->gpu.b_box_rows,
                 row->gpu.b_box_cols / 2);
        wrong_row_case(row, arch, found[0].options, "half the threads", "-DROW_THREADS=", half);
        wrong_row_case(row, arch, found[0].options, "half as wide boxes", "-DROW_BOXES=", boxes);
    }
}

/* Kernels that are known to be bad, so that it is a real log in which the fault is found. */
static void bad_cases(bool knows_hopper)
{
    static const char hungry[] = "extern \"C\" __global__ void hungry(float *p) { float x[96];\n#pragma unroll\n for "
                                 "(int i = 0; i < 96; i++) x[i] = p[i * threadIdx.x]; __syncthreads();\n#pragma "
                                 "unroll\n for (int i = 0; i < 96; i++) p[i] = x[95 - i]; }";
    if (tap_case("a kernel that must spill is found out")) {
        compiled c = compile(hungry, "hungry.cu", "sm_80", "--maxrregcount=32");
        findings f = read_log(c.log != NULL ? c.log : "");
        judge_compiler(c.error == 0 && f.spilled_bytes > 0, "error %d, %d bytes spilled", c.error, f.spilled_bytes);
        compiled_free(&c);
    }
    if (knows_hopper && gpu_source("cuda/ladder/r13_matrix.cu") != NULL &&
        tap_case("a kernel whose wgmma waits for itself is found out")) {
        /* Its sums are touched while it runs. */
        const char *text = gpu_source("cuda/ladder/r13_matrix.cu"), *commit = strstr(text, "matrix_commit();");
        char *bad = malloc(strlen(text) + 64);
        variant found[MOST_OPTIONS];
        compiled c = {.error = -1};
        if (commit != NULL) {
            sprintf(bad, "%.*s sum[3] += 1; %s", (int)(commit - text), text, commit);
            options_of(kernel_named("cuda_bf16_r13_matrix"), 90, found);
            c = compile(bad, "bad.cu", "sm_90a", found[0].options);
        }
        findings f = read_log(c.log != NULL ? c.log : "");
        judge_compiler(c.error == 0 && f.warning[0] != '\0', "error %d, no warning: %.400s", c.error,
                       c.log != NULL ? c.log : "");
        compiled_free(&c);
        free(bad);
    }
}

/* A reader's file through the library's own call: each rung's file as it stands gives code; the exercise's gaps are
 * named before NVRTC sees them. */
static void own_case(const char *path, bool compiles)
{
    user_kernel own;
    tw_lab_code code;
    char why[512] = "", whole[1024];
    if (!tap_case("own %s", path)) return;
    snprintf(whole, sizeof whole, "%s/../%s", TESTS_FOLDER, path);
    tw_status status = user_kernel_read(whole, &own, why, (int)sizeof why);
    if (status != TW_OK || !compiles) {
        tap_result(!compiles && status == TW_BUILD_FAILED &&
                       strstr(why, "r01_naive.cu: line 22: left to fill: GAP_1, ") != NULL,
                   "%s", status == TW_OK ? "nothing is left to fill" : why);
        if (status == TW_OK) user_kernel_free(&own);
        return;
    }
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 64, 64, 64);
    tw_lab_choice choice = {.kernel = own.like->name, .source = &own.source};
    status = tw_lab_code_make(NULL, &choice, &p, 80, 1, &code);
    tap_result(status == TW_OK && strstr(code.bytes, own.entry) != NULL, "%s",
               status == TW_OK ? "another kernel was compiled" : tw_error_text());
    tw_lab_code_free(&code);
    user_kernel_free(&own);
}

/* The kernel counts a narrow tile's units as stream_k_case() of test_plans_gpu has the planner count them: else blocks
 * would wait for ever, on a device. */
static void narrow_case(void)
{
    bool found = false;
    if (!tap_case("sgemm_tma_sm90 counts narrow tiles as the planner does")) return;
    for (const embedded_source *s = embedded_sources; s->file != NULL; s++)
        found = found || (strcmp(s->file, "cuda/sgemm_tma_sm90.cu") == 0 &&
                          strstr(s->text, " RESIDUE = BN == BM ? 32 : 0,\n") != NULL &&
                          strstr(s->text, " FASTER = 3,\n") != NULL);
    tap_result(found, "its RESIDUE and FASTER are not 32 in square tiles and 3");
}

/* ---- every kernel for an architecture ---- */

/* row NULL: a file that no row names. */
typedef void visitor(const kernel_row *row, const char *file, const char *arch, const variant *v);

static void visit_file(const char *file, const char *arch, visitor *visit)
{
    static const variant plain = {.name = "plain"}, half = {.name = "half", .options = "-DELEMENT_BYTES=2"},
                         eight = {.name = "eight", .options = "-DELEMENT_BYTES=8"},
                         rest = {.name = "rest", .options = "-DELEMENT_BYTES=4 -DREST=1"},
                         doubles = {.name = "doubles", .options = "-DREAL_BYTES=8"};
    if (strcmp(file, "cuda/split.cu") == 0 && atoi(arch + 3) < 80) return; /* of a row that newer devices have */
    for (int i = 0; i < kernel_count(); i++)
        if (strcmp(kernel_at(i)->lab.file, file) == 0) return;
    for (int i = 0; kernel_batch_at(i) != NULL; i++)
        if (strcmp(kernel_batch_at(i)->lab.file, file) == 0) return;
    visit(NULL, file, arch, &plain);
    if (strcmp(file, "cuda/pack.cu") == 0)
        visit(NULL, file, arch, &half), visit(NULL, file, arch, &eight), visit(NULL, file, arch, &rest);
    if (strcmp(file, "cuda/complex.cu") == 0) visit(NULL, file, arch, &doubles);
}

static void visit_all(const char *arch, visitor *visit)
{
    variant found[MOST_OPTIONS];
    const int sm = atoi(arch + 3);
    for (int r = 0; r < kernel_count(); r++) {
        const kernel_row *row = kernel_at(r);
        if (row->gpu.entry == NULL || strcmp(row->lab.engine, "cuda") != 0 || row->gpu.sm > sm) continue;
        int count = options_of(row, sm, found);
        for (int i = 0; i < count; i++) visit(row, row->lab.file, arch, &found[i]);
    }
    const int rests = sm >= 90 ? rest_options(found) : 0;
    for (int i = 0; i < rests; i++) visit(found[i].row, found[i].row->lab.file, arch, &found[i]);
    for (int r = 0; kernel_batch_at(r) != NULL; r++) {
        const kernel_row *row = kernel_batch_at(r);
        int count = row->gpu.sm <= sm ? batch_options_of(row, sm, found) : 0;
        for (int i = 0; i < count; i++) visit(row, row->lab.file, arch, &found[i]);
    }
    for (const embedded_source *s = embedded_sources; s->file != NULL; s++)
        if (starts(s->file, "cuda/")) visit_file(s->file, arch, visit);
}

/* ---- which of them are compiled ---- */

/* A kernel's form on an architecture: a row's text with the options of one of its plans. */
typedef struct form {
    const kernel_row *row;
    const char *file, *arch;
    variant variant;
    bool chosen;
} form;

static form *forms;
static int form_count;

static void gather(const kernel_row *row, const char *file, const char *arch, const variant *v)
{
    if (form_count % 1024 == 0 && (forms = realloc(forms, sizeof *forms * (size_t)(form_count + 1024))) == NULL)
        abort();
    forms[form_count++] = (form){row, file, arch, *v, tap.full};
}

enum { MOST_MARKS = 40 };

static uint64_t hashed(uint64_t hash, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash;
}

/* What a form has of its family's: the type, each macro's value, the macros that there are; in production files the
 * architecture, and both ops together but of batches, whose tiles other families share. */
static int marks_of(const form *f, uint64_t marks[MOST_MARKS])
{
    const uint64_t basis = 14695981039346656037u;
    uint64_t names = basis, ops = basis;
    int count = 0;
    const bool rung = f->row != NULL && !f->row->lab.production,
               batch = f->row != NULL && f->row->gpu.family == FAMILY_BATCH;
    marks[count++] = f->row != NULL ? (uint64_t)f->row->lab.dtype : 0;
    if (!rung) marks[count++] = hashed(basis, f->arch, strlen(f->arch));
    for (const char *word = f->variant.options; *word != '\0' && count < MOST_MARKS - 2;) {
        const size_t bytes = strcspn(word, " ");
        marks[count++] = hashed(basis, word, bytes);
        names = hashed(names, word, strcspn(word, "= "));
        if (starts(word, "-DOP_")) ops = hashed(ops, word, bytes);
        word += bytes, word += strspn(word, " ");
    }
    marks[count++] = names;
    if (!rung && !batch) marks[count++] = ops;
    return count;
}

/* Sums of a thread: what takes its registers. */
static int sums_of(const form *f)
{
    const gpu_kernel *g = f->row != NULL ? &f->row->gpu : NULL;
    return g != NULL && g->threads_x > 0 ? (int)(f->row->lab.tile_m * f->row->lab.tile_n) / g->threads_x : 0;
}

/* Of a file's forms first that with the most sums in a thread, then whichever adds most to what those before it have,
 * until all is there. */
static void choose_of(const char *file)
{
    enum { MOST_SEEN = 1024 };
    uint64_t seen[MOST_SEEN], marks[MOST_MARKS];
    int seen_count = 0;
    for (const form *f = forms; f < forms + form_count; f++)
        if (f->chosen && strcmp(f->file, file) == 0) return;
    for (form *best;;) {
        int best_score = 0;
        best = NULL;
        for (form *f = forms; f < forms + form_count; f++) {
            if (strcmp(f->file, file) != 0 || f->chosen) continue;
            int fresh = 0;
            for (int i = 0, count = marks_of(f, marks); i < count; i++) {
                int j = 0;
                while (j < seen_count && seen[j] != marks[i]) j++;
                fresh += j == seen_count;
            }
            const int score = fresh == 0 ? 0 : seen_count == 0 ? 1 + sums_of(f) : 1024 * fresh + sums_of(f);
            if (score > best_score) best = f, best_score = score;
        }
        if (best == NULL) return;
        best->chosen = true;
        for (int i = 0, count = marks_of(best, marks); i < count && seen_count < MOST_SEEN; i++)
            seen[seen_count++] = marks[i];
    }
}

/* ---- wgmma's operands ---- */

/* Puts 1 for "(1 - 0)" and 0 for "(1 - 1)", as ptxas reckons. */
static void reckon(char *text)
{
    for (char *at = text; (at = strstr(at, "(1 - ")) != NULL && at[5] != '\0' && at[6] == ')'; at++) {
        *at = at[5] == '0' ? '1' : '0';
        memmove(at + 1, at + 7, strlen(at + 7) + 1);
    }
}

/* All wgmma of the PTX have the shape, the types and the transposes that the plan asks for. */
static bool wgmma_holds(const char *ptx, const form *f, char why[320])
{
    static const char begin[] = "wgmma.mma_async.sync.aligned.m64n";
    int seen = 0;
    for (const char *at = ptx; (at = strstr(at, begin)) != NULL; seen++) {
        char shape[48] = "", found[128];
        int n = 0;
        at += sizeof begin - 1;
        sscanf(at, "%d%47s", &n, shape);
        const char *tail = strstr(at, ", p");
        snprintf(found, sizeof found, "%s%.*s", shape, tail != NULL ? (int)strcspn(tail + 3, ";") : 0, tail + 3);
        reckon(found);
        if (strcmp(found, f->variant.wgmma) == 0 && n > 0 && f->variant.wgmma_n % n == 0) continue;
        snprintf(why, 320, "an instruction is n%d%s, the plan has %s, %d wide", n, found, f->variant.wgmma,
                 f->variant.wgmma_n);
        return false;
    }
    snprintf(why, 320, "%d instructions were read", seen);
    return seen > 0;
}

/* from NULL: the text as it is; else so changed that it must be refused. */
static void wgmma_case(const form *f, const char *from, const char *to)
{
    char why[320] = "", options[PLAN_OPTIONS_BYTES + 8];
    if (!tap_case("%s %s wgmma %s%s", f->row->lab.name, f->variant.name, f->variant.wgmma,
                  from != NULL ? " swapped" : ""))
        return;
    snprintf(options, sizeof options, "%s -G", f->variant.options); /* not optimised: in a tenth of the time */
    char *text = from == NULL ? strdup(gpu_source(f->file)) : changed_text(gpu_source(f->file), from, to, 1);
    compiled c = text != NULL ? compile(text, f->file, "compute_90a", options) : (compiled){.error = -1};
    const bool holds = c.ptx != NULL && wgmma_holds(c.ptx, f, why);
    tap_result(c.error == 0 && holds == (from == NULL), "error %d; %s", c.error, why);
    compiled_free(&c);
    free(text);
}

/* Each way in which a family's operands lie for wgmma, by the first row that has it. */
static void wgmma_cases(void)
{
    bool planted = false;
    for (const form *f = forms; f < forms + form_count; f++) {
        bool seen = f->row == NULL || strstr(gpu_source(f->file), "matrix_commit();") == NULL;
        for (const form *g = forms; g < f && !seen; g++)
            seen = strcmp(g->file, f->file) == 0 && strcmp(g->variant.wgmma, f->variant.wgmma) == 0 &&
                   g->variant.few_rows == f->variant.few_rows;
        if (seen) continue;
        wgmma_case(f, NULL, NULL);
        if (!planted && strstr(f->variant.wgmma, ", 0, 1") != NULL)
            wgmma_case(f, "MATRIX_TEXT(MATRIX_MN_MAJOR_A)", "MATRIX_TEXT(MATRIX_MN_MAJOR_B)"), planted = true;
    }
}

/* ---- digests ---- */

static int digests_failed;

static int by_text(const void *x, const void *y) { return strcmp(x, y); }

static bool is_code(const section *s) { return starts(s->name, ".text."); }

/* Tables in constant memory, and what globals begin as. Bank 0 has the parameters. */
static bool is_data(const section *s)
{
    return starts(s->name, ".nv.global.init") || (starts(s->name, ".nv.constant") && !starts(s->name, ".nv.constant0"));
}

/* Of the bytes of such sections alone, not of names or order; "-": there are none. */
static size_t digest_of(const compiled *c, bool (*wanted)(const section *s), char hex[65])
{
    char each[16][65];
    int count = 0;
    size_t bytes = 0;
    sha256 sum;
    for (int i = 0; i < section_count(c); i++) {
        section s = section_at(c, i);
        if (!wanted(&s) || s.bytes == 0 || count == 16) continue;
        sha256_init(&sum);
        sha256_add(&sum, s.at, s.bytes);
        sha256_hex(&sum, each[count++]);
        bytes += s.bytes;
    }
    qsort(each, (size_t)count, sizeof each[0], by_text);
    sha256_init(&sum);
    for (int i = 0; i < count; i++) sha256_add(&sum, each[i], 64);
    sha256_hex(&sum, hex);
    if (count == 0) strcpy(hex, "-");
    return bytes;
}

static size_t shared_bytes(const compiled *c)
{
    size_t most = 0;
    for (int i = 0; i < section_count(c); i++) {
        section s = section_at(c, i);
        if (starts(s.name, ".nv.shared.") && s.room > most) most = s.room;
    }
    return most;
}

/* "ROW ARCH VARIANT CODE DATA code BYTES registers N shared BYTES spilled BYTES stack BYTES formerly ROW options ...":
 * the first three name the kernel; options are told, and not to be compared. */
static void print_digest(const kernel_row *row, const char *file, const char *arch, const variant *v)
{
    char code_hex[65], data_hex[65], former[96];
    const char *const name = row != NULL ? row->lab.name : file;
    compiled c = compile(gpu_source(file), file, arch, v->options);
    if (c.error == 0 && c.cubin != NULL) {
        findings f = read_log(c.log != NULL ? c.log : "");
        size_t bytes = digest_of(&c, is_code, code_hex);
        digest_of(&c, is_data, data_hex);
        printf("%s %s %s %.32s %.32s code %zu registers %d shared %zu spilled %d stack %d formerly %s options %s\n",
               name, arch, v->name, code_hex, data_hex, bytes, f.registers, shared_bytes(&c), f.spilled_bytes,
               f.stack_bytes, row != NULL ? former_name(&row->lab, former) : file, v->options);
    } else {
        digests_failed++;
        fprintf(stderr, "%s %s %s: NVRTC's error %d: %.600s\n", name, arch, v->options, c.error,
                c.log != NULL ? c.log : "");
    }
    compiled_free(&c);
}

static int print_digests(char archs[][16], int count, const char *only)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    tap.full = true;
    for (int i = 0; i < count; i++)
        if (only == NULL || strcmp(only, i == 0 && starts(only, "o") ? "oldest" : archs[i]) == 0)
            visit_all(archs[i], print_digest);
    return digests_failed > 0;
}

/* ---- the program ---- */

/* The oldest architecture that NVRTC knows, sm_80 and, where it knows it, sm_90a. */
static int choose_archs(char archs[3][16])
{
    int known[128], all = 0, lowest = 80, count = 0;
    bool knows_hopper = false;
    if (nvrtc->nvrtcGetNumSupportedArchs(&all) != 0 || all > 128 || nvrtc->nvrtcGetSupportedArchs(known) != 0) all = 0;
    for (int i = 0; i < all; i++) {
        if (i == 0 || known[i] < lowest) lowest = known[i];
        knows_hopper = knows_hopper || known[i] == 90;
    }
    if (lowest != 80) snprintf(archs[count++], 16, "sm_%d", lowest);
    strcpy(archs[count++], "sm_80");
    if (knows_hopper) strcpy(archs[count++], "sm_90a");
    return count;
}

int main(int argc, char **argv)
{
    char archs[3][16];
    const bool digesting = argc > 1 && strcmp(argv[1], "--digests") == 0;
    if (!digesting) {
        tap_start(argc, argv);
        read_pin(TESTS_FOLDER "/../tools/pins", &pinned_major, &pinned_minor);
        planted_cases();
        pin_cases();
        narrow_case();
    }
    cu_api_load(); /* reads TILEWRIGHT_NVRTC; whether there is a driver does not matter */
    nvrtc = nvrtc_api_load();
    if (nvrtc == NULL && digesting) {
        fprintf(stderr, "%s\n", tw_error_text());
        return 3;
    }
    if (nvrtc == NULL) {
        if (tap_case("NVRTC compiles every CUDA kernel")) tap_skip(tw_error_text());
        return tap_finish();
    }
    const int count = choose_archs(archs);
    const bool knows_hopper = strcmp(archs[count - 1], "sm_90a") == 0;
    if (digesting) return print_digests(archs, count, argv[2]);
    if (!tap.list) printf("# NVRTC %d.%d, from %s\n", nvrtc->major, nvrtc->minor, archs[0]);
    for (int i = 0; i < count; i++) visit_all(archs[i], gather);
    for (int i = 0; i < form_count; i++) choose_of(forms[i].file);
    for (const form *f = forms; f < forms + form_count; f++)
        if (f->chosen) compile_case(f->row, f->file, f->arch, &f->variant);
    wgmma_cases();
    for (int i = 0; i < count; i++)
        if (i == count - 1 || (tap.full && atoi(archs[i] + 3) >= 80)) binary_cases(archs[i]);
    bad_cases(knows_hopper);
    wrong_row_cases(archs[count - 1]);
    own_case("kernels/cuda/ladder/r04_banks.cu", true);
    own_case("kernels/cuda/ladder/r10_register.cu", true);
    own_case("exercises/r01_naive.cu", false);
    return tap_finish();
}
