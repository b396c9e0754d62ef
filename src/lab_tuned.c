/* lab_tuned.c - the lab's calls for tuned rows: parameters, lines of the user's file, and rows to try. */
#include "api.h"
#include "tuned_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tw_lab_parameter_at(int index, tw_lab_parameter *out)
{
    const tuned_about *about = tuned_about_at(index);
    if (about == NULL || out == NULL) return 0;
    *out = (tw_lab_parameter){.name = about->name,
                              .engine = about->engine,
                              .each_kernel = about->each_kernel,
                              .least = about->least,
                              .most = about->most,
                              .step = about->step,
                              .whole = about->least == (double)(int64_t)about->least,
                              .what = about->what};
    return 1;
}

tw_status tw_lab_parameters(tw_context *context, const tw_problem *problem, const char *rung, double *values)
{
    HOLD_CANCELLATION;
    tw_problem host, p;
    tuned_values room;
    const kernel_row *row = NULL;
    if (values == NULL) return fail(TW_BAD_ARGUMENT, "values is NULL");
    TRY(api_settle_unseen(&context, NULL, problem, &host, &p));
    for (int i = 0; rung != NULL && row == NULL && i < kernel_count(); i++)
        if (strcmp(kernel_at(i)->lab.rung, rung) == 0 && strcmp(kernel_at(i)->lab.engine, context->ops->name) == 0)
            row = kernel_at(i);
    if (rung != NULL && row == NULL) return fail(TW_BAD_ARGUMENT, "no kernel of the table has the rung %s", rung);
    const tuned_values *found = tuned_find(&context->facts, &p, row, &room);
    memcpy(values, found->each, sizeof found->each);
    return TW_OK;
}

int tw_lab_tuned_path(char *path, int bytes) { return path != NULL && bytes > 0 && tuned_path(path, (size_t)bytes); }

tw_status tw_lab_tuned_judge(tw_context *context, const char *line, tw_lab_tuned *out)
{
    HOLD_CANCELLATION;
    tuned_signature here;
    tuned_row row;
    if (line == NULL || out == NULL) return fail(TW_BAD_ARGUMENT, "line or out is NULL");
    if (context != NULL) context_signature(context, &here);
    tuned_judge(line, strlen(line), context != NULL ? &here : NULL, out, &row);
    return TW_OK;
}

tw_status tw_lab_tuned_sign(tw_context *context, const tw_lab_tuned *row, char *line, int bytes)
{
    HOLD_CANCELLATION;
    tuned_signature here;
    if (row == NULL || line == NULL || bytes < 1) return fail(TW_BAD_ARGUMENT, "row or line is NULL");
    TRY(context_find(&context));
    context_signature(context, &here);
    return tuned_line(row, &here, line, (size_t)bytes);
}

/* Rows from lines of text. */
static tw_status parse_rows(const char *text, tuned_row *rows, int most, int *count)
{
    *count = 0;
    for (int number = 1; *text != '\0'; number++) {
        const size_t length = strcspn(text, "\n");
        char where[40];
        snprintf(where, sizeof where, "tuned row %d", number);
        if (length > 0) {
            if (*count == most) return fail(TW_BAD_ARGUMENT, "more than %d tuned rows", most);
            TRY(tuned_parse(text, length, where, &rows[(*count)++]));
        }
        text += length + (text[length] == '\n');
    }
    return TW_OK;
}

tw_status tw_lab_tuned_set(tw_context *context, const char *rows)
{
    HOLD_CANCELLATION;
    enum { MOST = 64 };
    int count;
    if (rows == NULL) return fail(TW_BAD_ARGUMENT, "rows is NULL");
    TRY(context_find(&context));
    tuned_row *parsed = calloc(MOST, sizeof *parsed);
    if (parsed == NULL) return fail(TW_NO_MEMORY, "no memory for %d tuned rows", MOST);
    tw_status status = parse_rows(rows, parsed, MOST, &count);
    tuned_table *table = status == TW_OK ? tuned_table_make(&context->facts, parsed, count) : NULL;
    free(parsed);
    if (table == NULL) return status == TW_OK ? TW_NO_MEMORY : status;
    free(context->tuned);
    context->facts.tuned = context->tuned = table;
    context_renew(context);
    return TW_OK;
}

tw_status tw_lab_tuned_state(tw_context *context, char *text, int bytes, int *count)
{
    HOLD_CANCELLATION;
    if (text == NULL || bytes < 1) return fail(TW_BAD_ARGUMENT, "text is NULL");
    TRY(context_find(&context));
    snprintf(text, (size_t)bytes, "%s", context->tuned_state);
    if (count != NULL) *count = context->tuned->count - context->tuned->committed;
    return TW_OK;
}

void tw_lab_tuned_words(const tw_problem *problem, const char **shape_class, const char **ops)
{
    *shape_class = tuned_shape_class(problem);
    *ops = tuned_ops(problem);
}
