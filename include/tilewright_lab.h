/* tilewright_lab.h - what benches, tuners, tests and the ladder need beyond tilewright.h. NOT STABLE: the version node
 * of these symbols promises nothing from one release to the next.
 *
 * With it a program lists the kernels, forces one of them, and times launches on operands that are resident where the
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
    /* "r04_banks"; of a production family "sgemm_tma_sm90_128x128". Rows of one rung differ in dtype, instruction set
     * or, of a CPU family, tile */
    const char *rung;
    tw_dtype dtype;
    const char *file;           /* below kernels/ */
    const char *needs;          /* instruction set or architecture: "base", "avx2", "avx512_vnni", "sm_90" */
    const char *idea;           /* one line */
    const char *source;         /* the papers and course documents that it follows */
    int tile_m, tile_n, tile_k; /* the tile of a thread or a block; 0: none */
    int default_tile;           /* > 0: the tile edge may be chosen (tw_lab_choice.tile), and this is its default */
    int production;             /* 1: tw_gemm may choose it; 0: it teaches */
    int transposes;             /* 1: any op(A), op(B); 0: A and B as stored only */
    int skinny;                 /* 1: k is 16 or 32 only */
    int deep;                   /* 1: for a small C and a long k (ladder --deep) */
    int flushes;                /* 1: subnormals of A and B, and subnormal sums, count as 0 */
    /* shared (local) memory of a GPU block; at an edge of 32 where the tile edge may be chosen */
    int local_bytes;
    int family;           /* 1: a production kernel outside the ladder. Some rungs are production kernels too */
    const char *formerly; /* the rung's former name; NULL: it had none */
    int emulates;         /* 1: tw_gemm may choose it only where problem.accuracy is TW_EMULATED */
} tw_lab_kernel;

TW_API int tw_lab_kernel_count(void);
TW_API const tw_lab_kernel *tw_lab_kernel_at(int index); /* NULL when out of range */
/* tw_lab_kernel_named - the row of this name, present or former; NULL: there is none. */
TW_API const tw_lab_kernel *tw_lab_kernel_named(const char *name);

/* tw_lab_kernel_dtype - the type of the kernels that compute products of this type on an engine: on cuda of a complex
 * type f32 or f64, else the type itself. */
TW_API tw_dtype tw_lab_kernel_dtype(const char *engine, tw_dtype dtype);

/* The list of dtypes: rows of data/dtypes.def. */
typedef struct tw_lab_dtype {
    tw_dtype dtype;
    const char *name; /* "f32" */
    int bytes;
    double unit_roundoff; /* of the accumulator: 2^-24 */
    double smallest;      /* smallest positive subnormal of the accumulator */
    int exact_bits;       /* integers up to 2^exact_bits are exact in accumulator and output */
    int parts;            /* 2: complex, real and imaginary part side by side; else 1 */
} tw_lab_dtype;

TW_API const tw_lab_dtype *tw_lab_dtype_of(tw_dtype dtype); /* NULL: no such dtype */
TW_API const tw_lab_dtype *tw_lab_dtype_named(const char *name);

/* A user's kernel for a GPU: its whole text with nothing left to include, the name of its one entry, and the file name
 * for messages. The strings must stay unchanged until the context is closed. The kernel runs with the caller's
 * rights. */
typedef struct tw_lab_source {
    const char *file, *entry, *text;
} tw_lab_source;

/* A forced choice. kernel NULL: the planner chooses, and operands are copied to a GPU without their padding, as tw_gemm
 * does. A forced kernel sees the caller's leading dimensions. A number of 0: the planner decides. */
typedef struct tw_lab_choice {
    const char *kernel; /* a name of the table, or a former one */
    int tile;           /* tile edge, where it may be chosen */
    int threads;        /* 0 to 4096 */
    int default_build;  /* GPU rungs r01 to r05: 1 lets the compiler unroll the loops that the rung keeps rolled */
    /* Host operands on a GPU, where kernel is NULL: 1 keeps lda, ldb and ldc in their copies there; 0 lays rows out in
     * whole 16 bytes, as tw_gemm() does */
    int keeps_ld;
    /* not NULL: run this text in place of kernel's, with the same parameters, blocks and options */
    const tw_lab_source *source;
    const tw_batch *batch; /* tw_lab_plan_of only. Not NULL: plan this batch; nothing else may be forced */
} tw_lab_choice;

/* What the planner decided. */
typedef struct tw_lab_plan {
    const tw_lab_kernel *kernel;
    int tile, threads;
    int64_t block_m, block_n, block_k; /* the block that is read once from memory: rows, columns, depth */
    int64_t workspace_bytes;
    int block_threads; /* GPU: threads of a block */
    char text[256];    /* the plan as one line */
    char reason[600];  /* the cost model's estimate for each candidate; empty where another rule decides */
    char tuned[600];   /* the user's tuned rows that took part, "; " between them; empty: none did */
} tw_lab_plan;

/* tw_lab_fits - whether this kernel can compute this problem on this device: 1 or 0. With 0, reason (if not NULL) says
 * why, with the numbers. -1: no kernel of that name, a problem that is none, no context (tw_error_text). */
TW_API int tw_lab_fits(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem, char *reason,
                       int reason_bytes);

/* tw_lab_plan_of - plan a problem and run nothing, but for the self-test at the first use of an OpenCL kernel. Returns
 * what tw_gemm would. */
TW_API tw_status tw_lab_plan_of(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem,
                                tw_lab_plan *plan);

/* tw_lab_unused_at - the kernel number `index`, the latest first, of those that failed their self-test on this device
 * and so are not used, as far as this context has come across them; with a problem, of those that would fit one product
 * of it. text (if not NULL) names kernel and device, what was wrong, and the kernel that computes in its place. NULL:
 * there are no more. */
TW_API const tw_lab_kernel *tw_lab_unused_at(tw_context *context, const tw_problem *problem, int index, char *text,
                                             int text_bytes);

/* How a GPU row's kernel is launched, and the options that its text is compiled with. */
typedef struct tw_lab_launch {
    int64_t grid_x, grid_y;   /* blocks */
    int threads_x, threads_y; /* of a block */
    int transposes_b;         /* 1: the host transposes B before */
    char options[352];        /* "-DTILE=16 ...", separated by spaces */
} tw_lab_launch;

/* A parameter of a planner that tuned rows may give (src/tuned.def). */
typedef struct tw_lab_parameter {
    const char *name, *engine;
    double least, most, step; /* what it may be; tune multiplies and divides by step */
    int whole;                /* 1: a whole number */
    int each_kernel;          /* 1: tune gives each kernel one of its own */
    const char *what;
} tw_lab_parameter;

TW_API int tw_lab_parameter_at(int index, tw_lab_parameter *out); /* 0 beyond the last, else 1 */

/* tw_lab_parameters - what the planner reads for this problem: a value for each parameter in order, of the kernel of
 * that rung (NULL: of any); those of other engines are 0. */
TW_API tw_status tw_lab_parameters(tw_context *context, const tw_problem *problem, const char *rung, double *values);

/* A line of a file of tuned rows (docs/decisions/0019), and what it is in a context. */
enum { TW_LAB_TUNED_LINE = 2048 };
enum {
    TW_LAB_TUNED_USED,
    TW_LAB_TUNED_ELSEWHERE, /* for another engine or device */
    TW_LAB_TUNED_STALE,     /* for this device, but another driver, other kernels or another version */
    TW_LAB_TUNED_DAMAGED
};

typedef struct tw_lab_tuned {
    int state;
    char row[600]; /* what a planner reads: "cpu * f32 large nn * kc=256" */
    char engine[8], dtype[8], shape_class[16], ops[4], kernel[48];
    char device[96], driver[320], kernels[24], version[16]; /* what it was signed with */
    char verdict[16]; /* "better": planners use it; "slower", "unclear", "wrong", "hung", "failed": it was tried */
    char shape[48], when[24];
    char plan[256];                      /* of the shape, by this row; empty: it was not noted */
    double before_s, after_s;            /* seconds of the shape */
    double speed, low_speed, high_speed; /* interleaved, the new over the old: median and spread */
    char why[400];                       /* why it is not used, or what was wrong */
} tw_lab_tuned;

/* tw_lab_tuned_path - 1 and the user's file, which need not exist; 0 and a sentence: there is none. */
TW_API int tw_lab_tuned_path(char *path, int bytes);
/* tw_lab_tuned_judge - read a line without its end; context NULL: signatures are compared with nothing. */
TW_API tw_status tw_lab_tuned_judge(tw_context *context, const char *line, tw_lab_tuned *out);
/* tw_lab_tuned_sign - the line of a row, signed with this context's device, driver, kernels and version. */
TW_API tw_status tw_lab_tuned_sign(tw_context *context, const tw_lab_tuned *row, char *line, int bytes);
/* tw_lab_tuned_set - plan with the committed rows and these from now on: lines "engine device dtype shape ops kernel
 * name=value... |"; "": the committed ones alone. No other thread may use the context meanwhile. */
TW_API tw_status tw_lab_tuned_set(tw_context *context, const char *rows);
/* tw_lab_tuned_state - what became of the user's file when the context was opened, in a sentence; *count (may be NULL):
 * rows in use. */
TW_API tw_status tw_lab_tuned_state(tw_context *context, char *text, int bytes, int *count);
/* tw_lab_tuned_words - the words of a problem in a row: its class of shapes and its ops. */
TW_API void tw_lab_tuned_words(const tw_problem *problem, const char **shape_class, const char **ops);

/* tw_lab_launch_of - plan choice's kernel for any device of its engine, of CUDA one of compute capability 9.0; needs no
 * device. Returns what tw_lab_plan_of() would; TW_NO_KERNEL for rows of the cpu, which are not launched. */
TW_API tw_status tw_lab_launch_of(const tw_lab_choice *choice, const tw_problem *problem, tw_lab_launch *launch);

/* What a compiled kernel uses: registers and spilled bytes per thread, shared memory per block; and its occupancy, the
 * share of a multiprocessor's threads that can be resident, 0 to 1. -1: unknown. */
typedef struct tw_lab_resources {
    int registers, spill_bytes, local_bytes;
    double occupancy;
} tw_lab_resources;

/* A prepared multiplication with resident operands: on the CPU the caller's arrays, which must stay; on a GPU copies on
 * the device. Used by one thread at a time. */
typedef struct tw_lab_run tw_lab_run;

TW_API tw_status tw_lab_run_open(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem,
                                 const void *a, const void *b, void *c, tw_lab_run **run);
/* tw_lab_run_once - compute once and wait. *seconds (may be NULL) is the time from launch to completion: by device
 * events on a GPU, by wall clock on the CPU, packing included. */
TW_API tw_status tw_lab_run_once(tw_lab_run *run, double *seconds);
TW_API tw_status tw_lab_run_fetch(tw_lab_run *run, void *c); /* copy C to c; on the CPU only if c is another array */
TW_API void tw_lab_run_close(tw_lab_run *run);
/* tw_lab_run_prepare_s - seconds that the host took to transpose B before the upload (r03t); 0 for other rows. */
TW_API double tw_lab_run_prepare_s(const tw_lab_run *run);
/* tw_lab_run_resources - what the compiled kernel uses; -1 where the engine cannot tell. */
TW_API void tw_lab_run_resources(const tw_lab_run *run, tw_lab_resources *out);

/* The compiled code of a GPU row. form: "cubin" (CUDA machine code), "ptx", or "binary" (the OpenCL driver's own; PTX
 * on NVIDIA's). target: the architecture that it was compiled for. resources: of a cubin what its compiler says of it,
 * without its occupancy; else unknown. */
typedef struct tw_lab_code {
    char form[8], target[24];
    void *bytes;
    int64_t size;
    tw_lab_resources resources;
} tw_lab_code;

/* tw_lab_code_make - compile the row of choice as for this problem and return the code; tw_lab_code_free() frees it.
 * context NULL: compile a CUDA row for compute capability sm (90: 9.0) by NVRTC, without a device. Otherwise sm 0 means
 * the device's own. ptx 1: return PTX where the engine has the choice. TW_NO_KERNEL for rows of the cpu, which are
 * compiled into the library. */
TW_API tw_status tw_lab_code_make(tw_context *context, const tw_lab_choice *choice, const tw_problem *problem, int sm,
                                  int ptx, tw_lab_code *out);
TW_API void tw_lab_code_free(tw_lab_code *code); /* a zeroed one is fine */

/* tw_lab_compiles - 1: the first product of this problem compiles its kernel. 0: it does not: the kernel was built
 * ahead, is in the cache, or is the library's own. -1: nobody can say, as with OpenCL's drivers. */
TW_API int tw_lab_compiles(tw_context *context, const tw_problem *problem);

/* tw_lab_open_despite - tw_open(NULL, context) for callers that have no status to return: ignores environment variables
 * whose values tw_open() would refuse. tw_error_text() then names them; "": there were none. Returns TW_OK,
 * TW_NO_MEMORY. */
TW_API tw_status tw_lab_open_despite(tw_context **context);

/* tw_lab_gemm_watched - tw_gemm(), or with a batch tw_gemm_batched(), on a thread of its own, while the caller's asks
 * every so many milliseconds whether the product is still wanted. If not, this product ends as by tw_cancel(), and no
 * other of the context. For hosts whose signal handlers only make a note for their interpreter, and whose threads hold
 * a lock: the caller's waits behind leave(), and in front of enter(), with what leave() returned, and asks between
 * these two. Of CPython, with the lock held: PyEval_SaveThread, PyEval_RestoreThread and PyErr_CheckSignals. Where the
 * system has no thread for it, the caller's computes, and does not ask. Returns what the product does. */
typedef struct tw_lab_watch {
    int milliseconds;
    void *(*leave)(void);
    void (*enter)(void *left);
    int (*asks)(void); /* not 0: it is not wanted; then it is not asked again */
} tw_lab_watch;

TW_API tw_status tw_lab_gemm_watched(tw_context *context, const tw_problem *problem, const tw_batch *batch,
                                     const void *a, const void *b, void *c, const tw_lab_watch *watch);

/* tw_lab_triangle_compute - b <- alpha T b, or, where it solves, alpha T^-1 b: a diagonal block of trmm or trsm. T is
 * m x m, element (i, p) at t[i * t_rs + p * t_cs]; its other triangle is not read, nor, where it is unit, its diagonal,
 * which then is 1. b is m x n, element (i, j) at b[i * b_rs + j * b_cs]; b_rs or b_cs is 1. Operands need no alignment.
 * context NULL: as in tw_gemm(). Returns TW_OK, TW_BAD_ARGUMENT (m over TW_LAB_TRIANGLE_EDGE, a dtype other than TW_F32
 * and TW_F64), TW_NO_MEMORY, TW_NO_KERNEL on a GPU engine. */
enum { TW_LAB_TRIANGLE_EDGE = 264 };

typedef struct tw_lab_triangle {
    tw_dtype dtype;
    int lower, unit, solves; /* 0 or 1 */
    int64_t m, n;
    const void *t;
    void *b;
    int64_t t_rs, t_cs, b_rs, b_cs;
    double alpha;
} tw_lab_triangle;

TW_API tw_status tw_lab_triangle_compute(tw_context *context, const tw_lab_triangle *block);

/* tw_lab_joined - how the devices of a context work together, in a sentence: "" where there is one. */
TW_API tw_status tw_lab_joined(tw_context *context, char *text, int bytes);

/* tw_lab_sum_depth - a product whose operands come in panels may be divided at multiples of so many steps of k: its
 * sums over that many steps each are added up in ascending order, alpha 1, beta 1 from the second on. 0: k of this type
 * is not divided. */
TW_API int64_t tw_lab_sum_depth(tw_dtype dtype);

/* How an epilogue's text indexes a name that is bound; it may do so in several ways. */
enum {
    TW_LAB_USE_FIRST = 1, /* name: the number, or the operand's first element */
    TW_LAB_USE_I = 2,     /* name[i] */
    TW_LAB_USE_J = 4,     /* name[j] */
    TW_LAB_USE_IJ = 8,    /* name[i, j] */
    TW_LAB_USE_JI = 16    /* name[j, i] */
};

/* tw_lab_epilogue_uses - those of bindings[number], together; 0: the text does not name it. */
TW_API int tw_lab_epilogue_uses(const tw_epilogue *epilogue, int number);

/* tw_lab_epilogue_interval - what may stand in C[i, j] where its acc lies from acc_low to acc_high: numbers from *low
 * to *high, rounded to C's type; none if *low is above *high. NaN too if *nan is 1. sums: the accumulator's type,
 * TW_F32, TW_F64 or TW_I32; dtype_c: of C. Operands that are bound are read; they must lie in host memory. */
TW_API tw_status tw_lab_epilogue_interval(const tw_epilogue *epilogue, tw_dtype sums, tw_dtype dtype_c, int64_t i,
                                          int64_t j, double acc_low, double acc_high, double *low, double *high,
                                          int *nan);

/* tw_lab_finish_sums - c <- alpha sums + beta c, m x n elements of dtype TW_F32, TW_F64, TW_I16, TW_I32 or TW_I64: the
 * last step of a product in parts of k, rounded as the kernels of a context of the cpu engine do. beta 0: c is not
 * read. context NULL: as in tw_gemm(). Returns TW_OK, or TW_BAD_ARGUMENT for another dtype. */
TW_API tw_status tw_lab_finish_sums(tw_context *context, tw_dtype dtype, int64_t m, int64_t n, double alpha,
                                    const void *sums, int64_t ld_sums, double beta, void *c, int64_t ldc);

/* tw_lab_device_id - what no other device has, "GPU-" and its UUID in hexadecimal digits: whether two processes use one
 * device, whatever indices they know it by. "": nobody can say. */
TW_API tw_status tw_lab_device_id(tw_context *context, char *text, int bytes);

/* What the control groups (cgroups) of this process leave it: the tightest limit of its group and of those above. */
typedef struct tw_lab_limits {
    double processors;                           /* CPU quota; 0: none */
    int64_t memory_bytes;                        /* where memory_from names a file */
    char processors_from[200], memory_from[200]; /* the file that says so; "": there is no limit */
} tw_lab_limits;

TW_API void tw_lab_limits_read(tw_lab_limits *out);

/* ---- blocks that come one by one (mpi/) ---- */

/* Products in a device's memory of blocks that the caller copies there: copies go on beside the products of what was
 * copied before. Of a context of the cuda engine, of several devices of the first; used by one thread. */
typedef struct tw_lab_pipeline tw_lab_pipeline;

/* tw_lab_pipeline_open - returns TW_OK, TW_NO_KERNEL (another engine), TW_NO_MEMORY, TW_DEVICE_FAILED. */
TW_API tw_status tw_lab_pipeline_open(tw_context *context, tw_lab_pipeline **pipeline);
/* tw_lab_pipeline_close - waits for what is under way, and frees all memory; NULL does nothing. */
TW_API void tw_lab_pipeline_close(tw_lab_pipeline *pipeline);

/* tw_lab_pipeline_memory - device memory, or host memory that the device copies by itself (pinned); until the end. */
TW_API tw_status tw_lab_pipeline_memory(tw_lab_pipeline *pipeline, int on_device, int64_t bytes, void **memory);

enum { TW_LAB_UP, TW_LAB_DOWN, TW_LAB_ACROSS };

/* rows of `width` bytes, to the device, to the host, or within the device. */
typedef struct tw_lab_copy {
    void *to;
    const void *from;
    int64_t to_pitch, from_pitch, width, rows; /* bytes from one row to the next */
    int way;                                   /* TW_LAB_UP, ... */
    int alone; /* 1: what lies between the rows on the device is kept. 0: it may be overwritten */
} tw_lab_copy;

/* tw_lab_pipeline_copy - copy behind the copies before it, beside the products. Host memory that is not pinned is
 * copied by the context's copying threads before this returns, beside everything: the caller sees to it that nothing
 * else uses the place. */
TW_API tw_status tw_lab_pipeline_copy(tw_lab_pipeline *pipeline, const tw_lab_copy *copy);
/* tw_lab_pipeline_multiply - tw_gemm() of device memory, behind all copies and products before it; does not wait. */
TW_API tw_status tw_lab_pipeline_multiply(tw_lab_pipeline *pipeline, const tw_problem *problem, const void *a,
                                          const void *b, void *c);
/* tw_lab_pipeline_prepare - build the kernel of such a product, and take the workspace, which may wait for all that the
 * device does: the product itself then waits for nothing. */
TW_API tw_status tw_lab_pipeline_prepare(tw_lab_pipeline *pipeline, const tw_problem *problem, const void *a,
                                         const void *b, const void *c);
/* tw_lab_pipeline_turn - of two halves of memory, the caller turns to the other: the next copies wait for the products
 * that were begun before the last turn. */
TW_API tw_status tw_lab_pipeline_turn(tw_lab_pipeline *pipeline);
/* tw_lab_pipeline_poll - *done 1: the copies that were begun, and what they wait for, are done; with all 1 the products
 * too. Does not wait. */
TW_API tw_status tw_lab_pipeline_poll(tw_lab_pipeline *pipeline, int all, int *done);

/* Blocks between the devices of several processes, by NCCL: bytes that lie one behind the other. Ranks are those of
 * NCCL's communicator, each of which has a device of its own. */

/* tw_lab_pipeline_nccl - TW_OK and *version, 22703 for 2.27.3; TW_NO_DEVICE: there is none, it is older than 2.14, or
 * the context is not the one that NCCL uses (a device's primary one). */
TW_API tw_status tw_lab_pipeline_nccl(tw_lab_pipeline *pipeline, int *version);

enum { TW_LAB_COMM_ID = 128 };

/* tw_lab_pipeline_comm_id - the name of a new communicator, which one rank makes and gives to all. */
TW_API tw_status tw_lab_pipeline_comm_id(tw_lab_pipeline *pipeline, char id[TW_LAB_COMM_ID]);
/* tw_lab_pipeline_join - begin to join it; does not wait. TW_BAD_ARGUMENT, if the pipeline has joined and not left. */
TW_API tw_status tw_lab_pipeline_join(tw_lab_pipeline *pipeline, const char id[TW_LAB_COMM_ID], int rank, int ranks);

/* Bytes to one rank and from one, which exchanges in turn with this one; 0: nothing that way. */
typedef struct tw_lab_exchange {
    int to, from;
    int64_t sent_bytes, received_bytes;
    const void *sent;
    void *received;
} tw_lab_exchange;

/* The next two return TW_BAD_ARGUMENT where the pipeline has not joined, or has left.
 *
 * tw_lab_pipeline_exchange - behind the copies and exchanges before it, and the products before the last turn; does
 * not wait. All ranks begin theirs in one order. */
TW_API tw_status tw_lab_pipeline_exchange(tw_lab_pipeline *pipeline, const tw_lab_exchange *what);
/* tw_lab_pipeline_exchanged - moves exchanges on; *count: how many are done, of all that were begun, in their order; -1
 * before all ranks have joined. Does not wait. */
TW_API tw_status tw_lab_pipeline_exchanged(tw_lab_pipeline *pipeline, int64_t *count);
/* tw_lab_pipeline_leave - ends what is under way, also where other ranks do not answer. Not collective.
 * TW_DEVICE_FAILED: NCCL has not ended it, and the pipeline's memory is lost. */
TW_API tw_status tw_lab_pipeline_leave(tw_lab_pipeline *pipeline);

/* tw_lab_engine_state - 1 if the engine has a device, else 0; text (if not NULL) says in a sentence what is there, or
 * what is missing and how to get it. Engines: "cpu", "opencl", "cuda". -1: no such engine. */
TW_API int tw_lab_engine_state(const char *engine, char *text, int text_bytes);
/* tw_lab_engine_devices - tw_devices() for one engine: returns its failure, and calls no other engine's driver. */
TW_API tw_status tw_lab_engine_devices(const char *engine, tw_device *devices, int32_t capacity, int32_t *count);
/* tw_lab_compiler_state - the same for the engine's kernel compiler, which needs no device: CUDA's NVRTC. -1 also for
 * an engine without a compiler of its own. */
TW_API int tw_lab_compiler_state(const char *engine, char *text, int text_bytes);
TW_API const char *tw_lab_engine_at(int index); /* names in order; NULL beyond the last */

/* What libtilewright_blas.so and `doctor` give as `most`: what is tried at a first call must not take many seconds. */
enum { TW_LAB_BREAK_EVEN_EDGE = 2048 };

/* tw_lab_break_even - *edge: the smallest square product, of 64, 128, 256 ... up to `most`, that `other` computes
 * in less than nine tenths of the time of `one`, operands in host memory; 0: none. Measured now, with 4 products of
 * each size on both. dtype TW_F32, TW_F64, TW_CF32 or TW_CF64; most 1 to 32768. Returns TW_OK, TW_BAD_ARGUMENT,
 * TW_NO_MEMORY, or what a product failed with. */
TW_API tw_status tw_lab_break_even(tw_context *one, tw_context *other, tw_dtype dtype, int64_t most, int64_t *edge);

/* tw_lab_peak_flops - the device's multiply-add rate in flop/s, measured now by a register-only loop of independent
 * chains: the best of `tries` tries of about 20 ms. On the CPU a try is the best of 40 windows that `threads` threads
 * begin together. Never less than the rate of one thread. TW_NO_KERNEL: there is no such loop for the type, or matrix
 * units multiply it, whose peak it would not show. */
TW_API tw_status tw_lab_peak_flops(tw_context *context, tw_dtype dtype, int threads, int tries, double *flops_per_s);

/* tw_lab_bandwidth - bytes read per second, measured now, from a working set of `bytes` divided among `threads`
 * threads. */
TW_API tw_status tw_lab_bandwidth(tw_context *context, int64_t bytes, int threads, int tries, double *bytes_per_s);

/* tw_lab_shared_bandwidth - bytes read per second from shared memory (OpenCL: local memory) on the whole device,
 * measured now, 16 bytes at a time without bank conflicts. TW_NO_KERNEL on the cpu, which has none. */
TW_API tw_status tw_lab_shared_bandwidth(tw_context *context, int tries, double *bytes_per_s);

/* tw_lab_shared_pattern - words of 4 bytes read per second from shared memory on the whole device, measured now, where
 * lane l of each warp of 32 reads word l * step % wrap + shift. step 0 to 32, wrap 1 to 1024, shift 0 to 31: lane l
 * of step 1 reads word l, without bank conflicts. TW_NO_KERNEL on the cpu. */
TW_API tw_status tw_lab_shared_pattern(tw_context *context, int step, int wrap, int shift, int tries,
                                       double *words_per_s);

#ifdef __cplusplus
}
#endif
#endif
