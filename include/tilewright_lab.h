/* tilewright_lab.h - what benches, tuners, tests and the ladder need beyond tilewright.h. NOT STABLE: these symbols are
 * exported under a version node of their own that promises nothing from one release to the next.
 *
 * The lab sees kernels as rows of a table, forces one of them, and times launches with the operands resident where the
 * engine computes.
 */
#ifndef TILEWRIGHT_LAB_H
#define TILEWRIGHT_LAB_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One row of kernels/kernels.def, as text and numbers. Strings live as long as the library. */
typedef struct tw_lab_kernel {
    const char *name;   /* "cpu_f32_r04_banks": unique */
    const char *engine; /* "cpu" */
    /* "r04_banks", or of a production family "sgemm_tma_sm90_128x128"; rows of one rung differ in dtype or
     * instruction set */
    const char *rung;
    tw_dtype dtype;
    const char *file;           /* below kernels/ */
    const char *needs;          /* instruction set or architecture: "base", "avx2", "avx512_vnni", "sm_90" */
    const char *idea;           /* one line */
    const char *source;         /* the documents' rows it answers, and papers */
    int tile_m, tile_n, tile_k; /* the tile that a worker owns; 0 where it has none */
    int default_tile;           /* > 0: the tile edge may be chosen (tw_lab_choice.tile), and this is its default */
    int production;             /* 1: tw_gemm may choose it; 0: it teaches */
    int transposes;             /* 1: any op(A), op(B); 0: A and B as stored only */
    int skinny;                 /* 1: k is 16 or 32 only */
    int deep;                   /* 1: of the flight for a small C and a long k */
    int flushes;                /* 1: what is subnormal in A and B, and sums that are, count as 0 */
    /* of a GPU block's shared (local) memory; where the tile edge may be chosen, at an edge of 32 */
    int local_bytes;
    int family; /* 1: a production kernel outside the ladder; of r01 to r13, d1 and s1 to s3 also some produce */
    const char *formerly; /* what rung was before it got its name; NULL: it had no other */
} tw_lab_kernel;

TW_API int tw_lab_kernel_count(void);
TW_API const tw_lab_kernel *tw_lab_kernel_at(int index); /* NULL when out of range */
/* tw_lab_kernel_named - the row of this name, or whose name this was formerly; NULL: there is none. */
TW_API const tw_lab_kernel *tw_lab_kernel_named(const char *name);

/* The list of dtypes: rows of src/dtypes.def. */
typedef struct tw_lab_dtype {
    tw_dtype dtype;
    const char *name; /* "f32" */
    int bytes;
    double unit_roundoff; /* of the accumulator: 2^-24 */
    double smallest;      /* smallest positive subnormal of the accumulator */
    int exact_bits;       /* integers up to 2^exact_bits are exact in accumulator and output */
} tw_lab_dtype;

TW_API const tw_lab_dtype *tw_lab_dtype_of(tw_dtype dtype); /* NULL: no such dtype */
TW_API const tw_lab_dtype *tw_lab_dtype_named(const char *name);

/* A kernel of the caller's own for a GPU: its whole text, in which nothing is left to include, the name of its one
 * entry, and what messages call it. The strings must stay, and stay as they are, until the context is closed. It runs
 * with the caller's rights. */
typedef struct tw_lab_source {
    const char *file, *entry, *text;
} tw_lab_source;

/* A forced choice. kernel NULL: the planner chooses, and a GPU's copies of operands are packed as tw_gemm packs them; a
 * kernel that is forced sees the caller's leading dimensions, padding included. Zero in a number: the planner's own. */
typedef struct tw_lab_choice {
    const char *kernel; /* a name of the table, or a former one */
    int tile;           /* tile edge where the row lets it be chosen */
    int threads;        /* 0 to 4096 */
    int default_build;  /* GPU rungs r01 to r05: 1 leaves the loops that the rung holds rolled to the compiler */
    /* not NULL: this text, launched as kernel would be: same parameters, blocks and options */
    const tw_lab_source *source;
    const tw_batch *batch; /* tw_lab_plan_of: not NULL: the plan of this batch, where nothing else is forced */
} tw_lab_choice;

/* What the planner decided, in numbers. */
typedef struct tw_lab_plan {
    const tw_lab_kernel *kernel;
    int tile, threads;
    int64_t block_m, block_n, block_k; /* the block that is read once from memory: rows, columns, depth */
    int64_t workspace_bytes;
    int block_threads; /* GPU: of one block */
    char text[256];    /* the plan as one line */
    char reason[600];  /* what a model expects of each row that was weighed; empty where another rule decides */
} tw_lab_plan;

/* tw_lab_fits - may this kernel compute this problem on this device? 1 or 0; when 0, reason (if not NULL) says why,
 * with the numbers. -1: no kernel of that name (tw_error_text). */
TW_API int tw_lab_fits(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem, char *reason,
                       int reason_bytes);

/* tw_lab_plan_of - the plan for a problem, nothing run. Returns what tw_gemm would. */
TW_API tw_status tw_lab_plan_of(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem,
                                tw_lab_plan *plan);

/* A compiled kernel's appetite, per thread (registers, spilled bytes) and per block (shared memory); share of the
 * threads that a multiprocessor could hold. -1: unknown. */
typedef struct tw_lab_resources {
    int registers, spill_bytes, local_bytes;
    double occupancy;
} tw_lab_resources;

/* A prepared multiplication whose operands lie where the engine computes: on the CPU the caller's own arrays, which
 * must stay; on a GPU copies on the device. Used by one thread at a time. */
typedef struct tw_lab_run tw_lab_run;

TW_API tw_status tw_lab_run_open(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem,
                                 const void *a, const void *b, void *c, tw_lab_run **run);
/* tw_lab_run_once - compute once, wait; *seconds (may be NULL) is launch to completion: device events on a GPU, wall
 * clock on the CPU with packing included. */
TW_API tw_status tw_lab_run_once(tw_lab_run *run, double *seconds);
TW_API tw_status tw_lab_run_fetch(tw_lab_run *run, void *c); /* bring C to the host; on the CPU it is there already */
TW_API void tw_lab_run_close(tw_lab_run *run);
/* tw_lab_run_prepare_s - seconds that the host spent on transposing B before the upload (r03t); 0 for other rows. */
TW_API double tw_lab_run_prepare_s(const tw_lab_run *run);
/* tw_lab_run_resources - what the compiler made of the kernel; -1 where the engine cannot tell. */
TW_API void tw_lab_run_resources(const tw_lab_run *run, tw_lab_resources *out);

/* Code that a GPU's compiler makes of a row. form: "cubin" (CUDA's machine code), "ptx", or "binary" (an OpenCL
 * driver's own, PTX on NVIDIA's); target: what it was made for. */
typedef struct tw_lab_code {
    char form[8], target[24];
    void *bytes;
    int64_t size;
} tw_lab_code;

/* tw_lab_code_make - compile the row of choice as it would be for this problem, and keep the code; tw_lab_code_free()
 * when done. context NULL: a CUDA row for compute capability sm (90: 9.0), without a device, by NVRTC alone; else sm 0
 * is the device's. ptx 1: PTX where the engine has the choice. TW_NO_KERNEL where code is not made at run time: the
 * cpu's is the library's own. */
TW_API tw_status tw_lab_code_make(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem, int sm,
                                  int ptx, tw_lab_code *out);
TW_API void tw_lab_code_free(tw_lab_code *code); /* a zeroed one is fine */

/* tw_lab_open_despite - tw_open(NULL, context) for callers that have no status to return: words in the environment that
 * tw_open() refuses count as not set. tw_error_text() then names them; "": there were none. TW_OK, TW_NO_MEMORY. */
TW_API tw_status tw_lab_open_despite(tw_context **context);

/* tw_lab_engine_state - 1 when the engine has a device, else 0; text says in a sentence what there is, or what is
 * missing and how to get it. Engines: "cpu", "opencl", "cuda"; NULL text is allowed. -1: no such engine. */
TW_API int tw_lab_engine_state(const char *engine, char *text, int text_bytes);
/* tw_lab_engine_devices - tw_devices() of one engine, whose failure is returned: no other's driver is asked. */
TW_API tw_status tw_lab_engine_devices(const char *engine, tw_device *devices, int32_t capacity, int32_t *count);
/* tw_lab_compiler_state - the same of the compiler of the engine's kernels, which needs no device: CUDA's NVRTC. -1
 * also for an engine that has none by itself. */
TW_API int tw_lab_compiler_state(const char *engine, char *text, int text_bytes);
TW_API const char *tw_lab_engine_at(int index); /* names in order; NULL beyond the last */

/* tw_lab_peak_flops - this device's multiply-add rate in flop/s, measured now by a register-only loop of independent
 * chains: the best of `tries` tries of about 20 ms. On the CPU a try is 40 windows that `threads` threads begin
 * together, of which the best counts; never less than what one thread does. */
TW_API tw_status tw_lab_peak_flops(tw_context *context, tw_dtype dtype, int threads, int tries, double *flops_per_s);

/* tw_lab_bandwidth - bytes read per second, measured now, over a working set of `bytes` split over `threads`
 * threads. */
TW_API tw_status tw_lab_bandwidth(tw_context *context, int64_t bytes, int threads, int tries, double *bytes_per_s);

/* tw_lab_shared_bandwidth - bytes read per second, measured now, from the memory that the threads of a block share
 * (local memory in OpenCL's words), 16 bytes at a time without conflicts, on the whole device. TW_NO_KERNEL on the cpu,
 * which has none. */
TW_API tw_status tw_lab_shared_bandwidth(tw_context *context, int tries, double *bytes_per_s);

#ifdef __cplusplus
}
#endif
#endif
