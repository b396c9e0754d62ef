/* direct.h - panels from the memory of one rank's GPU into that of another, by NCCL, where all ranks can. */
#ifndef TILEWRIGHT_MPI_DIRECT_H
#define TILEWRIGHT_MPI_DIRECT_H

#include "plan.h"

/* direct_make - collective: the way that panels go, wanted or the best that all ranks have (tw_mpi_options.panels);
 * plan->panels_text says which, and why. The pipelines are open. */
tw_status direct_make(tw_mpi_plan *plan, int wanted);

/* direct_drop - panels are staged after all, for the failure that all ranks were told of. The caller closes the
 * pipeline, which leaves NCCL, and opens another. */
void direct_drop(tw_mpi_plan *plan);

/* direct_stop - this rank's part of a call has failed with status, and it exchanges nothing more: the others hear. */
tw_status direct_stop(tw_mpi_plan *plan, tw_status status);

/* direct_end - collective, after a call that failed on all ranks: NCCL is left where a rank has stopped. */
tw_status direct_end(tw_mpi_plan *plan);

/* direct_leave - NCCL, unless the device does not answer: leaving would wait for it. Not collective. */
void direct_leave(tw_mpi_plan *plan);

#endif
