/* cpu_divided.c - a k of several chunks and a C of few tiles, or of one row or column: threads share chunks, not C
 * alone (docs/perf/cpu-threads.md#divided-k). */
#include "cpu.h"

/* FEW_TILES of C, or for each task of a thread SMALL_TILES; LONG_K_TILES with at most two threads a chunk, or
 * LONG_K_THREADS if k is LONG_K_QUARTERS quarters of a chunk or more (docs/perf/cpu-threads.md#three-chunks). */
enum { FEW_TILES = 64, SMALL_TILES = 2, LONG_K_TILES = 4, LONG_K_THREADS = 6, LONG_K_QUARTERS = 9 };

/* Not where C is of another type than the sums (docs/decisions/0032). */
static bool suits(const cpu_case *c)
{
    const tw_problem *p = c->p;
    const int64_t chunk = chunk_of(p);
    if (p->k <= chunk || problem_converts_c(p)) return false;
    if (c->gemv) return true;
    const int64_t threads_each = p->k / LONG_K_QUARTERS >= chunk / 4 ? LONG_K_THREADS : 2,
                  times = c->row->layout != CPU_PLAIN                          ? 1
                          : ceil_div(p->k, chunk) * threads_each >= c->threads ? LONG_K_TILES
                                                                               : SMALL_TILES;
    return problem_triangle(p) == 0 && pieces_of(p->m, p->n, c->mr, c->nr) <=
                                           max_i64(FEW_TILES, times * (int64_t)c->tuned->thread_tasks * c->threads);
}

void cpu_fill_shares(const cpu_case *c, const tw_problem *share, plan *plan)
{
    struct plan each = {.problem = *share, .row = c->row};
    plan_loops(&each, c->device, 1);
    plan->cpu = each.cpu;
    plan->cpu.divided = true, plan->cpu.block_sets = c->threads;
    plan->cpu.share_m = share->m, plan->cpu.share_n = share->n;
}

/* Divides C among the shares of a chunk: enough of them for all threads, by rows or, where there are fewer tiles, by
 * columns. Each share reads all of the other operand's chunk: where that is more than its own part, they are as few as
 * give each thread as many. */
static void divide_c(const cpu_case *c, tw_problem *share)
{
    enum { SHARES_PER_THREAD = 2 };
    const tw_problem *p = c->p;
    const bool rows = ceil_div(p->m, c->mr) >= ceil_div(p->n, c->nr);
    const int64_t chunk = share->k, chunks = ceil_div(p->k, chunk), lacks = (chunk - p->k % chunk) % chunk,
                  fewest = ceil_div(c->threads, chunks), length = rows ? p->m : p->n, other = rows ? p->n : p->m;
    int64_t shares = c->threads > 1 ? ceil_div(SHARES_PER_THREAD * (int64_t)c->threads, chunks) : 1;
    if (other > ceil_div(length, shares) && lacks <= chunk / 8 && chunks * fewest % c->threads == 0) shares = fewest;
    const int64_t most = max_i64(ceil_div(length, shares), c->gemv ? LEAST_GEMV : 1);
    *(rows ? &share->m : &share->n) = min_i64(even_block(length, most, rows ? c->mr : c->nr), length);
}

static void fill(const cpu_case *c, plan *plan)
{
    enum { LEAST_CHUNK = 2048 };
    const tw_problem *p = c->p;
    tw_problem share = *p;
    share.k = chunk_of(p), share.ldc = p->n, share.flags = 0;
    share.alpha = 1, share.beta = share.alpha_imaginary = share.beta_imaginary = 0;
    if (dtype_is_integer(p->dtype) && !c->gemv) /* exact in any order: one for each thread, if not too short */
        share.k = min_i64(share.k, max_i64(LEAST_CHUNK, round_up(ceil_div(p->k, c->threads), CPU_K_UNIT)));
    divide_c(c, &share);
    cpu_fill_shares(c, &share, plan);
    plan->cpu.chunk_bytes = padded(p->m * p->n, (size_t)c->bytes);
}

const cpu_strategy strategy_divided = {"divided k", suits, fill};
