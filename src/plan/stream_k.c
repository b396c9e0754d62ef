/* stream_k.c - sgemm_tma_sm90: full waves of tiles are computed whole, the last tiles are cut into runs of k. */
#include "families.h"

/* 12 warps are resident on each multiprocessor. The time in which this many of its blocks on one
 * compute an element of C each, in elements at full speed. Speeds of fewer warps were measured on an H200
 * (docs/perf/cublaslt.md#packing-counted). */
static double time_of(const kernel_row *row, int64_t blocks)
{
    static const double speed[] = {1, 0.39, 0.78, 0.75, 0.945, 0.97}; /* of 2, 4, 6 ... warps */
    int64_t room = 12 * 32 / row->gpu.threads_x, rest = blocks % room;
    return (double)(blocks - rest) + (double)rest / speed[rest * row->gpu.threads_x / 64];
}

enum { RESIDUE = 32, RESIDUE_STEPS = 3 };

/* Tiles with more than RESIDUE rows and columns in C. Of the others (the residue) the kernel of a
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
static k_split choose_stream_k(const kernel_row *row, const tw_problem *p, const device_facts *device,
                               const tuned_values *tuned, double *longest)
{
    (void)tuned;
    enum { MOST_SPLITS = 16, OTHERS = 2, MOST_BYTES = 560000 };
    int64_t multiprocessors = multiprocessors_of(device), each = 12 * 32 / row->gpu.threads_x,
            room = each * multiprocessors;
    int64_t tiles = tiles_of(row, p), steps = max_i64(ceil_div(p->k, row->lab.tile_k), 1), wide = wide_tiles(row, p);
    int64_t whole = wide - wide % room, residues = tiles - wide, units = ceil_div(steps, RESIDUE_STEPS),
            left = (wide - whole) * steps + residues * units;
    double area = (double)row->lab.tile_m * (double)row->lab.tile_n;
    double tail = time_of(row, ceil_div(wide - whole, multiprocessors)) +
                  (double)ceil_div(residues, multiprocessors) / RESIDUE_STEPS;
    k_split made = {.whole = tiles};
    bool may = !keeps_k(p, device) && left > 0;
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

/* Cycles of a multiprocessor to store an element of C, by 4 words, by whole rows through shared
 * memory, or by single words. */
static double storing_each(const kernel_row *row, const tw_problem *p)
{
    return kernel_is_wide(row, p) ? 0.6 : row->lab.tile_m == row->lab.tile_n ? 0.36 : 1.55;
}

/* C is stored at the end; the launch includes fetching many instructions from memory. */
static double cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                     double longest)
{
    enum { FMAS = 128 };
    const double multiply = longest * (double)p->k / (tuned->full * FMAS) +
                            (double)p->m * (double)p->n * storing_each(row, p) / (double)multiprocessors_of(device);
    return simt_cycles(row, p, device, tuned, tuned->launch, tuned->stream_k_pass, multiply);
}

const gpu_family family_stream_k = {.divide = choose_stream_k, .cycles = cycles};
