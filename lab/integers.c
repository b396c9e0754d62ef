/* integers.c - operands of small whole numbers, and Freivalds' check of their product. */
#include "integers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stored rows x columns of an operand. */
typedef struct extent {
    int64_t rows, cols;
} extent;

static extent a_extent(const tw_problem *p) { return p->op_a == TW_N ? (extent){p->m, p->k} : (extent){p->k, p->m}; }
static extent b_extent(const tw_problem *p) { return p->op_b == TW_N ? (extent){p->k, p->n} : (extent){p->n, p->k}; }

/* The largest integers for which alpha times any sum, and beta times an element, are exact in the accumulator. */
static int64_t limit_of(const tw_problem *p)
{
    const element *e = element_of(p->dtype), *sum = element_of(e->accumulator);
    double most = e->integer ? 127 : ldexp(1, e->digits < 20 ? e->digits - 1 : 20) - 1;
    double terms = fmax(fabs(p->alpha), 1) * fmax((double)p->k, 1);
    if (!e->integer) most = fmin(most, floor(sqrt(ldexp(1, sum->digits - 1) / terms)));
    if (!e->integer && p->beta != 0) most = fmin(most, ldexp(1, sum->digits - 1) / fabs(p->beta));
    return (int64_t)most;
}

/* Poison, with numbers where there are elements; written == false: no numbers. */
static void *fill(const element *e, extent x, int64_t ld, int64_t items, int64_t stride, int64_t elements,
                  element_owner owner, int64_t limit, uint64_t seed, bool written)
{
    void *data = malloc((size_t)elements * (size_t)e->bytes + 1);
    if (data == NULL) return NULL;
    e->poison(data, 0, elements, owner);
    for (int64_t at = 0; written && at < items * x.rows; at++) {
        int64_t first = at / x.rows * stride + at % x.rows * ld;
        for (int64_t j = first; j < first + x.cols; j++)
            e->store(data, j, 1, &(double){element_integer(limit, seed, (uint64_t)j)});
    }
    return data;
}

static int64_t elements_of(extent x, int64_t ld, int64_t items, int64_t stride)
{
    return x.rows > 0 && x.cols > 0 && items > 0 ? (items - 1) * stride + (x.rows - 1) * ld + x.cols : 0;
}

tw_status integers_make(const tw_problem *problem, const tw_batch *batch, uint64_t seed, integers *out)
{
    const tw_problem *p = problem;
    const element *e = element_of(p->dtype);
    const int64_t limit = e != NULL ? limit_of(p) : 0;
    if (limit < 1 || p->alpha != rint(p->alpha) || p->beta != rint(p->beta)) return TW_BAD_ARGUMENT;
    *out = (integers){.problem = *p, .batch = batch != NULL ? *batch : tw_batch_make(p, 1)};
    const tw_batch *items = &out->batch;
    const extent a = a_extent(p), b = b_extent(p), c = {p->m, p->n};
    const bool reads = p->alpha != 0;
    out->a_elements = elements_of(a, p->lda, items->count, items->stride_a),
    out->b_elements = elements_of(b, p->ldb, items->count, items->stride_b);
    out->c_elements = elements_of(c, p->ldc, items->count, items->stride_c);
    const element *result = element_of(e->result);
    out->a = fill(e, a, p->lda, items->stride_a > 0 ? items->count : 1, items->stride_a, out->a_elements, OWNER_A,
                  limit, seed, reads);
    out->b = fill(e, b, p->ldb, items->stride_b > 0 ? items->count : 1, items->stride_b, out->b_elements, OWNER_B,
                  limit, seed + 1, reads);
    out->c0 = fill(result, c, p->ldc, items->count, items->stride_c, out->c_elements, OWNER_C, limit, seed + 2,
                   p->beta != 0);
    out->c = malloc((size_t)out->c_elements * (size_t)result->bytes + 1);
    out->sums = malloc((size_t)(p->n + p->k + 1) * sizeof *out->sums),
    out->row = malloc((size_t)(p->m + p->n + p->k + 1) * sizeof *out->row);
    if (out->a == NULL || out->b == NULL || out->c == NULL || out->c0 == NULL || out->sums == NULL ||
        out->row == NULL) {
        integers_free(out);
        return TW_NO_MEMORY;
    }
    for (int64_t j = 0; j < p->n; j++) out->sums[j] = element_mix(seed + 3, (uint64_t)j) | 1;
    memcpy(out->c, out->c0, (size_t)out->c_elements * (size_t)result->bytes);
    return TW_OK;
}

void integers_free(integers *x)
{
    free(x->a), free(x->b), free(x->c), free(x->c0), free(x->sums), free(x->row);
    *x = (integers){0};
}

static uint64_t whole(double value) { return (uint64_t)(int64_t)value; }

/* sums + n: op(B) x of the item whose B begins at element `first`. */
static void multiply_b(const integers *x, const element *e, int64_t first)
{
    const tw_problem *p = &x->problem;
    const extent b = b_extent(p);
    uint64_t *y = x->sums + p->n;
    memset(y, 0, (size_t)p->k * sizeof *y);
    for (int64_t i = 0; i < b.rows; i++) {
        e->load(x->b, first + i * p->ldb, 1, b.cols, x->row, 1);
        for (int64_t j = 0; j < b.cols; j++)
            y[p->op_b == TW_N ? i : j] += whole(x->row[j]) * x->sums[p->op_b == TW_N ? j : i];
    }
}

/* An element of C as it must be, for the sentence. */
static double expected_at(const integers *x, const element *e, int64_t a, int64_t b, int64_t c, int64_t i, int64_t j)
{
    const tw_problem *p = &x->problem;
    double u, v, old = 0, sum = 0;
    for (int64_t q = 0; p->alpha != 0 && q < p->k; q++) {
        e->load(x->a, a + (p->op_a == TW_N ? i * p->lda + q : q * p->lda + i), 1, 1, &u, 1);
        e->load(x->b, b + (p->op_b == TW_N ? q * p->ldb + j : j * p->ldb + q), 1, 1, &v, 1);
        sum += u * v;
    }
    if (p->beta != 0) element_of(e->result)->load(x->c0, c + i * p->ldc + j, 1, 1, &old, 1);
    const double high = p->alpha * sum + p->beta * old;
    return e->integer ? element_wrap(high, 0) : high;
}

/* Is row i of the item right? a, b, c: where it begins in the operands. */
static bool row_right(const integers *x, const element *e, int64_t a, int64_t c, int64_t i)
{
    const tw_problem *p = &x->problem;
    const element *result = element_of(e->result);
    const uint64_t *y = x->sums + p->n;
    uint64_t sum = 0, found = 0, old = 0;
    if (p->alpha != 0) {
        e->load(x->a, a + (p->op_a == TW_N ? i * p->lda : i), p->op_a == TW_N ? 1 : p->lda, p->k, x->row, 1);
        for (int64_t q = 0; q < p->k; q++) sum += whole(x->row[q]) * y[q];
    }
    result->load(x->c, c + i * p->ldc, 1, p->n, x->row, 1);
    for (int64_t j = 0; j < p->n; j++) {
        if (!(fabs(x->row[j]) <= 0x1p53) || x->row[j] != rint(x->row[j])) return false;
        found += whole(x->row[j]) * x->sums[j];
    }
    if (p->beta != 0) {
        result->load(x->c0, c + i * p->ldc, 1, p->n, x->row, 1);
        for (int64_t j = 0; j < p->n; j++) old += whole(x->row[j]) * x->sums[j];
    }
    const uint64_t difference = found - whole(p->alpha) * sum - whole(p->beta) * old;
    return (e->integer ? (uint32_t)difference : difference) == 0;
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

bool integers_judge(integers *x, char *text, size_t text_bytes)
{
    const tw_problem *p = &x->problem;
    const element *e = element_of(p->dtype), *result = element_of(e->result);
    double found = 0;
    for (int64_t item = 0; p->m > 0 && p->n > 0 && item < x->batch.count; item++) {
        const int64_t a = item * x->batch.stride_a, b = item * x->batch.stride_b, c = item * x->batch.stride_c;
        if (p->alpha != 0 && (item == 0 || x->batch.stride_b > 0)) multiply_b(x, e, b);
        for (int64_t i = 0; i < p->m; i++) {
            if (row_right(x, e, a, c, i)) continue;
            int64_t j = -1;
            double expected = 0;
            do {
                j++;
                result->load(x->c, c + i * p->ldc + j, 1, 1, &found, 1);
                expected = expected_at(x, e, a, b, c, i, j);
            } while (found == expected && j < p->n - 1);
            snprintf(text, text_bytes, "item %" PRId64 ": C[%" PRId64 ", %" PRId64 "] is %.17g, expected %.17g", item,
                     i, j, found, expected);
            return false;
        }
    }
    if (p->m > 0 && p->n > 0 && !gaps_kept(x, (size_t)result->bytes)) {
        snprintf(text, text_bytes, "what lies between the rows or items of C was written");
        return false;
    }
    return true;
}
