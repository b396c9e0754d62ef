/* wish.h - what is asked of a product of files, as plain values, and where it is computed. */
#ifndef TILEWRIGHT_WISH_H
#define TILEWRIGHT_WISH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "../program/exit.h"
#include "tilewright_lab.h"

/* imaginary: 0 unless X,Y was given. */
typedef struct product_scalar {
    bool given;
    double value, imaginary;
} product_scalar;

typedef struct product_wish {
    const char *a, *b, *add, *c;   /* paths; NULL: not part of the call */
    const char *output;            /* as it was named; NULL: none */
    int type_count;                /* words of --dtype: one for A and B, or one for each; 0: not given */
    const char *types[2], *type_c; /* type_c: of --dtype-c; NULL: not given */
    bool has_shape;                /* --shape was given: m x n x k */
    int64_t m, n, k;
    bool transpose_a, transpose_b, conjugate_a, conjugate_b;
    product_scalar alpha, beta;
    const char *epilogue;     /* a text; NULL: not given */
    const char *const *binds; /* words of --bind, NAME=FILE or NAME=NUMBER */
    int bind_count;
    int64_t memory; /* bytes; 0: what there is */
    uint64_t seed;  /* of the check, as threads; 0: as many as is usual */
    int threads;
    bool invariant;                             /* TW_INVARIANT */
    bool emulate;                               /* TW_EMULATED */
    bool verify, tells_verdict, verbose, quiet; /* tells_verdict: the check is all that was asked for */
    FILE *text;
    tw_context *context; /* NULL before a device is open */
    const tw_device *device;
} product_wish;

#endif
