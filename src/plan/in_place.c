/* in_place.c - gemm_thin_sm80 and gemm_inplace_sm80: operands of any alignment as they lie; split-K in two kernels. */
#include "families.h"

/* What the time of a division of k depends on. */
typedef struct product {
    const kernel_row *row;
    const tw_problem *p;
    const device_facts *device;
    const tuned_values *tuned;
    int64_t tiles, steps;
} product;

/* Blocks that a multiprocessor has room for, each with the KiB that the device takes. */
static int64_t room_of(const product *x)
{
    return max_i64(x->device->local_bytes / (x->row->gpu.dynamic_bytes + 1024), 1);
}

/* The number of parts that ends soonest, of at most two rounds of blocks: `time` says when, of so many blocks of so
 * many steps. */
static k_split least_time(const product *x, double (*time)(const product *x, int64_t blocks, int64_t length),
                          double *busiest)
{
    const int64_t fit = 2 * room_of(x) * multiprocessors_of(x->device) / x->tiles,
                  most = max_i64(min_i64(fit, x->steps), 1);
    k_split made = {0};
    /* each length of a part once */
    for (int64_t splits = 1, length; splits <= most; splits = length > 1 ? ceil_div(x->steps, length - 1) : most + 1) {
        length = ceil_div(x->steps, splits);
        const int64_t each = ceil_div(x->steps, length), sums = each * x->p->m * round_up(x->p->n, 4) * 4;
        if (splits > 1 &&
            (keeps_k(x->p, x->device) || x->device->whole_k || sums > MOST_SUMS * multiprocessors_of(x->device)))
            break;
        double ends = time(x, x->tiles * each, length);
        if (each > 1) ends += x->tuned->adding + x->tuned->adding_part * (double)each;
        if (made.length > 0 && ends >= *busiest) continue;
        *busiest = ends;
        made = (k_split){.splits = each, .length = length};
        if (each > 1) made.count = x->tiles * each, made.bytes = round_up(sums, 256);
    }
    return made;
}

static double cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                     double busiest)
{
    (void)row, (void)p, (void)device;
    return tuned->cost * busiest;
}

/* ---- thin: few rows or few columns ---- */

/* Whether the longer operand lies across k. */
static bool lies_across(const tw_problem *p) { return p->m <= p->n ? p->op_b == TW_N : op_transposes(p->op_a); }

int64_t thin_tiles(const kernel_row *row, const tw_problem *p)
{
    const int64_t piece = 16 / dtype_find(p->dtype)->lab.bytes, edge = row->lab.tile_n - (lies_across(p) ? piece : 0);
    return ceil_div(min_i64(p->m, p->n), row->lab.tile_m) * ceil_div(max_i64(p->m, p->n), edge);
}

/* A step of k takes so many cycles, and more for each line of the short operand. Memory delivers the long one at the
 * rate of the blocks that have room at a time; where it lies across k, at a lower one. */
static double thin_time(const product *x, int64_t blocks, int64_t length)
{
    const int64_t many = max_i64(x->p->m, x->p->n), few = min_i64(x->p->m, x->p->n),
                  places = room_of(x) * multiprocessors_of(x->device), rounds = ceil_div(blocks, places);
    const double step = x->tuned->thin_step + x->tuned->thin_line * (double)min_i64(few, x->row->lab.tile_m),
                 rate = lies_across(x->p) ? x->tuned->thin_across_bytes : x->tuned->thin_bytes,
                 memory = (double)(many * dtype_find(x->p->dtype)->lab.bytes) * (double)x->p->k /
                          (rate * (double)multiprocessors_of(x->device)),
                 full = blocks > x->tiles ? (double)(rounds * places) / (double)blocks : 1;
    return x->tuned->block + longer((double)(rounds * length) * step, memory * full);
}

/* Of k, as the kernel counts: where the long operand lies along k, its pieces may begin up to 7 elements before it. */
static int64_t thin_steps(const kernel_row *row, const tw_problem *p)
{
    const int64_t before = lies_across(p) ? 0 : 16 / dtype_find(p->dtype)->lab.bytes - 1;
    return max_i64(ceil_div(p->k + before, row->lab.tile_k), 1);
}

static k_split divide_thin(const kernel_row *row, const tw_problem *p, const device_facts *device,
                           const tuned_values *tuned, double *busiest)
{
    const product x = {row, p, device, tuned, max_i64(thin_tiles(row, p), 1), thin_steps(row, p)};
    return least_time(&x, thin_time, busiest);
}

/* Other tiles are taller. */
static bool thin_suits(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    (void)device;
    return min_i64(p->m, p->n) <= row->lab.tile_m;
}

const gpu_family family_thin = {.divide = divide_thin, .cycles = cycles, .suits = thin_suits};

/* ---- in place ---- */

/* A multiprocessor's threads put together what its blocks multiply, one after the other; but a block waits for its
 * first step of k, and for each some time. The last step is as long as k leaves it, of which half does not depend on
 * that. */
static double in_place_time(const product *x, int64_t blocks, int64_t length)
{
    const kernel_row *row = x->row;
    const int64_t each = ceil_div(blocks, multiprocessors_of(x->device));
    const double along = (double)(x->p->op_a == TW_N ? row->lab.tile_m : 0) +
                         (double)(x->p->op_b == TW_N ? 0 : row->lab.tile_n),
                 step = x->tuned->in_place_edge * (double)(row->lab.tile_m + row->lab.tile_n) +
                        x->tuned->in_place_along * along,
                 left = (double)min_i64(x->p->k, row->lab.tile_k) / (double)row->lab.tile_k,
                 steps = (double)(length - 1) + (1 + left) / 2;
    return longer(x->tuned->in_place_first + (double)(ceil_div(each, room_of(x)) * length) *
                                                 (x->tuned->in_place_wait + x->tuned->in_place_wait_along * along),
                  (double)each * (x->tuned->block + steps * step));
}

static k_split divide_in_place(const kernel_row *row, const tw_problem *p, const device_facts *device,
                               const tuned_values *tuned, double *busiest)
{
    const product x = {
        row, p, device, tuned, max_i64(tiles_of(row, p), 1), max_i64(ceil_div(p->k, row->lab.tile_k), 1)};
    return least_time(&x, in_place_time, busiest);
}

const gpu_family family_in_place = {.divide = divide_in_place, .cycles = cycles};
