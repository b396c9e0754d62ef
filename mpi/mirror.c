/* mirror.c - see mirror.h. Whatever is waited for here, MPI is polled meanwhile. */
#include "mirror.h"

#include <math.h>
#include <stdlib.h>

enum {
    ROW_BYTES = 256,       /* rows begin at multiples of it: TMA takes them */
    LEAST_GROUP = 2048,    /* rows of A or columns of B, for a product that fills a device */
    POLL_BYTES = 64 << 20, /* that threads copy between two polls */
};

static tw_status told(const tw_mpi_plan *plan, tw_status status)
{
    return status == TW_OK ? TW_OK : failure(status, "%.900s", plan->engine.error());
}

/* ---- where pieces lie ----
 *
 * Pieces of rows lie below each other. Pieces of columns lie group by group, each group a matrix of its own: its rows
 * begin at multiples of ROW_BYTES too. */

static int64_t padded(int64_t length, int64_t bytes)
{
    const int64_t step = ROW_BYTES / bytes;
    return (length + step - 1) / step * step;
}

typedef struct group {
    int64_t begin, length;
    int64_t before; /* padded lengths of the groups before it */
} group;

/* The group of a piece; of the number of all pieces an empty one behind the last. */
static group group_of(const side *s, int piece)
{
    group g = {0};
    for (int i = 0; i <= piece && i < s->peers; i++) {
        const grid_part part = grid_divide(s->length, s->peers, i);
        if (i % s->group == 0) g.before += padded(g.length, s->bytes), g.begin = part.begin, g.length = 0;
        g.length += part.length;
    }
    const int end = (piece / s->group + 1) * s->group;
    for (int i = piece + 1; i < end && i < s->peers; i++) g.length += grid_divide(s->length, s->peers, i).length;
    if (piece == s->peers) g.before += padded(g.length, s->bytes), g.begin += g.length, g.length = 0;
    return g;
}

block mirror_block(const side *s, int number, int64_t depth, int first, int end)
{
    const group g = group_of(s, first);
    const grid_part from = grid_divide(s->length, s->peers, first), last = grid_divide(s->length, s->peers, end - 1);
    const int64_t length = last.begin + last.length - from.begin;
    block b = {.rows = s->along_rows ? length : depth, .cols = s->along_rows ? depth : length, .bytes = s->bytes};
    b.ld = padded(s->along_rows ? depth : g.length, s->bytes);
    b.data = s->mirror[number % 2] +
             (s->along_rows ? from.begin * b.ld : g.before * depth + from.begin - g.begin) * s->bytes;
    return b;
}

static double mirror_bytes(const side *s, int64_t depth)
{
    const int64_t rows = s->along_rows ? s->length : depth,
                  ld = s->along_rows ? padded(depth, s->bytes) : group_of(s, s->peers).before;
    return (double)rows * (double)ld * (double)s->bytes;
}

/* A piece as NCCL moves it, one row behind the other: as in the mirror of a group that is this piece. */
static block packed_piece(const side *s, int64_t depth, int piece, char *data)
{
    const int64_t length = grid_divide(s->length, s->peers, piece).length;
    return (block){.data = data,
                   .rows = s->along_rows ? length : depth,
                   .cols = s->along_rows ? depth : length,
                   .ld = padded(s->along_rows ? depth : length, s->bytes),
                   .bytes = s->bytes};
}

int64_t mirror_bytes_of(const block *b) { return b->cols == 0 ? 0 : b->rows * b->ld * b->bytes; }

block mirror_arrival(const side *s, int number, int64_t depth, int piece)
{
    if (piece == s->me) return packed_piece(s, depth, piece, s->own_sent[number % 2]);
    if (s->straight) return mirror_block(s, number, depth, piece, piece + 1);
    const block longest = packed_piece(s, depth, 0, NULL);
    return packed_piece(s, depth, piece, s->buffer[number % 2] + (piece - (piece > s->me)) * mirror_bytes_of(&longest));
}

/* ---- memory ---- */

static tw_status take(tw_mpi_plan *plan, bool on_device, double bytes, char **memory)
{
    void *found = NULL;
    life_computes(&plan->life);
    if (!(bytes < 0x1p62)) return failure(TW_NO_MEMORY, "no memory for blocks of %g bytes", bytes);
    const tw_status status = plan->engine.device.memory(plan->pipeline, on_device, (int64_t)bytes, &found);
    *memory = found;
    return told(plan, status);
}

static int pieces_together(const side *s)
{
    const int64_t each = grid_divide(s->length, s->peers, s->peers - 1).length;
    const int64_t pieces = each > 0 ? (LEAST_GROUP + each - 1) / each : s->peers;
    return pieces < s->peers ? (int)pieces : s->peers;
}

tw_status mirror_open(tw_mpi_plan *plan)
{
    if (!plan->engine.on_device) return TW_OK;
    /* as if nothing were done before the products should have ended, at a twentieth of the nominal speed */
    plan->pending.device_s = plan->timeout_s > 0 ? plan->timeout_s + 20 * plan->grid.compute_s : HUGE_VAL;
    plan->a.group = pieces_together(&plan->a), plan->b.group = pieces_together(&plan->b);
    return told(plan, plan->engine.device.open(plan->engine.self, &plan->pipeline));
}

tw_status mirror_allocate(tw_mpi_plan *plan)
{
    if (plan->pipeline == NULL) return TW_OK;
    const bool many = plan->at.k.length > plan->grid.panel;
    const int64_t depth = many ? plan->grid.panel : plan->at.k.length;
    const int halves = many ? 2 : 1;
    side *const sides[] = {&plan->a, &plan->b};
    tw_status status = TW_OK;
    for (int i = 0; i < 2 * halves && status == TW_OK; i++)
        status = take(plan, true, mirror_bytes(sides[i % 2], depth), &sides[i % 2]->mirror[i / 2]);
    if (plan->sizes.resident && plan->whole) return status; /* C is computed where it lies */
    plan->ld_mirror = padded(plan->at.n.length, plan->sizes.c_bytes);
    const double c_bytes = (double)plan->at.m.length * (double)plan->ld_mirror * (double)plan->sizes.c_bytes;
    return status == TW_OK ? take(plan, true, c_bytes, &plan->c_mirror) : status;
}

tw_status mirror_direct(tw_mpi_plan *plan, side *s, int64_t depth, int halves)
{
    const block own = packed_piece(s, depth, s->me, NULL), longest = packed_piece(s, depth, 0, NULL);
    tw_status status = TW_OK;
    s->straight = s->along_rows || s->group == 1;
    for (int i = 0; i < halves && status == TW_OK; i++)
        status = take(plan, true, (double)mirror_bytes_of(&own), &s->own_sent[i]);
    for (int i = 0; i < halves && !s->straight && status == TW_OK; i++)
        status = take(plan, true, (double)mirror_bytes_of(&longest) * (s->peers - 1), &s->buffer[i]);
    return status;
}

tw_status mirror_host(tw_mpi_plan *plan, double bytes, char **memory)
{
    if (plan->pipeline != NULL) return take(plan, false, bytes, memory);
    *memory = bytes < 0x1p62 ? malloc(bytes > 0 ? (size_t)bytes : 1) : NULL;
    return *memory != NULL ? TW_OK : failure(TW_NO_MEMORY, "no memory for a buffer of %g bytes", bytes);
}

void mirror_close(tw_mpi_plan *plan)
{
    if (plan->pipeline != NULL && !plan->pending.stuck) plan->engine.device.close(plan->pipeline);
    plan->pipeline = NULL, plan->c_mirror = plan->c_host = NULL;
}

/* ---- copies and waits ---- */

static tw_status await(tw_mpi_plan *plan, bool all)
{
    const double start_s = failure_now_s();
    for (;;) {
        int done = 0;
        const tw_status status = plan->engine.device.poll(plan->pipeline, all, &done);
        if (status != TW_OK || done) return told(plan, status);
        pending_poll(&plan->pending);
        const double waited_s = failure_now_s() - start_s;
        if (waited_s > plan->pending.device_s) return pending_stuck(&plan->pending);
        failure_idle(waited_s);
    }
}

/* In parts, for what threads copy; MPI goes on between them. */
static tw_status copy(tw_mpi_plan *plan, const tw_lab_copy *whole)
{
    const int64_t fits = whole->width > 0 ? POLL_BYTES / whole->width : 1, step = fits > 0 ? fits : 1;
    tw_status status = TW_OK;
    for (int64_t at = 0; at < whole->rows && status == TW_OK; at += step) {
        tw_lab_copy part = *whole;
        part.to = (char *)whole->to + at * whole->to_pitch,
        part.from = (const char *)whole->from + at * whole->from_pitch;
        part.rows = whole->rows - at < step ? whole->rows - at : step;
        status = plan->engine.device.copy(plan->pipeline, &part);
        pending_poll(&plan->pending);
    }
    return told(plan, status);
}

static tw_lab_copy between(const block *to, const block *from, int way)
{
    return (tw_lab_copy){.to = to->data,
                         .from = from->data,
                         .to_pitch = to->ld * to->bytes,
                         .from_pitch = from->ld * from->bytes,
                         .width = to->cols * to->bytes,
                         .rows = to->rows,
                         .way = way};
}

static tw_status move(tw_mpi_plan *plan, const block *to, const block *from, int way)
{
    const tw_lab_copy whole = between(to, from, way);
    return copy(plan, &whole);
}

/* ---- a call ---- */

static block c_block(const tw_mpi_plan *plan, char *data, int64_t ld)
{
    return (block){data, plan->at.m.length, plan->at.n.length, ld, plan->sizes.c_bytes};
}

block mirror_c(const tw_mpi_plan *plan, char *c, int64_t ldc)
{
    return plan->c_mirror != NULL ? c_block(plan, plan->c_mirror, plan->ld_mirror) : c_block(plan, c, ldc);
}

tw_status mirror_begin(tw_mpi_plan *plan, char *c, int64_t ldc)
{
    if (plan->pipeline == NULL) return TW_OK;
    const block to = mirror_c(plan, c, ldc), from = c_block(plan, c, ldc);
    const tw_status status = await(plan, true); /* of a call that failed */
    const bool reads = plan->whole && plan->sizes.keeps_c0 && to.data != from.data;
    return status == TW_OK && reads ? move(plan, &to, &from, TW_LAB_UP) : status;
}

tw_status mirror_turn(tw_mpi_plan *plan)
{
    if (plan->pipeline == NULL) return TW_OK;
    const tw_status status = told(plan, plan->engine.device.turn(plan->pipeline));
    return status == TW_OK ? await(plan, false) : status;
}

tw_status mirror_fetch(tw_mpi_plan *plan, const side *s, int number, block *own, tw_status status)
{
    if ((!plan->sizes.resident && !plan->direct) || s->peers == 1) return status;
    const block from = *own;
    if (plan->direct) {
        *own = mirror_arrival(s, number, s->along_rows ? own->cols : own->rows, s->me);
        return status == TW_OK ? move(plan, own, &from, plan->sizes.resident ? TW_LAB_ACROSS : TW_LAB_UP) : status;
    }
    own->data = s->own_sent[number % 2], own->ld = own->cols;
    if (status == TW_OK) status = move(plan, own, &from, TW_LAB_DOWN);
    return status == TW_OK ? await(plan, false) : status;
}

tw_status mirror_bring(tw_mpi_plan *plan, const side *s, int number, int64_t depth, int piece, const block *from)
{
    if (plan->pipeline == NULL) return TW_OK;
    const block to = mirror_block(s, number, depth, piece, piece + 1);
    const bool on_device = (plan->direct && s->peers > 1) || (plan->sizes.resident && piece == s->me);
    if (to.data == from->data) return TW_OK;
    tw_lab_copy up = between(&to, from, on_device ? TW_LAB_ACROSS : TW_LAB_UP);
    up.alone = !s->along_rows && to.cols < group_of(s, piece).length;
    return copy(plan, &up);
}

tw_status mirror_end(tw_mpi_plan *plan, char *c, int64_t ldc)
{
    if (plan->pipeline == NULL) return TW_OK;
    const block from = mirror_c(plan, c, ldc), to = c_block(plan, c, ldc);
    tw_status status = await(plan, true);
    if (status == TW_OK && to.data != from.data) status = move(plan, &to, &from, TW_LAB_DOWN);
    return status == TW_OK ? await(plan, true) : status;
}

/* The thread's sentence stays what has failed. */
void mirror_drain(tw_mpi_plan *plan)
{
    const double start_s = failure_now_s();
    for (int done = 0; plan->pipeline != NULL && !plan->pending.stuck && !done;) {
        if (plan->engine.device.poll(plan->pipeline, true, &done) != TW_OK) return;
        life_computes(&plan->life);
        const double waited_s = failure_now_s() - start_s;
        plan->pending.stuck = waited_s > plan->pending.device_s;
        failure_idle(waited_s);
    }
}

tw_status mirror_move_c(tw_mpi_plan *plan, char *c, int64_t ldc, int way)
{
    const grid_place *at = &plan->at;
    const block there = {c, at->own_c.length, at->n.length, ldc, plan->sizes.c_bytes},
                here = {plan->c_host, at->own_c.length, at->n.length, at->n.length, plan->sizes.c_bytes};
    const bool up = way == TW_LAB_UP;
    const tw_status status = move(plan, up ? &there : &here, up ? &here : &there, way);
    return status == TW_OK ? await(plan, true) : status;
}
