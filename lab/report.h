/* report.h - what people look at, out of records: above all one page of HTML: devices, charts, tables, every rung's story, and the records themselves. It needs no
 * network and no script, and can be made again wherever the records are. */
#ifndef TILEWRIGHT_REPORT_H
#define TILEWRIGHT_REPORT_H

#include "records.h"

enum {
    REPORT_BYTES = 500000, /* no page is larger; records are embedded as long as it stays below that */
    REPORT_MACHINES = 24   /* engines on devices that one page takes */
};

/* What is written: the page; its first picture, the bars of the first machine's main ladder, alone; its table of rungs side by side alone,
 * as Markdown. */
typedef enum report_form { REPORT_PAGE, REPORT_BARS, REPORT_TABLE } report_form;
report_form report_form_of(const char *path); /* by the ending: .svg, .md, else the page */

/* report_write - the same records give the same bytes. TW_OK; TW_NO_MEMORY; TW_BAD_ARGUMENT, and why: there are no records that have what
 * the form shows, they are of too many machines, or the page would be larger than REPORT_BYTES even without the records in it. The
 * stream's own errors stay with it. */
tw_status report_write(FILE *out, const records *all, report_form form, char *why, size_t why_bytes);

#endif
