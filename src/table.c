/* table.c - loads kernels/kernels.def; find by name; does a kernel fit? */
#include "problem.h"
#include "table.h"
#include "../kernels/cuda/arguments.h"
#include "../kernels/each.h"

#include <stdio.h>
#include <string.h>

#define SET_ROW(name, machine, ...) CPU_OF_##machine({#name, CPU_##name}, )
const cpu_set cpu_sets[] = {CPU_SETS(SET_ROW, ){NULL, 0}};

const char *cpu_set_name(cpu_features features)
{
    const char *name = NULL;
    for (const cpu_set *set = cpu_sets; set->name != NULL; set++)
        if (cpu_has(features, set->features)) name = set->name;
    return name;
}

int cpu_vector_bytes(cpu_features features)
{
    int most = 0;
#define TAKE_BYTES(name, machine, below, feature, vectors, bytes, ...)                                                 \
    if (cpu_has(features, CPU_##name) && (bytes) > most) most = (bytes);
    CPU_SETS(TAKE_BYTES, )
    return most;
}

/* Declare every kernel, then list every row. A CPU rung is compiled once per dtype, or per dtype and instruction set
 * with wider vectors. */
#if defined(__x86_64__) || defined(__aarch64__)
#define EACH_LEVEL(row, type, ...) CPU_SETS(SET_LEVEL, row, type, __VA_ARGS__)
#else
#define EACH_LEVEL(row, type, ...) row(type, base, __VA_ARGS__)
#endif
#define SET_LEVEL(name, machine, below, feature, vectors, bytes, flags, when, row, type, ...)                          \
    CPU_OF_##machine(LEVEL_##vectors(row(type, name, __VA_ARGS__)))
#define LEVEL_WIDER(...) __VA_ARGS__
#define LEVEL_SAME(...)
#define CPU_RUNG(rung, ...)        cpu_whole cpu_f32_##rung, cpu_f64_##rung;
#define WIDE_NAME(type, isa, rung) cpu_whole cpu_##type##_##rung##_##isa;
#define CPU_WIDE(rung, ...)        EACH_LEVEL(WIDE_NAME, f32, rung) EACH_LEVEL(WIDE_NAME, f64, rung)
#define CPU_TILES(...)             EACH(TILE_KERNELS, __VA_ARGS__)
#define TILE_KERNELS(type, micros, isa, mr, nr, ...)                                                                   \
    cpu_micro cpu_##type##_gemm_simd_##isa##_##mr##x##nr;                                                              \
    cpu_unpacked_product cpu_##type##_gemm_simd_##isa##_##mr##x##nr##_unpacked;                                        \
    cpu_gemv_kernel cpu_##type##_gemv_simd_##isa;                                                                      \
    cpu_triangle_kernel cpu_##type##_triangle_simd_##isa, cpu_##type##_triangle_simd_##isa##_pack;                     \
    cpu_widen cpu_##type##_convert_##isa##_widen;                                                                      \
    cpu_probe cpu_##type##_probe_##isa;                                                                                \
    cpu_reader cpu_##type##_reader_##isa;
#define CPU_MATRIX(...) EACH(MATRIX_KERNELS, __VA_ARGS__)
#define MATRIX_KERNELS(type, ...)                                                                                      \
    cpu_micro cpu_##type##_r13_matrix_amx;                                                                             \
    cpu_gemv_kernel cpu_##type##_gemv_tiles_amx;                                                                       \
    cpu_probe cpu_##type##_probe_amx;
#define GPU_RUNG(...)
#define CUDA_RUNGS(...)
#define CUDA_TILES(...)
#define OPENCL_TILES(...)
#define CUDA_BATCHES(...)
#include "../kernels/kernels.def"
cpu_hook cpu_tiles_enter, cpu_tiles_leave;
/* What makes a C of another type than the sums: of i32 in three types, of f32 in those of 2 bytes. And what computes
 * the values of an epilogue, which makes any. */
#define EACH_FINISH_I32(row)      EACH_LEVEL(row, f32, i32) EACH_LEVEL(row, i8, i32) EACH_LEVEL(row, u8, i32)
#define FINISH_NAME(c, isa, sums) cpu_finish cpu_##sums##_finish_##isa##_##c;
EACH_FINISH_I32(FINISH_NAME)
#define EACH_VALUES(row) EACH_LEVEL(row, values, f32) EACH_LEVEL(row, values, f64) EACH_LEVEL(row, values, i32)
EACH_VALUES(FINISH_NAME)
#define HALF(id, name, ...) EACH_LEVEL(FINISH_NAME, name, f32)
#include "../data/halves.def"

/* The fields of a row, see kernels.def. */
#define BLOCK(edge)               TILE(edge, edge, edge), .lab.default_tile = (edge) > 1 ? (edge) : 0
#define THREADED                  .threaded = true
#define TILE(m, n, k)             .lab.tile_m = m, .lab.tile_n = n, .lab.tile_k = k
#define EDGE(edge)                .lab.default_tile = edge
#define FORMERLY(name)            .lab.formerly = #name
#define FORMERLY_HALF(type, name) .lab.formerly = BYTES_##type == 2 ? #name : NULL
#define FLUSHES(what)             ((what) == CPU_PAIRS || (what) == CPU_TILE_PAIRS)
#define LAYOUT(what)              .layout = CPU_##what, .lab.flushes = FLUSHES(CPU_##what)
#define THREADS(x)                .gpu.threads_x = x, .gpu.threads_y = 1
#define DEFINES(text)             .gpu.defines = " " #text
#define STAGES(count)             .gpu.stages = count
#define LOCAL_BYTES(bytes)        .lab.local_bytes = bytes, .gpu.static_bytes = bytes
#define DYNAMIC_BYTES(bytes)      .lab.local_bytes = bytes, .gpu.dynamic_bytes = bytes
#define SM(version)               .lab.needs = "sm_" #version, .gpu.sm = version
#define ANY_DEVICE                .lab.needs = "any"
#define BOXES(a_rows, a_cols, b_rows, b_cols)                                                                          \
    .gpu.a_box_rows = a_rows, .gpu.a_box_cols = a_cols, .gpu.b_box_rows = b_rows, .gpu.b_box_cols = b_cols
#define C_BOX(rows, cols)  .gpu.c_box_rows = rows, .gpu.c_box_cols = cols
#define CLUSTER_OF(blocks) .gpu.cluster_blocks = blocks
#define BLOCKS(count)      .gpu.blocks_each = count
#define LANES(count)       .gpu.lanes = count
#define SLICES(count)      .gpu.slices = count
#define SPEED(percent)     .gpu.speed = percent
#define FILLS(percent)     .gpu.fills = percent
#define ADDS(name)         .gpu.adds = #name
#define FAMILY(name)       .gpu.family = FAMILY_##name, .lab.production = 1
#define READS(order, how)                                                                                              \
    .gpu.reads = READS_##order, .gpu.loads = (how), .lab.transposes = READS_##order != READS_NN || ((how)&PACKED) != 0
#define STORES(what) .gpu.stores = STORES_##what
#define TRAITS(set)  .gpu.traits = (set), .lab.skinny = ((set) & (GPU_SKINNY)) != 0
#define CLUSTERS     .gpu.clusters = true
#define DEEP         .lab.deep = 1
#define EMULATES     .lab.emulates = 1
#define REST(name)   .gpu.rest = #name
#define IDEA(text)   .lab.idea = text
#define SOURCE(text) .lab.source = text

/* The code of a type, and bytes of an element and of a sum, for what the rows compute. */
enum {
#define DTYPE(id, name, bytes, ...) ID_##name = TW_##id, BYTES_##name = (bytes), BYTES_##id = (bytes),
#include "../data/dtypes.def"
#undef DTYPE
};
enum {
#define DTYPE(id, name, bytes, class, result, ...) SUM_BYTES_##name = BYTES_##result,
#include "../data/dtypes.def"
#undef DTYPE
};
#define LAB(owner, type, label, step, text)                                                                            \
    .lab.name = label, .lab.engine = owner, .lab.rung = step, .lab.dtype = (tw_dtype)ID_##type, .lab.file = text

#define RUNG_ROW(type, step, function, isa, ...)                                                                       \
    {LAB("cpu", type, #function, #step, "cpu/ladder/" #step ".c"),                                                     \
     .lab.needs = #isa,                                                                                                \
     .lab.transposes = 1,                                                                                              \
     .features = CPU_##isa,                                                                                            \
     .whole = function,                                                                                                \
     __VA_ARGS__},
#define CPU_RUNG(step, ...)                                                                                            \
    RUNG_ROW(f32, step, cpu_f32_##step, base, __VA_ARGS__)                                                             \
    RUNG_ROW(f64, step, cpu_f64_##step, base, __VA_ARGS__)
#define WIDE_ROW(type, isa, step, ...) RUNG_ROW(type, step, cpu_##type##_##step##_##isa, isa, __VA_ARGS__)
#define CPU_WIDE(...)                  EACH_LEVEL(WIDE_ROW, f32, __VA_ARGS__) EACH_LEVEL(WIDE_ROW, f64, __VA_ARGS__)
#define CPU_PRODUCTION(type, micros, step, isa, label, text, ...)                                                      \
    LAB("cpu", type, label, #step, text), .lab.needs = #isa, .lab.production = 1, .lab.transposes = 1,                 \
                                          .features = CPU_##isa, .probe = cpu_##micros##_probe_##isa, __VA_ARGS__
#define CPU_TILES(...) EACH(TILE_ROW, __VA_ARGS__)
#define TILE_ROW(type, micros, isa, mr, nr, kc, ...)                                                                   \
    {CPU_PRODUCTION(type, micros, gemm_simd, isa, "cpu_" #type "_gemm_simd_" #isa "_" #mr "x" #nr, "cpu/gemm_simd.c",  \
                    TILE(mr, nr, kc), .lab.family = 1, OF_##type(type, micros, isa, isa##_##mr##x##nr), __VA_ARGS__)},
#define CPU_MATRIX(...) EACH(MATRIX_ROW, __VA_ARGS__)
#define MATRIX_ROW(type, micros, mr, nr, kc, ...)                                                                      \
    {CPU_PRODUCTION(type, micros, r13_matrix, amx, "cpu_" #type "_r13_matrix_amx", "cpu/ladder/r13_matrix.c",          \
                    TILE(mr, nr, kc), .micro = cpu_##micros##_r13_matrix_amx, .enter = cpu_tiles_enter,                \
                    .leave = cpu_tiles_leave, .gemv = cpu_##micros##_gemv_tiles_amx, __VA_ARGS__)},
/* The micro-kernel and what stands beside it in files of their own: OF_<type> of kernels.def. */
#define MICRO(type, isa_tile)                   .micro = cpu_##type##_gemm_simd_##isa_tile
#define UNPACKED(type, isa_tile)                .unpacked = cpu_##type##_gemm_simd_##isa_tile##_unpacked
#define GEMV(type, isa)                         .gemv = cpu_##type##_gemv_simd_##isa
#define INTEGER_OF(type, micros, isa, isa_tile) MICRO(type, isa_tile), UNPACKED(type, isa_tile), GEMV(type, isa)
#define REAL_OF(type, micros, isa, isa_tile)                                                                           \
    FORMERLY(r14_peak), INTEGER_OF(type, micros, isa, isa_tile),                                                       \
        .triangle = cpu_##type##_triangle_simd_##isa, .triangle_pack = cpu_##type##_triangle_simd_##isa##_pack,        \
        .reader = cpu_##type##_reader_##isa
#define COMPLEX_OF(type, micros, isa, isa_tile) MICRO(type, isa_tile), UNPACKED(type, isa_tile)
#define CONVERTED_OF(type, micros, isa, isa_tile)                                                                      \
    MICRO(micros, isa_tile), GEMV(type, isa), .widen = cpu_##type##_convert_##isa##_widen
#define WORDS_OF(type, micros, isa, isa_tile)      MICRO(micros, isa_tile)
#define PEAK_WORDS_OF(type, micros, isa, isa_tile) FORMERLY(r14_peak), MICRO(micros, isa_tile)

#define GPU_ROW(owner, type, step, text, ...)                                                                          \
    {LAB(#owner, type, #owner "_" #type "_" #step, #step, #owner "/" text), __VA_ARGS__},
#define GPU_RUNG(step, ...)                                                                                            \
    GPU_ROW(opencl, f32, step, "ladder/" #step ".cl", ANY_DEVICE, .gpu.entry = #step, __VA_ARGS__)                     \
    GPU_ROW(cuda, f32, step, "ladder/" #step ".cu", ANY_DEVICE, .gpu.entry = #step, __VA_ARGS__)
#define CUDA_RUNGS(...)            EACH(CUDA_RUNG, __VA_ARGS__)
#define CUDA_RUNG(type, step, ...) GPU_ROW(cuda, type, step, "ladder/" #step ".cu", .gpu.entry = #step, __VA_ARGS__)
/* of: what the tiles of the family have in common */
#define FAMILY_ROW(owner, of, ending, type, file, m, n, k, stages, threads, ...)                                       \
    GPU_ROW(owner, type, file##_##m##x##n, #file ending, .lab.family = 1, .gpu.entry = #file, STAGES(stages),          \
            THREADS(threads), of(type, m, n, k, stages, threads), __VA_ARGS__)
#define CUDA_TILE(type, file, ...)   FAMILY_ROW(cuda, CUDA_##file, ".cu", type, file, __VA_ARGS__)
#define CUDA_TILES(...)              EACH(CUDA_TILE, __VA_ARGS__)
#define OPENCL_TILES(...)            EACH(OPENCL_TILE, __VA_ARGS__)
#define OPENCL_TILE(type, file, ...) FAMILY_ROW(opencl, OPENCL_##file, ".cl", type, file, __VA_ARGS__)
#define CUDA_BATCHES(...)
static const kernel_row kernels[] = {
#include "../kernels/kernels.def"
};

#define CPU_RUNG(...)
#define CPU_WIDE(...)
#define CPU_TILES(...)
#define CPU_MATRIX(...)
#define GPU_RUNG(...)
#define CUDA_RUNGS(...)
#define CUDA_TILES(...)
#define OPENCL_TILES(...)
#define CUDA_BATCHES(...)                    EACH(CUDA_BATCH, __VA_ARGS__)
#define CUDA_BATCH(type, file, m, n, k, ...) CUDA_TILE(type, file, m, n, k, __VA_ARGS__, EDGE(m))
static const kernel_row batches[] = {
#include "../kernels/kernels.def"
};

const kernel_row *kernel_batch_at(int index)
{
    return index >= 0 && index < (int)(sizeof batches / sizeof *batches) ? &batches[index] : NULL;
}

int kernel_count(void) { return (int)(sizeof kernels / sizeof *kernels); }

const kernel_row *kernel_at(int index) { return index >= 0 && index < kernel_count() ? &kernels[index] : NULL; }

int kernel_index(const kernel_row *row)
{
    const uintptr_t bytes = (uintptr_t)row - (uintptr_t)kernels; /* of a row elsewhere more than the table has */
    return bytes < sizeof kernels ? (int)(bytes / sizeof *kernels) : kernel_count();
}

/* Is `name` the row's with `rung` in place of its rung, or of a CPU family without the tile at its end, which its name
 * lacked formerly? */
static bool was_named(const tw_lab_kernel *k, const char *rung, const char *name)
{
    char tile[32] = "";
    if (k->family && strcmp(k->engine, "cpu") == 0) snprintf(tile, sizeof tile, "_%dx%d", k->tile_m, k->tile_n);
    const char *at = strstr(k->name, k->rung), *after = at + strlen(k->rung);
    const size_t before = (size_t)(at - k->name), length = strlen(rung), rest = strlen(after) - strlen(tile);
    if (strncmp(name, k->name, before) != 0 || strncmp(name + before, rung, length) != 0) return false;
    name += before + length;
    return strcmp(name, after) == 0 || (strncmp(name, after, rest) == 0 && name[rest] == '\0');
}

const kernel_row *kernel_named(const char *name)
{
    const kernel_row *found = NULL;
    for (const kernel_row *row = kernels; row < kernels + kernel_count(); row++)
        if (strcmp(row->lab.name, name) == 0) return row;
    for (const kernel_row *row = kernels; row < kernels + kernel_count(); row++) {
        const tw_lab_kernel *k = &row->lab;
        if (was_named(k, k->rung, name) || (k->formerly != NULL && was_named(k, k->formerly, name))) found = row;
    }
    return found; /* of several tiles the last, which the planner takes */
}

bool kernel_needs_more(const kernel_row *one, const kernel_row *other)
{
    return __builtin_popcount(one->features) > __builtin_popcount(other->features);
}

const kernel_row *kernel_probed(tw_dtype dtype, cpu_features has)
{
    const kernel_row *best = NULL;
    for (const kernel_row *row = kernels; row < kernels + kernel_count(); row++)
        if (row->probe != NULL && row->lab.dtype == dtype && cpu_has(has, row->features) &&
            (best == NULL || kernel_needs_more(row, best)))
            best = row;
    return best;
}

/* Types of C beside that of the sums, 0 for an epilogue's values, of each instruction set from the lowest on. */
enum { ID_values };
#define FINISH_ROW(c, isa, sums) {(tw_dtype)ID_##sums, (tw_dtype)ID_##c, CPU_##isa, cpu_##sums##_finish_##isa##_##c},
static const struct {
    tw_dtype sums, c;
    cpu_features features;
    cpu_finish *finish;
} finishes[] = {EACH_FINISH_I32(FINISH_ROW) EACH_VALUES(FINISH_ROW)
#define HALF(id, name, ...) EACH_LEVEL(FINISH_ROW, name, f32)
#include "../data/halves.def"
};

cpu_finish *kernel_finish(const kernel_row *row, const tw_problem *p)
{
    const tw_dtype sums = dtype_find(row->lab.dtype)->result, c = p->epilogue != NULL ? ID_values : p->dtype_c;
    cpu_finish *best = NULL;
    if (row->micro == NULL || c == sums) return NULL;
    for (size_t i = 0; i < sizeof finishes / sizeof *finishes; i++)
        if (finishes[i].sums == sums && finishes[i].c == c && cpu_has(row->features, finishes[i].features))
            best = finishes[i].finish;
    return best;
}

void kernel_options(const kernel_row *row, char *text, size_t bytes)
{
    const gpu_kernel *g = &row->gpu;
    if (g->traits & GPU_SQUARE) return;
    int used = snprintf(
        text, bytes,
        " -DROW_M=%d -DROW_N=%d -DROW_K=%d -DROW_THREADS=%d -DROW_STAGES=%d -DROW_BLOCKS=%d -DROW_BYTES=%d%s",
        (int)row->lab.tile_m, (int)row->lab.tile_n, (int)row->lab.tile_k, g->threads_x, g->stages, g->blocks_each,
        g->dynamic_bytes, g->defines != NULL ? g->defines : "");
    if (g->slices > 0) snprintf(text + used, bytes - (size_t)used, " -DROW_SLICES=%d", g->slices);
    if (g->family == FAMILY_PANELS) snprintf(text + used, bytes - (size_t)used, " -DROW_LANES=%d", g->lanes);
    if (kernel_by_tma(row))
        used += snprintf(text + used, bytes - (size_t)used, " -DROW_BOXES=%d,%d,%d,%d", g->a_box_rows, g->a_box_cols,
                         g->b_box_rows, g->b_box_cols);
    if (g->cluster_blocks > 0)
        used += snprintf(text + used, bytes - (size_t)used, " -DROW_CLUSTER=%d", g->cluster_blocks);
    if (g->c_box_rows > 0)
        snprintf(text + used, bytes - (size_t)used, " -DROW_C_BOX=%d,%d", g->c_box_rows, g->c_box_cols);
}

int tw_lab_kernel_count(void) { return kernel_count(); }

const tw_lab_kernel *tw_lab_kernel_named(const char *name)
{
    const kernel_row *row = name != NULL ? kernel_named(name) : NULL;
    return row != NULL ? &row->lab : NULL;
}

const tw_lab_kernel *tw_lab_kernel_at(int index)
{
    const kernel_row *row = kernel_at(index);
    return row ? &row->lab : NULL;
}

/* The lengths that GPU kernels index with 32 bits, with room for a tile beyond. */
enum { GPU_LONGEST = INT32_MAX - 1024 };
static const int64_t MOST_MAP_STRIDE = (int64_t)1 << 40; /* CUDA driver API, cuTensorMapEncodeTiled */

static bool rows_of_16(uint32_t align, int64_t ld, int bytes) { return align >= 16 && ld % (16 / bytes) == 0; }

static bool aligned_16(const tw_problem *p, int bytes)
{
    return rows_of_16(p->align_a, p->lda, bytes) && rows_of_16(p->align_b, p->ldb, bytes);
}

int kernel_sum_bytes(const kernel_row *row) { return row->lab.dtype == TW_F64 ? 8 : 4; }

bool kernel_is_wide(const kernel_row *row, const tw_problem *problem)
{
    bool packs = row->gpu.loads & PACKED;
    int c_bytes = dtype_find(problem->dtype_c)->lab.bytes;
    return (row->gpu.traits & GPU_WIDE) != 0 && rows_of_16(problem->align_c, problem->ldc, c_bytes) &&
           problem->ldc < MOST_MAP_STRIDE / c_bytes &&
           (packs || aligned_16(problem, dtype_find(problem->dtype)->lab.bytes));
}

/* What split.cu makes of an operand of which so many lines lie along k; later its place holds the operand packed, of
 * k rows. */
static packing halves_of(int64_t lines, int64_t k)
{
    const int64_t whole = round_up(lines, EMULATED_EDGE), cols = 2 * round_up(k, HALVES_STEP),
                  exponents = round_up(max_i64(lines * cols * 2, k * round_up(lines, 4) * 4), 256),
                  counts = exponents + whole * 4, left = counts + whole / COUNTED_LINES * LINE_COUNTS_BYTES;
    if (k == 0) return (packing){.rows = lines};
    return (packing){.needed = true,
                     .rows = lines,
                     .cols = cols,
                     .ld = cols,
                     .bytes = round_up(left + 4, 256),
                     .exponents = exponents,
                     .counts = counts,
                     .left = left};
}

/* stored_rows x stored_cols is what the caller has, exchanged what the row reads where it reads the other form. */
static packing packing_of(const kernel_row *row, const tw_problem *p, bool transposes, int64_t stored_rows,
                          int64_t stored_cols, uint32_t align, int64_t ld)
{
    int64_t bytes = dtype_find(p->dtype)->lab.bytes;
    packing made = {.transposes = transposes,
                    .rows = transposes ? stored_cols : stored_rows,
                    .cols = transposes ? stored_rows : stored_cols,
                    .ld = ld};
    made.needed = (row->gpu.loads & PACKED) != 0 && p->k > 0 &&
                  (transposes || !rows_of_16(align, ld, (int)bytes) || ld >= MOST_MAP_STRIDE / bytes);
    if (!made.needed) return made;
    /* rows of whole lines come faster than of whole 16 bytes */
    made.ld = round_up(made.cols, (row->gpu.reads == READS_ANY || kernel_reads_along_k(row) ? 128 : 16) / bytes);
    made.bytes = round_up(made.rows * made.ld * bytes, 256);
    return made;
}

static bool transposes_some(const kernel_row *row) { return (row->gpu.loads & PACKED) && row->gpu.reads != READS_ANY; }

bool kernel_takes_ops(const kernel_row *row, const tw_problem *p)
{
    if ((row->gpu.loads & PACKED) || row->gpu.reads == READS_ANY) return true;
    return op_transposes(p->op_a) == (row->gpu.reads == READS_TN) &&
           op_transposes(p->op_b) == kernel_reads_along_k(row);
}

bool kernel_reads_across(const kernel_row *row, const tw_problem *p, int operand)
{
    const int along_n = p->m <= p->n; /* B is the longer one */
    return row->gpu.reads == READS_NT_LONG && operand == along_n && (along_n ? p->op_b == TW_N : p->op_a == TW_T);
}

packing kernel_packing_a(const kernel_row *row, const tw_problem *p)
{
    if (row->lab.emulates) return halves_of(p->m, p->k);
    bool transposes = transposes_some(row) && !kernel_reads_across(row, p, 0) &&
                      p->op_a == (row->gpu.reads == READS_TN ? TW_N : TW_T);
    return packing_of(row, p, transposes, problem_a_rows(p), problem_a_cols(p), p->align_a, p->lda);
}

packing kernel_packing_b(const kernel_row *row, const tw_problem *p)
{
    if (row->lab.emulates) return halves_of(p->n, p->k);
    bool transposes = transposes_some(row) && !kernel_reads_across(row, p, 1) &&
                      p->op_b == (kernel_reads_along_k(row) ? TW_N : TW_T);
    return packing_of(row, p, transposes, problem_b_rows(p), problem_b_cols(p), p->align_b, p->ldb);
}

/* From the first byte to the last of an operand that problem_load() has found addressable. */
static int64_t span_bytes(int64_t rows, int64_t cols, int64_t ld, int bytes)
{
    return rows > 0 && cols > 0 ? ((rows - 1) * ld + cols) * bytes : 0;
}

int kernel_tile(const kernel_row *row, const tw_problem *problem, int forced_tile)
{
    if ((row->gpu.traits & GPU_SKINNY) && (problem->k == 16 || problem->k == 32)) return (int)problem->k;
    return forced_tile > 0 ? forced_tile : row->lab.default_tile;
}

uint32_t kernel_form(const kernel_row *row, const tw_problem *p, int64_t items)
{
    enum { DTYPE_BITS = 8, BATCH = 1 << 20 };
    const uint32_t types = (uint32_t)(p->dtype_b != 0 ? p->dtype_b : p->dtype) << DTYPE_BITS | (uint32_t)p->dtype_c;
    return types << 4 | (uint32_t)op_transposes(p->op_a) << 3 | (uint32_t)op_transposes(p->op_b) << 2 |
           (uint32_t)kernel_is_wide(row, p) << 1 | (p->place_c == TW_DEVICE) | (items > 1 ? BATCH : 0);
}

const kernel_verdict *kernel_verdict_of(const kernel_verdict *list, const kernel_row *row, const tw_problem *problem,
                                        int64_t items)
{
    if (list == NULL) return NULL;
    const uint32_t form = kernel_form(row, problem, items);
    while (list != NULL && (list->row != row || list->form != form)) list = list->next;
    return list;
}

static bool gpu_fits(const kernel_row *row, const tw_problem *p, const device_facts *device, int forced_tile,
                     char *reason, size_t size)
{
    const gpu_kernel *g = &row->gpu;
    /* before anything is multiplied with them */
    if (p->m > GPU_LONGEST || p->n > GPU_LONGEST || p->k > GPU_LONGEST) {
        snprintf(reason, size, "it takes m, n and k up to %d, the problem has %lld, %lld, %lld", (int)GPU_LONGEST,
                 (long long)p->m, (long long)p->n, (long long)p->k);
        return false;
    }
    int bytes = dtype_find(p->dtype)->lab.bytes, c_bytes = dtype_find(p->dtype_c)->lab.bytes;
    bool square = g->traits & GPU_SQUARE, maps = g->loads == TMA;
    int64_t tile = kernel_tile(row, p, forced_tile), threads = square ? tile * tile : g->threads_x * g->threads_y;
    int64_t local = square ? g->static_bytes * tile * tile / (32 * 32) : g->static_bytes + g->dynamic_bytes,
            largest = span_bytes(problem_a_rows(p), problem_a_cols(p), p->lda, bytes);
    int64_t b_span = span_bytes(problem_b_rows(p), problem_b_cols(p), p->ldb, bytes),
            c_span = span_bytes(p->m, p->n, p->ldc, c_bytes);
    int64_t packed = kernel_packing_a(row, p).bytes + kernel_packing_b(row, p).bytes;
    if (b_span > largest) largest = b_span;
    if (c_span > largest) largest = c_span;
    const kernel_verdict *verdict = kernel_verdict_of(device->verdicts, row, p, device->items);
    if (g->sm > device->sm || ((g->traits & GPU_THIS_SM) && g->sm != device->sm))
        snprintf(reason, size,
                 device->sm > 0 ? "it needs sm_%d%s, kernels here are for sm_%d"
                                : "it needs sm_%d%s, whose instructions OpenCL C may not hold on this device",
                 g->sm, g->traits & GPU_THIS_SM ? " and no other" : "", device->sm);
    else if (kernel_in_place(row) && device->tiles)
        snprintf(reason, size, "it packs nothing, and other tiles of the product may read packed panels");
    else if (row->lab.emulates && device->tiles)
        snprintf(reason, size, "it splits operands, and other tiles of the product may read packed panels");
    else if (row->lab.emulates && p->k > GPU_LONGEST / 2)
        snprintf(reason, size, "it takes k up to %d, the problem's is %lld", (int)(GPU_LONGEST / 2), (long long)p->k);
    else if (row->lab.emulates && p->k > 0 && p->k < EMULATED_LEAST_K)
        snprintf(reason, size, "its error is within the bound where k is at least %d, the problem's is %lld",
                 (int)EMULATED_LEAST_K, (long long)p->k);
    else if (g->reads == READS_NT_LONG && device->tiles)
        snprintf(reason, size, "whether it packs an operand depends on the tile's shape");
    else if ((g->traits & GPU_GEMV) && (row->lab.tile_m == 1 ? p->m : p->n) > 1)
        snprintf(reason, size, "it computes one %s of C, the problem has %lld", row->lab.tile_m == 1 ? "row" : "column",
                 (long long)(row->lab.tile_m == 1 ? p->m : p->n));
    else if (g->family == FAMILY_PANELS && device->vector_bytes == 0)
        snprintf(reason, size, "it is made for OpenCL devices that are processors, which this one is not");
    else if (g->family == FAMILY_PANELS && device->no_workspace)
        snprintf(reason, size, "it wants a workspace to pack A and B into, and has none");
    else if (row->lab.dtype == TW_F64 && device->no_doubles)
        snprintf(reason, size, "it needs numbers of double precision, which this device has not");
    else if (kernel_by_tma(row) && !device->tensor_maps)
        snprintf(reason, size,
                 "it needs tensor maps: the driver and NVRTC of CUDA 12 or later, which know sm_90, are not both here");
    else if (!kernel_takes_ops(row, p) && kernel_reads_along_k(row))
        snprintf(reason, size, "it reads A and B along k, the problem has %s across k",
                 p->op_a == TW_N   ? "B"
                 : p->op_b == TW_T ? "A"
                                   : "both");
    else if (maps && p->k > 0 && !aligned_16(p, bytes))
        snprintf(reason, size,
                 "TMA needs addresses and rows of A and B in multiples of 16 bytes, here lda is %lld and "
                 "ldb %lld, a is aligned to %u and b to %u bytes",
                 (long long)p->lda, (long long)p->ldb, p->align_a, p->align_b);
    else if (maps && (p->lda >= MOST_MAP_STRIDE / bytes || p->ldb >= MOST_MAP_STRIDE / bytes))
        snprintf(reason, size, "TMA takes rows less than 2^40 bytes apart, here lda is %lld and ldb %lld",
                 (long long)p->lda, (long long)p->ldb);
    else if (!kernel_takes_ops(row, p))
        snprintf(reason, size, "it reads A and B as stored, the problem transposes %s",
                 p->op_a == TW_N   ? "B"
                 : p->op_b == TW_N ? "A"
                                   : "both");
    else if ((g->traits & GPU_TRANSPOSES_B) && p->op_b == TW_N && p->place_b == TW_DEVICE)
        snprintf(reason, size, "it wants B transposed on the host, here B is in device memory");
    else if ((g->traits & GPU_SKINNY) && p->m > 0 && p->n > 0 && p->k != 16 && p->k != 32)
        snprintf(reason, size, "it multiplies m x 16 by 16 x n, or 32, the problem's k is %lld", (long long)p->k);
    else if (device->no_workspace && packed > 0)
        snprintf(reason, size, "it wants %lld bytes of workspace to pack %s into, and has none", (long long)packed,
                 !kernel_packing_b(row, p).needed  ? "A"
                 : kernel_packing_a(row, p).needed ? "A and B"
                                                   : "B");
    else if (local > device->local_bytes)
        snprintf(reason, size, "it needs %lld bytes of local memory, this device has %lld", (long long)local,
                 (long long)device->local_bytes);
    else if (threads > device->most_threads)
        snprintf(reason, size, "its blocks have %lld threads, this device takes %d", (long long)threads,
                 device->most_threads);
    else if (largest > device->largest_bytes)
        snprintf(reason, size, "an operand of %lld bytes is larger than this device's %lld", (long long)largest,
                 (long long)device->largest_bytes);
    else if (verdict != NULL && !verdict->passed)
        snprintf(reason, size, "it failed its self-test: %s", verdict->text);
    else
        return true;
    return false;
}

/* GPUs give integers' C in i32 alone. */
static bool gives_c(const kernel_row *row, const tw_problem *p)
{
    if (!problem_converts_c(p)) return true;
    return dtype_gives(p->dtype, p->dtype_c) &&
           ((row->gpu.stores == STORES_ANY && !dtype_is_integer(p->dtype)) || kernel_finish(row, p) != NULL);
}

/* Tiles of more sums on wgmma leave too few registers: their epilogues spill. */
enum { MOST_MADE = 128 * 128 };

static bool takes_epilogue(const kernel_row *row, const tw_problem *p)
{
    const gpu_kernel *g = &row->gpu;
    const bool spills = g->family == FAMILY_WGMMA && row->lab.tile_m * row->lab.tile_n > MOST_MADE;
    if (g->entry == NULL) return kernel_finish(row, p) != NULL;
    return g->family != FAMILY_NONE && g->family != FAMILY_BATCH && (g->traits & GPU_OWN_STORE) == 0 && !spills;
}

/* Does the row give each row of C its bits whatever is computed beside it, if that is wanted? Tiles of fp8 round in two
 * ways. */
static bool fits_order(const kernel_row *row, const tw_problem *problem, char *reason, size_t reason_bytes)
{
    const bool chain = (row->gpu.traits & GPU_CHAIN) != 0 && strcmp(row->lab.engine, "cuda") == 0,
               keeps = row->micro != NULL || (chain && dtype_find(row->lab.dtype)->lab.bytes > 1);
    if (keeps || !problem_keeps_order(problem)) return true;
    snprintf(reason, reason_bytes, "TW_INVARIANT: the bits of its rows depend on what is computed beside them");
    return false;
}

bool kernel_fits(const kernel_row *row, const tw_problem *problem, const device_facts *device, int forced_tile,
                 char *reason, size_t reason_bytes)
{
    char unused[1];
    if (reason == NULL) reason = unused, reason_bytes = sizeof unused;
    reason[0] = '\0';
    if (strcmp(row->lab.engine, device->engine) != 0)
        snprintf(reason, reason_bytes, "it runs on the %s engine, this device is the %s engine's", row->lab.engine,
                 device->engine);
    else if (row->lab.dtype != problem->dtype)
        snprintf(reason, reason_bytes, "it multiplies %s, the problem is %s", dtype_find(row->lab.dtype)->lab.name,
                 dtype_find(problem->dtype)->lab.name);
    else if (problem->dtype_b != 0 && problem->dtype_b != problem->dtype && row->gpu.entry == NULL &&
             !cpu_layout_bytes(row->layout))
        snprintf(reason, reason_bytes, "it multiplies %s by the same, the problem's B is %s",
                 dtype_find(row->lab.dtype)->lab.name, dtype_find(problem->dtype_b)->lab.name);
    else if (!gives_c(row, problem))
        snprintf(reason, reason_bytes, "it gives C in %s, the problem wants %s",
                 dtype_find(dtype_find(problem->dtype)->result)->lab.name, dtype_find(problem->dtype_c)->lab.name);
    else if (problem->epilogue != NULL && !takes_epilogue(row, problem))
        snprintf(reason, reason_bytes, "it takes no epilogue");
    else if (problem->epilogue != NULL && device->rounds_loosely)
        snprintf(reason, reason_bytes, "it takes no epilogue here: the device's quotients are not the nearest numbers");
    else if (problem_b_is_packed(problem) && row->micro == NULL)
        snprintf(reason, reason_bytes, "TW_PACKED_B: it reads B as it lies");
    else if (problem_triangle(problem) != 0 && (row->micro == NULL || row->layout != CPU_PLAIN))
        snprintf(reason, reason_bytes, "it computes all of C, the problem wants a triangle");
    else if (problem->place_c == TW_DEVICE && !device->addresses)
        snprintf(reason, reason_bytes,
                 "the operands are in device memory, the %s engine takes them from the host's only", device->engine);
    else if (!cpu_has(device->features, row->features))
        snprintf(reason, reason_bytes, "it needs %s instructions, this device has %s", row->lab.needs,
                 cpu_set_name(device->features));
    else
        return (row->gpu.entry == NULL || gpu_fits(row, problem, device, forced_tile, reason, reason_bytes)) &&
               fits_order(row, problem, reason, reason_bytes);
    return false;
}
