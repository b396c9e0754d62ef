/* r01_naive - rung 1: one thread computes one element of C.
 *
 * IDEA      Thread (tx, ty) of block (bx, by) owns C[by*T + ty, bx*T + tx] and walks along a row of A and a column of
 *           B:
 *
 *                       j                    neighbours in x read the same element of A and neighbouring ones of B;
 *                     . | .                  nothing is kept: every element of A is read n times, of B m times.
 *              k      . | .
 *        i  ========> . v . -> C[i, j]
 *
 * NUMBERS   2 k flops and 2 k loads per thread: 1/4 flop per byte asked. A warp's load of A is 1 word per row of the
 *           block, its load of B 4 sectors (T = 32) or 2 sectors used twice (T = 16).
 * LIMITS    any m, n, k, ld and transposes; blocks of 8 x 8, 16 x 16 or 32 x 32 threads.
 * SOURCE    5kk73, Hotbingsoo 2021 and ECE569, with the accumulator set, C's own stride, and guarded edges. */
#include "../rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) r01_naive(PARAMETERS)
{
    int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0;
    ROLLED
    for (int p = 0; p < k; p++) sum = fmaf(A(i, p), B(p, j), sum);
    blend(&C(i, j), alpha, sum, beta);
}
