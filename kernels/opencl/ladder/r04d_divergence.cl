/* r04d_divergence - variant of rung 4: interior work-groups run without guards.
 *
 * IDEA      Only groups at the edges of C, or whose k does not divide, need to ask whether an element is there. The
 *           group decides once, for all its work-items, so no warp diverges:
 *
 *             .---.---.---.-.
 *             |   |   |   |e|      interior groups: every load and store unconditional
 *             |---|---|---|-|      e: guarded, as r04
 *             |   |   |   |e|
 *             |---|---|---|-|      when T does not divide k, the last tile of k is guarded in every group
 *             | e | e | e |e|
 *             '---'---'---'-'
 *
 * NUMBERS   as r04, less two compares and a select per load. That is all it saves: the guards of r04 are selects, not
 *           branches, and an H200 counts no divergent branch in either, at 4001 too. At 4096 r04 and r04d run at
 *           6.49 and 6.51 TFLOP/s in the default build, rolled at 5.36 and 5.20.
 * LIMITS    those of r04.
 * CHANGED   from r04: the tile step is a function of `guarded`, called with a constant. Local arrays are declared in
 *           the kernel, as OpenCL C 1.2 wants it, and handed down.
 * SOURCE    Ruiz's reference to the book: less control divergence. */
#include "../rung.clh"

typedef float tile_row[TILE];

/* always_inline: PoCL 3.1 takes the local arrays of a function that it does not inline for one array of the whole
 * process. */
static inline __attribute__((always_inline)) float tile_step(const bool guarded, int t, int i, int j, float sum,
                                                             __local tile_row *a_tile, __local tile_row *b_tile, int m,
                                                             int n, int k, __global const float *a, long lda,
                                                             __global const float *b, long ldb)
{
    int tx = get_local_id(0), ty = get_local_id(1), a_p = t * TILE + tx, b_p = t * TILE + ty;
    a_tile[ty][tx] = !guarded || (i < m && a_p < k) ? A(i, a_p) : 0;
    b_tile[ty][tx] = !guarded || (b_p < k && j < n) ? B(b_p, j) : 0;
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
    bool interior = (get_group_id(1) + 1) * TILE <= m && (get_group_id(0) + 1) * TILE <= n;
    int whole = interior ? k / TILE : 0;
    float sum = 0;
    ROLLED
    for (int t = 0; t < whole; t++) sum = tile_step(false, t, i, j, sum, a_tile, b_tile, m, n, k, a, lda, b, ldb);
    ROLLED
    for (int t = whole; t < ceil_div(k, TILE); t++)
        sum = tile_step(true, t, i, j, sum, a_tile, b_tile, m, n, k, a, lda, b, ldb);
    if (interior || (i < m && j < n)) blend(&C(i, j), alpha, sum, beta);
}
