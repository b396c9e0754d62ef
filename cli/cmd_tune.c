/* cmd_tune.c - `tilewright tune`: searches faster parameters class by class, or shows and moves the rows found. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../program/diag.h"
#include "../program/layout.h"
#include "../program/rows.h"
#include "../program/term.h"
#include "../tune/tuning.h"
#include "case_list.h"
#include "cmd.h"

/* Shapes of the usual classes; none of a single row or column. */
static const bench_case usual[] = {
    {"large", TW_N, TW_N, 2048, 2048, 2048, 0},     {"medium", TW_N, TW_N, 768, 768, 768, 0},
    {"small", TW_N, TW_N, 192, 192, 192, 0},        {"few_rows", TW_N, TW_N, 16, 4096, 4096, 0},
    {"few_columns", TW_N, TW_N, 4096, 16, 4096, 0}, {"deep", TW_N, TW_N, 64, 64, 8192, 0},
    {"large", TW_N, TW_T, 2048, 2048, 2048, 0},     {"large", TW_T, TW_N, 2048, 2048, 2048, 0},
};

enum { AGENDA = OPT_LIST * 8 };

/* What is tuned: a problem for each class, in order. */
typedef struct agenda {
    int count;
    tw_problem items[AGENDA];
    tw_problem alike; /* the last that was left out, for its class has an item before it */
    int left_out;
} agenda;

static bool same_class(const tw_problem *p, const tw_problem *q)
{
    const char *shape_p, *shape_q, *ops_p, *ops_q;
    tw_lab_tuned_words(p, &shape_p, &ops_p);
    tw_lab_tuned_words(q, &shape_q, &ops_q);
    return p->dtype == q->dtype && strcmp(shape_p, shape_q) == 0 && strcmp(ops_p, ops_q) == 0;
}

static void add(agenda *list, const tw_problem *p)
{
    for (int i = 0; i < list->count; i++)
        if (same_class(&list->items[i], p)) { /* the first shape of a class stands for it */
            list->alike = *p;
            list->left_out++;
            return;
        }
    if (list->count < AGENDA) list->items[list->count++] = *p;
}

/* Shapes that were asked for and are not tuned. */
static void print_left_out(FILE *out, const agenda *list)
{
    const char *shape_class, *ops;
    const tw_problem *p = &list->alike;
    if (list->left_out == 0) return;
    tw_lab_tuned_words(p, &shape_class, &ops);
    fprintf(out, "%lldx%lldx%lld", (long long)p->m, (long long)p->n, (long long)p->k);
    if (list->left_out == 1)
        fprintf(out, " is not tuned: an earlier shape of its class (%s %s) stands for it\n\n", shape_class, ops);
    else
        fprintf(out, " and %d more shape%s are not tuned: an earlier shape of the same class stands for each\n\n",
                list->left_out - 1, list->left_out == 2 ? "" : "s");
}

static exit_code choose(const options *opt, agenda *out)
{
    static case_list cases;
    exit_code code = cases_choose(opt, &cases);
    if (code != EXIT_OK) return code;
    out->count = out->left_out = 0;
    const bool named = opt->shapes.count + opt->sizes.count + opt->sets.count > 0;
    if (!named) {
        cases.count = 0;
        for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
            bench_case *c = &cases.items[cases.count++];
            *c = usual[i];
            if (opt->transpose_a) c->op_a = TW_T;
            if (opt->transpose_b) c->op_b = TW_T;
        }
    }
    for (int d = 0; d == 0 || d < opt->dtypes.count; d++)
        for (int i = 0; i < cases.count; i++) {
            const char *dtype = opt->dtypes.count > 0 ? opt->dtypes.items[d] : "f32";
            const tw_problem p = case_problem(&cases.items[i], tw_lab_dtype_named(dtype)->dtype);
            add(out, &p);
        }
    return EXIT_OK;
}

/* The values of --start, "name=value ...", for the parameters of all kernels. */
static exit_code start_from(const char *text, tune_space *space)
{
    char words[1024];
    snprintf(words, sizeof words, "%s", text);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        bool found = false;
        if (equals != NULL) *equals = '\0';
        for (int i = 0; equals != NULL && i < space->count; i++)
            if (strcmp(space->dims[i].about.name, word) == 0)
                space->dims[i].at = strtod(equals + 1, NULL), found = true;
        if (!found) return diag(EXIT_USAGE, "--start: the planner has no parameter %s", word);
    }
    return EXIT_OK;
}

/* ---- a run ---- */

static exit_code written(void *job)
{
    session *s = job;
    s->json_lines = true;
    return session_flush(s);
}

static exit_code begin(session *s, const char *engine, tuning *t)
{
    const options *o = s->opt;
    const tuning_wish wish = {.device = {.engine = engine,
                                         .device = (int)o->device,
                                         .threads = (int)o->threads,
                                         .seed = o->seed,
                                         .others = o->others != NULL ? strtod(o->others, NULL) / 100 : NAN},
                              .patience_s = o->deadline > 0 ? (double)o->deadline : 60,
                              .budget_s = o->budget > 0 ? (double)o->budget : 120,
                              .json = s->json,
                              .written = written,
                              .job = s};
    const exit_code code = session_flush(s); /* before the fork */
    return code == EXIT_OK ? tuning_begin(t, &wish) : code;
}

/* ---- a class ---- */

static void print_head(FILE *text, const tuning *t, const agenda *list, double budget_s, layout_table *table)
{
    const int classes = list->count;
    fprintf(text, "tune       %s, %s: %d class%s in %.0f s\n\n", t->engine, t->device, classes,
            classes == 1 ? "" : "es", budget_s);
    print_left_out(text, list);
    static const layout_column columns[] = {{"dtype", -5, 0},  {"class", -11, 0}, {"ops", -3, 0},  {"shape", -16, 0},
                                            {"tried", 5, 2},   {"before", 9, 0},  {"after", 9, 1}, {"gain", 5, 0},
                                            {"spread", 10, 3}, {"rows", -4, 0}};
    layout_begin(table, text, columns, sizeof columns / sizeof *columns);
    layout_titles(table);
}

/* The rows without the words of their class, which the line has already. */
static void print_rows(FILE *out, const char *rows)
{
    for (const char *line = rows; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *word = line;
        for (int i = 0; i < 5; i++) word = strchr(word, ' ') + 1;
        if (strncmp(word, "* ", 2) == 0) word += 2;
        fprintf(out, "%s%.*s", line == rows ? "" : "; ", (int)strcspn(word, "|\n") - 1, word);
    }
}

/* What a class came to, over all its shares of the budget. */
typedef struct outcome {
    bool begun;
    int earlier; /* candidates that earlier runs had tried */
    tune_tally tally;
    tune_result final;
    char dtype[8], shape_class[16], ops[4], shape[48], rows[TUNE_ROWS];
} outcome;

static void print_nothing(FILE *out, const tune_tally *tally)
{
    if (tally->tried > 0)
        fprintf(out, "nothing faster");
    else if (tally->busy > 0)
        fprintf(out, "nothing judged");
    else if (tally->known > 0)
        fprintf(out, "nothing faster");
    else if (tally->same > 0)
        fprintf(out, "nothing tried: no parameter changes this product, %d values give the same plan", tally->same);
    else
        fprintf(out, "nothing tried");
}

static void print_class(layout_table *t, const outcome *o)
{
    FILE *out = t->out;
    const tune_tally *tally = &o->tally;
    const tune_result *final = &o->final;
    term_number before, after, gain;
    term_progress_end();
    const bool better = final->verdict == TUNE_BETTER;
    layout_cell(t, "%s", o->dtype);
    layout_cell(t, "%s", o->shape_class);
    layout_cell(t, "%s", o->ops);
    layout_cell(t, "%s", o->shape);
    layout_cell(t, "%d", tally->tried);
    layout_cell(t, "%s", term_seconds(final->before_s, before));
    layout_cell(t, "%s", better ? term_seconds(final->after_s, after) : "-");
    layout_cell(t, "%s", better ? units_factor(final->speed, gain) : "-");
    if (better)
        layout_cell(t, "%.2f-%.2f", final->low_speed, final->high_speed);
    else
        layout_cell(t, "-");
    layout_note(t);
    if (better) {
        print_rows(out, o->rows);
        if (o->rows[0] == '\0') fprintf(out, "the library's own");
        if (final->why[0] != '\0') fprintf(out, ": %s", final->why);
    } else {
        print_nothing(out, tally);
    }
    if (o->earlier > 0) fprintf(out, " (%d candidates were known from earlier runs)", o->earlier);
    if (tally->unclear > 0) fprintf(out, " (%d unclear: their spread is wide)", tally->unclear);
    if (tally->busy > 0) fprintf(out, " (%d not judged: other processes ran beside them)", tally->busy);
    fprintf(out, "%s\n", tally->finished ? "" : ", the budget ended first");
}

/* What all the steps together gain over the rows that the class began with: they are taken back where that cannot be
 * seen. */
static exit_code confirm(tuning *t, const tune_space *before, tune_result *final)
{
    char first[TUNE_ROWS], best[TUNE_ROWS];
    const tune_result step = *final;
    tune_rows(before, first);
    tune_rows(&t->space, best);
    tune_worker_try(&t->worker, first, best, t->until_s - measure_now_s(), final);
    if (final->verdict == TUNE_NO_TIME || final->verdict == TUNE_HUNG || final->verdict == TUNE_FAILED ||
        final->verdict == TUNE_BUSY || final->verdict == TUNE_UNCLEAR)
        *final = step; /* each step was confirmed by itself */
    if (final->verdict == TUNE_BETTER) return tuning_keep(t, final);
    t->space = *before;
    return tuning_restore(t);
}

/* Another share of the budget: what it found goes on from what those before it found. */
static void add_share(outcome *o, const tune_tally *x, const tune_result *final)
{
    tune_tally *sum = &o->tally;
    sum->known += x->known, sum->same += x->same, sum->busy += x->busy, sum->tried += x->tried;
    sum->better += x->better, sum->wrong += x->wrong, sum->hung += x->hung, sum->failed += x->failed;
    sum->unclear += x->unclear, sum->finished = x->finished;
    if (o->final.verdict != TUNE_BETTER || !o->begun) {
        o->final = *final;
    } else if (final->verdict == TUNE_BETTER) {
        o->final.after_s = final->after_s, o->final.speed *= final->speed;
        o->final.low_speed *= final->low_speed, o->final.high_speed *= final->high_speed;
        if (final->why[0] != '\0') memcpy(o->final.why, final->why, sizeof o->final.why);
    }
    o->begun = true;
}

static void note_class(const tuning *t, outcome *o)
{
    memcpy(o->dtype, t->space.dtype, sizeof o->dtype);
    memcpy(o->shape_class, t->space.shape_class, sizeof o->shape_class);
    memcpy(o->ops, t->space.ops, sizeof o->ops);
    memcpy(o->shape, t->shape, sizeof o->shape);
    tune_rows(&t->space, o->rows);
    o->earlier += t->earlier;
}

static exit_code tune_class(tuning *t, const char *from, double until_s, outcome *o)
{
    tune_bench bench = tuning_bench;
    tune_tally tally;
    tune_result final = {.after_s = NAN, .speed = NAN, .low_speed = NAN, .high_speed = NAN, .others = NAN};
    const bool found = o->begun && o->final.verdict == TUNE_BETTER;
    const char *start = found ? NULL : from;
    exit_code code = start != NULL ? start_from(start, &t->space) : EXIT_OK;
    if (code != EXIT_OK) return code;
    static tune_space before;
    before = t->space;
    bench.job = t;
    const double begun_s = measure_now_s(), left_s = until_s - begun_s;
    if (tune_search(&t->space, &bench, begun_s + 0.9 * left_s, &tally) != TW_OK)
        return t->code != EXIT_OK ? t->code : diag_no_memory("the rows that were tried");
    final.verdict = tally.tried > 0 || (tally.known > 0 && tally.busy == 0) ? TUNE_SLOWER : TUNE_NO_TIME;
    final.before_s = t->before_s > 0 ? t->before_s : o->begun ? o->final.before_s : NAN;
    if (tally.better > 0) {
        final = (tune_result){.verdict = TUNE_BETTER, .before_s = t->before_s, .speed = tally.gain, .others = NAN};
        final.after_s = t->before_s / tally.gain;
        final.low_speed = tally.low_gain, final.high_speed = tally.high_gain;
        code = confirm(t, &before, &final);
    }
    add_share(o, &tally, &final);
    note_class(t, o);
    return code;
}

/* ---- the classes ---- */

/* All classes of a run; waiting: indices of those that did not end yet. */
typedef struct classes {
    session *s;
    tuning t;
    const agenda *list;
    outcome *of;
    int waits[AGENDA], waiting, done;
    bool headed;
    layout_table table;
    double budget_s;
    exit_code refused;
} classes;

static exit_code end_class(classes *c, const outcome *o)
{
    tuning *t = &c->t;
    c->done++;
    print_class(&c->table, o);
    memcpy(t->space.dtype, o->dtype, sizeof o->dtype);
    memcpy(t->space.shape_class, o->shape_class, sizeof o->shape_class);
    memcpy(t->space.ops, o->ops, sizeof o->ops);
    memcpy(t->shape, o->shape, sizeof o->shape);
    tuning_write(t, "class", o->rows, &o->final, &o->tally);
    return written(c->s);
}

/* A class's share of the budget; *over: it needs no other. */
static exit_code give_share(classes *c, int which, double until_s, bool *over)
{
    char why[TUNE_WHY];
    const tw_problem *p = &c->list->items[which];
    outcome *o = &c->of[which];
    exit_code code = tuning_problem(&c->t, p, why);
    *over = code != EXIT_OK;
    if (code != EXIT_OK && why[0] == '\0') return code;
    if (code == EXIT_DEVICE || code == EXIT_USAGE) return diag(code, "%s", why);
    if (code == EXIT_RUN && measure_now_s() >= c->t.until_s) {
        *over = false; /* the budget is */
        return EXIT_OK;
    }
    if (code != EXIT_OK) {
        c->refused = diag(code, "%lldx%lldx%lld: %s", (long long)p->m, (long long)p->n, (long long)p->k, why);
        return o->begun ? end_class(c, o) : EXIT_OK;
    }
    if (!c->headed) {
        print_head(c->s->text, &c->t, c->list, c->budget_s, &c->table);
        code = session_flush(c->s); /* an interrupt must not lose it */
    }
    c->headed = true;
    if (code == EXIT_OK) code = tune_class(&c->t, c->s->opt->start, until_s, o);
    *over = o->begun && o->tally.finished;
    return code == EXIT_OK && *over ? end_class(c, o) : code;
}

/* Once through the classes that wait, each with an equal part of what is left of the budget. */
static exit_code pass(classes *c, double least_s)
{
    const int count = c->waiting;
    exit_code code = EXIT_OK;
    c->waiting = 0;
    for (int i = 0; i < count; i++) {
        const double now_s = measure_now_s(), left_s = c->t.until_s - now_s;
        bool over = false;
        if (code == EXIT_OK && left_s > least_s) code = give_share(c, c->waits[i], now_s + left_s / (count - i), &over);
        if (!over) c->waits[c->waiting++] = c->waits[i];
    }
    return code;
}

/* Those that the budget ended. */
static exit_code end_waiting(classes *c)
{
    exit_code code = EXIT_OK;
    FILE *text = c->s->text;
    int left = 0;
    for (int i = 0; code == EXIT_OK && i < c->waiting; i++)
        if (c->of[c->waits[i]].begun) code = end_class(c, &c->of[c->waits[i]]);
    for (int i = 0; code == EXIT_OK && i < c->waiting; i++) {
        const tw_problem *p = &c->list->items[c->waits[i]];
        const char *shape_class, *ops;
        if (c->of[c->waits[i]].begun) continue;
        tw_lab_tuned_words(p, &shape_class, &ops);
        fprintf(text, "%s%s %s %lldx%lldx%lld", left++ == 0 ? "not timed  " : ", ", tw_lab_dtype_of(p->dtype)->name,
                ops, (long long)p->m, (long long)p->n, (long long)p->k);
    }
    c->done += left;
    if (left > 0) fprintf(text, ": the budget ended first: give a larger --budget\n");
    return code;
}

static void print_kept(const classes *c)
{
    const char *threads = strrchr(c->t.here.driver, ',');
    bool better = false;
    for (int i = 0; i < c->list->count; i++) better |= c->of[i].begun && c->of[i].final.verdict == TUNE_BETTER;
    if (!better) return;
    fprintf(c->s->text, "\nkept in %s: every program", c->t.path);
    if (strcmp(c->t.here.engine, "cpu") == 0 && threads != NULL) fprintf(c->s->text, " with%s", threads + 1);
    fprintf(c->s->text, " uses it from now on\n");
}

/* No run is good in which nothing was judged, though there was something to judge. */
static exit_code nothing_judged(const char *why, const char *again)
{
    return diag(EXIT_CHECK, "nothing was judged, because %s: %s", why, again);
}

static const char by_others[] = "other processes used the processors";

static exit_code some_judged(const classes *c)
{
    int judged = 0, failed = 0, busy = 0;
    for (int i = 0; i < c->list->count; i++) {
        const tune_tally *tally = &c->of[i].tally;
        judged += tally->tried, failed += tally->failed, busy += tally->busy;
    }
    if (judged > 0 && failed == judged)
        return diag(EXIT_CHECK, "each candidate that was run failed: `tilewright doctor` says what is missing");
    if (judged == 0 && busy > 0) return nothing_judged(by_others, "let nothing else run, and tune again");
    if (judged == 0 && c->waiting > 0) return nothing_judged("the budget ended first", "give a larger --budget");
    return EXIT_OK;
}

/* What is left over goes to the classes that did not end with their part, until that is too little. */
static exit_code search(session *s, const agenda *list)
{
    static classes c;
    enum { PASSES = 8 };
    const double too_little = 0.03;
    const busy_reading begun = busy_now();
    c = (classes){.s = s, .list = list, .waiting = list->count, .refused = EXIT_OK};
    exit_code code = begin(s, s->opt->engines.count > 0 ? s->opt->engines.items[0] : NULL, &c.t);
    if (code != EXIT_OK) return code;
    c.budget_s = c.t.until_s - c.t.start_s;
    c.of = calloc((size_t)list->count + 1, sizeof *c.of);
    if (c.of == NULL) code = diag_no_memory("the classes");
    for (int i = 0; i < list->count; i++) c.waits[i] = i;
    for (int i = 0; code == EXIT_OK && i < PASSES; i++) code = pass(&c, i > 0 ? too_little * c.budget_s : 0);
    if (code == EXIT_OK) code = end_waiting(&c);
    if (code == EXIT_OK) print_kept(&c);
    tuning_end(&c.t);
    if (c.done > 0) rows_tell_busy(s->text, &begun);
    if (code == EXIT_OK) code = c.done > 0 ? some_judged(&c) : c.refused;
    free(c.of);
    return code;
}

/* ---- a colleague's rows ---- */

/* The values of a row for the space; false: it has a kernel or a parameter that is not here. */
static bool take_row(const char *row, tune_space *space)
{
    char words[TUNE_ROW], *kernel, *word;
    snprintf(words, sizeof words, "%s", row);
    kernel = strtok(words, " ");
    for (int i = 0; kernel != NULL && i < 5; i++) kernel = strtok(NULL, " ");
    while (kernel != NULL && (word = strtok(NULL, " ")) != NULL) {
        char *equals = strchr(word, '=');
        bool found = false;
        if (equals == NULL) return false;
        *equals = '\0';
        for (int i = 0; i < space->count; i++)
            if (strcmp(space->dims[i].about.name, word) == 0 && strcmp(space->dims[i].kernel, kernel) == 0)
                space->dims[i].at = strtod(equals + 1, NULL), found = true;
        if (!found) return false;
    }
    return kernel != NULL;
}

static bool of_one_class(const tw_lab_tuned *x, const tw_lab_tuned *y)
{
    return strcmp(x->engine, y->engine) == 0 && strcmp(x->dtype, y->dtype) == 0 &&
           strcmp(x->shape_class, y->shape_class) == 0 && strcmp(x->ops, y->ops) == 0;
}

static bool problem_of(const tw_lab_tuned *x, tw_problem *out)
{
    shape s;
    if (!parse_shape(x->shape, 1, 100000000, &s) || tw_lab_dtype_named(x->dtype) == NULL || strlen(x->ops) != 2)
        return false;
    *out = tw_problem_make(tw_lab_dtype_named(x->dtype)->dtype, x->ops[0] == 't' ? TW_T : TW_N,
                           x->ops[1] == 't' ? TW_T : TW_N, s.m, s.n, s.k);
    const char *shape_class, *ops;
    tw_lab_tuned_words(out, &shape_class, &ops);
    return strcmp(shape_class, x->shape_class) == 0;
}

static void print_import(FILE *out, const tune_result *r)
{
    static const char again[] = "let nothing else run, and import again";
    if (r->verdict == TUNE_UNCLEAR)
        fprintf(out, "not taken: %.2f times as fast, but %.2f to %.2f over the rounds: %s", r->speed, r->low_speed,
                r->high_speed, again);
    else if (r->verdict == TUNE_BUSY)
        fprintf(out, "not taken: other processes used %.0f %% of the processors: %s", 100 * r->others, again);
    else
        fprintf(out, "%s",
                r->verdict == TUNE_BETTER   ? "taken"
                : r->verdict == TUNE_SAME   ? "not taken: the plan is the present one"
                : r->verdict == TUNE_SLOWER ? "not taken: it is right, and not faster here"
                                            : "not taken");
    fprintf(out, "%s%s\n", r->why[0] != '\0' ? ": " : "", r->why);
}

/* Judge and time the rows of one class that begin with line `first`; *verdict: on them. */
static exit_code import_class(session *s, const tw_lab_tuned *rows, const bool *takes_part, int count, int first,
                              tune_verdict *verdict)
{
    static tuning t;
    static tune_space before;
    const tw_lab_tuned *x = &rows[first];
    char why[TUNE_WHY], present[TUNE_ROWS], candidate[TUNE_ROWS] = "";
    tune_result r = {.verdict = TUNE_FAILED};
    tw_problem p;
    exit_code code = begin(s, x->engine, &t);
    if (code != EXIT_OK) return code;
    if (!problem_of(x, &p)) {
        snprintf(r.why, sizeof r.why, "its shape %s is none of its class", x->shape);
    } else if ((code = tuning_problem(&t, &p, why)) != EXIT_OK) {
        if (why[0] == '\0') {
            tuning_end(&t);
            return code;
        }
        memcpy(r.why, why, sizeof r.why);
    } else {
        bool known = true;
        before = t.space;
        for (int i = first; i < count; i++)
            if (takes_part[i] && of_one_class(x, &rows[i])) known = known && take_row(rows[i].row, &t.space);
        tune_rows(&before, present);
        tune_rows(&t.space, candidate);
        if (known)
            tune_worker_try(&t.worker, present, candidate, t.until_s - measure_now_s(), &r);
        else
            snprintf(r.why, sizeof r.why, "it has a kernel or a parameter that this device does not use");
    }
    code = r.verdict == TUNE_BETTER ? tuning_keep(&t, &r) : EXIT_OK;
    fprintf(s->text, "%s %s %s %s: ", x->engine, x->dtype, x->shape_class, x->ops);
    print_import(s->text, &r);
    tuning_write(&t, "import", candidate, &r, NULL);
    tuning_end(&t);
    *verdict = r.verdict;
    if (code == EXIT_OK && r.verdict == TUNE_WRONG) code = EXIT_CHECK;
    const exit_code flushed = written(s);
    return code == EXIT_OK ? flushed : code;
}

static exit_code import(session *s)
{
    tuned_lines lines;
    tame_name name;
    exit_code code = store_read(s->opt->import, false, &lines), result = EXIT_OK;
    if (code == EXIT_OK && !lines.is_ours)
        code = diag(EXIT_INPUT, "%s: it is no file of tuned rows: `tilewright tune --export FILE` writes one",
                    diag_name(s->opt->import, name));
    if (code != EXIT_OK) {
        store_free(&lines);
        return code;
    }
    tw_lab_tuned *rows = calloc((size_t)lines.count + 1, sizeof *rows);
    bool *wanted = calloc((size_t)lines.count + 1, sizeof *wanted);
    int damaged = 0, count = rows != NULL && wanted != NULL ? lines.count : 0;
    for (int i = 0; i < count; i++) {
        tw_lab_tuned_judge(NULL, lines.lines[i], &rows[i]);
        damaged += rows[i].state == TW_LAB_TUNED_DAMAGED;
        wanted[i] = rows[i].state != TW_LAB_TUNED_DAMAGED && strcmp(rows[i].verdict, "better") == 0 &&
                    tuned_is_wanted(s, rows[i].engine);
    }
    if (damaged > 0)
        diag(EXIT_OK, "%s: %d line%s damaged, and passed over", s->opt->import, damaged,
             damaged == 1 ? " is" : "s are");
    int classes = 0, busy = 0;
    for (int i = 0; i < count && (code == EXIT_OK || code == EXIT_CHECK); i++) {
        bool first = wanted[i];
        for (int j = 0; j < i; j++) first = first && !(wanted[j] && of_one_class(&rows[i], &rows[j]));
        if (!first) continue;
        classes++;
        tune_verdict verdict = TUNE_FAILED;
        code = import_class(s, rows, wanted, count, i, &verdict);
        busy += verdict == TUNE_BUSY;
        if (code == EXIT_CHECK) result = code;
    }
    free(rows);
    free(wanted);
    if (count < lines.count) code = diag_no_memory("the tuned rows");
    store_free(&lines);
    if (code == EXIT_OK && classes == 0)
        return diag(EXIT_INPUT, "%s: it has no tuned row%s%s", s->opt->import, s->opt->engines.count > 0 ? " of " : "",
                    s->opt->engines.count > 0 ? s->opt->engines.items[0] : "");
    if (code == EXIT_OK && busy == classes) return nothing_judged(by_others, "let nothing else run, and import again");
    return code == EXIT_OK ? result : code;
}

exit_code cmd_tune(session *s)
{
    static agenda list;
    const options *opt = s->opt;
    const int actions = opt->show + opt->forget + (opt->export != NULL) + (opt->import != NULL);
    if (actions > 1) return diag(EXIT_USAGE, "--show, --export, --import and --forget exclude each other: give one");
    if (actions == 1 && (opt->dtypes.count + opt->shapes.count + opt->sizes.count + opt->sets.count > 0 ||
                         opt->transpose_a || opt->transpose_b))
        return diag(EXIT_USAGE, "--show, --export, --import and --forget take the rows of --engine, of all types and "
                                "shapes: leave out --dtype, --shape, --size, --set, --transpose-a, --transpose-b");
    if (opt->show) return tuned_show(s);
    if (opt->forget) return tuned_forget(s);
    if (opt->export != NULL) return tuned_export(s);
    if (opt->import != NULL) return import(s);
    const exit_code code = choose(opt, &list);
    return code == EXIT_OK ? search(s, &list) : code;
}
