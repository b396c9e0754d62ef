/* access.c - see access.h. A request's cost depends on which lanes are at work, on how their addresses lie to each
 * other, and on where the first lies in its 128 bytes. Away from edges all of that repeats with a short period in every
 * loop: one request of each class is priced and counted as often as it occurs. */
#include "access.h"

#include <stdio.h>
#include <string.h>
#include "../../lab/named.h"

enum { HALF = ACCESS_WARP / 2, WORD = 4, SECTOR = 32, LINE = 128 };

typedef access_place place;

/* ---- the table ---- */

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

#define at(e) (tid + 64 * (e))
#define of(e) (tid + 256 * (e))
#define NAMES                                                                                                          \
    const int64_t m = l->m, n = l->n, k = l->k, T = l->tile, tiles = l->tiles, tid = ty * l->block_x + tx;             \
    const int64_t by = v->by, bx = v->bx, t = v->t, p = v->p, e = v->e, i = by * T + ty, j = bx * T + tx,              \
                  J = bx * 64 + tid, lane_m = tid % 32 / 8 * 2 + tid % 2, lane_n = tid / 2 % 4;                        \
    (void)m, (void)n, (void)k, (void)tiles, (void)t, (void)p, (void)e, (void)i, (void)j, (void)J;                      \
    (void)lane_m, (void)lane_n;
#define LAUNCH(rungs, threads, group_m, registers)
#define GLOBAL(name, rungs, kind, over, times, row_of, col_of, there)                                                  \
    static bool name(const access_launch *l, const place *v, int64_t tx, int64_t ty, int64_t where[2])                 \
    {                                                                                                                  \
        NAMES const int64_t row = row_of, col = col_of;                                                                \
        where[0] = row, where[1] = col;                                                                                \
        return there;                                                                                                  \
    }
#define GLOBAL4(name, rungs, kind, over, times, row_of, col_of, count)                                                 \
    static int64_t name##_count(const access_launch *l, const place *v, int64_t tx, int64_t ty, int64_t where[2])      \
    {                                                                                                                  \
        NAMES const int64_t row = row_of, col = col_of;                                                                \
        where[0] = row, where[1] = col;                                                                                \
        return count;                                                                                                  \
    }                                                                                                                  \
    static bool name(const access_launch *l, const place *v, int64_t tx, int64_t ty, int64_t where[2])                 \
    {                                                                                                                  \
        return name##_count(l, v, tx, ty, where) >= 4 && l->wide;                                                      \
    }                                                                                                                  \
    static bool name##_parts(const access_launch *l, const place *v, int64_t tx, int64_t ty, int64_t where[2])         \
    {                                                                                                                  \
        const place four = {v->by, v->bx, v->t, v->p, v->e / 4};                                                       \
        int64_t there = name##_count(l, &four, tx, ty, where);                                                         \
        where[1] += v->e % 4;                                                                                          \
        return (there < 4 || !l->wide) && v->e % 4 < there;                                                            \
    }
#define BOX(name, rungs, kind, over, times, row, col, rows, cols) GLOBAL(name, rungs, kind, over, times, row, col, true)
#define SHARED(name, rungs, kind, over, times, words, word, there)                                                     \
    static bool name(const access_launch *l, const place *v, int64_t tx, int64_t ty, int64_t where[2])                 \
    {                                                                                                                  \
        NAMES where[0] = word, where[1] = 0;                                                                           \
        return there;                                                                                                  \
    }
#define WORDS(rung, sentence)
#include "access.def"
#undef GLOBAL
#undef GLOBAL4
#undef BOX
#undef SHARED
#undef at
#undef of

/* clang-format off */
static const access_row table[] = {
#define GLOBAL(name, rungs, kind, over, times, row, col, there)                                                        \
    {rungs, kind, over, times, 1, name, #row ", " #col, false, 0, 0},
#define GLOBAL4(name, rungs, kind, over, times, row, col, count)                                                       \
    {rungs, kind, over, times, 4, name, #row ", " #col, false, 0, 0},                                                  \
    {rungs, kind, over, 4 * (times), 1, name##_parts, #row ", " #col, true, 0, 0},
#define BOX(name, rungs, kind, over, times, row, col, rows, cols)                                                      \
    {rungs, kind, over, times, 1, name, #row ", " #col, false, rows, cols},
#define SHARED(name, rungs, kind, over, times, words, word, there)                                                     \
    {rungs, kind, over, times, words, name, #word, false, 0, 0},
#include "access.def"
#undef LAUNCH
};
/* clang-format on */
#undef GLOBAL
#undef GLOBAL4
#undef BOX
#undef SHARED
#undef WORDS
#define GLOBAL(...)
#define GLOBAL4(...)
#define BOX(...)
#define SHARED(...)

static const struct {
    const char *rungs;
    int threads, group_m, registers;
} launches[] = {
#define LAUNCH(rungs, threads, group_m, registers) {rungs, threads, group_m, registers},
#define WORDS(rung, sentence)
#include "access.def"
#undef LAUNCH
#undef WORDS
};

static const struct {
    const char *rung, *sentence;
} in_words[] = {
#define LAUNCH(rungs, threads, group_m, registers)
#define WORDS(rung, sentence) {rung, sentence},
#include "access.def"
};

const char *access_kind_text(access_kind kind)
{
    static const char *const texts[ACCESS_KINDS] = {"load of A",         "load of B",         "store of C",
                                                    "store of A's tile", "store of B's tile", "read of A's tile",
                                                    "read of B's tile"};
    return texts[kind];
}

const char *access_era_text(access_era era)
{
    static const char *const texts[ACCESS_ERAS] = {"1.0, 1.1", "1.2, 1.3", "2.x", "since 3.0"};
    return texts[era];
}

access_era access_era_of(const char *capability)
{
    if (strncmp(capability, "1.", 2) == 0) return capability[2] < '2' ? ERA_1_0 : ERA_1_2;
    return strncmp(capability, "2.", 2) == 0 ? ERA_2_0 : ERA_NOW;
}

/* ---- the price of one request ---- */

/* Different units of `unit` bytes that the lanes' words lie in. */
static int distinct(const int64_t *address, int lanes, int words, int unit)
{
    int64_t seen[4 * ACCESS_WARP];
    int count = 0;
    for (int i = 0; i < lanes * words; i++) {
        if (address[i / words] < 0) continue;
        int64_t unit_of = (address[i / words] + WORD * (i % words)) / unit;
        int at = count; /* neighbours are likely the same: the last first */
        while (at > 0 && seen[at - 1] != unit_of) at--;
        if (at == 0) seen[count++] = unit_of;
    }
    return count;
}

/* Four words of a lane begin at a multiple of 16 bytes. */
static int bytes_used(const int64_t *address, int lanes, int words)
{
    return WORD * words * distinct(address, lanes, 1, WORD * words);
}

static int at_work(const int64_t *address, int lanes)
{
    int count = 0;
    for (int i = 0; i < lanes; i++) count += address[i] >= 0;
    return count;
}

/* 1.0, 1.1: one transaction of 64 bytes where every lane at work wants its own word of 64 aligned bytes; two of 128
 * where it wants 16 bytes of 256. */
static void price_in_order(const int64_t *address, int words, access_cost *cost)
{
    bool ordered = true;
    int lead = 0, lanes = at_work(address, HALF), bytes = WORD * words;
    while (address[lead] < 0) lead++;
    int64_t first = address[lead] - bytes * lead;
    for (int i = lead; i < HALF; i++) ordered = ordered && (address[i] < 0 || address[i] == first + bytes * i);
    ordered = ordered && first % (words == 1 ? 64 : LINE) == 0;
    cost->transactions += !ordered ? lanes : words == 1 ? 1 : 2;
    cost->moved += ordered ? HALF * bytes : SECTOR * lanes;
}

/* 1.2, 1.3: each 128-byte segment in turn, halved while one half holds all that is wanted of it. */
static void price_segments(const int64_t *address, int words, access_cost *cost)
{
    bool served[HALF] = {false};
    for (int lead = 0; lead < HALF; lead++) {
        if (served[lead] || address[lead] < 0) continue;
        int64_t low = address[lead], high = low;
        for (int i = lead; i < HALF; i++) {
            if (address[i] < 0 || address[i] / LINE != address[lead] / LINE) continue;
            served[i] = true;
            if (address[i] < low) low = address[i];
            if (address[i] > high) high = address[i];
        }
        int size = LINE;
        high += WORD * (words - 1);
        while (size > SECTOR && low / (size / 2) == high / (size / 2)) size /= 2;
        cost->transactions += 1;
        cost->moved += size;
    }
}

/* 1.x: steps in which one word goes to all lanes that want it, and one lane of each other bank is served. */
static int steps_of_16_banks(const int64_t *address)
{
    bool served[HALF];
    int steps = 0;
    for (int i = 0; i < HALF; i++) served[i] = address[i] < 0;
    for (int lead = 0; lead < HALF; lead++) {
        if (served[lead]) continue;
        bool busy[16] = {false};
        busy[address[lead] / WORD % 16] = true;
        for (int i = lead; i < HALF; i++) {
            int bank = (int)(address[i] / WORD % 16);
            if (served[i] || (busy[bank] && address[i] != address[lead])) continue;
            served[i] = busy[bank] = true;
        }
        steps++;
    }
    return steps;
}

/* Since: the most different words that one of 32 banks has to give. */
static int passes_of_32_banks(const int64_t *address, int lanes, int words)
{
    int64_t seen[ACCESS_WARP] = {0};
    int count = 0, of_bank[32] = {0}, most = 0;
    for (int i = 0; i < lanes; i++) {
        int known = 0;
        while (known < count && seen[known] != address[i]) known++;
        if (address[i] < 0 || known < count) continue;
        seen[count++] = address[i];
        for (int64_t word = address[i] / WORD; word < address[i] / WORD + words; word++)
            if (++of_bank[word % 32] > most) most = of_bank[word % 32];
    }
    return most;
}

static void price_half(access_era era, bool global, const int64_t *address, int words, access_cost *cost)
{
    if (at_work(address, HALF) == 0) return;
    cost->used += bytes_used(address, HALF, words);
    cost->requests += global ? 1 : words;
    for (int w = 0; !global && w < words; w++) {
        int64_t word[HALF];
        for (int i = 0; i < HALF; i++) word[i] = address[i] < 0 ? -1 : address[i] + WORD * w;
        cost->transactions += steps_of_16_banks(word);
    }
    if (!global) return;
    cost->lines += distinct(address, HALF, words, LINE);
    if (era == ERA_1_0)
        price_in_order(address, words, cost);
    else
        price_segments(address, words, cost);
}

access_cost access_price(access_era era, access_kind kind, const int64_t address[ACCESS_WARP], int words)
{
    access_cost cost = {0};
    bool global = access_is_global(kind);
    if (at_work(address, ACCESS_WARP) == 0) return cost;
    if (era <= ERA_1_2) {
        price_half(era, global, address, words, &cost);
        price_half(era, global, address + HALF, words, &cost);
    } else {
        cost.requests = 1;
        cost.used = bytes_used(address, ACCESS_WARP, words);
        cost.lines = global ? distinct(address, ACCESS_WARP, words, LINE) : 0;
        int unit = era == ERA_2_0 && !access_is_store(kind) ? LINE : SECTOR;
        if (global)
            cost.transactions = distinct(address, ACCESS_WARP, words, unit), cost.moved = cost.transactions * unit;
        else if (words == 1)
            cost.transactions = passes_of_32_banks(address, ACCESS_WARP, 1);
        else
            cost.transactions = passes_of_32_banks(address, HALF, words) +
                                passes_of_32_banks(address + HALF, HALF, words);
    }
    if (!global) cost.moved = cost.used;
    return cost;
}

/* ---- a launch ---- */

static bool names(const char *rungs, const char *rung)
{
    const char *found = strstr(rungs, rung);
    return found != NULL && found[strlen(rung)] == ' ';
}

static int64_t ceil_div(int64_t x, int64_t y) { return x / y + (x % y != 0); }

static bool refuse(char *why, int why_bytes, const char *sentence)
{
    snprintf(why, (size_t)why_bytes, "%s", sentence);
    return false;
}

/* Four neighbours of a transpose do not lie side by side, and TMA's boxes have their rows as stored. */
static bool takes_transposes(const access_row *row)
{
    return !access_is_global(row->kind) || row->kind == STORE_C || (row->words == 1 && row->box_rows == 0);
}

static bool find_rows(access_launch *l, char *why, int why_bytes)
{
    bool refused = false;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!names(table[i].rungs, l->kernel->rung)) continue;
        l->row[l->rows++] = &table[i];
        refused = refused || ((l->transposed_a || l->transposed_b) && !takes_transposes(&table[i]));
    }
    if (l->rows > 0 && !refused) return true;
    for (size_t i = 0; i < sizeof in_words / sizeof *in_words; i++)
        if (kernel_is_called(l->kernel, in_words[i].rung)) return refuse(why, why_bytes, in_words[i].sentence);
    return refuse(why, why_bytes, refused ? "it takes A and B as stored" : "nothing is said of this rung's addresses");
}

static bool find_launch(access_launch *l)
{
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++) {
        if (!names(launches[i].rungs, l->kernel->rung)) continue;
        l->block_x = l->tile > 0 ? l->tile : launches[i].threads;
        l->block_y = l->tile > 0 ? l->tile : 1;
        l->group_m = launches[i].group_m, l->registers = launches[i].registers;
    }
    return l->block_x > 0;
}

static bool lies_wide(uint32_t align, int64_t ld) { return (align == 0 || align >= 16) && ld % 4 == 0; }

/* Byte addresses are 64 bits wide, and lanes beyond an edge have some too: is there room for `over` more rows and
 * columns? */
static bool addressable(int64_t rows, int64_t cols, int64_t ld)
{
    const double most = 9e18, over = 512;
    double longer = (double)(rows > cols ? rows : cols) + over; /* rows of a stored transpose are columns */
    return WORD * (longer * (double)ld + longer) < most;
}

bool access_open(access_launch *out, const tw_lab_kernel *kernel, int tile, const tw_problem *p, char *why,
                 int why_bytes)
{
    access_launch *l = out;
    *l = (access_launch){.kernel = kernel,
                         .m = p->m,
                         .n = p->n,
                         .k = p->k,
                         .lda = p->lda,
                         .ldb = p->ldb,
                         .ldc = p->ldc,
                         .transposed_a = p->op_a == TW_T,
                         .transposed_b = p->op_b == TW_T,
                         .wide = lies_wide(p->align_a, p->lda) && lies_wide(p->align_b, p->ldb) &&
                                 lies_wide(p->align_c, p->ldc)};
    if (strcmp(kernel->engine, "cpu") == 0) return refuse(why, why_bytes, "a CPU has no warps and no banks");
    if (p->m < 1 || p->n < 1 || p->k < 1) return refuse(why, why_bytes, "a product without elements touches nothing");
    if (!addressable(p->m, p->k, p->lda) || !addressable(p->k, p->n, p->ldb) || !addressable(p->m, p->n, p->ldc))
        return refuse(why, why_bytes, "the product is so large that the addresses of its elements do not fit 64 bits");
    if (!find_rows(l, why, why_bytes)) return false;
    if (kernel->default_tile > 0) l->tile = tile > 0 ? tile : kernel->default_tile;
    if (kernel->skinny) l->tile = (int)p->k;
    if (kernel->skinny && p->k != 16 && p->k != 32)
        return refuse(why, why_bytes, "k must be 16 or 32: it is the width of the skinny rungs' A");
    if (l->tile < 0 || l->tile > 32 || (l->tile > 0 && ACCESS_WARP % l->tile != 0))
        return refuse(why, why_bytes, "the tile's edge must divide 32");
    /* the host transposed it */
    if (strcmp(kernel->rung, "r03t_transposed") == 0 && !l->transposed_b) l->transposed_b = true, l->ldb = l->k;
    l->past_l1 = strcmp(kernel->rung, "r01u_uncached") == 0;
    if (!find_launch(l)) return refuse(why, why_bytes, "nothing is said of this rung's launch");
    l->block_m = l->tile > 0 ? l->tile : kernel->tile_m;
    l->block_n = l->tile > 0 ? l->tile : kernel->tile_n;
    l->block_k = l->tile > 0 ? l->tile : kernel->tile_k;
    l->grid_x = ceil_div(l->n, l->block_n), l->grid_y = ceil_div(l->m, l->block_m),
    l->tiles = ceil_div(l->k, l->block_k);
    return true;
}

access_place access_loops(const access_launch *l, const access_row *row)
{
    int64_t steps = row->over & OVER_P ? l->block_k : row->over & OVER_K ? l->k : 1;
    return (place){
        .by = l->grid_y, .bx = l->grid_x, .t = row->over & OVER_T ? l->tiles : 1, .p = steps, .e = row->times};
}

access_place access_block(const access_launch *l, int64_t number)
{
    if (l->group_m == 0) return (place){.by = number / l->grid_x, .bx = number % l->grid_x};
    int64_t of_group = l->group_m * l->grid_x, group = number / of_group, in_group = number % of_group,
            rows = least(l->group_m, l->grid_y - group * l->group_m);
    return (place){.by = group * l->group_m + in_group % rows, .bx = in_group / rows};
}

int access_warps(const access_launch *l) { return (int)ceil_div((int64_t)l->block_x * l->block_y, ACCESS_WARP); }

/* Byte address of a place's element; -1 where the lane is idle and idle lanes are asked for. */
static int64_t address_of(const access_launch *l, const access_row *row, const place *v, int thread, bool *there)
{
    int64_t where[2];
    *there = row->at(l, v, thread % l->block_x, thread / l->block_x, where);
    if (!access_is_global(row->kind)) return WORD * where[0];
    bool transposed = (row->kind == LOAD_A && l->transposed_a) || (row->kind == LOAD_B && l->transposed_b);
    int64_t ld = row->kind == LOAD_A ? l->lda : row->kind == LOAD_B ? l->ldb : l->ldc;
    return WORD * (transposed ? where[1] * ld + where[0] : where[0] * ld + where[1]);
}

void access_lanes(const access_launch *l, const access_row *row, const access_place *v, int warp,
                  int64_t address[ACCESS_WARP])
{
    for (int lane = 0; lane < ACCESS_WARP; lane++) {
        int thread = warp * ACCESS_WARP + lane;
        bool there = false;
        address[lane] = thread < l->block_x * l->block_y ? address_of(l, row, v, thread, &there) : -1;
        if (!there || row->box_rows > 0) address[lane] = -1;
    }
}

int access_owner(const access_launch *l, int64_t i, int64_t j)
{
    place v = {.by = i / l->block_m, .bx = j / l->block_n};
    for (int r = 0; r < l->rows; r++)
        for (v.e = 0; l->row[r]->kind == STORE_C && v.e < l->row[r]->times; v.e++)
            for (int thread = 0; thread < l->block_x * l->block_y; thread++) {
                int64_t where[2];
                bool there = l->row[r]->at(l, &v, thread % l->block_x, thread / l->block_x, where);
                if (there && where[0] == i && j >= where[1] && j < where[1] + l->row[r]->words) return thread;
            }
    return 0;
}

/* ---- totals ---- */

/* The values of one loop that stand for all of them: the last two each for itself (edges, and the tile that is loaded
 * ahead), of the others as many as it takes until an address lies in its 128 bytes as before. The steps of a tile are
 * few, and are all taken: in the last tile some have no work. */
typedef struct classes {
    int count;
    int64_t value[36];
    double weight[36];
} classes;

static classes classes_of(int64_t count, int64_t step_bytes, bool all)
{
    classes c = {0};
    int64_t inner = count > 2 ? count - 2 : 0, period = all ? LINE / WORD : 1;
    while (period < LINE / WORD && step_bytes * period % LINE != 0) period *= 2;
    for (int64_t i = 0; i < inner && i < period; i++) {
        c.value[c.count] = i;
        c.weight[c.count++] = (double)ceil_div(inner - i, period);
    }
    for (int64_t i = inner; i < count; i++) {
        c.value[c.count] = i;
        c.weight[c.count++] = 1;
    }
    return c;
}

/* How far the second of a loop's steps lies from the first. */
static int64_t step_of(const access_launch *l, const access_row *row, place second)
{
    bool there;
    return address_of(l, row, &second, 0, &there) - address_of(l, row, &(place){0}, 0, &there);
}

static void add(access_cost *total, access_cost cost, double weight)
{
    total->requests += weight * cost.requests;
    total->transactions += weight * cost.transactions;
    total->moved += weight * cost.moved;
    total->used += weight * cost.used;
    total->lines += weight * cost.lines;
}

/* What TMA reads for one box: the part of each of its rows that lies inside the operand, in sectors. */
static access_cost price_box(const access_launch *l, const access_row *row, const place *v)
{
    access_cost cost = {0};
    bool there;
    int64_t where[2], rows = row->kind == LOAD_A ? l->m : l->k, cols = row->kind == LOAD_A ? l->k : l->n,
                      ld = row->kind == LOAD_A ? l->lda : l->ldb, first = address_of(l, row, v, 0, &there);
    row->at(l, v, 0, 0, where);
    int64_t bytes = WORD * least(row->box_cols, cols - where[1]);
    for (int64_t i = 0; i < least(row->box_rows, rows - where[0]) && bytes > 0; i++) {
        int64_t from = first + WORD * i * ld;
        cost.transactions += (double)((from + bytes - 1) / SECTOR - from / SECTOR + 1);
        cost.lines += (double)((from + bytes - 1) / LINE - from / LINE + 1);
        cost.used += (double)bytes;
    }
    cost.moved = SECTOR * cost.transactions;
    return cost;
}

/* A request of a row and its price in each era. */
typedef struct priced {
    bool known;
    int64_t address[ACCESS_WARP];
    access_cost cost[ACCESS_ERAS];
} priced;

enum { PRICES = 64 };

/* The price of a request. The same addresses some lines of 128 bytes further cost the same, and most requests of a row
 * are such: each pattern is priced once, and found again by its checksum. */
static const access_cost *price_once(priced *prices, const access_row *row, int64_t address[ACCESS_WARP])
{
    int64_t lowest = INT64_MAX;
    uint64_t sum = 0;
    for (int i = 0; i < ACCESS_WARP; i++)
        if (address[i] >= 0) lowest = least(lowest, address[i] / LINE * LINE);
    for (int i = 0; i < ACCESS_WARP; i++) {
        if (address[i] >= 0) address[i] -= lowest;
        sum = (sum ^ (uint64_t)address[i]) * 0x9e3779b97f4a7c15U;
    }
    priced *found = &prices[(sum >> 32) % PRICES];
    if (found->known && memcmp(found->address, address, sizeof found->address) == 0) return found->cost;
    found->known = true;
    memcpy(found->address, address, sizeof found->address);
    for (int era = 0; era < ACCESS_ERAS; era++)
        found->cost[era] = access_price((access_era)era, row->kind, address, row->words);
    return found->cost;
}

static void add_warps(const access_launch *l, const access_row *row, const place *v, double weight, priced *prices,
                      access_cost total[ACCESS_ERAS])
{
    if (row->box_rows > 0) add(&total[ERA_NOW], price_box(l, row, v), weight);
    for (int warp = 0; row->box_rows == 0 && warp < access_warps(l); warp++) {
        int64_t address[ACCESS_WARP];
        access_lanes(l, row, v, warp, address);
        const access_cost *cost = price_once(prices, row, address);
        for (int era = 0; era < ACCESS_ERAS; era++) add(&total[era], cost[era], weight);
    }
}

void access_count(const access_launch *l, const access_row *row, access_cost total[ACCESS_ERAS])
{
    place loops = access_loops(l, row), v = {0};
    classes by = classes_of(loops.by, step_of(l, row, (place){.by = 1}), false),
            bx = classes_of(loops.bx, step_of(l, row, (place){.bx = 1}), false),
            t = classes_of(loops.t, step_of(l, row, (place){.t = 1}), false),
            p = classes_of(loops.p, step_of(l, row, (place){.p = 1}), (row->over & OVER_P) != 0);
    priced prices[PRICES];
    for (int i = 0; i < PRICES; i++) prices[i].known = false;
    memset(total, 0, ACCESS_ERAS * sizeof *total);
    for (int y = 0; y < by.count; y++)
        for (int x = 0; x < bx.count; x++)
            for (int s = 0; s < t.count; s++)
                for (int q = 0; q < p.count; q++)
                    for (v.e = 0; v.e < loops.e; v.e++) {
                        v.by = by.value[y], v.bx = bx.value[x], v.t = t.value[s], v.p = p.value[q];
                        add_warps(l, row, &v, by.weight[y] * bx.weight[x] * t.weight[s] * p.weight[q], prices, total);
                    }
}

void access_count_kind(const access_launch *l, access_kind kind, access_cost total[ACCESS_ERAS])
{
    memset(total, 0, ACCESS_ERAS * sizeof *total);
    for (int i = 0; i < l->rows; i++) {
        access_cost of_row[ACCESS_ERAS];
        if (l->row[i]->kind != kind) continue;
        access_count(l, l->row[i], of_row);
        for (int era = 0; era < ACCESS_ERAS; era++) add(&total[era], of_row[era], 1);
    }
}
