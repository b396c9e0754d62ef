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
 *           not prefetched: it never was in local memory. The last round loads its own tile again instead of asking
 *           whether there is a next one: a load inside an `if` is moved down to its use by the compiler, and then
 *           nothing overlaps. (A load followed at once by its store into local memory, as 5kk73 writes it, waits
 *           before the FMAs too.)
 * NUMBERS   as r06, 1 barrier per tile instead of 2, twice the local memory. On an H200 it gains nothing: with 32 warps
 *           on a multiprocessor another one multiplies while one waits for its load.
 * LIMITS    those of r06.
 * CHANGED   from r06: two tiles, next[4], one barrier.
 * SOURCE    5kk73, prefetching. */
#include "../rung.clh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, ROW = BM + 4, LOADS = BM * BK / BN };
ASSUME(BN == ROW_THREADS && BN % BK == 0)

/* A column of A's tile times an element of B. */
static inline void outer(float *sum, __local const float *a_p, float b_pj)
{
    UNROLLED
    for (int i = 0; i < BM; i++) sum[i] = fma(a_p[i], b_pj, sum[i]);
}

__kernel __attribute__((reqd_work_group_size(BN, 1, 1))) void r07_prefetch(PARAMETERS)
{
    __local __attribute__((aligned(16))) float a_tile[2][BK][ROW];
    int tid = get_local_id(0), i0 = get_group_id(1) * BM, j = get_group_id(0) * BN + tid, row = tid / BK,
        col = tid % BK, now = 0;
    __global const float *b_p = &B(0, min(j, n - 1));
    long b_step = OP_B ? 1 : ldb;
    float sum[BM] = {0}, next[LOADS];
    UNROLLED
    for (int e = 0; e < LOADS; e++)
        if (col < k) a_tile[0][col][row + e * BN / BK] = A(min(i0 + row + e * BN / BK, m - 1), col);
    barrier(CLK_LOCAL_MEM_FENCE);
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
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLLED
    for (int i = 0; i < BM; i++)
        if (i0 + i < m && j < n) blend(&C(i0 + i, j), alpha, sum[i], beta);
}
