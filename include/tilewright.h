/* tilewright.h - dense matrix multiplication: one call, any shape.
 *
 *     C  <-  alpha * op(A) * op(B)  +  beta * C
 *
 *              k                    n                    n
 *          .-------.            .-------.            .-------.
 *        m | op(A) |    x     k | op(B) |    ->    m |   C   |
 *          '-------'            '-------'            '-------'
 *
 * WORDS    m, n, k   rows of C, columns of C, length of each dot product
 *          op(X)     X as stored (TW_N) or transposed (TW_T)
 *          ld        elements from one stored row to the next: storage is row-major. A column-major matrix is the
 *                    same memory with its op turned round.
 *          engine    the code that owns a device ("cpu", "opencl", "cuda")
 *          kernel    one row of kernels/kernels.def
 * UNITS    Lengths and leading dimensions count elements. A name that ends in _bytes, _s, _flops or _gbps carries its
 *          unit; no other name has a hidden one.
 * STRUCTS  begin with their size, which must be that of the library's own header: before version 1.0 a program is
 *          compiled anew with each minor version.
 * ERRORS   A call that can fail returns a tw_status. tw_error_text() then holds one sentence of the calling thread's
 *          last failure. The library never prints, exits or aborts, and reads the environment only in tw_open()
 *          and tw_devices().
 * THREADS  A context may be used by any number of threads at once. A NULL context is one process-wide default, opened
 *          at its first use. After fork() or _Fork() both processes may go on using contexts of the cpu engine; a
 *          driver's state does not survive a fork, so the child opens GPU contexts of its own (and CUDA wants not to
 *          have been used, or its devices listed, before). A thread that is cancelled inside a call ends after it.
 * FLOATS   All threads of a call of the cpu engine compute in the caller's floating-point environment (rounding,
 *          subnormals). Exception flags that other threads raise do not reach the caller.
 * STACK    A call of the cpu engine takes at most 48 KiB of the calling thread's stack: 64 KiB is large enough for a
 *          thread. tw_devices() and GPU engines run their drivers' code, which takes more (PoCL 75 KiB): 256 KiB.
 *
 * To learn how a product is computed, read on in this order: src/api.c, src/plan.c, src/plan_cpu.c, src/run.c,
 * src/engines/cpu/engine.c, src/engines/cpu/loops.c, kernels/cpu/gemm_simd.c. The last holds the line that multiplies.
 */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_VERSION_MAJOR 0
#define TW_VERSION_MINOR 1
#define TW_VERSION_PATCH 0

#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

/* tw_version - the version of the library that is loaded, "0.1.0"; the macros above are those of this header. */
TW_API const char *tw_version(void);

/* ---- status ---------------------------------------------------------------------------------------------------- */

typedef enum tw_status {
    TW_OK = 0,
    TW_BAD_ARGUMENT = 1, /* a size, leading dimension, pointer, op, dtype or option is not valid: nothing written */
    TW_NO_DEVICE = 2,    /* the engine or device that was named is not usable here: nothing written */
    TW_NO_KERNEL = 3,    /* no kernel fits this problem on this device: nothing written */
    TW_BUILD_FAILED = 4, /* a kernel could not be compiled for the device: nothing written */
    TW_NO_MEMORY = 5,    /* host or device memory ran out */
    TW_DEVICE_FAILED = 6 /* the device or its driver failed while running: C is undefined */
} tw_status;

/* tw_status_name - "TW_NO_MEMORY"; tw_status_text - what that status means in general. "unknown status" for others. */
TW_API const char *tw_status_name(tw_status status);
TW_API const char *tw_status_text(tw_status status);

/* tw_error_text - one sentence about the calling thread's last failed call, which names the argument, what was found
 * and what was expected; "" if none failed; of a kernel that does not compile, the compiler's log follows on lines of
 * its own. Valid until that thread's next call that can fail. To be read after a failure: a call that returned TW_OK
 * may have tried what did not work (only tw_devices() says what it leaves there). */
TW_API const char *tw_error_text(void);

/* ---- devices and contexts -------------------------------------------------------------------------------------- */

typedef struct tw_device {
    uint32_t size;   /* sizeof(tw_device), set by the caller */
    int32_t index;   /* within its engine, from 0 */
    char engine[16]; /* "cpu", "opencl", "cuda" */
    char name[96];   /* the maker's name of the device */
    /* what kernels are chosen by: "avx512_bf16", "avx2", "base"; "OpenCL 3.0 ..."; "sm_90" */
    char instruction_set[32];
    char threads_from[64]; /* where the default thread count comes from, in words */
    int32_t threads;       /* that a call may use by default; compute units, multiprocessors */
    int32_t reserved;
    int64_t memory_bytes; /* that the device computes in; 0 unknown, as below */
    int64_t l1_bytes, l2_bytes, l3_bytes;
} tw_device;

/* tw_devices - describe the devices that tw_open() would open in this process.
 *
 * devices   room for `capacity` descriptions, devices[0].size set; may be NULL when capacity is 0
 * count     how many there are, also when that is more than capacity
 * Special   What cannot be used is left out, an engine or one OpenCL platform: after TW_OK tw_error_text() says which
 *           and why, and is "" where nothing was. TILEWRIGHT_CPU or TILEWRIGHT_THREADS with a wrong word is
 *           TW_BAD_ARGUMENT, as in tw_open().
 *           The drivers of opencl and cuda run in the caller's process, here and in tw_open(): one that crashes takes
 *           it along. PoCL aborts where it gets no memory or no thread. A program near such limits asks in a process of
 *           its own, or opens "cpu", which has no driver [docs/decisions/0008].
 * Returns   TW_OK, TW_BAD_ARGUMENT */
TW_API tw_status tw_devices(tw_device *devices, int32_t capacity, int32_t *count);

typedef struct tw_context tw_context;

typedef struct tw_options {
    uint32_t size;      /* sizeof(tw_options) */
    int32_t device;     /* index within the engine */
    const char *engine; /* "cpu", "opencl", "cuda"; NULL or "auto": cpu */
    /* CPU: these instructions at most, "base", "avx2", "avx512", "avx512_vnni", "avx512_bf16" or "amx"; TW_NO_DEVICE
     * where the processor lacks them. NULL: TILEWRIGHT_CPU, else all that it has */
    const char *instruction_set;
    /* 0 to 4096. 0: TILEWRIGHT_THREADS, else OMP_NUM_THREADS, else affinity mask and cgroup quota (cpu; if the system
     * refuses a thread, with fewer). cuda: that copy large operands, at most 16; 0: 8, or fewer where affinity mask and
     * cgroup quota leave fewer processors */
    int32_t threads;
    /* CUDA: a CUcontext to work in, which stays its owner's; NULL: the device's primary one */
    void *device_context;
} tw_options;

/* tw_open - make a context on one device. options may be NULL: the best device, all its threads.
 *
 * Special   A device that is named and missing is an error, never replaced by another; tw_error_text() says why. Look
 *           at the status: *context is then NULL, which the other calls take for the process-wide default, and that is
 *           the cpu engine's. It computes operands in host memory; those in device memory it refuses, with the sentence
 *           of the tw_open() that failed.
 *           device_context must live until tw_close(), which gives back what was loaded into it and leaves the context
 *           itself. Its device counts; options.device is 0 or that one. The primary context is the one of CUDA's
 *           runtime API: memory and streams of a program that uses cudaMalloc() and cudaStreamCreate() need no
 *           device_context.
 *           Read here and in tw_devices(), and nowhere else: TILEWRIGHT_CPU, TILEWRIGHT_THREADS, OMP_NUM_THREADS (cpu);
 *           TILEWRIGHT_CACHE, XDG_CACHE_HOME, HOME (where compiled kernels are kept), TILEWRIGHT_OPENCL_OPTIONS (added
 *           to the compiler's), TILEWRIGHT_NVRTC (the library file of CUDA's run-time compiler), TILEWRIGHT_KERNELS (a
 *           folder of CUDA kernels that were built ahead). A setuid program reads none of those that name a file, a
 *           folder or compiler options.
 * Returns   TW_OK and *context (give it to tw_close), TW_BAD_ARGUMENT, TW_NO_DEVICE, TW_NO_MEMORY and *context NULL */
TW_API tw_status tw_open(const tw_options *options, tw_context **context);

/* tw_close - end a context that no thread and no stream is using any more: a kernel that tw_enqueue() has put on a
 * stream and that has not ended would lose its code. NULL is allowed and does nothing. */
TW_API void tw_close(tw_context *context);

/* tw_describe - describe the device of a context (device->size set). Returns TW_OK, TW_BAD_ARGUMENT. */
TW_API tw_status tw_describe(tw_context *context, tw_device *device);

/* ---- multiplication -------------------------------------------------------------------------------------------- */

typedef enum tw_dtype {
    TW_F64 = 1, /* IEEE double, accumulated in f64 */
    TW_F32 = 2, /* IEEE single, accumulated in f32 */
    /* IEEE half, accumulated in f32, C in f32 or f16: on CUDA's sm_90; batches in device memory from sm_80 on, with C
     * in f32 */
    TW_F16 = 3,
    /* the upper half of an IEEE single, accumulated in f32, C in f32: on CUDA's sm_90, where C may be bf16, batches as
     * of f16, and on the CPU */
    TW_BF16 = 4,
    TW_I8 = 5, /* signed 8-bit integers, C in TW_I32: on the CPU */
    TW_I32 = 6 /* signed 32-bit integers: the type of C where A and B are TW_I8, of nothing else */
} tw_dtype;

typedef enum tw_op { TW_N = 0, TW_T = 1 } tw_op;

typedef enum tw_place {
    TW_HOST = 0, /* ordinary memory of this process */
    /* memory that the device reads where it lies, on CUDA: any address of the device's own, of managed or mapped
     * memory */
    TW_DEVICE = 1
} tw_place;

/* One multiplication, as a plain value: it can be copied, printed, compared and logged. Fill it with tw_problem_make()
 * and change what differs. */
typedef struct tw_problem {
    uint32_t size;  /* sizeof(tw_problem) */
    tw_dtype dtype; /* of A and B */
    /* of C; 0: the result type of dtype (f64: f64; i8: i32; the others: f32). f16 and bf16: f32 or dtype itself,
     * rounded once, to nearest */
    tw_dtype dtype_c;
    tw_op op_a, op_b;
    tw_place place_a, place_b, place_c; /* all three TW_HOST, or all three TW_DEVICE (cuda) */
    int64_t m, n, k;                    /* >= 0; on GPUs at most 2147482623 */
    int64_t lda, ldb, ldc; /* >= stored columns and >= 1: lda >= (op_a == TW_N ? k : m), ldb likewise, ldc >= n */
    /* each rounded once to the accumulator's type; with i8 whole numbers of -2^31 to 2^31 - 1 */
    double alpha, beta;
    /* largest power of two up to 256 that divides the address. Calls that are given the addresses fill it in; those
     * that are not read it, 0 being 256, the least that CUDA allocates by */
    uint32_t align_a, align_b, align_c;
    uint32_t reserved;
} tw_problem;

/* tw_problem_make - the problem C = op(A) op(B) on host operands without padding between rows. */
static inline tw_problem tw_problem_make(tw_dtype dtype, tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k)
{
    tw_problem p;
    memset(&p, 0, sizeof p);
    p.size = (uint32_t)sizeof p;
    p.dtype = dtype, p.op_a = op_a, p.op_b = op_b;
    p.m = m, p.n = n, p.k = k;
    p.lda = op_a == TW_N ? k : m, p.ldb = op_b == TW_N ? n : k, p.ldc = n;
    if (p.lda < 1) p.lda = 1;
    if (p.ldb < 1) p.ldb = 1;
    if (p.ldc < 1) p.ldc = 1;
    p.alpha = 1;
    return p;
}

/* tw_gemm - compute one multiplication on the context's device, wait for it, return.
 *
 *     C[m, n]  <-  alpha * op(A)[m, k] * op(B)[k, n]  +  beta * C[m, n]
 *
 * a, b, c   aligned to one element; a and b may overlap each other; c must not overlap them (not checked).
 *           Only the m x n elements of C are written; the gap between n and ldc stays as it was.
 *           With TW_DEVICE they are device addresses, on which no other stream may be working; memory is allocated for
 *           operands that the kernel wants packed, if there is some, and freed: tw_enqueue() does without.
 *
 * Special   m == 0 or n == 0        TW_OK, nothing read, nothing written; pointers may be NULL
 *           k == 0 or alpha == 0    C <- beta * C; A and B are not read and may be NULL
 *           beta == 0               C is not read: NaN in the old C cannot survive
 *           otherwise               NaN and infinities propagate as IEEE 754 says
 *
 * Error     element by element, where nothing overflows: with u the accumulator's unit roundoff (2^-24 f32, 2^-53 f64;
 *           2^-23 f16 and bf16, whose matrix units cut off where f32 rounds), g(j) = j u / (1 - j u), alpha and beta as
 *           rounded:
 *             |C - exact| <= |alpha| g(k+2) sum|a||b| + g(2) |beta c0| + (max(1, |alpha|) k + 1) smallest subnormal
 *           [docs/ACCURACY.md; where (k+2) u > 1/2 read (1 + u)^j - 1 for g(j)]
 *           bf16: 2^-125 for the smallest subnormal, and what is subnormal in A and B (below 2^-126) may count as 0:
 *           processors with instructions for bf16 do both, others neither.
 *           i8: none. C is the exact result modulo 2^32, from -2^31 to 2^31 - 1: with alpha 1 and beta 0 nothing wraps
 *           around up to k = 131071.
 *
 * Cost      2 m n k flops; at least (m k + k n + m n) elements moved, m n more when beta != 0.
 *
 * Returns   TW_OK
 *           TW_BAD_ARGUMENT, TW_NO_KERNEL                 C untouched
 *           TW_NO_MEMORY, TW_BUILD_FAILED, TW_NO_DEVICE   C untouched
 *           TW_DEVICE_FAILED                              C undefined
 *
 * Sources   Dongarra, Du Croz, Hammarling, Duff: A set of level 3 BLAS, 1990. Goto, van de Geijn: Anatomy of
 *           high-performance matrix multiplication, 2008. Higham: Accuracy and stability, 2002, section 3.5. */
TW_API tw_status tw_gemm(tw_context *context, const tw_problem *problem, const void *a, const void *b, void *c);

/* Products of one problem, each of operands of its own: how many, and where they lie. */
typedef struct tw_batch {
    uint32_t size; /* sizeof(tw_batch) */
    /* 0: items lie at strides from the first. 1: a, b and c are arrays of `count` addresses of items; strides are 0 */
    uint32_t pointers;
    int64_t count; /* >= 0 */
    /* >= 0: elements from an item's first to the next's. stride_a or stride_b 0: one operand for all. Items of C may
     * not overlap: stride_c >= (m - 1) ldc + n, or they lie side by side in rows of ldc */
    int64_t stride_a, stride_b, stride_c;
} tw_batch;

/* tw_batch_make - the batch whose items lie one after the other, as many rows of lda, ldb and ldc as they have. */
static inline tw_batch tw_batch_make(const tw_problem *problem, int64_t count)
{
    tw_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.size = (uint32_t)sizeof batch;
    batch.count = count;
    batch.stride_a = (problem->op_a == TW_N ? problem->m : problem->k) * problem->lda;
    batch.stride_b = (problem->op_b == TW_N ? problem->k : problem->n) * problem->ldb;
    batch.stride_c = problem->m * problem->ldc;
    return batch;
}

/* tw_gemm_batched - compute all products of a batch on the context's device, wait for them, return.
 *
 *     C_i[m, n]  <-  alpha * op(A_i)[m, k] * op(B_i)[k, n]  +  beta * C_i[m, n],   0 <= i < count
 *
 * problem   of every item. Where arrays of addresses lie in device memory, all addresses in them are multiples of
 *           align_a, align_b and align_c, 0 being 256: say 4 where an item may begin at any float, since a kernel that
 *           reads 16 bytes at a time would end the CUDA context.
 * a, b, c   strides: the first item's operands, A_i = a + i stride_a. Pointers: arrays of addresses, in host memory
 *           with TW_HOST and in device memory with TW_DEVICE, where they cannot be checked; which items of C overlap is
 *           not checked either.
 *
 * Special   count, m or n 0         TW_OK, nothing read, nothing written; pointers may be NULL
 *           k == 0 or alpha == 0    a and b are not read and may be NULL, as arrays too
 *           The bits of an item depend neither on its place in the batch nor on count; on the cpu they are tw_gemm's.
 *
 * Cost      cpu: the threads share the items, or their tiles where there are few; what a stride of 0 shares is packed
 *           once. cuda: operands in device memory are one launch, but for large items at strides, which follow each
 *           other; operands in host memory, and opencl: one item after the other.
 *
 * Returns   as tw_gemm; after TW_NO_MEMORY and TW_DEVICE_FAILED all of C is undefined */
TW_API tw_status tw_gemm_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch, const void *a,
                                 const void *b, void *c);

/* Where and with what tw_enqueue() launches. */
typedef struct tw_launch {
    uint32_t size; /* sizeof(tw_launch) */
    uint32_t reserved;
    /* a CUstream (or cudaStream_t) of the context's CUDA context; NULL: its default stream */
    void *stream;
    /* device memory, aligned to 256 bytes, not used by other streams until the product is done; NULL: none */
    void *workspace;
    int64_t workspace_bytes; /* at least what tw_workspace_bytes() says; 0 with NULL */
} tw_launch;

/* tw_enqueue - put one multiplication on a stream of the caller's and return: tw_gemm for operands in device memory
 * that waits for nothing.
 *
 * a, b, c   as in tw_gemm, with place_a, place_b and place_c TW_DEVICE. alpha and beta are taken now, the operands when
 *           the stream comes to it.
 * launch    may be NULL: the default stream, no workspace
 *
 * Special   m, n, k, alpha and beta as in tw_gemm: C <- beta * C happens on the stream too; with m or n 0 nothing is
 *           enqueued.
 *           In f32 the fastest kernels want B as k x n and A as k x m; in bf16 and f16 they take all transposes; all
 *           want addresses and rows that the copy engine (TMA) takes, multiples of 16 bytes. Other operands are turned
 *           or copied into the workspace first; without a workspace they have a slower kernel, from sm_80 on in bf16
 *           and f16 too, where C is in f32. In f32 parts of sums lie there as well, which let the last
 *           blocks end together: with a workspace a product is up to a sixth faster. What it holds before and after is
 *           of no matter, and nothing is cleared.
 *           A kernel of the caller's behind it that is launched with programmatic stream serialization must wait
 *           (griddepcontrol.wait, cudaGridDependencySynchronize) before it reads C: ours let it begin early.
 *
 * Cost      No memory is allocated, nothing copied to or from the host, nothing waited for. The first call that needs a
 *           kernel builds it: tw_prepare() does so ahead. On a stream that is being captured into a graph that is
 *           refused instead; all else can be captured.
 *
 * Returns   TW_OK: enqueued; what fails while the kernel runs, the stream's next call tells
 *           TW_BAD_ARGUMENT (also a stream of another CUDA context, a workspace that is too small), TW_NO_KERNEL,
 *           TW_BUILD_FAILED (also a kernel not built before a capture), TW_NO_DEVICE (after fork())    nothing enqueued
 *           TW_NO_MEMORY, TW_DEVICE_FAILED (also where an earlier kernel has ended the CUDA context)   C undefined */
TW_API tw_status tw_enqueue(tw_context *context, const tw_problem *problem, const void *a, const void *b, void *c,
                            const tw_launch *launch);

/* tw_enqueue_batched - put a batch on a stream: tw_gemm_batched for operands, and arrays of addresses, in device memory
 * that waits for nothing. What tw_workspace_bytes_batched() says is used by large items; a workspace that is too small
 * counts as none. The rest is as in tw_enqueue. */
TW_API tw_status tw_enqueue_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch,
                                    const void *a, const void *b, void *c, const tw_launch *launch);

/* tw_workspace_bytes - device memory that tw_enqueue() wants from its caller for this problem (TW_DEVICE; align_a,
 * align_b, align_c are read): 0 where nothing need be turned, copied or kept, else up to 4 (k + 31) (m + n + 62) + 512
 * in f32, and 560,000 for each multiprocessor. Returns TW_OK, TW_BAD_ARGUMENT, TW_NO_KERNEL. */
TW_API tw_status tw_workspace_bytes(tw_context *context, const tw_problem *problem, int64_t *bytes);

/* tw_workspace_bytes_batched - the same for tw_enqueue_batched(): 0 where the batch is one launch, else what one item
 * wants. */
TW_API tw_status tw_workspace_bytes_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch,
                                            int64_t *bytes);

/* tw_prepare - build the kernels of a problem, with and without a workspace, now, so that no later call of tw_gemm or
 * tw_enqueue has to. "Of a problem" is everything in it but the values of alpha and beta, of which only counts whether
 * they are 0; align_a, align_b, align_c are read. Returns what tw_gemm would; nothing is computed. */
TW_API tw_status tw_prepare(tw_context *context, const tw_problem *problem);

/* tw_prepare_batched - tw_prepare for a batch. */
TW_API tw_status tw_prepare_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch);

/* tw_sgemm, tw_dgemm - tw_gemm for the everyday case: float and double in host memory, row-major. */
TW_API tw_status tw_sgemm(tw_context *context, tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k, float alpha,
                          const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
TW_API tw_status tw_dgemm(tw_context *context, tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k, double alpha,
                          const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
                          int64_t ldc);

#ifdef __cplusplus
}
#endif
#endif
