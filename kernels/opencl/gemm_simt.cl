/* gemm_simt - the production kernel for every type but f32, on any OpenCL device: f64, bf16, f16, i8 and u8.
 *
 * IDEA      r05's outer product in two dimensions: a work-item owns BM / 16 x BN / 16 elements of C, 16 rows and
 *           columns apart, so that neighbours read neighbouring words of local memory. Both tiles lie there as
 *           [p][edge]. An element becomes a number, of the type of the sums, when it is copied there, once for all
 *           products that it is part of. The next tiles come into registers while these are multiplied.
 *
 *                          b: words tx, tx + 16, + 32, + 48
 *                        .--.--.--.--.
 *            a: words    |  |  |  |  |      4 + 4 local loads for 16 multiply-adds,
 *            ty, ty + 16 |--|--|--|--|      in tiles of 128 x 64 8 + 4 for 32
 *            ...         '--'--'--'--'
 *
 * NUMBERS   64 x 64 x 16: 16 sums, 8448 bytes of local memory, 16896 in f64. 128 x 64 x 16, f64: 32 sums, 25088 bytes.
 * LIMITS    any m, n >= 1, k, ld, address and transposes. Fewer than 2^31 tiles. f64 where the device has it.
 * CHANGED   from CUDA's gemm_simt and dgemm_simt: one text for all types, tiles prefetched into registers.
 * SOURCE    Kerr et al.: CUTLASS, 2017 */
#include "rung.clh"
#include "types.clh"

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, PAD = 2, TM = BM / 16, TN = BN / 16 };
enum { A_LOADS = BM * BK / THREADS, B_LOADS = BN * BK / THREADS };
ASSUME(THREADS == 256 && BM % 16 == 0 && BN % 16 == 0 && BM * BK % THREADS == 0 && BN * BK % THREADS == 0)

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gemm_simt(TYPED_PARAMETERS)
{
    __local number a_tile[BK][BM + PAD], b_tile[BK][BN + PAD];
    int tid = get_local_id(0), tx = tid % 16, ty = tid / 16, tiles_n = ceil_div(n, BN);
    int i0 = get_group_id(0) / tiles_n * BM, j0 = get_group_id(0) % tiles_n * BN;
    number sum[TM][TN] = {0}, a_next[A_LOADS], b_next[B_LOADS];
    ROLLED /* mainloop */
        for (int p0 = -BK; p0 < k; p0 += BK)
    {
        /* neighbours in memory by neighbouring work-items */
        UNROLLED
        for (int q = 0; q < A_LOADS; q++) {
            int e = tid + q * THREADS, i = i0 + (OP_A ? e % BM : e / BK), p = p0 + BK + (OP_A ? e / BM : e % BK);
            a_next[q] = i < m && p < k ? LOAD(TYPE_A)(&A(i, p)) : 0;
        }
        UNROLLED
        for (int q = 0; q < B_LOADS; q++) {
            int e = tid + q * THREADS, j = j0 + (OP_B ? e / BK : e % BN), p = p0 + BK + (OP_B ? e % BK : e / BN);
            b_next[q] = j < n && p < k ? LOAD(TYPE_B)(&B(p, j)) : 0;
        }
        if (p0 >= 0) {
            UNROLLED
            for (int p = 0; p < BK; p++) {
                number a_p[TM], b_p[TN];
                UNROLLED
                for (int i = 0; i < TM; i++) a_p[i] = a_tile[p][ty + 16 * i];
                UNROLLED
                for (int j = 0; j < TN; j++) b_p[j] = b_tile[p][tx + 16 * j];
                UNROLLED
                for (int i = 0; i < TM; i++) {
                    UNROLLED
                    for (int j = 0; j < TN; j++) sum[i][j] = multiply_add(a_p[i], b_p[j], sum[i][j]);
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        UNROLLED
        for (int q = 0; q < A_LOADS; q++) {
            int e = tid + q * THREADS;
            a_tile[OP_A ? e / BM : e % BK][OP_A ? e % BM : e / BK] = a_next[q];
        }
        UNROLLED
        for (int q = 0; q < B_LOADS; q++) {
            int e = tid + q * THREADS;
            b_tile[OP_B ? e % BK : e / BN][OP_B ? e / BK : e % BN] = b_next[q];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLLED /* epilogue */
        for (int i = 0; i < TM; i++)
    {
        UNROLLED
        for (int j = 0; j < TN; j++) {
            int row = i0 + ty + 16 * i, column = j0 + tx + 16 * j;
            if (row < m && column < n) blend_typed(&C(row, column), alpha, sum[i][j], beta);
        }
    }
}
