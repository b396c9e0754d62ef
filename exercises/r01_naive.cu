/* r01_naive.cu - exercise with 6 gaps. One thread computes one element of C.
 *
 *     tilewright ladder --rung exercises/r01_naive.cu --size 256
 *
 *                j
 *                |                    thread (tx, ty) of block (bx, by) owns C[by*T + ty, bx*T + tx],
 *              . | .                  T = TILE, and walks along a row of A and a column of B, k steps
 *       k      . | .
 * i  ========> . v . -> C[i, j]
 *
 * PARAMETERS gives it m, n, k, alpha, beta and the operands, which A(i, p), B(p, j) and C(i, j) subscript
 * (kernels/cuda/rung.cuh). For bx write blockIdx.x, for by blockIdx.y, for tx threadIdx.x, for ty
 * threadIdx.y.
 *
 * docs/COURSE.md, page 1, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r01_naive.cu: edit those. */
#include "rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) r01_naive(PARAMETERS)
{
    /* which row and which column of C does this thread own? */
    int i = GAP_1, j = GAP_2;
    /* blocks are whole, C need not be: who has nothing to compute? */
    if (GAP_3) return;
    float sum = 0;
    /* how many steps, and what is multiplied in step p? */
    ROLLED
    for (int p = 0; p < GAP_4; p++) sum = fmaf(GAP_5, GAP_6, sum);
    blend(&C(i, j), alpha, sum, beta);
}
