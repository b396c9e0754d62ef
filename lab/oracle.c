/* oracle.c - operands that give a kernel no excuse, their product in higher precision, and the verdict. */
#include "oracle.h"
#include "exact.h"
#include "whole.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, LEAST_ROWS = 8 };

static tw_status refuse(oracle *o, tw_status status, const char *why)
{
    oracle_free(o);
    snprintf(o->text, sizeof o->text, "%s", why);
    return status;
}

static void *allocate(int64_t count, size_t bytes)
{
    void *memory = NULL;
    if (count < 1) count = 1;
    if ((uint64_t)count > PTRDIFF_MAX / bytes) return NULL;
    return posix_memalign(&memory, ALIGNMENT, (size_t)count * bytes) == 0 ? memory : NULL;
}

/* ---- operands ---- */

static int64_t min_of(int64_t x, int64_t y) { return x < y ? x : y; }

/* The largest L for which integers of -L .. L as operands keep every partial sum, alpha times it and the whole sum
 * exact: integers, or integer multiples of the lowest bit of alpha and beta, below 2^exact_bits of them; in parts that
 * the matrix unit sums, below what it keeps. 0: there is none. */
static int64_t exact_integer_limit(const product *x, int exact_bits)
{
    double alpha = x->reads_ab ? x->alpha_size : 0, beta = x->reads_c0 ? x->beta_size : 0, grain = 0;
    const double scalars[] = {x->alpha, x->alpha_imaginary, x->beta, x->beta_imaginary};
    if (!isfinite(alpha) || !isfinite(beta)) return 0;
    for (int i = 0; i < 4; i++) { /* the lowest bit that is set in any */
        int exponent;
        double m = (i < 2 ? alpha : beta) != 0 ? frexp(fabs(scalars[i]), &exponent) : 0;
        if (m == 0) continue;
        while (m != floor(m)) m *= 2, exponent--;
        double bit = ldexp(1, exponent);
        if (grain == 0 || bit < grain) grain = bit;
    }
    if (x->type->integer && !x->scaled) grain = 1; /* what is larger would wrap around */
    double most = ldexp(1, exact_bits);
    if (grain != 0 && (grain < x->accumulator->smallest || alpha / grain > most || beta / grain > most)) return 0;
    int64_t capacity = INT64_C(1) << exact_bits, k = x->reads_ab ? x->problem.k : 0, low = 0, high = capacity;
    int64_t alpha_grains = grain != 0 ? (int64_t)(alpha / grain) : 0;
    int64_t beta_grains = grain != 0 ? (int64_t)(beta / grain) : 0;
    for (int i = 0; i < 2 + x->scaled; i++) {
        const element *type = i == 0 ? x->type : i == 1 ? x->type_b : x->type_c;
        int64_t most_of = type->integer               ? (int64_t)type->largest
                          : type->digits < exact_bits ? INT64_C(1) << type->digits
                                                      : capacity;
        if (most_of < high) high = most_of;
    }
    const int64_t part_k = min_of(k, x->type->part_k), part_capacity = INT64_C(1) << x->type->part_bits;
    while (low < high) { /* low holds; nothing above high does */
        int64_t l = low + (high - low + 1) / 2;
        bool holds = k == 0 || l <= capacity / k / l; /* k l^2 <= capacity */
        if (holds && part_k > 0) holds = part_k * l * l <= part_capacity;
        if (holds && beta_grains > 0) holds = beta_grains <= capacity / l;
        if (holds && alpha_grains > 0) holds = k * l * l <= (capacity - beta_grains * l) / alpha_grains;
        if (holds)
            low = l;
        else
            high = l - 1;
    }
    return low;
}

/* Fill one operand, stored as rows x cols. Its element (i, j), transposed and conjugated where the op does that, is
 * number i * width + j of its stream; limit 0: uniform in (-1, 1), else integers. What may not be read is NaN. */
static tw_status fill(const element *stored, void *base, int64_t rows, int64_t cols, int64_t ld, tw_op op,
                      element_owner owner, uint64_t seed, int64_t limit, bool readable)
{
    const element *type = element_of(stored->part);
    const int64_t parts = stored->parts;
    const bool transposed = op == TW_T || op == TW_C, conjugated = op == TW_C || op == TW_R;
    if (rows == 0 || cols == 0) {
        stored->poison(base, 0, 1, owner);
        return TW_OK;
    }
    double *values = allocate(cols * parts, sizeof *values);
    if (values == NULL) return TW_NO_MEMORY;
    seed = element_mix(seed, (uint64_t)owner);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t part = 0; part < parts && readable; part++) {
            const uint64_t first = (uint64_t)((transposed ? r : r * cols) * parts + part),
                           step = (uint64_t)((transposed ? rows : 1) * parts);
            if (limit > 0)
                element_integers(type, limit, seed, first, step, cols, values + part, parts);
            else
                element_uniforms(type, seed, first, step, cols, values + part, parts);
            if (conjugated && part == 1)
                for (int64_t c = part; c < cols * parts; c += parts) values[c] = -values[c];
        }
        if (readable)
            type->store(base, r * ld * parts, cols * parts, values);
        else
            stored->poison(base, r * ld, cols, owner);
        if (r < rows - 1) stored->poison(base, r * ld + cols, ld - cols, owner);
    }
    free(values);
    return TW_OK;
}

void oracle_random(tw_dtype dtype, uint64_t seed, int64_t count, void *out)
{
    const element *type = element_part(dtype);
    for (int64_t i = 0; type != NULL && i < count * element_of(dtype)->parts; i++) {
        double value = element_uniform(type, seed, (uint64_t)i);
        type->store(out, i, 1, &value);
    }
}

/* ---- the reference ---- */

/* Is neither part so small that what it multiplies underflows in a double? */
static bool is_large_enough(double scalar, double imaginary)
{
    return (scalar == 0 || fabs(scalar) >= 0x1p-800) && (imaginary == 0 || fabs(imaginary) >= 0x1p-800);
}

/* Can nothing overflow, and nothing in the reference's own arithmetic underflow? */
static bool is_ordinary(const product *x, double limit)
{
    if (x->type->integer) return true;
    return limit <= x->type_c->largest / 4 && limit <= x->accumulator->largest / 4 &&
           (!x->reads_ab || is_large_enough(x->alpha, x->alpha_imaginary)) &&
           (!x->reads_c0 || is_large_enough(x->beta, x->beta_imaginary));
}

static void take(bool *taken, int64_t m, int64_t row, int64_t *left)
{
    if (row < 0 || row >= m || taken[row] || *left == 0) return;
    taken[row] = true;
    --*left;
}

/* Choose `count` of m rows: the first, the last, those on both sides of a multiple of 16, 64 and 128 (the first such,
 * then the last, where the incomplete tile begins), then by turns random rows and rows beside a multiple of 16. */
static int64_t *choose_rows(int64_t m, int64_t count, uint64_t seed)
{
    static const int64_t tiles[] = {16, 64, 128};
    bool *taken = calloc((size_t)m, sizeof *taken);
    int64_t *rows = allocate(count, sizeof *rows), left = count;
    if (taken == NULL || rows == NULL) {
        free(taken), free(rows);
        return NULL;
    }
    take(taken, m, 0, &left);
    take(taken, m, m - 1, &left);
    for (int t = 0; t < 3; t++) take(taken, m, tiles[t] - 1, &left), take(taken, m, tiles[t], &left);
    for (int t = 0; t < 3; t++) {
        int64_t edge = (m - 1) / tiles[t] * tiles[t];
        take(taken, m, edge - 1, &left), take(taken, m, edge, &left);
    }
    for (uint64_t i = 0; left > 0; i++) {
        uint64_t draw = element_mix(seed, i);
        int64_t row = (int64_t)((draw >> 1) % (uint64_t)m);
        if (i % 2 == 1) row = row / 16 * 16 - (int64_t)(draw & 1);
        if (row < 0) row = 0;
        while (taken[row]) row = (row + 1) % m;
        take(taken, m, row, &left);
    }
    for (int64_t row = 0, i = 0; row < m; row++)
        if (taken[row]) rows[i++] = row;
    free(taken);
    return rows;
}

static tw_status make_reference(const product *x, oracle *o, uint64_t seed, double max_work)
{
    int64_t m = x->problem.m, n = x->problem.n;
    double row_work = (double)n * (double)(x->reads_ab ? x->problem.k : 1);
    o->row_count = m;
    if (max_work > 0 && (double)m * row_work > max_work && m > LEAST_ROWS) {
        double paid = floor(max_work / row_work);
        o->row_count = paid < LEAST_ROWS ? LEAST_ROWS : paid < (double)m ? (int64_t)paid : m;
    }
    if (o->row_count < m && (o->rows = choose_rows(m, o->row_count, element_mix(seed, OWNER_B + 1))) == NULL)
        return TW_NO_MEMORY;
    int64_t cells = o->row_count * n; /* cannot overflow: C is no smaller */
    if (cells > INT64_MAX / 2) return TW_NO_MEMORY;
    if (x->type->integer) {
        o->whole = allocate(cells, sizeof *o->whole);
        return o->whole != NULL ? whole_rows(x, o->rows, o->row_count, 0, o->whole) : TW_NO_MEMORY;
    }
    if (!is_ordinary(x, o->limit)) return TW_OK; /* elements are judged one by one */

    bool in_pairs = x->type->pair && o->kind == ORACLE_BOUND;
    double *c0 = allocate(n, sizeof *c0), *own = allocate(n, sizeof *own);
    o->reference = allocate(in_pairs ? 2 * cells : cells, sizeof *o->reference);
    o->bound = allocate(cells, sizeof *o->bound);
    if (c0 == NULL || own == NULL || o->reference == NULL || o->bound == NULL) {
        free(c0), free(own);
        return TW_NO_MEMORY;
    }
    double *low = in_pairs ? o->reference + cells : NULL;
    product sums = *x;
    if (!x->reads_ab) sums.problem.k = 0;
    tw_status status = reference_rows(&sums, o->rows, o->row_count, 0, o->reference, low, o->bound);
    for (int64_t r = 0; status == TW_OK && r < o->row_count; r++) {
        if (x->reads_c0) view_load(x->c0, o->rows != NULL ? o->rows[r] : r, 1, 0, n, c0, n);
        product_finish(x, o->reference + r * n, in_pairs ? low + r * n : NULL, o->bound + r * n, own, c0, n);
        for (int64_t j = 0; j < n; j++) o->bound[r * n + j] += own[j];
    }
    free(c0), free(own);
    if (o->kind == ORACLE_EXACT) { /* what the accumulator has exactly, C has rounded once */
        for (int64_t i = 0; x->round_c > 0 && i < cells; i++)
            o->reference[i] = element_round(x->type_c, o->reference[i]);
        free(o->bound);
        o->bound = NULL;
    }
    return status;
}

/* A bound on |C|, with integers up to `limit`, or with values below 1. */
static double largest_result(const product *x, oracle_kind kind, int64_t limit)
{
    double size = kind == ORACLE_EXACT ? (double)limit : 1;
    if (x->type->integer) return 0x1p31;
    return (x->reads_ab ? x->alpha_size * (double)x->problem.k * size * size : 0) +
           (x->reads_c0 ? x->beta_size * size : 0);
}

/* The product as it is to be judged. */
static tw_status product_of(const oracle *o, const void *a, const void *b, const void *c0, product *out)
{
    const tw_status status = product_make(&o->problem, a, b, c0, out);
    if (status == TW_OK && o->chunk > 0) product_in_chunks(out, o->chunk);
    return status;
}

tw_status oracle_make(const tw_problem *problem, oracle_kind kind, uint64_t seed, double max_work, oracle *out)
{
    return oracle_make_in_chunks(problem, kind, seed, max_work, 0, out);
}

tw_status oracle_make_in_chunks(const tw_problem *problem, oracle_kind kind, uint64_t seed, double max_work,
                                int64_t chunk, oracle *out)
{
    memset(out, 0, sizeof *out);
    product x;
    char nothing = 0; /* stands for operands that are not there yet */
    if (product_make(problem, &nothing, &nothing, &nothing, &x) != TW_OK)
        return refuse(out, TW_BAD_ARGUMENT, "the problem is not valid");
    const tw_problem *p = problem;
    out->problem = *problem;
    out->kind = kind, out->chunk = chunk;
    int exact_bits = x.scaled ? x.accumulator->digits : tw_lab_dtype_of(p->dtype)->exact_bits;
    int64_t limit = kind == ORACLE_EXACT ? exact_integer_limit(&x, exact_bits) : 0;
    out->limit = largest_result(&x, kind, limit);
    /* C would overflow before the accumulator: f16 */
    while (limit > 1 && x.round_c > 0 && !is_ordinary(&x, out->limit)) {
        limit /= 2;
        out->limit = largest_result(&x, kind, limit);
    }
    if (kind == ORACLE_EXACT && (limit < 1 || !is_ordinary(&x, out->limit))) {
        char why[sizeof out->text];
        snprintf(why, sizeof why,
                 "no integers but 0 keep k = %lld products, alpha = %g and beta = %g exact within 2^%d",
                 (long long)p->k, x.alpha_size, x.beta_size, exact_bits);
        return refuse(out, TW_BAD_ARGUMENT, why);
    }
    bool transpose_a = p->op_a == TW_T || p->op_a == TW_C, transpose_b = p->op_b == TW_T || p->op_b == TW_C;
    int64_t a_rows = transpose_a ? p->k : p->m, a_cols = transpose_a ? p->m : p->k;
    int64_t b_rows = transpose_b ? p->n : p->k, b_cols = transpose_b ? p->k : p->n;
    const element *type = element_of(p->dtype), *type_b = p->dtype_b == 0 ? type : element_of(p->dtype_b),
                  *type_c = element_of(p->dtype_c == 0 ? type->result : p->dtype_c);
    out->a = allocate(element_span(type, a_rows, a_cols, p->lda), (size_t)type->bytes);
    out->b = allocate(element_span(type_b, b_rows, b_cols, p->ldb), (size_t)type_b->bytes);
    out->c0 = allocate(element_span(type_c, p->m, p->n, p->ldc), (size_t)type_c->bytes);
    if (out->a == NULL || out->b == NULL || out->c0 == NULL ||
        fill(type, out->a, a_rows, a_cols, p->lda, p->op_a, OWNER_A, seed, limit, x.reads_ab) != TW_OK ||
        fill(type_b, out->b, b_rows, b_cols, p->ldb, p->op_b, OWNER_B, seed, limit, x.reads_ab) != TW_OK ||
        fill(type_c, out->c0, p->m, p->n, p->ldc, TW_N, OWNER_C, seed, limit, x.reads_c0) != TW_OK ||
        product_of(out, out->a, out->b, out->c0, &x) != TW_OK ||
        (p->m > 0 && p->n > 0 && make_reference(&x, out, seed, max_work) != TW_OK))
        return refuse(out, TW_NO_MEMORY, "no memory for the operands and their reference");
    return TW_OK;
}

void oracle_free(oracle *o)
{
    if (o == NULL) return;
    free(o->a), free(o->b), free(o->c0), free(o->reference), free(o->bound), free(o->whole), free(o->rows);
    memset(o, 0, sizeof *o);
}

static size_t stored_bytes(tw_dtype dtype, tw_op op, int64_t rows, int64_t cols, int64_t ld)
{
    const element *type = element_of(dtype);
    const bool transposed = op == TW_T || op == TW_C;
    return (size_t)element_span(type, transposed ? cols : rows, transposed ? rows : cols, ld) * (size_t)type->bytes;
}

size_t oracle_a_bytes(const oracle *o)
{
    const tw_problem *p = &o->problem;
    return stored_bytes(p->dtype, p->op_a, p->m, p->k, p->lda);
}

size_t oracle_b_bytes(const oracle *o)
{
    const tw_problem *p = &o->problem;
    return stored_bytes(p->dtype_b == 0 ? p->dtype : p->dtype_b, p->op_b, p->k, p->n, p->ldb);
}

size_t oracle_c_bytes(const oracle *o)
{
    const tw_problem *p = &o->problem;
    const element *type = element_of(p->dtype);
    const element *type_c = p->dtype_c == 0 ? element_of(type->result) : element_of(p->dtype_c);
    return (size_t)element_span(type_c, p->m, p->n, p->ldc) * (size_t)type_c->bytes;
}

void oracle_poison(const oracle *o, void *c)
{
    size_t bytes = oracle_c_bytes(o);
    if (bytes > 0) memcpy(c, o->c0, bytes);
}

/* ---- the verdict ---- */

typedef struct judging {
    const oracle *o;
    const product *x;
    const char *c, *c0;
    oracle_verdict verdict;
    double worst_error; /* among ratios that are all infinite */
} judging;

static bool untouched(const judging *j, int64_t row, int64_t col, int64_t count)
{
    size_t bytes = (size_t)j->x->type_c->bytes, from = (size_t)(row * j->x->problem.ldc + col) * bytes;
    return memcmp(j->c + from, j->c0 + from, (size_t)count * bytes) == 0;
}

/* A larger error than any before becomes the verdict; a ratio above 1 fails it. whole: of integers, found and expected
 * with all bits; else NULL. */
static void note(judging *j, int64_t row, int64_t col, double found, double expected, double bound, double ratio,
                 const int64_t *whole)
{
    oracle_verdict *v = &j->verdict;
    double error = isnan(found - expected) ? (double)INFINITY : fabs(found - expected);
    if (v->row >= 0 && (ratio < v->error_ratio || (ratio == v->error_ratio && !(error > j->worst_error)))) return;
    j->worst_error = error;
    v->error_ratio = ratio, v->row = row, v->col = col;
    v->found = found, v->expected = expected, v->bound = bound;
    if (ratio <= 1) return;
    v->passed = false;
    if (whole != NULL)
        whole_sentence(v->text, sizeof v->text, j->x->type_c, row, col, whole[0], whole[1], false);
    else
        exact_sentence(v->text, sizeof v->text, j->x, row, col, found, expected, bound, ratio);
    const element *type = j->x->type_c;
    int64_t index = row * j->x->problem.ldc + col;
    size_t used = strlen(v->text);
    const char *story = "";
    if (untouched(j, row, col, 1))
        story = isnan(found) ? ": it was not written, or C was read" : ": it was not written";
    else if (element_is_poison(type, j->c, index, OWNER_A))
        story = ": memory of A that must not be read was read";
    else if (element_is_poison(type, j->c, index, OWNER_B))
        story = ": memory of B that must not be read was read";
    snprintf(v->text + used, sizeof v->text - used, "%s", story);
}

/* An element of a problem with an epilogue, whose acc is within `limit` of high + low. */
static void judge_made(judging *j, int64_t row, int64_t col, double found, double high, double low, double limit)
{
    const exact_verdict e = exact_made(j->x, row, col, exact_around(high, low, limit), found);
    if (j->verdict.row < 0 || e.ratio > j->verdict.error_ratio || !e.passed)
        note(j, row, col, found, e.expected, e.bound, e.ratio, NULL);
}

static void judge_row(judging *j, int64_t row, int64_t r, const double *found)
{
    const oracle *o = j->o;
    int64_t n = j->x->problem.n;
    const double *high = o->reference + r * n, *low = NULL, *bound = NULL;
    if (o->kind == ORACLE_BOUND) bound = o->bound + r * n;
    if (o->kind == ORACLE_BOUND && j->x->type->pair) low = high + o->row_count * n;
    for (int64_t col = 0; col < n; col++) {
        double error = fabs((found[col] - high[col]) - (low != NULL ? low[col] : 0));
        double limit = bound != NULL ? bound[col] : 0;
        if (j->x->problem.epilogue != NULL) {
            judge_made(j, row, col, found[col], high[col], low != NULL ? low[col] : 0, limit);
            continue;
        }
        double ratio = error == 0 ? 0 : isnan(error) || limit == 0 ? (double)INFINITY : error / limit;
        if (!(error <= limit) && ratio <= 1) ratio = 1 + 0x1p-52; /* the quotient was rounded down */
        if (j->verdict.row < 0 || ratio > j->verdict.error_ratio || ratio > 1)
            note(j, row, col, found[col], high[col], limit, ratio, NULL);
    }
}

/* Of integers whose C is of another type. */
static void judge_scaled_row(judging *j, int64_t row, int64_t r, double *found)
{
    const product *x = j->x;
    const int64_t n = x->problem.n, *sums = j->o->whole + r * n;
    view_load((view){x->type_c, j->c, x->problem.ldc, 1}, row, 1, 0, n, found, n);
    for (int64_t col = 0; col < n; col++) {
        const exact_verdict e = whole_scaled(x, sums[col], row, col, found[col]);
        if (!e.passed || j->verdict.row < 0) note(j, row, col, found[col], e.expected, e.bound, e.ratio, NULL);
    }
}

/* Of integers. */
static void judge_whole_row(judging *j, int64_t row, int64_t r, double *held)
{
    const product *x = j->x;
    const int64_t n = x->problem.n, *expected = j->o->whole + r * n;
    uint64_t *const found = (uint64_t *)(void *)held;
    whole_load((view){x->type_c, j->c, x->problem.ldc, 1}, row, 1, 0, n, found, n);
    for (int64_t col = 0; col < n; col++) {
        const int64_t both[] = {(int64_t)found[col], expected[col]};
        if (both[0] != both[1] || j->verdict.row < 0)
            note(j, row, col, (double)both[0], (double)both[1], 0, both[0] == both[1] ? 0 : (double)INFINITY, both);
    }
}

static void judge_row_one_by_one(judging *j, int64_t row, const double *found, double *a, double *b)
{
    const product *x = j->x;
    int64_t k = x->problem.k;
    if (x->reads_ab) view_load(x->a, row, 1, 0, k, a, k);
    for (int64_t col = 0; col < x->problem.n; col++) {
        if (x->reads_ab) view_load(view_transposed(x->b), col, 1, 0, k, b, k);
        exact_verdict e = exact_judge_at(x, a, b, row, col, found[col]);
        note(j, row, col, found[col], e.expected, e.bound, e.passed && e.ratio > 1 ? 1 : e.ratio, NULL);
    }
}

/* A row without a reference: what no product of such operands can be. */
static void judge_row_at_a_glance(judging *j, int64_t row, const double *found)
{
    double limit = j->o->limit * (1 + 2 * (j->x->g_sum + j->x->g_add + j->x->round_c)) + 1;
    for (int64_t col = 0; col < j->x->problem.n; col++)
        if (!(fabs(found[col]) <= limit)) note(j, row, col, found[col], 0, limit, (double)INFINITY, NULL);
}

static void judge_padding(judging *j, int64_t row)
{
    const tw_problem *p = &j->x->problem;
    if (row == p->m - 1 || p->ldc == p->n || untouched(j, row, p->n, p->ldc - p->n)) return;
    oracle_verdict *v = &j->verdict;
    if (!v->passed) return;
    int64_t col = p->n;
    while (untouched(j, row, col, 1)) col++;
    v->passed = false;
    v->error_ratio = (double)INFINITY;
    v->row = row, v->col = col;
    v->found = view_at((view){j->x->type_c, j->c, p->ldc, 1}, row, col);
    v->expected = (double)NAN, v->bound = 0;
    snprintf(v->text, sizeof v->text,
             "C[%lld, %lld] was written, but C has %lld columns: the padding between rows must stay", (long long)row,
             (long long)(col / j->x->parts), (long long)(p->n / j->x->parts));
}

oracle_verdict oracle_judge(const oracle *o, const void *c)
{
    product x;
    judging j = {.o = o, .x = &x, .c = c, .c0 = o->c0};
    j.verdict = (oracle_verdict){.passed = true, .sampled = o->rows != NULL, .row = -1, .col = -1};
    if (o->problem.m == 0 || o->problem.n == 0) return j.verdict;
    bool one_by_one = o->reference == NULL && o->whole == NULL, made = product_of(o, o->a, o->b, o->c0, &x) == TW_OK;
    const tw_problem *p = &x.problem;
    double *found = allocate(p->n, sizeof *found), *a = allocate(one_by_one ? p->k : 1, sizeof *a);
    double *b = allocate(one_by_one ? p->k : 1, sizeof *b);
    if (found == NULL || a == NULL || b == NULL || !made) {
        j.verdict.passed = false;
        j.verdict.error_ratio = (double)NAN;
        snprintf(j.verdict.text, sizeof j.verdict.text, "nothing was judged: no memory");
    } else {
        view result = {x.type_c, c, p->ldc, 1};
        for (int64_t row = 0, r = 0; row < p->m; row++) {
            bool has_reference = o->rows == NULL || (r < o->row_count && o->rows[r] == row);
            if (o->whole != NULL) {
                if (has_reference) (x.scaled ? judge_scaled_row : judge_whole_row)(&j, row, r, found);
                r += has_reference;
                continue;
            }
            view_load(result, row, 1, 0, p->n, found, p->n);
            if (!has_reference && !one_by_one) judge_row_at_a_glance(&j, row, found);
            if (has_reference && one_by_one) judge_row_one_by_one(&j, row, found, a, b);
            if (has_reference && !one_by_one) judge_row(&j, row, r, found);
            r += has_reference;
        }
        for (int64_t row = 0; row < p->m; row++) judge_padding(&j, row);
        if (j.verdict.col > 0) j.verdict.col /= x.parts;
    }
    free(found), free(a), free(b);
    return j.verdict;
}
