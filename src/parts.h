/* parts.h - a product of host memory that has no room on the device, in parts that have. */
#ifndef TILEWRIGHT_PARTS_H
#define TILEWRIGHT_PARTS_H

#include "context.h"

/* Computes a part as tw_gemm() does, in parts again where it has no room either. */
typedef tw_status part_gemm(tw_context *context, const stop *stop, const tw_problem *part, const void *a, const void *b,
                            void *c);

/* parts_lie - can each operand of the problem lie on the device, be it alone? Else TW_NO_MEMORY. */
tw_status parts_lie(const tw_context *context, const tw_problem *p);

/* parts_fit - does the plan's product, its workspace included, fit in what options.memory_bytes allows and, of a large
 * one, in the memory that is free? Else TW_NO_MEMORY with both numbers. */
tw_status parts_fit(const tw_context *context, const plan *whole);

/* parts_room - bytes that a call may take on one of the context's devices: what options.memory_bytes allows and, of a
 * call that wants many `bytes`, what is free. */
tw_status parts_room(const tw_context *context, engine *device, int64_t bytes, int64_t *room);

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
