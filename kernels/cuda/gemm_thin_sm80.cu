/* gemm_thin_sm80 - the production kernel for bf16 and f16 where C has few rows or few columns: the long operand is read
 * where it lies, at any address, once, at the rate of the memory.
 *
 * IDEA      With few rows of C, memory decides, and a copy that aligns the long operand would move it three times.
 *           16 bytes at a multiple of 16 hold the same elements of all lines whose addresses have the same residue
 *           modulo 16, and lines that are 8 apart have that, whatever ld is. So each of a block's 8 warps has lines
 *           that are 8 apart, 16 at a time, and mma.sync multiplies them by 8 lines of the short operand.
 *
 *               along k: warp 0 has lines 0, 8, 16, ..., warp 1 lines 1, 9, 17, ...
 *               line 0  |a a a a a a a a|a a a a ...       line 1       b b b|b b b b b b b b|b ...
 *               line 8  |a a a a a a a a|a a a a ...       line 9       b b b|b b b b b b b b|b ...
 *                       16 bytes                                             16 bytes
 *
 *           The short operand lies in shared memory, where each warp begins at the step of k at which its own pieces
 *           of 16 bytes do: twice, one copy an element further, since words begin at every second element.
 *
 *           Where the long operand lies across k, its lines are steps of k: warp w has those with k % 8 = w, and a
 *           matrix instruction gets two lines' elements of one column side by side. The pieces of two warps begin at
 *           different columns, so that tiles overlap by 8 columns; at the end the warps' sums are added in order.
 *
 *           A quarter of a warp asks for 128 bytes of a line (cp.async); the lanes that multiply others' pieces find
 *           them in shared memory. Blocks divide k (split-K), and add.cu adds.
 * NUMBERS   64 KiB of pieces for each block, two blocks for each multiprocessor. docs/perf/gemm-thin.md
 * LIMITS    m, n >= 1; operands at any address and ld. FEW_ROWS = 1: TILE_M is 8, TILE_N 128; FEW_ROWS = 0: the other
 *           way round. Any C; C_HALF, IN_F16 as in epilogue.cuh.
 * HOST      block ROW_THREADS, dynamic shared memory ROW_BYTES; grid tiles * splits, where tiles along the longer edge
 *           are 128 apart, or 120 where the long operand lies across k. splits > 1: memory has splits parts of
 *           part_rows >= m rows, SPLIT_COLUMNS(n) apart. May be launched with PDL (programmatic stream serialization).
 * CHANGED   from r13m_mma: the long operand's pieces go to the lanes that multiply them, no ldmatrix.
 * SOURCE    PTX ISA (mma.sync, cp.async) */
#include "rung.cuh"
#include "arguments.h"
#include "epilogue.cuh"
#include "pdl.cuh"
#include "ampere.cuh"
#include "pieces.cuh"

#if FEW_ROWS
#define LONG_ACROSS  (1 - OP_B)
#define SHORT_ACROSS OP_A
enum { FEW = TILE_M, LONG = TILE_N };
#else
#define LONG_ACROSS  OP_A
#define SHORT_ACROSS (1 - OP_B)
enum { FEW = TILE_N, LONG = TILE_M };
#endif
enum {
    THREADS = 256,
    LINES = 16, /* of a warp at a time, 16 pieces of each */
    EDGE = LONG_ACROSS ? LONG - PIECE : LONG,
    STEP = LONG_ACROSS ? LINES * RESIDUES : 16 * PIECE, /* of k */
    STAGES = ROW_STAGES,
    /* of the short operand in shared memory: steps of k that are brought, and that count along k; words between two
     * lines, which are in different banks, and to the copy that begins an element later */
    BROUGHT = 2 * THREADS,
    SHORT = LONG_ACROSS ? BROUGHT : BROUGHT - STEP,
    SHORT_LINE = LONG_ACROSS ? BROUGHT / 2 + 4 : BROUGHT + 64,
    SHIFTED = BROUGHT / 2 + 16
};
ASSUME(THREADS == ROW_THREADS && THREADS == RESIDUES * 32 && LONG == LINES * RESIDUES && FEW == 8 && STEP == ROW_K &&
       SHORT % STEP == 0)

/* What a warp has of the long operand at a time. */
typedef uint4 pieces[LINES * 16];

struct room {
    union {
        pieces ring[STAGES][RESIDUES];
        float sums[LONG_ACROSS ? RESIDUES : 1][FEW][LONG];
    };
    unsigned few[FEW * SHORT_LINE];
};
ASSUME(sizeof(struct room) <= ROW_BYTES)

static __device__ __forceinline__ unsigned word(uint4 x, int q)
{
    return q == 0 ? x.x : q == 1 ? x.y : q == 2 ? x.z : x.w;
}

/* ---- the short operand, in shared memory ---- */

/* Where a line begins, in words: along k eight lines' four pieces are in 32 different banks. */
static __device__ __forceinline__ int line_at(int few)
{
    return few * SHORT_LINE + (LONG_ACROSS ? 0 : few % 4 + few / 4 % 2 * 16);
}

/* All threads: of each line what is multiplied from p0 on, 0 outside of k and from `limit` on. Along k that begins up
 * to a piece before. */
static __device__ __forceinline__ void stage_short(unsigned *to, const element *y, long ld, int lines, long p0,
                                                   long limit)
{
    enum { AT_ONCE = 2, EACH = BROUGHT / THREADS };
    const int place = threadIdx.x,
              half = LONG_ACROSS ? place / STEP * STEP + place % RESIDUES * 16 + place % STEP / RESIDUES : place;
    const long p = p0 + place - (LONG_ACROSS ? 0 : PIECE), step = SHORT_ACROSS ? ld : 1;
    const element *from = y + p * step;
    ROLLED
    for (int few = 0; few < lines; few += AT_ONCE) {
        element x[AT_ONCE][EACH];
        UNROLLED
        for (int i = 0; i < AT_ONCE; i++) {
            UNROLLED
            for (int e = 0; e < EACH; e++) {
                const long at = p + e * THREADS;
                x[i][e] = 0;
                if (few + i < lines && at >= 0 && at < limit)
                    x[i][e] = from[(SHORT_ACROSS ? few + i : (few + i) * ld) + e * THREADS * step];
            }
        }
        UNROLLED
        for (int i = 0; i < AT_ONCE; i++) {
            element *line = (element *)&to[line_at(few + i)] + half;
            UNROLLED
            for (int e = 0; e < EACH; e++) { /* across k the steps of a residue side by side */
                line[e * THREADS] = x[i][e];
                if (!LONG_ACROSS && place + e > 0) line[SHIFTED * 2 + e * THREADS - 1] = x[i][e];
            }
        }
    }
}

/* ---- the long operand, from memory to the registers of the lane that multiplies it ---- */

/* x: its elements; end: behind its last one; i0: the first of its lines or columns; shift: elements before the warp's
 * lines in their first pieces. A lane asks for pieces lane % 8 and 8 further of lines lane / 8, 4 further and so on:
 * `line` says where, of the next step, and `has` how many bytes are there. */
struct operand {
    const element *x, *end;
    long ld;
    int many, i0, k, shift, warp, lane;
    const element *line[4];
    int has[LONG_ACROSS ? 2 : 4];
    long stride;
};

/* Which line of the operand the warp's line number `line` of a step is, and with which of its elements piece number
 * `piece` begins. */
static __device__ __forceinline__ long line_of(const struct operand &all, int step, int line)
{
    return (LONG_ACROSS ? (long)step * STEP : all.i0) + line * RESIDUES + all.warp;
}
static __device__ __forceinline__ long first_of(const struct operand &all, int step, int piece)
{
    return (LONG_ACROSS ? all.i0 : (long)step * STEP) - all.shift + piece * PIECE;
}

static __device__ __forceinline__ struct operand operand_of(const element *x, long ld, int many, int i0, int k,
                                                            int from)
{
    struct operand all = {x, x + (LONG_ACROSS ? (k - 1) * ld + many : (many - 1) * ld + k), ld, many, i0, k};
    all.warp = threadIdx.x / 32, all.lane = threadIdx.x % 32;
    all.shift = before(x + (LONG_ACROSS ? all.warp * ld + i0 : (i0 + all.warp) * ld));
    all.stride = STEP * (LONG_ACROSS ? ld : 1);
    UNROLLED
    for (int q = 0; q < (LONG_ACROSS ? 2 : 4); q++)
        all.has[q] = (LONG_ACROSS ? first_of(all, 0, q * 8 + all.lane % 8) : line_of(all, 0, q * 4 + all.lane / 8)) <
                             many
                         ? 16
                         : 0;
    UNROLLED
    for (int q = 0; q < 4; q++)
        all.line[q] = x + (LONG_ACROSS || all.has[q] ? line_of(all, from, q * 4 + all.lane / 8) : 0) * ld +
                      first_of(all, from, all.lane % 8);
    return all;
}

/* Where a piece lies: those that lanes ask for together, and those that they read together, in different banks. */
static __device__ __forceinline__ int piece_at(int line, int piece)
{
    return line * 16 + (piece ^ (line & 6) ^ line % 2 * 4);
}

/* Asks for the pieces of a step, if it is there. What is no element of the operand becomes 0, or along k lies beside
 * the lines (inside). */
static __device__ __forceinline__ void copy(pieces &to, struct operand &all, int step, int end)
{
    const int line = all.lane / 8, piece = all.lane % 8;
    if (step < end && step < (all.k - (LONG_ACROSS ? PIECE : 0)) / STEP) {
        UNROLLED
        for (int q = 0; q < 4; q++) {
            UNROLLED
            for (int h = 0; h < 2; h++)
                COPY_16_OF_128(shared_address(&to[piece_at(q * 4 + line, h * 8 + piece)]), all.line[q] + h * 8 * PIECE,
                               all.has[LONG_ACROSS ? h : q]);
            all.line[q] += all.stride;
        }
    } else if (step < end) {
        ROLLED
        for (int both = 0; both < 8; both++) {
            const int q = both / 2, h = both % 2;
            const long there = line_of(all, step, q * 4 + line), first = first_of(all, step, h * 8 + piece);
            const element *from = all.x + there * all.ld + first;
            const bool is = there < (LONG_ACROSS ? all.k : all.many) && first < (LONG_ACROSS ? all.many : all.k);
            uint4 *into = &to[piece_at(q * 4 + line, h * 8 + piece)];
            ask_for_piece(into, from, is, (int)min(all.end - from, (long)PIECE), all.end);
        }
    }
    copies_commit();
}

/* Two of a line's elements, the first of which is number `at`: 0 outside of the line. */
static __device__ __forceinline__ unsigned inside(unsigned two, long at, int length)
{
    return two & ((at >= 0 && at < length ? 0xffffu : 0) | (at + 1 >= 0 && at + 1 < length ? 0xffff0000u : 0));
}

/* Sums of 16 lines, or 16 columns, of the long operand with 8 of the short one. */
typedef float sums[LONG_ACROSS ? PIECE : 2][4];

/* few: what the short operand has for the step, in the lane's place. */
static __device__ __forceinline__ void multiply(sums &sum, const pieces &from, const unsigned *few,
                                                const struct operand &all, int step)
{
    const int g = all.lane / 4, t = all.lane % 4;
    uint4 x[4][2];
    UNROLLED
    for (int q = 0; q < 4; q++) {
        UNROLLED
        for (int h = 0; h < 2; h++)
            x[q][h] =
                from[LONG_ACROSS ? piece_at(q / 2 * 8 + t * 2 + q % 2, h * 8 + g) : piece_at(h * 8 + g, q * 4 + t)];
    }
#if LONG_ACROSS
    const unsigned b[2] = {few[0], few[4]};
    UNROLLED
    for (int q = 0; q < PIECE; q++) { /* columns q, q + 8, ...: neighbours along k side by side */
        const unsigned halves = q % 2 ? 0x7632 : 0x5410;
        unsigned a[4];
        UNROLLED
        for (int e = 0; e < 4; e++)
            a[e] = __byte_perm(word(x[e / 2 * 2][e % 2], q / 2), word(x[e / 2 * 2 + 1][e % 2], q / 2), halves);
        warp_multiply(sum[q], a, b);
    }
#else
    if (step == 0 || step >= all.k / STEP) { /* what lies beside the line is not to be multiplied, even by 0 */
        UNROLLED
        for (int q = 0; q < 4; q++) {
            const long at = first_of(all, step, q * 4 + t);
            UNROLLED
            for (int h = 0; h < 2; h++)
                x[q][h] = make_uint4(inside(x[q][h].x, at, all.k), inside(x[q][h].y, at + 2, all.k),
                                     inside(x[q][h].z, at + 4, all.k), inside(x[q][h].w, at + 6, all.k));
        }
    }
    UNROLLED
    for (int q = 0; q < 4; q++) {
        UNROLLED
        for (int e = 0; e < 4; e += 2) { /* half of a piece */
            const unsigned a[4] = {word(x[q][0], e), word(x[q][1], e), word(x[q][0], e + 1), word(x[q][1], e + 1)},
                           b[2] = {few[q * 16 + e], few[q * 16 + e + 1]};
            warp_multiply(sum[e / 2], a, b);
        }
    }
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    gemm_thin_sm80(PLAIN_ARGUMENTS(PARAMETER, number, element, element, element_c),
                   ADDED_ARGUMENTS(PARAMETER, number *))
{
    extern __shared__ __align__(128) struct room room[];
    const int few = FEW_ROWS ? m : n, many = FEW_ROWS ? n : m, tall = ceil_div(many, EDGE),
              tiles = tall * ceil_div(few, FEW), tile = blockIdx.x % tiles, split = blockIdx.x / tiles,
              i0 = tile % tall * EDGE, j0 = tile / tall * FEW, lines = min(few - j0, (int)FEW);
    /* pieces along k may begin up to 7 elements before it */
    const int more = !LONG_ACROSS && k > 0 && (k % STEP == 0 || k % STEP > STEP - PIECE + 1),
              steps = ceil_div(k, STEP) + more, length = ceil_div(steps, splits), from = min(split * length, steps),
              to = min(from + length, steps);
    const element *y = (FEW_ROWS ? a : b) + (long)j0 * (SHORT_ACROSS ? 1 : FEW_ROWS ? lda : ldb);
    struct operand all = operand_of(FEW_ROWS ? b : a, FEW_ROWS ? ldb : lda, many, i0, k, from);
    const int warp = all.warp, g = all.lane / 4, t = all.lane % 4;
    const unsigned *own = &room->few[line_at(g)] +
                          (LONG_ACROSS ? warp * 8 + t : (PIECE - all.shift) / 2 + all.shift % 2 * SHIFTED + t * 4);
    sums sum = {0};
    int now = 0;
    pdl_wait();
    pdl_trigger();
    for (int q = 0; q < STAGES - 1; q++) copy(room->ring[q][warp], all, from + q, to);
    ROLLED
    for (int step = from; step < to; step++) {
        const int there = (step - from) % (SHORT / STEP);
        copy(room->ring[(now + STAGES - 1) % STAGES][warp], all, step + STAGES - 1, to);
        if (there == 0) {
            __syncthreads(); /* all have read the stage before */
            stage_short(room->few, y, FEW_ROWS ? lda : ldb, lines, (long)step * STEP, k);
            __syncthreads();
        }
        COPIES_WAIT(STAGES - 1);
        __syncwarp(); /* those of the other lanes have come too */
        multiply(sum, room->ring[now][warp], own + there * (STEP / 2), all, step);
        __syncwarp(); /* all have read them */
        if (++now == STAGES) now = 0;
    }
    __syncthreads(); /* the sums take the room of the pieces */
#if LONG_ACROSS
    UNROLLED
    for (int q = 0; q < PIECE; q++) {
        UNROLLED
        for (int e = 0; e < 4; e++) {
            const int column = (g + e / 2 * 8) * PIECE + q - all.shift;
            if (column >= 0) room->sums[warp][t * 2 + e % 2][column] = sum[q][e];
        }
    }
#else
    UNROLLED
    for (int e = 0; e < 4; e++) room->sums[0][t * 2 + e % 2][warp + (g + e / 2 * 8) * RESIDUES] = sum[0][e] + sum[1][e];
#endif
    __syncthreads();
    ROLLED
    for (int e = threadIdx.x; e < lines * EDGE; e += THREADS) {
        const int j = FEW_ROWS ? e / EDGE : e % lines, i = FEW_ROWS ? e % EDGE : e / lines;
        float whole = room->sums[0][j][i];
        UNROLLED
        for (int w = 1; w < (LONG_ACROSS ? (int)RESIDUES : 1); w++) whole += room->sums[w][j][i];
        const int row = FEW_ROWS ? j0 + j : i0 + i, column = FEW_ROWS ? i0 + i : j0 + j;
        if (splits == 1)
            put_one(OUT, row, column, whole);
        else if (row < m && column < n)
            __stcg(&memory[((long)split * part_rows + row) * SPLIT_COLUMNS(n) + column], whole);
    }
}
