/* launched.h - was the program started as one of several ranks, and by which MPI's launcher; the library for it. */
#ifndef TILEWRIGHT_LAUNCHED_H
#define TILEWRIGHT_LAUNCHED_H

#define TILEWRIGHT_MPI_TYPES
#include "../mpi/plugin.h"
#include "../program/exit.h"

typedef struct launched {
    const char *mpi; /* "openmpi", "mpich", or the path of a library; NULL: no launcher started the program */
    int rank, ranks; /* -1: the launcher does not say */
} launched;

/* launched_find - as the launcher's variables say, and TILEWRIGHT_MPI: off, openmpi, mpich or a path. */
launched launched_find(void);

/* launched_open - the library of that MPI, which lies beside the program or where an installed one has its libraries.
 * EXIT_OK, or EXIT_DEVICE after a sentence. */
exit_code launched_open(const launched *l, const rank_plugin **out);

#endif
