/* reference.c - see reference.h. Every double operation here must round to double once: no x87, no contraction, no
 * fast-math. */
#include "reference.h"
#include "parallel.h"

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
    view_load(v, i, 1, j, 1, &value, 1);
    return value;
}

view view_transposed(view v)
{
    view t = v;
    t.row = v.col, t.col = v.row, t.row_parts = v.col_parts, t.col_parts = v.row_parts;
    t.conjugated = v.conjugated != (v.row_parts && v.col_parts); /* the square's transpose is its conjugate's */
    return t;
}

/* Load rows x cols numbers, the first `first` numbers after v's base, along their memory. */
static void load_block(view v, int64_t first, int64_t rows, int64_t cols, double *out, int64_t out_row, int64_t out_col)
{
    if (v.col <= v.row || rows == 1)
        for (int64_t i = 0; i < rows; i++)
            v.type->load(v.base, first + i * v.row, v.col, cols, out + i * out_row, out_col);
    else
        for (int64_t j = 0; j < cols; j++)
            v.type->load(v.base, first + j * v.col, v.row, rows, out + j * out_col, out_row);
}

static void negate(double *values, int64_t rows, int64_t cols, int64_t row, int64_t col)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) values[i * row + j * col] = -values[i * row + j * col];
}

/* Those of the elements whose index is q or s more than a multiple of the parts of their axis: all come from one part
 * of memory, with one sign. */
static void load_parts(view v, int q, int s, int64_t i0, int64_t rows, int64_t j0, int64_t cols, double *out,
                       int64_t ld)
{
    const int row_parts = 1 + v.row_parts, col_parts = 1 + v.col_parts;
    const int turns = (v.row_parts && v.col_parts ? q : 0) + v.turned, part = (v.col_parts ? s : q) ^ turns;
    const int64_t i = (q - i0) & (row_parts - 1), j = (s - j0) & (col_parts - 1); /* of the first of them */
    rows = (rows - i + row_parts - 1) / row_parts, cols = (cols - j + col_parts - 1) / col_parts;
    if (rows <= 0 || cols <= 0) return;
    out += i * ld + j;
    load_block(v, (i0 + i) / row_parts * v.row + (j0 + j) / col_parts * v.col + part, rows, cols, out, ld * row_parts,
               col_parts);
    if (part == 1 && v.conjugated != (turns == 1)) negate(out, rows, cols, ld * row_parts, col_parts);
}

void view_load(view v, int64_t i0, int64_t rows, int64_t j0, int64_t cols, double *out, int64_t ld)
{
    for (int q = 0; q < (v.row_parts ? 2 : 1); q++)
        for (int s = 0; s < (v.col_parts ? 2 : 1); s++) load_parts(v, q, s, i0, rows, j0, cols, out, ld);
}

double gamma_of(double j, double unit_roundoff)
{
    double small = j * unit_roundoff;
    return small <= 0.5 ? small / (1 - small) : expm1(j * log1p(unit_roundoff)) * (1 + 0x1p-40);
}

static bool op_is_known(tw_op op, const element *type)
{
    return op == TW_N || op == TW_T || (type->parts == 2 && (op == TW_C || op == TW_R));
}

/* Real numbers in so many elements. Nothing that is so long that they cannot be counted is ever touched. */
static int64_t in_parts(int64_t elements, int parts) { return elements > INT64_MAX / 2 ? elements : parts * elements; }

/* The problem of real numbers. */
static tw_problem in_real_numbers(tw_problem p, const element *type, const element *type_c)
{
    const int parts = type->parts;
    p.dtype = type->part, p.dtype_c = type_c->part;
    p.n = in_parts(p.n, parts), p.k = in_parts(p.k, parts);
    p.lda = in_parts(p.lda, parts), p.ldb = in_parts(p.ldb, parts), p.ldc = in_parts(p.ldc, parts);
    return p;
}

/* op(A) or op(B), whose rows as stored are ld real numbers apart. */
static view operand_view(const element *type, const void *base, tw_op op, int64_t ld)
{
    const bool transposed = op == TW_T || op == TW_C;
    return (view){.type = element_of(type->part),
                  .base = base,
                  .row = transposed ? type->parts : ld,
                  .col = transposed ? ld : type->parts,
                  .conjugated = op == TW_C || op == TW_R};
}

static void set_views(product *x, const element *type, const void *a, const void *b, const void *c0)
{
    const tw_problem *p = &x->problem;
    const bool complex = type->parts == 2;
    x->a = operand_view(type, a, p->op_a, p->lda), x->b = operand_view(type, b, p->op_b, p->ldb);
    x->b.type = x->type_b;
    x->a.col_parts = x->b.row_parts = x->b.col_parts = complex;
    x->c0 = (view){.type = x->type_c, .base = c0, .row = p->ldc, .col = 1};
    x->a_by_i = x->a, x->a_by_i.turned = true;
    x->c0_by_i = (view){
        .type = x->type_c, .base = c0, .row = p->ldc, .col = type->parts, .col_parts = complex, .turned = complex};
}

/* Roundings at the end that a term meets beside those of its sum. */
static int ends_of(const product *x) { return x->alpha_imaginary != 0 || x->beta_imaginary != 0 ? 4 : 2; }

tw_status product_make(const tw_problem *problem, const void *a, const void *b, const void *c0, product *out)
{
    memset(out, 0, sizeof *out);
    if (problem == NULL || problem->size != sizeof *problem) return TW_BAD_ARGUMENT;
    tw_problem p = *problem;
    const element *type = element_of(p.dtype);
    const tw_lab_dtype *numbers = tw_lab_dtype_of(p.dtype);
    if (type == NULL || numbers == NULL || p.m < 0 || p.n < 0 || p.k < 0) return TW_BAD_ARGUMENT;
    if (p.dtype_c == 0) p.dtype_c = type->result;
    const element *type_b = p.dtype_b == 0 ? type : element_of(p.dtype_b), *type_c = element_of(p.dtype_c);
    if (type_b == NULL) return TW_BAD_ARGUMENT;
    const bool mixes = type->bytes == 1 && type_b->bytes == 1 && type_b->accumulator == type->accumulator;
    if (type_b != type && !mixes) return TW_BAD_ARGUMENT;
    if (type_c == NULL || type_c->parts != type->parts || !op_is_known(p.op_a, type) || !op_is_known(p.op_b, type))
        return TW_BAD_ARGUMENT;
    const bool a_transposed = p.op_a == TW_T || p.op_a == TW_C, b_transposed = p.op_b == TW_T || p.op_b == TW_C;
    int64_t a_rows = a_transposed ? p.k : p.m, a_cols = a_transposed ? p.m : p.k;
    int64_t b_rows = b_transposed ? p.n : p.k, b_cols = b_transposed ? p.k : p.n;
    if (p.lda < 1 || p.lda < a_cols || p.ldb < 1 || p.ldb < b_cols || p.ldc < 1 || p.ldc < p.n) return TW_BAD_ARGUMENT;
    if (element_span(type, a_rows, a_cols, p.lda) < 0 || element_span(type, b_rows, b_cols, p.ldb) < 0 ||
        element_span(type_c, p.m, p.n, p.ldc) < 0)
        return TW_BAD_ARGUMENT;

    product x = {.problem = in_real_numbers(p, type, type_c),
                 .parts = type->parts,
                 .type = element_of(type->part),
                 .type_b = type->parts == 2 ? element_of(type->part) : type_b,
                 .type_c = element_of(type_c->part),
                 .accumulator = element_of(type->accumulator)};
    x.scaled = type->integer && type_c->dtype != type->result;
    if (x.scaled && (type->bytes != 1 || (type_c->dtype != TW_F32 && type_c->bytes != 1))) return TW_BAD_ARGUMENT;
    if (p.epilogue != NULL && (type->parts == 2 || (type->integer && !x.scaled))) return TW_BAD_ARGUMENT;
    if (x.scaled) x.accumulator = element_of(TW_F64); /* of sums that are exact */
    for (int i = 0; i < 2 && type->integer && !x.scaled; i++) {
        double scalar = i == 0 ? p.alpha : p.beta;
        const bool wide = x.accumulator->digits > 53;
        if (!(scalar >= (wide ? 1 - 0x1p53 : INT32_MIN) && scalar <= (wide ? 0x1p53 - 1 : INT32_MAX) &&
              scalar == floor(scalar)))
            return TW_BAD_ARGUMENT;
    }
    x.alpha = type->integer ? p.alpha : element_round(x.accumulator, p.alpha);
    x.beta = type->integer ? p.beta : element_round(x.accumulator, p.beta);
    x.alpha_imaginary = type->parts == 2 ? element_round(x.accumulator, p.alpha_imaginary) : 0;
    x.beta_imaginary = type->parts == 2 ? element_round(x.accumulator, p.beta_imaginary) : 0;
    x.alpha_size = fabs(x.alpha) + fabs(x.alpha_imaginary), x.beta_size = fabs(x.beta) + fabs(x.beta_imaginary);
    bool writes = p.m > 0 && p.n > 0;
    x.reads_ab = writes && p.k > 0 && x.alpha_size != 0;
    x.reads_c0 = writes && x.beta_size != 0;
    if ((x.reads_ab && (a == NULL || b == NULL)) || (x.reads_c0 && c0 == NULL)) return TW_BAD_ARGUMENT;
    set_views(&x, type, a, b, c0);

    double u = numbers->unit_roundoff, k = x.reads_ab ? (double)x.problem.k : 0;
    /* of an element's terms, each of a scalar's parts one: its own product, and the others' additions */
    const int ends = ends_of(&x);
    x.unit_roundoff = u;
    x.g_sum = x.reads_ab ? gamma_of(k + ends, u) : 0;
    /* of a part each product, and each sum of 32 but the last, is cut off once */
    if (x.reads_ab && type->part_k > 0) x.g_sum += (fmin(k, type->part_k) + 4) * ldexp(1, -type->part_bits);
    x.g_add = x.reads_c0 ? gamma_of(ends, u) : 0;
    double smallest = numbers->smallest, scale = x.reads_ab && x.alpha_size > 1 ? x.alpha_size : 1;
    if (x.reads_ab || x.reads_c0) x.tiny = scale * smallest * k + smallest * (ends / 2);
    if (!type->integer && p.epilogue == NULL && ldexp(1, -type_c->digits) > u)
        x.round_c = ldexp(1, -type_c->digits), x.tiny_c = type_c->smallest;
    x.slack = 1 + (8 * (k + (double)x.problem.n) + 64) * 0x1p-53;
    *out = x;
    return TW_OK;
}

void product_in_chunks(product *x, int64_t chunk)
{
    const int64_t steps = x->problem.k / x->parts, chunks = (steps + chunk - 1) / chunk;
    if (!x->reads_ab || chunks < 2 || x->type->part_k > 0) return;
    x->g_sum = gamma_of((double)(chunk * x->parts + chunks - 1 + ends_of(x)), x->unit_roundoff);
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
WIDEST void lanes_dot_pair(const double *v, const lanes_panel *x, int64_t count, lanes *sums)
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

WIDEST void lanes_sum_pair(const double *v, const double *signs, int64_t count, lanes *sums)
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

/* Rows and steps of op(A) held as doubles: 512 KiB, the panel of op(B) beside it 64 KiB, or 128 where it is in two
 * parts; columns of a part of the work. */
enum { ROWS = 64, DEPTH = 1024, COLUMNS = 16 * LANES, HELD = ROWS * DEPTH + 2 * DEPTH * LANES };

typedef struct rows_job {
    const product *x;
    const int64_t *rows;
    int64_t row_count, parts_of_row; /* parts: ROWS x COLUMNS of the sums */
    double *high, *low, *mass, *held;
} rows_job;

/* sums += the block of op(A) by LANES columns of op(B) from j0 on, for steps p0 to p0 + depth - 1 */
static void add_panel(const rows_job *job, const double *a_block, int64_t r0, int64_t r_count, int64_t p0,
                      int64_t depth, int64_t j0, double *b_panel)
{
    const product *x = job->x;
    const int64_t n = x->problem.n, width = n - j0 < LANES ? n - j0 : LANES;
    const lanes_panel parts = {b_panel, b_panel + DEPTH * LANES, NULL};
    if (width < LANES) memset(b_panel, 0, sizeof(double) * DEPTH * LANES);
    view_load(x->b, p0, depth, j0, width, b_panel, LANES);
    if (job->low != NULL) split_to(b_panel, depth * LANES, parts.head, parts.tail);
    for (int64_t r = 0; r < r_count; r++) {
        const int64_t cell = (r0 + r) * n + j0;
        const size_t bytes = (size_t)width * sizeof(double);
        lanes s = {{0}, {0}, {0}};
        memcpy(s.high, job->high + cell, bytes);
        memcpy(s.mass, job->mass + cell, bytes);
        if (job->low != NULL) {
            memcpy(s.low, job->low + cell, bytes);
            lanes_dot_pair(a_block + r * DEPTH, &parts, depth, &s);
            memcpy(job->low + cell, s.low, bytes);
        } else {
            lanes_dot(a_block + r * DEPTH, b_panel, depth, &s);
        }
        memcpy(job->high + cell, s.high, bytes);
        memcpy(job->mass + cell, s.mass, bytes);
    }
}

static void add_part(void *of, int thread, int64_t index)
{
    const rows_job *job = of;
    const product *x = job->x;
    const int64_t n = x->problem.n, k = x->problem.k;
    const int64_t r0 = index / job->parts_of_row * ROWS, j_first = index % job->parts_of_row * COLUMNS;
    const int64_t r_count = job->row_count - r0 < ROWS ? job->row_count - r0 : ROWS;
    const int64_t j_end = n - j_first < COLUMNS ? n : j_first + COLUMNS;
    double *a_block = job->held + (int64_t)thread * HELD, *b_panel = a_block + ROWS * DEPTH;
    for (int64_t p0 = 0; p0 < k; p0 += DEPTH) {
        const int64_t depth = k - p0 < DEPTH ? k - p0 : DEPTH;
        for (int64_t r = 0; r < r_count; r++)
            view_load(x->a, job->rows != NULL ? job->rows[r0 + r] : r0 + r, 1, p0, depth, a_block + r * DEPTH, DEPTH);
        for (int64_t j0 = j_first; j0 < j_end; j0 += LANES)
            add_panel(job, a_block, r0, r_count, p0, depth, j0, b_panel);
    }
}

tw_status reference_rows(const product *x, const int64_t *rows, int64_t row_count, int threads, double *high,
                         double *low, double *mass)
{
    const int64_t n = x->problem.n;
    const size_t cells = (size_t)row_count * (size_t)n;
    threads = parallel_threads((double)cells * (double)x->problem.k, threads);
    double *held = malloc(sizeof(double) * HELD * (size_t)threads);
    if (held == NULL) return TW_NO_MEMORY;
    memset(high, 0, cells * sizeof *high);
    memset(mass, 0, cells * sizeof *mass);
    if (low != NULL) memset(low, 0, cells * sizeof *low);
    rows_job job = {x, rows, row_count, (n + COLUMNS - 1) / COLUMNS, high, low, mass, held};
    parallel_run((row_count + ROWS - 1) / ROWS * job.parts_of_row, threads, add_part, &job);
    free(held);
    return TW_OK;
}

/* A number and what its terms' sizes add up to. */
typedef struct sized {
    pair value;
    double size;
} sized;

/* to += scalar * x. */
static void add_term(sized *to, double scalar, sized x, bool in_pairs)
{
    if (in_pairs)
        to->value = pair_add(to->value, pair_times(scalar, x.value));
    else
        to->value.high += scalar * x.value.high;
    to->size += fabs(scalar) * x.size;
}

/* i times an element of parts: its part `part`. */
static sized turned_part(const sized *parts, int part)
{
    sized x = parts[1 - part];
    if (part == 0) x.value.high = -x.value.high, x.value.low = -x.value.low;
    return x;
}

static sized scaled_part(double scalar, double imaginary, const sized *parts, int part, bool in_pairs)
{
    sized x = {{0, 0}, 0};
    add_term(&x, scalar, parts[part], in_pairs);
    if (imaginary != 0) add_term(&x, imaginary, turned_part(parts, part), in_pairs);
    return x;
}

void product_finish(const product *x, double *high, double *low, double *mass, double *own, const double *c0,
                    int64_t count)
{
    const bool in_pairs = low != NULL;
    double k = x->reads_ab ? (double)x->problem.k : 0, alpha_size = x->reads_ab ? x->alpha_size : 0;
    double g = gamma_of(k + 6, 0x1p-53), g_c0 = gamma_of(6, 0x1p-53), underflow = 0;
    if (in_pairs) {
        g = 2 * g * g, g_c0 = g_c0 * g_c0;
        underflow = (8 * k + 16) * 0x1p-1074 * (alpha_size > 1 ? alpha_size : 1);
    }
    for (int64_t i = 0; i < count; i += x->parts) {
        sized sums[2] = {{{0, 0}, 0}}, olds[2] = {{{0, 0}, 0}};
        for (int part = 0; part < x->parts; part++) {
            const int64_t at = i + part;
            if (x->reads_ab) sums[part].size = mass[at];
            if (x->reads_ab) sums[part].value = in_pairs ? pair_sum(high[at], low[at]) : (pair){high[at], 0};
            if (x->reads_c0) olds[part] = (sized){{c0[at], 0}, fabs(c0[at])};
        }
        for (int part = 0; part < x->parts; part++) {
            const int64_t at = i + part;
            sized c = {{0, 0}, 0}, old = c;
            if (x->reads_ab) c = scaled_part(x->alpha, x->alpha_imaginary, sums, part, in_pairs);
            if (x->reads_c0) old = scaled_part(x->beta, x->beta_imaginary, olds, part, in_pairs);
            pair value = c.value;
            if (x->reads_c0 && in_pairs) value = pair_add(value, old.value);
            if (x->reads_c0 && !in_pairs) value.high += old.value.high;
            high[at] = value.high;
            if (in_pairs) low[at] = value.low;
            mass[at] = product_bound(x, c.size, old.size, fabs(high[at]), 1);
            own[at] = (g * c.size + g_c0 * old.size) * (1 + 0x1p-40) + underflow;
        }
    }
}
