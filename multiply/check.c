/* check.c - runs verify_product and tells its outcome. */
#include "check.h"

#include <inttypes.h>
#include <math.h>
#include "../program/diag.h"
#include "../program/term.h"

static void show_progress(void *context, double fraction)
{
    (void)context;
    term_progress("checking", fraction);
}

bool check_is_sampled(const tw_problem *problem, const verify_report *report)
{
    return problem->epilogue != NULL && report->elements < problem->m * problem->n;
}

/* No fault was found, and everything was looked at that the check promises to see. */
static bool whole(const verify_report *r) { return r->passed && r->unchecked == 0; }

/* Which errors the check can find. */
static void tell_sight(const product_wish *wish, const operands *o, const verify_report *r)
{
    if (check_is_sampled(&o->problem, r)) {
        fprintf(wish->text,
                "  elements  %" PRId64 " of %" PRId64
                " recomputed, drawn by --seed. Not found: errors in the others.\n",
                r->elements, o->problem.m * o->problem.n);
        return;
    }
    if (multiplied_scales(&o->as) || o->epilogue != NULL) {
        fprintf(wish->text, "  elements  %" PRId64 " recomputed, each of them.\n", r->elements);
        return;
    }
    if (io_type_is_integer(o->as.type_c)) {
        fprintf(
            wish->text,
            "  rows      %d vectors of random weights, modulo 2^%d. Always found: one wrong element in a row. Several "
            "are missed with probability 2^-%d at most.\n  elements  %" PRId64 " checked one by one.\n",
            r->vectors, (int)(8 * io_type_bytes(o->as.type_c)), r->vectors / 2, r->elements);
        return;
    }
    fprintf(wish->text,
            "  rows      %d random sign vectors, residuals up to %.2g of their row's bound. Always found: one element "
            "wrong by more than twice its row's bound (at most %.3g). Several wrong elements in a row are "
            "missed with probability 2^-%d.\n",
            r->vectors, r->row_ratio, 2 * r->worst_row_bound, r->vectors);
    fprintf(wish->text,
            "  elements  %" PRId64
            " checked one by one, errors up to %.2g of their bound. Always found in these: an error beyond the "
            "element's bound (at most %.3g). Not found in the others: errors between the two bounds.\n",
            r->elements, r->element_ratio, r->worst_element_bound);
}

/* C is the product: how it was checked, and where its error is largest. */
static void tell_verdict(const product_wish *wish, const tw_problem *p, const verify_report *r, const char *name)
{
    FILE *text = wish->text;
    term_paint paint = term_paint_for(text);
    const char *each = tw_lab_dtype_of(p->dtype)->parts == 2 ? "parts of elements" : "elements";
    int64_t all = p->m * p->n * tw_lab_dtype_of(p->dtype)->parts;
    fprintf(text, "%s %sis the product%s: ", name, paint.good, paint.plain);
    if (all == 0)
        fprintf(text, "it has no elements.");
    else if (r->elements >= all)
        fprintf(text, "each of its %" PRId64 " %s was checked.", all, each);
    else if (check_is_sampled(p, r))
        fprintf(text, "of its %" PRId64 " elements %" PRId64 " were checked, drawn by --seed.", all, r->elements);
    else
        fprintf(text, "its %" PRId64 " %s were checked by rows with %d random vectors, %" PRId64 " of them one by one.",
                all, each, r->vectors, r->elements);
    fputc('\n', text);
    if (r->row >= 0 && r->col >= 0)
        fprintf(text, "The largest error is %.2g of its bound, at C[%" PRId64 ", %" PRId64 "].\n", r->element_ratio,
                r->row, r->col);
}

/* The same of 2-byte floats, row by row as f32. */
static int64_t narrow_nans(const operands *o, const void *c, int64_t *first, int64_t *infinite)
{
    enum { PIECE = 1024 };
    const int64_t count = o->problem.m * o->problem.n;
    float values[PIECE];
    int64_t found = 0;
    *infinite = 0;
    for (int64_t e = 0; e < count; e += PIECE) {
        const int64_t some = count - e < PIECE ? count - e : PIECE;
        const io_matrix piece = {.type = o->as.type_c,
                                 .rows = 1,
                                 .cols = some,
                                 .row_stride = some,
                                 .col_stride = 1,
                                 .data = (const uint16_t *)c + e};
        io_convert(&piece, IO_F32, values);
        for (int64_t i = 0; i < some; i++) {
            *infinite += isinf(values[i]) != 0;
            if (isnan(values[i]) && found++ == 0 && first != NULL) *first = e + i;
        }
    }
    return found;
}

int64_t check_nans(const operands *o, const void *c, int64_t *first, int64_t *infinite)
{
    const io_type part = io_type_part(o->as.type_c);
    if (io_type_is_half(part)) return narrow_nans(o, c, first, infinite);
    const int parts = io_type_is_complex(o->as.type_c) ? 2 : 1;
    int64_t found = 0, last = -1, count = o->problem.m * o->problem.n * parts;
    bool infinite_before = false;
    const float *f32 = c;
    const double *f64 = c;
    *infinite = 0;
    if (part != IO_F32 && part != IO_F64) return 0;
    for (int64_t e = 0; e < count; e++) { /* an element counts once, whichever part it is */
        double value = part == IO_F32 ? (double)f32[e] : f64[e];
        if (e % parts == 0) infinite_before = false;
        *infinite += isinf(value) && !infinite_before;
        infinite_before = infinite_before || isinf(value);
        if (!isnan(value) || last == e / parts) continue;
        last = e / parts;
        if (found++ == 0 && first != NULL) *first = last;
    }
    return found;
}

static verify_options options_of(const product_wish *wish)
{
    return (verify_options){.seed = wish->seed, .threads = wish->threads, .progress = show_progress};
}

double check_bytes(const product_wish *wish, const tw_problem *problem)
{
    const verify_options wanted = options_of(wish);
    return verify_bytes(problem, &wanted);
}

exit_code check_product(const product_wish *wish, operands *o, const void *c, const char *name, verify_report *report)
{
    const void *c0 = NULL;
    tame_name tamed;
    verify_options wanted = options_of(wish);
    wanted.is_unsigned = io_type_is_unsigned(o->as.type_c);
    if (o->each[OPERAND_ADD].path != NULL) {
        exit_code code = operand_dense(&o->each[OPERAND_ADD], o->as.type_c, &c0);
        if (code != EXIT_OK) return code;
    }
    term_progress("checking", -1);
    tw_status status = verify_product(&o->problem, o->a, o->b, c0, c, &wanted, report);
    term_progress_end();
    if (status != TW_OK) return diag_lab(status, "the check");
    const exit_code changed = operands_unchanged(o);
    if (changed != EXIT_OK) return changed;
    if (whole(report) && wish->tells_verdict && !wish->quiet)
        tell_verdict(wish, &o->problem, report, diag_name(name, tamed));
    if (whole(report) && !wish->tells_verdict && wish->verbose)
        fprintf(wish->text, "check      passed %s\n", diag_name(name, tamed));
    if (wish->verbose) tell_sight(wish, o, report);
    return whole(report) ? EXIT_OK : diag(EXIT_CHECK, "%s: %s", name, report->text);
}
