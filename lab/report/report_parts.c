/* report_parts.c - devices, charts with their tables, sizes, thin matrices, method; and the parts that stand alone. */
#include "report_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "chart.h"
#include "../devices.h"
#include "html.h"
#include "../published.h"
#include "../units.h"

static double flops(const record *r) { return 2 * (double)r->m * (double)r->n * (double)r->k; }

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
    fputs("</dl>\n</article>\n", r->out);
}

void report_devices(const report *r)
{
    fputs("<section id=\"devices\" aria-labelledby=\"devices-h\">\n<h2 id=\"devices-h\">Devices</h2>\n", r->out);
    if (r->ladders->machine_count == 0) fputs("<p>The records hold hardware counters only, no times.</p>\n", r->out);
    fputs("<div class=\"side\">\n", r->out);
    for (int i = 0; i < r->ladders->machine_count; i++) card(r, i);
    fputs("</div>\n</section>\n", r->out);
}

/* ---- ladders ---- */

static bool comparable(const ladder *l, const records_row *row)
{
    return strcmp(row->r.dtype, l->wide ? "f64" : "f32") == 0;
}

static double speed_of(const records_row *row)
{
    return row != NULL && row_timed(row) && row->r.gflops > 0 ? row->r.gflops : (double)NAN;
}

/* The figure of 5kk73 has this shape. */
static bool is_figure(const ladder *l) { return l->m == 4096 && l->n == 4096 && l->k == 4096; }

static void draw_bars(const report *r, const ladder *l, int number, bool alone)
{
    chart_bar *bars = calloc((size_t)l->count + 1, sizeof *bars);
    char title[500];
    report_shape_text shape;
    report_device_text device;
    bool mixed = false;
    if (bars == NULL) {
        *r->no_memory = true;
        return;
    }
    for (int i = 0; i < l->count; i++) mixed |= comparable(l, l->steps[i].row);
    for (int i = 0; i < l->count; i++)
        bars[i] = (chart_bar){l->steps[i].label, speed_of(l->steps[i].row), speed_of(l->steps[i].by_default),
                              mixed && !comparable(l, l->steps[i].row)};
    snprintf(title, sizeof title, "%.20s on %.80s, %s %s", report_engine_name(r->ladders->machines[number].engine),
             report_device(&r->ladders->machines[number], device), l->wide ? "f64" : "f32", report_shape(l, shape));
    const chart about = {
        title, "One bar per rung, speed to the right. A hollow bar is the same rung as the compiler unrolls it.",
        alone};
    chart_bars(r->out, &about, bars, l->count, report_peak(l));
    free(bars);
}

static void bars_figure(const report *r, const ladder *l, int number)
{
    bool hollow = false, own = false, other = false;
    for (int i = 0; i < l->count; i++) {
        hollow |= !isnan(speed_of(l->steps[i].by_default));
        own |= comparable(l, l->steps[i].row);
        other |= !comparable(l, l->steps[i].row) && !isnan(speed_of(l->steps[i].row));
    }
    fputs("<figure>\n", r->out);
    draw_bars(r, l, number, false);
    html_print(r->out, "<figcaption>%h%h%hThe table below has the numbers.</figcaption>\n</figure>\n",
               is_figure(l) ? "As in 5kk73: every step at 4096 x 4096. " : "",
               hollow ? "Solid: r01 to r05 with their loops held rolled, so that each step shows its one idea. Hollow: "
                        "the same in the compiler's own unrolling. "
                      : "",
               own && other ? "An arrow: another type of element, which neither the axis nor the peak is for. " : "");
}

void report_bars(const report *r)
{
    int number = 0;
    while (ladder_main(r->ladders, number) == NULL) number++;
    draw_bars(r, ladder_main(r->ladders, number), number, true);
}

/* The dots of a ladder, those of its own type; labels are "r04", "r02 32", "sgemm_simt_128x128". cache: the largest
 * bandwidth that was measured above memory's. */
static int make_dots(const ladder *l, chart_dot *dots, char (*names)[STEP_LABEL], chart_roofs *roofs)
{
    int count = 0;
    for (int i = 0; i < l->count; i++) {
        const record *d = &l->steps[i].row->r;
        const char *label = l->steps[i].label, *tile = strchr(label, ' ');
        if (!row_timed(l->steps[i].row) || !comparable(l, l->steps[i].row) || !(flops(d) > 0) ||
            !(d->bytes_asked > 0) || !(d->gflops > 0))
            continue;
        if (row_operand_bytes(l->steps[i].row) > 0) roofs->once = flops(d) / row_operand_bytes(l->steps[i].row);
        if (d->bandwidth_gbps > 1.1 * roofs->memory_gbps && !(roofs->cache_gbps >= d->bandwidth_gbps))
            roofs->cache_gbps = d->bandwidth_gbps;
        const tw_lab_kernel *kernel = row_kernel(l->steps[i].row);
        if (kernel != NULL && kernel->family)
            snprintf(names[count], STEP_LABEL, "%s", label);
        else
            snprintf(names[count], STEP_LABEL, "%.*s%s", (int)strcspn(label, "_"), label, tile != NULL ? tile : "");
        dots[count] = (chart_dot){names[count], flops(d) / d->bytes_asked, d->gflops,
                                  row_no_cache_gflops(l->steps[i].row)};
        count++;
    }
    return count;
}

static void draw_roofline(const report *r, const ladder *l, int number)
{
    chart_dot *dots = calloc((size_t)l->count + 1, sizeof *dots);
    char(*names)[STEP_LABEL] = calloc((size_t)l->count + 1, sizeof *names), title[240];
    report_device_text device;
    chart_roofs roofs = {report_peak(l), report_memory_gbps(l), NAN, NAN};
    bool room = dots != NULL && names != NULL;
    int count = room ? make_dots(l, dots, names, &roofs) : 0;
    snprintf(title, sizeof title, "Roofline, %.20s on %.80s", report_engine_name(r->ladders->machines[number].engine),
             report_device(&r->ladders->machines[number], device));
    const chart about = {title,
                         "One dot per rung: flop per byte that it asks of memory to the right, speed upwards, both "
                         "logarithmic. The table below has the numbers.",
                         false};
    if (count > 0) {
        fputs("<figure>\n", r->out);
        chart_roofline(r->out, &about, &roofs, dots, count);
        html_print(
            r->out,
            "<figcaption>Thick: the measured roofs, memory's bandwidth and the multiply-add peak%h. Thin, at each dot: "
            "the documents' bound, its bytes asked at memory's bandwidth; a dot above it has a cache to thank. "
            "Roofline: Williams, Waterman, Patterson, 2009 (cited by Ruiz 2024).</figcaption>\n</figure>\n",
            isnan(roofs.cache_gbps) ? "" : "; dashed: the bandwidth of a working set of this size");
    }
    *r->no_memory |= !room;
    free(names);
    free(dots);
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
    table_cell(t, units_number(flops(d) / d->bytes_asked, x));
    table_cell(t, report_speed(row_no_cache_gflops(row), x));
    table_cell(t, report_speed(d->bound_gflops, x));
    table_cell(t, units_percent(d->fraction_of_bound, x));
    table_cell(t, count_or_dash(d->registers, x));
    table_cell(t, d->spill_bytes > 0 ? units_bytes((double)d->spill_bytes, x) : count_or_dash(d->spill_bytes, x));
    table_cell(t, units_percent(d->occupancy, x));
    table_cell(t, small(d->error_ratio, x));
}

static void ladder_table(const report *r, const ladder *l, int number)
{
    static const char *const headings[] = {"Median",      "GFLOP/s",       "Over the rung before", "Of peak",
                                           "Bytes asked", "Flop per byte", "No-cache GFLOP/s",     "Bound GFLOP/s",
                                           "Of bound",    "Registers",     "Spilled bytes",        "Occupancy",
                                           "Error"};
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

static const ladder_step *step_named(const ladder *l, const char *label)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->steps[i].label, label) == 0) return &l->steps[i];
    return NULL;
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
            const ladder_step *step = x != NULL ? step_named(x, label) : NULL;
            units_text text;
            if (x != NULL) table_cell(&t, report_speed(step != NULL ? speed_of(step->row) : (double)NAN, text));
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
            const ladder_step *step = ladder_main(l, i) != NULL ? step_named(ladder_main(l, i), label) : NULL;
            if (step != NULL) kernel = row_kernel(step->row);
        }
        fputs("|", out);
        markdown_cell(out, label);
        markdown_cell(out, kernel != NULL ? kernel->idea : "");
        for (int i = 0; i < l->machine_count; i++) {
            const ladder *x = ladder_main(l, i);
            const ladder_step *step = x != NULL ? step_named(x, label) : NULL;
            units_text t;
            if (x == NULL) continue;
            fprintf(out, " %s", report_speed(step != NULL ? speed_of(step->row) : (double)NAN, t));
            if (step != NULL && step->by_default != NULL)
                fprintf(out, " (%s)", report_speed(speed_of(step->by_default), t));
            fputs(" |", out);
        }
        fputs("\n", out);
    }
}

void report_charts(const report *r)
{
    FILE *out = r->out;
    if (!report_has_ladder(r)) return;
    fputs("<section id=\"ladders\" aria-labelledby=\"ladders-h\">\n<h2 id=\"ladders-h\">Ladders and rooflines</h2>\n"
          "<p>In the tables, <em>no-cache</em> is what the bytes asked allow at memory's bandwidth, at most the peak: "
          "the documents' bound, which caches may beat; <em>bound</em> is what the peak, and moving each operand once, "
          "allow, which nothing may beat; <em>error</em> is the worst element's, as a share of its own bound. "
          "Everything was measured in the same run.</p>\n",
          out);
    for (int i = 0; i < r->ladders->machine_count; i++) {
        const ladder *l = ladder_main(r->ladders, i);
        if (l == NULL) continue;
        fputs("<h3>", out);
        report_machine_name(r, i);
        fputs("</h3>\n", out);
        if (l->timed > 0) {
            fputs("<div class=\"side\">\n", out);
            bars_figure(r, l, i);
            draw_roofline(r, l, i);
            fputs("</div>\n", out);
        }
        ladder_table(r, l, i);
    }
    compare_machines(r);
    fputs("</section>\n", out);
}

/* ---- sizes ---- */

/* The ladders of one machine and width as a table: sizes as columns, labels as rows. */
typedef struct grid {
    int columns, rows;
    const ladder **ladders; /* one per column */
    const char **labels;
    double *speeds; /* rows x columns */
    bool *drawn;    /* rows that the chart shows: of the ladders' own type */
} grid;

static bool is_plain_square(const ladder *l) { return l->m == l->n && l->n == l->k && ladder_is_plain(l); }

static bool belongs(const ladder *l, int number, bool wide, bool square)
{
    return l->machine == number && !l->skinny && !l->library && l->wide == wide && l->m > 0 &&
           is_plain_square(l) == square;
}

static void grid_free(grid *g) { free(g->ladders), free(g->labels), free(g->speeds), free(g->drawn); }

/* The ladder as the next column; its timed steps as rows in the order of their labels. */
static void grid_add(grid *g, const ladder *l)
{
    g->ladders[g->columns++] = l;
    for (int s = 0; s < l->count; s++) {
        int row = 0;
        while (row < g->rows && rung_compare(g->labels[row], l->steps[s].label) < 0) row++;
        if (!row_timed(l->steps[s].row) || (row < g->rows && strcmp(g->labels[row], l->steps[s].label) == 0)) continue;
        memmove(&g->labels[row + 1], &g->labels[row], (size_t)(g->rows - row) * sizeof *g->labels);
        memmove(&g->drawn[row + 1], &g->drawn[row], (size_t)(g->rows - row) * sizeof *g->drawn);
        g->labels[row] = l->steps[s].label;
        g->drawn[row] = comparable(l, l->steps[s].row);
        g->rows++;
    }
}

/* false: no memory, or not one ladder. */
static bool grid_make(const report *r, int number, bool wide, bool square, grid *g)
{
    const ladders *all = r->ladders;
    size_t most_rows = 1;
    for (int i = 0; i < all->count; i++)
        most_rows += belongs(&all->items[i], number, wide, square) ? (size_t)all->items[i].count : 0;
    *g = (grid){.ladders = calloc((size_t)all->count + 1, sizeof *g->ladders),
                .labels = calloc(most_rows, sizeof *g->labels),
                .drawn = calloc(most_rows, sizeof *g->drawn)};
    for (int i = 0; g->ladders != NULL && g->labels != NULL && g->drawn != NULL && i < all->count; i++)
        if (belongs(&all->items[i], number, wide, square) && all->items[i].timed > 0) grid_add(g, &all->items[i]);
    g->speeds = calloc((size_t)g->rows * (size_t)g->columns + 1, sizeof *g->speeds);
    for (int row = 0; g->speeds != NULL && row < g->rows; row++)
        for (int c = 0; c < g->columns; c++) {
            const ladder_step *step = step_named(g->ladders[c], g->labels[row]);
            g->speeds[row * g->columns + c] = step != NULL ? speed_of(step->row) : (double)NAN;
        }
    bool room = g->ladders != NULL && g->labels != NULL && g->drawn != NULL && g->speeds != NULL;
    *r->no_memory |= !room;
    if (room && g->rows > 0) return true;
    grid_free(g);
    return false;
}

/* A curve needs two points; columns without a point of a curve are left out. */
static bool is_curve(const grid *g, int row)
{
    int points = 0;
    for (int c = 0; c < g->columns; c++) points += !isnan(g->speeds[row * g->columns + c]);
    return g->drawn[row] && points > 1;
}

static void draw_curves(const report *r, const grid *g, int number, bool wide)
{
    double *sizes = calloc((size_t)g->columns, sizeof *sizes),
           *speeds = calloc((size_t)g->columns * (size_t)g->rows, sizeof *speeds);
    chart_curve *curves = calloc((size_t)g->rows, sizeof *curves);
    char title[240];
    report_device_text device;
    int count = 0, columns = 0;
    bool room = sizes != NULL && speeds != NULL && curves != NULL;
    *r->no_memory |= !room;
    for (int c = 0; room && c < g->columns; c++) {
        bool used = false;
        for (int row = 0; row < g->rows; row++) used |= is_curve(g, row) && !isnan(g->speeds[row * g->columns + c]);
        for (int row = 0; used && row < g->rows; row++)
            speeds[row * g->columns + columns] = g->speeds[row * g->columns + c];
        if (used) sizes[columns++] = (double)g->ladders[c]->m;
    }
    for (int row = 0; room && row < g->rows; row++)
        if (is_curve(g, row)) curves[count++] = (chart_curve){g->labels[row], speeds + row * g->columns};
    snprintf(title, sizeof title, "Speed over sizes, %s, %.20s on %.80s", wide ? "f64" : "f32",
             report_engine_name(r->ladders->machines[number].engine),
             report_device(&r->ladders->machines[number], device));
    const chart about = {
        title,
        "One curve per rung: m = n = k to the right, speed upwards, both logarithmic. The table below has the numbers.",
        false};
    if (count > 0) {
        fputs("<figure>\n", r->out);
        *r->no_memory |= !chart_curves(r->out, &about, sizes, columns, curves, count);
        fputs("<figcaption>5kk73 tuned its steps at 4096 and says that they could be sub-optimal at other "
              "sizes: where curves cross, they are.</figcaption>\n</figure>\n",
              r->out);
    }
    free(sizes);
    free(speeds);
    free(curves);
}

static void grid_table(const report *r, const grid *g, int number, bool wide)
{
    report_machine_text machine;
    table t;
    table_begin(&t, r->out, "Speeds over shapes");
    html_print(r->out, "<caption>GFLOP/s, %t, %h.</caption>\n", report_machine(r, number, machine),
               wide ? "f64" : "f32");
    table_heading(&t, "Rung");
    for (int c = 0; c < g->columns; c++) {
        const ladder *l = g->ladders[c];
        report_shape_text shape;
        snprintf(shape, sizeof shape, "%" PRId64, l->m);
        table_heading(&t, is_plain_square(l) ? shape : report_shape(l, shape));
    }
    for (int row = 0; row < g->rows; row++) {
        table_row(&t, g->labels[row]);
        for (int c = 0; c < g->columns; c++) {
            units_text text;
            table_cell(&t, report_speed(g->speeds[row * g->columns + c], text));
        }
    }
    *r->no_memory |= !table_end(&t);
}

void report_sizes(const report *r)
{
    int shown = 0;
    if (!report_has_ladder(r)) return;
    fputs("<section id=\"sizes\" aria-labelledby=\"sizes-h\">\n<h2 id=\"sizes-h\">Sizes</h2>\n", r->out);
    for (int i = 0; i < 4 * r->ladders->machine_count; i++) {
        int number = i / 4;
        bool wide = i / 2 % 2, square = i % 2 == 0;
        grid g;
        if (!grid_make(r, number, wide, square, &g)) continue;
        if (g.columns > 1 || !square) {
            shown++;
            fputs("<h3>", r->out);
            report_machine_name(r, number);
            html_print(r->out, ", %h%h</h3>\n", wide ? "f64" : "f32", square ? "" : ", other shapes");
            if (square) draw_curves(r, &g, number, wide);
            grid_table(r, &g, number, wide);
        }
        grid_free(&g);
    }
    if (shown == 0)
        fputs("<p>The records hold one square size of each machine. <code>tilewright ladder --size 128,256,512,1024 "
              "--html FILE</code> draws curves over several.</p>\n",
              r->out);
    fputs("</section>\n", r->out);
}

/* ---- libraries ---- */

static bool is_of_libraries(const ladder *l, int number, bool wide)
{
    return l->library && l->machine == number && l->wide == wide;
}

/* The name of a library that comes after `last` among these ladders; NULL: there is none. */
static const char *next_library(const ladders *l, int number, bool wide, const char *last)
{
    const char *next = NULL;
    for (int i = 0; i < l->count; i++)
        for (int s = 0; is_of_libraries(&l->items[i], number, wide) && s < l->items[i].count; s++) {
            const char *label = l->items[i].steps[s].label;
            if (strcmp(label, last) > 0 && (next == NULL || strcmp(label, next) < 0)) next = label;
        }
    return next;
}

static void library_table(const report *r, int number, bool wide)
{
    const ladders *l = r->ladders;
    report_machine_text machine;
    table t;
    if (next_library(l, number, wide, "") == NULL) return;
    table_begin(&t, r->out, "Libraries over shapes");
    html_print(r->out, "<caption>GFLOP/s, %t, %h where no other type is named.</caption>\n",
               report_machine(r, number, machine), wide ? "f64" : "f32");
    table_heading(&t, "Product");
    for (const char *label = ""; (label = next_library(l, number, wide, label)) != NULL;) table_heading(&t, label);
    for (int i = 0; i < l->count; i++) {
        report_shape_text shape;
        if (!is_of_libraries(&l->items[i], number, wide)) continue;
        table_row(&t, report_shape(&l->items[i], shape));
        for (const char *label = ""; (label = next_library(l, number, wide, label)) != NULL;) {
            const ladder_step *step = step_named(&l->items[i], label);
            units_text text;
            table_cell(&t, report_speed(step != NULL ? speed_of(step->row) : (double)NAN, text));
        }
    }
    *r->no_memory |= !table_end(&t);
}

void report_libraries(const report *r)
{
    if (!report_has_libraries(r)) return;
    fputs("<section id=\"libraries\" aria-labelledby=\"libraries-h\">\n<h2 id=\"libraries-h\">Libraries</h2>\n"
          "<p>Whole products, as a user calls them: no rungs, and what they ask of memory is not known. "
          "<em>tilewright</em> is the same call of ours.</p>\n",
          r->out);
    for (int i = 0; i < 2 * r->ladders->machine_count; i++) library_table(r, i / 2, i % 2);
    fputs("</section>\n", r->out);
}

/* ---- thin matrices ---- */

static void skinny_table(const report *r, const ladder *l)
{
    static const char *const headings[] = {"Rung", "Median", "GFLOP/s", "Effective GB/s", "Over the rung before"};
    report_shape_text shape;
    report_machine_text machine;
    table t;
    table_begin(&t, r->out, "Thin matrices");
    html_print(r->out, "<caption>%t, %t.</caption>\n", report_machine(r, l->machine, machine), report_shape(l, shape));
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++) table_heading(&t, headings[i]);
    for (int p = 0; p < PUBLISHED_DEVICES; p++) {
        char text[80];
        snprintf(text, sizeof text, "%.50s GB/s, published", published[p].device);
        table_heading(&t, text), table_heading(&t, "step");
    }
    for (int i = 0; i < l->count; i++) {
        const records_row *row = l->steps[i].row;
        int place = row_rung(row)[1] - '1';
        units_text x;
        table_row(&t, l->steps[i].label);
        if (!row_timed(row)) {
            char text[1200];
            snprintf(text, sizeof text, "refused: %.1100s", row->r.refused != NULL ? row->r.refused : row->r.verified);
            table_words(&t, false, text);
            continue;
        }
        const ladder_step *before = ladder_before(l, &l->steps[i]);
        table_cell(&t, units_seconds(row->r.median_s, x));
        table_cell(&t, report_speed(row->r.gflops, x));
        table_cell(&t, report_speed(row->r.effective_gbps, x));
        table_cell(
            &t, units_factor(before != NULL ? row->r.effective_gbps / before->row->r.effective_gbps : (double)NAN, x));
        for (int p = 0; p < PUBLISHED_DEVICES; p++) {
            bool known = place >= 0 && place < PUBLISHED_RUNGS && l->k == PUBLISHED_WIDTH;
            table_cell(&t, units_number(known ? published[p].gbps[place] : (double)NAN, x));
            table_cell(&t, units_factor(known && place > 0 ? published[p].gbps[place] / published[p].gbps[place - 1]
                                                           : (double)NAN,
                                        x));
        }
    }
    *r->no_memory |= !table_end(&t);
}

void report_skinny(const report *r)
{
    int shown = 0;
    fputs("<section id=\"skinny\" aria-labelledby=\"skinny-h\">\n<h2 id=\"skinny-h\">Thin matrices</h2>\n", r->out);
    for (int i = 0; i < r->ladders->count; i++)
        if (r->ladders->items[i].skinny) {
            skinny_table(r, &r->ladders->items[i]);
            shown++;
        }
    if (shown > 0)
        fputs("<p>NVIDIA Best Practices: A has 16 columns, B 16 rows. Effective bandwidth counts 12 bytes per element "
              "of C: "
              "each block reads its two tiles and writes its own once. The document does not say what it counts, and "
              "no other natural count fits its figures; it does not give its m and n either, so that the steps between "
              "rungs are what can be compared. Caches serve the repeated tiles today: the figure may exceed the "
              "bandwidth of memory.</p>\n",
              r->out);
    else
        fputs("<p>The records hold none; <code>tilewright ladder --skinny --json FILE</code> makes them.</p>\n",
              r->out);
    fputs("</section>\n", r->out);
}

/* ---- method ---- */

void report_method(const report *r)
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
    fputs("<li>Before it is timed, each kernel passes two oracles. Exact: operands are small integers whose product is "
          "exact in the type that sums; one differing bit fails. Bound: random operands, and every element checked "
          "must obey |c - reference| &le; |alpha| g(k+2) &Sigma;|a||b| + g(2) |beta c0| + (k+1) smallest subnormal + "
          "rounding of the output, g(n) = n u / (1 - n u), u the unit roundoff of the type that sums (2<sup>-24</sup> "
          "in f32). NaN never passes. Where the product is large, elements are sampled, and the record says "
          "so.</li>\n<li>Peaks and bandwidths are measured in the same run: independent multiply-adds in registers, "
          "and reads of a working set. A share above 1.02 of the bound fails the run.</li>\n",
          out);
    if (r->ladders->superseded > 0)
        html_print(out, "<li>%d records were superseded by later ones of the same kind, and are not shown.</li>\n",
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
}
