/* report_parts.h - the sections of a report; each prints itself, or nothing where the records have nothing for it. */
#ifndef TILEWRIGHT_REPORT_PARTS_H
#define TILEWRIGHT_REPORT_PARTS_H

#include "report_shared.h"

void report_devices(const report *r);   /* a card for each machine */
void report_charts(const report *r);    /* bars and rooflines of the main ladders, and their tables */
void report_sizes(const report *r);     /* curves over sizes; all other shapes */
void report_libraries(const report *r); /* libraries beside each other, over shapes; nothing where there are none */
void report_skinny(const report *r);    /* the table of NVIDIA Best Practices */
tw_status report_stories(const report *r);
void report_traffic(const report *r); /* what is asked, predicted and counted */
void report_method(const report *r);
void report_bars(const report *r);     /* alone: the bars of the first main ladder as a file */
void report_markdown(const report *r); /* alone: the main ladders side by side, in Markdown */

#endif
