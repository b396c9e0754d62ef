/* launch.c - launches CUDA kernels: tensor maps for TMA, arguments by family, grids, batches. */
#define HOST_LISTS
#include "../../../kernels/cuda/arguments.h"
#include "../gpu.h"
#include "cuda_engine.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_GRID_Y = 65535 };

/* What a tensor map calls a type: bytes are only carried. */
static int map_type(tw_dtype dtype)
{
    return dtype == TW_F16                     ? CU_TENSOR_F16
           : dtype == TW_TF32                  ? CU_TENSOR_TF32 /* which rounds */
           : dtype == TW_BF16                  ? CU_TENSOR_BF16
           : dtype == TW_F64                   ? CU_TENSOR_F64
           : dtype == TW_I32                   ? CU_TENSOR_I32
           : dtype_find(dtype)->lab.bytes == 1 ? CU_TENSOR_U8
           : dtype_find(dtype)->lab.bytes == 2 ? CU_TENSOR_U16
                                               : CU_TENSOR_F32;
}

/* A tensor map of a row-major matrix: boxes of box_rows x box_cols, zeros beyond the edges. */
static tw_status encode_map(engine *e, tw_dtype dtype, cu_tensor_map *map, uint64_t address, int64_t rows, int64_t cols,
                            int64_t ld, int box_rows, int box_cols, int swizzle, int promotion)
{
    uint64_t bytes = (uint64_t)dtype_find(dtype)->lab.bytes;
    uint64_t dims[2] = {(uint64_t)cols, (uint64_t)rows}, strides[1] = {(uint64_t)ld * bytes};
    uint32_t box[2] = {(uint32_t)box_cols, (uint32_t)box_rows}, ones[2] = {1, 1};
    cu_result error = e->cu->cuTensorMapEncodeTiled(map, map_type(dtype), 2, (void *)(uintptr_t)address, dims, strides,
                                                    box, ones, 0, swizzle, promotion, 0);
    if (error == CU_SUCCESS) return TW_OK;
    return fail(TW_DEVICE_FAILED,
                "cuTensorMapEncodeTiled refused %" PRId64 " x %" PRId64 " elements %" PRId64
                " apart in boxes of %d x %d: %s",
                rows, cols, ld, box_rows, box_cols, cu_error_name(e->cu, error));
}

/* The tensor map of A or B. Boxes of a sliced-K row have the layout of the operand, and are swizzled if it is
 * K-major; others are swizzled where their lines are 128 bytes. A swap-AB row takes a K-major short operand in
 * boxes of as many lines as it has: lines outside cost TMA more than lines within. */
static tw_status encode_operand(engine *e, const plan *p, cu_tensor_map *map, cu_pointer address, const packing *lies,
                                bool along_k, bool is_short, int box_rows, int box_cols)
{
    const bool swap_ab = p->row->gpu.family == FAMILY_SWAP_AB, sliced_k = p->row->gpu.family == FAMILY_SLICED_K,
               transposed = sliced_k && along_k;
    const tw_dtype dtype = p->row->lab.emulates ? TW_F16 : p->gpu.problem.dtype; /* halves */
    const bool whole_line = box_cols * dtype_find(dtype)->lab.bytes == 128;
    int swizzle = transposed ? CU_TENSOR_SWIZZLE_64B : !sliced_k && whole_line ? CU_TENSOR_SWIZZLE_128B : 0;
    int rows = transposed                       ? box_cols
               : swap_ab && is_short && along_k ? (int)min_i64(p->row->lab.tile_m, lies->rows)
                                                : box_rows;
    return encode_map(e, dtype, map, address, lies->rows, lies->cols, lies->ld, rows, transposed ? box_rows : box_cols,
                      swizzle, swap_ab ? CU_TENSOR_L2_128B : CU_TENSOR_L2_256B);
}

/* Never 0, to which a flag is reset. */
static uint64_t next_epoch(engine *e)
{
    uint64_t epoch = atomic_fetch_add_explicit(&e->epoch, 1, memory_order_relaxed);
    return epoch != 0 ? epoch : atomic_fetch_add_explicit(&e->epoch, 1, memory_order_relaxed);
}

/* Blocks that divide the k of a tile. */
static int splits_each(const plan *p)
{
    const gpu_plan *gpu = &p->gpu;
    const gpu_family_id family = p->row->gpu.family;
    if (family == FAMILY_SWAP_AB || family == FAMILY_WGMMA) return (int)gpu->k_split.splits;
    if (kernel_in_place(p->row)) return (int)max_i64(gpu->k_split.splits, 1);
    return gpu->k_split.count > 0 ? (int)(gpu->k_split.count / (ceil_div(gpu->problem.m, gpu->block_m) *
                                                                ceil_div(gpu->problem.n, gpu->block_n)))
                                  : 1;
}

static tw_status launch_grid(engine *e, const runnable *r, const gpu_launch *how, int64_t width, int64_t height,
                             void **arguments)
{
    const plan *p = r->plan;
    const bool bound = how->kernel.epilogue != NULL; /* only then the kernel takes the list's first */
    const cu_launch_config config = {.grid_x = (unsigned)width,
                                     .grid_y = (unsigned)height,
                                     .grid_z = 1,
                                     .block_x = (unsigned)how->threads_x,
                                     .block_y = (unsigned)how->threads_y,
                                     .block_z = 1,
                                     .dynamic_bytes = (unsigned)how->kernel.dynamic_bytes};
    const int cluster = p->gpu.k_split.by_cluster ? (int)min_i64(splits_each(p), CLUSTER_BLOCKS) : 1;
    return cuda_launch_kernel(e, r, r->kernels[how->kind], p->row->gpu.traits & GPU_PDL, cluster, config,
                              arguments + !bound);
}

/* The arguments of a product's kernels: each family takes those of its lists in kernels/cuda/arguments.h. */
typedef struct arguments {
    struct bound_operands bound;
    cu_tensor_map a_map, b_map, c_map;
    int m, n, k;
    scalar alpha, beta;
    cu_pointer a, b, c;
    int64_t lda, ldb, ldc;
    int whole, length;        /* of the plan's k_split */
    int splits;               /* blocks that divide the k of a tile */
    int part_rows;            /* rows of partial sums of each of them */
    cu_pointer memory, flags; /* of the partial sums */
    uint64_t epoch;           /* the value that signals a flag of this launch */
    cu_pointer a_counts, a_exponents, b_counts, b_exponents, tiles_left; /* emulated f32 */
} arguments;
#define ADDRESS(type, name) &x.name

_Static_assert((int)BOUND_OPERANDS == (int)MOST_BINDINGS, "kernels take as many operands as an epilogue may bind");

/* What the epilogue reads. */
static struct bound_operands bound_of(const runnable *r)
{
    const value_list *list = &r->plan->problem.epilogue->values;
    struct bound_operands made = {{NULL}};
    for (int q = 0; q < list->bindings; q++) {
        const value_binding *b = &list->bound[q];
        const buffer *at = r->bound != NULL ? &r->bound->at[q] : NULL;
        made.at[q] = at == NULL ? b->at
                                : (const void *)(uintptr_t)(at->device + (uint64_t)(at->offset * value_bytes(b->type)));
        made.ld[q] = r->bound != NULL ? r->bound->ld[q] : b->ld;
        made.stride[q] = r->bound != NULL ? r->bound->stride[q] : b->stride, made.number[q] = b->number;
    }
    return made;
}

static arguments arguments_of(engine *e, const runnable *r, const buffer *a, const buffer *b, const buffer *c)
{
    const gpu_plan *gpu = &r->plan->gpu;
    const tw_problem *p = &r->plan->gpu.problem;
    arguments made = {.m = (int)p->m,
                      .n = (int)p->n,
                      .k = (int)p->k,
                      .alpha = gpu_scalar(p->dtype, p->alpha),
                      .beta = gpu_scalar(p->dtype, p->beta),
                      .a = a->device,
                      .b = b->device,
                      .c = c->device,
                      .lda = gpu->pack_a.needed ? gpu->pack_a.ld : p->lda,
                      .ldb = gpu->pack_b.needed  ? gpu->pack_b.ld
                             : gpu->transposes_b ? max_i64(p->k, 1)
                                                 : p->ldb,
                      .ldc = p->ldc,
                      .whole = (int)gpu->k_split.whole,
                      .length = (int)gpu->k_split.length,
                      .splits = splits_each(r->plan),
                      .part_rows = (int)(kernel_in_place(r->plan->row) ? p->m : SPLIT_ROWS(p->m)),
                      .memory = r->workspace + (cu_pointer)(gpu->pack_a.bytes + gpu->pack_b.bytes),
                      .epoch = next_epoch(e)};
    if (p->epilogue != NULL) made.bound = bound_of(r);
    made.flags = made.memory +
                 (cu_pointer)(gpu->k_split.count * gpu->block_m * gpu->block_n * kernel_sum_bytes(r->plan->row));
    return made;
}

/* What split.cu counts in the operands. */
static void take_counts(const runnable *r, const gpu_plan *gpu, arguments *made)
{
    const cu_pointer b = r->workspace, a = b + (cu_pointer)gpu->pack_b.bytes;
    made->a_exponents = a + (cu_pointer)gpu->pack_a.exponents, made->a_counts = a + (cu_pointer)gpu->pack_a.counts;
    made->b_exponents = b + (cu_pointer)gpu->pack_b.exponents, made->b_counts = b + (cu_pointer)gpu->pack_b.counts;
    made->tiles_left = b + (cu_pointer)gpu->pack_b.left;
}

/* Rows of a box of A or B whose tile is `edge` lines high. A box that lies across k where others lie along it has the
 * steps of k of a stage. */
static int box_rows(const kernel_row *row, bool along_k, bool across, int64_t edge, int rows)
{
    return along_k && (row->gpu.traits & GPU_WHOLE_EDGE) ? (int)edge : across ? row->lab.tile_k : rows;
}

/* The tensor maps of A, B and C. Each stays all 0 where no kernel reads it: operands with nothing to load, a C that is
 * not stored by TMA. */
static tw_status encode_maps(engine *e, const plan *p, const buffer *a, const buffer *b, const buffer *c,
                             arguments *made)
{
    const gpu_plan *gpu = &p->gpu;
    const tw_problem *x = &p->gpu.problem;
    const gpu_kernel *g = &p->row->gpu;
    const bool a_across = kernel_reads_across(p->row, x, 0), b_across = kernel_reads_across(p->row, x, 1),
               along = kernel_reads_along_k(p->row), a_along = along ? !a_across : x->op_a == TW_N,
               b_along = along ? !b_across : x->op_b == TW_T;
    if (x->k > 0) {
        TRY(encode_operand(e, p, &made->a_map, a->device, &gpu->pack_a, a_along, gpu->few_rows,
                           box_rows(p->row, a_along, a_across, gpu->block_m, g->a_box_rows), g->a_box_cols));
        TRY(encode_operand(e, p, &made->b_map, b->device, &gpu->pack_b, b_along, !gpu->few_rows,
                           box_rows(p->row, b_along, b_across, gpu->block_n, g->b_box_rows), g->b_box_cols));
    }
    if (g->family == FAMILY_WGMMA && gpu->k_split.count > 0) /* the partial sums, one part below the other */
        return encode_map(e, dtype_find(x->dtype)->result, &made->c_map, made->memory,
                          gpu->k_split.splits * SPLIT_ROWS(x->m), SPLIT_COLUMNS(x->n), SPLIT_COLUMNS(x->n), 64, 32,
                          CU_TENSOR_SWIZZLE_128B, CU_TENSOR_L2_256B);
    if (g->c_box_rows > 0 && kernel_is_wide(p->row, x))
        TRY(encode_map(e, x->dtype_c, &made->c_map, c->device, x->m, x->n, x->ldc, g->c_box_rows, g->c_box_cols, 0,
                       CU_TENSOR_L2_256B));
    if (g->stores == STORES_ANY && x->beta == 0 && kernel_is_wide(p->row, x))
        TRY(encode_map(e, x->dtype_c, &made->c_map, c->device, x->m, x->n, x->ldc, 64,
                       128 / dtype_find(x->dtype_c)->lab.bytes, CU_TENSOR_SWIZZLE_128B, CU_TENSOR_L2_256B));
    return TW_OK;
}

/* split: the plan that r's computes the rest of, or r's own. */
static tw_status launch_maps(engine *e, const runnable *r, const gpu_launch *how, const gpu_plan *split,
                             const buffer *a, const buffer *b, const buffer *c)
{
    const plan *p = r->plan;
    const gpu_family_id family = p->row->gpu.family;
    arguments x = arguments_of(e, r, a, b, c);
    take_counts(r, split, &x);
    TRY(encode_maps(e, p, a, b, c, &x));
    void *stream_k[] = {MAPPED_ARGUMENTS(ADDRESS, , ), STREAM_K_ARGUMENTS(ADDRESS, ) MAYBE_COUNTS_ARGUMENTS(ADDRESS)},
         *own_c[] = {MAPPED_C_ARGUMENTS(ADDRESS, , ), RUNS_ARGUMENTS(ADDRESS)},
         *sliced_k[] = {MAPPED_ARGUMENTS(ADDRESS, , ), SPLIT_ARGUMENTS(ADDRESS, )},
         *swap_ab[] = {MAPPED_ARGUMENTS(ADDRESS, , ), SPLIT_RUNS_ARGUMENTS(ADDRESS, )},
         *emulated[] = {MAPPED_C_ARGUMENTS(ADDRESS, , ), COUNTS_ARGUMENTS(ADDRESS)};
    return launch_grid(e, r, how, how->grid_x, how->grid_y,
                       family == FAMILY_SWAP_AB                               ? swap_ab
                       : family == FAMILY_EMULATED                            ? emulated
                       : family == FAMILY_WGMMA || p->row->gpu.c_box_rows > 0 ? own_c
                       : family == FAMILY_SLICED_K || family == FAMILY_SPLITS ? sliced_k
                                                                              : stream_k);
}

static tw_status launch_mapped(engine *e, runnable *r, const gpu_launch *how, const buffer *a, const buffer *b,
                               const buffer *c)
{
    return launch_maps(e, r, how, &r->plan->gpu, a, b, c);
}

/* The y dimension of a grid is at most 65535: taller grids are launched in parts, each with its rows of A and C. */
static tw_status launch_plain(engine *e, runnable *r, const gpu_launch *how, const buffer *a, const buffer *b,
                              const buffer *c)
{
    const gpu_plan *gpu = &r->plan->gpu;
    const tw_problem *p = &r->plan->gpu.problem;
    const arguments whole = arguments_of(e, r, a, b, c);
    const int64_t bytes = dtype_find(p->dtype)->lab.bytes, c_bytes = dtype_find(p->dtype_c)->lab.bytes;
    for (int64_t y = 0; y < how->grid_y; y += MOST_GRID_Y) {
        int64_t first = y * gpu->block_m;
        arguments x = whole;
        x.m = (int)(p->m - first);
        x.a += (cu_pointer)(first * (gpu->pack_a.needed || p->op_a == TW_N ? x.lda : 1) * bytes);
        x.c += (cu_pointer)(first * x.ldc * c_bytes);
        /* a kernel takes as many as it has */
        void *plain[] = {PLAIN_ARGUMENTS(ADDRESS, , , , ), ADDED_ARGUMENTS(ADDRESS, )};
        TRY(launch_grid(e, r, how, how->grid_x, min_i64(how->grid_y - y, MOST_GRID_Y), plain));
    }
    return TW_OK;
}

static tw_status launch_add(engine *e, const runnable *r, const gpu_launch *how, const buffer *a, const buffer *b,
                            const buffer *c)
{
    arguments x = arguments_of(e, r, a, b, c);
    void *plain[] = {PLAIN_ARGUMENTS(ADDRESS, , , , ), ADDED_ARGUMENTS(ADDRESS, )};
    return launch_grid(e, r, how, how->grid_x, how->grid_y, plain);
}

/* The tiles that r's kernel leaves, from A and B as they lie. */
static tw_status launch_rest(engine *e, const runnable *r, const gpu_launch *how, buffer *a, buffer *b, const buffer *c)
{
    plan rest;
    runnable x = *r;
    arguments counts;
    plan_of_rest(r->plan, &rest);
    x.plan = &rest;
    take_counts(r, &r->plan->gpu, &counts);
    if (how->kind == LAUNCH_PACK_REST) return cuda_pack_both(e, &x, how->kind, &counts.tiles_left, a, b);
    return launch_maps(e, &x, how, &r->plan->gpu, a, b, c);
}

static tw_status launch_one(engine *e, runnable *r, const gpu_launch *how, buffer *a, buffer *b, const buffer *c)
{
    switch (how->kind) {
    case LAUNCH_EXPAND: return cuda_expand(e, r, a, b);
    case LAUNCH_SCAN: return cuda_halve(e, r, how->kind, a, b);
    case LAUNCH_PACK:
        return r->plan->gpu.rest != NULL ? cuda_halve(e, r, how->kind, a, b)
                                         : cuda_pack_both(e, r, how->kind, NULL, a, b);
    case LAUNCH_TILES: return (kernel_by_tma(r->plan->row) ? launch_mapped : launch_plain)(e, r, how, a, b, c);
    case LAUNCH_PACK_REST:
    case LAUNCH_REST: return launch_rest(e, r, how, a, b, c);
    case LAUNCH_ADD: return launch_add(e, r, how, a, b, c);
    case LAUNCH_COMBINE:
    case LAUNCH_KINDS: break;
    }
    return TW_OK;
}

static tw_status launch_all(engine *e, runnable *r, buffer a, buffer b, const buffer *c)
{
    gpu_launch launches[LAUNCH_KINDS];
    const int count = plan_launches(r->plan, launches);
    const gpu_complex *by = &r->plan->gpu.complex;
    buffer sums = *c;
    if (by->sums_ld > 0) sums = (buffer){.device = r->workspace + (cu_pointer)by->sums_at};
    buffer as_lies[] = {a, b}; /* for the kernel, but for what it packs */
    for (int i = 0; i < count; i++) {
        const launch_kind kind = launches[i].kind;
        if (kind == LAUNCH_COMBINE) return cuda_combine(e, r, sums.device, c->device);
        TRY(launch_one(e, r, &launches[i], &a, &b, &sums));
        if (kind == LAUNCH_EXPAND) as_lies[0] = a, as_lies[1] = b;
        if (r->plan->gpu.rest != NULL && kind == LAUNCH_TILES) a = as_lies[0], b = as_lies[1];
    }
    return TW_OK;
}

/* The address of operand number i of a batch, or of the array of its addresses. */
static buffer address_of(const tw_batch *batch, const buffer *first, int64_t stride, int64_t i, tw_dtype dtype)
{
    cu_pointer behind = batch->pointers ? (cu_pointer)i * sizeof(cu_pointer)
                                        : (cu_pointer)stride * (cu_pointer)i * (cu_pointer)dtype_find(dtype)->lab.bytes;
    return (buffer){.device = first->device + behind};
}

/* A tensor map of `items` matrices that lie `stride` apart, one box of one item at a time; boxes whose lines are 64 or
 * 128 bytes are swizzled by as many. A matrix that all items share has stride 0. */
static tw_status encode_boxes(engine *e, tw_dtype dtype, cu_tensor_map *map, uint64_t address, int64_t rows,
                              int64_t cols, int64_t ld, int64_t items, int64_t stride, int64_t box_rows,
                              int64_t box_cols)
{
    uint64_t bytes = (uint64_t)dtype_find(dtype)->lab.bytes, line = (uint64_t)box_cols * bytes;
    uint64_t dims[3] = {(uint64_t)cols, (uint64_t)rows, stride == 0 ? 1 : (uint64_t)items},
             strides[2] = {(uint64_t)ld * bytes, (uint64_t)(stride == 0 ? ld : stride) * bytes};
    uint32_t box[3] = {(uint32_t)box_cols, (uint32_t)box_rows, 1}, ones[3] = {1, 1, 1};
    int swizzle = line == 128 ? CU_TENSOR_SWIZZLE_128B : line == 64 ? CU_TENSOR_SWIZZLE_64B : 0;
    cu_result error = e->cu->cuTensorMapEncodeTiled(map, map_type(dtype), 3, (void *)(uintptr_t)address, dims, strides,
                                                    box, ones, 0, swizzle, CU_TENSOR_L2_256B, 0);
    if (error == CU_SUCCESS) return TW_OK;
    return fail(TW_DEVICE_FAILED,
                "cuTensorMapEncodeTiled refused %" PRId64 " items of %" PRId64 " x %" PRId64 " elements, rows %" PRId64
                " and items %" PRId64 " apart, in boxes of %" PRId64 " x %" PRId64 ": %s",
                items, rows, cols, ld, stride, box_rows, box_cols, cu_error_name(e->cu, error));
}

/* The arguments of a batch's kernels: the first items, or arrays of addresses, and the number of tiles. */
typedef struct batch_arguments {
    struct bound_operands bound;
    cu_tensor_map a_map, b_map, c_map;
    int m, n, k;
    scalar alpha, beta;
    cu_pointer a_items, b_items, c_items;
    int64_t lda, ldb, ldc, stride_a, stride_b, stride_c;
    int works, pointers, a_shared, b_shared;
} batch_arguments;

static batch_arguments batch_arguments_of(const tw_problem *p, const tw_batch *batch)
{
    return (batch_arguments){.m = (int)p->m,
                             .n = (int)p->n,
                             .k = (int)p->k,
                             .alpha = gpu_scalar(p->dtype, p->alpha),
                             .beta = gpu_scalar(p->dtype, p->beta),
                             .lda = p->lda,
                             .ldb = p->ldb,
                             .ldc = p->ldc,
                             .stride_a = batch->stride_a,
                             .stride_b = batch->stride_b,
                             .stride_c = batch->stride_c,
                             .pointers = (int)batch->pointers,
                             .a_shared = batch->stride_a == 0,
                             .b_shared = batch->stride_b == 0};
}

/* Items at strides by a row that loads by TMA. */
static tw_status launch_boxes(engine *e, runnable *r, const gpu_launch *how, const batch_arguments *first,
                              int64_t items)
{
    enum { C_LINE = 128 }; /* bytes */
    const plan *plan = r->plan;
    const tw_problem *p = &plan->gpu.problem;
    const int64_t edge = plan->gpu.block_m, depth = plan->row->lab.tile_k, line = plan->row->gpu.a_box_cols,
                  cut = plan->gpu.cut;
    batch_arguments x = *first;
    TRY(encode_boxes(e, p->dtype, &x.a_map, x.a_items, problem_a_rows(p), problem_a_cols(p), x.lda, items, x.stride_a,
                     p->op_a == TW_N ? edge : depth, p->op_a == TW_N ? depth : line));
    TRY(encode_boxes(e, p->dtype, &x.b_map, x.b_items, problem_b_rows(p), problem_b_cols(p), x.ldb, items, x.stride_b,
                     p->op_b == TW_N ? depth : edge, p->op_b == TW_N ? line : depth));
    TRY(encode_boxes(e, p->dtype_c, &x.c_map, x.c_items, p->m, p->n, x.ldc, items, x.stride_c, edge,
                     C_LINE / dtype_find(p->dtype_c)->lab.bytes));
    void *boxes[] = {BOXES_ARGUMENTS(ADDRESS, , )};
    return launch_grid(e, r, how, min_i64(x.works, how->grid_x) + (x.works > cut * 3 / 2 ? cut : 0), 1, boxes);
}

/* A whole batch, or as many items at a time as a kernel can count. */
static tw_status launch_batch(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c)
{
    const gpu_plan *gpu = &r->plan->gpu;
    const tw_problem *p = &r->plan->gpu.problem;
    const tw_batch *batch = r->batch;
    const int64_t tiles = ceil_div(p->m, gpu->block_m) * ceil_div(p->n, gpu->block_n), most = BATCH_MOST_TILES / tiles;
    batch_arguments x = batch_arguments_of(p, batch);
    gpu_launch whole[LAUNCH_KINDS]; /* one: nothing is packed or added */
    plan_launches(r->plan, whole);
    for (int64_t first = 0; first < batch->count && !stop_asked(r->stop); first += most) {
        const int64_t items = min_i64(batch->count - first, most);
        x.works = (int)(items * tiles);
        x.a_items = address_of(batch, a, batch->stride_a, first, p->dtype).device;
        x.b_items = address_of(batch, b, batch->stride_b, first, p->dtype).device;
        x.c_items = address_of(batch, c, batch->stride_c, first, p->dtype_c).device;
        if (kernel_by_tma(r->plan->row)) {
            TRY(launch_boxes(e, r, whole, &x, items));
            continue;
        }
        void *plain[] = {BATCH_ARGUMENTS(ADDRESS, )};
        TRY(launch_grid(e, r, whole, min_i64(x.works, whole->grid_x), 1, plain));
    }
    return TW_OK;
}

tw_status cuda_launch_items(engine *e, runnable *r, const buffer *a, const buffer *b, const buffer *c)
{
    const tw_batch *batch = r->batch;
    const tw_problem *x = &r->plan->problem;
    if (batch == NULL) return launch_all(e, r, *a, *b, c);
    if (r->plan->gpu.one_launch) return launch_batch(e, r, a, b, c);
    for (int64_t i = 0; i < batch->count && !stop_asked(r->stop); i++) {
        const buffer to = address_of(batch, c, batch->stride_c, i, x->dtype_c);
        TRY(launch_all(e, r, address_of(batch, a, batch->stride_a, i, x->dtype),
                       address_of(batch, b, batch->stride_b, i, x->dtype), &to));
    }
    return TW_OK;
}
