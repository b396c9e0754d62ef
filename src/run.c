/* run.c - carries a plan out: brings operands from host memory to where the engine computes, launches, brings C
 * back. */
#include "run.h"
#include "bound.h"
#include "panels.h"

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
    bound_end(run);
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
    run->uploaded = run->uploaded_bound = 0;
    TRY(ops->prepare(run->context->engine, &run->plan, &run->runnable));
    run->runnable.stop = run->stop;
    if (p->epilogue != NULL) {
        const tw_status status = bound_begin(run);
        if (status != TW_OK) {
            ops->drop(run->context->engine, &run->runnable);
            return status;
        }
    }
    if (p->place_c == TW_DEVICE) {
        run->buffer[0] = buffer_on_device(a);
        run->buffer[1] = buffer_on_device(b);
        run->buffer[2] = buffer_on_device(c);
        return TW_OK;
    }
    for (; run->uploaded < 3; run->uploaded++) {
        int i = run->uploaded;
        bool copies = i < 2 ? p->k > 0 : problem_reads_c(p) || run->brings_c;
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
    return status == TW_NO_MEMORY && in_place ? TW_DEVICE_FAILED : status; /* C may not be as it was */
}

tw_status run_whole(tw_lab_run *run, const tw_problem *h, const void *a, const void *b, void *c)
{
    const tw_problem *p = &run->plan.problem;
    bool done = false;
    if (run->context->facts.copies) TRY(panels_run(run, h, a, b, c, &done));
    if (done) return TW_OK;
    TRY(run_begin(run, h, a, b, c));
    tw_status status = run_once(run);
    if (status == TW_OK && p->place_c == TW_HOST)
        status = run->context->ops->download(run->context->engine, &run->buffer[2], &run->operand[2]);
    run_end(run);
    return status == TW_OK ? stop_check(run->stop) : status;
}
