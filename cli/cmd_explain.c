/* cmd_explain.c - `tilewright explain`: what a rung does and why: its idea, its picture, what it asks of memory, where
 * its bounds lie. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../lab/bench/row.h"
#include "../lab/named.h"
#include "../lab/report/story.h"
#include "../lab/roofline.h"
#include "cmd.h"
#include "driver.h"
#include "explain.h"
#include "explain_ranks.h"
#include "gpu.h"
#include "layout.h"
#include "object.h"
#include "rungs.h"
#include "degrees.h"
#include "diag.h"
#include "term.h"
#include "words.h"

enum { SIZE = 4096, CONTEXT = 2 };

/* ---- which rung, which shape ---- */

static bool is_engine(const char *wanted, const char *engine)
{
    return strcmp(wanted, "auto") == 0 || strcmp(wanted, engine) == 0;
}

/* Of the rows of one rung: CUDA's, then OpenCL's, then the CPU's; in f32 where there is one; on the CPU the last that
 * fits it. */
static int rank_of(session *s, const tw_lab_kernel *row)
{
    int rank = strcmp(row->engine, "cuda") == 0 ? 6 : strcmp(row->engine, "opencl") == 0 ? 4 : 0;
    if (row->dtype == TW_F32) rank += 2;
    if (rank > 2 || session_open_device(s, "cpu") != EXIT_OK) return rank;
    tw_lab_choice choice = {.kernel = row->name};
    tw_problem p = tw_problem_make(row->dtype, TW_N, TW_N, 64, 64, 64);
    return rank + (tw_lab_fits(s->context, &choice, &p, NULL, 0) == 1);
}

static exit_code choose_rung(explain *x, const char *word)
{
    const name_list *engines = &x->s->opt->engines;
    const char *wanted = engines->count > 0 ? engines->items[0] : "auto", *last = "";
    char known[1200] = "";
    words_hint meant;
    int best = -1;
    bool elsewhere = false;
    const tw_lab_kernel *row;
    for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++) {
        bool named = kernel_is_called(row, word);
        elsewhere = elsewhere || named;
        if (!is_engine(wanted, row->engine)) continue;
        size_t used = strlen(known);
        if (!row->family && strcmp(last, row->rung) != 0 && strstr(known, row->rung) == NULL)
            snprintf(known + used, sizeof known - used, " %s", row->rung);
        last = row->rung;
        int rank = named ? rank_of(x->s, row) : -1;
        if (rank > best || (rank >= 0 && rank == best && strcmp(row->engine, "cpu") == 0)) best = rank, x->kernel = row;
    }
    if (x->kernel != NULL) return EXIT_OK;
    if (elsewhere) return diag(EXIT_USAGE, "%s: the %s engine has no such rung; it has:%s", word, wanted, known);
    return diag(EXIT_USAGE, "%s: no such rung or kernel; the rungs are:%s; docs/KERNELS.md has all kernels%s", word,
                known, words_meant_of(words_rungs, word, meant));
}

static exit_code choose_shape(explain *x)
{
    const options *opt = x->s->opt;
    const tw_lab_kernel *k = x->kernel;
    int64_t tile = opt->tiles.count > 0 ? opt->tiles.items[0] : 0;
    shape p = {SIZE, SIZE, k->skinny ? tile > 0 ? tile : 16 : SIZE};
    if (opt->shapes.count > 0) p = opt->shapes.items[0];
    x->problem = tw_problem_make(k->dtype, TW_N, TW_N, p.m, p.n, p.k);
    if (tile > 0 && k->default_tile == 0) return diag(EXIT_USAGE, "--tile: %s has no tile edge to choose", k->rung);
    if (k->skinny && (p.k != 16 && p.k != 32))
        return diag(EXIT_USAGE, "%s: k must be 16 or 32, found %" PRId64, k->rung, p.k);
    if (k->skinny && tile > 0 && tile != p.k)
        return diag(EXIT_USAGE, "--tile: the tile of a skinny product is its k, %" PRId64, p.k);
    bool host = strcmp(k->engine, "cpu") == 0;
    if (!host && tile > 0 && tile != 8 && tile != 16 && tile != 32)
        return diag(EXIT_USAGE, "--tile: found %" PRId64 ", a GPU rung takes 8, 16 or 32", tile);
    x->tile = k->skinny ? (int)p.k : tile > 0 ? (int)tile : k->default_tile;
    x->block_m = k->tile_m > 0 ? k->tile_m : x->tile, x->block_n = k->tile_n > 0 ? k->tile_n : x->tile;
    x->block_k = k->tile_k > 0 ? k->tile_k : x->tile;
    if (!host && k->tile_m == 1 && k->tile_n == 1) x->block_k = 0;
    x->rolled = row_is_rolled(k);
    return EXIT_OK;
}

/* The C(3,11) that 5kk73 draws, or the element of a smaller C that is nearest to it. */
static exit_code choose_element(explain *x)
{
    const number_list *asked = &x->s->opt->element;
    int64_t m = x->problem.m, n = x->problem.n;
    x->i = m > 3 ? 3 : m - 1, x->j = n > 11 ? 11 : n - 1;
    if (asked->count == 0) return EXIT_OK;
    if (asked->count == 1) return diag(EXIT_USAGE, "--element: found one number, expected row and column such as 3,11");
    x->i = asked->items[0], x->j = asked->items[1];
    if (x->i < m && x->j < n) return EXIT_OK;
    return diag(EXIT_USAGE, "--element %" PRId64 ",%" PRId64 " lies outside C, which is %" PRId64 " x %" PRId64, x->i,
                x->j, m, n);
}

/* The CPU's blocks are the planner's. */
static exit_code choose_blocks(explain *x)
{
    tw_lab_plan plan;
    tw_lab_choice choice = {.kernel = x->kernel->name, .tile = x->s->opt->tiles.count > 0 ? x->tile : 0};
    x->modelled = access_open(&x->launch, x->kernel, x->tile, &x->problem, x->no_model, sizeof x->no_model);
    if (strcmp(x->kernel->engine, "cpu") != 0) return EXIT_OK;
    exit_code code = session_open_device(x->s, "cpu");
    if (code != EXIT_OK) return code;
    tw_status status = tw_lab_plan_of(x->s->context, &choice, &x->problem, &plan);
    if (status == TW_NO_KERNEL) return EXIT_OK; /* of another processor: the row's own blocks */
    if (status != TW_OK) return diag_tw(status);
    x->block_m = plan.block_m, x->block_n = plan.block_n, x->block_k = plan.block_k, x->tile = plan.tile;
    return EXIT_OK;
}

static exit_code choose_gpu(explain *x)
{
    return x->s->opt->gpu == NULL ? EXIT_OK : gpu_named(x->s->opt->gpu, &x->gpu);
}

/* ---- the rung's own words ---- */

/* Does the text beyond this line go on in the sentence? The file's lines end where their next word has no room;
 * pictures, which are indented or have gaps, do not. */
static bool goes_on(const char *line, int length)
{
    enum { FULL = 96 };
    const char *next = line + length + (line[length] == '\n');
    const int letters = (int)strcspn(next, "\n"), word = (int)strcspn(next, " \n");
    bool prose = line[0] != ' ' && next[0] != ' ' && letters > 0 && length + 1 + word > FULL;
    for (const char *c = line; prose && c + 2 < next + letters; c++) prose = strncmp(c, "   ", 3) != 0;
    return prose;
}

static void print_lines(FILE *text, const char *label, const char *lines)
{
    const bool joins = layout_width(text) > 0; /* and are laid out anew */
    bool begins = true;
    for (const char *line = lines; *line != '\0';) {
        const int length = (int)strcspn(line, "\n");
        const bool on = joins && goes_on(line, length);
        if (begins) fprintf(text, "%-10s", line == lines ? label : "");
        fprintf(text, "%.*s%c", length, line, on ? ' ' : '\n');
        begins = !on;
        line += length + (line[length] == '\n');
    }
}

static bool near_change(const story_diff *d, int at)
{
    for (int i = at - CONTEXT; i <= at + CONTEXT; i++)
        if (i >= 0 && i < d->count && d->lines[i].kind != ' ') return true;
    return false;
}

/* Where a line goes on, it has its mark again. */
static void print_change(FILE *text, const char *colour, const story_line *line, const char *plain)
{
    const int width = layout_width(text), margin = (int)strspn(line->text, " ");
    char *words = NULL;
    size_t bytes;
    FILE *laid = width > 0 ? open_memstream(&words, &bytes) : NULL;
    if (laid != NULL) {
        layout_words(laid, line->text, line->length, margin + 4, 0, width - 2);
        fclose(laid);
    }
    const char *rest = words != NULL ? words : line->text;
    int left = words != NULL ? (int)bytes : line->length;
    do {
        const char *end = memchr(rest, '\n', (size_t)left);
        const int count = end != NULL ? (int)(end - rest) : left;
        fprintf(text, "%s%c %.*s%s\n", colour, line->kind, count, rest, plain);
        rest += count + 1, left -= count + 1;
    } while (left > 0);
    free(words);
}

static void print_changes(const explain *x, const story *told)
{
    FILE *text = x->s->text;
    term_paint paint = term_paint_for(text);
    story_diff d;
    if (told->before == NULL || story_changes(told, &d) != TW_OK) return;
    fprintf(text, "\n%sfrom %s to %s%s: %d lines come, %d go\n", paint.bold, told->before->rung, x->kernel->rung,
            paint.plain, d.added, d.removed);
    for (int i = 0; i < d.count; i++) {
        const story_line *line = &d.lines[i];
        if (!near_change(&d, i)) {
            if (near_change(&d, i - 1)) fputs("  ...\n", text);
            continue;
        }
        const char *colour = line->kind == '+' ? paint.good : line->kind == '-' ? paint.bad : paint.faint;
        print_change(text, colour, line, paint.plain);
    }
    story_diff_free(&d);
}

static exit_code print_story(const explain *x)
{
    const tw_lab_kernel *k = x->kernel;
    story told;
    term_paint paint = term_paint_for(x->s->text);
    fprintf(x->s->text, "%s%s%s, %s, %s: %s\n          %s\n", paint.bold, k->rung, paint.plain, k->engine,
            tw_lab_dtype_of(k->dtype)->name, k->idea, k->file);
    tw_status status = story_tell(k, &told);
    if (status != TW_OK) return diag_lab(status, "the text of the kernel");
    fputc('\n', x->s->text);
    for (int i = 0; i < told.part_count; i++) print_lines(x->s->text, told.parts[i].label, told.parts[i].text);
    print_changes(x, &told);
    story_free(&told);
    return EXIT_OK;
}

/* ---- what the compiler made of it ---- */

void explain_resources(FILE *text, const tw_lab_resources *r)
{
    const int numbers[] = {r->registers, r->local_bytes, r->spill_bytes};
    const char *const units[] = {"registers per thread", "bytes of shared memory per block",
                                 "bytes spilled per thread"};
    for (int i = 0; i < 3; i++)
        if (numbers[i] >= 0)
            fprintf(text, " %d %s;", numbers[i], units[i]);
        else
            fprintf(text, " %s: unknown;", units[i]);
    fprintf(text, r->occupancy >= 0 ? " occupancy %.0f %%\n" : " occupancy: unknown\n", 100 * r->occupancy);
}

static void print_resources(const explain *x)
{
    char state[600];
    tw_lab_run *run = NULL;
    const tw_lab_kernel *k = x->kernel;
    FILE *text = x->s->text;
    explain_heading(x, "After compilation");
    const bool has = driver_is_usable(k->engine, state, sizeof state);
    if (strcmp(k->engine, "cpu") == 0) {
        fprintf(text, "machine code for %s; --binary shows which registers the loop uses\n", k->needs);
        return;
    }
    if (!has || session_open_device(x->s, k->engine) != EXIT_OK) {
        fprintf(text, "no device of the %s engine is here: %s\n", k->engine, state);
        if (strcmp(k->engine, "cuda") == 0 && !x->s->opt->binary)
            fprintf(text, "--binary shows registers and shared memory without a device; it needs NVRTC\n");
        return;
    }
    tw_problem p = tw_problem_make(k->dtype, TW_N, TW_N, 256, 256, k->skinny ? x->tile : 256);
    tw_lab_choice choice = {.kernel = k->name, .tile = k->default_tile > 0 && !k->skinny ? x->tile : 0};
    void *zeros = calloc(3 * 256, 256 * sizeof(double));
    tw_status status = zeros != NULL ? tw_lab_run_open(x->s->context, &choice, &p, zeros,
                                                       (char *)zeros + 256 * 256 * sizeof(double),
                                                       (char *)zeros + 2 * 256 * 256 * sizeof(double), &run)
                                     : TW_NO_MEMORY;
    if (status != TW_OK) {
        fprintf(text, "on %s: %s\n", x->s->device.name, tw_error_text());
    } else {
        tw_lab_resources r;
        tw_lab_run_resources(run, &r);
        fprintf(text, "on %s:", x->s->device.name);
        explain_resources(text, &r);
    }
    tw_lab_run_close(run);
    free(zeros);
}

/* ---- the record ---- */

static void write_object(const explain *x)
{
    const tw_problem *p = &x->problem;
    const tw_lab_kernel *k = x->kernel;
    double asked = roofline_bytes_asked(p, x->block_m, x->block_n);
    object o = object_begin(x->s->json);
    object_text(&o, "engine", k->engine);
    object_text(&o, "rung", k->rung);
    object_text(&o, "dtype", tw_lab_dtype_of(k->dtype)->name);
    object_number(&o, "m", (double)p->m);
    object_number(&o, "n", (double)p->n);
    object_number(&o, "k", (double)p->k);
    object_number(&o, "tile", x->tile);
    object_number(&o, "flop", roofline_flops(p));
    object_number(&o, "bytes_asked", asked);
    object_number(&o, "compulsory_bytes", roofline_compulsory_bytes(p));
    object_number(&o, "flop_per_byte", roofline_flops(p) / asked);
    predict_degrees d = {NAN, NAN, NAN};
    if (x->modelled) d = predict_average(&x->launch, ERA_NOW);
    object_number(&o, "sectors_per_load", d.sectors_per_load);
    object_number(&o, "bank_degree_load", d.bank_degree_load);
    object_number(&o, "bank_degree_store", d.bank_degree_store);
    object_text(&o, "no_model", x->modelled ? NULL : x->no_model);
    object_text(&o, "binary", x->binary);
    object_number(&o, "loop_instructions", x->binary[0] != '\0' ? x->loop.total : (double)NAN);
    object_number(&o, "loop_multiply_adds", x->binary[0] != '\0' ? x->loop.of[CODE_FMA] : (double)NAN);
    if (x->gpu != NULL) {
        char name[DEVICES_NAME];
        object_text(&o, "gpu", devices_name(x->gpu, name));
        prediction y = {.moved_bytes = NAN, .serial_s = NAN, .overlapped_s = NAN};
        char why[200];
        bool fits = explain_fits(x, x->gpu, why, sizeof why);
        predict_traffic t = {NAN, NAN, NAN, NAN};
        if (fits && x->modelled) y = predict_on(&x->launch, x->gpu), t = predict_cached(&x->launch, x->gpu);
        double memory = fits ? x->gpu->memory_gbps * 1e9 : (double)NAN, peak = explain_peak_gflops(x, x->gpu) * 1e9;
        object_text(&o, "does_not_fit", fits ? NULL : why);
        object_number(&o, "bound_asked_gflops",
                      fits ? fmin(roofline_no_cache_flops(p, asked, memory), peak) / 1e9 : (double)NAN);
        object_number(&o, "bound_gflops", roofline_bound_flops(p, peak, memory) / 1e9);
        object_number(&o, "moved_bytes", y.moved_bytes);
        object_number(&o, "predicted_s", y.serial_s);
        object_number(&o, "predicted_overlapped_s", y.overlapped_s);
        object_number(&o, "resident_blocks", t.resident_blocks);
        object_number(&o, "predicted_l2_bytes", t.l2_bytes);
        object_number(&o, "dram_low_bytes", t.dram_low_bytes);
        object_number(&o, "dram_high_bytes", t.dram_high_bytes);
    }
    object_end(&o);
}

/* The tables of the course documents have shapes and devices of their own. */
static exit_code tables(session *s)
{
    const options *o = s->opt;
    if (o->operand_count > 0) return diag(EXIT_USAGE, "--tables takes no rung");
    if (o->html != NULL) return diag(EXIT_USAGE, "--html takes a rung: --tables has no pictures");
    if (o->engines.count + o->shapes.count + o->tiles.count + o->element.count > 0 || o->gpu != NULL || o->binary)
        return diag(EXIT_USAGE, "--tables works only with --json: other options belong to a rung");
    return explain_tables(s);
}

static exit_code tell(explain *x)
{
    session *s = x->s;
    if (strcmp(s->opt->operands[0], RUNG_PLANNED) == 0)
        fprintf(s->text, "%s is what tw_gemm runs for a shape: `ladder` names it; this is one of the kernels.\n\n",
                RUNG_PLANNED);
    exit_code code = print_story(x);
    if (code != EXIT_OK) return code;
    explain_pictures(x);
    explain_arithmetic(x);
    explain_accesses(x);
    explain_bounds(x);
    explain_traffic(x);
    print_resources(x);
    if (s->opt->binary) code = explain_binary(x);
    write_object(x);
    s->json_lines = s->json != NULL;
    exit_code flushed = session_flush(s);
    return code != EXIT_OK ? code : flushed;
}

exit_code cmd_explain(session *s)
{
    explain x = {.s = s};
    page p = {0};
    const char *html = s->opt->html;
    exit_code code = explain_ranks_check(s->opt);
    if (code != EXIT_OK) return code;
    const bool of_file = s->opt->operand_count > 0 && user_kernel_is_path(s->opt->operands[0]);
    if (s->opt->deadline > 0 && !of_file)
        return diag(EXIT_USAGE, "--deadline needs a file: a rung is explained without running it");
    if (s->opt->ranks > 0) return explain_ranks(s);
    if (s->opt->tables) return tables(s);
    if (s->opt->operand_count == 0)
        return diag(EXIT_USAGE, "found no rung: give one, as in `tilewright explain r04`, or --tables or --ranks");
    if (of_file) return explain_file(s, s->opt->operands[0]);
    if (html != NULL && report_form_of(html) != REPORT_PAGE)
        return diag(EXIT_USAGE, "--html %s: explain writes a page: give it another ending, such as .html", html);
    code = choose_rung(&x, s->opt->operands[0]);
    if (code == EXIT_OK) code = choose_shape(&x);
    if (code == EXIT_OK) code = choose_element(&x);
    if (code == EXIT_OK) code = choose_blocks(&x);
    if (code == EXIT_OK) code = choose_gpu(&x);
    if (code == EXIT_OK && html != NULL) code = page_open(&p, html, false);
    if (code == EXIT_OK) code = tell(&x);
    if (code == EXIT_OK && html != NULL) code = page_write_by(&p, explain_page, &x);
    page_discard(&p);
    return code;
}
