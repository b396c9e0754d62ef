/* plain.h - products and triangles one element after the other: they need no memory, take operands at any address, and
 * are quick where all is tiny. */
#ifndef TILEWRIGHT_BLAS_PLAIN_H
#define TILEWRIGHT_BLAS_PLAIN_H

#include "blocks.h"

/* plain_multiply - c <- alpha a b + beta c, or the triangle of it that flags name; beta 0: c is not read. */
void plain_multiply(tw_dtype dtype, scalar alpha, const matrix *a, const matrix *b, scalar beta, const matrix *c,
                    uint32_t flags);

/* plain_triangle - b <- alpha T b, or alpha T^-1 b. */
void plain_triangle(tw_dtype dtype, const triangle *t, bool solves, scalar alpha, const matrix *b);

/* plain_expand - full, whose rows are ld apart, <- all of a symmetric matrix of which the lower triangle is there, or
 * of a Hermitian one. */
void plain_expand(tw_dtype dtype, const matrix *lower, bool hermitian, void *full, int64_t ld);

/* plain_make_real - the imaginary parts of the diagonal of c become 0. */
void plain_make_real(tw_dtype dtype, const matrix *c);

#endif
