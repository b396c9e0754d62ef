/* tables.c - `tilewright explain --tables`: the tables of the course documents, predicted beside published,
 * and measured where a GPU or an OpenCL device is. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "../../lab/bench/roofs.h"
#include "../../lab/devices.h"
#include "../../lab/roofline.h"
#include "../../program/diag.h"
#include "../../program/layout.h"
#include "../../program/object.h"
#include "../../program/term.h"
#include "../published.h"
#include "explain.h"

enum { SIDE = 4096, SKINNY = PUBLISHED_RUNGS, DEVICES = PUBLISHED_DEVICES, TILE = PUBLISHED_WIDTH };

static const char *const skinny_rungs[SKINNY] = {"s1_unoptimised", "s2_shared_a", "s3_shared_ab"};

const tw_lab_kernel *explain_skinny(const char *engine, int i)
{
    const tw_lab_kernel *row = NULL;
    for (int at = 0; (row = tw_lab_kernel_at(at)) != NULL; at++)
        if (strcmp(row->engine, engine) == 0 && strcmp(row->rung, skinny_rungs[i]) == 0) break;
    return row;
}

/* Where the tables go, and the device that they are set beside. */
typedef struct output {
    FILE *text, *json; /* json NULL: not asked for */
    const explain_present *present;
} output;

static void title(const output *s, const char *text)
{
    term_paint paint = term_paint_for(s->text);
    fprintf(s->text, "%s%s%s\n", paint.bold, text, paint.plain);
}

/* ---- NVIDIA Best Practices ---- */

static void write_skinny(const output *s, const char *rung, const char *device, double gbps, const prediction *x,
                         double serial, double overlapped)
{
    object o = object_begin(s->json);
    object_text(&o, "document", "004");
    object_text(&o, "rung", rung);
    object_text(&o, "device", device);
    object_number(&o, "published_gbps", gbps);
    object_number(&o, "predicted_gbps", serial);
    object_number(&o, "predicted_overlapped_gbps", overlapped);
    object_number(&o, "moved_bytes", x->moved_bytes);
    object_end(&o);
}

static void print_skinny(const output *s)
{
    const double *measured = s->present->skinny_gbps;
    const int64_t side = s->present->side;
    FILE *text = s->text;
    title(s,
          "NVIDIA Best Practices, table 1: effective bandwidth of C(m x n) = A(m x 16) B(16 x n), GB/s at 4096 x 4096");
    layout_table t;
    layout_column columns[LAYOUT_MOST] = {{"", -16, 0, false, NULL}};
    int count = 1;
    for (int d = 0; d < DEVICES; d++) {
        columns[count++] = (layout_column){"published", 9, 0, true, published[d].device};
        columns[count++] = (layout_column){"predicted", 9, 0, false, NULL};
        columns[count++] = (layout_column){"ratio", 7, 1, false, NULL};
        columns[count++] = (layout_column){"overlapped", 10, 2, false, NULL};
    }
    columns[count++] = (layout_column){"measured", 8, 0, true, "present"};
    layout_begin(&t, text, columns, count);
    layout_titles(&t);
    for (int i = 0; i < SKINNY; i++) {
        layout_cell(&t, "%s", skinny_rungs[i]);
        for (int d = 0; d < DEVICES; d++) {
            access_launch l;
            char why[200];
            const published_device *device = devices_model(published[d].device);
            tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, SIDE, SIDE, TILE);
            if (device == NULL || !access_open(&l, explain_skinny("cuda", i), TILE, &p, why, sizeof why)) continue;
            prediction x = predict_on(&l, device);
            double serial = predict_effective_gbps(&l, x.serial_s),
                   overlapped = predict_effective_gbps(&l, x.overlapped_s);
            layout_cell(&t, "%.1f", published[d].gbps[i]);
            layout_cell(&t, "%.2f", serial);
            layout_cell(&t, "%.2f", serial / published[d].gbps[i]);
            layout_cell(&t, "%.2f", overlapped);
            write_skinny(s, skinny_rungs[i], published[d].device, published[d].gbps[i], &x, serial, overlapped);
        }
        if (isnan(measured[i]))
            layout_cell(&t, "-");
        else
            layout_cell(&t, "%.4g", measured[i]);
        layout_end(&t);
    }
    layout_left_out(&t);
    if (side > 0)
        fprintf(text, "present    %s, %s, at %" PRId64 " x %" PRId64 "; `ladder --skinny` has the whole table\n",
                s->present->device->engine, s->present->device->name, side, side);
    else
        fprintf(text, "present    no device of the cuda or opencl engine is here\n");
    fprintf(text, "predicted  bytes of the transactions by each generation's rules over the published bandwidth, plus "
                  "instructions over the issue rate, nothing overlapped; overlapped: the longer of the "
                  "two. Nothing is fitted. A is read by all resident blocks from the same rows: from 4 of "
                  "the memory's 6 (8800 GTX) or 8 (GTX 280) partitions, at that share of the bandwidth\nmissing    s1 "
                  "on the 8800 GTX is predicted 1.6 times too fast: all 16 transactions of a half-warp ask one address "
                  "of one partition, and what that costs beyond 32 bytes each was not published. s3 comes "
                  "out slower than it was, even overlapped: loads of A from few partitions are counted "
                  "before and after the rest of the traffic, a device mixes them\nbytes      12 m n: each block reads "
                  "its two tiles and writes its tile once; the document does not say which bytes it counts\n\n");
}

/* What the lanes of a warp read of shared memory: lane l word l * step % wrap + shift. */
typedef struct pattern {
    const char *text;
    int step, wrap, shift;
} pattern;
static const pattern patterns[] = {{"straight", 1, 1024, 0},      {"permuted", 5, 32, 0},
                                   {"unaligned", 1, 1024, 1},     {"one word for all", 0, 1024, 0},
                                   {"stride of 2", 2, 1024, 0},   {"stride of 3", 3, 1024, 0},
                                   {"stride of 4", 4, 1024, 0},   {"stride of 8", 8, 1024, 0},
                                   {"stride of 16", 16, 1024, 0}, {"stride of 32", 32, 1024, 0}};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

static access_cost pattern_cost(access_era era, const pattern *p)
{
    int64_t address[ACCESS_WARP];
    for (int lane = 0; lane < ACCESS_WARP; lane++) address[lane] = 4 * (lane * p->step % p->wrap + p->shift);
    return access_price(era, READ_A_TILE, address, 1);
}

/* Bytes per second of each pattern on the device that is open; if one fails, which is said, NAN for all. */
static exit_code measure_patterns(const output *s, double gbps[PATTERNS])
{
    enum { TRIES = 3 };
    term_progress("reading shared memory", -1);
    tw_status status = TW_OK;
    for (int i = 0; i < PATTERNS && status == TW_OK; i++) {
        double words_per_s;
        status = tw_lab_shared_pattern(s->present->context, patterns[i].step, patterns[i].wrap, patterns[i].shift,
                                       TRIES, &words_per_s);
        if (status == TW_OK) gbps[i] = 4e-9 * words_per_s;
    }
    term_progress_end();
    if (status == TW_OK) return EXIT_OK;
    for (int i = 0; i < PATTERNS; i++) gbps[i] = NAN;
    return diag_tw(status);
}

static void print_patterns(const output *s, const double gbps[PATTERNS])
{
    const bool measured = !isnan(gbps[PATTERNS - 1]);
    title(s, "NVIDIA Best Practices: \"aside from memory bank conflicts, there is no penalty for non-sequential or "
             "unaligned accesses\" of shared memory");
    static const layout_column columns[] = {{"a warp's words", -16, 0},
                                            {"lanes 0 1 2 .. 31", -17, 0, true, NULL},
                                            {"half, 1.x", 9, 0, true, "wavefronts"},
                                            {"warp, since", 11, 0, false, "predicted"},
                                            {"GB/s", 8, 0, true, "present"},
                                            {"passes", 8, 0, false, NULL}};
    layout_table t;
    layout_begin(&t, s->text, columns, sizeof columns / sizeof *columns - (measured ? 0 : 2));
    layout_titles(&t);
    for (int i = 0; i < PATTERNS; i++) {
        const pattern *p = &patterns[i];
        char words[64];
        access_cost then = pattern_cost(ERA_1_0, p), now = pattern_cost(ERA_NOW, p);
        int at[4] = {0, 1, 2, ACCESS_WARP - 1};
        for (int j = 0; j < 4; j++) at[j] = at[j] * p->step % p->wrap + p->shift;
        snprintf(words, sizeof words, "%d, %d, %d .. %d", at[0], at[1], at[2], at[3]);
        layout_cell(&t, "%s", p->text);
        layout_cell(&t, "%s", words);
        layout_cell(&t, "%.4g", then.transactions / then.requests);
        layout_cell(&t, "%.4g", now.transactions);
        if (measured) {
            layout_cell(&t, "%.5g", gbps[i]);
            layout_cell(&t, "%.3g", gbps[0] / gbps[i]);
        }
        layout_end(&t);
        object o = object_begin(s->json);
        object_text(&o, "document", "004");
        object_text(&o, "shared_pattern", p->text);
        object_number(&o, "wavefronts_1x", then.transactions / then.requests);
        object_number(&o, "wavefronts", now.transactions);
        object_text(&o, "present", measured ? s->present->device->name : NULL);
        object_number(&o, "present_gbps", gbps[i]);
        object_number(&o, "present_passes", gbps[0] / gbps[i]);
        object_end(&o);
    }
    fprintf(s->text,
            "wavefronts  passes through the banks for one instruction: 16 banks and half a warp on 1.x, 32 banks and a "
            "warp since\n");
    if (measured)
        fprintf(s->text,
                "present     %s, %s: bytes that lanes get, and the time over the straight pattern's. A CPU keeps local "
                "memory in its caches, which have no banks of words\n",
                s->present->device->engine, s->present->device->name);
    fprintf(s->text, "\n");
}

/* ---- 5kk73, ECE569, Ruiz 2024 ---- */

/* What the present device reaches; NAN where it could not be measured. */
typedef struct present {
    char name[128];
    double gbps, peak_gflops;
} present;

static present measure_present(const output *s)
{
    static roofs limits;
    const tw_device *d = s->present->device;
    present here = {"no device", NAN, NAN};
    if (s->present->context == NULL) return here;
    int threads = device_is_host(d) ? d->threads : 1;
    term_progress("measuring the device's ceilings", -1);
    roofs_begin(&limits, s->present->context, d);
    snprintf(here.name, sizeof here.name, "%.127s", d->name);
    here.gbps = roofs_memory_bandwidth(&limits, threads, 0) / 1e9;
    here.peak_gflops = roofs_peak(&limits, TW_F32, threads, 0) / 1e9;
    term_progress_end();
    return here;
}

static const char *const models[] = {"8800 GT", "8800 GTX", "GTX 280", "P100", "H200"};

static void print_ratio(const output *s, layout_table *table, const char *what, const char *formula, int block_m,
                        int block_n, const present *here)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, SIDE, SIDE, SIDE);
    term_number t;
    double asked = roofline_bytes_asked(&p, block_m, block_n), ratio = roofline_flops(&p) / asked;
    object o = object_begin(s->json);
    object_text(&o, "document", "000");
    object_text(&o, "rung", what);
    object_number(&o, "bytes_asked", asked);
    object_number(&o, "flop_per_byte", ratio);
    layout_cell(table, "%s", what);
    layout_cell(table, "%s", formula);
    layout_cell(table, "%.0f", asked);
    layout_cell(table, "%.4g", ratio);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const published_device *d = devices_model(models[i]);
        double bound = d != NULL ? fmin(ratio * d->memory_gbps, d->peak_gflops) : (double)NAN;
        layout_cell(table, "%s", term_gflops(bound, t));
        object_number(&o, models[i], bound);
    }
    layout_cell(table, "%s", term_gflops(fmin(ratio * here->gbps, here->peak_gflops), t));
    layout_end(table);
    object_end(&o);
}

static void print_ratios(const output *s, const present *here)
{
    title(s, "5kk73: computation-to-memory ratio at 4096 x 4096 x 4096, and bound_asked (GFLOP/s, no cache) "
             "where it leads");
    layout_table t;
    const layout_column columns[] = {{"", -16, 0},
                                     {"as a formula", -15, 2},
                                     {"bytes asked", 14, 3},
                                     {"flop/byte", 9, 0},
                                     {models[0], 8, 1, true, NULL},
                                     {models[1], 8, 0, false, NULL},
                                     {models[2], 8, 0, false, NULL},
                                     {models[3], 8, 0, false, NULL},
                                     {models[4], 8, 0, false, NULL},
                                     {"present", 8, 0, true, NULL}};
    layout_begin(&t, s->text, columns, sizeof columns / sizeof *columns);
    layout_titles(&t);
    print_ratio(s, &t, "naive, r01", "1/4", 1, 1, here);
    print_ratio(s, &t, "tiles of 8", "b/4", 8, 8, here);
    print_ratio(s, &t, "tiles of 16", "b/4", 16, 16, here);
    print_ratio(s, &t, "tiles of 32", "b/4", 32, 32, here);
    print_ratio(s, &t, "16 x 64, r05", "bm bn/2(bm+bn)", 16, 64, here);
    layout_left_out(&t);
    fprintf(s->text,
            "published: 1/4, b/4 and \"the same\" for the outer product, which holds for equal tiles. A bound stops at "
            "the device's peak; caches may beat it, and do: `ladder` prints it (no-cache) beside the roofline's, "
            "which nothing may beat. Present: %s\n\n",
            here->name);
}

static void print_share(layout_table *t, const char *what, double gbps, double peak_gflops, const char *from)
{
    const double allowed = gbps / 4;
    layout_cell(t, "%.24s", what);
    layout_cell(t, "%.4g", gbps);
    layout_cell(t, "%.6g", peak_gflops);
    layout_cell(t, "%.4g of %.6g = %.2f %%  (%s)", allowed, peak_gflops, 100 * allowed / peak_gflops, from);
    layout_end(t);
}

static void print_peak_share(const output *s, const present *here)
{
    const published_device *d = devices_model("P100");
    const double counted_gbps = 720, counted_gflops = 9300, bytes_per_flop = 4;
    title(s, "ECE569: how far from peak is the product with global memory alone?");
    fprintf(s->text, "2 reads of 4 bytes for a multiply and an add: %.0f bytes per flop\n", bytes_per_flop);
    static const layout_column columns[] = {
        {"", -24, 0}, {"GB/s", 8, 2}, {"peak", 9, 1}, {"GFLOP/s allowed", -42, 0, true, NULL}};
    layout_table t;
    layout_begin(&t, s->text, columns, sizeof columns / sizeof *columns);
    layout_titles(&t);
    print_share(&t, "P100 as it counts", counted_gbps, counted_gflops, "published");
    if (d != NULL) print_share(&t, "P100, its data sheet", d->memory_gbps, d->peak_gflops, "by its figures");
    print_share(&t, here->name, here->gbps, here->peak_gflops, "measured");
    layout_left_out(&t);
    fputc('\n', s->text);
    object o = object_begin(s->json);
    object_text(&o, "document", "002");
    object_number(&o, "published_gflops", 180);
    object_number(&o, "counted_gflops", counted_gbps / bytes_per_flop);
    object_number(&o, "of_gflops", counted_gflops);
    object_text(&o, "present", here->name);
    object_number(&o, "present_gflops", here->gbps / bytes_per_flop);
    object_number(&o, "present_of_gflops", here->peak_gflops);
    object_end(&o);
}

static void print_intensity(const output *s, layout_table *t, const char *what, const char *formula,
                            const tw_problem *p, double transfers, bool with_c)
{
    double flops = roofline_flops(p);
    object o = object_begin(s->json);
    object_text(&o, "document", "003");
    object_text(&o, "method", what);
    object_number(&o, "flop", flops);
    object_number(&o, "transfers", transfers);
    object_number(&o, "intensity", flops / transfers);
    object_end(&o);
    layout_cell(t, "%s", what);
    layout_cell(t, "%s", formula);
    layout_cell(t, "%.0f", transfers);
    layout_cell(t, "%.6g", flops / transfers);
    layout_cell(t, "%s", with_c ? "counted" : "left out");
    layout_end(t);
}

static void print_intensities(const output *s)
{
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 10000, 10000, 10000);
    title(s, "Ruiz 2024: compute intensity, flop per element moved, at its n = 10000 with r = 100, over the whole "
             "matrix");
    static const layout_column columns[] = {
        {"", -32, 0}, {"formula", -10, 1}, {"elements moved", 14, 0}, {"intensity", 10, 0}, {"C", -10, 0}};
    layout_table t;
    layout_begin(&t, s->text, columns, sizeof columns / sizeof *columns);
    layout_titles(&t);
    print_intensity(s, &t, "naive", "1", &p, roofline_bytes_asked(&p, 1, 1) / 4, false);
    print_intensity(s, &t, "tiled, r = 100", "r", &p, roofline_bytes_asked(&p, 100, 100) / 4, false);
    print_intensity(s, &t, "optimal", "n", &p, roofline_bytes_asked(&p, p.m, p.n) / 4, false);
    print_intensity(s, &t, "optimal, with the writes of C", "2n/3", &p, roofline_compulsory_bytes(&p) / 4, true);
    layout_left_out(&t);
    fprintf(s->text,
            "Its 100 and 10000 times hold while memory is the bottleneck: no further than peak / (bandwidth "
            "per element), which is %.0f flop per element on a P100. Flop per byte is a quarter of it. The curve over "
            "r on this CPU: `ladder --rung r02 --tile 1,2,4,...`\n",
            9300.0 / (720.0 / 4));
}

exit_code explain_tables(FILE *text, FILE *json, const explain_present *shown)
{
    const output to = {text, json, shown};
    double shared_gbps[PATTERNS];
    exit_code code = EXIT_OK;
    for (int i = 0; i < PATTERNS; i++) shared_gbps[i] = NAN;
    if (shown->context != NULL && !device_is_host(shown->device)) code = measure_patterns(&to, shared_gbps);
    print_skinny(&to);
    print_patterns(&to, shared_gbps);
    present here = measure_present(&to);
    print_ratios(&to, &here);
    print_peak_share(&to, &here);
    print_intensities(&to);
    return code;
}
