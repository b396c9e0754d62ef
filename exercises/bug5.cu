/* bug5.cu - a kernel with a mistake. Right, as long as what lies behind A is a number.
 *
 *     tilewright ladder --rung exercises/bug5.cu --size 256
 *
 * The words of the tile that no element of A fills are multiplied, too. With what? And what is 0 times NaN?
 *
 * docs/COURSE.md, "Break it", leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/cuda/ladder/r04_banks.cu: edit those. */
#include "rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) r04_banks(PARAMETERS)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx;
    float sum = 0;
    ROLLED
    for (int t = 0; t < ceil_div(k, TILE); t++) {
        int a_p = t * TILE + tx, b_p = t * TILE + ty;
        a_tile[ty][tx] = i < m ? A(i, a_p) : 0;
        b_tile[ty][tx] = b_p < k && j < n ? B(b_p, j) : 0;
        __syncthreads();
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fmaf(a_tile[ty][p], b_tile[p][tx], sum);
        __syncthreads();
    }
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
