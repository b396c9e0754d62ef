/* test_lab_verify.c - verify accepts what plain loops compute and finds wrong elements, rows and classes; its
 * numbers agree with the oracle's. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "exact.h"
#include "integers.h"
#include "whole.h"
#include "oracle.h"
#include "reference.h"
#include "support/plain.h"

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

static void test_verify_accepts(void)
{
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

static void test_verify_detects(void)
{
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

static void test_verify_wholesale_faults(void)
{
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
static void test_verify_uneven_rows(void)
{
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
            view_load(x.a, i, 1, 0, K, a, K), view_load(view_transposed(x.b), 3, 1, 0, K, b, K);
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
static void test_bounds_agree(void)
{
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
                view_load(view_transposed(x.b), j, 1, 0, K, b, K);
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

/* The report of several threads is that of one, to the bit: of right products, of wrong elements, of NaN. */
static void test_verify_threads(void)
{
    for (int d = tap.full ? 0 : 1; d < COUNT_OF(dtypes); d++) {
        given g = given_product(dtypes[d], d, 40, 1300, 1300, 1.5, d);
        const tw_problem *p = &g.o.problem;
        const void *c0 = p->beta != 0 ? g.o.c0 : NULL;
        for (int fault = 0; fault < 4; fault++) {
            const int64_t i = draw_below(p->m), j = draw_below(p->n);
            if (fault > 0) put(p, g.c, i, j, fault == 3 ? (double)NAN : 2 * get(p, g.c, i, j) + 1);
            verify_report one, many;
            verify_options options = {.seed = draw(), .threads = 1};
            assert_int_equal(verify_product(p, g.o.a, g.o.b, c0, g.c, &options, &one), TW_OK);
            options.threads = 0;
            setenv("TILEWRIGHT_THREADS", "7", 1);
            assert_int_equal(verify_product(p, g.o.a, g.o.b, c0, g.c, &options, &many), TW_OK);
            unsetenv("TILEWRIGHT_THREADS");
            assert_int_equal(one.passed, fault == 0);
            assert_int_equal(one.failed_rows, many.failed_rows);
            assert_memory_equal(&one, &many, sizeof one);
        }
        given_free(&g);
    }
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

static void test_verify_progress(void)
{
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
static void test_verify_special_values(void)
{
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
static void test_verify_overflow(void)
{
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

static void test_verify_says_what_it_left(void)
{
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

/* ---- integers, and a type whose subnormals may be lost ---- */

static int64_t get_whole(tw_dtype dtype, const void *data, int64_t i)
{
    return dtype == TW_I8    ? ((const int8_t *)data)[i]
           : dtype == TW_I16 ? ((const int16_t *)data)[i]
           : dtype == TW_I32 ? ((const int32_t *)data)[i]
                             : ((const int64_t *)data)[i];
}

static void put_whole(tw_dtype dtype, void *data, int64_t i, uint64_t value)
{
    if (dtype == TW_I16)
        ((uint16_t *)data)[i] = (uint16_t)value;
    else if (dtype == TW_I32)
        ((uint32_t *)data)[i] = (uint32_t)value;
    else
        ((uint64_t *)data)[i] = value;
}

/* C of this type by sums modulo 2^64. */
static void multiply_integers(const oracle *o, tw_dtype dtype_c, void *c)
{
    const tw_problem *p = &o->problem;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            uint64_t sum = 0;
            for (int64_t q = 0; q < p->k; q++)
                sum += (uint64_t)get_whole(p->dtype, o->a, p->op_a == TW_N ? i * p->lda + q : q * p->lda + i) *
                       (uint64_t)get_whole(p->dtype, o->b, p->op_b == TW_N ? q * p->ldb + j : j * p->ldb + q);
            const int64_t at = i * p->ldc + j;
            const uint64_t old = p->beta != 0 ? (uint64_t)get_whole(dtype_c, c, at) : 0;
            put_whole(dtype_c, c, at, (uint64_t)(int64_t)p->alpha * sum + (uint64_t)(int64_t)p->beta * old);
        }
}

/* One bit or two of a right C are wrong: seen by both judges, and told as they are. */
static void integers_case(tw_problem p, oracle_kind kind)
{
    const tw_dtype dtype_c = p.dtype == TW_I8 ? TW_I32 : p.dtype;
    const int bits = 8 * tw_lab_dtype_of(dtype_c)->bytes;
    given g;
    tw_status made = oracle_make(&p, kind, draw(), 0, &g.o);
    if (kind == ORACLE_EXACT && made == TW_BAD_ARGUMENT) return; /* it keeps within 2^(bits - 1) */
    assert_int_equal(made, TW_OK);
    void *c = g.c = malloc(oracle_c_bytes(&g.o));
    oracle_poison(&g.o, c);
    multiply_integers(&g.o, dtype_c, c);
    oracle_verdict verdict = oracle_judge(&g.o, c);
    if (!verdict.passed) fail_msg("the oracle rejected a right product: %s", verdict.text);
    assert_verified(&g);
    int64_t at = (int64_t)draw_below((uint32_t)p.m) * p.ldc + (int64_t)draw_below((uint32_t)p.n);
    const int64_t right = get_whole(dtype_c, c, at);
    put_whole(dtype_c, c, at, (uint64_t)right ^ UINT64_C(1) << draw_below((uint32_t)bits));
    char text[120];
    snprintf(text, sizeof text, "is %lld, expected %lld exactly", (long long)get_whole(dtype_c, c, at),
             (long long)right);
    verdict = oracle_judge(&g.o, c);
    assert_true(!verdict.passed && verdict.row * p.ldc + verdict.col == at);
    assert_non_null(strstr(verdict.text, text));
    verify_report r = verify(&g, 0, 1);
    assert_true(!r.passed && r.failed_rows == 1 && r.row * p.ldc + r.col == at);
    assert_non_null(strstr(r.text, text));
    put_whole(dtype_c, c, at, (uint64_t)right);
    if (p.m > 3 &&
        p.n > 3) /* two that differ by half of the range, and cancel where odd weights are added; no corners */
        for (int64_t e = 1; e < p.n; e += p.n - 3) {
            at = p.m / 2 * p.ldc + e;
            put_whole(dtype_c, c, at, (uint64_t)get_whole(dtype_c, c, at) ^ UINT64_C(1) << (bits - 1));
        }
    if (p.m > 3 && p.n > 3) assert_true(!verify(&g, 0, 1).passed);
    given_free(&g);
}

static void test_integers(void)
{
    const double scalars[][2] = {
        {1, 0}, {-3, 0}, {1, 1}, {100003, -70001}, {0, 5}, {2147483647, 0}, {-2147483648.0, -1}};
    const int64_t sizes[][3] = {{1, 1, 1}, {7, 5, 3}, {40, 77, 300}, {100, 90, 64}};
    static const tw_dtype dtypes[] = {TW_I8, TW_I16, TW_I32, TW_I64};
    for (int s = 0; s < COUNT_OF(sizes); s++)
        for (int i = 0; i < COUNT_OF(scalars); i++)
            for (int kind = ORACLE_EXACT; kind <= ORACLE_BOUND; kind++)
                for (int d = 0; d < COUNT_OF(dtypes); d++)
                    integers_case(padded(dtypes[d], i % 4, sizes[s][0], sizes[s][1], sizes[s][2], i % 3, scalars[i][0],
                                         scalars[i][1]),
                                  (oracle_kind)kind);
    tw_problem odd[] = {padded(TW_I8, 0, 2, 2, 2, 0, 0.5, 0), padded(TW_I8, 0, 2, 2, 2, 0, 1, 0x1p31),
                        padded(TW_I8, 0, 2, 2, 2, 0, (double)NAN, 0)};
    for (int i = 0; i < COUNT_OF(odd); i++) {
        oracle o;
        assert_int_equal(oracle_make(&odd[i], ORACLE_BOUND, 1, 0, &o), TW_BAD_ARGUMENT);
    }
    const element *i32 = element_of(TW_I32), *i16 = element_of(TW_I16), *i64 = element_of(TW_I64);
    assert_true(whole_of(i32, UINT64_C(1) << 31) == INT32_MIN &&
                whole_of(i32, UINT64_MAX - UINT32_MAX + INT32_MAX) > 0);
    assert_true(whole_of(i32, (UINT64_C(1) << 60) + 5) == 5 && whole_of(i16, 0x18000) == INT16_MIN);
    assert_true(whole_of(i64, UINT64_C(1) << 63) == INT64_MIN && whole_of(i64, UINT64_MAX) == -1);
}

/* ---- integers whose C is scaled ---- */

typedef enum slip { NO_SLIP, NEXT, CUT, WRAPPED, UNSCALED, TWICE, SLIPS } slip;

/* What a kernel that slips makes of v, once or twice scaled from the sum. */
static void put_scaled(tw_dtype dtype_c, void *c, int64_t at, double v, slip how)
{
    if (dtype_c == TW_F32) {
        float *x = (float *)c + at, nearest = (float)v;
        *x = how == NEXT                                     ? nextafterf(nextafterf(nearest, INFINITY), INFINITY)
             : how == CUT && fabs((double)nearest) > fabs(v) ? nextafterf(nearest, 0)
                                                             : nearest;
        return;
    }
    const double least = dtype_c == TW_U8 ? 0 : -128, most = dtype_c == TW_U8 ? 255 : 127;
    double x = how == CUT ? trunc(v) : nearbyint(v);
    if (how != WRAPPED) x = isnan(v) ? 0 : fmin(fmax(x, least), most);
    if (how == NEXT) x += x < most ? 1 : -1;
    ((uint8_t *)c)[at] = (uint8_t)(int64_t)x;
}

static void multiply_scaled(const oracle *o, void *c, slip how)
{
    const tw_problem *p = &o->problem;
    const element *type_c = element_of(p->dtype_c);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            int64_t sum = 0;
            double old = 0;
            for (int64_t q = 0; q < p->k; q++)
                sum += get_whole(TW_I8, o->a, p->op_a == TW_N ? i * p->lda + q : q * p->lda + i) *
                       get_whole(TW_I8, o->b, p->op_b == TW_N ? q * p->ldb + j : j * p->ldb + q);
            if (p->beta != 0) type_c->load(o->c0, i * p->ldc + j, 1, 1, &old, 1);
            const double alpha = how == UNSCALED ? 1
                                 : how == TWICE  ? p->alpha * p->alpha
                                                 : p->alpha,
                         v = alpha * (double)(int32_t)(uint32_t)sum;
            put_scaled(p->dtype_c, c, i * p->ldc + j, p->beta != 0 ? v + p->beta * old : v, how);
        }
}

/* A right C passes both judges, in whichever way the library might round; one that slips passes none. */
static void scaled_case(tw_problem p, oracle_kind kind)
{
    given g;
    const tw_status made = oracle_make(&p, kind, draw(), 0, &g.o);
    if (kind == ORACLE_EXACT && made == TW_BAD_ARGUMENT) return; /* an alpha of too many bits */
    assert_int_equal(made, TW_OK);
    void *c = g.c = malloc(oracle_c_bytes(&g.o)), *right = malloc(oracle_c_bytes(&g.o));
    oracle_poison(&g.o, right);
    multiply_scaled(&g.o, right, NO_SLIP);
    for (slip how = NO_SLIP; how < SLIPS; how++) {
        oracle_poison(&g.o, c);
        multiply_scaled(&g.o, c, how);
        const bool same = memcmp(c, right, oracle_c_bytes(&g.o)) == 0;
        oracle_verdict verdict = oracle_judge(&g.o, c);
        if (verdict.passed != same) fail_msg("slip %d: the oracle is wrong: %s", (int)how, verdict.text);
        const verify_report r = verify(&g, 0, 1);
        if (r.passed != same) fail_msg("slip %d: verify is wrong: %s", (int)how, r.text);
        assert_true(r.unchecked == 0 && r.vectors == 0 && r.elements == p.m * p.n);
    }
    memcpy(c, right, oracle_c_bytes(&g.o));
    const int64_t row = (int64_t)draw_below((uint32_t)p.m), col = (int64_t)draw_below((uint32_t)p.n);
    double value;
    const element *type_c = element_of(p.dtype_c);
    type_c->load(right, row * p.ldc + col, 1, 1, &value, 1);
    put_scaled(p.dtype_c, c, row * p.ldc + col, value, NEXT);
    const verify_report r = verify(&g, 0, 1);
    assert_true(!r.passed && r.failed_rows == 1 && r.row == row && r.col == col && r.expected == value);
    assert_non_null(strstr(r.text, "expected"));
    if (p.ldc > p.n && p.m > 1) { /* padding */
        memcpy(c, right, oracle_c_bytes(&g.o));
        ((char *)c)[p.n * type_c->bytes] ^= 1;
        assert_false(oracle_judge(&g.o, c).passed);
    }
    free(right);
    given_free(&g);
}

static void test_scaled(void)
{
    const double scalars[][2] = {{1, 0}, {-0.0625, 0}, {0.0078125, 0.5}, {0.0037, 0}, {-0.021, 1.7}, {0, 3}};
    const int64_t sizes[][3] = {{1, 1, 1}, {7, 5, 3}, {40, 37, 90}};
    static const tw_dtype dtypes[] = {TW_F32, TW_I8, TW_U8};
    for (int s = 0; s < COUNT_OF(sizes); s++)
        for (int i = 0; i < COUNT_OF(scalars); i++)
            for (int kind = ORACLE_EXACT; kind <= ORACLE_BOUND; kind++)
                for (int d = 0; d < COUNT_OF(dtypes); d++) {
                    tw_problem p = padded(TW_I8, i % 4, sizes[s][0], sizes[s][1], sizes[s][2], i % 3, scalars[i][0],
                                          scalars[i][1]);
                    p.dtype_c = dtypes[d];
                    scaled_case(p, (oracle_kind)kind);
                }
    /* one element: what the finite, the infinite and no number must become; the last sum wraps around */
    enum { LONG = 140000 };
    static int8_t a[LONG];
    memset(a, -128, sizeof a);
    const struct {
        tw_dtype dtype_c;
        int64_t k;
        double alpha, beta, old, right, wrong;
    } ones[] = {{TW_F32, 1, INFINITY, 0, 0, INFINITY, FLT_MAX},
                {TW_F32, 1, 1, 1, NAN, NAN, 16384},
                {TW_F32, 1, 1e300, 0, 0, INFINITY, -INFINITY},
                {TW_F32, 1, 1, -1, INFINITY, -INFINITY, INFINITY},
                {TW_F32, 1, 1e-320, 0, 0, 0, 0x1p-149},
                {TW_I8, 1, NAN, 0, 0, 0, 127},
                {TW_I8, 1, INFINITY, 0, 0, 127, -128},
                {TW_I8, 1, 1e308, -1e308, 127, 0, 127},
                {TW_U8, 1, -1, 0, 0, 0, 255},
                {TW_U8, 1, 0x1p-15, 0, 0, 0, 1},
                {TW_U8, 3, 0x1p-15, 0, 0, 2, 1},
                {TW_F32, LONG, 1, 0, 0, -2001207296, 2293760000.0}};
    for (int i = 0; i < COUNT_OF(ones); i++)
        for (int judged = 0; judged < 2; judged++) {
            _Alignas(4) char c[4], old[4];
            verify_report r;
            tw_problem p = tw_problem_make(TW_I8, TW_N, TW_N, 1, 1, ones[i].k);
            p.dtype_c = ones[i].dtype_c, p.alpha = ones[i].alpha, p.beta = ones[i].beta;
            const element *type_c = element_of(p.dtype_c);
            type_c->store(old, 0, 1, &ones[i].old);
            type_c->store(c, 0, 1, judged ? &ones[i].wrong : &ones[i].right);
            assert_int_equal(verify_product(&p, a, a, old, c, NULL, &r), TW_OK);
            if (r.passed == judged) fail_msg("number %d, %s: %s", i, judged ? "wrong" : "right", r.text);
        }
    tw_problem odd = tw_problem_make(TW_I8, TW_N, TW_N, 2, 2, 2);
    static const tw_dtype none[] = {TW_F64, TW_F16, TW_BF16, TW_I16, TW_I64};
    for (int i = 0; i < COUNT_OF(none); i++) {
        oracle o;
        odd.dtype_c = none[i];
        assert_int_equal(oracle_make(&odd, ORACLE_BOUND, 1, 0, &o), TW_BAD_ARGUMENT);
    }
}

/* A bf16 below 2^-126 may count as 0 and may not: verify accepts both, and no more than that. */
static void test_flushed_operands(void)
{
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

/* ---- a C that an epilogue made ---- */

/* One element, of two products, as it is right and as it is not. */
static const struct {
    tw_dtype dtype;
    const char *text;
    double a[2], beta, old, right, wrong;
} made_elements[] = {{TW_F32, "3 * acc + s", {1, 2}, 0, NAN, 9.5, 9.5001},
                     {TW_F32, "3 * acc + s", {1, 2}, -1, 8, -14.5, 9.5},
                     {TW_F32, "acc", {3e38, 3e38}, 0, 0, INFINITY, 3e38}, /* overflow */
                     {TW_F32, "acc", {3e38, -3e38}, 0, 0, 0, 1e38},
                     {TW_F32, "acc", {0x1.fffffep127, 0x1p103}, 0, 0, INFINITY, 3e38},
                     {TW_F32, "acc", {0x1.fffffep127, 0x1p103}, 0, 0, 0x1.fffffep127, -INFINITY},
                     {TW_F64, "acc / 4", {1.5e308, 1.5e308}, 0, 0, INFINITY, 7.5e307},
                     {TW_F64, "acc / 4", {1e300, 1e300}, 0, 0, 5e299, 5.00001e299},
                     {TW_F32, "relu(acc)", {-INFINITY, 1}, 0, 0, 0, 1},
                     {TW_F32, "acc", {-INFINITY, 1}, 0, 0, -INFINITY, -1},
                     {TW_F32, "acc", {-INFINITY, INFINITY}, 0, 0, NAN, 0},
                     {TW_F32, "where(acc != acc, s, 7)", {NAN, 1}, 0, 0, 0.5, 7},
                     {TW_F32, "acc", {1, 1}, 1, NAN, NAN, 2},
                     {TW_F32, "log(acc)", {-1, -1}, 0, 0, NAN, 0},
                     {TW_F32, "acc < 2.5", {1, 1}, 0, 0, 1, 0},
                     {TW_F16, "acc * 40000", {1, 1}, 0, 0, INFINITY, 65504},
                     {TW_F16, "acc + 0.0002", {1, 0}, 0, 0, 1, 1.0009765625},
                     {TW_I8, "acc * s", {127, 1}, 0, 0, 64, 63},
                     {TW_I8, "acc * 100", {127, 1}, 0, 0, 127, 0},
                     {TW_I8, "acc - 2 * acc", {127, 127}, 1, -1, -128, 127},
                     {TW_I8, "log(neg(acc))", {1, 1}, 0, 0, 0, 1}};

static void test_made_elements(void)
{
    const tw_binding s = {.size = sizeof s, .name = "s", .value = 0.5};
    const double ones[2] = {1, 1};
    for (int i = 0; i < COUNT_OF(made_elements); i++) {
        tw_problem p = tw_problem_make(made_elements[i].dtype, TW_N, TW_N, 1, 1, 2);
        tw_epilogue *e = NULL;
        assert_int_equal(tw_epilogue_make(made_elements[i].text, &s, 1, &e), TW_OK);
        p.beta = made_elements[i].beta, p.epilogue = e, p.dtype_c = p.dtype;
        for (int wrong = 0; wrong < 2; wrong++) {
            const element *type = element_of(p.dtype);
            double a[2], b[2], old, c;
            verify_report r;
            type->store(a, 0, 2, made_elements[i].a), type->store(b, 0, 2, ones);
            type->store(&old, 0, 1, &made_elements[i].old);
            type->store(&c, 0, 1, wrong ? &made_elements[i].wrong : &made_elements[i].right);
            assert_int_equal(verify_product(&p, a, b, &old, &c, NULL, &r), TW_OK);
            if (r.passed == wrong || r.elements != 1) fail_msg("number %d, %d: %s", i, wrong, r.text);
        }
        tw_epilogue_free(e);
    }
}

/* Each element by itself, where that is little work; else samples. C is twice the row's number plus the column's. */
static void test_made(void)
{
    const int64_t sides[] = {90, 2100};
    for (int q = 0; q < 2; q++) {
        const int64_t side = sides[q];
        tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, side, side, 1);
        tw_epilogue *e = NULL;
        float *a = malloc((size_t)side * sizeof *a), *b = malloc((size_t)side * sizeof *b),
              *c = malloc((size_t)(side * side) * sizeof *c);
        assert_int_equal(tw_epilogue_make("acc + j", NULL, 0, &e), TW_OK);
        p.epilogue = e;
        for (int64_t i = 0; i < side; i++) a[i] = (float)(2 * i), b[i] = 1;
        for (int64_t i = 0; i < side * side; i++) c[i] = (float)(2 * (i / side) + i % side);
        verify_report r;
        assert_int_equal(verify_product(&p, a, b, NULL, c, NULL, &r), TW_OK);
        assert_true(r.passed && r.vectors == 0 && r.unchecked == 0);
        assert_true(q == 0 ? r.elements == side * side : r.elements > 4096 + side && r.elements < 8192);
        for (int round = 0; round < 10; round++) { /* one element; of many, a row of them */
            const int64_t row = draw_below(side), col = q == 0 ? draw_below(side) : 1;
            for (int64_t j = col; j < (q == 0 ? col + 1 : side); j++) c[row * side + j] += 0.01f;
            assert_int_equal(verify_product(&p, a, b, NULL, c, NULL, &r), TW_OK);
            assert_true(!r.passed && r.row == row && (q == 1 || r.col == col) && r.failed_rows == 1);
            for (int64_t j = col; j < (q == 0 ? col + 1 : side); j++) c[row * side + j] = (float)(2 * row + j);
        }
        free(a), free(b), free(c), tw_epilogue_free(e);
    }
}

static const check_case cases[] = {
    CHECK_CASE(test_verify_accepts),
    CHECK_CASE(test_verify_detects),
    CHECK_CASE(test_verify_wholesale_faults),
    CHECK_CASE(test_verify_uneven_rows),
    CHECK_CASE(test_bounds_agree),
    CHECK_CASE(test_verify_threads),
    CHECK_CASE(test_verify_progress),
    CHECK_CASE(test_verify_special_values),
    CHECK_CASE(test_verify_overflow),
    CHECK_CASE(test_verify_says_what_it_left),
    CHECK_CASE(test_integers),
    CHECK_CASE(test_scaled),
    CHECK_CASE(test_flushed_operands),
    CHECK_CASE(test_made_elements),
    CHECK_CASE(test_made),
};

CHECK_MAIN(cases)
