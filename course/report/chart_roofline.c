/* chart_roofline.c - see chart.h: speed over flop per byte asked, below what memory and arithmetic allow. */
#include "chart_frame.h"

#include <math.h>
#include <string.h>
#include "html.h"

enum { HEIGHT = 540, LEFT = 64, RIGHT = CHART_WIDTH - 26, TOP = 28, BOTTOM = HEIGHT - 48 };

typedef struct roofline {
    FILE *out;
    axis x, y;
    frame_unit unit;
    scene *scene;
} roofline;

static double larger(double a, double b) { return !isnan(b) && !(a >= b) ? b : a; }

static double smaller(double a, double b) { return !isnan(b) && !(a <= b) ? b : a; }

/* Drawn, and kept off by the labels. */
static void line(const roofline *r, const char *class, double x1, double y1, double x2, double y2)
{
    frame_line(r->out, class, x1, y1, x2, y2);
    scene_line(r->scene, x1, y1, x2, y2);
}

/* The roof of a bandwidth: from the left edge up to the peak or the right edge. */
static void slope(const roofline *r, double gbps, double peak, const char *class)
{
    double x1 = r->x.first, y1 = x1 * gbps, x2 = r->x.last, y2 = x2 * gbps;
    if (isnan(gbps)) return;
    if (!isnan(peak) && y2 > peak) x2 = peak / gbps, y2 = peak;
    if (y1 < r->y.first) x1 = r->y.first / gbps, y1 = r->y.first;
    if (y2 > r->y.last) x2 = r->y.last / gbps, y2 = r->y.last;
    if (x1 < x2) line(r, class, axis_at(&r->x, x1), axis_at(&r->y, y1), axis_at(&r->x, x2), axis_at(&r->y, y2));
}

/* The roof of a peak: from where the bandwidth meets it on. */
static double level(const roofline *r, double gbps, double peak, const char *class)
{
    double height = axis_at(&r->y, peak), ridge = peak / gbps;
    double from = ridge > r->x.first ? fmin(axis_at(&r->x, ridge), RIGHT) : LEFT;
    line(r, class, from, height, RIGHT, height);
    return from;
}

static void name_level(const roofline *r, const char *name, double peak, double from)
{
    char words[64];
    units_text value;
    frame_speed(&r->unit, peak, value);
    snprintf(words, sizeof words, "%s %s", name, value);
    scene_label_level(r->out, r->scene, from, RIGHT, axis_at(&r->y, peak), words);
}

/* Where A and B are asked for once: at the line's foot, or above what is in the way. */
static void name_once(const roofline *r, double place)
{
    static const char words[] = "A and B once";
    double room = frame_width(words) + 12;
    bool left = place - LEFT > room;
    for (double y = BOTTOM - 2; y > TOP + CHART_LINE; y -= CHART_LINE)
        if (scene_label_level(r->out, r->scene, left ? place - room : place, left ? place - 4 : place + room, y, words))
            return;
}

static void draw_roofs(const roofline *r, const chart_roofs *roofs)
{
    double once = NAN, from[CHART_ROOFS];
    for (int i = 0; i < roofs->count; i++) {
        const chart_roof *x = &roofs->roofs[i];
        const char *class = i == 0 ? "roof" : "roof fine";
        from[i] = isnan(x->peak) ? (double)NAN : level(r, x->memory_gbps, x->peak, class);
        slope(r, x->memory_gbps, x->peak, class);
    }
    if (roofs->count > 0) slope(r, roofs->cache_gbps, roofs->roofs[0].peak, "axis dash");
    if (!isnan(roofs->once)) {
        once = axis_at(&r->x, roofs->once);
        line(r, "thin dots", once, BOTTOM, once, TOP);
    }
    for (int i = 0; i < roofs->count; i++) {
        chart_peak_text name;
        if (!isnan(from[i]))
            name_level(r, chart_peak_name(roofs->roofs[i].threads, name), roofs->roofs[i].peak, from[i]);
    }
    if (!isnan(once)) name_once(r, once);
}

static void draw_bound(const roofline *r, const chart_dot *dot)
{
    double place = axis_at(&r->x, dot->intensity), height = axis_at(&r->y, dot->speed);
    double bound = axis_at(&r->y, smaller(dot->no_cache, r->y.last));
    line(r, "thin dots", place, height, place, bound);
    line(r, "thin", place - 6, bound, place + 6, bound);
}

static void draw_dot(const roofline *r, const chart_dot *dot)
{
    units_text speed, intensity;
    series_text fill;
    fprintf(r->out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>",
            series_class('f', dot->series, fill), axis_at(&r->x, dot->intensity), axis_at(&r->y, dot->speed));
    html_print(r->out, "%t: %t GFLOP/s at %t flop per byte</title></circle>\n", dot->label,
               units_gflops(dot->speed, speed), units_number(dot->intensity, intensity));
}

void chart_roofline(FILE *out, const chart *about, const chart_roofs *roofs, const chart_dot *dots, int count)
{
    static scene in_the_way;
    double low_x = smaller(INFINITY, roofs->once), high_x = larger(0, roofs->once), low_y = INFINITY, high_y = 0;
    for (int i = 0; i < roofs->count; i++) high_y = larger(high_y, roofs->roofs[i].peak);
    for (int i = 0; i < count; i++) {
        low_x = smaller(low_x, dots[i].intensity), high_x = larger(high_x, dots[i].intensity);
        low_y = smaller(smaller(low_y, dots[i].speed), dots[i].no_cache), high_y = larger(high_y, dots[i].speed);
    }
    const roofline r = {out, axis_logarithmic(low_x / 1.4, high_x * 1.4, LEFT, RIGHT),
                        axis_logarithmic(low_y / 1.4, high_y * 1.4, BOTTOM, TOP), frame_unit_for(high_y), &in_the_way};
    in_the_way = (scene){.frame = {LEFT + 2, TOP, RIGHT, BOTTOM - 2}};
    frame_begin(out, about, FRAME_ANY, HEIGHT);
    axis_draw(out, &r.x, 1, true, TOP, BOTTOM);
    axis_draw(out, &r.y, r.unit.gflops, false, LEFT, RIGHT);
    frame_text(out, "middle faint", (LEFT + RIGHT) / 2.0, HEIGHT - 9, 60, "flop per byte asked of memory, logarithmic");
    char words[80];
    snprintf(words, sizeof words, "%s, logarithmic", r.unit.name);
    frame_text(out, "faint", 8, 15, 60, words);
    for (int i = 0; i < count; i++) {
        double x = axis_at(&r.x, dots[i].intensity), y = axis_at(&r.y, dots[i].speed);
        scene_box(r.scene, (box){x - 5, y - 5, x + 5, y + 5});
        if (!isnan(dots[i].no_cache)) draw_bound(&r, &dots[i]);
    }
    draw_roofs(&r, roofs);
    for (int i = 0; i < count; i++)
        scene_label_point(out, r.scene, axis_at(&r.x, dots[i].intensity), axis_at(&r.y, dots[i].speed), dots[i].label);
    for (int i = 0; i < count; i++) draw_dot(&r, &dots[i]);
    frame_end(out);
}
