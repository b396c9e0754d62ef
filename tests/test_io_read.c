/* test_io_read.c - files, pipes and endless streams as they are opened: raw ones, bad paths, mapped pages, bounds. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/elements.h"
#include "support/folder.h"
#include "support/io_parse.h"
#include "support/pipe.h"

/* ---- raw ----------------------------------------------------------------------------------------------- */

static void raw_checks_its_length(void)
{
    static const float data[7] = {1, 2, 3, 4, 5, 6, 7};
    static const double expected[6] = {1, 2, 3, 4, 5, 6};
    accept(IO_FORMAT_RAW, data, 24, IO_F32, 2, 3, expected);
    refuse(IO_FORMAT_RAW, data, 23, IO_BAD_FILE, "2 x 3 elements of f32 are 24 bytes, the file has 23");
    refuse(IO_FORMAT_RAW, data, 28, IO_BAD_FILE, "2 x 3 elements of f32 are 24 bytes, the file has 28");
    refuse(IO_FORMAT_RAW, NULL, 0, IO_BAD_FILE, "2 x 3 elements of f32 are 24 bytes, the file has 0");
}

static void raw_needs_a_shape(void)
{
    static const struct {
        io_raw_shape shape;
        const char *part;
    } cases[] = {{{IO_F32, -1, 3}, "does not say what it holds"},
                 {{IO_F32, 3, -1}, "does not say what it holds"},
                 {{IO_TYPE_COUNT, 1, 1}, "does not say what it holds"},
                 {{IO_F64, INT64_C(1) << 60, 2}, "1152921504606846976 x 2 elements of f64 are beyond"}};
    io_matrix m;
    io_error error;
    for (size_t c = 0; c < COUNT(cases); c++) {
        assert_int_equal(raw_parse("12345678", 8, "FILE", &cases[c].shape, &m, &error), IO_BAD_FILE);
        check_sentence(&error, "FILE: ", cases[c].part);
    }
    assert_int_equal(raw_parse("12345678", 8, "FILE", NULL, &m, &error), IO_BAD_FILE);
    check_sentence(&error, "FILE: ", "rows, columns and element type must be given");
    io_raw_shape empty = {IO_F64, 0, 7};
    assert_int_equal(raw_parse(NULL, 0, "FILE", &empty, &m, &error), IO_OK);
    assert_int_equal(m.cols, 7);
}

/* ---- reading files ------------------------------------------------------------------------------------- */

static void refuse_path(const char *path, const io_raw_shape *raw, io_status expected, const char *part)
{
    io_matrix m;
    io_error error;
    char name[400];
    snprintf(name, sizeof name, "%s: ", path);
    io_status status = io_read(path, raw, &m, &error);
    if (status != expected) fail_msg("status %d for %s: %s", status, path, error.text);
    check_sentence(&error, name, part);
    assert_true(is_zeroed(&m));
}

static void bad_paths_are_refused(void)
{
    refuse_path(in_folder("missing.npy"), NULL, IO_BAD_FILE, "cannot be read: No such file or directory");
    refuse_path(folder, NULL, IO_BAD_FILE, "is a directory, expected a matrix file");
    refuse_path("", NULL, IO_BAD_FILE, "cannot be read: No such file");
    write_file(in_folder("empty.npy"), "", 0);
    refuse_path(in_folder("empty.npy"), NULL, IO_BAD_FILE, "is empty, expected a matrix");
    write_file(in_folder("e.raw"), "", 0);
    refuse_path(in_folder("e.raw"), &raw_2x3, IO_BAD_FILE, "2 x 3 elements of f32 are 24 bytes, the file has 0");
    write_file(in_folder("a.txt"), "1 2 3\n", 6);
    refuse_path(
        in_folder("a.txt"), NULL, IO_BAD_FILE,
        "begins with '1 2 3\\x0a', expected a .npy file, a Matrix Market file, or the ending .raw or .bin; numbers "
        "as text become one by numpy.save(");
    refuse_path(in_folder("a.txt"), &raw_2x3, IO_BAD_FILE, "are 24 bytes, the file has 6");
    write_file(in_folder("a.mtx"), "1 2 3\n", 6);
    refuse_path(in_folder("a.mtx"), NULL, IO_BAD_FILE, "no Matrix Market file: it begins with '1 2 3\\x0a'");
    write_file(in_folder("a.bin"), "123456", 6);
    refuse_path(in_folder("a.bin"), NULL, IO_BAD_FILE, "must be given");
    if (geteuid() != 0) {
        chmod(in_folder("a.bin"), 0);
        refuse_path(in_folder("a.bin"), &raw_2x3, IO_BAD_FILE, "cannot be read: Permission denied");
    }
}

/* A name may hold anything: the sentence stays one line, and its end is there. */
static void names_are_tamed(void)
{
    io_matrix m;
    io_error error;
    assert_int_equal(io_read("a\nb\x1b[31m.npy", NULL, &m, &error), IO_BAD_FILE);
    check_sentence(&error, "a?b?[31m.npy: ", "cannot be read");
    char name[3000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(io_read(name, NULL, &m, &error), IO_BAD_FILE);
    check_sentence(&error, "...xxxx", "xxx: cannot be read: File name too long");
}

static const char small_mtx[] = ARRAY("2 3\n1\n2\n3\n4\n5\n6\n");

static void check_1_to_6(const io_matrix *m, bool by_columns)
{
    double got[6];
    assert_true(m->rows == 2 && m->cols == 3);
    io_convert(m, IO_F64, got);
    for (int e = 0; e < 6; e++) assert_true(got[by_columns ? e % 2 * 3 + e / 2 : e] == e + 1);
}

static void regular_files_are_mapped(void)
{
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    unsigned char bytes[256];
    io_matrix m;
    io_error error;
    for (int spaces = 0; spaces < 4; spaces++) { /* these decide where the elements lie */
        char header[128];
        snprintf(header, sizeof header, "{'descr': '=f4', 'fortran_order': False, 'shape': (2, 3), }%*s", spaces, "");
        size_t count = make_npy(bytes, 1, header, data, 24);
        write_file(in_folder("a.raw"), bytes, count); /* the content decides, not the name */
        assert_int_equal(io_read(in_folder("a.raw"), &raw_2x3, &m, &error), IO_OK);
        assert_int_equal(m.mapped_bytes, (count - 24) % 4 == 0 ? count : 0);
        check_1_to_6(&m, false);
        io_free(&m);
    }
    write_file(in_folder("a.bin"), data, 24);
    assert_int_equal(io_read(in_folder("a.bin"), &raw_2x3, &m, &error), IO_OK);
    assert_int_equal(m.mapped_bytes, 24);
    check_1_to_6(&m, false);
    io_free(&m);
    write_file(in_folder("x"), small_mtx, strlen(small_mtx));
    assert_int_equal(io_read(in_folder("x"), NULL, &m, &error), IO_OK);
    assert_int_equal(m.mapped_bytes, 0);
    check_1_to_6(&m, true);
    io_free(&m);
}

/* A file whose length is a whole number of pages has no zeros behind it. */
static void a_page_is_not_overread(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *text = malloc(page);
    memset(text, ' ', page);
    memcpy(text, small_mtx, strlen(small_mtx) - 2);
    text[page - 1] = '6';
    write_file(in_folder("page.mtx"), text, page);
    io_matrix m;
    io_error error;
    assert_int_equal(io_read(in_folder("page.mtx"), NULL, &m, &error), IO_OK);
    check_1_to_6(&m, true);
    io_free(&m);
    free(text);
}

static void pipes_are_streamed(void)
{
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    unsigned char bytes[256];
    io_matrix m;
    io_error error;
    size_t count = make_npy(bytes, 1, "{'descr': '=f4', 'fortran_order': True, 'shape': (2, 3), }", data, 24);
    assert_int_equal(read_pipe(bytes, count, NULL, &m, &error), IO_OK);
    assert_int_equal(m.mapped_bytes, 0);
    check_1_to_6(&m, true);
    io_free(&m);
    assert_int_equal(read_pipe(data, 24, &raw_2x3, &m, &error), IO_OK);
    check_1_to_6(&m, false);
    io_free(&m);
    assert_int_equal(read_pipe(small_mtx, strlen(small_mtx), NULL, &m, &error), IO_OK);
    check_1_to_6(&m, true);
    io_free(&m);
    assert_int_equal(read_pipe("", 0, NULL, &m, &error), IO_BAD_FILE);
    check_sentence(&error, "/dev/fd/", "is empty");
    assert_int_equal(read_pipe("?", 1, NULL, &m, &error), IO_BAD_FILE);
    check_sentence(&error, "/dev/fd/", "begins with '?'");
}

/* What a stream brings goes into memory of 64 KiB first, then into twice as much. */
static void every_length_of_a_stream_is_read(void)
{
    enum { FIRST = 1 << 16 };
    for (int which = 0; which < 8; which++) {
        const int64_t count = about(which < 4 ? FIRST : 2 * FIRST, which % 4);
        const io_raw_shape shape = {IO_U8, 1, count};
        const alphabet all = alphabet_of(IO_U8, false);
        io_matrix m = elements_make(IO_U8, false, 1, count, BY_ROWS), found;
        io_error error;
        if (read_pipe(m.data, (size_t)count, &shape, &found, &error) != IO_OK) fail_msg("%s", error.text);
        elements_check(found.data, &all, IO_U8, 0, 0, 1, count, false, "a stream");
        io_free(&m), io_free(&found);
    }
}

/* Read a stream that begins with these bytes and goes on with one character for ever. */
static io_status read_endless(const void *bytes, size_t count, char rest, const io_raw_shape *raw, io_matrix *m,
                              io_error *error)
{
    char block[4096];
    memset(block, rest, sizeof block);
    return read_pipe_then(bytes, count, block, raw, m, error);
}

static void refuse_endless(const char *text, char rest, const io_raw_shape *raw, io_status expected, const char *part)
{
    io_matrix m;
    io_error error;
    io_status status = read_endless(text, strlen(text), rest, raw, &m, &error);
    if (status != expected) fail_msg("status %d for %s: %s", status, text, error.text);
    check_sentence(&error, "/dev/fd/", part);
    assert_true(is_zeroed(&m));
}

/* What a stream is shows at its beginning: one without end costs no more than what it promises. */
static void streams_are_bounded(void)
{
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    static const char banner[] = "%%MatrixMarket matrix array real general\n";
    unsigned char bytes[256];
    char text[100];
    io_matrix m;
    io_error error;
    io_memory_cap = 1 << 22;
    refuse_path("/dev/zero", NULL, IO_BAD_FILE, "begins with '\\x00\\x00");
    refuse_path("/dev/zero", &raw_2x3, IO_BAD_FILE, "2 x 3 elements of f32 are 24 bytes, and more follow");
    refuse_endless("", '?', NULL, IO_BAD_FILE, "begins with '?????");
    refuse_endless(banner, '%', NULL, IO_BAD_FILE, "there is no line with the sizes in its first");
    snprintf(text, sizeof text, "%s1 1\n1\n", banner);
    refuse_endless(text, '\n', NULL, IO_BAD_FILE, "bytes were read and more follow, expected 1 entries");
    snprintf(text, sizeof text, "%s99999 99999\n", banner);
    refuse_endless(text, '\n', NULL, IO_BAD_FILE, "4194304 bytes were read and more follow");
    size_t count = make_npy(bytes, 1, "{'descr': '=f4', 'fortran_order': False, 'shape': (2, 3), }", data, 24);
    assert_int_equal(read_endless(bytes, count, 'x', NULL, &m, &error), IO_OK);
    check_1_to_6(&m, false);
    io_free(&m);
    count = make_npy(bytes, 1, "{'descr': '=f4', 'fortran_order': False, 'shape': (2000, 3000), }", data, 24);
    assert_int_equal(read_endless(bytes, count, 'x', NULL, &m, &error), IO_NO_MEMORY);
    check_sentence(&error, "/dev/fd/",
                   "a stream of 24000000 bytes is announced, this machine has 4194304 bytes of memory");
    const io_raw_shape large = {IO_F32, 2000, 3000};
    refuse_path("/dev/zero", &large, IO_NO_MEMORY, "a stream of 24000000 bytes is announced");
    io_memory_cap = 0;
}

/* ---- files that change --------------------------------------------------------------------------------- */

static const char *changed_by_calloc; /* this file, once */

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_calloc(size_t count, size_t bytes)
{
    const char *path = changed_by_calloc;
    changed_by_calloc = NULL;
    if (path != NULL) write_file(path, ARRAY("2 1\n3\n4\n"), strlen(ARRAY("2 1\n3\n4\n")));
    return __real_calloc(count, bytes);
}

/* One whose elements are copied must not change before they are. */
static void a_file_that_changes_while_it_is_read(void)
{
    static const char text[] = ARRAY("2 1\n1\n2\n");
    io_matrix m;
    io_error error;
    write_file(in_folder("A.mtx"), text, sizeof text - 1);
    const int before = dup(0);
    close(before);
    changed_by_calloc = in_folder("A.mtx");
    assert_int_equal(io_read(in_folder("A.mtx"), NULL, &m, &error), IO_BAD_FILE);
    check_sentence(&error, in_folder("A.mtx"), "the file was changed while it was in use");
    assert_true(is_zeroed(&m));
    assert_int_equal(io_read(in_folder("A.mtx"), NULL, &m, &error), IO_OK);
    assert_false(m.file.open);
    io_free(&m);
    const int after = dup(0);
    close(after);
    assert_int_equal(after, before); /* nothing is open any more */
}

/* ---- blocks of a file ---------------------------------------------------------------------------------- */

/* A file of two lines, each `before` elements and then `run`; by columns a .npy file. */
static void write_two_lines(const char *path, const io_matrix *m, bool by_columns)
{
    char header[100];
    unsigned char head[128];
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    /* descr: another byte order than this machine's where elements are swapped; 2 bytes of a bfloat are raw ones */
    const char order = m->swapped != io_host_is_big_endian() ? '>' : '<';
    static const char *const kinds[IO_TYPE_COUNT] = {"f8", "f4", "c16", "c8", "V2", "f2", "V1", "V1",
                                                     "i1", "u1", "i2",  "i4", "i8", "u2", "u4", "u8"};
    snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (%" PRId64 ", %" PRId64 "), }",
             order, kinds[m->type], by_columns ? "True" : "False", m->rows, m->cols);
    const size_t count = make_npy(head, 1, header, "", 0), bytes = (size_t)(m->rows * m->cols) * io_type_bytes(m->type);
    const bool good = fwrite(head, 1, count, f) == count && fwrite(m->data, 1, bytes, f) == bytes;
    assert_true((fclose(f) == 0) & good);
}

/* All of a file and what lies inside, in the file's order and row by row, from either byte order, to its own type and
 * to those that products are computed in. */
static void every_length_of_a_block_is_read(void)
{
    enum { PIECE_BYTES = 1 << 16, BEFORE = 3, LINES = 2 };
    static const io_type wider[] = {IO_F64, IO_F32, IO_CF64};
    for (int variant = 0; variant < IO_TYPE_COUNT * 4 * 4 * 2 * 2; variant++) {
        const io_type from = (io_type)(variant / 64);
        const io_type to = variant / 16 % 4 < 3 ? wider[variant / 16 % 4] : from;
        const bool swapped = variant % 2, columns = variant / 2 % 2;
        /* without a layout of its own raw bytes have no order; to its own type only what io_convert() gives */
        const bool raw_bytes = from == IO_BF16 || from == IO_E4M3 || from == IO_E5M2;
        if (swapped && (raw_bytes || io_type_bytes(from) == 1)) continue;
        if (from == to && (from == IO_I16 || from == IO_I64 || from == IO_U16 || from == IO_U32 || from == IO_U64))
            continue;
        const alphabet all = alphabet_of(to, false);
        const size_t widest = io_type_bytes(from) > all.bytes ? io_type_bytes(from) : all.bytes;
        const int64_t run = about(PIECE_BYTES / (int64_t)widest, variant / 4 % 4), length = BEFORE + run;
        io_matrix m = elements_make(from, swapped, columns ? length : LINES, columns ? LINES : length,
                                    columns ? BY_COLUMNS : BY_ROWS);
        const io_raw_shape shape = {from, -1, -1};
        io_source source;
        io_error error;
        char *out = malloc((size_t)(LINES * length) * all.bytes);
        assert_non_null(out);
        write_two_lines(in_folder("A.npy"), &m, columns);
        if (io_source_open(in_folder("A.npy"), &shape, &source, &error) != IO_OK) fail_msg("%s", error.text);
        assert_int_equal(source.matrix.type, from);
        for (int how = 0; how < 4; how++) {
            const bool by_rows = how % 2, inner = how / 2;
            const int64_t first = inner ? BEFORE : 0, i = columns ? first : 0, j = columns ? 0 : first,
                          rows = columns ? length - first : LINES, cols = columns ? LINES : length - first;
            if (io_source_read(&source, i, j, rows, cols, to, by_rows, out, &error) != IO_OK)
                fail_msg("%s", error.text);
            elements_check(out, &all, from, i, j, rows, cols, columns && !by_rows, columns ? "by columns" : "by rows");
        }
        io_source_close(&source);
        io_free(&m);
        free(out);
    }
}

static const check_case cases[] = {
    CHECK_CASE(raw_checks_its_length),
    CHECK_CASE(raw_needs_a_shape),
    FOLDER_CASE(bad_paths_are_refused),
    CHECK_CASE(names_are_tamed),
    FOLDER_CASE(regular_files_are_mapped),
    FOLDER_CASE(a_page_is_not_overread),
    CHECK_CASE(pipes_are_streamed),
    FOLDER_CASE(streams_are_bounded),
    FOLDER_CASE(a_file_that_changes_while_it_is_read),
    FOLDER_CASE(every_length_of_a_block_is_read),
    CHECK_CASE(every_length_of_a_stream_is_read),
};

CHECK_MAIN(cases)
