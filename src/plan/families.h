/* families.h - what the planner asks of each family of GPU kernels: how k is divided, and how long a product takes.
 * Each has a file here; that of whole tiles is families.c. All are pure, as plan.c. */
#ifndef TILEWRIGHT_PLAN_FAMILIES_H
#define TILEWRIGHT_PLAN_FAMILIES_H

#include "../planners.h"
#include "../tuned.h"

typedef struct gpu_family {
    /* divide - how blocks divide k, in the least estimated time of the busiest multiprocessor; NULL: they do not */
    k_split (*divide)(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                      double *busiest);
    /* cycles - how long the product takes, packing and launch in, where the busiest multiprocessor takes `busiest` (0:
     * k is not divided); NULL: not modelled */
    double (*cycles)(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                     double busiest);
    /* suits - whether the row is weighed for this problem at all; NULL: always */
    bool (*suits)(const kernel_row *row, const tw_problem *p, const device_facts *device);
} gpu_family;

extern const gpu_family family_whole, family_stream_k, family_sliced_k, family_splits, family_wgmma, family_emulated,
    family_swap_ab, family_thin, family_in_place, family_opencl;

/* family_divide, family_cycles - a family's two, with the tuned values of the device. */
k_split family_divide(const gpu_family *family, const kernel_row *row, const tw_problem *p, const device_facts *device);
double family_cycles(const gpu_family *family, const kernel_row *row, const tw_problem *p, const device_facts *device);

/* simt_cycles - the common model of f32: `launch`, a packing pass of `pass` if there is one, then the longer of
 * `multiply` and of loading the operands from memory. */
double simt_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device, const tuned_values *tuned,
                   double launch, double pass, double multiply);

/* wgmma_mainloop - cycles of a row of the matrix units without packing, to compare tiles that pack the same. */
double wgmma_mainloop(const kernel_row *row, const tw_problem *p, const device_facts *device);

/* packing_cycles - of the packing pass: it reads and writes each element; single bytes at a lower rate. */
double packing_cycles(const kernel_row *row, const tw_problem *p, const device_facts *device,
                      const tuned_values *tuned);

/* thin_tiles - of C, by a FAMILY_THIN row: where the long operand lies across k they overlap by 16 bytes. */
int64_t thin_tiles(const kernel_row *row, const tw_problem *p);

/* plan_opencl_beats - whether one row is better than a later one, where at least one is a GPU_TYPES row: on processors
 * FAMILY_PANELS rows are better than others, of these the last whose vectors the device has, else the first; elsewhere
 * the row with the lower cost. */
bool plan_opencl_beats(const kernel_row *one, const kernel_row *later, const tw_problem *p, const device_facts *device);

/* plan_types_opencl - the compiler's options for the types of a GPU_TYPES row; returns their length. */
int plan_types_opencl(const tw_problem *p, char *text, size_t bytes);

/* plan_panels - the blocks, groups and workspace of a FAMILY_PANELS row. */
void plan_panels(plan *plan, const device_facts *device);

/* cluster_bytes - what cluster reduction adds to a block's shared memory: a tile's worth of sums that the others send,
 * and a barrier (kernels/cuda/splitk.cuh). */
int64_t cluster_bytes(const kernel_row *row);

/* Split-K through memory: blocks of a group of the fix-up; most bytes of partial sums for each multiprocessor. */
enum { FIX_UP_GROUP = 8, MOST_SUMS = 500000 };

/* fix_up_cycles - partial sums are stored, waited for and read, by groups of 8 and then once more: those of `each`
 * tiles of so many bytes on a multiprocessor. */
double fix_up_cycles(const tuned_values *tuned, int64_t splits, int64_t each, double tile_bytes);

/* Must each element be one sum over all of k? */
static inline bool keeps_k(const tw_problem *p, const device_facts *device)
{
    return device->no_workspace || problem_keeps_order(p);
}

static inline double longer(double x, double y) { return x > y ? x : y; }

static inline int64_t multiprocessors_of(const device_facts *device) { return max_i64(device->multiprocessors, 1); }

static inline int64_t tiles_of(const kernel_row *row, const tw_problem *p)
{
    return ceil_div(p->m, row->lab.tile_m) * ceil_div(p->n, row->lab.tile_n);
}

#endif
