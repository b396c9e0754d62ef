/* test_lab.c - the judges judged: oracles and verify accept what plain loops compute and reject every fault put there
 * on purpose; exact sums, statistics, roofline numbers and JSON are what they claim to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "busy.h"
#include "element.h"
#include "exact.h"
#include "integers.h"
#include "measure.h"
#include "oracle.h"
#include "record.h"
#include "reference.h"
#include "roofline.h"
#include "units.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

static const tw_dtype dtypes[] = {TW_F32, TW_F64};
static uint64_t draws;

static uint64_t draw(void) { return element_mix(2026, draws++); }

static int64_t draw_below(int64_t limit) { return (int64_t)(draw() % (uint64_t)limit); }

/* ---- plain loops: what a right kernel may do ---- */

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

static void multiply(const tw_problem *p, const void *a, const void *b, void *c, manner how)
{
    if (p->dtype == TW_F32)
        multiply_f32(p, a, b, c, how);
    else
        multiply_f64(p, a, b, c, how);
}

static double get(const tw_problem *p, const void *c, int64_t i, int64_t j)
{
    return view_at((view){element_of(p->dtype), c, p->ldc, 1}, i, j);
}

static void put(const tw_problem *p, void *c, int64_t i, int64_t j, double value)
{
    element_of(p->dtype)->store(c, i * p->ldc + j, 1, &value);
}

static tw_problem padded(tw_dtype dtype, int ops, int64_t m, int64_t n, int64_t k, int64_t pad, double alpha,
                         double beta)
{
    tw_problem p = tw_problem_make(dtype, ops & 1 ? TW_T : TW_N, ops & 2 ? TW_T : TW_N, m, n, k);
    p.lda += pad, p.ldb += 2 * pad, p.ldc += 3 * pad;
    p.alpha = alpha, p.beta = beta;
    return p;
}

/* A right product in fresh memory of exactly its size. */
static void *right_product(const oracle *o, manner how)
{
    void *c = malloc(oracle_c_bytes(o) + (oracle_c_bytes(o) == 0));
    assert_non_null(c);
    oracle_poison(o, c);
    multiply(&o->problem, o->a, o->b, c, how);
    return c;
}

static void make(const tw_problem *p, oracle_kind kind, uint64_t seed, double max_work, oracle *o)
{
    tw_status status = oracle_make(p, kind, seed, max_work, o);
    if (status != TW_OK) fail_msg("oracle_make: %s", o->text);
    assert_string_equal(o->text, "");
}

static void assert_passes(const oracle *o, const void *c)
{
    oracle_verdict v = oracle_judge(o, c);
    if (!v.passed) fail_msg("rejected: %s", v.text);
    assert_true(v.error_ratio <= 1);
    assert_string_equal(v.text, "");
}

static oracle_verdict assert_rejected(const oracle *o, const void *c)
{
    oracle_verdict v = oracle_judge(o, c);
    assert_false(v.passed);
    assert_true(strlen(v.text) > 10);
    assert_true(v.error_ratio > 1);
    return v;
}

/* ---- exact judge ---- */

static product plain_product(tw_dtype dtype, int64_t k, double alpha, double beta)
{
    tw_problem p = padded(dtype, 0, 1, 1, k, 0, alpha, beta);
    product x;
    double nothing = 0;
    assert_int_equal(product_make(&p, &nothing, &nothing, &nothing, &x), TW_OK);
    return x;
}

static exact_verdict judge4(tw_dtype dtype, double alpha, double beta, const double *a, const double *b, double c0,
                            double found)
{
    product x = plain_product(dtype, 4, alpha, beta);
    return exact_judge(&x, a, b, c0, found);
}

static void test_exact_values(void **state)
{
    (void)state;
    const double big[] = {0x1p1000, 0x1p-1000, -0x1p1000, 3}, ones[] = {1, 1, 1, 1}, tiny[] = {0x1p-1074, 0, 0, 0};
    exact_verdict v = judge4(TW_F64, 1, 0, big, ones, 0, 3 + 0x1p-1000);
    assert_true(v.passed);
    assert_true(v.expected == 3);
    v = judge4(TW_F64, -2, 0, big, ones, 0, 0);
    assert_true(v.expected == -6 && v.passed); /* cancellation: the bound is of the size of 2^1000 */
    v = judge4(TW_F64, 0x1p1000, 0, tiny, ones, 0, 0x1p-74);
    assert_true(v.passed && v.ratio == 0 && v.expected == 0x1p-74);
    v = judge4(TW_F64, 0x1p600, 0x1p-600, (double[]){0x1p-1000, 1, 1, 1}, (double[]){0x1p-600, 0, 0, 0}, 0x1p-300,
               0x1p-900);
    assert_true(v.passed); /* the product underflows: alpha times smallest subnormal is allowed */
    v = judge4(TW_F64, 0.5, -3, (double[]){1, 2, 3, 4}, (double[]){5, -6, 7, 8}, 2, 23 - 6);
    assert_true(v.passed && v.expected == 23 - 6 && v.ratio == 0);
    v = judge4(TW_F64, 0.5, -3, (double[]){1, 2, 3, 4}, (double[]){5, -6, 7, 8}, 2, 23 - 6 + 1e-13);
    assert_false(v.passed);
    assert_true(v.ratio > 1 && v.ratio < 100);

    /* against two doubles per sum, on thousands of random products of all sizes */
    enum { K = 300 };
    static double a[K], b[K * LANES], head[K * LANES], tail[K * LANES];
    for (int round = 0; round < 200; round++) {
        for (int p = 0; p < K; p++) {
            a[p] = ldexp(element_uniform(element_of(TW_F64), 1, draw()), (int)draw_below(60) - 30);
            for (int l = 0; l < LANES; l++)
                b[p * LANES + l] = ldexp(element_uniform(element_of(TW_F64), 2, draw()), (int)draw_below(60) - 30);
        }
        split_to(b, K * LANES, head, tail);
        lanes s;
        memset(&s, 0, sizeof s);
        lanes_dot_pair(a, &(lanes_panel){head, tail, NULL}, K, &s);
        product x = plain_product(TW_F64, K, 1, 0);
        double column[K];
        for (int p = 0; p < K; p++) column[p] = b[p * LANES + round % LANES];
        pair sum = pair_sum(s.high[round % LANES], s.low[round % LANES]);
        exact_verdict e = exact_judge(&x, a, column, 0, sum.high);
        assert_true(fabs(e.expected - sum.high) <= 0x1p-52 * fabs(sum.high));
        assert_true(e.passed && e.ratio < 0x1p-1);
        double g = gamma_of(K + 2, 0x1p-53), bound = g * s.mass[round % LANES];
        assert_true(fabs(e.bound / bound - 1) < 1e-9);
    }
}

static void test_exact_classes(void **state)
{
    (void)state;
    const double inf = (double)INFINITY, nan_ = (double)NAN, ones[] = {1, 1, 1, 1};
    const double with_nan[] = {1, nan_, 1, 1}, with_inf[] = {1, inf, 1, 1}, both[] = {1, inf, -inf, 1},
                 zeros[] = {0, 0, 0, 0};
    for (int d = 0; d < COUNT_OF(dtypes); d++) {
        tw_dtype t = dtypes[d];
        double large = element_of(t)->largest;
        const double high[] = {large, large, 1, 1}, cancel[] = {large, large, -large, -large};
        const struct {
            double alpha, beta;
            const double *a, *b;
            double c0;
            int finite, plus, minus, nan; /* allowed? finite: the value 0 */
        } cases[] = {
            {1, 0, with_nan, ones, 7, 0, 0, 0, 1},
            {1, 0, ones, with_inf, 7, 0, 1, 0, 0},
            {-1, 0, ones, with_inf, 7, 0, 0, 1, 0},
            {1, 0, zeros, with_inf, 7, 0, 0, 0, 1},
            {1, 0, both, ones, 7, 0, 0, 0, 1},
            {1, 1, with_inf, ones, -inf, 0, 0, 0, 1},
            {1, 1, with_inf, ones, inf, 0, 1, 0, 0},
            {1, 1, ones, ones, inf, 0, 1, 0, 0},
            {1, -1, ones, ones, inf, 0, 0, 1, 0},
            {1, 1, ones, ones, nan_, 0, 0, 0, 1},
            {1, 0, zeros, ones, nan_, 1, 0, 0, 0}, /* beta 0: C0 is not looked at */
            {0, 1, with_nan, both, 0, 1, 0, 0, 0}, /* alpha 0: neither are A and B */
            {nan_, 0, ones, ones, 0, 0, 0, 0, 1},
            {1, nan_, ones, ones, 0, 0, 0, 0, 1},
            {inf, 0, ones, ones, 0, 0, 1, 0, 0},
            {-inf, 0, ones, ones, 0, 0, 0, 1, 0},
            {inf, 0, zeros, ones, 0, 0, 0, 0, 1},
            {1, inf, ones, ones, 0, 0, 0, 0, 1},
            {1, 0, high, ones, 0, 0, 1, 0, 0}, /* the sum overflows */
            {-1, 0, high, ones, 0, 0, 0, 1, 0},
            {1, 0, cancel, ones, 0, 1, 1, 1, 1}, /* the exact sum is 0; partial sums overflow on either side */
            {large, 0, high, zeros, 0, 1, 0, 0, 0},
            {4, 0, (double[]){large / 8, large / 8, 0, 0}, ones, 0, 0, 1, 0, 0}, /* the largest itself: or infinity */
            {2, -2, (double[]){large / 2, large / 2, 0, 0}, ones, large, 1, 1, 1, 1}, /* separate products overflow */
            {1, 1, (double[]){large / 2, 0, 0, 0}, ones, -large / 2, 1, 0, 0, 0},
            {1, 0, (double[]){large * 0.49, large * 0.5, 0, 0}, ones, 0, 0, 0, 0, 0}, /* near overflow */
            {1, 0, (double[]){large * 0.6, large * -0.5, 0, 0}, ones, 0, 0, 0, 0, 0}, /* nor across signs */
        };
        for (int i = 0; i < COUNT_OF(cases); i++) {
            const double found[] = {0, inf, -inf, nan_};
            const int allowed[] = {cases[i].finite, cases[i].plus, cases[i].minus, cases[i].nan};
            for (int f = 0; f < 4; f++) {
                exact_verdict v = judge4(t, cases[i].alpha, cases[i].beta, cases[i].a, cases[i].b, cases[i].c0,
                                         found[f]);
                if (v.passed != (allowed[f] != 0))
                    fail_msg("dtype %d case %d: %g must %sbe allowed", (int)t, i, found[f], allowed[f] ? "" : "not ");
            }
        }
        exact_verdict v = judge4(t, 4, 0, (double[]){large / 8, large / 8, 0, 0}, ones, 0, large);
        assert_true(v.passed && v.ratio == 0);
    }
}

/* ---- operands ---- */

static void test_operands(void **state)
{
    (void)state;
    for (int d = 0; d < COUNT_OF(dtypes); d++)
        for (int kind = 0; kind < 2; kind++) {
            tw_problem p = padded(dtypes[d], 0, 33, 33, 33, 3, 1, 1), q = padded(dtypes[d], 3, 33, 33, 33, 0, 1, 1);
            oracle o, turned, other;
            make(&p, (oracle_kind)kind, 5, 0, &o);
            make(&q, (oracle_kind)kind, 5, 0, &turned);
            make(&q, (oracle_kind)kind, 6, 0, &other);
            view a = {element_of(p.dtype), o.a, p.lda, 1}, b = {element_of(p.dtype), o.b, p.ldb, 1};
            view a_t = {element_of(p.dtype), turned.a, 1, q.lda}, a_other = {element_of(p.dtype), other.a, 1, q.lda};
            int symmetric = 0, same_as_b = 0, same_as_other = 0;
            for (int64_t i = 0; i < 33; i++)
                for (int64_t j = 0; j < 33; j++) {
                    double v = view_at(a, i, j);
                    if (kind == ORACLE_EXACT)
                        assert_true(v == floor(v));
                    else
                        assert_true(fabs(v) < 1 && v != 0);
                    assert_true(v == view_at(a_t, i, j)); /* op(A) does not depend on op and ld */
                    symmetric += i != j && v == view_at(a, j, i);
                    same_as_b += v == view_at(b, i, j);
                    same_as_other += v == view_at(a_other, i, j);
                }
            assert_true(symmetric < 60 && same_as_b < 60 && same_as_other < 60);
            for (int64_t i = 0; i + 1 < 33; i++)
                for (int64_t j = 33; j < p.ldb; j++) assert_true(isnan(view_at(b, i, j)));
            for (int64_t i = 0; i + 1 < 33; i++)
                for (int64_t j = 33; j < p.ldc; j++) assert_true(isnan(get(&p, o.c0, i, j)));
            assert_true(!isnan(get(&p, o.c0, 32, 32)));
            oracle_free(&o), oracle_free(&turned), oracle_free(&other);

            p.beta = 0;
            p.alpha = 0;
            make(&p, (oracle_kind)kind, 5, 0, &o);
            a.base = o.a;
            assert_true(isnan(get(&p, o.c0, 0, 0)) && isnan(view_at(a, 0, 0)) && isnan(view_at(a, 32, 32)));
            oracle_free(&o);
        }
    for (uint64_t i = 0; i < 100; i++) { /* every bit of the significand is in play */
        double v = element_uniform(element_of(TW_F32), 9, i) * 0x1p24,
               w = element_uniform(element_of(TW_F64), 9, i) * 0x1p53;
        assert_true(fabs(fmod(v, 2)) == 1 && fabs(fmod(w, 2)) == 1);
    }
    float values[1000], again[10];
    oracle_random(TW_F32, 3, 1000, values);
    oracle_random(TW_F32, 3, 10, again);
    assert_memory_equal(values, again, sizeof again);
    double sum = 0, squares = 0;
    for (int i = 0; i < 1000; i++) sum += values[i], squares += values[i] * values[i];
    assert_true(fabs(sum / 1000) < 0.06 && fabs(squares / 1000 - 1 / 3.0) < 0.04);
}

/* ---- oracles ---- */

static const int64_t shapes[][3] = {{1, 1, 1},    {1, 9, 4},    {9, 1, 4},   {5, 7, 1},
                                    {16, 16, 16}, {17, 33, 15}, {31, 8, 70}, {40, 40, 40}};

static void test_oracles_accept(void **state)
{
    (void)state;
    const double scalars[][2] = {{1, 0}, {1, 1}, {-2, 3}, {0.5, -0.25}, {0, 2}, {0, 0}, {3, 0}};
    for (int d = 0; d < COUNT_OF(dtypes); d++)
        for (int s = 0; s < COUNT_OF(shapes); s++)
            for (int ops = 0; ops < 4; ops++)
                for (int ab = 0; ab < COUNT_OF(scalars); ab++)
                    for (int kind = 0; kind < 2; kind++) {
                        tw_problem p = padded(dtypes[d], ops, shapes[s][0], shapes[s][1], shapes[s][2], (s + ops) % 3,
                                              scalars[ab][0], scalars[ab][1]);
                        oracle o;
                        make(&p, (oracle_kind)kind, (uint64_t)s, 0, &o);
                        for (manner how = FORWARD; how < MANNERS; how++) {
                            void *c = right_product(&o, how);
                            assert_passes(&o, c);
                            free(c);
                        }
                        oracle_free(&o);
                    }
    const double odd[][2] = {{1.1, 0},   {0.3, -0.7}, {1e30, 1e-30}, {1e-30, 0},
                             {1e-44, 1}, {3e38, 0},   {1, 3e38},     {1e-60, 2}};
    for (int d = 0; d < COUNT_OF(dtypes); d++) /* alpha and beta that only BOUND can take */
        for (int ab = 0; ab < COUNT_OF(odd); ab++) {
            tw_problem p = padded(dtypes[d], ab % 4, 21, 19, 43, 1, odd[ab][0], odd[ab][1]);
            oracle o;
            make(&p, ORACLE_BOUND, 8, 0, &o);
            for (manner how = FORWARD; how < MANNERS; how++) {
                void *c = right_product(&o, how);
                assert_passes(&o, c);
                free(c);
            }
            oracle_free(&o);
        }
    tw_problem empty[] = {padded(TW_F32, 0, 0, 5, 5, 0, 1, 1), padded(TW_F32, 0, 5, 0, 5, 0, 1, 1),
                          padded(TW_F64, 3, 5, 6, 0, 2, 1, 1), padded(TW_F64, 0, 5, 6, 0, 2, 1, 0),
                          padded(TW_F32, 0, 5, 6, 0, 2, (double)NAN, 2)};
    for (int i = 0; i < COUNT_OF(empty); i++)
        for (int kind = 0; kind < 2; kind++) {
            oracle o;
            make(&empty[i], (oracle_kind)kind, 1, 0, &o);
            void *c = right_product(&o, FORWARD);
            assert_passes(&o, c);
            free(c);
            oracle_free(&o);
        }
}

/* Every way to be wrong, one after another, on a right product; the verdict must name the place. */
static void reject_everything(tw_dtype dtype, oracle_kind kind, int ops, double alpha, double beta)
{
    enum { M = 40, N = 40, K = 37 };
    tw_problem p = padded(dtype, ops, M, N, K, 2, alpha, beta);
    oracle o, older;
    make(&p, kind, 1, 0, &o);
    make(&p, kind, 2, 0, &older);
    void *right = right_product(&o, FORWARD), *old = right_product(&older, FORWARD), *c = malloc(oracle_c_bytes(&o));
    size_t bytes = oracle_c_bytes(&o);
    assert_passes(&o, right);
    oracle_verdict v;
#define AFRESH memcpy(c, right, bytes)
    oracle_poison(&o, c);
    v = assert_rejected(&o, c); /* nothing written */
    assert_non_null(strstr(v.text, "was not written"));
    for (int round = 0; round < 20; round++) {
        int64_t i = draw_below(M), j = draw_below(N);
        double value = get(&p, right, i, j);
        AFRESH, put(&p, c, i, j, (double)NAN);
        v = assert_rejected(&o, c);
        assert_true(v.row == i && v.col == j && isnan(v.found) && isinf(v.error_ratio));
        AFRESH, put(&p, c, i, j, get(&p, o.c0, i, j)); /* one element not written */
        v = assert_rejected(&o, c);
        assert_true(v.row == i && v.col == j);
        AFRESH, put(&p, c, i, j, (double)INFINITY);
        v = assert_rejected(&o, c);
        assert_true(v.row == i && v.col == j && isinf(v.error_ratio));
        if (kind == ORACLE_EXACT) {
            double unit = alpha == 0.5 ? 0.5 : 1;
            AFRESH, put(&p, c, i, j, value + unit);
            v = assert_rejected(&o, c);
            assert_true(v.row == i && v.col == j && v.found == value + unit && v.expected == value);
            double next = dtype == TW_F32 ? (double)nextafterf((float)value, 1e30f) : nextafter(value, 1e300);
            AFRESH, put(&p, c, i, j, next); /* one bit */
            v = assert_rejected(&o, c);
        } else {
            double reference = o.reference[i * N + j], bound = o.bound[i * N + j];
            AFRESH, put(&p, c, i, j, reference + (round % 2 ? 2 : -2) * bound);
            v = assert_rejected(&o, c);
            assert_true(v.row == i && v.col == j && v.error_ratio > 1.5 && v.error_ratio < 2.5);
            assert_true(v.bound == bound && v.expected == reference);
            AFRESH, put(&p, c, i, j, reference + (round % 2 ? 0.5 : -0.5) * bound);
            assert_passes(&o, c);
            AFRESH, put(&p, c, i, j, 0);
            if (fabs(value) > bound) assert_rejected(&o, c);
        }
    }
    AFRESH;
    for (int64_t i = 16; i < 32; i++)
        for (int64_t j = 16; j < 32; j++) put(&p, c, i, j, get(&p, old, i, j));
    v = assert_rejected(&o, c); /* a stale tile */
    assert_true(v.row >= 16 && v.row < 32 && v.col >= 16 && v.col < 32);
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) put(&p, c, i, j, get(&p, right, j, i));
    assert_rejected(&o, c); /* transposed */
    AFRESH;
    for (int64_t j = 0; j < N; j++) put(&p, c, 3, j, get(&p, right, 4, j)), put(&p, c, 4, j, get(&p, right, 3, j));
    v = assert_rejected(&o, c); /* two rows swapped */
    assert_true(v.row == 3 || v.row == 4);
    AFRESH;
    for (int64_t i = 0; i < M; i++) put(&p, c, i, 8, get(&p, right, i, 9)), put(&p, c, i, 9, get(&p, right, i, 8));
    v = assert_rejected(&o, c); /* two columns */
    assert_true(v.col == 8 || v.col == 9);
    AFRESH, put(&p, c, 5, N + 1, 0);
    v = assert_rejected(&o, c); /* padding written */
    assert_true(v.row == 5 && v.col == N + 1 && strstr(v.text, "padding") != NULL);
    AFRESH, put(&p, c, 5, N, (double)NAN);
    assert_rejected(&o, c); /* with another NaN */

    tw_problem wrong = p; /* B's padding read: its rows taken for one element longer or shifted */
    wrong.n = N, wrong.k = K;
    oracle_poison(&o, c);
    wrong.op_a == TW_N ? (void)(wrong.k = K + 1) : (void)0;
    if (wrong.k > K && p.op_b == TW_T) { /* op(B) = B^T: element K of a row is padding; the last row has none */
        wrong.m = M - 1, wrong.n = N - 1;
        multiply(&wrong, o.a, o.b, c, FORWARD);
        v = assert_rejected(&o, c);
        assert_true(isnan(v.found));
        assert_non_null(strstr(v.text, "must not be read"));
    }
    AFRESH;
    wrong = p, wrong.ldb -= 1, wrong.k = K - 2;
    multiply(&wrong, o.a, o.b, c, FORWARD); /* a wrong leading dimension */
    assert_rejected(&o, c);
    oracle_poison(&o, c);
    wrong = p, wrong.k = K - 1;
    multiply(&wrong, o.a, o.b, c, FORWARD); /* the last product forgotten */
    assert_rejected(&o, c);
    if (beta != 0) {
        oracle_poison(&o, c);
        wrong = p, wrong.beta = 0;
        multiply(&wrong, o.a, o.b, c, FORWARD);
        assert_rejected(&o, c);
    }
    free(right), free(old), free(c);
    oracle_free(&o), oracle_free(&older);
#undef AFRESH
}

static void test_oracles_reject(void **state)
{
    (void)state;
    for (int d = 0; d < COUNT_OF(dtypes); d++)
        for (int kind = 0; kind < 2; kind++)
            for (int ops = 0; ops < 4; ops++) {
                reject_everything(dtypes[d], (oracle_kind)kind, ops, 1, 0);
                reject_everything(dtypes[d], (oracle_kind)kind, ops, -2, 1);
                reject_everything(dtypes[d], (oracle_kind)kind, ops, 0.5, 2);
            }
}

static void test_beta_zero_and_alpha_zero(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        tw_problem p = padded(TW_F32, 0, 12, 13, 14, 1, 1, 0);
        oracle o;
        make(&p, (oracle_kind)kind, 1, 0, &o);
        float *c = right_product(&o, FORWARD);
        for (int i = 0; i < 12; i++)
            for (int j = 0; j < 13; j++) c[i * p.ldc + j] += 0 * ((const float *)o.c0)[i * p.ldc + j]; /* beta * C */
        assert_true(isnan(assert_rejected(&o, c).found));
        free(c);
        oracle_free(&o);

        p.alpha = 0, p.beta = 3;
        make(&p, (oracle_kind)kind, 1, 0, &o);
        c = right_product(&o, FORWARD);
        assert_passes(&o, c);
        const float *a = o.a;
        c[p.ldc + 1] += 0 * a[p.lda + 1]; /* alpha * sum although alpha is 0 */
        oracle_verdict v = assert_rejected(&o, c);
        assert_true(v.row == 1 && v.col == 1 && isnan(v.found));
        free(c);
        oracle_free(&o);

        p.beta = 0;
        make(&p, (oracle_kind)kind, 1, 0, &o);
        c = right_product(&o, FORWARD);
        assert_passes(&o, c);
        c[2] = FLT_TRUE_MIN;
        assert_rejected(&o, c);
        c[2] = -0.0f;
        assert_passes(&o, c); /* both zeros are one value */
        free(c);
        oracle_free(&o);
    }
}

static void test_exact_limits(void **state)
{
    (void)state;
    const struct {
        tw_dtype dtype;
        int64_t k;
        double alpha, beta;
        bool holds;
    } cases[] = {{TW_F32, 1 << 24, 1, 0, true},
                 {TW_F32, (1 << 24) + 1, 1, 0, false},
                 {TW_F32, 1 << 20, 17, 0, false},
                 {TW_F32, 1 << 20, 16, 0, true},
                 {TW_F32, 100, 0.1, 0, false},
                 {TW_F32, 100, 0x1p-120, 0, true},
                 {TW_F32, 100, 0x1p-150, 0, true /* is 0 */},
                 {TW_F32, 100, 0x1p120, 0, false},
                 {TW_F32, 100, 1, 0x1p-18, false},
                 {TW_F32, 100, 1, 0x1p-17, true},
                 {TW_F64, 1 << 24, 1, 1, true},
                 {TW_F32, 100, 1, 0, true},
                 {TW_F64, 100, 1, 0, true},
                 {TW_F32, 100, 0.5, 0.25, true},
                 {TW_F64, 100, 0.1, 0, false},
                 {TW_F64, 100, (double)INFINITY, 0, false},
                 {TW_F32, 100, 1, (double)NAN, false}};
    for (int i = 0; i < COUNT_OF(cases); i++) {
        tw_problem p = padded(cases[i].dtype, 0, 1, 1, cases[i].k, 0, cases[i].alpha, cases[i].beta);
        oracle o;
        tw_status status = oracle_make(&p, ORACLE_EXACT, 1, 0, &o);
        if ((status == TW_OK) != cases[i].holds) fail_msg("case %d: %d %s", i, (int)status, o.text);
        if (status == TW_OK) {
            /* the integers are not too large */
            double most = 0, room = dtypes[0] == cases[i].dtype ? 0x1p24 : 0x1p53;
            for (int64_t q = 0; q < p.k; q++)
                most = fmax(most, fabs(view_at((view){element_of(p.dtype), o.a, 1, 1}, 0, q)));
            assert_true(isnan(most) || (double)p.k * most * most <= room);
            void *c = right_product(&o, FOUR_SUMS);
            assert_passes(&o, c);
            free(c);
        } else {
            assert_int_equal(status, TW_BAD_ARGUMENT);
            assert_true(strlen(o.text) > 0);
        }
        oracle_free(&o);
    }
    tw_problem bad = tw_problem_make(TW_F32, TW_N, TW_N, 4, 4, 4);
    oracle o;
    bad.ldc = 3;
    assert_int_equal(oracle_make(&bad, ORACLE_BOUND, 1, 0, &o), TW_BAD_ARGUMENT);
    bad.ldc = 4, bad.m = -1;
    assert_int_equal(oracle_make(&bad, ORACLE_BOUND, 1, 0, &o), TW_BAD_ARGUMENT);
    bad.m = 4, bad.dtype = (tw_dtype)99;
    assert_int_equal(oracle_make(&bad, ORACLE_BOUND, 1, 0, &o), TW_BAD_ARGUMENT);
    bad.dtype = TW_F32, bad.m = bad.n = bad.ldc = INT64_C(1) << 40;
    assert_int_equal(oracle_make(&bad, ORACLE_BOUND, 1, 0, &o), TW_BAD_ARGUMENT);
#ifndef __SANITIZE_ADDRESS__                                                          /* it ends the process instead */
    bad = tw_problem_make(TW_F32, TW_N, TW_N, INT64_C(1) << 28, INT64_C(1) << 28, 4); /* 2^58 bytes: no such memory */
    assert_int_equal(oracle_make(&bad, ORACLE_BOUND, 1, 0, &o), TW_NO_MEMORY);
#endif
}

/* A kernel that keeps fewer bits than it should (here 11 of 24) or loses tiny values: BOUND must see it. */
static void test_bound_sees_lossy(void **state)
{
    (void)state;
    tw_problem p = padded(TW_F32, 0, 30, 30, 9, 0, 1, 0);
    oracle o;
    make(&p, ORACLE_BOUND, 3, 0, &o);
    float *c = right_product(&o, FORWARD), *a = o.a;
    for (int64_t i = 0; i < 30 * 9; i++) { /* operands cut to 11 bits, as TF32 does */
        uint32_t bits;
        memcpy(&bits, a + i, sizeof bits);
        bits &= 0xffffe000u;
        memcpy(a + i, &bits, sizeof bits);
    }
    multiply(&p, a, o.b, c, FORWARD);
    assert_true(assert_rejected(&o, c).error_ratio > 100);
    free(c);
    oracle_free(&o);

    p.alpha = 1e-37; /* results near 2^-123, many subnormal */
    make(&p, ORACLE_BOUND, 3, 0, &o);
    c = right_product(&o, FUSED);
    assert_passes(&o, c);
    int flushed = 0;
    for (int64_t i = 0; i < 900; i++)
        if (fabsf(c[i]) < FLT_MIN) c[i] = 0, flushed++;
    assert_true(flushed > 5);
    assert_rejected(&o, c); /* flush to zero */
    free(c);
    oracle_free(&o);

    p.alpha = 0x1p-140;
    make(&p, ORACLE_EXACT, 3, 0, &o);
    c = right_product(&o, FUSED);
    assert_passes(&o, c);
    c[7] = 0;
    oracle_verdict v = assert_rejected(&o, c);
    assert_true(v.col == 7 && v.expected != 0);
    free(c);
    oracle_free(&o);

    /* |alpha| > 1 and products that underflow: a right kernel is off by alpha k times half the smallest subnormal. With
     * the term (k + 1) smallest of the header such results would be rejected. */
    tw_problem q = padded(TW_F32, 0, 1, 1, 2, 0, 0x1p100, 0);
    product x;
    const float fa[] = {0x1p-75f, 0x1p-75f}, fb[] = {0x1.8p-74f, 0x1.8p-75f};
    assert_int_equal(product_make(&q, fa, fb, NULL, &x), TW_OK);
    const double da[] = {fa[0], fa[1]}, db[] = {fb[0], fb[1]};
    float result;
    multiply_f32(&q, fa, fb, &result, FORWARD);
    exact_verdict e = exact_judge(&x, da, db, 0, result);
    assert_true(e.passed);
    assert_true(fabs(result - e.expected) > x.g_sum * 0x1p100 * (da[0] * db[0] + da[1] * db[1]) + 3 * 0x1p-149);
}

static void test_sampled_rows(void **state)
{
    (void)state;
    enum { M = 300, N = 20, K = 30 };
    for (int d = 0; d < COUNT_OF(dtypes); d++)
        for (int kind = 0; kind < 2; kind++) {
            tw_problem p = padded(dtypes[d], 0, M, N, K, 1, 1, 1);
            oracle o;
            make(&p, (oracle_kind)kind, 1, 1, &o);
            assert_int_equal(o.row_count, 8);
            const int64_t first[] = {0, 15, 16, 63, 64, 127, 128, 299};
            assert_memory_equal(o.rows, first, sizeof first);
            oracle_free(&o);
            make(&p, (oracle_kind)kind, 1, 40.0 * N * K + 1, &o);
            assert_int_equal(o.row_count, 40);
            for (int64_t r = 1; r < 40; r++) assert_true(o.rows[r] > o.rows[r - 1]);
            void *c = right_product(&o, FORWARD);
            assert_passes(&o, c);
            assert_true(oracle_judge(&o, c).sampled);
            for (int64_t r = 0; r < 40; r++) {
                double value = get(&p, c, o.rows[r], r % N);
                put(&p, c, o.rows[r], r % N, value + 1);
                oracle_verdict v = assert_rejected(&o, c);
                assert_true(v.row == o.rows[r] && v.col == r % N && v.sampled);
                put(&p, c, o.rows[r], r % N, value);
            }
            int64_t unsampled = 1;
            for (int64_t r = 0; r < 40; r++) unsampled += o.rows[r] == unsampled;
            put(&p, c, unsampled, 2, get(&p, c, unsampled, 2) + 1);
            assert_passes(&o, c); /* that is what sampled means; */
            put(&p, c, unsampled, 2, (double)NAN);
            assert_rejected(&o, c); /* but NaN and what is too large is seen */
            put(&p, c, unsampled, 2, 1e30);
            assert_rejected(&o, c);
            free(c);
            oracle_free(&o);
            make(&p, (oracle_kind)kind, 1, (double)M * N * K, &o);
            assert_null(o.rows);
            oracle_free(&o);
        }
}

static void test_oracle_special_scalars(void **state)
{
    (void)state;
    const double inf = (double)INFINITY, nan_ = (double)NAN;
    const double scalars[][2] = {{nan_, 0}, {1, nan_},    {inf, 0},   {-inf, 1},
                                 {1, inf},  {3e38, 3e38}, {1e300, 0}, {1, -1e300}};
    for (int d = 0; d < COUNT_OF(dtypes); d++)
        for (int i = 0; i < COUNT_OF(scalars); i++) {
            tw_problem p = padded(dtypes[d], 1, 9, 8, 40, 1, scalars[i][0], scalars[i][1]);
            oracle o;
            make(&p, ORACLE_BOUND, 4, 0, &o);
            void *c = right_product(&o, FUSED);
            assert_passes(&o, c);
            double value = get(&p, c, 4, 4);
            if (!isfinite(value)) {
                put(&p, c, 4, 4, 1);
                oracle_verdict v = assert_rejected(&o, c);
                assert_true(v.row == 4 && v.col == 4);
            }
            if (isinf(value)) {
                put(&p, c, 4, 4, -value);
                assert_rejected(&o, c);
            }
            free(c);
            oracle_free(&o);
        }
}

/* ---- verify ---- */

typedef struct given {
    oracle o;
    void *c;
} given;

static given given_product(tw_dtype dtype, int ops, int64_t m, int64_t n, int64_t k, double alpha, double beta)
{
    given g;
    tw_problem p = padded(dtype, ops, m, n, k, 1, alpha, beta);
    make(&p, ORACLE_BOUND, draw(), 1, &g.o); /* its own reference is not used */
    g.c = right_product(&g.o, (manner)draw_below(MANNERS));
    return g;
}

static void given_free(given *g)
{
    free(g->c);
    oracle_free(&g->o);
}

static verify_report verify(const given *g, int vectors, int64_t samples)
{
    verify_report r;
    verify_options options = {.seed = draw(), .vectors = vectors, .samples = samples};
    const void *c0 = g->o.problem.beta != 0 ? g->o.c0 : NULL;
    assert_int_equal(verify_product(&g->o.problem, g->o.a, g->o.b, c0, g->c, &options, &r), TW_OK);
    return r;
}

static void assert_verified(const given *g)
{
    const int64_t samples[] = {1, 50, 0};
    for (int s = 0; s < 3; s++) {
        verify_report r = verify(g, s == 1 ? 5 : 0, samples[s]);
        if (!r.passed) fail_msg("verify rejected a right product: %s", r.text);
        assert_true(r.row_ratio <= 1 && r.element_ratio <= 1 && r.failed_rows == 0);
        assert_int_equal(r.unchecked, 0);
        assert_string_equal(r.text, "");
    }
}

static const int64_t verify_shapes[][3] = {{1, 1, 1},       {7, 5, 3},   {100, 77, 55},
                                           {257, 129, 300}, {3, 400, 2}, {400, 2, 3}};

static void test_verify_accepts(void **state)
{
    (void)state;
    const double scalars[][2] = {{1, 0}, {-0.7, 1}, {0, 3}, {0, 0}, {1e-30, 1e30}, {1e20, 1e-3}};
    for (int d = 0; d < COUNT_OF(dtypes); d++)
        for (int s = 0; s < COUNT_OF(verify_shapes); s++)
            for (int i = 0; i < COUNT_OF(scalars); i++) {
                given g = given_product(dtypes[d], (s + i) % 4, verify_shapes[s][0], verify_shapes[s][1],
                                        verify_shapes[s][2], scalars[i][0], scalars[i][1]);
                assert_verified(&g);
                given_free(&g);
            }
    tw_problem empty[] = {padded(TW_F32, 0, 0, 3, 3, 0, 1, 0), padded(TW_F32, 0, 3, 0, 3, 0, 1, 0),
                          padded(TW_F64, 0, 3, 3, 0, 0, 1, 2)};
    for (int i = 0; i < COUNT_OF(empty); i++) {
        verify_report r;
        double c0[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, c[9];
        for (int j = 0; j < 9; j++) c[j] = 2 * c0[j];
        assert_int_equal(verify_product(&empty[i], NULL, NULL, c0, c, NULL, &r), TW_OK);
        assert_true(r.passed);
    }
    verify_report r;
    tw_problem p = padded(TW_F32, 0, 2, 2, 2, 0, 1, 1);
    float x[4] = {0};
    assert_int_equal(verify_product(&p, x, x, NULL, x, NULL, &r), TW_BAD_ARGUMENT); /* beta without C0 */
    assert_int_equal(verify_product(&p, NULL, x, x, x, NULL, &r), TW_BAD_ARGUMENT);
    assert_int_equal(verify_product(&p, x, x, x, NULL, NULL, &r), TW_BAD_ARGUMENT);
    assert_int_equal(verify_product(&p, x, x, x, x, &(verify_options){.vectors = -1}, &r), TW_BAD_ARGUMENT);
    assert_false(r.passed);
}

static void test_verify_detects(void **state)
{
    (void)state;
    for (int d = 0; d < COUNT_OF(dtypes); d++)
        for (int s = 0; s < COUNT_OF(verify_shapes); s++) {
            const int64_t *shape = verify_shapes[s];
            int rounds = shape[0] * shape[1] > 5000 ? 12 : 30;
            for (int round = 0; round < rounds; round++) {
                given g = given_product(dtypes[d], round % 4, shape[0], shape[1], shape[2], round % 3 ? 1.25 : -3,
                                        round % 2 ? 0.5 : 0);
                const tw_problem *p = &g.o.problem;
                int64_t i = draw_below(p->m), j = draw_below(p->n), samples = 1;
                double value = get(p, g.c, i, j), bound = verify(&g, 0, samples).worst_row_bound;
                assert_true(bound > 0);

                put(p, g.c, i, j, value + (round % 2 ? 10 : -10) * bound); /* ten times the sum of its row's bounds */
                verify_report r = verify(&g, 1, samples);                  /* one vector is enough */
                assert_false(r.passed);
                assert_true(r.row == i && r.col == j && r.failed_rows == 1 && r.row_ratio > 1);
                assert_true(r.found == get(p, g.c, i, j) && fabs(r.expected - value) <= bound);
                char place[64];
                snprintf(place, sizeof place, "C[%lld, %lld] is ", (long long)i, (long long)j);
                assert_true(strncmp(r.text, place, strlen(place)) == 0);

                put(p, g.c, i, j, (double)NAN);
                r = verify(&g, 1, samples);
                assert_false(r.passed);
                assert_true(r.row == i && r.col == j && isnan(r.found) && r.failed_rows == 1);
                put(p, g.c, i, j, round % 2 ? (double)INFINITY : -(double)INFINITY);
                r = verify(&g, 1, samples);
                assert_false(r.passed);
                assert_true(r.row == i && r.col == j && isinf(r.found));

                put(p, g.c, i, j, value);
                assert_true(verify(&g, 1, samples).passed);
                int64_t i2 = draw_below(p->m), j2 = draw_below(p->n);
                double other = get(p, g.c, i2, j2);
                if (fabs(value - other) > 10 * bound) { /* two elements swapped */
                    put(p, g.c, i, j, other), put(p, g.c, i2, j2, value);
                    assert_false(verify(&g, i == i2 ? 32 : 1, samples).passed);
                }
                given_free(&g);
            }
        }
}

static void test_verify_wholesale_faults(void **state)
{
    (void)state;
    for (int d = 0; d < COUNT_OF(dtypes); d++) {
        given g = given_product(dtypes[d], 0, 120, 120, 90, 1, 0),
              old = given_product(dtypes[d], 0, 120, 120, 90, 1, 0);
        tw_problem *p = &g.o.problem;
        void *right = malloc(oracle_c_bytes(&g.o));
        memcpy(right, g.c, oracle_c_bytes(&g.o));
        for (int64_t i = 32; i < 48; i++)
            for (int64_t j = 64; j < 80; j++) put(p, g.c, i, j, get(p, old.c, i, j));
        verify_report r = verify(&g, 0, 1); /* a stale tile */
        assert_false(r.passed);
        assert_int_equal(r.failed_rows, 16);
        assert_true(r.row >= 32 && r.row < 48 && r.col >= 64 && r.col < 80);
        assert_non_null(strstr(r.text, "16 of 120 rows are wrong"));
        for (int64_t i = 0; i < 120; i++)
            for (int64_t j = 0; j < 120; j++) put(p, g.c, i, j, get(p, right, j, i));
        assert_int_equal(verify(&g, 0, 1).failed_rows, 120); /* transposed */
        memcpy(g.c, right, oracle_c_bytes(&g.o));
        p->alpha = 1.01; /* the wrong scalar */
        assert_int_equal(verify(&g, 0, 1).failed_rows, 120);
        p->alpha = 1;
        for (int64_t i = 0; i < 120; i++)
            for (int64_t j = 0; j < 120; j++) put(p, g.c, i, j, (double)NAN);
        r = verify(&g, 0, 1);
        assert_true(!r.passed && r.failed_rows == 120);
        memcpy(g.c, right, oracle_c_bytes(&g.o));

        /* several elements wrong at once: the worst is named */
        double bound = verify(&g, 0, 1).worst_row_bound;
        for (int64_t i = 10; i < 60; i += 10) put(p, g.c, i, i + 1, get(p, right, i, i + 1) + 20 * bound);
        put(p, g.c, 77, 3, get(p, right, 77, 3) - 5000 * bound);
        r = verify(&g, 0, 1);
        assert_true(!r.passed && r.row == 77 && r.col == 3 && r.failed_rows == 6);
        memcpy(g.c, right, oracle_c_bytes(&g.o));

        /* an error far below its row's bound, but above its own: its row's residual stands out */
        double own_bound = verify(&g, 0, 1).worst_element_bound;
        for (int round = 0; round < 20; round++) {
            int64_t i = draw_below(120), j = draw_below(120);
            put(p, g.c, i, j, get(p, right, i, j) + 2 * own_bound);
            r = verify(&g, 0, 1);
            assert_true(!r.passed && r.row == i && r.col == j && r.failed_rows == 1 && r.row_ratio < 1);
            double element_bound = r.bound;
            put(p, g.c, i, j, get(p, right, i, j) + 1.1 * element_bound);
            r = verify(&g, 0, 1);
            assert_true(!r.passed && r.row == i && r.col == j && r.element_ratio > 1 && r.element_ratio < 1.2);
            put(p, g.c, i, j, get(p, right, i, j) + 0.9 * element_bound);
            assert_true(verify(&g, 0, 1).passed);
            put(p, g.c, i, j, get(p, right, i, j));
        }
        p->n = 40; /* samples >= m n: all are recomputed */
        put(p, g.c, 11, 12, get(p, right, 11, 12) + 2 * own_bound);
        r = verify(&g, 1, 120 * 40);
        assert_true(!r.passed && r.row == 11 && r.col == 12 && r.elements == 120 * 40);
        free(right);
        given_free(&g), given_free(&old);
    }
}

/* One wrong element in an ordinary row, amid rows with few products, whose residuals are a large share of their bounds,
 * and rows that cancel, whose residuals are large beside their elements. */
static void test_verify_uneven_rows(void **state)
{
    (void)state;
    enum { M = 60, N = 1000, K = 90 };
    for (int d = 0; d < COUNT_OF(dtypes); d++) {
        given g = given_product(dtypes[d], 0, M, N, K, 1, 0);
        const tw_problem *p = &g.o.problem;
        tw_problem a_shape = *p, b_shape = *p;
        a_shape.ldc = p->lda, b_shape.ldc = p->ldb;
        for (int64_t q = 1; q < K; q += 2)
            for (int64_t j = 0; j < N; j++) put(&b_shape, g.o.b, q, j, get(&b_shape, g.o.b, q - 1, j));
        for (int64_t i = 0; i < 20; i++)
            for (int64_t q = 0; q < K; q++)
                if (q != i) put(&a_shape, g.o.a, i, q, 0);
        for (int64_t i = 20; i < 40; i++)
            for (int64_t q = 1; q < K; q += 2) put(&a_shape, g.o.a, i, q, -get(&a_shape, g.o.a, i, q - 1));
        multiply(p, g.o.a, g.o.b, g.c, FUSED);
        verify_report r = verify(&g, 0, 1);
        assert_true(r.passed);
        double value = get(p, g.c, 50, 700);
        put(p, g.c, 50, 700, value + 2 * r.worst_element_bound);
        r = verify(&g, 0, 1);
        assert_true(!r.passed && r.row == 50 && r.col == 700 && r.row_ratio < 1);
        put(p, g.c, 50, 700, value);
        for (int64_t i = 7; i < 40; i += 20) { /* and one in such a row */
            product x;
            double a[K], b[K];
            assert_int_equal(product_make(p, g.o.a, g.o.b, NULL, &x), TW_OK);
            view_load(x.a, i, 1, 0, K, a, K), view_load(view_turned(x.b), 3, 1, 0, K, b, K);
            value = get(p, g.c, i, 3);
            put(p, g.c, i, 3, value + 2 * exact_judge(&x, a, b, 0, value).bound);
            r = verify(&g, 0, 1);
            assert_true(!r.passed && r.row == i && r.col == 3 && r.row_ratio < 1);
            put(p, g.c, i, 3, value);
        }
        given_free(&g);
    }
}

/* Two implementations that share nothing but the formula, and the formula written out a third time here. */
static void test_bounds_agree(void **state)
{
    (void)state;
    enum { M = 12, N = 9, K = 50 };
    for (int d = 0; d < COUNT_OF(dtypes); d++) {
        tw_problem p = padded(dtypes[d], d + 1, M, N, K, 1, -1.75, 0.3);
        oracle o;
        product x;
        make(&p, ORACLE_BOUND, 12, 0, &o);
        assert_int_equal(product_make(&p, o.a, o.b, o.c0, &x), TW_OK);
        double u = dtypes[d] == TW_F32 ? 0x1p-24 : 0x1p-53, row_bounds[M] = {0}, most = 0;
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++) {
                double a[K], b[K], c0 = get(&p, o.c0, i, j), mass = 0, reference = o.reference[i * N + j];
                view_load(x.a, i, 1, 0, K, a, K);
                view_load(view_turned(x.b), j, 1, 0, K, b, K);
                for (int q = 0; q < K; q++) mass += fabs(a[q] * b[q]);
                double bound = 1.75 * (K + 2) * u / (1 - (K + 2) * u) * mass + 2 * u / (1 - 2 * u) * fabs(x.beta * c0);
                exact_verdict e = exact_judge(&x, a, b, c0, reference);
                assert_true(e.bound >= bound * (1 - 1e-12) && e.bound <= bound * (1 + 1e-9));
                assert_true(o.bound[i * N + j] >= bound * (1 - 1e-12) && o.bound[i * N + j] <= bound * (1 + 1e-6));
                row_bounds[i] += e.bound;
                double error = e.ratio * e.bound; /* of the reference's first double; the second must be that error */
                if (dtypes[d] == TW_F64)
                    assert_true(fabs(error - fabs(o.reference[(M + i) * N + j])) <= 1e-12 * error + 1e-30);
                else
                    assert_true(error <= 1e-14 * mass);
            }
        for (uint64_t seed = 0; seed < 20; seed++) { /* and the oracle's error is the exact one */
            tw_problem one = padded(dtypes[d], 0, 1, 1, 3, 0, 1, 0);
            oracle small;
            make(&one, ORACLE_BOUND, seed, 0, &small);
            void *c = right_product(&small, FORWARD);
            assert_int_equal(product_make(&one, small.a, small.b, small.c0, &x), TW_OK);
            double a[3], b[3];
            view_load(x.a, 0, 1, 0, 3, a, 3), view_load(x.b, 0, 3, 0, 1, b, 1);
            exact_verdict e = exact_judge(&x, a, b, 0, get(&one, c, 0, 0));
            assert_true(fabs(oracle_judge(&small, c).error_ratio - e.ratio) <= 1e-7);
            free(c);
            oracle_free(&small);
        }
        for (int64_t i = 0; i < M; i++) most = row_bounds[i] > most ? row_bounds[i] : most;
        given g = {o, right_product(&o, FORWARD)};
        verify_report r = verify(&g, 0, 1);
        assert_true(r.worst_row_bound >= most * (1 - 1e-12) && r.worst_row_bound <= most * (1 + 1e-6));
        given_free(&g);
    }
    /* The bound is sharp: additions that all round the same way come near to it, and stay below. */
    enum { LONG = 2000 };
    static float a[LONG], b[LONG];
    static double da[LONG], db[LONG];
    for (int q = 0; q < LONG; q++) a[q] = 1, b[q] = q == 0 ? 1 : 0x1.0002p-24f;
    for (int q = 0; q < LONG; q++) da[q] = a[q], db[q] = b[q];
    product x = plain_product(TW_F32, LONG, 1, 0);
    float sum = 0;
    for (int q = 0; q < LONG; q++) sum += a[q] * b[q];
    exact_verdict e = exact_judge(&x, da, db, 0, sum);
    assert_true(e.passed && e.ratio > 0.99);
}

static double *progress_log;
static int progress_count;

static void log_progress(void *context, double fraction)
{
    assert_ptr_equal(context, &progress_log);
    assert_true(progress_count == 0 || fraction >= progress_log[progress_count - 1]);
    assert_true(fraction >= 0 && fraction <= 1 && progress_count < 10000);
    progress_log[progress_count++] = fraction;
}

static void test_verify_progress(void **state)
{
    (void)state;
    given g = given_product(TW_F32, 0, 100, 50, 40, 1, 0);
    verify_options options = {.samples = 10, .progress = log_progress, .progress_context = &progress_log};
    verify_report r;
    progress_log = calloc(10000, sizeof *progress_log);
    assert_non_null(progress_log);
    assert_int_equal(verify_product(&g.o.problem, g.o.a, g.o.b, NULL, g.c, &options, &r), TW_OK);
    assert_true(r.passed && r.vectors == 32 && progress_count > 10 && progress_log[progress_count - 1] == 1);
    free(progress_log);
    given_free(&g);
}

/* Put NaN and infinities into the operands, recompute C with plain loops, and see that every change of class is
 * noticed. */
static void test_verify_special_values(void **state)
{
    (void)state;
    const double inf = (double)INFINITY, nan_ = (double)NAN;
    for (int d = 0; d < COUNT_OF(dtypes); d++)
        for (int ops = 0; ops < 4; ops++)
            for (int mix = 0; mix < 6; mix++) {
                given g = given_product(dtypes[d], ops, 60, 50, 40, 1.5, mix == 5 ? -2 : mix % 2);
                const tw_problem *p = &g.o.problem;
                const element *e = element_of(p->dtype);
                tw_problem a_shape = *p, b_shape = *p;
                a_shape.ldc = p->lda, b_shape.ldc = p->ldb;
#define PUT_A(i, q, value) put(&a_shape, g.o.a, p->op_a == TW_N ? (i) : (q), p->op_a == TW_N ? (q) : (i), value)
#define PUT_B(q, j, value) put(&b_shape, g.o.b, p->op_b == TW_N ? (q) : (j), p->op_b == TW_N ? (j) : (q), value)
                if (mix == 0 || mix == 3) PUT_A(7, 3, nan_);
                if (mix == 1 || mix >= 3) PUT_A(9, 4, inf), PUT_A(10, 5, -inf), PUT_A(10, 6, -inf);
                if (mix == 1 || mix == 3) PUT_B(4, 11, 0.0); /* 0 * inf */
                if (mix == 2 || mix == 3) PUT_B(8, 20, nan_);
                if (mix == 2 || mix == 3) PUT_B(2, 21, inf), PUT_B(3, 21, inf), PUT_B(1, 22, -inf);
                if (mix == 4) PUT_B(4, 30, inf), PUT_A(12, 1, -inf);
                if (p->beta != 0) put(p, g.o.c0, 30, 31, inf), put(p, g.o.c0, 33, 5, nan_), put(p, g.o.c0, 9, 9, -inf);
                oracle_poison(&g.o, g.c);
                multiply(p, g.o.a, g.o.b, g.c, FORWARD);
                assert_verified(&g);
                int special = 0;
                for (int64_t i = 0; i < p->m; i++)
                    for (int64_t j = 0; j < p->n; j++) {
                        double value = get(p, g.c, i, j);
                        bool crossing = (i == 9 || i == 10) && (j == 9 || j == 11 || (j >= 20 && j <= 22) || j == 30);
                        if (isfinite(value) || (special++ % 31 && !crossing)) continue;
                        const double wrong[] = {1, inf, -inf, nan_, e->largest};
                        for (int w = 0; w < COUNT_OF(wrong); w++) {
                            if (wrong[w] == value || (isnan(wrong[w]) && isnan(value))) continue;
                            put(p, g.c, i, j, wrong[w]);
                            verify_report r = verify(&g, 1, special % 3 == 0 ? 5000 : 1);
                            if (r.passed) fail_msg("%g for %g at %d, %d passed", wrong[w], value, (int)i, (int)j);
                            assert_true(r.row == i && r.col == j && r.failed_rows == 1);
                        }
                        put(p, g.c, i, j, value);
                    }
                assert_true(special > 0);
                double value = get(p, g.c, 50, 45); /* an ordinary element beside them */
                put(p, g.c, 50, 45, value + 10 * verify(&g, 1, 1).worst_row_bound);
                verify_report r = verify(&g, 1, 1);
                assert_true(!r.passed && r.row == 50 && r.col == 45);
                given_free(&g);
            }
}

/* Sums that overflow: infinities are right there, other infinities and finite values are not. */
static void test_verify_overflow(void **state)
{
    (void)state;
    for (int d = 0; d < COUNT_OF(dtypes); d++) {
        given g = given_product(dtypes[d], 0, 70, 66, 30, 1, 0);
        const tw_problem *p = &g.o.problem;
        tw_problem a_shape = *p;
        a_shape.ldc = p->lda;
        double large = element_of(p->dtype)->largest;
        for (int64_t q = 0; q < p->k; q++)
            put(&a_shape, g.o.a, 5, q, large / 3 * (q % 2 ? 1 : 0.5));               /* some overflow */
        for (int64_t q = 0; q < p->k; q++) put(&a_shape, g.o.a, 6, q, large / 1000); /* none does */
        multiply(p, g.o.a, g.o.b, g.c, FORWARD);
        int infinities = 0;
        for (int64_t j = 0; j < p->n; j++) infinities += !isfinite(get(p, g.c, 5, j));
        assert_verified(&g);
        assert_true(isfinite(get(p, g.c, 6, 3)));
        put(p, g.c, 6, 3, get(p, g.c, 6, 3) + large / 1000);
        verify_report r = verify(&g, 1, 1);
        assert_true(!r.passed && r.row == 6 && r.col == 3);
        put(p, g.c, 6, 3, (double)INFINITY);
        assert_false(verify(&g, 1, 1).passed);
        multiply(p, g.o.a, g.o.b, g.c, FORWARD);
        assert_true(infinities > 0);
        given_free(&g);

        g = given_product(dtypes[d], 3, 20, 21, 22, 1, 0); /* every result overflows upwards */
        for (int64_t i = 0; i < 22; i++)
            for (int64_t j = 0; j < 21; j++) {
                tw_problem shape = g.o.problem;
                shape.ldc = shape.lda;
                if (j < 20) put(&shape, g.o.a, i, j, large / 4);
                shape.ldc = shape.ldb;
                put(&shape, g.o.b, j, i, 1.5);
            }
        multiply(&g.o.problem, g.o.a, g.o.b, g.c, FORWARD);
        assert_true(isinf(get(&g.o.problem, g.c, 4, 4)));
        assert_verified(&g);
        const double wrong[] = {-(double)INFINITY, large, 0, (double)NAN};
        for (int w = 0; w < COUNT_OF(wrong); w++) {
            put(&g.o.problem, g.c, 4, 4, wrong[w]);
            r = verify(&g, 2, w % 2 ? 1 : 1000);
            assert_true(!r.passed && r.row == 4 && r.col == 4);
        }
        given_free(&g);
    }
    /* values whose products underflow, and rows of very different sizes */
    for (int d = 0; d < COUNT_OF(dtypes); d++) {
        given g = given_product(dtypes[d], 0, 40, 30, 20, 1, 0);
        const tw_problem *p = &g.o.problem;
        tw_problem a_shape = *p;
        a_shape.ldc = p->lda;
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t q = 0; q < p->k; q++) {
                double value = get(&a_shape, g.o.a, i, q);
                put(&a_shape, g.o.a, i, q, ldexp(value, (dtypes[d] == TW_F32 ? -4 : -27) * (int)i));
            }
        multiply(p, g.o.a, g.o.b, g.c, FUSED);
        assert_verified(&g);
        put(p, g.c, 20, 2, get(p, g.c, 20, 2) * 1.01);
        verify_report r = verify(&g, 1, 1);
        assert_true(!r.passed && r.row == 20 && r.col == 2);
        given_free(&g);
    }
}

static void test_verify_says_what_it_left(void **state)
{
    (void)state;
    enum { N = 540 };
    given g = given_product(TW_F32, 0, N, N, N, 1, 0);
    const tw_problem *p = &g.o.problem;
    for (int64_t i = 0; i < N * p->lda - 1; i++) ((float *)g.o.a)[i] = (float)INFINITY;
    for (int64_t i = 0; i < N * p->ldb - 2; i++) ((float *)g.o.b)[i] = 1;
    for (int64_t i = 0; i < N * p->ldc - 3; i++) ((float *)g.c)[i] = (float)INFINITY;
    verify_report r = verify(&g, 8, 100);
    assert_true(r.passed && r.unchecked > 0 && r.unchecked < N * N);
    assert_non_null(strstr(r.text, "no fault was found, but"));
    for (int64_t i = 0; i < N * p->lda - 1; i++)
        ((float *)g.o.a)[i] = 1e20f; /* rows that overflow, instead of infinities */
    for (int64_t i = 0; i < N * p->ldb - 2; i++) ((float *)g.o.b)[i] = 1e20f;
    r = verify(&g, 1, 100);
    assert_true(r.passed && r.unchecked > 0 && r.unchecked < N * N);
    given_free(&g);

    double b[2] = {0x1p53, 1}, one = 1; /* sums that need both doubles leave no residual */
    tw_problem q = padded(TW_F64, 0, 1, 2, 1, 0, 1, 0);
    assert_int_equal(verify_product(&q, &one, b, NULL, b, NULL, &r), TW_OK);
    assert_true(r.passed && r.row_ratio == 0);
}

/* ---- measure ---- */

typedef struct clockwork {
    double seconds;
    int calls, failing_call, sets_seen;
} clockwork;

static tw_status work_once(void *context, int set, double *seconds)
{
    clockwork *w = context;
    w->sets_seen |= 1 << set;
    *seconds = w->seconds;
    return ++w->calls == w->failing_call ? TW_DEVICE_FAILED : TW_OK;
}

static void test_spread(void **state)
{
    (void)state;
    units_text text;
    assert_string_equal(units_span(1.19e-3, 1.42e-3, 1.2e-3, text), "1.19-1.42");
    assert_string_equal(units_span(0.95e-3, 12.4e-3, 1.2e-3, text), "0.95-12.4"); /* the unit of the median, ms */
    assert_string_equal(units_span(98e-9, 104e-9, 100e-9, text), "98.0-104");
    assert_string_equal(units_span(90, 2000, 1200, text), "90.0-2000");
    assert_string_equal(units_span(NAN, 1, 1, text), "-");
    assert_true(strlen(units_span(1e-9, 1e30, 1e-9, text)) < sizeof text);
}

/* Two processors for ten seconds: 20 s in all, of which 12 s were used, 4 s by this process. */
static void test_busy(void **state)
{
    (void)state;
    busy_reading from = busy_read("cpu  100 0 100 1000 50 0 0 0 0 0\n", 100, 1),
                 to = busy_read("cpu  900 100 300 1800 50 20 30 50 0 0\n", 100, 5);
    assert_true(fabs(busy_share(&from, &to) - 8.0 / 20) < 1e-12);
    assert_true(isnan(busy_share(&from, &from)));
    from.own_s = -100; /* clocks that disagree */
    assert_true(busy_share(&from, &to) == 0);
    from = busy_read("intr 1 2 3\n", 100, 1);
    assert_true(isnan(busy_share(&from, &to)));
}

static void test_measure(void **state)
{
    (void)state;
    double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, twenty[20], hundred[100], one[] = {7};
    measure_result r = measure_summary(odd, 3, 2);
    assert_true(r.samples == 3 && r.repeats == 2 && r.min_s == 1 && r.median_s == 3 && r.p95_s == 5 && r.max_s == 5);
    assert_true(odd[0] == 1 && odd[2] == 5);
    r = measure_summary(even, 4, 1);
    assert_true(r.median_s == 2.5 && r.p95_s == 4);
    for (int i = 0; i < 20; i++) twenty[i] = 20 - i;
    r = measure_summary(twenty, 20, 1);
    assert_true(r.p95_s == 19 && r.max_s == 20 && r.median_s == 10.5);
    for (int i = 0; i < 100; i++) hundred[i] = i + 1;
    assert_true(measure_summary(hundred, 100, 1).p95_s == 95);
    assert_true(measure_summary(one, 1, 1).p95_s == 7);
    assert_true(measure_summary(one, 0, 1).samples == 0);

    clockwork w = {.seconds = 0.5};
    assert_int_equal(measure_run(work_once, &w, NULL, &r), TW_OK);
    assert_true(r.samples == 11 && r.repeats == 1 && r.median_s == 0.5 && w.calls == 1 + 11);
    w = (clockwork){.seconds = 1e-6};
    assert_int_equal(measure_run(work_once, &w, &(measure_options){.samples = 5, .sets = 3}, &r), TW_OK);
    assert_true(r.samples == 5 && r.repeats >= 100 && r.repeats <= 200 && fabs(r.min_s - 1e-6) < 1e-12 &&
                w.sets_seen == 7);
    w = (clockwork){.seconds = 0}; /* a clock too coarse to see the work */
    assert_int_equal(measure_run(work_once, &w, &(measure_options){.samples = 2}, &r), TW_OK);
    assert_true(r.samples == 2 && r.median_s == 0 && r.repeats > 1000);
    w = (clockwork){.seconds = 1};
    assert_int_equal(measure_run(work_once, &w, &(measure_options){.samples = 50, .limit_s = 1e-9}, &r), TW_OK);
    assert_int_equal(r.samples, 3); /* never fewer than 3, */
    assert_int_equal(measure_run(work_once, &w, &(measure_options){.samples = 2, .limit_s = 1e-9}, &r), TW_OK);
    assert_int_equal(r.samples, 2); /* unless fewer were wanted */
    w = (clockwork){.seconds = 11}; /* longer than the 10 s for all: its warm-up is a sample */
    assert_int_equal(measure_run(work_once, &w, &(measure_options){.samples = 1}, &r), TW_OK);
    assert_true(r.samples == 1 && r.repeats == 1 && r.median_s == 11 && w.calls == 1);
    for (int call = 1; call < 6; call++) {
        w = (clockwork){.seconds = 1, .failing_call = call};
        assert_int_equal(measure_run(work_once, &w, NULL, &r), TW_DEVICE_FAILED);
        assert_true(r.samples == 0 && r.median_s == 0 && w.calls == call);
    }
    w = (clockwork){.seconds = (double)NAN};
    assert_int_equal(measure_run(work_once, &w, NULL, &r), TW_DEVICE_FAILED);
    assert_int_equal(measure_run(work_once, &w, &(measure_options){.samples = -1}, &r), TW_BAD_ARGUMENT);
    double before = measure_now_s();
    assert_true(measure_now_s() >= before && before > 0);
}

/* A kind of work that writes down when it ran, and takes what the moment says. */
typedef struct in_turn {
    char name, *log;
    double pace;
} in_turn;

static tw_status work_in_turn(void *context, int set, double *seconds)
{
    in_turn *w = context;
    size_t at = strlen(w->log);
    (void)set;
    if (at < 190) w->log[at] = w->name;
    *seconds = w->pace * (1 + (double)(at / 6)); /* the machine gets slower all the time */
    return TW_OK;
}

/* Two equal kinds of work on a machine that slows down: one after the other they would look different. */
static void test_turns_of_measure(void **state)
{
    (void)state;
    char log[200] = "";
    in_turn a = {'a', log, 1}, b = {'b', log, 1}, c = {'c', log, 0.5};
    measure_work works[] = {{.context = &a}, {.context = &b}, {.context = &c}};
    assert_int_equal(measure_turns(work_in_turn, works, 3, &(measure_options){.samples = 7, .limit_s = 100}), TW_OK);
    /* warm-up and repeats of each; then rounds, another one first each time */
    assert_string_equal(log, "aabbcc"
                             "abcbcacab"
                             "abcbcacab"
                             "abc");
    assert_true(works[0].rounds == 7 && works[1].rounds == 7 && works[1].result.samples == 7 &&
                works[1].result.repeats == 1);
    assert_true(works[0].speed == 1 && !measure_differs(&works[0]));
    assert_false(measure_differs(&works[1]));
    assert_true(works[2].speed > 1.5 && measure_differs(&works[2]));
    memset(log, 0, sizeof log);
    assert_int_equal(measure_turns(work_in_turn, works, 2, &(measure_options){.samples = 50, .limit_s = 1e-9}), TW_OK);
    assert_int_equal(works[0].rounds, 5); /* never fewer than 5, */
    assert_int_equal(measure_turns(work_in_turn, works + 1, 2, &(measure_options){.samples = 4, .limit_s = 1e-9}),
                     TW_OK);
    /* unless fewer were wanted, which say nothing */
    assert_true(works[2].rounds == 4 && works[2].speed > 1.5 && !measure_differs(&works[2]));
    assert_int_equal(measure_turns(work_in_turn, works, 0, NULL), TW_BAD_ARGUMENT);

    static const struct {
        double speed, low, high;
        bool differs;
    } cases[] = {{1.43, 0.7, 1.6, false}, {0.7, 0.6, 1.01, false},    {1.43, 1.2, 1.6, true},
                 {0.7, 0.6, 0.8, true},   {1.015, 1.01, 1.02, false}, {1, 1, 1, false}};
    for (int i = 0; i < COUNT_OF(cases); i++) {
        measure_work w = {
            .rounds = 11, .speed = cases[i].speed, .low_speed = cases[i].low, .high_speed = cases[i].high};
        assert_true(measure_differs(&w) == cases[i].differs);
    }
}

/* ---- roofline ---- */

#define assert_close(x, y) assert_true(fabs((x) / (y)-1) < 1e-12)

static void test_roofline(void **state)
{
    (void)state;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 4096, 4096, 4096);
    assert_true(roofline_flops(&p) == 137438953472.0);
    assert_true(roofline_bytes_asked(&p, 1, 1) == 549755813888.0);
    assert_true(roofline_bytes_asked(&p, 16, 16) == 34359738368.0);
    assert_true(roofline_bytes_asked(&p, 32, 32) == 17179869184.0);
    assert_true(roofline_bytes_asked(&p, 16, 64) == 21474836480.0);
    assert_true(roofline_bytes_asked(&p, 64, 64) == 8589934592.0);
    assert_true(roofline_compulsory_bytes(&p) == 201326592.0);
    p.beta = 1;
    assert_true(roofline_compulsory_bytes(&p) == 201326592.0 + 67108864.0);
    p.beta = 0;
    assert_close(roofline_no_cache_flops(&p, roofline_bytes_asked(&p, 1, 1), 720e9), 180e9);
    assert_close(roofline_no_cache_flops(&p, roofline_bytes_asked(&p, 16, 16), 720e9), 2880e9);
    assert_close(roofline_no_cache_flops(&p, roofline_bytes_asked(&p, 32, 32), 720e9), 5760e9);
    assert_close(roofline_no_cache_flops(&p, roofline_bytes_asked(&p, 16, 64), 720e9), 4608e9);
    assert_close(roofline_no_cache_flops(&p, roofline_bytes_asked(&p, 1, 1), 57.6e9), 14.4e9);
    assert_close(roofline_bound_flops(&p, 9300e9, 720e9), 9300e9);
    assert_close(roofline_bound_flops(&p, 1e18, 720e9), 137438953472.0 / 201326592.0 * 720e9);
    assert_true(isnan(roofline_bound_flops(&p, (double)NAN, 720e9)) && isnan(roofline_bound_flops(&p, 1, (double)NAN)));
    assert_true(isnan(roofline_bytes_asked(&p, 0, 16)));
    tw_problem edge = tw_problem_make(TW_F64, TW_T, TW_N, 17, 33, 10); /* blocks that do not divide */
    assert_true(roofline_bytes_asked(&edge, 16, 16) == 8.0 * (17 * 10 * 3 + 10 * 33 * 2));
    tw_problem skinny = tw_problem_make(TW_F32, TW_N, TW_N, 4096, 4096, 16);
    assert_true(roofline_compulsory_bytes(&skinny) == 67633152.0 && roofline_flops(&skinny) == 536870912.0);
}

/* ---- records ---- */

static char *text_of(void (*write)(FILE *, const void *), const void *value)
{
    static char *text;
    static size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    write(stream, value);
    fclose(stream);
    return text;
}

static void write_string_value(FILE *stream, const void *value) { json_put_text(stream, value); }

static void write_number_value(FILE *stream, const void *value) { json_put_number(stream, *(const double *)value); }

static void write_record_value(FILE *stream, const void *value) { assert_int_equal(record_write(stream, value), 0); }

static void assert_string_json(const char *text, const char *json)
{
    char *written = text_of(write_string_value, text);
    assert_string_equal(written, json);
    free(written);
}

static void assert_number_json(double value, const char *json)
{
    char *written = text_of(write_number_value, &value);
    assert_string_equal(written, json);
    free(written);
}

static void test_json_values(void **state)
{
    (void)state;
    assert_string_json("plain", "\"plain\"");
    assert_string_json(NULL, "null");
    assert_string_json("a\"b\\c\n\t\r\b\f\x01\x1f/", "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\\u001f/\"");
    assert_string_json("\xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e\"");
    assert_string_json(
        "\xff|\xc0\xaf|\xed\xa0\x80|\xf5\x80|\xe2\x82",
        "\"\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|"
        "\xef\xbf\xbd\xef\xbf\xbd\"");
    const char *places[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "C"};
    for (int i = 0; i < COUNT_OF(places); i++) { /* a comma for a decimal point must not get through */
        if (setlocale(LC_NUMERIC, places[i]) == NULL) continue;
        assert_number_json(0.1, "0.1");
        assert_number_json(1 / 3.0, "0.3333333333333333");
        assert_number_json(1e300, "1e+300");
        assert_number_json(-2.5e-10, "-2.5e-10");
        assert_number_json(0, "0");
        assert_number_json(549755813888.0, "549755813888");
        assert_number_json((double)NAN, "null");
        assert_number_json(-(double)INFINITY, "null");
    }
    setlocale(LC_NUMERIC, "C");
}

static void assert_python_reads(const char *json)
{
    char path[] = "/tmp/tilewright_test_XXXXXX", command[256];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, json, strlen(json)), (ssize_t)strlen(json));
    close(fd);
    snprintf(command, sizeof command,
             "command -v python3 >/dev/null || exit 0; python3 -m json.tool <%s >/dev/null 2>&1", path);
    int status = system(command);
    unlink(path);
    assert_int_equal(status, 0);
}

static void test_record(void **state)
{
    (void)state;
    record r = record_blank();
    char *text = text_of(write_record_value, &r);
    assert_non_null(strstr(text, "{\"engine\": null, \"device\": null,"));
    assert_non_null(strstr(text, "\"m\": null"));
    assert_non_null(strstr(text, "\"op_a\": null"));
    assert_non_null(strstr(text, "\"min_s\": null"));
    assert_python_reads(text);
    free(text);

    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, 4096, 4096, 4096);
    r.engine = "cpu", r.device = "a \"quoted\" name\n", r.kernel = "cpu_f32_r01_naive", r.rung = "r01_naive",
    r.dtype = "f32";
    r.m = r.n = r.k = 4096;
    r.op_a = 'n', r.op_b = 't';
    r.median_s = 1, r.error_ratio = (double)INFINITY;
    record_fill_bounds(&r, &p, 1, 1, 9300e9, 720e9);
    assert_close(r.gflops, 137.438953472);
    assert_close(r.no_cache_gflops, 180);
    assert_close(r.bound_gflops, 9300);
    assert_close(r.bound_asked_gflops, 180);
    assert_close(r.fraction_of_bound, 137.438953472 / 9300);
    text = text_of(write_record_value, &r);
    assert_python_reads(text);
    static const char *const names[] = {"engine",
                                        "device",
                                        "kernel",
                                        "rung",
                                        "dtype",
                                        "m",
                                        "n",
                                        "k",
                                        "op_a",
                                        "op_b",
                                        "method",
                                        "min_s",
                                        "median_s",
                                        "p95_s",
                                        "gflops",
                                        "verified",
                                        "error_ratio",
                                        "bytes_asked",
                                        "compulsory_bytes",
                                        "peak_gflops",
                                        "bandwidth_gbps",
                                        "no_cache_gflops",
                                        "bound_gflops",
                                        "fraction_of_bound",
                                        "version",
                                        "lda",
                                        "alpha",
                                        "threads",
                                        "samples",
                                        "block_threads",
                                        "local_bytes",
                                        "occupancy",
                                        "sectors_per_load",
                                        "prepare_s",
                                        "plan",
                                        "refused",
                                        "time"};
    const char *at = text;
    for (int i = 0; i < COUNT_OF(names); i++) { /* each is there, in this order */
        char key[64];
        snprintf(key, sizeof key, "\"%s\": ", names[i]);
        at = strstr(at, key);
        if (at == NULL) fail_msg("%s is missing", names[i]);
    }
    assert_non_null(strstr(text, "\"device\": \"a \\\"quoted\\\" name\\n\""));
    assert_non_null(strstr(text, "\"op_b\": \"t\""));
    assert_non_null(strstr(text, "\"error_ratio\": null"));
    assert_non_null(strstr(text, "\"bytes_asked\": 549755813888,"));
    assert_int_equal(text[strlen(text) - 1], '\n');
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    const char *time_text = strstr(text, "\"time\": \"");
    assert_true(strlen(time_text) == strlen("\"time\": \"2026-11-21T02:16:00Z\"}\n") && time_text[28] == 'Z');
    free(text);

    record_fill_bounds(&r, &p, 0, 0, (double)NAN, 720e9);
    assert_true(isnan(r.bound_gflops) && isnan(r.fraction_of_bound) && isnan(r.bytes_asked));
    FILE *full = fopen("/dev/full", "w");
    if (full != NULL) {
        assert_int_equal(record_write(full, &r), -1);
        fclose(full);
    }
}

/* ---- integers, and a type whose subnormals may be lost ---- */

/* C by 64-bit sums, which hold every one of these. */
static void multiply_i8(const oracle *o, int32_t *c)
{
    const tw_problem *p = &o->problem;
    const int8_t *a = o->a, *b = o->b;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            int64_t sum = 0;
            for (int64_t q = 0; q < p->k; q++)
                sum += (int64_t)a[p->op_a == TW_N ? i * p->lda + q : q * p->lda + i] *
                       b[p->op_b == TW_N ? q * p->ldb + j : j * p->ldb + q];
            int64_t at = i * p->ldc + j,
                    result = (int64_t)p->alpha * sum + (p->beta != 0 ? (int64_t)p->beta * c[at] : 0);
            c[at] = (int32_t)(uint32_t)(uint64_t)result;
        }
}

static void test_integers(void **state)
{
    (void)state;
    const double scalars[][2] = {
        {1, 0}, {-3, 0}, {1, 1}, {100003, -70001}, {0, 5}, {2147483647, 0}, {-2147483648.0, -1}};
    const int64_t sizes[][3] = {{1, 1, 1}, {7, 5, 3}, {40, 77, 300}, {100, 90, 64}};
    for (int s = 0; s < COUNT_OF(sizes); s++)
        for (int i = 0; i < COUNT_OF(scalars); i++)
            for (int kind = ORACLE_EXACT; kind <= ORACLE_BOUND; kind++) {
                tw_problem p = padded(TW_I8, i % 4, sizes[s][0], sizes[s][1], sizes[s][2], i % 3, scalars[i][0],
                                      scalars[i][1]);
                given g;
                tw_status made = oracle_make(&p, (oracle_kind)kind, draw(), 0, &g.o);
                if (kind == ORACLE_EXACT && made == TW_BAD_ARGUMENT) continue; /* it keeps within 2^31 */
                assert_int_equal(made, TW_OK);
                int32_t *c = g.c = malloc(oracle_c_bytes(&g.o));
                oracle_poison(&g.o, c);
                multiply_i8(&g.o, c);
                oracle_verdict verdict = oracle_judge(&g.o, c);
                if (!verdict.passed) fail_msg("the oracle rejected a right product: %s", verdict.text);
                assert_verified(&g);
                int64_t at = (int64_t)draw_below((uint32_t)p.m) * p.ldc + (int64_t)draw_below((uint32_t)p.n);
                c[at] = (int32_t)((uint32_t)c[at] ^ UINT32_C(1) << draw_below(32));
                verdict = oracle_judge(&g.o, c);
                assert_true(!verdict.passed && verdict.row * p.ldc + verdict.col == at);
                assert_true(!verify(&g, 0, 1).passed && verify(&g, 0, 1).failed_rows == 1);
                given_free(&g);
            }
    tw_problem odd[] = {padded(TW_I8, 0, 2, 2, 2, 0, 0.5, 0), padded(TW_I8, 0, 2, 2, 2, 0, 1, 0x1p31),
                        padded(TW_I8, 0, 2, 2, 2, 0, (double)NAN, 0)};
    for (int i = 0; i < COUNT_OF(odd); i++) {
        oracle o;
        assert_int_equal(oracle_make(&odd[i], ORACLE_BOUND, 1, 0, &o), TW_BAD_ARGUMENT);
    }
    assert_true(element_wrap(0x1p31, 0) == -0x1p31 && element_wrap(-0x1p31, -1) == 0x1p31 - 1 &&
                element_wrap(0x1p60, 5) == 5 && element_wrap(-7, 0) == -7);
}

/* A bf16 below 2^-126 may count as 0 and may not: verify accepts both, and no more than that. */
static void test_flushed_operands(void **state)
{
    (void)state;
    const uint16_t a[2] = {0x3f80, 0x0060}, b[2] = {0x3f80, 0x4f00}; /* 1, 1.5 x 2^-127; 1, 2^31 */
    tw_problem p = tw_problem_make(TW_BF16, TW_N, TW_N, 1, 1, 2);
    p.alpha = 0x1p100; /* else the lost product is nothing beside the rounding */
    const float whole = 0x1p100f * (1 + 0x1.8p-96f), wrong = 0x1p100f * 1.001f;
    verify_report r;
    const uint16_t small_a[2] = {0, 0x0060};
    const float kept = 0x1.8p4f, flushed = 0;
    assert_int_equal(verify_product(&p, a, b, NULL, &whole, NULL, &r), TW_OK);
    assert_true(r.passed);
    assert_int_equal(verify_product(&p, a, b, NULL, &wrong, NULL, &r), TW_OK);
    assert_false(r.passed);
    assert_int_equal(verify_product(&p, small_a, b, NULL, &kept, NULL, &r), TW_OK);
    assert_true(r.passed);
    assert_int_equal(verify_product(&p, small_a, b, NULL, &flushed, NULL, &r), TW_OK);
    assert_true(r.passed);
    const float twice = 0x1.8p7f;
    assert_int_equal(verify_product(&p, small_a, b, NULL, &twice, NULL, &r), TW_OK);
    assert_false(r.passed);
}

/* Items of a batch as plain loops compute them, in doubles, which hold every sum. */
static void multiply_integers(const integers *x)
{
    const tw_problem *p = &x->problem;
    const element *e = element_of(p->dtype), *result = element_of(e->result);
    for (int64_t item = 0; item < x->batch.count; item++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                const int64_t at = item * x->batch.stride_c + i * p->ldc + j;
                double sum = 0, u, v, old = 0;
                for (int64_t q = 0; p->alpha != 0 && q < p->k; q++) {
                    e->load(x->a, item * x->batch.stride_a + (p->op_a == TW_N ? i * p->lda + q : q * p->lda + i), 1, 1,
                            &u, 1);
                    e->load(x->b, item * x->batch.stride_b + (p->op_b == TW_N ? q * p->ldb + j : j * p->ldb + q), 1, 1,
                            &v, 1);
                    sum += u * v;
                }
                if (p->beta != 0) result->load(x->c0, at, 1, 1, &old, 1);
                result->store(x->c, at, 1, &(double){p->alpha * sum + p->beta * old});
            }
}

/* The right product passes. Any one wrong element, a NaN, written padding and an untouched C fail. */
static void test_whole_products(void **state)
{
    static const tw_dtype all[] = {TW_F32, TW_F64, TW_BF16, TW_F16, TW_I8};
    char text[200];
    integers x;
    (void)state;
    for (int i = 0; i < COUNT_OF(all) * 4 * 2; i++) {
        tw_problem p = tw_problem_make(all[i / 8], (tw_op)(i / 2 % 2), (tw_op)(i % 2), 3, 4, 5);
        const element *result = element_of(element_of(p.dtype)->result);
        p.lda += 1, p.ldb += 2, p.ldc += 3, p.alpha = p.dtype == TW_F64 ? 0x1p24 + 1 : 3, p.beta = i / 4 % 2 ? -2 : 0;
        tw_batch batch = tw_batch_make(&p, 2);
        batch.stride_a = 0, batch.stride_c += 5;
        assert_int_equal(integers_make(&p, &batch, (uint64_t)i, &x), TW_OK);
        if (p.beta == 0) assert_false(integers_judge(&x, text, sizeof text));
        multiply_integers(&x);
        assert_true(integers_judge(&x, text, sizeof text));
        for (int64_t at = 0; at < x.c_elements; at++) {
            double value;
            multiply_integers(&x);
            result->load(x.c, at, 1, 1, &value, 1);
            result->store(x.c, at, 1, &(double){value == value ? value + 1 : 1});
            assert_false(integers_judge(&x, text, sizeof text));
            memcpy(x.c, x.c0, (size_t)x.c_elements * (size_t)result->bytes);
        }
        multiply_integers(&x);
        if (!result->integer) {
            result->store(x.c, 1, 1, &(double){(double)NAN});
            assert_false(integers_judge(&x, text, sizeof text));
            assert_non_null(strstr(text, "item 0: C[0, 1] is nan"));
        }
        integers_free(&x);
    }
    tw_problem half = tw_problem_make(TW_F32, TW_N, TW_N, 1, 1, 1);
    half.alpha = 0.5;
    assert_int_equal(integers_make(&half, NULL, 1, &x), TW_BAD_ARGUMENT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_values),
        cmocka_unit_test(test_exact_classes),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_oracles_accept),
        cmocka_unit_test(test_oracles_reject),
        cmocka_unit_test(test_beta_zero_and_alpha_zero),
        cmocka_unit_test(test_exact_limits),
        cmocka_unit_test(test_bound_sees_lossy),
        cmocka_unit_test(test_sampled_rows),
        cmocka_unit_test(test_oracle_special_scalars),
        cmocka_unit_test(test_verify_accepts),
        cmocka_unit_test(test_verify_detects),
        cmocka_unit_test(test_verify_wholesale_faults),
        cmocka_unit_test(test_verify_uneven_rows),
        cmocka_unit_test(test_bounds_agree),
        cmocka_unit_test(test_verify_progress),
        cmocka_unit_test(test_verify_special_values),
        cmocka_unit_test(test_verify_overflow),
        cmocka_unit_test(test_verify_says_what_it_left),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_flushed_operands),
        cmocka_unit_test(test_whole_products),
        cmocka_unit_test(test_measure),
        cmocka_unit_test(test_turns_of_measure),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_roofline),
        cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_record),
    };
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < COUNT_OF(tests); i++) puts(tests[i].name);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
