/* passes.c - launches a kernel, and by it the passes before and behind those of a product: operands packed, split into
 * halves, or written as real numbers; sums multiplied by complex scalars. */
#include "../../../kernels/cuda/arguments.h"
#include "../gpu.h"
#include "cuda_engine.h"

bool cuda_takes_attributes(const engine *e)
{
    return e->pdl && e->cu->cuLaunchKernelEx != NULL && e->kernels.driver_version >= 12030;
}

tw_status cuda_launch_kernel(engine *e, const runnable *r, cu_function kernel, bool pdl, int cluster,
                             cu_launch_config config, void **arguments)
{
    cu_launch_attribute attributes[] = {{.id = CU_LAUNCH_PDL, .value.allowed = 1},
                                        {.id = CU_LAUNCH_CLUSTER, .value.cluster = {(unsigned)cluster, 1, 1}}};
    config.stream = r->stream, config.attributes = attributes, config.attribute_count = cluster > 1 ? 2 : 1;
    if (pdl && cuda_takes_attributes(e))
        CU_TRY(cuLaunchKernelEx, (&config, kernel, arguments, NULL));
    else
        CU_TRY(cuLaunchKernel, (kernel, config.grid_x, config.grid_y, config.grid_z, config.block_x, config.block_y,
                                config.block_z, config.dynamic_bytes, config.stream, arguments, NULL));
    return TW_OK;
}

/* A pass is never a cluster, and its kernels take PDL. */
static tw_status launch_pass(engine *e, const runnable *r, cu_function kernel, int64_t blocks, int64_t blocks_y,
                             int threads, int threads_y, void **arguments)
{
    const cu_launch_config config = {.grid_x = (unsigned)blocks,
                                     .grid_y = (unsigned)blocks_y,
                                     .grid_z = 1,
                                     .block_x = (unsigned)threads,
                                     .block_y = (unsigned)threads_y,
                                     .block_z = 1};
    return cuda_launch_kernel(e, r, kernel, true, 1, config, arguments);
}

/* ---- packed ---- */

/* An operand as pack.cu describes it: its struct operand. */
typedef struct packed {
    cu_pointer from;
    int64_t ld;
    cu_pointer to;
    int64_t to_ld;
    int32_t rows, cols, transposes;
} packed;

_Static_assert(sizeof(packed) == 48 && offsetof(packed, rows) == 32, "as pack.cu lays out struct operand");

static int64_t pack_tiles(const packed *o) { return ceil_div(o->rows, 64) * ceil_div(o->cols, 64); }

static packed packed_of(const plan *p, int operand, cu_pointer from, cu_pointer to)
{
    const tw_problem *x = &p->gpu.problem;
    const packing *by = operand == 0 ? &p->gpu.pack_a : &p->gpu.pack_b;
    const int64_t rows = operand == 0 ? problem_a_rows(x) : problem_b_rows(x),
                  cols = operand == 0 ? problem_a_cols(x) : problem_b_cols(x);
    return (packed){from,          operand == 0 ? x->lda : x->ldb, to, by->ld, by->needed ? (int)rows : 0, (int)cols,
                    by->transposes};
}

static tw_status launch_packing(engine *e, const runnable *r, cu_function kernel, packed first, packed second,
                                cu_pointer *left)
{
    enum { PACK_THREADS = 256 };
    void *arguments[] = {&first, &second, left};
    return launch_pass(e, r, kernel, pack_tiles(&first) + pack_tiles(&second), 1, PACK_THREADS, 1, arguments);
}

tw_status cuda_pack(engine *e, const runnable *r, int operand, cu_pointer from, cu_pointer to)
{
    return launch_packing(e, r, r->kernels[LAUNCH_PACK], packed_of(r->plan, operand, from, to), (packed){.rows = 0},
                          NULL);
}

tw_status cuda_pack_both(engine *e, const runnable *r, launch_kind kind, cu_pointer *left, buffer *a, buffer *b)
{
    const packing *by_b = &r->plan->gpu.pack_b, *by_a = &r->plan->gpu.pack_a;
    const packed first = packed_of(r->plan, 1, b->device, r->workspace),
                 second = packed_of(r->plan, 0, a->device, r->workspace + (cu_pointer)by_b->bytes);
    TRY(launch_packing(e, r, r->kernels[kind], first, second, left));
    if (by_b->needed) b->device = first.to;
    if (by_a->needed) a->device = second.to;
    return TW_OK;
}

/* ---- halves ---- */

/* An operand as split.cu describes it: its struct operand. */
typedef struct halves {
    cu_pointer from;
    int64_t along, across;
    cu_pointer to, exponents, counts;
    int32_t lines, k;
} halves;

_Static_assert(sizeof(halves) == 56 && offsetof(halves, lines) == 48, "as split.cu lays out struct operand");

static halves halves_of(const runnable *r, int operand, cu_pointer from)
{
    const tw_problem *p = &r->plan->gpu.problem;
    const gpu_plan *gpu = &r->plan->gpu;
    const packing *by = operand == 0 ? &gpu->pack_a : &gpu->pack_b;
    const bool along_k = operand == 0 ? p->op_a == TW_N : p->op_b == TW_T;
    const int64_t ld = operand == 0 ? p->lda : p->ldb;
    const cu_pointer to = r->workspace + (cu_pointer)(operand == 0 ? gpu->pack_b.bytes : 0);
    return (halves){.from = from,
                    .along = along_k ? 1 : ld,
                    .across = along_k ? ld : 1,
                    .to = to,
                    .exponents = to + (cu_pointer)by->exponents,
                    .counts = to + (cu_pointer)by->counts,
                    .lines = (int)(operand == 0 ? p->m : p->n),
                    .k = (int)p->k};
}

/* Blocks of `scan` or of `split` for an operand. */
static int64_t halves_blocks(const halves *o, bool scans)
{
    return scans ? ceil_div(o->lines, EMULATED_EDGE) * (EMULATED_EDGE / COUNTED_LINES)
                 : ceil_div(o->lines, HALVES_TILE) * ceil_div(o->k, HALVES_TILE);
}

tw_status cuda_halve(engine *e, const runnable *r, launch_kind kind, buffer *a, buffer *b)
{
    const bool scans = kind == LAUNCH_SCAN;
    halves first = halves_of(r, 1, b->device), second = halves_of(r, 0, a->device);
    cu_pointer left = first.to + (cu_pointer)r->plan->gpu.pack_b.left;
    void *arguments[] = {&first, &second, &left};
    TRY(launch_pass(e, r, r->kernels[kind], halves_blocks(&first, scans) + halves_blocks(&second, scans), 1,
                    scans ? SCAN_THREADS : HALVES_THREADS, 1, arguments));
    if (!scans) b->device = first.to, a->device = second.to;
    return TW_OK;
}

/* ---- complex numbers ---- */

/* An operand as complex.cu describes it: its struct operand. */
typedef struct expanded {
    cu_pointer from;
    int64_t ld;
    cu_pointer to;
    int64_t row, col, at[EXPAND_MOST];
    int32_t what[EXPAND_MOST], count, rows, cols;
} expanded;

_Static_assert(sizeof(expanded) == 104 && offsetof(expanded, what) == 72, "as complex.cu lays out struct operand");

enum { X = PART_REAL, Y = PART_IMAGINARY };

/* A part of an element, times -1 where `minus`. */
static int32_t part(int32_t which, bool minus) { return minus ? which | PART_NEGATED : which; }

/* B as squares: of op(B) k goes down, n across. */
static void describe_squares(const tw_problem *p, int64_t ld, expanded *o)
{
    const bool along = op_transposes(p->op_b), minus = op_conjugates(p->op_b), a_minus = op_conjugates(p->op_a);
    const int64_t down = 2 * ld, across = 2;
    o->row = along ? across : down, o->col = along ? down : across, o->count = 4;
    o->at[0] = 0, o->at[1] = 1, o->at[2] = ld, o->at[3] = ld + 1;
    o->what[0] = part(X, false), o->what[1] = part(Y, minus);
    o->what[2] = part(Y, minus == a_minus), o->what[3] = part(X, a_minus);
}

/* A stored as k x m, beside squares: the real parts of a row above the imaginary ones. */
static void describe_rows(int64_t ld, expanded *o)
{
    o->row = 2 * ld, o->col = 1, o->count = 2;
    o->at[0] = 0, o->at[1] = ld;
    o->what[0] = part(X, false), o->what[1] = part(Y, false);
}

/* A as two matrices, one below the other, or side by side where A is stored as k x m: its real and its imaginary parts.
 * If B is K-major, each element becomes two pairs: with a pair of B one gives C's real part, one its imaginary part. */
static void describe_planes(const tw_problem *p, int64_t ld, expanded *o)
{
    const bool across = op_transposes(p->op_a), pairs = op_transposes(p->op_b), minus = op_conjugates(p->op_a),
               b_minus = op_conjugates(p->op_b);
    const int64_t plane = across ? p->m : p->m * ld, next = across ? ld : 1;
    o->row = across && pairs ? 2 * ld : ld, o->col = !across && pairs ? 2 : 1, o->count = pairs ? 4 : 2;
    o->at[0] = 0, o->at[1] = plane, o->at[2] = next, o->at[3] = plane + next;
    o->what[0] = part(X, false), o->what[1] = part(Y, minus);
    o->what[2] = part(Y, minus == b_minus), o->what[3] = part(X, b_minus);
}

/* rows 0: it is read as it lies. */
static expanded expanded_of(const runnable *r, int operand, cu_pointer from)
{
    const tw_problem *p = &r->plan->problem;
    const gpu_complex *by = &r->plan->gpu.complex;
    const int64_t ld = operand == 0 ? by->a_ld : by->b_ld;
    expanded o = {.from = from,
                  .ld = 2 * (operand == 0 ? p->lda : p->ldb),
                  .to = r->workspace + (cu_pointer)(operand == 0 ? by->a_at : by->b_at),
                  .rows = ld == 0 ? 0 : (int)(operand == 0 ? problem_a_rows(p) : problem_b_rows(p)),
                  .cols = (int)(operand == 0 ? problem_a_cols(p) : problem_b_cols(p))};
    if (operand == 1)
        describe_squares(p, ld, &o);
    else if (by->b_ld > 0)
        describe_rows(ld, &o);
    else
        describe_planes(p, ld, &o);
    return o;
}

static int64_t expand_tiles(const expanded *o)
{
    return ceil_div(o->rows, EXPAND_TILE) * ceil_div(o->cols, EXPAND_TILE);
}

tw_status cuda_expand(engine *e, const runnable *r, buffer *a, buffer *b)
{
    expanded first = expanded_of(r, 1, b->device), second = expanded_of(r, 0, a->device);
    void *arguments[] = {&first, &second};
    TRY(launch_pass(e, r, r->kernels[LAUNCH_EXPAND], expand_tiles(&first) + expand_tiles(&second), 1, EXPAND_TILE,
                    EXPAND_LINES, arguments));
    if (first.rows > 0) b->device = first.to;
    if (second.rows > 0) a->device = second.to;
    return TW_OK;
}

tw_status cuda_combine(engine *e, const runnable *r, cu_pointer sums, cu_pointer c)
{
    enum { MOST_GRID_Y = 65535 };
    const tw_problem *p = &r->plan->problem;
    const tw_dtype real = r->plan->gpu.problem.dtype;
    int m = (int)p->m, n = (int)p->n, form = r->plan->gpu.complex.sums;
    scalar alpha = gpu_scalar(real, p->alpha), alpha_imaginary = gpu_scalar(real, p->alpha_imaginary),
           beta = gpu_scalar(real, p->beta), beta_imaginary = gpu_scalar(real, p->beta_imaginary);
    /* without k C alone is scaled, in place */
    if (p->k == 0) alpha = beta, alpha_imaginary = beta_imaginary, beta = beta_imaginary = gpu_scalar(real, 0);
    int64_t sums_ld = r->plan->gpu.problem.ldc, ldc = 2 * p->ldc;
    void *arguments[] = {&m, &n, &form, &alpha, &alpha_imaginary, &sums, &sums_ld, &beta, &beta_imaginary, &c, &ldc};
    return launch_pass(e, r, r->kernels[LAUNCH_COMBINE], ceil_div(n, EXPAND_TILE),
                       min_i64(ceil_div(m, EXPAND_LINES), MOST_GRID_Y), EXPAND_TILE, EXPAND_LINES, arguments);
}
