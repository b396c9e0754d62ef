/* mirror.h - a product's blocks in the memory of a rank's device: pieces of A and B are copied there once, as they
 * come; C or its sums stay there until the end. Without a device all of this does nothing. */
#ifndef TILEWRIGHT_MPI_MIRROR_H
#define TILEWRIGHT_MPI_MIRROR_H

#include "plan.h"

/* mirror_open - a pipeline where the engine has a device, and pieces in groups: what is multiplied together depends on
 * the grid alone, and so do the kernels that the planner takes, and the bits. */
tw_status mirror_open(tw_mpi_plan *plan);
/* mirror_allocate - memory on the device for all panels and C. */
tw_status mirror_allocate(tw_mpi_plan *plan);
/* mirror_direct - what NCCL needs of a side: the own pieces from where they are sent, and places for those that do not
 * lie straight in the mirror. */
tw_status mirror_direct(tw_mpi_plan *plan, side *s, int64_t depth, int halves);
/* mirror_host - memory of the host, which the device copies by itself where there is one. */
tw_status mirror_host(tw_mpi_plan *plan, double bytes, char **memory);
void mirror_close(tw_mpi_plan *plan);

/* mirror_c - where products write the block of C, or its sums, that is to lie at c. */
block mirror_c(const tw_mpi_plan *plan, char *c, int64_t ldc);
/* mirror_begin - nothing is under way; C0, which lies at c, is copied where the products read it. */
tw_status mirror_begin(tw_mpi_plan *plan, char *c, int64_t ldc);
/* mirror_turn - a panel begins: the host's buffers of the one before the last are free again, and the device's. */
tw_status mirror_turn(tw_mpi_plan *plan);
/* mirror_fetch - what this rank owns of a panel is brought to where it is sent from, *own: from its device to the host,
 * for MPI, or to the device, for NCCL. After a failure, status, it is sent as it is. */
tw_status mirror_fetch(tw_mpi_plan *plan, const side *s, int number, block *own, tw_status status);
/* mirror_bring - a piece of a panel, which has come or is this rank's own. */
tw_status mirror_bring(tw_mpi_plan *plan, const side *s, int number, int64_t depth, int piece, const block *from);
/* mirror_block - pieces first to end of a panel, of one group, on the device. */
block mirror_block(const side *s, int number, int64_t depth, int first, int end);
/* mirror_arrival - where NCCL brings a piece of a panel, or has brought it. */
block mirror_arrival(const side *s, int number, int64_t depth, int piece);
/* mirror_bytes_of - that NCCL moves of a block: its padding too. */
int64_t mirror_bytes_of(const block *b);
/* mirror_drain - after a failure: wait until the device leaves the caller's blocks alone. */
void mirror_drain(tw_mpi_plan *plan);

/* mirror_end - wait for all products; what they made goes to c. */
tw_status mirror_end(tw_mpi_plan *plan, char *c, int64_t ldc);
/* mirror_move_c - the rows that this rank owns, between c on the device and plan->c_host. */
tw_status mirror_move_c(tw_mpi_plan *plan, char *c, int64_t ldc, int way);

#endif
