/* files.h - pieces of matrices in files that all ranks read or write together, by MPI-IO. */
#ifndef TILEWRIGHT_MPI_FILES_H
#define TILEWRIGHT_MPI_FILES_H

#include "failure.h"
#include "plugin.h"

tw_status files_open(MPI_Comm comm, const char *path, bool writes, rank_file **out);
/* files_move - collective: read a piece into data, or write it from there. No lines: nothing of this rank. */
tw_status files_move(rank_file *file, const rank_piece *piece, void *data);
tw_status files_close(rank_file *file);

#endif
