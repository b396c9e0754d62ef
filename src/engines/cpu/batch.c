/* batch.c - a batch of products on the CPU: its items, or tiles of them, taken by the threads from one counter. Each
 * item is computed as tw_gemm would, so that its bits are the same wherever it stands and however many threads there
 * are. */
#include "cpu_engine.h"

#include <stdatomic.h>

typedef struct batch_work {
    const plan *plan;
    const tw_batch *batch;
    const void *a, *b;
    void *c;
    char *all_a, *all_b, *workspaces;
    int64_t packs; /* steps that pack */
    /* bytes of an element of A and B, and of C; tasks of an item, and of all items; tasks that a thread takes at a
     * time */
    int64_t bytes, c_bytes, parts, tasks, most;
    atomic_int threads;
    atomic_llong next;
} batch_work;

enum { GRABS_PER_THREAD = 16 };

static void item_of(const batch_work *w, int64_t i, const void **a, const void **b, void **c)
{
    *a = batch_item(w->batch, w->a, w->batch->stride_a, (size_t)w->bytes, i);
    *b = batch_item(w->batch, w->b, w->batch->stride_b, (size_t)w->bytes, i);
    *c = batch_item(w->batch, w->c, w->batch->stride_c, (size_t)w->c_bytes, i);
}

/* Computes an item on one thread, with its workspace. */
typedef struct thread_item {
    const batch_work *work;
    int64_t item;
    void *workspace;
} thread_item;

static void compute_item(void *context, team *team)
{
    const thread_item *own = context;
    const batch_work *w = own->work;
    const void *a, *b;
    void *c;
    item_of(w, own->item, &a, &b, &c);
    product_walk(w->plan, a, b, c, w->all_a, w->all_b, own->workspace, team);
}

static void compute_task(const batch_work *w, int64_t task, void *workspace, const team *team)
{
    const plan *plan = w->plan;
    const cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    const void *a, *b;
    void *c;
    if (!plan->at_once) {
        team_alone(team, compute_item, &(thread_item){w, task, workspace});
        return;
    }
    item_of(w, task / w->parts, &a, &b, &c);
    int64_t first = task % w->parts * cpu->part_m;
    if (cpu->gemv)
        in_place_compute(plan, p->alpha, p->beta, a, b, c);
    else
        in_place_compute_rows(plan, p->alpha, p->beta, a, b, c, first,
                              min_i64(first + cpu->part_m, cpu->unpacked_shape.m));
}

/* Each thread takes tasks with a workspace of its own. */
static void take_tasks(batch_work *w, const team *team)
{
    char *own = w->workspaces +
                w->plan->cpu.each_bytes * (size_t)atomic_fetch_add_explicit(&w->threads, 1, memory_order_relaxed);
    for (;;) {
        int64_t first = atomic_fetch_add_explicit(&w->next, w->most, memory_order_relaxed),
                last = min_i64(first + w->most, w->tasks);
        if (first >= w->tasks) return;
        for (int64_t task = first; task < last; task++) {
            if (team_ends(team)) return;
            compute_task(w, task, own, team);
        }
    }
}

/* Operands that all items share are packed, then all threads compute item after item, or each some of them. */
static void batch_step(void *context, int64_t step, team *team)
{
    batch_work *w = context;
    const bool of_a = step == 0 && w->all_a != NULL;
    if (step < w->packs)
        loops_pack_all(w->plan, of_a, of_a ? w->a : w->b, of_a ? w->all_a : w->all_b, team);
    else if (w->plan->cpu.together)
        compute_item(&(thread_item){w, step - w->packs, w->workspaces}, team);
    else
        take_tasks(w, team);
}

void batch_run(const plan *plan, const tw_batch *batch, const void *a, const void *b, void *c, void *workspace, pool *p,
               const stop *stop)
{
    const cpu_plan *cpu = &plan->cpu;
    int64_t parts = plan->at_once && !cpu->gemv ? ceil_div(cpu->unpacked_shape.m, cpu->part_m) : 1,
            tasks = batch->count * parts;
    batch_work work = {.plan = plan,
                       .batch = batch,
                       .a = a,
                       .b = b,
                       .c = c,
                       .bytes = dtype_find(plan->problem.dtype)->lab.bytes,
                       .c_bytes = dtype_find(plan->problem.dtype_c)->lab.bytes,
                       .parts = parts,
                       .tasks = tasks,
                       .most = max_i64(tasks / ((int64_t)plan->threads * GRABS_PER_THREAD), 1)};
    if (cpu->all_a_bytes > 0) work.all_a = workspace;
    if (cpu->all_b_bytes > 0) work.all_b = (char *)workspace + cpu->all_a_bytes;
    work.workspaces = (char *)workspace + cpu->all_a_bytes + cpu->all_b_bytes;
    work.packs = (work.all_a != NULL) + (work.all_b != NULL);
    pool_run_steps(p, plan->threads, work.packs + (cpu->together ? batch->count : 1), batch_step, &work, stop);
}
