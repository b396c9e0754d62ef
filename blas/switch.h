/* switch.h - what an environment variable says that is 0 or 1. */
#ifndef TILEWRIGHT_BLAS_SWITCH_H
#define TILEWRIGHT_BLAS_SWITCH_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Another word than 0 or 1 is said on stderr and ignored. */
static inline bool switch_is_on(const char *name, const char *word)
{
    if (word == NULL || word[0] == '\0' || strcmp(word, "0") == 0) return false;
    if (strcmp(word, "1") == 0) return true;
    fprintf(stderr, "tilewright: %s is %.60s, expected 0 or 1; it is ignored\n", name, word);
    return false;
}

#endif
