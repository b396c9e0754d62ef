/* chart.c - see chart.h: the bars, and what a series looks like. */
#include "chart_frame.h"

#include <math.h>
#include <string.h>

int chart_series(int colour, int dashes) { return colour % CHART_COLOURS + CHART_COLOURS * (dashes % CHART_DASHES); }

const char *series_class(char kind, int series, series_text out)
{
    int dashes = series / CHART_COLOURS;
    if (series < 0)
        snprintf(out, sizeof(series_text), "%ci", kind);
    else if (kind == 'k' && dashes > 0)
        snprintf(out, sizeof(series_text), "k%d d%d", series % CHART_COLOURS, dashes);
    else
        snprintf(out, sizeof(series_text), "%c%d", kind, series % CHART_COLOURS);
    return out;
}

/* ---- bars ---- */

enum {
    LEFT_LEAST = 128,
    LEFT_MOST = CHART_WIDTH * 2 / 5,
    RIGHT = CHART_WIDTH - 90, /* a number of 8 letters fits beside the longest bar */
    ROW = 24,
    ROW_BESIDE = 10,
    GAP = 14,
    ARROW = 16
};

/* The ends of the axis, where the bars begin, and what their numbers keep off. */
typedef struct bars_frame {
    axis x;
    frame_unit unit;
    double peaks[2]; /* places, ascending; NAN */
} bars_frame;

static void speed_beside(FILE *out, const bars_frame *f, const char *class, double gflops, double from, double y)
{
    units_text speed;
    frame_speed(&f->unit, gflops, speed);
    for (int i = 0; i < 2; i++)
        if (f->peaks[i] > from - 3 && f->peaks[i] < from + frame_width(speed) + 3) from = f->peaks[i] + 5;
    frame_text(out, class, from, y, 12, speed);
}

static double width_to(const bars_frame *f, double gflops) { return fmax(axis_at(&f->x, gflops) - f->x.from, 0.5); }

static void bar(FILE *out, const chart_bar *b, const bars_frame *f, double y)
{
    const double from = f->x.from;
    series_text fill, stroke;
    frame_text(out, "end", from - 7, y + 15, (int)((from - 8) / CHART_LETTER), b->label);
    if (isnan(b->speed)) {
        frame_text(out, "faint", from + 4, y + 15, 40, "did not run");
        return;
    }
    series_class('f', b->series, fill),
        series_class('k', b->series < 0 ? b->series : b->series % CHART_COLOURS, stroke);
    double width = b->off ? ARROW : width_to(f, b->speed);
    fprintf(out, "<rect class=\"bar %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\"/>\n", fill, from, y + 2,
            width);
    if (b->off) fprintf(out, "<path class=\"bar %s\" d=\"M%.1f %.1fl8 8l-8 8z\"/>\n", fill, from + width, y + 2);
    speed_beside(out, f, "", b->speed, from + width + (b->off ? 12 : 5), y + 15);
    if (isnan(b->beside)) return;
    width = width_to(f, b->beside);
    fprintf(out, "<rect class=\"hollow %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"7\"/>\n", stroke, from,
            y + 19.5, width);
    speed_beside(out, f, "faint", b->beside, from + width + 5, y + 28);
}

/* A peak as a dashed line down from its words, which stand at height y and keep off the other peak's line. */
static void ceiling(FILE *out, const bars_frame *f, const char *name, double gflops, double y, double bottom, bool left)
{
    char words[64];
    units_text value;
    double place = axis_at(&f->x, gflops);
    frame_speed(&f->unit, gflops, value);
    snprintf(words, sizeof words, "%s %s", name, value);
    double width = frame_width(words), middle = fmin(place, CHART_WIDTH - 2 - width / 2);
    frame_line(out, "axis dash", place, y + 5, place, bottom);
    if (!left)
        frame_text(out, "middle", middle, y, 60, words);
    else
        frame_text(out, place - width > 4 ? "end" : "", place + (place - width > 4 ? -5 : 5), y, 60, words);
}

static double larger(double a, double b) { return !isnan(b) && !(a >= b) ? b : a; }

/* The axis of the bars: the largest and the smallest speed, and the peaks that are near enough to be shown. */
static bars_frame frame_of(const chart_bar *bars, int count, const chart_peaks *peaks, chart_peaks *shown)
{
    double largest = 0, smallest = INFINITY, left = LEFT_LEAST;
    for (int i = 0; i < count; i++) {
        left = fmax(left, fmin(16 + frame_width(bars[i].label), LEFT_MOST));
        if (bars[i].off) continue;
        largest = larger(larger(largest, bars[i].speed), bars[i].beside);
        smallest = fmin(smallest, fmin(bars[i].speed, bars[i].beside));
    }
    *shown = (chart_peaks){peaks->all > 0 && peaks->all < 3 * largest ? peaks->all : (double)NAN,
                           peaks->one_thread > 0 && peaks->one_thread < 3 * largest ? peaks->one_thread : (double)NAN};
    double most = larger(largest, shown->all);
    bars_frame f = {.unit = frame_unit_for(most)};
    f.x = largest >= 100 * smallest ? axis_logarithmic(smallest / 1.5, most, left, RIGHT)
                                    : axis_linear(most > 0 ? most : 1, left, RIGHT);
    f.peaks[0] = axis_at(&f.x, shown->one_thread), f.peaks[1] = axis_at(&f.x, shown->all);
    return f;
}

void chart_bars(FILE *out, const chart *about, const chart_bar *bars, int count, const chart_peaks *peaks)
{
    chart_peaks shown;
    const bars_frame f = frame_of(bars, count, peaks, &shown);
    double top = frame_top(about) + 6, first, y;
    top += 18 * (!isnan(shown.all) + !isnan(shown.one_thread));
    first = y = top + 4;
    for (int i = 0; i < count; i++)
        y += ROW + (isnan(bars[i].beside) ? 0 : ROW_BESIDE) + (bars[i].apart && i > 0 && !bars[i - 1].apart ? GAP : 0);
    const double bottom = y + 4;
    char words[80];
    frame_begin(out, about, (int)bottom + 46);
    axis_draw(out, &f.x, f.unit.gflops, true, top, bottom);
    snprintf(words, sizeof words, "%s%s", f.unit.name, f.x.logarithmic ? ", logarithmic" : "");
    frame_text(out, "end faint", RIGHT, bottom + 37, 60, words);
    y = first;
    for (int i = 0; i < count; i++) {
        if (bars[i].apart && i > 0 && !bars[i - 1].apart) {
            frame_line(out, "thin dots", 8, y + GAP / 2.0, RIGHT, y + GAP / 2.0);
            y += GAP;
        }
        bar(out, &bars[i], &f, y);
        y += ROW + (isnan(bars[i].beside) ? 0 : ROW_BESIDE);
    }
    y = frame_top(about) + 16;
    if (!isnan(shown.all)) ceiling(out, &f, "measured peak", shown.all, y, bottom, false), y += 18;
    if (!isnan(shown.one_thread)) ceiling(out, &f, "peak of one thread", shown.one_thread, y, bottom, true);
    frame_end(out);
}
