/* changed.h - a kernel's text with a change, for cases that must notice it. */
#ifndef TILEWRIGHT_CHANGED_H
#define TILEWRIGHT_CHANGED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* text with every `from` replaced by `to`; NULL where `from` does not occur as often as `times` (0: any number). free()
 * it. */
static char *changed_text(const char *text, const char *from, const char *to, int times)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, from)) != NULL; at += strlen(from)) found++;
    if (times > 0 && found != times) return NULL;
    char *made = malloc(strlen(text) + (size_t)found * strlen(to) + 1), *end = made;
    if (made == NULL) exit(1);
    for (const char *at; (at = strstr(text, from)) != NULL; text = at + strlen(from)) {
        memcpy(end, text, (size_t)(at - text));
        end += at - text;
        end += sprintf(end, "%s", to);
    }
    strcpy(end, text);
    return made;
}

#endif
