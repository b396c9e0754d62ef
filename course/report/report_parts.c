/* report_parts.c - devices, ladders with their tables, method; and the tables that stand alone. */
#include "report_limits.h"
#include "report_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "../../lab/devices.h"
#include "../../program/units.h"
#include "html.h"

static const char *count_or_dash(int64_t value, units_text out)
{
    if (value < 0) return strcpy(out, "-");
    snprintf(out, UNITS_TEXT, "%" PRId64, value);
    return out;
}

/* A share of an error bound: two digits say enough. */
static const char *small(double value, units_text out)
{
    if (!isfinite(value)) return strcpy(out, "-");
    snprintf(out, UNITS_TEXT, "%.2g", value);
    return out;
}

/* ---- where records come from ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Different texts of a field over a machine's records (-1: all), of each `length` bytes at most; *unknown: records that
 * have none. */
static int count_texts(const report *r, int machine, size_t field, int length, int *unknown)
{
    const char **texts = calloc((size_t)r->all->count + 1, sizeof *texts);
    int found = 0, different = 0;
    *unknown = 0;
    *r->no_memory |= texts == NULL;
    for (int i = 0; texts != NULL && i < r->all->count; i++) {
        const int of = r->ladders->machine_of[i];
        const char *text = *(const char *const *)((const char *)&r->all->rows[i].r + field);
        if (of < 0 || (machine >= 0 && of != machine)) continue;
        if (text == NULL)
            ++*unknown;
        else
            texts[found++] = text;
    }
    if (found > 0) qsort(texts, (size_t)found, sizeof *texts, by_text);
    for (int i = 0; i < found; i++) different += i == 0 || strncmp(texts[i - 1], texts[i], (size_t)length) != 0;
    free(texts);
    return different;
}

/* "3 runs", "3 runs (unknown of 51 records)", "unknown runs" */
static const char *tell_count(int count, int unknown, const char *what, char out[80])
{
    int used = count == 0 ? snprintf(out, 80, "unknown %ss", what)
                          : snprintf(out, 80, "%d %s%s", count, what, count == 1 ? "" : "s");
    if (count > 0 && unknown > 0)
        snprintf(out + used, 80 - (size_t)used, " (unknown of %d record%s)", unknown, unknown == 1 ? "" : "s");
    return out;
}

static void tell_origin(const report *r)
{
    enum { DAY = 10 }; /* letters of "2026-11-21" */
    char hosts[80], days[80], runs[80];
    int unknown, count = count_texts(r, -1, offsetof(record, host), RECORDS_TEXT_BYTES, &unknown);
    tell_count(count, unknown, "host", hosts);
    count = count_texts(r, -1, offsetof(record, time), DAY, &unknown);
    tell_count(count, unknown, "day", days);
    count = count_texts(r, -1, offsetof(record, run_id), RECORDS_TEXT_BYTES, &unknown);
    tell_count(count, unknown, "run", runs);
    html_print(r->out,
               "The records are of %t, %t and %t; a row's peak and bandwidth were measured in the run of the row, and "
               "the peak of a picture is the largest of its rows. ",
               hosts, days, runs);
}

/* The most that other processes used beside a machine's records; NAN: unknown. */
static double others_of(const report *r, int number)
{
    double most = NAN;
    for (int i = 0; i < r->all->count; i++)
        if (r->ladders->machine_of[i] == number) most = fmax(most, r->all->rows[i].r.others); /* passes over NAN */
    return most;
}

/* ---- devices ---- */

static void fact(FILE *out, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0') html_print(out, "<dt>%h</dt><dd>%t</dd>\n", name, text);
}

/* The largest of a field over a machine's records of one type. */
static double best_peak(const report *r, int machine, const char *dtype)
{
    double best = NAN;
    for (int i = 0; i < r->all->count; i++) {
        const record *d = &r->all->rows[i].r;
        if (r->ladders->machine_of[i] != machine || strcmp(d->dtype, dtype) != 0) continue;
        if (!isnan(d->peak_gflops) && !(best >= d->peak_gflops)) best = d->peak_gflops;
    }
    return best;
}

static void tell_ceilings(const report *r, int number, const published_device *p)
{
    static const char *const dtypes[] = {"f32", "f64"};
    const ladder *l = ladder_main(r->ladders, number);
    units_text text;
    char words[200];
    for (int i = 0; i < 2; i++) {
        double peak = best_peak(r, number, dtypes[i]);
        if (isnan(peak)) continue;
        int used = snprintf(words, sizeof words, "%s GFLOP/s measured", report_speed(peak, text));
        if (p != NULL && i == 0)
            snprintf(words + used, sizeof words - (size_t)used, ", %.5g published", p->peak_gflops);
        html_print(r->out, "<dt>Multiply-adds, %h</dt><dd>%t</dd>\n", dtypes[i], words);
    }
    double gbps = l != NULL ? report_memory_gbps(l) : (double)NAN;
    if (isnan(gbps)) return;
    int used = snprintf(words, sizeof words, "%s GB/s measured", report_speed(gbps, text));
    if (p != NULL) snprintf(words + used, sizeof words - (size_t)used, ", %.5g published", p->memory_gbps);
    fact(r->out, "Memory, reads", words);
}

static void card(const report *r, int number)
{
    const machine *x = &r->ladders->machines[number];
    const published_device *p = devices_published(x->device);
    const char *first = NULL, *last = NULL, *version = NULL;
    int count = 0;
    units_text text;
    for (int i = 0; i < r->all->count; i++) {
        const record *d = &r->all->rows[i].r;
        if (r->ladders->machine_of[i] != number) continue;
        count++;
        if (d->time != NULL && (first == NULL || strcmp(d->time, first) < 0)) first = d->time;
        if (d->time != NULL && (last == NULL || strcmp(d->time, last) > 0)) last = d->time;
        if (d->version != NULL) version = d->version;
    }
    fputs("<article class=\"card\">\n<h3>", r->out);
    report_machine_name(r, number);
    fputs("</h3>\n<dl>\n", r->out);
    fact(r->out, "Host", x->host != NULL ? x->host : x->number > 0 ? "unknown" : NULL);
    fact(r->out, "Code for", x->instruction_set);
    fact(r->out, "Driver", x->driver);
    fact(r->out, "Tilewright", version);
    tell_ceilings(r, number, p);
    if (p != NULL) {
        fact(r->out, "Published", p->source);
        snprintf(text, sizeof text, "%d", p->multiprocessors);
        fact(r->out, "Multiprocessors", text);
    }
    fact(r->out, "Records", count_or_dash(count, text));
    if (first != NULL && strcmp(first, last) == 0)
        fact(r->out, "Measured", first);
    else if (first != NULL)
        html_print(r->out, "<dt>Measured</dt><dd>%t to %t</dd>\n", first, last);
    int unknown, runs = count_texts(r, number, offsetof(record, run_id), RECORDS_TEXT_BYTES, &unknown);
    char told[80];
    if (runs > 0) fact(r->out, "In", tell_count(runs, unknown, "run", told));
    const double others = others_of(r, number);
    snprintf(told, sizeof told, "up to %.0f %% of the processors", 100 * others);
    if (!isnan(others)) fact(r->out, "Others used", told);
    fputs("</dl>\n</article>\n", r->out);
}

tw_status report_devices(const report *r)
{
    fputs("<section id=\"devices\" aria-labelledby=\"devices-h\">\n<h2 id=\"devices-h\">Devices</h2>\n", r->out);
    if (r->ladders->machine_count == 0) fputs("<p>The records hold hardware counters only, no times.</p>\n", r->out);
    fputs("<div class=\"side\">\n", r->out);
    for (int i = 0; i < r->ladders->machine_count; i++) card(r, i);
    fputs("</div>\n</section>\n", r->out);
    return TW_OK;
}

/* ---- ladders ---- */

static void bars_figure(const report *r, const ladder *l)
{
    fputs("<figure>\n", r->out);
    report_draw_bars(r, l, false);
    fputs("<figcaption>", r->out);
    report_caption_bars(r, l);
    fputs("The table below has the numbers.</figcaption>\n</figure>\n", r->out);
}

static void roofline_figure(const report *r, const ladder *l)
{
    if (!report_has_roofline(l)) return;
    fputs("<figure>\n", r->out);
    report_draw_roofline(r, l);
    fputs("<figcaption>", r->out);
    report_caption_roofline(r, l);
    fputs(" A dot above its bound has a cache to thank.</figcaption>\n</figure>\n", r->out);
}

static void rung_row(table *t, const ladder *l, const ladder_step *step, const records_row *row, bool second)
{
    const record *d = &row->r;
    units_text x;
    char text[1200];
    snprintf(text, sizeof text, "%s%s", step->label, second ? ", default build" : "");
    table_row(t, text);
    if (!row_timed(row)) {
        const bool wrong = d->verified != NULL && strcmp(d->verified, "WRONG") == 0;
        snprintf(text, sizeof text, "%s%.1100s",
                 wrong ? "WRONG: no time was taken " : "refused: ", d->refused != NULL ? d->refused : "");
        table_words(t, wrong, text);
        return;
    }
    const ladder_step *before = ladder_before(l, step);
    const records_row *compared = before == NULL ? NULL : second ? before->by_default : before->row;
    double factor = compared != NULL && row_timed(compared) ? compared->r.median_s / d->median_s : (double)NAN;
    table_cell(t, count_or_dash(d->block_threads >= 0 ? d->block_threads : d->threads, x));
    table_cell(t, units_seconds(d->median_s, x));
    table_cell(t, report_speed(d->gflops, x));
    table_cell(t, units_factor(factor, x));
    table_cell(t, units_percent(d->gflops / d->peak_gflops, x));
    table_cell(t, units_bytes(d->bytes_asked, x));
    table_cell(t, units_number(report_flops(d) / d->bytes_asked, x));
    table_cell(t, report_speed(row_no_cache_gflops(row), x));
    table_cell(t, report_speed(d->bound_gflops, x));
    table_cell(t, units_percent(d->fraction_of_bound, x));
    table_cell(t, count_or_dash(d->registers, x));
    table_cell(t, d->spill_bytes > 0 ? units_bytes((double)d->spill_bytes, x) : count_or_dash(d->spill_bytes, x));
    table_cell(t, units_percent(d->occupancy, x));
    table_cell(t, small(d->error_ratio, x));
    table_cell(t, units_percent(d->others, x));
}

static void ladder_table(const report *r, const ladder *l, int number)
{
    static const char *const headings[] = {"Median",      "GFLOP/s",       "Over the rung before", "Of peak",
                                           "Bytes asked", "Flop per byte", "No-cache GFLOP/s",     "Bound GFLOP/s",
                                           "Of bound",    "Registers",     "Spilled bytes",        "Occupancy",
                                           "Error",       "Others"};
    char label[200];
    report_shape_text shape;
    report_machine_text machine;
    table t;
    snprintf(label, sizeof label, "Table of the rungs, %s", report_machine(r, number, machine));
    table_begin(&t, r->out, label);
    html_print(r->out, "<caption>%t, %t, %h.</caption>\n", machine, report_shape(l, shape), l->wide ? "f64" : "f32");
    table_heading(&t, "Rung");
    table_heading(&t, strcmp(r->ladders->machines[number].engine, "cpu") == 0 ? "Threads" : "Threads of a block");
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++) table_heading(&t, headings[i]);
    for (int i = 0; i < l->count; i++) {
        rung_row(&t, l, &l->steps[i], l->steps[i].row, false);
        if (l->steps[i].by_default != NULL) rung_row(&t, l, &l->steps[i], l->steps[i].by_default, true);
    }
    *r->no_memory |= !table_end(&t);
}

/* The label that comes after `last` (NULL: the first) in the main ladders of all machines; NULL: there is none. */
static const char *next_label(const ladders *l, const char *last)
{
    const char *next = NULL;
    for (int i = 0; i < l->machine_count; i++) {
        const ladder *x = ladder_main(l, i);
        for (int s = 0; x != NULL && s < x->count; s++)
            if ((last == NULL || rung_compare(x->steps[s].label, last) > 0) &&
                (next == NULL || rung_compare(x->steps[s].label, next) < 0))
                next = x->steps[s].label;
    }
    return next;
}

/* The same rung on every machine, where there are several. */
static void compare_machines(const report *r)
{
    FILE *out = r->out;
    const ladders *l = r->ladders;
    table t;
    int shown = 0;
    for (int i = 0; i < l->machine_count; i++) shown += ladder_main(l, i) != NULL;
    if (shown < 2) return;
    fputs("<h3>Side by side</h3>\n", out);
    table_begin(&t, out, "The rungs on every machine");
    fputs("<caption>GFLOP/s of each rung in its first build, on each machine's own main shape.</caption>\n", out);
    table_heading(&t, "Rung");
    for (int i = 0; i < l->machine_count; i++) {
        const ladder *x = ladder_main(l, i);
        report_shape_text shape;
        report_machine_text machine;
        char text[sizeof shape + sizeof machine];
        if (x == NULL) continue;
        snprintf(text, sizeof text, "%s, %s", report_machine(r, i, machine), report_shape(x, shape));
        table_heading(&t, text);
    }
    for (const char *label = NULL; (label = next_label(l, label)) != NULL;) {
        table_row(&t, label);
        for (int i = 0; i < l->machine_count; i++) {
            const ladder *x = ladder_main(l, i);
            const ladder_step *step = x != NULL ? ladder_step_named(x, label) : NULL;
            units_text text;
            if (x != NULL) table_cell(&t, report_speed(step != NULL ? row_speed(step->row) : (double)NAN, text));
        }
    }
    *r->no_memory |= !table_end(&t);
}

/* A cell of a Markdown table: nothing in it ends the cell or the line. */
static void markdown_cell(FILE *out, const char *text)
{
    fputs(" ", out);
    for (int bytes; *text != '\0'; text += bytes) {
        bytes = utf8_sequence_bytes((const unsigned char *)text);
        if (strchr("|\\`*[]<&", *text) != NULL) putc('\\', out);
        if (bytes == 0)
            fputs("\xef\xbf\xbd", out), bytes = 1;
        else if ((unsigned char)*text < 0x20 || *text == 0x7f)
            putc(' ', out);
        else
            fwrite(text, 1, (size_t)bytes, out);
    }
    fputs(" |", out);
}

void report_markdown(const report *r)
{
    FILE *out = r->out;
    const ladders *l = r->ladders;
    fputs("| rung | idea |", out);
    for (int i = 0; i < l->machine_count; i++) {
        const ladder *x = ladder_main(l, i);
        char head[500];
        report_shape_text shape;
        report_device_text device;
        if (x == NULL) continue;
        snprintf(head, sizeof head, "%.20s, %s, %s", report_engine_name(l->machines[i].engine),
                 report_device(&l->machines[i], device), report_shape(x, shape));
        markdown_cell(out, head);
    }
    fputs("\n|---|---|", out);
    for (int i = 0; i < l->machine_count; i++)
        if (ladder_main(l, i) != NULL) fputs("---:|", out);
    fputs("\n", out);
    for (const char *label = NULL; (label = next_label(l, label)) != NULL;) {
        const tw_lab_kernel *kernel = NULL;
        for (int i = 0; kernel == NULL && i < l->machine_count; i++) {
            const ladder_step *step = ladder_main(l, i) != NULL ? ladder_step_named(ladder_main(l, i), label) : NULL;
            if (step != NULL) kernel = row_kernel(step->row);
        }
        fputs("|", out);
        markdown_cell(out, label);
        markdown_cell(out, kernel != NULL ? kernel->idea : "");
        for (int i = 0; i < l->machine_count; i++) {
            const ladder *x = ladder_main(l, i);
            const ladder_step *step = x != NULL ? ladder_step_named(x, label) : NULL;
            units_text t;
            if (x == NULL) continue;
            fprintf(out, " %s", report_speed(step != NULL ? row_speed(step->row) : (double)NAN, t));
            if (step != NULL && step->by_default != NULL)
                fprintf(out, " (%s)", report_speed(row_speed(step->by_default), t));
            fputs(" |", out);
        }
        fputs("\n", out);
    }
}

tw_status report_charts(const report *r)
{
    FILE *out = r->out;
    fputs("<section id=\"ladders\" aria-labelledby=\"ladders-h\">\n<h2 id=\"ladders-h\">Ladders and rooflines</h2>\n"
          "<p>In the tables, <em>no-cache</em> is what the bytes asked allow at memory's bandwidth, at most the peak: "
          "the documents' bound, which caches may beat; <em>bound</em> is what the peak, and moving each operand once, "
          "allow, which nothing may beat; <em>error</em> is the worst element's, as a share of its own bound. "
          "<em>others</em> is the share of the processors that other processes used meanwhile. ",
          out);
    tell_origin(r);
    fputs("A rung has one colour on the whole page, and so have rungs of one idea: r02 to r04 load tiles, r05 to r07 "
          "compute outer products, r08 to r10 give each thread more work, r11 to r13 use what the machine offers, r14 "
          "is what <code>tw_gemm</code> runs.</p>\n",
          out);
    for (int i = 0; i < r->ladders->machine_count; i++) {
        const ladder *l = ladder_main(r->ladders, i);
        if (l == NULL) continue;
        fputs("<h3>", out);
        report_machine_name(r, i);
        fputs("</h3>\n", out);
        if (l->timed > 0) {
            bars_figure(r, l);
            roofline_figure(r, l);
            report_limits(r, l);
            report_tiles(r, l);
        }
        ladder_table(r, l, i);
    }
    compare_machines(r);
    fputs("</section>\n", out);
    return TW_OK;
}

/* ---- method ---- */

tw_status report_method(const report *r)
{
    FILE *out = r->out;
    fputs("<section id=\"method\" aria-labelledby=\"method-h\">\n<h2 id=\"method-h\">How it was measured</h2>\n<ul>\n",
          out);
    const char *last = "";
    for (;;) { /* each method once, in order */
        const char *next = NULL;
        int count = 0;
        int64_t least = INT64_MAX, most = 0;
        for (int i = 0; i < r->all->count; i++) {
            const char *method = r->all->rows[i].r.method;
            if (strcmp(method, last) > 0 && (next == NULL || strcmp(method, next) < 0)) next = method;
        }
        if (next == NULL) break;
        last = next;
        for (int i = 0; i < r->all->count; i++) {
            const record *d = &r->all->rows[i].r;
            if (strcmp(d->method, last) != 0) continue;
            count++;
            if (d->samples > 0 && d->samples < least) least = d->samples;
            if (d->samples > most) most = d->samples;
        }
        html_print(out, "<li>%d records: %t", count, last);
        if (most > 0 && least == most)
            html_print(out, "; median of %d samples", (int)most);
        else if (most > 0)
            html_print(out, "; median of %d to %d samples", (int)least, (int)most);
        fputs("</li>\n", out);
    }
    fputs(
        "<li>Before it is timed, each kernel passes two oracles. Exact: operands are small integers whose product is "
        "exact in the type that sums; one differing bit fails. Bound: random operands, and every element checked "
        "must obey |c - reference| &le; |alpha| g(k+2) &Sigma;|a||b| + g(2) |beta c0| + (k+1) smallest subnormal + "
        "rounding of the output, g(n) = n u / (1 - n u), u the unit roundoff of the type that sums (2<sup>-24</sup> "
        "in f32). NaN never passes. Where the product is large, elements are sampled, and the record says "
        "so.</li>\n<li>The peak and the bandwidth of a record were measured in its own run: independent multiply-adds "
        "in registers, and reads of a working set. A share above 1.02 of the bound fails the run.</li>\n",
        out);
    if (r->ladders->superseded > 0)
        html_print(out, "<li>%d records were superseded by newer ones of the same kind, and are not shown.</li>\n",
                   r->ladders->superseded);
    fputs("</ul>\n", out);
    int verified = 0, timed = 0;
    for (int i = 0; i < r->all->count; i++) {
        const record *d = &r->all->rows[i].r;
        timed += row_timed(&r->all->rows[i]);
        verified += d->verified != NULL &&
                    (strncmp(d->verified, "exact", 5) == 0 || strncmp(d->verified, "bound", 5) == 0);
    }
    html_print(out, "<p>%d of %d timed records passed their oracles.</p>\n</section>\n", verified, timed);
    return TW_OK;
}
