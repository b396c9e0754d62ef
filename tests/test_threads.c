/* test_threads.c - the thread pool: many callers on one context, calls inside calls, growth, fork in parent and child,
 * close; callers that are cancelled, and callers with a floating-point environment of their own. What cgroups leave a
 * process, from copies of the system's files. */
#define _GNU_SOURCE /* _Fork, nftw */
#include <dirent.h>
#include <errno.h>
#include <fenv.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "engines/cpu/cpu_engine.h"
#include "integers.h"
#include "plan.h"
#include "processors.h"
#include "support/subnormals.h"
#include "support/tap.h"

enum { N = 256, CALLERS = 6 }; /* N^3 multiply-adds are worth eight threads */

/* Multiply matrices of ones; true if every element is N. */
static bool multiply_ones(tw_context *context, int threads)
{
    static const char *const kernel = NULL;
    float *x = malloc(3 * N * N * sizeof *x), *c = x + 2 * N * N;
    tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, N, N, N);
    tw_lab_choice choice = {.kernel = kernel, .threads = threads};
    tw_lab_run *run = NULL;
    bool right = x != NULL;
    for (int i = 0; right && i < 3 * N * N; i++) x[i] = 1;
    right = right && tw_lab_run_open(context, &choice, &p, x, x + N * N, c, &run) == TW_OK &&
            tw_lab_run_once(run, NULL) == TW_OK;
    tw_lab_run_close(run);
    for (int i = 0; right && i < N * N; i++) right = c[i] == N;
    free(x);
    return right;
}

/* The threads of the peak's probe wait for each other: that ends, and gives a number, for any team. */
static bool measure_peak(tw_context *context, int threads)
{
    double flops_per_s = 0;
    return tw_lab_peak_flops(context, TW_F64, threads, 2, &flops_per_s) == TW_OK && flops_per_s > 0 &&
           isfinite(flops_per_s);
}

typedef struct caller {
    tw_context *context;
    bool (*work)(tw_context *);
    bool right;
} caller;

static void *call_work(void *argument)
{
    caller *self = argument;
    self->right = self->work(self->context);
    return NULL;
}

/* The pool serves one of the callers at a time; the others compute alone. */
static bool call_together(bool (*work)(tw_context *), tw_context *context)
{
    pthread_t thread[CALLERS];
    caller callers[CALLERS];
    bool right = true;
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){context, work, false};
        if (pthread_create(&thread[i], NULL, call_work, &callers[i]) != 0) exit(1);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(thread[i], NULL);
        right = right && callers[i].right;
    }
    return right;
}

static bool call_often(tw_context *context)
{
    bool right = true;
    for (int i = 0; i < tap_rounds(8, 4); i++)
        right = right && multiply_ones(context, 1 + i % 4) && (i != 3 || measure_peak(context, 2));
    return right;
}

static bool many_callers(tw_context *context) { return call_together(call_often, context); }

/* The child's last word is its exit status; it must end by itself. */
static bool child_by(pid_t (*make)(void), bool (*work)(tw_context *), tw_context *context)
{
    int status = -1;
    fflush(stdout);
    pid_t child = make();
    if (child == 0) {
        alarm(60);
        _exit(work(context) ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool child_succeeds(bool (*work)(tw_context *), tw_context *context) { return child_by(fork, work, context); }

static bool one_call(tw_context *context) { return multiply_ones(context, 3); }

/* Many small products, for which all threads of the context are waited for. */
/* Products in place for several threads: from the second on by the plan that was kept. */
static bool multiply_shared(tw_context *context)
{
    enum { SIDE = 160 };
    float *x = malloc(2 * SIDE * SIDE * sizeof *x), *c = x + SIDE * SIDE;
    bool right = x != NULL;
    for (int i = 0; right && i < SIDE * SIDE; i++) x[i] = 1;
    for (int call = 0; right && call < tap_rounds(50, 10); call++) {
        for (int i = 0; i < SIDE * SIDE; i++) c[i] = -1;
        right = tw_sgemm(context, TW_N, TW_N, SIDE, SIDE, SIDE, 1, x, SIDE, x, SIDE, 0, c, SIDE) == TW_OK;
        for (int i = 0; right && i < SIDE * SIDE; i++) right = c[i] == SIDE;
    }
    free(x);
    return right;
}

static bool multiply_batch(tw_context *context)
{
    enum { ITEMS = 256, SIDE = 32 }; /* 8 million multiply-adds: worth four threads that are waited for */
    float *x = malloc(3 * ITEMS * SIDE * SIDE * sizeof *x), *b = x + ITEMS * SIDE * SIDE, *c = b + ITEMS * SIDE * SIDE;
    const tw_problem p = tw_problem_make(TW_F32, TW_N, TW_N, SIDE, SIDE, SIDE);
    const tw_batch batch = tw_batch_make(&p, ITEMS);
    for (int i = 0; x != NULL && i < 2 * ITEMS * SIDE * SIDE; i++) x[i] = 1;
    bool right = x != NULL && tw_gemm_batched(context, &p, &batch, x, b, c) == TW_OK;
    for (int i = 0; right && i < ITEMS * SIDE * SIDE; i++) right = c[i] == SIDE;
    free(x);
    return right;
}

static bool call_and_close(tw_context *context)
{
    bool right = multiply_ones(context, 3);
    tw_close(context);
    return right;
}

static bool close_only(tw_context *context)
{
    tw_close(context);
    return true;
}

static bool fork_again(tw_context *context)
{
    return multiply_ones(context, 2) && child_succeeds(one_call, context) && multiply_ones(context, 4);
}

/* ---- the pool itself ---- */

typedef struct sum {
    pool *pool;
    atomic_llong total;
    atomic_int teams;
    int64_t count;
    bool nested;
} sum;

static void add_index(void *context, int64_t i) { atomic_fetch_add(&((sum *)context)->total, i); }

static void sum_team(void *context, team *team)
{
    sum *s = context;
    atomic_fetch_add(&s->teams, 1);
    for (int round = 0; round < 3; round++) team_for(team, s->count, add_index, s);
    if (!s->nested) return;
    sum inner = {.pool = s->pool, .count = 10};
    pool_run(s->pool, 4, sum_team, &inner); /* finds the pool busy: runs alone */
    if (atomic_load(&inner.teams) != 1 || atomic_load(&inner.total) != 135) atomic_store(&s->total, -1);
}

static bool sums_right(pool *p, int threads, int64_t count, bool nested)
{
    sum s = {.pool = p, .count = count, .nested = nested};
    pool_run(p, threads, sum_team, &s);
    return atomic_load(&s.total) == 3 * (count * (count - 1) / 2) && atomic_load(&s.teams) >= 1 &&
           atomic_load(&s.teams) <= threads;
}

static int team_of(pool *p, int threads)
{
    sum s = {.pool = p, .count = 9};
    pool_run(p, threads, sum_team, &s);
    return atomic_load(&s.teams);
}

static bool limit_holds(pool *p)
{
    static const int32_t limits[][2] = {{3, 3}, {1, 1}, {4, 4}, {4096, 5}, {2, 2}, {0, 5}}; /* and a team of five */
    bool right = true;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        right = right && tw_threads_set(limits[i][0]) == TW_OK && tw_threads_get() == limits[i][0] &&
                team_of(p, 5) == limits[i][1];
    right = right && tw_threads_set(2) == TW_OK && tw_threads_set(-1) == TW_BAD_ARGUMENT &&
            strcmp(tw_error_text(), "most is -1, expected 0 to 4096 threads") == 0 &&
            tw_threads_set(4097) == TW_BAD_ARGUMENT && tw_threads_get() == 2;
    return tw_threads_set(0) == TW_OK && right;
}

static bool call_with_limits(tw_context *context)
{
    bool right = true;
    for (int i = 0; i < tap_rounds(8, 4); i++)
        right = right && tw_threads_set(i % 4) == TW_OK && multiply_ones(context, 4);
    return right;
}

static bool limits_that_change(tw_context *context)
{
    const bool right = call_together(call_with_limits, context);
    return tw_threads_set(0) == TW_OK && right;
}

/* Rows of WIDTH tasks: each needs the one above it, the first of a row all of the row before. value: plain memory,
 * which ThreadSanitizer watches. */
enum { WIDTH = 5, ROWS = 60 };
typedef struct grid {
    int64_t value[ROWS * WIDTH];
    atomic_int early;
} grid;

static bool grid_task(void *context, int64_t i, team *team)
{
    grid *g = context;
    if (i >= ROWS * WIDTH) return false;
    const int64_t row = i / WIDTH * WIDTH, above = i - WIDTH;
    if (i == row)
        team_after(team, row - WIDTH, row - 1); /* of the first row none */
    else
        team_after(team, above, above);
    for (int64_t j = above; j >= 0 && j < (i == row ? row : above + 1); j++)
        if (g->value[j] == 0) atomic_fetch_add(&g->early, 1);
    /* tasks of different length: for some of them others sleep */
    for (int turn = 0; turn < (i % 37 == 0 ? 20000 : (int)(i * 7919 % 50)); turn++) pause_briefly();
    g->value[i] = 1 + (above < 0 ? 0 : g->value[above]);
    return true;
}

static void grid_team(void *context, team *team) { team_tasks(team, grid_task, context); }

static bool tasks_in_order(pool *p, int threads, bool late)
{
    grid g = {.value = {0}};
    if (late)
        pool_run_tasks(p, threads, threads, grid_team, &g, NULL);
    else
        pool_run(p, threads, grid_team, &g);
    bool right = atomic_load(&g.early) == 0;
    for (int i = 0; i < ROWS * WIDTH; i++) right = right && g.value[i] == 1 + i / WIDTH;
    return right;
}

/* Tasks that wait for none. times: plain memory, as above. */
typedef struct shared {
    int64_t count;
    int times[1000];
} shared;

static void shared_task(void *context, int64_t i)
{
    for (int turn = 0; turn < (i % 37 == 0 ? 5000 : (int)(i * 7919 % 50)); turn++) pause_briefly();
    ((shared *)context)->times[i]++;
}

static void shared_team(void *context, team *team)
{
    team_share(team, ((shared *)context)->count, shared_task, context);
}

static void shared_team_twice(void *context, team *team)
{
    shared_team(context, team);
    shared_team(context, team);
}

static bool shares_each_once(pool *p, int threads)
{
    static const int64_t counts[] = {0, 1, 2, 7, 64, 1000};
    bool right = true;
    for (int i = 0; i < 12; i++) {
        const int64_t count = counts[i % 6];
        const bool late = i / 6 % 2 == 0;
        shared s = {.count = count};
        if (late)
            pool_run_tasks(p, threads, threads, shared_team, &s, NULL);
        else
            pool_run(p, threads, shared_team_twice, &s);
        for (int64_t q = 0; q < 1000; q++) right = right && s.times[q] == (q < count ? (late ? 1 : 2) : 0);
    }
    return right;
}

/* One task for each thread, which ends when all have begun: whose was it? */
enum { SHARERS = 4 };
typedef struct owned {
    pthread_t thread[SHARERS];
    atomic_int begun;
} owned;

static void owned_task(void *context, int64_t i)
{
    owned *o = context;
    o->thread[i] = pthread_self();
    atomic_fetch_add(&o->begun, 1);
    while (atomic_load(&o->begun) < SHARERS) sched_yield();
}

static void owned_team(void *context, team *team)
{
    if (team_threads(team) == SHARERS) team_share(team, SHARERS, owned_task, context); /* else the system gave fewer */
}

/* In a pool of as many threads; in a larger one others may come. */
static bool shares_stay(void)
{
    pool *p;
    if (pool_open(POOL_WAIT_AUTO, &p) != TW_OK) return false;
    owned first = {.begun = 0};
    pool_run_tasks(p, SHARERS, SHARERS, owned_team, &first, NULL);
    bool right = atomic_load(&first.begun) == SHARERS && pthread_equal(first.thread[0], pthread_self());
    for (int call = 0; right && call < 20; call++) {
        owned next = {.begun = 0};
        pool_run_tasks(p, SHARERS, SHARERS, owned_team, &next, NULL);
        right = atomic_load(&next.begun) == SHARERS;
        for (int i = 0; i < SHARERS; i++) right = right && pthread_equal(next.thread[i], first.thread[i]);
    }
    pool_close(p);
    return right;
}

/* Calls of so few tasks that threads wake when they are over: none of them may begin then. */
typedef struct brief {
    int64_t tasks;
    atomic_llong done;
    atomic_int over, late;
} brief;

static bool brief_task(void *context, int64_t i, team *team)
{
    brief *b = context;
    (void)team;
    if (atomic_load(&b->over)) atomic_fetch_add(&b->late, 1);
    if (i < b->tasks) atomic_fetch_add(&b->done, 1);
    return i < b->tasks;
}

static void brief_team(void *context, team *team) { team_tasks(team, brief_task, context); }

static bool nobody_comes_late(pool *p)
{
    const int calls_made = tap_rounds(3000, 300);
    brief *calls = calloc((size_t)calls_made, sizeof *calls);
    bool right = calls != NULL;
    for (int i = 0; right && i < calls_made; i++) {
        calls[i].tasks = i % 3;
        pool_run_tasks(p, 2 + i % 4, 2 + i % 4, brief_team, &calls[i], NULL);
        atomic_store(&calls[i].over, 1);
        for (int turn = 0; turn < i % 500; turn++) pause_briefly();
    }
    for (int i = 0; right && i < calls_made; i++)
        right = atomic_load(&calls[i].late) == 0 && atomic_load(&calls[i].done) == calls[i].tasks;
    free(calls);
    return right;
}

/* What several threads of a pool make of a problem by a plan, which `change` makes smaller than a planner's. Exact, so
 * often that threads meet; ThreadSanitizer sees a wait that is missing. */
static bool plan_waits(pool *p, tw_problem problem, void (*change)(plan *, int), int how)
{
    const device_facts facts = {
        .engine = "cpu", .features = detect_features(), .threads = 4, .l1_bytes = 32768, .l2_bytes = 1 << 20};
    tw_problem loaded;
    plan made;
    integers x = {0};
    char text[200] = "";
    bool right = integers_make(&problem, NULL, 1, &x) == TW_OK &&
                 problem_load(&problem, x.a, x.b, x.c, &loaded) == TW_OK &&
                 plan_find(&loaded, &facts, NULL, &made) == TW_OK;
    if (right) change(&made, how);
    void *workspace = right ? aligned_alloc(64, made.workspace_bytes) : NULL;
    for (int i = 0; right && i < 6; i++) {
        product_run(&made, x.a, x.b, x.c, workspace, p, NULL);
        right = integers_judge(&x, text, sizeof text); /* which puts C back */
    }
    if (!right) printf("# %s\n", text);
    free(workspace);
    integers_free(&x);
    return right;
}

/* Several tasks of each panel and macro-block: packed ahead, the sums of panels kept beside C, and those of chunks. */
enum { AHEAD = 1, BESIDE = 2, CHUNKS = 4, PANEL = 16 };

static void make_small(plan *made, int how)
{
    enum { ROOM = 16 << 10 };
    const int64_t mr = made->row->lab.tile_m, nr = made->row->lab.tile_n;
    made->at_once = made->in_place = false, made->threads = made->woken = 4;
    made->cpu = (cpu_plan){.macro_m = 4 * mr,
                           .macro_n = 2 * nr,
                           .task_m = mr,
                           .task_n = nr,
                           .kc = PANEL,
                           .k_step = PANEL,
                           .chunk = how & CHUNKS ? 2 * PANEL : 4 * PANEL,
                           .packs_ahead = how & AHEAD,
                           .a_bytes = ROOM,
                           .b_bytes = ROOM,
                           .sum_bytes = how & BESIDE ? ROOM : 0,
                           .total_bytes = how & CHUNKS ? ROOM : 0};
    made->workspace_bytes = 2 * (made->cpu.a_bytes + made->cpu.b_bytes) + made->cpu.sum_bytes + made->cpu.total_bytes;
}

static bool loops_wait(pool *p, int how)
{
    tw_problem problem = tw_problem_make(TW_F32, TW_N, TW_T, 99, 290, 4 * PANEL);
    problem.beta = how & BESIDE ? 2 : 0;
    return plan_waits(p, problem, make_small, how);
}

static void is_divided(plan *made, int threads)
{
    if (!made->cpu.divided || made->threads != threads)
        printf("# %d threads do not divide k\n", made->threads), exit(1);
}

/* There is room in memory for the stack of one more thread at most. */
static bool sums_with_few_threads(tw_context *context)
{
    (void)context;
    pool *p = NULL;
    pthread_attr_t attributes;
    size_t stack = 0;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1 || fclose(file) != 0) return false;
    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &stack);
    const rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + stack + stack / 2;
    if (setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) != 0 || pool_open(POOL_WAIT_AUTO, &p) != TW_OK) return false;
    sum s = {.pool = p, .count = 1000};
    pool_run(p, 8, sum_team, &s);
    bool right = atomic_load(&s.total) == 3 * 499500 && atomic_load(&s.teams) >= 1 && atomic_load(&s.teams) <= 2 &&
                 sums_right(p, 8, 1000, true);
    pool_close(p);
    return right;
}

/* ---- callers that are cancelled ---- */

typedef struct cancelled {
    tw_context *context;
    bool (*work)(tw_context *);
    bool returned;
} cancelled;

/* The wish is there before the work begins: the first cancellation point on the way would end the thread. */
static void *work_cancelled(void *argument)
{
    cancelled *self = argument;
    pthread_cancel(pthread_self());
    self->returned = self->work(self->context);
    pthread_testcancel();
    return NULL;
}

static bool returns_before_it_ends(bool (*work)(tw_context *), tw_context *context)
{
    pthread_t thread;
    cancelled self = {context, work, false};
    void *ended = NULL;
    return pthread_create(&thread, NULL, work_cancelled, &self) == 0 && pthread_join(thread, &ended) == 0 &&
           self.returned && ended == PTHREAD_CANCELED;
}

static bool open_and_close(tw_context *unused)
{
    tw_context *context = NULL;
    const tw_options options = {.size = sizeof options, .threads = 4};
    tw_device device = {.size = sizeof device};
    int32_t count = 0;
    (void)unused;
    bool right = tw_devices(&device, 1, &count) == TW_OK && count >= 1 && tw_open(&options, &context) == TW_OK &&
                 tw_describe(context, &device) == TW_OK && multiply_batch(context);
    tw_close(context);
    return right;
}

static bool call_all_ways(tw_context *context)
{
    bool right = measure_peak(context, 3);
    for (int i = 0; i < tap_rounds(20, 3); i++) right = right && multiply_ones(context, 4) && multiply_batch(context);
    return right;
}

/* The second has the plan of the first, and goes another way: nothing there may be a cancellation point, unless that
 * way goes to several threads (multiply_shared), which holds the wish back. */
static bool multiply_tiny(tw_context *context)
{
    float x[64], c[64];
    bool right = true;
    for (int i = 0; i < 64; i++) x[i] = 1;
    for (int i = 0; i < 3; i++)
        right = right && tw_sgemm(context, TW_N, TW_N, 8, 8, 8, 1, x, 8, x, 8, 0, c, 8) == TW_OK && c[63] == 8;
    return right;
}

/* So often that the caller sleeps before one of many threads is done. */
static bool multiply_long(tw_context *context)
{
    bool right = true;
    for (int i = 0; i < tap_rounds(10, 2); i++) right = right && multiply_shared(context);
    return right;
}

/* A context of its own: a pool that a thread left locked would never close. */
static bool pool_outlives(bool (*work)(tw_context *), int threads)
{
    tw_context *context = NULL;
    const tw_options options = {.size = sizeof options, .threads = threads};
    if (tw_open(&options, &context) != TW_OK || !returns_before_it_ends(work, context) || !multiply_batch(context))
        return false;
    tw_close(context);
    return true;
}

/* ---- the caller's floating-point environment ---- */

/* What a thread makes of two quotients and a product that is subnormal. */
typedef struct floats {
    float third, tiny;
    long double wide_third;
} floats;

static floats floats_here(void)
{
    volatile float one = 1, three = 3, least = 0x1p-126f, half = 0.5f;
    volatile long double wide = 1;
    volatile float third = one / three, tiny = least * half;
    volatile long double wide_third = wide / 3;
    return (floats){third, tiny, wide_third};
}

typedef struct float_work {
    floats caller;
    atomic_int same, threads;
} float_work;

static void float_team(void *context, team *team)
{
    (void)team;
    float_work *w = context;
    const floats here = floats_here();
    atomic_fetch_add(&w->same, here.third == w->caller.third && here.tiny == w->caller.tiny &&
                                   here.wide_third == w->caller.wide_third);
    atomic_fetch_add(&w->threads, 1);
}

static bool team_has_callers_floats(pool *p)
{
    float_work w = {.caller = floats_here()};
    pool_run(p, 4, float_team, &w);
    return atomic_load(&w.threads) > 1 && atomic_load(&w.same) == atomic_load(&w.threads);
}

/* One product on one thread and on more: the same bits. Some of its terms are subnormal in f32, and all need
 * rounding. */
static bool same_bits(tw_context *context, tw_dtype dtype)
{
    const size_t bytes = (size_t)tw_lab_dtype_of(dtype)->bytes;
    char *x = malloc(4 * N * N * bytes), *one = x + 2 * N * N * bytes, *more = one + N * N * bytes;
    const tw_problem p = tw_problem_make(dtype, TW_N, TW_N, N, N, N);
    bool right = x != NULL;
    for (int i = 0; right && i < 2 * N * N; i++) {
        const double value = (double)(i * 7919 % 1000003 - 500000) * (i / N % 2 == 0 ? 0x1p-20 : 0x1p-80);
        if (dtype == TW_F32)
            ((float *)x)[i] = (float)value;
        else
            ((double *)x)[i] = value / 3;
    }
    for (int threads = 1; right && threads <= 4; threads++) {
        const tw_lab_choice choice = {.threads = threads};
        tw_lab_run *run = NULL;
        right = tw_lab_run_open(context, &choice, &p, x, x + N * N * bytes, threads == 1 ? one : more, &run) == TW_OK &&
                tw_lab_run_once(run, NULL) == TW_OK;
        tw_lab_run_close(run);
        if (right && threads > 1) right = memcmp(one, more, N * N * bytes) == 0;
    }
    free(x);
    return right;
}

/* The pool's threads were made in the default environment. */
static bool in_every_environment(tw_context *context, pool *p)
{
    static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    fenv_t before;
    bool right = team_has_callers_floats(p) && multiply_batch(context);
    fegetenv(&before);
    for (int i = 0; i < 4; i++) {
        fesetround(roundings[i]);
        if (i % 2 == 0) flush_subnormals();
        right = right && team_has_callers_floats(p) && same_bits(context, TW_F32) && same_bits(context, TW_F64);
        fesetenv(&before);
    }
    return right && team_has_callers_floats(p);
}

static void expect(const char *what, bool holds) { tap_result(holds, "%s does not hold", what); }

#define CASE(what, holds)                                                                                              \
    do {                                                                                                               \
        if (tap_case("%s", what)) expect(what, holds);                                                                 \
    } while (0)

#if defined(__SANITIZE_THREAD__)
#define CHILD(what, holds)                                                                                             \
    do {                                                                                                               \
        (void)(sizeof(holds));                                                                                         \
        if (tap_case("%s", what)) tap_skip("ThreadSanitizer starts no threads in a child of a program with threads");  \
    } while (0)
#else
#define CHILD(what, holds) CASE(what, holds)
#endif

#if defined(__SANITIZE_ADDRESS__)
#define LIMITED(what, holds)                                                                                           \
    do {                                                                                                               \
        (void)(sizeof(holds));                                                                                         \
        if (tap_case("%s", what)) tap_skip("AddressSanitizer reserves more memory than a limit leaves");               \
    } while (0)
#else
#define LIMITED(what, holds) CHILD(what, holds)
#endif

#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 34)
#define HAS_BARE_FORK
#endif
#endif

/* _Fork() calls no handlers: the child must notice by itself that the pool that its parent used is not its own. */
static void bare_fork_cases(tw_context *context)
{
#if defined(HAS_BARE_FORK)
    CHILD("a child of _Fork() multiplies", multiply_batch(context) && child_by(_Fork, one_call, context));
    CHILD("a child of _Fork() multiplies a batch", multiply_batch(context) && child_by(_Fork, multiply_batch, context));
    CHILD("a child of _Fork() closes the context it used",
          multiply_batch(context) && child_by(_Fork, call_and_close, context));
    CHILD("a child of _Fork() closes a context it did not use",
          multiply_batch(context) && child_by(_Fork, close_only, context));
#else
    (void)context;
    if (tap_case("a child of _Fork() multiplies")) tap_skip("this system has no _Fork()");
#endif
}

static void count_team(void *context, team *team)
{
    atomic_int *most = context;
    if (team_threads(team) > atomic_load(most)) atomic_store(most, team_threads(team));
    team_tasks(team, brief_task, &(brief){0});
}

static int threads_called(pool *p, int woken)
{
    atomic_int most = 0;
    pool_run_tasks(p, 4, woken, count_team, &most, NULL);
    return atomic_load(&most);
}

static void sleep_ms(int ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&left, &left) != 0) continue;
}

/* Is a call ever given so many threads? Where other programs keep threads from running they may be seen late. */
static bool some_call_has(pool *p, int threads, int woken, int rest_ms)
{
    for (int i = 0; i < 200; i++) {
        sleep_ms(rest_ms);
        if (threads_called(p, woken) == threads) return true;
    }
    return false;
}

/* A call after a rest wakes as many as it says; of calls in quick succession each gets all threads, if they stay awake
 * for it. */
static bool wakes_who_pays(pool_wait wait)
{
    pool *p;
    if (pool_open(wait, &p) != TW_OK) return false;
    bool right = threads_called(p, 1) == 1;
    right = right && some_call_has(p, wait == POOL_WAIT_SLEEP ? 1 : 4, 1, 0) && some_call_has(p, 3, 3, 20) &&
            some_call_has(p, 1, 1, 20);
    pool_close(p);
    return right;
}

/* Processor time of this process in 50 ms, from 10 ms after the last of many calls on. */
static bool sleeps_soon(pool_wait wait)
{
    struct timespec before, after;
    pool *p;
    if (pool_open(wait, &p) != TW_OK) return false;
    for (int i = 0; i < 100; i++) threads_called(p, 4);
    sleep_ms(10);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    sleep_ms(50);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    pool_close(p);
    return (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec) < 5e-3;
}

static bool all_ways_of_waiting(bool (*test)(pool_wait))
{
    return test(POOL_WAIT_AUTO) && test(POOL_WAIT_SPIN) && test(POOL_WAIT_SLEEP);
}

#if defined(__linux__)
/* Calls from a thread that is bound to a processor; the worker goes there at the end of each. */
typedef struct bound {
    int cpu;
    cpu_set_t all;
    pthread_t caller;
    atomic_int joined, there,
        narrowed; /* calls with a worker; begun on the caller's processor; with less to choose from */
} bound;

static bool bound_task(void *context, int64_t i, team *team)
{
    bound *b = context;
    (void)team;
    if (pthread_equal(pthread_self(), b->caller)) {
        for (int turn = 0; i == 0 && turn < 20000; turn++) pause_briefly(); /* for a worker to join */
        return i < 1;
    }
    cpu_set_t now, only;
    const int at = sched_getcpu();
    sched_getaffinity(0, sizeof now, &now);
    atomic_fetch_add(&b->joined, 1);
    if (at == b->cpu) atomic_fetch_add(&b->there, 1);
    if (!CPU_EQUAL(&now, &b->all)) atomic_fetch_add(&b->narrowed, 1);
    CPU_ZERO(&only);
    CPU_SET((size_t)b->cpu, &only);
    sched_setaffinity(0, sizeof only, &only);
    sched_setaffinity(0, sizeof b->all, &b->all);
    return false;
}

static void bound_team(void *context, team *team) { team_tasks(team, bound_task, context); }

/* A worker that lies on its caller's processor computes elsewhere, and may afterwards go everywhere again. */
static void leaves_the_caller(void)
{
    bound b = {.cpu = sched_getcpu(), .caller = pthread_self()};
    cpu_set_t only;
    pool *p = NULL;
    if (!tap_case("a worker leaves the processor of its caller")) return;
    if (sched_getaffinity(0, sizeof b.all, &b.all) != 0 || CPU_COUNT(&b.all) < 2) {
        tap_skip("takes two processors");
        return;
    }
    bool right = pool_open(POOL_WAIT_AUTO, &p) == TW_OK;
    if (right) pool_run_tasks(p, 2, 2, bound_team, &b, NULL); /* the worker begins with all processors */
    CPU_ZERO(&only);
    CPU_SET((size_t)b.cpu, &only);
    sched_setaffinity(0, sizeof only, &only);
    atomic_store(&b.joined, 0), atomic_store(&b.there, 0);
    for (int i = 0; right && i < 20000 && atomic_load(&b.joined) < 100; i++)
        pool_run_tasks(p, 2, 2, bound_team, &b, NULL);
    sched_setaffinity(0, sizeof b.all, &b.all);
    pool_close(p);
    /* the system may move it back in between, seldom */
    tap_result(right && b.joined >= 100 && 10 * b.there < b.joined && b.narrowed == 0,
               "%d calls with a worker, %d begun on the caller's processor, %d with fewer to choose from", b.joined,
               b.there, b.narrowed);
}

/* Where the one worker of a call may run. */
typedef struct seen_mask {
    pthread_t caller;
    cpu_set_t mask;
} seen_mask;

static void see_mask(void *context, team *team)
{
    seen_mask *seen = context;
    (void)team;
    if (!pthread_equal(pthread_self(), seen->caller)) sched_getaffinity(0, sizeof seen->mask, &seen->mask);
}

static bool worker_may(pool *p, const cpu_set_t *caller, const cpu_set_t *worker)
{
    seen_mask seen = {.caller = pthread_self()};
    if (sched_setaffinity(0, sizeof *caller, caller) != 0) return false;
    pool_run(p, 2, see_mask, &seen);
    return CPU_EQUAL(&seen.mask, worker);
}

enum { MOST_TASKS = 16 };

/* The threads of this process, by number. */
static int list_tasks(pid_t out[MOST_TASKS])
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL && count < MOST_TASKS;)
        if (task->d_name[0] != '.') out[count++] = (pid_t)atoi(task->d_name);
    if (tasks != NULL) closedir(tasks);
    return count;
}

/* A product of three threads in a process that is bound to one processor. Sets how many threads began for it (a
 * sanitizer has one of its own), and the most processors that one of them may use. */
static bool multiply_bound(uint32_t flags, int *threads, int *processors)
{
    tw_context *context = NULL;
    tw_options options = {.size = sizeof options, .threads = 3, .flags = flags};
    pid_t before[MOST_TASKS], after[MOST_TASKS];
    const int were = list_tasks(before);
    if (tw_open(&options, &context) != TW_OK || !multiply_ones(context, 3)) return false;
    const int are = list_tasks(after);
    *threads = *processors = 0;
    for (int i = 0; i < are; i++) {
        bool began = true;
        cpu_set_t mask;
        for (int j = 0; j < were; j++) began = began && after[i] != before[j];
        if (!began || sched_getaffinity(after[i], sizeof mask, &mask) != 0) continue;
        if (CPU_COUNT(&mask) > *processors) *processors = CPU_COUNT(&mask);
        (*threads)++;
    }
    tw_close(context);
    return true;
}

static bool context_stays(tw_context *none)
{
    int threads, processors;
    (void)none;
    bool stays = multiply_bound(TW_STAY, &threads, &processors) && threads == 2 && processors == 1;
    setenv("TILEWRIGHT_STAY", "1", 1);
    stays = stays && multiply_bound(0, &threads, &processors) && processors == 1;
    setenv("TILEWRIGHT_STAY", "yes", 1);
    return stays && !multiply_bound(0, &threads, &processors) &&
           strcmp(tw_error_text(), "TILEWRIGHT_STAY is yes, expected 0 or 1") == 0;
}

static bool context_widens(tw_context *none)
{
    int threads, processors;
    (void)none;
    bool widens = false; /* a worker that leaves its caller's processor has a narrow mask meanwhile */
    for (int tries = 0; !widens && tries < 100; tries++) {
        if (!multiply_bound(0, &threads, &processors) || threads != 2) return false;
        widens = processors > 1;
    }
    return widens;
}

/* A sandbox that lets no thread choose its processors, as systemd's ~@resources: threads start all the same. */
static bool starts_in_a_sandbox(tw_context *none)
{
    int threads, processors;
    struct sock_filter refuse[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof refuse / sizeof *refuse, refuse};
    (void)none;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 &&
           multiply_bound(0, &threads, &processors) && threads == 2 && processors == 1;
}

static void masks_of_workers(void)
{
    cpu_set_t all, only;
    pool *widens = NULL, *stays = NULL;
    if (!tap_case("a caller bound to one processor does not bind its workers, unless they stay")) return;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) {
        tap_skip("takes two processors");
        return;
    }
    CPU_ZERO(&only);
    CPU_SET((size_t)sched_getcpu(), &only);
    bool right = pool_open(POOL_WAIT_AUTO, &widens) == TW_OK && pool_open(POOL_WAIT_AUTO, &stays) == TW_OK;
    if (!right) exit(1);
    pool_stay(stays);
    for (int i = 0; i < 3; i++) /* the last two change nothing, or back and forth */
        right = right && worker_may(widens, &only, &all) && worker_may(stays, &only, &only) &&
                (i == 1 || (worker_may(widens, &all, &all) && worker_may(stays, &all, &all)));
    char from[64];
    sched_setaffinity(0, sizeof only, &only);
    right = right && processors_usable(true, from, sizeof from) == 1 && processors_usable(false, from, sizeof from) > 1;
    sched_setaffinity(0, sizeof all, &all);
    pool_close(widens), pool_close(stays);
    expect("a caller bound to one processor does not bind its workers, unless they stay", right);
}

/* A child that begins on one processor. */
static bool bound_child_succeeds(bool (*work)(tw_context *))
{
    cpu_set_t all, only;
    CPU_ZERO(&only);
    CPU_SET((size_t)sched_getcpu(), &only);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || sched_setaffinity(0, sizeof only, &only) != 0) return false;
    const bool right = child_succeeds(work, NULL);
    sched_setaffinity(0, sizeof all, &all);
    return right;
}

static void masks_of_contexts(void)
{
    static const char what[] = "a context's threads leave their caller's processor, unless they stay or a sandbox asks";
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) == 0 && CPU_COUNT(&all) > 1)
        CHILD(what, bound_child_succeeds(context_stays) && bound_child_succeeds(context_widens) &&
                        bound_child_succeeds(starts_in_a_sandbox));
    else if (tap_case("%s", what))
        tap_skip("takes two processors");
}
#endif

static bool sums_and_flows(pool_wait wait)
{
    pool *p;
    if (pool_open(wait, &p) != TW_OK) return false;
    bool right = nobody_comes_late(p);
    for (int i = 0; i < 18; i++)
        right = right && sums_right(p, 1 + i % 7, i % 13, false) && tasks_in_order(p, 1 + i % 9, i % 2 == 0);
    for (int threads = 5; threads > 0; threads -= 2) right = right && shares_each_once(p, threads);
    pool_close(p);
    return right;
}

/* ---- how many threads a process may have ---- */

/* A system's files, and the limits that they set. */
typedef struct system_files {
    const char *name;
    struct {
        const char *path, *text;
    } files[16];
    double processors; /* 0: none */
    int64_t memory;    /* -1: none */
    const char *processors_from, *memory_from;
} system_files;

#define OF_PROCESS(groups, mounts)                                                                                     \
    {"/proc/self/cgroup", groups}, { "/proc/self/mountinfo", mounts }

/* clang-format off */
#define ROOT_MOUNT "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
#define V2_MOUNT ROOT_MOUNT "30 27 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNTS \
    "31 27 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw master:9 - cgroup cgroup rw,cpu,cpuacct\n" \
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n" \
    "34 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
#define NO_BYTES "9223372036854771712\n"

/* clang-format on */

static const system_files systems[] = {
    {"no cgroups", {{"/proc/self/mountinfo", ROOT_MOUNT}}, 0, -1, "", ""},
    {"version 2: its own limits",
     {OF_PROCESS("0::/job\n", V2_MOUNT),
      {"/sys/fs/cgroup/job/cpu.max", "150000 100000\n"},
      {"/sys/fs/cgroup/job/memory.max", "1048576\n"}},
     1.5,
     1048576,
     "/sys/fs/cgroup/job/cpu.max",
     "/sys/fs/cgroup/job/memory.max"},
    {"version 2: none",
     {OF_PROCESS("0::/job\n", V2_MOUNT),
      {"/sys/fs/cgroup/job/cpu.max", "max 100000\n"},
      {"/sys/fs/cgroup/job/memory.max", "max\n"}},
     0,
     -1,
     "",
     ""},
    {"version 2: the tightest of all above, also of the mount itself",
     {OF_PROCESS("0::/a/b/c\n", V2_MOUNT),
      {"/sys/fs/cgroup/a/b/c/cpu.max", "400000 100000\n"},
      {"/sys/fs/cgroup/a/cpu.max", "50000 20000\n"},
      {"/sys/fs/cgroup/a/b/memory.max", "7340032\n"},
      {"/sys/fs/cgroup/a/b/c/memory.max", "max\n"},
      {"/sys/fs/cgroup/memory.max", "9437184\n"}},
     2.5,
     7340032,
     "/sys/fs/cgroup/a/cpu.max",
     "/sys/fs/cgroup/a/b/memory.max"},
    {"version 2: memory.high below memory.max",
     {OF_PROCESS("0::/job\n", V2_MOUNT),
      {"/sys/fs/cgroup/job/memory.max", "8388608\n"},
      {"/sys/fs/cgroup/job/memory.high", "4194304\n"}},
     0,
     4194304,
     "",
     "/sys/fs/cgroup/job/memory.high"},
    {"version 2: no memory at all",
     {OF_PROCESS("0::/\n", V2_MOUNT), {"/sys/fs/cgroup/memory.max", "0\n"}},
     0,
     0,
     "",
     "/sys/fs/cgroup/memory.max"},
    {"version 1: a group of each controller",
     {OF_PROCESS("9:name=systemd:/s\n4:memory:/m/job\n3:cpuset:/\n2:cpu,cpuacct:/c/job\n", ROOT_MOUNT V1_MOUNTS),
      {"/sys/fs/cgroup/cpu,cpuacct/c/job/cpu.cfs_quota_us", "-1\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/c/job/cpu.cfs_period_us", "100000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "75000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "50000\n"},
      {"/sys/fs/cgroup/memory/m/job/memory.limit_in_bytes", NO_BYTES},
      {"/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "2097152\n"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", NO_BYTES}},
     1.5,
     2097152,
     "/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us",
     "/sys/fs/cgroup/memory/m/memory.limit_in_bytes"},
    {"version 1: cpuset is not cpu, nor a mount of it",
     {OF_PROCESS("3:cpuset:/x\n", ROOT_MOUNT V1_MOUNTS),
      {"/sys/fs/cgroup/cpuset/x/cpu.cfs_quota_us", "1000\n"},
      {"/sys/fs/cgroup/cpuset/x/cpu.cfs_period_us", "1000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "1000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "1000\n"}},
     0,
     -1,
     "",
     ""},
    {"both: processors of version 1, memory of version 2, the first line none's",
     {OF_PROCESS("12:pids:/p\n2:cpu,cpuacct:/c\n0::/u\n",
                 ROOT_MOUNT V1_MOUNTS "35 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"),
      {"/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "300000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n"},
      {"/sys/fs/cgroup/unified/u/memory.max", "3145728\n"}},
     3,
     3145728,
     "/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us",
     "/sys/fs/cgroup/unified/u/memory.max"},
    {"a container of version 1: the mount shows its own group, and one within",
     {OF_PROCESS("4:memory:/docker/abc/in\n2:cpu:/docker/abc\n",
                 "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro master:9 - cgroup cgroup rw,cpu\n"
                 "34 31 0:31 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"),
      {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "5242880\n"},
      {"/sys/fs/cgroup/memory/in/memory.limit_in_bytes", "4194304\n"}},
     0.5,
     4194304,
     "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
     "/sys/fs/cgroup/memory/in/memory.limit_in_bytes"},
    {"a container that was given another group's mount: that stands for its own",
     {OF_PROCESS("0::/../other\n", "30 27 0:27 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"),
      {"/sys/fs/cgroup/cpu.max", "200000 100000\n"}},
     2,
     -1,
     "/sys/fs/cgroup/cpu.max",
     ""},
    {"/docker/abcd is not below /docker/abc",
     {OF_PROCESS("0::/docker/abcd\n", "29 27 0:27 /docker/abc /other ro - cgroup2 cgroup2 rw\n"
                                      "30 27 0:27 /docker/abcd /own ro - cgroup2 cgroup2 rw\n"),
      {"/other/cpu.max", "1000 100000\n"},
      {"/own/cpu.max", "400000 100000\n"}},
     4,
     -1,
     "/own/cpu.max",
     ""},
    {"of two mounts that counts which shows more, whatever its name",
     {OF_PROCESS("0::/docker/abcd\n", "30 27 0:27 /docker/abcd /own ro - cgroup2 cgroup2 rw\n"
                                      "31 27 0:27 /docker /both\\040of\\134them ro - cgroup2 cgroup2 rw\n"),
      {"/own/cpu.max", "400000 100000\n"},
      {"/both of\\them/abcd/cpu.max", "400000 100000\n"},
      {"/both of\\them/cpu.max", "200000 100000\n"}},
     2,
     -1,
     "/both of\\them/cpu.max",
     ""},
    {"nonsense limits nothing",
     {OF_PROCESS("0::\n::\n:\nx\n0::/job\n", "- cgroup2\n1 2 - cgroup2 x y\n" V2_MOUNT),
      {"/sys/fs/cgroup/job/cpu.max", "0 0\n"},
      {"/sys/fs/cgroup/job/memory.max", "-5\n"},
      {"/sys/fs/cgroup/job/memory.high", "\n"}},
     0,
     -1,
     "",
     ""},
};

static bool write_below(const char *folder, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", folder, path);
    for (char *slash = full + strlen(folder); (slash = strchr(slash + 1, '/')) != NULL; *slash = '/')
        *slash = '\0', mkdir(full, 0700);
    FILE *file = fopen(full, "w");
    return file != NULL && fputs(text, file) >= 0 && fclose(file) == 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

static bool is_read(const system_files *x)
{
    char folder[] = "/tmp/tilewright-cgroup.XXXXXX";
    tw_lab_limits found;
    bool made = mkdtemp(folder) != NULL;
    for (int i = 0; x->files[i].path != NULL; i++)
        made = made && write_below(folder, x->files[i].path, x->files[i].text);
    cgroup_read(folder, &found);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    const int64_t memory = found.memory_from[0] != '\0' ? found.memory_bytes : -1;
    const bool right = made && found.processors == x->processors && memory == x->memory &&
                       strcmp(found.processors_from, x->processors_from) == 0 &&
                       strcmp(found.memory_from, x->memory_from) == 0;
    if (!right)
        printf("# %g processors by %s, %lld bytes by %s\n", found.processors, found.processors_from, (long long)memory,
               found.memory_from);
    return right;
}

/* Are these processors, -1 behind the last, taken as one core's? */
static bool is_bound(const char *folder, const int *processors)
{
    processor_set mask = {{0}};
    const int bits = 8 * (int)sizeof *mask.words;
    for (; *processors >= 0; processors++) mask.words[*processors / bits] |= 1ul << *processors % bits;
    return processors_bound(folder, &mask);
}

static bool cores_are_told(void)
{
    char folder[] = "/tmp/tilewright-cores.XXXXXX";
#define CPU_FOLDER "/sys/devices/system/cpu/cpu"
    bool right = mkdtemp(folder) != NULL &&
                 write_below(folder, CPU_FOLDER "0/topology/thread_siblings_list", "0-1\n") &&
                 write_below(folder, CPU_FOLDER "2/topology/thread_siblings_list", "2,70\n") &&
                 write_below(folder, CPU_FOLDER "8/topology/thread_siblings_list", "8-15\n");
    right = right && is_bound(folder, (int[]){5, -1}) && is_bound(folder, (int[]){0, 1, -1}) &&
            is_bound(folder, (int[]){2, 70, -1}) && is_bound(folder, (int[]){8, 9, 15, -1});
    right = right && !is_bound(folder, (int[]){0, 2, -1}) && !is_bound(folder, (int[]){2, 3, -1}) &&
            !is_bound(folder, (int[]){5, 6, -1}) && !is_bound(folder, (int[]){8, 9, 10, 11, 12, 13, 14, 15, 16, -1});
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return right;
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    pool *p = NULL;
    setenv("OCL_ICD_VENDORS", "/nowhere", 1); /* drivers start threads of their own */
    LIMITED("a call goes on with the threads that there are", child_succeeds(sums_with_few_threads, NULL));
    if (pool_open(POOL_WAIT_AUTO, &p) != TW_OK) return 1;
    CASE("a team sums each index once", sums_right(p, 4, 1000, false));
    CASE("a smaller team after a larger one", sums_right(p, 2, 1000, false));
    CASE("a larger team after a smaller one", sums_right(p, 9, 1000, false));
    CASE("more threads than tasks", sums_right(p, 8, 3, false));
    CASE("no tasks", sums_right(p, 3, 0, false));
    CASE("calls inside calls run alone", sums_right(p, 4, 500, true));
    CASE("tw_threads_set limits the threads of each call", limit_holds(p));
    bool all = true;
    if (tap_case("teams of changing size, a thousand times")) {
        for (int i = 0; i < tap_rounds(1000, 91); i++) all = all && sums_right(p, 1 + i % 7, i % 13, false);
        expect("teams of changing size", all);
    }
    if (tap_case("a flow's tasks find those before them ended, for 1 to 9 threads")) {
        for (int i = 0; i < tap_rounds(54, 18); i++) all = all && tasks_in_order(p, 1 + i % 9, i % 2 == 0);
        expect("the order of a flow", all);
    }
    if (tap_case("tasks that wait for none run once each")) {
        for (int threads = 9; threads > 0; threads--) all = all && shares_each_once(p, threads);
        expect("tasks that wait for none", all);
    }
    for (int i = 0; i < 8; i++)
        if (tap_case("the loops wait for what they read: packed %s, sums %s%s", i & AHEAD ? "ahead" : "between",
                     i & BESIDE ? "beside C" : "in C", i & CHUNKS ? ", in chunks" : ""))
            expect("the product", loops_wait(p, i));
    CASE("the sums of chunks wait for all of them",
         plan_waits(p, tw_problem_make(TW_F32, TW_N, TW_T, 20, 30, 40000), is_divided, 4));
    CASE("a thread keeps its share from call to call", shares_stay());
    CASE("no thread begins a call that is over", nobody_comes_late(p));
    pool_close(p);
    CASE("teams and flows, however threads wait", all_ways_of_waiting(sums_and_flows));
    CASE("after a rest only those are woken that pay", all_ways_of_waiting(wakes_who_pays));
#if defined(__linux__)
    leaves_the_caller();
    masks_of_workers();
    masks_of_contexts();
#endif
    CASE("10 ms after the last call no thread spins", sleeps_soon(POOL_WAIT_AUTO) && sleeps_soon(POOL_WAIT_SLEEP));
    CASE("a pool that was never used closes", pool_open(POOL_WAIT_AUTO, &p) == TW_OK && (pool_close(p), true));

    tw_context *context = NULL;
    tw_options options = {.size = sizeof options, .threads = 4};
    if (tw_open(&options, &context) != TW_OK) return 1;
    CHILD("a child that forks before the first call multiplies", child_succeeds(one_call, context));
    CASE("many callers on one context", many_callers(context));
    CASE("a limit that changes under many callers", limits_that_change(context));
    tw_problem p_n = tw_problem_make(TW_F32, TW_N, TW_N, N, N, N);
    tw_lab_plan plan = {0};
    CASE("these products are planned for as many threads as they may have",
         tw_lab_plan_of(context, &(tw_lab_choice){.threads = 4}, &p_n, &plan) == TW_OK && plan.threads == 4);
    CASE("the peak is measured with 1, 2 and 5 threads",
         measure_peak(context, 1) && measure_peak(context, 2) && measure_peak(context, 5));
    CASE("many callers on the default context", many_callers(NULL));
    CASE("callers compute by the plans that they kept", call_together(multiply_shared, context));
    CHILD("a child computes by the plan that its parent kept",
          multiply_shared(context) && child_succeeds(multiply_shared, context));
    CHILD("a child multiplies after the parent did", child_succeeds(one_call, context));
    CASE("the parent goes on", multiply_ones(context, 4));
    CHILD("a child of the default context", child_succeeds(one_call, NULL));
    CHILD("many callers in a child", child_succeeds(many_callers, context));
    CHILD("a child forks again", child_succeeds(fork_again, context));
    CHILD("a child closes the context it used", child_succeeds(call_and_close, context));
    CHILD("a child closes a context it did not use", child_succeeds(close_only, context));
    bare_fork_cases(context);
    CASE("and the parent still goes on", many_callers(context));
    if (pool_open(POOL_WAIT_AUTO, &p) != TW_OK) return 1;
    CASE("threads compute in their caller's floating-point environment", in_every_environment(context, p));
    pool_close(p);
    CASE("a cancelled thread's calls return before it ends", pool_outlives(call_all_ways, 4));
    CASE("a cancelled thread opens and closes", returns_before_it_ends(open_and_close, NULL));
    CASE("a cancelled thread multiplies what it did before", pool_outlives(multiply_tiny, 4));
    CASE("a cancelled thread multiplies what it did before on several threads", pool_outlives(multiply_long, 16));
    tw_close(context);
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if (tap_case("limits of cgroups: %s", systems[i].name)) expect(systems[i].name, is_read(&systems[i]));
    CASE("the hardware threads of a core", cores_are_told());
    return tap_finish();
}
