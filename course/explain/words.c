/* words.c - what the rung's file says of itself, and the lines that changed since the rung before. */
#include <stdlib.h>
#include <string.h>
#include "../../program/diag.h"
#include "../../program/layout.h"
#include "../../program/term.h"
#include "../story.h"
#include "explain.h"

enum { CONTEXT = 2 };

/* Does the text beyond this line go on in the sentence? The file's lines end where their next word has no room;
 * pictures, which are indented or have gaps, do not. */
static bool goes_on(const char *line, int length)
{
    enum { FULL = 96 };
    const char *next = line + length + (line[length] == '\n');
    const int letters = (int)strcspn(next, "\n"), word = (int)strcspn(next, " \n");
    bool prose = line[0] != ' ' && next[0] != ' ' && letters > 0 && length + 1 + word > FULL;
    for (const char *c = line; prose && c + 2 < next + letters; c++) prose = strncmp(c, "   ", 3) != 0;
    return prose;
}

static void print_lines(FILE *text, const char *label, const char *lines)
{
    const bool joins = layout_width(text) > 0; /* and are laid out anew */
    bool begins = true;
    for (const char *line = lines; *line != '\0';) {
        const int length = (int)strcspn(line, "\n");
        const bool on = joins && goes_on(line, length);
        if (begins) fprintf(text, "%-10s", line == lines ? label : "");
        fprintf(text, "%.*s%c", length, line, on ? ' ' : '\n');
        begins = !on;
        line += length + (line[length] == '\n');
    }
}

static bool near_change(const story_diff *d, int at)
{
    for (int i = at - CONTEXT; i <= at + CONTEXT; i++)
        if (i >= 0 && i < d->count && d->lines[i].kind != ' ') return true;
    return false;
}

/* Where a line goes on, it has its mark again. */
static void print_change(FILE *text, const char *colour, const story_line *line, const char *plain)
{
    const int width = layout_width(text), margin = (int)strspn(line->text, " ");
    char *words = NULL;
    size_t bytes;
    FILE *laid = width > 0 ? open_memstream(&words, &bytes) : NULL;
    if (laid != NULL) {
        layout_words(laid, line->text, line->length, margin + 4, 0, width - 2);
        fclose(laid);
    }
    const char *rest = words != NULL ? words : line->text;
    int left = words != NULL ? (int)bytes : line->length;
    do {
        const char *end = memchr(rest, '\n', (size_t)left);
        const int count = end != NULL ? (int)(end - rest) : left;
        fprintf(text, "%s%c %.*s%s\n", colour, line->kind, count, rest, plain);
        rest += count + 1, left -= count + 1;
    } while (left > 0);
    free(words);
}

static void print_changes(const explain *x, const story *told)
{
    FILE *text = x->text;
    term_paint paint = term_paint_for(text);
    story_diff d;
    if (told->before == NULL || story_changes(told, &d) != TW_OK) return;
    fprintf(text, "\n%sfrom %s to %s%s: %d lines come, %d go\n", paint.bold, told->before->rung, x->kernel->rung,
            paint.plain, d.added, d.removed);
    for (int i = 0; i < d.count; i++) {
        const story_line *line = &d.lines[i];
        if (!near_change(&d, i)) {
            if (near_change(&d, i - 1)) fputs("  ...\n", text);
            continue;
        }
        const char *colour = line->kind == '+' ? paint.good : line->kind == '-' ? paint.bad : paint.faint;
        print_change(text, colour, line, paint.plain);
    }
    story_diff_free(&d);
}

exit_code explain_words(const explain *x)
{
    const tw_lab_kernel *k = x->kernel;
    story told;
    term_paint paint = term_paint_for(x->text);
    fprintf(x->text, "%s%s%s, %s, %s: %s\n          %s\n", paint.bold, k->rung, paint.plain, k->engine,
            tw_lab_dtype_of(k->dtype)->name, k->idea, k->file);
    tw_status status = story_tell(k, &told);
    if (status != TW_OK) return diag_lab(status, "the text of the kernel");
    fputc('\n', x->text);
    for (int i = 0; i < told.part_count; i++) print_lines(x->text, told.parts[i].label, told.parts[i].text);
    print_changes(x, &told);
    story_free(&told);
    return EXIT_OK;
}
