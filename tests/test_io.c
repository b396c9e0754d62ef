/* test_io.c - the readers against hostile bytes, the writer against failing disks, the conversions against
 * NumPy. */
#define _XOPEN_SOURCE 700
#include "../io/io.h"
#include "../io/io_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/guard.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- help ---------------------------------------------------------------------------------------------- */

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

static io_status parse(io_format format, const void *bytes, size_t count, io_matrix *out, io_error *error)
{
    if (format == IO_FORMAT_NPY) return npy_parse(bytes, count, "FILE", out, error);
    if (format == IO_FORMAT_MTX) return mtx_parse(bytes, count, "FILE", out, error);
    return raw_parse(bytes, count, "FILE", &raw_2x3, out, error);
}

static bool is_zeroed(const io_matrix *m)
{
    return m->rows == 0 && m->cols == 0 && m->data == NULL && m->memory == NULL && m->mapped_bytes == 0;
}

/* A sentence: "FILE: ...", one line, holds the part. */
static void check_sentence(const io_error *error, const char *name, const char *part)
{
    if (strncmp(error->text, name, strlen(name)) != 0 || strstr(error->text, part) == NULL)
        fail_msg("expected '%s: ... %s ...', got '%s'", name, part, error->text);
    for (const char *c = error->text; *c != '\0'; c++) assert_true((unsigned char)*c >= ' ');
}

static void refuse(io_format format, const void *bytes, size_t count, io_status expected, const char *part)
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
static void accept(io_format format, const void *bytes, size_t count, io_type type, int64_t rows, int64_t cols,
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
    assert_true(rows * cols <= 64);
    io_convert(&m, IO_F64, got);
    io_convert(&m, IO_F32, single);
    for (int64_t e = 0; e < rows * cols; e++) {
        bool same = memcmp(&got[e], &values[e], sizeof got[e]) == 0 && single[e] == (float)values[e];
        same = same || (isnan(got[e]) && isnan(single[e]) && isnan(values[e]));
        if (!same) fail_msg("element %d is %.17g, expected %.17g", (int)e, got[e], values[e]);
    }
    io_free(&m);
    assert_true(is_zeroed(&m));
}

/* A .npy file: magic, version, header text, zeroed or given data. */
static size_t make_npy(unsigned char *to, int version, const char *header, const void *data, size_t data_bytes)
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

/* A folder for one test, empty at its start and gone at its end. */
static char folder[64];
static char path_text[512];

static int folder_setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test_io.XXXXXX");
    return mkdtemp(folder) == NULL;
}

static const char *in_folder(const char *name)
{
    snprintf(path_text, sizeof path_text, "%s/%s", folder, name);
    return path_text;
}

/* How many names the folder holds; each removed where `remove_them`. */
static int folder_entries(bool remove_them)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        count++;
        if (remove_them) remove(in_folder(e->d_name));
    }
    if (dir != NULL) closedir(dir);
    return count;
}

static int folder_teardown(void **state)
{
    (void)state;
    io_memory_cap = 0;
    chmod(folder, 0700);
    folder_entries(true);
    return rmdir(folder);
}

static void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    assert_int_equal(fclose(f), 0);
}

static size_t read_back(const char *path, void *bytes, size_t most)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t count = fread(bytes, 1, most, f);
    fclose(f);
    return count;
}

/* ---- .npy ---------------------------------------------------------------------------------------------- */

#define SHAPE(text) "{'descr': '<f4', 'fortran_order': False, 'shape': " text ", }"
#define DESCR(text) "{'descr': " text ", 'fortran_order': False, 'shape': (2, 3), }"

static void npy_refuses_headers(void **state)
{
    (void)state;
    static const struct {
        const char *header, *part;
        size_t data_bytes;
    } cases[] = {
        {SHAPE("(1000, 777)"),
         "the header promises 1000 x 777 elements of f32 (3108000 bytes), the file has 1024 bytes "
         "after its header",
         1024},
        {SHAPE("(2, 3)"), "2 x 3 elements of f32 (24 bytes), the file has 23 bytes", 23},
        {SHAPE("()"), "shape is (), expected two dimensions: reshape a number to (1, 1)", 4},
        {SHAPE("(6,)"), "shape is (6,), expected two dimensions: reshape a vector of n elements to (n, 1)", 24},
        {SHAPE("(1, 2, 3)"), "shape is (1, 2, 3), expected two dimensions: save one matrix", 24},
        {SHAPE("(-2, 3)"), "expected a dimension of 0 or more, found '-2, 3)", 24},
        {SHAPE("(2, -3)"), "expected a dimension of 0 or more", 24},
        {SHAPE("(1073741824, 1073741824)"), "the header promises 1073741824 x 1073741824 elements", 24},
        {SHAPE("(4611686018427387904, 4)"), "4611686018427387904 x 4 elements of f32 are beyond", 24},
        {SHAPE("(4294967296, 4294967296)"), "are beyond what a machine can address", 24},
        {SHAPE("(9223372036854775807, 9223372036854775807)"), "are beyond", 24},
        {SHAPE("(9223372036854775808, 0)"), "expected a dimension that fits in 64 bits, found '9223372036854775808",
         24},
        {SHAPE("(99999999999999999999999999, 1)"), "fits in 64 bits", 24},
        {SHAPE("(2 3)"), "expected ',' or ')', found '3)", 24},
        {SHAPE("(2,,3)"), "expected a dimension, found ',3)", 24},
        {SHAPE("(,)"), "expected a dimension, found ',)", 24},
        {SHAPE("(2.0, 3)"), "expected ',' or ')', found '.0", 24},
        {SHAPE("(True, 3)"), "expected a dimension, found 'True", 24},
        {SHAPE("[2, 3]"), "expected '(' and the shape, found '[2, 3]", 24},
        {SHAPE("(2, 3"), "expected a dimension, found '}'", 24},
        {SHAPE("6"), "expected '('", 24},
        {DESCR("'|O'"), "the dtype is |O (Python objects), expected one of f8 f4 f2 i8", 24},
        {DESCR("'O'"), "(Python objects)", 24},
        {DESCR("[('x', '<f4'), ('y', '<f4')]"), "the dtype is [('x', '<f4')", 24},
        {DESCR("[('x', '<f4')]"), "(a structure)", 24},
        {DESCR("'<c8'"), "the dtype is <c8 (complex numbers)", 24},
        {DESCR("'|b1'"), "the dtype is |b1 (booleans)", 24},
        {DESCR("'?'"), "(booleans)", 24},
        {DESCR("'<U5'"), "the dtype is <U5 (strings)", 24},
        {DESCR("'|S4'"), "(strings)", 24},
        {DESCR("'|V2'"), "the dtype is |V2 (raw bytes)", 24},
        {DESCR("'<M8[ns]'"), "the dtype is <M8[ns] (times)", 24},
        {DESCR("'<f16'"), "the dtype is <f16, expected", 24},
        {DESCR("'<f1'"), "the dtype is <f1, expected", 24},
        {DESCR("'<i3'"), "the dtype is <i3, expected", 24},
        {DESCR("'<u16'"), "the dtype is <u16, expected", 24},
        {DESCR("'float64'"), "the dtype is float64, expected", 24},
        {DESCR("''"), "the dtype is , expected", 24},
        {DESCR("'<'"), "the dtype is <, expected", 24},
        {DESCR("'<<f4'"), "the dtype is <<f4, expected", 24},
        {DESCR("'\x1b[31mf4'"), "the dtype is \\x1b[31mf4, expected", 24},
        {DESCR("f4"), "expected a dtype in quotes, found 'f4", 24},
        {DESCR("'<f4"), "the dtype is <f4, , expected one of", 24},
        {DESCR("'<f4\\''"), "expected a dtype in quotes, found ''<f4\\", 24},
        {DESCR("('<f4', (2,))"), "expected a dtype in quotes, found '('<f4'", 24},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}", "expected True or False, found '0, 'shape'", 24},
        {"{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (2, 3)}", "expected ',' or '}', found 'hood", 24},
        {"{'descr': '<f4', 'fortran_order': False}", "has no 'shape'", 24},
        {"{'descr': '<f4', 'shape': (2, 3)}", "has no 'fortran_order'", 24},
        {"{'shape': (2, 3), 'fortran_order': False}", "has no 'descr'", 24},
        {"{}", "has no 'descr'", 24},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
         "character 17: expected the keys descr, fortran_order and shape, each once, found ''descr'", 24},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'extra': 1}", "each once, found ''extra'", 24},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}", "expected ',' or '}', found ''fortran", 24},
        {"{'descr' '<f4', 'fortran_order': False, 'shape': (2, 3)}", "expected ':', found ''<f4'", 24},
        {"{,}", "expected a key in quotes or '}', found ',}", 24},
        {"{descr: '<f4'}", "expected a key in quotes", 24},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", "expected ',' or '}', found its end", 24},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x", "expected nothing after '}', found 'x'", 24},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}}", "expected nothing after '}'", 24},
        {"('descr', '<f4')", "character 0: expected '{', found '('descr'", 24},
        {"", "character 0: expected '{', found its end", 24},
        {"__import__('os').system('true')", "expected '{', found '__import__", 24},
        {"{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{", "character 1: expected a key in quotes", 24},
    };
    for (size_t c = 0; c < COUNT(cases); c++) {
        unsigned char bytes[2048];
        for (int version = 1; version <= 3; version++) {
            size_t count = make_npy(bytes, version, cases[c].header, NULL, cases[c].data_bytes);
            refuse(IO_FORMAT_NPY, bytes, count, IO_BAD_FILE, cases[c].part);
        }
    }
}

static void npy_refuses_prefixes(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *part;
    } cases[] = {
        {"", 0, "no .npy file: it begins with '', expected '\\x93NUMPY'"},
        {"\x93NUMP", 5, "begins with '\\x93NUMP', expected"},
        {"NUMPY\x93\x01\x00", 8, "begins with 'NUMPY\\x93\\x01\\x00', expected"},
        {"PK\x03\x04", 4, "begins with 'PK\\x03\\x04'"},
        {"\x93NUMPY\x01\x00\x00\x00", 10, "the file ends inside its .npy header, after 10 bytes"},
        {"\x93NUMPY\x01\x00\x00\x00{}", 12, "character 0: expected '{', found its end"},
        {"\x93NUMPY\x00\x00\x02\x00{}", 12, "version is 0.0, expected 1.0, 2.0 or 3.0"},
        {"\x93NUMPY\x04\x00\x02\x00{}", 12, "version is 4.0"},
        {"\x93NUMPY\x01\x07\x02\x00{}", 12, "version is 1.7"},
        {"\x93NUMPY\x01\x00\x76\x00{}", 12, "header says it has 118 bytes; 2 follow, and at most 65535 are allowed"},
        {"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14, "header says it has 4294967295 bytes; 2 follow"},
        {"\x93NUMPY\x03\x00\x00\x00\x00\x00", 12, "expected '{', found its end"},
    };
    for (size_t c = 0; c < COUNT(cases); c++)
        refuse(IO_FORMAT_NPY, cases[c].bytes, cases[c].count, IO_BAD_FILE, cases[c].part);
    size_t large = 70000;
    unsigned char *bytes = calloc(1, large + 12);
    memcpy(bytes, "\x93NUMPY\x02\x00\x00\x00\x01\x00", 12); /* 65536 */
    refuse(IO_FORMAT_NPY, bytes, large + 12, IO_BAD_FILE, "says it has 65536 bytes");
    free(bytes);
}

/* Every file that ends too early is refused, and nothing past its end is read. */
static void npy_refuses_every_truncation(void **state)
{
    (void)state;
    unsigned char bytes[256];
    for (int version = 1; version <= 3; version++) {
        size_t whole = make_npy(bytes, version, SHAPE("(2, 3)"), NULL, 24);
        for (size_t count = 0; count < whole; count++) refuse(IO_FORMAT_NPY, bytes, count, IO_BAD_FILE, "");
    }
}

static void npy_accepts_headers(void **state)
{
    (void)state;
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    static const double rows_first[6] = {1, 2, 3, 4, 5, 6}, columns_first[6] = {1, 3, 5, 2, 4, 6};
    static const struct {
        const char *header;
        bool fortran;
    } cases[] = {
        {SHAPE("(2, 3)"), false},
        {SHAPE("(2,3,)"), false},
        {SHAPE("(2L, 3L)"), false},
        {SHAPE("( 2 , 3 )"), false},
        {"{'descr':'<f4','fortran_order':True,'shape':(2,3)}", true},
        {"{\"shape\": (2, 3), \"fortran_order\": False, \"descr\": \"<f4\"}", false},
        {"  {'fortran_order': True, 'descr': '=f4', 'shape': (2, 3)}  \n", true},
        {"{'descr': 'f4', 'shape': (2, 3), 'fortran_order': False,}\n\n", false},
        {"{'descr': '|f4',\n\t'shape': (2, 3), 'fortran_order': False,}\r\n", false},
    };
    unsigned char bytes[256];
    for (size_t c = 0; c < COUNT(cases); c++) {
        for (int version = 1; version <= 3; version++) {
            size_t count = make_npy(bytes, version, cases[c].header, data, sizeof data);
            const double *expected = cases[c].fortran ? columns_first : rows_first;
            if (strstr(cases[c].header, "<f4") != NULL && io_host_is_big_endian()) continue;
            accept(IO_FORMAT_NPY, bytes, count, IO_F32, 2, 3, expected);
            memset(bytes + count, 0x55, 9); /* NumPy leaves what follows alone */
            accept(IO_FORMAT_NPY, bytes, count + 9, IO_F32, 2, 3, expected);
        }
    }
}

/* Put a small integer as an element of a type, in a byte order. */
static void put_value(unsigned char *to, io_type type, bool big_endian, int value)
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

static void npy_reads_every_type(void **state)
{
    (void)state;
    for (int t = 0; t < IO_TYPE_COUNT; t++) {
        for (int variant = 0; variant < 4 && t != IO_BF16; variant++) { /* NumPy has no name for bf16 */
            io_type type = (io_type)t;
            bool big = variant & 1, fortran = variant >> 1;
            size_t size = io_type_bytes(type);
            const char *name = io_type_name(type);
            char header[128];
            unsigned char data[6 * 8], file[256];
            double expected[6];
            int second = name[0] == 'u' ? 1 : -2;
            for (int e = 0; e < 6; e++) {
                int value = e == 0 ? 0 : e % 2 == 0 ? 1 : second;
                put_value(data + (size_t)e * size, type, big, value);
                expected[fortran ? e % 2 * 3 + e / 2 : e] = value;
            }
            snprintf(header, sizeof header, "{'descr': '%c%c%zu', 'fortran_order': %s, 'shape': (2, 3), }",
                     big ? '>' : '<', name[0], size, fortran ? "True" : "False");
            size_t count = make_npy(file, 1, header, data, 6 * size);
            accept(IO_FORMAT_NPY, file, count, type, 2, 3, expected);
        }
    }
}

static void npy_views_and_copies(void **state)
{
    (void)state;
    static const double data[2] = {1.5, -2.5};
    _Alignas(16) unsigned char bytes[272];
    for (size_t shift = 0; shift < 8; shift++) {
        size_t count = make_npy(bytes + shift, 1, "{'descr': '=f8', 'fortran_order': False, 'shape': (1, 2), }", data,
                                16);
        bool aligned = (uintptr_t)(bytes + shift + count - 16) % 8 == 0;
        io_matrix m;
        io_error error;
        assert_int_equal(npy_parse(bytes + shift, count, "FILE", &m, &error), IO_OK);
        assert_int_equal(m.memory == NULL, aligned);
        assert_int_equal((uintptr_t)m.data % 8, 0);
        double got[2];
        io_convert(&m, IO_F64, got);
        assert_memory_equal(got, data, 16);
        io_free(&m);
        if (aligned) continue;
        io_memory_cap = 15;
        assert_int_equal(npy_parse(bytes + shift, count, "FILE", &m, &error), IO_NO_MEMORY);
        check_sentence(&error, "FILE: ", "1 x 2 elements of f64 need 16 bytes of memory, this machine has 15");
        assert_true(is_zeroed(&m));
        io_memory_cap = 0;
    }
}

static void npy_accepts_no_elements(void **state)
{
    (void)state;
    static const char *const shapes[] = {"(0, 0)", "(0, 5)", "(5, 0)", "(0, 9223372036854775807)",
                                         "(9223372036854775807, 0)"};
    for (size_t c = 0; c < COUNT(shapes); c++) {
        for (int fortran = 0; fortran < 2; fortran++) {
            unsigned char bytes[256];
            char header[128];
            snprintf(header, sizeof header, "{'descr': '>f8', 'fortran_order': %s, 'shape': %s, }",
                     fortran ? "True" : "False", shapes[c]);
            size_t count = make_npy(bytes, 1, header, NULL, 0);
            io_matrix m;
            io_error error;
            assert_int_equal(npy_parse(bytes, count, "FILE", &m, &error), IO_OK);
            assert_int_equal(m.rows * m.cols, 0);
            int64_t i, j;
            char text[64];
            io_convert(&m, IO_F32, NULL);
            assert_true(io_fits_exactly(&m, IO_I8, &i, &j, text, sizeof text));
            io_free(&m);
        }
    }
}

/* ---- Matrix Market ------------------------------------------------------------------------------------- */

#define MTX(rest)   "%%MatrixMarket matrix " rest
#define ARRAY(rest) MTX("array real general\n" rest)
#define COO(rest)   MTX("coordinate real general\n" rest)

static void mtx_accepts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        io_type type;
        int64_t rows, cols;
        double values[9];
    } cases[] = {
        {ARRAY("2 3\n1\n2\n3\n4\n5\n6\n"), IO_F64, 2, 3, {1, 3, 5, 2, 4, 6}},
        {ARRAY("2 1\n1\n2"), IO_F64, 2, 1, {1, 2}},
        {ARRAY("%c\n\n  % d\n 2  1 \n\n%e\n1 \n\n\t2\r\n\n%f\n"), IO_F64, 2, 1, {1, 2}},
        {"%%MatrixMarket matrix array real general\r\n2 1\r\n1\r\n2\r\n", IO_F64, 2, 1, {1, 2}},
        {"%%matrixmarket MATRIX Array REAL General\n1 1\n7\n", IO_F64, 1, 1, {7}},
        {MTX("array double general\n1 1\n7\n"), IO_F64, 1, 1, {7}},
        {ARRAY("3 3\nnan\nNaN\n-nan\ninf\n-inf\n+inf\ninfinity\n-Infinity\nINF\n"),
         IO_F64,
         3,
         3,
         {NAN, INFINITY, INFINITY, NAN, -INFINITY, -INFINITY, NAN, INFINITY, INFINITY}},
        {ARRAY("3 3\n1.\n.5\n-0\n+1e3\n1E-3\n1.5e+2\n1e400\n-1e400\n1e-400\n"),
         IO_F64,
         3,
         3,
         {1, 1000, INFINITY, .5, .001, -INFINITY, -0.0, 150, 0}},
        {ARRAY("2 2\n1.00000000000000011102230246251565404236316680908203125\n"
               "1.00000000000000011102230246251565404236316680908203126\n"
               "2.2250738585072011e-308\n179769313486231570000e288\n"),
         IO_F64,
         2,
         2,
         {1, 0x0.fffffffffffffp-1022, 0x1.0000000000001p0, 0x1.fffffffffffffp1023}},
        {MTX("array integer general\n2 2\n-9223372036854775808\n9223372036854774784\n+5\n-0\n"),
         IO_I64,
         2,
         2,
         {-0x1p63, 5, 0x1.fffffffffffffp62, 0}},
        {MTX("array unsigned-integer general\n1 2\n18446744073709549568\n-0\n"),
         IO_U64,
         1,
         2,
         {0x1.fffffffffffffp63, 0}},
        {MTX("array real symmetric\n2 2\n1\n2\n3\n"), IO_F64, 2, 2, {1, 2, 2, 3}},
        {MTX("array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n"), IO_I64, 3, 3, {1, 2, 3, 2, 4, 5, 3, 5, 6}},
        {MTX("array real skew-symmetric\n3 3\n2\n3\n5\n"), IO_F64, 3, 3, {0, -2, -3, 2, 0, -5, 3, 5, 0}},
        {MTX("array integer skew-symmetric\n1 1\n"), IO_I64, 1, 1, {0}},
        {COO("2 3 2\n1 1 3\n2 3 -4\n"), IO_F64, 2, 3, {3, 0, 0, 0, 0, -4}},
        {COO("2 2 3\n1 1 3\n1 1 4\n1 2 1e300\n"), IO_F64, 2, 2, {7, 1e300, 0, 0}},
        {COO("2 2 0\n"), IO_F64, 2, 2, {0, 0, 0, 0}},
        {MTX("coordinate pattern general\n2 2 2\n1 2\n1 2"), IO_F64, 2, 2, {0, 2, 0, 0}},
        {MTX("coordinate integer general\n2 2 2\n1 2 3\n1 2 -5\n"), IO_I64, 2, 2, {0, -2, 0, 0}},
        {MTX("coordinate unsigned-integer general\n1 1 2\n1 1 3\n1 1 5\n"), IO_U64, 1, 1, {8}},
        {MTX("coordinate integer general\n1 1 2\n1 1 9223372036854775806\n1 1 1\n"), IO_I64, 1, 1, {0x1p63}},
        {MTX("coordinate integer general\n1 1 2\n1 1 -9223372036854775807\n1 1 -1\n"), IO_I64, 1, 1, {-0x1p63}},
        {MTX("coordinate unsigned-integer general\n1 1 2\n1 1 18446744073709551614\n1 1 1\n"), IO_U64, 1, 1, {0x1p64}},
        {MTX("coordinate real symmetric\n2 2 2\n1 1 5\n2 1 7\n"), IO_F64, 2, 2, {5, 7, 7, 0}},
        {MTX("coordinate real symmetric\n2 2 2\n1 2 5\n2 1 7\n"), IO_F64, 2, 2, {0, 12, 12, 0}},
        {MTX("coordinate integer skew-symmetric\n2 2 1\n2 1 7\n"), IO_I64, 2, 2, {0, -7, 7, 0}},
        {MTX("coordinate unsigned-integer skew-symmetric\n2 2 1\n2 1 0\n"), IO_U64, 2, 2, {0, 0, 0, 0}},
        {ARRAY("0 0\n"), IO_F64, 0, 0, {0}},
        {ARRAY("0 9223372036854775807\n"), IO_F64, 0, INT64_MAX, {0}},
        {ARRAY("9223372036854775807 0"), IO_F64, INT64_MAX, 0, {0}},
        {COO("0 4611686018427387904 0\n"), IO_F64, 0, INT64_C(1) << 62, {0}},
    };
    for (size_t c = 0; c < COUNT(cases); c++)
        accept(IO_FORMAT_MTX, cases[c].text, strlen(cases[c].text), cases[c].type, cases[c].rows, cases[c].cols,
               cases[c].values);
}

static void mtx_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "no Matrix Market file: it begins with '', expected '%%MatrixMarket'"},
        {"hello\n", "it begins with 'hello\\x0a', expected '%%MatrixMarket'"},
        {"%%MatrixMarke", "no Matrix Market file"},
        {"%%MatrixMarket", "line 1: expected the object 'matrix', found the end of the line"},
        {"%%MatrixMarketmatrix array real general\n",
         "expected the banner '%%MatrixMarket', found '%%MatrixMarketmatrix'"},
        {"%%MatrixMarket vector array real general\n1 1\n1\n", "expected the object 'matrix', found 'vector'"},
        {MTX("sparse real general\n1 1\n1\n"), "expected the format array or coordinate, found 'sparse'"},
        {MTX("array complex general\n1 1\n1 0\n"),
         "line 1: expected the field real, double, integer, unsigned-integer or "
         "pattern, found 'complex'"},
        {MTX("array real hermitian\n1 1\n1\n"), "line 1: expected the symmetry general, symmetric or skew-symmetric, "
                                                "found 'hermitian'"},
        {MTX("array real\n1 1\n1\n"), "expected the symmetry general, symmetric or skew-symmetric, found the end"},
        {MTX("array real general extra\n1 1\n1\n"), "expected the end of the line, found 'extra'"},
        {MTX("array pattern general\n1 1\n"), "an array of the field pattern holds no values"},
        {ARRAY(""), "the file ends before the line with the sizes"},
        {ARRAY("% only a comment\n\n"), "the file ends before the line with the sizes"},
        {ARRAY("2\n1\n2\n"), "line 2: expected a number of columns, found the end of the line"},
        {ARRAY("2 1 2\n1\n2\n"), "line 2: expected the end of the line, found '2'"},
        {COO("2 2\n1 1 1\n"), "line 2: expected a number of entries, found the end of the line"},
        {ARRAY("x 1\n1\n"), "line 2: expected a number of rows, found 'x'"},
        {ARRAY("1.5 1\n1\n"), "expected a number of rows, found '1.5'"},
        {ARRAY("99999999999999999999 1\n1\n"), "expected a number of rows, found '99999999999999999999'"},
        {ARRAY("-1 1\n1\n"), "-1 x 1 elements of f64 are beyond"},
        {ARRAY("1 -1\n1\n"), "1 x -1 elements of f64 are beyond"},
        {ARRAY("-1 -1\n1\n"), "-1 x -1 elements of f64 are beyond"},
        {ARRAY("4294967296 4294967296\n1\n"), "4294967296 x 4294967296 elements of f64 are beyond"},
        {ARRAY("1000000 1000000\n1\n"),
         "line 2: the sizes promise 1000000000000 entries, the file has 2 bytes after them"},
        {ARRAY("1 2\n1\n"), "promise 2 entries, the file has 2 bytes"},
        {COO("1 1 -1\n1 1 1\n"), "line 2: expected 0 or more entries, found -1"},
        {COO("9 9 9223372036854775807\n1 1 1\n"), "promise 9223372036854775807 entries, the file has 6 bytes"},
        {COO("9 9 3\n1 1 1\n1 1 1\n"), "promise 3 entries, the file has 12 bytes"},
        {COO("9 9 2\n% comment\n1 1 1\n"), "the sizes promise 2 entries, the file has 1"},
        {ARRAY("2 1\n1.25\n"), "the sizes promise 2 entries, the file has 1"},
        {ARRAY("1 1\n1\n2\n"), "line 4: expected the end of the file, after all entries, found '2'"},
        {COO("9 9 1\n1 1 1\n\n2 2 2\n"), "line 5: expected the end of the file, after all entries, found '2'"},
        {ARRAY("2 2\n1 2\n3 4\n"), "line 3: expected the end of the line, found '2'"},
        {ARRAY("1 1\nabc\n"), "line 3: expected a real number, found 'abc'"},
        {ARRAY("1 1\n0x10\n"), "expected a real number, found '0x10'"},
        {ARRAY("1 1\n1d3\n"), "expected a real number, found '1d3'"},
        {ARRAY("1 1\n1_0\n"), "expected a real number, found '1_0'"},
        {ARRAY("1 1\n1,5\n"), "expected a real number, found '1,5'"},
        {ARRAY("1 1\nnan(1)\n"), "expected a real number, found 'nan(1)'"},
        {ARRAY("1 1\ninfinit\n"), "expected a real number, found 'infinit'"},
        {ARRAY("1 1\n1e\n"), "expected a real number, found '1e'"},
        {ARRAY("1 1\n1e+\n"), "expected a real number, found '1e+'"},
        {ARRAY("1 1\n.\n"), "expected a real number, found '.'"},
        {ARRAY("1 1\n.e5\n"), "expected a real number, found '.e5'"},
        {ARRAY("1 1\n+-1\n"), "expected a real number, found '+-1'"},
        {ARRAY("1 1\n--\n"), "expected a real number, found '--'"},
        {ARRAY("1 1\n\x80\x1b[31m\n"), "expected a real number, found '\\x80\\x1b[31m'"},
        {MTX("array integer general\n1 1\n1.0\n"), "line 3: expected an integer in i64, found '1.0'"},
        {MTX("array integer general\n1 1\n9223372036854775808\n"), "an integer in i64, found '9223372036854775808'"},
        {MTX("array integer general\n1 1\n-9223372036854775809\n"), "found '-9223372036854775809'"},
        {MTX("array integer general\n1 1\n99999999999999999999999\n"), "an integer in i64, found '99999999"},
        {MTX("array integer general\n1 1\nnan\n"), "an integer in i64, found 'nan'"},
        {MTX("array integer general\n1 1\n-\n"), "an integer in i64, found '-'"},
        {MTX("array unsigned-integer general\n1 1\n-1\n"), "an integer in u64, found '-1'"},
        {MTX("array unsigned-integer general\n1 1\n18446744073709551616\n"), "an integer in u64, found '184467"},
        {MTX("array real symmetric\n2 3\n1\n2\n3\n"), "line 2: 2 x 3 is not square, a symmetric matrix must be"},
        {MTX("array real symmetric\n2 2\n1\n2\n3\n4\n"), "line 6: expected the end of the file"},
        {MTX("array real skew-symmetric\n2 2\n1\n2\n3\n"), "line 4: expected the end of the file"},
        {MTX("array integer skew-symmetric\n2 2\n-9223372036854775808\n"),
         "line 3: the value at row 2, column 1 does not fit in i64"},
        {MTX("coordinate integer general\n1 1 2\n1 1 9223372036854775807\n1 1 1\n"),
         "line 4: the value at row 1, column 1 "
         "does not fit in i64"},
        {MTX("coordinate integer general\n1 1 2\n1 1 -9223372036854775807\n1 1 -2\n"), "line 4: the value at row 1"},
        {MTX("coordinate unsigned-integer general\n1 1 2\n1 1 18446744073709551615\n1 1 1\n"), "does not fit in u64"},
        {MTX("coordinate unsigned-integer skew-symmetric\n2 2 1\n2 1 1\n"), "line 3: the value at row 2, column 1"},
        {MTX("coordinate real skew-symmetric\n2 2 1\n1 1 3\n"), "line 3: an entry on the diagonal of a skew-symmetric"},
        {COO("2 2 1\n0 1 3\n"), "line 3: expected a row from 1 to 2, found 0"},
        {COO("2 2 1\n3 1 3\n"), "line 3: expected a row from 1 to 2, found 3"},
        {COO("2 2 1\n1 0 3\n"), "line 3: expected a column from 1 to 2, found 0"},
        {COO("2 2 1\n1 3 3\n"), "line 3: expected a column from 1 to 2, found 3"},
        {COO("2 2 1\n-1 1 3\n"), "line 3: expected a row from 1 to 2, found -1"},
        {COO("0 2 1\n1 1 3\n"), "expected a row from 1 to 0, found 1"},
        {COO("2 2 1\n1 1\n\n\n"), "line 3: expected a real number, found the end of the line"},
        {COO("2 2 1\n1 1 1 1\n"), "line 3: expected the end of the line, found '1'"},
        {COO("2 2 1\n1.0 1 1\n"), "line 3: expected a row, found '1.0'"},
    };
    for (size_t c = 0; c < COUNT(cases); c++)
        refuse(IO_FORMAT_MTX, cases[c].text, strlen(cases[c].text), IO_BAD_FILE, cases[c].part);
    static const char nul[] = ARRAY("1 1\n1\n\0");
    refuse(IO_FORMAT_MTX, nul, sizeof nul - 1, IO_BAD_FILE, "after all entries, found '\\x00'");
}

/* No prefix of a file is read beyond its end, whatever the answer. */
static void mtx_survives_every_truncation(void **state)
{
    (void)state;
    static const char *const texts[] = {ARRAY("%c\n 2 2 \n1.5e-3\n-inf\n nan\n+0.25E+1\n"),
                                        MTX("coordinate integer symmetric\n3 3 2\n1 1 -3\n3 2 44\n")};
    for (size_t c = 0; c < COUNT(texts); c++) {
        for (size_t count = 0; count <= strlen(texts[c]); count++) {
            io_matrix m;
            io_error error;
            io_status status = mtx_parse(guarded(texts[c], count), count, "FILE", &m, &error);
            assert_int_equal(status == IO_OK, error.text[0] == '\0');
            if (count == strlen(texts[c])) assert_int_equal(status, IO_OK);
            io_free(&m);
        }
    }
}

static void mtx_bounds_tokens(void **state)
{
    (void)state;
    char text[1400];
    int head = snprintf(text, sizeof text, "%s", ARRAY("1 1\n0."));
    memset(text + head, '1', 998);
    text[head + 998] = '\n'; /* "0." and 998 digits: 1000 characters */
    accept(IO_FORMAT_MTX, text, (size_t)head + 999, IO_F64, 1, 1, (double[]){1.0 / 9.0});
    memset(text + head, '1', 999);
    refuse(IO_FORMAT_MTX, text, (size_t)head + 999, IO_BAD_FILE, "expected a real number, found '0.1111");
}

/* A comment of 3 MiB is one comment, whatever its middle looks like; a line of values that long is refused where it
 * stands. */
static void mtx_bounds_lines(void **state)
{
    (void)state;
    enum { LONG = 3 << 20 };
    char *text = malloc(LONG + 200);
    assert_non_null(text);
    int head = snprintf(text, 100, "%s%%", MTX("array real general\n"));
    memset(text + head, '7', LONG);
    size_t count = (size_t)(head + LONG + snprintf(text + head + LONG, 100, "\n1 1\n9\n"));
    io_matrix m;
    io_error error = {.text = ""};
    assert_int_equal(mtx_parse(text, count, "FILE", &m, &error), IO_OK);
    assert_true(m.rows == 1 && m.cols == 1);
    io_free(&m);
    memcpy(text + head + LONG, "\n1 x\n9\n", 7);
    assert_int_equal(mtx_parse(text, count, "FILE", &m, &error), IO_BAD_FILE);
    assert_non_null(strstr(error.text, "line 3: expected"));
    text[head - 1] = '7';
    assert_int_equal(mtx_parse(text, count, "FILE", &m, &error), IO_BAD_FILE);
    assert_non_null(strstr(error.text, "line 2: expected"));
    free(text);
}

static void mtx_bounds_memory(void **state)
{
    (void)state;
    static const char huge[] = COO("30000000 30000000 1\n1 1 1\n"), mebi[] = COO("363 362 1\n1 1 1\n");
    char part[128];
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    snprintf(part, sizeof part,
             "30000000 x 30000000 elements of f64 need 7200000000000000 bytes of memory, this machine has %lld",
             (long long)pages * page);
    refuse(IO_FORMAT_MTX, huge, strlen(huge), IO_NO_MEMORY, part);
    io_memory_cap = 1 << 20;
    refuse(IO_FORMAT_MTX, mebi, strlen(mebi), IO_NO_MEMORY,
           "363 x 362 elements of f64 need 1051248 bytes of memory, this machine has 1048576");
    io_memory_cap = 1 << 21;
    io_matrix m;
    io_error error;
    assert_int_equal(mtx_parse(mebi, strlen(mebi), "FILE", &m, &error), IO_OK);
    io_free(&m);
    io_memory_cap = 0;
}

/* A program that says setlocale(LC_ALL, "") in a country of decimal commas. */
static void text_ignores_the_locale(void **state)
{
    (void)state;
    char command[200];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    int made = system(command);
    setenv("LOCPATH", folder, 1);
    bool comma = setlocale(LC_ALL, "de_DE.UTF-8") != NULL && localeconv()->decimal_point[0] == ',';
    char in_program[16] = "";
    if (comma) {
        snprintf(in_program, sizeof in_program, "%.1f", 1.5);
        static const char text[] = ARRAY("1 2\n1.5\n-2.5e-1\n");
        accept(IO_FORMAT_MTX, text, strlen(text), IO_F64, 1, 2, (double[]){1.5, -.25});
        io_matrix m = {.type = IO_F64, .rows = 1, .cols = 1, .row_stride = 1, .col_stride = 1, .data = &(double){1.5}};
        io_output output;
        io_error error;
        char bytes[128] = "";
        int64_t i, j;
        assert_int_equal(io_output_open(&output, in_folder("C.mtx"), &error), IO_OK);
        assert_int_equal(io_output_write(&output, IO_FORMAT_MTX, &m, &error), IO_OK);
        assert_int_equal(io_output_commit(&output, &error), IO_OK);
        read_back(in_folder("C.mtx"), bytes, sizeof bytes - 1);
        assert_string_equal(bytes, ARRAY("1 1\n1.5\n"));
        assert_false(io_fits_exactly(&m, IO_I32, &i, &j, bytes, sizeof bytes));
        assert_string_equal(bytes, "1.5");
        assert_int_equal(localeconv()->decimal_point[0], ',');
    }
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s/de_DE.UTF-8", folder);
    if (system(command) != 0 || made != 0 || !comma) {
        print_message("localedef cannot make a locale with a decimal comma here\n");
        skip();
    }
    assert_string_equal(in_program, "1,5");
}

/* ---- raw ----------------------------------------------------------------------------------------------- */

static void raw_checks_its_length(void **state)
{
    (void)state;
    static const float data[7] = {1, 2, 3, 4, 5, 6, 7};
    static const double expected[6] = {1, 2, 3, 4, 5, 6};
    accept(IO_FORMAT_RAW, data, 24, IO_F32, 2, 3, expected);
    refuse(IO_FORMAT_RAW, data, 23, IO_BAD_FILE, "2 x 3 elements of f32 are 24 bytes, the file has 23");
    refuse(IO_FORMAT_RAW, data, 28, IO_BAD_FILE, "2 x 3 elements of f32 are 24 bytes, the file has 28");
    refuse(IO_FORMAT_RAW, NULL, 0, IO_BAD_FILE, "2 x 3 elements of f32 are 24 bytes, the file has 0");
}

static void raw_needs_a_shape(void **state)
{
    (void)state;
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

/* ---- types and conversion ------------------------------------------------------------------------------ */

static void types_have_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        io_type type;
        size_t bytes;
    } rows[] = {{"f64", IO_F64, 8}, {"f32", IO_F32, 4}, {"f16", IO_F16, 2}, {"i8", IO_I8, 1},
                {"i16", IO_I16, 2}, {"i32", IO_I32, 4}, {"i64", IO_I64, 8}, {"u8", IO_U8, 1},
                {"u16", IO_U16, 2}, {"u32", IO_U32, 4}, {"u64", IO_U64, 8}, {"bf16", IO_BF16, 2}};
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
    assert_int_equal(io_type_bytes(IO_TYPE_COUNT), 0);
    assert_string_equal(io_type_name(IO_TYPE_COUNT), "?");
}

static void formats_follow_endings(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        io_format format;
    } cases[] = {{"a.npy", IO_FORMAT_NPY},   {"A.NPY", IO_FORMAT_NPY},    {"x/y.z/a.mtx", IO_FORMAT_MTX},
                 {"a.raw", IO_FORMAT_RAW},   {"a.Bin", IO_FORMAT_RAW},    {"a", IO_FORMAT_NONE},
                 {"", IO_FORMAT_NONE},       {"a.npy/b", IO_FORMAT_NONE}, {"a.npy.gz", IO_FORMAT_NONE},
                 {"a.npyx", IO_FORMAT_NONE}, {".npy", IO_FORMAT_NPY},     {"a.", IO_FORMAT_NONE}};
    for (size_t c = 0; c < COUNT(cases); c++) assert_int_equal(io_format_of(cases[c].path), cases[c].format);
}

/* numpy.result_type of NumPy 1.24, in the order of IO_TYPES; bf16, which it has not, as f32 with all but itself. */
static void result_types_are_numpys(void **state)
{
    (void)state;
    enum { F64 = IO_F64, F32, F16, I8, I16, I32, I64, U8, U16, U32, U64, BF16 };
    static const int table[IO_TYPE_COUNT][IO_TYPE_COUNT] = {
        {F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64},
        {F64, F32, F32, F32, F32, F64, F64, F32, F32, F64, F64, F32},
        {F64, F32, F16, F16, F32, F64, F64, F16, F32, F64, F64, F32},
        {F64, F32, F16, I8, I16, I32, I64, I16, I32, I64, F64, F32},
        {F64, F32, F32, I16, I16, I32, I64, I16, I32, I64, F64, F32},
        {F64, F64, F64, I32, I32, I32, I64, I32, I32, I64, F64, F64},
        {F64, F64, F64, I64, I64, I64, I64, I64, I64, I64, F64, F64},
        {F64, F32, F16, I16, I16, I32, I64, U8, U16, U32, U64, F32},
        {F64, F32, F32, I32, I32, I32, I64, U16, U16, U32, U64, F32},
        {F64, F64, F64, I64, I64, I64, I64, U32, U32, U32, U64, F64},
        {F64, F64, F64, F64, F64, F64, F64, U64, U64, U64, U64, F64},
        {F64, F32, F32, F32, F32, F64, F64, F32, F32, F64, F64, BF16},
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

static void every_half_is_read(void **state)
{
    (void)state;
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

static io_matrix one(io_type type, const void *element)
{
    return (io_matrix){.type = type, .rows = 1, .cols = 1, .row_stride = 1, .col_stride = 1, .data = element};
}

static void conversion_rounds_once(void **state)
{
    (void)state;
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

/* Any strides, any type: element (i, j) is 10 i + j. */
static void conversion_follows_strides(void **state)
{
    (void)state;
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
static void bf16_and_integers_are_converted(void **state)
{
    (void)state;
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
    static const int32_t extremes[] = {INT32_MIN, INT32_MAX, 0, -7, 8, 9};
    io_matrix written = {.type = IO_I32, .rows = 2, .cols = 3, .row_stride = 3, .col_stride = 1, .data = extremes};
    static const char *const names[] = {"C.npy", "C.mtx", "C.raw"};
    for (size_t f = 0; f < COUNT(names); f++) {
        io_output output;
        io_error error;
        io_matrix read;
        const io_raw_shape shape = {IO_I32, 2, 3};
        assert_int_equal(io_output_open(&output, in_folder(names[f]), &error), IO_OK);
        assert_int_equal(io_output_write(&output, io_format_of(names[f]), &written, &error), IO_OK);
        assert_int_equal(io_output_commit(&output, &error), IO_OK);
        assert_int_equal(io_read(in_folder(names[f]), &shape, &read, &error), IO_OK);
        assert_true(read.rows == 2 && read.cols == 3 && (f == 1 || read.type == IO_I32));
        int32_t got[6];
        io_convert(&read, IO_I32, got);
        assert_memory_equal(got, extremes, sizeof got);
        io_free(&read);
        remove(in_folder(names[f]));
    }
}

static void reals_fit_or_not(void **state)
{
    (void)state;
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

static void every_half_fits_its_value(void **state)
{
    (void)state;
    for (unsigned b = 0; b < 65536; b++) {
        double value = half_value(b);
        check_fit(IO_F64, &value, IO_F16, true);
        double next = nextafter(value, 1e9);
        if (isfinite(value)) check_fit(IO_F64, &next, IO_F16, false);
    }
}

static void integers_fit_or_not(void **state)
{
    (void)state;
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

static void the_first_offender_is_named(void **state)
{
    (void)state;
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

static void bad_paths_are_refused(void **state)
{
    (void)state;
    refuse_path(in_folder("missing.npy"), NULL, IO_BAD_FILE, "cannot be read: No such file or directory");
    refuse_path(folder, NULL, IO_BAD_FILE, "is a directory, expected a matrix file");
    refuse_path("", NULL, IO_BAD_FILE, "cannot be read: No such file");
    write_file(in_folder("empty.npy"), "", 0);
    refuse_path(in_folder("empty.npy"), NULL, IO_BAD_FILE, "is empty, expected a matrix");
    write_file(in_folder("e.raw"), "", 0);
    refuse_path(in_folder("e.raw"), &raw_2x3, IO_BAD_FILE, "2 x 3 elements of f32 are 24 bytes, the file has 0");
    write_file(in_folder("a.txt"), "1 2 3\n", 6);
    refuse_path(in_folder("a.txt"), NULL, IO_BAD_FILE,
                "begins with '1 2 3\\x0a', expected a .npy file, a Matrix Market file, or the ending .raw or .bin");
    refuse_path(in_folder("a.txt"), &raw_2x3, IO_BAD_FILE, "are 24 bytes, the file has 6");
    write_file(in_folder("a.npy"), "PK\3\4", 4);
    refuse_path(in_folder("a.npy"), &raw_2x3, IO_BAD_FILE, "no .npy file: it begins with 'PK\\x03\\x04'");
    refuse_path(in_folder("a.npy"), NULL, IO_BAD_FILE, "it is an archive, as .npz is: save one array");
    write_file(in_folder("a.npz"), "PK\3\4", 4);
    refuse_path(in_folder("a.npz"), NULL, IO_BAD_FILE, "it is an archive, as .npz is: save one array");
    write_file(in_folder("a.mtx.gz"), "\x1f\x8b", 2);
    refuse_path(in_folder("a.mtx.gz"), NULL, IO_BAD_FILE, "it is compressed: unpack it first");
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
static void names_are_tamed(void **state)
{
    (void)state;
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

static void regular_files_are_mapped(void **state)
{
    (void)state;
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
static void a_page_is_not_overread(void **state)
{
    (void)state;
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

/* Read bytes through a pipe, as from /dev/stdin. */
static io_status read_pipe(const void *bytes, size_t count, const io_raw_shape *raw, io_matrix *m, io_error *error)
{
    int ends[2];
    char path[32];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, count), (ssize_t)count);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    io_status status = io_read(path, raw, m, error);
    close(ends[0]);
    return status;
}

static void pipes_are_streamed(void **state)
{
    (void)state;
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

/* Read a stream that begins with these bytes and goes on with one character for ever. */
static io_status read_endless(const void *bytes, size_t count, char rest, const io_raw_shape *raw, io_matrix *m,
                              io_error *error)
{
    int ends[2];
    char path[32], block[4096];
    memset(block, rest, sizeof block);
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (writer == 0) {
        close(ends[0]);
        signal(SIGPIPE, SIG_DFL);
        if (write(ends[1], bytes, count) == (ssize_t)count)
            while (write(ends[1], block, sizeof block) > 0) {
            }
        _exit(0);
    }
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    io_status status = io_read(path, raw, m, error);
    close(ends[0]);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    return status;
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
static void streams_are_bounded(void **state)
{
    (void)state;
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

/* ---- writing files ------------------------------------------------------------------------------------- */

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

static void npy_bytes_are_numpys(void **state)
{
    (void)state;
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

static void mtx_text_is_shortest(void **state)
{
    (void)state;
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

static void what_is_written_is_read(void **state)
{
    (void)state;
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

/* One row that is longer than a block, and nothing at all. */
static void odd_shapes_are_written(void **state)
{
    (void)state;
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

static void a_discarded_output_leaves_nothing(void **state)
{
    (void)state;
    io_output output;
    io_error error;
    write_file(in_folder("C.npy"), "old", 3);
    assert_int_equal(io_output_open(&output, in_folder("C.npy"), &error), IO_OK);
    assert_int_equal(folder_entries(false), 2);
    assert_int_equal(io_output_write(&output, IO_FORMAT_NPY, &one_matrix, &error), IO_OK);
    /* what is not there yet can be read and judged under its other name */
    io_matrix m;
    assert_int_equal(io_read(output.temp_path, NULL, &m, &error), IO_OK);
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

static void bad_targets_are_refused(void **state)
{
    (void)state;
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

static void bad_writes_are_refused(void **state)
{
    (void)state;
    static const int16_t integer[1] = {1};
    io_matrix m = {.type = IO_I16, .rows = 1, .cols = 1, .row_stride = 1, .col_stride = 1, .data = integer};
    io_output output;
    io_error error;
    assert_int_equal(io_output_open(&output, in_folder("C.txt"), &error), IO_OK);
    assert_int_equal(io_output_write(&output, IO_FORMAT_NPY, &m, &error), IO_CANNOT_WRITE);
    check_sentence(&error, in_folder("C.txt"), "elements of i16 cannot be written, expected f32, f64 or i32");
    assert_int_equal(io_output_write(&output, io_format_of("C.txt"), &one_matrix, &error), IO_CANNOT_WRITE);
    check_sentence(&error, in_folder("C.txt"), "expected the ending .npy, .mtx, .raw or .bin");
    io_output_discard(&output);
    assert_int_equal(folder_entries(false), 0);
}

/* A disk that fills up: the old file stays, the temporary one goes. */
static void a_full_disk_keeps_the_old_file(void **state)
{
    (void)state;
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
static void a_failed_commit_leaves_nothing(void **state)
{
    (void)state;
    io_output output;
    io_error error;
    assert_int_equal(io_output_open(&output, in_folder("C.npy"), &error), IO_OK);
    assert_int_equal(mkdir(in_folder("C.npy"), 0700), 0);
    assert_int_equal(io_output_commit(&output, &error), IO_CANNOT_WRITE);
    check_sentence(&error, in_folder("C.npy"), "the temporary file could not be renamed: Is a directory");
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

static void modes_and_links_are_kept(void **state)
{
    (void)state;
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
static void long_and_bare_names_work(void **state)
{
    (void)state;
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

/* ---- list ---------------------------------------------------------------------------------------------- */

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(npy_refuses_headers),
    cmocka_unit_test(npy_refuses_prefixes),
    cmocka_unit_test(npy_refuses_every_truncation),
    cmocka_unit_test(npy_accepts_headers),
    cmocka_unit_test(npy_reads_every_type),
    cmocka_unit_test(npy_views_and_copies),
    cmocka_unit_test(npy_accepts_no_elements),
    cmocka_unit_test(mtx_accepts),
    cmocka_unit_test(mtx_refuses),
    cmocka_unit_test(mtx_survives_every_truncation),
    cmocka_unit_test(mtx_bounds_tokens),
    cmocka_unit_test(mtx_bounds_lines),
    cmocka_unit_test(mtx_bounds_memory),
    IN_FOLDER(text_ignores_the_locale),
    cmocka_unit_test(raw_checks_its_length),
    cmocka_unit_test(raw_needs_a_shape),
    cmocka_unit_test(types_have_names),
    cmocka_unit_test(formats_follow_endings),
    cmocka_unit_test(result_types_are_numpys),
    IN_FOLDER(bf16_and_integers_are_converted),
    cmocka_unit_test(every_half_is_read),
    cmocka_unit_test(conversion_rounds_once),
    cmocka_unit_test(conversion_follows_strides),
    cmocka_unit_test(reals_fit_or_not),
    cmocka_unit_test(every_half_fits_its_value),
    cmocka_unit_test(integers_fit_or_not),
    cmocka_unit_test(the_first_offender_is_named),
    IN_FOLDER(bad_paths_are_refused),
    cmocka_unit_test(names_are_tamed),
    IN_FOLDER(regular_files_are_mapped),
    IN_FOLDER(a_page_is_not_overread),
    cmocka_unit_test(pipes_are_streamed),
    IN_FOLDER(streams_are_bounded),
    IN_FOLDER(npy_bytes_are_numpys),
    IN_FOLDER(mtx_text_is_shortest),
    IN_FOLDER(what_is_written_is_read),
    IN_FOLDER(odd_shapes_are_written),
    IN_FOLDER(a_discarded_output_leaves_nothing),
    IN_FOLDER(bad_targets_are_refused),
    IN_FOLDER(bad_writes_are_refused),
    IN_FOLDER(a_full_disk_keeps_the_old_file),
    IN_FOLDER(a_failed_commit_leaves_nothing),
    IN_FOLDER(modes_and_links_are_kept),
    IN_FOLDER(long_and_bare_names_work),
};

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (size_t t = 0; t < COUNT(tests); t++) printf("%s\n", tests[t].name);
        return 0;
    }
    return cmocka_run_group_tests_name("io", tests, NULL, NULL);
}
