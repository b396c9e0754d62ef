/* batch_cpu.c - how the threads of a CPU share a batch: its items, or parts of each. */
#include "cpu.h"

/* Items, if they are as many as one item would have threads. */
bool plan_batch_shares(const plan *each, const tw_batch *batch, const device_facts *device)
{
    return cpu_threads_waited(&each->problem, each->row, device, 0) > batch->count;
}

void plan_batch_cpu(const tw_batch *batch, const device_facts *device, bool together, plan *out)
{
    cpu_plan *cpu = &out->cpu;
    const tw_problem *p = &out->problem;
    tuned_values room;
    const tuned_values *tuned = tuned_find(device, p, out->row, &room);
    const int threads = cpu_threads_of(work_of(p) * (double)batch->count, tuned->waited_work, device->threads);
    cpu->together = together;
    if (!together) out->threads = threads;
    cpu->packs_ahead = false;
    cpu_count_workspace(out);
    const int64_t unit = cpu_rows_together(out);
    cpu->part_m = cpu->macro_m;
    if (out->at_once && !cpu->gemv)
        cpu->part_m = halved(cpu->part_m, unit, cpu->unpacked_shape.m, batch->count,
                             (int64_t)tuned->thread_tasks * threads);
    const bool several = batch->count > 1 && !batch->pointers && p->k > 0 && !cpu->divided;
    if (several && batch->stride_a == 0 && cpu->a_bytes > 0) cpu->all_a_bytes = cpu_whole_bytes(out, true);
    if (several && batch->stride_b == 0 && cpu->b_bytes > 0) cpu->all_b_bytes = cpu_whole_bytes(out, false);
    cpu->each_bytes = out->workspace_bytes - (cpu->all_a_bytes > 0 ? cpu->a_bytes : 0) -
                      (cpu->all_b_bytes > 0 ? cpu->b_bytes : 0);
    out->workspace_bytes = cpu->all_a_bytes + cpu->all_b_bytes +
                           (cpu->together ? 1 : (size_t)threads) * cpu->each_bytes;
}
