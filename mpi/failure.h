/* failure.h - sentences about failures, and the agreement of all ranks on them. */
#ifndef TILEWRIGHT_MPI_FAILURE_H
#define TILEWRIGHT_MPI_FAILURE_H

#include <stdbool.h>
#include "plugin.h"

enum { FAILURE_TEXT = 1024 };

/* failure - keep the calling thread's sentence; returns status. */
tw_status failure(tw_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* failure_mpi - TW_OK of MPI_SUCCESS; else what MPI says, and of what. */
tw_status failure_mpi(int code, const char *what);

/* failure_agree - collective: the largest status of all ranks, with the sentence of the lowest rank that has it. Where
 * the ranks cannot agree, TW_DEVICE_FAILED, behind this rank's own sentence. */
tw_status failure_agree(MPI_Comm comm, tw_status status, double timeout_s);

/* failure_is_agreed - the calling thread's sentence is of a failure that all ranks were told of. */
bool failure_is_agreed(void);

/* failure_await - wait for a request by testing it, for so many seconds at most (0: any). */
tw_status failure_await(MPI_Request *request, const char *what, double timeout_s);

/* failure_reduce - collective: the sums, or the like, of all ranks' values. */
tw_status failure_reduce(MPI_Comm comm, const int64_t *from, int64_t *to, int count, MPI_Op op, const char *what,
                         double timeout_s);

/* failure_tell - collective: the words of rank `from`, in place of all others'. */
tw_status failure_tell(MPI_Comm comm, int from, void *words, int bytes, const char *what, double timeout_s);

/* failure_alike - collective: TW_OK, or TW_BAD_ARGUMENT with the first name whose values differ, and two of them. */
tw_status failure_alike(MPI_Comm comm, const rank_value *values, int count, double timeout_s);

double failure_now_s(void);

/* failure_unheard - status of this rank, whose sentence nobody else could be told, for the last failure is MPI's. */
tw_status failure_unheard(tw_status status, const char own[FAILURE_TEXT]);

/* failure_idle - between two looks at what has not come, with a deadline: spins, then yields, then sleeps. */
void failure_idle(double waited_s);

/* failure_while_idle - what failure_idle() calls; NULL: nothing. */
void failure_while_idle(void (*call)(void));

#endif
