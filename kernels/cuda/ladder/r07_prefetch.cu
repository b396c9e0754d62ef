/* r07_prefetch - rung 7: the next tile of A is loaded while this one is multiplied.
 *
 * IDEA      Two tiles of A. The loads of the next one go into registers before the accumulation and from there into the
 *           other tile after it, so that the FMAs run while memory answers; then the tiles change places:
 *
 *             load t+1 -> registers        (4 loads, nobody waits)
 *             256 FMAs from a_tile[now]
 *             registers -> a_tile[other]   (now they must be there)
 *             barrier, now <-> other
 *
 *           One barrier is enough: all reads of a tile end before the barrier that comes before its next write. B is
 *           not prefetched: it never was in shared memory. The last round loads its own tile again instead of asking
 *           whether there is a next one: a load inside an `if` is moved down to its use by the compiler, and then
 *           nothing overlaps. (A load followed at once by its store into shared memory, as 5kk73 writes it,
 *           waits before the FMAs too.)
 * NUMBERS   as r06, 1 barrier per tile instead of 2, twice the shared memory. On an H200 it gains nothing: with 32
 *           warps on a multiprocessor another one multiplies while one waits for its load.
 * LIMITS    those of r06.
 * CHANGED   from r06: two tiles, next[4], one barrier.
 * SOURCE    5kk73, prefetching. */
#include "../rung.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, ROW = BM + 4, LOADS = BM * BK / BN };
ASSUME(BN == ROW_THREADS && BN % BK == 0)

/* A column of A's tile times an element of B. */
static __device__ __forceinline__ void outer(float *sum, const float *a_p, float b_pj)
{
    UNROLLED
    for (int i = 0; i < BM; i++) sum[i] = fmaf(a_p[i], b_pj, sum[i]);
}

extern "C" __global__ void __launch_bounds__(BN) r07_prefetch(PARAMETERS)
{
    __shared__ __align__(16) float a_tile[2][BK][ROW];
    int tid = threadIdx.x, i0 = blockIdx.y * BM, j = blockIdx.x * BN + tid, row = tid / BK, col = tid % BK, now = 0;
    const float *b_p = &B(0, min(j, n - 1));
    long b_step = OP_B ? 1 : ldb;
    float sum[BM] = {0}, next[LOADS];
    UNROLLED
    for (int e = 0; e < LOADS; e++)
        if (col < k) a_tile[0][col][row + e * BN / BK] = A(min(i0 + row + e * BN / BK, m - 1), col);
    __syncthreads();
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        int p_next = p0 + BK < k ? p0 + BK : p0;
        UNROLLED
        for (int e = 0; e < LOADS; e++) next[e] = A(min(i0 + row + e * BN / BK, m - 1), min(p_next + col, k - 1));
        if (p0 + BK <= k) {
            UNROLLED
            for (int p = 0; p < BK; p++, b_p += b_step) outer(sum, a_tile[now][p], *b_p);
        } else {
            ROLLED
            for (int p = 0; p < k - p0; p++, b_p += b_step) outer(sum, a_tile[now][p], *b_p);
        }
        now ^= 1;
        UNROLLED
        for (int e = 0; e < LOADS; e++) a_tile[now][col][row + e * BN / BK] = next[e];
        __syncthreads();
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
