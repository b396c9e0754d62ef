/* test_io_gz.c - gzip data (.gz): what io_read() takes of them, spoilt bytes, bombs and streams without end. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/io_parse.h"
#include "support/pipe.h"

#ifdef TEST_ZLIB
#include "support/archive.h"

static void gz_of_every_format(void)
{
    take(gz_bytes, gz(six_npy(), SIX_BYTES), "FILE.npy.gz", NULL, NULL);
    take(gz_bytes, gz(six_npy(), SIX_BYTES), "FILE", NULL, NULL);
    take(gz_bytes, gz(six_npy(), SIX_BYTES), "FILE.npy", NULL, NULL);
    take(gz_bytes, gz(six_mtx, strlen(six_mtx)), "FILE.mtx.gz", NULL, NULL);
    take(gz_bytes, gz(six, 24), "FILE.raw.GZ", NULL, &raw_2x3);
    take(gz_bytes, gz(six, 24), "FILE.gz", NULL, &raw_2x3);
    take(gz_bytes, gz(six_npy(), SIX_BYTES), "FILE.npy", NULL, &raw_2x3);
    take(six_npy(), SIX_BYTES, "FILE.npy.gz", NULL, NULL); /* the content decides */
    reject("123456789", 9, "FILE.raw.gz", NULL, "begins with '123456789', expected gzip data, as its name says");
    reject(gz_bytes, gz(six, 24), "FILE.raw.gz", NULL, "rows, columns and element type must be given");
    reject(gz_bytes, gz("hello", 5), "FILE.gz", NULL, "begins with 'hello', expected a .npy file");
    reject(gz_bytes, gz("", 0), "FILE.npy.gz", NULL, "is empty, expected a matrix");
    unsigned char once[200];
    const size_t count = gz(six_npy(), SIX_BYTES);
    memcpy(once, gz_bytes, count);
    reject(gz_bytes, gz(once, count), "FILE.gz", NULL, "begins with '\\x1f\\x8b");
}

/* Two gzip data behind each other are one file, as gzip itself has it. */
static void gz_in_parts(void)
{
    unsigned char both[400];
    for (size_t first = 0; first <= SIX_BYTES; first += 8) {
        size_t count = gz(six_npy(), first);
        memcpy(both, gz_bytes, count);
        const size_t rest = gz(six_npy() + first, SIX_BYTES - first);
        memcpy(both + count, gz_bytes, rest);
        take(both, count + rest, "FILE.gz", NULL, NULL);
    }
}

static void a_raw_file_is_never_unpacked(void)
{
    unsigned char bytes[24] = {0x1f, 0x8b, 8};
    io_matrix m;
    io_error error;
    for (int archive = 0; archive < 2; archive++) {
        if (archive) memcpy(bytes, "PK\3\4", 4);
        static const char *const names[] = {"FILE.raw", "FILE.BIN", "FILE", "FILE.gz.txt"};
        for (size_t n = 0; n < COUNT(names); n++) {
            assert_int_equal(io_parse(bytes, 24, names[n], NULL, &raw_2x3, &m, &error), IO_OK);
            assert_ptr_equal(m.data, bytes);
            io_free(&m);
        }
        if (read_pipe(bytes, 24, &raw_2x3, &m, &error) != IO_OK) fail_msg("%s", error.text);
        assert_memory_equal(m.data, bytes, 24);
        io_free(&m);
        reject(bytes, 24, archive ? "FILE.npz" : "FILE.gz", NULL, archive ? "archive" : "compressed bytes");
    }
}

static void each_bit_of_gz(void)
{
    const size_t count = gz(six_npy(), SIX_BYTES);
    each_length_and_each_bit(gz_bytes, count, NULL);
    memcpy(gz_bytes + count, "more", 4);
    reject(gz_bytes, count + 4, "FILE", NULL, "other bytes follow its gzip data");
    gz_bytes[count - 8] ^= 1;
    reject(gz_bytes, count, "FILE", NULL, "its compressed bytes are damaged: incorrect data check");
    gz_bytes[count - 8] ^= 1, gz_bytes[count - 4] ^= 1;
    reject(gz_bytes, count, "FILE", NULL, "its compressed bytes are damaged: incorrect length check");
    gz_bytes[count - 4] ^= 1;
    reject(gz_bytes, count - 1, "FILE", NULL, "its compressed bytes end too early: it was cut short");
}

/* ---- bombs --------------------------------------------------------------------------------------------- */

static size_t most_asked; /* of realloc() */
static bool has_none;

void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (bytes > most_asked) most_asked = bytes;
    return has_none ? NULL : __real_realloc(memory, bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) { return has_none ? NULL : __real_calloc(count, bytes); }

enum { BOMB_BYTES = 16 << 20, LITTLE = 1 << 16 };

/* Much of nothing behind a header: no more is inflated than it announces, and no memory is taken for more than came. */
static void bombs_are_not_inflated(void)
{
    static const char *const shapes[] = {HEADER("(2, 3)"), HEADER("(1048576, 1024)")};
    unsigned char *bytes = calloc(1, BOMB_BYTES);
    assert_non_null(bytes);
    for (int member = 0; member < 2; member++)
        for (int shape = 0; shape < 2; shape++) {
            const size_t head = make_npy(bytes, 1, shapes[shape], "", 0), count = shape == 0 ? BOMB_BYTES : 4096;
            zip z = {.count = 0};
            if (member)
                zip_add(&z, "a.npy", ZIP_DEFLATED, bytes, count, 0), zip_finish(&z);
            else
                z.count = zip_deflate(bytes, count, MAX_WBITS + 16, z.bytes, sizeof z.bytes);
            char says[100];
            snprintf(says, sizeof says,
                     shape == 0 ? "inflates to more than the %zu bytes that its header announces"
                                : "(4294967296 bytes), the file has %zu bytes after its header",
                     shape == 0 ? head + 24 : count - head);
            most_asked = 0;
            reject(z.bytes, z.count, "FILE", NULL, says);
            assert_true(most_asked > 0 && most_asked <= LITTLE);
        }
    io_memory_cap = 1 << 22;
    io_matrix m;
    io_error error;
    make_npy(bytes, 1, HEADER("(1048576, 1024)"), "", 0);
    const size_t count = zip_deflate(bytes, 4096, MAX_WBITS + 16, gz_bytes, sizeof gz_bytes);
    assert_int_equal(io_parse(gz_bytes, count, "FILE", NULL, NULL, &m, &error), IO_NO_MEMORY);
    io_memory_cap = 0;
    check_sentence(&error, "FILE: ", "a stream of 4294967");
    free(bytes);
}

static void without_memory(void)
{
    const size_t count = gz(six_npy(), SIX_BYTES);
    io_matrix m;
    io_error error;
    has_none = true;
    const io_status status = io_parse(gz_bytes, count, "FILE", NULL, NULL, &m, &error);
    has_none = false;
    assert_int_equal(status, IO_NO_MEMORY);
    check_sentence(&error, "FILE: ", "no memory to inflate it");
}

/* ---- streams ------------------------------------------------------------------------------------------- */

static void gz_from_a_pipe(void)
{
    io_matrix m;
    io_error error;
    size_t count = gz(six_npy(), SIX_BYTES);
    if (read_pipe(gz_bytes, count, NULL, &m, &error) != IO_OK) fail_msg("%s", error.text);
    check_six(&m);
    io_free(&m);
    assert_int_equal(read_pipe(gz_bytes, count - 9, NULL, &m, &error), IO_BAD_FILE);
    check_sentence(&error, "/dev/fd/", "end too early");
    assert_int_equal(read_pipe(gz_bytes, gz(six, 24), &raw_2x3, &m, &error), IO_BAD_FILE); /* what is raw is plain */
    check_sentence(&error, "/dev/fd/", "are 24 bytes, the file has ");
    zip z = three_members(false);
    assert_int_equal(read_pipe(z.bytes, z.count, NULL, &m, &error), IO_BAD_FILE);
    check_sentence(&error, "/dev/fd/", "is an archive, which has its directory at its end: expected a regular file");
}

/* What takes one length of packed bytes and another of memory: incompressible bytes, around both. */
static void every_length_of_gz_is_read(void)
{
    static const char of_cells[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, %6zu), }\n";
    enum { HEAD = 10 + sizeof of_cells - 1 + 2 }; /* 6 digits, in the place of 4 letters */
    static unsigned char cells[1 << 17], bytes[(1 << 17) + 1], packed[1 << 18];
    uint64_t state = 1;
    for (size_t b = 0; b < sizeof cells; b++)
        state = state * 6364136223846793005u + 1, cells[b] = (unsigned char)(state >> 56);
    for (int about = 0; about < 6; about++) {
        const size_t count = (size_t)(about < 3 ? 1 << 16 : 1 << 17) - 1 + (size_t)(about % 3) - HEAD;
        char header[HEAD];
        snprintf(header, sizeof header, of_cells, count);
        assert_int_equal(make_npy(bytes, 1, header, cells, count), count + HEAD);
        const size_t length = zip_deflate(bytes, count + HEAD, MAX_WBITS + 16, packed, sizeof packed);
        io_matrix m;
        io_error error;
        if (read_pipe(packed, length, NULL, &m, &error) != IO_OK) fail_msg("%s", error.text);
        assert_memory_equal(m.data, cells, count);
        io_free(&m);
        if (io_parse(packed, length, "FILE", NULL, NULL, &m, &error) != IO_OK) fail_msg("%s", error.text);
        assert_memory_equal(m.data, cells, count);
        io_free(&m);
    }
}

static void gz_without_end(void)
{
    unsigned char head[10 + 5 + SIX_BYTES] = {0x1f, 0x8b, 8}, rest[4096];
    io_matrix m;
    io_error error;
    /* blocks of stored bytes, the first the matrix */
    zip_number(head + 11, 2, SIX_BYTES), zip_number(head + 13, 2, (uint16_t)~SIX_BYTES);
    memcpy(head + 15, six_npy(), SIX_BYTES);
    memset(rest, 0, sizeof rest);
    zip_number(rest + 1, 2, 4091), zip_number(rest + 3, 2, (uint16_t)~4091);
    assert_int_equal(read_pipe_then(head, sizeof head, (char *)rest, NULL, &m, &error), IO_BAD_FILE);
    check_sentence(&error, "/dev/fd/", "inflates to more than the 96 bytes that its header announces");
    assert_int_equal(read_pipe_then(head, 10, (char *)rest, &raw_2x3, &m, &error), IO_BAD_FILE);
    check_sentence(&error, "/dev/fd/", "are 24 bytes, and more follow");
    /* a name in gzip's header */
    head[3] = 8;
    memset(rest, 'x', sizeof rest);
    assert_int_equal(read_pipe_then(head, 10, (char *)rest, NULL, &m, &error), IO_BAD_FILE);
    check_sentence(&error, "/dev/fd/", "nothing comes of 1048576 compressed bytes and more follow");
}

static const check_case cases[] = {
    CHECK_CASE(gz_of_every_format),
    CHECK_CASE(gz_in_parts),
    CHECK_CASE(a_raw_file_is_never_unpacked),
    CHECK_CASE(each_bit_of_gz),
    CHECK_CASE(bombs_are_not_inflated),
    CHECK_CASE(without_memory),
    CHECK_CASE(gz_from_a_pipe),
    CHECK_CASE(every_length_of_gz_is_read),
    CHECK_CASE(gz_without_end),
};

#else

static void a_build_without_zlib_says_so(void)
{
    static const char *const begins[] = {"\x1f\x8b\x08\0", "PK\3\4"};
    io_matrix m;
    io_error error;
    assert_false(io_unpacks());
    for (size_t b = 0; b < COUNT(begins); b++) {
        assert_int_equal(io_parse(begins[b], 4, "FILE", NULL, NULL, &m, &error), IO_BAD_FILE);
        check_sentence(&error, "FILE: ", "built without zlib, which reads .gz and .npz (Debian: zlib1g-dev)");
        assert_int_equal(read_pipe(begins[b], 4, NULL, &m, &error), IO_BAD_FILE);
        assert_true(is_zeroed(&m));
    }
}

static const check_case cases[] = {CHECK_CASE(a_build_without_zlib_says_so)};

#endif

CHECK_MAIN(cases)
