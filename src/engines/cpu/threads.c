/* threads.c - a pool of threads made at first use; a team of them shares the work of one call through a counter.
 *
 * The pool serves one call at a time: a second caller, or a call from inside a call, finds it busy and computes alone,
 * so nothing can deadlock. After fork() the child's pool has no threads: it notices by the process id and a count of
 * forks, leaves the parent's state untouched (its locks may be held by threads that do not exist here) and starts anew.
 * Waiting spins for some tens of microseconds, then sleeps. A team computes in its caller's floating-point
 * environment. */
#include "cpu_engine.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#if !defined(__x86_64__)
#include <fenv.h>
#endif

enum { SPINS = 2000, MOST_WORKERS = 1024 };

/* A count that threads wait on: the waiter spins a while, then sleeps until someone changes it. */
typedef struct signal_count {
    atomic_uint value;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} signal_count;

static void signal_init(signal_count *s)
{
    atomic_init(&s->value, 0);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
}

static void signal_destroy(signal_count *s)
{
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

static void signal_advance(signal_count *s)
{
    pthread_mutex_lock(&s->lock);
    atomic_fetch_add_explicit(&s->value, 1, memory_order_release);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Waits until the value differs from `old`; returns it. */
static unsigned signal_wait(signal_count *s, unsigned old)
{
    for (int i = 0; i < SPINS; i++) {
        unsigned now = atomic_load_explicit(&s->value, memory_order_acquire);
        if (now != old) return now;
        pause_briefly();
    }
    pthread_mutex_lock(&s->lock);
    while (atomic_load_explicit(&s->value, memory_order_acquire) == old) pthread_cond_wait(&s->changed, &s->lock);
    unsigned now = atomic_load_explicit(&s->value, memory_order_acquire);
    pthread_mutex_unlock(&s->lock);
    return now;
}

/* The task that a thread works on, in a cache line of its own: 0 none; 1 + the task; or -1 - n: it is taking task n or
 * a later one. It is stored before the counter of tasks advances, so whoever holds a later task sees it. */
typedef struct place {
    atomic_llong task;
    char apart[64 - sizeof(atomic_llong)];
} place;

struct team {
    int threads;
    bool late;           /* threads may join late, or not at all: no barriers */
    atomic_int arrived;  /* at the barrier */
    atomic_llong next;   /* the next task */
    signal_count passed; /* barriers passed */
    place *places;       /* of tasks: one slot for each thread */
    atomic_int placed;   /* threads that have a slot */
    atomic_int sleepers; /* threads that wait for another to leave its task */
    signal_count moved;  /* changes of slots while threads slept */
};

/* The floating-point environment (rounding, subnormals): each thread has its own, inherited when it is created. */
#if defined(__x86_64__)
typedef struct float_env {
    unsigned mxcsr;
    unsigned short x87;
} float_env;

static void float_env_read(float_env *e)
{
    e->mxcsr = __builtin_ia32_stmxcsr();
    __asm__ volatile("fnstcw %0" : "=m"(e->x87));
}

static void float_env_adopt(const float_env *e)
{
    __builtin_ia32_ldmxcsr(e->mxcsr);
    __asm__ volatile("fldcw %0" : : "m"(e->x87));
}
#else
typedef fenv_t float_env;

static void float_env_read(float_env *e) { fegetenv(e); }
static void float_env_adopt(const float_env *e) { fesetenv(e); }
#endif

/* Forks between this process and the first that used a pool. A process id may be reused, and _Fork() calls no handlers
 * to count it: together they tell. */
static atomic_uint forks;

static void count_fork(void) { atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed); }

static void watch_forks(void) { pthread_atfork(NULL, NULL, count_fork); }

/* The pool of one process. */
typedef struct crew {
    unsigned forks;
    pid_t pid;
    atomic_flag busy;
    int workers; /* threads started, without the caller */
    pthread_t thread[MOST_WORKERS];
    signal_count call; /* calls begun; its lock guards fn, context, floats, the team, and vacant */
    pool_fn *fn;       /* NULL: end the thread */
    void *context;
    float_env floats; /* the caller's */
    team team;
    int vacant; /* free slots of a team whose threads may join late */
    /* threads that have not finished this call, with the caller; of a team that may be late, those that joined */
    atomic_int running;
    signal_count done; /* calls that all workers finished */
    place places[MOST_WORKERS + 1];
} crew;

struct pool {
    _Atomic(crew *) crew;
};

typedef struct start {
    crew *crew;
    int index; /* from 1: the caller is 0 */
    unsigned calls_seen;
} start;

static void *worker_main(void *argument)
{
    start self = *(start *)argument;
    free(argument);
    crew *crew = self.crew;
    for (unsigned seen = self.calls_seen;;) {
        seen = signal_wait(&crew->call, seen);
        pthread_mutex_lock(&crew->call.lock);
        seen = atomic_load_explicit(&crew->call.value, memory_order_relaxed);
        bool called = crew->team.late ? crew->vacant > 0 : self.index < crew->team.threads;
        pool_fn *fn = crew->fn;
        const float_env floats = crew->floats;
        if (called && crew->team.late)
            crew->vacant--, atomic_fetch_add_explicit(&crew->running, 1, memory_order_relaxed);
        pthread_mutex_unlock(&crew->call.lock);
        if (fn == NULL) return NULL;
        if (!called) continue;
        float_env_adopt(&floats);
        fn(crew->context, &crew->team);
        if (atomic_fetch_sub_explicit(&crew->running, 1, memory_order_acq_rel) == 1) signal_advance(&crew->done);
    }
}

static bool is_ours(const crew *crew)
{
    return crew->forks == atomic_load_explicit(&forks, memory_order_relaxed) && crew->pid == getpid();
}

static crew *crew_new(void)
{
    crew *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    pthread_once(&watched, watch_forks);
    made->forks = atomic_load_explicit(&forks, memory_order_relaxed);
    made->pid = getpid();
    atomic_flag_clear(&made->busy);
    signal_init(&made->call);
    signal_init(&made->done);
    signal_init(&made->team.passed);
    signal_init(&made->team.moved);
    made->team.places = made->places;
    return made;
}

/* Starts workers until there are `wanted`, or as many as the system gives. Signals belong to the program's own threads:
 * blocked here. */
static void crew_grow(crew *crew, int wanted)
{
    /* these belong to the thread that causes them */
    static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++) sigdelset(&all, own_faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (crew->workers < wanted && crew->workers < MOST_WORKERS) {
        start *self = malloc(sizeof *self);
        if (self == NULL) break;
        *self = (start){crew, crew->workers + 1, atomic_load_explicit(&crew->call.value, memory_order_relaxed)};
        if (pthread_create(&crew->thread[crew->workers], NULL, worker_main, self) != 0) {
            free(self);
            break;
        }
        crew->workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Wakes this many sleepers. One after the other costs the caller a system call each, but leaves the rest asleep: faster
 * up to half of them (docs/perf/cpu-threads.md#waking). */
static void wake(crew *crew, int threads)
{
    if (2 * threads > crew->workers)
        pthread_cond_broadcast(&crew->call.changed);
    else
        for (int i = 0; i < threads; i++) pthread_cond_signal(&crew->call.changed);
}

/* A call and the count of calls begun change under one lock: a worker that missed the last call and wakes late must not
 * see one without the other. */
static void crew_call(crew *crew, int threads, bool late, pool_fn *fn, void *context)
{
    pthread_mutex_lock(&crew->call.lock);
    crew->fn = fn;
    crew->context = context;
    float_env_read(&crew->floats);
    crew->team.threads = threads;
    crew->team.late = late, crew->vacant = threads - 1;
    atomic_store_explicit(&crew->team.next, 0, memory_order_relaxed);
    atomic_store_explicit(&crew->team.placed, 0, memory_order_relaxed);
    atomic_store_explicit(&crew->running, late ? 1 : threads, memory_order_relaxed);
    atomic_fetch_add_explicit(&crew->call.value, 1, memory_order_release);
    pthread_mutex_unlock(&crew->call.lock);
    wake(crew, late ? threads - 1 : crew->workers);
}

/* The caller has done its part: no thread joins any more, and those that joined are waited for. done: crew->done before
 * the call. */
static void crew_finish(crew *crew, unsigned done)
{
    pthread_mutex_lock(&crew->call.lock);
    crew->vacant = 0;
    pthread_mutex_unlock(&crew->call.lock);
    if (atomic_fetch_sub_explicit(&crew->running, 1, memory_order_acq_rel) != 1) signal_wait(&crew->done, done);
}

static void crew_free(crew *crew)
{
    if (is_ours(crew)) { /* a forked child has only the memory, not the threads */
        crew_call(crew, 1, false, NULL, NULL);
        for (int i = 0; i < crew->workers; i++) pthread_join(crew->thread[i], NULL);
        signal_destroy(&crew->call);
        signal_destroy(&crew->done);
        signal_destroy(&crew->team.passed);
        signal_destroy(&crew->team.moved);
    }
    free(crew);
}

tw_status pool_open(pool **out)
{
    pool *made = malloc(sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for a thread pool of %zu bytes", sizeof *made);
    atomic_init(&made->crew, NULL);
    *out = made;
    return TW_OK;
}

void pool_close(pool *p)
{
    crew *crew = atomic_load(&p->crew);
    if (crew != NULL) crew_free(crew);
    free(p);
}

/* The pool of this process, made at first use; NULL without memory. */
static crew *pool_crew(pool *p)
{
    crew *found = atomic_load_explicit(&p->crew, memory_order_acquire);
    if (found != NULL && is_ours(found)) return found;
    crew *made = crew_new();
    if (made == NULL) return NULL;
    /* after a fork the pool of the parent is left as it is */
    if (atomic_compare_exchange_strong(&p->crew, &found, made)) return made;
    crew_free(made);
    return found;
}

static void run_team(pool *p, int threads, bool late, pool_fn *fn, void *context)
{
    crew *crew = threads > 1 ? pool_crew(p) : NULL;
    if (crew != NULL && !atomic_flag_test_and_set_explicit(&crew->busy, memory_order_acquire)) {
        crew_grow(crew, threads - 1);
        if (threads > crew->workers + 1) threads = crew->workers + 1;
        if (threads > 1) {
            unsigned done = atomic_load_explicit(&crew->done.value, memory_order_relaxed);
            crew_call(crew, threads, late, fn, context);
            fn(context, &crew->team);
            crew_finish(crew, done);
            atomic_flag_clear_explicit(&crew->busy, memory_order_release);
            return;
        }
        atomic_flag_clear_explicit(&crew->busy, memory_order_release);
    }
    team alone = {.threads = 1};
    fn(context, &alone);
}

void pool_run(pool *p, int threads, pool_fn *fn, void *context) { run_team(p, threads, false, fn, context); }

void pool_flow(pool *p, int threads, pool_fn *fn, void *context) { run_team(p, threads, true, fn, context); }

int team_threads(const team *t) { return t->threads; }

static void team_barrier(team *t)
{
    if (t->threads == 1) {
        atomic_store_explicit(&t->next, 0, memory_order_relaxed);
        return;
    }
    unsigned passed = atomic_load_explicit(&t->passed.value, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&t->arrived, 1, memory_order_acq_rel) == t->threads - 1) {
        atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&t->next, 0, memory_order_relaxed);
        atomic_store_explicit(&t->placed, 0, memory_order_relaxed);
        signal_advance(&t->passed);
    } else {
        signal_wait(&t->passed, passed);
    }
}

void team_for(team *t, int64_t count, team_body *body, void *context)
{
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);
        if (i >= count) break;
        body(context, i);
    }
    team_barrier(t);
}

/* Slots, the counter of tasks and that of sleepers are accessed in one order that all threads agree on (sequential
 * consistency): of a sleeper and the thread that leaves the task he waits for, one sees the other. */
static void move_to(team *t, place *p, long long task)
{
    atomic_store(&p->task, task);
    if (atomic_load(&t->sleepers) > 0) signal_advance(&t->moved);
}

static bool may_work_on(place *p, int64_t first, int64_t last)
{
    const long long task = atomic_load(&p->task);
    return task < 0 ? -1 - task <= last : task > first && task <= last + 1;
}

static void wait_until_left(team *t, place *p, int64_t first, int64_t last)
{
    for (int i = 0; i < SPINS; i++) {
        if (!may_work_on(p, first, last)) return;
        pause_briefly();
    }
    atomic_fetch_add(&t->sleepers, 1);
    for (unsigned seen = atomic_load(&t->moved.value); may_work_on(p, first, last);)
        seen = signal_wait(&t->moved, seen);
    atomic_fetch_sub(&t->sleepers, 1);
}

/* All of these tasks have been taken, since the caller's comes after them: each has ended unless a slot holds it. */
void team_after(team *t, int64_t first, int64_t last)
{
    if (t->threads == 1 || first > last) return;
    for (int i = 0; i < t->threads; i++) wait_until_left(t, &t->places[i], first, last);
}

void team_flow(team *t, flow_body *body, void *context)
{
    if (t->threads == 1) {
        for (int64_t i = 0; body(context, i, t); i++)
            ;
        return;
    }
    place *own = &t->places[atomic_fetch_add(&t->placed, 1)];
    for (bool more = true; more;) {
        atomic_store(&own->task, -1 - atomic_load(&t->next)); /* what follows wakes the sleepers */
        const int64_t task = atomic_fetch_add(&t->next, 1);
        move_to(t, own, 1 + task);
        more = body(context, task, t);
    }
    move_to(t, own, 0);
    if (!t->late) team_barrier(t);
}
