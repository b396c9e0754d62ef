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
void report_size_slides(const report *r); /* a slide for each picture of curves over sizes */

/* Single pictures without a figure around them, and their captions without its element. */
void report_tiles(const report *r, const ladder *l); /* a figure, where tile edges were swept */
void report_draw_bars(const report *r, const ladder *l, bool alone);
void report_caption_bars(const report *r, const ladder *l);
bool report_has_roofline(const ladder *l);
void report_caption_roofline(const report *r, const ladder *l);
void report_draw_roofline(const report *r, const ladder *l); /* nothing where it has none */
/* a step beside the one before it, which may be NULL */
void report_draw_step(const report *r, const ladder *l, const ladder_step *before, const ladder_step *step);

void report_bars(const report *r);     /* alone: the bars of the first main ladder as a file */
void report_markdown(const report *r); /* alone: the main ladders side by side, in Markdown */

#endif
