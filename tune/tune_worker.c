/* tune_worker.c - see tune_worker.h. */
#include "tune_worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../lab/busy.h"
#include "../lab/bench/trial.h"

/* ---- in the process ---- */

enum { SHAPE, ODD, TRIALS };

typedef struct bench {
    const tune_device *what;
    tw_context *context;
    tw_problem problem;
    trial trials[TRIALS]; /* of the shape, and of one whose sides no tile divides */
    bool has[TRIALS];
    void *c;            /* of the shape, to time with */
    bool on_processors; /* a GPU's events tell nothing of other processes */
} bench;

static void fail_with(tune_answer *answer, tw_status status, const char *what)
{
    answer->done = false;
    answer->status = status;
    const char *sentence = tw_error_text();
    snprintf(answer->result.why, sizeof answer->result.why, "%s%s%s", what,
             what[0] != '\0' && sentence[0] != '\0' ? ": " : "", sentence);
}

/* The next odd length below an even one, which no tile divides. */
static int64_t odd(int64_t side) { return side <= 2 ? side : (side - 1) | 1; }

static void close_trials(bench *b)
{
    for (int i = 0; i < TRIALS; i++)
        if (b->has[i]) trial_close(&b->trials[i]);
    memset(b->has, 0, sizeof b->has);
    free(b->c);
    b->c = NULL;
}

static tw_status open_trials(bench *b)
{
    const double multiply_adds = 5e7; /* of the references */
    const tw_problem *p = &b->problem;
    const tw_problem problems[TRIALS] = {*p,
                                         tw_problem_make(p->dtype, p->op_a, p->op_b, odd(p->m), odd(p->n), odd(p->k))};
    for (int i = 0; i < TRIALS; i++) {
        const tw_status status = trial_open(&b->trials[i], b->context, &problems[i], b->what->seed, multiply_adds);
        if (status != TW_OK) return status;
        b->has[i] = true;
    }
    b->c = malloc(oracle_c_bytes(&b->trials[SHAPE].bound) + 1);
    return b->c != NULL ? TW_OK : TW_NO_MEMORY;
}

static tw_status open_context(bench *b)
{
    const tw_options options = {
        .size = sizeof options, .engine = b->what->engine, .device = b->what->device, .threads = b->what->threads};
    if (b->context != NULL) tw_close(b->context);
    b->context = NULL;
    return tw_open(&options, &b->context);
}

/* Where the row's estimate stands in "cycles expected: one 19000, other 21000"; beyond all others where it has none. */
static double expected(const char *reason, const char *rung)
{
    const char *at = strstr(reason, rung);
    return at != NULL && at[strlen(rung)] == ' ' ? strtod(at + strlen(rung), NULL) : 1e300;
}

/* The production kernels that fit, the cheapest by the planner's cost model first. */
static void list_kernels(const bench *b, const char *engine, const char *reason, tune_answer *answer)
{
    const tw_lab_kernel *k;
    snprintf(answer->kernels[0], sizeof answer->kernels[0], "*");
    answer->kernel_count = 1;
    for (int i = 0; (k = tw_lab_kernel_at(i)) != NULL && answer->kernel_count <= TUNE_KERNELS; i++) {
        const tw_lab_choice choice = {.kernel = k->name};
        if (!k->production || k->emulates || k->dtype != b->problem.dtype || strcmp(k->engine, engine) != 0 ||
            tw_lab_fits(b->context, &choice, &b->problem, NULL, 0) != 1)
            continue;
        int place = answer->kernel_count++;
        for (; place > 1 && expected(reason, answer->kernels[place - 1]) > expected(reason, k->rung); place--)
            memcpy(answer->kernels[place], answer->kernels[place - 1], sizeof answer->kernels[0]);
        snprintf(answer->kernels[place], sizeof answer->kernels[0], "%s", k->rung);
    }
}

static tw_status read_parameters(const bench *b, const tune_answer *answer,
                                 double values[TUNE_KERNELS + 1][TUNE_PARAMETERS])
{
    tw_status status = TW_OK;
    for (int i = 0; status == TW_OK && i < answer->kernel_count; i++)
        status = tw_lab_parameters(b->context, &b->problem, i > 0 ? answer->kernels[i] : NULL, values[i]);
    return status;
}

static void begin(bench *b, const tune_order *order, tune_answer *answer)
{
    tw_device device = {.size = sizeof device};
    tw_lab_plan plan;
    close_trials(b);
    b->problem = order->problem;
    tw_status status = open_context(b); /* with the user's rows as they are now */
    if (status == TW_OK) status = tw_describe(b->context, &device);
    if (status == TW_OK) status = tw_lab_plan_of(b->context, NULL, &b->problem, &plan);
    if (status == TW_OK) {
        list_kernels(b, device.engine, plan.reason, answer);
        b->on_processors = strcmp(device.engine, "cuda") != 0;
        answer->tile_k = plan.kernel->tile_k;
        snprintf(answer->device, sizeof answer->device, "%s", device.name);
        snprintf(answer->engine, sizeof answer->engine, "%s", device.engine);
        status = read_parameters(b, answer, answer->users);
    }
    if (status == TW_OK) status = tw_lab_tuned_set(b->context, "");
    if (status == TW_OK) status = read_parameters(b, answer, answer->committed);
    if (status == TW_OK) status = open_trials(b);
    answer->done = status == TW_OK;
    if (!answer->done) fail_with(answer, status, status == TW_NO_MEMORY ? "no memory for operands and references" : "");
}

static tw_status plan_with(const bench *b, const char *rows, tw_lab_plan *plan)
{
    const tw_status status = tw_lab_tuned_set(b->context, rows);
    return status == TW_OK ? tw_lab_plan_of(b->context, NULL, &b->problem, plan) : status;
}

/* Both oracles, on the shape and on the odd one; they run on the context's present rows. */
static bool is_right(const bench *b, tune_result *out)
{
    for (int i = TRIALS - 1; i >= 0; i--) {
        const tw_problem *p = &b->trials[i].problem;
        trial_verdict verdict = {.passed = false};
        const tw_status status = trial_judge(&b->trials[i], &(tw_lab_choice){.threads = 0}, &verdict);
        if (status != TW_OK) {
            out->verdict = TUNE_FAILED;
            snprintf(out->why, sizeof out->why, "%s", tw_error_text());
            return false;
        }
        if (verdict.passed) continue;
        out->verdict = TUNE_WRONG;
        snprintf(out->why, sizeof out->why, "%lldx%lldx%lld: %s", (long long)p->m, (long long)p->n, (long long)p->k,
                 verdict.text);
        return false;
    }
    return true;
}

static tw_status once(void *run, int set, double *seconds)
{
    (void)set;
    return tw_lab_run_once(run, seconds);
}

/* Interleaved; true: the candidate is faster beyond the spread. */
static bool is_faster(tw_lab_run *const runs[2], double limit_s, tune_result *out)
{
    const measure_options how = {.samples = 11, .limit_s = limit_s, .least_s = 2e-3};
    measure_work works[2] = {{.context = runs[0]}, {.context = runs[1]}};
    if (measure_interleaved(once, works, 2, &how) != TW_OK) {
        out->verdict = TUNE_FAILED;
        snprintf(out->why, sizeof out->why, "%s", tw_error_text());
        return false;
    }
    out->before_s = works[0].result.median_s, out->after_s = works[1].result.median_s;
    out->speed = works[1].speed, out->low_speed = works[1].low_speed, out->high_speed = works[1].high_speed;
    return measure_differs(&works[1]) && works[1].speed > 1;
}

/* The share of the processors that others used since then. */
static double others_of(const bench *b, const busy_reading *begun)
{
    if (!isnan(b->what->others)) return b->what->others;
    const busy_reading now = busy_now();
    return b->on_processors ? busy_share(begun, &now) : NAN;
}

static void time_both(const bench *b, const tune_order *order, tune_result *out)
{
    const double most_s = 0.6, limit_s = order->limit_s / 8 < most_s ? order->limit_s / 8 : most_s;
    const char *const rows[2] = {order->present, order->candidate};
    const oracle *o = &b->trials[SHAPE].bound;
    const busy_reading begun = busy_now();
    tw_lab_run *runs[2] = {NULL, NULL};
    tw_status status = TW_OK;
    for (int i = 0; i < 2 && status == TW_OK; i++) {
        status = tw_lab_tuned_set(b->context, rows[i]);
        if (status == TW_OK)
            status = tw_lab_run_open(b->context, &(tw_lab_choice){.threads = 0}, &o->problem, o->a, o->b, b->c,
                                     &runs[i]);
    }
    out->verdict = TUNE_SLOWER;
    if (status != TW_OK) {
        out->verdict = TUNE_FAILED;
        snprintf(out->why, sizeof out->why, "%s", tw_error_text());
    } else {
        const bool faster = is_faster(runs, limit_s, out) && is_faster(runs, limit_s, out); /* the second confirms */
        out->others = others_of(b, &begun);
        if (out->verdict != TUNE_FAILED) out->verdict = tune_judge(out, faster);
    }
    for (int i = 0; i < 2; i++) tw_lab_run_close(runs[i]);
}

/* Plans of both, and judgement and times if they differ and the candidate is to run. */
static void try_candidate(const bench *b, const tune_order *order, tune_answer *answer)
{
    tw_lab_plan present, candidate;
    answer->done = true;
    tw_status status = plan_with(b, order->present, &present);
    if (status == TW_OK) status = plan_with(b, order->candidate, &candidate);
    if (status != TW_OK) {
        answer->result.verdict = TUNE_FAILED;
        snprintf(answer->result.why, sizeof answer->result.why, "%s", tw_error_text());
        return;
    }
    memcpy(answer->plan, candidate.text, sizeof answer->plan);
    answer->result.verdict = strcmp(present.text, candidate.text) == 0 ? TUNE_SAME : TUNE_SLOWER;
    if (answer->result.verdict != TUNE_SAME && order->what == TUNE_TRY) {
        if (candidate.kernel != present.kernel)
            snprintf(answer->result.why, sizeof answer->result.why, "%s instead of %s", candidate.kernel->rung,
                     present.kernel->rung);
        if (is_right(b, &answer->result)) time_both(b, order, &answer->result);
    }
}

void tune_worker_run(void *device, int orders, int answers)
{
    bench b = {.what = device};
    static tune_order order;
    static tune_answer answer;
    while (worker_take(orders, &order, sizeof order)) {
        answer = (tune_answer){.result.others = NAN};
        if (order.what == TUNE_BEGIN) {
            begin(&b, &order, &answer);
        } else if (order.what == TUNE_PLAN || order.what == TUNE_TRY) {
            try_candidate(&b, &order, &answer);
        } else {
            const tw_status status = tw_lab_tuned_sign(b.context, &order.row, answer.line, sizeof answer.line);
            answer.done = status == TW_OK;
            if (!answer.done) fail_with(&answer, status, "");
        }
        if (!worker_give(answers, &answer, sizeof answer)) break;
    }
    close_trials(&b);
    tw_close(b.context);
}

/* ---- the process as the search sees it ---- */

static bool ask(tune_worker *w, const tune_order *order, tune_answer *answer, double limit_s)
{
    *answer = (tune_answer){.done = false, .status = TW_DEVICE_FAILED};
    if (w->process.pid == 0 && !worker_start(w->hooks, &w->process, 0, w->body, w->job)) {
        snprintf(answer->result.why, sizeof answer->result.why, "a process for the candidates could not be started");
        return false;
    }
    return worker_ask(&w->process, order, sizeof *order, answer, sizeof *answer, limit_s, answer->result.why,
                      sizeof answer->result.why);
}

bool tune_worker_begin(tune_worker *w, const tw_problem *problem, double limit_s, tune_answer *answer)
{
    static tune_order order;
    order = (tune_order){.what = TUNE_BEGIN, .problem = *problem};
    w->problem = *problem;
    w->begun = ask(w, &order, answer, limit_s) && answer->done;
    return w->begun;
}

/* A process, where the last one's hung or crashed. */
static bool revive(tune_worker *w, double limit_s, tune_answer *answer)
{
    return w->process.pid != 0 || tune_worker_begin(w, &w->problem, limit_s, answer);
}

static void order_rows(tune_order *order, const char *present, const char *candidate)
{
    snprintf(order->present, sizeof order->present, "%s", present);
    snprintf(order->candidate, sizeof order->candidate, "%s", candidate);
}

bool tune_worker_plan(tune_worker *w, const char *present, const char *candidate, double limit_s,
                      char plan[TUNE_PLAN_TEXT], bool *same)
{
    static tune_order order;
    static tune_answer answer;
    if (!revive(w, limit_s, &answer)) return false;
    order = (tune_order){.what = TUNE_PLAN, .problem = w->problem};
    order_rows(&order, present, candidate);
    if (!ask(w, &order, &answer, limit_s < w->patience_s ? limit_s : w->patience_s)) return false;
    memcpy(plan, answer.plan, TUNE_PLAN_TEXT);
    *same = answer.result.verdict == TUNE_SAME;
    return plan[0] != '\0';
}

static bool is_late(const tune_result *r) { return strncmp(r->why, "did not answer", strlen("did not answer")) == 0; }

void tune_worker_try(tune_worker *w, const char *present, const char *candidate, double limit_s, tune_result *out)
{
    static tune_order order;
    static tune_answer answer;
    *out = (tune_result){.verdict = TUNE_FAILED, .others = NAN};
    const double start_s = measure_now_s();
    if (!revive(w, limit_s, &answer)) {
        memcpy(out->why, answer.result.why, sizeof out->why);
        if (is_late(out)) out->verdict = TUNE_NO_TIME; /* of the candidate nothing is known yet */
        return;
    }
    const double left_s = limit_s - (measure_now_s() - start_s);
    const bool patient = left_s > w->patience_s;
    order = (tune_order){.what = TUNE_TRY, .problem = w->problem, .limit_s = left_s};
    order_rows(&order, present, candidate);
    if (left_s <= 0) {
        out->verdict = TUNE_NO_TIME;
        return;
    }
    if (ask(w, &order, &answer, patient ? w->patience_s : left_s)) {
        *out = answer.result;
        return;
    }
    memcpy(out->why, answer.result.why, sizeof out->why);
    if (is_late(out)) out->verdict = patient ? TUNE_HUNG : TUNE_NO_TIME;
}

bool tune_worker_sign(tune_worker *w, const tw_lab_tuned *row, char line[TW_LAB_TUNED_LINE], char why[TUNE_WHY])
{
    static tune_order order;
    static tune_answer answer;
    const bool lives = revive(w, w->patience_s, &answer);
    order = (tune_order){.what = TUNE_SIGN, .row = *row};
    const bool is_signed = lives && ask(w, &order, &answer, w->patience_s) && answer.done;
    memcpy(line, answer.line, sizeof answer.line);
    memcpy(why, answer.result.why, sizeof answer.result.why);
    return is_signed;
}

static void add_dim(const tune_answer *begun, int kernel, int parameter, const tw_lab_parameter *about, tune_space *out)
{
    tune_dim *d = &out->dims[out->count++];
    *d = (tune_dim){
        .about = *about, .committed = begun->committed[kernel][parameter], .at = begun->users[kernel][parameter]};
    memcpy(d->kernel, begun->kernels[kernel], sizeof d->kernel);
    if (strcmp(about->name, "kc") != 0) return;
    /* 0 stands for the depth of the kernel's row */
    if (d->committed == 0) d->committed = begun->tile_k;
    if (d->at == 0) d->at = begun->tile_k;
}

void tune_space_of(const tune_answer *begun, const tw_problem *problem, tune_space *out)
{
    const char *shape_class, *ops;
    tw_lab_parameter about;
    tw_lab_tuned_words(problem, &shape_class, &ops);
    *out = (tune_space){.count = 0};
    snprintf(out->engine, sizeof out->engine, "%.7s", begun->engine);
    snprintf(out->dtype, sizeof out->dtype, "%s", tw_lab_dtype_of(problem->dtype)->name);
    snprintf(out->shape_class, sizeof out->shape_class, "%s", shape_class);
    snprintf(out->ops, sizeof out->ops, "%s", ops);
    for (int i = 0; tw_lab_parameter_at(i, &about); i++) {
        if (strcmp(about.engine, begun->engine) != 0) continue;
        for (int k = about.each_kernel ? 1 : 0; k < (about.each_kernel ? begun->kernel_count : 1); k++)
            if (out->count < TUNE_DIMS) add_dim(begun, k, i, &about, out);
    }
}

void tune_worker_end(tune_worker *w) { worker_end(&w->process); }
