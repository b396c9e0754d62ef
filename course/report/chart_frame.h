/* chart_frame.h - what pictures are drawn with: the frame, lines and texts, axes that end at round labelled ticks, and
 * labels that keep off what is drawn. Units are those of the viewBox; y grows downwards. */
#ifndef TILEWRIGHT_CHART_FRAME_H
#define TILEWRIGHT_CHART_FRAME_H

#include "../../program/units.h"
#include "chart.h"

/* Widths of pictures, and of those for narrow screens; the most that a letter is wide on average; a line's height. */
enum { CHART_WIDTH = 960, CHART_NARROW = 400, CHART_LETTER = 9, CHART_LINE = 17 };

/* A picture that is drawn for wide and for narrow screens; a page shows one of both. */
typedef enum frame_screen { FRAME_ANY, FRAME_WIDE, FRAME_NARROW } frame_screen;

void frame_begin(FILE *out, const chart *about, frame_screen screen, int height);
double frame_top(const chart *about); /* where a picture may begin: below the title of one that stands alone */
void frame_end(FILE *out);
void frame_line(FILE *out, const char *class, double x1, double y1, double x2, double y2);
/* at most so many letters; class may be "" */
void frame_text(FILE *out, const char *class, double x, double y, int most, const char *what);
double frame_width(const char *text); /* of a text, a careful guess */

/* "k1 d2": a line in a series' colour and dashes (kind 'k'), "f1": an area (kind 'f'), "fi": in the text's colour. */
typedef char series_text[32];
const char *series_class(char kind, int series, series_text out);

/* The unit in which a picture speaks: TFLOP/s where the largest speed has tens of thousands of GFLOP/s. */
typedef struct frame_unit {
    const char *name;
    double gflops;
} frame_unit;
frame_unit frame_unit_for(double largest);
void frame_speed(const frame_unit *unit, double gflops, units_text out);

/* Values first to last, both of them ticks, stand at places from to to. */
typedef struct axis {
    double first, last, from, to;
    bool logarithmic;
} axis;

axis axis_linear(double most, double from, double to); /* from 0 on */
axis axis_logarithmic(double least, double most, double from, double to);
double axis_at(const axis *a, double value);
/* Its ticks, with a line of the grid each, and the labels that there is room for, those of both ends among them. unit:
 * GFLOP/s of one of its units. The grid lies between low and high: of a level axis heights, else places. */
void axis_draw(FILE *out, const axis *a, double unit, bool level, double low, double high);
void axis_draw_ticks(FILE *out, const axis *a, const double *ticks, int count, double unit, bool level, double low,
                     double high);

/* What labels keep off: boxes, and lines. */
typedef struct box {
    double left, top, right, bottom;
} box;

enum { SCENE_MOST = 1200 };

typedef struct scene {
    box frame;
    int box_count, line_count;
    box boxes[SCENE_MOST], lines[SCENE_MOST]; /* a line goes from left, top to right, bottom */
} scene;

void scene_box(scene *s, box b);
void scene_line(scene *s, double x1, double y1, double x2, double y2);
/* A label beside a point: as near as there is room, a thin line leads to one that is away. */
void scene_label_point(FILE *out, scene *s, double x, double y, const char *label);
/* A label along a level line that ends at `right`: above it or below it, as far to the right as there is room; false:
 * there is none. */
bool scene_label_level(FILE *out, scene *s, double left, double right, double y, const char *label);

#endif
