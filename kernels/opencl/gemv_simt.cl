/* gemv_simt - the production kernel of GPUs for a C of one row or one column, for every type that OpenCL has.
 *
 * IDEA      Its time is that of reading the matrix once: B where C is a row, A where it is a column. No tile is kept,
 *           and every element goes from memory into the one multiply-add that it is for. A group has EDGES elements of
 *           C and a part of k. As the matrix lies,
 *
 *             along the edge   32 work-items, 4 neighbours each, read EDGES elements of a step of k; the others of the
 *                              group take other steps
 *             along k          a warp reads 128 steps of a line; 4 lines of the edge are on their way at a time
 *
 *           and what the work-items have summed is added in local memory, in the order of their numbers. `parts` groups
 *           share the same elements of C, as in gemm_simt: enough loads are on their way only if all multiprocessors
 *           have groups.
 *
 * NUMBERS   half a flop per byte of f32. 256 work-items with 8 loads of 16 bytes each on their way.
 * LIMITS    m = 1 or n = 1, as the row says; any k, ld, address and transposes. WIDE = 1 as in gemm_simt.
 * CHANGED   from gemm_simt: no tiles.
 * SOURCE    CLBlast's Xgemv has the same two forms */
#include "rung.clh"
#include "types.clh"
#include "epilogue.clh"
#include "parts.clh"

enum { EDGES = ROW_M * ROW_N, THREADS = ROW_THREADS, QUADS = EDGES / 4, DOWN = THREADS / QUADS, WARP = 32, AHEAD = 8 };
enum { WARPS = THREADS / WARP, LINES = 4, LINES_EACH = EDGES / WARPS, PARTIALS = WARP + 1 };
ASSUME(QUADS == WARP && DOWN == AHEAD && LINES_EACH % LINES == 0)

/* The matrix, its elements (edge, p), and the vector's p. */
#if ROW_M == 1
#define MATRIX       b
#define MATRIX_TYPE  TYPE_B
#define MATRIX_LD    ldb
#define MATRIX_ALONG OP_B
#define VECTOR_AT(p) LOAD(TYPE_A)(&A(0, p))
#else
#define MATRIX       a
#define MATRIX_TYPE  TYPE_A
#define MATRIX_LD    lda
#define MATRIX_ALONG (!OP_A)
#define VECTOR_AT(p) LOAD(TYPE_B)(&B(p, 0))
#endif

static inline number4 add_products(number4 x, number4 y, number4 sum)
{
    sum.x = multiply_add(x.x, y.x, sum.x), sum.y = multiply_add(x.y, y.y, sum.y);
    sum.z = multiply_add(x.z, y.z, sum.z), sum.w = multiply_add(x.w, y.w, sum.w);
    return sum;
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gemv_simt(TYPED_PARAMETERS, int parts,
                                                                             __global number *restrict sums)
{
    __local __attribute__((aligned(32))) number partial[EDGES * PARTIALS];
    const int tid = get_local_id(0), lane = tid % WARP, warp = tid / WARP, edges = ROW_M == 1 ? n : m,
              tiles = ceil_div(edges, EDGES), part = get_group_id(0) / tiles, tile = get_group_id(0) % tiles,
              edge0 = tile * EDGES, steps = ceil_div(ceil_div(k, ROW_K), parts), begin = min(part * steps * ROW_K, k),
              end = begin + min(steps * ROW_K, k - begin);
    const bool along = MATRIX_ALONG;
    if (along) {
        for (int line = warp * LINES_EACH; line < (warp + 1) * LINES_EACH; line += LINES) {
            number4 sum[LINES];
            UNROLLED
            for (int e = 0; e < LINES; e++) sum[e] = (number4)(0);
            for (int p0 = begin; p0 < end; p0 += 2 * 4 * WARP) {
                UNROLLED
                for (int q = 0; q < 2; q++) {
                    const int p = p0 + (q * WARP + lane) * 4;
                    const number4 y = (number4)(p < end ? VECTOR_AT(p) : 0, p + 1 < end ? VECTOR_AT(p + 1) : 0,
                                                p + 2 < end ? VECTOR_AT(p + 2) : 0, p + 3 < end ? VECTOR_AT(p + 3) : 0);
                    UNROLLED
                    for (int e = 0; e < LINES; e++) {
                        const int edge = edge0 + line + e;
                        sum[e] = add_products(
                            LOAD4(MATRIX_TYPE)(MATRIX + (long)edge * MATRIX_LD + p, edge < edges ? end - p : 0), y,
                            sum[e]);
                    }
                }
            }
            UNROLLED
            for (int e = 0; e < LINES; e++)
                partial[(line + e) * PARTIALS + lane] = sum[e].x + sum[e].y + (sum[e].z + sum[e].w);
        }
    } else {
        const int edge = edge0 + lane * 4;
        number4 sum = (number4)(0);
        for (int p0 = begin; p0 < end; p0 += DOWN * AHEAD) {
            number4 next[AHEAD];
            UNROLLED
            for (int e = 0; e < AHEAD; e++) {
                const int p = p0 + e * DOWN + warp;
                next[e] = LOAD4(MATRIX_TYPE)(MATRIX + (long)p * MATRIX_LD + edge, p < end ? edges - edge : 0);
            }
            UNROLLED
            for (int e = 0; e < AHEAD; e++) {
                const int p = p0 + e * DOWN + warp;
                sum = add_products(next[e], (number4)(p < end ? VECTOR_AT(p) : 0), sum);
            }
        }
        partial[(lane * 4) * PARTIALS + warp] = sum.x, partial[(lane * 4 + 1) * PARTIALS + warp] = sum.y;
        partial[(lane * 4 + 2) * PARTIALS + warp] = sum.z, partial[(lane * 4 + 3) * PARTIALS + warp] = sum.w;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int edge = edge0 + tid;
    if (tid < EDGES && edge < edges) {
        number sum = 0;
        for (int e = 0; e < (along ? WARP : DOWN); e++) sum += partial[tid * PARTIALS + e];
        put_one_or_part(OUTPUT, parts, part, sums, ROW_M == 1 ? 0 : edge, ROW_M == 1 ? edge : 0, sum);
    }
}
