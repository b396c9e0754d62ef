/* r04d_divergence - variant of rung 4: interior blocks run without guards.
 *
 * IDEA      Only blocks at the edges of C, or whose k does not divide, need to ask whether an element is there. The
 *           block decides once, for all its threads, so no warp diverges:
 *
 *             .---.---.---.-.
 *             |   |   |   |e|      interior blocks: every load and store unconditional
 *             |---|---|---|-|      e: guarded, as r04
 *             |   |   |   |e|
 *             |---|---|---|-|      when T does not divide k, the last tile of k is guarded in every block
 *             | e | e | e |e|
 *             '---'---'---'-'
 *
 * NUMBERS   as r04, less two compares and a select per load. That is all it saves: the guards of r04 are selects, not
 *           branches, and an H200 counts no divergent branch in either, at 4001 too. At 4096 r04 and r04d run at
 *           7.64 and 8.12 TFLOP/s in the default build, rolled at 5.45 and 4.75.
 * LIMITS    those of r04.
 * CHANGED   from r04: the tile step is a function of `guarded`, called with a constant.
 * SOURCE    Ruiz's reference to the book: less control divergence. */
#include "../rung.cuh"

typedef float tile_row[TILE];

static __device__ __forceinline__ float tile_step(const bool guarded, int t, int i, int j, float sum, tile_row *a_tile,
                                                  tile_row *b_tile, int m, int n, int k, const float *a, long lda,
                                                  const float *b, long ldb)
{
    int tx = threadIdx.x, ty = threadIdx.y, a_p = t * TILE + tx, b_p = t * TILE + ty;
    a_tile[ty][tx] = !guarded || (i < m && a_p < k) ? A(i, a_p) : 0;
    b_tile[ty][tx] = !guarded || (b_p < k && j < n) ? B(b_p, j) : 0;
    __syncthreads();
    ROLLED
    for (int p = 0; p < TILE; p++) sum = fmaf(a_tile[ty][p], b_tile[p][tx], sum);
    __syncthreads();
    return sum;
}

extern "C" __global__ void __launch_bounds__(TILE *TILE) r04d_divergence(PARAMETERS)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
    bool interior = (blockIdx.y + 1) * TILE <= m && (blockIdx.x + 1) * TILE <= n;
    int whole = interior ? k / TILE : 0;
    float sum = 0;
    ROLLED
    for (int t = 0; t < whole; t++) sum = tile_step(false, t, i, j, sum, a_tile, b_tile, m, n, k, a, lda, b, ldb);
    ROLLED
    for (int t = whole; t < ceil_div(k, TILE); t++)
        sum = tile_step(true, t, i, j, sum, a_tile, b_tile, m, n, k, a, lda, b, ldb);
    if (interior || (i < m && j < n)) blend(&C(i, j), alpha, sum, beta);
}
