/* test_lab_measure.c - times, their spread, roofline numbers, JSON and records are what they claim to be. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "busy.h"
#include "measure.h"
#include "record.h"
#include "roofline.h"
#include "units.h"
#include "support/check.h"

/* ---- measure ---- */

typedef struct clockwork {
    double seconds;
    int calls, failing_call, sets_seen;
} clockwork;

static tw_status work_once(void *context, int set, double *seconds)
{
    clockwork *w = context;
    w->sets_seen |= 1 << set;
    *seconds = w->seconds;
    return ++w->calls == w->failing_call ? TW_DEVICE_FAILED : TW_OK;
}

static void test_spread(void)
{
    units_text text;
    assert_string_equal(units_span(1.19e-3, 1.42e-3, 1.2e-3, text), "1.19-1.42");
    assert_string_equal(units_span(0.95e-3, 12.4e-3, 1.2e-3, text), "0.95-12.4"); /* the unit of the median, ms */
    assert_string_equal(units_span(98e-9, 104e-9, 100e-9, text), "98.0-104");
    assert_string_equal(units_span(90, 2000, 1200, text), "90.0-2000");
    assert_string_equal(units_span(NAN, 1, 1, text), "-");
    assert_true(strlen(units_span(1e-9, 1e30, 1e-9, text)) < sizeof text);
}

/* Two processors for ten seconds: 20 s in all, of which 12 s were used, 4 s by this process. */
static void test_busy(void)
{
    busy_reading from = busy_read("cpu  100 0 100 1000 50 0 0 0 0 0\n", 100, 1),
                 to = busy_read("cpu  900 100 300 1800 50 20 30 50 0 0\n", 100, 5);
    assert_true(fabs(busy_share(&from, &to) - 8.0 / 20) < 1e-12);
    assert_true(isnan(busy_share(&from, &from)));
    from.own_s = -100; /* clocks that disagree */
    assert_true(busy_share(&from, &to) == 0);
    from = busy_read("intr 1 2 3\n", 100, 1);
    assert_true(isnan(busy_share(&from, &to)));
}

static void test_measure(void)
{
    double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, twenty[20], hundred[100], one[] = {7};
    measure_result r = measure_summary(odd, 3, 2);
    assert_true(r.samples == 3 && r.repeats == 2 && r.min_s == 1 && r.median_s == 3 && r.p95_s == 5 && r.max_s == 5);
    assert_true(odd[0] == 1 && odd[2] == 5);
    r = measure_summary(even, 4, 1);
    assert_true(r.median_s == 2.5 && r.p95_s == 4);
    for (int i = 0; i < 20; i++) twenty[i] = 20 - i;
    r = measure_summary(twenty, 20, 1);
    assert_true(r.p95_s == 19 && r.max_s == 20 && r.median_s == 10.5);
    for (int i = 0; i < 100; i++) hundred[i] = i + 1;
    assert_true(measure_summary(hundred, 100, 1).p95_s == 95);
    assert_true(measure_summary(one, 1, 1).p95_s == 7);
    assert_true(measure_summary(one, 0, 1).samples == 0);

    clockwork w = {.seconds = 0.5};
    assert_int_equal(measure_run(work_once, &w, NULL, &r), TW_OK);
    assert_true(r.samples == 11 && r.repeats == 1 && r.median_s == 0.5 && w.calls == 1 + 11);
    w = (clockwork){.seconds = 1e-6};
    assert_int_equal(measure_run(work_once, &w, &(measure_options){.samples = 5, .sets = 3}, &r), TW_OK);
    assert_true(r.samples == 5 && r.repeats >= 100 && r.repeats <= 200 && fabs(r.min_s - 1e-6) < 1e-12 &&
                w.sets_seen == 7);
    w = (clockwork){.seconds = 0}; /* a clock too coarse to see the work */
    assert_int_equal(measure_run(work_once, &w, &(measure_options){.samples = 2}, &r), TW_OK);
    assert_true(r.samples == 2 && r.median_s == 0 && r.repeats > 1000);
    w = (clockwork){.seconds = 1};
    assert_int_equal(measure_run(work_once, &w, &(measure_options){.samples = 50, .limit_s = 1e-9}, &r), TW_OK);
    assert_int_equal(r.samples, 3); /* never fewer than 3, */
    assert_int_equal(measure_run(work_once, &w, &(measure_options){.samples = 2, .limit_s = 1e-9}, &r), TW_OK);
    assert_int_equal(r.samples, 2); /* unless fewer were wanted */
    w = (clockwork){.seconds = 11}; /* longer than the 10 s for all: its warm-up is a sample */
    assert_int_equal(measure_run(work_once, &w, &(measure_options){.samples = 1}, &r), TW_OK);
    assert_true(r.samples == 1 && r.repeats == 1 && r.median_s == 11 && w.calls == 1);
    for (int call = 1; call < 6; call++) {
        w = (clockwork){.seconds = 1, .failing_call = call};
        assert_int_equal(measure_run(work_once, &w, NULL, &r), TW_DEVICE_FAILED);
        assert_true(r.samples == 0 && r.median_s == 0 && w.calls == call);
    }
    w = (clockwork){.seconds = (double)NAN};
    assert_int_equal(measure_run(work_once, &w, NULL, &r), TW_DEVICE_FAILED);
    assert_int_equal(measure_run(work_once, &w, &(measure_options){.samples = -1}, &r), TW_BAD_ARGUMENT);
    double before = measure_now_s();
    assert_true(measure_now_s() >= before && before > 0);
}

/* A kind of work that writes down when it ran, and takes what the moment says. */
typedef struct in_turn {
    char name, *log;
    double pace;
} in_turn;

static tw_status work_in_turn(void *context, int set, double *seconds)
{
    in_turn *w = context;
    size_t at = strlen(w->log);
    (void)set;
    if (at < 190) w->log[at] = w->name;
    *seconds = w->pace * (1 + (double)(at / 6)); /* the machine gets slower all the time */
    return TW_OK;
}

/* Two equal kinds of work on a machine that slows down: one after the other they would look different. */
static void test_interleaved_measure(void)
{
    char log[200] = "";
    in_turn a = {'a', log, 1}, b = {'b', log, 1}, c = {'c', log, 0.5};
    measure_work works[] = {{.context = &a}, {.context = &b}, {.context = &c}};
    assert_int_equal(measure_interleaved(work_in_turn, works, 3, &(measure_options){.samples = 7, .limit_s = 100}),
                     TW_OK);
    /* warm-up and repeats of each; then rounds, another one first each time */
    assert_string_equal(log, "aabbcc"
                             "abcbcacab"
                             "abcbcacab"
                             "abc");
    assert_true(works[0].rounds == 7 && works[1].rounds == 7 && works[1].result.samples == 7 &&
                works[1].result.repeats == 1);
    assert_true(works[0].speed == 1 && !measure_differs(&works[0]));
    assert_false(measure_differs(&works[1]));
    assert_true(works[2].speed > 1.5 && measure_differs(&works[2]));
    memset(log, 0, sizeof log);
    assert_int_equal(measure_interleaved(work_in_turn, works, 2, &(measure_options){.samples = 50, .limit_s = 1e-9}),
                     TW_OK);
    assert_int_equal(works[0].rounds, 5); /* never fewer than 5, */
    assert_int_equal(measure_interleaved(work_in_turn, works + 1, 2, &(measure_options){.samples = 4, .limit_s = 1e-9}),
                     TW_OK);
    /* unless fewer were wanted, which say nothing */
    assert_true(works[2].rounds == 4 && works[2].speed > 1.5 && !measure_differs(&works[2]));
    assert_int_equal(measure_interleaved(work_in_turn, works, 0, NULL), TW_BAD_ARGUMENT);

    static const struct {
        double speed, low, high;
        bool differs;
    } cases[] = {{1.43, 0.7, 1.6, false}, {0.7, 0.6, 1.01, false},    {1.43, 1.2, 1.6, true},
                 {0.7, 0.6, 0.8, true},   {1.015, 1.01, 1.02, false}, {1, 1, 1, false}};
    for (int i = 0; i < COUNT_OF(cases); i++) {
        measure_work w = {
            .rounds = 11, .speed = cases[i].speed, .low_speed = cases[i].low, .high_speed = cases[i].high};
        assert_true(measure_differs(&w) == cases[i].differs);
    }
}

/* ---- roofline ---- */

#define assert_close(x, y) assert_true(fabs((x) / (y)-1) < 1e-12)

static void test_roofline(void)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 4096, 4096, 4096);
    assert_true(roofline_flops(&p) == 137438953472.0);
    assert_true(roofline_bytes_asked(&p, 1, 1) == 549755813888.0);
    assert_true(roofline_bytes_asked(&p, 16, 16) == 34359738368.0);
    assert_true(roofline_bytes_asked(&p, 32, 32) == 17179869184.0);
    assert_true(roofline_bytes_asked(&p, 16, 64) == 21474836480.0);
    assert_true(roofline_bytes_asked(&p, 64, 64) == 8589934592.0);
    assert_true(roofline_compulsory_bytes(&p) == 201326592.0);
    p.beta = 1;
    assert_true(roofline_compulsory_bytes(&p) == 201326592.0 + 67108864.0);
    p.beta = 0;
    assert_close(roofline_no_cache_flops(&p, roofline_bytes_asked(&p, 1, 1), 720e9), 180e9);
    assert_close(roofline_no_cache_flops(&p, roofline_bytes_asked(&p, 16, 16), 720e9), 2880e9);
    assert_close(roofline_no_cache_flops(&p, roofline_bytes_asked(&p, 32, 32), 720e9), 5760e9);
    assert_close(roofline_no_cache_flops(&p, roofline_bytes_asked(&p, 16, 64), 720e9), 4608e9);
    assert_close(roofline_no_cache_flops(&p, roofline_bytes_asked(&p, 1, 1), 57.6e9), 14.4e9);
    assert_close(roofline_bound_flops(&p, 9300e9, 720e9), 9300e9);
    assert_close(roofline_bound_flops(&p, 1e18, 720e9), 137438953472.0 / 201326592.0 * 720e9);
    assert_true(isnan(roofline_bound_flops(&p, (double)NAN, 720e9)) && isnan(roofline_bound_flops(&p, 1, (double)NAN)));
    assert_true(isnan(roofline_bytes_asked(&p, 0, 16)));
    tw_problem edge = tw_problem_make(TW_F64, TW_T, TW_N, 17, 33, 10); /* blocks that do not divide */
    assert_true(roofline_bytes_asked(&edge, 16, 16) == 8.0 * (17 * 10 * 3 + 10 * 33 * 2));
    tw_problem skinny = tw_problem_make(TW_F32, TW_N, TW_N, 4096, 4096, 16);
    assert_true(roofline_compulsory_bytes(&skinny) == 67633152.0 && roofline_flops(&skinny) == 536870912.0);
}

/* ---- records ---- */

static char *text_of(void (*write)(FILE *, const void *), const void *value)
{
    static char *text;
    static size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    write(stream, value);
    fclose(stream);
    return text;
}

static void write_string_value(FILE *stream, const void *value) { json_put_text(stream, value); }

static void write_number_value(FILE *stream, const void *value) { json_put_number(stream, *(const double *)value); }

static void write_record_value(FILE *stream, const void *value) { assert_int_equal(record_write(stream, value), 0); }

static void assert_string_json(const char *text, const char *json)
{
    char *written = text_of(write_string_value, text);
    assert_string_equal(written, json);
    free(written);
}

static void assert_number_json(double value, const char *json)
{
    char *written = text_of(write_number_value, &value);
    assert_string_equal(written, json);
    free(written);
}

static void test_json_values(void)
{
    assert_string_json("plain", "\"plain\"");
    assert_string_json(NULL, "null");
    assert_string_json("a\"b\\c\n\t\r\b\f\x01\x1f/", "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\\u001f/\"");
    assert_string_json("\xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e\"");
    assert_string_json(
        "\xff|\xc0\xaf|\xed\xa0\x80|\xf5\x80|\xe2\x82",
        "\"\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|"
        "\xef\xbf\xbd\xef\xbf\xbd\"");
    const char *places[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "C"};
    for (int i = 0; i < COUNT_OF(places); i++) { /* a comma for a decimal point must not get through */
        if (setlocale(LC_NUMERIC, places[i]) == NULL) continue;
        assert_number_json(0.1, "0.1");
        assert_number_json(1 / 3.0, "0.3333333333333333");
        assert_number_json(1e300, "1e+300");
        assert_number_json(-2.5e-10, "-2.5e-10");
        assert_number_json(0, "0");
        assert_number_json(549755813888.0, "549755813888");
        assert_number_json((double)NAN, "null");
        assert_number_json(-(double)INFINITY, "null");
    }
    setlocale(LC_NUMERIC, "C");
}

static void assert_python_reads(const char *json)
{
    char path[] = "/tmp/tilewright_test_XXXXXX", command[256];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, json, strlen(json)), (ssize_t)strlen(json));
    close(fd);
    snprintf(command, sizeof command,
             "command -v python3 >/dev/null || exit 0; python3 -m json.tool <%s >/dev/null 2>&1", path);
    int status = system(command);
    unlink(path);
    assert_int_equal(status, 0);
}

static void test_record(void)
{
    record r = record_blank();
    char *text = text_of(write_record_value, &r);
    assert_non_null(strstr(text, "{\"engine\": null, \"device\": null,"));
    assert_non_null(strstr(text, "\"m\": null"));
    assert_non_null(strstr(text, "\"op_a\": null"));
    assert_non_null(strstr(text, "\"min_s\": null"));
    assert_python_reads(text);
    free(text);

    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, 4096, 4096, 4096);
    r.engine = "cpu", r.device = "a \"quoted\" name\n", r.kernel = "cpu_f32_r01_naive", r.rung = "r01_naive",
    r.dtype = "f32";
    r.m = r.n = r.k = 4096;
    r.op_a = 'n', r.op_b = 't';
    r.median_s = 1, r.error_ratio = (double)INFINITY;
    record_fill_bounds(&r, &p, 1, 1, 9300e9, 720e9);
    assert_close(r.gflops, 137.438953472);
    assert_close(r.no_cache_gflops, 180);
    assert_close(r.bound_gflops, 9300);
    assert_close(r.bound_asked_gflops, 180);
    assert_close(r.fraction_of_bound, 137.438953472 / 9300);
    text = text_of(write_record_value, &r);
    assert_python_reads(text);
    static const char *const names[] = {"engine",
                                        "device",
                                        "kernel",
                                        "rung",
                                        "dtype",
                                        "m",
                                        "n",
                                        "k",
                                        "op_a",
                                        "op_b",
                                        "method",
                                        "min_s",
                                        "median_s",
                                        "p95_s",
                                        "gflops",
                                        "verified",
                                        "error_ratio",
                                        "bytes_asked",
                                        "compulsory_bytes",
                                        "peak_gflops",
                                        "bandwidth_gbps",
                                        "no_cache_gflops",
                                        "bound_gflops",
                                        "fraction_of_bound",
                                        "version",
                                        "lda",
                                        "alpha",
                                        "threads",
                                        "samples",
                                        "block_threads",
                                        "local_bytes",
                                        "occupancy",
                                        "sectors_per_load",
                                        "prepare_s",
                                        "plan",
                                        "refused",
                                        "time"};
    const char *at = text;
    for (int i = 0; i < COUNT_OF(names); i++) { /* each is there, in this order */
        char key[64];
        snprintf(key, sizeof key, "\"%s\": ", names[i]);
        at = strstr(at, key);
        if (at == NULL) fail_msg("%s is missing", names[i]);
    }
    assert_non_null(strstr(text, "\"device\": \"a \\\"quoted\\\" name\\n\""));
    assert_non_null(strstr(text, "\"op_b\": \"t\""));
    assert_non_null(strstr(text, "\"error_ratio\": null"));
    assert_non_null(strstr(text, "\"bytes_asked\": 549755813888,"));
    assert_int_equal(text[strlen(text) - 1], '\n');
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    const char *time_text = strstr(text, "\"time\": \"");
    assert_true(strlen(time_text) == strlen("\"time\": \"2026-11-21T02:16:00Z\"}\n") && time_text[28] == 'Z');
    free(text);

    record_fill_bounds(&r, &p, 0, 0, (double)NAN, 720e9);
    assert_true(isnan(r.bound_gflops) && isnan(r.fraction_of_bound) && isnan(r.bytes_asked));
    FILE *full = fopen("/dev/full", "w");
    if (full != NULL) {
        assert_int_equal(record_write(full, &r), -1);
        fclose(full);
    }
}

static const check_case cases[] = {
    CHECK_CASE(test_measure),  CHECK_CASE(test_interleaved_measure), CHECK_CASE(test_spread), CHECK_CASE(test_busy),
    CHECK_CASE(test_roofline), CHECK_CASE(test_json_values),         CHECK_CASE(test_record),
};

CHECK_MAIN(cases)
