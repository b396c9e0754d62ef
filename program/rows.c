/* rows.c - see rows.h. */
#include "rows.h"

#include <inttypes.h>
#include "../lab/bench/default_size.h"
#include "diag.h"
#include "term.h"

exit_code rows_trial(bench_setup s, const tw_problem *problem, trial *t)
{
    tw_status status = row_trial(&s, problem, t);
    char what[160];
    snprintf(what, sizeof what,
             "the operands and references of %" PRId64 " x %" PRId64 " x %" PRId64 " (m x n x k) in %s, %.3g GB",
             problem->m, problem->n, problem->k, tw_lab_dtype_of(problem->dtype)->name, 1e-9 * trial_bytes(problem));
    return status == TW_OK ? EXIT_OK : diag_lab(status, what);
}

/* What is probably wrong with a user kernel, as a clause; NULL: nothing is known. */
static const char *hint_of(const row_wish *wish, const char *error)
{
    if (strstr(error, "CL_INVALID_WORK_GROUP_SIZE") != NULL)
        return "it asks for groups of another size: does it have a number where TILE belongs?";
    if (strstr(error, "ROW_") != NULL && wish->kernel->tile_m <= 1)
        return "its name decides the launch. That rung has TILE and no ROW_M; a kernel called r05_... is launched "
               "like r05";
    return NULL;
}

/* Tells the failure; of a user kernel with its file, and what is probably wrong. */
static exit_code broke(tw_status status, const row_fault *fault)
{
    const tw_lab_source *source = fault->wish->source;
    if (status == TW_OK) return EXIT_OK;
    const char *hint = source != NULL ? hint_of(fault->wish, tw_error_text()) : NULL;
    exit_code code = source != NULL && status == TW_DEVICE_FAILED
                         ? diag(EXIT_RUN, "%s, launched like %s: %s", source->file, fault->wish->kernel->rung,
                                tw_error_text())
                         : diag_lab(status, fault->what);
    if (hint != NULL) diag(code, "%s, launched like %s: %s", source->file, fault->wish->kernel->rung, hint);
    return code;
}

exit_code rows_run(bench_setup s, trial *t, roofs *limits, const row_wish *wishes, int count, row *out)
{
    row_fault fault = {wishes, ""};
    tw_status status = row_run(&s, t, limits, wishes, count, out, &fault);
    return broke(status, &fault);
}

exit_code rows_build(bench_setup s, const row_wish *wish)
{
    return broke(row_builds(&s, wish), &(row_fault){wish, "a kernel of --rung"});
}

exit_code rows_side(bench_setup s, FILE *text, const tw_lab_kernel *kernel, int64_t k, int64_t most, double longest_s,
                    int64_t *n)
{
    double most_s;
    tw_status status = default_size(&s, kernel, k, most, longest_s, n, &most_s);
    if (*n < most)
        fprintf(text,
                "size       %" PRId64 ", not %" PRId64
                ", where one run of %s takes about %.3g s; `ladder --size N` selects the size\n",
                *n, most, kernel->rung, most_s);
    return status == TW_OK ? EXIT_OK : diag_lab(status, "a first timed run");
}

bool rows_have_numbers(layout_table *table, const row *r)
{
    FILE *text = table->out;
    term_paint paint = term_paint_for(text);
    if (r->outcome >= ROW_IMPOSSIBLE) return true;
    layout_gap(table);
    if (r->outcome == ROW_REFUSED) fprintf(text, "%srefused: %s%s\n", paint.faint, r->text, paint.plain);
    if (r->outcome == ROW_WRONG) fprintf(text, "%sWRONG: %s%s\n", paint.bad, r->text, paint.plain);
    return false;
}

void rows_tell_busy(FILE *text, const busy_reading *from)
{
    busy_reading to = busy_now();
    double share = busy_share(from, &to);
    if (share >= BUSY_DISTURBS)
        fprintf(text, "busy       other processes used %.0f %% of the processors meanwhile: times may be too long\n",
                100 * share);
}

void rows_count(rows_tally *count, const row *r)
{
    count->wrong += r->outcome == ROW_WRONG;
    count->impossible += r->outcome == ROW_IMPOSSIBLE;
    count->timed += r->outcome == ROW_TIMED;
}

exit_code rows_verdict(const rows_tally *count)
{
    const int judged = count->wrong + count->impossible + count->timed;
    if (judged == 0) return diag(EXIT_DEVICE, "no row could be timed: all were refused");
    if (count->wrong > 0)
        return diag(EXIT_CHECK, "%d of %d rows %s wrong and not timed, as said in the table%s", count->wrong, judged,
                    count->wrong == 1 ? "is" : "are", count->wrong < judged ? "; the others were verified" : "");
    return count->impossible > 0 ? EXIT_CHECK : EXIT_OK;
}
