/* tuning.c - see tuning.h. */
#include "tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../lab/record.h"
#include "../program/diag.h"
#include "../program/guard.h"
#include "../program/hooks.h"
#include "../program/object.h"
#include "../program/term.h"

/* ---- signatures, and what was tried ---- */

static bool same_signature(const tw_lab_tuned *x, const tw_lab_tuned *y)
{
    return strcmp(x->device, y->device) == 0 && strcmp(x->driver, y->driver) == 0 &&
           strcmp(x->kernels, y->kernels) == 0 && strcmp(x->version, y->version) == 0;
}

/* Of this device and engine, but of another version or other kernels: it tells nothing of today. Another driver, or
 * another number of threads, may come back. */
static bool is_past(const tuning *t, const tw_lab_tuned *x)
{
    return strcmp(x->engine, t->here.engine) == 0 && strcmp(x->device, t->here.device) == 0 &&
           (strcmp(x->kernels, t->here.kernels) != 0 || strcmp(x->version, t->here.version) != 0);
}

/* What leaves the file of what was tried before a run: what is damaged or past, and what was unclear here. Of other
 * signatures the oldest lines beyond MOST_FOREIGN. */
enum { MOST_FOREIGN = 4096 }; /* some thirty runs, in 3 MB */

typedef struct leaving {
    const tuning *t;
    int surplus; /* lines of other signatures that are too many, or less than 1 */
} leaving;

static bool leaves(void *job, const char *line)
{
    leaving *l = job;
    tw_lab_tuned x;
    tw_lab_tuned_judge(NULL, line, &x);
    if (x.state == TW_LAB_TUNED_DAMAGED || is_past(l->t, &x)) return true;
    if (same_signature(&x, &l->t->here)) return strcmp(x.verdict, tune_verdict_name(TUNE_UNCLEAR)) == 0;
    return l->surplus-- > 0;
}

/* Lines of other signatures that are to stay, beyond MOST_FOREIGN. */
static exit_code count_surplus(leaving *l)
{
    tuned_lines lines;
    l->surplus = -MOST_FOREIGN;
    const exit_code code = store_read(l->t->tried_path, true, &lines);
    for (int i = 0; i < lines.count; i++) {
        tw_lab_tuned x;
        tw_lab_tuned_judge(NULL, lines.lines[i], &x);
        l->surplus += x.state != TW_LAB_TUNED_DAMAGED && !is_past(l->t, &x) && !same_signature(&x, &l->t->here);
    }
    store_free(&lines);
    return code;
}

static bool remember(tuned_lines *list, const char *text)
{
    char **more = realloc(list->lines, (size_t)(list->count + 1) * sizeof *more), *copy = strdup(text);
    if (more != NULL) list->lines = more;
    if (more == NULL || copy == NULL) {
        free(copy);
        return false;
    }
    list->lines[list->count++] = copy;
    return true;
}

/* Where it stands; the count: nowhere. */
static int find(const tuned_lines *list, const char *text)
{
    int i = 0;
    while (i < list->count && strcmp(list->lines[i], text) != 0) i++;
    return i;
}

typedef char plan_key[TUNE_PLAN_TEXT + 160];

/* Equal plans of one shape are one candidate, whatever rows give them. */
static const char *key_of(const char *title, const char *shape, const char *plan, plan_key key)
{
    snprintf(key, sizeof(plan_key), "%s %s: %s", title, shape, plan);
    return key;
}

static void title_of(const char *dtype, const char *shape_class, const char *ops, char title[80])
{
    snprintf(title, 80, "%s %s %s", dtype, shape_class, ops);
}

static bool remember_tried(tuning *t, const tw_lab_tuned *x)
{
    char title[80];
    plan_key key;
    title_of(x->dtype, x->shape_class, x->ops, title);
    return remember(&t->known, x->row) &&
           (x->plan[0] == '\0' || remember(&t->plans, key_of(title, x->shape, x->plan, key)));
}

static exit_code read_tried(tuning *t)
{
    tuned_lines lines;
    leaving l = {.t = t};
    exit_code code = count_surplus(&l);
    if (code == EXIT_OK) code = store_replace(t->tried_path, leaves, &l, "", NULL);
    if (code != EXIT_OK) return code;
    code = store_read(t->tried_path, true, &lines);
    for (int i = 0; code == EXIT_OK && i < lines.count; i++) {
        tw_lab_tuned x;
        tw_lab_tuned_judge(NULL, lines.lines[i], &x);
        if (x.state != TW_LAB_TUNED_DAMAGED && same_signature(&x, &t->here) && !remember_tried(t, &x))
            code = diag_no_memory("the rows that were tried");
    }
    store_free(&lines);
    t->earlier_rows = t->known.count, t->earlier_plans = t->plans.count;
    return code;
}

static tw_lab_tuned row_of(const tuning *t, const char *row, const tune_result *r)
{
    tw_lab_tuned x = {.before_s = r->before_s,
                      .after_s = r->after_s,
                      .speed = r->speed,
                      .low_speed = r->low_speed,
                      .high_speed = r->high_speed};
    record_time_text now;
    snprintf(x.row, sizeof x.row, "%s", row);
    snprintf(x.verdict, sizeof x.verdict, "%s", tune_verdict_name(r->verdict));
    snprintf(x.shape, sizeof x.shape, "%s", t->shape);
    snprintf(x.when, sizeof x.when, "%.23s", record_time(now));
    snprintf(x.why, sizeof x.why, "%s", r->why);
    return x;
}

static exit_code sign(tuning *t, const tw_lab_tuned *x, char line[TW_LAB_TUNED_LINE])
{
    char why[TUNE_WHY];
    if (tune_worker_sign(&t->worker, x, line, why)) return EXIT_OK;
    return diag(EXIT_RUN, "a tuned row could not be signed: %s", why);
}

/* ---- a run ---- */

exit_code tuned_user_path(char path[TUNED_PATH])
{
    if (tw_lab_tuned_path(path, TUNED_PATH)) return EXIT_OK;
    return diag(EXIT_OUTPUT, "there is no file for tuned rows: %s", path);
}

exit_code tuning_begin(tuning *t, const tuning_wish *wish)
{
    char said[400];
    tame_name name;
    const exit_code flushed = wish->flush(wish->job); /* before the fork */
    if (flushed != EXIT_OK) return flushed;
    *t = (tuning){.wish = *wish, .code = EXIT_OK};
    t->start_s = measure_now_s();
    t->until_s = t->start_s + wish->budget_s;
    t->worker = (tune_worker){
        .hooks = &program_hooks, .body = tune_worker_run, .job = &t->wish.device, .patience_s = wish->patience_s};
    exit_code code = tuned_user_path(t->path);
    snprintf(t->tried_path, sizeof t->tried_path, "%s.tried", t->path);
    if (code == EXIT_OK) code = store_beside(t->tried_path);
    if (code == EXIT_OK) code = store_check(t->path);
    snprintf(said, sizeof said, "what was found and tried is kept in %s, and the next run goes on from there",
             diag_name(t->path, name));
    if (code == EXIT_OK) guard_kept(said);
    return code;
}

/* What this device signs with, from a line that it signs. */
static exit_code learn_signature(tuning *t)
{
    char row[TUNE_ROW], line[TW_LAB_TUNED_LINE];
    const tune_result none = {.verdict = TUNE_SAME};
    if (t->here.device[0] != '\0') return EXIT_OK;
    tune_row(&t->space, t->space.dims[0].kernel, 0, row);
    const tw_lab_tuned x = row_of(t, row, &none);
    exit_code code = sign(t, &x, line);
    if (code == EXIT_OK) tw_lab_tuned_judge(NULL, line, &t->here);
    return code == EXIT_OK ? read_tried(t) : code;
}

static bool is_of_class(void *job, const char *line);

/* The class's lines of the user's file, for tuning_restore(). */
static exit_code read_begun(tuning *t)
{
    int kept = 0;
    store_free(&t->begun);
    exit_code code = store_read(t->path, true, &t->begun);
    for (int i = 0, count = t->begun.count; i < count; i++)
        if (is_of_class(t, t->begun.lines[i]))
            t->begun.lines[kept++] = t->begun.lines[i];
        else
            free(t->begun.lines[i]);
    t->begun.count = kept;
    return code;
}

exit_code tuning_problem(tuning *t, const tw_problem *p, char why[TUNE_WHY])
{
    static tune_answer begun;
    const double left_s = t->until_s - measure_now_s();
    why[0] = '\0';
    if (left_s <= 0 || !tune_worker_begin(&t->worker, p, left_s, &begun)) {
        snprintf(why, TUNE_WHY, "%s", left_s <= 0 ? "the budget has ended" : begun.result.why);
        return begun.status == TW_NO_DEVICE ? EXIT_DEVICE : begun.status == TW_NO_MEMORY ? EXIT_MEMORY : EXIT_RUN;
    }
    tune_space_of(&begun, p, &t->space);
    if (t->space.count == 0) {
        snprintf(why, TUNE_WHY, "the planner of the %s engine reads no tuned rows", begun.engine);
        return EXIT_USAGE;
    }
    snprintf(t->engine, sizeof t->engine, "%s", begun.engine);
    snprintf(t->device, sizeof t->device, "%s", begun.device);
    snprintf(t->shape, sizeof t->shape, "%lldx%lldx%lld", (long long)p->m, (long long)p->n, (long long)p->k);
    title_of(t->space.dtype, t->space.shape_class, t->space.ops, t->title);
    t->before_s = 0, t->earlier = 0;
    const exit_code code = learn_signature(t);
    return code == EXIT_OK ? read_begun(t) : code;
}

/* Lines of this class and device, but not those that another driver or another number of threads may use. */
static bool is_of_class(void *job, const char *line)
{
    const tuning *t = job;
    tw_lab_tuned x;
    tw_lab_tuned_judge(NULL, line, &x);
    return x.state != TW_LAB_TUNED_DAMAGED && strcmp(x.device, t->here.device) == 0 &&
           strcmp(x.engine, t->space.engine) == 0 && strcmp(x.dtype, t->space.dtype) == 0 &&
           strcmp(x.shape_class, t->space.shape_class) == 0 && strcmp(x.ops, t->space.ops) == 0 &&
           (same_signature(&x, &t->here) || is_past(t, &x));
}

exit_code tuning_keep(tuning *t, const tune_result *result)
{
    static char added[TUNE_KERNELS * TW_LAB_TUNED_LINE];
    char line[TW_LAB_TUNED_LINE], row[TUNE_ROW];
    const tune_space *space = &t->space;
    size_t used = 0;
    added[0] = '\0';
    for (int i = 0; i < space->count; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++) seen |= strcmp(space->dims[j].kernel, space->dims[i].kernel) == 0;
        if (seen || !tune_row(space, space->dims[i].kernel, -1, row)) continue;
        const tw_lab_tuned x = row_of(t, row, result);
        exit_code code = sign(t, &x, line);
        if (code != EXIT_OK) return code;
        if (used + strlen(line) + 2 < sizeof added)
            used += (size_t)snprintf(added + used, sizeof added - used, "%s\n", line);
    }
    return store_replace(t->path, is_of_class, t, added, NULL);
}

exit_code tuning_restore(tuning *t)
{
    static char added[TUNE_KERNELS * TW_LAB_TUNED_LINE];
    size_t used = 0;
    added[0] = '\0';
    for (int i = 0; i < t->begun.count; i++)
        if (used + strlen(t->begun.lines[i]) + 2 < sizeof added)
            used += (size_t)snprintf(added + used, sizeof added - used, "%s\n", t->begun.lines[i]);
    return store_replace(t->path, is_of_class, t, added, NULL);
}

/* Rows as the planner reads them, "; " between them. */
static void join_rows(const char *rows, char out[TUNE_ROWS])
{
    size_t used = 0;
    out[0] = '\0';
    for (const char *line = rows; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
        int length = (int)strcspn(line, "|\n");
        while (length > 0 && line[length - 1] == ' ') length--;
        used += (size_t)snprintf(out + used, TUNE_ROWS - used, "%s%.*s", used > 0 ? "; " : "", length, line);
    }
}

void tuning_write(const tuning *t, const char *event, const char *row, const tune_result *r, const tune_tally *tally)
{
    object o = object_begin(t->wish.json);
    record_time_text now;
    char joined[TUNE_ROWS];
    join_rows(row, joined);
    object_text(&o, "command", "tune");
    object_text(&o, "event", event);
    object_text(&o, "engine", t->engine);
    object_text(&o, "device", t->device);
    object_text(&o, "dtype", t->space.dtype);
    object_text(&o, "shape_class", t->space.shape_class);
    object_text(&o, "ops", t->space.ops);
    object_text(&o, "shape", t->shape);
    object_text(&o, "row", joined);
    object_text(&o, "verdict", tune_verdict_name(r->verdict));
    object_positive(&o, "before_s", r->before_s);
    object_positive(&o, "after_s", r->after_s);
    object_positive(&o, "speed", r->speed);
    object_positive(&o, "low_speed", r->low_speed);
    object_positive(&o, "high_speed", r->high_speed);
    object_number(&o, "others", r->others);
    object_text(&o, "why", r->why);
    if (tally != NULL) {
        object_number(&o, "tried", tally->tried);
        object_number(&o, "same_plan", tally->same);
        object_number(&o, "better", tally->better);
        object_number(&o, "wrong", tally->wrong);
        object_number(&o, "hung", tally->hung);
        object_number(&o, "failed", tally->failed);
        object_number(&o, "unclear", tally->unclear);
        object_number(&o, "busy", tally->busy);
        object_flag(&o, "finished", tally->finished);
    }
    object_text(&o, "version", tw_version());
    object_text(&o, "time", record_time(now));
    object_end(&o);
}

/* ---- what the search works with ---- */

static double now_s(void *job)
{
    (void)job;
    return measure_now_s();
}

static bool known(void *job, const char *row)
{
    tuning *t = job;
    const int place = find(&t->known, row);
    t->earlier += place < t->earlier_rows;
    return place < t->known.count;
}

static void try_rows(void *job, const char *present, const char *candidate, double limit_s, tune_result *out)
{
    tuning *t = job;
    plan_key key;
    bool same = false;
    const double begin_s = measure_now_s();
    if (!tune_worker_plan(&t->worker, present, candidate, limit_s, t->plan, &same)) t->plan[0] = '\0';
    const int place = same ? t->plans.count : find(&t->plans, key_of(t->title, t->shape, t->plan, key));
    t->earlier += place < t->earlier_plans;
    if (same || place < t->plans.count) {
        *out = (tune_result){.verdict = same ? TUNE_SAME : TUNE_KNOWN};
        return;
    }
    const double left_s = limit_s - (measure_now_s() - begin_s); /* a worker that begins anew has taken some */
    *out = (tune_result){.verdict = TUNE_NO_TIME};
    if (left_s > 0) tune_worker_try(&t->worker, present, candidate, left_s, out);
    if (t->before_s == 0) t->before_s = out->before_s;
}

static void tell(const tuning *t, const char *row, const tune_result *r)
{
    if (r->verdict != TUNE_WRONG && r->verdict != TUNE_HUNG && r->verdict != TUNE_FAILED) return;
    term_progress_end();
    diag(EXIT_OK, "%s: %s %s: %s", t->title, row, tune_verdict_name(r->verdict), r->why);
}

static tw_status tried(void *job, const char *row, const tune_result *r)
{
    tuning *t = job;
    char line[TW_LAB_TUNED_LINE];
    tell(t, row, r);
    tuning_write(t, "candidate", row, r, NULL);
    tw_lab_tuned x = row_of(t, row, r);
    snprintf(x.plan, sizeof x.plan, "%s", t->plan);
    snprintf(x.dtype, sizeof x.dtype, "%s", t->space.dtype);
    snprintf(x.shape_class, sizeof x.shape_class, "%s", t->space.shape_class);
    snprintf(x.ops, sizeof x.ops, "%s", t->space.ops);
    const bool remembered = remember_tried(t, &x);
    if (remembered) t->code = sign(t, &x, line);
    if (remembered && t->code == EXIT_OK) t->code = store_append(t->tried_path, line);
    const exit_code told = t->wish.written(t->wish.job); /* behind what it tells of, and though that failed */
    if (!remembered) return TW_NO_MEMORY;
    if (t->code == EXIT_OK) t->code = told;
    return t->code == EXIT_OK ? TW_OK : TW_DEVICE_FAILED;
}

static tw_status keep(void *job, const tune_space *space, const tune_result *r)
{
    tuning *t = job;
    (void)space; /* it is t's */
    t->code = tuning_keep(t, r);
    return t->code == EXIT_OK ? TW_OK : TW_DEVICE_FAILED;
}

static void progress(void *job, const tune_tally *tally, double left_s)
{
    const tuning *t = job;
    char text[160];
    snprintf(text, sizeof text, "%s: %d tried, gain %.2f, %.0f s left for it", t->title, tally->tried, tally->gain,
             left_s);
    term_progress(text, (measure_now_s() - t->start_s) / (t->until_s - t->start_s));
}

const tune_bench tuning_bench = {NULL, now_s, known, try_rows, tried, keep, progress};

void tuning_end(tuning *t)
{
    guard_kept(NULL);
    tune_worker_end(&t->worker);
    store_free(&t->known);
    store_free(&t->plans);
    store_free(&t->begun);
    term_progress_end();
}
