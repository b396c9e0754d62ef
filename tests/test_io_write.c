/* test_io_write.c - the writer: bytes as NumPy has them, failing disks, and no file that is half written. */
#define _GNU_SOURCE /* O_TMPFILE */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/elements.h"
#include "support/folder.h"
#include "support/io_parse.h"

static void write_matrix(const char *path, io_format format, const io_matrix *m)
{
    io_output output;
    io_error error;
    if (io_output_open(&output, path, &error) != IO_OK || io_output_write(&output, format, m, &error) != IO_OK ||
        io_output_commit(&output, &error) != IO_OK)
        fail_msg("%s", error.text);
    assert_string_equal(error.text, "");
    assert_true(output.path == NULL && output.temp_path == NULL && output.fd == -1);
    io_output_discard(&output);
}

static void npy_bytes_are_numpys(void)
{
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    char expected[129];
    snprintf(expected, sizeof expected, "%-127s\n",
             "\x93NUMPY\x01.\x76.{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
    expected[7] = expected[9] = '\0';
    io_matrix m = {.type = IO_F32, .rows = 2, .cols = 3, .row_stride = 3, .col_stride = 1, .data = data};
    unsigned char bytes[256];
    write_matrix(in_folder("C.npy"), IO_FORMAT_NPY, &m);
    assert_int_equal(read_back(in_folder("C.npy"), bytes, sizeof bytes), 128 + 24);
    assert_memory_equal(bytes, expected, 128);
    for (int e = 0; e < 6; e++) {
        unsigned char element[4];
        put_value(element, IO_F32, false, e + 1);
        assert_memory_equal(bytes + 128 + 4 * e, element, 4);
    }
}

static void mtx_text_is_shortest(void)
{
    static const double data[2][6] = {
        {0.1, 1, -0.0, 1e300, 5e-324, NAN},
        {1.0 / 3, 100, 0x1.fffffffffffffp1023, -INFINITY, INFINITY, 123456789012345678.0}};
    io_matrix m = {.type = IO_F64, .rows = 2, .cols = 6, .row_stride = 6, .col_stride = 1, .data = data};
    char text[512] = "";
    write_matrix(in_folder("C.mtx"), IO_FORMAT_MTX, &m);
    read_back(in_folder("C.mtx"), text, sizeof text - 1);
    assert_string_equal(text, ARRAY("2 "
                                    "6\n0.1\n0.3333333333333333\n1\n100\n-0\n1.7976931348623157e+308\n1e+300\n-inf\n4."
                                    "94065645841247e-324\ninf\nnan\n1.2345678901234568e+17\n"));
    static const float single[3] = {0.1f, 1.0f / 3, 16777216};
    m = (io_matrix){.type = IO_F32, .rows = 3, .cols = 1, .row_stride = 1, .col_stride = 1, .data = single};
    memset(text, 0, sizeof text);
    write_matrix(in_folder("C.mtx"), IO_FORMAT_MTX, &m);
    read_back(in_folder("C.mtx"), text, sizeof text - 1);
    assert_string_equal(text, ARRAY("3 1\n0.1\n0.33333334\n16777216\n"));
}

/* Numbers of all magnitudes, the same in every run. */
static double noise(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ldexp((double)(int64_t)(*seed >> 11) / 0x1p52 - 1, (int)(*seed >> 5 & 127) - 64);
}

static void what_is_written_is_read(void)
{
    enum { ROWS = 150, COLS = 119 }; /* more than one block of output */
    static const char *const names[] = {"C.npy", "C.mtx", "C.raw"};
    static double doubles[2 * ROWS * COLS], back64[ROWS * COLS], want64[ROWS * COLS];
    static float singles[2 * ROWS * COLS], back32[ROWS * COLS], want32[ROWS * COLS];
    uint64_t seed = 1;
    for (int e = 0; e < 2 * ROWS * COLS; e++) {
        doubles[e] = noise(&seed);
        singles[e] = (float)doubles[e];
    }
    static const int64_t strides[][2] = {{COLS, 1}, {1, ROWS}, {2 * COLS, 1}, {COLS * 2, 2}};
    for (int variant = 0; variant < 16; variant++) {
        bool single = variant & 1, swapped = variant & 2;
        const int64_t *stride = strides[variant >> 2];
        io_matrix m = {.type = single ? IO_F32 : IO_F64,
                       .swapped = swapped,
                       .rows = ROWS,
                       .cols = COLS,
                       .row_stride = stride[0],
                       .col_stride = stride[1],
                       .data = single ? (const void *)singles : (const void *)doubles};
        io_convert(&m, IO_F64, want64);
        io_convert(&m, IO_F32, want32);
        for (size_t f = 0; f < COUNT(names); f++) {
            io_raw_shape shape = {m.type, ROWS, COLS};
            io_matrix r;
            io_error error;
            write_matrix(in_folder(names[f]), io_format_of(names[f]), &m);
            if (io_read(in_folder(names[f]), &shape, &r, &error) != IO_OK) fail_msg("%s", error.text);
            assert_int_equal(r.type, f == 1 ? IO_F64 : m.type);
            io_convert(&r, IO_F64, back64);
            io_convert(&r, IO_F32, back32);
            bool same = true; /* swapped noise holds NaN too */
            for (int e = 0; e < ROWS * COLS; e++) {
                same = same && (back32[e] == want32[e] || (isnan(back32[e]) && isnan(want32[e])));
                if (!single) same = same && (back64[e] == want64[e] || (isnan(back64[e]) && isnan(want64[e])));
            }
            if (!same) fail_msg("variant %d, %s", variant, names[f]);
            io_free(&r);
        }
    }
}

/* Complex: the same numbers from every format; text is that of f32 where the elements are. */
static void complex_is_written(void)
{
    enum { ROWS = 70, COLS = 90, ALL = 2 * ROWS * COLS };
    static const char *const names[] = {"C.npy", "C.mtx", "C.raw"};
    static double doubles[ALL], back[ALL], want[ALL];
    static float singles[ALL];
    uint64_t seed = 5;
    for (int e = 0; e < ALL; e++) singles[e] = (float)(doubles[e] = noise(&seed));
    doubles[7] = singles[7] = -INFINITY;
    for (int variant = 0; variant < 8; variant++) {
        const bool single = variant & 1, by_columns = variant & 4;
        io_matrix m = {.type = single ? IO_CF32 : IO_CF64,
                       .swapped = (variant & 2) != 0,
                       .rows = ROWS,
                       .cols = COLS,
                       .row_stride = by_columns ? 1 : COLS,
                       .col_stride = by_columns ? ROWS : 1,
                       .data = single ? (const void *)singles : (const void *)doubles};
        io_convert(&m, IO_CF64, want);
        for (size_t f = 0; f < COUNT(names); f++) {
            io_raw_shape shape = {m.type, ROWS, COLS};
            io_matrix r;
            io_error error;
            write_matrix(in_folder(names[f]), io_format_of(names[f]), &m);
            if (io_read(in_folder(names[f]), &shape, &r, &error) != IO_OK) fail_msg("%s", error.text);
            assert_int_equal(r.type, f == 1 ? IO_CF64 : m.type);
            io_convert(&r, IO_CF64, back);
            for (int e = 0; e < ALL; e++) /* text reads back to the same f32; swapped noise holds NaN too */
                if (!(single && f == 1 ? (float)back[e] == (float)want[e] : back[e] == want[e]) &&
                    !(isnan(back[e]) && isnan(want[e])))
                    fail_msg("variant %d, %s: number %d is %.17g, expected %.17g", variant, names[f], e, back[e],
                             want[e]);
            io_free(&r);
        }
    }
    char text[200] = {0};
    const float few[] = {1, -2, 0.1f, 0};
    io_matrix m = {.type = IO_CF32, .rows = 1, .cols = 2, .row_stride = 2, .col_stride = 1, .data = few};
    write_matrix(in_folder("C.mtx"), IO_FORMAT_MTX, &m);
    read_back(in_folder("C.mtx"), text, sizeof text - 1);
    assert_string_equal(text, MTX("array complex general\n1 2\n1 -2\n0.1 0\n"));
}

static const io_type written[] = {IO_F64, IO_F32, IO_F16, IO_BF16, IO_I32, IO_CF32, IO_CF64, IO_I8, IO_U8};

/* The bytes of the file before it has its name; for free(). */
static char *bytes_so_far(const io_output *output, size_t most, size_t *count)
{
    char *bytes = malloc(most + 1);
    assert_non_null(bytes);
    *count = read_back(io_output_readable(output), bytes, most + 1);
    return bytes;
}

/* Which rows and columns fill a block of 64 KiB, and one more or less: of one row, and of rows of 100. */
static void shape_about(int64_t block, int which, int64_t *rows, int64_t *cols)
{
    *rows = which < 4 ? 2 : about(block / 100, which - 4);
    *cols = which < 4 ? about(block, which) : 100;
}

/* By rows, by columns and with gaps, in either byte order, to .npy and raw. */
static void every_length_of_elements_is_written(void)
{
    enum { BLOCK_BYTES = 1 << 16 };
    for (int variant = 0; variant < (int)COUNT(written) * 8 * LAYOUTS * 2; variant++) {
        const io_type type = written[variant / (8 * LAYOUTS * 2)];
        const alphabet all = alphabet_of(type, false), little = alphabet_of(type, io_host_is_big_endian());
        const bool npy = variant % 2, swapped = variant % 3 == 0;
        int64_t rows, cols;
        io_output output;
        io_error error;
        size_t count;
        shape_about(BLOCK_BYTES / (int64_t)all.bytes, variant / (LAYOUTS * 2) % 8, &rows, &cols);
        io_matrix m = elements_make(type, swapped, rows, cols, (elements_layout)(variant / 2 % LAYOUTS));
        const size_t expected = (size_t)(rows * cols) * all.bytes, head = npy ? 128 : 0;
        if (io_output_open(&output, in_folder("C"), &error) != IO_OK ||
            io_output_write(&output, npy ? IO_FORMAT_NPY : IO_FORMAT_RAW, &m, &error) != IO_OK)
            fail_msg("%s", error.text);
        char *bytes = bytes_so_far(&output, head + expected, &count);
        assert_int_equal(count, head + expected);
        elements_check(bytes + head, npy ? &little : &all, type, 0, 0, rows, cols, false, npy ? "npy" : "raw");
        free(bytes);
        io_free(&m);
        io_output_discard(&output);
    }
}

/* Text goes in blocks of 32 KiB, which a longest number of 64 bytes ends: of numbers of one digit, column by column. */
static void every_length_of_text_is_written(void)
{
    enum { BLOCK_BYTES = 1 << 15, MOST_NUMBER = 64 };
    for (int variant = 0; variant < (int)COUNT(written) * 4 * 2; variant++) {
        const io_type type = written[variant / 8];
        const bool complex = io_type_is_complex(type);
        const int64_t each = complex ? 4 : 2, block = (BLOCK_BYTES - MOST_NUMBER) / each,
                      count = about(block, variant % 4);
        const bool one_column = variant / 4 % 2;
        const int64_t rows = one_column ? count : 1, cols = one_column ? 1 : count;
        io_output output;
        io_error error;
        size_t length;
        char head[100];
        io_matrix m = elements_make(type, false, rows, cols, BY_ROWS);
        const int head_bytes = snprintf(head, sizeof head, "%s%s general\n%" PRId64 " %" PRId64 "\n", MTX("array "),
                                        complex                    ? "complex"
                                        : io_type_is_integer(type) ? "integer"
                                                                   : "real",
                                        rows, cols);
        if (io_output_open(&output, in_folder("C"), &error) != IO_OK ||
            io_output_write(&output, IO_FORMAT_MTX, &m, &error) != IO_OK)
            fail_msg("%s", error.text);
        char *text = bytes_so_far(&output, (size_t)(head_bytes + count * each), &length), *at = text + head_bytes;
        assert_int_equal(length, head_bytes + count * each);
        assert_memory_equal(text, head, (size_t)head_bytes);
        for (int64_t x = 0; x < count; x++, at += each) {
            const int64_t i = one_column ? x : 0, j = one_column ? 0 : x;
            char number[5] = {(char)('0' + number_of(i, j, 0)), '\n'};
            if (complex) number[1] = ' ', number[2] = (char)('0' + number_of(i, j, 1)), number[3] = '\n';
            assert_memory_equal(at, number, (size_t)each);
        }
        free(text);
        io_free(&m);
        io_output_discard(&output);
    }
}

/* Blocks at their places, of whole rows and of a part of each, in this machine's byte order and in the other. */
static void every_length_of_a_block_is_put(void)
{
    enum { PIECE_BYTES = 1 << 16, BEFORE = 3, BEHIND = 2 };
    for (int variant = 0; variant < (int)COUNT(written) * 8 * 2; variant++) {
        const io_type type = written[variant / 16];
        const bool swapped = variant % 2, whole = variant / 8 % 2;
        const alphabet all = alphabet_of(type, swapped);
        const int64_t run = about(PIECE_BYTES / (int64_t)all.bytes, variant / 2 % 4);
        const int64_t cols = whole ? run : BEFORE + run + BEHIND, first = whole ? 0 : BEFORE;
        io_matrix m = elements_make(type, false, 2, cols, BY_ROWS);
        io_output output;
        io_error error;
        size_t count;
        bool good = io_output_open(&output, in_folder("C"), &error) == IO_OK &&
                    io_output_begin(&output, IO_FORMAT_RAW, &m, &error) == IO_OK;
        output.blocks.swapped = swapped;                             /* as .npy on a big-endian machine */
        for (int part = 0; good && part < (whole ? 1 : 3); part++) { /* the last columns first */
            const int64_t j = part == 0   ? first
                              : part == 1 ? 0
                                          : BEFORE + run,
                          width = part == 0   ? run
                                  : part == 1 ? BEFORE
                                              : BEHIND;
            char *block = malloc((size_t)(2 * width) * all.bytes);
            assert_non_null(block);
            for (int64_t i = 0; i < 2; i++)
                memcpy(block + (size_t)(i * width) * all.bytes,
                       (const char *)m.data + (size_t)(i * cols + j) * all.bytes, (size_t)width * all.bytes);
            good = io_output_put(&output, 0, j, 2, width, block, &error) == IO_OK;
            free(block);
        }
        if (!good) fail_msg("%s", error.text);
        char *bytes = bytes_so_far(&output, (size_t)(2 * cols) * all.bytes, &count);
        assert_int_equal(count, (size_t)(2 * cols) * all.bytes);
        elements_check(bytes, &all, type, 0, 0, 2, cols, false, whole ? "whole rows" : "parts of rows");
        free(bytes);
        io_free(&m);
        io_output_discard(&output);
    }
}

/* C of f16 and bf16, in either byte order: the bits come back, of bf16 in .npy as raw bytes. */
static void two_byte_floats_are_written(void)
{
    static const char *const names[] = {"C.npy", "C.mtx", "C.raw"};
    static const uint16_t halves[] = {0x3c00, 0xc180, 0x0001, 0x7bff, 0x7c00, 0x8000},
                          bfloats[] = {0x3f80, 0xc030, 0x0001, 0x7f7f, 0xff80, 0x8000};
    for (int variant = 0; variant < 4; variant++) {
        const io_type type = variant & 1 ? IO_BF16 : IO_F16;
        const uint16_t *bits = variant & 1 ? bfloats : halves;
        uint16_t data[6];
        for (int e = 0; e < 6; e++) data[e] = variant & 2 ? (uint16_t)(bits[e] << 8 | bits[e] >> 8) : bits[e];
        io_matrix m = {
            .type = type, .swapped = variant & 2, .rows = 2, .cols = 3, .row_stride = 3, .col_stride = 1, .data = data};
        for (size_t f = 0; f < COUNT(names); f++) {
            const io_raw_shape shape = {type, 2, 3};
            io_matrix r;
            io_error error;
            char file[256] = "";
            uint16_t back[6];
            write_matrix(in_folder(names[f]), io_format_of(names[f]), &m);
            read_back(in_folder(names[f]), file, sizeof file);
            if (f == 0) assert_non_null(strstr(file + 10, variant & 1 ? "'<V2'" : "'<f2'"));
            if (io_read(in_folder(names[f]), &shape, &r, &error) != IO_OK) fail_msg("%s", error.text);
            assert_int_equal(r.type, f == 1 ? IO_F64 : type);
            io_convert(&r, type, back);
            assert_memory_equal(back, bits, sizeof back);
            io_free(&r);
        }
    }
}

/* One row that is longer than a block, and nothing at all. */
static void odd_shapes_are_written(void)
{
    enum { LONG = 20001 };
    static float data[LONG];
    for (int e = 0; e < LONG; e++) data[e] = (float)e;
    io_matrix m = {.type = IO_F32, .rows = 1, .cols = LONG, .row_stride = LONG, .col_stride = 1, .data = data}, r;
    io_error error;
    write_matrix(in_folder("C.npy"), IO_FORMAT_NPY, &m);
    assert_int_equal(io_read(in_folder("C.npy"), NULL, &r, &error), IO_OK);
    assert_memory_equal(r.data, data, sizeof data);
    io_free(&r);
    static const char *const names[] = {"E.npy", "E.mtx", "E.raw"};
    for (size_t f = 0; f < COUNT(names); f++) {
        io_matrix none = {.type = IO_F64, .rows = INT64_C(1) << 40, .cols = 0, .row_stride = 0, .col_stride = 1};
        io_raw_shape shape = {IO_F64, INT64_C(1) << 40, 0};
        write_matrix(in_folder(names[f]), io_format_of(names[f]), &none);
        if (io_read(in_folder(names[f]), &shape, &r, &error) != IO_OK) fail_msg("%s", error.text);
        assert_true(r.rows == none.rows && r.cols == 0);
        io_free(&r);
        none.cols = none.rows;
        none.rows = 0;
        write_matrix(in_folder(names[f]), io_format_of(names[f]), &none);
    }
}

static const double one_value[1] = {7};
static const io_matrix one_matrix = {
    .type = IO_F64, .rows = 1, .cols = 1, .row_stride = 1, .col_stride = 1, .data = one_value};

static void a_discarded_output_leaves_nothing(void)
{
    io_output output;
    io_error error;
    write_file(in_folder("C.npy"), "old", 3);
    assert_int_equal(io_output_open(&output, in_folder("C.npy"), &error), IO_OK);
    assert_int_equal(io_output_write(&output, IO_FORMAT_NPY, &one_matrix, &error), IO_OK);
    /* what is not there yet can be read and judged */
    io_matrix m;
    assert_int_equal(io_read(io_output_readable(&output), NULL, &m, &error), IO_OK);
    io_free(&m);
    assert_int_equal(io_format_of(output.temp_path), IO_FORMAT_NPY);
    assert_true(strncmp(output.temp_path, folder, strlen(folder)) == 0);
    assert_int_equal(output.temp_path[strlen(folder) + 1], '.');
    io_output_discard(&output);
    io_output_discard(&output);
    assert_int_equal(folder_entries(false), 1);
    char bytes[8];
    assert_int_equal(read_back(in_folder("C.npy"), bytes, sizeof bytes), 3);
    io_output never = {0};
    int input = fcntl(0, F_GETFD);
    io_output_discard(&never); /* closes no standard input */
    assert_int_equal(fcntl(0, F_GETFD), input);
}

static void refuse_output(const char *path, const char *part)
{
    io_output output;
    io_error error;
    char name[400];
    snprintf(name, sizeof name, "%s: ", path);
    assert_int_equal(io_output_open(&output, path, &error), IO_CANNOT_WRITE);
    check_sentence(&error, name, part);
    assert_true(output.path == NULL && output.temp_path == NULL && output.fd == -1);
    io_output_discard(&output);
}

static void bad_targets_are_refused(void)
{
    refuse_output("", "the name of a file is missing");
    refuse_output(in_folder("x/"), "the name of a file is missing");
    refuse_output(folder, "cannot be written: it is a directory, expected a regular file or none");
    refuse_output("/dev/null", "cannot be written: it is a device, pipe or socket");
    refuse_output("missing/C.npy", "cannot be written: the folder missing does not exist");
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    refuse_output(in_folder("fifo"), "it is a device, pipe or socket");
    assert_int_equal(symlink("nowhere/C.npy", in_folder("dangling.npy")), 0);
    refuse_output(in_folder("dangling.npy"), "/nowhere does not exist");
    assert_int_equal(symlink("loop.npy", in_folder("loop.npy")), 0);
    refuse_output(in_folder("loop.npy"), "cannot be written: Too many levels of symbolic links");
    write_file(in_folder("file"), "", 0);
    refuse_output(in_folder("file/C.npy"), "/file is not a folder");
    assert_int_equal(folder_entries(false), 4);
    if (geteuid() != 0) {
        chmod(folder, 0500);
        refuse_output(in_folder("C.npy"), "making a temporary file beside it failed: Permission denied");
    }
}

static void bad_writes_are_refused(void)
{
    static const int8_t byte[1] = {1};
    io_matrix m = {.type = IO_E4M3, .rows = 1, .cols = 1, .row_stride = 1, .col_stride = 1, .data = byte};
    io_output output;
    io_error error;
    assert_int_equal(io_output_open(&output, in_folder("C.txt"), &error), IO_OK);
    assert_int_equal(io_output_write(&output, IO_FORMAT_NPY, &m, &error), IO_CANNOT_WRITE);
    check_sentence(&error, in_folder("C.txt"), "elements of e4m3 cannot be written, expected integers or a type of");
    assert_int_equal(io_output_write(&output, io_format_of("C.txt"), &one_matrix, &error), IO_CANNOT_WRITE);
    check_sentence(&error, in_folder("C.txt"), "expected the ending .npy, .mtx, .raw or .bin");
    io_output_discard(&output);
    assert_int_equal(folder_entries(false), 0);
}

/* A disk that fills up: the old file stays, the temporary one goes. */
static void a_full_disk_keeps_the_old_file(void)
{
    static double data[10000];
    io_matrix m = {.type = IO_F64, .rows = 100, .cols = 100, .row_stride = 100, .col_stride = 1, .data = data};
    struct rlimit before, small;
    static const char *const names[] = {"C.npy", "C.mtx", "C.raw"};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (size_t f = 0; f < COUNT(names); f++) {
        write_file(in_folder(names[f]), "old", 3);
        small = before;
        small.rlim_cur = f == 1 ? 10 : 10000;
        io_output output;
        io_error error;
        assert_int_equal(io_output_open(&output, in_folder(names[f]), &error), IO_OK);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        io_status status = io_output_write(&output, io_format_of(names[f]), &m, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, IO_CANNOT_WRITE);
        check_sentence(&error, in_folder(names[f]), "cannot be written: File too large");
        io_output_discard(&output);
        char bytes[8];
        assert_int_equal(read_back(in_folder(names[f]), bytes, sizeof bytes), 3);
        assert_int_equal(folder_entries(false), (int)f + 1);
    }
}

/* The target becomes a folder before the rename; the file descriptor fails before the flush. */
static void a_failed_commit_leaves_nothing(void)
{
    io_output output;
    io_error error;
    assert_int_equal(io_output_open(&output, in_folder("C.npy"), &error), IO_OK);
    assert_int_equal(mkdir(in_folder("C.npy"), 0700), 0);
    assert_int_equal(io_output_commit(&output, &error), IO_CANNOT_WRITE);
    check_sentence(&error, in_folder("C.npy"), "the file could not be given its name: Is a directory");
    assert_int_equal(folder_entries(false), 1);
    assert_int_equal(io_output_open(&output, in_folder("D.npy"), &error), IO_OK);
    close(output.fd);
    assert_int_equal(io_output_write(&output, IO_FORMAT_NPY, &one_matrix, &error), IO_CANNOT_WRITE);
    check_sentence(&error, in_folder("D.npy"), "cannot be written: Bad file descriptor");
    assert_int_equal(io_output_commit(&output, &error), IO_CANNOT_WRITE);
    check_sentence(&error, in_folder("D.npy"), "cannot be written: Bad file descriptor");
    assert_int_equal(folder_entries(false), 1);
    assert_true(output.path == NULL && output.temp_path == NULL);
}

static mode_t mode_of(const char *path)
{
    struct stat s;
    assert_int_equal(lstat(path, &s), 0);
    return s.st_mode & (S_IFMT | 0777);
}

static void modes_and_links_are_kept(void)
{
    mode_t before = umask(027);
    write_matrix(in_folder("C.npy"), IO_FORMAT_NPY, &one_matrix);
    assert_int_equal(mode_of(in_folder("C.npy")), S_IFREG | 0640);
    chmod(in_folder("C.npy"), 0604);
    write_matrix(in_folder("C.npy"), IO_FORMAT_NPY, &one_matrix);
    assert_int_equal(mode_of(in_folder("C.npy")), S_IFREG | 0604);
    umask(before);
    assert_int_equal(symlink("C.npy", in_folder("link.npy")), 0);
    write_file(in_folder("C.npy"), "old", 3);
    write_matrix(in_folder("link.npy"), IO_FORMAT_NPY, &one_matrix);
    assert_int_equal(mode_of(in_folder("link.npy")) & S_IFMT, S_IFLNK);
    unsigned char bytes[256];
    assert_int_equal(read_back(in_folder("C.npy"), bytes, sizeof bytes), 136);
    assert_int_equal(folder_entries(false), 2);
    assert_int_equal(remove(in_folder("C.npy")), 0); /* a link that names nothing yet: what it names is made */
    assert_int_equal(symlink("link.npy", in_folder("chain.npy")), 0);
    write_matrix(in_folder("chain.npy"), IO_FORMAT_NPY, &one_matrix);
    assert_int_equal(mode_of(in_folder("chain.npy")) & S_IFMT, S_IFLNK);
    assert_int_equal(mode_of(in_folder("link.npy")) & S_IFMT, S_IFLNK);
    assert_int_equal(mode_of(in_folder("C.npy")) & S_IFMT, S_IFREG);
    assert_int_equal(folder_entries(false), 3);
}

/* A name as long as the system takes, and one without a folder. */
static void long_and_bare_names_work(void)
{
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    memcpy(name + 251, ".npy", 4);
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_matrix(path, IO_FORMAT_NPY, &one_matrix);
    assert_int_equal(mode_of(path) & S_IFMT, S_IFREG);
    remove(path);
    char cwd[4096];
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(folder), 0);
    write_matrix("bare.npy", IO_FORMAT_NPY, &one_matrix);
    assert_int_equal(chdir(cwd), 0);
    assert_int_equal(mode_of(in_folder("bare.npy")) & S_IFMT, S_IFREG);
    assert_int_equal(folder_entries(false), 1);
}

/* ---- writers that are killed, and others at once ---- */

/* What the system refuses, and where it kills. */
static struct {
    bool unnamed, links, proc, locks; /* refused */
    bool kills_at_rename;
    bool forgets_umask; /* of files without a name */
    bool mounted_again; /* as another device */
    int takes_link;     /* 1: from the next link on; 2: another file takes the name that is removed next */
} system_is;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __real_stat(const char *path, struct stat *found);
int __wrap_stat(const char *path, struct stat *found);
int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

static int refused(int number)
{
    errno = number;
    return -1;
}

static bool is_proc(const char *path) { return system_is.proc && strncmp(path, "/proc/", 6) == 0; }

int __wrap_open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list more;
    va_start(more, flags);
    if ((flags & (O_CREAT | O_TMPFILE)) != 0) mode = va_arg(more, mode_t);
    va_end(more);
    if (system_is.unnamed && (flags & O_TMPFILE) == O_TMPFILE) return refused(EOPNOTSUPP);
    const int fd = is_proc(path) ? refused(ENOENT) : __real_open(path, flags, mode);
    if (system_is.forgets_umask && (flags & O_TMPFILE) == O_TMPFILE && fd >= 0) fchmod(fd, mode);
    return fd;
}

int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    if (system_is.takes_link == 1) system_is.takes_link = 2;
    return system_is.links ? refused(EPERM) : __real_linkat(from_folder, from, to_folder, to, flags);
}

int __wrap_unlink(const char *path)
{
    const int status = __real_unlink(path);
    if (system_is.takes_link == 2) write_file(path, "", 0);
    return status;
}

int __wrap_stat(const char *path, struct stat *found)
{
    const int status = is_proc(path) ? refused(ENOENT) : __real_stat(path, found);
    if (status == 0) found->st_dev += system_is.mounted_again;
    return status;
}

int __wrap_flock(int fd, int how) { return system_is.locks ? refused(ENOLCK) : __real_flock(fd, how); }

int __wrap_rename(const char *from, const char *to)
{
    if (system_is.kills_at_rename) kill(getpid(), SIGKILL);
    return __real_rename(from, to);
}

typedef io_status opening(io_output *output, const char *path, io_error *error);

/* A process that writes to that name and is killed before the end, or does not end in that way. */
static void write_and_die(opening *open_it, const char *name, bool commits)
{
    const pid_t child = fork();
    if (child == 0) {
        io_output output;
        io_error error;
        system_is.kills_at_rename = commits;
        if (open_it(&output, in_folder(name), &error) == IO_OK &&
            io_output_write(&output, IO_FORMAT_NPY, &one_matrix, &error) == IO_OK &&
            (!commits || io_output_commit(&output, &error) == IO_OK))
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static bool has_unnamed_files(void)
{
    io_output output;
    io_error error;
    assert_int_equal(io_output_open(&output, in_folder("C.npy"), &error), IO_OK);
    const bool has = output.unnamed[0] != '\0';
    io_output_discard(&output);
    return has;
}

static void a_killed_writer_leaves_nothing(void)
{
    if (!has_unnamed_files()) return; /* the next case has what is left there */
    write_and_die(io_output_open, "C.npy", false);
    assert_int_equal(folder_entries(false), 0);
    write_file(in_folder("C.npy"), "old", 3);
    write_and_die(io_output_open, "C.npy", false);
    assert_int_equal(folder_entries(false), 1);
    char bytes[256];
    assert_int_equal(read_back(in_folder("C.npy"), bytes, sizeof bytes), 3);
    write_and_die(io_output_open, "C.npy", true); /* in the one moment at which it has another name */
    assert_int_equal(folder_entries(false), 2);
    assert_int_equal(read_back(in_folder("C.npy"), bytes, sizeof bytes), 3);
    write_matrix(in_folder("C.npy"), IO_FORMAT_NPY, &one_matrix);
    assert_int_equal(read_back(in_folder("C.npy"), bytes, sizeof bytes), 136);
    assert_int_equal(folder_entries(false), 1);
}

/* What dead processes left beside that name, and nothing else. */
static void what_the_dead_left_is_swept(void)
{
    io_output live, next;
    io_error error;
    char other[400];
    system_is.unnamed = true;
    write_and_die(io_output_open, "C.npy", false);
    write_and_die(io_output_open, "C.npy", true); /* sweeps the first one's */
    write_and_die(io_output_open, "D.npy", false);
    assert_int_equal(folder_entries(false), 2);
    assert_int_equal(io_output_open(&live, in_folder("C.npy"), &error), IO_OK);
    memset(&system_is, 0, sizeof system_is);
    assert_int_equal(folder_entries(false), 2);
    const size_t letter = strlen(folder) + sizeof "/.tilewright-01234567-" - 1;
    strcpy(other, live.temp_path);
    other[letter] = other[letter] == 'a' ? 'b' : 'a'; /* of a name such as ours, what is no file of ours */
    assert_int_equal(symlink("nowhere", other), 0);
    other[letter + 1] = other[letter + 1] == 'a' ? 'b' : 'a';
    assert_int_equal(mkdir(other, 0700), 0);
    other[letter + 2] = other[letter + 2] == 'a' ? 'b' : 'a';
    if (geteuid() == 0) {
        write_file(other, "", 0);
        assert_int_equal(chown(other, 1, 1), 0);
    }
    strcpy(other, live.temp_path);
    other[letter - 2] = other[letter - 2] == '0' ? '1' : '0'; /* another boot's, which may be another host's */
    write_file(other, "", 0);
    write_file(in_folder(".backup.C.npy"), "", 0);
    const int before = folder_entries(false);
    assert_int_equal(io_output_open(&next, in_folder("C.npy"), &error), IO_OK);
    io_output_discard(&next);
    assert_int_equal(folder_entries(false), before);
    assert_int_equal(io_output_write(&live, IO_FORMAT_NPY, &one_matrix, &error), IO_OK);
    assert_int_equal(io_output_commit(&live, &error), IO_OK);
    assert_int_equal(folder_entries(false), before);
}

/* In every way in which one may have to write: the later one wins, whole, and nothing else stays. */
static void writers_of_one_name_at_once(void)
{
    static const double two_values[2] = {1, 2};
    static const io_matrix two = {
        .type = IO_F64, .rows = 1, .cols = 2, .row_stride = 2, .col_stride = 1, .data = two_values};
    static opening *const openings[] = {io_output_open, io_output_open_named};
    char bytes[256];
    for (int way = 0; way < 4 * 32; way++) {
        io_output first, second;
        io_error error;
        system_is.unnamed = way & 1, system_is.links = way & 2, system_is.proc = way & 4, system_is.locks = way & 8;
        if (way & 64) write_file(in_folder("C.npy"), "old", 3);
        assert_int_equal(openings[way >> 4 & 1](&first, in_folder("C.npy"), &error), IO_OK);
        assert_int_equal(openings[way >> 5 & 1](&second, in_folder("C.npy"), &error), IO_OK);
        if ((way & 7) != 0 || (way & 16) != 0) assert_true(first.unnamed[0] == '\0');
        assert_int_equal(io_output_write(&first, IO_FORMAT_NPY, &one_matrix, &error), IO_OK);
        assert_int_equal(io_output_write(&second, IO_FORMAT_NPY, &two, &error), IO_OK);
        assert_int_equal(io_output_commit(&first, &error), IO_OK);
        assert_int_equal(read_back(in_folder("C.npy"), bytes, sizeof bytes), 136);
        assert_int_equal(io_output_commit(&second, &error), IO_OK);
        assert_int_equal(read_back(in_folder("C.npy"), bytes, sizeof bytes), 144);
        memset(&system_is, 0, sizeof system_is);
        assert_int_equal(folder_entries(true), 1);
    }
}

/* Where nothing tells whether a writer lives, nothing is swept. */
static void without_locks_nothing_is_swept(void)
{
    for (int way = 0; way < 4; way++) {
        system_is.locks = way < 2, system_is.unnamed = way == 1, system_is.proc = way == 2;
        write_file(in_folder("C.npy"), "old", 3);
        write_and_die(way < 3 ? io_output_open : io_output_open_named, "C.npy", true);
        memset(&system_is, 0, sizeof system_is);
        write_matrix(in_folder("C.npy"), IO_FORMAT_NPY, &one_matrix);
        assert_int_equal(folder_entries(true), 2);
    }
}

/* As kernels before 6.0, where the file system has no ACLs. */
static void the_umask_holds_for_files_without_a_name(void)
{
    const mode_t before = umask(027);
    system_is.forgets_umask = true;
    write_matrix(in_folder("C.npy"), IO_FORMAT_NPY, &one_matrix);
    system_is.forgets_umask = false;
    umask(before);
    assert_int_equal(mode_of(in_folder("C.npy")), S_IFREG | 0640);
    assert_int_equal(folder_entries(true), 1);
}

/* A file system that is mounted twice may keep the locks of each mount from the other. */
static void another_mounts_files_are_not_swept(void)
{
    system_is.unnamed = system_is.mounted_again = true;
    write_and_die(io_output_open, "C.npy", false);
    system_is.mounted_again = false;
    write_matrix(in_folder("C.npy"), IO_FORMAT_NPY, &one_matrix);
    assert_int_equal(folder_entries(false), 2);
    system_is.mounted_again = true;
    write_matrix(in_folder("C.npy"), IO_FORMAT_NPY, &one_matrix);
    memset(&system_is, 0, sizeof system_is);
    assert_int_equal(folder_entries(true), 1);
}

/* In a shared folder another user who saw the tried name cannot keep the output from getting its own. */
static void a_name_that_was_tried_may_be_taken(void)
{
    io_output output;
    io_error error;
    write_file(in_folder("C.npy"), "old", 3);
    system_is.takes_link = 1;
    assert_int_equal(io_output_open(&output, in_folder("C.npy"), &error), IO_OK);
    system_is.takes_link = 0;
    assert_int_equal(io_output_write(&output, IO_FORMAT_NPY, &one_matrix, &error), IO_OK);
    assert_int_equal(io_output_commit(&output, &error), IO_OK);
    char bytes[256];
    assert_int_equal(read_back(in_folder("C.npy"), bytes, sizeof bytes), 136);
}

static const check_case cases[] = {
    FOLDER_CASE(npy_bytes_are_numpys),
    FOLDER_CASE(mtx_text_is_shortest),
    FOLDER_CASE(what_is_written_is_read),
    FOLDER_CASE(two_byte_floats_are_written),
    FOLDER_CASE(odd_shapes_are_written),
    FOLDER_CASE(complex_is_written),
    FOLDER_CASE(every_length_of_elements_is_written),
    FOLDER_CASE(every_length_of_text_is_written),
    FOLDER_CASE(every_length_of_a_block_is_put),
    FOLDER_CASE(a_discarded_output_leaves_nothing),
    FOLDER_CASE(bad_targets_are_refused),
    FOLDER_CASE(bad_writes_are_refused),
    FOLDER_CASE(a_full_disk_keeps_the_old_file),
    FOLDER_CASE(a_failed_commit_leaves_nothing),
    FOLDER_CASE(modes_and_links_are_kept),
    FOLDER_CASE(long_and_bare_names_work),
    FOLDER_CASE(a_killed_writer_leaves_nothing),
    FOLDER_CASE(what_the_dead_left_is_swept),
    FOLDER_CASE(writers_of_one_name_at_once),
    FOLDER_CASE(without_locks_nothing_is_swept),
    FOLDER_CASE(the_umask_holds_for_files_without_a_name),
    FOLDER_CASE(another_mounts_files_are_not_swept),
    FOLDER_CASE(a_name_that_was_tried_may_be_taken),
};

CHECK_MAIN(cases)
