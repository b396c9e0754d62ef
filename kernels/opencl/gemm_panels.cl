/* gemm_panels - the production kernel for OpenCL devices that are processors, of every type: packed panels and a tile
 * of C in vector registers.
 *
 * IDEA      A processor has no use for work-items that meet at barriers: a group is one work-item, and there are as
 *           many as compute units. Each takes the next block of C from a common counter and computes it by loops 3 to 1
 *           of Goto and van de Geijn, in a workspace of its own:
 *
 *             for each KC of k                              an element is widened once, edges become zeros
 *               pack the block's columns of B and rows of A as panels of NR and MR
 *               for each panel of B                         stays in the L2
 *                 for each panel of A                       streams past it
 *                   MR x NR sums += column of A x row of B, KC times
 *
 *           Where C has no more rows than a tile, each element of B is used once: what fills whole panels of a B that
 *           is not transposed is read in place.
 *
 *           A step of k takes NR / LANES loads of B and MR broadcasts of A for MR * NR / LANES multiply-adds of LANES
 *           lanes. Sums stay unscaled between the panels of k.
 * NUMBERS   8 x 48 x 512 (f32) and 8 x 24 x 384 (f64) by vectors of 64 bytes: 24 chains, 11 loads for 24 FMAs. 6 x 16
 *           and 6 x 8 by 32 bytes: 12 chains. bf16 and f16 are multiplied in f32. So are integers, of which KC products
 *           have an exact sum; the sums of panels are added as 32-bit integers.
 * LIMITS    any m, n >= 1, k, ld, address and transposes. Work-groups of one work-item; a workspace.
 * CHANGED   from the CPU's gemm_simd: one work-item packs and multiplies, edge tiles compute zeros.
 * SOURCE    Goto, van de Geijn 2008; Van Zee, van de Geijn 2015 */
#include "rung.clh"
#include "types.clh"
#include "epilogue.clh"

enum { MR = ROW_M, NR = ROW_N, KC = ROW_K, LANES = ROW_LANES, V = NR / LANES, PACKED = 8, GROUP = 8 };
ASSUME(ROW_THREADS == 1 && NR % LANES == 0 && NR % PACKED == 0 && V <= 3)

/* What panels hold, and vectors of it and of sums. */
#if SUMS_F64
#define REAL double
#else
#define REAL float
#endif
typedef JOIN(REAL, ROW_LANES) vec;
typedef JOIN(NUMBER, ROW_LANES) sums_vec;
#if SUMS_S32
#define TO_SUMS(x) JOIN(convert_int, ROW_LANES)(x)
#else
#define TO_SUMS(x) (x)
#endif
#define VLOAD(from)   JOIN(vload, ROW_LANES)(0, from)
#define VSTORE(x, to) JOIN(vstore, ROW_LANES)(x, 0, to)

/* Is the type what panels hold? */
#define HOLDS(type) JOIN(HOLDS_, type)
#define HOLDS_f64   1
#define HOLDS_f32   1
#define HOLDS_f16   0
#define HOLDS_bf16  0
#define HOLDS_s8    0
#define HOLDS_u8    0

/* PACKED neighbours, widened. */
#define LOAD_8(type)   JOIN(load_8_, type)
#define load_8_f64(x)  vload8(0, x)
#define load_8_f32(x)  vload8(0, x)
#define load_8_f16(x)  vload_half8(0, (__global const half *)(x))
#define load_8_bf16(x) as_float8(convert_uint8(vload8(0, x)) << 16)
#define load_8_s8(x)   convert_float8(vload8(0, x))
#define load_8_u8(x)   convert_float8(vload8(0, x))

/* 8 rows of 8 become 8 columns in three perfect shuffles. */
typedef JOIN(REAL, 8) eight;
#define LOW(x, y)  (eight)(x.s0, y.s0, x.s1, y.s1, x.s2, y.s2, x.s3, y.s3)
#define HIGH(x, y) (eight)(x.s4, y.s4, x.s5, y.s5, x.s6, y.s6, x.s7, y.s7)
__attribute__((always_inline)) static inline void transpose(eight x[8])
{
    UNROLLED
    for (int round = 0; round < 3; round++) {
        eight y[8];
        UNROLLED
        for (int i = 0; i < 4; i++) y[2 * i] = LOW(x[i], x[i + 4]), y[2 * i + 1] = HIGH(x[i], x[i + 4]);
        UNROLLED
        for (int i = 0; i < 8; i++) x[i] = y[i];
    }
}

/* Panels of `width` lines of an operand, of which `lines` are there, depth steps of k, the panels KC steps apart:
 * name##_along where a line's neighbours in memory are other lines, ld apart along k, GROUP panels at a time, so that
 * few pages are read in turns; name##_across where they are its next steps of k. */
#define PACK(name, type, width)                                                                                        \
    static void name##_along(__global REAL *restrict to, __global const WORD(type) *restrict from, long ld, int lines, \
                             int depth)                                                                                \
    {                                                                                                                  \
        for (int e0 = 0; e0 < lines; e0 += GROUP * (width))                                                            \
            for (int p = 0; p < depth; p++)                                                                            \
                for (int e1 = e0; e1 < min(e0 + GROUP * (width), lines); e1 += (width)) {                              \
                    __global REAL *at = to + (long)e1 * KC + p * (width);                                              \
                    __global const WORD(type) *row = from + p * ld + e1;                                               \
                    int e = 0, there = min((int)(width), lines - e1);                                                  \
                    for (; e + PACKED <= there; e += PACKED) vstore8(LOAD_8(type)(row + e), 0, at + e);                \
                    for (; e < there; e++) at[e] = LOAD(type)(row + e);                                                \
                    for (; e < (width); e++) at[e] = 0;                                                                \
                }                                                                                                      \
    }                                                                                                                  \
    static void name##_across(__global REAL *restrict to, __global const WORD(type) *restrict from, long ld,           \
                              int lines, int depth)                                                                    \
    {                                                                                                                  \
        int e = 0;                                                                                                     \
        for (; (width) % PACKED == 0 && e + PACKED <= lines; e += PACKED, from += PACKED * ld) {                       \
            __global REAL *at = to + (long)(e - e % (width)) * KC + e % (width);                                       \
            int p = 0;                                                                                                 \
            for (; p + PACKED <= depth; p += PACKED) {                                                                 \
                eight x[PACKED];                                                                                       \
                UNROLLED                                                                                               \
                for (int q = 0; q < PACKED; q++) x[q] = LOAD_8(type)(from + q * ld + p);                               \
                transpose(x);                                                                                          \
                UNROLLED                                                                                               \
                for (int q = 0; q < PACKED; q++) vstore8(x[q], 0, at + (p + q) * (width));                             \
            }                                                                                                          \
            for (; p < depth; p++)                                                                                     \
                for (int q = 0; q < PACKED; q++) at[p * (width) + q] = LOAD(type)(from + q * ld + p);                  \
        }                                                                                                              \
        for (; e < lines || e % (width) != 0; e++, from += ld) {                                                       \
            __global REAL *at = to + (long)(e - e % (width)) * KC + e % (width);                                       \
            for (int p = 0; p < depth; p++) at[p * (width)] = e < lines ? LOAD(type)(from + p) : 0;                    \
        }                                                                                                              \
    }
PACK(pack_a, TYPE_A, MR)
PACK(pack_b, TYPE_B, NR)

/* What becomes of a tile: its sums go to `tile`, in rows of NR, those there are added to first if goes_on; or, if it
 * ends, rows x cols of it to C, from `row` and `column` on. */
typedef struct target {
    __global number *tile;
    output c;
    int row, column, rows, cols;
    bool goes_on, ends;
} target;

/* The rows x cols of a tile that lie in C. */
static void put_tile(const target *t)
{
    for (int i = 0; i < t->rows; i++) {
        __global const number *from = t->tile + i * NR;
        int j = 0;
#if !NARROW_C
        for (; j + LANES <= t->cols; j += LANES) put_vector(t->c, t->row + i, t->column + j, VLOAD(from + j));
#endif
        for (; j < t->cols; j++) put_one(t->c, t->row + i, t->column + j, from[j]);
    }
}

/* MR x vectors * LANES sums over depth steps of k, of which those of B are ldb apart. */
__attribute__((always_inline)) static inline void tile_of(const int vectors, int depth, __global const REAL *a,
                                                          __global const REAL *b, long ldb, const target *t)
{
    vec sum[MR][V];
    sums_vec made[MR][V];
    UNROLLED
    for (int i = 0; i < MR; i++) {
        UNROLLED
        for (int v = 0; v < vectors; v++) sum[i][v] = 0;
    }
#if !SUMS_S32
    if (t->goes_on) {
        UNROLLED
        for (int i = 0; i < MR; i++) {
            UNROLLED
            for (int v = 0; v < vectors; v++) sum[i][v] = VLOAD(t->tile + i * NR + v * LANES);
        }
    }
#endif
    ROLLED
    for (int p = 0; p < depth; p++, a += MR, b += ldb) {
        vec row[V];
        UNROLLED
        for (int v = 0; v < vectors; v++) row[v] = VLOAD(b + v * LANES);
        UNROLLED
        for (int i = 0; i < MR; i++) {
            UNROLLED
            for (int v = 0; v < vectors; v++) sum[i][v] = fma((vec)(a[i]), row[v], sum[i][v]);
        }
    }
    UNROLLED
    for (int i = 0; i < MR; i++) {
        UNROLLED
        for (int v = 0; v < vectors; v++) {
            made[i][v] = TO_SUMS(sum[i][v]);
#if SUMS_S32
            if (t->goes_on) made[i][v] += VLOAD(t->tile + i * NR + v * LANES);
#endif
        }
    }
#if !NARROW_C
    if (t->ends && t->rows == MR && t->cols == vectors * LANES) { /* it need not go by memory */
        UNROLLED
        for (int i = 0; i < MR; i++) {
            UNROLLED
            for (int v = 0; v < vectors; v++) put_vector(t->c, t->row + i, t->column + v * LANES, made[i][v]);
        }
        return;
    }
#endif
    UNROLLED
    for (int i = 0; i < MR; i++) {
        UNROLLED
        for (int v = 0; v < vectors; v++) VSTORE(made[i][v], t->tile + i * NR + v * LANES);
    }
    if (t->ends) put_tile(t);
}

/* block_m and block_n: of a block of C, multiples of MR and NR. counters: of blocks taken and of groups that have
 * ended, zero before and after. work: 64 numbers that are not used, where a caller's workspace has the counters; then
 * each group's workspace. items: of a batch, whose operands lie stride_a, stride_b and stride_c elements apart. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_panels(TYPED_PARAMETERS, int op_a, int op_b, int block_m, int block_n, volatile __global int *counters,
            __global number *restrict work, int items, long stride_a, long stride_b, long stride_c)
{
    volatile __global int *taken = counters, *ended = counters + 1;
    const long a_size = (long)block_m * KC, b_size = (long)block_n * KC,
               sums_size = k > KC ? (long)block_m * block_n : MR * NR;
    __global REAL *a_panels = (__global REAL *)work + 64 + get_group_id(0) * (a_size + b_size + sums_size),
                  *b_panels = a_panels + a_size;
    __global number *sums = (__global number *)(b_panels + b_size);
    const int blocks_m = ceil_div(m, block_m), blocks = blocks_m * ceil_div(n, block_n);
    for (int next = atomic_inc(taken); next < items * blocks; next = atomic_inc(taken)) {
        const int item = next / blocks, block = next % blocks;
        const int i0 = block % blocks_m * block_m, j0 = block / blocks_m * block_n;
        __global const WORD(TYPE_A) *a_item = a + item * stride_a;
        __global const WORD(TYPE_B) *b_item = b + item * stride_b;
        output c_item = OUTPUT;
        c_item.c += item * stride_c;
        const int rows = min(block_m, m - i0), cols = min(block_n, n - j0), tiles_m = ceil_div(rows, MR);
        for (int p0 = 0; p0 == 0 || p0 < k; p0 += KC) {
            const int depth = min((int)KC, k - p0);
            if (op_a)
                pack_a_along(a_panels, a_item + (long)p0 * lda + i0, lda, rows, depth);
            else
                pack_a_across(a_panels, a_item + (long)i0 * lda + p0, lda, rows, depth);
            const int in_place = HOLDS(TYPE_B) && !op_b && rows <= MR ? cols - cols % NR : 0; /* columns of B */
            if (op_b)
                pack_b_across(b_panels, b_item + (long)j0 * ldb + p0, ldb, cols, depth);
            else
                pack_b_along(b_panels + (long)in_place * KC, b_item + (long)p0 * ldb + j0 + in_place, ldb,
                             cols - in_place, depth);
            for (int j = 0; j < cols; j += NR)
                for (int i = 0; i < rows; i += MR) {
                    __global const REAL *a_panel = a_panels + (long)i * KC, *b_panel = b_panels + (long)j * KC;
                    const target t = {.tile = sums + (k > KC ? (long)(j / NR * tiles_m + i / MR) * (MR * NR) : 0),
                                      .c = c_item,
                                      .row = i0 + i,
                                      .column = j0 + j,
                                      .rows = min((int)MR, rows - i),
                                      .cols = min((int)NR, cols - j),
                                      .goes_on = p0 > 0,
                                      .ends = k - p0 <= KC};
                    if (j < in_place)
                        tile_of(V, depth, a_panel, (__global const REAL *)b_item + (long)p0 * ldb + j0 + j, ldb, &t);
                    else if (t.cols > LANES)
                        tile_of(V, depth, a_panel, b_panel, NR, &t);
                    else
                        tile_of(1, depth, a_panel, b_panel, NR, &t);
                }
        }
    }
    if (atomic_inc(ended) == (int)get_num_groups(0) - 1) atomic_xchg(ended, 0), atomic_xchg(taken, 0);
}
