/* layout.c - see layout.h. */
#define _GNU_SOURCE /* fopencookie */
#include "layout.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "term.h"

/* ---- lines ---- */

/* Columns that some bytes take: none for colours and for what continues a character of UTF-8. */
static int columns_of(const char *text, int length)
{
    int columns = 0;
    for (int i = 0; i < length; i++) {
        if (text[i] == '\033')
            while (i < length && text[i] != 'm') i++;
        else
            columns += ((unsigned char)text[i] & 0xC0) != 0x80;
    }
    return columns;
}

static int blanks_of(const char *text, int length)
{
    int count = 0;
    while (count < length && text[count] == ' ') count++;
    return count;
}

/* Bytes of a word; of one that is wider than a whole line, as a list of folders is, the part that has room. */
static int word_of(const char *text, int length, int room)
{
    int count = 0, part = 0;
    while (count < length && text[count] != ' ') count++;
    if (room <= 0 || columns_of(text, count) <= room) return count;
    for (int i = 0; i < room; i++)
        if (strchr(":,/", text[i]) != NULL) part = i + 1;
    return part > 0 ? part : room;
}

int layout_words(FILE *out, const char *text, int length, int indent, int column, int width)
{
    bool first = true; /* on its line */
    for (int at = 0; at < length; first = false) {
        int blanks = blanks_of(text + at, length - at),
            bytes = word_of(text + at + blanks, length - at - blanks, width - indent);
        const int columns = columns_of(text + at + blanks, bytes);
        if (!first && bytes > 0 && column + blanks > indent && column + blanks + columns > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent, at += blanks, blanks = 0;
        }
        fprintf(out, "%.*s", blanks + bytes, text + at);
        column += blanks + columns;
        at += blanks + bytes;
    }
    return column;
}

/* Where a line goes on: below the text behind its label, which two blanks end, or behind a dash. */
static int hang_of(const char *line, int length, int width)
{
    enum { LABEL = 26 };
    const int margin = blanks_of(line, length);
    if (length > margin + 1 && strncmp(line + margin, "- ", 2) == 0) return margin + 2;
    for (int at = margin; at < length; at++) {
        const int blanks = blanks_of(line + at, length - at), column = columns_of(line, at) + blanks;
        if (column > LABEL + 2 || column > width / 2) break;
        if (blanks > 1) return column;
    }
    return margin < width / 2 ? margin : 0;
}

/* The one stream that lays lines out: what came of a line that has not ended. */
static struct {
    FILE *text, *to;
    int width;
    char *line;
    size_t used, room;
} laid;

/* Of the gaps of three blanks or more the last that a line can go on behind, so that a picture and the words beside it
 * stay whole: where these begin; -1: none. */
static int gap_of(const char *line, int length, int hang)
{
    int found = -1;
    for (int at = 0, column = 0; at < length && column <= laid.width; at++) {
        const int blanks = blanks_of(line + at, length - at), tail = length - at - blanks;
        column = columns_of(line, at);
        if (blanks > 2 && column > laid.width / 3 && hang + columns_of(line + at + blanks, tail) <= laid.width)
            found = at + blanks;
        at += blanks;
    }
    return found;
}

/* As far to the right as they were, or as there is room. */
static void put_beside(const char *words, int length, int was, int hang)
{
    const int most = laid.width - columns_of(words, length), column = was < most ? was : most;
    fprintf(laid.to, "\n%*s%.*s", column > hang ? column : hang, "", length, words);
}

static void put_line(void)
{
    int length = (int)laid.used;
    while (length > 0 && laid.line[length - 1] == ' ') length--;
    laid.used = 0;
    if (laid.width == 0 || columns_of(laid.line, length) <= laid.width) {
        fwrite(laid.line, 1, (size_t)length, laid.to);
        return;
    }
    const int hang = hang_of(laid.line, length, laid.width), gap = gap_of(laid.line, length, hang);
    if (gap < 0) {
        layout_words(laid.to, laid.line, length, hang, 0, laid.width);
        return;
    }
    int end = gap;
    while (laid.line[end - 1] == ' ') end--;
    fprintf(laid.to, "%.*s", end, laid.line);
    put_beside(laid.line + gap, length - gap, columns_of(laid.line, gap), hang);
}

static bool add(const char *bytes, size_t count)
{
    if (laid.used + count > laid.room) {
        char *more = realloc(laid.line, 2 * (laid.used + count));
        if (more == NULL) return false;
        laid.line = more, laid.room = 2 * (laid.used + count);
    }
    memcpy(laid.line + laid.used, bytes, count);
    laid.used += count;
    return true;
}

/* 0: the reader is gone, or memory is. */
static ssize_t take(void *unused, const char *bytes, size_t count)
{
    (void)unused;
    term_progress_end(); /* which must not stand before a result */
    for (size_t at = 0; at < count;) {
        const char *end = memchr(bytes + at, '\n', count - at);
        const size_t some = end != NULL ? (size_t)(end - bytes) - at : count - at;
        if (some > 0 && !add(bytes + at, some)) return 0;
        at += some;
        if (end == NULL) continue;
        put_line();
        fputc('\n', laid.to);
        at++;
    }
    return fflush(laid.to) == 0 && !ferror(laid.to) ? (ssize_t)count : 0;
}

FILE *layout_open(FILE *to)
{
    laid.width = term_width_of(to);
    if (laid.width == 0 && !isatty(fileno(to))) return to;
    FILE *text = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
    if (text == NULL) return to;
    setvbuf(text, NULL, _IOLBF, 0);
    laid.text = text, laid.to = to;
    term_lay(text, to);
    return text;
}

void layout_flush(void)
{
    if (laid.text != NULL) fflush(laid.text);
    fflush(stdout);
}

int layout_width(const FILE *text) { return text == laid.text && text != NULL ? laid.width : 0; }

void layout_lines(FILE *out, const char *before, const char *text)
{
    for (int length; *text != '\0'; text += length + (text[length] == '\n')) {
        length = (int)strcspn(text, "\n");
        fprintf(out, "%s%.*s\n", before, length, text);
    }
}

/* ---- tables ---- */

/* Columns of a row, of those that are shown. */
static int width_of(const layout_table *t, bool of_all)
{
    int width = 0;
    bool bar = false;
    for (int i = 0; i < t->count; i++) {
        bar |= t->columns[i].bar;
        if (!of_all && !t->shown[i]) continue;
        width += abs(t->columns[i].width) + (width > 0 ? 1 + 2 * bar : 0);
        bar = false;
    }
    return width;
}

void layout_begin(layout_table *t, FILE *out, const layout_column *columns, int count)
{
    const int width = layout_width(out);
    *t = (layout_table){.out = out, .count = count};
    memcpy(t->columns, columns, (size_t)count * sizeof *columns);
    for (int i = 0; i < count; i++) t->shown[i] = true;
    while (width > 0 && width_of(t, false) > width) {
        int highest = 0;
        for (int i = 0; i < count; i++)
            if (t->shown[i] && columns[i].rank > highest) highest = columns[i].rank;
        if (highest == 0) break;
        for (int i = 0; i < count; i++) t->shown[i] &= columns[i].rank != highest;
    }
}

void layout_cell(layout_table *t, const char *format, ...)
{
    char text[400];
    va_list arguments;
    const layout_column *column = &t->columns[t->at];
    t->bar |= column->bar;
    if (!t->shown[t->at++]) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const bool bar = t->bar && t->begun;
    const int rest = abs(column->width) - columns_of(text, (int)strlen(text)) - t->owed, blanks = rest > 0 ? rest : 0;
    t->bar = false, t->owed = rest < 0 ? -rest : 0;
    if (text[0] == '\0' && !bar) { /* no blanks at a line's end */
        t->pad += 1 + blanks;
        t->begun = true;
        return;
    }
    fprintf(t->out, "%*s%s%*s%s", t->pad, "", bar ? "| " : "", column->width < 0 ? 0 : blanks, "", text);
    t->pad = 1 + (column->width < 0 ? blanks : 0);
    t->begun = true;
}

static void begin_row(layout_table *t) { t->at = t->pad = t->owed = 0, t->bar = t->begun = false; }

void layout_gap(layout_table *t)
{
    fprintf(t->out, "%*s", t->pad, "");
    begin_row(t);
}

void layout_note(layout_table *t)
{
    const int width = layout_width(t->out);
    if (width == 0 || 2 * width_of(t, false) <= width) {
        layout_gap(t);
        return;
    }
    fprintf(t->out, "\n%6s", "");
    begin_row(t);
}

void layout_end(layout_table *t)
{
    fputc('\n', t->out);
    begin_row(t);
}

void layout_titles(layout_table *t)
{
    bool over = false;
    for (int i = 0; i < t->count; i++) over |= t->columns[i].over != NULL;
    for (int i = 0; over && i < t->count; i++)
        layout_cell(t, "%s", t->columns[i].over != NULL ? t->columns[i].over : "");
    if (over) layout_end(t);
    for (int i = 0; i < t->count; i++) layout_cell(t, "%s", t->columns[i].title);
    layout_end(t);
}

bool layout_shows(const layout_table *t, const char *title)
{
    for (int i = 0; i < t->count; i++) {
        const layout_column *c = &t->columns[i];
        if (strcmp(c->title, title) == 0 || (c->over != NULL && strcmp(c->over, title) == 0)) return t->shown[i];
    }
    return false;
}

void layout_left_out(const layout_table *t)
{
    int count = 0;
    for (int i = 0; i < t->count; i++) {
        if (t->shown[i]) continue;
        const layout_column *c = &t->columns[i];
        fprintf(t->out, "%s%s", count++ == 0 ? "left out   " : ", ", c->over != NULL ? c->over : c->title);
    }
    if (count > 0) fprintf(t->out, ": a terminal of %d columns shows all\n", width_of(t, true));
}
