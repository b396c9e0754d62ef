/* test_parallel_for.c - threads that a program lends (tw_options.parallel_for): several at once, one after the other,
 * in another order, too few or too often: the same products, in the same bits, on none of the library's threads. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>

#include "engines/cpu/cpu_engine.h"
#include "integers.h"
#include "support/tap.h"

enum { THREADS = 4 };

/* ---- what a program may lend ---- */

typedef void task_of(void *data, size_t index);

/* How its function is called, and what the threads were like before and after. */
typedef struct lender {
    atomic_int calls, tasks, changed, others;
    pthread_t caller;
} lender;

typedef struct member {
    lender *of;
    task_of *task;
    void *data;
    size_t first, step, count;
} member;

static void run_one(lender *x, task_of *task, void *data, size_t index)
{
    const int rounding = fegetround();
    atomic_fetch_add(&x->tasks, 1);
    if (!pthread_equal(pthread_self(), x->caller)) atomic_fetch_add(&x->others, 1);
    task(data, index);
    if (fegetround() != rounding) atomic_fetch_add(&x->changed, 1);
}

static void *run_some(void *argument)
{
    const member *m = argument;
    fesetround(FE_TOWARDZERO); /* the thread's own */
    for (size_t i = m->first; i < m->count; i += m->step) run_one(m->of, m->task, m->data, i);
    return NULL;
}

/* On `step` threads of its own. */
static void run_on(size_t step, void *state, size_t count, task_of *task, void *data)
{
    pthread_t threads[THREADS];
    member members[THREADS];
    lender *x = state;
    atomic_fetch_add(&x->calls, 1);
    for (size_t i = 0; i < step; i++) {
        members[i] = (member){x, task, data, i, step, count};
        if (pthread_create(&threads[i], NULL, run_some, &members[i]) != 0) exit(3);
    }
    for (size_t i = 0; i < step; i++) pthread_join(threads[i], NULL);
}

static void on_all(void *state, size_t count, task_of *task, void *data) { run_on(THREADS, state, count, task, data); }
static void on_two(void *state, size_t count, task_of *task, void *data) { run_on(2, state, count, task, data); }

static void in_turns(void *state, size_t count, task_of *task, void *data)
{
    lender *x = state;
    atomic_fetch_add(&x->calls, 1);
    for (size_t i = 0; i < count; i++) run_one(x, task, data, i);
}

static void backwards(void *state, size_t count, task_of *task, void *data)
{
    lender *x = state;
    atomic_fetch_add(&x->calls, 1);
    while (count > 0) run_one(x, task, data, --count);
}

static void too_few(void *state, size_t count, task_of *task, void *data) { in_turns(state, count / 2, task, data); }

static void none(void *state, size_t count, task_of *task, void *data) { in_turns(state, 0 * count, task, data); }

static void too_often(void *state, size_t count, task_of *task, void *data)
{
    on_all(state, count, task, data);
    on_all(state, 2 * count, task, data);
}

static const struct {
    const char *name;
    parallel_for *run;
    bool shares; /* other threads than the caller's compute */
} ways[] = {{"on four threads", on_all, true},         {"on two threads", on_two, true},
            {"one after the other", in_turns, false},  {"backwards", backwards, false},
            {"half of them", too_few, false},          {"none of them", none, false},
            {"three times too often", too_often, true}};

enum { WAYS = sizeof ways / sizeof *ways };

/* ---- products ---- */

static int threads_here(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    for (const struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) count += task->d_name[0] != '.';
    if (tasks != NULL) closedir(tasks);
    return count;
}

enum { OWN, TOGETHER, SHARED };

static const struct {
    const char *name;
    tw_dtype dtype;
    tw_op op_b;
    int64_t m, n, k;
    double beta;
    uint32_t flags;
    int64_t count;
    bool shares_b;
} products[] = {
    {"packed f32, with C", TW_F32, TW_T, 410, 390, 700, 2, 0, 0, false},
    {"in place f64", TW_F64, TW_N, 160, 170, 150, 0, 0, 0, false},
    {"GEMV f32", TW_F32, TW_N, 1, 4000, 700, 0, 0, 0, false},
    {"chunks of k f64", TW_F64, TW_N, 40, 50, 20000, 0, 0, 0, false},
    {"few rows f32", TW_F32, TW_N, 9, 5000, 400, 0, 0, 0, false},
    {"a triangle f64", TW_F64, TW_T, 300, 300, 200, 0, TW_LOWER, 0, false},
    {"i8", TW_I8, TW_N, 300, 310, 320, 0, 0, 0, false},
    {"cf32", TW_CF32, TW_N, 150, 160, 170, 0, 0, 0, false},
    {"a batch of items f32", TW_F32, TW_N, 50, 60, 70, 0, 0, 90, false},
    {"a batch that shares B f32", TW_F32, TW_T, 100, 140, 600, 0, 0, 40, true},
    {"two large items f64", TW_F64, TW_T, 300, 310, 320, 0, 0, 2, true},
};

enum { PRODUCTS = sizeof products / sizeof *products };

static tw_problem problem_of(int i)
{
    tw_problem p = tw_problem_make(products[i].dtype, TW_N, products[i].op_b, products[i].m, products[i].n,
                                   products[i].k);
    p.beta = products[i].beta, p.flags = products[i].flags;
    return p;
}

/* A triangle, beside one thread. */
static bool is_same(const tw_problem *p, tw_context *context)
{
    const int64_t elements = p->m * p->n;
    double *x = calloc((size_t)(p->m * p->k + p->k * p->n + 2 * elements), sizeof *x), *b = x + p->m * p->k,
           *c = b + p->k * p->n;
    bool right = x != NULL;
    for (int64_t i = 0; right && i < p->m * p->k + p->k * p->n; i++) x[i] = (double)(i * 7919 % 1000003) / 3;
    right = right && tw_threads_set(1) == TW_OK && tw_gemm(NULL, p, x, b, c) == TW_OK && tw_threads_set(0) == TW_OK &&
            tw_gemm(context, p, x, b, c + elements) == TW_OK &&
            memcmp(c, c + elements, (size_t)elements * sizeof *c) == 0;
    free(x);
    return right;
}

/* The exact product on a context, three times. */
static bool is_exact(int i, tw_context *context, char *why, size_t why_bytes)
{
    integers x = {0};
    const tw_problem p = problem_of(i);
    if (p.flags != 0) return is_same(&p, context);
    tw_batch batch = tw_batch_make(&p, products[i].count);
    if (products[i].shares_b) batch.stride_b = 0;
    bool right = integers_make(&p, batch.count > 0 ? &batch : NULL, 11, &x) == TW_OK;
    for (int times = 0; right && times < 3; times++)
        right = (batch.count > 0 ? tw_gemm_batched(context, &x.problem, &x.batch, x.a, x.b, x.c)
                                 : tw_gemm(context, &x.problem, x.a, x.b, x.c)) == TW_OK &&
                integers_judge(&x, why, why_bytes);
    integers_free(&x);
    return right;
}

static tw_context *open_lent(parallel_for *run, lender *x)
{
    const tw_options options = {.size = sizeof options, .threads = THREADS, .parallel_for = run, .parallel_state = x};
    tw_context *context;
    *x = (lender){.caller = pthread_self()};
    return tw_open(&options, &context) == TW_OK ? context : NULL;
}

static void exact_case(int way, int product)
{
    if (!(tap_brings("way %d", way) | tap_brings("product %d", product))) return;
    if (!tap_case("%s: %s", products[product].name, ways[way].name)) return;
    lender x;
    char why[200] = "";
    tw_context *context = open_lent(ways[way].run, &x);
    const int before = threads_here();
    const bool right = context != NULL && is_exact(product, context, why, sizeof why);
    tap_result(right && x.calls > 0 && x.changed == 0 && threads_here() == before && (x.others > 0) == ways[way].shares,
               "%s; %d calls, %d tasks, %d of them elsewhere, %d changed their thread, %d threads more", why, x.calls,
               x.tasks, x.others, x.changed, threads_here() - before);
    tw_close(context);
}

/* Of numbers that need rounding, in the caller's way, beside a context with threads of its own. */
static void bits_case(int way)
{
    enum { M = 300, N = 200, K = 257 };
    if (!tap_case("the same bits in each way of rounding, %s", ways[way].name)) return;
    static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD};
    const tw_options options = {.size = sizeof options, .threads = THREADS};
    lender x;
    tw_context *lent = open_lent(ways[way].run, &x), *own = NULL;
    float *a = malloc((M * K + K * N + 2 * M * N) * sizeof *a), *b = a + M * K, *c = b + K * N;
    bool right = lent != NULL && a != NULL && tw_open(&options, &own) == TW_OK;
    for (int i = 0; right && i < M * K + K * N; i++) a[i] = (float)(i * 7919 % 1000003 - 500000) / 3;
    for (int i = 0; right && i < 3; i++) {
        fesetround(roundings[i]);
        right = tw_sgemm(own, TW_N, TW_N, M, N, K, 1, a, K, b, N, 0, c, N) == TW_OK &&
                tw_sgemm(lent, TW_N, TW_N, M, N, K, 1, a, K, b, N, 0, c + M * N, N) == TW_OK &&
                memcmp(c, c + M * N, M * N * sizeof *c) == 0 && x.changed == 0 && fegetround() == roundings[i];
    }
    fesetround(FE_TONEAREST);
    tap_result(right && x.calls > 0, "bits differ, or a thread was left with another way of rounding");
    free(a);
    tw_close(lent), tw_close(own);
}

/* ---- the pool ---- */

/* Tasks that need those before them, waits that ThreadSanitizer sees. */
enum { WIDTH = 5, ROWS = 40 };
typedef struct grid {
    int64_t value[ROWS * WIDTH];
    atomic_int early, members;
} grid;

static bool grid_task(void *context, int64_t i, team *team)
{
    grid *g = context;
    if (i >= ROWS * WIDTH) return false;
    const int64_t row = i / WIDTH * WIDTH;
    team_after(team, row - WIDTH, row - 1);
    for (int64_t j = row - WIDTH; j >= 0 && j < row; j++)
        if (g->value[j] == 0) atomic_fetch_add(&g->early, 1);
    for (int turn = 0; turn < (int)(i * 7919 % 50); turn++) pause_briefly();
    g->value[i] = 1;
    return true;
}

static void grid_team(void *context, team *team)
{
    atomic_fetch_add(&((grid *)context)->members, 1);
    team_tasks(team, grid_task, context);
}

/* Steps, each of which reads all of what the one before has made. */
typedef struct steps_made {
    int made[3][ROWS];
    atomic_int early;
} steps_made;

static void make_first(void *context, int64_t i) { ((steps_made *)context)->made[0][i]++; }

static void make_next(void *context, int64_t i)
{
    steps_made *x = context;
    for (int j = 0; j < ROWS; j++)
        if (x->made[0][j] != 1) atomic_fetch_add(&x->early, 1);
    x->made[1][i]++;
}

static void step_team(void *context, int64_t step, team *team)
{
    steps_made *x = context;
    if (step == 0)
        team_share(team, ROWS, make_first, x);
    else if (step == 1)
        team_for(team, ROWS, make_next, x);
    for (int j = 0; step == 2 && j < ROWS; j++)
        if (x->made[1][j] != 1) atomic_fetch_add(&x->early, 1);
}

static void pool_case(int way)
{
    if (!tap_case("tasks wait for those before, steps for steps, %s", ways[way].name)) return;
    lender x = {.caller = pthread_self()};
    pool *p;
    if (pool_open(POOL_WAIT_AUTO, &p) != TW_OK) exit(3);
    pool_lend(p, ways[way].run, &x);
    bool right = true;
    for (int i = 0; i < tap_rounds(30, 6); i++) {
        grid g = {.value = {0}};
        steps_made s = {.made = {{0}}};
        pool_run_tasks(p, THREADS, 1, grid_team, &g, NULL);
        for (int j = 0; j < ROWS * WIDTH; j++) right = right && g.value[j] == 1;
        pool_run_steps(p, THREADS, 3, step_team, &s, NULL);
        right = right && g.early == 0 && g.members == THREADS && s.early == 0;
    }
    pool_close(p);
    tap_result(right && x.calls > 0, "not so");
}

/* ---- refused, and limited ---- */

static void refuse(const char *what, tw_options options, const char *says)
{
    tw_context *context;
    if (!tap_case("refused: %s", what)) return;
    options.size = sizeof options;
    const tw_status status = tw_open(&options, &context);
    tap_result(status == TW_BAD_ARGUMENT && strcmp(tw_error_text(), says) == 0, "%d: %s", (int)status, tw_error_text());
    tw_close(status == TW_OK ? context : NULL);
}

static void limit_case(void)
{
    if (!tap_case("a limit of one thread, or a small product, calls nothing")) return;
    lender x;
    char why[200] = "";
    tw_context *context = open_lent(on_all, &x);
    bool right = tw_threads_set(1) == TW_OK && is_exact(0, context, why, sizeof why) && x.calls == 0;
    right = tw_threads_set(2) == TW_OK && is_exact(0, context, why, sizeof why) && x.tasks == 2 * x.calls && right;
    right = tw_threads_set(0) == TW_OK && is_exact(0, context, why, sizeof why) && x.tasks > 2 * x.calls && right;
    const int calls = x.calls;
    float a[64] = {1}, c[64];
    right = tw_sgemm(context, TW_N, TW_N, 8, 8, 8, 1, a, 8, a, 8, 0, c, 8) == TW_OK && x.calls == calls && right;
    tap_result(right, "%d calls, %d tasks: %s", x.calls, x.tasks, why);
    tw_close(context);
}

typedef struct caller {
    tw_context *context;
    bool right;
} caller;

static void *multiply(void *argument)
{
    caller *x = argument;
    char why[200];
    x->right = true;
    for (int i = 0; i < tap_rounds(8, 2); i++) x->right = x->right && is_exact(i % 2 * 8, x->context, why, sizeof why);
    return NULL;
}

static void many_callers_case(void)
{
    enum { CALLERS = 3 };
    if (!tap_case("several threads call at once")) return;
    pthread_t threads[CALLERS];
    caller callers[CALLERS];
    lender x;
    tw_context *context = open_lent(on_two, &x);
    bool right = context != NULL;
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){context, false};
        if (pthread_create(&threads[i], NULL, multiply, &callers[i]) != 0) exit(3);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        right = right && callers[i].right;
    }
    tap_result(right, "a product is wrong");
    tw_close(context);
}

static void *nothing(void *argument) { return argument; }

int main(int argc, char **argv)
{
    static int state;
    pthread_t first; /* with which ThreadSanitizer makes one of its own */
    tap_start(argc, argv);
    if (pthread_create(&first, NULL, nothing, NULL) != 0) return 3;
    pthread_join(first, NULL);
    for (int product = 0; product < PRODUCTS; product++)
        for (int way = 0; way < WAYS; way++) exact_case(way, product);
    for (int way = 0; way < WAYS; way++) bits_case(way), pool_case(way);
    limit_case();
    many_callers_case();
    refuse("the opencl engine", (tw_options){.engine = "opencl", .parallel_for = in_turns},
           "options.parallel_for is given, expected NULL: the opencl engine has no tasks for it");
    refuse("the cuda engine", (tw_options){.engine = "cuda", .parallel_for = in_turns},
           "options.parallel_for is given, expected NULL: the cuda engine has no tasks for it");
    refuse("a state without a function", (tw_options){.parallel_state = &state},
           "options.parallel_state is given, and options.parallel_for is NULL");
    refuse("TW_STAY", (tw_options){.parallel_for = in_turns, .flags = TW_STAY},
           "options.flags has TW_STAY (2), which is for threads of the library, beside options.parallel_for");
    return tap_finish();
}
