/* thin.c - gemm_thin_sm80: few rows or few columns, the long operand read in place at the rate of the memory; split-K. */
#include "families.h"

/* Whether the longer operand lies across k. */
static bool lies_across(const tw_problem *p) { return p->m <= p->n ? p->op_b == TW_N : op_transposes(p->op_a); }

int64_t thin_tiles(const kernel_row *row, const tw_problem *p)
{
    const int64_t piece = 16 / dtype_find(p->dtype)->lab.bytes, edge = row->lab.tile_n - (lies_across(p) ? piece : 0);
    return ceil_div(min_i64(p->m, p->n), row->lab.tile_m) * ceil_div(max_i64(p->m, p->n), edge);
}

/* Split-K in the number of parts that ends soonest. *busiest: two blocks of a multiprocessor take each step of k in so
 * many cycles, and more for each line of the short operand; memory delivers the long one, where it lies across k at a
 * lower rate; a second kernel adds the parts. Numbers fitted to an H200 (docs/perf/gemm-thin.md). */
static k_split choose_splits(const kernel_row *row, const tw_problem *p, const device_facts *device,
                             const tuned_values *tuned, double *busiest)
{
    enum { AT_ONCE = 2, MOST_SPLITS = 256, MOST_ROUNDS = 2 };
    const int64_t multiprocessors = multiprocessors_of(device), tiles = max_i64(thin_tiles(row, p), 1),
                  steps = max_i64(ceil_div(p->k, row->lab.tile_k), 1), few = min_i64(p->m, p->n),
                  most = device->no_workspace ? 1 : min_i64(MOST_SPLITS, steps);
    const double step = tuned->thin_step + tuned->thin_line * (double)min_i64(few, row->lab.tile_m),
                 memory = (double)(max_i64(p->m, p->n) * dtype_find(p->dtype)->lab.bytes) * (double)p->k /
                          ((lies_across(p) ? tuned->thin_across_bytes : tuned->thin_bytes) * (double)multiprocessors);
    k_split made = {0};
    for (int64_t splits = 1;
         splits <= most && (splits == 1 || tiles * splits <= MOST_ROUNDS * AT_ONCE * multiprocessors); splits++) {
        const int64_t length = ceil_div(steps, splits), each = ceil_div(steps, length), blocks = tiles * each,
                      sums = each * p->m * round_up(p->n, 4) * 4, rounds = ceil_div(blocks, AT_ONCE * multiprocessors);
        if (splits > 1 && sums > MOST_SUMS * multiprocessors) break;
        const double add = each > 1 ? tuned->thin_add + tuned->thin_part * (double)each : 0,
                     full = (double)(rounds * AT_ONCE * multiprocessors) / (double)blocks,
                     time = tuned->block + longer((double)(rounds * length) * step, each > 1 ? memory * full : memory) +
                            add;
        if (made.length > 0 && time >= *busiest) continue;
        *busiest = time;
        made = (k_split){.splits = each, .length = length};
        if (each > 1) made.count = blocks, made.bytes = round_up(sums, 256);
    }
    return made;
}

/* Other tiles are taller. */
static bool suits(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    (void)device;
    return min_i64(p->m, p->n) <= row->lab.tile_m;
}

static double cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                     double busiest)
{
    (void)row, (void)p, (void)device;
    return tuned->cost * busiest;
}

const gpu_family family_thin = {.divide = choose_splits, .cycles = cycles, .suits = suits};
