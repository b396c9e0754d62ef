/* bench_against_cuda.c - `bench --engine cuda --against cublas`: Tilewright and cuBLASLt on one stream of one process, in
 * turns, launch by launch. */
#include "bench_against.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../lab/bench/batch.h"
#include "../lab/clocks.h"
#include "../lab/cublas.h"
#include "../lab/cuda.h"
#include "../lab/roofline.h"
#include "rows.h"
#include "say.h"
#include "term.h"

/* Samples of a case: once they have taken LIMIT_S no more than LEAST_SAMPLES. Each is of as many launches as last
 * SAMPLE_S, at most MOST_REPEATS, and comes after one that is not timed, so that the stream never waits for the host.
 * WARM_S of turns before them bring clock and power to where they stay, HOT_S where a launch is of HOT_FLOPS and more:
 * after a long check on the host an H200 is back at 1980 MHz, from where such products need more than 0.5 s to the 1300
 * to 1600 that its power allows. */
enum { USUAL_SAMPLES = 21, LEAST_SAMPLES = 5, TRIAL_SAMPLES = 5, MOST_REPEATS = 1000 };
static const double SAMPLE_S = 2e-4, WARM_S = 0.5, HOT_S = 2, HOT_FLOPS = 1e10, LIMIT_S = 20;

enum { OURS, HEURISTIC, BEST, SIDES };

typedef struct duel {
    session *s;
    int samples;
    cuda cuda;
    cublas library;
    side sides[SIDES];
    bool best_is_heuristic; /* then it is timed once, as the heuristic's */
    int best, candidates;   /* the number of the candidate, of how many */
    /* what each took when it was tried; INFINITY: it failed, or its product is wrong */
    double trial_s[CUBLAS_CANDIDATES];
    tw_lab_plan plan;   /* ours */
    tw_problem problem; /* the present case, in device memory */
    bool batched;       /* items products at a time, of which one is told */
    int64_t items;      /* 1, or of a batch */
    operand_sets sets;  /* and behind them one more, to judge in */
    int set_count;
    int64_t launches, workspace_bytes;
    char *memory, *workspace, *peer_workspace; /* on the device */
    double peak_flops;
    clocks_reading before, after;
} duel;

static exit_code failed(const duel *g) { return say(EXIT_RUN, "%s", g->cuda.why); }

/* ---- launches ---- */

static int candidate_of(const duel *g, int i) { return i == BEST ? g->best : 0; }

static void refuse(side *x, const char *why)
{
    x->outcome = SIDE_REFUSED;
    snprintf(x->why, sizeof x->why, "%s", why);
}

/* One product of a set, on the stream. false: the side says why. */
static bool launch(duel *g, int i, int candidate, int set)
{
    char *a = g->memory + (size_t)set * g->sets.set_bytes, *b = a + g->sets.a_bytes, *c = b + g->sets.b_bytes;
    const tw_launch to = {
        .size = sizeof to, .stream = g->cuda.stream, .workspace = g->workspace, .workspace_bytes = g->workspace_bytes};
    const tw_batch batch = tw_batch_make(&g->problem, g->items);
    if (i == OURS && !g->batched && tw_enqueue(g->s->context, &g->problem, a, b, c, &to) == TW_OK) return true;
    if (i == OURS && g->batched && tw_enqueue_batched(g->s->context, &g->problem, &batch, a, b, c, &to) == TW_OK)
        return true;
    if (i != OURS && cublas_multiply(&g->library, candidate, a, b, c, g->peer_workspace, g->cuda.stream)) return true;
    refuse(&g->sides[i], i == OURS ? tw_error_text() : g->library.why);
    return false;
}

static int next_set(duel *g) { return g->s->opt->warm ? 0 : (int)(g->launches++ % g->set_count); }

/* Seconds of a launch, of so many one after the other. EXIT_OK and *seconds NAN: the side does not take it, and says
 * why. */
static exit_code sample(duel *g, int i, int candidate, int repeats, double *seconds)
{
    *seconds = NAN;
    if (!launch(g, i, candidate, next_set(g))) return EXIT_OK;
    if (!cuda_begin(&g->cuda)) return failed(g);
    for (int n = 0; n < repeats; n++)
        if (!launch(g, i, candidate, next_set(g))) return EXIT_OK;
    if (!cuda_end(&g->cuda, seconds)) return failed(g);
    *seconds /= repeats * (double)g->items;
    return EXIT_OK;
}

/* How many launches last SAMPLE_S: the first that a kernel sees is slower than the next. */
static exit_code count_repeats(duel *g, int i, int candidate, int *repeats)
{
    double seconds;
    exit_code code = EXIT_OK;
    *repeats = 1;
    for (int turn = 0; turn < 2 && code == EXIT_OK; turn++) {
        code = sample(g, i, candidate, *repeats, &seconds);
        if (code != EXIT_OK || isnan(seconds)) return code;
        seconds *= (double)g->items;
        *repeats = seconds * MOST_REPEATS > SAMPLE_S ? (int)ceil(SAMPLE_S / seconds) : MOST_REPEATS;
    }
    return code;
}

/* ---- one case: memory, candidates ---- */

static exit_code take_memory(duel *g, const tw_problem *host)
{
    g->sets = sets_beyond_l2(host, g->items, &g->s->device);
    g->set_count = g->sets.wanted;
    while (g->set_count >= 2 && !cuda_allocate(&g->cuda, (size_t)(g->set_count + 1) * g->sets.set_bytes, &g->memory))
        g->set_count /= 2;
    if (g->memory == NULL)
        return say(EXIT_MEMORY, "there is no device memory for two sets of operands and one more: %s", g->cuda.why);
    if (g->workspace_bytes > 0 && !cuda_allocate(&g->cuda, (size_t)g->workspace_bytes, &g->workspace))
        return say(EXIT_MEMORY, "there is no device memory for the workspace of %lld bytes: %s",
                   (long long)g->workspace_bytes, g->cuda.why);
    return EXIT_OK;
}

static exit_code fill_memory(duel *g, const tw_problem *host)
{
    char *set = malloc(g->sets.set_bytes);
    bool copied = true;
    if (set == NULL) return say_no_memory("a set of operands");
    sets_fill(&g->sets, host, g->items, 1, set);
    for (int i = 0; copied && i < g->set_count; i++)
        copied = cuda_up(&g->cuda, g->memory + (size_t)i * g->sets.set_bytes, set, g->sets.set_bytes);
    free(set);
    return copied ? EXIT_OK : failed(g);
}

/* Our kernel of the problem, and its workspace. Where there is none the side says why. */
static exit_code plan_ours(duel *g)
{
    side *x = &g->sides[OURS];
    g->workspace_bytes = 0;
    g->plan = (tw_lab_plan){0};
    x->choice[0] = '\0';
    tw_status status = tw_workspace_bytes(g->s->context, &g->problem, &g->workspace_bytes);
    const tw_batch batch = tw_batch_make(&g->problem, g->items);
    if (status == TW_OK)
        status = tw_lab_plan_of(g->s->context, &(tw_lab_choice){.batch = g->batched ? &batch : NULL}, &g->problem,
                                &g->plan);
    if (status == TW_OK) snprintf(x->choice, sizeof x->choice, "%s", g->plan.kernel->name);
    if (status == TW_OK)
        status = g->batched ? tw_prepare_batched(g->s->context, &g->problem, &batch)
                            : tw_prepare(g->s->context, &g->problem);
    x->outcome = SIDE_TIMED;
    if (status == TW_NO_KERNEL) refuse(x, tw_error_text());
    return status == TW_OK || status == TW_NO_KERNEL ? EXIT_OK : say_tw(status);
}

/* The fastest by the trials is the best now; the first where all have failed. false: all have. */
static bool take_fastest(duel *g)
{
    side *x = &g->sides[BEST];
    int fastest = 0;
    for (int n = 1; n < g->library.count; n++)
        if (g->trial_s[n] < g->trial_s[fastest]) fastest = n;
    g->best = fastest;
    g->best_is_heuristic = fastest == 0;
    cublas_name(&g->library, fastest, x->choice);
    x->outcome = g->best_is_heuristic ? SIDE_REFUSED : SIDE_TIMED;
    return isfinite(g->trial_s[fastest]);
}

static double warm_s(const duel *g)
{
    return roofline_flops(&g->problem) * (double)g->items < HOT_FLOPS ? WARM_S : HOT_S;
}

/* Time the candidates in turns, the last TRIAL_SAMPLES of warm_s(): which is the fastest depends on how hot the device
 * is. One that fails is passed over. */
static exit_code try_candidates(duel *g)
{
    double times_s[CUBLAS_CANDIDATES][TRIAL_SAMPLES] = {{0}};
    bool failed_before[CUBLAS_CANDIDATES] = {false};
    int repeats[CUBLAS_CANDIDATES];
    exit_code code = EXIT_OK;
    for (int n = 0; code == EXIT_OK && n < g->library.count; n++) code = count_repeats(g, BEST, n, &repeats[n]);
    int turn = 0;
    for (double start_s = measure_now_s();
         code == EXIT_OK && (turn < TRIAL_SAMPLES || measure_now_s() - start_s < warm_s(g)); turn++)
        for (int n = 0; code == EXIT_OK && n < g->library.count; n++) {
            code = failed_before[n] ? EXIT_OK : sample(g, BEST, n, repeats[n], &times_s[n][turn % TRIAL_SAMPLES]);
            failed_before[n] |= isnan(times_s[n][turn % TRIAL_SAMPLES]);
        }
    for (int n = 0; code == EXIT_OK && n < g->library.count; n++)
        g->trial_s[n] = failed_before[n] ? INFINITY : measure_summary(times_s[n], TRIAL_SAMPLES, repeats[n]).median_s;
    return code;
}

static exit_code choose_peers(duel *g, const tw_problem *host)
{
    side *heuristic = &g->sides[HEURISTIC], *best = &g->sides[BEST];
    heuristic->choice[0] = best->choice[0] = '\0';
    heuristic->outcome = best->outcome = SIDE_TIMED;
    g->best_is_heuristic = true;
    if (!cublas_begin(&g->library, host, g->batched ? g->items : 0)) {
        refuse(heuristic, g->library.why);
        refuse(best, g->library.why);
        return EXIT_OK;
    }
    exit_code code = try_candidates(g);
    g->candidates = g->library.count;
    cublas_name(&g->library, 0, heuristic->choice);
    take_fastest(g);
    return code;
}

/* ---- one case: judging, timing ---- */

typedef struct judged {
    duel *g;
    int i;
} judged;

static tw_status multiply_there(void *job, const oracle *o, void *c)
{
    const judged *j = job;
    duel *g = j->g;
    char *a = g->memory + (size_t)g->set_count * g->sets.set_bytes, *b = a + g->sets.a_bytes,
         *there = b + g->sets.b_bytes;
    batch_operands all;
    if (!batch_spread(o, g->items, c, &all)) return TW_NO_MEMORY;
    bool done = cuda_up(&g->cuda, a, all.a, all.a_bytes) && cuda_up(&g->cuda, b, all.b, all.b_bytes) &&
                cuda_up(&g->cuda, there, all.c, all.c_bytes) && launch(g, j->i, candidate_of(g, j->i), g->set_count) &&
                cuda_down(&g->cuda, all.c, there, all.c_bytes);
    if (done) memcpy(c, batch_to_judge(&o->problem, &all), all.item_bytes);
    batch_free(&all);
    return done ? TW_OK : TW_DEVICE_FAILED;
}

/* EXIT_OK: the outcome says SIDE_TIMED where it may be timed now. */
static exit_code judge(duel *g, int i, const trial *t)
{
    side *x = &g->sides[i];
    judged job = {g, i};
    case_name name;
    if (x->outcome != SIDE_TIMED) return EXIT_OK;
    tw_status status = trial_judge_other(t, multiply_there, &job, &x->verdict);
    if (status == TW_NO_MEMORY) return say_no_memory("the check");
    if (x->outcome == SIDE_REFUSED) return EXIT_OK;
    if (status != TW_OK) return failed(g);
    if (x->verdict.passed) return EXIT_OK;
    x->outcome = SIDE_WRONG;
    return say(i == OURS ? EXIT_CHECK : EXIT_OK, "%s: at %s of %s its product is wrong: %s", x->name,
               case_text(&g->problem, name), tw_lab_dtype_of(g->problem.dtype)->name, x->verdict.text);
}

/* Where the fastest candidate's product is wrong the next takes its place, while there is one. */
static exit_code judge_fastest(duel *g, const trial *t)
{
    exit_code code = judge(g, BEST, t);
    while (code == EXIT_OK && g->sides[g->best_is_heuristic ? HEURISTIC : BEST].outcome == SIDE_WRONG) {
        int wrong = g->best;
        double took_s = g->trial_s[wrong];
        g->trial_s[wrong] = INFINITY;
        if (take_fastest(g)) {
            code = judge(g, BEST, t);
            continue;
        }
        g->trial_s[wrong] = took_s; /* the last: it stays, and is wrong */
        take_fastest(g);
        if (!g->best_is_heuristic) g->sides[BEST].outcome = SIDE_WRONG;
        break;
    }
    return code;
}

/* A sample of each side in turns, another one beginning each round; at < 0: not kept. */
static exit_code take_round(duel *g, int round, int at)
{
    for (int turns = 0; turns < SIDES; turns++) {
        int i = (turns + round) % SIDES;
        side *x = &g->sides[i];
        double seconds;
        if (x->outcome != SIDE_TIMED) continue;
        exit_code code = sample(g, i, candidate_of(g, i), x->repeats, &seconds);
        if (code != EXIT_OK) return code;
        if (at >= 0) x->times_s[at] = seconds;
    }
    return EXIT_OK;
}

static exit_code take_samples(duel *g)
{
    int taken = 0, round = 0;
    exit_code code = EXIT_OK;
    for (int i = 0; code == EXIT_OK && i < SIDES; i++)
        if (g->sides[i].outcome == SIDE_TIMED) code = count_repeats(g, i, candidate_of(g, i), &g->sides[i].repeats);
    for (double start_s = measure_now_s(); code == EXIT_OK && measure_now_s() - start_s < warm_s(g); round++)
        code = take_round(g, round, -1);
    g->before = clocks_now();
    for (double start_s = measure_now_s(); code == EXIT_OK && taken < g->samples; taken++, round++) {
        if (taken >= LEAST_SAMPLES && measure_now_s() - start_s > LIMIT_S) break;
        code = take_round(g, round, taken);
    }
    g->after = clocks_now();
    for (int i = 0; i < SIDES; i++)
        if (g->sides[i].outcome == SIDE_TIMED)
            g->sides[i].result = measure_summary(g->sides[i].times_s, taken, g->sides[i].repeats);
    return code;
}

static exit_code compare_sides(duel *g, const tw_problem *host, const trial *t)
{
    exit_code result = EXIT_OK, code = plan_ours(g);
    if (code == EXIT_OK) code = take_memory(g, host);
    if (code == EXIT_OK) code = fill_memory(g, host);
    if (code == EXIT_OK) code = choose_peers(g, host);
    for (int i = 0; code == EXIT_OK && i < SIDES; i++) {
        code = i == BEST ? judge_fastest(g, t) : judge(g, i, t);
        if (code == EXIT_CHECK) result = code, code = EXIT_OK;
    }
    if (code == EXIT_OK) code = take_samples(g);
    return code == EXIT_OK ? result : code;
}

/* Judge and time all sides on a problem. A wrong product of Tilewright's own is EXIT_CHECK, after all were timed. */
static exit_code run_case(duel *g, const tw_problem *host)
{
    trial t;
    char doing[sizeof(case_name) + 16];
    case_name name;
    exit_code code = rows_trial(g->s, host, &t);
    if (code != EXIT_OK) return code;
    snprintf(doing, sizeof doing, "%s: in turns", case_text(host, name));
    term_progress(doing, -1);
    g->problem = *host;
    g->problem.place_a = g->problem.place_b = g->problem.place_c = TW_DEVICE;
    code = compare_sides(g, host, &t);
    cublas_end(&g->library);
    cuda_release(&g->cuda, &g->workspace);
    cuda_release(&g->cuda, &g->memory);
    trial_close(&t);
    return code;
}

/* ---- what is told of it ---- */

static bool is_timed(const side *x) { return x->outcome == SIDE_TIMED; }

static double ratio(const duel *g, bool of_bests)
{
    double peer_s = INFINITY, ours_s = of_bests ? g->sides[OURS].result.min_s : g->sides[OURS].result.median_s;
    for (int i = HEURISTIC; i < SIDES; i++)
        if (is_timed(&g->sides[i]))
            peer_s = fmin(peer_s, of_bests ? g->sides[i].result.min_s : g->sides[i].result.median_s);
    return peer_s / ours_s;
}

static void print_header(const duel *g, const char *group)
{
    fprintf(g->s->text,
            "\n%s, %s: GFLOP/s of medians; ratios: tilewright / the better of cuBLASLt's two; launches in a sample of "
            "tilewright; clock, power and temperature after the samples\n",
            group, tw_lab_dtype_of(g->problem.dtype)->name);
    if (g->batched) fprintf(g->s->text, "batches of %lld at strides, by tw_enqueue_batched()\n", (long long)g->items);
    fprintf(g->s->text, "%-20s %8s %10s %10s %10s %9s | %7s %7s | %6s %5s %4s\n", "m x n x k", "launches", "tilewright",
            "heuristic", "best of 8", "candidate", "medians", "bests", "SM MHz", "W", "C");
}

static void print_speed(const duel *g, const side *x)
{
    term_number speed;
    if (is_timed(x))
        fprintf(g->s->text, " %10s", term_gflops(roofline_flops(&g->problem) / x->result.median_s / 1e9, speed));
    else
        fprintf(g->s->text, " %10s", x->outcome == SIDE_WRONG ? "WRONG" : "-");
}

static void print_reading(const duel *g, double value, int width)
{
    if (isnan(value))
        fprintf(g->s->text, " %*s", width, "-");
    else
        fprintf(g->s->text, " %*.0f", width, value);
}

static void print_case(const duel *g, against_mean *group, against_mean *all)
{
    FILE *text = g->s->text;
    const side *best = &g->sides[g->best_is_heuristic ? HEURISTIC : BEST];
    case_name name;
    term_progress_end();
    fprintf(text, "%-20s", case_text(&g->problem, name));
    if (is_timed(&g->sides[OURS]))
        fprintf(text, " %8d", g->sides[OURS].repeats);
    else
        fprintf(text, " %8s", "-");
    print_speed(g, &g->sides[OURS]);
    print_speed(g, &g->sides[HEURISTIC]);
    print_speed(g, best);
    if (is_timed(best))
        fprintf(text, " %9d |", g->best);
    else
        fprintf(text, " %9s |", "-");
    if (is_timed(&g->sides[OURS]) && isfinite(ratio(g, false))) {
        fprintf(text, " %7.3f %7.3f |", ratio(g, false), ratio(g, true));
        against_mean_add(group, ratio(g, false), ratio(g, true));
        against_mean_add(all, ratio(g, false), ratio(g, true));
    } else
        fprintf(text, " %7s %7s |", "-", "-");
    print_reading(g, g->after.sm_mhz, 6);
    print_reading(g, g->after.power_w, 5);
    print_reading(g, g->after.temperature_c, 4);
    fputc('\n', text);
    if (g->s->opt->explain_plan)
        fprintf(text, "  plan: %s\n  %s\n", g->plan.text,
                g->plan.reason[0] != '\0' ? g->plan.reason : "chosen by rule, not by a model");
    for (int i = 0; i < SIDES; i++)
        if (g->sides[i].outcome == SIDE_REFUSED && !(i == BEST && g->best_is_heuristic))
            fprintf(text, "  %s: %s\n", g->sides[i].name, g->sides[i].why);
}

static exit_code write_record(const duel *g, int i)
{
    const side *x = &g->sides[i];
    const tw_problem *p = &g->problem;
    char plan[64];
    record r = record_blank();
    r.engine = g->s->device.engine, r.device = g->s->device.name;
    r.library = i == OURS ? x->name : "cublas", r.library_version = x->version;
    r.kernel = x->choice[0] != '\0' ? x->choice : NULL;
    snprintf(plan, sizeof plan, "candidate %d of %d%s%s", candidate_of(g, i), g->candidates,
             i == HEURISTIC ? ", the heuristic's" : "", i == BEST || g->best_is_heuristic ? ", the fastest" : "");
    if (r.kernel != NULL) r.plan = i == OURS ? g->plan.text : plan;
    r.dtype = tw_lab_dtype_of(p->dtype)->name;
    r.m = p->m, r.n = p->n, r.k = p->k, r.lda = p->lda, r.ldb = p->ldb, r.ldc = p->ldc;
    r.op_a = p->op_a == TW_N ? 'n' : 't', r.op_b = p->op_b == TW_N ? 'n' : 't';
    r.alpha = p->alpha, r.beta = p->beta;
    r.align_a = r.align_b = r.align_c = SETS_ALIGN;
    r.method = g->s->opt->warm ? "device events around launches on one stream, behind one that is not timed, all "
                                 "libraries in turns, operands in place"
                               : "device events around launches on one stream, behind one that is not timed, all "
                                 "libraries in turns, operands rotated beyond the L2";
    r.instruction_set = g->s->device.instruction_set, r.driver = g->s->driver;
    r.sets = g->set_count;
    if (g->batched) r.batch = g->items;
    r.verified = x->outcome >= SIDE_WRONG ? x->verdict.verified : "no";
    if (x->outcome < SIDE_WRONG) r.refused = x->why;
    r.sm_mhz_before = g->before.sm_mhz, r.power_w_before = g->before.power_w,
    r.temperature_c_before = g->before.temperature_c;
    r.sm_mhz_after = g->after.sm_mhz, r.power_w_after = g->after.power_w,
    r.temperature_c_after = g->after.temperature_c;
    if (is_timed(x)) {
        r.samples = x->result.samples, r.repeats = x->result.repeats;
        r.min_s = x->result.min_s, r.median_s = x->result.median_s, r.p95_s = x->result.p95_s,
        r.max_s = x->result.max_s;
        r.error_ratio = x->verdict.error_ratio;
        record_fill_bounds(&r, p, 0, 0, g->peak_flops, NAN); /* what a library asks is not known */
    }
    return session_record(g->s, &r);
}

static exit_code tell_case(const duel *g, against_mean *group, against_mean *all)
{
    exit_code code = EXIT_OK;
    print_case(g, group, all);
    for (int i = 0; code == EXIT_OK && i < SIDES; i++)
        if (i != BEST || !g->best_is_heuristic) code = write_record(g, i);
    return code;
}

/* ---- all cases ---- */

static exit_code compare_class(duel *g, const case_list *cases, int first, int end, tw_dtype dtype, against_mean *all)
{
    against_mean mean = {0};
    exit_code result = EXIT_OK;
    g->problem.dtype = dtype;
    print_header(g, cases->items[first].group);
    for (int n = first; n < end; n++) {
        tw_problem problem = case_problem(&cases->items[n], dtype);
        exit_code code = run_case(g, &problem);
        if (code != EXIT_OK && code != EXIT_CHECK) return code;
        if (code == EXIT_CHECK) result = code;
        if ((code = tell_case(g, &mean, all)) != EXIT_OK) return code;
    }
    against_print_mean(g->s->text, cases->items[first].group, &mean);
    return result;
}

static void print_begin(duel *g, tw_dtype dtype)
{
    term_number speed;
    if (tw_lab_peak_flops(g->s->context, dtype, 1, 3, &g->peak_flops) != TW_OK) g->peak_flops = NAN;
    fprintf(g->s->text, "against    %s, %s: %s of %s", g->s->device.engine, g->s->device.name, g->library.version,
            tw_lab_dtype_of(dtype)->name);
    if (!isnan(g->peak_flops))
        fprintf(g->s->text, ", peak %s GFLOP/s of multiply-adds", term_gflops(g->peak_flops / 1e9, speed));
    fputc('\n', g->s->text);
}

static exit_code compare_all(duel *g, const case_list *cases, const name_list *dtypes)
{
    against_mean all = {0};
    exit_code result = EXIT_OK;
    for (int d = 0; d < dtypes->count; d++) {
        tw_dtype dtype = tw_lab_dtype_named(dtypes->items[d])->dtype;
        if (d > 0) fputc('\n', g->s->text);
        print_begin(g, dtype);
        for (int first = 0, end; first < cases->count; first = end) {
            for (end = first; end < cases->count && strcmp(cases->items[end].group, cases->items[first].group) == 0;)
                end++;
            exit_code code = compare_class(g, cases, first, end, dtype, &all);
            if (code == EXIT_CHECK)
                result = code;
            else if (code != EXIT_OK)
                return code;
        }
    }
    fputc('\n', g->s->text);
    against_print_mean(g->s->text, "all classes and types", &all);
    if (result == EXIT_OK && all.count == 0)
        return say(EXIT_DEVICE, "no product could be compared: none of both sides was timed");
    return result;
}

static exit_code check_names(const session *s)
{
    const name_list *named = &s->opt->against;
    const peer_row *row;
    exit_code code = EXIT_OK;
    if (s->opt->host)
        return say(EXIT_USAGE, "--against cublas compares products of device memory: --host cannot hold with it");
    if (s->opt->deadline > 0)
        return say(EXIT_USAGE, "--deadline is of libraries in processes of their own: with cublas, which is called in "
                               "this one, it cannot hold");
    if (named->count == 1 && strcmp(named->items[0], "all") == 0) return EXIT_OK;
    for (int i = 0; code == EXIT_OK && i < named->count; i++)
        code = against_row(named->items[i], s->device.engine, &row);
    return code == EXIT_OK && named->count > 1 ? say(EXIT_USAGE, "--against names %s twice", named->items[0]) : code;
}

static exit_code begin(duel *g)
{
    static const char *const names[SIDES] = {"tilewright", "cuBLASLt's heuristic", "cuBLASLt's best"};
    against_path folder;
    against_folder(folder);
    if (!cuda_open(&g->cuda, g->s->device.index)) return say(EXIT_DEVICE, "%s", g->cuda.why);
    if (!cublas_open(&g->library, folder)) return say(EXIT_DEVICE, "cublas: it %s", g->library.why);
    clocks_open(g->cuda.bus);
    for (int i = 0; i < SIDES; i++) {
        side *x = &g->sides[i];
        x->name = names[i];
        snprintf(x->version, sizeof x->version, "%s", i == OURS ? tw_version() : g->library.version);
        x->times_s = calloc((size_t)g->samples, sizeof *x->times_s);
        if (x->times_s == NULL) return say_no_memory("the samples");
    }
    if (cuda_allocate(&g->cuda, CUBLAS_WORKSPACE_BYTES, &g->peer_workspace)) return EXIT_OK;
    return say(EXIT_MEMORY, "there is no device memory for cuBLASLt's workspace: %s", g->cuda.why);
}

static void finish(duel *g)
{
    for (int i = 0; i < SIDES; i++) free(g->sides[i].times_s);
    clocks_close();
    cublas_close(&g->library);
    cuda_release(&g->cuda, &g->peer_workspace);
    cuda_close(&g->cuda);
}

exit_code against_cuda_bench(session *s, const case_list *cases, const name_list *dtypes)
{
    static duel g;
    g = (duel){.s = s,
               .samples = s->opt->samples > 0 ? (int)s->opt->samples : USUAL_SAMPLES,
               .batched = s->opt->batch > 0,
               .items = s->opt->batch > 0 ? s->opt->batch : 1};
    exit_code code = check_names(s);
    if (code != EXIT_OK) return code;
    code = begin(&g);
    if (code == EXIT_OK) code = compare_all(&g, cases, dtypes);
    finish(&g);
    return code;
}
