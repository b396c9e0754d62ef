/* rows.h - lab/bench/row.h as commands use it: with their sentences, exit codes and records. */
#ifndef TILEWRIGHT_ROWS_H
#define TILEWRIGHT_ROWS_H

#include "../lab/bench/row.h"
#include "../lab/busy.h"
#include "../program/layout.h"
#include "session.h"

/* Each returns EXIT_OK; or, after a sentence, the exit code of what broke down. */
exit_code rows_trial(const session *s, const tw_problem *problem, trial *t);
exit_code rows_run(const session *s, trial *t, roofs *limits, const row_wish *wishes, int count, row *out);
exit_code rows_build(const session *s, const row_wish *wish);

/* rows_side - default_size(), and a line of text where the side is smaller than `most`. */
exit_code rows_side(session *s, const tw_lab_kernel *kernel, int64_t k, int64_t most, double longest_s, int64_t *n);

/* rows_have_numbers - false: the row was refused or is wrong, and the rest of its line now says why. */
bool rows_have_numbers(layout_table *table, const row *r);

/* rows_tell_busy - a line where other processes used more of the processors since `from` than times can bear. */
void rows_tell_busy(FILE *text, const busy_reading *from);

/* rows_finish - its line is complete: a sentence on stderr where its time is impossible; the record where JSON was
 * asked for. */
exit_code rows_finish(session *s, const row *r);

/* What became of a table's rows. */
typedef struct rows_tally {
    int timed, wrong, impossible;
} rows_tally;
void rows_count(rows_tally *count, const row *r);
/* rows_verdict - how the command ends: EXIT_CHECK, after a sentence, where a row is wrong or impossible; EXIT_DEVICE
 * where all were refused. */
exit_code rows_verdict(const rows_tally *count);

#endif
