/* chart_groups.c - see chart.h: each rung's limits and its speed, a group of bars; and predicted beside counted, a dot
 * each. */
#include "chart_frame.h"

#include <math.h>
#include "html.h"

/* ---- groups of bars ---- */

enum { LEFT_LEAST = 128, LEFT_MOST = CHART_WIDTH * 2 / 5, NARROW_LEFT = 8, RIGHT_ROOM = 170, ROW = 17, GAP = 10 };

/* One bar of a group; its words stand behind it. */
static void limit_bar(FILE *out, const axis *x, const frame_unit *u, const char *class, const char *name, double speed,
                      double y)
{
    char words[60];
    units_text value;
    const double width = fmax(axis_at(x, speed) - x->from, 0.5);
    frame_speed(u, speed, value);
    snprintf(words, sizeof words, "%.30s %s", name, value);
    fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"11\"/>\n", class, x->from, y + 3,
            width);
    frame_text(out, class[0] == 'b' ? "" : "faint", x->from + width + 5, y + 14, 40, words);
}

static int rows_of(const chart_group *g)
{
    int rows = !isnan(g->measured);
    for (int i = 0; i < CHART_LIMITS; i++) rows += !isnan(g->limits[i]);
    return rows;
}

/* Narrow: a group's label stands above its bars. */
static void draw_groups(FILE *out, const chart *about, frame_screen screen, const char *const names[CHART_LIMITS],
                        const chart_group *groups, int count)
{
    const bool narrow = screen == FRAME_NARROW;
    double most = 0, left = narrow ? NARROW_LEFT : LEFT_LEAST, y = frame_top(about) + 6, bottom = y + 4;
    for (int i = 0; i < count; i++) {
        if (!narrow) left = fmax(left, fmin(16 + frame_width(groups[i].label), LEFT_MOST));
        most = fmax(most, groups[i].measured); /* which passes over NAN */
        for (int l = 0; l < CHART_LIMITS; l++) most = fmax(most, groups[i].limits[l]);
        bottom += (rows_of(&groups[i]) + narrow) * ROW + GAP;
    }
    const frame_unit unit = frame_unit_for(most);
    const axis x = axis_linear(most > 0 ? most : 1, left, (narrow ? CHART_NARROW : CHART_WIDTH) - RIGHT_ROOM);
    char words[80];
    frame_begin(out, about, screen, (int)bottom + 46);
    axis_draw(out, &x, unit.gflops, true, y, bottom);
    snprintf(words, sizeof words, "%s, linear from 0", unit.name);
    frame_text(out, "end faint", x.to, bottom + 37, 60, words);
    y += 4;
    for (int i = 0; i < count; i++) {
        const chart_group *g = &groups[i];
        char class[60];
        series_text fill;
        if (narrow)
            frame_text(out, "", left, y + 12, (int)((CHART_NARROW - left) / CHART_LETTER), g->label), y += ROW;
        else
            frame_text(out, "end", left - 7, y + 14, (int)((left - 8) / CHART_LETTER), g->label);
        snprintf(class, sizeof class, "bar %s", series_class('f', g->series, fill));
        if (!isnan(g->measured)) limit_bar(out, &x, &unit, class, "measured", g->measured, y), y += ROW;
        for (int l = 0; l < CHART_LIMITS; l++)
            if (!isnan(g->limits[l])) limit_bar(out, &x, &unit, "hollow ki", names[l], g->limits[l], y), y += ROW;
        y += GAP;
    }
    frame_end(out);
}

void chart_groups(FILE *out, const chart *about, const char *const names[CHART_LIMITS], const chart_group *groups,
                  int count)
{
    draw_groups(out, about, FRAME_WIDE, names, groups, count);
    draw_groups(out, about, FRAME_NARROW, names, groups, count);
}

/* ---- predicted beside counted ---- */

enum { HEIGHT = 540, PLOT_LEFT = 84, PLOT_RIGHT = CHART_WIDTH - 60, TOP = 28, BOTTOM = HEIGHT - 48 };

void chart_scatter(FILE *out, const chart *about, const chart_pair *pairs, int count, const char *unit)
{
    static scene in_the_way;
    double least = INFINITY, most = 0;
    for (int i = 0; i < count; i++) {
        least = fmin(least, fmin(pairs[i].predicted, pairs[i].counted));
        most = fmax(most, fmax(pairs[i].predicted, pairs[i].counted));
    }
    const axis x = axis_logarithmic(least / 1.3, most * 1.3, PLOT_LEFT, PLOT_RIGHT),
               y = axis_logarithmic(least / 1.3, most * 1.3, BOTTOM, TOP);
    char words[80];
    in_the_way = (scene){.frame = {PLOT_LEFT + 2, TOP, PLOT_RIGHT, BOTTOM - 2}};
    frame_begin(out, about, FRAME_ANY, HEIGHT);
    axis_draw(out, &x, 1, true, TOP, BOTTOM);
    axis_draw(out, &y, 1, false, PLOT_LEFT, PLOT_RIGHT);
    snprintf(words, sizeof words, "predicted %s, logarithmic", unit);
    frame_text(out, "middle faint", (PLOT_LEFT + PLOT_RIGHT) / 2.0, HEIGHT - 9, 60, words);
    snprintf(words, sizeof words, "counted %s, logarithmic", unit);
    frame_text(out, "faint", 8, 15, 60, words);
    frame_line(out, "axis dash", PLOT_LEFT, BOTTOM, PLOT_RIGHT, TOP);
    scene_line(&in_the_way, PLOT_LEFT, BOTTOM, PLOT_RIGHT, TOP);
    for (int i = 0; i < count; i++) {
        const double at_x = axis_at(&x, pairs[i].predicted), at_y = axis_at(&y, pairs[i].counted);
        scene_box(&in_the_way, (box){at_x - 5, at_y - 5, at_x + 5, at_y + 5});
    }
    for (int i = 0; i < count; i++)
        scene_label_point(out, &in_the_way, axis_at(&x, pairs[i].predicted), axis_at(&y, pairs[i].counted),
                          pairs[i].label);
    for (int i = 0; i < count; i++) {
        units_text predicted, counted;
        series_text fill;
        fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>",
                series_class('f', pairs[i].series, fill), axis_at(&x, pairs[i].predicted),
                axis_at(&y, pairs[i].counted));
        html_print(out, "%t: predicted %t, counted %t %t</title></circle>\n", pairs[i].label,
                   units_number(pairs[i].predicted, predicted), units_number(pairs[i].counted, counted), unit);
    }
    frame_end(out);
}
