/* story_page.h - a rung's own words and code as parts of a page. */
#ifndef TILEWRIGHT_STORY_PAGE_H
#define TILEWRIGHT_STORY_PAGE_H

#include <stdio.h>
#include "../story.h"

void story_page_words(FILE *out, const story *s);                     /* the head comment, part by part */
void story_page_code(FILE *out, const story *s, const story_diff *d); /* folded: the code, with what changed marked */

#endif
