/* mtx.c - Matrix Market: a banner, comments, sizes, and one value or one entry per line. */
#include "io_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BANNER     "%%MatrixMarket"
#define MOST_TOKEN 1000 /* a double written out in full has some 770 digits */

/* what is longer and no comment is refused: a hole in a file of terabytes is not searched */
enum { MOST_LINE = 1 << 20 };

/* Of a stream: what stands before the sizes or between entries, and an entry, on average. */
enum { MOST_COMMENT = 1 << 20, ENTRY_BYTES = 128 };

typedef enum field { REAL, INTEGER, UNSIGNED, PATTERN, COMPLEX } field;
typedef enum symmetry { GENERAL, SYMMETRIC, SKEW, HERMITIAN } symmetry;

typedef struct header {
    bool coordinate;
    field field;
    symmetry symmetry;
    int64_t rows, cols, entries; /* entries: those that the file spells out */
} header;

/* One number of the result: which member counts follows from the field. A complex element has two, of REAL. */
typedef union cell {
    double real;
    int64_t integer;
    uint64_t natural;
} cell;

/* The rest of the file, and the unread part of the line that is being read. */
typedef struct reader {
    const char *name;
    io_error *error;
    const char *rest, *end;
    const char *at, *line_end;
    int64_t line;
    bool cut; /* more of the line follows */
} reader;

typedef struct token {
    const char *text;
    size_t count;
} token;

/* A word and what it stands for. */
typedef struct word {
    const char *text;
    int meaning;
} word;

/* ---- lines and tokens ---------------------------------------------------------------------------------- */

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* A line of more than MOST_LINE characters comes in pieces. */
static void next_raw_line(reader *r)
{
    size_t left = (size_t)(r->end - r->rest), room = left < MOST_LINE ? left : MOST_LINE;
    const char *newline = memchr(r->rest, '\n', room);
    r->at = r->rest;
    r->line_end = newline != NULL ? newline : r->rest + room;
    r->rest = newline != NULL ? newline + 1 : r->line_end;
    r->line += !r->cut;
    r->cut = newline == NULL && room < left;
}

static bool more_in_line(reader *r)
{
    while (r->at < r->line_end && is_space(*r->at)) r->at++;
    return r->at < r->line_end;
}

/* The next line that is neither blank nor a comment; false at the end of the file. One that comes in pieces is none:
 * its first piece has no characters, which whoever reads it refuses. */
static bool next_line(reader *r)
{
    bool comment = false;
    while (r->rest < r->end) {
        bool goes_on = r->cut && comment;
        next_raw_line(r);
        comment = goes_on || (more_in_line(r) && *r->at == '%');
        if (comment || !more_in_line(r)) continue;
        if (r->cut) r->line_end = r->at;
        return true;
    }
    return false;
}

/* The next token of the line; no characters at its end. */
static token next_token(reader *r)
{
    const char *begin = more_in_line(r) ? r->at : r->line_end;
    while (r->at < r->line_end && !is_space(*r->at)) r->at++;
    return (token){begin, (size_t)(r->at - begin)};
}

static bool token_is(token t, const char *text)
{
    return t.count == strlen(text) && strncasecmp(t.text, text, t.count) == 0;
}

static io_status unexpected(const reader *r, token found, const char *expected)
{
    char text[48];
    io_quote(text, sizeof text, found.text, found.count);
    if (found.count == 0)
        return io_fail(r->error, IO_BAD_FILE, r->name, "line %" PRId64 ": expected %s, found the end of the line",
                       r->line, expected);
    return io_fail(r->error, IO_BAD_FILE, r->name, "line %" PRId64 ": expected %s, found '%s'", r->line, expected,
                   text);
}

static io_status line_ends(reader *r)
{
    if (!more_in_line(r)) return IO_OK;
    return unexpected(r, next_token(r), "the end of the line");
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static size_t digits_at(token t, size_t from)
{
    size_t at = from;
    while (at < t.count && t.text[at] >= '0' && t.text[at] <= '9') at++;
    return at - from;
}

/* [+-] digits, within 64 bits of magnitude. */
static bool parse_integer(token t, bool *negative, uint64_t *magnitude)
{
    size_t at = t.count > 0 && (t.text[0] == '-' || t.text[0] == '+');
    if (at == t.count || digits_at(t, at) != t.count - at) return false;
    *negative = t.text[0] == '-';
    *magnitude = 0;
    for (; at < t.count; at++) {
        uint64_t digit = (uint64_t)(t.text[at] - '0');
        if (*magnitude > (UINT64_MAX - digit) / 10) return false;
        *magnitude = *magnitude * 10 + digit;
    }
    return true;
}

static bool to_signed(bool negative, uint64_t magnitude, int64_t *out)
{
    if (magnitude > (uint64_t)INT64_MAX + negative) return false;
    *out = !negative ? (int64_t)magnitude : magnitude == 0 ? 0 : -(int64_t)(magnitude - 1) - 1;
    return true;
}

static io_status take_int64(reader *r, const char *expected, int64_t *out)
{
    token t = next_token(r);
    bool negative;
    uint64_t magnitude;
    if (!parse_integer(t, &negative, &magnitude) || !to_signed(negative, magnitude, out))
        return unexpected(r, t, expected);
    return IO_OK;
}

/* Only these tokens go to strtod: decimal digits with a point and an exponent, or the words for infinity and NaN.
 * strtod alone would take hexadecimal and nan(...) too. */
static bool is_real(token t)
{
    if (t.count > 0 && (t.text[0] == '-' || t.text[0] == '+')) t = (token){t.text + 1, t.count - 1};
    if (token_is(t, "nan") || token_is(t, "inf") || token_is(t, "infinity")) return true;
    size_t whole = digits_at(t, 0), at = whole, fraction = 0;
    if (at < t.count && t.text[at] == '.') {
        fraction = digits_at(t, at + 1);
        at += 1 + fraction;
    }
    if (whole + fraction == 0) return false;
    if (at < t.count && (t.text[at] == 'e' || t.text[at] == 'E')) {
        at++;
        if (at < t.count && (t.text[at] == '-' || t.text[at] == '+')) at++;
        size_t exponent = digits_at(t, at);
        if (exponent == 0) return false;
        at += exponent;
    }
    return at == t.count;
}

static bool parse_real(token t, double *out)
{
    char text[MOST_TOKEN + 1];
    if (t.count > MOST_TOKEN || !is_real(t)) return false;
    memcpy(text, t.text, t.count);
    text[t.count] = '\0';
    *out = strtod(text, NULL); /* correctly rounded; beyond the range an infinity, as in Python */
    return true;
}

static const char *const value_names[] = {
    [REAL] = "a real number", [INTEGER] = "an integer in i64", [UNSIGNED] = "an integer in u64"};

static io_status take_number(reader *r, field f, cell *out)
{
    if (f == INTEGER) return take_int64(r, value_names[f], &out->integer);
    out->real = 1; /* what a pattern stands for */
    if (f == PATTERN) return IO_OK;
    token t = next_token(r);
    bool negative, good = f == REAL ? parse_real(t, &out->real) : parse_integer(t, &negative, &out->natural);
    if (good && f == UNSIGNED) good = !negative || out->natural == 0;
    return good ? IO_OK : unexpected(r, t, value_names[f]);
}

static io_status take_value(reader *r, field f, cell out[2])
{
    io_status status = take_number(r, f == COMPLEX ? REAL : f, &out[0]);
    return status == IO_OK && f == COMPLEX ? take_number(r, REAL, &out[1]) : status;
}

/* Entries of one place are summed; a first one is kept as it is, even -0. False where a sum overflows. */
static bool add(cell *to, cell value, field f)
{
    if (to->natural == 0) {
        *to = value;
    } else if (f == INTEGER) {
        int64_t a = to->integer, b = value.integer;
        if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
        to->integer = a + b;
    } else if (f == UNSIGNED) {
        if (to->natural > UINT64_MAX - value.natural) return false;
        to->natural += value.natural;
    } else {
        to->real += value.real;
    }
    return true;
}

static bool negate(cell *value, field f)
{
    if (f == UNSIGNED) return value->natural == 0;
    if (f == INTEGER && value->integer == INT64_MIN) return false;
    if (f == INTEGER)
        value->integer = -value->integer;
    else
        value->real = -value->real;
    return true;
}

/* ---- the first lines ----------------------------------------------------------------------------------- */

bool mtx_recognised(const void *bytes, size_t count)
{
    return count >= strlen(BANNER) && strncasecmp(bytes, BANNER, strlen(BANNER)) == 0;
}

/* One word of the banner, out of a list that ends in NULL. */
static io_status take_word(reader *r, const word *words, const char *expected, int *meaning)
{
    token t = next_token(r);
    for (; words->text != NULL; words++) {
        if (token_is(t, words->text)) {
            *meaning = words->meaning;
            return IO_OK;
        }
    }
    return unexpected(r, t, expected);
}

static io_status read_banner(reader *r, header *h)
{
    static const word banners[] = {{BANNER, 0}, {NULL, 0}};
    static const word objects[] = {{"matrix", 0}, {NULL, 0}};
    static const word formats[] = {{"array", 0}, {"coordinate", 1}, {NULL, 0}};
    static const word fields[] = {{"real", REAL},
                                  {"double", REAL},
                                  {"complex", COMPLEX},
                                  {"integer", INTEGER},
                                  {"pattern", PATTERN},
                                  {"unsigned-integer", UNSIGNED},
                                  {NULL, 0}};
    static const word symmetries[] = {
        {"general", GENERAL}, {"symmetric", SYMMETRIC}, {"skew-symmetric", SKEW}, {"hermitian", HERMITIAN}, {NULL, 0}};
    int banner, object, format = 0, f = 0, s = 0;
    next_raw_line(r);
    io_status status = take_word(r, banners, "the banner '" BANNER "'", &banner);
    if (status == IO_OK) status = take_word(r, objects, "the object 'matrix'", &object);
    if (status == IO_OK) status = take_word(r, formats, "the format array or coordinate", &format);
    if (status == IO_OK)
        status = take_word(r, fields, "the field real, double, complex, integer, unsigned-integer or pattern", &f);
    if (status == IO_OK)
        status = take_word(r, symmetries, "the symmetry general, symmetric, skew-symmetric or hermitian", &s);
    if (status == IO_OK) status = line_ends(r);
    if (status == IO_OK && f == PATTERN && format == 0)
        return io_fail(r->error, IO_BAD_FILE, r->name, "line 1: an array of the field pattern holds no values");
    if (status == IO_OK && s == HERMITIAN && f != COMPLEX)
        return io_fail(r->error, IO_BAD_FILE, r->name,
                       "line 1: a hermitian matrix whose field is not complex, expected symmetric");
    h->coordinate = format == 1;
    h->field = (field)f;
    h->symmetry = (symmetry)s;
    return status;
}

static io_type type_of(field f)
{
    return f == INTEGER ? IO_I64 : f == UNSIGNED ? IO_U64 : f == COMPLEX ? IO_CF64 : IO_F64;
}

/* The entries of an array: all, or those from the diagonal (skew: below the diagonal) down. */
static int64_t array_entries(const header *h)
{
    if (h->symmetry == GENERAL) return h->rows * h->cols;
    int64_t n = h->rows, triangle = n % 2 == 0 ? n / 2 * (n + 1) : (n + 1) / 2 * n;
    return h->symmetry == SKEW ? triangle - n : triangle;
}

/* Can so many entries stand in the bytes that are left? The shortest: "1", "1 1", "1 1 1", "1 1 1 1", and a newline
 * each. */
static io_status check_entries(const reader *r, const header *h)
{
    int64_t entry_bytes = (!h->coordinate ? 2 : h->field == PATTERN ? 4 : 6) + (h->field == COMPLEX ? 2 : 0);
    size_t present = (size_t)(r->end - r->rest);
    if (h->entries <= (int64_t)((present + 1) / (size_t)entry_bytes)) return IO_OK;
    return io_fail(r->error, IO_BAD_FILE, r->name,
                   "line %" PRId64 ": the sizes promise %" PRId64 " entries, the file has %zu bytes after them",
                   r->line, h->entries, present);
}

static io_status read_sizes(reader *r, header *h)
{
    if (!next_line(r)) return io_fail(r->error, IO_BAD_FILE, r->name, "the file ends before the line with the sizes");
    io_status status = take_int64(r, "a number of rows", &h->rows);
    if (status == IO_OK) status = take_int64(r, "a number of columns", &h->cols);
    if (status == IO_OK && h->coordinate) status = take_int64(r, "a number of entries", &h->entries);
    if (status == IO_OK) status = line_ends(r);
    size_t bytes;
    if (status == IO_OK) status = io_size(r->name, type_of(h->field), h->rows, h->cols, &bytes, r->error);
    if (status != IO_OK) return status;
    if (h->symmetry != GENERAL && h->rows != h->cols)
        return io_fail(r->error, IO_BAD_FILE, r->name,
                       "line %" PRId64 ": %" PRId64 " x %" PRId64 " is not square, a symmetric matrix must be one",
                       r->line, h->rows, h->cols);
    if (!h->coordinate) h->entries = array_entries(h);
    if (h->entries < 0)
        return io_fail(r->error, IO_BAD_FILE, r->name, "line %" PRId64 ": expected 0 or more entries, found %" PRId64,
                       r->line, h->entries);
    return IO_OK;
}

/* ---- the entries --------------------------------------------------------------------------------------- */

/* Add the value at (i, j), counted from 0, and its mirror image. The result is column-major. */
static io_status put(const reader *r, const header *h, cell *cells, int64_t i, int64_t j, cell value[2])
{
    const field f = h->field == COMPLEX ? REAL : h->field;
    const int parts = h->field == COMPLEX ? 2 : 1;
    bool good = true;
    for (int part = 0; good && part < parts; part++) {
        const bool turns = h->symmetry == SKEW || (h->symmetry == HERMITIAN && part == 1);
        good = add(&cells[(j * h->rows + i) * parts + part], value[part], f);
        if (good && h->symmetry != GENERAL && i != j)
            good = (!turns || negate(&value[part], f)) && add(&cells[(i * h->rows + j) * parts + part], value[part], f);
    }
    if (good && h->symmetry == HERMITIAN && i == j && value[1].real != 0)
        return io_fail(r->error, IO_BAD_FILE, r->name,
                       "line %" PRId64 ": an imaginary part on the diagonal of a hermitian matrix, expected 0",
                       r->line);
    if (good) return IO_OK;
    return io_fail(r->error, IO_BAD_FILE, r->name,
                   "line %" PRId64 ": the value at row %" PRId64 ", column %" PRId64 " does not fit in %s", r->line,
                   i + 1, j + 1, io_type_name(type_of(h->field)));
}

static io_status missing(const reader *r, const header *h, int64_t present)
{
    return io_fail(r->error, IO_BAD_FILE, r->name, "the sizes promise %" PRId64 " entries, the file has %" PRId64,
                   h->entries, present);
}

static io_status read_array(reader *r, const header *h, cell *cells)
{
    int64_t present = 0;
    for (int64_t j = 0; h->entries > 0 && j < h->cols; j++) {
        int64_t first = h->symmetry == GENERAL ? 0 : h->symmetry == SKEW ? j + 1 : j;
        for (int64_t i = first; i < h->rows; i++, present++) {
            cell value[2];
            if (!next_line(r)) return missing(r, h, present);
            io_status status = take_value(r, h->field, value);
            if (status == IO_OK) status = line_ends(r);
            if (status == IO_OK) status = put(r, h, cells, i, j, value);
            if (status != IO_OK) return status;
        }
    }
    return IO_OK;
}

static io_status take_index(reader *r, const char *what, int64_t most, int64_t *out)
{
    io_status status = take_int64(r, what, out);
    if (status != IO_OK || (*out >= 1 && *out <= most)) return status;
    return io_fail(r->error, IO_BAD_FILE, r->name,
                   "line %" PRId64 ": expected %s from 1 to %" PRId64 ", found %" PRId64, r->line, what, most, *out);
}

static io_status read_entry(reader *r, const header *h, cell *cells)
{
    int64_t i, j;
    cell value[2];
    io_status status = take_index(r, "a row", h->rows, &i);
    if (status == IO_OK) status = take_index(r, "a column", h->cols, &j);
    if (status == IO_OK) status = take_value(r, h->field, value);
    if (status == IO_OK) status = line_ends(r);
    if (status != IO_OK) return status;
    if (h->symmetry == SKEW && i == j)
        return io_fail(r->error, IO_BAD_FILE, r->name,
                       "line %" PRId64 ": an entry on the diagonal of a skew-symmetric matrix, expected none", r->line);
    return put(r, h, cells, i - 1, j - 1, value);
}

static io_status read_coordinates(reader *r, const header *h, cell *cells)
{
    for (int64_t present = 0; present < h->entries; present++) {
        if (!next_line(r)) return missing(r, h, present);
        io_status status = read_entry(r, h, cells);
        if (status != IO_OK) return status;
    }
    return IO_OK;
}

static io_status read_matrix(reader *r, io_matrix *out)
{
    header h = {0};
    io_status status = read_banner(r, &h);
    if (status == IO_OK) status = read_sizes(r, &h);
    if (status == IO_OK) status = check_entries(r, &h);
    if (status != IO_OK) return status;
    *out = (io_matrix){.type = type_of(h.field), .rows = h.rows, .cols = h.cols, .row_stride = 1, .col_stride = h.rows};
    status = io_allocate(r->name, out, r->error);
    if (status != IO_OK) return status;
    status = h.coordinate ? read_coordinates(r, &h, out->memory) : read_array(r, &h, out->memory);
    if (status == IO_OK && next_line(r))
        status = unexpected(r, next_token(r), "the end of the file, after all entries");
    return status;
}

/* Is the line of the sizes there, whole? */
static bool has_sizes(const void *bytes, size_t count)
{
    reader r = {.rest = bytes, .end = (const char *)bytes + count};
    next_raw_line(&r);
    return next_line(&r) && r.line_end < r.end;
}

io_status mtx_need(const void *bytes, size_t count, const char *name, size_t *need, io_error *error)
{
    reader r = {.name = name, .error = error, .rest = bytes, .end = (const char *)bytes + count};
    header h = {0};
    *need = count;
    if (!mtx_recognised(bytes, count)) return IO_OK;
    if (!has_sizes(bytes, count)) {
        *need = 2 * count;
        if (count < MOST_COMMENT) return IO_OK;
        return io_fail(error, IO_BAD_FILE, name, "there is no line with the sizes in its first %zu bytes", count);
    }
    io_status status = read_banner(&r, &h);
    if (status == IO_OK) status = read_sizes(&r, &h);
    if (status != IO_OK) return status;
    uint64_t most = io_memory_limit(), room = most > MOST_COMMENT + count ? most - MOST_COMMENT - count : 0;
    if ((uint64_t)h.entries < room / ENTRY_BYTES)
        most = MOST_COMMENT + (uint64_t)(r.rest - (const char *)bytes) + (uint64_t)h.entries * ENTRY_BYTES;
    *need = (size_t)most;
    if (count < most) return IO_OK;
    return io_fail(error, IO_BAD_FILE, name,
                   "%zu bytes were read and more follow, expected %" PRId64
                   " entries of some %d bytes at most: put them into a file",
                   count, h.entries, ENTRY_BYTES);
}

io_status mtx_parse(const void *bytes, size_t count, const char *name, io_matrix *out, io_error *error)
{
    *out = (io_matrix){0};
    error->text[0] = '\0';
    if (!mtx_recognised(bytes, count)) {
        char found[48];
        io_quote(found, sizeof found, bytes, count);
        return io_fail(error, IO_BAD_FILE, name, "no Matrix Market file: it begins with '%s', expected '%s'", found,
                       BANNER);
    }
    io_locale locale;
    if (!io_locale_enter(&locale)) return io_fail(error, IO_NO_MEMORY, name, "no memory for the C locale");
    reader r = {.name = name, .error = error, .rest = bytes, .end = (const char *)bytes + count};
    io_status status = read_matrix(&r, out);
    io_locale_leave(&locale);
    if (status != IO_OK) io_free(out);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Column by column, as the format wants it, in blocks of text. */
static io_status write_values(io_output *output, const io_matrix *matrix, io_error *error)
{
    enum { MOST_VALUE = 64 }; /* of a complex element two */
    char text[1 << 15];
    size_t used = 0;
    for (int64_t j = 0; matrix->rows > 0 && j < matrix->cols; j++) {
        for (int64_t i = 0; i < matrix->rows; i++) {
            io_number_text(matrix, i, j, text + used, MOST_VALUE);
            used += strlen(text + used);
            text[used++] = '\n';
            if (used + MOST_VALUE + 1 <= sizeof text) continue;
            io_status status = io_put(output, text, used, error);
            if (status != IO_OK) return status;
            used = 0;
        }
    }
    return io_put(output, text, used, error);
}

io_status mtx_write(io_output *output, const io_matrix *matrix, io_error *error)
{
    char head[128];
    int used = snprintf(head, sizeof head, "%s matrix array %s general\n%" PRId64 " %" PRId64 "\n", BANNER,
                        matrix->type == IO_U64             ? "unsigned-integer"
                        : io_type_is_integer(matrix->type) ? "integer"
                        : io_type_is_complex(matrix->type) ? "complex"
                                                           : "real",
                        matrix->rows, matrix->cols);
    io_status status = io_put(output, head, (size_t)used, error);
    io_locale locale;
    if (status != IO_OK) return status;
    if (!io_locale_enter(&locale)) return io_fail(error, IO_NO_MEMORY, output->path, "no memory for the C locale");
    status = write_values(output, matrix, error);
    io_locale_leave(&locale);
    return status;
}
