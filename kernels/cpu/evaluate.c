/* evaluate.c - finishes a C that a caller's epilogue makes of its sums: the list of values is computed for many
 * elements at a time.
 *
 * IDEA      An interpreter's cost is what it does between two operations. So each operation runs over a whole piece of
 *           C, some rows of a tile side by side, that lies in the L1, a vector at a time:
 *
 *             slot 0   acc            | row 0 ....... | row 1 ....... | ... |     up to PIECE numbers
 *             slot 1   bias[j]        | b0 b1 b2 .... | b0 b1 b2 .... | ... |
 *             slot 0   acc + bias[j]  | ............. | ............. | ... |     <- slot 0 + slot 1
 *
 *           Values that are the same for all elements are computed once for each call, as one vector, which operations
 *           read again and again.
 * LIMITS    Rows of a piece are whole vectors: what lies beyond an edge of C is computed and not stored, and may raise
 *           floating-point exceptions.
 *
 * SUMS_I32 = 1: the sums are i32; acc is computed in double, then rounded to f32. */
#include "epilogue.h"
#include "rung.h"
#include "vec.h"

#include "elementary.h"
#if !REAL_IS_DOUBLE
#include "bf16.h"
#endif

#ifndef SUMS_I32
#define SUMS_I32 0
#endif
#if SUMS_I32
typedef int32_t sum_type;
#else
typedef REAL sum_type;
#endif

#define ALWAYS static inline __attribute__((always_inline, unused))

enum { PIECE_BYTES = 1024, PIECE = PIECE_BYTES / sizeof(REAL) };

/* A piece of C that is being computed. */
typedef struct piece {
    const cpu_outputs *out;
    int64_t row, col, rows, cols, width; /* of these outputs; width: of a row, in whole vectors */
    REAL (*slots)[PIECE];
    REAL (*uniforms)[LANES];
} piece;

/* Where an operand lies, and how far the next vector is. */
typedef struct operand {
    const REAL *at;
    int step;
} operand;

ALWAYS operand operand_of(const piece *p, const value *v)
{
    return v->uniform ? (operand){p->uniforms[v->slot], 0} : (operand){p->slots[v->slot], LANES};
}

/* ---- elements of C and of bound operands ---- */

ALWAYS REAL number_of(value_type type, const void *at, int64_t index)
{
    if (type == TYPE_F64) return (REAL)((const double *)at)[index];
    if (type == TYPE_F32) return (REAL)((const float *)at)[index];
#if !REAL_IS_DOUBLE
    if (type == TYPE_BF16) {
        const uint32_t bits = (uint32_t)((const uint16_t *)at)[index] << 16;
        float x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    return f16_widen(((const uint16_t *)at)[index]);
#else
    return 0;
#endif
}

/* Elements of a row, `step` apart, to whole vectors; zeros beyond the last. */
static void load_row(REAL *to, value_type type, const void *at, int64_t first, int64_t step, int64_t count)
{
    int64_t j = 0;
#if !REAL_IS_DOUBLE
    const uint16_t *halves = (const uint16_t *)at + first;
    if (step == 1 && type == TYPE_BF16)
        for (; j + (int)LANES <= count; j += LANES) vec_store(to + j, bf16_load(halves + j));
    if (step == 1 && type == TYPE_F16)
        for (; j + (int)LANES <= count; j += LANES) vec_store(to + j, f16_load(halves + j));
#endif
    if (step == 1 && type == (REAL_IS_DOUBLE ? TYPE_F64 : TYPE_F32))
        for (; j + (int)LANES <= count; j += LANES) vec_store(to + j, vec_load((const REAL *)at + first + j));
    for (; j < count; j++) to[j] = number_of(type, at, first + j * step);
    for (; j % LANES != 0; j++) to[j] = 0;
}

static void load_bound(const piece *p, const value *v, REAL *to)
{
    const cpu_outputs *out = p->out;
    const value_binding *b = &out->values->bound[v->of[0]];
    const int64_t of_i = value_step(out->values, v, INDEX_I), of_j = value_step(out->values, v, INDEX_J),
                  down = out->down ? of_j : of_i, across = out->down ? of_i : of_j,
                  first = (out->i + (out->down ? p->col : p->row)) * of_i +
                          (out->j + (out->down ? p->row : p->col)) * of_j;
    for (int64_t row = 0; row < p->rows; row++, to += p->width) {
        if (across == 0) {
            const vec all = vec_all(number_of(b->type, b->at, first + row * down));
            for (int64_t j = 0; j < p->width; j += LANES) vec_store(to + j, all);
        } else if (row > 0 && down == 0) {
            memcpy(to, to - p->width, (size_t)p->width * sizeof *to);
        } else {
            load_row(to, b->type, b->at, first + row * down, across, p->cols);
        }
    }
}

/* Row or column of each element in C. */
static void load_index(const piece *p, bool of_rows, REAL *to)
{
    const cpu_outputs *out = p->out;
    const bool along = of_rows == out->down; /* it counts along the outputs' rows */
    const int64_t first = (of_rows ? out->i : out->j) + (along ? p->col : p->row);
    for (int64_t row = 0; row < p->rows; row++, to += p->width)
        for (int64_t j = 0; j < p->width; j++) to[j] = (REAL)(first + (along ? j : row));
}

/* alpha * sum + beta * c */
static void load_acc(const piece *p, REAL *to)
{
    const cpu_outputs *out = p->out;
    const bool reads = epilogue_reads(out->beta);
    REAL old[PIECE];
    for (int64_t row = 0; row < p->rows; row++, to += p->width) {
        const sum_type *sums = (const sum_type *)out->sums + (p->row + row) * out->sums_ld + p->col;
        const int64_t c = (p->row + row) * out->ldc + p->col;
#if SUMS_I32
        for (int64_t j = 0; j < p->cols; j++) {
            double x = out->alpha * (double)sums[j];
            if (reads) {
                x += out->beta * (out->c_type == TYPE_F32  ? (double)((const float *)out->c)[c + j]
                                  : out->c_type == TYPE_I8 ? (double)((const int8_t *)out->c)[c + j]
                                                           : (double)((const uint8_t *)out->c)[c + j]);
            }
            to[j] = (REAL)x;
        }
        for (int64_t j = p->cols; j < p->width; j++) to[j] = 0;
        (void)old;
#else
        const vec alpha = vec_all((REAL)out->alpha), beta = vec_all((REAL)out->beta);
        load_row(to, REAL_IS_DOUBLE ? TYPE_F64 : TYPE_F32, sums, 0, 1, p->cols);
        if (reads) load_row(old, out->c_type, out->c, c, 1, p->cols);
        for (int64_t j = 0; j < p->width; j += LANES)
            vec_store(to + j, EPILOGUE(vec, alpha, vec_load(to + j), beta, reads, vec_load(old + j)));
#endif
    }
}

#if SUMS_I32
/* The nearest whole number from least to most, a tie the even one, in any rounding mode; of a NaN 0. */
ALWAYS int nearest(float x, int least, int most)
{
    if (!(x == x)) return 0;
    if (x <= (float)least) return least;
    if (x >= (float)most) return most;
    const int whole = (int)x;
    const float over = x - (float)whole;
    return whole + (over > 0.5F || (over == 0.5F && whole % 2 != 0)) -
           (over < -0.5F || (over == -0.5F && whole % 2 != 0));
}
#endif

static void store_row(value_type type, void *c, const REAL *from, int64_t count)
{
    int64_t j = 0;
#if SUMS_I32
    if (type == TYPE_I8)
        for (; j < count; j++) ((int8_t *)c)[j] = (int8_t)nearest(from[j], INT8_MIN, INT8_MAX);
    if (type == TYPE_U8)
        for (; j < count; j++) ((uint8_t *)c)[j] = (uint8_t)nearest(from[j], 0, UINT8_MAX);
#elif !REAL_IS_DOUBLE
    uint16_t *halves = c;
    const int64_t whole = count / LANES * LANES;
    if (type == TYPE_BF16) {
        for (; j < whole; j += LANES) bf16_store(halves + j, vec_load(from + j));
        if (j < count) bf16_store_some(halves + j, vec_first(count - j), vec_load(from + j));
        return;
    }
    if (type == TYPE_F16) {
        for (; j < whole; j += LANES) f16_store(halves + j, vec_load(from + j));
        if (j < count) f16_store_some(halves + j, vec_first(count - j), vec_load(from + j));
        return;
    }
#endif
    (void)type;
    if (j < count) memcpy(c, from, (size_t)count * sizeof *from);
}

/* ---- operations ---- */

#define EACH_VECTOR(made)                                                                                              \
    for (int64_t q = 0; q < count; q += LANES, x.at += x.step, y.at += y.step, z.at += z.step) {                       \
        const vec a = vec_load(x.at), b = vec_load(y.at), c = vec_load(z.at);                                          \
        (void)b, (void)c;                                                                                              \
        vec_store(to + q, made);                                                                                       \
    }                                                                                                                  \
    break;

/* 1 where a comparison holds, else 0 */
ALWAYS vec truth(lanes_int mask) { return (vec)(mask & (lanes_int)vec_all(1)); }

static void compute(const piece *p, const value *v, REAL *to, int64_t count)
{
    const value *list = p->out->values->of;
    operand x = operand_of(p, &list[v->of[0]]), y = operand_of(p, &list[v->of[1]]), z = operand_of(p, &list[v->of[2]]);
    switch (v->op) {
    case VALUE_ADD: EACH_VECTOR(a + b)
    case VALUE_SUBTRACT: EACH_VECTOR(a - b)
    case VALUE_MULTIPLY: EACH_VECTOR(a * b)
    case VALUE_DIVIDE: EACH_VECTOR(a / b)
    case VALUE_NEGATE: EACH_VECTOR(-a)
    case VALUE_LESS: EACH_VECTOR(truth(a < b))
    case VALUE_LESS_EQUAL: EACH_VECTOR(truth(a <= b))
    case VALUE_EQUAL: EACH_VECTOR(truth(a == b))
    case VALUE_NOT_EQUAL: EACH_VECTOR(truth(a != b))
    case VALUE_ABS: EACH_VECTOR(magnitude(a))
    case VALUE_MIN: EACH_VECTOR(chosen((a < b) | (a != a), a, b))
    case VALUE_MAX: EACH_VECTOR(chosen((a > b) | (a != a), a, b))
    case VALUE_WHERE: EACH_VECTOR(chosen(a != 0, b, c))
    case VALUE_SQRT: EACH_VECTOR(vec_sqrt(a))
    case VALUE_EXP: EACH_VECTOR(vec_exp(a))
    case VALUE_LOG: EACH_VECTOR(vec_log(a))
    case VALUE_TANH: EACH_VECTOR(vec_tanh(a))
    case VALUE_ERF: EACH_VECTOR(vec_erf(a))
    default: break; /* values that are loaded */
    }
}

/* What is the same for all elements. */
static void compute_uniforms(const piece *p)
{
    const value_list *list = p->out->values;
    for (const value *v = list->of; v < list->of + list->count; v++) {
        REAL *to = p->uniforms[v->slot];
        if (!v->uniform) continue;
        if (v->op == VALUE_NUMBER) {
            vec_store(to, vec_all((REAL)v->number));
        } else if (v->op == VALUE_BOUND) {
            const value_binding *b = &list->bound[v->of[0]];
            vec_store(to, vec_all(b->type == TYPE_NUMBER ? (REAL)b->number : number_of(b->type, b->at, 0)));
        } else
            compute(p, v, to, LANES);
    }
}

static void finish_piece(const piece *p)
{
    const cpu_outputs *out = p->out;
    const value_list *list = out->values;
    const value *last = &list->of[list->count - 1];
    for (const value *v = list->of; v <= last; v++) {
        REAL *to = p->slots[v->slot];
        if (v->uniform) continue;
        if (v->op == VALUE_ACC)
            load_acc(p, to);
        else if (v->op == VALUE_ROW || v->op == VALUE_COLUMN)
            load_index(p, v->op == VALUE_ROW, to);
        else if (v->op == VALUE_BOUND)
            load_bound(p, v, to);
        else
            compute(p, v, to, p->rows * p->width);
    }
    const operand made = operand_of(p, last);
    if (last->uniform)
        for (int64_t j = 0; j < p->width; j += LANES) vec_store(p->slots[0] + j, vec_load(made.at));
    for (int64_t row = 0; row < p->rows; row++)
        store_row(out->c_type, (char *)out->c + ((p->row + row) * out->ldc + p->col) * value_bytes(out->c_type),
                  last->uniform ? p->slots[0] : made.at + row * p->width, p->cols);
}

cpu_finish KERNEL;
void KERNEL(const cpu_outputs *out)
{
    REAL slots[MOST_SLOTS][PIECE] __attribute__((aligned(64))),
        uniforms[MOST_UNIFORMS][LANES] __attribute__((aligned(64)));
    piece p = {.out = out, .slots = slots, .uniforms = uniforms};
    compute_uniforms(&p);
    for (; p.col < out->cols; p.col += p.cols) {
        p.cols = smaller(out->cols - p.col, PIECE);
        p.width = (p.cols + LANES - 1) / LANES * LANES;
        for (p.row = 0; p.row < out->rows; p.row += p.rows) {
            p.rows = smaller(out->rows - p.row, PIECE / p.width);
            finish_piece(&p);
        }
    }
}
