/* spread.c - divides a product among devices, as a list of steps (engines/spread.h).
 *
 * Each device computes a region of C in tiles, each with the whole of k. A tile needs a panel of A and a panel of B.
 * Where all panels of a region have room they stay, and tiles grow from a corner, so that the first need little:
 *
 *          B0 B1 B2
 *      A0   0  2  5      Else a strip of one operand's panels stays while those of the other pass, and the next strip
 *      A1   1  3  6      comes as the last tiles of this one give up their panels.
 *      A2   4  ...
 *
 * Panels in host memory that several devices read are uploaded once: the devices take turns in that, and the others
 * fetch them from there. */
#include "spread.h"

#include <stdlib.h>
#include <string.h>

#include "first_use.h"
#include "parts.h"

/* Panels are cut at multiples of UNIT, which kernels' tiles divide. So many tiles of C are under way at a time; of an
 * operand that passes so many panels have room, of one whose strips stay so many of the next. */
enum { UNIT = 256, C_SLOTS = 4, PASSING = 3, SPARE = 2, RAW_SLOTS = 2 };

/* Edges of tiles: this many along a long edge of a region, and 4 along a short one. */
enum { LONG_COUNT = 16, SHORT_COUNT = 4, LEAST_LONG = 2048 };

/* Where one operand's panels grow, the first two are this share of the edge, and each other is as long as all before
 * it. */
enum { GROWTH_SHARE = 16 };

static const double worth_flops = 2e9; /* of a product, for a second device to be used */

/* ---- the parts of a call ---- */

typedef struct region {
    int64_t row, col, rows, cols;
} region;

/* How an edge of a region is cut: evenly, or growing: each panel but the first two as long as all before it. */
typedef struct cuts {
    int64_t length, each, count;
    bool grows;
} cuts;

static int64_t cut_at(const cuts *c, int64_t i)
{
    return min_i64(!c->grows || i < 2 ? i * c->each : c->each << (i - 1), c->length);
}
static int64_t cut_length(const cuts *c, int64_t i) { return cut_at(c, i + 1) - cut_at(c, i); }

static int64_t cut_longest(const cuts *c)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < c->count; i++) longest = max_i64(longest, cut_length(c, i));
    return longest;
}

static cuts cut(int64_t length, int64_t each, bool grows)
{
    cuts c = {length, each, 0, grows};
    if (!grows) c.count = ceil_div(length, each);
    while (cut_at(&c, c.count) < length) c.count++;
    return c;
}

/* Room for a panel: what wrote it, how many steps still have to read it, and the last that did: of either lane of
 * tiles, then of those by which other devices fetch. */
typedef struct slot {
    int64_t at, left;
    int32_t writer, reader[2 + MOST_JOINED];
} slot;

/* An operand's panels on a device. A position is one in the order in which they are needed. */
typedef struct side {
    cuts cuts;
    slot *slots;
    int64_t slot_count, positions, loaded;
    int64_t raw_at[RAW_SLOTS], raws; /* panels that are not packed yet */
    int32_t packer[RAW_SLOTS];       /* the step that packs what is there */
} side;

typedef struct tile {
    int64_t panel[2], position[2];
} tile;

typedef struct device {
    region region;
    side side[2];
    tile *tiles;
    int64_t tile_count, next, ahead, c_loaded; /* the next tile, the next whose panels are loaded */
    int64_t c_at[C_SLOTS];
    int32_t c_load[C_SLOTS], c_down[C_SLOTS];
} device;

/* What all devices do alike. */
typedef struct layout {
    int64_t each[2]; /* edge of a tile, along m and n */
    bool grows[2];
    int64_t c_slots;
    int kept; /* the side whose strips stay; NONE: all panels of both do */
    int64_t strip, slots[2];
    double copied; /* elements that go to a device, about */
} layout;

typedef struct spread {
    const spread_machine *machine;
    const spread_matrix *matrices;
    const tw_problem *p;
    const kernel_row *row;
    int64_t bytes[3]; /* of an element */
    bool here[3];     /* each device has all that it needs of the operand in one block */
    layout layout;
    device *devices;
    spread_work *work;
} spread;

enum { NONE = -1 };

/* ---- lists ---- */

static tw_status no_memory(void) { return fail(TW_NO_MEMORY, "no memory for the list of a product's steps"); }

/* Room for one more item behind `count`. */
static void *with_room(void *items, int64_t count, size_t bytes)
{
    if (count > 0 && (count < 64 || (count & (count - 1)) != 0)) return items;
    return realloc(items, (size_t)max_i64(2 * count, 64) * bytes);
}

#define APPEND(list, count, item)                                                                                      \
    do {                                                                                                               \
        void *items_ = with_room(list, count, sizeof *(list));                                                         \
        if (items_ == NULL) return no_memory();                                                                        \
        (list) = items_, (list)[(count)++] = (item);                                                                   \
    } while (0)

void spread_free(spread_work *work)
{
    free(work->plans), free(work->steps), free(work->needs), free(work->copies);
    *work = (spread_work){0};
}

static tw_status add_step(spread *s, spread_step step, int32_t *out)
{
    spread_work *w = s->work;
    if (w->step_count == INT32_MAX) return no_memory();
    step.first_need = w->need_count, step.first_copy = w->copy_count;
    *out = (int32_t)w->step_count;
    APPEND(w->steps, w->step_count, step);
    return TW_OK;
}

/* The newest step waits for another; one of its own lane is before it anyway. */
static tw_status add_need(spread *s, int32_t needed)
{
    spread_work *w = s->work;
    spread_step *newest = &w->steps[w->step_count - 1];
    if (needed == NONE) return TW_OK;
    if (w->steps[needed].device == newest->device && w->steps[needed].lane == newest->lane) return TW_OK;
    APPEND(w->needs, w->need_count, needed);
    newest->needs++;
    return TW_OK;
}

static tw_status add_readers(spread *s, const slot *old)
{
    for (size_t i = 0; i < sizeof old->reader / sizeof *old->reader; i++) TRY(add_need(s, old->reader[i]));
    return TW_OK;
}

/* ---- operands ---- */

/* Do panels lie side by side in the matrix as stored, not one below the other? */
static bool side_by_side(const spread *s, int x) { return op_transposes(x == 0 ? s->p->op_a : s->p->op_b) == (x == 0); }

static region stored_panel(const spread *s, int x, int64_t first, int64_t length)
{
    return side_by_side(s, x) ? (region){0, first, s->p->k, length} : (region){first, 0, length, s->p->k};
}

/* A copy has rows of whole 16 bytes. */
static int64_t copy_ld(const spread *s, int x, int64_t cols) { return round_up(cols, 16 / s->bytes[x]); }

/* What of an operand a region of C needs, as stored. */
static region needed_of(const spread *s, int x, const region *c)
{
    if (x == 2) return *c;
    return x == 0 ? stored_panel(s, 0, c->row, c->rows) : stored_panel(s, 1, c->col, c->cols);
}

static uint64_t address_in(const spread_block *b, int64_t row, int64_t col, int64_t bytes)
{
    return b->address + (uint64_t)(((row - b->row) * b->ld + col - b->col) * bytes);
}

/* The device's own block with all that its region needs of an operand; NULL: there is none. */
static const spread_block *own_block(const spread *s, int x, int on)
{
    const region r = needed_of(s, x, &s->devices[on].region);
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
        const region r = needed_of(s, x, &s->devices[on].region),
                     copy = x < 2 ? stored_panel(s, x, 0, x == 0 ? m : n) : (region){0, 0, m, n};
        const spread_block *own = s->here[x] ? own_block(s, x, on) : NULL;
        *lds[x] = own != NULL ? own->ld : copy_ld(s, x, copy.cols);
        /* of every tile: they begin at multiples of UNIT elements from the first */
        const uint64_t bits = 256 | (own != NULL ? address_in(own, r.row, r.col, s->bytes[x]) : 0);
        *aligns[x] = (uint32_t)(bits & (~bits + 1));
    }
    return p;
}

/* Operands that the plan packs are packed once for each panel, not for each tile. */
static void take_packed(plan *tile)
{
    packing *const packs[2] = {&tile->gpu.pack_a, &tile->gpu.pack_b};
    int64_t *const lds[2] = {&tile->problem.lda, &tile->problem.ldb};
    for (int x = 0; x < 2; x++) {
        if (!packs[x]->needed) continue;
        *lds[x] = packs[x]->ld, tile->workspace_bytes -= (size_t)packs[x]->bytes;
        packs[x]->needed = false, packs[x]->bytes = 0;
    }
}

static bool same_tile(const tw_problem *p, const tw_problem *q)
{
    return p->m == q->m && p->n == q->n && p->lda == q->lda && p->ldb == q->ldb && p->ldc == q->ldc &&
           p->align_a == q->align_a && p->align_b == q->align_b && p->align_c == q->align_c;
}

static tw_status find_plan(spread *s, int on, int64_t m, int64_t n, int *out)
{
    const tw_problem p = tile_problem(s, on, m, n);
    const tw_lab_choice same = {.kernel = s->row->lab.name};
    spread_work *w = s->work;
    for (*out = 0; *out < w->plan_count; ++*out)
        if (same_tile(&w->plans[*out].packs.problem, &p)) return TW_OK;
    spread_plan made;
    TRY(plan_find(&p, s->machine->facts, &same, &made.packs));
    made.tile = made.packs;
    take_packed(&made.tile);
    APPEND(w->plans, w->plan_count, made);
    return TW_OK;
}

static packing packing_of(const spread *s, int x, int on, int64_t length)
{
    const tw_problem p = tile_problem(s, on, x == 0 ? length : UNIT, x == 1 ? length : UNIT);
    return x == 0 ? kernel_packing_a(s->row, &p) : kernel_packing_b(s->row, &p);
}

/* Does the operand get panels of its own on a device? */
static bool has_panels(const spread *s, int x, int on) { return !s->here[x] || packing_of(s, x, on, UNIT).needed; }

/* Bytes of a panel as it is uploaded; raw: only where it is then packed. */
static int64_t panel_bytes(const spread *s, int x, int on, int64_t length, bool raw)
{
    const packing packs = packing_of(s, x, on, length);
    const region r = stored_panel(s, x, 0, length);
    const int64_t stored = round_up(r.rows * copy_ld(s, x, r.cols) * s->bytes[x], 256);
    if (raw) return packs.needed && !s->here[x] ? stored : 0;
    return packs.needed ? packs.bytes : s->here[x] ? 0 : stored;
}

/* ---- layout ---- */

static cuts cuts_of(const layout *l, int x, const region *r)
{
    return cut(x == 0 ? r->rows : r->cols, l->each[x], l->grows[x]);
}

/* Bytes of the largest tile of C, where it does not stay where it lies. */
static int64_t c_bytes(const spread *s, const layout *l, const region *r)
{
    const cuts rows = cuts_of(l, 0, r), cols = cuts_of(l, 1, r);
    return s->here[2] ? 0 : round_up(cut_longest(&rows) * copy_ld(s, 2, cut_longest(&cols)) * s->bytes[2], 256);
}

/* The index after i of those whose lengths may be another one's: all that grow, else the first and the last. */
static int64_t next_length(const cuts *c, int64_t i) { return c->grows || i > 0 ? i + 1 : max_i64(c->count - 1, 1); }

/* The largest workspace of a device's tiles. */
static tw_status find_workspace(spread *s, int on, const layout *l, int64_t *bytes)
{
    const cuts rows = cuts_of(l, 0, &s->devices[on].region), cols = cuts_of(l, 1, &s->devices[on].region);
    *bytes = 0;
    for (int64_t i = 0; i < rows.count; i = next_length(&rows, i))
        for (int64_t j = 0; j < cols.count; j = next_length(&cols, j)) {
            int plan;
            TRY(find_plan(s, on, cut_length(&rows, i), cut_length(&cols, j), &plan));
            *bytes = max_i64(*bytes, (int64_t)s->work->plans[plan].tile.workspace_bytes);
        }
    *bytes = round_up(*bytes, 256);
    return TW_OK;
}

/* What a layout needs of the devices, each of the least or the largest of them. */
typedef struct needs {
    int64_t room; /* for panels */
    int64_t bytes[2], counts[2];
    bool resident; /* all panels fit on each */
} needs;

static tw_status find_needs(spread *s, const layout *l, needs *out)
{
    *out = (needs){.room = INT64_MAX, .resident = true};
    for (int on = 0; on < s->work->devices; on++) {
        const region *r = &s->devices[on].region;
        int64_t room, all = 0;
        if (r->rows == 0) continue;
        TRY(find_workspace(s, on, l, &room));
        room = s->machine->room[on] - 2 * room - l->c_slots * c_bytes(s, l, r);
        for (int x = 0; x < 2; x++) {
            const cuts c = cuts_of(l, x, r);
            for (int64_t i = 0; i < c.count; i++) {
                const int64_t bytes = panel_bytes(s, x, on, cut_length(&c, i), false);
                all += bytes, out->bytes[x] = max_i64(out->bytes[x], bytes);
            }
            room -= RAW_SLOTS * panel_bytes(s, x, on, cut_longest(&c), true);
            out->counts[x] = max_i64(out->counts[x], c.count);
        }
        out->room = min_i64(out->room, room);
        out->resident = out->resident && all <= room;
    }
    return TW_OK;
}

/* Strips of the kept side that fit beside some panels of the other. False: none does. */
static bool choose_strip(const spread *s, const needs *n, int kept, layout *l)
{
    const int passes = 1 - kept;
    const int64_t lengths[2] = {s->p->m, s->p->n};
    int64_t passing = min_i64(PASSING, n->counts[passes]);
    if (n->room < passing * n->bytes[passes] + n->bytes[kept]) passing = 1;
    const int64_t left = n->room - passing * n->bytes[passes];
    if (left < n->bytes[kept] || left < 0) return false;
    const int64_t slots = min_i64(left / max_i64(n->bytes[kept], 1), n->counts[kept]);
    l->kept = kept, l->slots[kept] = slots, l->slots[passes] = passing;
    l->strip = slots == n->counts[kept] ? slots : slots - min_i64(SPARE, slots / 4);
    const int64_t strips = ceil_div(n->counts[kept], l->strip);
    l->copied = (double)lengths[kept] + (double)(strips * lengths[passes]);
    return true;
}

/* The edge of tiles along the longest region. */
static int64_t edge_of(int64_t length)
{
    const int64_t edge = max_i64(ceil_div(length, LONG_COUNT), min_i64(ceil_div(length, SHORT_COUNT), LEAST_LONG));
    return round_up(edge, UNIT);
}

/* Halves the tiles' edges, once growing ones have got others. False: they are the least. */
static bool make_smaller(const spread *s, const int64_t longest[2], layout *l)
{
    bool smaller = false;
    for (int x = 0; x < 2; x++) {
        const int64_t before = l->each[x];
        if (l->grows[x])
            l->each[x] = edge_of(longest[x]);
        else if (!s->here[x])
            l->each[x] = round_up(max_i64(before / 2, 1), UNIT);
        smaller = smaller || l->grows[x] || l->each[x] < before;
        l->grows[x] = false;
    }
    return smaller;
}

/* Panels that all stay, of the largest tiles with which they do. Else strips of which about the least is copied, of
 * tiles as large as that allows. False: not even the smallest fit. */
static tw_status search_layout(spread *s, const int64_t longest[2], int64_t c_slots, bool *found)
{
    layout l = {.kept = NONE, .c_slots = c_slots};
    *found = false;
    for (int x = 0; x < 2; x++) {
        l.grows[x] = !s->here[x] && s->here[1 - x];
        l.each[x] = s->here[x] ? longest[x] : edge_of(longest[x]);
        if (l.grows[x]) l.each[x] = round_up(ceil_div(longest[x], GROWTH_SHARE), UNIT);
    }
    do {
        needs n;
        s->work->plan_count = 0;
        TRY(find_needs(s, &l, &n));
        if (n.resident) {
            s->layout = l, *found = true;
            return TW_OK;
        }
        for (int kept = 0; kept < 2; kept++) {
            layout strips = l;
            if (l.grows[0] || l.grows[1] || !choose_strip(s, &n, kept, &strips)) continue;
            if (!*found || strips.copied < 0.8 * s->layout.copied) s->layout = strips, *found = true;
        }
    } while (make_smaller(s, longest, &l));
    return TW_OK;
}

static tw_status choose_layout(spread *s)
{
    int64_t longest[2] = {0, 0};
    bool found = false;
    needs n;
    for (int on = 0; on < s->work->devices; on++) {
        const region *r = &s->devices[on].region;
        longest[0] = max_i64(longest[0], r->rows), longest[1] = max_i64(longest[1], r->cols);
    }
    for (int64_t c_slots = C_SLOTS; c_slots > 0 && !found; c_slots /= 2)
        TRY(search_layout(s, longest, c_slots, &found));
    if (!found)
        return fail(TW_NO_MEMORY,
                    "no device memory for panels of %d rows and columns over a k of %lld: %lld bytes may be used", UNIT,
                    (long long)s->p->k, (long long)s->machine->room[0]);
    s->work->plan_count = 0; /* those of other layouts */
    return find_needs(s, &s->layout, &n);
}

/* ---- regions ---- */

/* A grid of at most so many regions of whole units, the largest as small as can be, and then with the least to read. */
static void choose_grid(int64_t m, int64_t n, int devices, int64_t *rows, int64_t *cols)
{
    double least = 0, least_read = 0;
    for (int down = devices; down >= 1; down--) {
        const int64_t r = min_i64(round_up(ceil_div(m, down), UNIT), m),
                      c = min_i64(round_up(ceil_div(n, devices / down), UNIT), n);
        const double area = (double)r * (double)c, read = (double)r + (double)c;
        if (least > 0 && (area > least || (area == least && read >= least_read))) continue;
        least = area, least_read = read, *rows = r, *cols = c;
    }
}

static void make_regions(spread *s)
{
    int64_t rows = s->p->m, cols = s->p->n;
    int on = 0;
    if (s->matrices[2].blocks[0].device != HOST_MEMORY) {
        for (int64_t i = 0; i < s->matrices[2].count; i++) {
            const spread_block *b = &s->matrices[2].blocks[i];
            s->devices[b->device].region = (region){b->row, b->col, b->rows, b->cols};
        }
        return;
    }
    choose_grid(s->p->m, s->p->n, s->work->devices, &rows, &cols);
    for (int64_t i = 0; i < s->p->m; i += rows)
        for (int64_t j = 0; j < s->p->n; j += cols)
            s->devices[on++].region = (region){i, j, min_i64(rows, s->p->m - i), min_i64(cols, s->p->n - j)};
}

/* Is the operand, for every device that computes, in one block of its own? */
static bool all_here(const spread *s, int x)
{
    for (int on = 0; on < s->work->devices; on++)
        if (s->devices[on].region.rows > 0 && own_block(s, x, on) == NULL) return false;
    return true;
}

/* ---- a device's tiles and panels ---- */

static tw_status list_tile(device *d, int64_t i, int64_t j, int64_t a, int64_t b)
{
    APPEND(d->tiles, d->tile_count, ((tile){{i, j}, {a, b}}));
    return TW_OK;
}

/* From the corner on: what the panels so far make. */
static tw_status list_growing(device *d)
{
    const int64_t rows = d->side[0].cuts.count, cols = d->side[1].cuts.count;
    for (int64_t at = 0; at < max_i64(rows, cols); at++) {
        for (int64_t j = 0; at < rows && j < min_i64(at, cols); j++) TRY(list_tile(d, at, j, at, j));
        for (int64_t i = 0; at < cols && i < min_i64(at + 1, rows); i++) TRY(list_tile(d, i, at, i, at));
    }
    return TW_OK;
}

static tw_status list_strips(device *d, const layout *l)
{
    const int64_t kept = d->side[l->kept].cuts.count, passing = d->side[1 - l->kept].cuts.count;
    for (int64_t first = 0, at = 0; first < kept; first += l->strip)
        for (int64_t i = 0; i < passing; i++, at++)
            for (int64_t j = first; j < min_i64(first + l->strip, kept); j++)
                TRY(l->kept == 1 ? list_tile(d, i, j, at, j) : list_tile(d, j, i, j, at));
    return TW_OK;
}

static int64_t panel_at(const spread *s, const device *d, int x, int64_t position)
{
    return s->layout.kept == NONE || s->layout.kept == x ? position : position % d->side[x].cuts.count;
}

/* Tiles that read what is loaded at a position. */
static int64_t uses_at(const spread *s, const device *d, int x, int64_t position)
{
    const int64_t others = d->side[1 - x].cuts.count, strip = s->layout.strip;
    if (s->layout.kept == NONE || s->layout.kept == x) return others;
    return min_i64(strip, others - position / d->side[x].cuts.count * strip);
}

static int64_t take_bytes(spread *s, int on, int64_t bytes)
{
    const int64_t at = s->work->bytes[on];
    s->work->bytes[on] += round_up(bytes, 256);
    return at;
}

/* Of a side's panels, which have their copies on the device: how many there are room for, and where. */
static tw_status make_side(spread *s, int on, int x)
{
    device *d = &s->devices[on];
    side *o = &d->side[x];
    const layout *l = &s->layout;
    const bool stay = l->kept == NONE;
    o->slot_count = has_panels(s, x, on) ? (stay ? o->cuts.count : l->slots[x]) : 0;
    o->positions = stay || l->kept == x ? o->cuts.count : o->cuts.count * ceil_div(d->side[1 - x].cuts.count, l->strip);
    if (o->slot_count == 0) return TW_OK;
    o->slots = calloc((size_t)o->slot_count, sizeof *o->slots);
    if (o->slots == NULL) return no_memory();
    for (int64_t i = 0; i < o->slot_count; i++) {
        o->slots[i].at = take_bytes(s, on, panel_bytes(s, x, on, cut_length(&o->cuts, stay ? i : 0), false));
        o->slots[i].writer = NONE;
        memset(o->slots[i].reader, NONE, sizeof o->slots[i].reader);
    }
    for (int i = 0; i < RAW_SLOTS; i++) {
        o->raw_at[i] = take_bytes(s, on, panel_bytes(s, x, on, cut_longest(&o->cuts), true));
        o->packer[i] = NONE;
    }
    return TW_OK;
}

static tw_status make_device(spread *s, int on)
{
    device *d = &s->devices[on];
    int64_t workspace;
    for (int x = 0; x < 2; x++) d->side[x].cuts = cuts_of(&s->layout, x, &d->region);
    for (int x = 0; x < 2; x++) TRY(make_side(s, on, x));
    TRY(find_workspace(s, on, &s->layout, &workspace));
    for (int i = 0; i < 2; i++) s->work->workspace[on][i] = take_bytes(s, on, workspace);
    for (int64_t i = 0; i < s->layout.c_slots; i++) {
        d->c_at[i] = take_bytes(s, on, c_bytes(s, &s->layout, &d->region));
        d->c_load[i] = d->c_down[i] = NONE;
    }
    return s->layout.kept == NONE ? list_growing(d) : list_strips(d, &s->layout);
}

/* ---- steps ---- */

/* Copies between a rectangle of a matrix and rows `pitch` bytes apart on a device: from each block its part, from the
 * next device's on, so that not all devices read one of them at a time. */
static tw_status add_copies(spread *s, int x, const region *r, spread_at at, int64_t ld)
{
    spread_work *w = s->work;
    const spread_matrix *m = &s->matrices[x];
    const int on = w->steps[w->step_count - 1].device;
    for (int64_t q = 0; q < m->count; q++) {
        const spread_block *b = &m->blocks[(on + 1 + q) % m->count];
        const int64_t row = max_i64(r->row, b->row), col = max_i64(r->col, b->col),
                      rows = min_i64(r->row + r->rows, b->row + b->rows) - row,
                      cols = min_i64(r->col + r->cols, b->col + b->cols) - col, bytes = s->bytes[x];
        if (rows <= 0 || cols <= 0) continue;
        const spread_copy part = {.operand = x,
                                  .caller_device = b->device,
                                  .caller = address_in(b, row, col, bytes),
                                  .caller_pitch = (size_t)(b->ld * bytes),
                                  .pitch = (size_t)(ld * bytes),
                                  .width = (size_t)(cols * bytes),
                                  .rows = rows,
                                  .at = {.offset = at.offset + ((row - r->row) * ld + col - r->col) * bytes}};
        APPEND(w->copies, w->copy_count, part);
        w->steps[w->step_count - 1].copies++;
    }
    return TW_OK;
}

static spread_lane lane_from(const spread *s, int x)
{
    for (int64_t i = 0; i < s->matrices[x].count; i++)
        if (s->matrices[x].blocks[i].device == HOST_MEMORY) return LANE_UP;
    return LANE_PEER;
}

/* Of the devices that read the same panels of host memory, the one that uploads what is at a position. */
static int uploader(const spread *s, int on, int x, int64_t position, int *readers)
{
    int members[MOST_JOINED];
    const region *r = &s->devices[on].region;
    *readers = 0;
    if (!s->machine->peers || lane_from(s, x) != LANE_UP) return *readers = 1, on;
    for (int i = 0; i < s->work->devices; i++) {
        const device *d = &s->devices[i];
        const bool same = x == 0 ? d->region.row == r->row && d->region.rows == r->rows
                                 : d->region.col == r->col && d->region.cols == r->cols;
        if (d->region.rows > 0 && same && d->side[x].positions > position) members[(*readers)++] = i;
    }
    return members[position % *readers];
}

static int64_t lane_reader(int device) { return 2 + device; }

/* Uploads, and packs, the panel at a position. */
static tw_status upload_panel(spread *s, int on, int x, int64_t position, slot *to)
{
    device *d = &s->devices[on];
    side *o = &d->side[x];
    const int64_t panel = panel_at(s, d, x, position), length = cut_length(&o->cuts, panel),
                  first = cut_at(&o->cuts, panel) + (x == 0 ? d->region.row : d->region.col);
    const region r = stored_panel(s, x, first, length);
    const bool packs = packing_of(s, x, on, length).needed;
    const int raw = (int)(o->raws % RAW_SLOTS);
    spread_step load = {.kind = SPREAD_UPLOAD, .lane = lane_from(s, x), .device = on},
                pack = {.kind = SPREAD_PACK, .lane = LANE_PACK, .device = on, .operand = x, .c = {.offset = to->at}};
    if (s->here[x]) {
        const spread_block *own = own_block(s, x, on);
        pack.a.address = address_in(own, r.row, r.col, s->bytes[x]);
    } else {
        const spread_at at = {.offset = packs ? o->raw_at[raw] : to->at};
        TRY(add_step(s, load, &to->writer));
        TRY(packs ? add_need(s, o->packer[raw]) : add_readers(s, to));
        TRY(add_copies(s, x, &r, at, copy_ld(s, x, r.cols)));
        pack.a = at;
    }
    if (!packs) return TW_OK;
    const int32_t loaded = s->here[x] ? NONE : to->writer;
    TRY(find_plan(s, on, x == 0 ? length : cut_length(&d->side[0].cuts, 0),
                  x == 1 ? length : cut_length(&d->side[1].cuts, 0), &pack.plan));
    TRY(add_step(s, pack, &to->writer));
    TRY(add_need(s, loaded));
    TRY(add_readers(s, to));
    o->packer[raw] = to->writer, o->raws++;
    return TW_OK;
}

/* The next panel of a side, once its slot's last one is read and, where another device uploads it, that has begun. */
static tw_status load_panel(spread *s, int on, int x, bool *done)
{
    device *d = &s->devices[on];
    side *o = &d->side[x];
    const int64_t position = o->loaded;
    slot *to = &o->slots[position % o->slot_count];
    int readers;
    const int from = uploader(s, on, x, position, &readers);
    side *other = &s->devices[from].side[x];
    *done = to->left == 0 && (from == on || other->loaded > position);
    if (!*done) return TW_OK;
    if (from == on) {
        TRY(upload_panel(s, on, x, position, to));
    } else {
        slot *there = &other->slots[position % other->slot_count];
        const spread_step fetch = {
            .kind = SPREAD_FETCH,
            .lane = LANE_PEER,
            .device = on,
            .other_device = from,
            .a = {.offset = there->at},
            .c = {.offset = to->at},
            .bytes = panel_bytes(s, x, on, cut_length(&o->cuts, panel_at(s, d, x, position)), false)};
        TRY(add_step(s, fetch, &to->writer));
        TRY(add_need(s, there->writer));
        TRY(add_readers(s, to));
        there->left--, there->reader[lane_reader(on)] = to->writer;
    }
    memset(to->reader, NONE, sizeof to->reader);
    to->left = uses_at(s, d, x, position) + (from == on ? readers - 1 : 0);
    o->loaded++;
    return TW_OK;
}

static int64_t tile_rows(const device *d, const tile *t) { return cut_length(&d->side[0].cuts, t->panel[0]); }
static int64_t tile_cols(const device *d, const tile *t) { return cut_length(&d->side[1].cuts, t->panel[1]); }

/* A tile's rectangle of C. */
static region tile_region(const device *d, const tile *t)
{
    return (region){d->region.row + cut_at(&d->side[0].cuts, t->panel[0]),
                    d->region.col + cut_at(&d->side[1].cuts, t->panel[1]), tile_rows(d, t), tile_cols(d, t)};
}

/* Moves a tile of C up or down; `needed` before it. */
static tw_status move_c(spread *s, int on, int64_t index, bool up, int32_t needed, int32_t *out)
{
    device *d = &s->devices[on];
    const region r = tile_region(d, &d->tiles[index]);
    const spread_step step = {
        .kind = up ? SPREAD_UPLOAD : SPREAD_DOWNLOAD, .lane = up ? LANE_UP : LANE_DOWN, .device = on};
    TRY(add_step(s, step, out));
    TRY(add_need(s, needed));
    return add_copies(s, 2, &r, (spread_at){.offset = d->c_at[index % s->layout.c_slots]}, copy_ld(s, 2, r.cols));
}

/* Loads ahead what tiles need, in their order, until there is no room. */
static tw_status load_ahead(spread *s, int on)
{
    device *d = &s->devices[on];
    for (; d->ahead < d->tile_count; d->ahead++) {
        for (int x = 0; x < 2; x++)
            while (d->side[x].slot_count > 0 && d->side[x].loaded <= d->tiles[d->ahead].position[x]) {
                bool done;
                TRY(load_panel(s, on, x, &done));
                if (!done) return TW_OK;
            }
        if (!s->work->reads_c || s->here[2]) continue;
        const int64_t c = d->ahead % s->layout.c_slots;
        if (d->next + s->layout.c_slots <= d->ahead) return TW_OK;
        TRY(move_c(s, on, d->ahead, true, d->c_down[c], &d->c_load[c]));
    }
    return TW_OK;
}

static spread_at operand_at(const spread *s, int on, int x, const tile *t)
{
    const device *d = &s->devices[on];
    const side *o = &d->side[x];
    if (o->slot_count > 0) return (spread_at){.offset = o->slots[t->position[x] % o->slot_count].at};
    const region r = stored_panel(s, x, cut_at(&o->cuts, t->panel[x]) + (x == 0 ? d->region.row : d->region.col), 1);
    return (spread_at){.address = address_in(own_block(s, x, on), r.row, r.col, s->bytes[x])};
}

/* The next tile, if what it needs was loaded, and its way down. */
static tw_status add_tile(spread *s, int on, bool *progress)
{
    device *d = &s->devices[on];
    const int64_t index = d->next, c = index % s->layout.c_slots;
    if (index == d->tile_count || d->ahead <= index) return TW_OK;
    const tile *t = &d->tiles[index];
    const region r = tile_region(d, t);
    spread_step step = {.kind = SPREAD_TILE,
                        .lane = index % 2 == 0 ? LANE_TILE : LANE_TILE_2,
                        .device = on,
                        .a = operand_at(s, on, 0, t),
                        .b = operand_at(s, on, 1, t),
                        .c = {.offset = d->c_at[c]}};
    int32_t made;
    if (s->here[2]) step.c.address = address_in(own_block(s, 2, on), r.row, r.col, s->bytes[2]);
    TRY(find_plan(s, on, r.rows, r.cols, &step.plan));
    TRY(add_step(s, step, &made));
    for (int x = 0; x < 2; x++) {
        if (d->side[x].slot_count == 0) continue;
        slot *from = &d->side[x].slots[t->position[x] % d->side[x].slot_count];
        TRY(add_need(s, from->writer));
        from->left--, from->reader[step.lane - LANE_TILE] = made;
    }
    if (!s->here[2]) {
        TRY(add_need(s, s->work->reads_c ? d->c_load[c] : d->c_down[c]));
        TRY(move_c(s, on, index, false, made, &d->c_down[c]));
    }
    d->next++, *progress = true;
    return TW_OK;
}

/* Devices take turns, so that the steps stand about in the order in which they are carried out. */
static tw_status list_steps(spread *s)
{
    for (bool progress = true; progress;) {
        progress = false;
        for (int on = 0; on < s->work->devices; on++) TRY(load_ahead(s, on));
        for (int on = 0; on < s->work->devices; on++) TRY(add_tile(s, on, &progress));
    }
    for (int on = 0; on < s->work->devices; on++)
        if (s->devices[on].next < s->devices[on].tile_count)
            return fail(TW_NO_MEMORY, "the panels of a product over %d devices wait for each other", s->work->devices);
    return TW_OK;
}

/* ---- */

static tw_status make(spread *s)
{
    make_regions(s);
    for (int x = 0; x < 3; x++) s->here[x] = all_here(s, x);
    TRY(choose_layout(s));
    for (int on = 0; on < s->work->devices; on++)
        if (s->devices[on].region.rows > 0) TRY(make_device(s, on));
    return list_steps(s);
}

tw_status spread_make(const spread_machine *machine, const tw_problem *p, const spread_matrix matrices[3],
                      spread_work *out)
{
    const tw_dtype dtypes[3] = {p->dtype, p->dtype_b, p->dtype_c};
    device devices[MOST_JOINED] = {{.tiles = NULL}};
    spread s = {.machine = machine, .matrices = matrices, .p = p, .devices = devices, .work = out};
    tw_problem one = *p;
    plan whole;
    *out = (spread_work){.devices = machine->devices, .reads_c = problem_reads_c(p)};
    for (int x = 0; x < 3; x++) s.bytes[x] = dtype_find(dtypes[x])->lab.bytes;
    one.lda = copy_ld(&s, 0, problem_a_cols(p)), one.ldb = copy_ld(&s, 1, problem_b_cols(p));
    one.ldc = copy_ld(&s, 2, p->n), one.align_a = one.align_b = one.align_c = 256;
    tw_status status = plan_find(&one, machine->facts, NULL, &whole);
    s.row = whole.row;
    if (status == TW_OK) status = make(&s);
    for (int on = 0; on < MOST_JOINED; on++) {
        free(devices[on].tiles);
        for (int x = 0; x < 2; x++) free(devices[on].side[x].slots);
    }
    if (status != TW_OK) spread_free(out);
    return status;
}

/* ---- host operands ---- */

bool spread_pays(const tw_context *context, const tw_problem *p)
{
    return context->device_count > 1 && p->place_c == TW_HOST && p->k > 0 &&
           2.0 * (double)p->m * (double)p->n * (double)p->k >= worth_flops;
}

static spread_block whole_block(const void *matrix, int64_t rows, int64_t cols, int64_t ld)
{
    return (spread_block){HOST_MEMORY, 0, 0, rows, cols, ld, (uint64_t)(uintptr_t)matrix};
}

tw_status spread_run(tw_context *context, const tw_problem *host, const void *a, const void *b, void *c)
{
    const spread_block blocks[3] = {whole_block(a, problem_a_rows(host), problem_a_cols(host), host->lda),
                                    whole_block(b, problem_b_rows(host), problem_b_cols(host), host->ldb),
                                    whole_block(c, host->m, host->n, host->ldc)};
    return spread_blocks(context, host, (const spread_matrix[]){{&blocks[0], 1}, {&blocks[1], 1}, {&blocks[2], 1}});
}

/* Memory that others take meanwhile: smaller panels may still fit. */
tw_status spread_blocks(tw_context *context, const tw_problem *p, const spread_matrix matrices[3])
{
    enum { TRIES = 4 };
    spread_machine machine = {.facts = &context->facts, .devices = context->device_count, .peers = context->peers};
    tw_status status = TW_NO_MEMORY;
    for (int on = 0; on < machine.devices; on++)
        TRY(parts_room(context, context->devices[on], INT64_MAX, &machine.room[on]));
    for (int tries = 0; status == TW_NO_MEMORY && tries < TRIES; tries++) {
        spread_work work;
        TRY(spread_make(&machine, p, matrices, &work));
        status = context->ops->spread(context->devices, &work);
        spread_free(&work);
        for (int on = 0; on < machine.devices; on++) machine.room[on] /= 2;
    }
    return status;
}
