/* test_lab_oracle.c - the oracles accept what plain loops compute and reject every fault put there on purpose. */
#include <fcntl.h>
#include <math.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "exact.h"
#include "integers.h"
#include "oracle.h"
#include "reference.h"
#include "support/plain.h"

/* ---- operands ---- */

static void test_operands(void)
{
    for (int d = 0; d < COUNT_OF(dtypes); d++)
        for (int kind = 0; kind < 2; kind++) {
            tw_problem p = padded(dtypes[d], 0, 33, 33, 33, 3, 1, 1), q = padded(dtypes[d], 3, 33, 33, 33, 0, 1, 1);
            oracle o, transposed, other;
            make(&p, (oracle_kind)kind, 5, 0, &o);
            make(&q, (oracle_kind)kind, 5, 0, &transposed);
            make(&q, (oracle_kind)kind, 6, 0, &other);
            view a = {element_of(p.dtype), o.a, p.lda, 1}, b = {element_of(p.dtype), o.b, p.ldb, 1};
            view a_t = {element_of(p.dtype), transposed.a, 1, q.lda},
                 a_other = {element_of(p.dtype), other.a, 1, q.lda};
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
            oracle_free(&o), oracle_free(&transposed), oracle_free(&other);

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

/* Integers are remainders of what element_mix draws, in each position, for small and large divisors. */
static void test_integers(void)
{
    static const int64_t limits[] = {
        0, 1, 2, 3, 127, 128, 1000, 1048575, INT64_C(1) << 31, (INT64_C(1) << 32) + 5, INT64_C(1) << 53};
    enum { COUNT = 500, STRIDE = 2 };
    double values[COUNT * STRIDE];
    for (int i = 0; i < COUNT_OF(limits); i++)
        for (uint64_t step = 1; step < 4; step++) {
            for (int j = 0; j < COUNT * STRIDE; j++) values[j] = -0.5;
            element_integers(element_of(TW_F64), limits[i], 3, 7, step, COUNT, values, STRIDE);
            for (int j = 0; j < COUNT; j++) {
                const uint64_t drawn = element_mix(3, 7 + (uint64_t)j * step) % (2 * (uint64_t)limits[i] + 1);
                assert_true(values[j * STRIDE] == (double)((int64_t)drawn - limits[i]) &&
                            values[j * STRIDE + 1] == -0.5);
            }
        }
    element_integers(element_of(TW_U8), 100, 3, 0, 1, COUNT, values, 1);
    for (int j = 0; j < COUNT; j++) assert_true(values[j] == fabs((double)(element_mix(3, (uint64_t)j) % 201) - 100));
}

/* ---- oracles ---- */

static const int64_t shapes[][3] = {{1, 1, 1},    {1, 9, 4},    {9, 1, 4},   {5, 7, 1},
                                    {16, 16, 16}, {17, 33, 15}, {31, 8, 70}, {40, 40, 40}};

static void test_oracles_accept(void)
{
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

static void test_oracles_reject(void)
{
    for (int d = 0; d < COUNT_OF(dtypes); d++)
        for (int kind = 0; kind < 2; kind++)
            for (int ops = 0; ops < 4; ops++) {
                reject_everything(dtypes[d], (oracle_kind)kind, ops, 1, 0);
                reject_everything(dtypes[d], (oracle_kind)kind, ops, -2, 1);
                reject_everything(dtypes[d], (oracle_kind)kind, ops, 0.5, 2);
            }
}

static void test_beta_zero_and_alpha_zero(void)
{
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

static void test_exact_limits(void)
{
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
static void test_bound_sees_lossy(void)
{
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

static void test_sampled_rows(void)
{
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

static void test_oracle_special_scalars(void)
{
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

static double loaded(tw_dtype dtype, uint32_t bits)
{
    double value;
    element_of(dtype)->load(&bits, 0, 1, 1, &value, 1);
    return value;
}

static uint32_t stored(tw_dtype dtype, double value)
{
    uint32_t bits = 0;
    element_of(dtype)->store(&bits, 0, 1, &value);
    return bits;
}

/* Codes of the OCP 8-bit floating point specification 1.0, tables 1 and 2; each code stands for itself, and what lies
 * between two for the nearer, half way for the even one. */
static void test_fp8(void)
{
    static const struct {
        tw_dtype dtype;
        uint32_t code;
        double value;
    } known[] = {{TW_E4M3, 0x00, 0},
                 {TW_E4M3, 0x01, 0x1p-9},
                 {TW_E4M3, 0x07, 0x1.cp-7},
                 {TW_E4M3, 0x08, 0x1p-6},
                 {TW_E4M3, 0x38, 1},
                 {TW_E4M3, 0x7e, 448},
                 {TW_E4M3, 0xb9, -1.125},
                 {TW_E5M2, 0x01, 0x1p-16},
                 {TW_E5M2, 0x03, 0x3p-16},
                 {TW_E5M2, 0x04, 0x1p-14},
                 {TW_E5M2, 0x3c, 1},
                 {TW_E5M2, 0x7b, 57344},
                 {TW_E5M2, 0x7c, (double)INFINITY}};
    for (int i = 0; i < COUNT_OF(known); i++) {
        assert_true(loaded(known[i].dtype, known[i].code) == known[i].value);
        assert_int_equal(stored(known[i].dtype, known[i].value), known[i].code);
    }
    for (int type = 0; type < 2; type++) {
        const tw_dtype dtype = type == 0 ? TW_E4M3 : TW_E5M2;
        const uint32_t numbers = type == 0 ? 0x7f : 0x7c; /* codes of finite numbers, the sign aside */
        for (uint32_t code = 0; code < 256; code++) {
            const double value = loaded(dtype, code);
            if ((code & 127) > numbers || (type == 0 && (code & 127) == numbers))
                assert_true(isnan(value));
            else
                assert_int_equal(stored(dtype, value), code);
            if ((code & 127) + 1 >= numbers) continue;
            const double next = loaded(dtype, code + 1), middle = value + (next - value) / 2;
            assert_int_equal(stored(dtype, middle), code + code % 2);
            assert_int_equal(stored(dtype, nextafter(middle, value)), code);
            assert_int_equal(stored(dtype, nextafter(middle, next)), code + 1);
        }
    }
    assert_int_equal(stored(TW_E4M3, 464), 0x7e); /* half way to what would be 480 */
    assert_true(isnan(loaded(TW_E4M3, stored(TW_E4M3, nextafter(464, 500)))));
    assert_true(isnan(loaded(TW_E4M3, stored(TW_E4M3, -(double)INFINITY))));
    assert_int_equal(stored(TW_E5M2, 61440), 0x7c);
    assert_int_equal(stored(TW_E5M2, nextafter(61440, 0)), 0x7b);
}

/* An f32 counts as the nearest of 11 bits; what is stored comes back, whatever bits are below. */
static void test_tf32(void)
{
    static const uint32_t rounded[][2] = {{0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f800000}, {0x3f801001, 0x3f802000},
                                          {0x3f803000, 0x3f804000}, {0xbf801000, 0xbf800000}, {0x7f7fffff, 0x7f800000},
                                          {0x7f800000, 0x7f800000}, {0x00000001, 0x00000000}};
    for (int i = 0; i < COUNT_OF(rounded); i++) {
        float expected;
        memcpy(&expected, &rounded[i][1], sizeof expected);
        assert_true(loaded(TW_TF32, rounded[i][0]) == (double)expected);
    }
    int low_bits = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        const double value = element_uniform(element_of(TW_TF32), 5, i);
        low_bits += (stored(TW_TF32, value) & 0x1fff) != 0;
        assert_true(loaded(TW_TF32, stored(TW_TF32, value)) == value);
    }
    assert_true(low_bits > 900 && isnan(loaded(TW_TF32, 0x7fc00000)) && isnan(loaded(TW_TF32, 0x7f800001)));
}

static const check_case cases[] = {
    CHECK_CASE(test_fp8),
    CHECK_CASE(test_tf32),
    CHECK_CASE(test_operands),
    CHECK_CASE(test_integers),
    CHECK_CASE(test_oracles_accept),
    CHECK_CASE(test_oracles_reject),
    CHECK_CASE(test_beta_zero_and_alpha_zero),
    CHECK_CASE(test_exact_limits),
    CHECK_CASE(test_bound_sees_lossy),
    CHECK_CASE(test_sampled_rows),
    CHECK_CASE(test_oracle_special_scalars),
};

CHECK_MAIN(cases)
