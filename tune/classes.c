/* classes.c - see classes.h. */
#include "classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../program/diag.h"
#include "../program/layout.h"
#include "../program/rows.h"
#include "../program/term.h"

static bool same_class(const tw_problem *p, const tw_problem *q)
{
    const char *shape_p, *shape_q, *ops_p, *ops_q;
    tw_lab_tuned_words(p, &shape_p, &ops_p);
    tw_lab_tuned_words(q, &shape_q, &ops_q);
    return p->dtype == q->dtype && strcmp(shape_p, shape_q) == 0 && strcmp(ops_p, ops_q) == 0;
}

void agenda_add(agenda *list, const tw_problem *p)
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
    tuning t;
    const agenda *list;
    const char *start;
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
    return t->wish.written(t->wish.job);
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
        print_head(c->t.wish.text, &c->t, c->list, c->budget_s, &c->table);
        code = c->t.wish.flush(c->t.wish.job); /* an interrupt must not lose it */
    }
    c->headed = true;
    if (code == EXIT_OK) code = tune_class(&c->t, c->start, until_s, o);
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
    FILE *text = c->t.wish.text;
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
    fprintf(c->t.wish.text, "\nkept in %s: every program", c->t.path);
    if (strcmp(c->t.here.engine, "cpu") == 0 && threads != NULL) fprintf(c->t.wish.text, " with%s", threads + 1);
    fprintf(c->t.wish.text, " uses it from now on\n");
}

/* No run is good in which nothing was judged, though there was something to judge. */
static exit_code some_judged(const classes *c)
{
    int judged = 0, failed = 0, busy = 0;
    for (int i = 0; i < c->list->count; i++) {
        const tune_tally *tally = &c->of[i].tally;
        judged += tally->tried, failed += tally->failed, busy += tally->busy;
    }
    if (judged > 0 && failed == judged)
        return diag(EXIT_CHECK, "each candidate that was run failed: `tilewright doctor` says what is missing");
    if (judged == 0 && busy > 0)
        return diag(EXIT_CHECK, "nothing was judged, because other processes used the processors: let nothing else "
                                "run, and tune again");
    if (judged == 0 && c->waiting > 0)
        return diag(EXIT_CHECK, "nothing was judged, because the budget ended first: give a larger --budget");
    return EXIT_OK;
}

/* What is left over goes to the classes that did not end with their part, until that is too little. */
exit_code classes_tune(const tuning_wish *wish, const agenda *list, const char *start)
{
    static classes c;
    enum { PASSES = 8 };
    const double too_little = 0.03;
    const busy_reading begun = busy_now();
    c = (classes){.list = list, .start = start, .waiting = list->count, .refused = EXIT_OK};
    exit_code code = tuning_begin(&c.t, wish);
    if (code != EXIT_OK) return code;
    c.budget_s = c.t.until_s - c.t.start_s;
    c.of = calloc((size_t)list->count + 1, sizeof *c.of);
    if (c.of == NULL) code = diag_no_memory("the classes");
    for (int i = 0; i < list->count; i++) c.waits[i] = i;
    for (int i = 0; code == EXIT_OK && i < PASSES; i++) code = pass(&c, i > 0 ? too_little * c.budget_s : 0);
    if (code == EXIT_OK) code = end_waiting(&c);
    if (code == EXIT_OK) print_kept(&c);
    tuning_end(&c.t);
    if (c.done > 0) rows_tell_busy(wish->text, &begun);
    if (code == EXIT_OK) code = c.done > 0 ? some_judged(&c) : c.refused;
    free(c.of);
    return code;
}
