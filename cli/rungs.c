/* rungs.c - picks the ladder's rows from the kernel table. */
#include "rungs.h"

#include <string.h>
#include "say.h"

/* "r04" and "r04_banks" both name r04_banks; "r03" does not name r03t_transposed. */
static bool names_rung(const char *word, const char *rung)
{
    size_t length = strlen(word);
    return strncmp(word, rung, length) == 0 && (rung[length] == '\0' || rung[length] == '_');
}

static bool in_ladder(const session *s, const tw_problem *p, const tw_lab_kernel *row)
{
    return strcmp(row->engine, s->device.engine) == 0 && row->dtype == p->dtype;
}

static exit_code check_names(const session *s, const tw_problem *p)
{
    for (int r = 0; r < s->opt->rungs.count; r++) {
        const char *word = s->opt->rungs.items[r], *last = "";
        char known[1200] = "";
        bool found = false;
        const tw_lab_kernel *row;
        for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++) {
            if (!in_ladder(s, p, row)) continue;
            found |= names_rung(word, row->rung);
            size_t used = strlen(known);
            if (strcmp(last, row->rung) != 0) snprintf(known + used, sizeof known - used, " %s", row->rung);
            last = row->rung;
        }
        if (!found) return say(EXIT_USAGE, "--rung %s: no such rung; there are:%s", word, known);
    }
    return EXIT_OK;
}

static bool wanted(const options *opt, const char *rung)
{
    if (opt->rungs.count == 0) return true;
    for (int r = 0; r < opt->rungs.count; r++)
        if (names_rung(opt->rungs.items[r], rung)) return true;
    return false;
}

static bool fits(session *s, const tw_problem *p, const tw_lab_kernel *row)
{
    tw_lab_choice choice = {.kernel = row->name};
    return tw_lab_fits(s->context, &choice, p, NULL, 0) == 1;
}

/* Of two rows of one rung, the better: the planner's own wins, then the later one that fits. */
static const tw_lab_kernel *better(session *s, const tw_problem *p, const tw_lab_kernel *planned,
                                   const tw_lab_kernel *old, const tw_lab_kernel *row)
{
    if (old == planned) return old;
    return row == planned || fits(s, p, row) ? row : old;
}

exit_code rungs_choose(session *s, const tw_problem *problem, rung_list *out)
{
    tw_lab_plan plan = {0};
    const tw_lab_kernel *row;
    exit_code code = check_names(s, problem);
    if (tw_lab_plan_of(s->context, NULL, problem, &plan) != TW_OK) plan.kernel = NULL;
    out->count = 0;
    for (int i = 0; code == EXIT_OK && (row = tw_lab_kernel_at(i)) != NULL; i++) {
        if (!in_ladder(s, problem, row) || !wanted(s->opt, row->rung)) continue;
        int at = 0;
        while (at < out->count && strcmp(out->rows[at]->rung, row->rung) != 0) at++;
        if (at < out->count)
            out->rows[at] = better(s, problem, plan.kernel, out->rows[at], row);
        else if (at < RUNGS_MOST)
            out->rows[out->count++] = row;
    }
    return code;
}
