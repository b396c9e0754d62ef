/* layout.h - lines and tables that fit the terminal. Where a text goes to a terminal, or COLUMNS is set, no line is
 * longer than its width: a table leaves out its least important columns, and a longer line goes on at a word, below its
 * own text. A file and a pipe get all columns and whole lines. */
#ifndef TILEWRIGHT_LAYOUT_H
#define TILEWRIGHT_LAYOUT_H

#include <stdbool.h>
#include <stdio.h>

/* layout_open - a stream that lays out what it is given, onto stdout or stderr, behind the progress, which it clears;
 * `to` itself where that is no terminal and lines stay whole. One at a time. */
FILE *layout_open(FILE *to);
void layout_flush(void);            /* the text, and stdout */
int layout_width(const FILE *text); /* columns of a line; 0: any */

/* layout_words - a line's words; a line that has no room for the next goes on behind `indent` spaces. column: where the
 * first stands. Returns the column behind the last. */
int layout_words(FILE *out, const char *text, int length, int indent, int column, int width);

/* layout_lines - the lines of a text, each behind `before`. */
void layout_lines(FILE *out, const char *before, const char *text);

/* A column of a table. */
typedef struct layout_column {
    const char *title;
    int width;        /* below 0: flush left, as in printf */
    int rank;         /* where there is no room the columns of the highest go first; 0: it always stays */
    bool bar;         /* a group begins with it: "|" */
    const char *over; /* a line of titles above; NULL: none */
} layout_column;

enum { LAYOUT_MOST = 24 };

typedef struct layout_table {
    FILE *out;
    int count, at, pad; /* at: of the next cell; pad: spaces that go before it */
    int owed;           /* columns that cells before took beyond theirs */
    bool bar, begun;
    layout_column columns[LAYOUT_MOST];
    bool shown[LAYOUT_MOST];
} layout_table;

void layout_begin(layout_table *t, FILE *out, const layout_column *columns, int count);
void layout_titles(layout_table *t);
/* layout_cell - the next cell of the row, in the columns' order; one that is left out costs nothing. */
void layout_cell(layout_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* layout_gap - the row ends here, but for words that the caller prints behind it, with their newline. */
void layout_gap(layout_table *t);
/* layout_note - the same for a sentence: on a line of its own where rows take more than half of a terminal. */
void layout_note(layout_table *t);
void layout_end(layout_table *t);                            /* of the row */
bool layout_shows(const layout_table *t, const char *title); /* or what stands over it */
/* layout_left_out - a line that names the columns that are left out, and the width that they need; no line where all
 * are shown. */
void layout_left_out(const layout_table *t);

#endif
