/* chart.h - the three pictures of a ladder as SVG: bars at one size, curves over sizes, and a roofline. Each is a pure
 * function of its values, readable in light and dark, with a title and a description for those who do not see it; the
 * numbers belong in a table beside. Bars are drawn twice in a page, which shows what fits its screen. */
#ifndef TILEWRIGHT_CHART_H
#define TILEWRIGHT_CHART_H

#include <stdbool.h>
#include <stdio.h>

/* What a colour means, or a hollow bar. */
typedef struct chart_key {
    const char *words;
    int series;
    bool hollow;
} chart_key;

/* What every picture has. Texts may be anybody's: they are escaped. */
typedef struct chart {
    const char *title, *description;
    bool alone;            /* a file of its own, not part of a page */
    int top;               /* above 0: one of several pictures in such a file, and where it begins */
    const chart_key *keys; /* of bars: below them */
    int key_count;
} chart;

/* What has one series has one colour and one pattern of dashes, in every picture: CHART_COLOURS of the one,
 * CHART_DASHES of the other; CHART_NO_SERIES: the colour of the text. */
enum { CHART_COLOURS = 6, CHART_DASHES = 5, CHART_NO_SERIES = -1 };
int chart_series(int colour, int dashes);

/* Speeds in GFLOP/s; NAN: there is none. */
typedef struct chart_bar {
    const char *label;
    double speed, beside; /* beside: in the default build, a thinner hollow bar */
    bool apart;           /* behind a gap, with those that follow */
    int series;
    const char *type; /* of elements; bars of one type stand one after the other and share an axis; "": it has none */
    int threads;      /* of the CPU; 0 or less: none. Bars of one number stand one after the other below their peak */
    double peak;      /* measured, of that type and number of threads */
} chart_bar;

/* Bars in proportion to their speeds, on one linear axis from 0 for each type. */
void chart_bars(FILE *out, const chart *about, const chart_bar *bars, int count);

typedef char chart_peak_text[40];
const char *chart_peak_name(int threads, chart_peak_text out); /* "peak of 2 threads" */

/* A rung in a roofline: flop per byte that it asks for, its speed, and the speed that this allows without caches. */
typedef struct chart_dot {
    const char *label;
    double intensity, speed, no_cache;
    int series;
} chart_dot;

/* What a number of threads can do, measured; NAN unknown. */
typedef struct chart_roof {
    int threads; /* 0 or less: a GPU */
    double peak, memory_gbps;
} chart_roof;

enum { CHART_ROOFS = 8 };
typedef struct chart_roofs {
    int count; /* the highest first */
    chart_roof roofs[CHART_ROOFS];
    double cache_gbps; /* of the operands' own working set */
    double once;       /* flop per byte asked where A and B are asked for once */
} chart_roofs;

void chart_roofline(FILE *out, const chart *about, const chart_roofs *roofs, const chart_dot *dots, int count);

typedef struct chart_curve {
    const char *label;
    const double *speeds; /* one per size; NAN: not measured */
    int series;
    bool slight; /* a thin line, which its label tells from others of its series */
} chart_curve;

/* chart_curves_height - of such a picture, which is lower where it is one of several in a file. */
int chart_curves_height(const chart *about, int count);

/* chart_begin, chart_end - around the pictures of a file that has several, `height` in all. */
void chart_begin(FILE *out, const chart *about, int height);
void chart_end(FILE *out);

/* across: what the sizes are, "m = n = k". false: memory ran out, nothing was written. */
bool chart_curves(FILE *out, const chart *about, const char *across, const double *sizes, int size_count,
                  const chart_curve *curves, int count);

/* What a rung's limits allow, each alone (NAN: it has no such limit), and its measured speed (NAN: none), GFLOP/s. */
enum { CHART_LIMITS = 4 };
typedef struct chart_group {
    const char *label;
    int series;
    double measured, limits[CHART_LIMITS];
} chart_group;

/* linear from 0 */
void chart_groups(FILE *out, const chart *about, const char *const names[CHART_LIMITS], const chart_group *groups,
                  int count);

/* Predicted beside counted: a dot, on the diagonal where they agree. */
typedef struct chart_pair {
    const char *label;
    double predicted, counted;
    int series;
} chart_pair;

void chart_scatter(FILE *out, const chart *about, const chart_pair *pairs, int count, const char *unit);

/* chart_style - the colours and fonts of the pictures as CSS, for a page that holds them. */
extern const char chart_style[];

#endif
