/* blocks.c - see blocks.h. */
#include "blocks.h"

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t ceil_div(int64_t x, int64_t y) { return x / y + (x % y != 0); }

/* Bytes packed in memory for a byte that is read from a file in the same time. */
static const double packed_per_read = 10;

/* k stays whole, and sums are those of a product in memory, unless its parts cost so many times less. */
static const double division_gains = 2;

/* Equal blocks of at most `each`. */
static int64_t even(int64_t length, int64_t each) { return ceil_div(length, ceil_div(length, each)); }

static double memory_of(const blocks_problem *p, const blocks *b)
{
    const double m = (double)b->m, n = (double)b->n, k = (double)b->k;
    return b->slots_a * m * k * (double)p->a_bytes + b->slots_b * k * n * (double)p->b_bytes +
           (m + b->finishes) * n * (double)p->c_bytes;
}

static double cost_of(const blocks_problem *p, blocks *b)
{
    const double a = (double)p->m * (double)p->k * (double)p->a_bytes,
                 of_b = (double)p->k * (double)p->n * (double)p->b_bytes;
    const double down = (double)ceil_div(p->m, b->m), across = (double)ceil_div(p->n, b->n);
    const bool a_once = b->rows_outermost && !b->divides_k, b_once = !b->rows_outermost && !b->divides_k;
    b->read_bytes = a * (a_once ? 1 : across) + of_b * (b_once ? 1 : down);
    return b->read_bytes + (a * across + of_b * down) / packed_per_read;
}

/* The widest blocks of `rows` rows (or, rows outermost, the highest of so many columns) that fit. */
static bool widen(const blocks_problem *p, double bytes, int64_t edge, blocks *b)
{
    const bool rows = b->rows_outermost && !b->divides_k;
    int64_t low = 0, high = rows ? p->m : p->n;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        b->m = rows ? middle : edge, b->n = rows ? edge : middle;
        if (memory_of(p, b) <= bytes)
            low = middle;
        else
            high = middle - 1;
    }
    if (low == 0) return false;
    b->m = even(p->m, rows ? low : edge), b->n = even(p->n, rows ? edge : low);
    b->bytes = (int64_t)memory_of(p, b);
    return true;
}

bool blocks_choose(const blocks_problem *p, int64_t bytes, blocks *out)
{
    const blocks kinds[] = {{.k = p->k, .slots_a = 2, .slots_b = 1},
                            {.k = p->k, .slots_a = 1, .slots_b = 2, .rows_outermost = true},
                            {.k = p->depth,
                             .slots_a = 2,
                             .slots_b = 2,
                             .rows_outermost = true,
                             .divides_k = true,
                             .finishes = p->finishes}};
    double cost = -1;
    for (int kind = 0; kind < 3; kind++) {
        const int64_t whole = kind == 1 ? p->n : p->m;
        if (kind == 2 && (p->depth == 0 || p->depth >= p->k)) continue;
        for (int64_t edge = 1;; edge = least(edge + edge / 4 + 1, whole)) {
            blocks b = kinds[kind];
            if (!widen(p, (double)bytes, edge, &b)) break;
            const double own = cost_of(p, &b) * (b.divides_k ? division_gains : 1);
            if (cost < 0 || own <= cost) cost = own, *out = b;
            if (edge == whole) break;
        }
    }
    return cost >= 0;
}

static void measure(const blocks_problem *p, const blocks *b, blocks_at *at)
{
    at->rows = least(b->m, p->m - at->i), at->cols = least(b->n, p->n - at->j), at->depth = least(b->k, p->k - at->p);
}

void blocks_first(const blocks_problem *p, const blocks *b, blocks_at *at)
{
    *at = (blocks_at){.reads_a = 1, .reads_b = 1};
    measure(p, b, at);
}

bool blocks_next(const blocks_problem *p, const blocks *b, blocks_at *at)
{
    const blocks_at before = *at;
    int64_t *inner = b->rows_outermost ? &at->j : &at->i, *outer = b->rows_outermost ? &at->i : &at->j;
    const int64_t inner_end = b->rows_outermost ? p->n : p->m, outer_end = b->rows_outermost ? p->m : p->n,
                  inner_step = b->rows_outermost ? b->n : b->m, outer_step = b->rows_outermost ? b->m : b->n;
    if (b->divides_k) at->p += b->k;
    if (!b->divides_k || at->p >= p->k) at->p = 0, *inner += inner_step;
    if (*inner >= inner_end) *inner = 0, *outer += outer_step;
    if (*outer >= outer_end) return false;
    at->reads_a += at->i != before.i || at->p != before.p;
    at->reads_b += at->j != before.j || at->p != before.p;
    measure(p, b, at);
    return true;
}
