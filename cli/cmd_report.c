/* cmd_report.c - `tilewright report`: records of earlier runs, of this machine or others, as one page. */
#include "../program/diag.h"
#include "cmd.h"
#include "files.h"
#include "page.h"

static exit_code read_all(const options *opt, records *all)
{
    static const exit_code codes[] = {[RECORDS_OK] = EXIT_OK,
                                      [RECORDS_BAD] = EXIT_INPUT,
                                      [RECORDS_NO_MEMORY] = EXIT_MEMORY,
                                      [RECORDS_NO_READER] = EXIT_USAGE};
    char error[1500];
    for (int i = 0; i < opt->operand_count; i++) {
        records_status status = records_read(files_input(opt->operands[i]), all, error, sizeof error);
        if (status != RECORDS_OK) return diag(codes[status], "%s", error);
    }
    return EXIT_OK;
}

static void tell(FILE *text, const char *path, const records *all, report_form form)
{
    tame_name name;
    fprintf(text, "%s: made of %d records", diag_name(path, name), all->count);
    if (!report_shows_all(all, form)) fputs("; it has not all of them: -o FILE.html makes a page that has", text);
    fputs("\n", text);
}

exit_code cmd_report(session *s)
{
    page p = {0};
    records all = {0};
    if (s->opt->output == NULL) return diag(EXIT_USAGE, "-o FILE is missing: where is the page to be written?");
    exit_code code = read_all(s->opt, &all);
    if (code == EXIT_OK) code = page_open(&p, s->opt->output, s->opt->slides);
    if (code == EXIT_OK) code = page_write(&p, &all);
    if (code == EXIT_OK) tell(s->text, s->opt->output, &all, p.form);
    page_discard(&p);
    records_free(&all);
    return code;
}
