/* report.h - what people look at, out of records: above all one page of HTML: devices, charts, tables, every rung's
 * story, and the records themselves. It needs no network and no script, and can be made again wherever the records
 * are. */
#ifndef TILEWRIGHT_REPORT_H
#define TILEWRIGHT_REPORT_H

#include "../../lab/records.h"

enum {
    REPORT_MACHINES = 24, /* engines on devices that one page takes */
    REPORT_LADDERS = 512, /* shapes on machines */
    REPORT_STEPS = 128    /* rungs and tiles in one ladder */
};

/* What is written: the page; its first picture, the bars of the first machine's main ladder, alone; its table of rungs
 * side by side alone, as Markdown; its pictures as slides, each with a question. */
typedef enum report_form { REPORT_PAGE, REPORT_BARS, REPORT_TABLE, REPORT_SLIDES } report_form;
report_form report_form_of(const char *path); /* by the ending: .svg, .md, else the page */
bool report_writes(const char *path);         /* its ending is .html, .htm, .svg or .md, or it has none */

/* report_write - the same records give the same bytes. TW_OK; TW_NO_MEMORY; TW_BAD_ARGUMENT, and why: there are no
 * records that have what the form shows, or they are of too many machines, shapes or rungs. The stream's own errors
 * stay with it. */
tw_status report_write(FILE *out, const records *all, report_form form, char *why, size_t why_bytes);

/* report_shows_all - false: there are shapes, types or libraries that only a page shows, not this chart or table. */
bool report_shows_all(const records *all, report_form form);

/* report_begin_page - a page that looks like a report, up to the content of its header. more_style: CSS of its own;
 * first: the id of its first section. */
void report_begin_page(FILE *out, const char *title, const char *more_style, const char *first);

#endif
