/* drawn.h - what the programs under mpirun share: faults that are told, cases that are drawn alike on all ranks, and
 * matrices whose elements any rank makes from their places. */
#ifndef TILEWRIGHT_TESTS_MPI_DRAWN_H
#define TILEWRIGHT_TESTS_MPI_DRAWN_H

#include <stdint.h>
#include <stdio.h>

static int rank, ranks, faults;

#define FAULT(...)                                                                                                     \
    do {                                                                                                               \
        if (faults++ < 5) {                                                                                            \
            fprintf(stderr, "rank %d of %d: ", rank, ranks), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr);        \
        }                                                                                                              \
    } while (0)

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x7fb5d329728ea185, x = (x ^ x >> 27) * 0x81dadef4bc2dd44d;
    return x ^ x >> 33;
}

static uint64_t state;
static int64_t draw(int64_t below) { return (int64_t)(mix(state += 0x9e3779b97f4a7c15) % (uint64_t)below); }

typedef struct element {
    int re, im; /* as whole numbers, -3 to 3 */
    uint64_t bits;
} element;

static element element_at(uint64_t seed, int64_t i, int64_t j)
{
    const uint64_t bits = mix(mix(seed + (uint64_t)i * 0x10001) + (uint64_t)j);
    return (element){(int)(bits % 7) - 3, (int)(bits / 7 % 7) - 3, bits};
}

#endif
