/* r01_naive.cl - exercise: rung 1 with six gaps. One work-item computes one element of C.
 *
 *     tilewright ladder --rung exercises/r01_naive.cl --size 256
 *
 * compiles this file, judges its product and sets it beside the ladder's own r01. As it stands the compiler names the
 * gaps. Fill them in:
 *
 *                j
 *                |                    work-item (tx, ty) of group (bx, by) owns C[by*T + ty, bx*T + tx],
 *              . | .                  T = TILE, and walks along a row of A and a column of B, k steps
 *       k      . | .
 * i  ========> . v . -> C[i, j]
 *
 * PARAMETERS gives it m, n, k, alpha, beta and the operands, which A(i, p), B(p, j) and C(i, j) subscript
 * (kernels/opencl/rung.clh); get_group_id(0) is bx, get_group_id(1) is by, get_local_id(0) is tx, get_local_id(1) is
 * ty. docs/COURSE.md, page 1, leads through it. */
#include "rung.clh"

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void r01_naive(PARAMETERS)
{
    int i = GAP_1;     /* the row of C that this work-item owns */
    int j = GAP_2;     /* its column */
    if (GAP_3) return; /* groups are whole, C need not be: who has nothing to compute? */
    float sum = 0;
    ROLLED
    for (int p = 0; p < GAP_4; p++) sum = fma(GAP_5, GAP_6, sum); /* how many steps; what is multiplied in step p? */
    blend(&C(i, j), alpha, sum, beta);                            /* C <- alpha sum + beta C */
}
