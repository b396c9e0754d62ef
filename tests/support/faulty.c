/* faulty.c - `faulty ENGINE` calls the library where something is missing, broken or not allowed, and prints what it
 * met, a line each of what it did, its status and its sentence; FAULTS_* in the environment say what else it does. */
#define _GNU_SOURCE /* sched_getcpu */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engines/cuda/cu_api.h"
#include "engines/opencl/cl_api.h"
#include "faulty.h"
#include "spaced.h"
#include "tilewright_lab.h"

/* So many allocations of the library still succeed, then one fails; below 0: none does. And how many of its blocks it
 * has not given back. The linker puts these before malloc() and its like, in this program alone: no driver's fails or
 * counts. */
static atomic_int allocations_left = -1, live;
void *__real_malloc(size_t bytes), *__real_calloc(size_t count, size_t bytes),
    *__real_realloc(void *memory, size_t bytes), *__real_aligned_alloc(size_t alignment, size_t bytes);
char *__real_strdup(const char *text), *__real_realpath(const char *path, char *resolved);
ssize_t __real_getline(char **line, size_t *room, FILE *file);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes), *__wrap_calloc(size_t count, size_t bytes),
    *__wrap_realloc(void *memory, size_t bytes), *__wrap_aligned_alloc(size_t alignment, size_t bytes);
char *__wrap_strdup(const char *text), *__wrap_realpath(const char *path, char *resolved);
ssize_t __wrap_getline(char **line, size_t *room, FILE *file);
void __wrap_free(void *memory);

static bool fails_now(void)
{
    return atomic_load(&allocations_left) >= 0 && atomic_fetch_sub(&allocations_left, 1) == 0;
}

static void *counted(void *block)
{
    if (block != NULL) atomic_fetch_add(&live, 1);
    return block;
}

void *__wrap_malloc(size_t bytes) { return fails_now() ? NULL : counted(__real_malloc(bytes)); }
void *__wrap_calloc(size_t count, size_t bytes) { return fails_now() ? NULL : counted(__real_calloc(count, bytes)); }
void *__wrap_realloc(void *memory, size_t bytes)
{
    if (fails_now()) return NULL;
    return memory != NULL ? __real_realloc(memory, bytes) : counted(__real_realloc(NULL, bytes));
}
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) { return counted(__real_aligned_alloc(alignment, bytes)); }
char *__wrap_strdup(const char *text) { return counted(__real_strdup(text)); }
char *__wrap_realpath(const char *path, char *resolved)
{
    char *real = __real_realpath(path, resolved);
    return resolved == NULL ? counted(real) : real;
}
ssize_t __wrap_getline(char **line, size_t *room, FILE *file)
{
    const bool first = *line == NULL;
    ssize_t length = __real_getline(line, room, file);
    if (first) counted(*line);
    return length;
}
void __wrap_free(void *memory)
{
    if (memory != NULL) atomic_fetch_sub(&live, 1);
    __real_free(memory);
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

/* An element of a large C, exact in f32. */
static float large_element(size_t i) { return (float)((uint32_t)i * 2654435761u >> 9); }

/* A C of f32 or cf32, `pad` elements between rows, goes up and comes back as it was, the padding included. */
static tw_status run_padded_c(tw_context *context, tw_problem p, int64_t pad)
{
    const int64_t parts = tw_lab_dtype_of(p.dtype)->parts;
    p.ldc += pad, p.beta = 1;
    size_t count = (size_t)(p.m * p.ldc * parts);
    float *c = malloc(count * sizeof *c), *a = calloc((size_t)(p.m * p.k * parts), sizeof *a),
          *b = calloc((size_t)(p.n * p.k * parts), sizeof *b);
    if (c == NULL || a == NULL || b == NULL) exit(98);
    for (size_t i = 0; i < count; i++) c[i] = large_element(i);
    tw_status status = tw_gemm(context, &p, a, b, c);
    bool same = true;
    for (size_t i = 0; status == TW_OK && i < count; i++) same &= c[i] == large_element(i);
    if (!same) puts("C came back changed");
    free(c), free(a), free(b);
    return status;
}

static tw_status run_large_c(tw_context *context, int64_t rows, int64_t cols, int64_t pad)
{
    return run_padded_c(context, tw_problem_make(TW_F32, TW_N, TW_N, rows, cols, 1), pad);
}

/* Rows shorter than a piece of a copy, without and with padding, of an odd length; rows longer; one row. */
static tw_status run_large(tw_context *context)
{
    tw_status status = run_large_c(context, 1500, 3000, 0);
    if (status == TW_OK) status = run_large_c(context, 1501, 3001, 5);
    if (status == TW_OK) status = run_large_c(context, 3, 1700001, 2);
    return status == TW_OK ? run_large_c(context, 1, 5000001, 0) : status;
}

/* So large that it is computed in panels: "t": B is transposed; "e": it may be emulated; "c": complex, and squares of B
 * move fewer bytes than planes of A, but not for a panel. */
static tw_status run_panels(tw_context *context, char how)
{
    tw_problem p = how == 'c'   ? tw_problem_make(TW_CF32, TW_N, TW_N, 2001, 3200, 1024)
                   : how == 'e' ? tw_problem_make(TW_F32, TW_N, TW_N, 2001, 8500, 1024)
                                : tw_problem_make(TW_F32, TW_N, how == 't' ? TW_T : TW_N, 2001, 8500, 1);
    if (how == 'e') p.accuracy = TW_EMULATED;
    return run_padded_c(context, p, 3);
}

/* A C of few columns; with a fake driver, which computes nothing here. */
static void tell_columns(tw_context *context)
{
    const tw_dtype dtype = tw_lab_dtype_named(getenv("FAULTS_COLUMNS"))->dtype;
    tw_problem p = tw_problem_make(dtype, TW_N, TW_T, 8192, 16, 2048);
    tw_lab_plan plan = {0};
    void *a = calloc((size_t)(p.m * p.k), 2), *b = calloc((size_t)(p.k * p.n), 2), *c = calloc((size_t)(p.m * p.n), 4);
    if (a == NULL || b == NULL || c == NULL) exit(98);
    tell("columns", tw_gemm(context, &p, a, b, c));
    printf("columns plan:%d:%s\n", (int)tw_lab_plan_of(context, NULL, &p, &plan), plan.text);
    free(a), free(b), free(c);
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
        if (atomic_load(&live) != 0) break;
    }
    printf("allocations:%d:%s\n", places, right && refused > 0 ? "all told" : "not all told");
    puts(cpu_right() ? "cpu:right" : "cpu:wrong");
    return 0;
}

/* A child closes what its parent has opened, and goes on using. */
static void close_in_child(tw_context *context)
{
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        mark("begin close after fork");
        tw_close(context);
        mark("end");
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static int run(const char *engine)
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
        if (getenv("FAULTS_COLUMNS") != NULL) tell_columns(context);
        if (large != NULL) tell("large", run_large(context));
        const char *panels = getenv("FAULTS_PANELS");
        if (panels != NULL) {
            mark("begin panels");
            status = run_panels(context, panels[0]);
            mark("end");
            tell("panels", status);
        }
        if (getenv("FAULTS_THREADS") != NULL) tell("threads", run_threads(context));
        tell("peak", tw_lab_peak_flops(context, TW_F32, 1, 1, &rate));
        tell("bandwidth", tw_lab_bandwidth(context, 1 << 20, 1, 1, &rate));
        tell("shared", tw_lab_shared_bandwidth(context, 1, &rate));
        tell("pattern", tw_lab_shared_pattern(context, 2, 1024, 1, 1, &rate));
        if (getenv("FAULTS_FORK") != NULL) close_in_child(context);
        tw_close(context);
    }
    puts(cpu_right() ? "cpu:right" : "cpu:wrong");
    status = tw_devices(NULL, 0, &count);
    printf("devices:%d:%s\ncount:%d:\n", (int)status, tw_error_text(), (int)count);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    int result = strcmp(argv[1], "streams") == 0 ? faulty_streams() : run(argv[1]);
    printf("live:%d:\n", atomic_load(&live));
    /* LeakSanitizer may not look at such a program */
    if (getenv("FAULTS_PRIVILEGED") != NULL) fflush(stdout), _exit(result);
    return result;
}
