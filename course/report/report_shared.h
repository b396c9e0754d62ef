/* report_shared.h - what the sections of a report share: the records that they tell of, names, tables, numbers. */
#ifndef TILEWRIGHT_REPORT_SHARED_H
#define TILEWRIGHT_REPORT_SHARED_H

#include "../../program/units.h"
#include "chart.h"
#include "ladders.h"
#include "table.h"

typedef struct report {
    FILE *out;
    const records *all;
    const ladders *ladders;
    bool *no_memory; /* set by a section that had too little */
} report;

bool report_has_ladder(const report *r); /* has a machine a main one? */
bool report_has_libraries(const report *r);
const char *report_engine_name(const char *engine);
typedef char report_device_text[120];
/* "NVIDIA H200", cut; "NVIDIA H200 (2)" where there are several of the name. */
const char *report_device(const machine *x, report_device_text out);
typedef char report_machine_text[160];
const char *report_machine(const report *r, int machine, report_machine_text out); /* "CUDA on NVIDIA H200" */
void report_machine_name(const report *r, int machine);                            /* written */
const char *report_speed(double gflops, units_text out); /* whole GFLOP/s where they are thousands; also GB/s */
typedef char report_shape_text[300];
const char *report_shape(const ladder *l, report_shape_text out); /* "4096 x 4096 x 4096 NT, ld 4097" */
double report_flops(const record *r);
/* the largest peak that the ladder's records hold of the type and the number of threads of this one, GFLOP/s; NAN */
double report_peak(const ladder *l, const record *of);
double report_memory_gbps(const ladder *l);                 /* bandwidth of memory, by the no-cache bounds; NAN */
double report_memory_gbps_of(const ladder *l, int threads); /* of the steps with so many threads; 0: of all */
/* a rung's colour and dashes, the same wherever it is drawn: one colour for each idea */
int report_series(const records_row *row);

/* report_keys - what the colours of these bars mean, and the hollow ones; returns how many. */
enum { REPORT_KEYS = 8 };
int report_keys(const chart_bar *bars, int count, chart_key keys[REPORT_KEYS]);

/* slide_begin - the caller writes the question, then slide_figure(), the figure's content, slide_answer(),
 * the answer as elements of a list, slide_end(). id and number name the slide. */
void slide_begin(FILE *out, const char *id, int number);
void slide_figure(FILE *out);
void slide_answer(FILE *out);
void slide_end(FILE *out);

#endif
