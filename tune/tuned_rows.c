/* tuned_rows.c - see tuned_rows.h. */
#include "tuned_rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../program/diag.h"
#include "../program/layout.h"
#include "../program/object.h"
#include "../program/term.h"

bool tuned_is_wanted(const tuning_wish *wish, const char *engine)
{
    const char *name = wish->device.engine;
    return name == NULL || strcmp(strcmp(name, "auto") == 0 ? "cpu" : name, engine) == 0;
}

/* The device of the row's engine, if it can be opened; NULL: the row cannot be compared with it. */
static tw_context *device_of(const tuning_wish *wish, const char *engine)
{
    const tw_options wanted = {
        .size = sizeof wanted, .engine = engine, .device = wish->device.device, .threads = wish->device.threads};
    tw_context *context = NULL;
    if (tw_open(&wanted, &context) != TW_OK) return NULL;
    return context;
}

static const char *state_text(int state, bool open)
{
    return state == TW_LAB_TUNED_DAMAGED     ? "damaged"
           : !open                           ? "not here"
           : state == TW_LAB_TUNED_USED      ? "used"
           : state == TW_LAB_TUNED_ELSEWHERE ? "not here"
                                             : "stale";
}

static void show_line(const tuning_wish *wish, layout_table *t, const tw_lab_tuned *x, int number, bool open)
{
    term_number before, after, gain;
    const char *state = state_text(x->state, open);
    FILE *out = wish->text;
    if (x->state == TW_LAB_TUNED_DAMAGED) {
        fprintf(out, "%-8s  line %d: %s\n", state, number, x->why);
    } else {
        layout_cell(t, "%s", state);
        layout_cell(t, "%s", x->row);
        layout_cell(t, "%s", x->shape);
        layout_cell(t, "%s", term_seconds(x->before_s, before));
        layout_cell(t, "%s", term_seconds(x->after_s, after));
        layout_cell(t, "%s", units_factor(x->speed, gain));
        layout_cell(t, "%.2f-%.2f", x->low_speed, x->high_speed);
        layout_cell(t, "%s", x->when);
        layout_end(t);
        if (x->why[0] != '\0') fprintf(out, "%-8s %s\n", "", x->why);
    }
    object o = object_begin(wish->json);
    object_text(&o, "command", "tune");
    object_text(&o, "event", "row");
    object_text(&o, "state", state);
    object_number(&o, "line", number);
    object_text(&o, "row", x->row);
    object_text(&o, "engine", x->engine);
    object_text(&o, "dtype", x->dtype);
    object_text(&o, "shape_class", x->shape_class);
    object_text(&o, "ops", x->ops);
    object_text(&o, "shape", x->shape);
    object_text(&o, "device", x->device);
    object_text(&o, "driver", x->driver);
    object_positive(&o, "before_s", x->before_s);
    object_positive(&o, "after_s", x->after_s);
    object_positive(&o, "speed", x->speed);
    object_positive(&o, "low_speed", x->low_speed);
    object_positive(&o, "high_speed", x->high_speed);
    object_text(&o, "when", x->when);
    object_text(&o, "why", x->why);
    object_end(&o);
}

exit_code tuned_show(const tuning_wish *wish)
{
    char path[TUNED_PATH], opened[16] = "";
    static const layout_column columns[] = {{"state", -8, 0}, {"row", -34, 0}, {"shape", -16, 1}, {"before", 9, 0},
                                            {"after", 9, 0},  {"gain", 5, 0},  {"spread", 10, 2}, {"when", -20, 3}};
    layout_table table;
    tuned_lines lines;
    tw_context *context = NULL;
    int shown = 0;
    exit_code code = tuned_user_path(path);
    if (code == EXIT_OK) code = store_read(path, true, &lines);
    if (code != EXIT_OK) return code;
    if (!lines.is_ours)
        fprintf(wish->text, "not tuned: %s holds something else than tuned rows\n", path);
    else if (lines.count == 0)
        fprintf(wish->text, access(path, F_OK) == 0 ? "not tuned: %s has no rows\n" : "not tuned: there is no %s\n",
                path);
    layout_begin(&table, wish->text, columns, sizeof columns / sizeof *columns);
    if (lines.is_ours && lines.count > 0) {
        fprintf(wish->text, "%s\n\n", path);
        layout_titles(&table);
    }
    for (int i = 0; lines.is_ours && i < lines.count; i++) {
        tw_lab_tuned x;
        tw_lab_tuned_judge(NULL, lines.lines[i], &x);
        const bool damaged = x.state == TW_LAB_TUNED_DAMAGED;
        if (damaged ? wish->device.engine != NULL : !tuned_is_wanted(wish, x.engine)) continue;
        if (!damaged && strcmp(opened, x.engine) != 0) {
            tw_close(context);
            context = device_of(wish, x.engine);
            snprintf(opened, sizeof opened, "%s", x.engine);
        }
        if (!damaged && context != NULL) tw_lab_tuned_judge(context, lines.lines[i], &x);
        show_line(wish, &table, &x, lines.numbers[i], damaged || context != NULL);
        shown++;
    }
    if (lines.is_ours && lines.count > 0) layout_left_out(&table);
    tw_close(context);
    store_free(&lines);
    return shown > 0 ? wish->written(wish->job) : wish->flush(wish->job);
}

/* ---- export ---- */

static bool is_ours(const char *path)
{
    tuned_lines lines;
    tw_lab_tuned x;
    struct stat info;
    if (stat(path, &info) != 0 || info.st_size == 0) return true;
    if (!S_ISREG(info.st_mode) || store_read(path, false, &lines) != EXIT_OK) return false;
    bool ours = lines.is_ours;
    for (int i = 0; i < lines.count; i++) {
        tw_lab_tuned_judge(NULL, lines.lines[i], &x);
        ours = ours && x.state != TW_LAB_TUNED_DAMAGED;
    }
    store_free(&lines);
    return ours;
}

static bool are_one_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

exit_code tuned_export(const tuning_wish *wish, const char *to, bool force)
{
    char path[TUNED_PATH];
    tuned_lines lines;
    tw_lab_tuned x;
    tame_name name;
    int kept = 0;
    exit_code code = tuned_user_path(path);
    if (code == EXIT_OK) code = store_read(path, true, &lines);
    if (code != EXIT_OK) return code;
    for (int i = 0, count = lines.count; i < count; i++) {
        tw_lab_tuned_judge(NULL, lines.lines[i], &x);
        if (x.state != TW_LAB_TUNED_DAMAGED && tuned_is_wanted(wish, x.engine))
            lines.lines[kept++] = lines.lines[i];
        else
            free(lines.lines[i]);
    }
    lines.count = kept;
    if (kept == 0)
        code = diag(EXIT_INPUT, "%s has no rows to export: `tilewright tune` finds some", path);
    else if (are_one_file(path, to))
        code = diag(EXIT_USAGE, "--export %s is the file that the rows are in: give another name", diag_name(to, name));
    else if (!force && store_is_read_only(to))
        code = diag(EXIT_OUTPUT, "%s: the file is read-only: give another name, or --force to replace it",
                    diag_name(to, name));
    else if (!force && !is_ours(to))
        code = diag(EXIT_OUTPUT, "%s: it holds something else than tuned rows: --force replaces it",
                    diag_name(to, name));
    else
        code = store_write(to, &lines);
    store_free(&lines);
    if (code != EXIT_OK) return code;
    fprintf(wish->text, "%d row%s written to %s\n", kept, kept == 1 ? "" : "s", diag_name(to, name));
    return wish->flush(wish->job);
}

/* ---- forget ---- */

static bool goes(void *job, const char *line)
{
    const tuning_wish *wish = job;
    tw_lab_tuned x;
    tw_lab_tuned_judge(NULL, line, &x);
    return wish->device.engine == NULL || (x.state != TW_LAB_TUNED_DAMAGED && tuned_is_wanted(wish, x.engine));
}

exit_code tuned_forget(tuning_wish *wish)
{
    char path[TUNED_PATH], tried[TUNED_PATH + 8];
    struct stat info;
    int gone = 0, candidates = 0;
    exit_code code = tuned_user_path(path);
    snprintf(tried, sizeof tried, "%s.tried", path);
    if (code == EXIT_OK) code = store_beside(tried);
    if (code == EXIT_OK) code = store_writable(path);
    if (code == EXIT_OK) code = store_writable(tried);
    if (code == EXIT_OK && stat(path, &info) == 0) code = store_replace(path, goes, wish, "", &gone);
    if (code == EXIT_OK && stat(tried, &info) == 0) code = store_replace(tried, goes, wish, "", &candidates);
    if (code != EXIT_OK) return code;
    fprintf(wish->text, "%d row%s removed, and what was known of %d candidates\n", gone, gone == 1 ? "" : "s",
            candidates);
    return wish->flush(wish->job);
}
