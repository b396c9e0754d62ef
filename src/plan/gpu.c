/* gpu.c - a GPU launch: the grid and the compiler's options; and which of two kernels is better. What a family's
 * kernels cost, and how they divide k, stands in the files beside this. Pure, as plan.c. */
#include "../../kernels/cuda/arguments.h"
#include "families.h"

#include <stdio.h>

static const gpu_family family_others; /* rungs and batches; and processors' rows, which their own rules compare */

static const gpu_family *family_of(const kernel_row *row)
{
    static const gpu_family *const families[] = {
        [FAMILY_NONE] = &family_others,       [FAMILY_WHOLE] = &family_whole,     [FAMILY_STREAM_K] = &family_stream_k,
        [FAMILY_SLICED_K] = &family_sliced_k, [FAMILY_SPLITS] = &family_splits,   [FAMILY_WGMMA] = &family_wgmma,
        [FAMILY_EMULATED] = &family_emulated, [FAMILY_SWAP_AB] = &family_swap_ab, [FAMILY_THIN] = &family_thin,
        [FAMILY_IN_PLACE] = &family_in_place, [FAMILY_OPENCL] = &family_opencl,   [FAMILY_PANELS] = &family_others,
        [FAMILY_BATCH] = &family_others};
    _Static_assert(sizeof families / sizeof *families == GPU_FAMILIES, "every family is here");
    return families[row->gpu.family];
}

/* A rung of split-K: split k so that there are about BLOCKS blocks, whatever the device, so that the bits depend on the
 * shape alone; not at all where there is no memory for the partial sums. */
static k_split split_k_by_shape(const plan *plan, const device_facts *device)
{
    enum { BLOCKS = 1024 };
    const tw_problem *p = &plan->gpu.problem;
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

/* A rung of stream-K: each block that is resident at a time has as many steps of k, which begin in one tile and may end
 * in another; without memory for partial sums a tile of its own. */
static k_split split_k_evenly(const plan *plan, const device_facts *device)
{
    const kernel_row *row = plan->row;
    const tw_problem *p = &plan->gpu.problem;
    const int64_t tiles = tiles_of(row, p), steps = max_i64(ceil_div(p->k, row->lab.tile_k), 1),
                  room = max_i64(row->gpu.blocks_each, 1) * multiprocessors_of(device),
                  length = device->no_workspace ? steps : max_i64(ceil_div(tiles * steps, room), 1),
                  blocks = ceil_div(tiles * steps, length);
    if (length == steps) return (k_split){.whole = tiles, .length = steps}; /* no tile is cut */
    return (k_split){.count = blocks,
                     .length = length,
                     .bytes = round_up(blocks * (row->lab.tile_m * row->lab.tile_n * 4 + 8), 256)};
}

/* Which type of 2 bytes the operands are of, or C: " -DIN_F16=1", bf16 where nothing is said. */
static const char *half_text(const tw_problem *p, bool divided, char text[24])
{
    const dtype_row *a = dtype_find(p->dtype), *half = divided || a->class == DTYPE_HALF ? a : dtype_find(p->dtype_c);
    text[0] = '\0';
    if (half->class == DTYPE_HALF && half->lab.dtype != TW_BF16) snprintf(text, 24, " -DIN_%s=1", half->id);
    return text;
}

/* The operands' types by their names on GPUs, where a kernel takes several that are not of 2 bytes. */
static int types_text(const tw_problem *p, char *text, size_t bytes)
{
    const dtype_row *a = dtype_find(p->dtype), *b = p->dtype_b != 0 ? dtype_find(p->dtype_b) : a;
    if (a->result == p->dtype || a->class == DTYPE_HALF) return 0;
    return snprintf(text, bytes, " -DELEMENT_BYTES=%d -DTYPE_A=%s -DTYPE_B=%s%s", a->lab.bytes, a->gpu_name,
                    b->gpu_name, a->result == TW_I32 ? " -DSUMS_S32=1" : "");
}

/* The text of the problem's epilogue, for the launch that makes C of its sums. */
static const char *epilogue_of(const plan *p, bool makes_c)
{
    return makes_c && p->problem.epilogue != NULL ? p->problem.epilogue->gpu_text : NULL;
}

/* add.cu, where blocks divide k and do not add themselves. */
static gpu_launch add_launch(const plan *p)
{
    const tw_problem *x = &p->gpu.problem;
    const char *options = dtype_find(x->dtype)->result == TW_I32 ? "-DSUMS_S32=1"
                          : x->dtype_c == TW_F16                 ? "-DC_HALF=1 -DIN_F16=1"
                          : x->dtype_c == TW_BF16                ? "-DC_HALF=1"
                                                                 : "";
    return (gpu_launch){LAUNCH_ADD,
                        {{"cuda/add.cu", p->row->gpu.adds, NULL}, options, 0, epilogue_of(p, true)},
                        ceil_div(x->m * x->n, ADD_ELEMENTS),
                        1,
                        ADD_LANES,
                        (int)min_i64(p->gpu.k_split.splits, ADD_SHARES)};
}

/* The tiles that emulation leaves: the operands packed, if there are some, and a block for each tile, which ends at
 * once where there is nothing to do. Returns how many launches. */
static int rest_launches(const plan *p, gpu_launch launches[2])
{
    const kernel_row *row = p->gpu.rest;
    const kernel_text packs = {{"cuda/pack.cu", "pack", NULL}, "-DELEMENT_BYTES=4 -DREST=1", 0},
                      tiles = {{row->lab.file, row->gpu.entry, NULL},
                               p->gpu.rest_options,
                               row->gpu.dynamic_bytes,
                               epilogue_of(p, true)};
    int count = 0;
    if (kernel_packing_a(row, &p->gpu.problem).needed || kernel_packing_b(row, &p->gpu.problem).needed)
        launches[count++] = (gpu_launch){.kind = LAUNCH_PACK_REST, .kernel = packs};
    launches[count++] = (gpu_launch){LAUNCH_REST, tiles, tiles_of(row, &p->gpu.problem), 1, row->gpu.threads_x, 1};
    return count;
}

/* The launches of the product that the kernels compute. Returns how many. */
static int product_launches(const plan *p, gpu_launch launches[LAUNCH_KINDS])
{
    static const char *const sizes[] = {
        [1] = "-DELEMENT_BYTES=1", [2] = "-DELEMENT_BYTES=2", [4] = "-DELEMENT_BYTES=4", [8] = "-DELEMENT_BYTES=8"};
    const gpu_plan *gpu = &p->gpu;
    const int bytes = dtype_find(gpu->problem.dtype)->lab.bytes;
    const bool adds_apart = kernel_by_add(p->row) && gpu->k_split.count > 0;
    const bool emulates = gpu->rest != NULL && gpu->problem.k > 0;
    const kernel_text scans = {{"cuda/split.cu", "scan", NULL}, "", 0},
                      splits = {{"cuda/split.cu", "split", NULL}, "", 0},
                      packs = {{"cuda/pack.cu", "pack", NULL}, sizes[bytes], 0},
                      tiles = {gpu->source, gpu->options, gpu->dynamic_bytes, epilogue_of(p, !adds_apart)};
    int count = 0;
    if (emulates) launches[count++] = (gpu_launch){.kind = LAUNCH_SCAN, .kernel = scans};
    if (gpu->pack_a.needed || gpu->pack_b.needed)
        launches[count++] = (gpu_launch){.kind = LAUNCH_PACK, .kernel = emulates ? splits : packs};
    launches[count++] = (gpu_launch){LAUNCH_TILES, tiles, gpu->grid_x, gpu->grid_y, gpu->threads_x, gpu->threads_y};
    if (emulates) count += rest_launches(p, &launches[count]);
    if (p->row->gpu.adds == NULL || gpu->k_split.count == 0) return count;
    if (adds_apart) {
        launches[count++] = add_launch(p);
        return count;
    }
    const kernel_text adds = {
        {gpu->source.file, p->row->gpu.adds, gpu->source.text}, gpu->options, 0, epilogue_of(p, true)};
    /* of several types a thread for each element, else a block for each tile */
    const int64_t blocks = p->row->gpu.traits & GPU_TYPES ? ceil_div(gpu->problem.m * gpu->problem.n, gpu->threads_x)
                                                          : gpu->grid_x / gpu->k_split.splits;
    launches[count++] = (gpu_launch){LAUNCH_ADD, adds, blocks, 1, gpu->threads_x, gpu->threads_y};
    return count;
}

int plan_launches(const plan *p, gpu_launch launches[LAUNCH_KINDS])
{
    const gpu_complex *by = &p->gpu.complex;
    const char *const real = p->gpu.problem.dtype == TW_F64 ? "-DREAL_BYTES=8" : "";
    int count = 0;
    if (by->a_ld > 0 || by->b_ld > 0)
        launches[count++] = (gpu_launch){.kind = LAUNCH_EXPAND,
                                         .kernel = {{"cuda/complex.cu", "expand", NULL}, real, 0, NULL}};
    count += product_launches(p, &launches[count]);
    if (by->combines)
        launches[count++] = (gpu_launch){.kind = LAUNCH_COMBINE,
                                         .kernel = {{"cuda/complex.cu", "combine", NULL}, real, 0, NULL}};
    return count;
}

/* The row that computes what emulation leaves, in tiles of the same size. */
static void plan_rest(plan *made)
{
    gpu_plan *gpu = &made->gpu;
    const tw_problem *p = &gpu->problem;
    const kernel_row *row = kernel_named(made->row->gpu.rest);
    const int used = snprintf(gpu->rest_options, sizeof gpu->rest_options, "-DOP_A=%d -DOP_B=%d -DWIDE=%d -DREST=1",
                              TW_T, TW_N, kernel_is_wide(row, p));
    kernel_options(row, gpu->rest_options + used, sizeof gpu->rest_options - (size_t)used);
    gpu->rest = row;
}

void plan_of_rest(const plan *of, plan *rest)
{
    const gpu_plan *gpu = &of->gpu;
    *rest = (plan){.problem = of->problem, .row = gpu->rest};
    rest->gpu = (gpu_plan){.problem = gpu->problem,
                           .block_m = gpu->block_m,
                           .block_n = gpu->block_n,
                           .pack_a = kernel_packing_a(gpu->rest, &gpu->problem),
                           .pack_b = kernel_packing_b(gpu->rest, &gpu->problem),
                           .k_split.whole = tiles_of(gpu->rest, &gpu->problem)};
    rest->gpu.pack_b.bytes = gpu->pack_b.bytes; /* A behind B's place, as the halves */
}

/* A GPU launch: one block of threads for each block of C; the compiler is told what is constant. */
void plan_gpu(plan *plan, const device_facts *device, const tw_lab_choice *choice)
{
    const tw_problem *p = &plan->gpu.problem;
    const kernel_row *row = plan->row;
    gpu_plan *gpu = &plan->gpu;
    bool square = row->gpu.traits & GPU_SQUARE, typed = row->gpu.traits & GPU_TYPES;
    plan->threads = 1;
    gpu->source = choice->source != NULL ? *choice->source
                                         : (tw_lab_source){.file = row->lab.file, .entry = row->gpu.entry};
    plan->tile = kernel_tile(row, p, choice->tile);
    const bool by_edges = row->gpu.family == FAMILY_SWAP_AB || row->gpu.family == FAMILY_THIN,
               panels = row->gpu.family == FAMILY_PANELS;
    gpu->few_rows = by_edges && p->m <= p->n;
    bool long_m = by_edges && !gpu->few_rows;
    gpu->block_m = square ? plan->tile : long_m ? row->lab.tile_n : row->lab.tile_m;
    gpu->block_n = square ? plan->tile : long_m ? row->lab.tile_m : row->lab.tile_n;
    gpu->threads_x = square ? plan->tile : row->gpu.threads_x;
    gpu->threads_y = square ? plan->tile : row->gpu.threads_y;
    gpu->grid_x = ceil_div(p->n, gpu->block_n);
    gpu->grid_y = ceil_div(p->m, gpu->block_m);
    if (row->gpu.traits & GPU_LINEAR_GRID)
        gpu->grid_x *= gpu->grid_y * max_i64(row->gpu.cluster_blocks, 1), gpu->grid_y = 1;
    if (row->gpu.family == FAMILY_THIN) gpu->grid_x = thin_tiles(row, p);
    if (gpu->one_launch)
        gpu->grid_x = row->gpu.blocks_each > 0 ? (int64_t)row->gpu.blocks_each * multiprocessors_of(device) : INT32_MAX;
    /* sgemm_batched_tma_sm90: two of the three blocks on each multiprocessor */
    if (gpu->one_launch && kernel_by_tma(row) && row->gpu.blocks_each == 0) gpu->cut = 2 * multiprocessors_of(device);
    gpu->pack_a = kernel_packing_a(row, p);
    gpu->pack_b = kernel_packing_b(row, p);
    const gpu_family *family = family_of(row);
    if (family->divide != NULL) gpu->k_split = family_divide(family, row, p, device);
    if (row->gpu.adds != NULL && family->divide == NULL) gpu->k_split = split_k_by_shape(plan, device);
    if (row->gpu.traits & GPU_EVEN_K) gpu->k_split = split_k_evenly(plan, device);
    if (gpu->k_split.count > 0) gpu->grid_x = gpu->k_split.whole + gpu->k_split.count;
    if (row->gpu.traits & GPU_PERSISTENT) {
        const int64_t all = multiprocessors_of(device);
        if (row->gpu.blocks_each > 1)
            gpu->grid_x = min_i64(gpu->grid_x, row->gpu.blocks_each * all);
        else /* the fewest blocks that need as few waves */
            gpu->grid_x = ceil_div(gpu->grid_x, max_i64(ceil_div(gpu->grid_x, all), 1));
    }
    if (device->items > 1) gpu->items = device->items;
    gpu->dynamic_bytes = row->gpu.dynamic_bytes + (gpu->k_split.by_cluster ? (int)cluster_bytes(row) : 0);
    plan->workspace_bytes = (size_t)(gpu->pack_a.bytes + gpu->pack_b.bytes + gpu->k_split.bytes);
    if (panels) plan_panels(plan, device);
    gpu->transposes_b = (row->gpu.traits & GPU_TRANSPOSES_B) && p->op_b == TW_N;
    /* one text for all layouts */
    bool packs = ((row->gpu.loads & PACKED) && row->gpu.reads != READS_ANY) || panels,
         packs_a = packs && !kernel_reads_across(row, p, 0), packs_b = packs && !kernel_reads_across(row, p, 1);
    const bool divided = row->gpu.family == FAMILY_WGMMA && gpu->k_split.count > 0; /* C is the workspace then */
    char half[24];
    bool row_in_warp = (row->gpu.traits & GPU_ROW_BARRIER) && device->warp > 0 && device->warp % plan->tile == 0;
    int used = snprintf(gpu->options, sizeof gpu->options, "-DTILE=%d -DOP_A=%d -DOP_B=%d -DWIDE=%d%s%s%s",
                        plan->tile ? plan->tile : 16, packs_a ? (row->gpu.reads == READS_TN ? TW_T : TW_N) : p->op_a,
                        packs_b             ? (kernel_reads_along_k(row) ? TW_T : TW_N)
                        : gpu->transposes_b ? TW_T
                                            : p->op_b,
                        divided || kernel_is_wide(row, p), row_in_warp ? " -DSUBGROUP_BARRIER=1" : "",
                        typed ? "" : half_text(p, divided, half), choice->default_build ? " -DDEFAULT_BUILD" : "");
    if (row->gpu.stores == STORES_ANY && !typed)
        used += snprintf(gpu->options + used, sizeof gpu->options - (size_t)used,
                         " -DC_HALF=%d -DTILE_M=%d -DTILE_N=%d", !divided && dtype_find(p->dtype_c)->lab.bytes == 2,
                         (int)gpu->block_m, (int)gpu->block_n);
    used += typed ? plan_types_opencl(p, gpu->options + used, sizeof gpu->options - (size_t)used)
                  : types_text(p, gpu->options + used, sizeof gpu->options - (size_t)used);
    if (by_edges)
        used += snprintf(gpu->options + used, sizeof gpu->options - (size_t)used, " -DFEW_ROWS=%d", gpu->few_rows);
    if (divided) used += snprintf(gpu->options + used, sizeof gpu->options - (size_t)used, " -DSPLIT_K=1");
    if (gpu->k_split.by_cluster)
        used += snprintf(gpu->options + used, sizeof gpu->options - (size_t)used, " -DCLUSTER_REDUCE=1");
    gpu->own_options = used;
    kernel_options(row, gpu->options + used, sizeof gpu->options - (size_t)used);
    if (row->gpu.rest != NULL) plan_rest(plan);
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
 * tiles, between tiles of one family (a later tile of stream-K must win by 0.5 %), between what packs and what reads in
 * place, and wherever k can be divided. Otherwise the later row is better, unless only `one` loads by TMA, or a tuned
 * row says so. */
bool plan_gpu_beats(const kernel_row *one, const kernel_row *later, const tw_problem *p, const device_facts *device)
{
    const gpu_family *of_one = family_of(one), *of_later = family_of(later);
    const double lead = of_one == of_later && of_later == &family_stream_k ? 1.005 : 1;
    if ((one->gpu.traits | later->gpu.traits) & GPU_TYPES) return plan_opencl_beats(one, later, p, device);
    if (of_one == &family_emulated || of_later == &family_emulated)
        return family_cycles(of_one, one, p, device) <= family_cycles(of_later, later, p, device);
    if (kernel_in_place(later)) {
        /* a tile without a cost model stays where it reads whole 16 bytes, but where C has few rows or columns: it
         * would waste most of itself */
        const bool modelled = kernel_in_place(one) || of_one == &family_wgmma || of_one == &family_swap_ab;
        if (of_later == &family_thin && !of_later->suits(later, p, device)) return true;
        if (!modelled) return of_later != &family_thin && kernel_is_wide(one, p);
        return family_cycles(of_one, one, p, device) <= family_cycles(of_later, later, p, device);
    }
    if (of_later == &family_swap_ab) {
        /* whatever it is, a wider tile is weighed as one of the matrix units */
        const gpu_family *wide = of_one == &family_swap_ab ? of_one : &family_wgmma;
        return (of_later->suits != NULL && !of_later->suits(later, p, device)) ||
               family_cycles(wide, one, p, device) <= family_cycles(of_later, later, p, device);
    }
    if (of_later == &family_wgmma && (of_one == &family_wgmma || of_one == &family_swap_ab))
        return wgmma_mainloop(one, p, device) <= wgmma_mainloop(later, p, device);
    const bool comparable = of_one == of_later && of_one->divide != NULL && of_one != &family_opencl;
    if (comparable || of_one == &family_sliced_k || of_later == &family_sliced_k)
        return family_cycles(of_one, one, p, device) <= lead * family_cycles(of_later, later, p, device);
    return beats_by_rule(one, later, p, device, kernel_by_tma(one) && !kernel_by_tma(later));
}

void plan_reason(const tw_problem *problem, const device_facts *device, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < kernel_count(); i++) {
        const kernel_row *row = kernel_at(i);
        if (row->gpu.entry == NULL || !plan_offers(row, problem, device)) continue;
        const gpu_family *family = family_of(row);
        if (family->cycles == NULL || family == &family_whole || device->vector_bytes > 0 || used >= bytes) continue;
        if (!kernel_fits(row, problem, device, 0, NULL, 0)) continue;
        if (family->suits != NULL && !family->suits(row, problem, device)) continue;
        used += (size_t)snprintf(text + used, bytes - used, "%s%s %.0f", used == 0 ? "cycles expected: " : ", ",
                                 row->lab.rung, family_cycles(family, row, problem, device));
    }
}
