/* worker.c - rounds. In each several threads compute products on a few contexts, here, in forked children and in
 * executed ones, under what a caller may do to a thread or a process; then nothing may be left over. */
#define _GNU_SOURCE /* sched_setaffinity, prctl, mallinfo2 */
#include "soak.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tilewright_blas.h>

#include "../support/die.h"
#include "../support/subnormals.h"

enum { MOST_CONTEXTS = 3, DEEPEST = 2, MEMORY_LOST = 1 << 14 };
/* of each of the two default contexts; and all that are there between rounds: ThreadSanitizer has up to two */
enum { DEFAULT_THREADS = 4, LASTING_THREADS = 1 + 2 * (DEFAULT_THREADS - 1) + 2 * UNDER_TSAN };

#if defined(__aarch64__)
static const char *const sets[] = {NULL, "base", "neon"};
#else
static const char *const sets[] = {NULL, "base", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx"};
#endif
enum { SETS = sizeof sets / sizeof *sets };

/* What the threads of a round have together. */
typedef struct shared {
    tw_context *contexts[MOST_CONTEXTS];
    int context_count;
} shared;

/* Where a thread is: its round, its slot in run->doing (-1: none), how many processes down, and whether it is the only
 * one of its process, so that it may limit that. */
typedef struct place {
    const shared *shared;
    int slot, depth;
    bool alone;
} place;

static void note(const place *at, const char *what, const char *text)
{
    if (at->slot >= 0) snprintf(run->doing[at->slot], TEXT, "%s%.*s", what, TEXT - 80, text);
}

/* ---- what may surround a call ---- */

typedef struct surroundings {
    int rounding;
    bool flushes, pinned, refused, cancelled;
    int granted; /* requests for memory before they are refused */
    rlim_t room; /* bytes of address space that are left to the process; 0: no limit */
    uint64_t seed;
    char text[160];
} surroundings;

static surroundings draw_surroundings(die *d, bool exact, bool alone)
{
    static const int roundings[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    surroundings s = {.rounding = FE_TONEAREST, .seed = element_mix(d->seed, 1000)};
    const bool rounds = roll(d, 5) == 0, flushes = roll(d, 8) == 0;
    if (exact && rounds) s.rounding = roundings[roll(d, 3)];
    s.flushes = exact && flushes;
    s.pinned = roll(d, 8) == 0, s.cancelled = roll(d, 10) == 0;
    s.refused = roll(d, 8) == 0, s.granted = (int)roll(d, 3);
    if (alone && !UNDER_ASAN && !UNDER_TSAN && roll(d, 3) == 0) s.room = (rlim_t)roll(d, 4000) << 12;
    snprintf(s.text, sizeof s.text, "%s%s%s%s%s%s", s.rounding != FE_TONEAREST ? ", rounding otherwise" : "",
             s.flushes ? ", subnormals flushed" : "", s.pinned ? ", pinned" : "", s.refused ? ", memory refused" : "",
             s.cancelled ? ", cancelled" : "", s.room > 0 ? ", address space limited" : "");
    return s;
}

/* Some of the processors that the thread may run on. */
static cpu_set_t some_of(const cpu_set_t *all, uint64_t seed)
{
    cpu_set_t some;
    CPU_ZERO(&some);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, all) && element_mix(seed, (uint64_t)i) % 2) CPU_SET(i, &some);
    return CPU_COUNT(&some) > 0 ? some : *all;
}

static void limit_address_space(rlim_t room, struct rlimit *before)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1) abort();
    fclose(file);
    getrlimit(RLIMIT_AS, before);
    const rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + room;
    setrlimit(RLIMIT_AS, &(struct rlimit){most, before->rlim_max});
}

/* The library's call, and nothing but that, in its surroundings. */
static void call_in(soak_product *x, const surroundings *s)
{
    cpu_set_t all;
    fenv_t before;
    struct rlimit limit;
    int cancel_state;
    if (s->pinned && sched_getaffinity(0, sizeof all, &all) == 0) {
        const cpu_set_t some = some_of(&all, s->seed);
        sched_setaffinity(0, sizeof some, &some);
    }
    if (s->room > 0) limit_address_space(s->room, &limit);
    fegetenv(&before);
    fesetround(s->rounding);
    if (s->flushes) flush_subnormals();
    if (s->cancelled) pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel_state);
    if (s->refused) memory_refuse(s->granted);
    x->kind->call(x);
    memory_allow();
    if (s->cancelled) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    fesetenv(&before);
    if (s->room > 0) setrlimit(RLIMIT_AS, &limit);
    if (s->pinned) sched_setaffinity(0, sizeof all, &all);
}

/* ---- cancellation ---- */

typedef struct cancelled {
    soak_product *product;
    const surroundings *surroundings;
    atomic_bool begins, asked; /* the call; and its thread has been cancelled */
    bool returned;
} cancelled;

/* The thread can be cancelled in the library's call, and then at the end; our own code around the call has points where
 * it would end too. */
static void *call_cancelled(void *argument)
{
    cancelled *self = argument;
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    atomic_store(&self->begins, true);
    call_in(self->product, self->surroundings);
    self->returned = true;
    while (!atomic_load(&self->asked)) sched_yield();
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    pthread_testcancel();
    return NULL;
}

/* Cancels at any time before, in or after the call, which must return all the same. */
static bool call_and_cancel(soak_product *x, const surroundings *s)
{
    cancelled c = {.product = x, .surroundings = s};
    pthread_t thread;
    void *ended = NULL;
    const int error = pthread_create(&thread, NULL, call_cancelled, &c);
    if (error != 0) return soak_fail("%s: no thread to cancel: %s", x->text, strerror(error));
    while (!atomic_load(&c.begins)) sched_yield();
    for (volatile uint64_t turn = element_mix(s->seed, 7) % 300000; turn > 0; turn--) continue;
    pthread_cancel(thread);
    atomic_store(&c.asked, true);
    pthread_join(thread, &ended);
    atomic_fetch_add(&run->cancellations, 1);
    return (c.returned && ended == PTHREAD_CANCELED) ||
           soak_fail("%s: a cancelled thread ended inside the call", x->text);
}

static void *idle(void *unused)
{
    for (;;) pause();
    return unused;
}

/* The C library opens another one to end a cancelled thread, and the process where it cannot: here, before memory is
 * short. */
static void prepare_cancellation(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, idle, NULL) != 0) abort();
    pthread_cancel(thread);
    pthread_join(thread, NULL);
}

/* ---- one product ---- */

static void plant_beside(void)
{
    if (soak_plants(DESCRIPTOR) && dup(2) < 0) abort();
    if (soak_plants(CRASH)) raise(SIGSEGV);
    if (soak_plants(HANG))
        for (;;) pause();
}

/* Spoils the first product that can be, after its call. */
static void plant_in(soak_product *x, plant wanted, plant what)
{
    if (run->plant == wanted && !atomic_load(&run->planted) && x->kind->spoil(x, what))
        atomic_store(&run->planted, true);
}

/* In rounds: in their own threads, CHILD in what they fork. */
static void plant_at(const place *at, soak_product *x)
{
    if (at->slot < 0) return;
    if (at->depth > 0) {
        plant_in(x, CHILD, ELEMENT);
        return;
    }
    plant_beside();
    plant_in(x, ELEMENT, ELEMENT), plant_in(x, BITS, BITS), plant_in(x, PADDING, PADDING);
}

static bool compute(const place *at, uint64_t seed, tw_context *context)
{
    die d = {.seed = seed};
    char why[TEXT] = "";
    soak_product x = {.kind = roll(&d, 2) ? &api_kind : &blas_kind};
    if (!x.kind->draw(&x, element_mix(seed, 1001), context)) return false;
    const surroundings s = draw_surroundings(&d, x.exact, at->alone);
    x.unusual = s.rounding != FE_TONEAREST || s.flushes;
    x.refused = s.refused, x.starved = s.refused || s.room > 0;
    strncat(x.text, s.text, sizeof x.text - strlen(x.text) - 1);
    note(at, at->depth > 0 ? "in a child: " : "", x.text);
    if (s.cancelled)
        call_and_cancel(&x, &s);
    else
        call_in(&x, &s);
    plant_at(at, &x);
    if (!atomic_load(&run->failed) && !x.kind->judge(&x, why, sizeof why)) soak_fail("%s: %s", x.text, why);
    x.kind->end(&x);
    atomic_fetch_add(&run->calls, 1), atomic_fetch_add(&run->progress, 1);
    return !atomic_load(&run->failed);
}

/* Also where memory is refused, and then once more. */
static tw_context *context_open(die *d)
{
    bool refuses = roll(d, 4) == 0;
    for (;;) { /* the first of sets is there */
        tw_context *context = NULL;
        const tw_options options = {
            .size = sizeof options, .instruction_set = sets[roll(d, SETS)], .threads = (int32_t)roll(d, 7)};
        if (refuses) memory_refuse((int)roll(d, 3));
        const tw_status status = tw_open(&options, &context);
        memory_allow();
        if (status == TW_OK) return context;
        if (status == TW_NO_DEVICE && options.instruction_set != NULL) continue;
        if (status == TW_NO_MEMORY && refuses) {
            refuses = false;
            continue;
        }
        soak_fail("tw_open: %s: %s", tw_status_name(status), tw_error_text());
        return NULL;
    }
}

/* On the default context, one of the round's, or one of its own. */
static bool compute_somewhere(const place *at, uint64_t seed)
{
    die d = {.seed = element_mix(seed, 1002)};
    const int64_t which = roll(&d, MOST_CONTEXTS + 2);
    if (which <= MOST_CONTEXTS)
        return compute(at, seed, which < at->shared->context_count ? at->shared->contexts[which] : NULL);
    tw_context *own = context_open(&d);
    const bool good = !atomic_load(&run->failed) && compute(at, seed, own);
    tw_close(own);
    return good;
}

/* ---- children ---- */

/* AddressSanitizer's allocator keeps no order with a fork: a child would wait for ever for what another thread held.
 * There a fork waits until no other thread uses the library, and until the library's own, which it may have begun just
 * now, wait for work. */
static pthread_rwlock_t computing = PTHREAD_RWLOCK_INITIALIZER;

static void lock_computing(bool forks)
{
    if (!UNDER_ASAN) return;
    if (!forks)
        pthread_rwlock_rdlock(&computing);
    else
        for (pthread_rwlock_wrlock(&computing); !others_wait() && !atomic_load(&run->failed);) sched_yield();
}

static void unlock_computing(void)
{
    if (UNDER_ASAN) pthread_rwlock_unlock(&computing);
}

/* Exit status 77 is the package's: it cannot run here. */
static bool ended_well(pid_t child, const char *what)
{
    int status = -1;
    if (child < 0) return soak_fail("%s: no fork: %s", what, strerror(errno));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status)) return soak_fail("%s: signal %d ended it", what, WTERMSIG(status));
    if (WEXITSTATUS(status) == 77) return atomic_store(&run->no_package, true), true;
    return status == 0 || soak_fail("%s: exit status %d", what, WEXITSTATUS(status));
}

static bool tasks(const place *at, uint64_t seed, int count);

static bool in_forked_child(const place *at, uint64_t seed)
{
    die d = {.seed = seed};
    const int count = 1 + (int)roll(&d, 3);
    lock_computing(true);
    const pid_t child = fork();
    if (child == 0) {
        const place below = {at->shared, at->slot, at->depth + 1, true};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        computing = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER; /* those that wait for it are the parent's */
        _exit(!tasks(&below, element_mix(seed, 1003), count));
    }
    unlock_computing();
    atomic_fetch_add(&run->forks, 1);
    const bool good = ended_well(child, at->slot >= 0 ? run->doing[at->slot] : "a child");
    if (child > 0 && good) atomic_fetch_add(&run->progress, 1);
    return good;
}

/* Runs a program with these variables instead of ours of their names. */
static bool execute(const place *at, char *const *arguments, const char *const (*variables)[2], int count)
{
    extern char **environ;
    char text[TEXT] = "", *environment[1024], pairs[8][256];
    int used = 0;
    for (char **one = environ; *one != NULL && used < 1000; one++) {
        bool replaced = false;
        for (int i = 0; i < count; i++) {
            const size_t length = strlen(variables[i][0]);
            replaced = replaced || (strncmp(*one, variables[i][0], length) == 0 && (*one)[length] == '=');
        }
        if (!replaced) environment[used++] = *one;
    }
    for (int i = 0; i < count; i++) {
        if (variables[i][1] == NULL) continue;
        snprintf(pairs[i], sizeof pairs[i], "%s=%s", variables[i][0], variables[i][1]);
        environment[used++] = pairs[i];
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.100s ", pairs[i]);
    }
    environment[used] = NULL;
    for (int i = 0; arguments[i] != NULL; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.100s ", arguments[i]);
    note(at, "executed: ", text);
    lock_computing(true);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execvpe(arguments[0], arguments, environment);
        _exit(127);
    }
    unlock_computing();
    atomic_fetch_add(&run->forks, 1);
    const bool good = ended_well(child, text);
    atomic_fetch_add(&run->progress, 1);
    return good;
}

static const char *pick(die *d, const char *const *words, int count) { return words[roll(d, count)]; }

/* Is there a context of this instruction set here? */
static const char *usable(const char *set)
{
    tw_context *context = NULL;
    if (tw_open(&(tw_options){.size = sizeof(tw_options), .instruction_set = set}, &context) != TW_OK) return NULL;
    tw_close(context);
    return set;
}

static bool in_executed_child(const place *at, uint64_t seed)
{
    static const char *const threads[] = {NULL, "1", "2", "3", "8", "64"}, *const omp[] = {NULL, "1", "4", "3,2"};
    die d = {.seed = element_mix(seed, 1004)};
    const char *const threads_word = pick(&d, threads, 6), *const omp_word = pick(&d, omp, 4);
    lock_computing(false);
    const char *const set = usable(pick(&d, sets, SETS));
    unlock_computing();
    char program[] = "/proc/self/exe", child[] = "--child", number[32], with[] = "--state", state[16];
    snprintf(number, sizeof number, "%llu", (unsigned long long)seed), snprintf(state, sizeof state, "%d", soak_state);
    const char *const variables[][2] = {
        {"TILEWRIGHT_THREADS", threads_word}, {"OMP_NUM_THREADS", omp_word}, {"TILEWRIGHT_CPU", set}};
    return execute(at, (char *[]){program, with, state, child, number, NULL}, variables, 3);
}

/* The package, on the library beside this program. */
static bool in_package(const place *at, uint64_t seed)
{
    char library[512] = "", debian[] = "/usr/bin/python3", other[] = "python3", unwritten[] = "-B",
         script[] = TESTS_FOLDER "/soak/package.py", number[32];
    if (UNDER_ASAN || UNDER_TSAN || atomic_load(&run->no_package)) return true;
    const ssize_t length = readlink("/proc/self/exe", library, sizeof library - 64);
    if (length <= 0) return soak_fail("this program has no path");
    library[length] = '\0';
    strcpy(strrchr(library, '/'), "/../libtilewright.so.0");
    snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    const char *const variables[][2] = {{"TILEWRIGHT_LIBRARY", library}, {"PYTHONPATH", TESTS_FOLDER "/../python"}};
    char *const python = access(debian, X_OK) == 0 ? debian : other; /* the former sees Debian's NumPy */
    return execute(at, (char *[]){python, unwritten, script, number, NULL}, variables, 2);
}

/* One task: mostly a product here. ThreadSanitizer starts no threads in a forked child. */
static bool task(const place *at, uint64_t seed)
{
    die d = {.seed = element_mix(seed, 1005)};
    const int64_t where = roll(&d, 200);
    if (at->depth == 0 && where == 0) return in_package(at, seed);
    if (at->depth == 0 && where < 4) return in_executed_child(at, seed);
    if (at->depth < DEEPEST && where < 24 && !UNDER_TSAN) return in_forked_child(at, seed);
    lock_computing(false);
    const bool good = compute_somewhere(at, seed);
    unlock_computing();
    return good;
}

static bool tasks(const place *at, uint64_t seed, int count)
{
    for (int i = 0; i < count && !atomic_load(&run->failed); i++)
        if (!task(at, element_mix(seed, (uint64_t)i))) return false;
    return !atomic_load(&run->failed);
}

/* ---- a round, and what it may leave over ---- */

/* AddressSanitizer holds locks while a thread begins or ends, which a child that is forked then could never take: there
 * all threads of a round have begun before the first task, and none ends before the last. */
typedef struct gate {
    atomic_bool open;
    atomic_int busy;
} gate;

static void gate_pass(gate *g, bool ends)
{
    if (!UNDER_ASAN) return;
    if (ends) atomic_fetch_sub(&g->busy, 1);
    while (ends ? atomic_load(&g->busy) > 0 : !atomic_load(&g->open)) nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* A thread of a round. */
typedef struct member {
    pthread_t thread;
    place at;
    uint64_t seed;
    int count;
    gate *gate;
} member;

static void *thread_main(void *argument)
{
    const member *self = argument;
    gate_pass(self->gate, false);
    tasks(&self->at, self->seed, self->count);
    gate_pass(self->gate, true);
    if (self->at.slot >= 0) run->doing[self->at.slot][0] = '\0';
    return NULL;
}

/* Several threads, each with its tasks, on contexts that are theirs together. */
static void threads_run(die *d, int count, int most_tasks, int depth, int context_count)
{
    shared all = {.context_count = context_count};
    member threads[SLOTS];
    gate gate = {.busy = 0};
    int started = 0;
    for (int i = 0; i < all.context_count; i++) all.contexts[i] = context_open(d);
    for (; started < count; started++) {
        member *t = &threads[started];
        *t = (member){.at = {&all, depth == 0 ? started : -1, depth, false},
                      .seed = element_mix(d->seed, 2000 + (uint64_t)started),
                      .count = 1 + (int)roll(d, most_tasks),
                      .gate = &gate};
        const int error = pthread_create(&t->thread, NULL, thread_main, t);
        if (error != 0) {
            soak_fail("no thread for a round: %s", strerror(error));
            break;
        }
    }
    atomic_store(&gate.busy, started), atomic_store(&gate.open, true);
    for (int i = 0; i < started; i++) pthread_join(threads[i].thread, NULL);
    for (int i = 0; i < all.context_count; i++) tw_close(all.contexts[i]);
}

static void plant_after(void)
{
    pthread_t thread;
    if (soak_plants(THREAD) && pthread_create(&thread, NULL, idle, NULL) != 0) abort();
    for (int i = 0; run->plant == MEMORY && i < 64; i++) {
        char *volatile lost = malloc(MEMORY_LOST);
        if (lost == NULL) abort();
        memset(lost, 1, MEMORY_LOST);
    }
}

static void round_run(int64_t seed)
{
    die d = {.seed = element_mix(UINT64_C(0x50a4), (uint64_t)seed)};
    const int descriptors = entries_of("/proc/self/fd"), count = 2 + (int)roll(&d, SLOTS - 2);
    threads_run(&d, count, 12, 0, 1 + (int)roll(&d, MOST_CONTEXTS));
    plant_after();
    if (atomic_load(&run->failed)) return;
    const int more = entries_of("/proc/self/fd") - descriptors, over = threads_over(LASTING_THREADS);
    if (more != 0) soak_fail("%d file descriptors more after the round than before", more);
    if (over > 0) soak_fail("%d threads more after the round than before", over);
}

/* Both libraries' contexts are there, with all their threads, before a round counts what it leaves. */
static void open_defaults(void)
{
    enum { N = 400 };
    float *x = calloc(3 * N * N, sizeof *x);
    if (x == NULL || tw_sgemm(NULL, TW_N, TW_N, N, N, N, 1, x, N, x + N * N, N, 0, x + 2 * N * N, N) != TW_OK) abort();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, x, N, x + N * N, N, 0, x + 2 * N * N, N);
    free(x);
}

int worker_main(int64_t seed, int64_t rounds)
{
    char threads[16];
    snprintf(threads, sizeof threads, "%d", DEFAULT_THREADS);
    setenv("TILEWRIGHT_THREADS", threads, 1);
    unsetenv("TILEWRIGHT_CPU"), unsetenv("TILEWRIGHT_VERBOSE");
    watch_begin();
    prepare_cancellation();
    open_defaults();
    for (int64_t i = 0; i < rounds && !atomic_load(&run->stops) && !atomic_load(&run->failed); i++) {
        atomic_store(&run->seed, seed + i);
        round_run(seed + i);
        if (!atomic_load(&run->failed)) watch_memory(i);
        atomic_fetch_add(&run->rounds, 1);
    }
    return atomic_load(&run->failed);
}

int child_main(uint64_t seed)
{
    die d = {.seed = seed};
    prepare_cancellation();
    threads_run(&d, 3, 3, 1, 0);
    return atomic_load(&run->failed);
}
