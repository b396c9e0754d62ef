/* gemm_inplace_sm80 - the production kernel for bf16 and f16 where operands at any address are worth no copy: k is
 * short, or C has few rows or few columns.
 *
 * IDEA      Operands whose rows are not of whole 16 bytes are read where they lie (pieces.cuh), through a ring in
 *           shared memory. A line begins at any element of its first piece, so that a lane puts together what it
 *           gives to mma.sync, two elements at a time. Lines that are 8 apart begin alike, and the rows and the steps
 *           of k that a lane multiplies are 8 apart: it works out once for each operand where they begin.
 *
 *               line 0   |. . . a b c d e|f g h ...     line 8 the same      lane: a and b, later i and j
 *               line 1   |. . . . a b c d|e f g ...     line 9 the same            a and b, later i and j
 *                        16 bytes
 *
 *           C leaves through shared memory, 32 neighbours of a row at once, at any address too. Blocks may divide k
 *           (split-K), and add.cu adds.
 * NUMBERS   64 x 64: four warps of 32 x 32, which put together 16 registers from 32 loads of 2 bytes for 16 steps of k.
 * LIMITS    m, n >= 1; operands at any address and ld. TILE_M, TILE_N multiples of 32. Any C; C_HALF, IN_F16 as in
 *           epilogue.cuh.
 * HOST      block ROW_THREADS, dynamic shared memory ROW_BYTES; grid ceil(m / TILE_M) * ceil(n / TILE_N) * splits.
 *           splits > 1: memory has splits parts of part_rows >= m rows, SPLIT_COLUMNS(n) apart. May be launched with
 *           PDL (programmatic stream serialization).
 * CHANGED   from r13m_mma: pieces at any address, no ldmatrix.
 * SOURCE    PTX ISA (mma.sync, cp.async) */
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#include "pdl.cuh"
#include "ampere.cuh"
#include "pieces.cuh"

enum {
    BM = TILE_M,
    BN = TILE_N,
    BK = ROW_K,
    EDGE = 32, /* of a warp's tile */
    WARPS_N = BN / EDGE,
    THREADS = BM / EDGE * WARPS_N * 32,
    STAGES = ROW_STAGES,
    A_ACROSS = OP_A,
    B_ACROSS = 1 - OP_B
};
ASSUME(THREADS == ROW_THREADS && BK % 16 == 0)
#include "schedule.cuh"

/* A tile as it lies: LINES of LENGTH elements, each of which may begin anywhere in its first piece. */
template <int LINES_, int LENGTH_> struct tile {
    enum { LINES = LINES_, LENGTH = LENGTH_, PIECES = LENGTH / PIECE + 1, WIDTH = PIECES * PIECE };
    uint4 piece[LINES][PIECES];
};
typedef tile<A_ACROSS ? BK : BM, A_ACROSS ? BM : BK> a_tile;
typedef tile<B_ACROSS ? BK : BN, B_ACROSS ? BN : BK> b_tile;

union room {
    struct {
        a_tile a;
        b_tile b;
    } ring[STAGES];
    float sums[BM][BN + 4];
};
ASSUME(sizeof(union room) <= ROW_BYTES)

/* All threads: asks for a tile whose first element is number `first` of line number `line`; the operand has so many
 * lines of so many elements, ld apart. What is beyond a line, and a line beyond the operand, becomes 0. Up to eight
 * threads ask for neighbours in a line, and a thread's lines are so far apart that they begin alike. A line that begins
 * within its first piece has a last one: a thread asks for it. */
template <typename T>
static __device__ __forceinline__ void copy_tile(T &to, const element *x, long ld, int line, int lines, int first,
                                                 int length)
{
    enum { LAST = T::PIECES - 1, TOGETHER = LAST < 8 ? LAST : 8, APART = THREADS / TOGETHER };
    const int own = threadIdx.x / TOGETHER, piece = threadIdx.x % TOGETHER, ending = threadIdx.x % T::LINES,
              behind = length - first;
    const element *from = x + (long)(line + own) * ld + first, *end = x + (lines - 1) * ld + length,
                  *to_end = x + (long)(line + ending) * ld + first;
    const int shift = before(from), end_shift = before(to_end);
    ASSUME(APART % RESIDUES == 0 && T::LINES % APART == 0 && LAST % TOGETHER == 0 && T::LINES <= THREADS)
    from += piece * PIECE - shift;
    UNROLLED
    for (int e = 0; e < T::LINES; e += APART) {
        UNROLLED
        for (int q = 0; q < LAST; q += TOGETHER)
            ask_for_piece(&to.piece[own + e][piece + q], from + q * PIECE, line + own + e < lines,
                          behind - (piece + q) * PIECE + shift, end);
        from += APART * ld;
    }
    if (threadIdx.x < T::LINES && end_shift > 0)
        ask_for_piece(&to.piece[ending][LAST], to_end + LAST * PIECE - end_shift, line + ending < lines,
                      behind - LAST * PIECE + end_shift, end);
}

/* Two elements, one beside the other. */
static __device__ __forceinline__ unsigned pair(const element *x, const element *y)
{
    return __byte_perm(*x, *y, 0x5410);
}

/* Adds the tiles' products: all BK steps of k if WHOLE, else `left`, the rest of their last 16 being 0. a_at, b_at: the
 * lane's first elements of either, in its first line and in the one beside it. */
template <bool WHOLE>
static __device__ __forceinline__ void multiply(float (&sum)[2][4][4], const a_tile &a, const b_tile &b,
                                                const int (&a_at)[2], const int (&b_at)[2], int left)
{
    enum { A_8 = A_ACROSS ? 8 : 8 * a_tile::WIDTH, B_8 = B_ACROSS ? 8 : 8 * b_tile::WIDTH }; /* 8 rows or columns on */
    enum { A_K = A_ACROSS ? 8 * a_tile::WIDTH : 8, B_K = B_ACROSS ? 8 * b_tile::WIDTH : 8 }; /* 8 steps of k on */
    const element *a0 = (const element *)a.piece + a_at[0], *a1 = (const element *)a.piece + a_at[1],
                  *b0 = (const element *)b.piece + b_at[0], *b1 = (const element *)b.piece + b_at[1];
    UNROLLED
    for (int p = 0; p < BK / 16; p++) {
        unsigned x[2][4], y[4][2];
        if (!WHOLE && p * 16 >= left) break;
        UNROLLED
        for (int i = 0; i < 2; i++) {
            UNROLLED
            for (int e = 0; e < 4; e++) {
                const int at = (i * 2 + e % 2) * A_8 + (p * 2 + e / 2) * A_K;
                x[i][e] = pair(a0 + at, a1 + at);
            }
        }
        UNROLLED
        for (int j = 0; j < 4; j++) {
            UNROLLED
            for (int e = 0; e < 2; e++) {
                const int at = j * B_8 + (p * 2 + e) * B_K;
                y[j][e] = pair(b0 + at, b1 + at);
            }
        }
        UNROLLED
        for (int i = 0; i < 2; i++) {
            UNROLLED
            for (int j = 0; j < 4; j++) warp_multiply(sum[i][j], x[i], y[j]);
        }
    }
}

/* Where in a tile a lane's two first elements lie: of row or column `edge` and steps `step` and step + 1 of k. begin:
 * where the tile begins in the operand. */
template <typename T, bool ACROSS>
static __device__ __forceinline__ void places(int (&at)[2], const element *begin, long ld, int edge, int step)
{
    UNROLLED
    for (int e = 0; e < 2; e++) {
        const int line = ACROSS ? step + e : edge;
        at[e] = line * T::WIDTH + before(begin + line * ld) + (ACROSS ? edge : step + e);
    }
}

/* 5: left to itself ptxas takes 80 registers of some forms and spills; shared memory has room for 4 blocks at most */
extern "C" __global__ void __launch_bounds__(THREADS, 5)
    gemm_inplace_sm80(PLAIN_ARGUMENTS(PARAMETER, number, element, element, element_c),
                      ADDED_ARGUMENTS(PARAMETER, number *))
{
    extern __shared__ __align__(128) union room room[];
    const struct tiling tiles = tiling_of(m, n);
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, split = blockIdx.x / tiles.count,
              chunks = ceil_div(k, BK), length = ceil_div(chunks, splits), from = min(split * length, chunks),
              to = min(from + length, chunks), i_warp = warp / WARPS_N * EDGE, j_warp = warp % WARPS_N * EDGE;
    int i0, j0, a_at[2], b_at[2], now = 0;
    float sum[2][4][4] = {0};
    tile_at((int)blockIdx.x % tiles.count, tiles, &i0, &j0);
    places<a_tile, A_ACROSS>(a_at, A_ACROSS ? a + i0 : a + (long)i0 * lda, lda, i_warp + g, t * 2);
    places<b_tile, B_ACROSS>(b_at, B_ACROSS ? b + j0 : b + (long)j0 * ldb, ldb, j_warp + g, t * 2);
    auto copy = [&](int slot, int chunk) {
        if (chunk < to) {
            if (A_ACROSS)
                copy_tile(room->ring[slot].a, a, lda, chunk * BK, k, i0, m);
            else
                copy_tile(room->ring[slot].a, a, lda, i0, m, chunk * BK, k);
            if (B_ACROSS)
                copy_tile(room->ring[slot].b, b, ldb, chunk * BK, k, j0, n);
            else
                copy_tile(room->ring[slot].b, b, ldb, j0, n, chunk * BK, k);
        }
        copies_commit();
    };
    pdl_wait();
    pdl_trigger();
    for (int q = 0; q < STAGES - 1; q++) copy(q, from + q);
    ROLLED
    for (int chunk = from; chunk < to; chunk++) {
        COPIES_WAIT(STAGES - 2);
        __syncthreads(); /* this stage has come for all, and all have read the one before */
        copy((now + STAGES - 1) % STAGES, chunk + STAGES - 1);
        const int left = k - chunk * BK;
        if (left >= BK)
            multiply<true>(sum, room->ring[now].a, room->ring[now].b, a_at, b_at, left);
        else
            multiply<false>(sum, room->ring[now].a, room->ring[now].b, a_at, b_at, left);
        if (++now == STAGES) now = 0;
    }
    __syncthreads(); /* the sums take the room of the ring */
    UNROLLED
    for (int i = 0; i < 2; i++) {
        UNROLLED
        for (int j = 0; j < 4; j++) {
            UNROLLED
            for (int e = 0; e < 4; e++)
                room->sums[i_warp + i * 16 + g + e / 2 * 8][j_warp + j * 8 + t * 2 + e % 2] = sum[i][j][e];
        }
    }
    __syncthreads();
    /* a warp stores a row */
    UNROLLED
    for (int r = 0; r < BM; r += THREADS / 32) {
        const int row = i0 + r + warp;
        if (row >= m) break;
        UNROLLED
        for (int q = 0; q < BN; q += 32) {
            const int column = j0 + q + threadIdx.x % 32;
            const float whole = room->sums[r + warp][q + threadIdx.x % 32];
            if (splits == 1)
                put_one(OUT, row, column, whole);
            else if (column < n)
                __stcg(&memory[((long)split * part_rows + row) * SPLIT_COLUMNS(n) + column], whole);
        }
    }
}
