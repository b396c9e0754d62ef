/* climb.c - see climb.h. */
#include "climb.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "../lab/devices.h"
#include "../program/term.h"

enum { DRAWN_SIZE = 4096 };

/* Of one rung's tile edges. */
static bool sweeps(const climb *c) { return c->over_tiles.places > 0; }

/* r03t and r04d are variants of r03 and r04. */
static bool rung_is_variant(const char *rung) { return rung[0] == 'r' && strcspn(rung, "_") > 3; }

/* ---- how much faster than before? ---- */

/* The time that a rung is compared with: that of the rung before it; a file's own, that of the rung that it is launched
 * like, which it follows. A variant such as r03t is compared as the rung that it varies was; a sweep of tile edges
 * compares each edge with the one before. */
static double time_before(const climb *c, const climb_pace *p, const char *rung)
{
    bool varies = !sweeps(c) && rung_is_variant(rung) && strncmp(rung, p->rung, 3) == 0;
    return varies ? p->earlier_s : p->last_s;
}

/* Production kernels are compared with the last rung, all of them. */
static void note_time(climb *c, climb_pace *p, const record *d, const row_wish *wish)
{
    bool swept = sweeps(c), family = wish->kernel != NULL && wish->kernel->family;
    if (!swept && (wish->source != NULL || family || rung_is_variant(d->rung))) return;
    p->earlier_s = p->last_s;
    p->last_s = d->median_s;
    snprintf(p->rung, sizeof p->rung, "%.3s", d->rung);
    if (swept || strncmp(d->rung, "r01_", 4) != 0) return;
    c->naive_s = d->median_s;
    c->naive_by_default = p == &c->by_default;
}

/* ---- telling ---- */

static void print_header(climb *c)
{
    FILE *text = c->text;
    fprintf(text, "ladder     %s, C(%" PRId64 " x %" PRId64 ") = A%s B%s with k = %" PRId64 ", on %s: %s\n\n",
            tw_lab_dtype_of(c->problem.dtype)->name, c->problem.m, c->problem.n, c->problem.op_a == TW_T ? "^T" : "",
            c->problem.op_b == TW_T ? "^T" : "", c->problem.k, c->device->engine, c->device->name);
    const layout_column columns[] = {{"rung", -c->width, 0}, {"thr", 4, 5},      {"median", 9, 0},  {"min-max", 10, 7},
                                     {"GFLOP/s", 7, 0},      {"x before", 8, 1}, {"of peak", 7, 2}, {"asked", 8, 6},
                                     {"flop/B", 6, 4},       {"no-cache", 8, 5}, {"bound", 7, 3}};
    layout_begin(&c->table, text, columns, sizeof columns / sizeof *columns);
    layout_titles(&c->table);
}

/* beside: of a file's own kernel, whose rung was sampled in turns with it. */
static void print_numbers(climb *c, const row *r, double before_s, bool beside)
{
    const record *d = &r->record;
    term_number median, span, speed, of_peak, asked, no_cache, bound;
    char factor[16] = "";
    if (beside && measure_tells(&r->turns) && !measure_differs(&r->turns))
        snprintf(factor, sizeof factor, "same");
    else if (beside)
        snprintf(factor, sizeof factor, "%.2f", r->turns.speed);
    else if (!isnan(before_s))
        snprintf(factor, sizeof factor, "%.2f", before_s / d->median_s);
    layout_table *t = &c->table;
    layout_cell(t, "%d", row_threads(r));
    layout_cell(t, "%s", term_seconds(d->median_s, median));
    layout_cell(t, "%s", term_span(d->min_s, d->max_s, d->median_s, span));
    layout_cell(t, "%s", term_gflops(d->gflops, speed));
    layout_cell(t, "%s", factor);
    layout_cell(t, "%s", term_percent(d->gflops / d->peak_gflops, of_peak));
    layout_cell(t, "%s", term_bytes(d->bytes_asked, asked));
    layout_cell(t, "%.3g", 2 * (double)d->m * (double)d->n * (double)d->k / d->bytes_asked);
    layout_cell(t, "%s", term_gflops(d->bound_asked_gflops, no_cache));
    layout_cell(t, "%s", term_gflops(d->bound_gflops, bound));
    layout_end(t);
}

/* How a file's own kernel stands beside the rung that it was timed with. */
static void print_turns(const climb *c, const row *r, const tw_lab_kernel *like, bool beside)
{
    const measure_work *w = &r->turns;
    fprintf(c->text, "  launched like %s", like->rung);
    const char *verdict = !measure_tells(w)    ? "too few rounds to tell: "
                          : measure_differs(w) ? ""
                                               : "no clear difference: ";
    if (beside)
        fprintf(c->text, ": %s%.3g times its speed, %.3g to %.3g in the middle two thirds of %d rounds", verdict,
                w->speed, w->low_speed, w->high_speed, w->rounds);
    fputc('\n', c->text);
}

static void name_row(const climb *c, const row *r, const row_wish *wish, char label[CLIMB_LABEL])
{
    const tw_lab_kernel *kernel = wish->kernel;
    int64_t tile = r->plan.tile > 0 && wish->tile > 0 ? r->plan.tile : wish->tile; /* never more than the problem */
    int used = snprintf(label, CLIMB_LABEL, "%s", wish->rung != NULL ? wish->rung : kernel != NULL ? kernel->rung : "");
    if (tile > 0) used += snprintf(label + used, CLIMB_LABEL - (size_t)used, " %" PRId64, tile);
    if (kernel != NULL && kernel->dtype != c->problem.dtype)
        snprintf(label + used, CLIMB_LABEL - (size_t)used, " %s", tw_lab_dtype_of(kernel->dtype)->name);
}

/* Of several sizes one has its bars drawn: 4096, the documents', else the last. */
static bool has_bars(const climb *c)
{
    const curves *sizes = &c->over_sizes;
    int drawn = sizes->places - 1;
    for (int i = 0; i < sizes->places; i++)
        if (sizes->values[i] == DRAWN_SIZE) drawn = i;
    return sizes->places < 2 || c->size == drawn;
}

/* A tile edge that the problem cut is no point of a curve. */
static void note_curves(climb *c, const row *r, const row_wish *wish, const char *label)
{
    const curves *tiles = &c->over_tiles;
    curves_note(&c->over_sizes, label, c->size, r->record.gflops);
    for (int i = 0; has_bars(c) && i < tiles->places; i++)
        if (wish->tile == tiles->values[i] && r->plan.tile == wish->tile)
            curves_note(&c->over_tiles, wish->rung != NULL ? wish->rung : wish->kernel->rung, i, r->record.gflops);
}

void climb_row(climb *c, const row *r, const row_wish *wish)
{
    char label[CLIMB_LABEL];
    term_number prepare;
    bool default_build = wish->default_build,
         beside = wish->source != NULL && r->outcome >= ROW_IMPOSSIBLE && r->turns.rounds > 0;
    climb_pace *p = default_build ? &c->by_default : &c->rolled;
    bool compared = strcmp(r->record.dtype, tw_lab_dtype_of(c->problem.dtype)->name) == 0;
    name_row(c, r, wish, label);
    term_progress_end();
    layout_cell(&c->table, "%s", default_build ? "  default build" : label);
    const bool repeats = default_build && r->outcome == ROW_WRONG && strcmp(r->text, c->wrong) == 0;
    if (repeats)
        layout_gap(&c->table), fputs("WRONG in the same way\n", c->text);
    else if (rows_have_numbers(&c->table, r))
        print_numbers(c, r, compared ? time_before(c, p, r->record.rung) : (double)NAN, beside);
    if ((c->deep || wish->kernel == NULL) && !default_build && r->outcome != ROW_REFUSED)
        fprintf(c->text, "  %s\n", r->plan.text);
    rows_count(&c->count, r);
    compared &= r->outcome == ROW_TIMED;
    if (compared) note_time(c, p, &r->record, wish);
    if (compared && r->record.gflops > c->best.gflops) {
        snprintf(c->best.label, sizeof c->best.label, "%s", label);
        c->best.gflops = r->record.gflops, c->best_by_default = default_build;
    }
    if (wish->source != NULL && (beside || !default_build)) print_turns(c, r, wish->kernel, beside);
    const bool as_judged = c->problem.op_a == TW_N && c->problem.op_b == TW_N; /* degrees are those of no transposes */
    if (wish->source != NULL && as_judged && !default_build && c->size == 0 && r->outcome >= ROW_IMPOSSIBLE)
        c->costly += degrees_tell(c->text, "  ", degrees_of(c->degrees, wish->source, wish->tile)) != EXIT_OK;
    if (r->record.prepare_s > 0 && !default_build)
        fprintf(c->text, "  before it, the host transposed B in %s\n", term_seconds(r->record.prepare_s, prepare));
    if (compared && !default_build) note_curves(c, r, wish, label);
    if (compared && !default_build && c->bars < CLIMB_BARS) {
        climb_bar *b = &c->bar[c->bars++];
        snprintf(b->label, sizeof b->label, "%s", label);
        b->gflops = r->record.gflops;
    }
    if (!repeats) snprintf(c->wrong, sizeof c->wrong, "%s", r->outcome == ROW_WRONG ? r->text : "");
}

static double longest_bar(const climb *c)
{
    double most = 0;
    for (int i = 0; i < c->bars; i++)
        if (c->bar[i].gflops > most) most = c->bar[i].gflops;
    return most;
}

static void print_bars(const climb *c)
{
    FILE *text = c->text;
    const int label = c->width > 20 ? c->width : 20, width = term_width() - 14 - label;
    fprintf(text, "\n");
    for (int i = 0; i < c->bars; i++) {
        term_number speed;
        fprintf(text, "%-*s %9s  ", label, c->bar[i].label, term_gflops(c->bar[i].gflops, speed));
        term_bar(text, c->bar[i].gflops, longest_bar(c), width < 10 ? 10 : width);
        fprintf(text, "\n");
    }
}

static void print_fastest(const climb *c)
{
    const tw_problem *p = &c->problem;
    const climb_bar *best = &c->best;
    term_number speed;
    if (best->gflops == 0) return;
    fprintf(c->text, "\nfastest    %s%s with %s GFLOP/s", best->label,
            c->best_by_default ? " in its default build" : "", term_gflops(best->gflops, speed));
    if (!isnan(c->naive_s) && strncmp(best->label, "r01_", 4) != 0) {
        const double times = best->gflops * 1e9 * c->naive_s / (2 * (double)p->m * (double)p->n * (double)p->k);
        fprintf(c->text, ", %.*f times the speed of r01_naive%s", times < 10 ? 2 : 1, times,
                c->naive_by_default ? " in its default build" : "");
    }
    fprintf(c->text, "\n");
}

static void print_peaks(const climb *c, const roofs *limits)
{
    bool host = device_is_host(c->device);
    fprintf(c->text, "of peak    share of the multiply-add peak of %s, measured in this run:",
            host ? "the row's own threads" : "the device");
    for (const roof *p = limits->peaks; p->threads != 0; p++) {
        term_number speed;
        if (isnan(p->best)) continue;
        fprintf(c->text, "%s %s GFLOP/s", p == limits->peaks ? "" : ",", term_gflops(p->best / 1e9, speed));
        if (host) fprintf(c->text, " on %d thread%s", p->threads, p->threads == 1 ? "" : "s");
        if (p->what != (int)c->problem.dtype) fprintf(c->text, " in %s", tw_lab_dtype_of((tw_dtype)p->what)->name);
    }
    fprintf(c->text, "\n");
}

/* A line of the legend, where the table shows the column of its name, behind any "/". */
static void note(const climb *c, const char *column, const char *words)
{
    if (layout_shows(&c->table, column)) fprintf(c->text, "%-10s %s\n", column, words);
}

static void print_notes(const climb *c, const roofs *limits)
{
    FILE *text = c->text;
    const bool host = device_is_host(c->device);
    note(c, "thr", host ? "threads" : "threads per block");
    note(
        c, "x before",
        host
            ? "speed over that of the rung before; of r14 over that of the last rung"
            : "speed over that of the rung before, in the same build. A variant (r03t, r04d) is compared with the rung "
              "before the one that it varies, r14 and production kernels with the last rung. r01 to r05 are built with "
              "compiler unrolling off; `default build` has it on");
    if (c->planned != NULL)
        fprintf(text, "%-10s %s\n", c->planned,
                "the kernel that tw_gemm runs for this shape; the line below it is the plan");
    print_peaks(c, limits);
    note(c, "min-max", "shortest and longest sample, in the median's unit");
    note(c, "asked", "bytes of A and B that the rung asks of memory");
    note(c, "flop/B", "flop per byte that the rung asks of memory");
    if (c->degrees->count > 0)
        fprintf(text,
                "%-10s launched like the rung above it, and asks what that asks. `x before` is the speed over that "
                "rung; same: no difference beyond the spread\n",
                "own:");
    note(c, "no-cache", "GFLOP/s at that flop/B and memory's bandwidth, at most the peak; caches may beat it");
    note(c, "bound", "GFLOP/s of the roofline: at most the peak, each operand moved once; nothing may beat it");
    layout_left_out(&c->table);
    if (c->count.wrong == 0 && c->count.timed > 0) fputs("Each row was verified before it was timed.\n", text);
}

void climb_begin(climb *c, const tw_problem *problem, int width)
{
    c->problem = *problem, c->width = width;
    c->naive_s = NAN;
    c->rolled = c->by_default = (climb_pace){"", NAN, NAN};
    c->bars = 0, c->best = (climb_bar){.gflops = 0};
    if (c->size > 0) fputc('\n', c->text);
    print_header(c);
}

void climb_sweep(climb *c) { c->rolled.last_s = c->by_default.last_s = NAN; }

void climb_end_size(const climb *c)
{
    if (!has_bars(c)) return;
    print_bars(c);
    print_fastest(c);
}

void climb_end(const climb *c, const roofs *limits)
{
    curves_print(
        c->text, &c->over_sizes,
        "sizes      the rungs are tuned for one size: where two letters change places, the other rung is faster");
    curves_print(c->text, &c->over_tiles,
                 "tiles      speed over the tile edge: from r02 on, a larger tile asks less of memory");
    print_notes(c, limits);
}
