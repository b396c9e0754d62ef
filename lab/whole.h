/* whole.h - products of integers, which are exact: C modulo 2^n is the lower bits of sums modulo 2^64, whatever wraps
 * around on the way. A C of another type than the sums is made of them by one rounding (product.scaled). */
#ifndef TILEWRIGHT_WHOLE_H
#define TILEWRIGHT_WHOLE_H

#include "exact.h"
#include "oracle.h"

/* whole_load - view_load() of a type of integers: every bit of them, those of negative ones in two's complement. */
void whole_load(view v, int64_t i0, int64_t rows, int64_t j0, int64_t cols, uint64_t *out, int64_t ld);

/* whole_of - the number of this signed type whose bits these are, as far as it has any. */
int64_t whole_of(const element *type, uint64_t bits);

/* whole_rows - the given rows (NULL: 0, 1, ...) of C, all n columns, or, where C is scaled, of the sums. threads: as of
 * reference_rows(). Returns TW_OK, TW_NO_MEMORY. */
tw_status whole_rows(const product *x, const int64_t *rows, int64_t row_count, int threads, int64_t *c);

/* whole_scaled - judge an element of a C that is scaled: is it what alpha * sum + beta * c0 is rounded to, computed in
 * double, with at most the errors that its three operations may have? None, where all are exact. ratio: 0 or
 * infinity. With an epilogue: is it what that may make of it? */
exact_verdict whole_scaled(const product *x, int64_t sum, int64_t row, int64_t col, double found);

/* whole_sentence - "C[12, 7] is 3, expected 4 exactly"; of elements without a sign where is_unsigned. */
void whole_sentence(char *text, size_t bytes, const element *type_c, int64_t row, int64_t col, int64_t found,
                    int64_t expected, bool is_unsigned);

/* whole_verify - verify_product() of integers, by vectors of random weights modulo 2^64; where C is scaled, element by
 * element. */
tw_status whole_verify(const product *x, const void *c, const verify_options *options, verify_report *report);

#endif
