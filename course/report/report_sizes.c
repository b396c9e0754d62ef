/* report_sizes.c - what was timed at other shapes: curves and tables over sizes, libraries, thin matrices. */
#include "report_parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../../program/units.h"
#include "../published.h"
#include "chart.h"
#include "html.h"

/* ---- sizes ---- */

/* The ladders of one machine and width, or those of libraries, as a table: sizes as columns, labels as rows. */
typedef struct grid {
    bool library;
    int threads; /* of all rows; 0: unknown, or not one number */
    int columns, rows;
    const ladder **ladders; /* one per column */
    const char **labels;
    double *speeds; /* rows x columns */
    bool *drawn;    /* rows that the chart shows: of the ladders' own type */
    int *series;
} grid;

static bool is_plain_square(const ladder *l) { return l->m == l->n && l->n == l->k && ladder_is_plain(l); }

static bool belongs(const ladder *l, int number, bool wide, bool square, bool library)
{
    return l->machine == number && !l->skinny && l->library == library && l->wide == wide && l->m > 0 &&
           is_plain_square(l) == square;
}

static void grid_free(grid *g) { free(g->ladders), free(g->labels), free(g->speeds), free(g->drawn), free(g->series); }

/* The ladder as the next column; its timed steps as rows in the order of their labels. */
static void grid_add(grid *g, const ladder *l)
{
    g->ladders[g->columns++] = l;
    for (int s = 0; s < l->count; s++) {
        int row = 0;
        while (row < g->rows && rung_compare(g->labels[row], l->steps[s].label) < 0) row++;
        if (!row_timed(l->steps[s].row) || (row < g->rows && strcmp(g->labels[row], l->steps[s].label) == 0)) continue;
        const int threads = l->steps[s].row->r.threads;
        g->threads = g->rows == 0 || g->threads == threads ? threads : 0;
        memmove(&g->labels[row + 1], &g->labels[row], (size_t)(g->rows - row) * sizeof *g->labels);
        memmove(&g->drawn[row + 1], &g->drawn[row], (size_t)(g->rows - row) * sizeof *g->drawn);
        memmove(&g->series[row + 1], &g->series[row], (size_t)(g->rows - row) * sizeof *g->series);
        g->labels[row] = l->steps[s].label;
        g->series[row] = report_series(l->steps[s].row);
        g->drawn[row] = ladder_compares(l, l->steps[s].row);
        g->rows++;
    }
}

/* false: no memory, or not one ladder. */
static bool grid_make(const report *r, int number, bool wide, bool square, bool library, grid *g)
{
    const ladders *all = r->ladders;
    size_t most_rows = 1;
    for (int i = 0; i < all->count; i++)
        most_rows += belongs(&all->items[i], number, wide, square, library) ? (size_t)all->items[i].count : 0;
    *g = (grid){.library = library,
                .ladders = calloc((size_t)all->count + 1, sizeof *g->ladders),
                .labels = calloc(most_rows, sizeof *g->labels),
                .drawn = calloc(most_rows, sizeof *g->drawn),
                .series = calloc(most_rows, sizeof *g->series)};
    bool room = g->ladders != NULL && g->labels != NULL && g->drawn != NULL && g->series != NULL;
    for (int i = 0; room && i < all->count; i++)
        if (belongs(&all->items[i], number, wide, square, library) && all->items[i].timed > 0)
            grid_add(g, &all->items[i]);
    g->speeds = calloc((size_t)g->rows * (size_t)g->columns + 1, sizeof *g->speeds);
    for (int row = 0; g->speeds != NULL && row < g->rows; row++)
        for (int c = 0; c < g->columns; c++) {
            const ladder_step *step = ladder_step_named(g->ladders[c], g->labels[row]);
            g->speeds[row * g->columns + c] = step != NULL ? row_speed(step->row) : (double)NAN;
        }
    room &= g->speeds != NULL;
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

/* Libraries have colours of their own, ours the one of the production kernels. */
static int curve_series(const grid *g, int row, int others)
{
    if (!g->library) return g->series[row];
    return strncmp(g->labels[row], "tilewright", 10) == 0
               ? chart_series(0, 0)
               : chart_series(1 + others % (CHART_COLOURS - 1), 1 + others % (CHART_DASHES - 1));
}

static int curve_count(const grid *g)
{
    int count = 0;
    for (int row = 0; row < g->rows; row++) count += is_curve(g, row);
    return count;
}

/* There are more rungs than looks: where several curves would have one, a rung has it before its variants, such as r12
 * before r12a, and the others are slight: their labels alone tell these apart. */
static void share_looks(chart_curve *curves, int count)
{
    bool taken[CHART_COLOURS * CHART_DASHES] = {false};
    for (int variants = 0; variants < 2; variants++)
        for (int i = 0; i < count; i++) {
            const char *label = curves[i].label;
            const size_t digits = label[0] == 'r' ? strspn(label + 1, "0123456789") : 0;
            const bool variant = digits > 0 && isalpha((unsigned char)label[1 + digits]);
            if (variant != (variants == 1) || curves[i].series < 0) continue;
            curves[i].slight = taken[curves[i].series];
            taken[curves[i].series] = true;
        }
}

/* top: as in a chart. */
static void draw_curves(const report *r, const grid *g, int number, bool wide, int top)
{
    double *sizes = calloc((size_t)g->columns, sizeof *sizes),
           *speeds = calloc((size_t)g->columns * (size_t)g->rows, sizeof *speeds);
    chart_curve *curves = calloc((size_t)g->rows, sizeof *curves);
    char title[240];
    report_device_text device;
    int count = 0, columns = 0, others = 0;
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
        if (is_curve(g, row)) {
            const int series = curve_series(g, row, others);
            others += series != chart_series(0, 0);
            curves[count++] = (chart_curve){g->labels[row], speeds + row * g->columns, series, false};
        }
    if (room && !g->library) share_looks(curves, count);
    int used = snprintf(title, sizeof title, "Speed over sizes, %s, %.20s on %.80s", wide ? "f64" : "f32",
                        report_engine_name(r->ladders->machines[number].engine),
                        report_device(&r->ladders->machines[number], device));
    if (g->library && g->threads > 0)
        snprintf(title + used, sizeof title - (size_t)used, ", %d thread%s", g->threads, g->threads == 1 ? "" : "s");
    const chart about = {title,
                         g->library ? "One curve per library: m = n = k to the right, speed upwards, both logarithmic."
                                    : "One curve per rung: m = n = k to the right, speed upwards, both logarithmic.",
                         false, top};
    if (count > 0) *r->no_memory |= !chart_curves(r->out, &about, "m = n = k", sizes, columns, curves, count);
    free(sizes);
    free(speeds);
    free(curves);
}

static bool has_curves(const grid *g) { return curve_count(g) > 0; }

static void curves_figure(const report *r, const grid *g, int number, bool wide)
{
    if (!has_curves(g)) return;
    fputs("<figure>\n", r->out);
    draw_curves(r, g, number, wide, 0);
    fputs("<figcaption>5kk73 tuned its steps at 4096 and says that they could be sub-optimal at other "
          "sizes: where curves cross, they are.</figcaption>\n</figure>\n",
          r->out);
}

/* The row that is the fastest in a column, among those that are drawn; -1: none is there. */
static int fastest_row(const grid *g, int column)
{
    int best = -1;
    for (int row = 0; row < g->rows; row++) {
        double speed = g->speeds[row * g->columns + column];
        if (is_curve(g, row) && !isnan(speed) && (best < 0 || speed > g->speeds[best * g->columns + column]))
            best = row;
    }
    return best;
}

/* Which rung is the fastest, from size to size. */
static void tell_fastest(const report *r, const grid *g)
{
    for (int c = 0; c < g->columns; c++) {
        const int best = fastest_row(g, c);
        units_text speed;
        if (best < 0) continue;
        fprintf(r->out, "<li>%" PRId64, g->ladders[c]->m);
        html_print(r->out, ": <strong>%t</strong>, %t GFLOP/s</li>\n", g->labels[best],
                   report_speed(g->speeds[best * g->columns + c], speed));
    }
}

void report_size_slides(const report *r)
{
    for (int i = 0; i < 2 * r->ladders->machine_count; i++) {
        const bool wide = i % 2;
        grid g;
        if (!grid_make(r, i / 2, wide, true, false, &g)) continue;
        if (has_curves(&g)) {
            slide_begin(r->out, "sizes", i);
            report_machine_name(r, i / 2);
            html_print(r->out, ", %h: which rung is the fastest at which size?", wide ? "f64" : "f32");
            slide_figure(r->out);
            draw_curves(r, &g, i / 2, wide, 0);
            slide_answer(r->out);
            tell_fastest(r, &g);
            slide_end(r->out);
        }
        grid_free(&g);
    }
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

/* Shapes beside a machine's main one: the index is machine, wide, other than square. */
static bool sizes_make(const report *r, int i, grid *g)
{
    const int number = i / 4;
    const bool square = i % 2 == 0;
    if (!grid_make(r, number, i / 2 % 2, square, false, g)) return false;
    if (g->columns > 1 || !square || g->ladders[0] != ladder_main(r->ladders, number)) return true;
    grid_free(g);
    return false;
}

bool report_has_sizes(const report *r)
{
    bool has = false;
    for (int i = 0; !has && i < 4 * r->ladders->machine_count; i++) {
        grid g;
        has = sizes_make(r, i, &g);
        if (has) grid_free(&g);
    }
    return has;
}

tw_status report_sizes(const report *r)
{
    fputs("<section id=\"sizes\" aria-labelledby=\"sizes-h\">\n<h2 id=\"sizes-h\">Sizes</h2>\n", r->out);
    for (int i = 0; i < 4 * r->ladders->machine_count; i++) {
        const int number = i / 4;
        const bool wide = i / 2 % 2, square = i % 2 == 0;
        grid g;
        if (!sizes_make(r, i, &g)) continue;
        fputs("<h3>", r->out);
        report_machine_name(r, number);
        html_print(r->out, ", %h%h</h3>\n", wide ? "f64" : "f32", square ? "" : ", other shapes");
        if (square) curves_figure(r, &g, number, wide);
        grid_table(r, &g, number, wide);
        grid_free(&g);
    }
    fputs("</section>\n", r->out);
    return TW_OK;
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
            const ladder_step *step = ladder_step_named(&l->items[i], label);
            units_text text;
            table_cell(&t, report_speed(step != NULL ? row_speed(step->row) : (double)NAN, text));
        }
    }
    *r->no_memory |= !table_end(&t);
}

tw_status report_libraries(const report *r)
{
    fputs("<section id=\"libraries\" aria-labelledby=\"libraries-h\">\n<h2 id=\"libraries-h\">Libraries</h2>\n"
          "<p>Whole products, as a user calls them: no rungs, and what they ask of memory is not known. "
          "<em>tilewright</em> is the same call of ours.</p>\n",
          r->out);
    for (int i = 0; i < 2 * r->ladders->machine_count; i++) library_table(r, i / 2, i % 2);
    fputs("</section>\n", r->out);
    return TW_OK;
}

/* The pictures one below the other, from `top` on, or with `draws` false their height alone. */
static int library_curves(const report *r, int top, bool draws)
{
    for (int i = 0; i < 2 * r->ladders->machine_count; i++) {
        const bool wide = i % 2;
        grid g;
        if (!grid_make(r, i / 2, wide, true, true, &g)) continue;
        const chart place = {.top = top};
        if (has_curves(&g) && draws) draw_curves(r, &g, i / 2, wide, top);
        if (has_curves(&g)) top += chart_curves_height(&place, curve_count(&g));
        grid_free(&g);
    }
    return top;
}

enum { FIRST_PICTURE = 30 };

bool report_has_library_curves(const report *r) { return library_curves(r, FIRST_PICTURE, false) > FIRST_PICTURE; }

void report_library_curves(const report *r)
{
    const chart about = {"Whole products beside other libraries",
                         "For each machine and type a picture: one curve per library, speed over sizes.", true, 0};
    chart_begin(r->out, &about, library_curves(r, FIRST_PICTURE, false));
    library_curves(r, FIRST_PICTURE, true);
    chart_end(r->out);
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

bool report_has_skinny(const report *r)
{
    bool has = false;
    for (int i = 0; i < r->ladders->count; i++) has |= r->ladders->items[i].skinny;
    return has;
}

tw_status report_skinny(const report *r)
{
    fputs("<section id=\"skinny\" aria-labelledby=\"skinny-h\">\n<h2 id=\"skinny-h\">Thin matrices</h2>\n", r->out);
    for (int i = 0; i < r->ladders->count; i++)
        if (r->ladders->items[i].skinny) skinny_table(r, &r->ladders->items[i]);
    fputs("<p>NVIDIA Best Practices: A has 16 columns, B 16 rows. Effective bandwidth counts 12 bytes per element of "
          "C: each block reads its two tiles and writes its own once. The document does not say what it counts, and no "
          "other natural count fits its figures; it does not give its m and n either, so that the steps between rungs "
          "are what can be compared. Caches serve the repeated tiles today: the figure may exceed the bandwidth of "
          "memory.</p>\n</section>\n",
          r->out);
    return TW_OK;
}
