/* splits.c - dgemm_mma_sm80 and dgemm_tma_sm90: blocks divide the k of a tile, through memory or in clusters. */
#include "families.h"

/* Whether the blocks of each tile can be several clusters of CLUSTER_BLOCKS blocks that are all resident at a time, one
 * block on a multiprocessor. As in sliced_k.c not all multiprocessors can be in clusters. */
static bool clusters_fit(const kernel_row *row, const device_facts *device, int64_t tiles, int64_t splits)
{
    return device->clusters && row->gpu.clusters && splits > CLUSTER_BLOCKS && splits % CLUSTER_BLOCKS == 0 &&
           row->gpu.dynamic_bytes + cluster_bytes(row) <= device->local_bytes &&
           tiles * splits <= device->multiprocessors * 10 / 11;
}

/* Split-K: the number of blocks per tile with the lowest estimated time. *cycles: the
 * packing pass, then the slowest of multiplying, the L2 and memory, then the fix-up. The fix-up adds in groups of 8 and
 * once more. In clusters each block adds an eighth of its cluster's sums, and then of all clusters'.
 * A multiprocessor reaches the share `alone` of the peak with one block, `full` with all that have room; with some of
 * them it lies evenly between. */
static k_split choose_splits(const kernel_row *row, const tw_problem *p, const device_facts *device,
                             const tuned_values *tuned, double *cycles)
{
    enum { MOST_SPLITS = 128 };
    static const double COPIES_OF_8 = 1.2; /* how much longer by them */
    static const double CLUSTERED = 0.75;  /* of `alone`: fitted to three products (docs/perf/dgemm-mma.md#clusters) */
    const int64_t multiprocessors = multiprocessors_of(device), bytes = dtype_find(p->dtype)->lab.bytes,
                  room = max_i64(device->local_bytes / row->gpu.dynamic_bytes, 1);
    const int64_t tiles = max_i64(tiles_of(row, p), 1), steps = max_i64(ceil_div(p->k, row->lab.tile_k), 1);
    const double area = (double)row->lab.tile_m * (double)row->lab.tile_n, fmas = device->sm >= 90 ? 128 : 64,
                 edges = (double)row->lab.tile_m + (double)row->lab.tile_n, k = (double)p->k;
    const double ask = (double)(tiles * steps * row->lab.tile_k) * edges * (double)bytes /
                       (tuned->l2_bytes * (double)multiprocessors),
                 memory = ((double)p->m * k + k * (double)p->n + (double)p->m * (double)p->n) * (double)bytes /
                          (tuned->dram_bytes * (double)multiprocessors);
    const double packed = (double)(kernel_packing_a(row, p).bytes + kernel_packing_b(row, p).bytes);
    k_split made = {.whole = tiles};
    *cycles = 0;
    for (int64_t splits = 1; splits <= min_i64(steps, MOST_SPLITS); splits++) {
        const int64_t sums = tiles * splits * (row->lab.tile_m * row->lab.tile_n * kernel_sum_bytes(row) + 8);
        if (splits > 1 && (keeps_k(p, device) || sums > MOST_SUMS * multiprocessors)) break;
        const bool by_cluster = clusters_fit(row, device, tiles, splits);
        const int64_t each = ceil_div(tiles * splits, multiprocessors), length = ceil_div(steps, splits),
                      rest = by_cluster ? each : each % room;
        const double block = (double)(length * row->lab.tile_k) * area / fmas,
                     share_of_rest = by_cluster ? tuned->alone * CLUSTERED
                                     : rest < 2 ? tuned->alone
                                                : tuned->alone + (tuned->full - tuned->alone) * (double)(rest - 1) /
                                                                     (double)(room - 1);
        const double multiply = (double)(each - rest) * block / tuned->full + (double)rest * block / share_of_rest +
                                (double)ceil_div(each, room) * tuned->block;
        const double tile_bytes = area * kernel_sum_bytes(row);
        const double add = splits == 1  ? 0
                           : by_cluster ? tuned->cluster_reduce + tuned->fix_up +
                                              tile_bytes * (1 + (double)splits / (CLUSTER_BLOCKS * CLUSTER_BLOCKS)) /
                                                  tuned->fix_up_bytes
                                        : fix_up_cycles(tuned, splits, each, tile_bytes);
        const double time = longer(multiply, longer(ask, memory)) + add;
        if (*cycles > 0 && time >= *cycles) continue;
        *cycles = time;
        made = (k_split){.whole = tiles};
        if (splits > 1)
            made = (k_split){
                .count = tiles * splits, .length = length, .bytes = round_up(sums, 256), .by_cluster = by_cluster};
    }
    if (!(row->gpu.loads & PACKED) && !kernel_is_wide(row, p)) *cycles *= COPIES_OF_8;
    if (packed > 0) *cycles += tuned->pass + 2.0 * packed / (tuned->dram_bytes * (double)multiprocessors);
    return made;
}

static double cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                     double busiest)
{
    (void)row, (void)p, (void)device;
    return tuned->cost * busiest;
}

const gpu_family family_splits = {.divide = choose_splits, .cycles = cycles};
