/* read_records.c - JSON lines into records, strictly: what a field may hold is checked before it is kept. jansson
 * parses; without it at build nothing can be read. */
#define _POSIX_C_SOURCE 200809L
#include "records.h"

#ifndef TILEWRIGHT_JANSSON

records_status records_read_stream(FILE *stream, const char *name, records *all, char *error, size_t error_bytes)
{
    (void)stream, (void)all;
    snprintf(error, error_bytes,
             "%s: cannot be read: this program was built without jansson, which reads JSON (Debian: libjansson-dev)",
             name);
    return RECORDS_NO_READER;
}

records_status records_read(const char *path, records *all, char *error, size_t error_bytes)
{
    return records_read_stream(NULL, path, all, error, error_bytes);
}

bool records_can_read(void) { return false; }

#else

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool records_can_read(void) { return true; }

/* Where a record is being read from, and what is wrong with it. */
typedef struct reader {
    const char *path;
    int64_t line;
    char *error;
    size_t error_bytes;
    bool bad;
} reader;

static void complain(reader *in, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void complain(reader *in, const char *format, ...)
{
    if (in->bad) return; /* the first complaint counts */
    va_list arguments;
    int used = snprintf(in->error, in->error_bytes, in->line > 0 ? "%s: line %" PRId64 ": " : "%s: ", in->path,
                        in->line);
    in->bad = true;
    if (used < 0 || (size_t)used >= in->error_bytes) return;
    va_start(arguments, format);
    vsnprintf(in->error + used, in->error_bytes - (size_t)used, format, arguments);
    va_end(arguments);
}

/* ---- fields: absent and null are unknown ---- */

static const char *what_is(const json_t *value)
{
    static const char *const names[] = {"an object", "an array", "a string", "a number",
                                        "a number",  "true",     "false",    "null"};
    return names[json_typeof(value)];
}

static const json_t *field(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}

static const char *read_text(reader *in, const json_t *object, const char *name)
{
    const json_t *value = field(object, name);
    if (value == NULL) return NULL;
    if (!json_is_string(value))
        return complain(in, "%s: found %s, expected a string or null", name, what_is(value)), NULL;
    if (json_string_length(value) > RECORDS_TEXT_BYTES)
        return complain(in, "%s: a string of %zu bytes, expected %d at most", name, json_string_length(value),
                        RECORDS_TEXT_BYTES),
               NULL;
    return json_string_value(value);
}

static char read_letter(reader *in, const json_t *object, const char *name)
{
    const char *text = read_text(in, object, name);
    if (text != NULL && (strlen(text) != 1 || strchr("ntcr", text[0]) == NULL))
        complain(in, "%s: found '%.20s', expected \"n\", \"t\", \"c\" or \"r\"", name, text);
    return text != NULL ? text[0] : '\0';
}

static int64_t read_count(reader *in, const json_t *object, const char *name, int64_t most)
{
    const json_t *value = field(object, name);
    if (value == NULL) return -1;
    if (!json_is_integer(value))
        return complain(in, "%s: found %s, expected a whole number or null", name,
                        json_is_real(value) ? "a fraction" : what_is(value)),
               -1;
    int64_t number = json_integer_value(value);
    if (number < 0 || number > most)
        complain(in, "%s: found %" PRId64 ", expected a whole number from 0 to %" PRId64, name, number, most);
    return number;
}

static int read_int(reader *in, const json_t *object, const char *name)
{
    int64_t number = read_count(in, object, name, INT32_MAX);
    return in->bad ? -1 : (int)number;
}

static int64_t read_int64(reader *in, const json_t *object, const char *name)
{
    return read_count(in, object, name, (int64_t)1 << 53);
}

static double read_number(reader *in, const json_t *object, const char *name)
{
    const json_t *value = field(object, name);
    if (value == NULL) return NAN;
    if (!json_is_number(value))
        return complain(in, "%s: found %s, expected a number or null", name, what_is(value)), NAN;
    double number = json_number_value(value);
    bool scalar = strncmp(name, "alpha", 5) == 0 || strncmp(name, "beta", 4) == 0; /* and their imaginary parts */
    bool tiny = !scalar && number != 0 && fabs(number) < 1e-30; /* a picture could not divide by it */
    if (!isfinite(number) || (!scalar && number < 0) || tiny || fabs(number) > 1e30)
        complain(in, "%s: found %g, expected %s", name, number,
                 scalar ? "a number between -1e30 and 1e30" : "0, or a number from 1e-30 to 1e30");
    return number;
}

/* ---- one record ---- */

static void need(reader *in, const char *name, bool there)
{
    if (!there) complain(in, "%s is missing or null: this is no record of a ladder, bench or counter", name);
}

static void check(reader *in, const record *r, bool counted)
{
    need(in, "engine", r->engine != NULL);
    need(in, "device", r->device != NULL);
    need(in, "rung or kernel", r->rung != NULL || r->kernel != NULL);
    need(in, "m", r->m >= 0);
    need(in, "n", r->n >= 0);
    need(in, "k", r->k >= 0);
    need(in, "method", r->method != NULL);
    if (counted) return;
    need(in, "dtype", r->dtype != NULL);
    bool wrong = r->verified != NULL && strcmp(r->verified, "WRONG") == 0;
    if (r->refused != NULL || wrong) return;
    need(in, "median_s", r->median_s > 0);
    need(in, "gflops", !isnan(r->gflops));
    need(in, "verified", r->verified != NULL);
}

static records_status keep(reader *in, const json_t *object, const char *line, records *all)
{
    record r = record_blank();
    counters c;
    bool counted = json_is_object(json_object_get(object, "counters"));
    if (json_object_get(object, "predicted") != NULL)
        return complain(in, "is a prediction: a report shows what was measured"), RECORDS_BAD;
#define TEXT(name)   r.name = read_text(in, object, #name);
#define LETTER(name) r.name = read_letter(in, object, #name);
#define COUNT(name)  r.name = _Generic(r.name, int : read_int, default : read_int64)(in, object, #name);
#define NUMBER(name) r.name = read_number(in, object, #name);
    RECORD_FIELDS_BEFORE_VERSION(TEXT, LETTER, COUNT, NUMBER)
    RECORD_FIELDS_AFTER_VERSION(TEXT, LETTER, COUNT, NUMBER)
    RECORD_FIELDS_OF_RUN(TEXT)
#undef NUMBER
#define NUMBER(name) c.name = read_number(in, object, #name);
    COUNTER_FIELDS(NUMBER)
#undef NUMBER
    /* a library that has no kernel for the product */
    if (r.kernel == NULL && r.library != NULL && r.refused != NULL) r.kernel = r.library;
    check(in, &r, counted);
    if (in->bad) return RECORDS_BAD;
    /* Once written as if each library were r01. */
    if (r.library != NULL) r.bytes_asked = r.no_cache_gflops = r.bound_asked_gflops = NAN;
    if (all->count >= RECORDS_MOST)
        return complain(in, "there are more than %d records: give fewer", RECORDS_MOST), RECORDS_BAD;
    return records_add(all, &r, counted ? &c : NULL, line) == TW_OK ? RECORDS_OK : RECORDS_NO_MEMORY;
}

/* jansson's errors in our words. */
static const char *what_is_wrong(const json_error_t *error)
{
    switch (json_error_code(error)) {
    case json_error_premature_end_of_input: return "the line ends inside the record";
    case json_error_end_of_input_expected: return "something follows the record";
    case json_error_duplicate_key: return "a duplicate field";
    case json_error_numeric_overflow: return "a number that is too large";
    case json_error_invalid_utf8: return "bytes that are not UTF-8";
    case json_error_stack_overflow: return "too many brackets inside each other";
    default: return "this is no JSON";
    }
}

static void complain_of_json(reader *in, const char *line, const json_error_t *error)
{
    char found[24];
    const char *from = line + strspn(line, " \t\r");
    if (*from == '{') {
        complain(in, "column %d: %s", error->column, what_is_wrong(error));
        return;
    }
    snprintf(found, sizeof found, "%s", from);
    for (char *c = found; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= 127) *c = '?';
    complain(in, "begins with '%s', expected a record: one JSON object on each line, as --json writes them", found);
}

static records_status read_line(reader *in, const char *line, size_t length, records *all)
{
    json_error_t error;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    if (object == NULL) return complain_of_json(in, line, &error), RECORDS_BAD;
    records_status status = RECORDS_BAD;
    if (json_is_object(object))
        status = keep(in, object, line, all);
    else
        complain(in, "found %s, expected one JSON object", what_is(object));
    json_decref(object);
    return status;
}

/* ---- the file ---- */

/* The next line into `line` without its end; -1 at the end of the file. Never more than the limit is kept. */
static int next_line(reader *in, FILE *file, int longest, char *line)
{
    int length = 0, c;
    while ((c = getc(file)) != EOF && c != '\n') {
        if (length == longest) return complain(in, "is longer than %d bytes: this is no record", longest), -1;
        line[length++] = (char)c;
    }
    line[length] = '\0';
    if (ferror(file)) complain(in, "cannot be read: %s", strerror(errno));
    return c == EOF && length == 0 ? -1 : length;
}

/* Past the line of a page behind which its records stand. Lines before it may be of any length. */
static bool find_element(reader *in, FILE *file)
{
    static const char element[] = RECORDS_ELEMENT;
    char line[sizeof element + 1]; /* and the return of a file that was on Windows */
    size_t length = 0;
    for (int64_t bytes = 0; bytes < RECORDS_PAGE_BYTES; bytes++) {
        int c = getc(file);
        if (c == EOF) break;
        if (c != '\n') {
            if (length < sizeof line) line[length] = (char)c;
            length++;
            continue;
        }
        in->line++;
        if (length > 0 && length <= sizeof line && line[length - 1] == '\r') length--;
        if (length == sizeof element - 1 && memcmp(line, element, length) == 0) return true;
        length = 0;
    }
    in->line = 0;
    if (ferror(file))
        complain(in, "cannot be read: %s", strerror(errno));
    else
        complain(in, "is a page without records in it: found no line %s", element);
    return false;
}

static bool ends_element(const char *line)
{
    static const char end[] = "</script>";
    return strncmp(line, end, sizeof end - 1) == 0 &&
           line[sizeof end - 1 + strspn(line + sizeof end - 1, "\r")] == '\0';
}

static records_status read_lines(reader *in, FILE *file, records *all)
{
    int first = getc(file);
    if (first != EOF) ungetc(first, file);
    bool page = first == '<', whole = !page; /* whole: nothing of it is missing */
    if (page && !find_element(in, file)) return RECORDS_BAD;

    const int longest = page ? RECORDS_ESCAPED * RECORDS_LINE_BYTES : RECORDS_LINE_BYTES;
    char *line = malloc((size_t)longest + 1);
    records_status status = line != NULL ? RECORDS_OK : RECORDS_NO_MEMORY;
    int before = all->count, length = 0, empty = 0;
    while (status == RECORDS_OK && (in->line++, length = next_line(in, file, longest, line)) >= 0 && !in->bad) {
        if (page && (whole = ends_element(line))) break;
        bool blank = strspn(line, " \t\r") == (size_t)length;
        empty = blank ? empty + 1 : 0;
        if (empty > RECORDS_MOST)
            complain(in, "more than %d empty lines in a row: this is no file of records", RECORDS_MOST);
        if (!blank) status = read_line(in, line, (size_t)length, all);
    }
    free(line);
    if (in->bad) return RECORDS_BAD;
    in->line = 0;
    if (status == RECORDS_OK && !whole)
        return complain(in, "is a page that was cut off: found no end of its records"), RECORDS_BAD;
    if (status == RECORDS_OK && all->count == before) return complain(in, "holds no record"), RECORDS_BAD;
    return status;
}

records_status records_read_stream(FILE *stream, const char *name, records *all, char *error, size_t error_bytes)
{
    reader in = {.path = name, .error = error, .error_bytes = error_bytes};
    records_status status = read_lines(&in, stream, all);
    if (status == RECORDS_NO_MEMORY) snprintf(error, error_bytes, "%s: memory ran out", name);
    return status;
}

records_status records_read(const char *path, records *all, char *error, size_t error_bytes)
{
    reader in = {.path = path, .error = error, .error_bytes = error_bytes};
    struct stat found;
    FILE *file = fopen(path, "r");
    if (file == NULL || fstat(fileno(file), &found) != 0)
        complain(&in, "cannot be opened: %s", strerror(errno));
    else if (S_ISDIR(found.st_mode))
        complain(&in, "is a directory, expected a file of JSON lines or a page");
    records_status status = in.bad || file == NULL ? RECORDS_BAD
                                                   : records_read_stream(file, path, all, error, error_bytes);
    if (file != NULL) fclose(file);
    return status;
}

#endif
