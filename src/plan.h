/* plan.h - how one problem will be computed, as a plain value: a pure function of the problem, the device's facts and
 * the caller's forced choice. */
#ifndef TILEWRIGHT_PLAN_H
#define TILEWRIGHT_PLAN_H

#include "problem.h"
#include "table.h"

enum { PLAN_OPTIONS_BYTES = 352, REST_OPTIONS_BYTES = 224 };

enum { MOST_THREADS = 4096 }; /* most threads that a caller, a variable or an option may ask for */

/* Most tiles of a batch in one launch: a block steps beyond the last tile by up to as many again, in 32 bits. */
enum { BATCH_MOST_TILES = 1 << 30 };

/* How blocks divide k. FAMILY_STREAM_K: `whole` blocks compute a tile each, `count` a run of `length` steps of tile_k,
 * of a residue three times as many. FAMILY_SWAP_AB: `splits` blocks have `length` steps of each tile, the last what is
 * left; splits = 0: stream-K, `length` steps of all tiles laid end to end, as of
 * GPU_EVEN_K rungs. A second kernel adds: `splits` blocks share
 * each tile; of kernel_by_add() rows `count` parts of `length` steps are computed, `splits` of each tile. */
typedef struct k_split {
    int64_t whole, count, length;
    int64_t bytes; /* of partial sums and flags, a multiple of 256 */
    int64_t splits;
    /* FAMILY_SLICED_K: cluster reduction through distributed shared memory, not the workspace. FAMILY_SPLITS: the sums
     * of each cluster are added so, then those of a tile's clusters through the workspace */
    bool by_cluster;
} k_split;

/* How a CPU computes a product by a production kernel; a rung's is empty. */
typedef struct cpu_plan {
    /* The five loops: C is computed in macro-blocks of macro_m x macro_n, whose operands are packed kc deep; a task is
     * task_m x task_n of one. All but kc, and tasks of an unpacked plan, are multiples of the micro-tile. */
    int64_t macro_m, macro_n, kc, task_m, task_n;
    /* small_m: a task computes this many steps of k at a time over all of its part of C; else kc */
    int64_t k_step;
    bool direct_a, direct_b; /* read in place, not packed into panels that threads share */
    bool by_columns;         /* a transposed B is read in place, a column at a time: where memory is short */
    /* C has few rows: all of them use k_step rows of some columns of B while these are in the cache. copy_n > 0: each
     * thread copies them first, so many columns at a time, into copy_bytes of its own */
    bool small_m;
    int64_t copy_n;
    /* GEMV: C is one row or one column; a task computes task_m x task_n of it over the whole of k */
    bool gemv;
    /* several threads pack the next panel while this one is computed, into a second buffer */
    bool packs_ahead;
    bool unpacked;               /* one panel, and each task is a product for the row's unpacked() */
    cpu_unpacked unpacked_shape; /* if unpacked: of the whole product */
    /* of the workspace, each rounded up to 64 bytes; total_bytes: of the sums of the chunks before; copy_bytes: of each
     * thread */
    size_t a_bytes, b_bytes, sum_bytes, total_bytes, copy_bytes;
    int64_t chunk; /* k is cut at its multiples, then every kc: a chunk's sum begins at 0 (CPU_CHUNK_BYTES) */
    /* Tasks are share_m x share_n elements of a chunk's sums, each a product of its own on one thread, of which all
     * above tells; the chunks, chunk_bytes each in the workspace, are added afterwards. Of one chunk tasks are parts of
     * C itself. block_sets: threads that may compute shares at the same time. */
    bool divided;
    int64_t share_m, share_n;
    int64_t i0, j0; /* of such a part's plan: where it begins in C */
    int block_sets;
    size_t chunk_bytes;
    /* A batch: all threads compute one item after the other (together), or each takes tasks: items, or part_m rows of
     * items that are computed at once. An operand that all items share is packed once, as a whole, before the
     * workspaces of the threads. */
    bool together;
    int64_t part_m;
    size_t all_a_bytes, all_b_bytes, each_bytes;
} cpu_plan;

/* Whether a chunk of k begins at p0. Small products pay for no division. */
static inline bool cpu_begins_chunk(const cpu_plan *cpu, int64_t p0)
{
    return p0 == 0 || (p0 >= cpu->chunk && p0 % cpu->chunk == 0);
}

/* Steps of the panel of k that begins at p0, k of them in all, and how many panels there are before it. */
static inline int64_t cpu_panel_depth(const cpu_plan *cpu, int64_t k, int64_t p0)
{
    const int64_t end = k <= cpu->chunk ? k : min_i64(k, (p0 / cpu->chunk + 1) * cpu->chunk);
    return min_i64(cpu->kc, end - p0);
}
static inline int64_t cpu_panels_before(const cpu_plan *cpu, int64_t p0)
{
    return p0 / cpu->chunk * ceil_div(cpu->chunk, cpu->kc) + p0 % cpu->chunk / cpu->kc;
}

/* How kernels of real numbers compute a complex product on CUDA (kernels/cuda/complex.cu). */
typedef struct gpu_complex {
    complex_way way;
    /* leading dimensions: of the real matrices written of A and of B, 0: the operand is read as it lies; of the sums,
     * 0: they are in C */
    int64_t a_ld, b_ld, sums_ld;
    int64_t a_at, b_at, sums_at; /* where in the workspace they lie, in bytes */
    bool combines;               /* a pass behind makes C of the sums */
    int sums;                    /* SUMS_PAIRS and so on */
} gpu_complex;

/* A GPU launch: a grid of blocks of threads, each computing block_m x block_n, and the compiler's -D options. */
typedef struct gpu_plan {
    tw_problem problem; /* what the kernels compute: the plan's, of complex types the real product that stands for it */
    gpu_complex complex;
    int64_t grid_x, grid_y, block_m, block_n;
    bool one_launch; /* of a whole batch, of at most grid_x blocks; else items are launched one after the other */
    int64_t items;   /* OpenCL: one launch computes so many items of a batch, of panels by its groups in turns, else a
                      * grid for each; 0: one after the other */
    int64_t cut;     /* tiles of a batch that are computed in two parts, if it has half as many again */
    int threads_x, threads_y, dynamic_bytes; /* of a block: threads, shared (local) memory */
    bool transposes_b;                       /* B is transposed on the host before the upload */
    /* packed on the device before the kernel: B at the start of the workspace, A behind it, so that B stays in place
     * for panels of any height */
    packing pack_a, pack_b;
    bool few_rows;                    /* FAMILY_SWAP_AB, FAMILY_THIN: the shorter edge of C is m */
    k_split k_split;                  /* partial sums, behind both in the workspace */
    char options[PLAN_OPTIONS_BYTES]; /* for the compiler: the plan's own options, then those of its row */
    int own_options;                  /* bytes of the plan's own */
    tw_lab_source source;             /* the text to compile; text NULL: the file of that name in the library */
    /* FAMILY_EMULATED: the row that computes the tiles that are left, and the options for its text */
    const kernel_row *rest;
    char rest_options[REST_OPTIONS_BYTES];
} gpu_plan;

/* What the launches of a product on a GPU do, in their order: write complex operands as real ones; look at all of A and
 * B; copy what the kernel cannot read as it lies; compute the tiles of C, or partial sums; pack for and compute tiles
 * that were left; add the sums; make complex numbers of them. */
typedef enum launch_kind {
    LAUNCH_EXPAND,
    LAUNCH_SCAN,
    LAUNCH_PACK,
    LAUNCH_TILES,
    LAUNCH_PACK_REST,
    LAUNCH_REST,
    LAUNCH_ADD,
    LAUNCH_COMBINE,
    LAUNCH_KINDS
} launch_kind;

/* A kernel as it is compiled: its text and entry, options, bytes of dynamic shared memory. */
typedef struct kernel_text {
    tw_lab_source source;
    const char *options;
    int dynamic_bytes;
    const char *epilogue; /* what stands in front of its text: expression_text(); NULL: nothing */
} kernel_text;

/* A launch: its kernel, and blocks of threads. Passes over operands, which may be for one alone, and over C count their
 * blocks themselves. */
typedef struct gpu_launch {
    launch_kind kind;
    kernel_text kernel;
    int64_t grid_x, grid_y;
    int threads_x, threads_y;
} gpu_launch;

typedef struct plan {
    tw_problem problem;
    const kernel_row *row;
    int tile;      /* edge of the blocks, for rows that let it be chosen */
    int threads;   /* of the host */
    int woken;     /* of a production kernel of the CPU: how many of them pay where they have to be woken */
    bool in_place; /* the engine's compute() can run it: nothing packed, no workspace, real scalars */
    bool at_once;  /* so, and on one thread */
    /* of the CPU, where C is of another type than the sums or the problem has an epilogue; else NULL */
    cpu_finish *finish;
    size_t workspace_bytes;
    union { /* cpu where row->gpu.entry is NULL */
        cpu_plan cpu;
        gpu_plan gpu;
    };
} plan;

/* plan_find - choose kernel, blocks and threads. Returns TW_OK; TW_NO_KERNEL with the reason of the last row refused;
 * TW_BAD_ARGUMENT where a forced kernel does not exist or a forced number makes no sense. */
tw_status plan_find(const tw_problem *problem, const device_facts *device, const tw_lab_choice *choice, plan *out);

/* plan_find_batch - the same for a batch: the plan of one item, and how items are divided among threads. */
tw_status plan_find_batch(const tw_problem *problem, const tw_batch *batch, const device_facts *device, plan *out);

/* plan_one_launch - plan a batch as one launch of this row (kernel_batch_at), which fits. */
void plan_one_launch(const tw_problem *problem, const device_facts *device, const kernel_row *row, plan *out);

/* plan_recall - the last plan of this thread, if it computes in place and was made for this context and for this
 * problem, whatever alpha; and beta, but that C is read or not where it says so (several threads, a C that is computed
 * transposed); else NULL. The pointers of the caller are still to be checked. */
const plan *plan_recall(const tw_problem *user, uint64_t context);

/* plan_reason - the cost model's estimate for each production row that fits, where it decides between them: "cycles
 * expected: sgemm_slicedk_sm80_64x32 19000, ...". Else empty. */
void plan_reason(const tw_problem *problem, const device_facts *device, char *text, size_t bytes);
/* plan_shrink - makes a plan need less workspace, for when there is no memory: the same product of a CPU production
 * kernel in smaller blocks; then, where B can be read in place, in none: the same bits. False: a plan of another
 * kernel, without a workspace, or with the smallest blocks. */
bool plan_shrink(plan *plan);

/* cpu_panel_bytes - of one panel of A or of B as long as the operand, packed. cpu_whole_bytes - of all of them. */
size_t cpu_panel_bytes(const plan *plan, bool of_a);
size_t cpu_whole_bytes(const plan *plan, bool of_a);

/* plan_launches - the launches of a plan of a GPU, each kind at most once; returns how many. Their options are the
 * plan's. */
int plan_launches(const plan *plan, gpu_launch launches[LAUNCH_KINDS]);

/* plan_of_rest - of a plan with a rest: how that is computed, whole tiles from operands packed in the others' place. */
void plan_of_rest(const plan *of, plan *rest);

/* plan_text - the plan as one line. */
void plan_text(const plan *plan, char *text, size_t bytes);

#endif
