/* gemv_simd - the production kernel of the CPU where C is one row or one column: a matrix times a vector.
 *
 * IDEA      Every element of the matrix X is used once, so it is read once, in the order in which it lies, at the speed
 *           of the memory; the sums of LANES outputs share a vector, and each is added up in the order of k, as in
 *           gemm_simd: the same bits.
 *
 *           Outputs side by side              k side by side
 *             sums [ . . . . . . . . ]          LANES rows of X, LANES steps of k:
 *               += y[p]   * row p                 .-------.          .-------.
 *               += y[p+1] * row p+1               | r o w |  transp. | s s s |   sum += y[p] * column p,
 *               ...   ROWS at a time,             | r o w |    ->    | t t t |   one column after the other
 *             sums stay in the L1                 '-------'          '-------'
 *
 *           Of f16 (HALF) elements of X and y are widened in registers as they are read: half the bytes. Squares
 *           are of pairs then, which are split and widened behind the transpose.
 * NUMBERS   2 flops for each element read: 8 bytes of memory a cycle and core allow 4 flops in f32, of some 64.
 * LIMITS    BLOCK_BYTES of sums on the stack.
 * SOURCE    Van Zee, van de Geijn 2015 (the fused axpyf and dotxf of BLIS); the transpose is Eklundh's, 1972. */
#include "epilogue.h"
#include "rung.h"
#include "vec.h"
#ifdef HALF
#include "half.h"
#endif

#define ALWAYS static inline __attribute__((always_inline))

enum { BLOCK_BYTES = 16384, BLOCK = BLOCK_BYTES / (int)sizeof(real), ROWS = 8, AHEAD = 512, NEAR = 2 };

ALWAYS vec load_at(const real *at, bool masked, some last) { return masked ? vec_load_some(at, last) : vec_load(at); }

ALWAYS void store_at(real *at, bool masked, some last, vec x)
{
    if (masked)
        vec_store_some(at, last, x);
    else
        vec_store(at, x);
}

/* Elements of X and y. */
#ifdef HALF
typedef uint16_t stored;
ALWAYS real value_of(stored x) { return of_half(widen)(x); }
ALWAYS vec read_at(const stored *at, bool masked, some last)
{
    return masked ? of_half(load_some)(at, last) : of_half(load)(at);
}
ALWAYS vec read_words(const stored *at) { return of_half(load_pairs)(at); }
#else
typedef real stored;
ALWAYS real value_of(stored x) { return x; }
ALWAYS vec read_at(const stored *at, bool masked, some last) { return load_at(at, masked, last); }
ALWAYS vec read_words(const stored *at) { return vec_load(at); }
#endif

/* c <- alpha * sum + beta * c for `count` outputs, in vectors whatever lies between them, so that all round alike. */
static void blend_outputs(const cpu_gemv *t, int64_t from, const real *sums, int64_t count)
{
    const vec alpha = vec_all(real_of(t->alpha)), beta = vec_all(real_of(t->beta));
    const bool reads_c = epilogue_reads(t->beta);
    real *c = (real *)t->c + from * t->c_stride;
    if (t->epilogue != NULL) {
        cpu_gemv_finish(t, from, sums, count);
        return;
    }
    for (int64_t j = 0; j < count; j += LANES) {
        const int64_t lanes = smaller(LANES, count - j);
        const some last = vec_first(lanes);
        real old[LANES] = {0}, made[LANES];
        for (int64_t i = 0; reads_c && i < lanes; i++) old[i] = c[(j + i) * t->c_stride];
        vec_store(made, EPILOGUE(vec, alpha, vec_load_some(sums + j, last), beta, reads_c, vec_load_some(old, last)));
        for (int64_t i = 0; i < lanes; i++) c[(j + i) * t->c_stride] = made[i];
    }
}

/* One vector of sums over `rows` steps of k, which lie ld apart. */
ALWAYS void sweep_at(real *sums, const stored *x, int64_t ld, const vec *y, const int rows, bool masked, some last)
{
    vec sum = load_at(sums, masked, last);
    UNROLLED(8)
    for (int r = 0; r < rows; r++) sum = vec_fma(y[r], read_at(x + r * ld, masked, last), sum);
    store_at(sums, masked, last, sum);
}

/* A line of each of the next rows. */
ALWAYS void prefetch_rows(const stored *x, int64_t ld, const int rows)
{
    UNROLLED(8)
    for (int r = ROWS; r < ROWS + rows; r++)
        __builtin_prefetch((const void *)((uintptr_t)x + (uintptr_t)(r * ld) * sizeof *x));
}

ALWAYS void sweep(real *sums, int64_t count, const stored *x, int64_t ld, const stored *y, int64_t y_stride,
                  const int rows, const bool parts)
{
    vec all[ROWS];
    UNROLLED(8)
    for (int r = 0; r < rows; r++) all[r] = vec_all(value_of(y[r * y_stride]));
    int64_t j = 0;
    for (; j + LANES <= count; j += LANES) {
        if (parts && j * (int64_t)sizeof *x % CPU_LINE_BYTES == 0) prefetch_rows(x + j, ld, rows);
        sweep_at(sums + j, x + j, ld, all, rows, false, vec_first(0));
    }
    if (j < count) sweep_at(sums + j, x + j, ld, all, rows, true, vec_first(count - j));
}

/* Outputs side by side: x_stride is 1. */
static void sum_mn_major(const cpu_gemv *t)
{
    real sums[BLOCK];
    for (int64_t from = 0; from < t->count; from += BLOCK) {
        const int64_t count = smaller(BLOCK, t->count - from);
        const stored *x = (const stored *)t->x + from, *y = t->y;
        const bool parts = cpu_gemv_parts(t, sizeof *x);
        for (int64_t j = 0; j < count; j++) sums[j] = 0;
        int64_t p = 0;
        for (; parts && p + ROWS <= t->k; p += ROWS)
            sweep(sums, count, x + p * t->x_k, t->x_k, y + p * t->y_stride, t->y_stride, ROWS, true);
        for (; p + ROWS <= t->k; p += ROWS)
            sweep(sums, count, x + p * t->x_k, t->x_k, y + p * t->y_stride, t->y_stride, ROWS, false);
        for (; p < t->k; p++) sweep(sums, count, x + p * t->x_k, t->x_k, y + p * t->y_stride, t->y_stride, 1, false);
        blend_outputs(t, from, sums, count);
    }
}

/* Steps of k in a square: a word of memory of each row and step, of f16 two steps. */
enum { SQUARE = LANES * (int)sizeof(real) / (int)sizeof(stored) };

/* sum += factor * column, of the steps of a transposed square, one after the other. */
ALWAYS vec add_columns(vec sum, const vec *column, const stored *y, const int64_t y_stride)
{
#ifdef HALF
    real factors[SQUARE]; /* widened together: by itself each would take as long as its multiply-add */
    vec even, odd;
    for (int q = 0; q < SQUARE; q += y_stride == 1 ? LANES : 1)
        if (y_stride == 1)
            vec_store(factors + q, of_half(load)(y + q));
        else
            factors[q] = of_half(widen)(y[q * y_stride]);
    UNROLLED(16)
    for (int q = 0; q < LANES; q++) {
        of_half(split)(column[q], &even, &odd);
        sum = vec_fma(even, vec_all(factors[2 * q]), sum), sum = vec_fma(odd, vec_all(factors[2 * q + 1]), sum);
    }
#else
    UNROLLED(16)
    for (int q = 0; q < LANES; q++) sum = vec_fma(column[q], vec_all(y[q * y_stride]), sum);
#endif
    return sum;
}

/* A square of LANES rows from x on, transposed. */
ALWAYS void read_square(vec *column, const stored *x, int64_t stride, bool masked, some last)
{
    vec square[LANES];
    UNROLLED(16)
    for (int i = 0; i < LANES; i++) {
        const stored *row = x + i % 4 * stride;
        if (i % 4 == 3) x += 4 * stride;
        __builtin_prefetch((const void *)((uintptr_t)row + AHEAD), 0, NEAR);
        square[i] = masked ? vec_load_some((const void *)row, last) : read_words(row);
    }
    vec_transpose(square, column);
}

/* The steps of k that are left over, less than a square has. */
ALWAYS vec add_rest(vec sum, const stored *x, int64_t stride, const stored *y, const int64_t y_stride, int64_t left)
{
#ifdef HALF
    for (int64_t p = 0; p < left; p++) {
        stored step[LANES];
        for (int i = 0; i < LANES; i++) step[i] = x[i * stride + p];
        sum = vec_fma(read_at(step, false, vec_first(0)), vec_all(value_of(y[p * y_stride])), sum);
    }
#else
    vec column[LANES];
    if (left == 0) return sum;
    read_square(column, x, stride, true, vec_first(left));
    UNROLLED(16)
    for (int q = 0; q < LANES; q++)
        if (q < left) sum = vec_fma(column[q], vec_all(y[q * y_stride]), sum);
#endif
    return sum;
}

/* LANES rows from x on, k side by side, their sums over all of k. */
ALWAYS vec transposed_sums(const stored *x, int64_t stride, const stored *y, const int64_t y_stride, int64_t k)
{
    vec sum = vec_all(0), column[LANES];
    int64_t p = 0;
    for (; p + SQUARE <= k; p += SQUARE) {
        read_square(column, x + p, stride, false, vec_first(0));
        sum = add_columns(sum, column, y + p * y_stride, y_stride);
    }
    return add_rest(sum, x + p, stride, y + p * y_stride, y_stride, k - p);
}

/* Fewer rows than lanes, element by element. */
static vec few_rows(const cpu_gemv *t)
{
    const stored *x = t->x, *y = t->y;
    real step[LANES] = {0};
    vec sum = vec_all(0);
    for (int64_t p = 0; p < t->k; p++) {
        for (int64_t i = 0; i < t->count; i++) step[i] = value_of(x[i * t->x_stride + p]);
        sum = vec_fma(vec_load(step), vec_all(value_of(y[p * t->y_stride])), sum);
    }
    return sum;
}

/* k side by side: x_k is 1. Where rows are left over, the last LANES are added up, and those that were before not
 * stored again. */
static void sum_k_major(const cpu_gemv *t)
{
    real sums[LANES];
    if (t->count < LANES) {
        vec_store(sums, few_rows(t));
        blend_outputs(t, 0, sums, t->count);
        return;
    }
    for (int64_t from = 0; from < t->count; from += LANES) {
        const int64_t first = smaller(from, t->count - LANES);
        const stored *x = (const stored *)t->x + first * t->x_stride, *y = t->y;
        vec_store(sums, t->y_stride == 1 ? transposed_sums(x, t->x_stride, y, 1, t->k)
                                         : transposed_sums(x, t->x_stride, y, t->y_stride, t->k));
        blend_outputs(t, from, sums + (from - first), LANES - (from - first));
    }
}

void KERNEL(const cpu_gemv *t)
{
    if (t->x_stride == 1)
        sum_mn_major(t);
    else
        sum_k_major(t);
}
