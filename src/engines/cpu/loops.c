/* loops.c - the five loops around the micro-kernel, written once for every CPU and dtype.
 *
 *     for each strip of C, strip_m x strip_n                        (loops 5 and 4: what the L3 should hold)
 *       for each panel of k, kc deep                                (loop 3)
 *         pack the strip's part of A and of B into panels           [all threads, then a barrier]
 *         for each task of task_m x task_n of the strip             [taken from a counter, then a barrier]
 *           for each mr rows of the task                            (loop 2: its sliver of A stays in the L1)
 *             for each nr columns                                   (loop 1: its block of B stays in the L2)
 *               micro-kernel: mr x nr sums += sliver of A x sliver of B
 *
 * Where the operands fit the L2 there is one panel, and what can be is read where it lies (plan->direct_a, direct_b). A C of one row
 * or one column (plan->line) has no loops here, only its outputs divided. Panels of bf16 and int8 hold other words than their operands (cpu_form): k, where it
 * counts what panels hold, counts steps. An element of C is one sum over k in ascending order, kept unscaled until the last panel: its bits depend neither on the blocks
 * nor on the threads (in the default floating-point environment: threads of the pool keep the one they were made in).
 * Sources: Goto and van de Geijn 2008; Van Zee and van de Geijn 2015. */
#include "cpu_engine.h"

typedef struct loops {
    const plan *plan;
    const char *a, *b;
    char *c, *packed_a, *packed_b, *sums;
    char *all_a, *all_b; /* a whole operand packed before; NULL: it is packed as the loops need it */
    int64_t a_rs, a_cs, b_rs, b_cs;
    int64_t mr, nr, bytes, source_bytes; /* of an element of C, of sums and of panels; of A and B */
    double alpha, beta;
    /* where the loops stand */
    int64_t i0, j0, p0, rows, cols, depth, steps, a_steps; /* this strip and panel */
} loops;

enum { PANELS_PER_TASK = 4 };

static void pack_some(const loops *l, bool of_b, void *packed, const void *source, int64_t stride, int64_t k_stride, int64_t length, int64_t width, int64_t task)
{
    int64_t first = task * PANELS_PER_TASK, last = min_i64(first + PANELS_PER_TASK, ceil_div(length, width));
    cpu_form form = l->plan->row->form;
    if (form == CPU_PLAIN)
        pack_panels((size_t)l->bytes, packed, source, stride, k_stride, length, l->depth, width, first, last);
    else
        pack_words(form, of_b, packed, source, stride, k_stride, length, l->depth, width, first, last);
}

static void pack_a_task(void *context, int64_t task)
{
    const loops *l = context;
    pack_some(l, false, l->packed_a, l->a + (l->i0 * l->a_rs + l->p0 * l->a_cs) * l->source_bytes, l->a_rs, l->a_cs, l->rows, l->mr, task);
}

static void pack_b_task(void *context, int64_t task)
{
    const loops *l = context;
    pack_some(l, true, l->packed_b, l->b + (l->p0 * l->b_rs + l->j0 * l->b_cs) * l->source_bytes, l->b_cs, l->b_rs, l->cols, l->nr, task);
}

static int64_t pack_tasks(int64_t length, int64_t width) { return ceil_div(length, width * PANELS_PER_TASK); }

static bool packs_a(const loops *l) { return !l->plan->direct_a && l->all_a == NULL; }
static bool packs_b(const loops *l) { return !l->plan->direct_b && l->all_b == NULL; }

/* Where a strip's panel of k lies in an operand that was packed as a whole, each in as much room as the plan has for one. */
static char *packed_before(const loops *l, char *all, int64_t strip, size_t room)
{
    const plan *plan = l->plan;
    return all + (size_t)(strip * ceil_div(plan->problem.k, plan->kc) + l->p0 / plan->kc) * room;
}

/* B's panels first, then A's. */
static void pack_task(void *context, int64_t task)
{
    const loops *l = context;
    int64_t of_b = packs_b(l) ? pack_tasks(l->cols, l->nr) : 0;
    if (task < of_b)
        pack_b_task(context, task);
    else
        pack_a_task(context, task - of_b);
}

/* The micro-kernel at row i, column j of the strip. */
static void tile_at(const loops *l, int64_t i, int64_t j)
{
    const plan *plan = l->plan;
    const tw_problem *p = &plan->problem;
    bool a_lies = plan->direct_a, b_lies = plan->direct_b;
    cpu_tile tile = {.rows = min_i64(l->mr, l->rows - i), .cols = min_i64(l->nr, l->cols - j), .k = l->steps,
                     .a = a_lies ? l->a + ((l->i0 + i) * l->a_rs + l->p0 * l->a_cs) * l->bytes : l->packed_a + i * l->a_steps * l->bytes,
                     .b = b_lies ? l->b + (l->p0 * l->b_rs + l->j0 + j) * l->bytes : l->packed_b + j * l->steps * l->bytes,
                     .a_rs = a_lies ? l->a_rs : 1, .a_cs = a_lies ? l->a_cs : l->mr, .b_rs = b_lies ? l->b_rs : l->nr, .packed = !a_lies && !b_lies,
                     .c = l->c + ((l->i0 + i) * p->ldc + l->j0 + j) * l->bytes, .ldc = p->ldc, .alpha = l->alpha, .beta = l->beta};
    void *sum = plan->sum_bytes > 0 ? l->sums + (i * plan->strip_n + j) * l->bytes : tile.c;
    if (j + l->nr < l->cols) tile.next = (char *)(l->p0 + l->depth < p->k ? sum : tile.c) + l->nr * l->bytes;
    tile.sum_in_ld = tile.sum_out_ld = plan->sum_bytes > 0 ? plan->strip_n : p->ldc;
    if (l->p0 > 0) tile.sum_in = sum;
    if (l->p0 + l->depth < p->k) tile.sum_out = sum;
    plan->row->micro(&tile);
}

static void compute_task(void *context, int64_t task)
{
    const loops *l = context;
    int64_t tasks_m = ceil_div(l->rows, l->plan->task_m);
    int64_t i_first = task % tasks_m * l->plan->task_m, i_last = min_i64(i_first + l->plan->task_m, l->rows);
    int64_t j_first = task / tasks_m * l->plan->task_n, j_last = min_i64(j_first + l->plan->task_n, l->cols);
    if (l->plan->streams_b)
        for (int64_t j = j_first; j < j_last; j += l->nr)
            for (int64_t i = i_first; i < i_last; i += l->mr) tile_at(l, i, j);
    else
        for (int64_t i = i_first; i < i_last; i += l->mr)
            for (int64_t j = j_first; j < j_last; j += l->nr) tile_at(l, i, j);
}

/* Outputs first .. last - 1 of a C that is one row (x is B, y is A) or one column (x is A, y is B). */
static void line_task(void *context, int64_t task)
{
    const loops *l = context;
    const tw_problem *p = &l->plan->problem;
    bool row = p->m == 1;
    int64_t count = row ? p->n : p->m, each = row ? l->plan->task_n : l->plan->task_m, first = task * each, c_stride = row ? 1 : p->ldc;
    int64_t x_stride = row ? l->b_cs : l->a_rs;
    cpu_line line = {.count = min_i64(each, count - first), .k = p->k, .x = (row ? l->b : l->a) + first * x_stride * l->bytes, .y = row ? l->a : l->b,
                     .c = l->c + first * c_stride * l->bytes, .x_stride = x_stride, .x_k = row ? l->b_rs : l->a_cs, .y_stride = row ? l->a_cs : l->b_rs,
                     .c_stride = c_stride, .alpha = l->alpha, .beta = l->beta};
    l->plan->row->line(&line);
}

static void walk_line(void *context, team *team)
{
    const plan *plan = ((const loops *)context)->plan;
    team_for(team, plan->problem.m == 1 ? ceil_div(plan->problem.n, plan->task_n) : ceil_div(plan->problem.m, plan->task_m), line_task, context);
}

/* Every thread of the team walks the same loops; only the tasks are shared out. */
static void walk(void *context, team *team)
{
    loops l = *(const loops *)context;
    const plan *plan = l.plan;
    const tw_problem *p = &plan->problem;
    for (l.j0 = 0; l.j0 < p->n; l.j0 += plan->strip_n)
        for (l.i0 = 0; l.i0 < p->m; l.i0 += plan->strip_m) {
            l.rows = min_i64(plan->strip_m, p->m - l.i0), l.cols = min_i64(plan->strip_n, p->n - l.j0);
            l.p0 = 0;
            do { /* at least once: with k = 0 the micro-kernel scales C by beta, and A and B may be NULL */
                l.depth = min_i64(plan->kc, p->k - l.p0);
                l.steps = cpu_form_steps(plan->row->form, l.depth), l.a_steps = cpu_form_a_steps(plan->row->form, l.depth);
                int64_t tasks = (packs_b(&l) ? pack_tasks(l.cols, l.nr) : 0) + (packs_a(&l) ? pack_tasks(l.rows, l.mr) : 0);
                if (l.all_a != NULL) l.packed_a = packed_before(&l, l.all_a, l.i0 / plan->strip_m, plan->a_bytes);
                if (l.all_b != NULL) l.packed_b = packed_before(&l, l.all_b, l.j0 / plan->strip_n, plan->b_bytes);
                if (l.depth > 0 && tasks > 0) team_for(team, tasks, pack_task, &l);
                team_for(team, ceil_div(l.rows, plan->task_m) * ceil_div(l.cols, plan->task_n), compute_task, &l);
                l.p0 += plan->kc;
            } while (l.p0 < p->k);
        }
}

static loops loops_of(const plan *plan, double alpha, double beta, const void *a, const void *b, void *c)
{
    const tw_problem *p = &plan->problem;
    bool a_turned = p->op_a == TW_T, b_turned = p->op_b == TW_T;
    return (loops){.plan = plan, .a = a, .b = b, .c = c, .alpha = alpha, .beta = beta,
                   .a_rs = a_turned ? 1 : p->lda, .a_cs = a_turned ? p->lda : 1,
                   .b_rs = b_turned ? 1 : p->ldb, .b_cs = b_turned ? p->ldb : 1,
                   .mr = plan->row->lab.tile_m, .nr = plan->row->lab.tile_n,
                   .bytes = p->dtype == TW_F64 ? 8 : 4, .source_bytes = dtype_find(p->dtype)->lab.bytes};
}

void loops_compute_rows(const plan *plan, double alpha, double beta, const void *a, const void *b, void *c, int64_t first, int64_t last)
{
    const tw_problem *p = &plan->problem;
    const int64_t mr = plan->row->lab.tile_m, nr = plan->row->lab.tile_n, bytes = p->dtype == TW_F64 ? 8 : 4;
    const int64_t a_rs = p->op_a == TW_T ? 1 : p->lda;
    cpu_tile tile = {.k = p->k, .a_rs = a_rs, .a_cs = p->op_a == TW_T ? p->lda : 1, .b_rs = p->ldb, .ldc = p->ldc, .alpha = alpha, .beta = beta};
    for (int64_t i = first; i < last; i += mr)
        for (int64_t j = 0; j < p->n; j += nr) {
            tile.rows = min_i64(mr, last - i), tile.cols = min_i64(nr, p->n - j);
            tile.a = (const char *)a + i * a_rs * bytes, tile.b = (const char *)b + j * bytes, tile.c = (char *)c + (i * p->ldc + j) * bytes;
            tile.next = j + nr < p->n ? (char *)tile.c + nr * bytes : NULL;
            plan->row->micro(&tile);
        }
}

void loops_compute(const plan *plan, double alpha, double beta, const void *a, const void *b, void *c)
{
    if (!plan->line) {
        loops_compute_rows(plan, alpha, beta, a, b, c, 0, plan->problem.m);
        return;
    }
    loops l = loops_of(plan, alpha, beta, a, b, c);
    line_task(&l, 0);
}

void loops_pack_all(const plan *plan, bool of_a, const void *source, void *packed, team *team)
{
    const tw_problem *p = &plan->problem;
    loops l = loops_of(plan, p->alpha, p->beta, source, source, NULL);
    int64_t length = of_a ? p->m : p->n, strip = of_a ? plan->strip_m : plan->strip_n, width = of_a ? l.mr : l.nr;
    for (int64_t first = 0; first < length; first += strip)
        for (l.p0 = 0; l.p0 < p->k; l.p0 += plan->kc) {
            l.i0 = l.j0 = first, l.rows = l.cols = min_i64(strip, length - first), l.depth = min_i64(plan->kc, p->k - l.p0);
            l.packed_a = l.packed_b = packed_before(&l, packed, first / strip, of_a ? plan->a_bytes : plan->b_bytes);
            team_for(team, pack_tasks(l.rows, width), of_a ? pack_a_task : pack_b_task, &l);
        }
}

void loops_item(const plan *plan, const void *a, const void *b, void *c, void *all_a, void *all_b, void *workspace, team *team)
{
    loops l = loops_of(plan, plan->problem.alpha, plan->problem.beta, a, b, c);
    l.all_a = all_a, l.all_b = all_b;
    l.packed_a = workspace;
    l.packed_b = l.packed_a + (all_a != NULL ? 0 : plan->a_bytes);
    l.sums = l.packed_b + (all_b != NULL ? 0 : plan->b_bytes);
    (plan->line ? walk_line : walk)(&l, team);
}

void loops_run(const plan *plan, const void *a, const void *b, void *c, void *workspace, pool *pool)
{
    const tw_problem *p = &plan->problem;
    if (plan->at_once) {
        loops_compute(plan, p->alpha, p->beta, a, b, c);
        return;
    }
    loops l = loops_of(plan, p->alpha, p->beta, a, b, c);
    l.packed_a = workspace;
    l.packed_b = (char *)workspace + plan->a_bytes;
    l.sums = (char *)workspace + plan->a_bytes + plan->b_bytes;
    pool_run(pool, plan->threads, plan->line ? walk_line : walk, &l);
}
