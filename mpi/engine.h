/* engine.h - what a rank multiplies with: the seam between the schedule, which moves blocks, and whatever computes. */
#ifndef TILEWRIGHT_MPI_ENGINE_H
#define TILEWRIGHT_MPI_ENGINE_H

#include <stdbool.h>
#include "tilewright_lab.h"

/* Products in a device's memory: the calls of tw_lab_pipeline. */
typedef struct rank_device {
    tw_status (*open)(tw_context *context, tw_lab_pipeline **pipeline);
    void (*close)(tw_lab_pipeline *pipeline);
    tw_status (*memory)(tw_lab_pipeline *pipeline, int on_device, int64_t bytes, void **memory);
    tw_status (*copy)(tw_lab_pipeline *pipeline, const tw_lab_copy *copy);
    tw_status (*multiply)(tw_lab_pipeline *pipeline, const tw_problem *problem, const void *a, const void *b, void *c);
    tw_status (*prepare)(tw_lab_pipeline *pipeline, const tw_problem *problem, const void *a, const void *b,
                         const void *c);
    tw_status (*turn)(tw_lab_pipeline *pipeline);
    tw_status (*poll)(tw_lab_pipeline *pipeline, int all, int *done);
    tw_status (*id)(tw_context *context, char *text, int bytes); /* tw_lab_device_id() */
    tw_status (*nccl)(tw_lab_pipeline *pipeline, int *version);
    tw_status (*comm_id)(tw_lab_pipeline *pipeline, char id[TW_LAB_COMM_ID]);
    tw_status (*join)(tw_lab_pipeline *pipeline, const char id[TW_LAB_COMM_ID], int rank, int ranks);
    tw_status (*exchange)(tw_lab_pipeline *pipeline, const tw_lab_exchange *what);
    tw_status (*exchanged)(tw_lab_pipeline *pipeline, int64_t *count);
    tw_status (*leave)(tw_lab_pipeline *pipeline);
} rank_device;

/* gemm: tw_gemm() on blocks in this rank's memory. finish: tw_lab_finish_sums(). depth: tw_lab_sum_depth(). check: can
 * it compute such a problem? error: the sentence of what failed last. */
typedef struct rank_engine {
    tw_context *self;
    tw_status (*check)(tw_context *self, const tw_problem *problem);
    tw_status (*gemm)(tw_context *self, const tw_problem *problem, const void *a, const void *b, void *c);
    tw_status (*finish)(tw_context *self, tw_dtype dtype, int64_t m, int64_t n, double alpha, const void *sums,
                        int64_t ld_sums, double beta, void *c, int64_t ldc);
    int64_t (*depth)(tw_dtype dtype);
    const char *(*error)(void);
    bool is_other; /* neither the CPU's nor CUDA's: plans refuse it */
    int threads;   /* of a device its multiprocessors */
    bool on_device;
    rank_device device; /* where on_device */
} rank_engine;

static inline tw_status rank_engine_check(tw_context *context, const tw_problem *problem)
{
    tw_lab_plan found;
    return tw_lab_plan_of(context, NULL, problem, &found);
}

/* rank_engine_of - a context of this library: of cuda with products on its device. */
static inline rank_engine rank_engine_of(tw_context *context)
{
    tw_device device = {.size = sizeof device};
    const bool known = tw_describe(context, &device) == TW_OK;
    return (rank_engine){.self = context,
                         .check = rank_engine_check,
                         .gemm = tw_gemm,
                         .finish = tw_lab_finish_sums,
                         .depth = tw_lab_sum_depth,
                         .error = tw_error_text,
                         .threads = known ? device.threads : 1,
                         .is_other = known && strcmp(device.engine, "cpu") != 0 && strcmp(device.engine, "cuda") != 0,
                         .on_device = known && strcmp(device.engine, "cuda") == 0,
                         .device = {.open = tw_lab_pipeline_open,
                                    .close = tw_lab_pipeline_close,
                                    .memory = tw_lab_pipeline_memory,
                                    .copy = tw_lab_pipeline_copy,
                                    .multiply = tw_lab_pipeline_multiply,
                                    .prepare = tw_lab_pipeline_prepare,
                                    .turn = tw_lab_pipeline_turn,
                                    .poll = tw_lab_pipeline_poll,
                                    .id = tw_lab_device_id,
                                    .nccl = tw_lab_pipeline_nccl,
                                    .comm_id = tw_lab_pipeline_comm_id,
                                    .join = tw_lab_pipeline_join,
                                    .exchange = tw_lab_pipeline_exchange,
                                    .exchanged = tw_lab_pipeline_exchanged,
                                    .leave = tw_lab_pipeline_leave}};
}

#endif
