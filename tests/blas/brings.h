/* brings.h - which calls of a routine sanitizers run. */
#ifndef TILEWRIGHT_TESTS_BLAS_BRINGS_H
#define TILEWRIGHT_TESTS_BLAS_BRINGS_H

#include "../support/tap.h"

#include <stdbool.h>
#include <stdio.h>

/* True for a call that is worth a sanitizer's time: of its routine and type a setting or a size by this way, or a
 * place, is new. The caller adds the scalars. place: are rows padded, offset of the address, without memory. */
static inline bool brings_call(int routine, int way, bool is_f32, const int size[3], const int place[3], int setting)
{
    char shape[64];
    snprintf(shape, sizeof shape, "%dx%dx%d", size[0], size[1], size[2]);
    return tap_brings("setting %d %d %d %d", routine, is_f32, way, setting) |
           tap_brings("shape %d %d %d %s", routine, is_f32, way, shape) |
           tap_brings("place %d %d %d %d %d", routine, is_f32, place[0], place[1], place[2]);
}

#endif
