/* npy.c - NumPy's .npy, versions 1 to 3: a magic, a header written as a Python dictionary, the elements. */
#include "io_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC             "\x93NUMPY"
#define MAGIC_BYTES       6
#define MOST_HEADER_BYTES (NPY_HEADER_MOST - 12) /* a header for two dimensions has about 120 */

typedef struct header {
    io_type type;
    bool swapped, fortran_order;
    io_type nameless; /* of elements that are called raw bytes, as the caller says */
    bool result;      /* it is C or C0 */
    bool vector;      /* one dimension, or none, is enough */
    int dimensions;
    int64_t shape[2]; /* the first two */
    const char *shape_text;
    size_t shape_text_count;
} header;

/* The text of the header and the place that is read next. */
typedef struct scanner {
    const char *name;
    io_error *error;
    const char *begin, *at, *end;
} scanner;

typedef struct slice {
    const char *text;
    size_t count;
} slice;

static bool slice_is(slice s, const char *word)
{
    return s.count == strlen(word) && memcmp(s.text, word, s.count) == 0;
}

/* ---- the dictionary ------------------------------------------------------------------------------------ */

static io_status unexpected(const scanner *s, const char *expected)
{
    char found[32];
    io_quote(found, sizeof found, s->at, (size_t)(s->end - s->at));
    return io_fail(s->error, IO_BAD_FILE, s->name, "the .npy header, character %td: expected %s, found %s%s%s",
                   s->at - s->begin, expected, s->at == s->end ? "its end" : "'", found, s->at == s->end ? "" : "'");
}

static void skip_spaces(scanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r')) s->at++;
}

/* The next character that is no space, or '\0' at the end. */
static char peek(scanner *s)
{
    skip_spaces(s);
    return s->at < s->end ? *s->at : '\0';
}

static bool take(scanner *s, char wanted)
{
    if (peek(s) != wanted || s->at == s->end) return false;
    s->at++;
    return true;
}

/* A quoted string without escapes. */
static bool take_string(scanner *s, slice *out)
{
    char quote = peek(s);
    if (quote != '\'' && quote != '"') return false;
    const char *begin = s->at + 1, *stop = begin;
    while (stop < s->end && *stop != quote && *stop != '\\' && *stop != '\n') stop++;
    if (stop == s->end || *stop != quote) return false;
    *out = (slice){begin, (size_t)(stop - begin)};
    s->at = stop + 1;
    return true;
}

static bool take_word(scanner *s, const char *word)
{
    skip_spaces(s);
    size_t count = strlen(word);
    if ((size_t)(s->end - s->at) < count || memcmp(s->at, word, count) != 0) return false;
    s->at += count;
    return true;
}

/* A dimension: digits, and the L that Python 2 wrote after a long. */
static io_status take_dimension(scanner *s, int64_t *out)
{
    if (peek(s) == '-') return unexpected(s, "a dimension of 0 or more");
    const char *begin = s->at;
    int64_t value = 0;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
        int digit = *s->at - '0';
        if (value > (INT64_MAX - digit) / 10) {
            s->at = begin;
            return unexpected(s, "a dimension that fits in 64 bits");
        }
        value = value * 10 + digit;
    }
    if (s->at == begin) return unexpected(s, "a dimension");
    if (s->at < s->end && *s->at == 'L') s->at++;
    *out = value;
    return IO_OK;
}

static io_status read_shape(scanner *s, header *h)
{
    if (!take(s, '(')) return unexpected(s, "'(' and the shape");
    h->shape_text = s->at - 1;
    h->dimensions = 0;
    while (!take(s, ')')) {
        int64_t value = 0;
        io_status status = take_dimension(s, &value);
        if (status != IO_OK) return status;
        if (h->dimensions < 2) h->shape[h->dimensions] = value;
        h->dimensions++;
        if (!take(s, ',') && peek(s) != ')') return unexpected(s, "',' or ')'");
    }
    h->shape_text_count = (size_t)(s->at - h->shape_text);
    return IO_OK;
}

/* ---- the dtype ----------------------------------------------------------------------------------------- */

static io_status refuse_dtype(const scanner *s, slice dtype, const char *what)
{
    char text[64];
    io_quote(text, sizeof text, dtype.text, dtype.count);
    return io_fail(s->error, IO_BAD_FILE, s->name,
                   "the dtype is %s%s, expected one of f8 f4 f2 c16 c8 i8 i4 i2 i1 u8 u4 u2 u1 f1", text, what);
}

/* The meaning of a type letter of NumPy, in brackets; an unknown letter has none. */
static const char *dtype_kind(char letter)
{
    static const struct {
        const char *letters, *kind;
    } kinds[] = {{"O", " (Python objects)"}, {"b?", " (booleans)"}, {"cFDG", " (complex numbers)"},
                 {"SaU", " (strings)"},      {"V", " (raw bytes)"}, {"Mm", " (times)"}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (letter != '\0' && strchr(kinds[k].letters, letter) != NULL) return kinds[k].kind;
    }
    return "";
}

static bool is_code(slice code, char kind, size_t bytes)
{
    char known[8];
    snprintf(known, sizeof known, "%c%zu", kind, bytes);
    return slice_is(code, known);
}

/* The type of the code behind the order, "f4". ml_dtypes calls e5m2 f1; its other types have no code of their own. */
static bool type_of_code(slice code, io_type nameless, io_type *out)
{
    *out = nameless;
    if (io_type_is_newer(nameless))
        if (is_code(code, 'V', io_type_bytes(nameless))) return true;
    for (int t = 0; t < IO_TYPE_COUNT; t++) {
        const bool newer = io_type_is_newer((io_type)t);
        const char kind = t == IO_E5M2 ? 'f' : newer ? '\0' : io_type_name((io_type)t)[0];
        *out = (io_type)t;
        if (kind != '\0' && is_code(code, kind, io_type_bytes((io_type)t))) return true;
    }
    return false;
}

static const char *dtype_advice(slice code, bool result)
{
    if (slice_is(code, "V1"))
        return result ? " (raw bytes; ml_dtypes' e4m3 has this one, and no C is of e4m3)"
                      : " (raw bytes; ml_dtypes' e4m3 has this one: --dtype e4m3 says so)";
    if (slice_is(code, "V2"))
        return result ? " (raw bytes; ml_dtypes' bfloat16 has this one: --dtype-c bf16 says so)"
                      : " (raw bytes; ml_dtypes' bfloat16 has this one: --dtype bf16 says so)";
    return dtype_kind(code.count > 0 ? code.text[0] : '\0');
}

/* "<f4": an order, a kind and a count of bytes. */
static io_status read_dtype(scanner *s, header *h)
{
    slice text;
    if (peek(s) == '[') {
        const char *stop = memchr(s->at, ']', (size_t)(s->end - s->at));
        text = (slice){s->at, (size_t)((stop != NULL ? stop + 1 : s->end) - s->at)};
        return refuse_dtype(s, text, " (a structure)");
    }
    if (!take_string(s, &text)) return unexpected(s, "a dtype in quotes");
    slice code = text;
    char order = '=';
    if (code.count > 0 && strchr("<>=|", code.text[0]) != NULL && code.text[0] != '\0') {
        order = code.text[0];
        code = (slice){code.text + 1, code.count - 1};
    }
    if (!type_of_code(code, h->nameless, &h->type)) return refuse_dtype(s, text, dtype_advice(code, h->result));
    const bool wide = io_type_bytes(h->type) > 1;
    h->swapped = wide && (order == '<' || order == '>') && (order == '>') != io_host_is_big_endian();
    return IO_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

enum { DESCR, FORTRAN_ORDER, SHAPE, KEYS };
static const char *const keys[KEYS] = {"descr", "fortran_order", "shape"};

static io_status read_value(scanner *s, int key, header *h)
{
    if (key == DESCR) return read_dtype(s, h);
    if (key == SHAPE) return read_shape(s, h);
    h->fortran_order = take_word(s, "True");
    if (!h->fortran_order && !take_word(s, "False")) return unexpected(s, "True or False");
    return IO_OK;
}

/* 'key': value. seen is a set of keys. */
static io_status read_pair(scanner *s, header *h, unsigned *seen)
{
    slice word;
    if (!take_string(s, &word)) return unexpected(s, "a key in quotes or '}'");
    int key = 0;
    while (key < KEYS && !slice_is(word, keys[key])) key++;
    if (key == KEYS || (*seen & 1u << key) != 0) {
        s->at = word.text - 1;
        return unexpected(s, "the keys descr, fortran_order and shape, each once");
    }
    *seen |= 1u << key;
    if (!take(s, ':')) return unexpected(s, "':'");
    return read_value(s, key, h);
}

static io_status read_dictionary(scanner *s, header *h)
{
    unsigned seen = 0;
    if (!take(s, '{')) return unexpected(s, "'{'");
    while (!take(s, '}')) {
        io_status status = read_pair(s, h, &seen);
        if (status != IO_OK) return status;
        if (!take(s, ',') && peek(s) != '}') return unexpected(s, "',' or '}'");
    }
    for (int key = 0; key < KEYS; key++) {
        if ((seen & 1u << key) == 0)
            return io_fail(s->error, IO_BAD_FILE, s->name, "the .npy header has no '%s'", keys[key]);
    }
    skip_spaces(s);
    return s->at == s->end ? IO_OK : unexpected(s, "nothing after '}'");
}

static io_status check_dimensions(const scanner *s, header *h)
{
    while (h->vector && h->dimensions < 2) h->shape[h->dimensions++] = 1;
    if (h->dimensions == 2) return IO_OK;
    char text[64];
    io_quote(text, sizeof text, h->shape_text, h->shape_text_count);
    const char *advice = h->dimensions == 0   ? "reshape a number to (1, 1)"
                         : h->dimensions == 1 ? "reshape a vector of n elements to (n, 1) or (1, n)"
                                              : "save one matrix per file";
    return io_fail(s->error, IO_BAD_FILE, s->name, "the array's shape is %s, expected two dimensions: %s", text,
                   advice);
}

static io_status check_magic(const unsigned char *bytes, size_t count, const scanner *s)
{
    if (!npy_recognised(bytes, count)) {
        char found[40];
        io_quote(found, sizeof found, bytes, count < 8 ? count : 8);
        return io_fail(s->error, IO_BAD_FILE, s->name, "no .npy file: it begins with '%s', expected '\\x93NUMPY'%s",
                       found, io_other_kind(bytes, count));
    }
    if (count < 12)
        return io_fail(s->error, IO_BAD_FILE, s->name, "the file ends inside its .npy header, after %zu bytes", count);
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return io_fail(s->error, IO_BAD_FILE, s->name, "the .npy version is %d.%d, expected 1.0, 2.0 or 3.0", bytes[6],
                       bytes[7]);
    return IO_OK;
}

/* Where the dictionary lies: bytes 8 and 9 count it in version 1, bytes 8 to 11 in versions 2 and 3. */
static io_status find_header(const unsigned char *bytes, size_t count, scanner *s)
{
    size_t header_bytes = bytes[8] | (size_t)bytes[9] << 8, begin = 10;
    if (bytes[6] > 1) {
        header_bytes |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        begin = 12;
    }
    if (header_bytes > MOST_HEADER_BYTES)
        return io_fail(s->error, IO_BAD_FILE, s->name, "the .npy header says it has %zu bytes; at most %d are allowed",
                       header_bytes, MOST_HEADER_BYTES);
    if (header_bytes > count - begin)
        return io_fail(s->error, IO_BAD_FILE, s->name, "the file ends inside its .npy header, after %zu of %zu bytes",
                       count - begin, header_bytes);
    s->begin = s->at = (const char *)bytes + begin;
    s->end = s->begin + header_bytes;
    return IO_OK;
}

/* From the magic to the end of the header: s->end, and how many bytes of elements it promises. */
static io_status read_header(const void *bytes, size_t count, scanner *s, header *h, size_t *promised)
{
    io_status status = check_magic(bytes, count, s);
    if (status == IO_OK) status = find_header(bytes, count, s);
    if (status == IO_OK) status = read_dictionary(s, h);
    if (status == IO_OK) status = check_dimensions(s, h);
    return status == IO_OK ? io_size(s->name, h->type, h->shape[0], h->shape[1], promised, s->error) : status;
}

/* A header that is still to be read. */
static header blank(const io_raw_shape *raw)
{
    return (header){.nameless = raw != NULL ? raw->type : IO_F64,
                    .result = raw != NULL && raw->result,
                    .vector = raw != NULL && raw->vector};
}

io_status npy_need(const void *bytes, size_t count, const char *name, const io_raw_shape *raw, size_t *need,
                   io_error *error)
{
    const unsigned char *b = bytes;
    scanner s = {.name = name, .error = error};
    header h = blank(raw);
    *need = count;
    if (check_magic(bytes, count, &s) != IO_OK) return IO_BAD_FILE;
    size_t begin = b[6] > 1 ? 12 : 10, header_bytes = b[8] | (size_t)b[9] << 8;
    if (b[6] > 1) header_bytes |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (header_bytes <= MOST_HEADER_BYTES && count < begin + header_bytes) {
        *need = begin + header_bytes;
        return IO_OK;
    }
    size_t promised = 0;
    io_status status = read_header(bytes, count, &s, &h, &promised);
    if (status == IO_OK) status = io_fits(name, promised, error);
    if (status == IO_OK) *need = begin + header_bytes + promised;
    return status;
}

bool npy_recognised(const void *bytes, size_t count)
{
    return count >= MAGIC_BYTES && memcmp(bytes, MAGIC, MAGIC_BYTES) == 0;
}

/* Bytes after the elements are left alone, as NumPy does: np.save may append one array to another. */
io_status npy_describe(const void *bytes, size_t count, size_t whole, const char *name, const io_raw_shape *raw,
                       io_matrix *out, size_t *begin, io_error *error)
{
    *out = (io_matrix){0};
    error->text[0] = '\0';
    scanner s = {.name = name, .error = error};
    header h = blank(raw);
    size_t promised = 0;
    io_status status = read_header(bytes, count, &s, &h, &promised);
    if (status != IO_OK) return status;
    *begin = (size_t)(s.end - (const char *)bytes);
    size_t present = whole - *begin;
    if (promised > present)
        return io_fail(error, IO_BAD_FILE, name,
                       "the header promises %" PRId64 " x %" PRId64
                       " elements of %s (%zu bytes), the file has %zu bytes after its header",
                       h.shape[0], h.shape[1], io_type_name(h.type), promised, present);
    out->type = h.type;
    out->swapped = h.swapped;
    out->rows = h.shape[0];
    out->cols = h.shape[1];
    out->row_stride = h.fortran_order ? 1 : out->cols;
    out->col_stride = h.fortran_order ? out->rows : 1;
    return IO_OK;
}

io_status npy_parse(const void *bytes, size_t count, const char *name, const io_raw_shape *raw, io_matrix *out,
                    io_error *error)
{
    size_t begin = 0;
    io_status status = npy_describe(bytes, count, count, name, raw, out, &begin, error);
    return status == IO_OK ? io_place(name, (const char *)bytes + begin, out, error) : status;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Version 1. The header ends in spaces and a newline so that the elements begin at a multiple of 64. */
io_status npy_write_header(io_output *output, const io_matrix *matrix, io_error *error)
{
    char text[192];
    memset(text, ' ', sizeof text);
    int used = snprintf(text, sizeof text,
                        "%s%c%c..{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (%" PRId64 ", %" PRId64 "), }",
                        MAGIC, 1, 0, io_type_bytes(matrix->type) == 1 ? '|' : '<',
                        io_type_is_newer(matrix->type) ? 'V' : io_type_name(matrix->type)[0],
                        io_type_bytes(matrix->type), matrix->rows, matrix->cols);
    size_t total = ((size_t)used + 1 + 63) / 64 * 64, counted = total - MAGIC_BYTES - 4;
    text[used] = ' ';
    text[total - 1] = '\n';
    text[MAGIC_BYTES + 2] = (char)(counted & 255);
    text[MAGIC_BYTES + 3] = (char)(counted >> 8);
    return io_put(output, text, total, error);
}

io_status npy_write(io_output *output, const io_matrix *matrix, io_error *error)
{
    io_status status = npy_write_header(output, matrix, error);
    return status == IO_OK ? io_put_elements(output, matrix, false, error) : status;
}
