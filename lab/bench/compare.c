/* compare.c - see compare.h. */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../busy.h"
#include "../roofline.h"

/* Samples of a case: once they have taken LIMIT_S no more than LEAST_SAMPLES. Each is of as many launches as last
 * SAMPLE_S, at most MOST_REPEATS, and comes after one that is not timed, so that the stream never waits for the host.
 * Turns that take the device WARM_S bring clock and power to where they stay, HOT_S where a launch is of HOT_FLOPS:
 * after a long check on the host an H200 is back at 1980 MHz, from where such products need more than 0.5 s to the 1300
 * to 1600 that its power allows. */
enum { USUAL_SAMPLES = 21, LEAST_SAMPLES = 5, TRIAL_SAMPLES = 5, MOST_REPEATS = 1000 };
static const double SAMPLE_S = 2e-4, WARM_S = 0.5, HOT_S = 2, HOT_FLOPS = 1e10, LIMIT_S = 20;

const compare_peer *compare_peer_of(const char *engine)
{
    static const compare_peer *const peers[] = {&compare_cublas, &compare_clblast};
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
        if (strcmp(peer_named(peers[i]->name)->engine, engine) == 0) return peers[i];
    return NULL;
}

static tw_status failed(const comparison *g) { return bench_tell(&g->setup, TW_DEVICE_FAILED, "%s", g->why); }

tw_status compare_begin(comparison *g, const char *folder)
{
    g->samples = g->setup.samples > 0 ? g->setup.samples : USUAL_SAMPLES;
    tw_status status = g->peer->open(g, folder);
    if (status != TW_OK) return bench_tell(&g->setup, status, "%s", g->why);
    for (int i = 0; i < COMPARE_SIDES; i++) {
        side *x = &g->sides[i];
        x->name = g->peer->sides[i];
        snprintf(x->version, sizeof x->version, "%s", i == OURS ? tw_version() : g->version);
        x->times_s = calloc((size_t)g->samples, sizeof *x->times_s);
        if (x->times_s == NULL) return bench_no_memory(&g->setup, "the samples");
    }
    return TW_OK;
}

void compare_end(comparison *g)
{
    for (int i = 0; i < COMPARE_SIDES; i++) free(g->sides[i].times_s);
    g->peer->close(g);
}

void compare_peak(comparison *g, tw_dtype dtype)
{
    if (tw_lab_peak_flops(g->setup.context, dtype, 1, 3, &g->peak_flops) != TW_OK) g->peak_flops = NAN;
}

/* ---- launches ---- */

static int candidate_of(const comparison *g, int i) { return i == BEST ? g->best : 0; }

void compare_refuse(comparison *g, int i, const char *why)
{
    g->sides[i].outcome = SIDE_REFUSED;
    snprintf(g->sides[i].why, sizeof g->sides[i].why, "%.*s", (int)sizeof g->sides[i].why - 1, why);
}

/* One product of a set. false: the side says why. */
static bool launch(comparison *g, int i, int candidate, int set)
{
    if (g->peer->launch(g, i, candidate, set)) return true;
    compare_refuse(g, i, g->why);
    return false;
}

static int next_set(comparison *g) { return g->warm ? 0 : (int)(g->launches++ % g->set_count); }

/* Seconds of a launch, of so many one after the other, which are added to g->busy_s. TW_OK and *seconds NAN: the side
 * does not take it, and says why. */
static tw_status sample(comparison *g, int i, int candidate, int repeats, double *seconds)
{
    *seconds = NAN;
    if (!launch(g, i, candidate, next_set(g))) return TW_OK;
    if (!g->peer->begin(g)) return failed(g);
    for (int n = 0; n < repeats; n++)
        if (!launch(g, i, candidate, next_set(g))) return TW_OK;
    if (!g->peer->end(g, seconds)) return failed(g);
    g->busy_s += *seconds;
    *seconds /= repeats * (double)g->items;
    return TW_OK;
}

/* How many launches last SAMPLE_S: the first that a kernel sees is slower than the next. */
static tw_status count_repeats(comparison *g, int i, int candidate, int *repeats)
{
    double seconds;
    tw_status status = TW_OK;
    *repeats = 1;
    for (int turn = 0; turn < 2 && status == TW_OK; turn++) {
        status = sample(g, i, candidate, *repeats, &seconds);
        if (status != TW_OK || isnan(seconds)) return status;
        seconds *= (double)g->items;
        *repeats = seconds * MOST_REPEATS > SAMPLE_S ? (int)ceil(SAMPLE_S / seconds) : MOST_REPEATS;
    }
    return status;
}

/* ---- one case: candidates ---- */

tw_status compare_plan(comparison *g, const tw_problem *host)
{
    side *x = &g->sides[OURS];
    g->problem = *host;
    g->problem.place_a = g->problem.place_b = g->problem.place_c = TW_DEVICE;
    g->plan = (tw_lab_plan){0};
    x->choice[0] = '\0';
    tw_status status = g->peer->plan(g, host);
    if (status == TW_OK) snprintf(x->choice, sizeof x->choice, "%s", g->plan.kernel->name);
    x->outcome = SIDE_TIMED;
    if (status == TW_NO_KERNEL) compare_refuse(g, OURS, tw_error_text());
    return status == TW_NO_KERNEL ? TW_OK : status;
}

/* The fastest by the trials is the best now; the first where all have failed. false: all have. */
static bool take_fastest(comparison *g)
{
    side *x = &g->sides[BEST];
    int fastest = 0;
    for (int n = 1; n < g->candidates; n++)
        if (g->trial_s[n] < g->trial_s[fastest]) fastest = n;
    g->best = fastest;
    g->best_is_heuristic = fastest == 0;
    g->peer->describe(g, fastest, x->choice);
    x->outcome = g->best_is_heuristic ? SIDE_REFUSED : SIDE_TIMED;
    return isfinite(g->trial_s[fastest]);
}

/* Another turn to warm the device up? Not where the last one, from *before_s on, took it no time: all have failed. */
static bool is_cold(const comparison *g, double *before_s)
{
    const double enough_s = roofline_flops(&g->problem) * (double)g->items < HOT_FLOPS ? WARM_S : HOT_S;
    const bool took = g->busy_s > *before_s;
    *before_s = g->busy_s;
    return took && g->busy_s < enough_s;
}

/* Time the candidates in turns until the device is warm, and keep the last TRIAL_SAMPLES: which is the fastest depends
 * on how hot the device is. One that fails is passed over. */
static tw_status try_candidates(comparison *g)
{
    double times_s[COMPARE_CANDIDATES][TRIAL_SAMPLES] = {{0}};
    bool failed_before[COMPARE_CANDIDATES] = {false};
    int repeats[COMPARE_CANDIDATES];
    tw_status status = TW_OK;
    g->trial_s[0] = 0;
    if (g->candidates == 1) return TW_OK; /* nothing to choose from */
    for (int n = 0; status == TW_OK && n < g->candidates; n++) status = count_repeats(g, BEST, n, &repeats[n]);
    g->busy_s = 0;
    double before_s = -1;
    for (int turn = 0; status == TW_OK && (is_cold(g, &before_s) || turn < TRIAL_SAMPLES); turn++)
        for (int n = 0; status == TW_OK && n < g->candidates; n++) {
            status = failed_before[n] ? TW_OK : sample(g, BEST, n, repeats[n], &times_s[n][turn % TRIAL_SAMPLES]);
            failed_before[n] |= isnan(times_s[n][turn % TRIAL_SAMPLES]);
        }
    for (int n = 0; status == TW_OK && n < g->candidates; n++)
        g->trial_s[n] = failed_before[n] ? INFINITY : measure_summary(times_s[n], TRIAL_SAMPLES, repeats[n]).median_s;
    return status;
}

static tw_status choose_peers(comparison *g, const tw_problem *host)
{
    side *heuristic = &g->sides[HEURISTIC], *best = &g->sides[BEST];
    heuristic->choice[0] = best->choice[0] = '\0';
    heuristic->outcome = best->outcome = SIDE_TIMED;
    g->best_is_heuristic = true;
    g->candidates = g->peer->candidates(g, host);
    if (g->candidates == 0) {
        compare_refuse(g, HEURISTIC, g->why);
        compare_refuse(g, BEST, g->why);
        return TW_OK;
    }
    tw_status status = try_candidates(g);
    g->peer->describe(g, 0, heuristic->choice);
    take_fastest(g);
    return status;
}

/* ---- one case: judging, timing ---- */

typedef struct judged {
    comparison *g;
    int i;
} judged;

static tw_status multiply_there(void *job, const oracle *o, void *c)
{
    const judged *j = job;
    comparison *g = j->g;
    batch_operands all;
    if (!batch_spread(o, g->items, c, &all)) return TW_NO_MEMORY;
    bool done = g->peer->multiply(g, j->i, candidate_of(g, j->i), &all);
    if (done) memcpy(c, batch_to_judge(&o->problem, &all), all.item_bytes);
    batch_free(&all);
    return done ? TW_OK : TW_DEVICE_FAILED;
}

/* TW_OK: the outcome says SIDE_TIMED where it may be timed now. */
static tw_status judge(comparison *g, int i, const trial *t)
{
    side *x = &g->sides[i];
    judged job = {g, i};
    case_name name;
    if (x->outcome != SIDE_TIMED) return TW_OK;
    tw_status status = trial_judge_other(t, multiply_there, &job, &x->verdict);
    if (status == TW_NO_MEMORY) return bench_no_memory(&g->setup, "the check");
    if (x->outcome == SIDE_REFUSED) return TW_OK;
    if (status != TW_OK) return failed(g);
    if (x->verdict.passed) return TW_OK;
    x->outcome = SIDE_WRONG;
    return bench_tell(&g->setup, TW_OK, "%s: at %s of %s its product is wrong: %s", x->name,
                      case_text(&g->problem, name), tw_lab_dtype_of(g->problem.dtype)->name, x->verdict.text);
}

/* Where the fastest candidate's product is wrong the next takes its place, while there is one. */
static tw_status judge_fastest(comparison *g, const trial *t)
{
    tw_status status = judge(g, BEST, t);
    while (status == TW_OK && g->sides[g->best_is_heuristic ? HEURISTIC : BEST].outcome == SIDE_WRONG) {
        int wrong = g->best;
        double took_s = g->trial_s[wrong];
        g->trial_s[wrong] = INFINITY;
        if (take_fastest(g)) {
            status = judge(g, BEST, t);
            continue;
        }
        g->trial_s[wrong] = took_s; /* the last: it stays, and is wrong */
        take_fastest(g);
        if (!g->best_is_heuristic) g->sides[BEST].outcome = SIDE_WRONG;
        break;
    }
    return status;
}

/* A sample of each side in turns, another one beginning each round; at < 0: not kept. */
static tw_status take_round(comparison *g, int round, int at)
{
    for (int turns = 0; turns < COMPARE_SIDES; turns++) {
        int i = (turns + round) % COMPARE_SIDES;
        side *x = &g->sides[i];
        double seconds;
        if (x->outcome != SIDE_TIMED) continue;
        tw_status status = sample(g, i, candidate_of(g, i), x->repeats, &seconds);
        if (status != TW_OK) return status;
        if (at >= 0) x->times_s[at] = seconds;
    }
    return TW_OK;
}

static tw_status take_samples(comparison *g)
{
    const busy_reading begun = busy_now();
    int taken = 0, round = 0;
    tw_status status = TW_OK;
    for (int i = 0; status == TW_OK && i < COMPARE_SIDES; i++)
        if (g->sides[i].outcome == SIDE_TIMED) status = count_repeats(g, i, candidate_of(g, i), &g->sides[i].repeats);
    g->busy_s = 0;
    for (double before_s = -1; status == TW_OK && is_cold(g, &before_s); round++) status = take_round(g, round, -1);
    g->before = clocks_now();
    for (double start_s = measure_now_s(); status == TW_OK && taken < g->samples; taken++, round++) {
        if (taken >= LEAST_SAMPLES && measure_now_s() - start_s > LIMIT_S) break;
        status = take_round(g, round, taken);
    }
    g->after = clocks_now();
    const busy_reading ended = busy_now();
    g->others = busy_share(&begun, &ended);
    for (int i = 0; i < COMPARE_SIDES; i++)
        if (g->sides[i].outcome == SIDE_TIMED)
            g->sides[i].result = measure_summary(g->sides[i].times_s, taken, g->sides[i].repeats);
    return status;
}

tw_status compare_run(comparison *g, const tw_problem *host, const trial *t)
{
    tw_status status = g->peer->fill(g, host);
    if (status == TW_OK) status = choose_peers(g, host);
    for (int i = 0; status == TW_OK && i < COMPARE_SIDES; i++)
        status = i == BEST ? judge_fastest(g, t) : judge(g, i, t);
    return status == TW_OK ? take_samples(g) : status;
}

void compare_release(comparison *g) { g->peer->release(g); }

record compare_record(const comparison *g, int i, compare_candidate text)
{
    const side *x = &g->sides[i];
    const tw_problem *p = &g->problem;
    record r = record_blank();
    r.engine = g->setup.device->engine, r.device = g->setup.device->name;
    r.library = i == OURS ? x->name : g->peer->name, r.library_version = x->version;
    r.kernel = x->choice[0] != '\0' ? x->choice : NULL;
    snprintf(text, sizeof(compare_candidate), "candidate %d of %d%s%s", candidate_of(g, i), g->candidates,
             i == HEURISTIC ? ", the heuristic's" : "", i == BEST || g->best_is_heuristic ? ", the fastest" : "");
    if (r.kernel != NULL) r.plan = i == OURS ? g->plan.text : g->peer->chooses ? text : NULL;
    r.dtype = tw_lab_dtype_of(p->dtype)->name;
    r.m = p->m, r.n = p->n, r.k = p->k, r.lda = p->lda, r.ldb = p->ldb, r.ldc = p->ldc;
    r.op_a = p->op_a == TW_N ? 'n' : 't', r.op_b = p->op_b == TW_N ? 'n' : 't';
    r.alpha = p->alpha, r.beta = p->beta;
    r.align_a = r.align_b = r.align_c = SETS_ALIGN;
    r.method = g->warm ? g->peer->method_warm : g->peer->method;
    r.instruction_set = g->setup.device->instruction_set, r.driver = g->setup.driver;
    r.sets = g->set_count;
    if (g->batched) r.batch = g->items;
    r.verified = x->outcome >= SIDE_WRONG ? x->verdict.verified : "no";
    if (x->outcome < SIDE_WRONG) r.refused = x->why;
    r.sm_mhz_before = g->before.sm_mhz, r.power_w_before = g->before.power_w,
    r.temperature_c_before = g->before.temperature_c;
    r.sm_mhz_after = g->after.sm_mhz, r.power_w_after = g->after.power_w,
    r.temperature_c_after = g->after.temperature_c;
    if (x->outcome == SIDE_TIMED) {
        r.samples = x->result.samples, r.repeats = x->result.repeats;
        r.min_s = x->result.min_s, r.median_s = x->result.median_s, r.p95_s = x->result.p95_s,
        r.max_s = x->result.max_s;
        r.error_ratio = x->verdict.error_ratio;
        r.others = g->others;
        const tw_lab_kernel *kernel = i == OURS && r.kernel != NULL ? tw_lab_kernel_named(r.kernel) : NULL;
        const bool emulates = kernel != NULL && kernel->emulates; /* by a matrix unit, of which nothing is measured */
        record_fill_bounds(&r, p, 0, 0, emulates ? NAN : g->peak_flops, NAN); /* what a library asks is not known */
    }
    return r;
}
