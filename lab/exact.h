/* exact.h - the last word on one element: is this value of C allowed? Sums are exact integers of some 6000 bits, so
 * there is no reference error, no overflow and no underflow; infinities and NaN follow IEEE 754 under every order of
 * summation. Costs about ten plain multiply-adds per product. */
#ifndef TILEWRIGHT_EXACT_H
#define TILEWRIGHT_EXACT_H

#include "reference.h"

typedef struct exact_verdict {
    bool passed;
    double ratio;           /* error / bound; 0 or infinity where found is not finite or may not be finite */
    double expected, bound; /* expected: NaN or an infinity where nothing finite is allowed; bound then 0 */
} exact_verdict;

/* exact_judge - judge found = alpha * sum_p a[p] b[p] + beta * c0, not of integers (whole.h). a and b: k doubles each,
 * a row of op(A) and a column of op(B), not read unless x->reads_ab; c0 is not looked at unless x->reads_c0.
 *
 * Accepted: a finite value within the bound of the exact result, if a finite result is possible; an infinity or a NaN,
 * if some order of summation of the accumulator's type can produce it. The derivation is in docs/ACCURACY.md. */
exact_verdict exact_judge(const product *x, const double *a, const double *b, double c0, double found);

/* exact_judge_at - the same of element (row, col) of C, whose c0 it looks up, as well as what an imaginary part of beta
 * multiplies. Of a problem with an epilogue: exact_made() of all that its acc may be. */
exact_verdict exact_judge_at(const product *x, const double *a, const double *b, int64_t row, int64_t col,
                             double found);

/* What acc may be before an epilogue: finite numbers from low to high, none where low is above high; and what else. */
typedef struct exact_range {
    double low, high;
    bool plus, minus, nan; /* an infinity; NaN */
} exact_range;

/* exact_around - all within `limit` of high + low; 0: high itself, whatever it is. */
exact_range exact_around(double high, double low, double limit);

/* exact_made - judge what an epilogue made of acc in element (row, col), of integers too. expected: the middle of what
 * may stand there, bound: half its width; NaN and 0 where no number may, or an infinite one. */
exact_verdict exact_made(const product *x, int64_t row, int64_t col, exact_range acc, double found);

/* exact_sentence - "C[12, 7] is 3.5, expected 3.25 +- 1.2e-06 (error 2.08e+05 times its bound)"; bound 0: "exactly".
 * Of complex types col is of real numbers, and the sentence says which part of which element that is. */
void exact_sentence(char *text, size_t bytes, const product *x, int64_t row, int64_t col, double found, double expected,
                    double bound, double ratio);

#endif
