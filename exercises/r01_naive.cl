/* r01_naive.cl - exercise with 6 gaps. One work-item computes one element of C.
 *
 *     tilewright ladder --rung exercises/r01_naive.cl --size 256
 *
 *                j
 *                |                    work-item (tx, ty) of group (bx, by) owns C[by*T + ty, bx*T + tx],
 *              . | .                  T = TILE, and walks along a row of A and a column of B, k steps
 *       k      . | .
 * i  ========> . v . -> C[i, j]
 *
 * PARAMETERS gives it m, n, k, alpha, beta and the operands, which A(i, p), B(p, j) and C(i, j) subscript
 * (kernels/opencl/rung.clh). For bx write get_group_id(0), for by get_group_id(1), for tx get_local_id(0), for ty
 * get_local_id(1).
 *
 * docs/COURSE.md, page 1, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/r01_naive.cl: edit those. */
#include "rung.clh"

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void r01_naive(PARAMETERS)
{
    /* which row and which column of C does this work-item own? */
    int i = GAP_1, j = GAP_2;
    /* groups are whole, C need not be: who has nothing to compute? */
    if (GAP_3) return;
    float sum = 0;
    /* how many steps, and what is multiplied in step p? */
    ROLLED
    for (int p = 0; p < GAP_4; p++) sum = fma(GAP_5, GAP_6, sum);
    blend(&C(i, j), alpha, sum, beta);
}
