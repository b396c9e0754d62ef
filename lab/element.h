/* element.h - the element types as rows of one table: load as double, store from double, poison, random values. Every
 * value of every real type but i64 is a double exactly, and of i64 every one that is drawn; nothing else in the lab
 * asks which type it has in hand. A complex element is two of its part's: what loads, stores and draws takes the
 * part. */
#ifndef TILEWRIGHT_ELEMENT_H
#define TILEWRIGHT_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include "tilewright_lab.h"

/* Poison is a quiet NaN whose payload no arithmetic makes. It says whose memory it is, for a NaN that travels tells. */
typedef enum element_owner { OWNER_C = 0, OWNER_A = 1, OWNER_B = 2 } element_owner;

typedef struct element {
    tw_dtype dtype;
    tw_dtype result;      /* of C, where the problem does not say */
    tw_dtype accumulator; /* that a kernel sums in; of complex types that of a part's sum */
    tw_dtype part;        /* of complex types that of the real and the imaginary part, side by side; else dtype */
    int parts;            /* 2: complex; else 1 */
    int bytes;
    int digits; /* bits of the significand: integers up to 2^digits are exact */
    /* C is the exact result modulo 2^n (whole.h), and alpha and beta are whole numbers; there is no NaN, so poison is a
     * number */
    bool integer;
    bool positive;            /* of integers: has no negative ones */
    bool flushes;             /* what is subnormal in A and B may count as 0 */
    bool pair;                /* the product of two elements needs more than a double: sums are kept as two doubles */
    double smallest, largest; /* positive subnormal; finite */
    /* fp8: the matrix unit sums parts of part_k products, where one that is cut off loses less than 2^-part_bits of the
     * largest (docs/ACCURACY.md); the parts are added in the accumulator's type. 0: no parts */
    int part_k, part_bits;
    /* NULL of complex types, as is store */
    void (*load)(const void *base, int64_t first, int64_t stride, int64_t count, double *out, int64_t out_stride);
    void (*store)(void *base, int64_t first, int64_t count, const double *values); /* rounded to nearest even */
    void (*poison)(void *base, int64_t first, int64_t count, element_owner owner);
    /* of integers, else NULL: the lower bits of the number, in two's complement */
    void (*load_whole)(const void *base, int64_t first, int64_t stride, int64_t count, uint64_t *out,
                       int64_t out_stride);
} element;

const element *element_of(tw_dtype dtype);   /* NULL: no such dtype */
const element *element_part(tw_dtype dtype); /* of a real number in memory; NULL: no such dtype */
/* element_is_poison - has the element, as it stands in memory, the bits of this owner's poison? */
bool element_is_poison(const element *e, const void *base, int64_t index, element_owner owner);
double element_round(const element *e, double value);
/* element_converted - the value in this type: rounded to nearest, a tie to the even number; of integers saturated, 0
 * for NaN. */
double element_converted(const element *e, double value);

/* element_mix - 64 bits from (seed, index) alone: SplitMix64 (Steele, Lea, Flood 2014), used as a counter. */
static inline uint64_t element_mix(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* element_uniform - a value in (-1, 1) with every bit of the significand in play: odd times 2^-digits, so never 0, of
 * fp8 that divided by 1, 2, 4 ... 128 and rounded (of e4m3 sometimes to 0); of integers any, of i64 any multiple of
 * 1, 2, 4 ... 1024 that is a double.
 * element_uniforms - so many of them, of the indices first, first + step ...; out[0], out[out_stride] ... take them.
 * element_integers - the same of integers from -limit to limit, or from 0 where there are no negative ones. */
double element_uniform(const element *e, uint64_t seed, uint64_t index);
void element_uniforms(const element *e, uint64_t seed, uint64_t first, uint64_t step, int64_t count, double *out,
                      int64_t out_stride);
void element_integers(const element *e, int64_t limit, uint64_t seed, uint64_t first, uint64_t step, int64_t count,
                      double *out, int64_t out_stride);

/* element_span - elements of a rows x cols matrix from first to last; -1 where its bytes cannot be counted. */
int64_t element_span(const element *e, int64_t rows, int64_t cols, int64_t ld);

#endif
