/* climb.h - a ladder on a device as it is climbed: the table, what each rung is compared with, bars and curves. */
#ifndef TILEWRIGHT_CLIMB_H
#define TILEWRIGHT_CLIMB_H

#include "../program/rows.h"
#include "curves.h"
#include "judge/degrees.h"

enum { CLIMB_LABEL = 64, CLIMB_BARS = 1024 };

typedef struct climb_bar {
    char label[CLIMB_LABEL];
    double gflops;
} climb_bar;

/* The times that the next row is compared with: each build is compared with itself. */
typedef struct climb_pace {
    char rung[4];             /* "r03": whose time last_s is */
    double last_s, earlier_s; /* of that rung, and of the one before it; NAN: none */
} climb_pace;

/* Its caller sets the members above the line. */
typedef struct climb {
    FILE *text;
    const tw_device *device;
    const degrees *degrees;        /* what files among the rungs ask of memory */
    const char *planned;           /* the name of what tw_gemm runs, if it is among the rungs */
    bool deep;                     /* each row's plan is told */
    curves over_sizes, over_tiles; /* speeds over --size; over --tile at the size that has bars: values and places */
    int size;                      /* its place among the sizes; 0 also where there is none */
    /* ---- */
    tw_problem problem;
    int width; /* columns of a rung's name */
    layout_table table;
    climb_pace rolled, by_default;
    char wrong[512]; /* why the last row was, if it was */
    double naive_s;  /* of r01, in its default build where it has one; NAN: not timed */
    bool naive_by_default;
    rows_tally count;
    int costly, bars; /* costly: files that cost more than the rungs whose names they bear */
    climb_bar bar[CLIMB_BARS];
    climb_bar best; /* of all rows, default builds too */
    bool best_by_default;
} climb;

/* climb_begin - the table's head, of a size. width: columns of the longest name of a rung. */
void climb_begin(climb *c, const tw_problem *problem, int width);
void climb_sweep(climb *c); /* tile edges of one rung follow, compared with each other */
void climb_row(climb *c, const row *r, const row_wish *wish); /* the row of one kernel */
void climb_end_size(const climb *c);                          /* bars, and which is fastest */
void climb_end(const climb *c, const roofs *limits);          /* curves, and what the columns mean */

#endif
