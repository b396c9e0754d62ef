/* bug1.cu - a kernel with a mistake. Right where threads happen to go in step.
 *
 *     tilewright ladder --rung exercises/bug1.cu --size 256
 *
 * Read it as r02, and name what two threads may do at once. Then let the judge say it.
 *
 * docs/COURSE.md, "Break it", leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r02_tiled.cu: edit those. */
#include "rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) r02_tiled(PARAMETERS)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx, b_j = blockIdx.x * TILE + ty;
    float sum = 0;
    ROLLED
    for (int t = 0; t < ceil_div(k, TILE); t++) {
        int a_p = t * TILE + tx, b_p = t * TILE + tx;
        a_tile[ty][tx] = i < m && a_p < k ? A(i, a_p) : 0;
        b_tile[tx][ty] = b_p < k && b_j < n ? B(b_p, b_j) : 0;
        __syncthreads();
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fmaf(a_tile[ty][p], b_tile[p][tx], sum);
    }
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
