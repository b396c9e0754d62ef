/* brings.h - which calls of a routine sanitizers run. */
#ifndef TILEWRIGHT_TESTS_BLAS_BRINGS_H
#define TILEWRIGHT_TESTS_BLAS_BRINGS_H

#include "../support/tap.h"

#include <stdbool.h>
#include <stdio.h>

/* Does a call bring a name, size, place or setting that none before it had; a size, place or setting of its type? Its
 * scalars are the caller's to add. */
static inline bool brings_call(int routine, int way, bool is_f32, const int size[3], const int place[3], int setting)
{
    char shape[64];
    snprintf(shape, sizeof shape, "%dx%dx%d", size[0], size[1], size[2]);
    return tap_brings("name %d %d %s %d %d %d", routine, way, shape, place[1], place[2], setting) |
           tap_brings("setting %d %d %d", routine, is_f32, setting) |
           tap_brings("shape %d %d %s", routine, is_f32, shape) |
           tap_brings("place %d %d %d %d %d", routine, is_f32, place[0], place[1], place[2]);
}

#endif
