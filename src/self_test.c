/* self_test.c - see self_test.h. */
#include "self_test.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALPHA = 2, DEPTH = 1027, MANY_UNITS = 1024, ITEMS = 3, SEED = 1 << 20 };

static int bytes_of(tw_dtype dtype) { return dtype_find(dtype)->lab.bytes; }

/* ---- plans ---- */

/* Rows that 128-bit access takes, with a gap behind them, or rows that it does not take. */
static int64_t ld_of(int64_t cols, tw_dtype dtype, bool wide)
{
    const int64_t lanes = 16 / bytes_of(dtype);
    return round_up(cols, lanes) + (wide ? lanes : 1);
}

bool self_test_uses(const plan *of, self_test_way way)
{
    const bool batch = of->gpu.items > 0;
    if (batch || way == SELF_TEST_BATCH) return batch && way == SELF_TEST_BATCH;
    return way == SELF_TEST_WHOLE || of->row->gpu.adds != NULL;
}

tw_status self_test_plans(const plan *of, const device_facts *device, self_test_way way, plan out[SELF_TEST_BETAS])
{
    const bool divides = way == SELF_TEST_SPLITS;
    const tw_lab_kernel *row = &of->row->lab;
    const bool wide = kernel_is_wide(of->row, &of->problem);
    tw_problem p = of->problem;
    p.epilogue = NULL; /* of the kernel as it is without */
    p.m = row->tile_m == 1 ? 1 : row->tile_m + 3, p.n = row->tile_n == 1 ? 1 : row->tile_n + 5,
    p.k = divides ? DEPTH : 2 * row->tile_k + 3;
    p.lda = ld_of(problem_a_cols(&p), p.dtype, wide), p.ldb = ld_of(problem_b_cols(&p), p.dtype, wide);
    p.ldc = ld_of(p.n, p.dtype_c, wide);
    p.align_a = p.align_b = wide ? 16 : (uint32_t)bytes_of(p.dtype);
    p.align_c = wide ? 16 : (uint32_t)bytes_of(p.dtype_c);
    p.alpha = ALPHA;
    /* a device of one unit gains nothing by dividing k */
    device_facts facts = *device;
    facts.verdicts = NULL, facts.no_workspace = false, facts.multiprocessors = divides ? MANY_UNITS : 1;
    facts.splits_k = divides;
    facts.items = way == SELF_TEST_BATCH ? ITEMS : 0;
    for (int i = 0; i < SELF_TEST_BETAS; i++) {
        p.beta = i == 0 ? 0 : -1;
        TRY(plan_find(&p, &facts, &(tw_lab_choice){.kernel = row->name}, &out[i]));
    }
    return TW_OK;
}

/* ---- elements ---- */

/* An integer that the type holds, and whose products of a test have sums that C's type holds. */
static int value_at(size_t at, tw_dtype dtype, tw_dtype dtype_c)
{
    const unsigned most = bytes_of(dtype_c) == 2 ? 1 : 5;
    uint32_t x = (uint32_t)at * 2654435761u;
    x = (x ^ x >> 15) * 2246822519u;
    x ^= x >> 13;
    return dtype == TW_U8 ? (int)(x % (most + 1)) : (int)(x % (2 * most + 1)) - (int)most;
}

/* Of an f32 that the type of 2 bytes holds: the exponent of f32 is biased by 127. */
static uint16_t half_of(const dtype_row *type, uint32_t bits)
{
    const uint32_t rest = (bits & 0x7fffffff) >> (23 - type->fraction);
    return (uint16_t)((bits >> 16 & 0x8000) |
                      (rest != 0 ? rest - ((127U - (uint32_t)type->bias) << type->fraction) : 0));
}

static double half_load(const dtype_row *type, uint16_t bits)
{
    const int one = 1 << type->fraction, most = (1 << (15 - type->fraction)) - 1, fraction = bits & (one - 1),
              exponent = bits >> type->fraction & most;
    const double size = exponent == most ? (fraction != 0 ? (double)NAN : (double)INFINITY)
                                         : ldexp(exponent > 0 ? fraction + one : fraction,
                                                 (exponent > 0 ? exponent : 1) - type->bias - type->fraction);
    return bits >> 15 ? -size : size;
}

static void put(tw_dtype dtype, unsigned char *to, int value)
{
    const float single = (float)value;
    const double wide = value;
    const int8_t byte = (int8_t)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (dtype_find(dtype)->class == DTYPE_HALF) {
        const uint16_t half = half_of(dtype_find(dtype), bits);
        memcpy(to, &half, sizeof half);
        return;
    }
    switch (dtype) {
    case TW_F64: memcpy(to, &wide, sizeof wide); return;
    case TW_F32: memcpy(to, &single, sizeof single); return;
    case TW_I32: memcpy(to, &value, sizeof value); return;
    default: memcpy(to, &byte, sizeof byte);
    }
}

static double load(tw_dtype dtype, const unsigned char *from)
{
    float single = 0;
    double wide = 0;
    uint16_t half = 0;
    int32_t whole = 0;
    switch (dtype) {
    case TW_F64: memcpy(&wide, from, sizeof wide); return wide;
    case TW_F32: memcpy(&single, from, sizeof single); return single;
    case TW_I32: memcpy(&whole, from, sizeof whole); return whole;
    default: memcpy(&half, from, sizeof half); return half_load(dtype_find(dtype), half);
    }
}

/* For a sentence: a NaN has no sign. */
static double get(tw_dtype dtype, const unsigned char *from)
{
    const double x = load(dtype, from);
    return isnan(x) ? (double)NAN : x;
}

/* ---- operands ---- */

/* One operand as it lies in memory: `lead` elements, then the rows of each item, `stride` apart; all that is none of
 * its elements is poisoned. */
typedef struct matrix {
    tw_dtype dtype;
    int64_t items, rows, cols, ld, stride, lead;
    unsigned char *bytes;
    int *values; /* items x rows x cols */
    buffer buffer;
} matrix;

static size_t place(const matrix *x, int64_t item, int64_t i, int64_t j)
{
    return (size_t)(x->lead + item * x->stride + i * x->ld + j) * (size_t)bytes_of(x->dtype);
}

/* The place of the element that is number `at` of its values. */
static size_t place_of(const matrix *x, int64_t at)
{
    const int64_t each = x->rows * x->cols;
    return place(x, at / each, at % each / x->cols, at % x->cols);
}

static int64_t value_count(const matrix *x) { return x->items * x->rows * x->cols; }

static size_t all_bytes(const matrix *x) { return place(x, x->items, 0, 0); }

static operand whole(const matrix *x)
{
    const int64_t count = x->lead + x->items * x->stride;
    return (operand){.host = x->bytes,
                     .rows = 1,
                     .cols = count,
                     .ld = count,
                     .device_ld = count,
                     .element_bytes = (size_t)bytes_of(x->dtype),
                     .whole = true};
}

/* The kernel of a problem on the device gets operands that begin at offsets. */
static bool make(const plan *made, tw_dtype dtype, int64_t rows, int64_t cols, int64_t ld, matrix *out)
{
    const tw_problem *p = &made->problem;
    const int64_t gap = kernel_is_wide(made->row, p) ? 16 / bytes_of(dtype) : 1, items = max_i64(made->gpu.items, 1);
    *out = (matrix){.dtype = dtype,
                    .items = items,
                    .rows = rows,
                    .cols = cols,
                    .ld = ld,
                    .stride = rows * ld + (items > 1 ? gap : 0),
                    .lead = p->place_c != TW_DEVICE ? 0 : gap};
    const size_t bytes = all_bytes(out);
    out->bytes = malloc(bytes);
    out->values = malloc((size_t)value_count(out) * sizeof *out->values);
    if (out->bytes == NULL || out->values == NULL) return false;
    memset(out->bytes, 0xff, bytes); /* NaN in all types that have one */
    return true;
}

static void drop(const engine_ops *ops, engine *e, matrix *x)
{
    ops->release(e, &x->buffer);
    free(x->bytes), free(x->values);
    *x = (matrix){0};
}

static void fill(matrix *x, tw_dtype dtype_c, size_t seed)
{
    for (int64_t i = 0; i < value_count(x); i++) {
        x->values[i] = value_at(seed + (size_t)i, x->dtype, dtype_c);
        put(x->dtype, x->bytes + place_of(x, i), x->values[i]);
    }
}

/* ---- a launch ---- */

typedef struct test {
    const engine_ops *ops;
    engine *engine;
    const plan *of;
    matrix a, b, c;
    int *sums;            /* of A and B, of each item */
    unsigned char *found; /* what became of C */
    self_test_result *result;
} test;

static tw_status upload(test *t, matrix *x)
{
    const operand from = whole(x);
    TRY(t->ops->upload(t->engine, &from, true, &x->buffer));
    x->buffer.offset = x->lead;
    return TW_OK;
}

/* An item's products, from its own values. */
static void add_products(const test *t, const tw_problem *p, int64_t item)
{
    const int *a_values = t->a.values + item * t->a.rows * t->a.cols,
              *b_values = t->b.values + item * t->b.rows * t->b.cols;
    const bool across = op_transposes(p->op_a), along = op_transposes(p->op_b);
    int *sums = t->sums + item * p->m * p->n;
    memset(sums, 0, (size_t)(p->m * p->n) * sizeof *sums);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t q = 0; q < p->k; q++) {
            const int a = a_values[across ? q * t->a.cols + i : i * t->a.cols + q];
            const int *b = along ? b_values + q : b_values + q * t->b.cols;
            for (int64_t j = 0; j < p->n; j++) sums[i * p->n + j] += a * b[along ? j * t->b.cols : j];
        }
}

/* The verdict: NAME WHAT on DEVICE: WHY. */
static void blame(const test *t, bool lasts, const char *what, const char *why)
{
    tw_device device;
    t->ops->describe(t->engine, &device);
    *t->result = (self_test_result){.lasts = lasts};
    snprintf(t->result->text, sizeof t->result->text, "%s %s on %s: %.400s", t->of->row->lab.name, what, device.name,
             why);
    for (char *at = t->result->text; *at != '\0'; at++) /* one line, though a compiler's log has several */
        if (*at == '\n') *at = ' ';
}

/* Is what came back what plain loops make of C, and what was not to be written as it was? */
static void compare(const test *t, const plan *made)
{
    const tw_problem *p = &made->problem;
    const size_t size = (size_t)bytes_of(t->c.dtype);
    for (int64_t i = 0; i < value_count(&t->c); i++)
        put(t->c.dtype, t->c.bytes + place_of(&t->c, i), ALPHA * t->sums[i] + (int)p->beta * t->c.values[i]);
    if (memcmp(t->found, t->c.bytes, all_bytes(&t->c)) == 0) return;
    size_t at = 0;
    while (memcmp(t->found + at, t->c.bytes + at, size) == 0) at += size;
    const int64_t first = (int64_t)(at / size) - t->c.lead, item = first / t->c.stride, in_item = first % t->c.stride,
                  i = in_item / p->ldc, j = in_item % p->ldc;
    const bool inside = first >= 0 && i < p->m && j < p->n;
    char why[300], parts[40] = "", of_item[40] = "", element[160];
    if (made->gpu.k_split.count > 0)
        snprintf(parts, sizeof parts, ", k in %" PRId64 " parts", made->gpu.k_split.splits);
    if (made->gpu.items > 0) {
        snprintf(parts, sizeof parts, ", a batch of %" PRId64, made->gpu.items);
        snprintf(of_item, sizeof of_item, " of item %" PRId64, item);
    }
    snprintf(element, sizeof element, "element (%" PRId64 ", %" PRId64 ")%s is %.9g, expected %.9g", i, j, of_item,
             get(t->c.dtype, t->found + at), get(t->c.dtype, t->c.bytes + at));
    snprintf(why, sizeof why, "%" PRId64 " x %" PRId64 " x %" PRId64 "%s, beta %g, %s", p->m, p->n, p->k, parts,
             p->beta, inside ? element : "an element outside of C was written");
    blame(t, true, "computes wrong numbers", why);
}

/* C as it is for this beta, before and after. */
static tw_status multiply_from(test *t, const plan *made, runnable *r)
{
    operand to = whole(&t->c);
    to.host = t->found;
    TRY(upload(t, &t->c));
    tw_status status = t->ops->launch(t->engine, r, &t->a.buffer, &t->b.buffer, &t->c.buffer);
    if (status == TW_OK) status = t->ops->wait(t->engine, r);
    if (status == TW_DEVICE_FAILED) {
        blame(t, false, "cannot be run", tw_error_text());
        return TW_OK;
    }
    if (status == TW_OK) status = t->ops->download(t->engine, &t->c.buffer, &to);
    if (status == TW_OK) compare(t, made);
    return status;
}

static tw_status fail_memory(const test *t)
{
    return fail(TW_NO_MEMORY, "no memory for the self-test of %s", t->of->row->lab.name);
}

static tw_status multiply(test *t, const plan *made)
{
    const tw_problem *p = &made->problem;
    tw_batch batch = {.size = sizeof batch};
    runnable r;
    tw_status status = t->ops->prepare(t->engine, made, &r);
    if (status == TW_BUILD_FAILED || status == TW_DEVICE_FAILED) {
        blame(t, false, "cannot be built", tw_error_text());
        return TW_OK;
    }
    TRY(status);
    status = TW_NO_MEMORY;
    if (make(made, p->dtype_c, p->m, p->n, p->ldc, &t->c)) t->found = malloc(all_bytes(&t->c));
    if (t->found != NULL) {
        if (p->beta != 0) fill(&t->c, p->dtype_c, 2 * SEED);
        batch.count = t->c.items;
        batch.stride_a = t->a.stride, batch.stride_b = t->b.stride, batch.stride_c = t->c.stride;
        if (made->gpu.items > 0) r.batch = &batch;
        status = multiply_from(t, made, &r);
    } else {
        fail_memory(t);
    }
    free(t->found), t->found = NULL;
    drop(t->ops, t->engine, &t->c);
    t->ops->drop(t->engine, &r);
    return status;
}

/* The operands of a shape, and their sums. */
static tw_status begin(test *t, const plan *made)
{
    const tw_problem *p = &made->problem;
    const tw_dtype dtype_b = p->dtype_b != 0 ? p->dtype_b : p->dtype;
    const int64_t items = max_i64(made->gpu.items, 1);
    t->sums = malloc((size_t)(items * p->m * p->n) * sizeof *t->sums);
    if (!make(made, p->dtype, problem_a_rows(p), problem_a_cols(p), p->lda, &t->a) ||
        !make(made, dtype_b, problem_b_rows(p), problem_b_cols(p), p->ldb, &t->b) || t->sums == NULL)
        return fail_memory(t);
    fill(&t->a, p->dtype_c, 0);
    fill(&t->b, p->dtype_c, SEED);
    for (int64_t i = 0; i < items; i++) add_products(t, p, i);
    TRY(upload(t, &t->a));
    return upload(t, &t->b);
}

/* All betas with the operands of one shape. */
static tw_status test_shape(test *t, const plan made[SELF_TEST_BETAS])
{
    tw_status status = begin(t, &made[0]);
    for (int i = 0; i < SELF_TEST_BETAS && status == TW_OK && t->result->text[0] == '\0'; i++)
        status = multiply(t, &made[i]);
    drop(t->ops, t->engine, &t->a);
    drop(t->ops, t->engine, &t->b);
    free(t->sums), t->sums = NULL;
    return status;
}

tw_status self_test_run(const engine_ops *ops, engine *e, const device_facts *device, const plan *of,
                        self_test_result *out)
{
    test t = {.ops = ops, .engine = e, .of = of, .result = out};
    *out = (self_test_result){.lasts = true};
    for (int way = 0; way < SELF_TEST_WAYS && out->text[0] == '\0'; way++) {
        plan made[SELF_TEST_BETAS];
        if (!self_test_uses(of, (self_test_way)way)) continue;
        TRY(self_test_plans(of, device, (self_test_way)way, made));
        TRY(test_shape(&t, made));
    }
    return TW_OK;
}
