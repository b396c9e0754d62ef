/* sliced_k.c - sgemm_slicedk_*: the warps of a block divide k, and blocks too where C has few tiles. */
#include "families.h"

/* How many warps divide the k of a tile; all of them where the row has no boxes. */
static int64_t warps_along_k(const kernel_row *row)
{
    int64_t warp_area = (int64_t)row->gpu.a_box_cols * row->gpu.b_box_cols, warps = row->gpu.threads_x / 32;
    return warp_area > 0 ? warps * warp_area / (row->lab.tile_m * row->lab.tile_n) : warps;
}

/* How many words of an operand threads copy in the time of one copy of the cost model; fitted. Rows that begin at 16, 8
 * or 4 bytes are copied by 4, 2 or 1 words. Where lines lie side by side, all operands lie in whole 16 bytes, and an
 * edge tile ends within 4 words, copies of 4 words check each word. Not counted: other such edge tiles, and the last
 * steps where k ends within 4 words, are copied by words. */
static double words_each(bool wide, int64_t beside, unsigned align, int64_t ld)
{
    bool quads = align % 16 == 0 && ld % 4 == 0, pairs = align % 8 == 0 && ld % 2 == 0;
    return wide && beside % 4 != 0 ? 5.6 : quads ? 16 : pairs ? 8.5 : 3.3;
}

/* Copies for a step of k of a tile, in those units. */
static double copies_each(const kernel_row *row, const tw_problem *p)
{
    bool wide = kernel_is_wide(row, p);
    return (double)row->lab.tile_m / words_each(wide, p->op_a == TW_T ? p->m : 0, p->align_a, p->lda) +
           (double)row->lab.tile_n / words_each(wide, p->op_b == TW_N ? p->n : 0, p->align_b, p->ldb);
}

/* A row that loads by TMA: lines of the boxes that this many warps of a block load when it begins; later
 * boxes come while they multiply. */
static double lines_first(const kernel_row *row, const tw_problem *p, int64_t warps)
{
    const gpu_kernel *g = &row->gpu;
    int64_t a_lines = p->op_a == TW_N ? min_i64(p->m, g->a_box_cols) : g->a_box_rows,
            b_lines = p->op_b == TW_T ? min_i64(p->n, g->b_box_cols) : g->b_box_rows;
    return (double)(warps * (row->lab.tile_n / g->b_box_cols) * (a_lines + b_lines));
}

enum { QUARTERS = 4 }; /* sub-partitions of a multiprocessor, each of which issues for every fourth warp */

/* Steps of k that the warps of the busiest sub-partition copy, at most two warps: of 8 the last and the fourth; with
 * split-K, within one block's k. If the steps left after an even division are 1, the last warp has it; if 2 or more,
 * the fourth has one too, except for 3 in a block that has all of k. */
static int64_t steps_of_quarter(int64_t steps, int64_t splits, int64_t warps)
{
    int64_t each = steps / (splits * warps), left = steps % (splits * warps);
    if (warps <= QUARTERS) return each + (left > 0);
    bool both = left * QUARTERS >= splits * warps && !(splits == 1 && left == 3);
    return each * 2 + (left > 0) + both;
}

/* Whether the blocks of each tile can be clusters that are all resident at a time. Of the 132 multiprocessors of an
 * H200 clusters of 2 can have all, of 4 and of 8 blocks 120 (cuOccupancyMaxActiveClusters: 66, 30, 15), since a cluster
 * lies within a group of 16 or 18, or less. */
static bool cluster_fits(const kernel_row *row, const device_facts *device, int64_t tiles, int64_t splits, int64_t room)
{
    if (!device->clusters || (splits != 2 && splits != 4 && splits != 8)) return false;
    return room * (row->gpu.dynamic_bytes + cluster_bytes(row)) <= device->local_bytes &&
           tiles * splits <= room * device->multiprocessors * (splits == 2 ? 11 : 10) / 11;
}

/* Split-K: pick the number of blocks per tile with the lowest estimated time. *cycles: how long
 * the busiest multiprocessor copies and multiplies, as long as its longest warp, or the L2 delivers; then the fix-up:
 * in a cluster at once, else partial sums are stored, waited for and read, by groups of 8 and then once more, and
 * longer where a block comes in a later wave. */
static k_split choose_split_k(const kernel_row *row, const tw_problem *p, const device_facts *device,
                              const tuned_values *tuned, double *cycles)
{
    enum { FMAS = 128, MOST_ROUNDS = 4, MOST_TRIED = 8 };
    int64_t multiprocessors = multiprocessors_of(device), warps = warps_along_k(row),
            room = max_i64(device->local_bytes / row->gpu.dynamic_bytes, 1);
    int64_t tiles = max_i64(tiles_of(row, p), 1), steps = max_i64(ceil_div(p->k, row->lab.tile_k), 1);
    double area = (double)row->lab.tile_m * (double)row->lab.tile_n,
           edges = (double)row->lab.tile_m + (double)row->lab.tile_n, bytes = dtype_find(p->dtype)->lab.bytes;
    k_split made = {.whole = tiles};
    *cycles = 0;
    for (int64_t tried = 1; tried <= MOST_TRIED + MOST_ROUNDS * room; tried++) {
        int64_t splits = tried <= MOST_TRIED ? tried : (tried - MOST_TRIED) * multiprocessors / tiles;
        bool by_cluster = cluster_fits(row, device, tiles, splits, room);
        if (splits > steps || splits < 1 ||
            (splits > 1 && !by_cluster &&
             (device->no_workspace || (double)(tiles * splits) * area * 4 > MOST_SUMS * (double)multiprocessors)))
            continue;
        int64_t each = ceil_div(tiles * splits, multiprocessors), length = ceil_div(steps, splits);
        int64_t alone = room > 1 ? each % room : each,
                copied_k = steps_of_quarter(steps, splits, warps) * QUARTERS * row->lab.tile_k;
        double copies = kernel_by_tma(row) ? lines_first(row, p, min_i64(length, warps))
                                           : (double)copied_k * copies_each(row, p);
        double fmas = (double)(round_up(length, warps) * row->lab.tile_k) * area / FMAS;
        double multiply = fmas * ((double)(each - alone) / tuned->full + (double)alone / tuned->alone) +
                          (double)each * (copies * tuned->copy + tuned->block);
        double ask = (double)(tiles * steps * row->lab.tile_k) * edges * bytes /
                     (tuned->l2_bytes * (double)multiprocessors);
        double add = splits == 1 ? 0
                     : by_cluster
                         ? tuned->cluster_reduce
                         : fix_up_cycles(tuned, splits, each, area * 4) + (double)(each - 1) * tuned->late_block;
        double time = longer(multiply, ask) + add;
        if (*cycles > 0 && time >= *cycles) continue;
        *cycles = time;
        made = (k_split){tiles, 0, 0, 0};
        if (splits > 1)
            made = (k_split){0, tiles * splits, length,
                             by_cluster ? 0
                                        : round_up(tiles * splits * (row->lab.tile_m * row->lab.tile_n * 4 + 8), 256),
                             .by_cluster = by_cluster};
    }
    return made;
}

static double cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                     double busiest)
{
    return simt_cycles(row, p, device, tuned, tuned->pdl_launch, tuned->pass, busiest);
}

const gpu_family family_sliced_k = {.divide = choose_split_k, .cycles = cycles};
