/* report.h - one page of HTML out of records: devices, charts, tables, every rung's story, and the records themselves. It needs no
 * network and no script, and can be made again wherever the records are. */
#ifndef TILEWRIGHT_REPORT_H
#define TILEWRIGHT_REPORT_H

#include "records.h"

enum {
    REPORT_BYTES = 500000, /* records are embedded as long as the page stays below that */
    REPORT_MACHINES = 24   /* engines on devices that one page takes */
};

/* report_write - the page. The same records give the same bytes. TW_OK; TW_NO_MEMORY; TW_BAD_ARGUMENT: there are no records, or of too many
 * machines. The stream's own errors stay with it. */
tw_status report_write(FILE *out, const records *all);

#endif
