/* in_place.c - products that pack nothing: GEMV, and small ones by a row's unpacked(). Threads divide their outputs,
 * each with the whole of k. */
#include "cpu_engine.h"

typedef struct product {
    const plan *plan;
    double alpha, beta;
    const char *a, *b;
    char *c;
} product;

/* Outputs first .. last - 1 of a C that is one row (x is B, y is A) or one column (x is A, y is B). */
static void gemv_task(void *context, int64_t task)
{
    const product *of = context;
    const plan *plan = of->plan;
    const tw_problem *p = &plan->problem;
    const bool row = p->m == 1, a_transposed = op_transposes(p->op_a), b_transposed = op_transposes(p->op_b);
    const int64_t a_rs = a_transposed ? 1 : p->lda, a_cs = a_transposed ? p->lda : 1, b_rs = b_transposed ? 1 : p->ldb,
                  b_cs = b_transposed ? p->ldb : 1, count = row ? p->n : p->m,
                  each = row ? plan->cpu.task_n : plan->cpu.task_m, first = task * each, c_stride = row ? 1 : p->ldc,
                  x_stride = row ? b_cs : a_rs, bytes = dtype_find(p->dtype)->lab.bytes,
                  c_bytes = plan->finish != NULL ? dtype_find(p->dtype_c)->lab.bytes : problem_sum_bytes(p);
    cpu_gemv gemv = {.count = min_i64(each, count - first),
                     .k = p->k,
                     .x = (row ? of->b : of->a) + first * x_stride * bytes,
                     .y = row ? of->a : of->b,
                     .c = of->c + first * c_stride * c_bytes,
                     .x_stride = x_stride,
                     .x_k = row ? b_rs : a_cs,
                     .y_stride = row ? a_cs : b_rs,
                     .c_stride = c_stride,
                     .alpha = of->alpha,
                     .beta = of->beta,
                     .down = !row,
                     .x_unsigned = (row ? p->dtype_b : p->dtype) == TW_U8,
                     .y_unsigned = (row ? p->dtype : p->dtype_b) == TW_U8};
    cpu_epilogue epilogue;
    if (plan->finish != NULL) {
        epilogue = cpu_epilogue_of(plan, of->alpha, of->beta, gemv.c);
        *(row ? &epilogue.j0 : &epilogue.i0) += first;
        gemv.epilogue = &epilogue;
    }
    plan->row->gemv(&gemv);
}

/* A part of an unpacked product from row i and column j of C on, where C is finished. Its sums lie in C until then if
 * they have room there and C is not read: some rows at a time, so that unpacked() divides their columns evenly. Else
 * they are computed beside it, a tile at a time. */
static void finish_part(const plan *plan, const cpu_epilogue *e, cpu_unpacked part, const char *of_m, const char *of_n,
                        int64_t i, int64_t j)
{
    enum { STRIP_BYTES = 16384 }; /* half of the smallest L1 */
    char own[CPU_MOST_TILE_BYTES] __attribute__((aligned(64)));
    const int64_t m = part.m, n = part.n, mr = plan->row->lab.tile_m, bytes = problem_sum_bytes(&plan->problem);
    const bool in_c = e->c_bytes == bytes && !epilogue_reads(e->beta);
    const int64_t rows = in_c ? max_i64(STRIP_BYTES / (n * bytes) / mr, 1) * mr : mr,
                  cols = in_c ? n : plan->row->lab.tile_n;
    part.complex.alpha = part.complex.beta = 0;
    for (int64_t p = 0; p < m; p += rows)
        for (int64_t q = 0; q < n; q += cols) {
            part.m = min_i64(rows, m - p), part.n = min_i64(cols, n - q);
            const int64_t height = part.transposed ? part.n : part.m, width = part.transposed ? part.m : part.n,
                          row = i + (part.transposed ? q : p), column = j + (part.transposed ? p : q);
            char *sums = in_c ? e->c + (row * e->ldc + column) * e->c_bytes : own;
            part.ldc = in_c ? e->ldc : width;
            plan->row->unpacked(&part, 1, 0, of_m + p * part.a_rs * bytes, of_n + q * bytes, sums);
            cpu_finish_block(e, row, column, height, width, sums, part.ldc);
        }
}

/* Rows i .. last - 1 of task_n columns from j on, of an unpacked plan; where C is computed transposed, B has the
 * rows. */
static void unpacked_part(const plan *plan, double alpha, double beta, const void *a, const void *b, void *c, int64_t i,
                          int64_t last, int64_t j)
{
    const cpu_plan *cpu = &plan->cpu;
    const int64_t bytes = problem_sum_bytes(&plan->problem);
    cpu_unpacked part = cpu->unpacked_shape;
    part.complex = cpu_complex_of(&plan->problem);
    part.m = last - i, part.n = min_i64(cpu->task_n, cpu->unpacked_shape.n - j);
    const char *of_m = part.transposed ? b : a, *of_n = part.transposed ? a : b;
    const int64_t row = part.transposed ? j : i, column = part.transposed ? i : j;
    of_m += i * part.a_rs * bytes, of_n += j * bytes;
    if (plan->finish == NULL) {
        plan->row->unpacked(&part, alpha, beta, of_m, of_n, (char *)c + (row * part.ldc + column) * bytes);
        return;
    }
    const cpu_epilogue epilogue = cpu_epilogue_of(plan, alpha, beta, c);
    finish_part(plan, &epilogue, part, of_m, of_n, row, column);
}

static void unpacked_task(void *context, int64_t i)
{
    const product *of = context;
    const cpu_plan *cpu = &of->plan->cpu;
    const int64_t tasks_m = ceil_div(cpu->unpacked_shape.m, cpu->task_m), row = i % tasks_m * cpu->task_m,
                  column = i / tasks_m * cpu->task_n;
    unpacked_part(of->plan, of->alpha, of->beta, of->a, of->b, of->c, row,
                  min_i64(row + cpu->task_m, cpu->unpacked_shape.m), column);
}

/* A thread that is alone, since the others sleep, computes all rows of an unpacked product at once. */
static void walk(void *context, team *team)
{
    const product *of = context;
    const cpu_plan *cpu = &of->plan->cpu;
    const tw_problem *p = &of->plan->problem;
    const int64_t m = cpu->unpacked_shape.m, n = cpu->unpacked_shape.n;
    if (cpu->gemv)
        team_share(team, p->m == 1 ? ceil_div(p->n, cpu->task_n) : ceil_div(p->m, cpu->task_m), gemv_task, context);
    else if (team_threads(team) > 1)
        team_share(team, ceil_div(m, cpu->task_m) * ceil_div(n, cpu->task_n), unpacked_task, context);
    else
        in_place_compute_rows(of->plan, of->alpha, of->beta, of->a, of->b, of->c, 0, m);
}

void in_place_walk(const plan *plan, const void *a, const void *b, void *c, team *team)
{
    walk(&(product){plan, plan->problem.alpha, plan->problem.beta, a, b, c}, team);
}

__attribute__((noinline)) void in_place_share(const plan *plan, double alpha, double beta, const void *a, const void *b,
                                              void *c, pool *pool)
{
    pool_run_tasks(pool, plan->threads, plan->woken, walk, &(product){plan, alpha, beta, a, b, c}, NULL);
}

/* Not inlined, as is compute_gemv(), so that the smallest products do not pay for their locals. */
__attribute__((noinline)) void in_place_compute_rows(const plan *plan, double alpha, double beta, const void *a,
                                                     const void *b, void *c, int64_t first, int64_t last)
{
    /* so much of B stays in the L2 */
    for (int64_t j = 0; j < plan->cpu.unpacked_shape.n; j += plan->cpu.task_n)
        unpacked_part(plan, alpha, beta, a, b, c, first, last, j);
}

__attribute__((noinline)) static void compute_gemv(const plan *plan, double alpha, double beta, const void *a,
                                                   const void *b, void *c)
{
    gemv_task(&(product){plan, alpha, beta, a, b, c}, 0);
}

void in_place_compute(const plan *plan, double alpha, double beta, const void *a, const void *b, void *c)
{
    const cpu_plan *cpu = &plan->cpu;
    if (cpu->gemv) {
        compute_gemv(plan, alpha, beta, a, b, c);
    } else if (cpu->unpacked_shape.n > cpu->task_n || cpu->unpacked_shape.transposed || plan->finish != NULL) {
        in_place_compute_rows(plan, alpha, beta, a, b, c, 0, cpu->unpacked_shape.m);
    } else {
        plan->row->unpacked(&cpu->unpacked_shape, alpha, beta, a, b, c);
    }
}
