/* relay.c - see relay.h. */
#include "relay.h"

#include <stdlib.h>

/* Where elements lie: in the block of a rank, in the array of a process, packed in a message. */
enum { IN_BLOCK, IN_ARRAY, IN_MESSAGE, PLACES };

typedef struct piece {
    int64_t place[PLACES], length;
} piece;

/* One dimension of what a block and an array have in common, in the plan's order. */
typedef struct relay_part {
    piece *pieces;
    int64_t count, length;
} relay_part;

typedef struct surface {
    int where;
    char *data;
    int64_t ld;
} surface;

/* ---- what a block and an array have in common ---- */

static void clip(const stretches *all, int64_t begin, int64_t length, int owner, relay_part *out)
{
    out->count = out->length = 0;
    for (int64_t i = 0; i < all->count; i++) {
        const stretch *s = &all->list[i];
        const int64_t first = s->at > begin ? s->at : begin,
                      end = s->at + s->length < begin + length ? s->at + s->length : begin + length;
        if (s->owner != owner || first >= end) continue;
        out->pieces[out->count++] = (piece){{first - begin, s->local + first - s->at, out->length}, end - first};
        out->length += end - first;
    }
}

/* Into scratch: rows and columns. False: nothing. */
static bool find_common(const relay *r, int block_rank, int array_rank)
{
    const tw_mpi_block *b = &r->blocks[block_rank];
    clip(&r->rows, b->row, b->rows, array_rank / r->process_rows, &r->scratch[0]);
    clip(&r->cols, b->col, b->cols, array_rank % r->process_rows, &r->scratch[1]);
    return r->scratch[0].length > 0 && r->scratch[1].length > 0;
}

static bool is_solid(const relay_part *part, int where)
{
    for (int64_t i = 1; i < part->count; i++)
        if (part->pieces[i].place[where] != part->pieces[i - 1].place[where] + part->pieces[i - 1].length) return false;
    return true;
}

static bool is_solid_in(const relay *r, int where)
{
    return is_solid(&r->scratch[0], where) && is_solid(&r->scratch[1], where);
}

static char *at(const relay *r, const surface *s, int64_t row, int64_t col)
{
    return s->data + (row * s->ld + col) * r->bytes;
}

static void copy(const relay *r, surface to, surface from)
{
    const relay_part *rows = &r->scratch[0], *cols = &r->scratch[1];
    for (int64_t i = 0; i < rows->count; i++)
        for (int64_t line = 0; line < rows->pieces[i].length; line++)
            for (int64_t j = 0; j < cols->count; j++)
                memcpy(at(r, &to, rows->pieces[i].place[to.where] + line, cols->pieces[j].place[to.where]),
                       at(r, &from, rows->pieces[i].place[from.where] + line, cols->pieces[j].place[from.where]),
                       (size_t)(cols->pieces[j].length * r->bytes));
}

/* ---- memory ---- */

static bool allocate(char **out, int64_t rows, int64_t cols, int64_t bytes)
{
    *out = NULL;
    if (rows > 0 && cols > INT64_MAX / bytes / rows) return false;
    *out = malloc(rows * cols > 0 ? (size_t)(rows * cols * bytes) : 1);
    return *out != NULL;
}

static bool allocate_message(const relay *r, int where, char **out)
{
    return is_solid_in(r, where) || allocate(out, r->scratch[0].length, r->scratch[1].length, r->bytes);
}

/* The block lies in this rank's array as a whole, row by row. */
static bool lies_in_array(const relay *r)
{
    const tw_mpi_block *b = &r->blocks[r->me];
    if (b->rows == 0 || b->cols == 0) return true;
    return find_common(r, r->me, r->me) && r->scratch[0].length == b->rows && r->scratch[1].length == b->cols &&
           is_solid_in(r, IN_ARRAY);
}

bool relay_open(relay *r)
{
    const tw_mpi_block *b = &r->blocks[r->me];
    const int64_t counts[2] = {r->rows.count, r->cols.count};
    r->buffers = calloc((size_t)r->ranks, sizeof *r->buffers), r->scratch = calloc(2, sizeof *r->scratch);
    if (r->buffers == NULL || r->scratch == NULL) return false;
    for (int d = 0; d < 2; d++) {
        r->scratch[d].pieces = malloc((size_t)(counts[d] + 1) * sizeof(piece));
        if (r->scratch[d].pieces == NULL) return false;
    }
    r->in_place = lies_in_array(r);
    r->ld = r->in_place ? r->lld : b->cols > 0 ? b->cols : 1;
    if (r->in_place && r->scratch[0].count > 0 && r->scratch[1].count > 0)
        r->block = at(r, &(surface){IN_ARRAY, r->array, r->lld}, r->scratch[0].pieces[0].place[IN_ARRAY],
                      r->scratch[1].pieces[0].place[IN_ARRAY]);
    if (!r->in_place && !allocate(&r->block, b->rows, b->cols, r->bytes)) return false;
    for (int other = 0; other < r->ranks; other++) {
        if (other == r->me) continue;
        if (find_common(r, r->me, other) && !allocate_message(r, IN_BLOCK, &r->buffers[other].of_block)) return false;
        if (find_common(r, other, r->me) && !allocate_message(r, IN_ARRAY, &r->buffers[other].of_array)) return false;
    }
    return true;
}

void relay_close(relay *r)
{
    for (int other = 0; r->buffers != NULL && other < r->ranks; other++)
        free(r->buffers[other].of_block), free(r->buffers[other].of_array);
    for (int d = 0; r->scratch != NULL && d < 2; d++) free(r->scratch[d].pieces);
    if (!r->in_place) free(r->block);
    free(r->buffers), free(r->scratch);
    stretches_free(&r->rows), stretches_free(&r->cols);
}

/* ---- moving ---- */

static surface surface_of(const relay *r, int where)
{
    return where == IN_BLOCK ? (surface){where, r->block, r->ld} : (surface){where, r->array, r->lld};
}

static char *buffer_of(const relay *r, int where, int other)
{
    return where == IN_BLOCK ? r->buffers[other].of_block : r->buffers[other].of_array;
}

/* What this rank's block has of another one's array, or its array of another one's block. */
static bool find_with(const relay *r, int where, int other)
{
    return where == IN_BLOCK ? find_common(r, r->me, other) : find_common(r, other, r->me);
}

static surface message_of(const relay *r, int where, int other)
{
    return (surface){IN_MESSAGE, buffer_of(r, where, other), r->scratch[1].length};
}

/* The message with another rank, as it lies in this one's memory. */
static block message_block(const relay *r, int where, int other)
{
    const surface s = surface_of(r, where);
    block b = {buffer_of(r, where, other), r->scratch[0].length, r->scratch[1].length, r->scratch[1].length, r->bytes};
    if (b.data == NULL)
        b.data = at(r, &s, r->scratch[0].pieces[0].place[where], r->scratch[1].pieces[0].place[where]), b.ld = s.ld;
    return b;
}

void relay_begin(relay *r, pending *p, bool back)
{
    const int to = back ? IN_ARRAY : IN_BLOCK, from = back ? IN_BLOCK : IN_ARRAY;
    for (int d = 1; d < r->ranks; d++) {
        const int other = (r->me + d) % r->ranks;
        if (!find_with(r, to, other)) continue;
        const block b = message_block(r, to, other);
        pending_receive(p, &b, other, r->tag, &r->left);
    }
    for (int d = 1; d < r->ranks; d++) {
        const int other = (r->me + r->ranks - d) % r->ranks;
        if (!find_with(r, from, other)) continue;
        if (buffer_of(r, from, other) != NULL) copy(r, message_of(r, from, other), surface_of(r, from));
        const block b = message_block(r, from, other);
        pending_send(p, &b, other, r->tag, &r->left);
    }
    if (!r->in_place && find_common(r, r->me, r->me)) copy(r, surface_of(r, to), surface_of(r, from));
}

void relay_end(relay *r, bool back)
{
    const int to = back ? IN_ARRAY : IN_BLOCK;
    for (int other = 0; other < r->ranks; other++)
        if (other != r->me && buffer_of(r, to, other) != NULL && find_with(r, to, other))
            copy(r, surface_of(r, to), message_of(r, to, other));
}
