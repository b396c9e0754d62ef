/* workers.c - see workers.h. */
#define _DEFAULT_SOURCE
#include "workers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include "../measure.h"

static const double PATIENCE_S = 5;

static void close_all(int fds[4])
{
    for (int i = 0; i < 4; i++)
        if (fds[i] >= 0) close(fds[i]);
}

/* A library's own output is no result: stdout of the process goes to stderr. */
static void be_forked(const bench_hooks *hooks, worker_body *body, void *job, int orders, int answers)
{
    hooks->forked();
    hooks->release();
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    dup2(STDERR_FILENO, STDOUT_FILENO);
    body(job, orders, answers);
    _exit(0);
}

bool worker_start(const bench_hooks *hooks, worker_process *processes, int i, worker_body *body, void *job)
{
    worker_process *p = &processes[i];
    int fds[4] = {-1, -1, -1, -1};
    *p = (worker_process){0};
    if (pipe(fds) != 0 || pipe(fds + 2) != 0) {
        close_all(fds);
        return false;
    }
    for (int end = 0; end < 4; end++) fcntl(fds[end], F_SETFD, FD_CLOEXEC);
    hooks->hold();
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[1]);
        close(fds[2]);
        for (int before = 0; before < i; before++)
            if (processes[before].pid != 0) close(processes[before].to), close(processes[before].from);
        be_forked(hooks, body, job, fds[0], fds[3]);
    }
    hooks->release();
    if (pid < 0) {
        close_all(fds);
        return false;
    }
    close(fds[0]);
    close(fds[3]);
    *p = (worker_process){.pid = pid, .to = fds[1], .from = fds[2]};
    p->has_clock = clock_getcpuclockid(pid, &p->cpu) == 0;
    return true;
}

bool worker_take(int orders, void *order, size_t bytes)
{
    char *at = order;
    while (bytes > 0) {
        ssize_t got = read(orders, at, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got, bytes -= (size_t)got;
    }
    return true;
}

bool worker_give(int answers, const void *answer, size_t bytes)
{
    const char *at = answer;
    while (bytes > 0) {
        ssize_t put = write(answers, at, bytes);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        at += put, bytes -= (size_t)put;
    }
    return true;
}

static void forget(worker_process *p)
{
    close(p->to);
    close(p->from);
    p->pid = 0;
}

void worker_end(worker_process *p)
{
    if (p->pid == 0) return;
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) continue;
    forget(p);
}

/* It closed its pipe: it is about to end, or has, which another signal does not change. */
static void tell_end(worker_process *p, char *why, size_t size)
{
    int status = 0;
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) continue;
    p->ended_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (WIFSIGNALED(status))
        snprintf(why, size, "crashed: signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(why, size, "ended its process with exit status %d", WEXITSTATUS(status));
    forget(p);
}

bool worker_ask(worker_process *p, const void *order, size_t order_bytes, void *answer, size_t answer_bytes,
                double deadline_s, char *why, size_t size)
{
    char *at = answer;
    double until_s = measure_now_s() + deadline_s;
    if (!worker_give(p->to, order, order_bytes)) {
        tell_end(p, why, size);
        return false;
    }
    while (answer_bytes > 0) {
        double left_s = until_s - measure_now_s();
        struct pollfd wait = {.fd = p->from, .events = POLLIN};
        int ready = left_s > 0 ? poll(&wait, 1, left_s < 1e3 ? (int)(left_s * 1e3) + 1 : 1000000) : 0;
        if ((ready < 0 && errno == EINTR) || (ready == 0 && measure_now_s() < until_s)) continue;
        if (ready <= 0) {
            worker_end(p);
            p->late = true;
            snprintf(why, size, "did not answer within %g s: its process was ended", deadline_s);
            return false;
        }
        ssize_t got = read(p->from, at, answer_bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            tell_end(p, why, size);
            return false;
        }
        at += got, answer_bytes -= (size_t)got;
    }
    return true;
}

/* 0: unknown. */
static double cpu_s(const worker_process *p)
{
    struct timespec used;
    if (p->pid == 0 || !p->has_clock || clock_gettime(p->cpu, &used) != 0) return 0;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

double workers_cpu_s(const worker_process *processes, int count)
{
    double sum_s = 0;
    for (int i = 0; i < count; i++) sum_s += cpu_s(&processes[i]);
    return sum_s;
}

static bool has_worked(worker_process *p)
{
    double used_s = cpu_s(p);
    bool more = used_s > p->used_s;
    p->used_s = used_s;
    return more;
}

/* Does a thread of it want the processor, though others may have kept it from that? By /proc; where there is none CPU
 * time alone must do. */
static bool wants_cpu(const worker_process *p)
{
    char path[64], text[512];
    bool wants = false;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)p->pid);
    DIR *threads = p->pid != 0 ? opendir(path) : NULL;
    for (struct dirent *thread; threads != NULL && (thread = readdir(threads)) != NULL;) {
        if (thread->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%ld/task/%.20s/stat", (long)p->pid, thread->d_name);
        FILE *stat = fopen(path, "r");
        const char *name_end = stat != NULL && fgets(text, sizeof text, stat) != NULL ? strrchr(text, ')') : NULL;
        wants |= name_end != NULL && name_end[1] == ' ' && name_end[2] == 'R';
        if (stat != NULL) fclose(stat);
    }
    if (threads != NULL) closedir(threads);
    return wants;
}

int workers_quiet(worker_process *processes, int count)
{
    const struct timespec pause = {.tv_nsec = WORKERS_QUIET_MS * 1000000L};
    double start_s = measure_now_s();
    for (int i = 0; i < count; i++) has_worked(&processes[i]);
    for (int busy = 0; busy >= 0;) {
        nanosleep(&pause, NULL);
        busy = -1;
        for (int i = 0; i < count; i++)
            if (has_worked(&processes[i]) || wants_cpu(&processes[i])) busy = i;
        if (busy >= 0 && measure_now_s() - start_s > PATIENCE_S) return busy;
    }
    return -1;
}
