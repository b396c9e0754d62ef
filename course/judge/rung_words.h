/* rung_words.h - whether a kernel's text says nothing but what rungs say. A compiler does more for a text than compile
 * it: it reads other files, and makes code that runs as soon as the text is loaded. A text that nobody has read before
 * it is compiled must not ask for that. */
#ifndef TILEWRIGHT_RUNG_WORDS_H
#define TILEWRIGHT_RUNG_WORDS_H

#include "host_kernel.h"

/* rung_words_text - the text without comments, its lines joined where they end in a backslash, in as many lines, for
 * free(): what is to be checked, and what is to be compiled. NULL: no memory. */
char *rung_words_text(const char *text);

/* rung_words_includes - how often it says `include`, at most so often it includes something. */
enum { RUNG_WORDS_MOST_INCLUDES = 16 };
int rung_words_includes(const char *flat);

/* rung_words_only - of such a text in the engine's language. Lines of the rung that it is like may stand in it
 * unchanged. false: why says which word is none of a rung, and in which line. */
bool rung_words_only(const char *engine, const char *flat, const char *rung, char why[HOST_WHY]);

/* rung_words_unknown - does it have a word of C++, OpenCL C or CUDA C that the judge does not know, so that no compiler
 * of C is to blame? */
enum { RUNG_WORD = 64 };
bool rung_words_unknown(const char *flat, char word[RUNG_WORD]);

#endif
