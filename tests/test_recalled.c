/* test_recalled.c - a product right after others that differ in one field, plans that are kept, and workspaces: none is
 * taken for another's. */
#include "engines/cpu/cpu_engine.h"
#include "integers.h"
#include "plan.h"
#include "support/expect.h"
#include "support/tap.h"
#include "tilewright_lab.h"

#include <math.h>
#include <stdlib.h>

/* A product that is computed at once after another one of the same thread, which differs from it in one field. */
typedef struct recalled {
    const char *what;
    int64_t m, n, k;
    tw_op op_a, op_b;
    double beta;
    int threads;
} recalled;

enum { FIELDS = 13 };

/* The problem with field number `field` changed, and nothing else. */
static const char *change_field(tw_problem *p, int field)
{
    switch (field) {
    case 0: p->m++; return "m";
    case 1: p->n++; return "n";
    case 2: p->k++; return "k";
    case 3: p->lda++; return "lda";
    case 4: p->ldb++; return "ldb";
    case 5: p->ldc++; return "ldc";
    case 6: p->op_a = p->op_a == TW_N ? TW_T : TW_N; return "op_a";
    case 7: p->op_b = p->op_b == TW_N ? TW_T : TW_N; return "op_b";
    case 8: p->alpha = p->dtype == TW_F64 || p->dtype == TW_I8 ? 0x1p24 + 1 : 3; return "alpha";
    case 9: p->beta = p->beta == 0 ? p->dtype == TW_F64 ? 0x1p25 + 3 : -2 : 0; return "beta";
    case 10: p->dtype = p->dtype == TW_F64 ? TW_F32 : TW_F64; return "dtype";
    case 11: p->dtype = TW_BF16; return "dtype, to bf16,"; /* whose C is of f32 too */
    default: p->dtype_b = p->dtype == TW_I8 ? TW_U8 : p->dtype; return "dtype_b";
    }
}

static bool computed_right(tw_context *context, integers *x)
{
    char text[200];
    if (tw_gemm(context, &x->problem, x->a, x->b, x->c) != TW_OK) return false;
    return integers_judge(x, text, sizeof text);
}

static void recalled_case(const recalled *r, tw_dtype dtype, tw_context *context)
{
    for (int field = 0; field < FIELDS; field++) {
        /* Rows so far apart that the leading dimensions fit transposed operands too. */
        tw_problem first = tw_problem_make(dtype, r->op_a, r->op_b, r->m, r->n, r->k), second;
        first.lda = first.ldb = first.ldc = r->m + r->n + r->k + 1, first.beta = r->beta;
        second = first;
        const char *name = change_field(&second, field);
        if (!(tap_brings("%s", r->what) | tap_brings("%s, %d threads", name, r->threads))) continue;
        if (!tap_case("again: %s of %s, %s changed alone", r->what, tw_lab_dtype_of(dtype)->name, name)) continue;
        integers x = {0}, y = {0};
        bool right = integers_make(&first, NULL, 1, &x) == TW_OK && integers_make(&second, NULL, 2, &y) == TW_OK;
        for (int i = 0; right && i < 3; i++)
            right = computed_right(context, &x) && computed_right(context, &x) && computed_right(context, &y);
        tap_result(right, "one was computed as the other: %s", tw_error_text());
        integers_free(&x), integers_free(&y);
    }
}

/* Behind the same product with an epilogue, which is freed by then. */
static void recalled_by_epilogue(const recalled *r, tw_dtype dtype, tw_context *context)
{
    tw_problem plain = tw_problem_make(dtype, r->op_a, r->op_b, r->m, r->n, r->k), finished;
    if (!(tap_brings("epilogue, %s", r->what) | tap_brings("epilogue, %d threads", r->threads))) return;
    if (!tap_case("again: %s of %s, behind one with an epilogue", r->what, tw_lab_dtype_of(dtype)->name)) return;
    integers x = {0};
    plain.beta = r->beta, plain.dtype_c = dtype; /* 0: not recalled where the plan finishes C */
    double *c = calloc((size_t)(r->m * r->n), sizeof *c);
    bool right = c != NULL && integers_make(&plain, NULL, 1, &x) == TW_OK;
    for (int i = 0; right && i < 2; i++) {
        tw_epilogue *e = NULL;
        right = tw_epilogue_make("acc + 1", NULL, 0, &e) == TW_OK;
        finished = plain, finished.epilogue = e;
        right = right && tw_gemm(context, &finished, x.a, x.b, c) == TW_OK;
        tw_epilogue_free(e);
        right = right && computed_right(context, &x);
    }
    tap_result(right, "one was computed as the other: %s", tw_error_text());
    free(c), integers_free(&x);
}

/* Two contexts on one thread, in turns: each has its own plan, whose kernel another processor's instructions round
 * otherwise. */
static void recalled_by_context(void)
{
    enum { SIDE = 9 };
    const tw_options base = {.size = sizeof base, .engine = "cpu", .instruction_set = "base", .threads = 1},
                     best = {.size = sizeof best, .engine = "cpu", .threads = 1};
    tw_context *context[2] = {NULL, NULL};
    float x[SIDE * SIDE], y[SIDE * SIDE], made[4][SIDE * SIDE];
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, SIDE, SIDE, SIDE),
               other = tw_problem_make(TW_F32, TW_N, TW_N, 2, 2, 2);
    if (!tap_case("again: another context of the same thread")) return;
    bool right = tw_open(&base, &context[0]) == TW_OK && tw_open(&best, &context[1]) == TW_OK;
    for (int i = 0; i < SIDE * SIDE; i++) x[i] = 1.0f / (float)(i + 3), y[i] = 1.0f / (float)(2 * i + 7);
    for (int i = 0; i < 4; i++) /* the first of each behind another shape, whose plan is none for it */
        right = right && (i > 1 || tw_gemm(context[i], &other, x, y, made[3]) == TW_OK) &&
                tw_gemm(context[i % 2], &p, x, y, made[i]) == TW_OK;
    right = right && memcmp(made[0], made[2], sizeof made[0]) == 0 && memcmp(made[1], made[3], sizeof made[1]) == 0;
    bool differ = memcmp(made[0], made[1], sizeof made[0]) != 0;
    tw_close(context[0]), tw_close(context[1]);
    if (right && !differ)
        tap_skip("all instructions of this processor round this product alike");
    else
        tap_result(right, "one was computed by the other's kernel");
}

/* Unpacked, transposed, GEMV: by one thread and by two, from the plan that was kept; and packed, whose plan is found
 * again. */
static void recalled_cases(void)
{
    static const recalled all[] = {
        {"a small product", 9, 17, 11, TW_N, TW_N, 0, 1},
        {"a small sum", 9, 17, 11, TW_N, TW_N, 1, 1},
        {"a transposed product", 9, 17, 11, TW_T, TW_T, 0, 1},
        {"one row", 1, 40, 21, TW_N, TW_N, 0, 1},
        {"one column", 40, 1, 21, TW_T, TW_N, 2, 1},
        {"a product of two threads", 100, 90, 110, TW_N, TW_N, 0, 2},
        {"a transposed product of two threads", 100, 90, 110, TW_T, TW_T, 0, 2},
        {"one row of two threads", 1, 900, 1200, TW_N, TW_N, 1, 2},
        {"a wide product of 16 threads", 17, 1000, 64, TW_N, TW_N, 0, 16},
        {"a packed product of two threads", 100, 90, 110, TW_N, TW_T, 1, 2},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tw_context *context = NULL;
        const tw_options options = {.size = sizeof options, .engine = "cpu", .threads = all[i].threads};
        if (tw_open(&options, &context) != TW_OK) expect("a context of some threads", false);
        recalled_case(&all[i], TW_F32, context), recalled_case(&all[i], TW_F64, context);
        recalled_case(&all[i], TW_I8, context);
        recalled_by_epilogue(&all[i], TW_F32, context), recalled_by_epilogue(&all[i], TW_F64, context);
        tw_close(context);
    }
    recalled_by_context();
}

/* Is the plan for a context, which may be a kept one, what would be made without any? */
static bool as_made_anew(const tw_problem *p, device_facts device, uint64_t context)
{
    char kept_text[256], made_text[256];
    plan kept, made;
    if (plan_find(p, &device, NULL, &made) != TW_OK) return false;
    device.context = context;
    if (plan_find(p, &device, NULL, &kept) != TW_OK) return false;
    plan_text(&kept, kept_text, sizeof kept_text);
    plan_text(&made, made_text, sizeof made_text);
    bool same = memcmp(&kept.problem, p, sizeof *p) == 0 && kept.row == made.row && strcmp(kept_text, made_text) == 0;
    return same && (made.row->gpu.entry != NULL ? strcmp(kept.gpu.options, made.gpu.options) == 0
                                                : kept.cpu.sum_bytes == made.cpu.sum_bytes);
}

/* Every problem after every other, on every device after every other. */
static void kept_plans(void)
{
    static const device_facts devices[] = {
        {.engine = "cpu", .features = CPU_base, .threads = 4, .l1_bytes = 32768, .l2_bytes = 524288},
        {.engine = "cpu", .features = CPU_avx2, .threads = 2, .l1_bytes = 32768, .l2_bytes = 524288},
        {.engine = "cuda",
         .threads = 1,
         .copies = true,
         .sm = 80,
         .most_threads = 1024,
         .multiprocessors = 108,
         .local_bytes = 166912,
         .largest_bytes = 1 << 30},
        {.engine = "cuda",
         .threads = 1,
         .copies = true,
         .sm = 80,
         .most_threads = 1024,
         .multiprocessors = 108,
         .local_bytes = 166912,
         .largest_bytes = 1 << 30,
         .no_workspace = true}, /* of the same context as the last */
    };
    static const uint64_t contexts[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2, UINT64_MAX - 2};
    enum { PROBLEMS = 15 };
    tw_problem base = tw_problem_make(TW_F32, TW_N, TW_N, 600, 512, 512), problems[PROBLEMS];
    base.dtype_c = TW_F32, base.align_a = base.align_b = base.align_c = 256;
    for (int i = 0; i < PROBLEMS; i++) problems[i] = base;
    problems[1].m = 700, problems[2].n = 500, problems[3].k = 500, problems[4].lda = 513, problems[5].ldb = 514,
    problems[6].ldc = 515;
    problems[7].alpha = 3, problems[8].beta = 1, problems[9].op_a = TW_T, problems[9].lda = 600,
    problems[10].op_b = TW_T;
    problems[11].align_a = 4, problems[12].align_b = 4, problems[13].align_c = 4;
    /* split-K: workspace */
    problems[14] = tw_problem_make(TW_F32, TW_N, TW_N, 64, 64, 20000), problems[14].dtype_c = TW_F32;
    bool same = true;
    /* no memory but its own: nothing for sanitizers */
    if (tap_spares() || !tap_case("plans that are kept are those that would be made")) return;
    for (int i = 0; i < PROBLEMS * PROBLEMS; i++)
        for (int d = 0; d < 4 * 4; d++)
            same = same && as_made_anew(&problems[i % PROBLEMS], devices[d % 4], contexts[d % 4]) &&
                   as_made_anew(&problems[i / PROBLEMS], devices[d / 4], contexts[d / 4]);
    const device_facts sm_90 = {.engine = "cuda",
                                .threads = 1,
                                .copies = true,
                                .sm = 90,
                                .most_threads = 1024,
                                .multiprocessors = 132,
                                .tensor_maps = true,
                                .local_bytes = 227 << 10,
                                .largest_bytes = 1 << 30};
    for (int i = 0; i < 3; i++) { /* C in f32 and in the operands' type */
        base.dtype = TW_BF16, base.dtype_c = i % 2 ? TW_BF16 : TW_F32;
        same = same && as_made_anew(&base, sm_90, UINT64_MAX - 3);
    }
    tap_result(same, "one was another's");
}

/* Several threads pack B where C is not read and its rows are not aligned: the plan for the one is none for the other.
 * One thread's plan serves both. */
static void kept_by_beta(void)
{
    bool right = true;
    if (!tap_case("a plan of several threads is recalled for a C that is read, or is not, as it was made")) return;
    for (int threads = 1; threads <= 16; threads *= 16)
        for (int beta = 0; beta < 2; beta++) {
            const device_facts device = {.engine = "cpu",
                                         .features = CPU_avx512,
                                         .threads = threads,
                                         .l1_bytes = 49152,
                                         .l2_bytes = 2097152,
                                         .context = UINT64_MAX - 4};
            tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 100, 200, 96), user = p;
            plan made;
            p.dtype_c = TW_F32, p.beta = beta;
            right = right && plan_find(&p, &device, NULL, &made) == TW_OK && made.in_place && made.threads == threads &&
                    made.at_once == (threads == 1);
            for (int other = 0; other < 2; other++) {
                user.beta = other;
                right = right && (plan_recall(&user, device.context) != NULL) == (threads == 1 || other == beta);
            }
        }
    tap_result(right, "it was, or was not");
}

/* ---- workspaces that an engine keeps ---- */

/* Memory of the engine with one byte at both ends and in each page. */
typedef struct taken {
    unsigned char *memory;
    size_t bytes;
    unsigned char byte;
} taken;

enum { END = 128, PAGE = 4096 };

static size_t next_place(size_t at, size_t bytes)
{
    const bool inside = at >= END && at + END < bytes;
    return !inside ? at + 1 : at + PAGE + END < bytes ? at + PAGE : bytes - END;
}

static bool take(engine *e, size_t bytes, int byte, taken *out)
{
    *out = (taken){cpu_take(e, bytes), bytes, (unsigned char)byte};
    for (size_t i = 0; out->memory != NULL && i < bytes; i = next_place(i, bytes)) out->memory[i] = out->byte;
    return out->memory != NULL && (uintptr_t)out->memory % 64 == 0;
}

/* False: another one has written here. */
static bool give(engine *e, taken *x)
{
    bool whole = true;
    for (size_t i = 0; i < x->bytes; i = next_place(i, x->bytes)) whole = whole && x->memory[i] == x->byte;
    cpu_give(e, x->memory);
    x->memory = NULL;
    return whole;
}

/* Each size after each other, which was given back: all of its bytes can be written, and a second one of the same size
 * is another. About the sizes at which pages are taken, and more than the engine keeps. */
static void workspaces(void)
{
    enum { MiB = 1 << 20, HELD = KEPT_WORKSPACES + 2 };
    static const size_t sizes[] = {1,           64,           5000,         MiB - 64,     MiB - 1,
                                   MiB,         2 * MiB - 65, 2 * MiB - 64, 2 * MiB - 63, 2 * MiB,
                                   2 * MiB + 1, 3 * MiB,      4 * MiB - 64, 4 * MiB - 63, 9 * MiB / 2,
                                   6 * MiB};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (size_t i = 0; i < SIZES; i++) {
        if (!tap_case("workspaces: %zu bytes, then others", sizes[i])) continue;
        bool good = true;
        for (size_t j = 0; good && j < SIZES; j++) {
            engine e = {0};
            taken x, y;
            good = take(&e, sizes[i], 1, &x) && give(&e, &x) && take(&e, sizes[j], 2, &x) && take(&e, sizes[i], 3, &y);
            good = good && give(&e, &x) && give(&e, &y);
            for (int k = 0; k < KEPT_WORKSPACES; k++) free(e.kept[k]);
        }
        tap_result(good, "of one some was another's");
    }
    if (tap_case("workspaces: more at once than are kept")) {
        engine e = {0};
        taken held[HELD];
        bool good = true;
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < HELD; i++) good = good && take(&e, (size_t)(1000 + 5000 * round * i), i + 1, &held[i]);
            for (int i = 0; i < HELD && good; i++) good = give(&e, &held[i]);
        }
        for (int k = 0; k < KEPT_WORKSPACES; k++) free(e.kept[k]);
        tap_result(good, "of one some was another's");
    }
}

/* Products of changing size and type on one context: packed operands grow from nothing to more than 2 MiB by steps of
 * a half at most, shrink, and grow again. */
static void products_of_changing_size(void)
{
    static const tw_dtype dtypes[] = {TW_CF64, TW_F64, TW_F32, TW_I8, TW_BF16, TW_I16};
    enum { DTYPES = sizeof dtypes / sizeof *dtypes, STEPS = 11 };
    for (int threads = 1; threads <= 3; threads += 2) {
        tw_context *context = NULL;
        const tw_options options = {.size = sizeof options, .engine = "cpu", .threads = threads};
        const tw_lab_choice any = {.kernel = NULL};
        char text[200] = "";
        int64_t most = 0;
        if (!tap_case("products of changing size and type: %d thread%s", threads, threads > 1 ? "s" : "")) continue;
        bool right = tw_open(&options, &context) == TW_OK;
        for (int way = 0; right && way < 3; way++)
            for (int step = 0; right && step < STEPS; step++) {
                const int at = way == 1 ? STEPS - 1 - step : step;
                const int64_t size = (int64_t)(120 * pow(1.25, at));
                integers x = {0};
                /* wide ones grow in the first way, and stand among others in the last */
                const tw_dtype dtype = dtypes[way == 0 ? 0 : (way + at) % DTYPES];
                const tw_problem p = tw_problem_make(dtype, TW_N, TW_T, 24, size, size);
                tw_lab_plan made;
                right = tw_lab_plan_of(context, &any, &p, &made) == TW_OK &&
                        integers_make(&p, NULL, (uint64_t)size, &x) == TW_OK;
                if (made.workspace_bytes > most) most = made.workspace_bytes;
                right = right && tw_gemm(context, &p, x.a, x.b, x.c) == TW_OK && integers_judge(&x, text, sizeof text);
                integers_free(&x);
            }
        tap_result(right && most > 2 << 20, "%s; the largest workspace has %lld bytes", text, (long long)most);
        tw_close(context);
    }
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    workspaces();
    products_of_changing_size();
    recalled_cases();
    kept_plans();
    kept_by_beta();
    return tap_finish();
}
