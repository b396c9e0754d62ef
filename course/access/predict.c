/* predict.c - see predict.h. */
#include "../../lab/roofline.h"
#include "predict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PARTITION_BYTES = 256, MOST_PARTITIONS = 16 };

/* What all devices of a generation share; sources as in access.h: CUDA C Programming Guide, "arithmetic instructions"
 * and "technical specifications per compute capability". */
typedef struct generation {
    const char *capability;
    double instructions; /* of warps that a multiprocessor can issue per clock of its cores */
    double wavefronts;   /* through its shared memory per clock; of half-warps on 1.x */
    int block_threads;   /* at most */
    int threads, blocks; /* resident on a multiprocessor at most */
    int shared_bytes;    /* of a multiprocessor */
    int local_bytes;     /* of it, a block's at most */
    int registers;       /* of a multiprocessor; 0: caches are not predicted */
    /* of the L2: multiprocessors use one of them each (NVIDIA: A100 whitepaper, "A100 L2 cache"; of the H100 Chips and
     * Cheese, "Nvidia's H100: Funny L2", 2023) */
    int l2_partitions;
} generation;

/* clang-format off */
static const generation generations[] = {
    {"1.0", 0.25, 0.5, 512, 768, 8, 16 << 10, 16 << 10, 0, 0},
    {"1.1", 0.25, 0.5, 512, 768, 8, 16 << 10, 16 << 10, 0, 0},
    {"1.2", 0.25, 0.5, 512, 1024, 8, 16 << 10, 16 << 10, 0, 0},
    {"1.3", 0.25, 0.5, 512, 1024, 8, 16 << 10, 16 << 10, 0, 0},
    {"2.0", 1, 0.5, 1024, 1536, 8, 48 << 10, 48 << 10, 0, 0},
    {"6.0", 2, 1, 1024, 2048, 32, 64 << 10, 48 << 10, 0, 0},
    {"7.0", 4, 1, 1024, 2048, 32, 96 << 10, 96 << 10, 64 << 10, 1},
    {"7.5", 4, 1, 1024, 1024, 16, 64 << 10, 64 << 10, 64 << 10, 1},
    {"8.0", 4, 1, 1024, 2048, 32, 164 << 10, 163 << 10, 64 << 10, 2},
    {"8.6", 4, 1, 1024, 1536, 16, 100 << 10, 99 << 10, 64 << 10, 1},
    {"8.9", 4, 1, 1024, 1536, 24, 100 << 10, 99 << 10, 64 << 10, 1},
    {"9.0", 4, 1, 1024, 2048, 32, 228 << 10, 227 << 10, 64 << 10, 2},
};
/* clang-format on */

static const generation *generation_of(const char *capability)
{
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++)
        if (strcmp(generations[i].capability, capability) == 0) return &generations[i];
    return NULL;
}

/* ---- counts ---- */

static tw_problem problem_of(const access_launch *l)
{
    return tw_problem_make(l->kernel->dtype, TW_N, TW_N, l->m, l->n, l->k);
}

static void count_rows(const access_launch *l, access_era era, bool global, bool store, double *instructions,
                       double *transactions)
{
    *instructions = *transactions = 0;
    for (int kind = 0; kind < ACCESS_KINDS; kind++) {
        access_cost total[ACCESS_ERAS];
        if (access_is_global((access_kind)kind) != global || access_is_store((access_kind)kind) != store) continue;
        access_count_kind(l, (access_kind)kind, total);
        *instructions += total[era].requests;
        *transactions += total[era].transactions;
    }
}

static double ratio(double above, double below) { return below > 0 ? above / below : (double)NAN; }

predict_degrees predict_average(const access_launch *l, access_era era)
{
    double load[2], shared_load[2], shared_store[2];
    count_rows(l, era, true, false, &load[0], &load[1]);
    count_rows(l, era, false, false, &shared_load[0], &shared_load[1]);
    count_rows(l, era, false, true, &shared_store[0], &shared_store[1]);
    return (predict_degrees){ratio(load[1], load[0]), ratio(shared_load[1], shared_load[0]),
                             ratio(shared_store[1], shared_store[0])};
}

/* Instructions of all warps: loads, stores and multiply-adds, and for each round of a loop that is not written out five
 * more: two addresses, a counter, a compare and a branch. For compute capability 9.0 the binary of r04's inner loop has
 * as many (8 with 1 multiply-add), r05's one more (27 with 16), r01's four more (12 with 1), since addresses are of 64
 * bits there. Not counted: the first and last instructions of a kernel, and the addresses of a tile's loads. */
static double instructions_of(const access_launch *l)
{
    enum { OVERHEAD = 5 };
    bool rolled = strncmp(l->kernel->rung, "r06", 3) < 0 || l->kernel->skinny, walks_k = false;
    double sum = 0, instructions, transactions;
    for (int i = 0; i < l->rows; i++) walks_k = walks_k || l->row[i]->over == OVER_K;
    for (int of = 0; of < 4; of++) {
        count_rows(l, ERA_NOW, of & 1, of & 2, &instructions, &transactions);
        sum += instructions;
    }
    double warps = (double)l->grid_x * (double)l->grid_y * access_warps(l);
    double steps = walks_k ? (double)l->k : (double)l->tiles * l->block_k;
    double each = (double)l->block_m * l->block_n / (l->block_x * l->block_y);
    return sum + warps * steps * each + warps * OVERHEAD * (rolled ? steps : (double)l->tiles);
}

/* ---- the memory's partitions ---- */

/* Static shared memory of square rungs is said for an edge of 32. */
static int local_bytes_of(const tw_lab_kernel *kernel, int tile)
{
    return kernel->default_tile > 0 ? kernel->local_bytes * tile * tile / (32 * 32) : kernel->local_bytes;
}

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

/* Blocks resident on a multiprocessor, as threads, shared memory and, from 7.0 on, registers allow. A quarter of the
 * registers belongs to each of its 4 schedulers, and a warp gets them 256 at a time (CUDA Programming Guide, "hardware
 * multithreading"). */
static int64_t resident_blocks(const access_launch *l, const generation *g)
{
    enum { SCHEDULERS = 4, UNIT = 256 };
    int threads = l->block_x * l->block_y, of_warp = (l->registers * ACCESS_WARP + UNIT - 1) / UNIT * UNIT,
        local = local_bytes_of(l->kernel, l->tile);
    int64_t most = least(g->threads / threads, g->blocks);
    if (g->registers > 0) most = least(most, SCHEDULERS * (g->registers / SCHEDULERS / of_warp) / access_warps(l));
    return local > 0 ? least(most, g->shared_bytes / local) : most;
}

/* The share of the memory's partitions that the blocks which run together touch with one instruction: partitions are
 * 256 bytes wide, and blocks start along rows of C (NVIDIA: Optimizing matrix transpose in CUDA, 2009). 1 where the
 * device hashes its addresses. */
static double partition_share(const access_launch *l, const access_row *row, const generation *g,
                              const published_device *d)
{
    bool touched[MOST_PARTITIONS] = {false};
    int64_t resident = resident_blocks(l, g) * d->multiprocessors;
    int count = 0;
    if (d->partitions == 0) return 1;
    for (int64_t b = 0; b < resident && b < l->grid_x * l->grid_y; b++)
        for (int warp = 0; warp < access_warps(l); warp++) {
            int64_t address[ACCESS_WARP];
            access_place v = {.by = b / l->grid_x, .bx = b % l->grid_x};
            access_lanes(l, row, &v, warp, address);
            for (int lane = 0; lane < ACCESS_WARP; lane++) {
                if (address[lane] < 0) continue;
                bool *t = &touched[address[lane] / PARTITION_BYTES % d->partitions];
                count += !*t;
                *t = true;
            }
        }
    return count > 0 ? (double)count / d->partitions : 1;
}

/* ---- what caches leave ---- */

/* Bytes in sectors of the rows of a stored operand that is read in strips, each `width` of its columns. Rows begin
 * where ld says, so 8 of them are of every kind. */
static double strip_bytes(int64_t rows, int64_t cols, int64_t ld, int64_t width)
{
    enum { WORD = 4, SECTOR = 32, KINDS = SECTOR / WORD };
    int64_t strips = (cols + width - 1) / width;
    double sectors = 0;
    for (int64_t i = 0; i < least(rows, KINDS); i++)
        for (int64_t s = 0; s < least(strips - 1, KINDS) + 1; s++) {
            bool last = s == least(strips - 1, KINDS);
            int64_t strip = last ? strips - 1 : s, from = WORD * (i * ld + strip * width),
                    to = from + WORD * least(width, cols - strip * width);
            double alike = (double)((rows - i + KINDS - 1) / KINDS) *
                           (last ? 1 : (double)((strips - 1 - s + KINDS - 1) / KINDS));
            sectors += alike * (double)((to - 1) / SECTOR - from / SECTOR + 1);
        }
    return SECTOR * sectors;
}

/* What blocks ask of the L2 and store there, each sector once for a block: its L1 serves what it asks again. Past the
 * L1 each request asks for itself. */
static double l2_requested(const access_launch *l)
{
    if (l->past_l1) {
        double bytes = 0;
        for (int i = 0; i < l->rows; i++) {
            access_cost total[ACCESS_ERAS];
            if (!access_is_global(l->row[i]->kind)) continue;
            access_count(l, l->row[i], total);
            bytes += total[ERA_NOW].moved;
        }
        return bytes;
    }
    double a = l->transposed_a ? strip_bytes(l->k, l->m, l->lda, l->block_m) : strip_bytes(l->m, l->k, l->lda, l->k),
           b = l->transposed_b ? strip_bytes(l->n, l->k, l->ldb, l->k) : strip_bytes(l->k, l->n, l->ldb, l->block_n);
    return (double)l->grid_x * a + (double)l->grid_y * b + strip_bytes(l->m, l->n, l->ldc, l->block_n);
}

/* What the order of the launch makes of `count` blocks from number `first` on: their different rows of blocks, and
 * their runs down a column of a group. Without groups each block is a run. */
static void rows_and_runs(const access_launch *l, int64_t first, int64_t count, int64_t *rows, int64_t *runs)
{
    int64_t height = l->group_m > 0 ? l->group_m : 1, in_group = height * l->grid_x, end = first + count;
    *rows = *runs = 0;
    for (int64_t group = first / in_group; group * in_group < end; group++) {
        int64_t high = least(height, l->grid_y - group * height), begin = group * in_group,
                from = first > begin ? first - begin : 0, to = least(end - begin, high * l->grid_x);
        *rows += least(to - from, high);
        *runs += (to - 1) / high - from / high + 1;
    }
}

/* Reads of A and B from memory, wave by wave: in step, each wave reads once what its blocks want; out of step, it reads
 * for each row of blocks all of B again, or for each column of a group its rows of A. */
static void dram_read(const access_launch *l, int64_t wave, double *in_step, double *out_of_step)
{
    enum { MOST_WAVES = 4096 }; /* that stand for all */
    int64_t blocks = l->grid_x * l->grid_y, waves = (blocks + wave - 1) / wave, seen = least(waves, MOST_WAVES);
    double a_row = 4 * (double)l->m * (double)l->k / (double)l->grid_y,
           b_col = 4 * (double)l->k * (double)l->n / (double)l->grid_x;
    *in_step = *out_of_step = 0;
    for (int64_t w = 0; w < seen; w++) {
        int64_t rows, runs, count = least(wave, blocks - w * wave);
        rows_and_runs(l, w * wave, count, &rows, &runs);
        *in_step += (double)rows * a_row + (double)least(runs, l->grid_x) * b_col;
        *out_of_step += (double)(l->group_m > 0 ? count : rows) * a_row + (double)runs * b_col;
    }
    *in_step *= (double)waves / (double)seen, *out_of_step *= (double)waves / (double)seen;
}

predict_traffic predict_cached(const access_launch *l, const published_device *d)
{
    predict_traffic x = {NAN, NAN, NAN, NAN};
    const generation *g = generation_of(d->capability);
    char why[200];
    if (g == NULL || g->registers == 0 || l->registers == 0 || d->cache_kib == 0 ||
        !predict_fits(l->kernel, l->tile, l->block_x * l->block_y, d, why, sizeof why))
        return x;
    int64_t resident = resident_blocks(l, g);
    double operands = 4 * ((double)l->m * (double)l->k + (double)l->k * (double)l->n);
    if (resident == 0) return x;
    x.resident_blocks = (double)resident;
    if (operands <= 1024.0 * d->cache_kib)
        x.dram_low_bytes = x.dram_high_bytes = operands;
    else
        dram_read(l, resident * d->multiprocessors, &x.dram_low_bytes, &x.dram_high_bytes);
    x.l2_bytes = l2_requested(l) + x.dram_low_bytes * (1 - 1.0 / g->l2_partitions);
    return x;
}

/* ---- times ---- */

prediction predict_on(const access_launch *l, const published_device *d)
{
    tw_problem p = problem_of(l);
    double flops = roofline_flops(&p), bandwidth = d->memory_gbps * 1e9, peak = d->peak_gflops * 1e9;
    int read_m = l->kernel->tile_m > 0 ? l->kernel->tile_m : l->tile,
        read_n = l->kernel->tile_n > 0 ? l->kernel->tile_n : l->tile;
    prediction x = {.asked_bytes = roofline_bytes_asked(&p, read_m, read_n),
                    .compulsory_bytes = roofline_compulsory_bytes(&p),
                    .shared_gflops = NAN,
                    .issue_gflops = NAN,
                    .issue_s = NAN};
    x.bound_asked_gflops = fmin(roofline_no_cache_flops(&p, x.asked_bytes, bandwidth), peak) / 1e9;
    x.bound_gflops = roofline_bound_flops(&p, peak, bandwidth) / 1e9;
    const generation *g = generation_of(d->capability);
    access_era era = access_era_of(d->capability);
    for (int i = 0; i < l->rows; i++) {
        access_cost total[ACCESS_ERAS];
        if (!access_is_global(l->row[i]->kind)) continue;
        access_count(l, l->row[i], total);
        x.moved_bytes += total[era].moved;
        x.memory_s += total[era].moved / (bandwidth * (g != NULL ? partition_share(l, l->row[i], g, d) : 1));
    }
    if (g != NULL) {
        /* of all multiprocessors together */
        double clock = d->multiprocessors * peak / (2.0 * d->cores), requests, wavefronts, more[2];
        count_rows(l, era, false, false, &requests, &wavefronts);
        count_rows(l, era, false, true, &more[0], &more[1]);
        requests += more[0], wavefronts += more[1];
        x.shared_s = wavefronts / (clock * g->wavefronts);
        if (wavefronts > 0) x.shared_gflops = flops / x.shared_s / 1e9;
        /* an instruction that conflicts is issued again */
        if (era <= ERA_1_2) x.conflict_s = (wavefronts - requests) / (clock * g->wavefronts);
        x.issue_s = instructions_of(l) / (clock * g->instructions) + x.conflict_s;
        x.issue_gflops = flops / x.issue_s / 1e9;
    }
    const double busy_s = x.shared_s > x.issue_s ? x.shared_s : x.issue_s;
    x.serial_s = x.memory_s + busy_s, x.overlapped_s = fmax(x.memory_s, busy_s);
    return x;
}

/* "9.0" is 90, as "sm_90" is; 0: it says nothing of the kind. */
static int capability_of(const char *text)
{
    int major = 0, minor = 0;
    if (sscanf(text, "%d.%d", &major, &minor) == 2) return 10 * major + minor;
    return sscanf(text, "sm_%d", &major) == 1 ? major : 0;
}

bool predict_fits(const tw_lab_kernel *kernel, int tile, int threads, const published_device *d, char *why,
                  size_t why_bytes)
{
    const generation *g = generation_of(d->capability);
    int local = local_bytes_of(kernel, tile);
    if (g != NULL && threads > g->block_threads)
        snprintf(why, why_bytes, "%d threads in a block: too many, it takes %d", threads, g->block_threads);
    else if (g != NULL && local > g->local_bytes)
        snprintf(why, why_bytes, "%d bytes of shared memory in a block: too many, it has %d", local, g->local_bytes);
    else if (capability_of(kernel->needs) > capability_of(d->capability))
        snprintf(why, why_bytes, "it needs %s, the device is of compute capability %s", kernel->needs, d->capability);
    else
        return true;
    return false;
}

double predict_effective_gbps(const access_launch *l, double seconds)
{
    tw_problem p = problem_of(l);
    return (roofline_bytes_asked(&p, l->tile, l->tile) + 4 * (double)l->m * (double)l->n) / seconds / 1e9;
}
