/* engine.h - what a rank multiplies with: the seam between the schedule, which moves blocks, and whatever computes. */
#ifndef TILEWRIGHT_DIST_ENGINE_H
#define TILEWRIGHT_DIST_ENGINE_H

#include "tilewright.h"

/* gemm: tw_gemm() on blocks in this rank's memory. finish: tw_lab_finish_sums(). depth: tw_lab_sum_depth(). check: can
 * it compute such a problem? error: the sentence of what failed last. */
typedef struct dist_engine {
    void *self;
    tw_status (*check)(void *self, const tw_problem *problem);
    tw_status (*gemm)(void *self, const tw_problem *problem, const void *a, const void *b, void *c);
    tw_status (*finish)(void *self, tw_dtype dtype, int64_t m, int64_t n, double alpha, const void *sums,
                        int64_t ld_sums, double beta, void *c, int64_t ldc);
    int64_t (*depth)(tw_dtype dtype);
    const char *(*error)(void);
    int threads;
} dist_engine;

#endif
