/* opencl.c - what rows that only OpenCL has need of a plan: the names of their types, how processors divide C into
 * blocks, and what tiles cost GPUs, also with k divided. Pure, as plan.c. */
#include "families.h"

#include <stdio.h>

/* The types of a GPU_TYPES row's operands and sums. */
int plan_types_opencl(const tw_problem *p, char *text, size_t bytes)
{
    const tw_dtype types[3] = {p->dtype, p->dtype_b != 0 ? p->dtype_b : p->dtype, p->dtype_c},
                   sums = dtype_find(p->dtype)->result;
    int used = 0;
    for (int i = 0; i < 3; i++) {
        const char *name = dtype_find(types[i])->gpu_name;
        used += snprintf(text + used, bytes - (size_t)used, " -DTYPE_%c=%s", "ABC"[i], name);
    }
    return used + snprintf(text + used, bytes - (size_t)used, "%s",
                           sums == TW_F64   ? " -DSUMS_F64=1"
                           : sums == TW_I32 ? " -DSUMS_S32=1"
                                            : "");
}

enum { COUNTER_NUMBERS = 64 };

/* The edge of `count` even blocks, in whole tiles. */
static int64_t even_edge(int64_t length, int64_t count, int64_t tile)
{
    return round_up(ceil_div(max_i64(length, 1), count), tile);
}

/* Blocks of C of FAMILY_PANELS: their packed rows of A should stay in the L2, and packing both operands should cost
 * little beside the product. To wake another core takes as long as panel_work multiply-adds. */
void plan_panels(plan *plan, const device_facts *device)
{
    tuned_values room;
    const tw_problem *p = &plan->problem;
    const tw_lab_kernel *row = &plan->row->lab;
    gpu_plan *gpu = &plan->gpu;
    const int64_t items = max_i64(gpu->items, 1);
    const tuned_values *tuned = tuned_find(device, p, plan->row, &room);
    const double work = (double)items * (double)p->m * (double)p->n * (double)max_i64(p->k, 1) / tuned->panel_work;
    const int64_t most = multiprocessors_of(device), units = work >= (double)most ? most : max_i64((int64_t)work, 1),
                  tile_m = row->tile_m, tile_n = row->tile_n;
    const int64_t most_m = (int64_t)tuned->panel_a_bytes / (row->tile_k * kernel_sum_bytes(plan->row));
    int64_t down = max_i64(ceil_div(p->m, most_m), 1), across = max_i64(ceil_div(p->n, (int64_t)tuned->panel_n), 1);
    gpu->block_m = even_edge(p->m, down, tile_m), gpu->block_n = even_edge(p->n, across, tile_n);
    /* as many blocks as units, or so many that the last ones to end cost little; of whole tiles */
    for (;;) {
        down = ceil_div(p->m, gpu->block_m), across = ceil_div(p->n, gpu->block_n);
        if (items * down * across % units == 0 || items * down * across >= (int64_t)tuned->panel_blocks * units) break;
        const bool along_m = gpu->block_m > tile_m && (gpu->block_m >= gpu->block_n || gpu->block_n <= tile_n);
        if (!along_m && gpu->block_n <= tile_n) break;
        if (along_m)
            gpu->block_m = min_i64(even_edge(p->m, down + 1, tile_m), gpu->block_m - tile_m);
        else
            gpu->block_n = min_i64(even_edge(p->n, across + 1, tile_n), gpu->block_n - tile_n);
    }
    const int64_t sums = p->k > row->tile_k ? gpu->block_m * gpu->block_n : tile_m * tile_n,
                  sum_bytes = kernel_sum_bytes(plan->row),
                  each_bytes = ((gpu->block_m + gpu->block_n) * row->tile_k + sums) * sum_bytes;
    /* the workspace is one buffer, and a device has a largest one */
    const int64_t most_groups = device->largest_bytes > 0
                                    ? (device->largest_bytes - COUNTER_NUMBERS * sum_bytes) / each_bytes
                                    : units;
    gpu->grid_x = max_i64(min_i64(min_i64(items * down * across, units), most_groups), 1), gpu->grid_y = 1;
    plan->workspace_bytes = (size_t)(COUNTER_NUMBERS * sum_bytes + gpu->grid_x * each_bytes);
}

/* Multiply-adds in a cycle of a unit of an NVIDIA GPU: in its matrix units 2048 of bytes or 128 of f64; else one for
 * each lane of a warp in each quarter, half as many in f64. */
static double peak_fmas(const kernel_row *row)
{
    enum { MATRIX_BYTES = 2048, MATRIX_DOUBLES = 128, LANES = 128 };
    const bool f64 = kernel_sum_bytes(row) == 8, matrix = row->gpu.traits & GPU_MMA;
    if (matrix) return f64 ? MATRIX_DOUBLES : MATRIX_BYTES / dtype_find(row->lab.dtype)->lab.bytes;
    return f64 ? LANES / 2 : LANES;
}

/* The cycles of the busiest compute unit of a GPU, and how k is divided for the fewest. Groups multiply at the share of
 * the peak that their row allows with many warps on a unit; few warps, and those with few sums to go on with, wait for
 * each other and for memory. A group of GEMV has loads for GEMV_EACH elements a cycle on their way. A second kernel
 * adds partial sums: on an H200 512 cubed took 28 us so, and 65 us where the groups that ended last added them
 * (docs/perf/opencl-gpu.md#ptx). Work-items of sliced-K rows have more sums, and STAGES stages in flight; slices add in
 * local memory. Items of one launch do not divide k. Fitted to an H200 (docs/perf/opencl-gpu.md), but for what it says
 * was not run there. */
static double gpu_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, k_split *split)
{
    enum { MOST_SPLITS = 256, WARP = 32, ROOM = 32, SUMS = 16, GEMV_EACH = 10, SLICE_SUMS = 16 /* in a cycle */ };
    tuned_values own;
    const tuned_values *tuned = tuned_find(device, p, row, &own);
    const tw_lab_kernel *tile = &row->lab;
    const int64_t units = multiprocessors_of(device), bytes = dtype_find(p->dtype)->lab.bytes,
                  sum_bytes = kernel_sum_bytes(row), warps = max_i64(row->gpu.threads_x / WARP, 1),
                  room = max_i64(ROOM / warps, 1), steps = max_i64(ceil_div(p->k, tile->tile_k), 1),
                  items = max_i64(device->items, 1), slices = max_i64(row->gpu.slices, 1),
                  ahead = row->gpu.slices > 0 ? row->gpu.stages : 1,
                  tiles = max_i64(items * ceil_div(p->m, tile->tile_m) * ceil_div(p->n, tile->tile_n), 1);
    const double area = (double)(tile->tile_m * tile->tile_n), sums = area * (double)slices / row->gpu.threads_x / SUMS,
                 add_slices = row->gpu.slices > 0 ? area * (double)slices / SLICE_SUMS : 0, k = (double)p->k,
                 c_area = (double)p->m * (double)p->n, fmas = peak_fmas(row),
                 cycle_bytes = tuned->memory_bytes * (double)units, /* of memory, in a cycle */
        memory = (double)items * ((double)p->m * k + k * (double)p->n + c_area) * (double)bytes / cycle_bytes;
    const bool divides = row->gpu.adds != NULL && !device->no_workspace && items == 1;
    double best = 0;
    *split = (k_split){.whole = tiles, .splits = 1};
    for (int64_t wanted = divides && device->splits_k ? min_i64(steps, 2) : 1;
         wanted <= (divides ? min_i64(steps, MOST_SPLITS) : 1); wanted++) {
        const int64_t length = ceil_div(steps, wanted), parts = ceil_div(steps, length);
        if (parts < wanted) continue; /* tried before */
        if (parts > 1 && device->largest_bytes > 0 &&
            (double)parts * c_area * (double)sum_bytes > (double)device->largest_bytes)
            break;
        const int64_t each = ceil_div(tiles * parts, units);
        const double here = (double)(min_i64(each, room) * warps),
                     work = (row->gpu.traits & GPU_GEMV) ? (double)(length * tile->tile_k) * area / GEMV_EACH *
                                                               (double)each / (double)min_i64(each, room)
                                                         : (double)each * (double)(length * tile->tile_k) * area *
                                                               (1 + 4 / (here * sums)) / (fmas * tuned->share),
                     reads = memory * (1 + 8 / (here * (double)ahead));
        double time = (work > reads ? work : reads) + (double)each * add_slices;
        if (parts > 1)
            time += tuned->add_cycles +
                    (double)parts * (tuned->part_cycles + 2 * c_area * (double)sum_bytes / cycle_bytes);
        if (best > 0 && time >= best) continue;
        best = time;
        *split = (k_split){.whole = tiles, .splits = 1};
        if (parts > 1)
            *split = (k_split){.splits = parts,
                               .count = tiles * parts,
                               .length = length,
                               .bytes = round_up(parts * p->m * p->n * sum_bytes, 256)};
    }
    return best;
}

static k_split divide(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                      double *busiest)
{
    (void)tuned;
    k_split split;
    *busiest = gpu_cycles(row, p, device, &split);
    return row->gpu.adds != NULL ? split : (k_split){0};
}

static double cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                     double busiest)
{
    (void)row, (void)p, (void)device, (void)tuned;
    return busiest;
}

const gpu_family family_opencl = {.divide = divide, .cycles = cycles};

bool plan_opencl_alone(const plan *each, const device_facts *together)
{
    device_facts alone = *together;
    alone.items = 0;
    k_split split;
    return each->gpu.k_split.count > 0 &&
           (double)together->items * gpu_cycles(each->row, &each->problem, &alone, &split) <
               gpu_cycles(each->row, &each->problem, together, &split);
}

static bool has_vectors(const kernel_row *row, const device_facts *device)
{
    return row->gpu.lanes * kernel_sum_bytes(row) <= device->vector_bytes;
}

bool plan_opencl_beats(const kernel_row *one, const kernel_row *later, const tw_problem *p, const device_facts *device)
{
    const bool panels = one->gpu.family == FAMILY_PANELS, later_panels = later->gpu.family == FAMILY_PANELS;
    if (panels != later_panels) return panels;
    if (panels) return !has_vectors(later, device);
    k_split split;
    return gpu_cycles(one, p, device, &split) <= gpu_cycles(later, p, device, &split);
}
