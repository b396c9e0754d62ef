/* predicted.c - see predicted.h. */
#include "predicted.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "../lab/access/predict.h"
#include "../lab/named.h"
#include "../lab/report/chart.h"
#include "../lab/report/html.h"
#include "../lab/report/table.h"
#include "../lab/roofline.h"
#include "diag.h"
#include "gpu.h"
#include "layout.h"
#include "object.h"
#include "page.h"
#include "rungs.h"
#include "term.h"
#include "words.h"

enum { SIDE = 4096, LABEL = 64, WHY = 600, MOST = RUNGS_MOST * OPT_LIST };
enum { BANKS, ISSUE, TRAFFIC, ROOFLINE, LIMITS = CHART_LIMITS };

static const char *const limit_names[LIMITS] = {
    [BANKS] = "banks", [ISSUE] = "issue", [TRAFFIC] = "traffic", [ROOFLINE] = "roofline"};

/* One rung, or one tile edge of it. Speeds in GFLOP/s; NAN: not predicted. */
typedef struct step {
    const tw_lab_kernel *kernel;
    int tile; /* of a sweep; 0: the rung's own */
    char label[LABEL];
    char why[WHY]; /* why nothing is predicted; "": something is */
    double flop_per_byte, moved_bytes;
    predict_degrees degrees;
    double limits[LIMITS]; /* what each allows alone; NAN: no limit here */
    double low, high;      /* without overlap, with full overlap; low NAN: caches serve traffic, high bounds alone */
    int limit;             /* the least of limits, and the reason behind it; -1: none */
} step;

typedef struct predicted {
    session *s;
    const published_device *gpu;
    const char *engine;
    tw_problem problem;
    int count;
    step steps[MOST];
} predicted;

static bool has_caches(const predicted *x) { return access_era_of(x->gpu->capability) > ERA_1_2; }

/* ---- which rungs ---- */

static exit_code check_options(const options *o)
{
    const bool more = o->all || o->skinny || o->deep || o->append || o->device > 0 || o->threads > 0 ||
                      o->samples > 0 || o->slides;
    if (more || o->dtypes.count > 0)
        return diag(EXIT_USAGE, "--gpu predicts and runs nothing: it takes --engine, --rung, --size, --shape, --tile, "
                                "--transpose-a, --transpose-b, --json and --html");
    for (int i = 0; i < o->rungs.count; i++)
        if (user_kernel_is_path(o->rungs.items[i]))
            return diag(EXIT_USAGE, "--gpu takes no file: `explain %s` shows what its warps ask of memory",
                        o->rungs.items[i]);
    if (o->sizes.count > 1) return diag(EXIT_USAGE, "--gpu takes one --size");
    for (int i = 0; i < o->tiles.count; i++)
        if (o->tiles.items[i] != 8 && o->tiles.items[i] != 16 && o->tiles.items[i] != 32)
            return diag(EXIT_USAGE, "--tile: found %" PRId64 ", a GPU rung takes 8, 16 or 32", o->tiles.items[i]);
    if (o->engines.count > 1 || (o->engines.count == 1 && strcmp(o->engines.items[0], "cpu") == 0))
        return diag(EXIT_USAGE, "--gpu: the engine is cuda or opencl, one of them");
    return EXIT_OK;
}

static bool is_asked_for(const options *o, const tw_lab_kernel *row)
{
    if (o->rungs.count == 0) return !row->family && !row->skinny && !row->deep;
    for (int i = 0; i < o->rungs.count; i++)
        if (kernel_is_called(row, o->rungs.items[i])) return true;
    return false;
}

static exit_code check_rungs(const predicted *x)
{
    words_hint meant;
    const options *o = x->s->opt;
    for (int i = 0; i < o->rungs.count; i++) {
        const tw_lab_kernel *row = NULL;
        bool named = false;
        if (strcmp(o->rungs.items[i], RUNG_PLANNED) == 0)
            return diag(EXIT_USAGE, "--rung " RUNG_PLANNED ": the planner chooses it for a device that is here");
        for (int k = 0; !named && (row = tw_lab_kernel_at(k)) != NULL; k++)
            named = strcmp(row->engine, x->engine) == 0 && kernel_is_called(row, o->rungs.items[i]);
        if (!named)
            return diag(EXIT_USAGE, "--rung %s: the %s engine has no such rung%s", o->rungs.items[i], x->engine,
                        words_meant_of(words_rungs, o->rungs.items[i], meant));
    }
    return EXIT_OK;
}

/* ---- what is predicted ---- */

/* False, and why, where there is no model, or the device cannot hold the rung. */
static bool open_step(const predicted *x, step *p, access_launch *launch)
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

static void predict_step(const predicted *x, step *p)
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

static void add_step(predicted *x, const tw_lab_kernel *kernel, int tile)
{
    step *p = &x->steps[x->count++];
    *p = (step){.kernel = kernel, .tile = tile};
    if (tile > 0)
        snprintf(p->label, LABEL, "%.40s %d", kernel->rung, tile);
    else
        snprintf(p->label, LABEL, "%.60s", kernel->rung);
    predict_step(x, p);
}

/* Some rungs have a row for each of several types: the first stands for all. */
static bool is_there(const predicted *x, const tw_lab_kernel *row)
{
    for (int i = 0; i < x->count; i++)
        if (strcmp(x->steps[i].kernel->rung, row->rung) == 0) return true;
    return false;
}

static void add_steps(predicted *x)
{
    const options *o = x->s->opt;
    const tw_lab_kernel *row;
    for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++) {
        const bool swept = o->tiles.count > 0;
        if (!rung_in_ladder(x->engine, TW_F32, row) || !is_asked_for(o, row) || is_there(x, row)) continue;
        if (swept && row->default_tile == 0) continue;
        for (int t = 0; t < (swept ? o->tiles.count : 1) && x->count < MOST; t++)
            add_step(x, row, swept ? (int)o->tiles.items[t] : 0);
    }
}

static exit_code choose(predicted *x)
{
    const options *o = x->s->opt;
    exit_code code = check_options(o);
    if (code == EXIT_OK) code = gpu_named(o->gpu, &x->gpu);
    if (code != EXIT_OK) return code;
    const int64_t n = o->sizes.count > 0 ? o->sizes.items[0] : SIDE;
    const shape p = o->shapes.count > 0 ? o->shapes.items[0] : (shape){n, n, n};
    x->engine = o->engines.count > 0 && strcmp(o->engines.items[0], "opencl") == 0 ? "opencl" : "cuda";
    x->problem = tw_problem_make(TW_F32, o->transpose_a ? TW_T : TW_N, o->transpose_b ? TW_T : TW_N, p.m, p.n, p.k);
    code = check_rungs(x);
    if (code != EXIT_OK) return code;
    add_steps(x);
    if (x->count == 0) return diag(EXIT_USAGE, "none of these rungs has a tile edge that --tile could choose");
    return EXIT_OK;
}

/* ---- the terminal ---- */

static const char *speed_text(const step *p, char out[60])
{
    term_number low, high;
    if (isnan(p->low))
        snprintf(out, 60, "<= %s", term_gflops(p->high, high));
    else
        snprintf(out, 60, "%s to %s", term_gflops(p->low, low), term_gflops(p->high, high));
    return out;
}

static void print_head(const predicted *x, layout_table *table)
{
    FILE *text = x->s->text;
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

static void print_step(layout_table *table, const step *p)
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
static void print_bars(const predicted *x)
{
    FILE *text = x->s->text;
    const double most = largest(x);
    const int width = term_width() - 40 > 10 ? term_width() - 40 : 10;
    fputc('\n', text);
    for (int i = 0; i < x->count; i++) {
        const step *p = &x->steps[i];
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
    FILE *text = x->s->text;
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

/* ---- JSON ---- */

static void write_step(const predicted *x, const step *p)
{
    char name[DEVICES_NAME];
    object o = object_begin(x->s->json);
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
        const step *p = &x->steps[i];
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
        const step *p = &x->steps[i];
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

static exit_code print_page(FILE *out, const page *to, const void *of)
{
    const predicted *x = of;
    static chart_bar bars[MOST];
    char title[200], name[DEVICES_NAME];
    int count = 0;
    (void)to;
    for (int i = 0; i < x->count; i++) {
        const step *p = &x->steps[i];
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

exit_code predicted_ladder(session *s)
{
    static predicted x;
    page p = {0};
    const char *html = s->opt->html;
    x = (predicted){.s = s};
    if (html != NULL && report_form_of(html) != REPORT_PAGE)
        return diag(EXIT_USAGE, "--html %s: --gpu writes a page: give it another ending, such as .html", html);
    exit_code code = choose(&x);
    if (code == EXIT_OK && html != NULL) code = page_open(&p, html, false);
    if (code == EXIT_OK) {
        layout_table table;
        print_head(&x, &table);
        for (int i = 0; i < x.count; i++) print_step(&table, &x.steps[i]), write_step(&x, &x.steps[i]);
        print_bars(&x);
        print_notes(&x, &table);
        s->json_lines = s->json != NULL;
        code = session_flush(s);
    }
    if (code == EXIT_OK && html != NULL) code = page_write_by(&p, print_page, &x);
    page_discard(&p);
    return code;
}
