/* report_stories.c - each rung's own words, its numbers on every machine beside those of the rung before, its code with
 * what changed; and the traffic that the access model predicts beside what hardware counted. */
#include "report_limits.h"
#include "report_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../../lab/devices.h"
#include "../../program/units.h"
#include "../access/predict.h"
#include "../published.h"
#include "html.h"
#include "story_page.h"

/* ---- which rungs ---- */

static int by_rung(const void *a, const void *b)
{
    const tw_lab_kernel *const *x = a, *const *y = b;
    int c = rung_compare((*x)->rung, (*y)->rung);
    return c != 0 ? c : strcmp((*x)->engine, (*y)->engine);
}

/* The kernels of the records in the order of the rungs, each rung of an engine once; *count of them. NULL: no
 * memory. */
static const tw_lab_kernel **kernels_of(const report *r, int *count)
{
    int most = tw_lab_kernel_count();
    const tw_lab_kernel **out = calloc((size_t)most + 1, sizeof *out);
    bool *seen = calloc((size_t)most + 1, sizeof *seen);
    *count = 0;
    for (int i = 0; seen != NULL && i < r->all->count; i++) {
        const tw_lab_kernel *kernel = r->all->rows[i].r.library == NULL ? row_kernel(&r->all->rows[i]) : NULL;
        for (int k = 0; kernel != NULL && k < most; k++) seen[k] |= tw_lab_kernel_at(k) == kernel;
    }
    for (int k = 0; out != NULL && seen != NULL && k < most; k++) {
        bool again = false;
        for (int i = 0; i < *count; i++) again |= strcmp(out[i]->file, tw_lab_kernel_at(k)->file) == 0;
        if (seen[k] && !again) out[(*count)++] = tw_lab_kernel_at(k);
    }
    if (seen == NULL) {
        free(out);
        out = NULL;
    }
    if (out != NULL) qsort(out, (size_t)*count, sizeof *out, by_rung);
    free(seen);
    return out;
}

/* ---- one rung ---- */

static void number_row(table *t, const report *r, const ladder *l, const ladder_step *step)
{
    const ladder_step *before = ladder_before(l, step);
    const record *d = &step->row->r;
    const char *variant = strchr(step->label, ' ');
    bool compared = before != NULL && row_timed(before->row);
    report_machine_text machine;
    char text[1200];
    units_text x;
    snprintf(text, sizeof text, "%s%s%.900s", report_machine(r, l->machine, machine), variant != NULL ? "," : "",
             variant != NULL ? variant : "");
    table_row(t, text);
    if (!row_timed(step->row)) {
        snprintf(text, sizeof text, "%s%.1100s",
                 d->refused != NULL ? "refused: " : "not timed: ", d->refused != NULL ? d->refused : d->verified);
        table_words(t, false, text);
        return;
    }
    table_cell(t, report_speed(compared ? before->row->r.gflops : (double)NAN, x));
    table_cell(t, report_speed(d->gflops, x));
    table_cell(t, units_factor(compared ? before->row->r.median_s / d->median_s : (double)NAN, x));
    table_cell(t, report_speed(step->by_default != NULL && row_timed(step->by_default) ? step->by_default->r.gflops
                                                                                       : (double)NAN,
                               x));
    table_cell(t, units_bytes(compared ? before->row->r.bytes_asked : (double)NAN, x));
    table_cell(t, units_bytes(d->bytes_asked, x));
}

/* The ladders in which a rung's numbers are shown: the main ones, and the thin ones of the first width. */
static bool is_shown(const report *r, const ladder *l)
{
    return l == ladder_main(r->ladders, l->machine) || (l->skinny && l->k == PUBLISHED_WIDTH);
}

static void tell_numbers(const report *r, const char *rung)
{
    static const char *const headings[] = {"Machine",       "Rung before",  "This rung", "Times",
                                           "Default build", "Asked before", "Asked"};
    table t;
    int shown = 0;
    for (int i = 0; i < r->ladders->count; i++) {
        const ladder *l = &r->ladders->items[i];
        for (int s = 0; is_shown(r, l) && s < l->count; s++) {
            const tw_lab_kernel *kernel = row_kernel(l->steps[s].row);
            if (kernel == NULL || strcmp(kernel->rung, rung) != 0) continue;
            if (shown++ == 0) {
                table_begin(&t, r->out, "Before and after");
                html_print(r->out, "<caption>%t before and after, GFLOP/s and bytes asked.</caption>\n", rung);
                for (size_t h = 0; h < sizeof headings / sizeof *headings; h++) table_heading(&t, headings[h]);
            }
            number_row(&t, r, l, &l->steps[s]);
        }
    }
    if (shown > 0) *r->no_memory |= !table_end(&t);
}

static bool is_host(const tw_lab_kernel *kernel) { return strcmp(kernel->engine, "cpu") == 0; }

/* The words of the first of these kernels, which are one rung on one kind of machine, and the code of each. */
static tw_status tell_kernels(FILE *out, const tw_lab_kernel *const *kernels, int count)
{
    tw_status status = TW_OK;
    html_print(out, "<h4>%h: %t</h4>\n", is_host(kernels[0]) ? "On the CPU" : "On GPUs", kernels[0]->idea);
    for (int i = 0; status == TW_OK && i < count; i++) {
        story s;
        story_diff d = {0};
        status = story_tell(kernels[i], &s);
        if (status != TW_OK) break;
        if (i == 0) story_page_words(out, &s);
        status = story_changes(&s, &d);
        if (status == TW_OK) story_page_code(out, &s, &d);
        story_diff_free(&d);
        story_free(&s);
    }
    return status;
}

static tw_status tell_rung(const report *r, const tw_lab_kernel *const *kernels, int count, int number)
{
    FILE *out = r->out;
    tw_status status = TW_OK;
    html_print(out, "<article class=\"story\" aria-labelledby=\"rung-%d\">\n<h3 id=\"rung-%d\">%t</h3>\n", number,
               number, kernels[0]->rung);
    tell_numbers(r, kernels[0]->rung);
    for (int first = 0, last; status == TW_OK && first < count; first = last) {
        for (last = first + 1; last < count && is_host(kernels[last]) == is_host(kernels[first]);) last++;
        status = tell_kernels(out, kernels + first, last - first);
    }
    fputs("</article>\n", out);
    return status;
}

bool report_has_stories(const report *r)
{
    bool has = false;
    for (int i = 0; !has && i < r->all->count; i++)
        has = r->all->rows[i].r.library == NULL && row_kernel(&r->all->rows[i]) != NULL;
    return has;
}

tw_status report_stories(const report *r)
{
    int count;
    const tw_lab_kernel **kernels = kernels_of(r, &count);
    tw_status status = kernels != NULL ? TW_OK : TW_NO_MEMORY;
    fputs("<section id=\"stories\" aria-labelledby=\"stories-h\">\n<h2 id=\"stories-h\">The rungs</h2>\n<p>Each is one "
          "idea more than the rung before. The words stand at the head of its file; the code follows, with what "
          "changed: + new, - gone.</p>\n",
          r->out);
    for (int first = 0, last; status == TW_OK && first < count; first = last) {
        for (last = first + 1; last < count && strcmp(kernels[last]->rung, kernels[first]->rung) == 0;) last++;
        status = tell_rung(r, kernels + first, last - first, first);
    }
    fputs("</section>\n", r->out);
    free(kernels);
    return status;
}

/* ---- traffic ---- */

/* The latest counters of a step: same device, rung, shape and transposes, and its tile where the counted launch had
 * one. r14 has those of the kernel that it was. */
static const records_row *counters_of(const report *r, const ladder_step *step)
{
    const record *d = &step->row->r;
    const tw_lab_kernel *kernel = row_kernel(step->row);
    const char *rung = kernel != NULL ? kernel->rung : row_rung(step->row);
    const records_row *found = NULL;
    for (int i = 0; i < r->all->count; i++) {
        const records_row *row = &r->all->rows[i];
        const record *c = &row->r;
        if (row->counted && strcmp(c->device, d->device) == 0 && strcmp(c->engine, d->engine) == 0 &&
            strcmp(row_rung(row), rung) == 0 && c->m == d->m && c->n == d->n && c->k == d->k &&
            (c->op_a == 't') == (d->op_a == 't') && (c->op_b == 't') == (d->op_b == 't') &&
            (c->tile <= 0 || c->tile == d->tile))
            found = row;
    }
    return found;
}

/* What the access model predicts; what it has nothing of stays as it is. */
static void predict(const ladder_step *step, predict_degrees *degrees, predict_traffic *traffic)
{
    const published_device *p;
    access_launch launch;
    if (!report_launch(step, &launch, &p)) return;
    *degrees = predict_average(&launch, p != NULL ? access_era_of(p->capability) : ERA_NOW);
    if (p != NULL) *traffic = predict_cached(&launch, p);
}

/* "0.471 to 17.2 GB": both ends where they differ. */
static const char *interval(double low, double high, char out[80])
{
    units_text x, y;
    units_bytes(low, x), units_bytes(high, y);
    if (strcmp(x, y) == 0)
        snprintf(out, 80, "%s", x);
    else
        snprintf(out, 80, "%s to %s", x, y);
    return out;
}

static void traffic_row(table *out, const report *r, const ladder_step *step)
{
    const record *d = &step->row->r;
    const records_row *row = counters_of(r, step);
    record none = record_blank();
    counters c;
#define NUMBER(name) c.name = row != NULL ? row->c.name : (double)NAN;
    COUNTER_FIELDS(NUMBER)
#undef NUMBER
    const record *measured = row != NULL ? &row->r : &none;
    predict_degrees p = {c.sectors_per_load_predicted, c.bank_degree_load_predicted, c.bank_degree_store_predicted};
    predict_traffic t = {NAN, NAN, NAN, NAN};
    predict(step, &p, &t);
    const double flops = report_flops(d);
    units_text x;
    char both[80];
    table_row(out, step->label);
    table_cell(out, units_bytes(d->bytes_asked, x));
    table_cell(out, units_number(flops / d->bytes_asked, x));
    table_cell(out, units_bytes(row_operand_bytes(step->row), x));
    table_cell(out, interval(t.dram_low_bytes, t.dram_high_bytes, both));
    table_cell(out, units_bytes(c.dram_read_bytes, x));
    table_cell(out, units_bytes(t.l2_bytes, x));
    table_cell(out, units_bytes(c.l2_bytes, x));
    table_cell(out, units_number(flops / c.l2_bytes, x));
    table_cell(out, units_number(p.sectors_per_load, x));
    table_cell(out, units_number(measured->sectors_per_load, x));
    table_cell(out, units_number(p.bank_degree_load, x));
    table_cell(out, units_number(measured->bank_degree_load, x));
    table_cell(out, units_number(p.bank_degree_store, x));
    table_cell(out, units_number(measured->bank_degree_store, x));
    table_cell(out, units_percent(c.issue_percent / 100, x));
    table_cell(out, units_percent(c.fma_percent / 100, x));
}

/* What was counted of each step beside what is predicted, as a picture. */
static void scatter(const report *r, const ladder *l)
{
    double *counted = calloc((size_t)l->count + 1, sizeof *counted);
    *r->no_memory |= counted == NULL;
    for (int i = 0; counted != NULL && i < l->count; i++) {
        const records_row *row = row_timed(l->steps[i].row) ? counters_of(r, &l->steps[i]) : NULL;
        counted[i] = row != NULL ? row->c.l2_bytes : (double)NAN;
    }
    if (counted != NULL) report_scatter(r, l, counted);
    free(counted);
}

static void traffic_table(const report *r, const ladder *l)
{
    static const char *const headings[] = {"Rung",
                                           "Asked",
                                           "Flop per byte asked",
                                           "A and B once",
                                           "DRAM read, predicted",
                                           "DRAM read, counted",
                                           "L2, predicted",
                                           "L2, counted",
                                           "Flop per byte of L2, counted",
                                           "Sectors per load, predicted",
                                           "Sectors per load, counted",
                                           "Wavefronts per shared load, predicted",
                                           "Wavefronts per shared load, counted",
                                           "Wavefronts per shared store, predicted",
                                           "Wavefronts per shared store, counted",
                                           "Issue slots used",
                                           "FMA pipe used"};
    report_machine_text machine;
    table t;
    table_begin(&t, r->out, "Traffic");
    html_print(r->out, "<caption>%t, k = ", report_machine(r, l->machine, machine));
    fprintf(r->out, "%" PRId64 ".</caption>\n", l->k);
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++) table_heading(&t, headings[i]);
    for (int i = 0; i < l->count; i++)
        if (row_timed(l->steps[i].row)) traffic_row(&t, r, &l->steps[i]);
    *r->no_memory |= !table_end(&t);
    scatter(r, l);
}

/* Sectors and banks are NVIDIA's: of other devices nothing is said. */
static bool has_traffic(const report *r, const ladder *l)
{
    const machine *x = &r->ladders->machines[l->machine];
    const published_device *p = devices_published(x->device);
    return is_shown(r, l) && strcmp(x->engine, "cpu") != 0 && p != NULL && p->capability[0] != '\0';
}

bool report_has_traffic(const report *r)
{
    bool has = false;
    for (int i = 0; i < r->ladders->count; i++) has |= has_traffic(r, &r->ladders->items[i]);
    return has;
}

tw_status report_traffic(const report *r)
{
    int counted = 0;
    for (int i = 0; i < r->all->count; i++) counted += r->all->rows[i].counted;
    fputs("<section id=\"traffic\" aria-labelledby=\"traffic-h\">\n<h2 id=\"traffic-h\">Traffic</h2>\n"
          "<p>A warp's load moves sectors of 32 bytes: 4 where all of them are wanted. Shared memory serves one word "
          "of each of 32 banks per wavefront: 1 where no two lanes want one bank. On NVIDIA's devices the access model "
          "derives both from the subscripts in the kernels; ncu counts them. Both are averages over a rung's "
          "instructions of a kind; a dash says that there is no model, or no such access. DRAM reads are predicted for "
          "blocks that run in step with each other and for blocks that do not; the L2's bytes, each sector once for a "
          "block, are more than it counts where an L1 serves several blocks, or their requests are merged on the way. ",
          r->out);
    if (counted > 0)
        html_print(r->out, "%d records hold what the hardware counted.</p>\n", counted);
    else
        fputs(
            "The records hold no hardware counters; <code>./dev counters</code> makes them with Nsight Compute.</p>\n",
            r->out);
    for (int i = 0; i < r->ladders->count; i++)
        if (has_traffic(r, &r->ladders->items[i])) traffic_table(r, &r->ladders->items[i]);
    fputs("</section>\n", r->out);
    return TW_OK;
}
