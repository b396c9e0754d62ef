/* row.c - fits, plan, judge, time, bounds, record: the one flow of bench and ladder. */
#include "row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "../busy.h"
#include "../devices.h"
#include "../element.h"
#include "../roofline.h"
#include "cases.h"

tw_status row_trial(const bench_setup *s, const tw_problem *problem, trial *t)
{
    const double multiply_adds = 5e7;
    s->hooks->progress("making the references");
    tw_status status = trial_open(t, s->context, problem, s->seed, multiply_adds);
    t->hooks = s->hooks;
    return status;
}

static const char *method_of(const bench_setup *s, const trial *t)
{
    if (t->batch > 0) return "tw_gemm_batched with host pointers, one item's share, operands rotated beyond the cache";
    if (t->host) return "tw_gemm with host pointers, operands rotated beyond the cache";
    if (device_is_host(s->device)) return "launch to completion with packing, operands rotated beyond the cache";
    return "device events around the launch, operands resident on the device, rotated beyond the L2";
}

static void describe(const bench_setup *s, const trial *t, const row_wish *wish, record *r)
{
    const tw_problem *p = &t->problem;
    *r = record_blank();
    r->engine = s->device->engine;
    if (t->batch > 0) r->batch = t->batch;
    r->device = s->device->name;
    r->dtype = tw_lab_dtype_of(p->dtype)->name;
    r->m = p->m, r->n = p->n, r->k = p->k;
    r->lda = p->lda, r->ldb = p->ldb, r->ldc = p->ldc;
    r->op_a = p->op_a == TW_N ? 'n' : 't', r->op_b = p->op_b == TW_N ? 'n' : 't';
    r->alpha = p->alpha, r->beta = p->beta;
    r->align_a = r->align_b = r->align_c = SETS_ALIGN;
    r->method = method_of(s, t);
    r->verified = "no";
    if (s->device->instruction_set[0] != '\0') r->instruction_set = s->device->instruction_set;
    if (s->driver[0] != '\0' && !device_is_host(s->device)) r->driver = s->driver;
    if (wish->kernel != NULL) r->kernel = wish->kernel->name, r->rung = wish->kernel->rung;
    if (wish->rung != NULL) r->rung = wish->rung;
    if (wish->source != NULL) r->kernel = r->rung;
}

static void describe_plan(const bench_setup *s, const row_wish *wish, row *out)
{
    record *r = &out->record;
    const tw_lab_plan *p = &out->plan;
    r->kernel = out->plan.kernel->name;
    r->rung = wish->rung != NULL ? wish->rung : out->plan.kernel->rung;
    if (wish->source != NULL) r->kernel = r->rung;
    r->tile = out->plan.tile;
    if (device_is_host(s->device))
        r->threads = p->threads;
    else
        r->block_threads = p->block_threads;
    if (row_is_rolled(p->kernel)) r->build = wish->default_build ? "default" : "rolled";
    r->bytes_tile = (double)(p->block_m + p->block_n) * (double)p->block_k * tw_lab_dtype_of(p->kernel->dtype)->bytes;
    r->plan = out->plan.text;
    bool chosen = out->plan.kernel->default_tile > 0;
    r->tile_m = chosen ? out->plan.tile : out->plan.kernel->tile_m;
    r->tile_n = chosen ? out->plan.tile : out->plan.kernel->tile_n;
    r->tile_k = chosen ? out->plan.tile : out->plan.kernel->tile_k;
}

static void refuse(row *out)
{
    out->outcome = ROW_REFUSED;
    out->record.refused = out->text;
}

/* Ask the one predicate; then the plan. false: refused, and the row says why. */
static bool plan_row(const trial *t, const tw_lab_choice *choice, row *out)
{
    int fits = choice->kernel != NULL ? tw_lab_fits(t->context, choice, &t->problem, out->text, (int)sizeof out->text)
                                      : 1;
    if (fits < 0 || (fits > 0 && tw_lab_plan_of(t->context, choice, &t->problem, &out->plan) != TW_OK)) {
        snprintf(out->text, sizeof out->text, "%s", tw_error_text());
        fits = 0;
    }
    if (fits == 0) refuse(out);
    return fits > 0;
}

static void compare(const trial *t, roofs *limits, int tries, row *out)
{
    const tw_problem *p = &t->problem;
    record *r = &out->record;
    int threads = out->plan.threads > 0 ? out->plan.threads : 1;
    /* a batch is not read in the blocks of one product, nor a complex one in those of a kernel of real numbers */
    bool known = t->batch == 0 && out->plan.kernel->dtype == p->dtype;
    double bytes = roofline_compulsory_bytes(p);
    /* of a matrix unit, which emulates, nothing is measured */
    double peak = out->plan.kernel->emulates ? NAN : roofs_peak(limits, p->dtype, threads, tries);
    double bandwidth = roofs_bandwidth(limits, bytes < 1e15 ? (int64_t)bytes : (int64_t)1e15, threads, tries);
    record_fill_bounds(r, p, known ? out->plan.block_m : 0, known ? out->plan.block_n : 0, peak, bandwidth);
    double memory = roofs_memory_bandwidth(limits, threads, 0);
    r->no_cache_gflops = roofline_no_cache_flops(p, r->bytes_asked, memory) / 1e9;
    r->bound_asked_gflops = isnan(r->no_cache_gflops) ? (double)NAN : fmin(r->no_cache_gflops, r->peak_gflops);
}

/* A row beyond its bound is a reason to measure the bound again, harder, before it is called an error. */
void row_compare(const trial *t, roofs *limits, int tries, row *out)
{
    compare(t, limits, tries, out);
    for (int again = 0; again < 5 && out->record.fraction_of_bound > RECORD_MOST_OF_BOUND; again++)
        compare(t, limits, 10, out);
    out->outcome = out->record.fraction_of_bound > RECORD_MOST_OF_BOUND ? ROW_IMPOSSIBLE : ROW_TIMED;
}

/* The kernel's resources, the host's passes before it, and for thin products the bandwidth as NVIDIA Best Practices
 * counts it: each k x k block of C reads its two tiles and writes its own once. */
static void describe_launch(const tw_problem *p, const trial_timing *timing, row *out)
{
    const tw_lab_resources *x = &timing->resources;
    record *r = &out->record;
    r->registers = x->registers, r->local_bytes = x->local_bytes, r->spill_bytes = x->spill_bytes;
    if (x->occupancy >= 0) r->occupancy = x->occupancy;
    r->prepare_s = timing->prepare_s;
    if (out->plan.kernel->skinny)
        r->effective_gbps = (roofline_bytes_asked(p, p->k, p->k) + row_c_bytes(r)) / r->median_s * 1e-9;
}

static void progress(const bench_setup *s, const row *r, const char *what)
{
    char text[80];
    snprintf(text, sizeof text, "%s: %s", r->plan.kernel->name, what);
    s->hooks->progress(text);
}

/* begun: before the rows were judged, timed and given their bounds */
static void keep_times(const bench_setup *s, const trial *t, roofs *limits, int tries, const trial_timing *timing,
                       int sets, const busy_reading *begun, row *out)
{
    const measure_result *result = &timing->work.result;
    record *r = &out->record;
    r->samples = result->samples, r->repeats = result->repeats, r->sets = sets;
    r->min_s = result->min_s, r->median_s = result->median_s, r->p95_s = result->p95_s, r->max_s = result->max_s;
    out->turns = timing->work;
    if (!t->host && !device_is_host(s->device)) describe_launch(&t->problem, timing, out);
    progress(s, out, "measuring the bounds");
    row_compare(t, limits, tries, out);
    const busy_reading ended = busy_now();
    record_doubt_text doubt;
    r->others = busy_share(begun, &ended);
    if (out->outcome == ROW_IMPOSSIBLE) snprintf(out->text, sizeof out->text, "%s", record_doubt(r, doubt));
}

/* Time the rows in turns. judged_s: what the run took that was judged last. Where that is long it is the one row's
 * sample: more runs would say the same, minutes later. */
static tw_status time_rows(const bench_setup *s, trial *t, roofs *limits, const row_wish *wish, trial_timing *timings,
                           row **rows, int count, double judged_s, const busy_reading *begun)
{
    const double long_s = 30;
    measure_options how = {.samples = s->samples, .limit_s = wish->limit_s};
    progress(s, rows[0], count > 1 ? "timing alternately" : "timing");
    int tries = device_is_host(s->device) ? 2 : 0; /* a CPU's clock and guests change from row to row */
    roofs_peak(limits, t->problem.dtype, rows[0]->plan.threads > 0 ? rows[0]->plan.threads : 1, tries);
    bool timed = device_is_host(s->device) && count == 1 && judged_s >= long_s;
    tw_status status = timed ? TW_OK : trial_time(t, timings, count, s->device, &how);
    if (timed) timings[0].work.result = measure_summary(&judged_s, 1, 1);
    for (int i = 0; status == TW_OK && i < count; i++)
        keep_times(s, t, limits, tries, &timings[i], timed ? 1 : t->sets, begun, rows[i]);
    return status;
}

/* A reader's kernel is also judged where no edge of C is a whole number of tiles, rows and columns differ, and rows
 * have padding: a guard that is missing or asks the wrong way round shows there. A skinny kernel keeps its k. */
static tw_problem uneven_problem(const trial *t, const row_wish *wish)
{
    enum { M = 45, N = 77, K = 33, APART = 100 };
    tw_problem p = tw_problem_make(t->problem.dtype, t->problem.op_a, t->problem.op_b, M, N,
                                   wish->kernel->skinny ? t->problem.k : K);
    p.lda = p.ldb = p.ldc = APART;
    return p;
}

/* There too with an alpha and a beta that are not ignored. */
static tw_problem scaled_problem(const trial *t, const row_wish *wish)
{
    tw_problem p = uneven_problem(t, wish);
    p.alpha = 2, p.beta = 3;
    return p;
}

static const char *shape_text(const tw_problem *p, char text[100])
{
    const int used = snprintf(text, 100, "%lld x %lld x %lld", (long long)p->m, (long long)p->n, (long long)p->k);
    if (p->alpha != 1 || p->beta != 0)
        snprintf(text + used, (size_t)(100 - used), " with alpha %g and beta %g", p->alpha, p->beta);
    return text;
}

static tw_status judge_at(const bench_setup *s, const trial *t, const tw_problem *p, const tw_lab_choice *choice,
                          trial_verdict *verdict)
{
    char shape[100];
    trial uneven;
    trial_verdict found;
    tw_status status = trial_open(&uneven, t->context, p, s->seed, 0);
    if (status != TW_OK) return status;
    uneven.hooks = s->hooks;
    status = trial_judge(&uneven, choice, &found);
    trial_close(&uneven);
    if (status != TW_OK || found.passed) return status;
    verdict->passed = false, verdict->verified = found.verified;
    snprintf(verdict->text, sizeof verdict->text, "at %s: %.190s", shape_text(p, shape), found.text);
    return TW_OK;
}

static tw_status judge_uneven(const bench_setup *s, const trial *t, const row_wish *wish, const tw_lab_choice *choice,
                              trial_verdict *verdict)
{
    const tw_problem problems[] = {uneven_problem(t, wish), scaled_problem(t, wish)};
    tw_status status = TW_OK;
    for (int i = 0; i < 2 && status == TW_OK && verdict->passed; i++)
        status = judge_at(s, t, &problems[i], choice, verdict);
    return status;
}

/* What a reader's kernel that is wrong does, if it can be named: of whole tiles, where rows and columns may be
 * exchanged, or else at the uneven shape, or there with alpha and beta. */
static void tell_mistake(const bench_setup *s, const trial *t, const row_wish *wish, const tw_lab_choice *choice,
                         row *out)
{
    enum { EDGE = 96 };
    const int64_t k = wish->kernel->skinny ? t->problem.k : EDGE;
    const tw_problem problems[] = {tw_problem_make(t->problem.dtype, t->problem.op_a, t->problem.op_b, EDGE, EDGE, k),
                                   uneven_problem(t, wish), scaled_problem(t, wish)};
    for (int i = 0; i < 3; i++) {
        const tw_problem *p = &problems[i];
        char mistake[MISTAKE_BYTES];
        trial small;
        if (trial_open(&small, t->context, p, s->seed, 0) != TW_OK) return;
        small.hooks = s->hooks;
        const bool named = trial_mistake(&small, choice, mistake);
        trial_close(&small);
        if (!named) continue;
        const size_t used = strlen(out->text);
        char shape[100];
        snprintf(out->text + used, sizeof out->text - used, ". At %s: %s", shape_text(p, shape), mistake);
        return;
    }
}

static tw_lab_choice choice_of(const bench_setup *s, const trial *t, const row_wish *wish, const tw_batch *batch)
{
    return (tw_lab_choice){.kernel = wish->kernel != NULL ? wish->kernel->name : NULL,
                           .tile = wish->tile,
                           .threads = s->threads,
                           .default_build = wish->default_build,
                           .keeps_ld = !t->host,
                           .source = wish->source,
                           .batch = t->batch > 0 ? batch : NULL};
}

bool row_refused(const bench_setup *s, const trial *t, const row_wish *wish, row *out)
{
    const tw_batch batch = tw_batch_make(&t->problem, t->batch);
    const tw_lab_choice choice = choice_of(s, t, wish, &batch);
    memset(out, 0, sizeof *out);
    describe(s, t, wish, &out->record);
    return !plan_row(t, &choice, out);
}

/* Refuse, or plan and judge: a row that passed is ROW_TIMED, though its times are still to be taken. */
static tw_status judge_row(const bench_setup *s, trial *t, const row_wish *wish, const tw_lab_choice *choice,
                           double *judged_s, row *out)
{
    trial_verdict verdict;
    if (row_refused(s, t, wish, out)) return TW_OK;
    describe_plan(s, wish, out);
    if (wish->wrong != NULL) {
        out->record.verified = "WRONG";
        out->outcome = ROW_WRONG;
        snprintf(out->text, sizeof out->text, "%s", wish->wrong);
        return TW_OK;
    }
    progress(s, out, "verifying");
    tw_status status = trial_judge(t, choice, &verdict);
    if (status == TW_OK && verdict.passed && wish->source != NULL) status = judge_uneven(s, t, wish, choice, &verdict);
    if (status != TW_OK) return status;
    out->record.verified = verdict.verified;
    out->record.error_ratio = verdict.error_ratio;
    out->outcome = verdict.passed ? ROW_TIMED : ROW_WRONG;
    if (verdict.passed) *judged_s = verdict.seconds;
    snprintf(out->text, sizeof out->text, "%s", verdict.text);
    if (!verdict.passed && wish->source != NULL) tell_mistake(s, t, wish, choice, out);
    return TW_OK;
}

tw_status row_run(const bench_setup *s, trial *t, roofs *limits, const row_wish *wishes, int count, row *out,
                  row_fault *fault)
{
    const tw_batch batch = tw_batch_make(&t->problem, t->batch);
    tw_lab_choice choices[ROW_MOST];
    trial_timing timings[ROW_MOST];
    row *rows[ROW_MOST];
    const row_wish *last = wishes; /* of those that are timed */
    const busy_reading begun = busy_now();
    double judged_s = 0;
    int timed = 0;
    for (int i = 0; i < count; i++) {
        choices[i] = choice_of(s, t, &wishes[i], &batch);
        *fault = (row_fault){&wishes[i], "the check of this shape"};
        if (wishes[i].source != NULL) s->hooks->foreign(wishes[i].source->file);
        tw_status status = judge_row(s, t, &wishes[i], &choices[i], &judged_s, &out[i]);
        s->hooks->foreign(NULL);
        if (status != TW_OK) return status;
        if (out[i].outcome != ROW_TIMED) continue;
        timings[timed] = (trial_timing){.choice = &choices[i]};
        rows[timed++] = &out[i];
        last = &wishes[i];
    }
    if (timed == 0) return TW_OK;
    *fault = (row_fault){last, "the operands of this shape"};
    if (last->source != NULL) s->hooks->foreign(timed > 2 ? "a file of --rung" : last->source->file);
    tw_status status = time_rows(s, t, limits, wishes, timings, rows, timed, judged_s, &begun);
    s->hooks->foreign(NULL);
    /* Where the first was not timed there is nothing to be beside. */
    for (int i = 0; i < timed && rows[0] != &out[0]; i++) rows[i]->turns.rounds = 0;
    return status;
}

tw_status row_builds(const bench_setup *s, const row_wish *wish)
{
    enum { SIDE = 32 };
    static const float zeros[2][SIDE * SIDE];
    static float c[SIDE * SIDE];
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, SIDE, SIDE, SIDE);
    const tw_lab_choice choice = {
        .kernel = wish->kernel->name, .tile = wish->tile, .default_build = wish->default_build, .source = wish->source};
    tw_lab_run *run = NULL;
    if (tw_lab_fits(s->context, &choice, &p, NULL, 0) != 1) return TW_OK;
    s->hooks->waits(wish->source->file, "compile");
    tw_status status = tw_lab_run_open(s->context, &choice, &p, zeros[0], zeros[1], c, &run);
    s->hooks->waits(NULL, NULL);
    tw_lab_run_close(run);
    return status;
}

bool row_failed(const row *r) { return r->outcome == ROW_WRONG || r->outcome == ROW_IMPOSSIBLE; }

int row_threads(const row *r) { return r->plan.block_threads > 0 ? r->plan.block_threads : r->plan.threads; }

double row_c_bytes(const record *r)
{
    const element *type = element_of(tw_lab_dtype_named(r->dtype)->dtype);
    return (double)r->m * (double)r->n * element_of(type->result)->bytes;
}

bool row_is_rolled(const tw_lab_kernel *kernel)
{
    return strcmp(kernel->engine, "cpu") != 0 && strncmp(kernel->rung, "r0", 2) == 0 && kernel->rung[2] <= '5';
}
