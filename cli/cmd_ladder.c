/* cmd_ladder.c - `tilewright ladder`: every rung in order, verified, timed, and set beside the bounds of this machine. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "cmd.h"
#include "row.h"
#include "rungs.h"
#include "say.h"
#include "term.h"

/* Multiply-adds of a reference; seconds of samples per row; seconds that one run of the slowest rung may take. */
static const double REFERENCE_WORK = 5e7, LIMIT_S = 1, LONGEST_S = 3;

enum { DEFAULT_SIZE = 1024, PROBE_SIZE = 512, LEAST_SIZE = 128, MOST_BARS = 1024 };

typedef struct bar {
    char label[48];
    double gflops;
} bar;

typedef struct ladder {
    session *s;
    tw_problem problem;
    rung_list rungs;
    trial trial;
    roofs limits;
    double before_s; /* median of the row before that was timed; NAN: none */
    int failed, bars;
    bar bar[MOST_BARS];
} ladder;

/* ---- what is to be computed ---- */

static tw_problem square(tw_dtype dtype, int64_t n)
{
    return tw_problem_make(dtype, TW_N, TW_N, n, n, n);
}

/* Seconds that one run of a row takes at PROBE_SIZE. */
static exit_code probe(ladder *l, const tw_lab_kernel *first, double *seconds)
{
    trial t;
    tw_problem small = square(l->problem.dtype, PROBE_SIZE);
    tw_lab_choice choice = {.kernel = first->name};
    measure_options how = {.samples = 3, .limit_s = 1};
    measure_result result = {0};
    tw_status status = trial_open(&t, l->s->context, &small, 1, 1e6);
    if (status == TW_OK) {
        status = trial_time(&t, &choice, &l->s->device, &how, &result);
        trial_close(&t);
    }
    *seconds = result.median_s;
    return status == TW_OK ? EXIT_OK : say_lab(status, "a first timed run");
}

/* The default size, halved until the first rung, which the others only improve on, takes seconds and not minutes. */
static exit_code reduce_size(ladder *l)
{
    int64_t n = DEFAULT_SIZE;
    double probe_s;
    exit_code code = probe(l, l->rungs.rows[0], &probe_s);
    while (code == EXIT_OK && n > LEAST_SIZE && probe_s * pow((double)n / PROBE_SIZE, 3) > LONGEST_S) n /= 2;
    if (n < DEFAULT_SIZE)
        fprintf(l->s->text,
                "size       %" PRId64 ", not %d: there %s would need about %.0f s for one run; --size N decides\n", n,
                DEFAULT_SIZE, l->rungs.rows[0]->rung, probe_s * pow((double)DEFAULT_SIZE / PROBE_SIZE, 3));
    l->problem = square(l->problem.dtype, n);
    return code;
}

static void keep_tiled(rung_list *rungs)
{
    int kept = 0;
    for (int i = 0; i < rungs->count; i++)
        if (rungs->rows[i]->default_tile > 0) rungs->rows[kept++] = rungs->rows[i];
    rungs->count = kept;
}

static exit_code choose(ladder *l)
{
    const options *opt = l->s->opt;
    if (opt->sizes.count > 0 && opt->shapes.count > 0)
        return say(EXIT_USAGE, "--size and --shape each name the shape: give one");
    l->problem = square(tw_lab_dtype_named(opt->dtypes.count > 0 ? opt->dtypes.items[0] : "f32")->dtype, DEFAULT_SIZE);
    if (opt->sizes.count > 0) l->problem = square(l->problem.dtype, opt->sizes.items[0]);
    if (opt->shapes.count > 0) {
        shape p = opt->shapes.items[0];
        l->problem = tw_problem_make(l->problem.dtype, TW_N, TW_N, p.m, p.n, p.k);
    }
    exit_code code = rungs_choose(l->s, &l->problem, &l->rungs);
    if (code == EXIT_OK && opt->tiles.count > 0) keep_tiled(&l->rungs);
    if (code == EXIT_OK && l->rungs.count == 0)
        return say(EXIT_USAGE, "none of these rungs has a tile edge that --tile could choose");
    if (code == EXIT_OK && opt->sizes.count + opt->shapes.count == 0) code = reduce_size(l);
    return code;
}

/* ---- telling ---- */

static void print_header(const ladder *l)
{
    FILE *text = l->s->text;
    fprintf(text, "ladder     %s, C(%" PRId64 " x %" PRId64 ") = A B with k = %" PRId64 ", on %s\n\n",
            tw_lab_dtype_of(l->problem.dtype)->name, l->problem.m, l->problem.n, l->problem.k, l->s->device.name);
    fprintf(text, "%-20s %4s %10s %9s %8s %8s %9s %7s %9s %9s\n", "rung", "thr", "median", "GFLOP/s", "x before",
            "of peak", "asked", "flop/B", "no-cache", "bound");
}

static void print_numbers(const ladder *l, const record *d)
{
    term_number median, speed, of_peak, asked, no_cache, bound;
    char factor[16] = "";
    if (!isnan(l->before_s)) snprintf(factor, sizeof factor, "%.2f", l->before_s / d->median_s);
    double flops = 2 * (double)d->m * (double)d->n * (double)d->k;
    fprintf(l->s->text, "%4d %10s %9s %8s %8s %9s %7.3g %9s %9s\n", d->threads, term_seconds(d->median_s, median),
            term_gflops(d->gflops, speed), factor, term_percent(d->gflops / d->peak_gflops, of_peak),
            term_bytes(d->bytes_asked, asked), flops / d->bytes_asked, term_gflops(d->no_cache_gflops, no_cache),
            term_gflops(d->bound_gflops, bound));
}

static exit_code finish_row(ladder *l, const row *r, const char *label)
{
    FILE *text = l->s->text;
    term_paint paint = term_paint_for(text);
    term_progress_end();
    fprintf(text, "%-20s ", label);
    if (r->outcome == ROW_REFUSED) fprintf(text, "%srefused: %s%s\n", paint.faint, r->text, paint.plain);
    if (r->outcome == ROW_WRONG) fprintf(text, "%sWRONG: %s%s\n", paint.bad, r->text, paint.plain);
    if (r->outcome >= ROW_IMPOSSIBLE) print_numbers(l, &r->record);
    if (row_failed(r)) say(EXIT_CHECK, "%s: %s", r->record.kernel, r->text);
    l->failed += row_failed(r);
    if (r->outcome == ROW_TIMED) {
        l->before_s = r->record.median_s;
        if (l->bars < MOST_BARS) {
            bar *b = &l->bar[l->bars++];
            snprintf(b->label, sizeof b->label, "%s", label);
            b->gflops = r->record.gflops;
        }
    }
    return session_record(l->s, &r->record);
}

static void print_bars(const ladder *l)
{
    FILE *text = l->s->text;
    int width = term_width() - 34;
    double most = 0;
    for (int i = 0; i < l->bars; i++) most = fmax(most, l->bar[i].gflops);
    fprintf(text, "\n");
    for (int i = 0; i < l->bars; i++) {
        term_number speed;
        fprintf(text, "%-20s %9s  ", l->bar[i].label, term_gflops(l->bar[i].gflops, speed));
        term_bar(text, l->bar[i].gflops, most, width < 10 ? 10 : width);
        fprintf(text, "\n");
    }
}

static void print_notes(const ladder *l)
{
    FILE *text = l->s->text;
    fprintf(text, "\nof peak    of the multiply-add peak of the row's own threads, measured in this run:");
    for (const roof *p = l->limits.peaks; p->threads != 0; p++) {
        term_number speed;
        fprintf(text, "%s %s GFLOP/s on %d thread%s", p == l->limits.peaks ? "" : ",",
                term_gflops(p->best / 1e9, speed), p->threads, p->threads == 1 ? "" : "s");
    }
    fprintf(text, "\nasked      bytes of A and B that the rung asks of memory; flop/B is the documents' "
                  "computation-to-memory ratio\n"
                  "no-cache   GFLOP/s that flop/B allows at memory's bandwidth: caches may beat it\n"
                  "bound      GFLOP/s that the peak, and moving each operand once, allow: nothing may beat it\n"
                  "Each row was verified before it was timed.\n");
}

/* ---- running ---- */

static exit_code run_row(ladder *l, const tw_lab_kernel *kernel, int64_t tile)
{
    static row result;
    char label[48];
    row_wish wish = {.kernel = kernel, .tile = (int)tile, .limit_s = LIMIT_S};
    term_progress(kernel->rung, -1);
    exit_code code = row_run(l->s, &l->trial, &l->limits, &wish, &result);
    if (result.plan.tile > 0 && tile > 0) tile = result.plan.tile; /* never more than the problem */
    int used = snprintf(label, sizeof label, "%s", kernel->rung);
    if (tile > 0) snprintf(label + used, sizeof label - (size_t)used, " %" PRId64, tile);
    return code == EXIT_OK ? finish_row(l, &result, label) : code;
}

static exit_code run_rung(ladder *l, const tw_lab_kernel *kernel)
{
    const number_list *tiles = &l->s->opt->tiles;
    exit_code code = EXIT_OK;
    if (tiles->count == 0) return run_row(l, kernel, 0);
    l->before_s = NAN; /* a sweep compares the tiles of one rung */
    for (int i = 0; code == EXIT_OK && i < tiles->count; i++) code = run_row(l, kernel, tiles->items[i]);
    return code;
}

static exit_code climb(ladder *l)
{
    exit_code code = EXIT_OK;
    l->before_s = NAN;
    roofs_begin(&l->limits, l->s->context, &l->s->device);
    print_header(l);
    for (int i = 0; code == EXIT_OK && i < l->rungs.count; i++) code = run_rung(l, l->rungs.rows[i]);
    if (code != EXIT_OK) return code;
    print_bars(l);
    print_notes(l);
    return l->failed > 0 ? EXIT_CHECK : EXIT_OK;
}

exit_code cmd_ladder(session *s)
{
    static ladder l;
    l.s = s;
    exit_code code = session_open_device(s);
    if (code == EXIT_OK) code = choose(&l);
    if (code != EXIT_OK) return code;
    term_progress("making the references", -1);
    tw_status status = trial_open(&l.trial, s->context, &l.problem, s->opt->seed, REFERENCE_WORK);
    if (status != TW_OK) return say_lab(status, "the operands and references of this shape");
    code = climb(&l);
    trial_close(&l.trial);
    return code;
}
