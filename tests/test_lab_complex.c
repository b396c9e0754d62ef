/* test_lab_complex.c - the oracles of complex products: right ones pass, and each part's wrong sign, term or scalar
 * fails, with every op. */
#include <math.h>
#include <string.h>

#include "integers.h"
#include "support/plain.h"
#include "support/plain_complex.h"

static const tw_dtype complex_dtypes[] = {TW_CF32, TW_CF64};
/* real, imaginary, both, and those under which A and B, or C0, are not read */
static const double scalars[][4] = {{1, 0, 0, 0},  {-2, 0, 3, 0}, {0, 1, 0, 0}, {2, -1, 0, 3},
                                    {1, 3, -1, 2}, {0, 0, 0, 2},  {0, 0, 0, 0}, {0, -2, 4, 0}};

static tw_problem problem_of(tw_dtype dtype, int ops, int64_t m, int64_t n, int64_t k, const double by[4])
{
    tw_problem p = tw_problem_make(dtype, (tw_op)(ops / 4), (tw_op)(ops % 4), m, n, k);
    p.lda = (transposes(p.op_a) ? m : k) + 1, p.ldb = (transposes(p.op_b) ? k : n) + 2, p.ldc = n + 3;
    p.alpha = by[0], p.alpha_imaginary = by[1], p.beta = by[2], p.beta_imaginary = by[3];
    return p;
}

static void *computed(const oracle *o, planted fault)
{
    void *c = malloc(oracle_c_bytes(o) + 1);
    assert_non_null(c);
    oracle_poison(o, c);
    plain_complex(&o->problem, o->a, o->b, c, fault);
    return c;
}

static double *number_at(tw_dtype dtype, void *c, int64_t at)
{
    assert_true(dtype == TW_CF64);
    return (double *)c + at;
}

static bool verified(const oracle *o, const void *c, verify_report *report)
{
    assert_int_equal(verify_product(&o->problem, o->a, o->b, o->c0, c, NULL, report), TW_OK);
    return report->passed;
}

static void test_right_products_pass(void)
{
    for (int d = 0; d < 2; d++)
        for (int ops = 0; ops < 16; ops++)
            for (int s = 0; s < COUNT_OF(scalars); s++)
                for (int kind = ORACLE_EXACT; kind <= ORACLE_BOUND; kind++) {
                    tw_problem p = problem_of(complex_dtypes[d], ops, 5, 7, s % 3 ? 40 : 3, scalars[s]);
                    oracle o;
                    verify_report report;
                    make(&p, (oracle_kind)kind, (uint64_t)ops, 0, &o);
                    void *c = computed(&o, NOTHING);
                    assert_passes(&o, c);
                    if (!verified(&o, c, &report)) fail_msg("%s", report.text);
                    assert_true(report.row_ratio <= 1 && report.element_ratio <= 1);
                    free(c);
                    oracle_free(&o);
                }
}

/* Does the fault change the product? */
static bool shows(planted fault, const tw_problem *p, bool reads_ab)
{
    if (fault == CONJUGATES_ALPHA) return reads_ab && p->alpha_imaginary != 0;
    if (fault == CONJUGATES_BETA) return p->beta_imaginary != 0;
    return reads_ab && fault != ALPHA_WITH_ZERO;
}

static void test_wrong_products_fail(void)
{
    for (int d = 0; d < 2; d++)
        for (int ops = 0; ops < 16; ops++)
            for (int s = 0; s < COUNT_OF(scalars); s++)
                for (int kind = ORACLE_EXACT; kind <= ORACLE_BOUND; kind++) {
                    tw_problem p = problem_of(complex_dtypes[d], ops, 3, 4, 5, scalars[s]);
                    oracle o;
                    verify_report report;
                    make(&p, (oracle_kind)kind, 9, 0, &o);
                    for (planted fault = CONJUGATES_A; fault < PLANTED; fault++) {
                        if (!shows(fault, &p, p.alpha != 0 || p.alpha_imaginary != 0)) continue;
                        void *c = computed(&o, fault);
                        assert_rejected(&o, c);
                        if (verified(&o, c, &report)) fail_msg("fault %d of ops %d passes verify", fault, ops);
                        assert_true(report.row >= 0 && report.row < 3 && report.col < 4);
                        free(c);
                    }
                    oracle_free(&o);
                }
}

/* Whatever the op and the leading dimension, op(A), op(B) and C0 are the same: so the exact product is, too. */
static void test_operands_do_not_depend_on_ops(void)
{
    parts first[5 * 6];
    for (int ops = 0; ops < 16; ops++) {
        tw_problem p = problem_of(TW_CF64, ops, 5, 6, 7, scalars[4]);
        oracle o;
        make(&p, ORACLE_EXACT, 3, 0, &o);
        void *c = computed(&o, NOTHING);
        for (int i = 0; i < 30; i++) {
            const parts x = parts_at(TW_CF64, c, i / 6 * p.ldc + i % 6);
            if (ops == 0) first[i] = x;
            assert_true(x.re == first[i].re && x.im == first[i].im);
        }
        free(c);
        oracle_free(&o);
    }
}

/* Each number of C by itself: one off by the least, a NaN, and padding that was written; the sentence says which. */
static void test_single_parts(void)
{
    tw_problem p = problem_of(TW_CF64, 11, 3, 4, 6, scalars[3]);
    oracle o;
    verify_report report;
    make(&p, ORACLE_EXACT, 5, 0, &o);
    for (int64_t i = 0; i < p.m; i++)
        for (int64_t j = 0; j < 2 * p.ldc; j++) {
            if (i == p.m - 1 && j >= 2 * p.n) break;
            char words[80];
            void *c = computed(&o, NOTHING);
            double *x = number_at(p.dtype, c, i * 2 * p.ldc + j);
            *x = isnan(*x) ? 1 : *x + 1;
            oracle_verdict v = assert_rejected(&o, c);
            assert_true(v.row == i && v.col == j / 2);
            if (j < 2 * p.n) {
                snprintf(words, sizeof words, "C[%d, %d] (its %s part) is", (int)i, (int)(j / 2),
                         j % 2 ? "imaginary" : "real");
                assert_non_null(strstr(v.text, words));
                *x += 1000; /* beyond the bound of products of integers so large */
                assert_false(verified(&o, c, &report));
                assert_true(report.row == i && report.col == j / 2);
                assert_non_null(strstr(report.text, words));
                *x = (double)NAN;
                assert_rejected(&o, c);
                assert_false(verified(&o, c, &report));
            } else {
                assert_non_null(strstr(v.text, "but C has 4 columns"));
            }
            free(c);
        }
    oracle_free(&o);
}

/* An error of 0.9 bounds passes and one of 1.1 does not; the bound is the one that docs/ACCURACY.md derives. */
static void test_bounds(void)
{
    for (int s = 0; s < 5; s++) {
        tw_problem p = problem_of(TW_CF64, 7, 2, 3, 9, scalars[s]);
        oracle o;
        verify_report report;
        make(&p, ORACLE_BOUND, 5, 0, &o);
        void *c = computed(&o, NOTHING);
        const bool complex = p.alpha_imaginary != 0 || p.beta_imaginary != 0;
        double size[2] = {0, 0}, alpha[2] = {fabs(p.alpha), fabs(p.alpha_imaginary)};
        for (int64_t q = 0; q < p.k; q++) {
            const parts x = operand_at(p.dtype, o.a, p.op_a, p.lda, 1, q, false),
                        y = operand_at(p.dtype, o.b, p.op_b, p.ldb, q, 2, false);
            size[0] += fabs(x.re * y.re) + fabs(x.im * y.im), size[1] += fabs(x.re * y.im) + fabs(x.im * y.re);
        }
        for (int part = 0; part < 2; part++) {
            double *x = number_at(p.dtype, c, 2 * (p.ldc + 2) + part), right = *x, addend = 0;
            const parts old = parts_at(p.dtype, o.c0, p.ldc + 2);
            if (p.beta != 0) addend += fabs(p.beta * (part ? old.im : old.re));
            if (p.beta_imaginary != 0) addend += fabs(p.beta_imaginary * (part ? old.re : old.im));
            const double bound = gamma_of(18 + (complex ? 4 : 2), 0x1p-53) *
                                     (alpha[0] * size[part] + alpha[1] * size[1 - part]) +
                                 gamma_of(complex ? 4 : 2, 0x1p-53) * addend;
            *x = right + bound * 1.2; /* the plain loop has errors of its own */
            oracle_verdict v = assert_rejected(&o, c);
            assert_true(fabs(v.bound / bound - 1) < 1e-9);
            assert_false(verified(&o, c, &report));
            assert_true(fabs(report.bound / bound - 1) < 1e-9 && report.row == 1 && report.col == 2);
            *x = right + bound * 0.8;
            assert_passes(&o, c);
            assert_true(verified(&o, c, &report));
            *x = right;
        }
        free(c);
        oracle_free(&o);
    }
}

/* NaN, infinities and overflow, wherever they stand: what plain loops give passes, and another class does not. */
static void test_special_values(void)
{
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0x1.8p1023};
    for (int where = 0; where < 6; where++)
        for (int v = 0; v < COUNT_OF(values); v++)
            for (int s = 0; s < COUNT_OF(scalars); s++) {
                tw_problem p = problem_of(TW_CF64, (where + 3 * s) % 16, 3, 4, 5, scalars[s]);
                oracle o;
                verify_report report;
                make(&p, ORACLE_BOUND, 5, 0, &o);
                void *const operands[] = {o.a, o.b, o.c0};
                ((double *)operands[where / 2])[2 * (where / 2 == 2 ? p.ldc + 1 : 0) + where % 2] = values[v];
                void *c = computed(&o, NOTHING);
                if (!verified(&o, c, &report))
                    fail_msg("where %d value %g scalars %d: %s", where, values[v], s, report.text);
                for (int64_t at = 0; at < 2 * p.n; at++) {
                    double *x = number_at(p.dtype, c, 2 * p.ldc + at), right = *x;
                    *x = isfinite(right) ? (double)INFINITY : 1;
                    if (verified(&o, c, &report) && v < 3) fail_msg("where %d: %g passes for %g", where, *x, right);
                    *x = right;
                }
                free(c);
                oracle_free(&o);
            }
}

/* A scalar without an imaginary part multiplies as a real number: an infinity stays, where a complex one makes NaN. */
static void test_real_scalars(void)
{
    const double by[] = {2, 0, 0, 0};
    tw_problem p = problem_of(TW_CF64, 0, 2, 2, 1, by);
    oracle o;
    verify_report report;
    make(&p, ORACLE_BOUND, 5, 0, &o);
    put_parts(p.dtype, o.a, 0, (parts){(double)INFINITY, 1}); /* both parts of row 0 become infinite */
    void *c = computed(&o, NOTHING);
    assert_true(isinf(parts_at(p.dtype, c, 0).re) && isinf(parts_at(p.dtype, c, 0).im));
    assert_true(verified(&o, c, &report));
    free(c);
    c = computed(&o, ALPHA_WITH_ZERO);
    assert_true(isnan(parts_at(p.dtype, c, 0).re));
    assert_false(verified(&o, c, &report));
    free(c);
    oracle_free(&o);
}

/* Which results are allowed where terms overflow: by hand. */
static void test_overflow(void)
{
    const double large = 0x1p1023, inf = (double)INFINITY;
    const struct {
        double scalars[4];
        parts a, b, c;
        double found;
        bool allowed;
    } cases[] = {
        {{1, 1, 0, 0}, {large, 0}, {1, 0}, {0, 0}, large, true},
        {{1, 1, 0, 0}, {large, large}, {1, 0}, {0, 0}, 0, true},    /* large - large */
        {{1, 1, 0, 0}, {large, large}, {1, 0}, {0, 0}, inf, false}, /* no sum of them is beyond */
        {{2, 2, 0, 0}, {large, large}, {1, 0}, {0, 0}, inf, true},  /* each of them is */
        {{1, 1, 1, 0}, {large, large}, {1, 0}, {large, 0}, large, true},
        {{1, 1, 1, 0}, {large, large}, {1, 0}, {large, 0}, inf, true}, /* those above 0 first */
        {{1, 1, 1, 0}, {large, large}, {1, 0}, {large, 0}, -inf, false},
        {{1, 1, 1, 0}, {large, large}, {1, 0}, {large, 0}, (double)NAN, false},
        {{1, 1, 1, 1}, {large, large}, {1, 0}, {large, large}, (double)NAN, true}, /* both sides by themselves */
        {{0, 1, 0, 0}, {inf, 1}, {1, 1}, {0, 0}, (double)NAN, true},               /* 0 times an infinity */
        {{0, 1, 0, 0}, {inf, 1}, {1, 1}, {0, 0}, inf, false},
    };
    for (int i = 0; i < COUNT_OF(cases); i++) {
        tw_problem p = tw_problem_make(TW_CF64, TW_N, TW_N, 1, 1, 1);
        verify_report report;
        double c[2] = {cases[i].found, 0}, c0[2] = {cases[i].c.re, cases[i].c.im}, plain[2] = {c0[0], c0[1]};
        double a[2] = {cases[i].a.re, cases[i].a.im}, b[2] = {cases[i].b.re, cases[i].b.im};
        p.alpha = cases[i].scalars[0], p.alpha_imaginary = cases[i].scalars[1];
        p.beta = cases[i].scalars[2], p.beta_imaginary = cases[i].scalars[3];
        plain_complex(&p, a, b, plain, NOTHING);
        c[1] = plain[1];
        assert_int_equal(verify_product(&p, a, b, c0, c, NULL, &report), TW_OK);
        if (report.passed != cases[i].allowed) fail_msg("case %d: %s", i, report.text);
    }
}

/* Larger than what is judged element by element, with rows sampled: a single wrong sign is found by the vectors. */
static void test_large_products(void)
{
    for (int d = 0; d < 2; d++) {
        tw_problem p = problem_of(complex_dtypes[d], 9, 90, 80, 30, scalars[4]);
        oracle o;
        verify_report report;
        make(&p, ORACLE_BOUND, 5, 2e4, &o);
        void *c = computed(&o, NOTHING);
        assert_passes(&o, c);
        assert_true(oracle_judge(&o, c).sampled);
        if (!verified(&o, c, &report)) fail_msg("%s", report.text);
        assert_true(report.elements < 2 * p.m * p.n);
        const parts right = parts_at(p.dtype, c, 41 * p.ldc + 50);
        put_parts(p.dtype, c, 41 * p.ldc + 50, (parts){right.re, -right.im});
        assert_false(verified(&o, c, &report));
        assert_true(report.row == 41 && report.col == 50);
        free(c);
        for (planted fault = CONJUGATES_A; fault < ALPHA_WITH_ZERO; fault++) {
            c = computed(&o, fault);
            assert_rejected(&o, c);
            assert_false(verified(&o, c, &report));
            free(c);
        }
        oracle_free(&o);
    }
}

/* Freivalds' check of small integers: items of a batch right and wrong, with every op. */
static void test_integers(void)
{
    char text[200];
    for (int d = 0; d < 2; d++)
        for (int ops = 0; ops < 16; ops++)
            for (int s = 0; s < COUNT_OF(scalars); s++) {
                tw_problem p = problem_of(complex_dtypes[d], ops, 3, 4, 5, scalars[s]);
                tw_batch batch = tw_batch_make(&p, 2);
                integers x;
                batch.stride_a = 0, batch.stride_c += 5;
                for (planted fault = NOTHING; fault < PLANTED; fault++) {
                    assert_int_equal(integers_make(&p, &batch, (uint64_t)ops, &x), TW_OK);
                    const size_t bytes = p.dtype == TW_CF64 ? 16 : 8;
                    for (int i = 0; i < 2; i++)
                        plain_complex(&p, x.a, (char *)x.b + (size_t)(i * batch.stride_b) * bytes,
                                      (char *)x.c + (size_t)(i * batch.stride_c) * bytes, i == 1 ? fault : NOTHING);
                    const bool wrong = fault != NOTHING && shows(fault, &p, p.alpha != 0 || p.alpha_imaginary != 0);
                    if (integers_judge(&x, text, sizeof text) == wrong)
                        fail_msg("fault %d ops %d: %s", fault, ops, text);
                    if (wrong) assert_true(strncmp(text, "item 1: C[", 10) == 0 && strstr(text, " part) is ") != NULL);
                    integers_free(&x);
                }
            }
}

static void test_refusals(void)
{
    oracle o;
    integers x;
    const double third[] = {1, 1.0 / 3, 0, 0}, half[] = {1, 0.5, 0, 0};
    tw_problem p = problem_of(TW_CF32, 0, 2, 2, 2, third);
    assert_int_equal(oracle_make(&p, ORACLE_EXACT, 1, 0, &o), TW_BAD_ARGUMENT);
    p = problem_of(TW_CF32, 0, 2, 2, 2, half);
    assert_int_equal(oracle_make(&p, ORACLE_EXACT, 1, 0, &o), TW_OK);
    oracle_free(&o);
    assert_int_equal(integers_make(&p, NULL, 1, &x), TW_BAD_ARGUMENT);
    p = tw_problem_make(TW_F64, TW_C, TW_N, 2, 2, 2);
    assert_int_equal(oracle_make(&p, ORACLE_EXACT, 1, 0, &o), TW_BAD_ARGUMENT);
    p = tw_problem_make(TW_CF64, TW_N, TW_N, 2, 2, 2), p.dtype_c = TW_F64;
    assert_int_equal(oracle_make(&p, ORACLE_EXACT, 1, 0, &o), TW_BAD_ARGUMENT);
}

static const check_case cases[] = {
    CHECK_CASE(test_right_products_pass),
    CHECK_CASE(test_wrong_products_fail),
    CHECK_CASE(test_operands_do_not_depend_on_ops),
    CHECK_CASE(test_single_parts),
    CHECK_CASE(test_bounds),
    CHECK_CASE(test_special_values),
    CHECK_CASE(test_real_scalars),
    CHECK_CASE(test_overflow),
    CHECK_CASE(test_large_products),
    CHECK_CASE(test_integers),
    CHECK_CASE(test_refusals),
};

CHECK_MAIN(cases)
