/* cpu.c - tw_mpi_plan_make(): plans whose ranks multiply by this library. */
#include "plan.h"
#include "tilewright_lab.h"

static tw_status check(void *self, const tw_problem *problem)
{
    tw_lab_plan found;
    return tw_lab_plan_of(self, NULL, problem, &found);
}

static tw_status gemm(void *self, const tw_problem *problem, const void *a, const void *b, void *c)
{
    return tw_gemm(self, problem, a, b, c);
}

static tw_status finish(void *self, tw_dtype dtype, int64_t m, int64_t n, double alpha, const void *sums,
                        int64_t ld_sums, double beta, void *c, int64_t ldc)
{
    return tw_lab_finish_sums(self, dtype, m, n, alpha, sums, ld_sums, beta, c, ldc);
}

tw_status tw_mpi_plan_make(tw_context *context, const tw_problem *problem, MPI_Comm comm, const tw_mpi_options *options,
                           tw_mpi_plan **plan)
{
    tw_device device = {.size = sizeof device};
    if (plan == NULL) return failure(TW_BAD_ARGUMENT, "plan is NULL");
    const tw_status status = tw_describe(context, &device);
    const dist_engine engine = {.self = context,
                                .check = check,
                                .gemm = gemm,
                                .finish = finish,
                                .depth = tw_lab_sum_depth,
                                .error = tw_error_text,
                                .threads = status == TW_OK ? device.threads : 1};
    return plan_make(&engine, problem, comm, options, plan);
}
