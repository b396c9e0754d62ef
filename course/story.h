/* story.h - what a rung says of itself: its kernel's text, the head comment taken apart, and what changed in the code
 * since the rung that it names as the one before. Reads nothing: the texts of all kernels are part of the program
 * (tools/embed.c). */
#ifndef TILEWRIGHT_STORY_H
#define TILEWRIGHT_STORY_H

#include "tilewright_lab.h"

/* The kernel files, and the headers of the GPUs', as they stand; ends with a row of NULL. */
typedef struct story_text {
    const char *file, *text; /* file: below kernels/, as in tw_lab_kernel */
} story_text;
extern const story_text story_texts[];
const char *story_text_of(const char *file); /* NULL: there is no such file */

/* One part of the head comment, its lines without stars and indentation: "IDEA", "NUMBERS", "LIMITS", "HOST",
 * "CHANGED", "SOURCE". */
typedef struct story_part {
    const char *label, *text;
} story_part;

enum { STORY_PARTS = 8 };

typedef struct story {
    const tw_lab_kernel *kernel;
    const tw_lab_kernel *before; /* the rung of CHANGED's "from r03", of the same engine; NULL: it names none */
    const char *text;            /* the whole file */
    const char *code;            /* what follows the head comment */
    const char *title;           /* what precedes the first part */
    int part_count;
    story_part parts[STORY_PARTS];
    char *memory;
} story;

/* story_tell - take a row's file apart. TW_NO_KERNEL: no text of that file; TW_NO_MEMORY. On failure nothing is left to
 * free. */
tw_status story_tell(const tw_lab_kernel *kernel, story *out);
void story_free(story *s);                                      /* a zeroed story is fine */
const char *story_part_text(const story *s, const char *label); /* NULL: it has no such part */

/* A line of a comparison: '-' only in the old text, '+' only in the new, ' ' in both. text is not ended by a zero. */
typedef struct story_line {
    char kind;
    int length;
    int old_number, new_number; /* from 1; 0: not in that text */
    const char *text;
} story_line;

typedef struct story_diff {
    int count, added, removed;
    story_line *lines; /* they point into the two texts */
} story_diff;

/* story_compare - the lines of two texts, as many as possible in common (longest common subsequence), what goes before
 * what comes. TW_NO_MEMORY where there is no room for the product of their numbers of lines. */
tw_status story_compare(const char *old_text, const char *new_text, story_diff *out);

/* story_changes - what changed in the code, head comments aside, since the rung before; all lines are new where there
 * is none. */
tw_status story_changes(const story *s, story_diff *out);
void story_diff_free(story_diff *d);

#endif
