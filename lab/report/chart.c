/* chart.c - see chart.h. Every picture is 440 units wide, so that its text can be read on a telephone. */
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "html.h"
#include "../units.h"

/* a letter of 12 units is at most so wide on average; a line of text so high */
enum { WIDTH = 440, LETTER = 7, LINE = 13 };

const char chart_style[] =
    ".chart{--ink:#1b1f24;--faint:#59626c;--grid:#d5dae0;--paper:#fff;--c0:#0b5fa5;--c1:#b34700;--c2:#00724f;--c3:#"
    "97337f;--c4:#6b5900;--c5:#4a525b;font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
    "Sans',sans-serif}\n@media "
    "(prefers-color-scheme:dark){.chart{--ink:#e6e9ec;--faint:#a3acb6;--grid:#353c44;--paper:#14171a;--c0:#7db8f5;--c1:"
    "#ffa366;--c2:#4fd1a5;--c3:#e59ad6;--c4:#d6c04a;--c5:#b8c0c8}}\n@media "
    "print{.chart{--ink:#000;--faint:#333;--grid:#bbb;--paper:#fff;--c0:#0b5fa5;--c1:#b34700;--c2:#00724f;--c3:#97337f;"
    "--c4:#6b5900;--c5:#4a525b}}\n.chart text{fill:var(--ink)}.chart .faint{fill:var(--faint)}.chart "
    ".end{text-anchor:end}.chart .middle{text-anchor:middle}\n.chart .grid{stroke:var(--grid)}.chart .axis,.chart "
    ".roof{stroke:var(--ink);fill:none}.chart .roof{stroke-width:2}\n.chart .thin{stroke:var(--faint);fill:none}.chart "
    ".dash{stroke-dasharray:4 3}.chart .dots{stroke-dasharray:1.5 2.5}\n.chart .bar{fill:var(--c0)}.chart "
    ".hollow{fill:none;stroke:var(--c0)}.chart .dot{fill:var(--c0);stroke:var(--paper)}\n.chart "
    ".label{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}\n.chart "
    ".curve{fill:none;stroke-width:1.8}\n.chart .k0{stroke:var(--c0)}.chart .k1{stroke:var(--c1)}.chart "
    ".k2{stroke:var(--c2)}.chart .k3{stroke:var(--c3)}.chart .k4{stroke:var(--c4)}.chart .k5{stroke:var(--c5)}\n.chart "
    ".f0{fill:var(--c0)}.chart .f1{fill:var(--c1)}.chart .f2{fill:var(--c2)}.chart .f3{fill:var(--c3)}.chart "
    ".f4{fill:var(--c4)}.chart .f5{fill:var(--c5)}\n";

/* ---- frame ---- */

static void begin(FILE *out, const chart *c, int height)
{
    html_print(out, "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%t\"", WIDTH, height,
               c->title);
    if (c->alone)
        fprintf(out, " xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\"", WIDTH * 3 / 2, height * 3 / 2);
    html_print(out, ">\n<title>%t</title>\n<desc>%t</desc>\n", c->title, c->description);
    if (!c->alone) return;
    fprintf(out, "<style>\n%s</style>\n<rect width=\"%d\" height=\"%d\" style=\"fill:var(--paper)\"/>\n", chart_style,
            WIDTH, height);
    html_print(out, "<text x=\"8\" y=\"18\" style=\"font-size:13px;font-weight:600\">%t</text>\n", c->title);
}

static void end(FILE *out) { fputs("</svg>\n", out); }

static void line(FILE *out, const char *class, double x1, double y1, double x2, double y2)
{
    fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2);
}

static void text(FILE *out, const char *class, double x, double y, int most, const char *what)
{
    fprintf(out, "<text%s%s%s x=\"%.1f\" y=\"%.1f\">", class[0] != '\0' ? " class=\"" : "", class,
            class[0] != '\0' ? "\"" : "", x, y);
    html_text_most(out, what, most);
    fputs("</text>\n", out);
}

/* ---- axes ---- */

/* Values first to last stand at places from to to. */
typedef struct axis {
    double first, last, from, to;
    bool logarithmic;
} axis;

static double at(const axis *a, double value)
{
    double share = a->logarithmic ? log(value / a->first) / log(a->last / a->first)
                                  : (value - a->first) / (a->last - a->first);
    return a->from + share * (a->to - a->from);
}

enum { TICKS_MOST = 40 };

/* 0 and up to six steps of 1, 2 or 5 times a power of ten. */
static int linear_ticks(double last, double ticks[TICKS_MOST])
{
    double step = pow(10, floor(log10(last / 6)));
    int count = 0;
    for (int i = 0; last / step > 6.0001; i++) step *= i % 3 == 1 ? 2.5 : 2;
    while (count < TICKS_MOST && step * count <= last * 1.0001) ticks[count] = step * count, count++;
    return count;
}

/* Decades; where there are few, also 2 and 5 of each; where there are very many, some of them. */
static int log_ticks(const axis *a, double ticks[TICKS_MOST])
{
    static const double steps[] = {1, 2, 5};
    double decades = log10(a->last / a->first), step = pow(10, ceil((decades + 1) / TICKS_MOST));
    int count = 0, used = decades < 2.5 ? 3 : 1;
    for (double decade = pow(10, floor(log10(a->first))); decade <= a->last; decade *= step)
        for (int s = 0; s < used; s++)
            if (decade * steps[s] >= a->first * 0.9999 && decade * steps[s] <= a->last * 1.0001 && count < TICKS_MOST)
                ticks[count++] = decade * steps[s];
    return count;
}

/* The unit in which a picture speaks: TFLOP/s where the largest speed has tens of thousands of GFLOP/s. */
typedef struct unit {
    const char *name;
    double gflops;
} unit;

static unit unit_for(double largest) { return largest >= 10000 ? (unit){"TFLOP/s", 1000} : (unit){"GFLOP/s", 1}; }

static void speed_text(const unit *u, double gflops, units_text out)
{
    double value = gflops / u->gflops;
    snprintf(out, UNITS_TEXT,
             value >= 1e5   ? "%.3g"
             : value >= 100 ? "%.0f"
             : value >= 10  ? "%.1f"
             : value >= 0.1 ? "%.2f"
                            : "%.2g",
             value);
}

static void tick_text(double value, units_text out)
{
    snprintf(out, UNITS_TEXT, value != 0 && (value >= 1e5 || value < 1e-3) ? "%.0e" : "%g", value);
}

/* ---- bars ---- */

enum { BARS_LEFT = 128, BARS_LEFT_MOST = WIDTH / 2, BARS_RIGHT = WIDTH - 52, BAR_ROW = 22, BAR_BESIDE = 9, ARROW = 16 };

static double nice_above(double value)
{
    double decade = pow(10, floor(log10(value)));
    static const double steps[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (value <= steps[i] * decade) return steps[i] * decade;
    return 10 * decade;
}

static double larger(double a, double b) { return !isnan(b) && !(a >= b) ? b : a; }

static double smaller(double a, double b) { return !isnan(b) && !(a <= b) ? b : a; }

static void bar(FILE *out, const chart_bar *b, const axis *x, const unit *u, double y)
{
    units_text speed, beside;
    double to = b->off ? x->from + ARROW : at(x, b->speed);
    bool has_beside = !isnan(b->beside);
    text(out, "end", x->from - 6, y + 13, (int)((x->from - 8) / LETTER), b->label);
    if (isnan(b->speed)) {
        text(out, "faint", x->from + 4, y + 13, 40, "did not run");
        return;
    }
    speed_text(u, b->speed, speed);
    fprintf(out, "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\"/>\n", x->from, y + 2,
            to - x->from > 0.5 ? to - x->from : 0.5);
    if (b->off) fprintf(out, "<path class=\"bar\" d=\"M%.1f %.1fl8 7l-8 7z\"/>\n", to, y + 2);
    double behind = to + (b->off ? 11 : 4);
    bool fits = behind + LETTER * (double)strlen(speed) < WIDTH;
    text(out, fits ? "" : "label end", fits ? behind : WIDTH - 2, y + 13, 12, speed);
    if (!has_beside) return;
    to = at(x, b->beside);
    speed_text(u, b->beside, beside);
    fprintf(out, "<rect class=\"hollow\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"6\"/>\n", x->from, y + 17.5,
            to - x->from > 0.5 ? to - x->from : 0.5);
    text(out, "faint", to + 4, y + 25, 12, beside);
}

void chart_bars(FILE *out, const chart *about, const chart_bar *bars, int count, double ceiling)
{
    double largest = 0, left = BARS_LEFT, y = about->alone ? 50 : 22, ticks[TICKS_MOST];
    int rows = 0;
    for (int i = 0; i < count; i++) {
        left = fmax(left, fmin(8 + LETTER * (double)strlen(bars[i].label), BARS_LEFT_MOST));
        if (!bars[i].off) largest = larger(larger(largest, bars[i].speed), bars[i].beside);
        rows += BAR_ROW + (isnan(bars[i].beside) ? 0 : BAR_BESIDE);
    }
    bool shows_ceiling = ceiling > 0 && ceiling < 3 * largest;
    unit u = unit_for(shows_ceiling ? ceiling : largest);
    axis x = {0,
              nice_above((shows_ceiling ? larger(largest, ceiling)
                          : largest > 0 ? largest
                                        : 1) /
                         u.gflops) *
                  u.gflops,
              left, BARS_RIGHT, false};
    double bottom = y + rows + 4;
    begin(out, about, (int)bottom + 36);
    int tick_count = linear_ticks(x.last / u.gflops, ticks);
    for (int i = 0; i < tick_count; i++) {
        units_text tick;
        double place = at(&x, ticks[i] * u.gflops);
        tick_text(ticks[i], tick);
        line(out, i == 0 ? "axis" : "grid", place, y - 2, place, bottom);
        text(out, "middle faint", place, bottom + 14, 12, tick);
    }
    text(out, "end faint", BARS_RIGHT, bottom + 29, 60, u.name);
    for (int i = 0; i < count; i++) {
        bar(out, &bars[i], &x, &u, y);
        y += BAR_ROW + (isnan(bars[i].beside) ? 0 : BAR_BESIDE);
    }
    if (shows_ceiling) {
        char words[64];
        units_text value;
        double place = at(&x, ceiling), top = about->alone ? 46 : 18;
        speed_text(&u, ceiling, value);
        snprintf(words, sizeof words, "measured peak %s", value);
        line(out, "axis dash", place, top + 2, place, bottom);
        text(out, "end", place + 40 < WIDTH - 4 ? place + 40 : WIDTH - 4, top - 3, 40, words);
    }
    end(out);
}

/* ---- labels that keep out of each other's way ---- */

typedef struct box {
    double left, top, right, bottom;
} box;

enum { BOXES_MOST = 600 };

typedef struct boxes {
    int count;
    box items[BOXES_MOST];
} boxes;

static bool is_free(const boxes *taken, const box *b)
{
    for (int i = 0; i < taken->count; i++) {
        const box *t = &taken->items[i];
        if (b->left < t->right && t->left < b->right && b->top < t->bottom && t->top < b->bottom) return false;
    }
    return true;
}

static void take(boxes *taken, box b)
{
    if (taken->count < BOXES_MOST) taken->items[taken->count++] = b;
}

/* A label beside a dot at (x, y): right of it or left of it, as near as there is room inside the frame; a thin line
 * leads to one that is away. */
static void place_label(FILE *out, boxes *taken, const box *frame, double x, double y, const char *label)
{
    int most = 9;
    double width = (double)(strlen(label) < (size_t)most ? strlen(label) : (size_t)most) * LETTER + 2;
    for (int away = 0; away < 60; away++)
        for (int side = 0; side < 4; side++) {
            bool left = side % 2, up = side / 2;
            double dx = 6 + (away > 1 ? 8 : 0) + 12 * (away / 12), dy = (up ? -6.0 : 6.0) * (away % 12) * 1.2;
            double start = left ? x - dx - width : x + dx;
            box b = {start, y + dy - LINE / 2.0, start + width, y + dy + LINE / 2.0};
            if (b.left < frame->left || b.right > frame->right || b.top < frame->top || b.bottom > frame->bottom ||
                !is_free(taken, &b))
                continue;
            take(taken, b);
            if (away > 1) line(out, "thin", x, y, left ? b.right : b.left, y + dy);
            text(out, left ? "label end" : "label", left ? b.right - 1 : b.left + 1, y + dy + 4, most, label);
            return;
        }
}

/* ---- roofline ---- */

/* A logarithmic axis of speeds with its grid, and the two axes' lines. */
static void speed_axis(FILE *out, const axis *y, const unit *u, double left, double right)
{
    double ticks[TICKS_MOST], last = INFINITY;
    units_text tick;
    axis in_unit = {y->first / u->gflops, y->last / u->gflops, y->from, y->to, true};
    int count = log_ticks(&in_unit, ticks);
    for (int i = 0; i < count; i++) {
        double place = at(&in_unit, ticks[i]);
        line(out, "grid", left, place, right, place);
        if (place > last - LINE) continue;
        tick_text(ticks[i], tick);
        text(out, "end faint", left - 5, place + 4, 12, tick);
        last = place;
    }
    line(out, "axis", left, y->from, right, y->from);
    line(out, "axis", left, y->from, left, y->to);
}

static void log_grid(FILE *out, const axis *x, const axis *y, const unit *u)
{
    double ticks[TICKS_MOST];
    units_text tick;
    double last = -1e9;
    int count = log_ticks(x, ticks);
    for (int i = 0; i < count; i++) {
        double place = at(x, ticks[i]);
        tick_text(ticks[i], tick);
        line(out, "grid", place, y->to, place, y->from);
        if (place - last < 30) continue;
        text(out, "middle faint", place, y->from + 15, 12, tick);
        last = place;
    }
    speed_axis(out, y, u, x->from, x->to);
}

/* The roof of a bandwidth: from the left edge up to the peak or the right edge. */
static void slope(FILE *out, const axis *x, const axis *y, double gbps, double peak, const char *class)
{
    double x1 = x->first, y1 = x1 * gbps, x2 = x->last, y2 = x2 * gbps;
    if (!isnan(peak) && y2 > peak) x2 = peak / gbps, y2 = peak;
    if (y1 < y->first) x1 = y->first / gbps, y1 = y->first;
    if (y2 > y->last) x2 = y->last / gbps, y2 = y->last;
    if (x1 < x2) line(out, class, at(x, x1), at(y, y1), at(x, x2), at(y, y2));
}

void chart_roofline(FILE *out, const chart *about, const chart_roofs *roofs, const chart_dot *dots, int count)
{
    enum { HEIGHT = 400, LEFT = 50, RIGHT = WIDTH - 12, TOP = 14, BOTTOM = HEIGHT - 46 };
    static boxes taken;
    double low_x = smaller(INFINITY, roofs->once), high_x = larger(0, roofs->once), low_y = INFINITY,
           high_y = larger(0, roofs->peak);
    for (int i = 0; i < count; i++) {
        low_x = smaller(low_x, dots[i].intensity), high_x = larger(high_x, dots[i].intensity);
        low_y = smaller(smaller(low_y, dots[i].speed), dots[i].no_cache), high_y = larger(high_y, dots[i].speed);
    }
    unit u = unit_for(high_y);
    axis x = {low_x / 1.6, high_x * 1.6, LEFT, RIGHT, true}, y = {low_y / 1.8, high_y * 1.8, BOTTOM, TOP, true};
    begin(out, about, HEIGHT);
    log_grid(out, &x, &y, &u);
    text(out, "middle faint", (LEFT + RIGHT) / 2.0, HEIGHT - 12, 60, "flop per byte asked of memory");
    fprintf(out, "<text class=\"faint\" x=\"%d\" y=\"%d\">%s</text>\n", LEFT + 4, TOP + 10, u.name);
    taken.count = 0;
    take(&taken, (box){LEFT, TOP, LEFT + 60, TOP + 14});
    if (!isnan(roofs->peak)) {
        char words[64];
        units_text value;
        speed_text(&u, roofs->peak, value);
        snprintf(words, sizeof words, "measured peak %s", value);
        line(out, "roof",
             !isnan(roofs->memory_gbps) && roofs->peak / roofs->memory_gbps > x.first
                 ? at(&x, roofs->peak / roofs->memory_gbps)
                 : LEFT,
             at(&y, roofs->peak), RIGHT, at(&y, roofs->peak));
        text(out, "label end", RIGHT - 2, at(&y, roofs->peak) - 5, 40, words);
        take(&taken,
             (box){RIGHT - (double)strlen(words) * LETTER, at(&y, roofs->peak) - 17, RIGHT, at(&y, roofs->peak) + 1});
    }
    if (!isnan(roofs->memory_gbps)) slope(out, &x, &y, roofs->memory_gbps, roofs->peak, "roof");
    if (!isnan(roofs->cache_gbps)) slope(out, &x, &y, roofs->cache_gbps, roofs->peak, "axis dash");
    if (!isnan(roofs->once)) {
        enum { ONCE = 12 * LETTER };
        double place = at(&x, roofs->once);
        bool left = place - ONCE > LEFT;
        line(out, "thin dots", place, BOTTOM, place, TOP);
        text(out, left ? "end faint" : "faint", place + (left ? -4 : 4), BOTTOM - 6, 40, "A and B once");
        take(&taken, (box){left ? place - ONCE : place, BOTTOM - 18, left ? place : place + ONCE, BOTTOM});
    }
    for (int i = 0; i < count; i++)
        take(&taken, (box){at(&x, dots[i].intensity) - 4, at(&y, dots[i].speed) - 4, at(&x, dots[i].intensity) + 4,
                           at(&y, dots[i].speed) + 4});
    for (int i = 0; i < count; i++) {
        double place = at(&x, dots[i].intensity), height = at(&y, dots[i].speed);
        if (isnan(dots[i].no_cache)) continue;
        double bound = at(&y, smaller(smaller(dots[i].no_cache, roofs->peak), y.last));
        line(out, "thin dots", place, height, place, bound);
        line(out, "thin", place - 5, bound, place + 5, bound);
    }
    const box frame = {LEFT + 1, TOP, RIGHT, BOTTOM - 1};
    for (int i = 0; i < count; i++)
        place_label(out, &taken, &frame, at(&x, dots[i].intensity), at(&y, dots[i].speed), dots[i].label);
    for (int i = 0; i < count; i++) {
        fprintf(out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>", at(&x, dots[i].intensity),
                at(&y, dots[i].speed));
        units_text speed, intensity;
        html_print(out, "%t: %t GFLOP/s at %t flop per byte</title></circle>\n", dots[i].label,
                   units_gflops(dots[i].speed, speed), units_number(dots[i].intensity, intensity));
    }
    end(out);
}

/* ---- curves ---- */

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
        e[i].y = i > 0 && e[i].wanted < e[i - 1].y + LINE ? e[i - 1].y + LINE : larger(top, e[i].wanted);
    for (int i = count - 1; i >= 0; i--) {
        double most = i == count - 1 ? bottom : e[i + 1].y - LINE;
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

static void curve(FILE *out, const chart_curve *c, int number, const double *sizes, int size_count, const axis *x,
                  const axis *y)
{
    static const char *const dashes[] = {"", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 2\"",
                                         " stroke-dasharray=\"8 3 2 3\""};
    bool drawing = false;
    fprintf(out, "<path class=\"curve k%d\"%s d=\"", number % 6, dashes[number / 6 % 4]);
    for (int i = 0; i < size_count; i++) {
        if (isnan(c->speeds[i])) continue;
        fprintf(out, "%c%.1f %.1f", drawing ? 'L' : 'M', at(x, sizes[i]), at(y, c->speeds[i]));
        drawing = true;
    }
    fputs("\"><title>", out);
    html_text(out, c->label);
    fputs("</title></path>\n", out);
    for (int i = 0; i < size_count; i++)
        if (!isnan(c->speeds[i]))
            fprintf(out, "<circle class=\"f%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>", number % 6, at(x, sizes[i]),
                    at(y, c->speeds[i]));
    fputc('\n', out);
}

bool chart_curves(FILE *out, const chart *about, const double *sizes, int size_count, const chart_curve *curves,
                  int count)
{
    enum { LEFT = 50, RIGHT = WIDTH - 118, TOP = 14 };
    ending *endings = calloc((size_t)count + 1, sizeof *endings);
    double low = INFINITY, high = 0;
    if (endings == NULL) return false;
    for (int i = 0; i < count; i++)
        for (int s = 0; s < size_count; s++)
            low = smaller(low, curves[i].speeds[s]), high = larger(high, curves[i].speeds[s]);
    int bottom = TOP + (count * LINE > 300 ? count * LINE : 300);
    unit u = unit_for(high);
    axis x = {sizes[0], sizes[size_count - 1], LEFT + 8, RIGHT, true}, y = {low / 1.3, high * 1.3, bottom, TOP, true};
    begin(out, about, bottom + 40);
    double last = -1e9;
    units_text tick;
    speed_axis(out, &y, &u, LEFT, RIGHT);
    for (int s = 0; s < size_count; s++) {
        double place = at(&x, sizes[s]);
        snprintf(tick, sizeof tick, "%.0f", sizes[s]);
        line(out, "grid", place, TOP, place, bottom);
        if (place - last < 8 + LETTER * (double)strlen(tick)) continue;
        text(out, "middle faint", place, bottom + 15, 12, tick);
        last = place;
    }
    text(out, "middle faint", (LEFT + RIGHT) / 2.0, bottom + 32, 60, "m = n = k");
    text(out, "faint", LEFT + 4, TOP + 10, 20, u.name);
    int ends = 0;
    for (int i = 0; i < count; i++) {
        int s = last_size(&curves[i], size_count);
        if (s < 0) continue;
        curve(out, &curves[i], i, sizes, size_count, &x, &y);
        endings[ends++] = (ending){.curve = i, .wanted = at(&y, curves[i].speeds[s])};
    }
    push_apart(endings, ends, TOP + 4, bottom - 4);
    for (int i = 0; i < ends; i++) {
        const chart_curve *c = &curves[endings[i].curve];
        double from = at(&x, sizes[last_size(c, size_count)]);
        char class[24];
        line(out, "thin dots", from + 3, endings[i].wanted, RIGHT + 12, endings[i].y);
        snprintf(class, sizeof class, "f%d", endings[i].curve % 6);
        text(out, class, RIGHT + 15, endings[i].y + 4, 14, c->label);
    }
    end(out);
    free(endings);
    return true;
}
