/* report_shared.c - see report_shared.h. */
#include "report_shared.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "html.h"

bool report_has_ladder(const report *r)
{
    for (int i = 0; i < r->ladders->machine_count; i++)
        if (ladder_main(r->ladders, i) != NULL) return true;
    return false;
}

bool report_has_libraries(const report *r)
{
    for (int i = 0; i < r->ladders->count; i++)
        if (r->ladders->items[i].library) return true;
    return false;
}

const char *report_engine_name(const char *engine)
{
    return strcmp(engine, "cpu") == 0      ? "CPU"
           : strcmp(engine, "opencl") == 0 ? "OpenCL"
           : strcmp(engine, "cuda") == 0   ? "CUDA"
                                           : engine;
}

const char *report_device(const machine *x, report_device_text out)
{
    int used = snprintf(out, sizeof(report_device_text), "%.100s", x->device);
    if (x->number > 0) snprintf(out + used, sizeof(report_device_text) - (size_t)used, " (%d)", x->number);
    return out;
}

const char *report_machine(const report *r, int machine, report_machine_text out)
{
    report_device_text device;
    const struct machine *x = &r->ladders->machines[machine];
    snprintf(out, sizeof(report_machine_text), "%.20s on %.110s", report_engine_name(x->engine),
             report_device(x, device));
    return out;
}

void report_machine_name(const report *r, int machine)
{
    report_machine_text text;
    html_text(r->out, report_machine(r, machine, text));
}

const char *report_speed(double gflops, units_text out)
{
    if (!(gflops >= 1000 && gflops < 1e9)) return units_gflops(gflops, out);
    snprintf(out, UNITS_TEXT, "%.0f", gflops);
    return out;
}

double report_flops(const record *r) { return 2 * (double)r->m * (double)r->n * (double)r->k; }

double report_peak(const ladder *l, const record *of)
{
    double best = NAN;
    for (int i = 0; i < l->count; i++) {
        const record *r = &l->steps[i].row->r;
        if (strcmp(r->dtype, of->dtype) == 0 && r->threads == of->threads && r->peak_gflops > 0 &&
            !(best >= r->peak_gflops))
            best = r->peak_gflops;
    }
    return best;
}

double report_memory_gbps(const ladder *l) { return report_memory_gbps_of(l, 0); }

double report_memory_gbps_of(const ladder *l, int threads)
{
    double best = NAN;
    for (int i = 0; i < l->count; i++) {
        const record *r = &l->steps[i].row->r;
        if (threads > 0 && r->threads != threads) continue;
        const double gbps = r->no_cache_gflops * r->bytes_asked / report_flops(r);
        if (isfinite(gbps) && gbps > 0 && !(best >= gbps)) best = gbps;
    }
    return best;
}

/* From which rung on a colour holds, and what those rungs have in common. */
static const struct {
    int first, colour;
    const char *words;
} ideas[] = {{14, 0, "production kernels, which tw_gemm runs"},
             {11, 4, "what the machine offers: warps, TMA, matrix units"},
             {8, 3, "more work for each thread"},
             {5, 2, "outer product in registers"},
             {2, 1, "tiles in shared memory, and how they are loaded"},
             {1, 5, "one thread for each element"}};

enum { IDEAS = sizeof ideas / sizeof *ideas };

int report_keys(const chart_bar *bars, int count, chart_key keys[REPORT_KEYS])
{
    int found = 0;
    bool beside = false, others = false;
    for (int idea = IDEAS - 1; idea >= 0; idea--) {
        bool used = false;
        for (int i = 0; i < count; i++) /* a kernel of nobody's table has r01's colour */
            used |= bars[i].series >= 0 && bars[i].series % CHART_COLOURS == ideas[idea].colour &&
                    (ideas[idea].first > 1 || bars[i].label[0] == 'r');
        if (used) keys[found++] = (chart_key){ideas[idea].words, ideas[idea].colour, false};
    }
    for (int i = 0; i < count; i++) beside |= !isnan(bars[i].beside), others |= bars[i].series == CHART_NO_SERIES;
    if (others) keys[found++] = (chart_key){"whole products, by a library and by tw_gemm", CHART_NO_SERIES, false};
    if (beside)
        keys[found++] = (chart_key){"hollow: the same rung with the compiler's unrolling", CHART_NO_SERIES, true};
    return found;
}

int report_series(const records_row *row)
{
    const char *rung = row_rung(row);
    const tw_lab_kernel *kernel = row_kernel(row);
    char *end;
    long number = rung[0] == 'r' ? strtol(rung + 1, &end, 10) : 0;
    for (size_t i = 0; number >= 1 && number <= 14 && i < IDEAS; i++)
        if (number >= ideas[i].first) /* a variant, as r03t, has dashes of its own */
            return chart_series(ideas[i].colour, (int)number - ideas[i].first + (*end != '_' && *end != '\0' ? 2 : 0));
    int letters = 0;
    for (const char *c = rung; *c != '\0'; c++) letters += (unsigned char)*c;
    return chart_series(kernel != NULL && kernel->family ? 0 : CHART_COLOURS - 1, 1 + letters % (CHART_DASHES - 1));
}

const char *report_shape(const ladder *l, report_shape_text out)
{
    const size_t room = sizeof(report_shape_text);
    int used = snprintf(out, room, "%" PRId64 " x %" PRId64 " x %" PRId64, l->m, l->n, l->k);
    if (ladder_is_plain(l)) return out;
    bool tight = l->lda == (l->op_a == 't' ? l->m : l->k) && l->ldb == (l->op_b == 't' ? l->k : l->n) && l->ldc == l->n;
    if (l->op_a == 't' || l->op_b == 't')
        used += snprintf(out + used, room - (size_t)used, " %s", l->op_a != 't' ? "NT" : l->op_b != 't' ? "TN" : "TT");
    if (!tight && l->lda == l->ldb && l->ldb == l->ldc)
        used += snprintf(out + used, room - (size_t)used, ", ld %" PRId64, l->lda);
    else if (!tight)
        used += snprintf(out + used, room - (size_t)used, ", ld %" PRId64 " %" PRId64 " %" PRId64, l->lda, l->ldb,
                         l->ldc);
    if (l->align_a != LADDER_ALIGN || l->align_b != LADDER_ALIGN || l->align_c != LADDER_ALIGN)
        used += snprintf(out + used, room - (size_t)used, ", aligned to %" PRId64 " %" PRId64 " %" PRId64, l->align_a,
                         l->align_b, l->align_c);
    if (fabs(l->alpha - 1) > 0) used += snprintf(out + used, room - (size_t)used, ", alpha %g", l->alpha);
    if (fabs(l->beta) > 0) used += snprintf(out + used, room - (size_t)used, ", beta %g", l->beta);
    if (l->batch >= 0) snprintf(out + used, room - (size_t)used, ", batches of %" PRId64, l->batch);
    return out;
}

/* ---- the frame of a slide ---- */

void slide_begin(FILE *out, const char *id, int number)
{
    html_print(out, "<section class=\"slide\" id=\"%h-%d\" aria-labelledby=\"%h-%d-h\">\n<h2 id=\"%h-%d-h\">", id,
               number, id, number, id, number);
}

void slide_figure(FILE *out) { fputs("</h2>\n<figure>\n", out); }

void slide_answer(FILE *out) { fputs("</figure>\n<details><summary>Answer</summary>\n<ul>\n", out); }

void slide_end(FILE *out) { fputs("</ul>\n</details>\n</section>\n", out); }
