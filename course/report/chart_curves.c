/* chart_curves.c - see chart.h: speed over sizes, each curve with its label at its end. */
#include "chart_frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "html.h"

enum { LEFT = 64, RIGHT = CHART_WIDTH - 230, TOP = 28, FOOT = 44, LABEL_MOST = 22 };
enum { HEIGHT_LEAST = 430, HEIGHT_AMONG_SEVERAL = 200 }; /* of what the axes enclose */

/* Where the labels at the curves' ends stand: the wanted heights, pushed apart. */
typedef struct ending {
    int curve;
    double wanted, y;
} ending;

static int by_height(const void *a, const void *b)
{
    const ending *x = a, *y = b;
    return x->wanted != y->wanted ? (x->wanted > y->wanted) - (x->wanted < y->wanted) : x->curve - y->curve;
}

static void push_apart(ending *e, int count, double top, double bottom)
{
    qsort(e, (size_t)count, sizeof *e, by_height);
    for (int i = 0; i < count; i++)
        e[i].y = i > 0 && e[i].wanted < e[i - 1].y + CHART_LINE ? e[i - 1].y + CHART_LINE : fmax(top, e[i].wanted);
    for (int i = count - 1; i >= 0; i--) {
        double most = i == count - 1 ? bottom : e[i + 1].y - CHART_LINE;
        if (e[i].y > most) e[i].y = most;
    }
}

static int last_size(const chart_curve *c, int size_count)
{
    int last = -1;
    for (int i = 0; i < size_count; i++)
        if (!isnan(c->speeds[i])) last = i;
    return last;
}

static void curve(FILE *out, const chart_curve *c, const double *sizes, int size_count, const axis *x, const axis *y)
{
    bool drawing = false;
    series_text class;
    fprintf(out, "<path class=\"curve %s%s\" d=\"", series_class('k', c->series, class), c->slight ? " slight" : "");
    for (int i = 0; i < size_count; i++) {
        if (isnan(c->speeds[i])) continue;
        fprintf(out, "%c%.1f %.1f", drawing ? 'L' : 'M', axis_at(x, sizes[i]), axis_at(y, c->speeds[i]));
        drawing = true;
    }
    fputs("\"><title>", out);
    html_text(out, c->label);
    fputs("</title></path>\n", out);
    for (int i = 0; i < size_count; i++)
        if (!isnan(c->speeds[i]))
            fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>",
                    series_class('f', c->series, class), axis_at(x, sizes[i]), axis_at(y, c->speeds[i]));
    fputc('\n', out);
}

/* Powers of two are ticks themselves; between other sizes stand round numbers. */
static void draw_sizes(FILE *out, const double *sizes, int count, axis *x, double top, double bottom)
{
    bool doubling = true;
    for (int i = 0, exponent; i < count; i++) doubling &= !(fabs(frexp(sizes[i], &exponent) - 0.5) > 0);
    if (doubling)
        *x = (axis){sizes[0], sizes[count - 1], LEFT, RIGHT, true};
    else
        *x = axis_logarithmic(sizes[0], sizes[count - 1], LEFT, RIGHT);
    if (doubling)
        axis_draw_ticks(out, x, sizes, count, 1, true, top, bottom);
    else
        axis_draw(out, x, 1, true, top, bottom);
}

int chart_curves_height(const chart *about, int count)
{
    return (int)(frame_top(about) + TOP +
                 fmax(count * CHART_LINE, about->top > 0 ? HEIGHT_AMONG_SEVERAL : HEIGHT_LEAST)) +
           FOOT;
}

bool chart_curves(FILE *out, const chart *about, const char *across, const double *sizes, int size_count,
                  const chart_curve *curves, int count)
{
    ending *endings = calloc((size_t)count + 1, sizeof *endings);
    const int height = chart_curves_height(about, count);
    const double top = frame_top(about) + TOP, bottom = height - FOOT;
    double low = INFINITY, high = 0;
    if (endings == NULL) return false;
    for (int i = 0; i < count; i++)
        for (int s = 0; s < size_count; s++)
            low = fmin(low, curves[i].speeds[s]), high = fmax(high, curves[i].speeds[s]);
    const frame_unit unit = frame_unit_for(high);
    const axis y = axis_logarithmic(low / 1.1, high * 1.1, bottom, top);
    axis x;
    char words[80];
    frame_begin(out, about, FRAME_ANY, height);
    axis_draw(out, &y, unit.gflops, false, LEFT, RIGHT);
    draw_sizes(out, sizes, size_count, &x, top, bottom);
    snprintf(words, sizeof words, "%.50s, logarithmic", across);
    frame_text(out, "middle faint", (LEFT + RIGHT) / 2.0, bottom + 36, 60, words);
    snprintf(words, sizeof words, "%s, logarithmic", unit.name);
    frame_text(out, "faint", 8, top - 13, 60, words);
    int ends = 0;
    for (int i = 0; i < count; i++) {
        int s = last_size(&curves[i], size_count);
        if (s < 0) continue;
        curve(out, &curves[i], sizes, size_count, &x, &y);
        endings[ends++] = (ending){.curve = i, .wanted = axis_at(&y, curves[i].speeds[s])};
    }
    push_apart(endings, ends, top + 4, bottom - 4);
    for (int i = 0; i < ends; i++) {
        const chart_curve *c = &curves[endings[i].curve];
        series_text class;
        double from = axis_at(&x, sizes[last_size(c, size_count)]);
        frame_line(out, "thin dots", from + 4, endings[i].wanted, RIGHT + 16, endings[i].y);
        frame_text(out, series_class('f', c->series, class), RIGHT + 20, endings[i].y + 5, LABEL_MOST, c->label);
    }
    frame_end(out);
    free(endings);
    return true;
}
