/* spread_layout.c - how large a device's tiles are, which panels stay on it, and where each has room.
 *
 * Where all panels of a region have room they stay, and tiles grow from a corner, so that the first need little:
 *
 *          B0 B1 B2
 *      A0   0  2  5      Else a strip of one operand's panels stays while those of the other pass, and the next strip
 *      A1   1  3  6      comes as the last tiles of this one give up their panels.
 *      A2   4  ...
 */
#include "spread_list.h"

#include <stdlib.h>
#include <string.h>

/* Of an operand that passes so many panels have room, of one whose strips stay so many of the next. */
enum { PASSING = 3, SPARE = 2 };

/* Edges of tiles: this many along a long edge of a region, and 4 along a short one. */
enum { LONG_COUNT = 16, SHORT_COUNT = 4, LEAST_LONG = 2048 };

/* Where one operand's panels grow, the first two are this share of the edge, and each other is as long as all before
 * it. */
enum { GROWTH_SHARE = 16 };

static cuts cut(int64_t length, int64_t each, bool grows)
{
    cuts c = {length, each, 0, grows};
    if (!grows) c.count = ceil_div(length, each);
    while (cut_at(&c, c.count) < length) c.count++;
    return c;
}

static cuts cuts_of(const layout *l, int x, const region *r)
{
    return cut(x == 0 ? r->rows : r->cols, l->each[x], l->grows[x]);
}

/* Bytes of the largest tile of C, where it does not stay where it lies. */
static int64_t c_bytes(const spread *s, const layout *l, const region *r)
{
    const cuts rows = cuts_of(l, 0, r), cols = cuts_of(l, 1, r);
    return s->here[2] ? 0 : round_up(cut_longest(&rows) * spread_copy_ld(s, 2, cut_longest(&cols)) * s->bytes[2], 256);
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
            TRY(spread_find_plan(s, on, cut_length(&rows, i), cut_length(&cols, j), &plan));
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
                const int64_t bytes = spread_panel_bytes(s, x, on, cut_length(&c, i), false);
                all += bytes, out->bytes[x] = max_i64(out->bytes[x], bytes);
            }
            room -= RAW_SLOTS * spread_panel_bytes(s, x, on, cut_longest(&c), true);
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

tw_status spread_choose_layout(spread *s)
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

/* Of a side's panels, which have their copies on the device: how many there are room for, and where. */
static tw_status make_side(spread *s, int on, int x)
{
    device *d = &s->devices[on];
    side *o = &d->side[x];
    const layout *l = &s->layout;
    const bool stay = l->kept == NONE;
    o->slot_count = spread_has_panels(s, x, on) ? (stay ? o->cuts.count : l->slots[x]) : 0;
    o->positions = stay || l->kept == x ? o->cuts.count : o->cuts.count * ceil_div(d->side[1 - x].cuts.count, l->strip);
    if (o->slot_count == 0) return TW_OK;
    o->slots = calloc((size_t)o->slot_count, sizeof *o->slots);
    if (o->slots == NULL) return spread_no_memory();
    for (int64_t i = 0; i < o->slot_count; i++) {
        o->slots[i].at = spread_take_bytes(s->work, on,
                                           spread_panel_bytes(s, x, on, cut_length(&o->cuts, stay ? i : 0), false));
        o->slots[i].writer = NONE;
        memset(o->slots[i].reader, NONE, sizeof o->slots[i].reader);
    }
    for (int i = 0; i < RAW_SLOTS; i++) {
        o->raw_at[i] = spread_take_bytes(s->work, on, spread_panel_bytes(s, x, on, cut_longest(&o->cuts), true));
        o->packer[i] = NONE;
    }
    return TW_OK;
}

tw_status spread_make_device(spread *s, int on)
{
    device *d = &s->devices[on];
    int64_t workspace;
    for (int x = 0; x < 2; x++) d->side[x].cuts = cuts_of(&s->layout, x, &d->region);
    for (int x = 0; x < 2; x++) TRY(make_side(s, on, x));
    TRY(find_workspace(s, on, &s->layout, &workspace));
    for (int i = 0; i < 2; i++) s->work->workspace[on][i] = spread_take_bytes(s->work, on, workspace);
    for (int64_t i = 0; i < s->layout.c_slots; i++) {
        d->c_at[i] = spread_take_bytes(s->work, on, c_bytes(s, &s->layout, &d->region));
        d->c_load[i] = d->c_down[i] = NONE;
    }
    return s->layout.kept == NONE ? list_growing(d) : list_strips(d, &s->layout);
}
