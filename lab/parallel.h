/* parallel.h - the parts of a job side by side, on threads that live as long as the job. */
#ifndef TILEWRIGHT_PARALLEL_H
#define TILEWRIGHT_PARALLEL_H

#include <stdint.h>

enum { PARALLEL_MOST = 64 }; /* threads */

/* parallel_threads - how many threads so many multiply-adds are worth: at most `most` (0: as many as a call of the
 * library would use on this host), 1 where they take less time than threads to begin. */
int parallel_threads(double work, int most);

/* parallel_run - part(job, thread, index) for each index from 0 to parts - 1, in any order; thread is from 0 to
 * threads - 1, 0 the caller's own. Where a thread cannot begin the others do its work. Signals stay the caller's. */
void parallel_run(int64_t parts, int threads, void (*part)(void *job, int thread, int64_t index), void *job);

#endif
