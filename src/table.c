/* table.c - loads kernels/kernels.def and dtypes.def; find by name; does a kernel fit? */
#include "table.h"

#include <stdio.h>
#include <string.h>

static const dtype_row dtypes[] = {
#define DTYPE(dtype, name, bytes, result, unit_roundoff, smallest, exact_bits)                                         \
    {{dtype, name, bytes, unit_roundoff, smallest, exact_bits}, result},
#include "dtypes.def"
#undef DTYPE
};

enum { DTYPE_COUNT = sizeof dtypes / sizeof *dtypes };

const dtype_row *dtype_find(tw_dtype dtype)
{
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (dtypes[i].lab.dtype == dtype) return &dtypes[i];
    return NULL;
}

const tw_lab_dtype *tw_lab_dtype_of(tw_dtype dtype)
{
    const dtype_row *row = dtype_find(dtype);
    return row ? &row->lab : NULL;
}

const tw_lab_dtype *tw_lab_dtype_named(const char *name)
{
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (name != NULL && strcmp(dtypes[i].lab.name, name) == 0) return &dtypes[i].lab;
    return NULL;
}

static const char *const level_names[] = {"base", "avx2", "avx512"};

const char *cpu_level_name(cpu_level level)
{
    return level_names[level];
}

/* Declare every kernel, then list every row. A CPU rung is compiled once per dtype. */
#define CPU_RUNG(rung, edge, idea, source) cpu_whole cpu_f32_##rung, cpu_f64_##rung;
#define CPU_PEAK(type, isa, mr, nr, kc, idea, source)                                                                  \
    cpu_micro cpu_##type##_r14_peak_##isa;                                                                             \
    cpu_probe cpu_##type##_probe_##isa;                                                                                \
    cpu_reader cpu_##type##_reader_##isa;
#include "../kernels/kernels.def"
#undef CPU_RUNG
#undef CPU_PEAK

#define ID_f32 TW_F32
#define ID_f64 TW_F64
#define RUNG_ROW(type, step, edge, about, cited)                                                                       \
    {.lab = {.name = "cpu_" #type "_" #step, .engine = "cpu", .rung = #step, .dtype = ID_##type,                       \
             .file = "cpu/" #step ".c", .needs = "base", .idea = about, .source = cited, .tile_m = edge,               \
             .tile_n = edge, .tile_k = edge, .default_tile = edge > 1 ? edge : 0},                                     \
     .level = CPU_base, .whole = cpu_##type##_##step},
#define CPU_RUNG(step, edge, about, cited) RUNG_ROW(f32, step, edge, about, cited) RUNG_ROW(f64, step, edge, about, cited)
#define CPU_PEAK(type, isa, mr, nr, kc, about, cited)                                                                  \
    {.lab = {.name = "cpu_" #type "_r14_peak_" #isa, .engine = "cpu", .rung = "r14_peak", .dtype = ID_##type,          \
             .file = "cpu/r14_peak.c", .needs = #isa, .idea = about, .source = cited, .tile_m = mr, .tile_n = nr,      \
             .tile_k = kc, .production = 1},                                                                           \
     .level = CPU_##isa, .micro = cpu_##type##_r14_peak_##isa, .probe = cpu_##type##_probe_##isa,         \
     .reader = cpu_##type##_reader_##isa},
static const kernel_row kernels[] = {
#include "../kernels/kernels.def"
};
#undef CPU_RUNG
#undef CPU_PEAK

int kernel_count(void)
{
    return (int)(sizeof kernels / sizeof *kernels);
}

const kernel_row *kernel_at(int index)
{
    return index >= 0 && index < kernel_count() ? &kernels[index] : NULL;
}

const kernel_row *kernel_named(const char *name)
{
    for (int i = 0; i < kernel_count(); i++)
        if (strcmp(kernels[i].lab.name, name) == 0) return &kernels[i];
    return NULL;
}

int tw_lab_kernel_count(void)
{
    return kernel_count();
}

const tw_lab_kernel *tw_lab_kernel_at(int index)
{
    const kernel_row *row = kernel_at(index);
    return row ? &row->lab : NULL;
}

bool kernel_fits(const kernel_row *row, const tw_problem *problem, const device_facts *device, char *reason, size_t reason_bytes)
{
    char unused[1];
    if (reason == NULL) reason = unused, reason_bytes = sizeof unused;
    reason[0] = '\0';
    if (strcmp(row->lab.engine, device->engine) != 0)
        snprintf(reason, reason_bytes, "it runs on the %s engine, this device is the %s engine's", row->lab.engine, device->engine);
    else if (row->lab.dtype != problem->dtype)
        snprintf(reason, reason_bytes, "it multiplies %s, the problem is %s", dtype_find(row->lab.dtype)->lab.name,
                 dtype_find(problem->dtype)->lab.name);
    else if (row->level > device->level)
        snprintf(reason, reason_bytes, "it needs %s instructions, this device has %s", row->lab.needs,
                 cpu_level_name(device->level));
    else
        return true;
    return false;
}
