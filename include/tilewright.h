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
 *          ld        leading dimension: elements from one stored row to the next. Storage is row-major. A
 *                    column-major matrix is the same memory with the other op.
 *          engine    the code that drives one kind of device: "cpu", "opencl" or "cuda"
 *          kernel    one row of kernels/kernels.def
 *          More words: docs/GLOSSARY.md.
 * UNITS    Lengths and leading dimensions count elements. A name with another unit ends in it: _bytes, _s, _flops,
 *          _gbps.
 * STRUCTS  begin with their size: set it to sizeof, or use tw_problem_make() and tw_batch_make(). Later versions add
 *          fields at the end. Fields that an older program's smaller struct lacks count as 0. A newer program's larger
 *          struct is accepted if the fields that the library does not know are 0.
 * ERRORS   A call that can fail returns a tw_status. tw_error_text() then explains the calling thread's last failure
 *          in one sentence. The library never prints, exits or aborts. It reads the environment only in tw_open(),
 *          tw_devices() and where a NULL context is opened at its first use.
 * THREADS  A context may be used by any number of threads at once: on the CPU its threads help the call that comes
 *          first, and another call computes alone meanwhile. A NULL context is one process-wide default, opened at its
 *          first use. After fork() or _Fork() both processes may go on using contexts of the cpu engine; the child uses
 *          one with parallel_for only if the program's threads survive a fork (GCC's OpenMP does not). A driver's
 *          state does not survive a fork: the child must open GPU contexts of its own, and CUDA works in the
 *          child only if the parent had neither used it nor listed its devices. A thread that is cancelled inside a
 *          call ends when the call returns.
 * FLOATS   All threads of a call of the cpu engine compute in the caller's floating-point environment (rounding,
 *          subnormals). Exception flags that worker threads raise do not reach the caller.
 * STACK    A call of the cpu engine needs at most 48 KiB of the calling thread's stack, so 64 KiB is enough for a
 *          thread. tw_devices() and the GPU engines run driver code, which needs more (PoCL 75 KiB): use 256 KiB.
 *
 * To learn how a product is computed, read on in this order: src/api.c, src/plan.c, src/plan/cpu.c, src/run.c,
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
#define TW_VERSION_MINOR 2
#define TW_VERSION_PATCH 0

#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

/* tw_version - the version of the loaded library, "0.2.0". The macros above give the version of this header. */
TW_API const char *tw_version(void);

/* ---- status ---------------------------------------------------------------------------------------------------- */

typedef enum tw_status {
    TW_OK = 0,
    TW_BAD_ARGUMENT = 1,  /* a size, leading dimension, pointer, op, dtype or option is not valid: nothing written */
    TW_NO_DEVICE = 2,     /* the named engine or device is not usable here: nothing written */
    TW_NO_KERNEL = 3,     /* no kernel fits this problem on this device: nothing written */
    TW_BUILD_FAILED = 4,  /* a kernel could not be compiled for the device: nothing written */
    TW_NO_MEMORY = 5,     /* host or device memory ran out */
    TW_DEVICE_FAILED = 6, /* the device or its driver failed while running: C is undefined */
    TW_CANCELLED = 7      /* tw_cancel() has ended the call: C is undefined */
} tw_status;

/* tw_status_name - the status by name, "TW_NO_MEMORY"; tw_status_text - what it means in general. Both return "unknown
 * status" for any other value. */
TW_API const char *tw_status_name(tw_status status);
TW_API const char *tw_status_text(tw_status status);

/* tw_error_text - one sentence about the calling thread's last failed call. It names the argument, what was found and
 * what was expected. Where a kernel does not compile, the compiler's log follows on lines of its own. "" if no call
 * failed. Valid until the thread's next call that can fail. Read it only after a failure: a successful call may leave
 * the text of a fallback that failed. (tw_devices() alone defines what it leaves after TW_OK.) */
TW_API const char *tw_error_text(void);

/* ---- devices and contexts -------------------------------------------------------------------------------------- */

typedef struct tw_device {
    uint32_t size;   /* sizeof(tw_device), set by the caller; fields that the library lacks become 0 */
    int32_t index;   /* within its engine, from 0 */
    char engine[16]; /* "cpu", "opencl", "cuda" */
    char name[96];   /* the maker's name of the device */
    /* the planner chooses kernels by it: "avx512_bf16", "avx2", "base"; "OpenCL 3.0 ..."; "sm_90" */
    char instruction_set[32];
    char threads_from[64]; /* where the default thread count comes from, in words */
    int32_t threads;       /* a call uses at most these by default; on a GPU its compute units or multiprocessors */
    int32_t reserved;
    int64_t memory_bytes; /* the device's own memory; 0: unknown, as for the caches below */
    int64_t l1_bytes, l2_bytes, l3_bytes;
} tw_device;

/* tw_devices - describe the devices that tw_open() would open in this process.
 *
 * devices   room for `capacity` descriptions, devices[0].size set and devices of that size; may be NULL when capacity
 *           is 0
 * count     how many there are, even when that is more than capacity
 * Special   An engine or OpenCL platform that cannot be used is left out. After TW_OK tw_error_text() says which and
 *           why; "": none was. An invalid TILEWRIGHT_CPU, _THREADS or _WAIT is TW_BAD_ARGUMENT, as in tw_open(),
 *           which reads _THREADS only where options.threads is 0.
 *           The drivers of opencl and cuda run in the caller's process, here and in tw_open(): a driver that crashes
 *           takes the process with it. PoCL aborts when it cannot get memory or a thread. Near such limits, call this
 *           in a process of its own, or open "cpu", which has no driver [docs/decisions/0008].
 * Returns   TW_OK, TW_BAD_ARGUMENT, TW_NO_MEMORY (only where the size is not this library's) */
TW_API tw_status tw_devices(tw_device *devices, int32_t capacity, int32_t *count);

typedef struct tw_context tw_context;

/* tw_options.flags. TW_UNTUNED: the planner does not read the user's tuned rows, as with TILEWRIGHT_TUNED=off: plans
 * are those of the library as it was built. TW_STAY, or TILEWRIGHT_STAY=1: where the calling thread may run on one
 * core only, so may the library's threads. Without it these may then run wherever any thread of the process may, and
 * wherever the process could when it loaded the library: OpenMP's runtimes bind each thread of a program to a core, and
 * all of the library's would share the caller's. */
enum { TW_UNTUNED = 1, TW_STAY = 2 };

typedef struct tw_options {
    uint32_t size;      /* sizeof(tw_options) */
    int32_t device;     /* index within the engine */
    const char *engine; /* "cpu", "opencl", "cuda"; NULL or "auto": cpu */
    /* CPU: the widest instructions to use, "base", "avx2", "avx512", "avx512_vnni", "avx512_bf16" or "amx", on arm64
     * "base" or "neon"; TW_NO_DEVICE if the processor lacks them. NULL: TILEWRIGHT_CPU, else the widest that the
     * processor has */
    const char *instruction_set;
    /* 0 to 4096. cpu: the most that a call uses; at most 1025 run, and fewer if the system refuses a thread. 0:
     * TILEWRIGHT_THREADS, else OMP_NUM_THREADS, else affinity mask and cgroup quota. cuda: threads that copy large
     * operands, at most 16; 0: 8, or fewer where affinity mask and cgroup quota leave fewer processors */
    int32_t threads;
    /* CUDA: the CUcontext to work in; its owner keeps it. NULL: the device's primary context. OpenCL: the cl_context to
     * work in, retained until tw_close(). NULL: a new one */
    void *device_context;
    uint32_t flags; /* 0, TW_UNTUNED, TW_STAY, or both by | */
    /* cuda: several devices of one kind, at most 16: the length of `devices`; -1: all there are. 0: `device` */
    int32_t device_count;
    const int32_t *devices; /* their indices; NULL with a device_count of 0 or -1 */
    void *device_id;        /* OpenCL: the cl_device_id of device_context to use; NULL: its only one */
    /* cuda and opencl: most device memory, of each device, for the matrices and workspaces of a call with operands in
     * host memory.
     * Larger products are computed in parts, the smallest 256 x 256 with 8192 steps of k, of f64 4096. 0: what is
     * free */
    int64_t memory_bytes;
    /* cpu: computes on threads of the program's, in place of the library's: calls task(data, i) once for each i from 0
     * to count - 1, on whatever threads, at once or one after the other, and returns when all of them have returned.
     * NULL: on the library's */
    void (*parallel_for)(void *state, size_t count, void (*task)(void *data, size_t index), void *data);
    void *parallel_state; /* its `state` */
} tw_options;

/* tw_open - make a context on one device, or on several of one host. options may be NULL: the cpu engine with all its
 * threads.
 *
 * Special   A named device that is missing is an error, never replaced by another; tw_error_text() says why. Check the
 *           status: *context is then NULL, and the other calls take NULL for the process-wide default, a context of the
 *           cpu engine. That one computes operands in host memory. It refuses operands in device memory, with the
 *           sentence of the tw_open() that failed.
 *           device_context must live until tw_close(), which unloads the kernels and leaves the context itself. It
 *           decides the device; options.device must be 0 or that device. The primary context is the one of CUDA's
 *           runtime API: a program that uses cudaMalloc() and cudaStreamCreate() needs no device_context. A program
 *           that has OpenCL buffers and queues of its own needs one: they belong to their cl_context.
 *           Of a context on several devices, tw_gemm() with operands in host memory uses all of them where it is large
 *           enough, and tw_gemm_blocks(); other calls use the first. Each is opened with its primary context, and
 *           reaches the memory of the others from then on, where it can [docs/decisions/0023].
 *           parallel_for is called in the calling thread by each product that is worth several threads; by several at
 *           once where threads multiply at once. count is at most the number of threads. A task computes until nothing
 *           is left to begin, so one that begins late finds nothing. It may wait for what others have begun, but for
 *           none that has not: tasks may run one after the other. What is left out the calling thread computes
 *           afterwards. Results keep their bits. A task needs 48 KiB of stack, and leaves its thread's floating-point
 *           environment as it was. The function must not throw, or jump past the call: catch what your threads throw,
 *           and return; a loop that is cancelled may leave tasks out. Not with TW_STAY, which is for the library's
 *           threads [docs/decisions/0004].
 *           Environment, read here, in tw_devices() and where a NULL context is opened, and nowhere else:
 *           TILEWRIGHT_CPU, TILEWRIGHT_THREADS, OMP_NUM_THREADS, TILEWRIGHT_WAIT (cpu); TILEWRIGHT_CACHE,
 *           XDG_CACHE_HOME, HOME (where compiled kernels are kept), TILEWRIGHT_TUNED, XDG_CONFIG_HOME, HOME (the file
 *           of the user's tuned rows, docs/REFERENCE.md), TILEWRIGHT_OPENCL_OPTIONS (added to the OpenCL compiler's),
 *           TILEWRIGHT_SELF_TEST (off: OpenCL's kernels are not tested at first use), TILEWRIGHT_NVRTC (library file of
 *           CUDA's run-time compiler, read once), TILEWRIGHT_KERNELS (folder of CUDA kernels built ahead),
 *           NCCL_COMM_BLOCKING (once, as CUDA is loaded). A setuid program ignores TILEWRIGHT_SELF_TEST and those that
 *           name a file, a folder or compiler options.
 * Returns   TW_OK and *context (give it to tw_close), TW_BAD_ARGUMENT, TW_NO_DEVICE, TW_NO_MEMORY, TW_DEVICE_FAILED (a
 *           driver failed) and *context NULL */
TW_API tw_status tw_open(const tw_options *options, tw_context **context);

/* tw_close - end a context and its threads. No thread and no stream may still use it: a kernel that tw_enqueue() put on
 * a stream and that still runs would lose its code. (OpenCL's queues keep what their commands need.) NULL does nothing:
 * the process-wide default is never closed, and its threads run until the process exits. So a plugin that contains
 * libtilewright.a must not be unloaded by dlclose() once it has used NULL: link it with -Wl,-z,nodelete, or with
 * libtilewright.so, which stays in memory, or open and close a context of its own. */
TW_API void tw_close(tw_context *context);

/* tw_describe - describe the device of a context (device->size set): of several the first one's index, their number and
 * its name, and threads and memory of all. Returns TW_OK, TW_BAD_ARGUMENT; with a NULL context also
 * what tw_open() does. */
TW_API tw_status tw_describe(tw_context *context, tw_device *device);

/* tw_threads_set - a limit for this process: from the next call on, each call of the cpu engine, in any context, uses
 * at most so many threads, or fewer where its context has fewer. 0, the default: no limit.
 *
 * Special   May be called at any time by any thread; a call that is under way keeps its threads. Results keep their
 *           bits. fork() hands the limit to the child. tw_describe() reports the context's own number, whatever the
 *           limit. Threads that copy operands to a GPU are not counted: options.threads is for those.
 * Returns   TW_OK, TW_BAD_ARGUMENT (less than 0, more than 4096) */
TW_API tw_status tw_threads_set(int32_t most);

/* tw_threads_get - the most threads that tw_threads_set() lets a call use; 0: it sets no limit. */
TW_API int32_t tw_threads_get(void);

/* tw_cancel - end the products that are being computed in a context: their calls return TW_CANCELLED, and C is
 * undefined. Of a NULL context, those of calls with a NULL context.
 *
 * Special   May be called by any thread, and by a signal handler (async-signal-safe: it adds to one atomic number).
 *           It waits for nothing. The context must live.
 *           Meant are tw_gemm(), tw_sgemm(), tw_dgemm(), tw_gemm_batched() and tw_gemm_blocks(), each call that has
 *           begun in the context and has not returned, of whatever thread. A call that begins afterwards runs as
 *           usual; so if none runs, nothing happens. A call that is about to return may still return TW_OK: C is then
 *           complete.
 *           cpu: threads look between tasks, some milliseconds of work each. A call that takes no longer may not look
 *           at all. cuda, opencl: looked at between parts, pieces of copies and launches. A kernel that runs is waited
 *           for; what tw_enqueue() has put on a stream or queue goes on.
 *           Not ended are the calls of tilewright_blas.h, whose library has contexts of its own. */
TW_API void tw_cancel(tw_context *context);

/* ---- multiplication -------------------------------------------------------------------------------------------- */

typedef enum tw_dtype {
    TW_F64 = 1, /* IEEE double, accumulated in f64 */
    TW_F32 = 2, /* IEEE single, accumulated in f32 */
    /* IEEE half, accumulated in f32, C in f32 or f16. All engines */
    TW_F16 = 3,
    /* bfloat16, the upper half of an IEEE single, accumulated in f32. C in f32 or bf16. All engines */
    TW_BF16 = 4,
    /* signed 8-bit integers, accumulated in i32. C in TW_I32, all engines; on the cpu also scaled: TW_F32, TW_I8 or
     * TW_U8 */
    TW_I8 = 5,
    /* 32-bit integers, C in TW_I32, modulo 2^32. CPU only, as are TW_I16 and TW_I64; also the C of TW_I8 and TW_U8.
     * Unsigned ones are passed as this: modulo 2^32 the bits of their products and sums are the same */
    TW_I32 = 6,
    /* complex: the real part, then the imaginary part, as C's float _Complex and NumPy's complex64; accumulated in f32.
     * cpu and cuda, as TW_CF64; cuda: as a real product, which needs a workspace */
    TW_CF32 = 7,
    TW_CF64 = 8, /* the same of two doubles, NumPy's complex128, accumulated in f64 */
    /* Tensor Float 32, only for who asks for it: IEEE singles, rounded to 10 bits of fraction as they are read, to
     * nearest even; accumulated in f32. CUDA only, as are TW_E4M3 and TW_E5M2 */
    TW_TF32 = 9,
    /* fp8 as in the OCP 8-bit floating point specification 1.0 (ml_dtypes' float8_e4m3fn and float8_e5m2): e4m3 ends at
     * 448 and has NaN but no infinity, e5m2 ends at 57344. Summed by the matrix unit in parts of 128, which are
     * accumulated in f32. C in f32, bf16 or f16; A and B in either */
    TW_E4M3 = 10,
    TW_E5M2 = 11,
    TW_U8 = 12,  /* unsigned 8-bit integers, C as of TW_I8; A and B in TW_U8 or TW_I8. All engines */
    TW_I16 = 13, /* 16-bit integers, signed or not, C in TW_I16, modulo 2^16 */
    TW_I64 = 14  /* 64-bit integers, signed or not, C in TW_I64, modulo 2^64 */
} tw_dtype;

typedef enum tw_op {
    TW_N = 0, /* as stored */
    TW_T = 1, /* transposed */
    TW_C = 2, /* conjugated and transposed: complex types only */
    TW_R = 3  /* conjugated, not transposed: likewise */
} tw_op;

/* tw_epilogue - what becomes of each element of C, computed in the same pass: tw_epilogue_make(). Since 0.2. */
typedef struct tw_epilogue tw_epilogue;

/* A name in an epilogue's text, and what it stands for. */
typedef struct tw_binding {
    uint32_t size;    /* sizeof(tw_binding) */
    tw_dtype dtype;   /* of the operand: TW_F32, TW_F16 or TW_BF16; TW_F64 or TW_F32 where sums are f64. 0: a number */
    const char *name; /* a letter or _, then letters, digits and _, at most 31 in all; not acc, i or j */
    const void *at;   /* of the operand: its first element, where C lies (tw_place); NULL for a number. opencl, with
                       * C in TW_DEVICE: the cl_mem, which begins with it */
    int64_t stride;   /* elements from one to the next, of a matrix within a row; 0: 1 */
    int64_t ld;       /* of a matrix: elements from one row to the next */
    double value;     /* of a number */
} tw_binding;

/* tw_epilogue_make - make an epilogue of its text, for tw_problem.epilogue. Since 0.2.
 *
 *     "relu(acc + bias[j])"        "silu(acc * scale[i] + shift) + r[i, j]"        "where(acc < 0, slope * acc, acc)"
 *
 * The last value of the text becomes the element of C in row i and column j, rounded once to C's type.
 *
 *   acc                 alpha op(A) op(B) + beta C0, in the accumulator's type; of i8 and u8 rounded to f32
 *   i, j                row and column, from 0, rounded to the accumulator's type
 *   name                a number that is bound, or the operand's first element
 *   name[i], name[j]    an element of a vector: at[i * stride], at[j * stride]
 *   name[i, j], name[j, i]
 *                       an element of a matrix: at[i * ld + j * stride], at[j * ld + i * stride]
 *   0.5, 1e-5           numbers
 *   + - * /             as in C, and brackets
 *   < <= > >= == !=     1 where it holds, else 0
 *   abs(x) min(x, y) max(x, y) where(x, y, z) sqrt(x) exp(x) log(x) tanh(x) erf(x)
 *                       where: y where x is not 0, else z. min and max give NaN where an operand is one
 *   neg(x) rsqrt(x) clamp(x, least, most) relu(x) sigmoid(x) silu(x) gelu(x) gelu_tanh(x)
 *                       rsqrt: 1 / sqrt(x). relu: max(x, 0). sigmoid: 1 / (1 + exp(-x)). silu: x sigmoid(x).
 *                       gelu: x (1 + erf(x / sqrt(2))) / 2, gelu_tanh its form by tanh
 *
 * text      at most 4096 characters, 256 different values and operations, 24 of them needed at the same time, 64 that
 *           do not depend on the element, 64 brackets within each other. Arithmetic of its numbers is done once, in
 *           f64. GPUs compile it with its numbers and keep what they compiled: bind numbers that change
 * bindings  `count`, at most 16. Names and text are copied; what `at` leads to is read by the products, must stay as it
 *           is meanwhile, and must not overlap C
 * out       the epilogue, for any number of products of any thread at the same time; tw_epilogue_free() frees it, when
 *           no product that uses it is under way
 *
 * Special   Values are computed in f32, where sums are f64 in f64; f64 functions are the C library's, or the GPU's.
 *           Alpha, beta and the old C count within acc. Of a batch, each item's rows and columns begin at 0. NaN and
 *           infinities are what IEEE 754 makes of the text: silu(-inf) is NaN. C of i8 and u8: to the nearest whole
 *           number, ties to even, saturated, NaN to 0. Elements beyond an edge of C may be computed and not stored, so
 *           floating-point exceptions may be raised that no element raises.
 *           cpu: A of f32, f64, f16, bf16, i8 or u8, of the last two C not in i32. cuda, compiled by NVRTC at first
 *           use: f32, bf16 and f16 from sm_80 on, f64, tf32, e4m3, e5m2; batches item after item, and at strides only;
 *           several devices are not used. opencl, compiled by its driver at first use: f32, f64, f16 and bf16, on
 *           devices that round quotients to nearest. Host operands that have no room on a device are refused.
 *           tw_gemm_blocks() and tw_mpi_gemm() refuse it.
 *
 * Error     each operation rounds once to nearest; sqrt, exp, log, tanh, erf within 1, 2, 2, 3, 3 ulp in f32, on
 *           opencl 1, 3, 3, 5, 3; where C is of 2 bytes these and quotients within 128 ulp of f32
 *           [docs/ACCURACY.md#epilogues]
 *
 * Returns   TW_OK
 *           TW_BAD_ARGUMENT   *out is NULL; the sentence has the column in the text
 *           TW_NO_MEMORY */
TW_API tw_status tw_epilogue_make(const char *text, const tw_binding *bindings, size_t count, tw_epilogue **out);

/* tw_epilogue_free - frees an epilogue; NULL: nothing happens. Since 0.2. */
TW_API void tw_epilogue_free(tw_epilogue *epilogue);

typedef enum tw_place {
    TW_HOST = 0, /* ordinary memory of this process */
    /* memory that the device reads in place. CUDA: device, managed or mapped memory. OpenCL: buffers and sub-buffers;
     * where a call takes an address, it takes the cl_mem itself */
    TW_DEVICE = 1
} tw_place;

/* What of C is computed, and what its bits may depend on. TW_LOWER or TW_UPPER: that triangle of a square C; the other
 * elements are neither read nor written. f32, f64, cf32, cf64, i16, i32 and i64 on the cpu. TW_INVARIANT: with these or
 * alone. */
typedef enum tw_flags {
    TW_LOWER = 1, /* elements (i, j) with j <= i */
    TW_UPPER = 2, /* elements (i, j) with j >= i */
    /* On one kind of device the bits of a row of C depend on this row of A and of the old C, on B, n, k, the types and
     * the scalars alone: not on m or the row's place, leading dimensions, alignment, transposes, batches, workspace,
     * threads, or how many devices or multiprocessors compute; nor on a tuned row. The payload and sign of a NaN may
     * differ. cpu: so is every product. cuda: f32 and cf32; f64 and cf64 from sm_80 on; bf16, f16 and tf32 on sm_90. k
     * is not divided, which takes longer where C has few tiles; items of a batch at strides are launched one by one.
     * TW_NO_KERNEL: fp8, floats on opencl, batches of floats by address on cuda, and bf16, f16 and tf32 that must be
     * packed where there is no workspace. Integers are exact everywhere [docs/ACCURACY.md#invariant] */
    TW_INVARIANT = 4,
    /* Where a call takes B it takes what tw_b_pack() made of it. Of a batch all items share it: stride_b is 0. Since
     * 0.2 */
    TW_PACKED_B = 8
} tw_flags;

/* How the error bound that tw_gemm() states is kept. */
typedef enum tw_accuracy {
    TW_NATIVE = 0, /* by dtype's own arithmetic */
    /* also by narrower arithmetic, where the bound holds and it is expected to be faster: cuda, f32 and cf32 on sm_90,
     * k >= 128 (cf32: 64 or 128), three products of f16 for one. Tiles of C whose operands do not allow it are native,
     * NaN and infinities among them, so an element's bits depend on its neighbours' rows and columns. No effect: other
     * types and engines, small products, TW_INVARIANT, several devices, ranks, or no workspace
     * [docs/ACCURACY.md#emulated-f32]. Since 0.2 */
    TW_EMULATED = 1
} tw_accuracy;

/* One multiplication as a plain value, to be copied, printed, compared and logged. Fill it with tw_problem_make(), then
 * change what differs. */
typedef struct tw_problem {
    uint32_t size;  /* sizeof(tw_problem) */
    tw_dtype dtype; /* of A, and of B where dtype_b is 0 */
    /* of C; 0: the result type of dtype (i8, u8: i32; f16, bf16, tf32, e4m3, e5m2: f32; the others: dtype itself). f16
     * and bf16: f32 or dtype itself; e4m3, e5m2: f32, bf16 or f16; i8, u8: i32, on the cpu also f32, i8 or u8, by the
     * scale alpha. Rounded once, to nearest */
    tw_dtype dtype_c;
    tw_op op_a, op_b;
    tw_place place_a, place_b, place_c; /* all three TW_HOST, or all three TW_DEVICE (cuda, opencl) */
    int64_t m, n, k;                    /* >= 0; on GPUs at most 2147482623 */
    /* >= stored columns and >= 1: lda >= (op_a is TW_N or TW_R ? k : m), ldb likewise, ldc >= n */
    int64_t lda, ldb, ldc;
    /* each rounded once to the accumulator's type; of integers whole numbers from -2^31 to 2^31 - 1, of i64 from
     * -2^53 + 1 to 2^53 - 1, but any numbers, and not rounded, where C of i8 or u8 is f32, i8 or u8. Of complex types
     * the real parts */
    double alpha, beta;
    /* largest power of two up to 256 that divides the address. Calls that get the addresses compute it themselves.
     * Calls without addresses read it here; 0 means 256, the smallest alignment of CUDA's allocations */
    uint32_t align_a, align_b, align_c;
    uint32_t reserved; /* not read */
    tw_dtype dtype_b;  /* of B; 0: dtype. Another than dtype only among TW_E4M3 and TW_E5M2, TW_I8 and TW_U8 */
    uint32_t flags;    /* of tw_flags */
    uint32_t accuracy; /* of tw_accuracy */
    /* Reserved for features to come; anything but 0 and NULL is refused. */
    uint32_t scale_kind; /* how scale_a, scale_b and scale_c lie */
    /* of complex types: the imaginary parts of alpha and beta, rounded as these are. Else 0 */
    double alpha_imaginary, beta_imaginary;
    /* Reserved, as above. */
    const void *scale_a, *scale_b, *scale_c; /* factors of fp8 operands, where these lie */
    const tw_epilogue *epilogue;             /* what becomes of C; NULL: alpha op(A) op(B) + beta C */
} tw_problem;

/* tw_problem_make - the problem C = op(A) op(B) on host operands without padding between rows. */
static inline tw_problem tw_problem_make(tw_dtype dtype, tw_op op_a, tw_op op_b, int64_t m, int64_t n, int64_t k)
{
    tw_problem p;
    memset(&p, 0, sizeof p);
    p.size = sizeof p;
    p.dtype = dtype, p.op_a = op_a, p.op_b = op_b;
    p.m = m, p.n = n, p.k = k;
    p.lda = op_a == TW_N || op_a == TW_R ? k : m, p.ldb = op_b == TW_N || op_b == TW_R ? n : k, p.ldc = n;
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
 * a, b, c   aligned to one element, of complex types to one part of it; a and b may overlap each other; c must not
 *           overlap them (not checked).
 *           Only the m x n elements of C are written; the gap between n and ldc stays as it was.
 *           With TW_DEVICE they are device addresses, or OpenCL buffers from their first element on, that no other
 *           stream or queue may be using. If the kernel needs packed operands, the call allocates a workspace and
 *           frees it, or does without where memory is short. tw_enqueue() never allocates.
 *           Operands in host memory that have no room on the device are computed in parts of C, of a long k too
 *           [docs/decisions/0021].
 *
 * Special   m == 0 or n == 0        TW_OK, nothing read, nothing written; pointers may be NULL
 *           k == 0 or alpha == 0    C <- beta * C; A and B are not read and may be NULL
 *           beta == 0               C is not read: NaN in the old C cannot survive
 *           flags                   TW_LOWER, TW_UPPER: only that triangle of C is read and written, with the bits of
 *                                   the whole product, by about half of its flops. Elements near the diagonal that
 *                                   are not wanted may raise floating-point exceptions
 *           otherwise               NaN and infinities propagate as IEEE 754 says
 *
 * Error     element by element, where nothing overflows: with u the accumulator's unit roundoff (2^-24 f32, 2^-53 f64;
 *           2^-23 f16, bf16, tf32 and fp8, whose matrix units truncate where f32 rounds), g(j) = j u / (1 - j u), alpha
 *           and beta as rounded:
 *             |C - exact| <= |alpha| g(k+2) sum|a||b| + g(2) |beta c0| + (max(1, |alpha|) k + 1) smallest subnormal
 *           [docs/ACCURACY.md; where (k+2) u > 1/2 read (1 + u)^j - 1 for g(j)]
 *           bf16: read 2^-125 for the smallest subnormal, and subnormals of A and B (below 2^-126) may count as 0.
 *           Processors with bf16 instructions do both, others neither.
 *           tf32: of the operands as rounded; those of size 0x1.ffep127 and above become infinite. e4m3, e5m2: for
 *           g(k+2) read g(k+2) + (min(k, 128) + 4) 2^-13, which is measured on sm_90 and elsewhere taken over.
 *           cf32, cf64: the real and the imaginary part of an element are each a real sum of 2 k products, ar br and
 *           -ai bi, or ar bi and ai br. With S the sum of their magnitudes, S' that of the other part, c the same part
 *           of C0 and c' the other:
 *             |part - exact| <= g(2k+4) (|alpha_r| S + |alpha_i| S') + g(4) (|beta_r c| + |beta_i c'|)
 *                               + (max(1, |alpha_r| + |alpha_i|) 2k + 2) smallest positive subnormal
 *           Where neither scalar has an imaginary part, the bound above holds with 2 k for k. A scalar without an
 *           imaginary part multiplies both parts as a real number: infinities stay what they are.
 *           i8, u8: no error. C is the exact result modulo 2^32, from -2^31 to 2^31 - 1. With alpha 1 and beta 0
 *           nothing wraps around up to k = 131071, of u8 by i8 up to 65793, of u8 by u8 up to 33025.
 *           C in f32, i8 or u8 of these: s, the exact sum modulo 2^32, from -2^31 to 2^31 - 1, is scaled in double:
 *           alpha s, beta c0 and their sum are each rounded to double, in the same way by every instruction set and
 *           number of threads, and what is within 2^-52 (1 + 2^-51) (|alpha s| + |beta c0|) + 2^-1074 of the exact
 *           number is rounded once more, to C's type. f32: as IEEE 754 says, also of NaN and infinities in the old C,
 *           of such scalars and of overflow. i8, u8: to the nearest whole number, ties to even, whatever the rounding
 *           mode; beyond the least or the largest to that; NaN, which only scalars or two overflows make, to 0.
 *           i16, i32, i64: no error. C is the exact result modulo 2^16, 2^32 or 2^64, as NumPy has it.
 *
 * Cost      2 m n k flops, of complex types 8 m n k; at least (m k + k n + m n) elements moved, m n more when
 *           beta != 0.
 *
 * Returns   TW_OK
 *           TW_BAD_ARGUMENT, TW_NO_KERNEL                 C untouched
 *           TW_NO_MEMORY, TW_BUILD_FAILED, TW_NO_DEVICE   C untouched
 *           TW_DEVICE_FAILED                              C undefined; also where memory ran out between parts
 *           TW_CANCELLED                                  C undefined: tw_cancel()
 *
 * Sources   Dongarra, Du Croz, Hammarling, Duff: A set of level 3 BLAS, 1990. Goto, van de Geijn: Anatomy of
 *           high-performance matrix multiplication, 2008. Higham: Accuracy and stability, 2002, section 3.5. */
TW_API tw_status tw_gemm(tw_context *context, const tw_problem *problem, const void *a, const void *b, void *c);

/* tw_packed_b - a copy of B in the layout that kernels of the cpu engine read. Since 0.2. */
typedef struct tw_packed_b tw_packed_b;

/* tw_b_pack - copy a B that many products have in common, as a layer's weights: none of them packs it again. Since 0.2.
 *
 *     tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, m, n, k);
 *     tw_b_pack(context, &p, weights, &packed);
 *     p.flags = TW_PACKED_B;
 *     tw_gemm(context, &p, x, packed, y);
 *
 * problem   only dtype, dtype_b, op_b, n, k, ldb and place_b (TW_HOST) are read
 * b         as for tw_gemm(). Not needed afterwards
 * out       for any number of products of any thread at the same time, whose problems have the flag TW_PACKED_B and the
 *           same dtype, dtype_b, op_b, n and k, of contexts of the cpu engine with the same instruction set; m, op_a,
 *           types of C, epilogues, triangles and batches may be any. ldb is not read then. Without the flag a call
 *           would take it for B itself. tw_b_free() frees it, when no product that uses it is under way
 *
 * Special   C has the bits that it has without. cuda, opencl, tw_gemm_blocks() and tw_mpi_gemm() take no packed B. A
 *           product by it may need more memory than one by B itself, and be TW_NO_MEMORY where that has room
 *
 * Cost      on a Xeon 2 to 64 rows take about half the time that they take without, one row of f32 as long, of bf16 and
 *           i8 up to 1.7 times as long where B is stored n x k [docs/perf/cpu-packed-b.md]
 *
 * Memory    n x k elements as the kernel reads them, n rounded up to its tile's columns (at most 48), k to 64: f16 in
 *           f32; without instructions for them bf16 in f32, and i8 and u8 in 16 bits
 *
 * Returns   TW_OK
 *           TW_BAD_ARGUMENT   out is NULL, or as tw_gemm()
 *           TW_NO_KERNEL      the engine packs no B ahead
 *           TW_NO_MEMORY */
TW_API tw_status tw_b_pack(tw_context *context, const tw_problem *problem, const void *b, tw_packed_b **out);

/* tw_b_free - frees a packed B; NULL: nothing happens. Since 0.2. */
TW_API void tw_b_free(tw_packed_b *packed);

/* A rectangle of a matrix as stored, and where it lies. */
typedef struct tw_block {
    uint32_t size;                      /* sizeof(tw_block) */
    int32_t device;                     /* place in options.devices, from 0; TW_BLOCK_ON_HOST */
    int64_t row, column, rows, columns; /* of the matrix: the first, and how many */
    void *at;                           /* the first element: an address of that device, or of host memory */
    int64_t ld;                         /* elements from one row of the block to the next */
} tw_block;

enum { TW_BLOCK_ON_HOST = -1 };

/* tw_gemm_blocks - compute one multiplication whose matrices lie in blocks on the context's devices, wait for it,
 * return. Since 0.2.
 *
 *     C[m, n]  <-  alpha * op(A)[m, k] * op(B)[k, n]  +  beta * C[m, n]
 *
 * problem   as in tw_gemm; place_a to place_c and lda to ldc are not read: the blocks have their own
 * a, b, c   arrays of a_count, b_count and c_count blocks, at most 1024, which cover the matrix and do not overlap, all
 *           of them in host memory or none. At most one block of C for each device; where it lies it is computed. A C
 *           in host memory is one block, which is divided among the devices. No stream may be using them.
 *
 * Special   m, n, k, alpha and beta as in tw_gemm; where A and B are not read they may be NULL.
 *           What a block of C needs of A or B is read in place where one block of its device has all of it; else it is
 *           copied there in panels, from the other devices by their copy engines, beside the work.
 *           Each element is computed with the whole of k, by the kernel that one device would take for the whole: its
 *           bits are those of one device, but where that kernel divides k by the size of C (stream-K, split-K), and
 *           on sm_90 for few rows or columns of tf32 and fp8, which another kernel computes than on one device.
 *
 * Cost      2 m n k flops. The memory for panels is kept for the next call, up to an eighth of a device's.
 *
 * Returns   as tw_gemm; TW_NO_KERNEL where the context is not of the cuda engine or a type is complex, TW_NO_MEMORY
 *           where a device has no room for panels of 256 rows and columns: C untouched */
TW_API tw_status tw_gemm_blocks(tw_context *context, const tw_problem *problem, const tw_block *a, int32_t a_count,
                                const tw_block *b, int32_t b_count, const tw_block *c, int32_t c_count);

/* Many products of one shape, each with its own operands: how many, and where they lie. */
typedef struct tw_batch {
    uint32_t size; /* sizeof(tw_batch) */
    /* 0: items lie at strides from the first. 1: a, b and c are arrays of `count` addresses of items; strides are 0 */
    uint32_t pointers;
    int64_t count; /* >= 0 */
    /* >= 0: elements from the start of one item to the start of the next. stride_a or stride_b 0: all items share the
     * operand. Items of C must not overlap: stride_c >= (m - 1) ldc + n, or they lie side by side in rows of ldc */
    int64_t stride_a, stride_b, stride_c;
} tw_batch;

/* tw_batch_make - a batch whose items lie one after the other, each as whole rows of lda, ldb and ldc elements. */
static inline tw_batch tw_batch_make(const tw_problem *problem, int64_t count)
{
    tw_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.size = sizeof batch;
    batch.count = count;
    batch.stride_a = (problem->op_a == TW_N || problem->op_a == TW_R ? problem->m : problem->k) * problem->lda;
    batch.stride_b = (problem->op_b == TW_N || problem->op_b == TW_R ? problem->k : problem->n) * problem->ldb;
    batch.stride_c = problem->m * problem->ldc;
    return batch;
}

/* tw_gemm_batched - compute all products of a batch on the context's device, wait for them, return.
 *
 *     C_i[m, n]  <-  alpha * op(A_i)[m, k] * op(B_i)[k, n]  +  beta * C_i[m, n],   0 <= i < count
 *
 * problem   holds for every item. With arrays of addresses in device memory, every address must be a multiple of
 *           align_a, align_b and align_c; 0 means 256. Set 4 where an item may begin at any float: a kernel that reads
 *           16 bytes at a time from another address ends the CUDA context.
 * a, b, c   strides: the first item's operands, A_i = a + i stride_a. Pointers: arrays of addresses, in host memory
 *           with TW_HOST and in device memory with TW_DEVICE. Not checked: addresses in device memory, and whether
 *           items of C at addresses overlap. OpenCL has no addresses: with TW_DEVICE items lie at strides, and those
 *           of complex types on CUDA too.
 *
 * Special   count, m or n 0         TW_OK, nothing read, nothing written; pointers may be NULL
 *           k == 0 or alpha == 0    a and b are not read and may be NULL, as arrays too
 *           The bits of an item depend neither on its index in the batch nor, except on opencl, on count. On the cpu
 *           they equal tw_gemm's.
 *
 * Cost      cpu: the threads divide the items among them, or the tiles of an item where items are few; an operand with
 *           stride 0 that all threads use packed is packed once. cuda: one launch for operands in device memory, but
 *           one item after the other for large items at strides and complex types. opencl: one launch for buffers, or
 *           one item after the other where that costs less. Operands in host memory, on a GPU's engine: one item after
 *           the other.
 *
 * Returns   as tw_gemm; after TW_NO_MEMORY and TW_DEVICE_FAILED all of C is undefined */
TW_API tw_status tw_gemm_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch, const void *a,
                                 const void *b, void *c);

/* Where and when a tw_enqueue() computes: on CUDA a stream, on OpenCL a queue, behind events. Fields of the other
 * engine are 0. OpenCL's objects belong to options.device_context. */
typedef struct tw_launch {
    uint32_t size;     /* sizeof(tw_launch) */
    uint32_t reserved; /* not read */
    /* CUDA: a CUstream (or cudaStream_t) of the context's CUDA context; NULL: its default stream */
    void *stream;
    /* not used by others until the product is done; NULL: none. CUDA: device memory, aligned to 256 bytes. OpenCL: a
     * cl_mem, of which the first workspace_bytes are used */
    void *workspace;
    int64_t workspace_bytes; /* at least what tw_workspace_bytes() says; 0 with NULL */
    /* Reserved for features to come; anything but 0 is refused. */
    uint32_t flags;
    uint32_t wait_count;    /* OpenCL: the length of wait_list */
    void *const *wait_list; /* OpenCL: cl_events that the product waits for; NULL: none */
    void *queue;            /* OpenCL: the cl_command_queue, in order or out of order, of the context's device */
    /* OpenCL: receives the cl_event of the product, for clReleaseEvent(); only after TW_OK. NULL: not wanted */
    void **event;
    int64_t offset_a, offset_b, offset_c; /* OpenCL: elements of a, b and c before the first that is used */
} tw_launch;

/* tw_enqueue - put one multiplication on the caller's stream or queue and return: an asynchronous tw_gemm for operands
 * in device memory.
 *
 * a, b, c   as in tw_gemm, with place_a, place_b and place_c TW_DEVICE. alpha and beta are read now, the operands when
 *           the stream reaches the product.
 * launch    may be NULL on CUDA: the default stream, no workspace
 *
 * Special   m, n, k, alpha and beta as in tw_gemm: C <- beta * C happens on the stream too; with m or n 0 nothing is
 *           enqueued.
 *           In f32 the fastest kernels read B as k x n and A as k x m; in bf16 and f16 they read any transpose. All of
 *           them load by TMA, which needs addresses and rows that are multiples of 16 bytes. Other operands are
 *           transposed or copied into the workspace first. Without a workspace a slower kernel reads them in place; in
 *           bf16 and f16 that needs C in f32 (sm_80 on). Complex types need one. It also holds the partial
 *           sums where k is divided, which makes a product in f32 up to a sixth faster, and a deep one with a small C
 *           in the matrix units' types several times. It need not be cleared, and its content afterwards has no
 *           meaning.
 *           Our kernels trigger programmatic dependent launch (PDL). A kernel of the caller's that follows with
 *           programmatic stream serialization must wait (griddepcontrol.wait, cudaGridDependencySynchronize) before it
 *           reads C.
 *           On OpenCL a, b and c are buffers or sub-buffers (cl_mem), checked for context, access and size. Images and
 *           SVM pointers are not taken; a buffer made of an SVM pointer by CL_MEM_USE_HOST_PTR is. What else is not a
 *           live handle of its kind is the driver's to notice, or not. A product may be several commands: each waits
 *           for the one before it, the first one for wait_list, and event is the last one's. An empty product with an
 *           event is a marker behind wait_list. The queue is not flushed. On processors the
 *           fast kernels want a workspace.
 *
 * Cost      Allocates no memory, copies nothing to or from the host, waits for nothing. The first call that needs a
 *           kernel compiles it; tw_prepare() does that ahead. On OpenCL that includes a self-test of the kernel, which
 *           allocates small buffers and waits for a queue of the context's own [docs/decisions/0018]. While the stream
 *           is being captured into a graph, a kernel that is not compiled yet is refused; everything else can be
 *           captured.
 *
 * Returns   TW_OK: enqueued. If the kernel fails while it runs, the stream's next call reports it
 *           TW_BAD_ARGUMENT (also what is of another CUDA or OpenCL context, a workspace that is too small, a buffer
 *           that is too small or of the wrong access), TW_NO_KERNEL,
 *           TW_BUILD_FAILED (also a kernel not built before a capture), TW_NO_DEVICE (after fork())    nothing enqueued
 *           TW_NO_MEMORY, TW_DEVICE_FAILED (also where an earlier kernel has ended the CUDA context)   C undefined */
TW_API tw_status tw_enqueue(tw_context *context, const tw_problem *problem, const void *a, const void *b, void *c,
                            const tw_launch *launch);

/* tw_enqueue_batched - put a batch on the caller's stream or queue: an asynchronous tw_gemm_batched for operands, and
 * on CUDA arrays of addresses, in device memory. On CUDA only large items and complex ones use a workspace
 * (tw_workspace_bytes_batched()); one that is too small counts as none. On OpenCL items are one launch too, but where
 * those that divide k are faster one by one: these share the workspace. All else as in tw_enqueue. */
TW_API tw_status tw_enqueue_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch,
                                    const void *a, const void *b, void *c, const tw_launch *launch);

/* tw_workspace_bytes - the device memory that tw_enqueue() wants from its caller for this problem (TW_DEVICE; reads
 * align_a, align_b, align_c, and alpha and beta as tw_prepare). 0: nothing is packed and no partial sums are kept. On
 * CUDA at most 4 (k + 31) (m + n + 62) + 512 in f32, and 560,000 for each multiprocessor; in cf32 double all that for
 * 2 m, 2 n and 2 k, and 16 m (n + 16). On OpenCL it depends on the kernel's self-test, which is run if it was not yet.
 * Returns TW_OK, TW_BAD_ARGUMENT, TW_NO_KERNEL, on OpenCL also what tw_prepare would. */
TW_API tw_status tw_workspace_bytes(tw_context *context, const tw_problem *problem, int64_t *bytes);

/* tw_workspace_bytes_batched - the same for tw_enqueue_batched(): where the batch is one launch what that wants, on
 * CUDA 0; else what one item wants. */
TW_API tw_status tw_workspace_bytes_batched(tw_context *context, const tw_problem *problem, const tw_batch *batch,
                                            int64_t *bytes);

/* tw_prepare - compile the kernels of a problem now, with and without a workspace, so that no later tw_gemm or
 * tw_enqueue has to. Every field of the problem counts, align_a, align_b and align_c too; of alpha and beta only
 * whether they are 0, and whether their imaginary parts are. A product of host memory that is divided, among devices or
 * for lack of memory, may still compile some as it goes, or find no kernel for a part. Else returns what tw_gemm would;
 * computes nothing. */
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
