/* plan_gpu.c - a GPU's launch: the grid, shares of k, and models of time that choose between kernels. Pure, as
 * plan.c. */
#include "planners.h"

#include <inttypes.h>
#include <stdio.h>

/* A GPU_SHARES row: 12 warps have room on each multiprocessor. So many of its blocks on one compute an element of C
 * each in this time, in elements at full speed; speeds of fewer warps were measured on an H200
 * (docs/perf/cublaslt.md#packing-counted). */
static double time_of(const kernel_row *row, int64_t blocks)
{
    static const double speed[] = {1, 0.39, 0.78, 0.75, 0.945, 0.97}; /* of 2 warps more each */
    int64_t room = 12 * 32 / row->gpu.threads_x, rest = blocks % room;
    return (double)(blocks - rest) + (double)rest / speed[rest * row->gpu.threads_x / 64];
}

enum { NARROW = 32, NARROW_STEPS = 3 };

/* Tiles of a GPU_SHARES row of which more than NARROW rows and columns lie in C. Of the others a square row's kernel
 * computes only a quarter, NARROW_STEPS steps of k in the time of one. */
static int64_t wide_tiles(const kernel_row *row, const tw_problem *p)
{
    int64_t spared = row->lab.tile_m == row->lab.tile_n ? NARROW : 0;
    return ceil_div(max_i64(p->m - spared, 0), row->lab.tile_m) * ceil_div(max_i64(p->n - spared, 0), row->lab.tile_n);
}

/* Tiles that fill the device once, or several times, are computed whole; those left over, and all narrow ones, are cut
 * into shares where that ends earlier: as many as there is room for, or equal parts of each tile. The last share of a
 * tile adds the others' parts one after the other, each of which takes about as long as a step of a full
 * multiprocessor; parts must be written and a second tile begun: OTHERS. *longest: how long the one with most to do
 * takes, in elements of C at full speed. */
static shares share_out(const kernel_row *row, const tw_problem *p, const device_facts *device, double *longest)
{
    enum { MOST_PARTS = 16, OTHERS = 2, MOST_BYTES = 560000 };
    int64_t multiprocessors = max_i64(device->multiprocessors, 1), each = 12 * 32 / row->gpu.threads_x,
            room = each * multiprocessors;
    int64_t tiles = ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n),
            steps = max_i64(ceil_div(p->k, row->lab.tile_k), 1), wide = wide_tiles(row, p);
    int64_t whole = wide - wide % room, narrow = tiles - wide, units = ceil_div(steps, NARROW_STEPS),
            left = (wide - whole) * steps + narrow * units;
    double area = (double)row->lab.tile_m * (double)row->lab.tile_n;
    double tail = time_of(row, ceil_div(wide - whole, multiprocessors)) +
                  (double)ceil_div(narrow, multiprocessors) / NARROW_STEPS;
    shares made = {.whole = tiles};
    bool may = !device->no_workspace && left > 0;
    for (int64_t parts = 1; may && parts <= MOST_PARTS; parts++) {
        int64_t length = parts == 1 ? ceil_div(left, room) : ceil_div(steps, parts), count = ceil_div(left, length);
        int64_t adds = ceil_div(steps, length) - 1 + (steps % length != 0) + OTHERS,
                bytes = round_up(count * (row->lab.tile_m * row->lab.tile_n * 4 + 8), 256);
        double time = ((double)length * time_of(row, ceil_div(count, multiprocessors)) + (double)(adds * each)) /
                      (double)steps;
        bool divides = wide > whole || length % units != 0; /* else a share is so many whole tiles */
        if (length >= steps || !divides || bytes > MOST_BYTES * multiprocessors || time >= tail) continue;
        tail = time;
        made = (shares){whole, count, length, bytes};
    }
    *longest = ((double)(whole / multiprocessors) + tail) * area;
    return made;
}

static double longer(double x, double y) { return x > y ? x : y; }

/* Of a GPU_SLICES row: how many warps divide the k of a tile, which are all where nothing says what a warp's part of it
 * is. */
static int64_t slices_of(const kernel_row *row)
{
    int64_t warp_area = (int64_t)row->gpu.a_box_cols * row->gpu.b_box_cols, warps = row->gpu.threads_x / 32;
    return warp_area > 0 ? warps * warp_area / (row->lab.tile_m * row->lab.tile_n) : warps;
}

/* So many words of an operand are copied by threads in the time of a pace's copy; fitted. Copies of 4, 2 or 1 words, by
 * where rows begin; and of 4 with a look at each, as where lines lie side by side, C cuts a tile within 4 of them and
 * all operands lie in whole 16 bytes. Of others such tiles, and the last steps where k ends within them, are copied by
 * words, which is not counted. */
static double words_each(bool wide, int64_t beside, unsigned align, int64_t ld)
{
    bool quads = align % 16 == 0 && ld % 4 == 0, pairs = align % 8 == 0 && ld % 2 == 0;
    return wide && beside % 4 != 0 ? 5.6 : quads ? 16 : pairs ? 8.5 : 3.3;
}

/* What copies for a step of k of a tile cost, in those. */
static double copies_each(const kernel_row *row, const tw_problem *p)
{
    bool wide = kernel_is_wide(row, p);
    return (double)row->lab.tile_m / words_each(wide, p->op_a == TW_T ? p->m : 0, p->align_a, p->lda) +
           (double)row->lab.tile_n / words_each(wide, p->op_b == TW_N ? p->n : 0, p->align_b, p->ldb);
}

/* Of a GPU_SLICES row that the copy engine feeds: lines of the boxes that so many slices of a block ask for at once
 * when it begins; later ones come while they multiply. */
static double lines_first(const kernel_row *row, const tw_problem *p, int64_t slices)
{
    const gpu_kernel *g = &row->gpu;
    int64_t a_lines = p->op_a == TW_N ? min_i64(p->m, g->a_box_cols) : g->a_box_rows,
            b_lines = p->op_b == TW_T ? min_i64(p->n, g->b_box_cols) : g->b_box_rows;
    return (double)(slices * (row->lab.tile_n / g->b_box_cols) * (a_lines + b_lines));
}

enum { QUARTERS = 4 }; /* of a multiprocessor, each of which begins the instructions of every fourth warp */

/* Steps of k that the busiest quarter's warps copy, at most two warps: of 8 the last and the fourth; where k is parted,
 * within one. Of what is left when all warps have equally many steps, the last warp has one, and the fourth too where
 * it is 2 or more, but for 3 in a block that has all of k. */
static int64_t steps_of_quarter(int64_t steps, int64_t parts, int64_t warps)
{
    int64_t each = steps / (parts * warps), left = steps % (parts * warps);
    if (warps <= QUARTERS) return each + (left > 0);
    bool both = left * QUARTERS >= parts * warps && !(parts == 1 && left == 3);
    return each * 2 + (left > 0) + both;
}

/* Of a GPU_SLICES row: what a block of a cluster has beside: a tile's worth of sums that the others send, and a barrier
 * (kernels/cuda/parts.cuh). */
static int64_t meeting_bytes(const kernel_row *row) { return row->lab.tile_m * row->lab.tile_n * 4 + 16; }

/* Can so many parts of each tile be a cluster, all of them at a time? Of an H200's 132 multiprocessors clusters of 2
 * can have all, of 4 and of 8 blocks 120 (cuOccupancyMaxActiveClusters: 66, 30, 15), since a cluster lies within a
 * group of 16 or 18, or less. */
static bool may_meet(const kernel_row *row, const device_facts *device, int64_t tiles, int64_t parts, int64_t room)
{
    if (!device->clusters || (parts != 2 && parts != 4 && parts != 8)) return false;
    return room * (row->gpu.dynamic_bytes + meeting_bytes(row)) <= device->local_bytes &&
           tiles * parts <= room * device->multiprocessors * (parts == 2 ? 11 : 10) / 11;
}

/* A GPU_SLICES row: so many parts of k in blocks of their own, one for each, as end soonest. *cycles: how long the
 * busiest multiprocessor copies and multiplies, as long as its longest warp, or all ask the L2, with the adding of
 * parts: in a cluster at once; else each is written, waited for and read, by groups of 8 and then once more, and longer
 * where it comes in a later round. */
static shares part_out(const kernel_row *row, const tw_problem *p, const device_facts *device, double *cycles)
{
    enum {
        FMAS = 128,
        L2_BYTES = 30,
        MEETING = 620,
        ADDING = 3140,
        LATER = 1020,
        ADDED_BYTES = 28,
        GROUP = 8,
        MOST_ROUNDS = 4,
        MOST_TRIED = 8,
        MOST_BYTES = 500000
    };
    int64_t multiprocessors = max_i64(device->multiprocessors, 1), warps = slices_of(row),
            room = max_i64(device->local_bytes / row->gpu.dynamic_bytes, 1);
    int64_t tiles = max_i64(ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n), 1),
            steps = max_i64(ceil_div(p->k, row->lab.tile_k), 1);
    double area = (double)row->lab.tile_m * (double)row->lab.tile_n,
           edges = (double)row->lab.tile_m + (double)row->lab.tile_n, bytes = dtype_find(p->dtype)->lab.bytes;
    const slice_pace *pace = &row->gpu.pace;
    shares made = {.whole = tiles};
    *cycles = 0;
    for (int64_t tried = 1; tried <= MOST_TRIED + MOST_ROUNDS * room; tried++) {
        int64_t parts = tried <= MOST_TRIED ? tried : (tried - MOST_TRIED) * multiprocessors / tiles;
        bool meets = may_meet(row, device, tiles, parts, room);
        if (parts > steps || parts < 1 ||
            (parts > 1 && !meets &&
             (device->no_workspace || (double)(tiles * parts) * area * 4 > MOST_BYTES * (double)multiprocessors)))
            continue;
        int64_t each = ceil_div(tiles * parts, multiprocessors), length = ceil_div(steps, parts);
        int64_t alone = room > 1 ? each % room : each,
                copied_k = steps_of_quarter(steps, parts, warps) * QUARTERS * row->lab.tile_k;
        double copies = row->gpu.traits & GPU_TENSOR_MAPS ? lines_first(row, p, min_i64(length, warps))
                                                          : (double)copied_k * copies_each(row, p);
        double fmas = (double)(round_up(length, warps) * row->lab.tile_k) * area / FMAS;
        double multiply = fmas * ((double)(each - alone) / pace->share + (double)alone / pace->alone) +
                          (double)each * (copies * pace->copy + pace->block);
        double ask = (double)(tiles * steps * row->lab.tile_k) * edges * bytes / (double)(L2_BYTES * multiprocessors);
        double add = parts == 1 ? 0
                     : meets    ? MEETING
                                : (parts > GROUP ? 2 : 1) * ADDING + (double)((each - 1) * LATER) +
                                   (double)(each * (min_i64(parts, GROUP) + parts / GROUP)) * area * 4 / ADDED_BYTES;
        double time = longer(multiply, ask) + add;
        if (*cycles > 0 && time >= *cycles) continue;
        *cycles = time;
        made = (shares){tiles, 0, 0, 0};
        if (parts > 1)
            made = (shares){0, tiles * parts, length,
                            meets ? 0 : round_up(tiles * parts * (row->lab.tile_m * row->lab.tile_n * 4 + 8), 256),
                            .meets = meets};
    }
    return made;
}

/* A GPU_STREAM row: each tile's k in so many blocks as end soonest; or, where there are more tiles than
 * multiprocessors, equal shares of all of them. *cycles: memory brings the long operand once, the L2 both, a
 * multiprocessor takes so many bytes; a block that follows another begins anew, and parts of a tile meet. Numbers of an
 * H200 (docs/perf/gemm-swapab.md#streaming). */
static shares stream_out(const kernel_row *row, const tw_problem *p, const device_facts *device, double *cycles)
{
    enum {
        MULTIPLIES = 2048,
        L2_BYTES = 9000,
        MEMORY_BYTES = 19,
        EACH_BYTES = 36,
        PER_STEP = 50,
        PER_TILE = 1500,
        PER_ROUND = 6000,
        LINE = 256,
        MEETING = 3000,
        ADDING = 20,
        STORED_BYTES = 10,
        MOST_PARTS = 64
    };
    int64_t multiprocessors = max_i64(device->multiprocessors, 1), few = min_i64(p->m, p->n),
            many = max_i64(p->m, p->n), bytes = dtype_find(p->dtype)->lab.bytes;
    int64_t tiles = max_i64(ceil_div(few, row->lab.tile_m) * ceil_div(many, row->lab.tile_n), 1),
            steps = max_i64(ceil_div(p->k, row->lab.tile_k), 1), high = min_i64(few, row->lab.tile_m);
    double x_bytes = (double)(row->lab.tile_n * row->lab.tile_k * bytes),
           y_bytes = (double)(high * row->lab.tile_k * bytes);
    double own = longer((double)row->lab.tile_m * (double)row->lab.tile_n * (double)row->lab.tile_k / MULTIPLIES,
                        x_bytes / EACH_BYTES);
    double memory = (double)many * (double)p->k * (double)bytes / (double)(MEMORY_BYTES * multiprocessors);
    double store = (double)(high * row->lab.tile_n * dtype_find(p->dtype_c)->lab.bytes) / STORED_BYTES;
    shares made = {0};
    for (int64_t parts = 0; parts <= MOST_PARTS; parts++) {
        if (device->no_workspace ? parts != 1
            : parts == 0         ? tiles <= multiprocessors || p->k == 0
                                 : parts > 1 && (parts > steps || parts * tiles > multiprocessors))
            continue;
        int64_t length = parts > 0 ? ceil_div(steps, parts) : ceil_div(tiles * steps, multiprocessors);
        int64_t each = parts > 0 ? ceil_div(steps, length) : 0,
                blocks = parts > 0 ? tiles * each : ceil_div(tiles * steps, length),
                rounds = ceil_div(blocks, multiprocessors);
        double step = longer(own, (x_bytes + y_bytes) * (double)ceil_div(blocks, rounds) / L2_BYTES) + PER_STEP;
        /* blocks that are not at the same steps at a time, and ask for short lines */
        double scattered = parts == 0 && row->lab.tile_n * bytes < LINE ? 1.1 : 1;
        double time = longer((double)(rounds * length) * step + PER_TILE, memory * scattered) +
                      (double)(rounds - 1) * PER_ROUND + store;
        if (each != 1) time += MEETING + (double)(max_i64(each - 1, 1) * row->lab.tile_m) * ADDING;
        if (made.length > 0 && time >= *cycles) continue;
        *cycles = time;
        made = (shares){
            .parts = each, .length = length, .whole = each == 1 ? tiles : 0, .count = each == 1 ? 0 : blocks};
    }
    made.bytes = round_up(made.count * ((int64_t)row->lab.tile_m * row->lab.tile_n * 4 + 8), 256);
    return made;
}

/* A GPU_DIVIDES row: so many parts of k as make some BLOCKS blocks, whatever the device, so that bits depend on the
 * shape alone; one where there is no memory for their sums. */
static shares divide(const plan *plan, const device_facts *device)
{
    enum { BLOCKS = 1024 };
    const tw_problem *p = &plan->problem;
    int64_t steps = max_i64(ceil_div(p->k, plan->tile), 1),
            parts = device->no_workspace ? 1 : max_i64(min_i64(BLOCKS / max_i64(plan->gpu.grid_x, 1), steps), 1);
    int64_t length = ceil_div(steps, parts);
    parts = ceil_div(steps, length); /* none is empty */
    if (parts == 1) return (shares){.whole = plan->gpu.grid_x, .parts = 1};
    return (shares){.parts = parts,
                    .count = plan->gpu.grid_x * parts,
                    .length = length,
                    .bytes = round_up(parts * p->m * p->n * 4, 256)};
}

/* A GPU's launch: one block of threads for each block of C, the compiler told what is constant. */
void plan_gpu(plan *plan, const device_facts *device, const tw_lab_choice *choice)
{
    const tw_problem *p = &plan->problem;
    const kernel_row *row = plan->row;
    gpu_plan *gpu = &plan->gpu;
    bool square = row->gpu.traits & GPU_SQUARE;
    plan->threads = 1;
    gpu->source = choice->source != NULL ? *choice->source
                                         : (tw_lab_source){.file = row->lab.file, .entry = row->gpu.entry};
    plan->tile = kernel_tile(row, p, choice->tile);
    gpu->few_rows = (row->gpu.traits & GPU_STREAM) && p->m <= p->n;
    bool on_side = (row->gpu.traits & GPU_STREAM) && !gpu->few_rows;
    gpu->block_m = square ? plan->tile : on_side ? row->lab.tile_n : row->lab.tile_m;
    gpu->block_n = square ? plan->tile : on_side ? row->lab.tile_m : row->lab.tile_n;
    gpu->threads_x = square ? plan->tile : row->gpu.threads_x;
    gpu->threads_y = square ? plan->tile : row->gpu.threads_y;
    gpu->grid_x = ceil_div(p->n, gpu->block_n);
    gpu->grid_y = ceil_div(p->m, gpu->block_m);
    if (row->gpu.traits & GPU_LINEAR_GRID) gpu->grid_x *= gpu->grid_y, gpu->grid_y = 1;
    if (row->gpu.traits & GPU_PERSISTENT) /* as many blocks as take equally many tiles each */
        gpu->grid_x = ceil_div(gpu->grid_x, max_i64(ceil_div(gpu->grid_x, max_i64(device->multiprocessors, 1)), 1));
    if (gpu->one_launch)
        gpu->grid_x = row->gpu.blocks_each > 0 ? (int64_t)row->gpu.blocks_each * max_i64(device->multiprocessors, 1)
                                               : INT32_MAX;
    /* sgemm_batched_tma_sm90: of three blocks on each */
    if (gpu->one_launch && (row->gpu.traits & GPU_TENSOR_MAPS) && row->gpu.blocks_each == 0)
        gpu->cut = 2 * max_i64(device->multiprocessors, 1);
    gpu->pack_a = kernel_packing_a(row, p);
    gpu->pack_b = kernel_packing_b(row, p);
    double longest;
    if (row->gpu.traits & GPU_SHARES) gpu->shares = share_out(row, p, device, &longest);
    if (row->gpu.traits & GPU_SLICES) gpu->shares = part_out(row, p, device, &longest);
    if (row->gpu.traits & GPU_STREAM) gpu->shares = stream_out(row, p, device, &longest);
    if (row->gpu.traits & GPU_DIVIDES) gpu->shares = divide(plan, device);
    if (gpu->shares.count > 0) gpu->grid_x = gpu->shares.whole + gpu->shares.count;
    gpu->dynamic_bytes = row->gpu.dynamic_bytes + (gpu->shares.meets ? (int)meeting_bytes(row) : 0);
    plan->workspace_bytes = (size_t)(gpu->pack_a.bytes + gpu->pack_b.bytes + gpu->shares.bytes);
    gpu->turns_b = (row->gpu.traits & GPU_TURNS_B) && p->op_b == TW_N;
    bool packs = (row->gpu.traits & (GPU_PACKS | GPU_READS_BOTH)) == GPU_PACKS; /* one form for all */
    bool row_in_warp = (row->gpu.traits & GPU_ROW_BARRIER) && device->warp > 0 && device->warp % plan->tile == 0;
    int used = snprintf(gpu->options, sizeof gpu->options, "-DTILE=%d -DOP_A=%d -DOP_B=%d -DWIDE=%d%s%s%s",
                        plan->tile ? plan->tile : 16, packs ? (row->gpu.traits & GPU_READS_KM ? TW_T : TW_N) : p->op_a,
                        packs          ? TW_N
                        : gpu->turns_b ? TW_T
                                       : p->op_b,
                        kernel_is_wide(row, p), row_in_warp ? " -DSUBGROUP_BARRIER=1" : "",
                        p->dtype == TW_F16 ? " -DIN_F16=1" : "", choice->default_build ? " -DDEFAULT_BUILD" : "");
    if (row->gpu.traits & GPU_OWN_C)
        used += snprintf(gpu->options + used, sizeof gpu->options - (size_t)used,
                         " -DC_HALF=%d -DTILE_M=%d -DTILE_N=%d", p->dtype_c != TW_F32, (int)gpu->block_m,
                         (int)gpu->block_n);
    if (row->gpu.traits & GPU_STREAM)
        used += snprintf(gpu->options + used, sizeof gpu->options - (size_t)used, " -DFEW_ROWS=%d", gpu->few_rows);
    if (gpu->shares.meets) used += snprintf(gpu->options + used, sizeof gpu->options - (size_t)used, " -DMEETS=1");
    gpu->own_options = used;
    kernel_options(row, gpu->options + used, sizeof gpu->options - (size_t)used);
}

static double longest_share(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    double longest;
    share_out(row, p, device, &longest);
    return longest;
}

/* How long the multiprocessor with most tiles of a GPU_OWN_C row takes, in cycles. For each block of k its matrix units
 * work and its copies come in, which overlap to half; copies share what the L2 gives, and lines that do not begin at
 * multiples of 128 bytes cost four times as much. Two warpgroups take tiles in turns: one stores while the other
 * multiplies, until the last. Tiles with more sums multiply a little slower. Numbers fitted to an H200
 * (docs/perf/gemm-wgmma.md#c-by-tma). */
static double longest_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    enum { MULTIPLIES = 2048, L2_BYTES = 9500, STORED_BYTES = 11, PER_TILE = 1300, LINE = 128, ACROSS_LINES = 4 };
    double m = row->lab.tile_m, n = row->lab.tile_n, k = row->lab.tile_k, bytes = dtype_find(p->dtype)->lab.bytes,
           c_bytes = dtype_find(p->dtype_c)->lab.bytes;
    int64_t tiles = ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n),
            blocks = ceil_div(p->k, row->lab.tile_k);
    int64_t rounds = ceil_div(tiles, max_i64(device->multiprocessors, 1)), line = (int64_t)(LINE / bytes);
    double lines = m * (kernel_packing_a(row, p).ld % line != 0 ? ACROSS_LINES : 1) +
                   n * (kernel_packing_b(row, p).ld % line != 0 ? ACROSS_LINES : 1);
    double units = m * n * k / MULTIPLIES * (m * n > 128 * 128 ? 1.03 : 1),
           copies = lines * k * bytes * (double)ceil_div(tiles, max_i64(rounds, 1)) / L2_BYTES;
    double block = units > copies ? units + copies / 2 : copies + units / 2;
    double multiply = (double)blocks * block + PER_TILE, store = m * n * c_bytes / STORED_BYTES,
           last = (double)(rounds > 1 ? rounds : 0) / 2;
    /* what is stored takes longer where k is small */
    return longer((double)rounds * multiply + store, last * (multiply + store));
}

/* The same of GPU_STREAM rows and others. Lines that a box of the others asks for outside the matrix take the copy
 * engine some time each, and they keep the memory a little less busy. */
static double half_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    enum { MEMORY_BYTES = 16, PER_LINE_OUTSIDE = 4 };
    double cycles, memory = (double)max_i64(p->m, p->n) * (double)p->k * dtype_find(p->dtype)->lab.bytes /
                            (double)(MEMORY_BYTES * max_i64(device->multiprocessors, 1));
    if (row->gpu.traits & GPU_STREAM) {
        stream_out(row, p, device, &cycles);
        return cycles;
    }
    int64_t a_outside = p->op_a == TW_N ? max_i64(row->lab.tile_m - p->m, 0) : 0,
            b_outside = p->op_b == TW_T ? max_i64(row->lab.tile_n - p->n, 0) : 0;
    cycles = longest_cycles(row, p, device) +
             (double)((a_outside + b_outside) * ceil_div(p->k, row->lab.tile_k) * PER_LINE_OUTSIDE);
    return longer(cycles, memory);
}

/* Is C so thin that one tile of this GPU_STREAM row is as high as all of it? Others are for wider tiles. */
static bool is_thin_for(const kernel_row *row, const tw_problem *p) { return min_i64(p->m, p->n) <= row->lab.tile_m; }

/* Of a GPU_SHARES row, in cycles of a multiprocessor: an element of C on its way to memory, by quads, in whole lines by
 * way of shared memory, or by words. */
static double storing_each(const kernel_row *row, const tw_problem *p)
{
    return kernel_is_wide(row, p) ? 0.6 : row->lab.tile_m == row->lab.tile_n ? 0.36 : 1.55;
}

/* What a product takes on this row, in cycles of a multiprocessor: the launch, the pass that packs, then the longer of
 * what multiplying takes and what memory takes to bring the operands; rows of the large ones store C at the end, and
 * their LAUNCH is that of their many instructions too, which come from memory. Measured on an H200
 * (docs/perf/planner.md#quarters). */
static double cycles_of(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    enum { LAUNCH = 4200, EARLY = 2300, PASS = 4000, SHARES_PASS = 10000, BLOCK = 1500, FMAS = 128, MEMORY_BYTES = 19 };
    const bool slices = row->gpu.traits & GPU_SLICES, shared = row->gpu.traits & GPU_SHARES;
    int64_t multiprocessors = max_i64(device->multiprocessors, 1),
            tiles = ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n);
    packing pack_a = kernel_packing_a(row, p), pack_b = kernel_packing_b(row, p);
    double k = (double)p->k, share = row->gpu.sm >= 80 ? 0.76 : 0.7; /* of the peak */
    double multiply = (double)ceil_div(tiles, multiprocessors) *
                      ((double)(row->lab.tile_m * row->lab.tile_n) * k / (FMAS * share) + BLOCK);
    if (shared)
        multiply = longest_share(row, p, device) * k / (0.87 * FMAS) +
                   (double)p->m * (double)p->n * storing_each(row, p) / (double)multiprocessors;
    if (slices) part_out(row, p, device, &multiply);
    double bytes = ((double)p->m * k + k * (double)p->n + (double)p->m * (double)p->n) *
                   dtype_find(p->dtype)->lab.bytes;
    return (slices ? EARLY : LAUNCH) + (pack_a.needed || pack_b.needed) * (shared ? SHARES_PASS : PASS) +
           2.0 * (double)(pack_a.bytes + pack_b.bytes) / (double)(MEMORY_BYTES * multiprocessors) +
           longer(multiply, bytes / (double)(MEMORY_BYTES * multiprocessors));
}

/* The later in the table is the better; but none beats one that the copy engine feeds, and of tiles of several sizes
 * later ones must end earlier by more than that is known. Rows that divide k are for what leaves others idle: the model
 * decides. */
bool plan_gpu_beats(const kernel_row *one, const kernel_row *later, const tw_problem *p, const device_facts *device)
{
    if (later->gpu.traits & GPU_STREAM)
        return !is_thin_for(later, p) || half_cycles(one, p, device) <= half_cycles(later, p, device);
    if (one->gpu.traits & later->gpu.traits & GPU_OWN_C)
        return longest_cycles(one, p, device) <= longest_cycles(later, p, device);
    if (one->gpu.traits & later->gpu.traits & GPU_SHARES)
        return cycles_of(one, p, device) <= 1.005 * cycles_of(later, p, device);
    if ((one->gpu.traits | later->gpu.traits) & GPU_SLICES)
        return cycles_of(one, p, device) <= cycles_of(later, p, device);
    return (one->gpu.traits & GPU_TENSOR_MAPS) && !(later->gpu.traits & GPU_TENSOR_MAPS);
}

void plan_reason(const tw_problem *problem, const device_facts *device, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < kernel_count(); i++) {
        const kernel_row *row = kernel_at(i);
        bool half = row->gpu.traits & GPU_OWN_C, weighed = row->gpu.entry != NULL && row->lab.production &&
                                                           (half || (row->gpu.traits & (GPU_SHARES | GPU_SLICES)));
        if (!weighed || !kernel_fits(row, problem, device, 0, NULL, 0) || used >= bytes) continue;
        if ((row->gpu.traits & GPU_STREAM) && !is_thin_for(row, problem)) continue;
        double cycles = half ? half_cycles(row, problem, device) : cycles_of(row, problem, device);
        used += (size_t)snprintf(text + used, bytes - used, "%s%s %.0f", used == 0 ? "cycles expected: " : ", ",
                                 row->lab.rung, cycles);
    }
}

/* A batch in one launch: elements of C that the tiles cover, by how fast they are. */
static double batch_cost(const kernel_row *row, const tw_problem *p)
{
    int64_t tile = row->lab.tile_m;
    return (double)(ceil_div(p->m, tile) * ceil_div(p->n, tile) * tile * tile) / row->gpu.speed;
}

/* May the copy engine have the items as the third dimension of a tensor, and write C, of which it writes whole 16
 * bytes? */
static bool takes_boxes(const kernel_row *row, const tw_problem *p, const tw_batch *batch)
{
    const int64_t most_stride = ((int64_t)1 << 40) / 8;
    bool near = batch->stride_a < most_stride && batch->stride_b < most_stride && batch->stride_c < most_stride &&
                p->ldc < most_stride;
    /* of gemm_batched_tma_sm90's 64 x 64, which read A and B more often than gemm_batched_mma_sm80's; measured */
    bool few = p->dtype == TW_F32 || ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n) <= 4;
    return !batch->pointers && near && few && p->k > 0 && p->n % 4 == 0 && kernel_is_wide(row, p);
}

const kernel_row *plan_batch_row(const tw_problem *p, const tw_batch *batch, const device_facts *device, char *reason,
                                 size_t reason_bytes)
{
    const kernel_row *best = NULL, *row;
    snprintf(reason, reason_bytes, "the %s engine has none for %s", device->engine, dtype_find(p->dtype)->lab.name);
    for (int i = 0; (row = kernel_batch_at(i)) != NULL; i++) {
        if (row->lab.dtype != p->dtype || ((row->gpu.traits & GPU_TENSOR_MAPS) && !takes_boxes(row, p, batch)))
            continue;
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

bool plan_batch_fills(const tw_problem *p, const device_facts *device)
{
    const int64_t edge = 128;
    return ceil_div(p->m, edge) * ceil_div(p->n, edge) >= 2 * (int64_t)device->multiprocessors;
}
