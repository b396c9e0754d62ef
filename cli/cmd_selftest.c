/* cmd_selftest.c - `tilewright selftest`: each kernel on a handful of shapes, judged by both oracles; production
 * kernels and calls of the CPU also on many more, judged exactly. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "../lab/bench/trial.h"
#include "../lab/element.h"
#include "../lab/grade.h"
#include "../lab/invariant.h"
#include "../lab/measure.h"
#include "../lab/selftest_exact.h"
#include "../program/diag.h"
#include "../program/object.h"
#include "../program/term.h"
#include "cmd.h"

typedef struct selftest_case {
    tw_op op_a, op_b;
    int64_t m, n, k, padding; /* padding: elements between the rows of each operand */
    double alpha, beta;
} selftest_case;

static const selftest_case cases[] = {
    {TW_N, TW_N, 1, 1, 1, 0, 1, 0},     {TW_N, TW_N, 7, 5, 3, 2, 1, 0},       {TW_T, TW_N, 17, 33, 65, 0, 2, -1},
    {TW_N, TW_T, 64, 64, 64, 0, 1, 0},  {TW_T, TW_T, 129, 65, 100, 3, -1, 1}, {TW_N, TW_N, 1, 200, 31, 1, 1, 0.5},
    {TW_N, TW_N, 200, 1, 513, 0, 1, 0}, {TW_N, TW_N, 50, 97, 0, 0, 1, 2},     {TW_T, TW_N, 100, 130, 700, 5, 0.5, 0},
    {TW_N, TW_N, 37, 70, 16, 1, 2, 1},  {TW_N, TW_N, 64, 33, 32, 0, 1, 0},    {TW_N, TW_N, 136, 264, 72, 0, -1, 0.5},
    {TW_N, TW_N, 9, 7, 1023, 0, 1, 0},
};

enum { CASES = sizeof cases / sizeof *cases };

static tw_problem problem_of(const selftest_case *c, tw_dtype dtype)
{
    tw_problem p = tw_problem_make(dtype, c->op_a, c->op_b, c->m, c->n, c->k);
    p.lda += c->padding, p.ldb += c->padding, p.ldc += c->padding;
    bool whole = element_of(dtype)->integer; /* of integers only whole scalars are allowed */
    p.alpha = whole ? 2 * c->alpha : c->alpha, p.beta = whole ? 2 * c->beta : c->beta;
    if (element_of(dtype)->parts == 2) {
        p.alpha_imaginary = c->k % 2 ? -c->alpha : 0, p.beta_imaginary = c->k % 2 ? 0.5 * c->beta : 0;
        if (p.op_a == TW_T && c->k % 2) p.op_a = TW_C;
        if (p.op_b == TW_T) p.op_b = c->k % 2 ? TW_T : TW_C;
        if (p.op_b == TW_N && c->n % 2) p.op_b = TW_R;
    }
    return p;
}

/* One kernel of the table, a call, or a type's rows, with what was found so far. */
typedef struct subject {
    const char *name;
    const tw_lab_kernel *kernel; /* NULL: no kernel of the table; "how" says in a word what is shown */
    const char *how;
    tw_dtype dtype;
    int number; /* of the kernel in the table */
    int judged;
    bool failed;
    double worst_ratio;
    char text[500]; /* the first refusal or failure */
} subject;

/* Did the kernel fail its self-test at first use in this context? Then it is not run again. */
static bool failed_before(const session *s, subject *x)
{
    const tw_lab_kernel *kernel;
    char text[sizeof x->text];
    for (int i = 0; (kernel = tw_lab_unused_at(s->context, NULL, i, text, sizeof text)) != NULL; i++) {
        if (kernel != x->kernel) continue;
        memcpy(x->text, text, sizeof text);
        x->judged++;
        return x->failed = true;
    }
    return false;
}

static exit_code judge_case(session *s, const selftest_case *c, subject *x)
{
    trial t;
    trial_verdict verdict;
    tw_problem p = problem_of(c, x->dtype);
    tw_lab_choice choice = {.kernel = x->kernel != NULL ? x->kernel->name : NULL, .threads = (int)s->opt->threads};
    if (x->kernel != NULL && tw_lab_fits(s->context, &choice, &p, x->text, (int)sizeof x->text) != 1) {
        failed_before(s, x);
        return EXIT_OK;
    }
    tw_status status = trial_open(&t, s->context, &p, s->opt->seed, 0);
    if (status != TW_OK) return diag_lab(status, "the references of a test");
    status = trial_judge(&t, &choice, &verdict);
    trial_close(&t);
    if (status == TW_NO_KERNEL && x->kernel != NULL && failed_before(s, x)) return EXIT_OK;
    if (status != TW_OK) return diag_lab(status, "a test");
    x->judged++;
    x->worst_ratio = fmax(x->worst_ratio, verdict.error_ratio);
    if (verdict.passed) return EXIT_OK;
    x->failed = true;
    snprintf(x->text, sizeof x->text, "%" PRId64 "x%" PRId64 "x%" PRId64 ": %.300s", c->m, c->n, c->k, verdict.text);
    return EXIT_OK;
}

static void write_subject(session *s, const subject *x)
{
    object o = object_begin(s->json);
    object_text(&o, "command", diag_command_name());
    object_text(&o, "kernel", x->name);
    object_text(&o, "verified",
                x->failed           ? "WRONG"
                : x->judged == 0    ? "no"
                : x->kernel == NULL ? x->how
                                    : "exact+bound");
    object_number(&o, "shapes", x->judged);
    object_number(&o, "error_ratio", x->kernel != NULL && x->judged > 0 ? x->worst_ratio : NAN);
    object_text(&o, x->judged > 0 ? "text" : "refused", x->text);
    object_end(&o);
    s->json_lines = true;
}

static void print_subject(session *s, const subject *x)
{
    term_paint paint = term_paint_for(s->text);
    term_progress_end();
    if (x->failed)
        fprintf(s->text, "%sWRONG%s    %-28s %s\n", paint.bad, paint.plain, x->name, x->text);
    else if (x->judged == 0)
        fprintf(s->text, "%srefused  %-28s %s%s\n", paint.faint, x->name, x->text, paint.plain);
    else if (x->kernel == NULL)
        fprintf(s->text, "%sok%s       %-28s %d products, %s%s%s\n", paint.good, paint.plain, x->name, x->judged,
                x->how, x->text[0] != '\0' ? ", " : "", x->text);
    else
        fprintf(s->text, "%sok%s       %-28s %d shapes, errors up to %.2g of the bound\n", paint.good, paint.plain,
                x->name, x->judged, x->worst_ratio);
}

static exit_code add_exact(subject *x, const exact_tally *t, tw_status status)
{
    if (status != TW_OK) return diag_lab(status, "a test");
    x->judged += t->products, x->failed = t->failed;
    if (t->failed || t->products == 0) snprintf(x->text, sizeof x->text, "%s", t->text);
    return EXIT_OK;
}

static exact_tally tally_of(const session *s, bool quick)
{
    return (exact_tally){.context = s->context, .threads = (int)s->opt->threads, .seed = s->opt->seed, .quick = quick};
}

/* Does the planner take the kernel for this case? */
static bool is_choice(const session *s, const tw_lab_kernel *kernel, const selftest_case *c)
{
    const tw_problem p = problem_of(c, kernel->dtype);
    tw_lab_plan plan;
    return tw_lab_plan_of(s->context, NULL, &p, &plan) == TW_OK && plan.kernel == kernel;
}

/* Is this case one for the kernel? A quick test is of those for which the planner takes it. A kernel of the CPU also
 * has a quarter of the others, kernels of one type different ones. Where a driver compiles kernels, which takes a
 * second each, one case is all: whole and edge tiles of f32, not transposed. */
static bool concerns(const session *s, const subject *x, int at, bool quick)
{
    enum { ALONE = 11 };
    const bool on_cpu = strcmp(x->kernel->engine, "cpu") == 0;
    if (!quick || (on_cpu && (at + x->number + x->number / 4) % 4 == 0)) return true;
    if (!on_cpu && (at != ALONE || x->kernel->dtype != TW_F32)) return false;
    return (!on_cpu && !x->kernel->production) || is_choice(s, x->kernel, &cases[at]);
}

static exit_code run_kernel(session *s, subject *x, bool quick)
{
    exit_code code = EXIT_OK;
    term_progress(x->name, -1);
    for (int c = 0; code == EXIT_OK && !x->failed && c < CASES; c++)
        if (concerns(s, x, c, quick)) code = judge_case(s, &cases[c], x);
    if (code != EXIT_OK || x->failed || x->judged == 0 || strcmp(x->kernel->engine, "cpu") != 0) return code;
    exact_tally t = tally_of(s, quick);
    tw_status status = x->kernel->production ? exact_kernel(&t, x->kernel) : exact_rung(&t, x->kernel);
    return add_exact(x, &t, status);
}

/* Checks of the CPU engine's code around its kernels. */
static const struct {
    const char *name;
    tw_status (*run)(exact_tally *);
} calls[] = {{"plans", exact_plans},
             {"recalled plans", exact_recalled},
             {"contexts", exact_contexts},
             {"batches", exact_batches},
             {"far rows", exact_far}};

enum { CALLS = sizeof calls / sizeof *calls };

/* Is it a type that --dtype names, where it names any? */
static bool is_wanted(const name_list *dtypes, tw_dtype dtype)
{
    for (int i = 0; i < dtypes->count; i++)
        if (tw_lab_dtype_named(dtypes->items[i])->dtype == dtype) return true;
    return dtypes->count == 0;
}

static bool chosen(const session *s, const subject *x, bool quick)
{
    if (strcmp(x->kernel->engine, s->device.engine) != 0 || !is_wanted(&s->opt->dtypes, x->kernel->dtype)) return false;
    if (quick && !x->kernel->production) return strcmp(x->kernel->rung, "r01_naive") == 0;
    for (int c = 0; c < CASES; c++)
        if (concerns(s, x, c, quick)) return true;
    return false;
}

static exit_code tell_subject(session *s, const subject *x, bool lines, selftest_count *count)
{
    count->failed += x->failed;
    count->refused += x->judged == 0;
    count->passed += !x->failed && x->judged > 0;
    if (lines || x->failed) print_subject(s, x);
    if (lines) write_subject(s, x);
    if (x->failed) diag(EXIT_CHECK, "%s: %s", x->name, x->text);
    return session_flush(s);
}

/* Types that the engine multiplies by kernels of others, as the planner chooses: complex ones on CUDA. */
static exit_code run_types(session *s, bool lines, selftest_count *count)
{
    const tw_lab_dtype *dtype;
    exit_code code = EXIT_OK;
    for (int i = 1; code == EXIT_OK && (dtype = tw_lab_dtype_of((tw_dtype)i)) != NULL; i++) {
        subject x = {.name = dtype->name, .how = "exact+bound", .dtype = dtype->dtype};
        const tw_problem p = problem_of(&cases[0], dtype->dtype);
        tw_lab_plan plan;
        if (!is_wanted(&s->opt->dtypes, dtype->dtype) || tw_lab_plan_of(s->context, NULL, &p, &plan) != TW_OK ||
            plan.kernel->dtype == dtype->dtype)
            continue;
        term_progress(x.name, -1);
        for (int c = 0; code == EXIT_OK && !x.failed && c < CASES; c++) code = judge_case(s, &cases[c], &x);
        if (!x.failed) snprintf(x.text, sizeof x.text, "errors up to %.2g of the bound", x.worst_ratio);
        if (code == EXIT_OK) code = tell_subject(s, &x, lines, count);
    }
    return code;
}

exit_code selftest_run(session *s, bool quick, bool lines, selftest_count *count)
{
    const tw_lab_kernel *kernel;
    exit_code code = EXIT_OK;
    *count = (selftest_count){0};
    for (int i = 0; code == EXIT_OK && (kernel = tw_lab_kernel_at(i)) != NULL; i++) {
        subject x = {.name = kernel->name, .kernel = kernel, .dtype = kernel->dtype, .number = i};
        if (!chosen(s, &x, quick)) continue;
        code = run_kernel(s, &x, quick);
        if (code == EXIT_OK) code = tell_subject(s, &x, lines, count);
    }
    if (code == EXIT_OK && !quick) code = run_types(s, lines, count);
    const bool has_calls = strcmp(s->device.engine, "cpu") == 0 &&
                           s->opt->dtypes.count == 0; /* they take several types */
    for (int i = 0; code == EXIT_OK && has_calls && i < CALLS; i++) {
        subject x = {.name = calls[i].name, .how = "exact"};
        exact_tally t = tally_of(s, quick);
        term_progress(x.name, -1);
        tw_status status = calls[i].run(&t);
        code = add_exact(&x, &t, status);
        if (code == EXIT_OK) code = tell_subject(s, &x, lines, count);
    }
    return code;
}

/* ---- --invariant ---- */

/* Searches for as long as --budget says; a type that the device does not promise is told, and is no failure. */
static exit_code search_type(session *s, const tw_lab_dtype *dtype, selftest_count *count)
{
    enum { BUDGET = 10, WORK = 1 << 29, CPU_WORK = 1 << 24 };
    const bool on_cpu = strcmp(s->device.engine, "cpu") == 0, on_cuda = strcmp(s->device.engine, "cuda") == 0;
    const double ends = measure_now_s() + (double)(s->opt->budget > 0 ? s->opt->budget : BUDGET);
    invariant_search x = {.context = s->context,
                          .dtype = dtype->dtype,
                          .cuda_device = on_cuda ? s->device.index : -1,
                          .most_work = on_cpu ? CPU_WORK : WORK,
                          .flags = TW_INVARIANT,
                          .seed = s->opt->seed};
    tw_status status = TW_OK;
    term_progress(dtype->name, -1);
    for (uint64_t i = 0; status == TW_OK && !x.differs && (i == 0 || measure_now_s() < ends); i++)
        status = invariant_draw(&x, i);
    subject told = {.name = dtype->name, .how = "invariant", .judged = (int)x.products, .failed = x.differs};
    if (status == TW_NO_KERNEL)
        told.failed = x.products > 0, snprintf(told.text, sizeof told.text, "%s", tw_error_text());
    else if (status != TW_OK && x.text[0] != '\0')
        return diag(EXIT_DEVICE, "%s", x.text);
    else if (status != TW_OK)
        return diag_lab(status, "a search");
    else
        snprintf(told.text, sizeof told.text, "%s", x.text);
    return tell_subject(s, &told, true, count);
}

static exit_code search_types(session *s, selftest_count *count)
{
    const tw_lab_dtype *dtype;
    exit_code code = EXIT_OK;
    for (int i = 1; code == EXIT_OK && (dtype = tw_lab_dtype_of((tw_dtype)i)) != NULL; i++)
        if (is_wanted(&s->opt->dtypes, dtype->dtype)) code = search_type(s, dtype, count);
    return code;
}

/* ---- --grade ---- */

static tw_status multiply_squares(void *with, tw_dtype dtype, int64_t n, const void *a, const void *b, void *c)
{
    const session *s = with;
    tw_problem p = tw_problem_make(dtype, TW_N, TW_N, n, n, n);
    p.accuracy = s->opt->emulate ? TW_EMULATED : TW_NATIVE;
    return tw_gemm(s->context, &p, a, b, c);
}

/* How accurate tw_gemm() is in a type; another grade than A is a failure. */
static exit_code grade_type(session *s, tw_dtype dtype, selftest_count *count)
{
    enum { SIDE = 1024 }; /* from which on GPUs emulate */
    subject told = {.name = tw_lab_dtype_of(dtype)->name, .how = "grade A"};
    grade g;
    term_progress(told.name, -1);
    const tw_status status = grade_take(multiply_squares, s, dtype, SIDE, s->opt->seed, &g);
    if (status == TW_NO_KERNEL) {
        snprintf(told.text, sizeof told.text, "%s", tw_error_text());
        return tell_subject(s, &told, true, count);
    }
    if (status != TW_OK) return diag_lab(status, "a grade");
    int used = g.letter != 'A' ? snprintf(told.text, sizeof told.text, "grade %c, ", g.letter) : 0;
    used += snprintf(told.text + used, sizeof told.text - (size_t)used, "errors over their bounds:");
    for (int t = 0; t < GRADE_TESTS; t++)
        used += snprintf(told.text + used, sizeof told.text - (size_t)used, " %s %.2g,", grade_names[t], g.worst[t]);
    snprintf(told.text + used, sizeof told.text - (size_t)used, " growing as n^%.2f", g.slope);
    told.judged = g.products, told.failed = g.letter != 'A';
    return tell_subject(s, &told, true, count);
}

static exit_code grade_types(session *s, selftest_count *count)
{
    static const tw_dtype types[] = {TW_F32, TW_F64};
    exit_code code = EXIT_OK;
    for (int i = 0; i < 2 && code == EXIT_OK; i++)
        if (is_wanted(&s->opt->dtypes, types[i])) code = grade_type(s, types[i], count);
    return code;
}

static exit_code selftest_engine(session *s, void *job)
{
    selftest_count count = {0};
    (void)job;
    exit_code code = s->opt->invariant ? search_types(s, &count)
                     : s->opt->grade   ? grade_types(s, &count)
                                       : selftest_run(s, false, true, &count);
    if (code != EXIT_OK) return code;
    fprintf(s->text, "%d passed, %d failed, %d refused, on %s: %s%s%s\n", count.passed, count.failed, count.refused,
            s->device.engine, s->device.name, s->device.instruction_set[0] != '\0' ? ", " : "",
            s->device.instruction_set);
    if (count.passed == 0 && count.failed == 0) return diag(EXIT_DEVICE, "no kernel of the table fits this device");
    return count.failed > 0 ? EXIT_CHECK : EXIT_OK;
}

exit_code cmd_selftest(session *s)
{
    if (s->opt->budget > 0 && !s->opt->invariant) return diag(EXIT_USAGE, "--budget needs --invariant");
    if (s->opt->invariant && s->opt->grade) return diag(EXIT_USAGE, "--invariant does not work with --grade");
    if (s->opt->emulate && !s->opt->grade) return diag(EXIT_USAGE, "--emulate needs --grade");
    for (int i = 0; s->opt->grade && i < s->opt->dtypes.count; i++)
        if (strcmp(s->opt->dtypes.items[i], "f32") != 0 && strcmp(s->opt->dtypes.items[i], "f64") != 0)
            return diag(EXIT_USAGE, "--dtype %s does not work with --grade, which is of f32 and f64",
                        s->opt->dtypes.items[i]);
    return session_each_engine(s, "auto", selftest_engine, NULL);
}
