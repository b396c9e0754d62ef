/* term.h - what a terminal may be given and a file may not: progress, colour, bars; and numbers with their units. */
#ifndef TILEWRIGHT_TERM_H
#define TILEWRIGHT_TERM_H

#include <stdbool.h>
#include <stdio.h>

/* Colour codes for a stream: "" unless it is a terminal and neither NO_COLOR nor TERM=dumb is set. */
typedef struct term_paint {
    const char *good, *bad, *faint, *bold, *plain;
} term_paint;

term_paint term_paint_for(FILE *stream);
int term_width(void); /* columns of the terminal on stdout; else 100 */

/* term_progress - say on stderr, where it is a terminal, what is going on: each new word at once, a new fraction of the same at most
 * ten times a second. fraction < 0: unknown. */
void term_progress(const char *what, double fraction);
void term_progress_end(void);     /* clear that line */
bool term_progress_showing(void); /* may be asked by a signal handler */

/* term_bar - a bar of value / most x width cells. */
void term_bar(FILE *stream, double value, double most, int width);

enum { TERM_NUMBER = 24 };
typedef char term_number[TERM_NUMBER];
const char *term_seconds(double seconds, term_number out); /* "12.3 ms" */
const char *term_bytes(double bytes, term_number out);     /* "8.59 GB" (decimal); "-" where not finite */
const char *term_percent(double share, term_number out);   /* "98.7%"; "-" likewise, as below */
const char *term_gflops(double gflops, term_number out);   /* "132.1" */

#endif
