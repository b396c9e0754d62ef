/* route.h - which engine computes a product: the cpu, or by TILEWRIGHT_BLAS_ENGINE=cuda a GPU where that is faster. */
#ifndef TILEWRIGHT_BLAS_ROUTE_H
#define TILEWRIGHT_BLAS_ROUTE_H

#include <tilewright.h>

#include <stdbool.h>

/* route_open - read the environment and open the GPU, at the first product; true: products are to be asked about. What
 * is wrong is said on stderr, and then all products are the cpu's. */
bool route_open(void);

/* route_measure - before a product of this type: the first time, find from which size on the GPU is faster than `cpu`,
 * unless the environment says so. Other threads do not wait for that: their products are the cpu's meanwhile. */
void route_measure(tw_context *cpu, tw_dtype dtype);

/* route_gpu - the context of the GPU if this product, row-major with aligned operands, is one for it; else NULL. */
tw_context *route_gpu(const tw_problem *p);

/* route_failed - the GPU did not compute a product: says why, once. After TW_DEVICE_FAILED none is for it any more. */
void route_failed(tw_status status);

#endif
