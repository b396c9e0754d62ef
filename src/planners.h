/* planners.h - what plan.c asks of the planners of the CPU (plan_cpu.c) and of GPUs (plan_gpu.c), which for items of a
 * batch ask plan_find again. */
#ifndef TILEWRIGHT_PLANNERS_H
#define TILEWRIGHT_PLANNERS_H

#include "plan.h"

/* plan_loops, plan_rung, plan_gpu - fill a plan that is zero but for problem and row, and one_launch: a production
 * kernel's or a rung's on the CPU, a GPU's. */
void plan_loops(plan *plan, const device_facts *device, int wanted_threads);
void plan_rung(plan *plan, const device_facts *device, const tw_lab_choice *choice);
void plan_gpu(plan *plan, const device_facts *device, const tw_lab_choice *choice);

/* plan_gpu_beats - is `one` of a GPU's rows better than `later`, which stands below it in the table? */
bool plan_gpu_beats(const kernel_row *one, const kernel_row *later, const tw_problem *p, const device_facts *device);

/* plan_batch_cpu - from the plan of one item, in *out, that of the batch. plan_batch_cuda - of one launch, or of items
 * one after the other. */
tw_status plan_batch_cpu(const tw_batch *batch, const device_facts *device, plan *out);
tw_status plan_batch_cuda(const tw_problem *p, const tw_batch *batch, const device_facts *device, plan *out);

#endif
