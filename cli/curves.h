/* curves.h - speeds over sizes, as a table and as a picture of letters. */
#ifndef TILEWRIGHT_CURVES_H
#define TILEWRIGHT_CURVES_H

#include <stdio.h>
#include "opts.h"

enum { CURVES_MOST = 128, CURVES_LABEL = 48 };

typedef struct curves {
    const number_list *sizes;
    int count;
    struct {
        char label[CURVES_LABEL];
        double gflops[OPT_LIST]; /* one per size; NAN: not timed */
    } items[CURVES_MOST];
} curves;

void curves_note(curves *c, const char *label, int size, double gflops); /* size: its place in the list */
/* nothing where there is one size, or no curve */
void curves_print(FILE *out, const curves *c);

#endif
