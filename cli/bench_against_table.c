/* bench_against_table.c - the tables of `bench --against`. */
#include "bench_against.h"

#include <math.h>
#include "../lab/roofline.h"
#include "term.h"

void against_print_sides(FILE *text, const against *g, tw_dtype dtype)
{
    term_number number;
    int type = peer_type(dtype);
    bool busy = g->sides[0].share[type] < AGAINST_LEAST_SHARE; /* or our own product is bad here */
    term_progress_end();
    fprintf(text, "against    %s, %s: %s, %d thread%s, ", g->setup.device->engine, g->setup.device->name,
            tw_lab_dtype_of(dtype)->name, g->threads, g->threads == 1 ? "" : "s");
    if (g->peak_flops[type] > 0)
        fprintf(text, "peak %s GFLOP/s of multiply-adds\n", term_gflops(g->peak_flops[type] / 1e9, number));
    else
        fprintf(text, "the peak could not be measured (%s): no library is checked against %.0f %% of it\n",
                g->why_no_peak, 100 * AGAINST_LEAST_SHARE);
    fprintf(text, "rest       at least %d ms before each sample", WORKERS_QUIET_MS);
    if (g->pause_s > 0) fprintf(text, "; %g us of other work before each call, which is timed alone", 1e6 * g->pause_s);
    fprintf(text, "\n\n%-10s %-34s %-24s %s\n", "library", "version", "its kernels", "of peak at 2048");
    for (int i = 0; i < g->count; i++) {
        const side *x = &g->sides[i];
        fprintf(text, "%-10s %-34s %-24s ", x->name, x->version[0] != '\0' ? x->version : "-",
                x->choice[0] != '\0' ? x->choice : "-");
        if (isnan(x->share[type]) && x->outcome == SIDE_TIMED)
            fprintf(text, "-\n");
        else if (isnan(x->share[type]))
            fprintf(text, "-  %s\n", x->outcome == SIDE_WRONG ? x->verdict.text : x->why);
        else if (x->share[type] < AGAINST_LEAST_SHARE)
            fprintf(text, "%s  below %.0f %%%s\n", term_percent(x->share[type], number), 100 * AGAINST_LEAST_SHARE,
                    x->row == NULL ? ": is the machine busy?"
                    : busy         ? ": misconfigured, or the machine is busy; left out of the ratios"
                                   : ": misconfigured; left out of the ratios");
        else
            fprintf(text, "%s\n", term_percent(x->share[type], number));
    }
}

void against_print_header(FILE *text, const against *g, const char *group, tw_dtype dtype)
{
    fprintf(text, "\n%s, %s: GFLOP/s of medians; ratios: tilewright / best library\n", group,
            tw_lab_dtype_of(dtype)->name);
    fprintf(text, "%-18s", "m x n x k");
    for (int i = 0; i < g->count; i++)
        if (g->sides[i].opened) fprintf(text, " %10s", g->sides[i].name);
    fprintf(text, " | %-9s %7s %7s\n", "best", "medians", "bests");
}

static double median_s(const side *x) { return x->result.median_s; }
static double best_s(const side *x) { return x->result.min_s; }

static const side *fastest(const against *g, double (*seconds)(const side *))
{
    const side *found = NULL;
    for (int i = 1; i < g->count; i++)
        if (against_counts(&g->sides[i], g->problem.dtype) && (found == NULL || seconds(&g->sides[i]) < seconds(found)))
            found = &g->sides[i];
    return found;
}

static void print_cell(FILE *text, const against *g, const side *x)
{
    term_number speed;
    if (x->outcome == SIDE_TIMED)
        fprintf(text, " %10s", term_gflops(roofline_flops(&g->problem) / x->result.median_s / 1e9, speed));
    else
        fprintf(text, " %10s", x->outcome == SIDE_WRONG ? "WRONG" : x->outcome == SIDE_GONE ? "gone" : "-");
}

void against_mean_add(against_mean *mean, double median, double best)
{
    mean->count++;
    mean->log_median += log(median);
    mean->log_best += log(best);
}

void against_print_case(FILE *text, const against *g, against_mean *group, against_mean *all)
{
    const side *ours = &g->sides[0], *peer = fastest(g, median_s), *best = fastest(g, best_s);
    case_name name;
    term_progress_end();
    fprintf(text, "%-18s", case_text(&g->problem, name));
    for (int i = 0; i < g->count; i++)
        if (g->sides[i].opened) print_cell(text, g, &g->sides[i]);
    if (ours->outcome != SIDE_TIMED || peer == NULL) {
        fprintf(text, " | -\n");
        return;
    }
    double of_medians = median_s(peer) / median_s(ours), of_bests = best_s(best) / best_s(ours);
    against_mean_add(group, of_medians, of_bests);
    against_mean_add(all, of_medians, of_bests);
    fprintf(text, " | %-9s %7.3f %7.3f\n", peer->name, of_medians, of_bests);
}

void against_print_mean(FILE *text, const char *what, const against_mean *mean)
{
    if (mean->count == 0) return;
    fprintf(text, "geometric mean of %d, %s: %.3f of medians, %.3f of bests\n", mean->count, what,
            exp(mean->log_median / mean->count), exp(mean->log_best / mean->count));
}
