/* spread_list.h - what the list of steps is made from (spread.c): regions of C, the panels and tiles of each device,
 * and where they have room. */
#ifndef TILEWRIGHT_SPREAD_LIST_H
#define TILEWRIGHT_SPREAD_LIST_H

#include "spread.h"

/* Panels are cut at multiples of UNIT, which kernels' tiles divide. So many tiles of C are under way at a time. A panel
 * that is not packed yet waits in one of RAW_SLOTS. */
enum { UNIT = 256, C_SLOTS = 4, RAW_SLOTS = 2, NONE = -1 };

typedef struct region {
    int64_t row, col, rows, cols;
} region;

/* How an edge of a region is cut: evenly, or growing: each panel but the first two as long as all before it. */
typedef struct cuts {
    int64_t length, each, count;
    bool grows;
} cuts;

static inline int64_t cut_at(const cuts *c, int64_t i)
{
    return min_i64(!c->grows || i < 2 ? i * c->each : c->each << (i - 1), c->length);
}
static inline int64_t cut_length(const cuts *c, int64_t i) { return cut_at(c, i + 1) - cut_at(c, i); }

static inline int64_t cut_longest(const cuts *c)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < c->count; i++) longest = max_i64(longest, cut_length(c, i));
    return longest;
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

/* Room on a device, behind what is taken there already. */
static inline int64_t spread_take_bytes(spread_work *work, int on, int64_t bytes)
{
    const int64_t at = work->bytes[on];
    work->bytes[on] += round_up(bytes, 256);
    return at;
}

/* ---- spread_list.c ---- */

tw_status spread_no_memory(void);

/* Room for one more item behind `count`. */
void *spread_with_room(void *items, int64_t count, size_t bytes);

#define APPEND(list, count, item)                                                                                      \
    do {                                                                                                               \
        void *items_ = spread_with_room(list, count, sizeof *(list));                                                  \
        if (items_ == NULL) return spread_no_memory();                                                                 \
        (list) = items_, (list)[(count)++] = (item);                                                                   \
    } while (0)

/* ---- spread_tiles.c: operands and plans of tiles ---- */

/* A panel of A or B as the matrix is stored. */
region spread_stored_panel(const spread *s, int x, int64_t first, int64_t length);

/* Elements from row to row of a copy on a device: whole 16 bytes. */
int64_t spread_copy_ld(const spread *s, int x, int64_t cols);

uint64_t spread_address(const spread_block *b, int64_t row, int64_t col, int64_t bytes);

/* The device's own block with all that its region needs of an operand; NULL: there is none. */
const spread_block *spread_own_block(const spread *s, int x, int on);

/* The index of the plan for a tile of m x n on a device. */
tw_status spread_find_plan(spread *s, int on, int64_t m, int64_t n, int *out);

packing spread_packing(const spread *s, int x, int on, int64_t length);

/* The plan of a tile whose operand (0: A, 1: B) a step packs before: once for many tiles. */
void spread_take_packed(plan *tile, int x);

/* Does the operand get panels of its own on a device? */
bool spread_has_panels(const spread *s, int x, int on);

/* Bytes of a panel; raw: as it is uploaded, where it is then packed. */
int64_t spread_panel_bytes(const spread *s, int x, int on, int64_t length, bool raw);

/* ---- spread_layout.c: how large tiles are, and which panels stay ---- */

/* TW_NO_MEMORY where some device has no room for the smallest panels. */
tw_status spread_choose_layout(spread *s);

/* A device's panels and tiles by the layout, and its memory. */
tw_status spread_make_device(spread *s, int on);

/* ---- spread_steps.c: uploads, fetches, packing, products and downloads ---- */

tw_status spread_list_steps(spread *s);

#endif
