/* page.h - a page as an output file that appears whole or not at all. */
#ifndef TILEWRIGHT_PAGE_H
#define TILEWRIGHT_PAGE_H

#include "../course/report/report.h"
#include "../io/io.h"
#include "../program/exit.h"

typedef struct page {
    io_output file; /* path NULL: not open */
    report_form form;
    const char *path; /* as it was named */
} page;

/* before the work, so that a path that cannot be written costs none */
exit_code page_open(page *p, const char *path, bool slides);
/* the report, then its name; after a failure there is no file */
exit_code page_write(page *p, const records *all);
/* the same of another page, which content() prints; EXIT_OK, or it has said what failed */
typedef exit_code page_content(FILE *out, const void *of);
exit_code page_write_by(page *p, page_content *content, const void *of);
/* no file; safe after page_write, and on a zeroed page */
void page_discard(page *p);

#endif
