/* report_parts.h - the sections of a report; each prints itself, or nothing where the records have nothing for it. */
#ifndef TILEWRIGHT_REPORT_PARTS_H
#define TILEWRIGHT_REPORT_PARTS_H

#include "ladders.h"
#include "../units.h"

typedef struct report {
    FILE *out;
    const records *all;
    const ladders *ladders;
    bool *no_memory; /* set by a section that had too little */
} report;

void report_devices(const report *r);   /* a card for each machine */
void report_charts(const report *r);    /* bars and rooflines of the main ladders, and their tables */
void report_sizes(const report *r);     /* curves over sizes; all other shapes */
void report_libraries(const report *r); /* libraries beside each other, over shapes; nothing where there are none */
void report_skinny(const report *r);    /* document 004's table */
tw_status report_stories(const report *r);
void report_traffic(const report *r); /* what is asked, predicted and counted */
void report_method(const report *r);
void report_bars(const report *r);     /* alone: the bars of the first main ladder as a file */
void report_markdown(const report *r); /* alone: the main ladders side by side, in Markdown */

/* Shared by them. */
bool report_has_ladder(const report *r); /* has a machine a main one? */
bool report_has_libraries(const report *r);
const char *report_engine_name(const char *engine);
typedef char report_device_text[120];
/* "NVIDIA H200", cut; "NVIDIA H200 (2)" where there are several of the name. */
const char *report_device(const machine *x, report_device_text out);
void report_machine_name(const report *r, int machine); /* "CUDA on NVIDIA H200" */
/* a frame that scrolls sideways; label: for those who do not see it */
void report_table_begin(FILE *out, const char *label);
void report_table_end(FILE *out);
void report_cell(FILE *out, const char *text);           /* <td> */
const char *report_speed(double gflops, units_text out); /* whole GFLOP/s where they are thousands; also GB/s */
typedef char report_shape_text[300];
const char *report_shape(const ladder *l, report_shape_text out); /* "4096 x 4096 x 4096 NT, ld 4097" */
/* the largest measured peak of the ladder's type, GFLOP/s; NAN */
double report_peak(const ladder *l);
double report_memory_gbps(const ladder *l); /* bandwidth of memory, by the no-cache bounds; NAN */

#endif
