/* guard.c - signal handlers. Only async-signal-safe calls stand in them; everything they need is laid ready before. */
#define _GNU_SOURCE /* REG_RIP */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "diag.h"
#include "exit.h"
#include "layout.h"
#include "term.h"

typedef struct watched {
    uintptr_t start, end; /* equal: the place is free */
    char sentence[512];
} watched;

/* A path longer than the system allows cannot have been opened. */
typedef struct kept_path {
    volatile sig_atomic_t set;
    char path[4352];
} kept_path;

enum { MOST_WATCHED = 24 /* with 16 files of --bind */, ENDING = -1, FREE = 0, HELD = 1 };

/* FREE, HELD, HELD + the first signal that came meanwhile, or ENDING: a handler removes the files, and no other may be
 * made. Any thread takes signals: one of MPI, of a driver, our own that watches the time. */
static atomic_int hold;

static kept_path output_temp, tool_temp, json_unnamed, json_temp, json_target;
static volatile sig_atomic_t json_lines;
static watched watches[MOST_WATCHED];
static char kept_text[600]; /* ": ..." behind "interrupted"; else "" */
static char foreign[600];   /* the sentence of a reader's kernel that runs now; else "" */
static char driver[600];    /* the sentence of a driver that is in use, without how it ended; else "" */
static char driver_advice[300];
static pid_t driver_user; /* a process that the driver forks is not to clean up here */
static bool exits, left;  /* the driver may call exit(); this is a forked process of ours */

static void put(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

static void clean_up(void)
{
    if (term_progress_showing()) put("\r\033[K");
    if (output_temp.set) unlink(output_temp.path);
    if (tool_temp.set) unlink(tool_temp.path);
    if (!json_temp.set) return;
    if (!json_lines || io_output_name(json_unnamed.path, json_temp.path, json_target.path) != 0) unlink(json_temp.path);
}

/* Wait at most 0.1 s until a file that another thread makes is registered: its file system may hang. As long for
 * another thread that ends the program. */
static void claim_end(void)
{
    for (int tries = 100, now = FREE; tries > 0 && !atomic_compare_exchange_strong(&hold, &now, ENDING);
         tries--, now = FREE)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void guard_end(int code)
{
    claim_end();
    clean_up();
    _exit(code);
}

/* True: the signal waits for guard_release(), or another thread is ending the program. */
static bool waits(int number)
{
    int now = atomic_load(&hold);
    while (now == FREE || now == HELD)
        if (atomic_compare_exchange_weak(&hold, &now, now == FREE ? ENDING : HELD + number)) return now == HELD;
    return true;
}

static void on_stop(int number)
{
    if (waits(number)) return;
    clean_up();
    put("tilewright: interrupted");
    put(kept_text);
    put("\n");
    _exit(EXIT_INTERRUPTED);
}

/* What this signal does to any program, after the clean-up. */
static void end_by(int number)
{
    sigset_t set;
    clean_up();
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    _exit(128 + number); /* the first process of a container outlives the signal */
}

/* Several threads of a driver may crash at once: one of them tells it. */
static void end_with(int code, const char *sentence, const char *how, const char *advice) __attribute__((noreturn));
static void end_with(int code, const char *sentence, const char *how, const char *advice)
{
    claim_end();
    clean_up();
    put(sentence), put(how), put(advice);
    _exit(code);
}

/* Called by exit(): LLVM, which compiles for drivers, calls it when it cannot write a file. */
static void on_exit_call(void)
{
    if (!exits || driver[0] == '\0' || getpid() != driver_user) return;
    layout_flush();
    end_with(EXIT_RUN, driver, " ended the program", driver_advice);
}

/* Is the instruction in the program's own code? Drivers are libraries. false also where that is unknown. */
static bool is_own(const ucontext_t *at)
{
    extern const char __executable_start[], etext[];
#if defined __x86_64__
    const uintptr_t instruction = (uintptr_t)at->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    const uintptr_t instruction = (uintptr_t)at->uc_mcontext.pc;
#else
    const uintptr_t instruction = 0;
    (void)at;
#endif
    return instruction >= (uintptr_t)__executable_start && instruction < (uintptr_t)etext;
}

/* SIGBUS, and SIGSEGV, SIGABRT and SIGILL while a reader's kernel runs or a driver is in use. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    const bool sent = info->si_code <= 0; /* by kill() or abort(): there is no address */
    const uintptr_t at = (uintptr_t)info->si_addr;
    if (sent && info->si_pid != getpid()) {
        claim_end();
        end_by(number);
    }
    for (int i = MOST_WATCHED - 1; !sent && i >= 0; i--)
        if (at >= watches[i].start && at < watches[i].end) end_with(EXIT_INPUT, watches[i].sentence, "", "");
    if (foreign[0] != '\0') end_with(EXIT_RUN, foreign, "", "");
    if (driver[0] != '\0' && getpid() == driver_user && !is_own(context))
        end_with(EXIT_RUN, driver,
                 number == SIGABRT   ? " aborted: signal 6"
                 : number == SIGSEGV ? " crashed: signal 11\n"
                 : number == SIGILL  ? " crashed: signal 4\n"
                                     : " crashed: signal 7\n",
                 number == SIGABRT ? driver_advice : "");
    signal(number, SIG_DFL); /* not ours: the instruction is repeated and ends the program as usual */
}

/* Ctrl-\\ and ulimit -t. */
static void on_end(int number)
{
    if (!waits(number)) end_by(number);
}

static const int stops[] = {SIGINT, SIGTERM, SIGHUP}, ends[] = {SIGQUIT, SIGXCPU};

/* Those that remove the files before they end the program. */
static void ending_signals(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) sigaddset(set, stops[i]);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) sigaddset(set, ends[i]);
}

/* Of all pipes, only that of the results: a driver's, or a tool's that explain runs, tells by its own status. */
static void on_pipe(int number)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    (void)number;
    if (poll(&out, 1, 0) != 1 || !(out.revents & POLLERR)) return;
    clean_up();
    _exit(EXIT_PIPE);
}

/* No file may get the number of a standard stream that the caller closed: what is printed would go into it. */
static void hold_streams(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            _exit(EXIT_OUTPUT);
}

void guard_install(void)
{
    hold_streams();
    atexit(on_exit_call);
    struct sigaction end = {.sa_handler = on_end};
    struct sigaction stop = {.sa_handler = on_stop}, bus = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, before;
    struct sigaction pipe = {.sa_handler = on_pipe, .sa_flags = SA_RESTART};
    ending_signals(&stop.sa_mask);
    ending_signals(&bus.sa_mask);
    ending_signals(&pipe.sa_mask);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        if (sigaction(stops[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(stops[i], &stop, NULL);
    }
    ending_signals(&end.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(ends[i], &end, NULL);
    }
    sigaction(SIGBUS, &bus, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond ulimit -f then fails as one to a full disk does */
    if (sigaction(SIGPIPE, NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGPIPE, &pipe, NULL);
}

/* In front of the handlers that a driver has set meanwhile, as LLVM in PoCL does. What stood there at first, as a
 * sanitizer's, comes back in the end. */
static void watch_faults(void)
{
    static const int faults[] = {SIGSEGV, SIGABRT, SIGILL};
    static struct sigaction before[sizeof faults / sizeof *faults];
    static bool armed;
    const bool wanted = foreign[0] != '\0' || driver[0] != '\0';
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    ending_signals(&fault.sa_mask);
    for (size_t i = 0; (wanted || armed) && i < sizeof faults / sizeof *faults; i++)
        sigaction(faults[i], wanted ? &fault : &before[i], wanted && !armed ? &before[i] : NULL);
    armed = wanted;
}

void guard_leave(void)
{
    static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGBUS, SIGPIPE, SIGQUIT, SIGXCPU, SIGXFSZ};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) signal(all[i], SIG_DFL);
    left = true;
    driver[0] = '\0';
    watch_faults();
}

void guard_hold(void)
{
    sigset_t set;
    ending_signals(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int now = FREE; !atomic_compare_exchange_weak(&hold, &now, HELD); now = FREE)
        if (now == ENDING) pause(); /* the program ends here */
}

void guard_release(void)
{
    sigset_t set;
    ending_signals(&set);
    const int came = atomic_exchange(&hold, FREE) - HELD;
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    if (came > 0) raise(came);
}

void guard_kept(const char *text)
{
    guard_hold(); /* no signal reads half of it */
    snprintf(kept_text, sizeof kept_text, "%s%s", text != NULL ? ": " : "", text != NULL ? text : "");
    guard_release();
}

static void keep(kept_path *kept, const char *path)
{
    kept->set = 0;
    if (path == NULL || strlen(path) >= sizeof kept->path) return;
    memcpy(kept->path, path, strlen(path) + 1);
    kept->set = 1;
}

void guard_output(const char *temp_path) { keep(&output_temp, temp_path); }

void guard_tool(const char *temp_path) { keep(&tool_temp, temp_path); }

void guard_json(const io_output *output)
{
    keep(&json_unnamed, output != NULL ? output->unnamed : NULL);
    keep(&json_target, output != NULL ? output->path : NULL);
    keep(&json_temp, output != NULL ? output->temp_path : NULL);
}

void guard_json_has_lines(void) { json_lines = 1; }

/* SIGABRT: free() finds its own memory overwritten. */
void guard_foreign(const char *path)
{
    foreign[0] = '\0';
    if (path != NULL)
        snprintf(foreign, sizeof foreign,
                 "tilewright: ladder: %.300s: the kernel touched memory that is not its own (or the driver did); there "
                 "is no time and no verdict. Shapes that no tile divides are tried too: is each access guarded? "
                 "`tilewright explain FILE` names one that is not\n",
                 path);
    watch_faults();
}

void guard_driver(const char *engine, const char *name, const char *advice)
{
    driver[0] = '\0';
    if (engine != NULL && !left) {
        const char *command = diag_command_name();
        exits = strcmp(engine, "opencl") == 0;
        driver_user = getpid();
        snprintf(driver_advice, sizeof driver_advice, "%.290s\n", advice);
        snprintf(driver, sizeof driver, "tilewright: %s: the driver of the %s engine%s%.400s%s",
                 command != NULL ? command : "", engine, name[0] != '\0' ? " (" : "", name, name[0] != '\0' ? ")" : "");
    }
    watch_faults();
}

void guard_done(void) { exits = false; }

int guard_watch(const void *start, size_t bytes, const char *path)
{
    for (int i = 0; i < MOST_WATCHED; i++) {
        if (watches[i].end != watches[i].start) continue;
        const char *command = diag_command_name();
        snprintf(watches[i].sentence, sizeof watches[i].sentence,
                 "tilewright: %s: %.300s: the file became shorter, or failed to be read, while it was in use\n",
                 command != NULL ? command : "", path);
        watches[i].start = (uintptr_t)start;
        watches[i].end = (uintptr_t)start + bytes;
        return i;
    }
    return -1;
}

void guard_unwatch(int watch)
{
    if (watch >= 0) watches[watch].end = watches[watch].start;
}
