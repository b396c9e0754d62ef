/* soak.c - random use of both libraries and of the package, for a time or some rounds, against oracles.
 *
 *   soak [--minutes M] [--rounds N] [--seed S] [--hang SECONDS] [--plant FAULT]
 *
 * Round i follows from the seed S + i alone, but for the order in which its threads run: --seed (S + i) --rounds 1
 * repeats it. The rounds are a worker process's (worker.c); this one watches it: a crash, a round in which nothing ends
 * for so many seconds, and whatever else failed ends the run. Exit status 0, 1 after a failure, 2 on usage. */
#define _GNU_SOURCE /* memfd_create */
#include "soak.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

soak_run *run;
int soak_state = -1;

static const char *const plant_names[PLANTS] = {"none",       "element", "child",  "bits",  "padding",
                                                "descriptor", "thread",  "memory", "crash", "hang"};

static struct {
    int64_t minutes, rounds, seed, hang_s, state, child; /* -1: not said */
    plant plant;
} asked = {.minutes = -1, .rounds = -1, .seed = -1, .hang_s = 300, .state = -1, .child = -1};

bool soak_fail(const char *format, ...)
{
    static atomic_bool told; /* of this process; the run's failure may be another's */
    va_list arguments;
    if (atomic_exchange(&told, true) || atomic_exchange(&run->failed, true)) return false;
    va_start(arguments, format);
    vsnprintf(run->failure, sizeof run->failure, format, arguments);
    va_end(arguments);
    return false;
}

bool soak_plants(plant wanted) { return run->plant == wanted && !atomic_exchange(&run->planted, true); }

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static _Noreturn void usage(const char *why)
{
    fprintf(stderr,
            "soak: %s\nusage: soak [--minutes M] [--rounds N] [--seed S] [--hang SECONDS] [--plant FAULT]\n"
            "One of --minutes and --rounds is needed. FAULT is one of:",
            why);
    for (int i = ELEMENT; i < PLANTS; i++) fprintf(stderr, " %s", plant_names[i]);
    fputc('\n', stderr);
    exit(2);
}

static void read_options(int argc, char **argv)
{
    static const char *const names[] = {"--minutes", "--rounds", "--seed", "--hang", "--state", "--child"};
    int64_t *const numbers[] = {&asked.minutes, &asked.rounds, &asked.seed, &asked.hang_s, &asked.state, &asked.child};
    for (int i = 1; i < argc; i += 2) {
        const char *word = i + 1 < argc ? argv[i + 1] : "";
        char *rest, why[200];
        int which = 0;
        while (which < 6 && strcmp(argv[i], names[which]) != 0) which++;
        errno = 0;
        const unsigned long long value = strtoull(word, &rest, 10);
        if (strcmp(argv[i], "--plant") == 0) {
            while (asked.plant < PLANTS && strcmp(word, plant_names[asked.plant]) != 0) asked.plant++;
            if (asked.plant == PLANTS) usage("--plant needs the name of a fault");
        } else if (which == 6) {
            snprintf(why, sizeof why, "no option is called '%.100s'", argv[i]), usage(why);
        } else if (rest == word || *rest != '\0' || *word == '-' || errno != 0 ||
                   (which < 4 && value > INT64_MAX / 2)) {
            snprintf(why, sizeof why, "%s: found '%.100s', expected a whole number", argv[i], word), usage(why);
        } else
            *numbers[which] = (int64_t)value;
    }
    if (asked.minutes < 0 && asked.rounds < 0 && asked.state < 0) usage("for how long?");
}

/* ---- the watch ---- */

static void print_progress(double seconds)
{
    fprintf(stderr,
            "soak: %d:%02d, round of seed %" PRId64 ", %lld rounds, %lld calls, %lld forks, %lld cancellations\n",
            (int)seconds / 60, (int)seconds % 60, (int64_t)atomic_load(&run->seed), atomic_load(&run->rounds),
            atomic_load(&run->calls), atomic_load(&run->forks), atomic_load(&run->cancellations));
}

static void fail_hanging(void)
{
    char text[sizeof run->failure];
    int used = snprintf(text, sizeof text, "nothing ended in %g s, while its threads did:", run->hang_s);
    for (int i = 0; i < SLOTS; i++)
        if (run->doing[i][0] != '\0' && (size_t)used < sizeof text - TEXT)
            used += snprintf(text + used, sizeof text - (size_t)used, "\n  %s", run->doing[i]);
    soak_fail("%s", text);
}

/* Until the worker has ended, or nothing in it ends any more. */
static void watch(pid_t worker)
{
    const double begin = now(), every = isatty(2) ? 10 : 60;
    double told = begin, moved = begin;
    uint64_t last = 0;
    int status = 0;
    sigset_t child;
    sigemptyset(&child), sigaddset(&child, SIGCHLD);
    while (waitpid(worker, &status, WNOHANG) == 0) {
        sigtimedwait(&child, NULL, &(struct timespec){0, 100000000});
        const double at = now();
        const uint64_t progress = atomic_load(&run->progress);
        if (progress != last) last = progress, moved = at;
        if (at - told >= every) told = at, print_progress(at - begin);
        if (asked.minutes >= 0 && at - begin >= 60 * (double)asked.minutes) atomic_store(&run->stops, true);
        if (at - moved < run->hang_s) continue;
        fail_hanging();
        kill(-worker, SIGKILL);
        moved = at;
    }
    if (WIFSIGNALED(status)) soak_fail("signal %d ended the process", WTERMSIG(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        soak_fail("the process ended with status %d", WEXITSTATUS(status));
    kill(-worker, SIGKILL); /* children of one that crashed */
}

/* The failure, and the command that repeats its round. */
static void tell(void)
{
    const char *with = UNDER_ASAN ? " --sanitize asan" : UNDER_TSAN ? " --sanitize tsan" : "";
    const bool grew = strncmp(run->failure, "memory grew", 11) == 0;
    printf("soak: round of seed %" PRId64 ": %s\n", (int64_t)atomic_load(&run->seed), run->failure);
    if (grew)
        printf("again: ./dev soak --seed %" PRId64 " --rounds %lld%s\n", asked.seed, atomic_load(&run->rounds), with);
    else
        printf("again: ./dev soak --seed %" PRId64 " --rounds 1%s\n", (int64_t)atomic_load(&run->seed), with);
}

static void run_make(void)
{
    soak_state = asked.state >= 0 ? (int)asked.state : memfd_create("soak", 0);
    if (soak_state < 0 || (asked.state < 0 && ftruncate(soak_state, sizeof *run) != 0)) perror("soak: memory"), exit(1);
    run = mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED, soak_state, 0);
    if (run == MAP_FAILED) perror("soak: memory"), exit(1);
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    run_make();
    if (asked.state >= 0) return child_main((uint64_t)asked.child);
    run->plant = asked.plant, run->hang_s = (double)asked.hang_s;
    if (asked.seed < 0) asked.seed = (int64_t)time(NULL);
    atomic_store(&run->seed, asked.seed);
    printf("soak: from seed %" PRId64 "\n", asked.seed);
    fflush(stdout);
    sigset_t child, before;
    sigemptyset(&child), sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    const pid_t worker = fork();
    if (worker < 0) perror("soak: fork"), exit(1);
    if (worker == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        exit(worker_main(asked.seed, asked.rounds >= 0 ? asked.rounds : INT64_MAX / 2));
    }
    setpgid(worker, worker);
    watch(worker);
    const bool failed = atomic_load(&run->failed);
    if (failed) tell();
    if (atomic_load(&run->no_package)) printf("soak: without the package, which found no NumPy\n");
    printf("soak: %lld rounds, %lld calls, %lld forks, %lld cancellations, %d failures\n", atomic_load(&run->rounds),
           atomic_load(&run->calls), atomic_load(&run->forks), atomic_load(&run->cancellations), failed);
    return failed;
}
