/* test_threads.c - the thread pool: many callers on one context, calls inside calls, growth, fork in parent and child, close. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engines/cpu/cpu_engine.h"
#include "tap.h"

enum { N = 256, CALLERS = 6, ROUNDS = 8 }; /* N^3 multiply-adds are worth eight threads */

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
    right = right && tw_lab_run_open(context, &choice, &p, x, x + N * N, c, &run) == TW_OK && tw_lab_run_once(run, NULL) == TW_OK;
    tw_lab_run_close(run);
    for (int i = 0; right && i < N * N; i++) right = c[i] == N;
    free(x);
    return right;
}

/* The threads of the peak's probe wait for each other: that ends, and gives a number, for any team. */
static bool measure_peak(tw_context *context, int threads)
{
    double flops_per_s = 0;
    return tw_lab_peak_flops(context, TW_F64, threads, 2, &flops_per_s) == TW_OK && flops_per_s > 0 && isfinite(flops_per_s);
}

typedef struct caller {
    tw_context *context;
    bool right;
} caller;

static void *call_often(void *argument)
{
    caller *self = argument;
    self->right = true;
    for (int i = 0; i < ROUNDS; i++) self->right = self->right && multiply_ones(self->context, 1 + i % 4) && (i != 3 || measure_peak(self->context, 2));
    return NULL;
}

static bool many_callers(tw_context *context)
{
    pthread_t thread[CALLERS];
    caller callers[CALLERS];
    bool right = true;
    for (int i = 0; i < CALLERS; i++) {
        callers[i].context = context;
        if (pthread_create(&thread[i], NULL, call_often, &callers[i]) != 0) exit(1);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(thread[i], NULL);
        right = right && callers[i].right;
    }
    return right;
}

/* The child's last word is its exit status; it must end by itself. */
static bool child_succeeds(bool (*work)(tw_context *), tw_context *context)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(work(context) ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool one_call(tw_context *context)
{
    return multiply_ones(context, 3);
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

static void add_index(void *context, int64_t i)
{
    atomic_fetch_add(&((sum *)context)->total, i);
}

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
    return atomic_load(&s.total) == 3 * (count * (count - 1) / 2) && atomic_load(&s.teams) >= 1 && atomic_load(&s.teams) <= threads;
}

/* Rows of WIDTH tasks: each needs the one above it, the first of a row all of the row before. value: plain memory, which ThreadSanitizer watches. */
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
    for (int turn = 0; turn < (i % 37 == 0 ? 20000 : (int)(i * 7919 % 50)); turn++) pause_briefly(); /* tasks of different length: for some of them others sleep */
    g->value[i] = 1 + (above < 0 ? 0 : g->value[above]);
    return true;
}

static void grid_team(void *context, team *team)
{
    team_flow(team, grid_task, context);
}

static bool flows_in_order(pool *p, int threads, bool late)
{
    grid g = {.value = {0}};
    (late ? pool_flow : pool_run)(p, threads, grid_team, &g);
    bool right = atomic_load(&g.early) == 0;
    for (int i = 0; i < ROWS * WIDTH; i++) right = right && g.value[i] == 1 + i / WIDTH;
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

static void brief_team(void *context, team *team)
{
    team_flow(team, brief_task, context);
}

static bool nobody_comes_late(pool *p)
{
    enum { CALLS = 3000 };
    brief *calls = calloc(CALLS, sizeof *calls);
    bool right = calls != NULL;
    for (int i = 0; right && i < CALLS; i++) {
        calls[i].tasks = i % 3;
        pool_flow(p, 2 + i % 4, brief_team, &calls[i]);
        atomic_store(&calls[i].over, 1);
        for (int turn = 0; turn < i % 500; turn++) pause_briefly();
    }
    for (int i = 0; right && i < CALLS; i++) right = atomic_load(&calls[i].late) == 0 && atomic_load(&calls[i].done) == calls[i].tasks;
    free(calls);
    return right;
}

static void expect(const char *what, bool holds)
{
    tap_result(holds, "%s does not hold", what);
}

#define CASE(what, holds)                                                                                              \
    do {                                                                                                               \
        if (tap_case("%s", what)) expect(what, holds);                                                                 \
    } while (0)

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define CHILD(what, holds)                                                                                             \
    do {                                                                                                               \
        (void)(sizeof(holds));                                                                                         \
        if (tap_case("%s", what)) tap_skip("ThreadSanitizer starts no threads in a child of a program with threads");  \
    } while (0)
#else
#define CHILD(what, holds) CASE(what, holds)
#endif

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    pool *p = NULL;
    if (pool_open(&p) != TW_OK) return 1;
    CASE("a team sums each index once", sums_right(p, 4, 1000, false));
    CASE("a smaller team after a larger one", sums_right(p, 2, 1000, false));
    CASE("a larger team after a smaller one", sums_right(p, 9, 1000, false));
    CASE("more threads than tasks", sums_right(p, 8, 3, false));
    CASE("no tasks", sums_right(p, 3, 0, false));
    CASE("calls inside calls run alone", sums_right(p, 4, 500, true));
    bool all = true;
    if (tap_case("teams of changing size, a thousand times")) {
        for (int i = 0; i < 1000; i++) all = all && sums_right(p, 1 + i % 7, i % 13, false);
        expect("teams of changing size", all);
    }
    if (tap_case("a flow's tasks find those before them ended, for 1 to 9 threads")) {
        for (int i = 0; i < 180; i++) all = all && flows_in_order(p, 1 + i % 9, i % 2 == 0);
        expect("the order of a flow", all);
    }
    CASE("no thread begins a call that is over", nobody_comes_late(p));
    pool_close(p);
    CASE("a pool that was never used closes", pool_open(&p) == TW_OK && (pool_close(p), true));

    tw_context *context = NULL;
    tw_options options = {.size = sizeof options, .threads = 4};
    if (tw_open(&options, &context) != TW_OK) return 1;
    CHILD("a child that forks before the first call multiplies", child_succeeds(one_call, context));
    CASE("many callers on one context", many_callers(context));
    tw_problem p_n = tw_problem_make(TW_F32, TW_N, TW_N, N, N, N);
    tw_lab_plan plan = {0};
    CASE("these products are planned for as many threads as they may have",
         tw_lab_plan_of(context, &(tw_lab_choice){.threads = 4}, &p_n, &plan) == TW_OK && plan.threads == 4);
    CASE("the peak is measured with 1, 2 and 5 threads", measure_peak(context, 1) && measure_peak(context, 2) && measure_peak(context, 5));
    CASE("many callers on the default context", many_callers(NULL));
    CHILD("a child multiplies after the parent did", child_succeeds(one_call, context));
    CASE("the parent goes on", multiply_ones(context, 4));
    CHILD("a child of the default context", child_succeeds(one_call, NULL));
    CHILD("many callers in a child", child_succeeds(many_callers, context));
    CHILD("a child forks again", child_succeeds(fork_again, context));
    CHILD("a child closes the context it used", child_succeeds(call_and_close, context));
    CHILD("a child closes a context it did not use", child_succeeds(close_only, context));
    CASE("and the parent still goes on", many_callers(context));
    tw_close(context);
    return tap_finish();
}
