/* blocks.h - in which blocks a product out of core is computed: a pure choice. */
#ifndef TILEWRIGHT_BLOCKS_H
#define TILEWRIGHT_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* What is multiplied: sizes, and bytes of an element of A, B and C in memory. depth: k may be divided at its multiples;
 * 0: it is not. finishes: sums over parts of k still need alpha, or beta and C0. */
typedef struct blocks_problem {
    int64_t m, n, k, a_bytes, b_bytes, c_bytes, depth;
    bool finishes;
} blocks_problem;

/* Blocks of C, m x n, are computed one after the other, each from panels of A (m x k) and of B (k x n).
 *
 *   k whole, columns outermost   a panel of B stays while those of A pass, the next one being read meanwhile
 *   k whole, rows outermost      the same, A and B exchanged
 *   k divided                    a block of sums stays while panels of both pass */
typedef struct blocks {
    int64_t m, n, k;
    bool rows_outermost, divides_k, finishes; /* finishes: a row of sums at a time */
    int slots_a, slots_b;                     /* panels of each that there is memory for */
    int64_t bytes;                            /* of panels, the block, a row that is finished */
    double read_bytes;                        /* of A and B in memory, all reading together */
} blocks;

/* blocks_choose - those with the least to read and to pack, within so many bytes; k is divided only where that at least
 * halves it. False: none fits. */
bool blocks_choose(const blocks_problem *p, int64_t bytes, blocks *out);

/* Where a product stands: the block's rows from i and columns from j on, steps of k from p on, and how many panels of A
 * and of B have been read for it. */
typedef struct blocks_at {
    int64_t i, j, p, rows, cols, depth, reads_a, reads_b;
} blocks_at;

/* blocks_first, blocks_next - false: that was the last. There is at least one, of a k of 0 with nothing to read. */
void blocks_first(const blocks_problem *p, const blocks *b, blocks_at *at);
bool blocks_next(const blocks_problem *p, const blocks *b, blocks_at *at);

#endif
