/* mistake.h - names the mistake of a wrong product, for who wrote its kernel: what the whole of C is instead. */
#ifndef TILEWRIGHT_MISTAKE_H
#define TILEWRIGHT_MISTAKE_H

#include "oracle.h"

enum { MISTAKE_BYTES = 240 };

/* mistake_name - text: the first of these that all of C fits, or which part of C is wrong, as a clause: "C is A times
 * the transpose of B: row and column of B are exchanged". With another alpha than 1 or another beta than 0 only what is
 * done with these is named. Of an exact oracle whose rows all have a reference, of real numbers, and no larger than
 * 128 x 128 x 128. False: C is right, it is none of these and
 * wrong all over, the oracle is another, or there is no memory. */
bool mistake_name(const oracle *o, const void *c, char text[MISTAKE_BYTES]);

#endif
