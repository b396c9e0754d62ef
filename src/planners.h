/* planners.h - what plan.c and the planners of the CPU and of GPUs (plan/) ask of each other. */
#ifndef TILEWRIGHT_PLANNERS_H
#define TILEWRIGHT_PLANNERS_H

#include "plan.h"

/* plan_loops, plan_rung, plan_gpu - fill a plan that is zero but for problem and row, and gpu.one_launch: a production
 * kernel's or a rung's on the CPU, a GPU's. */
void plan_loops(plan *plan, const device_facts *device, int wanted_threads);
void plan_rung(plan *plan, const device_facts *device, const tw_lab_choice *choice);
void plan_gpu(plan *plan, const device_facts *device, const tw_lab_choice *choice);

/* complex_part - the type whose kernels compute products of this type on an engine: on CUDA of a complex type f32 or
 * f64, else the type itself. */
tw_dtype complex_part(const char *engine, tw_dtype dtype);

/* complex_find - if this device computes the complex product as a real one: sets *real, that product, and *by, what is
 * done before and behind it; returns true. False: the kernels compute what is asked. */
bool complex_find(const tw_problem *asked, const device_facts *device, tw_problem *real, gpu_complex *by);

/* complex_place - to a plan that is ready for the real product add those passes, and their place in the workspace. */
void complex_place(plan *plan, const gpu_complex *by);

/* plan_gpu_beats - is `one` of a GPU's rows better than `later`, which stands below it in the table? */
bool plan_gpu_beats(const kernel_row *one, const kernel_row *later, const tw_problem *p, const device_facts *device);

/* plan_offers - may tw_gemm choose this row for this problem on this device, if it fits? A production row; one with
 * slices, whose costs are an NVIDIA GPU's, on those alone; one that emulates where the caller allows it. */
static inline bool plan_offers(const kernel_row *row, const tw_problem *p, const device_facts *device)
{
    return row->lab.production && (row->gpu.slices == 0 || device->sm > 0) &&
           (!row->lab.emulates || p->accuracy == TW_EMULATED);
}

/* plan_opencl_alone - should items, each by this plan, follow each other rather than be one launch on this device,
 * whose facts have their number? */
bool plan_opencl_alone(const plan *each, const device_facts *together);

/* plan_batch_shares - do all threads of the CPU compute each item of this batch together? Else each computes items of
 * its own. */
bool plan_batch_shares(const plan *each, const tw_batch *batch, const device_facts *device);

/* plan_batch_cpu - from the plan of one item in *out, of all threads if together, else of one, that of the batch. */
void plan_batch_cpu(const tw_batch *batch, const device_facts *device, bool together, plan *out);

/* plan_batch_row - the row for a batch in one launch, of rows that cost the same the later; NULL: none fits, and reason
 * says why the last of its type does not. */
const kernel_row *plan_batch_row(const tw_problem *p, const tw_batch *batch, const device_facts *device, char *reason,
                                 size_t reason_bytes);

/* plan_batch_fills - does one item fill this GPU by itself, so that its own kernel is better than this row? A share of
 * the device is enough (FILLS of kernels.def) where that kernel is several times as fast. */
bool plan_batch_fills(const kernel_row *row, const tw_problem *p, const device_facts *device);

#endif
