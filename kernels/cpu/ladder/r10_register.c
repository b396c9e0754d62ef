/* r10_register - rung 10: registers blocked in two dimensions, as many as the machine has.
 *
 * IDEA      Every step of k loads a column of A and a row of B for the whole tile: a tile twice as high spends the same
 *           row on twice the multiply-adds. So the tile grows until the registers are full, and the blocks around it,
 *           so that copies weigh less:
 *
 *             r09   b b       2 + 4 loads       r10   b b       2 + 12 loads (AVX-512: 24 of 32 registers are sums)
 *                 a s s       for 8                 a s s       for 24
 *                 a s s       multiply-adds         a s s       multiply-adds
 *                 a s s                             ...
 *                 a s s                             a s s       12 rows; 6 where there are 16 registers
 *
 *           More independent sums than 8 also cover the latency of processors that start two multiply-adds a cycle.
 *           Register tiles that the edges cut off are computed whole, on zeros; which lanes those are is settled once
 *           per panel, not once per element.
 * NUMBERS   0.58 loads per multiply-add (r09: 0.75); 2 copies for 2 * 384 flops (r09: 2 * 64). 12, 6, 32, 16 and 8
 *           divide 384. On a Zen 4 core, 1024 to 2048: 63 to 71 % of the peak in f32, 61 to 64 % in f64, 1.1 to 1.2
 *           times r09 (AVX2: 1.1 to 1.5); the multiplication alone runs at the peak, the rest is copies that wait for
 *           memory. Each sum is one chain in ascending k, as from r01 on.
 * LIMITS    those of r09.
 * CHANGED   from r09: MR, the edge of the blocks, the height of the block of sums, copy_panels without a test per
 *           element.
 * SOURCE    Hotbingsoo 2021, register blocking in two dimensions and incomplete tiles; Volkov, Demmel 2008. */
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

void KERNEL(const cpu_problem *x)
{
    const real *a = x->a, *b = x->b;
    const int64_t r = x->tile, ld = panels(r, NR) * NR, height = panels(r, MR) * MR;
    real *sums = x->workspace, *a_panels = sums + height * ld, *b_panels = a_panels + height * r;
    for (int64_t i = 0; i < x->m; i += r)
        for (int64_t j = 0; j < x->n; j += r) {
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
}
