/* nominal.c - see nominal.h. */
#include "nominal.h"

static const struct {
    int64_t bytes;
    tw_dtype result;
} types[] = {
#define DTYPE(id, name, bytes, class, result, ...) [TW_##id] = {bytes, TW_##result},
#include "../data/dtypes.def"
#undef DTYPE
};

static bool is_known(tw_dtype dtype) { return dtype != 0 && (size_t)dtype < sizeof types / sizeof *types; }

tw_dtype nominal_result(tw_dtype dtype) { return is_known(dtype) ? types[dtype].result : TW_F32; }

static int64_t bytes_of(tw_dtype dtype) { return is_known(dtype) ? types[dtype].bytes : 1; }

double nominal_flops(tw_dtype dtype, const nominal_machine *machine)
{
    const double each = dtype == TW_F64 ? 35e9 : dtype == TW_CF64 ? 35e9 / 4 : dtype == TW_CF32 ? 70e9 / 4 : 70e9;
    const bool complex = dtype == TW_CF64 || dtype == TW_CF32;
    const double of_multiprocessor = complex ? 100e9 : dtype == TW_F64 || dtype == TW_F32 ? 400e9 : 4e12;
    return (machine->on_device ? of_multiprocessor : each) * machine->threads;
}

double nominal_gbps(const nominal_machine *machine)
{
    return machine->network_gbps > 0 ? machine->network_gbps : machine->one_host ? 32 : 10;
}

grid_problem nominal_problem(const tw_problem *p, int64_t depth, const nominal_machine *machine)
{
    const bool sums = p->dtype_c == nominal_result(p->dtype) && p->dtype_c != TW_CF32 && p->dtype_c != TW_CF64;
    const bool multiplies = p->alpha != 0 || p->alpha_imaginary != 0;
    return (grid_problem){.m = p->m,
                          .n = p->n,
                          .k = multiplies ? p->k : 0,
                          .a_bytes = bytes_of(p->dtype),
                          .b_bytes = bytes_of(p->dtype_b),
                          .c_bytes = bytes_of(p->dtype_c),
                          .depth = sums ? depth : 0,
                          .keeps_c0 = p->beta != 0 || p->beta_imaginary != 0,
                          .ranks = machine->ranks,
                          .memory_bytes = INT64_MAX,
                          .flop_seconds = 2 / nominal_flops(p->dtype, machine),
                          .byte_seconds = 8 / (nominal_gbps(machine) * 1e9),
                          .message_seconds = machine->one_host ? 5e-6 : 50e-6};
}
