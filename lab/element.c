/* element.c - one table row per element type. A new type is one ELEMENT_FUNCTIONS (or three functions) and one row, but
 * one of 2 bytes, which comes of its row of dtypes.def. */
#include "element.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ELEMENT_FUNCTIONS(name, type, bits_type, poison_bits)                                                          \
    static void load_##name(const void *base, int64_t first, int64_t stride, int64_t count, double *out,               \
                            int64_t out_stride)                                                                        \
    {                                                                                                                  \
        const type *from = (const type *)base + first;                                                                 \
        for (int64_t i = 0; i < count; i++) out[i * out_stride] = (double)from[i * stride];                            \
    }                                                                                                                  \
    static void store_##name(void *base, int64_t first, int64_t count, const double *values)                           \
    {                                                                                                                  \
        type *to = (type *)base + first;                                                                               \
        for (int64_t i = 0; i < count; i++) to[i] = (type)values[i];                                                   \
    }                                                                                                                  \
    static void poison_##name(void *base, int64_t first, int64_t count, element_owner owner)                           \
    {                                                                                                                  \
        const bits_type bits = (bits_type)(poison_bits + (bits_type)owner);                                            \
        type *to = (type *)base + first;                                                                               \
        for (int64_t i = 0; i < count; i++) memcpy(to + i, &bits, sizeof bits);                                        \
    }

ELEMENT_FUNCTIONS(f64, double, uint64_t, UINT64_C(0x7ff8dead0c0ffee0))
ELEMENT_FUNCTIONS(f32, float, uint32_t, UINT32_C(0x7fdeadc0))
#define INTEGER_FUNCTIONS(name, type, bits_type, poison_bits)                                                          \
    ELEMENT_FUNCTIONS(name, type, bits_type, poison_bits)                                                              \
    static void load_whole_##name(const void *base, int64_t first, int64_t stride, int64_t count, uint64_t *out,       \
                                  int64_t out_stride)                                                                  \
    {                                                                                                                  \
        const type *from = (const type *)base + first;                                                                 \
        for (int64_t i = 0; i < count; i++) out[i * out_stride] = (uint64_t)from[i * stride];                          \
    }

INTEGER_FUNCTIONS(i8, int8_t, uint8_t, 0x5b)
INTEGER_FUNCTIONS(u8, uint8_t, uint8_t, 0xb5)
INTEGER_FUNCTIONS(i16, int16_t, uint16_t, 0x5bd0)
INTEGER_FUNCTIONS(i32, int32_t, uint32_t, UINT32_C(0x5bdeadc0))
INTEGER_FUNCTIONS(i64, int64_t, uint64_t, UINT64_C(0x5bdeadc00c0ffee0))

/* ---- fewer bits in memory than in hand: f16 and bf16, fp8, tf32 ---- */

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t to_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* x rounded to nearest even with `digits` bits of significand, the smallest positive value being smallest; beyond
 * largest: infinity. */
static double round_to(double x, int digits, double smallest, double largest)
{
    double size = fabs(x), normal = smallest * (double)(INT64_C(1) << (digits - 1));
    if (!(size <= DBL_MAX) || size == 0) return x;
    if (size < normal) return copysign(nearbyint(size / smallest) * smallest, x);
    uint64_t bits = to_bits(x), half = (UINT64_C(1) << (52 - digits)) - 1, last = bits >> (53 - digits) & 1;
    double rounded = from_bits((bits + half + last) & ~((UINT64_C(1) << (53 - digits)) - 1));
    return fabs(rounded) > largest ? copysign((double)INFINITY, x) : rounded;
}

/* 2^e, a constant where e is one. */
#define BIT(e, i, power) (((e) >> (i)&1) != 0 ? (power) : 1.0)
#define UP(e)                                                                                                          \
    (BIT(e, 0, 2.0) * BIT(e, 1, 4.0) * BIT(e, 2, 16.0) * BIT(e, 3, 256.0) * BIT(e, 4, 0x1p16) * BIT(e, 5, 0x1p32) *    \
     BIT(e, 6, 0x1p64) * BIT(e, 7, 0x1p128))
#define POWER(e) ((e) < 0 ? 1 / UP(-(e)) : UP(e))

/* A float of so many bits: sign, exponent, fraction. e4m3 has no infinity, and its NaN where the next larger number
 * would be. */
typedef struct layout {
    int width, fraction, bias;
    double smallest, largest;
    bool has_infinity;
} layout;
#define SMALLEST(fraction, bias)     POWER(1 - (bias) - (fraction))
#define HALF_LARGEST(fraction, bias) (POWER((1 << (15 - (fraction))) - 2 - (bias)) * (2 - POWER(-(fraction))))
#define HALF_LAYOUT(fraction, bias)                                                                                    \
    (layout) { 16, fraction, bias, SMALLEST(fraction, bias), HALF_LARGEST(fraction, bias), true }
static const layout e4m3_layout = {8, 3, 7, 0x1p-9, 448, false}, e5m2_layout = {8, 2, 15, 0x1p-16, 57344, true};

#define CODED static inline __attribute__((always_inline))

static double f32_value(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

CODED double coded_load(uint32_t bits, layout of)
{
    if (of.bias == 127) return f32_value(bits << (32 - of.width)); /* the upper part of an f32 */
    const uint32_t sign = 1u << (of.width - 1), one = 1u << of.fraction, code = bits & (sign - 1),
                   exponent = code >> of.fraction, fraction = code & (one - 1), infinity = sign - one;
    const double power = from_bits((uint64_t)((int)exponent - of.bias - of.fraction + 1023) << 52);
    double size = exponent == 0 ? fraction * of.smallest : (one + fraction) * power;
    if (of.has_infinity && code >= infinity) size = code > infinity ? (double)NAN : (double)INFINITY;
    if (!of.has_infinity && code == sign - 1) size = (double)NAN;
    return bits & sign ? -size : size;
}

/* What is larger than the largest number becomes infinity, of e4m3 NaN. */
CODED uint32_t coded_store(double x, layout of)
{
    const double size = fabs(round_to(x, of.fraction + 1, of.smallest, of.largest));
    const uint32_t end = 1u << (of.width - 1), one = 1u << of.fraction, sign = signbit(x) ? end : 0,
                   nan = of.width == 8 ? end - 1 : end - one / 2;
    if (isnan(x) || (isinf(size) && !of.has_infinity)) return sign | nan;
    if (isinf(size)) return sign | (end - one);
    if (size < of.smallest * one) return sign | (uint32_t)(size / of.smallest);
    const uint64_t bits = to_bits(size);
    return sign | ((uint32_t)(bits >> 52) + (uint32_t)of.bias - 1023) << of.fraction |
           (uint32_t)(bits >> (52 - of.fraction) & (one - 1));
}

static double e4m3_load(uint8_t bits) { return coded_load(bits, e4m3_layout); }
static uint8_t e4m3_store(double x) { return (uint8_t)coded_store(x, e4m3_layout); }
static double e5m2_load(uint8_t bits) { return coded_load(bits, e5m2_layout); }
static uint8_t e5m2_store(double x) { return (uint8_t)coded_store(x, e5m2_layout); }

/* tf32 is an f32 that counts as the nearest number of 11 bits, a tie as the even one. */
static double tf32_load(uint32_t bits)
{
    if ((bits & UINT32_C(0x7f800000)) != UINT32_C(0x7f800000))
        bits = (bits + 0xfff + (bits >> 13 & 1)) & ~UINT32_C(0x1fff);
    return f32_value(bits);
}

/* With bits that rounding takes off again, so that who does not round is seen. */
static uint32_t tf32_store(double x)
{
    float rounded = (float)round_to(x, 11, 0x1p-136, 0x1.ffcp127);
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    const uint32_t drawn = (bits >> 13) * UINT32_C(0x9e3779b1);
    /* less than half the distance to the next number on either side */
    if (!isfinite(rounded) || (bits & UINT32_C(0x7f800000)) == 0) return bits;
    return drawn >> 31 != 0 && (bits & UINT32_C(0x7fffff)) != 0 ? bits - (drawn >> 20 & 0xfff)
                                                                : bits + (drawn >> 20 & 0xfff);
}

#define CODED_ACCESS(name, type)                                                                                       \
    static void load_##name(const void *base, int64_t first, int64_t stride, int64_t count, double *out,               \
                            int64_t out_stride)                                                                        \
    {                                                                                                                  \
        const type *from = (const type *)base + first;                                                                 \
        for (int64_t i = 0; i < count; i++) out[i * out_stride] = name##_load(from[i * stride]);                       \
    }                                                                                                                  \
    static void store_##name(void *base, int64_t first, int64_t count, const double *values)                           \
    {                                                                                                                  \
        type *to = (type *)base + first;                                                                               \
        for (int64_t i = 0; i < count; i++) to[i] = name##_store(values[i]);                                           \
    }
#define ELEMENT_FUNCTIONS_CODED(name, type, poison_bits)                                                               \
    CODED_ACCESS(name, type)                                                                                           \
    static void poison_##name(void *base, int64_t first, int64_t count, element_owner owner)                           \
    {                                                                                                                  \
        type *to = (type *)base + first;                                                                               \
        for (int64_t i = 0; i < count; i++) to[i] = (type)(poison_bits + (unsigned)owner);                             \
    }

/* Types of 2 bytes, of dtypes.def. Their poison is a quiet NaN. */
#define HALF_POISON(fraction) (0x8000 - (1 << ((fraction)-1)) + (0xde & ((1 << ((fraction)-1)) - 1)))
#define HALF(id, name, fraction, bias, ...)                                                                            \
    static double name##_load(uint16_t bits) { return coded_load(bits, HALF_LAYOUT(fraction, bias)); }                 \
    static uint16_t name##_store(double x) { return (uint16_t)coded_store(x, HALF_LAYOUT(fraction, bias)); }           \
    ELEMENT_FUNCTIONS_CODED(name, uint16_t, HALF_POISON(fraction))
#include "../data/halves.def"
ELEMENT_FUNCTIONS_CODED(tf32, uint32_t, UINT32_C(0x7fdeadc0))
ELEMENT_FUNCTIONS_CODED(e5m2, uint8_t, 0x7d)
CODED_ACCESS(e4m3, uint8_t)

/* e4m3 has two NaNs, so A and C share one. */
static void poison_e4m3(void *base, int64_t first, int64_t count, element_owner owner)
{
    if (count > 0) memset((uint8_t *)base + first, owner == OWNER_B ? 0xff : 0x7f, (size_t)count);
}

static void poison_cf32(void *base, int64_t first, int64_t count, element_owner owner)
{
    poison_f32(base, 2 * first, 2 * count, owner);
}

static void poison_cf64(void *base, int64_t first, int64_t count, element_owner owner)
{
    poison_f64(base, 2 * first, 2 * count, owner);
}

/* dtype result accumulator part parts bytes digits integer positive flushes pair smallest largest part_k part_bits load
 * store poison load_whole */
static const element elements[] = {
    {TW_F64, TW_F64, TW_F64, TW_F64, 1, 8, 53, false, false, false, true, 0x1p-1074, DBL_MAX, 0, 0, load_f64, store_f64,
     poison_f64},
    {TW_F32, TW_F32, TW_F32, TW_F32, 1, 4, 24, false, false, false, false, 0x1p-149, FLT_MAX, 0, 0, load_f32, store_f32,
     poison_f32},
/* what flushes has a larger smallest sum than f32 */
#define HALF(id, name, fraction_bits, bias, smallest_sum)                                                              \
    {.dtype = TW_##id,                                                                                                 \
     .result = TW_F32,                                                                                                 \
     .accumulator = TW_F32,                                                                                            \
     .part = TW_##id,                                                                                                  \
     .parts = 1,                                                                                                       \
     .bytes = 2,                                                                                                       \
     .digits = (fraction_bits) + 1,                                                                                    \
     .flushes = (smallest_sum) > 0x1p-149,                                                                             \
     .smallest = SMALLEST(fraction_bits, bias),                                                                        \
     .largest = HALF_LARGEST(fraction_bits, bias),                                                                     \
     .load = load_##name,                                                                                              \
     .store = store_##name,                                                                                            \
     .poison = poison_##name},
#include "../data/halves.def"
    {TW_I8, TW_I32, TW_I32, TW_I8, 1, 1, 7, true, false, false, true, 0, INT8_MAX, 0, 0, load_i8, store_i8, poison_i8,
     load_whole_i8},
    {TW_I16, TW_I16, TW_I16, TW_I16, 1, 2, 15, true, false, false, true, 0, INT16_MAX, 0, 0, load_i16, store_i16,
     poison_i16, load_whole_i16},
    {TW_I32, TW_I32, TW_I32, TW_I32, 1, 4, 31, true, false, false, true, 0, INT32_MAX, 0, 0, load_i32, store_i32,
     poison_i32, load_whole_i32},
    {TW_I64, TW_I64, TW_I64, TW_I64, 1, 8, 63, true, false, false, true, 0, 0x1.fffffffffffffp62, 0, 0, load_i64,
     store_i64, poison_i64, load_whole_i64},
    {TW_CF32, TW_CF32, TW_F32, TW_F32, 2, 8, 24, false, false, false, false, 0x1p-149, FLT_MAX, 0, 0, NULL, NULL,
     poison_cf32},
    {TW_CF64, TW_CF64, TW_F64, TW_F64, 2, 16, 53, false, false, false, true, 0x1p-1074, DBL_MAX, 0, 0, NULL, NULL,
     poison_cf64},
    {TW_TF32, TW_F32, TW_F32, TW_TF32, 1, 4, 11, false, false, false, false, 0x1p-136, 0x1.ffcp127, 0, 0, load_tf32,
     store_tf32, poison_tf32},
    {TW_E4M3, TW_F32, TW_F32, TW_E4M3, 1, 1, 4, false, false, false, false, 0x1p-9, 448, 128, 13, load_e4m3, store_e4m3,
     poison_e4m3},
    {TW_E5M2, TW_F32, TW_F32, TW_E5M2, 1, 1, 3, false, false, false, false, 0x1p-16, 57344, 128, 13, load_e5m2,
     store_e5m2, poison_e5m2},
    {TW_U8, TW_I32, TW_I32, TW_U8, 1, 1, 8, true, true, false, true, 0, UINT8_MAX, 0, 0, load_u8, store_u8, poison_u8,
     load_whole_u8},
};

const element *element_of(tw_dtype dtype)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (elements[i].dtype == dtype) return &elements[i];
    return NULL;
}

const element *element_part(tw_dtype dtype)
{
    const element *e = element_of(dtype);
    return e != NULL ? element_of(e->part) : NULL;
}

bool element_is_poison(const element *e, const void *base, int64_t index, element_owner owner)
{
    uint64_t memory[2];
    e->poison(memory, 0, 1, owner);
    return memcmp(memory, (const char *)base + index * e->bytes, (size_t)e->bytes) == 0;
}

double element_round(const element *e, double value)
{
    uint64_t memory; /* large enough and aligned for one element of any real type */
    double rounded;
    e->store(&memory, 0, 1, &value);
    e->load(&memory, 0, 1, 1, &rounded, 1);
    return rounded;
}

double element_converted(const element *e, double value)
{
    if (!e->integer) return element_round(e, value);
    if (isnan(value)) return 0;
    return nearbyint(fmin(fmax(value, e->positive ? 0 : -e->largest - 1), e->largest));
}

double element_uniform(const element *e, uint64_t seed, uint64_t index)
{
    const uint64_t mix = element_mix(seed, index);
    if (e->positive) return (double)(mix >> (64 - e->digits));
    if (e->integer && e->digits > 53) /* the upper bits, and by the others a factor */
        return (double)((int64_t)(mix >> 10) - (INT64_C(1) << 53)) * (double)(1 << mix % 1024 % 11);
    if (e->integer) return (double)(int64_t)(mix >> (63 - e->digits)) - (double)(INT64_C(1) << e->digits);
    int64_t half = INT64_C(1) << (e->digits - 1), numerator = (int64_t)(mix >> (64 - e->digits));
    double drawn = (double)(2 * (numerator - half) + 1) / (double)(INT64_C(1) << e->digits);
    return e->part_k > 0 ? ldexp(drawn, -(int)(mix & 7)) : drawn;
}

void element_uniforms(const element *e, uint64_t seed, uint64_t first, uint64_t step, int64_t count, double *out,
                      int64_t out_stride)
{
    for (int64_t i = 0; i < count; i++, first += step) out[i * out_stride] = element_uniform(e, seed, first);
}

__extension__ typedef unsigned __int128 wide;

/* x % divisor without a division; inverse: 2^128 / divisor, rounded up (Lemire, Kaser and Kurz, "Faster remainder by
 * direct computation", 2019). */
static uint64_t remainder_of(uint64_t x, uint64_t divisor, wide inverse)
{
    const wide fraction = inverse * x;
    const wide low = (wide)(uint64_t)fraction * divisor, high = (fraction >> 64) * divisor;
    return (uint64_t)((high + (low >> 64)) >> 64);
}

void element_integers(const element *e, int64_t limit, uint64_t seed, uint64_t first, uint64_t step, int64_t count,
                      double *out, int64_t out_stride)
{
    const uint64_t choices = 2 * (uint64_t)limit + 1; /* limit <= 2^53: the bias of the remainder is below 2^-10 */
    const wide inverse = ~(wide)0 / choices + 1;      /* of one choice 0, and so are all remainders */
    for (int64_t i = 0; i < count; i++, first += step) {
        const double drawn = (double)((int64_t)remainder_of(element_mix(seed, first), choices, inverse) - limit);
        out[i * out_stride] = e->positive ? fabs(drawn) : drawn;
    }
}

int64_t element_span(const element *e, int64_t rows, int64_t cols, int64_t ld)
{
    int64_t most = PTRDIFF_MAX / e->bytes;
    if (rows == 0 || cols == 0) return 0;
    if (cols > most || rows - 1 > (most - cols) / ld) return -1;
    return (rows - 1) * ld + cols;
}
