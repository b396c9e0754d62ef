/* gemm_blocks.c - tw_gemm_blocks(): checks that the blocks of each matrix cover it, and has the product spread. */
#include <inttypes.h>
#include <stdlib.h>

#include "api.h"
#include "sized.h"
#include "spread.h"

enum { BLOCK_FIRST_BYTES = offsetof(tw_block, ld) + sizeof(int64_t), MOST_BLOCKS = 1024 };

/* A matrix of the call. */
typedef struct given {
    const char *name;
    const tw_block *user;
    int32_t count;
    int64_t rows, cols;
    int64_t bytes; /* of an element */
    spread_block *blocks;
} given;

static tw_status check_block(const tw_context *context, const given *g, int i, const tw_block *b)
{
    if (b->device < TW_BLOCK_ON_HOST || b->device >= context->device_count)
        return fail(TW_BAD_ARGUMENT, "%s[%d].device is %d, expected TW_BLOCK_ON_HOST (%d) or one of the context's %d",
                    g->name, i, (int)b->device, TW_BLOCK_ON_HOST, context->device_count);
    if (b->rows < 1 || b->columns < 1 || b->row < 0 || b->column < 0 || b->row > g->rows - b->rows ||
        b->column > g->cols - b->columns)
        return fail(TW_BAD_ARGUMENT,
                    "%s[%d] is %" PRId64 " x %" PRId64 " elements from (%" PRId64 ", %" PRId64
                    ") on, of a matrix of %" PRId64 " x %" PRId64,
                    g->name, i, b->rows, b->columns, b->row, b->column, g->rows, g->cols);
    if (b->ld < b->columns || b->ld > INT64_MAX / 2 / g->bytes / b->rows)
        return fail(TW_BAD_ARGUMENT, "%s[%d].ld is %" PRId64 ", expected at least %" PRId64 ", its columns", g->name, i,
                    b->ld, b->columns);
    if (b->at == NULL || (uintptr_t)b->at % (uintptr_t)g->bytes != 0)
        return fail(TW_BAD_ARGUMENT, "%s[%d].at is %s", g->name, i,
                    b->at == NULL ? "NULL" : "not aligned to one element");
    return TW_OK;
}

static bool overlap(const spread_block *x, const spread_block *y)
{
    return x->row < y->row + y->rows && y->row < x->row + x->rows && x->col < y->col + y->cols &&
           y->col < x->col + x->cols;
}

/* Blocks lie beside each other and cover the matrix, all on the host or none. */
static tw_status check_cover(const given *g, bool written)
{
    double covered = 0;
    for (int i = 0; i < g->count; i++) {
        const spread_block *x = &g->blocks[i];
        covered += (double)x->rows * (double)x->cols;
        for (int j = 0; j < i; j++) {
            const spread_block *y = &g->blocks[j];
            if (overlap(x, y)) return fail(TW_BAD_ARGUMENT, "%s[%d] and %s[%d] overlap", g->name, j, g->name, i);
            if ((x->device == HOST_MEMORY) != (y->device == HOST_MEMORY))
                return fail(TW_BAD_ARGUMENT, "%s[%d] is in host memory and %s[%d] is not: expected all or none",
                            g->name, x->device == HOST_MEMORY ? i : j, g->name, x->device == HOST_MEMORY ? j : i);
            if (written && (x->device == y->device))
                return fail(TW_BAD_ARGUMENT,
                            "%s[%d] and %s[%d] are of one device: expected at most one block of C in "
                            "each place",
                            g->name, j, g->name, i);
        }
    }
    if (covered == (double)g->rows * (double)g->cols) return TW_OK;
    return fail(TW_BAD_ARGUMENT, "the blocks of %s have %.0f elements together, the matrix has %.0f", g->name, covered,
                (double)g->rows * (double)g->cols);
}

static tw_status take_blocks(const tw_context *context, given *g, bool written)
{
    if (g->count < 1 || g->count > MOST_BLOCKS || g->user == NULL)
        return fail(TW_BAD_ARGUMENT, "%s is %s, of %d blocks: expected 1 to %d", g->name,
                    g->user == NULL ? "NULL" : "given", (int)g->count, MOST_BLOCKS);
    g->blocks = calloc((size_t)g->count, sizeof *g->blocks);
    if (g->blocks == NULL) return fail(TW_NO_MEMORY, "no memory for a list of %d blocks", (int)g->count);
    for (int i = 0; i < g->count; i++) {
        tw_block b;
        TRY(sized_load(g->name, (const char *)g->user + (size_t)i * g->user->size, BLOCK_FIRST_BYTES, &b, sizeof b));
        TRY(check_block(context, g, i, &b));
        g->blocks[i] = (spread_block){b.device, b.row, b.column, b.rows, b.columns, b.ld, (uint64_t)(uintptr_t)b.at};
    }
    return check_cover(g, written);
}

/* The problem with its own leading dimensions, which the blocks' stand for. */
static tw_status take_problem(const tw_problem *user, tw_problem *p)
{
    tw_problem own;
    TRY(problem_take(user, &own));
    own.place_a = own.place_b = own.place_c = TW_HOST;
    own.lda = max_i64(problem_a_cols(&own), 1), own.ldb = max_i64(problem_b_cols(&own), 1), own.ldc = max_i64(own.n, 1);
    TRY(problem_load(&own, api_stand_in(0), api_stand_in(0), api_stand_in(0), p));
    if (p->epilogue != NULL) return fail(TW_NO_KERNEL, "problem.epilogue is set: blocks take none");
    if (problem_b_is_packed(p)) return fail(TW_NO_KERNEL, "problem.flags has TW_PACKED_B: blocks are packed by nobody");
    if (problem_triangle(p) != 0) return fail(TW_NO_KERNEL, "problem.flags is %u: triangles are for the cpu", p->flags);
    return TW_OK;
}

static tw_status run(tw_context *context, const stop *stop, const tw_problem *p, given g[3])
{
    for (int x = p->k > 0 ? 0 : 2; x < 3; x++) TRY(take_blocks(context, &g[x], x == 2));
    spread_matrix matrices[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    for (int x = 0; x < 3; x++)
        if (g[x].blocks != NULL) matrices[x] = (spread_matrix){g[x].blocks, g[x].count};
    return spread_blocks(context, stop, p, matrices);
}

tw_status tw_gemm_blocks(tw_context *context, const tw_problem *problem, const tw_block *a, int32_t a_count,
                         const tw_block *b, int32_t b_count, const tw_block *c, int32_t c_count)
{
    HOLD_CANCELLATION;
    const stop stop = context_stop(context);
    tw_problem p;
    TRY(take_problem(problem, &p));
    TRY(context_find(&context));
    if (context->ops->spread == NULL)
        return fail(TW_NO_KERNEL, "the context is of the %s engine, which takes no blocks: expected one of cuda",
                    context->ops->name);
    if (p.m == 0 || p.n == 0) return TW_OK;
    given g[3] = {{"a", a, a_count, problem_a_rows(&p), problem_a_cols(&p), dtype_find(p.dtype)->lab.bytes, NULL},
                  {"b", b, b_count, problem_b_rows(&p), problem_b_cols(&p), dtype_find(p.dtype_b)->lab.bytes, NULL},
                  {"c", c, c_count, p.m, p.n, dtype_find(p.dtype_c)->lab.bytes, NULL}};
    const tw_status status = run(context, &stop, &p, g);
    for (int x = 0; x < 3; x++) free(g[x].blocks);
    return status;
}
