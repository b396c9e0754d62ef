/* table.h - the kernels as rows of one table, and the one predicate that says whether a kernel applies. */
#ifndef TILEWRIGHT_TABLE_H
#define TILEWRIGHT_TABLE_H

#include <stdbool.h>
#include "tilewright_lab.h"
#include "dtypes.h"
#include "../kernels/cpu/cpu.h"
#include "../kernels/cpu/sets.def"

/* Instruction sets: a CPU row needs a set of features, a processor has one. Of each row of sets.def there is its
 * feature, CPU_VNNI (base's is 0), and with those of the sets below it the set, CPU_avx512_vnni. */
typedef uint32_t cpu_features;
#define CPU_PLACE(name, machine, below, feature, ...)   CPU_PLACE_##feature,
#define CPU_FEATURE(name, machine, below, feature, ...) CPU_##feature = 1 << CPU_PLACE_##feature >> 1,
#define CPU_WHOLE(name, machine, below, feature, ...)   CPU_##name = CPU_##below | CPU_##feature,
enum { CPU_SETS(CPU_PLACE, ) };
enum { CPU_SETS(CPU_FEATURE, ) };
enum { CPU_SETS(CPU_WHOLE, ) };

/* What stands there only in a row of this machine's sets. */
#define CPU_OF_ANY(...) __VA_ARGS__
#if defined(__aarch64__)
#define CPU_OF_ARM(...) __VA_ARGS__
#define CPU_OF_X86(...)
#else
#define CPU_OF_ARM(...)
#define CPU_OF_X86(...) __VA_ARGS__
#endif

typedef struct cpu_set {
    const char *name; /* "avx512_vnni"; NULL behind the last */
    cpu_features features;
} cpu_set;
extern const cpu_set cpu_sets[]; /* of this machine, those with more features behind those with fewer */

static inline bool cpu_has(cpu_features has, cpu_features needs) { return (needs & ~has) == 0; }
/* cpu_set_name - the last of cpu_sets that these features contain. */
const char *cpu_set_name(cpu_features features);
/* cpu_vector_bytes - of the widest vectors of the sets, this machine's or not, that these features contain. */
int cpu_vector_bytes(cpu_features features);

enum { VERDICT_BYTES = 640 };

/* What the first use of a kernel on the device showed (first_use.h): one of a list, newest first, which only grows. */
typedef struct kernel_verdict {
    const struct kernel_verdict *next;
    const struct kernel_row *row;
    uint32_t form; /* kernel_form() */
    bool passed;
    tw_problem problem;       /* for which it was to be used */
    int64_t items;            /* of a batch in one launch; 0: one product */
    char text[VERDICT_BYTES]; /* where it failed: kernel, device and what is wrong, in a sentence */
} kernel_verdict;

/* How kernels of real numbers compute a complex product (kernels/cuda/complex.cu): the way that moves fewer bytes, or
 * one that is forced. */
typedef enum complex_way { COMPLEX_CHEAPER, COMPLEX_SQUARES, COMPLEX_PLANES } complex_way;

/* What the planner may know of a device: nothing else decides a plan. */
typedef struct device_facts {
    /* the context's number, unique in the process; 0: no context, and plans are not kept */
    uint64_t context;
    const char *engine;
    cpu_features features;
    int threads; /* a call uses at most these by default */
    /* operands in host memory are copied to the device, into rows that begin at multiples of 16 bytes */
    bool copies;
    bool addresses; /* operands may be device addresses */
    /* 10 major + minor, without NVRTC of the kernels built ahead; OpenCL: 0 where kernels may not hold PTX */
    int sm;
    int most_threads;    /* GPU: of a block */
    int multiprocessors; /* GPU: CUDA's, or OpenCL's compute units */
    bool no_doubles;     /* OpenCL: no double precision */
    bool rounds_loosely; /* OpenCL: no compiler option makes f32's quotients and roots the nearest numbers */
    int vector_bytes;    /* OpenCL: of a vector register, where the device is a processor; else 0 */
    /* OpenCL: work-items of a sub-group, which has a barrier of its own; 0: only the whole work-group has */
    int warp;
    bool whole_k;        /* kernel_by_add() rows: k is not divided, as in the plan of which this is a part */
    complex_way complex; /* CUDA: of a part of a product, as the whole is computed */
    /* CUDA: launches may have clusters of blocks, and the compiler, if there is one, knows st.async: 12.1 */
    bool clusters;
    bool tensor_maps; /* CUDA: TMA, with a driver and a compiler that know it */
    int64_t l1_bytes, l2_bytes, l3_bytes;
    int64_t local_bytes;             /* GPU: shared (local) memory of a block */
    int64_t largest_bytes;           /* GPU: of one operand */
    bool no_workspace;               /* GPU: the call gets no workspace */
    bool tiles;                      /* GPU: the product is a tile of another, whose panels all tiles read alike */
    bool splits_k;                   /* OpenCL, self-tests: a row that can divide k does, whatever it costs */
    int64_t items;                   /* OpenCL: a launch computes so many items of a batch; 0, 1: one product */
    const kernel_verdict *verdicts;  /* OpenCL: on the kernels that were tested here */
    const struct tuned_table *tuned; /* NULL: the committed rows (tuned.h) */
} device_facts;

enum { CLUSTER_BLOCKS = 8 }; /* most blocks of a cluster */

/* What a GPU kernel is planned as (src/plan/families.h) and launched with. Rungs have no family. */
typedef enum gpu_family_id {
    FAMILY_NONE,
    FAMILY_WHOLE,    /* whole tiles, one after the other, k not divided */
    FAMILY_STREAM_K, /* the tiles of the last wave are cut along k into equal runs */
    FAMILY_SLICED_K, /* the warps of a block divide k; blocks too where C has few tiles */
    FAMILY_SPLITS,   /* blocks divide k where C has few tiles, which the planner weighs by their cost */
    FAMILY_WGMMA,    /* persistent blocks on the matrix units, k not divided */
    FAMILY_EMULATED, /* f32 by products of f16 halves; what they may not compute another row does */
    /* swap-AB: tile_m is for the shorter edge of C, tile_n for the longer (-DFEW_ROWS says which is which); split-K or
     * stream-K where C has few tiles */
    FAMILY_SWAP_AB,
    /* operands at any address in place; blocks divide k where C has few tiles, and add.cu adds. THIN: few rows or
     * columns, the tile lies as in FAMILY_SWAP_AB */
    FAMILY_THIN,
    FAMILY_IN_PLACE,
    FAMILY_OPENCL,
    FAMILY_PANELS, /* OpenCL: a group is one work-item with a workspace of its own, for devices that are processors */
    FAMILY_BATCH,
    GPU_FAMILIES
} gpu_family_id;

/* How A and B lie where a GPU kernel reads them, by the letters of BLAS: N as m x k and k x n, T transposed. What lies
 * otherwise is packed first, or refused. */
typedef enum gpu_reads {
    READS_UNSAID, /* a row of the CPU */
    READS_ANY,    /* stored or transposed */
    READS_NN,     /* A as m x k, B as k x n */
    READS_TN,     /* A as k x m, B as k x n: both along the edges of C */
    READS_NT,     /* A as m x k, B as n x k: both along k */
    READS_NT_LONG /* the same, but the operand along C's longer edge as it lies */
} gpu_reads;
/* How it loads them: as threads do, from any address; by TMA, which needs rows of whole 16 bytes; and whether operands
 * that lie otherwise are packed into the workspace first. */
enum { IN_PLACE = 0, TMA = 1, PACKED = 2 };

/* Which C it stores. */
typedef enum gpu_stores {
    STORES_SUMS, /* of the type of its sums */
    STORES_ANY   /* of that or of 2 bytes: the macros C_HALF or TYPE_C say which */
} gpu_stores;

/* Traits of a GPU kernel, beyond these. */
enum {
    GPU_SQUARE = 1,       /* block and tile are TILE x TILE, TILE = 8, 16 or 32 */
    GPU_WIDE = 2,         /* -DWIDE=1 where a, b, c are aligned to 16 bytes and lda, ldb, ldc multiples of 4 */
    GPU_TRANSPOSES_B = 4, /* reads B as n x k: a B that is stored as k x n is transposed on the host first */
    GPU_LINEAR_GRID = 8,  /* one dimension of blocks; the kernel rasterises them itself */
    GPU_SKINNY = 16,      /* k is TILE, 16 or 32 */
    /* persistent: blocks take tile after tile: the fewest that need as few waves as one per multiprocessor, or
     * blocks_each per multiprocessor */
    GPU_PERSISTENT = 32,
    GPU_THIS_SM = 64,      /* instructions of exactly this architecture */
    GPU_ROW_BARRIER = 128, /* OpenCL: -DSUBGROUP_BARRIER=1 where a row of the tile lies in one warp */
    /* PDL: may be launched before the kernel ahead of it in the stream has ended; every block waits for that itself */
    GPU_PDL = 256,
    GPU_WHOLE_EDGE = 512, /* one TMA box holds all lines of a K-major operand's tile */
    GPU_TYPES = 1024,     /* OpenCL: -DTYPE_A, TYPE_B, TYPE_C and the type of sums (kernels/opencl/types.clh) */
    GPU_MMA = 2048,       /* OpenCL: multiplies on the matrix units */
    GPU_GEMV = 4096,      /* OpenCL: C is one row or one column; the tile says which */
    /* CUDA: where k is not divided, an element of C has the bits that all such rows of its type give it
     * (docs/ACCURACY.md#invariant) */
    GPU_CHAIN = 8192,
    GPU_OWN_STORE = 16384, /* CUDA: stores alpha * sum + beta * c by itself, as rungs do, and takes no epilogue */
    GPU_EVEN_K = 32768,    /* rungs: blocks_each per multiprocessor have as many steps of k each, tile after tile */
    /* what the rungs of the matrix units are, and gemm_wgmma_sm90 */
    GPU_MATRIX_ROW = GPU_WIDE | GPU_LINEAR_GRID | GPU_PERSISTENT | GPU_THIS_SM
};

typedef struct gpu_kernel {
    const char *entry;
    /* split-K in two kernels: the entry of that which adds the partial sums of the blocks of a tile; else NULL */
    const char *adds;
    int threads_x, threads_y;
    int stages;          /* pipeline stages; 0: the text decides */
    const char *rest;    /* the row that computes the tiles that this one leaves; NULL: it leaves none */
    const char *defines; /* further macros for the text, " -DNAME=number"; NULL: none */
    gpu_family_id family;
    gpu_reads reads;
    int loads; /* TMA, PACKED */
    gpu_stores stores;
    bool clusters; /* FAMILY_SPLITS: blocks of a tile, if more than CLUSTER_BLOCKS, may be in clusters */
    int traits;
    int static_bytes, dynamic_bytes; /* of shared (local) memory; static of GPU_SQUARE kernels for TILE = 32 */
    int sm;                          /* at least this (CUDA) */
    int a_box_rows, a_box_cols, b_box_rows, b_box_cols; /* TMA: the boxes */
    int c_box_rows, c_box_cols;                         /* rungs: of C, which TMA stores; 0: threads do */
    int cluster_blocks; /* rungs: of a cluster, which computes a tile of C; 0: there is none */
    /* persistent blocks per multiprocessor; 0: of batches a block for each tile, else one */
    int blocks_each;
    int lanes; /* FAMILY_PANELS: of a vector */
    /* OpenCL, sliced-K: slices of a group's work-items divide k; 0: they do not. Such rows are for NVIDIA's GPUs */
    int slices;
    int speed; /* batches: percent of the fastest kernel of its type */
    int fills; /* batches: see plan_batch_fills; 0: 100 */
} gpu_kernel;

typedef struct kernel_row {
    tw_lab_kernel lab;
    gpu_kernel gpu;
    cpu_features features;          /* that a CPU row needs */
    cpu_whole *whole;               /* a rung computes the whole product */
    bool threaded;                  /* the call's threads share the blocks */
    cpu_micro *micro;               /* the micro-kernel, for src/engines/cpu/loops.c */
    cpu_layout layout;              /* packed layout of the panels that it reads */
    cpu_hook *enter, *leave;        /* around calls of micro; NULL: nothing */
    cpu_unpacked_product *unpacked; /* a whole product of unpacked operands; NULL: it has none */
    cpu_gemv_kernel *gemv;          /* GEMV: C is one row or one column; NULL: it has none */
    cpu_widen *widen;               /* CPU_HALVES: elements of A and B to what panels hold */
    /* diagonal blocks of trmm and trsm, and their packing; NULL: it has none */
    cpu_triangle_kernel *triangle, *triangle_pack;
    cpu_probe *probe;   /* a register-only loop of the same multiply-adds */
    cpu_reader *reader; /* a loop of the same loads */
} kernel_row;

/* kernel_needs_more - whether one CPU row needs more features of the processor than another. */
bool kernel_needs_more(const kernel_row *one, const kernel_row *other);

int kernel_count(void);
const kernel_row *kernel_at(int index);
int kernel_index(const kernel_row *row); /* where kernel_at() has it; kernel_count(): nowhere, or row is NULL */
const kernel_row *kernel_named(const char *name); /* by its present or former name; NULL: no such row */

/* kernel_probed - the CPU row with a probe of this type that needs most of these features; NULL: none multiplies the
 * type. */
const kernel_row *kernel_probed(tw_dtype dtype, cpu_features has);

/* kernel_finish - what makes C of the sums of this CPU row, where C is of another type or the problem has an epilogue;
 * NULL: nothing does. */
cpu_finish *kernel_finish(const kernel_row *row, const tw_problem *p);

/* kernel_takes_ops - whether a GPU row reads A and B stored or transposed as the problem has them, or packs them. */
bool kernel_takes_ops(const kernel_row *row, const tw_problem *problem);

/* kernel_reads_along_k - whether a GPU row reads both operands along k, but for kernel_reads_across(). */
static inline bool kernel_reads_along_k(const kernel_row *row) { return row->gpu.reads >= READS_NT; }

/* kernel_by_tma - whether a GPU row loads its operands by TMA. */
static inline bool kernel_by_tma(const kernel_row *row) { return (row->gpu.loads & TMA) != 0; }

/* kernel_in_place - whether a row is of the families that never pack: FAMILY_THIN, FAMILY_IN_PLACE. kernel_by_add -
 * whether add.cu adds what the blocks have that divide k. */
static inline bool kernel_in_place(const kernel_row *row)
{
    return row->gpu.family == FAMILY_THIN || row->gpu.family == FAMILY_IN_PLACE;
}
static inline bool kernel_by_add(const kernel_row *row)
{
    return row->gpu.family == FAMILY_WGMMA || kernel_in_place(row);
}

/* kernel_batch_at - the rows for whole batches, which kernel_at() does not list; NULL beyond the last. */
const kernel_row *kernel_batch_at(int index);

/* kernel_tile - the tile edge: the one that the problem dictates, else the forced one, else the default of the row; 0:
 * it has none. */
int kernel_tile(const kernel_row *row, const tw_problem *problem, int forced_tile);

/* kernel_form - in which form this problem uses a GPU row's kernel: types, transposes, 128-bit access, whether operands
 * begin at offsets, and whether a launch computes `items` (2 or more) of a batch. One test stands for all problems of a
 * form. */
uint32_t kernel_form(const kernel_row *row, const tw_problem *problem, int64_t items);

/* kernel_verdict_of - the verdict on this row for so many items of this problem in a launch (0, 1: one product); NULL:
 * it was not tested. */
const kernel_verdict *kernel_verdict_of(const kernel_verdict *list, const kernel_row *row, const tw_problem *problem,
                                        int64_t items);

/* kernel_fits - whether this row can compute this problem on this device with this tile (0: its own). If not, reason
 * (when not NULL) says why, with the numbers. Planner, tests, ladder and explain all ask here. */
bool kernel_fits(const kernel_row *row, const tw_problem *problem, const device_facts *device, int forced_tile,
                 char *reason, size_t reason_bytes);

/* How a GPU row reads an operand: rows x cols, ld apart. A row that is PACKED may need a copy. */
typedef struct packing {
    bool needed, transposes; /* needs a packed copy; which is transposed */
    int64_t rows, cols, ld;
    int64_t bytes;                   /* of the copy, a multiple of 256 */
    int64_t exponents, counts, left; /* FAMILY_EMULATED: where in it split.cu writes what emulated.cuh reads */
} packing;

/* kernel_reads_across - whether this row reads A (operand 0) or B (operand 1) of this problem across k, as it lies,
 * where its other operand must lie along k. */
bool kernel_reads_across(const kernel_row *row, const tw_problem *problem, int operand);

/* kernel_packing_a, kernel_packing_b - how this row reads the operands of this problem, and which it needs packed. */
packing kernel_packing_a(const kernel_row *row, const tw_problem *problem);
packing kernel_packing_b(const kernel_row *row, const tw_problem *problem);

/* kernel_options - the macros that a GPU kernel's text gets from its row (kernels.def): " -DNAME=number ...", or
 * nothing. */
void kernel_options(const kernel_row *row, char *text, size_t bytes);

/* kernel_sum_bytes - of a partial sum in the workspace. */
int kernel_sum_bytes(const kernel_row *row);

/* kernel_is_wide - whether the alignments of the operands let this GPU_WIDE row use 128-bit loads and stores. */
bool kernel_is_wide(const kernel_row *row, const tw_problem *problem);

#endif
