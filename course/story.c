/* story.c - see story.h. */
#include "story.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../lab/named.h"

/* ---- the head comment ---- */

enum { LABEL_COLUMNS = 10 }; /* of "NUMBERS   "; continued lines are indented as far */

const char *story_text_of(const char *file)
{
    const story_text *t = story_texts;
    while (t->file != NULL && strcmp(t->file, file) != 0) t++;
    return t->text;
}

/* Behind the head comment and its line's end; the text itself where it does not begin with a comment. */
static const char *code_of(const char *text)
{
    const char *end = strncmp(text, "/*", 2) == 0 ? strstr(text, "*/") : NULL;
    if (end == NULL) return text;
    end += 2;
    return *end == '\n' ? end + 1 : end;
}

/* The next line of the comment up to `end` without its star and the blanks at its end. false: there is none left. */
static bool comment_line(const char **at, const char *end, const char **line, int *length)
{
    if (*at >= end) return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    if (stop == NULL) stop = end;
    *line = *at;
    if (strncmp(*line, "/*", 2) == 0 || strncmp(*line, " *", 2) == 0) *line += 2;
    if (*line < stop && **line == ' ') ++*line;
    *at = stop + 1;
    while (stop > *line && stop[-1] == ' ') stop--;
    *length = (int)(stop - *line);
    return true;
}

/* Columns of the label that a line begins with, "IDEA      "; 0: it has none. */
static int label_length(const char *line, int length)
{
    int letters = 0;
    while (letters < length && line[letters] >= 'A' && line[letters] <= 'Z') letters++;
    bool alone = letters >= 2 && letters + 1 < LABEL_COLUMNS && length > LABEL_COLUMNS && line[LABEL_COLUMNS] != ' ';
    for (int i = letters; alone && i < LABEL_COLUMNS; i++) alone = line[i] == ' ';
    return alone ? letters : 0;
}

/* A text that grows in memory that is large enough. */
typedef struct growing {
    char *at, *start;
} growing;

static void end_text(growing *g)
{
    while (g->at > g->start && g->at[-1] == '\n') g->at--;
    *g->at++ = '\0';
    g->start = g->at;
}

static const char *add_text(growing *g, const char *text, int length)
{
    char *start = g->at;
    memcpy(g->at, text, (size_t)length);
    g->at += length;
    return start;
}

static void take_apart(story *s)
{
    const char *at = s->text, *line, *end = s->code > s->text ? strstr(s->text, "*/") : s->text;
    growing g = {s->memory, s->memory};
    int length;
    s->title = g.at;
    while (comment_line(&at, end, &line, &length)) {
        int letters = label_length(line, length), skip = 0;
        if (letters > 0 && s->part_count < STORY_PARTS) {
            story_part *part = &s->parts[s->part_count++];
            end_text(&g);
            part->label = add_text(&g, line, letters);
            end_text(&g);
            part->text = g.at;
            skip = LABEL_COLUMNS;
        }
        while (letters == 0 && s->part_count > 0 && skip < LABEL_COLUMNS && skip < length && line[skip] == ' ') skip++;
        add_text(&g, line + skip, length - skip);
        *g.at++ = '\n';
    }
    end_text(&g);
}

/* The first row of the same engine, and type where there is one, that the word behind "from " names. */
static const tw_lab_kernel *named_before(const story *s)
{
    const char *changed = story_part_text(s, "CHANGED");
    const tw_lab_kernel *row, *found = NULL;
    if (changed == NULL || strncmp(changed, "from ", 5) != 0) return NULL;
    char rung[64];
    snprintf(rung, sizeof rung, "%.*s", (int)strspn(changed + 5, "abcdefghijklmnopqrstuvwxyz0123456789_"), changed + 5);
    for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++) {
        if (strcmp(row->engine, s->kernel->engine) != 0 || !kernel_is_called(row, rung)) continue;
        if (row->dtype == s->kernel->dtype) return row;
        if (found == NULL) found = row;
    }
    return found;
}

tw_status story_tell(const tw_lab_kernel *kernel, story *out)
{
    *out = (story){.kernel = kernel, .text = story_text_of(kernel->file)};
    if (out->text == NULL) return TW_NO_KERNEL;
    out->code = code_of(out->text);
    /* the comment, and a zero behind each part */
    out->memory = malloc((size_t)(out->code - out->text) + 2 * STORY_PARTS + 4);
    if (out->memory == NULL) return TW_NO_MEMORY;
    take_apart(out);
    out->before = named_before(out);
    return TW_OK;
}

void story_free(story *s)
{
    free(s->memory);
    *s = (story){0};
}

const char *story_part_text(const story *s, const char *label)
{
    for (int i = 0; i < s->part_count; i++)
        if (strcmp(s->parts[i].label, label) == 0) return s->parts[i].text;
    return NULL;
}

/* ---- what changed ---- */

/* The lines of a text; *count of them. NULL: no memory. */
static story_line *split(const char *text, int *count)
{
    int lines = 0;
    for (const char *c = text; *c != '\0'; c++) lines += *c == '\n' || c[1] == '\0';
    story_line *out = calloc((size_t)lines + 1, sizeof *out);
    *count = lines;
    for (int i = 0; out != NULL && i < lines; i++) {
        out[i] = (story_line){.length = (int)strcspn(text, "\n"), .text = text};
        text += out[i].length + (text[out[i].length] == '\n');
    }
    return out;
}

static bool same(const story_line *a, const story_line *b)
{
    return a->length == b->length && memcmp(a->text, b->text, (size_t)a->length) == 0;
}

/* common[i][j]: how many lines old[i..] and new[j..] can have in common. Walk from its corner, which holds the most. */
static void walk(const story_line *old_lines, int olds, const story_line *new_lines, int news, const int *common,
                 story_diff *out)
{
    int i = 0, j = 0, width = news + 1;
    while (i < olds || j < news) {
        bool both = i < olds && j < news && same(&old_lines[i], &new_lines[j]);
        bool goes = !both && i < olds && (j == news || common[(i + 1) * width + j] >= common[i * width + j + 1]);
        story_line *line = &out->lines[out->count++];
        *line = both || goes ? old_lines[i] : new_lines[j];
        line->kind = both ? ' ' : goes ? '-' : '+';
        if (both || goes) line->old_number = ++i;
        if (both || !goes) line->new_number = ++j;
        out->removed += line->kind == '-';
        out->added += line->kind == '+';
    }
}

tw_status story_compare(const char *old_text, const char *new_text, story_diff *out)
{
    int olds, news;
    *out = (story_diff){0};
    story_line *old_lines = split(old_text, &olds), *new_lines = split(new_text, &news);
    int *common = calloc((size_t)(olds + 1) * (size_t)(news + 1), sizeof *common);
    out->lines = calloc((size_t)olds + (size_t)news + 1, sizeof *out->lines);
    bool room = old_lines != NULL && new_lines != NULL && common != NULL && out->lines != NULL;
    for (int i = olds - 1, width = news + 1; room && i >= 0; i--)
        for (int j = news - 1; j >= 0; j--) {
            int without_old = common[(i + 1) * width + j], without_new = common[i * width + j + 1];
            common[i * width + j] = same(&old_lines[i], &new_lines[j]) ? common[(i + 1) * width + j + 1] + 1
                                    : without_old > without_new        ? without_old
                                                                       : without_new;
        }
    if (room) walk(old_lines, olds, new_lines, news, common, out);
    free(common);
    free(old_lines);
    free(new_lines);
    if (!room) story_diff_free(out);
    return room ? TW_OK : TW_NO_MEMORY;
}

tw_status story_changes(const story *s, story_diff *out)
{
    const char *old_text = s->before != NULL ? story_text_of(s->before->file) : NULL;
    return story_compare(old_text != NULL ? code_of(old_text) : "", s->code, out);
}

void story_diff_free(story_diff *d)
{
    free(d->lines);
    *d = (story_diff){0};
}
