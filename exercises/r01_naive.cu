/* r01_naive.cu - exercise: rung 1 with six gaps. One thread computes one element of C.
 *
 *     tilewright ladder --rung exercises/r01_naive.cu --size 256
 *
 * compiles this file, judges its product and sets it beside the ladder's own r01. As it stands the compiler names the
 * gaps. Fill them in:
 *
 *                j
 *                |                    thread (tx, ty) of block (bx, by) owns C[by*T + ty, bx*T + tx],
 *              . | .                  T = TILE, and walks along a row of A and a column of B, k steps
 *       k      . | .
 * i  ========> . v . -> C[i, j]
 *
 * PARAMETERS gives it m, n, k, alpha, beta and the operands, which A(i, p), B(p, j) and C(i, j) subscript
 * (kernels/cuda/rung.cuh); bx and by are blockIdx.x and blockIdx.y, tx and ty threadIdx.x and threadIdx.y.
 * docs/COURSE.md, page 1, leads through it. */
#include "rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) r01_naive(PARAMETERS)
{
    int i = GAP_1;     /* the row of C that this thread owns */
    int j = GAP_2;     /* its column */
    if (GAP_3) return; /* blocks are whole, C need not be: who has nothing to compute? */
    float sum = 0;
    ROLLED
    for (int p = 0; p < GAP_4; p++) sum = fmaf(GAP_5, GAP_6, sum); /* how many steps; what is multiplied in step p? */
    blend(&C(i, j), alpha, sum, beta);                             /* C <- alpha sum + beta C */
}
