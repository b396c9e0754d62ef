/* r04d_divergence.cl - exercise with 6 gaps. Groups inside of C run without guards.
 *
 *     tilewright ladder --rung exercises/r04d_divergence.cl --size 256
 *
 *       C   .---.---.---.-.
 *           | i | i | i |e|       inside (i): each work-item of the group has an element of C, and all tiles of k but
 *           |---|---|---|-|       perhaps the last are whole: no load needs to ask whether its word exists
 *           | i | i | i |e|
 *           |---|---|---|-|       at an edge (e): each load asks first, as in r04
 *           | e | e | e |e|
 *           '---'---'---'-'
 *
 * `guarded` is a constant wherever tile_step is called, so the compiler makes two loops of one text. A warp diverges
 * where its work-items take different sides of a branch: how many warps of r04 do, for 256 x 256 x 256? And what does
 * a guard cost those that do not?
 *
 * docs/COURSE.md, page 3, leads through it; the solution is in exercises/SOLUTIONS.md.
 * Made by ./dev docs from exercises/gaps.def and kernels/opencl/ladder/r04d_divergence.cl: edit those. */
#include "rung.clh"

typedef float tile_row[TILE];

/* always_inline: PoCL 3.1 takes the local arrays of a function that it does not inline for one array of the whole
 * process. */
static inline __attribute__((always_inline)) float tile_step(const bool guarded, int t, int i, int j, float sum,
                                                             __local tile_row *a_tile, __local tile_row *b_tile, int m,
                                                             int n, int k, __global const float *a, long lda,
                                                             __global const float *b, long ldb)
{
    int tx = get_local_id(0), ty = get_local_id(1), a_p = t * TILE + tx, b_p = t * TILE + ty;
    /* which words of A's tile exist? */
    a_tile[ty][tx] = !guarded || (GAP_1) ? A(i, a_p) : 0;
    /* and of B's? */
    b_tile[ty][tx] = !guarded || (GAP_2) ? B(b_p, j) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ROLLED
    for (int p = 0; p < TILE; p++) sum = fma(a_tile[ty][p], b_tile[p][tx], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum;
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void r04d_divergence(PARAMETERS)
{
    __local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int i = get_group_id(1) * TILE + get_local_id(1), j = get_group_id(0) * TILE + get_local_id(0);
    /* does each work-item of this group have an element of C? */
    bool interior = GAP_3;
    /* how many tiles need no guard? */
    int whole = GAP_4;
    float sum = 0;
    ROLLED
    for (int t = 0; t < whole; t++) sum = tile_step(false, t, i, j, sum, a_tile, b_tile, m, n, k, a, lda, b, ldb);
    /* with which tile do the guarded ones begin? */
    ROLLED
    for (int t = GAP_5; t < ceil_div(k, TILE); t++)
        sum = tile_step(true, t, i, j, sum, a_tile, b_tile, m, n, k, a, lda, b, ldb);
    /* who stores? */
    if (GAP_6) blend(&C(i, j), alpha, sum, beta);
}
