/* cmd_bench.c - `tilewright bench`: products of many shapes, each verified, then timed. One record per line. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "../lab/bench/compare.h"
#include "../lab/bench/drawn.h"
#include "../lab/chosen.h"
#include "../lab/devices.h"
#include "../program/diag.h"
#include "../program/rows.h"
#include "../program/term.h"
#include "bench_against.h"
#include "bench_cliffs.h"
#include "case_list.h"
#include "cmd.h"

static const double LIMIT_S = 2; /* of samples per row */

static exit_code choose_kernel(const options *opt, const tw_lab_kernel **out)
{
    *out = NULL;
    if (opt->kernel == NULL) return EXIT_OK;
    if (opt->batch > 0)
        return diag(EXIT_USAGE, "--kernel does not work with --batch, which times the choice of tw_gemm_batched()");
    if (opt->host) return diag(EXIT_USAGE, "--kernel does not work with --host, which times the choice of tw_gemm()");
    words_hint meant;
    char otherwise[120];
    *out = tw_lab_kernel_named(opt->kernel);
    if (*out != NULL) return EXIT_OK;
    words_meant_of(words_kernels, opt->kernel, meant);
    snprintf(otherwise, sizeof otherwise, "; names look like %s", tw_lab_kernel_at(0)->name);
    return diag(EXIT_USAGE, "--kernel %s: no such kernel%s", opt->kernel, meant[0] != '\0' ? meant : otherwise);
}

/* The text, and what --epilogue does not work with. */
static exit_code check_epilogue(const options *opt)
{
    const tw_problem any = tw_problem_make(TW_F32, TW_N, TW_N, 1, 1, 1);
    const char *other = opt->against.count > 0 ? "--against"
                        : opt->batch > 0       ? "--batch"
                        : opt->cliffs          ? "--cliffs"
                                               : NULL;
    drawn d;
    if (opt->epilogue == NULL) return EXIT_OK;
    if (other != NULL) return diag(EXIT_USAGE, "--epilogue does not work with %s", other);
    const tw_status status = drawn_make(opt->epilogue, &any, opt->seed, &d);
    drawn_free(&d);
    return status == TW_OK ? EXIT_OK : diag_tw(status);
}

/* The options that --against allows: it calls tw_gemm() as a user does, and tw_gemm() chooses the kernel. */
static exit_code check_against(const options *opt)
{
    if (opt->against.count == 0)
        return opt->warm           ? diag(EXIT_USAGE, "--warm needs --against cublas or clblast")
               : opt->deadline > 0 ? diag(EXIT_USAGE, "--deadline needs --against")
               : opt->pause > 0    ? diag(EXIT_USAGE, "--pause needs --against")
                                   : EXIT_OK;
    if (opt->kernel != NULL)
        return diag(EXIT_USAGE, "--kernel does not work with --against, which times the choice of tw_gemm()");
    return EXIT_OK;
}

static void print_header(const session *s, layout_table *table)
{
    FILE *text = s->text;
    fprintf(text, "bench      %s, %s", s->device.engine, s->device.name);
    if (s->opt->batch > 0) fprintf(text, ", batches of %" PRId64 ", times per product", s->opt->batch);
    fprintf(text, "\n\n");
    int longest = 6; /* name of a kernel */
    const tw_lab_kernel *kernel;
    for (int i = 0; (kernel = tw_lab_kernel_at(i)) != NULL; i++)
        if (strcmp(kernel->engine, s->device.engine) == 0 && (int)strlen(kernel->name) > longest)
            longest = (int)strlen(kernel->name);
    const layout_column columns[] = {
        {"dtype", -5, 0},   {"m x n x k", -15, 0}, {"kernel", -longest, 0}, {"thr", 4, 3},      {"median", 9, 0},
        {"min-max", 10, 5}, {"GFLOP/s", 7, 0},     {"of peak", 7, 1},       {"of bound", 8, 2}, {"verified", -12, 4}};
    layout_begin(table, text, columns, sizeof columns / sizeof *columns);
    layout_titles(table);
}

static void print_row(layout_table *t, const row *r)
{
    const record *d = &r->record;
    tw_problem p = tw_problem_make(TW_F32, d->op_a == 'n' ? TW_N : TW_T, d->op_b == 'n' ? TW_N : TW_T, d->m, d->n,
                                   d->k);
    p.lda = d->lda, p.ldb = d->ldb, p.ldc = d->ldc;
    case_name name;
    term_number median, span, speed, of_peak, of_bound;
    term_progress_end();
    layout_cell(t, "%s", d->dtype);
    layout_cell(t, "%s", case_text(&p, name));
    layout_cell(t, "%s", d->kernel != NULL ? d->kernel : "-");
    if (!rows_have_numbers(t, r)) return;
    layout_cell(t, "%d", row_threads(r));
    layout_cell(t, "%s", term_seconds(d->median_s, median));
    layout_cell(t, "%s", term_span(d->min_s, d->max_s, d->median_s, span));
    layout_cell(t, "%s", term_gflops(d->gflops, speed));
    layout_cell(t, "%s", term_percent(d->gflops / d->peak_gflops, of_peak));
    layout_cell(t, "%s", term_percent(d->fraction_of_bound, of_bound));
    layout_cell(t, "%s", d->verified);
    layout_end(t);
}

/* Are calls with host pointers timed, for which a GPU engine pads its copies? */
static bool is_host_call(const options *opt) { return opt->host || opt->batch > 0; }

static exit_code print_plan(session *s, const tw_lab_kernel *kernel, const tw_problem *problem)
{
    tw_lab_plan plan;
    char unused[UNUSED_TEXT];
    tw_lab_choice choice = {.kernel = kernel != NULL ? kernel->name : NULL, .keeps_ld = !is_host_call(s->opt)};
    tw_status status = tw_lab_plan_of(s->context, &choice, problem, &plan);
    if (status != TW_OK && status != TW_NO_KERNEL) return diag_tw(status);
    fprintf(s->text, "  plan: %s\n", status == TW_OK ? plan.text : tw_error_text());
    chosen_unused(s->context, problem, unused);
    layout_lines(s->text, "  unused: ", unused);
    if (status != TW_OK) return EXIT_OK;
    fprintf(s->text, "  %s\n", plan.reason[0] != '\0' ? plan.reason : "chosen by a rule, not by the cost model");
    char tuned[800];
    status = tw_lab_tuned_state(s->context, tuned, sizeof tuned, NULL);
    if (status != TW_OK) return diag_tw(status);
    if (plan.tuned[0] != '\0')
        fprintf(s->text, "  tuned: %s\n", plan.tuned);
    else
        fprintf(s->text, "  tuned: none of your rows takes part (%s)\n", tuned);
    return EXIT_OK;
}

/* One table. */
typedef struct bench_rows {
    layout_table table;
    rows_tally count;
    roofs limits;
} bench_rows;

/* *seconds: the median; NAN if it was refused. */
static exit_code bench_shape(session *s, bench_rows *rows, const tw_lab_kernel *kernel, const tw_problem *problem,
                             double *seconds)
{
    static row result;
    const bool host = is_host_call(s->opt);
    trial t = {.context = s->context, .problem = *problem, .host = host, .batch = s->opt->batch};
    row_wish wish = {.kernel = kernel, .limit_s = LIMIT_S};
    const bench_setup setup = setup_of(s);
    exit_code code = EXIT_OK;
    if (!row_refused(&setup, &t, &wish, &result)) { /* operands are made for what runs: large ones take long */
        code = rows_trial(setup_of(s), problem, &t);
        if (code != EXIT_OK) return code;
        t.host = host, t.batch = s->opt->batch;
        code = rows_run(setup_of(s), &t, &rows->limits, &wish, 1, &result);
        trial_close(&t);
    }
    *seconds = result.outcome == ROW_REFUSED ? (double)NAN : result.record.median_s;
    if (problem->epilogue != NULL) result.record.epilogue = s->opt->epilogue;
    if (code == EXIT_OK) {
        print_row(&rows->table, &result);
        rows_count(&rows->count, &result);
        code = session_row(s, &result);
    }
    return code == EXIT_OK && s->opt->explain_plan ? print_plan(s, kernel, problem) : code;
}

/* The product as it is, then with an epilogue of random operands, and what that adds. */
static exit_code bench_epilogue(session *s, bench_rows *rows, const tw_lab_kernel *kernel, const tw_problem *plain)
{
    drawn d;
    double without = NAN, with = NAN;
    tw_problem made = *plain;
    const tw_status status = drawn_make(s->opt->epilogue, plain, s->opt->seed, &d);
    exit_code code = status == TW_OK ? bench_shape(s, rows, kernel, plain, &without) : diag_tw(status);
    made.epilogue = d.epilogue;
    if (code == EXIT_OK) code = bench_shape(s, rows, kernel, &made, &with);
    if (code == EXIT_OK && with > 0 && without > 0)
        fprintf(s->text, "  with the epilogue, above, %.2f of the time without\n", with / without);
    drawn_free(&d);
    return code;
}

static void print_peaks(const session *s, const roofs *limits)
{
    for (const roof *p = limits->peaks; p->threads != 0; p++) {
        term_number speed;
        char threads[32] = "the device";
        bool host = device_is_host(&s->device);
        if (isnan(p->best)) continue;
        if (host) snprintf(threads, sizeof threads, "%d thread%s", p->threads, p->threads == 1 ? "" : "s");
        fprintf(s->text, "peak       %s, %s: %s GFLOP/s of multiply-adds, measured %s\n",
                tw_lab_dtype_of((tw_dtype)p->what)->name, threads, term_gflops(p->best / 1e9, speed),
                host ? "before and after each row" : "in this run");
    }
}

/* What the command line asks of every engine. */
typedef struct bench {
    case_list cases;
    name_list dtypes;
    const tw_lab_kernel *kernel; /* NULL: the planner's */
} bench;

static exit_code needs_device(const session *s, const char *option)
{
    return diag(EXIT_USAGE, "%s needs --engine cuda or opencl, and --against cublas or clblast; this engine is %s",
                option, s->device.engine);
}

static exit_code bench_engine(session *s, void *job)
{
    static bench_rows rows;
    const bench *b = job;
    const busy_reading begun = busy_now();
    exit_code code = EXIT_OK;
    bool on_device = compare_peer_of(s->device.engine) != NULL;
    if (session_several(s->opt) && (!s->opt->host || s->opt->against.count > 0))
        return diag(EXIT_USAGE,
                    "several devices compute a product of host memory together: give --host, without --against");
    if (s->opt->cliffs) return cliffs_bench(s, b->kernel, &b->dtypes);
    if (s->opt->warm && !on_device) return needs_device(s, "--warm");
    if (s->opt->against.count > 0 && s->opt->batch > 0 && !on_device) return needs_device(s, "--batch with --against");
    if (s->opt->against.count > 0 && s->opt->explain_plan && !on_device)
        return needs_device(s, "--explain-plan with --against");
    if (s->opt->against.count > 0) {
        code = (on_device ? against_device_bench : against_bench)(s, &b->cases, &b->dtypes);
        if (code == EXIT_OK || code == EXIT_CHECK) rows_tell_busy(s->text, &begun);
        return code;
    }
    rows.count = (rows_tally){0};
    roofs_begin(&rows.limits, s->context, &s->device);
    print_header(s, &rows.table);
    for (int d = 0; d < b->dtypes.count; d++)
        for (int i = 0; code == EXIT_OK && i < b->cases.count; i++) {
            tw_problem problem = case_problem(&b->cases.items[i], tw_lab_dtype_named(b->dtypes.items[d])->dtype);
            double seconds;
            code = s->opt->epilogue != NULL ? bench_epilogue(s, &rows, b->kernel, &problem)
                                            : bench_shape(s, &rows, b->kernel, &problem, &seconds);
        }
    if (code != EXIT_OK) return code;
    print_peaks(s, &rows.limits);
    layout_left_out(&rows.table);
    rows_tell_busy(s->text, &begun);
    return rows_verdict(&rows.count);
}

/* The types that a set is of. */
static name_list default_dtypes(const options *opt)
{
    static const name_list half = {2, {"bf16", "f16"}}, bytes = {3, {"i8", "tf32", "e4m3"}}, usual = {1, {"f32"}};
    static const struct {
        const char *set;
        const name_list *dtypes;
    } sets[] = {{"gpu-half", &half}, {"gpu-few", &half}, {"gpu-types", &bytes}};
    const name_list *all = NULL; /* of sets of different types the usual ones */
    for (int j = 0; j < opt->sets.count; j++) {
        const name_list *own = &usual;
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
            if (strcmp(opt->sets.items[j], sets[i].set) == 0) own = sets[i].dtypes;
        all = all == NULL || all == own ? own : &usual;
    }
    return all != NULL ? *all : usual;
}

exit_code cmd_bench(session *s)
{
    static bench b;
    b.dtypes = s->opt->dtypes;
    if (b.dtypes.count == 0) b.dtypes = default_dtypes(s->opt);
    exit_code code = cliffs_check(s->opt);
    if (code == EXIT_OK) code = cases_choose(s->opt, &b.cases);
    if (code == EXIT_OK) code = check_against(s->opt);
    if (code == EXIT_OK) code = check_epilogue(s->opt);
    if (code == EXIT_OK) code = choose_kernel(s->opt, &b.kernel);
    if (code != EXIT_OK) return code;
    return session_each_engine(s, b.kernel != NULL ? b.kernel->engine : "auto", bench_engine, &b);
}
