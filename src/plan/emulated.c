/* emulated.c - sgemm_emulated_sm90: f32 from products of f16 halves, after two passes over A and B. */
#include "families.h"

/* A block's tile takes the matrix unit 24 cycles a step of k, some more with its loads, and its store. scan and split
 * read A and B, and split writes as much: PASSES of their bytes. Beside the kernel's there are LAUNCHES, the last with
 * a block for each tile. Fitted to an H200 (docs/perf/emulated-f32.md). */
static double cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                     double busiest)
{
    enum { LAUNCHES = 4, PASSES = 3, STORE = 6000, REST = 2 };
    const double each_step = 29, multiprocessors = (double)multiprocessors_of(device), tiles = (double)tiles_of(row, p),
                 bytes = (double)(p->m + p->n) * (double)p->k * 4,
                 rounds = (double)ceil_div(tiles_of(row, p), multiprocessors_of(device));
    (void)busiest;
    return tuned->cost *
           (tuned->launch + LAUNCHES * tuned->pass + PASSES * bytes / (tuned->dram_bytes * multiprocessors) +
            rounds * ((double)p->k * each_step + STORE) + REST * tiles);
}

const gpu_family family_emulated = {.cycles = cycles};
