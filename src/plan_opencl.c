/* plan_opencl.c - what rows that only OpenCL has need of a plan: the names of their types, and how processors divide C
 * into blocks. Pure, as plan.c. */
#include "planners.h"

#include <stdio.h>

/* The types of a GPU_TYPES row's operands and sums. */
int plan_types_opencl(const tw_problem *p, char *text, size_t bytes)
{
    static const struct {
        tw_dtype dtype;
        const char *name;
    } names[] = {{TW_F64, "f64"}, {TW_F32, "f32"}, {TW_F16, "f16"}, {TW_BF16, "bf16"},
                 {TW_I8, "s8"},   {TW_U8, "u8"},   {TW_I32, "s32"}};
    const tw_dtype types[3] = {p->dtype, p->dtype_b != 0 ? p->dtype_b : p->dtype, p->dtype_c},
                   sums = dtype_find(p->dtype)->result;
    int used = 0;
    for (int i = 0; i < 3; i++)
        for (size_t j = 0; j < sizeof names / sizeof *names; j++)
            if (names[j].dtype == types[i])
                used += snprintf(text + used, bytes - (size_t)used, " -DTYPE_%c=%s", "ABC"[i], names[j].name);
    return used + snprintf(text + used, bytes - (size_t)used, "%s",
                           sums == TW_F64   ? " -DSUMS_F64=1"
                           : sums == TW_I32 ? " -DSUMS_S32=1"
                                            : "");
}

/* Blocks of C of a GPU_PANELS row: their packed rows of A should stay in the L2, and packing both operands should cost
 * little beside the product. */
enum { MOST_BLOCK_M = 512, MOST_BLOCK_N = 1056, MANY_EACH = 4, COUNTER_NUMBERS = 64 };

/* The edge of `count` even blocks, in whole tiles. */
static int64_t even_edge(int64_t length, int64_t count, int64_t tile)
{
    return round_up(ceil_div(max_i64(length, 1), count), tile);
}

void plan_panels(plan *plan, const device_facts *device)
{
    const tw_problem *p = &plan->problem;
    const tw_lab_kernel *row = &plan->row->lab;
    gpu_plan *gpu = &plan->gpu;
    const int64_t units = max_i64(device->multiprocessors, 1), tile_m = row->tile_m, tile_n = row->tile_n;
    int64_t down = max_i64(ceil_div(p->m, MOST_BLOCK_M), 1), across = max_i64(ceil_div(p->n, MOST_BLOCK_N), 1);
    gpu->block_m = even_edge(p->m, down, tile_m), gpu->block_n = even_edge(p->n, across, tile_n);
    /* as many blocks as units, or so many that the last ones to end cost little; of whole tiles */
    for (;;) {
        down = ceil_div(p->m, gpu->block_m), across = ceil_div(p->n, gpu->block_n);
        if (down * across % units == 0 || down * across >= MANY_EACH * units) break;
        const bool along_m = gpu->block_m > tile_m && (gpu->block_m >= gpu->block_n || gpu->block_n <= tile_n);
        if (!along_m && gpu->block_n <= tile_n) break;
        if (along_m)
            gpu->block_m = even_edge(p->m, down + 1, tile_m);
        else
            gpu->block_n = even_edge(p->n, across + 1, tile_n);
    }
    gpu->grid_x = min_i64(down * across, units), gpu->grid_y = 1;
    const int64_t sums = p->k > row->tile_k ? gpu->block_m * gpu->block_n : tile_m * tile_n;
    plan->workspace_bytes = (size_t)((COUNTER_NUMBERS +
                                      gpu->grid_x * ((gpu->block_m + gpu->block_n) * row->tile_k + sums)) *
                                     kernel_sum_bytes(plan->row));
}

/* Are there tiles enough that every compute unit has one? */
static bool fills(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    return ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n) >= device->multiprocessors;
}

static bool has_vectors(const kernel_row *row, const device_facts *device)
{
    return row->gpu.lanes * kernel_sum_bytes(row) <= device->vector_bytes;
}

bool plan_opencl_beats(const kernel_row *one, const kernel_row *later, const tw_problem *p, const device_facts *device)
{
    const bool panels = one->gpu.traits & GPU_PANELS, later_panels = later->gpu.traits & GPU_PANELS;
    if (panels != later_panels) return panels;
    return panels ? has_vectors(one, device) && !has_vectors(later, device) : !fills(later, p, device);
}
