/* schedule.cuh - the tile scheduler: which tile of C, of which item of a batch, over which steps of k, a block computes
 * and copies ahead. After BM and BN. sgemm_simt, whose text is C too, sgemm_batched_tma_sm90 and
 * sgemm_slicedk_tma_sm90, whose code any change makes another, divide in their own text. GROUP chooses the order of the
 * tiles:
 *
 *     GROUP = 1    0 1 2    row by row         GROUP = 2    0 2 4    rasterisation: down GROUP rows of tiles before
 *                  3 4 5                                    1 3 5    the next column, as in r11, so that the blocks
 *                  6 7 8                                    6 7 8    of a wave share operands in the L2
 *
 * A work is one tile of one item's C; work w is tile w % tiles of item w / tiles. A persistent block takes works b, b +
 * blocks, ... Its copies walk through the pieces of their k, ahead of the mainloop and across the borders of works.
 * SPLIT_K = 1: in place of items there are parts of k, `splits` of each tile; blocks that compute at the same time have
 * the same steps. */

/* C in tiles. */
struct tiling {
    int columns, rows, count;
};

template <int GROUP = 1> static __device__ __forceinline__ struct tiling tiling_of(int m, int n)
{
    struct tiling all;
    if (GROUP == 1) /* each in the order of which the compiler makes the best code */
        all.columns = ceil_div(n, BN), all.rows = ceil_div(m, BM);
    else
        all.rows = ceil_div(m, BM), all.columns = ceil_div(n, BN);
    all.count = all.rows * all.columns;
    return all;
}

/* Where tile number `tile` begins in C. */
template <int GROUP = 1, typename T>
static __device__ __forceinline__ void tile_at(T tile, struct tiling all, int *i0, int *j0)
{
    if (GROUP == 1) {
        *i0 = tile / all.columns * BM, *j0 = tile % all.columns * BN;
        return;
    }
    int group = tile / (GROUP * all.columns), rows = min(GROUP, all.rows - group * GROUP),
        in_group = tile % (GROUP * all.columns);
    *i0 = (group * GROUP + in_group % rows) * BM, *j0 = in_group / rows * BN;
}

/* The item or part of k of a work, and where in C, or that item's, it begins. */
static __device__ __forceinline__ int item_at(int work, struct tiling all) { return work / all.count; }
template <int GROUP = 1> static __device__ __forceinline__ void work_at(int work, struct tiling all, int *i0, int *j0)
{
    tile_at<GROUP>(GROUP == 1 || SPLIT_K ? work % all.count : work, all, i0, j0);
}

/* The works of a persistent block, or of one of its `groups` warpgroups that take turns. */
static __device__ __forceinline__ int first_work(int group = 0) { return blockIdx.x + group * (int)gridDim.x; }
static __device__ __forceinline__ int next_work(int work, int groups = 1) { return work + groups * (int)gridDim.x; }

/* The piece of k that a persistent block copies next. */
struct walk {
    int piece, work;
};

static __device__ __forceinline__ void walk_on(struct walk *next, int pieces)
{
    if (++next->piece == pieces) next->piece = 0, next->work = next_work(next->work);
}

/* The steps of k of a work: from ... to - 1 of all `steps`. */
struct run {
    int from, to;
};

static __device__ __forceinline__ struct run run_at(int work, struct tiling all, int length, int steps)
{
    if (!SPLIT_K) return {0, steps};
    int from = item_at(work, all) * length;
    return {from, min(from + length, steps)};
}

/* Stream-K: steps from ... to - 1 of the k of a tile, and then `left` steps at the end of the tile before. */
struct k_range {
    int tile, from, to, left;
};

static __device__ __forceinline__ struct k_range k_range_at(int tile, int to, int count)
{
    int from = max(0, to - count);
    return {tile, from, to, count - (to - from)};
}

/* The block's first: `length` of a tile's steps each (split-K), or of all tiles' (splits = 0). */
static __device__ __forceinline__ struct k_range first_k_range(int tiles, int steps, int splits, int length)
{
    int block = blockIdx.x;
    if (splits > 0) {
        int split = block % splits, from = split * length;
        return {block / splits, from, split == splits - 1 ? steps : from + length, 0};
    }
    long begin = (long)block * length, end = min(begin + length, (long)tiles * steps), last = (end - 1) / steps;
    return k_range_at((int)last, (int)(end - last * steps), (int)(end - begin));
}

static __device__ __forceinline__ bool next_k_range(struct k_range *p, int steps)
{
    bool more = p->left > 0;
    if (more) *p = k_range_at(p->tile - 1, steps, p->left);
    return more;
}
