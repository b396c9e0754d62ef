/* sgemm_cpasync_sm80 - the production kernel for f32 from sm_80 on, where nothing is packed: sgemm_tma_sm90 fed by
 * cp.async.
 *
 * IDEA      sgemm_tma_sm90's tiles, sums and order of FMAs without TMA: every thread copies its part of the next tiles
 *           by cp.async, from global to shared memory without a register between. A copy of 4 bytes can go anywhere. So
 *           a K-major operand is transposed while it is copied, word by word, from any stride and address; an MN-major
 *           one in rows of whole 16 bytes takes a fourth of the copies:
 *
 *         A as stored, B transposed  x[edge][p]  a warp copies 8 steps of 4 rows: 4 whole sectors, into 32 banks: the
 *                                                tile's rows are 132 words apart:  bank = 4 p + edge
 *         A transposed, B as stored  x[p][edge]  a warp copies 128 neighbours, 16 bytes each; or 32 of 4 bytes
 *
 *           Beyond an edge a copy writes zeros. The steps of k that do not fill a tile come first, so that no copy of
 *           the mainloop checks for the end of k.
 *
 *           128 sums, 24 operands and the loop's variables fill the 168 registers that three blocks leave. So no
 *           address is kept between tiles: each is recomputed from the thread's index, which is read again.
 *
 * NUMBERS   32 flop/byte. 168 registers, 128 threads, 3 stages of 8.25 KiB: three blocks per multiprocessor, on sm_86
 *           and sm_89 too. Of the mainloop's instructions 1024 of 1189 are FMAs. H200, TFLOP/s at 4096: NN 49.2, TN
 *           50.4, NT 47.5, TT 48.4 (sgemm_simt, NN: 44.7; cuBLAS 13: 51.1, 51.7, 49.3, 48.5); at 4097, rows 4099 apart:
 *           NN 42.5, NT 42.8, TN 42.9 (sgemm_simt, NN: 37.9; cuBLAS 42.3, 42.3, 46.8).
 * LIMITS    sm_80 and above. Any m, n >= 1, k, ld and transposes. WIDE = 1 as in r09. WIDE = 0 checks in the kernel
 *           which of A and B has rows of whole 16 bytes, which costs 4 % where both have. Fewer than 2^31 tiles.
 * HOST      grid ceil(m / 128) * ceil(n / 128), block 128, dynamic shared memory STAGES * sizeof(struct stage) = 25344
 *           bytes.
 * CHANGED   from sgemm_tma_sm90: cp.async for TMA, transposing while copying, and a tile that is 8 deep.
 * SOURCE    PTX ISA (cp.async); as sgemm_tma_sm90 */
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#define COPY_FROM(x) __cvta_generic_to_global(x)
#include "ampere.cuh"

/* Blocks per multiprocessor: for other architectures than sm_90 the compiler has no good order of 168 registers. */
#if __CUDA_ARCH__ / 10 == 90
#define BLOCKS 3
#else
#define BLOCKS 2
#endif

enum { BM = ROW_M, BN = ROW_N, BK = ROW_K, THREADS = ROW_THREADS, STAGES = ROW_STAGES, PAD = 4, GROUP_M = 8 };
ASSUME(BM == 128 && BN == 128 && BK == 8 && THREADS == 128)

#include "schedule.cuh"

typedef float tile_row[BM + PAD];

struct stage {
    tile_row a[BK], b[BK];
};
ASSUME(STAGES * sizeof(struct stage) == ROW_BYTES)

/* Read anew where it is wanted: what follows from it takes no register between. */
static __device__ __forceinline__ int thread(void)
{
    int x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return x;
}

/* The thread's copies of a tile of an operand whose element (edge, p) lies at x[edge * ld + p] (transposed) or x[p * ld
 * + edge]: 128 x BK elements from edge0 and p0 on, of which edges - edge0 and `depth` are there. */
static __device__ __forceinline__ void fetch(const bool transposed, tile_row *tile, const float *x, long ld, int edge0,
                                             int edges, int p0, int depth)
{
    int tid = thread();
    if (transposed) {
        int edge = tid / BK, p = tid % BK, left = depth == BK || p < depth ? edges - edge0 - edge : 0;
        const float *from = x + (long)(edge0 + edge) * ld + (p0 + p);
        UNROLLED
        for (int e = 0; e < BM; e += THREADS / BK) copy_4(&tile[p][edge + e], from + e * ld, e < left ? 4 : 0);
    } else if (WIDE || in_16(x, ld)) {
        int edge = tid % 32 * 4, p = tid / 32, bytes = min(max(edges - edge0 - edge, 0), 4) * 4;
        const float *from = x + (long)(p0 + p) * ld + (edge0 + edge);
        UNROLLED
        for (int q = 0; q < BK; q += THREADS / 32) {
            int there = depth == BK || p + q < depth ? bytes : 0;
            if (there % 16 == 0)
                copy_16(&tile[p + q][edge], from + q * ld, there);
            else
                ROLLED for (int e = 0; e < 4; e++)
                    copy_4(&tile[p + q][edge + e], from + q * ld + e, 4 * e < there ? 4 : 0);
        }
    } else {
        int bytes = edges - edge0 - tid > 0 ? 4 : 0;
        const float *from = x + (long)p0 * ld + (edge0 + tid);
        UNROLLED
        for (int q = 0; q < BK; q++) copy_4(&tile[q][tid], from + q * ld, depth == BK || q < depth ? bytes : 0);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    sgemm_cpasync_sm80(PLAIN_ARGUMENTS(PARAMETER, float, float, float, float))
{
    extern __shared__ __align__(16) struct stage ring[];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, blocks = ceil_div(k, BK), first = k - (blocks - 1) * BK,
        now = 0, to = STAGES - 1, i0, j0;
    tile_at<GROUP_M>(blockIdx.x, tiling_of<GROUP_M>(m, n), &i0, &j0);
    int a_at = (lane / 8 * 2 + lane % 2) * 4, b_at = warp * 32 + lane / 2 % 4 * 4;
    const bool a_transposed = !OP_A, b_transposed = OP_B;
    float sum[16][8] = {0};
    /* prologue: the copies of the first stages */
    for (int q = 0; q < STAGES - 1; q++) {
        if (q < blocks) {
            int p0 = q > 0 ? first + (q - 1) * BK : 0, depth = q > 0 ? BK : first;
            fetch(a_transposed, ring[q].a, a, lda, i0, m, p0, depth);
            fetch(b_transposed, ring[q].b, b, ldb, j0, n, p0, depth);
        }
        copies_commit();
    }
    ROLLED /* mainloop */
        for (int block = 0; block < blocks; block++)
    {
        COPIES_WAIT(STAGES - 2);
        __syncthreads(); /* this stage has come for all, and all have read the one before */
        if (block + STAGES - 1 < blocks) {
            int p0 = first + (block + STAGES - 2) * BK;
            fetch(a_transposed, ring[to].a, a, lda, i0, m, p0, BK);
            fetch(b_transposed, ring[to].b, b, ldb, j0, n, p0, BK);
        }
        copies_commit();
        const float *a_tile = &ring[now].a[0][a_at], *b_tile = &ring[now].b[0][b_at];
        UNROLLED
        for (int p = 0; p < BK; p++) {
            float a_p[16], b_p[8];
            UNROLLED
            for (int i = 0; i < 4; i++) *(float4 *)&a_p[4 * i] = *(const float4 *)&a_tile[p * (BM + PAD) + 32 * i];
            UNROLLED
            for (int j = 0; j < 2; j++) *(float4 *)&b_p[4 * j] = *(const float4 *)&b_tile[p * (BN + PAD) + 16 * j];
            UNROLLED
            for (int i = 0; i < 16; i++) {
                UNROLLED
                for (int q = 0; q < 8; q++) {
                    int j = i % 2 ? q : 7 - q;
                    sum[i][j] = fmaf(a_p[i], b_p[j], sum[i][j]);
                }
            }
        }
        to = now;
        if (++now == STAGES) now = 0;
    }
    UNROLLED /* epilogue */
        for (int i = 0; i < 16; i++)
    {
        int row = i0 + a_at + i / 4 * 32 + i % 4;
        if (row >= m) continue;
        put<4>(OUT, row, j0 + b_at, &sum[i][0]);
        put<4>(OUT, row, j0 + b_at + 16, &sum[i][4]);
    }
}
