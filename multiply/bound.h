/* bound.h - --epilogue and --bind of `multiply` and `verify`: from a text, numbers and files to the epilogue of a
 * product. */
#ifndef TILEWRIGHT_BOUND_H
#define TILEWRIGHT_BOUND_H

#include "operands.h"

/* bound_check - before any file is read: do the text and the names fit together, and, where --dtype says it, the
 * type? EXIT_OK, or EXIT_USAGE after a sentence. */
exit_code bound_check(const product_wish *wish);

/* bound_read - of operands that are read or open and settled: read the files of --bind, compare their sizes with
 * what the text reads of them, and give the problem its epilogue. EXIT_OK, or a sentence was printed; operands_free
 * frees it in every case. */
exit_code bound_read(const product_wish *wish, operands *o);

/* bound_tell - a line for the text, and one for each name. */
void bound_tell(const product_wish *wish, const operands *o);

/* bound_file - what a word of --bind names: a file. NULL: a number, or nothing. */
const char *bound_file(const char *word);

#endif
