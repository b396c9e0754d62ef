/* cpu_gemv.c - GEMV: one pass over the matrix, its outputs divided among the threads. */
#include "cpu.h"

/* Fewest outputs in a task: LEAST_ROWS, or a vector of 64 bytes, where k lies side by side, LEAST_ACROSS where outputs
 * do and rows are short; LEAST_GEMV elsewhere. GEMV_BYTES, as sums count them: most of a task, since a call that is
 * cancelled waits for those that run; and of each thread's part of a product that is computed without looking. */
enum { LEAST_ROWS = 16, LEAST_ACROSS = 512, GEMV_BYTES = 1 << 27 };

static bool suits(const cpu_case *c) { return c->gemv && !in_chunks(c); }

static void fill(const cpu_case *c, plan *plan)
{
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = c->p;
    const bool row = p->m == 1, across = row ? !c->b_transposed : c->a_transposed; /* outputs side by side */
    const int64_t count = max_i64(p->m, p->n), row_bytes = max_i64(p->k, 1) * c->bytes,
                  tasks = c->threads > 1 ? c->threads * (int64_t)c->tuned->thread_tasks : 1;
    int64_t each = max_i64(ceil_div(count, tasks),
                           across ? LEAST_GEMV : max_i64(LEAST_ROWS, CPU_LINE_BYTES / c->bytes));
    if (across && cpu_layout_tiles(c->row->layout)) /* whose rows are short */
        each = max_i64(each, min_i64(ceil_div(count, c->threads), LEAST_ACROSS));
    each = min_i64(each, max_i64(GEMV_BYTES / row_bytes, LEAST_GEMV));
    cpu->gemv = cpu->direct_a = cpu->direct_b = true;
    plan->in_place = (double)count * (double)row_bytes <= (double)GEMV_BYTES * c->threads;
    cpu->kc = cpu->k_step = max_i64(p->k, 1);
    cpu->macro_m = round_up(p->m, c->mr), cpu->macro_n = round_up(p->n, c->nr);
    cpu->task_m = row ? cpu->macro_m : even_block(count, each, c->mr);
    cpu->task_n = row ? even_block(count, each, c->nr) : cpu->macro_n;
}

const cpu_strategy strategy_gemv = {"GEMV", suits, fill};
