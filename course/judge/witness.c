/* witness.c - see witness.h. */
#include "witness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARP = 32, VECTOR = 16, TILE_WORDS = 1 << 16, OPERANDS = 3, GAP_WORDS = WITNESS_GAP / (int)sizeof(float) };

/* A, B or C as the kernel's macros subscript it: element (r, c) is word r * step[0] + c * step[1]. */
typedef struct operand {
    char letter;
    const char *place, *next[2]; /* "i, p"; one further in either subscript */
    const char *ld_name;
    const float *first;
    int edge[2];
    long step[2], ld;
    bool transposed;
    int64_t words; /* with the gap */
    unsigned char *touched;
} operand;

/* Work-items of one warp that read a word between two barriers. */
typedef struct reader {
    int thread, met[2]; /* thread -1: none */
    bool several;
} reader;

/* A word of the tiles. Of readers between two barriers two warps are kept: a store races with at least one of them. */
typedef struct tile_word {
    unsigned group;             /* to which this belongs */
    int writer, met[2], stored; /* writer -1: nobody yet; stored: barriers of the group before the first store */
    reader readers[2];
} tile_word;

struct witness {
    const host_run *run;
    int tile[3];
    operand of[OPERANDS];
    unsigned *owner; /* of a word of C: 1 + group and work-item; 0: nobody stored it */
    unsigned group;
    tile_word *tiles;
    bool faulty, reads_c;
    char why[HOST_WHY], outside[HOST_WHY], unstored[HOST_WHY];
};

witness *witness_open(const host_run *run, const int tile[3])
{
    const bool t[2] = {run->op_a != 0, run->op_b != 0};
    witness *w = calloc(1, sizeof *w);
    if (w == NULL) return NULL;
    *w = (witness){.run = run,
                   .tile = {tile[0], tile[1], tile[2]},
                   .of = {{.letter = 'A',
                           .place = "i, p",
                           .next = {"i + 1, p", "i, p + 1"},
                           .ld_name = "lda",
                           .first = run->a,
                           .edge = {run->m, run->k},
                           .ld = run->lda,
                           .transposed = t[0]},
                          {.letter = 'B',
                           .place = "p, j",
                           .next = {"p + 1, j", "p, j + 1"},
                           .ld_name = "ldb",
                           .first = run->b,
                           .edge = {run->k, run->n},
                           .ld = run->ldb,
                           .transposed = t[1]},
                          {.letter = 'C',
                           .place = "i, j",
                           .next = {"i + 1, j", "i, j + 1"},
                           .ld_name = "ldc",
                           .first = run->c,
                           .edge = {run->m, run->n},
                           .ld = run->ldc}},
                   .group = 1};
    const size_t bytes[OPERANDS] = {run->a_bytes, run->b_bytes, run->c_bytes};
    bool whole = (w->tiles = calloc(TILE_WORDS, sizeof *w->tiles)) != NULL;
    for (int i = 0; i < OPERANDS; i++) {
        operand *o = &w->of[i];
        o->words = (int64_t)(bytes[i] / sizeof(float)) + GAP_WORDS;
        o->step[0] = o->transposed ? 1 : o->ld, o->step[1] = o->transposed ? o->ld : 1;
        whole = whole && (o->touched = calloc((size_t)o->words, 1)) != NULL;
    }
    whole = whole && (w->owner = calloc((size_t)w->of[2].words, sizeof *w->owner)) != NULL;
    if (whole) return w;
    witness_close(w);
    return NULL;
}

void witness_close(witness *w)
{
    if (w == NULL) return;
    for (int i = 0; i < OPERANDS; i++) free(w->of[i].touched);
    free(w->owner);
    free(w->tiles);
    free(w);
}

const char *witness_why(const witness *w) { return w->why; }
const char *witness_outside(const witness *w) { return w->outside; }
bool witness_is_faulty(const witness *w) { return w->faulty; }
void witness_next_group(witness *w) { w->group++; }

static bool stop(witness *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool stop(witness *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(w->why, HOST_WHY, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- tiles ---- */

/* Does a barrier order what work-item s did with what t does now? */
static bool is_ordered(int s, const int of_s[2], int t, const int of_t[2])
{
    return s == t || of_s[0] != of_t[0] || (s / WARP == t / WARP && of_s[1] != of_t[1]);
}

static bool race(witness *w, host_place block, const tile_word *word, int reader_thread, int storer, const int met[2])
{
    const bool first = word->writer < 0 || word->stored == met[0];
    return stop(w, "no barrier stands between %s: work-item %d of group (%u, %u) reads a word that work-item %d stores",
                first ? "the stores into a tile and its reads" : "the reads of a tile and the next stores into it",
                reader_thread, block.x, block.y, storer);
}

static void keep_reader(tile_word *word, int thread, const int met[2])
{
    reader *free_slot = NULL;
    for (int i = 0; i < 2; i++) {
        reader *r = &word->readers[i];
        const bool now = r->thread >= 0 && r->met[0] == met[0];
        if (now && r->thread / WARP == thread / WARP) {
            if (r->met[1] == met[1]) {
                r->several = r->several || r->thread != thread;
                return;
            }
            free_slot = r;
            break;
        }
        if (!now) free_slot = r;
    }
    if (free_slot != NULL) *free_slot = (reader){thread, {met[0], met[1]}, false};
}

static bool see_word(witness *w, host_place block, int thread, const host_access *access, tile_word *word)
{
    const int *met = access->met;
    if (word->group != w->group)
        *word = (tile_word){.group = w->group, .writer = -1, .readers = {{.thread = -1}, {.thread = -1}}};
    const bool conflicts = word->writer >= 0 && !is_ordered(word->writer, word->met, thread, met);
    if (!access->store) {
        if (conflicts) return race(w, block, word, thread, word->writer, met);
        if (word->writer < 0 && w->unstored[0] == '\0')
            snprintf(w->unstored, HOST_WHY, "work-item %d of group (%u, %u) reads a word of a tile that nobody stores",
                     thread, block.x, block.y);
        keep_reader(word, thread, met);
        return true;
    }
    if (conflicts)
        return stop(w, "work-items %d and %d of group (%u, %u) store the same word of a tile with no barrier between",
                    word->writer, thread, block.x, block.y);
    for (int i = 0; i < 2; i++) {
        const reader *r = &word->readers[i];
        if (r->thread < 0) continue;
        if (!is_ordered(r->thread, r->met, thread, met) ||
            (r->several && r->thread == thread && r->met[0] == met[0] && r->met[1] == met[1]))
            return race(w, block, word, r->thread, thread, met);
    }
    if (word->writer < 0) word->stored = met[0];
    word->writer = thread, word->met[0] = met[0], word->met[1] = met[1];
    return true;
}

static bool see_tile(witness *w, host_place block, int thread, const host_access *access)
{
    const int64_t last = (access->address + access->bytes - 1) / 4;
    for (int64_t i = access->address / 4; i <= last && i < TILE_WORDS; i++)
        if (!see_word(w, block, thread, access, &w->tiles[i])) return false;
    return true;
}

/* ---- operands ---- */

static bool see_element(witness *w, host_place block, int thread, const host_access *access, operand *o, int64_t word)
{
    const int64_t slow = word / o->ld, fast = word % o->ld, row = o->transposed ? fast : slow,
                  col = o->transposed ? slow : fast;
    const bool is_c = o->letter == 'C', outside = row >= o->edge[0] || col >= o->edge[1];
    o->touched[word] = 1;
    w->reads_c = w->reads_c || (is_c && !access->store);
    if (outside && w->outside[0] == '\0') {
        const bool of_k = (o->letter == 'A' && row < o->edge[0]) || (o->letter == 'B' && col < o->edge[1]);
        snprintf(w->outside, HOST_WHY, "work-item %d of group (%u, %u) %s %c(%lld, %lld), and %c is %d x %d: %s",
                 thread, block.x, block.y, access->store ? "stores" : "reads", o->letter, (long long)row,
                 (long long)col, o->letter, o->edge[0], o->edge[1],
                 of_k ? "a step of k too many, or is a guard missing?" : "is a guard missing?");
    }
    w->faulty = w->faulty || (outside && (access->store || word >= o->words - GAP_WORDS));
    if (!access->store) return true;
    const unsigned owner = 1 + (block.y * w->run->grid.x + block.x) * HOST_MOST_THREADS + (unsigned)thread;
    if (w->owner[word] != 0 && w->owner[word] != owner)
        return w->outside[0] != '\0'
                   ? stop(w, "%s", w->outside)
                   : stop(w, "C(%lld, %lld) is stored by several work-items, one of them %d of group (%u, %u)",
                          (long long)row, (long long)col, thread, block.x, block.y);
    w->owner[word] = owner;
    return true;
}

bool witness_see(witness *w, host_place block, int thread, const host_access *access)
{
    if (access->bytes == VECTOR && (uintptr_t)access->at % VECTOR != 0)
        return stop(w, "work-item %d of group (%u, %u) %s a vector at an address that is no multiple of its %d bytes",
                    thread, block.x, block.y, access->store ? "stores" : "reads", VECTOR);
    if (access->where == HOST_COMMON)
        return stop(w, "work-item %d of group (%u, %u) stores into memory that all groups share: is a tile meant?",
                    thread, block.x, block.y);
    if (access->where == HOST_TILES) return see_tile(w, block, thread, access);
    for (int i = 0; i < OPERANDS; i++) {
        operand *o = &w->of[i];
        const uintptr_t offset = (uintptr_t)access->at - (uintptr_t)o->first;
        if (offset + (uintptr_t)access->bytes > (uintptr_t)o->words * sizeof(float) ||
            offset > (uintptr_t)o->words * sizeof(float))
            continue;
        if (access->store && o->letter != 'C') return stop(w, "%c is written", o->letter);
        for (uintptr_t word = offset / 4; word <= (offset + (uintptr_t)access->bytes - 1) / 4; word++)
            if (!see_element(w, block, thread, access, o, (int64_t)word)) return false;
        return true;
    }
    if (w->outside[0] != '\0') return stop(w, "%s", w->outside);
    return stop(w, "work-item %d of group (%u, %u) %s memory outside of A, B, C and the tiles", thread, block.x,
                block.y, access->store ? "writes" : "reads");
}

/* ---- what the words that were touched say ---- */

/* Are these words touched, and no others: element (r, c) r * rows + c * cols from the first? */
static bool fits_steps(operand *o, long rows, long cols)
{
    int64_t wanted = 0, all = 0;
    bool fits = (o->edge[0] - 1) * rows + (o->edge[1] - 1) * cols < o->words;
    for (int r = 0; fits && r < o->edge[0]; r++)
        for (int c = 0; fits && c < o->edge[1]; c++) {
            unsigned char *touched = &o->touched[r * rows + c * cols];
            fits = *touched != 0;
            wanted += *touched == 1;
            if (fits) *touched = 2;
        }
    for (int64_t i = 0; i < o->words; i++) {
        all += o->touched[i] != 0;
        if (o->touched[i] == 2) o->touched[i] = 1;
    }
    return fits && all == wanted;
}

/* The sizes that have this value: "k or lda". */
static void name_size(const host_run *r, long value, char text[80])
{
    const struct {
        const char *name;
        long value;
    } sizes[] = {{"m", r->m}, {"n", r->n}, {"k", r->k}, {"lda", r->lda}, {"ldb", r->ldb}, {"ldc", r->ldc}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (value > 1 && sizes[i].value == value)
            used += (size_t)snprintf(text + used, 80 - used, "%s%s", used > 0 ? " or " : " = ", sizes[i].name);
}

static bool name_steps(witness *w, operand *o, char text[HOST_WHY])
{
    const host_run *r = w->run;
    const long steps[] = {0, 1, r->m, r->n, r->k, r->lda, r->ldb, r->ldc, w->tile[0], w->tile[1], w->tile[2]};
    if (fits_steps(o, o->step[0], o->step[1])) return false;
    if (fits_steps(o, o->step[1], o->step[0])) {
        snprintf(text, HOST_WHY, "row and column of %c are exchanged", o->letter);
        return true;
    }
    for (int axis = 0; axis < 2; axis++)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            const long step = steps[i], right = o->step[axis];
            if (step == right || !fits_steps(o, axis == 0 ? step : o->step[0], axis == 0 ? o->step[1] : step)) continue;
            char size[80], expected[40] = "1";
            name_size(r, step, size);
            if (right != 1) snprintf(expected, sizeof expected, "%ld = %s", right, o->ld_name);
            if (step == 0)
                snprintf(text, HOST_WHY, "%c(%s) and %c(%s) are the same word", o->letter, o->place, o->letter,
                         o->next[axis]);
            else
                snprintf(text, HOST_WHY, "%c(%s) and %c(%s) are %s %ld%s words apart, expected %s", o->letter, o->place,
                         o->letter, o->next[axis], o->letter == 'C' ? "stored" : "read", step, size, expected);
            return true;
        }
    return false;
}

bool witness_group_of(const witness *w, int row, int col, host_place *group)
{
    const unsigned owner = row < w->run->m && col < w->run->n ? w->owner[row * w->run->ldc + col] : 0;
    if (owner == 0) return false;
    const unsigned number = (owner - 1) / HOST_MOST_THREADS;
    *group = (host_place){number % w->run->grid.x, number / w->run->grid.x, 0};
    return true;
}

static bool name_groups(const witness *w, char text[HOST_WHY])
{
    host_place at;
    int at_x = -1, at_y = -1;
    if ((int)w->run->grid.x != (w->run->n + w->tile[1] - 1) / w->tile[1]) return false; /* in an order of its own */
    for (int row = 0; row < w->run->m; row++)
        for (int col = 0; col < w->run->n; col++) {
            if (!witness_group_of(w, row, col, &at)) continue;
            const int x = (int)at.x, y = (int)at.y;
            if (x != row / w->tile[0] || y != col / w->tile[1]) return false;
            if (x != y && at_x < 0) at_x = x, at_y = y;
        }
    if (at_x < 0) return false;
    snprintf(text, HOST_WHY, "x and y of the group are exchanged: group (%d, %d) stores C(%d, %d)", at_x, at_y,
             at_x * w->tile[0], at_y * w->tile[1]);
    return true;
}

/* Is any element of this step of k read? */
static bool is_read(const operand *o, int axis, int p)
{
    for (int other = 0; other < o->edge[!axis]; other++)
        if (o->touched[p * o->step[axis] + other * o->step[!axis]] != 0) return true;
    return false;
}

static bool name_unread(const witness *w, const operand *o, char text[HOST_WHY])
{
    const int axis = o->letter == 'A', k = w->run->k;
    int first = -1, last = -1, count = 0;
    for (int p = 0; p < k; p++) {
        if (is_read(o, axis, p)) continue;
        if (first < 0) first = p;
        last = p, count++;
    }
    if (count == 0) return false;
    const char *what = axis == 1 ? "column" : "row";
    if (count == k)
        snprintf(text, HOST_WHY, "%c is never read", o->letter);
    else if (count == 1)
        snprintf(text, HOST_WHY, "%s %d of %c is never read", what, first, o->letter);
    else if (count == last - first + 1)
        snprintf(text, HOST_WHY, "%ss %d to %d of %c are never read%s", what, first, last, o->letter,
                 last == k - 1 && first == w->tile[2] ? ": its tile does not move" : "");
    else
        snprintf(text, HOST_WHY, "%d of the %d %ss of %c are never read, the first is %d", count, k, what, o->letter,
                 first);
    return true;
}

static bool name_unstored(const witness *w, bool all, char text[HOST_WHY])
{
    const int m = w->run->m, n = w->run->n;
    int count = 0, first_row = 0, first_col = 0;
    host_place at;
    for (int row = 0; row < m; row++)
        for (int col = 0; col < n; col++) {
            if (witness_group_of(w, row, col, &at)) continue;
            if (count++ == 0) first_row = row, first_col = col;
        }
    if (count == 0 || (all && count < m * n)) return false;
    if (count == m * n)
        snprintf(text, HOST_WHY, "C is not written");
    else
        snprintf(text, HOST_WHY, "%d of the %d elements of C are not written, the first is C(%d, %d)", count, m * n,
                 first_row, first_col);
    return true;
}

bool witness_name(witness *w, bool first, char text[HOST_WHY])
{
    if (first) {
        if (name_unstored(w, true, text) || name_groups(w, text)) return true;
        for (int i = 0; i < OPERANDS; i++)
            if (name_steps(w, &w->of[i], text)) return true;
        if (w->run->beta != 0 || !w->reads_c) return false;
        snprintf(text, HOST_WHY, "C is read where beta is 0");
        return true;
    }
    for (int i = 0; i < 2; i++)
        if (name_unread(w, &w->of[i], text)) return true;
    snprintf(text, HOST_WHY, "%s", w->outside[0] != '\0' ? w->outside : w->unstored);
    return text[0] != '\0' || name_unstored(w, false, text);
}
