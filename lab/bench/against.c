/* against.c - see against.h. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "against.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "../busy.h"
#include "../roofline.h"

enum { USUAL_SAMPLES = 11, DEADLINE_S = 60 };
/* LIMIT_S: see AGAINST_LEAST_SAMPLES; what a side may need beyond the deadline: a few runs at SLOWEST_FLOPS */
static const double LIMIT_S = 30, SLOWEST_FLOPS = 2e9;

static const char *dtype_name(const against *g) { return tw_lab_dtype_of(g->problem.dtype)->name; }

/* ---- turns ---- */

static bool here(const against *g, int i) { return g->processes[i].pid != 0; }

/* It takes no further part, which a sentence says. */
static void drop(against *g, int i, const char *why)
{
    side *x = &g->sides[i];
    case_name name;
    worker_end(&g->processes[i]);
    x->outcome = SIDE_GONE;
    snprintf(x->why, sizeof x->why, "%s", why);
    if (g->problem.m > 0)
        bench_tell(&g->setup, TW_OK, "%s: at %s of %s it %s", x->name, case_text(&g->problem, name), dtype_name(g),
                   why);
    else
        bench_tell(&g->setup, TW_OK, "%s: it %s", x->name, why);
}

static void wait_for_quiet(against *g)
{
    for (int busy; (busy = workers_quiet(g->processes, g->count)) >= 0;)
        drop(g, busy, "used CPU time after its turn: its process was ended");
}

/* One turn of a side. false: it is gone, or its answer says why not. */
static bool turn(against *g, int i, work_kind what, work_answer *answer)
{
    work_order order = {what, g->problem, g->sets, g->sets.wanted};
    char why[PEER_TEXT];
    double most_flops = 3.0 * roofline_flops(&g->problem) * (what == WORK_SAMPLE ? g->sides[i].repeats : 1);
    double deadline_s = (g->deadline_s > 0 ? g->deadline_s : DEADLINE_S) + most_flops / SLOWEST_FLOPS +
                        g->pause_s * (what == WORK_SAMPLE ? g->sides[i].repeats : 1);
    char doing[sizeof(case_name) + 32];
    case_name name;
    snprintf(doing, sizeof doing, "%s: %s", case_text(&g->problem, name), g->sides[i].name);
    g->setup.hooks->progress(doing);
    *answer = (work_answer){0};
    wait_for_quiet(g);
    if (!here(g, i)) return false;
    bool answered = worker_ask(&g->processes[i], &order, sizeof order, answer, sizeof *answer, ceil(deadline_s), why,
                               sizeof why);
    if (!answered) drop(g, i, why);
    return answered && answer->done;
}

/* ---- who takes part ---- */

void against_need(against *g, const tw_problem *problem)
{
    operand_sets sets = sets_for(problem, 1, g->setup.device);
    size_t bytes = (size_t)sets.wanted * sets.set_bytes;
    if (bytes > g->bytes) g->bytes = bytes;
}

static tw_status add_side(against *g, const peer_row *row)
{
    side *x = &g->sides[g->count++];
    *x = (side){.row = row, .name = row != NULL ? row->name : "tilewright", .share = {NAN, NAN}};
    x->job = (worker_job){row, g->folder, g->threads, g->pause_s, g->memory};
    x->times_s = calloc((size_t)(g->samples > AGAINST_LEAST_SAMPLES ? g->samples : AGAINST_LEAST_SAMPLES),
                        sizeof *x->times_s);
    return x->times_s != NULL ? TW_OK : bench_no_memory(&g->setup, "the samples");
}

static tw_status open_all(against *g)
{
    for (int i = 0; i < g->count; i++) {
        work_answer answer;
        side *x = &g->sides[i];
        if (turn(g, i, WORK_OPEN, &answer))
            x->opened = true, memcpy(x->version, answer.text, PEER_TEXT), memcpy(x->choice, answer.choice, PEER_TEXT);
        else if (here(g, i))
            drop(g, i, answer.text);
    }
    if (!here(g, 0)) return TW_DEVICE_FAILED;
    for (int i = 1; i < g->count; i++)
        if (here(g, i)) return TW_OK;
    return bench_tell(&g->setup, TW_NO_DEVICE, "none of the libraries to compare with is here");
}

tw_status against_begin(against *g, const peer_row *const peers[], int count)
{
    g->samples = g->setup.samples > 0 ? g->setup.samples : USUAL_SAMPLES;
    g->threads = g->setup.threads > 0 ? g->setup.threads : (int)g->setup.device->threads;
    g->memory = mmap(NULL, g->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (g->memory == MAP_FAILED) return bench_no_memory(&g->setup, "the operands");
    char pause[64] = "";
    if (g->pause_s > 0) snprintf(pause, sizeof pause, ", %g us of other work before each call", 1e6 * g->pause_s);
    snprintf(g->method, sizeof g->method,
             "calls with host pointers, %sa process for each library, in turns, operands "
             "rotated beyond the cache%s",
             g->threads > 1 ? "" : "CPU time of ", pause);
    tw_status status = add_side(g, NULL);
    for (int i = 0; status == TW_OK && i < count; i++) status = add_side(g, peers[i]);
    if (status != TW_OK) return status;
    for (int i = 0; i < g->count; i++)
        if (!worker_start(g->setup.hooks, g->processes, i, library_worker_run, &g->sides[i].job))
            return bench_tell(&g->setup, TW_DEVICE_FAILED, "no process for %s: %s", g->sides[i].name, strerror(errno));
    return open_all(g);
}

void against_end(against *g)
{
    for (int i = 0; i < g->count; i++) {
        worker_end(&g->processes[i]);
        free(g->sides[i].times_s);
    }
    if (g->memory != NULL && g->memory != MAP_FAILED) munmap(g->memory, g->bytes);
}

/* ---- one case ---- */

typedef struct judged {
    against *g;
    int i;
} judged;

/* The side's product of an oracle's operands, by way of the shared memory. */
static tw_status multiply_there(void *job, const oracle *o, void *c)
{
    const judged *j = job;
    against *g = j->g;
    char *a = g->memory, *b = a + g->sets.a_bytes, *there = b + g->sets.b_bytes;
    work_answer answer;
    memcpy(a, o->a, oracle_a_bytes(o));
    memcpy(b, o->b, oracle_b_bytes(o));
    memcpy(there, c, oracle_c_bytes(o));
    if (!turn(g, j->i, WORK_PRODUCT, &answer)) {
        side *x = &g->sides[j->i];
        if (here(g, j->i)) snprintf(x->why, sizeof x->why, "%s", answer.text), x->outcome = SIDE_REFUSED;
        return TW_DEVICE_FAILED;
    }
    snprintf(g->sides[j->i].choice, PEER_TEXT, "%s", answer.choice);
    memcpy(c, there, oracle_c_bytes(o));
    return TW_OK;
}

/* TW_OK: the side's outcome says SIDE_TIMED where it may be timed now. */
static tw_status judge(against *g, int i, const trial *t)
{
    side *x = &g->sides[i];
    judged job = {g, i};
    case_name name;
    x->outcome = here(g, i) ? SIDE_TIMED : SIDE_GONE;
    if (!here(g, i)) return TW_OK;
    x->why[0] = '\0';
    if (x->row != NULL && peer_refuses(x->row, &g->problem, g->threads, x->why, sizeof x->why)) {
        x->outcome = SIDE_REFUSED;
        return TW_OK;
    }
    tw_status status = trial_judge_other(t, multiply_there, &job, &x->verdict);
    if (status == TW_NO_MEMORY) return bench_no_memory(&g->setup, "the check");
    if (status != TW_OK || x->verdict.passed) return TW_OK;
    x->outcome = SIDE_WRONG;
    bench_tell(&g->setup, TW_OK, "%s: at %s of %s its product is wrong: %s", x->name, case_text(&g->problem, name),
               dtype_name(g), x->verdict.text);
    return TW_OK;
}

/* The processors' use, with that of the sides as our own. */
static busy_reading busy_of(const against *g)
{
    busy_reading now = busy_now();
    now.own_s += workers_cpu_s(g->processes, g->count);
    return now;
}

static void take_sample(against *g, int i, int at)
{
    side *x = &g->sides[i];
    work_answer answer;
    if (turn(g, i, WORK_SAMPLE, &answer))
        x->times_s[at] = answer.seconds;
    else if (here(g, i))
        drop(g, i, answer.text);
}

/* Why a side's numbers are doubtful: code for less than this processor has, or at 2048 another number of threads
 * than was asked for. Low speed is no reason: a library that is slow there may be the best elsewhere. */
static void doubt(const against *g, side *x)
{
    const int ran = x->ran[peer_type(g->problem.dtype)];
    int rank, device_rank;
    const char *code = peer_code(x->choice, &rank), *device = peer_code(g->setup.device->instruction_set, &device_rank);
    char threads[80] = "";
    x->doubt[0] = '\0';
    if (ran > 0 && ran != g->threads)
        snprintf(threads, sizeof threads, "%d thread%s computed at 2048, and %d %s asked for", ran, ran == 1 ? "" : "s",
                 g->threads, g->threads == 1 ? "was" : "were");
    if (code != NULL && device != NULL && rank < device_rank)
        snprintf(x->doubt, sizeof x->doubt, "its code is for %s, and the processor has %s%s%s", code, device,
                 threads[0] != '\0' ? "; " : "", threads);
    else
        snprintf(x->doubt, sizeof x->doubt, "%s", threads);
}

static void take_samples(against *g, int samples)
{
    const busy_reading from = busy_of(g);
    int taken = 0;
    work_answer answer;
    for (int i = 0; i < g->count; i++) {
        side *x = &g->sides[i];
        if (x->outcome != SIDE_TIMED) continue;
        if (turn(g, i, WORK_READY, &answer))
            x->repeats = answer.repeats, x->run_s = answer.seconds, x->threads = answer.threads;
        else if (here(g, i))
            drop(g, i, answer.text);
    }
    for (double start_s = measure_now_s(); taken < samples; taken++) {
        if (taken >= AGAINST_LEAST_SAMPLES && measure_now_s() - start_s > LIMIT_S) break;
        for (int turns = 0; turns < g->count; turns++) { /* another one begins each round */
            int i = (turns + taken) % g->count;
            if (g->sides[i].outcome == SIDE_TIMED) take_sample(g, i, taken);
        }
    }
    for (int i = 0; i < g->count; i++)
        if (g->sides[i].outcome == SIDE_TIMED)
            g->sides[i].result = measure_summary(g->sides[i].times_s, taken, g->sides[i].repeats);
    const busy_reading to = busy_of(g);
    g->others = busy_share(&from, &to);
    for (int i = 0; i < g->count; i++) doubt(g, &g->sides[i]);
}

tw_status against_judge(against *g, const tw_problem *problem, const trial *t)
{
    tw_status result = TW_OK;
    g->problem = *problem;
    g->sets = sets_for(problem, 1, g->setup.device);
    for (int i = 0; i < g->count; i++) {
        tw_status status = judge(g, i, t);
        if (status != TW_OK) result = status;
    }
    return result;
}

tw_status against_time(against *g, int samples)
{
    sets_fill(&g->sets, &g->problem, 1, g->sets.wanted, g->memory);
    take_samples(g, samples);
    if (here(g, 0) && g->sides[0].outcome == SIDE_REFUSED)
        return bench_tell(&g->setup, TW_DEVICE_FAILED, "%s", g->sides[0].why);
    return here(g, 0) ? TW_OK : TW_DEVICE_FAILED;
}

/* ---- the peak ---- */

void against_peak(against *g, tw_dtype dtype)
{
    work_answer answer;
    double *best = &g->peak_flops[peer_type(dtype)];
    g->problem = tw_problem_make(dtype, TW_N, TW_N, 1, 1, 1);
    bool measured = turn(g, 0, WORK_PEAK, &answer);
    if (measured && answer.seconds > *best) *best = answer.seconds;
    if (!measured) snprintf(g->why_no_peak, sizeof g->why_no_peak, "%s", answer.text);
}

void against_shares(against *g, tw_dtype dtype)
{
    const int type = peer_type(dtype);
    const double flops = roofline_flops(&g->problem);
    if (g->peak_flops[type] > 0) against_peak(g, dtype);
    for (int i = 0; i < g->count; i++) {
        side *x = &g->sides[i];
        if (x->outcome != SIDE_TIMED) continue;
        x->ran[type] = x->threads;
        if (g->peak_flops[type] > 0) x->share[type] = flops / x->result.min_s / g->peak_flops[type];
        doubt(g, x);
    }
}

record against_record(const against *g, const side *x)
{
    const tw_problem *p = &g->problem;
    record r = record_blank();
    r.engine = g->setup.device->engine, r.device = g->setup.device->name;
    r.library = x->name, r.library_version = x->version[0] != '\0' ? x->version : NULL;
    r.kernel = x->choice[0] != '\0' ? x->choice : x->name;
    r.dtype = tw_lab_dtype_of(p->dtype)->name;
    r.m = p->m, r.n = p->n, r.k = p->k, r.lda = p->lda, r.ldb = p->ldb, r.ldc = p->ldc;
    r.op_a = p->op_a == TW_N ? 'n' : 't', r.op_b = p->op_b == TW_N ? 'n' : 't';
    r.alpha = p->alpha, r.beta = p->beta;
    r.align_a = r.align_b = r.align_c = SETS_ALIGN;
    r.method = g->method;
    r.threads = g->threads, r.sets = g->sets.wanted;
    r.verified = x->outcome >= SIDE_WRONG ? x->verdict.verified : "no";
    if (x->outcome < SIDE_TIMED) r.refused = x->why;
    if (x->outcome == SIDE_TIMED) {
        r.doubt = x->doubt[0] != '\0' ? x->doubt : NULL, r.others = g->others;
        r.samples = x->result.samples, r.repeats = x->result.repeats;
        r.min_s = x->result.min_s, r.median_s = x->result.median_s, r.p95_s = x->result.p95_s,
        r.max_s = x->result.max_s;
        r.error_ratio = x->verdict.error_ratio;
        double peak = g->peak_flops[peer_type(p->dtype)];
        record_fill_bounds(&r, p, 0, 0, peak > 0 ? peak : NAN, NAN); /* what a library asks is not known */
    }
    return r;
}
