/* arithmetic.c - flop, bytes asked and their ratio, as the documents' formulas and in numbers for the shape;
 * and where that puts the bounds on published devices and on the present one. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include "../../lab/bench/roofs.h"
#include "../../lab/devices.h"
#include "../../lab/roofline.h"
#include "../../program/layout.h"
#include "../../program/term.h"
#include "explain.h"

static double element_bytes(const explain *x) { return tw_lab_dtype_of(x->kernel->dtype)->bytes; }

static void add(explain_lines *lines, const char *label, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    lines->items[lines->count].label = label;
    vsnprintf(lines->items[lines->count++].text, sizeof(explain_text), format, arguments);
    va_end(arguments);
}

void explain_count(const explain *x, explain_lines *out)
{
    const tw_problem *p = &x->problem;
    double flops = roofline_flops(p), asked = roofline_bytes_asked(p, x->block_m, x->block_n),
           compulsory = roofline_compulsory_bytes(p);
    double mn = (double)p->m * (double)p->n, m = (double)p->m, n = (double)p->n, k = (double)p->k,
           size = element_bytes(x);
    double c_bytes = compulsory - size * (m * k + k * n);
    out->count = 0;
    add(out, "shape", "m n k = %" PRId64 " %" PRId64 " %" PRId64 ", elements of %.0f bytes", p->m, p->n, p->k, size);
    add(out, "flop", "2 m n k = %.0f", flops);
    if (x->block_m == 1 && x->block_n == 1)
        add(out, "bytes asked", "%.0f (m n k + m n k) = %.0f: each product reads both its factors", size, asked);
    else
        add(out, "bytes asked",
            "%.0f (m k n/bn + k n m/bm) = %.0f with blocks of bm x bn = %" PRId64 " x %" PRId64 ", rounded up", size,
            asked, x->block_m, x->block_n);
    add(out, "flop per byte", "2 bm bn / (%.0f (bm + bn)) = %.4g; with the store of C %.5g", size, flops / asked,
        flops / (asked + c_bytes));
    add(out, "flop per word",
        "%.4g (Ruiz 2024: naive 1, tiles of r r, each word once %.6g; with the writes of C %.5g%s)",
        flops / asked * size, flops / (m * k + k * n), flops / (m * k + k * n + mn),
        p->m == p->n && p->n == p->k ? ": n and 2n/3" : "");
    add(out, "compulsory", "%.0f (m k + k n) + C = %.0f bytes: A, B and C once; %.4g flop per byte", size, compulsory,
        flops / compulsory);
    if (x->kernel->skinny)
        add(out, "effective",
            "4 (m T n/T + T n m/T + m n) = %.0f bytes, m/T and n/T rounded up: 12 m n where whole (inferred from "
            "NVIDIA Best Practices)",
            roofline_bytes_asked(p, x->tile, x->tile) + 4 * mn);
}

void explain_arithmetic(const explain *x)
{
    explain_lines lines;
    explain_count(x, &lines);
    explain_heading(x, "In numbers");
    for (int i = 0; i < lines.count; i++) fprintf(x->text, "%-16s %s\n", lines.items[i].label, lines.items[i].text);
}

/* ---- bounds ---- */

bool explain_fits(const explain *x, const published_device *d, char *why, size_t why_bytes)
{
    return predict_fits(x->kernel, x->tile, x->modelled ? x->launch.block_x * x->launch.block_y : 0, d, why, why_bytes);
}

double explain_peak_gflops(const explain *x, const published_device *d)
{
    return x->kernel->dtype == TW_F32 ? d->peak_gflops : (double)NAN;
}

static void begin_bounds(layout_table *t, FILE *text)
{
    static const layout_column columns[] = {{"GFLOP/s", -26, 0},
                                            {"GB/s", 8, 5},
                                            {"peak", 9, 4},
                                            {"no cache", 11, 0, true, "bound_asked"},
                                            {"roofline", 9, 0, false, "bound"},
                                            {"banks", 9, 1, true, "shared"},
                                            {"rate", 9, 2, false, "issue"},
                                            {"no cache", 9, 3, false, "traffic"},
                                            {"no overlap to full", -22, 0, true, "predicted"}};
    layout_begin(t, text, columns, sizeof columns / sizeof *columns);
    layout_titles(t);
}

/* On devices with caches, which serve part of the traffic: the least of the bounds that hold there. */
static void tell_least(const prediction *y, explain_text out)
{
    term_number t;
    double least = y->bound_gflops;
    const char *what = "roofline";
    if (y->issue_gflops < least) least = y->issue_gflops, what = "issue";
    if (y->shared_gflops < least) least = y->shared_gflops, what = "banks";
    snprintf(out, EXPLAIN_TEXT, "at most %s: %s", term_gflops(least, t), what);
}

explain_bound explain_bound_on(const explain *x, double gbps, double peak_gflops, const published_device *d)
{
    const tw_problem *p = &x->problem;
    term_number t[2];
    double flops = roofline_flops(p), asked = roofline_bytes_asked(p, x->block_m, x->block_n);
    explain_bound b = {.shared_gflops = NAN, .issue_gflops = NAN, .traffic_gflops = NAN};
    b.fits = d == NULL || explain_fits(x, d, b.predicted, sizeof b.predicted);
    b.asked_gflops = fmin(roofline_no_cache_flops(p, asked, gbps * 1e9) / 1e9, peak_gflops);
    b.roofline_gflops = roofline_bound_flops(p, peak_gflops * 1e9, gbps * 1e9) / 1e9;
    if (!b.fits || !x->modelled || d == NULL) return b;
    prediction y = predict_on(&x->launch, d);
    b.shared_gflops = y.shared_gflops, b.issue_gflops = y.issue_gflops, b.traffic_gflops = flops / y.memory_s / 1e9;
    if (access_era_of(d->capability) > ERA_1_2)
        tell_least(&y, b.predicted);
    else
        snprintf(b.predicted, sizeof b.predicted, "%s to %s", term_gflops(flops / y.serial_s / 1e9, t[0]),
                 term_gflops(flops / y.overlapped_s / 1e9, t[1]));
    return b;
}

static void print_bounds(const explain *x, layout_table *table, const char *name, double gbps, double peak_gflops,
                         const published_device *d)
{
    term_number t;
    const explain_bound b = explain_bound_on(x, gbps, peak_gflops, d);
    const double speeds[] = {b.asked_gflops, b.roofline_gflops, b.shared_gflops, b.issue_gflops, b.traffic_gflops};
    layout_cell(table, "%.26s", name);
    layout_cell(table, "%s", term_gflops(gbps, t));
    layout_cell(table, "%s", term_gflops(peak_gflops, t));
    for (int i = 0; i < 5; i++) /* what cannot run is promised no speed */
        layout_cell(table, "%s", term_gflops(b.fits ? speeds[i] : (double)NAN, t));
    layout_cell(table, "%s%s", b.fits ? "" : "does not fit: ", b.predicted);
    layout_end(table);
}

/* The device of the rung's engine, if one is here: ceilings as measured now. Why none is stands below. */
static void print_present(const explain *x, layout_table *table)
{
    static roofs limits;
    FILE *text = x->text;
    if (x->context == NULL) return;
    const tw_device *d = x->device;
    int threads = device_is_host(d) ? d->threads : 1;
    term_progress("measuring the device's ceilings", -1);
    roofs_begin(&limits, x->context, d);
    double peak = roofs_peak(&limits, x->kernel->dtype, threads, 0) / 1e9,
           memory = roofs_memory_bandwidth(&limits, threads, 0) / 1e9;
    term_progress_end();
    fprintf(text, "present, ceilings measured now:\n");
    const published_device *p = devices_published(d->name);
    if (p != NULL) { /* its figures, at the ceilings that were measured */
        published_device measured = *p;
        measured.memory_gbps = memory;
        print_bounds(x, table, d->name, memory, peak, &measured);
    } else
        print_bounds(x, table, d->name, memory, peak, NULL);
}

int explain_devices(const explain *x, const published_device *out[EXPLAIN_DEVICES])
{
    static const char *const models[EXPLAIN_DEVICES] = {"8800 GT", "8800 GTX", "GTX 280", "P100", "H200"};
    int count = 0;
    if (x->gpu != NULL) out[count++] = x->gpu;
    for (int i = 0; x->gpu == NULL && i < EXPLAIN_DEVICES; i++)
        if ((out[count] = devices_model(models[i])) != NULL) count++;
    return count;
}

void explain_bounds(const explain *x)
{
    const published_device *devices[EXPLAIN_DEVICES];
    FILE *text = x->text;
    char name[DEVICES_NAME];
    explain_heading(x, "Where its bounds lie");
    layout_table table;
    begin_bounds(&table, text);
    for (int i = 0, count = explain_devices(x, devices); i < count; i++)
        print_bounds(x, &table, devices_name(devices[i], name), devices[i]->memory_gbps,
                     explain_peak_gflops(x, devices[i]), devices[i]);
    if (x->gpu != NULL)
        fprintf(text, "%s\n", x->gpu->source);
    else
        print_present(x, &table);
    if (x->kernel->dtype != TW_F32)
        fprintf(text, "peak         published for f32 alone: in %s the published devices have no roofline here\n",
                tw_lab_dtype_of(x->kernel->dtype)->name);
    fputs("bound_asked  what the bytes asked allow at memory's bandwidth, at most the peak: the documents' bound; "
          "caches may "
          "beat it\n"
          "bound        min(peak, flop / compulsory bytes x bandwidth), the roofline: nothing may beat it\n",
          text);
    if (layout_shows(&table, "banks")) fputs("shared       what wavefronts of shared memory allow, alone\n", text);
    if (layout_shows(&table, "rate"))
        fputs("issue        what instructions allow, alone: loops as the rung holds them, without the address "
              "arithmetic of "
              "a tile's loads\n",
              text);
    if (layout_shows(&table, "GB/s"))
        fputs("traffic      what the bytes that transactions move allow, alone, through the partitions of the memory "
              "that "
              "blocks reach together (explain --tables); where caches are, it is not a bound\n",
              text);
    layout_left_out(&table);
}

/* ---- what caches leave ---- */

void explain_traffic(const explain *x)
{
    FILE *text = x->text;
    char name[DEVICES_NAME];
    term_number t[4];
    const published_device *d = x->gpu != NULL ? x->gpu : devices_model("H200");
    if (!x->modelled || d == NULL) return;
    predict_traffic y = predict_cached(&x->launch, d);
    if (isnan(y.l2_bytes)) return;
    explain_heading(x, "What caches leave");
    fprintf(text,
            "%s: %.0f resident blocks in a multiprocessor, %.0f warps, predicted\nL2           %s\n"
            "DRAM reads   %s in step, %s out of step; A and B once are %s\n",
            devices_name(d, name), y.resident_blocks, y.resident_blocks * access_warps(&x->launch),
            term_bytes(y.l2_bytes, t[0]), term_bytes(y.dram_low_bytes, t[1]), term_bytes(y.dram_high_bytes, t[2]),
            term_bytes(4 * ((double)x->problem.m + (double)x->problem.n) * (double)x->problem.k, t[3]));
    fprintf(
        text,
        "L2 counts what blocks ask, each sector once for a block, what they store, and what passes from one half of "
        "the L2 to the other. In step, the blocks that run together read their A and B once; out of step, each row "
        "of blocks (rasterised: each column of a group) reads alone. Which of the two it will be, no figure tells.\n");
}
