/* drawn.h - an epilogue whose names stand for random operands, for timing a text without files. */
#ifndef TILEWRIGHT_DRAWN_H
#define TILEWRIGHT_DRAWN_H

#include <stdint.h>
#include "tilewright.h"

enum { DRAWN_NAMES = 16 };

typedef struct drawn {
    tw_epilogue *epilogue;
    void *memory[DRAWN_NAMES]; /* of the operands */
} drawn;

/* drawn_make - the epilogue of a text for products of this problem. Each name gets what its use asks for: a number,
 * vectors of m or n elements, matrices of m x n or n x m, from -1 to 1, in f64 where sums are, else f32. Returns TW_OK,
 * TW_NO_MEMORY, or what tw_epilogue_make() does. */
tw_status drawn_make(const char *text, const tw_problem *p, uint64_t seed, drawn *out);

/* drawn_free - also of what could not be made. */
void drawn_free(drawn *d);

#endif
