/* bench_against.h - `tilewright bench --against`: the words of lab/bench/against.h and lab/bench/compare.h. */
#ifndef TILEWRIGHT_BENCH_AGAINST_H
#define TILEWRIGHT_BENCH_AGAINST_H

#include "../lab/bench/against.h"
#include "../program/layout.h"
#include "case_list.h"
#include "session.h"

typedef char against_path[4096];

/* against_bench - compare on each case in each type (f32, f64, cf32, cf64), print the tables, write the records. */
exit_code against_bench(session *s, const case_list *cases, const name_list *dtypes);

/* against_device_bench - the same on a device whose engine has a peer of lab/bench/compare.h, in one process:
 * bench_against_device.c. */
exit_code against_device_bench(session *s, const case_list *cases, const name_list *dtypes);

/* against_row - the row of a name of --against, for that engine; or, after a sentence, EXIT_USAGE. */
exit_code against_row(const char *name, const char *engine, const peer_row **row);

void against_folder(against_path out); /* of the peers */

exit_code against_code(tw_status status); /* of a failure that was told already */

/* ---- the tables: bench_against_table.c ---- */

/* Ratios of one class, or of all. */
typedef struct against_mean {
    int count;
    double log_median, log_best;
} against_mean;

void against_print_sides(FILE *text, const against *g, tw_dtype dtype);
void against_print_header(FILE *text, const against *g, const char *group, tw_dtype dtype, layout_table *table);
void against_print_case(layout_table *t, const against *g, against_mean *group, against_mean *all);
void against_mean_add(against_mean *mean, double median, double best);
void against_print_mean(FILE *text, const char *what, const against_mean *mean);

#endif
