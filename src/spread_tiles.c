/* spread_tiles.c - panels and tiles as matrices: where an operand's panel lies, and the plan that multiplies a tile. */
#include "spread_list.h"

/* Do panels lie side by side in the matrix as stored, not one below the other? */
static bool side_by_side(const spread *s, int x) { return op_transposes(x == 0 ? s->p->op_a : s->p->op_b) == (x == 0); }

region spread_stored_panel(const spread *s, int x, int64_t first, int64_t length)
{
    return side_by_side(s, x) ? (region){0, first, s->p->k, length} : (region){first, 0, length, s->p->k};
}

int64_t spread_copy_ld(const spread *s, int x, int64_t cols) { return round_up(cols, 16 / s->bytes[x]); }

/* What of an operand a region of C needs, as stored. */
static region spread_needed(const spread *s, int x, const region *c)
{
    if (x == 2) return *c;
    return x == 0 ? spread_stored_panel(s, 0, c->row, c->rows) : spread_stored_panel(s, 1, c->col, c->cols);
}

uint64_t spread_address(const spread_block *b, int64_t row, int64_t col, int64_t bytes)
{
    return b->address + (uint64_t)(((row - b->row) * b->ld + col - b->col) * bytes);
}

const spread_block *spread_own_block(const spread *s, int x, int on)
{
    const region r = spread_needed(s, x, &s->devices[on].region);
    for (int64_t i = 0; i < s->matrices[x].count; i++) {
        const spread_block *b = &s->matrices[x].blocks[i];
        if (b->device == on && b->row <= r.row && b->col <= r.col && b->row + b->rows >= r.row + r.rows &&
            b->col + b->cols >= r.col + r.cols)
            return b;
    }
    return NULL;
}

/* ---- plans ---- */

static tw_problem tile_problem(const spread *s, int on, int64_t m, int64_t n)
{
    tw_problem p = *s->p;
    int64_t *const lds[3] = {&p.lda, &p.ldb, &p.ldc};
    uint32_t *const aligns[3] = {&p.align_a, &p.align_b, &p.align_c};
    p.m = m, p.n = n;
    for (int x = 0; x < 3; x++) {
        const region r = spread_needed(s, x, &s->devices[on].region),
                     copy = x < 2 ? spread_stored_panel(s, x, 0, x == 0 ? m : n) : (region){0, 0, m, n};
        const spread_block *own = s->here[x] ? spread_own_block(s, x, on) : NULL;
        *lds[x] = own != NULL ? own->ld : spread_copy_ld(s, x, copy.cols);
        /* of every tile: they begin at multiples of UNIT elements from the first */
        const uint64_t bits = 256 | (own != NULL ? spread_address(own, r.row, r.col, s->bytes[x]) : 0);
        *aligns[x] = (uint32_t)(bits & (~bits + 1));
    }
    return p;
}

void spread_take_packed(plan *tile, int x)
{
    packing *const packs = x == 0 ? &tile->gpu.pack_a : &tile->gpu.pack_b;
    if (!packs->needed) return;
    *(x == 0 ? &tile->gpu.problem.lda : &tile->gpu.problem.ldb) = packs->ld;
    tile->workspace_bytes -= (size_t)packs->bytes;
    packs->needed = false, packs->bytes = 0;
}

static bool same_tile(const tw_problem *p, const tw_problem *q)
{
    return p->m == q->m && p->n == q->n && p->lda == q->lda && p->ldb == q->ldb && p->ldc == q->ldc &&
           p->align_a == q->align_a && p->align_b == q->align_b && p->align_c == q->align_c;
}

tw_status spread_find_plan(spread *s, int on, int64_t m, int64_t n, int *out)
{
    const tw_problem p = tile_problem(s, on, m, n);
    const tw_lab_choice same = {.kernel = s->row->lab.name};
    spread_work *w = s->work;
    for (*out = 0; *out < w->plan_count; ++*out)
        if (same_tile(&w->plans[*out].packs.problem, &p)) return TW_OK;
    spread_plan made;
    TRY(plan_find(&p, s->machine->facts, &same, &made.packs));
    made.tile = made.packs;
    spread_take_packed(&made.tile, 0), spread_take_packed(&made.tile, 1);
    APPEND(w->plans, w->plan_count, made);
    return TW_OK;
}

packing spread_packing(const spread *s, int x, int on, int64_t length)
{
    const tw_problem p = tile_problem(s, on, x == 0 ? length : UNIT, x == 1 ? length : UNIT);
    return x == 0 ? kernel_packing_a(s->row, &p) : kernel_packing_b(s->row, &p);
}

bool spread_has_panels(const spread *s, int x, int on) { return !s->here[x] || spread_packing(s, x, on, UNIT).needed; }

int64_t spread_panel_bytes(const spread *s, int x, int on, int64_t length, bool raw)
{
    const packing packs = spread_packing(s, x, on, length);
    const region r = spread_stored_panel(s, x, 0, length);
    const int64_t stored = round_up(r.rows * spread_copy_ld(s, x, r.cols) * s->bytes[x], 256);
    if (raw) return packs.needed && !s->here[x] ? stored : 0;
    return packs.needed ? packs.bytes : s->here[x] ? 0 : stored;
}
