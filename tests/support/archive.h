/* archive.h - zip archives and gzip data made byte by byte, so that a test can spoil each byte, and what io_parse()
 * must take and refuse of them. Needs zlib. */
#ifndef TILEWRIGHT_ARCHIVE_H
#define TILEWRIGHT_ARCHIVE_H

#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "check.h"
#include "io_parse.h"

enum { ZIP_STORED = 0, ZIP_DEFLATED = 8, ZIP_MOST_MEMBERS = 16, ZIP_ROOM = 1 << 16 };

/* An archive under construction, and where its records lie. */
typedef struct zip {
    unsigned char bytes[ZIP_ROOM];
    size_t count;
    int members;
    bool wide; /* sizes and places stand in zip64 fields alone */
    struct {
        char name[32];
        int method;
        uint32_t crc;
        size_t header, data, packed, bytes, central;
    } at[ZIP_MOST_MEMBERS];
    size_t directory, end64, end;
} zip;

static inline void zip_number(unsigned char *to, int bytes, uint64_t value)
{
    for (int b = 0; b < bytes; b++) to[b] = (unsigned char)(value >> 8 * b);
}

/* More bytes, each number of so many: zip_put(z, "424", a, b, c). */
static inline void zip_put(zip *z, const char *widths, ...)
{
    va_list numbers;
    va_start(numbers, widths);
    for (; *widths != '\0'; widths++) {
        const int bytes = *widths - '0';
        assert_true(z->count + (size_t)bytes <= ZIP_ROOM);
        zip_number(z->bytes + z->count, bytes, va_arg(numbers, uint64_t));
        z->count += (size_t)bytes;
    }
    va_end(numbers);
}

static inline void zip_bytes(zip *z, const void *bytes, size_t count)
{
    assert_true(z->count + count <= ZIP_ROOM);
    memcpy(z->bytes + z->count, bytes, count);
    z->count += count;
}

/* bits: as of deflateInit2: -15 for a member, 31 for gzip data. Returns how many bytes came. */
static inline size_t zip_deflate(const void *bytes, size_t count, int bits, void *to, size_t room)
{
    z_stream d;
    memset(&d, 0, sizeof d);
    assert_int_equal(deflateInit2(&d, Z_BEST_COMPRESSION, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    d.next_in = (Bytef *)(uintptr_t)bytes, d.avail_in = (uInt)count;
    d.next_out = to, d.avail_out = (uInt)room;
    assert_int_equal(deflate(&d, Z_FINISH), Z_STREAM_END);
    const size_t packed = room - d.avail_out;
    deflateEnd(&d);
    return packed;
}

#define N(value) (uint64_t)(value)

/* zip_add - a member; behind are how many bytes of no meaning lie behind its packed ones, counted with them. */
static inline void zip_add(zip *z, const char *name, int method, const void *bytes, size_t count, size_t behind)
{
    unsigned char packed[ZIP_ROOM];
    const int i = z->members++;
    size_t length = count;
    if (method == ZIP_STORED)
        memcpy(packed, bytes, count);
    else
        length = zip_deflate(bytes, count, -MAX_WBITS, packed, sizeof packed);
    memset(packed + length, 'x', behind), length += behind;
    snprintf(z->at[i].name, sizeof z->at[i].name, "%s", name);
    z->at[i].method = method, z->at[i].header = z->count, z->at[i].packed = length, z->at[i].bytes = count;
    z->at[i].crc = (uint32_t)crc32(0, bytes, (uInt)count);
    zip_put(z, "422222", N(0x04034b50), N(45), N(0), N(method), N(0), N(33));
    zip_put(z, "44422", N(z->at[i].crc), z->wide ? N(UINT32_MAX) : N(length), z->wide ? N(UINT32_MAX) : N(count),
            N(strlen(name)), N(z->wide ? 20 : 0));
    zip_bytes(z, name, strlen(name));
    if (z->wide) zip_put(z, "2288", N(1), N(16), N(count), N(length));
    z->at[i].data = z->count;
    zip_bytes(z, packed, length);
}

/* The directory and the end. */
static inline void zip_finish(zip *z)
{
    const uint64_t full = UINT32_MAX;
    z->directory = z->count;
    for (int i = 0; i < z->members; i++) {
        const uint64_t sizes[] = {z->at[i].bytes, z->at[i].packed, z->at[i].header};
        z->at[i].central = z->count;
        zip_put(z, "4222222", N(0x02014b50), N(45), N(45), N(0), N(z->at[i].method), N(0), N(33));
        zip_put(z, "4442222244", N(z->at[i].crc), z->wide ? full : sizes[1], z->wide ? full : sizes[0],
                N(strlen(z->at[i].name)), N(z->wide ? 32 : 0), N(0), N(0), N(0), N(0), z->wide ? full : sizes[2]);
        zip_bytes(z, z->at[i].name, strlen(z->at[i].name));
        /* behind a field of another kind */
        if (z->wide) zip_put(z, "2222888", N(0x7875), N(0), N(1), N(24), sizes[0], sizes[1], sizes[2]);
    }
    const uint64_t size = z->count - z->directory, count = (uint64_t)z->members;
    z->end64 = z->count;
    if (z->wide) {
        zip_put(z, "482244", N(0x06064b50), N(44), N(45), N(45), N(0), N(0));
        zip_put(z, "8888", count, count, size, N(z->directory));
        zip_put(z, "4484", N(0x07064b50), N(0), N(z->end64), N(1));
    }
    z->end = z->count;
    zip_put(z, "4222244", N(0x06054b50), N(0), N(0), z->wide ? N(UINT16_MAX) : count, z->wide ? N(UINT16_MAX) : count,
            z->wide ? full : size, z->wide ? full : N(z->directory));
    zip_put(z, "2", N(0));
}

/* ---- a matrix that is packed ---- */

static const float six[6] = {1, 2, 3, 4, 5, 6};
static const char six_mtx[] = ARRAY("% a comment\n2 3\n1\n4\n2\n5\n3\n6\n");

#define HEADER(shape) "{'descr': '=f4', 'fortran_order': False, 'shape': " shape "}    \n"
enum { SIX_BYTES = 72 + 24 };

/* A .npy file of these six, 2 x 3. */
static inline const unsigned char *six_npy(void)
{
    static unsigned char bytes[256];
    assert_int_equal(make_npy(bytes, 1, HEADER("(2, 3)"), six, 24), SIX_BYTES);
    return bytes;
}

static inline void check_six(const io_matrix *m)
{
    double got[6];
    assert_true(m->rows == 2 && m->cols == 3);
    io_convert(m, IO_F64, got);
    for (int e = 0; e < 6; e++) assert_true(got[e] == e + 1);
}

static unsigned char gz_bytes[1 << 17];

/* gzip data of these bytes, in gz_bytes. */
static inline size_t gz(const void *bytes, size_t count)
{
    return zip_deflate(bytes, count, MAX_WBITS + 16, gz_bytes, sizeof gz_bytes);
}

/* Two members, of which the first is stored, and one in a folder. */
static inline zip three_members(bool wide)
{
    zip z = {.wide = wide};
    zip_add(&z, "a.npy", ZIP_STORED, six_npy(), SIX_BYTES, 0);
    zip_add(&z, "f/", ZIP_STORED, "", 0, 0);
    zip_add(&z, "f/b..c:0.npy", ZIP_DEFLATED, six_npy(), SIX_BYTES, 0);
    zip_finish(&z);
    return z;
}

static inline void take(const void *bytes, size_t count, const char *name, const char *member, const io_raw_shape *raw)
{
    io_matrix m;
    io_error error;
    if (io_parse(guarded(bytes, count), count, name, member, raw, &m, &error) != IO_OK) fail_msg("%s", error.text);
    check_six(&m);
    io_free(&m);
}

static inline void reject(const void *bytes, size_t count, const char *name, const char *member, const char *part)
{
    io_matrix m;
    io_error error;
    const io_status status = io_parse(guarded(bytes, count), count, name, member, NULL, &m, &error);
    if (status != IO_BAD_FILE) fail_msg("status %d, expected '%s': %s", status, part, error.text);
    check_sentence(&error, name, part);
    assert_true(is_zeroed(&m));
}

/* Refused in a sentence, or the same matrix: never another one. */
static inline void hold(const unsigned char *bytes, size_t count, const char *member, const char *what, size_t at)
{
    io_matrix m;
    io_error error;
    if (io_parse(guarded(bytes, count), count, "FILE", member, NULL, &m, &error) != IO_OK) {
        check_sentence(&error, "FILE", ": ");
        assert_true(is_zeroed(&m));
        return;
    }
    double got[6] = {0};
    if (m.rows == 2 && m.cols == 3) io_convert(&m, IO_F64, got);
    for (int e = 0; e < 6; e++)
        if (got[e] != e + 1) fail_msg("%s %zu: another matrix is read", what, at);
    io_free(&m);
}

static inline void each_length_and_each_bit(const unsigned char *bytes, size_t count, const char *member)
{
    static unsigned char copy[ZIP_ROOM];
    memcpy(copy, bytes, count);
    for (size_t length = 0; length < count; length++) reject(bytes, length, "FILE", member, ": ");
    for (size_t bit = 0; bit < 8 * count; bit++) {
        copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
        hold(copy, count, member, "bit", bit);
        copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

#endif
