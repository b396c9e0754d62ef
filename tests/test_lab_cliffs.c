/* test_lab_cliffs.c - the shapes of `bench --cliffs` follow from their seed, lie in their range and are of all kinds,
 * and those beside them are friendlier. */
#include <math.h>
#include <string.h>

#include "bench/cliffs.h"
#include "support/check.h"

enum { SHAPES = 2000 };
static const cliff_range range = {0x1p20, 0x1p32, 1e8};

static double work_of(const tw_problem *p) { return (double)p->m * (double)p->n * (double)p->k; }

static bool same(const bench_case *x, const bench_case *y)
{
    return x->m == y->m && x->n == y->n && x->k == y->k && x->op_a == y->op_a && x->op_b == y->op_b && x->pad == y->pad;
}

/* Whatever was drawn before, of however many. */
static void test_draw_follows_from_the_seed(void)
{
    bench_case first[SHAPES];
    int others = 0;
    for (int i = 0; i < SHAPES; i++) first[i] = cliffs_draw(&range, TW_F32, 7, i);
    for (int i = SHAPES - 1; i >= 0; i--) {
        const bench_case again = cliffs_draw(&range, TW_F32, 7, i), other = cliffs_draw(&range, TW_F32, 8, i);
        assert_true(same(&first[i], &again));
        others += !same(&first[i], &other);
        if (i > 0) assert_true(!same(&first[i], &first[i - 1]));
    }
    assert_true(others > SHAPES * 9 / 10);
}

static void test_draw_keeps_the_range(void)
{
    static const cliff_range ranges[] = {
        {0x1p20, 0x1p32, 1e8}, {0x1p20, 0x1p21, 0x1p22}, {0x1p20, 0x1.6a09ep36, 1.5e9}};
    static const tw_dtype dtypes[] = {TW_F32, TW_F64, TW_BF16, TW_I8, TW_CF64};
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < SHAPES; i++) {
            const tw_dtype dtype = dtypes[i % 5];
            const bench_case c = cliffs_draw(&ranges[r], dtype, UINT64_MAX, i);
            const tw_problem p = case_problem(&c, dtype);
            const double bytes = tw_lab_dtype_of(dtype)->bytes,
                         least = (work_of(&p) / (double)p.n + work_of(&p) / (double)p.m) * bytes; /* A and B, packed */
            assert_true(p.m >= 1 && p.n >= 1 && p.k >= 1);
            assert_true(work_of(&p) > ranges[r].least_work && work_of(&p) < ranges[r].most_work);
            assert_true(least < ranges[r].most_bytes);
        }
}

static void test_draw_has_all_kinds(void)
{
    int ops[2][2] = {{0}}, padded = 0, odd = 0, deep = 0, thin = 0, small = 0, large = 0;
    for (int i = 0; i < SHAPES; i++) {
        const bench_case c = cliffs_draw(&range, TW_F32, 1, i);
        const double work = (double)c.m * (double)c.n * (double)c.k;
        ops[c.op_a == TW_T][c.op_b == TW_T]++;
        padded += c.pad > 0, odd += c.pad == 1;
        deep += c.k > 16 * c.m && c.k > 16 * c.n, thin += c.m <= 16 || c.n <= 16;
        small += (work < 0x1p24), large += (work > 0x1p28);
    }
    for (int i = 0; i < 4; i++) assert_true(ops[i / 2][i % 2] > SHAPES / 8);
    assert_true(padded > SHAPES / 4 && padded < SHAPES / 2 && odd > SHAPES / 10);
    assert_true(deep > SHAPES / 20 && thin > SHAPES / 20 && small > SHAPES / 20 && large > SHAPES / 20);
}

static bool contains(const tw_problem *p, const tw_problem *q)
{
    return p->m >= q->m && p->n >= q->n && p->k >= q->k && p->op_a == q->op_a && p->op_b == q->op_b;
}

static void test_beside(void)
{
    for (int i = 0; i < SHAPES; i++) {
        const bench_case c = cliffs_draw(&range, TW_BF16, 3, i);
        const cliff_problems all = cliffs_beside(&range, &c, TW_BF16);
        const tw_problem *shape = &all.items[0];
        assert_true(all.count >= 1 && all.count <= CLIFF_PROBLEMS && all.friendlier <= all.count);
        assert_true(all.aligned == 0 || all.aligned == 1);
        assert_true(all.friendlier == all.aligned + 1);
        const tw_problem *aligned = &all.items[all.aligned];
        assert_true(aligned->m == shape->m && aligned->n == shape->n && aligned->k == shape->k);
        assert_true(aligned->lda % 8 == 0 && aligned->ldb % 8 == 0 && aligned->ldc % 4 == 0);
        for (int j = all.friendlier; j < all.count; j++) {
            const tw_problem *p = &all.items[j], *before = &all.items[j == all.friendlier ? 0 : j - 1];
            assert_true(contains(p, before) && work_of(p) > work_of(before));
            assert_true(p->m % 8 == 0 && p->n % 8 == 0 && p->k % 8 == 0 && p->lda % 8 == 0 && p->ldb % 8 == 0);
            assert_true(j == all.friendlier || work_of(p) < 2 * range.most_work);
        }
    }
}

static void test_beside_what_is_friendly(void)
{
    const bench_case friendly = {.m = 256, .n = 128, .k = 384}, apart = {.m = 256, .n = 128, .k = 384, .pad = 1},
                     row = {.m = 1, .n = 4096, .k = 4096};
    cliff_problems all = cliffs_beside(&range, &friendly, TW_F32);
    assert_true(all.count == 1 && all.aligned == 0 && all.friendlier == 1);
    all = cliffs_beside(&range, &apart, TW_F32);
    assert_true(all.count == 2 && all.aligned == 1 && all.friendlier == 2 && all.items[1].lda == 384);
    all = cliffs_beside(&range, &row, TW_F32);
    assert_true(all.count == 5 && all.aligned == 0 && all.items[1].m == 8 && all.items[4].m == 128);
}

static void test_ratio(void)
{
    const cliff c = {.median_s = 3, .friendlier_s = 2};
    assert_true(fabs(cliff_ratio(&c) - 1.5) < 1e-12);
}

static const check_case cases[] = {
    CHECK_CASE(test_draw_follows_from_the_seed), CHECK_CASE(test_draw_keeps_the_range),
    CHECK_CASE(test_draw_has_all_kinds),         CHECK_CASE(test_beside),
    CHECK_CASE(test_beside_what_is_friendly),    CHECK_CASE(test_ratio),
};

CHECK_MAIN(cases)
