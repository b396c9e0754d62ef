/* nominal.h - a product and its ranks as the choice of a grid sees them. Speeds are nominal, so alike on all ranks:
 * what is chosen may not depend on a measurement. */
#ifndef TILEWRIGHT_MPI_NOMINAL_H
#define TILEWRIGHT_MPI_NOMINAL_H

#include "grid.h"
#include "tilewright.h"

typedef struct nominal_machine {
    int ranks, threads;  /* threads: of a rank; of a GPU its multiprocessors */
    bool on_device;      /* each rank multiplies on a GPU */
    bool one_host;       /* of all ranks */
    double network_gbps; /* of a rank's link; 0: that of one host, or of several */
} nominal_machine;

/* nominal_result - the type of C where none is asked for; as tilewright.h says. */
tw_dtype nominal_result(tw_dtype dtype);

double nominal_flops(tw_dtype dtype, const nominal_machine *machine); /* of a rank, in a second */
double nominal_gbps(const nominal_machine *machine);

/* nominal_problem - of a product whose types are settled. depth: tw_lab_sum_depth(). Nothing is asked for: any grid,
 * any memory. */
grid_problem nominal_problem(const tw_problem *p, int64_t depth, const nominal_machine *machine);

#endif
