/* spread_steps.c - lists the steps of a divided product, each with those that it waits for: panels are loaded ahead of
 * the tiles that need them.
 *
 * Panels in host memory that several devices read are uploaded once: the devices take turns in that, and the others
 * fetch them from there. */
#include "spread_list.h"

#include <string.h>

static tw_status add_step(spread *s, spread_step step, int32_t *out)
{
    spread_work *w = s->work;
    if (w->step_count == INT32_MAX) return spread_no_memory();
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

/* ---- panels ---- */

/* The panel that is the one at a position. */
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
                                  .caller = spread_address(b, row, col, bytes),
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
    const region r = spread_stored_panel(s, x, first, length);
    const bool packs = spread_packing(s, x, on, length).needed;
    const int raw = (int)(o->raws % RAW_SLOTS);
    spread_step load = {.kind = SPREAD_UPLOAD, .lane = lane_from(s, x), .device = on},
                pack = {.kind = SPREAD_PACK, .lane = LANE_PACK, .device = on, .operand = x, .c = {.offset = to->at}};
    if (s->here[x]) {
        const spread_block *own = spread_own_block(s, x, on);
        pack.a.address = spread_address(own, r.row, r.col, s->bytes[x]);
    } else {
        const spread_at at = {.offset = packs ? o->raw_at[raw] : to->at};
        TRY(add_step(s, load, &to->writer));
        TRY(packs ? add_need(s, o->packer[raw]) : add_readers(s, to));
        TRY(add_copies(s, x, &r, at, spread_copy_ld(s, x, r.cols)));
        pack.a = at;
    }
    if (!packs) return TW_OK;
    const int32_t loaded = s->here[x] ? NONE : to->writer;
    TRY(spread_find_plan(s, on, x == 0 ? length : cut_length(&d->side[0].cuts, 0),
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
            .bytes = spread_panel_bytes(s, x, on, cut_length(&o->cuts, panel_at(s, d, x, position)), false)};
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
    return add_copies(s, 2, &r, (spread_at){.offset = d->c_at[index % s->layout.c_slots]},
                      spread_copy_ld(s, 2, r.cols));
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
    const region r = spread_stored_panel(s, x, cut_at(&o->cuts, t->panel[x]) + (x == 0 ? d->region.row : d->region.col),
                                         1);
    return (spread_at){.address = spread_address(spread_own_block(s, x, on), r.row, r.col, s->bytes[x])};
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
    int32_t made = NONE;
    if (s->here[2]) step.c.address = spread_address(spread_own_block(s, 2, on), r.row, r.col, s->bytes[2]);
    TRY(spread_find_plan(s, on, r.rows, r.cols, &step.plan));
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
tw_status spread_list_steps(spread *s)
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
