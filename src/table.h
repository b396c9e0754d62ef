/* table.h - the kernels as rows of one table, and the one predicate that says whether a kernel applies. */
#ifndef TILEWRIGHT_TABLE_H
#define TILEWRIGHT_TABLE_H

#include <stdbool.h>
#include "tilewright_lab.h"
#include "dtypes.h"
#include "../kernels/cpu/cpu.h"

/* Instruction-set levels of the CPU rows, each containing the one before. */
typedef enum cpu_level {
    CPU_base,
    CPU_avx2,
    CPU_avx512,
    CPU_avx512_vnni,
    CPU_avx512_bf16,
    CPU_amx,
    CPU_LEVELS
} cpu_level;
const char *cpu_level_name(cpu_level level);

/* What the planner may know of a device: nothing else decides a plan. */
typedef struct device_facts {
    /* whose they are: no two in a process have the same number; 0: nobody's, and plans are not kept */
    uint64_t context;
    const char *engine;
    cpu_level level;
    int threads; /* that a call may use by default */
    /* operands in host memory are computed from copies, whose rows begin at multiples of 16 bytes */
    bool copies;
    bool addresses;      /* operands may be given where they lie on the device */
    int sm;              /* CUDA: 10 major + minor */
    int most_threads;    /* GPU: of a block */
    int multiprocessors; /* CUDA */
    /* OpenCL: so many neighbouring work-items have a barrier of their own; 0: only a whole group has */
    int warp;
    /* CUDA: a launch may have clusters of blocks, and the compiler, where there is one, knows st.async: 12.1 */
    bool clusters;
    bool tensor_maps; /* CUDA: the copy engine, a driver that describes tensors to it, a compiler that knows it */
    int64_t l1_bytes, l2_bytes, l3_bytes;
    int64_t local_bytes;   /* GPU: shared (local) memory of a block */
    int64_t largest_bytes; /* GPU: of one operand */
    bool no_workspace;     /* GPU: a call has no memory but its operands */
} device_facts;

/* What a GPU kernel is like, beyond its tile. */
enum {
    GPU_SQUARE = 1,         /* block and tile are TILE x TILE, TILE = 8, 16 or 32 */
    GPU_WIDE = 2,           /* -DWIDE=1 where a, b, c are aligned to 16 bytes and lda, ldb, ldc multiples of 4 */
    GPU_NO_TRANSPOSE = 4,   /* A and B as stored only */
    GPU_TURNS_B = 8,        /* reads B as n x k: another B is transposed on the host first */
    GPU_LINEAR_GRID = 16,   /* one dimension of blocks, which finds its own order */
    GPU_TENSOR_MAPS = 32,   /* A and B come through the tensor memory accelerator */
    GPU_SKINNY = 64,        /* k is TILE, 16 or 32 */
    GPU_PRODUCTION = 128,   /* tw_gemm may choose it */
    GPU_PERSISTENT = 256,   /* one block per multiprocessor takes tile after tile */
    GPU_THIS_SM = 512,      /* instructions of exactly this architecture */
    GPU_ROW_BARRIER = 1024, /* OpenCL: -DSUBGROUP_BARRIER=1 where a row of the tile lies in one warp */
    /* reads A as m x k and B as k x n, each in rows of whole 16 bytes: others are packed so first, into workspace */
    GPU_PACKS = 2048,
    GPU_READS_KM = 4096, /* the same, but A as k x m */
    /* tiles that would not fill the device are cut along k into shares, whose parts of the sums are added in a
     * workspace */
    GPU_SHARES = 8192,
    /* as GPU_PACKS, but A and B as stored or transposed: packed only where their rows are not of whole 16 bytes */
    GPU_READS_BOTH = 16384,
    GPU_OWN_C = 32768,  /* C in f32, or in the operands' type: -DC_HALF=1 */
    GPU_SLICES = 65536, /* the warps of a block divide k, and its blocks where C has few tiles */
    /* may begin before the kernel ahead of it in the stream has ended: waits for that itself, in all its blocks */
    GPU_EARLY = 131072,
    /* tile_m is for the shorter edge of C, tile_n for the longer: -DFEW_ROWS says which is which; k is divided where C
     * has few tiles */
    GPU_STREAM = 262144,
    GPU_WHOLE_EDGE = 2097152, /* an operand that lies along k comes in boxes of all of the tile's lines */
    /* `parts` blocks sum a tile, each its part of k, into a workspace; a kernel that follows adds them */
    GPU_DIVIDES = 1048576,
    /* what the rows of gemm_wgmma_sm90 and of gemm_swapab_sm90 are */
    GPU_MATRIX = GPU_WIDE | GPU_LINEAR_GRID | GPU_TENSOR_MAPS | GPU_PACKS | GPU_READS_BOTH | GPU_PERSISTENT |
                 GPU_THIS_SM | GPU_PRODUCTION | GPU_OWN_C | GPU_EARLY,
    GPU_WGMMA = GPU_MATRIX | GPU_WHOLE_EDGE,
    GPU_SWAPAB = (GPU_MATRIX & ~(GPU_WIDE | GPU_PERSISTENT)) | GPU_STREAM
};

/* What a GPU_SLICES row takes, fitted to random shapes on an H200 (docs/perf/planner.md). */
typedef struct slice_pace {
    double alone, share; /* of the peak while it multiplies: a block alone on its multiprocessor, and others */
    /* cycles of a multiprocessor for each copy by a thread, or for each line of the first boxes */
    double copy;
    double block; /* cycles for a block beside */
} slice_pace;

typedef struct gpu_kernel {
    const char *entry;
    const char *adds; /* GPU_DIVIDES: the entry of the kernel that follows; else NULL */
    int threads_x, threads_y;
    int stages;          /* tiles under way at a time; 0: the text decides */
    const char *defines; /* macros of the text's own, " -DNAME=number"; NULL: none */
    int traits;
    int static_bytes, dynamic_bytes; /* of shared (local) memory; static of GPU_SQUARE kernels for TILE = 32 */
    int sm;                          /* at least this (CUDA) */
    int a_box_rows, a_box_cols, b_box_rows, b_box_cols; /* GPU_TENSOR_MAPS: what one copy brings */
    /* of a batch's kernel: on a multiprocessor at a time, each taking tile after tile; 0: a block for each tile */
    int blocks_each;
    int speed; /* of a batch's kernel, beside the others of its type */
    slice_pace pace;
} gpu_kernel;

typedef struct kernel_row {
    tw_lab_kernel lab;
    gpu_kernel gpu;
    cpu_level level;
    cpu_whole *whole;        /* a rung: the whole product */
    bool threaded;           /* whose blocks the threads of a call share */
    cpu_micro *micro;        /* the production kernel's innermost tile, for src/engines/cpu/loops.c */
    cpu_form form;           /* of the panels that it reads */
    cpu_hook *enter, *leave; /* around calls of micro; NULL: nothing */
    cpu_near_all *near;      /* a whole product of near operands; NULL: it has none */
    cpu_vector *line;        /* the same where C is one row or one column; NULL: it has none */
    cpu_probe *probe;        /* a register-only loop of the same multiply-adds */
    cpu_reader *reader;      /* a loop of the same loads */
} kernel_row;

int kernel_count(void);
const kernel_row *kernel_at(int index);
const kernel_row *kernel_named(const char *name); /* its name now or formerly; NULL: no such row */

/* kernel_probed - the CPU's row with a probe of this type and the highest instruction set up to this one; NULL: none
 * multiplies the type. */
const kernel_row *kernel_probed(tw_dtype dtype, cpu_level most);

/* kernel_batch_at - the rows of whole batches, which are none of the above; NULL beyond the last. */
const kernel_row *kernel_batch_at(int index);

/* kernel_tile - the edge of the tile: what the problem dictates, else what is forced, else the row's own; 0: it has
 * none. */
int kernel_tile(const kernel_row *row, const tw_problem *problem, int forced_tile);

/* kernel_fits - may this row compute this problem on this device, with this tile (0: its own)? If not, reason (when not
 * NULL) says why with the numbers. Planner, tuner, tests and explain all ask here. */
bool kernel_fits(const kernel_row *row, const tw_problem *problem, const device_facts *device, int forced_tile,
                 char *reason, size_t reason_bytes);

/* How a GPU row reads an operand: rows x cols, ld apart. A GPU_PACKS row may need a copy. */
typedef struct packing {
    bool needed, turns; /* copied; rows and columns exchanged */
    int64_t rows, cols, ld;
    int64_t bytes; /* of the copy, a multiple of 256 */
} packing;

/* kernel_packing_a, kernel_packing_b - how this row reads the operands of this problem, and what must be packed for
 * that. */
packing kernel_packing_a(const kernel_row *row, const tw_problem *problem);
packing kernel_packing_b(const kernel_row *row, const tw_problem *problem);

/* kernel_options - what a GPU kernel's text has of its row, see kernels.def: " -DNAME=number ...", or nothing. */
void kernel_options(const kernel_row *row, char *text, size_t bytes);

/* kernel_is_wide - do the operands' alignments let this GPU_WIDE row use 16-byte loads and stores? */
bool kernel_is_wide(const kernel_row *row, const tw_problem *problem);

#endif
