/* product.h - the product of a call whose arguments are right, where it is not computed at once: see product.c. */
#ifndef TILEWRIGHT_BLAS_PRODUCT_H
#define TILEWRIGHT_BLAS_PRODUCT_H

#include "report.h"

#include <tilewright.h>

#include <stdatomic.h>

/* In all of these a product is row-major; one of a column-major call is that of the transposes, with a and b in each
 * other's place. What they say is in the caller's terms. */

/* The context of products of which nothing is printed; NULL before the first product, and where all are. */
extern _Atomic(tw_context *) blas_quiet_context;

/* blas_context - the context of all products, opened by the first; NULL: no memory. */
tw_context *blas_context(void);

/* blas_multiply - a product that is not computed at once: in a context whatever the environment holds, with
 * operands at any addresses, without memory slower. False: tw_error_text() says why. */
bool blas_multiply(const tw_problem *p, const void *a, const void *b, void *c);

/* blas_unusable - which operand of a product is needed and NULL, or longer than memory: "c is NULL"; NULL: none. */
const char *blas_unusable(const blas_caller *caller, const tw_problem *p, const void *a, const void *b, const void *c);

/* blas_computed - the cpu computed some of the result of this thread's call, without blas_multiply(). */
void blas_computed(void);

enum { SCALAR_BYTES = 32, SAID_BYTES = 300 };

/* blas_scalar_text - a scalar for the line of a call: "2", "2-1i". */
const char *blas_scalar_text(char text[SCALAR_BYTES], double re, double im);

/* blas_describe - a product, or a batch of it (0: none), for that line. */
void blas_describe(const blas_caller *caller, const tw_problem *p, int64_t batch, char text[SAID_BYTES]);

/* blas_start - the time, where calls are printed or counted; else 0. Before, what the first product of a type needs is
 * made. blas_finish - prints and counts the call that began then: "cblas_dgemm row-major", `said`, and the command that
 * measures it, if not NULL; failed: reports the call, with that sentence. */
double blas_start(tw_dtype dtype);
void blas_finish(const blas_caller *caller, const char *failed, double start_s, double flops, const char *said,
                 const char *bench);

/* One product. What even this cannot compute, a pointer that is NULL, is reported as number 0. */
void blas_product(const blas_caller *caller, const tw_problem *p, const void *a, const void *b, void *c);

#endif
