/* integers.h - products of small whole numbers, judged exactly by Freivalds' check: each row of C against A (B x) for a vector x of
 * random odd numbers, modulo 2^64 (of int8: 2^32).
 *
 *     sum_j C[i, j] x_j  =  alpha sum_p op(A)[i, p] (sum_j op(B)[p, j] x_j)  +  beta sum_j C0[i, j] x_j
 *
 * Numbers are so small that every sum is exact in the accumulator, in any order. One wrong element in a row is seen for certain, several
 * but for one case in 2^64. It costs m k + k n + m n steps, where an oracle (oracle.h) costs m n k. */
#ifndef TILEWRIGHT_INTEGERS_H
#define TILEWRIGHT_INTEGERS_H

#include "element.h"

/* One problem's operands, or those of a batch at strides, in memory of their own; what lies between rows and items is poison. */
typedef struct integers {
    tw_problem problem;
    tw_batch batch;
    void *a, *b, *c;
    void *c0;       /* what c was: poison where beta is 0 */
    uint64_t *sums; /* x, then B x */
    double *row;
    int64_t a_elements, b_elements, c_elements;
} integers;

/* integers_make - alpha and beta are whole numbers; C has the type that the operands give by default. batch: at strides, NULL: one product.
 * TW_NO_MEMORY; TW_BAD_ARGUMENT where no number but 0 is small enough. */
tw_status integers_make(const tw_problem *problem, const tw_batch *batch, uint64_t seed, integers *out);
void integers_free(integers *x);

/* integers_judge - is c every item's product, and nothing beside it written? The first fault as one sentence in text; else c is as it was
 * before the call, for another one. */
bool integers_judge(integers *x, char *text, size_t text_bytes);

#endif
