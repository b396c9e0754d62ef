/* complex - the passes around a complex product, which kernels of real numbers compute: expand writes operands as
 * matrices of real numbers, combine makes C of the real product.
 *
 * Complex numbers in memory are pairs of real ones: C is a real m x 2n matrix as it lies, A, stored as m x k, a real
 * m x 2k one. There are two ways to a real product of as many multiply-adds; the host takes the one that moves fewer
 * bytes.
 *
 * Squares   each x + i y of op(B) becomes the square [x y; -y x] of a real 2k x 2n matrix, whose product with A is C: a
 *           pair (a, a') times it is (a x - a' y, a y + a' x). A stored as k x m becomes 2k x m. combine is needed for
 *           complex scalars alone.
 * Planes    B is read as it lies, as k x 2n or, K-major, as n x 2k. A becomes two m x k matrices, its real and its
 *           imaginary parts: combine adds their products with B's two parts. Or, if B is K-major, two m x 2k matrices,
 *           one for each part of C: combine puts the two sums side by side.
 *
 * Conjugation and minus are signs, so that expand rounds nothing.
 *
 * NUMBERS   squares: 2 numbers read and 4 written for each element of B. At 8192 x 8192 of cf32 1.6 GB.
 * LIMITS    any rows, cols, ld; from and c aligned to a real number; fewer than 2^31 blocks.
 * HOST      expand: grid ceil(rows / 32) * ceil(cols / 32), both operands' added, block 32 x 8; rows = 0: it is unused.
 *           combine: grid ceil(n / 32) x at most 65535, block 32 x 8. sums may be c if form is SUMS_PAIRS and beta 0.
 *           REAL_BYTES is 4 or 8. Both may be launched with PDL. */
#include "arguments.h"
#include "pdl.cuh"

#ifndef REAL_BYTES
#define REAL_BYTES 4
#endif
#if REAL_BYTES == 8
typedef double real;
#else
typedef float real;
#endif

struct __align__(2 * sizeof(real)) pair { real x, y; };

static __device__ __forceinline__ struct pair both(real x, real y)
{
    struct pair z;
    z.x = x, z.y = y;
    return z;
}

/* An operand as it is stored, rows x cols complex numbers, rows ld real ones apart. Each becomes `count` real numbers:
 * for element (i, j) to[i * row + j * col + at[q]] <- what[q], a part of it, perhaps negated. */
struct operand {
    const real *from;
    long ld;
    real *to;
    long row, col, at[EXPAND_MOST];
    int what[EXPAND_MOST], count, rows, cols;
};

enum { TILE = EXPAND_TILE, LINES = EXPAND_LINES, EACH = TILE / LINES };

static __device__ __forceinline__ int tiles_along(int edge) { return edge / TILE + (edge % TILE != 0); }

/* Through shared memory, so that neighbouring threads read and write neighbours. */
extern "C" __global__ void __launch_bounds__(TILE *LINES)
    expand(const __grid_constant__ struct operand first, const __grid_constant__ struct operand second)
{
    __shared__ struct pair tile[TILE][TILE + 1];
    int block = blockIdx.x, before = tiles_along(first.rows) * tiles_along(first.cols);
    const struct operand *o = block < before ? &first : &second;
    if (block >= before) block -= before;
    int wide = tiles_along(o->cols), i0 = block / wide * TILE, j0 = block % wide * TILE;
    bool down = o->row < o->col; /* neighbours are elements of a column */
    pdl_wait();
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int x = threadIdx.x, y = threadIdx.y + e * LINES;
        const real *at = o->from + (long)(i0 + y) * o->ld + 2 * (long)(j0 + x);
        if (i0 + y < o->rows && j0 + x < o->cols) tile[y][x] = both(at[0], at[1]);
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int along = threadIdx.x, across = threadIdx.y + e * LINES, x = down ? across : along, y = down ? along : across;
        if (i0 + y >= o->rows || j0 + x >= o->cols) continue;
        struct pair z = tile[y][x];
        real *to = o->to + (long)(i0 + y) * o->row + (long)(j0 + x) * o->col;
        for (int q = 0; q < o->count; q++) {
            real part = o->what[q] & PART_IMAGINARY ? z.y : z.x;
            to[o->at[q]] = o->what[q] & PART_NEGATED ? -part : part;
        }
    }
}

/* A scalar without an imaginary part multiplies both parts as a real number. */
static __device__ __forceinline__ struct pair times(real re, real im, struct pair z)
{
    if (im == 0) return both(re * z.x, re * z.y);
    return both(re * z.x - im * z.y, re * z.y + im * z.x);
}

/* The sum of row i and column j. The second plane is m rows below the first. */
static __device__ __forceinline__ struct pair sum_of(const real *sums, long ld, long i, long j, int m, int form)
{
    const real *first = sums + i * ld, *second = first + (long)m * ld;
    if (form == SUMS_PAIRS) return both(first[2 * j], first[2 * j + 1]);
    if (form == SUMS_PLANES) return both(first[j], second[j]);
    if (form == SUMS_CONJUGATED) return both(first[2 * j] + second[2 * j + 1], second[2 * j] - first[2 * j + 1]);
    return both(first[2 * j] - second[2 * j + 1], second[2 * j] + first[2 * j + 1]);
}

/* c <- alpha sums + beta c, of m x n complex numbers; rows of real numbers lie ld apart. */
extern "C" __global__ void __launch_bounds__(TILE *LINES)
    combine(int m, int n, int form, real alpha, real alpha_imaginary, const real *sums, long sums_ld, real beta,
            real beta_imaginary, real *c, long ldc)
{
    long j = (long)blockIdx.x * TILE + threadIdx.x;
    pdl_wait();
    if (j >= n) return;
    for (long i = (long)blockIdx.y * LINES + threadIdx.y; i < m; i += (long)gridDim.y * LINES) {
        real *to = c + i * ldc + 2 * j;
        struct pair z = times(alpha, alpha_imaginary, sum_of(sums, sums_ld, i, j, m, form));
        if (beta != 0 || beta_imaginary != 0) {
            struct pair old = times(beta, beta_imaginary, both(to[0], to[1]));
            z.x += old.x, z.y += old.y;
        }
        to[0] = z.x, to[1] = z.y;
    }
}
