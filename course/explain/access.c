/* access.c - the access model's picture of one warp: which sectors and banks its lanes touch in each load and
 * store; what that costs on each generation of devices; and the same with columns stored in place of rows. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../../program/layout.h"
#include "explain.h"

enum { BANKS = 32 };

static const char *loops_text(const access_row *row)
{
    if (row->over == 0) return "once";
    if (row->over == OVER_T) return "for each tile of k";
    return row->over == OVER_K ? "for each step of k" : "for each step of each tile";
}

/* A letter for each different unit that a lane's first word lies in: a, b, ... in order of appearance; '-' for an idle
 * lane. */
static void letters(const int64_t address[ACCESS_WARP], int unit, char out[ACCESS_WARP + 1])
{
    int64_t seen[ACCESS_WARP] = {0};
    int count = 0;
    for (int lane = 0; lane < ACCESS_WARP; lane++) {
        int at = 0;
        while (address[lane] >= 0 && at < count && seen[at] != address[lane] / unit) at++;
        if (address[lane] >= 0 && at == count) seen[count++] = address[lane] / unit;
        out[lane] = address[lane] < 0 ? '-' : (char)(at < 26 ? 'a' + at : 'A' + at - 26);
    }
    out[ACCESS_WARP] = '\0';
}

static void draw_global(FILE *text, const access_row *row, const int64_t address[ACCESS_WARP])
{
    char sector[ACCESS_WARP + 1];
    access_cost now = access_price(ERA_NOW, row->kind, address, row->words);
    letters(address, 32, sector);
    fprintf(text, "    sector  %.8s %.8s %.8s %.8s    %.0f sector%s in %.0f line%s, %.0f of %.0f bytes used\n", sector,
            sector + 8, sector + 16, sector + 24, now.transactions, now.transactions == 1 ? "" : "s", now.lines,
            now.lines == 1 ? "" : "s", now.used, now.moved);
}

static void draw_shared(FILE *text, const access_row *row, const int64_t address[ACCESS_WARP])
{
    char word[ACCESS_WARP + 1];
    int64_t seen[BANKS][4 * ACCESS_WARP];
    int of_bank[BANKS] = {0};
    access_cost now = access_price(ERA_NOW, row->kind, address, row->words);
    letters(address, 4, word);
    for (int lane = 0; lane < ACCESS_WARP; lane++)
        for (int w = 0; w < row->words && address[lane] >= 0; w++) {
            int64_t at = address[lane] / 4 + w;
            int *count = &of_bank[at % BANKS], known = 0;
            while (known < *count && seen[at % BANKS][known] != at) known++;
            if (known == *count) seen[at % BANKS][(*count)++] = at;
        }
    fprintf(text, "    word    %.8s %.8s %.8s %.8s    %.0f wavefront%s\n    banks  ", word, word + 8, word + 16,
            word + 24, now.transactions, now.transactions == 1 ? "" : "s");
    for (int b = 0; b < BANKS; b++) {
        if (of_bank[b] > 0)
            fprintf(text, " %d", of_bank[b]);
        else
            fprintf(text, " .");
    }
    fprintf(text, "    words of each bank that the warp wants\n");
}

char explain_operand(access_kind kind)
{
    return kind == STORE_C ? 'C' : kind == LOAD_A || kind == STORE_A_TILE || kind == READ_A_TILE ? 'A' : 'B';
}

const char *explain_row_text(const access_row *row, explain_text out)
{
    snprintf(out, EXPLAIN_TEXT, "%s  %c%s(%s), %s%s%s", access_kind_text(row->kind), explain_operand(row->kind),
             access_is_global(row->kind) ? "" : "'s tile, word ", row->subscripts, loops_text(row),
             row->times > 1 ? ", several at a time" : "", row->words > 1 ? ", 16 bytes a lane" : "");
    return out;
}

static void draw_row(const explain *x, const access_row *row, const explain_warp *w)
{
    explain_text words;
    int64_t address[ACCESS_WARP];
    access_lanes(&x->launch, row, &w->place, w->number, address);
    fprintf(x->text, "  %s\n", explain_row_text(row, words));
    if (row->box_rows > 0)
        fprintf(x->text, "    %s\n", explain_box_text(row, words));
    else
        (access_is_global(row->kind) ? draw_global : draw_shared)(x->text, row, address);
}

const char *explain_box_text(const access_row *row, explain_text out)
{
    snprintf(out, EXPLAIN_TEXT, "TMA copies a box of %d x %d: %d rows of %d bytes; no lane has an address",
             row->box_rows, row->box_cols, row->box_rows, 4 * row->box_cols);
    return out;
}

const char *explain_cost_text(access_kind kind, const access_cost *c, explain_text out)
{
    if (c->requests == 0)
        snprintf(out, EXPLAIN_TEXT, "%.0f sectors by TMA: %.0f%% used", c->transactions, 100 * c->used / c->moved);
    else if (access_is_global(kind))
        snprintf(out, EXPLAIN_TEXT, "%.4g: %.0f%% used", c->transactions / c->requests, 100 * c->used / c->moved);
    else
        snprintf(out, EXPLAIN_TEXT, "%.4g", c->transactions / c->requests);
    return out;
}

static void print_costs(const explain *x)
{
    enum { FIRST = 2, COLUMNS = FIRST + ACCESS_ERAS };
    FILE *text = x->text;
    layout_table t;
    layout_column columns[COLUMNS] = {{"per request", -17, 0, false, NULL}, {"in the product", 14, 1, false, NULL}};
    for (int era = 0; era < ACCESS_ERAS; era++)
        columns[FIRST + era] = (layout_column){access_era_text((access_era)era), 14, 0, false, NULL};
    fputc('\n', text);
    layout_begin(&t, text, columns, COLUMNS);
    layout_titles(&t);
    for (int kind = 0; kind < ACCESS_KINDS; kind++) {
        access_cost total[ACCESS_ERAS];
        access_count_kind(&x->launch, (access_kind)kind, total);
        explain_text by_tma;
        if (total[ERA_NOW].requests == 0 && total[ERA_NOW].transactions == 0) continue;
        layout_cell(&t, "%s", access_kind_text((access_kind)kind));
        if (total[ERA_NOW].requests == 0) {
            for (int i = 1; i < COLUMNS - 1; i++) layout_cell(&t, "-");
            layout_cell(&t, "%s", explain_cost_text((access_kind)kind, &total[ERA_NOW], by_tma));
            layout_end(&t);
            continue;
        }
        layout_cell(&t, "%.0f", total[ERA_NOW].requests);
        for (int era = 0; era < ACCESS_ERAS; era++) {
            explain_text cell;
            layout_cell(&t, "%s", explain_cost_text((access_kind)kind, &total[era], cell));
        }
        layout_end(&t);
    }
    layout_left_out(&t);
    fprintf(text, "global: transactions of a half-warp (1.x), lines (2.x) or sectors (since) and the share of their "
                  "bytes that is used; shared: wavefronts. A request is an instruction of a warp, before 2.0 of half "
                  "a warp; on average over the whole product.\n");
    if (x->launch.block_x * x->launch.block_y > 512)
        fprintf(text, "Devices of 1.x take 512 threads in a block: this tile is too large for them.\n");
}

double explain_sectors(const explain *x, access_kind kind, bool columns)
{
    access_launch l;
    char why[200];
    access_cost total[ACCESS_ERAS];
    const tw_problem *p = &x->problem;
    tw_op op = columns ? TW_T : TW_N;
    tw_problem q = tw_problem_make(p->dtype, op, op, p->m, p->n, p->k);
    if (!access_open(&l, x->kernel, x->tile, &q, why, sizeof why)) return NAN;
    access_count_kind(&l, kind, total);
    return total[ERA_NOW].transactions / total[ERA_NOW].requests;
}

/* 5kk73: in column-major languages the problem is the other way around. */
static void print_orders(const explain *x)
{
    FILE *text = x->text;
    if (isnan(explain_sectors(x, LOAD_A, true))) return;
    fprintf(text, "\n%-17s %18s %18s\n", "sectors a request", "rows stored", "columns stored");
    for (int kind = LOAD_A; kind <= LOAD_B; kind++)
        fprintf(text, "%-17s %18.4g %18.4g\n", access_kind_text((access_kind)kind),
                explain_sectors(x, (access_kind)kind, false), explain_sectors(x, (access_kind)kind, true));
    if (!x->kernel->transposes)
        fprintf(text,
                "(columns stored: how this text's loads would lie; the rung itself takes A and B by rows alone)\n");
}

explain_warp explain_warp_of(const explain *x)
{
    const access_launch *l = &x->launch;
    return (explain_warp){{.by = x->i / l->block_m, .bx = x->j / l->block_n},
                          access_owner(l, x->i, x->j) / ACCESS_WARP};
}

/* TMA's boxes are nobody's lanes. */
static bool takes_part(const explain *x, const access_row *row, const explain_warp *w)
{
    int64_t address[ACCESS_WARP];
    if (row->box_rows > 0) return true;
    access_lanes(&x->launch, row, &w->place, w->number, address);
    for (int lane = 0; lane < ACCESS_WARP; lane++)
        if (address[lane] >= 0) return true;
    return false;
}

int explain_rows(const explain *x, const explain_warp *w, const access_row *out[ACCESS_MOST_ROWS])
{
    const access_launch *l = &x->launch;
    int count = 0;
    bool found = false;
    for (int i = 0; i < l->rows; i++) {
        if (i > 0 && l->row[i]->kind != l->row[i - 1]->kind) found = false;
        if (found || !takes_part(x, l->row[i], w)) continue;
        out[count++] = l->row[i];
        found = true;
    }
    return count;
}

void explain_accesses(const explain *x)
{
    FILE *text = x->text;
    explain_heading(x, "What one warp touches");
    if (!x->modelled) {
        fprintf(text, "%s\n", x->no_model);
        return;
    }
    const access_row *rows[ACCESS_MOST_ROWS];
    explain_warp w = explain_warp_of(x);
    fprintf(text,
            "warp %d of block (bx %" PRId64 ", by %" PRId64
            "), the first tile and step of k; lanes 0 to 31 from left to right, one letter for each sector or word\n\n",
            w.number, w.place.bx, w.place.by);
    for (int i = 0, count = explain_rows(x, &w, rows); i < count; i++) draw_row(x, rows[i], &w);
    print_costs(x);
    print_orders(x);
}
