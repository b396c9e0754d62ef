/* term.h - what a terminal may be given and a file may not: progress, colour, bars; and numbers with their units. */
#ifndef TILEWRIGHT_TERM_H
#define TILEWRIGHT_TERM_H

#include <stdbool.h>
#include <stdio.h>
#include "units.h"

/* Colour codes for a stream: "" unless it is a terminal and neither NO_COLOR nor TERM=dumb is set. */
typedef struct term_paint {
    const char *good, *bad, *faint, *bold, *plain;
} term_paint;

term_paint term_paint_for(FILE *stream);

/* term_lay - what is written to `text` is laid out and goes to `to`. term_beneath - where the text of a stream goes in
 * the end, which may be asked isatty(). */
void term_lay(FILE *text, FILE *to);
FILE *term_beneath(FILE *text);

int term_width_of(FILE *stream); /* COLUMNS, else the terminal's columns; 0: it is none */
int term_width(void);            /* the same of stdout, 100 where it is none */
int term_width_within(int most); /* COLUMNS, else the terminal's columns but no more than `most`, else `most` */

/* term_progress - say on stderr, where it is a terminal, what is going on: each new word at once, a new fraction of the
 * same at most ten times a second. fraction < 0: unknown. */
void term_progress(const char *what, double fraction);
void term_quiet(void);            /* no progress from now on */
void term_progress_end(void);     /* clear that line */
bool term_progress_showing(void); /* may be asked by a signal handler */

/* term_bar - a bar of value / most x width cells. */
void term_bar(FILE *stream, double value, double most, int width);

/* Numbers with their units: program/units.h under the names that the commands use. */
enum { TERM_NUMBER = UNITS_TEXT };
typedef units_text term_number;
#define term_seconds units_seconds
#define term_span    units_span
#define term_bytes   units_bytes
#define term_percent units_percent
#define term_gflops  units_gflops

#endif
