/* pictures.c - the documents' pictures, drawn in text for the element of C that --element names: its footprint
 * in A and B, the tiles and their iterations, the outer product step by step, the skinny product's figures. */
#include <inttypes.h>
#include <string.h>
#include "../../program/layout.h"
#include "explain.h"

enum { WINDOW = 16 };

static int64_t lower(int64_t x, int64_t y) { return x < y ? x : y; }

/* ---- one element ---- */

/* 5kk73: C(3,11) in red, its row in blue, its column in green; the 16 x 16 corner that holds the element. */
static void footprint(const explain *x)
{
    FILE *text = x->text;
    const tw_problem *p = &x->problem;
    int64_t i0 = x->i / WINDOW * WINDOW, j0 = x->j / WINDOW * WINDOW;
    int rows = (int)lower(WINDOW, p->m - i0), cols = (int)lower(WINDOW, p->n - j0), depth = (int)lower(WINDOW, p->k);
    fprintf(text, "C(%" PRId64 ",%" PRId64 ") needs row %" PRId64 " of A (=) and column %" PRId64 " of B (|)", x->i,
            x->j, x->i, x->j);
    fprintf(text, "; shown: rows from %" PRId64 ", columns from %" PRId64 ", the first %d of k\n\n", i0, j0, depth);
    for (int q = 0; q < depth; q++) {
        fprintf(text, "%*s", 2 * WINDOW + 5, q == 0 ? "B  " : "");
        for (int j = 0; j < cols; j++) fprintf(text, " %c", j0 + j == x->j ? '|' : '.');
        fputc('\n', text);
    }
    fputc('\n', text);
    for (int i = 0; i < rows; i++) {
        fprintf(text, "%s", i == 0 ? " A" : "  ");
        for (int q = 0; q < WINDOW; q++) fprintf(text, " %c", q >= depth ? ' ' : i0 + i == x->i ? '=' : '.');
        fprintf(text, "%s", i == 0 ? " C " : "   ");
        for (int j = 0; j < cols; j++) fprintf(text, " %c", i0 + i == x->i && j0 + j == x->j ? 'x' : '.');
        fputc('\n', text);
    }
}

void explain_written_out(FILE *text, const explain *x)
{
    int64_t k = x->problem.k, shown = lower(k, 3);
    fprintf(text, "C(%" PRId64 ",%" PRId64 ") = ", x->i, x->j);
    for (int64_t p = 0; p < shown; p++)
        fprintf(text, "%sA(%" PRId64 ",%" PRId64 ") B(%" PRId64 ",%" PRId64 ")", p > 0 ? " + " : "", x->i, p, p, x->j);
    if (k > shown + 1) fprintf(text, " + ...");
    if (k > shown) fprintf(text, " + A(%" PRId64 ",%" PRId64 ") B(%" PRId64 ",%" PRId64 ")", x->i, k - 1, k - 1, x->j);
}

/* ---- tiles ---- */

int64_t explain_iterations(const explain *x) { return (x->problem.k + x->block_k - 1) / x->block_k; }

void explain_tile_product(FILE *text, const explain *x)
{
    int64_t bi = x->i / x->block_m, bj = x->j / x->block_n, tiles = explain_iterations(x);
    fprintf(text, "of tiles: C(%" PRId64 ",%" PRId64 ") = ", bi, bj);
    for (int64_t t = 0; t < lower(tiles, 2); t++)
        fprintf(text, "%sA(%" PRId64 ",%" PRId64 ") B(%" PRId64 ",%" PRId64 ")", t > 0 ? " + " : "", bi, t, t, bj);
    if (tiles > 3) fprintf(text, " + ...");
    if (tiles > 2)
        fprintf(text, " + A(%" PRId64 ",%" PRId64 ") B(%" PRId64 ",%" PRId64 ")", bi, tiles - 1, tiles - 1, bj);
    fprintf(text, ", one product in each iteration");
}

/* Three matrices of 2 x 2 tiles side by side; ## is a tile that this iteration works with. */
static void four_tiles(FILE *text, int64_t t, int row, int col)
{
    fprintf(text, "\n  iteration %" PRId64 "   A .----.----.    B .----.----.    C .----.----.\n", t + 1);
    for (int r = 0; r < 2; r++) {
        fprintf(text, "                ");
        fprintf(text, "|%s|%s|      ", r == row && t % 2 == 0 ? "####" : "    ",
                r == row && t % 2 == 1 ? "####" : "    ");
        fprintf(text, "|%s|%s|      ", r == t % 2 && col == 0 ? "####" : "    ",
                r == t % 2 && col == 1 ? "####" : "    ");
        fprintf(text, "|%s|%s|\n", r == row && col == 0 ? "####" : "    ", r == row && col == 1 ? "####" : "    ");
        fprintf(text, "                %s      %s      %s\n", r == 0 ? "|----|----|" : "'----'----'",
                r == 0 ? "|----|----|" : "'----'----'", r == 0 ? "|----|----|" : "'----'----'");
    }
}

/* 5kk73 (32 x 32 in four tiles of 16 x 16, two iterations) and Ruiz 2024 (the 2 x 2 block product). */
static void tiles(const explain *x)
{
    FILE *text = x->text;
    int64_t bi = x->i / x->block_m, bj = x->j / x->block_n, count = explain_iterations(x);
    fprintf(text,
            "C in tiles of %" PRId64 " x %" PRId64 ": the element lies in tile (%" PRId64 ",%" PRId64 "), at (%" PRId64
            ",%" PRId64 ") of it\n\n",
            x->block_m, x->block_n, bi, bj, x->i % x->block_m, x->j % x->block_n);
    explain_tile_product(text, x);
    fprintf(text, "\n\nthe 2 x 2 tiles around it (%" PRId64 " x %" PRId64 " elements), of two iterations:\n",
            2 * x->block_m, 2 * x->block_n);
    for (int64_t t = 0; t < lower(count, 2); t++) four_tiles(text, t, (int)(bi % 2), (int)(bj % 2));
    fprintf(text,
            "\nas a product of blocks, each row or column of C is\n"
            "  C11 = A11 B11 + A12 B21    C12 = A11 B12 + A12 B22\n"
            "  C21 = A21 B11 + A22 B21    C22 = A21 B12 + A22 B22      here: C%d%d\n",
            (int)(bi % 2) + 1, (int)(bj % 2) + 1);
}

/* ---- the outer product ---- */

/* Letters of a row of B's tile: four columns each, or more where a line has no room. */
static int outer_letters(const explain *x)
{
    const int line = layout_width(x->text), most = line == 0 || line >= 96 ? 32 : 24;
    int letters = (int)x->block_n / 4;
    while (letters > most) letters /= 2;
    return letters;
}

/* A's tile 16 x 16 and B's 16 x bn, so many columns to a letter, with the column and row of iteration p. */
static void outer_step(const explain *x, int p)
{
    FILE *text = x->text;
    const int width = outer_letters(x), row = (int)(x->i % x->block_m),
              cell = (int)(x->j % x->block_n / (x->block_n / width));
    fprintf(text, "\n  iteration %d: column %d of A's tile times row %d of B's\n", p + 1, p, p);
    for (int r = 0; r < WINDOW; r++) {
        fprintf(text, "   %s ", r == 0 ? "A" : " ");
        for (int c = 0; c < WINDOW; c++) fputc(c == p ? (r == row ? 'a' : '|') : '.', text);
        fprintf(text, "   %s ", r == 0 ? "B" : " ");
        for (int c = 0; c < width; c++) fputc(r == p ? (c == cell ? 'b' : '=') : '.', text);
        fprintf(text, "   %s ", r == 0 ? "C" : " ");
        for (int c = 0; c < width; c++) fputc(r == row && c == cell ? 'x' : '+', text);
        fputc('\n', text);
    }
}

int64_t explain_outer_thread(const explain *x)
{
    bool wide = strcmp(x->kernel->rung, "r09_wide") == 0; /* a thread owns four neighbours there */
    return wide ? x->j % x->block_n / 4 : x->j % 64;
}

static void outer(const explain *x)
{
    static const int steps[] = {0, 1, 15};
    FILE *text = x->text;
    int64_t bi = x->i / x->block_m, bj = x->j / x->block_n;
    fprintf(text,
            "C in tiles of %" PRId64 " x %" PRId64 ": the element lies in tile (%" PRId64 ",%" PRId64
            "). Step 1: A's tile goes to shared memory. Step 2: 16 iterations, each "
            "an outer product that adds to the whole tile of C (+). Step 3: each thread stores its column. The element "
            "is sum[%" PRId64 "] of thread "
            "%" PRId64 ": each iteration adds a(%" PRId64 ",p) from shared memory times b(p,%" PRId64
            ") from its register. B and C: a letter is %" PRId64 " columns.\n",
            x->block_m, x->block_n, bi, bj, x->i % x->block_m, explain_outer_thread(x), x->i, x->j,
            x->block_n / outer_letters(x));
    for (size_t s = 0; s < sizeof steps / sizeof *steps && steps[s] < x->problem.k; s++) {
        if (s == 2) fprintf(text, "\n  ... iterations 3 to 15 in the same way\n");
        outer_step(x, steps[s]);
    }
}

/* ---- the skinny product ---- */

/* A line of the figure: an edge between tiles, or tiles of which the one at `marked` has a letter. */
static void tile_edge(FILE *text, int count, char corner)
{
    fputc(corner, text);
    for (int i = 0; i < count; i++) fprintf(text, "---%c", corner);
}

static void tile_row(FILE *text, int count, int marked, char letter)
{
    fputc('|', text);
    for (int i = 0; i < count; i++) fprintf(text, " %c |", i == marked ? letter : ' ');
}

/* Three tiles are drawn, fewer where there are not so many: where among them is this one of `count`? */
static int drawn_at(int64_t tile, int64_t count)
{
    return tile == 0 ? 0 : tile + 1 < count ? 1 : (int)lower(count, 3) - 1;
}

/* The figures of NVIDIA Best Practices: A one column of tiles, B one row, C their outer product; and the
 * half-warp that makes one row of a tile. */
static void skinny(const explain *x)
{
    FILE *text = x->text;
    int T = x->tile;
    int64_t bi = x->i / T, bj = x->j / T, down = (x->problem.m + T - 1) / T, across = (x->problem.n + T - 1) / T;
    int rows = (int)lower(down, 3), cols = (int)lower(across, 3);
    fprintf(text,
            "figure 1: A is one column of %d x %d tiles, B one row; C is their outer product, one block of threads for "
            "each tile\n\n",
            T, T);
    fprintf(text, "              B ");
    tile_edge(text, cols, '.');
    fprintf(text, "\n                ");
    tile_row(text, cols, drawn_at(bj, across), 'b');
    fprintf(text, "      b: tile %" PRId64 " of B's %" PRId64, bj, across);
    for (int row = 0; row < rows; row++) {
        bool marked = row == drawn_at(bi, down);
        fprintf(text, row == 0 ? "\n    A .---.   C " : "\n      |---|     ");
        tile_edge(text, cols, '|');
        fprintf(text, "\n      | %c |     ", marked ? 'a' : ' ');
        tile_row(text, cols, marked ? drawn_at(bj, across) : -1, 'x');
        if (marked)
            fprintf(text,
                    "      a: tile %" PRId64 " of A's %" PRId64 ";  x: tile (%" PRId64 ",%" PRId64
                    ") of C, which holds the element",
                    bi, down, bi, bj);
    }
    fprintf(text, "\n      '---'     ");
    tile_edge(text, cols, '\'');
    fprintf(text, "\n\n");
    fprintf(text,
            "figure 2: the %d threads of row %" PRId64 " of the block make row %" PRId64
            " of the tile, from row %" PRId64 " of A and all of B's tile\n\n",
            T, x->i % T, x->i % T, x->i);
    for (int r = 0; r < T; r += T / 8) {
        fprintf(text, "      %*s   ", T / 2, "");
        for (int c = 0; c < T; c++) fputc('B', text);
        fprintf(text, "\n");
    }
    fprintf(text, "      ");
    for (int c = 0; c < T / 2; c++) fputc('A', text);
    fprintf(text, "   ");
    for (int c = 0; c < T; c++) fputc(c == x->j % T ? 'x' : 'c', text);
    fprintf(text, "      (drawn at half the height and half A's width)\n");
}

/* ---- which thread ---- */

void explain_owner(FILE *text, const explain *x)
{
    const access_launch *l = &x->launch;
    int64_t by = x->i / l->block_m, bx = x->j / l->block_n;
    int thread = access_owner(l, x->i, x->j);
    fprintf(text,
            "C(%" PRId64 ",%" PRId64 ") is computed by thread (tx %d, ty %d) of block (bx %" PRId64 ", by %" PRId64
            "): lane %d of warp %d. Grid: %" PRId64 " x %" PRId64 " blocks of %d x %d threads",
            x->i, x->j, thread % l->block_x, thread / l->block_x, bx, by, thread % ACCESS_WARP, thread / ACCESS_WARP,
            l->grid_x, l->grid_y, l->block_x, l->block_y);
}

explain_form explain_form_of(const explain *x)
{
    int rung = x->kernel->family ? 0 : (x->kernel->rung[1] - '0') * 10 + x->kernel->rung[2] - '0';
    bool host = strcmp(x->kernel->engine, "cpu") == 0;
    return x->kernel->skinny                 ? FORM_SKINNY
           : rung == 1                       ? FORM_NAIVE
           : !host && rung >= 5 && rung <= 9 ? FORM_OUTER
                                             : FORM_TILED;
}

void explain_pictures(const explain *x)
{
    FILE *text = x->text;
    explain_heading(x, "In pictures");
    switch (explain_form_of(x)) {
    case FORM_SKINNY: skinny(x); break;
    case FORM_OUTER: outer(x); break;
    case FORM_TILED: tiles(x); break;
    case FORM_NAIVE: footprint(x); fputc('\n', text), explain_written_out(text, x), fputc('\n', text);
    }
    if (x->modelled) fputc('\n', text), explain_owner(text, x), fputc('\n', text);
}
