/* skinny.c - see skinny.h. */
#include "skinny.h"

#include <inttypes.h>
#include <math.h>
#include "../program/term.h"
#include "published.h"

enum { RUNGS = PUBLISHED_RUNGS, WIDTHS = SKINNY_WIDTHS, DEVICES = PUBLISHED_DEVICES };

const int64_t skinny_widths[WIDTHS] = {16, 32};

static const char *gbps_text(double gbps, term_number out)
{
    if (isnan(gbps)) return "-";
    snprintf(out, TERM_NUMBER, gbps < 100 ? "%.1f" : "%.0f", gbps);
    return out;
}

static void print_header(skinny *k, tw_dtype dtype, int64_t m, int64_t n)
{
    FILE *text = k->text;
    fprintf(text,
            "skinny     C(%" PRId64 " x %" PRId64 ") = A(%" PRId64 " x T) B(T x %" PRId64 ") in %s, on %s: %s\n\n", m,
            n, m, n, tw_lab_dtype_of(dtype)->name, k->device->engine, k->device->name);
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

void skinny_begin(skinny *k, tw_dtype dtype, int64_t m, int64_t n)
{
    for (int i = 0; i < WIDTHS * RUNGS; i++) k->gbps[i / RUNGS][i % RUNGS] = NAN;
    print_header(k, dtype, m, n);
}

void skinny_row(skinny *k, const tw_lab_kernel *kernel, const tw_problem *problem, const row *r)
{
    const int place = kernel->rung[1] - '1'; /* s1, s2, s3 */
    term_progress_end();
    layout_cell(&k->table, "%s", kernel->rung);
    layout_cell(&k->table, "%" PRId64, problem->k);
    if (rows_have_numbers(&k->table, r)) print_numbers(k, &r->record, place);
    for (int w = 0; w < WIDTHS; w++)
        if (r->outcome == ROW_TIMED && skinny_widths[w] == problem->k) k->gbps[w][place] = r->record.effective_gbps;
    rows_count(&k->count, r);
}

static void print_ratios(const skinny *k)
{
    FILE *text = k->text;
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
    if (layout_shows(&k->table, column)) fprintf(k->text, "%-10s %s\n", column, words);
}

static void print_notes(const skinny *k, roofs *limits)
{
    term_number bandwidth;
    fprintf(
        k->text,
        "\neffective  4 (m T ceil(n/T) + T n ceil(m/T) + m n) bytes / time, 12 per element of C: each block reads its "
        "two tiles and writes its own once. The guide does not say what it counts; no other natural "
        "count fits its figures. Caches serve the repeated tiles today, so it may exceed the "
        "bandwidth of memory, here %s GB/s of reads measured. The guide does not give its m and n "
        "either, so compare the ratios\n",
        gbps_text(roofs_memory_bandwidth(limits, 1, 0) * 1e-9, bandwidth));
    note(k, "asked",
         "bytes that the rung's loads and stores ask for: for T = 16 132, 72 and 12 bytes per element of C, for T = 32 "
         "260, 136 and 12");
    note(k, "compulsory", "each element of A, B and C once");
    note(k, "published", "NVIDIA Best Practices, table 1, T = 16");
    layout_left_out(&k->table);
    if (k->count.wrong == 0 && k->count.timed > 0) fputs("Each row was verified before it was timed.\n", k->text);
}

void skinny_end(const skinny *k, roofs *limits)
{
    print_ratios(k);
    print_notes(k, limits);
}
