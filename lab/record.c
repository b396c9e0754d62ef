/* record.c - the fields of a record as one table, in the order in which they are written. */
#include "record.h"
#include "roofline.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* TEXT: string, NULL unknown. LETTER: char, 0 unknown. COUNT: integer, -1 unknown. NUMBER: double, NAN unknown. */
#define FIELDS_BEFORE_VERSION(TEXT, LETTER, COUNT, NUMBER)                                                             \
    TEXT(engine) TEXT(device) TEXT(kernel) TEXT(rung) TEXT(dtype) COUNT(m) COUNT(n) COUNT(k) LETTER(op_a) LETTER(op_b) \
    TEXT(method) NUMBER(min_s) NUMBER(median_s) NUMBER(p95_s) NUMBER(gflops) TEXT(verified) NUMBER(error_ratio)        \
    NUMBER(bytes_asked) NUMBER(compulsory_bytes) NUMBER(peak_gflops) NUMBER(bandwidth_gbps) NUMBER(no_cache_gflops)    \
    NUMBER(bound_gflops) NUMBER(fraction_of_bound)
#define FIELDS_AFTER_VERSION(TEXT, LETTER, COUNT, NUMBER)                                                              \
    NUMBER(bound_asked_gflops) NUMBER(bytes_tile) TEXT(build) COUNT(lda) COUNT(ldb) COUNT(ldc) NUMBER(alpha) NUMBER(beta) COUNT(threads)              \
    COUNT(samples) COUNT(repeats) COUNT(sets) COUNT(tile) COUNT(block_threads) COUNT(tile_m) COUNT(tile_n)             \
    COUNT(tile_k) COUNT(registers) COUNT(local_bytes) COUNT(spill_bytes) NUMBER(occupancy) NUMBER(barriers_per_tile)   \
    NUMBER(effective_gbps) NUMBER(sectors_per_load) NUMBER(bank_degree_load) NUMBER(bank_degree_store)                 \
    NUMBER(prepare_s) TEXT(plan) TEXT(refused)

record record_blank(void)
{
    record r;
    memset(&r, 0, sizeof r);
#define TEXT(name) r.name = NULL;
#define LETTER(name) r.name = 0;
#define COUNT(name) r.name = -1;
#define NUMBER(name) r.name = (double)NAN;
    FIELDS_BEFORE_VERSION(TEXT, LETTER, COUNT, NUMBER)
    FIELDS_AFTER_VERSION(TEXT, LETTER, COUNT, NUMBER)
#undef TEXT
#undef LETTER
#undef COUNT
#undef NUMBER
    return r;
}

void record_fill_bounds(record *r, const tw_problem *p, int64_t block_m, int64_t block_n, double peak_flops,
                        double bytes_per_s)
{
    r->gflops = r->median_s > 0 ? roofline_flops(p) / r->median_s * 1e-9 : (double)NAN;
    r->bytes_asked = roofline_bytes_asked(p, block_m, block_n);
    r->compulsory_bytes = roofline_compulsory_bytes(p);
    r->peak_gflops = peak_flops * 1e-9;
    r->bandwidth_gbps = bytes_per_s * 1e-9;
    r->no_cache_gflops = roofline_no_cache_flops(p, r->bytes_asked, bytes_per_s) * 1e-9;
    r->bound_gflops = roofline_bound_flops(p, peak_flops, bytes_per_s) * 1e-9;
    r->bound_asked_gflops = isnan(r->peak_gflops) || isnan(r->no_cache_gflops) ? (double)NAN
                                                                               : fmin(r->peak_gflops, r->no_cache_gflops);
    r->fraction_of_bound = r->bound_gflops > 0 ? r->gflops / r->bound_gflops : (double)NAN;
}

/* ---- JSON ---- */

/* Bytes of the well-formed UTF-8 sequence at s (Unicode, table 3-7); 0: there is none. */
static int sequence_bytes(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    int bytes = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80; /* no second form of a shorter one, */
    unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf; /* no surrogate, nothing above U+10FFFF */
    if (s[1] < low || s[1] > high) return 0;
    for (int i = 2; i < bytes; i++)
        if (s[i] < 0x80 || s[i] > 0xbf) return 0;
    return bytes;
}

void json_string(FILE *stream, const char *text)
{
    if (text == NULL) {
        fputs("null", stream);
        return;
    }
    static const char specials[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    putc('"', stream);
    for (const unsigned char *s = (const unsigned char *)text; *s != 0;) {
        int bytes = sequence_bytes(s);
        const char *special = strchr(specials, *s);
        if (bytes == 0) fputs("\xef\xbf\xbd", stream), bytes = 1;
        else if (special != NULL) putc('\\', stream), putc(letters[special - specials], stream);
        else if (*s < 0x20 || *s == 0x7f) fprintf(stream, "\\u%04x", *s);
        else fwrite(s, 1, (size_t)bytes, stream);
        s += bytes;
    }
    putc('"', stream);
}

void json_number(FILE *stream, double value)
{
    char text[32];
    if (!isfinite(value)) {
        fputs("null", stream);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    const char *point = localeconv()->decimal_point; /* of the locale in which it was just printed */
    char *at = strstr(text, point);
    if (at != NULL) {
        *at = '.';
        memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
    }
    fputs(text, stream);
}

static void write_text(FILE *stream, const char *name, const char *value)
{
    fprintf(stream, "\"%s\": ", name);
    json_string(stream, value);
    fputs(", ", stream);
}

static void write_letter(FILE *stream, const char *name, char value)
{
    char text[2] = {value, '\0'};
    write_text(stream, name, value != 0 ? text : NULL);
}

static void write_count(FILE *stream, const char *name, int64_t value)
{
    if (value < 0) fprintf(stream, "\"%s\": null, ", name);
    else fprintf(stream, "\"%s\": %lld, ", name, (long long)value);
}

static void write_number(FILE *stream, const char *name, double value)
{
    fprintf(stream, "\"%s\": ", name);
    json_number(stream, value);
    fputs(", ", stream);
}

int record_write(FILE *stream, const record *r)
{
    char now_text[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL) strftime(now_text, sizeof now_text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    putc('{', stream);
#define TEXT(name) write_text(stream, #name, r->name);
#define LETTER(name) write_letter(stream, #name, r->name);
#define COUNT(name) write_count(stream, #name, r->name);
#define NUMBER(name) write_number(stream, #name, r->name);
    FIELDS_BEFORE_VERSION(TEXT, LETTER, COUNT, NUMBER)
    write_text(stream, "version", tw_version());
    FIELDS_AFTER_VERSION(TEXT, LETTER, COUNT, NUMBER)
    fputs("\"time\": ", stream);
    json_string(stream, now_text);
    fputs("}\n", stream);
    return fflush(stream) != 0 || ferror(stream) ? -1 : 0;
}
