/* skinny.h - the thin matrices of NVIDIA Best Practices, s1 to s3, and its table of effective bandwidths: C(m x n) =
 * A(m x T) B(T x n) with T = 16 as it prints it and 32 as it notes, each rung beside the published bandwidths. */
#ifndef TILEWRIGHT_SKINNY_H
#define TILEWRIGHT_SKINNY_H

#include "../program/rows.h"
#include "published.h"

enum { SKINNY_WIDTHS = 2 };
extern const int64_t skinny_widths[SKINNY_WIDTHS];

/* text and device are its caller's to set. */
typedef struct skinny {
    FILE *text;
    const tw_device *device;
    layout_table table;
    rows_tally count;
    double gbps[SKINNY_WIDTHS][PUBLISHED_RUNGS]; /* NAN: not timed */
} skinny;

void skinny_begin(skinny *k, tw_dtype dtype, int64_t m, int64_t n); /* the table's head, of a C */
void skinny_row(skinny *k, const tw_lab_kernel *kernel, const tw_problem *problem, const row *r);
void skinny_end(const skinny *k, roofs *limits); /* ratios, and what the columns mean */

#endif
