/* predict.c - see predict.h. */
#include "predict.h"
#include "../roofline.h"

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
} generation;

static const generation generations[] = {
    {"1.0", 0.25, 0.5, 512, 768, 8, 16 << 10, 16 << 10},  {"1.1", 0.25, 0.5, 512, 768, 8, 16 << 10, 16 << 10},
    {"1.2", 0.25, 0.5, 512, 1024, 8, 16 << 10, 16 << 10}, {"1.3", 0.25, 0.5, 512, 1024, 8, 16 << 10, 16 << 10},
    {"2.0", 1, 0.5, 1024, 1536, 8, 48 << 10, 48 << 10},   {"6.0", 2, 1, 1024, 2048, 32, 64 << 10, 48 << 10},
    {"7.0", 4, 1, 1024, 2048, 32, 96 << 10, 96 << 10},    {"7.5", 4, 1, 1024, 1024, 16, 64 << 10, 64 << 10},
    {"8.0", 4, 1, 1024, 2048, 32, 164 << 10, 163 << 10},  {"8.6", 4, 1, 1024, 1536, 16, 100 << 10, 99 << 10},
    {"8.9", 4, 1, 1024, 1536, 24, 100 << 10, 99 << 10},   {"9.0", 4, 1, 1024, 2048, 32, 228 << 10, 227 << 10},
};

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

static int resident_blocks(const access_launch *l, const generation *g, const published_device *d)
{
    int threads = l->block_x * l->block_y, words = 0;
    for (int i = 0; i < l->rows; i++)
        words += l->row[i]->kind == STORE_A_TILE || l->row[i]->kind == STORE_B_TILE ? threads : 0;
    int most = g->threads / threads;
    if (most > g->blocks) most = g->blocks;
    if (words > 0 && most > g->shared_bytes / (4 * words)) most = g->shared_bytes / (4 * words);
    return most * d->multiprocessors;
}

/* The share of the memory's partitions that the blocks which run together touch with one instruction: partitions are
 * 256 bytes wide, and blocks start along rows of C (NVIDIA: Optimizing matrix transpose in CUDA, 2009). 1 where the
 * device hashes its addresses. */
static double partition_share(const access_launch *l, const access_row *row, const generation *g,
                              const published_device *d)
{
    bool touched[MOST_PARTITIONS] = {false};
    int count = 0;
    if (d->partitions == 0) return 1;
    for (int b = 0; b < resident_blocks(l, g, d) && b < l->grid_x * l->grid_y; b++)
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
        if (wavefronts > 0) x.shared_gflops = flops / wavefronts * clock * g->wavefronts / 1e9;
        x.issue_s = instructions_of(l) / (clock * g->instructions);
        /* an instruction that conflicts is issued again */
        if (era <= ERA_1_2) x.issue_s += (wavefronts - requests) / (clock * g->wavefronts);
        x.issue_gflops = flops / x.issue_s / 1e9;
    }
    x.serial_s = x.memory_s + x.issue_s, x.overlapped_s = fmax(x.memory_s, x.issue_s);
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
    int local = kernel->default_tile > 0 ? kernel->local_bytes * tile * tile / (32 * 32) : kernel->local_bytes;
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
