/* context.c - tw_mpi_plan_make(): plans whose ranks multiply by this library, on the CPU or on a GPU. */
#include "plan.h"

tw_status tw_mpi_plan_make(tw_context *context, const tw_problem *problem, MPI_Comm comm, const tw_mpi_options *options,
                           tw_mpi_plan **plan)
{
    if (plan == NULL) return failure(TW_BAD_ARGUMENT, "plan is NULL");
    const rank_engine engine = rank_engine_of(context);
    return plan_make(&engine, problem, comm, options, NULL, plan);
}
