/* out_of_core.c - see out_of_core.h. An element of C is one sum over the whole of k, as in memory, or, where k is
 * divided, the sums of its parts in ascending order, unscaled until the last (docs/decisions/0021-panels-are-read.md).
 */
#define _POSIX_C_SOURCE 200809L
#include "out_of_core.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "../lab/devices.h"
#include "../lab/measure.h"
#include "../lab/roofline.h"
#include "../program/diag.h"
#include "../program/term.h"
#include "check.h"

enum { HUGE_PAGE = 2 << 20, ALIGNMENT_BYTES = 2048 /* of all blocks together */ };

/* ---- how much memory there is ---- */

/* Three quarters of what the process may have: the rest is for the program, its threads and the files' pages. */
static int64_t usable_bytes(void)
{
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    tw_lab_limits group;
    struct rlimit limit;
    tw_lab_limits_read(&group);
    if (group.memory_from[0] != '\0' && (double)group.memory_bytes < bytes) bytes = (double)group.memory_bytes;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (double)limit.rlim_cur < bytes)
        bytes = (double)limit.rlim_cur;
    return (int64_t)(0.75 * bytes);
}

int64_t out_of_core_usable(const product_wish *wish) { return wish->memory > 0 ? wish->memory : usable_bytes(); }

/* ---- the choice of blocks ---- */

/* A block as tw_gemm() takes it, from panels that lie as their files have them. */
static tw_problem block_of(const product_wish *wish, const operands *in, int64_t rows, int64_t cols, int64_t depth)
{
    const bool a_rows = wish->transpose_a == io_by_columns(&in->each[OPERAND_A].matrix),
               b_rows = wish->transpose_b == io_by_columns(&in->each[OPERAND_B].matrix);
    tw_problem p = in->problem;
    p.m = rows, p.n = cols, p.k = depth;
    p.lda = a_rows ? depth : rows, p.ldb = b_rows ? cols : depth, p.ldc = cols;
    if (p.lda == 0) p.lda = 1;
    if (p.ldb == 0) p.ldb = 1;
    return p;
}

/* The largest workspace of a block, one at an edge, or both; on the host alone. Large ones are of huge pages. */
static int64_t workspace_bytes(const product_wish *wish, const operands *in, const blocks_problem *p, const blocks *b)
{
    int64_t most = 0;
    if (!device_is_host(wish->device)) return 0;
    for (int edge = 0; edge < 8; edge++) {
        tw_lab_plan plan;
        const tw_problem block = block_of(wish, in, edge & 1 ? (p->m - 1) % b->m + 1 : b->m,
                                          edge & 2 ? (p->n - 1) % b->n + 1 : b->n,
                                          edge & 4 && p->k > 0 ? (p->k - 1) % b->k + 1 : b->k);
        if (tw_lab_plan_of(wish->context, NULL, &block, &plan) == TW_OK && plan.workspace_bytes > most)
            most = plan.workspace_bytes;
    }
    return most < HUGE_PAGE / 2 ? most : (most / HUGE_PAGE + 2) * HUGE_PAGE;
}

/* Smaller blocks need smaller workspaces: the largest of which both fit together. */
static bool choose(const product_wish *wish, const operands *in, int64_t limit, out_of_core *x)
{
    for (int64_t room = limit - ALIGNMENT_BYTES; room > 0; room -= room / 16 + 1) {
        if (!blocks_choose(&x->problem, room, &x->blocks)) return false;
        x->bytes = x->blocks.bytes + workspace_bytes(wish, in, &x->problem, &x->blocks) + ALIGNMENT_BYTES;
        if (x->bytes <= limit) return true;
    }
    return false;
}

/* The least that works, of limits that are wrong. */
static int64_t least_bytes(const product_wish *wish, const operands *in, out_of_core *x)
{
    int64_t low = x->limit, high = x->limit * 2;
    while (!choose(wish, in, high, x) && high < INT64_MAX / 4) low = high, high *= 2;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        *(choose(wish, in, middle, x) ? &high : &low) = middle;
    }
    return high;
}

static exit_code choose_blocks(const product_wish *wish, const operands *in, out_of_core *x)
{
    const tw_problem *p = &in->problem;
    const bool multiplies = p->alpha != 0 || p->alpha_imaginary != 0;
    const io_type sums = in->as.type_c;
    /* parts of k keep the bits of the cpu's sums alone */
    const bool keeps = !wish->invariant || io_type_is_integer(sums) || device_is_host(wish->device);
    const bool finished = keeps && (sums == IO_F32 || sums == IO_F64 || io_type_is_integer(sums)) &&
                          !multiplied_scales(&in->as);
    term_number limit;
    x->problem = (blocks_problem){.m = p->m,
                                  .n = p->n,
                                  .k = multiplies ? p->k : 0,
                                  .a_bytes = (int64_t)io_type_bytes(in->as.type_a),
                                  .b_bytes = (int64_t)io_type_bytes(in->as.type_b),
                                  .c_bytes = (int64_t)io_type_bytes(sums),
                                  .depth = finished ? tw_lab_sum_depth(p->dtype) : 0,
                                  .finishes = p->alpha != 1 || in->each[OPERAND_ADD].path != NULL};
    if (choose(wish, in, x->limit, x)) return EXIT_OK;
    return diag(EXIT_MEMORY,
                "the memory of %s does not hold the smallest panels and a workspace: the least that works "
                "is --memory %" PRId64,
                term_bytes((double)x->limit, limit), least_bytes(wish, in, x));
}

/* Without elements nothing is read. A workspace counts where the user told a limit; of the other a quarter is left. */
static bool is_needed(const product_wish *wish, const operands *in, out_of_core *x)
{
    const tw_problem *p = &in->problem;
    const blocks whole = {.m = p->m, .n = p->n, .k = p->k};
    const blocks_problem sizes = {.m = p->m, .n = p->n, .k = p->k};
    if (p->m == 0 || p->n == 0) return false;
    if (wish->memory > 0) x->in_core += (double)workspace_bytes(wish, in, &sizes, &whole);
    return x->in_core > (double)x->limit && x->in_core < 0x1p62;
}

/* What --verify takes beside the matrices: at most, since the types are not chosen yet. */
static double check_room(const product_wish *wish, const operands *in)
{
    const io_matrix *a = &in->each[OPERAND_A].matrix, *b = &in->each[OPERAND_B].matrix;
    const bool transposes_a = wish->transpose_a;
    const bool complex = io_type_is_complex(a->type) || io_type_is_complex(b->type);
    const tw_problem p = tw_problem_make(complex ? TW_CF64 : TW_F64, TW_N, TW_N, transposes_a ? a->cols : a->rows,
                                         wish->transpose_b ? b->rows : b->cols, transposes_a ? a->rows : a->cols);
    return wish->verify ? check_bytes(wish, &p) : 0;
}

exit_code out_of_core_open(const product_wish *wish, operands *in, io_format format, out_of_core *x)
{
    term_number needs, limit;
    x->limit = out_of_core_usable(wish);
    if (wish->memory > 0) io_allow_memory((uint64_t)wish->memory);
    exit_code code = EXIT_OK;
    const operand *whole = operands_open(wish, in);
    x->whole = whole != NULL ? whole->path : NULL;
    if (whole == NULL) {
        x->in_core = operands_bytes(wish, in);
        if (wish->memory == 0) x->in_core += check_room(wish, in); /* --memory is of matrices and workspaces */
        if (wish->memory > 0 || x->in_core > (double)x->limit) {
            code = operands_settle(wish, in);
            x->needed = code == EXIT_OK && is_needed(wish, in, x);
        }
    }
    if (!x->needed) {
        operands_free(in);
        return code;
    }
    if (wish->epilogue != NULL)
        return diag(EXIT_MEMORY,
                    "--epilogue: the product takes %s of memory, more than %s, and what is computed in panels takes no "
                    "epilogue",
                    term_bytes(x->in_core, needs), term_bytes((double)x->limit, limit));
    if (format == IO_FORMAT_MTX)
        return diag(EXIT_MEMORY,
                    "%s: Matrix Market files are written as a whole, and the product takes %s of memory, more than %s: "
                    "give -o a name that ends in .npy, .raw or .bin",
                    wish->output, term_bytes(x->in_core, needs), term_bytes((double)x->limit, limit));
    return choose_blocks(wish, in, x);
}

exit_code out_of_core_check(const product_wish *wish, const operands *in, const out_of_core *x)
{
    const double bytes = operands_bytes(wish, in);
    term_number needs, limit;
    if (wish->memory == 0 || bytes <= (double)x->limit || in->problem.m == 0 || in->problem.n == 0) return EXIT_OK;
    if (x->whole != NULL)
        return diag(EXIT_MEMORY,
                    "%s: is read as a whole, and the product takes %s of memory, more than --memory %s: only "
                    ".npy and raw files that are not compressed are read in panels",
                    x->whole, term_bytes(bytes, needs), term_bytes((double)x->limit, limit));
    return diag(EXIT_MEMORY, "the product takes %s of memory, more than --memory %s", term_bytes(bytes, needs),
                term_bytes((double)x->limit, limit));
}

tw_problem out_of_core_block(const product_wish *wish, const operands *in, const out_of_core *x)
{
    return block_of(wish, in, x->blocks.m, x->blocks.n, x->blocks.k);
}

void out_of_core_tell(const product_wish *wish, const out_of_core *x)
{
    const blocks_problem *p = &x->problem;
    const blocks *b = &x->blocks;
    term_number needs, limit, takes, reads;
    char depth[64] = "";
    if (wish->quiet) return;
    term_progress_end();
    if (b->divides_k) snprintf(depth, sizeof depth, ", k in parts of %" PRId64, b->k);
    fprintf(wish->text,
            "memory     %s as a whole, more than %s: C in %" PRId64 " x %" PRId64 " blocks of %" PRId64 " x %" PRId64
            "%s, which take %s; %s of A and B to read\n",
            term_bytes(x->in_core, needs), term_bytes((double)x->limit, limit), (p->m + b->m - 1) / b->m,
            (p->n + b->n - 1) / b->n, b->m, b->n, depth, term_bytes((double)x->bytes, takes),
            term_bytes(b->read_bytes, reads));
    fflush(wish->text);
}

/* ---- the product ---- */

typedef struct work {
    const product_wish *wish;
    const operands *in;
    io_output *out;
    out_of_core *x;
    panels panels;
    char *c, *row; /* the block, or its sums; a row of C that is made of sums */
    double start_s, flops, flops_done, told_s;
} work;

static exit_code read_c0(work *w, int64_t i, int64_t j, int64_t rows, int64_t cols, void *out)
{
    const operand *add = &w->in->each[OPERAND_ADD];
    io_error error;
    if (add->path == NULL) return EXIT_OK;
    const double start_s = measure_now_s();
    const io_status status = io_source_read(&add->source, i, j, rows, cols, w->in->as.type_c, true, out, &error);
    w->x->read_s += measure_now_s() - start_s;
    w->x->bytes_read += (double)rows * (double)cols * (double)io_type_bytes(add->matrix.type);
    return status == IO_OK ? EXIT_OK : diag_io(status, &error);
}

static exit_code write_c(work *w, int64_t i, int64_t j, int64_t rows, int64_t cols, const void *block)
{
    io_error error;
    const double start_s = measure_now_s();
    if (w->wish->verify) {
        operands of_block = *w->in;
        int64_t infinite = 0;
        of_block.problem.m = rows, of_block.problem.n = cols;
        w->x->nans += check_nans(&of_block, block, NULL, &infinite);
        w->x->infinite += infinite;
    }
    const io_status status = io_output_put(w->out, i, j, rows, cols, block, &error);
    w->x->write_s += measure_now_s() - start_s;
    return status == IO_OK ? EXIT_OK : diag_io(status, &error);
}

/* alpha times the sums, and beta times C0, row by row. */
static exit_code finish_sums(work *w, const blocks_at *at)
{
    const tw_problem *p = &w->in->problem;
    exit_code code = EXIT_OK;
    for (int64_t i = 0; code == EXIT_OK && i < at->rows; i++) {
        code = read_c0(w, at->i + i, at->j, 1, at->cols, w->row);
        if (code != EXIT_OK) return code;
        const tw_status status = tw_lab_finish_sums(w->wish->context, p->dtype_c, 1, at->cols, p->alpha,
                                                    w->c + i * at->cols * w->x->problem.c_bytes, at->cols, p->beta,
                                                    w->row, at->cols);
        code = status == TW_OK ? write_c(w, at->i + i, at->j, 1, at->cols, w->row) : diag_tw(status);
    }
    return code;
}

static exit_code multiply_panels(work *w, const blocks_at *at)
{
    const void *a, *b;
    const bool divided = w->x->blocks.divides_k;
    tw_problem p = block_of(w->wish, w->in, at->rows, at->cols, at->depth);
    exit_code code = panels_await(&w->panels, at, &a, &b);
    if (code == EXIT_OK && !divided) code = read_c0(w, at->i, at->j, at->rows, at->cols, w->c);
    if (code != EXIT_OK) return code;
    if (divided) p.alpha = 1, p.beta = at->p > 0;
    const double start_s = measure_now_s();
    const tw_status status = tw_gemm(w->wish->context, &p, a, b, w->c);
    w->x->multiply_s += measure_now_s() - start_s;
    return status == TW_OK ? EXIT_OK : diag_tw(status);
}

/* "12 s", "3 min", "2.5 h" */
static const char *time_left(double seconds, term_number out)
{
    if (seconds < 100)
        snprintf(out, sizeof(term_number), "%.0f s", seconds);
    else if (seconds < 6000)
        snprintf(out, sizeof(term_number), "%.0f min", seconds / 60);
    else
        snprintf(out, sizeof(term_number), "%.1f h", seconds / 3600);
    return out;
}

static void tell_progress(work *w, const blocks_at *at)
{
    const double now_s = measure_now_s(), spent_s = now_s - w->start_s;
    char text[80];
    term_number rate, left;
    w->flops_done += 2.0 * (double)at->rows * (double)at->cols * (double)at->depth;
    if (now_s - w->told_s < 0.1 || w->flops_done <= 0) return;
    w->told_s = now_s;
    snprintf(text, sizeof text, "multiplying at %s GFLOP/s, %s left", term_gflops(w->flops_done / spent_s / 1e9, rate),
             time_left(spent_s * (w->flops / w->flops_done - 1), left));
    term_progress(text, w->flops_done / w->flops);
}

static exit_code multiply_all(work *w)
{
    const blocks_problem *p = &w->x->problem;
    const blocks *b = &w->x->blocks;
    blocks_at at;
    exit_code code = EXIT_OK;
    bool more = true;
    blocks_first(p, b, &at);
    while (more && code == EXIT_OK) {
        code = multiply_panels(w, &at);
        const blocks_at done = at;
        more = blocks_next(p, b, &at);
        if (more) panels_free(&w->panels, &at);
        w->x->panels = done.reads_a + done.reads_b;
        if (code == EXIT_OK && done.p + done.depth >= p->k)
            code = b->finishes ? finish_sums(w, &done) : write_c(w, done.i, done.j, done.rows, done.cols, w->c);
        tell_progress(w, &done);
    }
    return code;
}

static exit_code begin_output(const work *w, io_format format)
{
    const tw_problem *p = &w->in->problem;
    const io_matrix c = {.type = w->in->as.type_c, .rows = p->m, .cols = p->n, .row_stride = p->n, .col_stride = 1};
    io_error error;
    const io_status status = io_output_begin(w->out, format, &c, &error);
    return status == IO_OK ? EXIT_OK : diag_io(status, &error);
}

exit_code out_of_core_run(const product_wish *wish, const operands *in, io_output *out, io_format format,
                          out_of_core *x)
{
    static work w;
    const blocks *b = &x->blocks;
    w = (work){
        .wish = wish, .in = in, .out = out, .x = x, .start_s = measure_now_s(), .flops = roofline_flops(&in->problem)};
    exit_code code = begin_output(&w, format);
    if (code != EXIT_OK) return code;
    w.c = memory_for(b->m, b->n, (size_t)x->problem.c_bytes);
    w.row = memory_for(b->finishes, b->n, (size_t)x->problem.c_bytes);
    if (w.c == NULL || w.row == NULL) code = diag_no_memory("a block of C");
    if (code == EXIT_OK) code = panels_begin(&w.panels, in, wish, &x->problem, b);
    if (code == EXIT_OK) {
        term_progress("multiplying", -1);
        code = multiply_all(&w);
        panels_end(&w.panels);
        x->bytes_read += w.panels.bytes_read, x->read_s += w.panels.read_s, x->waited_s = w.panels.waited_s;
    }
    free(w.c), free(w.row);
    return code;
}
