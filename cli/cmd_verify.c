/* cmd_verify.c - `tilewright verify A B C`: is somebody's C the product? */
#include <inttypes.h>
#include "../multiply/bound.h"
#include "../multiply/check.h"
#include "../program/diag.h"
#include "../program/object.h"
#include "cmd.h"

static void write_report(session *s, const operands *o, const verify_report *r, int64_t nans)
{
    object out = object_begin(s->json);
    object_text(&out, "command", "verify");
    object_text(&out, "file", o->each[OPERAND_C].path);
    object_text(&out, "dtype", o->as.a);
    object_text(&out, "dtype_b", o->as.b);
    object_text(&out, "dtype_c", io_type_name(o->as.type_c));
    object_number(&out, "m", (double)o->problem.m);
    object_number(&out, "n", (double)o->problem.n);
    object_number(&out, "k", (double)o->problem.k);
    object_text(&out, "epilogue", s->opt->epilogue);
    object_flag(&out, "passed", r->passed);
    object_number(&out, "vectors", r->vectors);
    object_number(&out, "elements", (double)r->elements);
    object_number(&out, "failed_rows", (double)r->failed_rows);
    object_number(&out, "unchecked", (double)r->unchecked);
    object_number(&out, "nan_elements", (double)nans);
    object_number(&out, "row_ratio", r->row_ratio);
    object_number(&out, "element_ratio", r->element_ratio);
    object_number(&out, "worst_row_bound", r->worst_row_bound);
    object_number(&out, "worst_element_bound", r->worst_element_bound);
    object_number(&out, "row", (double)r->row);
    object_number(&out, "col", (double)r->col);
    object_number(&out, "found", r->found);
    object_number(&out, "expected", r->expected);
    object_number(&out, "bound", r->bound);
    object_text(&out, "text", r->text);
    object_end(&out);
    s->json_lines = true;
}

/* A NaN is right where the operands make one, and so no fault; but seldom what was wanted. */
static int64_t warn_of_nans(const session *s, const operands *o, const void *c)
{
    int64_t first = 0, infinite, found = check_nans(o, c, &first, &infinite), n = o->problem.n;
    if (found > 0 && !s->opt->quiet)
        diag(EXIT_OK, "warning: %s holds %" PRId64 " NaN, the first at C[%" PRId64 ", %" PRId64 "]",
             o->each[OPERAND_C].path, found, first / n, first % n);
    return found;
}

/* A C of fewer bits was rounded to them, which is no error where it is judged as such. */
static void tell_rounded(const session *s, const operands *o)
{
    const operand *c = &o->each[OPERAND_C];
    const io_type stored = c->matrix.type;
    tame_name path;
    if (s->opt->quiet || !io_type_is_half(stored) || o->as.type_c == stored) return;
    fprintf(s->text, "%s holds %s: for a C that was rounded to it give --dtype %s --dtype-c %s\n",
            diag_name(c->path, path), io_type_name(stored), io_type_name(stored), io_type_name(stored));
}

exit_code cmd_verify(session *s)
{
    operands o = {0};
    const void *c = NULL;
    verify_report report;
    const product_wish wish = session_product(s);
    exit_code code = operands_check_options(&wish);
    if (code == EXIT_OK) code = bound_check(&wish);
    if (code == EXIT_OK) code = operands_read(&wish, &o);
    if (code == EXIT_OK) code = bound_read(&wish, &o);
    if (code == EXIT_OK) code = operand_dense(&o.each[OPERAND_C], o.as.type_c, &c);
    if (code == EXIT_OK) {
        operands_warn(&wish, &o);
        if (s->opt->verbose) operands_tell(&o, s->text), bound_tell(&wish, &o);
        code = check_product(&wish, &o, c, o.each[OPERAND_C].path, &report);
        if (code == EXIT_OK || code == EXIT_CHECK) write_report(s, &o, &report, warn_of_nans(s, &o, c));
        if (code == EXIT_CHECK) tell_rounded(s, &o);
    }
    operands_free(&o);
    return code;
}
