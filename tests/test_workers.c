/* test_workers.c - the processes that take turns in `bench --against`: each has its own pipes and no end of the
 * others'; what the tables say: the sides, and the best of them; and how a program ends that crashes while a driver is
 * in use. */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cli/bench_against.h"
#include "../program/guard.h"
#include "../program/hooks.h"
#include "support/tap.h"

enum { PROCESSES = 4 };

/* Answers each descriptor with whether it is open here. */
static void look(void *job, int orders, int answers)
{
    int fd;
    (void)job;
    while (worker_take(orders, &fd, sizeof fd)) {
        int open = fcntl(fd, F_GETFD) >= 0;
        if (!worker_give(answers, &open, sizeof open)) return;
    }
}

static void pipes_case(void)
{
    worker_process processes[PROCESSES];
    char why[200] = "";
    int open = 0, wrong = 0, own = 0;
    if (!tap_case("a process has no end of the pipes of those before it")) return;
    for (int i = 0; i < PROCESSES; i++)
        if (!worker_start(&program_hooks, processes, i, look, NULL)) wrong++;
    for (int i = 0; i < PROCESSES; i++)
        for (int before = 0; before < i; before++)
            for (int end = 0; end < 2; end++) {
                int fd = end ? processes[before].from : processes[before].to;
                if (!worker_ask(&processes[i], &fd, sizeof fd, &open, sizeof open, 20, why, sizeof why) || open)
                    wrong++;
            }
    int standard = STDERR_FILENO; /* which is open there: the question is understood */
    bool told = worker_ask(&processes[0], &standard, sizeof standard, &own, sizeof own, 20, why, sizeof why) && own;
    const double used_s = workers_cpu_s(processes, PROCESSES), first_s = workers_cpu_s(processes, 1);
    for (int i = 0; i < PROCESSES; i++) worker_end(&processes[i]);
    tap_result(wrong == 0 && told, "%d ends are open in another process, or it did not answer: %s", wrong, why);
    if (!tap_case("the processor time of the processes that still are")) return;
    tap_result(first_s > 0 && used_s > first_s && workers_cpu_s(processes, PROCESSES) <= 0,
               "%g s, %g of them the first's", used_s, first_s);
}

/* The table of two sides, one of which reaches half of the peak, if that is known. */
static bool table_says(double peak_flops, double share, const char *says, const char *says_not)
{
    static against g;
    static const tw_device device = {.engine = "cpu", .name = "a device"};
    FILE *table = tmpfile();
    char text[2000] = "";
    if (table == NULL) return false;
    g = (against){.setup.device = &device,
                  .count = 2,
                  .threads = 1,
                  .peak_flops = {peak_flops, 0},
                  .why_no_peak = "there was no memory"};
    for (int i = 0; i < 2; i++)
        g.sides[i] = (side){.row = i ? peer_rows : NULL,
                            .name = i ? "peer" : "tilewright",
                            .opened = true,
                            .share = {i ? share : share + 0.4, NAN},
                            .outcome = SIDE_TIMED};
    against_print_sides(table, &g, TW_F32);
    rewind(table);
    text[fread(text, 1, sizeof text - 1, table)] = '\0';
    fclose(table);
    return strstr(text, says) != NULL && strstr(text, says_not) == NULL;
}

static void table_case(void)
{
    if (!tap_case("a peak that could not be measured is told")) return;
    bool known = table_says(1e11, 0.5, "50", "could not be measured");
    bool unknown = table_says(0, NAN, "the peak could not be measured (there was no memory)\n", "50");
    tap_result(known && unknown, "the table %s", known ? "says nothing of it" : "is wrong where the peak is known");
}

/* A side of one case: its share of the peak at 2048 and how long its product takes. */
static side timed_side(const char *name, double share, double seconds, side_outcome outcome, const char *doubt)
{
    side x = {.row = peer_rows, .name = name, .opened = true, .share = {share, NAN}, .outcome = outcome};
    x.result.min_s = x.result.median_s = seconds;
    snprintf(x.doubt, sizeof x.doubt, "%s", doubt);
    return x;
}

static void best_case(void)
{
    static against g;
    static const tw_device device = {.engine = "cpu", .name = "a device"};
    against_mean group = {0}, all = {0};
    FILE *table = tmpfile();
    layout_table rows;
    char text[2000] = "";
    if (!tap_case("the best is the best of all whose product is right, whatever they reach of the peak")) return;
    g = (against){.setup.device = &device, .count = 5, .threads = 1, .others = 0.25};
    g.problem = tw_problem_make(TW_F32, TW_N, TW_N, 100, 100, 100);
    g.sides[0] = timed_side("tilewright", 0.95, 2e-5, SIDE_TIMED, "");
    g.sides[1] = timed_side("fast", 0.9, 3e-5, SIDE_TIMED, "");
    g.sides[2] = timed_side("slow", 0.7, 1e-5, SIDE_TIMED, "1 thread computed at 2048");
    g.sides[3] = timed_side("wrong", 0.9, 1e-6, SIDE_WRONG, "");
    g.sides[4] = timed_side("gone", 0.9, 1e-6, SIDE_GONE, "");
    if (table != NULL) {
        against_print_header(table, &g, "some", TW_F32, &rows);
        against_print_case(&rows, &g, &group, &all);
        rewind(table);
        text[fread(text, 1, sizeof text - 1, table)] = '\0';
        fclose(table);
    }
    const record r = against_record(&g, &g.sides[2]);
    tap_result(
        strstr(text, "| slow?       0.500   0.500\n           other processes used 25 % of the processors\n") != NULL &&
            strstr(text, " WRONG ") != NULL && group.count == 1 && r.doubt == g.sides[2].doubt && r.others == g.others,
        "%s", text);
}

/* What libraries call their code, and what they have no more than. */
static void code_case(void)
{
    static const struct {
        const char *choice, *set;
    } known[] = {{"Prescott", "sse"},           {"libmkl_avx2", "avx2"}, {"Haswell", "avx2"},   {"zen3", "avx2"},
                 {"avx512_core_amx", "avx512"}, {"SkylakeX", "avx512"},  {"snb", "avx"},        {"base", "sse"},
                 {"avx512_bf16", "avx512"},     {"libmkl_def", NULL},    {"neon", NULL},        {"", NULL},
                 {"AVX512", "avx512"},          {"zen4", "avx512"},      {"neoverse_n1", NULL}, {"amx", "avx512"}};
    int wrong = -1, rank;
    if (!tap_case("the instruction set of the code that a library names")) return;
    for (int i = 0; i < (int)(sizeof known / sizeof *known); i++) {
        const char *set = peer_code(known[i].choice, &rank);
        if (known[i].set == NULL ? set != NULL : set == NULL || strcmp(set, known[i].set) != 0) wrong = i;
    }
    tap_result(wrong < 0, "%s", wrong < 0 ? "" : known[wrong].choice);
}

static void copy_nothing(void)
{
    static void *volatile nowhere;
    static char *(*volatile copy)(char *, const char *) = strcpy;
    copy(nowhere, "x");
}

static void *wait_and_copy(void *all)
{
    pthread_barrier_wait(all);
    copy_nothing();
    return NULL;
}

/* As several threads of a driver do. */
static void crash_at_once(void)
{
    enum { THREADS = 8 };
    pthread_barrier_t all;
    pthread_t thread;
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 1; i < THREADS; i++)
        if (pthread_create(&thread, NULL, wait_and_copy, &all) != 0) _exit(0);
    wait_and_copy(&all);
}

static void stop(void) { abort(); }

static void read_nothing(void)
{
    static const volatile uintptr_t nowhere = 64;
    _exit(*(const int *)nowhere);
}

static void be_sent_a_signal(void)
{
    if (fork() == 0) kill(getppid(), SIGABRT), _exit(0);
    for (;;) pause();
}

static void print_and_exit(void)
{
    printf("a row, ");
    exit(1);
}

/* How a process ends that does this while a driver is in use, and what it says. */
static int ends(void (*body)(void), char *said, size_t size)
{
    int both[2], status = -1;
    size_t length = 0;
    fflush(NULL);
    if (pipe(both) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        dup2(both[1], STDERR_FILENO), dup2(both[1], STDOUT_FILENO), close(both[0]), close(both[1]);
        guard_install();
        guard_driver("opencl", "PoCL", ": do this");
        body();
        _exit(0);
    }
    close(both[1]);
    for (ssize_t got = 1; got > 0 && length<size - 1; length += got> 0 ? (size_t)got : 0)
        got = read(both[0], said + length, size - 1 - length);
    said[length] = '\0';
    close(both[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void driver_case(const char *name, void (*body)(void), int status, const char *says)
{
    char said[4000] = "";
    if (!tap_case("while a driver is in use: %s", name)) return;
    const int ended = ends(body, said, sizeof said);
    tap_result(ended == status && strcmp(said, says) == 0, "ended with %d, expected %d; said: %s", ended, status, said);
}

#define DRIVER "tilewright: : the driver of the opencl engine (PoCL)"

static void driver_cases(void)
{
    driver_case("a library aborts", stop, 8, DRIVER " aborted: signal 6: do this\n");
    driver_case("a library crashes on all threads, which is told once", crash_at_once, 8,
                DRIVER " crashed: signal 11\n");
    driver_case("a library calls exit(): no text is lost", print_and_exit, 8,
                "a row, " DRIVER " ended the program: do this\n");
    driver_case("the program itself crashes, which is no driver's fault", read_nothing, -SIGSEGV, "");
    driver_case("another process sends SIGABRT", be_sent_a_signal, -SIGABRT, "");
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    if (!tap.gpu) pipes_case(), table_case(), best_case(), code_case(), driver_cases();
    return tap_finish();
}
