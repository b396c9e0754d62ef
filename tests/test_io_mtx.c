/* test_io_mtx.c - the reader of Matrix Market files on hostile text, short files and long lines, in any locale. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/io_parse.h"

static void mtx_accepts(void)
{
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
        {MTX("array complex general\n1 2\n1 -2\n.5 1e3\n"), IO_CF64, 1, 2, {1, -2, 0.5, 1000}},
        {MTX("array complex symmetric\n2 2\n1 2\n3 4\n5 6\n"), IO_CF64, 2, 2, {1, 2, 3, 4, 3, 4, 5, 6}},
        {MTX("array complex hermitian\n2 2\n1 0\n3 4\n5 0\n"), IO_CF64, 2, 2, {1, 0, 3, -4, 3, 4, 5, 0}},
        {MTX("array complex skew-symmetric\n2 2\n3 4\n"), IO_CF64, 2, 2, {0, 0, -3, -4, 3, 4, 0, 0}},
        {MTX("coordinate complex general\n1 2 3\n1 2 1 2\n1 1 nan inf\n1 2 3 -5\n"),
         IO_CF64,
         1,
         2,
         {(double)NAN, (double)INFINITY, 4, -3}},
        {MTX("coordinate complex hermitian\n2 2 2\n1 2 3 4\n2 2 7 0\n"), IO_CF64, 2, 2, {0, 0, 3, 4, 3, -4, 7, 0}},
        {ARRAY("0 0\n"), IO_F64, 0, 0, {0}},
        {ARRAY("0 9223372036854775807\n"), IO_F64, 0, INT64_MAX, {0}},
        {ARRAY("9223372036854775807 0"), IO_F64, INT64_MAX, 0, {0}},
        {COO("0 4611686018427387904 0\n"), IO_F64, 0, INT64_C(1) << 62, {0}},
    };
    for (size_t c = 0; c < COUNT(cases); c++)
        accept(IO_FORMAT_MTX, cases[c].text, strlen(cases[c].text), cases[c].type, cases[c].rows, cases[c].cols,
               cases[c].values);
}

static void mtx_refuses(void)
{
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
        {MTX("array quaternion general\n1 1\n1 0\n"),
         "line 1: expected the field real, double, complex, integer, unsigned-integer or pattern, found 'quaternion'"},
        {MTX("array real hermitian\n1 1\n1\n"), "line 1: a hermitian matrix whose field is not complex"},
        {MTX("array complex adjoint\n1 1\n1 1\n"),
         "line 1: expected the symmetry general, symmetric, skew-symmetric or hermitian, found 'adjoint'"},
        {MTX("array complex hermitian\n1 1\n1 2\n"),
         "line 3: an imaginary part on the diagonal of a hermitian matrix, expected 0"},
        {MTX("coordinate complex hermitian\n2 2 1\n2 2 1 -1e-300\n"), "line 3: an imaginary part on the diagonal"},
        {MTX("array complex general\n1 1\n1\n"),
         "line 2: the sizes promise 1 entries, the file has 2 bytes after them"},
        {MTX("array complex general\n1 1\n1   \n"), "line 3: expected a real number, found the end of the line"},
        {MTX("array complex general\n1 1\n1 2 3\n"), "line 3: expected the end of the line, found '3'"},
        {MTX("array complex general\n1 1\n1 2i\n"), "line 3: expected a real number, found '2i'"},
        {MTX("coordinate complex skew-symmetric\n1 1 1\n1 1 0 1\n"), "an entry on the diagonal of a skew-symmetric"},
        {MTX("array complex general\n-1 1\n1 1\n"), "-1 x 1 elements of cf64 are beyond"},
        {MTX("array real\n1 1\n1\n"),
         "expected the symmetry general, symmetric, skew-symmetric or hermitian, found the end"},
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
static void mtx_survives_every_truncation(void)
{
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

static void mtx_bounds_tokens(void)
{
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
static void mtx_bounds_lines(void)
{
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

static void mtx_bounds_memory(void)
{
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
static void text_ignores_the_locale(void)
{
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
        check_skip("localedef cannot make a locale with a decimal comma here");
    }
    assert_string_equal(in_program, "1,5");
}

static const check_case cases[] = {
    CHECK_CASE(mtx_accepts),
    CHECK_CASE(mtx_refuses),
    CHECK_CASE(mtx_survives_every_truncation),
    CHECK_CASE(mtx_bounds_tokens),
    CHECK_CASE(mtx_bounds_lines),
    CHECK_CASE(mtx_bounds_memory),
    FOLDER_CASE(text_ignores_the_locale),
};

CHECK_MAIN(cases)
