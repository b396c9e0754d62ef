/* report_cliffs.c - random shapes beside friendlier ones: the ratio of their times over the size, and the worst. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../../lab/bench/cases.h"
#include "chart_frame.h"
#include "html.h"
#include "report_parts.h"

enum { LABELLED = 5, LISTED = 20 };

/* The shapes of one machine and type, the worst first. */
typedef struct cliffs {
    int machine, count;
    const char *dtype;
    const record **items;
} cliffs;

static double ratio(const record *r) { return r->median_s / r->friendlier_s; }

static double work(const record *r) { return (double)r->m * (double)r->n * (double)r->k; }

static int worst_first(const void *a, const void *b)
{
    const record *x = *(const record *const *)a, *y = *(const record *const *)b;
    return ratio(x) != ratio(y) ? (ratio(x) < ratio(y)) - (ratio(x) > ratio(y))
                                : (work(x) > work(y)) - (work(x) < work(y));
}

bool report_has_cliffs(const report *r)
{
    bool has = false;
    for (int i = 0; i < r->all->count; i++) has |= row_is_cliff(&r->all->rows[i]);
    return has;
}

/* Is record i the first of its machine and type? */
static bool is_first(const report *r, int i)
{
    const records_row *rows = r->all->rows;
    if (!row_is_cliff(&rows[i])) return false;
    for (int j = 0; j < i; j++)
        if (row_is_cliff(&rows[j]) && r->ladders->machine_of[j] == r->ladders->machine_of[i] &&
            strcmp(rows[j].r.dtype, rows[i].r.dtype) == 0)
            return false;
    return true;
}

/* Those of the machine and type of record `first`. */
static bool gather(const report *r, int first, cliffs *out)
{
    const records_row *rows = r->all->rows;
    *out = (cliffs){.machine = r->ladders->machine_of[first],
                    .dtype = rows[first].r.dtype,
                    .items = calloc((size_t)r->all->count, sizeof *out->items)};
    for (int i = first; out->items != NULL && i < r->all->count; i++)
        if (row_is_cliff(&rows[i]) && r->ladders->machine_of[i] == out->machine &&
            strcmp(rows[i].r.dtype, out->dtype) == 0)
            out->items[out->count++] = &rows[i].r;
    if (out->items == NULL) return false;
    qsort(out->items, (size_t)out->count, sizeof *out->items, worst_first);
    return true;
}

static const char *shape(const record *r, case_name out)
{
    tw_problem p = tw_problem_make(TW_F32, r->op_a == 't' ? TW_T : TW_N, r->op_b == 't' ? TW_T : TW_N, r->m, r->n,
                                   r->k);
    if (r->lda >= 0 && r->ldb >= 0 && r->ldc >= 0) p.lda = r->lda, p.ldb = r->ldb, p.ldc = r->ldc;
    return case_text(&p, out);
}

/* ---- the picture ---- */

enum { HEIGHT = 420, LEFT = 64, RIGHT = CHART_WIDTH - 26, TOP = 28, BOTTOM = HEIGHT - 48 };

static void draw_dots(FILE *out, const cliffs *c, const axis *x, const axis *y)
{
    series_text fill;
    series_class('f', chart_series(0, 0), fill);
    for (int i = 0; i < c->count; i++) {
        const record *r = c->items[i];
        case_name name;
        units_text text;
        fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>", fill, axis_at(x, work(r)),
                axis_at(y, ratio(r)));
        html_print(out, "%t: %t</title></circle>\n", shape(r, name), units_factor(ratio(r), text));
    }
}

static void draw(const report *r, const cliffs *c)
{
    static scene in_the_way;
    report_machine_text machine;
    char title[240];
    double low_x = INFINITY, high_x = 0, low_y = 1, high_y = 1;
    for (int i = 0; i < c->count; i++) {
        low_x = fmin(low_x, work(c->items[i])), high_x = fmax(high_x, work(c->items[i]));
        low_y = fmin(low_y, ratio(c->items[i])), high_y = fmax(high_y, ratio(c->items[i]));
    }
    const axis x = axis_logarithmic(low_x / 1.4, high_x * 1.4, LEFT, RIGHT),
               y = axis_logarithmic(low_y / 1.2, high_y * 1.2, BOTTOM, TOP);
    snprintf(title, sizeof title, "Cliffs, %.10s, %.150s", c->dtype, report_machine(r, c->machine, machine));
    const chart about = {title,
                         "One dot per shape: m n k to the right, its time over that of a larger one that contains it "
                         "upwards, both logarithmic. Above 1 is a cliff.",
                         .alone = false};
    in_the_way = (scene){.frame = {LEFT + 2, TOP, RIGHT, BOTTOM - 2}};
    frame_begin(r->out, &about, FRAME_ANY, HEIGHT);
    axis_draw(r->out, &x, 1, true, TOP, BOTTOM);
    axis_draw(r->out, &y, 1, false, LEFT, RIGHT);
    frame_text(r->out, "middle faint", (LEFT + RIGHT) / 2.0, HEIGHT - 9, 60, "m n k, logarithmic");
    frame_text(r->out, "faint", 8, 15, 60, "time over that of the friendlier shape, logarithmic");
    frame_line(r->out, "roof fine", LEFT, axis_at(&y, 1), RIGHT, axis_at(&y, 1));
    scene_line(&in_the_way, LEFT, axis_at(&y, 1), RIGHT, axis_at(&y, 1));
    for (int i = 0; i < c->count; i++) {
        const double at_x = axis_at(&x, work(c->items[i])), at_y = axis_at(&y, ratio(c->items[i]));
        scene_box(&in_the_way, (box){at_x - 4, at_y - 4, at_x + 4, at_y + 4});
    }
    for (int i = 0; i < c->count && i < LABELLED; i++) {
        case_name name;
        scene_label_point(r->out, &in_the_way, axis_at(&x, work(c->items[i])), axis_at(&y, ratio(c->items[i])),
                          shape(c->items[i], name));
    }
    draw_dots(r->out, c, &x, &y);
    frame_end(r->out);
}

/* ---- the section ---- */

static void worst_table(const report *r, const cliffs *c)
{
    static const char *const headings[] = {"Shape",
                                           "Median",
                                           "Friendlier shape",
                                           "Its median",
                                           "Ratio",
                                           "Over aligned rows",
                                           "Kernel",
                                           "Friendlier kernel",
                                           "Regret",
                                           "Best kernel"};
    table t;
    table_begin(&t, r->out, "The worst shapes");
    html_print(r->out, "<caption>The worst %d of %d shapes.</caption>\n", c->count < LISTED ? c->count : LISTED,
               c->count);
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++) table_heading(&t, headings[i]);
    for (int i = 0; i < c->count && i < LISTED; i++) {
        const record *d = c->items[i];
        case_name name;
        units_text text;
        table_row(&t, shape(d, name));
        table_cell(&t, units_seconds(d->median_s, text));
        const bool known = d->friendlier_m >= 0 && d->friendlier_n >= 0 && d->friendlier_k >= 0;
        snprintf(name, sizeof name, "%lldx%lldx%lld", (long long)d->friendlier_m, (long long)d->friendlier_n,
                 (long long)d->friendlier_k);
        table_cell(&t, known ? name : "-");
        table_cell(&t, units_seconds(d->friendlier_s, text));
        table_cell(&t, units_factor(ratio(d), text));
        table_cell(&t, units_factor(d->aligned_s > 0 ? d->median_s / d->aligned_s : (double)NAN, text));
        table_cell(&t, d->kernel != NULL ? d->kernel : "-");
        table_cell(&t, d->friendlier_kernel != NULL ? d->friendlier_kernel : "-");
        table_cell(&t, units_factor(d->regret, text));
        table_cell(&t, d->best_kernel != NULL ? d->best_kernel : "-");
    }
    *r->no_memory |= !table_end(&t);
}

static void tell(const report *r, const cliffs *c)
{
    double logs = 0;
    int over[2] = {0};
    units_text mean, worst;
    for (int i = 0; i < c->count; i++) {
        logs += log(ratio(c->items[i]));
        over[0] += ratio(c->items[i]) > 1.1, over[1] += ratio(c->items[i]) > 1.5;
    }
    fputs("<h3>", r->out);
    report_machine_name(r, c->machine);
    html_print(r->out, ", %t</h3>\n<figure>\n", c->dtype);
    draw(r, c);
    html_print(r->out,
               "<figcaption>%d random shapes, geometric mean %t; above 1.1: %d, above 1.5: %d; the worst %t. The "
               "friendlier shape has m, n and k rounded up to 8, 16, 64 or 128, whichever is the fastest, and aligned "
               "rows.</figcaption>\n</figure>\n",
               c->count, units_factor(exp(logs / c->count), mean), over[0], over[1],
               units_factor(ratio(c->items[0]), worst));
    worst_table(r, c);
}

tw_status report_cliffs(const report *r)
{
    fputs("<section id=\"cliffs\" aria-labelledby=\"cliffs-h\">\n<h2 id=\"cliffs-h\">Cliffs</h2>\n", r->out);
    for (int i = 0; i < r->all->count; i++) {
        cliffs c;
        if (!is_first(r, i)) continue;
        if (gather(r, i, &c))
            tell(r, &c);
        else
            *r->no_memory = true;
        free(c.items);
    }
    fputs("</section>\n", r->out);
    return TW_OK;
}
