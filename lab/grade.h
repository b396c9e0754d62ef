/* grade.h - how accurate is a matrix product, element by element? Operands on which algorithms that round relative to
 * the largest element of a row, or that mix rows, are off by more than the bound of a sum in any order. After Demmel
 * and others: grading BLAS by accuracy (arXiv 2609.12307, 2026). */
#ifndef TILEWRIGHT_GRADE_H
#define TILEWRIGHT_GRADE_H

#include "tilewright_lab.h"

/* C <- A B, square matrices of n rows without padding; dtype is f32 or f64. */
typedef tw_status grade_product(void *with, tw_dtype dtype, int64_t n, const void *a, const void *b, void *c);

typedef enum grade_test {
    GRADE_ZEROS,     /* products whose terms are all 0 are 0: algorithms as Strassen's, which mix rows, make others */
    GRADE_FIXED,     /* a magnitude for each step of k, large in A where small in B: a fixed point is too coarse */
    GRADE_SCALED,    /* the same, and a last row and column of the largest magnitude */
    GRADE_UNDERFLOW, /* subnormal products, and subnormal elements beside large ones */
    GRADE_GROWTH,    /* positive numbers, n from 16 on: errors grow with n at most in proportion */
    GRADE_TESTS
} grade_test;

extern const char *const grade_names[GRADE_TESTS];

/* A: all tests passed; B: GRADE_ZEROS and GRADE_GROWTH did; C: one of these did not. */
typedef struct grade {
    char letter;
    int products; /* that were judged */
    /* The largest error over (n + 2) u times the sum of terms' sizes, and underflow: above 1 a fault; infinite where
     * something else than 0, or NaN, was found */
    double worst[GRADE_TESTS];
    double slope; /* GRADE_GROWTH: of log(largest error) over log(n); above 1 a fault */
} grade;

/* grade_take - all tests with matrices of n rows (GRADE_GROWTH: up to n), of at most 32 of which each element is
 * judged. TW_NO_MEMORY, or what the product returned. */
tw_status grade_take(grade_product *product, void *with, tw_dtype dtype, int64_t n, uint64_t seed, grade *out);

#endif
