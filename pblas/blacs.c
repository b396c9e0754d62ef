/* blacs.c - see blacs.h. The names of Fortran are called: they give the communicator of a context without taking a
 * handle of the BLACS. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "blacs.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { SYSTEM_CONTEXT = 10 }; /* of blacs_get_(): the communicator of a context, as a handle of Fortran */

/* This library's MPI, and the other, by a symbol that it alone has. */
#ifdef OPEN_MPI
#define OWN_MPI       "Open MPI"
#define OTHER_MPI     "MPICH"
#define OTHER_LIBRARY "mpich"
#define OTHER_SYMBOL  "MPIR_C_MPI_UNWEIGHTED"
#else
#define OWN_MPI       "MPICH"
#define OTHER_MPI     "Open MPI"
#define OTHER_LIBRARY "openmpi"
#define OTHER_SYMBOL  "ompi_mpi_comm_world"
#endif

/* Before a program of the other MPI both have the same names, and it ends with a signal before it calls pdgemm. */
__attribute__((constructor)) static void warn_of_the_other_mpi(void)
{
    if (dlsym(RTLD_DEFAULT, OTHER_SYMBOL) != NULL)
        fputs("tilewright: this libtilewright_pblas is for " OWN_MPI ", and the program runs " OTHER_MPI
              ": take libtilewright_pblas_" OTHER_LIBRARY ".so\n",
              stderr);
}

typedef void gridinfo_call(const int *context, int *rows, int *cols, int *row, int *col);
typedef void get_call(const int *context, const int *what, int *value);
typedef void abort_call(const int *context, const int *code);

/* Into *function that of the program, or of what is loaded with it. */
static bool find(const char *name, void *function)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &found, sizeof found);
    if (found == NULL)
        failure(
            TW_NO_DEVICE,
            "the program has no BLACS: none of its libraries has the name %s (ScaLAPACK must be linked, or opened with "
            "RTLD_GLOBAL)",
            name);
    return found != NULL;
}

tw_status blacs_find_grid(int context, blacs_grid *grid)
{
    gridinfo_call *gridinfo;
    *grid = (blacs_grid){.context = context, .rows = -1, .comm = MPI_COMM_NULL};
    if (!find("blacs_gridinfo_", &gridinfo)) return TW_NO_DEVICE;
    gridinfo(&context, &grid->rows, &grid->cols, &grid->row, &grid->col);
    if (grid->rows < 0) return failure(TW_BAD_ARGUMENT, "context %d has no grid that this process is in", context);
    return TW_OK;
}

/* With the communicator of the BLACS, when the grid ends, goes the one that was kept with it. */
static int free_kept(MPI_Comm of, int key, void *kept, void *unused)
{
    (void)of, (void)key, (void)unused;
    const int code = MPI_Comm_free(kept);
    free(kept);
    return code;
}

static tw_status keep(MPI_Comm of, int key, const blacs_grid *grid)
{
    MPI_Comm *kept = malloc(sizeof *kept);
    if (kept == NULL) return failure(TW_NO_MEMORY, "no memory for a communicator");
    *kept = grid->comm;
    return failure_mpi(MPI_Comm_set_attr(of, key, kept), "keeping a communicator");
}

tw_status blacs_find_comm(blacs_grid *grid, double timeout_s)
{
    static int key = MPI_KEYVAL_INVALID;
    get_call *get;
    int handle = 0, found = 0, size = 0, rank = 0;
    MPI_Comm *kept;
    if (!find("blacs_get_", &get)) return TW_NO_DEVICE;
    get(&grid->context, &(int){SYSTEM_CONTEXT}, &handle);
    const MPI_Comm of = MPI_Comm_f2c(handle);
    MPI_Comm_size(of, &size), MPI_Comm_rank(of, &rank);
    if (size != grid->rows * grid->cols || rank != grid->row * grid->cols + grid->col)
        return failure(TW_DEVICE_FAILED,
                       "process (%d, %d) of a %d x %d grid is rank %d of %d: these BLACS number their processes "
                       "in another way",
                       grid->row, grid->col, grid->rows, grid->cols, rank, size);
    tw_status status = TW_OK;
    if (key == MPI_KEYVAL_INVALID)
        status = failure_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_kept, &key, NULL),
                             "MPI_Comm_create_keyval");
    if (status == TW_OK) status = failure_mpi(MPI_Comm_get_attr(of, key, &kept, &found), "MPI_Comm_get_attr");
    if (status != TW_OK || found) {
        if (found) grid->comm = *kept;
        return status;
    }
    status = failure_agree(of, TW_OK, timeout_s); /* all have called: now MPI does not block */
    if (status != TW_OK) return status;
    status = failure_mpi(MPI_Comm_split(of, 0, grid->col * grid->rows + grid->row, &grid->comm), "MPI_Comm_split");
    if (status != TW_OK) return status;
    MPI_Comm_set_errhandler(grid->comm, MPI_ERRORS_RETURN);
    return keep(of, key, grid);
}

void blacs_end(int context, int code)
{
    abort_call *end;
    if (find("blacs_abort_", &end)) end(&context, &code);
    MPI_Abort(MPI_COMM_WORLD, code);
}
