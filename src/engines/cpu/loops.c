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

/* Steps of k that lie side by side are packed panel by panel. Lanes that do are packed some steps of k at a time, along all panels: so many rows of
 * the source are read front to back, which the processor's own prefetchers follow; one panel of each row after the other they do not. */
enum { PANELS_PER_TASK = 4, STEPS_PER_TASK = 8, LANES_PER_TASK = 8192 };

/* Steps of one task: enough of short rows to be worth a task. */
static int64_t steps_of(int64_t length) { return max_i64(STEPS_PER_TASK, LANES_PER_TASK / length); }

static bool by_steps(const loops *l, int64_t stride) { return stride == 1 && l->plan->row->form == CPU_PLAIN; }

static int64_t pack_tasks(const loops *l, int64_t stride, int64_t length, int64_t width)
{
    return by_steps(l, stride) ? ceil_div(l->depth, steps_of(length)) : ceil_div(length, width * PANELS_PER_TASK);
}

static void pack_some(const loops *l, bool of_b, void *packed, const void *source, int64_t stride, int64_t k_stride, int64_t length, int64_t width, int64_t task)
{
    bool slices = by_steps(l, stride);
    int64_t panels = ceil_div(length, width), first = task * (slices ? steps_of(length) : PANELS_PER_TASK), last = min_i64(first + PANELS_PER_TASK, panels);
    if (l->plan->row->form != CPU_PLAIN)
        pack_words(l->plan->row->form, of_b, packed, source, stride, k_stride, length, l->depth, width, first, last);
    else
        pack_panels((size_t)l->bytes, packed, source, stride, k_stride, length, l->depth, width,
                    slices ? (pack_part){0, panels, first, min_i64(first + steps_of(length), l->depth)} : (pack_part){first, last, 0, l->depth});
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

static int64_t pack_a_tasks(const loops *l) { return pack_tasks(l, l->a_rs, l->rows, l->mr); }
static int64_t pack_b_tasks(const loops *l) { return pack_tasks(l, l->b_cs, l->cols, l->nr); }

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
    int64_t of_b = packs_b(l) ? pack_b_tasks(l) : 0;
    if (task < of_b)
        pack_b_task(context, task);
    else
        pack_a_task(context, task - of_b);
}

/* After how many steps of k a tile of `cols` columns asks for more: some 200 multiply-adds, or, in one that is shorter than the memory's answer, once for
 * all. By measurement, docs/PERF-LOG.md. */
static int64_t ask_steps(int64_t k, int64_t cols, int64_t nr) { return k <= 24 ? 24 : cols < nr ? 8 * nr / cols : 8; }

/* How many lines of `rows` rows, of `bytes` bytes each, to ask for at a time, so that a tile of k steps asks for them all. */
static int64_t asked_each(int64_t rows, int64_t bytes, int64_t k, int64_t steps)
{
    const int64_t lines = rows * ceil_div(bytes, CPU_LINE_BYTES);
    return k <= steps ? lines : ceil_div(lines, ceil_div(k, steps));
}

/* A task's part of the strip; of the next mr rows of A in it, a_bytes long, what each tile asks for; how much tiles ask for at a time; what its tiles
 * have in common. */
typedef struct block {
    int64_t i_first, i_last, j_first, j_last, a_bytes, a_part, a_each, c_each;
    cpu_tile tile;
} block;

static block block_of(const loops *l, int64_t task)
{
    const plan *plan = l->plan;
    const int64_t tasks_m = ceil_div(l->rows, plan->task_m), ldc = plan->problem.ldc, sum_ld = plan->sum_bytes > 0 ? plan->strip_n : ldc;
    block t = {.i_first = task % tasks_m * plan->task_m, .j_first = task / tasks_m * plan->task_n};
    t.i_last = min_i64(t.i_first + plan->task_m, l->rows), t.j_last = min_i64(t.j_first + plan->task_n, l->cols);
    const bool a_lies = plan->direct_a, b_lies = plan->direct_b, a_rows = a_lies && l->a_cs == 1 && l->a_rs * l->bytes % 4096 != 0;
    t.tile = (cpu_tile){.k = l->steps, .ask_steps = ask_steps(l->steps, t.j_last - t.j_first, l->nr), .a_rs = a_lies ? l->a_rs : 1,
                        .a_cs = a_lies ? l->a_cs : l->mr, .b_rs = b_lies ? l->b_rs : l->nr, .packed = !a_lies && !b_lies, .sum_in_ld = sum_ld,
                        .sum_out_ld = sum_ld, .ldc = ldc, .alpha = l->alpha, .beta = l->beta};
    t.tile.ahead_a = (cpu_ahead){.rows = a_lies ? l->mr : 1, .ld = a_lies ? l->a_rs * l->bytes : 0};
    t.tile.ahead_c = (cpu_ahead){.rows = l->mr, .ld = (l->p0 + l->depth < plan->problem.k ? sum_ld : ldc) * l->bytes};
    /* Rows of A that meet in the cache would drive each other out of it; where B streams, all of A stays near. */
    if (!plan->streams_b && (a_rows || !a_lies)) t.a_bytes = a_lies ? l->steps * l->bytes : l->a_steps * l->mr * l->bytes;
    t.a_part = round_up(ceil_div(t.a_bytes, ceil_div(t.j_last - t.j_first, l->nr)), CPU_LINE_BYTES);
    t.a_each = asked_each(t.tile.ahead_a.rows, t.a_part, l->steps, t.tile.ask_steps);
    t.c_each = asked_each(l->mr, min_i64(l->nr, t.j_last - t.j_first) * l->bytes, l->steps, t.tile.ask_steps);
    return t;
}

/* The micro-kernel at row i, column j of the strip. */
static void tile_at(const loops *l, block *t, int64_t i, int64_t j)
{
    const plan *plan = l->plan;
    const int64_t bytes = l->bytes, a_past = (j - t->j_first) / l->nr * t->a_part;
    const bool right = j + l->nr < t->j_last, below = i + l->mr < t->i_last, ends = l->p0 + l->depth >= plan->problem.k;
    cpu_tile *tile = &t->tile;
    tile->rows = min_i64(l->mr, l->rows - i), tile->cols = min_i64(l->nr, l->cols - j);
    tile->a = plan->direct_a ? l->a + ((l->i0 + i) * l->a_rs + l->p0 * l->a_cs) * bytes : l->packed_a + i * l->a_steps * bytes;
    tile->b = plan->direct_b ? l->b + (l->p0 * l->b_rs + l->j0 + j) * bytes : l->packed_b + j * l->steps * bytes;
    tile->c = l->c + ((l->i0 + i) * tile->ldc + l->j0 + j) * bytes;
    char *sum = plan->sum_bytes > 0 ? l->sums + (i * plan->strip_n + j) * bytes : tile->c, *out = ends ? tile->c : sum;
    tile->sum_in = l->p0 > 0 ? sum : NULL, tile->sum_out = ends ? NULL : sum;
    tile->ahead_a.at = (uintptr_t)tile->a + (uintptr_t)(l->mr * (plan->direct_a ? l->a_rs : l->a_steps) * bytes + a_past);
    tile->ahead_a.each = below && a_past < t->a_bytes ? t->a_each : 0;
    tile->ahead_c.at = (uintptr_t)out + (uintptr_t)(plan->streams_b ? l->mr * tile->ahead_c.ld : right ? l->nr * bytes : l->mr * tile->ahead_c.ld - (j - t->j_first) * bytes);
    tile->ahead_c.each = below || (right && !plan->streams_b) ? t->c_each : 0;
    plan->row->micro(tile);
}

static void compute_task(void *context, int64_t task)
{
    const loops *l = context;
    const kernel_row *row = l->plan->row;
    block t = block_of(l, task);
    if (row->enter != NULL) row->enter();
    if (l->plan->streams_b)
        for (int64_t j = t.j_first; j < t.j_last; j += l->nr)
            for (int64_t i = t.i_first; i < t.i_last; i += l->mr) tile_at(l, &t, i, j);
    else
        for (int64_t i = t.i_first; i < t.i_last; i += l->mr)
            for (int64_t j = t.j_first; j < t.j_last; j += l->nr) tile_at(l, &t, i, j);
    if (row->leave != NULL) row->leave();
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
                int64_t tasks = (packs_b(&l) ? pack_b_tasks(&l) : 0) + (packs_a(&l) ? pack_a_tasks(&l) : 0);
                l.steps = cpu_form_steps(plan->row->form, l.depth), l.a_steps = cpu_form_a_steps(plan->row->form, l.depth);
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

/* Ask for rows of an operand at once; rows that lie close together as one run. */
static void ask_for(const void *at, int64_t rows, int64_t ld_bytes, int64_t bytes)
{
    uintptr_t row = (uintptr_t)at;
    if (ld_bytes < bytes + CPU_LINE_BYTES) bytes += (rows - 1) * ld_bytes, rows = 1;
    for (int64_t i = 0; i < rows; i++, row += (uintptr_t)ld_bytes)
        for (uintptr_t q = row; q < row + (uintptr_t)bytes; q += CPU_LINE_BYTES) __builtin_prefetch((const void *)q);
}

void loops_compute_rows(const plan *plan, double alpha, double beta, const void *a, const void *b, void *c, int64_t first, int64_t last)
{
    const tw_problem *p = &plan->problem;
    const int64_t mr = plan->row->lab.tile_m, nr = plan->row->lab.tile_n, bytes = p->dtype == TW_F64 ? 8 : 4;
    const int64_t a_rs = p->op_a == TW_T ? 1 : p->lda;
    cpu_tile tile; /* each field of it set, since clearing it takes longer than to fill it */
    tile.k = p->k, tile.ask_steps = ask_steps(p->k, p->n, nr), tile.packed = false, tile.alpha = alpha, tile.beta = beta;
    tile.a_rs = a_rs, tile.a_cs = p->op_a == TW_T ? p->lda : 1, tile.b_rs = p->ldb;
    tile.sum_in = NULL, tile.sum_out = NULL, tile.sum_in_ld = tile.sum_out_ld = tile.ldc = p->ldc;
    int64_t part = 0, a_each = 0, c_each = 0; /* part: bytes of the next rows of A that each tile asks for */
    if (last - first > mr) {
        part = p->n <= nr ? p->k * bytes : round_up(ceil_div(p->k * bytes, ceil_div(p->n, nr)), CPU_LINE_BYTES);
        c_each = asked_each(mr, min_i64(nr, p->n) * bytes, p->k, tile.ask_steps);
        if (p->op_a == TW_N) {
            a_each = asked_each(mr, part, p->k, tile.ask_steps);
            ask_for((const char *)a + first * a_rs * bytes, mr, a_rs * bytes, p->k * bytes);
        }
    }
    tile.ahead_a.rows = tile.ahead_c.rows = mr, tile.ahead_a.ld = a_rs * bytes, tile.ahead_c.ld = p->ldc * bytes;
    for (int64_t i = first; i < last; i += mr) {
        bool below = i + mr < last;
        tile.rows = min_i64(mr, last - i);
        tile.ahead_a.at = (uintptr_t)a + (uintptr_t)((i + mr) * a_rs * bytes);
        tile.ahead_a.each = below ? a_each : 0;
        for (int64_t j = 0, asked = 0; j < p->n; j += nr) {
            bool right = j + nr < p->n;
            tile.cols = min_i64(nr, p->n - j);
            tile.a = (const char *)a + i * a_rs * bytes, tile.b = (const char *)b + j * bytes, tile.c = (char *)c + (i * p->ldc + j) * bytes;
            tile.ahead_c.at = right ? (uintptr_t)tile.c + (uintptr_t)(nr * bytes) : (uintptr_t)c + (uintptr_t)((i + mr) * p->ldc * bytes);
            tile.ahead_c.each = right || below ? c_each : 0;
            plan->row->micro(&tile);
            tile.ahead_a.at += (uintptr_t)part;
            if ((asked += part) >= p->k * bytes) tile.ahead_a.each = 0;
        }
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
    int64_t length = of_a ? p->m : p->n, strip = of_a ? plan->strip_m : plan->strip_n;
    for (int64_t first = 0; first < length; first += strip)
        for (l.p0 = 0; l.p0 < p->k; l.p0 += plan->kc) {
            l.i0 = l.j0 = first, l.rows = l.cols = min_i64(strip, length - first), l.depth = min_i64(plan->kc, p->k - l.p0);
            l.packed_a = l.packed_b = packed_before(&l, packed, first / strip, of_a ? plan->a_bytes : plan->b_bytes);
            team_for(team, of_a ? pack_a_tasks(&l) : pack_b_tasks(&l), of_a ? pack_a_task : pack_b_task, &l);
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
