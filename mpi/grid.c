/* grid.c - see grid.h. */
#include "grid.h"

#include <stddef.h>

grid_part grid_divide(int64_t length, int parts, int index)
{
    const int64_t each = length / parts, more = length % parts;
    return (grid_part){each * index + (index < more ? index : more), each + (index < more)};
}

/* Block `index` of m or n: of these lengths at home, else as even as can be. */
static grid_part block_of(int64_t length, int parts, const int64_t *home, int index)
{
    if (home == NULL) return grid_divide(length, parts, index);
    grid_part block = {0, home[index]};
    for (int i = 0; i < index; i++) block.begin += home[i];
    return block;
}

static int64_t largest(int64_t length, int parts, const int64_t *home)
{
    int64_t most = block_of(length, parts, home, 0).length;
    for (int i = 1; home != NULL && i < parts; i++) most = home[i] > most ? home[i] : most;
    return most;
}

static int64_t largest_m(const grid_problem *p, const grid *g)
{
    return largest(p->m, g->pm, g->at_home ? p->home.m : NULL);
}

static int64_t largest_n(const grid_problem *p, const grid *g)
{
    return largest(p->n, g->pn, g->at_home ? p->home.n : NULL);
}

static int64_t largest_k(const grid_problem *p, const grid *g) { return grid_divide(p->k, g->pk, 0).length; }

/* Of a length that is gathered from so many ranks, at most: what lies in a buffer. */
static double gathered(int64_t length, int peers)
{
    if (peers == 1) return 0;
    return (double)(peers > GRID_MOST_IN_PLACE ? length : length - length / peers);
}

/* k whole, or panels of one depth where two of them take less. */
static int64_t panel_of(const grid_problem *p, int64_t segment)
{
    const bool whole = p->depth == 0 || segment <= 2 * p->depth;
    return whole ? (segment > 0 ? segment : 1) : p->depth;
}

double grid_reduce_bytes(int64_t rows, int64_t line_bytes, int pk)
{
    enum { MOST = 32 << 20 };
    const double one_row = (double)line_bytes * (pk - 1), all = (double)grid_divide(rows, pk, 0).length * one_row;
    return all < MOST ? all : one_row > MOST ? one_row : MOST;
}

/* Products of bytes stay below 2^63: a double says whether. */
void grid_measure(const grid_problem *p, grid *g)
{
    const double m = (double)largest_m(p, g), n = (double)largest_n(p, g);
    const int64_t segment = largest_k(p, g);
    g->panel = panel_of(p, segment);
    const bool many = segment > g->panel;
    const double deep = (double)g->panel * (many ? 2 : 1);
    double buffers = p->direct ? 0
                               : gathered(largest_m(p, g), g->pn) * deep * (double)p->a_bytes +
                                     gathered(largest_n(p, g), g->pm) * deep * (double)p->b_bytes;
    const double c = m * n * (double)p->c_bytes;
    if (g->pk > 1)
        buffers += c + grid_reduce_bytes(largest_m(p, g), largest_n(p, g) * p->c_bytes, g->pk);
    else if (many && p->keeps_c0)
        buffers += c;
    if (p->resident && !p->direct)
        buffers += (g->pn > 1 ? m / g->pn * deep * (double)p->a_bytes : 0) +
                   (g->pm > 1 ? n / g->pm * deep * (double)p->b_bytes : 0);
    if (p->resident && (many || g->pk > 1)) buffers += c / g->pk;
    const double own = (m * (double)segment * (double)p->a_bytes) / g->pn +
                       (n * (double)segment * (double)p->b_bytes) / g->pm + c / g->pk;
    const double all = own + buffers;
    g->bytes = all < 0x1p62 ? (int64_t)all : INT64_MAX;
    g->buffer_bytes = buffers < 0x1p62 ? (int64_t)buffers : INT64_MAX;
}

static void estimate(const grid_problem *p, grid *g)
{
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    const double a = m * k / g->pm / g->pk * (1 - 1.0 / g->pn), b = k * n / g->pk / g->pn * (1 - 1.0 / g->pm),
                 c = m * n / g->pm / g->pn * (1 - 1.0 / g->pk);
    /* at home blocks are uneven: the largest decides */
    const double a_share = g->at_home ? (double)largest_m(p, g) * g->pm / m : 1,
                 b_share = g->at_home ? (double)largest_n(p, g) * g->pn / n : 1;
    const double bytes = a * a_share * (double)p->a_bytes + b * b_share * (double)p->b_bytes + c * (double)p->c_bytes;
    const double products = (double)largest_m(p, g) * (double)largest_n(p, g) * (double)largest_k(p, g);
    const double panels = (double)((largest_k(p, g) + g->panel - 1) / g->panel);
    const double messages = panels * (g->pm - 1 + g->pn - 1) + (g->pk - 1);
    g->words[0] = a, g->words[1] = b, g->words[2] = c;
    g->compute_s = products * p->flop_seconds, g->move_s = bytes * p->byte_seconds;
    g->message_s = messages * p->message_seconds;
    g->seconds = g->compute_s + g->move_s + g->message_s;
}

static bool is_asked(const grid_problem *p, const grid *g)
{
    const int found[3] = {g->pm, g->pn, g->pk};
    for (int d = 0; d < 3; d++)
        if (p->asked[d] != 0 && p->asked[d] != found[d]) return false;
    return true;
}

/* Of two that cost the same, in seconds or in bytes. */
static bool is_simpler(const grid *g, const grid *than)
{
    const int ranks = g->pm * g->pn * g->pk, others = than->pm * than->pn * than->pk;
    if (ranks != others) return ranks < others;
    return g->pk != than->pk ? g->pk < than->pk : g->pm < than->pm;
}

/* What grids are compared by. */
static double cost_of(const grid_problem *p, const grid *g)
{
    return g->seconds + (g->at_home ? 0 : p->home.words * (double)p->c_bytes * p->byte_seconds);
}

bool grid_choose(const grid_problem *p, grid *out)
{
    grid least = {.bytes = INT64_MAX};
    bool found = false;
    for (int pk = 1; pk <= (p->depth == 0 ? 1 : p->ranks); pk++)
        for (int pm = 1; pm <= p->ranks / pk; pm++)
            for (int pn = 1; pn <= p->ranks / pk / pm; pn++) {
                grid g = {.pm = pm, .pn = pn, .pk = pk};
                if (!is_asked(p, &g)) continue;
                g.at_home = pk == 1 && g.pm == p->home.pm && g.pn == p->home.pn;
                grid_measure(p, &g), estimate(p, &g);
                if (least.pm == 0 || g.bytes < least.bytes || (g.bytes == least.bytes && is_simpler(&g, &least)))
                    least = g;
                if (g.bytes > p->memory_bytes) continue;
                if (found &&
                    (cost_of(p, &g) > cost_of(p, out) || (cost_of(p, &g) == cost_of(p, out) && !is_simpler(&g, out))))
                    continue;
                *out = g, found = true;
            }
    if (!found) *out = least;
    return found;
}

grid_place grid_place_of(const grid_problem *p, const grid *g, int rank)
{
    grid_place at = {.im = rank / g->pk / g->pn, .in = rank / g->pk % g->pn, .ik = rank % g->pk};
    at.m = block_of(p->m, g->pm, g->at_home ? p->home.m : NULL, at.im);
    at.n = block_of(p->n, g->pn, g->at_home ? p->home.n : NULL, at.in);
    at.k = grid_divide(p->k, g->pk, at.ik);
    const grid_part a = grid_divide(at.m.length, g->pn, at.in), b = grid_divide(at.n.length, g->pm, at.im),
                    c = grid_divide(at.m.length, g->pk, at.ik);
    at.own_m = (grid_part){at.m.begin + a.begin, a.length}, at.own_n = (grid_part){at.n.begin + b.begin, b.length};
    at.own_c = (grid_part){at.m.begin + c.begin, c.length};
    at.words_a = (at.m.length - a.length) * at.k.length, at.words_b = (at.n.length - b.length) * at.k.length;
    at.words_c = c.length * at.n.length * (g->pk - 1);
    return at;
}
