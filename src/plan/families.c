/* families.c - what the costs of several families of GPU kernels have in common. */
#include "families.h"

int64_t cluster_bytes(const kernel_row *row) { return row->lab.tile_m * row->lab.tile_n * kernel_sum_bytes(row) + 16; }

k_split family_divide(const gpu_family *family, const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    double busiest;
    tuned_values room;
    return family->divide(row, p, device, tuned_find(device, p, row, &room), &busiest);
}

double family_cycles(const gpu_family *family, const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    double busiest = 0;
    tuned_values room;
    const tuned_values *tuned = tuned_find(device, p, row, &room);
    if (family->divide != NULL) family->divide(row, p, device, tuned, &busiest);
    return family->cycles(row, p, device, tuned, busiest);
}

double fix_up_cycles(const tuned_values *tuned, int64_t splits, int64_t each, double tile_bytes)
{
    return (splits > FIX_UP_GROUP ? 2 : 1) * tuned->fix_up +
           (double)(each * (min_i64(splits, FIX_UP_GROUP) + splits / FIX_UP_GROUP)) * tile_bytes / tuned->fix_up_bytes;
}

double packing_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned)
{
    const double packed = (double)(kernel_packing_a(row, p).bytes + kernel_packing_b(row, p).bytes),
                 each = dtype_find(p->dtype)->lab.bytes == 1 ? tuned->pass_bytes : tuned->dram_bytes;
    return packed > 0 ? tuned->pass + 2 * packed / (each * (double)multiprocessors_of(device)) : 0;
}

double simt_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                   double launch, double pass, double multiply)
{
    const packing pack_a = kernel_packing_a(row, p), pack_b = kernel_packing_b(row, p);
    const double k = (double)p->k, cycle_bytes = tuned->dram_bytes * (double)multiprocessors_of(device),
                 bytes = ((double)p->m * k + k * (double)p->n + (double)p->m * (double)p->n) *
                         dtype_find(p->dtype)->lab.bytes;
    return tuned->cost *
           (launch + (pack_a.needed || pack_b.needed) * pass +
            2.0 * (double)(pack_a.bytes + pack_b.bytes) / cycle_bytes + longer(multiply, bytes / cycle_bytes));
}

/* Whole tiles, one after the other on each multiprocessor. */
static double cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                     double busiest)
{
    enum { FMAS = 128 };
    (void)busiest;
    const double tile = (double)(row->lab.tile_m * row->lab.tile_n) * (double)p->k / (FMAS * tuned->full),
                 multiply = (double)ceil_div(tiles_of(row, p), multiprocessors_of(device)) * (tile + tuned->block);
    return simt_cycles(row, p, device, tuned, tuned->launch, tuned->pass, multiply);
}

const gpu_family family_whole = {.cycles = cycles};
