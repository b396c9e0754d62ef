/* cpu.h - the contracts between the CPU engine and its kernels. */
#ifndef TILEWRIGHT_CPU_H
#define TILEWRIGHT_CPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "epilogue.h"

/* A whole product, as a rung of the ladder computes it:
 *
 *     c[i * ldc + j]  <-  alpha * sum over p of a[i * a_rs + p * a_cs] * b[p * b_rs + j * b_cs]
 *                         + beta * c[i * ldc + j]
 *
 * with op(A) m x k and op(B) k x n given by a row stride and a column stride each (a transpose swaps the two). beta ==
 * 0 means that c is not read; k may be 0. workspace: as many elements as plan_rung() of src/plan/cpu.c says, aligned to
 * 64 bytes. A rung that shares its blocks is called by each thread of a team, with a workspace of its own and one
 * count, 0 at first, for all of them. */
typedef struct cpu_problem {
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t a_rs, a_cs, b_rs, b_cs, ldc;
    double alpha, beta;
    int64_t tile; /* edge of the blocks of r02 and above, >= 1 */
    void *workspace;
    atomic_llong *next_block;
} cpu_problem;

/* The longest edge of a rung's register tile: blocks are packed in whole tiles, so they may be longer by that less
 * 1. */
enum { CPU_LONGEST_REGISTER_TILE = 32 };

typedef void cpu_whole(const cpu_problem *problem);

enum { CPU_LINE_BYTES = 64 };

/* Chunks of k: so many of their real numbers, 8192 of f32 and 4096 of f64, are multiplied and added in ascending order
 * from 0, and the chunks' sums added in ascending order, by every kernel and for every shape: an element has the same
 * bits however the work is divided (docs/decisions/0020). */
enum { CPU_CHUNK_BYTES = 32768 };

/* Of complex types alone: the imaginary parts of the scalars, and which operands are conjugated. */
typedef struct cpu_complex {
    double alpha, beta;
    bool conjugates_a, conjugates_b;
} cpu_complex;

/* How the operands of a whole tile lie; of CPU_FEED_ANY their strides alone say it. */
typedef enum cpu_feed {
    CPU_FEED_ANY,
    CPU_FEED_ROWS,  /* rows of A as they are, a_cs = 1; B in panels, b_rs = nr */
    CPU_FEED_PANELS /* both in panels, a_rs = 1, a_cs = mr, b_rs = nr */
} cpu_feed;

/* One tile of C, at most mr x nr, for one panel of k, the innermost step of the production kernel:
 *
 *         cols                          cols
 *       .-------.       k             .-------.        a: element (i, p) at a[i * a_rs + p * a_cs]
 *  rows |  sum  |  +=  [ a ] rows  x  k |   b   |        b: element (p, j) at b[p * b_rs + j], rows of neighbours
 *       '-------'                     '-------'
 *
 * No element outside rows x cols is touched.
 *
 * sum starts as sum_in, or as 0 where that is NULL (the first panel of a chunk of k). At the end total, the sum of the
 * chunks before, is added to it, unless NULL. It is kept unscaled in sum_out, or, where that is NULL (the last panel),
 * written as c <- alpha * sum + beta * c; beta == 0 means c is not read. Each has its row stride. sum_out may be total.
 * k is 0 also where sums that are there are to be added and written.
 *
 * Every step of k prefetches a line at a_next, which advances by a_next_step bytes each step and by a_next_back more
 * after every mr steps, and, until all of it has been prefetched, a line of the tile of C at c_next, whose rows are as
 * far apart as those that this tile writes. A tile of CPU_FEED_ANY, and one at an edge, also prefetches b_next bytes
 * behind b's present row. Prefetched all at once they would take every buffer that the loads of the present tile need
 * (docs/perf/cpu-packing.md#even-prefetch). If nothing is to be prefetched, these are this tile's own addresses. */
typedef struct cpu_tile {
    int64_t rows, cols, k;
    const void *a, *b;
    int64_t a_rs, a_cs, b_rs;
    cpu_feed feed;
    const void *sum_in, *total;
    void *sum_out, *c;
    uintptr_t a_next, c_next; /* not pointers, since they may lie outside the operands */
    int64_t a_next_step, a_next_back, b_next;
    int64_t sum_in_ld, total_ld, sum_out_ld, ldc;
    double alpha, beta;
    cpu_complex complex;         /* complex types */
    bool a_unsigned, b_unsigned; /* CPU_TILE_QUADS: the operands' bytes are */
} cpu_tile;

typedef void cpu_micro(const cpu_tile *tile);

enum { CPU_MOST_TILE_BYTES = 4096 }; /* mr x nr sums of any micro-kernel */

/* Slivers: an unpacked product of at most so many steps of k keeps B in registers (gemm_simd.c). */
enum { CPU_SLIVER_STEPS = 8 };

/* An unpacked product: operands are read in place, in one panel. Strides as in cpu_tile; m and n at least 1. */
typedef struct cpu_unpacked {
    int64_t m, n, k, a_rs, a_cs, b_rs, ldc;
    bool transposed; /* C is computed transposed, n x m, and stored transposed; beta is 0 */
    cpu_complex complex;
} cpu_unpacked;

typedef void cpu_unpacked_product(const cpu_unpacked *shape, double alpha, double beta, const void *a, const void *b,
                                  void *c);

/* The packed layout. Except for CPU_PLAIN, operands are always packed, in words of 4 bytes, each the next `group`
 * elements along k of one row of A or column of B, zeros beyond the end; a step of the micro-kernel is one word, and
 * cpu_tile's k counts steps. */
typedef enum cpu_layout {
    CPU_PLAIN,   /* elements as they are */
    CPU_WIDENED, /* one bf16 as a float */
    CPU_HALVES,  /* one f16 as a float */
    CPU_PAIRS,   /* two bf16 */
    CPU_I16,     /* two bytes as int16 */
    /* four bytes: of a signed A as they are, of B as unsigned ones, those of a signed B plus 128; before A's first step
     * stands one of what this adds to each row's sums, taken off: -128 times the sum of the row, or 0 */
    CPU_U8,
    CPU_S8, /* the same of an unsigned A and a B of signed bytes, those of an unsigned B less 128 */
    /* two bf16, steps in whole blocks of 16; in the blocks of A 16 words of a row lie side by side, then those of the
     * next */
    CPU_TILE_PAIRS,
    CPU_TILE_QUADS, /* the same of four bytes */
} cpu_layout;

static inline bool cpu_layout_tiles(cpu_layout layout) { return layout == CPU_TILE_PAIRS || layout == CPU_TILE_QUADS; }
/* Panels of A begin with a step of sums. */
static inline bool cpu_layout_sums(cpu_layout layout) { return layout == CPU_U8 || layout == CPU_S8; }
/* Of bytes, signed ones or not, in either operand. */
static inline bool cpu_layout_bytes(cpu_layout layout)
{
    return layout == CPU_I16 || cpu_layout_sums(layout) || layout == CPU_TILE_QUADS;
}

static inline int64_t cpu_layout_group(cpu_layout layout)
{
    return cpu_layout_sums(layout) || layout == CPU_TILE_QUADS                    ? 4
           : layout == CPU_PAIRS || layout == CPU_I16 || layout == CPU_TILE_PAIRS ? 2
                                                                                  : 1;
}

/* Steps of a panel k deep; panels of A have one more where their sums stand first. */
static inline int64_t cpu_layout_steps(cpu_layout layout, int64_t k)
{
    int64_t steps = (k + cpu_layout_group(layout) - 1) / cpu_layout_group(layout);
    return cpu_layout_tiles(layout) ? (steps + 15) / 16 * 16 : steps;
}
static inline int64_t cpu_layout_a_steps(cpu_layout layout, int64_t k)
{
    return cpu_layout_steps(layout, k) + cpu_layout_sums(layout);
}

/* Every panel but the last is a multiple of this many elements deep: the words and blocks of every layout divide it, so
 * no sum depends on where k is divided. */
enum { CPU_K_UNIT = 64 };

/* Called by a thread before and after the micro-kernels of rows that ask for it. */
typedef void cpu_hook(void);

/* Outputs of a C that is one row or one column, the whole sum over k:
 *
 *     c[j * c_stride]  <-  alpha * sum over p of x[j * x_stride + p * x_k] * y[p * y_stride]
 *                          + beta * c[j * c_stride],   j < count
 *
 * x_stride or x_k is 1. beta == 0 means that c is not read; k may be 0, and then x and y are not read. */
typedef struct cpu_gemv {
    int64_t count, k;
    const void *x, *y;
    void *c;
    int64_t x_stride, x_k, y_stride, c_stride;
    double alpha, beta;
    const cpu_epilogue *epilogue; /* of this c; NULL: the kernel stores by itself */
    bool down;                    /* C is one column */
    bool x_unsigned, y_unsigned;  /* of bytes: theirs are */
} cpu_gemv;

typedef void cpu_gemv_kernel(const cpu_gemv *line);

/* cpu_gemv_finish - outputs `from` and on of these from their sums, where there is an epilogue. */
static inline void cpu_gemv_finish(const cpu_gemv *line, int64_t from, const void *sums, int64_t count)
{
    if (line->down)
        cpu_finish_block(line->epilogue, from, 0, count, 1, sums, 1);
    else
        cpu_finish_block(line->epilogue, 0, from, 1, count, sums, count);
}

/* Whether these are short parts of long rows of X, outputs side by side: no hardware prefetcher follows them, and each
 * may be in a page of its own, whose address takes longest to find (docs/perf/cpu-skinny.md#gemv-threads). */
static inline bool cpu_gemv_parts(const cpu_gemv *line, int64_t element_bytes)
{
    enum { SHORT = 2048, LONG = 1536 }; /* bytes */
    return line->count <= line->x_k / 2 && line->count * element_bytes < SHORT && line->x_k * element_bytes >= LONG;
}

/* `count` halves to float, exactly. */
typedef void cpu_widen(const uint16_t *from, float *to, int64_t count);

/* A diagonal block of a triangular matrix T:
 *
 *     b  <-  alpha * T b, or, where it solves, alpha * T^-1 b
 *
 * T is m x m, 1 <= m <= CPU_TRIANGLE_EDGE, element (i, p) at t[i * t_rs + p * t_cs]; b is m x n, element (i, j) at
 * b[i * b_rs + j * b_cs], b_rs or b_cs is 1. Neither need be aligned. T's other triangle is not read, nor, where it is
 * unit, its diagonal, which then is 1.
 *
 * The kernel's function _pack fills `packed` (cpu_triangle_elements(m) elements, aligned to 64 bytes) from T: its
 * slivers, then the reciprocals of its diagonal. The kernel itself reads `packed` for any columns of b. It computes
 * them in strips of CPU_TRIANGLE_ROW_BYTES each row. */
enum { CPU_TRIANGLE_EDGE = 264, CPU_TRIANGLE_HIGH = 6, CPU_TRIANGLE_ROW_BYTES = 128 };

typedef struct cpu_triangle {
    int64_t m, n;
    const void *t;
    void *b, *packed;
    int64_t t_rs, t_cs, b_rs, b_cs;
    double alpha;
    bool lower, unit, solves;
} cpu_triangle;

typedef void cpu_triangle_kernel(const cpu_triangle *block);

/* Rows in whole slivers; elements of all slivers; elements of `packed`. */
static inline int64_t cpu_triangle_rows(int64_t m)
{
    return (m + CPU_TRIANGLE_HIGH - 1) / CPU_TRIANGLE_HIGH * CPU_TRIANGLE_HIGH;
}
static inline int64_t cpu_triangle_slivers(int64_t m)
{
    return cpu_triangle_rows(m) * (cpu_triangle_rows(m) + CPU_TRIANGLE_HIGH) / 2;
}
static inline int64_t cpu_triangle_elements(int64_t m) { return cpu_triangle_slivers(m) + cpu_triangle_rows(m); }

/* A register-only loop of independent multiply-adds, `rounds` times: the peak of the micro-kernel. Returns the flops
 * done; *sink takes the result so that the compiler cannot drop the work. */
typedef double cpu_probe(int64_t rounds, double *sink);

/* Reads `bytes` bytes (a multiple of 1024, 64-byte aligned) as fast as this machine's vectors can; returns a sum of
 * them. */
typedef double cpu_reader(const void *data, int64_t bytes);

#endif
