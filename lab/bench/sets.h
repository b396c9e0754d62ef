/* sets.h - operands to time with: so many equal sets, one after the other, that they exceed the caches. */
#ifndef TILEWRIGHT_SETS_H
#define TILEWRIGHT_SETS_H

#include "tilewright.h"

typedef struct operand_sets {
    size_t a_bytes, b_bytes, set_bytes; /* a set is a, b and c, each from a multiple of SETS_ALIGN on */
    int wanted; /* enough to fill the last-level cache twice, and one more; a quarter of the memory at most */
} operand_sets;

enum { SETS_ALIGN = 256 };

/* items: 1, or as many as a batch has, one after the other. */
operand_sets sets_for(const tw_problem *p, int64_t items, const tw_device *device);

/* sets_beyond_l2 - the same for one stream of launches on a GPU: as many as three times the L2 needs, two at least. */
operand_sets sets_beyond_l2(const tw_problem *p, int64_t items, const tw_device *device);

/* sets_fill - the same random elements in each of `count` sets that begin at `first`. C is 0. */
void sets_fill(const operand_sets *sets, const tw_problem *p, int64_t items, int count, char *first);

#endif
