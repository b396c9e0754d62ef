/* r03_coalesced - rung 3: the inner loop runs along the rows of B and C.
 *
 * IDEA      r02's inner loop reads one element of each row of B: neighbouring iterations touch addresses ldb apart.
 *           Swap its two inner loops, and neighbouring iterations touch neighbouring elements:
 *
 *             r02: for j, for p         sums[j] += a[p] * b[p, j]       B is walked down its columns
 *             r03: for p, for j         sums[j] += a[p] * b[p, j]       B and the sums are walked along their rows
 *
 *           Every byte of a cache line is used while it is there, and the iterations are independent: the compiler may
 *           compute several at once.
 * NUMBERS   the flops and bytes of r02. The price: the sum no longer stays in a register, each multiply-add loads and
 *           stores it.
 * LIMITS    any m, n, k, strides and transposes; the stride is 1 where op_b = N.
 * CHANGED   from r02: the order of two loops in multiply_block.
 * SOURCE    5kk73's coalescing, on a CPU: the spatial locality of a cache line. */
#include "../rung.h"

/* sums[rows x cols] += A block x B block, depth deep. */
static void multiply_block(const cpu_problem *x, const real *a, const real *b, real *restrict sums, int64_t rows,
                           int64_t cols, int64_t depth)
{
    for (int64_t i = 0; i < rows; i++) {
        ROLLED
        for (int64_t p = 0; p < depth; p++) {
            real a_ip = a[i * x->a_rs + p * x->a_cs];
            for (int64_t j = 0; j < cols; j++) sums[i * x->tile + j] += a_ip * b[p * x->b_rs + j * x->b_cs];
        }
    }
}

void KERNEL(const cpu_problem *x)
{
    const real *a = x->a, *b = x->b;
    real *sums = x->workspace;
    const int64_t r = x->tile;
    for (int64_t i = 0; i < x->m; i += r)
        for (int64_t j = 0; j < x->n; j += r) {
            int64_t rows = smaller(r, x->m - i), cols = smaller(r, x->n - j);
            for (int64_t s = 0; s < r * rows; s++) sums[s] = 0;
            for (int64_t p = 0; p < x->k; p += r)
                multiply_block(x, a + i * x->a_rs + p * x->a_cs, b + p * x->b_rs + j * x->b_cs, sums, rows, cols,
                               smaller(r, x->k - p));
            blend_block(x, i, j, rows, cols, sums, r);
        }
}
