/* batch_gpu.c - batches of a GPU: the row that computes all items in one launch, and whether it should. */
#include "families.h"

#include <inttypes.h>
#include <stdio.h>

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
    bool few = dtype_find(p->dtype)->lab.bytes != 2 || tiles_of(row, p) <= 4;
    return !batch->pointers && near && few && p->k > 0 && p->n * dtype_find(p->dtype_c)->lab.bytes % TMA_BYTES == 0 &&
           kernel_is_wide(row, p);
}

const kernel_row *plan_batch_row(const tw_problem *p, const tw_batch *batch, const device_facts *device, char *reason,
                                 size_t reason_bytes)
{
    const kernel_row *best = NULL, *row;
    snprintf(reason, reason_bytes, "the %s engine has none for %s", device->engine, dtype_find(p->dtype)->lab.name);
    for (int i = 0; (row = kernel_batch_at(i)) != NULL; i++) {
        if (row->lab.dtype != p->dtype || (kernel_by_tma(row) && !takes_boxes(row, p, batch))) continue;
        if (!kernel_fits(row, p, device, 0, reason, reason_bytes)) continue;
        int64_t tiles = tiles_of(row, p);
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
    *out = (plan){.problem = *problem, .row = row, .gpu = {.problem = *problem, .one_launch = true}};
    plan_gpu(out, device, &(tw_lab_choice){0});
}

bool plan_batch_fills(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    const int64_t edge = 128, share = row->gpu.fills > 0 ? row->gpu.fills : 100;
    return ceil_div(p->m, edge) * ceil_div(p->n, edge) >= 2 * (int64_t)device->multiprocessors * share / 100;
}
