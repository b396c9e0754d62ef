/* convert.c - what an element is worth: types, byte orders, half precision, and exactness. */
#include "io_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum type_class { REAL, COMPLEX, HALF, FP8, BYTE, WHOLE } type_class;

/* digits: the bits of precision, without a sign: every integer up to 2^digits is a value of the type. */
typedef struct type_row {
    const char *name;
    size_t bytes;
    type_class class;
    int digits, fraction, bias;
} type_row;

static const type_row types[IO_TYPE_COUNT] = {
#define IO_TYPE(id, name, bytes, class, fraction, bias)                                                                \
    {name, bytes, class, (fraction) > 0 ? (fraction) + 1 : 8 * (bytes) - ((name)[0] == 'i'), fraction, bias},
#include "types.def"
};

/* 'f', binary floating point, 'c', complex, 'i', signed, or 'u', unsigned. */
static char kind(io_type type)
{
    const type_class class = types[type].class;
    return class == COMPLEX ? 'c' : class == BYTE || class == WHOLE ? types[type].name[0] : 'f';
}

size_t io_type_bytes(io_type type) { return (unsigned)type < IO_TYPE_COUNT ? types[type].bytes : 0; }

const char *io_type_name(io_type type) { return (unsigned)type < IO_TYPE_COUNT ? types[type].name : "?"; }

io_type io_type_part(io_type type) { return type == IO_CF32 ? IO_F32 : type == IO_CF64 ? IO_F64 : type; }

bool io_type_is_complex(io_type type) { return types[type].class == COMPLEX; }

bool io_type_is_integer(io_type type) { return kind(type) == 'i' || kind(type) == 'u'; }

bool io_type_is_unsigned(io_type type) { return kind(type) == 'u'; }

bool io_type_is_half(io_type type) { return types[type].class == HALF; }

bool io_type_is_fp8(io_type type) { return types[type].class == FP8; }

bool io_type_is_byte(io_type type) { return types[type].class == BYTE; }

bool io_type_is_newer(io_type type) { return io_type_is_fp8(type) || (io_type_is_half(type) && type != IO_F16); }

bool io_type_parse(const char *name, io_type *out)
{
    for (int t = 0; t < IO_TYPE_COUNT; t++) {
        if (strcmp(name, types[t].name) == 0) {
            *out = (io_type)t;
            return true;
        }
    }
    return false;
}

bool io_host_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

/* ---- result type --------------------------------------------------------------------------------------- */

static io_type wider(io_type a, io_type b) { return types[a].bytes >= types[b].bytes ? a : b; }

/* The float that NumPy pairs with an integer type: twice its bytes, at most f64. */
static io_type float_for(io_type type)
{
    if (kind(type) == 'f') return type;
    return types[type].bytes == 1 ? IO_F16 : types[type].bytes == 2 ? IO_F32 : IO_F64;
}

io_type io_result_type(io_type a, io_type b)
{
    if (a == b) return a;
    if (io_type_is_complex(a) || io_type_is_complex(b))
        return io_result_type(io_type_part(a), io_type_part(b)) == IO_F64 ? IO_CF64 : IO_CF32;
    if (io_type_is_newer(a) || io_type_is_newer(b)) return wider(IO_F32, float_for(io_type_is_newer(a) ? b : a));
    if (kind(a) == kind(b)) return wider(a, b);
    if (kind(a) == 'f' || kind(b) == 'f') return wider(float_for(a), float_for(b));
    io_type with_sign = kind(a) == 'i' ? a : b;
    io_type without = kind(a) == 'i' ? b : a;
    if (types[with_sign].bytes > types[without].bytes) return with_sign;
    if (without == IO_U64) return IO_F64;
    return types[without].bytes == 1 ? IO_I16 : types[without].bytes == 2 ? IO_I32 : IO_I64;
}

/* ---- from bits to values ------------------------------------------------------------------------------- */

static uint8_t swap_uint8_t(uint8_t x) { return x; }

static uint16_t swap_uint16_t(uint16_t x) { return (uint16_t)(x << 8 | x >> 8); }

static uint32_t swap_uint32_t(uint32_t x)
{
    return (uint32_t)swap_uint16_t((uint16_t)x) << 16 | swap_uint16_t((uint16_t)(x >> 16));
}

static uint64_t swap_uint64_t(uint64_t x)
{
    return (uint64_t)swap_uint32_t((uint32_t)x) << 32 | swap_uint32_t((uint32_t)(x >> 32));
}

static double value_of_IO_F64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float value_of_IO_F32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A float of few bits is exact in f32: sign, exponent, fraction, from the highest bit on. Codes count up from 0 by the
 * size of the number. e4m3 has no infinity, and its NaN where the next larger number would be. */
static inline __attribute__((always_inline)) float small_value(io_type type, uint32_t bits)
{
    const int width = (int)(8 * types[type].bytes), fraction_bits = types[type].fraction, bias = types[type].bias;
    const uint32_t sign = bits >> (width - 1) << 31, most = (UINT32_C(1) << (width - 1 - fraction_bits)) - 1,
                   fraction = bits & ((UINT32_C(1) << fraction_bits) - 1), size = bits & ~(UINT32_C(1) << (width - 1));
    uint32_t exponent = size >> fraction_bits;
    if (bias == 127) return value_of_IO_F32(bits << (32 - width)); /* the upper part of an f32 */
    if (exponent == 0) {                                           /* times 2^(1 - bias - fraction_bits) */
        const float unit = value_of_IO_F32((uint32_t)(127 + 1 - bias - fraction_bits) << 23);
        return (float)fraction * (sign != 0 ? -unit : unit);
    }
    if (type == IO_E4M3 && size == 127) return value_of_IO_F32(sign | UINT32_C(0x7fc00000));
    exponent = type != IO_E4M3 && exponent == most ? 255 : exponent + 127 - (uint32_t)bias;
    return value_of_IO_F32(sign | exponent << 23 | fraction << (23 - fraction_bits));
}

/* Two's complement without a conversion that C leaves to the implementation: same bytes, other type. */
#define INTEGER_VALUE(id, bits_t, value_t)                                                                             \
    static inline value_t value_of_##id(bits_t bits)                                                                   \
    {                                                                                                                  \
        value_t value;                                                                                                 \
        memcpy(&value, &bits, sizeof value);                                                                           \
        return value;                                                                                                  \
    }
INTEGER_VALUE(IO_I8, uint8_t, int8_t)
INTEGER_VALUE(IO_I16, uint16_t, int16_t)
INTEGER_VALUE(IO_I32, uint32_t, int32_t)
INTEGER_VALUE(IO_I64, uint64_t, int64_t)
INTEGER_VALUE(IO_U8, uint8_t, uint8_t)
INTEGER_VALUE(IO_U16, uint16_t, uint16_t)
INTEGER_VALUE(IO_U32, uint32_t, uint32_t)
INTEGER_VALUE(IO_U64, uint64_t, uint64_t)

static const unsigned char *address(const io_matrix *matrix, int64_t i, int64_t j)
{
    int64_t element = i * matrix->row_stride + j * matrix->col_stride;
    return (const unsigned char *)matrix->data + (size_t)element * types[matrix->type].bytes;
}

/* ---- conversion ---------------------------------------------------------------------------------------- */

/* One function per stored type and target: count elements, step bytes apart, each rounded once. */
#define ROW_LOOP(id, bits_t, value, target, swap)                                                                      \
    for (size_t j = 0; j < count; j++) {                                                                               \
        bits_t bits;                                                                                                   \
        memcpy(&bits, from + j * step, sizeof bits);                                                                   \
        to[j] = (target)value(id, swap(bits));                                                                         \
    }
#define ROW_FUNCTION(id, bits_t, value, target)                                                                        \
    static void id##_to_##target(const unsigned char *restrict from, size_t step, bool swapped, size_t count,          \
                                 void *restrict out)                                                                   \
    {                                                                                                                  \
        target *restrict to = out;                                                                                     \
        if (swapped) {                                                                                                 \
            ROW_LOOP(id, bits_t, value, target, swap_##bits_t)                                                         \
        } else {                                                                                                       \
            ROW_LOOP(id, bits_t, value, target, )                                                                      \
        }                                                                                                              \
    }
#define ROW_FUNCTIONS(id, bits_t, value) ROW_FUNCTION(id, bits_t, value, float) ROW_FUNCTION(id, bits_t, value, double)
#define OWN_VALUE(id, bits)              value_of_##id(bits)
#define BITS_1                           uint8_t
#define BITS_2                           uint16_t
#define BITS_4                           uint32_t
#define BITS_8                           uint64_t
/* A complex matrix is converted part by part. */
#define ROWS_COMPLEX(id, bytes)
#define ROWS_REAL(id, bytes)                            ROWS_OF_BITS(id, BITS_##bytes, OWN_VALUE)
#define ROWS_HALF(id, bytes)                            ROWS_OF_BITS(id, BITS_##bytes, small_value)
#define ROWS_FP8(id, bytes)                             ROWS_OF_BITS(id, BITS_##bytes, small_value)
#define ROWS_BYTE(id, bytes)                            ROWS_OF_BITS(id, BITS_##bytes, OWN_VALUE)
#define ROWS_WHOLE(id, bytes)                           ROWS_OF_BITS(id, BITS_##bytes, OWN_VALUE)
#define ROWS_OF_BITS(id, bits_t, value)                 ROW_FUNCTIONS(id, bits_t, value)
#define IO_TYPE(id, name, bytes, class, fraction, bias) ROWS_##class(id, bytes)
#include "types.def"

typedef void row_function(const unsigned char *restrict from, size_t step, bool swapped, size_t count,
                          void *restrict out);

#define PAIR_COMPLEX(id) {NULL, NULL},
#define PAIR_REAL(id)    {id##_to_float, id##_to_double},
#define PAIR_HALF        PAIR_REAL
#define PAIR_FP8         PAIR_REAL
#define PAIR_BYTE        PAIR_REAL
#define PAIR_WHOLE       PAIR_REAL
static row_function *const to_floats[IO_TYPE_COUNT][2] = {
#define IO_TYPE(id, name, bytes, class, fraction, bias) PAIR_##class(id)
#include "types.def"
};

static void convert_numbers(const io_matrix *matrix, io_type to, void *out);

/* Without elements there may be no memory, and any strides. */
static bool is_empty(const io_matrix *matrix) { return matrix->rows == 0 || matrix->cols == 0; }

/* The real parts of a complex matrix (0) that has elements, or the imaginary ones (1), as a matrix of real numbers. */
static io_matrix part_of(const io_matrix *matrix, int part)
{
    io_matrix real = *matrix;
    real.type = io_type_part(matrix->type);
    real.row_stride *= 2, real.col_stride *= 2;
    real.data = (const unsigned char *)matrix->data + (size_t)part * types[real.type].bytes;
    return real;
}

/* Rows in pieces: the real parts, then the imaginary ones, then both side by side. */
#define COMPLEX_FUNCTION(target)                                                                                       \
    static void complex_to_##target(const io_matrix *matrix, target *out)                                              \
    {                                                                                                                  \
        enum { PIECE = 256 };                                                                                          \
        static const io_type type = sizeof(target) == sizeof(float) ? IO_F32 : IO_F64;                                 \
        target parts[2][PIECE] = {{0}};                                                                                \
        const int parts_given = io_type_is_complex(matrix->type) ? 2 : 1;                                              \
        const bool complex = parts_given == 2;                                                                         \
        const io_matrix of[2] = {complex ? part_of(matrix, 0) : *matrix, complex ? part_of(matrix, 1) : *matrix};      \
        for (int64_t i = 0; i < matrix->rows; i++)                                                                     \
            for (int64_t j = 0; j < matrix->cols; j += PIECE) {                                                        \
                const int64_t count = matrix->cols - j < PIECE ? matrix->cols - j : PIECE;                             \
                for (int part = 0; part < parts_given; part++) convert_row(&of[part], type, i, j, count, parts[part]); \
                for (int64_t x = 0; x < count; x++, out += 2) out[0] = parts[0][x], out[1] = parts[1][x];              \
            }                                                                                                          \
    }

/* `count` real elements of a row as f32 or f64. */
static void convert_row(const io_matrix *matrix, io_type to, int64_t i, int64_t j, int64_t count, void *out)
{
    row_function *convert = to_floats[matrix->type][to == IO_F64];
    const size_t step = (size_t)matrix->col_stride * types[matrix->type].bytes;
    convert(address(matrix, i, j), step, matrix->swapped, (size_t)count, out);
}

COMPLEX_FUNCTION(float)
COMPLEX_FUNCTION(double)

/* A strip of columns at a time, so that a column-major matrix gives each cache line once: whole rows where
 * the elements of a row lie side by side. */
void io_convert(const io_matrix *matrix, io_type to, void *out)
{
    if (is_empty(matrix)) return;
    if (to == IO_CF32 || to == IO_CF64) {
        if (to == IO_CF32)
            complex_to_float(matrix, out);
        else
            complex_to_double(matrix, out);
        return;
    }
    if (io_type_is_complex(matrix->type)) {
        const io_matrix re = part_of(matrix, 0);
        io_convert(&re, to, out);
        return;
    }
    if (to != IO_F32 && to != IO_F64) {
        convert_numbers(matrix, to, out);
        return;
    }
    int64_t strip = matrix->col_stride == 1 ? matrix->cols : 16;
    for (int64_t j = 0; j < matrix->cols; j += strip) {
        int64_t count = matrix->cols - j < strip ? matrix->cols - j : strip;
        for (int64_t i = 0; i < matrix->rows; i++) {
            unsigned char *row = (unsigned char *)out + (size_t)(i * matrix->cols + j) * types[to].bytes;
            convert_row(matrix, to, i, j, count, row);
        }
    }
}

/* ---- exactness ----------------------------------------------------------------------------------------- */

/* An element without loss: an integer as sign and magnitude, anything else as a double. */
typedef struct number {
    bool integer, negative;
    uint64_t magnitude;
    double real;
} number;

static number from_signed(int64_t value)
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    return (number){.integer = true, .negative = value < 0, .magnitude = magnitude};
}

static number number_at(const io_matrix *matrix, int64_t i, int64_t j)
{
    const unsigned char *at = address(matrix, i, j);
    if (kind(matrix->type) == 'f') {
        double real;
        to_floats[matrix->type][1](at, 0, matrix->swapped, 1, &real);
        return (number){.real = real};
    }
    uint64_t bits = 0; /* the most significant byte first */
    bool big_endian = matrix->swapped != io_host_is_big_endian();
    size_t bytes = types[matrix->type].bytes;
    for (size_t b = 0; b < bytes; b++) bits = bits << 8 | at[big_endian ? b : bytes - 1 - b];
    if (kind(matrix->type) == 'u') return (number){.integer = true, .magnitude = bits};
    uint64_t sign_bit = (uint64_t)1 << (8 * bytes - 1);
    return from_signed(value_of_IO_I64((bits ^ sign_bit) - sign_bit));
}

/* As a double; of an integer with more bits one that rounds to few bits as the integer itself does. */
static double sticky(number value)
{
    uint64_t magnitude = value.magnitude;
    if (magnitude >> 53 != 0) magnitude = (magnitude & ~UINT64_C(0xfff)) | ((magnitude & 0xfff) != 0 ? 0x1000 : 0);
    return value.integer ? (value.negative ? -(double)magnitude : (double)magnitude) : value.real;
}

/* Rounded to nearest even from the number itself: by way of an f32 whose last bit remembers what was cut off. */
static uint16_t bf16_of(number value)
{
    double real = sticky(value);
    float near = (float)real;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    if (isnan(real)) return (uint16_t)(bits >> 16 | 0x40);
    if ((double)near != real && !isinf(real)) bits = (bits - (fabs((double)near) > fabs(real))) | 1;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Codes of a float of few bits, without its sign: of what is larger than the largest number, and a NaN. */
static unsigned beyond_of(io_type type)
{
    const unsigned end = 1u << (8 * types[type].bytes - 1);
    return type == IO_E4M3 ? end - 1 : end - (1u << types[type].fraction);
}
static unsigned nan_of(io_type type) { return beyond_of(type) | 1u << (types[type].fraction - 1); }

/* Of such a code its number. */
static double value_of_code(unsigned code, io_type type)
{
    const uint16_t half = (uint16_t)code;
    const uint8_t byte = (uint8_t)code;
    double value;
    to_floats[type][1](io_type_is_half(type) ? (const void *)&half : &byte, 0, false, 1, &value);
    return value;
}

/* The nearest code, a tie as the even one. */
static unsigned code_of(number from, io_type to)
{
    if (to == IO_BF16) return bf16_of(from);
    const double value = sticky(from), size = fabs(value);
    const unsigned sign = signbit(value) ? 1u << (8 * types[to].bytes - 1) : 0, beyond = beyond_of(to);
    const int least = 1 - types[to].bias;
    if (isnan(value)) return sign | nan_of(to);
    if (size == 0) return sign;
    if (isinf(value)) return sign | beyond;
    int exponent;
    frexp(size, &exponent); /* size = [1/2, 1) 2^exponent */
    exponent = exponent - 1 < least ? least : exponent - 1;
    const unsigned units = (unsigned)nearbyint(ldexp(size, types[to].fraction - exponent));
    const unsigned code = ((unsigned)(exponent - least) << types[to].fraction) + units;
    return sign | (code < beyond ? code : beyond);
}

static bool is_small(io_type type) { return io_type_is_half(type) || io_type_is_fp8(type); }

static void convert_numbers(const io_matrix *matrix, io_type to, void *out)
{
    size_t at = 0;
    for (int64_t i = 0; i < matrix->rows; i++)
        for (int64_t j = 0; j < matrix->cols; j++, at++) {
            number value = number_at(matrix, i, j);
            uint64_t whole = value.negative ? 0 - value.magnitude : value.magnitude; /* its lower bits */
            if (is_small(to))
                whole = code_of(value, to);
            else if (!value.integer)
                whole = value.real < 0 ? (uint64_t)(int64_t)value.real : (uint64_t)value.real;
            switch (types[to].bytes) {
            case 1: ((uint8_t *)out)[at] = (uint8_t)whole; break;
            case 2: ((uint16_t *)out)[at] = (uint16_t)whole; break;
            case 4: ((uint32_t *)out)[at] = (uint32_t)whole; break;
            default: ((uint64_t *)out)[at] = whole;
            }
        }
}

double io_real_at(const io_matrix *matrix, int64_t i, int64_t j) { return number_at(matrix, i, j).real; }

/* f16: 11 significant bits down to 2^-14, multiples of 2^-24 below. */
static bool real_fits_f16(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (!isfinite(value)) return true;
    if (fabs(value) < 0x1p-14) return value * 0x1p24 == trunc(value * 0x1p24);
    return fabs(value) <= 65504 && (bits & (((uint64_t)1 << 42) - 1)) == 0;
}

static bool small_fits(double value, io_type to)
{
    return to == IO_F16 ? real_fits_f16(value) : value_of_code(code_of((number){.real = value}, to), to) == value;
}

static bool real_fits(double value, io_type to)
{
    if (kind(to) == 'f') {
        if (to == IO_E4M3 && isinf(value)) return false;
        if (to == IO_F64 || !isfinite(value)) return true;
        return is_small(to) ? small_fits(value, to) : (double)(float)value == value;
    }
    double end = ldexp(1, types[to].digits);
    double begin = kind(to) == 'i' ? -end : 0;
    return value == trunc(value) && value >= begin && value < end;
}

static bool integer_fits(number value, io_type to)
{
    int digits = types[to].digits;
    uint64_t magnitude = value.magnitude;
    if (magnitude == 0) return true;
    if (kind(to) == 'f') {
        if (is_small(to) && (double)magnitude > value_of_code(beyond_of(to) - 1, to)) return false;
        while ((magnitude & 1) == 0) magnitude >>= 1;
        return magnitude >> digits == 0;
    }
    if (value.negative) return kind(to) == 'i' && (magnitude - 1) >> digits == 0;
    return digits == 64 || magnitude >> digits == 0;
}

/* Every value of `from` is one of `to`: no need to look at the elements. */
static bool always_fits(io_type from, io_type to)
{
    if (from == to) return true;
    if (kind(from) == 'f') return kind(to) == 'f' && types[from].bytes < types[to].bytes;
    if (kind(from) == 'i' && kind(to) == 'u') return false;
    return types[from].digits <= types[to].digits;
}

static void number_text(number value, io_type type, char *text, size_t size)
{
    io_locale locale;
    if (value.integer) {
        snprintf(text, size, "%s%" PRIu64, value.negative ? "-" : "", value.magnitude);
    } else if (io_locale_enter(&locale)) {
        io_real_text(value.real, type, text, size);
        io_locale_leave(&locale);
    } else {
        snprintf(text, size, "?");
    }
}

void io_number_text(const io_matrix *matrix, int64_t i, int64_t j, char *text, size_t size)
{
    if (io_type_is_complex(matrix->type)) {
        const io_matrix re = part_of(matrix, 0), im = part_of(matrix, 1);
        io_real_text(number_at(&re, i, j).real, re.type, text, size);
        const size_t used = strlen(text);
        snprintf(text + used, size - used, " ");
        if (used + 1 < size) io_real_text(number_at(&im, i, j).real, im.type, text + used + 1, size - used - 1);
        return;
    }
    number value = number_at(matrix, i, j);
    if (value.integer)
        snprintf(text, size, "%s%" PRIu64, value.negative ? "-" : "", value.magnitude);
    else
        io_real_text(value.real, matrix->type, text, size);
}

/* Do both parts fit? If not, *i and *j hold the first element of which one does not. */
static bool complex_fits(const io_matrix *matrix, io_type to, int64_t *i, int64_t *j, char *value, size_t value_size)
{
    const io_matrix parts[2] = {part_of(matrix, 0), part_of(matrix, 1)};
    const bool wide = !io_type_is_complex(to) || (matrix->type == IO_CF64 && to == IO_CF32);
    io_locale locale;
    for (*i = 0; wide && *i < matrix->rows; ++*i)
        for (*j = 0; *j < matrix->cols; ++*j) {
            if (io_type_is_complex(to) && real_fits(number_at(&parts[0], *i, *j).real, IO_F32) &&
                real_fits(number_at(&parts[1], *i, *j).real, IO_F32))
                continue;
            snprintf(value, value_size, "?");
            if (!io_locale_enter(&locale)) return false;
            io_number_text(matrix, *i, *j, value, value_size);
            io_locale_leave(&locale);
            return false;
        }
    return true;
}

bool io_fits_exactly(const io_matrix *matrix, io_type to, int64_t *i, int64_t *j, char *value, size_t value_size)
{
    if (is_empty(matrix)) return true;
    if (io_type_is_complex(matrix->type)) return complex_fits(matrix, to, i, j, value, value_size);
    to = io_type_part(to);
    if (always_fits(matrix->type, to)) return true;
    for (*i = 0; *i < matrix->rows; ++*i) {
        for (*j = 0; *j < matrix->cols; ++*j) {
            number element = number_at(matrix, *i, *j);
            if (element.integer ? integer_fits(element, to) : real_fits(element.real, to)) continue;
            number_text(element, matrix->type, value, value_size);
            return false;
        }
    }
    return true;
}

static bool stays(number value, io_type to)
{
    const double real = sticky(value);
    if (isnan(real) || (isinf(real) && to != IO_E4M3)) return true;
    if (is_small(to)) return (code_of(value, to) & ((1u << (8 * types[to].bytes - 1)) - 1)) < beyond_of(to);
    return isfinite((float)real) || to == IO_F64;
}

bool io_fits_range(const io_matrix *matrix, io_type to, int64_t *i, int64_t *j, char *value, size_t value_size)
{
    if (matrix->type == to || is_empty(matrix)) return true;
    for (*i = 0; *i < matrix->rows; ++*i) {
        for (*j = 0; *j < matrix->cols; ++*j) {
            number element = number_at(matrix, *i, *j);
            if (stays(element, to)) continue;
            number_text(element, matrix->type, value, value_size);
            return false;
        }
    }
    return true;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

bool io_locale_enter(io_locale *locale)
{
    locale->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (locale->c == (locale_t)0) return false;
    locale->before = uselocale(locale->c);
    return true;
}

void io_locale_leave(io_locale *locale)
{
    uselocale(locale->before);
    freelocale(locale->c);
}

/* Reading goes through f64, as every reader of text does: what counts is f64 rounded to the type. */
void io_real_text(double value, io_type type, char *text, size_t size)
{
    if (!isfinite(value)) {
        snprintf(text, size, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    int most = type == IO_F64 ? 17 : 9;
    for (int digits = type == IO_F64 ? 15 : 6; digits <= most; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if ((type == IO_F64 ? back : (double)(float)back) == value) return;
    }
}
