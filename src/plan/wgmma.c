/* wgmma.c - gemm_wgmma_sm90 and gemm_fp8_sm90: persistent blocks; where tiles are few, split-K: blocks divide k, and a
 * second kernel adds. */
#include "../../kernels/cuda/arguments.h"
#include "families.h"

/* Most blocks of split-K that a multiprocessor computes one after the other. */
enum { MOST_ROUNDS = 4 };

/* The cycles of the busiest multiprocessor, where each tile's k is `splits` parts of `length` steps. For each block of
 * k its tensor cores work and its copies arrive; these overlap to half. Copies share the bandwidth of the L2, and lines
 * that do not begin at multiples of 128 bytes cost four times as much. Two warpgroups ping-pong: one stores while the
 * other multiplies, until the last. Tiles with more sums multiply a little slower. Numbers fitted to an H200
 * (docs/perf/gemm-wgmma.md#c-by-tma). */
static double wgmma_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device,
                           const tuned_values *tuned, int64_t splits, int64_t length)
{
    enum { MULTIPLIED_BYTES = 4096, STORED_BYTES = 11, LINE = 128, ACROSS_LINES = 4 };
    double m = row->lab.tile_m, n = row->lab.tile_n, k = row->lab.tile_k, bytes = dtype_find(p->dtype)->lab.bytes,
           c_bytes = splits > 1 ? 4 : dtype_find(p->dtype_c)->lab.bytes;
    int64_t works = tiles_of(row, p) * splits;
    int64_t rounds = ceil_div(works, multiprocessors_of(device)), line = (int64_t)(LINE / bytes);
    double lines = m * (kernel_packing_a(row, p).ld % line != 0 ? ACROSS_LINES : 1) +
                   n * (kernel_packing_b(row, p).ld % line != 0 ? ACROSS_LINES : 1);
    double units = m * n * k * bytes / MULTIPLIED_BYTES * (m * n > 128 * 128 ? 1.03 : 1),
           copies = lines * k * bytes * (double)ceil_div(works, max_i64(rounds, 1)) / tuned->wgmma_l2_bytes;
    double block = units > copies ? units + copies / 2 : copies + units / 2;
    double multiply = (double)length * block + tuned->block, store = m * n * c_bytes / STORED_BYTES,
           last = (double)(rounds > 1 ? rounds : 0) / 2;
    /* the two that share a tile of fp8 store it before they go on */
    if (bytes == 1 && dtype_find(p->dtype)->result != TW_I32) return (double)rounds * (multiply + store);
    /* storing takes longer than multiplying where k is small */
    return longer((double)rounds * multiply + store, last * (multiply + store));
}

/* The next number of parts to weigh: powers of two, and those with which so many rounds of blocks are full. */
static int64_t next_splits(int64_t splits, int64_t full)
{
    int64_t next = 2;
    while (next <= splits) next *= 2;
    for (int64_t rounds = 1; rounds <= MOST_ROUNDS; rounds++)
        if (rounds * full > splits && rounds * full < next) next = rounds * full;
    return next;
}

/* Split-K: the number of parts that ends soonest. Partial sums are written, and read by a launch of its own. */
static k_split choose_splits(const kernel_row *row, const tw_problem *p, const device_facts *device,
                             const tuned_values *tuned, double *busiest)
{
    const int64_t multiprocessors = multiprocessors_of(device), tiles = max_i64(tiles_of(row, p), 1),
                  steps = ceil_div(p->k, row->lab.tile_k), full = multiprocessors / tiles,
                  most = keeps_k(p, device) || device->whole_k ? 1 : MOST_ROUNDS * multiprocessors / tiles;
    const double cycle_bytes = tuned->dram_bytes * (double)multiprocessors;
    k_split made = {0};
    *busiest = wgmma_cycles(row, p, device, tuned, 1, steps);
    for (int64_t wish = next_splits(1, full); wish <= min_i64(most, steps); wish = next_splits(wish, full)) {
        const int64_t length = ceil_div(steps, wish), splits = ceil_div(steps, length),
                      bytes = splits * SPLIT_ROWS(p->m) * SPLIT_COLUMNS(p->n) * 4;
        if (bytes > MOST_SUMS * multiprocessors) break;
        const double sums = (double)(p->m * p->n * 4) * (double)(2 * splits + 1),
                     time = wgmma_cycles(row, p, device, tuned, splits, length) + tuned->pass + sums / cycle_bytes;
        if (time >= *busiest) continue;
        *busiest = time;
        made = (k_split){.count = tiles * splits, .length = length, .bytes = round_up(bytes, 256), .splits = splits};
    }
    return made;
}

double wgmma_mainloop(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    tuned_values room;
    double busiest;
    const tuned_values *tuned = tuned_find(device, p, row, &room);
    choose_splits(row, p, device, tuned, &busiest);
    return tuned->cost * busiest;
}

/* Each box line outside the matrix costs some TMA time, and the memory is kept a little less busy than could be: for 16
 * cycles of 19. Of split-K's parts all lines are counted, as of one: fitted without it. */
static double cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                     double busiest)
{
    enum { BUSY = 16, OF_CYCLES = 19, PER_LINE_OUTSIDE = 4 };
    const double memory = (double)max_i64(p->m, p->n) * (double)p->k * dtype_find(p->dtype)->lab.bytes /
                          (tuned->dram_bytes * BUSY / OF_CYCLES * (double)multiprocessors_of(device));
    const bool along = kernel_reads_along_k(row);
    const int64_t a_outside = along || p->op_a == TW_N ? max_i64(row->lab.tile_m - p->m, 0) : 0,
                  b_outside = along || p->op_b == TW_T ? max_i64(row->lab.tile_n - p->n, 0) : 0;
    const double loads = (double)((a_outside + b_outside) * ceil_div(p->k, row->lab.tile_k) * PER_LINE_OUTSIDE);
    return tuned->cost * (longer(busiest + loads, memory) + packing_cycles(row, p, device, tuned));
}

const gpu_family family_wgmma = {.divide = choose_splits, .cycles = cycles};
