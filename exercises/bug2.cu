/* bug2.cu - a kernel with a mistake. Right for 256 x 256 x 256, wrong for most shapes.
 *
 *     tilewright ladder --rung exercises/bug2.cu --size 256
 *
 * Which threads compute what nobody asked for? At which shapes is nobody there to do so?
 *
 * docs/COURSE.md, "Break it", leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r01_naive.cu: edit those. */
#include "rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) r01_naive(PARAMETERS)
{
    int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
    if (i > m || j > n) return;
    float sum = 0;
    ROLLED
    for (int p = 0; p < k; p++) sum = fmaf(A(i, p), B(p, j), sum);
    blend(&C(i, j), alpha, sum, beta);
}
