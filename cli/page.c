/* page.c - see page.h. */
#define _POSIX_C_SOURCE 200809L
#include "page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "../program/diag.h"
#include "../program/guard.h"
#include "files.h"

exit_code page_open(page *p, const char *path, bool slides)
{
    io_error error;
    tame_name name;
    if (!report_writes(path))
        return diag(EXIT_USAGE,
                    "%s: found another ending than those of a report: .html, .svg (its bars), .md (its table)", path);
    p->form = report_form_of(path);
    if (slides && p->form != REPORT_PAGE)
        return diag(EXIT_USAGE, "--slides makes HTML: %s is the name of a chart or a table", diag_name(path, name));
    if (slides) p->form = REPORT_SLIDES;
    p->path = path;
    guard_hold();
    io_status status = io_output_open(&p->file, path, &error);
    if (status == IO_OK) guard_output(p->file.temp_path);
    guard_release();
    return status == IO_OK ? EXIT_OK : diag_io(status, &error);
}

/* What a report is made of. */
typedef struct reported {
    const records *all;
    report_form form;
} reported;

static exit_code print_records(FILE *out, const void *of)
{
    char why[300];
    const reported *x = of;
    tw_status status = report_write(out, x->all, x->form, why, sizeof why);
    if (status == TW_NO_MEMORY) return diag_no_memory("the report");
    return status == TW_OK ? EXIT_OK : diag(EXIT_INPUT, "%s", why);
}

static exit_code print(page *p, page_content *content, const void *of)
{
    int fd = dup(p->file.fd);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out == NULL) {
        if (fd >= 0) close(fd);
        return diag(EXIT_OUTPUT, "%s: cannot be written: %s", p->file.path, strerror(errno));
    }
    exit_code code = content(out, of);
    bool written = fflush(out) == 0 && !ferror(out);
    int number = errno;
    if (fclose(out) != 0 && written) written = false, number = errno;
    if (code != EXIT_OK) return code;
    return written ? EXIT_OK : diag(EXIT_OUTPUT, "%s: cannot be written: %s", p->file.path, strerror(number));
}

exit_code page_write_by(page *p, page_content *content, const void *of)
{
    io_error error;
    exit_code code = print(p, content, of);
    if (code == EXIT_OK) code = files_recheck(p->path);
    if (code == EXIT_OK) {
        io_status status = io_output_commit(&p->file, &error);
        if (status != IO_OK) code = diag_io(status, &error);
    }
    page_discard(p);
    return code;
}

exit_code page_write(page *p, const records *all) { return page_write_by(p, print_records, &(reported){all, p->form}); }

void page_discard(page *p)
{
    if (p->file.path == NULL) return;
    io_output_discard(&p->file);
    guard_output(NULL);
}
