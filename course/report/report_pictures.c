/* report_pictures.c - the bars and the roofline of a ladder, and what their captions say. */
#include "report_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../../lab/busy.h"
#include "chart.h"
#include "html.h"

/* ---- bars ---- */

/* Doubts about the numbers of a ladder. */
static void tell_doubts(const report *r, const ladder *l)
{
    int disturbed = 0;
    double most = 0;
    for (int i = 0; i < l->count; i++) {
        const record *d = &l->steps[i].row->r;
        record_doubt_text doubt;
        if (d->others >= BUSY_DISTURBS) disturbed++, most = fmax(most, d->others);
        if (d->fraction_of_bound > RECORD_MOST_OF_BOUND)
            html_print(r->out, "<strong class=\"wrong\">%t: %t.</strong> ", l->steps[i].label, record_doubt(d, doubt));
    }
    if (disturbed == 0) return;
    html_print(r->out,
               "<strong class=\"wrong\">While %d of %d rungs were measured other processes used %d %% of the "
               "processors or more, up to %d %%: their times may be too long.</strong> ",
               disturbed, l->count, (int)(100 * BUSY_DISTURBS), (int)(100 * most + 0.5));
}

/* The figure of 5kk73 has this shape. */
static bool is_figure(const ladder *l) { return l->m == 4096 && l->n == 4096 && l->k == 4096; }

/* of, beside: the ladders whose records hold the peak; beside may be NULL. */
static chart_bar bar_of(const ladder *of, const ladder *beside, const ladder_step *step, bool apart)
{
    const record *r = &step->row->r;
    const double peak = report_peak(of, r), other = beside != NULL ? report_peak(beside, r) : (double)NAN;
    return (chart_bar){.label = step->label,
                       .speed = row_speed(step->row),
                       .beside = row_speed(step->by_default),
                       .apart = apart,
                       .series = apart ? CHART_NO_SERIES : report_series(step->row),
                       .type = r->dtype,
                       .threads = r->threads,
                       .peak = fmax(peak, other)}; /* which passes over NAN */
}

/* Where a bar stands: the ladder's own type first, rungs before libraries, then by the number of threads. */
static int compare_bars(const chart_bar *a, const chart_bar *b, const char *own)
{
    const bool a_own = strcmp(a->type, own) == 0, b_own = strcmp(b->type, own) == 0;
    int c = a_own != b_own ? b_own - a_own : strcmp(a->type, b->type);
    if (c == 0) c = a->apart - b->apart;
    return c != 0 ? c : (a->threads > b->threads) - (a->threads < b->threads);
}

static const char *own_type(const ladder *l) { return l->wide ? "f64" : "f32"; }

/* In the order of the steps among equals. */
static void put_bar(chart_bar *bars, int count, chart_bar x, const char *own)
{
    int at = count;
    for (; at > 0 && compare_bars(&bars[at - 1], &x, own) > 0; at--) bars[at] = bars[at - 1];
    bars[at] = x;
}

void report_draw_bars(const report *r, const ladder *l, bool alone)
{
    const ladder *others = ladder_libraries(r->ladders, l);
    const int other_count = others != NULL ? others->count : 0;
    chart_bar *bars = calloc((size_t)l->count + (size_t)other_count + 1, sizeof *bars);
    char title[500];
    report_shape_text shape;
    report_device_text device;
    bool mixed = false;
    int threads = -1; /* of the last that ran: one that did not stands there */
    if (bars == NULL) {
        *r->no_memory = true;
        return;
    }
    for (int i = 0; i < l->count; i++) mixed |= ladder_compares(l, l->steps[i].row);
    for (int i = 0; i < l->count + other_count; i++) {
        const bool apart = i >= l->count;
        const ladder_step *step = apart ? &others->steps[i - l->count] : &l->steps[i];
        chart_bar x = bar_of(l, others, step, apart);
        if (!isnan(x.speed))
            threads = x.threads;
        else if (x.threads = threads, mixed)
            x.type = own_type(l);
        put_bar(bars, i, x, own_type(l));
    }
    snprintf(title, sizeof title, "%.20s on %.80s, %s %s", report_engine_name(r->ladders->machines[l->machine].engine),
             report_device(&r->ladders->machines[l->machine], device), own_type(l), report_shape(l, shape));
    chart_key keys[REPORT_KEYS];
    const int key_count = alone ? report_keys(bars, l->count + other_count, keys) : 0;
    const chart about = {
        title, "One bar per rung, speed to the right. A hollow bar is the same rung as the compiler unrolls it.",
        alone, 0,
        keys,  key_count};
    chart_bars(r->out, &about, bars, l->count + other_count);
    free(bars);
}

void report_draw_step(const report *r, const ladder *l, const ladder_step *before, const ladder_step *step)
{
    chart_bar bars[2];
    char title[2 * STEP_LABEL + 20];
    int count = 0;
    if (before != NULL) bars[count++] = bar_of(l, NULL, before, false);
    bars[count++] = bar_of(l, NULL, step, false);
    snprintf(title, sizeof title, "%s%s%s", before != NULL ? before->label : "", before != NULL ? " and " : "",
             step->label);
    const chart about = {title, "Speed to the right. A hollow bar is the same rung as the compiler unrolls it.", false};
    chart_bars(r->out, &about, bars, count);
}

void report_caption_bars(const report *r, const ladder *l)
{
    bool hollow = false, own = false, other = false;
    for (int i = 0; i < l->count; i++) {
        hollow |= !isnan(row_speed(l->steps[i].by_default));
        own |= ladder_compares(l, l->steps[i].row);
        other |= !ladder_compares(l, l->steps[i].row) && !isnan(row_speed(l->steps[i].row));
    }
    html_print(r->out, "%h%h%h%h", is_figure(l) ? "As in 5kk73: every step at 4096 x 4096. " : "",
               hollow ? "Solid: r01 to r05 with their loops held rolled, so that each step shows its one idea. Hollow: "
                        "the same in the compiler's own unrolling. "
                      : "",
               own && other ? "Each type of element has an axis of its own. " : "",
               ladder_libraries(r->ladders, l) != NULL
                   ? "At the end, in the text's colour: whole calls, of libraries and of Tilewright beside them. "
                   : "");
    tell_doubts(r, l);
}

void report_bars(const report *r)
{
    int number = 0;
    while (ladder_main(r->ladders, number) == NULL) number++;
    report_draw_bars(r, ladder_main(r->ladders, number), true);
}

/* ---- rooflines ---- */

static bool is_dot(const ladder *l, const ladder_step *step)
{
    const record *d = &step->row->r;
    return row_timed(step->row) && ladder_compares(l, step->row) && report_flops(d) > 0 && d->bytes_asked > 0 &&
           d->gflops > 0;
}

bool report_has_roofline(const ladder *l)
{
    bool has = false;
    for (int i = 0; i < l->count; i++) has |= is_dot(l, &l->steps[i]);
    return has;
}

/* The roof of a row's number of threads, the most threads first. */
static void add_roof(chart_roofs *roofs, const ladder *l, const record *r)
{
    int at = 0;
    while (at < roofs->count && roofs->roofs[at].threads > r->threads) at++;
    if (roofs->count == CHART_ROOFS || (at < roofs->count && roofs->roofs[at].threads == r->threads)) return;
    memmove(&roofs->roofs[at + 1], &roofs->roofs[at], (size_t)(roofs->count - at) * sizeof *roofs->roofs);
    roofs->roofs[at] = (chart_roof){r->threads, report_peak(l, r), report_memory_gbps_of(l, r->threads)};
    roofs->count++;
}

/* The cache's: the largest bandwidth that was measured above memory's. */
static chart_roofs roofs_of(const ladder *l)
{
    chart_roofs roofs = {.cache_gbps = NAN, .once = NAN};
    const double memory_gbps = report_memory_gbps(l);
    for (int i = 0; i < l->count; i++) {
        const records_row *row = l->steps[i].row;
        if (!is_dot(l, &l->steps[i])) continue;
        add_roof(&roofs, l, &row->r);
        if (row_operand_bytes(row) > 0) roofs.once = report_flops(&row->r) / row_operand_bytes(row);
        if (row->r.bandwidth_gbps > 1.1 * memory_gbps && !(roofs.cache_gbps >= row->r.bandwidth_gbps))
            roofs.cache_gbps = row->r.bandwidth_gbps;
    }
    return roofs;
}

/* "r04", "r02 32", "sgemm_simt_128x128". */
static void name_dot(const ladder_step *step, char out[STEP_LABEL])
{
    const tw_lab_kernel *kernel = row_kernel(step->row);
    const char *label = step->label, *tile = strchr(label, ' ');
    if (kernel != NULL && kernel->family)
        snprintf(out, STEP_LABEL, "%s", label);
    else
        snprintf(out, STEP_LABEL, "%.*s%s", (int)strcspn(label, "_"), label, tile != NULL ? tile : "");
}

void report_draw_roofline(const report *r, const ladder *l)
{
    chart_dot *dots = calloc((size_t)l->count + 1, sizeof *dots);
    char(*names)[STEP_LABEL] = calloc((size_t)l->count + 1, sizeof *names), title[240];
    report_device_text device;
    const chart_roofs roofs = roofs_of(l);
    bool room = dots != NULL && names != NULL;
    int count = 0;
    for (int i = 0; room && i < l->count; i++) {
        const records_row *row = l->steps[i].row;
        if (!is_dot(l, &l->steps[i])) continue;
        name_dot(&l->steps[i], names[count]);
        dots[count] = (chart_dot){names[count], report_flops(&row->r) / row->r.bytes_asked, row->r.gflops,
                                  row_no_cache_gflops(row), report_series(row)};
        count++;
    }
    snprintf(title, sizeof title, "Roofline, %.20s on %.80s",
             report_engine_name(r->ladders->machines[l->machine].engine),
             report_device(&r->ladders->machines[l->machine], device));
    const chart about = {title,
                         "One dot per rung: flop per byte that it asks of memory to the right, speed upwards, both "
                         "logarithmic.",
                         false};
    if (count > 0) chart_roofline(r->out, &about, &roofs, dots, count);
    *r->no_memory |= !room;
    free(names);
    free(dots);
}

void report_caption_roofline(const report *r, const ladder *l)
{
    const chart_roofs roofs = roofs_of(l);
    html_print(r->out,
               "Thick: the measured roofs, memory's bandwidth and the multiply-add peak%h%h. Thin, at each dot: the "
               "documents' bound, its bytes asked at memory's bandwidth. Roofline: Williams, Waterman, Patterson, 2009 "
               "(cited by Ruiz 2024).",
               roofs.count < 2 ? "" : "; fine, the same of fewer threads, for the rungs that have those",
               isnan(roofs.cache_gbps) ? "" : "; dashed: the bandwidth of a working set of this size");
}
