/* test_cost.c - what a product costs on a device, by data/costs.def. */
#include <math.h>
#include <stdio.h>

#include "../lab/cost.h"
#include "table.h"
#include "support/tap.h"

static tw_device device(const char *engine, const char *level, int threads)
{
    tw_device d = {.size = sizeof d, .threads = threads};
    snprintf(d.engine, sizeof d.engine, "%s", engine);
    snprintf(d.instruction_set, sizeof d.instruction_set, "%s", level);
    return d;
}

static double of(const char *engine, const char *level, int threads, tw_dtype dtype, int64_t n, bool compiles)
{
    const tw_device d = device(engine, level, threads);
    const tw_problem p = tw_problem_make(dtype, TW_N, TW_N, n, n, n);
    return cost_of(&d, &p, compiles);
}

static bool near(double x, double y) { return fabs(x - y) <= 1e-9 * y; }

static void formula(void)
{
    if (!tap_case("start_compilation_copies_and_flops")) return;
    const double n = 8192, flops = 2 * n * n * n, bytes = 3 * n * n;
    bool right = near(of("cpu", "avx512", 16, TW_F32, 8192, true), flops / (103e9 * 16)) &&
                 near(of("cpu", "base", 1, TW_CF64, 8192, false), 4 * flops / 8e9) &&
                 near(of("cuda", "sm_90", 132, TW_F32, 8192, false), 0.37 + 4 * bytes / 25e9 + flops / (408e9 * 132)) &&
                 near(of("cuda", "sm_90", 132, TW_F64, 8192, true), 0.47 + 8 * bytes / 25e9 + flops / (390e9 * 132)) &&
                 near(of("cuda", "sm_90", 132, TW_BF16, 8192, true),
                      1.37 + (2 * bytes + 2 * n * n) / 25e9 + flops / (5300e9 * 132));
    tap_result(right, "cpu %g s, cuda %g s", of("cpu", "avx512", 16, TW_F32, 8192, true),
               of("cuda", "sm_90", 132, TW_F32, 8192, false));
}

static void levels(void)
{
    if (!tap_case("a_device_takes_the_row_of_its_architecture_or_the_one_before")) return;
    bool right = of("cuda", "sm_103", 100, TW_F32, 4096, false) == of("cuda", "sm_100", 100, TW_F32, 4096, false) &&
                 of("cuda", "sm_121", 40, TW_F64, 4096, false) == of("cuda", "sm_120", 40, TW_F64, 4096, false) &&
                 of("cuda", "sm_86", 82, TW_F64, 4096, false) > of("cuda", "sm_80", 82, TW_F64, 4096, false) &&
                 isinf(of("cuda", "sm_70", 80, TW_F32, 4096, false)) &&
                 isinf(of("opencl", "OpenCL 3.0", 8, TW_F32, 4096, false));
    for (const cpu_set *set = cpu_sets; set->name != NULL; set++)
        right = right && isfinite(of("cpu", set->name, 1, TW_I8, 64, false));
    tap_result(right, "sm_86 %g s in f64", of("cuda", "sm_86", 82, TW_F64, 4096, false));
}

static void least(void)
{
    if (!tap_case("no_cuda_device_stays_below_the_least")) return;
    bool right = true;
    for (int64_t n = 1; n <= 16384; n *= 4) {
        const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, n, n, n);
        right = right && of("cuda", "sm_90", 132, TW_F32, n, false) >= cost_least_of_cuda(&p) &&
                cost_least_of_cuda(&p) > 0.3;
    }
    tap_result(right, "it does");
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    formula();
    levels();
    least();
    return tap_finish();
}
