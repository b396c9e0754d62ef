/* test_plans.c - what plan_find makes of 2,500 random problems on each of sixteen made-up devices, by digest:
 * tests/plans.digest has one of each device, type and kind of call. A plan is a pure function, so any change of a
 * digest is a change of a plan.
 *
 *   test_plans --dump        every plan, a line each: made before and after a change, the two files show by diff which
 *                            plans moved
 *   test_plans --digests     what tests/plans.digest should hold, for a change that moves plans on purpose
 *
 * Options of the GPU compiler have digests of their own: another spelling of an option is no other plan. */
#include <inttypes.h>

#include "element.h"
#include "former.h"
#include "plan.h"
#include "plan/cpu.h"
#include "support/die.h"
#include "support/tap.h"
#include "tuned.h"

enum { EACH = 2500, DEVICES = 16, H200 = 7, KINDS = 4, LINE = 1024 };
enum { OTHERS = 6, INTEGERS = 12, TYPES = 15 }; /* types from here on */

/* the planner's choice; a row that is named; a batch; with less workspace, or none */
typedef enum kind { FREE, FORCED, BATCH, BARE } kind;
static const char *const kind_names[KINDS] = {"free", "forced", "batch", "bare"};

#define SM_80                                                                                                          \
    {                                                                                                                  \
        .engine = "cuda", .threads = 1, .copies = true, .addresses = true, .sm = 80, .most_threads = 1024,             \
        .multiprocessors = 108, .local_bytes = 166912, .l2_bytes = 41943040, .largest_bytes = (int64_t)40 << 30        \
    }
#define H200_FACTS                                                                                                     \
    {                                                                                                                  \
        .engine = "cuda", .threads = 1, .copies = true, .addresses = true, .sm = 90, .most_threads = 1024,             \
        .multiprocessors = 132, .clusters = true, .tensor_maps = true, .local_bytes = 232448, .l2_bytes = 62914560,    \
        .largest_bytes = (int64_t)140 << 30                                                                            \
    }

static const struct {
    const char *name;
    device_facts facts;
    /* no other type; one of the later types; every type that OpenCL has; integers of 16 bits and more */
    bool f64, others, opencl, integers;
} devices[DEVICES] = {
    {"cpu-base",
     {.engine = "cpu", .features = CPU_base, .threads = 4, .l1_bytes = 32768, .l2_bytes = 262144, .l3_bytes = 8388608}},
    {"cpu-avx2",
     {.engine = "cpu",
      .features = CPU_avx2,
      .threads = 2,
      .l1_bytes = 32768,
      .l2_bytes = 524288,
      .l3_bytes = 33554432}},
    {"cpu-amx",
     {.engine = "cpu",
      .features = CPU_amx,
      .threads = 16,
      .l1_bytes = 49152,
      .l2_bytes = 2097152,
      .l3_bytes = 268435456}},
    {"pocl",
     {.engine = "opencl",
      .threads = 1,
      .copies = true,
      .most_threads = 4096,
      .local_bytes = 2097152,
      .largest_bytes = (int64_t)1 << 32}},
    {"sm_75",
     {.engine = "cuda",
      .threads = 1,
      .copies = true,
      .addresses = true,
      .sm = 75,
      .most_threads = 1024,
      .multiprocessors = 40,
      .local_bytes = 65536,
      .l2_bytes = 4194304,
      .largest_bytes = (int64_t)15 << 30}},
    {"sm_80", SM_80},
    {"h100",
     {.engine = "cuda",
      .threads = 1,
      .copies = true,
      .addresses = true,
      .sm = 90,
      .most_threads = 1024,
      .multiprocessors = 132,
      .clusters = true,
      .tensor_maps = true,
      .local_bytes = 232448,
      .l2_bytes = 52428800,
      .largest_bytes = (int64_t)80 << 30}},
    {"h200", H200_FACTS},
    {"sm_80-f64", SM_80, true},
    {"h200-f64", H200_FACTS, true},
    {"sm_80-others", SM_80, false, true},
    {"h200-others", H200_FACTS, false, true},
    {"opencl-cpu",
     {.engine = "opencl",
      .threads = 1,
      .copies = true,
      .most_threads = 4096,
      .multiprocessors = 6,
      .vector_bytes = 64,
      .local_bytes = 2097152,
      .largest_bytes = (int64_t)1 << 32},
     .opencl = true},
    {"opencl-gpu",
     {.engine = "opencl",
      .threads = 1,
      .copies = true,
      .most_threads = 1024,
      .multiprocessors = 132,
      .local_bytes = 49152,
      .largest_bytes = (int64_t)35 << 30},
     .opencl = true},
    {"opencl-h200",
     {.engine = "opencl",
      .threads = 1,
      .copies = true,
      .addresses = true,
      .sm = 90,
      .most_threads = 1024,
      .multiprocessors = 132,
      .local_bytes = 49152,
      .largest_bytes = (int64_t)35 << 30},
     .opencl = true},
    {"cpu-integers",
     {.engine = "cpu",
      .features = CPU_avx512,
      .threads = 4,
      .l1_bytes = 32768,
      .l2_bytes = 1048576,
      .l3_bytes = 33554432},
     .integers = true},
};

static const struct {
    const char *name;
    tw_dtype a, c, b; /* b 0: as a */
} types[TYPES] = {{"f64", TW_F64, TW_F64},
                  {"f32", TW_F32, TW_F32},
                  {"bf16", TW_BF16, TW_F32},
                  {"bf16-bf16", TW_BF16, TW_BF16},
                  {"f16", TW_F16, TW_F32},
                  {"i8", TW_I8, TW_I32},
                  {"i8-cuda", TW_I8, TW_I32},
                  {"u8-i8", TW_U8, TW_I32, TW_I8},
                  {"tf32", TW_TF32, TW_F32},
                  {"e4m3", TW_E4M3, TW_F32},
                  {"e5m2-e4m3-f16", TW_E5M2, TW_F16, TW_E4M3},
                  {"e4m3-bf16", TW_E4M3, TW_BF16},
                  {"i16", TW_I16, TW_I16},
                  {"i32", TW_I32, TW_I32},
                  {"i64", TW_I64, TW_I64}};

/* ---- a problem from its number ---- */

/* Each power of two as likely as the next, up to 2^16; every fourth length is a multiple of 16, every fourth of those
 * one beside. */
static int64_t draw_length(die *d)
{
    int64_t power = roll(d, 17), any = ((int64_t)1 << power) + roll(d, (int64_t)1 << power), near = roll(d, 16);
    return near < 3 ? (any + 15) / 16 * 16 : near == 3 ? (any + 15) / 16 * 16 + roll(d, 3) - 1 : any;
}

static int64_t draw_pad(die *d) { return roll(d, 2) ? 0 : roll(d, 2) ? 8 * roll(d, 9) : roll(d, 40); }

static tw_problem draw_problem(die *d, int type, bool in_device_memory)
{
    static const double betas[] = {0, 0, 1, -0.5};
    int64_t op_a = roll(d, 2), op_b = roll(d, 2), m = draw_length(d), n = draw_length(d), k = draw_length(d);
    tw_problem p = tw_problem_make(types[type].a, (tw_op)op_a, (tw_op)op_b, m, n, k);
    p.dtype_b = types[type].b, p.dtype_c = types[type].c;
    p.beta = element_of(types[type].c)->integer ? (double)roll(d, 2) : betas[roll(d, 4)];
    p.lda += draw_pad(d), p.ldb += draw_pad(d), p.ldc += draw_pad(d);
    p.align_a = (uint32_t)8 << roll(d, 6), p.align_b = (uint32_t)8 << roll(d, 6), p.align_c = (uint32_t)8 << roll(d, 6);
    if (roll(d, 2)) p.align_a = p.align_b = p.align_c = 256;
    if (in_device_memory) p.place_a = p.place_b = p.place_c = TW_DEVICE;
    return p;
}

static tw_batch draw_batch(die *d, const tw_problem *p)
{
    tw_batch batch = tw_batch_make(p, 1 + roll(d, (int64_t)1 << (1 + roll(d, 12))));
    int64_t form = roll(d, 4);
    if (form == 0) batch.pointers = 1, batch.stride_a = batch.stride_b = batch.stride_c = 0;
    if (form == 1) batch.stride_a = 0;
    if (form == 2) batch.stride_b = 0;
    return batch;
}

/* A row of this device's engine and type, each as likely as the next; NULL where there is none. */
static const char *draw_row(die *d, const char *engine, tw_dtype dtype)
{
    const char *drawn = NULL;
    int64_t found = 0;
    for (int i = 0; i < kernel_count(); i++) {
        const kernel_row *row = kernel_at(i);
        if (row->lab.dtype == dtype && strcmp(row->lab.engine, engine) == 0 && roll(d, ++found) == 0)
            drawn = row->lab.name;
    }
    return drawn;
}

/* ---- a plan as a line ---- */

static int packing_line(char *text, size_t bytes, const packing *p)
{
    return snprintf(text, bytes, " (%d %d %" PRId64 "x%" PRId64 " %" PRId64 " %" PRId64 ")", p->needed, p->transposes,
                    p->rows, p->cols, p->ld, p->bytes);
}

static void plan_as_line(const plan *x, char text[LINE])
{
    char name[96];
    int used = snprintf(text, LINE, "%s tile %d threads %d workspace %zu", former_name(&x->row->lab, name), x->tile,
                        x->threads, x->workspace_bytes);
    char *at = text + used;
    size_t room = (size_t)(LINE - used);
    if (x->row->gpu.entry == NULL) {
        snprintf(
            at, room,
            " strip %" PRId64 "x%" PRId64 " kc %" PRId64 " task %" PRId64 "x%" PRId64 " piece %" PRId64
            " direct %d%d streams %d line %d ahead %d place %d once %d near %" PRId64 " %" PRId64 " %" PRId64
            " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d bytes %zu %zu %zu batch %d %" PRId64 " %zu %zu %zu",
            x->cpu.macro_m, x->cpu.macro_n, x->cpu.kc, x->cpu.task_m, x->cpu.task_n, x->cpu.k_step, x->cpu.direct_a,
            x->cpu.direct_b, x->cpu.small_m, x->cpu.gemv, x->cpu.packs_ahead, x->cpu.unpacked, x->at_once,
            x->cpu.unpacked_shape.m, x->cpu.unpacked_shape.n, x->cpu.unpacked_shape.k, x->cpu.unpacked_shape.a_rs,
            x->cpu.unpacked_shape.a_cs, x->cpu.unpacked_shape.b_rs, x->cpu.unpacked_shape.ldc,
            x->cpu.unpacked_shape.transposed, x->cpu.a_bytes, x->cpu.b_bytes, x->cpu.sum_bytes, x->cpu.together,
            x->cpu.part_m, x->cpu.all_a_bytes, x->cpu.all_b_bytes, x->cpu.each_bytes);
        used += (int)strlen(at), at = text + used, room = (size_t)(LINE - used);
        if (x->cpu.divided || x->cpu.total_bytes > 0)
            snprintf(at, room, " chunk %" PRId64 " shares %d %" PRId64 "x%" PRId64 " sets %d bytes %zu %zu",
                     x->cpu.chunk, x->cpu.divided, x->cpu.share_m, x->cpu.share_n, x->cpu.block_sets,
                     x->cpu.chunk_bytes, x->cpu.total_bytes);
        return;
    }
    used = snprintf(at, room,
                    " grid %" PRId64 "x%" PRId64 " block %" PRId64 "x%" PRId64
                    " of %dx%d shared %d once %d cut %" PRId64 " turns %d few %d shares %" PRId64 " %" PRId64
                    " %" PRId64 " %" PRId64 " %" PRId64 " %d",
                    x->gpu.grid_x, x->gpu.grid_y, x->gpu.block_m, x->gpu.block_n, x->gpu.threads_x, x->gpu.threads_y,
                    x->gpu.dynamic_bytes, x->gpu.one_launch, x->gpu.cut, x->gpu.transposes_b, x->gpu.few_rows,
                    x->gpu.k_split.whole, x->gpu.k_split.count, x->gpu.k_split.length, x->gpu.k_split.bytes,
                    x->gpu.k_split.splits, x->gpu.k_split.by_cluster);
    used += packing_line(at + used, room - (size_t)used, &x->gpu.pack_a);
    packing_line(at + used, room - (size_t)used, &x->gpu.pack_b);
}

/* With the committed tuned rows, read once, not for each plan. */
static device_facts facts_of(int device)
{
    static tuned_table *tables[DEVICES];
    device_facts facts = devices[device].facts;
    if (tables[device] == NULL) tables[device] = tuned_table_make(&facts, NULL, 0);
    facts.tuned = tables[device];
    return facts;
}

enum { MOST_STRATEGIES = 16 };
static int plans_of[MOST_STRATEGIES];

static void count_strategy(const plan *made, const device_facts *facts)
{
    cpu_case c;
    cpu_look(&c, &made->problem, made->row, facts, 0);
    const cpu_strategy *taken = cpu_strategy_of(&c);
    for (int i = 0; i < MOST_STRATEGIES && cpu_strategy_at(i) != NULL; i++) plans_of[i] += cpu_strategy_at(i) == taken;
}

static int without, differ; /* plans that need no workspace, and where having none chose another */

/* Who was told that a product needs no workspace gets the plan that said so. */
static void compare_without(const plan *made, const tw_problem *p, const device_facts *facts)
{
    device_facts usual = *facts;
    plan told = {0};
    usual.no_workspace = false;
    if (made->row->gpu.entry == NULL || plan_find(p, &usual, NULL, &told) != TW_OK || told.workspace_bytes > 0) return;
    without++;
    differ += told.row != made->row || told.gpu.grid_x != made->gpu.grid_x ||
              told.gpu.k_split.length != made->gpu.k_split.length;
}

/* Plans with TW_INVARIANT; and those that divide k, or take a kernel that docs/ACCURACY.md does not name. */
static int invariant_plans, unkept;
static const char *const invariant_kernels[] = {"sgemm_simt",     "sgemm_cpasync_sm80", "sgemm_tma_sm90",
                                                "dgemm_mma_sm80", "gemm_wgmma_sm90",    "gemm_swapab_sm90"};

static void check_invariant(const tw_problem *p, const device_facts *facts)
{
    tw_problem keeps = *p;
    plan made = {0};
    keeps.flags |= TW_INVARIANT;
    if (plan_find(&keeps, facts, NULL, &made) != TW_OK || made.row->gpu.entry == NULL) return;
    if (dtype_is_integer(p->dtype)) return;
    bool named = false;
    for (size_t i = 0; i < sizeof invariant_kernels / sizeof *invariant_kernels; i++)
        named = named || strncmp(made.row->lab.rung, invariant_kernels[i], strlen(invariant_kernels[i])) == 0;
    const bool divides = made.gpu.k_split.count > 0 || made.gpu.k_split.splits > 1,
               not_fp8 = p->dtype != TW_E4M3 && p->dtype != TW_E5M2;
    invariant_plans++;
    unkept += divides || !named || !not_fp8 || strcmp(facts->engine, "cuda") != 0;
}

/* The plan of problem `number` of a device: as a line, the compiler's options in another. */
static kind plan_of(int device, int64_t number, int *type, char text[LINE], char options[PLAN_OPTIONS_BYTES])
{
    device_facts facts = facts_of(device);
    die d = {.seed = element_mix((uint64_t)device, (uint64_t)number)};
    /* cpu, opencl, cuda; C in bf16 below */
    static const int of_engine[3][4] = {{0, 1, 2, 5}, {1, 1, 1, 1}, {1, 1, 2, 4}};
    bool cuda = strcmp(facts.engine, "cuda") == 0;
    *type = of_engine[cuda ? 2 : strcmp(facts.engine, "opencl") == 0][roll(&d, 4)];
    if (cuda && types[*type].a == TW_BF16 && roll(&d, 4) == 0) *type = 3;
    if (devices[device].f64) *type = 0;
    if (devices[device].others) *type = OTHERS + (int)roll(&d, INTEGERS - OTHERS);
    if (devices[device].integers) *type = INTEGERS + (int)roll(&d, TYPES - INTEGERS);
    if (devices[device].opencl) *type = (int)roll(&d, OTHERS);
    kind asked = roll(&d, 2) ? FREE : (kind)(1 + roll(&d, KINDS - 1));
    tw_problem user = draw_problem(&d, *type, cuda && roll(&d, 2)), p;
    tw_batch batch = draw_batch(&d, &user);
    tw_lab_choice choice = {.kernel = asked == FORCED ? draw_row(&d, facts.engine, user.dtype) : NULL,
                            .threads = asked == FORCED ? (int)roll(&d, 4) : 0};
    facts.no_workspace = asked == BARE;
    plan made = {0};
    tw_status status = problem_load(&user, (void *)(uintptr_t)user.align_a, (void *)(uintptr_t)user.align_b,
                                    (void *)(uintptr_t)user.align_c, &p);
    if (status == TW_OK)
        status = asked == BATCH ? plan_find_batch(&p, &batch, &facts, &made)
                                : plan_find(&p, &facts, asked == FORCED ? &choice : NULL, &made);
    if (status == TW_OK && asked == FREE && made.row->micro != NULL) count_strategy(&made, &facts);
    if (status == TW_OK && (asked == BARE || asked == FREE)) check_invariant(&p, &facts);
    if (status == TW_OK && asked == BARE) compare_without(&made, &p, &facts);
    bool shrinks = status == TW_OK && asked == BARE && made.row->micro != NULL;
    while (shrinks && roll(&d, 2) && plan_shrink(&made)) continue;
    options[0] = '\0';
    if (status != TW_OK)
        snprintf(text, LINE, "%s", tw_status_name(status));
    else
        plan_as_line(&made, text);
    if (status == TW_OK && made.row->gpu.entry != NULL)
        snprintf(options, PLAN_OPTIONS_BYTES, "%.*s", made.gpu.own_options, made.gpu.options);
    return asked;
}

/* ---- digests ---- */

typedef struct digest {
    int plans;
    uint64_t plan, options; /* FNV-1a of the lines in their order */
} digest;

static digest digests[DEVICES][TYPES][KINDS];

static uint64_t fnv(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (hash ^ '\n') * UINT64_C(0x100000001b3);
}

static void make_digests(bool dump)
{
    char text[LINE], options[PLAN_OPTIONS_BYTES];
    for (int device = 0; device < DEVICES; device++)
        for (int64_t number = 0; number < EACH; number++) {
            int type;
            kind asked = plan_of(device, number, &type, text, options);
            digest *d = &digests[device][type][asked];
            if (d->plans++ == 0) d->plan = d->options = UINT64_C(0xcbf29ce484222325);
            d->plan = fnv(d->plan, text), d->options = fnv(d->options, options);
            if (dump)
                printf("%s %s %s %" PRId64 ": %s %s\n", devices[device].name, types[type].name, kind_names[asked],
                       number, text, options);
        }
}

static void print_digests(void)
{
    for (int i = 0; i < DEVICES * TYPES * KINDS; i++) {
        int device = i / KINDS / TYPES, type = i / KINDS % TYPES, asked = i % KINDS;
        const digest *d = &digests[device][type][asked];
        if (d->plans > 0)
            printf("%s %s %s %d %016" PRIx64 " %016" PRIx64 "\n", devices[device].name, types[type].name,
                   kind_names[asked], d->plans, d->plan, d->options);
    }
}

#if defined(__x86_64__)
/* A case for each line of the file, and one for what it lacks. */
static void compare(FILE *file)
{
    char line[200], device_name[24], type_name[24], kind_name[24];
    int plans, expected = 0, made = 0;
    uint64_t plan_digest, options_digest;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%23s %23s %23s %d %" SCNx64 " %" SCNx64, device_name, type_name, kind_name, &plans,
                   &plan_digest, &options_digest) != 6)
            continue;
        expected += plans;
        if (!tap_case("plans of %s, %s, %s", device_name, type_name, kind_name)) continue;
        const digest *d = NULL;
        for (int i = 0; i < DEVICES * TYPES * KINDS; i++)
            if (strcmp(devices[i / KINDS / TYPES].name, device_name) == 0 &&
                strcmp(types[i / KINDS % TYPES].name, type_name) == 0 && strcmp(kind_names[i % KINDS], kind_name) == 0)
                d = &digests[i / KINDS / TYPES][i / KINDS % TYPES][i % KINDS];
        tap_result(d != NULL && d->plans == plans && d->plan == plan_digest && d->options == options_digest,
                   "%s moved: test_plans --dump of the old build and of this one, and diff, show which",
                   d != NULL && d->plan == plan_digest ? "options" : "plans");
    }
    for (int i = 0; i < DEVICES * TYPES * KINDS; i++)
        made += digests[i / KINDS / TYPES][i / KINDS % TYPES][i % KINDS].plans;
    if (tap_case("plans.digest holds every plan"))
        tap_result(expected == made, "it holds %d, %d were made", expected, made);
}
#endif

/* Items 2^40 bytes apart are beyond what a tensor map holds: another row must take the batch. */
static void far_batches(void)
{
    static const char *const far_names[] = {"none", "a", "b", "c"};
    const device_facts *h200 = &devices[H200].facts;
    for (int far = 0; far < 4; far++) {
        if (!tap_case("a batch of h200 by boxes, 2^40 bytes apart: %s", far_names[far])) continue;
        tw_problem user = tw_problem_make(TW_F32, TW_N, TW_N, 128, 128, 128), p;
        const int64_t apart = (int64_t)1 << 38;
        plan made = {0};
        user.place_a = user.place_b = user.place_c = TW_DEVICE, user.align_a = user.align_b = user.align_c = 256;
        tw_batch batch = tw_batch_make(&user, 16);
        if (far > 0) *(far == 1 ? &batch.stride_a : far == 2 ? &batch.stride_b : &batch.stride_c) = apart;
        tw_status status = problem_load(&user, (void *)256, (void *)256, (void *)256, &p);
        if (status == TW_OK) status = plan_find_batch(&p, &batch, h200, &made);
        bool boxes = status == TW_OK && kernel_by_tma(made.row);
        tap_result(status == TW_OK && boxes == (far == 0), "%s",
                   status == TW_OK ? made.row->lab.name : tw_error_text());
    }
}

int main(int argc, char **argv)
{
    bool dump = argc > 1 && strcmp(argv[1], "--dump") == 0, print = argc > 1 && strcmp(argv[1], "--digests") == 0;
    if (!dump && !print) tap_start(argc, argv);
    if (!tap.list) make_digests(dump);
    if (print) print_digests();
    if (dump || print) return 0;
#if defined(__x86_64__)
    FILE *file = fopen(TESTS_FOLDER "/plans.digest", "r");
    if (file == NULL) {
        printf("Bail out! %s cannot be opened\n", TESTS_FOLDER "/plans.digest");
        return 1;
    }
    compare(file);
    fclose(file);
    for (int i = 0; cpu_strategy_at(i) != NULL; i++)
        if (tap_case("some plan of a CPU is made by: %s", cpu_strategy_at(i)->name))
            tap_result(plans_of[i] > 0, "no random problem is");
    if (tap_case("who is told of 0 bytes of workspace gets that plan"))
        tap_result(without > 0 && differ == 0, "%d of %d differ", differ, without);
    if (tap_case("with TW_INVARIANT k is not divided, and kernels give the same bits"))
        tap_result(invariant_plans > 0 && unkept == 0, "%d of %d do otherwise", unkept, invariant_plans);
#else
    if (tap_case("plans")) tap_skip("the digests are of x86-64's rows");
#endif
    far_batches();
    return tap_finish();
}
