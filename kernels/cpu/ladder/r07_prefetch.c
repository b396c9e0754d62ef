/* r07_prefetch - rung 7: the next pair of blocks is prefetched while this one is multiplied.
 *
 * IDEA      r06 copies a pair of blocks, waiting for memory, then multiplies, leaving memory idle. Here every tile of
 *           the multiplication also prefetches a part of the next pair's rows, so that the next copy finds them in the
 *           cache:
 *
 *             r06   [copy 0]####### [copy 1]####### [copy 2]#######          # multiply
 *             r07   [copy 0]####### [1]####### [2]#######
 *                           prefetch 1 prefetch 2
 *
 * NUMBERS   2 r rows of r elements per pair of blocks; no flop and no byte more is needed, they only come earlier. It
 *           gains what the hardware's own prefetchers leave: they see the rows of a block too late, and stop at page
 *           ends.
 * LIMITS    those of r06. The last pair prefetches nothing. A prefetch never faults.
 * CHANGED   from r06: prefetch_part, and one call of it per tile.
 * SOURCE    5kk73, prefetching: two tiles, the next one loaded during the accumulation. */
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
    UNROLLED(8)
    for (int64_t p = 0; p < depth; p++)
        for (int i = 0; i < MR; i++)
            for (int j = 0; j < NR; j++) tile[i][j] += a[p * MR + i] * b[p * NR + j];
    for (int i = 0; i < MR; i++)
        for (int j = 0; j < NR; j++) sums[i * ld + j] = tile[i][j];
}

/* A block of a matrix in memory: `count` runs of `length` neighbouring elements, run_stride apart. */
typedef struct runs {
    const real *first;
    int64_t run_stride, count, length;
} runs;

static runs runs_of(const real *first, int64_t rs, int64_t cs, int64_t rows, int64_t cols)
{
    return cs == 1 ? (runs){first, rs, rows, cols} : (runs){first, cs, cols, rows};
}

/* Ask for runs t, t + tiles, ... of the next A block and the next B block behind it. */
static inline void prefetch_part(const runs *next_a, const runs *next_b, int64_t t, int64_t tiles)
{
    enum { LINE = 64 / sizeof(real) };
    for (; t < next_a->count + next_b->count; t += tiles) {
        const runs *next = t < next_a->count ? next_a : next_b;
        const real *run = next->first + (next == next_a ? t : t - next_a->count) * next->run_stride;
        for (int64_t i = 0; i < next->length; i += LINE) __builtin_prefetch(run + i);
    }
}

/* sums += A panels x B panels, tile by tile. */
static void multiply_block(const runs *next_a, const runs *next_b, const real *a, const real *b, real *sums, int64_t ld,
                           int64_t rows, int64_t cols, int64_t depth)
{
    for (int64_t i = 0; i < panels(rows, MR); i++)
        for (int64_t j = 0; j < panels(cols, NR); j++) {
            multiply_tile(a + i * MR * depth, b + j * NR * depth, sums + i * MR * ld + j * NR, ld, depth);
            prefetch_part(next_a, next_b, i * panels(cols, NR) + j, panels(rows, MR) * panels(cols, NR));
        }
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
                int64_t q = p + r < x->k ? p + r : p, next = q > p ? smaller(r, x->k - q) : 0;
                runs next_a = runs_of(a + i * x->a_rs + q * x->a_cs, x->a_rs, x->a_cs, next ? rows : 0, next);
                runs next_b = runs_of(b + q * x->b_rs + j * x->b_cs, x->b_rs, x->b_cs, next, next ? cols : 0);
                multiply_block(&next_a, &next_b, a_panels, b_panels, sums, ld, rows, cols, depth);
            }
            blend_block(x, i, j, rows, cols, sums, ld);
        }
}
