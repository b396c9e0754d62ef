/* die.h - numbers that a case is drawn by: the same ones for the same seed. */
#ifndef TILEWRIGHT_DIE_H
#define TILEWRIGHT_DIE_H

#include "element.h"

typedef struct die {
    uint64_t seed, thrown;
} die;

static int64_t roll(die *d, int64_t sides) { return (int64_t)(element_mix(d->seed, d->thrown++) % (uint64_t)sides); }

#endif
