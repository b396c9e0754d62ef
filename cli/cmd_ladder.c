/* cmd_ladder.c - `tilewright ladder`: every rung in order, verified, timed, and set beside the bounds of this
 * machine. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../course/curves.h"
#include "../course/judge/degrees.h"
#include "../lab/devices.h"
#include "../program/diag.h"
#include "../program/term.h"
#include "../program/warden.h"
#include "../program/watch.h"
#include "cmd.h"
#include "gpu.h"
#include "page.h"
#include "rows.h"
#include "rungs.h"
#include "skinny.h"

/* Seconds of samples per row; seconds that one run of the slowest rung may take. */
static const double LIMIT_S = 1, LONGEST_S = 3;

static const shape DEEP = {64, 64, 65536};

enum { CPU_SIZE = 1024, GPU_SIZE = 4096, MOST_BARS = 1024, ROW_LABEL = 64, LEAST_WIDTH = 16 };

typedef struct bar {
    char label[ROW_LABEL];
    double gflops;
} bar;

/* The times that the next row is compared with: each build is compared with itself. */
typedef struct pace {
    char rung[4];             /* "r03": whose time last_s is */
    double last_s, earlier_s; /* of that rung, and of the one before it; NAN: none */
} pace;

typedef struct ladder {
    session *s;
    tw_problem problem;
    rung_list rungs;
    user_kernels user; /* files among the rungs */
    degrees degrees;   /* what they ask of memory */
    trial trial;
    roofs limits;
    pace rolled, by_default;
    char wrong[512]; /* why the last row was, if it was */
    double naive_s;  /* of r01, in its default build where it has one; NAN: not timed */
    bool naive_by_default;
    rows_tally count;
    int costly, bars; /* costly: files that cost more than the rungs whose names they bear */
    bar bar[MOST_BARS];
    int size; /* its place in --size; 0 also where there is none */
    layout_table table;
    curves over_sizes, over_tiles; /* speeds over --size; over --tile at the size that has bars */
} ladder;

/* ---- what is to be computed ---- */

static void keep_tiled(rung_list *rungs)
{
    int kept = 0;
    for (int i = 0; i < rungs->count; i++)
        if (rungs->rows[i]->default_tile > 0) rungs->rows[kept++] = rungs->rows[i];
    rungs->count = kept, rungs->planned = false;
}

/* Columns of a rung's name. */
static int width_of(const rung_list *rungs)
{
    int width = LEAST_WIDTH;
    for (int i = 0; i < rungs->count; i++)
        if ((int)strlen(rungs->rows[i]->rung) > width) width = (int)strlen(rungs->rows[i]->rung);
    return width;
}

static exit_code check_user_kernel(const ladder *l, tw_dtype dtype)
{
    for (int i = 0; i < l->user.count; i++) {
        const user_kernel *user = &l->user.items[i];
        if (dtype != TW_F32)
            return diag(EXIT_USAGE, "--dtype %s: %s is a kernel of f32", tw_lab_dtype_of(dtype)->name,
                        user->source.file);
        if (l->s->opt->tiles.count > 0 && user->like->default_tile == 0)
            return diag(EXIT_USAGE, "--tile: %s is launched like %s, which has no tile edge to choose",
                        user->source.file, user->like->rung);
    }
    return EXIT_OK;
}

/* In the order of storage that the options ask for: a column-major matrix is the transpose of a row-major one. */
static tw_problem problem_of(const ladder *l, tw_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    const options *opt = l->s->opt;
    return tw_problem_make(dtype, opt->transpose_a ? TW_T : TW_N, opt->transpose_b ? TW_T : TW_N, m, n, k);
}

static exit_code choose(ladder *l)
{
    const options *opt = l->s->opt;
    int64_t n = device_is_host(&l->s->device) ? CPU_SIZE : GPU_SIZE;
    tw_dtype dtype = session_dtype(l->s);
    if (opt->sizes.count > 0) n = opt->sizes.items[l->size];
    shape p = opt->shapes.count > 0                ? opt->shapes.items[0]
              : opt->deep && opt->sizes.count == 0 ? DEEP
                                                   : (shape){n, n, n};
    l->problem = problem_of(l, dtype, p.m, p.n, p.k);
    exit_code code = rungs_choose(l->s, &l->problem, &l->user, &l->rungs);
    if (code == EXIT_OK && opt->tiles.count > 0) keep_tiled(&l->rungs);
    if (code == EXIT_OK && l->rungs.count == 0 && opt->tiles.count > 0)
        return diag(EXIT_USAGE, "none of these rungs has a tile edge that --tile could choose");
    const tw_lab_kernel *slowest = l->rungs.count > 0 ? l->rungs.rows[0] : l->rungs.takes;
    if (code != EXIT_OK || opt->sizes.count + opt->shapes.count > 0 || opt->deep || slowest == NULL) return code;
    code = rows_side(l->s, slowest, 0, n, LONGEST_S, &n);
    l->problem = problem_of(l, dtype, n, n, n);
    return code;
}

/* ---- how much faster than before? ---- */

/* The time that a rung is compared with: that of the rung before it; a file's own, that of the rung that it is launched
 * like, which it follows. A variant such as r03t is compared as the rung that it varies was; a sweep of tile edges
 * compares each edge with the one before. */
static double time_before(const ladder *l, const pace *p, const char *rung)
{
    bool varies = l->s->opt->tiles.count == 0 && rung_is_variant(rung) && strncmp(rung, p->rung, 3) == 0;
    return varies ? p->earlier_s : p->last_s;
}

/* Production kernels are compared with the last rung, all of them. */
static void note_time(ladder *l, pace *p, const record *d, const row_wish *wish)
{
    bool sweeps = l->s->opt->tiles.count > 0, family = wish->kernel != NULL && wish->kernel->family;
    if (!sweeps && (wish->source != NULL || family || rung_is_variant(d->rung))) return;
    p->earlier_s = p->last_s;
    p->last_s = d->median_s;
    snprintf(p->rung, sizeof p->rung, "%.3s", d->rung);
    if (sweeps || strncmp(d->rung, "r01_", 4) != 0) return;
    l->naive_s = d->median_s;
    l->naive_by_default = p == &l->by_default;
}

/* ---- telling ---- */

static void print_header(ladder *l)
{
    FILE *text = l->s->text;
    fprintf(text, "ladder     %s, C(%" PRId64 " x %" PRId64 ") = A%s B%s with k = %" PRId64 ", on %s: %s\n\n",
            tw_lab_dtype_of(l->problem.dtype)->name, l->problem.m, l->problem.n, l->problem.op_a == TW_T ? "^T" : "",
            l->problem.op_b == TW_T ? "^T" : "", l->problem.k, l->s->device.engine, l->s->device.name);
    const layout_column columns[] = {{"rung", -width_of(&l->rungs), 0},
                                     {"thr", 4, 5},
                                     {"median", 9, 0},
                                     {"min-max", 10, 7},
                                     {"GFLOP/s", 7, 0},
                                     {"x before", 8, 1},
                                     {"of peak", 7, 2},
                                     {"asked", 8, 6},
                                     {"flop/B", 6, 4},
                                     {"no-cache", 8, 5},
                                     {"bound", 7, 3}};
    layout_begin(&l->table, text, columns, sizeof columns / sizeof *columns);
    layout_titles(&l->table);
}

/* beside: of a file's own kernel, whose rung was sampled in turns with it. */
static void print_numbers(ladder *l, const row *r, double before_s, bool beside)
{
    const record *d = &r->record;
    term_number median, span, speed, of_peak, asked, no_cache, bound;
    char factor[16] = "";
    if (beside && measure_tells(&r->turns) && !measure_differs(&r->turns))
        snprintf(factor, sizeof factor, "same");
    else if (beside)
        snprintf(factor, sizeof factor, "%.2f", r->turns.speed);
    else if (!isnan(before_s))
        snprintf(factor, sizeof factor, "%.2f", before_s / d->median_s);
    layout_table *t = &l->table;
    layout_cell(t, "%d", row_threads(r));
    layout_cell(t, "%s", term_seconds(d->median_s, median));
    layout_cell(t, "%s", term_span(d->min_s, d->max_s, d->median_s, span));
    layout_cell(t, "%s", term_gflops(d->gflops, speed));
    layout_cell(t, "%s", factor);
    layout_cell(t, "%s", term_percent(d->gflops / d->peak_gflops, of_peak));
    layout_cell(t, "%s", term_bytes(d->bytes_asked, asked));
    layout_cell(t, "%.3g", 2 * (double)d->m * (double)d->n * (double)d->k / d->bytes_asked);
    layout_cell(t, "%s", term_gflops(d->bound_asked_gflops, no_cache));
    layout_cell(t, "%s", term_gflops(d->bound_gflops, bound));
    layout_end(t);
}

/* How a file's own kernel stands beside the rung that it was timed with. */
static void print_turns(const ladder *l, const row *r, const tw_lab_kernel *like, bool beside)
{
    const measure_work *w = &r->turns;
    fprintf(l->s->text, "  launched like %s", like->rung);
    const char *verdict = !measure_tells(w)    ? "too few rounds to tell: "
                          : measure_differs(w) ? ""
                                               : "no clear difference: ";
    if (beside)
        fprintf(l->s->text, ": %s%.3g times its speed, %.3g to %.3g in the middle two thirds of %d rounds", verdict,
                w->speed, w->low_speed, w->high_speed, w->rounds);
    fputc('\n', l->s->text);
}

static void name_row(const ladder *l, const row *r, const row_wish *wish, char label[ROW_LABEL])
{
    const tw_lab_kernel *kernel = wish->kernel;
    int64_t tile = r->plan.tile > 0 && wish->tile > 0 ? r->plan.tile : wish->tile; /* never more than the problem */
    int used = snprintf(label, ROW_LABEL, "%s", wish->rung != NULL ? wish->rung : kernel->rung);
    if (tile > 0) used += snprintf(label + used, ROW_LABEL - (size_t)used, " %" PRId64, tile);
    if (kernel != NULL && kernel->dtype != l->problem.dtype)
        snprintf(label + used, ROW_LABEL - (size_t)used, " %s", tw_lab_dtype_of(kernel->dtype)->name);
}

/* Of several sizes one has its bars drawn: 4096, the documents', else the last. */
static bool has_bars(const ladder *l)
{
    const number_list *sizes = &l->s->opt->sizes;
    int drawn = sizes->count - 1;
    for (int i = 0; i < sizes->count; i++)
        if (sizes->items[i] == GPU_SIZE) drawn = i;
    return sizes->count < 2 || l->size == drawn;
}

/* A tile edge that the problem cut is no point of a curve. */
static void note_curves(ladder *l, const row *r, const row_wish *wish, const char *label)
{
    const number_list *tiles = &l->s->opt->tiles;
    curves_note(&l->over_sizes, label, l->size, r->record.gflops);
    for (int i = 0; has_bars(l) && i < tiles->count; i++)
        if (wish->tile == tiles->items[i] && r->plan.tile == wish->tile)
            curves_note(&l->over_tiles, wish->rung != NULL ? wish->rung : wish->kernel->rung, i, r->record.gflops);
}

static exit_code finish_row(ladder *l, const row *r, const row_wish *wish)
{
    char label[ROW_LABEL];
    term_number prepare;
    bool default_build = wish->default_build,
         beside = wish->source != NULL && r->outcome >= ROW_IMPOSSIBLE && r->turns.rounds > 0;
    pace *p = default_build ? &l->by_default : &l->rolled;
    bool compared = strcmp(r->record.dtype, tw_lab_dtype_of(l->problem.dtype)->name) == 0;
    name_row(l, r, wish, label);
    term_progress_end();
    layout_cell(&l->table, "%s", default_build ? "  default build" : label);
    const bool repeats = default_build && r->outcome == ROW_WRONG && strcmp(r->text, l->wrong) == 0;
    if (repeats)
        layout_gap(&l->table), fputs("WRONG in the same way\n", l->s->text);
    else if (rows_have_numbers(&l->table, r))
        print_numbers(l, r, compared ? time_before(l, p, r->record.rung) : (double)NAN, beside);
    if ((l->s->opt->deep || wish->kernel == NULL) && !default_build && r->outcome != ROW_REFUSED)
        fprintf(l->s->text, "  %s\n", r->plan.text);
    rows_count(&l->count, r);
    compared &= r->outcome == ROW_TIMED;
    if (compared) note_time(l, p, &r->record, wish);
    if (wish->source != NULL && (beside || !default_build)) print_turns(l, r, wish->kernel, beside);
    const bool as_judged = l->problem.op_a == TW_N && l->problem.op_b == TW_N; /* degrees are those of no transposes */
    if (wish->source != NULL && as_judged && !default_build && l->size == 0 && r->outcome >= ROW_IMPOSSIBLE)
        l->costly += degrees_tell(l->s->text, "  ", degrees_of(&l->degrees, wish->source, wish->tile)) != EXIT_OK;
    if (r->record.prepare_s > 0 && !default_build)
        fprintf(l->s->text, "  before it, the host transposed B in %s\n", term_seconds(r->record.prepare_s, prepare));
    if (compared && !default_build) note_curves(l, r, wish, label);
    if (compared && !default_build && l->bars < MOST_BARS) {
        bar *b = &l->bar[l->bars++];
        snprintf(b->label, sizeof b->label, "%s", label);
        b->gflops = r->record.gflops;
    }
    if (repeats) return session_record(l->s, &r->record);
    snprintf(l->wrong, sizeof l->wrong, "%s", r->outcome == ROW_WRONG ? r->text : "");
    return rows_finish(l->s, r);
}

static const bar *fastest(const ladder *l)
{
    const bar *best = &l->bar[0];
    for (int i = 1; i < l->bars; i++)
        if (l->bar[i].gflops > best->gflops) best = &l->bar[i];
    return best;
}

static void print_bars(const ladder *l)
{
    FILE *text = l->s->text;
    const int named = width_of(&l->rungs), label = named > 20 ? named : 20, width = term_width() - 14 - label;
    fprintf(text, "\n");
    for (int i = 0; i < l->bars; i++) {
        term_number speed;
        fprintf(text, "%-*s %9s  ", label, l->bar[i].label, term_gflops(l->bar[i].gflops, speed));
        term_bar(text, l->bar[i].gflops, fastest(l)->gflops, width < 10 ? 10 : width);
        fprintf(text, "\n");
    }
}

static void print_fastest(const ladder *l)
{
    const tw_problem *p = &l->problem;
    const bar *best = fastest(l);
    term_number speed;
    if (l->bars == 0) return;
    fprintf(l->s->text, "\nfastest    %s with %s GFLOP/s", best->label, term_gflops(best->gflops, speed));
    if (!isnan(l->naive_s) && strncmp(best->label, "r01_", 4) != 0) {
        const double times = best->gflops * 1e9 * l->naive_s / (2 * (double)p->m * (double)p->n * (double)p->k);
        fprintf(l->s->text, ", %.*f times the speed of r01_naive%s", times < 10 ? 2 : 1, times,
                l->naive_by_default ? " in its default build" : "");
    }
    fprintf(l->s->text, "\n");
}

static void print_peaks(const ladder *l)
{
    bool host = device_is_host(&l->s->device);
    fprintf(l->s->text, "of peak    share of the multiply-add peak of %s, measured in this run:",
            host ? "the row's own threads" : "the device");
    for (const roof *p = l->limits.peaks; p->threads != 0; p++) {
        term_number speed;
        if (isnan(p->best)) continue;
        fprintf(l->s->text, "%s %s GFLOP/s", p == l->limits.peaks ? "" : ",", term_gflops(p->best / 1e9, speed));
        if (host) fprintf(l->s->text, " on %d thread%s", p->threads, p->threads == 1 ? "" : "s");
        if (p->what != (int)l->problem.dtype) fprintf(l->s->text, " in %s", tw_lab_dtype_of((tw_dtype)p->what)->name);
    }
    fprintf(l->s->text, "\n");
}

/* A line of the legend, where the table shows the column of its name, behind any "/". */
static void note(const ladder *l, const char *column, const char *words)
{
    if (layout_shows(&l->table, column)) fprintf(l->s->text, "%-10s %s\n", column, words);
}

static void print_notes(const ladder *l)
{
    FILE *text = l->s->text;
    const bool host = device_is_host(&l->s->device);
    note(l, "thr", host ? "threads" : "threads per block");
    note(
        l, "x before",
        host
            ? "speed over that of the rung before; of r14 over that of the last rung"
            : "speed over that of the rung before, in the same build. A variant (r03t, r04d) is compared with the rung "
              "before the one that it varies, r14 and production kernels with the last rung. r01 to r05 are built with "
              "compiler unrolling off; `default build` has it on");
    if (l->rungs.planned)
        fprintf(text, "%-10s %s\n", RUNG_PLANNED,
                "the kernel that tw_gemm runs for this shape; the line below it is the plan");
    print_peaks(l);
    note(l, "min-max", "shortest and longest sample, in the median's unit");
    note(l, "asked", "bytes of A and B that the rung asks of memory");
    note(l, "flop/B", "flop per byte that the rung asks of memory");
    if (l->user.count > 0)
        fprintf(text,
                "%-10s launched like the rung above it, and asks what that asks. `x before` is the speed over that "
                "rung; same: no difference beyond the spread\n",
                "own:");
    note(l, "no-cache", "GFLOP/s at that flop/B and memory's bandwidth, at most the peak; caches may beat it");
    note(l, "bound", "GFLOP/s of the roofline: at most the peak, each operand moved once; nothing may beat it");
    layout_left_out(&l->table);
    if (l->count.wrong == 0 && l->count.timed > 0) fputs("Each row was verified before it was timed.\n", text);
}

/* ---- running ---- */

/* What the judge found wrong with a file, which is then not run on the device; NULL: nothing. A kernel that bears no
 * rung's name was judged without transposes. */
static const char *wrong_of(const ladder *l, const user_kernel *user, int tile)
{
    const bool judged = user->bears_rung || (!l->s->opt->transpose_a && !l->s->opt->transpose_b);
    return judged ? degrees_wrong(degrees_of(&l->degrees, &user->source, tile)) : NULL;
}

/* A rung, of a tile where the edge is chosen, and the files that are launched like it: those of one build in turns. */
static exit_code run_builds(ladder *l, trial *t, row_wish wish)
{
    enum { MOST = 1 + OPT_LIST };
    static row results[2][MOST];
    const tw_lab_kernel *kernel = wish.kernel;
    row_wish wishes[MOST] = {wish};
    int count = 1, builds = 0;
    exit_code code = EXIT_OK;
    for (int i = 0; i < l->user.count; i++)
        if (l->user.items[i].like == kernel) {
            wishes[count] = wish, wishes[count].source = &l->user.items[i].source;
            wishes[count].rung = l->user.items[i].label;
            wishes[count++].wrong = wrong_of(l, &l->user.items[i], wish.tile);
        }
    term_progress(kernel->rung, -1);
    for (int wanted = row_is_rolled(kernel) ? 2 : 1; code == EXIT_OK && builds < wanted; builds += code == EXIT_OK) {
        for (int i = 0; i < count; i++) wishes[i].default_build = builds == 1;
        code = rows_run(l->s, t, &l->limits, wishes, count, results[builds]);
        if (code == EXIT_OK && results[0][0].outcome == ROW_REFUSED) wanted = 1;
    }
    for (int i = 0; i < count * builds; i++) {
        const row *r = &results[i % builds][i / builds];
        wish = wishes[i / builds];
        wish.default_build = i % builds == 1;
        exit_code finished = finish_row(l, r, &wish);
        if (finished != EXIT_OK) return finished;
    }
    return code;
}

/* A rung of another type than the ladder's: the same shape, operands and references of its own. */
static exit_code run_typed(ladder *l, const tw_lab_kernel *kernel)
{
    trial t;
    tw_problem p = problem_of(l, kernel->dtype, l->problem.m, l->problem.n, l->problem.k);
    exit_code code = rows_trial(l->s, &p, &t);
    if (code != EXIT_OK) return code;
    code = run_builds(l, &t, (row_wish){.kernel = kernel, .limit_s = LIMIT_S});
    trial_close(&t);
    return code;
}

/* What tw_gemm runs for this shape. */
static exit_code run_planned(ladder *l)
{
    static row result;
    const row_wish wish = {.rung = RUNG_PLANNED, .limit_s = LIMIT_S};
    term_progress(wish.rung, -1);
    exit_code code = rows_run(l->s, &l->trial, &l->limits, &wish, 1, &result);
    return code == EXIT_OK ? finish_row(l, &result, &wish) : code;
}

/* A rung, and with it the files that are launched like it. */
static exit_code run_step(ladder *l, const tw_lab_kernel *kernel)
{
    const number_list *tiles = &l->s->opt->tiles;
    row_wish wish = {.kernel = kernel, .limit_s = LIMIT_S};
    exit_code code = EXIT_OK;
    if (kernel->dtype != l->problem.dtype) return run_typed(l, kernel);
    if (tiles->count == 0) return run_builds(l, &l->trial, wish);
    l->rolled.last_s = l->by_default.last_s = NAN; /* a sweep compares the tiles of one rung */
    for (int i = 0; code == EXIT_OK && i < tiles->count; i++) {
        wish.tile = (int)tiles->items[i];
        code = run_builds(l, &l->trial, wish);
    }
    return code;
}

/* Each file that will run in each of its builds, before anything is timed. */
static exit_code build_user_kernel(const ladder *l)
{
    const number_list *tiles = &l->s->opt->tiles;
    exit_code code = EXIT_OK;
    for (int i = 0; code == EXIT_OK && i < l->user.count; i++) {
        const user_kernel *user = &l->user.items[i];
        if (strcmp(user->like->engine, l->s->device.engine) != 0) continue;
        for (int n = 0; code == EXIT_OK && n < (tiles->count > 0 ? tiles->count : 1); n++) {
            const int tile = tiles->count > 0 ? (int)tiles->items[n] : 0;
            if (wrong_of(l, user, tile) != NULL) continue;
            for (int build = 0; code == EXIT_OK && build < (row_is_rolled(user->like) ? 2 : 1); build++)
                code = rows_build(l->s, &(row_wish){.kernel = user->like,
                                                    .rung = user->label,
                                                    .source = &user->source,
                                                    .tile = tile,
                                                    .default_build = build == 1});
        }
    }
    return code;
}

static exit_code climb(ladder *l)
{
    exit_code code = EXIT_OK;
    l->naive_s = NAN;
    l->rolled = l->by_default = (pace){"", NAN, NAN};
    l->bars = 0;
    if (l->size > 0) fputc('\n', l->s->text);
    print_header(l);
    for (int i = 0; code == EXIT_OK && i < l->rungs.count; i++) code = run_step(l, l->rungs.rows[i]);
    if (code == EXIT_OK && l->rungs.planned) code = run_planned(l);
    if (code != EXIT_OK || !has_bars(l)) return code;
    print_bars(l);
    print_fastest(l);
    return code;
}

static exit_code climb_size(ladder *l)
{
    exit_code code = choose(l);
    if (code == EXIT_OK) code = rows_trial(l->s, &l->problem, &l->trial);
    if (code != EXIT_OK) return code;
    code = climb(l);
    trial_close(&l->trial);
    return code;
}

static exit_code ladder_engine(session *s, void *job)
{
    ladder *l = job;
    exit_code code = EXIT_OK;
    *l = (ladder){.s = s,
                  .user = l->user,
                  .degrees = l->degrees,
                  .over_sizes.values = s->opt->sizes.items,
                  .over_sizes.places = s->opt->sizes.count,
                  .over_tiles.values = s->opt->tiles.items,
                  .over_tiles.places = s->opt->tiles.count};
    const busy_reading begun = busy_now();
    roofs_begin(&l->limits, s->context, &s->device);
    code = check_user_kernel(l, session_dtype(s));
    if (code == EXIT_OK) code = build_user_kernel(l);
    for (l->size = 0; code == EXIT_OK && (l->size == 0 || l->size < s->opt->sizes.count); l->size++)
        code = climb_size(l);
    if (code != EXIT_OK) return code;
    curves_print(
        s->text, &l->over_sizes,
        "sizes      the rungs are tuned for one size: where two letters change places, the other rung is faster");
    curves_print(s->text, &l->over_tiles,
                 "tiles      speed over the tile edge: from r02 on, a larger tile asks less of memory");
    print_notes(l);
    rows_tell_busy(s->text, &begun);
    code = rows_verdict(&l->count);
    return code == EXIT_OK && l->costly > 0 ? EXIT_CHECK : code;
}

static exit_code climb_all(session *s)
{
    static ladder l;
    if (s->opt->skinny) return skinny_ladders(s);
    const double deadline_s = s->opt->deadline > 0 ? (double)s->opt->deadline : WATCH_FILE_S;
    exit_code code = rungs_read_user(s->opt, &l.user);
    if (code == EXIT_OK && l.user.count > 0 && !warden_begin())
        code = diag_no_memory("the process that runs the files of --rung");
    if (code == EXIT_OK)
        code = degrees_see(&l.user, s->opt->tiles.items, s->opt->tiles.count, (double)s->opt->deadline, &l.degrees);
    if (code == EXIT_OK) code = degrees_crashed(&l.degrees);
    if (code == EXIT_OK && l.user.count > 0 && !watch_file_begin(deadline_s))
        code = diag_no_memory("the thread that keeps --deadline");
    if (code == EXIT_OK)
        code = session_each_engine(s,
                                   l.user.count > 0 ? l.user.items[0].like->engine
                                   : s->opt->deep   ? session_gpu()
                                                    : "auto",
                                   ladder_engine, &l);
    session_close_device(s); /* which knows the files' texts */
    free(l.degrees.pairs);
    user_kernels_free(&l.user);
    return code;
}

/* With --html the records of the run are kept, and become a page: also of a run in which a check failed, or an
 * engine. */
static exit_code climb_to_page(session *s)
{
    records kept = {0};
    page p = {0};
    exit_code code = page_open(&p, s->opt->html, s->opt->slides);
    if (code != EXIT_OK) return code;
    s->kept = &kept;
    code = climb_all(s);
    s->kept = NULL;
    term_progress_end();
    exit_code written = kept.count > 0 && code != EXIT_OUTPUT ? page_write(&p, &kept) : EXIT_OK;
    page_discard(&p);
    records_free(&kept);
    return code != EXIT_OK ? code : written;
}

static const char *first_file(const options *opt)
{
    for (int i = 0; i < opt->rungs.count; i++)
        if (user_kernel_is_path(opt->rungs.items[i])) return opt->rungs.items[i];
    return NULL;
}

exit_code cmd_ladder(session *s)
{
    const options *opt = s->opt;
    const char *file = first_file(opt);
    if (opt->deadline > 0 && file == NULL)
        return diag(EXIT_USAGE, "--deadline needs a file in --rung: Tilewright's own rungs have no deadline");
    if (opt->gpu != NULL && (opt->sizes.count == 0 || opt->shapes.count == 0)) return gpu_ladder(s);
    if (opt->sizes.count > 0 && opt->shapes.count > 0)
        return diag(EXIT_USAGE, "--size and --shape exclude each other: give one");
    if (opt->skinny && opt->tiles.count > 0)
        return diag(EXIT_USAGE, "--tile does not work with --skinny: the tile of a skinny product is its k, 16 or 32");
    if (opt->skinny && file != NULL)
        return diag(EXIT_USAGE, "--skinny takes no file: time %s with --shape instead", file);
    if (opt->skinny && opt->sizes.count > 1) return diag(EXIT_USAGE, "--skinny takes one --size, the side of C");
    if (opt->skinny && (opt->transpose_a || opt->transpose_b))
        return diag(EXIT_USAGE, "--skinny does not work with --transpose-a or -b: its rungs read A and B as stored");
    if (opt->deep && opt->skinny) return diag(EXIT_USAGE, "--deep and --skinny exclude each other: give one");
    if (opt->all && (opt->skinny || opt->tiles.count > 0))
        return diag(EXIT_USAGE, "--all does not work with --skinny or --tile: production kernels have no skinny form "
                                "and no edge to choose");
    if (opt->slides && opt->html == NULL) return diag(EXIT_USAGE, "--slides needs --html FILE, the page to write");
    return opt->html != NULL ? climb_to_page(s) : climb_all(s);
}
