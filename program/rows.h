/* rows.h - lab/bench/row.h with the program's sentences and exit codes. */
#ifndef TILEWRIGHT_ROWS_H
#define TILEWRIGHT_ROWS_H

#include "../lab/bench/row.h"
#include "../lab/busy.h"
#include "exit.h"
#include "layout.h"

/* Each returns EXIT_OK; or, after a sentence, the exit code of what broke down. */
exit_code rows_trial(bench_setup s, const tw_problem *problem, trial *t);
exit_code rows_run(bench_setup s, trial *t, roofs *limits, const row_wish *wishes, int count, row *out);
exit_code rows_build(bench_setup s, const row_wish *wish);

/* rows_side - default_size(), and a line of text where the side is smaller than `most`. */
exit_code rows_side(bench_setup s, FILE *text, const tw_lab_kernel *kernel, int64_t k, int64_t most, double longest_s,
                    int64_t *n);

/* rows_have_numbers - false: the row was refused or is wrong, and the rest of its line now says why. */
bool rows_have_numbers(layout_table *table, const row *r);

/* rows_tell_busy - a line where other processes used more of the processors since `from` than times can bear. */
void rows_tell_busy(FILE *text, const busy_reading *from);

/* What became of a table's rows. */
typedef struct rows_tally {
    int timed, wrong, impossible;
} rows_tally;
void rows_count(rows_tally *count, const row *r);
/* rows_verdict - how the command ends: EXIT_CHECK, after a sentence, where a row is wrong or impossible; EXIT_DEVICE
 * where all were refused. */
exit_code rows_verdict(const rows_tally *count);

#endif
