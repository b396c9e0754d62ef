/* layout.c - see layout.h. */
#include "layout.h"

#include <stdlib.h>

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t most(int64_t x, int64_t y) { return x > y ? x : y; }

/* Of a process, counted from the one that has the first block. */
static int turn_of(const cyclic *d, int process) { return (process - d->first + d->processes) % d->processes; }

static int64_t block_with(const cyclic *d, int64_t index)
{
    return index < d->first_block ? 0 : 1 + (index - d->first_block) / d->block;
}

static int64_t begin_of(const cyclic *d, int64_t block)
{
    return block == 0 ? 0 : d->first_block + (block - 1) * d->block;
}

/* Where a block begins in the memory of its process. */
static int64_t local_of(const cyclic *d, int64_t block)
{
    const bool is_behind_first = block > 0 && block % d->processes == 0;
    return block / d->processes * d->block + (is_behind_first ? d->first_block - d->block : 0);
}

int64_t cyclic_count(const cyclic *d, int64_t end, int process)
{
    const int64_t last = block_with(d, end), turn = turn_of(d, process);
    const int64_t over = (last + d->processes - turn) % d->processes; /* blocks since its latest one */
    if (turn > last) return 0;
    if (over == 0) return local_of(d, last) + end - begin_of(d, last);
    return local_of(d, last - over) + begin_of(d, last - over + 1) - begin_of(d, last - over);
}

/* The next positions lie at `local` of owner; joined with the stretch before where that goes on. */
static bool append(stretches *s, int64_t length, int64_t local, int owner)
{
    stretch *last = s->count > 0 ? &s->list[s->count - 1] : NULL;
    const int64_t at = last != NULL ? last->at + last->length : 0;
    if (last != NULL && last->owner == owner && last->local + last->length == local) {
        last->length += length;
        return true;
    }
    if (s->count == s->room) {
        const int64_t room = 2 * s->room + 16;
        stretch *list = realloc(s->list, (size_t)room * sizeof *list);
        if (list == NULL) return false;
        s->list = list, s->room = room;
    }
    s->list[s->count++] = (stretch){at, length, local, owner};
    return true;
}

/* Indices begin to end of d, block by block. */
static bool append_range(stretches *s, const cyclic *d, int64_t begin, int64_t end)
{
    for (int64_t i = begin, length; i < end; i += length) {
        const int64_t block = block_with(d, i);
        length = least(end, begin_of(d, block + 1)) - i;
        if (!append(s, length, local_of(d, block) + i - begin_of(d, block), (int)((block + d->first) % d->processes)))
            return false;
    }
    return true;
}

bool stretches_make(stretches *out, const cyclic *d, int64_t begin, int64_t length, const cyclic *order,
                    int64_t order_begin)
{
    const int64_t shift = begin - order_begin, order_end = order_begin + length;
    *out = (stretches){0};
    if (order == NULL) return append_range(out, d, begin, begin + length);
    const int64_t begin_block = block_with(order, order_begin) / order->processes * order->processes;
    for (int process = 0; process < order->processes; process++)
        for (int64_t block = begin_block + turn_of(order, process); begin_of(order, block) < order_end;
             block += order->processes)
            if (!append_range(out, d, most(begin_of(order, block), order_begin) + shift,
                              least(begin_of(order, block + 1), order_end) + shift))
                return false;
    return true;
}

void stretches_free(stretches *s)
{
    free(s->list);
    *s = (stretches){0};
}
