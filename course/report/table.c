/* table.c - table.h. A cell is kept with its kind before its text. */
#include "table.h"

#include "html.h"

#include <stdlib.h>
#include <string.h>

typedef enum kind { CELL = 'c', WORDS = 'w', WRONG = 'x' } kind;

void table_begin(table *t, FILE *out, const char *label)
{
    *t = (table){.out = out};
    html_print(out, "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"%t\">\n<table>\n", label);
}

/* NULL: a cell that is not there. */
static void add(table *t, kind kind, const char *text)
{
    enum { FIRST_ROOM = 256 };
    if (t->count == t->room) {
        const int room = t->room > 0 ? 2 * t->room : FIRST_ROOM;
        char **cells = realloc(t->cells, (size_t)room * sizeof *cells);
        t->no_memory |= cells == NULL;
        if (cells == NULL) return;
        t->cells = cells, t->room = room;
    }
    const size_t length = text != NULL ? strlen(text) : 0;
    char *cell = text != NULL ? malloc(length + 2) : NULL;
    t->no_memory |= text != NULL && cell == NULL;
    if (cell != NULL) cell[0] = (char)kind, memcpy(cell + 1, text, length + 1);
    t->cells[t->count++] = cell;
}

/* What a row lacks. */
static void fill_row(table *t)
{
    while (t->columns > 0 && t->count % t->columns != 0 && !t->no_memory) add(t, CELL, NULL);
}

void table_heading(table *t, const char *text) { add(t, CELL, text); }

void table_row(table *t, const char *label)
{
    if (t->columns == 0) t->columns = t->count;
    fill_row(t);
    add(t, CELL, label);
}

void table_cell(table *t, const char *text) { add(t, CELL, text); }

void table_words(table *t, bool wrong, const char *text) { add(t, wrong ? WRONG : WORDS, text); }

/* ---- */

static const char *cell_at(const table *t, int row, int column) { return t->cells[row * t->columns + column]; }

static bool has_words(const table *t, int row)
{
    const char *second = t->columns > 1 ? cell_at(t, row, 1) : NULL;
    return second != NULL && second[0] != CELL;
}

/* A column has something, or no row has cells at all. */
static bool is_kept(const table *t, int column)
{
    bool cells = false;
    if (column == 0) return true;
    for (int row = 1; row < t->count / t->columns; row++) {
        if (has_words(t, row)) continue;
        const char *cell = cell_at(t, row, column);
        if (cell != NULL && strcmp(cell + 1, "-") != 0) return true;
        cells = true;
    }
    return !cells;
}

static void write_row(const table *t, int row)
{
    html_print(t->out, "<tr><th scope=\"row\">%t</th>", cell_at(t, row, 0) + 1);
    int kept = 0;
    for (int column = 1; column < t->columns; column++) {
        const char *cell = cell_at(t, row, column);
        const bool is = is_kept(t, column);
        kept += is;
        if (is && !has_words(t, row)) html_print(t->out, "<td>%t</td>", cell != NULL ? cell + 1 : "-");
    }
    if (has_words(t, row))
        html_print(t->out, "<td class=\"words%h\" colspan=\"%d\">%t</td>",
                   cell_at(t, row, 1)[0] == WRONG ? " wrong" : "", kept, cell_at(t, row, 1) + 1);
    fputs("</tr>\n", t->out);
}

bool table_end(table *t)
{
    if (t->columns == 0) t->columns = t->count;
    fill_row(t);
    if (!t->no_memory && t->columns > 0) {
        fputs("<thead><tr>", t->out);
        for (int column = 0; column < t->columns; column++)
            if (is_kept(t, column)) html_print(t->out, "<th scope=\"col\">%t</th>", cell_at(t, 0, column) + 1);
        fputs("</tr></thead>\n<tbody>\n", t->out);
        for (int row = 1; row < t->count / t->columns; row++) write_row(t, row);
        fputs("</tbody>\n", t->out);
    }
    fputs("</table>\n</div>\n", t->out);
    for (int i = 0; i < t->count; i++) free(t->cells[i]);
    free(t->cells);
    return !t->no_memory;
}
