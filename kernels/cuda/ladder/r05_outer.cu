/* r05_outer - rung 5: outer product; only A's tile is shared, an element of B and a column of C live in registers.
 *
 * IDEA      An FMA can take one operand from where it lies and one from a register. Let each of 64 threads own a column
 *           of a 16 x 64 tile of C: for every step of k it takes one b from global memory into a register and
 *           multiplies it with a column of A's tile, which all threads read together (a broadcast):
 *
 *                                  B(p, j)  one register each     ..b.. coalesced, never in shared memory
 *                                     |
 *               A tile 16 x 16        v
 *                 a(0, p)  ------>  sum[0]
 *                 a(1, p)  ------>  sum[1]       16 FMAs for 1 global load and 4 shared loads of 16 bytes
 *                   ...               ...
 *                 a(15, p) ------>  sum[15]
 *
 *           The other way round, a tile of A or B in the register file unshared, would let that operand's ratio fall to
 *           r01's: each of 64 threads would load its own 16 x 16 tile of A, 64 times the bytes. Hence A shared, B
 *           streamed.
 * NUMBERS   16*64 / (2 (16 + 64)) = 6.4 flop per byte asked, against 4 for 16 x 16 tiles. Per thread and tile: 4 + 16
 *           global loads, 4 shared stores, 64 shared loads of 16 bytes, 256 FMAs, 2 barriers. The tile lies [p][i] with
 *           rows of 20 words, so that a column is four aligned 16-byte reads; its store has degree 2. On sm_90 the
 *           inner loop is 16 FMAs of 27 instructions.
 * LIMITS    any m, n, k, ld and transposes; 64 threads. Beyond an edge of C an element that is there is loaded and its
 *           sum not stored; the last tile is as deep as k leaves it: no guard stands in the inner loop.
 * CHANGED   from r04: the block's shape, b in a register, sum[16]; the k loop stays rolled.
 * SOURCE    5kk73, computation optimisation (Volkov, Demmel 2008). */
#include "../rung.cuh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, ROW = BM + 4 };
ASSUME(BN == ROW_THREADS && BN % BK == 0)

/* A column of A's tile times an element of B. */
static __device__ __forceinline__ void outer(float *sum, const float *a_p, float b_pj)
{
    UNROLLED
    for (int i = 0; i < BM; i++) sum[i] = fmaf(a_p[i], b_pj, sum[i]);
}

extern "C" __global__ void __launch_bounds__(BN) r05_outer(PARAMETERS)
{
    __shared__ __align__(16) float a_tile[BK][ROW];
    int tid = threadIdx.x, i0 = blockIdx.y * BM, j = blockIdx.x * BN + tid, row = tid / BK, col = tid % BK;
    const float *b_p = &B(0, min(j, n - 1));
    long b_step = OP_B ? 1 : ldb;
    float sum[BM] = {0};
    ROLLED
    for (int p0 = 0; p0 < k; p0 += BK) {
        UNROLLED
        for (int e = 0; e < BM; e += BN / BK) a_tile[col][row + e] = A(min(i0 + row + e, m - 1), min(p0 + col, k - 1));
        __syncthreads();
        ROLLED
        for (int p = 0; p < min(BK, k - p0); p++, b_p += b_step) outer(sum, a_tile[p], *b_p);
        __syncthreads();
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
