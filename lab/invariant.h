/* invariant.h - are the bits of C's rows the same whatever is computed beside them? Random products with TW_INVARIANT,
 * each computed whole; then some of its rows alone, all of them from operands that lie otherwise, and as items of a
 * batch; compared byte by byte. */
#ifndef TILEWRIGHT_INVARIANT_H
#define TILEWRIGHT_INVARIANT_H

#include <stdbool.h>
#include "tilewright_lab.h"

typedef struct invariant_search {
    tw_context *context;
    tw_dtype dtype;
    int cuda_device;   /* whose memory operands lie in, every other time; -1: the host's alone */
    int64_t most_work; /* m n k of the largest product */
    uint32_t flags;    /* TW_INVARIANT; without it rows may differ */
    uint64_t seed;
    /* what was found: products that were compared with a whole one, their rows, and whether a row differed */
    int64_t products, rows;
    bool differs;
    char text[500]; /* the first row that differed, and in what; or what failed on the device */
} invariant_search;

/* invariant_draw - product `number` of the search: which it is depends on the seed and number alone. TW_NO_KERNEL: the
 * device gives no product of the type with TW_INVARIANT. */
tw_status invariant_draw(invariant_search *s, uint64_t number);

#endif
