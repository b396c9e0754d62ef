/* twins.h - a product's blocks in the memory of a rank's device: pieces of A and B are copied there once, as they come;
 * C or its sums stay there until the end. Without a device all of this does nothing. */
#ifndef TILEWRIGHT_DIST_TWINS_H
#define TILEWRIGHT_DIST_TWINS_H

#include "plan.h"

/* twins_open - a pipeline where the engine has a device, and pieces in groups: what is multiplied together depends on
 * the grid alone, and so do the kernels that the planner takes, and the bits. */
tw_status twins_open(tw_mpi_plan *plan);
/* twins_allocate - memory on the device for all panels and C. */
tw_status twins_allocate(tw_mpi_plan *plan);
/* twins_host - memory of the host, which the device copies by itself where there is one. */
tw_status twins_host(tw_mpi_plan *plan, double bytes, char **memory);
void twins_close(tw_mpi_plan *plan);

/* twins_c - where products write the block of C, or its sums, that is to lie at c. */
block twins_c(const tw_mpi_plan *plan, char *c, int64_t ldc);
/* twins_begin - nothing is under way; C0, which lies at c, is copied where the products read it. */
tw_status twins_begin(tw_mpi_plan *plan, char *c, int64_t ldc);
/* twins_turn - a panel begins: the host's buffers of the one before the last are free again, and the device's. */
tw_status twins_turn(tw_mpi_plan *plan);
/* twins_fetch - what of a panel this rank owns on its device is brought to the host, from where MPI sends it: *own.
 * After a failure, status, it is sent as it is. */
tw_status twins_fetch(tw_mpi_plan *plan, const side *s, int number, block *own, tw_status status);
/* twins_bring - a piece of a panel, which has come or is this rank's own. */
tw_status twins_bring(tw_mpi_plan *plan, const side *s, int number, int64_t depth, int piece, const block *from);
/* twins_block - pieces first to end of a panel, of one group, on the device. */
block twins_block(const side *s, int number, int64_t depth, int first, int end);
/* twins_end - wait for all products; what they made goes to c. */
tw_status twins_end(tw_mpi_plan *plan, char *c, int64_t ldc);
/* twins_move_c - the rows that this rank owns, between c on the device and plan->c_host. */
tw_status twins_move_c(tw_mpi_plan *plan, char *c, int64_t ldc, int way);

#endif
