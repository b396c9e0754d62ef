/* io_parse.h - a parser of io/ handed bytes that end where a page begins that nobody may read: what it must accept, and
 * what it must refuse in which words. */
#ifndef TILEWRIGHT_IO_PARSE_H
#define TILEWRIGHT_IO_PARSE_H

#include <fcntl.h>
#include <math.h>
#include <string.h>

#include "../../io/io.h"
#include "../../io/io_internal.h"
#include "check.h"
#include "guard.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A file of Matrix Market's, and its usual two headers. */
#define MTX(rest)   "%%MatrixMarket matrix " rest
#define ARRAY(rest) MTX("array real general\n" rest)
#define COO(rest)   MTX("coordinate real general\n" rest)

/* A copy of the bytes that ends where a page begins that nobody may read. The next call overwrites it. */
static const void *guarded(const void *bytes, size_t count)
{
    static guard g;
    if (g.memory == NULL) g = guard_make(1 << 17);
    void *copy = guard_place(&g, count, true);
    if (count > 0) memcpy(copy, bytes, count);
    return copy;
}

static const io_raw_shape raw_2x3 = {IO_F32, 2, 3};

static inline io_status parse(io_format format, const void *bytes, size_t count, io_matrix *out, io_error *error)
{
    if (format == IO_FORMAT_NPY) return npy_parse(bytes, count, "FILE", NULL, out, error);
    if (format == IO_FORMAT_MTX) return mtx_parse(bytes, count, "FILE", out, error);
    return raw_parse(bytes, count, "FILE", &raw_2x3, out, error);
}

static inline bool is_zeroed(const io_matrix *m)
{
    return m->rows == 0 && m->cols == 0 && m->data == NULL && m->memory == NULL && m->mapped_bytes == 0;
}

/* A sentence: "FILE: ...", one line, holds the part. */
static inline void check_sentence(const io_error *error, const char *name, const char *part)
{
    if (strncmp(error->text, name, strlen(name)) != 0 || strstr(error->text, part) == NULL)
        fail_msg("expected '%s: ... %s ...', got '%s'", name, part, error->text);
    for (const char *c = error->text; *c != '\0'; c++) assert_true((unsigned char)*c >= ' ');
}

static inline void refuse(io_format format, const void *bytes, size_t count, io_status expected, const char *part)
{
    io_matrix m;
    memset(&m, 0xaa, sizeof m);
    io_error error;
    io_status status = parse(format, guarded(bytes, count), count, &m, &error);
    if (status != expected) fail_msg("status %d, expected %d with '%s'; text '%s'", status, expected, part, error.text);
    check_sentence(&error, "FILE: ", part);
    assert_true(is_zeroed(&m));
}

/* Parse, compare all values in C order, free. */
static inline void accept(io_format format, const void *bytes, size_t count, io_type type, int64_t rows, int64_t cols,
                          const double *values)
{
    io_matrix m;
    io_error error;
    io_status status = parse(format, guarded(bytes, count), count, &m, &error);
    if (status != IO_OK) fail_msg("refused: %s", error.text);
    assert_string_equal(error.text, "");
    assert_int_equal(m.type, type);
    assert_int_equal(m.rows, rows);
    assert_int_equal(m.cols, cols);
    double got[64];
    float single[64];
    const bool complex = io_type_is_complex(type); /* then values are parts */
    const int64_t count_of_numbers = complex ? 2 * rows * cols : rows * cols;
    assert_true(count_of_numbers <= 64);
    io_convert(&m, complex ? IO_CF64 : IO_F64, got);
    io_convert(&m, complex ? IO_CF32 : IO_F32, single);
    for (int64_t e = 0; e < count_of_numbers; e++) {
        bool same = memcmp(&got[e], &values[e], sizeof got[e]) == 0 && single[e] == (float)values[e];
        same = same || (isnan(got[e]) && isnan(single[e]) && isnan(values[e]));
        if (!same) fail_msg("element %d is %.17g, expected %.17g", (int)e, got[e], values[e]);
    }
    io_free(&m);
    assert_true(is_zeroed(&m));
}

/* A .npy file: magic, version, header text, zeroed or given data. */
static inline size_t make_npy(unsigned char *to, int version, const char *header, const void *data, size_t data_bytes)
{
    size_t length = strlen(header), begin = version == 1 ? 10 : 12;
    memcpy(to, "\x93NUMPY", 6);
    to[6] = (unsigned char)version;
    to[7] = 0;
    for (size_t b = 8; b < begin; b++) to[b] = (unsigned char)(length >> 8 * (b - 8) & 255);
    memcpy(to + begin, header, length);
    if (data != NULL)
        memcpy(to + begin + length, data, data_bytes);
    else
        memset(to + begin + length, 0, data_bytes);
    return begin + length + data_bytes;
}

/* Put a small integer as an element of a type, in a byte order. */
static inline void put_value(unsigned char *to, io_type type, bool big_endian, int value)
{
    unsigned char native[8];
    size_t bytes = io_type_bytes(type);
    double d = value;
    float f = (float)value;
    uint16_t h = value == 0 ? 0 : value < 0 ? 0xc000 : 0x3c00; /* -2, 1 */
    uint64_t u = (uint64_t)(int64_t)value;
    if (type == IO_F64)
        memcpy(native, &d, 8);
    else if (type == IO_F32)
        memcpy(native, &f, 4);
    else if (type == IO_F16)
        memcpy(native, &h, 2);
    else
        memcpy(native, io_host_is_big_endian() ? (char *)&u + 8 - bytes : (char *)&u, bytes);
    for (size_t b = 0; b < bytes; b++) to[b] = native[big_endian == io_host_is_big_endian() ? b : bytes - 1 - b];
}

#endif
