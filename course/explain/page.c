/* page.c - `tilewright explain RUNG --html FILE`: one page about one rung: its own words, the documents'
 * pictures for an element of C, what one warp wants of sectors and banks, tables, and what changed. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "../../program/diag.h"
#include "../report/html.h"
#include "../report/picture.h"
#include "../report/report.h"
#include "../report/story_page.h"
#include "../report/table.h"
#include "explain.h"

static bool is_host(const explain *x) { return strcmp(x->kernel->engine, "cpu") == 0; }

/* Where the tiles lie while they are used. The access model says what the rung reads from shared memory. Rungs without
 * a model share both tiles, but an outer product only A's. */
static const char *where_tiles_lie(const explain *x)
{
    bool a = !x->modelled, b = !x->modelled && explain_form_of(x) != FORM_OUTER;
    if (is_host(x)) return "both tiles in the cache";
    for (int i = 0; i < x->launch.rows && x->modelled; i++) {
        a |= x->launch.row[i]->kind == READ_A_TILE;
        b |= x->launch.row[i]->kind == READ_B_TILE;
    }
    return a && b ? "both tiles in shared memory" : a ? "A's tile in shared memory" : "no tile in shared memory";
}

static picture_tiles tiles_of(const explain *x)
{
    picture_tiles t = {
        {x->problem.m, x->problem.n, x->problem.k, x->i, x->j}, x->block_m, x->block_n, x->block_k, where_tiles_lie(x)};
    if (x->kernel->skinny) t.bm = t.bn = t.bk = x->tile;
    return t;
}

/* ---- frames ---- */

static void begin_section(FILE *out, const char *id, const char *title)
{
    html_print(out, "<section id=\"%h\" aria-labelledby=\"%h-h\">\n<h2 id=\"%h-h\">%t</h2>\n", id, id, id, title);
}

static void end_section(FILE *out) { fputs("</section>\n", out); }

/* Pictures that belong together; the caption stands above them, since it says what to look for. */
static void begin_figure(FILE *out, const char *heading)
{
    html_print(out, "<h3>%t</h3>\n<figure class=\"wide\">\n<figcaption>", heading);
}

static void end_caption(FILE *out, const char *name)
{
    html_print(out, "</figcaption>\n<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"%t\">\n", name);
}

static void end_figure(FILE *out) { fputs("</div>\n</figure>\n", out); }

static void begin_page(FILE *out, const explain *x)
{
    const tw_lab_kernel *k = x->kernel;
    explain_text title;
    snprintf(title, sizeof title, "%s, %s, %s", k->rung, k->engine, tw_lab_dtype_of(k->dtype)->name);
    report_begin_page(out, title, picture_style, "words");
    html_print(out, "<h1>%t: %t</h1>\n<p>Engine %t, type %t, <code>%t</code>. ", k->rung, k->idea, k->engine,
               tw_lab_dtype_of(k->dtype)->name, k->file);
    fprintf(out,
            "Everything below is for a product of m x n x k = %" PRId64 " x %" PRId64 " x %" PRId64
            " and its element C(%" PRId64 ",%" PRId64 ").</p>\n",
            x->problem.m, x->problem.n, x->problem.k, x->i, x->j);
    fputs("<nav aria-label=\"Sections\">\n<ul>\n<li><a href=\"#words\">In its own words</a></li>\n<li><a "
          "href=\"#pictures\">In pictures</a></li>\n<li><a href=\"#warp\">One warp</a></li>\n<li><a "
          "href=\"#numbers\">In numbers</a></li>\n<li><a href=\"#bounds\">Bounds</a></li>\n<li><a "
          "href=\"#binary\">In the binary</a></li>\n<li><a href=\"#code\">The code</a></li>\n</ul>\n</nav>\n"
          "</header>\n<main>\n",
          out);
}

/* ---- the documents' pictures ---- */

static void draw_footprint(FILE *out, const explain *x)
{
    static const char name[] = "The footprint of one element";
    const picture_element of = tiles_of(x).of;
    const chart about = {name, "A row of A and a column of B are marked, and the element of C that is their product."};
    begin_figure(out, name);
    fprintf(out,
            "C(%" PRId64 ",%" PRId64 ") needs row %" PRId64 " of A and column %" PRId64
            " of B. Shown are rows from %" PRId64 ", columns from %" PRId64 ", and the first %" PRId64 " of k.",
            of.i, of.j, of.i, of.j, of.i / PICTURE_WINDOW * PICTURE_WINDOW, of.j / PICTURE_WINDOW * PICTURE_WINDOW,
            of.k < PICTURE_WINDOW ? of.k : PICTURE_WINDOW);
    if (explain_form_of(x) == FORM_NAIVE) fputs("<br>\nWritten out: ", out), explain_written_out(out, x);
    end_caption(out, name);
    picture_footprint(out, &about, &of);
    end_figure(out);
}

static void draw_iterations(FILE *out, const explain *x)
{
    static const char name[] = "The tiles and their iterations";
    const picture_tiles t = tiles_of(x);
    const int64_t count = explain_iterations(x), steps[] = {0, 1, count - 1};
    begin_figure(out, name);
    fprintf(out,
            "C in tiles of %" PRId64 " x %" PRId64 ", k in tiles of %" PRId64 ": the element lies in tile (%" PRId64
            ",%" PRId64 "), at (%" PRId64 ",%" PRId64 ") of it.<br>\n",
            t.bm, t.bn, t.bk, x->i / t.bm, x->j / t.bn, x->i % t.bm, x->j % t.bn);
    explain_tile_product(out, x);
    fputs(".", out);
    if (x->kernel->deep || (x->kernel->family && !is_host(x)))
        fputs(" Where k is divided among blocks, each takes its own part of these iterations, and the sums are added.",
              out);
    end_caption(out, name);
    for (int s = 0; s < 3; s++) {
        explain_text title;
        const chart about = {title,
                             "The tile of A, the tile of B and the tile of C of this iteration are filled; tiles "
                             "of iterations before are pale."};
        if (count <= s) continue;
        snprintf(title, sizeof title, "Iteration %" PRId64 " of %" PRId64, steps[s] + 1, count);
        picture_iteration(out, &about, &t, steps[s]);
    }
    end_figure(out);
}

static void draw_blocks(FILE *out, const explain *x)
{
    static const char name[] = "A product of 2 x 2 blocks";
    const int row = (int)(x->i / x->block_m % 2), col = (int)(x->j / x->block_n % 2);
    const chart about = {name, "Each block of C is the sum of two products of blocks; the block that holds the element "
                               "is marked, and what it needs of A and B."};
    begin_figure(out, name);
    fprintf(
        out,
        "The 2 x 2 tiles around the element multiply as numbers would. It lies in the block marked, C%d%d, of %" PRId64
        " x %" PRId64 " elements.",
        row + 1, col + 1, x->block_m, x->block_n);
    end_caption(out, name);
    picture_blocks(out, &about, row, col);
    end_figure(out);
}

static void draw_outer(FILE *out, const explain *x)
{
    static const char name[] = "The steps of the outer product";
    const picture_tiles t = tiles_of(x);
    const int last = (int)(t.of.k < t.bk ? t.of.k : t.bk) - 1, steps[] = {0, 1, last};
    begin_figure(out, name);
    fprintf(out,
            "A's tile goes to shared memory. Then each step multiplies a column of it with a row of B, whose elements "
            "lie in registers, and adds to the whole tile of C. At the end each thread stores its sums. Of the first "
            "tile of k steps 0, 1 and %d.",
            last);
    end_caption(out, name);
    for (int s = 0; s < 3; s++) {
        explain_text title, words;
        const chart about = {title, "A column of A's tile and a row of B's tile are marked, and all of C's tile; in "
                                    "them the elements that the marked element of C takes."};
        if (last < s) continue;
        snprintf(title, sizeof title, "Step %d of a tile", steps[s]);
        snprintf(words, sizeof words,
                 "thread %" PRId64 ": sum[%" PRId64 "] += A(%" PRId64 ",%d) from shared memory times B(%d,%" PRId64
                 ") from its register",
                 explain_outer_thread(x), x->i % t.bm, x->i, steps[s], steps[s], x->j);
        picture_outer(out, &about, &t, steps[s], words);
    }
    end_figure(out);
}

static void draw_skinny(FILE *out, const explain *x)
{
    static const char first[] = "One column of tiles times one row of tiles",
                      second[] = "A row of threads makes a row of the tile";
    const picture_tiles t = tiles_of(x);
    const chart tiles = {first, "A is one column of tiles, B one row; the tiles of the element are marked."},
                row = {second, "One row of A and all of B's tile are marked, and the row of C's tile that they make."};
    begin_figure(out, first);
    html_print(out,
               "C is the outer product of a column of tiles and a row of tiles, %d x %d each (NVIDIA Best Practices, "
               "figure 1): %h.",
               x->tile, x->tile, t.where);
    end_caption(out, first);
    picture_skinny_tiles(out, &tiles, &t);
    end_figure(out);
    begin_figure(out, second);
    html_print(out, "%d neighbours in x, of a warp of 32 (NVIDIA Best Practices, figure 2).", x->tile);
    end_caption(out, second);
    picture_skinny_row(out, &row, &t);
    end_figure(out);
}

static void draw_pictures(FILE *out, const explain *x)
{
    begin_section(out, "pictures", "In pictures");
    if (x->modelled) {
        fputs("<p>", out);
        explain_owner(out, x);
        fputs(".</p>\n", out);
    }
    draw_footprint(out, x);
    switch (explain_form_of(x)) {
    case FORM_NAIVE: break;
    case FORM_TILED: draw_iterations(out, x), draw_blocks(out, x); break;
    case FORM_OUTER: draw_iterations(out, x), draw_outer(out, x); break;
    case FORM_SKINNY: draw_skinny(out, x); break;
    }
    end_section(out);
}

/* ---- one warp ---- */

static void count_text(const access_row *row, const access_cost *c, explain_text out)
{
    const char *plural = c->transactions > 1 ? "s" : "";
    if (access_is_global(row->kind))
        snprintf(out, EXPLAIN_TEXT, "%.0f sector%s in %.0f line%s, %.0f of %.0f bytes used: %.0f %%", c->transactions,
                 plural, c->lines, c->lines > 1 ? "s" : "", c->used, c->moved, 100 * c->used / c->moved);
    else
        snprintf(out, EXPLAIN_TEXT, "%.0f wavefront%s", c->transactions, plural);
}

static void draw_request(FILE *out, const explain *x, const access_row *row, const explain_warp *w)
{
    const access_launch *l = &x->launch;
    const bool global = access_is_global(row->kind);
    int64_t address[ACCESS_WARP];
    explain_text words, count;
    access_lanes(l, row, &w->place, w->number, address);
    const access_cost cost = access_price(ERA_NOW, row->kind, address, row->words);
    const char operand = explain_operand(row->kind);
    const picture_request request = {address,
                                     row->words,
                                     operand,
                                     operand == 'A'   ? l->lda
                                     : operand == 'B' ? l->ldb
                                                      : l->ldc,
                                     operand == 'A'   ? l->transposed_a
                                     : operand == 'B' ? l->transposed_b
                                                      : false,
                                     count};
    const chart about = {explain_row_text(row, words), count};
    begin_figure(out, access_kind_text(row->kind));
    html_text(out, words + strlen(access_kind_text(row->kind)) + 2);
    if (row->box_rows > 0)
        html_print(out, ". %t.", explain_box_text(row, count));
    else
        count_text(row, &cost, count);
    end_caption(out, words);
    if (row->box_rows == 0) (global ? picture_sectors : picture_banks)(out, &about, &request);
    end_figure(out);
}

static bool cost_table(FILE *out, const explain *x)
{
    table t;
    explain_text cell;
    fputs("<p>Each request on average over the product: of global memory the transactions of a half-warp (1.x), lines "
          "(2.x) or sectors (since), and the share of their bytes that is used; of shared memory the wavefronts.</p>\n",
          out);
    table_begin(&t, out, "What requests cost");
    fputs("<caption>By access and compute capability.</caption>\n", out);
    table_heading(&t, "Access");
    table_heading(&t, "Requests in the product");
    for (int era = 0; era < ACCESS_ERAS; era++) table_heading(&t, access_era_text((access_era)era));
    for (int kind = 0; kind < ACCESS_KINDS; kind++) {
        access_cost total[ACCESS_ERAS];
        access_count_kind(&x->launch, (access_kind)kind, total);
        if (total[ERA_NOW].transactions <= 0) continue;
        table_row(&t, access_kind_text((access_kind)kind));
        const bool box = total[ERA_NOW].requests <= 0;
        snprintf(cell, sizeof cell, "%.0f", total[ERA_NOW].requests);
        table_cell(&t, box ? "-" : cell);
        for (int era = 0; era < ACCESS_ERAS; era++)
            table_cell(&t, box && era != ERA_NOW ? "-" : explain_cost_text((access_kind)kind, &total[era], cell));
    }
    return table_end(&t);
}

static bool order_table(FILE *out, const explain *x)
{
    table t;
    units_text cell;
    if (isnan(explain_sectors(x, LOAD_A, true))) return true;
    table_begin(&t, out, "Rows or columns stored");
    html_print(out, "<caption>Sectors of a request with A and B stored by rows, and by columns%t.</caption>\n",
               x->kernel->transposes ? "" : ": how this text's loads would lie; it takes A and B by rows alone");
    table_heading(&t, "Access");
    table_heading(&t, "Rows stored");
    table_heading(&t, "Columns stored");
    for (int kind = LOAD_A; kind <= LOAD_B; kind++) {
        table_row(&t, access_kind_text((access_kind)kind));
        for (int columns = 0; columns < 2; columns++) {
            table_cell(&t, units_number(explain_sectors(x, (access_kind)kind, columns), cell));
        }
    }
    return table_end(&t);
}

static bool tell_warp(FILE *out, const explain *x)
{
    const access_row *rows[ACCESS_MOST_ROWS];
    const explain_warp w = x->modelled ? explain_warp_of(x) : (explain_warp){{0}, 0};
    const chart lanes = {"The lanes of a warp", "32 numbered squares; each eight share a colour."};
    bool told = true;
    begin_section(out, "warp", "What one warp touches");
    if (x->modelled) {
        fprintf(out,
                "<p>Warp %d of block (bx %" PRId64 ", by %" PRId64
                "), in the first tile and step of k. Each square is a word of 4 bytes with the number of the lane that "
                "wants it; * stands for several lanes. Of global memory the lines that are touched are drawn, with "
                "frames around the sectors of 32 bytes that move. Of shared memory the words are stacked on their "
                "banks: the stack is as high as the request takes wavefronts.</p>\n",
                w.number, w.place.bx, w.place.by);
        begin_figure(out, lanes.title);
        end_caption(out, lanes.title);
        picture_lanes(out, &lanes);
        end_figure(out);
        for (int i = 0, count = explain_rows(x, &w, rows); i < count; i++) draw_request(out, x, rows[i], &w);
        fputs("<h3>On average</h3>\n", out);
        told = cost_table(out, x) && order_table(out, x);
    } else
        html_print(out, "<p>%t.</p>\n", x->no_model);
    end_section(out);
    return told;
}

/* ---- tables ---- */

static void tell_numbers(FILE *out, const explain *x)
{
    explain_lines lines;
    explain_count(x, &lines);
    begin_section(out, "numbers", "In numbers");
    fputs("<dl>\n", out);
    for (int i = 0; i < lines.count; i++)
        html_print(out, "<dt>%t</dt><dd>%t</dd>\n", lines.items[i].label, lines.items[i].text);
    fputs("</dl>\n", out);
    end_section(out);
}

static bool tell_bounds(FILE *out, const explain *x)
{
    static const char *const headings[] = {"Device", "GB/s",  "Peak",    "bound_asked", "bound",
                                           "Banks",  "Issue", "Traffic", "Predicted"};
    const published_device *devices[EXPLAIN_DEVICES];
    table t;
    char name[DEVICES_NAME];
    units_text cell;
    begin_section(out, "bounds", "Where its bounds lie");
    fputs(
        "<p>bound_asked: what the bytes asked allow, the documents' bound, which caches may beat. bound: the roofline, "
        "which nothing may beat. Banks, issue, traffic: what wavefronts, instructions and moved bytes allow, each "
        "alone. Predicted: without overlap, to full overlap.</p>\n",
        out);
    table_begin(&t, out, "Bounds");
    fputs("<caption>GFLOP/s on published devices.</caption>\n", out);
    for (size_t h = 0; h < sizeof headings / sizeof *headings; h++) table_heading(&t, headings[h]);
    for (int i = 0, count = explain_devices(x, devices); i < count; i++) {
        const published_device *d = devices[i];
        const double peak = explain_peak_gflops(x, d);
        const explain_bound b = explain_bound_on(x, d->memory_gbps, peak, d);
        table_row(&t, devices_name(d, name));
        if (!b.fits) {
            explain_text words;
            snprintf(words, sizeof words, "does not fit: %.200s", b.predicted);
            table_words(&t, false, words);
            continue;
        }
        const double numbers[] = {d->memory_gbps,  peak,           b.asked_gflops,  b.roofline_gflops,
                                  b.shared_gflops, b.issue_gflops, b.traffic_gflops};
        for (size_t c = 0; c < sizeof numbers / sizeof *numbers; c++) table_cell(&t, units_gflops(numbers[c], cell));
        table_cell(&t, b.predicted[0] != '\0' ? b.predicted : "-");
    }
    const bool told = table_end(&t);
    if (x->kernel->dtype != TW_F32)
        html_print(out, "<p>Peaks were published for f32 alone: in %t these devices have no roofline here.</p>\n",
                   tw_lab_dtype_of(x->kernel->dtype)->name);
    if (x->gpu != NULL) html_print(out, "<p>Source: %t</p>\n", x->gpu->source);
    end_section(out);
    return told;
}

static bool mix_table(FILE *out, const explain *x)
{
    table t;
    units_text cell;
    table_begin(&t, out, "Instructions");
    html_print(out, "<caption>%t: the innermost loop that multiplies.</caption>\n", x->binary_from);
    table_heading(&t, "Kind");
    table_heading(&t, "Instructions");
    table_heading(&t, "Share");
    for (int c = 0; c < CODE_CLASSES; c++) {
        if (x->loop.of[c] == 0) continue;
        table_row(&t, listing_class_text((listing_class)c));
        snprintf(cell, sizeof cell, "%d", x->loop.of[c]);
        table_cell(&t, cell);
        table_cell(&t, units_percent((double)x->loop.of[c] / x->loop.total, cell));
    }
    const bool told = table_end(&t);
    html_print(out, "<p>Useful: %d of %d instructions. 5kk73: %t.</p>\n", x->loop.of[CODE_FMA], x->loop.total,
               explain_published_share(x));
    return told;
}

static bool tell_binary(FILE *out, const explain *x)
{
    bool told = true;
    begin_section(out, "binary", "In the binary");
    if (x->binary[0] != '\0')
        told = mix_table(out, x);
    else if (x->binary_wanted)
        html_print(out, "<p>%t.</p>\n", x->binary_from);
    else
        html_print(
            out,
            "<p>The mix of the inner loop's instructions stands here with <code>tilewright explain %t --engine %t "
            "--binary --html FILE</code>.</p>\n",
            x->kernel->rung, x->kernel->engine);
    end_section(out);
    return told;
}

/* ---- the page ---- */

static tw_status tell_story(FILE *out, const explain *x, const story *told)
{
    story_diff d = {0};
    bool room = true;
    begin_section(out, "words", "In its own words");
    story_page_words(out, told);
    end_section(out);
    draw_pictures(out, x);
    room &= tell_warp(out, x);
    tell_numbers(out, x);
    room &= tell_bounds(out, x);
    room &= tell_binary(out, x);
    begin_section(out, "code", "The code, and what changed");
    tw_status status = story_changes(told, &d);
    if (status == TW_OK) story_page_code(out, told, &d);
    story_diff_free(&d);
    end_section(out);
    return room ? status : TW_NO_MEMORY;
}

exit_code explain_page(FILE *out, const void *of)
{
    const explain *x = of;
    story told;
    tw_status status = story_tell(x->kernel, &told);
    if (status != TW_OK) return diag_lab(status, "the text of the kernel");
    begin_page(out, x);
    status = tell_story(out, x, &told);
    story_free(&told);
    html_print(
        out, "</main>\n<footer>\n<p class=\"faint\">Made by tilewright %t explain.</p>\n</footer>\n</body>\n</html>\n",
        tw_version());
    return status == TW_OK ? EXIT_OK : diag_no_memory("the page");
}
