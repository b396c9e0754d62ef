/* finish - rows of a C of another type than its sums: scaled, rounded once, stored.
 *
 * IDEA      The micro-kernel leaves the sums of a tile beside C. Row by row they are finished:
 *
 *             sums  | 1 234  -5 678   9 |       f32               -> f16, bf16
 *                     x alpha,   + beta c       i32, in double    -> f32, i8, u8
 *             C     |    12     -57   0 |
 *
 *           Sums in f32 are scaled as the micro-kernel of that instruction set scales them, so that C is its result in
 *           f32, rounded to nearest even. Sums in i32 are scaled in double, in three operations that nothing fuses, so
 *           that all instruction sets give the same bits. i8 and u8 are rounded to nearest even in any rounding mode,
 *           and saturate; a NaN becomes 0.
 * NUMBERS   16 sums by AVX-512 take some 5 instructions to f16, 15 to bf16 and from i32 to f32, 90 to bytes: once for
 *           all of k.
 * LIMITS    None: any address of an element, any count.
 * SOURCE    IEEE 754-2019, 5.8 and 9.2; Arm ARM, FCVTNS (NaN to 0). */
#include "epilogue.h"
#include "rung.h"
#include "vec.h"

#include <string.h>

#define ALWAYS      static inline __attribute__((always_inline, unused))
#define JOIN(x, y)  JOIN_(x, y)
#define JOIN_(x, y) x##y

#if REAL_IS_INT
typedef double doubles __attribute__((vector_size(sizeof(vec))));
typedef int64_t masks __attribute__((vector_size(sizeof(vec))));
typedef int32_t ints __attribute__((vector_size(sizeof(vec) / 2)));
enum { PIECE = 64, DOUBLES = sizeof(doubles) / sizeof(double) };

ALWAYS doubles all(double x) { return x - (doubles){0}; }
ALWAYS doubles chosen(masks m, doubles x, doubles y) { return (doubles)((m & (masks)x) | (~m & (masks)y)); }

/* The nearest whole numbers from least to most, a tie the even one. By truncation, which no rounding mode changes. */
ALWAYS ints nearest(doubles x, double least, double most)
{
    x = (doubles)((masks)x & (x == x)); /* NaN */
    x = chosen(x < all(least), all(least), x), x = chosen(x > all(most), all(most), x);
    const ints whole = __builtin_convertvector(x, ints);
    const doubles over = x - __builtin_convertvector(whole, doubles);
    const masks odd = __builtin_convertvector(-(whole & 1), masks), up = (over > all(0.5)) | ((over == all(0.5)) & odd),
                down = (over < all(-0.5)) | ((over == all(-0.5)) & odd);
    return whole - __builtin_convertvector(up, ints) + __builtin_convertvector(down, ints);
}

/* x <- alpha * sums + beta * c */
#define SCALE(x, sums, c, count)                                                                                       \
    if (!epilogue_reads(beta))                                                                                         \
        for (int64_t j_ = 0; j_ < (count); j_++) (x)[j_] = alpha * (double)(sums)[j_];                                 \
    else                                                                                                               \
        for (int64_t j_ = 0; j_ < (count); j_++) (x)[j_] = alpha * (double)(sums)[j_] + beta * (double)(c)[j_];

#define FINISH(name, stored, least, most)                                                                              \
    void JOIN(KERNEL, name)(const cpu_outputs *out)                                                                    \
    {                                                                                                                  \
        const double alpha = out->alpha, beta = out->beta;                                                             \
        for (int64_t row = 0; row < out->rows; row++) {                                                                \
            const int32_t *restrict from = (const int32_t *)out->sums + row * out->sums_ld;                            \
            stored *restrict c = (stored *)out->c + row * out->ldc;                                                    \
            for (int64_t left = out->cols; left > 0; left -= PIECE, from += PIECE, c += PIECE) {                       \
                const int64_t some = smaller(PIECE, left);                                                             \
                double x[PIECE];                                                                                       \
                int32_t whole[PIECE];                                                                                  \
                SCALE(x, from, c, some)                                                                                \
                for (int64_t j = some; j % DOUBLES != 0; j++) x[j] = 0;                                                \
                for (int64_t j = 0; j < some; j += DOUBLES) {                                                          \
                    doubles few;                                                                                       \
                    memcpy(&few, x + j, sizeof few);                                                                   \
                    const ints made = nearest(few, least, most);                                                       \
                    memcpy(whole + j, &made, sizeof made);                                                             \
                }                                                                                                      \
                for (int64_t j = 0; j < some; j++) c[j] = (stored)whole[j];                                            \
            }                                                                                                          \
        }                                                                                                              \
    }
cpu_finish JOIN(KERNEL, _f32), JOIN(KERNEL, _i8), JOIN(KERNEL, _u8);
FINISH(_i8, int8_t, INT8_MIN, INT8_MAX)
FINISH(_u8, uint8_t, 0, UINT8_MAX)

void JOIN(KERNEL, _f32)(const cpu_outputs *out)
{
    const int64_t cols = out->cols;
    const double alpha = out->alpha, beta = out->beta;
    for (int64_t row = 0; row < out->rows; row++) {
        const int32_t *restrict from = (const int32_t *)out->sums + row * out->sums_ld;
        float *restrict c = (float *)out->c + row * out->ldc;
        if (!epilogue_reads(beta))
            for (int64_t j = 0; j < cols; j++) c[j] = (float)(alpha * (double)from[j]);
        else
            for (int64_t j = 0; j < cols; j++) c[j] = (float)(alpha * (double)from[j] + beta * (double)c[j]);
    }
}
#else
#include "half.h"

cpu_finish KERNEL;
void KERNEL(const cpu_outputs *out)
{
    const int64_t rows = out->rows, cols = out->cols, sums_ld = out->sums_ld, ldc = out->ldc;
    const vec x = vec_all(real_of(out->alpha)), y = vec_all(real_of(out->beta));
    const bool reads_c = epilogue_reads(out->beta);
    const real *from = out->sums;
    uint16_t *c = out->c;
    for (int64_t row = 0; row < rows; row++, from += sums_ld, c += ldc) {
        int64_t j = 0;
        for (; j + (int)LANES <= cols; j += LANES) {
            const vec sum = vec_load(from + j);
            of_half(store)(c + j, EPILOGUE(vec, x, sum, y, reads_c, of_half(load)(c + j)));
        }
        if (j == cols) continue;
        const some rest = vec_first(cols - j);
        const vec sum = vec_load_some(from + j, rest);
        of_half(store_some)(c + j, rest, EPILOGUE(vec, x, sum, y, reads_c, of_half(load_some)(c + j, rest)));
    }
}
#endif
