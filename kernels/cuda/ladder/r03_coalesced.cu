/* r03_coalesced - rung 3: B is read along its rows; the tile is transposed on the way into shared memory.
 *
 * IDEA      Let the lanes that are neighbours in x read neighbours in a row of B. The tile is still transposed: it
 *           lies [n][k], and the loop reads a column of it:
 *
 *             b_tile[tx][ty] = B(t*T + ty, bx*T + tx)          global: T neighbours, coalesced
 *             sum += a_tile[ty][p] * b_tile[tx][p]             shared: lanes T words apart, the same few banks
 *
 *             banks  0 . . . . 16 . . . .      T = 16: 16 lanes want 2 banks, 8 wavefronts
 *                    * . . . . *               T = 32: 32 lanes want 1 bank, 32 wavefronts
 *
 * NUMBERS   the flops, bytes, loads and barriers of r02. B's load: 4 sectors per warp. The store and now the loop
 *           conflict: degree 8 (T = 16) or 32 (T = 32). On an H200 this rung is slower than r02, by 2.3x and 7.3x:
 *           caches forgive the uncoalesced load, nothing forgives the conflict. r04 takes it away.
 * LIMITS    any m, n, k, ld and transposes; T = 8, 16, 32.
 * CHANGED   from r02: the two subscripts of B, and the two of the tile's read.
 * SOURCE    5kk73, coalescing. */
#include "../rung.cuh"

extern "C" __global__ void __launch_bounds__(TILE *TILE) r03_coalesced(PARAMETERS)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx;
    float sum = 0;
    ROLLED
    for (int t = 0; t < ceil_div(k, TILE); t++) {
        int a_p = t * TILE + tx, b_p = t * TILE + ty;
        a_tile[ty][tx] = i < m && a_p < k ? A(i, a_p) : 0;
        b_tile[tx][ty] = b_p < k && j < n ? B(b_p, j) : 0;
        __syncthreads();
        ROLLED
        for (int p = 0; p < TILE; p++) sum = fmaf(a_tile[ty][p], b_tile[tx][p], sum);
        __syncthreads();
    }
    if (i < m && j < n) blend(&C(i, j), alpha, sum, beta);
}
