/* cpu_alone.c - a small C on the matrix unit: each thread packs what it multiplies by itself. No thread waits for
 * another, and no panel goes from one core's cache to another's. */
#include "cpu.h"

/* A thread's share of C, as high as ends soonest. */
static tw_problem share_of(const cpu_case *c)
{
    enum { PACKED_ELEMENT = 192 }; /* the multiply-adds in the time of packing an element */
    tw_problem share = *c->p;
    const int64_t tiles_m = ceil_div(share.m, c->mr), tiles_n = ceil_div(share.n, c->nr);
    double least = 0;
    for (int64_t high = 1; high <= c->threads; high++) {
        const int64_t wide = c->threads / high;
        high = c->threads / wide; /* the lowest of shares as wide */
        const int64_t m = min_i64(ceil_div(tiles_m, high) * c->mr, c->p->m),
                      n = min_i64(ceil_div(tiles_n, wide) * c->nr, c->p->n);
        const double time = PACKED_ELEMENT * ((double)m + (double)n) + (double)m * (double)n;
        if (high == 1 || time < least) share.m = m, share.n = n, least = time;
    }
    return share;
}

/* Whether threads that each pack their own share of C pack few more bytes of A and B than together. Of eight to 16
 * threads, without transposes: a wide C always counts, as copying rows of A is cheap; a tall one only if each weaves
 * few more elements of B (docs/perf/cpu-bf16-int8.md#wide-and-tall). */
static bool packs_little_more(const cpu_case *c, const tw_problem *share)
{
    enum { LEAST_THREADS = 8, WIDE_ROWS = 768, WIDE_SHARE = 1024, MORE_OF_TALL = 131072, MORE_BYTES = 524288 };
    const tw_problem *p = c->p;
    const double more_a = ((double)share->m - (double)p->m / c->threads) * (double)p->k,
                 more_b = ((double)share->n - (double)p->n / c->threads) * (double)p->k;
    if (c->threads >= LEAST_THREADS && c->threads <= MEASURED_THREADS && !c->a_transposed && !c->b_transposed) {
        if (p->m <= WIDE_ROWS && p->m <= p->n / 2 && share->n <= WIDE_SHARE) return true;
        if (p->n <= p->m / 2 && more_b > MORE_OF_TALL) return false;
    }
    return (more_a + more_b) * (double)dtype_find(p->dtype)->lab.bytes <= MORE_BYTES;
}

static bool suits(const cpu_case *c)
{
    const tw_problem *p = c->p;
    /* the few that run after a rest would pack for all */
    if (c->threads < 2 || c->woken < c->threads || problem_triangle(p) != 0 || p->k < 1 || in_chunks(c) ||
        !cpu_layout_tiles(c->row->layout))
        return false;
    const tw_problem share = share_of(c);
    if (!packs_little_more(c, &share)) return false;
    if (!cpu_keeps_c(p) && p->k <= chunk_of(p)) return true;
    cpu_case each;
    cpu_look(&each, &share, c->row, c->device, 1);
    /* no sums beside C, whose old elements are needed, nor chunks, which are laid out for a C of their own */
    return (!cpu_keeps_c(p) || p->k <= cpu_packed_depth(&each)) && !strategy_divided.suits(&each);
}

static void fill(const cpu_case *c, plan *plan)
{
    const tw_problem share = share_of(c);
    cpu_fill_shares(c, &share, plan);
}

const cpu_strategy strategy_alone = {"each packs alone", suits, fill};
