/* mistake.h - names the mistake in a kernel by its wrong product: says what all of C is instead. */
#ifndef TILEWRIGHT_MISTAKE_H
#define TILEWRIGHT_MISTAKE_H

#include "oracle.h"

enum { MISTAKE_BYTES = 240 };

/* A product as it was found and as it must be: op(A), op(B) and C row by row, without padding. */
typedef struct mistake_product {
    int64_t m, n, k;
    double alpha, beta, unset;                       /* unset: what a sum begins with that nobody set; 0: unknown */
    const double *a, *b, *before, *found, *expected; /* before: C0; where beta is 0 it is not looked at */
    bool untouched;                                  /* not one element of C was changed */
} mistake_product;

/* mistake_of - text: the mistake that explains all of C, as a clause: "C is A times the transpose of B: row and column
 * of B are exchanged". False: C is right, it is no known one, or there is no memory. */
bool mistake_of(const mistake_product *product, char text[MISTAKE_BYTES]);

/* mistake_part - which part of C is wrong: "48 of the 2304 elements are wrong, all in row 3". False: none, or some of
 * each row and column. */
bool mistake_part(const mistake_product *product, char text[MISTAKE_BYTES]);

/* mistake_name - text: the first of these that all of C fits, or which part of C is wrong, as a clause: "C is A times
 * the transpose of B: row and column of B are exchanged". Of an exact oracle whose rows all have a reference, of real
 * numbers, and no larger than 128 x 128 x 128. False: C is right, it is none of these and wrong all over, the oracle is
 * another, or there is no memory. */
bool mistake_name(const oracle *o, const void *c, char text[MISTAKE_BYTES]);

#endif
