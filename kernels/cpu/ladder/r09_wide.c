/* r09_wide - rung 9: explicit vectors of the widest instruction set.
 *
 * IDEA      r01 to r07 are compiled for any processor of the architecture: 16-byte vectors, where the compiler finds
 *           them. Here the tile is written in vectors and compiled once per instruction set; the program takes the
 *           widest that the processor has:
 *
 *             r07   |b0 b1 b2 b3|  |b4 b5 b6 b7|                           a load of b brings 4 elements (f32)
 *             r09   |b0 b1 b2 ...                           b14 b15|       16 with AVX-512, 8 with AVX2
 *                    x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x
 *                   |a0 a0 a0 ...                            a0  a0|       one element of A, broadcast
 *                   |s0 s1 s2 ...                           s14 s15| +=    one fused multiply-add, one rounding
 *
 * NUMBERS   4 rows x 2 vectors of sums as in r07: 2 loads and 4 broadcasts for 8 multiply-adds of 16, 8 or 4 lanes
 *           (f64: 8, 4, 2). On a Zen 4 core 2.9 to 3.1 times r07 with AVX-512 and 2.1 to 2.8 with AVX2, not 4 and 2:
 *           fused multiply-adds come on top, and the copies do not get faster; with AVX-512 they are a third of the
 *           time in f32. The baseline's row gains 4 to 6 %.
 * LIMITS    those of r07. Baseline vectors are GCC's own, multiplied and added with two roundings.
 * CHANGED   from r07: multiply_tile in the words of vec.h, and NR.
 * SOURCE    Hotbingsoo 2021, wider loads. */
#include "../rung.h"
#include "../vec.h"

enum { MR = 4, V = 2, NR = V * LANES }; /* 8 vectors of sums, 2 of b, 1 of a: within 16 vector registers */

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
    vec tile[MR][V];
    for (int i = 0; i < MR; i++)
        for (int v = 0; v < V; v++) tile[i][v] = vec_load(sums + i * ld + v * LANES);
    UNROLLED(8)
    for (int64_t p = 0; p < depth; p++) {
        vec row[V];
        for (int v = 0; v < V; v++) row[v] = vec_load(b + p * NR + v * LANES);
        for (int i = 0; i < MR; i++)
            for (int v = 0; v < V; v++) tile[i][v] = vec_fma(vec_all(a[p * MR + i]), row[v], tile[i][v]);
    }
    for (int i = 0; i < MR; i++)
        for (int v = 0; v < V; v++) vec_store(sums + i * ld + v * LANES, tile[i][v]);
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
    const int64_t r = x->tile, ld = panels(r, NR) * NR;
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
