/* rung_words.h - whether a kernel's text says nothing but what rungs say. A compiler does more for a text than compile
 * it: it reads other files, and makes code that runs as soon as the text is loaded. A text that nobody has read before
 * it is compiled must not ask for that. */
#ifndef TILEWRIGHT_RUNG_WORDS_H
#define TILEWRIGHT_RUNG_WORDS_H

#include "../../program/exit.h"
#include "host_kernel.h"

/* rung_words_only - of the engine's language, beside the text of the rung that it is like, whose lines may stand in it
 * unchanged. false: why says which word is none of a rung, and in which line; EXIT_MEMORY in *code where memory ran
 * out. */
bool rung_words_only(const char *engine, const char *text, const char *rung, char why[HOST_WHY], exit_code *code);

/* rung_words_of_cpp - the first word of C++ or of vectors but float4, which the judge does not know, in this text; NULL:
 * there is none. */
const char *rung_words_of_cpp(const char *text);

#endif
