/* bench_against_table.c - the tables of `bench --against`. */
#include "bench_against.h"

#include <math.h>
#include <string.h>
#include "../lab/busy.h"
#include "../lab/roofline.h"
#include "../program/term.h"

/* A line behind `before`: what other processes used in the present case, where times cannot bear it. */
static void print_busy(FILE *text, const char *before, const against *g)
{
    if (g->others >= BUSY_DISTURBS)
        fprintf(text, "%sother processes used %.0f %% of the processors\n", before, 100 * g->others);
}

void against_print_sides(FILE *text, const against *g, tw_dtype dtype)
{
    term_number number;
    int type = peer_type(dtype);
    term_progress_end();
    fprintf(text, "against    %s, %s: %s, %d thread%s, ", g->setup.device->engine, g->setup.device->name,
            tw_lab_dtype_of(dtype)->name, g->threads, g->threads == 1 ? "" : "s");
    if (g->peak_flops[type] > 0)
        fprintf(text, "peak %s GFLOP/s of multiply-adds\n", term_gflops(g->peak_flops[type] / 1e9, number));
    else
        fprintf(text, "the peak could not be measured (%s)\n", g->why_no_peak);
    fprintf(text, "rest       at least %d ms before each sample", WORKERS_QUIET_MS);
    if (g->pause_s > 0) fprintf(text, "; %g us of other work before each call, which is timed alone", 1e6 * g->pause_s);
    fputs("\n\n", text);
    int version = 7, choice = 11;
    for (int i = 0; i < g->count; i++) {
        const int of_version = (int)strlen(g->sides[i].version), of_choice = (int)strlen(g->sides[i].choice);
        if (of_version > version) version = of_version;
        if (of_choice > choice) choice = of_choice;
    }
    const layout_column columns[] = {
        {"library", -10, 0}, {"version", -version, 1}, {"its kernels", -choice, 2}, {"of peak at 2048", -15, 0}};
    layout_table t;
    layout_begin(&t, text, columns, sizeof columns / sizeof *columns);
    layout_titles(&t);
    for (int i = 0; i < g->count; i++) {
        const side *x = &g->sides[i];
        const char *said = x->outcome == SIDE_TIMED ? x->doubt : x->outcome == SIDE_WRONG ? x->verdict.text : x->why;
        if (!x->opened) said = ""; /* stderr has it */
        layout_cell(&t, "%s", x->name);
        layout_cell(&t, "%s", x->version[0] != '\0' ? x->version : "-");
        layout_cell(&t, "%s", x->choice[0] != '\0' ? x->choice : "-");
        layout_cell(&t, "%s",
                    !x->opened              ? "not here"
                    : isnan(x->share[type]) ? "-"
                                            : term_percent(x->share[type], number));
        if (said[0] != '\0') layout_note(&t), fprintf(text, "%s%s", x->outcome == SIDE_TIMED ? "doubtful: " : "", said);
        layout_end(&t);
    }
    layout_left_out(&t);
    print_busy(text, "busy       at 2048 ", g);
    fputc('\n', text);
}

void against_print_header(FILE *text, const against *g, const char *group, tw_dtype dtype, layout_table *table)
{
    bool is_doubtful = false;
    for (int i = 1; i < g->count; i++) is_doubtful |= g->sides[i].doubt[0] != '\0';
    fprintf(text, "\n%s, %s: GFLOP/s of medians; ratios: tilewright / best library%s\n", group,
            tw_lab_dtype_of(dtype)->name, is_doubtful ? "; ?: doubtful, as said above" : "");
    layout_column columns[LAYOUT_MOST] = {{"m x n x k", -18, 0}};
    int count = 1;
    for (int i = 0; i < g->count; i++)
        if (g->sides[i].opened) /* of a library that is left out `best` still has the name, where it is the fastest */
            columns[count++] = (layout_column){g->sides[i].name, 10, i};
    columns[count++] = (layout_column){"best", -9, 0, true, NULL};
    columns[count++] = (layout_column){"medians", 7, 0, false, NULL};
    columns[count++] = (layout_column){"bests", 7, MOST_SIDES, false, NULL};
    layout_begin(table, text, columns, count);
    layout_titles(table);
}

static double median_s(const side *x) { return x->result.median_s; }
static double best_s(const side *x) { return x->result.min_s; }

/* Of all libraries whose product is right. */
static const side *fastest(const against *g, double (*seconds)(const side *))
{
    const side *found = NULL;
    for (int i = 1; i < g->count; i++)
        if (g->sides[i].outcome == SIDE_TIMED && (found == NULL || seconds(&g->sides[i]) < seconds(found)))
            found = &g->sides[i];
    return found;
}

static void print_cell(layout_table *t, const against *g, const side *x)
{
    term_number speed;
    if (x->outcome == SIDE_TIMED)
        layout_cell(t, "%s", term_gflops(roofline_flops(&g->problem) / x->result.median_s / 1e9, speed));
    else
        layout_cell(t, "%s", x->outcome == SIDE_WRONG ? "WRONG" : x->outcome == SIDE_GONE ? "gone" : "-");
}

void against_mean_add(against_mean *mean, double median, double best)
{
    mean->count++;
    mean->log_median += log(median);
    mean->log_best += log(best);
}

void against_print_case(layout_table *t, const against *g, against_mean *group, against_mean *all)
{
    const side *ours = &g->sides[0], *peer = fastest(g, median_s), *best = fastest(g, best_s);
    case_name name;
    term_progress_end();
    layout_cell(t, "%s", case_text(&g->problem, name));
    for (int i = 0; i < g->count; i++)
        if (g->sides[i].opened) print_cell(t, g, &g->sides[i]);
    if (ours->outcome != SIDE_TIMED || peer == NULL) {
        layout_cell(t, "-");
        layout_end(t);
        return;
    }
    double of_medians = median_s(peer) / median_s(ours), of_bests = best_s(best) / best_s(ours);
    against_mean_add(group, of_medians, of_bests);
    against_mean_add(all, of_medians, of_bests);
    layout_cell(t, "%s%s", peer->name, peer->doubt[0] != '\0' ? "?" : "");
    layout_cell(t, "%.3f", of_medians);
    layout_cell(t, "%.3f", of_bests);
    layout_end(t);
    print_busy(t->out, "           ", g);
}

void against_print_mean(FILE *text, const char *what, const against_mean *mean)
{
    if (mean->count == 0) return;
    fprintf(text, "geometric mean of %d, %s: %.3f of medians, %.3f of bests\n", mean->count, what,
            exp(mean->log_median / mean->count), exp(mean->log_best / mean->count));
}
