/* test_faults.c - machines on which something is missing, too old, broken, or not allowed: each gives a sentence that
 * says what to do, the right status, and no crash; the CPU engine goes on in the same process. And the cache of
 * compiled kernels, which must be doubted.
 *
 * The faults come from shared objects in the drivers' names (tests/fakes), found through LD_LIBRARY_PATH by a process
 * of its own: this program with --child ENGINE, which prints what it met. Memory runs out by an aligned_alloc() of this
 * program's own. Permission tests drop to an unprivileged user where they run as root. */
#define _GNU_SOURCE /* sched_getcpu */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "support/cuda_caller.h"
#include "engines/opencl/cl_api.h"
#include "jit_cache.h"
#include "sha256.h"
#include "support/spaced.h"
#include "support/tap.h"
#include "tilewright_lab.h"

enum { NOBODY = 65534, OUTPUT = 16384, N = 24 };
static char work[] = "/tmp/tilewright-faults.XXXXXX", log_path[64];

/* ---- memory that runs out ---- */

static atomic_size_t most_bytes = SIZE_MAX; /* that the library gets at a time */
static atomic_int refusals;

/* In place of the system's, for the library in this program. */
void *aligned_alloc(size_t alignment, size_t bytes)
{
    void *memory;
    if (bytes <= atomic_load(&most_bytes)) return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
    atomic_fetch_add(&refusals, 1);
    return NULL;
}

/* So many allocations of the library still succeed, then one fails; below 0: none does. The linker puts these before
 * malloc() and its like, in this program alone: no driver's fails. */
static atomic_int allocations_left = -1;
void *__real_malloc(size_t bytes), *__real_calloc(size_t count, size_t bytes),
    *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes), *__wrap_calloc(size_t count, size_t bytes),
    *__wrap_realloc(void *memory, size_t bytes);

static bool fails_now(void)
{
    return atomic_load(&allocations_left) >= 0 && atomic_fetch_sub(&allocations_left, 1) == 0;
}

void *__wrap_malloc(size_t bytes) { return fails_now() ? NULL : __real_malloc(bytes); }
void *__wrap_calloc(size_t count, size_t bytes) { return fails_now() ? NULL : __real_calloc(count, bytes); }
void *__wrap_realloc(void *memory, size_t bytes) { return fails_now() ? NULL : __real_realloc(memory, bytes); }

/* A product on a context of its own, with no more than `most` bytes at a time; as two items, of half its rows each,
 * where halves is set. */
static tw_status product_within(size_t most, int threads, bool halves, const tw_problem *p, const void *a,
                                const void *b, void *c)
{
    tw_problem half = *p;
    half.m /= 2;
    const tw_batch batch = {.size = sizeof batch, .count = 2, .stride_a = half.m * p->lda, .stride_c = half.m * p->ldc};
    const tw_options options = {.size = sizeof options, .engine = "cpu", .threads = threads};
    tw_context *context = NULL;
    tw_status status = tw_open(&options, &context);
    if (status != TW_OK) return status;
    atomic_store(&most_bytes, most);
    status = halves ? tw_gemm_batched(context, &half, &batch, a, b, c) : tw_gemm(context, p, a, b, c);
    atomic_store(&most_bytes, SIZE_MAX);
    tw_close(context);
    return status;
}

/* Less and less memory for the packed parts: smaller blocks, none, those on the stack; always the same bits. */
static void memory_case(tw_dtype dtype, tw_op op_a, tw_op op_b, double beta)
{
    /* rows of B 4 KiB apart, and not few of C: packed, however large the caches are */
    enum { ROWS = 150, COLS = 1024, DEPTH = 700, MOST = 8 };
    static const size_t limits[] = {4 << 20, 1 << 20, 300 << 10, 100 << 10, 20 << 10, 0};
    if (!tap_case("cpu, memory runs out: %s %c%c beta %g", tw_lab_dtype_of(dtype)->name, op_a == TW_N ? 'n' : 't',
                  op_b == TW_N ? 'n' : 't', beta))
        return;
    tw_problem p = tw_problem_make(dtype, op_a, op_b, ROWS, COLS, DEPTH);
    unsigned char *a = malloc(ROWS * DEPTH * MOST), *b = malloc(DEPTH * COLS * MOST);
    char *old = calloc(ROWS * COLS, MOST), *whole = malloc(ROWS * COLS * MOST), *part = malloc(ROWS * COLS * MOST);
    bool right = a && b && old && whole && part;
    const int width = tw_lab_dtype_of(dtype)->bytes;
    p.beta = beta;
    /* Bytes of whatever pattern, but no number too large: the highest two of each are those of 1 to 2. */
    for (int i = 0; right && i < ROWS * DEPTH * MOST; i++) a[i] = (unsigned char)(i % 251 * 31);
    for (int i = 0; right && i < DEPTH * COLS * MOST; i++) b[i] = (unsigned char)(i % 241 * 37);
    for (int i = width - 1; right && width > 1 && i < ROWS * DEPTH * MOST; i += width) a[i] = 0x3f, a[i - 1] |= 0x80;
    for (int i = width - 1; right && width > 1 && i < DEPTH * COLS * MOST; i += width) b[i] = 0xbf, b[i - 1] |= 0x80;
    if (right) memcpy(whole, old, ROWS * COLS * MOST);
    right = right && product_within(SIZE_MAX, 1, false, &p, a, b, whole) == TW_OK;
    size_t most = SIZE_MAX;
    for (size_t i = 0; right && i < 4 * sizeof limits / sizeof *limits; i++) {
        if (i % 4 >= 2 && op_a == TW_T) continue; /* halves of its rows do not lie one after the other */
        int before = atomic_load(&refusals);
        most = limits[i / 4];
        memcpy(part, old, ROWS * COLS * MOST);
        right = product_within(most, 1 + (int)(i % 2), i % 4 >= 2, &p, a, b, part) == TW_OK &&
                memcmp(part, whole, ROWS * COLS * MOST) == 0;
        if (most == 0 && i % 4 < 2) right = right && atomic_load(&refusals) > before;
    }
    free(a), free(b), free(old), free(whole), free(part);
    tap_result(right, "within %zu bytes at a time: %s", most, tw_error_text());
}

static void memory_cases(void)
{
    memory_case(TW_F32, TW_N, TW_N, 0);
    memory_case(TW_F32, TW_N, TW_T, 1.5);
    memory_case(TW_F32, TW_T, TW_N, 1.5);
    memory_case(TW_F64, TW_N, TW_N, 1.5);
    memory_case(TW_F64, TW_T, TW_T, 0.5);
    memory_case(TW_BF16, TW_N, TW_N, 1.5);
    memory_case(TW_I8, TW_N, TW_T, 2);
}

/* ---- the child ---- */

/* One line, though the sentence ends in the lines of a compiler's log. */
static void tell(const char *what, tw_status status)
{
    printf("%s:%d:", what, (int)status);
    for (const char *at = status == TW_OK ? "" : tw_error_text(); *at != '\0'; at++) putchar(*at == '\n' ? ' ' : *at);
    putchar('\n');
}

static void mark(const char *text)
{
    FILE *log = fopen(getenv("FAKE_LOG"), "a");
    if (log == NULL) return;
    fprintf(log, "%s\n", text);
    fclose(log);
}

/* One product of a rung, launched so often, whether or not a launch fails; the first failure. */
static tw_status run_rung(tw_context *context, const char *engine, const char *rung, int launches, const float *a,
                          const float *b, float *c)
{
    char kernel[64];
    tw_lab_choice choice = {.kernel = kernel};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, N, N, N);
    tw_lab_resources resources;
    tw_lab_run *run = NULL;
    snprintf(kernel, sizeof kernel, "%s_f32_%s", engine, rung);
    tw_status status = tw_lab_run_open(context, &choice, &p, a, b, c, &run);
    if (status != TW_OK) return status;
    for (int i = 0; i < launches; i++) {
        tw_status launched = tw_lab_run_once(run, NULL);
        if (status == TW_OK) status = launched;
    }
    if (status == TW_OK) status = tw_lab_run_fetch(run, c);
    tw_lab_run_resources(run, &resources);
    tw_lab_run_close(run);
    return status;
}

static bool cpu_right(void)
{
    float a[N * N], b[N * N], c[N * N];
    tw_options options = {.size = sizeof options, .engine = "cpu"};
    tw_context *context = NULL;
    for (int i = 0; i < N * N; i++) a[i] = (float)(i % 3), b[i] = (float)(i % N == i / N);
    bool right = tw_open(&options, &context) == TW_OK &&
                 tw_sgemm(context, TW_N, TW_N, N, N, N, 1, a, N, b, N, 0, c, N) == TW_OK;
    tw_close(context);
    return right && memcmp(a, c, sizeof a) == 0;
}

/* Operands with unmapped padding go up and C comes down; with a fake driver, which computes nothing, C is then what it
 * was. */
static tw_status run_spaced(tw_context *context)
{
    spaced s[3];
    bool same = true;
    for (int i = 0; i < 3; i++) s[i] = spaced_make(N, N - 1, 2 + i, i % 2 == 0);
    for (int i = 0; i < N * (N - 1); i++) *spaced_at(&s[2], i / (N - 1), i % (N - 1)) = (float)i;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, N, N - 1, N - 1);
    p.lda = s[0].ld, p.ldb = s[1].ld, p.ldc = s[2].ld, p.beta = 1;
    tw_status status = tw_gemm(context, &p, s[0].at, s[1].at, s[2].at);
    for (int i = 0; status == TW_OK && i < N * (N - 1); i++)
        same = same && *spaced_at(&s[2], i / (N - 1), i % (N - 1)) == (float)i;
    if (!same || !spaced_is_clean(&s[2])) puts("C came back changed");
    for (int i = 0; i < 3; i++) spaced_free(&s[i]);
    return status;
}

/* A C of so many rows and columns, `pad` elements between rows, goes up and comes back as it was, the padding
 * included. */
static tw_status run_large_c(tw_context *context, tw_op op_b, int64_t rows, int64_t cols, int64_t pad)
{
    static const float little[4096];
    size_t count = (size_t)(rows * (cols + pad));
    float *c = malloc(2 * count * sizeof *c), *b = calloc((size_t)cols, sizeof *b);
    tw_problem p = tw_problem_make(TW_F32, TW_N, op_b, rows, cols, 1);
    p.ldc += pad, p.beta = 1;
    if (c == NULL || b == NULL) exit(98);
    for (size_t i = 0; i < count; i++) c[i] = c[count + i] = (float)(i * 7919 % 1000003);
    tw_status status = tw_gemm(context, &p, little, b, c);
    if (status == TW_OK && memcmp(c, c + count, count * sizeof *c) != 0) puts("C came back changed");
    free(c), free(b);
    return status;
}

/* Rows shorter than a piece of a copy, without and with padding, of an odd length; rows longer; one row. */
static tw_status run_large(tw_context *context)
{
    tw_status status = run_large_c(context, TW_N, 1500, 3000, 0);
    if (status == TW_OK) status = run_large_c(context, TW_N, 1501, 3001, 5);
    if (status == TW_OK) status = run_large_c(context, TW_N, 3, 1700001, 2);
    return status == TW_OK ? run_large_c(context, TW_N, 1, 5000001, 0) : status;
}

static void tell_skinny(tw_context *context, const char *engine)
{
    char kernel[64];
    tw_lab_plan plan = {0};
    tw_lab_choice choice = {.kernel = kernel};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, N, N, 16);
    snprintf(kernel, sizeof kernel, "%s_f32_s2_shared_a", engine);
    tw_status status = tw_lab_plan_of(context, &choice, &p, &plan);
    printf("skinny:%d:%s\n", (int)status, plan.text);
}

static void tell_plan(tw_context *context)
{
    tw_lab_plan plan = {0};
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 2048, 2047, 2047);
    tw_status status = tw_lab_plan_of(context, NULL, &p, &plan);
    printf("plan:%d:%s\n", (int)status, plan.text);
}

enum { THREADS = 8, CALLS = 25 };

static void *call_often(void *context)
{
    static const float x[2 * N * N];
    float c[N * N];
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, N, N, N);
    intptr_t failed = 0;
    for (int i = 0; i < CALLS; i++) failed += tw_gemm(context, &p, x, x + N * N, c) != TW_OK;
    return (void *)failed;
}

static tw_status run_threads(tw_context *context)
{
    pthread_t threads[THREADS];
    intptr_t failed = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, call_often, context);
    for (int i = 0; i < THREADS; i++) {
        void *one;
        pthread_join(threads[i], &one);
        failed += (intptr_t)one;
    }
    return failed == 0 ? TW_OK : TW_DEVICE_FAILED;
}

/* The drivers are loaded before the privileges go: an unprivileged user may not be able to reach the folder of the
 * build. */
static void drop_privileges(void)
{
    cl_api_load();
    cu_api_load();
    nvrtc_api_load();
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) exit(99);
}

/* Once around: whatever comes is a status and a sentence. */
static bool goes_round(const char *engine, int *refused)
{
    static float x[3 * N * N];
    tw_device devices[8] = {{.size = sizeof devices[0]}};
    tw_options options = {.size = sizeof options, .engine = engine};
    tw_context *context = NULL;
    char text[600];
    int32_t count;
    tw_status status = tw_devices(devices, 8, &count);
    bool right = status == TW_OK;
    tw_lab_engine_state(engine, text, sizeof text);
    status = tw_open(&options, &context);
    right = right && (status == TW_OK || (status == TW_NO_MEMORY && context == NULL && tw_error_text()[0] != '\0'));
    if (status == TW_OK) status = tw_sgemm(context, TW_N, TW_N, N, N, N, 1, x, N, x + N * N, N, 0, x + 2 * N * N, N);
    if (status != TW_OK) ++*refused, right = right && status == TW_NO_MEMORY && tw_error_text()[0] != '\0';
    if (!right) tell("wrong", status);
    tw_close(context);
    return right;
}

static int allocations(const char *engine)
{
    int places = 0, refused = 0;
    bool right = true, more = true;
    for (; more && places < 1000; places++) {
        atomic_store(&allocations_left, places);
        right = goes_round(engine, &refused) && right;
        more = atomic_exchange(&allocations_left, -1) < 0;
    }
    printf("allocations:%d:%s\n", places, right && refused > 0 ? "all told" : "not all told");
    puts(cpu_right() ? "cpu:right" : "cpu:wrong");
    return 0;
}

static int child(const char *engine)
{
    static float x[3 * N * N];
    char text[1024] = "";
    double rate;
    int32_t count = -1;
    const char *large = getenv("FAULTS_LARGE"); /* so many threads copy */
    tw_options options = {.size = sizeof options,
                          .engine = engine,
                          .threads = large != NULL && strcmp(engine, "cuda") == 0 ? atoi(large) : 0};
    tw_context *context = NULL;
    alarm(120);
    if (getenv("FAULTS_ONE_PROCESSOR") != NULL) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        if (sched_setaffinity(0, sizeof one, &one) != 0) exit(97);
    }
    if (getenv("FAULTS_DROP") != NULL && geteuid() == 0) drop_privileges();
    if (getenv("FAULTS_PRIVILEGED") != NULL &&
        (getauxval(AT_SECURE) == 0 || dlopen(getenv("FAULTS_PRIVILEGED"), RTLD_NOW) == NULL))
        exit(96);
    if (getenv("FAULTS_ALLOCATIONS") != NULL) return allocations(engine);
    if (getenv("FAULTS_FULL") != NULL) {
        struct rlimit most = {0, 0};
        /* the first bytes of a file still fit */
        if (getenv("FAULTS_FULL")[0] == 'l') most.rlim_cur = most.rlim_max = 64;
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &most);
    }
    int state = tw_lab_engine_state(engine, text, sizeof text);
    printf("state:%d:%s\n", state, text);
    tw_status status = tw_open(&options, &context);
    tell("open", status);
    if (status == TW_OK) {
        tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, N, N, N);
        /* a workspace and two kernels */
        tell("deep", run_rung(context, engine, "d1_splitk", 2, x, x + N * N, x + 2 * N * N));
        tell("run", run_rung(context, engine, "r04_banks", 1, x, x + N * N, x + 2 * N * N));
        tell("gemm", tw_gemm(context, &p, x, x + N * N, x + 2 * N * N));
        tell("spaced", run_spaced(context));
        tell_skinny(context, engine);
        tell_plan(context);
        if (large != NULL) tell("large", run_large(context));
        if (getenv("FAULTS_PANELS") != NULL) {
            mark("begin panels");
            status = run_large_c(context, getenv("FAULTS_PANELS")[0] == 't' ? TW_T : TW_N, 2001, 8500, 3);
            mark("end");
            tell("panels", status);
        }
        if (getenv("FAULTS_THREADS") != NULL) tell("threads", run_threads(context));
        tell("peak", tw_lab_peak_flops(context, TW_F32, 1, 1, &rate));
        tell("bandwidth", tw_lab_bandwidth(context, 1 << 20, 1, 1, &rate));
        tell("shared", tw_lab_shared_bandwidth(context, 1, &rate));
        tw_close(context);
    }
    puts(cpu_right() ? "cpu:right" : "cpu:wrong");
    status = tw_devices(NULL, 0, &count);
    printf("devices:%d:%s\ncount:%d:\n", (int)status, tw_error_text(), (int)count);
    /* LeakSanitizer may not look at such a program */
    if (getenv("FAULTS_PRIVILEGED") != NULL) fflush(stdout), _exit(0);
    return 0;
}

/* ---- a child that uses CUDA itself, and gives the library its context, stream and memory (the fake's is the host's)
 * ---- */

/* One call of tw_enqueue; the log tells where it begins and ends. */
static void enqueue(const char *what, tw_context *context, const tw_problem *p, const float *x, const tw_launch *launch)
{
    char line[64];
    snprintf(line, sizeof line, "begin %s", what);
    mark(line);
    tw_status status = tw_enqueue(context, p, x, x + N * N, (float *)(uintptr_t)x + 2 * N * N, launch);
    mark("end");
    tell(what, status);
}

/* The same of tw_enqueue_batched, at strides or, in device memory of the fake's, by address. */
static void enqueue_batch(const char *what, tw_context *context, const tw_problem *p, const tw_batch *batch,
                          const void *x, const tw_launch *launch)
{
    char line[64];
    snprintf(line, sizeof line, "begin %s", what);
    mark(line);
    tw_status status = tw_enqueue_batched(context, p, batch, x, x, (void *)(uintptr_t)x, launch);
    mark("end");
    tell(what, status);
}

/* A batch in one launch wants no workspace; of items one after the other each wants, and then has, the same. */
static tw_status batch_workspace(tw_context *context, const tw_problem *p, const tw_batch *batch, bool each)
{
    int64_t of_batch = -1, of_item = -1;
    if (tw_workspace_bytes_batched(context, p, batch, &of_batch) != TW_OK ||
        tw_workspace_bytes(context, p, &of_item) != TW_OK)
        return TW_NO_KERNEL;
    return of_batch == (each ? of_item : 0) && (!each || of_item > 0) ? TW_OK : TW_BAD_ARGUMENT;
}

static void use_batches(tw_context *context, const caller *me, const tw_problem *of, const float *x,
                        const tw_launch *launch)
{
    void *graph;
    tw_problem p = *of, large = *of;
    p.m = p.n = p.k = 8;
    large.m = large.n = 2304, large.lda = large.ldb = large.ldc = 2304;
    tw_batch batch = tw_batch_make(&p, 5), two = tw_batch_make(&large, 2),
             pointers = {.size = sizeof pointers, .pointers = 1, .count = 5};
    me->cuStreamBeginCapture_v2(launch->stream, CALLER_CAPTURE_GLOBAL);
    enqueue_batch("batch captured too early", context, &p, &batch, x, launch);
    me->cuStreamEndCapture(launch->stream, &graph);
    tell("prepare batch", tw_prepare_batched(context, &p, &batch));
    me->cuStreamBeginCapture_v2(launch->stream, CALLER_CAPTURE_GLOBAL);
    enqueue_batch("batch", context, &p, &batch, x, launch);
    enqueue_batch("batch by address", context, &p, &pointers, x, launch);
    me->cuStreamEndCapture(launch->stream, &graph);
    tw_prepare_batched(context, &large, &two);
    enqueue_batch("batch of large items", context, &large, &two, x, launch);
    enqueue_batch("batch of large items by address", context, &large, &pointers, x, launch);
    enqueue_batch("batch without an array", context, &p, &pointers, NULL, launch);
    batch.count = INT32_MAX, batch.stride_a = batch.stride_b = 0;
    if (getenv("FAKES") == NULL) /* elsewhere a device without multiprocessors may want a launch for each */
        enqueue_batch("batch of many items", context, &p, &batch, x, launch);
    large.lda++, two = tw_batch_make(&large, 2);
    if (getenv("FAKES") != NULL) /* elsewhere no memory may be asked for */
        tell("gemm of large items", tw_gemm_batched(context, &large, &two, x, x, (void *)(uintptr_t)x));
    tell("workspace of a batch in one launch", batch_workspace(context, &p, &pointers, false));
    tell("workspace of a batch of large items", batch_workspace(context, &large, &two, true));
    tw_problem tiles = *of;
    tiles.m = tiles.n = 128, tiles.lda = tiles.ldb = tiles.ldc = 128;
    two = tw_batch_make(&tiles, 2), two.stride_b = 0;
    tw_prepare_batched(context, &tiles, &two);
    enqueue_batch("batch of tiles", context, &tiles, &two, x, launch);
    batch.count = 0;
    enqueue_batch("batch of nothing", context, &p, &batch, x, launch);
    p.dtype = TW_BF16, batch = tw_batch_make(&p, 5), batch.stride_a++;
    enqueue_batch("batch of halves", context, &p, &batch, x, launch);
    p.dtype_c = TW_BF16;
    enqueue_batch("batch of halves to halves", context, &p, &pointers, x, launch);
    p.place_a = p.place_b = p.place_c = TW_HOST, p.dtype = p.dtype_c = TW_F32;
    enqueue_batch("batch in host memory", context, &p, &batch, x, launch);
    p = *of, batch = tw_batch_make(&p, 1);
    tell("gemm of a batch", tw_gemm_batched(context, &p, &batch, x, x, (void *)(uintptr_t)x));
}

static void after_fork(tw_context *context, const tw_problem *p, float *x)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        tell("enqueue after fork", tw_enqueue(context, p, x, x, x + N * N, NULL));
        tell("prepare after fork", tw_prepare(context, p));
        mark("begin close after fork");
        tw_close(context);
        mark("end");
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void use_streams(tw_context *context, const caller *me, cu_stream stream, cu_stream foreign)
{
    enum { EDGE = 512 }; /* on one multiprocessor, for which tiles of 128 x 128 are the best */
    static _Alignas(256) float x[3 * EDGE * EDGE + 1];
    int64_t bytes = -1;
    void *graph;
    tw_problem p = tw_problem_make(TW_F32, TW_T, TW_N, EDGE, EDGE, EDGE), q;
    tw_launch launch = {.size = sizeof launch, .stream = stream};
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    tell("workspace", tw_workspace_bytes(context, &p, &bytes));
    printf("bytes:%d:\n", (int)bytes);
    me->cuStreamBeginCapture_v2(stream, CALLER_CAPTURE_GLOBAL);
    enqueue("captured too early", context, &p, x, &launch);
    me->cuStreamEndCapture(stream, &graph);
    tell("prepare", tw_prepare(context, &p));
    q = p, q.dtype = TW_BF16, q.op_b = TW_T;
    tell("prepare half", tw_prepare(context, &q));
    enqueue("half", context, &q, x, &launch);
    q = tw_problem_make(TW_F32, TW_N, TW_N, 16, 16, 1024), q.place_a = q.place_b = q.place_c = TW_DEVICE;
    tw_prepare(context, &q);
    enqueue("meeting", context, &q, x, &launch);
    enqueue("enqueue", context, &p, x, &launch);
    launch.workspace = x, launch.workspace_bytes = 64;
    enqueue("with a workspace", context, &p, x, &launch);
    q = p, q.op_a = TW_N, q.op_b = TW_T;
    enqueue("workspace too small", context, &q, x, &launch);
    tw_workspace_bytes(context, &q, &bytes);
    tw_prepare(context, &q);
    launch.workspace_bytes = bytes;
    enqueue("turned", context, &q, x, &launch);
    q = p, q.lda = EDGE + 1;
    tw_prepare(context, &q);
    enqueue("copied", context, &q, x, &launch);
    launch.workspace = NULL, launch.workspace_bytes = 0;
    me->cuStreamBeginCapture_v2(stream, CALLER_CAPTURE_GLOBAL);
    enqueue("captured", context, &p, x, &launch);
    me->cuStreamEndCapture(stream, &graph);
    enqueue("unaligned", context, &p, x + 1, &launch);
    q = p, q.lda = EDGE + 1;
    enqueue("unpadded", context, &q, x, &launch);
    q = p, q.k = 0, q.beta = 2;
    enqueue("scaled", context, &q, x, &launch);
    q = p, q.m = 0;
    enqueue("nothing", context, &q, x, &launch);
    enqueue("default stream", context, &p, x, NULL);
    launch.stream = foreign;
    enqueue("foreign", context, &p, x, &launch);
    launch.stream = stream, launch.size = 8;
    enqueue("launch of no size", context, &p, x, &launch);
    launch.size = sizeof launch, launch.workspace_bytes = 256;
    enqueue("workspace of NULL", context, &p, x, &launch);
    launch.workspace = x + 1;
    enqueue("workspace not aligned", context, &p, x, &launch);
    q = p, q.place_a = q.place_b = q.place_c = TW_HOST;
    enqueue("host memory", context, &q, x, NULL);
    q = p, q.dtype = TW_BF16, q.lda = EDGE + 1, q.ldb = EDGE;
    q.op_a = TW_N;
    enqueue("odd half", context, &q, x, NULL);
    q.dtype_c = TW_BF16;
    enqueue("own c", context, &q, x, NULL);
    mark("begin gemm");
    tw_status status = tw_gemm(context, &p, x, x + EDGE * EDGE, x + 2 * EDGE * EDGE);
    mark("end");
    tell("gemm", status);
    launch = (tw_launch){.size = sizeof launch, .stream = stream};
    use_batches(context, me, &p, x, &launch);
    tell("forced", tw_lab_run_open(context, &(tw_lab_choice){.kernel = "cuda_f32_r03t_transposed"}, &p, x, x, x,
                                   &(tw_lab_run *){NULL}));
    after_fork(context, &p, x);
}

static int child_streams(void)
{
    caller me;
    const char *missing;
    cu_context own = NULL, other = NULL, found = NULL;
    cu_stream stream = NULL, foreign = NULL;
    tw_context *context = NULL;
    tw_options options = {.size = sizeof options, .engine = "cuda", .device = 3};
    alarm(120);
    if (!caller_load(&me, &missing)) {
        tell("open", tw_open(&options, &context));
        puts(cpu_right() ? "cpu:right" : "cpu:wrong");
        return 0;
    }
    me.cuCtxCreate_v2(&other, 0, 0), me.cuStreamCreateWithPriority(&foreign, CALLER_NON_BLOCKING, 0);
    me.cuCtxCreate_v2(&own, 0, 0), me.cuStreamCreateWithPriority(&stream, CALLER_NON_BLOCKING, 0);
    printf("stream:0:on %p\n", (void *)stream);
    options.device_context = own;
    tell("another device", tw_open(&options, &context));
    options.device = 0;
    tell("open", tw_open(&options, &context));
    if (context != NULL) use_streams(context, &me, stream, foreign);
    tw_close(context);
    me.cuCtxGetCurrent(&found);
    printf("current:%d:\n", found == own);
    free(stream), free(foreign);
    me.cuCtxDestroy_v2(own), me.cuCtxDestroy_v2(other);
    puts(cpu_right() ? "cpu:right" : "cpu:wrong");
    return 0;
}

/* ---- the parent ---- */

typedef struct outcome {
    int exit; /* -1: a signal ended it */
    char text[OUTPUT];
} outcome;

/* Run a program with these variables set ("NAME=value", ends with NULL); what it prints. folders: of fakes, separated
 * by colons. */
static void run_program(char *const *arguments, const char *folders, const char *const *variables, outcome *out)
{
    int ends[2], status = 0;
    size_t length = 0;
    ssize_t got;
    unlink(log_path);
    *out = (outcome){.exit = -1};
    fflush(stdout);
    if (pipe(ends) != 0) return;
    pid_t pid = fork();
    if (pid == 0) {
        char path[1024] = "", part[256];
        for (const char *at = folders; *at != '\0'; at += strcspn(at, ":"), at += *at == ':') {
            snprintf(part, sizeof part, "%s%s/%.*s", path[0] != '\0' ? ":" : "", FAKES_FOLDER, (int)strcspn(at, ":"),
                     at);
            strcat(path, part);
        }
        dup2(ends[1], 1), dup2(ends[1], 2);
        close(ends[0]), close(ends[1]);
        if (path[0] != '\0') setenv("LD_LIBRARY_PATH", path, 1);
        /* nor is this machine's own driver asked */
        if (strstr(folders, "opencl") == NULL) setenv("OCL_ICD_VENDORS", "/nowhere", 1);
        setenv("FAKE_LOG", log_path, 1);
        setenv("TILEWRIGHT_CACHE", "off", 1);
        unsetenv("TILEWRIGHT_NVRTC");
        unsetenv("TILEWRIGHT_KERNELS");
        unsetenv("TILEWRIGHT_OPENCL_OPTIONS");
        for (; *variables != NULL; variables++) {
            snprintf(part, sizeof part, "%.*s", (int)strcspn(*variables, "="), *variables);
            setenv(part, strchr(*variables, '=') + 1, 1);
        }
        execv(arguments[0], arguments);
        _exit(127);
    }
    close(ends[1]);
    while (pid > 0 && (got = read(ends[0], out->text + length, OUTPUT - 1 - length)) > 0) length += (size_t)got;
    close(ends[0]);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)) out->exit = WEXITSTATUS(status);
}

static void run_child(const char *engine, const char *folders, const char *const *variables, outcome *out)
{
    char self[] = "/proc/self/exe", flag[] = "--child", name[16];
    snprintf(name, sizeof name, "%s", engine);
    run_program((char *[]){self, flag, name, NULL}, folders, variables, out);
}

/* "what:number:text" of the child's output: the number (-1 where there is no such line) and the text. */
static int told(const outcome *o, const char *what, char text[1024])
{
    char key[32];
    snprintf(key, sizeof key, "%s:", what);
    const char *at = strncmp(o->text, key, strlen(key)) == 0 ? o->text : strstr(o->text, key);
    text[0] = '\0';
    if (at == NULL) return -1;
    const char *colon = strchr(at + strlen(key), ':');
    if (colon != NULL) snprintf(text, 1024, "%.*s", (int)strcspn(colon + 1, "\n"), colon + 1);
    return atoi(at + strlen(key));
}

static bool sane(const outcome *o)
{
    return o->exit == 0 && strstr(o->text, "cpu:right") != NULL && strstr(o->text, "C came back changed") == NULL;
}

/* How often the fakes' log has this line. */
static int logged(const char *line)
{
    char text[256];
    int count = 0;
    FILE *log = fopen(log_path, "r");
    while (log != NULL && fgets(text, sizeof text, log) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        count += strcmp(text, line) == 0;
    }
    if (log != NULL) fclose(log);
    return count;
}

/* ---- what is missing or refuses ---- */

typedef struct fault {
    const char *name, *engine, *folders;
    const char *variables[3];
    int state, open, run;                /* -1: there is no such line */
    const char *state_says[2], *says[2]; /* parts of the sentences: of the state; of the first failure after it */
} fault;

#define CUDA   "cuda", "cuda:nvrtc"
#define OPENCL "opencl", "opencl"
static const fault faults[] = {
    {"nothing is wrong", CUDA, {NULL}, 1, TW_OK, TW_OK, {"ready: 1 device", "compiles for sm_90a"}, {NULL}},
    {"no libcuda",
     "cuda",
     "broken",
     {NULL},
     0,
     TW_NO_DEVICE,
     -1,
     {"libcuda.so", "NVIDIA's driver brings libcuda.so.1"},
     {"libcuda.so", "driver brings"}},
    {"a libcuda and no GPU",
     CUDA,
     {"FAKES=cuInit=100"},
     0,
     TW_NO_DEVICE,
     -1,
     {"cuInit failed with CUDA_ERROR_NO_DEVICE (100)", "a container must be given the GPU"},
     {"cuInit"}},
    {"cuInit fails otherwise",
     CUDA,
     {"FAKES=cuInit=999"},
     0,
     TW_NO_DEVICE,
     -1,
     {"CUDA_ERROR_UNKNOWN (999)", "driver"},
     {"cuInit"}},
    {"cuInit fails with an error that has no name",
     CUDA,
     {"FAKES=cuInit=12345"},
     0,
     TW_NO_DEVICE,
     -1,
     {"(12345)", "driver"},
     {"cuInit"}},
    {"a driver that is too old",
     "cuda",
     "cuda_old:nvrtc",
     {NULL},
     0,
     TW_NO_DEVICE,
     -1,
     {"cuOccupancyMaxActiveBlocksPerMultiprocessor: too old", "driver"},
     {"too old"}},
    {"a driver that sees no device",
     CUDA,
     {"FAKE_CUDA=gpus=0"},
     0,
     TW_NO_DEVICE,
     -1,
     {"sees no device", "CUDA_VISIBLE_DEVICES"},
     {"sees no device"}},
    {"device memory runs out",
     CUDA,
     {"FAKES=cuMemAlloc_v2=2"},
     1,
     TW_OK,
     TW_NO_MEMORY,
     {"ready"},
     {"no device memory for 2304 bytes", "CUDA_ERROR_OUT_OF_MEMORY"}},
    {"a kernel fails while running",
     CUDA,
     {"FAKES=cuStreamSynchronize=700"},
     1,
     TW_OK,
     TW_DEVICE_FAILED,
     {"ready"},
     {"cuStreamSynchronize", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"}},
    {"a launch fails",
     CUDA,
     {"FAKES=cuLaunchKernel=700"},
     1,
     TW_OK,
     TW_DEVICE_FAILED,
     {"ready"},
     {"cuLaunchKernel", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"}},
    {"no context for want of memory",
     CUDA,
     {"FAKES=cuDevicePrimaryCtxRetain=2"},
     1,
     TW_NO_MEMORY,
     -1,
     {"ready"},
     {"cuDevicePrimaryCtxRetain", "CUDA_ERROR_OUT_OF_MEMORY"}},
    {"no NVRTC",
     CUDA,
     {"TILEWRIGHT_NVRTC=/nowhere/libnvrtc.so"},
     1,
     TW_OK,
     TW_BUILD_FAILED,
     {"no kernel can be compiled", "nvidia-cuda-nvrtc"},
     {"/nowhere/libnvrtc.so", "TILEWRIGHT_NVRTC names the file"}},
    {"an NVRTC without cubins",
     "cuda",
     "cuda:nvrtc_old",
     {NULL},
     1,
     TW_OK,
     TW_BUILD_FAILED,
     {"no kernel can be compiled", "too old"},
     {"nvrtcGetCUBINSize", "too old"}},
    {"an NVRTC that is too new for the device",
     CUDA,
     {"FAKE_CUDA=sm=70", "FAKE_ARCHS=75 80 90"},
     1,
     TW_OK,
     TW_BUILD_FAILED,
     {"no kernel can be compiled", "an older NVRTC has it"},
     {"this device is sm_70", "knows sm_75"}},
    {"an NVRTC that is older than the device",
     CUDA,
     {"FAKE_CUDA=sm=90", "FAKE_ARCHS=70 75 80"},
     1,
     TW_OK,
     TW_OK,
     {"ready", "compute_80"},
     {NULL}},
    {"an NVRTC that does not say what it knows",
     CUDA,
     {"FAKES=nvrtcGetSupportedArchs=1"},
     1,
     TW_OK,
     TW_BUILD_FAILED,
     {"no kernel can be compiled", "does not say"},
     {"does not say"}},
    {"a kernel does not compile",
     CUDA,
     {"FAKES=nvrtcCompileProgram=6"},
     1,
     TW_OK,
     TW_BUILD_FAILED,
     {"ready"},
     {"cuda/r04_banks.cu could not be compiled", "fake.cu(3): error"}},
    {"the driver refuses a fresh binary",
     CUDA,
     {"FAKES=cuModuleLoadData=200"},
     1,
     TW_OK,
     TW_DEVICE_FAILED,
     {"ready"},
     {"cuModuleLoadData", "CUDA_ERROR_INVALID_IMAGE (200)"}},

    {"nothing is wrong", OPENCL, {NULL}, 1, TW_OK, TW_OK, {"ready: 1 device", "OpenCL fake"}, {NULL}},
    {"no OpenCL loader",
     "opencl",
     "broken",
     {NULL},
     0,
     TW_NO_DEVICE,
     -1,
     {"libOpenCL.so", "ocl-icd-libopencl1"},
     {"libOpenCL.so"}},
    {"a loader and no driver",
     OPENCL,
     {"FAKES=clGetPlatformIDs=-1001"},
     0,
     TW_NO_DEVICE,
     -1,
     {"(-1001)", "pocl-opencl-icd"},
     {"/etc/OpenCL/vendors"}},
    {"a loader that is too old",
     "opencl",
     "opencl_old",
     {NULL},
     0,
     TW_NO_DEVICE,
     -1,
     {"has no clEnqueueReadBufferRect", "ocl-icd-libopencl1"},
     {"clEnqueueReadBufferRect"}},
    {"a driver without a device",
     OPENCL,
     {"FAKES=clGetDeviceIDs=-1"},
     0,
     TW_NO_DEVICE,
     -1,
     {"no device", "pocl-opencl-icd"},
     {"no device"}},
    {"the loader runs out of memory",
     OPENCL,
     {"FAKES=clGetPlatformIDs=-6"},
     0,
     TW_NO_MEMORY,
     -1,
     {"clGetPlatformIDs", "CL_OUT_OF_HOST_MEMORY (-6)"},
     {"clGetPlatformIDs"}},
    {"no context",
     OPENCL,
     {"FAKES=clCreateContext=-2"},
     1,
     TW_DEVICE_FAILED,
     -1,
     {"ready"},
     {"clCreateContext", "CL_DEVICE_NOT_AVAILABLE (-2)"}},
    {"a kernel does not compile",
     OPENCL,
     {"FAKES=clBuildProgram=-11"},
     1,
     TW_OK,
     TW_BUILD_FAILED,
     {"ready"},
     {"opencl/r04_banks.cl could not be compiled", "fake.cl:3: error"}},
    {"device memory runs out",
     OPENCL,
     {"FAKES=clCreateBuffer=-4"},
     1,
     TW_OK,
     TW_NO_MEMORY,
     {"ready"},
     {"no device memory for 2304 bytes", "CL_MEM_OBJECT_ALLOCATION_FAILURE"}},
    {"a launch fails",
     OPENCL,
     {"FAKES=clEnqueueNDRangeKernel=-5"},
     1,
     TW_OK,
     TW_DEVICE_FAILED,
     {"ready"},
     {"clEnqueueNDRangeKernel", "CL_OUT_OF_RESOURCES (-5)"}},
    {"a kernel fails while running",
     OPENCL,
     {"FAKES=clWaitForEvents=-14"},
     1,
     TW_OK,
     TW_DEVICE_FAILED,
     {"ready"},
     {"kernel", "(-14)"}},
};

static bool says(const char *text, const char *const parts[2])
{
    return (parts[0] == NULL || strstr(text, parts[0]) != NULL) && (parts[1] == NULL || strstr(text, parts[1]) != NULL);
}

static void fault_case(const fault *f)
{
    outcome o;
    char state_text[1024], open_text[1024], run_text[1024];
    if (!tap_case("%s: %s", f->engine, f->name)) return;
    run_child(f->engine, f->folders, f->variables, &o);
    int state = told(&o, "state", state_text), open = told(&o, "open", open_text), run = told(&o, "run", run_text);
    const char *failure = open > 0 ? open_text : run_text;
    bool right = sane(&o) && state == f->state && open == f->open && run == f->run;
    tap_result(right && says(state_text, f->state_says) && says(failure, f->says),
               "expected state %d, open %d, run %d, \"%s\" \"%s\", \"%s\" \"%s\"; exit %d:\n%s", f->state, f->open,
               f->run, f->state_says[0], f->state_says[1] ? f->state_says[1] : "", f->says[0] ? f->says[0] : "",
               f->says[1] ? f->says[1] : "", o.exit, o.text);
}

/* doctor tells the same sentence and ends; a named engine without a device is an error of its own. */
static void program_cases(const fault *f)
{
    const char *program = getenv("TILEWRIGHT");
    outcome o, p;
    char sentence[1024], path[1024], doctor[] = "doctor", ladder[] = "ladder", option[] = "--engine", engine[16],
                                     size[] = "--size", sixteen[] = "16";
    snprintf(engine, sizeof engine, "%s", f->engine);
    snprintf(path, sizeof path, "%s", program != NULL ? program : "");
    if (tap_case("doctor on %s: %s", f->engine, f->name)) {
        if (program == NULL || access(program, X_OK) != 0) {
            tap_skip("TILEWRIGHT does not name the program");
        } else {
            run_child(f->engine, f->folders, f->variables, &o);
            told(&o, "state", sentence);
            run_program((char *[]){path, doctor, NULL}, f->folders, f->variables, &p);
            bool ended = f->state == 0 ? p.exit == 0 : p.exit >= 0 && p.exit <= 8;
            bool unready = f->state == 1 && strncmp(sentence, "ready", 5) != 0;
            ended = ended && (strstr(p.text, "advice 1") != NULL || !unready);
            tap_result(ended && strstr(p.text, sentence) != NULL, "exit %d, \"%s\" is not in\n%s", p.exit, sentence,
                       p.text);
        }
    }
    if (f->open == TW_NO_DEVICE && tap_case("ladder on %s: %s", f->engine, f->name)) {
        if (program == NULL || access(program, X_OK) != 0) {
            tap_skip("TILEWRIGHT does not name the program");
        } else {
            run_program((char *[]){path, ladder, option, engine, size, sixteen, NULL}, f->folders, f->variables, &p);
            tap_result(p.exit == 3 && strstr(p.text, f->state_says[0]) != NULL, "exit %d, expected 3 and \"%s\":\n%s",
                       p.exit, f->state_says[0], p.text);
        }
    }
}

/* A device that says that all went well and has computed nothing: no rung gets a time. */
static void idle_case(const char *engine, const char *folders)
{
    const char *program = getenv("TILEWRIGHT");
    outcome o;
    char path[1024], name[16];
    char ladder[] = "ladder", option[] = "--engine", rung[] = "--rung", r04[] = "r04", size[] = "--size",
         sixteen[] = "16", json[] = "--json", out[] = "-";
    if (!tap_case("ladder on %s: a device that computes nothing", engine)) return;
    if (program == NULL || access(program, X_OK) != 0) {
        tap_skip("TILEWRIGHT does not name the program");
        return;
    }
    snprintf(path, sizeof path, "%s", program);
    snprintf(name, sizeof name, "%s", engine);
    run_program((char *[]){path, ladder, option, name, rung, r04, size, sixteen, json, out, NULL}, folders,
                (const char *const[]){NULL}, &o);
    bool timed = strstr(o.text, "\"median_s\": null") == NULL;
    tap_result(o.exit == 1 && strstr(o.text, "WRONG") != NULL && !timed,
               "exit %d, expected 1, WRONG and no median:\n%s", o.exit, o.text);
}

/* Runs that a row of faults[] cannot tell of: a line of the child, its number, a part of its text; "!": a part that
 * must not be there. */
static const struct {
    const char *name, *engine, *folders;
    const char *variables[3];
    struct {
        const char *line;
        int number;
        const char *says;
    } expected[4];
} tellings[] = {
    {"one of two platforms is broken: the other is used",
     OPENCL,
     {"FAKE_OPENCL=platforms=2 broken=1"},
     {{"state", 1, "platform 0 (Fake) is left out: clGetDeviceIDs failed with CL_DEVICE_NOT_AVAILABLE (-2)"},
      {"gemm", TW_OK, ""},
      {"devices", TW_OK, "opencl: platform 0 (Fake) is left out"},
      {"count", 2, ""}}},
    {"a broken engine does not hide the others",
     OPENCL,
     {"FAKES=clGetPlatformIDs=-6"},
     {{"devices", TW_OK, "opencl: clGetPlatformIDs failed with CL_OUT_OF_HOST_MEMORY (-6)"}, {"count", 1, ""}}},
    {"a platform without devices is not broken",
     OPENCL,
     {"FAKES=clGetDeviceIDs=-1@1", "FAKE_OPENCL=platforms=2"},
     {{"state", 1, "!left out"}}},
    {"a call that is not timed needs no profiling",
     OPENCL,
     {"FAKES=clGetEventProfilingInfo=-7"},
     {{"run", TW_DEVICE_FAILED, "(-7)"}, {"gemm", TW_OK, ""}, {"spaced", TW_OK, ""}}},
    {"no warps: the whole group waits", OPENCL, {NULL}, {{"skinny", TW_OK, "!SUBGROUP"}}},
    {"warps: a row of the tile waits for itself",
     OPENCL,
     {"FAKE_OPENCL=warp=32"},
     {{"skinny", TW_OK, "-DSUBGROUP_BARRIER=1"}, {"gemm", TW_OK, ""}}},
    {"warps narrower than a row", OPENCL, {"FAKE_OPENCL=warp=8"}, {{"skinny", TW_OK, "!SUBGROUP"}}},
    {"rows further apart than a 2D copy may be",
     CUDA,
     {"FAKE_CUDA=pitch=1000", "FAKES=cuMemcpy2DUnaligned_v2=1"},
     {{"spaced", TW_OK, ""}, {"gemm", TW_OK, ""}}},
    {"tensor maps where driver, device and NVRTC have them",
     CUDA,
     {NULL},
     {{"plan", TW_OK, "cuda_f32_r14h_hopper"}, {"gemm", TW_OK, ""}}},
    {"no tensor maps with an NVRTC that does not know sm_90",
     CUDA,
     {"FAKE_ARCHS=70 75 80 86"},
     {{"state", 1, "compute_86"}, {"plan", TW_OK, "cuda_f32_r14a_ampere"}, {"gemm", TW_OK, ""}}},
    {"no tensor maps with an NVRTC of CUDA 11",
     CUDA,
     {"FAKE_NVRTC=major=11"},
     {{"state", 1, "compiles for sm_90;"}, {"plan", TW_OK, "cuda_f32_r14a_ampere"}, {"gemm", TW_OK, ""}}},
    {"tensor maps on a device that is newer than NVRTC",
     CUDA,
     {"FAKE_CUDA=sm=100", "FAKE_ARCHS=80 90"},
     {{"state", 1, "compute_90"}, {"plan", TW_OK, "cuda_f32_r14h_hopper"}, {"gemm", TW_OK, ""}}},
    {"no tensor maps before sm_90",
     CUDA,
     {"FAKE_CUDA=sm=89"},
     {{"plan", TW_OK, "cuda_f32_r14a_ampere"}, {"gemm", TW_OK, ""}}},
    {"no asynchronous copies before sm_80",
     CUDA,
     {"FAKE_CUDA=sm=75"},
     {{"plan", TW_OK, "cuda_f32_r14_peak"}, {"gemm", TW_OK, ""}}},
    {"warps whose barrier does not compile",
     OPENCL,
     {"FAKE_OPENCL=warp=32", "FAKES=clBuildProgram=-11@1"},
     {{"skinny", TW_OK, "!SUBGROUP"}, {"gemm", TW_OK, ""}}},
};

static void telling_cases(void)
{
    outcome o;
    char text[1024];
    for (size_t i = 0; i < sizeof tellings / sizeof *tellings; i++) {
        if (!tap_case("%s: %s", tellings[i].engine, tellings[i].name)) continue;
        run_child(tellings[i].engine, tellings[i].folders, tellings[i].variables, &o);
        const char *wrong = sane(&o) ? NULL : "the child";
        for (int j = 0; j < 4 && tellings[i].expected[j].line != NULL && wrong == NULL; j++) {
            const char *says = tellings[i].expected[j].says;
            bool right = told(&o, tellings[i].expected[j].line, text) == tellings[i].expected[j].number;
            if (!right || (says[0] == '!' ? strstr(text, says + 1) != NULL : strstr(text, says) == NULL))
                wrong = tellings[i].expected[j].line;
        }
        tap_result(wrong == NULL, "%s is not as expected; exit %d:\n%s", wrong, o.exit, o.text);
    }
}

/* Each thread has two pieces of pinned memory, kept for the next copy. */
static void large_cases(void)
{
    outcome o;
    char text[1024];
    for (int threads = 1; threads <= 16; threads += 5) {
        if (!tap_case("cuda: large operands are copied through pinned memory by %d threads", threads)) continue;
        char variable[32];
        snprintf(variable, sizeof variable, "FAULTS_LARGE=%d", threads);
        run_child("cuda", "cuda:nvrtc", (const char *const[]){variable, NULL}, &o);
        int pieces = logged("cuMemcpyDtoHAsync_v2"), pinned = logged("cuMemHostAlloc"),
            streams_made = logged("cuStreamCreate");
        bool right = sane(&o) && told(&o, "large", text) == TW_OK && pieces >= 4 * 8 && pinned >= 2 &&
                     pinned <= 2 * threads;
        right = right && logged("cuMemFreeHost") == pinned && logged("cuStreamDestroy_v2") == streams_made;
        tap_result(right, "%d pieces came down through %d buffers; exit %d:\n%s", pieces, pinned, o.exit, o.text);
    }
}

static void affinity_case(void)
{
    outcome o;
    char text[1024];
    if (!tap_case("cuda: large operands are copied by as many threads as the process has processors")) return;
    run_child("cuda", "cuda:nvrtc", (const char *const[]){"FAULTS_LARGE=0", "FAULTS_ONE_PROCESSOR=1", NULL}, &o);
    int pinned = logged("cuMemHostAlloc");
    tap_result(sane(&o) && told(&o, "large", text) == TW_OK && pinned == 2,
               "%d buffers for one thread's two; exit %d:\n%s", pinned, o.exit, o.text);
}

/* A stream and its events are made once for all calls one after the other, and once for each of those that run at a
 * time. */
static void lane_cases(void)
{
    outcome o;
    char text[1024];
    for (int threads = 0; threads < 2; threads++) {
        if (!tap_case("cuda: streams are kept for the next calls, %s", threads ? "of many threads" : "of one thread"))
            continue;
        run_child("cuda", "cuda:nvrtc", (const char *const[]){threads ? "FAULTS_THREADS=1" : NULL, NULL}, &o);
        int streams = logged("cuStreamCreate"), events = logged("cuEventCreate"),
            calls = logged("cuLaunchKernel") + logged("cuLaunchKernelEx");
        bool right = sane(&o) && told(&o, "gemm", text) == TW_OK && told(&o, "threads", text) == (threads ? TW_OK : -1);
        right = right && calls >= (threads ? THREADS * CALLS : 5) && streams >= 1 &&
                streams <= (threads ? THREADS : 1) && events == 2 * streams;
        tap_result(right && logged("cuStreamDestroy_v2") == streams && logged("cuEventDestroy_v2") == events,
                   "%d launches with %d streams, %d events; exit %d:\n%s", calls, streams, events, o.exit, o.text);
    }
}

/* ---- a caller's own context, stream and memory ---- */

/* What the log has between "begin WHAT" and "end", in one line, STREAM for the line that tells the caller's; "?" where
 * it has no such part. */
static void section(const char *what, const char *stream, char out[512])
{
    char line[256], begin[80];
    bool inside = false;
    snprintf(begin, sizeof begin, "begin %s", what);
    snprintf(out, 512, "?");
    FILE *log = fopen(log_path, "r");
    while (log != NULL && fgets(line, sizeof line, log) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, begin) == 0)
            out[0] = '\0', inside = true;
        else if (strcmp(line, "end") == 0)
            inside = false;
        else if (inside)
            snprintf(out + strlen(out), 512 - strlen(out), "%s%s", out[0] != '\0' ? " " : "",
                     strcmp(line, stream) == 0 ? "STREAM" : line);
    }
    if (log != NULL) fclose(log);
}

#define TURNED                                                                                                         \
    "cuCtxPushCurrent_v2 cuLaunchKernelEx STREAM packs b packs a cuTensorMapEncodeTiled cuTensorMapEncodeTiled "       \
    "cuLaunchKernelEx STREAM cuCtxPopCurrent_v2"
#define COPIED                                                                                                         \
    "cuCtxPushCurrent_v2 cuLaunchKernelEx STREAM packs a cuTensorMapEncodeTiled cuTensorMapEncodeTiled "               \
    "cuLaunchKernelEx STREAM cuCtxPopCurrent_v2"
#define ONE_EARLY "cuCtxPushCurrent_v2 cuLaunchKernelEx STREAM cuCtxPopCurrent_v2"
#define MAPPED                                                                                                         \
    "cuCtxPushCurrent_v2 cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuLaunchKernelEx STREAM cuCtxPopCurrent_v2"

/* What the child tells of a call, and, where it is known here, every call of the driver that it made. STREAM: on the
 * caller's own. */
static const struct {
    const char *name, *variable, *line;
    int number;
    const char *says, *calls;
} streams[] = {
    {"a kernel that is built is launched on the caller's stream, and that is all", NULL, "enqueue", TW_OK, "", MAPPED},
    {"the same with a workspace", NULL, "with a workspace", TW_OK, "", MAPPED},
    {"a workspace that is too small", NULL, "workspace too small", TW_BAD_ARGUMENT,
     "launch.workspace_bytes is 64, expected at least 2097152", ""},
    {"operands that lie along k are turned on the stream before", NULL, "turned", TW_OK, "", TURNED},
    {"rows that the copy engine does not take are copied before", NULL, "copied", TW_OK, "", COPIED},
    {"by a driver before 12.3 none is launched early", "FAKE_CUDA=multiprocessors=1 driver=12020", "turned", TW_OK, "",
     "cuCtxPushCurrent_v2 cuLaunchKernel STREAM packs b packs a cuTensorMapEncodeTiled cuTensorMapEncodeTiled "
     "cuLaunchKernel STREAM cuCtxPopCurrent_v2"},
    {"nor as a cluster", "FAKE_CUDA=multiprocessors=132 driver=12020", "meeting", TW_OK, "",
     "cuCtxPushCurrent_v2 cuLaunchKernel STREAM cuCtxPopCurrent_v2"},
    {"the same while the stream is captured", NULL, "captured", TW_OK, "", MAPPED},
    {"the same on the default stream", NULL, "default stream", TW_OK, "",
     "cuCtxPushCurrent_v2 cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuLaunchKernelEx on (nil) cuCtxPopCurrent_v2"},
    {"a kernel that waits itself for what is ahead of it is launched early", NULL, "half", TW_OK, "",
     "cuCtxPushCurrent_v2 cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuLaunchKernelEx STREAM "
     "cuCtxPopCurrent_v2"},
    {"blocks that add through shared memory are launched as clusters", "FAKE_CUDA=multiprocessors=132", "meeting",
     TW_OK, "", "cuCtxPushCurrent_v2 cuLaunchKernelEx STREAM clusters of 4 cuCtxPopCurrent_v2"},
    {"C is scaled on the stream where k is 0", NULL, "scaled", TW_OK, "", NULL},
    {"nothing is enqueued where m is 0", NULL, "nothing", TW_OK, "", ""},
    {"a capture does not wait for a kernel to be built", NULL, "captured too early", TW_BUILD_FAILED,
     "launch.stream is being captured and cuda/r14h_hopper.cu",
     "cuCtxPushCurrent_v2 cuStreamIsCapturing cuCtxPopCurrent_v2"},
    {"addresses that the copy engine does not take have another kernel", NULL, "unaligned", TW_OK, "", NULL},
    {"rows that it does not take have another kernel", NULL, "unpadded", TW_OK, "", NULL},
    {"they have another kernel in bf16 too", NULL, "odd half", TW_OK, "", NULL},
    {"C in bf16 has none, and is refused", NULL, "own c", TW_NO_KERNEL,
     "it wants 524288 bytes of workspace to pack A into, and has none", ""},
    {"a batch is one launch, also while the stream is captured", NULL, "batch", TW_OK, "", ONE_EARLY},
    {"a batch by address too", NULL, "batch by address", TW_OK, "", ONE_EARLY},
    {"so are types whose items lie at odd addresses", NULL, "batch of halves", TW_OK, "", NULL},
    {"a capture does not wait for a batch's kernel to be built", NULL, "batch captured too early", TW_BUILD_FAILED,
     "launch.stream is being captured and cuda/b1_register.cu",
     "cuCtxPushCurrent_v2 cuStreamIsCapturing cuCtxPopCurrent_v2"},
    {"large items of a batch follow each other", NULL, "batch of large items", TW_OK, "",
     "cuCtxPushCurrent_v2 cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuLaunchKernelEx STREAM cuTensorMapEncodeTiled "
     "cuTensorMapEncodeTiled cuLaunchKernelEx STREAM cuCtxPopCurrent_v2"},
    {"items that fill tiles of 128 come through tensor maps, in one launch", NULL, "batch of tiles", TW_OK, "",
     "cuCtxPushCurrent_v2 cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuTensorMapEncodeTiled cuLaunchKernelEx STREAM "
     "cuCtxPopCurrent_v2"},
    {"a batch in one launch wants no workspace", NULL, "workspace of a batch in one launch", TW_OK, "", NULL},
    {"items that follow each other want what one wants", NULL, "workspace of a batch of large items", TW_OK, "", NULL},
    {"large items by address are one launch", NULL, "batch of large items by address", TW_OK, "", NULL},
    {"more items than blocks can count are several launches", NULL, "batch of many items", TW_OK, "",
     "cuCtxPushCurrent_v2 cuLaunchKernelEx STREAM cuLaunchKernelEx STREAM cuCtxPopCurrent_v2"},
    {"a batch by address of a C that its kernels do not give", NULL, "batch of halves to halves", TW_NO_KERNEL,
     "no kernel takes a batch by address: it gives C in f32, the problem wants bf16", ""},
    {"large items do without a workspace where there is no memory for it", "FAKES=cuMemAlloc_v2=2",
     "gemm of large items", TW_OK, "", NULL},
    {"addresses that are not there", NULL, "batch without an array", TW_BAD_ARGUMENT,
     "a is NULL, expected an array of 5 addresses", ""},
    {"nothing is enqueued of an empty batch", NULL, "batch of nothing", TW_OK, "", ""},
    {"a batch of host memory on a stream", NULL, "batch in host memory", TW_BAD_ARGUMENT,
     "are TW_HOST, expected TW_DEVICE", ""},
    {"the kernel of a batch is built ahead", NULL, "prepare batch", TW_OK, "", NULL},
    {"a batch of device memory that is waited for", NULL, "gemm of a batch", TW_OK, "", NULL},
    {"no workspace is wanted", NULL, "bytes", 0, "", NULL},
    {"the kernel is built ahead", NULL, "prepare", TW_OK, "", NULL},
    {"so is one that wants a workspace and has no other", NULL, "prepare half", TW_OK, "", NULL},
    {"a product of device memory that is waited for", NULL, "gemm", TW_OK, "", NULL},
    {"a stream of another context", NULL, "foreign", TW_BAD_ARGUMENT, "launch.stream is of another CUDA context", NULL},
    {"a launch of another size", NULL, "launch of no size", TW_BAD_ARGUMENT, "launch.size is 8, expected ", ""},
    {"a workspace that is not there", NULL, "workspace of NULL", TW_BAD_ARGUMENT,
     "launch.workspace_bytes is 256 and launch.workspace is NULL", ""},
    {"a workspace at an odd address", NULL, "workspace not aligned", TW_BAD_ARGUMENT,
     "launch.workspace is not aligned to 256 bytes", ""},
    {"host memory on a stream", NULL, "host memory", TW_BAD_ARGUMENT, "are TW_HOST, expected TW_DEVICE", ""},
    {"a rung that turns B on the host", NULL, "forced", TW_NO_KERNEL,
     "it wants B transposed on the host, here B is in device memory", NULL},
    {"the context's device is not the one that is named", NULL, "another device", TW_BAD_ARGUMENT,
     "options.device is 3, but options.device_context is of device 0", NULL},
    {"after fork() nothing is enqueued", NULL, "enqueue after fork", TW_NO_DEVICE, "opened before fork()", NULL},
    {"after fork() nothing is built", NULL, "prepare after fork", TW_NO_DEVICE, "opened before fork()", NULL},
    {"the caller's context stays the current one", NULL, "current", 1, "", NULL},
    {"a lost context is told as lost", "FAKES=cuLaunchKernelEx=700", "enqueue", TW_DEVICE_FAILED,
     "CUDA_ERROR_ILLEGAL_ADDRESS (700): the CUDA context was ended", NULL},
    {"any other failure of a launch is not", "FAKES=cuLaunchKernelEx=400", "enqueue", TW_DEVICE_FAILED,
     "CUDA_ERROR_INVALID_HANDLE (400)", NULL},
    {"a capture of another stream in the way", "FAKES=cuStreamIsCapturing=906", "captured too early", TW_DEVICE_FAILED,
     "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT (906)", NULL},
    {"device memory that has run out is not missed", "FAKES=cuMemAlloc_v2=2", "enqueue", TW_OK, "", MAPPED},
    {"a context that is not one", "FAKES=cuCtxGetDevice=201", "open", TW_DEVICE_FAILED, "cuCtxGetDevice failed", NULL},
};

static void stream_cases(void)
{
    outcome o;
    char text[1024], stream[1024], calls[512];
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        if (!tap_case("cuda, a caller's stream: %s", streams[i].name)) continue;
        run_child("streams", "cuda:nvrtc",
                  (const char *const[]){"FAKE_CUDA=multiprocessors=1", streams[i].variable, NULL}, &o);
        told(&o, "stream", stream);
        section(streams[i].line, stream, calls);
        bool right = sane(&o) && told(&o, streams[i].line, text) == streams[i].number &&
                     strstr(text, streams[i].says) != NULL;
        tap_result(right && (streams[i].calls == NULL || strcmp(calls, streams[i].calls) == 0),
                   "calls \"%s\", expected \"%s\"; exit %d:\n%s", calls,
                   streams[i].calls != NULL ? streams[i].calls : "any", o.exit, o.text);
    }
    if (!tap_case("cuda, a caller's stream: its context is neither retained nor released, and no memory is asked for"))
        return;
    run_child("streams", "cuda:nvrtc", (const char *const[]){NULL}, &o);
    section("close after fork", "", calls);
    int pushes = logged("cuCtxPushCurrent_v2"), pops = logged("cuCtxPopCurrent_v2");
    bool left = logged("cuDevicePrimaryCtxRetain") + logged("cuDevicePrimaryCtxRelease_v2") == 0 && pushes == pops &&
                calls[0] == '\0';
    tap_result(sane(&o) && left &&
                   logged("cuMemAlloc_v2") + logged("cuMemcpyHtoD_v2") + logged("cuMemcpyDtoH_v2") +
                           logged("cuMemcpy2DUnaligned_v2") ==
                       0,
               "%d pushes, %d pops, closed after fork by \"%s\"; exit %d:\n%s", pushes, pops, calls, o.exit, o.text);
}

/* ---- each call of each driver fails once ---- */

static const char *const cuda_calls[] = {
#define F(name, ...) #name,
    CU_FUNCTIONS(F) NVRTC_FUNCTIONS(F)
#undef F
        NULL};
static const char *const opencl_calls[] = {
#define F(result, name, parameters) #name,
    CL_FUNCTIONS(F)
#undef F
        NULL};

/* Calls whose failure need not end anything: names and numbers that are only told, and what gives things back. */
static const char may_fail[] =
    " cuGetErrorName cuGetErrorString cuDeviceGetName cuDeviceGetAttribute cuDeviceTotalMem_v2 cuCtxPopCurrent_v2 "
    "cuDevicePrimaryCtxRelease_v2 cuStreamDestroy_v2 cuEventDestroy_v2 cuMemFree_v2 cuModuleUnload cuFuncSetAttribute "
    "cuMemFreeHost cuFuncGetAttribute cuOccupancyMaxActiveBlocksPerMultiprocessor nvrtcDestroyProgram "
    "nvrtcGetProgramLogSize nvrtcGetProgramLog nvrtcGetPTXSize nvrtcGetPTX clGetPlatformInfo clGetDeviceInfo "
    "clReleaseContext clReleaseCommandQueue clReleaseMemObject clCreateProgramWithBinary clGetProgramInfo "
    "clGetProgramBuildInfo clReleaseProgram clReleaseKernel clReleaseEvent clFinish ";

/* What is made must be given back, whatever fails. */
static const struct {
    const char *made[2], *released;
} pairs[] = {
    {{"cuMemAlloc_v2"}, "cuMemFree_v2"},
    {{"cuMemHostAlloc"}, "cuMemFreeHost"},
    {{"cuStreamCreate"}, "cuStreamDestroy_v2"},
    {{"cuEventCreate"}, "cuEventDestroy_v2"},
    {{"cuModuleLoadData"}, "cuModuleUnload"},
    {{"cuDevicePrimaryCtxRetain"}, "cuDevicePrimaryCtxRelease_v2"},
    {{"cuCtxPushCurrent_v2"}, "cuCtxPopCurrent_v2"},
    {{"nvrtcCreateProgram"}, "nvrtcDestroyProgram"},
    {{"clCreateContext"}, "clReleaseContext"},
    {{"clCreateCommandQueue"}, "clReleaseCommandQueue"},
    {{"clCreateBuffer"}, "clReleaseMemObject"},
    {{"clCreateProgramWithSource", "clCreateProgramWithBinary"}, "clReleaseProgram"},
    {{"clCreateKernel"}, "clReleaseKernel"},
    {{"clEnqueueNDRangeKernel"}, "clReleaseEvent"},
};

static bool all_given_back(const char *failing, char why[256])
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        int made = logged(pairs[i].made[0]) + (pairs[i].made[1] != NULL ? logged(pairs[i].made[1]) : 0),
            released = logged(pairs[i].released);
        if (strcmp(pairs[i].released, failing) == 0 || made == released) continue;
        snprintf(why, 256, "%s %d times, %s %d times", pairs[i].made[0], made, pairs[i].released, released);
        return false;
    }
    return true;
}

/* Did one of the lines tell a failure, and does its sentence name the call? */
static bool failure_told(const outcome *o, const char *call, char text[1024])
{
    static const char *const lines[] = {
        "open", "deep",      "run",    "gemm",      "spaced",  "large",   "panels",
        "peak", "bandwidth", "shared", "workspace", "prepare", "enqueue", "captured too early"};
    char name[64];
    snprintf(name, sizeof name, "%.*s",
             (int)(strstr(call, "_v2") != NULL ? strstr(call, "_v2") - call : (long)strlen(call)), call);
    text[0] = '\0';
    for (int i = 0; i < (int)(sizeof lines / sizeof *lines); i++)
        if (told(o, lines[i], text) > 0)
            return strncmp(call, "nvrtc", 5) == 0 ? strstr(text, "NVRTC") != NULL || strstr(text, "nvrtc") != NULL
                                                  : true;
    return told(o, "state", text) == 0 && strstr(text, name) != NULL;
}

static void call_case(const char *engine, const char *folders, const char *call, int error, int only)
{
    outcome o;
    char variable[128], text[1024], why[256] = "";
    bool large = only == 0 && strcmp(engine, "cuda") == 0;
    if (only > 0)
        snprintf(variable, sizeof variable, "FAKES=%s=%d@%d", call, error, only);
    else
        snprintf(variable, sizeof variable, "FAKES=%s=%d", call, error);
    if (!tap_case("%s: %s", engine, variable + 6)) return;
    run_child(engine, folders,
              (const char *const[]){variable, large ? "FAULTS_LARGE=3" : NULL, large ? "FAULTS_PANELS=1" : NULL, NULL},
              &o);
    char word[64], failed[64];
    snprintf(word, sizeof word, " %s ", call);
    snprintf(failed, sizeof failed, "failed %s", call);
    bool right = sane(&o) && all_given_back(call, why);
    /* Every call that has failed ends something; a call that fails once may have been the one that may. */
    if (right && only == 0 && logged(failed) > 0 && strstr(may_fail, word) == NULL && !failure_told(&o, call, text)) {
        right = false;
        snprintf(why, sizeof why, "no sentence tells of it");
    }
    tap_result(right, "%s; exit %d:\n%s", why, o.exit, o.text);
}

static void call_cases(void)
{
    for (int only = 0; only <= (tap.full ? 6 : 2); only++) {
        for (int i = 0; cuda_calls[i] != NULL; i++) call_case("cuda", "cuda:nvrtc", cuda_calls[i], 999, only);
        for (int i = 0; cuda_calls[i] != NULL; i++) call_case("streams", "cuda:nvrtc", cuda_calls[i], 999, only);
        for (int i = 0; opencl_calls[i] != NULL; i++) call_case("opencl", "opencl", opencl_calls[i], -5, only);
    }
}

/* How often a line stands in the part of the log that tells of the product in panels. */
static int logged_of_panels(const char *line)
{
    char text[256];
    int count = 0;
    bool inside = false;
    FILE *log = fopen(log_path, "r");
    while (log != NULL && fgets(text, sizeof text, log) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        inside = strcmp(text, "begin panels") == 0 || (inside && strcmp(text, "end") != 0);
        count += inside && strcmp(text, line) == 0;
    }
    if (log != NULL) fclose(log);
    return count;
}

/* 2001 rows are 8 panels of 256 and what is left: each is launched once all its pieces are on their way, each piece is
 * waited for by the work's stream, its rows of A are turned first, and C comes back. What fails on the way ends the
 * call, whichever thread meets it. */
static void panel_cases(void)
{
    static const char *const failing[] = {"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuStreamWaitEvent",
                                          "cuEventRecord",        "cuEventSynchronize",   "cuLaunchKernelEx",
                                          "cuMemHostAlloc"};
    outcome o;
    char text[1024], why[256] = "";
    for (int threads = 1; threads <= 8; threads += 7) {
        char variable[32];
        snprintf(variable, sizeof variable, "FAULTS_LARGE=%d", threads);
        if (!tap_case("cuda: a large product is copied beside the work, panel by panel, by %d threads", threads))
            continue;
        run_child("cuda", "cuda:nvrtc", (const char *const[]){variable, "FAULTS_PANELS=1", NULL}, &o);
        int launches = logged_of_panels("cuLaunchKernelEx"), up = logged_of_panels("cuMemcpyHtoDAsync_v2"),
            down = logged_of_panels("cuMemcpyDtoHAsync_v2");
        int waits = logged_of_panels("cuStreamWaitEvent");
        bool right = sane(&o) && told(&o, "panels", text) == TW_OK && launches == 2 * 8 && waits == up + down &&
                     down >= 33 && up >= down + 9;
        tap_result(right && all_given_back("", why), "%d launches, %d pieces up, %d down, %d waits; %s; exit %d:\n%s",
                   launches, up, down, waits, why, o.exit, o.text);
    }
    if (tap_case("cuda: of a large product in panels B is packed once, and the rows of A of each")) {
        run_child("cuda", "cuda:nvrtc", (const char *const[]){"FAULTS_PANELS=t", NULL}, &o);
        int launches = logged_of_panels("cuLaunchKernelEx"), of_a = logged_of_panels("packs a"),
            of_b = logged_of_panels("packs b");
        tap_result(sane(&o) && told(&o, "panels", text) == TW_OK && launches == 2 * 8 && of_a == 8 && of_b == 1,
                   "%d launches, %d pack A, %d B; exit %d:\n%s", launches, of_a, of_b, o.exit, o.text);
    }
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
        if (!tap_case("cuda: a large product in panels in which %s fails, early or late", failing[i])) continue;
        bool right = true;
        for (int at = 20; right && at <= 180; at += 40) {
            char variable[64];
            snprintf(variable, sizeof variable, "FAKES=%s=999@%d", failing[i], at);
            run_child("cuda", "cuda:nvrtc", (const char *const[]){variable, "FAULTS_PANELS=1", NULL}, &o);
            right = sane(&o) && all_given_back(failing[i], why);
        }
        tap_result(right, "%s; exit %d:\n%s", why, o.exit, o.text);
    }
}

/* ---- the cache of compiled kernels ---- */

static char cache_folder[128], cache_variable[160];

static void each_file(void (*change)(const char *path))
{
    char path[512];
    struct dirent *entry;
    DIR *folder = opendir(cache_folder);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%.255s", cache_folder, entry->d_name);
        change(path);
    }
    if (folder != NULL) closedir(folder);
}

static int file_count, odd_files;

static void count_file(const char *path)
{
    struct stat info;
    file_count++;
    const char *end = strrchr(path, '.');
    if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & 0777) != 0600 || end == NULL ||
        strcmp(end, ".bin") != 0)
        odd_files++;
}

static int files_kept(void)
{
    file_count = odd_files = 0;
    each_file(count_file);
    return file_count;
}

static void flip_bit(const char *path)
{
    int fd = open(path, O_RDWR);
    unsigned char byte = 0;
    off_t at = lseek(fd, -3, SEEK_END);
    if (read(fd, &byte, 1) == 1 && lseek(fd, at, SEEK_SET) == at) {
        byte ^= 1;
        if (write(fd, &byte, 1) != 1) perror(path);
    }
    close(fd);
}

static void put_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    fputs(text, file);
    fclose(file);
}

static void cut(const char *path, off_t bytes)
{
    if (truncate(path, bytes) != 0) perror(path);
}

static void cut_last(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0) cut(path, info.st_size - 1);
}

static void cut_to_header(const char *path) { cut(path, 88); }
static void cut_to_half(const char *path) { cut(path, 40); }
static void cut_to_nothing(const char *path) { cut(path, 0); }
static void make_garbage(const char *path)
{
    put_text(path,
             "this is no kernel, whatever its name says; it is only long enough to have a header of its own, and more");
}
static void let_all_write(const char *path) { chmod(path, 0666); }
static void remove_file(const char *path) { unlink(path); }

static void append_byte(const char *path)
{
    FILE *file = fopen(path, "a");
    if (file == NULL) return;
    fputc(1, file);
    fclose(file);
}

static void make_link(const char *path)
{
    char to[600];
    snprintf(to, sizeof to, "%s/elsewhere-%s", work, strrchr(path, '/') + 1);
    if (rename(path, to) != 0 || symlink(to, path) != 0) perror(path);
}

static void make_folder(const char *path)
{
    unlink(path);
    mkdir(path, 0700);
}

static void make_fifo(const char *path)
{
    unlink(path);
    if (mkfifo(path, 0600) != 0) perror(path);
}

static void make_socket(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char here[4096] = "", *slash, copy[600];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(copy, sizeof copy, "%s", path);
    slash = strrchr(copy, '/');
    *slash = '\0';
    /* 68 bytes, where the whole path may be too long */
    snprintf(at.sun_path, sizeof at.sun_path, "%.107s", slash + 1);
    unlink(path);
    if (getcwd(here, sizeof here) == NULL || chdir(copy) != 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        chdir(here) != 0)
        perror(path);
    close(fd);
}

static void make_unreadable(const char *path) { chmod(path, 0200); }

static void give_away(const char *path)
{
    if (chown(path, NOBODY, NOBODY) != 0) perror(path);
}

static void make_device(const char *path)
{
    unlink(path);
    if (mknod(path, S_IFCHR | 0600, makedev(1, 5)) != 0) perror(path); /* /dev/zero */
}

static bool may_make_devices(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/device", work);
    bool may = mknod(path, S_IFCHR | 0600, makedev(1, 5)) == 0;
    unlink(path);
    return may;
}

static void forget_cache(void)
{
    each_file(remove_file);
    struct stat info;
    char command[256];
    if (lstat(cache_folder, &info) == 0) {
        snprintf(command, sizeof command, "rm -rf '%s'", cache_folder);
        if (system(command) != 0) perror(cache_folder);
    }
}

/* All went well, and so many kernels were compiled (-1: some). */
static bool ran(const char *const *variables, int compiled, char why[OUTPUT])
{
    outcome o;
    char text[1024];
    run_child("cuda", "cuda:nvrtc", variables, &o);
    int found = logged("nvrtcCompileProgram");
    bool right = sane(&o) && told(&o, "run", text) == TW_OK && told(&o, "gemm", text) == TW_OK &&
                 (compiled < 0 ? found > 0 : found == compiled);
    if (!right) snprintf(why, OUTPUT, "%d kernels were compiled, expected %d: %.7000s", found, compiled, o.text);
    return right;
}

/* Kept files that are changed are compiled again, put in place, and used once more. */
static void file_case(const char *what, void (*change)(const char *))
{
    const char *const variables[] = {cache_variable, NULL};
    char why[OUTPUT] = "";
    if (!tap_case("cache: kept kernels, then %s", what)) return;
    if ((change == give_away && geteuid() != 0) || (change == make_unreadable && geteuid() == 0) ||
        (change == make_device && !may_make_devices())) {
        tap_skip(change == make_unreadable ? "root reads all files" : "this user cannot make such a file");
        return;
    }
    forget_cache();
    bool right = ran(variables, -1, why);
    int all = logged("nvrtcCompileProgram"), kept = files_kept();
    if (right && (kept == 0 || odd_files > 0)) {
        right = false;
        snprintf(why, sizeof why, "%d files kept, %d that are not plain files of their owner named .bin", kept,
                 odd_files);
    }
    right = right && ran(variables, 0, why); /* from the cache */
    if (change != NULL) each_file(change);
    right = right && ran(variables, change == NULL ? 0 : change == make_folder ? -1 : all, why);
    /* a folder in the file's place stays in the way */
    right = right && ran(variables, change == make_folder ? -1 : 0, why);
    if (right && change != make_folder && (files_kept() != kept || odd_files > 0)) {
        right = false;
        snprintf(why, sizeof why, "%d files, %d odd, expected %d and 0", files_kept(), odd_files, kept);
    }
    tap_result(right, "%s", why);
}

typedef struct place {
    const char *name;
    const char *variables[4];
    const char *state[2]; /* parts of the sentence */
    mode_t mode;          /* of the folder that is there before; 0: none */
    bool owned_by_root, link, file, kept;
} place;

/* A folder that cannot be used is said, with what to do, and nothing fails. */
static void place_case(const place *p)
{
    outcome o;
    char text[1024];
    const char *variables[6] = {cache_variable, "FAULTS_DROP=1"};
    if (!tap_case("cache: %s", p->name)) return;
    if (p->owned_by_root && geteuid() != 0) {
        tap_skip("only root can make a folder that belongs to another");
        return;
    }
    forget_cache();
    if (p->file)
        put_text(cache_folder, "");
    else if (p->link && symlink(work, cache_folder) != 0)
        perror(cache_folder);
    else if (p->mode != 0 && (mkdir(cache_folder, 0700) != 0 ||
                              (!p->owned_by_root && geteuid() == 0 && chown(cache_folder, NOBODY, NOBODY) != 0) ||
                              chmod(cache_folder, p->mode) != 0))
        perror(cache_folder);
    for (int i = 0; p->variables[i] != NULL; i++) variables[2 + i] = p->variables[i];
    run_child("cuda", "cuda:nvrtc", variables, &o);
    char run[1024], state[1024];
    bool right = sane(&o) && told(&o, "run", run) == TW_OK && told(&o, "gemm", text) == TW_OK &&
                 told(&o, "state", state) == 1;
    right = right && says(state, p->state) && (p->kept || strstr(state, "; compiled kernels are not kept") != NULL);
    if (p->mode != 0 && !p->owned_by_root && geteuid() == 0) chmod(cache_folder, 0700);
    int kept = p->link || p->file ? 0 : files_kept();
    tap_result(right && (kept > 0) == p->kept && odd_files == 0,
               "%d files kept, %d odd; expected \"%s\" \"%s\"; exit %d:\n%s", kept, odd_files, p->state[0],
               p->state[1] ? p->state[1] : "", o.exit, o.text);
}

/* What the variable names is not made, which is said; where it is there, the folder below it is made. */
static void base_case(const char *variable, const char *other, const char *below)
{
    outcome o;
    char base[128], named[200], place[300], state[1024], sentence[300];
    struct stat info;
    if (!tap_case("cache: below %s, which must be there", variable)) return;
    snprintf(base, sizeof base, "%s/base", work);
    snprintf(named, sizeof named, "%s=%s", variable, base);
    snprintf(place, sizeof place, "%s/%s", base, below);
    snprintf(sentence, sizeof sentence,
             "compiled kernels are not kept: %s (%s) cannot be used: No such file or directory; TILEWRIGHT_CACHE", base,
             variable);
    const char *const variables[] = {"TILEWRIGHT_CACHE=", other, named, NULL};
    run_child("cuda", "cuda:nvrtc", variables, &o);
    told(&o, "state", state);
    bool right = sane(&o) && strstr(state, sentence) != NULL && lstat(base, &info) != 0 && errno == ENOENT;
    mkdir(base, 0755);
    if (right) run_child("cuda", "cuda:nvrtc", variables, &o);
    told(&o, "state", state);
    right = right && sane(&o) && strstr(state, "kernels kept: /") != NULL && stat(place, &info) == 0 &&
            (info.st_mode & 0777) == 0700;
    snprintf(named, sizeof named, "rm -rf '%s'", base);
    tap_result(system(named) == 0 && right, "expected \"%s\", then kernels kept; exit %d:\n%s", sentence, o.exit,
               o.text);
}

static bool holds(const char *folder, const jit_key *key)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s.bin", folder, key->hex);
    return access(path, F_OK) == 0;
}

/* Another folder with the same name, while the cache is open: nothing is written there, read there or removed there. */
static void swapped_case(void)
{
    char moved[200], command[1000];
    size_t bytes;
    if (!tap_case("cache: another folder in its place while it is open")) return;
    jit_key mine = jit_key_of(1, (const char *const[]){"mine"}),
            theirs = jit_key_of(1, (const char *const[]){"theirs"}),
            later = jit_key_of(1, (const char *const[]){"later"});
    snprintf(moved, sizeof moved, "%s-moved", cache_folder);
    forget_cache();
    setenv("TILEWRIGHT_CACHE", cache_folder, 1);
    jit_cache *cache = jit_cache_open();
    jit_cache_put(cache, &mine, "mine", 5);
    jit_cache_put(cache, &theirs, "theirs", 7);
    snprintf(command, sizeof command, "mv '%s' '%s' && mkdir -m 700 '%s' && mv '%s/%s.bin' '%s'", cache_folder, moved,
             cache_folder, moved, theirs.hex, cache_folder);
    bool made = system(command) == 0;
    void *read_there = jit_cache_get(cache, &theirs, &bytes), *read_here = jit_cache_get(cache, &mine, &bytes);
    jit_cache_put(cache, &later, "later", 6);
    bool written_there = holds(cache_folder, &later), written_here = holds(moved, &later);
    tap_result(made && read_there == NULL && read_here != NULL && !written_there && written_here,
               "made %d, read there %d, here %d, written there %d, here %d", made, read_there != NULL,
               read_here != NULL, written_there, written_here);
    free(read_there), free(read_here);
    jit_cache_close(cache);
    snprintf(command, sizeof command, "rm -rf '%s'", moved);
    if (system(command) != 0) perror(moved);
    forget_cache();
}

/* A program closes all descriptors and opens folders of its own: none is taken for the cache, nor closed. */
static void lost_case(void)
{
    char here[] = ".";
    size_t bytes;
    int last = 0;
    if (!tap_case("cache: its descriptor was closed, and is another folder's now")) return;
    jit_key mine = jit_key_of(1, (const char *const[]){"mine"});
    forget_cache();
    setenv("TILEWRIGHT_CACHE", cache_folder, 1);
    int before = dup(STDERR_FILENO);
    jit_cache *cache = jit_cache_open();
    close(before);
    for (int fd = before; fd < before + 8; fd++) close(fd);
    for (int fd = before; fd < before + 8; fd++) last = open(here, O_RDONLY | O_DIRECTORY);
    jit_cache_put(cache, &mine, "mine", 5);
    void *read = jit_cache_get(cache, &mine, &bytes);
    bool usable = jit_cache_usable(cache), there = holds(here, &mine);
    const char *state = strstr(jit_cache_state(cache), "could not be kept");
    jit_cache_close(cache);
    bool open_still = true;
    for (int fd = before; fd < before + 8; fd++) open_still = close(fd) == 0 && open_still;
    tap_result(last >= before && read == NULL && !usable && !there && state != NULL && open_still,
               "read %d, usable %d, written there %d, told %d, the folder open %d", read != NULL, usable, there,
               state != NULL, open_still);
    free(read);
    forget_cache();
}

static void cache_cases(void)
{
    static const struct {
        const char *what;
        void (*change)(const char *);
    } changes[] = {{"nothing changed", NULL},
                   {"a bit flipped", flip_bit},
                   {"a byte cut off", cut_last},
                   {"a byte added", append_byte},
                   {"only the header left", cut_to_header},
                   {"half a header left", cut_to_half},
                   {"nothing left", cut_to_nothing},
                   {"something else in its place", make_garbage},
                   {"others may write it", let_all_write},
                   {"a link in its place", make_link},
                   {"a folder in its place", make_folder},
                   {"no file left", remove_file},
                   {"a FIFO in its place", make_fifo},
                   {"a socket in its place", make_socket},
                   {"a device in its place", make_device},
                   {"another user's file", give_away},
                   {"a file that cannot be read", make_unreadable}};
    static const place places[] = {
        {"a folder that is made", {NULL}, {"kernels kept: /"}, 0, .kept = true},
        {"a folder that is there", {NULL}, {"kernels kept: /"}, 0700, .kept = true},
        {"off", {"TILEWRIGHT_CACHE=off"}, {"compiled kernels are not kept", "TILEWRIGHT_CACHE is off"}, 0},
        {"read-only", {NULL}, {"is not writable", "TILEWRIGHT_CACHE"}, 0500},
        {"foreign-owned", {NULL}, {"belongs to another user", "TILEWRIGHT_CACHE"}, 0700, .owned_by_root = true},
        {"foreign-owned and open to all",
         {NULL},
         {"belongs to another user", "TILEWRIGHT_CACHE"},
         0777,
         .owned_by_root = true},
        {"the system's folder", {"TILEWRIGHT_CACHE=/usr"}, {"belongs to another user", "TILEWRIGHT_CACHE"}, 0},
        {"world-writable", {NULL}, {"can be reached by other users", "chmod 700"}, 0777},
        {"readable by others", {NULL}, {"can be reached by other users", "chmod 700"}, 0755},
        {"a link", {NULL}, {"a link is not followed", "TILEWRIGHT_CACHE"}, 0, .link = true},
        {"a file", {NULL}, {"is not a folder", "TILEWRIGHT_CACHE"}, 0, .file = true},
        {"below a file",
         {"TILEWRIGHT_CACHE=/dev/null/kernels"},
         {"compiled kernels are not kept", "TILEWRIGHT_CACHE"},
         0},
        {"where nothing may be made",
         {"TILEWRIGHT_CACHE=/proc/kernels"},
         {"compiled kernels are not kept", "TILEWRIGHT_CACHE"},
         0},
        {"no home",
         {"TILEWRIGHT_CACHE=", "XDG_CACHE_HOME=", "HOME="},
         {"compiled kernels are not kept", "none of TILEWRIGHT_CACHE, XDG_CACHE_HOME and HOME"},
         0},
        {"not an absolute path",
         {"TILEWRIGHT_CACHE=kernels"},
         {"compiled kernels are not kept", "not an absolute path"},
         0},
        {"full", {"FAULTS_FULL=yes"}, {"compiled kernels are not kept", "TILEWRIGHT_CACHE"}, 0},
        {"full after some bytes", {"FAULTS_FULL=later"}, {"compiled kernels are not kept", "TILEWRIGHT_CACHE"}, 0},
    };
    const char *first_refused[] = {cache_variable, "FAKES=cuModuleLoadData=200@1", NULL};
    char why[OUTPUT] = "";
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) file_case(changes[i].what, changes[i].change);
    if (tap_case("cache: the driver refuses a kept kernel, and takes it compiled anew")) {
        forget_cache();
        bool right = ran((const char *const[]){cache_variable, NULL}, -1, why) && ran(first_refused, 1, why) &&
                     ran((const char *const[]){cache_variable, NULL}, 0, why);
        tap_result(right, "%s", why);
    }
    if (tap_case("cache: another NVRTC is another key")) {
        forget_cache();
        bool right = ran((const char *const[]){cache_variable, NULL}, -1, why);
        right = right && ran((const char *const[]){cache_variable, "FAKE_CUDA=sm=80", NULL}, -1, why);
        tap_result(right, "%s", why);
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) place_case(&places[i]);
    base_case("HOME", "XDG_CACHE_HOME=", ".cache/tilewright");
    base_case("XDG_CACHE_HOME", "HOME=/", "tilewright");
    swapped_case();
    lost_case();
    forget_cache();
}

/* ---- the pieces of the cache ---- */

static void sum_case(const char *name, const char *text, int times, const char *expected)
{
    char hex[65];
    sha256 sum;
    if (!tap_case("sha256 of %s", name)) return;
    sha256_init(&sum);
    for (int i = 0; i < times; i++) sha256_add(&sum, text, strlen(text));
    sha256_hex(&sum, hex);
    tap_result(strcmp(hex, expected) == 0, "%s", hex);
}

/* A file of this length (with a hole for what is in it) in the cache's folder, last used so many seconds ago. */
static void make_old(const char *name, int64_t bytes, int seconds)
{
    char path[512];
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    snprintf(path, sizeof path, "%s/%s", cache_folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, bytes) != 0 || futimens(fd, times) != 0) perror(path);
    close(fd);
}

static bool is_there(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", cache_folder, name);
    return access(path, F_OK) == 0;
}

/* The folder has a limit: what was not used for longest goes, and nothing that is not the cache's own. */
static void room_case(void)
{
    enum { MIB = 1 << 20 };
    char names[5][80];
    size_t bytes = 0;
    if (!tap_case("beyond its limit the cache forgets what was not used for longest")) return;
    forget_cache();
    setenv("TILEWRIGHT_CACHE", cache_folder, 1);
    jit_cache *cache = jit_cache_open();
    jit_key used = jit_key_of(1, (const char *const[]){"used"}), fresh = jit_key_of(1, (const char *const[]){"fresh"});
    for (int i = 0; i < 5; i++) {
        jit_key key = jit_key_of(1, (const char *const[]){(const char *[]){"a", "b", "c", "d", "e"}[i]});
        snprintf(names[i], sizeof names[i], "%s.bin%s", key.hex, i == 2 ? ".aBcDeF" : i == 3 ? ".UvWxYz" : "");
    }
    jit_cache_put(cache, &used, "used", 5);
    snprintf(names[4], sizeof names[4], "%s.bin", used.hex);
    make_old(names[0], 100 * MIB, 9000);
    make_old(names[1], 100 * MIB, 8000);
    make_old(names[2], 60 * MIB, 10000); /* left by somebody who was killed */
    make_old(names[3], 60 * MIB, 60);    /* being written now: not counted */
    make_old("notes.bin", 400 * MIB, 20000);
    jit_cache_put(cache, &fresh, "a", 1);
    bool within = is_there(names[0]) && is_there(names[1]) && is_there(names[2]); /* 260 MiB are beyond the limit */
    bool kept = is_there(names[1]) && is_there(names[3]) && is_there(names[4]) && is_there("notes.bin");
    bool gone = !is_there(names[2]) && !is_there(names[0]);
    void *again = jit_cache_get(cache, &used, &bytes), *newest = jit_cache_get(cache, &fresh, &bytes);
    tap_result(!within && kept && gone && again != NULL && newest != NULL, "kept %d, gone %d, used %d, fresh %d", kept,
               gone, again != NULL, newest != NULL);
    free(again), free(newest);
    jit_cache_close(cache);
    forget_cache();
}

static void sum_cases(void)
{
    /* FIPS 180-4's examples; lengths around a block in all splits. */
    sum_case("nothing", "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sum_case("abc", "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sum_case("two blocks", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
             "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    sum_case("a million a", "aaaaaaaaaa", 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    if (tap_case("sha256 does not depend on how the text is handed over")) {
        char text[200], whole[65], parts[65];
        bool right = true;
        for (int length = 0; length < 200; length++) {
            sha256 one, two;
            for (int i = 0; i < length; i++) text[i] = (char)(i * 7 + length);
            sha256_init(&one), sha256_init(&two);
            sha256_add(&one, text, (size_t)length);
            sha256_add(&two, text, (size_t)length / 3),
                sha256_add(&two, text + length / 3, (size_t)(length - length / 3));
            sha256_hex(&one, whole), sha256_hex(&two, parts);
            right = right && strcmp(whole, parts) == 0;
        }
        tap_result(right, "it does");
    }
    if (tap_case("a key depends on every piece and on where it ends")) {
        jit_key a = jit_key_of(2, (const char *const[]){"ab", "c"}),
                b = jit_key_of(2, (const char *const[]){"a", "bc"});
        jit_key c = jit_key_of(1, (const char *const[]){"abc"}),
                d = jit_key_of(3, (const char *const[]){"ab", "c", ""});
        jit_key again = jit_key_of(2, (const char *const[]){"ab", "c"}),
                other = jit_key_of(2, (const char *const[]){"c", "ab"});
        bool right = strlen(a.hex) == 64 && strcmp(a.hex, again.hex) == 0 && strcmp(a.hex, b.hex) != 0 &&
                     strcmp(a.hex, c.hex) != 0 && strcmp(a.hex, d.hex) != 0 && strcmp(a.hex, other.hex) != 0;
        tap_result(right, "%s %s %s %s %s", a.hex, b.hex, c.hex, d.hex, other.hex);
    }
    if (tap_case("what is kept comes back, under its key alone")) {
        static const char binary[] = "\177ELF\0 any bytes";
        size_t bytes = 0, none = 0;
        jit_key one = jit_key_of(1, (const char *const[]){"one"}), two = jit_key_of(1, (const char *const[]){"two"});
        forget_cache();
        setenv("TILEWRIGHT_CACHE", cache_folder, 1);
        jit_cache *cache = jit_cache_open();
        void *before = jit_cache_get(cache, &one, &none);
        jit_cache_put(cache, &one, binary, sizeof binary);
        void *kept = jit_cache_get(cache, &one, &bytes), *other = jit_cache_get(cache, &two, &none);
        bool right = before == NULL && other == NULL && kept != NULL && bytes == sizeof binary &&
                     memcmp(kept, binary, bytes) == 0;
        jit_cache_put(cache, &one, "b", 1); /* the later one counts */
        free(kept);
        kept = jit_cache_get(cache, &one, &bytes);
        right = right && kept != NULL && bytes == 1 && *(char *)kept == 'b' &&
                strcmp(jit_cache_state(cache), cache_folder) == 0;
        tap_result(right, "%zu bytes; %s", bytes, jit_cache_state(cache));
        free(kept);
        jit_cache_close(cache);
        forget_cache();
    }
    room_case();
    if (tap_case("no cache takes every call")) {
        size_t bytes = 0;
        jit_key one = jit_key_of(1, (const char *const[]){"one"});
        jit_cache_put(NULL, &one, "a", 1);
        tap_result(jit_cache_get(NULL, &one, &bytes) == NULL && jit_cache_state(NULL)[0] != '\0', "no sentence");
        jit_cache_close(NULL);
    }
}

/* The machine's own loader, with no driver in sight. */
static void real_loader_case(void)
{
    outcome o;
    char text[1024];
    if (!tap_case("opencl: this machine's loader without its drivers")) return;
    if (cl_api_load() == NULL) {
        tap_skip("no OpenCL loader is installed");
        return;
    }
    run_child("opencl", "", (const char *const[]){"OCL_ICD_VENDORS=/nowhere", NULL}, &o);
    int state = told(&o, "state", text);
    tap_result(sane(&o) && state == 0 && strstr(text, "-1001") != NULL && strstr(text, "pocl-opencl-icd") != NULL,
               "exit %d:\n%s", o.exit, o.text);
}

/* More options for the compiler come from the environment, but not into a program that runs for another user. */
static void option_cases(void)
{
    const char *const variables[] = {"TILEWRIGHT_OPENCL_OPTIONS=-DOF_THE_ENVIRONMENT", NULL};
    char library[128], program[128], command[2600], flag[] = "--child", engine[] = "opencl", named[200];
    outcome o;
    if (tap_case("opencl: options of the environment reach the compiler")) {
        run_child("opencl", "opencl", variables, &o);
        tap_result(sane(&o) && logged("options of the environment") > 0, "exit %d:\n%s", o.exit, o.text);
    }
    if (!tap_case(
            "opencl: options of the environment do not reach the compiler of a program that runs for another user"))
        return;
#ifdef LIBRARY_IS_SHARED
    tap_skip("the library is shared here, and such a program does not look for it in its own folder");
    return;
#endif
    snprintf(program, sizeof program, "%s/privileged", work);
    snprintf(library, sizeof library, "%s/libOpenCL.so.1", work);
    snprintf(named, sizeof named, "FAULTS_PRIVILEGED=%s", library);
    snprintf(
        command, sizeof command,
        "cp /proc/%ld/exe '%s' && cp '%s/opencl/libOpenCL.so.1' '%s' && chown %d '%s' 2>/dev/null && chmod 4755 '%s'",
        (long)getpid(), program, FAKES_FOLDER, library, NOBODY, program, program);
    if (system(command) != 0) {
        tap_skip("only root can make a program that runs for another user");
        return;
    }
    chmod(work, 0777); /* for the log, which is nobody's */
    run_program((char *[]){program, flag, engine, NULL}, "opencl", (const char *const[]){variables[0], named, NULL},
                &o);
    chmod(work, 0755);
    if (o.exit == 96)
        tap_skip("programs here do not run for their owner");
    else
        tap_result(sane(&o) && logged("clBuildProgram") > 0 && logged("options of the environment") == 0,
                   "%d programs were built, %d with these options; exit %d:\n%s", logged("clBuildProgram"),
                   logged("options of the environment"), o.exit, o.text);
}

/* PoCL crashes on a program binary that is not whole, and keeps what it compiles itself: it is handed none. */
static void pocl_case(void)
{
    outcome o, again;
    char state[1024];
    const char *const pocl[] = {cache_variable, "FAKE_OPENCL=pocl=1", NULL}, *const other[] = {cache_variable, NULL};
    if (!tap_case("opencl: PoCL is handed no kept binary, other drivers are")) return;
    forget_cache();
    run_child("opencl", "opencl", pocl, &o);
    bool right = sane(&o) && told(&o, "state", state) == 1 && strstr(state, "PoCL keeps its kernels itself") != NULL;
    int kept = files_kept();
    run_child("opencl", "opencl", other, &again);
    right = right && sane(&again) && files_kept() > 0;
    run_child("opencl", "opencl", other, &again);
    tap_result(right && kept == 0 && sane(&again) && logged("clCreateProgramWithBinary") > 0 &&
                   logged("clCreateProgramWithSource") == 0,
               "%d files kept of PoCL's, %d of another's; exit %d:\n%s", kept, files_kept(), o.exit, o.text);
    forget_cache();
}

/* ---- every allocation of ours, one at a time ---- */

static void allocation_case(const char *engine, const char *folders, bool keeps)
{
    outcome o;
    char text[1024];
    if (!tap_case("%s: each allocation fails once, and is told, with%s kept kernels", engine, keeps ? "" : "out"))
        return;
#ifdef LIBRARY_IS_SHARED
    tap_skip("the library is shared here, and its allocations are not this program's");
    return;
#endif
    run_child(engine, folders, (const char *const[]){"FAULTS_ALLOCATIONS=1", keeps ? cache_variable : NULL, NULL}, &o);
    int places = told(&o, "allocations", text);
    tap_result(sane(&o) && places > 5 && strcmp(text, "all told") == 0, "%d allocations, %s; exit %d:\n%s", places,
               text, o.exit, o.text);
    forget_cache();
}

/* ---- a driver that crashes ---- */

/* The program goes on, says which driver crashed and how, and ends with 8. */
static void crash_case(const char *command, const char *engine, const char *folders, const char *crash,
                       const char *says)
{
    const char *program = getenv("TILEWRIGHT");
    outcome o;
    char path[1024], name[16];
    if (!tap_case("%s with %s: the driver of %s %s", command, crash, engine, says)) return;
    if (program == NULL || access(program, X_OK) != 0) {
        tap_skip("TILEWRIGHT does not name the program");
        return;
    }
    snprintf(path, sizeof path, "%s", program);
    snprintf(name, sizeof name, "%s", command);
    run_program((char *[]){path, name, NULL}, folders, (const char *const[]){crash, "TILEWRIGHT_THREADS=1", NULL}, &o);
    char sentence[200];
    snprintf(sentence, sizeof sentence, "the driver of the %s engine %s", engine, says);
    bool rest = strstr(o.text, strcmp(command, "doctor") == 0 ? "self test cpu" : "cpu 0") != NULL;
    tap_result(o.exit == 8 && strstr(o.text, sentence) != NULL && rest, "exit %d, expected 8 and \"%s\":\n%s", o.exit,
               sentence, o.text);
}

static void crash_cases(void)
{
    crash_case("devices", "opencl", "opencl", "FAKE_CRASH=clGetPlatformIDs=6", "crashed: signal 6, Aborted");
    crash_case("devices", "opencl", "opencl", "FAKE_CRASH=clGetDeviceIDs=-3", "ended its process with exit status 3");
    crash_case("devices", "opencl", "opencl", "FAKE_CRASH=clBuildProgram=9", "crashed: signal 9, Killed");
    crash_case("devices", "cuda", "cuda:nvrtc", "FAKE_CRASH=cuInit=6", "crashed: signal 6, Aborted");
    crash_case("doctor", "opencl", "opencl", "FAKE_CRASH=clGetPlatformIDs=6", "crashed: signal 6, Aborted");
    crash_case("doctor", "cuda", "cuda:nvrtc", "FAKE_CRASH=cuLaunchKernel=6", "crashed: signal 6, Aborted");
}

/* ---- memory that is wanted and not needed ---- */

/* One allocation fails, which the product can do without: it comes out all the same, and nothing is left behind. */
static void spare_case(const char *name, const char *fault, const char *large, const char *what, const char *failed)
{
    char text[1024], why[256] = "";
    outcome o;
    if (!tap_case("cuda: without %s a product comes out", name)) return;
    run_child("cuda", "cuda:nvrtc", (const char *const[]){fault, large, NULL}, &o);
    int status = told(&o, what, text), failures = logged(failed);
    tap_result(sane(&o) && status == TW_OK && failures == 1 && all_given_back("", why),
               "%d failures, %s %d: %s %s; exit %d:\n%s", failures, what, status, text, why, o.exit, o.text);
}

static void spare_cases(void)
{
    /* after three of the rung's, three operands */
    spare_case("memory for packed operands", "FAKES=cuMemAlloc_v2=2@7", NULL, "gemm", "failed cuMemAlloc_v2");
    spare_case("pinned memory for a thread beside the caller's", "FAKES=cuMemHostAlloc=2@3", "FAULTS_LARGE=8", "large",
               "failed cuMemHostAlloc");
}

/* ---- kernels that somebody built ahead, on a machine without NVRTC ---- */

/* The folder is made anew; then `change` is done to it. Does a product come out, and what is said of the folder? */
static void ahead_case(const char *name, const char *change, const char *variable, bool multiplies, const char *says)
{
    char folder[96], named[120], command[400], text[1024], why[1024];
    char program[] = AHEAD_PROGRAM;
    outcome o;
    if (!tap_case("cuda, kernels built ahead: %s", name)) return;
    snprintf(folder, sizeof folder, "%s/ahead", work);
    snprintf(named, sizeof named, "TILEWRIGHT_KERNELS=%s", folder);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    bool made = system(command) == 0;
    run_program((char *[]){program, folder, NULL}, "cuda:nvrtc", (const char *const[]){NULL}, &o);
    snprintf(command, sizeof command, "cd '%s' && %s", folder, change);
    made = made && o.exit == 0 && system(command) == 0;
    run_child("cuda", "cuda",
              (const char *const[]){"TILEWRIGHT_NVRTC=/nowhere/libnvrtc.so", variable != NULL ? variable : named, NULL},
              &o);
    int status = told(&o, "gemm", why);
    told(&o, "state", text);
    tap_result(made && sane(&o) && strstr(text, says) != NULL && (status == TW_OK) == multiplies &&
                   (multiplies || (status == TW_BUILD_FAILED && strstr(why, "NVRTC") != NULL)) &&
                   all_given_back("", why),
               "%s %s; exit %d:\n%s", made ? "" : "the folder could not be made", why, o.exit, o.text);
}

static int files_in(const char *folder)
{
    DIR *opened = opendir(folder);
    const struct dirent *entry;
    int count = 0;
    while (opened != NULL && (entry = readdir(opened)) != NULL) count += entry->d_name[0] != '.';
    if (opened != NULL) closedir(opened);
    return count;
}

/* The tool takes the compiler that TILEWRIGHT_NVRTC names, and tells how far it is, then what there is. */
static void ahead_tool_cases(void)
{
    char program[] = AHEAD_PROGRAM, folder[96], command[120], first[64], last[200];
    const char *const named[] = {"TILEWRIGHT_NVRTC=" FAKES_FOLDER "/nvrtc/libnvrtc.so.13", NULL},
                      *const nowhere[] = {"TILEWRIGHT_NVRTC=/nowhere/libnvrtc.so", NULL};
    outcome o;
    snprintf(folder, sizeof folder, "%s/tool", work);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (tap_case("cuda, kernels built ahead: how far that is, and what there is then")) {
        bool fresh = system(command) == 0;
        run_program((char *[]){program, folder, NULL}, "", named, &o);
        int count = files_in(folder);
        snprintf(first, sizeof first, "kernel 1 of %d: ", count);
        snprintf(last, sizeof last, "\n%s: %d kernels, 0.0 MB, for sm_80 and sm_90a\n", folder, count);
        size_t length = strlen(o.text), tail = strlen(last);
        tap_result(fresh && o.exit == 0 && count > 0 && strncmp(o.text, first, strlen(first)) == 0 && length > tail &&
                       strcmp(o.text + length - tail, last) == 0,
                   "%d files, exit %d:\n%s", count, o.exit, o.text);
    }
    if (tap_case("cuda, kernels built ahead: TILEWRIGHT_NVRTC names no library")) {
        run_program((char *[]){program, folder, NULL}, "nvrtc", nowhere, &o);
        tap_result(o.exit == 1 &&
                       strstr(o.text, "NVRTC, the CUDA run-time compiler, cannot be used: /nowhere/libnvrtc.so") !=
                           NULL,
                   "exit %d:\n%s", o.exit, o.text);
    }
}

static void ahead_cases(void)
{
    ahead_tool_cases();
    ahead_case("no compiler is needed", "true", NULL, true, "but no other kernel can be compiled");
    ahead_case("readable by all", "chmod -R go+rX .", NULL, true, "; kernels built ahead: ");
    ahead_case("writable by others", "chmod 777 .", NULL, false,
               "can be written by other users: chmod go-w makes it usable");
    ahead_case("files writable by others", "chmod 666 *", NULL, false, "; kernels built ahead: ");
    ahead_case("files cut off", "for f in *; do head -c 90 \"$f\" >x && mv x \"$f\"; done", NULL, false,
               "; kernels built ahead: ");
    ahead_case("files changed",
               "for f in *; do printf x | dd of=\"$f\" bs=1 seek=90 conv=notrunc 2>/dev/null || exit; done", NULL,
               false, "; kernels built ahead: ");
    ahead_case("no folder of that name", "true", "TILEWRIGHT_KERNELS=/nowhere/at/all", false,
               "none: /nowhere/at/all No such file or directory");
    ahead_case("a folder by a relative path", "true", "TILEWRIGHT_KERNELS=tmp", false,
               "none: tmp is not an absolute path");
    ahead_case("of another version", "for f in *; do mv \"$f\" \"$f.old\"; done", NULL, false,
               "but no kernel can be compiled");
    ahead_case("a file for a folder", "true", "TILEWRIGHT_KERNELS=/etc/passwd", false,
               "none: /etc/passwd is not a folder");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--child") == 0)
        return strcmp(argv[2], "streams") == 0 ? child_streams() : child(argv[2]);
    tap_start(argc, argv);
    if (!tap.list && mkdtemp(work) == NULL) return 1;
    chmod(work, 0755);
    snprintf(log_path, sizeof log_path, "%s/log", work);
    snprintf(cache_folder, sizeof cache_folder, "%s/open/cache", work);
    snprintf(cache_variable, sizeof cache_variable, "TILEWRIGHT_CACHE=%s", cache_folder);
    char open_folder[64];
    snprintf(open_folder, sizeof open_folder, "%s/open", work);
    if (!tap.list) mkdir(open_folder, 0700), chmod(open_folder, 0777);
    sum_cases();
    memory_cases();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) fault_case(&faults[i]);
    real_loader_case();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) program_cases(&faults[i]);
    telling_cases();
    affinity_case();
    lane_cases();
    large_cases();
    panel_cases();
    stream_cases();
    idle_case("cuda", "cuda:nvrtc");
    idle_case("opencl", "opencl");
    call_cases();
    cache_cases();
    pocl_case();
    option_cases();
    for (int keeps = 0; keeps <= 1; keeps++) {
        allocation_case("cuda", "cuda:nvrtc", keeps);
        allocation_case("opencl", "opencl", keeps);
    }
    crash_cases();
    spare_cases();
    ahead_cases();
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", work);
    if (!tap.list && system(command) != 0) return 1;
    return tap_finish();
}
