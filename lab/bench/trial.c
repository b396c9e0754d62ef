/* trial.c - judges and times one kernel on one problem. */
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../devices.h"
#include "batch.h"

/* ---- judging ---- */

/* Memory of this machine, whatever computes; 0 unknown. */
static double host_memory_bytes(tw_context *context)
{
    static const tw_options cpu = {.size = sizeof cpu, .engine = "cpu"};
    tw_device device = {.size = sizeof device};
    tw_context *host = NULL;
    tw_status status = tw_describe(context, &device);
    if (status == TW_OK && !device_is_host(&device) && (status = tw_open(&cpu, &host)) == TW_OK) {
        status = tw_describe(host, &device);
        tw_close(host);
    }
    return status == TW_OK ? (double)device.memory_bytes : 0;
}

double trial_bytes(const tw_problem *p)
{
    double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    return (3 * (m * k + k * n) + 4 * m * n) * tw_lab_dtype_of(p->dtype)->bytes;
}

/* More than the memory would not fail here, where the system promises memory that it does not have, but end the program
 * later. */
static bool too_large(tw_context *context, const tw_problem *p)
{
    double memory_bytes = host_memory_bytes(context);
    return memory_bytes > 0 && trial_bytes(p) > 0.8 * memory_bytes;
}

tw_status trial_open(trial *t, tw_context *context, const tw_problem *problem, uint64_t seed, double max_work)
{
    *t = (trial){.context = context, .problem = *problem};
    if (too_large(context, problem)) return TW_NO_MEMORY;
    tw_status status = oracle_make(problem, ORACLE_EXACT, seed, max_work, &t->exact);
    if (status != TW_OK && status != TW_BAD_ARGUMENT) return status;
    t->has_exact = status == TW_OK;
    status = oracle_make(problem, ORACLE_BOUND, seed + 1, max_work, &t->bound);
    if (status != TW_OK && t->has_exact) oracle_free(&t->exact);
    return status;
}

void trial_close(trial *t)
{
    if (t->has_exact) oracle_free(&t->exact);
    oracle_free(&t->bound);
    free(t->memory);
    *t = (trial){0};
}

/* Either way of running that a trial knows: the launch of a forced row, or the whole call. */
typedef struct runner {
    const trial *trial;
    tw_problem problem;
    const void *a, *b;
    void *c;
    tw_lab_run *run;  /* NULL: tw_gemm */
    const char *file; /* of a user's kernel, whose run is told; else NULL */
} runner;

static tw_status runner_open(runner *r, const trial *t, const tw_lab_choice *choice, const tw_problem *p, const void *a,
                             const void *b, void *c)
{
    *r = (runner){t, *p, a, b, c, NULL, NULL};
    if (t->hooks != NULL && choice->source != NULL) r->file = choice->source->file;
    return t->host ? TW_OK : tw_lab_run_open(t->context, choice, p, a, b, c, &r->run);
}

static tw_status runner_once(runner *r, double *seconds)
{
    if (r->run != NULL) {
        if (r->file != NULL) r->trial->hooks->waits(r->file, "end");
        const tw_status status = tw_lab_run_once(r->run, seconds);
        if (r->file != NULL) r->trial->hooks->waits(NULL, NULL);
        return status;
    }
    double start_s = measure_now_s();
    const tw_batch batch = tw_batch_make(&r->problem, r->trial->batch);
    tw_status status = r->trial->batch > 0 ? tw_gemm_batched(r->trial->context, &r->problem, &batch, r->a, r->b, r->c)
                                           : tw_gemm(r->trial->context, &r->problem, r->a, r->b, r->c);
    *seconds = measure_now_s() - start_s;
    return status;
}

static tw_status run_once(const trial *t, const tw_lab_choice *choice, const oracle *o, void *c, double *seconds)
{
    runner r;
    tw_status status = runner_open(&r, t, choice, &o->problem, o->a, o->b, c);
    if (status != TW_OK) return status;
    status = runner_once(&r, seconds);
    if (status == TW_OK && r.run != NULL && oracle_c_bytes(o) > 0) status = tw_lab_run_fetch(r.run, c);
    tw_lab_run_close(r.run);
    return status;
}

/* The same of every item of a batch; C is the one that is to be judged. */
static tw_status run_batch(const trial *t, const tw_lab_choice *choice, const oracle *o, void *c, double *seconds)
{
    runner r;
    batch_operands all;
    if (!batch_spread(o, t->batch, c, &all)) return TW_NO_MEMORY;
    tw_status status = runner_open(&r, t, choice, &o->problem, all.a, all.b, all.c);
    if (status == TW_OK) status = runner_once(&r, seconds);
    if (status == TW_OK) memcpy(c, batch_to_judge(&o->problem, &all), all.item_bytes);
    *seconds /= (double)t->batch;
    batch_free(&all);
    return status;
}

static tw_status judge_one(const oracle *o, trial_multiply *multiply, void *job, oracle_verdict *verdict)
{
    void *c = malloc(oracle_c_bytes(o) + 1);
    if (c == NULL) return TW_NO_MEMORY;
    oracle_poison(o, c);
    tw_status status = multiply(job, o, c);
    if (status == TW_OK) *verdict = oracle_judge(o, c);
    free(c);
    return status;
}

static const char *verified_text(const trial *t, const oracle_verdict *exact, const oracle_verdict *bound)
{
    if (!exact->passed || !bound->passed) return "WRONG";
    if (!t->has_exact) return bound->sampled ? "bound sampled" : "bound";
    return exact->sampled || bound->sampled ? "exact+bound sampled" : "exact+bound";
}

tw_status trial_judge_other(const trial *t, trial_multiply *multiply, void *job, trial_verdict *verdict)
{
    oracle_verdict exact = {.passed = true}, bound = {.passed = true};
    tw_status status = t->has_exact ? judge_one(&t->exact, multiply, job, &exact) : TW_OK;
    if (status == TW_OK) status = judge_one(&t->bound, multiply, job, &bound);
    if (status != TW_OK) return status;
    *verdict = (trial_verdict){.passed = exact.passed && bound.passed, .error_ratio = bound.error_ratio};
    verdict->verified = verified_text(t, &exact, &bound);
    if (!exact.passed) snprintf(verdict->text, sizeof verdict->text, "exact oracle: %s", exact.text);
    if (exact.passed && !bound.passed) snprintf(verdict->text, sizeof verdict->text, "bound oracle: %s", bound.text);
    return TW_OK;
}

typedef struct own_multiply {
    const trial *trial;
    const tw_lab_choice *choice;
    double seconds;
} own_multiply;

static tw_status multiply_ourselves(void *job, const oracle *o, void *c)
{
    own_multiply *own = job;
    return (own->trial->batch > 0 ? run_batch : run_once)(own->trial, own->choice, o, c, &own->seconds);
}

tw_status trial_judge(const trial *t, const tw_lab_choice *choice, trial_verdict *verdict)
{
    own_multiply own = {t, choice, 0};
    tw_status status = trial_judge_other(t, multiply_ourselves, &own, verdict);
    if (status == TW_OK) verdict->seconds = own.seconds;
    return status;
}

bool trial_mistake(const trial *t, const tw_lab_choice *choice, char text[MISTAKE_BYTES])
{
    own_multiply own = {t, choice, 0};
    void *c = t->has_exact ? malloc(oracle_c_bytes(&t->exact) + 1) : NULL;
    if (c == NULL) return false;
    oracle_poison(&t->exact, c);
    const bool named = multiply_ourselves(&own, &t->exact, c) == TW_OK && mistake_name(&t->exact, c, text);
    free(c);
    return named;
}

/* ---- timing ---- */

static char *set_of(const trial *t, int set)
{
    uintptr_t first = ((uintptr_t)t->memory + SETS_ALIGN - 1) / SETS_ALIGN * SETS_ALIGN;
    return (char *)first + (size_t)(set % t->host_sets) * t->layout.set_bytes;
}

static tw_status make_sets(trial *t, const tw_device *device)
{
    int64_t items = t->batch > 0 ? t->batch : 1;
    t->layout = sets_for(&t->problem, items, device);
    bool direct = t->host || device_is_host(device);
    t->sets = t->layout.wanted;
    t->host_sets = direct ? t->sets : 1;
    while (t->host_sets > 0 && (t->memory = malloc((size_t)t->host_sets * t->layout.set_bytes + SETS_ALIGN)) == NULL)
        t->host_sets /= 2;
    if (t->memory == NULL) return TW_NO_MEMORY;
    if (direct) t->sets = t->host_sets;
    sets_fill(&t->layout, &t->problem, items, t->host_sets, set_of(t, 0));
    return TW_OK;
}

/* What one product of a batch takes. */
static measure_result per_item(const measure_result *of_batch, int64_t items)
{
    measure_result each = *of_batch;
    each.min_s /= (double)items, each.median_s /= (double)items, each.p95_s /= (double)items,
        each.max_s /= (double)items;
    return each;
}

static tw_status once(void *context, int set, double *seconds)
{
    runner *runners = context;
    return runner_once(&runners[set], seconds);
}

/* A set of operands for each kernel: runners of kernel i begin at i * t->sets. false: not for all, and none stays
 * open. */
static bool open_set(trial *t, const trial_timing *timings, int count, int set, runner *runners, tw_status *status)
{
    char *a = set_of(t, set), *b = a + t->layout.a_bytes;
    int opened = 0;
    while (opened < count && (*status = runner_open(&runners[opened * t->sets + set], t, timings[opened].choice,
                                                    &t->problem, a, b, b + t->layout.b_bytes)) == TW_OK)
        opened++;
    if (opened == count) return true;
    while (opened > 0) tw_lab_run_close(runners[--opened * t->sets + set].run);
    return false;
}

/* Launches every kernel once with each set. A driver may give memory its pages at the first use: then a set's first
 * launch gets those of C and of the workspace, and would be timed with it. No set is begun after the time that samples
 * may take: where launches are so long, pages are little beside them. */
static tw_status touch_sets(runner *runners, int count, int wanted, int sets, double limit_s)
{
    const double start_s = measure_now_s();
    tw_status status = TW_OK;
    for (int set = 0; set < sets && measure_now_s() - start_s < limit_s; set++)
        for (int i = 0; i < count && status == TW_OK; i++) {
            double seconds;
            status = runner_once(&runners[i * wanted + set], &seconds);
        }
    return status;
}

tw_status trial_time(trial *t, trial_timing *timings, int count, const tw_device *device, const measure_options *how)
{
    tw_status status = t->memory == NULL ? make_sets(t, device) : TW_OK;
    if (status != TW_OK) return status;
    const int wanted = t->sets;
    measure_options rotated = *how;
    runner *runners = calloc((size_t)wanted * (size_t)count, sizeof *runners);
    measure_work *works = calloc((size_t)count, sizeof *works);
    if (runners == NULL || works == NULL) status = TW_NO_MEMORY;
    int opened = 0;
    while (status == TW_OK && opened < wanted && open_set(t, timings, count, opened, runners, &status)) opened++;
    if (status == TW_NO_MEMORY && opened > 0) t->sets = opened, status = TW_OK; /* what the device holds must do */
    rotated.sets = opened;
    for (int i = 0; status == TW_OK && i < count; i++) {
        works[i].context = &runners[i * wanted];
        if (t->host) continue;
        tw_lab_run_resources(runners[i * wanted].run, &timings[i].resources);
        timings[i].prepare_s = tw_lab_run_prepare_s(runners[i * wanted].run);
    }
    if (status == TW_OK && !t->host && !device_is_host(device))
        status = touch_sets(runners, count, wanted, opened, how->limit_s);
    if (status == TW_OK) status = measure_interleaved(once, works, count, &rotated);
    for (int i = 0; status == TW_OK && i < count; i++) {
        timings[i].work = works[i];
        if (t->batch > 0) timings[i].work.result = per_item(&works[i].result, t->batch);
    }
    while (opened-- > 0)
        for (int i = 0; i < count; i++) tw_lab_run_close(runners[i * wanted + opened].run);
    free(works);
    free(runners);
    return status;
}
