/* product.h - the product of a call whose arguments are right, where it is not computed at once: see product.c. */
#ifndef TILEWRIGHT_BLAS_PRODUCT_H
#define TILEWRIGHT_BLAS_PRODUCT_H

#include "report.h"

#include <tilewright.h>

#include <stdatomic.h>

/* The context of products of which nothing is printed; NULL before the first product, and where all are. */
extern _Atomic(tw_context *) blas_quiet_context;

/* One product, row-major. What even this cannot compute, a pointer that is NULL, is reported as number 0. */
void blas_product(const blas_caller *caller, const tw_problem *p, const void *a, const void *b, void *c);

#endif
