/* test_cancel.c - tw_cancel(): products that would take many seconds end, on each way through the cpu engine and
 * between the launches of OpenCL, and nothing else does. Operands are memory that is mapped and never written, so it
 * takes no room: zeros; C is written as far as a product gets. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, pthread_getcpuclockid */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "engines/opencl/cl_api.h"
#include "integers.h"
#include "support/tap.h"
#include "tilewright_lab.h"

/* What a caller has computed when it is told to end, and what all threads may then still compute, each; with sanitizers
 * the system takes longer to find the pages of what is read. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const double BEGUN_S = 0.01, MOST_S = 2;
#else
static const double BEGUN_S = 0.01, MOST_S = 0.2;
#endif

static double read_clock(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec : 1e9;
}

static double process_s(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

/* ---- a call in a thread of its own ---- */

typedef struct call {
    tw_context *context;
    tw_problem p;
    tw_batch batch; /* size 0: one product */
    void *a, *b, *c;
    size_t bytes[3]; /* of what is mapped */
    pthread_t thread;
    tw_status status;
    char text[200];
    atomic_bool ended;
} call;

static size_t size_of(tw_dtype dtype, int64_t elements)
{
    return (size_t)elements * (size_t)tw_lab_dtype_of(dtype)->bytes;
}

static void *map(size_t bytes, bool written)
{
    void *at = mmap(NULL, bytes, written ? PROT_READ | PROT_WRITE : PROT_READ,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at != MAP_FAILED ? at : NULL;
}

static void unmap(call *x)
{
    void *const at[3] = {x->a, x->b, x->c};
    for (int i = 0; i < 3; i++)
        if (at[i] != NULL) munmap(at[i], x->bytes[i]);
}

/* Operands of a problem, items of a batch side by side where they are not shared. */
static bool make(call *x)
{
    const tw_problem *p = &x->p;
    const int64_t items = x->batch.size != 0 ? x->batch.count : 1;
    x->bytes[0] = size_of(p->dtype, p->m * p->k * (items == 1 || x->batch.stride_a == 0 ? 1 : items));
    x->bytes[1] = size_of(p->dtype, p->k * p->n * (items == 1 || x->batch.stride_b == 0 ? 1 : items));
    x->bytes[2] = size_of(p->dtype_c, p->m * p->n * items);
    x->a = map(x->bytes[0], false), x->b = map(x->bytes[1], false), x->c = map(x->bytes[2], true);
    return x->a != NULL && x->b != NULL && x->c != NULL;
}

static void compute(call *x)
{
    x->status = x->batch.size != 0 ? tw_gemm_batched(x->context, &x->p, &x->batch, x->a, x->b, x->c)
                                   : tw_gemm(x->context, &x->p, x->a, x->b, x->c);
    snprintf(x->text, sizeof x->text, "%s", x->status != TW_OK ? tw_error_text() : "");
    atomic_store(&x->ended, true);
}

static void *compute_in_thread(void *x)
{
    compute(x);
    return NULL;
}

static bool start(call *x) { return pthread_create(&x->thread, NULL, compute_in_thread, x) == 0; }

/* Returns when a call has computed for so long, or has ended: has it not? */
static bool computes(call *x, double seconds)
{
    clockid_t clock;
    while (!atomic_load(&x->ended)) {
        if (pthread_getcpuclockid(x->thread, &clock) == 0 && read_clock(clock) >= seconds)
            return !atomic_load(&x->ended);
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return false;
}

/* An exact product of this context, of several tasks and threads. */
static bool multiplies(tw_context *context)
{
    char why[200] = "";
    integers x = {0};
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, 203, 301, 257);
    const bool right = integers_make(&p, NULL, 3, &x) == TW_OK && tw_gemm(context, &p, x.a, x.b, x.c) == TW_OK &&
                       integers_judge(&x, why, sizeof why);
    integers_free(&x);
    return right;
}

/* A program's own threads, of which there is one. */
static void run_in_turns(void *state, size_t count, void (*task)(void *data, size_t index), void *data)
{
    (void)state;
    for (size_t i = 0; i < count; i++) task(data, i);
}

enum { LENT = 0 }; /* threads */

static tw_context *open_context(int threads)
{
    const tw_options options = {.size = sizeof options,
                                .engine = "cpu",
                                .threads = threads == LENT ? 3 : threads,
                                .parallel_for = threads == LENT ? run_in_turns : NULL};
    tw_context *context;
    return tw_open(&options, &context) == TW_OK ? context : NULL;
}

/* ---- each way through the engine ---- */

enum { SHARED_A = 1, SHARED_B = 2 };

/* Each is far too long for a test if nothing ends it. At most 512 GiB of addresses. */
typedef struct way {
    const char *name;
    tw_dtype dtype, dtype_c;
    tw_op op_a, op_b;
    int64_t m, n, k;
    double beta;
    uint32_t flags;
    int64_t count; /* of a batch; 0: one product */
    int shares;
} way;

static const int64_t K = 1024, M = 1 << 20;

static void run_way(const way *w, int threads)
{
    if (!(tap_brings("way %s", w->name) | tap_brings("threads %d", threads))) return;
    if (!tap_case("%s: ends, %d thread%s%s", w->name, threads == LENT ? 1 : threads, threads > 1 ? "s" : "",
                  threads == LENT ? " that is lent" : ""))
        return;
    call x = {.context = open_context(threads), .p = tw_problem_make(w->dtype, w->op_a, w->op_b, w->m, w->n, w->k)};
    x.p.dtype_c = w->dtype_c != 0 ? w->dtype_c : w->dtype, x.p.beta = w->beta, x.p.flags = w->flags;
    if (w->count > 0) {
        x.batch = tw_batch_make(&x.p, w->count);
        if (w->shares & SHARED_A) x.batch.stride_a = 0;
        if (w->shares & SHARED_B) x.batch.stride_b = 0;
    }
    if (x.context == NULL || !make(&x) || !start(&x)) {
        tap_result(false, "no context, memory or thread");
    } else {
        const bool began = computes(&x, BEGUN_S);
        const double begin_s = process_s();
        tw_cancel(x.context);
        pthread_join(x.thread, NULL);
        const double took_s = process_s() - begin_s;
        tap_result(began && x.status == TW_CANCELLED && strcmp(x.text, "tw_cancel() has ended the call") == 0 &&
                       took_s < MOST_S * (threads == LENT ? 1 : threads) && multiplies(x.context),
                   "%s, status %d, \"%s\", %.3f s of processors until it returned, or the next product is wrong",
                   began ? "began" : "was over", (int)x.status, x.text, took_s);
    }
    unmap(&x);
    tw_close(x.context);
}

static void ways(void)
{
    const way all[] = {
        {"square f32", TW_F32, 0, TW_N, TW_N, 24 * K, 24 * K, 24 * K, 0, 0, 0, 0},
        {"square f64, added", TW_F64, 0, TW_N, TW_T, 16 * K, 16 * K, 16 * K, 1, 0, 0, 0},
        {"triangle f64", TW_F64, 0, TW_N, TW_T, 16 * K, 16 * K, 16 * K, 0, TW_LOWER, 0, 0},
        {"square cf32", TW_CF32, 0, TW_C, TW_N, 12 * K, 12 * K, 12 * K, 0, 0, 0, 0},
        {"square bf16", TW_BF16, TW_F32, TW_N, TW_N, 32 * K, 32 * K, 32 * K, 0, 0, 0, 0},
        {"square f16", TW_F16, TW_F16, TW_N, TW_N, 24 * K, 24 * K, 24 * K, 0, 0, 0, 0},
        {"square i8", TW_I8, TW_I32, TW_N, TW_N, 32 * K, 32 * K, 32 * K, 0, 0, 0, 0},
        {"long k f32", TW_F32, 0, TW_N, TW_N, 64, 64, 512 * M, 0, 0, 0, 0},
        {"long k f64, few", TW_F64, 0, TW_T, TW_N, 3, 5, 8 * K * M, 1, 0, 0, 0},
        {"long k f16, narrow C", TW_F16, TW_F16, TW_N, TW_N, 64, 64, 512 * M, 0, 0, 0, 0},
        {"few rows f32", TW_F32, 0, TW_N, TW_N, 16, 16 * M, 4 * K, 0, 0, 0, 0},
        {"few columns f64", TW_F64, 0, TW_N, TW_N, 16 * M, 16, 2 * K, 0, 0, 0, 0},
        {"row f32", TW_F32, 0, TW_N, TW_N, 1, 32 * M, 2 * K, 0, 0, 0, 0},
        {"column f32", TW_F32, 0, TW_N, TW_N, 32 * M, 1, 2 * K, 0, 0, 0, 0},
        {"row f64, long k", TW_F64, 0, TW_N, TW_N, 1, M, 32 * K, 0, 0, 0, 0},
        {"column bf16, long k", TW_BF16, TW_F32, TW_T, TW_N, M, 1, 128 * K, 0, 0, 0, 0},
        {"batch of 8 x 8 x 8", TW_F32, 0, TW_N, TW_N, 8, 8, 8, 0, 0, 2 * K * M, SHARED_A | SHARED_B},
        {"batch of GEMV", TW_F32, 0, TW_N, TW_N, 1, 32 * K, 2 * K, 0, 0, K, 0},
        {"batch of 200 x 200 x 200", TW_F32, 0, TW_N, TW_T, 200, 200, 200, 0, 0, M, SHARED_B},
        {"batch of large items", TW_F64, 0, TW_N, TW_T, 2 * K, 2 * K, 2 * K, 1, 0, K, SHARED_A},
        {"batch of two items", TW_F64, 0, TW_N, TW_T, 12 * K, 12 * K, 12 * K, 0, 0, 2, SHARED_A},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int threads = 1; threads <= 3; threads += 2) run_way(&all[i], threads);
    run_way(&all[0], LENT);
}

/* A long GEMV whose shape its thread has just planned: that plan is not carried out without looking. */
static void *compute_twice(void *argument)
{
    call *x = argument;
    compute(&x[0]);
    compute(&x[1]);
    return NULL;
}

static void again_case(int threads)
{
    if (!tap_case("row f32: ends twice, %d thread%s", threads, threads == 1 ? "" : "s")) return;
    call x[2] = {{.context = open_context(threads), .p = tw_problem_make(TW_F32, TW_N, TW_N, 1, 32 * M, 2 * K)}};
    x[0].p.dtype_c = TW_F32;
    if (x[0].context == NULL || !make(&x[0])) exit(3);
    x[1] = x[0];
    if (pthread_create(&x[0].thread, NULL, compute_twice, x) != 0) exit(3);
    x[1].thread = x[0].thread;
    bool began = computes(&x[0], BEGUN_S);
    tw_cancel(x[0].context);
    while (!atomic_load(&x[0].ended)) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    clockid_t clock;
    began = began && pthread_getcpuclockid(x[1].thread, &clock) == 0 && computes(&x[1], read_clock(clock) + BEGUN_S);
    const double begin_s = process_s();
    tw_cancel(x[0].context);
    pthread_join(x[0].thread, NULL);
    const double took_s = process_s() - begin_s;
    tap_result(began && x[0].status == TW_CANCELLED && x[1].status == TW_CANCELLED && took_s < MOST_S * threads,
               "%s, statuses %d and %d, %.3f s", began ? "began" : "was over", (int)x[0].status, (int)x[1].status,
               took_s);
    unmap(&x[0]);
    tw_close(x[0].context);
}

/* ---- which calls end ---- */

static call long_call(tw_context *context)
{
    call x = {.context = context, .p = tw_problem_make(TW_F32, TW_N, TW_N, 24 * K, 24 * K, 24 * K)};
    x.p.dtype_c = TW_F32;
    if (!make(&x)) exit(3);
    return x;
}

static void nothing_runs_case(void)
{
    if (!tap_case("a call that begins afterwards is not ended")) return;
    tw_context *context = open_context(2);
    bool right = true;
    for (int i = 0; i < 3; i++) {
        tw_cancel(context);
        tw_cancel(NULL); /* of which there is none yet */
        right = right && multiplies(context) && multiplies(NULL);
    }
    tw_close(context);
    tap_result(right, "%s", tw_error_text());
}

/* Three calls in two contexts, and one without; ended by contexts. */
static void contexts_case(void)
{
    enum { CALLS = 4, LAST = CALLS - 1 };
    if (!tap_case("all calls in the context end, whoever made them, and no other")) return;
    tw_context *const one = open_context(2), *const other = open_context(2);
    call x[CALLS] = {long_call(one), long_call(one), long_call(other), long_call(NULL)};
    bool right = one != NULL && other != NULL;
    for (int i = 0; i < CALLS; i++) right = start(&x[i]) && computes(&x[i], BEGUN_S) && right;
    tw_cancel(one);
    for (int i = 0; i < 2; i++) pthread_join(x[i].thread, NULL);
    right = computes(&x[2], 4 * BEGUN_S) && computes(&x[LAST], 4 * BEGUN_S) && right;
    tw_cancel(NULL);
    pthread_join(x[LAST].thread, NULL);
    right = computes(&x[2], 8 * BEGUN_S) && right;
    tw_cancel(other);
    pthread_join(x[2].thread, NULL);
    for (int i = 0; i < CALLS; i++) {
        right = right && x[i].status == TW_CANCELLED;
        unmap(&x[i]);
    }
    right = right && multiplies(one) && multiplies(other) && multiplies(NULL);
    tw_close(one), tw_close(other);
    tap_result(right, "statuses %d %d %d %d", (int)x[0].status, (int)x[1].status, (int)x[2].status, (int)x[3].status);
}

static tw_context *of_handler;
static atomic_int signals;
static int cancels_at = 1; /* the first that cancels */

static void cancel_by_signal(int number)
{
    (void)number;
    if (atomic_fetch_add(&signals, 1) + 1 >= cancels_at) tw_cancel(of_handler);
}

static void *send_signal(void *argument)
{
    const pthread_t to = *(pthread_t *)argument;
    clockid_t clock;
    if (pthread_getcpuclockid(to, &clock) != 0) exit(3);
    for (const double until_s = read_clock(clock) + BEGUN_S; read_clock(clock) < until_s;)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    pthread_kill(to, SIGUSR1);
    return NULL;
}

static void signal_case(bool is_default)
{
    if (!tap_case("a signal handler ends the call that it interrupts, %s context", is_default ? "NULL" : "own")) return;
    struct sigaction before, cancels = {.sa_handler = cancel_by_signal};
    pthread_t self = pthread_self(), sender;
    tw_context *context = is_default ? NULL : open_context(3);
    call x = long_call(context);
    of_handler = context;
    sigaction(SIGUSR1, &cancels, &before);
    if (pthread_create(&sender, NULL, send_signal, &self) != 0) exit(3);
    compute(&x);
    pthread_join(sender, NULL);
    sigaction(SIGUSR1, &before, NULL);
    unmap(&x);
    tap_result(x.status == TW_CANCELLED && multiplies(context), "status %d: %s", (int)x.status, x.text);
    tw_close(context);
}

/* ---- a product whose caller is asked ---- */

/* Asked, and told what not to answer first: 0 so many times. */
static atomic_int outside, asked, wanted, misused;

static void *leave(void)
{
    if (atomic_fetch_add(&outside, 1) != 0) atomic_store(&misused, 1);
    return &outside;
}

static void enter(void *left)
{
    if (left != &outside || atomic_fetch_sub(&outside, 1) != 1) atomic_store(&misused, 1);
}

static int asks(void)
{
    if (atomic_load(&outside) != 0) atomic_store(&misused, 1);
    return atomic_fetch_add(&asked, 1) >= atomic_load(&wanted);
}

static tw_status watch(call *x, int times)
{
    static const tw_lab_watch every = {.milliseconds = 3, .leave = leave, .enter = enter, .asks = asks};
    atomic_store(&asked, 0), atomic_store(&misused, 0), atomic_store(&wanted, times);
    return tw_lab_gemm_watched(x->context, &x->p, x->batch.size != 0 ? &x->batch : NULL, x->a, x->b, x->c, &every);
}

static void *watch_in_thread(void *argument)
{
    call *x = argument;
    x->status = watch(x, INT32_MAX);
    atomic_store(&x->ended, true);
    return NULL;
}

/* The caller's no ends its product alone, and is asked for once; tw_cancel() ends both. */
static void watched_case(bool batch)
{
    if (!tap_case("the caller that is asked ends its own product, %s", batch ? "a batch" : "one")) return;
    call other = long_call(open_context(2)), x = long_call(other.context);
    if (batch) { /* of the same memory */
        x.p = tw_problem_make(TW_F32, TW_N, TW_N, 400, 400, 400);
        x.batch = tw_batch_make(&x.p, K);
        x.batch.stride_a = x.batch.stride_b = 0;
    }
    bool right = start(&other) && computes(&other, BEGUN_S);
    right = watch(&x, 2) == TW_CANCELLED && atomic_load(&asked) == 3 && atomic_load(&misused) == 0 &&
            strcmp(tw_error_text(), "tw_cancel() has ended the call") == 0 && right;
    right = computes(&other, 3 * BEGUN_S) && right;
    atomic_store(&asked, 0);
    right = pthread_create(&x.thread, NULL, watch_in_thread, &x) == 0 && right;
    while (atomic_load(&asked) < 3 && !atomic_load(&x.ended)) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    tw_cancel(x.context);
    pthread_join(x.thread, NULL), pthread_join(other.thread, NULL);
    tap_result(right && x.status == TW_CANCELLED && other.status == TW_CANCELLED && atomic_load(&misused) == 0 &&
                   multiplies(x.context),
               "asked %d times, statuses %d and %d, %s", atomic_load(&asked), (int)x.status, (int)other.status,
               atomic_load(&misused) ? "at the wrong time" : "");
    unmap(&x), unmap(&other);
    tw_close(other.context);
}

static void watched_fails_case(void)
{
    if (!tap_case("a product whose caller is asked may fail, or be over first")) return;
    call x = long_call(NULL);
    x.p.lda = 1;
    bool right = watch(&x, 0) == TW_BAD_ARGUMENT && strstr(tw_error_text(), "lda is 1") != NULL;
    x.p = tw_problem_make(TW_F32, TW_N, TW_N, 3, 4, 5);
    right = right && watch(&x, INT32_MAX) == TW_OK && atomic_load(&outside) == 0 && atomic_load(&misused) == 0;
    unmap(&x);
    tap_result(right, "%s", tw_error_text());
}

/* ---- many callers, whom ThreadSanitizer watches ---- */

typedef struct crowd {
    tw_context *context;
    atomic_int callers, cancelled;
    atomic_bool wrong;
} crowd;

static void *multiply_often(void *argument)
{
    crowd *x = argument;
    char why[200];
    integers o = {0};
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_T, 640, 640, 640); /* packed: looked at between tasks */
    if (integers_make(&p, NULL, 5, &o) != TW_OK) exit(3);
    for (int i = 0; i < tap_rounds(60, 12); i++) {
        const tw_status status = tw_gemm(x->context, &p, o.a, o.b, o.c);
        if (status == TW_CANCELLED)
            atomic_fetch_add(&x->cancelled, 1);
        else if (status != TW_OK || !integers_judge(&o, why, sizeof why))
            atomic_store(&x->wrong, true);
    }
    integers_free(&o);
    atomic_fetch_sub(&x->callers, 1);
    return NULL;
}

static void crowd_case(void)
{
    enum { CALLERS = 3 };
    if (!tap_case("calls that return TW_OK are right however often others are cancelled")) return;
    crowd x = {.context = open_context(3), .callers = CALLERS};
    pthread_t thread[CALLERS];
    for (int i = 0; i < CALLERS; i++)
        if (pthread_create(&thread[i], NULL, multiply_often, &x) != 0) exit(3);
    for (int i = 0; atomic_load(&x.callers) > 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = i * 7919 % 16 * 500000}, NULL);
        tw_cancel(x.context);
    }
    for (int i = 0; i < CALLERS; i++) pthread_join(thread[i], NULL);
    const bool right = multiplies(x.context);
    tw_close(x.context);
    tap_result(right && !atomic_load(&x.wrong), "a product is wrong, %d were cancelled", atomic_load(&x.cancelled));
}

/* ---- between the launches of a driver: a fake one, which raises a signal at each (test_spread: CUDA's) ---- */

static struct sigaction before;

/* From now on the driver raises the signal, whose number `first` and later ones cancel. */
static void arm(int first)
{
    const struct sigaction cancels = {.sa_handler = cancel_by_signal};
    char raises[40];
    snprintf(raises, sizeof raises, "clEnqueueNDRangeKernel=%d", SIGUSR1);
    atomic_store(&signals, 0);
    cancels_at = first;
    sigaction(SIGUSR1, &cancels, &before);
    setenv("FAKE_CRASH", raises, 1);
}

static void disarm(void)
{
    unsetenv("FAKE_CRASH");
    sigaction(SIGUSR1, &before, NULL);
}

static tw_status multiply_items(tw_context *context, const integers *x)
{
    return x->batch.size != 0 ? tw_gemm_batched(context, &x->problem, &x->batch, x->a, x->b, x->c)
                              : tw_gemm(context, &x->problem, x->a, x->b, x->c);
}

static void driver_case(const char *what, int launches, tw_problem p, int64_t count, int64_t memory_bytes)
{
    const tw_options options = {.size = sizeof options, .engine = "opencl", .memory_bytes = memory_bytes};
    const tw_batch items = tw_batch_make(&p, count);
    char why[200] = "";
    integers x = {0};
    if (!tap_case("opencl: %s ends behind launch %d", what, launches)) return;
    tw_status status = tw_open(&options, &of_handler);
    if (status == TW_OK) status = integers_make(&p, count > 0 ? &items : NULL, 9, &x);
    arm(launches);
    if (status == TW_OK) status = multiply_items(of_handler, &x);
    snprintf(why, sizeof why, "%s", tw_error_text());
    disarm();
    if (x.c != NULL) memcpy(x.c, x.c0, size_of(x.problem.dtype, x.c_elements));
    const tw_status next = multiply_items(of_handler, &x);
    tap_result(status == TW_CANCELLED && strcmp(why, "tw_cancel() has ended the call") == 0 &&
                   atomic_load(&signals) == launches && next == TW_OK && integers_judge(&x, why, sizeof why),
               "status %d, then %d, %d launches, %s", (int)status, (int)next, atomic_load(&signals), why);
    integers_free(&x);
    tw_close(of_handler);
}

/* Whether the driver was told to wait behind the last launch. */
static bool log_waits(const char *path)
{
    char line[100];
    bool waits = false;
    FILE *log = fopen(path, "r");
    while (log != NULL && fgets(line, sizeof line, log) != NULL)
        if (strcmp(line, "clEnqueueNDRangeKernel\n") == 0)
            waits = false;
        else if (strcmp(line, "clWaitForEvents\n") == 0)
            waits = true;
    if (log != NULL) fclose(log);
    return waits;
}

/* Items in device memory that are launched one by one, since each divides k, in two launches. The one that follows is
 * launched yet, and waited for. */
static void device_batch_case(void)
{
    enum { ITEMS = 6 };
    const cl_api *cl = cl_api_load();
    const char *folder = getenv("TMPDIR");
    cl_platform platform;
    cl_device device;
    cl_int error;
    cl_memory memory[3];
    char log[300];
    if (!tap_case("opencl: a batch in device memory ends behind its second item")) return;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 16, 16, 4096);
    const tw_batch batch = tw_batch_make(&p, ITEMS);
    const int64_t elements[3] = {p.m * p.k, p.k * p.n, p.m * p.n};
    p.place_a = p.place_b = p.place_c = TW_DEVICE;
    tw_options options = {.size = sizeof options, .engine = "opencl"};
    bool made = cl->clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS &&
                cl->clGetDeviceIDs(platform, UINT64_MAX, 1, &device, NULL) == CL_SUCCESS;
    cl_context context = made ? cl->clCreateContext(NULL, 1, &device, NULL, NULL, &error) : NULL;
    for (int i = 0; i < 3; i++)
        memory[i] = cl->clCreateBuffer(context, CL_MEM_READ_WRITE, size_of(TW_F32, ITEMS * elements[i]), NULL, &error);
    options.device_context = context;
    tw_status status = tw_open(&options, &of_handler);
    snprintf(log, sizeof log, "%s/test_cancel-%d", folder != NULL ? folder : "/tmp", (int)getpid());
    setenv("FAKE_LOG", log, 1);
    arm(1);
    if (status == TW_OK) status = tw_gemm_batched(of_handler, &p, &batch, memory[0], memory[1], memory[2]);
    disarm();
    unsetenv("FAKE_LOG");
    tap_result(made && status == TW_CANCELLED && atomic_load(&signals) == 4 && log_waits(log),
               "status %d: %s, %d launches, or none waits for the last", (int)status, tw_error_text(),
               atomic_load(&signals));
    unlink(log);
    tw_close(of_handler);
    for (int i = 0; i < 3; i++) cl->clReleaseMemObject(memory[i]);
    cl->clReleaseContext(context);
}

static void driver_cases(void)
{
    setenv("FAKE_OPENCL", "gemm=1", 1);
    setenv("TILEWRIGHT_SELF_TEST", "off", 1), setenv("TILEWRIGHT_CACHE", "off", 1);
    unsetenv("FAKES"), unsetenv("FAKE_LOG"), unsetenv("FAKE_CRASH"), unsetenv("TILEWRIGHT_OPENCL_OPTIONS");
    void *fake = dlopen(FAKES_FOLDER "/opencl/libOpenCL.so.1", RTLD_NOW); /* which the engine then finds */
    if (fake == NULL) {
        printf("Bail out! %s\n", dlerror());
        exit(1);
    }
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, 60, 50, 70),
                     large = tw_problem_make(TW_F32, TW_N, TW_N, 600, 300, 20);
    driver_case("a product", 1, p, 0, 0);
    driver_case("a batch of host memory", 2, p, 5, 0);
    driver_case("a product in parts", 2, large, 0, 400 << 10);
    device_batch_case();
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    nothing_runs_case();
    ways();
    again_case(1), again_case(3);
    contexts_case();
    signal_case(false);
    signal_case(true);
    watched_case(false), watched_case(true);
    watched_fails_case();
    crowd_case();
    driver_cases();
    return tap_finish();
}
