/* r05_outer - rung 5: a tile of C stays in registers while k goes by.
 *
 * IDEA      r04 loads and stores a sum for every multiply-add. Take MR x NR sums into registers instead; each step of k
 *           adds the outer product of MR elements of A and NR of B to all of them:
 *
 *                          b[0] b[1] ... b[NR-1]         MR + NR loads
 *                   a[0]   s    s    ... s
 *                   a[1]   s    s    ... s               MR * NR multiply-adds
 *                   ...
 *
 *           The blocks are packed in the order in which these columns and rows are read.
 * NUMBERS   MR = 4, NR = 8 (f32) or 4 (f64). f32: 12 loads for 32 multiply-adds, where r04 has 64 loads and 32 stores.
 * LIMITS    any m, n, k, strides and transposes; edges are filled with zeros in the panels.
 * CHANGED   from r04: blocks packed as panels, multiply_tile.
 * SOURCE    5kk73, computation optimisation; Volkov, Demmel 2008. 5kk73 also weighs keeping a tile
 *           unshared in registers instead: its operand would fall back to r01's ratio. */
#include "../rung.h"

enum { MR = 4, NR = 32 / sizeof(real) }; /* 8 sums of 16 bytes, 2 vectors of b, 1 of a: within 16 vector registers */

static inline int64_t panels(int64_t length, int64_t width) { return (length + width - 1) / width; }

/* Copy a block into panels `width` wide: panel q, step p, lane i is element (q * width + i) * stride + p * p_stride of
 * the source; lanes beyond length are 0. */
static void copy_panels(real *packed, const real *source, int64_t stride, int64_t p_stride, int64_t length,
                        int64_t depth, int64_t width)
{
    for (int64_t first = 0; first < length; first += width)
        for (int64_t p = 0; p < depth; p++)
            for (int64_t i = first; i < first + width; i++)
                *packed++ = i < length ? source[i * stride + p * p_stride] : 0;
}

/* sums[MR x NR] += columns of a x rows of b, one outer product for each of depth steps. */
static inline void multiply_tile(const real *a, const real *b, real *sums, int64_t ld, int64_t depth)
{
    real tile[MR][NR];
    for (int i = 0; i < MR; i++)
        for (int j = 0; j < NR; j++) tile[i][j] = sums[i * ld + j];
    ROLLED
    for (int64_t p = 0; p < depth; p++)
        for (int i = 0; i < MR; i++)
            for (int j = 0; j < NR; j++) tile[i][j] += a[p * MR + i] * b[p * NR + j];
    for (int i = 0; i < MR; i++)
        for (int j = 0; j < NR; j++) sums[i * ld + j] = tile[i][j];
}

/* sums += A panels x B panels, tile by tile. */
static void multiply_block(const real *a, const real *b, real *sums, int64_t ld, int64_t rows, int64_t cols,
                           int64_t depth)
{
    for (int64_t i = 0; i < panels(rows, MR); i++)
        for (int64_t j = 0; j < panels(cols, NR); j++)
            multiply_tile(a + i * MR * depth, b + j * NR * depth, sums + i * MR * ld + j * NR, ld, depth);
}

void KERNEL(const cpu_problem *x)
{
    const real *a = x->a, *b = x->b;
    const int64_t r = x->tile, ld = panels(r, 16) * 16;
    real *sums = x->workspace, *a_panels = sums + ld * ld, *b_panels = a_panels + ld * ld;
    for (int64_t i = 0; i < x->m; i += r)
        for (int64_t j = 0; j < x->n; j += r) {
            int64_t rows = smaller(r, x->m - i), cols = smaller(r, x->n - j);
            for (int64_t s = 0; s < ld * ld; s++) sums[s] = 0;
            for (int64_t p = 0; p < x->k; p += r) {
                int64_t depth = smaller(r, x->k - p);
                copy_panels(a_panels, a + i * x->a_rs + p * x->a_cs, x->a_rs, x->a_cs, rows, depth, MR);
                copy_panels(b_panels, b + p * x->b_rs + j * x->b_cs, x->b_cs, x->b_rs, cols, depth, NR);
                multiply_block(a_panels, b_panels, sums, ld, rows, cols, depth);
            }
            blend_block(x, i, j, rows, cols, sums, ld);
        }
}
