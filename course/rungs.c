/* rungs.c - picks the ladder's rows from the kernel table. */
#include "rungs.h"

#include <string.h>
#include "../lab/named.h"
#include "../program/diag.h"
#include "../program/words.h"

bool rung_in_ladder(const char *engine, tw_dtype dtype, const tw_lab_kernel *row)
{
    const tw_lab_kernel *other;
    if (strcmp(row->engine, engine) != 0) return false;
    if (row->dtype == dtype || dtype != TW_F32) return row->dtype == dtype;
    for (int i = 0; (other = tw_lab_kernel_at(i)) != NULL; i++)
        if (other->dtype == TW_F32 && strcmp(other->engine, row->engine) == 0 && strcmp(other->rung, row->rung) == 0)
            return false;
    return true;
}

/* Which engines have a rung, in which types, and what to give for it: "r13q_fp8 is a rung of cuda (e4m3, e5m2): give
 * --engine cuda". The word names some rung, and none of this engine in this type. */
static void tell_where(const rung_wish *wish, tw_dtype dtype, const char *word)
{
    static const char *const engines[] = {"cpu", "opencl", "cuda"};
    const char *here = wish->device->engine, *name = NULL, *engine = NULL, *type = NULL;
    char where[400] = "";
    const tw_lab_kernel *row;
    bool as_asked = false; /* the engine to give has it in the type that was asked for */
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        unsigned told = 0; /* types, a bit each */
        for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++) {
            if (strcmp(row->engine, engines[e]) != 0 || !kernel_is_called(row, word)) continue;
            const bool as = rung_in_ladder(row->engine, dtype, row), own = strcmp(row->engine, here) == 0;
            if (engine == NULL || own > (strcmp(engine, here) == 0) || (as && !as_asked && strcmp(engine, here) != 0))
                engine = row->engine, type = tw_lab_dtype_of(row->dtype)->name, as_asked = as;
            name = name == NULL || strcmp(name, row->rung) == 0 ? row->rung : word;
            if ((told >> row->dtype & 1U) != 0) continue;
            const size_t used = strlen(where);
            snprintf(where + used, sizeof where - used, "%s%s%s",
                     told != 0  ? ", "
                     : used > 0 ? "), "
                                : "",
                     told != 0 ? "" : engines[e], told != 0 ? "" : " (");
            const size_t more = strlen(where);
            snprintf(where + more, sizeof where - more, "%s", tw_lab_dtype_of(row->dtype)->name);
            told |= 1U << row->dtype;
        }
    }
    if (engine == NULL) return;
    const bool elsewhere = strcmp(engine, here) != 0;
    fprintf(wish->text, "%-10s %s is a rung of %s): give%s%s%s%s\n", word, name, where, elsewhere ? " --engine " : "",
            elsewhere ? engine : "", as_asked ? "" : " --dtype ", as_asked ? "" : type);
}

/* A word that names no rung of any engine is an error; one that only others have is left out, and said. */
static exit_code check_name(const rung_wish *wish, const tw_problem *p, const char *word)
{
    const char *last = "";
    char known[1200] = "";
    words_hint meant;
    bool here = strcmp(word, RUNG_PLANNED) == 0, anywhere = here;
    const tw_lab_kernel *row;
    for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++) {
        bool named = kernel_is_called(row, word);
        anywhere |= named;
        if (!rung_in_ladder(wish->device->engine, p->dtype, row)) continue;
        here |= named;
        size_t used = strlen(known);
        if (strcmp(last, row->rung) != 0) snprintf(known + used, sizeof known - used, " %s", row->rung);
        last = row->rung;
    }
    if (!anywhere)
        return diag(EXIT_USAGE, "--rung %s: no such rung; there are:%s " RUNG_PLANNED "%s", word, known,
                    words_meant_of(words_rungs, word, meant));
    if (!here) tell_where(wish, p->dtype, word);
    return EXIT_OK;
}

static bool asked_for(const rung_wish *wish, const char *rung)
{
    for (int r = 0; r < wish->count; r++)
        if (strcmp(wish->words[r], rung) == 0) return true;
    return false;
}

static bool wanted(const rung_wish *wish, const user_kernels *user, const tw_lab_kernel *row)
{
    for (int i = 0; user != NULL && i < user->count; i++)
        if (user->items[i].like == row) return true;
    if (wish->skinny && !row->skinny) return false;
    if (row->family && wish->all) return true;
    if (wish->count == 0 && wish->deep) return row->deep || kernel_is_called(row, "r04");
    if (wish->count == 0) return wish->skinny == (row->skinny != 0) && !row->deep && !row->family;
    for (int r = 0; r < wish->count; r++)
        if (strcmp(wish->words[r], RUNG_PLANNED) != 0 && kernel_is_called(row, wish->words[r])) return true;
    return false;
}

static bool fits(const rung_wish *wish, const tw_problem *p, const tw_lab_kernel *row)
{
    tw_lab_choice choice = {.kernel = row->name};
    return tw_lab_fits(wish->context, &choice, p, NULL, 0) == 1;
}

/* Of two rows of one rung, the better: the planner's own wins, then the later one that fits. */
static const tw_lab_kernel *better(const rung_wish *wish, const tw_problem *p, const tw_lab_kernel *planned,
                                   const tw_lab_kernel *old, const tw_lab_kernel *row)
{
    if (old == planned) return old;
    return row == planned || fits(wish, p, row) ? row : old;
}

exit_code rungs_choose(const rung_wish *wish, const tw_problem *problem, const user_kernels *user, rung_list *out)
{
    tw_lab_plan plan = {0};
    const tw_lab_kernel *row;
    exit_code code = EXIT_OK;
    for (int r = 0; code == EXIT_OK && r < wish->count; r++)
        if (!user_kernel_is_path(wish->words[r])) code = check_name(wish, problem, wish->words[r]);
    for (int i = 0; code == EXIT_OK && user != NULL && i < user->count; i++)
        if (strcmp(user->items[i].like->engine, wish->device->engine) != 0)
            fprintf(wish->text, "%-10s not for the %s engine: its language is that of %s\n", user->items[i].label,
                    wish->device->engine, user->items[i].like->engine);
    if (tw_lab_plan_of(wish->context, &(tw_lab_choice){.keeps_ld = 1}, problem, &plan) != TW_OK) plan.kernel = NULL;
    *out = (rung_list){.takes = plan.kernel,
                       .planned = !wish->skinny && (wish->count == 0 || asked_for(wish, RUNG_PLANNED))};
    for (int i = 0; code == EXIT_OK && (row = tw_lab_kernel_at(i)) != NULL; i++) {
        if (!rung_in_ladder(wish->device->engine, problem->dtype, row) || !wanted(wish, user, row)) continue;
        int at = 0;
        while (at < out->count && strcmp(out->rows[at]->rung, row->rung) != 0) at++;
        if (at < out->count)
            out->rows[at] = better(wish, problem, plan.kernel, out->rows[at], row);
        else if (at < RUNGS_MOST)
            out->rows[out->count++] = row;
    }
    if (code == EXIT_OK && out->count == 0 && (!out->planned || out->takes == NULL))
        return diag(EXIT_DEVICE, "the %s engine has none of these rungs in %s", wish->device->engine,
                    tw_lab_dtype_of(problem->dtype)->name);
    return code;
}

exit_code rungs_read_user(const char (*words)[256], int count, user_kernels *user)
{
    char why[512];
    user->count = 0;
    for (int r = 0; r < count; r++) {
        if (!user_kernel_is_path(words[r])) continue;
        tw_status status = user_kernels_add(user, words[r], why, (int)sizeof why);
        if (status == TW_NO_MEMORY) return diag_no_memory("a kernel's text");
        if (status != TW_OK) return diag(status == TW_BUILD_FAILED ? EXIT_BUILD : EXIT_INPUT, "%s", why);
    }
    return EXIT_OK;
}
