/* ranks.h - one product of files over all ranks that mpirun started, each holding its share of A, B and C. */
#ifndef TILEWRIGHT_RANKS_H
#define TILEWRIGHT_RANKS_H

#include "../lab/record.h"
#include "job.h"

/* ranks_begin - MPI's library, and the ranks: job->world. Sentences are held from now on. EXIT_OK, or another after a
 * sentence. */
exit_code ranks_begin(rank_job *job, const launched *l, int64_t timeout_s);

/* ranks_multiply - read, compute, write, check, and only then the output's name. ready: how this rank's options and
 * its device are; the ranks multiply if all are EXIT_OK. Sentences are let go. */
exit_code ranks_multiply(rank_job *job, const ranks_wish *wish, exit_code ready);

/* Of a product that succeeded: ranks_tell - its lines, the last ends with `replaced`; ranks_record - a record, some of
 * whose texts lie in the job. */
void ranks_tell(rank_job *job, const char *replaced);
record ranks_record(rank_job *job);

/* ranks_end - after ranks_begin: gives all back and ends MPI. Where this rank's device is stuck the program ends here,
 * with this code. */
void ranks_end(rank_job *job, exit_code code);

#endif
