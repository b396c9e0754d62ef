/* predicted.c - see predicted.h. */
#include "predicted.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "../lab/named.h"
#include "../lab/roofline.h"
#include "../program/diag.h"
#include "../program/layout.h"
#include "../program/object.h"
#include "../program/term.h"
#include "access/predict.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/report.h"
#include "report/table.h"

enum { BANKS, ISSUE, TRAFFIC, ROOFLINE, LIMITS = CHART_LIMITS };
enum { LABEL = PREDICTED_LABEL, WHY = PREDICTED_WHY, MOST = PREDICTED_MOST };

static const char *const limit_names[LIMITS] = {
    [BANKS] = "banks", [ISSUE] = "issue", [TRAFFIC] = "traffic", [ROOFLINE] = "roofline"};

static bool has_caches(const predicted *x) { return access_era_of(x->gpu->capability) > ERA_1_2; }

/* ---- what is predicted ---- */

/* False, and why, where there is no model, or the device cannot hold the rung. */
static bool open_step(const predicted *x, predicted_step *p, access_launch *launch)
{
    const tw_lab_kernel *k = p->kernel;
    tw_problem problem = x->problem;
    problem.dtype = k->dtype;
    const bool transposed = problem.op_a == TW_T || problem.op_b == TW_T;
    if (transposed && !k->transposes) return snprintf(p->why, WHY, "it takes A and B as stored by rows alone"), false;
    char none[WHY];
    const bool modelled = access_open(launch, k, p->tile, &problem, none, WHY);
    const int tile = p->tile > 0 ? p->tile : k->default_tile;
    if (!predict_fits(k, tile, modelled ? launch->block_x * launch->block_y : 0, x->gpu, p->why, WHY)) return false;
    if (!modelled) snprintf(p->why, WHY, "no model: %.580s", none);
    return modelled;
}

static void predict_step(const predicted *x, predicted_step *p)
{
    access_launch launch;
    p->low = p->high = NAN, p->limit = -1;
    if (!open_step(x, p, &launch)) return;
    const prediction y = predict_on(&launch, x->gpu);
    const double flops = roofline_flops(&x->problem),
                 limits[LIMITS] = {y.shared_gflops, y.issue_gflops,
                                   has_caches(x) ? (double)NAN : flops / y.memory_s / 1e9, y.bound_gflops};
    memcpy(p->limits, limits, sizeof limits);
    p->flop_per_byte = flops / y.asked_bytes;
    p->moved_bytes = y.moved_bytes;
    p->degrees = predict_average(&launch, access_era_of(x->gpu->capability));
    for (int i = 0; i < LIMITS; i++)
        if (!isnan(limits[i]) && (p->limit < 0 || limits[i] < limits[p->limit])) p->limit = i;
    const double least = limits[p->limit];
    if (p->limit == ISSUE && y.conflict_s > y.issue_s / 2) p->limit = BANKS;
    p->low = has_caches(x) ? (double)NAN : flops / y.serial_s / 1e9;
    p->high = has_caches(x) ? least : flops / y.overlapped_s / 1e9;
}

void predicted_add(predicted *x, const tw_lab_kernel *kernel, int tile)
{
    if (x->count == MOST) return;
    predicted_step *p = &x->steps[x->count++];
    *p = (predicted_step){.kernel = kernel, .tile = tile};
    if (tile > 0)
        snprintf(p->label, LABEL, "%.40s %d", kernel->rung, tile);
    else
        snprintf(p->label, LABEL, "%.60s", kernel->rung);
    predict_step(x, p);
}

/* ---- the terminal ---- */

static const char *speed_text(const predicted_step *p, char out[60])
{
    term_number low, high;
    if (isnan(p->low))
        snprintf(out, 60, "<= %s", term_gflops(p->high, high));
    else
        snprintf(out, 60, "%s to %s", term_gflops(p->low, low), term_gflops(p->high, high));
    return out;
}

static void print_head(const predicted *x, FILE *text, layout_table *table)
{
    char name[DEVICES_NAME];
    const tw_problem *p = &x->problem;
    fprintf(text,
            "ladder     predicted for %s (%d), nothing is run: f32, C(%" PRId64 " x %" PRId64
            ") = A%s B%s with k = %" PRId64 ", kernels of %s\n           %s\n\n",
            devices_name(x->gpu, name), x->gpu->year, p->m, p->n, p->op_a == TW_T ? "^T" : "",
            p->op_b == TW_T ? "^T" : "", p->k, x->engine, x->gpu->source);
    static const layout_column columns[] = {{"rung", -19, 0},   {"flop/B", 6, 0},
                                            {"moved", 8, 3},    {"sectors", 7, 0},
                                            {"banks x", 7, 0},  {"banks", 8, 2, true, NULL},
                                            {"issue", 8, 2},    {"traffic", 8, 2},
                                            {"roofline", 8, 1}, {"predicted GFLOP/s", -18, 0, true, NULL},
                                            {"limit", -8, 0}};
    layout_begin(table, text, columns, sizeof columns / sizeof *columns);
    layout_titles(table);
}

static void print_step(layout_table *table, const predicted_step *p)
{
    term_number t;
    char speed[60];
    layout_cell(table, "%s", p->label);
    if (p->why[0] != '\0') {
        layout_gap(table);
        fputs(p->why, table->out);
        layout_end(table);
        return;
    }
    layout_cell(table, "%.3g", p->flop_per_byte);
    layout_cell(table, "%s", term_bytes(p->moved_bytes, t));
    layout_cell(table, "%s", units_number(p->degrees.sectors_per_load, t));
    layout_cell(table, "%s", units_number(p->degrees.bank_degree_load, t));
    for (int i = 0; i < LIMITS; i++) layout_cell(table, "%s", term_gflops(p->limits[i], t));
    layout_cell(table, "%s", speed_text(p, speed));
    layout_cell(table, "%s", limit_names[p->limit]);
    layout_end(table);
}

static double largest(const predicted *x)
{
    double most = 0;
    for (int i = 0; i < x->count; i++) most = fmax(most, x->steps[i].high);
    return most;
}

/* Solid without overlap, dotted to full overlap or to the least bound. */
static void print_bars(const predicted *x, FILE *text)
{
    const double most = largest(x);
    const int width = term_width() - 40 > 10 ? term_width() - 40 : 10;
    fputc('\n', text);
    for (int i = 0; i < x->count; i++) {
        const predicted_step *p = &x->steps[i];
        char speed[60];
        if (p->why[0] != '\0') continue;
        fprintf(text, "%-19s %18s  ", p->label, speed_text(p, speed));
        const int solid = isnan(p->low) ? 0 : (int)(p->low / most * width + 0.5),
                  whole = (int)(p->high / most * width + 0.5);
        for (int c = 0; c < whole; c++) fputc(c < solid ? '#' : '.', text);
        fputc('\n', text);
    }
}

static void print_notes(const predicted *x, const layout_table *table)
{
    FILE *text = table->out;
    fputs("\nsectors    transactions of a request of A or B from memory; banks x: passes of a read of shared memory\n",
          text);
    if (layout_shows(table, "banks"))
        fputs("banks      GFLOP/s that the passes through shared memory allow, issue those of the instructions, "
              "traffic the "
              "bytes moved at memory's bandwidth (of the partitions that blocks reach together), each alone\n",
              text);
    if (layout_shows(table, "roofline")) fputs("roofline   GFLOP/s with A, B and C moved once\n", text);
    fputs("limit      the least of what shared memory's banks, the issue of instructions, traffic and the roofline "
          "allow, each "
          "alone; banks also where conflicts issue most of the instructions again (1.x)\n",
          text);
    if (has_caches(x))
        fputs("predicted  at most the least of these (dotted), with loops held rolled: the compiler's unrolling may "
              "beat it. "
              "Caches serve part of the traffic, so that the bytes moved are an upper bound, and traffic no limit\n",
              text);
    else
        fputs("predicted  memory and instructions one after the other (#), to both at once (.)\n", text);
    layout_left_out(table);
    fputs("Not modelled: waits that too few warps hide, address arithmetic, the begin and the end of a kernel.\n",
          text);
}

void predicted_print(const predicted *x, FILE *text)
{
    layout_table table;
    print_head(x, text, &table);
    for (int i = 0; i < x->count; i++) print_step(&table, &x->steps[i]);
    print_bars(x, text);
    print_notes(x, &table);
}

/* ---- JSON ---- */

static void write_step(const predicted *x, FILE *json, const predicted_step *p)
{
    char name[DEVICES_NAME];
    object o = object_begin(json);
    object_text(&o, "predicted", "access model");
    object_text(&o, "gpu", devices_name(x->gpu, name));
    object_text(&o, "engine", x->engine);
    object_text(&o, "rung", p->kernel->rung);
    object_number(&o, "m", (double)x->problem.m);
    object_number(&o, "n", (double)x->problem.n);
    object_number(&o, "k", (double)x->problem.k);
    object_number(&o, "tile", p->tile > 0 ? p->tile : p->kernel->default_tile);
    object_text(&o, "why_not", p->why);
    const bool known = p->why[0] == '\0';
    object_number(&o, "flop_per_byte", known ? p->flop_per_byte : (double)NAN);
    object_number(&o, "moved_bytes", known ? p->moved_bytes : (double)NAN);
    object_number(&o, "sectors_per_load", known ? p->degrees.sectors_per_load : (double)NAN);
    object_number(&o, "bank_degree_load", known ? p->degrees.bank_degree_load : (double)NAN);
    for (int i = 0; i < LIMITS; i++) {
        char key[40];
        snprintf(key, sizeof key, "%s_gflops", limit_names[i]);
        object_number(&o, key, known ? p->limits[i] : (double)NAN);
    }
    object_number(&o, "predicted_low_gflops", p->low);
    object_number(&o, "predicted_gflops", p->high);
    object_text(&o, "limit", known ? limit_names[p->limit] : NULL);
    object_end(&o);
}

void predicted_record(const predicted *x, FILE *json)
{
    for (int i = 0; i < x->count; i++) write_step(x, json, &x->steps[i]);
}

/* ---- the page ---- */

static bool page_table(FILE *out, const predicted *x)
{
    static const char *const headings[] = {
        "Rung",  "Flop per byte", "Bytes moved", "Sectors per load", "Wavefronts per shared load",
        "Banks", "Issue",         "Traffic",     "Roofline",         "Predicted",
        "Limit"};
    table t;
    units_text cell;
    char speed[60];
    table_begin(&t, out, "Predicted ladder");
    fputs("<caption>Limits and predicted speeds in GFLOP/s.</caption>\n", out);
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++) table_heading(&t, headings[i]);
    for (int i = 0; i < x->count; i++) {
        const predicted_step *p = &x->steps[i];
        table_row(&t, p->label);
        if (p->why[0] != '\0') {
            table_words(&t, false, p->why);
            continue;
        }
        table_cell(&t, units_number(p->flop_per_byte, cell));
        table_cell(&t, units_bytes(p->moved_bytes, cell));
        table_cell(&t, units_number(p->degrees.sectors_per_load, cell));
        table_cell(&t, units_number(p->degrees.bank_degree_load, cell));
        for (int l = 0; l < LIMITS; l++) table_cell(&t, units_gflops(p->limits[l], cell));
        table_cell(&t, speed_text(p, speed));
        table_cell(&t, limit_names[p->limit]);
    }
    return table_end(&t);
}

static void page_limits(FILE *out, const predicted *x)
{
    static chart_group groups[MOST];
    const chart about = {"What limits each rung, predicted",
                         "Of each rung what each limit allows alone. The table below has the numbers.", false};
    int count = 0;
    for (int i = 0; i < x->count; i++) {
        const predicted_step *p = &x->steps[i];
        if (p->why[0] != '\0') continue;
        groups[count] = (chart_group){.label = p->label, .measured = NAN};
        memcpy(groups[count++].limits, p->limits, sizeof p->limits);
    }
    fputs("<figure>\n", out);
    chart_groups(out, &about, limit_names, groups, count);
    html_print(
        out, "<figcaption>What limits each rung. The shortest bar of a group is its limit.%h</figcaption>\n</figure>\n",
        has_caches(x) ? "" : " Where most of issue is conflicts, issued again, the banks are.");
}

exit_code predicted_page(FILE *out, const void *of)
{
    const predicted *x = of;
    static chart_bar bars[MOST];
    char title[200], name[DEVICES_NAME];
    int count = 0;
    for (int i = 0; i < x->count; i++) {
        const predicted_step *p = &x->steps[i];
        if (p->why[0] == '\0')
            bars[count++] = (chart_bar){.label = p->label,
                                        .type = "f32",
                                        .peak = NAN,
                                        .speed = isnan(p->low) ? p->high : p->low,
                                        .beside = isnan(p->low) ? (double)NAN : p->high};
    }
    snprintf(title, sizeof title, "the ladder predicted for %s", devices_name(x->gpu, name));
    report_begin_page(out, title, "", "ladder");
    html_print(out,
               "<h1>The ladder predicted for %t</h1>\n<p>Nothing was run: the speeds follow from the kernels' "
               "accesses and from published figures (%t). f32, ",
               name, x->gpu->source);
    fprintf(out, "%" PRId64 " x %" PRId64 " x %" PRId64 ", kernels of %s.</p>\n", x->problem.m, x->problem.n,
            x->problem.k, x->engine);
    fputs("<nav aria-label=\"Sections\">\n<ul>\n<li><a href=\"#ladder\">The ladder</a></li>\n</ul>\n</nav>\n</header>\n"
          "<main>\n<section id=\"ladder\" aria-labelledby=\"ladder-h\">\n<h2 id=\"ladder-h\">The ladder</h2>\n",
          out);
    if (count > 0) {
        const chart about = {title, "One bar per rung, predicted. The table below has the numbers.", false};
        fputs("<figure>\n", out);
        chart_bars(out, &about, bars, count);
        html_print(out, "<figcaption>Predicted. %t</figcaption>\n</figure>\n",
                   has_caches(x) ? "Each bar is the least bound: banks, issue or roofline, with loops held rolled. "
                                   "Caches serve part of the "
                                   "traffic, which is no limit."
                                 : "Solid: memory and instructions one after the other. Hollow: both at once.");
        page_limits(out, x);
    }
    const bool told = page_table(out, x);
    html_print(out,
               "</section>\n</main>\n<footer>\n<p class=\"faint\">Made by tilewright %t ladder --gpu.</p>\n"
               "</footer>\n</body>\n</html>\n",
               tw_version());
    return told ? EXIT_OK : diag_no_memory("the page");
}
