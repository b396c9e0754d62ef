/* curves.h - speeds over sizes or tile edges, as a table and as a picture of letters. */
#ifndef TILEWRIGHT_CURVES_H
#define TILEWRIGHT_CURVES_H

#include <stdint.h>
#include <stdio.h>

enum { CURVES_MOST = 128, CURVES_LABEL = 48, CURVES_PLACES = 64 };

typedef struct curves {
    const int64_t *values; /* the sizes or tile edges */
    int places, count;     /* of values; of curves */
    struct {
        char label[CURVES_LABEL];
        double gflops[CURVES_PLACES]; /* one per value; NAN: not timed */
    } items[CURVES_MOST];
} curves;

void curves_note(curves *c, const char *label, int place, double gflops); /* place: of the value in the list */
/* about: the line above it. Nothing where there is one value, or no curve. */
void curves_print(FILE *out, const curves *c, const char *about);

#endif
