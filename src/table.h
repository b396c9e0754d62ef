/* table.h - the kernels as rows of one table, the dtypes as rows of another, and the one predicate that says whether a
 * kernel applies. */
#ifndef TILEWRIGHT_TABLE_H
#define TILEWRIGHT_TABLE_H

#include <stdbool.h>
#include "tilewright_lab.h"
#include "../kernels/cpu/cpu.h"

typedef struct dtype_row {
    tw_lab_dtype lab;
    tw_dtype result;
} dtype_row;

const dtype_row *dtype_find(tw_dtype dtype); /* NULL: no such dtype */

/* Instruction-set levels of the CPU rows, each containing the one before. */
typedef enum cpu_level { CPU_base = 0, CPU_avx2 = 1, CPU_avx512 = 2 } cpu_level;
const char *cpu_level_name(cpu_level level);

/* What the planner may know of a device: nothing else decides a plan. */
typedef struct device_facts {
    const char *engine;
    cpu_level level;
    int threads; /* that a call may use by default */
    int64_t l1_bytes, l2_bytes, l3_bytes;
} device_facts;

typedef struct kernel_row {
    tw_lab_kernel lab;
    cpu_level level;
    cpu_whole *whole; /* a rung: the whole product */
    cpu_micro *micro; /* the production kernel's innermost tile, for src/engines/cpu/loops.c */
    cpu_probe *probe;   /* a register-only loop of the same multiply-adds */
    cpu_reader *reader; /* a loop of the same loads */
} kernel_row;

int kernel_count(void);
const kernel_row *kernel_at(int index);
const kernel_row *kernel_named(const char *name); /* NULL: no such row */

/* kernel_fits - may this row compute this problem on this device? If not, reason (when not NULL) says why with the numbers.
 * Planner, tuner, tests and explain all ask here. */
bool kernel_fits(const kernel_row *row, const tw_problem *problem, const device_facts *device, char *reason,
                 size_t reason_bytes);

#endif
