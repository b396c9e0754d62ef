/* r11_warp - rung 11: the threads of a call share the blocks of C.
 *
 * IDEA      Blocks of C do not depend on each other. Every thread takes the next one from a shared counter until none
 *           is left, and computes it as r10 does, in a workspace of its own:
 *
 *             .---.---.---.---.       counter: 7
 *             | 0 | 1 | 2 | 3 |         thread 0:  0  2  5 ...
 *             |---|---|---|---|         thread 1:  1  3  4  6 ...       a slower or later thread takes fewer
 *             | 4 | 5 | 6 | 7 |
 *             '---'---'---'---'
 *
 *           What is a warp's tile on a GPU is a thread's block here; the order along rows keeps the same rows of A in
 *           the shared cache.
 * NUMBERS   the flops and bytes of r10, and one atomic addition per block. It scales while there are several blocks for
 *           each thread: 9 at 1024, 36 at 2048; `--tile` makes them smaller. Which thread computes a block changes no
 *           bit of it.
 * LIMITS    those of r10. With one thread, or where the pool serves another caller, it is r10.
 * CHANGED   from r10: the loops over i and j are one counter.
 * SOURCE    Smith et al. 2014 (which loop to share out). */
#include "../rung.h"
#include "../vec.h"

/* three quarters of the registers are sums; 2 vectors of b, 1 of a */
enum { MR = REGISTERS * 3 / 8, V = 2, NR = V * LANES };

static inline int64_t panels(int64_t length, int64_t width) { return (length + width - 1) / width; }

/* Copy a block into panels `width` wide: panel q, step p, lane i is element (q * width + i) * stride + p * p_stride of
 * the source; lanes beyond length are 0. */
static void copy_panels(real *packed, const real *source, int64_t stride, int64_t p_stride, int64_t length,
                        int64_t depth, int64_t width)
{
    for (int64_t first = 0; first < length; first += width) {
        int64_t lanes = smaller(width, length - first);
        for (int64_t p = 0; p < depth; p++, packed += width) {
            for (int64_t i = 0; i < lanes; i++) packed[i] = source[(first + i) * stride + p * p_stride];
            for (int64_t i = lanes; i < width; i++) packed[i] = 0;
        }
    }
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

/* The block of C at (i, j): its pairs of blocks, one after the other. */
static void multiply_pairs(const cpu_problem *x, int64_t i, int64_t j)
{
    const real *a = x->a, *b = x->b;
    const int64_t r = x->tile, ld = panels(r, NR) * NR, height = panels(r, MR) * MR;
    real *sums = x->workspace, *a_panels = sums + height * ld, *b_panels = a_panels + height * r;
    int64_t rows = smaller(r, x->m - i), cols = smaller(r, x->n - j);
    for (int64_t s = 0; s < height * ld; s++) sums[s] = 0;
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

void KERNEL(const cpu_problem *x)
{
    const int64_t r = x->tile, across = panels(x->n, r), blocks = panels(x->m, r) * across;
    for (int64_t t; (t = atomic_fetch_add_explicit(x->next_block, 1, memory_order_relaxed)) < blocks;)
        multiply_pairs(x, t / across * r, t % across * r);
}
