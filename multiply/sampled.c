/* sampled.c - see sampled.h. Rows and columns are drawn from each block, and the elements where they cross judged
 * against the whole of k, read from the files anew. */
#include "sampled.h"

#include <inttypes.h>
#include <stdlib.h>
#include "../lab/whole.h"
#include "../program/diag.h"
#include "../program/term.h"

enum { SAMPLES = 64 }; /* rows and columns, at least */

/* Rows or columns to look at: `each` of every block, drawn by chance. */
typedef struct drawn {
    int64_t begin, length, block, each, count;
    uint64_t seed;
} drawn;

static drawn draw(int64_t begin, int64_t length, int64_t block, int samples, uint64_t seed)
{
    const int64_t parts = (length + block - 1) / block, wanted = (samples + parts - 1) / parts,
                  each = wanted < block ? wanted : block;
    return (drawn){begin, length, block, each, parts * each, seed};
}

/* In a block shorter than the others an element may be drawn more than once. */
static int64_t drawn_at(const drawn *d, int64_t number)
{
    const int64_t first = number / d->each * d->block, left = d->length - first,
                  room = left < d->block ? left : d->block, part = number % d->each;
    const int64_t from = room * part / d->each, to = room * (part + 1) / d->each;
    const int64_t span = to > from ? to - from : 1;
    return d->begin + first + from + (int64_t)(element_mix(d->seed, (uint64_t)number) % (uint64_t)span);
}

typedef struct judge {
    const product_wish *wish;
    const operands *in;
    const out_of_core *x;
    io_source c;
    drawn rows, cols;
    int64_t edge; /* rows and columns that are judged at a time */
    char *a, *b, *c_values, *c0;
    verify_report *report;
} judge;

/* Row of op(A), or column of op(B): k elements side by side. */
static exit_code read_line(const judge *j, operand_role role, int64_t line, void *out)
{
    const operand *x = &j->in->each[role];
    const bool of_a = role == OPERAND_A, is_row = of_a != (of_a ? j->wish->transpose_a : j->wish->transpose_b);
    const io_type to = of_a ? j->in->as.type_a : j->in->as.type_b;
    const int64_t k = j->in->problem.k;
    io_error error;
    const io_status status = is_row ? io_source_read(&x->source, line, 0, 1, k, to, false, out, &error)
                                    : io_source_read(&x->source, 0, line, k, 1, to, false, out, &error);
    return status == IO_OK ? EXIT_OK : diag_io(status, &error);
}

static exit_code read_element(const io_source *from, int64_t i, int64_t j, io_type to, void *out)
{
    io_error error;
    const io_status status = io_source_read(from, i, j, 1, 1, to, true, out, &error);
    return status == IO_OK ? EXIT_OK : diag_io(status, &error);
}

static exit_code judge_lines(judge *j, int64_t row0, int64_t rows, int64_t col0, int64_t cols)
{
    const int64_t bytes = j->x->problem.c_bytes;
    const operand *add = &j->in->each[OPERAND_ADD];
    const io_type type = j->in->as.type_c;
    exit_code code = EXIT_OK;
    for (int64_t e = 0; code == EXIT_OK && e < rows * cols; e++) {
        const int64_t row = drawn_at(&j->rows, row0 + e / cols), col = drawn_at(&j->cols, col0 + e % cols);
        code = read_element(&j->c, row, col, type, j->c_values + e * bytes);
        if (code == EXIT_OK && add->path != NULL) code = read_element(&add->source, row, col, type, j->c0 + e * bytes);
    }
    if (code != EXIT_OK) return code;
    tw_problem p = j->in->problem;
    const bool a_conjugated = p.op_a == TW_R || p.op_a == TW_C, b_conjugated = p.op_b == TW_R || p.op_b == TW_C;
    p.m = rows, p.n = cols, p.lda = p.ldb = p.k > 0 ? p.k : 1, p.ldc = cols;
    p.op_a = a_conjugated ? TW_R : TW_N, p.op_b = b_conjugated ? TW_C : TW_T;
    verify_report part;
    const bool is_unsigned = io_type_is_unsigned(type);
    const verify_options wanted = {
        .seed = j->wish->seed, .samples = rows * cols, .threads = j->wish->threads, .is_unsigned = is_unsigned};
    const tw_status status = verify_product(&p, j->a, j->b, add->path != NULL ? j->c0 : NULL, j->c_values, &wanted,
                                            &part);
    if (status != TW_OK) return diag_lab(status, "the check");
    j->report->elements += part.elements;
    if (part.element_ratio > j->report->element_ratio) j->report->element_ratio = part.element_ratio;
    if (part.passed) return EXIT_OK;
    code = operands_unchanged(j->in);
    if (code != EXIT_OK) return code;
    j->report->passed = false;
    const int64_t row = drawn_at(&j->rows, row0 + (part.row > 0 ? part.row : 0)),
                  col = drawn_at(&j->cols, col0 + (part.col > 0 ? part.col : 0));
    char text[160];
    if (io_type_is_integer(type))
        whole_sentence(text, sizeof text, element_of(p.dtype_c), row, col, part.whole[0], part.whole[1], is_unsigned);
    else
        snprintf(text, sizeof text, "C[%" PRId64 ", %" PRId64 "] is %.17g, expected %.17g within %.3g", row, col,
                 part.found, part.expected, part.bound);
    return diag(EXIT_CHECK, "%s: %s", j->wish->output, text);
}

static exit_code judge_all(judge *j)
{
    const int64_t k = j->in->problem.k, a_bytes = j->x->problem.a_bytes, b_bytes = j->x->problem.b_bytes;
    exit_code code = EXIT_OK;
    for (int64_t col = 0; code == EXIT_OK && col < j->cols.count; col += j->edge) {
        const int64_t cols = j->edge < j->cols.count - col ? j->edge : j->cols.count - col;
        for (int64_t c = 0; code == EXIT_OK && c < cols; c++)
            code = read_line(j, OPERAND_B, drawn_at(&j->cols, col + c), j->b + c * k * b_bytes);
        for (int64_t row = 0; code == EXIT_OK && row < j->rows.count; row += j->edge) {
            const int64_t rows = j->edge < j->rows.count - row ? j->edge : j->rows.count - row;
            term_progress("checking", ((double)col + (double)row / (double)j->rows.count) / (double)j->cols.count);
            for (int64_t r = 0; code == EXIT_OK && r < rows; r++)
                code = read_line(j, OPERAND_A, drawn_at(&j->rows, row + r), j->a + r * k * a_bytes);
            if (code == EXIT_OK) code = judge_lines(j, row, rows, col, cols);
        }
    }
    return code;
}

exit_code sampled_judge(const product_wish *wish, const operands *in, const io_output *out, const out_of_core *x,
                        const sampled_region *region, verify_report *report)
{
    const tw_problem *p = &in->problem;
    const sampled_region all = {0, 0, p->m, p->n, SAMPLES};
    const sampled_region *of = region != NULL ? region : &all;
    const blocks_problem *sizes = &x->problem;
    const io_raw_shape raw = {.type = in->as.type_c, .rows = p->m, .cols = p->n, .result = true, .plain = true};
    io_error error;
    judge j = {.wish = wish, .in = in, .x = x, .report = report};
    *report = (verify_report){.passed = true, .row = -1, .col = -1};
    j.rows = draw(of->row, of->rows, x->blocks.m, of->samples, wish->seed);
    j.cols = draw(of->col, of->cols, x->blocks.n, of->samples, ~wish->seed);
    const double line_bytes = (double)p->k * (double)(sizes->a_bytes + sizes->b_bytes) + 128.0 * (double)sizes->c_bytes;
    for (j.edge = SAMPLES; j.edge > 1 && (double)j.edge * line_bytes > (double)x->limit; j.edge /= 2) continue;
    if (io_source_open(io_output_readable(out), &raw, &j.c, &error) != IO_OK) return diag_io(IO_CANNOT_WRITE, &error);
    j.a = memory_for(j.edge, p->k, (size_t)sizes->a_bytes), j.b = memory_for(j.edge, p->k, (size_t)sizes->b_bytes);
    j.c_values = memory_for(j.edge, j.edge, (size_t)sizes->c_bytes);
    j.c0 = memory_for(j.edge, j.edge, (size_t)sizes->c_bytes);
    exit_code code = j.a == NULL || j.b == NULL || j.c_values == NULL || j.c0 == NULL ? diag_no_memory("the check")
                                                                                      : judge_all(&j);
    free(j.a), free(j.b), free(j.c_values), free(j.c0);
    io_source_close(&j.c);
    return code;
}
