/* r01_naive - rung 1: one work-item computes one element of C.
 *
 * IDEA      Work-item (tx, ty) of group (bx, by) owns C[by*T + ty, bx*T + tx] and walks along a row of A and a column
 *           of B:
 *
 *                       j                    neighbours in x read the same element of A and neighbouring ones of B;
 *                     . | .                  nothing is kept: every element of A is read n times, of B m times.
 *              k      . | .
 *        i  ========> . v . -> C[i, j]
 *
 * NUMBERS   2 k flops and 2 k loads per work-item: 1/4 flop per byte asked. On a GPU whose warps are 32 work-items, a
 *           warp's load of A is 1 word per row of the group, its load of B 4 sectors (T = 32) or 2 sectors used twice
 *           (T = 16).
 * LIMITS    any m, n, k, ld and transposes; work-groups of 8 x 8, 16 x 16 or 32 x 32.
 * SOURCE    5kk73, Hotbingsoo 2021 and ECE569, with the accumulator set, C's own stride, and guarded edges. */
#include "../rung.clh"

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void r01_naive(PARAMETERS)
{
    int i = get_group_id(1) * TILE + get_local_id(1), j = get_group_id(0) * TILE + get_local_id(0);
    if (i >= m || j >= n) return;
    float sum = 0;
    ROLLED
    for (int p = 0; p < k; p++) sum = fma(A(i, p), B(p, j), sum);
    blend(&C(i, j), alpha, sum, beta);
}
