/* notice.h - a rank's word, by MPI, that it has failed, to ranks that wait for it by other means. */
#ifndef TILEWRIGHT_MPI_NOTICE_H
#define TILEWRIGHT_MPI_NOTICE_H

#include "failure.h"

/* notice_send - to all of the first `ranks` ranks but this one. Not collective. */
tw_status notice_send(MPI_Comm comm, int ranks);
/* notice_heard - has one come? Not collective. */
bool notice_heard(MPI_Comm comm);
/* notice_collect - collective, once all know of the failure: takes the notices of all ranks that have sent one, of
 * which *count is the number. */
tw_status notice_collect(MPI_Comm comm, int ranks, bool sent, int64_t *count, double timeout_s);

#endif
