/* complex.c - complex products on CUDA: as real ones, with passes before and behind. */
#include "../../kernels/cuda/arguments.h"
#include "../planners.h"

#include <string.h>

tw_dtype complex_part(const char *engine, tw_dtype dtype)
{
    if (dtype_find(dtype)->lab.parts == 1 || strcmp(engine, "cuda") != 0) return dtype;
    return dtype == TW_CF32 ? TW_F32 : TW_F64;
}

/* The way that moves fewer numbers: each coefficient counts what passes and kernel read and write of an element. m
 * decides, and the order of the sums depends on the way: with TW_INVARIANT it is always squares. */
static complex_way cheaper_way(const tw_problem *p)
{
    const double a = (double)p->m * (double)p->k, b = (double)p->k * (double)p->n, c = (double)p->m * (double)p->n;
    const bool b_along = op_transposes(p->op_b), a_across = op_transposes(p->op_a),
               scales = p->alpha_imaginary != 0 || p->beta_imaginary != 0;
    const double planes = (b_along ? 10 : 6) * a + 2 * b + (b_along ? 6 : 10) * c,
                 squares = (a_across ? 6 : 2) * a + 10 * b + (scales ? 6 : 2) * c;
    return !problem_keeps_order(p) && planes < squares ? COMPLEX_PLANES : COMPLEX_SQUARES;
}

bool complex_find(const tw_problem *asked, const device_facts *device, tw_problem *real, gpu_complex *out)
{
    enum { ALIGNED = 256, LINE = 128 };
    const tw_dtype part = complex_part(device->engine, asked->dtype);
    if (part == asked->dtype) return false;
    const complex_way way = device->complex != COMPLEX_CHEAPER ? device->complex : cheaper_way(asked);
    const bool planes = way == COMPLEX_PLANES && asked->k > 0, a_across = op_transposes(asked->op_a),
               b_along = op_transposes(asked->op_b);
    const int64_t line = LINE / dtype_find(part)->lab.bytes;
    *out = (gpu_complex){
        .way = way,
        .combines = planes || asked->alpha_imaginary != 0 || asked->beta_imaginary != 0,
        .sums = !planes                      ? SUMS_PAIRS
                : b_along                    ? SUMS_PLANES
                : op_conjugates(asked->op_b) ? SUMS_CONJUGATED
                                             : SUMS_PRODUCTS,
    };
    *real = *asked;
    real->dtype = real->dtype_b = real->dtype_c = part;
    real->op_a = a_across ? TW_T : TW_N, real->op_b = planes && b_along ? TW_T : TW_N;
    if (planes) real->m *= 2;
    if (!planes || !b_along) real->n *= 2;
    if (!planes || b_along) real->k *= 2;
    real->lda *= 2, real->ldb *= 2, real->ldc *= 2;
    if (asked->k > 0 && (planes || a_across))
        real->lda = out->a_ld = round_up(a_across ? real->m : real->k, line), real->align_a = ALIGNED;
    if (asked->k > 0 && !planes) real->ldb = out->b_ld = round_up(real->n, line), real->align_b = ALIGNED;
    if (asked->k > 0 && (planes || (out->combines && problem_reads_c(asked))))
        real->ldc = out->sums_ld = round_up(real->n, line), real->align_c = ALIGNED;
    /* without k C is left as it is, for the pass behind */
    if (out->combines) real->alpha = 1, real->beta = asked->k == 0;
    real->alpha_imaginary = real->beta_imaginary = 0;
    return true;
}

void complex_place(plan *plan, const gpu_complex *by)
{
    const tw_problem *real = &plan->gpu.problem;
    const int64_t bytes = dtype_find(real->dtype)->lab.bytes;
    gpu_complex *made = &plan->gpu.complex;
    *made = *by;
    made->b_at = round_up((int64_t)plan->workspace_bytes, 256);
    made->a_at = made->b_at + round_up(real->k * by->b_ld * bytes, 256);
    made->sums_at = made->a_at + round_up((real->op_a == TW_T ? real->k : real->m) * by->a_ld * bytes, 256);
    if (by->a_ld > 0 || by->b_ld > 0 || by->sums_ld > 0)
        plan->workspace_bytes = (size_t)(made->sums_at + real->m * by->sums_ld * bytes);
}
