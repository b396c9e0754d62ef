/* integers.h - products of small integers, judged exactly by Freivalds' check: each row of C against A (B x), for a
 * vector x of random odd numbers, modulo 2^64, of integers modulo C's 2^n.
 *
 *     sum_j C[i, j] x_j  =  alpha sum_p op(A)[i, p] (sum_j op(B)[p, j] x_j)  +  beta sum_j C0[i, j] x_j
 *
 * The integers are so small that every sum is exact in the accumulator, in any order. A complex product is judged as
 * the real one that it is (view in reference.h). One wrong element in a row is always seen; several, whose errors are
 * odd, are missed once in 2^64, or 2^n. Cost: m k + k n + m n steps; an oracle (oracle.h) takes m n k. */
#ifndef TILEWRIGHT_INTEGERS_H
#define TILEWRIGHT_INTEGERS_H

#include "element.h"

/* Operands of one problem, or of a batch at strides. Padding between rows and items is poison. */
typedef struct integers {
    tw_problem problem;
    tw_batch batch;
    void *a, *b, *c;
    void *c0;       /* what c was: poison where beta is 0 */
    uint64_t *sums; /* x, then B x */
    double *row;
    int64_t a_elements, b_elements, c_elements;
} integers;

/* integers_make - alpha and beta must be integers; C has the operands' default result type. batch NULL: one product.
 * TW_NO_MEMORY; TW_BAD_ARGUMENT where alpha or beta is no integer, or no operand but 0 is small enough. */
tw_status integers_make(const tw_problem *problem, const tw_batch *batch, uint64_t seed, integers *out);
void integers_free(integers *x);

/* integers_judge - is c right in every item, and the padding untouched? If not, text names the first fault. If so, c is
 * put back as it was before the call. */
bool integers_judge(integers *x, char *text, size_t text_bytes);

#endif
