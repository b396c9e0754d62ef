/* arguments.h - what all routines have in common in reading their arguments. */
#ifndef TILEWRIGHT_BLAS_ARGUMENTS_H
#define TILEWRIGHT_BLAS_ARGUMENTS_H

#include <tilewright.h>
#include <tilewright_blas.h>

enum { NONE = -1 }; /* a setting that does not exist */

static inline int at_least_1(int value) { return value > 1 ? value : 1; }

/* TW_N, TW_T or NONE; the conjugate transpose of a real matrix is its transpose. */
static inline int op_of(const char *letter)
{
    switch (*letter) {
    case 'N':
    case 'n': return TW_N;
    case 'T':
    case 't':
    case 'C':
    case 'c': return TW_T;
    default: return NONE;
    }
}

static inline int op_from(int op)
{
    return op == CblasNoTrans ? TW_N : op == CblasTrans || op == CblasConjTrans ? TW_T : NONE;
}

#define EXCHANGE(type, x, y)                                                                                           \
    do {                                                                                                               \
        type kept_ = x;                                                                                                \
        x = y, y = kept_;                                                                                              \
    } while (0)

#endif
