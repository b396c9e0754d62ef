/* parts.h - a product of host memory that has no room on the device, in parts that have. */
#ifndef TILEWRIGHT_PARTS_H
#define TILEWRIGHT_PARTS_H

#include "context.h"

/* Computes a part as tw_gemm() does, in parts again where it has no room either. */
typedef tw_status part_gemm(tw_context *context, const stop *stop, const tw_problem *part, const void *a, const void *b,
                            void *c);

/* parts_run - compute a product in parts of C, with a long k also in parts of k, by `gemm`; at least two. Returns what
 * the first part that failed did; TW_NO_MEMORY, with the sentence of before, where it is too small to divide. Once a
 * part of C is written, no memory is TW_DEVICE_FAILED. */
tw_status parts_run(tw_context *context, const stop *stop, const tw_problem *host, const void *a, const void *b,
                    void *c, part_gemm *gemm);

/* parts_depth - partial sums over so many steps of k, from a multiple of it on, may be added up in ascending order: a
 * sum divided there has the same bits however many parts are computed at once. 0: k of this type is not divided. */
int64_t parts_depth(tw_dtype dtype);

/* parts_finish - c <- alpha sums + beta c, m x n elements of F32, F64 or I32, rounded as the context's kernels do. */
void parts_finish(const tw_context *context, tw_dtype dtype, int64_t m, int64_t n, double alpha, const void *sums,
                  int64_t ld_sums, double beta, void *c, int64_t ldc);

#endif
