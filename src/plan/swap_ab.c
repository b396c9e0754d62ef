/* swap_ab.c - gemm_swapab_sm90: the tile lies along C's longer edge; split-K or stream-K where C has few tiles. */
#include "families.h"

/* Swap-AB: split-K with the number of blocks per tile that ends soonest; or, where there are more tiles than
 * multiprocessors, stream-K over all of them. *cycles: memory delivers the long operand once, or where it is read
 * across k once for each row of tiles, the L2 both, and a multiprocessor takes a limited number of bytes a cycle, fewer
 * where its threads transpose them; each further block begins anew, and partial sums are added. */
static k_split choose_swap_ab(const kernel_row *row, const tw_problem *p, const device_facts *device,
                              const tuned_values *tuned, double *cycles)
{
    enum { MULTIPLIED_BYTES = 4096, LINE = 256, STORED_BYTES = 10, MOST_SPLITS = 64 };
    int64_t multiprocessors = multiprocessors_of(device), few = min_i64(p->m, p->n), many = max_i64(p->m, p->n),
            bytes = dtype_find(p->dtype)->lab.bytes;
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
        if (keeps_k(p, device) ? splits != 1
            : splits == 0      ? tiles <= multiprocessors || p->k == 0
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

/* Whether one tile is as high as all of C, or a few are and spare the pass that would transpose
 * the longer operand. Otherwise wider tiles are better. */
static bool suits(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    tuned_values room;
    const tuned_values *tuned = tuned_find(device, p, row, &room);
    return min_i64(p->m, p->n) <=
           (int64_t)row->lab.tile_m * (kernel_reads_across(row, p, p->m <= p->n) ? (int64_t)tuned->few_tiles : 1);
}

static double cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                     double busiest)
{
    return tuned->cost * (busiest + packing_cycles(row, p, device, tuned));
}

const gpu_family family_swap_ab = {.divide = choose_swap_ab, .cycles = cycles, .suits = suits};
