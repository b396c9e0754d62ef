/* r02_tiled - rung 2: the loops blocked, so that what is read is used again while it is near.
 *
 * IDEA      Cut C into r x r blocks. A block of C needs k / r pairs of blocks of A and B, one pair after the other; an
 *           element of a pair is used r times before the next pair comes:
 *
 *                                .---.---.---.            .---.---.---.
 *                                |   | 0 |   |            |   |   |   |        C block (1, 1) =
 *           .---.---.---.        |---|---|---|            |---|---|---|          A(1, 0) B(0, 1)
 *           | 0 | 1 | 2 |   x    |   | 1 |   |     ->     |   | C |   |        + A(1, 1) B(1, 1)
 *           '---'---'---'        |---|---|---|            |---|---|---|        + A(1, 2) B(2, 1)
 *                                |   | 2 |   |            |   |   |   |
 *                                '---'---'---'            '---'---'---'
 *
 * NUMBERS   2 r^3 flops per 2 r^2 elements: r flops per element, r / 4 per byte in f32. r = 1 is r01, r = n reads every
 *           operand once if the cache holds it all. The inner loop still walks down B's columns with a stride of ldb.
 * LIMITS    any m, n, k, strides and transposes; 1 <= r.
 * CHANGED   from r01: three loops over blocks around the three loops, and a block of sums.
 * SOURCE    Ruiz 2024, with blocks that the edges cut off. */
#include "../rung.h"

/* sums[rows x cols] += A block x B block, depth deep. */
static void multiply_block(const cpu_problem *x, const real *a, const real *b, real *restrict sums, int64_t rows,
                           int64_t cols, int64_t depth)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            real sum = sums[i * x->tile + j];
            ROLLED
            for (int64_t p = 0; p < depth; p++) sum += a[i * x->a_rs + p * x->a_cs] * b[p * x->b_rs + j * x->b_cs];
            sums[i * x->tile + j] = sum;
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
