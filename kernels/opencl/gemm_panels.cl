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
 *           A step of k takes NR / LANES loads of B and MR broadcasts of A for MR * NR / LANES multiply-adds of LANES
 *           lanes. Sums stay unscaled between the panels of k.
 * NUMBERS   8 x 48 x 384 (f32) and 8 x 24 x 256 (f64) by vectors of 64 bytes: 24 chains, 11 loads for 24 FMAs. 6 x 16
 *           and 6 x 8 by 32 bytes: 12 chains. bf16 and f16 are multiplied in f32. So are integers, of which KC products
 *           have an exact sum; the sums of panels are added as 32-bit integers.
 * LIMITS    any m, n >= 1, k, ld, address and transposes. Work-groups of one work-item; a workspace.
 * CHANGED   from the CPU's gemm_simd: one work-item packs and multiplies, edge tiles compute zeros.
 * SOURCE    Goto, van de Geijn 2008; Van Zee, van de Geijn 2015 */
#include "rung.clh"
#include "types.clh"

enum { MR = ROW_M, NR = ROW_N, KC = ROW_K, LANES = ROW_LANES, V = NR / LANES, PACKED = 8 };
ASSUME(ROW_THREADS == 1 && NR % LANES == 0 && NR % PACKED == 0 && V <= 3)

/* What panels hold, and vectors of it and of sums. */
#if SUMS_F64
#define REAL double
#else
#define REAL float
#endif
typedef JOIN(REAL, ROW_LANES) vec;
#if SUMS_S32
typedef JOIN(int, ROW_LANES) sums_vec;
#define TO_SUMS(x) JOIN(convert_int, ROW_LANES)(x)
#else
typedef vec sums_vec;
#define TO_SUMS(x) (x)
#endif
#define VLOAD(from)   JOIN(vload, ROW_LANES)(0, from)
#define VSTORE(x, to) JOIN(vstore, ROW_LANES)(x, 0, to)

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

/* A panel of `width` lines of an operand, of which `lines` are there, depth steps of k: name##_along where a line's
 * neighbours in memory are other lines, ld apart along k; name##_across where they are its next steps of k. */
#define PACK(name, type, width)                                                                                        \
    static void name##_along(__global REAL *restrict to, __global const WORD(type) *restrict from, long ld, int lines, \
                             int depth)                                                                                \
    {                                                                                                                  \
        for (int p = 0; p < depth; p++, from += ld, to += (width)) {                                                   \
            int e = 0;                                                                                                 \
            for (; e + PACKED <= lines; e += PACKED) vstore8(LOAD_8(type)(from + e), 0, to + e);                       \
            for (; e < lines; e++) to[e] = LOAD(type)(from + e);                                                       \
            for (; e < (width); e++) to[e] = 0;                                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_across(__global REAL *restrict to, __global const WORD(type) *restrict from, long ld,           \
                              int lines, int depth)                                                                    \
    {                                                                                                                  \
        int e = 0;                                                                                                     \
        for (; e + PACKED <= lines; e += PACKED, from += PACKED * ld) {                                                \
            int p = 0;                                                                                                 \
            for (; p + PACKED <= depth; p += PACKED) {                                                                 \
                eight x[PACKED];                                                                                       \
                UNROLLED                                                                                               \
                for (int q = 0; q < PACKED; q++) x[q] = LOAD_8(type)(from + q * ld + p);                               \
                transpose(x);                                                                                          \
                UNROLLED                                                                                               \
                for (int q = 0; q < PACKED; q++) vstore8(x[q], 0, to + (p + q) * (width) + e);                         \
            }                                                                                                          \
            for (; p < depth; p++)                                                                                     \
                for (int q = 0; q < PACKED; q++) to[p * (width) + e + q] = LOAD(type)(from + q * ld + p);              \
        }                                                                                                              \
        for (; e < lines; e++, from += ld)                                                                             \
            for (int p = 0; p < depth; p++) to[p * (width) + e] = LOAD(type)(from + p);                                \
        for (; e < (width); e++)                                                                                       \
            for (int p = 0; p < depth; p++) to[p * (width) + e] = 0;                                                   \
    }
PACK(pack_a, TYPE_A, MR)
PACK(pack_b, TYPE_B, NR)

/* MR x vectors * LANES sums over depth steps of k, kept at `tile` in rows of NR; goes_on: added to what is there. */
__attribute__((always_inline)) static inline void tile_of(const int vectors, int depth, __global const REAL *restrict a,
                                                          __global const REAL *restrict b, bool goes_on,
                                                          __global number *restrict tile)
{
    vec sum[MR][V];
    UNROLLED
    for (int i = 0; i < MR; i++) {
        UNROLLED
        for (int v = 0; v < vectors; v++) sum[i][v] = 0;
    }
#if !SUMS_S32
    if (goes_on) {
        UNROLLED
        for (int i = 0; i < MR; i++) {
            UNROLLED
            for (int v = 0; v < vectors; v++) sum[i][v] = VLOAD(tile + i * NR + v * LANES);
        }
    }
#endif
    ROLLED
    for (int p = 0; p < depth; p++, a += MR, b += NR) {
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
            sums_vec made = TO_SUMS(sum[i][v]);
#if SUMS_S32
            if (goes_on) made += VLOAD(tile + i * NR + v * LANES);
#endif
            VSTORE(made, tile + i * NR + v * LANES);
        }
    }
}

#define NARROW_f64  0
#define NARROW_f32  0
#define NARROW_s32  0
#define NARROW_f16  1
#define NARROW_bf16 1

/* c <- alpha * tile + beta * c, of the tile's rows x cols that lie in C. */
static void blend_tile(__global const number *restrict tile, int rows, int cols, number alpha, number beta,
                       __global WORD(TYPE_C) *restrict c, long ldc)
{
    for (int i = 0; i < rows; i++, tile += NR, c += ldc) {
        int j = 0;
#if !JOIN(NARROW_, TYPE_C)
        for (; j + LANES <= cols; j += LANES) {
            sums_vec x = alpha * VLOAD(tile + j);
#if SUMS_S32
            if (beta != 0) x += beta * VLOAD(c + j);
#else
            if (beta != 0) x = fma((sums_vec)(alpha), VLOAD(tile + j), beta * VLOAD(c + j));
#endif
            VSTORE(x, c + j);
        }
#endif
        for (; j < cols; j++) blend_typed(c + j, alpha, tile[j], beta);
    }
}

/* block_m and block_n: of a block of C, multiples of MR and NR. work: two counters, zero before and after, then each
 * group's workspace. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_panels(TYPED_PARAMETERS, int op_a, int op_b, int block_m, int block_n, __global number *restrict work)
{
    enum { COUNTERS = 64 };
    volatile __global int *next = (volatile __global int *)work, *ended = next + 1;
    const long a_size = (long)block_m * KC, b_size = (long)block_n * KC,
               sums_size = k > KC ? (long)block_m * block_n : MR * NR;
    __global REAL *a_panels = (__global REAL *)(work + COUNTERS) + get_group_id(0) * (a_size + b_size + sums_size),
                  *b_panels = a_panels + a_size;
    __global number *sums = (__global number *)(b_panels + b_size);
    const int blocks_m = ceil_div(m, block_m), blocks = blocks_m * ceil_div(n, block_n);
    for (int block = atomic_inc(next); block < blocks; block = atomic_inc(next)) {
        const int i0 = block % blocks_m * block_m, j0 = block / blocks_m * block_n;
        const int rows = min(block_m, m - i0), cols = min(block_n, n - j0), tiles_m = ceil_div(rows, MR);
        for (int p0 = 0; p0 == 0 || p0 < k; p0 += KC) {
            const int depth = min((int)KC, k - p0);
            for (int i = 0; i < rows; i += MR) {
                __global REAL *to = a_panels + (long)i * KC;
                if (op_a)
                    pack_a_along(to, a + (long)p0 * lda + i0 + i, lda, min((int)MR, rows - i), depth);
                else
                    pack_a_across(to, a + (long)(i0 + i) * lda + p0, lda, min((int)MR, rows - i), depth);
            }
            for (int j = 0; j < cols; j += NR) {
                __global REAL *to = b_panels + (long)j * KC;
                if (op_b)
                    pack_b_across(to, b + (long)(j0 + j) * ldb + p0, ldb, min((int)NR, cols - j), depth);
                else
                    pack_b_along(to, b + (long)p0 * ldb + j0 + j, ldb, min((int)NR, cols - j), depth);
            }
            for (int j = 0; j < cols; j += NR)
                for (int i = 0; i < rows; i += MR) {
                    __global const REAL *a_panel = a_panels + (long)i * KC, *b_panel = b_panels + (long)j * KC;
                    __global number *tile = sums + (k > KC ? (long)(j / NR * tiles_m + i / MR) * (MR * NR) : 0);
                    const int in_c = min((int)NR, cols - j), vectors = ceil_div(in_c, LANES);
                    if (vectors == V)
                        tile_of(V, depth, a_panel, b_panel, p0 > 0, tile);
                    else if (vectors == 1)
                        tile_of(1, depth, a_panel, b_panel, p0 > 0, tile);
                    else
                        tile_of(V < 2 ? V : 2, depth, a_panel, b_panel, p0 > 0, tile);
                    if (k - p0 <= KC)
                        blend_tile(tile, min((int)MR, rows - i), in_c, alpha, beta, &C(i0 + i, j0 + j), ldc);
                }
        }
    }
    if (atomic_inc(ended) == (int)get_num_groups(0) - 1) atomic_xchg(ended, 0), atomic_xchg(next, 0);
}
