/* test_lab_mistake.c - each known mistake of a kernel is named, and a right product, or one that is wrong in no known
 * way, is not. */
#include <stdio.h>
#include <string.h>

#include "mistake.h"
#include "oracle.h"
#include "support/plain.h"

enum { EDGE = 40, LD = 43 };

/* How a planted kernel goes wrong. */
typedef struct plant {
    bool a, b, c;         /* row and column exchanged */
    int64_t tile;         /* within tiles of this edge; 0: in all */
    int64_t first, last;  /* products of each sum that are missing at its begin, its end */
    double times;         /* the product */
    int64_t row, col;     /* from which on 1 is added; -1: nowhere */
    const char *expected; /* "": nothing is named */
} plant;

#define RIGHT .times = 1, .row = -1, .col = -1

/* Row or column of what stands at (i, j) after the exchange. */
static int64_t exchanged(int64_t i, int64_t j, int64_t tile) { return tile == 0 ? j : i - i % tile + j % tile; }

static void compute(const oracle *o, const plant *x, void *c)
{
    const tw_problem *p = &o->problem;
    const view a = {.type = element_of(p->dtype), .base = o->a, .row = p->lda, .col = 1},
               b = {.type = element_of(p->dtype), .base = o->b, .row = p->ldb, .col = 1};
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0;
            for (int64_t q = x->first; q < p->k - x->last; q++)
                sum += view_at(a, x->a ? exchanged(i, q, x->tile) : i, x->a ? exchanged(q, i, x->tile) : q) *
                       view_at(b, x->b ? exchanged(q, j, x->tile) : q, x->b ? exchanged(j, q, x->tile) : j);
            sum = x->times * sum + (x->row >= 0 && i >= x->row && j >= x->col);
            put(p, c, x->c ? j : i, x->c ? i : j, sum);
        }
}

static void test_mistakes(void)
{
    static const plant plants[] = {
        {RIGHT, .expected = ""},
        {RIGHT, .c = true, .expected = "C is the transpose of the product: its row and column are exchanged"},
        {RIGHT, .a = true, .expected = "C is the transpose of A times B: row and column of A are exchanged"},
        {RIGHT, .b = true, .expected = "C is A times the transpose of B: row and column of B are exchanged"},
        {RIGHT, .a = true, .b = true,
         .expected = "C is the product of the transposes: row and column of A and of B are exchanged"},
        {RIGHT, .b = true, .tile = 8, .expected = "within its tiles of 8 x 8, row and column of B are exchanged"},
        {RIGHT, .a = true, .tile = 4, .expected = "within its tiles of 4 x 4, row and column of A are exchanged"},
        {RIGHT, .a = true, .b = true, .tile = 2,
         .expected = "within its tiles of 2 x 2, row and column of A and of B are exchanged"},
        {RIGHT, .last = 1, .expected = "the last of the 40 products of each sum is missing"},
        {RIGHT, .last = 8, .expected = "the last 8 of the 40 products of each sum are missing"},
        {RIGHT, .first = 1, .expected = "the first of the 40 products of each sum is missing"},
        {RIGHT, .first = 39, .expected = "the first 39 of the 40 products of each sum are missing"},
        {RIGHT, .first = 1, .last = 1, .expected = ""},
        {.times = 0, .row = -1, .col = -1, .expected = "C is 0: no product was added"},
        {.times = 2, .row = -1, .col = -1, .expected = "C is twice the product: each is added twice"},
        {.times = -1, .row = -1, .col = -1, .expected = ""},
        {.times = 1, .row = 0, .col = 39, .expected = "40 of the 1600 elements are wrong, all in column 39"},
        {.times = 1, .row = 32, .col = 0, .expected = "320 of the 1600 elements are wrong, all in rows 32 to 39"},
        {.times = 1,
         .row = 39,
         .col = 38,
         .expected = "2 of the 1600 elements are wrong, all in row 39 and columns 38 to 39"},
        {.times = 1, .row = 0, .col = 0, .expected = ""}};
    for (int type = 0; type < 2; type++) {
        tw_problem p = tw_problem_make(dtypes[type], TW_N, TW_N, EDGE, EDGE, EDGE);
        p.lda = p.ldb = p.ldc = LD;
        oracle o;
        make(&p, ORACLE_EXACT, draw(), 0, &o);
        void *c = malloc(oracle_c_bytes(&o));
        assert_true(c != NULL);
        for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
            char text[MISTAKE_BYTES] = "unset";
            oracle_poison(&o, c);
            compute(&o, &plants[i], c);
            const bool named = mistake_name(&o, c, text);
            if (strcmp(text, plants[i].expected) != 0) fail_msg("mistake %zu is called '%s'", i, text);
            assert_int_equal(named, plants[i].expected[0] != '\0');
        }
        char text[MISTAKE_BYTES];
        oracle_poison(&o, c);
        assert_true(mistake_name(&o, c, text));
        assert_string_equal(text, "all of C is still NaN: not written, or computed from what must not be read (C where "
                                  "beta is 0, or beyond A and B)");
        free(c);
        oracle_free(&o);
    }
}

/* Where rows and columns differ in number they cannot be exchanged; the rest is told. */
static void test_uneven(void)
{
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 5, 9, 7);
    const plant less = {RIGHT, .last = 3}, right = {RIGHT};
    char text[MISTAKE_BYTES];
    oracle o;
    float c[45];
    make(&p, ORACLE_EXACT, 1, 0, &o);
    compute(&o, &less, c);
    assert_true(mistake_name(&o, c, text));
    assert_string_equal(text, "the last 3 of the 7 products of each sum are missing");
    compute(&o, &right, c);
    c[44] = (float)NAN;
    assert_true(mistake_name(&o, c, text));
    assert_string_equal(text, "1 of the 45 elements is wrong, all in row 4 and column 8");
    oracle_free(&o);
}

/* What is done with alpha and beta: x of the product and y of C before. */
static void test_scalars(void)
{
    static const struct {
        double x, y;
        const char *expected;
    } plants[] = {{2, 3, ""},
                  {1, 0, "alpha and beta are ignored: C is A B"},
                  {2, 0, "beta is ignored: C is alpha A B"},
                  {1, 3, "alpha is ignored: C is A B + beta C"},
                  {2, 1, "beta is taken as 1: C is alpha A B + C"},
                  {1, 1, "alpha and beta are ignored: C is A B + C"},
                  {2, 6, "alpha multiplies C too: C is alpha (A B + beta C)"},
                  {4, 3, "alpha is applied twice: C is alpha^2 A B + beta C"},
                  {3, 3, ""}};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 5, 9, 7);
    const plant plain = {RIGHT};
    char text[MISTAKE_BYTES];
    float c[45];
    oracle o;
    p.alpha = 2, p.beta = 3;
    make(&p, ORACLE_EXACT, 1, 0, &o);
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        compute(&o, &plain, c);
        for (int e = 0; e < 45; e++) c[e] = (float)(plants[i].x * c[e] + plants[i].y * ((const float *)o.c0)[e]);
        assert_int_equal(mistake_name(&o, c, text), plants[i].expected[0] != '\0');
        assert_string_equal(text, plants[i].expected);
    }
    oracle_free(&o);
}

/* What it cannot judge it does not name. */
static void test_others(void)
{
    static float c[200 * 200];
    char text[MISTAKE_BYTES] = "unset";
    tw_problem p[3];
    for (int i = 0; i < 3; i++) p[i] = tw_problem_make(i == 1 ? TW_CF32 : TW_F32, TW_N, TW_N, 6, 6, 6);
    p[2].m = 200;
    for (int i = 0; i < 3; i++) {
        oracle o;
        make(&p[i], i == 0 ? ORACLE_BOUND : ORACLE_EXACT, 1, 0, &o);
        oracle_poison(&o, c);
        assert_false(mistake_name(&o, c, text));
        assert_string_equal(text, "");
        oracle_free(&o);
    }
}

static const check_case cases[] = {
    CHECK_CASE(test_mistakes),
    CHECK_CASE(test_uneven),
    CHECK_CASE(test_scalars),
    CHECK_CASE(test_others),
};

CHECK_MAIN(cases)
