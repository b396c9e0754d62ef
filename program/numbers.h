/* numbers.h - numbers as people type them, strictly: the whole text must be the number, and it must be in range. */
#ifndef TILEWRIGHT_NUMBERS_H
#define TILEWRIGHT_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct shape {
    int64_t m, n, k;
} shape;

bool parse_whole(const char *text, int64_t least, int64_t most, int64_t *out); /* decimal digits, perhaps a minus */
bool parse_seed(const char *text, uint64_t *out);                              /* 0 to 2^64 - 1 */
bool parse_real(const char *text, double *out);                  /* also "nan" and "inf"; not beyond a double */
bool parse_bytes(const char *text, int64_t least, int64_t *out); /* "400M": digits, perhaps K, M, G or T, of 1024 */
bool parse_complex(const char *text, double *real, double *imaginary);       /* X, or X,Y: X + i Y */
bool parse_shape(const char *text, int64_t least, int64_t most, shape *out); /* "MxNxK" */

/* parse_word - copy the part of *list up to the next comma and step over it; false at the end, or when a part is empty
 * or longer than size - 1 (*list is then NULL). */
bool parse_word(const char **list, char *out, int size);

#endif
