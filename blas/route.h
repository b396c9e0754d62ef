/* route.h - which engine computes a product: the cpu, or by TILEWRIGHT_BLAS_ENGINE=cuda a GPU where that is faster. */
#ifndef TILEWRIGHT_BLAS_ROUTE_H
#define TILEWRIGHT_BLAS_ROUTE_H

#include <tilewright.h>

#include <stdbool.h>

/* route_open - read the environment and open the GPU, at the first product; true: products are to be asked about. What
 * is wrong is said on stderr, and then all products are the cpu's. cpu: the context that the GPU is compared with. */
bool route_open(tw_context *cpu);

/* route_gpu - the context of the GPU if this product, row-major with aligned operands, is one for it; else NULL. */
tw_context *route_gpu(const tw_problem *p);

/* route_failed - the GPU did not compute a product: says why, once. After TW_DEVICE_FAILED none is for it any more. */
void route_failed(tw_status status);

#endif
