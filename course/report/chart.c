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
    NARROW_LEFT = 8,
    RIGHT_ROOM = 90, /* a number of 8 letters fits beside the longest bar */
    ROW = 24,
    ROW_BESIDE = 10,
    LABEL_ROW = 14, /* a label above its bar */
    PEAK_ROW = 18,  /* a peak's words above its bars */
    GAP = 14,
    FOOT = 46, /* the axis below its bars */
    BETWEEN = 12,
    KEY_ROW = 22,
    KEY_COLUMNS = 2
};

/* The bars of one type: they share an axis. */
typedef struct panel {
    const chart_bar *bars;
    int count;
    bool narrow;  /* labels stand above their bars */
    double right; /* end of the picture */
    double largest;
    axis x;
    frame_unit unit;
} panel;

static double larger(double a, double b) { return !isnan(b) && !(a >= b) ? b : a; }

/* A peak that is too far away would leave no room for the bars. */
static double shown_peak(const panel *p, int i)
{
    return p->bars[i].peak > 0 && p->bars[i].peak < 3 * p->largest ? p->bars[i].peak : (double)NAN;
}

/* Bars of one number of threads stand together, below their peak. */
static bool begins_run(const panel *p, int i) { return i == 0 || p->bars[i].threads != p->bars[i - 1].threads; }

static bool has_gap(const panel *p, int i)
{
    return i > 0 && (begins_run(p, i) || p->bars[i].apart != p->bars[i - 1].apart);
}

static bool has_words(const panel *p, int i) { return begins_run(p, i) && !isnan(shown_peak(p, i)); }

static double row_height(const panel *p, int i)
{
    return ROW + (p->narrow ? LABEL_ROW : 0) + (isnan(p->bars[i].beside) ? 0 : ROW_BESIDE);
}

static double rows_height(const panel *p)
{
    double height = 0;
    for (int i = 0; i < p->count; i++)
        height += row_height(p, i) + (has_words(p, i) ? PEAK_ROW : 0) + (has_gap(p, i) ? GAP : 0);
    return height;
}

static panel panel_of(const chart_bar *bars, int count, bool narrow, double left)
{
    panel p = {.bars = bars, .narrow = narrow, .right = narrow ? CHART_NARROW : CHART_WIDTH};
    for (; p.count < count && strcmp(bars[p.count].type, bars[0].type) == 0; p.count++)
        p.largest = larger(larger(p.largest, bars[p.count].speed), bars[p.count].beside);
    double most = p.largest;
    for (int i = 0; i < p.count; i++) most = larger(most, shown_peak(&p, i));
    p.unit = frame_unit_for(most);
    p.x = axis_linear(most > 0 ? most : 1, left, p.right - RIGHT_ROOM);
    return p;
}

static double panel_height(const panel *p) { return rows_height(p) + 4 + FOOT; }

/* A speed behind its bar's end, and off the peak. */
static void speed_beside(FILE *out, const panel *p, const char *class, double gflops, double peak, double from,
                         double y)
{
    units_text speed;
    frame_speed(&p->unit, gflops, speed);
    if (peak > from - 3 && peak < from + frame_width(speed) + 3) from = peak + 5;
    frame_text(out, class, from, y, 12, speed);
}

static double width_to(const panel *p, double gflops) { return fmax(axis_at(&p->x, gflops) - p->x.from, 0.5); }

/* A dashed line beside each bar is its peak. */
static void bar(FILE *out, const panel *p, int i, double y)
{
    const chart_bar *b = &p->bars[i];
    const double from = p->x.from, peak = axis_at(&p->x, shown_peak(p, i)), bottom = y + row_height(p, i);
    series_text fill, stroke;
    if (p->narrow)
        frame_text(out, "", from + 3, y + LABEL_ROW - 2, (int)((p->right - from) / CHART_LETTER), b->label);
    else
        frame_text(out, "end", from - 7, y + 15, (int)((from - 8) / CHART_LETTER), b->label);
    if (p->narrow) y += LABEL_ROW;
    if (!isnan(peak)) frame_line(out, "axis dash", peak, y, peak, bottom);
    if (isnan(b->speed)) {
        frame_text(out, "faint", from + 4, y + 15, 40, "did not run");
        return;
    }
    series_class('f', b->series, fill),
        series_class('k', b->series < 0 ? b->series : b->series % CHART_COLOURS, stroke);
    double width = width_to(p, b->speed);
    fprintf(out, "<rect class=\"bar %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\"/>\n", fill, from, y + 2,
            width);
    speed_beside(out, p, "", b->speed, peak, from + width + 5, y + 15);
    if (isnan(b->beside)) return;
    width = width_to(p, b->beside);
    fprintf(out, "<rect class=\"hollow %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"7\"/>\n", stroke, from,
            y + 19.5, width);
    speed_beside(out, p, "faint", b->beside, peak, from + width + 5, y + 28);
}

const char *chart_peak_name(int threads, chart_peak_text out)
{
    if (threads <= 0)
        snprintf(out, sizeof(chart_peak_text), "measured peak");
    else if (threads == 1)
        snprintf(out, sizeof(chart_peak_text), "peak of one thread");
    else
        snprintf(out, sizeof(chart_peak_text), "peak of %d threads", threads);
    return out;
}

/* The words of a run's peak. */
static void name_peak(FILE *out, const panel *p, int i, double y)
{
    char words[80];
    units_text value;
    chart_peak_text name;
    const double place = axis_at(&p->x, p->bars[i].peak);
    frame_speed(&p->unit, p->bars[i].peak, value);
    snprintf(words, sizeof words, "%s %s", chart_peak_name(p->bars[i].threads, name), value);
    const double half = frame_width(words) / 2;
    frame_text(out, "middle", fmax(fmin(place, p->right - 2 - half), 2 + half), y + PEAK_ROW - 6, 60, words);
}

static void draw_panel(FILE *out, const panel *p, double y)
{
    const double bottom = y + rows_height(p) + 4;
    char words[80];
    axis_draw(out, &p->x, p->unit.gflops, true, has_words(p, 0) ? y + PEAK_ROW : y, bottom);
    snprintf(words, sizeof words, "%.10s%s%s, linear from 0", p->bars[0].type, p->bars[0].type[0] != '\0' ? ": " : "",
             p->unit.name);
    frame_text(out, "end faint", p->x.to, bottom + 37, 60, words);
    for (int i = 0; i < p->count; i++) {
        if (has_gap(p, i)) {
            frame_line(out, "thin dots", 8, y + GAP / 2.0, p->x.to, y + GAP / 2.0);
            y += GAP;
        }
        if (has_words(p, i)) name_peak(out, p, i, y), y += PEAK_ROW;
        bar(out, p, i, y);
        y += row_height(p, i);
    }
}

static int keys_height(const chart *about) { return (about->key_count + KEY_COLUMNS - 1) / KEY_COLUMNS * KEY_ROW; }

static void draw_keys(FILE *out, const chart *about, double y)
{
    for (int i = 0; i < about->key_count; i++) {
        const chart_key *key = &about->keys[i];
        const double x = 8 + i % KEY_COLUMNS * (CHART_WIDTH / KEY_COLUMNS), line = y + i / KEY_COLUMNS * KEY_ROW;
        series_text class;
        fprintf(out, "<rect class=\"%s%s\" x=\"%.1f\" y=\"%.1f\" width=\"22\" height=\"%d\"/>\n",
                key->hollow ? "hollow " : "", series_class(key->hollow ? 'k' : 'f', key->series, class), x,
                key->hollow ? line + 4 : line, key->hollow ? 7 : 14);
        frame_text(out, "", x + 30, line + 12, 60, key->words);
    }
}

static void draw_bars(FILE *out, const chart *about, frame_screen screen, const chart_bar *bars, int count)
{
    const bool narrow = screen == FRAME_NARROW;
    double y = frame_top(about) + 6, height = y, left = narrow ? NARROW_LEFT : LEFT_LEAST;
    for (int i = 0; !narrow && i < count; i++) left = fmax(left, fmin(16 + frame_width(bars[i].label), LEFT_MOST));
    for (int i = 0; i < count;) {
        const panel p = panel_of(bars + i, count - i, narrow, left);
        height += panel_height(&p) + BETWEEN;
        i += p.count;
    }
    frame_begin(out, about, screen, (int)height - BETWEEN + keys_height(about));
    for (int i = 0; i < count;) {
        const panel p = panel_of(bars + i, count - i, narrow, left);
        draw_panel(out, &p, y);
        y += panel_height(&p) + BETWEEN;
        i += p.count;
    }
    draw_keys(out, about, y - BETWEEN);
    frame_end(out);
}

void chart_bars(FILE *out, const chart *about, const chart_bar *bars, int count)
{
    draw_bars(out, about, about->alone ? FRAME_ANY : FRAME_WIDE, bars, count);
    if (!about->alone) draw_bars(out, about, FRAME_NARROW, bars, count);
}
