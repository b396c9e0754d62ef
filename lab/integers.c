/* integers.c - operands of small whole numbers, and Freivalds' check of their product. */
#include "integers.h"

#include "whole.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL = 16 }; /* rows of op(B) held as doubles at a time */

/* Stored rows x columns of an operand. */
typedef struct extent {
    int64_t rows, cols;
} extent;

static extent extent_of(tw_op op, int64_t rows, int64_t cols)
{
    return op == TW_T || op == TW_C ? (extent){cols, rows} : (extent){rows, cols};
}

/* The largest integers for which alpha times any sum, and beta times an element, are exact in the accumulator. */
static int64_t limit_of(const product *x)
{
    const element *e = x->type, *sum = x->accumulator;
    const int digits = e->digits < x->type_b->digits ? e->digits : x->type_b->digits;
    double most = e->integer ? 127 : ldexp(1, digits < 20 ? digits - 1 : 20) - 1;
    double terms = fmax(x->alpha_size, 1) * fmax((double)x->problem.k, 1);
    if (!e->integer) most = fmin(most, floor(sqrt(ldexp(1, sum->digits - 1) / terms)));
    if (e->part_k > 0) most = fmin(most, floor(sqrt(ldexp(1, e->part_bits) / fmin((double)x->problem.k, e->part_k))));
    if (!e->integer && x->beta_size != 0) most = fmin(most, ldexp(1, sum->digits - 1) / x->beta_size);
    return (int64_t)most;
}

/* Poison, with numbers where there are elements; written == false: no numbers. */
static void *fill(const element *stored, extent x, int64_t ld, int64_t items, int64_t stride, int64_t elements,
                  element_owner owner, int64_t limit, uint64_t seed, bool written)
{
    const element *e = element_of(stored->part);
    void *data = malloc((size_t)elements * (size_t)stored->bytes + 1);
    if (data == NULL) return NULL;
    stored->poison(data, 0, elements, owner);
    double drawn[256];
    const int64_t most = sizeof drawn / sizeof *drawn;
    for (int64_t at = 0; written && at < items * x.rows; at++) {
        const int64_t first = (at / x.rows * stride + at % x.rows * ld) * stored->parts;
        for (int64_t j = 0; j < x.cols * stored->parts; j += most) {
            const int64_t left = x.cols * stored->parts - j, count = left < most ? left : most;
            element_integers(e, limit, seed, (uint64_t)(first + j), 1, count, drawn, 1);
            e->store(data, first + j, count, drawn);
        }
    }
    return data;
}

static int64_t elements_of(extent x, int64_t ld, int64_t items, int64_t stride)
{
    return x.rows > 0 && x.cols > 0 && items > 0 ? (items - 1) * stride + (x.rows - 1) * ld + x.cols : 0;
}

static bool is_integer(double value) { return value == rint(value); }

tw_status integers_make(const tw_problem *problem, const tw_batch *batch, uint64_t seed, integers *out)
{
    const tw_problem *p = problem;
    const element *e = element_of(p->dtype);
    product whole;
    char nothing = 0; /* stands for operands that are not there yet */
    if (e == NULL || product_make(p, &nothing, &nothing, &nothing, &whole) != TW_OK) return TW_BAD_ARGUMENT;
    const int64_t limit = limit_of(&whole);
    if (limit < 1 || !is_integer(p->alpha) || !is_integer(p->beta) || !is_integer(p->alpha_imaginary) ||
        !is_integer(p->beta_imaginary))
        return TW_BAD_ARGUMENT;
    *out = (integers){.problem = *p, .batch = batch != NULL ? *batch : tw_batch_make(p, 1)};
    const tw_batch *items = &out->batch;
    const extent a = extent_of(p->op_a, p->m, p->k), b = extent_of(p->op_b, p->k, p->n), c = {p->m, p->n};
    const bool reads = whole.alpha_size != 0;
    out->a_elements = elements_of(a, p->lda, items->count, items->stride_a),
    out->b_elements = elements_of(b, p->ldb, items->count, items->stride_b);
    out->c_elements = elements_of(c, p->ldc, items->count, items->stride_c);
    const element *result = element_of(e->result);
    out->a = fill(e, a, p->lda, items->stride_a > 0 ? items->count : 1, items->stride_a, out->a_elements, OWNER_A,
                  limit, seed, reads);
    out->b = fill(p->dtype_b == 0 ? e : element_of(p->dtype_b), b, p->ldb, items->stride_b > 0 ? items->count : 1,
                  items->stride_b, out->b_elements, OWNER_B, limit, seed + 1, reads);
    out->c0 = fill(result, c, p->ldc, items->count, items->stride_c, out->c_elements, OWNER_C, limit, seed + 2,
                   whole.beta_size != 0);
    out->c = malloc((size_t)out->c_elements * (size_t)result->bytes + 1);
    const int64_t n = whole.problem.n, k = whole.problem.k;
    out->sums = malloc((size_t)(n + k + 1) * sizeof *out->sums),
    out->row = malloc((size_t)(PANEL * n + k + 1) * sizeof *out->row);
    if (out->a == NULL || out->b == NULL || out->c == NULL || out->c0 == NULL || out->sums == NULL ||
        out->row == NULL) {
        integers_free(out);
        return TW_NO_MEMORY;
    }
    for (int64_t j = 0; j < n; j++) out->sums[j] = element_mix(seed + 3, (uint64_t)j) | 1;
    memcpy(out->c, out->c0, (size_t)out->c_elements * (size_t)result->bytes);
    return TW_OK;
}

void integers_free(integers *x)
{
    free(x->a), free(x->b), free(x->c), free(x->c0), free(x->sums), free(x->row);
    *x = (integers){0};
}

static uint64_t whole(double value) { return (uint64_t)(int64_t)value; }

/* sums + n: op(B) x. */
static void multiply_b(const integers *x, const product *item)
{
    const int64_t n = item->problem.n, k = item->problem.k;
    uint64_t *y = x->sums + n;
    memset(y, 0, (size_t)k * sizeof *y);
    for (int64_t p0 = 0; p0 < k; p0 += PANEL) {
        const int64_t rows = k - p0 < PANEL ? k - p0 : PANEL;
        view_load(item->b, p0, rows, 0, n, x->row, n);
        for (int64_t p = 0; p < rows; p++)
            for (int64_t j = 0; j < n; j++) y[p0 + p] += whole(x->row[p * n + j]) * x->sums[j];
    }
}

/* scalar times the sum of row i of v, each of its `count` numbers by its weight. */
static uint64_t weighted(const integers *x, double scalar, view v, int64_t i, int64_t count, const uint64_t *weights)
{
    uint64_t sum = 0;
    if (scalar == 0) return 0;
    view_load(v, i, 1, 0, count, x->row, count);
    for (int64_t q = 0; q < count; q++) sum += whole(x->row[q]) * weights[q];
    return whole(scalar) * sum;
}

/* An element of C as it must be, for the sentence. */
static double expected_at(const product *item, int64_t i, int64_t j)
{
    double sum = 0, turned = 0, high = 0;
    for (int64_t q = 0; item->reads_ab && q < item->problem.k; q++) {
        const double b = view_at(item->b, q, j);
        sum += view_at(item->a, i, q) * b;
        if (item->alpha_imaginary != 0) turned += view_at(item->a_by_i, i, q) * b;
    }
    if (item->type->integer) { /* of operands so small sums are exact */
        const double old = item->beta != 0 ? view_at(item->c0, i, j) : 0;
        return (double)whole_of(item->type_c, whole(item->alpha) * whole(sum) + whole(item->beta) * whole(old));
    }
    if (item->reads_ab) high = item->alpha * sum + item->alpha_imaginary * turned;
    if (item->beta != 0) high += item->beta * view_at(item->c0, i, j);
    if (item->beta_imaginary != 0) high += item->beta_imaginary * view_at(item->c0_by_i, i, j);
    return high;
}

/* Is row i of the item right? */
static bool row_right(const integers *x, const product *item, view c, int64_t i)
{
    const int64_t n = item->problem.n, k = item->problem.k;
    const uint64_t *y = x->sums + n;
    uint64_t difference = 0;
    view_load(c, i, 1, 0, n, x->row, n);
    for (int64_t j = 0; j < n; j++) {
        uint64_t found = 0;
        if (item->type->integer)
            whole_load(c, i, 1, j, 1, &found, 1);
        else if (!(fabs(x->row[j]) <= 0x1p53) || x->row[j] != rint(x->row[j]))
            return false;
        else
            found = whole(x->row[j]);
        difference += found * x->sums[j];
    }
    if (item->reads_ab) {
        difference -= weighted(x, item->alpha, item->a, i, k, y);
        difference -= weighted(x, item->alpha_imaginary, item->a_by_i, i, k, y);
    }
    difference -= weighted(x, item->beta, item->c0, i, n, x->sums);
    difference -= weighted(x, item->beta_imaginary, item->c0_by_i, i, n, x->sums);
    return item->type->integer ? whole_of(item->type_c, difference) == 0 : difference == 0;
}

/* Every byte between the elements is what it was; those are put back. */
static bool gaps_kept(integers *x, size_t bytes)
{
    const tw_problem *p = &x->problem;
    for (int64_t at = 0; at < x->batch.count * p->m; at++) {
        size_t first = (size_t)(at / p->m * x->batch.stride_c + at % p->m * p->ldc) * bytes;
        memcpy((char *)x->c + first, (char *)x->c0 + first, (size_t)p->n * bytes);
    }
    return memcmp(x->c, x->c0, (size_t)x->c_elements * bytes) == 0;
}

/* Where an item begins in an operand. */
static void *item_at(void *data, const element *e, int64_t first) { return (char *)data + first * e->bytes; }

/* The first wrong element of row i, and what it must be. */
static void describe_row(const product *item, view c, int64_t i, int64_t number, char *text, size_t text_bytes)
{
    int64_t j = -1;
    double found, expected;
    do {
        j++;
        found = view_at(c, i, j), expected = expected_at(item, i, j);
    } while (found == expected && j < item->problem.n - 1);
    snprintf(text, text_bytes, "item %" PRId64 ": C[%" PRId64 ", %" PRId64 "]%s is %.17g, expected %.17g", number, i,
             j / item->parts,
             item->parts == 1 ? ""
             : j % 2 == 0     ? " (its real part)"
                              : " (its imaginary part)",
             found, expected);
}

bool integers_judge(integers *x, char *text, size_t text_bytes)
{
    const tw_problem *p = &x->problem;
    const element *e = element_of(p->dtype), *result = element_of(e->result);
    for (int64_t number = 0; p->m > 0 && p->n > 0 && number < x->batch.count; number++) {
        const int64_t first_c = number * x->batch.stride_c;
        product item;
        if (product_make(p, item_at(x->a, e, number * x->batch.stride_a), item_at(x->b, e, number * x->batch.stride_b),
                         item_at(x->c0, result, first_c), &item) != TW_OK) {
            snprintf(text, text_bytes, "the problem is not valid");
            return false;
        }
        view c = item.c0;
        c.base = item_at(x->c, result, first_c);
        if (item.reads_ab && (number == 0 || x->batch.stride_b > 0)) multiply_b(x, &item);
        for (int64_t i = 0; i < p->m; i++) {
            if (row_right(x, &item, c, i)) continue;
            describe_row(&item, c, i, number, text, text_bytes);
            return false;
        }
    }
    if (p->m > 0 && p->n > 0 && !gaps_kept(x, (size_t)result->bytes)) {
        snprintf(text, text_bytes, "what lies between the rows or items of C was written");
        return false;
    }
    return true;
}
