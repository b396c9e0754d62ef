/* loops.c - the five loops around the micro-kernel, written once for every CPU and dtype.
 *
 *     for each macro-block of C, macro_m x macro_n                  (loops 5 and 4: what the L3 should hold)
 *       for each panel of k, kc deep                                (loop 3)
 *         pack its part of A and of B into panels                   [tasks as well, among those of the panel before]
 *         for each task of task_m x task_n of the macro-block       [from a counter; run_task() waits for its panels]
 *           for each mr rows of the task                            (loop 2: its sliver of A stays in the L1)
 *             for each nr columns                                   (loop 1: its block of B stays in the L2)
 *               micro-kernel: mr x nr sums += sliver of A x sliver of B
 *
 * If the operands are no larger than a few times the L2, there is one panel, and operands are read in place where that
 * is possible (direct_a, direct_b of the plan). Small-m products (small_m): a task computes its panel in steps of k,
 * each with loop 1 outside of loop 2; of many threads each copies the step's rows of B for itself (copy_n). Panels of
 * f16, bf16 and int8 hold other words than their operands (cpu_layout): a k that counts what panels hold counts steps.
 *
 * An element of C is, over each chunk of k, one sum in ascending order, and these sums, in ascending order, are added,
 * unscaled until the last panel: its bits depend neither on the blocks nor on the threads, in whatever floating-point
 * environment the caller has. A k of several chunks may also be divided (chunks.c).
 *
 * Sources: Goto and van de Geijn 2008; Van Zee and van de Geijn 2015. */
#include "cpu_engine.h"

#include <string.h>

typedef struct loops {
    const plan *plan;
    const char *a, *b;
    char *c, *first_a, *first_b, *packed_a, *packed_b; /* packed panels: the first buffer, and the one of this panel */
    char *sums, *totals;                               /* beside C: of this chunk of k, and of those before */
    char *copy;                                        /* copy_n > 0: of B, of the first thread; then of this one */
    char *all_a, *all_b; /* a whole operand packed before; NULL: the loops pack it as they need it */
    int64_t a_rs, a_cs, b_rs, b_cs;
    int64_t mr, nr, bytes, source_bytes; /* of a sum and of panels; of an element of A and B */
    cpu_epilogue epilogue;               /* scalars, and C's bytes, also where nothing is finished */
    cpu_complex complex;
    /* position of the loops */
    int64_t i0, j0, p0, rows, cols, depth, steps, a_steps; /* this macro-block and panel */
    int64_t copied;                                        /* the first column of the copy */
} loops;

/* A K-major operand is packed panel by panel. An MN-major one is packed some steps of k at a time, along all panels:
 * rows of the source are read front to back (pack_steps), which hardware prefetchers follow; they do not follow one
 * panel of each row after the other. */
enum { PANELS_PER_TASK = 4, PACKS_PER_THREAD = 2, STEPS_PER_TASK = 8, LANES_PER_TASK = 8192 };

static bool by_steps(const loops *l, bool of_b, int64_t stride)
{
    return stride == 1 && (of_b || !cpu_layout_sums(l->plan->row->layout));
}

/* Of words: of elements that are packed as they are, or widened, too a step is one. */
static bool of_words(const loops *l) { return l->plan->row->layout != CPU_PLAIN && l->plan->row->layout != CPU_HALVES; }

/* Steps of one task: enough of short rows to be worth a task; of words fewer where threads would have none. */
static int64_t steps_of(const loops *l, int64_t length)
{
    const int64_t steps = max_i64(STEPS_PER_TASK, LANES_PER_TASK / length);
    if (!of_words(l)) return steps;
    const int64_t share = ceil_div(l->steps, PACKS_PER_THREAD * (int64_t)l->plan->threads);
    return round_up(min_i64(steps, share), CPU_STEP_UNIT);
}

/* Panels of one task: fewer where threads would have none. */
static int64_t panels_of(const loops *l, int64_t length, int64_t width)
{
    return min_i64(PANELS_PER_TASK, ceil_div(ceil_div(length, width), PACKS_PER_THREAD * (int64_t)l->plan->threads));
}

static int64_t pack_tasks(const loops *l, bool of_b, int64_t stride, int64_t length, int64_t width)
{
    return by_steps(l, of_b, stride) ? ceil_div(of_words(l) ? l->steps : l->depth, steps_of(l, length))
                                     : ceil_div(length, width * panels_of(l, length, width));
}

static void pack_some(const loops *l, bool of_b, void *packed, const void *source, int64_t stride, int64_t k_stride,
                      int64_t length, int64_t width, int64_t task)
{
    const size_t bytes = (size_t)l->bytes;
    const kernel_row *row = l->plan->row;
    const tw_problem *p = &l->plan->problem;
    if (by_steps(l, of_b, stride)) {
        int64_t steps = steps_of(l, length), first = task * steps,
                last = min_i64(first + steps, of_words(l) ? l->steps : l->depth);
        if (of_words(l))
            pack_word_steps(row->layout, of_b, p->dtype == TW_U8, p->dtype_b == TW_U8, packed, source, k_stride, length,
                            l->depth, width, first, last);
        else if (row->layout == CPU_HALVES)
            pack_half_steps(row->widen, packed, source, k_stride, length, l->depth, width, first, last);
        else
            pack_steps(bytes, packed, source, k_stride, length, l->depth, width, first, last);
        return;
    }
    int64_t panels = panels_of(l, length, width), first = task * panels,
            last = min_i64(first + panels, ceil_div(length, width));
    if (row->layout == CPU_HALVES)
        pack_half_panels(row->widen, packed, source, stride, length, l->depth, width, first, last);
    else if (row->layout != CPU_PLAIN)
        pack_words(row->layout, of_b, p->dtype == TW_U8, p->dtype_b == TW_U8, packed, source, stride, k_stride, length,
                   l->depth, width, first, last);
    else
        pack_panels(bytes, packed, source, stride, k_stride, length, l->depth, width, first, last);
}

static void pack_a_task(void *context, int64_t task)
{
    const loops *l = context;
    pack_some(l, false, l->packed_a, l->a + (l->i0 * l->a_rs + l->p0 * l->a_cs) * l->source_bytes, l->a_rs, l->a_cs,
              l->rows, l->mr, task);
}

static void pack_b_task(void *context, int64_t task)
{
    const loops *l = context;
    pack_some(l, true, l->packed_b, l->b + (l->p0 * l->b_rs + l->j0 * l->b_cs) * l->source_bytes, l->b_cs, l->b_rs,
              l->cols, l->nr, task);
}

static int64_t pack_a_tasks(const loops *l) { return pack_tasks(l, false, l->a_rs, l->rows, l->mr); }
static int64_t pack_b_tasks(const loops *l) { return pack_tasks(l, true, l->b_cs, l->cols, l->nr); }

static bool packs_a(const loops *l) { return !l->plan->cpu.direct_a && l->all_a == NULL; }
static bool packs_b(const loops *l) { return !l->plan->cpu.direct_b && l->all_b == NULL; }

/* Where this panel of the macro-block lies in an operand that was packed as a whole: its panels one behind the other,
 * as long as the operand, each with the room of a whole one, however the products divide them. */
static char *packed_before(const loops *l, char *all, bool of_a)
{
    const int64_t before = (of_a ? l->i0 * l->a_steps : l->j0 * l->steps) * l->bytes;
    return all + (size_t)cpu_panels_before(&l->plan->cpu, l->p0) * cpu_panel_bytes(l->plan, of_a) + (size_t)before;
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

/* Whether this panel, or step of a small-m product, is the last of k, or of a chunk. */
static bool ends(const loops *l) { return l->p0 + l->depth >= l->plan->problem.k; }
static bool ends_chunk(const loops *l) { return ends(l) || cpu_begins_chunk(&l->plan->cpu, l->p0 + l->depth); }

/* A task's part of the macro-block, and what its tiles have in common. */
typedef struct block {
    int64_t i_first, i_last, j_first, j_last;
    int64_t a_next_bytes;          /* of the next mr rows of A, at its first step, that each tile prefetches; 0: none */
    uint32_t triangle;             /* the one that is wanted of C; 0: all of C is */
    bool ends;                     /* whether its panel (small-m: its step) is the last of k, */
    bool begins_chunk, ends_chunk; /* and the first or the last of a chunk */
    cpu_tile tile;
} block;

static block block_of(const loops *l, int64_t task)
{
    enum { STEPS_AHEAD = 16 }; /* of a B that was packed before: it comes from memory (docs/perf/cpu-packed-b.md) */
    const plan *plan = l->plan;
    const cpu_plan *cpu = &plan->cpu;
    const int64_t tasks_m = ceil_div(l->rows, cpu->task_m), ldc = plan->problem.ldc,
                  sum_ld = cpu->sum_bytes > 0 ? cpu->macro_n : ldc,
                  total_ld = cpu->total_bytes > 0 ? cpu->macro_n : ldc;
    block t = {.i_first = task % tasks_m * cpu->task_m,
               .j_first = task / tasks_m * cpu->task_n,
               .triangle = problem_triangle(&plan->problem),
               .ends = ends(l),
               .begins_chunk = cpu_begins_chunk(cpu, l->p0),
               .ends_chunk = ends_chunk(l)};
    t.i_last = min_i64(t.i_first + cpu->task_m, l->rows), t.j_last = min_i64(t.j_first + cpu->task_n, l->cols);
    const bool a_lies = cpu->direct_a, b_lies = cpu->direct_b && cpu->copy_n == 0, a_rows = a_lies && l->a_cs == 1,
               before = problem_b_is_packed(&plan->problem) &&
                        (cpu->small_m || cpu_vector_bytes(plan->row->features) >= 64);
    t.tile = (cpu_tile){.k = l->steps,
                        .a_rs = a_lies ? l->a_rs : 1,
                        .a_cs = a_lies ? l->a_cs : l->mr,
                        .b_rs = b_lies ? l->b_rs : l->nr,
                        .feed = b_lies || before ? CPU_FEED_ANY
                                : !a_lies        ? CPU_FEED_PANELS
                                : a_rows         ? CPU_FEED_ROWS
                                                 : CPU_FEED_ANY,
                        .b_next = (before ? STEPS_AHEAD : 1) * l->nr * l->bytes,
                        .sum_in_ld = sum_ld,
                        .total_ld = total_ld,
                        .sum_out_ld = t.ends_chunk ? total_ld : sum_ld,
                        .ldc = ldc,
                        .alpha = l->epilogue.alpha,
                        .beta = l->epilogue.beta,
                        .complex = l->complex,
                        .a_unsigned = plan->problem.dtype == TW_U8,
                        .b_unsigned = plan->problem.dtype_b == TW_U8};
    /* Not of a small-m product, of whose A a step's part stays in the L2, nor where rows of A would evict each other or
     * are not K-major. */
    if (cpu->small_m || (a_lies && (!a_rows || l->a_rs * l->bytes % 4096 == 0))) return t;
    const int64_t across = ceil_div(t.j_last - t.j_first, l->nr), steps = ceil_div(l->steps, l->mr);
    t.tile.a_next_step = a_lies ? l->a_rs * l->bytes : ceil_div(l->mr * l->bytes, across);
    t.tile.a_next_back = a_lies ? ceil_div(l->mr * l->bytes, across) - l->mr * t.tile.a_next_step : 0;
    t.a_next_bytes = steps * (l->mr * t.tile.a_next_step + t.tile.a_next_back);
    return t;
}

/* Where the elements of C at these rows and columns lie: none, some or all of them in the triangle that is wanted. */
typedef enum part { OUTSIDE, ACROSS, INSIDE } part;

static part part_of(uint32_t triangle, int64_t row, int64_t rows, int64_t column, int64_t columns)
{
    if (triangle == TW_UPPER) return part_of(TW_LOWER, column, columns, row, rows); /* of the transpose */
    if (column + columns - 1 <= row) return INSIDE;
    return column <= row + rows - 1 ? ACROSS : OUTSIDE;
}

/* The columns that lie in the triangle, of a row that the diagonal crosses in column `diagonal`: first .. last - 1. */
static void columns_inside(const loops *l, const cpu_tile *tile, int64_t diagonal, int64_t *first, int64_t *last)
{
    const bool lower = problem_triangle(&l->plan->problem) == TW_LOWER;
    *first = lower ? 0 : max_i64(diagonal, 0), *last = lower ? min_i64(diagonal + 1, tile->cols) : tile->cols;
}

/* The last panel of a tile across the diagonal: computed beside C, since only the elements of the triangle are read and
 * written. The same steps, so the same bits. */
static void tile_across(const loops *l, const cpu_tile *tile, int64_t row, int64_t column)
{
    char own[CPU_MOST_TILE_BYTES] __attribute__((aligned(64)));
    const int64_t bytes = l->bytes;
    cpu_tile beside = *tile;
    memset(own, 0, (size_t)(l->mr * l->nr * bytes));
    beside.c = own, beside.ldc = l->nr, beside.c_next = (uintptr_t)own;
    for (int stores = 0; stores < 2; stores++) {
        for (int64_t i = 0; i < tile->rows; i++) {
            int64_t first, last;
            columns_inside(l, tile, row + i - column, &first, &last);
            char *at_c = (char *)tile->c + (i * tile->ldc + first) * bytes, *at = own + (i * l->nr + first) * bytes;
            if (last > first && (stores || problem_reads_c(&l->plan->problem)))
                memcpy(stores ? at_c : at, stores ? at : at_c, (size_t)((last - first) * bytes));
        }
        if (!stores) l->plan->row->micro(&beside);
    }
}

/* The last panel of a tile whose sums are finished: these are computed beside C, unscaled. */
static void tile_finish(const loops *l, const cpu_tile *tile, int64_t row, int64_t column, part where)
{
    char own[CPU_MOST_TILE_BYTES] __attribute__((aligned(64)));
    const cpu_epilogue *e = &l->epilogue;
    cpu_tile beside = *tile;
    beside.sum_out = own, beside.sum_out_ld = l->nr, beside.c_next = (uintptr_t)own;
    for (int64_t i = 0; i < tile->rows; i++) __builtin_prefetch((char *)tile->c + i * e->ldc * e->c_bytes, 1);
    l->plan->row->micro(&beside);
    if (where == INSIDE) cpu_finish_block(e, row, column, tile->rows, tile->cols, own, l->nr);
    for (int64_t i = 0; where == ACROSS && i < tile->rows; i++) {
        int64_t first, last;
        columns_inside(l, tile, row + i - column, &first, &last);
        if (last > first)
            cpu_finish_block(e, row + i, column + first, 1, last - first, own + (i * l->nr + first) * l->bytes, l->nr);
    }
}

/* The micro-kernel at row i, column j of the macro-block; `left` tiles of its task stand to the left of it. */
static void tile_at(const loops *l, block *t, int64_t i, int64_t j, int64_t left)
{
    const plan *plan = l->plan;
    const cpu_plan *cpu = &plan->cpu;
    const int64_t bytes = l->bytes;
    const bool right = j + l->nr < t->j_last, below = i + l->mr < t->i_last, last = t->ends;
    cpu_tile *tile = &t->tile;
    tile->rows = min_i64(l->mr, l->rows - i), tile->cols = min_i64(l->nr, l->cols - j);
    const part where = t->triangle == 0 ? INSIDE : part_of(t->triangle, l->i0 + i, tile->rows, l->j0 + j, tile->cols);
    if (where == OUTSIDE) return;
    tile->a = cpu->direct_a ? l->a + ((l->i0 + i) * l->a_rs + l->p0 * l->a_cs) * bytes
                            : l->packed_a + i * l->a_steps * bytes;
    tile->b = cpu->copy_n > 0 ? l->copy + (j - l->copied) * l->steps * bytes
              : cpu->direct_b ? l->b + (l->p0 * l->b_rs + (l->j0 + j) * l->b_cs) * bytes
                              : l->packed_b + j * l->steps * bytes;
    tile->c = l->c + ((l->i0 + i) * tile->ldc + l->j0 + j) * l->epilogue.c_bytes;
    const int64_t beside = (i * cpu->macro_n + j) * bytes;
    char *sum = cpu->sum_bytes > 0 ? l->sums + beside : tile->c,
         *total = cpu->total_bytes > 0 ? l->totals + beside : tile->c,
         *out = last            ? tile->c
                : t->ends_chunk ? total
                                : sum;
    tile->sum_in = t->begins_chunk ? NULL : sum, tile->sum_out = last ? NULL : out;
    tile->total = t->ends_chunk && l->p0 >= cpu->chunk ? total : NULL;
    /* Prefetches nothing beyond the task, which another thread may write. */
    const int64_t down = l->mr * (last ? tile->ldc : tile->sum_out_ld) * bytes;
    const bool next = below || (right && !cpu->small_m);
    tile->a_next = (uintptr_t)tile->a, tile->c_next = (uintptr_t)out;
    if (below && t->a_next_bytes > 0)
        tile->a_next += (uintptr_t)(l->mr * (cpu->direct_a ? l->a_rs : l->a_steps) * bytes + left * t->a_next_bytes);
    if (next)
        tile->c_next += (uintptr_t)(cpu->small_m ? down : right ? l->nr * bytes : down - (j - t->j_first) * bytes);
    if (last && plan->finish != NULL)
        tile_finish(l, tile, l->i0 + i, l->j0 + j, where);
    else if (where == ACROSS && last)
        tile_across(l, tile, l->i0 + i, l->j0 + j);
    else
        plan->row->micro(tile);
}

/* Copies columns of the step's rows of B from j on, as many as there is room for, at most to `last` - 1. */
static void copy_columns(loops *step, int64_t j, int64_t last)
{
    const int64_t count = min_i64(step->plan->cpu.copy_n, last - j);
    step->copied = j;
    pack_steps((size_t)step->bytes, step->copy, step->b + (step->p0 * step->b_rs + step->j0 + j) * step->bytes,
               step->b_rs, count, step->depth, step->nr, 0, step->depth);
}

/* A task of a small-m product: one step of k_step after the other, each along all of its columns. */
static void small_m_task(const loops *l, int64_t task)
{
    const cpu_plan *cpu = &l->plan->cpu;
    const int64_t end = l->p0 + l->depth;
    loops step = *l;
    do {
        step.depth = min_i64(cpu->k_step, end - step.p0),
        step.steps = cpu_layout_steps(l->plan->row->layout, step.depth);
        block t = block_of(&step, task);
        for (int64_t j = t.j_first; j < t.j_last; j += l->nr) {
            if (cpu->direct_b && cpu->copy_n == 0) {
                const bool right = j + l->nr < t.j_last; /* else the first columns of the next step come next */
                t.tile.b_next = (right ? l->nr : step.depth * l->b_rs - (j - t.j_first)) * l->bytes;
            } else if (cpu->copy_n > 0 && (j - t.j_first) % cpu->copy_n == 0) {
                copy_columns(&step, j, t.j_last);
            }
            for (int64_t i = t.i_first; i < t.i_last; i += l->mr) tile_at(&step, &t, i, j, 0);
        }
        step.p0 += step.depth, step.packed_a += step.depth * l->mr * l->bytes;
    } while (step.p0 < end);
}

static void compute_task(void *context, int64_t task)
{
    const loops *l = context;
    const kernel_row *row = l->plan->row;
    if (row->enter != NULL) row->enter();
    if (l->plan->cpu.small_m) {
        small_m_task(l, task);
    } else {
        block t = block_of(l, task);
        for (int64_t i = t.i_first; i < t.i_last; i += l->mr)
            for (int64_t j = t.j_first, left = 0; j < t.j_last; j += l->nr) tile_at(l, &t, i, j, left++);
    }
    if (row->leave != NULL) row->leave();
}

/* Begins this macro-block and panel. buffer: its packed copy. */
static void begin_panel(loops *l, int buffer)
{
    /* of no steps of k nothing is packed, and nothing read but what a panel of CPU_U8 begins with */
    static char zeros[CPU_LINE_BYTES] __attribute__((aligned(CPU_LINE_BYTES)));
    const plan *plan = l->plan;
    const cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    const size_t past = cpu->packs_ahead ? (size_t)buffer * (cpu->a_bytes + cpu->b_bytes) : 0;
    l->rows = min_i64(cpu->macro_m, p->m - l->i0), l->cols = min_i64(cpu->macro_n, p->n - l->j0);
    l->depth = cpu_panel_depth(cpu, p->k, l->p0);
    l->steps = cpu_layout_steps(plan->row->layout, l->depth),
    l->a_steps = cpu_layout_a_steps(plan->row->layout, l->depth);
    l->packed_a = l->all_a != NULL ? packed_before(l, l->all_a, true) : l->first_a + past;
    l->packed_b = l->all_b != NULL ? packed_before(l, l->all_b, false) : l->first_b + past;
    if (l->depth == 0) l->packed_a = zeros, l->a_steps = 0;
}

/* Goes to the next panel of k, or the next macro-block, to be packed into the other buffer; false: there is none. */
static bool next_panel(loops *l, int buffer)
{
    const plan *plan = l->plan;
    const cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    const uint32_t triangle = problem_triangle(p);
    l->p0 += l->depth;
    if (l->p0 >= p->k) l->p0 = 0, l->i0 += cpu->macro_m;
    if (l->i0 >= p->m) l->i0 = 0, l->j0 += cpu->macro_n;
    /* past macro-blocks outside of the triangle; one that is begun is none */
    while (triangle != 0 && l->j0 < p->n && part_of(triangle, l->i0, cpu->macro_m, l->j0, cpu->macro_n) == OUTSIDE) {
        l->i0 += cpu->macro_m;
        if (l->i0 >= p->m) l->i0 = 0, l->j0 += cpu->macro_n;
    }
    if (l->j0 >= p->n) return false;
    begin_panel(l, buffer);
    return true;
}

/* The tasks of a panel and, among them, the packing of the next: numbers first to first + tasks + packs - 1, the
 * packing from first + ahead on. */
typedef struct stage {
    loops now, next;
    bool more; /* there is a next panel */
    int64_t first, tasks, ahead, packs;
    int buffer;
} stage;

static int64_t packs_of(const loops *l)
{
    return l->depth > 0 ? (packs_a(l) ? pack_a_tasks(l) : 0) + (packs_b(l) ? pack_b_tasks(l) : 0) : 0;
}

static int64_t end_of(const stage *s) { return s->first + s->tasks + s->packs; }

/* Packing into the other buffer begins when half of the tasks have begun: almost all tasks of the panel before, which
 * used that buffer, have ended by then. */
static stage stage_after(const stage *s)
{
    const plan *plan = s->now.plan;
    const cpu_plan *cpu = &plan->cpu;
    stage after = {.now = s->next, .next = s->next, .first = end_of(s), .buffer = s->buffer ^ 1};
    after.tasks = ceil_div(after.now.rows, cpu->task_m) * ceil_div(after.now.cols, cpu->task_n);
    after.more = next_panel(&after.next, after.buffer);
    after.packs = after.more ? packs_of(&after.next) : 0;
    after.ahead = cpu->packs_ahead ? after.tasks / 2 : after.tasks;
    return after;
}

/* The position of one thread among the tasks. */
typedef struct walker {
    stage before, at;
    bool packed; /* what `at` reads, as this thread has seen */
} walker;

/* Runs task i once its inputs are there. Packing waits until no task reads the buffer that it overwrites; computing
 * waits for both packed operands and for the sums of the panel before, or for room for its own. */
static bool run_task(void *context, int64_t i, team *team)
{
    walker *w = context;
    for (; i >= end_of(&w->at); w->at = stage_after(&w->before)) {
        if (!w->at.more) return false;
        w->before = w->at, w->packed = false;
    }
    const stage *s = &w->at, *before = &w->before;
    const plan *plan = s->now.plan;
    const int64_t number = i - s->first, packs_before = before->first + before->ahead;
    if (number >= s->ahead && number < s->ahead + s->packs) {
        if (plan->cpu.packs_ahead)
            team_after(team, before->first, end_of(before) - 1);
        else
            team_after(team, s->first, s->first + s->tasks - 1);
        pack_task(&w->at.next, number - s->ahead);
        return true;
    }
    const int64_t task = number < s->ahead ? number : number - s->packs,
                  same = before->first + (task < before->ahead ? task : task + before->packs);
    if (!w->packed) team_after(team, packs_before, packs_before + before->packs - 1);
    w->packed = true;
    if (s->now.p0 > 0)
        team_after(team, same, same);
    else if (plan->cpu.sum_bytes + plan->cpu.total_bytes > 0)
        team_after(team, before->first, end_of(before) - 1);
    compute_task(&w->at.now, task);
    return true;
}

static loops loops_of(const plan *plan, const void *a, const void *b, void *c)
{
    const tw_problem *p = &plan->problem;
    bool a_transposed = op_transposes(p->op_a), b_transposed = op_transposes(p->op_b);
    return (loops){.plan = plan,
                   .a = a,
                   .b = b,
                   .c = c,
                   .epilogue = cpu_epilogue_of(plan, p->alpha, p->beta, c),
                   .complex = cpu_complex_of(p),
                   .a_rs = a_transposed ? 1 : p->lda,
                   .a_cs = a_transposed ? p->lda : 1,
                   .b_rs = b_transposed ? 1 : p->ldb,
                   .b_cs = b_transposed ? p->ldb : 1,
                   .mr = plan->row->lab.tile_m,
                   .nr = plan->cpu.by_columns ? 1 : plan->row->lab.tile_n,
                   .bytes = problem_sum_bytes(p),
                   .source_bytes = dtype_find(p->dtype)->lab.bytes};
}

/* The position of one thread among the panels of an operand that is packed as a whole. */
typedef struct packer {
    loops at;
    bool of_a;
    char *packed;
    int64_t first, tasks; /* of this panel */
} packer;

static void begin_packing(packer *x)
{
    loops *l = &x->at;
    const plan *plan = l->plan;
    const cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    const int64_t edge = x->of_a ? cpu->macro_m : cpu->macro_n;
    l->rows = l->cols = min_i64(edge, (x->of_a ? p->m : p->n) - l->i0);
    l->depth = cpu_panel_depth(cpu, p->k, l->p0);
    l->steps = cpu_layout_steps(plan->row->layout, l->depth);
    l->a_steps = cpu_layout_a_steps(plan->row->layout, l->depth);
    l->packed_a = l->packed_b = packed_before(l, x->packed, x->of_a);
    x->first += x->tasks;
    x->tasks = x->of_a ? pack_a_tasks(l) : pack_b_tasks(l);
}

static bool pack_all_task(void *context, int64_t i, team *team)
{
    packer *x = context;
    loops *l = &x->at;
    const plan *plan = l->plan;
    (void)team;
    while (i >= x->first + x->tasks) {
        l->p0 += l->depth;
        if (l->p0 >= plan->problem.k) l->p0 = 0, l->i0 = l->j0 += x->of_a ? plan->cpu.macro_m : plan->cpu.macro_n;
        if (l->i0 >= (x->of_a ? plan->problem.m : plan->problem.n)) return false;
        begin_packing(x);
    }
    (x->of_a ? pack_a_task : pack_b_task)(l, i - x->first);
    return true;
}

void loops_pack_all(const plan *plan, bool of_a, const void *source, void *packed, team *team)
{
    packer x = {.at = loops_of(plan, source, source, NULL), .of_a = of_a, .packed = packed};
    begin_packing(&x);
    team_tasks(team, pack_all_task, &x);
}

/* Every thread of the team walks the same loops; only the tasks are divided. At least one panel: with k = 0 the
 * micro-kernel scales C by beta, and A and B may be NULL. The stage before the first panel packs it. */
void loops_walk(const plan *plan, const void *a, const void *b, void *c, void *all_a, void *all_b, void *workspace,
                team *team)
{
    const cpu_plan *cpu = &plan->cpu;
    if (cpu->gemv || cpu->unpacked) {
        in_place_walk(plan, a, b, c, team);
        return;
    }
    walker w = {.at = {.now = loops_of(plan, a, b, c), .more = true}};
    loops *l = &w.at.now;
    if (problem_b_is_packed(&plan->problem)) all_b = (char *)(uintptr_t)b;
    l->all_a = all_a, l->all_b = all_b;
    l->first_a = workspace;
    l->first_b = l->first_a + (all_a != NULL ? 0 : cpu->a_bytes);
    l->sums = l->first_b + (all_b != NULL ? 0 : cpu->b_bytes) + (cpu->packs_ahead ? cpu->a_bytes + cpu->b_bytes : 0);
    l->totals = l->sums + cpu->sum_bytes;
    l->copy = l->totals + cpu->total_bytes;
    if (cpu->copy_n > 0) l->copy += (size_t)team_join(team) * cpu->copy_bytes;
    begin_panel(l, 0);
    w.at.next = w.at.now;
    w.at.packs = packs_of(&w.at.next);
    team_tasks(team, run_task, &w);
}
