/* plain_complex.h - complex products by plain loops, part by part, right or with a fault planted. Shares nothing with
 * the lab's views. */
#ifndef TILEWRIGHT_PLAIN_COMPLEX_H
#define TILEWRIGHT_PLAIN_COMPLEX_H

#include <stdbool.h>
#include "tilewright.h"

typedef struct parts {
    double re, im;
} parts;

/* One at a time: other conjugations, a term of a product forgotten, parts exchanged, scalars conjugated, a scalar
 * without an imaginary part that multiplies as a complex number. */
typedef enum planted {
    NOTHING,
    CONJUGATES_A,
    CONJUGATES_B,
    FORGETS_II,
    FORGETS_IR,
    EXCHANGES_PARTS,
    CONJUGATES_ALPHA,
    CONJUGATES_BETA,
    ALPHA_WITH_ZERO,
    PLANTED
} planted;

static inline parts parts_at(tw_dtype dtype, const void *x, int64_t at)
{
    if (dtype == TW_CF64) return (parts){((const double *)x)[2 * at], ((const double *)x)[2 * at + 1]};
    return (parts){(double)((const float *)x)[2 * at], (double)((const float *)x)[2 * at + 1]};
}

static inline void put_parts(tw_dtype dtype, void *x, int64_t at, parts value)
{
    if (dtype == TW_CF64)
        ((double *)x)[2 * at] = value.re, ((double *)x)[2 * at + 1] = value.im;
    else
        ((float *)x)[2 * at] = (float)value.re, ((float *)x)[2 * at + 1] = (float)value.im;
}

/* To the accumulator. A float's product and sum are exact enough in double that rounding twice changes nothing. */
static inline double rounded(tw_dtype dtype, double x) { return dtype == TW_CF64 ? x : (double)(float)x; }

static inline bool transposes(tw_op op) { return op == TW_T || op == TW_C; }

static inline parts operand_at(tw_dtype dtype, const void *x, tw_op op, int64_t ld, int64_t i, int64_t j,
                               bool conjugates)
{
    parts value = parts_at(dtype, x, transposes(op) ? j * ld + i : i * ld + j);
    if ((op == TW_C || op == TW_R) != conjugates) value.im = -value.im;
    return value;
}

static inline parts times_scalar(tw_dtype d, parts scalar, parts x, bool with_zero)
{
    if (scalar.im == 0 && !with_zero) return (parts){rounded(d, scalar.re * x.re), rounded(d, scalar.re * x.im)};
    return (parts){rounded(d, rounded(d, scalar.re * x.re) - rounded(d, scalar.im * x.im)),
                   rounded(d, rounded(d, scalar.re * x.im) + rounded(d, scalar.im * x.re))};
}

static inline parts plain_sum(const tw_problem *p, const void *a, const void *b, int64_t i, int64_t j, planted fault)
{
    const tw_dtype d = p->dtype;
    parts sum = {0, 0};
    for (int64_t q = 0; q < p->k; q++) {
        const parts x = operand_at(d, a, p->op_a, p->lda, i, q, fault == CONJUGATES_A),
                    y = operand_at(d, b, p->op_b, p->ldb, q, j, fault == CONJUGATES_B);
        sum.re = rounded(d, sum.re + rounded(d, x.re * y.re)), sum.im = rounded(d, sum.im + rounded(d, x.re * y.im));
        if (fault != FORGETS_II) sum.re = rounded(d, sum.re - rounded(d, x.im * y.im));
        if (fault != FORGETS_IR) sum.im = rounded(d, sum.im + rounded(d, x.im * y.re));
    }
    return fault == EXCHANGES_PARTS ? (parts){sum.im, sum.re} : sum;
}

static inline void plain_complex(const tw_problem *p, const void *a, const void *b, void *c, planted fault)
{
    const tw_dtype d = p->dtype;
    parts alpha = {rounded(d, p->alpha), rounded(d, p->alpha_imaginary)},
          beta = {rounded(d, p->beta), rounded(d, p->beta_imaginary)};
    if (fault == CONJUGATES_ALPHA) alpha.im = -alpha.im;
    if (fault == CONJUGATES_BETA) beta.im = -beta.im;
    const bool reads_ab = p->k > 0 && (alpha.re != 0 || alpha.im != 0), reads_c = beta.re != 0 || beta.im != 0;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            parts x = {0, 0}, old = {0, 0};
            if (reads_ab) x = times_scalar(d, alpha, plain_sum(p, a, b, i, j, fault), fault == ALPHA_WITH_ZERO);
            if (reads_c) old = times_scalar(d, beta, parts_at(d, c, i * p->ldc + j), false);
            put_parts(d, c, i * p->ldc + j, (parts){rounded(d, x.re + old.re), rounded(d, x.im + old.im)});
        }
}

#endif
