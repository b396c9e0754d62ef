/* plain.h - products by plain loops, in the ways in which a right kernel may add; checks of what an oracle says. */
#ifndef TILEWRIGHT_PLAIN_H
#define TILEWRIGHT_PLAIN_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "element.h"
#include "exact.h"
#include "oracle.h"
#include "reference.h"

static const tw_dtype dtypes[] = {TW_F32, TW_F64};
static uint64_t draws;

static inline uint64_t draw(void) { return element_mix(2026, draws++); }

static inline int64_t draw_below(int64_t limit) { return (int64_t)(draw() % (uint64_t)limit); }

typedef enum manner { FORWARD, BACKWARD, FUSED, FOUR_SUMS, MANNERS } manner;

#define MULTIPLY(name, type, fused)                                                                                    \
    static void name(const tw_problem *p, const type *a, const type *b, type *c, manner how)                           \
    {                                                                                                                  \
        type alpha = (type)p->alpha, beta = (type)p->beta;                                                             \
        for (int64_t i = 0; i < p->m; i++)                                                                             \
            for (int64_t j = 0; j < p->n; j++) {                                                                       \
                type s[4] = {0, 0, 0, 0}, *to = c + i * p->ldc + j;                                                    \
                for (int64_t q = 0; alpha != 0 && q < p->k; q++) {                                                     \
                    int64_t l = how == BACKWARD ? p->k - 1 - q : q;                                                    \
                    type x = p->op_a == TW_N ? a[i * p->lda + l] : a[l * p->lda + i];                                  \
                    type y = p->op_b == TW_N ? b[l * p->ldb + j] : b[j * p->ldb + l];                                  \
                    type *sum = how == FOUR_SUMS ? &s[q % 4] : s;                                                      \
                    *sum = how == FUSED ? fused(x, y, *sum) : *sum + x * y;                                            \
                }                                                                                                      \
                type all = how == FOUR_SUMS ? (s[0] + s[1]) + (s[2] + s[3]) : s[0];                                    \
                if (alpha == 0 || p->k == 0)                                                                           \
                    *to = beta == 0 ? 0 : beta * *to;                                                                  \
                else if (beta == 0)                                                                                    \
                    *to = alpha * all;                                                                                 \
                else                                                                                                   \
                    *to = how == FUSED ? fused(alpha, all, beta * *to) : alpha * all + beta * *to;                     \
            }                                                                                                          \
    }
MULTIPLY(multiply_f32, float, fmaf)
MULTIPLY(multiply_f64, double, fma)

static inline void multiply(const tw_problem *p, const void *a, const void *b, void *c, manner how)
{
    if (p->dtype == TW_F32)
        multiply_f32(p, a, b, c, how);
    else
        multiply_f64(p, a, b, c, how);
}

static inline double get(const tw_problem *p, const void *c, int64_t i, int64_t j)
{
    return view_at((view){element_of(p->dtype), c, p->ldc, 1}, i, j);
}

static inline void put(const tw_problem *p, void *c, int64_t i, int64_t j, double value)
{
    element_of(p->dtype)->store(c, i * p->ldc + j, 1, &value);
}

static inline tw_problem padded(tw_dtype dtype, int ops, int64_t m, int64_t n, int64_t k, int64_t pad, double alpha,
                                double beta)
{
    tw_problem p = tw_problem_make(dtype, ops & 1 ? TW_T : TW_N, ops & 2 ? TW_T : TW_N, m, n, k);
    p.lda += pad, p.ldb += 2 * pad, p.ldc += 3 * pad;
    p.alpha = alpha, p.beta = beta;
    return p;
}

/* A right product in fresh memory of exactly its size. */
static inline void *right_product(const oracle *o, manner how)
{
    void *c = malloc(oracle_c_bytes(o) + (oracle_c_bytes(o) == 0));
    assert_non_null(c);
    oracle_poison(o, c);
    multiply(&o->problem, o->a, o->b, c, how);
    return c;
}

static inline void make(const tw_problem *p, oracle_kind kind, uint64_t seed, double max_work, oracle *o)
{
    tw_status status = oracle_make(p, kind, seed, max_work, o);
    if (status != TW_OK) fail_msg("oracle_make: %s", o->text);
    assert_string_equal(o->text, "");
}

static inline void assert_passes(const oracle *o, const void *c)
{
    oracle_verdict v = oracle_judge(o, c);
    if (!v.passed) fail_msg("rejected: %s", v.text);
    assert_true(v.error_ratio <= 1);
    assert_string_equal(v.text, "");
}

static inline oracle_verdict assert_rejected(const oracle *o, const void *c)
{
    oracle_verdict v = oracle_judge(o, c);
    assert_false(v.passed);
    assert_true(strlen(v.text) > 10);
    assert_true(v.error_ratio > 1);
    return v;
}

static inline product plain_product(tw_dtype dtype, int64_t k, double alpha, double beta)
{
    tw_problem p = padded(dtype, 0, 1, 1, k, 0, alpha, beta);
    product x;
    double nothing = 0;
    assert_int_equal(product_make(&p, &nothing, &nothing, &nothing, &x), TW_OK);
    return x;
}

#endif
