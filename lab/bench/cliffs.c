/* cliffs.c - see cliffs.h. */
#define _POSIX_C_SOURCE 200809L
#include "cliffs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../busy.h"
#include "../devices.h"
#include "../element.h"
#include "../roofline.h"

/* ---- what is drawn ---- */

/* A measured limit differs a little from run to run, and the shapes of a seed should not: a power of two. */
static double whole_power(double limit) { return exp2(floor(log2(limit))); }

cliff_range cliffs_range(const bench_setup *s, roofs *limits, tw_dtype dtype)
{
    const double longest_s = 0.03, least_work = 0x1p20, least_bytes = 0x1p22;
    const int threads = !device_is_host(s->device) ? 1 : s->threads > 0 ? s->threads : (int)s->device->threads;
    double peak = roofs_peak(limits, dtype, threads, 0);
    if (isnan(peak)) peak = roofs_peak(limits, TW_F32, threads, 0); /* of a matrix unit nothing is measured */
    /* of what could not be measured, NAN, fmax() and fmin() take the other one */
    const double flops = tw_lab_dtype_of(dtype)->parts == 2 ? 8 : 2,
                 work = fmax(2 * least_work, longest_s * peak / flops),
                 memory = s->device->memory_bytes > 0 ? (double)s->device->memory_bytes / 32 : INFINITY,
                 bytes = fmax(least_bytes, fmin(longest_s * roofs_memory_bandwidth(limits, threads, 0), memory));
    return (cliff_range){least_work, fmin(exp2(36.5), whole_power(work)), fmin(1.5e9, whole_power(bytes))};
}

static double work_of(const tw_problem *p) { return (double)p->m * (double)p->n * (double)p->k; }

static double bytes_of(const tw_problem *p)
{
    const double a = (double)((p->op_a == TW_N ? p->m : p->k) * p->lda),
                 b = (double)((p->op_b == TW_N ? p->k : p->n) * p->ldb);
    const element *type = element_of(p->dtype);
    return (a + b) * type->bytes + (double)(p->m * p->ldc) * element_of(type->result)->bytes;
}

/* A source of random numbers: the next of them depends on the seed and how many came before. */
typedef struct source {
    uint64_t seed, next;
} source;

static double uniform(source *x) { return (double)(element_mix(x->seed, x->next++) >> 11) * 0x1p-53; }

/* Log-uniform from 2^low to 2^high. */
static int64_t side(source *x, double low, double high) { return (int64_t)exp2(low + uniform(x) * (high - low)); }

static bench_case draw(source *x)
{
    static const int pads[] = {0, 0, 0, 1, 8};
    const bool even = uniform(x) < 0.6; /* the others have a short side of C and a long k */
    bench_case c = {.group = "cliffs"};
    c.m = side(x, 0, 13.3);
    c.n = side(x, 0, even ? 13.3 : 10);
    c.k = even ? side(x, 0, 13.3) : side(x, 10, 17);
    if (uniform(x) < 0.3) {
        const int64_t m = c.m;
        c.m = c.n, c.n = m;
    }
    c.op_a = uniform(x) < 0.5 ? TW_N : TW_T, c.op_b = uniform(x) < 0.5 ? TW_N : TW_T;
    c.pad = pads[(int)(uniform(x) * 5)];
    return c;
}

bench_case cliffs_draw(const cliff_range *range, tw_dtype dtype, uint64_t seed, int index)
{
    source x = {element_mix(seed, (uint64_t)index), 0};
    for (;;) {
        const bench_case c = draw(&x);
        const tw_problem p = case_problem(&c, dtype);
        const double work = work_of(&p);
        if (work > range->least_work && work < range->most_work && bytes_of(&p) < range->most_bytes) return c;
    }
}

/* ---- what is timed beside it ---- */

static bool same_extents(const tw_problem *p, const tw_problem *q)
{
    return p->m == q->m && p->n == q->n && p->k == q->k;
}

static bool same_rows(const tw_problem *p, const tw_problem *q)
{
    return p->lda == q->lda && p->ldb == q->ldb && p->ldc == q->ldc;
}

static int64_t up(int64_t extent, int64_t step) { return (extent + step - 1) / step * step; }

cliff_problems cliffs_beside(const cliff_range *range, const bench_case *c, tw_dtype dtype)
{
    static const int steps[] = {8, 16, 64, 128};
    cliff_problems all = {.count = 1, .items = {case_problem(c, dtype)}};
    bench_case larger = *c;
    larger.pad = 0, larger.padded = true;
    const tw_problem aligned = case_problem(&larger, dtype);
    if (!same_rows(&aligned, &all.items[0])) all.aligned = all.count, all.items[all.count++] = aligned;
    all.friendlier = all.count;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        larger.m = up(c->m, steps[i]), larger.n = up(c->n, steps[i]), larger.k = up(c->k, steps[i]);
        const tw_problem p = case_problem(&larger, dtype);
        const bool first = all.count == all.friendlier,
                   fits = work_of(&p) < 2 * range->most_work && bytes_of(&p) < 2 * range->most_bytes;
        if (!same_extents(&p, &all.items[first ? 0 : all.count - 1]) && (first || fits)) all.items[all.count++] = p;
    }
    return all;
}

/* ---- times ---- */

/* One of the problems while it is timed. */
typedef struct beside {
    tw_lab_run **runs; /* one for each set of operands */
    int sets;
    char *memory; /* where the device is the host: the sets */
} beside;

/* What all of them share. */
typedef struct timing {
    const bench_setup *setup;
    double limit_s;
    tw_lab_choice choices[CLIFF_PROBLEMS]; /* of each problem */
    char *random, *zero;                   /* operands' elements, and a C, as many as the largest problem needs */
    beside items[CLIFF_PROBLEMS];
} timing;

static void *aligned_bytes(size_t bytes)
{
    void *memory = NULL;
    return posix_memalign(&memory, SETS_ALIGN, bytes) == 0 ? memory : NULL;
}

static bool make_elements(timing *t, const cliff_problems *problems)
{
    size_t most = 0, most_c = 0;
    for (int i = 0; i < problems->count; i++) {
        const operand_sets x = sets_for(&problems->items[i], 1, t->setup->device);
        const size_t c = x.set_bytes - x.a_bytes - x.b_bytes;
        most = x.a_bytes > most ? x.a_bytes : most, most = x.b_bytes > most ? x.b_bytes : most;
        most_c = c > most_c ? c : most_c;
    }
    const tw_dtype dtype = problems->items[0].dtype;
    t->random = aligned_bytes(most), t->zero = aligned_bytes(most_c);
    if (t->random == NULL || t->zero == NULL) return false;
    oracle_random(dtype, 1, (int64_t)most / element_of(dtype)->bytes, t->random);
    memset(t->zero, 0, most_c);
    return true;
}

/* A run for each set. Where memory is short there are fewer sets. The device has copies of its own, the host a set's
 * memory. */
static tw_status open_sets(timing *t, const tw_problem *p, int i)
{
    beside *x = &t->items[i];
    const bool direct = device_is_host(t->setup->device);
    const operand_sets layout = sets_for(p, 1, t->setup->device);
    int wanted = layout.wanted;
    tw_status status = TW_OK;
    while (direct && wanted > 0 && (x->memory = aligned_bytes((size_t)wanted * layout.set_bytes)) == NULL) wanted /= 2;
    if (wanted == 0 || (x->runs = calloc((size_t)wanted, sizeof *x->runs)) == NULL) return TW_NO_MEMORY;
    while (status == TW_OK && x->sets < wanted) {
        const void *a = t->random, *b = t->random;
        void *c = t->zero;
        if (direct) {
            char *set = x->memory + (size_t)x->sets * layout.set_bytes;
            a = memcpy(set, t->random, layout.a_bytes);
            b = memcpy(set + layout.a_bytes, t->random, layout.b_bytes);
            c = memset(set + layout.a_bytes + layout.b_bytes, 0, layout.set_bytes - layout.a_bytes - layout.b_bytes);
        }
        status = tw_lab_run_open(t->setup->context, &t->choices[i], p, a, b, c, &x->runs[x->sets]);
        x->sets += status == TW_OK;
    }
    return status == TW_NO_MEMORY && x->sets > 0 ? TW_OK : status;
}

/* A driver may give memory its pages at the first use: no sample should hold that. */
static tw_status touch_sets(const beside *x, double limit_s)
{
    const double start_s = measure_now_s();
    tw_status status = TW_OK;
    for (int set = 0; status == TW_OK && set < x->sets && measure_now_s() - start_s < limit_s; set++)
        status = tw_lab_run_once(x->runs[set], NULL);
    return status;
}

static tw_status once(void *context, int set, double *seconds)
{
    const beside *x = context;
    return tw_lab_run_once(x->runs[set % x->sets], seconds);
}

static void close_sets(beside *x)
{
    while (x->sets > 0) tw_lab_run_close(x->runs[--x->sets]);
    free(x->runs);
    free(x->memory);
    *x = (beside){0};
}

static void close_timing(timing *t)
{
    for (int i = 0; i < CLIFF_PROBLEMS; i++) close_sets(&t->items[i]);
    free(t->random);
    free(t->zero);
}

/* The fastest of the friendlier problems, else the aligned one. */
static int fastest(const cliff_problems *problems, const measure_work *works)
{
    int best = -1;
    for (int i = problems->friendlier; i < problems->count; i++)
        if (works[i].rounds > 0 && (best < 0 || works[i].result.median_s < works[best].result.median_s)) best = i;
    return best >= 0 ? best : works[problems->aligned].rounds > 0 ? problems->aligned : 0;
}

/* Of many shapes some look like cliffs by chance: those are timed again, and the second time counts. */
static bool is_no_cliff(const cliff_problems *problems, const measure_work *works)
{
    return works[0].result.median_s < 1.1 * works[fastest(problems, works)].result.median_s;
}

/* works: of each problem, rounds 0 of those that no kernel takes, or for which there is no memory. */
static tw_status time_all(timing *t, const cliff_problems *problems, measure_work *works)
{
    enum { ALL_SETS = 1 << 20 }; /* each problem has a number of its own */
    const measure_options how = {.samples = t->setup->samples, .limit_s = t->limit_s, .sets = ALL_SETS};
    measure_work open[CLIFF_PROBLEMS];
    int places[CLIFF_PROBLEMS], count = 0;
    tw_status status = TW_OK;
    for (int i = 0; status == TW_OK && i < problems->count; i++) {
        status = open_sets(t, &problems->items[i], i);
        if (status == TW_OK && !device_is_host(t->setup->device)) status = touch_sets(&t->items[i], t->limit_s);
        if (i > 0 && (status == TW_NO_KERNEL || status == TW_NO_MEMORY)) {
            close_sets(&t->items[i]);
            status = TW_OK;
            continue;
        }
        places[count] = i;
        open[count++] = (measure_work){.context = &t->items[i]};
    }
    for (int turn = 0; status == TW_OK && turn < 2; turn++) {
        status = measure_interleaved(once, open, count, &how);
        for (int i = 0; status == TW_OK && i < count; i++) works[places[i]] = open[i];
        if (status == TW_OK && is_no_cliff(problems, works)) break;
    }
    return status;
}

double cliff_ratio(const cliff *c) { return c->median_s / c->friendlier_s; }

/* The times of the rounds in place of those that the row had. */
static void keep_times(const bench_setup *s, roofs *limits, const tw_problem *p, const measure_result *x, int sets,
                       row *shape)
{
    const trial t = {.context = s->context, .problem = *p};
    record *r = &shape->record;
    record_doubt_text doubt;
    r->samples = x->samples, r->repeats = x->repeats, r->sets = sets;
    r->min_s = x->min_s, r->median_s = x->median_s, r->p95_s = x->p95_s, r->max_s = x->max_s;
    row_compare(&t, limits, 0, shape);
    shape->text[0] = '\0';
    if (shape->outcome == ROW_IMPOSSIBLE) snprintf(shape->text, sizeof shape->text, "%s", record_doubt(r, doubt));
}

static tw_lab_choice choice_of(const bench_setup *s, const tw_lab_kernel *kernel)
{
    return (tw_lab_choice){.kernel = kernel != NULL ? kernel->name : NULL, .threads = s->threads, .keeps_ld = 1};
}

tw_status cliffs_time(const bench_setup *s, roofs *limits, const row_wish *wish, const cliff_problems *problems,
                      row *shape, cliff *found)
{
    timing t = {.setup = s, .limit_s = wish->limit_s};
    measure_work works[CLIFF_PROBLEMS] = {{0}};
    record *r = &shape->record;
    const busy_reading begun = busy_now();
    s->hooks->progress("timing it beside friendlier shapes");
    for (int i = 0; i < problems->count; i++) t.choices[i] = choice_of(s, wish->kernel);
    tw_status status = make_elements(&t, problems) ? TW_OK : TW_NO_MEMORY;
    if (status == TW_OK) status = time_all(&t, problems, works);
    const int sets = t.items[0].sets;
    close_timing(&t);
    if (status != TW_OK) return status;
    const busy_reading ended = busy_now();
    const int best = fastest(problems, works), rows = works[problems->aligned].rounds > 0 ? problems->aligned : 0;
    const tw_problem *friendlier = &problems->items[best];
    tw_lab_plan plan;
    r->others = busy_share(&begun, &ended);
    keep_times(s, limits, &problems->items[0], &works[0].result, sets, shape);
    r->friendlier_m = friendlier->m, r->friendlier_n = friendlier->n, r->friendlier_k = friendlier->k;
    r->friendlier_s = works[best].result.median_s;
    r->aligned_s = works[rows].result.median_s;
    if (tw_lab_plan_of(s->context, &t.choices[0], friendlier, &plan) == TW_OK) r->friendlier_kernel = plan.kernel->name;
    *found = (cliff){.problem = problems->items[0],
                     .friendlier = *friendlier,
                     .kernel = r->kernel,
                     .median_s = r->median_s,
                     .floor_s = roofline_flops(&problems->items[0]) / (r->bound_gflops * 1e9),
                     .friendlier_s = r->friendlier_s,
                     .aligned_s = r->aligned_s,
                     .low = works[best].low_speed,
                     .high = works[best].high_speed,
                     .regret = NAN};
    return TW_OK;
}

/* ---- the planner's regret ---- */

enum { TRIED = 3 }; /* candidates that are timed beside the planner's choice */

/* Could the planner have chosen it? */
static bool is_candidate(const bench_setup *s, const tw_lab_kernel *kernel, const tw_problem *p)
{
    const tw_lab_choice choice = choice_of(s, kernel);
    return kernel->production && (!kernel->emulates || p->accuracy == TW_EMULATED) && kernel->dtype == p->dtype &&
           strcmp(kernel->engine, s->device->engine) == 0 && tw_lab_fits(s->context, &choice, p, NULL, 0) == 1;
}

/* The least of three runs on one set; INFINITY: it cannot be run. */
static double try_kernel(const timing *t, const tw_lab_kernel *kernel, const tw_problem *p)
{
    const tw_lab_choice choice = choice_of(t->setup, kernel);
    tw_lab_run *run = NULL;
    double least_s = INFINITY, seconds;
    tw_status status = tw_lab_run_open(t->setup->context, &choice, p, t->random, t->random, t->zero, &run);
    for (int i = 0; status == TW_OK && i < 3; i++)
        if ((status = tw_lab_run_once(run, &seconds)) == TW_OK) least_s = fmin(least_s, seconds);
    tw_lab_run_close(run);
    return status == TW_OK ? least_s : INFINITY;
}

/* The fastest of all candidates but `chosen`, by a short trial; how many. */
static int try_candidates(const timing *t, const char *chosen, const tw_problem *p, const tw_lab_kernel *best[TRIED])
{
    double best_s[TRIED];
    int count = 0;
    const tw_lab_kernel *kernel;
    for (int i = 0; (kernel = tw_lab_kernel_at(i)) != NULL; i++) {
        if (!is_candidate(t->setup, kernel, p) || strcmp(kernel->name, chosen) == 0) continue;
        const double seconds = try_kernel(t, kernel, p);
        int at = count;
        while (at > 0 && best_s[at - 1] > seconds) at--;
        if (at == TRIED || isinf(seconds)) continue;
        if (count < TRIED) count++;
        for (int j = count - 1; j > at; j--) best[j] = best[j - 1], best_s[j] = best_s[j - 1];
        best[at] = kernel, best_s[at] = seconds;
    }
    return count;
}

tw_status cliffs_regret(const bench_setup *s, double limit_s, row *shape, cliff *found)
{
    timing t = {.setup = s, .limit_s = limit_s};
    measure_work works[CLIFF_PROBLEMS] = {{0}};
    cliff_problems problems = {.count = 1, .friendlier = 1, .items = {found->problem}};
    const tw_lab_kernel *candidates[TRIED];
    record *r = &shape->record;
    s->hooks->progress("trying all kernels");
    tw_status status = make_elements(&t, &problems) ? TW_OK : TW_NO_MEMORY;
    const int count = status == TW_OK ? try_candidates(&t, found->kernel, &found->problem, candidates) : 0;
    t.choices[0] = choice_of(s, NULL);
    for (int i = 0; i < count; i++, problems.count++) {
        problems.items[problems.count] = found->problem;
        t.choices[problems.count] = choice_of(s, candidates[i]);
    }
    if (status == TW_OK) status = time_all(&t, &problems, works);
    close_timing(&t);
    if (status != TW_OK) return status;
    const int best = fastest(&problems, works);
    const bool other = best > 0 && works[best].result.median_s < works[0].result.median_s;
    r->best_kernel = found->best_kernel = other ? candidates[best - 1]->name : found->kernel;
    r->regret = found->regret = other ? works[0].result.median_s / works[best].result.median_s : 1;
    return TW_OK;
}
