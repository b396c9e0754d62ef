/* picture.c - see picture.h. Every picture is 800 units wide and its text 12 high: to be read on a laptop and on
 * paper; on a telephone it scrolls sideways. A colour never says anything alone: a text or a place says it too. */
#include "picture.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "chart_frame.h"
#include "html.h"

enum { WIDTH = 800, LETTERS = 114 /* of 7 units */, WORD = 4, LINE_WORDS = 32, SECTOR_WORDS = 8, BANKS = 32 };

const char picture_style[] =
    ".picture{font-size:12px}figure.wide{max-width:980px}.wide svg{min-width:640px}\n"
    "@media print{figure.wide{break-inside:auto}figcaption{break-after:avoid}.wide svg{min-width:0}}\n"
    ".picture .cell{stroke:var(--grid);fill:none}.picture .lane{stroke:var(--paper)}\n"
    ".picture .sector{stroke:var(--ink);fill:none;stroke-width:1.6}.picture .soft{fill-opacity:.22}\n"
    ".picture .bold{font-weight:600}.picture .small{font-size:10px}.picture .on{fill:var(--paper)}\n";

/* A, B and C in the pictures of matrices */
#define OF_A "f0"
#define OF_B "f2"
#define OF_C "f1"

/* ---- shapes ---- */

static void begin(FILE *out, const chart *about, int height)
{
    html_print(out,
               "<svg class=\"chart picture\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%t\">\n<title>%t</title>\n"
               "<desc>%t</desc>\n",
               WIDTH, height, about->title, about->title, about->description);
}

static int64_t lower(int64_t x, int64_t y) { return x < y ? x : y; }

static int64_t ceil_div(int64_t x, int64_t y) { return x / y + (x % y != 0); }

static void rect(FILE *out, const char *class, double x, double y, double width, double height)
{
    fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", class, x, y, width,
            height);
}

static void grid(FILE *out, double x, double y, int cols, int rows, double width, double height)
{
    fputs("<path class=\"cell\" d=\"", out);
    for (int r = 0; r <= rows; r++) fprintf(out, "M%.1f %.1fh%.1f", x, y + r * height, cols * width);
    for (int c = 0; c <= cols; c++) fprintf(out, "M%.1f %.1fv%.1f", x + c * width, y, rows * height);
    fputs("\"/>\n", out);
}

__attribute__((format(printf, 5, 6))) static void label(FILE *out, const char *class, double x, double y,
                                                        const char *format, ...)
{
    char text[LETTERS];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    frame_text(out, class, x, y, LETTERS, text);
}

/* ---- one element ---- */

void picture_footprint(FILE *out, const chart *about, const picture_element *x)
{
    enum { CELL = 13, SIDE = PICTURE_WINDOW * CELL, A = 130, C = A + SIDE + 70, B_TOP = 40, TOP = B_TOP + SIDE + 44 };
    const int64_t i0 = x->i / PICTURE_WINDOW * PICTURE_WINDOW, j0 = x->j / PICTURE_WINDOW * PICTURE_WINDOW;
    const int rows = (int)lower(PICTURE_WINDOW, x->m - i0), cols = (int)lower(PICTURE_WINDOW, x->n - j0),
              depth = (int)lower(PICTURE_WINDOW, x->k);
    const double row = TOP + (double)(x->i - i0) * CELL, col = C + (double)(x->j - j0) * CELL;
    begin(out, about, TOP + SIDE + 26);
    rect(out, OF_A, A, row, depth * CELL, CELL);
    rect(out, OF_B, col, B_TOP, CELL, depth * CELL);
    rect(out, OF_C, col, row, CELL, CELL);
    grid(out, A, TOP, depth, rows, CELL, CELL);
    grid(out, C, B_TOP, cols, depth, CELL, CELL);
    grid(out, C, TOP, cols, rows, CELL, CELL);
    label(out, "bold", 8, TOP + 11, "A");
    label(out, "bold", C - 60, B_TOP + 11, "B");
    label(out, "bold", C - 22, TOP + 11, "C");
    label(out, "end", A - 6, row + 11, "row %" PRId64 " of A", x->i);
    label(out, "middle", col + CELL / 2.0, B_TOP - 8, "column %" PRId64 " of B", x->j);
    label(out, "", C + SIDE + 8, row + 11, "C(%" PRId64 ",%" PRId64 ")", x->i, x->j);
    label(out, "faint", A, TOP - 6, "p = 0");
    label(out, "end faint", C - 6, B_TOP + 11, "p = 0");
    if (depth > 1) {
        if (depth > 4) label(out, "end faint", A + depth * CELL, TOP - 6, "%d", depth - 1);
        label(out, "end faint", C - 6, B_TOP + depth * CELL - 2, "%d", depth - 1);
    }
    if (x->k > depth) {
        label(out, "end faint", A + SIDE, TOP + rows * CELL + 14, "and on to p = %" PRId64, x->k - 1);
        label(out, "faint", C + SIDE + 8, B_TOP + SIDE - 2, "and on to p = %" PRId64, x->k - 1);
    }
    frame_end(out);
}

/* ---- tiles ---- */

/* Up to `most` numbers of tiles out of count that stand for all; the last of them is the last tile. */
typedef struct shown {
    int count;
    int64_t at[4];
} shown;

/* The pair that holds `near`. */
static shown pair_of(int64_t near, int64_t count)
{
    const int64_t first = near / 2 * 2;
    return (shown){(int)lower(2, count - first), {first, first + 1}};
}

static shown first_and_last(int64_t count)
{
    shown s = {(int)lower(4, count), {0, 1, 2, 3}};
    if (count > 4) s.at[2] = -1, s.at[3] = count - 1; /* -1: a gap */
    return s;
}

enum { TILE_W = 64, TILE_H = 26 };

/* What stands in a tile, and how it is drawn. */
typedef struct tile_look {
    const char *class, *text;
} tile_look;

/* A matrix of tiles with their numbers above and at the left. look(row, col) of each that is something special. */
typedef tile_look look_of(const picture_tiles *x, int64_t t, int64_t row, int64_t col);

static void tile_matrix(FILE *out, double left, const char *name, const shown *rows, const shown *cols, look_of *look,
                        const picture_tiles *x, int64_t t)
{
    enum { TOP = 52 };
    label(out, "bold", left - 62, TOP - 8, "%s", name);
    for (int c = 0; c < cols->count; c++)
        if (cols->at[c] >= 0) label(out, "middle faint", left + (c + 0.5) * TILE_W, TOP - 8, "%" PRId64, cols->at[c]);
    for (int r = 0; r < rows->count; r++) {
        const double y = TOP + r * TILE_H;
        if (rows->at[r] >= 0) label(out, "end faint", left - 6, y + 17, "%" PRId64, rows->at[r]);
        for (int c = 0; c < cols->count; c++) {
            const double at = left + c * TILE_W;
            const bool gap = rows->at[r] < 0 || cols->at[c] < 0;
            const tile_look l = gap ? (tile_look){"", "..."} : look(x, t, rows->at[r], cols->at[c]);
            if (l.class[0] != '\0') rect(out, l.class, at, y, TILE_W, TILE_H);
            if (!gap) rect(out, "cell", at, y, TILE_W, TILE_H);
            if (l.text[0] != '\0')
                label(out, strchr(l.class, ' ') == NULL && !gap ? "middle on" : "middle faint", at + TILE_W / 2.0,
                      y + 17, "%s", l.text);
        }
    }
}

static tile_look look_a(const picture_tiles *x, int64_t t, int64_t row, int64_t col)
{
    if (row != x->of.i / x->bm || col > t) return (tile_look){"", ""};
    return col < t ? (tile_look){OF_A " soft", "done"} : (tile_look){OF_A, "A"};
}

static tile_look look_b(const picture_tiles *x, int64_t t, int64_t row, int64_t col)
{
    if (col != x->of.j / x->bn || row > t) return (tile_look){"", ""};
    return row < t ? (tile_look){OF_B " soft", "done"} : (tile_look){OF_B, "B"};
}

static tile_look look_c(const picture_tiles *x, int64_t t, int64_t row, int64_t col)
{
    (void)t;
    if (row != x->of.i / x->bm || col != x->of.j / x->bn) return (tile_look){"", ""};
    return (tile_look){OF_C, "+= A B"};
}

void picture_iteration(FILE *out, const chart *about, const picture_tiles *x, int64_t t)
{
    enum { A = 72, B = A + 4 * TILE_W + 76, C = B + 2 * TILE_W + 76, TOP = 52 };
    const int64_t bi = x->of.i / x->bm, bj = x->of.j / x->bn, tiles = ceil_div(x->of.k, x->bk);
    const shown rows = pair_of(bi, ceil_div(x->of.m, x->bm)), cols = pair_of(bj, ceil_div(x->of.n, x->bn)),
                depth = first_and_last(tiles);
    const int high = depth.count > rows.count ? depth.count : rows.count, bottom = TOP + high * TILE_H;
    begin(out, about, bottom + 38);
    label(out, "bold", 8, 16, "iteration %" PRId64 " of %" PRId64 ", p from %" PRId64 " to %" PRId64, t + 1, tiles,
          t * x->bk, lower((t + 1) * x->bk, x->of.k) - 1);
    tile_matrix(out, A, "A", &rows, &depth, look_a, x, t);
    tile_matrix(out, B, "B", &depth, &cols, look_b, x, t);
    tile_matrix(out, C, "C", &rows, &cols, look_c, x, t);
    label(out, "", 8, bottom + 16,
          "C(%" PRId64 ",%" PRId64 ") += A(%" PRId64 ",%" PRId64 ") B(%" PRId64 ",%" PRId64 "); %s", bi, bj, bi, t, t,
          bj, x->where);
    frame_end(out);
}

void picture_blocks(FILE *out, const chart *about, int row, int col)
{
    enum { SIDE = 46, HIGH = 34, TOP = 14 };
    static const double left[3] = {30, 166, 302};
    static const char *const classes[3] = {OF_A, OF_B, OF_C};
    begin(out, about, TOP + 2 * HIGH + 14);
    for (int of = 0; of < 3; of++)
        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 2; c++) {
                const bool here = (of == 1 || r == row) && (of == 0 || c == col);
                const double x = left[of] + c * SIDE, y = TOP + r * HIGH;
                rect(out, here ? classes[of] : "cell", x, y, SIDE, HIGH);
                if (here) rect(out, "cell", x, y, SIDE, HIGH);
                label(out, here ? "middle on" : "middle", x + SIDE / 2.0, y + 21, "%c%d%d", "ABC"[of], r + 1, c + 1);
            }
    label(out, "middle", left[1] - 22, TOP + HIGH + 4, "x");
    label(out, "middle", left[2] - 22, TOP + HIGH + 4, "=");
    for (int of = 0; of < 4; of++) {
        const int r = of / 2 + 1, c = of % 2 + 1;
        const bool here = r == row + 1 && c == col + 1;
        label(out, here ? "bold" : "faint", 450, TOP + 12 + of * 18, "C%d%d = A%d1 B1%d + A%d2 B2%d%s", r, c, r, c, r,
              c, here ? "   holds the element" : "");
    }
    frame_end(out);
}

/* ---- the outer product ---- */

void picture_outer(FILE *out, const chart *about, const picture_tiles *x, int p, const char *words)
{
    enum { CELL = 8, A = 72, B = A + 130 + 44, SIDE = 224, C = B + SIDE + 44, TOP = 46, COLS = 32 };
    const int rows = (int)x->bm, depth = (int)x->bk, row = (int)(x->of.i % x->bm), col = (int)(x->of.j % x->bn);
    const double wide = (double)SIDE / (double)x->bn, mark = wide > 4 ? wide : 4,
                 at = (double)lower((int64_t)(col * wide), SIDE - (int64_t)mark),
                 bottom = TOP + (rows > depth ? rows : depth) * CELL;
    begin(out, about, (int)bottom + 42);
    label(out, "bold", 8, 16, "step p = %d", p);
    label(out, "middle", A + depth * CELL / 2.0, TOP - 8, "A's tile: column %d", p);
    label(out, "middle", B + SIDE / 2.0, TOP - 8, "B's tile: row %d", p);
    label(out, "middle", C + SIDE / 2.0, TOP - 8, "C's tile: all of it");
    rect(out, OF_A " soft", A + p * CELL, TOP, CELL, rows * CELL);
    rect(out, OF_B " soft", B, TOP + p * CELL, SIDE, CELL);
    rect(out, OF_C " soft", C, TOP, SIDE, rows * CELL);
    grid(out, A, TOP, depth, rows, CELL, CELL);
    grid(out, B, TOP, COLS, depth, (double)SIDE / COLS, CELL);
    grid(out, C, TOP, COLS, rows, (double)SIDE / COLS, CELL);
    rect(out, OF_A, A + p * CELL, TOP + row * CELL, CELL, CELL);
    rect(out, OF_B, B + at, TOP + p * CELL, mark, CELL);
    rect(out, OF_C, C + at, TOP + row * CELL, mark, CELL);
    label(out, "end faint", A - 6, TOP + row * CELL + 8, "row %d", row);
    label(out, "middle faint", B + at + mark / 2, bottom + 14, "column %d", col);
    label(out, "middle faint", C + at + mark / 2, bottom + 14, "column %d", col);
    label(out, "", 8, bottom + 34, "%s", words);
    frame_end(out);
}

/* ---- the skinny product ---- */

void picture_skinny_tiles(FILE *out, const chart *about, const picture_tiles *x)
{
    enum { WIDE = 56, HIGH = 34, A = 80, C = A + WIDE + 90, B_TOP = 40, TOP = B_TOP + HIGH + 26 };
    const int64_t bi = x->of.i / x->bm, bj = x->of.j / x->bn, tiles_m = ceil_div(x->of.m, x->bm),
                  tiles_n = ceil_div(x->of.n, x->bn), first_i = bi > 0 ? bi - 1 : 0, first_j = bj > 0 ? bj - 1 : 0;
    const int rows = (int)lower(3, tiles_m - first_i), cols = (int)lower(3, tiles_n - first_j);
    const double row = TOP + (double)(bi - first_i) * HIGH, col = C + (double)(bj - first_j) * WIDE;
    begin(out, about, TOP + 3 * HIGH + 10);
    rect(out, OF_A, A, row, WIDE, HIGH);
    rect(out, OF_B, col, B_TOP, WIDE, HIGH);
    rect(out, OF_C, col, row, WIDE, HIGH);
    grid(out, A, TOP, 1, rows, WIDE, HIGH);
    grid(out, C, B_TOP, cols, 1, WIDE, HIGH);
    grid(out, C, TOP, cols, rows, WIDE, HIGH);
    for (int r = 0; r < rows; r++) label(out, "end faint", A - 6, TOP + r * HIGH + 21, "%" PRId64, first_i + r);
    for (int c = 0; c < cols; c++) label(out, "middle faint", C + (c + 0.5) * WIDE, B_TOP - 8, "%" PRId64, first_j + c);
    label(out, "middle on", A + WIDE / 2.0, row + 21, "a");
    label(out, "middle on", col + WIDE / 2.0, B_TOP + 21, "b");
    label(out, "middle on", col + WIDE / 2.0, row + 21, "c");
    label(out, "bold", A, TOP - 8, "A");
    label(out, "bold", C - 22, B_TOP + 21, "B");
    label(out, "bold", C - 22, TOP + 21, "C");
    label(out, "", C + 3 * WIDE + 24, TOP + 21, "a: tile %" PRId64 " of A, %" PRId64 " x %" PRId64, bi, x->bm, x->bk);
    label(out, "", C + 3 * WIDE + 24, TOP + 41, "b: tile %" PRId64 " of B, %" PRId64 " x %" PRId64, bj, x->bk, x->bn);
    label(out, "", C + 3 * WIDE + 24, TOP + 61, "c = a b: tile (%" PRId64 ",%" PRId64 ") of C, one block of threads",
          bi, bj);
    frame_end(out);
}

void picture_skinny_row(FILE *out, const chart *about, const picture_tiles *x)
{
    enum { SIDE = 160, A = 150, C = A + SIDE + 40, B_TOP = 30, TOP = B_TOP + SIDE + 34 };
    const int edge = (int)x->bm;
    const double cell = (double)SIDE / edge, row = TOP + (double)(x->of.i % edge) * cell,
                 col = C + (double)(x->of.j % edge) * cell;
    begin(out, about, TOP + SIDE + 26);
    rect(out, OF_A, A, row, SIDE, cell);
    rect(out, OF_B " soft", C, B_TOP, SIDE, SIDE);
    rect(out, OF_C " soft", C, row, SIDE, cell);
    rect(out, OF_B, col, B_TOP, cell, SIDE);
    rect(out, OF_C, col, row, cell, cell);
    grid(out, A, TOP, edge, edge, cell, cell);
    grid(out, C, B_TOP, edge, edge, cell, cell);
    grid(out, C, TOP, edge, edge, cell, cell);
    label(out, "end", A - 6, row + cell / 2 + 4, "row %" PRId64 " of A", x->of.i);
    label(out, "", C + SIDE + 10, B_TOP + 12, "all of B's tile");
    label(out, "middle", col + cell / 2, TOP - 8, "column %" PRId64, x->of.j);
    label(out, "", C + SIDE + 10, row + cell / 2 + 4, "row %" PRId64 " of C's tile: %d threads", x->of.i % edge, edge);
    frame_end(out);
}

/* ---- a warp ---- */

enum { BOX = 15, WARP_LEFT = 164, WARP_RIGHT = WARP_LEFT + LINE_WORDS * BOX + 8 };

/* Eight lanes share a colour, and each has its number. */
static const char *lane_class(int lane)
{
    static const char *const classes[4] = {"lane f0", "lane f1", "lane f2", "lane f3"};
    return classes[lane / 8];
}

/* A word that lanes want; they are bits. */
typedef struct wanted {
    int64_t word;
    uint32_t lanes;
} wanted;

enum { MOST_WANTED = 4 * ACCESS_WARP };

static int by_word(const void *a, const void *b)
{
    const wanted *x = a, *y = b;
    return (x->word > y->word) - (x->word < y->word);
}

/* The words that lanes first to first + lanes - 1 want, each once, in the order of their addresses. */
static int find_wanted(const picture_request *x, int first, int lanes, wanted out[MOST_WANTED])
{
    int count = 0, kept = 0;
    for (int lane = first; lane < first + lanes; lane++)
        for (int w = 0; w < x->words && x->address[lane] >= 0; w++)
            out[count++] = (wanted){x->address[lane] / WORD + w, UINT32_C(1) << lane};
    qsort(out, (size_t)count, sizeof *out, by_word);
    for (int i = 0; i < count; i++)
        if (kept > 0 && out[kept - 1].word == out[i].word)
            out[kept - 1].lanes |= out[i].lanes;
        else
            out[kept++] = out[i];
    return kept;
}

static int first_lane(uint32_t lanes)
{
    int lane = 0;
    while ((lanes >> lane & 1) == 0) lane++;
    return lane;
}

/* "lanes 0-7, 16" */
static void lanes_text(uint32_t lanes, char *out, size_t bytes)
{
    int used = snprintf(out, bytes, "%s", (lanes & (lanes - 1)) == 0 ? "lane" : "lanes");
    const char *between = " ";
    for (int from = 0, to; from < ACCESS_WARP && (size_t)used < bytes; from = to) {
        to = from + 1;
        if ((lanes >> from & 1) == 0) continue;
        while (to < ACCESS_WARP && lanes >> to & 1) to++;
        used += snprintf(out + used, bytes - (size_t)used, to - from > 1 ? "%s%d-%d" : "%s%d", between, from, to - 1);
        between = ", ";
    }
}

/* A word as a square: the lane that wants it, * for several. */
static void draw_word(FILE *out, const wanted *w, double x, double y)
{
    char lanes[140];
    const int lane = first_lane(w->lanes);
    lanes_text(w->lanes, lanes, sizeof lanes);
    fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\"><title>%s</title></rect>\n",
            lane_class(lane), x, y, BOX, BOX, lanes);
    if ((w->lanes & (w->lanes - 1)) == 0)
        label(out, "middle on small", x + BOX / 2.0, y + 11, "%d", lane);
    else
        label(out, "middle on small", x + BOX / 2.0, y + 13, "*");
}

void picture_lanes(FILE *out, const chart *about)
{
    enum { TOP = 8 };
    begin(out, about, TOP + BOX + 24);
    label(out, "end", WARP_LEFT - 8, TOP + 11, "the lanes of a warp");
    for (int lane = 0; lane < ACCESS_WARP; lane++) {
        const wanted w = {0, UINT32_C(1) << lane};
        draw_word(out, &w, WARP_LEFT + lane * BOX, TOP);
    }
    for (int group = 0; group < 4; group++)
        label(out, "middle faint", WARP_LEFT + (group * 8 + 4) * BOX, TOP + BOX + 16, "lanes %d-%d", 8 * group,
              8 * group + 7);
    frame_end(out);
}

/* Row by row a line of 128 bytes that is touched: at the left the first element wanted, at the right who wants it. */
void picture_sectors(FILE *out, const chart *about, const picture_request *x)
{
    enum { TOP = 42, ROW = BOX + 6 };
    wanted words[MOST_WANTED] = {{0}};
    const int count = find_wanted(x, 0, ACCESS_WARP, words);
    int lines = 0;
    for (int i = 0; i < count; i++) lines += i == 0 || words[i].word / LINE_WORDS != words[i - 1].word / LINE_WORDS;
    begin(out, about, TOP + lines * ROW + 4);
    label(out, "bold", 8, 16, "%s", x->count);
    for (int s = 0; s < 4; s++)
        label(out, "faint", WARP_LEFT + s * SECTOR_WORDS * BOX, TOP - 8, s == 0 ? "byte %d" : "%d", s * 32);
    label(out, "faint", WARP_RIGHT, TOP - 8, "of a 128-byte line");
    for (int i = 0, line = -1, last; i < count; i = last) {
        const int64_t at = words[i].word / LINE_WORDS, row = words[i].word / x->ld, col = words[i].word % x->ld;
        const double y = TOP + ++line * ROW;
        uint32_t lanes = 0;
        bool touched[4] = {false};
        char text[140];
        grid(out, WARP_LEFT, y, LINE_WORDS, 1, BOX, BOX);
        for (last = i; last < count && words[last].word / LINE_WORDS == at; last++) {
            const int place = (int)(words[last].word % LINE_WORDS);
            touched[place / SECTOR_WORDS] = true;
            lanes |= words[last].lanes;
            draw_word(out, &words[last], WARP_LEFT + place * BOX, y);
        }
        for (int s = 0; s < 4; s++)
            if (touched[s]) rect(out, "sector", WARP_LEFT + s * SECTOR_WORDS * BOX, y - 1, SECTOR_WORDS * BOX, BOX + 2);
        label(out, "end", WARP_LEFT - 8, y + 11, "%c(%" PRId64 ",%" PRId64 ")", x->operand, x->transposed ? col : row,
              x->transposed ? row : col);
        lanes_text(lanes, text, sizeof text);
        label(out, "", WARP_RIGHT, y + 11, "%.18s%s", text, strlen(text) > 18 ? "..." : "");
    }
    frame_end(out);
}

/* Lanes of 16 bytes go by half-warps, one after the other. */
void picture_banks(FILE *out, const chart *about, const picture_request *x)
{
    const int parts = x->words > 1 ? 2 : 1, lanes = ACCESS_WARP / parts;
    wanted words[2][MOST_WANTED] = {{{0}}};
    int count[2] = {0}, level[2][MOST_WANTED], high = 0, base[3] = {0};
    for (int part = 0; part < parts; part++) {
        int of_bank[BANKS] = {0};
        count[part] = find_wanted(x, part * lanes, lanes, words[part]);
        for (int i = 0; i < count[part]; i++) {
            level[part][i] = base[part] + of_bank[words[part][i].word % BANKS]++;
            if (level[part][i] + 1 > high) high = level[part][i] + 1;
        }
        base[part + 1] = high;
    }
    const double top = 30, bottom = top + high * BOX;
    begin(out, about, (int)bottom + 24);
    label(out, "bold", 8, 16, "%s", x->count);
    grid(out, WARP_LEFT, top, BANKS, high, BOX, BOX);
    for (int part = 0; part < parts; part++)
        for (int i = 0; i < count[part]; i++)
            draw_word(out, &words[part][i], WARP_LEFT + (double)(words[part][i].word % BANKS) * BOX,
                      bottom - (level[part][i] + 1) * BOX);
    for (int l = 0; l < high; l++) label(out, "end faint", WARP_LEFT - 8, bottom - l * BOX - 3, "wavefront %d", l + 1);
    for (int part = 0; part < parts && parts > 1; part++)
        if (base[part + 1] > base[part])
            label(out, "", WARP_RIGHT, bottom - base[part] * BOX - 3, "lanes %d-%d", part * lanes,
                  part * lanes + lanes - 1);
    label(out, "end faint", WARP_LEFT - 8, bottom + 14, "bank");
    for (int b = 0; b < BANKS; b++) label(out, "middle faint small", WARP_LEFT + (b + 0.5) * BOX, bottom + 14, "%d", b);
    frame_end(out);
}
