/* complex.c - complex products on CUDA: as real ones, with passes before and behind. */
#include "../../kernels/cuda/arguments.h"
#include "../planners.h"

#include <string.h>

static tw_dtype part_of(tw_dtype dtype) { return dtype == TW_CF32 ? TW_F32 : TW_F64; }

tw_dtype complex_part(const char *engine, tw_dtype dtype)
{
    const bool complex = dtype == TW_CF32 || dtype == TW_CF64;
    return complex && strcmp(engine, "cuda") == 0 ? part_of(dtype) : dtype;
}

/* What complex.cu makes of an operand: rows of whole lines of 128 bytes. */
static packing made_of(const tw_problem *p, int64_t rows, int64_t cols)
{
    const int64_t bytes = dtype_find(part_of(p->dtype))->lab.bytes;
    packing made = {.needed = p->k > 0, .rows = rows, .cols = cols, .ld = round_up(cols, 128 / bytes)};
    made.bytes = made.needed ? round_up(rows * made.ld * bytes, 256) : 0;
    return made;
}

/* Is it less to make two matrices of A, and C of their products, than to make squares of B? In real numbers that are
 * moved, the kernel's own included. It depends on m, and so does the order of the sums. */
static bool pays_planes(const tw_problem *p)
{
    const double a = (double)p->m * (double)p->k, b = (double)p->k * (double)p->n, c = (double)p->m * (double)p->n;
    const bool b_along = op_transposes(p->op_b), a_across = op_transposes(p->op_a),
               scales = p->alpha_imaginary != 0 || p->beta_imaginary != 0;
    const double planes = (b_along ? 10 : 6) * a + 2 * b + (b_along ? 6 : 10) * c,
                 squares = (a_across ? 6 : 2) * a + 10 * b + (scales ? 6 : 2) * c;
    return !problem_keeps_order(p) && planes < squares;
}

static gpu_complex complex_of(const tw_problem *p)
{
    const bool a_across = op_transposes(p->op_a), b_along = op_transposes(p->op_b);
    gpu_complex made = {.combines = p->alpha_imaginary != 0 || p->beta_imaginary != 0, .sums = SUMS_PAIRS};
    if (pays_planes(p)) {
        const int64_t depth = b_along ? 2 * p->k : p->k;
        made.a = a_across ? made_of(p, depth, 2 * p->m) : made_of(p, 2 * p->m, depth);
        made.sums = b_along ? SUMS_PLANES : op_conjugates(p->op_b) ? SUMS_CONJUGATED : SUMS_PRODUCTS;
        made.sums_ld = made_of(p, 1, b_along ? p->n : 2 * p->n).ld;
        made.combines = true;
        return made;
    }
    made.b = made_of(p, 2 * p->k, 2 * p->n);
    if (a_across) made.a = made_of(p, 2 * p->k, p->m);
    if (made.combines && problem_reads_c(p)) made.sums_ld = made_of(p, 1, 2 * p->n).ld;
    return made;
}

bool complex_find(const tw_problem *asked, const device_facts *device, tw_problem *real)
{
    enum { ALIGNED = 256 };
    const tw_dtype part = complex_part(device->engine, asked->dtype);
    if (part == asked->dtype) return false;
    const gpu_complex by = complex_of(asked);
    const bool planes = by.sums != SUMS_PAIRS, b_along = op_transposes(asked->op_b);
    *real = *asked;
    real->dtype = real->dtype_b = real->dtype_c = part;
    real->op_a = op_transposes(asked->op_a) ? TW_T : TW_N;
    real->op_b = planes && b_along ? TW_T : TW_N;
    if (planes) real->m *= 2;
    if (!planes || !b_along) real->n *= 2;
    if (!planes || b_along) real->k *= 2;
    real->lda *= 2, real->ldb *= 2, real->ldc *= 2;
    if (by.a.needed) real->lda = by.a.ld, real->align_a = ALIGNED;
    if (by.b.needed) real->ldb = by.b.ld, real->align_b = ALIGNED;
    if (by.sums_ld > 0) real->ldc = by.sums_ld, real->align_c = ALIGNED;
    if (by.combines) real->alpha = 1, real->beta = 0, real->alpha_imaginary = real->beta_imaginary = 0;
    return true;
}

void complex_passes(plan *plan)
{
    gpu_complex by = complex_of(&plan->problem);
    const tw_problem *real = &plan->gpu.problem;
    by.b_at = round_up((int64_t)plan->workspace_bytes, 256);
    by.a_at = by.b_at + by.b.bytes;
    by.sums_at = by.a_at + by.a.bytes;
    plan->gpu.complex = by;
    plan->workspace_bytes = (size_t)(by.sums_at + real->m * by.sums_ld * dtype_find(real->dtype)->lab.bytes);
}
