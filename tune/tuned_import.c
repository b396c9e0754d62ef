/* tuned_import.c - a colleague's tuned rows, judged and timed here before they are taken. */
#include <stdlib.h>
#include <string.h>
#include "../lab/measure.h"
#include "../program/diag.h"
#include "../program/numbers.h"
#include "tuned_rows.h"

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
static exit_code import_class(const tuning_wish *wish, const tw_lab_tuned *rows, const bool *takes_part, int count,
                              int first, tune_verdict *verdict)
{
    static tuning t;
    static tune_space before;
    const tw_lab_tuned *x = &rows[first];
    char why[TUNE_WHY], present[TUNE_ROWS], candidate[TUNE_ROWS] = "";
    tune_result r = {.verdict = TUNE_FAILED};
    tw_problem p;
    tuning_wish own = *wish;
    own.device.engine = x->engine;
    exit_code code = tuning_begin(&t, &own);
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
    fprintf(wish->text, "%s %s %s %s: ", x->engine, x->dtype, x->shape_class, x->ops);
    print_import(wish->text, &r);
    tuning_write(&t, "import", candidate, &r, NULL);
    tuning_end(&t);
    *verdict = r.verdict;
    if (code == EXIT_OK && r.verdict == TUNE_WRONG) code = EXIT_CHECK;
    const exit_code flushed = wish->written(wish->job);
    return code == EXIT_OK ? flushed : code;
}

exit_code tuned_import(const tuning_wish *wish, const char *path)
{
    tuned_lines lines;
    tame_name name;
    exit_code code = store_read(path, false, &lines), result = EXIT_OK;
    if (code == EXIT_OK && !lines.is_ours)
        code = diag(EXIT_INPUT, "%s: it is no file of tuned rows: `tilewright tune --export FILE` writes one",
                    diag_name(path, name));
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
                    tuned_is_wanted(wish, rows[i].engine);
    }
    if (damaged > 0)
        diag(EXIT_OK, "%s: %d line%s damaged, and passed over", path, damaged, damaged == 1 ? " is" : "s are");
    int classes = 0, busy = 0;
    for (int i = 0; i < count && (code == EXIT_OK || code == EXIT_CHECK); i++) {
        bool first = wanted[i];
        for (int j = 0; j < i; j++) first = first && !(wanted[j] && of_one_class(&rows[i], &rows[j]));
        if (!first) continue;
        classes++;
        tune_verdict verdict = TUNE_FAILED;
        code = import_class(wish, rows, wanted, count, i, &verdict);
        busy += verdict == TUNE_BUSY;
        if (code == EXIT_CHECK) result = code;
    }
    free(rows);
    free(wanted);
    if (count < lines.count) code = diag_no_memory("the tuned rows");
    store_free(&lines);
    if (code == EXIT_OK && classes == 0)
        return diag(EXIT_INPUT, "%s: it has no tuned row%s%s", path, wish->device.engine != NULL ? " of " : "",
                    wish->device.engine != NULL ? wish->device.engine : "");
    if (code == EXIT_OK && busy == classes)
        return diag(EXIT_CHECK, "nothing was judged, because other processes used the processors: let nothing else "
                                "run, and import again");
    return code == EXIT_OK ? result : code;
}
