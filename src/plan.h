/* plan.h - how one problem will be computed, as a plain value: a pure function of the problem, the device's facts and
 * the caller's forced choice. */
#ifndef TILEWRIGHT_PLAN_H
#define TILEWRIGHT_PLAN_H

#include "problem.h"
#include "table.h"

enum { PLAN_OPTIONS_BYTES = 352 };

enum { MOST_THREADS = 4096 }; /* that may be asked for, by whatever way */

/* Tiles of a batch in one launch, at most: its blocks, no more than tiles, step beyond the last one, in 32 bits. */
enum { BATCH_MOST_TILES = 1 << 30 };

/* How a GPU_SHARES kernel's blocks divide the product: `whole` compute a tile each, `count` a share of what is left,
 * `length` steps of tile_k of k, of a narrow tile three times as many. Of a GPU_STREAM row `parts` blocks have `length`
 * steps of each tile, the last what is left; parts = 0: a block has `length` steps of all tiles laid end to end. Of a
 * GPU_DIVIDES row `parts` blocks share each tile. */
typedef struct shares {
    int64_t whole, count, length;
    int64_t bytes; /* of the parts of sums and their flags, a multiple of 256 */
    int64_t parts; /* GPU_STREAM, GPU_DIVIDES */
    bool meets;    /* GPU_SLICES: a tile's parts are one cluster of blocks, which add through its shared memory */
} shares;

/* How a CPU computes a product by a production kernel; a rung's is empty. */
typedef struct cpu_plan {
    /* The five loops: C is computed in strips of strip_m x strip_n whose operands are packed kc deep; one task is
     * task_m x task_n of it. All but kc are multiples of the micro-tile. */
    int64_t strip_m, strip_n, kc, task_m, task_n;
    /* where B streams, a task computes so many steps of k at a time in all of its part of C; else kc */
    int64_t piece;
    bool direct_a, direct_b; /* read where they lie, not packed */
    /* C has few rows: each panel of B's columns is used by all of them while it is near, and not again */
    bool streams_b;
    /* C is one row or one column, of which a task computes task_m x task_n, the whole of k */
    bool line;
    /* the next panel while this one is computed, into a second copy of the packed parts: by several threads */
    bool packs_ahead;
    bool in_place;                      /* one panel, nothing packed: each task is a product for the row's near */
    cpu_near near;                      /* if in_place: what the kernel of the whole product is told of its shape */
    size_t a_bytes, b_bytes, sum_bytes; /* parts of the workspace, each rounded up to 64 bytes */
    /* A batch: all threads compute one item after the other (together), or each takes tasks: items, or part_m rows of
     * them where they are computed at once. An operand that all items share is packed once, as a whole, in front of the
     * workspaces of the threads. */
    bool together;
    int64_t part_m;
    size_t all_a_bytes, all_b_bytes, each_bytes;
} cpu_plan;

/* A GPU's launch: grid of blocks of threads; one block computes block_m x block_n; the compiler's -D options. */
typedef struct gpu_plan {
    int64_t grid_x, grid_y, block_m, block_n;
    bool one_launch; /* of a whole batch, of at most grid_x blocks; else items are launched one after the other */
    int64_t cut;     /* so many of a batch's tiles are computed in two parts, where it has half as many again */
    int threads_x, threads_y, dynamic_bytes; /* of a block: threads, shared (local) memory */
    bool turns_b;                            /* B is transposed on the host on its way in */
    /* on the device, before the kernel: B into the workspace, A behind it, so that B has one place for panels of any
     * height */
    packing pack_a, pack_b;
    bool few_rows;                    /* a GPU_STREAM row: C's shorter edge lies along m */
    shares shares;                    /* behind both, sums of parts of k */
    char options[PLAN_OPTIONS_BYTES]; /* of the compiler: the plan's own, then what the text has of its row */
    int own_options;                  /* bytes of the former */
    tw_lab_source source; /* what is compiled; text NULL: the file of that name that is part of the library */
} gpu_plan;

typedef struct plan {
    tw_problem problem;
    const kernel_row *row;
    int tile;     /* edge of the blocks, for rows that let it be chosen */
    int threads;  /* of the host */
    bool at_once; /* the engine's compute() has all it needs: one thread, nothing packed, no workspace */
    size_t workspace_bytes;
    union { /* cpu where row->gpu.entry is NULL */
        cpu_plan cpu;
        gpu_plan gpu;
    };
} plan;

/* plan_find - choose kernel, blocks and threads. Returns TW_OK; TW_NO_KERNEL with the reason of the last row refused;
 * TW_BAD_ARGUMENT where a forced kernel does not exist or a forced number makes no sense. */
tw_status plan_find(const tw_problem *problem, const device_facts *device, const tw_lab_choice *choice, plan *out);

/* plan_find_batch - the same for a batch of that problem: one item's plan, and how items are divided among threads. */
tw_status plan_find_batch(const tw_problem *problem, const tw_batch *batch, const device_facts *device, plan *out);

/* plan_one_launch - a batch of that problem by this row (kernel_batch_at), which fits. */
void plan_one_launch(const tw_problem *problem, const device_facts *device, const kernel_row *row, plan *out);

/* plan_recall - the plan that this thread used last, where it is one to compute at once, for this context and for a
 * checked problem that differs from the caller's in alpha and beta only, which it does not depend on (one that turns C
 * wants beta 0, as the caller's then is); else NULL. The caller's pointers are still to be checked. */
const plan *plan_recall(const tw_problem *user, uint64_t context);

/* plan_reason - what a model expects of each production row that fits, where it decides between them: "cycles expected:
 * sgemm_slicedk_sm80_64x32 19000, ...". Else empty. */
void plan_reason(const tw_problem *problem, const device_facts *device, char *text, size_t bytes);
/* plan_shrink - for when there is no memory for a plan's workspace: the same product of a CPU's production kernel in
 * smaller blocks, then, where B lies as rows, in none: the same bits. False: another kernel's, or it needs no
 * workspace, or one of the smallest. */
bool plan_shrink(plan *plan);

/* plan_text - the plan as one line. */
void plan_text(const plan *plan, char *text, size_t bytes);

#endif
