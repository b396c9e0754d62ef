/* bench_against_device.c - `bench --engine cuda --against cublas` and `--engine opencl --against clblast`: the words of
 * lab/bench/compare.h. */
#include "bench_against.h"

#include <math.h>
#include <string.h>
#include "../lab/bench/compare.h"
#include "../lab/roofline.h"
#include "../program/diag.h"
#include "../program/rows.h"
#include "../program/term.h"

/* ---- what is told of it ---- */

static bool is_timed(const side *x) { return x->outcome == SIDE_TIMED; }

static double ratio(const comparison *g, bool of_bests)
{
    double peer_s = INFINITY, ours_s = of_bests ? g->sides[OURS].result.min_s : g->sides[OURS].result.median_s;
    for (int i = HEURISTIC; i < COMPARE_SIDES; i++)
        if (is_timed(&g->sides[i]))
            peer_s = fmin(peer_s, of_bests ? g->sides[i].result.min_s : g->sides[i].result.median_s);
    return peer_s / ours_s;
}

static void print_header(FILE *text, const comparison *g, const char *group, layout_table *table)
{
    const char *title = g->peer->title, *dtype = tw_lab_dtype_of(g->problem.dtype)->name;
    fprintf(text, "\n%s, %s: GFLOP/s of medians; ratios: tilewright / ", group, dtype);
    if (g->peer->chooses)
        fprintf(text,
                "the faster of %s's two; launches: per sample of tilewright; clock, power and temperature: after the "
                "samples\n",
                title);
    else
        fprintf(text, "%s; launches: per sample of tilewright\n", title);
    if (g->batched) fprintf(text, "batches of %lld at fixed strides, by %s\n", (long long)g->items, g->peer->batched);
    static const layout_column chosen[] = {
        {"m x n x k", -20, 0},         {"launches", 8, 6},           {"tilewright", 10, 0},
        {"heuristic", 10, 0},          {"best of 8", 10, 0},         {"candidate", 9, 5},
        {"medians", 7, 0, true, NULL}, {"bests", 7, 1, false, NULL}, {"SM MHz", 6, 2, true, NULL},
        {"W", 5, 3, false, NULL},      {"C", 4, 4, false, NULL}};
    const layout_column alone[] = {{"m x n x k", -20, 0},         {"launches", 8, 2},
                                   {"tilewright", 10, 0},         {g->peer->name, 10, 0},
                                   {"medians", 7, 0, true, NULL}, {"bests", 7, 1, false, NULL}};
    if (g->peer->chooses)
        layout_begin(table, text, chosen, sizeof chosen / sizeof *chosen);
    else
        layout_begin(table, text, alone, sizeof alone / sizeof *alone);
    layout_titles(table);
}

static void print_speed(layout_table *t, const comparison *g, const side *x)
{
    term_number speed;
    if (is_timed(x))
        layout_cell(t, "%s", term_gflops(roofline_flops(&g->problem) / x->result.median_s / 1e9, speed));
    else
        layout_cell(t, "%s", x->outcome == SIDE_WRONG ? "WRONG" : "-");
}

static void print_whole(layout_table *t, double value)
{
    if (isnan(value))
        layout_cell(t, "-");
    else
        layout_cell(t, "%.0f", value);
}

/* The fastest of several candidates, and which it is. */
static void print_best(layout_table *t, const comparison *g)
{
    const side *best = &g->sides[g->best_is_heuristic ? HEURISTIC : BEST];
    print_speed(t, g, best);
    print_whole(t, is_timed(best) ? g->best : (double)NAN);
}

static void print_clocks(layout_table *t, const clocks_reading *x)
{
    print_whole(t, x->sm_mhz);
    print_whole(t, x->power_w);
    print_whole(t, x->temperature_c);
}

static void print_case(const session *s, layout_table *t, const comparison *g, against_mean *group, against_mean *all)
{
    FILE *text = s->text;
    case_name name;
    term_progress_end();
    layout_cell(t, "%s", case_text(&g->problem, name));
    print_whole(t, is_timed(&g->sides[OURS]) ? g->sides[OURS].repeats : (double)NAN);
    print_speed(t, g, &g->sides[OURS]);
    print_speed(t, g, &g->sides[HEURISTIC]);
    if (g->peer->chooses) print_best(t, g);
    const bool compared = is_timed(&g->sides[OURS]) && isfinite(ratio(g, false));
    for (int of_bests = 0; of_bests < 2; of_bests++)
        if (compared)
            layout_cell(t, "%.3f", ratio(g, of_bests));
        else
            layout_cell(t, "-");
    if (compared) {
        against_mean_add(group, ratio(g, false), ratio(g, true));
        against_mean_add(all, ratio(g, false), ratio(g, true));
    }
    if (g->peer->chooses) print_clocks(t, &g->after);
    layout_end(t);
    if (s->opt->explain_plan)
        fprintf(text, "  plan: %s\n  %s\n", g->plan.text,
                g->plan.reason[0] != '\0' ? g->plan.reason : "chosen by a rule, not by the cost model");
    for (int i = 0; i < COMPARE_SIDES; i++)
        if (g->sides[i].outcome == SIDE_REFUSED && !(i == BEST && g->best_is_heuristic))
            fprintf(text, "  %s: %s\n", g->sides[i].name, g->sides[i].why);
}

static exit_code write_record(session *s, const comparison *g, int i)
{
    compare_candidate candidate;
    const record r = compare_record(g, i, candidate);
    return session_record(s, &r);
}

static exit_code tell_case(session *s, layout_table *t, const comparison *g, against_mean *group, against_mean *all)
{
    exit_code code = EXIT_OK;
    print_case(s, t, g, group, all);
    for (int i = 0; code == EXIT_OK && i < COMPARE_SIDES; i++)
        if (i != BEST || !g->best_is_heuristic) code = write_record(s, g, i);
    return code;
}

/* ---- all cases ---- */

/* Judge and time all sides on a problem. A wrong product of Tilewright's own is EXIT_CHECK, after all were timed. */
static exit_code run_case(const session *s, comparison *g, const tw_problem *host)
{
    trial t;
    char doing[sizeof(case_name) + 16];
    case_name name;
    exit_code code = rows_trial(setup_of(s), host, &t);
    if (code != EXIT_OK) return code;
    snprintf(doing, sizeof doing, "%s: timing both", case_text(host, name));
    term_progress(doing, -1);
    tw_status status = compare_plan(g, host);
    code = status == TW_OK ? against_code(compare_run(g, host, &t)) : diag_tw(status);
    compare_release(g);
    trial_close(&t);
    return code == EXIT_OK && g->sides[OURS].outcome == SIDE_WRONG ? EXIT_CHECK : code;
}

static exit_code compare_class(session *s, comparison *g, const case_list *cases, int first, int end, tw_dtype dtype,
                               against_mean *all)
{
    against_mean mean = {0};
    layout_table table;
    exit_code result = EXIT_OK;
    g->problem.dtype = dtype;
    print_header(s->text, g, cases->items[first].group, &table);
    for (int n = first; n < end; n++) {
        tw_problem problem = case_problem(&cases->items[n], dtype);
        exit_code code = run_case(s, g, &problem);
        if (code != EXIT_OK && code != EXIT_CHECK) return code;
        if (code == EXIT_CHECK) result = code;
        if ((code = tell_case(s, &table, g, &mean, all)) != EXIT_OK) return code;
    }
    against_print_mean(s->text, cases->items[first].group, &mean);
    layout_left_out(&table);
    return result;
}

static void print_begin(FILE *text, comparison *g, tw_dtype dtype)
{
    term_number speed;
    compare_peak(g, dtype);
    fprintf(text, "against    %s, %s: %s of %s", g->setup.device->engine, g->setup.device->name, g->version,
            tw_lab_dtype_of(dtype)->name);
    if (!isnan(g->peak_flops))
        fprintf(text, ", peak %s GFLOP/s of multiply-adds", term_gflops(g->peak_flops / 1e9, speed));
    fputc('\n', text);
}

static exit_code compare_all(session *s, comparison *g, const case_list *cases, const name_list *dtypes)
{
    against_mean all = {0};
    exit_code result = EXIT_OK;
    for (int d = 0; d < dtypes->count; d++) {
        tw_dtype dtype = tw_lab_dtype_named(dtypes->items[d])->dtype;
        if (d > 0) fputc('\n', s->text);
        print_begin(s->text, g, dtype);
        for (int first = 0, end; first < cases->count; first = end) {
            for (end = first; end < cases->count && strcmp(cases->items[end].group, cases->items[first].group) == 0;)
                end++;
            exit_code code = compare_class(s, g, cases, first, end, dtype, &all);
            if (code == EXIT_CHECK)
                result = code;
            else if (code != EXIT_OK)
                return code;
        }
    }
    fputc('\n', s->text);
    against_print_mean(s->text, "all classes and types", &all);
    if (result == EXIT_OK && all.count == 0)
        return diag(EXIT_DEVICE, "no product could be compared: in no case were tilewright and %s both timed",
                    g->peer->title);
    return result;
}

static exit_code check_options(const session *s, const compare_peer *library)
{
    const name_list *named = &s->opt->against;
    const peer_row *found;
    exit_code code = EXIT_OK;
    bool all = named->count == 1 && strcmp(named->items[0], "all") == 0;
    if (s->opt->host)
        return diag(EXIT_USAGE, "--host does not work with --against %s, which compares products in device memory",
                    library->name);
    if (s->opt->deadline > 0)
        return diag(EXIT_USAGE, "--deadline does not work with --against %s, which runs in this process",
                    library->name);
    if (s->opt->pause > 0)
        return diag(EXIT_USAGE, "--pause does not work with --against %s: it is for the threads of the cpu engine",
                    library->name);
    for (int i = 0; code == EXIT_OK && !all && i < named->count; i++)
        code = against_row(named->items[i], s->device.engine, &found);
    if (code == EXIT_OK && named->count > 1) return diag(EXIT_USAGE, "--against names %s twice", named->items[0]);
    return code;
}

exit_code against_device_bench(session *s, const case_list *cases, const name_list *dtypes)
{
    static comparison g;
    against_path folder;
    g = (comparison){.peer = compare_peer_of(s->device.engine),
                     .setup = setup_of(s),
                     .warm = s->opt->warm,
                     .batched = s->opt->batch > 0,
                     .items = s->opt->batch > 0 ? s->opt->batch : 1};
    exit_code code = check_options(s, g.peer);
    if (code != EXIT_OK) return code;
    against_folder(folder);
    code = against_code(compare_begin(&g, folder));
    if (code == EXIT_OK) code = compare_all(s, &g, cases, dtypes);
    compare_end(&g);
    return code;
}
