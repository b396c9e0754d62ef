/* check.c - runs verify_product and tells its outcome. */
#include "check.h"

#include <inttypes.h>
#include "say.h"
#include "term.h"

static void show_progress(void *context, double fraction)
{
    (void)context;
    term_progress("checking", fraction);
}

/* No fault was found, and everything was looked at that the check promises to see. */
static bool whole(const verify_report *r)
{
    return r->passed && r->unchecked == 0;
}

static void tell(session *s, const verify_report *r, const char *name)
{
    term_paint paint = term_paint_for(s->text);
    const char *verdict = !r->passed ? "FAILED" : r->unchecked > 0 ? "NOT COMPLETE" : "passed";
    fprintf(s->text, "check      %s%s%s %s\n", whole(r) ? paint.good : paint.bad, verdict, paint.plain, name);
    fprintf(
        s->text,
        "  rows     %d random sign vectors, residuals up to %.2g of their row's bound. Certain to see: one element\n"
        "           wrong by more than twice its row's bound (at most %.3g). Several wrong elements of a row escape\n"
        "           with probability 2^-%d.\n",
        r->vectors, r->row_ratio, 2 * r->worst_row_bound, r->vectors);
    fprintf(s->text,
            "  elements %" PRId64
            " judged one by one, errors up to %.2g of their bound. Certain to see: each error beyond its own\n"
            "           bound (at most %.3g) in these. Cannot be seen: errors between the two bounds in the others.\n",
            r->elements, r->element_ratio, r->worst_element_bound);
    if (r->unchecked > 0) fprintf(s->text, "  UNCHECKED %" PRId64 ": %s\n", r->unchecked, r->text);
    if (r->row >= 0 && r->col >= 0)
        fprintf(s->text, "  worst    C[%" PRId64 ", %" PRId64 "] is %.17g, expected %.17g within %.3g\n", r->row,
                r->col, r->found, r->expected, r->bound);
}

exit_code check_product(session *s, operands *o, const void *c, const char *name, verify_report *report)
{
    const void *c0 = NULL;
    verify_options wanted = {.seed = s->opt->seed, .progress = show_progress};
    if (o->each[OPERAND_ADD].path != NULL) {
        exit_code code = operand_dense(&o->each[OPERAND_ADD], o->type_c, &c0);
        if (code != EXIT_OK) return code;
    }
    term_progress("checking", -1);
    tw_status status = verify_product(&o->problem, o->a, o->b, c0, c, &wanted, report);
    term_progress_end();
    if (status != TW_OK) return say_lab(status, "the check");
    tell(s, report, name);
    return whole(report) ? EXIT_OK : say(EXIT_CHECK, "%s: %s", name, report->text);
}
