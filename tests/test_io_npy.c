/* test_io_npy.c - the reader of .npy files on hostile headers, short files, every type and every order. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/io_parse.h"

#define SHAPE(text) "{'descr': '<f4', 'fortran_order': False, 'shape': " text ", }"
#define DESCR(text) "{'descr': " text ", 'fortran_order': False, 'shape': (2, 3), }"

static void npy_refuses_headers(void)
{
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
        {DESCR("'|O'"), "the dtype is |O (Python objects), expected one of f8 f4 f2 c16", 24},
        {DESCR("'O'"), "(Python objects)", 24},
        {DESCR("[('x', '<f4'), ('y', '<f4')]"), "the dtype is [('x', '<f4')", 24},
        {DESCR("[('x', '<f4')]"), "(a structure)", 24},
        {DESCR("'<c32'"), "the dtype is <c32 (complex numbers), expected one of f8 f4 f2 c16 c8 i8", 24},
        {DESCR("'F'"), "the dtype is F (complex numbers)", 24},
        {DESCR("'<c16'"), "the header promises 2 x 3 elements of cf64 (96 bytes), the file has 24 bytes", 24},
        {DESCR("'|b1'"), "the dtype is |b1 (booleans)", 24},
        {DESCR("'?'"), "(booleans)", 24},
        {DESCR("'<U5'"), "the dtype is <U5 (strings)", 24},
        {DESCR("'|S4'"), "(strings)", 24},
        {DESCR("'|V2'"), "the dtype is |V2 (raw bytes; ml_dtypes' bfloat16 has this one: --dtype bf16 says so)", 24},
        {DESCR("'<V1'"), "the dtype is <V1 (raw bytes; ml_dtypes' e4m3 has this one: --dtype e4m3 says so)", 24},
        {DESCR("'|V3'"), "the dtype is |V3 (raw bytes), expected one of", 24},
        {DESCR("'<e1'"), "the dtype is <e1, expected", 24},
        {DESCR("'<M8[ns]'"), "the dtype is <M8[ns] (times)", 24},
        {DESCR("'<f16'"), "the dtype is <f16, expected", 24},
        {DESCR("'<f3'"), "the dtype is <f3, expected", 24},
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

static void npy_refuses_prefixes(void)
{
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
        {"\x93NUMPY\x01\x00\x76\x00{}", 12, "the file ends inside its .npy header, after 2 of 118 bytes"},
        {"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14, "header says it has 4294967295 bytes; at most 65535 are allowed"},
        {"\x93NUMPY\x03\x00\x00\x00\x00\x00", 12, "expected '{', found its end"},
    };
    for (size_t c = 0; c < COUNT(cases); c++)
        refuse(IO_FORMAT_NPY, cases[c].bytes, cases[c].count, IO_BAD_FILE, cases[c].part);
    size_t large = 70000;
    unsigned char *bytes = calloc(1, large + 12);
    memcpy(bytes, "\x93NUMPY\x02\x00\x00\x00\x01\x00", 12); /* 65536 */
    refuse(IO_FORMAT_NPY, bytes, large + 12, IO_BAD_FILE, "says it has 65536 bytes; at most 65535 are allowed");
    free(bytes);
}

/* Every file that ends too early is refused, and nothing past its end is read. */
static void npy_refuses_every_truncation(void)
{
    unsigned char bytes[256];
    for (int version = 1; version <= 3; version++) {
        size_t whole = make_npy(bytes, version, SHAPE("(2, 3)"), NULL, 24);
        for (size_t count = 0; count < whole; count++) refuse(IO_FORMAT_NPY, bytes, count, IO_BAD_FILE, "");
    }
}

static void npy_accepts_headers(void)
{
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

static void npy_reads_every_type(void)
{
    for (int t = 0; t < IO_TYPE_COUNT; t++) {
        const bool newer = t == IO_BF16 || t == IO_E4M3 || t == IO_E5M2; /* NumPy has no name for them */
        for (int variant = 0; variant < 4 && !newer && !io_type_is_complex((io_type)t); variant++) {
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

/* What ml_dtypes saves: raw bytes, of a type that the caller must say, and e5m2 as f1. */
static void npy_reads_what_numpy_has_no_name_for(void)
{
    static const struct {
        const char *descr;
        io_type said, found;
        unsigned char data[4];
        const char *refusal; /* NULL: 1 and -2 */
        bool result;
    } rows[] = {
        {"<V1", IO_E4M3, IO_E4M3, {0x38, 0xc0}, NULL},
        {"|V1", IO_E5M2, IO_E5M2, {0x3c, 0xc0}, NULL},
        {"<f1", IO_F64, IO_E5M2, {0x3c, 0xc0}, NULL},
        {"|f1", IO_E5M2, IO_E5M2, {0x3c, 0xc0}, NULL},
        {"f1", IO_E4M3, IO_E5M2, {0x3c, 0xc0}, NULL},
        {"<V2", IO_BF16, IO_BF16, {0x80, 0x3f, 0x00, 0xc0}, NULL},
        {">V2", IO_BF16, IO_BF16, {0x3f, 0x80, 0xc0, 0x00}, NULL},
        {"|u1", IO_E4M3, IO_U8, {1, 254}, NULL},
        {"|V1", IO_BF16, IO_BF16, {0}, "--dtype e4m3"},
        {"|V1", IO_U8, IO_U8, {0}, "--dtype e4m3"},
        {"|V1", IO_F64, IO_F64, {0}, "the dtype is |V1 (raw bytes"},
        {"|V2", IO_E4M3, IO_E4M3, {0}, "--dtype bf16"},
        {"|V2", IO_F16, IO_F16, {0}, "--dtype bf16"},
        {"|V2", IO_F32, IO_F32, {0}, "--dtype-c bf16 says so", true},
        {"|V1", IO_F32, IO_F32, {0}, "no C is of e4m3", true},
        {"<V2", IO_BF16, IO_BF16, {0x80, 0x3f, 0x00, 0xc0}, NULL, true},
        {"|V8", IO_F64, IO_F64, {0}, "the dtype is |V8 (raw bytes)"},
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        const io_raw_shape said = {rows[r].said, -1, -1, rows[r].result};
        unsigned char file[256];
        char header[128];
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1, 2), }", rows[r].descr);
        const size_t count = make_npy(file, 1, header, rows[r].data, 2 * io_type_bytes(rows[r].found));
        io_matrix m;
        io_error error;
        size_t need = 0;
        const io_status status = npy_parse(file, count, "FILE", &said, &m, &error);
        assert_int_equal(status, rows[r].refusal == NULL ? IO_OK : IO_BAD_FILE);
        if (rows[r].refusal != NULL) {
            check_sentence(&error, "FILE: ", rows[r].refusal);
            continue;
        }
        assert_int_equal(npy_need(file, count, "FILE", &said, &need, &error), IO_OK);
        assert_int_equal(need, count);
        double values[2];
        assert_int_equal(m.type, rows[r].found);
        io_convert(&m, IO_F64, values);
        assert_true(values[0] == 1 && values[1] == (m.type == IO_U8 ? 254 : -2));
        io_free(&m);
    }
}

/* Both types, either byte order of each part, either order of the elements. */
static void npy_reads_complex(void)
{
    static const double by_rows[] = {1, -2, 3, 4, 5, -6, 7, 8, -9, 10, 11, 12},
                        by_columns[] = {1, -2, 7, 8, 3, 4, -9, 10, 5, -6, 11, 12}; /* of 3 x 2 read by columns */
    for (int variant = 0; variant < 8; variant++) {
        const bool wide = variant & 1, big = variant & 2, fortran = variant & 4;
        const size_t bytes = wide ? 8 : 4;
        unsigned char data[96], file[256];
        char header[128];
        for (size_t e = 0; e < 12; e++) put_value(data + e * bytes, wide ? IO_F64 : IO_F32, big, (int)by_rows[e]);
        snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': %s, 'shape': %s}", big ? '>' : '<',
                 wide ? "c16" : "c8", fortran ? "True" : "False", fortran ? "(3, 2)" : "(2, 3)");
        size_t count = make_npy(file, 1, header, data, 12 * bytes);
        accept(IO_FORMAT_NPY, file, count, wide ? IO_CF64 : IO_CF32, fortran ? 3 : 2, fortran ? 2 : 3,
               fortran ? by_columns : by_rows);
    }
}

static void npy_views_and_copies(void)
{
    static const double data[2] = {1.5, -2.5};
    _Alignas(16) unsigned char bytes[272];
    for (size_t shift = 0; shift < 8; shift++) {
        size_t count = make_npy(bytes + shift, 1, "{'descr': '=f8', 'fortran_order': False, 'shape': (1, 2), }", data,
                                16);
        bool aligned = (uintptr_t)(bytes + shift + count - 16) % 8 == 0;
        io_matrix m;
        io_error error;
        assert_int_equal(npy_parse(bytes + shift, count, "FILE", NULL, &m, &error), IO_OK);
        assert_int_equal(m.memory == NULL, aligned);
        assert_int_equal((uintptr_t)m.data % 8, 0);
        double got[2];
        io_convert(&m, IO_F64, got);
        assert_memory_equal(got, data, 16);
        io_free(&m);
        if (aligned) continue;
        io_memory_cap = 15;
        assert_int_equal(npy_parse(bytes + shift, count, "FILE", NULL, &m, &error), IO_NO_MEMORY);
        check_sentence(&error, "FILE: ", "1 x 2 elements of f64 need 16 bytes of memory, this machine has 15");
        assert_true(is_zeroed(&m));
        io_memory_cap = 0;
    }
}

static void npy_accepts_no_elements(void)
{
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
            assert_int_equal(npy_parse(bytes, count, "FILE", NULL, &m, &error), IO_OK);
            assert_int_equal(m.rows * m.cols, 0);
            int64_t i, j;
            char text[64];
            io_convert(&m, IO_F32, NULL);
            assert_true(io_fits_exactly(&m, IO_I8, &i, &j, text, sizeof text));
            io_free(&m);
        }
    }
}

static const check_case cases[] = {
    CHECK_CASE(npy_refuses_headers),
    CHECK_CASE(npy_refuses_prefixes),
    CHECK_CASE(npy_refuses_every_truncation),
    CHECK_CASE(npy_accepts_headers),
    CHECK_CASE(npy_reads_every_type),
    CHECK_CASE(npy_views_and_copies),
    CHECK_CASE(npy_accepts_no_elements),
    CHECK_CASE(npy_reads_complex),
    CHECK_CASE(npy_reads_what_numpy_has_no_name_for),
};

CHECK_MAIN(cases)
