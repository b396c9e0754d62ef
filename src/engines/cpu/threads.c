/* threads.c - a pool of threads made at first use; a team of them shares the work of one call through counters.
 *
 * The pool serves one call at a time: a second caller, or a call from inside a call, finds it busy and computes alone,
 * so nothing can deadlock. After fork() the child's pool has no threads: it notices by the process id and a count of
 * forks, leaves the parent's state untouched (its locks may be held by threads that do not exist here) and starts anew.
 * A pool that was lent a program's parallel_for() runs a team by that, without threads of its own: no team has a
 * barrier then, since its tasks may run one after the other.
 *
 * A thread that waits for a call spins longer before it sleeps where calls come in quick succession. A team computes in
 * its caller's floating-point environment. */
#include "cpu_engine.h"
#include "masks.h"
#include "signals.h"
#include "../../processors.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#if !defined(__x86_64__)
#include <fenv.h>
#endif

enum { MOST_WORKERS = 1024 };

/* Between calls a thread spins for IDLE_S and twice its last wait. If that was QUICK_S or more, the pool's last pause
 * counts instead; if that was too, IDLE_S alone. TILEWRIGHT_WAIT=spin: for ALWAYS_S; sleep: not at all
 * (docs/perf/cpu-threads.md#pauses, #own-shares). */
static const double IDLE_S = 2e-5, QUICK_S = 5e-4, ALWAYS_S = 5e-3;

/* What a thread says to the others, in a cache line of its own. task: what it works on: 0 none; 1 + the task; or
 * -1 - n: it is taking task n or a later one. It is stored before the counter of tasks advances, so whoever holds a
 * later task sees it. taken: how many of its share of tasks were taken, by anyone. */
typedef struct slot {
    atomic_llong task, taken;
    char apart[LINE - 2 * sizeof(atomic_llong)];
} slot;

struct team {
    int threads;
    const stop *stop;       /* of the call */
    bool late;              /* threads may join late, or not at all: no barriers */
    atomic_int arrived;     /* at the barrier */
    atomic_llong next;      /* the next task */
    atomic_int joined;      /* threads that have a number */
    signal_count passed;    /* barriers passed */
    slot *slots;            /* one for each thread */
    atomic_bool shares;     /* some of which tasks were taken */
    atomic_int slots_taken; /* threads that have a slot for the task that they work on */
    atomic_int sleepers;    /* threads that wait for another to leave its task */
    signal_count moved;     /* changes of slots while threads slept */
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

/* Free worker slots of a call, and the threads in it with its caller, in one number that a thread changes at once. At 0
 * the call is over; until then what it is, fn, context, floats and the team, does not change. */
enum { RUNNING = 1, FREE = 65536, CLOSED = FREE - 1 }; /* one more of each; a mask without free slots */
_Static_assert(MOST_WORKERS < FREE / 2, "both numbers fit into 31 bits");

/* The pool of one process. */
typedef struct process_pool {
    unsigned forks;
    pid_t pid;
    atomic_flag busy;
    int workers; /* threads started, without the caller */
    pthread_t thread[MOST_WORKERS];
    signal_count call; /* calls begun */
    pool_fn *fn;
    void *context;
    float_env floats; /* the caller's */
    atomic_bool ends; /* the pool does: no call comes any more */
    atomic_int cpu;   /* the caller's processor, as the last call began */
    masks masks;      /* of the workers */
    char apart[LINE];
    atomic_int awake; /* workers that spin until they are called */
    char apart_too[LINE];
    atomic_int members; /* of the last call: see above */
    char apart_again[LINE];
    team team;
    pool_wait wait;
    double ended_s;          /* when the last call did */
    _Atomic(double) pause_s; /* from the end of the call before to the beginning of the last one */
    signal_count done;       /* calls that all workers finished */
    slot slots[MOST_WORKERS + 1];
} process_pool;

struct pool {
    pool_wait wait;
    bool stays;
    parallel_for *run; /* NULL: threads of its own */
    void *state;
    _Atomic(process_pool *) of_process;
};

typedef struct start {
    process_pool *pool;
    unsigned calls_seen, masks_seen;
    int number;
} start;

/* Of a worker, from 1 on; 0: of a caller. */
static _Thread_local int number_of_thread;

/* How long a worker spins that waited so long for its last call. Calls of few threads pass some workers by, so a long
 * wait does not mean that calls are rare. */
static double patience_s(const process_pool *pool, double waited_s)
{
    if (pool->wait != POOL_WAIT_AUTO) return pool->wait == POOL_WAIT_SPIN ? ALWAYS_S : 0;
    if (waited_s >= QUICK_S) waited_s = atomic_load_explicit(&pool->pause_s, memory_order_relaxed);
    return waited_s < QUICK_S ? 2 * waited_s + IDLE_S : IDLE_S;
}

/* waited_s: for the last call; then for this one. */
static void wait_for_call(process_pool *pool, unsigned seen, double *waited_s)
{
    const double start_s = cpu_now_s();
    atomic_fetch_add_explicit(&pool->awake, 1, memory_order_relaxed);
    const bool called = signal_spin(&pool->call, seen, patience_s(pool, *waited_s), &pool->cpu);
    atomic_fetch_sub_explicit(&pool->awake, 1, memory_order_relaxed);
    if (!called) signal_sleep(&pool->call, seen);
    *waited_s = cpu_now_s() - start_s;
}

/* Joins the call that is under way, if a slot is free. All workers see a call at the same moment: under a lock, those
 * that find it taken would sleep (docs/perf/cpu-threads.md#joining). */
static bool join_call(process_pool *pool)
{
    int members = atomic_load_explicit(&pool->members, memory_order_relaxed);
    while (members >= FREE)
        if (atomic_compare_exchange_weak_explicit(&pool->members, &members, members - FREE + RUNNING,
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    return false;
}

static void leave_call(process_pool *pool)
{
    if (atomic_fetch_sub_explicit(&pool->members, RUNNING, memory_order_acq_rel) == RUNNING)
        signal_advance(&pool->done);
}

static void *worker_main(void *argument)
{
    start self = *(start *)argument;
    free(argument);
    process_pool *pool = self.pool;
    number_of_thread = self.number;
    double waited_s = 0;
    unsigned masks_seen = self.masks_seen;
    for (unsigned seen = self.calls_seen;;) {
        wait_for_call(pool, seen, &waited_s);
        seen = atomic_load_explicit(&pool->call.value, memory_order_acquire);
        if (atomic_load_explicit(&pool->ends, memory_order_relaxed)) return NULL;
        if (!join_call(pool)) continue;
        masks_follow(&pool->masks, &masks_seen);
        masks_leave(atomic_load_explicit(&pool->cpu, memory_order_relaxed));
        float_env_adopt(&pool->floats);
        pool->fn(pool->context, &pool->team);
        leave_call(pool);
    }
}

static bool is_ours(const process_pool *pool)
{
    return pool->forks == atomic_load_explicit(&forks, memory_order_relaxed) && pool->pid == getpid();
}

static process_pool *pool_new(const pool *p)
{
    process_pool *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    pthread_once(&watched, watch_forks);
    made->forks = atomic_load_explicit(&forks, memory_order_relaxed);
    made->pid = getpid();
    made->wait = p->wait;
    made->masks.stays = p->stays;
    atomic_init(&made->members, 0);
    atomic_init(&made->cpu, -1);
    atomic_flag_clear(&made->busy);
    signal_init(&made->call);
    signal_init(&made->done);
    signal_init(&made->team.passed);
    signal_init(&made->team.moved);
    made->team.slots = made->slots;
    return made;
}

/* Starts workers until there are `wanted`, or as many as the system gives. */
static void pool_grow(process_pool *pool, int wanted)
{
    while (pool->workers < wanted && pool->workers < MOST_WORKERS) {
        start *self = malloc(sizeof *self);
        if (self == NULL) break;
        *self = (start){pool, atomic_load_explicit(&pool->call.value, memory_order_relaxed), 0, pool->workers + 1};
        if (masks_start(&pool->masks, &pool->thread[pool->workers], worker_main, self, &self->masks_seen) != 0) {
            free(self);
            break;
        }
        pool->workers++;
    }
}

/* Wakes this many sleepers. One after the other costs the caller a system call each, but leaves the rest asleep: faster
 * up to half of them (docs/perf/cpu-threads.md#waking). */
static void wake(process_pool *pool, int threads)
{
    if (2 * threads > pool->workers)
        pthread_cond_broadcast(&pool->call.changed);
    else
        for (int i = 0; i < threads; i++) pthread_cond_signal(&pool->call.changed);
    if (threads > 0) sched_yield(); /* so that one that was woken on this processor leaves it now */
}

/* One more call. Under the lock, so that a worker that is about to sleep sees it. */
static void announce(process_pool *pool)
{
    pthread_mutex_lock(&pool->call.lock);
    atomic_fetch_add_explicit(&pool->call.value, 1, memory_order_release);
    pthread_mutex_unlock(&pool->call.lock);
}

static void pool_call(process_pool *pool, int threads, bool late, pool_fn *fn, void *context, const stop *stop)
{
    pool->fn = fn;
    pool->context = context;
    float_env_read(&pool->floats);
    pool->team.threads = threads;
    pool->team.late = late;
    pool->team.stop = stop;
    atomic_store_explicit(&pool->cpu, masks_processor(), memory_order_relaxed);
    atomic_store_explicit(&pool->team.next, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->team.joined, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->team.slots_taken, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->members, (threads - 1) * FREE + RUNNING, memory_order_release);
    announce(pool);
    /* a worker that stops spinning now still sees this call before it sleeps */
    wake(pool, late ? threads - 1 - atomic_load_explicit(&pool->awake, memory_order_relaxed) : pool->workers);
}

static void forget_taken(team *t)
{
    if (!atomic_load_explicit(&t->shares, memory_order_relaxed)) return;
    atomic_store_explicit(&t->shares, false, memory_order_relaxed);
    for (int i = 0; i < t->threads; i++) atomic_store_explicit(&t->slots[i].taken, 0, memory_order_relaxed);
}

/* The caller has done its part: no thread joins any more, and those that joined are waited for; of a team with barriers
 * all are, joined or not. done: pool->done before the call. */
static void pool_finish(process_pool *pool, unsigned done)
{
    if (pool->team.late) atomic_fetch_and_explicit(&pool->members, CLOSED, memory_order_relaxed);
    if (atomic_fetch_sub_explicit(&pool->members, RUNNING, memory_order_acq_rel) != RUNNING)
        signal_wait(&pool->done, done);
    forget_taken(&pool->team);
}

static void pool_free(process_pool *pool)
{
    if (is_ours(pool)) { /* a forked child has only the memory, not the threads */
        atomic_store_explicit(&pool->ends, true, memory_order_relaxed);
        announce(pool);
        pthread_cond_broadcast(&pool->call.changed);
        for (int i = 0; i < pool->workers; i++) pthread_join(pool->thread[i], NULL);
        signal_destroy(&pool->call);
        signal_destroy(&pool->done);
        signal_destroy(&pool->team.passed);
        signal_destroy(&pool->team.moved);
    }
    free(pool);
}

tw_status pool_open(pool_wait wait, pool **out)
{
    pool *made = malloc(sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for a thread pool of %zu bytes", sizeof *made);
    made->wait = wait;
    made->stays = false;
    made->run = NULL, made->state = NULL;
    atomic_init(&made->of_process, NULL);
    *out = made;
    return TW_OK;
}

void pool_stay(pool *p) { p->stays = true; }

void pool_lend(pool *p, parallel_for *run, void *state) { p->run = run, p->state = state; }

void pool_close(pool *p)
{
    process_pool *pool = atomic_load(&p->of_process);
    if (pool != NULL) pool_free(pool);
    free(p);
}

/* The pool of this process, made at first use; NULL without memory. */
static process_pool *pool_of_process(pool *p)
{
    process_pool *found = atomic_load_explicit(&p->of_process, memory_order_acquire);
    if (found != NULL && is_ours(found)) return found;
    process_pool *made = pool_new(p);
    if (made == NULL) return NULL;
    /* after a fork the pool of the parent is left as it is */
    if (atomic_compare_exchange_strong(&p->of_process, &found, made)) return made;
    pool_free(made);
    return found;
}

/* How many of these threads take part: all where calls come in quick succession and they then stay awake. */
static int worth_calling(const process_pool *pool, int threads, int woken, double pause_s)
{
    const int ready = 1 + atomic_load_explicit(&pool->awake, memory_order_relaxed);
    const bool stay_awake = pool->wait != POOL_WAIT_SLEEP && pause_s < QUICK_S;
    if (threads <= ready || stay_awake) return threads;
    return woken > ready ? woken : ready;
}

/* A call's team on threads of the program's. */
typedef struct lent {
    pool_fn *fn;
    void *context;
    float_env floats; /* the caller's */
    atomic_int begun; /* tasks: members of the team */
    team team;
    slot slots[];
} lent;

/* A member of the team, on a thread that goes on with something else. */
static void run_member(void *data, size_t index)
{
    lent *l = data;
    const int number = number_of_thread;
    int cancels;
    float_env floats;
    if (atomic_fetch_add_explicit(&l->begun, 1, memory_order_relaxed) >= l->team.threads) return; /* one too many */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    float_env_read(&floats);
    float_env_adopt(&l->floats);
    number_of_thread = (int)(index % (size_t)l->team.threads);
    l->fn(l->context, &l->team);
    number_of_thread = number;
    float_env_adopt(&floats);
    pthread_setcancelstate(cancels, &cancels);
}

/* False: no memory for it. */
static bool run_lent(const pool *p, int threads, pool_fn *fn, void *context, const stop *stop)
{
    lent *l = calloc(1, sizeof *l + (size_t)threads * sizeof *l->slots);
    if (l == NULL) return false;
    l->fn = fn, l->context = context;
    l->team.threads = threads, l->team.late = true, l->team.stop = stop, l->team.slots = l->slots;
    signal_init(&l->team.moved);
    float_env_read(&l->floats);
    p->run(p->state, (size_t)threads, run_member, l);
    for (int i = atomic_load(&l->begun); i < threads; i++) run_member(l, (size_t)i);
    signal_destroy(&l->team.moved);
    free(l);
    return true;
}

static void run_team(pool *p, int threads, int woken, bool late, pool_fn *fn, void *context, const stop *stop)
{
    const int most = processors_most();
    if (threads > most) threads = most;
    if (woken > most) woken = most;
    const bool lends = late && p->run != NULL;
    if (lends && threads > 1 && run_lent(p, threads, fn, context, stop)) return;
    process_pool *pool = threads > 1 && !lends ? pool_of_process(p) : NULL;
    if (pool != NULL && !atomic_flag_test_and_set_explicit(&pool->busy, memory_order_acquire)) {
        const double pause_s = cpu_now_s() - pool->ended_s;
        atomic_store_explicit(&pool->pause_s, pause_s, memory_order_relaxed);
        threads = worth_calling(pool, threads, woken, pause_s);
        if (threads > 1) masks_renew(&pool->masks);
        pool_grow(pool, threads - 1);
        if (threads > pool->workers + 1) threads = pool->workers + 1;
        if (threads > 1) {
            unsigned done = atomic_load_explicit(&pool->done.value, memory_order_relaxed);
            pool_call(pool, threads, late, fn, context, stop);
            fn(context, &pool->team);
            pool_finish(pool, done);
            pool->ended_s = cpu_now_s();
            atomic_flag_clear_explicit(&pool->busy, memory_order_release);
            return;
        }
        pool->ended_s = cpu_now_s();
        atomic_flag_clear_explicit(&pool->busy, memory_order_release);
    }
    team alone = {.threads = 1, .stop = stop};
    fn(context, &alone);
}

void pool_run(pool *p, int threads, pool_fn *fn, void *context)
{
    run_team(p, threads, threads, false, fn, context, NULL);
}

void pool_run_tasks(pool *p, int threads, int woken, pool_fn *fn, void *context, const stop *stop)
{
    run_team(p, threads, woken, true, fn, context, stop);
}

typedef struct steps {
    int64_t first, last;
    pool_step *fn;
    void *context;
} steps;

static void run_steps(void *context, team *team)
{
    const steps *s = context;
    for (int64_t i = s->first; i <= s->last; i++) s->fn(s->context, i, team);
}

void pool_run_steps(pool *p, int threads, int64_t count, pool_step *fn, void *context, const stop *stop)
{
    const bool apart = p->run != NULL; /* a team each */
    for (int64_t i = 0; i < count; i += apart ? 1 : count) {
        steps some = {i, apart ? i : count - 1, fn, context};
        run_team(p, threads, threads, apart, run_steps, &some, stop);
    }
}

void team_alone(const team *of, pool_fn *fn, void *context)
{
    team alone = {.threads = 1, .stop = of->stop};
    fn(context, &alone);
}

bool team_ends(const team *t) { return stop_asked(t->stop); }

int team_threads(const team *t) { return t->threads; }

int team_join(team *t) { return t->threads == 1 ? 0 : atomic_fetch_add_explicit(&t->joined, 1, memory_order_relaxed); }

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
        atomic_store_explicit(&t->joined, 0, memory_order_relaxed);
        atomic_store_explicit(&t->slots_taken, 0, memory_order_relaxed);
        forget_taken(t);
        signal_advance(&t->passed);
    } else {
        signal_wait(&t->passed, passed);
    }
}

void team_for(team *t, int64_t count, team_body *body, void *context)
{
    while (!team_ends(t)) {
        int64_t i = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);
        if (i >= count) break;
        body(context, i);
    }
    if (!t->late) team_barrier(t);
}

/* The next task of a share of so many, or -1: there is none. Most find that there is none: they only read. */
static int64_t take(slot *of, int64_t count)
{
    if (atomic_load_explicit(&of->taken, memory_order_relaxed) >= count) return -1;
    const int64_t task = atomic_fetch_add_explicit(&of->taken, 1, memory_order_relaxed);
    return task < count ? task : -1;
}

void team_share(team *t, int64_t count, team_body *body, void *context)
{
    if (t->threads > 1 && !atomic_load_explicit(&t->shares, memory_order_relaxed))
        atomic_store_explicit(&t->shares, true, memory_order_relaxed);
    for (int i = 0; t->threads > 1 && i < t->threads; i++) {
        const int of = (number_of_thread + i) % t->threads;
        const int64_t first = count * of / t->threads, last = count * (of + 1) / t->threads;
        for (int64_t task; !team_ends(t) && (task = take(&t->slots[of], last - first)) >= 0;)
            body(context, first + task);
    }
    for (int64_t task = 0; t->threads == 1 && task < count && !team_ends(t); task++) body(context, task);
    if (!t->late) team_barrier(t);
}

/* Slots, the counter of tasks and that of sleepers are accessed in one order that all threads agree on (sequential
 * consistency): of a sleeper and the thread that leaves the task he waits for, one sees the other. */
static void move_to(team *t, slot *p, long long task)
{
    atomic_store(&p->task, task);
    if (atomic_load(&t->sleepers) > 0) signal_advance(&t->moved);
}

static bool may_work_on(slot *p, int64_t first, int64_t last)
{
    const long long task = atomic_load(&p->task);
    return task < 0 ? -1 - task <= last : task > first && task <= last + 1;
}

static void wait_until_left(team *t, slot *p, int64_t first, int64_t last)
{
    if (!may_work_on(p, first, last)) return;
    for (const double until_s = cpu_now_s() + WITHIN_S; cpu_now_s() < until_s;)
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
    if (t->threads == 1 || last < max_i64(first, 0)) return;
    for (int i = 0; i < t->threads; i++) wait_until_left(t, &t->slots[i], first, last);
}

void team_tasks(team *t, task_body *body, void *context)
{
    if (t->threads == 1) {
        for (int64_t i = 0; !team_ends(t) && body(context, i, t); i++)
            ;
        return;
    }
    slot *mine = &t->slots[atomic_fetch_add(&t->slots_taken, 1)];
    for (bool more = true; more;) {
        atomic_store(&mine->task, -1 - atomic_load(&t->next)); /* what follows wakes the sleepers */
        const int64_t task = atomic_fetch_add(&t->next, 1);
        move_to(t, mine, 1 + task);
        more = body(context, task, t) && !team_ends(t);
    }
    move_to(t, mine, 0);
    if (!t->late) team_barrier(t);
}
