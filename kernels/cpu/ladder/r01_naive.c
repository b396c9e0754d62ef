/* r01_naive - rung 1: three loops, one element of C after the other.
 *
 * IDEA      C[i, j] is the dot product of row i of A and column j of B:
 *
 *                       j                    for each element of C, k multiply-adds; every one reads
 *                     . | .                  an element of A and one of B, and nothing is kept.
 *              k      . | .
 *           --------  . | .
 *        i  ========> . v . -> C[i, j]
 *           --------
 *
 * NUMBERS   2 k flops and 2 k elements read per element of C: 1 flop per element, 1/4 flop per byte in f32.
 *           B's column is read with a stride of ldb: every element from another cache line.
 * LIMITS    any m, n, k, strides and transposes.
 * SOURCE    5kk73, ECE569 and Ruiz 2024, with the accumulator set to 0 before it is used. */
#include "../rung.h"

void KERNEL(const cpu_problem *x)
{
    const real *a = x->a, *b = x->b;
    real *c = x->c;
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            real sum = 0;
            ROLLED
            for (int64_t p = 0; p < x->k; p++) sum += a[i * x->a_rs + p * x->a_cs] * b[p * x->b_rs + j * x->b_cs];
            blend(&c[i * x->ldc + j], (real)x->alpha, sum, (real)x->beta);
        }
}
