/* gemm_batched_kmajor_sm80 - batches of types of 1 and 4 bytes on the matrix units, in one launch: i8, u8 and tf32 from
 * sm_80 on, e4m3 and e5m2 from sm_89 on.
 *
 * IDEA      gemm_mma_sm80's tile with the persistent blocks of gemm_batched_mma_sm80. The units see 16 bytes along k,
 *           so tiles lie along k (K-major) in shared memory, however an item lies in memory:
 *
 *               along k, in whole 16 bytes     cp.async, 16 bytes each, STAGES - 1 steps ahead
 *               any other                      elements, four bytes of a line at a time; neighbouring lanes read
 *                                              neighbours in memory, of tf32 by cp.async too
 *
 *           So a batch needs no pass that transposes and no workspace for one.
 * NUMBERS   Tiles of 32 and 64, 128 threads, 3 stages of 4 and 8 KiB. Of 1-byte types C has 4 of the 6 bytes that an
 *           element of a square item moves, so that loads element by element cost less than they seem to.
 * LIMITS    Any m, n, k, ld, strides, addresses of whole elements, and transposes; items need not be aligned alike.
 *           WIDE = 1 promises addresses, ld and strides in multiples of 16 bytes.
 * HOST      as gemm_batched_mma_sm80; -DTYPE_A, -DTYPE_B and -DELEMENT_BYTES, of integers -DSUMS_S32=1; -DC_HALF=1: C
 *           of 2 bytes.
 * CHANGED   from gemm_batched_mma_sm80: gemm_mma_sm80's tile, and what does not lie along k is transposed on its way.
 * SOURCE    PTX ISA (mma.sync, ldmatrix, cp.async) */
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#include "batch.cuh"
#include "kmajor_tile.cuh"

ASSUME(BM == BN)

#include "schedule.cuh"

/* An operand of the item that is fetched next: element (edge, p) lies edge * ld + p elements from x (ALONG), or
 * p * ld + edge. */
struct operand {
    const element_in *x;
    long ld;
    bool by_16; /* lines along k of whole 16 bytes */
};

template <bool ALONG>
static __device__ __forceinline__ struct operand operand_of(const void *items, int pointers, long stride, int item,
                                                            long ld)
{
    const element_in *x = item_of<const element_in>(items, pointers, stride, item);
    return {x, ld, ALONG && (WIDE || ((unsigned long long)x | (unsigned long long)ld * ELEMENT_BYTES) % CHUNK == 0)};
}

/* The thread's words of 4 bytes of a tile of EDGE lines from line edge0 on, from step p0 on, one element after the
 * other. */
template <int EDGE, bool ALONG>
static __device__ __forceinline__ void fetch_words(char *tile, const element_in *x, long ld, int edge0, int edges,
                                                   int p0, int k)
{
    enum { WORDS = LINE / 4, EACH = 4 / ELEMENT_BYTES };
    const long by_edge = ALONG ? ld : 1, by_p = ALONG ? 1 : ld;
    _Pragma("unroll 2") for (int e = threadIdx.x; e < EDGE * WORDS; e += THREADS)
    {
        int line = ALONG ? e / WORDS : e % EDGE, word = ALONG ? e % WORDS : e / EDGE, p = p0 + word * EACH,
            count = edge0 + line < edges ? k - p : 0; /* elements that are there */
        const element_in *from = x + (edge0 + line) * by_edge + p * by_p;
        char *to = &tile[chunk_at(line, word / 4) + word % 4 * 4];
        if (EACH == 1) {
            copy_4(to, count > 0 ? from : x, count > 0 ? 4 : 0);
            continue;
        }
        unsigned four = 0;
        UNROLLED
        for (int q = 0; q < EACH; q++)
            if (q < count) four |= (unsigned)from[q * by_p] << q * 8 * ELEMENT_BYTES;
        *(unsigned *)to = four;
    }
}

template <int EDGE, bool ALONG>
static __device__ __forceinline__ void fetch_tile(char *tile, const struct operand *o, int edge0, int edges, int piece,
                                                  int k)
{
    if (ALONG && o->by_16)
        fetch<EDGE>(tile, (const char *)o->x, o->ld * ELEMENT_BYTES, edge0, edges, (long)piece * LINE,
                    (long)k * ELEMENT_BYTES);
    else if (!ALONG || !WIDE)
        fetch_words<EDGE, ALONG>(tile, o->x, o->ld, edge0, edges, piece * BK, k);
}

extern "C" __global__ void __launch_bounds__(THREADS, ROW_BLOCKS)
    gemm_batched_kmajor_sm80(BATCH_ARGUMENTS(PARAMETER, number))
{
    extern __shared__ __align__(128) struct stage ring[];
    const bool a_along = !OP_A, b_along = OP_B;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const struct tiling tiles = tiling_of(m, n);
    int pieces = max(ceil_div(k, BK), 1), i_warp = warp / WARPS_N * WM, j_warp = warp % WARPS_N * WN;
    struct operand a = {0, lda, false}, b = {0, ldb, false};
    struct walk next = {0, first_work()};
    int i0 = 0, j0 = 0, s = 0, c_i0, c_j0;
    auto fetch_next = [&](struct stage *to) {
        if (next.work < works && k > 0) {
            if (next.piece == 0) {
                work_at(next.work, tiles, &i0, &j0);
                a = operand_of<a_along>(a_items, pointers, stride_a, item_at(next.work, tiles), lda);
                b = operand_of<b_along>(b_items, pointers, stride_b, item_at(next.work, tiles), ldb);
            }
            fetch_tile<BM, a_along>(to->a, &a, i0, m, next.piece, k);
            fetch_tile<BN, b_along>(to->b, &b, j0, n, next.piece, k);
            walk_on(&next, pieces);
        }
        copies_commit();
    };
    pdl_trigger();
    pdl_wait();
    for (int e = 0; e < STAGES - 1; e++) fetch_next(&ring[e]);
    ROLLED
    for (int work = first_work(); work < works; work = next_work(work)) {
        number sum[WM / 16][WN / 8][4] = {0};
        ROLLED /* mainloop */
            for (int now = 0; now < pieces && k > 0; now++, s = s + 1 == STAGES ? 0 : s + 1)
        {
            COPIES_WAIT(STAGES - 2);
            __syncthreads(); /* this piece is there for all, and all have read the one before */
            fetch_next(&ring[s == 0 ? STAGES - 1 : s - 1]);
            multiply(sum, ring[s].a, ring[s].b, i_warp, j_warp);
        }
        /* epilogue */
        element_c *c = item_of<element_c>(c_items, pointers, stride_c, item_at(work, tiles));
        work_at(work, tiles, &c_i0, &c_j0);
        int c_i = c_i0 + i_warp + lane / 4, c_j = c_j0 + j_warp + lane % 4 * 2;
        UNROLLED
        for (int i = 0; i < WM / 8; i++) {
            int row = c_i + 8 * i;
            if (row >= m) continue;
            UNROLLED
            for (int j = 0; j < WN / 8; j++) put<2>(OUT, row, c_j + 8 * j, &sum[i / 2][j][i % 2 * 2]);
        }
    }
}
