/* report_parts.h - the sections of a report. Where the records have nothing for one it is left out. */
#ifndef TILEWRIGHT_REPORT_PARTS_H
#define TILEWRIGHT_REPORT_PARTS_H

#include "report_shared.h"

bool report_has_sizes(const report *r);
bool report_has_skinny(const report *r);
bool report_has_cliffs(const report *r);
bool report_has_traffic(const report *r);
bool report_has_stories(const report *r);

/* TW_OK, TW_NO_MEMORY */
tw_status report_devices(const report *r);   /* a card for each machine */
tw_status report_charts(const report *r);    /* bars and rooflines of the main ladders, and their tables */
tw_status report_sizes(const report *r);     /* curves over sizes; all other shapes */
tw_status report_libraries(const report *r); /* libraries beside each other, over shapes */
tw_status report_skinny(const report *r);    /* the table of NVIDIA Best Practices */
tw_status report_cliffs(const report *r);    /* random shapes beside friendlier ones */
tw_status report_stories(const report *r);
tw_status report_traffic(const report *r); /* what is asked, predicted and counted */
tw_status report_method(const report *r);
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

/* alone: without a ladder, the speeds of libraries over sizes */
bool report_has_library_curves(const report *r);
void report_library_curves(const report *r);
void report_bars(const report *r);     /* alone: the bars of the first main ladder as a file */
void report_markdown(const report *r); /* alone: the main ladders side by side, in Markdown */

#endif
