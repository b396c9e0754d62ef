/* skinny.c - C(m x n) = A(m x T) B(T x n) with T = 16 as NVIDIA Best Practices prints it and 32 as it notes, each
 * rung verified, timed and set beside the published bandwidths. */
#include "skinny.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "../course/published.h"
#include "../lab/devices.h"
#include "../program/diag.h"
#include "../program/term.h"
#include "rows.h"
#include "rungs.h"

/* Seconds of samples per row; seconds that one run of the slowest rung may take. */
static const double LIMIT_S = 1, LONGEST_S = 0.05;

enum { SIDE = 4096, RUNGS = PUBLISHED_RUNGS, WIDTHS = 2, DEVICES = PUBLISHED_DEVICES };

static const int64_t widths[WIDTHS] = {16, 32};

typedef struct skinny {
    session *s;
    rung_list rungs;
    roofs limits;
    layout_table table;
    rows_tally count;
    double gbps[WIDTHS][RUNGS]; /* NAN: not timed */
} skinny;

static const char *gbps_text(double gbps, term_number out)
{
    if (isnan(gbps)) return "-";
    snprintf(out, TERM_NUMBER, gbps < 100 ? "%.1f" : "%.0f", gbps);
    return out;
}

static void print_header(skinny *k, int64_t m, int64_t n)
{
    FILE *text = k->s->text;
    fprintf(text,
            "skinny     C(%" PRId64 " x %" PRId64 ") = A(%" PRId64 " x T) B(T x %" PRId64 ") in %s, on %s: %s\n\n", m,
            n, m, n, tw_lab_dtype_of(session_dtype(k->s))->name, k->s->device.engine, k->s->device.name);
    const layout_column columns[] = {{"rung", -15, 0},
                                     {"T", 3, 0},
                                     {"median", 9, 0},
                                     {"min-max", 10, 3},
                                     {"GFLOP/s", 7, 1},
                                     {"GB/s", 9, 0, true, "effective"},
                                     {"GB/s", 9, 2, .over = "asked"},
                                     {"GB/s", 10, 2, .over = "compulsory"},
                                     {published[0].device, 9, 0, true, "published"},
                                     {published[1].device, 9, 0, .over = "GB/s"}};
    layout_begin(&k->table, text, columns, sizeof columns / sizeof *columns);
    layout_titles(&k->table);
}

/* place: of the rung among the published. */
static void print_numbers(skinny *k, const record *d, int place)
{
    term_number median, span, speed, text[5];
    layout_table *t = &k->table;
    layout_cell(t, "%s", term_seconds(d->median_s, median));
    layout_cell(t, "%s", term_span(d->min_s, d->max_s, d->median_s, span));
    layout_cell(t, "%s", term_gflops(d->gflops, speed));
    layout_cell(t, "%s", gbps_text(d->effective_gbps, text[0]));
    layout_cell(t, "%s", gbps_text((d->bytes_asked + row_c_bytes(d)) / d->median_s * 1e-9, text[1]));
    layout_cell(t, "%s", gbps_text(d->compulsory_bytes / d->median_s * 1e-9, text[2]));
    for (int i = 0; i < DEVICES; i++) {
        double gbps = d->k == PUBLISHED_WIDTH ? published[i].gbps[place] : (double)NAN;
        layout_cell(t, "%s", gbps_text(gbps, text[3 + i]));
    }
    layout_end(t);
}

static exit_code run_rung(skinny *k, trial *t, const tw_lab_kernel *kernel)
{
    static row result;
    int place = kernel->rung[1] - '1'; /* s1, s2, s3 */
    row_wish wish = {.kernel = kernel, .limit_s = LIMIT_S};
    exit_code code = rows_run(k->s, t, &k->limits, &wish, 1, &result);
    if (code != EXIT_OK) return code;
    term_progress_end();
    layout_cell(&k->table, "%s", kernel->rung);
    layout_cell(&k->table, "%" PRId64, t->problem.k);
    if (rows_have_numbers(&k->table, &result)) print_numbers(k, &result.record, place);
    for (int w = 0; w < WIDTHS; w++)
        if (result.outcome == ROW_TIMED && widths[w] == t->problem.k) k->gbps[w][place] = result.record.effective_gbps;
    rows_count(&k->count, &result);
    return rows_finish(k->s, &result);
}

static exit_code run_width(skinny *k, const tw_problem *problem)
{
    trial t;
    exit_code code = rows_trial(k->s, problem, &t);
    if (code != EXIT_OK) return code;
    for (int i = 0; code == EXIT_OK && i < k->rungs.count; i++) code = run_rung(k, &t, k->rungs.rows[i]);
    trial_close(&t);
    return code;
}

static void print_ratios(const skinny *k)
{
    FILE *text = k->s->text;
    fprintf(text, "\n%-10s %9s %9s %9s %9s\n", "ratio", "T = 16", "T = 32", published[0].device, published[1].device);
    for (int r = 1; r < RUNGS; r++) {
        fprintf(text, "s%d / s%d   ", r + 1, r);
        for (int w = 0; w < WIDTHS; w++) {
            double ratio = k->gbps[w][r] / k->gbps[w][r - 1];
            if (isnan(ratio))
                fprintf(text, " %9s", "-");
            else
                fprintf(text, " %9.2f", ratio);
        }
        for (int i = 0; i < DEVICES; i++) fprintf(text, " %9.2f", published[i].gbps[r] / published[i].gbps[r - 1]);
        fputc('\n', text);
    }
}

/* A line of the legend, where the table shows the column. */
static void note(const skinny *k, const char *column, const char *words)
{
    if (layout_shows(&k->table, column)) fprintf(k->s->text, "%-10s %s\n", column, words);
}

static void print_notes(skinny *k)
{
    term_number bandwidth;
    fprintf(
        k->s->text,
        "\neffective  4 (m T ceil(n/T) + T n ceil(m/T) + m n) bytes / time, 12 per element of C: each block reads its "
        "two tiles and writes its own once. The guide does not say what it counts; no other natural "
        "count fits its figures. Caches serve the repeated tiles today, so it may exceed the "
        "bandwidth of memory, here %s GB/s of reads measured. The guide does not give its m and n "
        "either, so compare the ratios\n",
        gbps_text(roofs_memory_bandwidth(&k->limits, 1, 0) * 1e-9, bandwidth));
    note(k, "asked",
         "bytes that the rung's loads and stores ask for: for T = 16 132, 72 and 12 bytes per element of C, for T = 32 "
         "260, 136 and 12");
    note(k, "compulsory", "each element of A, B and C once");
    note(k, "published", "NVIDIA Best Practices, table 1, T = 16");
    layout_left_out(&k->table);
    if (k->count.wrong == 0 && k->count.timed > 0) fputs("Each row was verified before it was timed.\n", k->s->text);
}

/* The rungs, and the shape; k is 0 where all widths are wanted. */
static exit_code choose(skinny *k, shape *p)
{
    const options *opt = k->s->opt;
    int64_t n = opt->sizes.count > 0 ? opt->sizes.items[0] : SIDE;
    *p = opt->shapes.count > 0 ? opt->shapes.items[0] : (shape){n, n, 0};
    tw_problem problem = tw_problem_make(session_dtype(k->s), TW_N, TW_N, p->m, p->n, p->k > 0 ? p->k : widths[0]);
    exit_code code = rungs_choose(k->s, &problem, NULL, &k->rungs);
    if (code != EXIT_OK || opt->shapes.count + opt->sizes.count > 0) return code;
    code = rows_side(k->s, k->rungs.rows[0], widths[0], SIDE, LONGEST_S, &n);
    *p = (shape){n, n, 0};
    return code;
}

static exit_code skinny_engine(session *s, void *job)
{
    skinny *k = job;
    shape p;
    const busy_reading begun = busy_now();
    *k = (skinny){.s = s};
    for (int i = 0; i < WIDTHS * RUNGS; i++) k->gbps[i / RUNGS][i % RUNGS] = NAN;
    exit_code code = choose(k, &p);
    if (code != EXIT_OK) return code;
    roofs_begin(&k->limits, s->context, &s->device);
    print_header(k, p.m, p.n);
    for (int w = 0; code == EXIT_OK && w < (p.k > 0 ? 1 : WIDTHS); w++) {
        tw_problem problem = tw_problem_make(session_dtype(s), TW_N, TW_N, p.m, p.n, p.k > 0 ? p.k : widths[w]);
        code = run_width(k, &problem);
    }
    if (code != EXIT_OK) return code;
    print_ratios(k);
    print_notes(k);
    rows_tell_busy(s->text, &begun);
    return rows_verdict(&k->count);
}

exit_code skinny_ladders(session *s)
{
    static skinny k;
    return session_each_engine(s, session_gpu(), skinny_engine, &k);
}
