/* plan_gpu.c - a GPU launch: the grid, stream-K and split-K, and the cost models that choose between kernels. Pure, as
 * plan.c. */
#include "planners.h"
#include "tuned.h"

#include <inttypes.h>
#include <stdio.h>

/* A GPU_STREAM_K row: 12 warps are resident on each multiprocessor. The time in which this many of its blocks on one
 * compute an element of C each, in elements at full speed. Speeds of fewer warps were measured on an H200
 * (docs/perf/cublaslt.md#packing-counted). */
static double time_of(const kernel_row *row, int64_t blocks)
{
    static const double speed[] = {1, 0.39, 0.78, 0.75, 0.945, 0.97}; /* of 2, 4, 6 ... warps */
    int64_t room = 12 * 32 / row->gpu.threads_x, rest = blocks % room;
    return (double)(blocks - rest) + (double)rest / speed[rest * row->gpu.threads_x / 64];
}

enum { RESIDUE = 32, RESIDUE_STEPS = 3 };

/* Tiles of a GPU_STREAM_K row with more than RESIDUE rows and columns in C. Of the others (the residue) the kernel of a
 * square row computes only a quarter: RESIDUE_STEPS steps of k in the time of one. */
static int64_t wide_tiles(const kernel_row *row, const tw_problem *p)
{
    int64_t spared = row->lab.tile_m == row->lab.tile_n ? RESIDUE : 0;
    return ceil_div(max_i64(p->m - spared, 0), row->lab.tile_m) * ceil_div(max_i64(p->n - spared, 0), row->lab.tile_n);
}

/* Stream-K. Full waves of tiles are computed whole. The tiles of the last wave, and all residues, are cut into equal
 * runs of k if that ends earlier: as many as there is room for, or equal runs of each tile. The last run of a tile
 * adds the partial sums of the others one after the other; each takes about as long as a step of a full multiprocessor,
 * and OTHERS more steps go to storing them and to beginning a second tile. *longest: how long the busiest run takes, in
 * elements of C at full speed. */
static k_split choose_stream_k(const kernel_row *row, const tw_problem *p, const device_facts *device, double *longest)
{
    enum { MOST_SPLITS = 16, OTHERS = 2, MOST_BYTES = 560000 };
    int64_t multiprocessors = max_i64(device->multiprocessors, 1), each = 12 * 32 / row->gpu.threads_x,
            room = each * multiprocessors;
    int64_t tiles = ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n),
            steps = max_i64(ceil_div(p->k, row->lab.tile_k), 1), wide = wide_tiles(row, p);
    int64_t whole = wide - wide % room, residues = tiles - wide, units = ceil_div(steps, RESIDUE_STEPS),
            left = (wide - whole) * steps + residues * units;
    double area = (double)row->lab.tile_m * (double)row->lab.tile_n;
    double tail = time_of(row, ceil_div(wide - whole, multiprocessors)) +
                  (double)ceil_div(residues, multiprocessors) / RESIDUE_STEPS;
    k_split made = {.whole = tiles};
    bool may = !device->no_workspace && left > 0;
    for (int64_t splits = 1; may && splits <= MOST_SPLITS; splits++) {
        int64_t length = splits == 1 ? ceil_div(left, room) : ceil_div(steps, splits), count = ceil_div(left, length);
        int64_t adds = ceil_div(steps, length) - 1 + (steps % length != 0) + OTHERS,
                bytes = round_up(count * (row->lab.tile_m * row->lab.tile_n * 4 + 8), 256);
        double time = ((double)length * time_of(row, ceil_div(count, multiprocessors)) + (double)(adds * each)) /
                      (double)steps;
        bool divides = wide > whole || length % units != 0; /* else a run is a number of whole tiles */
        if (length >= steps || !divides || bytes > MOST_BYTES * multiprocessors || time >= tail) continue;
        tail = time;
        made = (k_split){whole, count, length, bytes};
    }
    *longest = ((double)(whole / multiprocessors) + tail) * area;
    return made;
}

static double longer(double x, double y) { return x > y ? x : y; }

/* A GPU_SLICED_K row: how many warps divide the k of a tile; all of them where the row has no boxes. */
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

/* A GPU_SLICED_K row that loads by TMA: lines of the boxes that this many warps of a block load when it begins; later
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

/* What cluster reduction adds to a block's shared memory: a tile's worth of sums that the others send, and a barrier
 * (kernels/cuda/splitk.cuh). */
static int64_t cluster_bytes(const kernel_row *row)
{
    return row->lab.tile_m * row->lab.tile_n * kernel_sum_bytes(row) + 16;
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

/* The same of a GPU_CLUSTERS row, whose tiles have several clusters of CLUSTER_BLOCKS blocks, one block on a
 * multiprocessor. */
static bool clusters_fit(const kernel_row *row, const device_facts *device, int64_t tiles, int64_t splits)
{
    return device->clusters && (row->gpu.traits & GPU_CLUSTERS) && splits > CLUSTER_BLOCKS &&
           splits % CLUSTER_BLOCKS == 0 && row->gpu.dynamic_bytes + cluster_bytes(row) <= device->local_bytes &&
           tiles * splits <= device->multiprocessors * 10 / 11;
}

/* Split-K through memory: blocks of a group of the fix-up; most bytes of partial sums for each multiprocessor. */
enum { FIX_UP_GROUP = 8, MOST_SUMS = 500000 };

/* Split-K of a GPU_SLICED_K row: pick the number of blocks per tile with the lowest estimated time. *cycles: how long
 * the busiest multiprocessor copies and multiplies, as long as its longest warp, or the L2 delivers; then the fix-up:
 * in a cluster at once, else partial sums are stored, waited for and read, by groups of 8 and then once more, and
 * longer where a block comes in a later wave. */
static k_split choose_split_k(const kernel_row *row, const tw_problem *p, const device_facts *device,
                              const tuned_values *tuned, double *cycles)
{
    enum { FMAS = 128, MOST_ROUNDS = 4, MOST_TRIED = 8 };
    int64_t multiprocessors = max_i64(device->multiprocessors, 1), warps = warps_along_k(row),
            room = max_i64(device->local_bytes / row->gpu.dynamic_bytes, 1);
    int64_t tiles = max_i64(ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n), 1),
            steps = max_i64(ceil_div(p->k, row->lab.tile_k), 1);
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
        double copies = row->gpu.traits & GPU_TMA ? lines_first(row, p, min_i64(length, warps))
                                                  : (double)copied_k * copies_each(row, p);
        double fmas = (double)(round_up(length, warps) * row->lab.tile_k) * area / FMAS;
        double multiply = fmas * ((double)(each - alone) / tuned->full + (double)alone / tuned->alone) +
                          (double)each * (copies * tuned->copy + tuned->block);
        double ask = (double)(tiles * steps * row->lab.tile_k) * edges * bytes /
                     (tuned->l2_bytes * (double)multiprocessors);
        double add = splits == 1 ? 0
                     : by_cluster
                         ? tuned->cluster_reduce
                         : (splits > FIX_UP_GROUP ? 2 : 1) * tuned->fix_up + (double)(each - 1) * tuned->late_block +
                               (double)(each * (min_i64(splits, FIX_UP_GROUP) + splits / FIX_UP_GROUP)) * area * 4 /
                                   tuned->fix_up_bytes;
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

/* Split-K of a GPU_SPLITS row: the number of blocks per tile with the lowest estimated time. *cycles: the
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
    const int64_t multiprocessors = max_i64(device->multiprocessors, 1), bytes = dtype_find(p->dtype)->lab.bytes,
                  room = max_i64(device->local_bytes / row->gpu.dynamic_bytes, 1);
    const int64_t tiles = max_i64(ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n), 1),
                  steps = max_i64(ceil_div(p->k, row->lab.tile_k), 1);
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
        if (splits > 1 && (device->no_workspace || sums > MOST_SUMS * multiprocessors)) break;
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
                                        : (splits > FIX_UP_GROUP ? 2 : 1) * tuned->fix_up +
                                              (double)(each * (min_i64(splits, FIX_UP_GROUP) + splits / FIX_UP_GROUP)) *
                                                  tile_bytes / tuned->fix_up_bytes;
        const double time = longer(multiply, longer(ask, memory)) + add;
        if (*cycles > 0 && time >= *cycles) continue;
        *cycles = time;
        made = (k_split){.whole = tiles};
        if (splits > 1)
            made = (k_split){
                .count = tiles * splits, .length = length, .bytes = round_up(sums, 256), .by_cluster = by_cluster};
    }
    if (!(row->gpu.traits & GPU_PACKS) && !kernel_is_wide(row, p)) *cycles *= COPIES_OF_8;
    if (packed > 0) *cycles += tuned->pass + 2.0 * packed / (tuned->dram_bytes * (double)multiprocessors);
    return made;
}

/* Swap-AB: split-K with the number of blocks per tile that ends soonest; or, where there are more tiles than
 * multiprocessors, stream-K over all of them. *cycles: memory delivers the long operand once, or where it is read
 * across k once for each row of tiles, the L2 both, and a multiprocessor takes a limited number of bytes a cycle, fewer
 * where its threads transpose them; each further block begins anew, and partial sums are added. */
static k_split choose_swap_ab(const kernel_row *row, const tw_problem *p, const device_facts *device,
                              const tuned_values *tuned, double *cycles)
{
    enum { MULTIPLIED_BYTES = 4096, LINE = 256, STORED_BYTES = 10, MOST_SPLITS = 64 };
    int64_t multiprocessors = max_i64(device->multiprocessors, 1), few = min_i64(p->m, p->n),
            many = max_i64(p->m, p->n), bytes = dtype_find(p->dtype)->lab.bytes;
    int64_t tiles = max_i64(ceil_div(few, row->lab.tile_m) * ceil_div(many, row->lab.tile_n), 1),
            steps = max_i64(ceil_div(p->k, row->lab.tile_k), 1), high = min_i64(few, row->lab.tile_m);
    const bool across = kernel_reads_across(row, p, p->m <= p->n);
    double x_bytes = (double)(row->lab.tile_n * row->lab.tile_k * bytes),
           y_bytes = (double)(high * row->lab.tile_k * bytes);
    double own = longer((double)row->lab.tile_m * x_bytes / MULTIPLIED_BYTES,
                        x_bytes / (across ? tuned->swap_across_bytes : tuned->swap_bytes));
    double memory = (double)(many * (across ? ceil_div(few, row->lab.tile_m) : 1)) * (double)p->k * (double)bytes /
                    (tuned->dram_bytes * (double)multiprocessors);
    double store = (double)(high * row->lab.tile_n * dtype_find(p->dtype_c)->lab.bytes) / STORED_BYTES;
    k_split made = {0};
    for (int64_t splits = 0; splits <= MOST_SPLITS; splits++) {
        if (device->no_workspace ? splits != 1
            : splits == 0        ? tiles <= multiprocessors || p->k == 0
                                 : splits > 1 && (splits > steps || splits * tiles > multiprocessors))
            continue;
        int64_t length = splits > 0 ? ceil_div(steps, splits) : ceil_div(tiles * steps, multiprocessors);
        int64_t each = splits > 0 ? ceil_div(steps, length) : 0,
                blocks = splits > 0 ? tiles * each : ceil_div(tiles * steps, length),
                rounds = ceil_div(blocks, multiprocessors);
        double step = longer(own, (x_bytes + y_bytes) * (double)ceil_div(blocks, rounds) / tuned->swap_l2_bytes) +
                      tuned->swap_step;
        /* blocks at different steps ask for short lines */
        double scattered = splits == 0 && row->lab.tile_n * bytes < LINE ? 1.1 : 1;
        double time = longer((double)(rounds * length) * step + tuned->block, memory * scattered) +
                      (double)(rounds - 1) * tuned->swap_round + store;
        if (each != 1) time += tuned->swap_reduce + (double)(max_i64(each - 1, 1) * row->lab.tile_m) * tuned->swap_row;
        if (made.length > 0 && time >= *cycles) continue;
        *cycles = time;
        made = (k_split){
            .splits = each, .length = length, .whole = each == 1 ? tiles : 0, .count = each == 1 ? 0 : blocks};
    }
    made.bytes = round_up(made.count * ((int64_t)row->lab.tile_m * row->lab.tile_n * 4 + 8), 256);
    return made;
}

/* A GPU_SPLIT_K row: split k so that there are about BLOCKS blocks, whatever the device, so that the bits depend on the
 * shape alone; not at all where there is no memory for the partial sums. */
static k_split split_k_by_shape(const plan *plan, const device_facts *device)
{
    enum { BLOCKS = 1024 };
    const tw_problem *p = &plan->problem;
    int64_t steps = max_i64(ceil_div(p->k, plan->tile), 1),
            splits = device->no_workspace ? 1 : max_i64(min_i64(BLOCKS / max_i64(plan->gpu.grid_x, 1), steps), 1);
    int64_t length = ceil_div(steps, splits);
    splits = ceil_div(steps, length); /* none is empty */
    if (splits == 1) return (k_split){.whole = plan->gpu.grid_x, .splits = 1};
    return (k_split){.splits = splits,
                     .count = plan->gpu.grid_x * splits,
                     .length = length,
                     .bytes = round_up(splits * p->m * p->n * 4, 256)};
}

/* The operands' types by the names of PTX, where a kernel takes several; of 2 bytes IN_F16 says which. */
static int types_text(const tw_problem *p, char *text, size_t bytes)
{
    static const struct {
        tw_dtype dtype;
        const char *name;
    } names[] = {{TW_I8, "s8"}, {TW_U8, "u8"}, {TW_TF32, "tf32"}, {TW_E4M3, "e4m3"}, {TW_E5M2, "e5m2"}};
    const char *a = NULL, *b = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].dtype == p->dtype) a = names[i].name;
        if (names[i].dtype == (p->dtype_b != 0 ? p->dtype_b : p->dtype)) b = names[i].name;
    }
    if (a == NULL || b == NULL) return 0;
    const dtype_row *dtype = dtype_find(p->dtype);
    return snprintf(text, bytes, " -DELEMENT_BYTES=%d -DTYPE_A=%s -DTYPE_B=%s%s", dtype->lab.bytes, a, b,
                    dtype->result == TW_I32 ? " -DSUMS_S32=1" : "");
}

/* A GPU launch: one block of threads for each block of C; the compiler is told what is constant. */
void plan_gpu(plan *plan, const device_facts *device, const tw_lab_choice *choice)
{
    const tw_problem *p = &plan->problem;
    const kernel_row *row = plan->row;
    gpu_plan *gpu = &plan->gpu;
    bool square = row->gpu.traits & GPU_SQUARE, typed = row->gpu.traits & GPU_TYPES;
    plan->threads = 1;
    gpu->source = choice->source != NULL ? *choice->source
                                         : (tw_lab_source){.file = row->lab.file, .entry = row->gpu.entry};
    plan->tile = kernel_tile(row, p, choice->tile);
    gpu->few_rows = (row->gpu.traits & GPU_SWAP_AB) && p->m <= p->n;
    bool long_m = (row->gpu.traits & GPU_SWAP_AB) && !gpu->few_rows;
    gpu->block_m = square ? plan->tile : long_m ? row->lab.tile_n : row->lab.tile_m;
    gpu->block_n = square ? plan->tile : long_m ? row->lab.tile_m : row->lab.tile_n;
    gpu->threads_x = square ? plan->tile : row->gpu.threads_x;
    gpu->threads_y = square ? plan->tile : row->gpu.threads_y;
    gpu->grid_x = ceil_div(p->n, gpu->block_n);
    gpu->grid_y = ceil_div(p->m, gpu->block_m);
    if (row->gpu.traits & GPU_LINEAR_GRID) gpu->grid_x *= gpu->grid_y, gpu->grid_y = 1;
    if (row->gpu.traits & GPU_PERSISTENT) /* the fewest blocks that need as few waves */
        gpu->grid_x = ceil_div(gpu->grid_x, max_i64(ceil_div(gpu->grid_x, max_i64(device->multiprocessors, 1)), 1));
    if (gpu->one_launch)
        gpu->grid_x = row->gpu.blocks_each > 0 ? (int64_t)row->gpu.blocks_each * max_i64(device->multiprocessors, 1)
                                               : INT32_MAX;
    /* sgemm_batched_tma_sm90: two of the three blocks on each multiprocessor */
    if (gpu->one_launch && (row->gpu.traits & GPU_TMA) && row->gpu.blocks_each == 0)
        gpu->cut = 2 * max_i64(device->multiprocessors, 1);
    gpu->pack_a = kernel_packing_a(row, p);
    gpu->pack_b = kernel_packing_b(row, p);
    double longest;
    tuned_values room;
    const tuned_values *tuned = tuned_find(device, p, row, &room);
    if (row->gpu.traits & GPU_STREAM_K) gpu->k_split = choose_stream_k(row, p, device, &longest);
    if (row->gpu.traits & GPU_SLICED_K) gpu->k_split = choose_split_k(row, p, device, tuned, &longest);
    if (row->gpu.traits & GPU_SPLITS) gpu->k_split = choose_splits(row, p, device, tuned, &longest);
    if (row->gpu.traits & GPU_SWAP_AB) gpu->k_split = choose_swap_ab(row, p, device, tuned, &longest);
    if (row->gpu.traits & GPU_SPLIT_K)
        gpu->k_split = typed ? plan_split_opencl(row, p, device) : split_k_by_shape(plan, device);
    if (gpu->k_split.count > 0) gpu->grid_x = gpu->k_split.whole + gpu->k_split.count;
    if (device->items > 1) gpu->items = device->items;
    gpu->dynamic_bytes = row->gpu.dynamic_bytes + (gpu->k_split.by_cluster ? (int)cluster_bytes(row) : 0);
    plan->workspace_bytes = (size_t)(gpu->pack_a.bytes + gpu->pack_b.bytes + gpu->k_split.bytes);
    if (row->gpu.traits & GPU_PANELS) plan_panels(plan, device);
    gpu->transposes_b = (row->gpu.traits & GPU_TRANSPOSES_B) && p->op_b == TW_N;
    /* one text for all layouts */
    bool packs = (row->gpu.traits & (GPU_PACKS | GPU_READS_BOTH)) == GPU_PACKS || (row->gpu.traits & GPU_PANELS),
         packs_a = packs && !kernel_reads_across(row, p, 0), packs_b = packs && !kernel_reads_across(row, p, 1);
    bool row_in_warp = (row->gpu.traits & GPU_ROW_BARRIER) && device->warp > 0 && device->warp % plan->tile == 0;
    int used = snprintf(gpu->options, sizeof gpu->options, "-DTILE=%d -DOP_A=%d -DOP_B=%d -DWIDE=%d%s%s%s",
                        plan->tile ? plan->tile : 16,
                        packs_a ? (row->gpu.traits & GPU_READS_KM ? TW_T : TW_N) : p->op_a,
                        packs_b             ? (row->gpu.traits & GPU_READS_NK ? TW_T : TW_N)
                        : gpu->transposes_b ? TW_T
                                            : p->op_b,
                        kernel_is_wide(row, p), row_in_warp ? " -DSUBGROUP_BARRIER=1" : "",
                        !typed && (p->dtype == TW_F16 || p->dtype_c == TW_F16) ? " -DIN_F16=1" : "",
                        choice->default_build ? " -DDEFAULT_BUILD" : "");
    if ((row->gpu.traits & GPU_OWN_C) && !typed)
        used += snprintf(gpu->options + used, sizeof gpu->options - (size_t)used,
                         " -DC_HALF=%d -DTILE_M=%d -DTILE_N=%d", dtype_find(p->dtype_c)->lab.bytes == 2,
                         (int)gpu->block_m, (int)gpu->block_n);
    used += typed ? plan_types_opencl(p, gpu->options + used, sizeof gpu->options - (size_t)used)
                  : types_text(p, gpu->options + used, sizeof gpu->options - (size_t)used);
    if (row->gpu.traits & GPU_SWAP_AB)
        used += snprintf(gpu->options + used, sizeof gpu->options - (size_t)used, " -DFEW_ROWS=%d", gpu->few_rows);
    if (gpu->k_split.by_cluster)
        used += snprintf(gpu->options + used, sizeof gpu->options - (size_t)used, " -DCLUSTER_REDUCE=1");
    gpu->own_options = used;
    kernel_options(row, gpu->options + used, sizeof gpu->options - (size_t)used);
}

static double longest_run(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    double longest;
    choose_stream_k(row, p, device, &longest);
    return longest;
}

/* The cycles of the busiest multiprocessor of a GPU_OWN_C row. For each block of k its tensor cores work and its copies
 * arrive; these overlap to half. Copies share the bandwidth of the L2, and lines that do not begin at multiples of 128
 * bytes cost four times as much. Two warpgroups ping-pong: one stores while the other multiplies, until the last. Tiles
 * with more sums multiply a little slower. Numbers fitted to an H200 (docs/perf/gemm-wgmma.md#c-by-tma). */
static double wgmma_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device,
                           const tuned_values *tuned)
{
    enum { MULTIPLIED_BYTES = 4096, STORED_BYTES = 11, LINE = 128, ACROSS_LINES = 4 };
    double m = row->lab.tile_m, n = row->lab.tile_n, k = row->lab.tile_k, bytes = dtype_find(p->dtype)->lab.bytes,
           c_bytes = dtype_find(p->dtype_c)->lab.bytes;
    int64_t tiles = ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n),
            blocks = ceil_div(p->k, row->lab.tile_k);
    int64_t rounds = ceil_div(tiles, max_i64(device->multiprocessors, 1)), line = (int64_t)(LINE / bytes);
    double lines = m * (kernel_packing_a(row, p).ld % line != 0 ? ACROSS_LINES : 1) +
                   n * (kernel_packing_b(row, p).ld % line != 0 ? ACROSS_LINES : 1);
    double units = m * n * k * bytes / MULTIPLIED_BYTES * (m * n > 128 * 128 ? 1.03 : 1),
           copies = lines * k * bytes * (double)ceil_div(tiles, max_i64(rounds, 1)) / tuned->wgmma_l2_bytes;
    double block = units > copies ? units + copies / 2 : copies + units / 2;
    double multiply = (double)blocks * block + tuned->block, store = m * n * c_bytes / STORED_BYTES,
           last = (double)(rounds > 1 ? rounds : 0) / 2;
    /* the two that share a tile of fp8 store it before they go on */
    if (bytes == 1 && dtype_find(p->dtype)->result != TW_I32) return (double)rounds * (multiply + store);
    /* storing takes longer than multiplying where k is small */
    return longer((double)rounds * multiply + store, last * (multiply + store));
}

/* The packing pass: it reads and writes each element; single bytes at a lower rate. */
static double packing_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device,
                             const tuned_values *tuned)
{
    const double packed = (double)(kernel_packing_a(row, p).bytes + kernel_packing_b(row, p).bytes),
                 each = dtype_find(p->dtype)->lab.bytes == 1 ? tuned->pass_bytes : tuned->dram_bytes;
    return packed > 0 ? tuned->pass + 2 * packed / (each * (double)max_i64(device->multiprocessors, 1)) : 0;
}

/* wgmma_cycles() or choose_swap_ab(), with the packing pass. Each box line outside the matrix costs wgmma's rows some
 * TMA time, and they keep the memory a little less busy: for 16 cycles of 19. */
static double two_byte_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    enum { BUSY = 16, OF_CYCLES = 19, PER_LINE_OUTSIDE = 4 };
    tuned_values room;
    const tuned_values *tuned = tuned_find(device, p, row, &room);
    double cycles, memory = (double)max_i64(p->m, p->n) * (double)p->k * dtype_find(p->dtype)->lab.bytes /
                            (tuned->dram_bytes * BUSY / OF_CYCLES * (double)max_i64(device->multiprocessors, 1));
    if (row->gpu.traits & GPU_SWAP_AB) {
        choose_swap_ab(row, p, device, tuned, &cycles);
        return tuned->cost * (cycles + packing_cycles(row, p, device, tuned));
    }
    const bool along = row->gpu.traits & GPU_READS_NK;
    int64_t a_outside = along || p->op_a == TW_N ? max_i64(row->lab.tile_m - p->m, 0) : 0,
            b_outside = along || p->op_b == TW_T ? max_i64(row->lab.tile_n - p->n, 0) : 0;
    cycles = wgmma_cycles(row, p, device, tuned) +
             (double)((a_outside + b_outside) * ceil_div(p->k, row->lab.tile_k) * PER_LINE_OUTSIDE);
    return tuned->cost * (longer(cycles, memory) + packing_cycles(row, p, device, tuned));
}

/* wgmma_cycles() alone: tiles of one family pack and read the same. */
static double mainloop_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    tuned_values room;
    const tuned_values *tuned = tuned_find(device, p, row, &room);
    return tuned->cost * wgmma_cycles(row, p, device, tuned);
}

/* A row of gemm_wgmma_sm90, gemm_fp8_sm90 or gemm_swapab_sm90? */
static bool is_matrix_row(const kernel_row *row)
{
    return (row->gpu.traits & (GPU_OWN_C | GPU_TMA)) == (GPU_OWN_C | GPU_TMA);
}

/* Whether one tile of this GPU_SWAP_AB row is as high as all of C, or a few are and spare the pass that would transpose
 * the longer operand. Otherwise wider tiles are better. */
static bool is_thin_for(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    tuned_values room;
    const tuned_values *tuned = tuned_find(device, p, row, &room);
    return min_i64(p->m, p->n) <=
           (int64_t)row->lab.tile_m * (kernel_reads_across(row, p, p->m <= p->n) ? (int64_t)tuned->few_tiles : 1);
}

/* A GPU_STREAM_K row: cycles of a multiprocessor to store an element of C, by 4 words, by whole rows through shared
 * memory, or by single words. */
static double storing_each(const kernel_row *row, const tw_problem *p)
{
    return kernel_is_wide(row, p) ? 0.6 : row->lab.tile_m == row->lab.tile_n ? 0.36 : 1.55;
}

/* The cost model: cycles of a multiprocessor for this product on this row. The launch, the packing pass, then the
 * longer of multiplying and of loading the operands from memory. GPU_STREAM_K rows store C at the end; their launch
 * includes fetching their many instructions from memory. */
static double estimate_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    enum { FMAS = 128 };
    tuned_values room;
    const tuned_values *tuned = tuned_find(device, p, row, &room);
    const bool sliced_k = row->gpu.traits & GPU_SLICED_K, shared = row->gpu.traits & GPU_STREAM_K;
    int64_t multiprocessors = max_i64(device->multiprocessors, 1),
            tiles = ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n);
    packing pack_a = kernel_packing_a(row, p), pack_b = kernel_packing_b(row, p);
    double k = (double)p->k, cycle_bytes = tuned->dram_bytes * (double)multiprocessors;
    double multiply = (double)ceil_div(tiles, multiprocessors) *
                      ((double)(row->lab.tile_m * row->lab.tile_n) * k / (FMAS * tuned->full) + tuned->block);
    if (shared)
        multiply = longest_run(row, p, device) * k / (tuned->full * FMAS) +
                   (double)p->m * (double)p->n * storing_each(row, p) / (double)multiprocessors;
    if (sliced_k) choose_split_k(row, p, device, tuned, &multiply);
    double bytes = ((double)p->m * k + k * (double)p->n + (double)p->m * (double)p->n) *
                   dtype_find(p->dtype)->lab.bytes;
    return tuned->cost *
           ((sliced_k ? tuned->pdl_launch : tuned->launch) +
            (pack_a.needed || pack_b.needed) * (shared ? tuned->stream_k_pass : tuned->pass) +
            2.0 * (double)(pack_a.bytes + pack_b.bytes) / cycle_bytes + longer(multiply, bytes / cycle_bytes));
}

/* choose_splits(), and the cost model of those rows. */
static double splits_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    double cycles;
    tuned_values room;
    const tuned_values *tuned = tuned_find(device, p, row, &room);
    choose_splits(row, p, device, tuned, &cycles);
    return tuned->cost * cycles;
}

/* Rows that no cost model compares: the one with the lower tuned cost; of equal ones `later`, unless `first`. */
static bool beats_by_rule(const kernel_row *one, const kernel_row *later, const tw_problem *p,
                          const device_facts *device, bool first)
{
    tuned_values rooms[2];
    const double cost = tuned_find(device, p, one, &rooms[0])->cost,
                 of_later = tuned_find(device, p, later, &rooms[1])->cost;
    return cost != of_later ? cost < of_later : first;
}

/* Whether `one` is better than `later`, a later row of the table. Cost models decide between thin and wide swap-AB
 * tiles, between tiles of one family (a later tile of GPU_STREAM_K must win by 0.5 %), and wherever k can be divided.
 * Otherwise the later row is better, unless only `one` loads by TMA, or a tuned row says so. */
bool plan_gpu_beats(const kernel_row *one, const kernel_row *later, const tw_problem *p, const device_facts *device)
{
    if (one->gpu.traits & later->gpu.traits & GPU_SPLITS)
        return splits_cycles(one, p, device) <= splits_cycles(later, p, device);
    if ((one->gpu.traits | later->gpu.traits) & GPU_TYPES) return plan_opencl_beats(one, later, p, device);
    if (later->gpu.traits & GPU_SWAP_AB)
        return !is_thin_for(later, p, device) || two_byte_cycles(one, p, device) <= two_byte_cycles(later, p, device);
    if (is_matrix_row(one) && is_matrix_row(later))
        return mainloop_cycles(one, p, device) <= mainloop_cycles(later, p, device);
    if (one->gpu.traits & later->gpu.traits & GPU_STREAM_K)
        return estimate_cycles(one, p, device) <= 1.005 * estimate_cycles(later, p, device);
    if ((one->gpu.traits | later->gpu.traits) & GPU_SLICED_K)
        return estimate_cycles(one, p, device) <= estimate_cycles(later, p, device);
    return beats_by_rule(one, later, p, device, (one->gpu.traits & GPU_TMA) && !(later->gpu.traits & GPU_TMA));
}

void plan_reason(const tw_problem *problem, const device_facts *device, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < kernel_count(); i++) {
        const kernel_row *row = kernel_at(i);
        bool half = is_matrix_row(row),
             opencl = strcmp(row->lab.engine, "opencl") == 0 && device->vector_bytes == 0 &&
                      !(row->gpu.traits & GPU_PANELS),
             weighed = row->gpu.entry != NULL && plan_offers(row, device) &&
                       (half || opencl || (row->gpu.traits & (GPU_STREAM_K | GPU_SLICED_K | GPU_SPLITS)));
        if (!weighed || !kernel_fits(row, problem, device, 0, NULL, 0) || used >= bytes) continue;
        if ((row->gpu.traits & GPU_SWAP_AB) && !is_thin_for(row, problem, device)) continue;
        const double cycles = (row->gpu.traits & GPU_SPLITS) ? splits_cycles(row, problem, device)
                              : opencl                       ? plan_cycles_opencl(row, problem, device)
                              : half                         ? two_byte_cycles(row, problem, device)
                                                             : estimate_cycles(row, problem, device);
        used += (size_t)snprintf(text + used, bytes - used, "%s%s %.0f", used == 0 ? "cycles expected: " : ", ",
                                 row->lab.rung, cycles);
    }
}

/* The cost of a batch in one launch: elements of C that the tiles cover, over the speed of the row. */
static double batch_cost(const kernel_row *row, const tw_problem *p)
{
    int64_t tile = row->lab.tile_m;
    return (double)(ceil_div(p->m, tile) * ceil_div(p->n, tile) * tile * tile) / row->gpu.speed;
}

/* Whether TMA can address the items as the third dimension of a tensor, and store C, of which it writes whole 16
 * bytes. */
static bool takes_boxes(const kernel_row *row, const tw_problem *p, const tw_batch *batch)
{
    enum { TMA_BYTES = 16 };
    const int64_t most_stride = ((int64_t)1 << 40) / 8;
    bool near = batch->stride_a < most_stride && batch->stride_b < most_stride && batch->stride_c < most_stride &&
                p->ldc < most_stride;
    /* few tiles an item: the 64 x 64 tiles of gemm_batched_tma_sm90 read A and B more often than those of
     * gemm_batched_mma_sm80; measured */
    bool few = dtype_find(p->dtype)->lab.bytes != 2 ||
               ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n) <= 4;
    return !batch->pointers && near && few && p->k > 0 && p->n * dtype_find(p->dtype_c)->lab.bytes % TMA_BYTES == 0 &&
           kernel_is_wide(row, p);
}

const kernel_row *plan_batch_row(const tw_problem *p, const tw_batch *batch, const device_facts *device, char *reason,
                                 size_t reason_bytes)
{
    const kernel_row *best = NULL, *row;
    snprintf(reason, reason_bytes, "the %s engine has none for %s", device->engine, dtype_find(p->dtype)->lab.name);
    for (int i = 0; (row = kernel_batch_at(i)) != NULL; i++) {
        if (row->lab.dtype != p->dtype || ((row->gpu.traits & GPU_TMA) && !takes_boxes(row, p, batch))) continue;
        if (!kernel_fits(row, p, device, 0, reason, reason_bytes)) continue;
        int64_t tiles = ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n);
        if (tiles > BATCH_MOST_TILES)
            snprintf(reason, reason_bytes, "an item has %" PRId64 " tiles, a launch at most %d", tiles,
                     (int)BATCH_MOST_TILES);
        else if (best == NULL || batch_cost(row, p) <= batch_cost(best, p))
            best = row;
    }
    return best;
}

void plan_one_launch(const tw_problem *problem, const device_facts *device, const kernel_row *row, plan *out)
{
    *out = (plan){.problem = *problem, .row = row, .gpu = {.one_launch = true}};
    plan_gpu(out, device, &(tw_lab_choice){0});
}

bool plan_batch_fills(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    const int64_t edge = 128, share = row->gpu.fills > 0 ? row->gpu.fills : 100;
    return ceil_div(p->m, edge) * ceil_div(p->n, edge) >= 2 * (int64_t)device->multiprocessors * share / 100;
}
