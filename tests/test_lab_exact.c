/* test_lab_exact.c - exact sums are exact, and whole products of integers are judged by every bit. */
#include <math.h>
#include <string.h>

#include "element.h"
#include "exact.h"
#include "integers.h"
#include "support/plain.h"

/* ---- exact judge ---- */

static exact_verdict judge4(tw_dtype dtype, double alpha, double beta, const double *a, const double *b, double c0,
                            double found)
{
    product x = plain_product(dtype, 4, alpha, beta);
    return exact_judge(&x, a, b, c0, found);
}

/* The sums of one lane, by their definition, one operation after the other. */
static void lane_by_definition(const double *v, const double *head, const double *tail, int count, int l, double *high,
                               double *low)
{
    const double splitter = 134217729; /* 2^27 + 1 */
    *high = *low = 0;
    for (int p = 0; p < count; p++) {
        const double x = head[p * LANES + l], y = tail[p * LANES + l];
        const double wide = splitter * v[p], v_head = wide - (wide - v[p]), v_tail = v[p] - v_head;
        const double term = v[p] * (x + y), sum = *high + term, shift = sum - *high;
        double lost = ((v_head * x - term) + v_head * y + v_tail * x) + v_tail * y;
        lost += (*high - (sum - shift)) + (term - shift);
        *high = sum, *low += lost;
    }
}

static void test_exact_values(void)
{
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
        for (int l = 0; l < LANES; l++) { /* whichever vectors the processor has, the same bits */
            double high, low;
            lane_by_definition(a, head, tail, K, l, &high, &low);
            assert_true(s.high[l] == high && s.low[l] == low);
        }
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

static void test_exact_classes(void)
{
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

/* A sum in f32 that a C of fewer bits does not hold is an infinity there, and nothing else. */
static void test_exact_narrow(void)
{
    static const tw_dtype narrow[] = {TW_F16, TW_BF16};
    const double inf = (double)INFINITY, nothing = 0, ones[] = {1, 1, 1, 1};
    for (int d = 0; d < COUNT_OF(narrow); d++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const double large = element_of(narrow[d])->largest;
            tw_problem p = padded(narrow[d], 0, 1, 1, 4, 0, sign, 0);
            product x;
            p.dtype_c = narrow[d];
            assert_int_equal(product_make(&p, &nothing, &nothing, &nothing, &x), TW_OK);
            const double twice[] = {large, large / 2, large / 2, 0}, half[] = {large / 4, large / 4, 0, 0};
            assert_true(exact_judge(&x, twice, ones, 0, sign * inf).passed);
            assert_true(!exact_judge(&x, twice, ones, 0, -sign * inf).passed);
            assert_true(!exact_judge(&x, twice, ones, 0, sign * large).passed);
            assert_true(!exact_judge(&x, twice, ones, 0, (double)NAN).passed);
            assert_true(!exact_judge(&x, half, ones, 0, sign * inf).passed);
            assert_true(exact_judge(&x, half, ones, 0, sign * large / 2).passed);
        }
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
static void test_whole_products(void)
{
    static const tw_dtype all[] = {TW_F32, TW_F64, TW_BF16, TW_F16, TW_I8};
    char text[200];
    integers x;
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

static const check_case cases[] = {
    CHECK_CASE(test_exact_values),
    CHECK_CASE(test_exact_classes),
    CHECK_CASE(test_exact_narrow),
    CHECK_CASE(test_whole_products),
};

CHECK_MAIN(cases)
