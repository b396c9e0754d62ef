/* record.c - see record.h. */
#define _POSIX_C_SOURCE 200809L
#include "record.h"
#include "busy.h"
#include "roofline.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

record record_blank(void)
{
    record r;
    memset(&r, 0, sizeof r);
#define TEXT(name)   r.name = NULL;
#define LETTER(name) r.name = 0;
#define COUNT(name)  r.name = -1;
#define NUMBER(name) r.name = (double)NAN;
    RECORD_FIELDS_BEFORE_VERSION(TEXT, LETTER, COUNT, NUMBER)
    RECORD_FIELDS_AFTER_VERSION(TEXT, LETTER, COUNT, NUMBER)
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
    r->bound_asked_gflops = isnan(r->peak_gflops) || isnan(r->no_cache_gflops)
                                ? (double)NAN
                                : fmin(r->peak_gflops, r->no_cache_gflops);
    r->fraction_of_bound = r->bound_gflops > 0 ? r->gflops / r->bound_gflops : (double)NAN;
}

/* ---- JSON ---- */

int utf8_sequence_bytes(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    int bytes = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;  /* no second form of a shorter one, */
    unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf; /* no surrogate, nothing above U+10FFFF */
    if (s[1] < low || s[1] > high) return 0;
    for (int i = 2; i < bytes; i++)
        if (s[i] < 0x80 || s[i] > 0xbf) return 0;
    return bytes;
}

void json_put_text(FILE *stream, const char *text)
{
    if (text == NULL) {
        fputs("null", stream);
        return;
    }
    static const char specials[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    putc('"', stream);
    for (const unsigned char *s = (const unsigned char *)text; *s != 0;) {
        int bytes = utf8_sequence_bytes(s);
        const char *special = strchr(specials, *s);
        if (bytes == 0)
            fputs("\xef\xbf\xbd", stream), bytes = 1;
        else if (special != NULL)
            putc('\\', stream), putc(letters[special - specials], stream);
        else if (*s < 0x20 || *s == 0x7f)
            fprintf(stream, "\\u%04x", *s);
        else
            fwrite(s, 1, (size_t)bytes, stream);
        s += bytes;
    }
    putc('"', stream);
}

void json_put_number(FILE *stream, double value)
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
    json_put_text(stream, value);
    fputs(", ", stream);
}

static void write_letter(FILE *stream, const char *name, char value)
{
    char text[2] = {value, '\0'};
    write_text(stream, name, value != 0 ? text : NULL);
}

static void write_count(FILE *stream, const char *name, int64_t value)
{
    if (value < 0)
        fprintf(stream, "\"%s\": null, ", name);
    else
        fprintf(stream, "\"%s\": %lld, ", name, (long long)value);
}

static void write_number(FILE *stream, const char *name, double value)
{
    fprintf(stream, "\"%s\": ", name);
    json_put_number(stream, value);
    fputs(", ", stream);
}

const char *record_time(record_time_text out)
{
    time_t now = time(NULL);
    struct tm utc;
    out[0] = '\0';
    if (gmtime_r(&now, &utc) != NULL) strftime(out, sizeof(record_time_text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return out;
}

const char *record_host(record_host_text out)
{
    struct utsname name;
    double memory_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    snprintf(out, sizeof(record_host_text), "%.100s, %ld processors, %.0f GiB", uname(&name) == 0 ? name.nodename : "?",
             sysconf(_SC_NPROCESSORS_ONLN), memory_bytes / 0x1p30);
    return out;
}

const char *record_run(record_run_text out)
{
    static record_time_text begun;
    if (begun[0] == '\0') record_time(begun);
    snprintf(out, sizeof(record_run_text), "%s %ld", begun, (long)getpid());
    return out;
}

const char *record_doubt(const record *r, record_doubt_text out)
{
    const bool busy = r->others >= BUSY_DISTURBS, beyond = r->fraction_of_bound > RECORD_MOST_OF_BOUND;
    char others[100] = "";
    if (busy)
        snprintf(others, sizeof others, "other processes used %.0f %% of the processors meanwhile", 100 * r->others);
    if (beyond)
        snprintf(out, sizeof(record_doubt_text),
                 "%.0f %% of the bound of %.4g GFLOP/s that nothing can beat: an error of measurement: %s%s",
                 100 * r->fraction_of_bound, r->bound_gflops, busy ? "the bound was measured too low, for " : "",
                 busy ? others : "the bound was measured too low, or the time too short");
    else
        snprintf(out, sizeof(record_doubt_text), "%s%s", others, busy ? ": its times may be too long" : "");
    return out;
}

int record_write(FILE *stream, const record *r)
{
    record_time_text now;
    record_host_text here;
    record_run_text this_run;
    putc('{', stream);
#define TEXT(name)   write_text(stream, #name, r->name);
#define LETTER(name) write_letter(stream, #name, r->name);
#define COUNT(name)  write_count(stream, #name, r->name);
#define NUMBER(name) write_number(stream, #name, r->name);
    RECORD_FIELDS_BEFORE_VERSION(TEXT, LETTER, COUNT, NUMBER)
    write_text(stream, "version", r->version != NULL ? r->version : tw_version());
    RECORD_FIELDS_AFTER_VERSION(TEXT, LETTER, COUNT, NUMBER)
    write_text(stream, "host", r->host != NULL ? r->host : record_host(here));
    write_text(stream, "run_id", r->run_id != NULL ? r->run_id : record_run(this_run));
    fputs("\"time\": ", stream);
    json_put_text(stream, r->time != NULL ? r->time : record_time(now));
    fputs("}\n", stream);
    return fflush(stream) != 0 || ferror(stream) ? -1 : 0;
}
