/* cost.c - see cost.h. */
#include "cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "roofline.h"

typedef struct cost_row {
    const char *engine, *level;
    double start_s, compile_s, narrow_s, copy_gbps;
    double f64, f32, bf16, f16, i8; /* GFLOP/s */
} cost_row;

static const cost_row rows[] = {
#define COST(engine, level, start_s, compile_s, narrow_s, copy_gbps, f64, f32, bf16, f16, i8, source)                  \
    {engine, level, start_s, compile_s, narrow_s, copy_gbps, f64, f32, bf16, f16, i8},
#include "../data/costs.def"
#undef COST
};

enum { ROWS = sizeof rows / sizeof *rows };

static int sm_of(const char *level) { return strncmp(level, "sm_", 3) == 0 ? atoi(level + 3) : 0; }

/* A set of the CPU that has no row of its own costs as the one with which its name begins, else as base. */
static bool covers(const char *level, const char *set)
{
    return strcmp(level, "base") == 0 || strncmp(level, set, strlen(level)) == 0;
}

static const cost_row *row_of(const tw_device *d)
{
    const cost_row *found = NULL;
    for (int i = 0; i < ROWS; i++) {
        const int sm = sm_of(rows[i].level);
        if (strcmp(rows[i].engine, d->engine) != 0) continue;
        if (sm > 0 ? sm <= sm_of(d->instruction_set) : covers(rows[i].level, d->instruction_set)) found = &rows[i];
    }
    return found;
}

static double rate_of(const cost_row *row, tw_dtype dtype)
{
    switch (dtype) {
    case TW_F64:
    case TW_I64:
    case TW_CF64: return row->f64;
    case TW_BF16: return row->bf16;
    case TW_F16: return row->f16;
    case TW_I8:
    case TW_U8: return row->i8;
    default: return row->f32;
    }
}

static double before_computing(const cost_row *row, const tw_problem *p, bool compiles)
{
    const tw_dtype kernels = tw_lab_kernel_dtype("cuda", p->dtype);
    const bool narrow = kernels != TW_F64 && kernels != TW_F32;
    return row->start_s +
           (!compiles ? 0
            : narrow  ? row->narrow_s
                      : row->compile_s) +
           (row->copy_gbps > 0 ? roofline_compulsory_bytes(p) / (row->copy_gbps * 1e9) : 0);
}

double cost_of(const tw_device *device, const tw_problem *p, bool compiles)
{
    const cost_row *row = row_of(device);
    if (row == NULL) return HUGE_VAL; /* nothing is known of it */
    return before_computing(row, p, compiles) +
           roofline_flops(p) / (rate_of(row, p->dtype) * 1e9 * (device->threads > 0 ? device->threads : 1));
}

double cost_least_of_cuda(const tw_problem *p)
{
    double least = HUGE_VAL;
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].engine, "cuda") == 0) least = fmin(least, before_computing(&rows[i], p, false));
    return least;
}
