/* product.h - one call of a PBLAS gemm, whatever the width of its integers and the type of its elements. */
#ifndef TILEWRIGHT_PBLAS_PRODUCT_H
#define TILEWRIGHT_PBLAS_PRODUCT_H

#include "layout.h"
#include "tilewright.h"

/* An argument "data, i, j, descriptor"; i and j count from 1. */
typedef struct pblas_matrix {
    char letter;
    int number; /* of the descriptor among the arguments; j, i and data are the three before */
    char *data;
    int64_t i, j, descriptor[ENTRIES];
} pblas_matrix;

typedef struct pblas_product {
    const char *routine; /* "PDGEMM" */
    tw_dtype dtype;
    char op_a, op_b;
    int64_t m, n, k;
    double alpha[2], beta[2]; /* real and imaginary part */
    pblas_matrix a, b, c;
} pblas_product;

/* pblas_multiply - C <- alpha op(A) op(B) + beta C, collective over the grid of A's context. What fails is told on
 * stderr, and ends the program: PBLAS have no status. */
void pblas_multiply(const pblas_product *product);

#endif
