/* story_page.c - see story_page.h. */
#include "story_page.h"

#include <stdbool.h>
#include <string.h>
#include "html.h"

void story_page_words(FILE *out, const story *s)
{
    const char *idea = story_part_text(s, "IDEA");
    if (idea != NULL)
        html_print(out, "<pre role=\"group\" tabindex=\"0\" aria-label=\"The idea of %t\">%t</pre>\n", s->kernel->rung,
                   idea);
    fputs("<dl>\n", out);
    for (int i = 0; i < s->part_count; i++) {
        const char *label = s->parts[i].label;
        if (strcmp(label, "IDEA") == 0) continue;
        fprintf(out, "<dt>%c", label[0]);
        for (const char *c = label + 1; *c != '\0'; c++) fputc(*c - 'A' + 'a', out);
        html_print(out, "</dt><dd>%t</dd>\n", s->parts[i].text);
    }
    fputs("</dl>\n", out);
}

void story_page_code(FILE *out, const story *s, const story_diff *d)
{
    fputs("<details><summary>", out);
    if (s->before != NULL)
        html_print(out, "%t: %d lines new, %d gone since %t", s->kernel->file, d->added, d->removed, s->before->rung);
    else
        html_print(out, "%t: the code, %d lines", s->kernel->file, d->count);
    html_print(out, "</summary>\n<pre role=\"group\" tabindex=\"0\" aria-label=\"Code of %t\">", s->kernel->file);
    for (int i = 0; i < d->count; i++) {
        const story_line *line = &d->lines[i];
        bool marked = s->before != NULL && line->kind != ' ';
        if (marked)
            fputs(line->kind == '+' ? "<ins>+ " : "<del>- ", out);
        else if (s->before != NULL)
            fputs("  ", out);
        html_text_of(out, line->text, line->length);
        fputs(!marked ? "\n" : line->kind == '+' ? "</ins>\n" : "</del>\n", out);
    }
    fputs("</pre></details>\n", out);
}
