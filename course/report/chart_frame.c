/* chart_frame.c - see chart_frame.h. */
#include "chart_frame.h"

#include <math.h>
#include <string.h>
#include "html.h"

const char chart_style[] =
    ".chart{--ink:#1b1f24;--faint:#59626c;--grid:#d5dae0;--paper:#fff;--c0:#0b5fa5;--c1:#b34700;--c2:#00724f;--c3:#"
    "97337f;--c4:#6b5900;--c5:#4a525b;font:14px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
    "Sans',sans-serif}\n@media "
    "(prefers-color-scheme:dark){.chart{--ink:#e6e9ec;--faint:#a3acb6;--grid:#353c44;--paper:#14171a;--c0:#7db8f5;--c1:"
    "#ffa366;--c2:#4fd1a5;--c3:#e59ad6;--c4:#d6c04a;--c5:#b8c0c8}}\n@media "
    "print{.chart{--ink:#000;--faint:#333;--grid:#bbb;--paper:#fff;--c0:#0b5fa5;--c1:#b34700;--c2:#00724f;--c3:#97337f;"
    "--c4:#6b5900;--c5:#4a525b}}\n.chart text{fill:var(--ink)}.chart .faint{fill:var(--faint)}.chart "
    ".end{text-anchor:end}.chart .middle{text-anchor:middle}\n.chart .grid{stroke:var(--grid)}.chart .axis,.chart "
    ".roof{stroke:var(--ink);fill:none}.chart .roof{stroke-width:2}.chart .fine{stroke-width:1}\n.chart "
    ".thin{stroke:var(--faint);fill:none}.chart "
    ".dash{stroke-dasharray:4 3}.chart .dots{stroke-dasharray:1.5 2.5}\n.chart .fi{fill:var(--ink)}.chart "
    ".ki{stroke:var(--ink)}.chart .hollow{fill:none}.chart .dot{stroke:var(--paper)}\n.chart "
    ".label{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}\n.chart "
    ".curve{fill:none;stroke-width:2}.chart .slight{stroke-width:1}\n.chart .k0{stroke:var(--c0)}.chart "
    ".k1{stroke:var(--c1)}.chart "
    ".k2{stroke:var(--c2)}.chart .k3{stroke:var(--c3)}.chart .k4{stroke:var(--c4)}.chart .k5{stroke:var(--c5)}\n.chart "
    ".f0{fill:var(--c0)}.chart .f1{fill:var(--c1)}.chart .f2{fill:var(--c2)}.chart .f3{fill:var(--c3)}.chart "
    ".f4{fill:var(--c4)}.chart .f5{fill:var(--c5)}\n.chart .d1{stroke-dasharray:7 3}.chart .d2{stroke-dasharray:2 "
    "2}.chart .d3{stroke-dasharray:9 3 2 3}.chart .d4{stroke-dasharray:14 5}\n.chart.narrow{display:none}@media screen "
    "and "
    "(max-width:760px){.chart.wide{display:none}.chart.narrow{display:block;min-width:0;max-width:32rem}}\n";

/* ---- frame ---- */

enum { TITLE_HEIGHT = 30 };

double frame_top(const chart *about) { return about->alone || about->top > 0 ? TITLE_HEIGHT : 0; }

void frame_begin(FILE *out, const chart *about, frame_screen screen, int height)
{
    static const char *const classes[] = {"chart", "chart wide", "chart narrow"};
    html_print(out, "<svg class=\"%h\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%t\"", classes[screen],
               screen == FRAME_NARROW ? CHART_NARROW : CHART_WIDTH, height, about->title);
    if (about->alone)
        fprintf(out, " xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\"", CHART_WIDTH, height);
    if (about->top > 0) fprintf(out, " y=\"%d\" width=\"%d\" height=\"%d\"", about->top, CHART_WIDTH, height);
    html_print(out, ">\n<title>%t</title>\n<desc>%t</desc>\n", about->title, about->description);
    if (about->alone)
        fprintf(out, "<style>\n%s</style>\n<rect width=\"%d\" height=\"%d\" style=\"fill:var(--paper)\"/>\n",
                chart_style, CHART_WIDTH, height);
    if (about->alone || about->top > 0)
        html_print(out, "<text x=\"8\" y=\"20\" style=\"font-size:16px;font-weight:600\">%t</text>\n", about->title);
}

void chart_begin(FILE *out, const chart *about, int height) { frame_begin(out, about, FRAME_ANY, height); }

void chart_end(FILE *out) { frame_end(out); }

void frame_end(FILE *out) { fputs("</svg>\n", out); }

void frame_line(FILE *out, const char *class, double x1, double y1, double x2, double y2)
{
    fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2);
}

void frame_text(FILE *out, const char *class, double x, double y, int most, const char *what)
{
    fprintf(out, "<text%s%s%s x=\"%.1f\" y=\"%.1f\">", class[0] != '\0' ? " class=\"" : "", class,
            class[0] != '\0' ? "\"" : "", x, y);
    html_text_most(out, what, most);
    fputs("</text>\n", out);
}

double frame_width(const char *text) { return CHART_LETTER * (double)strlen(text); }

frame_unit frame_unit_for(double largest)
{
    return largest >= 10000 ? (frame_unit){"TFLOP/s", 1000} : (frame_unit){"GFLOP/s", 1};
}

void frame_speed(const frame_unit *unit, double gflops, units_text out)
{
    double value = gflops / unit->gflops;
    snprintf(out, UNITS_TEXT,
             value >= 1e5   ? "%.3g"
             : value >= 100 ? "%.0f"
             : value >= 10  ? "%.1f"
             : value >= 0.1 ? "%.2f"
                            : "%.2g",
             value);
}

/* ---- axes ---- */

enum { TICKS_MOST = 40 };

/* 1, 2 or 5 times a power of ten: the largest up to `value`, or the smallest from it on. */
static double round_number(double value, bool up)
{
    static const double steps[] = {1, 2, 5, 10};
    const double decade = pow(10, floor(log10(value)));
    for (int i = 0; i < 4; i++) {
        double step = steps[up ? i : 3 - i] * decade;
        if (up ? step >= value * 0.9999 : step <= value * 1.0001) return step;
    }
    return decade;
}

static double linear_step(double most) { return round_number(most / 6, true); }

axis axis_linear(double most, double from, double to)
{
    double step = linear_step(most);
    return (axis){0, step * ceil(most / step - 1e-4), from, to, false};
}

axis axis_logarithmic(double least, double most, double from, double to)
{
    double first = round_number(least, false), last = round_number(most, true);
    return (axis){first, last > first * 1.5 ? last : round_number(first * 1.5, true), from, to, true};
}

double axis_at(const axis *a, double value)
{
    double share = a->logarithmic ? log(value / a->first) / log(a->last / a->first)
                                  : (value - a->first) / (a->last - a->first);
    return a->from + share * (a->to - a->from);
}

/* Both ends; between them decades; where there are few, also 2 and 5 of each; where there are very many, some. */
static int log_ticks(const axis *a, double ticks[TICKS_MOST])
{
    static const double steps[] = {1, 2, 5};
    double decades = log10(a->last / a->first), step = pow(10, ceil((decades + 2) / (TICKS_MOST - 2)));
    int count = 0, used = decades < 2.5 ? 3 : 1;
    ticks[count++] = a->first;
    for (double decade = pow(10, floor(log10(a->first) + 1e-9)); decade < a->last; decade *= step)
        for (int s = 0; s < used; s++)
            if (decade * steps[s] > a->first * 1.001 && decade * steps[s] < a->last * 0.999 && count < TICKS_MOST - 1)
                ticks[count++] = decade * steps[s];
    ticks[count++] = a->last;
    return count;
}

static int linear_ticks(const axis *a, double ticks[TICKS_MOST])
{
    double step = linear_step(a->last);
    int count = 0;
    while (count < TICKS_MOST && step * count <= a->last * 1.0001) ticks[count] = step * count, count++;
    return count;
}

static void tick_text(double value, units_text out)
{
    snprintf(out, UNITS_TEXT, value != 0 && (value >= 1e6 || value < 1e-3) ? "%.2g" : "%.6g", value);
}

void axis_draw_ticks(FILE *out, const axis *a, const double *ticks, int count, double unit, bool level, double low,
                     double high)
{
    double last = -INFINITY;
    for (int i = 0; i < count; i++) {
        units_text tick;
        double place = axis_at(a, ticks[i]), end = axis_at(a, ticks[count - 1]);
        tick_text(ticks[i] / unit, tick);
        double room = level ? frame_width(tick) + 8 : CHART_LINE;
        if (level)
            frame_line(out, i == 0 ? "axis" : "grid", place, low, place, high);
        else
            frame_line(out, i == 0 ? "axis" : "grid", low, place, high, place);
        bool is_end = i == 0 || i == count - 1;
        if (!is_end && (fabs(place - last) < room || fabs(end - place) < room)) continue;
        if (level)
            frame_text(out, "middle faint", place, high + 17, 12, tick);
        else
            frame_text(out, "end faint", low - 6, place + 5, 12, tick);
        last = place;
    }
}

void axis_draw(FILE *out, const axis *a, double unit, bool level, double low, double high)
{
    double ticks[TICKS_MOST];
    int count = a->logarithmic ? log_ticks(a, ticks) : linear_ticks(a, ticks);
    axis_draw_ticks(out, a, ticks, count, unit, level, low, high);
}

/* ---- labels that keep off what is drawn ---- */

enum { LABEL_MOST = 24 };

void scene_box(scene *s, box b)
{
    if (s->box_count < SCENE_MOST) s->boxes[s->box_count++] = b;
}

void scene_line(scene *s, double x1, double y1, double x2, double y2)
{
    if (s->line_count < SCENE_MOST) s->lines[s->line_count++] = (box){x1, y1, x2, y2};
}

static bool overlap(const box *a, const box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* Narrows the part from[0] to from[1] of a line to where `start + part * way` lies between low and high. */
static bool narrow(double from[2], double start, double way, double low, double high)
{
    if (fabs(way) < 1e-9) return start > low && start < high;
    double one = (low - start) / way, other = (high - start) / way;
    from[0] = fmax(from[0], fmin(one, other)), from[1] = fmin(from[1], fmax(one, other));
    return from[0] < from[1];
}

static bool crosses(const box *line, const box *b)
{
    double part[2] = {0, 1};
    return narrow(part, line->left, line->right - line->left, b->left, b->right) &&
           narrow(part, line->top, line->bottom - line->top, b->top, b->bottom);
}

static double turn(const box *line, double x, double y)
{
    return (line->right - line->left) * (y - line->top) - (line->bottom - line->top) * (x - line->left);
}

/* Do two lines cross each other? */
static bool meet(const box *a, const box *b)
{
    return turn(a, b->left, b->top) * turn(a, b->right, b->bottom) < 0 &&
           turn(b, a->left, a->top) * turn(b, a->right, a->bottom) < 0;
}

static bool is_free(const scene *s, const box *b)
{
    const box *f = &s->frame;
    bool is = b->left >= f->left && b->right <= f->right && b->top >= f->top && b->bottom <= f->bottom;
    for (int i = 0; is && i < s->box_count; i++) is = !overlap(&s->boxes[i], b);
    for (int i = 0; is && i < s->line_count; i++) is = !crosses(&s->lines[i], b);
    return is;
}

/* May a line lead from a point to its label? Not over another box, and `strictly` over no line either. What lies at the
 * point itself is not in the way. */
static bool may_lead(const scene *s, const box *line, bool strictly)
{
    enum { OF_THE_POINT = 8 };
    double way_x = line->right - line->left, way_y = line->bottom - line->top,
           share = OF_THE_POINT / hypot(way_x, way_y);
    const box rest = {line->left + share * way_x, line->top + share * way_y, line->right, line->bottom};
    for (int i = 0; i < s->box_count; i++)
        if (crosses(&rest, &s->boxes[i])) return false;
    for (int i = 0; strictly && i < s->line_count; i++)
        if (meet(&rest, &s->lines[i])) return false;
    return true;
}

static bool put_label(FILE *out, scene *s, double x, double y, const char *label, bool strictly)
{
    double width = fmin(frame_width(label), CHART_LETTER * LABEL_MOST) + 2;
    for (int away = 0; away < 200; away++)
        for (int side = 0; side < 4; side++) {
            bool left = side % 2, up = side / 2;
            double dx = 7 + (away > 1 ? 9 : 0) + 14 * (away / 20), dy = (up ? -9.0 : 9.0) * (away % 20);
            double start = left ? x - dx - width : x + dx;
            const box b = {start, y + dy - CHART_LINE / 2.0, start + width, y + dy + CHART_LINE / 2.0};
            const box line = {x, y, left ? b.right : b.left, y + dy};
            if (!is_free(s, &b) || (away > 1 && !may_lead(s, &line, strictly))) continue;
            if (away > 1) {
                frame_line(out, "thin", line.left, line.top, line.right, line.bottom);
                scene_line(s, line.left, line.top, line.right, line.bottom);
            }
            scene_box(s, b);
            frame_text(out, left ? "label end" : "label", left ? b.right - 1 : b.left + 1, y + dy + 5, LABEL_MOST,
                       label);
            return true;
        }
    return false;
}

void scene_label_point(FILE *out, scene *s, double x, double y, const char *label)
{
    if (!put_label(out, s, x, y, label, true)) put_label(out, s, x, y, label, false);
}

bool scene_label_level(FILE *out, scene *s, double left, double right, double y, const char *label)
{
    double width = frame_width(label);
    for (double end = right - 2; end - width > left; end -= 8)
        for (int below = 0; below < 2; below++) {
            double base = below ? y + 16 : y - 6;
            box b = {end - width, base - 12, end, base + 3};
            if (!is_free(s, &b)) continue;
            scene_box(s, b);
            frame_text(out, "label end", end, base, (int)strlen(label), label);
            return true;
        }
    return false;
}
