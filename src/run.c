/* run.c - carries a plan out: brings operands from host memory to where the engine computes, launches, brings C back;
 * in panels where copies go on beside the work. */
#include "run.h"
#include "room.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static operand operand_of(const void *host, int64_t rows, int64_t cols, int64_t ld, int64_t device_ld, tw_dtype dtype,
                          bool whole)
{
    return (operand){.host = (void *)(uintptr_t)host,
                     .rows = rows,
                     .cols = cols,
                     .ld = ld,
                     .device_ld = device_ld,
                     .element_bytes = (size_t)dtype_find(dtype)->lab.bytes,
                     .whole = whole};
}

void run_end(tw_lab_run *run)
{
    const engine_ops *ops = run->context->ops;
    ops->drop(run->context->engine, &run->runnable);
    for (int i = 0; i < run->uploaded; i++) ops->release(run->context->engine, &run->buffer[i]);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A copy of an operand with rows and columns exchanged and no padding. NULL without memory. */
static void *transposed(const operand *o)
{
    size_t bytes = o->element_bytes;
    char *copy = malloc((size_t)(o->rows * o->cols) * bytes + 1);
    for (int64_t j = 0; copy != NULL && j < o->cols; j++)
        for (int64_t i = 0; i < o->rows; i++)
            memcpy(copy + (size_t)(j * o->rows + i) * bytes, (const char *)o->host + (size_t)(i * o->ld + j) * bytes,
                   bytes);
    return copy;
}

/* Upload B transposed, for kernels that read it as n x k; the host's time is noted. */
static tw_status upload_transposed(tw_lab_run *run, const operand *b, buffer *out)
{
    double begin = now_s();
    operand copy = {.host = transposed(b),
                    .rows = b->cols,
                    .cols = b->rows,
                    .ld = b->rows,
                    .device_ld = b->rows,
                    .element_bytes = b->element_bytes};
    run->prepare_s = now_s() - begin;
    if (copy.host == NULL) return fail(TW_NO_MEMORY, "no memory for a transposed copy of B");
    tw_status status = run->context->ops->upload(run->context->engine, &copy, true, out);
    free(copy.host);
    return status;
}

/* Do two operands share memory? */
static bool overlap(const operand *x, const operand *y)
{
    const char *x_at = x->host, *y_at = y->host;
    const int64_t x_bytes = x->rows * x->ld * (int64_t)x->element_bytes,
                  y_bytes = y->rows * y->ld * (int64_t)y->element_bytes;
    return (uintptr_t)x_at < (uintptr_t)y_at + (uintptr_t)y_bytes &&
           (uintptr_t)y_at < (uintptr_t)x_at + (uintptr_t)x_bytes;
}

tw_status run_begin(tw_lab_run *run, const tw_problem *h, const void *a, const void *b, void *c)
{
    const engine_ops *ops = run->context->ops;
    const tw_problem *p = &run->plan.problem;
    run->operand[0] = operand_of(a, problem_a_rows(p), problem_a_cols(p), h->lda, p->lda, p->dtype, run->whole);
    run->operand[1] = operand_of(b, problem_b_rows(p), problem_b_cols(p), h->ldb, p->ldb, p->dtype, run->whole);
    run->operand[2] = operand_of(c, p->m, p->n, h->ldc, p->ldc, p->dtype_c, run->whole);
    bool lends = !run->whole && !run->brings_c; /* the lab keeps its operands */
    for (int i = 0; i < 3; i++) run->operand[i].lent = lends, run->operand[i].stop = run->stop;
    if (lends && overlap(&run->operand[0], &run->operand[1])) run->operand[1].lent = false;
    run->uploaded = 0;
    TRY(ops->prepare(run->context->engine, &run->plan, &run->runnable));
    run->runnable.stop = run->stop;
    if (p->place_c == TW_DEVICE) {
        run->buffer[0] = buffer_on_device(a);
        run->buffer[1] = buffer_on_device(b);
        run->buffer[2] = buffer_on_device(c);
        return TW_OK;
    }
    for (; run->uploaded < 3; run->uploaded++) {
        int i = run->uploaded;
        bool copies = !run->overlaps && (i < 2 ? p->k > 0 : problem_reads_c(p) || run->brings_c);
        bool transposes = i == 1 && copies && run->context->facts.copies && run->plan.gpu.transposes_b;
        tw_status status = transposes ? upload_transposed(run, &run->operand[1], &run->buffer[1])
                                      : ops->upload(run->context->engine, &run->operand[i], copies, &run->buffer[i]);
        if (status != TW_OK) {
            run_end(run);
            return status;
        }
    }
    return TW_OK;
}

static tw_status launch(tw_lab_run *run)
{
    return run->context->ops->launch(run->context->engine, &run->runnable, &run->buffer[0], &run->buffer[1],
                                     &run->buffer[2]);
}

/* There was no memory for a workspace: is there for that of smaller blocks? Not inlined, so that no other run pays for
 * the second plan. */
__attribute__((noinline)) static tw_status launch_smaller(tw_lab_run *run)
{
    plan smaller = run->plan;
    tw_status status = TW_NO_MEMORY;
    run->runnable.plan = &smaller;
    while (status == TW_NO_MEMORY && plan_shrink(&smaller)) status = launch(run);
    run->runnable.plan = &run->plan;
    return status;
}

tw_status run_once(tw_lab_run *run)
{
    TRY(stop_check(run->stop));
    tw_status status = launch(run);
    if (status == TW_NO_MEMORY && !run->runnable.launched) status = launch_smaller(run);
    TRY(status);
    status = run->context->ops->wait(run->context->engine, &run->runnable);
    if (status == TW_OK) return stop_check(run->stop);
    const bool in_place = run->plan.problem.place_c == TW_DEVICE || run->buffer[2].host != NULL;
    return status == TW_NO_MEMORY && in_place ? TW_DEVICE_FAILED : status; /* the former promises that C is as it was */
}

/* Rows of C in a panel, so that copying A and C costs little beside the work; 0: too little is copied to divide it.
 * Panels are of whole tiles. */
static int64_t panel_rows(const tw_problem *p)
{
    const int64_t least_bytes = (int64_t)64 << 20, tiles = 256;
    if (p->op_a != TW_N || p->k == 0) return 0;
    int64_t bytes = p->m * (p->lda * dtype_find(p->dtype)->lab.bytes + p->ldc * dtype_find(p->dtype_c)->lab.bytes);
    int64_t rows = round_up(ceil_div(p->m, MOST_PANELS), tiles);
    return bytes >= least_bytes && rows < p->m ? rows : 0;
}

/* Is there room for the operands beside a workspace of this size? That of the whole has it. */
static bool has_room(const tw_lab_run *run, size_t workspace_bytes)
{
    plan other = run->plan;
    other.workspace_bytes = workspace_bytes;
    return workspace_bytes <= run->plan.workspace_bytes || room_check(run->context, &other) == TW_OK;
}

/* Plans of a panel and of the last one, by the kernel of the whole. False: they would be built otherwise, or want a
 * workspace for which there is no room. */
static bool plan_panels(const tw_lab_run *run, int64_t rows, plan part[2])
{
    const plan *whole = &run->plan;
    const tw_lab_choice same = {.kernel = whole->row->lab.name};
    device_facts facts = run->context->facts;
    facts.clusters = whole->gpu.k_split.by_cluster;
    for (int i = 0; i < 2; i++) {
        tw_problem p = whole->problem;
        p.m = i == 0 ? rows : p.m - (ceil_div(p.m, rows) - 1) * rows;
        if (plan_find(&p, &facts, &same, &part[i]) != TW_OK || strcmp(part[i].gpu.options, whole->gpu.options) != 0 ||
            !has_room(run, part[i].workspace_bytes))
            return false;
    }
    return true;
}

/* run->plan is made, and not all of what it needs is on the device before it begins. */
static tw_status run_in_panels(tw_lab_run *run, int64_t rows, const plan part[2], const tw_problem *h, const void *a,
                               const void *b, void *c)
{
    const engine_ops *ops = run->context->ops;
    run->overlaps = true;
    TRY(run_begin(run, h, a, b, c));
    const panels work = {.part = &part[0],
                         .last = &part[1],
                         .count = (int)ceil_div(h->m, rows),
                         .rows = rows,
                         .operands = run->operand,
                         .buffers = run->buffer,
                         .brings_c = problem_reads_c(&run->plan.problem)};
    tw_status status = ops->overlap(run->context->engine, &run->runnable, &work);
    run_end(run);
    return status == TW_OK ? stop_check(run->stop) : status;
}

tw_status run_whole(tw_lab_run *run, const tw_problem *h, const void *a, const void *b, void *c)
{
    const tw_problem *p = &run->plan.problem;
    const engine_ops *ops = run->context->ops;
    int64_t rows = ops->overlap != NULL && p->place_c == TW_HOST ? panel_rows(p) : 0;
    if (rows > 0) {
        plan part[2];
        if (plan_panels(run, rows, part)) return run_in_panels(run, rows, part, h, a, b, c);
    }
    TRY(run_begin(run, h, a, b, c));
    tw_status status = run_once(run);
    if (status == TW_OK && p->place_c == TW_HOST)
        status = ops->download(run->context->engine, &run->buffer[2], &run->operand[2]);
    run_end(run);
    return status == TW_OK ? stop_check(run->stop) : status;
}
