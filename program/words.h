/* words.h - the words that an option takes, from the tables that the program itself reads: for hints on what is
 * misspelt, and for the completion of the shell. */
#ifndef TILEWRIGHT_WORDS_H
#define TILEWRIGHT_WORDS_H

#include <stddef.h>

enum { WORDS_MOST = 2048 };

typedef struct word_list {
    int count;
    const char *items[WORDS_MOST];
    size_t used;
    char room[1 << 14]; /* of words that stand in no table by themselves */
} word_list;

typedef void words_fill(word_list *out); /* adds to the list */
words_fill words_kernels, words_peers, words_gpus;
words_fill words_rungs;                                       /* "r04" and "r04_banks"; families too */
void words_choices(word_list *out, const char *choices);      /* words with blanks between them */
void words_add(word_list *out, const char *word, int length); /* unless it is there */

/* words_meant - "; did you mean r04?" where a word of the list is at most two letters away from this one, else "". */
typedef char words_hint[96];
const char *words_meant(const word_list *list, const char *word, words_hint out);
/* the same of a table */
const char *words_meant_of(words_fill *fill, const char *word, words_hint out);

#endif
