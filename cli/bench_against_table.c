/* bench_against_table.c - the tables of `bench --against`. */
#include "bench_against.h"

#include <math.h>
#include "../lab/busy.h"
#include "../lab/roofline.h"
#include "term.h"

/* Behind `before`, what other processes used in the present case, where times cannot bear it. */
static void print_busy(FILE *text, const char *before, const against *g)
{
    if (g->others >= BUSY_DISTURBS)
        fprintf(text, "%sother processes used %.0f %% of the processors", before, 100 * g->others);
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
    fprintf(text, "\n\n%-10s %-34s %-24s %s\n", "library", "version", "its kernels", "of peak at 2048");
    for (int i = 0; i < g->count; i++) {
        const side *x = &g->sides[i];
        fprintf(text, "%-10s %-34s %-24s ", x->name, x->version[0] != '\0' ? x->version : "-",
                x->choice[0] != '\0' ? x->choice : "-");
        const char *said = x->outcome == SIDE_TIMED ? x->doubt : x->outcome == SIDE_WRONG ? x->verdict.text : x->why;
        fprintf(text, "%s%s%s%s\n", isnan(x->share[type]) ? "-" : term_percent(x->share[type], number),
                said[0] != '\0' ? "  " : "", x->outcome == SIDE_TIMED && said[0] != '\0' ? "doubtful: " : "", said);
    }
    print_busy(text, "busy       at 2048 ", g);
    fputc('\n', text);
}

void against_print_header(FILE *text, const against *g, const char *group, tw_dtype dtype)
{
    bool is_doubtful = false;
    for (int i = 1; i < g->count; i++) is_doubtful |= g->sides[i].doubt[0] != '\0';
    fprintf(text, "\n%s, %s: GFLOP/s of medians; ratios: tilewright / best library%s\n", group,
            tw_lab_dtype_of(dtype)->name, is_doubtful ? "; ?: doubtful, as said above" : "");
    fprintf(text, "%-18s", "m x n x k");
    for (int i = 0; i < g->count; i++)
        if (g->sides[i].opened) fprintf(text, " %10s", g->sides[i].name);
    fprintf(text, " | %-9s %7s %7s\n", "best", "medians", "bests");
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
    char name_and_mark[16];
    snprintf(name_and_mark, sizeof name_and_mark, "%s%s", peer->name, peer->doubt[0] != '\0' ? "?" : "");
    fprintf(text, " | %-9s %7.3f %7.3f", name_and_mark, of_medians, of_bests);
    print_busy(text, "  ", g);
    fputc('\n', text);
}

void against_print_mean(FILE *text, const char *what, const against_mean *mean)
{
    if (mean->count == 0) return;
    fprintf(text, "geometric mean of %d, %s: %.3f of medians, %.3f of bests\n", mean->count, what,
            exp(mean->log_median / mean->count), exp(mean->log_best / mean->count));
}
