/* bench_cliffs.c - see bench_cliffs.h. */
#include "bench_cliffs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../lab/bench/cliffs.h"
#include "../program/diag.h"
#include "../program/hooks.h"
#include "../program/rows.h"
#include "../program/term.h"

/* Shapes where --shapes does not say; those that the table shows; seconds of samples for each problem. */
enum { USUAL_SHAPES = 100, SHOWN = 20 };
static const double LIMIT_S = 0.2;

exit_code cliffs_check(const options *opt)
{
    const struct {
        bool given;
        const char *option;
    } others[] = {{opt->shapes.count > 0, "--shape"},
                  {opt->sizes.count > 0, "--size"},
                  {opt->sets.count > 0, "--set"},
                  {opt->pad > 0, "--pad"},
                  {opt->padded, "--padded"},
                  {opt->emulate, "--emulate"},
                  {opt->transpose_a, "--transpose-a"},
                  {opt->transpose_b, "--transpose-b"},
                  {opt->batch > 0, "--batch"},
                  {opt->host, "--host"},
                  {opt->against.count > 0, "--against"},
                  {opt->explain_plan, "--explain-plan"},
                  {session_several(opt), "a list of devices"}};
    if (!opt->cliffs)
        return opt->shape_count > 0 ? diag(EXIT_USAGE, "--shapes needs --cliffs")
               : opt->regret        ? diag(EXIT_USAGE, "--regret needs --cliffs")
                                    : EXIT_OK;
    if (opt->regret && opt->kernel != NULL)
        return diag(EXIT_USAGE, "--kernel does not work with --regret, which judges the choice of tw_gemm()");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            return diag(EXIT_USAGE, "%s does not work with --cliffs, which draws shapes and times them as they lie",
                        others[i].option);
    return EXIT_OK;
}

/* ---- progress ---- */

/* Which shape it is, in front of what rows say of themselves. */
static char doing[80];

static void tell_progress(const char *what)
{
    char text[sizeof doing + 80];
    snprintf(text, sizeof text, "%s: %.70s", doing, what);
    term_progress(text, -1);
}

/* ---- the table ---- */

static const char *extents(const tw_problem *p, case_name out)
{
    snprintf(out, sizeof(case_name), "%" PRId64 "x%" PRId64 "x%" PRId64, p->m, p->n, p->k);
    return out;
}

/* The longest texts of the rows that are shown. */
static void begin_table(FILE *text, const cliff *cliffs, int count, layout_table *table)
{
    const bool regrets = !isnan(cliffs[0].regret);
    int shape = 9, friendlier = 10, kernel = 6;
    for (int i = 0; i < count; i++) {
        case_name name;
        const int of_shape = (int)strlen(case_text(&cliffs[i].problem, name)),
                  of_friendlier = (int)strlen(extents(&cliffs[i].friendlier, name)),
                  of_kernel = (int)strlen(cliffs[i].kernel);
        if (of_shape > shape) shape = of_shape;
        if (of_friendlier > friendlier) friendlier = of_friendlier;
        if (of_kernel > kernel) kernel = of_kernel;
        if (regrets && (int)strlen(cliffs[i].best_kernel) > kernel) kernel = (int)strlen(cliffs[i].best_kernel);
    }
    const layout_column columns[] = {{"m x n x k", -shape, 0},
                                     {"median", 9, 0},
                                     {"floor", 9, 2},
                                     {"cliff ", 6, 0},
                                     {"spread", 9, 3},
                                     {"aligned", 7, 0},
                                     {"friendlier", -friendlier, 4},
                                     {"kernel", -kernel, 1},
                                     {"regret", 6, 0},
                                     {"best kernel", -kernel, 5}};
    const int all = sizeof columns / sizeof *columns, of_regret = 2;
    layout_begin(table, text, columns, regrets ? all : all - of_regret);
    layout_titles(table);
}

static void print_cliff(layout_table *t, const cliff *c)
{
    case_name name;
    term_number number;
    layout_cell(t, "%s", case_text(&c->problem, name));
    layout_cell(t, "%s", term_seconds(c->median_s, number));
    layout_cell(t, "%s", term_seconds(c->floor_s, number));
    layout_cell(t, "%.2f%s", cliff_ratio(c), c->low <= 1 && c->high >= 1 && c->low < c->high ? "?" : " ");
    layout_cell(t, "%.2f-%.2f", c->low, c->high);
    layout_cell(t, "%.2f", c->median_s / c->aligned_s);
    layout_cell(t, "%s", extents(&c->friendlier, name));
    layout_cell(t, "%s", c->kernel);
    if (!isnan(c->regret)) {
        layout_cell(t, "%.2f", c->regret);
        layout_cell(t, "%s", c->best_kernel);
    }
    layout_end(t);
}

static int worst_first(const void *a, const void *b)
{
    const double x = cliff_ratio(a), y = cliff_ratio(b);
    return (x < y) - (x > y);
}

static void print_summary(FILE *text, const cliff *cliffs, int count)
{
    double log_cliff = 0, log_aligned = 0;
    int over[2] = {0};
    case_name name;
    for (int i = 0; i < count; i++) {
        const double ratio = cliff_ratio(&cliffs[i]);
        log_cliff += log(ratio), log_aligned += log(cliffs[i].median_s / cliffs[i].aligned_s);
        over[0] += ratio > 1.1, over[1] += ratio > 1.5;
    }
    fprintf(text, "geometric mean of %d: %.3f of cliff, %.3f of aligned\n", count, exp(log_cliff / count),
            exp(log_aligned / count));
    fprintf(text, "cliffs     above 1.1: %d, above 1.5: %d; the worst is %.2f at %s\n", over[0], over[1],
            cliff_ratio(&cliffs[0]), case_text(&cliffs[0].problem, name));
}

static void print_regret(FILE *text, const cliff *cliffs, int count)
{
    const cliff *worst = &cliffs[0];
    double logs = 0;
    int over = 0;
    case_name name;
    for (int i = 0; i < count; i++) {
        logs += log(cliffs[i].regret), over += cliffs[i].regret > 1.1;
        if (cliffs[i].regret > worst->regret) worst = &cliffs[i];
    }
    fprintf(text, "regret     geometric mean %.3f; above 1.1: %d; the worst is %.2f at %s: %s, the best is %s\n",
            exp(logs / count), over, worst->regret, case_text(&worst->problem, name), worst->kernel,
            worst->best_kernel);
}

/* What the columns are. */
static void print_words(FILE *text, bool regrets)
{
    fputs("\ncliff      median over that of the fastest friendlier shape: m, n and k rounded up to 8, 16, 64 or 128, "
          "aligned rows; above 1 a larger product takes less time; ?: the spread holds 1\n"
          "aligned    median over that of the same shape with rows at multiples of 16 bytes\n"
          "floor      what the measured peak and bandwidth allow\n",
          text);
    if (regrets) fputs("regret     the time of the planner's kernel over that of the best kernel that fits\n", text);
}

static void print_table(FILE *text, cliff *cliffs, int count)
{
    const int shown = count < SHOWN ? count : SHOWN;
    layout_table table;
    term_progress_end();
    if (count == 0) return;
    qsort(cliffs, (size_t)count, sizeof *cliffs, worst_first);
    fputc('\n', text);
    begin_table(text, cliffs, shown, &table);
    for (int i = 0; i < shown; i++) print_cliff(&table, &cliffs[i]);
    layout_left_out(&table);
    if (shown < count)
        fprintf(text, "%d more, all with a cliff of %.2f or less: the records of --json have them\n", count - shown,
                cliff_ratio(&cliffs[shown]));
    fputc('\n', text);
    print_summary(text, cliffs, count);
    if (!isnan(cliffs[0].regret)) print_regret(text, cliffs, count);
}

/* ---- all shapes ---- */

/* What one table is made of. */
typedef struct cliff_run {
    bench_setup setup;
    roofs limits;
    cliff_range range;
    rows_tally tally;
    row_wish wish;
    cliff *cliffs;
    int count, refused; /* that were timed, or not */
    char why[512];
} cliff_run;

/* Judges and times shape c. */
static exit_code run_shape(session *s, cliff_run *x, const bench_case *c, tw_dtype dtype)
{
    static row result;
    const cliff_problems problems = cliffs_beside(&x->range, c, dtype);
    const tw_problem *shape = &problems.items[0];
    trial t = {.context = s->context, .problem = *shape};
    exit_code code = EXIT_OK;
    if (row_refused(&x->setup, &t, &x->wish, &result)) {
        snprintf(x->why, sizeof x->why, "%s", result.text);
        x->refused++;
        return session_row(s, &result);
    }
    code = rows_trial(x->setup, shape, &t);
    if (code != EXIT_OK) return code;
    code = rows_run(x->setup, &t, &x->limits, &x->wish, 1, &result);
    trial_close(&t);
    if (code != EXIT_OK) return code;
    if (result.outcome == ROW_WRONG) {
        case_name name;
        term_progress_end();
        fprintf(s->text, "WRONG      %s: %s\n", case_text(shape, name), result.text);
    } else {
        cliff *found = &x->cliffs[x->count];
        tw_status status = cliffs_time(&x->setup, &x->limits, &x->wish, &problems, &result, found);
        if (status == TW_OK && s->opt->regret) status = cliffs_regret(&x->setup, LIMIT_S, &result, found);
        if (status == TW_OK)
            x->count++;
        else if (status == TW_NO_MEMORY)
            x->refused++, snprintf(x->why, sizeof x->why, "no memory for friendlier shapes: %.400s", tw_error_text());
        else
            return diag_lab(status, "the operands of a shape and of friendlier ones");
    }
    rows_count(&x->tally, &result);
    return session_row(s, &result);
}

static void print_header(const session *s, const cliff_range *range, int count, tw_dtype dtype)
{
    term_number bytes;
    fprintf(s->text,
            "cliffs     %s, %s: %d shape%s of seed %" PRIu64 " in %s, 2^%.3g to 2^%.3g multiply-adds, operands of at "
            "most %s\n",
            s->device.engine, s->device.name, count, count == 1 ? "" : "s", s->opt->seed, tw_lab_dtype_of(dtype)->name,
            log2(range->least_work), log2(range->most_work), term_bytes(range->most_bytes, bytes));
}

static exit_code run_type(session *s, cliff_run *x, int count, tw_dtype dtype)
{
    exit_code code = EXIT_OK;
    x->range = cliffs_range(&x->setup, &x->limits, dtype);
    x->count = x->refused = 0;
    term_progress_end();
    print_header(s, &x->range, count, dtype);
    code = session_flush(s);
    for (int i = 0; code == EXIT_OK && i < count; i++) {
        const bench_case c = cliffs_draw(&x->range, dtype, s->opt->seed, i);
        const tw_problem p = case_problem(&c, dtype);
        case_name name;
        snprintf(doing, sizeof doing, "shape %d of %d, %.40s", i + 1, count, case_text(&p, name));
        code = run_shape(s, x, &c, dtype);
    }
    if (code != EXIT_OK) return code;
    print_table(s->text, x->cliffs, x->count);
    if (x->refused > 0)
        fprintf(s->text, "refused    %d shape%s; the last: %s\n", x->refused, x->refused == 1 ? "" : "s", x->why);
    return session_flush(s);
}

exit_code cliffs_bench(session *s, const tw_lab_kernel *kernel, const name_list *dtypes)
{
    static cliff_run x;
    static bench_hooks hooks;
    const int count = s->opt->shape_count > 0 ? (int)s->opt->shape_count : USUAL_SHAPES;
    const busy_reading begun = busy_now();
    exit_code code = EXIT_OK;
    hooks = program_hooks, hooks.progress = tell_progress;
    x = (cliff_run){.setup = setup_of(s), .wish = {.kernel = kernel, .limit_s = LIMIT_S}};
    x.setup.hooks = &hooks;
    x.cliffs = calloc((size_t)count, sizeof *x.cliffs);
    if (x.cliffs == NULL) return diag_no_memory("the shapes");
    roofs_begin(&x.limits, s->context, &s->device);
    for (int d = 0; code == EXIT_OK && d < dtypes->count; d++) {
        if (d > 0) fputc('\n', s->text);
        code = run_type(s, &x, count, tw_lab_dtype_named(dtypes->items[d])->dtype);
    }
    free(x.cliffs);
    if (code != EXIT_OK) return code;
    if (x.tally.timed > 0) print_words(s->text, s->opt->regret);
    rows_tell_busy(s->text, &begun);
    return rows_verdict(&x.tally);
}
