/* cpu_workspace.c - the workspace of a plan of the CPU, and plans that need less: without memory tw_gemm() still
 * computes, by smaller blocks (launch_smaller() in run.c), in the end on the stack (launch_on_stack() in
 * engines/cpu/engine.c). A B that was packed before keeps its depth, and may need more than that. */
#include "cpu.h"

/* Its old elements are needed then, or it is of another type, or tiles at its diagonal have elements that are not to be
 * written. */
bool cpu_keeps_c(const tw_problem *p)
{
    return problem_reads_c(p) || problem_converts_c(p) || problem_triangle(p) != 0;
}

bool cpu_keeps_sums(const plan *plan)
{
    const cpu_plan *cpu = &plan->cpu;
    return !cpu->divided && cpu_keeps_c(&plan->problem) && min_i64(plan->problem.k, cpu->chunk) > cpu->k_step;
}

size_t cpu_panel_bytes(const plan *plan, bool of_a)
{
    const tw_problem *p = &plan->problem;
    const tw_lab_kernel *row = &plan->row->lab;
    const int64_t steps = of_a ? cpu_layout_a_steps(plan->row->layout, plan->cpu.kc)
                               : cpu_layout_steps(plan->row->layout, plan->cpu.kc);
    return padded(round_up(of_a ? p->m : p->n, of_a ? row->tile_m : row->tile_n) * steps, (size_t)problem_sum_bytes(p));
}

size_t cpu_whole_bytes(const plan *plan, bool of_a)
{
    return (size_t)(cpu_panels_before(&plan->cpu, max_i64(plan->problem.k, 1) - 1) + 1) * cpu_panel_bytes(plan, of_a);
}

void cpu_count_workspace(plan *plan)
{
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    const cpu_layout layout = plan->row->layout;
    const size_t bytes = (size_t)problem_sum_bytes(p);
    /* C may hold the sum of the chunks before where it holds no partial sums */
    const bool keeps_total = !cpu->divided && p->k > cpu->chunk && (cpu_keeps_c(p) || cpu->chunk > cpu->k_step);
    cpu->a_bytes = cpu->direct_a ? 0 : padded(cpu->macro_m * cpu_layout_a_steps(layout, cpu->kc), bytes);
    cpu->b_bytes = cpu->direct_b || problem_b_is_packed(p)
                       ? 0
                       : padded(cpu->macro_n * cpu_layout_steps(layout, cpu->kc), bytes);
    cpu->sum_bytes = cpu_keeps_sums(plan) ? padded(cpu->macro_m * cpu->macro_n, bytes) : 0;
    cpu->total_bytes = keeps_total ? padded(cpu->macro_m * cpu->macro_n, bytes) : 0;
    /* a row of a tile more, since as much is prefetched behind it, so that no thread asks for another's copy */
    cpu->copy_bytes = cpu->copy_n > 0 ? padded(cpu->copy_n * cpu->k_step + plan->row->lab.tile_n, bytes) : 0;
    plan->workspace_bytes = (cpu->packs_ahead ? 2 : 1) * (cpu->a_bytes + cpu->b_bytes) + cpu->sum_bytes +
                            cpu->total_bytes + (size_t)plan->threads * cpu->copy_bytes;
    if (cpu->divided)
        plan->workspace_bytes = (size_t)ceil_div(p->k, cpu->chunk) * cpu->chunk_bytes +
                                (size_t)cpu->block_sets * plan->workspace_bytes;
}

/* A divided product as one of the five loops with the smallest blocks that are worth a copy: the same sums. */
static void undivide(plan *plan)
{
    enum { EDGE_TILES = 4 };
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    const int64_t mr = plan->row->lab.tile_m, nr = plan->row->lab.tile_n, chunk = chunk_in_loops(p);
    *cpu = (cpu_plan){.chunk = chunk};
    cpu->kc = cpu->k_step = even_block(min_i64(p->k, chunk), plan->row->lab.tile_k, panel_unit(plan->row));
    cpu->macro_m = cpu->task_m = even_block(p->m, EDGE_TILES * mr, mr);
    cpu->macro_n = cpu->task_n = even_block(p->n, EDGE_TILES * nr, nr);
}

bool plan_shrink(plan *plan)
{
    /* in less, A and B are packed so often that one may as well read them where they lie */
    enum { LEAST_BLOCKS = 256 << 10 };
    if (plan->row->micro == NULL || plan->workspace_bytes == 0) return false;
    cpu_plan *cpu = &plan->cpu;
    const tw_problem *p = &plan->problem;
    const int64_t mr = plan->row->lab.tile_m, nr = plan->row->lab.tile_n;
    const bool complex = problem_is_complex(p), b_transposed = op_transposes(p->op_b), before = problem_b_is_packed(p),
               packs = !(cpu->direct_a && cpu->direct_b) && !before, few = plan->workspace_bytes <= LEAST_BLOCKS;
    if (cpu->divided)
        undivide(plan);
    else if (cpu->packs_ahead)
        cpu->packs_ahead = false;
    else if (cpu->copy_n > 0)
        cpu->copy_n = 0;
    else if (complex && packs && few) /* k is divided as before */
        cpu->direct_a = cpu->direct_b = true, cpu->by_columns = b_transposed;
    else if (plan->row->layout == CPU_PLAIN && !complex && !b_transposed && !before && few &&
             (packs || cpu->k_step < min_i64(p->k, cpu->chunk)))
        cpu->direct_a = cpu->direct_b = true, cpu->kc = cpu->k_step = min_i64(max_i64(p->k, 1), cpu->chunk);
    else if (cpu->macro_m > mr || cpu->macro_n > nr)
        cpu->macro_m = round_up(cpu->macro_m / 2, mr), cpu->macro_n = round_up(cpu->macro_n / 2, nr);
    else if (!complex && packs && cpu->kc > CPU_K_UNIT)
        cpu->kc = CPU_K_UNIT, cpu->k_step = min_i64(cpu->k_step, cpu->kc);
    else
        return false;
    cpu->task_m = min_i64(cpu->task_m, cpu->macro_m), cpu->task_n = min_i64(cpu->task_n, cpu->macro_n);
    cpu_count_workspace(plan);
    return true;
}
