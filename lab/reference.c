/* reference.c - see reference.h. Every double operation here must round to double once: no x87, no contraction, no
 * fast-math. */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "the lab's error-free sums need double arithmetic in double (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif
#if defined(__FAST_MATH__)
#error "the lab must not be compiled with -ffast-math"
#endif

double view_at(view v, int64_t i, int64_t j)
{
    double value;
    v.type->load(v.base, i * v.row + j * v.col, 1, 1, &value, 1);
    return value;
}

view view_transposed(view v) { return (view){v.type, v.base, v.col, v.row}; }

void view_load(view v, int64_t i0, int64_t rows, int64_t j0, int64_t cols, double *out, int64_t ld)
{
    if (v.col == 1 || rows == 1)
        for (int64_t i = 0; i < rows; i++)
            v.type->load(v.base, (i0 + i) * v.row + j0 * v.col, v.col, cols, out + i * ld, 1);
    else
        for (int64_t j = 0; j < cols; j++)
            v.type->load(v.base, i0 * v.row + (j0 + j) * v.col, v.row, rows, out + j, ld);
}

double gamma_of(double j, double unit_roundoff)
{
    double small = j * unit_roundoff;
    return small <= 0.5 ? small / (1 - small) : expm1(j * log1p(unit_roundoff)) * (1 + 0x1p-40);
}

tw_status product_make(const tw_problem *problem, const void *a, const void *b, const void *c0, product *out)
{
    memset(out, 0, sizeof *out);
    if (problem == NULL || problem->size != sizeof *problem) return TW_BAD_ARGUMENT;
    tw_problem p = *problem;
    const element *type = element_of(p.dtype);
    const tw_lab_dtype *numbers = tw_lab_dtype_of(p.dtype);
    if (type == NULL || numbers == NULL || p.m < 0 || p.n < 0 || p.k < 0) return TW_BAD_ARGUMENT;
    if (p.dtype_c == 0) p.dtype_c = type->result;
    const element *type_c = element_of(p.dtype_c);
    if (type_c == NULL || (p.op_a != TW_N && p.op_a != TW_T) || (p.op_b != TW_N && p.op_b != TW_T))
        return TW_BAD_ARGUMENT;
    int64_t a_rows = p.op_a == TW_N ? p.m : p.k, a_cols = p.op_a == TW_N ? p.k : p.m;
    int64_t b_rows = p.op_b == TW_N ? p.k : p.n, b_cols = p.op_b == TW_N ? p.n : p.k;
    if (p.lda < 1 || p.lda < a_cols || p.ldb < 1 || p.ldb < b_cols || p.ldc < 1 || p.ldc < p.n) return TW_BAD_ARGUMENT;
    if (element_span(type, a_rows, a_cols, p.lda) < 0 || element_span(type, b_rows, b_cols, p.ldb) < 0 ||
        element_span(type_c, p.m, p.n, p.ldc) < 0)
        return TW_BAD_ARGUMENT;

    product x = {.problem = p, .type = type, .type_c = type_c, .accumulator = element_of(type->accumulator)};
    for (int i = 0; i < 2 && type->integer; i++) {
        double scalar = i == 0 ? p.alpha : p.beta;
        if (!(scalar >= INT32_MIN && scalar <= INT32_MAX && scalar == floor(scalar))) return TW_BAD_ARGUMENT;
    }
    x.alpha = element_round(x.accumulator, p.alpha);
    x.beta = element_round(x.accumulator, p.beta);
    bool writes = p.m > 0 && p.n > 0;
    x.reads_ab = writes && p.k > 0 && x.alpha != 0;
    x.reads_c0 = writes && x.beta != 0;
    if ((x.reads_ab && (a == NULL || b == NULL)) || (x.reads_c0 && c0 == NULL)) return TW_BAD_ARGUMENT;
    x.a = (view){type, a, p.op_a == TW_N ? p.lda : 1, p.op_a == TW_N ? 1 : p.lda};
    x.b = (view){type, b, p.op_b == TW_N ? p.ldb : 1, p.op_b == TW_N ? 1 : p.ldb};
    x.c0 = (view){type_c, c0, p.ldc, 1};

    double u = numbers->unit_roundoff, k = x.reads_ab ? (double)p.k : 0;
    x.unit_roundoff = u;
    x.g_sum = x.reads_ab ? gamma_of(k + 2, u) : 0;
    x.g_add = x.reads_c0 ? gamma_of(2, u) : 0;
    double smallest = numbers->smallest, scale = x.reads_ab && fabs(x.alpha) > 1 ? fabs(x.alpha) : 1;
    if (x.reads_ab || x.reads_c0) x.tiny = scale * smallest * k + smallest;
    if (!type->integer && ldexp(1, -type_c->digits) > u)
        x.round_c = ldexp(1, -type_c->digits), x.tiny_c = type_c->smallest;
    x.slack = 1 + (8 * (k + (double)p.n) + 64) * 0x1p-53;
    *out = x;
    return TW_OK;
}

/* Of a flushing type: the largest finite size in op(A) or op(B), and whether there are subnormals. */
static double sizes_of(view v, int64_t rows, int64_t cols, double least_normal, bool *subnormal)
{
    double largest = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            double size = fabs(view_at(v, i, j));
            if (size > 0 && size < least_normal) *subnormal = true;
            if (isfinite(size) && size > largest) largest = size;
        }
    return largest;
}

void product_allow_flushing(product *x)
{
    if (!x->type->flushes || !x->reads_ab) return;
    bool a_small = false, b_small = false;
    double least = x->type->smallest * (double)(INT64_C(1) << (x->type->digits - 1)), k = (double)x->problem.k,
           alpha = fabs(x->alpha);
    double a = sizes_of(x->a, x->problem.m, x->problem.k, least, &a_small),
           b = sizes_of(x->b, x->problem.k, x->problem.n, least, &b_small);
    if (a_small) x->tiny += alpha * k * least * b;
    if (b_small) x->tiny += alpha * k * least * a;
}

double product_bound(const product *x, double mass, double addend, double size, double count)
{
    double bound = x->tiny * count;
    if (mass > 0) bound += x->g_sum * mass; /* not 0 * infinity */
    if (addend > 0) bound += x->g_add * addend;
    if (x->round_c > 0) bound += x->round_c * (size + bound) + x->tiny_c * count;
    return bound * x->slack;
}

/* ---- eight sums at once ---- */

void lanes_dot(const double *v, const double *x, int64_t count, lanes *sums)
{
    double sum[LANES], mass[LANES];
    memcpy(sum, sums->high, sizeof sum);
    memcpy(mass, sums->mass, sizeof mass);
    for (int64_t p = 0; p < count; p++) {
        const double *restrict row = x + p * LANES;
        for (int l = 0; l < LANES; l++) {
            double term = v[p] * row[l];
            sum[l] += term;
            mass[l] += fabs(term);
        }
    }
    memcpy(sums->high, sum, sizeof sum);
    memcpy(sums->mass, mass, sizeof mass);
}

static const double splitter = 134217729; /* 2^27 + 1 */

/* The parts of TwoSum (Knuth) and TwoProduct (Dekker), written out so that the eight lanes vectorise. */
void lanes_dot_pair(const double *v, const lanes_panel *x, int64_t count, lanes *sums)
{
    lanes s = *sums;
    for (int64_t p = 0; p < count; p++) {
        double wide = splitter * v[p], v_head = wide - (wide - v[p]), v_tail = v[p] - v_head;
        const double *restrict head = x->head + p * LANES, *restrict tail = x->tail + p * LANES;
        for (int l = 0; l < LANES; l++) {
            double term = v[p] * (head[l] + tail[l]);
            double lost = ((v_head * head[l] - term) + v_head * tail[l] + v_tail * head[l]) + v_tail * tail[l];
            double sum = s.high[l] + term, shift = sum - s.high[l];
            lost += (s.high[l] - (sum - shift)) + (term - shift);
            s.high[l] = sum;
            s.low[l] += lost;
            s.mass[l] += fabs(term);
        }
        if (x->low != NULL)
            for (int l = 0; l < LANES; l++) s.low[l] += v[p] * x->low[p * LANES + l];
    }
    *sums = s;
}

void lanes_sum_pair(const double *v, const double *signs, int64_t count, lanes *sums)
{
    lanes s = *sums;
    for (int64_t p = 0; p < count; p++) {
        const double *restrict sign = signs + p * LANES;
        for (int l = 0; l < LANES; l++) {
            double term = v[p] * sign[l], sum = s.high[l] + term, shift = sum - s.high[l];
            s.low[l] += (s.high[l] - (sum - shift)) + (term - shift);
            s.high[l] = sum;
        }
    }
    *sums = s;
}

void split_to(const double *v, int64_t count, double *head, double *tail)
{
    for (int64_t i = 0; i < count; i++) {
        double value = v[i], wide = splitter * value;
        head[i] = wide - (wide - value);
        tail[i] = value - head[i];
    }
}

/* ---- sums of two doubles ---- */

pair pair_sum(double x, double y)
{
    double sum = x + y, shift = sum - x;
    return (pair){sum, (x - (sum - shift)) + (y - shift)};
}

pair pair_times(double factor, pair x)
{
    double term = factor * x.high;
    return pair_sum(term, fma(factor, x.high, -term) + factor * x.low);
}

pair pair_add(pair x, pair y)
{
    pair sum = pair_sum(x.high, y.high);
    return pair_sum(sum.high, sum.low + (x.low + y.low));
}

/* ---- whole rows ---- */

enum { ROWS = 64, DEPTH = 1024 }; /* of op(A) held as doubles: 512 KiB; the panel of op(B) beside it: 64 KiB */

tw_status reference_rows(const product *x, const int64_t *rows, int64_t row_count, double *high, double *low,
                         double *mass)
{
    int64_t n = x->problem.n, k = x->problem.k;
    bool in_pairs = low != NULL;
    double *a_block = malloc(sizeof(double) * ROWS * DEPTH), *b_panel = malloc(sizeof(double) * DEPTH * LANES * 2);
    if (a_block == NULL || b_panel == NULL) {
        free(a_block), free(b_panel);
        return TW_NO_MEMORY;
    }
    lanes_panel parts = {b_panel, b_panel + DEPTH * LANES, NULL};
    size_t cells = (size_t)row_count * (size_t)n;
    memset(high, 0, cells * sizeof *high);
    memset(mass, 0, cells * sizeof *mass);
    if (in_pairs) memset(low, 0, cells * sizeof *low);
    for (int64_t r0 = 0; r0 < row_count; r0 += ROWS) {
        int64_t r_count = row_count - r0 < ROWS ? row_count - r0 : ROWS;
        for (int64_t p0 = 0; p0 < k; p0 += DEPTH) {
            int64_t depth = k - p0 < DEPTH ? k - p0 : DEPTH;
            for (int64_t r = 0; r < r_count; r++)
                view_load(x->a, rows != NULL ? rows[r0 + r] : r0 + r, 1, p0, depth, a_block + r * DEPTH, DEPTH);
            for (int64_t j0 = 0; j0 < n; j0 += LANES) {
                int64_t width = n - j0 < LANES ? n - j0 : LANES;
                if (width < LANES) memset(b_panel, 0, sizeof(double) * DEPTH * LANES);
                view_load(x->b, p0, depth, j0, width, b_panel, LANES);
                if (in_pairs) split_to(b_panel, depth * LANES, parts.head, parts.tail);
                for (int64_t r = 0; r < r_count; r++) {
                    int64_t cell = (r0 + r) * n + j0;
                    size_t bytes = (size_t)width * sizeof(double);
                    lanes s = {{0}, {0}, {0}};
                    memcpy(s.high, high + cell, bytes);
                    memcpy(s.mass, mass + cell, bytes);
                    if (in_pairs) {
                        memcpy(s.low, low + cell, bytes);
                        lanes_dot_pair(a_block + r * DEPTH, &parts, depth, &s);
                        memcpy(low + cell, s.low, bytes);
                    } else {
                        lanes_dot(a_block + r * DEPTH, b_panel, depth, &s);
                    }
                    memcpy(high + cell, s.high, bytes);
                    memcpy(mass + cell, s.mass, bytes);
                }
            }
        }
    }
    free(a_block), free(b_panel);
    return TW_OK;
}

void product_finish(const product *x, double *high, double *low, double *mass, double *own, const double *c0,
                    int64_t count)
{
    double k = x->reads_ab ? (double)x->problem.k : 0, alpha = x->reads_ab ? x->alpha : 0;
    double g = gamma_of(k + 6, 0x1p-53), g_c0 = gamma_of(6, 0x1p-53), underflow = 0;
    if (low != NULL) {
        g = 2 * g * g, g_c0 = g_c0 * g_c0;
        underflow = (8 * k + 16) * 0x1p-1074 * (fabs(alpha) > 1 ? fabs(alpha) : 1);
    }
    for (int64_t i = 0; i < count; i++) {
        double addend = x->reads_c0 ? x->beta * c0[i] : 0, scaled = fabs(alpha) * mass[i];
        if (low != NULL) {
            pair value = pair_times(alpha, pair_sum(high[i], low[i]));
            if (x->reads_c0) value = pair_add(value, pair_times(x->beta, (pair){c0[i], 0}));
            high[i] = value.high, low[i] = value.low;
        } else {
            high[i] = alpha * high[i] + addend;
        }
        mass[i] = product_bound(x, scaled, fabs(addend), fabs(high[i]), 1);
        own[i] = (g * scaled + g_c0 * fabs(addend)) * (1 + 0x1p-40) + underflow;
        if (!x->type->integer) continue;
        high[i] = element_wrap(high[i], low != NULL ? low[i] : 0); /* the sums are exact: two doubles hold them */
        if (low != NULL) low[i] = 0;
        mass[i] = own[i] = 0;
    }
}
