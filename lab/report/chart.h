/* chart.h - the three pictures of a ladder as SVG: bars at one size, curves over sizes, and a roofline. Each is a pure
 * function of its values, readable in light and dark, with a title and a description for those who do not see it; the
 * numbers belong in a table beside. */
#ifndef TILEWRIGHT_CHART_H
#define TILEWRIGHT_CHART_H

#include <stdbool.h>
#include <stdio.h>

/* What every picture has. Texts may be anybody's: they are escaped. */
typedef struct chart {
    const char *title, *description;
    bool alone; /* a file of its own, not part of a page */
} chart;

/* Speeds in GFLOP/s; NAN: there is none. */
typedef struct chart_bar {
    const char *label;
    double speed, beside; /* beside: in the default build, a thinner hollow bar */
    bool off;             /* not comparable (another type): a short arrow that does not stretch the axis */
} chart_bar;

void chart_bars(FILE *out, const chart *about, const chart_bar *bars, int count, double ceiling);

/* A rung in a roofline: flop per byte that it asks for, its speed, and the speed that this allows without caches. */
typedef struct chart_dot {
    const char *label;
    double intensity, speed, no_cache;
} chart_dot;

typedef struct chart_roofs {
    double peak, memory_gbps, cache_gbps; /* measured; NAN unknown. cache_gbps: of the operands' own working set */
    double once;                          /* flop per byte asked where A and B are asked for once */
} chart_roofs;

void chart_roofline(FILE *out, const chart *about, const chart_roofs *roofs, const chart_dot *dots, int count);

typedef struct chart_curve {
    const char *label;
    const double *speeds; /* one per size; NAN: not measured */
} chart_curve;

/* false: memory ran out, nothing was written. */
bool chart_curves(FILE *out, const chart *about, const double *sizes, int size_count, const chart_curve *curves,
                  int count);

/* chart_style - the colours and fonts of the pictures as CSS, for a page that holds them. */
extern const char chart_style[];

#endif
