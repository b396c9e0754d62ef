/* r04_banks - rung 4: each block is copied into memory of its own before it is used.
 *
 * IDEA      The rows of a block lie lda apart. Where that is a multiple of 4 KiB they all fall into the same few sets
 *           of the cache and throw each other out, as bank conflicts serialise a GPU's shared memory; and each row lies
 *           on another page:
 *
 *             in the matrix     row 0 xxxx............  page 0         packed    xxxxyyyyzzzz
 *                               row 1 yyyy............  page 1                   one page, one row after the other,
 *                               row 2 zzzz............  page 2                   every set used alike
 *
 *           Copy the block once (r^2 elements), use it r times.
 * NUMBERS   2 r^2 copies for 2 r^3 flops: 1 / r of the work, for addresses without conflicts. Transposes are
 *           straightened on the way: the inner loop always has stride 1.
 * LIMITS    any m, n, k, strides and transposes.
 * CHANGED   from r03: copy_block, and multiply_block reads the copies.
 * SOURCE    Goto, van de Geijn 2008, section 4.2; 5kk73's conflict-free tile is the same cure on a GPU. */
#include "../rung.h"

/* packed[rows x cols] <- a block of a matrix with strides rs and cs. */
static void copy_block(real *packed, int64_t ld, const real *source, int64_t rs, int64_t cs, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) packed[i * ld + j] = source[i * rs + j * cs];
}

/* sums[rows x cols] += A block x B block, depth deep; all three with rows r apart. */
static void multiply_block(int64_t r, const real *a, const real *b, real *restrict sums, int64_t rows, int64_t cols,
                           int64_t depth)
{
    for (int64_t i = 0; i < rows; i++) {
        ROLLED
        for (int64_t p = 0; p < depth; p++) {
            real a_ip = a[i * r + p];
            for (int64_t j = 0; j < cols; j++) sums[i * r + j] += a_ip * b[p * r + j];
        }
    }
}

void KERNEL(const cpu_problem *x)
{
    const real *a = x->a, *b = x->b;
    const int64_t r = x->tile;
    real *sums = x->workspace, *a_block = sums + r * r, *b_block = a_block + r * r;
    for (int64_t i = 0; i < x->m; i += r)
        for (int64_t j = 0; j < x->n; j += r) {
            int64_t rows = smaller(r, x->m - i), cols = smaller(r, x->n - j);
            for (int64_t s = 0; s < r * rows; s++) sums[s] = 0;
            for (int64_t p = 0; p < x->k; p += r) {
                int64_t depth = smaller(r, x->k - p);
                copy_block(a_block, r, a + i * x->a_rs + p * x->a_cs, x->a_rs, x->a_cs, rows, depth);
                copy_block(b_block, r, b + p * x->b_rs + j * x->b_cs, x->b_rs, x->b_cs, depth, cols);
                multiply_block(r, a_block, b_block, sums, rows, cols, depth);
            }
            blend_block(x, i, j, rows, cols, sums, r);
        }
}
