/* table.h - a table of a report: kept until it ends, then written without the columns in which all is a dash. */
#ifndef TILEWRIGHT_REPORT_TABLE_H
#define TILEWRIGHT_REPORT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct table { /* private */
    FILE *out;
    char **cells; /* row by row, the headings first */
    int count, room, columns;
    bool no_memory;
} table;

/* table_begin - a frame that scrolls sideways; label: for those who do not see it. The caller writes the caption, and
 * then nothing until table_end(). */
void table_begin(table *t, FILE *out, const char *label);

/* table_heading - of the first column, and of each other; then come the rows. */
void table_heading(table *t, const char *text);

/* table_row - a row with its label, the first cell. table_cell - its next cell; "-": there is nothing. table_words - in
 * place of all its other cells; wrong: it is marked. */
void table_row(table *t, const char *label);
void table_cell(table *t, const char *text);
void table_words(table *t, bool wrong, const char *text);

/* table_end - writes it. False: there was too little memory, and nothing of it is there but its frame. */
bool table_end(table *t);

#endif
