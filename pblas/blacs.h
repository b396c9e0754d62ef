/* blacs.h - the BLACS of the calling program, found at run time: the process grid of a context and its communicator. */
#ifndef TILEWRIGHT_PBLAS_BLACS_H
#define TILEWRIGHT_PBLAS_BLACS_H

#include "../mpi/failure.h"

/* Process (row, col) of rows x cols. In comm, which is this library's own, it is rank col * rows + row. */
typedef struct blacs_grid {
    int context, rows, cols, row, col;
    MPI_Comm comm; /* MPI_COMM_NULL: not yet */
} blacs_grid;

/* blacs_find_grid - where this process stands. TW_NO_DEVICE: there are no BLACS; TW_BAD_ARGUMENT: it is in no grid of
 * that context. Not collective. */
tw_status blacs_find_grid(int context, blacs_grid *grid);

/* blacs_find_comm - collective over the grid: its communicator, made at its first call and freed with the grid. */
tw_status blacs_find_comm(blacs_grid *grid, double timeout_s);

/* blacs_end - ends all processes of the program. */
void blacs_end(int context, int code);

#endif
