/* test_io_convert.c - types and their names, conversion that rounds once, and whether values fit exactly. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/elements.h"
#include "support/folder.h"
#include "support/io_parse.h"

static void types_have_names(void)
{
    static const struct {
        const char *name;
        io_type type;
        size_t bytes;
    } rows[] = {{"f64", IO_F64, 8},   {"f32", IO_F32, 4},    {"f16", IO_F16, 2},   {"i8", IO_I8, 1},
                {"i16", IO_I16, 2},   {"i32", IO_I32, 4},    {"i64", IO_I64, 8},   {"u8", IO_U8, 1},
                {"u16", IO_U16, 2},   {"u32", IO_U32, 4},    {"u64", IO_U64, 8},   {"bf16", IO_BF16, 2},
                {"cf32", IO_CF32, 8}, {"cf64", IO_CF64, 16}, {"e4m3", IO_E4M3, 1}, {"e5m2", IO_E5M2, 1}};
    assert_int_equal(COUNT(rows), IO_TYPE_COUNT);
    io_type type;
    for (size_t r = 0; r < COUNT(rows); r++) {
        assert_string_equal(io_type_name(rows[r].type), rows[r].name);
        assert_int_equal(io_type_bytes(rows[r].type), rows[r].bytes);
        assert_true(io_type_parse(rows[r].name, &type));
        assert_int_equal(type, rows[r].type);
    }
    assert_false(io_type_parse("", &type) || io_type_parse("f", &type) || io_type_parse("F32", &type) ||
                 io_type_parse("f320", &type) || io_type_parse("bf8", &type));
    assert_false(io_type_parse("complex64", &type)); /* other names are the program's */
    assert_int_equal(io_type_bytes(IO_TYPE_COUNT), 0);
    assert_string_equal(io_type_name(IO_TYPE_COUNT), "?");
}

static void formats_follow_endings(void)
{
    static const struct {
        const char *path;
        io_format format;
    } cases[] = {{"a.npy", IO_FORMAT_NPY},   {"A.NPY", IO_FORMAT_NPY},    {"x/y.z/a.mtx", IO_FORMAT_MTX},
                 {"a.raw", IO_FORMAT_RAW},   {"a.Bin", IO_FORMAT_RAW},    {"a", IO_FORMAT_NONE},
                 {"", IO_FORMAT_NONE},       {"a.npy/b", IO_FORMAT_NONE}, {"a.npy.gz", IO_FORMAT_NONE},
                 {"a.npyx", IO_FORMAT_NONE}, {".npy", IO_FORMAT_NPY},     {"a.", IO_FORMAT_NONE}};
    for (size_t c = 0; c < COUNT(cases); c++) assert_int_equal(io_format_of(cases[c].path), cases[c].format);
}

/* numpy.result_type of NumPy 1.24, in the order of io_type; bf16, e4m3 and e5m2, which it has not, as f32 with all but
 * themselves. */
static void result_types_are_numpys(void)
{
    enum { F64 = IO_F64, F32, CF64, CF32, BF16, F16, E4M3, E5M2, I8, U8, I16, I32, I64, U16, U32, U64 };
    static const int table[IO_TYPE_COUNT][IO_TYPE_COUNT] = {
        {F64, F64, CF64, CF64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64},
        {F64, F32, CF64, CF32, F32, F32, F32, F32, F32, F32, F32, F64, F64, F32, F64, F64},
        {CF64, CF64, CF64, CF64, CF64, CF64, CF64, CF64, CF64, CF64, CF64, CF64, CF64, CF64, CF64, CF64},
        {CF64, CF32, CF64, CF32, CF32, CF32, CF32, CF32, CF32, CF32, CF32, CF64, CF64, CF32, CF64, CF64},
        {F64, F32, CF64, CF32, BF16, F32, F32, F32, F32, F32, F32, F64, F64, F32, F64, F64},
        {F64, F32, CF64, CF32, F32, F16, F32, F32, F16, F16, F32, F64, F64, F32, F64, F64},
        {F64, F32, CF64, CF32, F32, F32, E4M3, F32, F32, F32, F32, F64, F64, F32, F64, F64},
        {F64, F32, CF64, CF32, F32, F32, F32, E5M2, F32, F32, F32, F64, F64, F32, F64, F64},
        {F64, F32, CF64, CF32, F32, F16, F32, F32, I8, I16, I16, I32, I64, I32, I64, F64},
        {F64, F32, CF64, CF32, F32, F16, F32, F32, I16, U8, I16, I32, I64, U16, U32, U64},
        {F64, F32, CF64, CF32, F32, F32, F32, F32, I16, I16, I16, I32, I64, I32, I64, F64},
        {F64, F64, CF64, CF64, F64, F64, F64, F64, I32, I32, I32, I32, I64, I32, I64, F64},
        {F64, F64, CF64, CF64, F64, F64, F64, F64, I64, I64, I64, I64, I64, I64, I64, F64},
        {F64, F32, CF64, CF32, F32, F32, F32, F32, I32, U16, I32, I32, I64, U16, U32, U64},
        {F64, F64, CF64, CF64, F64, F64, F64, F64, I64, U32, I64, I64, I64, U32, U32, U64},
        {F64, F64, CF64, CF64, F64, F64, F64, F64, F64, U64, F64, F64, F64, U64, U64, U64},
    };
    for (int a = 0; a < IO_TYPE_COUNT; a++) {
        for (int b = 0; b < IO_TYPE_COUNT; b++) assert_int_equal(io_result_type((io_type)a, (io_type)b), table[a][b]);
    }
}

/* The value of a half by its definition. */
static double half_value(unsigned bits)
{
    double sign = bits >> 15 ? -1 : 1;
    int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

static void every_half_is_read(void)
{
    static uint16_t halves[65536];
    static float singles[65536];
    static double doubles[65536];
    for (int swapped = 0; swapped < 2; swapped++) {
        for (unsigned b = 0; b < 65536; b++) halves[b] = (uint16_t)(swapped ? b >> 8 | b << 8 : b);
        io_matrix m = {.type = IO_F16,
                       .swapped = swapped,
                       .rows = 256,
                       .cols = 256,
                       .row_stride = 256,
                       .col_stride = 1,
                       .data = halves};
        io_convert(&m, IO_F32, singles);
        io_convert(&m, IO_F64, doubles);
        for (unsigned b = 0; b < 65536; b++) {
            double expected = half_value(b);
            if (isnan(expected)) {
                assert_true(isnan(singles[b]) && isnan(doubles[b]));
                continue;
            }
            if (doubles[b] != expected || singles[b] != (float)expected || signbit(doubles[b]) != signbit(expected))
                fail_msg("half %04x is %.17g, expected %.17g", b, doubles[b], expected);
        }
    }
}

/* To either type, from views by rows, by columns and with gaps, longer than a piece; real elements get no imaginary
 * part. */
static void complex_elements_are_converted(void)
{
    enum { ROWS = 3, COLS = 301, ALL = 2 * ROWS * COLS };
    static double wide[2 * ALL], out[ALL];
    static float single[2 * ALL], narrow[ALL];
    for (int e = 0; e < 2 * ALL; e++) wide[e] = 1.0 / (e + 3), single[e] = (float)wide[e];
    static const int64_t strides[][2] = {{COLS, 1}, {1, ROWS}, {2 * COLS, 2}};
    for (int variant = 0; variant < 9; variant++) {
        const int64_t *stride = strides[variant % 3];
        const int from = variant / 3; /* cf64, cf32, f64 */
        const io_matrix m = {.type = from == 0   ? IO_CF64
                                     : from == 1 ? IO_CF32
                                                 : IO_F64,
                             .rows = ROWS,
                             .cols = COLS,
                             .row_stride = stride[0],
                             .col_stride = stride[1],
                             .data = from == 1 ? (void *)single : (void *)wide};
        io_convert(&m, IO_CF64, out), io_convert(&m, IO_CF32, narrow);
        for (int e = 0; e < ALL; e++) {
            const int64_t at = e / 2 / COLS * stride[0] + e / 2 % COLS * stride[1];
            const double expected = from == 0   ? wide[2 * at + e % 2]
                                    : from == 1 ? (double)single[2 * at + e % 2]
                                    : e % 2     ? 0
                                                : wide[at];
            if (out[e] != expected || narrow[e] != (float)expected)
                fail_msg("variant %d: number %d is %.17g, expected %.17g", variant, e, out[e], expected);
        }
    }
}

/* Of every type to every type that elements are converted to, about the columns of a strip and of a piece. */
static void every_width_is_converted(void)
{
    static const io_type targets[] = {IO_F64,  IO_F32,  IO_F16, IO_BF16, IO_E4M3, IO_E5M2,
                                      IO_CF32, IO_CF64, IO_I8,  IO_U8,   IO_I32};
    enum { ROWS = 3, STRIP = 16, PIECE = 256 };
    static _Alignas(MOST_ELEMENT) char out[ROWS * (2 * PIECE + 2) * MOST_ELEMENT];
    for (int variant = 0; variant < IO_TYPE_COUNT * LAYOUTS * 2 * 8; variant++) {
        const io_type from = (io_type)(variant / (LAYOUTS * 2 * 8));
        const int64_t cols = about(variant / 4 % 2 ? PIECE : STRIP, variant % 4);
        io_matrix m = elements_make(from, variant / 8 % 2, ROWS, cols, (elements_layout)(variant / 16 % LAYOUTS));
        for (size_t t = 0; t < COUNT(targets); t++) {
            const alphabet all = alphabet_of(targets[t], false);
            memset(out, 0x55, sizeof out);
            io_convert(&m, targets[t], out);
            elements_check(out, &all, from, 0, 0, ROWS, cols, false, m.swapped ? "swapped" : "not swapped");
            assert_int_equal(out[(size_t)(ROWS * cols) * all.bytes], 0x55);
        }
        io_free(&m);
    }
}

/* What no real number is, or no f32, with its text; real numbers by the type of a part. */
static void complex_elements_fit(void)
{
    static const double values[] = {1, 0, 2, -3, 0.1, 4};
    const io_matrix m = {.type = IO_CF64, .rows = 1, .cols = 3, .row_stride = 3, .col_stride = 1, .data = values},
                    real = {.type = IO_F64, .rows = 1, .cols = 5, .row_stride = 5, .col_stride = 1, .data = values};
    int64_t i, j;
    char text[64];
    assert_true(io_fits_exactly(&m, IO_CF64, &i, &j, text, sizeof text));
    assert_false(io_fits_exactly(&m, IO_CF32, &i, &j, text, sizeof text));
    assert_true(i == 0 && j == 2);
    assert_string_equal(text, "0.1 4");
    assert_false(io_fits_exactly(&m, IO_F64, &i, &j, text, sizeof text));
    assert_true(i == 0 && j == 0);
    assert_true(io_fits_exactly(&real, IO_CF64, &i, &j, text, sizeof text));
    assert_false(io_fits_exactly(&real, IO_CF32, &i, &j, text, sizeof text));
    assert_true(j == 4);
}

static io_matrix one(io_type type, const void *element)
{
    return (io_matrix){.type = type, .rows = 1, .cols = 1, .row_stride = 1, .col_stride = 1, .data = element};
}

static void conversion_rounds_once(void)
{
    static const int64_t above_tie = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1; /* through f64 it would be a tie */
    static const int64_t tie = (INT64_C(1) << 53) + 1, lowest = INT64_MIN;
    static const uint64_t highest = UINT64_MAX, above_tie_u = (UINT64_C(1) << 63) + (UINT64_C(1) << 39) + 1;
    static const double large = 1e300, smaller = -1e300, tiny = 0x1p-149, half_tiny = 0x1p-150, ulp = 1 + 0x1p-24;
    static const int32_t i32 = 16777217;
    static const struct {
        io_type type;
        const void *element;
        float single;
        double exact;
    } cases[] = {{IO_I64, &above_tie, 0x1.000002p60f, 0x1.000001p60},
                 {IO_I64, &tie, 0x1p53f, 0x1p53},
                 {IO_I64, &lowest, -0x1p63f, -0x1p63},
                 {IO_U64, &highest, 0x1p64f, 0x1p64},
                 {IO_U64, &above_tie_u, 0x1.000002p63f, 0x1.000001p63},
                 {IO_F64, &large, INFINITY, 1e300},
                 {IO_F64, &smaller, -INFINITY, -1e300},
                 {IO_F64, &tiny, 0x1p-149f, 0x1p-149},
                 {IO_F64, &half_tiny, 0, 0x1p-150},
                 {IO_F64, &ulp, 1, 1 + 0x1p-24},
                 {IO_I32, &i32, 16777216, 16777217}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        io_matrix m = one(cases[c].type, cases[c].element);
        float single;
        double exact;
        io_convert(&m, IO_F32, &single);
        io_convert(&m, IO_F64, &exact);
        if (single != cases[c].single || exact != cases[c].exact)
            fail_msg("case %zu: %a and %a, expected %a and %a", c, (double)single, exact, (double)cases[c].single,
                     cases[c].exact);
    }
}

/* The value of an fp8 by its definition. e4m3: bias 7, no infinity; e5m2: bias 15, like IEEE's. */
static double fp8_value(io_type type, int bits)
{
    const int fraction_bits = type == IO_E4M3 ? 3 : 2, bias = type == IO_E4M3 ? 7 : 15,
              exponent = (bits & 127) >> fraction_bits;
    const double fraction = (bits & ((1 << fraction_bits) - 1)) / ldexp(1, fraction_bits), sign = bits >> 7 ? -1 : 1;
    if (type == IO_E4M3 && (bits & 127) == 127) return NAN;
    if (type == IO_E5M2 && exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, exponent - bias));
}

static void every_fp8_is_read(void)
{
    for (io_type type = IO_E4M3; type <= IO_E5M2; type++) {
        uint8_t codes[256], back[256];
        float singles[256];
        double doubles[256];
        for (int b = 0; b < 256; b++) codes[b] = (uint8_t)b;
        io_matrix m = {.type = type, .rows = 16, .cols = 16, .row_stride = 16, .col_stride = 1, .data = codes};
        io_convert(&m, IO_F32, singles);
        io_convert(&m, IO_F64, doubles);
        m.type = IO_F32, m.data = singles;
        io_convert(&m, type, back);
        for (int b = 0; b < 256; b++) {
            const double expected = fp8_value(type, b);
            if (isnan(expected)) {
                assert_true(isnan(singles[b]) && isnan(doubles[b]) && isnan(fp8_value(type, back[b])));
                continue;
            }
            if (doubles[b] != expected || singles[b] != (float)expected || !signbit(doubles[b]) != !signbit(expected) ||
                back[b] != b)
                fail_msg("%s %02x is %.17g, expected %.17g; back: %02x", io_type_name(type), b, doubles[b], expected,
                         back[b]);
        }
    }
}

static unsigned stored(double value, io_type to)
{
    const io_matrix m = one(IO_F64, &value);
    uint16_t out[1] = {0};
    io_convert(&m, to, out);
    return to == IO_F16 ? out[0] : *(uint8_t *)out;
}

/* From each number to the next: the middle goes to the even code, what is a little off it to the nearer one. */
static void small_floats_round_to_nearest_even(void)
{
    static const struct {
        io_type type;
        unsigned beyond, sign;
        double largest; /* and a step more: what rounds away */
        double step;
    } rows[] = {
        {IO_F16, 0x7c00, 0x8000, 65504, 32}, {IO_E4M3, 0x7f, 0x80, 448, 32}, {IO_E5M2, 0x7c, 0x80, 57344, 8192}};
    for (size_t r = 0; r < COUNT(rows); r++) {
        const io_type type = rows[r].type;
        for (unsigned code = 0; code < rows[r].beyond; code++) {
            const double low = type == IO_F16 ? half_value(code) : fp8_value(type, (int)code);
            const double high = code + 1 == rows[r].beyond ? low + rows[r].step
                                : type == IO_F16           ? half_value(code + 1)
                                                           : fp8_value(type, (int)code + 1);
            const double middle = (low + high) / 2;
            const unsigned even = code % 2 == 0 ? code : code + 1;
            if (stored(low, type) != code || stored(middle, type) != even ||
                stored(-middle, type) != (even | rows[r].sign) || stored(nextafter(middle, 0), type) != code ||
                stored(nextafter(middle, INFINITY), type) != code + 1)
                fail_msg("%s %x: %a is %x, expected %x", io_type_name(type), code, middle, stored(middle, type), even);
        }
        assert_int_equal(stored(1e300, type), rows[r].beyond);
        assert_int_equal(stored(-INFINITY, type), rows[r].beyond | rows[r].sign);
        assert_int_equal(stored(-0.0, type), rows[r].sign);
        assert_int_equal(stored(0x1p-1074, type), 0);
        assert_true((stored(NAN, type) & ~rows[r].sign) >= rows[r].beyond + (type != IO_E4M3));
    }
    static const uint64_t large = UINT64_MAX;
    static const int32_t whole = -449;
    io_matrix m = one(IO_U64, &large);
    uint8_t out = 0;
    io_convert(&m, IO_E5M2, &out);
    assert_int_equal(out, 0x7c);
    m = one(IO_I32, &whole);
    io_convert(&m, IO_E4M3, &out);
    assert_int_equal(out, 0xfe);
}

/* The largest number that a type rounds to one of its own, and the least that it does not. */
static void what_goes_beyond_a_type_is_found(void)
{
    static const struct {
        io_type to;
        double most, least;
    } rows[] = {{IO_E4M3, 464, 464.00000001},       {IO_E5M2, 61439.999, 61440},
                {IO_F16, 65519.999, 65520},         {IO_BF16, 0x1.fefffffffp127, 0x1.ffp127},
                {IO_F32, 0x1.fffffefffp127, 1e300}, {IO_F64, DBL_MAX, NAN},
                {IO_E4M3, NAN, INFINITY},           {IO_E5M2, INFINITY, -1e300}};
    for (size_t r = 0; r < COUNT(rows); r++) {
        const double values[] = {0, -rows[r].most, NAN, rows[r].least};
        io_matrix m = {.type = IO_F64, .rows = 2, .cols = 2, .row_stride = 2, .col_stride = 1, .data = values};
        int64_t i = -1, j = -1;
        char text[64];
        const bool all = isnan(rows[r].least);
        if (io_fits_range(&m, rows[r].to, &i, &j, text, sizeof text) != all) fail_msg("row %zu", r);
        assert_true(all || (i == 1 && j == 1 && strlen(text) > 0));
    }
    static const int64_t whole[] = {464, -465};
    io_matrix m = {.type = IO_I64, .rows = 1, .cols = 2, .row_stride = 2, .col_stride = 1, .data = whole};
    int64_t i, j;
    char text[64];
    assert_false(io_fits_range(&m, IO_E4M3, &i, &j, text, sizeof text));
    assert_true(i == 0 && j == 1 && strcmp(text, "-465") == 0);
}

/* Any strides, any type: element (i, j) is 10 i + j. */
static void conversion_follows_strides(void)
{
    enum { ROWS = 5, COLS = 40 }; /* more columns than one strip */
    static const struct {
        int64_t row_stride, col_stride;
    } layouts[] = {{COLS, 1}, {1, ROWS}, {COLS + 3, 1}, {1, ROWS + 2}, {2 * COLS, 2}, {0, 1}, {1, 0}};
    for (size_t l = 0; l < COUNT(layouts); l++) {
        static int16_t data[1000];
        static double doubles[ROWS * COLS];
        static float singles[ROWS * COLS];
        int64_t rs = layouts[l].row_stride, cs = layouts[l].col_stride;
        for (int i = 0; i < ROWS; i++) {
            for (int j = 0; j < COLS; j++) data[i * rs + j * cs] = (int16_t)((rs > 0 ? 10 * i : 0) + (cs > 0 ? j : 0));
        }
        io_matrix m = {.type = IO_I16, .rows = ROWS, .cols = COLS, .row_stride = rs, .col_stride = cs, .data = data};
        io_convert(&m, IO_F64, doubles);
        io_convert(&m, IO_F32, singles);
        for (int i = 0; i < ROWS; i++) {
            for (int j = 0; j < COLS; j++) {
                int expected = (rs > 0 ? 10 * i : 0) + (cs > 0 ? j : 0);
                assert_true(doubles[i * COLS + j] == expected && singles[i * COLS + j] == (float)expected);
            }
        }
    }
}

/* ---- exactness ----------------------------------------------------------------------------------------- */

/* Does the value fit? Of every stored type that can hold it, in both byte orders. */
static void check_fit(io_type from, const void *element, io_type to, bool expected)
{
    unsigned char turned[8];
    size_t size = io_type_bytes(from);
    for (size_t b = 0; b < size; b++) turned[b] = ((const unsigned char *)element)[size - 1 - b];
    io_matrix straight = one(from, element), swapped = one(from, turned);
    swapped.swapped = true;
    int64_t i = -1, j = -1;
    char text[64] = "";
    if (io_fits_exactly(&straight, to, &i, &j, text, sizeof text) != expected)
        fail_msg("%s in %s (%s): expected %d", io_type_name(from), io_type_name(to), text, expected);
    assert_int_equal(io_fits_exactly(&swapped, to, &i, &j, text, sizeof text), expected);
    if (!expected) assert_true(i == 0 && j == 0 && text[0] != '\0');
}

/* bf16 as the upper half of an f32: read exactly, written rounded once to nearest even; integers go as they are; i32 is
 * written to files. */
static void bf16_and_integers_are_converted(void)
{
    static uint16_t halves[1 << 16], back[1 << 16];
    static float singles[1 << 16];
    for (int b = 0; b < 1 << 16; b++) halves[b] = (uint16_t)b;
    io_matrix m = {.type = IO_BF16, .rows = 256, .cols = 256, .row_stride = 256, .col_stride = 1, .data = halves};
    io_convert(&m, IO_F32, singles);
    for (int b = 0; b < 1 << 16; b++) {
        uint32_t bits;
        memcpy(&bits, &singles[b], sizeof bits);
        assert_true(isnan(singles[b]) ? (b & 0x7f80) == 0x7f80 && (b & 0x7f) != 0 : bits == (uint32_t)b << 16);
    }
    m.type = IO_F32, m.data = singles;
    io_convert(&m, IO_BF16, back);
    for (int b = 0; b < 1 << 16; b++) assert_true(back[b] == b || (isnan(singles[b]) && back[b] == (b | 0x40)));
    static const struct {
        double value;
        uint16_t bits;
    } rounded[] = {{1 + 0x1p-8, 0x3f80},
                   {1 + 0x1p-8 + 0x1p-50, 0x3f81},
                   {1 + 0x1.8p-7, 0x3f82},
                   {-1 - 0x1p-8 - 0x1p-40, 0xbf81},
                   {1 + 0x1p-8 - 0x1p-40, 0x3f80},
                   {0x1.fep127, 0x7f7f},
                   {0x1.ffp127, 0x7f80},
                   {0x1.fefffffffp127, 0x7f7f},
                   {1e300, 0x7f80},
                   {0x1p-134, 0},
                   {0x1.8p-134, 1},
                   {-0x1p-133, 0x8001}};
    for (size_t r = 0; r < COUNT(rounded); r++) {
        io_matrix one = {
            .type = IO_F64, .rows = 1, .cols = 1, .row_stride = 1, .col_stride = 1, .data = &rounded[r].value};
        io_convert(&one, IO_BF16, back);
        if (back[0] != rounded[r].bits)
            fail_msg("%a is bf16 %04x, expected %04x", rounded[r].value, back[0], rounded[r].bits);
        check_fit(IO_F64, &rounded[r].value, IO_BF16,
                  fabs(rounded[r].value) == 0x1.fep127 || rounded[r].value == -0x1p-133);
    }
    /* just above the middle of two bf16 */
    static const uint64_t large = (UINT64_C(1) << 63) + (UINT64_C(1) << 55) + 1;
    io_matrix one = {.type = IO_U64, .rows = 1, .cols = 1, .row_stride = 1, .col_stride = 1, .data = &large};
    io_convert(&one, IO_BF16, back);
    assert_int_equal(back[0], 0x5f01);
    static const int64_t whole[] = {-128, 127, 0, -1};
    static const double real[] = {-128, 127, -0.0, -1};
    int8_t bytes[4];
    int32_t words[4];
    for (int x = 0; x < 2; x++) {
        io_matrix four = {.type = x ? IO_F64 : IO_I64,
                          .rows = 2,
                          .cols = 2,
                          .row_stride = 2,
                          .col_stride = 1,
                          .data = x ? (const void *)real : whole};
        io_convert(&four, IO_I8, bytes), io_convert(&four, IO_I32, words);
        for (int e = 0; e < 4; e++) assert_true(bytes[e] == whole[e] && words[e] == whole[e]);
    }
    static const double large_reals[] = {0x1p63, 0x1.fffffffffffffp63}, small_reals[] = {-0x1p63, -1};
    io_matrix reals = {.type = IO_F64, .rows = 1, .cols = 2, .row_stride = 2, .col_stride = 1, .data = large_reals};
    uint64_t longs[2];
    io_convert(&reals, IO_U64, longs);
    assert_true(longs[0] == UINT64_C(1) << 63 && longs[1] == UINT64_MAX - 2047);
    reals.data = small_reals, io_convert(&reals, IO_I64, longs);
    assert_true(longs[0] == UINT64_C(1) << 63 && longs[1] == UINT64_MAX);
}

/* Integers of 2 bytes and more in each format: the ends of their range and what is between come back as they are. */
static void integers_are_written_and_read(void)
{
    static const io_type all[] = {IO_I16, IO_I32, IO_I64, IO_U16, IO_U32, IO_U64};
    static const char *const names[] = {"C.npy", "C.mtx", "C.raw"};
    for (size_t t = 0; t < COUNT(all); t++) {
        const size_t bytes = io_type_bytes(all[t]);
        const uint64_t top = UINT64_C(1) << (8 * bytes - 1), ends[] = {top, top - 1, 0, UINT64_MAX - 6, 8, UINT64_MAX};
        uint16_t of_2[6];
        uint32_t of_4[6];
        uint64_t of_8[6], got[6];
        for (int e = 0; e < 6; e++) of_2[e] = (uint16_t)ends[e], of_4[e] = (uint32_t)ends[e], of_8[e] = ends[e];
        const void *data = bytes == 2 ? (const void *)of_2 : bytes == 4 ? (const void *)of_4 : of_8;
        io_matrix written = {.type = all[t], .rows = 2, .cols = 3, .row_stride = 3, .col_stride = 1, .data = data};
        for (size_t f = 0; f < COUNT(names); f++) {
            io_output output;
            io_error error;
            io_matrix read;
            const io_raw_shape shape = {all[t], 2, 3};
            assert_int_equal(io_output_open(&output, in_folder(names[f]), &error), IO_OK);
            assert_int_equal(io_output_write(&output, io_format_of(names[f]), &written, &error), IO_OK);
            assert_int_equal(io_output_commit(&output, &error), IO_OK);
            assert_int_equal(io_read(in_folder(names[f]), &shape, &read, &error), IO_OK);
            assert_true(read.rows == 2 && read.cols == 3);
            assert_int_equal(read.type, f != 1 ? all[t] : all[t] == IO_U64 ? IO_U64 : IO_I64);
            io_convert(&read, all[t], got);
            assert_memory_equal(got, data, 6 * bytes);
            io_free(&read);
            remove(in_folder(names[f]));
        }
    }
}

static void reals_fit_or_not(void)
{
    enum { F32 = 1, F16 = 2, I8 = 4, I16 = 8, I32 = 16, I64 = 32, U8 = 64, U16 = 128, U32 = 256, U64 = 512 };
    static const io_type bits[] = {IO_F32, IO_F16, IO_I8, IO_I16, IO_I32, IO_I64, IO_U8, IO_U16, IO_U32, IO_U64};
    static const struct {
        double value;
        int fits;
    } cases[] = {{0, 1023},
                 {-0.0, 1023},
                 {1, 1023},
                 {-1, F32 | F16 | I8 | I16 | I32 | I64},
                 {127, 1023},
                 {128, 1023 - I8},
                 {-128, F32 | F16 | I8 | I16 | I32 | I64},
                 {-129, F32 | F16 | I16 | I32 | I64},
                 {255, 1023 - I8},
                 {256, 1023 - I8 - U8},
                 {2048, 1023 - I8 - U8},
                 {2049, 1023 - I8 - U8 - F16},
                 {65504, F32 | F16 | I32 | I64 | U16 | U32 | U64},
                 {65535, F32 | I32 | I64 | U16 | U32 | U64},
                 {65520, F32 | I32 | I64 | U16 | U32 | U64},
                 {65536, F32 | I32 | I64 | U32 | U64},
                 {16777216, F32 | I32 | I64 | U32 | U64},
                 {16777217, I32 | I64 | U32 | U64},
                 {2147483647, I32 | I64 | U32 | U64},
                 {2147483648, F32 | I64 | U32 | U64},
                 {-2147483648.0, F32 | I32 | I64},
                 {4294967295, I64 | U32 | U64},
                 {4294967296, F32 | I64 | U64},
                 {0x1p63, F32 | U64},
                 {-0x1p63, F32 | I64},
                 {0x1.fffffffffffffp62, I64 | U64},
                 {0x1p64, F32},
                 {0x1.fffffffffffffp63, U64},
                 {-0x1.0000000000001p63, 0},
                 {0.5, F32 | F16},
                 {0.1, 0},
                 {0x1p-14, F32 | F16},
                 {0x1p-24, F32 | F16},
                 {0x1.8p-24, F32},
                 {0x1p-25, F32},
                 {0x1.ff8p-15, F32 | F16},
                 {0x1.ffcp-15, F32},
                 {0x1.002p0, F32},
                 {0x1.004p0, F32 | F16},
                 {0x1p-149, F32},
                 {0x1p-150, 0},
                 {0x1.fffffep127, F32},
                 {0x1p128, 0},
                 {NAN, F32 | F16},
                 {INFINITY, F32 | F16},
                 {-INFINITY, F32 | F16},
                 {1e300, 0}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        check_fit(IO_F64, &cases[c].value, IO_F64, true);
        for (size_t t = 0; t < COUNT(bits); t++) {
            bool expected = cases[c].fits >> t & 1;
            check_fit(IO_F64, &cases[c].value, bits[t], expected);
            float single = (float)cases[c].value;
            if ((double)single == cases[c].value) check_fit(IO_F32, &single, bits[t], expected);
        }
    }
}

static void every_half_fits_its_value(void)
{
    for (unsigned b = 0; b < 65536; b++) {
        double value = half_value(b);
        check_fit(IO_F64, &value, IO_F16, true);
        double next = nextafter(value, 1e9);
        if (isfinite(value)) check_fit(IO_F64, &next, IO_F16, false);
    }
}

static void integers_fit_or_not(void)
{
    static const int64_t signed_values[] = {0,
                                            1,
                                            -1,
                                            127,
                                            128,
                                            -128,
                                            -129,
                                            255,
                                            256,
                                            2047,
                                            2049,
                                            -2049,
                                            32767,
                                            32768,
                                            -32768,
                                            -32769,
                                            65504,
                                            65535,
                                            65536,
                                            65537,
                                            16777216,
                                            16777217,
                                            -16777217,
                                            INT32_MAX,
                                            INT32_MIN,
                                            INT64_C(2147483648),
                                            INT64_C(-2147483649),
                                            UINT32_MAX,
                                            INT64_C(4294967296),
                                            (INT64_C(1) << 53),
                                            (INT64_C(1) << 53) + 1,
                                            (INT64_C(1) << 53) + 2,
                                            -(INT64_C(1) << 53) - 1,
                                            INT64_MAX,
                                            INT64_MIN,
                                            INT64_MIN + 1};
    static const struct {
        io_type type;
        int64_t low, high;
    } ranges[] = {{IO_I8, INT8_MIN, INT8_MAX},    {IO_I16, INT16_MIN, INT16_MAX}, {IO_I32, INT32_MIN, INT32_MAX},
                  {IO_I64, INT64_MIN, INT64_MAX}, {IO_U8, 0, UINT8_MAX},          {IO_U16, 0, UINT16_MAX},
                  {IO_U32, 0, UINT32_MAX},        {IO_U64, 0, INT64_MAX}};
    for (size_t c = 0; c < COUNT(signed_values); c++) {
        int64_t value = signed_values[c];
        for (size_t r = 0; r < COUNT(ranges); r++) {
            bool fits = value >= ranges[r].low && value <= ranges[r].high;
            check_fit(IO_I64, &value, ranges[r].type, fits);
            if (value >= 0) check_fit(IO_U64, &value, ranges[r].type, fits);
        }
        /* a long double holds any 64-bit integer where it is wider than a double */
        check_fit(IO_I64, &value, IO_F64, (long double)(double)value == (long double)value);
        check_fit(IO_I64, &value, IO_F32, (long double)(float)value == (long double)value);
        double real = (double)value;
        bool half = fabs(real) <= 65504 && fmod(real, fabs(real) < 2048 ? 1 : fabs(real) < 4096 ? 2 : 32) == 0;
        check_fit(IO_I64, &value, IO_F16, half);
    }
    static const uint64_t top = UINT64_MAX, high_bit = UINT64_C(1) << 63, lower = UINT64_MAX - 2047;
    check_fit(IO_U64, &top, IO_U64, true);
    check_fit(IO_U64, &top, IO_I64, false);
    check_fit(IO_U64, &top, IO_F64, false);
    check_fit(IO_U64, &high_bit, IO_I64, false);
    check_fit(IO_U64, &high_bit, IO_F32, true);
    check_fit(IO_U64, &lower, IO_F64, true);
    check_fit(IO_U64, &lower, IO_F32, false);
    /* the narrow types, all of their values */
    for (int v = INT16_MIN; v <= UINT16_MAX; v++) {
        int16_t i = (int16_t)v;
        uint16_t u = (uint16_t)v;
        if (v <= INT16_MAX) check_fit(IO_I16, &i, IO_I8, v >= -128 && v <= 127);
        if (v <= INT16_MAX) check_fit(IO_I16, &i, IO_U16, v >= 0);
        if (v >= 0) check_fit(IO_U16, &u, IO_I16, v <= INT16_MAX);
        if (v >= 0) check_fit(IO_U16, &u, IO_U8, v <= 255);
        if (v >= 0 && v <= 4096) check_fit(IO_U16, &u, IO_F16, v <= 2048 || v % 2 == 0);
    }
}

static void fp8_fits_or_not(void)
{
    for (io_type type = IO_E4M3; type <= IO_E5M2; type++)
        for (int b = 0; b < 256; b++) {
            const uint8_t code = (uint8_t)b;
            const double value = fp8_value(type, b), off = value * (1 + 0x1p-6);
            const bool wide = fabs(value) > 448 && !isnan(value); /* beyond e4m3, as is infinity */
            check_fit(type, &code, IO_F32, true), check_fit(type, &code, IO_F16, true);
            check_fit(type, &code, IO_BF16, true), check_fit(type, &code, type, true);
            check_fit(IO_F64, &value, type, true);
            check_fit(IO_F64, &off, type, off == value || isnan(value));
            if (wide) check_fit(type, &code, IO_E4M3, false);
        }
    static const struct {
        int64_t value;
        bool e4m3, e5m2;
    } rows[] = {{0, 1, 1},   {7, 1, 1},    {9, 1, 0},     {-15, 1, 0},   {17, 0, 0},       {448, 1, 1},
                {480, 0, 0}, {-512, 0, 1}, {57344, 0, 1}, {65536, 0, 0}, {INT64_MIN, 0, 0}};
    for (size_t r = 0; r < COUNT(rows); r++) {
        check_fit(IO_I64, &rows[r].value, IO_E4M3, rows[r].e4m3);
        check_fit(IO_I64, &rows[r].value, IO_E5M2, rows[r].e5m2);
    }
}

static void the_first_offender_is_named(void)
{
    static const double data[2][3] = {{1, 0.1, 2}, {1e300, 4, -0.3}};
    io_matrix m = {.type = IO_F64, .rows = 2, .cols = 3, .row_stride = 3, .col_stride = 1, .data = data};
    io_matrix turned = {.type = IO_F64, .rows = 3, .cols = 2, .row_stride = 1, .col_stride = 3, .data = data};
    int64_t i, j;
    char text[64];
    assert_false(io_fits_exactly(&m, IO_F32, &i, &j, text, sizeof text));
    assert_true(i == 0 && j == 1);
    assert_string_equal(text, "0.1");
    assert_false(io_fits_exactly(&turned, IO_F32, &i, &j, text, sizeof text));
    assert_true(i == 0 && j == 1);
    assert_string_equal(text, "1e+300");
    static const int64_t integer[2] = {5, INT64_MIN + 1};
    io_matrix n = {.type = IO_I64, .rows = 2, .cols = 1, .row_stride = 1, .col_stride = 1, .data = integer};
    assert_false(io_fits_exactly(&n, IO_F64, &i, &j, text, sizeof text));
    assert_true(i == 1 && j == 0);
    assert_string_equal(text, "-9223372036854775807");
    static const float nan_value = NAN, negative = -INFINITY;
    m = one(IO_F32, &nan_value);
    assert_false(io_fits_exactly(&m, IO_I64, &i, &j, text, sizeof text));
    assert_string_equal(text, "nan");
    m = one(IO_F32, &negative);
    assert_false(io_fits_exactly(&m, IO_U8, &i, &j, text, sizeof text));
    assert_string_equal(text, "-inf");
}

static const check_case cases[] = {
    CHECK_CASE(complex_elements_are_converted),
    CHECK_CASE(complex_elements_fit),
    CHECK_CASE(every_width_is_converted),
    CHECK_CASE(types_have_names),
    CHECK_CASE(formats_follow_endings),
    CHECK_CASE(result_types_are_numpys),
    FOLDER_CASE(bf16_and_integers_are_converted),
    FOLDER_CASE(integers_are_written_and_read),
    CHECK_CASE(every_half_is_read),
    CHECK_CASE(every_fp8_is_read),
    CHECK_CASE(small_floats_round_to_nearest_even),
    CHECK_CASE(what_goes_beyond_a_type_is_found),
    CHECK_CASE(fp8_fits_or_not),
    CHECK_CASE(conversion_rounds_once),
    CHECK_CASE(conversion_follows_strides),
    CHECK_CASE(reals_fit_or_not),
    CHECK_CASE(every_half_fits_its_value),
    CHECK_CASE(integers_fit_or_not),
    CHECK_CASE(the_first_offender_is_named),
};

CHECK_MAIN(cases)
